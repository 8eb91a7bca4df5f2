/* Weights by their state_dict names (models.md C.1), as the equations of section B use them. See
 * ref_model.h. */
#include "reference/ref_model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 160 };

/* Binding in progress: after the first failure nothing more is done. */
typedef struct binder {
  const assay_mlpf_config *config;
  const assay_tensor_map *weights;
  ref_arena *arena;
  const ref_plan *plan;
  bool half; /* of what is being bound */
  assay_status status;
  assay_error *err;
} binder;

/* The FP32 values of a tensor that must have that shape (dims that are 0 end it); NULL after a
 * failure. */
static const float *find(binder *b, const char *name, int64_t d0, int64_t d1, int64_t d2) {
  const int64_t dims[] = {d0, d1, d2};
  int rank = d1 == 0 ? 1 : d2 == 0 ? 2 : 3;
  if (b->status) return NULL;
  const assay_tensor *tensor = assay_tensor_map_find(b->weights, name);
  if (tensor == NULL) {
    b->status =
        assay_fail(b->err, ASSAY_E_ARGUMENT,
                   "weights: the configuration needs tensor '%s', which is not there", name);
    return NULL;
  }
  bool same = tensor->rank == rank && tensor->dtype == ASSAY_DTYPE_F32;
  for (int i = 0; same && i < rank; i++) same = tensor->dims[i] == dims[i];
  if (!same) {
    char expected[256], found[256];
    assay_shape_text(dims, rank, expected, sizeof expected);
    assay_shape_text(tensor->dims, tensor->rank, found, sizeof found);
    b->status = assay_fail(b->err, ASSAY_E_ARGUMENT,
                           "weights: tensor '%s': expected float32 %s, found %s %s", name, expected,
                           assay_dtype_name(tensor->dtype), found);
    return NULL;
  }
  return tensor->data;
}

static real *allocate_values(binder *b, int64_t n) {
  if (b->status) return NULL;
  real *values = ref_arena_alloc(b->arena, n, sizeof *values);
  if (values == NULL) b->status = assay_fail(b->err, ASSAY_E_MEMORY, "out of memory for weights");
  return values;
}

#if REF_BITS == 32

/* Magnitudes from here on are infinity in FP16; below, 65504 at most. */
#define HALF_OVERFLOW 65520.0F

static void check_half(binder *b, const char *name, const float *values, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (fabsf(values[i]) < HALF_OVERFLOW) continue;
    b->status = assay_fail(b->err, ASSAY_E_ARGUMENT,
                           "weights: tensor '%s': expected values that float16 holds (up to "
                           "65504), found %g; leave its block in float32",
                           name, (double)values[i]);
    return;
  }
}

/* The values as they are computed with. */
static const real *convert(binder *b, const char *name, const float *values, int64_t n) {
  if (b->status || !b->half) return values;
  check_half(b, name, values, n);
  real *rounded = allocate_values(b, n);
  if (rounded == NULL) return NULL;
  memcpy(rounded, values, (size_t)n * sizeof *rounded);
  ref_kernels_find(/*name=*/NULL)->round_half(rounded, n);
  return rounded;
}

#else

static const real *convert(binder *b, const char *name, const float *values, int64_t n) {
  (void)name;
  real *wide = allocate_values(b, n);
  for (int64_t i = 0; wide != NULL && i < n; i++) wide[i] = (real)values[i];
  return wide;
}

#endif

static void *allocate(binder *b, int64_t n, size_t elem_bytes) {
  void *block = ref_arena_alloc(b->arena, n, elem_bytes);
  if (block == NULL && b->status == ASSAY_OK) {
    b->status = assay_fail(b->err, ASSAY_E_MEMORY, "out of memory for the model's layers");
  }
  return block;
}

/* prefix.format, as in a state_dict. */
__attribute__((format(printf, 3, 4))) static const char *join(char *out, const char *prefix,
                                                              const char *format, ...) {
  int n = snprintf(out, NAME_BYTES, "%s%s", prefix, prefix[0] ? "." : "");
  va_list arguments;
  va_start(arguments, format);
  if (n >= 0 && n < NAME_BYTES) vsnprintf(out + n, (size_t)(NAME_BYTES - n), format, arguments);
  va_end(arguments);
  return out;
}

static const real *bind_vector(binder *b, const char *prefix, const char *suffix, int64_t n) {
  char name[NAME_BYTES];
  const float *values = find(b, join(name, prefix, "%s", suffix), n, 0, 0);
  return convert(b, name, values, n);
}

static const real *bind_matrix(binder *b, const char *prefix, const char *suffix, int64_t rows,
                               int64_t cols) {
  char name[NAME_BYTES];
  const float *values = find(b, join(name, prefix, "%s", suffix), rows, cols, 0);
  return convert(b, name, values, rows * cols);
}

static ref_linear bind_linear(binder *b, const char *prefix, int64_t n_in, int64_t n_out) {
  return (ref_linear){.n_in = n_in,
                      .n_out = n_out,
                      .weight = bind_matrix(b, prefix, "weight", n_out, n_in),
                      .bias = bind_vector(b, prefix, "bias", n_out),
                      .half = b->half};
}

static ref_linear bind_linear_without_bias(binder *b, const char *prefix, int64_t n_in,
                                           int64_t n_out) {
  return (ref_linear){.n_in = n_in,
                      .n_out = n_out,
                      .weight = bind_matrix(b, prefix, "weight", n_out, n_in),
                      .half = b->half};
}

static ref_norm bind_layer_norm(binder *b, const char *prefix, int64_t dim) {
  return (ref_norm){.dim = dim,
                    .weight = bind_vector(b, prefix, "weight", dim),
                    .bias = bind_vector(b, prefix, "bias", dim),
                    .half = b->half};
}

static ref_norm bind_rms_norm(binder *b, const char *prefix, int64_t dim) {
  return (ref_norm){.dim = dim, .weight = bind_vector(b, prefix, "weight", dim)};
}

static ref_mlp3 bind_mlp3(binder *b, const char *prefix, int64_t n_in, int64_t n_out) {
  char name[NAME_BYTES];
  int64_t width = b->config->width;
  return (ref_mlp3){.first = bind_linear(b, join(name, prefix, "0"), n_in, width),
                    .norm = bind_layer_norm(b, join(name, prefix, "2"), width),
                    .last = bind_linear(b, join(name, prefix, "4"), width, n_out)};
}

static ref_mha bind_mha(binder *b, const char *prefix, int64_t dim) {
  char name[NAME_BYTES];
  return (ref_mha){.in = {.n_in = dim,
                          .n_out = 3 * dim,
                          .weight = bind_matrix(b, prefix, "in_proj_weight", 3 * dim, dim),
                          .bias = bind_vector(b, prefix, "in_proj_bias", 3 * dim),
                          .half = b->half},
                   .out = bind_linear(b, join(name, prefix, "out_proj"), dim, dim)};
}

static ref_ffn bind_ffn(binder *b, const char *prefix, int64_t dim) {
  char name[NAME_BYTES];
  int64_t width = b->config->width;
  return (ref_ffn){.first = bind_linear(b, join(name, prefix, "0"), dim, width),
                   .last = bind_linear(b, join(name, prefix, "2"), width, dim)};
}

static void bind_attention_layer(binder *b, const char *prefix, ref_attention_layer *out) {
  char name[NAME_BYTES];
  int64_t e = b->config->embedding_dim;
  b->half = b->plan->backbone;
  out->mha = bind_mha(b, join(name, prefix, "mha"), e);
  b->half = false;
  out->norm0 = bind_layer_norm(b, join(name, prefix, "norm0"), e);
  out->norm1 = bind_layer_norm(b, join(name, prefix, "norm1"), e);
  out->ffn = bind_ffn(b, join(name, prefix, "seq"), e);
}

/* Regions become divisors and loop bounds, and hashes are compared: neither may be NaN. */
static void check_hashing(binder *b, const char *prefix, const ref_heptv2_layer *layer) {
  int64_t n = b->config->n_hashes * 2 * b->config->num_heads;
  for (int64_t i = 0; b->status == ASSAY_OK && i < n; i++) {
    double region = (double)layer->regions[i], alpha = (double)layer->alpha[i];
    if (!(isfinite(region) && region > 0)) {
      b->status =
          assay_fail(b->err, ASSAY_E_ARGUMENT,
                     "weights: '%s.regions' element %lld: expected a finite positive count of "
                     "regions, found %g",
                     prefix, (long long)i, region);
    } else if (!isfinite(alpha)) {
      b->status = assay_fail(b->err, ASSAY_E_ARGUMENT,
                             "weights: '%s.attn.e2lsh_new.alpha' element %lld: expected a finite "
                             "value, found %g",
                             prefix, (long long)i, alpha);
    }
  }
}

static void bind_heptv2_layer(binder *b, const char *prefix, ref_heptv2_layer *out) {
  char name[NAME_BYTES];
  const assay_mlpf_config *c = b->config;
  int64_t e = c->embedding_dim, d = c->head_dim;
  if (c->learned_positions) {
    const char *head = "pe_func.position_embedding_head";
    out->position_in = bind_linear(b, join(name, prefix, "%s.0", head), 2, 4 * e);
    out->position_norm = bind_layer_norm(b, join(name, prefix, "%s.1", head), 4 * e);
    out->position_out = bind_linear(b, join(name, prefix, "%s.3", head), 4 * e, e);
  }
  out->norm1 = bind_rms_norm(b, join(name, prefix, "norm1"), e);
  out->norm2 = bind_rms_norm(b, join(name, prefix, "norm2"), e);
  out->q_norm = bind_rms_norm(b, join(name, prefix, "q_norm"), d);
  out->k_norm = bind_rms_norm(b, join(name, prefix, "k_norm"), d);
  b->half = b->plan->backbone;
  out->q = bind_linear_without_bias(b, join(name, prefix, "w_q"), e, e);
  out->k = bind_linear_without_bias(b, join(name, prefix, "w_k"), e, e);
  out->v = bind_linear_without_bias(b, join(name, prefix, "w_v"), e, e);
  out->out = bind_linear(b, join(name, prefix, "attn.out_linear"), e, e);
  b->half = false;
  out->gate = bind_linear_without_bias(b, join(name, prefix, "ff.gate_proj"), e, c->ff_hidden);
  out->up = bind_linear_without_bias(b, join(name, prefix, "ff.up_proj"), e, c->ff_hidden);
  out->down = bind_linear_without_bias(b, join(name, prefix, "ff.down_proj"), c->ff_hidden, e);
  out->regions = find(b, join(name, prefix, "regions"), c->n_hashes, 2, c->num_heads);
  out->alpha = find(b, join(name, prefix, "attn.e2lsh_new.alpha"), c->num_heads, 2, c->n_hashes);
  check_hashing(b, prefix, out);
}

static void bind_stack(binder *b, const char *encoder, const char *backbone, ref_stack *out) {
  const assay_mlpf_config *c = b->config;
  int64_t types = c->input_encoding == ASSAY_MLPF_SPLIT ? c->n_elemtypes : 1;
  out->encoder_name = encoder;
  out->layers_name = backbone;
  b->half = b->plan->encoder;
  out->encoder = bind_mlp3(b, encoder, c->input_dim, types * c->embedding_dim);
  b->half = false;
  bool attention = c->arch == ASSAY_MLPF_ATTENTION;
  if (attention) {
    out->attention = allocate(b, c->num_convs, sizeof *out->attention);
  } else {
    out->heptv2 = allocate(b, c->num_convs, sizeof *out->heptv2);
  }
  for (int64_t i = 0; b->status == ASSAY_OK && i < c->num_convs; i++) {
    char prefix[NAME_BYTES];
    join(prefix, backbone, "%lld", (long long)i);
    if (attention) {
      bind_attention_layer(b, prefix, &out->attention[i]);
    } else {
      bind_heptv2_layer(b, prefix, &out->heptv2[i]);
    }
  }
}

/* Rows first to first + n of the in_proj of a readout's attention. */
static ref_linear bind_in_part(binder *b, const char *mha, int64_t dim, int64_t first, int64_t n) {
  char name[NAME_BYTES];
  ref_linear part = {.n_in = dim, .n_out = n, .half = b->half};
  const float *weight = find(b, join(name, mha, "in_proj_weight"), 3 * dim, dim, 0);
  if (weight == NULL) return part;
  part.weight = convert(b, name, weight + first * dim, n * dim);
  const float *bias = find(b, join(name, mha, "in_proj_bias"), 3 * dim, 0, 0);
  if (bias != NULL) part.bias = convert(b, name, bias + first, n);
  return part;
}

static void bind_readout(binder *b, const char *task, ref_readout *out) {
  char prefix[NAME_BYTES], name[NAME_BYTES], mha[NAME_BYTES];
  int64_t dim = assay_mlpf_config_repr_dim(b->config);
  snprintf(name, sizeof name, "%s_query", task);
  snprintf(prefix, sizeof prefix, "%s_readout", task);
  join(mha, prefix, "mha");
  out->present = true;
  const float *query = find(b, name, 1, 1, dim);
  out->query = convert(b, name, query, dim);
  out->query_norm = bind_layer_norm(b, join(name, prefix, "query_norm"), dim);
  out->q = bind_in_part(b, mha, dim, 0, dim);
  out->key_norm = bind_layer_norm(b, join(name, prefix, "key_norm"), dim);
  out->post_norm = bind_layer_norm(b, join(name, prefix, "post_norm"), dim);
  b->half = b->plan->readout;
  out->kv = bind_in_part(b, mha, dim, dim, 2 * dim);
  out->out = bind_linear(b, join(name, mha, "out_proj"), dim, dim);
  b->half = false;
  out->ffn = bind_ffn(b, join(name, prefix, "ffn"), dim);
}

/* The parts of a regression head by its mode: table (35) of models.md. */
static void bind_regression(binder *b, const char *head, assay_mlpf_regression mode,
                            ref_regression *out) {
  char name[NAME_BYTES];
  int64_t dim = assay_mlpf_config_repr_dim(b->config), types = b->config->n_elemtypes;
  bool per_type = mode == ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT;
  bool two_parts = mode == ASSAY_MLPF_LINEAR_ELEMTYPE;
  out->n_parts = per_type ? types : two_parts ? 2 : 1;
  out->parts = allocate(b, out->n_parts, sizeof *out->parts);
  if (b->status) return;
  if (per_type) {
    for (int64_t i = 0; i < types; i++) {
      out->parts[i] = bind_mlp3(b, join(name, head, "nn.%lld", (long long)i), dim, 1);
    }
  } else if (two_parts) {
    out->parts[0] = bind_mlp3(b, join(name, head, "nn1"), dim, types);
    out->parts[1] = bind_mlp3(b, join(name, head, "nn2"), dim, types);
  } else {
    int64_t n_out = mode == ASSAY_MLPF_LINEAR ? 2 : mode == ASSAY_MLPF_DIRECT_ELEMTYPE ? types : 1;
    out->parts[0] = bind_mlp3(b, join(name, head, "nn"), dim, n_out);
  }
}

static void bind_heads(binder *b, ref_model *out) {
  static const char *const regression_heads[] = {"nn_pt", "nn_eta", "nn_sin_phi", "nn_cos_phi",
                                                 "nn_energy"};
  int64_t dim = assay_mlpf_config_repr_dim(b->config);
  out->binary = bind_mlp3(b, "nn_binary_particle", dim, 2);
  out->classes = bind_mlp3(b, "nn_pid", dim, b->config->num_classes);
  for (int i = 0; i < ASSAY_MLPF_N_TARGETS; i++) {
    bind_regression(b, regression_heads[i], b->config->regression[i], &out->regressions[i]);
  }
}

assay_status ref_model_bind(const assay_mlpf_config *config, const ref_plan *plan,
                            const assay_tensor_map *weights, ref_arena *arena, ref_model *out,
                            assay_error *err) {
  binder b = {.config = config, .weights = weights, .arena = arena, .plan = plan, .err = err};
  ref_model model = {.n_stacks = 1};
  if (config->backbone_mode == ASSAY_MLPF_BACKBONE_SPLIT) {
    model.n_stacks = 2;
    bind_stack(&b, "_nn0_id", "_backbone_id", &model.stacks[REF_CLASSIFICATION]);
    bind_stack(&b, "_nn0_reg", "_backbone_reg", &model.stacks[REF_REGRESSION]);
  } else {
    bind_stack(&b, "nn0", "backbone", &model.stacks[0]);
    if (config->task_queries) {
      bind_readout(&b, "classification", &model.readouts[REF_CLASSIFICATION]);
      bind_readout(&b, "regression", &model.readouts[REF_REGRESSION]);
    }
  }
  if (config->arch == ASSAY_MLPF_ATTENTION && config->use_pre_layernorm) {
    int64_t dim = assay_mlpf_config_repr_dim(config);
    model.final_norms[REF_CLASSIFICATION] = bind_layer_norm(&b, "classification_norm", dim);
    model.final_norms[REF_REGRESSION] = bind_layer_norm(&b, "regression_norm", dim);
  }
  b.half = plan->heads;
  bind_heads(&b, &model);
  if (b.status) return b.status;
  *out = model;
  return ASSAY_OK;
}
