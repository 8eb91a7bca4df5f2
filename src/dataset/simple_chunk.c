/* Simple chunks:
 *   byte      codec
 *   varint    n_sizes
 *   n_sizes   buffer of the record sizes, each a varint
 *   rest      buffer of the records in a row
 * A buffer of a codec other than 0 is a varint with its unpacked size, and a compressed stream. */
#include "dataset/simple_chunk.h"

#include <assert.h>
#include <inttypes.h>

#include "base/alloc.h"

#define VARINT_MAX_BYTES 10

void assay_simple_chunk_reset(assay_simple_chunk *chunk) {
  assay_free(chunk->ends);
  assay_buf_reset(&chunk->sizes);
  assay_buf_reset(&chunk->unpacked);
  assay_codec_reset(&chunk->state);
  *chunk = (assay_simple_chunk){0};
}

assay_span assay_simple_chunk_at(const assay_simple_chunk *chunk, size_t i) {
  assert(i < chunk->n_records);
  uint64_t begin = i == 0 ? 0 : chunk->ends[i - 1];
  return (assay_span){chunk->values.data + begin, (size_t)(chunk->ends[i] - begin)};
}

/* Room for the ends of n records; what was there is gone. */
static assay_status make_ends(assay_simple_chunk *chunk, size_t n, assay_error *err) {
  if (chunk->ends != NULL && n <= chunk->ends_cap) return ASSAY_OK;
  assay_free(chunk->ends);
  chunk->ends_cap = 0;
  chunk->ends = assay_alloc_array(n, sizeof *chunk->ends);
  if (chunk->ends == NULL) return assay_fail_memory(err, n * sizeof *chunk->ends);
  chunk->ends_cap = n;
  return ASSAY_OK;
}

/* How many bytes a buffer may unpack to. */
typedef struct range {
  uint64_t min_bytes, max_bytes;
} range;

static assay_status check_range(uint64_t n_bytes, range expected, assay_error *err) {
  if (n_bytes >= expected.min_bytes && n_bytes <= expected.max_bytes) return ASSAY_OK;
  if (expected.min_bytes == expected.max_bytes)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "they take %" PRIu64 " bytes, by the chunk's header %" PRIu64, n_bytes,
                      expected.min_bytes);
  return assay_fail(err, ASSAY_E_FORMAT,
                    "they take %" PRIu64 " bytes, expected %" PRIu64 " to %" PRIu64, n_bytes,
                    expected.min_bytes, expected.max_bytes);
}

/* The bytes of a buffer: a view on it, or unpacked into room. */
static assay_status unpack(assay_simple_chunk *chunk, assay_span buffer, range expected,
                           assay_buf *room, assay_span *out, assay_error *err) {
  uint64_t n_bytes = buffer.size_bytes;
  bool is_packed = chunk->codec != ASSAY_CODEC_NONE;
  if (is_packed && !assay_span_take_varint(&buffer, &n_bytes))
    return assay_fail(err, ASSAY_E_FORMAT, "no unpacked size in front");
  ASSAY_TRY(check_range(n_bytes, expected, err));
  if (!is_packed) {
    *out = buffer;
    return ASSAY_OK;
  }
  uint8_t *bytes;
  room->size_bytes = 0;
  ASSAY_TRY(assay_buf_reserve(room, (size_t)n_bytes, &bytes, err));
  ASSAY_TRY(assay_codec_unpack(&chunk->state, chunk->codec, buffer, bytes, (size_t)n_bytes, err));
  *out = (assay_span){bytes, (size_t)n_bytes};
  return ASSAY_OK;
}

/* Sizes into ends. */
static assay_status add_up(assay_simple_chunk *chunk, assay_span sizes, size_t n_records,
                           uint64_t decoded_bytes, assay_error *err) {
  uint64_t end = 0;
  for (size_t i = 0; i < n_records; i++) {
    uint64_t size_bytes;
    if (!assay_span_take_varint(&sizes, &size_bytes))
      return assay_fail(err, ASSAY_E_FORMAT, "record %zu of %zu has no size, or a damaged one", i,
                        n_records);
    if (size_bytes > decoded_bytes - end)
      return assay_fail(err, ASSAY_E_FORMAT,
                        "record %zu takes %" PRIu64 " bytes where %" PRIu64 " are left", i,
                        size_bytes, decoded_bytes - end);
    end += size_bytes;
    chunk->ends[i] = end;
  }
  if (sizes.size_bytes > 0)
    return assay_fail(err, ASSAY_E_FORMAT, "%zu bytes stand behind the sizes of the records",
                      sizes.size_bytes);
  if (end != decoded_bytes)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "the records take %" PRIu64 " bytes, by the chunk's header %" PRIu64, end,
                      decoded_bytes);
  return ASSAY_OK;
}

static assay_status split(assay_simple_chunk *chunk, assay_span data, assay_span *out_sizes,
                          assay_span *out_values, assay_error *err) {
  if (data.size_bytes == 0) return assay_fail(err, ASSAY_E_FORMAT, "the chunk has no data");
  if (assay_codec_name(data.data[0]) == NULL)
    return assay_fail(err, ASSAY_E_FORMAT, "unknown compression 0x%02x", data.data[0]);
  chunk->codec = (assay_codec)data.data[0];
  assay_span rest = {data.data + 1, data.size_bytes - 1};
  uint64_t n_sizes;
  if (!assay_span_take_varint(&rest, &n_sizes))
    return assay_fail(err, ASSAY_E_FORMAT, "the length of the record sizes is cut or damaged");
  if (n_sizes > rest.size_bytes)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "the record sizes take %" PRIu64 " bytes where %zu are left", n_sizes,
                      rest.size_bytes);
  *out_sizes = (assay_span){rest.data, (size_t)n_sizes};
  *out_values = (assay_span){rest.data + n_sizes, rest.size_bytes - (size_t)n_sizes};
  return ASSAY_OK;
}

assay_status assay_simple_chunk_decode(assay_simple_chunk *chunk, assay_span data,
                                       uint64_t n_records, uint64_t decoded_bytes,
                                       uint64_t max_decoded_bytes, assay_error *err) {
  assay_span sizes, values;
  chunk->n_records = 0;
  if (n_records > ASSAY_CHUNK_MAX_RECORDS)
    return assay_fail(err, ASSAY_E_LIMIT, "%" PRIu64 " records in one chunk, assay reads %" PRIu64,
                      n_records, ASSAY_CHUNK_MAX_RECORDS);
  if (decoded_bytes > max_decoded_bytes || decoded_bytes > PTRDIFF_MAX)
    return assay_fail(err, ASSAY_E_LIMIT,
                      "%" PRIu64 " bytes of records in one chunk, assay reads %" PRIu64,
                      decoded_bytes, max_decoded_bytes);
  ASSAY_TRY(split(chunk, data, &sizes, &values, err));
  const range sizes_range = {n_records, VARINT_MAX_BYTES * n_records};
  const range values_range = {decoded_bytes, decoded_bytes};
  assay_status st = unpack(chunk, sizes, sizes_range, &chunk->sizes, &sizes, err);
  if (st) assay_error_in(err, "sizes of the records");
  if (!st) {
    st = unpack(chunk, values, values_range, &chunk->unpacked, &values, err);
    if (st) assay_error_in(err, "records");
  }
  if (st) return st;
  ASSAY_TRY(make_ends(chunk, (size_t)n_records, err));
  ASSAY_TRY(add_up(chunk, sizes, (size_t)n_records, decoded_bytes, err));
  chunk->values = values;
  chunk->n_records = (size_t)n_records;
  return ASSAY_OK;
}
