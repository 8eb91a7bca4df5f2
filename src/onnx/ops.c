/* Source: onnx/docs/Operators.md and Changelog.md; the IR versions are those of
 * onnx/docs/Versioning.md. `since` is the opset that gave the operator the inputs and attributes
 * which the row allows (ReduceMean, for one, takes its axes as an input since 18); later opsets
 * that only added element types have no row. */
#include "onnx/ops.h"

#include <string.h>

static const assay_op OPS[] = {
    /* name, since, last, inputs, outputs, domain */
    {"Abs", 13, 0, 1, 1, 1, 1, NULL},
    {"Add", 14, 0, 2, 2, 1, 1, NULL},
    {"And", 7, 0, 2, 2, 1, 1, NULL},
    {"Atan", 7, 0, 1, 1, 1, 1, NULL},
    {"Attention", 23, 23, 3, 6, 1, 4, NULL},
    {"Attention", 24, 0, 3, 7, 1, 4, NULL},
    {"Cast", 13, 0, 1, 1, 1, 1, NULL},
    {"Ceil", 13, 0, 1, 1, 1, 1, NULL},
    {"Clip", 13, 0, 1, 3, 1, 1, NULL},
    {"Concat", 13, 0, 1, ASSAY_OPS_MANY, 1, 1, NULL},
    {"Div", 14, 0, 2, 2, 1, 1, NULL},
    {"Elu", 6, 0, 1, 1, 1, 1, NULL},
    {"Equal", 13, 0, 2, 2, 1, 1, NULL},
    {"Exp", 13, 0, 1, 1, 1, 1, NULL},
    {"Expand", 13, 0, 2, 2, 1, 1, NULL},
    {"Gather", 13, 0, 2, 2, 1, 1, NULL},
    {"Gelu", 20, 0, 1, 1, 1, 1, NULL},
    {"Greater", 13, 0, 2, 2, 1, 1, NULL},
    {"Identity", 14, 0, 1, 1, 1, 1, NULL},
    {"LayerNormalization", 17, 0, 2, 3, 1, 3, NULL},
    {"LeakyRelu", 16, 0, 1, 1, 1, 1, NULL},
    {"Less", 13, 0, 2, 2, 1, 1, NULL},
    {"LessOrEqual", 16, 0, 2, 2, 1, 1, NULL},
    {"Log", 13, 0, 1, 1, 1, 1, NULL},
    {"MatMul", 13, 0, 2, 2, 1, 1, NULL},
    {"Max", 13, 0, 1, ASSAY_OPS_MANY, 1, 1, NULL},
    {"Min", 13, 0, 1, ASSAY_OPS_MANY, 1, 1, NULL},
    {"Mul", 14, 0, 2, 2, 1, 1, NULL},
    {"MultiHeadAttention", 1, 0, 1, 10, 1, 4, "com.microsoft"}, /* ORT, docs/ContribOperators.md */
    {"Neg", 13, 0, 1, 1, 1, 1, NULL},
    {"Not", 1, 0, 1, 1, 1, 1, NULL},
    {"Or", 7, 0, 2, 2, 1, 1, NULL},
    {"Range", 11, 0, 3, 3, 1, 1, NULL},
    {"Reciprocal", 13, 0, 1, 1, 1, 1, NULL},
    {"ReduceMax", 18, 0, 1, 2, 1, 1, NULL},
    {"ReduceMean", 18, 0, 1, 2, 1, 1, NULL},
    {"ReduceMin", 18, 0, 1, 2, 1, 1, NULL},
    {"ReduceSum", 13, 0, 1, 2, 1, 1, NULL},
    {"Relu", 14, 0, 1, 1, 1, 1, NULL},
    {"Reshape", 14, 0, 2, 2, 1, 1, NULL},
    {"RMSNormalization", 23, 0, 2, 2, 1, 1, NULL},
    {"ScatterElements", 18, 0, 3, 3, 1, 1, NULL},
    {"Shape", 15, 0, 1, 1, 1, 1, NULL},
    {"Sigmoid", 13, 0, 1, 1, 1, 1, NULL},
    {"Slice", 13, 0, 3, 5, 1, 1, NULL},
    {"Softmax", 13, 0, 1, 1, 1, 1, NULL},
    {"Split", 18, 0, 1, 2, 1, ASSAY_OPS_MANY, NULL},
    {"Sqrt", 13, 0, 1, 1, 1, 1, NULL},
    {"Squeeze", 13, 0, 1, 2, 1, 1, NULL},
    {"Sub", 14, 0, 2, 2, 1, 1, NULL},
    {"Swish", 24, 0, 1, 1, 1, 1, NULL},
    {"TopK", 11, 0, 2, 2, 2, 2, NULL},
    {"Transpose", 13, 0, 1, 1, 1, 1, NULL},
    {"Unsqueeze", 13, 0, 2, 2, 1, 1, NULL},
    {"Where", 16, 0, 3, 3, 1, 1, NULL},
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
