/* Source: onnx/docs/Operators.md and Changelog.md; the IR versions are those of
 * onnx/docs/Versioning.md. `since` is the opset that gave the operator the inputs and attributes
 * which the row allows (ReduceMean, for one, takes its axes as an input since 18); later opsets
 * that only added element types have no row. */
#include "onnx/ops.h"

#include <string.h>

static const assay_op OPS[] = {
    /* name, since, last, inputs, outputs */
    {"Abs", 13, 0, 1, 1, 1, 1},
    {"Add", 14, 0, 2, 2, 1, 1},
    {"And", 7, 0, 2, 2, 1, 1},
    {"Atan", 7, 0, 1, 1, 1, 1},
    {"Attention", 23, 23, 3, 6, 1, 4},
    {"Attention", 24, 0, 3, 7, 1, 4},
    {"Cast", 13, 0, 1, 1, 1, 1},
    {"Ceil", 13, 0, 1, 1, 1, 1},
    {"Clip", 13, 0, 1, 3, 1, 1},
    {"Concat", 13, 0, 1, ASSAY_OPS_MANY, 1, 1},
    {"Div", 14, 0, 2, 2, 1, 1},
    {"Elu", 6, 0, 1, 1, 1, 1},
    {"Equal", 13, 0, 2, 2, 1, 1},
    {"Exp", 13, 0, 1, 1, 1, 1},
    {"Expand", 13, 0, 2, 2, 1, 1},
    {"Gather", 13, 0, 2, 2, 1, 1},
    {"Gelu", 20, 0, 1, 1, 1, 1},
    {"Greater", 13, 0, 2, 2, 1, 1},
    {"Identity", 14, 0, 1, 1, 1, 1},
    {"LayerNormalization", 17, 0, 2, 3, 1, 3},
    {"LeakyRelu", 16, 0, 1, 1, 1, 1},
    {"Less", 13, 0, 2, 2, 1, 1},
    {"LessOrEqual", 16, 0, 2, 2, 1, 1},
    {"Log", 13, 0, 1, 1, 1, 1},
    {"MatMul", 13, 0, 2, 2, 1, 1},
    {"Max", 13, 0, 1, ASSAY_OPS_MANY, 1, 1},
    {"Min", 13, 0, 1, ASSAY_OPS_MANY, 1, 1},
    {"Mul", 14, 0, 2, 2, 1, 1},
    {"Neg", 13, 0, 1, 1, 1, 1},
    {"Range", 11, 0, 3, 3, 1, 1},
    {"Reciprocal", 13, 0, 1, 1, 1, 1},
    {"ReduceMax", 18, 0, 1, 2, 1, 1},
    {"ReduceMean", 18, 0, 1, 2, 1, 1},
    {"ReduceMin", 18, 0, 1, 2, 1, 1},
    {"ReduceSum", 13, 0, 1, 2, 1, 1},
    {"Relu", 14, 0, 1, 1, 1, 1},
    {"Reshape", 14, 0, 2, 2, 1, 1},
    {"RMSNormalization", 23, 0, 2, 2, 1, 1},
    {"ScatterElements", 18, 0, 3, 3, 1, 1},
    {"Shape", 15, 0, 1, 1, 1, 1},
    {"Sigmoid", 13, 0, 1, 1, 1, 1},
    {"Slice", 13, 0, 3, 5, 1, 1},
    {"Softmax", 13, 0, 1, 1, 1, 1},
    {"Split", 18, 0, 1, 2, 1, ASSAY_OPS_MANY},
    {"Sqrt", 13, 0, 1, 1, 1, 1},
    {"Squeeze", 13, 0, 1, 2, 1, 1},
    {"Sub", 14, 0, 2, 2, 1, 1},
    {"Swish", 24, 0, 1, 1, 1, 1},
    {"TopK", 11, 0, 2, 2, 2, 2},
    {"Transpose", 13, 0, 1, 1, 1, 1},
    {"Unsqueeze", 13, 0, 2, 2, 1, 1},
    {"Where", 16, 0, 3, 3, 1, 1},
};

const assay_op *assay_op_find(const char *name, int64_t opset) {
  for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++) {
    const assay_op *op = &OPS[i];
    if (strcmp(op->name, name) == 0 && op->since <= opset && (op->last == 0 || opset <= op->last)) {
      return op;
    }
  }
  return NULL;
}

int64_t assay_op_ir_version(int64_t opset) {
  static const int64_t IR[] = {8, 9, 9, 10, 10, 11, 12}; /* opsets 18 to 24 */
  if (opset < ASSAY_OPS_OPSET_MIN || opset > ASSAY_OPS_OPSET_MAX) return 0;
  return IR[opset - ASSAY_OPS_OPSET_MIN];
}
