/* A model whose inner values can be looked at: a copy of it with some of its values as additional
 * outputs. The copy computes the same, but a runtime may optimise it differently: what it gives is
 * no measurement of the model that it was made of. */
#ifndef ASSAY_ONNX_EXPOSE_H
#define ASSAY_ONNX_EXPOSE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/status.h"

/* Appends to out the model in bytes with the values names[n] as outputs, in that order, behind
 * those that it has; one that is an output already stays where it is. Each must be an output of a
 * node of the main graph. A new output says of its type what the model says of the value (its
 * value_info), or of a Cast's what it casts to, or nothing: runtimes infer it. External data are
 * still named where they were, relative to the model's folder.
 *
 * Errors: those of assay_onnx_info_parse; ARGUMENT (no such value), LIMIT (the copy is over 2 GiB),
 * MEMORY. Source: onnx/docs/IR.md. */
assay_status assay_onnx_expose(const void *bytes, size_t size_bytes, const char *const *names,
                               size_t n, assay_buf *out, assay_error *err) ASSAY_NODISCARD;

#endif
