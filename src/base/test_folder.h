/* For tests: an empty folder of their own, and paths in it. */
#ifndef ASSAY_BASE_TEST_FOLDER_H
#define ASSAY_BASE_TEST_FOLDER_H

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"

typedef struct test_folder {
  char path[512];
  char file[1024]; /* what test_folder_file returned last */
} test_folder;

static inline void test_folder_open(test_folder *folder) {
  const char *tmp = getenv("TMPDIR");
  snprintf(folder->path, sizeof folder->path, "%s/assay-test-XXXXXX", tmp != NULL ? tmp : "/tmp");
  if (mkdtemp(folder->path) == NULL) {
    perror(folder->path);
    abort();
  }
}

/* The path of name in the folder, good until the next call. */
static inline const char *test_folder_file(test_folder *folder, const char *name) {
  snprintf(folder->file, sizeof folder->file, "%s/%s", folder->path, name);
  return folder->file;
}

/* How many names are in the folder: 0 shows that nothing half-written was left. */
static inline size_t test_folder_count(const test_folder *folder) {
  assay_names names = {0};
  if (assay_folder_list(folder->path, &names, NULL)) abort();
  size_t n = names.n;
  assay_names_reset(&names);
  return n;
}

static inline void test_folder_close(test_folder *folder) {
  if (assay_folder_remove(folder->path, NULL)) abort();
}

#endif
