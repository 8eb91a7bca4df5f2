/* Chunks of Riegeli/records files. In the formulas BLOCK = 65536, and the room for chunks in a
 * block is USABLE = 65536 - 24. */
#include "dataset/riegeli.h"

#include <inttypes.h>
#include <string.h>

#include "dataset/highway.h"

#define BLOCK        ASSAY_RIEGELI_BLOCK_BYTES
#define BLOCK_HEADER ASSAY_RIEGELI_BLOCK_HEADER_BYTES
#define CHUNK_HEADER ASSAY_RIEGELI_CHUNK_HEADER_BYTES
#define USABLE       (BLOCK - BLOCK_HEADER)

const uint8_t assay_riegeli_signature[64] = {
    0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, /* block header */
    0x40, 0,    0,    0,    0,    0,    0,    0,                            /* … next chunk: 64 */
    0x91, 0xba, 0xc2, 0x3c, 0x92, 0x87, 0xe1, 0xa9, 0, 0, 0, 0, 0, 0, 0, 0, /* chunk header */
    0xe1, 0x9f, 0x13, 0xc0, 0xe9, 0xb1, 0xc3, 0x72, /* … hash of no data */
    's',  0,    0,    0,    0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0,
};

/* ---- geometry -----------------------------------------------------------------------------------
 */

/* Bytes to the next boundary of a block; 0 at one. */
static uint64_t to_boundary(uint64_t p) {
  return (BLOCK - p % BLOCK) % BLOCK;
}

bool assay_riegeli_may_begin(uint64_t p) {
  return to_boundary(p) < USABLE;
}

uint64_t assay_riegeli_advance(uint64_t p, uint64_t n_bytes) {
  return p + n_bytes + BLOCK_HEADER * ((n_bytes + (p + USABLE - 1) % BLOCK) / USABLE);
}

uint64_t assay_riegeli_round_up(uint64_t p) {
  uint64_t rest = to_boundary(p);
  return rest < USABLE ? p : p + rest - (USABLE - 1);
}

/* ---- block headers ------------------------------------------------------------------------------
 */

/* The block header at `at`, inside [begin, end) of a chunk.
 *   0  8  hash of the 16 bytes behind it
 *   8  8  at - begin of the chunk it interrupts
 *  16  8  end of that chunk - at */
static assay_status check_block_header(assay_span file, uint64_t at, uint64_t begin, uint64_t end,
                                       assay_error *err) {
  const uint8_t *header = file.data + at;
  uint64_t hash = assay_highway_hash(header + 8, 16), found = assay_span_u64(header);
  if (hash != found)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "damaged block header at offset %" PRIu64 ": its hash is %016" PRIx64
                      ", computed %016" PRIx64,
                      at, found, hash);
  uint64_t previous = assay_span_u64(header + 8), next = assay_span_u64(header + 16);
  if (previous == at - begin && next == end - at) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT,
                    "the block header at offset %" PRIu64 " lies %" PRIu64 " behind and %" PRIu64
                    " before a chunk's ends by its own account, %" PRIu64 " and %" PRIu64
                    " by the chunk's",
                    at, previous, next, at - begin, end - at);
}

/* Every block header at a boundary in [from, to). */
static assay_status check_block_headers(assay_span file, const assay_riegeli_chunk *chunk,
                                        uint64_t from, uint64_t to, assay_error *err) {
  for (uint64_t at = from + to_boundary(from); at < to; at += BLOCK) {
    ASSAY_TRY(check_block_header(file, at, chunk->begin, chunk->end, err));
  }
  return ASSAY_OK;
}

/* ---- reading ------------------------------------------------------------------------------------
 */

/* Copies n_bytes of a chunk that go on at *at, passing over block headers; they are all in the
 * file. */
static void copy_bytes(assay_span file, uint64_t *at, uint8_t *out, uint64_t n_bytes) {
  while (n_bytes > 0) {
    if (*at % BLOCK == 0) *at += BLOCK_HEADER;
    uint64_t n = BLOCK - *at % BLOCK;
    if (n > n_bytes) n = n_bytes;
    memcpy(out, file.data + *at, (size_t)n);
    out += n;
    *at += n;
    n_bytes -= n;
  }
}

/*   0  8  hash of the 32 bytes behind it
 *   8  8  data_bytes
 *  16  8  data_hash
 *  24  1  type
 *  25  7  n_records
 *  32  8  decoded_bytes */
static assay_status parse_header(const uint8_t *header, assay_riegeli_chunk *chunk,
                                 assay_error *err) {
  uint64_t hash = assay_highway_hash(header + 8, 32), found = assay_span_u64(header);
  if (hash != found)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "damaged chunk header: its hash is %016" PRIx64 ", computed %016" PRIx64,
                      found, hash);
  chunk->data_bytes = assay_span_u64(header + 8);
  chunk->data_hash = assay_span_u64(header + 16);
  chunk->type = header[24];
  chunk->n_records = assay_span_u64(header + 24) >> 8;
  chunk->decoded_bytes = assay_span_u64(header + 32);
  return ASSAY_OK;
}

/* begin + max(data, records): each record takes at least one byte of the file, so that offsets can
 * name them. */
static assay_status place(assay_riegeli_chunk *chunk, uint64_t limit, assay_error *err) {
  uint64_t room = limit - chunk->begin;
  if (chunk->data_bytes > room)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "%" PRIu64 " bytes of data do not fit into the %" PRIu64 " that are there",
                      chunk->data_bytes, room);
  if (chunk->n_records > room)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "%" PRIu64 " records do not fit into the %" PRIu64 " bytes that are there",
                      chunk->n_records, room);
  chunk->data_end = assay_riegeli_advance(chunk->begin, CHUNK_HEADER + chunk->data_bytes);
  uint64_t records_end = assay_riegeli_round_up(chunk->begin + chunk->n_records);
  chunk->end = records_end > chunk->data_end ? records_end : chunk->data_end;
  if (chunk->end > limit)
    return assay_fail(err, ASSAY_E_FORMAT, "it ends at offset %" PRIu64 ", %" PRIu64 " too far",
                      chunk->end, chunk->end - limit);
  return ASSAY_OK;
}

assay_status assay_riegeli_read_header(assay_span file, uint64_t begin, uint64_t limit,
                                       assay_riegeli_chunk *out, assay_error *err) {
  assay_riegeli_chunk chunk = {.begin = begin};
  uint8_t header[CHUNK_HEADER];
  if (!assay_riegeli_may_begin(begin))
    return assay_fail(err, ASSAY_E_FORMAT, "no chunk can begin inside a block header");
  if (limit > file.size_bytes) limit = file.size_bytes;
  if (begin >= limit || assay_riegeli_advance(begin, CHUNK_HEADER) > limit)
    return assay_fail(err, ASSAY_E_FORMAT, "cut: the chunk's header would end beyond %" PRIu64,
                      limit);
  uint64_t at = begin;
  copy_bytes(file, &at, header, CHUNK_HEADER);
  ASSAY_TRY(parse_header(header, &chunk, err));
  ASSAY_TRY(place(&chunk, limit, err));
  ASSAY_TRY(check_block_headers(file, &chunk, begin, chunk.data_end, err));
  *out = chunk;
  return ASSAY_OK;
}

assay_status assay_riegeli_read_data(assay_span file, const assay_riegeli_chunk *chunk,
                                     assay_buf *scratch, assay_span *out, assay_error *err) {
  uint64_t at = assay_riegeli_advance(chunk->begin, CHUNK_HEADER);
  size_t n_bytes = (size_t)chunk->data_bytes;
  assay_span data = {file.data + at, n_bytes};
  if (chunk->data_end - at != chunk->data_bytes || at % BLOCK == 0) {
    uint8_t *copy;
    scratch->size_bytes = 0;
    ASSAY_TRY(assay_buf_reserve(scratch, n_bytes, &copy, err));
    copy_bytes(file, &at, copy, n_bytes);
    data.data = copy;
  }
  uint64_t hash = assay_highway_hash(data.data, n_bytes);
  if (hash != chunk->data_hash)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "damaged chunk data: their hash is %016" PRIx64 ", computed %016" PRIx64,
                      chunk->data_hash, hash);
  *out = data;
  return ASSAY_OK;
}

assay_status assay_riegeli_check_padding(assay_span file, const assay_riegeli_chunk *chunk,
                                         assay_error *err) {
  ASSAY_TRY(check_block_headers(file, chunk, chunk->data_end, chunk->end, err));
  for (uint64_t at = chunk->data_end; at < chunk->end; at++) {
    if (at % BLOCK == 0) at += BLOCK_HEADER;
    if (at < chunk->end && file.data[at] != 0)
      return assay_fail(err, ASSAY_E_FORMAT,
                        "damaged padding: byte 0x%02x at offset %" PRIu64 ", expected 0",
                        file.data[at], at);
  }
  return ASSAY_OK;
}

/* ---- types --------------------------------------------------------------------------------------
 */

static assay_status fail_transposed(assay_error *err) {
  return assay_fail(err, ASSAY_E_UNSUPPORTED,
                    "Riegeli-transposed (type 't'), which assay does not read: rewrite the dataset "
                    "with transpose:false");
}

static assay_status fail_type(const assay_riegeli_chunk *chunk, assay_error *err) {
  return assay_fail(err, ASSAY_E_FORMAT, "unknown chunk type 0x%02x", chunk->type);
}

assay_status assay_riegeli_need_simple(const assay_riegeli_chunk *chunk, assay_error *err) {
  switch (chunk->type) {
  case ASSAY_RIEGELI_SIMPLE:
    return ASSAY_OK;
  case ASSAY_RIEGELI_TRANSPOSED:
    return fail_transposed(err);
  case ASSAY_RIEGELI_SIGNATURE:
  case ASSAY_RIEGELI_METADATA:
  case ASSAY_RIEGELI_PADDING:
    return assay_fail(err, ASSAY_E_FORMAT, "a chunk of type '%c' where one with records must be",
                      chunk->type);
  default:
    return fail_type(chunk, err);
  }
}

assay_status assay_riegeli_need_blank(const assay_riegeli_chunk *chunk, assay_error *err) {
  if (chunk->type == ASSAY_RIEGELI_TRANSPOSED) return fail_transposed(err);
  bool is_known = chunk->type == ASSAY_RIEGELI_SIGNATURE || chunk->type == ASSAY_RIEGELI_METADATA ||
                  chunk->type == ASSAY_RIEGELI_PADDING;
  if (chunk->type == ASSAY_RIEGELI_SIMPLE)
    return assay_fail(err, ASSAY_E_FORMAT, "a chunk with records that the footer does not list");
  if (chunk->n_records > 0 && !is_known) return fail_type(chunk, err);
  bool has_data = chunk->type == ASSAY_RIEGELI_SIGNATURE && chunk->data_bytes > 0;
  bool has_decoded = chunk->type != ASSAY_RIEGELI_METADATA && is_known && chunk->decoded_bytes > 0;
  if (chunk->n_records > 0 || has_data || has_decoded)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "a chunk of type '%c' with %" PRIu64 " records of %" PRIu64
                      " bytes, where there must be none",
                      chunk->type, chunk->n_records, chunk->decoded_bytes);
  return ASSAY_OK;
}
