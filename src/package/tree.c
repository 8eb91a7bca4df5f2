/* The checksum tree: what lies below a folder, hashed; and the difference between such a list and a
 * folder. */
#include "package/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "package/fields.h"

#define TREE_MAX_FILES ((size_t)1000000)
#define TREE_MAX_DEPTH 64

/* A walk in progress. */
typedef struct walk {
  const char *root;
  const char *const *skip; /* names in the root itself that are left out */
  size_t n_skip;
  bool hash; /* false: names only */
  assay_tree *tree;
  size_t cap;
} walk;

static assay_status add_entry(walk *w, const char *file, const char *path, assay_error *err) {
  if (w->tree->n == TREE_MAX_FILES)
    return assay_fail(err, ASSAY_E_LIMIT, "'%s': more than %zu files", w->root, TREE_MAX_FILES);
  assay_tree_entry *entries =
      assay_grown(w->tree->entries, &w->cap, w->tree->n, sizeof *entries, err);
  if (entries == NULL) return ASSAY_E_MEMORY;
  w->tree->entries = entries;
  assay_tree_entry entry = {0};
  if (w->hash) ASSAY_TRY(assay_sha256_file(path, entry.sha256, &entry.size_bytes, err));
  entry.file = assay_strdup(file);
  if (entry.file == NULL) return assay_fail_memory(err, strlen(file) + 1);
  w->tree->entries[w->tree->n++] = entry;
  return ASSAY_OK;
}

static bool is_skipped(const walk *w, const char *relative) {
  for (size_t i = 0; i < w->n_skip; i++)
    if (strcmp(relative, w->skip[i]) == 0) return true;
  return false;
}

/* As assay_path_kind_of, but a symbolic link is a thing of its own, wherever it leads. */
static assay_path_kind kind_of(const char *path) {
  struct stat info;
  if (lstat(path, &info) != 0) return ASSAY_PATH_NONE;
  if (S_ISREG(info.st_mode)) return ASSAY_PATH_FILE;
  return S_ISDIR(info.st_mode) ? ASSAY_PATH_FOLDER : ASSAY_PATH_OTHER;
}

static assay_status walk_folder(walk *w, const char *relative, int depth, assay_error *err);

static assay_status walk_one(walk *w, const char *relative, int depth, assay_error *err) {
  if (is_skipped(w, relative)) return ASSAY_OK;
  char *path = assay_path_join(w->root, relative);
  if (path == NULL) return assay_fail_memory(err, strlen(w->root) + strlen(relative) + 2);
  assay_path_kind kind = kind_of(path);
  assay_status st = ASSAY_OK;
  if (kind == ASSAY_PATH_FOLDER)
    st = walk_folder(w, relative, depth + 1, err);
  else if (w->hash && !assay_path_is_inside(relative))
    st = assay_fail(err, ASSAY_E_FORMAT, "'%s': the name cannot be listed; rename or remove it",
                    path);
  else if (w->hash && kind == ASSAY_PATH_OTHER)
    st = assay_fail(err, ASSAY_E_FORMAT,
                    "'%s': expected files and folders only, found a link or device", path);
  else if (kind != ASSAY_PATH_NONE) /* gone since the folder was listed */
    st = add_entry(w, relative, path, err);
  assay_free(path);
  return st;
}

/* relative "" is the root itself. */
static assay_status walk_folder(walk *w, const char *relative, int depth, assay_error *err) {
  if (depth > TREE_MAX_DEPTH)
    return assay_fail(err, ASSAY_E_LIMIT, "'%s': folders nested deeper than %d", w->root,
                      TREE_MAX_DEPTH);
  assay_names names = {0};
  char *path = relative[0] == '\0' ? assay_strdup(w->root) : assay_path_join(w->root, relative);
  if (path == NULL) return assay_fail_memory(err, strlen(w->root) + strlen(relative) + 2);
  assay_status st = assay_folder_list(path, &names, err);
  for (size_t i = 0; i < names.n && st == ASSAY_OK; i++) {
    char *below = relative[0] == '\0' ? assay_strdup(names.items[i])
                                      : assay_path_join(relative, names.items[i]);
    st = below != NULL ? walk_one(w, below, depth, err)
                       : assay_fail_memory(err, strlen(relative) + strlen(names.items[i]) + 2);
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

static assay_status scan(const char *folder, const char *const *skip, size_t n_skip, bool hash,
                         assay_tree *out, assay_error *err) {
  assay_tree tree = {0};
  walk w = {.root = folder, .skip = skip, .n_skip = n_skip, .hash = hash, .tree = &tree};
  assay_status st = walk_folder(&w, "", /*depth=*/0, err);
  if (st) {
    assay_tree_reset(&tree);
    return st;
  }
  if (tree.n > 0) qsort(tree.entries, tree.n, sizeof *tree.entries, by_file);
  *out = tree;
  return ASSAY_OK;
}

assay_status assay_tree_scan(const char *folder, const char *const *skip, size_t n_skip,
                             assay_tree *out, assay_error *err) {
  return scan(folder, skip, n_skip, /*hash=*/true, out, err);
}

assay_status assay_tree_sha256(const assay_tree *tree, char out_hex[65], assay_error *err) {
  assay_sha256 *hash = NULL;
  assay_buf line = {0};
  assay_status st = assay_sha256_create(&hash, err);
  for (size_t i = 0; i < tree->n && st == ASSAY_OK; i++) {
    const assay_tree_entry *entry = &tree->entries[i];
    assay_buf_reset(&line);
    st = assay_buf_appendf(&line, err, "%s  %llu  %s\n", entry->sha256,
                           (unsigned long long)entry->size_bytes, entry->file);
    if (st == ASSAY_OK) st = assay_sha256_update(hash, line.data, line.size_bytes, err);
  }
  if (st == ASSAY_OK) st = assay_sha256_finish(hash, out_hex, err);
  assay_buf_reset(&line);
  assay_sha256_destroy(hash);
  return st;
}

/* What is wrong with a listed file, into detail; "" when nothing is. */
static assay_status compare_entry(const assay_tree_entry *entry, const char *folder, char *detail,
                                  size_t detail_bytes, assay_error *err) {
  char sha256[ASSAY_SHA256_HEX_BYTES];
  uint64_t size_bytes = 0;
  assay_error reading = {0};
  char *path = assay_path_join(folder, entry->file);
  if (path == NULL) return assay_fail_memory(err, strlen(folder) + strlen(entry->file) + 2);
  detail[0] = '\0';
  if (kind_of(path) != ASSAY_PATH_FILE)
    snprintf(detail, detail_bytes, "expected a file, found something else");
  else if (assay_sha256_file(path, sha256, &size_bytes, &reading))
    snprintf(detail, detail_bytes, "%s", reading.text);
  else if (size_bytes != entry->size_bytes)
    snprintf(detail, detail_bytes, "expected %llu bytes, found %llu",
             (unsigned long long)entry->size_bytes, (unsigned long long)size_bytes);
  else if (strcmp(sha256, entry->sha256) != 0)
    snprintf(detail, detail_bytes, "expected SHA-256 %s, found %s", entry->sha256, sha256);
  assay_free(path);
  return ASSAY_OK;
}

assay_status assay_tree_verify(const assay_tree *tree, const char *folder, const char *const *skip,
                               size_t n_skip, assay_tree_report report, void *arg, size_t *out_n,
                               assay_error *err) {
  assay_tree there = {0};
  char detail[ASSAY_ERROR_TEXT_BYTES];
  size_t n = 0, i = 0, j = 0;
  assay_status st = scan(folder, skip, n_skip, /*hash=*/false, &there, err);
  while (st == ASSAY_OK && (i < tree->n || j < there.n)) { /* a merge of two sorted lists */
    int order = i == tree->n   ? 1
                : j == there.n ? -1
                               : strcmp(tree->entries[i].file, there.entries[j].file);
    if (order < 0) {
      n++;
      report(arg, ASSAY_TREE_GONE, tree->entries[i].file, "listed, and not there");
    } else if (order > 0) {
      n++;
      report(arg, ASSAY_TREE_EXTRA, there.entries[j].file, "there, and not listed");
    } else {
      st = compare_entry(&tree->entries[i], folder, detail, sizeof detail, err);
      if (st == ASSAY_OK && detail[0] != '\0') {
        n++;
        report(arg, ASSAY_TREE_CHANGED, tree->entries[i].file, detail);
      }
    }
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
  assay_tree_reset(&there);
  if (st == ASSAY_OK) *out_n = n;
  return st;
}

void assay_tree_put(const assay_tree *tree, assay_json_builder *b, const char *key) {
  assay_json_begin_array(b, key);
  for (size_t i = 0; i < tree->n; i++) {
    assay_json_begin_object(b, NULL);
    assay_json_put_string(b, "file", tree->entries[i].file);
    assay_json_put_string(b, "sha256", tree->entries[i].sha256);
    assay_json_put_int(b, "size_bytes", (int64_t)tree->entries[i].size_bytes);
    assay_json_end(b);
  }
  assay_json_end(b);
}

static assay_status read_entry(const assay_json *item, assay_tree_entry *out, assay_error *err) {
  static const char *const keys[] = {"file", "sha256", "size_bytes"};
  ASSAY_TRY(assay_json_only_keys(item, keys, sizeof keys / sizeof keys[0], err));
  ASSAY_TRY(assay_fields_path(item, "file", &out->file, err));
  ASSAY_TRY(assay_fields_sha256(item, "sha256", /*may_be_empty=*/false, out->sha256, err));
  return assay_fields_size(item, "size_bytes", &out->size_bytes, err);
}

assay_status assay_tree_of_json(const assay_json *array, assay_tree *out, assay_error *err) {
  assay_tree tree = {0};
  size_t n = assay_json_len(array);
  tree.entries = assay_alloc_array(n, sizeof *tree.entries);
  if (tree.entries == NULL) return assay_fail_memory(err, n * sizeof *tree.entries);
  tree.n = n;
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < n && st == ASSAY_OK; i++) {
    st = read_entry(assay_json_at(array, i), &tree.entries[i], err);
    if (st == ASSAY_OK && i > 0 && strcmp(tree.entries[i - 1].file, tree.entries[i].file) >= 0)
      st = assay_fail(err, ASSAY_E_FORMAT,
                      "'file': expected names in order and once each, found '%s'",
                      tree.entries[i].file);
    if (st) assay_error_in(err, "files[%zu]", i);
  }
  if (st) {
    assay_tree_reset(&tree);
    return st;
  }
  *out = tree;
  return ASSAY_OK;
}

const assay_tree_entry *assay_tree_find(const assay_tree *tree, const char *file) {
  assay_tree_entry key = {0};
  memcpy(&key.file, &file, sizeof file); /* only compared; the entry never owns it */
  if (tree->n == 0) return NULL;
  return bsearch(&key, tree->entries, tree->n, sizeof key, by_file);
}

static bool is_under(const char *file, const char *folder) {
  size_t n = strlen(folder);
  return strncmp(file, folder, n) == 0 && file[n] == '/';
}

/* "<folder>/<file>" for every entry of below, into out, which has room. */
static assay_status copy_below(const assay_tree *below, const char *folder, assay_tree *out,
                               assay_error *err) {
  for (size_t i = 0; i < below->n; i++) {
    assay_tree_entry entry = below->entries[i];
    entry.file = assay_path_join(folder, below->entries[i].file);
    if (entry.file == NULL) return assay_fail_memory(err, strlen(folder) + 2);
    out->entries[out->n++] = entry;
  }
  return ASSAY_OK;
}

assay_status assay_tree_replace(assay_tree *tree, const char *folder, const assay_tree *below,
                                assay_error *err) {
  assay_tree merged = {.entries = assay_alloc_array(tree->n + below->n, sizeof *merged.entries)};
  if (merged.entries == NULL)
    return assay_fail_memory(err, (tree->n + below->n) * sizeof *merged.entries);
  assay_status st = copy_below(below, folder, &merged, err);
  if (st) {
    assay_tree_reset(&merged);
    return st;
  }
  for (size_t i = 0; i < tree->n; i++) { /* nothing fails from here on */
    if (is_under(tree->entries[i].file, folder))
      assay_free(tree->entries[i].file);
    else
      merged.entries[merged.n++] = tree->entries[i];
  }
  if (merged.n > 0) qsort(merged.entries, merged.n, sizeof *merged.entries, by_file);
  assay_free(tree->entries);
  *tree = merged;
  return ASSAY_OK;
}

void assay_tree_reset(assay_tree *tree) {
  for (size_t i = 0; i < tree->n; i++) assay_free(tree->entries[i].file);
  assay_free(tree->entries);
  *tree = (assay_tree){0};
}
