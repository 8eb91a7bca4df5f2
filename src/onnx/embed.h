/* A model whose constants lie in files beside it, as one file. */
#ifndef ASSAY_ONNX_EMBED_H
#define ASSAY_ONNX_EMBED_H

#include <stddef.h>

#include "base/buf.h"
#include "base/status.h"

/* Appends to out the model in bytes with its external data, which lie in folder, in it. Errors:
 * those of assay_onnx_info_parse; FORMAT (a tensor that names no file in the folder, bytes outside
 * of that file, or other than its shape takes), IO (no such file), LIMIT (over 2 GiB, the most that
 * an ONNX file holds), MEMORY. Source: onnx/docs/ExternalData.md. */
assay_status assay_onnx_embed(const void *bytes, size_t size_bytes, const char *folder,
                              assay_buf *out, assay_error *err) ASSAY_NODISCARD;

#endif
