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

static bool heads_need_types(const assay_mlpf_config *config) {
  bool needs = false;
  for (int i = 0; i < ASSAY_MLPF_N_TARGETS; i++) {
    needs = needs || config->regression[i] == ASSAY_MLPF_DIRECT_ELEMTYPE ||
            config->regression[i] == ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT ||
            config->regression[i] == ASSAY_MLPF_LINEAR_ELEMTYPE;
  }
  return needs;
}

/* (3): exact equality; an unknown type gives a row of zeroes. */
static void one_hot(assay_build *b) {
  const assay_mlpf_config *c = b->config;
  const bool for_encoder = c->input_encoding == ASSAY_MLPF_SPLIT;
  const assay_dtype dtype = b->plan->encoder;
  float types[ASSAY_MLPF_ELEMTYPES_MAX];
  if (!for_encoder && !heads_need_types(c)) return;
  for (int64_t i = 0; i < c->n_elemtypes; i++) types[i] = (float)c->elemtypes[i];
  assay_value known = assay_graph_add_initializer(b->graph, "elemtypes", ASSAY_DTYPE_F32, 1,
                                                  &c->n_elemtypes, types);
  assay_value is_type = assay_build_op2(b, "Equal", "is_type", b->columns[0], known);
  assay_value encoded = {NULL};
  if (heads_need_types(c) || dtype == ASSAY_DTYPE_F32)
    b->types = encoded = assay_build_cast(b, "types", is_type, ASSAY_DTYPE_F32);
  if (!for_encoder) return;
  if (dtype != ASSAY_DTYPE_F32) encoded = assay_build_cast(b, "types_encoder", is_type, dtype);
  b->types4 = assay_build_unsqueeze(b, "types4", encoded, (const int64_t[]){3}, 1);
}

/* ---- masks of attention (models.md D.2, D.3) ---- */

assay_dtype assay_build_score_dtype(const assay_build *b) {
  return b->dtype == ASSAY_DTYPE_F16 ? b->plan->scores : ASSAY_DTYPE_F32;
}

static bool masks_layers(const assay_mlpf_config *c) {
  return c->arch == ASSAY_MLPF_ATTENTION && c->key_mask == ASSAY_MLPF_KEY_MASK_ALL &&
         c->num_convs > 0;
}

/* 0 where admitted [B,1,..,N] is true, else -10000; of the block's type. */
static assay_value bias_of(assay_build *b, const char *label, assay_value admitted) {
  assay_value zero = assay_build_constant(b, 0.0f);
  assay_value masked = assay_build_constant(b, MASKED_KEY_BIAS);
  return assay_build_where(b, label, admitted, zero, masked);
}

/* One bias for all attention: it broadcasts over heads and queries. Layers and readouts share it
 * where their scores are of one type. */
static void decomposed_masks(assay_build *b, assay_value valid_key) {
  const assay_mlpf_plan_config *plan = b->plan;
  assay_dtype layers = ASSAY_DTYPE_NONE;
  if (masks_layers(b->config)) {
    const assay_dtype before = assay_build_enter(b, plan->backbone);
    b->dtype = layers = assay_build_score_dtype(b);
    b->backbone_mask = bias_of(b, "key_bias", valid_key);
    b->dtype = before;
  }
  if (b->config->task_queries) {
    const assay_dtype before = assay_build_enter(b, plan->readout);
    b->dtype = assay_build_score_dtype(b);
    b->readout_mask = b->dtype == layers ? b->backbone_mask : bias_of(b, "key_bias", valid_key);
    b->dtype = before;
  }
}

/* How many valid elements an event has: [B] i64. Right where they come first. */
static void counted_masks(assay_build *b) {
  assay_value n =
      assay_build_reduce(b, "ReduceSum", "n_valid", b->mask, /*axis=*/1, /*keep_dim=*/false);
  n = assay_build_cast(b, "n_valid_i64", n, ASSAY_DTYPE_I64);
  if (masks_layers(b->config)) b->backbone_mask = n;
  if (b->config->task_queries) b->readout_mask = n;
}

/* Which keys which queries may see: [B,1,N,N] bool. In full, since kernels read a mask of one row
 * out of its bounds or refuse it. A padded query sees everything: what comes of it is selected
 * away, and so no row is masked in full, of which runtimes make zeroes, a mean or NaN. */
static assay_value admit_square(assay_build *b, assay_value valid_key) {
  assay_value padded = assay_build_op1(b, "Not", "padded", b->valid);
  padded = assay_build_unsqueeze(b, "padded_query", padded, (const int64_t[]){1, 3}, 2);
  return assay_build_op2(b, "Or", "admitted", valid_key, padded);
}

/* Kernels take a mask for all pairs, and want the type of the queries for one that is added. */
static void fused_masks(assay_build *b, assay_value valid_key) {
  const bool is_bool = b->plan->mask == ASSAY_MLPF_MASK_BOOL;
  if (masks_layers(b->config)) {
    const assay_dtype before = assay_build_enter(b, b->plan->backbone);
    assay_value square = admit_square(b, valid_key);
    b->backbone_mask = is_bool ? square : bias_of(b, "attention_bias", square);
    b->dtype = before;
  }
  if (b->config->task_queries) {
    const assay_dtype before = assay_build_enter(b, b->plan->readout);
    b->readout_mask = is_bool ? valid_key : bias_of(b, "key_bias", valid_key);
    b->dtype = before;
  }
}

static void attention_masks(assay_build *b) {
  if (!masks_layers(b->config) && !b->config->task_queries) return;
  if (b->plan->mask == ASSAY_MLPF_MASK_NONPAD) {
    counted_masks(b);
    return;
  }
  assay_value valid = assay_build_unsqueeze(b, "valid_key", b->valid, (const int64_t[]){1, 2}, 2);
  if (b->plan->attention == ASSAY_MLPF_DECOMPOSED) {
    decomposed_masks(b, valid);
  } else {
    fused_masks(b, valid);
  }
}

/* 1 for an event with any valid element: what a readout's constant query is multiplied by to have
 * a batch axis, without Shape and Expand. */
static void count_presence(assay_build *b) {
  if (!b->config->task_queries || b->plan->attention == ASSAY_MLPF_DECOMPOSED ||
      assay_build_is_static(b))
    return;
  assay_value present =
      assay_build_reduce(b, "ReduceMax", "presence", b->mask3, /*axis=*/1, /*keep_dim=*/true);
  b->presence =
      assay_build_convert(b, "presence_readout", present, ASSAY_DTYPE_F32, b->plan->readout);
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
  one_hot(b);
  attention_masks(b);
  count_presence(b);
  assay_graph_pop_scope(g);
}

/* ---- encoder ---- */

/* The embedding of the element's own type, of those of all types: an exact selection. */
static assay_value select_embedding(assay_build *b, assay_value x) {
  const assay_mlpf_config *c = b->config;
  assay_graph_push_scope(b->graph, "select_type");
  x = assay_build_reshape(b, "by_type", x,
                          (const int64_t[]){0, 0, c->n_elemtypes, c->embedding_dim}, 4);
  x = assay_build_op2(b, "Mul", "Mul", x, b->types4);
  x = assay_build_reduce(b, "ReduceSum", "ReduceSum", x, /*axis=*/2, /*keep_dim=*/false);
  assay_graph_pop_scope(b->graph);
  return x;
}

assay_value assay_build_encoder(assay_build *b, const char *name) {
  const assay_mlpf_config *c = b->config;
  const bool is_split = c->input_encoding == ASSAY_MLPF_SPLIT;
  const int64_t n_embeddings = is_split ? c->n_elemtypes : 1;
  const assay_dtype outside = assay_build_enter(b, b->plan->encoder);
  assay_value x = assay_build_convert(b, "features_encoder", b->features, outside, b->dtype);
  x = assay_build_mlp3(b, name, x, name, c->input_dim, n_embeddings * c->embedding_dim);
  assay_graph_push_scope(b->graph, name);
  if (is_split) x = select_embedding(b, x);
  x = assay_build_convert(b, "out", x, b->dtype, outside);
  assay_graph_pop_scope(b->graph);
  b->dtype = outside;
  return x;
}

assay_value assay_build_select_type(assay_build *b, const char *label, assay_value x) {
  assay_graph_push_scope(b->graph, label);
  x = assay_build_op2(b, "Mul", "Mul", x, b->types);
  x = assay_build_reduce(b, "ReduceSum", "ReduceSum", x, /*axis=*/2, /*keep_dim=*/true);
  assay_graph_pop_scope(b->graph);
  return x;
}
