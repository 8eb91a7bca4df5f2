/* The manifest of an exported bundle: package/manifest.h says what stands in it, this file where it
 * comes from. */
#include "campaign/bundle_manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"

/* The builder's document as a value. */
static assay_status json_of(assay_json_builder *b, assay_json **out, assay_error *err) {
  assay_buf text = {0};
  assay_status st = assay_json_builder_finish(b, &text, err);
  if (st == ASSAY_OK) st = assay_json_parse(text.data, text.size_bytes, out, err);
  assay_buf_reset(&text);
  return st;
}

static assay_status make_config(const assay_mlpf_config *config, assay_json **out,
                                assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  assay_mlpf_config_put(config, b, /*key=*/NULL);
  const assay_status st = json_of(b, out, err);
  assay_json_builder_destroy(b);
  return st;
}

static assay_status make_plan(const assay_mlpf_plan_config *plan, assay_json **out,
                              assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  assay_mlpf_plan_config_put(plan, b, /*key=*/NULL);
  const assay_status st = json_of(b, out, err);
  assay_json_builder_destroy(b);
  return st;
}

static assay_status make_weights(const assay_export_spec *spec, const assay_export_result *result,
                                 assay_json **out, assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, /*key=*/NULL);
  if (spec->weights == NULL) {
    assay_json_put_string(b, "origin", "seed");
    /* JSON's integers end at 2^63-1: a seed from there on is written as the negative one that
     * torch.manual_seed takes for the same bits. */
    assay_json_put_int(b, "seed", (int64_t)spec->seed);
    assay_json_put_string(b, "generator",
                          "torch.manual_seed on a CPU with AVX2 or later, bit for bit");
  } else if (spec->weights_about == NULL) {
    assay_json_put_string(b, "origin", "given");
  } else {
    for (size_t i = 0; i < assay_json_len(spec->weights_about); i++)
      assay_json_put_copy(b, assay_json_key_at(spec->weights_about, i),
                          assay_json_value_at(spec->weights_about, i));
  }
  assay_json_put_string(b, "sha256", result->weights_sha256);
  assay_json_put_string(b, "sha256_no_queries", result->weights_sha256_no_queries);
  assay_json_put_int(b, "n_tensors", (int64_t)result->n_tensors);
  assay_json_put_int(b, "n_values", (int64_t)result->n_values);
  assay_json_end(b);
  const assay_status st = json_of(b, out, err);
  assay_json_builder_destroy(b);
  return st;
}

/* --- inputs and heads
 * -------------------------------------------------------------------------------- */

/* A dimension that is a symbol, or (symbol NULL) a size. */
static assay_manifest_dim dim(const char *symbol, int64_t size) {
  assay_manifest_dim d = {.size = symbol ? 0 : size};
  if (symbol != NULL) snprintf(d.symbol, sizeof d.symbol, "%s", symbol);
  return d;
}

static assay_status set_inputs(const assay_mlpf_config *config, assay_manifest *out,
                               assay_error *err) {
  out->inputs = assay_alloc_array(2, sizeof *out->inputs);
  if (out->inputs == NULL) return assay_fail_memory(err, 2 * sizeof *out->inputs);
  out->n_inputs = 2;
  out->inputs[0] = (assay_manifest_tensor){
      .dtype = ASSAY_DTYPE_F32,
      .rank = 3,
      .dims = {dim("B", 0), dim("N", 0), dim(/*symbol=*/NULL, config->input_dim)}};
  out->inputs[1] = (assay_manifest_tensor){
      .dtype = ASSAY_DTYPE_F32, .rank = 2, .dims = {dim("B", 0), dim("N", 0)}};
  ASSAY_TRY(assay_text_set(&out->inputs[0].name, "Xfeat_normed", err));
  ASSAY_TRY(assay_text_set(&out->inputs[1].name, "mask", err));
  return assay_text_set(&out->mask_input, "mask", err);
}

double bundle_tolerance_of(const assay_export_tolerance *tolerances, size_t n, const char *head,
                           bool relative) {
  double value = relative ? ASSAY_DEFAULT_RTOL : ASSAY_DEFAULT_ATOL;
  for (int specific = 0; specific < 2; specific++)
    for (size_t i = 0; i < n; i++) {
      const assay_export_tolerance *t = &tolerances[i];
      const bool applies =
          specific ? t->head != NULL && strcmp(t->head, head) == 0 : t->head == NULL;
      if (applies && t->relative == relative) value = t->value;
    }
  return value;
}

static double tolerance_of(const assay_export_spec *spec, const char *head, bool relative) {
  return bundle_tolerance_of(spec->tolerances, spec->n_tolerances, head, relative);
}

static int64_t n_layers(const assay_export_spec *spec) {
  if (!spec->permutations) return 0;
  return spec->config.num_convs * (spec->config.backbone_mode == ASSAY_MLPF_BACKBONE_SPLIT ? 2 : 1);
}

void bundle_perm_name(const assay_mlpf_config *config, int64_t l, char *out, size_t out_bytes) {
  if (config->backbone_mode != ASSAY_MLPF_BACKBONE_SPLIT)
    snprintf(out, out_bytes, "perm_%lld", (long long)l);
  else if (l < config->num_convs)
    snprintf(out, out_bytes, "perm_id_%lld", (long long)l);
  else
    snprintf(out, out_bytes, "perm_reg_%lld", (long long)(l - config->num_convs));
}

static assay_status set_heads(const assay_export_spec *spec, assay_manifest *out,
                              assay_error *err) {
  static const assay_head_kind KINDS[BUNDLE_N_HEADS] = {ASSAY_HEAD_CLASSES, ASSAY_HEAD_CLASSES,
                                                        ASSAY_HEAD_REGRESSION, ASSAY_HEAD_CONSTANT};
  const size_t n_perms = (size_t)n_layers(spec), n = BUNDLE_N_HEADS + n_perms;
  out->heads = assay_alloc_array(n, sizeof *out->heads);
  if (out->heads == NULL) return assay_fail_memory(err, n * sizeof *out->heads);
  out->n_heads = n;
  for (size_t h = 0; h < BUNDLE_N_HEADS; h++) {
    const bool constant = KINDS[h] == ASSAY_HEAD_CONSTANT; /* compared exactly */
    out->heads[h] = (assay_manifest_tensor){
        .dtype = ASSAY_DTYPE_F32,
        .rank = 3,
        .dims = {dim("B", 0), dim("N", 0),
                 dim(/*symbol=*/NULL, bundle_head_width(&spec->config, h))},
        .kind = KINDS[h],
        .atol = constant ? 0.0 : tolerance_of(spec, BUNDLE_HEADS[h], /*relative=*/false),
        .rtol = constant ? 0.0 : tolerance_of(spec, BUNDLE_HEADS[h], /*relative=*/true)};
    ASSAY_TRY(assay_text_set(&out->heads[h].name, BUNDLE_HEADS[h], err));
  }
  for (size_t l = 0; l < n_perms; l++) {
    char name[64];
    bundle_perm_name(&spec->config, (int64_t)l, name, sizeof name);
    out->heads[BUNDLE_N_HEADS + l] = (assay_manifest_tensor){
        .dtype = ASSAY_DTYPE_I64,
        .rank = 3,
        .dims = {dim(/*symbol=*/NULL, spec->config.n_hashes * spec->config.num_heads), dim("B", 0),
                 dim("N", 0)},
        .kind = ASSAY_HEAD_INTEGER};
    ASSAY_TRY(assay_text_set(&out->heads[BUNDLE_N_HEADS + l].name, name, err));
  }
  return ASSAY_OK;
}

assay_status bundle_manifest_init(const assay_export_spec *spec, const assay_export_result *result,
                                  size_t n_cases, assay_manifest *out, assay_error *err) {
  ASSAY_TRY(assay_text_set(&out->name, result->name, err));
  ASSAY_TRY(assay_text_set(&out->tool_version, ASSAY_VERSION, err));
  const bool is_f32 = assay_mlpf_plan_config_is_f32(spec->plan);
  ASSAY_TRY(assay_text_set(&out->dtype,
                           assay_dtype_name(is_f32 ? ASSAY_DTYPE_F32 : ASSAY_DTYPE_F16), err));
  ASSAY_TRY(
      assay_text_set(&out->attention, assay_mlpf_attention_form_name(spec->plan->attention), err));
  ASSAY_TRY(make_plan(spec->plan, &out->plan, err));
  ASSAY_TRY(assay_text_set(&out->shapes, spec->static_shapes ? "static" : "dynamic", err));
  ASSAY_TRY(assay_text_set(&out->architecture, assay_mlpf_arch_name(spec->config.arch), err));
  ASSAY_TRY(make_config(&spec->config, &out->config, err));
  ASSAY_TRY(make_weights(spec, result, &out->weights, err));
  ASSAY_TRY(set_inputs(&spec->config, out, err));
  ASSAY_TRY(set_heads(spec, out, err));
  out->cases = assay_alloc_array(n_cases, sizeof *out->cases);
  if (out->cases == NULL) return assay_fail_memory(err, n_cases * sizeof *out->cases);
  out->n_cases = n_cases;
  return ASSAY_OK;
}

/* --- cases
 * ------------------------------------------------------------------------------------------- */

/* A distance, or null where there is no pair to measure. */
static void put_distance(assay_json_builder *b, const char *key, int64_t ulp) {
  if (ulp == INT64_MAX)
    assay_json_put_null(b, key);
  else
    assay_json_put_int(b, key, ulp);
}

static assay_status make_margins(const assay_ref_margins *margins, assay_json **out,
                                 assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, /*key=*/NULL);
  put_distance(b, "key_ulp", margins->key_ulp);
  put_distance(b, "rank_ulp", margins->rank_ulp);
  assay_json_put_int(b, "n_key_ties", margins->n_key_ties);
  assay_json_put_int(b, "n_rank_ties", margins->n_rank_ties);
  assay_json_put_int(b, "key_layer", margins->key_layer);
  assay_json_put_int(b, "key_hash", margins->key_hash);
  assay_json_put_int(b, "key_head", margins->key_head);
  assay_json_put_int(b, "key_event", margins->key_event);
  assay_json_end(b);
  const assay_status st = json_of(b, out, err);
  assay_json_builder_destroy(b);
  return st;
}

static void count_valid(const assay_tensor *mask, int64_t *valid) {
  const int64_t n = mask->dims[1];
  for (int64_t e = 0; e < mask->dims[0]; e++)
    for (int64_t i = 0; i < n; i++) valid[e] += assay_tensor_f32(mask)[e * n + i] != 0.0f;
}

assay_status bundle_manifest_set_case(assay_manifest *manifest, size_t i, const bundle_case *one,
                                      bundle_inputs *inputs, const assay_ref_margins *margins,
                                      assay_manifest_file *file, assay_manifest_file *model,
                                      assay_error *err) {
  assay_manifest_case *c = &manifest->cases[i];
  c->file = *file;
  c->model = *model;
  *file = *model = (assay_manifest_file){0};
  c->origin = inputs->origin;
  inputs->origin = NULL;
  c->b = inputs->b;
  c->n = inputs->n;
  ASSAY_TRY(assay_text_set(&c->name, one->name, err));
  ASSAY_TRY(assay_text_set(&c->kind, one->kind, err));
  ASSAY_TRY(assay_text_set(&c->source, inputs->source, err));
  c->valid = assay_alloc_array((size_t)inputs->b, sizeof *c->valid);
  if (c->valid == NULL) return assay_fail_memory(err, (size_t)inputs->b * sizeof *c->valid);
  count_valid(&inputs->mask, c->valid);
  return margins->present ? make_margins(margins, &c->margins, err) : ASSAY_OK;
}

assay_status bundle_manifest_set_reference(const assay_export_spec *spec, const bundle_times *times,
                                           assay_manifest *manifest, assay_error *err) {
  char libraries[256];
  assay_ref_describe(libraries, sizeof libraries);
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, /*key=*/NULL);
  assay_json_put_string(b, "origin", "evaluator");
  assay_json_begin_array(b, "precision");
  assay_json_put_string(b, /*key=*/NULL, "float32");
  assay_json_put_string(b, /*key=*/NULL, "float64");
  assay_json_end(b);
  assay_json_put_string(b, "libraries", libraries);
  assay_json_put_int(b, "threads", spec->threads > 0 ? spec->threads : 1);
  assay_json_begin_array(b, "times");
  for (size_t i = 0; i < manifest->n_cases; i++) {
    assay_json_begin_object(b, /*key=*/NULL);
    assay_json_put_string(b, "case", manifest->cases[i].name);
    assay_json_put_int(b, "float32_ns", times[i].f32_ns);
    assay_json_put_int(b, "float64_ns", times[i].f64_ns);
    assay_json_end(b);
  }
  assay_json_end(b);
  assay_json_end(b);
  const assay_status st = json_of(b, &manifest->reference, err);
  assay_json_builder_destroy(b);
  return st;
}

assay_status bundle_manifest_add_note(assay_manifest *manifest, const char *text,
                                      assay_error *err) {
  void *notes = manifest->notes;
  const size_t n = manifest->n_notes;
  ASSAY_TRY(
      assay_resize(&notes, n * sizeof *manifest->notes, (n + 1) * sizeof *manifest->notes, err));
  manifest->notes = notes;
  ASSAY_TRY(assay_text_set(&manifest->notes[n], text, err));
  manifest->n_notes = n + 1;
  return ASSAY_OK;
}
