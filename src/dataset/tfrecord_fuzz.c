/* Any bytes as a TFRecord file. The first byte chooses: even, the bytes as they are (plain, gzip or
 * zlib); odd, records of the lengths that the bytes give, with right CRCs, cut or changed where the
 * last two say. */
#include "dataset/tfrecord.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "dataset/crc32c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_words(assay_status st, const assay_error *err) {
  if (st && (err->status == ASSAY_OK || *err->text == '\0' || strpbrk(err->text, "\n\r") != NULL))
    abort();
}

static void read_file(assay_span bytes) {
  static const assay_record_limits limits = {.max_decoded_bytes = 1 << 20,
                                             .max_unpacked_bytes = 4 << 20};
  assay_tfrecord *file;
  assay_error err = {0};
  assay_status st = assay_tfrecord_open_bytes("f", bytes, &limits, &file, &err);
  expect_words(st, &err);
  if (st) return;
  uint64_t n = assay_tfrecord_count(file);
  for (uint64_t i = 0; i < n && i < 16; i++) {
    assay_span record;
    assay_error words = {0};
    st = assay_tfrecord_get(file, i * 7 % n, &record, &words);
    expect_words(st, &words);
    volatile uint8_t sum = 0;
    for (size_t k = 0; !st && k < record.size_bytes; k++) sum = (uint8_t)(sum + record.data[k]);
  }
  assay_tfrecord_close(file);
}

static void put(assay_buf *buf, const void *bytes, size_t n) {
  if (assay_buf_append(buf, bytes, n, NULL)) abort();
}

static void put_record(assay_buf *file, const assay_crc32c *crc, const uint8_t *bytes, size_t n) {
  const uint8_t length[8] = {(uint8_t)n};
  uint32_t value = assay_crc32c_mask(assay_crc32c_of(crc, length, sizeof length));
  put(file, length, sizeof length);
  put(file, &value, sizeof value);
  put(file, bytes, n);
  value = assay_crc32c_mask(assay_crc32c_of(crc, bytes, n));
  put(file, &value, sizeof value);
}

static void make_and_read(const uint8_t *data, size_t size) {
  static assay_crc32c crc;
  assay_buf file = {0};
  size_t at = 0;
  assay_crc32c_init(&crc);
  while (size - at > 2) {
    size_t n = data[at] & 0x3f;
    at++;
    if (n > size - at) n = size - at;
    put_record(&file, &crc, data + at, n);
    at += n;
  }
  read_file((assay_span){file.data, file.size_bytes});
  if (file.size_bytes > 0 && size - at == 2) {
    read_file((assay_span){file.data, data[at] % file.size_bytes});
    file.data[data[at] % file.size_bytes] ^= data[at + 1];
    read_file((assay_span){file.data, file.size_bytes});
  }
  assay_buf_reset(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0 || data[0] % 2 == 0)
    read_file((assay_span){size > 1 ? data + 1 : NULL, size > 1 ? size - 1 : 0});
  else
    make_and_read(data + 1, size - 1);
  return 0;
}
