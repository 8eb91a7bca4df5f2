/* Multi-head attention: the attention backbone's layers, and the readouts of both architectures, in
 * the forms of the plan: decomposed into MatMul, Add, Softmax, MatMul; the standard's Attention; or
 * com.microsoft's MultiHeadAttention. Source: models.md B.3, B.4, B.7, D.1 to D.3, D.6; onnx's
 * Operators.md, ONNX Runtime's docs/ContribOperators.md.
 *
 * Decomposed in FP32, the scale 1/sqrt(d) is folded into the query projection: in double, rounded
 * to FP32 once. For d a power of 4 that is exact. For others it moves each weight by half a unit in
 * its last place, as often as not in each direction; eager frameworks round at the same places, for
 * each query and key instead of each weight (torch multiplies both by d^(-1/4)), so the error of
 * the scores stays of the same size. In FP16 only the exact one is folded. Fused operators scale by
 * themselves: 1/sqrt(d) is their default.
 *
 * Padded rows are computed like any others. They are finite, they reach no valid row where keys are
 * masked, and the outputs select (build_heads.c); so the multiplications with the mask of B.4 are
 * only there where the backbone's keys are not masked. */
#include <math.h>

#include "base/alloc.h"
#include "model/mlpf_build.h"

/* Rows of a multi-head attention's in_proj: queries, keys, values, each D of them. */
typedef struct in_proj {
  const float *weight; /* [3D, D] */
  const float *bias;   /* [3D] */
  int64_t dim;         /* D */
  int64_t n_heads;
} in_proj;

static in_proj find_in_proj(assay_build *b, const char *name, int64_t dim, int64_t n_heads) {
  return (in_proj){.weight =
                       assay_build_weight(b, assay_build_name_of("%s.in_proj_weight", name).text),
                   .bias = assay_build_weight(b, assay_build_name_of("%s.in_proj_bias", name).text),
                   .dim = dim,
                   .n_heads = n_heads};
}

static int64_t head_dim(const in_proj *p) {
  return p->dim / p->n_heads;
}

static bool is_fused(const assay_build *b) {
  return b->plan->attention != ASSAY_MLPF_DECOMPOSED;
}

/* ---- scale ---- */

static bool is_power_of_4(int64_t d) {
  while (d > 1 && d % 4 == 0) d /= 4;
  return d == 1;
}

/* Whether 1/sqrt(d) is folded into the query projection; if not, scores are multiplied by it. */
static bool folds_scale(const assay_build *b, const in_proj *p) {
  return b->dtype == ASSAY_DTYPE_F32 || is_power_of_4(head_dim(p));
}

/* What rows of the query projection are multiplied by. */
static double folded_scale(const assay_build *b, const in_proj *p) {
  return is_fused(b) || !folds_scale(b, p) ? 1.0 : 1.0 / sqrt((double)head_dim(p));
}

/* ---- projections ---- */

/* x W^T + b with rows first to first + n of in_proj; those of the queries are scaled. */
static assay_value project(assay_build *b, const char *scope, assay_value x, const in_proj *p,
                           int64_t first, int64_t n) {
  if (p->weight == NULL || p->bias == NULL) return (assay_value){NULL};
  double *factor = assay_build_scratch(b, n, sizeof *factor);
  if (factor == NULL) return (assay_value){NULL};
  for (int64_t i = 0; i < n; i++) factor[i] = first + i < p->dim ? folded_scale(b, p) : 1.0;
  assay_value y = assay_build_add_affine(b, scope, x,
                                         &(assay_build_affine){.weight = p->weight + first * p->dim,
                                                               .bias = p->bias + first,
                                                               .n_out = n,
                                                               .n_in = p->dim,
                                                               .row_factor = factor});
  assay_free(factor);
  return y;
}

/* [B,N,D] to [B,H,N,d], or to [B,H,d,N] for keys. */
static assay_value split_heads(assay_build *b, const char *scope, assay_value x, const in_proj *p,
                               bool is_key) {
  static const int64_t ROWS[] = {0, 2, 1, 3}, COLUMNS[] = {0, 2, 3, 1};
  assay_graph_push_scope(b->graph, scope);
  x = assay_build_reshape(b, "by_head", x, (const int64_t[]){0, 0, p->n_heads, head_dim(p)}, 4);
  x = assay_build_transpose(b, "Transpose", x, is_key ? COLUMNS : ROWS, 4);
  assay_graph_pop_scope(b->graph);
  return x;
}

/* ---- the forms ---- */

/* softmax(q k + bias) v: [B,H,Q,d] of q [B,H,Q,d], k [B,H,d,N], v [B,H,N,d]; bias may be empty.
 * Each of score, mask, probabilities is used once, as pattern matchers want it. */
static assay_value attend_decomposed(assay_build *b, const in_proj *p, assay_value q, assay_value k,
                                     assay_value v, assay_value bias) {
  const bool is_scaled = folds_scale(b, p);
  const assay_dtype block = assay_build_enter(b, assay_build_score_dtype(b));
  q = assay_build_convert(b, "q_scores", q, block, b->dtype);
  k = assay_build_convert(b, "k_scores", k, block, b->dtype);
  assay_value scores = assay_build_op2(b, "MatMul", "scores", q, k);
  if (!is_scaled)
    scores = assay_build_op2(b, "Mul", "scale", scores,
                             assay_build_constant(b, (float)(1.0 / sqrt((double)head_dim(p)))));
  if (bias.name != NULL) scores = assay_build_op2(b, "Add", "mask_keys", scores, bias);
  scores = assay_build_convert(b, "scores_f32", scores, b->dtype, ASSAY_DTYPE_F32);
  b->dtype = block;
  assay_value weights = assay_graph_op(b->graph, "Softmax", "Softmax", &scores, 1,
                                       (assay_attr[]){ASSAY_ATTR_I("axis", -1)}, 1);
  weights = assay_build_convert(b, "weights", weights, ASSAY_DTYPE_F32, b->dtype);
  return assay_build_op2(b, "MatMul", "context", weights, v);
}

/* The same as one operator: [B,Q,D] of q [B,Q,D], k and v [B,N,D]; mask is of the plan's form, or
 * empty. Softmax is FP32 inside. */
static assay_value attend_fused(assay_build *b, const in_proj *p, assay_value q, assay_value k,
                                assay_value v, assay_value mask) {
  const assay_value none = {NULL};
  if (b->plan->attention == ASSAY_MLPF_MHA) {
    const assay_value inputs[] = {q, k, v, /*bias=*/none, /*key_padding_mask=*/none, mask};
    return assay_graph_op(b->graph, "MultiHeadAttention", "MultiHeadAttention", inputs,
                          mask.name != NULL ? 6 : 3,
                          (assay_attr[]){ASSAY_ATTR_I("num_heads", p->n_heads)}, 1);
  }
  const bool is_count = b->plan->mask == ASSAY_MLPF_MASK_NONPAD;
  const assay_value inputs[] = {q,
                                k,
                                v,
                                is_count ? none : mask,
                                /*past_key=*/none,
                                /*past_value=*/none,
                                /*nonpad_kv_seqlen=*/mask};
  const assay_attr attrs[] = {ASSAY_ATTR_I("q_num_heads", p->n_heads),
                              ASSAY_ATTR_I("kv_num_heads", p->n_heads)};
  const size_t n_inputs = mask.name == NULL ? 3 : is_count ? 7 : 4;
  return assay_graph_op(b->graph, "Attention", "Attention", inputs, n_inputs, attrs, 2);
}

/* ---- backbone ---- */

/* Queries from q_in, keys and values from n, each [B,N,E], projected into parts[3]. */
static void project_apart(assay_build *b, const in_proj *p, assay_value q_in, assay_value n,
                          assay_value parts[3]) {
  parts[0] = project(b, "q", q_in, p, /*first=*/0, p->dim);
  assay_value kv = project(b, "kv", n, p, p->dim, 2 * p->dim);
  assay_build_split(b, "split_kv", kv, /*axis=*/2, (const int64_t[]){p->dim, p->dim}, 2, parts + 1);
}

static void project_together(assay_build *b, const in_proj *p, assay_value n,
                             assay_value parts[3]) {
  assay_value qkv = project(b, "qkv", n, p, /*first=*/0, 3 * p->dim);
  assay_build_split(b, "split_qkv", qkv, /*axis=*/2, (const int64_t[]){p->dim, p->dim, p->dim}, 3,
                    parts);
}

/* Attention of the projections parts[3], each [B,N,E]: [B,N,E]. */
static assay_value attend_layer(assay_build *b, const in_proj *p, const assay_value parts[3]) {
  if (is_fused(b)) return attend_fused(b, p, parts[0], parts[1], parts[2], b->backbone_mask);
  assay_value q = split_heads(b, "q", parts[0], p, /*is_key=*/false);
  assay_value k = split_heads(b, "k", parts[1], p, /*is_key=*/true);
  assay_value v = split_heads(b, "v", parts[2], p, /*is_key=*/false);
  assay_value context = attend_decomposed(b, p, q, k, v, b->backbone_mask);
  context = assay_build_transpose(b, "Transpose", context, (const int64_t[]){0, 2, 1, 3}, 4);
  return assay_build_reshape(b, "join_heads", context, (const int64_t[]){0, 0, p->dim}, 3);
}

/* MHA(q_in, n, n); q_in empty: n. */
static assay_value self_attention(assay_build *b, const char *name, assay_value q_in,
                                  assay_value n) {
  const assay_mlpf_config *c = b->config;
  const assay_dtype outside = assay_build_enter(b, b->plan->backbone);
  const in_proj p = find_in_proj(b, name, c->embedding_dim, c->num_heads);
  assay_value parts[3] = {{NULL}, {NULL}, {NULL}};
  n = assay_build_convert(b, "in", n, outside, b->dtype);
  if (q_in.name != NULL) {
    q_in = assay_build_convert(b, "q_in", q_in, outside, b->dtype);
    project_apart(b, &p, q_in, n, parts);
  } else {
    project_together(b, &p, n, parts);
  }
  assay_value context = attend_layer(b, &p, parts);
  assay_value y =
      assay_build_linear(b, "out_proj", context, assay_build_name_of("%s.out_proj", name).text,
                         p.dim, p.dim, /*has_bias=*/true);
  y = assay_build_convert(b, "out", y, b->dtype, outside);
  b->dtype = outside;
  return y;
}

assay_value assay_build_attention_layer(assay_build *b, const char *name, int64_t layer,
                                        assay_value x, assay_value x0) {
  const assay_mlpf_config *c = b->config;
  const bool is_last = layer == c->num_convs - 1;
  const assay_build_name prefix = assay_build_name_of("%s.%lld", name, (long long)layer);
  const assay_build_name norm0 = assay_build_name_of("%s.norm0", prefix.text);
  const assay_build_name norm1 = assay_build_name_of("%s.norm1", prefix.text);
  const assay_build_name seq = assay_build_name_of("%s.seq", prefix.text);
  assay_graph_push_scope(b->graph, prefix.text);
  if (c->key_mask == ASSAY_MLPF_KEY_MASK_UPSTREAM) {
    x = assay_build_op2(b, "Mul", "mask", x, b->mask3);
  }
  assay_value n = assay_build_layer_norm(b, "norm0", x, norm0.text, c->embedding_dim);
  assay_graph_push_scope(b->graph, "attention");
  assay_value attention =
      self_attention(b, assay_build_name_of("%s.mha", prefix.text).text,
                     is_last ? x0 : (assay_value){NULL}, n); /* elements as queries, A.3 (3) */
  assay_build_name_block(b, assay_build_name_of("%s.attention", prefix.text).text, attention);
  assay_value y = assay_build_op2(b, "Add", "residual", x, attention);
  assay_graph_pop_scope(b->graph);
  x = assay_build_feed_forward(b, y, norm1.text, "seq", seq.text, c->embedding_dim);
  assay_graph_pop_scope(b->graph);
  assay_build_name_block(b, prefix.text, x);
  return x;
}

/* ---- readouts ---- */

/* LayerNorm of one row, in double. */
static void normalize_row(const float *x, const float *gamma, const float *beta, int64_t n,
                          double *out) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < n; i++) mean += (double)x[i] / (double)n;
  for (int64_t i = 0; i < n; i++) {
    variance += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)n;
  }
  for (int64_t i = 0; i < n; i++) {
    out[i] = ((double)x[i] - mean) / sqrt(variance + 1e-5) * (double)gamma[i] + (double)beta[i];
  }
}

/* The readout's query is the same for all elements and events: LayerNorm, projection and scale of
 * it are done here, in double, and rounded to the block's type once: [1,H,1,d], or of a fused form
 * [1,1,D], and [B,1,D] where B is known. */
static assay_value constant_query(assay_build *b, const char *task, const in_proj *p) {
  const int64_t n = p->dim;
  const assay_build_name norm = assay_build_name_of("%s_readout.query_norm", task);
  const float *query = assay_build_weight(b, assay_build_name_of("%s_query", task).text);
  const float *gamma = assay_build_weight(b, assay_build_name_of("%s.weight", norm.text).text);
  const float *beta = assay_build_weight(b, assay_build_name_of("%s.bias", norm.text).text);
  double *row = assay_build_scratch(b, n, sizeof *row);
  const int64_t copies = is_fused(b) && assay_build_is_static(b) ? b->static_b : 1;
  float *projected = assay_build_scratch(b, copies * n, sizeof *projected);
  assay_value value = {NULL};
  if (query == NULL || gamma == NULL || beta == NULL || row == NULL || projected == NULL ||
      p->weight == NULL || p->bias == NULL) {
    goto done;
  }
  normalize_row(query, gamma, beta, n, row);
  for (int64_t o = 0; o < n; o++) {
    double sum = (double)p->bias[o];
    for (int64_t i = 0; i < n; i++) sum += (double)p->weight[o * n + i] * row[i];
    for (int64_t i = 0; i < copies; i++) projected[i * n + o] = (float)(sum * folded_scale(b, p));
  }
  const int64_t by_head[] = {1, p->n_heads, 1, head_dim(p)}, flat[] = {copies, 1, n};
  value = is_fused(b) ? assay_build_initializer(b, "q", 3, flat, projected)
                      : assay_build_initializer(b, "q", 4, by_head, projected);
done:
  assay_free(projected);
  assay_free(row);
  return value;
}

/* Attention of the one query q to k and v [B,N,D]: [B,1,D]. */
static assay_value attend_readout(assay_build *b, const in_proj *p, assay_value q, assay_value k,
                                  assay_value v) {
  if (is_fused(b)) {
    if (b->presence.name != NULL) q = assay_build_op2(b, "Mul", "q_of_event", b->presence, q);
    return attend_fused(b, p, q, k, v, b->readout_mask);
  }
  k = split_heads(b, "k", k, p, /*is_key=*/true);
  v = split_heads(b, "v", v, p, /*is_key=*/false);
  assay_value context = attend_decomposed(b, p, q, k, v, b->readout_mask);
  /* one query: [B,H,1,d] lies in memory as [B,1,D] does, without a Transpose */
  return assay_build_reshape(b, "join_heads", context, (const int64_t[]){0, 1, p->dim}, 3);
}

/* MHA(LN(query), n, n) with masked keys: [B,1,D]. */
static assay_value read_out(assay_build *b, const char *task, const char *name, assay_value n) {
  const assay_mlpf_config *c = b->config;
  const assay_dtype outside = assay_build_enter(b, b->plan->readout);
  const in_proj p =
      find_in_proj(b, name, assay_mlpf_config_repr_dim(c), assay_mlpf_config_readout_heads(c));
  assay_value parts[2] = {{NULL}, {NULL}};
  assay_value q = constant_query(b, task, &p);
  n = assay_build_convert(b, "in", n, outside, b->dtype);
  assay_value kv = project(b, "kv", n, &p, p.dim, 2 * p.dim);
  assay_build_split(b, "split_kv", kv, /*axis=*/2, (const int64_t[]){p.dim, p.dim}, 2, parts);
  assay_value context = attend_readout(b, &p, q, parts[0], parts[1]);
  assay_value y =
      assay_build_linear(b, "out_proj", context, assay_build_name_of("%s.out_proj", name).text,
                         p.dim, p.dim, /*has_bias=*/true);
  y = assay_build_convert(b, "out", y, b->dtype, outside);
  b->dtype = outside;
  return y;
}

assay_value assay_build_readout(assay_build *b, const char *task, assay_value f) {
  const int64_t dim = assay_mlpf_config_repr_dim(b->config);
  const assay_build_name prefix = assay_build_name_of("%s_readout", task);
  const assay_build_name key_norm = assay_build_name_of("%s.key_norm", prefix.text);
  const assay_build_name post_norm = assay_build_name_of("%s.post_norm", prefix.text);
  const assay_build_name ffn = assay_build_name_of("%s.ffn", prefix.text);
  assay_graph_push_scope(b->graph, prefix.text);
  assay_value n = assay_build_layer_norm(b, "key_norm", f, key_norm.text, dim);
  assay_graph_push_scope(b->graph, "attention");
  assay_value attention = read_out(b, task, assay_build_name_of("%s.mha", prefix.text).text, n);
  assay_build_name_block(b, assay_build_name_of("%s.attention", prefix.text).text, attention);
  assay_value y = assay_build_op2(b, "Add", "residual", f, attention);
  assay_graph_pop_scope(b->graph);
  y = assay_build_feed_forward(b, y, post_norm.text, "ffn", ffn.text, dim);
  assay_graph_pop_scope(b->graph);
  assay_build_name_block(b, prefix.text, y);
  return y;
}
