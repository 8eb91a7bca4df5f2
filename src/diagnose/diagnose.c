/* A diagnosis from its bundle to its cases: weights, runtime, instrumented graph, runs,
 * evaluations, comparison. */
#include "diagnose/diagnose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "campaign/bundle_weights.h"
#include "campaign/runtime_spec.h"
#include "diagnose/blocks.h"
#include "diagnose/causes.h"
#include "diagnose/diagnose_write.h"
#include "diagnose/instrument.h"
#include "model/mlpf_config.h"
#include "model/mlpf_params.h"
#include "model/mlpf_plan_config.h"
#include "package/fields.h"
#include "package/manifest.h"
#include "package/npz.h"
#include "runtime/find_library.h"

/* Of two arithmetics: a runtime that computes in another one altogether is not twice as near to
 * either. */
#define CLEARLY_NEARER 2.0

typedef struct diagnosing {
  const assay_diagnose_spec *spec;
  assay_manifest manifest;
  assay_mlpf_config config;
  assay_mlpf_plan_config plan;
  bool has_plan; /* with FP16 in it */
  assay_tensor_map weights;
  assay_runtime_spec runtime;
  assay_diagnosis diagnosis;
} diagnosing;

static void say(const diagnosing *d, const char *what) {
  if (d->spec->progress != NULL) d->spec->progress(d->spec->arg, what);
}

/* --- what is diagnosed ---------------------------------------------------------------------------
 */

static assay_status read_bundle(diagnosing *d, assay_error *err) {
  const char *path = d->spec->bundle_path;
  ASSAY_TRY(assay_manifest_read(path, &d->manifest, err));
  if (d->manifest.config == NULL)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "bundle '%s' has no configuration of a model: only what 'assay export' made "
                      "can be diagnosed",
                      path);
  ASSAY_TRY(assay_mlpf_config_parse(d->manifest.config, NULL, &d->config, err));
  if (d->manifest.plan == NULL) return ASSAY_OK;
  ASSAY_TRY(assay_mlpf_plan_config_parse(d->manifest.plan, &d->plan, err));
  d->has_plan = !assay_mlpf_plan_config_is_f32(&d->plan);
  return ASSAY_OK;
}

static assay_status check_weights(const diagnosing *d, assay_error *err) {
  char sha256[65];
  const char *want = assay_json_string(assay_json_get(d->manifest.weights, "sha256"));
  ASSAY_TRY(assay_tensor_map_sha256(&d->weights, /*skip_suffix=*/NULL, sha256, err));
  if (want != NULL && strcmp(want, sha256) == 0) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_ARGUMENT,
                    "these are not the bundle's weights: SHA-256 %s, expected %s", sha256,
                    want != NULL ? want : "one in its manifest");
}

/* The bundle's weights once more: by its seed, or from the file that it was exported from. */
static assay_status load_weights(diagnosing *d, assay_error *err) {
  const char *origin = assay_json_string(assay_json_get(d->manifest.weights, "origin"));
  bool is_seeded = origin != NULL && strcmp(origin, "seed") == 0;
  if (is_seeded != (d->spec->weights_path == NULL))
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      is_seeded ? "the bundle's weights come from a seed: --weights would have no "
                                  "effect"
                                : "the bundle's weights come from a file: name it with --weights");
  if (is_seeded) {
    uint64_t seed = (uint64_t)assay_json_int(assay_json_get(d->manifest.weights, "seed"));
    ASSAY_TRY(assay_mlpf_seed_weights(&d->config, seed, &d->weights, NULL, err));
  } else {
    assay_bundle_weights loaded = {0};
    assay_mlpf_differences differences = {0};
    assay_status st = assay_bundle_weights_read(d->spec->weights_path, &d->config, NULL, &loaded,
                                                &differences, err);
    if (st == ASSAY_OK) {
      d->weights = loaded.tensors;
      loaded.tensors = (assay_tensor_map){0};
    }
    assay_bundle_weights_reset(&loaded);
    assay_mlpf_differences_reset(&differences);
    if (st) return st;
  }
  return check_weights(d, err);
}

static assay_status find_runtime(diagnosing *d, assay_error *err) {
  char *library = NULL;
  const char *asked = d->spec->runtime != NULL ? d->spec->runtime : "cpu";
  ASSAY_TRY(assay_runtime_spec_parse(asked, &d->runtime, err));
  ASSAY_TRY(assay_find_library(d->runtime.library, &library, err));
  assay_free(d->runtime.library);
  d->runtime.library = library;
  if (d->spec->threads > 0) d->runtime.intra_threads = d->spec->threads;
  return ASSAY_OK;
}

static assay_status make_folder(const diagnosing *d, assay_error *err) {
  assay_names names = {0};
  const char *path = d->spec->out_path;
  if (assay_path_kind_of(path) == ASSAY_PATH_NONE) return assay_folder_create(path, err);
  ASSAY_TRY(assay_folder_list(path, &names, err));
  size_t n = names.n;
  assay_names_reset(&names);
  return n == 0 ? ASSAY_OK
                : assay_fail(err, ASSAY_E_ARGUMENT,
                             "'%s' holds something: take another folder with -o", path);
}

/* --- one case ------------------------------------------------------------------------------------
 */

/* Everything of a case that is compared. */
typedef struct material {
  const assay_manifest_case *of;
  assay_tensor_map inputs;
  assay_instrument_blocks names;
  assay_tensor_map shipped, instrumented; /* outputs of the runtime */
  assay_tensor_map truth, expected;       /* blocks of the evaluator */
  assay_blocks_question question;
} material;

static void release(material *m) {
  assay_tensor_map_reset(&m->inputs);
  assay_instrument_blocks_reset(&m->names);
  assay_tensor_map_reset(&m->shipped);
  assay_tensor_map_reset(&m->instrumented);
  assay_tensor_map_reset(&m->truth);
  assay_tensor_map_reset(&m->expected);
}

static assay_status execute(diagnosing *d, const material *m, const char *model, const char *name,
                            assay_tensor_map *out, char **out_reason, assay_error *err) {
  char *version = NULL;
  char *inputs = assay_path_join(d->spec->bundle_path, m->of->file.file);
  char *folder = assay_format("%s/%s/%s", d->spec->out_path, m->of->name, name);
  assay_status st = inputs != NULL && folder != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  const assay_instrument_run run = {.runtime = &d->runtime,
                                    .model = model,
                                    .inputs = inputs,
                                    .folder = folder,
                                    .timeout_ns = d->spec->timeout_ns,
                                    .cancelled = d->spec->cancelled,
                                    .arg = d->spec->arg};
  if (st == ASSAY_OK) st = assay_instrument_execute(&run, out, out_reason, &version, err);
  if (st == ASSAY_OK) {
    assay_free(d->diagnosis.library_version);
    d->diagnosis.library_version = version;
  }
  assay_free(inputs);
  assay_free(folder);
  return st;
}

static assay_status run_both(diagnosing *d, material *m, assay_diagnose_case *out,
                             assay_error *err) {
  const assay_manifest_file *file = m->of->model.file != NULL ? &m->of->model : &d->manifest.model;
  char *shipped = assay_path_join(d->spec->bundle_path, file->file);
  char *copy = assay_format("%s/instrumented-%s", d->spec->out_path, assay_path_name(file->file));
  assay_status st = shipped != NULL && copy != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  if (st == ASSAY_OK) st = assay_instrument_graph(shipped, copy, &m->names, err);
  if (st == ASSAY_OK) st = execute(d, m, shipped, "shipped", &m->shipped, &out->reason, err);
  if (st == ASSAY_OK && out->reason == NULL)
    st = execute(d, m, copy, "instrumented", &m->instrumented, &out->reason, err);
  assay_free(shipped);
  assay_free(copy);
  return st;
}

static assay_status load_inputs(const diagnosing *d, material *m, assay_error *err) {
  char *path = assay_path_join(d->spec->bundle_path, m->of->file.file);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_npz_read(path, /*limits=*/NULL, &m->inputs, err);
  assay_free(path);
  if (st) return st;
  const assay_tensor *x = assay_tensor_map_find(&m->inputs, "Xfeat_normed");
  const assay_tensor *mask = assay_tensor_map_find(&m->inputs, "mask");
  if (x == NULL || mask == NULL)
    return assay_fail(err, ASSAY_E_FORMAT, "case '%s' holds no Xfeat_normed or no mask",
                      m->of->name);
  m->question = (assay_blocks_question){.config = &d->config,
                                        .weights = &d->weights,
                                        .plan = d->has_plan ? &d->plan : NULL,
                                        .x = x,
                                        .mask = mask,
                                        .threads = d->spec->threads,
                                        .cancelled = d->spec->cancelled,
                                        .arg = d->spec->arg};
  return ASSAY_OK;
}

static void compare_outputs(const material *m, assay_diagnose_case *out) {
  out->same_outputs = true;
  for (size_t i = 0; i < m->shipped.n; i++) {
    const assay_tensor *a = &m->shipped.items[i].tensor;
    const assay_tensor *b = assay_tensor_map_find(&m->instrumented, m->shipped.items[i].name);
    bool same_shape = b != NULL && a->dtype == b->dtype && assay_tensor_same_shape(a, b);
    if (same_shape && (a->size_bytes == 0 || memcmp(a->data, b->data, a->size_bytes) == 0))
      continue;
    out->same_outputs = false;
    for (size_t k = 0; k < a->n_elems; k++) {
      double apart =
          same_shape ? fabs(assay_tensor_get_real(a, k) - assay_tensor_get_real(b, k)) : HUGE_VAL;
      if (!(apart <= out->outputs_max_apart)) out->outputs_max_apart = apart;
    }
  }
}

/* The runtime's value of a block; NULL when it did not give it. */
static const assay_tensor *value_of(const material *m, const char *block) {
  for (size_t i = 0; i < m->names.n; i++)
    if (strcmp(m->names.names[i], block) == 0)
      return assay_tensor_map_find(&m->instrumented, m->names.values[i]);
  return NULL;
}

/* How much nearer the runtime is to `other` than to `plain`, the evaluator by two arithmetics, at
 * the first block that they give differently: a ratio of distances, 1 where there is none. */
static double nearer_by(const material *m, const assay_tensor_map *plain,
                        const assay_tensor_map *other) {
  for (size_t i = 0; i < plain->n; i++) {
    const assay_tensor *a = &plain->items[i].tensor, *b = &other->items[i].tensor;
    const assay_tensor *got = value_of(m, plain->items[i].name);
    if (a->dtype == ASSAY_DTYPE_I64 || got == NULL || !assay_tensor_same_shape(a, got) ||
        memcmp(a->data, b->data, a->size_bytes) == 0)
      continue;
    const assay_tensor *scale = &m->truth.items[i].tensor, *mask = m->question.mask;
    return assay_blocks_distance(got, a, scale, mask) / assay_blocks_distance(got, b, scale, mask);
  }
  return 1;
}

/* The evaluator in the arithmetic that the runtime is clearly nearest to; otherwise as the plan's
 * text has it. */
static assay_status evaluate_as_runtime(material *m, assay_diagnose_case *out, assay_error *err) {
  enum { N = ASSAY_REF_STORED + 1 };
  assay_tensor_map by[N] = {0};
  double best = CLEARLY_NEARER;
  int n = m->question.plan != NULL ? N : 1;
  assay_status st = ASSAY_OK;
  for (int k = 0; k < n && st == ASSAY_OK; k++) {
    m->question.arithmetic = (assay_ref_arithmetic)k;
    st = assay_blocks_evaluate(&m->question, ASSAY_DTYPE_F32, NULL, &by[k], NULL, err);
  }
  for (int k = 1; k < n && st == ASSAY_OK; k++) {
    double ratio = nearer_by(m, &by[0], &by[k]);
    if (!(ratio > best)) continue;
    best = ratio;
    out->arithmetic = (assay_ref_arithmetic)k;
  }
  m->question.arithmetic = out->arithmetic;
  m->expected = by[out->arithmetic];
  by[out->arithmetic] = (assay_tensor_map){0};
  for (int k = 0; k < n; k++) assay_tensor_map_reset(&by[k]);
  return st;
}

static assay_status evaluate(material *m, assay_diagnose_case *out, assay_error *err) {
  assay_blocks_question exact = m->question;
  exact.plan = NULL;
  ASSAY_TRY(assay_blocks_evaluate(&exact, ASSAY_DTYPE_F64, NULL, &m->truth, &out->margins, err));
  return evaluate_as_runtime(m, out, err);
}

static assay_status compare_blocks(const material *m, assay_diagnose_case *out, assay_error *err) {
  out->blocks = assay_alloc_array(m->truth.n, sizeof *out->blocks);
  if (out->blocks == NULL) return assay_fail_memory(err, m->truth.n * sizeof *out->blocks);
  out->first = SIZE_MAX;
  for (size_t i = 0; i < m->truth.n; i++) {
    assay_diagnose_block *block = &out->blocks[out->n_blocks++];
    block->name = assay_strdup(m->truth.items[i].name);
    if (block->name == NULL) return assay_fail_memory(err, 64);
    const assay_tensor *got = value_of(m, block->name);
    const assay_tensor *expected = assay_tensor_map_find(&m->expected, block->name);
    if (got == NULL || expected == NULL) continue;
    ASSAY_TRY(assay_blocks_compare(got, &m->truth.items[i].tensor, expected, m->question.x,
                                   m->question.mask, block, err));
    if (block->over && out->first == SIZE_MAX) out->first = i;
  }
  return ASSAY_OK;
}

static assay_status find_causes(const material *m, assay_diagnose_case *out, assay_error *err) {
  if (out->first == SIZE_MAX) return ASSAY_OK;
  const assay_diagnose_block *block = &out->blocks[out->first];
  return assay_causes_find(&m->question, block, value_of(m, block->name),
                           &m->truth.items[out->first].tensor, &out->causes, &out->n_causes, err);
}

static assay_status diagnose_case(diagnosing *d, const assay_manifest_case *of,
                                  assay_diagnose_case *out, assay_error *err) {
  material m = {.of = of};
  char what[256];
  out->name = assay_strdup(of->name);
  if (out->name == NULL) return assay_fail_memory(err, 64);
  snprintf(what, sizeof what, "case %.128s: the runtime", of->name);
  say(d, what);
  assay_status st = load_inputs(d, &m, err);
  if (st == ASSAY_OK) st = run_both(d, &m, out, err);
  if (st == ASSAY_OK && out->reason == NULL) {
    snprintf(what, sizeof what, "case %.128s: the evaluator", of->name);
    say(d, what);
    st = evaluate(&m, out, err);
    if (st == ASSAY_OK) {
      compare_outputs(&m, out);
      st = compare_blocks(&m, out, err);
    }
    if (st == ASSAY_OK) st = find_causes(&m, out, err);
  }
  release(&m);
  return st;
}

/* --- the whole -----------------------------------------------------------------------------------
 */

static bool is_selected(const assay_diagnose_spec *spec, const char *name) {
  for (size_t i = 0; i < spec->n_cases; i++)
    if (strcmp(spec->cases[i], name) == 0) return true;
  return spec->n_cases == 0;
}

static assay_status check_selection(const diagnosing *d, assay_error *err) {
  for (size_t i = 0; i < d->spec->n_cases; i++) {
    bool found = false;
    for (size_t k = 0; k < d->manifest.n_cases; k++)
      found |= strcmp(d->manifest.cases[k].name, d->spec->cases[i]) == 0;
    if (!found)
      return assay_fail(err, ASSAY_E_ARGUMENT, "bundle '%s' has no case '%s'", d->spec->bundle_path,
                        d->spec->cases[i]);
  }
  return ASSAY_OK;
}

static assay_status diagnose(diagnosing *d, assay_error *err) {
  ASSAY_TRY(read_bundle(d, err));
  ASSAY_TRY(check_selection(d, err));
  ASSAY_TRY(load_weights(d, err));
  ASSAY_TRY(find_runtime(d, err));
  ASSAY_TRY(make_folder(d, err));
  d->diagnosis.bundle = assay_strdup(d->manifest.name);
  d->diagnosis.runtime = assay_fields_printable(d->runtime.label);
  d->diagnosis.precision = assay_strdup(d->has_plan ? "float16" : "float32");
  d->diagnosis.cases = assay_alloc_array(d->manifest.n_cases, sizeof *d->diagnosis.cases);
  if (d->diagnosis.bundle == NULL || d->diagnosis.runtime == NULL ||
      d->diagnosis.precision == NULL || d->diagnosis.cases == NULL)
    return assay_fail_memory(err, 256);
  for (size_t i = 0; i < d->manifest.n_cases; i++) {
    if (!is_selected(d->spec, d->manifest.cases[i].name)) continue;
    assay_diagnose_case *one = &d->diagnosis.cases[d->diagnosis.n_cases++];
    ASSAY_TRY(diagnose_case(d, &d->manifest.cases[i], one, err));
  }
  return ASSAY_OK;
}

assay_status assay_diagnose_run(const assay_diagnose_spec *spec, assay_diagnosis *out,
                                assay_error *err) {
  diagnosing d = {.spec = spec};
  assay_status st = diagnose(&d, err);
  if (st == ASSAY_OK) st = assay_diagnose_write(&d.diagnosis, spec->out_path, err);
  assay_manifest_reset(&d.manifest);
  assay_tensor_map_reset(&d.weights);
  assay_runtime_spec_reset(&d.runtime);
  if (st) {
    assay_diagnosis_reset(&d.diagnosis);
    return st;
  }
  *out = d.diagnosis;
  return ASSAY_OK;
}

const assay_reference_kind *assay_diagnose_arithmetic(const assay_diagnose_case *one) {
  return assay_precision_kind((int)one->arithmetic);
}

bool assay_diagnosis_found(const assay_diagnosis *diagnosis) {
  for (size_t i = 0; i < diagnosis->n_cases; i++)
    if (diagnosis->cases[i].reason != NULL ||
        diagnosis->cases[i].first < diagnosis->cases[i].n_blocks)
      return true;
  return false;
}

void assay_diagnosis_reset(assay_diagnosis *diagnosis) {
  for (size_t i = 0; i < diagnosis->n_cases; i++) {
    assay_diagnose_case *one = &diagnosis->cases[i];
    for (size_t k = 0; k < one->n_blocks; k++) assay_free(one->blocks[k].name);
    for (size_t k = 0; k < one->n_causes; k++) assay_free(one->causes[k]);
    assay_free(one->blocks);
    assay_free(one->causes);
    assay_free(one->name);
    assay_free(one->reason);
  }
  assay_free(diagnosis->cases);
  assay_free(diagnosis->bundle);
  assay_free(diagnosis->runtime);
  assay_free(diagnosis->library_version);
  assay_free(diagnosis->precision);
  *diagnosis = (assay_diagnosis){0};
}
