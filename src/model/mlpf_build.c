/* Shorthands over onnx/graph.h for the graph builder, and its way to the weights. */
#include "model/mlpf_build.h"

#include <math.h>
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

assay_value assay_build_convert(assay_build *b, const char *label, assay_value x, assay_dtype from,
                                assay_dtype to) {
  return from == to ? x : assay_build_cast(b, label, x, to);
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

assay_value assay_build_constant(assay_build *b, float value) {
  return b->dtype == ASSAY_DTYPE_F16 ? assay_graph_const_f16(b->graph, value)
                                     : assay_graph_const_f32(b->graph, value);
}

/* ---- blocks ---- */

assay_dtype assay_build_enter(assay_build *b, assay_dtype dtype) {
  const assay_dtype before = b->dtype;
  b->dtype = dtype;
  return before;
}

void assay_build_name_block(assay_build *b, const char *block, assay_value value) {
  if (value.name == NULL) return; /* the graph failed */
  assay_json_begin_object(b->blocks, /*key=*/NULL);
  assay_json_put_string(b->blocks, "block", block);
  assay_json_put_string(b->blocks, "value", value.name);
  assay_json_end(b->blocks);
}

/* ---- weights ---- */

#define F16_MAX 65504.0f

/* False for NaN too. */
static bool fits_f16(float value) {
  return fabsf(value) <= F16_MAX;
}

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
  const float *data = assay_tensor_f32(tensor);
  for (size_t i = 0; b->dtype == ASSAY_DTYPE_F16 && i < tensor->n_elems; i++) {
    if (fits_f16(data[i])) continue;
    assay_graph_fail(b->graph, ASSAY_E_UNSUPPORTED,
                     "weight '%s' holds %g at element %zu, and float16 ends at %g: export this "
                     "model as float32",
                     name, (double)data[i], i, (double)F16_MAX);
    return NULL;
  }
  return data;
}

static assay_value add_f16(assay_build *b, const char *name, int rank, const int64_t *dims,
                           const float *data, int64_t n) {
  assay_value value = {NULL};
  uint16_t *bits = assay_build_scratch(b, n, sizeof *bits);
  if (bits == NULL) return value;
  int64_t i = 0;
  for (; i < n && fits_f16(data[i]); i++) bits[i] = assay_f16_of_f32(data[i]);
  if (i == n) {
    value = assay_graph_add_initializer(b->graph, name, ASSAY_DTYPE_F16, rank, dims, bits);
  } else {
    assay_graph_fail(b->graph, ASSAY_E_UNSUPPORTED,
                     "'%s', made of weights, would be %g at element %lld, and float16 ends at %g: "
                     "export this model as float32",
                     name, (double)data[i], (long long)i, (double)F16_MAX);
  }
  assay_free(bits);
  return value;
}

assay_value assay_build_initializer(assay_build *b, const char *name, int rank, const int64_t *dims,
                                    const float *data) {
  if (b->dtype != ASSAY_DTYPE_F16)
    return assay_graph_add_initializer(b->graph, name, ASSAY_DTYPE_F32, rank, dims, data);
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= dims[i];
  return add_f16(b, name, rank, dims, data, n);
}

void *assay_build_scratch(assay_build *b, int64_t n, size_t item_bytes) {
  void *block = assay_alloc_array((size_t)n, item_bytes);
  if (block == NULL) {
    assay_graph_fail(b->graph, ASSAY_E_MEMORY, "could not allocate %lld times %zu bytes",
                     (long long)n, item_bytes);
  }
  return block;
}
