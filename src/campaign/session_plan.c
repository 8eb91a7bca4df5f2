/* Session options of a runtime, and their hash. */
#include "campaign/session_plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "package/fields.h"

/* Appends settings to the pairs; *out_first points at the first. */
static size_t append(const assay_settings *settings, assay_ort_pair *pairs, size_t n,
                     const assay_ort_pair **out_first) {
  *out_first = pairs + n;
  for (size_t i = 0; i < settings->n; i++)
    pairs[n + i] = (assay_ort_pair){settings->items[i].key, settings->items[i].value};
  return n + settings->n;
}

#define NO_FALLBACK "session.disable_cpu_ep_fallback"

/* Operators that the policy lets run on the CPU need a session that lets them; the profile then
 * says which did. */
static bool allows_fallback(const assay_runtime_spec *runtime) {
  for (size_t i = 0; i < runtime->config.n; i++)
    if (strcmp(runtime->config.items[i].key, NO_FALLBACK) == 0) return false;
  return runtime->n_allowed_cpu_ops > 0;
}

assay_status assay_session_plan_init(const assay_runtime_spec *runtime, assay_session_plan *out,
                                     assay_error *err) {
  bool adds_fallback = allows_fallback(runtime);
  size_t n = runtime->options.n + runtime->config.n + 1 + runtime->free_dims.n;
  assay_ort_pair *pairs = assay_alloc_array(n, sizeof *pairs);
  if (pairs == NULL) return assay_fail_memory(err, n * sizeof *pairs);
  assay_ort_session_spec spec = {
      .provider = runtime->provider,
      .plugin_path = runtime->plugin,
      .n_provider_options = runtime->options.n,
      .intra_threads = runtime->intra_threads,
      .inter_threads = runtime->inter_threads,
      .graph_optimization_level = runtime->graph_optimization_level,
      .n_config = runtime->config.n + adds_fallback,
      .n_free_dims = runtime->free_dims.n,
      .no_memory_arena = runtime->no_memory_arena,
      .deterministic = runtime->deterministic,
  };
  n = append(&runtime->options, pairs, 0, &spec.provider_options);
  n = append(&runtime->config, pairs, n, &spec.config);
  if (adds_fallback) pairs[n++] = (assay_ort_pair){NO_FALLBACK, "0"};
  append(&runtime->free_dims, pairs, n, &spec.free_dims);
  *out = (assay_session_plan){.spec = spec, .pairs = pairs};
  return ASSAY_OK;
}

void assay_session_plan_reset(assay_session_plan *plan) {
  assay_free(plan->pairs);
  *plan = (assay_session_plan){0};
}

assay_status assay_session_plan_options(const assay_session_plan *plan, char out_hex[65],
                                        assay_json **out_json, assay_error *err) {
  assay_buf text = {0};
  assay_json *root = NULL;
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, NULL);
  assay_ort_session_put_options(&plan->spec, b, "options");
  assay_json_end(b);
  assay_status st = assay_json_builder_finish(b, &text, err);
  if (st == ASSAY_OK) st = assay_json_parse(text.data, text.size_bytes, &root, err);
  const assay_json *options = st == ASSAY_OK ? assay_json_get(root, "options") : NULL;
  if (st == ASSAY_OK && options == NULL)
    st = assay_fail(err, ASSAY_E_INTERNAL, "the session's options were not written");
  if (st == ASSAY_OK) st = assay_fields_digest(options, out_hex, err);
  if (st == ASSAY_OK && out_json != NULL) st = assay_fields_copy(options, out_json, err);
  assay_json_destroy(root);
  assay_json_builder_destroy(b);
  assay_buf_reset(&text);
  return st;
}
