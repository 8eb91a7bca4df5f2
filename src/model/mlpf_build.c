/* Shorthands over onnx/graph.h for the graph builder, and its way to the weights. */
#include "model/mlpf_build.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"

bool assay_build_is_static(const assay_build *b) {
  return b->static_n > 0;
}

/* ---- nodes ---- */

assay_value assay_build_op1(assay_build *b, const char *op, const char *label, assay_value x) {
  return assay_graph_op(b->graph, op, label, &x, 1, NULL, 0);
}

assay_value assay_build_op2(assay_build *b, const char *op, const char *label, assay_value x,
                            assay_value y) {
  return assay_graph_op(b->graph, op, label, (assay_value[]){x, y}, 2, NULL, 0);
}

assay_value assay_build_where(assay_build *b, const char *label, assay_value condition,
                              assay_value yes, assay_value no) {
  return assay_graph_op(b->graph, "Where", label, (assay_value[]){condition, yes, no}, 3, NULL, 0);
}

assay_value assay_build_reshape(assay_build *b, const char *label, assay_value x,
                                const int64_t *dims, int64_t n) {
  return assay_build_op2(b, "Reshape", label, x, assay_graph_const_i64s(b->graph, dims, n));
}

assay_value assay_build_transpose(assay_build *b, const char *label, assay_value x,
                                  const int64_t *perm, size_t n) {
  return assay_graph_op(b->graph, "Transpose", label, &x, 1,
                        (assay_attr[]){ASSAY_ATTR_IS("perm", perm, n)}, 1);
}

assay_value assay_build_unsqueeze(assay_build *b, const char *label, assay_value x,
                                  const int64_t *axes, int64_t n) {
  return assay_build_op2(b, "Unsqueeze", label, x, assay_graph_const_i64s(b->graph, axes, n));
}

assay_value assay_build_cast(assay_build *b, const char *label, assay_value x, assay_dtype dtype) {
  return assay_graph_op(b->graph, "Cast", label, &x, 1,
                        (assay_attr[]){ASSAY_ATTR_I("to", (int64_t)dtype)}, 1);
}

assay_value assay_build_reduce(assay_build *b, const char *op, const char *label, assay_value x,
                               int64_t axis, bool keep_dim) {
  assay_value axes = assay_graph_const_i64s(b->graph, &axis, 1);
  return assay_graph_op(b->graph, op, label, (assay_value[]){x, axes}, 2,
                        (assay_attr[]){ASSAY_ATTR_I("keepdims", keep_dim ? 1 : 0)}, 1);
}

assay_value assay_build_concat(assay_build *b, const char *label, const assay_value *parts,
                               size_t n, int64_t axis) {
  return assay_graph_op(b->graph, "Concat", label, parts, n,
                        (assay_attr[]){ASSAY_ATTR_I("axis", axis)}, 1);
}

void assay_build_split(assay_build *b, const char *label, assay_value x, int64_t axis,
                       const int64_t *sizes, size_t n, assay_value *outs) {
  assay_value inputs[] = {x, assay_graph_const_i64s(b->graph, sizes, (int64_t)n)};
  assay_graph_add_node(b->graph, "Split", label, inputs, 2,
                       (assay_attr[]){ASSAY_ATTR_I("axis", axis)}, 1, outs, n);
}

assay_value assay_build_f32(assay_build *b, float value) {
  return assay_graph_const_f32(b->graph, value);
}

/* ---- weights ---- */

assay_build_name assay_build_name_of(const char *format, ...) {
  assay_build_name name;
  va_list args;
  va_start(args, format);
  (void)vsnprintf(name.text, sizeof name.text, format, args);
  va_end(args);
  return name;
}

const float *assay_build_weight(assay_build *b, const char *name) {
  const assay_tensor *tensor = assay_tensor_map_find(b->weights, name);
  if (tensor == NULL) {
    assay_graph_fail(b->graph, ASSAY_E_INTERNAL, "the graph wants a weight '%s' that no table has",
                     name);
    return NULL;
  }
  return assay_tensor_f32(tensor);
}

void *assay_build_scratch(assay_build *b, int64_t n, size_t item_bytes) {
  void *block = assay_alloc_array((size_t)n, item_bytes);
  if (block == NULL) {
    assay_graph_fail(b->graph, ASSAY_E_MEMORY, "could not allocate %lld times %zu bytes",
                     (long long)n, item_bytes);
  }
  return block;
}
