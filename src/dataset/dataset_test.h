/* What the tests of this room share: files, samples that lie there gzipped, checks of failures. */
#ifndef ASSAY_DATASET_DATASET_TEST_H
#define ASSAY_DATASET_DATASET_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/file.h"
#include "dataset/inflate.h"
#include "dataset/span.h"

/* The call failed with that status and those words, and its message is one line. */
static inline void expect(assay_status found, const assay_error *err, assay_status status,
                          const char *words, const char *what) {
  bool is_line = strpbrk(err->text, "\n\r") == NULL;
  if (found == status && err->status == status && is_line && strstr(err->text, words) != NULL)
    return;
  fail_msg("%s: expected %s with '%s', found %s: %s", what, assay_status_name(status), words,
           assay_status_name(found), err->text);
}

static inline void expect_ok(assay_status found, const assay_error *err, const char *what) {
  if (found) fail_msg("%s: %s: %s", what, assay_status_name(found), err->text);
}

static inline assay_buf read_bytes(const char *path) {
  assay_buf bytes = {0};
  assay_error err = {0};
  expect_ok(assay_file_read(path, (size_t)64 << 20, &bytes, &err), &err, path);
  return bytes;
}

/* The contents of a gzipped file. */
static inline assay_buf read_packed(const char *path) {
  assay_buf packed = read_bytes(path), bytes = {0};
  assay_error err = {0};
  assay_inflate *inflate;
  const assay_span view = {packed.data, packed.size_bytes};
  expect_ok(assay_inflate_open(view, ASSAY_INFLATE_GZIP, &inflate, &err), &err, path);
  for (size_t got = 1; got > 0; bytes.size_bytes += got) {
    uint8_t *room;
    expect_ok(assay_buf_reserve(&bytes, 65536, &room, &err), &err, path);
    expect_ok(assay_inflate_read(inflate, room, 65536, &got, &err), &err, path);
  }
  assay_inflate_close(inflate);
  assay_buf_reset(&packed);
  return bytes;
}

static inline assay_span span_of(const assay_buf *buf) {
  return (assay_span){buf->data, buf->size_bytes};
}

/* Bytes in a block of exactly their size, so that a sanitised build sees any overread. Released
 * with free. */
static inline assay_span exact_copy(const uint8_t *bytes, size_t size_bytes) {
  uint8_t *copy = malloc(size_bytes > 0 ? size_bytes : 1);
  assert_non_null(copy);
  if (size_bytes > 0) memcpy(copy, bytes, size_bytes);
  return (assay_span){copy, size_bytes};
}

static inline void free_copy(assay_span copy) {
  free((void *)(uintptr_t)copy.data);
}

static inline void append(assay_buf *buf, const void *bytes, size_t size_bytes) {
  assert_int_equal(assay_buf_append(buf, bytes, size_bytes, NULL), ASSAY_OK);
}

static inline void append_varint(assay_buf *buf, uint64_t value) {
  uint8_t byte;
  for (; value >= 0x80; value >>= 7) {
    byte = (uint8_t)(value | 0x80);
    append(buf, &byte, 1);
  }
  byte = (uint8_t)value;
  append(buf, &byte, 1);
}

static inline void append_u64(assay_buf *buf, uint64_t value) {
  for (int i = 0; i < 8; i++) {
    uint8_t byte = (uint8_t)(value >> 8 * i);
    append(buf, &byte, 1);
  }
}

/* "0a 0f 12" into bytes. */
static inline void append_hex(assay_buf *buf, const char *hex) {
  while (*hex != '\0') {
    const char digits[3] = {hex[0], hex[1], '\0'};
    uint8_t byte = (uint8_t)strtoul(digits, NULL, 16);
    append(buf, &byte, 1);
    hex += 2;
    while (*hex == ' ') hex++;
  }
}

#endif
