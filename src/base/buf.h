/* A growing byte buffer with a ceiling. All zeroes is a valid empty one without a ceiling of its
 * own. */
#ifndef ASSAY_BASE_BUF_H
#define ASSAY_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct assay_buf {
  uint8_t *data;     /* owned; always followed by a zero byte once anything was appended */
  size_t size_bytes; /* bytes in use, without that zero */
  size_t cap_bytes;  /* bytes allocated */
  size_t max_bytes;  /* ceiling; 0 means none */
} assay_buf;

/* Errors of the appending calls: MEMORY, LIMIT beyond max_bytes. Nothing is appended on failure. */
assay_status assay_buf_append(assay_buf *buf, const void *bytes, size_t size_bytes,
                              assay_error *err) ASSAY_NODISCARD;
assay_status assay_buf_append_text(assay_buf *buf, const char *text,
                                   assay_error *err) ASSAY_NODISCARD;
assay_status assay_buf_appendf(assay_buf *buf, assay_error *err, const char *format, ...)
    ASSAY_PRINTF(3, 4) ASSAY_NODISCARD;

/* Makes room for size_bytes more and returns where they go; the caller fills them and adds them to
 * buf->size_bytes. */
assay_status assay_buf_reserve(assay_buf *buf, size_t size_bytes, uint8_t **out,
                               assay_error *err) ASSAY_NODISCARD;

/* The bytes as text: "" for an empty buffer. */
const char *assay_buf_text(const assay_buf *buf);

void assay_buf_reset(assay_buf *buf);

#endif
