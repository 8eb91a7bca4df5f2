/* A model for one set of input shapes: its free dimensions as numbers, and what follows from them
 * alone in place of the nodes that computed it.
 *
 * What follows is found elsewhere: a runtime that folds constants leaves a model in which values
 * that were computed are initialisers of the same name. Only these values are taken from it; all
 * other nodes are the model's own, with their names, whatever else the runtime made of them. */
#ifndef ASSAY_ONNX_SPECIALISE_H
#define ASSAY_ONNX_SPECIALISE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

typedef struct assay_onnx_shape {
  const char *name; /* of an input */
  int rank;
  const int64_t *dims; /* [rank] */
} assay_onnx_shape;

/* Appends to out the model in bytes with its inputs of these shapes; a symbol of theirs is the
 * number everywhere (outputs and what is said of inner values). Errors: those of
 * assay_onnx_info_parse; FORMAT (an input of another rank or size, a symbol of two sizes), LIMIT
 * (over 2 GiB), MEMORY. Source: onnx/docs/IR.md. */
assay_status assay_onnx_fix_shapes(const void *bytes, size_t size_bytes,
                                   const assay_onnx_shape *inputs, size_t n_inputs, assay_buf *out,
                                   assay_error *err) ASSAY_NODISCARD;

/* Appends to out the model in bytes with values of its main graph that are initialisers in `folded`
 * as its own, and without the nodes that nothing needs any more; outputs of the graph stay
 * computed. *out_n_removed: nodes that went, with those of their bodies. Errors: those of
 * assay_onnx_info_parse for either, UNSUPPORTED (IR version below 4, where every initialiser is an
 * input too), LIMIT, MEMORY. */
assay_status assay_onnx_fold(const void *bytes, size_t size_bytes, const void *folded,
                             size_t folded_bytes, assay_buf *out, size_t *out_n_removed,
                             assay_error *err) ASSAY_NODISCARD;

#endif
