/* Inputs, what follows from them alone, and the input encoder. Source: models.md A.2, B.1, B.2,
 * D.1. */
#include "model/mlpf_build.h"

/* Finite, and exact in FP16 too; exp underflows to 0 under it for any score above -9000, and an
 * event without valid keys still has finite probabilities. models.md D.2. */
#define MASKED_KEY_BIAS (-10000.0f)

/* ---- inputs ---- */

static assay_value add_inputs(assay_build *b) {
  const bool is_static = assay_build_is_static(b);
  const assay_graph_dim dims[] = {{b->static_b, is_static ? NULL : "B"},
                                  {b->static_n, is_static ? NULL : "N"},
                                  {b->config->input_dim, NULL}};
  assay_value x = assay_graph_add_input(b->graph, "Xfeat_normed", ASSAY_DTYPE_F32, 3, dims);
  b->mask = assay_graph_add_input(b->graph, "mask", ASSAY_DTYPE_F32, 2, dims);
  return x;
}

/* One Split for the columns with a meaning; what is left of the features goes to the encoder alone.
 */
static void split_columns(assay_build *b) {
  const int64_t rest = b->config->input_dim - ASSAY_BUILD_N_COLUMNS;
  const int64_t sizes[] = {1, 1, 1, 1, 1, 1, rest};
  assay_value outs[ASSAY_BUILD_N_COLUMNS + 1];
  assay_build_split(b, "columns", b->features, /*axis=*/2, sizes,
                    ASSAY_BUILD_N_COLUMNS + (rest > 0 ? 1 : 0), outs);
  for (int i = 0; i < ASSAY_BUILD_N_COLUMNS; i++) b->columns[i] = outs[i];
}

static bool needs_types(const assay_mlpf_config *config) {
  bool needs = config->input_encoding == ASSAY_MLPF_SPLIT;
  for (int i = 0; i < ASSAY_MLPF_N_TARGETS; i++) {
    needs = needs || config->regression[i] == ASSAY_MLPF_DIRECT_ELEMTYPE ||
            config->regression[i] == ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT ||
            config->regression[i] == ASSAY_MLPF_LINEAR_ELEMTYPE;
  }
  return needs;
}

/* (3): exact equality; an unknown type gives a row of zeroes. */
static assay_value one_hot(assay_build *b) {
  float types[ASSAY_MLPF_ELEMTYPES_MAX];
  for (int64_t i = 0; i < b->config->n_elemtypes; i++) types[i] = (float)b->config->elemtypes[i];
  assay_value known = assay_graph_add_initializer(b->graph, "elemtypes", ASSAY_DTYPE_F32, 1,
                                                  &b->config->n_elemtypes, types);
  assay_value is_type = assay_build_op2(b, "Equal", "is_type", b->columns[0], known);
  return assay_build_cast(b, "types", is_type, ASSAY_DTYPE_F32);
}

/* Backbone attention without a key mask and no readout: no bias. */
static bool needs_key_bias(const assay_mlpf_config *config) {
  return config->task_queries ||
         (config->arch == ASSAY_MLPF_ATTENTION && config->key_mask == ASSAY_MLPF_KEY_MASK_ALL &&
          config->num_convs > 0);
}

static assay_value key_bias(assay_build *b) {
  assay_value valid = assay_build_unsqueeze(b, "valid_key", b->valid, (const int64_t[]){1, 2}, 2);
  assay_value admitted = assay_build_f32(b, 0.0f);
  assay_value masked = assay_build_f32(b, MASKED_KEY_BIAS);
  return assay_build_where(b, "key_bias", valid, admitted, masked);
}

void assay_build_entry(assay_build *b) {
  assay_graph *g = b->graph;
  assay_value x = add_inputs(b);
  assay_graph_push_scope(g, "entry");
  assay_value zero = assay_build_f32(b, 0.0f);
  b->valid = assay_build_op2(b, "Greater", "valid", b->mask, zero);
  b->valid3 = assay_build_unsqueeze(b, "valid3", b->valid, (const int64_t[]){2}, 1);
  b->mask3 = assay_build_unsqueeze(b, "mask3", b->mask, (const int64_t[]){2}, 1);
  /* B.1 (2): whatever stands at padding becomes +0, or a NaN or -0.0 there would reach valid
   * elements. */
  b->features = assay_build_where(b, "sanitized", b->valid3, x, zero);
  split_columns(b);
  if (needs_types(b->config)) b->types = one_hot(b);
  if (b->config->input_encoding == ASSAY_MLPF_SPLIT) {
    b->types4 = assay_build_unsqueeze(b, "types4", b->types, (const int64_t[]){3}, 1);
  }
  if (needs_key_bias(b->config)) b->key_bias = key_bias(b);
  assay_graph_pop_scope(g);
}

/* ---- encoder ---- */

assay_value assay_build_encoder(assay_build *b, const char *name) {
  const assay_mlpf_config *c = b->config;
  const int64_t n_embeddings = c->input_encoding == ASSAY_MLPF_SPLIT ? c->n_elemtypes : 1;
  assay_value x =
      assay_build_mlp3(b, name, b->features, name, c->input_dim, n_embeddings * c->embedding_dim);
  if (c->input_encoding == ASSAY_MLPF_JOINT) return x;
  assay_graph_push_scope(b->graph, name);
  assay_graph_push_scope(b->graph, "select_type");
  x = assay_build_reshape(b, "by_type", x,
                          (const int64_t[]){0, 0, c->n_elemtypes, c->embedding_dim}, 4);
  x = assay_build_op2(b, "Mul", "Mul", x, b->types4);
  x = assay_build_reduce(b, "ReduceSum", "ReduceSum", x, /*axis=*/2, /*keep_dim=*/false);
  assay_graph_pop_scope(b->graph);
  assay_graph_pop_scope(b->graph);
  return x;
}

assay_value assay_build_select_type(assay_build *b, const char *label, assay_value x) {
  assay_graph_push_scope(b->graph, label);
  x = assay_build_op2(b, "Mul", "Mul", x, b->types);
  x = assay_build_reduce(b, "ReduceSum", "ReduceSum", x, /*axis=*/2, /*keep_dim=*/true);
  assay_graph_pop_scope(b->graph);
  return x;
}
