/* Figures and verdicts of one run. The arithmetic is measure's and evidence's; here is which array
 * meets which, and what the outcome means. */
#include "campaign/judge.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/tensor.h"
#include "base/text.h"
#include "campaign/worker.h"
#include "evidence/compiles.h"
#include "evidence/coverage.h"
#include "evidence/placement.h"
#include "measure/compare.h"
#include "measure/stats.h"
#include "package/fields.h"
#include "package/npz.h"
#include "package/reference_kind.h"

/* --- numbers -------------------------------------------------------------------------------------
 */

assay_judge_tolerance assay_judge_tolerance_of(const assay_manifest_tensor *head,
                                               const assay_package_tolerance *asked,
                                               size_t n_asked) {
  assay_judge_tolerance tolerance = {.atol = head->atol, .rtol = head->rtol};
  for (int for_head = 0; for_head <= 1; for_head++) {
    for (size_t i = 0; i < n_asked; i++) {
      bool applies = for_head ? asked[i].head != NULL && strcmp(asked[i].head, head->name) == 0
                              : asked[i].head == NULL;
      if (applies && asked[i].has_atol) tolerance.atol = asked[i].atol;
      if (applies && asked[i].has_rtol) tolerance.rtol = asked[i].rtol;
      tolerance.asked |= applies;
    }
  }
  return tolerance;
}

/* What all comparisons of one case share. */
typedef struct numbers {
  const assay_manifest *manifest;
  const assay_package_tolerance *asked;
  size_t n_asked;
  const assay_tensor_map *arrays;  /* inputs and references */
  const assay_tensor_map *outputs; /* of the runtime */
  const assay_tensor *mask;        /* in arrays, or NULL */
  float *valid;                    /* [n_valid] the mask as float32; owned */
  size_t n_valid;
  assay_result *result;
} numbers;

static assay_status load_mask(numbers *n, assay_error *err) {
  if (n->manifest->mask_input == NULL) return ASSAY_OK;
  n->mask = assay_tensor_map_find(n->arrays, n->manifest->mask_input);
  if (n->mask == NULL)
    return assay_fail(err, ASSAY_E_FORMAT, "the case holds no array '%s', which is the mask",
                      n->manifest->mask_input);
  n->n_valid = n->mask->n_elems;
  n->valid = assay_alloc_array(n->n_valid, sizeof *n->valid);
  if (n->valid == NULL) return assay_fail_memory(err, n->n_valid * sizeof *n->valid);
  for (size_t i = 0; i < n->n_valid; i++)
    n->valid[i] = assay_tensor_get_real(n->mask, i) != 0 ? 1.0f : 0.0f;
  return ASSAY_OK;
}

/* The mask applies to arrays whose leading axes are the mask's: [B,N,…] for a mask [B,N]. */
static bool mask_applies(const assay_tensor *mask, const assay_tensor *array) {
  if (mask == NULL || array->rank < mask->rank) return false;
  for (int i = 0; i < mask->rank; i++)
    if (mask->dims[i] != array->dims[i]) return false;
  return true;
}

static bool is_narrow(assay_dtype dtype) {
  return dtype == ASSAY_DTYPE_F16 || dtype == ASSAY_DTYPE_BF16;
}

/* An FP32 reference for an FP16 output, as float64: exactly the same numbers, in a type that the
 * comparison takes for one of higher precision. */
static assay_status widen(const assay_tensor *want, assay_tensor *out, assay_error *err) {
  ASSAY_TRY(assay_tensor_init(out, ASSAY_DTYPE_F64, want->rank, want->dims, err));
  double *to = assay_tensor_f64(out);
  for (size_t i = 0; i < want->n_elems; i++) to[i] = assay_tensor_get_real(want, i);
  return ASSAY_OK;
}

static assay_result_point point_of(assay_compare_point point) {
  return (assay_result_point){.index = point.index, .got = point.got, .want = point.want};
}

static void fill_comparison(const assay_compare_result *r, assay_result_comparison *out) {
  out->passed = r->passed;
  assay_text_printable(r->reason, out->reason, sizeof out->reason);
  out->same_shape = r->same_shape;
  out->same_dtype = r->same_dtype;
  out->n_compared = (int64_t)r->n_compared;
  out->n_finite_pairs = (int64_t)r->n_finite_pairs;
  out->n_class_mismatch = (int64_t)r->n_class_mismatch;
  out->first_class_mismatch = point_of(r->first_class_mismatch);
  out->n_nonfinite_got = (int64_t)r->n_nonfinite_got;
  out->n_nonfinite_want = (int64_t)r->n_nonfinite_want;
  out->n_nan_got = (int64_t)r->n_nan_got;
  out->n_nan_want = (int64_t)r->n_nan_want;
  out->n_denormal_got = (int64_t)r->n_denormal_got;
  out->n_denormal_want = (int64_t)r->n_denormal_want;
  out->max_abs = r->max_abs;
  out->max_abs_at = point_of(r->max_abs_at);
  out->mae = r->mae;
  out->rmse = r->rmse;
  out->rel_l2 = r->rel_l2;
  out->max_tol_multiple = r->max_tol_multiple;
  out->max_tol_at = point_of(r->max_tol_at);
  out->n_over = (int64_t)r->n_over;
  out->needed_atol = r->needed_atol;
  out->needed_rtol = r->needed_rtol;
  out->n_argmax = (int64_t)r->n_argmax;
  out->n_argmax_changed = (int64_t)r->n_argmax_changed;
  out->n_argmax_changed_over = (int64_t)r->n_argmax_changed_over;
  out->argmax_changed_max_margin = r->argmax_changed_max_margin;
  out->n_padding = (int64_t)r->n_padding;
  out->n_padding_not_zero = (int64_t)r->n_padding_not_zero;
  out->first_padding_not_zero = point_of(r->first_padding_not_zero);
  out->padding_max_abs = r->padding_max_abs;
}

/* A comparison added to the result, with what is known before comparing. */
static assay_status add_comparison(numbers *n, const assay_manifest_tensor *head,
                                   const assay_reference_kind *reference,
                                   assay_judge_tolerance tolerance, assay_result_comparison **out,
                                   assay_error *err) {
  assay_result *result = n->result;
  void *block = result->comparisons;
  size_t size = sizeof *result->comparisons;
  ASSAY_TRY(
      assay_resize(&block, result->n_comparisons * size, (result->n_comparisons + 1) * size, err));
  result->comparisons = block;
  assay_result_comparison *c = &result->comparisons[result->n_comparisons++];
  *c = (assay_result_comparison){
      .gate = reference->gates, .atol = tolerance.atol, .rtol = tolerance.rtol};
  c->first_class_mismatch.index = c->max_abs_at.index = c->max_tol_at.index = -1;
  c->first_padding_not_zero.index = -1;
  c->head = assay_strdup(head->name);
  c->reference = assay_strdup(reference->name);
  c->kind = assay_strdup(assay_head_kind_name(head->kind));
  if (c->head == NULL || c->reference == NULL || c->kind == NULL)
    return assay_fail_memory(err, strlen(head->name) + 1);
  *out = c;
  return ASSAY_OK;
}

/* Our own exports promise exact zeros at padding; a graph from elsewhere does not, and its padding
 * is shown without being judged. */
static assay_compare_spec compare_spec(const numbers *n, const assay_manifest_tensor *head,
                                       const assay_tensor *got, assay_judge_tolerance tolerance) {
  assay_compare_spec spec = {
      .atol = tolerance.atol,
      .rtol = tolerance.rtol,
      .classes = head->kind == ASSAY_HEAD_CLASSES,
      .exact = head->kind == ASSAY_HEAD_CONSTANT,
      .tolerant_integers = tolerance.asked,
  };
  if (mask_applies(n->mask, got)) {
    spec.valid = n->valid;
    spec.n_positions = n->n_valid;
    spec.zero_at_padding = n->manifest->architecture != NULL;
  }
  return spec;
}

static assay_status compare_one(numbers *n, const assay_manifest_tensor *head,
                                const assay_reference_kind *reference, const assay_tensor *want,
                                assay_error *err) {
  assay_judge_tolerance tolerance = assay_judge_tolerance_of(head, n->asked, n->n_asked);
  assay_result_comparison *c = NULL;
  ASSAY_TRY(add_comparison(n, head, reference, tolerance, &c, err));
  const assay_tensor *got = assay_tensor_map_find(n->outputs, head->name);
  if (got == NULL) {
    snprintf(c->reason, sizeof c->reason, "the runtime gave no such output");
    return ASSAY_OK;
  }
  assay_shape_text(got->dims, got->rank, c->shape, sizeof c->shape);
  snprintf(c->dtype, sizeof c->dtype, "%s", assay_dtype_name(got->dtype));
  assay_compare_spec spec = compare_spec(n, head, got, tolerance);
  assay_compare_result compared = {0};
  assay_tensor wide = {0};
  assay_status st = ASSAY_OK;
  if (is_narrow(got->dtype) && want->dtype == ASSAY_DTYPE_F32) {
    st = widen(want, &wide, err);
    want = &wide;
  }
  if (st == ASSAY_OK) st = assay_compare_run(&spec, got, want, &compared, err);
  if (st == ASSAY_OK) fill_comparison(&compared, c);
  assay_tensor_reset(&wide);
  return st;
}

/* Why numbers are not a pass: the first reason stays. Takes text. */
static assay_status blame(assay_result *result, assay_verdict verdict, char *text,
                          assay_error *err) {
  if (text == NULL) return assay_fail_memory(err, 256);
  if (result->numbers != ASSAY_VERDICT_FAIL) result->numbers = verdict;
  if (result->numbers_reason == NULL) result->numbers_reason = assay_fields_printable(text);
  assay_free(text);
  return result->numbers_reason != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
}

static assay_status compare_head(numbers *n, const assay_manifest_tensor *head, assay_error *err) {
  assay_result *result = n->result;
  size_t n_references = 0;
  for (int i = 0; i < ASSAY_N_REFERENCE_KINDS; i++) {
    const assay_reference_kind *kind = &ASSAY_REFERENCE_KINDS[i];
    char *name = assay_format("ref.%s.%s", kind->name, head->name);
    if (name == NULL) return assay_fail_memory(err, strlen(head->name) + 16);
    const assay_tensor *want = assay_tensor_map_find(n->arrays, name);
    assay_free(name);
    if (want == NULL) continue;
    ASSAY_TRY(compare_one(n, head, kind, want, err));
    const assay_result_comparison *c = &result->comparisons[result->n_comparisons - 1];
    n_references += c->gate;
    if (c->gate && !c->passed)
      ASSAY_TRY(blame(result, ASSAY_VERDICT_FAIL,
                      assay_format("head '%s' against %s: %s", head->name, kind->name, c->reason),
                      err));
  }
  if (n_references > 0) return ASSAY_OK;
  return blame(result, ASSAY_VERDICT_UNKNOWN,
               assay_format("head '%s': the case holds no reference for it", head->name), err);
}

/* The set of heads must be that of the manifest. */
static assay_status check_heads(numbers *n, assay_error *err) {
  for (size_t i = 0; i < n->outputs->n; i++) {
    const char *name = n->outputs->items[i].name;
    if (assay_manifest_head(n->manifest, name) == NULL)
      ASSAY_TRY(blame(n->result, ASSAY_VERDICT_FAIL,
                      assay_format("output '%s' is not among the manifest's heads", name), err));
  }
  for (size_t i = 0; i < n->manifest->n_heads; i++) {
    const char *name = n->manifest->heads[i].name;
    if (assay_tensor_map_find(n->outputs, name) == NULL)
      ASSAY_TRY(blame(n->result, ASSAY_VERDICT_FAIL,
                      assay_format("head '%s': the runtime gave no such output", name), err));
  }
  return ASSAY_OK;
}

static assay_status judge_loaded(numbers *n, assay_error *err) {
  ASSAY_TRY(load_mask(n, err));
  n->result->numbers = ASSAY_VERDICT_PASS; /* until something speaks against it */
  assay_status st = check_heads(n, err);
  for (size_t i = 0; i < n->manifest->n_heads && st == ASSAY_OK; i++)
    st = compare_head(n, &n->manifest->heads[i], err);
  if (st) n->result->numbers = ASSAY_VERDICT_UNKNOWN;
  return st;
}

assay_status assay_judge_arrays(const assay_manifest *manifest, const assay_tensor_map *arrays,
                                const assay_tensor_map *outputs,
                                const assay_package_tolerance *asked, size_t n_asked,
                                assay_result *result, assay_error *err) {
  numbers n = {.manifest = manifest,
               .asked = asked,
               .n_asked = n_asked,
               .arrays = arrays,
               .outputs = outputs,
               .result = result};
  assay_status st = judge_loaded(&n, err);
  assay_free(n.valid);
  return st;
}

assay_status assay_judge_numbers(const assay_manifest *manifest, const char *case_path,
                                 const char *outputs_path, const assay_package_tolerance *asked,
                                 size_t n_asked, assay_result *result, assay_error *err) {
  assay_tensor_map arrays = {0}, outputs = {0};
  assay_status st = assay_npz_read(case_path, /*limits=*/NULL, &arrays, err);
  if (st == ASSAY_OK) st = assay_npz_read(outputs_path, /*limits=*/NULL, &outputs, err);
  if (st == ASSAY_OK)
    st = assay_judge_arrays(manifest, &arrays, &outputs, asked, n_asked, result, err);
  assay_tensor_map_reset(&arrays);
  assay_tensor_map_reset(&outputs);
  return st;
}

/* --- timing --------------------------------------------------------------------------------------
 */

static void fill_stats(const assay_stats *stats, assay_result_stats *out) {
  *out = (assay_result_stats){.n = (int64_t)stats->n,
                              .min_ns = stats->min_ns,
                              .max_ns = stats->max_ns,
                              .mean_ns = stats->mean_ns,
                              .stddev_ns = stats->stddev_ns,
                              .lag1 = stats->lag1,
                              .drift = stats->drift,
                              .n_outliers = (int64_t)stats->n_outliers};
  for (size_t i = 0; i < N_OF(out->percentiles); i++) {
    const assay_percentile *p = &stats->percentiles[i];
    out->percentiles[i] = (assay_result_percentile){.p = p->p,
                                                    .value_ns = p->value_ns,
                                                    .has_low = p->has_low,
                                                    .has_high = p->has_high,
                                                    .low_ns = p->low_ns,
                                                    .high_ns = p->high_ns,
                                                    .low_rank = (int64_t)p->low_rank,
                                                    .high_rank = (int64_t)p->high_rank,
                                                    .coverage = p->coverage};
  }
}

static assay_status check_samples(const assay_tensor *samples, int64_t n, assay_error *err) {
  if (samples->dtype != ASSAY_DTYPE_I64 || samples->rank != 1 || samples->dims[0] != n)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "samples: expected %lld int64 on one axis, found %d axes of %s", (long long)n,
                      samples->rank, assay_dtype_name(samples->dtype));
  const int64_t *ns = assay_tensor_i64(samples);
  for (int64_t i = 0; i < n; i++)
    if (ns[i] <= 0)
      return assay_fail(err, ASSAY_E_FORMAT,
                        "samples: expected times above zero, found %lld ns at %lld",
                        (long long)ns[i], (long long)i);
  return ASSAY_OK;
}

assay_status assay_judge_timing(const char *samples_path, assay_result *result, assay_error *err) {
  assay_tensor samples = {0};
  assay_stats stats = {0};
  int64_t n = result->timing.iterations;
  assay_status st = assay_npy_read(samples_path, /*limits=*/NULL, &samples, err);
  if (st == ASSAY_OK) st = check_samples(&samples, n, err);
  if (st == ASSAY_OK) st = assay_stats_run(assay_tensor_i64(&samples), (size_t)n, &stats, err);
  if (st == ASSAY_OK) fill_stats(&stats, &result->timing.stats);
  result->timed = st == ASSAY_OK ? ASSAY_VERDICT_PASS : ASSAY_VERDICT_UNKNOWN;
  assay_tensor_reset(&samples);
  return st;
}

/* --- placement -----------------------------------------------------------------------------------
 */

static assay_verdict verdict_of(assay_placement_verdict verdict) {
  switch (verdict) {
  case ASSAY_PLACEMENT_PASS:
    return ASSAY_VERDICT_PASS;
  case ASSAY_PLACEMENT_FAIL:
    return ASSAY_VERDICT_FAIL;
  case ASSAY_PLACEMENT_UNKNOWN:
    break;
  }
  return ASSAY_VERDICT_UNKNOWN;
}

static assay_status fill_counts(const assay_placement *placement, assay_result_placement *out,
                                assay_error *err) {
  out->counts = assay_alloc_array(placement->n_counts, sizeof *out->counts);
  if (out->counts == NULL) return assay_fail_memory(err, placement->n_counts * sizeof *out->counts);
  for (size_t i = 0; i < placement->n_counts; i++) {
    const assay_placement_count *from = &placement->counts[i];
    assay_result_placement_count *to = &out->counts[out->n_counts++];
    to->provider = assay_fields_printable(from->provider);
    to->op = assay_fields_printable(from->op);
    if (to->provider == NULL || to->op == NULL) return assay_fail_memory(err, 64);
    to->n_nodes = (int64_t)from->n_nodes;
    to->n_events = (int64_t)from->n_events;
    to->duration_us = from->duration_us;
  }
  return ASSAY_OK;
}

static assay_status fill_offenders(const assay_placement *placement, assay_result_placement *out,
                                   assay_error *err) {
  out->offenders = assay_alloc_array(placement->n_offenders, sizeof *out->offenders);
  if (out->offenders == NULL)
    return assay_fail_memory(err, placement->n_offenders * sizeof *out->offenders);
  for (size_t i = 0; i < placement->n_offenders; i++) {
    out->offenders[i] = assay_fields_printable(placement->offenders[i]);
    if (out->offenders[i] == NULL) return assay_fail_memory(err, 64);
    out->n_offenders++;
  }
  return ASSAY_OK;
}

static assay_status fill_placement(const assay_placement *placement, const char *provider,
                                   assay_result_placement *out, assay_error *err) {
  out->known = true;
  out->verdict = verdict_of(placement->verdict);
  assay_text_printable(placement->reason, out->reason, sizeof out->reason);
  out->n_compute = (int64_t)placement->n_compute;
  out->n_on_provider = (int64_t)placement->n_on_provider;
  out->n_compiled = (int64_t)placement->n_compiled;
  out->n_copies = (int64_t)placement->n_copies;
  out->copied_bytes = placement->copied_bytes;
  out->n_control_flow = (int64_t)placement->n_control_flow;
  out->n_allowed = (int64_t)placement->n_allowed;
  out->n_model_runs = (int64_t)placement->n_model_runs;
  out->log_agrees = placement->log_agrees;
  out->repaired = placement->repaired;
  out->provider = assay_strdup(provider);
  if (out->provider == NULL) return assay_fail_memory(err, strlen(provider) + 1);
  ASSAY_TRY(fill_counts(placement, out, err));
  return fill_offenders(placement, out, err);
}

static assay_status fill_coverage(const assay_coverage *coverage, assay_result_coverage *out,
                                  assay_error *err) {
  out->judged = true;
  out->known = coverage->known;
  assay_text_printable(coverage->reason, out->reason, sizeof out->reason);
  out->n_nodes = (int64_t)coverage->n_nodes;
  out->n_covered = (int64_t)coverage->n_covered;
  out->n_elsewhere = (int64_t)coverage->n_elsewhere;
  out->n_unknown = (int64_t)coverage->n_unknown;
  out->ops = assay_alloc_array(coverage->n_ops + 1, sizeof *out->ops);
  out->offenders = assay_alloc_array(coverage->n_offenders + 1, sizeof *out->offenders);
  if (out->ops == NULL || out->offenders == NULL) return assay_fail_memory(err, 64);
  for (size_t i = 0; i < coverage->n_ops; i++) {
    const assay_coverage_op *from = &coverage->ops[i];
    assay_result_coverage_op *to = &out->ops[out->n_ops++];
    to->op = assay_fields_printable(from->op);
    if (to->op == NULL) return assay_fail_memory(err, 64);
    to->n_nodes = (int64_t)from->n_nodes;
    to->n_covered = (int64_t)from->n_covered;
    to->n_elsewhere = (int64_t)from->n_elsewhere;
  }
  for (size_t i = 0; i < coverage->n_offenders; i++) {
    out->offenders[i] = assay_fields_printable(coverage->offenders[i]);
    if (out->offenders[i] == NULL) return assay_fail_memory(err, 64);
    out->n_offenders++;
  }
  return ASSAY_OK;
}

/* Where nothing is known of the placement, nothing is of what it covers. */
static assay_status judge_coverage(const assay_coverage_spec *spec, assay_result *result,
                                   assay_error *err) {
  assay_coverage coverage = {0};
  if (result->placement.verdict == ASSAY_VERDICT_UNKNOWN)
    snprintf(coverage.reason, sizeof coverage.reason, "the placement is unknown");
  else
    ASSAY_TRY(assay_coverage_judge(spec, &coverage, err));
  assay_status st = fill_coverage(&coverage, &result->coverage, err);
  assay_coverage_reset(&coverage);
  return st;
}

static assay_status judge_files(const char *profile_path, const char *log_path,
                                const assay_runtime_spec *runtime, int64_t n_runs,
                                assay_result *result, assay_error *err) {
  assay_placement placement = {0};
  assay_placement_spec spec = {.profile_path = profile_path,
                               .log_path = log_path,
                               .provider = runtime->provider,
                               .n_runs = (size_t)n_runs,
                               .allowed_cpu_ops = (const char *const *)runtime->allowed_cpu_ops,
                               .n_allowed_cpu_ops = runtime->n_allowed_cpu_ops,
                               .max_copies = runtime->max_copies};
  assay_status st = assay_placement_judge(&spec, &placement, err);
  if (st == ASSAY_OK) st = fill_placement(&placement, runtime->provider, &result->placement, err);
  result->placed = st == ASSAY_OK ? result->placement.verdict : ASSAY_VERDICT_UNKNOWN;
  assay_placement_reset(&placement);
  return st;
}

assay_status assay_judge_placement(const char *folder, const char *model_path,
                                   const assay_runtime_spec *runtime, int64_t n_runs,
                                   assay_result *result, assay_error *err) {
  char *profile = assay_path_join(folder, ASSAY_WORKER_PROFILE_FILE);
  char *log = assay_path_join(folder, ASSAY_WORKER_LOG_FILE);
  char *assignment = assay_path_join(folder, ASSAY_WORKER_ASSIGNMENT_FILE);
  assay_coverage_spec spec = {.model_path = model_path,
                              .profile_path = profile,
                              .log_path = log,
                              .assignment_path = assignment,
                              .provider = runtime->provider};
  assay_status st = profile != NULL && log != NULL && assignment != NULL
                        ? judge_files(profile, log, runtime, n_runs, result, err)
                        : assay_fail_memory(err, strlen(folder));
  if (st == ASSAY_OK) st = judge_coverage(&spec, result, err);
  assay_free(profile);
  assay_free(log);
  assay_free(assignment);
  return st;
}

/* --- compiling -----------------------------------------------------------------------------------
 */

assay_status assay_judge_compiles(const char *folder, const char *provider, assay_result *result,
                                  assay_error *err) {
  const bool is_placement = result->mode == ASSAY_RESULT_PLACEMENT;
  assay_verdict *verdict = is_placement ? &result->placed : &result->timed;
  assay_compiles compiles = {0};
  char *log = assay_path_join(folder, ASSAY_WORKER_LOG_FILE);
  if (log == NULL) return assay_fail_memory(err, strlen(folder));
  assay_status st = ASSAY_OK;
  if (assay_path_kind_of(log) == ASSAY_PATH_FILE)
    st = assay_compiles_read(log, provider, is_placement, &compiles, err);
  assay_free(log);
  if (st) return st;
  result->compiles = (assay_result_compiles){.known = compiles.visible,
                                             .session = (int64_t)compiles.n_session,
                                             .first = (int64_t)compiles.n_first,
                                             .later = (int64_t)compiles.n_later};
  if (compiles.n_later > 0 && *verdict == ASSAY_VERDICT_PASS) *verdict = ASSAY_VERDICT_FAIL;
  return ASSAY_OK;
}
