/* The constants of a model file, one after the other, wherever they stand. */
#ifndef ASSAY_ONNX_EACH_TENSOR_H
#define ASSAY_ONNX_EACH_TENSOR_H

#include "base/status.h"
#include "onnx.pb-c.h"

typedef assay_status (*assay_onnx_tensor_fn)(void *arg, Onnx__TensorProto *tensor,
                                             assay_error *err);

/* Hands each tensor of an unpacked model to `each`: initialisers, those of sparse ones, and
 * attributes of nodes, of the main graph, its subgraphs and local functions; stops at the first
 * failure of each and returns it. Source: onnx/onnx.proto. */
assay_status assay_onnx_each_tensor(const Onnx__ModelProto *model, assay_onnx_tensor_fn each,
                                    void *arg, assay_error *err) ASSAY_NODISCARD;

#endif
