/* Folders in which a provider keeps what it compiled, as its runtime names them: the "caches"
 * member of result.json, and of worker.json, whose word it is.
 *
 * "caches": [{
 *   "name": "cache_dir",                      the provider's option, or the variable
 *   "n_files_before": 0, "bytes_before": 0,   when the process began: cold, if there was none
 *   "n_files_after": 2, "bytes_after": 9      when it ended
 * }, …] */
#ifndef ASSAY_PACKAGE_RESULT_CACHES_H
#define ASSAY_PACKAGE_RESULT_CACHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

typedef struct assay_result_cache {
  char *name;
  int64_t n_files_before, bytes_before, n_files_after, bytes_after;
} assay_result_cache;

/* All zeroes is a valid empty one; everything is owned. */
typedef struct assay_result_caches {
  assay_result_cache *items;
  size_t n;
} assay_result_caches;

/* The member of root. *out is filled in as far as it goes: the caller resets it. Errors: FORMAT,
 * MEMORY. */
assay_status assay_result_caches_read(const assay_json *root, assay_result_caches *out,
                                      assay_error *err) ASSAY_NODISCARD;
void assay_result_caches_put(const assay_result_caches *caches, assay_json_builder *b);
assay_status assay_result_caches_copy(const assay_result_caches *from, assay_result_caches *out,
                                      assay_error *err) ASSAY_NODISCARD;
void assay_result_caches_reset(assay_result_caches *caches);

/* "cold" where every one was empty, "warm" where one was not; "" without any. */
const char *assay_result_caches_word(const assay_result_caches *caches);

#endif
