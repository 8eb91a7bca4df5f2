/* Any bytes as a zip archive: refused in one line, or listed, found by name and read; a peek is the
 * beginning of the whole, and no two entries lie on the same bytes of the file. */
#include "base/zip.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define READ_MAX_BYTES ((uint64_t)1 << 20) /* an entry that unpacks to more is listed alone */
#define PEEK_BYTES     16

/* The calls take a path: one file, unlinked at once and written anew for each input. */
static const char *write_input(const uint8_t *data, size_t size) {
  static int fd = -1;
  static char path[64];
  if (fd < 0) {
    char name[] = "/tmp/zip-fuzz-XXXXXX";
    fd = mkstemp(name);
    if (fd < 0 || unlink(name) != 0) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  }
  if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0) abort();
  if (size > 0 && write(fd, data, size) != (ssize_t)size) abort();
  return path;
}

static void check_line(assay_status st, const assay_error *err) {
  if (st && (err->status == ASSAY_OK || strpbrk(err->text, "\n\r") != NULL)) abort();
}

static void read_entry(assay_zip *zip, size_t i) {
  const size_t n = (size_t)assay_zip_at(zip, i)->size_bytes;
  uint8_t *whole = malloc(n + 1);
  assay_buf head = {0};
  assay_error err = {0}, peek_err = {0};
  if (whole == NULL) abort();
  const assay_status st = assay_zip_read(zip, i, whole, &err);
  const assay_status peek_st = assay_zip_peek(zip, i, PEEK_BYTES, &head, &peek_err);
  check_line(st, &err);
  check_line(peek_st, &peek_err);
  if (st == ASSAY_OK) { /* what can be read can be peeked at */
    if (peek_st || head.size_bytes != (n < PEEK_BYTES ? n : PEEK_BYTES)) abort();
    if (head.size_bytes > 0 && memcmp(head.data, whole, head.size_bytes) != 0) abort();
  }
  assay_buf_reset(&head);
  free(whole);
}

static void read_archive(assay_zip *zip, size_t file_bytes) {
  uint64_t packed_bytes = 0;
  for (size_t i = 0; i < assay_zip_count(zip); i++) {
    const assay_zip_entry *entry = assay_zip_at(zip, i);
    if (assay_zip_find(zip, entry->name) != entry) abort();
    if (entry->data_offset > file_bytes || entry->packed_bytes > file_bytes - entry->data_offset)
      abort();
    packed_bytes += entry->packed_bytes;
    if (entry->size_bytes <= READ_MAX_BYTES) read_entry(zip, i);
  }
  if (packed_bytes > file_bytes) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  assay_zip *zip = NULL;
  assay_error err = {0};
  const assay_status st = assay_zip_open(write_input(data, size), &zip, &err);
  check_line(st, &err);
  if (st == ASSAY_OK) read_archive(zip, size);
  assay_zip_close(zip);
  return 0;
}
