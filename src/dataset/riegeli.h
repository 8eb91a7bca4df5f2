/* The chunk layer of Riegeli/records files: where chunks lie, their headers, the block headers that
 * interrupt them every 64 KiB, and their hashes. What is in a chunk is left to others.
 *
 * Source: Riegeli's "Riegeli/records file format specification" (doc/riegeli_records_file_format.md
 * in github google/riegeli). */
#ifndef ASSAY_DATASET_RIEGELI_H
#define ASSAY_DATASET_RIEGELI_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/status.h"
#include "dataset/span.h"

#define ASSAY_RIEGELI_BLOCK_BYTES        ((uint64_t)65536)
#define ASSAY_RIEGELI_BLOCK_HEADER_BYTES ((uint64_t)24)
#define ASSAY_RIEGELI_CHUNK_HEADER_BYTES ((uint64_t)40)
#define ASSAY_RIEGELI_SIGNATURE_BYTES    ((uint64_t)64)

/* Every file begins with these 64 bytes: a block header and the header of an empty 's' chunk. */
extern const uint8_t assay_riegeli_signature[64];

/* The format's types of chunks. */
enum {
  ASSAY_RIEGELI_SIGNATURE = 's',
  ASSAY_RIEGELI_METADATA = 'm',
  ASSAY_RIEGELI_PADDING = 'p',
  ASSAY_RIEGELI_SIMPLE = 'r',
  ASSAY_RIEGELI_TRANSPOSED = 't',
};

typedef struct assay_riegeli_chunk {
  uint64_t begin, end;    /* offsets in the file; end is where the next chunk begins */
  uint64_t data_end;      /* where the data end and zero padding begins */
  uint64_t data_bytes;    /* without block headers */
  uint64_t data_hash;     /* as the header has it */
  uint64_t decoded_bytes; /* sum of the sizes of the records */
  uint64_t n_records;     /* below 2^56 */
  uint8_t type;
} assay_riegeli_chunk;

/* Geometry; p is an offset in a file below 2^62. advance: the offset n_bytes < 2^62 bytes of chunk
 * behind a chunk's begin p. */
bool assay_riegeli_may_begin(uint64_t p);
uint64_t assay_riegeli_advance(uint64_t p, uint64_t n_bytes);
uint64_t assay_riegeli_round_up(uint64_t p);

/* The header of the chunk that begins at `begin` and must end at or before `limit` (at most the
 * size of the file). Checked: that a chunk may begin there, the header's hash, that the sizes fit
 * into the file, and every block header in front of data_end. So n_records and data_bytes are at
 * most limit - begin. Errors: FORMAT. */
assay_status assay_riegeli_read_header(assay_span file, uint64_t begin, uint64_t limit,
                                       assay_riegeli_chunk *out, assay_error *err) ASSAY_NODISCARD;

/* The data of a chunk that read_header gave: a view on the file, or on scratch where block headers
 * interrupt them. The hash is checked. Errors: FORMAT, MEMORY. */
assay_status assay_riegeli_read_data(assay_span file, const assay_riegeli_chunk *chunk,
                                     assay_buf *scratch, assay_span *out,
                                     assay_error *err) ASSAY_NODISCARD;

/* What reading leaves alone: the padding from data_end to end is zero but for right block headers.
 * Errors: FORMAT. */
assay_status assay_riegeli_check_padding(assay_span file, const assay_riegeli_chunk *chunk,
                                         assay_error *err) ASSAY_NODISCARD;

/* FORMAT or UNSUPPORTED unless the chunk holds records as a simple chunk ('r'). */
assay_status assay_riegeli_need_simple(const assay_riegeli_chunk *chunk,
                                       assay_error *err) ASSAY_NODISCARD;

/* FORMAT or UNSUPPORTED unless the chunk may be passed over: a signature, metadata or padding
 * without records, or another type without records. */
assay_status assay_riegeli_need_blank(const assay_riegeli_chunk *chunk,
                                      assay_error *err) ASSAY_NODISCARD;

#endif
