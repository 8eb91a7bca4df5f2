/* For tests: an empty folder of their own, paths in it, and what files hold. Folders that are open
 * when the program ends go with it. */
#ifndef ASSAY_BASE_TEST_FOLDER_H
#define ASSAY_BASE_TEST_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

typedef struct test_folder {
  char path[512];
  char file[1024]; /* what test_folder_file returned last */
} test_folder;

#define TEST_FOLDERS_MAX 16

/* Folders of this process that are open; others are removed by their tests alone. */
static char test_folders_open[TEST_FOLDERS_MAX][512];
static pid_t test_folders_owner;

static inline void test_folders_remove(void) {
  for (size_t i = 0; i < TEST_FOLDERS_MAX && getpid() == test_folders_owner; i++)
    if (test_folders_open[i][0] != '\0') (void)!assay_folder_remove(test_folders_open[i], NULL);
}

/* Puts the text `with` where `what` is. */
static inline void test_folders_note(const char *what, const char *with) {
  for (size_t i = 0; i < TEST_FOLDERS_MAX; i++) {
    if (strcmp(test_folders_open[i], what) != 0) continue;
    snprintf(test_folders_open[i], sizeof test_folders_open[i], "%s", with);
    return;
  }
}

static inline void test_folder_open(test_folder *folder) {
  const char *tmp = getenv("TMPDIR");
  snprintf(folder->path, sizeof folder->path, "%s/assay-test-XXXXXX", tmp != NULL ? tmp : "/tmp");
  if (mkdtemp(folder->path) == NULL) {
    perror(folder->path);
    abort();
  }
  if (test_folders_owner != getpid()) {
    memset(test_folders_open, 0, sizeof test_folders_open);
    test_folders_owner = getpid();
    (void)atexit(test_folders_remove);
  }
  test_folders_note("", folder->path);
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

/* The bytes of a file of at most 64 MiB, the caller's. */
static inline assay_buf test_file_read(const char *path) {
  assay_buf bytes = {0};
  assay_error err = {0};
  if (assay_file_read(path, (size_t)1 << 26, &bytes, &err)) {
    fprintf(stderr, "%s\n", err.text);
    abort();
  }
  return bytes;
}

static inline void test_folder_close(test_folder *folder) {
  if (assay_folder_remove(folder->path, NULL)) abort();
  test_folders_note(folder->path, "");
}

#endif
