/* describe_package PACKAGE: what two packages of one campaign must share, one line a fact, so that
 * `diff` names where they part: the index, every result and every listed file by name, without
 * what is measured (times, memory) and what follows from it. Files whose bytes hold nothing
 * measured are listed with their digest. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "package/package.h"

#define JSON_MAX_BYTES ((size_t)64 << 20)
#define PATH_BYTES     1024

/* Members that are measured, or the digest of something measured, wherever they stand. */
static const char *const measured[] = {
    "started_at",   "finished_at", "tree_sha256",   "sha256",     "session_create_ns",
    "first_run_ns", "elapsed_ns",  "max_rss_bytes", "min_ns",     "max_ns",
    "p50_ns",       "p50_min_ns",  "p50_max_ns",    "p50_spread", "stats",
    "duration_us",  "memory"};

/* Files that are the same bytes whenever and wherever the campaign ran. */
static const char *const repeatable[] = {"bundles/*", "graphs/*", "runs/*/outputs.npz",
                                         "runs/*/stdout.txt"};

static bool is_among(const char *const *names, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

static bool is_repeatable(const char *file) {
  for (size_t i = 0; i < N_OF(repeatable); i++)
    if (fnmatch(repeatable[i], file, /*flags=*/0) == 0) return true;
  return false;
}

static int fail(const char *path, const assay_error *err) {
  fprintf(stderr, "describe_package: '%s': %s\n", path, err->text);
  return 1;
}

/* "<where>.<key> = <value>", a line for every leaf. */
static void print_value(const char *where, const assay_json *value) {
  char below[PATH_BYTES];
  assay_buf text = {0};
  switch (assay_json_kind_of(value)) {
  case ASSAY_JSON_OBJECT:
    for (size_t i = 0; i < assay_json_len(value); i++) {
      const char *key = assay_json_key_at(value, i);
      if (is_among(measured, N_OF(measured), key) || strcmp(key, "files") == 0) continue;
      snprintf(below, sizeof below, "%s.%s", where, key);
      print_value(below, assay_json_value_at(value, i));
    }
    return;
  case ASSAY_JSON_ARRAY:
    printf("%s has %zu\n", where, assay_json_len(value));
    for (size_t i = 0; i < assay_json_len(value); i++) {
      snprintf(below, sizeof below, "%s[%zu]", where, i);
      print_value(below, assay_json_at(value, i));
    }
    return;
  default:
    if (assay_json_dump(value, /*indented=*/false, &text, NULL) == ASSAY_OK)
      printf("%s = %s\n", where, assay_buf_text(&text));
    assay_buf_reset(&text);
  }
}

static int print_json(const char *package, const char *file) {
  assay_error err = {0};
  assay_json *root = NULL;
  char *path = assay_path_join(package, file);
  assay_status st = path != NULL ? assay_json_read(path, JSON_MAX_BYTES, &root, &err)
                                 : assay_fail_memory(&err, PATH_BYTES);
  if (st == ASSAY_OK) print_value(file, root);
  assay_json_destroy(root);
  assay_free(path);
  return st ? fail(file, &err) : 0;
}

int main(int argc, char **argv) {
  assay_package package = {0};
  assay_error err = {0};
  if (argc != 2) {
    fputs("usage: describe_package PACKAGE\n", stderr);
    return 2;
  }
  if (assay_package_read(argv[1], &package, &err)) return fail(argv[1], &err);
  int failed = print_json(argv[1], ASSAY_PACKAGE_FILE);
  if (strcmp(package.started_at, package.finished_at) >= 0) {
    puts("it was not finished after it was started");
    failed = 1;
  }
  for (size_t i = 0; i < package.files.n; i++) {
    const assay_tree_entry *entry = &package.files.entries[i];
    printf("file %s %s\n", entry->file, is_repeatable(entry->file) ? entry->sha256 : "");
    if (fnmatch("runs/*/result.json", entry->file, 0) == 0)
      failed |= print_json(argv[1], entry->file);
  }
  assay_package_reset(&package);
  return failed;
}
