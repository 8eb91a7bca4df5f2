/* Any bytes as an ArrayRecord file. No fuzzer finds bytes with right hashes, so the first byte
 * chooses: 0, the bytes as they are; 1, as the data of one simple chunk; anything else, a file made
 * of chunks that the bytes describe, with right hashes, perhaps cut or with one bit flipped. */
#include "dataset/array_record.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/record_maker.h"
#include "dataset/simple_chunk.h"

#define MAX_DECODED_BYTES (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const assay_record_limits limits = {.max_decoded_bytes = MAX_DECODED_BYTES};

/* Reads every byte of a record, so that a sanitised build sees what lies outside. */
static uint8_t touch(assay_span record) {
  uint8_t sum = 0;
  for (size_t i = 0; i < record.size_bytes; i++) sum = (uint8_t)(sum + record.data[i]);
  return sum;
}

static void expect_words(assay_status st, const assay_error *err) {
  if (st && (err->status == ASSAY_OK || *err->text == '\0' || strpbrk(err->text, "\n\r") != NULL))
    abort();
}

static void read_file(assay_span bytes) {
  assay_array_record *file;
  assay_error err = {0}, words = {0};
  assay_status st = assay_array_record_open_bytes("f", bytes, &limits, &file, &err);
  expect_words(st, &err);
  if (st) return;
  uint64_t n = assay_array_record_describe(file).n_records;
  uint8_t first = 0, again = 0;
  for (uint64_t i = 0; i < n && i < 256 && !st; i++) {
    assay_span record;
    st = assay_array_record_get(file, n - 1 - i, &record, &err);
    if (!st) first = (uint8_t)(first + touch(record));
  }
  expect_words(st, &err);
  for (uint64_t i = 0; i < n && i < 256 && !st; i++) {
    assay_span record;
    if (assay_array_record_get(file, i, &record, NULL)) break;
    if (n <= 256) again = (uint8_t)(again + touch(record));
  }
  if (!st && n <= 256 && first != again) abort();
  expect_words(assay_array_record_verify(file, &words), &words);
  assay_array_record_close(file);
}

/* A chunk's numbers, then its data. */
static void read_chunk(const uint8_t *data, size_t size) {
  if (size < 4) return;
  assay_simple_chunk chunk = {0};
  assay_error err = {0};
  uint64_t n_records = data[0], decoded_bytes = (uint64_t)data[1] | (uint64_t)data[2] << 8;
  if (data[3] & 1) decoded_bytes <<= 8;
  const assay_span bytes = {data + 4, size - 4};
  assay_status st =
      assay_simple_chunk_decode(&chunk, bytes, n_records, decoded_bytes, MAX_DECODED_BYTES, &err);
  expect_words(st, &err);
  uint64_t total = 0;
  for (size_t i = 0; i < chunk.n_records; i++) {
    assay_span record = assay_simple_chunk_at(&chunk, i);
    total += record.size_bytes;
    touch(record);
  }
  if (!st && (total != decoded_bytes || chunk.n_records != n_records)) abort();
  assay_simple_chunk_reset(&chunk);
}

/* Chunks of six bytes of description and so much data; then what footer and postscript say. */
static void make_and_read(const uint8_t *data, size_t size) {
  record_maker m;
  size_t at = 0;
  uint8_t flags = 0;
  record_maker_begin(&m);
  while (size - at >= 6 && m.n_entries < 16 && m.bytes.size_bytes < 200000) {
    const uint8_t *d = data + at;
    size_t n = d[4];
    at += 6;
    if (n > size - at) n = size - at;
    const assay_span bytes = {data + at, n};
    static const uint8_t types[] = {'r', 'r', 'r', 'p', 'm', 't', 's', 0};
    uint8_t type = types[d[0] & 7] != 0 ? types[d[0] & 7] : d[1];
    uint64_t decoded_bytes = (uint64_t)d[2] | (uint64_t)d[3] << 8;
    uint64_t n_records = d[5];
    if (d[0] & 0x40) n_records <<= 9; /* so that padding goes over blocks */
    if (d[0] & 0x80)
      m.entries[m.n_entries++] = (record_maker_entry){m.bytes.size_bytes, decoded_bytes, n_records};
    record_maker_chunk(&m, type, bytes, n_records, decoded_bytes);
    flags = d[1];
    at += n;
  }
  if (flags == 0xf1) m.extra_chunks = 1;
  if (flags == 0xf2) m.extra_records = 1;
  if (flags == 0xf3) m.footer_offset_shift = 24;
  if (flags == 0xf4) m.options = "group_size:1,transpose:false";
  record_maker_finish(&m);
  read_file((assay_span){m.bytes.data, m.bytes.size_bytes});
  if (at < size && size - at >= 2) { /* what is left says what to spoil */
    size_t where = ((size_t)data[at] << 8 | data[at + 1]) % m.bytes.size_bytes;
    m.bytes.data[where] ^= 1;
    read_file((assay_span){m.bytes.data, m.bytes.size_bytes});
  }
  record_maker_reset(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0 || data[0] == 0)
    read_file((assay_span){size > 1 ? data + 1 : NULL, size > 1 ? size - 1 : 0});
  else if (data[0] == 1)
    read_chunk(data + 1, size - 1);
  else
    make_and_read(data + 1, size - 1);
  return 0;
}
