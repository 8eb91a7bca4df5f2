/* HEPTv2's layers: positions, attention inside sorted buckets, merging of hashes, gated
 * feed-forward. Source: models.md B.5, D.5 steps 6 to 8; numbers in brackets are its equations.
 *
 * RMSNorm's weights are folded into what follows (projections, or the scale of queries and keys):
 * in double, rounded once. 1/sqrt(d) is folded into the scale of the queries. Where attention is
 * FP16 the norms with their weights, the softmax and the merging of hashes are still FP32
 * (mlpf_plan_config.h). */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "model/mlpf_build.h"

/* What a masked score is replaced by: build_entry.c says why finite. */
#define MASKED_SCORE (-10000.0f)

/* Parts of a row of the table that buckets are gathered from. */
enum { Q, K, V, N_PARTS };

/* ---- positions (15) ---- */

static assay_value positions(assay_build *b, const char *layer_name) {
  const int64_t dim = b->config->embedding_dim;
  const assay_build_name name =
      assay_build_name_of("%s.pe_func.position_embedding_head", layer_name);
  const assay_build_name first = assay_build_name_of("%s.0", name.text);
  const assay_build_name norm = assay_build_name_of("%s.1", name.text);
  const assay_build_name last = assay_build_name_of("%s.3", name.text);
  assay_graph_push_scope(b->graph, "pe_func");
  assay_value x = assay_build_linear(b, "0", b->sorting.coords, first.text, 2, 4 * dim,
                                     /*has_bias=*/true);
  x = assay_build_layer_norm(b, "1", x, norm.text, 4 * dim);
  x = assay_build_silu(b, "2", x);
  x = assay_build_linear(b, "3", x, last.text, 4 * dim, dim, /*has_bias=*/true);
  assay_graph_pop_scope(b->graph);
  return x;
}

/* ---- queries, keys, values (16), (17) ---- */

/* The three projections as one weight [3E, E] with rows in the order (h, part, i), so that its
 * product is [B,N,H,3,d] without a Transpose. */
static assay_value project_qkv(assay_build *b, const char *layer_name, assay_value u,
                               const float *norm_weight) {
  const assay_mlpf_config *c = b->config;
  const int64_t dim = c->embedding_dim, d = c->head_dim;
  const float *weights[N_PARTS];
  for (int part = 0; part < N_PARTS; part++) {
    const assay_build_name name = assay_build_name_of("%s.w_%c.weight", layer_name, "qkv"[part]);
    weights[part] = assay_build_weight(b, name.text);
    if (weights[part] == NULL) return (assay_value){NULL};
  }
  float *joined = assay_build_scratch(b, N_PARTS * dim * dim, sizeof *joined);
  if (joined == NULL) return (assay_value){NULL};
  for (int64_t row = 0; row < N_PARTS * dim; row++) {
    const int64_t h = row / (N_PARTS * d), part = row / d % N_PARTS, i = row % d;
    memcpy(joined + row * dim, weights[part] + (h * d + i) * dim, (size_t)dim * sizeof *joined);
  }
  assay_value y = assay_build_add_affine(
      b, "qkv", u,
      &(assay_build_affine){
          .weight = joined, .n_out = N_PARTS * dim, .n_in = dim, .col_factor = norm_weight});
  assay_free(joined);
  return assay_build_reshape(b, "by_head", y, (const int64_t[]){0, 0, c->num_heads, N_PARTS, d}, 5);
}

/* [2,d]: q_norm.weight / sqrt(d), k_norm.weight; f32. */
static assay_value qk_scale(assay_build *b, const char *layer_name) {
  const int64_t d = b->config->head_dim;
  const float *q = assay_build_weight(b, assay_build_name_of("%s.q_norm.weight", layer_name).text);
  const float *k = assay_build_weight(b, assay_build_name_of("%s.k_norm.weight", layer_name).text);
  float *scale = assay_build_scratch(b, 2 * d, sizeof *scale);
  assay_value value = {NULL};
  if (q != NULL && k != NULL && scale != NULL) {
    for (int64_t i = 0; i < d; i++) {
      scale[i] = (float)((double)q[i] / sqrt((double)d));
      scale[d + i] = k[i];
    }
    value = assay_graph_add_initializer(b->graph, "scale", ASSAY_DTYPE_F32, 2,
                                        (const int64_t[]){2, d}, scale);
  }
  assay_free(scale);
  return value;
}

/* Rows (b,n,h) of q | k | v, normalised: [B*N*H, 3d]. */
static assay_value element_table(assay_build *b, const char *layer_name, assay_value u,
                                 const float *norm_weight) {
  assay_value parts[2] = {{NULL}, {NULL}};
  assay_value qkv = project_qkv(b, layer_name, u, norm_weight);
  assay_build_split(b, "split_qk_v", qkv, /*axis=*/3, (const int64_t[]){2, 1}, 2, parts);
  assay_value qk = assay_build_convert(b, "qk_f32", parts[0], b->dtype, ASSAY_DTYPE_F32);
  qk = assay_build_rms_normalize(b, "qk_norm", qk);
  assay_graph_push_scope(b->graph, "qk_norm");
  qk = assay_build_op2(b, "Mul", "Mul", qk, qk_scale(b, layer_name));
  assay_graph_pop_scope(b->graph);
  qk = assay_build_convert(b, "qk", qk, ASSAY_DTYPE_F32, b->dtype);
  qkv = assay_build_concat(b, "qkv_rows", (const assay_value[]){qk, parts[1]}, 2, /*axis=*/3);
  return assay_build_reshape(b, "table", qkv, (const int64_t[]){-1, N_PARTS * b->config->head_dim},
                             2);
}

/* ---- buckets (18) ---- */

/* Rows of the element table in bucket order. [B*J, N/bs, bs] where the shape is known and no key
 * mask has to be broadcast against it; else [B, J, N/bs, bs], which no N but a multiple of bs can
 * be reshaped to. */
static assay_value bucket_rows(assay_build *b, assay_value permutation) {
  const assay_mlpf_config *c = b->config;
  const int64_t j = c->n_hashes * c->num_heads, bs = c->block_size;
  assay_value heads = assay_graph_const_i64(b->graph, c->num_heads);
  assay_value rows = assay_build_op2(b, "Mul", "row_of_element", permutation, heads);
  rows = assay_build_op2(b, "Add", "row", rows, b->sorting.table_row);
  if (assay_build_is_static(b) && b->sorting.valid_key.name == NULL) {
    return assay_build_reshape(b, "bucket_rows", rows,
                               (const int64_t[]){b->static_b * j, b->static_n / bs, bs}, 3);
  }
  return assay_build_reshape(b, "bucket_rows", rows, (const int64_t[]){0, j, -1, bs}, 4);
}

/* softmax(q k) v and the log of the softmax's denominator, from shared nodes: [.., N/bs, bs, d] and
 * [.., N/bs, bs, 1], the latter f32. */
static void attend_in_buckets(assay_build *b, assay_value q, assay_value k, assay_value v,
                              assay_value *out, assay_value *out_lse) {
  static const int64_t SWAP4[] = {0, 1, 3, 2}, SWAP5[] = {0, 1, 2, 4, 3};
  const bool is_5d = !assay_build_is_static(b) || b->sorting.valid_key.name != NULL;
  k = assay_build_transpose(b, "k_columns", k, is_5d ? SWAP5 : SWAP4, is_5d ? 5 : 4);
  assay_value scores = assay_build_op2(b, "MatMul", "scores", q, k);
  if (b->sorting.valid_key.name != NULL) {
    scores = assay_build_where(b, "mask_keys", b->sorting.valid_key, scores,
                               assay_build_constant(b, MASKED_SCORE));
  }
  scores = assay_build_convert(b, "scores_f32", scores, b->dtype, ASSAY_DTYPE_F32);
  assay_value peak = assay_build_reduce(b, "ReduceMax", "score_max", scores, -1, /*keep_dim=*/true);
  assay_value powers =
      assay_build_op1(b, "Exp", "Exp", assay_build_op2(b, "Sub", "shifted", scores, peak));
  assay_value sum = assay_build_reduce(b, "ReduceSum", "exp_sum", powers, -1, /*keep_dim=*/true);
  assay_value probabilities = assay_build_op2(b, "Div", "probabilities", powers, sum);
  probabilities =
      assay_build_convert(b, "probabilities_backbone", probabilities, ASSAY_DTYPE_F32, b->dtype);
  *out = assay_build_op2(b, "MatMul", "context", probabilities, v);
  *out_lse = assay_build_op2(b, "Add", "lse", assay_build_op1(b, "Log", "Log", sum), peak);
}

/* ---- back to elements (19), (20) ---- */

/* For each element, head and hash, the row at which it stands in bucket order: [B,N,H,NH]. */
static assay_value element_rows(assay_build *b, assay_value permutation) {
  const assay_mlpf_config *c = b->config;
  const int64_t n = assay_build_is_static(b) ? b->static_n : -1;
  assay_value inverse =
      assay_graph_op(b->graph, "ScatterElements", "inverse",
                     (assay_value[]){permutation, permutation, b->sorting.bucket_row}, 3,
                     (assay_attr[]){ASSAY_ATTR_I("axis", 2)}, 1);
  inverse = assay_build_reshape(b, "inverse_by_hash", inverse,
                                (const int64_t[]){0, c->n_hashes, c->num_heads, n}, 4);
  return assay_build_transpose(b, "element_rows", inverse, (const int64_t[]){0, 3, 2, 1}, 4);
}

static assay_value gather_rows(assay_build *b, const char *label, assay_value table,
                               assay_value rows) {
  return assay_graph_op(b->graph, "Gather", label, (assay_value[]){table, rows}, 2,
                        (assay_attr[]){ASSAY_ATTR_I("axis", 0)}, 1);
}

/* Hashes weighted by softmax of their lse, in FP32: [B,N,E]. */
static assay_value merge_hashes(assay_build *b, assay_value context, assay_value lse,
                                assay_value permutation) {
  const assay_mlpf_config *c = b->config;
  assay_value rows = element_rows(b, permutation);
  context = assay_build_reshape(b, "context_rows", context, (const int64_t[]){-1, c->head_dim}, 2);
  context = gather_rows(b, "context_of_element", context, rows); /* [B,N,H,NH,d] */
  context = assay_build_convert(b, "context_f32", context, b->dtype, ASSAY_DTYPE_F32);
  lse = assay_build_reshape(b, "lse_rows", lse, (const int64_t[]){-1}, 1);
  lse = gather_rows(b, "lse_of_element", lse, rows); /* [B,N,H,NH] */
  assay_value weight = assay_graph_op(b->graph, "Softmax", "hash_weights", &lse, 1,
                                      (assay_attr[]){ASSAY_ATTR_I("axis", -1)}, 1);
  weight = assay_build_unsqueeze(b, "hash_weights5", weight, (const int64_t[]){4}, 1);
  context = assay_build_op2(b, "Mul", "weighted", context, weight);
  context = assay_build_reduce(b, "ReduceSum", "merged", context, /*axis=*/3, /*keep_dim=*/false);
  context = assay_build_convert(b, "merged_backbone", context, ASSAY_DTYPE_F32, b->dtype);
  return assay_build_reshape(b, "join_heads", context, (const int64_t[]){0, 0, c->embedding_dim},
                             3);
}

/* RMSNorm (16) of x [B,N,E]; its weight is left to the projections in *out_weight where they are
 * FP32, and folded nowhere (NULL) where they are not. */
static assay_value norm_of_attention(assay_build *b, const char *layer_name, assay_value x,
                                     const float **out_weight) {
  const assay_build_name name = assay_build_name_of("%s.norm1.weight", layer_name);
  const float *weight = assay_build_weight(b, name.text);
  assay_value u = assay_build_rms_normalize(b, "norm1", x);
  *out_weight = weight;
  if (b->plan->backbone == ASSAY_DTYPE_F32 || weight == NULL) return u;
  *out_weight = NULL;
  assay_graph_push_scope(b->graph, "norm1");
  u = assay_build_op2(b, "Mul", "Mul", u,
                      assay_build_initializer(b, "weight", 1, &b->config->embedding_dim, weight));
  assay_graph_pop_scope(b->graph);
  return u;
}

/* (16) after the norm to (21) without the residual. */
static assay_value bucket_attention(assay_build *b, const char *layer_name, assay_value u,
                                    const float *norm_weight, assay_value permutation) {
  const int64_t dim = b->config->embedding_dim, d = b->config->head_dim;
  const assay_dtype outside = assay_build_enter(b, b->plan->backbone);
  u = assay_build_convert(b, "in", u, outside, b->dtype);
  assay_value parts[N_PARTS] = {{NULL}, {NULL}, {NULL}};
  assay_value context, lse;
  assay_value table = element_table(b, layer_name, u, norm_weight);
  assay_value buckets = gather_rows(b, "buckets", table, bucket_rows(b, permutation));
  assay_build_split(b, "split_qkv", buckets, /*axis=*/-1, (const int64_t[]){d, d, d}, N_PARTS,
                    parts);
  attend_in_buckets(b, parts[Q], parts[K], parts[V], &context, &lse);
  context = merge_hashes(b, context, lse, permutation);
  const assay_build_name name = assay_build_name_of("%s.attn.out_linear", layer_name);
  context = assay_build_linear(b, "out_linear", context, name.text, dim, dim, /*has_bias=*/true);
  context = assay_build_convert(b, "out", context, b->dtype, outside);
  b->dtype = outside;
  return context;
}

/* ---- feed-forward (22) ---- */

static assay_value gated(assay_build *b, const char *layer_name, assay_value y) {
  const assay_mlpf_config *c = b->config;
  const assay_build_name norm = assay_build_name_of("%s.norm2.weight", layer_name);
  const assay_build_name gate_name = assay_build_name_of("%s.ff.gate_proj.weight", layer_name);
  const assay_build_name up_name = assay_build_name_of("%s.ff.up_proj.weight", layer_name);
  const assay_build_name down = assay_build_name_of("%s.ff.down_proj", layer_name);
  assay_value z = assay_build_rms_normalize(b, "norm2", y);
  assay_build_affine into = {.n_out = c->ff_hidden,
                             .n_in = c->embedding_dim,
                             .col_factor = assay_build_weight(b, norm.text)};
  assay_graph_push_scope(b->graph, "ff");
  into.weight = assay_build_weight(b, gate_name.text);
  assay_value gate = assay_build_add_affine(b, "gate_proj", z, &into);
  into.weight = assay_build_weight(b, up_name.text);
  assay_value up = assay_build_add_affine(b, "up_proj", z, &into);
  z = assay_build_op2(b, "Mul", "Mul", assay_build_silu(b, "silu", gate), up);
  z = assay_build_linear(b, "down_proj", z, down.text, c->ff_hidden, c->embedding_dim,
                         /*has_bias=*/false);
  z = assay_build_op2(b, "Add", "residual", y, z);
  assay_graph_pop_scope(b->graph);
  return z;
}

/* ---- the layer ---- */

/* perm_<layer>, perm_id_<layer> or perm_reg_<layer>: [J,B,N]. */
static assay_value expose(assay_build *b, const char *stack, int64_t layer,
                          assay_value permutation) {
  static const int64_t PERM[] = {1, 0, 2};
  const bool is_static = assay_build_is_static(b);
  const char *side = strstr(stack, "_id") != NULL    ? "id_"
                     : strstr(stack, "_reg") != NULL ? "reg_"
                                                     : "";
  const assay_build_name name = assay_build_name_of("perm_%s%lld", side, (long long)layer);
  const assay_graph_dim dims[] = {{b->config->n_hashes * b->config->num_heads, NULL},
                                  {b->static_b, is_static ? NULL : "B"},
                                  {b->static_n, is_static ? NULL : "N"}};
  assay_value out = assay_graph_op_named(b->graph, "Transpose", "exposed", name.text, &permutation,
                                         1, (assay_attr[]){ASSAY_ATTR_IS("perm", PERM, 3)}, 1);
  assay_graph_add_output(b->graph, out, ASSAY_DTYPE_I64, 3, dims);
  return out;
}

assay_value assay_build_heptv2_layer(assay_build *b, const char *stack, int64_t layer,
                                     assay_value x) {
  const assay_mlpf_config *c = b->config;
  const assay_build_name name = assay_build_name_of("%s.%lld", stack, (long long)layer);
  assay_graph_push_scope(b->graph, name.text);
  if (c->key_mask == ASSAY_MLPF_KEY_MASK_UPSTREAM) {
    x = assay_build_op2(b, "Mul", "mask", x, b->mask3); /* (13): padded keys take part */
  }
  assay_value permutation = assay_build_permutation(b, name.text), shown = permutation;
  if (b->expose_permutations) shown = expose(b, stack, layer, permutation);
  assay_build_name_block(b, assay_build_name_of("%s.permutation", name.text).text, shown);
  assay_value placed = x;
  if (c->learned_positions) {
    placed = assay_build_op2(b, "Add", "add_positions", x, positions(b, name.text));
  }
  const float *norm_weight = NULL;
  assay_value u = norm_of_attention(b, name.text, placed, &norm_weight);
  assay_graph_push_scope(b->graph, "attn");
  assay_value attention = bucket_attention(b, name.text, u, norm_weight, permutation);
  assay_build_name_block(b, assay_build_name_of("%s.attention", name.text).text, attention);
  assay_value y =
      assay_build_op2(b, "Add", "residual", x, attention); /* (21): x without positions */
  assay_graph_pop_scope(b->graph);
  x = gated(b, name.text, y);
  assay_graph_pop_scope(b->graph);
  assay_build_name_block(b, name.text, x);
  return x;
}
