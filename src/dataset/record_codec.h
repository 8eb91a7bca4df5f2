/* The compressed buffers of a record chunk: brotli, zstd and snappy, each unpacked into a buffer of
 * exactly the size that the file declares. */
#ifndef ASSAY_DATASET_RECORD_CODEC_H
#define ASSAY_DATASET_RECORD_CODEC_H

#include "base/status.h"
#include "dataset/span.h"

typedef enum assay_codec {
  ASSAY_CODEC_NONE = 0, /* the values are Riegeli's bytes for them */
  ASSAY_CODEC_BROTLI = 'b',
  ASSAY_CODEC_SNAPPY = 's',
  ASSAY_CODEC_ZSTD = 'z',
} assay_codec;

/* "uncompressed", "brotli", "zstd", "snappy"; NULL for a byte that is no codec. */
const char *assay_codec_name(uint8_t codec);

/* What is worth keeping from one buffer to the next. All zeroes is a valid empty one. */
typedef struct assay_codec_state {
  void *zstd; /* ZSTD_DCtx */
} assay_codec_state;

void assay_codec_reset(assay_codec_state *state);

/* Unpacks `packed`, one whole stream and nothing behind it, to exactly out_bytes bytes at out (not
 * NULL). Time goes with packed plus out_bytes. Memory beside out: zstd about 160 kB; snappy none;
 * brotli up to 4 * out_bytes + 32 MiB, whatever window the stream asks for. out holds rubbish
 * after a failure. Errors: FORMAT (damaged, cut, longer or shorter than out_bytes, bytes behind
 * it), MEMORY.
 * Source: RFC 7932 (brotli), RFC 8878 (zstd), snappy's format_description.txt. */
assay_status assay_codec_unpack(assay_codec_state *state, assay_codec codec, assay_span packed,
                                uint8_t *out, size_t out_bytes, assay_error *err) ASSAY_NODISCARD;

#endif
