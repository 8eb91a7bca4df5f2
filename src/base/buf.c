/* A growing byte buffer with a ceiling. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define FIRST_CAP_BYTES 64

assay_status assay_buf_reserve(assay_buf *buf, size_t size_bytes, uint8_t **out, assay_error *err) {
  size_t used, needed; /* needed has the zero byte at the end in it */
  if (!assay_size_add(buf->size_bytes, size_bytes, &used) || !assay_size_add(used, 1, &needed)) {
    return assay_fail_memory(err, SIZE_MAX);
  }
  if (buf->max_bytes > 0 && used > buf->max_bytes) {
    return assay_fail(err, ASSAY_E_LIMIT, "%zu bytes are more than the limit of %zu", used,
                      buf->max_bytes);
  }
  if (needed > buf->cap_bytes) {
    size_t cap = buf->cap_bytes < FIRST_CAP_BYTES ? FIRST_CAP_BYTES : buf->cap_bytes;
    while (cap < needed && cap <= SIZE_MAX / 2) cap *= 2;
    /* One large piece into an empty buffer, such as a whole file, gets what it asks for. */
    if (cap < needed || (buf->size_bytes == 0 && needed > FIRST_CAP_BYTES)) cap = needed;
    uint8_t *block = assay_alloc_unset(cap);
    if (block == NULL) return assay_fail_memory(err, cap);
    if (buf->size_bytes > 0) memcpy(block, buf->data, buf->size_bytes);
    assay_free(buf->data);
    buf->data = block;
    buf->cap_bytes = cap;
  }
  *out = buf->data + buf->size_bytes;
  return ASSAY_OK;
}

assay_status assay_buf_append(assay_buf *buf, const void *bytes, size_t size_bytes,
                              assay_error *err) {
  uint8_t *to;
  ASSAY_TRY(assay_buf_reserve(buf, size_bytes, &to, err));
  if (size_bytes > 0) memcpy(to, bytes, size_bytes);
  to[size_bytes] = 0;
  buf->size_bytes += size_bytes;
  return ASSAY_OK;
}

assay_status assay_buf_append_text(assay_buf *buf, const char *text, assay_error *err) {
  return assay_buf_append(buf, text, strlen(text), err);
}

assay_status assay_buf_appendf(assay_buf *buf, assay_error *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (n < 0) return assay_fail(err, ASSAY_E_INTERNAL, "a text could not be formatted");
  uint8_t *to;
  ASSAY_TRY(assay_buf_reserve(buf, (size_t)n, &to, err));
  va_start(args, format);
  vsnprintf((char *)to, (size_t)n + 1, format, args);
  va_end(args);
  buf->size_bytes += (size_t)n;
  return ASSAY_OK;
}

const char *assay_buf_text(const assay_buf *buf) {
  if (buf->data == NULL) return "";
  /* Bytes that a caller wrote through assay_buf_reserve may have run over the zero. */
  buf->data[buf->size_bytes] = 0;
  return (const char *)buf->data;
}

void assay_buf_reset(assay_buf *buf) {
  if (buf == NULL) return;
  assay_free(buf->data);
  *buf = (assay_buf){.max_bytes = buf->max_bytes};
}
