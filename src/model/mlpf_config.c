/* The MLPF configuration: read from the JSON tree that its users have, presets, consistency, names.
 *
 * Source: models.md section A; field names and defaults are those of mlpf/conf.py in
 * jpata/particleflow (main 7e8a7104 and the branches named in models.md section 0, whose additional
 * fields are known here too). */
#include "model/mlpf_config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* Ceiling of every width, count and size below: far above any model of this kind, and such that
 * products of two stay well inside int64. */
#define DIM_MAX    65536
#define LAYERS_MAX 1024

/* --- names
 * ----------------------------------------------------------------------------------------- */

static const char *const ARCH_NAMES[] = {"attention", "heptv2"};
static const char *const ENCODING_NAMES[] = {"split", "joint"};
static const char *const REPRESENTATION_NAMES[] = {"last", "concat"};
static const char *const BACKBONE_NAMES[] = {"shared", "split"};
static const char *const REGRESSION_NAMES[] = {
    "direct", "additive",       "multiplicative", "direct-elemtype", "direct-elemtype-split",
    "linear", "linear-elemtype"};
static const char *const ACTIVATION_NAMES[] = {"elu", "relu", "relu6", "leakyrelu", "gelu"};
static const char *const KEY_MASK_NAMES[] = {"all", "upstream"};
static const char *const PHI_NAMES[] = {"strict", "native"};
static const char *const TARGET_NAMES[] = {"pt", "eta", "sin_phi", "cos_phi", "energy"};
static const char *const MODE_KEYS[] = {"pt_mode", "eta_mode", "sin_phi_mode", "cos_phi_mode",
                                        "energy_mode"}; /* by assay_mlpf_target */

const char *assay_mlpf_arch_name(assay_mlpf_arch arch) {
  return ARCH_NAMES[arch];
}
const char *assay_mlpf_regression_name(assay_mlpf_regression mode) {
  return REGRESSION_NAMES[mode];
}
const char *assay_mlpf_activation_name(assay_mlpf_activation activation) {
  return ACTIVATION_NAMES[activation];
}
const char *assay_mlpf_key_mask_name(assay_mlpf_key_mask key_mask) {
  return KEY_MASK_NAMES[key_mask];
}
const char *assay_mlpf_phi_name(assay_mlpf_phi phi) {
  return PHI_NAMES[phi];
}
const char *assay_mlpf_target_name(assay_mlpf_target target) {
  return TARGET_NAMES[target];
}

/* Index of word in names, or -1. */
static int index_of(const char *word, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(word, names[i]) == 0) return (int)i;
  return -1;
}

/* "a, b, c" */
static void list_names(const char *const *names, size_t n, char *out, size_t out_bytes) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < n && used < out_bytes; i++) {
    int k = snprintf(out + used, out_bytes - used, "%s%s", i ? ", " : "", names[i]);
    if (k > 0) used += (size_t)k;
  }
}

/* --- what a dataset fixes (A.1)
 * ---------------------------------------------------------------------- */

typedef struct dataset_numbers {
  const char *name;
  int64_t input_dim, num_classes, n_elemtypes;
  int64_t elemtypes[8];
} dataset_numbers;

static const dataset_numbers DATASETS[] = {
    {"cms", 55, 9, 8, {1, 4, 5, 6, 8, 9, 10, 11}},
    {"cld", 17, 6, 2, {1, 2}},
    {"clic", 17, 6, 2, {1, 2}},
};

static const dataset_numbers *find_dataset(const char *name) {
  for (size_t i = 0; i < N_OF(DATASETS); i++)
    if (strcmp(DATASETS[i].name, name) == 0) return &DATASETS[i];
  return NULL;
}

static void take_dataset(const dataset_numbers *numbers, assay_mlpf_config *config) {
  snprintf(config->dataset, sizeof config->dataset, "%s", numbers->name);
  config->input_dim = numbers->input_dim;
  config->num_classes = numbers->num_classes;
  config->n_elemtypes = numbers->n_elemtypes;
  memcpy(config->elemtypes, numbers->elemtypes, sizeof numbers->elemtypes);
}

/* --- defaults
 * ---------------------------------------------------------------------------------------- */

/* Defaults of A.1 for everything that a dataset does not fix. */
static void take_defaults(assay_mlpf_arch arch, assay_mlpf_config *config) {
  const bool heptv2 = arch == ASSAY_MLPF_HEPTV2;
  *config = (assay_mlpf_config){
      .arch = arch,
      .input_encoding = ASSAY_MLPF_SPLIT,
      .representation = ASSAY_MLPF_LAST,
      .regression = {ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT, ASSAY_MLPF_LINEAR, ASSAY_MLPF_LINEAR,
                     ASSAY_MLPF_LINEAR, ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT},
      .task_queries = true,
      .backbone_mode = ASSAY_MLPF_BACKBONE_SHARED,
      .num_convs = heptv2 ? 6 : 3,
      .activation = ASSAY_MLPF_ELU,
      .num_heads = heptv2 ? 8 : 16,
      .head_dim = 16,
      .embedding_dim = heptv2 ? 128 : 256,
      .width = heptv2 ? 512 : 256,
      .use_pre_layernorm = !heptv2,
      .learned_positions = heptv2,
      .block_size = heptv2 ? 100 : 0,
      .n_hashes = heptv2 ? 3 : 0,
      .num_regions = heptv2 ? 140 : 0,
      .num_w_per_dist = heptv2 ? 10 : 0,
      .mlp_ratio = heptv2 ? 4.0 : 0.0,
      .key_mask = heptv2 ? ASSAY_MLPF_KEY_MASK_UPSTREAM : ASSAY_MLPF_KEY_MASK_ALL,
      .phi = ASSAY_MLPF_PHI_STRICT,
  };
}

assay_status assay_mlpf_config_init_preset(const char *arch, const char *preset,
                                           assay_mlpf_config *out, assay_error *err) {
  const int which = index_of(arch, ARCH_NAMES, N_OF(ARCH_NAMES));
  if (which < 0)
    return assay_fail(err, ASSAY_E_ARGUMENT, "model '%s' is unknown; expected attention or heptv2",
                      arch);
  const dataset_numbers *numbers = find_dataset(preset);
  if (numbers == NULL)
    return assay_fail(err, ASSAY_E_ARGUMENT, "preset '%s' is unknown; expected cld, cms or clic",
                      preset);
  assay_mlpf_config config;
  take_defaults((assay_mlpf_arch)which, &config);
  take_dataset(numbers, &config);
  config.num_convs = 3;
  config.num_heads = 8;
  ASSAY_TRY(assay_mlpf_config_check(&config, err));
  *out = config;
  return ASSAY_OK;
}

/* --- consistency
 * ------------------------------------------------------------------------------------- */

static assay_status check_range(const char *what, int64_t value, int64_t low, int64_t high,
                                assay_error *err) {
  if (value >= low && value <= high) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_ARGUMENT, "%s is %lld; expected %lld to %lld", what,
                    (long long)value, (long long)low, (long long)high);
}

static assay_status check_elemtypes(const assay_mlpf_config *config, assay_error *err) {
  ASSAY_TRY(check_range("the number of element types", config->n_elemtypes, 1,
                        ASSAY_MLPF_ELEMTYPES_MAX, err));
  for (int64_t i = 0; i < config->n_elemtypes; i++) {
    const int64_t type = config->elemtypes[i];
    if (type == 0)
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "elemtypes_nonzero holds 0, which marks padded elements");
    /* compared with column 0 in FP32: beyond 2^24 two types would be one */
    ASSAY_TRY(check_range("an element type", type, -(INT64_C(1) << 24), INT64_C(1) << 24, err));
    for (int64_t j = 0; j < i; j++)
      if (config->elemtypes[j] == type)
        return assay_fail(err, ASSAY_E_ARGUMENT, "elemtypes_nonzero holds %lld twice",
                          (long long)type);
  }
  return ASSAY_OK;
}

static assay_status check_heptv2(assay_mlpf_config *config, assay_error *err) {
  ASSAY_TRY(check_range("embedding_dim", config->embedding_dim, 1, DIM_MAX, err));
  ASSAY_TRY(check_range("width", config->width, 1, DIM_MAX, err));
  if (config->embedding_dim % config->num_heads != 0)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "embedding_dim %lld is not divisible by num_heads %lld",
                      (long long)config->embedding_dim, (long long)config->num_heads);
  config->head_dim = config->embedding_dim / config->num_heads;
  ASSAY_TRY(check_range("block_size", config->block_size, 1, DIM_MAX, err));
  ASSAY_TRY(check_range("n_hashes", config->n_hashes, 1, 256, err));
  /* C.3 draws region counts between 2 and 2*sqrt(num_regions)-2: below 4 these cross */
  ASSAY_TRY(check_range("num_regions", config->num_regions, 4, 1000000, err));
  ASSAY_TRY(check_range("num_w_per_dist", config->num_w_per_dist, 1, DIM_MAX, err));
  const double hidden = (double)config->embedding_dim * config->mlp_ratio;
  if (!(config->mlp_ratio > 0.0) || !(hidden <= DIM_MAX))
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "mlp_ratio is %g; expected more than 0 and a hidden width of at most %d",
                      config->mlp_ratio, DIM_MAX);
  config->ff_hidden = hidden < 1.0 ? 1 : (int64_t)hidden;
  return ASSAY_OK;
}

static assay_status check_attention(assay_mlpf_config *config, assay_error *err) {
  ASSAY_TRY(check_range("head_dim", config->head_dim, 1, DIM_MAX, err));
  config->embedding_dim = config->num_heads * config->head_dim;
  ASSAY_TRY(check_range("num_heads * head_dim", config->embedding_dim, 1, DIM_MAX, err));
  config->width = config->embedding_dim;
  if (config->jagged_attention && config->key_mask == ASSAY_MLPF_KEY_MASK_UPSTREAM)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "key mask 'upstream' contradicts use_jagged_attention, which excludes padded "
                      "keys; use 'all'");
  return ASSAY_OK;
}

assay_status assay_mlpf_config_check(assay_mlpf_config *config, assay_error *err) {
  assay_mlpf_config c = *config;
  ASSAY_TRY(check_range("input_dim", c.input_dim, 6, DIM_MAX, err));
  ASSAY_TRY(check_range("num_classes", c.num_classes, 1, DIM_MAX, err));
  ASSAY_TRY(check_elemtypes(&c, err));
  ASSAY_TRY(check_range("num_convs", c.num_convs, 0, LAYERS_MAX, err));
  ASSAY_TRY(check_range("num_heads", c.num_heads, 1, DIM_MAX, err));
  ASSAY_TRY(check_range("pad_to_multiple_elements", c.pad_to_multiple, 0, INT32_MAX, err));
  if (c.arch == ASSAY_MLPF_HEPTV2)
    ASSAY_TRY(check_heptv2(&c, err));
  else
    ASSAY_TRY(check_attention(&c, err));
  /* a split backbone has no readouts (A.1) */
  if (c.backbone_mode == ASSAY_MLPF_BACKBONE_SPLIT) c.task_queries = false;
  *config = c;
  return ASSAY_OK;
}

int64_t assay_mlpf_config_repr_dim(const assay_mlpf_config *config) {
  if (config->representation == ASSAY_MLPF_LAST) return config->embedding_dim;
  return (config->num_convs > 1 ? config->num_convs : 1) * config->embedding_dim;
}

int64_t assay_mlpf_config_readout_heads(const assay_mlpf_config *config) {
  const int64_t dim = assay_mlpf_config_repr_dim(config);
  if (dim % config->num_heads == 0) return config->num_heads;
  for (int64_t heads = 8; heads > 1; heads /= 2)
    if (dim % heads == 0) return heads;
  return 1;
}

int64_t assay_mlpf_config_attention_ops(const assay_mlpf_config *config) {
  const int64_t stacks = config->backbone_mode == ASSAY_MLPF_BACKBONE_SPLIT ? 2 : 1;
  const int64_t layers = config->arch == ASSAY_MLPF_ATTENTION ? stacks * config->num_convs : 0;
  return layers + (config->task_queries ? 2 : 0);
}

/* --- reading
 * ----------------------------------------------------------------------------------------- */

/* Readers of members that may be absent, in which case *out keeps its value. */

static assay_status get_int(const assay_json *object, const char *key, int64_t low, int64_t high,
                            int64_t *out, assay_error *err) {
  if (assay_json_get(object, key) == NULL) return ASSAY_OK;
  return assay_json_need_int(object, key, low, high, out, err);
}

static assay_status get_bool(const assay_json *object, const char *key, bool *out,
                             assay_error *err) {
  if (assay_json_get(object, key) == NULL) return ASSAY_OK;
  return assay_json_need_bool(object, key, out, err);
}

static assay_status get_name(const assay_json *object, const char *key, const char *const *names,
                             size_t n, int *out, assay_error *err) {
  if (assay_json_get(object, key) == NULL) return ASSAY_OK;
  const char *word = NULL;
  ASSAY_TRY(assay_json_need_string(object, key, &word, err));
  const int i = index_of(word, names, n);
  if (i < 0) {
    char known[256];
    list_names(names, n, known, sizeof known);
    return assay_fail(err, ASSAY_E_FORMAT, "'%s' is '%s'; expected one of %s", key, word, known);
  }
  *out = i;
  return ASSAY_OK;
}

/* A probability in [0, 1]: dropout is the identity when a model is evaluated, so its value is only
 * looked at. */
static assay_status check_dropout(const assay_json *object, const char *key, double *out,
                                  assay_error *err) {
  double value = 0.0;
  if (assay_json_get(object, key) != NULL) {
    ASSAY_TRY(assay_json_need_real(object, key, &value, err));
    if (!(value >= 0.0 && value <= 1.0))
      return assay_fail(err, ASSAY_E_FORMAT, "'%s' is %g; expected 0 to 1", key, value);
  }
  if (out != NULL) *out = value;
  return ASSAY_OK;
}

static bool is_absent_or_null(const assay_json *object, const char *key) {
  const assay_json *value = assay_json_get(object, key);
  return value == NULL || assay_json_kind_of(value) == ASSAY_JSON_NULL;
}

static const char *const ATTENTION_KEYS[] = {"num_convs",
                                             "dropout_ff",
                                             "activation",
                                             "layernorm",
                                             "num_heads",
                                             "head_dim",
                                             "attention_type",
                                             "dropout_conv_reg_mha",
                                             "dropout_conv_reg_ff",
                                             "dropout_conv_id_mha",
                                             "dropout_conv_id_ff",
                                             "use_pre_layernorm",
                                             "use_jagged_attention",
                                             "use_flash_attn_varlen",
                                             "export_onnx_fused",
                                             "save_attention"};

/* The members of ATTENTION_KEYS, whatever else stands beside them. */
static assay_status read_attention_fields(const assay_json *sub, assay_mlpf_config *config,
                                          assay_error *err) {
  static const char *const DROPOUTS[] = {"dropout_ff", "dropout_conv_reg_mha",
                                         "dropout_conv_reg_ff", "dropout_conv_id_ff"};
  ASSAY_TRY(get_int(sub, "num_convs", 0, LAYERS_MAX, &config->num_convs, err));
  ASSAY_TRY(get_int(sub, "num_heads", 1, DIM_MAX, &config->num_heads, err));
  ASSAY_TRY(get_int(sub, "head_dim", 1, DIM_MAX, &config->head_dim, err));
  int activation = (int)config->activation;
  ASSAY_TRY(
      get_name(sub, "activation", ACTIVATION_NAMES, N_OF(ACTIVATION_NAMES), &activation, err));
  config->activation = (assay_mlpf_activation)activation;
  ASSAY_TRY(get_bool(sub, "use_pre_layernorm", &config->use_pre_layernorm, err));
  ASSAY_TRY(get_bool(sub, "use_jagged_attention", &config->jagged_attention, err));
  for (size_t i = 0; i < N_OF(DROPOUTS); i++) ASSAY_TRY(check_dropout(sub, DROPOUTS[i], NULL, err));
  double dropout = 0.0;
  ASSAY_TRY(check_dropout(sub, "dropout_conv_id_mha", &dropout, err));
  if (dropout != 0.0)
    return assay_fail(
        err, ASSAY_E_UNSUPPORTED,
        "'dropout_conv_id_mha' is %g: the model applies this one when it is evaluated "
        "too, so its outputs are random; only 0 can be exported",
        dropout);
  return ASSAY_OK;
}

/* model.attention */
static assay_status read_attention(const assay_json *sub, assay_mlpf_config *config,
                                   assay_error *err) {
  ASSAY_TRY(assay_json_only_keys(sub, ATTENTION_KEYS, N_OF(ATTENTION_KEYS), err));
  return read_attention_fields(sub, config, err);
}

/* model.heptv2 */
static assay_status read_heptv2(const assay_json *sub, assay_mlpf_config *config,
                                assay_error *err) {
  static const char *const KEYS[] = {"embedding_dim",
                                     "width",
                                     "num_convs",
                                     "num_heads",
                                     "dropout_ff",
                                     "activation",
                                     "pe_type",
                                     "block_size",
                                     "n_hashes",
                                     "num_regions",
                                     "num_w_per_dist",
                                     "mlp_ratio",
                                     "pad_to_multiple_elements"};
  ASSAY_TRY(assay_json_only_keys(sub, KEYS, N_OF(KEYS), err));
  ASSAY_TRY(get_int(sub, "embedding_dim", 1, DIM_MAX, &config->embedding_dim, err));
  ASSAY_TRY(get_int(sub, "width", 1, DIM_MAX, &config->width, err));
  ASSAY_TRY(get_int(sub, "num_convs", 0, LAYERS_MAX, &config->num_convs, err));
  ASSAY_TRY(get_int(sub, "num_heads", 1, DIM_MAX, &config->num_heads, err));
  ASSAY_TRY(check_dropout(sub, "dropout_ff", NULL, err));
  int activation = (int)config->activation;
  ASSAY_TRY(
      get_name(sub, "activation", ACTIVATION_NAMES, N_OF(ACTIVATION_NAMES), &activation, err));
  config->activation = (assay_mlpf_activation)activation;
  if (assay_json_get(sub, "pe_type") != NULL) {
    const char *pe_type = NULL;
    ASSAY_TRY(assay_json_need_string(sub, "pe_type", &pe_type, err));
    config->learned_positions = strcmp(pe_type, "learned") == 0;
  }
  ASSAY_TRY(get_int(sub, "block_size", 1, DIM_MAX, &config->block_size, err));
  ASSAY_TRY(get_int(sub, "n_hashes", 1, 256, &config->n_hashes, err));
  ASSAY_TRY(get_int(sub, "num_regions", 4, 1000000, &config->num_regions, err));
  ASSAY_TRY(get_int(sub, "num_w_per_dist", 1, DIM_MAX, &config->num_w_per_dist, err));
  if (assay_json_get(sub, "mlp_ratio") != NULL)
    ASSAY_TRY(assay_json_need_real(sub, "mlp_ratio", &config->mlp_ratio, err));
  if (!is_absent_or_null(sub, "pad_to_multiple_elements"))
    ASSAY_TRY(assay_json_need_int(sub, "pad_to_multiple_elements", 1, INT32_MAX,
                                  &config->pad_to_multiple, err));
  return ASSAY_OK;
}

/* model.backbone; runs after the sub-configuration, whose num_convs is the default of its own. */
static assay_status read_backbone(const assay_json *model, assay_mlpf_config *config,
                                  assay_error *err) {
  static const char *const KEYS[] = {"mode", "num_convs", "num_tracker_layers", "num_calo_layers",
                                     "num_common_layers"};
  static const char *const DETECTOR_LAYERS[] = {"num_tracker_layers", "num_calo_layers",
                                                "num_common_layers"};
  if (is_absent_or_null(model, "backbone")) return ASSAY_OK;
  const assay_json *backbone = NULL;
  ASSAY_TRY(assay_json_need_object(model, "backbone", &backbone, err));
  ASSAY_TRY(assay_json_only_keys(backbone, KEYS, N_OF(KEYS), err));
  int mode = (int)config->backbone_mode;
  ASSAY_TRY(get_name(backbone, "mode", BACKBONE_NAMES, N_OF(BACKBONE_NAMES), &mode, err));
  config->backbone_mode = (assay_mlpf_backbone)mode;
  if (!is_absent_or_null(backbone, "num_convs"))
    ASSAY_TRY(assay_json_need_int(backbone, "num_convs", 0, LAYERS_MAX, &config->num_convs, err));
  for (size_t i = 0; i < N_OF(DETECTOR_LAYERS); i++)
    if (!is_absent_or_null(backbone, DETECTOR_LAYERS[i]))
      return assay_fail(err, ASSAY_E_UNSUPPORTED,
                        "'%s' is set: backbones of their own for tracker and calorimeter hits are "
                        "not something assay exports",
                        DETECTOR_LAYERS[i]);
  return ASSAY_OK;
}

/* Fields of "model" that would make it another model. */
static assay_status refuse_other_models(const assay_json *model, assay_error *err) {
  if (!is_absent_or_null(model, "output_mode")) {
    const char *mode = NULL;
    ASSAY_TRY(assay_json_need_string(model, "output_mode", &mode, err));
    if (strcmp(mode, "set") == 0)
      return assay_fail(
          err, ASSAY_E_UNSUPPORTED,
          "'output_mode' is 'set': the set decoder replaces the element-wise heads and "
          "is not something assay exports");
    if (strcmp(mode, "elementwise") != 0)
      return assay_fail(err, ASSAY_E_FORMAT, "'output_mode' is '%s'; expected 'elementwise'", mode);
  }
  if (!is_absent_or_null(model, "input_stem")) {
    const assay_json *stem = NULL;
    const char *mode = "standard";
    ASSAY_TRY(assay_json_need_object(model, "input_stem", &stem, err));
    if (assay_json_get(stem, "mode") != NULL)
      ASSAY_TRY(assay_json_need_string(stem, "mode", &mode, err));
    if (strcmp(mode, "standard") != 0)
      return assay_fail(err, ASSAY_E_UNSUPPORTED,
                        "'input_stem.mode' is '%s': encoders by modality are not something assay "
                        "exports; only 'standard' is",
                        mode);
  }
  return ASSAY_OK;
}

static assay_status read_model_fields(const assay_json *model, assay_mlpf_config *config,
                                      assay_error *err) {
  int encoding = (int)config->input_encoding, representation = (int)config->representation;
  ASSAY_TRY(
      get_name(model, "input_encoding", ENCODING_NAMES, N_OF(ENCODING_NAMES), &encoding, err));
  ASSAY_TRY(get_name(model, "learned_representation_mode", REPRESENTATION_NAMES,
                     N_OF(REPRESENTATION_NAMES), &representation, err));
  config->input_encoding = (assay_mlpf_encoding)encoding;
  config->representation = (assay_mlpf_representation)representation;
  for (int t = 0; t < ASSAY_MLPF_N_TARGETS; t++) {
    int mode = (int)config->regression[t];
    ASSAY_TRY(get_name(model, MODE_KEYS[t], REGRESSION_NAMES, N_OF(REGRESSION_NAMES), &mode, err));
    config->regression[t] = (assay_mlpf_regression)mode;
  }
  return get_bool(model, "task_queries", &config->task_queries, err);
}

static assay_status read_model(const assay_json *model, assay_mlpf_config *config,
                               assay_error *err) {
  static const char *const KEYS[] = {
      "type", "input_encoding", "learned_representation_mode", "pt_mode", "eta_mode",
      "sin_phi_mode", "cos_phi_mode", "energy_mode", "trainable", "task_queries", "backbone",
      "hit_feature_engineering", "loss_mode", "input_stem", "output_mode", "set_decoder",
      /* sub-configurations: only that of the model's type counts, the others may be filled in */
      "gnnlsh", "attention", "litept", "hept", "heptv2"};
  ASSAY_TRY(assay_json_only_keys(model, KEYS, N_OF(KEYS), err));
  ASSAY_TRY(refuse_other_models(model, err));
  ASSAY_TRY(read_model_fields(model, config, err));

  const char *type = ARCH_NAMES[config->arch];
  if (is_absent_or_null(model, type))
    return assay_fail(err, ASSAY_E_FORMAT,
                      "the type is '%s' but '%s' is absent; {} would take its defaults", type,
                      type);
  const assay_json *sub = NULL;
  ASSAY_TRY(assay_json_need_object(model, type, &sub, err));
  const assay_status st = config->arch == ASSAY_MLPF_HEPTV2 ? read_heptv2(sub, config, err)
                                                            : read_attention(sub, config, err);
  if (st) {
    assay_error_in(err, "%s", type);
    return st;
  }
  return read_backbone(model, config, err);
}

/* Finds the architecture from model.type, conv_type and what the caller asked for: all that are
 * there must agree. */
static assay_status read_arch(const assay_json *tree, const assay_json *model, const char *arch,
                              assay_mlpf_arch *out, assay_error *err) {
  static const char *const OTHERS[] = {"gnnlsh", "litept", "hept"};
  const char *type = NULL, *conv_type = NULL;
  if (!is_absent_or_null(model, "type"))
    ASSAY_TRY(assay_json_need_string(model, "type", &type, err));
  if (!is_absent_or_null(tree, "conv_type"))
    ASSAY_TRY(assay_json_need_string(tree, "conv_type", &conv_type, err));
  if (type != NULL && conv_type != NULL && strcmp(type, conv_type) != 0)
    return assay_fail(err, ASSAY_E_FORMAT, "'conv_type' is '%s' but 'model.type' is '%s'",
                      conv_type, type);
  if (type == NULL) type = conv_type;
  if (type == NULL) type = arch;
  if (type == NULL)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "'model.type' is absent; expected 'attention' or 'heptv2'");
  if (index_of(type, OTHERS, N_OF(OTHERS)) >= 0)
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "'model.type' is '%s', an architecture that assay does not export; it does "
                      "'attention' and 'heptv2'",
                      type);
  const int which = index_of(type, ARCH_NAMES, N_OF(ARCH_NAMES));
  if (which < 0)
    return assay_fail(err, ASSAY_E_FORMAT, "'model.type' is '%s'; expected 'attention' or 'heptv2'",
                      type);
  if (arch != NULL && strcmp(type, arch) != 0)
    return assay_fail(err, ASSAY_E_FORMAT, "'model.type' is '%s', but model '%s' was asked for",
                      type, arch);
  *out = (assay_mlpf_arch)which;
  return ASSAY_OK;
}

static assay_status read_elemtypes(const assay_json *tree, assay_mlpf_config *config,
                                   assay_error *err) {
  const assay_json *array = NULL;
  ASSAY_TRY(assay_json_need_array(tree, "elemtypes_nonzero", &array, err));
  const size_t n = assay_json_len(array);
  if (n < 1 || n > ASSAY_MLPF_ELEMTYPES_MAX)
    return assay_fail(err, ASSAY_E_FORMAT, "'elemtypes_nonzero' has %zu entries; expected 1 to %d",
                      n, ASSAY_MLPF_ELEMTYPES_MAX);
  for (size_t i = 0; i < n; i++) {
    const assay_json *value = assay_json_at(array, i);
    if (assay_json_kind_of(value) != ASSAY_JSON_INT)
      return assay_fail(err, ASSAY_E_FORMAT, "'elemtypes_nonzero[%zu]' is %s; expected an integer",
                        i, assay_json_kind_name(assay_json_kind_of(value)));
    config->elemtypes[i] = assay_json_int(value);
  }
  config->n_elemtypes = (int64_t)n;
  return ASSAY_OK;
}

static assay_status check_against_dataset(const assay_mlpf_config *config,
                                          const dataset_numbers *numbers, assay_error *err) {
  const char *what = NULL;
  if (config->input_dim != numbers->input_dim)
    what = "input_dim";
  else if (config->num_classes != numbers->num_classes)
    what = "num_classes";
  else if (config->n_elemtypes != numbers->n_elemtypes ||
           memcmp(config->elemtypes, numbers->elemtypes,
                  (size_t)numbers->n_elemtypes * sizeof numbers->elemtypes[0]) != 0)
    what = "elemtypes_nonzero";
  if (what == NULL) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT,
                    "'%s' contradicts dataset '%s' (%lld features, %lld classes, %lld element "
                    "types); correct one of them, or leave 'dataset' out and give 'input_dim', "
                    "'num_classes' and 'elemtypes_nonzero'",
                    what, numbers->name, (long long)numbers->input_dim,
                    (long long)numbers->num_classes, (long long)numbers->n_elemtypes);
}

static assay_status read_dataset(const assay_json *tree, assay_mlpf_config *config,
                                 assay_error *err) {
  const dataset_numbers *numbers = NULL;
  if (!is_absent_or_null(tree, "dataset")) {
    const char *name = NULL;
    ASSAY_TRY(assay_json_need_string(tree, "dataset", &name, err));
    if (strstr(name, "_hits") != NULL)
      return assay_fail(err, ASSAY_E_UNSUPPORTED,
                        "dataset '%s' is hit-level: its models append engineered features to the "
                        "input, which assay does not export",
                        name);
    if (name[0] == '\0' || strlen(name) >= sizeof config->dataset)
      return assay_fail(err, ASSAY_E_FORMAT, "'dataset' is '%s'; expected 1 to %zu characters",
                        name, sizeof config->dataset - 1);
    snprintf(config->dataset, sizeof config->dataset, "%s", name);
    numbers = find_dataset(name);
    if (numbers != NULL) take_dataset(numbers, config);
  }
  static const char *const NEEDED[] = {"input_dim", "num_classes", "elemtypes_nonzero"};
  for (size_t i = 0; numbers == NULL && i < N_OF(NEEDED); i++)
    if (is_absent_or_null(tree, NEEDED[i]))
      return assay_fail(err, ASSAY_E_FORMAT,
                        "'%s' is absent, and %s%s%s; known datasets are cms, cld and clic",
                        NEEDED[i], config->dataset[0] ? "dataset '" : "no dataset gives it",
                        config->dataset, config->dataset[0] ? "' does not give it" : "");
  if (!is_absent_or_null(tree, "input_dim"))
    ASSAY_TRY(assay_json_need_int(tree, "input_dim", 6, DIM_MAX, &config->input_dim, err));
  if (!is_absent_or_null(tree, "num_classes"))
    ASSAY_TRY(assay_json_need_int(tree, "num_classes", 1, DIM_MAX, &config->num_classes, err));
  if (!is_absent_or_null(tree, "elemtypes_nonzero")) ASSAY_TRY(read_elemtypes(tree, config, err));
  return numbers == NULL ? ASSAY_OK : check_against_dataset(config, numbers, err);
}

/* "key_mask" and "phi": ours, beside "model". */
static assay_status read_choices(const assay_json *tree, assay_mlpf_config *config,
                                 assay_error *err) {
  int key_mask = (int)config->key_mask, phi = (int)config->phi;
  ASSAY_TRY(get_name(tree, "key_mask", KEY_MASK_NAMES, N_OF(KEY_MASK_NAMES), &key_mask, err));
  ASSAY_TRY(get_name(tree, "phi", PHI_NAMES, N_OF(PHI_NAMES), &phi, err));
  config->key_mask = (assay_mlpf_key_mask)key_mask;
  config->phi = (assay_mlpf_phi)phi;
  return ASSAY_OK;
}

/* Everything that a resolved configuration may hold at its top: what is not read below concerns
 * training. */
static const char *const TOP_KEYS[] = {
    "dataset", "data_dir", "model", "conv_type", "batch_size", "hyperparameters", "backend",
    "threads", "gpu_type", "mem_per_gpu_mb", "slurm_partition", "slurm_runtime", "input_dim",
    "num_classes", "elemtypes_nonzero", "num_steps", "patience", "checkpoint_freq", "val_freq",
    "num_workers", "prefetch_factor", "max_open_readers", "gpu_batch_multiplier", "dtype", "lr",
    "weight_decay", "optimizer", "lr_schedule", "lr_schedule_config", "task_loss_weights",
    "regression_loss_weights", "pad_to_multiple_elements", "validation_diagnostics_batches",
    "train", "test", "compile", "make_plots", "sort_data", "sampler_mode", "load", "relaxed_load",
    "sampler_from_scratch", "comet", "comet_offline", "comet_name", "comet_step_freq",
    "tensorboard_step_freq", "raytune", "train_dataset", "valid_dataset", "test_dataset",
    "enabled_test_datasets", "ntrain", "nvalid", "ntest", "data_config", "gpus",
    /* written beside them into hyperparameters.json */
    "num_mlpf_params",
    /* ours */
    "key_mask", "phi"};

/* --- the form before March 2026
 * ---------------------------------------------------------------------- */

/* Members of the flat dict that model_kwargs.pkl was before it became a tree: the arguments of the
 * model's constructor (torch_checkpoint.md 10 (a)), and the fields of the attention model. */
static const char *const FLAT_KEYS[] = {"conv_type",
                                        "input_dim",
                                        "num_classes",
                                        "elemtypes_nonzero",
                                        "pt_mode",
                                        "eta_mode",
                                        "sin_phi_mode",
                                        "cos_phi_mode",
                                        "energy_mode",
                                        "input_encoding",
                                        "learned_representation_mode"};

static bool is_flat(const assay_json *tree) {
  return assay_json_get(tree, "model") == NULL && assay_json_get(tree, "conv_type") != NULL &&
         assay_json_get(tree, "input_encoding") != NULL;
}

/* Defaults changed since: what they were then is not known, so what decides must be there. */
static assay_status need_flat_keys(const assay_json *tree, assay_error *err) {
  static const char *const NEEDED[] = {"num_convs", "num_heads", "head_dim", "activation"};
  for (size_t i = 0; i < N_OF(FLAT_KEYS) + N_OF(NEEDED); i++) {
    const char *key = i < N_OF(FLAT_KEYS) ? FLAT_KEYS[i] : NEEDED[i - N_OF(FLAT_KEYS)];
    if (assay_json_get(tree, key) == NULL)
      return assay_fail(err, ASSAY_E_FORMAT,
                        "'%s' is absent: a configuration of the form before March 2026 (without "
                        "'model') must hold it",
                        key);
  }
  return ASSAY_OK;
}

/* Its models had two backbones and no task queries (models.md C.2); HEPTv2 came later. */
static assay_status read_flat(const assay_json *tree, const char *arch, assay_mlpf_config *config,
                              assay_error *err) {
  const char *known[N_OF(FLAT_KEYS) + N_OF(ATTENTION_KEYS)];
  assay_mlpf_arch which = ASSAY_MLPF_ATTENTION;
  ASSAY_TRY(read_arch(tree, tree, arch, &which, err));
  if (which != ASSAY_MLPF_ATTENTION)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "'conv_type' is '%s', which no configuration of the form before March 2026 "
                      "(without 'model') had",
                      ARCH_NAMES[which]);
  memcpy(known, FLAT_KEYS, sizeof FLAT_KEYS);
  memcpy(known + N_OF(FLAT_KEYS), ATTENTION_KEYS, sizeof ATTENTION_KEYS);
  ASSAY_TRY(assay_json_only_keys(tree, known, N_OF(known), err));
  ASSAY_TRY(need_flat_keys(tree, err));
  take_defaults(which, config);
  config->backbone_mode = ASSAY_MLPF_BACKBONE_SPLIT;
  config->task_queries = false;
  ASSAY_TRY(read_dataset(tree, config, err));
  ASSAY_TRY(read_model_fields(tree, config, err));
  return read_attention_fields(tree, config, err);
}

/* --- the whole
 * --------------------------------------------------------------------------------------- */

static assay_status read_tree(const assay_json *tree, const char *arch, assay_mlpf_config *config,
                              assay_error *err) {
  if (assay_json_kind_of(tree) != ASSAY_JSON_OBJECT)
    return assay_fail(err, ASSAY_E_FORMAT, "expected an object, found %s",
                      assay_json_kind_name(assay_json_kind_of(tree)));
  if (is_flat(tree)) return read_flat(tree, arch, config, err);
  ASSAY_TRY(assay_json_only_keys(tree, TOP_KEYS, N_OF(TOP_KEYS), err));
  const assay_json *model = NULL;
  ASSAY_TRY(assay_json_need_object(tree, "model", &model, err));
  assay_mlpf_arch which = ASSAY_MLPF_ATTENTION;
  ASSAY_TRY(read_arch(tree, model, arch, &which, err));
  take_defaults(which, config);
  ASSAY_TRY(read_dataset(tree, config, err));
  const assay_status st = read_model(model, config, err);
  if (st) {
    assay_error_in(err, "model");
    return st;
  }
  if (!is_absent_or_null(tree, "pad_to_multiple_elements"))
    ASSAY_TRY(assay_json_need_int(tree, "pad_to_multiple_elements", 1, INT32_MAX,
                                  &config->pad_to_multiple, err));
  if (!is_absent_or_null(tree, "sort_data"))
    ASSAY_TRY(get_bool(tree, "sort_data", &config->sort_data, err));
  return read_choices(tree, config, err);
}

assay_status assay_mlpf_config_parse(const assay_json *tree, const char *arch,
                                     assay_mlpf_config *out, assay_error *err) {
  assay_mlpf_config config;
  ASSAY_TRY(read_tree(tree, arch, &config, err));
  assay_status st = assay_mlpf_config_check(&config, err);
  if (st == ASSAY_E_ARGUMENT) { /* what a caller's option would be is here what the file says */
    st = ASSAY_E_FORMAT;
    if (err != NULL) err->status = st;
  }
  if (st) return st;
  *out = config;
  return ASSAY_OK;
}

/* --- writing
 * ----------------------------------------------------------------------------------------- */

static void put_attention(const assay_mlpf_config *config, assay_json_builder *b) {
  assay_json_begin_object(b, "attention");
  assay_json_put_int(b, "num_convs", config->num_convs);
  assay_json_put_int(b, "num_heads", config->num_heads);
  assay_json_put_int(b, "head_dim", config->head_dim);
  assay_json_put_string(b, "activation", ACTIVATION_NAMES[config->activation]);
  assay_json_put_bool(b, "use_pre_layernorm", config->use_pre_layernorm);
  assay_json_put_bool(b, "use_jagged_attention", config->jagged_attention);
  assay_json_end(b);
}

static void put_heptv2(const assay_mlpf_config *config, assay_json_builder *b) {
  assay_json_begin_object(b, "heptv2");
  assay_json_put_int(b, "embedding_dim", config->embedding_dim);
  assay_json_put_int(b, "width", config->width);
  assay_json_put_int(b, "num_convs", config->num_convs);
  assay_json_put_int(b, "num_heads", config->num_heads);
  assay_json_put_string(b, "activation", ACTIVATION_NAMES[config->activation]);
  assay_json_put_string(b, "pe_type", config->learned_positions ? "learned" : "none");
  assay_json_put_int(b, "block_size", config->block_size);
  assay_json_put_int(b, "n_hashes", config->n_hashes);
  assay_json_put_int(b, "num_regions", config->num_regions);
  assay_json_put_int(b, "num_w_per_dist", config->num_w_per_dist);
  assay_json_put_real(b, "mlp_ratio", config->mlp_ratio);
  assay_json_end(b);
}

static void put_model(const assay_mlpf_config *config, assay_json_builder *b) {
  assay_json_begin_object(b, "model");
  assay_json_put_string(b, "type", ARCH_NAMES[config->arch]);
  assay_json_put_string(b, "input_encoding", ENCODING_NAMES[config->input_encoding]);
  assay_json_put_string(b, "learned_representation_mode",
                        REPRESENTATION_NAMES[config->representation]);
  for (int t = 0; t < ASSAY_MLPF_N_TARGETS; t++)
    assay_json_put_string(b, MODE_KEYS[t], REGRESSION_NAMES[config->regression[t]]);
  assay_json_put_bool(b, "task_queries", config->task_queries);
  assay_json_begin_object(b, "backbone");
  assay_json_put_string(b, "mode", BACKBONE_NAMES[config->backbone_mode]);
  assay_json_put_int(b, "num_convs", config->num_convs);
  assay_json_end(b);
  if (config->arch == ASSAY_MLPF_HEPTV2)
    put_heptv2(config, b);
  else
    put_attention(config, b);
  assay_json_end(b);
}

void assay_mlpf_config_put(const assay_mlpf_config *config, assay_json_builder *b,
                           const char *key) {
  assay_json_begin_object(b, key);
  if (config->dataset[0] != '\0') assay_json_put_string(b, "dataset", config->dataset);
  assay_json_put_int(b, "input_dim", config->input_dim);
  assay_json_put_int(b, "num_classes", config->num_classes);
  assay_json_begin_array(b, "elemtypes_nonzero");
  for (int64_t i = 0; i < config->n_elemtypes; i++)
    assay_json_put_int(b, /*key=*/NULL, config->elemtypes[i]);
  assay_json_end(b);
  put_model(config, b);
  if (config->pad_to_multiple > 0)
    assay_json_put_int(b, "pad_to_multiple_elements", config->pad_to_multiple);
  if (config->sort_data) assay_json_put_bool(b, "sort_data", true);
  assay_json_put_string(b, "key_mask", KEY_MASK_NAMES[config->key_mask]);
  assay_json_put_string(b, "phi", PHI_NAMES[config->phi]);
  assay_json_end(b);
}
