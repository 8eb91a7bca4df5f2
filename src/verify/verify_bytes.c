/* Lists what is there, hashes it with the largest files first, so that no thread is left with one
 * of them at the end, and merges the two sorted lists. */
#include "verify/verify_bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "package/package.h"
#include "verify/verify_jobs.h"

#define FILES_MAX ((size_t)1000000)
#define DEPTH_MAX 64

/* --- what is there -------------------------------------------------------------------------------
 */

typedef struct walk {
  const char *root;
  assay_verify_findings *findings;
  assay_tree *tree;
  size_t cap;
} walk;

static assay_status add_file(walk *w, const char *relative, assay_error *err) {
  assay_tree *tree = w->tree;
  if (tree->n == FILES_MAX)
    return assay_fail(err, ASSAY_E_LIMIT, "'%s': more than %zu files", w->root, FILES_MAX);
  assay_tree_entry *entries = assay_grown(tree->entries, &w->cap, tree->n, sizeof *entries, err);
  if (entries == NULL) return ASSAY_E_MEMORY;
  tree->entries = entries;
  char *file = assay_strdup(relative);
  if (file == NULL) return assay_fail_memory(err, strlen(relative) + 1);
  tree->entries[tree->n++] = (assay_tree_entry){.file = file};
  return ASSAY_OK;
}

static assay_status walk_folder(walk *w, const char *relative, int depth, assay_error *err);

static assay_status walk_one(walk *w, const char *relative, int depth, assay_error *err) {
  if (strcmp(relative, ASSAY_PACKAGE_FILE) == 0) return ASSAY_OK;
  char *path = assay_path_join(w->root, relative);
  if (path == NULL) return assay_fail_memory(err, strlen(w->root) + strlen(relative) + 2);
  assay_path_kind kind = assay_path_kind_of(path);
  assay_free(path);
  if (kind == ASSAY_PATH_FOLDER) return walk_folder(w, relative, depth + 1, err);
  if (kind == ASSAY_PATH_FILE && assay_path_is_inside(relative)) return add_file(w, relative, err);
  if (kind != ASSAY_PATH_NONE)
    assay_verify_add(w->findings, ASSAY_VERIFY_EXTRA, relative, "", "files and folders only",
                     kind == ASSAY_PATH_FILE ? "a name that no package holds"
                                             : "a link or a device");
  return ASSAY_OK;
}

/* relative "" is the root itself. */
static assay_status walk_folder(walk *w, const char *relative, int depth, assay_error *err) {
  assay_names names = {0};
  bool is_root = relative[0] == '\0';
  if (depth > DEPTH_MAX)
    return assay_fail(err, ASSAY_E_LIMIT, "'%s': folders nested deeper than %d", w->root,
                      DEPTH_MAX);
  char *path = is_root ? assay_strdup(w->root) : assay_path_join(w->root, relative);
  if (path == NULL) return assay_fail_memory(err, strlen(w->root) + strlen(relative) + 2);
  assay_status st = assay_folder_list(path, &names, err);
  for (size_t i = 0; i < names.n && st == ASSAY_OK; i++) {
    char *below =
        is_root ? assay_strdup(names.items[i]) : assay_path_join(relative, names.items[i]);
    st = below != NULL ? walk_one(w, below, depth, err) : assay_fail_memory(err, 256);
    assay_free(below);
  }
  assay_names_reset(&names);
  assay_free(path);
  return st;
}

static int by_file(const void *a, const void *b) {
  const assay_tree_entry *left = a, *right = b;
  return strcmp(left->file, right->file);
}

static assay_status list_files(const char *root, assay_verify_findings *findings, assay_tree *out,
                               assay_error *err) {
  walk w = {.root = root, .findings = findings, .tree = out};
  ASSAY_TRY(walk_folder(&w, "", /*depth=*/0, err));
  if (out->n > 0) qsort(out->entries, out->n, sizeof *out->entries, by_file);
  return ASSAY_OK;
}

/* --- hashing -------------------------------------------------------------------------------------
 */

typedef struct one_file {
  assay_tree_entry *entry;
  uint64_t size_bytes; /* before it was read */
} one_file;

typedef struct hashing {
  const char *root;
  assay_verify_findings *findings;
  one_file *order; /* largest first */
} hashing;

static int by_size(const void *a, const void *b) {
  const one_file *x = a, *y = b;
  if (x->size_bytes != y->size_bytes) return x->size_bytes > y->size_bytes ? -1 : 1;
  return strcmp(x->entry->file, y->entry->file);
}

static assay_status hash_one(void *arg, size_t i, assay_error *err) {
  hashing *h = arg;
  assay_tree_entry *entry = h->order[i].entry;
  assay_error reading = {0};
  char *path = assay_path_join(h->root, entry->file);
  if (path == NULL) return assay_fail_memory(err, strlen(h->root) + strlen(entry->file) + 2);
  assay_status st = assay_sha256_file(path, entry->sha256, &entry->size_bytes, &reading);
  assay_free(path);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", reading.text);
  if (st) {
    entry->sha256[0] = '\0';
    assay_verify_add(h->findings, ASSAY_VERIFY_CHANGED, entry->file, "", "a readable file",
                     reading.text);
  }
  return ASSAY_OK;
}

static assay_status hash_all(const char *root, size_t n_jobs, assay_verify_findings *findings,
                             assay_tree *there, assay_error *err) {
  hashing h = {
      .root = root, .findings = findings, .order = assay_alloc_array(there->n, sizeof *h.order)};
  if (h.order == NULL) return assay_fail_memory(err, there->n * sizeof *h.order);
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < there->n && st == ASSAY_OK; i++) {
    struct stat info;
    char *path = assay_path_join(root, there->entries[i].file);
    if (path == NULL) st = assay_fail_memory(err, strlen(root) + 2);
    bool known = path != NULL && stat(path, &info) == 0 && info.st_size > 0;
    h.order[i] = (one_file){&there->entries[i], known ? (uint64_t)info.st_size : 0};
    assay_free(path);
  }
  if (st == ASSAY_OK && there->n > 0) qsort(h.order, there->n, sizeof *h.order, by_size);
  if (st == ASSAY_OK) st = assay_verify_jobs_run(n_jobs, there->n, hash_one, &h, err);
  assay_free(h.order);
  return st;
}

/* --- the difference ------------------------------------------------------------------------------
 */

static void compare_entry(const assay_tree_entry *listed, const assay_tree_entry *there,
                          assay_verify_findings *findings) {
  char expected[96], found[96];
  if (there->sha256[0] == '\0') return; /* said already */
  if (listed->size_bytes != there->size_bytes) {
    snprintf(expected, sizeof expected, "%" PRIu64 " bytes", listed->size_bytes);
    snprintf(found, sizeof found, "%" PRIu64, there->size_bytes);
  } else if (strcmp(listed->sha256, there->sha256) != 0) {
    snprintf(expected, sizeof expected, "SHA-256 %s", listed->sha256);
    snprintf(found, sizeof found, "%s", there->sha256);
  } else {
    return;
  }
  assay_verify_add(findings, ASSAY_VERIFY_CHANGED, listed->file, "", expected, found);
}

static void compare(const assay_tree *listed, const assay_tree *there,
                    assay_verify_findings *findings) {
  for (size_t i = 0, j = 0; i < listed->n || j < there->n;) {
    int order = i == listed->n  ? 1
                : j == there->n ? -1
                                : strcmp(listed->entries[i].file, there->entries[j].file);
    if (order < 0)
      assay_verify_add(findings, ASSAY_VERIFY_MISSING, listed->entries[i].file, "", "a file",
                       "nothing there");
    else if (order > 0)
      assay_verify_add(findings, ASSAY_VERIFY_EXTRA, there->entries[j].file, "", "nothing there",
                       "a file that is not listed");
    else
      compare_entry(&listed->entries[i], &there->entries[j], findings);
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
}

assay_status assay_verify_bytes(const char *package_path, const assay_tree *listed, size_t n_jobs,
                                assay_verify_findings *findings, assay_tree *out_there,
                                uint64_t *out_n_bytes, assay_error *err) {
  assay_tree there = {0};
  assay_status st = list_files(package_path, findings, &there, err);
  if (st == ASSAY_OK) st = hash_all(package_path, n_jobs, findings, &there, err);
  if (st) {
    assay_tree_reset(&there);
    return st;
  }
  if (listed != NULL) compare(listed, &there, findings);
  *out_n_bytes = 0;
  for (size_t i = 0; i < there.n; i++) *out_n_bytes += there.entries[i].size_bytes;
  *out_there = there;
  return ASSAY_OK;
}
