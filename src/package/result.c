/* Reads and writes result.json. The format stands in result.h; the tables below are its members in
 * the order of the file, for reading and writing alike. */
#include "package/result.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "package/fields.h"

#define RESULT_MAX_BYTES ((size_t)64 << 20)
#define PERCENTILE_RULE  "linear interpolation between order statistics (type 7)"

/* --- words ---------------------------------------------------------------------------------------
 */

static const char *const mode_words[] = {"timing", "placement"};
static const char *const status_words[] = {"missing", "done", "failed", "crashed", "timed_out"};
static const char *const stage_words[] = {"",        "start",   "load_library", "provider",
                                          "session", "bind",    "first_run",    "warmup",
                                          "timing",  "outputs", "compare",      "placement"};
static const char *const verdict_words[] = {"unknown", "pass", "fail", "not_applicable"};

static const char *word_at(const char *const *words, size_t n, size_t i) {
  return i < n ? words[i] : "?";
}

static bool word_find(const char *const *words, size_t n, const char *text, size_t *out) {
  for (size_t i = 0; i < n; i++) {
    if (strcmp(words[i], text) != 0) continue;
    *out = i;
    return true;
  }
  return false;
}

const char *assay_result_mode_name(assay_result_mode mode) {
  return word_at(mode_words, N_OF(mode_words), mode);
}

const char *assay_result_status_name(assay_result_status status) {
  return word_at(status_words, N_OF(status_words), status);
}

const char *assay_result_stage_name(assay_result_stage stage) {
  return word_at(stage_words, N_OF(stage_words), stage);
}

const char *assay_verdict_name(assay_verdict verdict) {
  return word_at(verdict_words, N_OF(verdict_words), verdict);
}

bool assay_result_mode_of_name(const char *name, assay_result_mode *out) {
  size_t i = 0;
  if (!word_find(mode_words, N_OF(mode_words), name, &i)) return false;
  *out = (assay_result_mode)i;
  return true;
}

bool assay_result_status_of_name(const char *name, assay_result_status *out) {
  size_t i = 0;
  if (!word_find(status_words, N_OF(status_words), name, &i)) return false;
  *out = (assay_result_status)i;
  return true;
}

bool assay_result_stage_of_name(const char *name, assay_result_stage *out) {
  size_t i = 0;
  if (!word_find(stage_words, N_OF(stage_words), name, &i)) return false;
  *out = (assay_result_stage)i;
  return true;
}

bool assay_verdict_of_name(const char *name, assay_verdict *out) {
  size_t i = 0;
  if (!word_find(verdict_words, N_OF(verdict_words), name, &i)) return false;
  *out = (assay_verdict)i;
  return true;
}

/* --- tables --------------------------------------------------------------------------------------
 */

#define KEY(member) ASSAY_FIELD(assay_result_keys, member, SHA256_OR_EMPTY)
static const assay_field key_fields[] = {
    KEY(model_sha256),   KEY(external_sha256), KEY(case_sha256), KEY(runtime_sha256),
    KEY(library_sha256), KEY(options_sha256),  KEY(plan_sha256), KEY(tool_sha256),
};
#undef KEY

static const assay_field process_fields[] = {
    ASSAY_FIELD(assay_result_process, exited, BOOL),
    ASSAY_FIELD(assay_result_process, exit_code, INT32),
    ASSAY_FIELD(assay_result_process, signal, INT32),
    ASSAY_FIELD(assay_result_process, timed_out, BOOL),
    ASSAY_FIELD(assay_result_process, left_children, BOOL),
    ASSAY_FIELD(assay_result_process, elapsed_ns, COUNT),
    ASSAY_FIELD(assay_result_process, max_rss_bytes, COUNT),
};

static const assay_field timing_fields[] = {
    ASSAY_FIELD(assay_result_timing, session_create_ns, COUNT),
    ASSAY_FIELD(assay_result_timing, first_run_ns, COUNT),
    ASSAY_FIELD(assay_result_timing, warmup, COUNT),
    ASSAY_FIELD(assay_result_timing, iterations, COUNT),
    ASSAY_FIELD(assay_result_timing, outputs_identical, BOOL),
};

static const assay_field stats_fields[] = {
    ASSAY_FIELD(assay_result_stats, n, COUNT),
    ASSAY_FIELD(assay_result_stats, min_ns, INT),
    ASSAY_FIELD(assay_result_stats, max_ns, INT),
    ASSAY_FIELD(assay_result_stats, mean_ns, REAL),
    ASSAY_FIELD(assay_result_stats, stddev_ns, REAL),
    ASSAY_FIELD(assay_result_stats, lag1, REAL),
    ASSAY_FIELD(assay_result_stats, drift, REAL),
    ASSAY_FIELD(assay_result_stats, n_outliers, COUNT),
};

static const assay_field percentile_fields[] = {
    ASSAY_FIELD(assay_result_percentile, p, REAL),
    ASSAY_FIELD(assay_result_percentile, value_ns, REAL),
    ASSAY_FIELD(assay_result_percentile, low_rank, COUNT),
    ASSAY_FIELD(assay_result_percentile, high_rank, COUNT),
    ASSAY_FIELD(assay_result_percentile, coverage, REAL),
};

static const assay_field point_fields[] = {
    ASSAY_FIELD(assay_result_point, index, INT),
    ASSAY_FIELD(assay_result_point, got, REAL),
    ASSAY_FIELD(assay_result_point, want, REAL),
};

#define CMP(member, kind) ASSAY_FIELD(assay_result_comparison, member, kind)
#define POINT(member)     ASSAY_FIELD_SUB(assay_result_comparison, member, point_fields)
static const assay_field comparison_fields[] = {
    CMP(head, STRING),
    CMP(reference, STRING),
    CMP(gate, BOOL),
    CMP(kind, STRING),
    CMP(atol, REAL),
    CMP(rtol, REAL),
    CMP(passed, BOOL),
    CMP(reason, TEXT),
    CMP(shape, TEXT),
    CMP(dtype, TEXT),
    CMP(same_shape, BOOL),
    CMP(same_dtype, BOOL),
    CMP(n_compared, COUNT),
    CMP(n_finite_pairs, COUNT),
    CMP(n_class_mismatch, COUNT),
    POINT(first_class_mismatch),
    CMP(n_nonfinite_got, COUNT),
    CMP(n_nonfinite_want, COUNT),
    CMP(n_nan_got, COUNT),
    CMP(n_nan_want, COUNT),
    CMP(n_denormal_got, COUNT),
    CMP(n_denormal_want, COUNT),
    CMP(max_abs, REAL),
    POINT(max_abs_at),
    CMP(mae, REAL),
    CMP(rmse, REAL),
    CMP(rel_l2, REAL),
    CMP(max_tol_multiple, REAL),
    POINT(max_tol_at),
    CMP(n_over, COUNT),
    CMP(needed_atol, REAL),
    CMP(needed_rtol, REAL),
    CMP(n_argmax, COUNT),
    CMP(n_argmax_changed, COUNT),
    CMP(n_argmax_changed_over, COUNT),
    CMP(argmax_changed_max_margin, REAL),
    CMP(n_padding, COUNT),
    CMP(n_padding_not_zero, COUNT),
    POINT(first_padding_not_zero),
    CMP(padding_max_abs, REAL),
};
#undef POINT
#undef CMP

#define PLACED(member, kind) ASSAY_FIELD(assay_result_placement, member, kind)
static const assay_field placement_fields[] = {
    PLACED(reason, TEXT),         PLACED(provider, STRING),    PLACED(n_compute, COUNT),
    PLACED(n_on_provider, COUNT), PLACED(n_copies, COUNT),     PLACED(n_control_flow, COUNT),
    PLACED(n_allowed, COUNT),     PLACED(n_model_runs, COUNT), PLACED(log_agrees, BOOL),
    PLACED(repaired, BOOL),       PLACED(n_compiled, COUNT),   PLACED(copied_bytes, INT),
};
#undef PLACED

static const assay_field count_fields[] = {
    ASSAY_FIELD(assay_result_placement_count, provider, STRING),
    ASSAY_FIELD(assay_result_placement_count, op, STRING),
    ASSAY_FIELD(assay_result_placement_count, n_nodes, COUNT),
    ASSAY_FIELD(assay_result_placement_count, n_events, COUNT),
    ASSAY_FIELD(assay_result_placement_count, duration_us, COUNT),
};

static const assay_field file_fields[] = {
    ASSAY_FIELD(assay_result_file, file, PATH),
    ASSAY_FIELD(assay_result_file, sha256, SHA256),
    ASSAY_FIELD(assay_result_file, size_bytes, SIZE),
};

/* Of assay_result itself; the caller reads the members named in root_others. */
static const assay_field root_fields[] = {
    ASSAY_FIELD(assay_result, runtime, NAME),
    ASSAY_FIELD(assay_result, bundle, NAME),
    {"case", ASSAY_FIELD_NAME, offsetof(assay_result, case_name), sizeof(char *), NULL, 0},
    ASSAY_FIELD(assay_result, reason, STRING_OR_NULL),
    ASSAY_FIELD_SUB(assay_result, keys, key_fields),
    ASSAY_FIELD(assay_result, tool_version, STRING),
    ASSAY_FIELD(assay_result, started_at, TEXT),
    ASSAY_FIELD(assay_result, provider, STRING),
    ASSAY_FIELD(assay_result, machine, STRING_OR_NULL),
    ASSAY_FIELD(assay_result, numbers_reason, STRING_OR_NULL),
};
static const char *const root_others[] = {
    "schema",  "mode",        "status",    "stage",    "process", "library",  "options",
    "timing",  "comparisons", "placement", "graph",    "caches",  "compiles", "coverage",
    "kernels", "processes",   "memory",    "verdicts", "files",   "warnings"};

/* --- reading -------------------------------------------------------------------------------------
 */

static assay_status read_word(const assay_json *object, const char *key, const char *const *words,
                              size_t n, size_t *out, assay_error *err) {
  const char *text = NULL;
  ASSAY_TRY(assay_json_need_string(object, key, &text, err));
  if (word_find(words, n, text, out)) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT, "'%s': expected a word such as '%s', found '%s'", key,
                    words[n - 1], text);
}

static assay_status read_words(const assay_json *root, assay_result *out, assay_error *err) {
  size_t i = 0;
  ASSAY_TRY(read_word(root, "mode", mode_words, N_OF(mode_words), &i, err));
  out->mode = (assay_result_mode)i;
  ASSAY_TRY(read_word(root, "status", status_words, N_OF(status_words), &i, err));
  out->status = (assay_result_status)i;
  if (assay_fields_is_null(root, "stage")) return ASSAY_OK;
  ASSAY_TRY(read_word(root, "stage", stage_words, N_OF(stage_words), &i, err));
  if (i == ASSAY_STAGE_NONE)
    return assay_fail(err, ASSAY_E_FORMAT, "'stage': expected null or a word, found ''");
  out->stage = (assay_result_stage)i;
  return ASSAY_OK;
}

static assay_status read_verdicts(const assay_json *root, assay_result *out, assay_error *err) {
  static const char *const keys[] = {"numbers", "placement", "timing", "completeness"};
  assay_verdict *const verdicts[] = {&out->numbers, &out->placed, &out->timed, &out->completeness};
  const assay_json *object = NULL;
  ASSAY_TRY(assay_json_need_object(root, "verdicts", &object, err));
  ASSAY_TRY(assay_json_only_keys(object, keys, N_OF(keys), err));
  for (size_t k = 0; k < N_OF(keys); k++) {
    size_t i = 0;
    ASSAY_TRY(read_word(object, keys[k], verdict_words, N_OF(verdict_words), &i, err));
    *verdicts[k] = (assay_verdict)i;
  }
  return ASSAY_OK;
}

static assay_status read_process(const assay_json *root, assay_result *out, assay_error *err) {
  const assay_json *object = NULL;
  if (assay_fields_is_null(root, "process")) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(root, "process", &object, err));
  out->process.known = true;
  return assay_fields_read(object, process_fields, N_OF(process_fields), NULL, /*n_others=*/0,
                           &out->process, err);
}

static assay_status read_library(const assay_json *root, assay_result *out, assay_error *err) {
  static const char *const keys[] = {"path", "version", "build"};
  const assay_json *object = NULL;
  if (assay_fields_is_null(root, "library")) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(root, "library", &object, err));
  ASSAY_TRY(assay_json_only_keys(object, keys, N_OF(keys), err));
  ASSAY_TRY(assay_fields_string(object, "path", &out->library_path, err));
  ASSAY_TRY(assay_fields_string(object, "version", &out->library_version, err));
  return assay_fields_string(object, "build", &out->library_build, err);
}

/* null, or an integer. */
static assay_status read_end(const assay_json *object, const char *key, bool *out_has, int64_t *out,
                             assay_error *err) {
  *out_has = !assay_fields_is_null(object, key);
  return *out_has ? assay_json_need_int(object, key, INT64_MIN, INT64_MAX, out, err) : ASSAY_OK;
}

static assay_status read_percentiles(const assay_json *stats, assay_result_stats *out,
                                     assay_error *err) {
  static const char *const others[] = {"low_ns", "high_ns"};
  const assay_json *array = NULL;
  ASSAY_TRY(assay_json_need_array(stats, "percentiles", &array, err));
  if (assay_json_len(array) != N_OF(out->percentiles))
    return assay_fail(err, ASSAY_E_FORMAT, "'percentiles': expected %zu, found %zu",
                      N_OF(out->percentiles), assay_json_len(array));
  for (size_t i = 0; i < N_OF(out->percentiles); i++) {
    const assay_json *item = assay_json_at(array, i);
    assay_result_percentile *p = &out->percentiles[i];
    ASSAY_TRY(assay_fields_read(item, percentile_fields, N_OF(percentile_fields), others,
                                N_OF(others), p, err));
    ASSAY_TRY(read_end(item, "low_ns", &p->has_low, &p->low_ns, err));
    ASSAY_TRY(read_end(item, "high_ns", &p->has_high, &p->high_ns, err));
  }
  return ASSAY_OK;
}

static assay_status read_timing(const assay_json *root, assay_result *out, assay_error *err) {
  static const char *const others[] = {"stats"};
  static const char *const stats_others[] = {"percentile_rule", "percentiles"};
  const assay_json *object = NULL, *stats = NULL;
  const char *rule = NULL;
  if (assay_fields_is_null(root, "timing")) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(root, "timing", &object, err));
  out->timing.known = true;
  ASSAY_TRY(assay_fields_read(object, timing_fields, N_OF(timing_fields), others, N_OF(others),
                              &out->timing, err));
  ASSAY_TRY(assay_json_need_object(object, "stats", &stats, err));
  ASSAY_TRY(assay_fields_read(stats, stats_fields, N_OF(stats_fields), stats_others,
                              N_OF(stats_others), &out->timing.stats, err));
  ASSAY_TRY(assay_json_need_string(stats, "percentile_rule", &rule, err));
  if (strcmp(rule, PERCENTILE_RULE) != 0)
    return assay_fail(err, ASSAY_E_FORMAT, "'percentile_rule': expected '%s', found '%s'",
                      PERCENTILE_RULE, rule);
  return read_percentiles(stats, &out->timing.stats, err);
}

static assay_status read_comparisons(const assay_json *root, assay_result *out, assay_error *err) {
  void *list = NULL;
  assay_status st =
      assay_fields_list(root, "comparisons", comparison_fields, N_OF(comparison_fields),
                        sizeof *out->comparisons, &list, &out->n_comparisons, err);
  out->comparisons = list;
  return st;
}

static assay_status read_files(const assay_json *root, assay_result *out, assay_error *err) {
  void *list = NULL;
  assay_status st = assay_fields_list(root, "files", file_fields, N_OF(file_fields),
                                      sizeof *out->files, &list, &out->n_files, err);
  out->files = list;
  return st;
}

static assay_status read_placement(const assay_json *root, assay_result *out, assay_error *err) {
  static const char *const others[] = {"verdict", "counts", "offenders"};
  assay_result_placement *placement = &out->placement;
  const assay_json *object = NULL;
  size_t verdict = 0;
  void *list = NULL;
  if (assay_fields_is_null(root, "placement")) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(root, "placement", &object, err));
  placement->known = true;
  ASSAY_TRY(assay_fields_read(object, placement_fields, N_OF(placement_fields), others,
                              N_OF(others), placement, err));
  ASSAY_TRY(read_word(object, "verdict", verdict_words, N_OF(verdict_words), &verdict, err));
  placement->verdict = (assay_verdict)verdict;
  assay_status st = assay_fields_list(object, "counts", count_fields, N_OF(count_fields),
                                      sizeof *placement->counts, &list, &placement->n_counts, err);
  placement->counts = list;
  ASSAY_TRY(st);
  return assay_fields_strings(object, "offenders", &placement->offenders, &placement->n_offenders,
                              err);
}

static assay_status read_root(const assay_json *root, assay_result *out, assay_error *err) {
  ASSAY_TRY(assay_json_need_schema(root, "result", 1, err));
  ASSAY_TRY(assay_fields_read(root, root_fields, N_OF(root_fields), root_others, N_OF(root_others),
                              out, err));
  ASSAY_TRY(read_words(root, out, err));
  ASSAY_TRY(read_process(root, out, err));
  ASSAY_TRY(read_library(root, out, err));
  const assay_json *options = NULL;
  if (!assay_fields_is_null(root, "options"))
    ASSAY_TRY(assay_json_need_object(root, "options", &options, err));
  ASSAY_TRY(assay_fields_copy(options, &out->options, err));
  ASSAY_TRY(read_timing(root, out, err));
  ASSAY_TRY(read_comparisons(root, out, err));
  ASSAY_TRY(read_placement(root, out, err));
  ASSAY_TRY(assay_result_graph_read(root, &out->graph, err));
  ASSAY_TRY(assay_result_caches_read(root, &out->caches, err));
  ASSAY_TRY(assay_result_compiles_read(root, &out->compiles, err));
  ASSAY_TRY(assay_result_coverage_read(root, &out->coverage, err));
  ASSAY_TRY(assay_result_kernels_read(root, &out->kernels, err));
  ASSAY_TRY(assay_result_processes_read(root, &out->processes, err));
  ASSAY_TRY(assay_result_memory_read(root, &out->memory, err));
  ASSAY_TRY(read_verdicts(root, out, err));
  ASSAY_TRY(read_files(root, out, err));
  return assay_fields_strings(root, "warnings", &out->warnings, &out->n_warnings, err);
}

assay_status assay_result_read(const char *path, assay_result *out, assay_error *err) {
  assay_result result = {0};
  assay_json *root = NULL;
  assay_status st = assay_json_read(path, RESULT_MAX_BYTES, &root, err);
  if (st) goto done;
  st = read_root(root, &result, err);
  if (st) {
    assay_error_in(err, "'%s'", path);
    goto done;
  }
  *out = result;
  result = (assay_result){0};
done:
  assay_result_reset(&result);
  assay_json_destroy(root);
  return st;
}

/* --- writing -------------------------------------------------------------------------------------
 */

static void put_process(const assay_result *result, assay_json_builder *b) {
  if (!result->process.known) {
    assay_json_put_null(b, "process");
    return;
  }
  assay_json_begin_object(b, "process");
  assay_fields_put(process_fields, N_OF(process_fields), &result->process, b);
  assay_json_end(b);
}

static void put_library(const assay_result *result, assay_json_builder *b) {
  if (result->library_path == NULL) {
    assay_json_put_null(b, "library");
    return;
  }
  assay_json_begin_object(b, "library");
  assay_json_put_string(b, "path", result->library_path);
  assay_json_put_string(b, "version", result->library_version);
  assay_json_put_string(b, "build", result->library_build);
  assay_json_end(b);
}

static void put_end(assay_json_builder *b, const char *key, bool has, int64_t value) {
  if (has)
    assay_json_put_int(b, key, value);
  else
    assay_json_put_null(b, key);
}

static void put_stats(const assay_result_stats *stats, assay_json_builder *b) {
  assay_json_begin_object(b, "stats");
  assay_fields_put(stats_fields, N_OF(stats_fields), stats, b);
  assay_json_put_string(b, "percentile_rule", PERCENTILE_RULE);
  assay_json_begin_array(b, "percentiles");
  for (size_t i = 0; i < N_OF(stats->percentiles); i++) {
    const assay_result_percentile *p = &stats->percentiles[i];
    assay_json_begin_object(b, NULL);
    assay_fields_put(percentile_fields, N_OF(percentile_fields), p, b);
    put_end(b, "low_ns", p->has_low, p->low_ns);
    put_end(b, "high_ns", p->has_high, p->high_ns);
    assay_json_end(b);
  }
  assay_json_end(b);
  assay_json_end(b);
}

static void put_timing(const assay_result *result, assay_json_builder *b) {
  if (!result->timing.known) {
    assay_json_put_null(b, "timing");
    return;
  }
  assay_json_begin_object(b, "timing");
  assay_fields_put(timing_fields, N_OF(timing_fields), &result->timing, b);
  put_stats(&result->timing.stats, b);
  assay_json_end(b);
}

static void put_placement(const assay_result *result, assay_json_builder *b) {
  const assay_result_placement *placement = &result->placement;
  if (!placement->known) {
    assay_json_put_null(b, "placement");
    return;
  }
  assay_json_begin_object(b, "placement");
  assay_json_put_string(b, "verdict", assay_verdict_name(placement->verdict));
  assay_fields_put(placement_fields, N_OF(placement_fields), placement, b);
  assay_fields_put_list(b, "counts", count_fields, N_OF(count_fields), placement->counts,
                        sizeof *placement->counts, placement->n_counts);
  assay_fields_put_strings(b, "offenders", placement->offenders, placement->n_offenders);
  assay_json_end(b);
}

static void put_verdicts(const assay_result *result, assay_json_builder *b) {
  assay_json_begin_object(b, "verdicts");
  assay_json_put_string(b, "numbers", assay_verdict_name(result->numbers));
  assay_json_put_string(b, "placement", assay_verdict_name(result->placed));
  assay_json_put_string(b, "timing", assay_verdict_name(result->timed));
  assay_json_put_string(b, "completeness", assay_verdict_name(result->completeness));
  assay_json_end(b);
}

static void put_root(const assay_result *result, assay_json_builder *b) {
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "schema", ASSAY_RESULT_SCHEMA);
  assay_json_put_string(b, "mode", assay_result_mode_name(result->mode));
  assay_json_put_string(b, "status", assay_result_status_name(result->status));
  assay_json_put_string(b, "stage",
                        result->stage == ASSAY_STAGE_NONE ? NULL
                                                          : assay_result_stage_name(result->stage));
  assay_fields_put(root_fields, N_OF(root_fields), result, b);
  put_verdicts(result, b);
  put_process(result, b);
  put_library(result, b);
  if (result->options != NULL)
    assay_json_put_copy(b, "options", result->options);
  else
    assay_json_put_null(b, "options");
  put_timing(result, b);
  assay_fields_put_list(b, "comparisons", comparison_fields, N_OF(comparison_fields),
                        result->comparisons, sizeof *result->comparisons, result->n_comparisons);
  put_placement(result, b);
  assay_result_graph_put(&result->graph, b);
  assay_result_caches_put(&result->caches, b);
  assay_result_compiles_put(&result->compiles, b);
  assay_result_coverage_put(&result->coverage, b);
  assay_result_kernels_put(&result->kernels, b);
  assay_result_processes_put(&result->processes, b);
  assay_result_memory_put(&result->memory, b);
  assay_fields_put_list(b, "files", file_fields, N_OF(file_fields), result->files,
                        sizeof *result->files, result->n_files);
  assay_fields_put_strings(b, "warnings", result->warnings, result->n_warnings);
  assay_json_end(b);
}

assay_status assay_result_write(const assay_result *result, const char *path, assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  if (b == NULL) return assay_fail_memory(err, sizeof(void *));
  put_root(result, b);
  assay_status st = assay_json_builder_write(b, path, err);
  assay_json_builder_destroy(b);
  return st;
}

/* --- the rest ------------------------------------------------------------------------------------
 */

static void reset_list(const assay_field *fields, size_t n_fields, void *list, size_t size,
                       size_t n) {
  for (size_t i = 0; i < n; i++) assay_fields_reset(fields, n_fields, (char *)list + i * size);
  assay_free(list);
}

void assay_result_reset(assay_result *result) {
  assay_fields_reset(root_fields, N_OF(root_fields), result);
  assay_free(result->library_path);
  assay_free(result->library_version);
  assay_free(result->library_build);
  assay_json_destroy(result->options);
  reset_list(comparison_fields, N_OF(comparison_fields), result->comparisons,
             sizeof *result->comparisons, result->n_comparisons);
  assay_result_placement *placement = &result->placement;
  assay_fields_reset(placement_fields, N_OF(placement_fields), placement);
  reset_list(count_fields, N_OF(count_fields), placement->counts, sizeof *placement->counts,
             placement->n_counts);
  assay_fields_strings_destroy(placement->offenders, placement->n_offenders);
  assay_result_caches_reset(&result->caches);
  assay_result_coverage_reset(&result->coverage);
  assay_result_kernels_reset(&result->kernels);
  assay_result_processes_reset(&result->processes);
  assay_result_memory_reset(&result->memory);
  reset_list(file_fields, N_OF(file_fields), result->files, sizeof *result->files, result->n_files);
  assay_fields_strings_destroy(result->warnings, result->n_warnings);
  *result = (assay_result){0};
}

char *assay_result_folder(const char *runtime, const char *bundle, const char *case_name,
                          assay_result_mode mode) {
  return assay_format("runs/%s/%s/%s/%s", runtime, bundle, case_name, assay_result_mode_name(mode));
}

bool assay_result_passed(const assay_result *result) {
  const assay_verdict verdicts[] = {result->numbers, result->placed, result->timed,
                                    result->completeness};
  size_t n_pass = 0;
  for (size_t i = 0; i < N_OF(verdicts); i++) {
    if (verdicts[i] != ASSAY_VERDICT_PASS && verdicts[i] != ASSAY_VERDICT_NOT_APPLICABLE)
      return false;
    n_pass += verdicts[i] == ASSAY_VERDICT_PASS;
  }
  return result->status == ASSAY_RESULT_DONE && n_pass > 0 &&
         assay_result_kernels_passed(&result->kernels);
}

assay_status assay_result_comparison_read(const assay_json *object, assay_result_comparison *out,
                                          assay_error *err) {
  return assay_fields_read(object, comparison_fields, N_OF(comparison_fields), NULL,
                           /*n_others=*/0, out, err);
}

void assay_result_comparison_put(const assay_result_comparison *comparison, assay_json_builder *b,
                                 const char *key) {
  assay_json_begin_object(b, key);
  assay_fields_put(comparison_fields, N_OF(comparison_fields), comparison, b);
  assay_json_end(b);
}

void assay_result_comparison_reset(assay_result_comparison *comparison) {
  assay_fields_reset(comparison_fields, N_OF(comparison_fields), comparison);
}

const assay_result_comparison *assay_result_find(const assay_result *result, const char *head,
                                                 const char *reference) {
  for (size_t i = 0; i < result->n_comparisons; i++) {
    const assay_result_comparison *c = &result->comparisons[i];
    if (strcmp(c->head, head) == 0 && strcmp(c->reference, reference) == 0) return c;
  }
  return NULL;
}

static assay_status check_file(const assay_result_file *file, const char *folder,
                               assay_error *err) {
  char sha256[ASSAY_SHA256_HEX_BYTES];
  uint64_t size_bytes = 0;
  char *path = assay_path_join(folder, file->file);
  if (path == NULL) return assay_fail_memory(err, strlen(folder) + strlen(file->file) + 2);
  assay_status st = assay_sha256_file(path, sha256, &size_bytes, err);
  if (st == ASSAY_OK && (size_bytes != file->size_bytes || strcmp(sha256, file->sha256) != 0))
    st = assay_fail(err, ASSAY_E_MISMATCH, "'%s': other bytes than the result was made from", path);
  assay_free(path);
  return st;
}

assay_status assay_result_check_files(const assay_result *result, const char *folder,
                                      assay_error *err) {
  for (size_t i = 0; i < result->n_files; i++)
    ASSAY_TRY(check_file(&result->files[i], folder, err));
  return ASSAY_OK;
}

const char *assay_result_executed(const assay_result *result) {
  return result->graph.kept ? result->graph.sha256 : result->keys.model_sha256;
}
