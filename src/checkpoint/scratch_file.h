/* For tests and fuzzers of readers that take a path: one nameless file whose bytes are replaced
 * again and again, without the syncs that a lasting file gets. */
#ifndef ASSAY_CHECKPOINT_SCRATCH_FILE_H
#define ASSAY_CHECKPOINT_SCRATCH_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct scratch_file {
  char path[64];
  int fd; /* 0: not open yet */
} scratch_file;

static inline void scratch_file_close(scratch_file *file) {
  if (file->fd <= 0) return;
  close(file->fd);
  unlink(file->path);
  *file = (scratch_file){0};
}

/* Replaces the file's bytes and returns its path; ends the program where that cannot be done. */
static inline const char *scratch_file_put(scratch_file *file, const void *bytes,
                                           size_t size_bytes) {
  const uint8_t *from = bytes;
  size_t at = 0;
  if (file->fd <= 0) {
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; /* memory, not disk */
    snprintf(file->path, sizeof file->path, "%s/assay-scratch-XXXXXX", folder);
    file->fd = mkstemp(file->path);
  }
  int rc = file->fd <= 0 ? -1 : ftruncate(file->fd, 0);
  while (rc == 0 && at < size_bytes) {
    ssize_t n = pwrite(file->fd, from + at, size_bytes - at, (off_t)at);
    if (n <= 0)
      rc = -1;
    else
      at += (size_t)n;
  }
  if (rc != 0) {
    perror("scratch file");
    abort();
  }
  return file->path;
}

#endif
