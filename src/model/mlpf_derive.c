/* Facts of a model from its weights and from a configuration, and the differences between weights
 * and what the configuration's table asks for.
 *
 * Dimension letters: F features, E embedding, W width, H heads, d = E/H, T element types, C
 * classes, L layers, NH hashes. */
#include "model/mlpf_derive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/text.h"

/* --- facts of weights
 * -------------------------------------------------------------------------------- */

/* The networks of a regression head, as one number: form * FORM + count. */
#define FORM 1000000
enum { FORM_PLAIN, FORM_BY_TYPE, FORM_PAIR };

/* Axis `axis` of the tensor of that name, or -1. */
static int64_t dim_of(const assay_tensor_map *weights, const char *name, int axis) {
  const assay_tensor *t = assay_tensor_map_find(weights, name);
  return t != NULL && axis < t->rank ? t->dims[axis] : -1;
}

static bool any_with(const assay_tensor_map *weights, const char *prefix) {
  for (size_t i = 0; i < weights->n; i++)
    if (assay_text_has_prefix(weights->items[i].name, prefix)) return true;
  return false;
}

/* 1 + the highest index behind prefix ("backbone."), 0 without any. */
static int64_t count_indexed(const assay_tensor_map *weights, const char *prefix) {
  int64_t n = 0;
  for (size_t i = 0; i < weights->n; i++) {
    if (!assay_text_has_prefix(weights->items[i].name, prefix)) continue;
    const char *digits = weights->items[i].name + strlen(prefix);
    const size_t n_digits = strspn(digits, "0123456789");
    if (n_digits == 0 || n_digits > 6 || digits[n_digits] != '.') continue;
    const int64_t index = strtol(digits, NULL, 10);
    if (index >= n) n = index + 1;
  }
  return n;
}

static int64_t regression_of(const assay_tensor_map *weights, int target) {
  char name[64];
  const char *what = assay_mlpf_target_name((assay_mlpf_target)target);
  snprintf(name, sizeof name, "nn_%s.nn1.4.weight", what);
  int64_t rows = dim_of(weights, name, 0);
  if (rows >= 0) return FORM_PAIR * FORM + rows;
  snprintf(name, sizeof name, "nn_%s.nn.0.0.weight", what);
  if (assay_tensor_map_find(weights, name) != NULL) {
    snprintf(name, sizeof name, "nn_%s.nn.", what);
    return FORM_BY_TYPE * FORM + count_indexed(weights, name);
  }
  snprintf(name, sizeof name, "nn_%s.nn.4.weight", what);
  rows = dim_of(weights, name, 0);
  return rows < 0 ? -1 : FORM_PLAIN * FORM + rows;
}

/* What layer 0, whose names begin with prefix, tells. */
static void take_layer(const assay_tensor_map *weights, const char *prefix, int64_t *value) {
  char name[96];
#define NAME(suffix) (snprintf(name, sizeof name, "%s%s", prefix, suffix), name)
  const int64_t attention = dim_of(weights, NAME("0.mha.in_proj_weight"), 1);
  const int64_t heptv2 = dim_of(weights, NAME("0.w_q.weight"), 0);
  if (attention >= 0) {
    value[ASSAY_MLPF_FACT_ARCH] = ASSAY_MLPF_ATTENTION;
    value[ASSAY_MLPF_FACT_EMBEDDING] = attention;
  } else if (heptv2 >= 0) {
    value[ASSAY_MLPF_FACT_ARCH] = ASSAY_MLPF_HEPTV2;
    value[ASSAY_MLPF_FACT_EMBEDDING] = heptv2;
    value[ASSAY_MLPF_FACT_HASHES] = dim_of(weights, NAME("0.regions"), 0);
    value[ASSAY_MLPF_FACT_HEADS] = dim_of(weights, NAME("0.regions"), 2);
    value[ASSAY_MLPF_FACT_FF] = dim_of(weights, NAME("0.ff.gate_proj.weight"), 0);
    value[ASSAY_MLPF_FACT_POSITIONS] = any_with(weights, NAME("0.pe_func."));
  }
#undef NAME
}

void assay_mlpf_facts_of_weights(const assay_tensor_map *weights, assay_mlpf_facts *out) {
  int64_t *value = out->value;
  for (int i = 0; i < ASSAY_MLPF_N_FACTS; i++) value[i] = -1;
  const bool split = any_with(weights, "_nn0_id.") || any_with(weights, "_backbone_id.");
  const bool shared = any_with(weights, "nn0.") || any_with(weights, "backbone.");
  if (split || shared) {
    const char *stack = split ? "_backbone_id." : "backbone.";
    const char *encoder = split ? "_nn0_id" : "nn0";
    char name[64];
    value[ASSAY_MLPF_FACT_BACKBONE] =
        split ? ASSAY_MLPF_BACKBONE_SPLIT : ASSAY_MLPF_BACKBONE_SHARED;
    value[ASSAY_MLPF_FACT_LAYERS] = count_indexed(weights, stack);
    snprintf(name, sizeof name, "%s.0.weight", encoder);
    value[ASSAY_MLPF_FACT_INPUT_DIM] = dim_of(weights, name, 1);
    value[ASSAY_MLPF_FACT_WIDTH] = dim_of(weights, name, 0);
    snprintf(name, sizeof name, "%s.4.weight", encoder);
    value[ASSAY_MLPF_FACT_ENCODED] = dim_of(weights, name, 0);
    take_layer(weights, stack, value);
    value[ASSAY_MLPF_FACT_TASK_QUERIES] =
        any_with(weights, "classification_query") || any_with(weights, "classification_readout.");
    value[ASSAY_MLPF_FACT_FINAL_NORMS] = any_with(weights, "classification_norm.");
  }
  if (value[ASSAY_MLPF_FACT_ARCH] == ASSAY_MLPF_ATTENTION) value[ASSAY_MLPF_FACT_WIDTH] = -1;
  value[ASSAY_MLPF_FACT_CLASSES] = dim_of(weights, "nn_pid.4.weight", 0);
  for (int t = 0; t < ASSAY_MLPF_N_TARGETS; t++)
    value[ASSAY_MLPF_FACT_REGRESSION + t] = regression_of(weights, t);
}

/* --- facts of a configuration
 * ------------------------------------------------------------------------ */

static int64_t regression_asked(const assay_mlpf_config *config, int target) {
  switch (config->regression[target]) {
  case ASSAY_MLPF_DIRECT_ELEMTYPE:
    return FORM_PLAIN * FORM + config->n_elemtypes;
  case ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT:
    return FORM_BY_TYPE * FORM + config->n_elemtypes;
  case ASSAY_MLPF_LINEAR:
    return FORM_PLAIN * FORM + 2;
  case ASSAY_MLPF_LINEAR_ELEMTYPE:
    return FORM_PAIR * FORM + config->n_elemtypes;
  case ASSAY_MLPF_DIRECT:
  case ASSAY_MLPF_ADDITIVE:
  case ASSAY_MLPF_MULTIPLICATIVE:
    break;
  }
  return FORM_PLAIN * FORM + 1;
}

void assay_mlpf_facts_of_config(const assay_mlpf_config *config, assay_mlpf_facts *out) {
  const bool heptv2 = config->arch == ASSAY_MLPF_HEPTV2;
  const bool joint = config->input_encoding == ASSAY_MLPF_JOINT;
  int64_t *value = out->value;
  value[ASSAY_MLPF_FACT_ARCH] = config->arch;
  value[ASSAY_MLPF_FACT_BACKBONE] = config->backbone_mode;
  value[ASSAY_MLPF_FACT_LAYERS] = config->num_convs;
  value[ASSAY_MLPF_FACT_TASK_QUERIES] = config->task_queries;
  value[ASSAY_MLPF_FACT_FINAL_NORMS] = config->use_pre_layernorm;
  value[ASSAY_MLPF_FACT_INPUT_DIM] = config->input_dim;
  value[ASSAY_MLPF_FACT_CLASSES] = config->num_classes;
  value[ASSAY_MLPF_FACT_EMBEDDING] = config->embedding_dim;
  value[ASSAY_MLPF_FACT_WIDTH] = heptv2 ? config->width : -1;
  value[ASSAY_MLPF_FACT_ENCODED] = config->embedding_dim * (joint ? 1 : config->n_elemtypes);
  value[ASSAY_MLPF_FACT_HEADS] = heptv2 ? config->num_heads : -1;
  value[ASSAY_MLPF_FACT_HASHES] = heptv2 ? config->n_hashes : -1;
  value[ASSAY_MLPF_FACT_FF] = heptv2 ? config->ff_hidden : -1;
  value[ASSAY_MLPF_FACT_POSITIONS] = heptv2 ? config->learned_positions : -1;
  for (int t = 0; t < ASSAY_MLPF_N_TARGETS; t++)
    value[ASSAY_MLPF_FACT_REGRESSION + t] = regression_asked(config, t);
}

/* --- facts as text
 * ----------------------------------------------------------------------------------- */

const char *assay_mlpf_fact_name(assay_mlpf_fact fact) {
  static const char *const NAMES[ASSAY_MLPF_N_FACTS] = {
      "model.type",
      "backbone.mode",
      "num_convs",
      "task_queries",
      "use_pre_layernorm",
      "input_dim",
      "num_classes",
      "embedding_dim (num_heads * head_dim)",
      "width",
      "outputs of the encoder (embedding_dim for each element type)",
      "num_heads",
      "n_hashes",
      "feed-forward width (embedding_dim * mlp_ratio)",
      "learned positions (pe_type)",
      "pt_mode",
      "eta_mode",
      "sin_phi_mode",
      "cos_phi_mode",
      "energy_mode"};
  return NAMES[fact];
}

static void regression_text(int64_t value, char *out, size_t out_bytes) {
  const long long n = (long long)(value % FORM);
  switch (value / FORM) {
  case FORM_BY_TYPE:
    snprintf(out, out_bytes, "%lld networks, one for each element type", n);
    break;
  case FORM_PAIR:
    snprintf(out, out_bytes, "nn1 and nn2 of %lld outputs each", n);
    break;
  default:
    snprintf(out, out_bytes, "%lld output%s", n, n == 1 ? "" : "s");
  }
}

const char *assay_mlpf_fact_text(assay_mlpf_fact fact, int64_t value,
                                 char out[ASSAY_MLPF_FACT_TEXT_BYTES]) {
  const size_t size = ASSAY_MLPF_FACT_TEXT_BYTES;
  if (value < 0)
    snprintf(out, size, "none");
  else if (fact == ASSAY_MLPF_FACT_ARCH)
    snprintf(out, size, "%s", assay_mlpf_arch_name((assay_mlpf_arch)value));
  else if (fact == ASSAY_MLPF_FACT_BACKBONE)
    snprintf(out, size, "%s", value == ASSAY_MLPF_BACKBONE_SPLIT ? "split" : "shared");
  else if (fact == ASSAY_MLPF_FACT_TASK_QUERIES || fact == ASSAY_MLPF_FACT_FINAL_NORMS ||
           fact == ASSAY_MLPF_FACT_POSITIONS)
    snprintf(out, size, "%s", value ? "true" : "false");
  else if (fact >= ASSAY_MLPF_FACT_REGRESSION)
    regression_text(value, out, size);
  else
    snprintf(out, size, "%lld", (long long)value);
  return out;
}

/* --- differences
 * ------------------------------------------------------------------------------------- */

#define RENAMES_MAX 16

typedef struct comparison {
  const assay_mlpf_config *config;
  const assay_tensor_map *weights;
  const assay_mlpf_params *params;
  assay_tensor_map known;           /* names of the table; tensors empty */
  const assay_mlpf_param **missing; /* [n_missing], of params */
  size_t n_missing;
  size_t n_half; /* tensors of a type with 16 bits */
  assay_mlpf_differences *out;
} comparison;

static assay_status add_line(assay_mlpf_differences *out, assay_mlpf_difference_kind kind,
                             char *line, assay_error *err) {
  if (line == NULL) return assay_fail_memory(err, 256);
  char **items = assay_grown(out->items, &out->cap, out->n, sizeof *items, err);
  if (items == NULL) {
    assay_free(line);
    return ASSAY_E_MEMORY;
  }
  out->items = items;
  out->items[out->n++] = line;
  out->by_kind[kind]++;
  return ASSAY_OK;
}

static size_t count_not_finite(const assay_tensor *t) {
  size_t n = 0;
  const float *data = assay_tensor_f32(t);
  for (size_t i = 0; i < t->n_elems; i++)
    if (!isfinite(data[i])) n++;
  return n;
}

static bool same_dims(const assay_mlpf_param *param, const assay_tensor *t) {
  bool same = t->rank == param->rank;
  for (int i = 0; same && i < param->rank; i++) same = t->dims[i] == param->dims[i];
  return same;
}

static assay_status compare_one(comparison *c, const assay_mlpf_param *param, assay_error *err) {
  const assay_tensor *t = assay_tensor_map_find(c->weights, param->name);
  char expected[256], found[256];
  assay_shape_text(param->dims, param->rank, expected, sizeof expected);
  if (t == NULL) {
    c->missing[c->n_missing++] = param;
    return add_line(c->out, ASSAY_MLPF_MISSING,
                    assay_format("missing: %s %s", param->name, expected), err);
  }
  if (t->dtype == ASSAY_DTYPE_F16 || t->dtype == ASSAY_DTYPE_BF16) c->n_half++;
  if (!same_dims(param, t)) {
    assay_shape_text(t->dims, t->rank, found, sizeof found);
    ASSAY_TRY(add_line(
        c->out, ASSAY_MLPF_SHAPE,
        assay_format("another shape: %s is %s, expected %s", param->name, found, expected), err));
  }
  if (t->dtype != ASSAY_DTYPE_F32)
    return add_line(c->out, ASSAY_MLPF_TYPE,
                    assay_format("another type: %s is %s, expected float32", param->name,
                                 assay_dtype_name(t->dtype)),
                    err);
  const size_t n = count_not_finite(t);
  if (n == 0) return ASSAY_OK;
  return add_line(
      c->out, ASSAY_MLPF_NOT_FINITE,
      assay_format("not finite: %s holds %zu values that are NaN or infinite", param->name, n),
      err);
}

/* The missing name that an extra tensor may have been meant for: of the same shape, and near by its
 * letters. Where much is missing the model is another one, and such pairs would mean nothing. */
static const char *meant_for(const comparison *c, const assay_named_tensor *extra) {
  const char *names[RENAMES_MAX];
  size_t n = 0;
  if (c->n_missing > RENAMES_MAX) return NULL;
  for (size_t i = 0; i < c->n_missing; i++)
    if (same_dims(c->missing[i], &extra->tensor)) names[n++] = c->missing[i]->name;
  return assay_text_nearest(extra->name, names, n);
}

static assay_status add_extra(comparison *c, const assay_named_tensor *extra, assay_error *err) {
  char name[256], found[256];
  const char *meant = meant_for(c, extra);
  assay_text_printable(extra->name, name, sizeof name);
  assay_shape_text(extra->tensor.dims, extra->tensor.rank, found, sizeof found);
  return add_line(c->out, ASSAY_MLPF_EXTRA,
                  assay_format("not of this model: %s %s%s%s%s", name, found, meant ? "; '" : "",
                               meant ? meant : "", meant ? "' is missing, whose name is near" : ""),
                  err);
}

static assay_status compare_all(comparison *c, assay_error *err) {
  c->missing = assay_alloc_array(c->params->n, sizeof *c->missing);
  if (c->missing == NULL) return assay_fail_memory(err, c->params->n * sizeof *c->missing);
  for (size_t i = 0; i < c->params->n; i++) {
    assay_tensor nothing = {0};
    ASSAY_TRY(compare_one(c, &c->params->items[i], err));
    ASSAY_TRY(assay_tensor_map_add(&c->known, c->params->items[i].name, &nothing, err));
  }
  for (size_t i = 0; i < c->weights->n; i++)
    if (assay_tensor_map_find(&c->known, c->weights->items[i].name) == NULL)
      ASSAY_TRY(add_extra(c, &c->weights->items[i], err));
  return ASSAY_OK;
}

static void summarise(assay_mlpf_differences *out) {
  static const char *const WORDS[ASSAY_MLPF_N_DIFFERENCE_KINDS] = {
      "missing", "not of this model", "of another shape", "of another type", "not finite"};
  size_t used = 0;
  for (int k = 0; k < ASSAY_MLPF_N_DIFFERENCE_KINDS; k++) {
    if (out->by_kind[k] == 0) continue;
    used += (size_t)snprintf(out->summary + used, sizeof out->summary - used, "%s%zu%s %s",
                             used ? ", " : "", out->by_kind[k],
                             used                   ? ""
                             : out->by_kind[k] == 1 ? " tensor"
                                                    : " tensors",
                             WORDS[k]);
  }
}

#define PREFIX_BYTES 64

/* --- causes
 * ------------------------------------------------------------------------------------------ */

/* Names that only other models have (models.md A.4, C.2), and what they mean. */
static const struct {
  const char *prefix, *what;
} OTHER_MODELS[] = {
    {"tracker_backbone.", "a model for hits with backbones of their own for each detector"},
    {"calo_backbone.", "a model for hits with backbones of their own for each detector"},
    {"set_decoder.", "a model with the set decoder"},
    {"input_stem", "a model with encoders by modality"},
    {"modality_embedding", "a model with encoders by modality"},
    {"source_embedding", "a model with encoders by modality"},
    {"oc_", "a model with object condensation"},
    {"nn_pu.", "the model as it was before 2025"},
};

static const char *other_model(const assay_tensor_map *weights) {
  for (size_t i = 0; i < N_OF(OTHER_MODELS); i++)
    if (any_with(weights, OTHER_MODELS[i].prefix)) return OTHER_MODELS[i].what;
  return NULL;
}

static size_t count_with(const assay_tensor_map *weights, const char *prefix) {
  size_t n = 0;
  for (size_t i = 0; i < weights->n; i++)
    n += assay_text_has_prefix(weights->items[i].name, prefix);
  return n;
}

/* Facts on which weights and configuration do not agree, most telling ones first. */
static size_t list_facts(const comparison *c, char *out, size_t out_bytes) {
  assay_mlpf_facts have, asked;
  size_t used = 0, n = 0;
  assay_mlpf_facts_of_weights(c->weights, &have);
  assay_mlpf_facts_of_config(c->config, &asked);
  for (int i = 0; i < ASSAY_MLPF_N_FACTS && n < 5; i++) {
    char a[ASSAY_MLPF_FACT_TEXT_BYTES], b[ASSAY_MLPF_FACT_TEXT_BYTES];
    if (have.value[i] < 0 || asked.value[i] < 0 || have.value[i] == asked.value[i]) continue;
    const int k =
        snprintf(out + used, out_bytes - used, "%s%s is %s by the weights, %s by the configuration",
                 n ? "; " : "", assay_mlpf_fact_name((assay_mlpf_fact)i),
                 assay_mlpf_fact_text((assay_mlpf_fact)i, have.value[i], a),
                 assay_mlpf_fact_text((assay_mlpf_fact)i, asked.value[i], b));
    if (k < 0 || (size_t)k >= out_bytes - used) {
      out[used] = '\0';
      return n;
    }
    used += (size_t)k;
    n++;
    /* what follows from another architecture is not worth a word */
    if (i == ASSAY_MLPF_FACT_ARCH) break;
  }
  return n;
}

static bool has_all_behind(const comparison *c, const char *prefix) {
  for (size_t i = 0; i < c->params->n; i++) {
    char name[PREFIX_BYTES + sizeof c->params->items[i].name];
    snprintf(name, sizeof name, "%s%s", prefix, c->params->items[i].name);
    if (assay_tensor_map_find(c->weights, name) == NULL) return false;
  }
  return true;
}

/* What stands in front of all names of this model, where it was a part of something larger. */
static bool find_prefix(const comparison *c, char out[PREFIX_BYTES]) {
  const char *name = c->params->items[0].name;
  for (size_t i = 0; i < c->weights->n; i++) {
    const char *found = c->weights->items[i].name;
    if (!assay_text_has_suffix(found, name)) continue;
    const size_t n = strlen(found) - strlen(name);
    if (n == 0 || n >= PREFIX_BYTES || found[n - 1] != '.') continue;
    snprintf(out, PREFIX_BYTES, "%.*s", (int)n, found);
    if (has_all_behind(c, out)) return true;
  }
  return false;
}

static void guess(comparison *c) {
  const assay_mlpf_differences *d = c->out;
  char *out = c->out->cause;
  const size_t size = sizeof c->out->cause;
  const char *other = other_model(c->weights);
  char prefix[PREFIX_BYTES], safe[2 * PREFIX_BYTES];
  const size_t wrapped = count_with(c->weights, "module.") + count_with(c->weights, "_orig_mod.");
  if (other != NULL) {
    snprintf(out, size, "these are weights of %s, which assay does not export", other);
  } else if (wrapped > 0) {
    snprintf(
        out, size,
        "%zu of %zu names begin with 'module.' or '_orig_mod.', which wrappers put in front of "
        "all: the file mixes two models' names",
        wrapped, c->weights->n);
  } else if (c->n_half > 0 && d->by_kind[ASSAY_MLPF_TYPE] == d->n) {
    snprintf(out, size,
             "the weights were stored in 16 bits: take the checkpoint as trained, in float32");
  } else if (d->by_kind[ASSAY_MLPF_NOT_FINITE] > 0 && d->by_kind[ASSAY_MLPF_NOT_FINITE] == d->n) {
    snprintf(out, size, "the training diverged, or the file is damaged");
  } else if (list_facts(c, out, size) > 0) {
    return;
  } else if (find_prefix(c, prefix)) {
    assay_text_printable(prefix, safe, sizeof safe);
    snprintf(out, size,
             "all names of this model are there behind '%s': it was saved as a part of something "
             "larger; save that part's own state_dict()",
             safe);
  } else if (d->by_kind[ASSAY_MLPF_MISSING] == c->params->n) {
    snprintf(out, size, "no name is of this model: it is the state dict of something else");
  } else if (d->by_kind[ASSAY_MLPF_MISSING] > 0 &&
             d->by_kind[ASSAY_MLPF_MISSING] == d->by_kind[ASSAY_MLPF_EXTRA]) {
    snprintf(out, size, "as many names are missing as are unknown: they were renamed");
  }
}

assay_status assay_mlpf_compare(const assay_mlpf_config *config, const assay_tensor_map *weights,
                                assay_mlpf_differences *out, assay_error *err) {
  assay_mlpf_params params = {0};
  ASSAY_TRY(assay_mlpf_params_init(config, &params, err));
  comparison c = {.config = config, .weights = weights, .params = &params, .out = out};
  const assay_status st = compare_all(&c, err);
  if (st == ASSAY_OK && out->n > 0) {
    summarise(out);
    guess(&c);
  }
  assay_tensor_map_reset(&c.known);
  assay_free(c.missing);
  assay_mlpf_params_reset(&params);
  return st;
}

void assay_mlpf_differences_reset(assay_mlpf_differences *differences) {
  for (size_t i = 0; i < differences->n; i++) assay_free(differences->items[i]);
  assay_free(differences->items);
  *differences = (assay_mlpf_differences){0};
}
