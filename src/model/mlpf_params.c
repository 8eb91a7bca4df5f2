/* The parameter table of an MLPF configuration, in the order of its state_dict, and the strict
 * check of weights against it.
 *
 * Source: models.md C.1; the order is that in which mlpf/model/mlpf.py (main 7e8a7104) registers
 * its modules: the root's own parameters first, then encoders, backbone, final norms, readouts,
 * heads.
 *
 * Dimension letters: E embedding, W width, H heads, d = E/H, T element types, C classes, NH hashes,
 * D representation. */
#include "model/mlpf_params.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"

/* Ceilings: 2^31 values are 8 GiB of FP32, more than an ONNX file without external data can hold.
 */
#define PARAMS_MAX       200000
#define PARAM_VALUES_MAX (UINT64_C(1) << 31)

#define PREFIX_BYTES 80 /* room for the longest suffix stays in a name of 96 */

typedef struct table {
  assay_mlpf_params *params;
  size_t cap;
  assay_status status; /* first failure; later adds do nothing */
  assay_error *err;
} table;

static void grow(table *t) {
  if (t->params->n == PARAMS_MAX) {
    t->status = assay_fail(t->err, ASSAY_E_LIMIT, "the model has more than %d tensors", PARAMS_MAX);
    return;
  }
  assay_mlpf_param *items =
      assay_grown(t->params->items, &t->cap, t->params->n, sizeof *items, t->err);
  if (items != NULL)
    t->params->items = items;
  else
    t->status = ASSAY_E_MEMORY;
}

/* Adds `prefix` + `suffix`; dims beyond rank are ignored. Returns the entry, or NULL after a
 * failure. */
static assay_mlpf_param *add(table *t, const char *prefix, const char *suffix, int rank, int64_t d0,
                             int64_t d1, int64_t d2) {
  if (t->status == ASSAY_OK) grow(t);
  if (t->status) return NULL;
  assay_mlpf_param *param = &t->params->items[t->params->n++];
  *param = (assay_mlpf_param){.rank = rank,
                              .dims = {d0, rank > 1 ? d1 : 0, rank > 2 ? d2 : 0},
                              .trainable = true,
                              .used = true};
  snprintf(param->name, sizeof param->name, "%s%s", prefix, suffix);
  /* dims are at most 2^26 (LAYERS_MAX * DIM_MAX), so the product of three stays in 128 bits only:
   * divide */
  uint64_t values = (uint64_t)d0;
  for (int i = 1; i < rank; i++) {
    const uint64_t d = (uint64_t)param->dims[i];
    if (values > PARAM_VALUES_MAX / d)
      values = PARAM_VALUES_MAX;
    else
      values *= d;
  }
  if (t->params->n_values + values > PARAM_VALUES_MAX) {
    t->status = assay_fail(t->err, ASSAY_E_LIMIT, "the model has more than %llu weights",
                           (unsigned long long)PARAM_VALUES_MAX);
    return NULL;
  }
  t->params->n_values += (size_t)values;
  return param;
}

static void add_vector(table *t, const char *prefix, const char *suffix, int64_t d0) {
  (void)add(t, prefix, suffix, 1, d0, 0, 0);
}
static void add_matrix(table *t, const char *prefix, const char *suffix, int64_t d0, int64_t d1) {
  (void)add(t, prefix, suffix, 2, d0, d1, 0);
}

/* Not trained; used says whether it enters the forward pass. */
static void add_buffer(table *t, const char *prefix, const char *suffix, bool used, int rank,
                       int64_t d0, int64_t d1, int64_t d2) {
  assay_mlpf_param *param = add(t, prefix, suffix, rank, d0, d1, d2);
  if (param == NULL) return;
  param->trainable = false;
  param->used = used;
}

static void mark_last_unused(table *t) {
  if (t->status == ASSAY_OK) t->params->items[t->params->n - 1].used = false;
}

/* "<prefix>.<part>.weight" [out,in] and ".bias" [out] */
static void add_linear(table *t, const char *prefix, const char *part, int64_t out, int64_t in) {
  char name[PREFIX_BYTES];
  snprintf(name, sizeof name, "%s.%s", prefix, part);
  add_matrix(t, name, ".weight", out, in);
  add_vector(t, name, ".bias", out);
}

/* LayerNorm over n */
static void add_norm(table *t, const char *prefix, const char *part, int64_t n) {
  char name[PREFIX_BYTES];
  snprintf(name, sizeof name, "%s%s", prefix, part);
  add_vector(t, name, ".weight", n);
  add_vector(t, name, ".bias", n);
}

/* Linear, activation, LayerNorm, dropout, Linear: in -> width -> out */
static void add_mlp3(table *t, const char *prefix, int64_t in, int64_t width, int64_t out) {
  add_linear(t, prefix, "0", width, in);
  add_norm(t, prefix, ".2", width);
  add_linear(t, prefix, "4", out, width);
}

static void add_mha(table *t, const char *prefix, int64_t dim) {
  add_matrix(t, prefix, ".mha.in_proj_weight", 3 * dim, dim);
  add_vector(t, prefix, ".mha.in_proj_bias", 3 * dim);
  add_linear(t, prefix, "mha.out_proj", dim, dim);
}

static void add_attention_layer(table *t, const char *prefix, const assay_mlpf_config *config) {
  const int64_t e = config->embedding_dim, w = config->width;
  add_mha(t, prefix, e);
  add_norm(t, prefix, ".norm0", e);
  add_norm(t, prefix, ".norm1", e);
  add_linear(t, prefix, "seq.0", w, e);
  add_linear(t, prefix, "seq.2", e, w);
}

static void add_heptv2_layer(table *t, const char *prefix, const assay_mlpf_config *config) {
  const int64_t e = config->embedding_dim, h = config->num_heads, d = config->head_dim;
  const int64_t nh = config->n_hashes, pe = 4 * e; /* B.5 (15): always 4E, whatever mlp_ratio is */
  add_buffer(t, prefix, ".regions", /*used=*/true, 3, nh, 2, h);
  add_linear(t, prefix, "attn.out_linear", e, e);
  add_buffer(t, prefix, ".attn.e2lsh.alpha", /*used=*/false, 3, h, d + 2, nh);
  add_buffer(t, prefix, ".attn.e2lsh.beta", /*used=*/false, 2, 1, nh, 0);
  add_buffer(t, prefix, ".attn.e2lsh_new.alpha", /*used=*/true, 3, h, 2, nh);
  add_buffer(t, prefix, ".attn.e2lsh_new.beta", /*used=*/false, 2, 1, nh, 0);
  add_matrix(t, prefix, ".w_q.weight", e, e);
  add_matrix(t, prefix, ".w_k.weight", e, e);
  add_matrix(t, prefix, ".w_v.weight", e, e);
  add_matrix(t, prefix, ".w_rpe.weight", e, config->num_w_per_dist);
  mark_last_unused(t);
  add_vector(t, prefix, ".w_rpe.bias", e);
  mark_last_unused(t);
  if (config->learned_positions) {
    add_linear(t, prefix, "pe_func.position_embedding_head.0", pe, 2);
    add_norm(t, prefix, ".pe_func.position_embedding_head.1", pe);
    add_linear(t, prefix, "pe_func.position_embedding_head.3", e, pe);
  }
  add_vector(t, prefix, ".norm1.weight", e);
  add_vector(t, prefix, ".norm2.weight", e);
  add_vector(t, prefix, ".q_norm.weight", d);
  add_vector(t, prefix, ".k_norm.weight", d);
  add_matrix(t, prefix, ".ff.gate_proj.weight", config->ff_hidden, e);
  add_matrix(t, prefix, ".ff.up_proj.weight", config->ff_hidden, e);
  add_matrix(t, prefix, ".ff.down_proj.weight", e, config->ff_hidden);
}

static void add_stack(table *t, const char *name, const assay_mlpf_config *config) {
  for (int64_t layer = 0; layer < config->num_convs && t->status == ASSAY_OK; layer++) {
    char prefix[PREFIX_BYTES];
    snprintf(prefix, sizeof prefix, "%s.%lld", name, (long long)layer);
    if (config->arch == ASSAY_MLPF_HEPTV2)
      add_heptv2_layer(t, prefix, config);
    else
      add_attention_layer(t, prefix, config);
  }
}

static void add_readout(table *t, const char *prefix, int64_t dim, int64_t width) {
  add_mha(t, prefix, dim);
  add_norm(t, prefix, ".query_norm", dim);
  add_norm(t, prefix, ".key_norm", dim);
  add_norm(t, prefix, ".post_norm", dim);
  add_linear(t, prefix, "ffn.0", width, dim);
  add_linear(t, prefix, "ffn.2", dim, width);
}

/* B.8 (35) */
static void add_regression(table *t, assay_mlpf_target target, const assay_mlpf_config *config,
                           int64_t dim) {
  const int64_t w = config->width, types = config->n_elemtypes;
  const assay_mlpf_regression mode = config->regression[target];
  char prefix[PREFIX_BYTES];
  snprintf(prefix, sizeof prefix, "nn_%s.nn", assay_mlpf_target_name(target));
  switch (mode) {
  case ASSAY_MLPF_DIRECT:
  case ASSAY_MLPF_ADDITIVE:
  case ASSAY_MLPF_MULTIPLICATIVE:
    add_mlp3(t, prefix, dim, w, 1);
    break;
  case ASSAY_MLPF_DIRECT_ELEMTYPE:
    add_mlp3(t, prefix, dim, w, types);
    break;
  case ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT:
    for (int64_t i = 0; i < types; i++) {
      char part[PREFIX_BYTES];
      snprintf(part, sizeof part, "nn_%s.nn.%lld", assay_mlpf_target_name(target), (long long)i);
      add_mlp3(t, part, dim, w, 1);
    }
    break;
  case ASSAY_MLPF_LINEAR:
    add_mlp3(t, prefix, dim, w, 2);
    break;
  case ASSAY_MLPF_LINEAR_ELEMTYPE:
    for (int i = 1; i <= 2; i++) {
      char part[PREFIX_BYTES];
      snprintf(part, sizeof part, "nn_%s.nn%d", assay_mlpf_target_name(target), i);
      add_mlp3(t, part, dim, w, types);
    }
    break;
  }
}

static void add_all(table *t, const assay_mlpf_config *config) {
  const int64_t e = config->embedding_dim, w = config->width, f = config->input_dim;
  const int64_t dim = assay_mlpf_config_repr_dim(config);
  const int64_t encoded = config->input_encoding == ASSAY_MLPF_JOINT ? e : e * config->n_elemtypes;
  if (config->task_queries) {
    (void)add(t, "classification_query", "", 3, 1, 1, dim);
    (void)add(t, "regression_query", "", 3, 1, 1, dim);
  }
  if (config->backbone_mode == ASSAY_MLPF_BACKBONE_SPLIT) {
    add_mlp3(t, "_nn0_id", f, w, encoded);
    add_mlp3(t, "_nn0_reg", f, w, encoded);
    add_stack(t, "_backbone_id", config);
    add_stack(t, "_backbone_reg", config);
  } else {
    add_mlp3(t, "nn0", f, w, encoded);
    add_stack(t, "backbone", config);
  }
  if (config->use_pre_layernorm) {
    add_norm(t, "classification_norm", "", dim);
    add_norm(t, "regression_norm", "", dim);
  }
  if (config->task_queries) {
    add_readout(t, "classification_readout", dim, w);
    add_readout(t, "regression_readout", dim, w);
  }
  add_mlp3(t, "nn_binary_particle", dim, w, 2);
  add_mlp3(t, "nn_pid", dim, w, config->num_classes);
  for (int target = 0; target < ASSAY_MLPF_N_TARGETS; target++)
    add_regression(t, (assay_mlpf_target)target, config, dim);
}

assay_status assay_mlpf_params_init(const assay_mlpf_config *config, assay_mlpf_params *out,
                                    assay_error *err) {
  assay_mlpf_params params = {0};
  table t = {.params = &params, .err = err};
  add_all(&t, config);
  if (t.status) {
    assay_mlpf_params_reset(&params);
    return t.status;
  }
  *out = params;
  return ASSAY_OK;
}

void assay_mlpf_params_reset(assay_mlpf_params *params) {
  if (params == NULL) return;
  assay_free(params->items);
  *params = (assay_mlpf_params){0};
}

/* --- the strict check
 * ---------------------------------------------------------------------------------- */

/* Differences found so far, as one text; those that do not fit are counted. */
typedef struct differences {
  char text[1400];
  size_t used;
  size_t n, n_left_out;
} differences;

static void note(differences *d, const char *text) {
  const size_t length = strlen(text), gap = d->n ? 2 : 0;
  d->n++;
  if (d->n_left_out > 0 || d->used + gap + length + 1 > sizeof d->text) {
    d->n_left_out++;
    return;
  }
  snprintf(d->text + d->used, sizeof d->text - d->used, "%s%s", gap ? "; " : "", text);
  d->used += gap + length;
}

static void check_one(const assay_mlpf_param *param, const assay_tensor *tensor, differences *d) {
  char text[400], expected[256], found[256];
  if (tensor == NULL) {
    snprintf(text, sizeof text, "'%s' is missing", param->name);
    note(d, text);
    return;
  }
  bool same = tensor->rank == param->rank;
  for (int i = 0; same && i < param->rank; i++) same = tensor->dims[i] == param->dims[i];
  if (!same) {
    assay_shape_text(param->dims, param->rank, expected, sizeof expected);
    assay_shape_text(tensor->dims, tensor->rank, found, sizeof found);
    snprintf(text, sizeof text, "'%s' is %.100s, expected %.100s", param->name, found, expected);
    note(d, text);
  } else if (tensor->dtype != ASSAY_DTYPE_F32) {
    snprintf(text, sizeof text, "'%s' is %s, expected float32", param->name,
             assay_dtype_name(tensor->dtype));
    note(d, text);
  }
}

/* Names in weights that the table does not have: the table is put into a map of empty tensors for
 * it. */
static assay_status check_extra(const assay_mlpf_params *params, const assay_tensor_map *weights,
                                differences *d, assay_error *err) {
  assay_tensor_map known = {0};
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < params->n && st == ASSAY_OK; i++) {
    assay_tensor nothing = {0};
    st = assay_tensor_map_add(&known, params->items[i].name, &nothing, err);
  }
  for (size_t i = 0; i < weights->n && st == ASSAY_OK; i++) {
    if (assay_tensor_map_find(&known, weights->items[i].name) != NULL) continue;
    char text[200];
    snprintf(text, sizeof text, "'%.150s' is not a tensor of this model", weights->items[i].name);
    note(d, text);
  }
  assay_tensor_map_reset(&known);
  return st;
}

assay_status assay_mlpf_params_check(const assay_mlpf_params *params,
                                     const assay_tensor_map *weights, assay_error *err) {
  differences d = {.n = 0};
  for (size_t i = 0; i < params->n; i++)
    check_one(&params->items[i], assay_tensor_map_find(weights, params->items[i].name), &d);
  ASSAY_TRY(check_extra(params, weights, &d, err));
  if (d.n == 0) return ASSAY_OK;
  if (d.n_left_out > 0)
    return assay_fail(err, ASSAY_E_MISMATCH,
                      "the weights do not fit the configuration in %zu places: %s; and %zu more",
                      d.n, d.text, d.n_left_out);
  return assay_fail(err, ASSAY_E_MISMATCH,
                    "the weights do not fit the configuration in %zu places: %s", d.n, d.text);
}
