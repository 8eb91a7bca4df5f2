/* The records in the data of a simple chunk ('r') of a Riegeli/records file. */
#ifndef ASSAY_DATASET_SIMPLE_CHUNK_H
#define ASSAY_DATASET_SIMPLE_CHUNK_H

#include "base/buf.h"
#include "base/status.h"
#include "dataset/record_codec.h"
#include "dataset/span.h"

#define ASSAY_CHUNK_MAX_RECORDS ((uint64_t)1 << 24) /* ours; TFDS writes one record a chunk */

/* Memory is kept from one chunk to the next. All zeroes is a valid empty one. */
typedef struct assay_simple_chunk {
  assay_span values; /* the records in a row: a view on the data, or on unpacked */
  uint64_t *ends;    /* [n_records] offset in values behind each record */
  size_t n_records;
  assay_codec codec;
  size_t ends_cap;           /* elements of ends */
  assay_buf sizes, unpacked; /* what was compressed */
  assay_codec_state state;
} assay_simple_chunk;

/* Decodes the data of a chunk whose header says n_records and decoded_bytes. chunk->values may be a
 * view on data. Nothing is allocated before its size has been held against n_records,
 * decoded_bytes, the bytes that are there and max_decoded_bytes. After a failure the chunk has no
 * records. Errors: FORMAT, LIMIT, MEMORY.
 * Source: "Riegeli/records file format specification", section "Simple chunk with records". */
assay_status assay_simple_chunk_decode(assay_simple_chunk *chunk, assay_span data,
                                       uint64_t n_records, uint64_t decoded_bytes,
                                       uint64_t max_decoded_bytes,
                                       assay_error *err) ASSAY_NODISCARD;

/* Record i < n_records, borrowed until the next decode. */
assay_span assay_simple_chunk_at(const assay_simple_chunk *chunk, size_t i);

void assay_simple_chunk_reset(assay_simple_chunk *chunk);

#endif
