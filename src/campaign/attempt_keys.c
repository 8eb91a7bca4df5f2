/* What a run is known by: everything that it was made from, by contents. */
#include "campaign/attempt_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "campaign/caches.h"
#include "campaign/judge.h"
#include "campaign/session_plan.h"
#include "campaign/static_shapes.h"

static void put_plan(const assay_plan *plan, const assay_plan_run *run, assay_json_builder *b) {
  const assay_manifest *manifest = &plan->bundles[run->bundle].manifest;
  const assay_campaign_spec *spec = plan->spec;
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "mode", assay_result_mode_name(run->mode));
  if (run->mode == ASSAY_RESULT_PLACEMENT) {
    assay_json_put_int(b, "placement_runs", spec->placement_runs);
  } else {
    assay_json_put_int(b, "iterations", spec->iterations);
    assay_json_put_int(b, "warmup", spec->warmup);
    if (spec->processes > 1) assay_json_put_int(b, "processes", spec->processes);
    assay_json_put_bool(b, "memory", !spec->no_memory);
    assay_json_put_string(b, "mask_input", manifest->mask_input);
    assay_json_put_bool(b, "zero_at_padding", manifest->architecture != NULL);
    assay_json_begin_array(b, "heads");
    for (size_t i = 0; i < manifest->n_heads; i++) {
      const assay_manifest_tensor *head = &manifest->heads[i];
      assay_judge_tolerance tolerance =
          assay_judge_tolerance_of(head, spec->tolerances, spec->n_tolerances);
      assay_json_begin_object(b, NULL);
      assay_json_put_string(b, "name", head->name);
      assay_json_put_string(b, "kind", assay_head_kind_name(head->kind));
      assay_json_put_real(b, "atol", tolerance.atol);
      assay_json_put_real(b, "rtol", tolerance.rtol);
      assay_json_put_bool(b, "asked", tolerance.asked);
      assay_json_end(b);
    }
    assay_json_end(b);
  }
  assay_json_end(b);
}

static assay_status plan_sha256(const assay_plan *plan, const assay_plan_run *run, char out_hex[65],
                                assay_error *err) {
  assay_buf text = {0};
  assay_json_builder *b = assay_json_builder_create();
  put_plan(plan, run, b);
  assay_status st = assay_json_builder_finish(b, &text, err);
  if (st == ASSAY_OK) st = assay_sha256_bytes(text.data, text.size_bytes, out_hex, err);
  assay_json_builder_destroy(b);
  assay_buf_reset(&text);
  return st;
}

/* --- the runtime of a run ------------------------------------------------------------------------
 */

#define KEY_DIGITS 16 /* of each digest, in the name of a folder */

assay_status attempt_place_caches(const assay_plan *plan, const assay_plan_run *run,
                                  assay_settings *settings, assay_error *err) {
  const assay_plan_runtime *runtime = &plan->runtimes[run->runtime];
  const assay_plan_bundle *bundle = &plan->bundles[run->bundle];
  const assay_manifest_case *one = &bundle->manifest.cases[run->case_index];
  char *fresh = assay_path_join(plan->work_folder, ATTEMPT_CACHES_FOLDER);
  char *key = assay_format("%.*s-%.*s-%.*s", KEY_DIGITS, one->file.sha256, KEY_DIGITS,
                           attempt_model_of(bundle, one)->sha256, KEY_DIGITS, runtime->sha256);
  assay_status st = fresh != NULL && key != NULL
                        ? assay_caches_place(&runtime->spec, fresh, key, settings, err)
                        : assay_fail_memory(err, 256);
  assay_free(fresh);
  assay_free(key);
  return st;
}

assay_status attempt_runtime_of(const assay_plan *plan, const assay_plan_run *run,
                                assay_runtime_spec *out, assay_error *err) {
  const assay_runtime_spec *runtime = &plan->runtimes[run->runtime].spec;
  const assay_plan_bundle *bundle = &plan->bundles[run->bundle];
  assay_runtime_spec own = *runtime;
  own.free_dims = own.options = (assay_settings){0};
  char *path = assay_path_join(bundle->folder, bundle->manifest.cases[run->case_index].file.file);
  assay_status st = path != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  if (st == ASSAY_OK)
    st = assay_static_shapes_fix(runtime, &bundle->manifest, path, &own.free_dims, err);
  for (size_t i = 0; i < runtime->options.n && st == ASSAY_OK; i++)
    st = assay_settings_set(&own.options, runtime->options.items[i].key,
                            runtime->options.items[i].value, err);
  if (st == ASSAY_OK) st = attempt_place_caches(plan, run, &own.options, err);
  assay_free(path);
  if (st) {
    attempt_runtime_reset(&own);
    return st;
  }
  *out = own;
  return ASSAY_OK;
}

void attempt_runtime_reset(assay_runtime_spec *runtime) {
  assay_settings_reset(&runtime->free_dims);
  assay_settings_reset(&runtime->options);
}

/* Effective options of a runtime whose runs have shapes or folders of their own. */
static assay_status own_options(const assay_plan *plan, const assay_plan_run *run, char out_hex[65],
                                assay_error *err) {
  assay_runtime_spec own = {0};
  assay_session_plan session = {0};
  ASSAY_TRY(attempt_runtime_of(plan, run, &own, err));
  assay_status st = assay_session_plan_init(&own, &session, err);
  if (st == ASSAY_OK) st = assay_session_plan_options(&session, out_hex, /*out_json=*/NULL, err);
  assay_session_plan_reset(&session);
  attempt_runtime_reset(&own);
  return st;
}

assay_status assay_attempt_keys(const assay_plan *plan, size_t i, assay_result_keys *out,
                                assay_error *err) {
  const assay_plan_run *run = &plan->runs[i];
  const assay_plan_runtime *runtime = &plan->runtimes[run->runtime];
  const assay_plan_bundle *bundle = &plan->bundles[run->bundle];
  const assay_manifest_case *one = &bundle->manifest.cases[run->case_index];
  assay_result_keys keys = {0};
  memcpy(keys.model_sha256, attempt_model_of(bundle, one)->sha256, sizeof keys.model_sha256);
  memcpy(keys.external_sha256, bundle->external_sha256, sizeof keys.external_sha256);
  memcpy(keys.case_sha256, one->file.sha256, sizeof keys.case_sha256);
  memcpy(keys.runtime_sha256, runtime->sha256, sizeof keys.runtime_sha256);
  memcpy(keys.library_sha256, runtime->library_sha256, sizeof keys.library_sha256);
  memcpy(keys.options_sha256, runtime->options_sha256, sizeof keys.options_sha256);
  memcpy(keys.tool_sha256, plan->tool_sha256, sizeof keys.tool_sha256);
  if (runtime->spec.is_static || assay_caches_are_named(&runtime->spec))
    ASSAY_TRY(own_options(plan, run, keys.options_sha256, err));
  ASSAY_TRY(plan_sha256(plan, run, keys.plan_sha256, err));
  *out = keys;
  return ASSAY_OK;
}

char *assay_attempt_folder(const assay_plan *plan, size_t i) {
  const assay_plan_run *run = &plan->runs[i];
  const assay_plan_bundle *bundle = &plan->bundles[run->bundle];
  char *relative = assay_result_folder(plan->runtimes[run->runtime].spec.name, bundle->name,
                                       bundle->manifest.cases[run->case_index].name, run->mode);
  char *path = relative != NULL ? assay_path_join(plan->spec->package_path, relative) : NULL;
  assay_free(relative);
  return path;
}
