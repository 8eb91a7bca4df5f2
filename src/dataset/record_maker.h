/* For tests and fuzzers: ArrayRecord files made chunk by chunk, right or wrong as wanted, with
 * right hashes. Chunks are not compressed unless their data come so. */
#ifndef ASSAY_DATASET_RECORD_MAKER_H
#define ASSAY_DATASET_RECORD_MAKER_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "dataset/highway.h"
#include "dataset/riegeli.h"

/* What the footer and postscript will say. */
typedef struct record_maker_entry {
  uint64_t offset, decoded_bytes, n_records;
} record_maker_entry;

#define RECORD_MAKER_ENTRIES_MAX 64

typedef struct record_maker {
  assay_buf bytes; /* the file so far */
  record_maker_entry entries[RECORD_MAKER_ENTRIES_MAX];
  size_t n_entries;
  uint64_t version, magic;      /* as record_maker_begin sets them: right ones */
  uint64_t extra_chunks;        /* added to the number of chunks in the metadata */
  uint64_t extra_records;       /* and of records */
  uint64_t footer_offset_shift; /* added to where the postscript says the footer is */
  const char *options;          /* of the writer, or NULL */
  size_t postscript_copies;
} record_maker;

static inline void maker_put(assay_buf *buf, const void *bytes, size_t n) {
  if (assay_buf_append(buf, bytes, n, NULL)) abort();
}

static inline void maker_put_u64(uint8_t *to, uint64_t value) {
  for (int i = 0; i < 8; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static inline void maker_put_varint(assay_buf *buf, uint64_t value) {
  for (; value >= 0x80; value >>= 7) maker_put(buf, (uint8_t[]){(uint8_t)(value | 0x80)}, 1);
  maker_put(buf, (uint8_t[]){(uint8_t)value}, 1);
}

static inline void maker_put_number(assay_buf *buf, unsigned field, uint64_t value) {
  maker_put_varint(buf, (uint64_t)field << 3);
  maker_put_varint(buf, value);
}

static inline void record_maker_begin(record_maker *m) {
  *m = (record_maker){.version = 1, .magic = 0x71930e704fdae05e, .postscript_copies = 3};
  maker_put(&m->bytes, assay_riegeli_signature, sizeof assay_riegeli_signature);
}

static inline void record_maker_reset(record_maker *m) {
  assay_buf_reset(&m->bytes);
}

/* Bytes of a chunk from begin to end, with block headers where they are due. */
static inline void maker_emit(record_maker *m, uint64_t begin, uint64_t end, const uint8_t *bytes,
                              size_t n) {
  for (size_t i = 0; i < n;) {
    uint64_t at = m->bytes.size_bytes;
    if (at % ASSAY_RIEGELI_BLOCK_BYTES == 0) {
      uint8_t header[24];
      maker_put_u64(header + 8, at - begin);
      maker_put_u64(header + 16, end - at);
      maker_put_u64(header, assay_highway_hash(header + 8, 16));
      maker_put(&m->bytes, header, sizeof header);
    }
    at = m->bytes.size_bytes;
    size_t room = (size_t)(ASSAY_RIEGELI_BLOCK_BYTES - at % ASSAY_RIEGELI_BLOCK_BYTES);
    size_t piece = n - i < room ? n - i : room;
    maker_put(&m->bytes, bytes + i, piece);
    i += piece;
  }
}

/* Zeroes with block headers up to end. */
static inline void maker_pad(record_maker *m, uint64_t begin, uint64_t end) {
  static const uint8_t zeroes[4096];
  while (m->bytes.size_bytes < end) {
    uint64_t at = m->bytes.size_bytes, in_block = at % ASSAY_RIEGELI_BLOCK_BYTES;
    uint64_t n = in_block == 0 ? 1 : ASSAY_RIEGELI_BLOCK_BYTES - in_block;
    if (n > end - at) n = end - at;
    if (n > sizeof zeroes) n = sizeof zeroes;
    maker_emit(m, begin, end, zeroes, (size_t)n);
  }
}

/* A chunk at the end of the file; where it begins is returned. */
static inline uint64_t record_maker_chunk(record_maker *m, uint8_t type, assay_span data,
                                          uint64_t n_records, uint64_t decoded_bytes) {
  uint64_t begin = m->bytes.size_bytes;
  uint64_t end = assay_riegeli_advance(begin, 40 + data.size_bytes);
  uint64_t records_end = assay_riegeli_round_up(begin + n_records);
  if (records_end > end && n_records < 1 << 24) end = records_end;
  uint8_t header[40];
  maker_put_u64(header + 8, data.size_bytes);
  maker_put_u64(header + 16, assay_highway_hash(data.data, data.size_bytes));
  maker_put_u64(header + 24, (uint64_t)type | n_records << 8);
  maker_put_u64(header + 32, decoded_bytes);
  maker_put_u64(header, assay_highway_hash(header + 8, 32));
  maker_emit(m, begin, end, header, sizeof header);
  maker_emit(m, begin, end, data.data, data.size_bytes);
  maker_pad(m, begin, end);
  return begin;
}

/* A chunk that the footer will list. */
static inline void record_maker_data(record_maker *m, assay_span data, uint64_t n_records,
                                     uint64_t decoded_bytes) {
  assert(m->n_entries < RECORD_MAKER_ENTRIES_MAX);
  record_maker_entry *entry = &m->entries[m->n_entries++];
  *entry = (record_maker_entry){m->bytes.size_bytes, decoded_bytes, n_records};
  record_maker_chunk(m, 'r', data, n_records, decoded_bytes);
}

/* The uncompressed data of a simple chunk with n records. */
static inline uint64_t maker_simple(assay_buf *out, const assay_span *records, size_t n) {
  assay_buf sizes = {0};
  uint64_t decoded_bytes = 0;
  for (size_t i = 0; i < n; i++) {
    maker_put_varint(&sizes, records[i].size_bytes);
    decoded_bytes += records[i].size_bytes;
  }
  maker_put(out, "", 1);
  maker_put_varint(out, sizes.size_bytes);
  maker_put(out, sizes.size_bytes > 0 ? sizes.data : (const uint8_t *)"", sizes.size_bytes);
  for (size_t i = 0; i < n; i++) maker_put(out, records[i].data, records[i].size_bytes);
  assay_buf_reset(&sizes);
  return decoded_bytes;
}

static inline void record_maker_records(record_maker *m, const assay_span *records, size_t n) {
  assay_buf data = {0};
  uint64_t decoded_bytes = maker_simple(&data, records, n);
  record_maker_data(m, (assay_span){data.data, data.size_bytes}, n, decoded_bytes);
  assay_buf_reset(&data);
}

/* A padding chunk up to the next block boundary. */
static inline void maker_padding(record_maker *m) {
  uint64_t begin = m->bytes.size_bytes;
  uint64_t left =
      (ASSAY_RIEGELI_BLOCK_BYTES - begin % ASSAY_RIEGELI_BLOCK_BYTES) % ASSAY_RIEGELI_BLOCK_BYTES;
  if (left == 0) return;
  uint64_t n_headers = 0;
  if (left < 40) {
    left += ASSAY_RIEGELI_BLOCK_BYTES;
    n_headers = 1;
  }
  size_t n = (size_t)(left - 40 - 24 * n_headers);
  uint8_t *zeroes = calloc(n + 1, 1);
  if (zeroes == NULL) abort();
  record_maker_chunk(m, 'p', (assay_span){zeroes, n}, 0, 0);
  free(zeroes);
}

static inline void maker_metadata(const record_maker *m, assay_buf *out) {
  assay_buf inner = {0};
  uint64_t n_records = m->extra_records;
  for (size_t i = 0; i < m->n_entries; i++) n_records += m->entries[i].n_records;
  maker_put_number(&inner, 1, m->version);
  maker_put_number(&inner, 2, m->n_entries + m->extra_chunks);
  maker_put_number(&inner, 3, n_records);
  if (m->options != NULL) {
    maker_put_varint(&inner, 4 << 3 | 2);
    maker_put_varint(&inner, strlen(m->options));
    maker_put(&inner, m->options, strlen(m->options));
  }
  maker_put_varint(out, 1 << 3 | 2);
  maker_put_varint(out, inner.size_bytes);
  maker_put(out, inner.data, inner.size_bytes);
  assay_buf_reset(&inner);
}

static inline uint64_t maker_footer(record_maker *m) {
  assay_buf texts[RECORD_MAKER_ENTRIES_MAX + 1] = {{0}};
  assay_span records[RECORD_MAKER_ENTRIES_MAX + 1];
  maker_metadata(m, &texts[0]);
  for (size_t i = 0; i < m->n_entries; i++) {
    maker_put_number(&texts[i + 1], 1, m->entries[i].offset);
    maker_put_number(&texts[i + 1], 2, m->entries[i].decoded_bytes);
    maker_put_number(&texts[i + 1], 3, m->entries[i].n_records);
  }
  for (size_t i = 0; i <= m->n_entries; i++)
    records[i] = (assay_span){texts[i].data, texts[i].size_bytes};
  assay_buf data = {0};
  uint64_t decoded_bytes = maker_simple(&data, records, m->n_entries + 1);
  uint64_t offset = record_maker_chunk(m, 'r', (assay_span){data.data, data.size_bytes},
                                       m->n_entries + 1, decoded_bytes);
  for (size_t i = 0; i <= m->n_entries; i++) assay_buf_reset(&texts[i]);
  assay_buf_reset(&data);
  return offset;
}

/* Footer, padding, postscript, padding. */
static inline void record_maker_finish(record_maker *m) {
  uint64_t offset = maker_footer(m);
  maker_padding(m);
  assay_buf record = {0}, data = {0};
  maker_put_number(&record, 1, offset + m->footer_offset_shift);
  maker_put_number(&record, 2, m->magic);
  assay_span copies[8];
  for (size_t i = 0; i < m->postscript_copies; i++)
    copies[i] = (assay_span){record.data, record.size_bytes};
  uint64_t decoded_bytes = maker_simple(&data, copies, m->postscript_copies);
  record_maker_chunk(m, 'r', (assay_span){data.data, data.size_bytes}, m->postscript_copies,
                     decoded_bytes);
  maker_padding(m);
  assay_buf_reset(&record);
  assay_buf_reset(&data);
}

#endif
