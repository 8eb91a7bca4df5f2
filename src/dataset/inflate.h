/* gzip and zlib streams, unpacked piece by piece. */
#ifndef ASSAY_DATASET_INFLATE_H
#define ASSAY_DATASET_INFLATE_H

#include "base/status.h"
#include "dataset/span.h"

typedef enum assay_inflate_kind {
  ASSAY_INFLATE_ZLIB, /* RFC 1950, one stream */
  ASSAY_INFLATE_GZIP, /* RFC 1952, one member or several */
} assay_inflate_kind;

typedef struct assay_inflate assay_inflate;

/* packed must outlive it. About 48 kB of memory. Errors: MEMORY. */
assay_status assay_inflate_open(assay_span packed, assay_inflate_kind kind, assay_inflate **out,
                                assay_error *err) ASSAY_NODISCARD;
void assay_inflate_close(assay_inflate *inflate);

/* Fills out with size_bytes bytes, fewer only at the end of the data; how many is in *out_got.
 * Errors: FORMAT: "truncated: …" when the data end before the stream does, "corrupt: …" when they
 * are damaged or something stands behind them; MEMORY. */
assay_status assay_inflate_read(assay_inflate *inflate, uint8_t *out, size_t size_bytes,
                                size_t *out_got, assay_error *err) ASSAY_NODISCARD;

#endif
