/* The checksum tree: size and SHA-256 of every file below a folder, sorted by name. */
#ifndef ASSAY_PACKAGE_TREE_H
#define ASSAY_PACKAGE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

typedef struct assay_tree_entry {
  char *file; /* relative, inside the folder, '/' between components */
  char sha256[65];
  uint64_t size_bytes;
} assay_tree_entry;

/* All zeroes is a valid empty one. */
typedef struct assay_tree {
  assay_tree_entry *entries; /* sorted bytewise by file */
  size_t n;
} assay_tree;

/* Hashes every regular file below folder. Names of the folder's own entries in `skip` (such as
 * "package.json") are left out. A symbolic link, a device, a name that assay_path_is_inside
 * refuses: FORMAT, naming it. Errors: IO, FORMAT, LIMIT (more than a million files, or deeper than
 * 64 folders), MEMORY. */
assay_status assay_tree_scan(const char *folder, const char *const *skip, size_t n_skip,
                             assay_tree *out, assay_error *err) ASSAY_NODISCARD;

/* One digest for the whole: SHA-256 over the lines "<sha256>  <size_bytes>  <file>\n". */
assay_status assay_tree_sha256(const assay_tree *tree, char out_hex[65],
                               assay_error *err) ASSAY_NODISCARD;

typedef enum assay_tree_change {
  ASSAY_TREE_CHANGED, /* other bytes */
  ASSAY_TREE_GONE,    /* listed, not there */
  ASSAY_TREE_EXTRA,   /* there, not listed */
} assay_tree_change;

/* Called once for every difference, in order of names. */
typedef void (*assay_tree_report)(void *arg, assay_tree_change change, const char *file,
                                  const char *detail);

/* Compares a folder with its tree, byte by byte. *out_n counts the differences. Errors: IO, MEMORY.
 */
assay_status assay_tree_verify(const assay_tree *tree, const char *folder, const char *const *skip,
                               size_t n_skip, assay_tree_report report, void *arg, size_t *out_n,
                               assay_error *err) ASSAY_NODISCARD;

/* [{"file": "…", "sha256": "…", "size_bytes": 1}, …]. */
void assay_tree_put(const assay_tree *tree, assay_json_builder *b, const char *key);
assay_status assay_tree_of_json(const assay_json *array, assay_tree *out,
                                assay_error *err) ASSAY_NODISCARD;

const assay_tree_entry *assay_tree_find(const assay_tree *tree, const char *file); /* or NULL */

/* Puts the entries of `below`, whose names are relative to `folder`, in place of those under
 * folder. Errors: MEMORY; *tree is untouched then. */
assay_status assay_tree_replace(assay_tree *tree, const char *folder, const assay_tree *below,
                                assay_error *err) ASSAY_NODISCARD;

void assay_tree_reset(assay_tree *tree);

#endif
