/* Session options: checked, given to the runtime, and put on record in a fixed order. */
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "runtime/ort_internal.h"

#define NO_FALLBACK       "session.disable_cpu_ep_fallback"
#define RECORD_ASSIGNMENT "session.record_ep_graph_assignment_info"
#define LEVEL_ALL         99
#define SEVERITY_VERBOSE  0

static int threads_of(int n) {
  return n > 0 ? n : 1;
}
static int level_of(int level) {
  return level < 0 ? LEVEL_ALL : level;
}

static const char *value_of(const assay_ort_pair *pairs, size_t n, const char *key) {
  for (size_t i = 0; i < n; ++i)
    if (strcmp(pairs[i].key, key) == 0) return pairs[i].value;
  return NULL;
}

/* Whether fallback is to be refused by us: not on the CPU, and not where the user decided. */
static bool adds_no_fallback(const assay_ort_session_spec *spec) {
  return !assay_ort_spec_is_cpu(spec) &&
         value_of(spec->config, spec->n_config, NO_FALLBACK) == NULL;
}

static assay_status check_pairs(const assay_ort_pair *pairs, size_t n, const char *what,
                                assay_error *err) {
  for (size_t i = 0; i < n; ++i) {
    if (pairs[i].key == NULL || pairs[i].key[0] == '\0' || pairs[i].value == NULL)
      return assay_fail(err, ASSAY_E_ARGUMENT, "%s %zu needs a name and a value", what, i + 1);
    if (value_of(pairs, i, pairs[i].key) != NULL)
      return assay_fail(err, ASSAY_E_ARGUMENT, "%s '%s' is given twice", what, pairs[i].key);
  }
  return ASSAY_OK;
}

assay_status assay_ort_spec_check(const assay_ort_session_spec *spec, assay_error *err) {
  ASSAY_TRY(check_pairs(spec->provider_options, spec->n_provider_options, "provider option", err));
  ASSAY_TRY(check_pairs(spec->config, spec->n_config, "session option", err));
  ASSAY_TRY(check_pairs(spec->free_dims, spec->n_free_dims, "free dimension", err));
  if (spec->model_path == NULL) return assay_fail(err, ASSAY_E_ARGUMENT, "a session needs a model");
  if (assay_path_kind_of(spec->model_path) != ASSAY_PATH_FILE)
    return assay_fail(err, ASSAY_E_IO, "model '%s' is not there or is not a file",
                      spec->model_path);
  return ASSAY_OK;
}

static assay_status set_basics(const assay_ort *ort, const assay_ort_session_spec *spec,
                               OrtSessionOptions *options, assay_error *err) {
  const assay_ort_api *api = ort->api;
  ASSAY_TRY(assay_ort_take(ort, api->SetSessionExecutionMode(options, ASSAY_ORT_SEQUENTIAL),
                           ASSAY_E_RUNTIME, "execution mode", err));
  ASSAY_TRY(assay_ort_take(ort, api->SetIntraOpNumThreads(options, threads_of(spec->intra_threads)),
                           ASSAY_E_ARGUMENT, "intra-op threads", err));
  ASSAY_TRY(assay_ort_take(ort, api->SetInterOpNumThreads(options, threads_of(spec->inter_threads)),
                           ASSAY_E_ARGUMENT, "inter-op threads", err));
  ASSAY_TRY(assay_ort_take(
      ort, api->SetSessionGraphOptimizationLevel(options, level_of(spec->graph_optimization_level)),
      ASSAY_E_ARGUMENT, "graph optimization level", err));
  if (spec->no_memory_arena)
    ASSAY_TRY(assay_ort_take(ort, api->DisableCpuMemArena(options), ASSAY_E_RUNTIME, "memory arena",
                             err));
  if (spec->deterministic && ort->api_version < 17)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "deterministic kernels need ONNX Runtime 1.17 or newer, this is %s",
                      ort->version);
  if (spec->deterministic)
    ASSAY_TRY(assay_ort_take(ort, api->SetDeterministicCompute(options, true), ASSAY_E_RUNTIME,
                             "deterministic kernels", err));
  if (spec->verbose)
    ASSAY_TRY(assay_ort_take(ort, api->SetSessionLogSeverityLevel(options, SEVERITY_VERBOSE),
                             ASSAY_E_RUNTIME, "log severity", err));
  if (spec->optimized_path != NULL)
    ASSAY_TRY(assay_ort_take(ort, api->SetOptimizedModelFilePath(options, spec->optimized_path),
                             ASSAY_E_RUNTIME, "path of the optimised model", err));
  if (spec->profile_prefix != NULL)
    ASSAY_TRY(assay_ort_take(ort, api->EnableProfiling(options, spec->profile_prefix),
                             ASSAY_E_RUNTIME, "profiling", err));
  return ASSAY_OK;
}

static assay_status set_config(const assay_ort *ort, const assay_ort_session_spec *spec,
                               OrtSessionOptions *options, assay_error *err) {
  for (size_t i = 0; i < spec->n_config; ++i)
    ASSAY_TRY(assay_ort_take(
        ort, ort->api->AddSessionConfigEntry(options, spec->config[i].key, spec->config[i].value),
        ASSAY_E_ARGUMENT, "session option", err));
  if (adds_no_fallback(spec))
    ASSAY_TRY(assay_ort_take(ort, ort->api->AddSessionConfigEntry(options, NO_FALLBACK, "1"),
                             ASSAY_E_RUNTIME, "session option", err));
  if (spec->record_assignment && ort->api_version >= 24 &&
      value_of(spec->config, spec->n_config, RECORD_ASSIGNMENT) == NULL)
    ASSAY_TRY(assay_ort_take(ort, ort->api->AddSessionConfigEntry(options, RECORD_ASSIGNMENT, "1"),
                             ASSAY_E_RUNTIME, "session option", err));
  return ASSAY_OK;
}

static assay_status set_free_dims(const assay_ort *ort, const assay_ort_session_spec *spec,
                                  OrtSessionOptions *options, assay_error *err) {
  for (size_t i = 0; i < spec->n_free_dims; ++i) {
    const assay_ort_pair *dim = &spec->free_dims[i];
    int64_t size = 0;
    assay_status st = assay_text_parse_int(dim->value, "size", 0, INT64_MAX, &size, err);
    if (st) {
      assay_error_in(err, "free dimension '%s'", dim->key);
      return st;
    }
    ASSAY_TRY(assay_ort_take(ort, ort->api->AddFreeDimensionOverrideByName(options, dim->key, size),
                             ASSAY_E_ARGUMENT, "free dimension", err));
  }
  return ASSAY_OK;
}

assay_status assay_ort_spec_apply(assay_ort *ort, const assay_ort_session_spec *spec,
                                  OrtSessionOptions *options, assay_error *err) {
  ASSAY_TRY(set_basics(ort, spec, options, err));
  ASSAY_TRY(set_config(ort, spec, options, err));
  ASSAY_TRY(set_free_dims(ort, spec, options, err));
  return assay_ort_provider_append(ort, spec, options, err);
}

/* Members in the order of their names; pairs are few. `extra` (or NULL) takes its place among them.
 */
static void put_sorted(assay_json_builder *b, const char *key, const assay_ort_pair *pairs,
                       size_t n, const assay_ort_pair *extra) {
  assay_json_begin_object(b, key);
  const char *last = NULL;
  for (;;) {
    const assay_ort_pair *next = NULL;
    for (size_t i = 0; i < n + (extra != NULL); ++i) {
      const assay_ort_pair *p = i < n ? &pairs[i] : extra;
      bool is_left = last == NULL || strcmp(p->key, last) > 0;
      if (is_left && (next == NULL || strcmp(p->key, next->key) < 0)) next = p;
    }
    if (next == NULL) break;
    assay_json_put_string(b, next->key, next->value);
    last = next->key;
  }
  assay_json_end(b);
}

void assay_ort_session_put_options(const assay_ort_session_spec *spec, assay_json_builder *b,
                                   const char *key) {
  const assay_ort_pair no_fallback = {NO_FALLBACK, "1"};
  const char *name = spec->provider != NULL ? spec->provider : "cpu";
  const char *full_name = assay_ort_provider_full_name(name);
  assay_json_begin_object(b, key);
  assay_json_put_string(b, "provider", full_name != NULL ? full_name : name);
  put_sorted(b, "provider_options", spec->provider_options, spec->n_provider_options, NULL);
  assay_json_put_string(b, "plugin_path", spec->plugin_path);
  assay_json_put_int(b, "intra_threads", threads_of(spec->intra_threads));
  assay_json_put_int(b, "inter_threads", threads_of(spec->inter_threads));
  assay_json_put_string(b, "execution_mode", "sequential");
  assay_json_put_int(b, "graph_optimization_level", level_of(spec->graph_optimization_level));
  assay_json_put_bool(b, "memory_arena", !spec->no_memory_arena);
  assay_json_put_bool(b, "deterministic", spec->deterministic);
  put_sorted(b, "config", spec->config, spec->n_config,
             adds_no_fallback(spec) ? &no_fallback : NULL);
  put_sorted(b, "free_dims", spec->free_dims, spec->n_free_dims, NULL);
  assay_json_end(b);
}
