/* The columns of the run table: what each is called, and where its figure comes from. A new
 * measured quantity is one row here. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/table.h"

/* ---- what a column shows; absent where the row has no such thing ---- */

#define COLUMN(name, expression)                                                                   \
  static assay_cell get_##name(const assay_view_row *row) {                                        \
    return expression;                                                                             \
  }

static const assay_cell absent = {ASSAY_CELL_ABSENT, NULL, 0, 0};

COLUMN(runtime, assay_cell_text(row->runtime))
COLUMN(bundle, assay_cell_text(row->bundle))
COLUMN(case, assay_cell_text(row->case_name))
COLUMN(kind, row->manifest_case ? assay_cell_text(row->manifest_case->kind) : absent)
COLUMN(inputs, assay_cell_text(row->inputs))
COLUMN(precision, assay_cell_text(row->precision))
COLUMN(dtype, row->manifest ? assay_cell_text(row->manifest->dtype) : absent)
COLUMN(architecture, row->manifest ? assay_cell_text(row->manifest->architecture) : absent)
COLUMN(attention, row->manifest ? assay_cell_text(row->manifest->attention) : absent)
COLUMN(b, row->manifest_case && row->manifest_case->b ? assay_cell_count(row->manifest_case->b)
                                                      : absent)
COLUMN(n, row->manifest_case && row->manifest_case->n ? assay_cell_count(row->manifest_case->n)
                                                      : absent)
COLUMN(n_valid, row->n_valid >= 0 ? assay_cell_count(row->n_valid) : absent)
COLUMN(n_denormal_inputs,
       row->n_denormal_inputs >= 0 ? assay_cell_count(row->n_denormal_inputs) : absent)
COLUMN(verdict, assay_cell_text(row->passed ? "pass" : "fail"))
COLUMN(numbers, assay_cell_text(assay_view_numbers_word(row)))
COLUMN(placement, assay_cell_text(assay_view_placement_word(row)))
COLUMN(timing, assay_cell_text(assay_view_timing_word(row)))

COLUMN(max_abs_f32, row->has_f32 ? assay_cell_error(row->max_abs_f32) : absent)
COLUMN(max_abs_f64, row->has_f64 ? assay_cell_error(row->max_abs_f64) : absent)
COLUMN(max_abs_user, row->has_user ? assay_cell_error(row->max_abs_user) : absent)
COLUMN(reference, row->has_reference_error ? assay_cell_error(row->reference_max_abs) : absent)

/* Denormals over all heads: of the outputs, or of the reference that each is judged by. */
static assay_cell count_denormals(const assay_view_row *row, bool of_outputs) {
  int64_t n = 0;
  bool any = false;
  for (size_t h = 0; h < row->n_heads; h++) {
    const assay_result_comparison *c = assay_view_main_comparison(&row->heads[h]);
    if (c == NULL || !c->same_shape || !c->same_dtype) continue;
    n += of_outputs ? c->n_denormal_got : c->n_denormal_want;
    any = true;
  }
  return any ? assay_cell_count(n) : absent;
}

COLUMN(n_denormal_outputs, count_denormals(row, /*of_outputs=*/true))
COLUMN(n_denormal_references, count_denormals(row, /*of_outputs=*/false))

/* ---- the worst error ---- */

void assay_table_worst(const assay_view_row *row, assay_worst *out) {
  const assay_result_comparison *c = row->worst;
  *out = (assay_worst){.comparison = c, .at = {.index = -1, .got = nan(""), .want = nan("")}};
  if (c == NULL || !c->same_shape || !c->same_dtype) return;
  out->at = c->n_class_mismatch ? c->first_class_mismatch : c->max_tol_at;
  assay_view_index_text(c->shape, out->at.index, out->index, sizeof out->index);
}

static assay_cell worst_value(const assay_view_row *row, double (*pick)(const assay_worst *)) {
  assay_worst worst;
  assay_table_worst(row, &worst);
  return worst.at.index < 0 ? absent : assay_cell_error(pick(&worst));
}

static double pick_got(const assay_worst *w) {
  return w->at.got;
}
static double pick_want(const assay_worst *w) {
  return w->at.want;
}
static double pick_abs(const assay_worst *w) {
  return fabs(w->at.got - w->at.want);
}
static double pick_multiple(const assay_worst *w) {
  return w->comparison->n_class_mismatch ? HUGE_VAL : w->comparison->max_tol_multiple;
}

static assay_cell worst_index(const assay_view_row *row) {
  assay_worst worst;
  assay_table_worst(row, &worst);
  return worst.at.index < 0 ? absent : assay_cell_count(worst.at.index);
}

COLUMN(worst_head, row->worst ? assay_cell_text(row->worst->head) : absent)
COLUMN(worst_reference, row->worst ? assay_cell_text(row->worst->reference) : absent)
COLUMN(worst_shape, row->worst ? assay_cell_text(row->worst->shape) : absent)
COLUMN(worst_index, worst_index(row))
COLUMN(worst_got, worst_value(row, pick_got))
COLUMN(worst_want, worst_value(row, pick_want))
COLUMN(worst_abs, worst_value(row, pick_abs))
COLUMN(worst_multiple, worst_value(row, pick_multiple))
COLUMN(worst_atol, row->worst ? assay_cell_error(row->worst->atol) : absent)
COLUMN(worst_rtol, row->worst ? assay_cell_error(row->worst->rtol) : absent)

/* ---- timing ---- */

static assay_cell percentile(const assay_view_row *row, size_t i) {
  const assay_result_timing *timing = assay_view_timing(row);
  return timing ? assay_cell_time(timing->stats.percentiles[i].value_ns) : absent;
}

static assay_cell percentile_low(const assay_view_row *row, size_t i) {
  const assay_result_timing *timing = assay_view_timing(row);
  bool has = timing && timing->stats.percentiles[i].has_low;
  return has ? assay_cell_time((double)timing->stats.percentiles[i].low_ns) : absent;
}

static assay_cell percentile_high(const assay_view_row *row, size_t i) {
  const assay_result_timing *timing = assay_view_timing(row);
  bool has = timing && timing->stats.percentiles[i].has_high;
  return has ? assay_cell_time((double)timing->stats.percentiles[i].high_ns) : absent;
}

/* Of an undefined figure (NaN by its definition: too few samples, no variance) there is none to
 * show. */
static assay_cell ratio_or_absent(double value) {
  return isnan(value) ? absent : assay_cell_ratio(value);
}

#define PERCENTILE_COLUMNS(name, i)                                                                \
  COLUMN(name, percentile(row, i))                                                                 \
  COLUMN(name##_low, percentile_low(row, i))                                                       \
  COLUMN(name##_high, percentile_high(row, i))

PERCENTILE_COLUMNS(p50, 0)
PERCENTILE_COLUMNS(p90, 1)
PERCENTILE_COLUMNS(p95, 2)
PERCENTILE_COLUMNS(p99, 3)

#define TIMING_COLUMN(name, cell) COLUMN(name, assay_view_timing(row) ? cell : absent)
#define STATS                     (assay_view_timing(row)->stats)

TIMING_COLUMN(n_samples, assay_cell_count(STATS.n))
TIMING_COLUMN(min, assay_cell_time((double)STATS.min_ns))
TIMING_COLUMN(max, assay_cell_time((double)STATS.max_ns))
TIMING_COLUMN(mean, assay_cell_time(STATS.mean_ns))
TIMING_COLUMN(stddev, assay_cell_time(STATS.stddev_ns))
TIMING_COLUMN(lag1, ratio_or_absent(STATS.lag1))
TIMING_COLUMN(drift, ratio_or_absent(STATS.drift))
TIMING_COLUMN(n_outliers, assay_cell_count(STATS.n_outliers))
TIMING_COLUMN(outputs_identical,
              assay_cell_text(assay_view_timing(row)->outputs_identical ? "yes" : "no"))
TIMING_COLUMN(warmup, assay_cell_count(assay_view_timing(row)->warmup))
TIMING_COLUMN(session, assay_cell_time((double)assay_view_timing(row)->session_create_ns))
TIMING_COLUMN(first, assay_cell_time((double)assay_view_timing(row)->first_run_ns))

#define PROCESSES_COLUMN(name, cell) COLUMN(name, assay_view_processes(row) ? cell : absent)

PROCESSES_COLUMN(n_processes, assay_cell_count(assay_view_processes(row)->n))
PROCESSES_COLUMN(processes_p50_min, assay_cell_time(assay_view_processes(row)->p50_min_ns))
PROCESSES_COLUMN(processes_p50_max, assay_cell_time(assay_view_processes(row)->p50_max_ns))
PROCESSES_COLUMN(processes_spread, assay_cell_ratio(assay_view_processes(row)->p50_spread))
PROCESSES_COLUMN(processes_identical,
                 assay_cell_text(assay_view_processes(row)->outputs_identical ? "yes" : "no"))

/* ---- memory ---- */

COLUMN(memory_word, assay_cell_text(assay_view_memory_word(row)))
COLUMN(memory_reason, assay_cell_text(assay_view_memory_reason(row)))

/* The row's samples, or NULL when none were taken: their counts would be zeros then. */
static const assay_result_memory *samples_of(const assay_view_row *row) {
  const assay_result_memory *memory = assay_view_memory(row);
  return memory && memory->reason == NULL ? memory : NULL;
}

#define SAMPLES_COLUMN(name, cell) COLUMN(name, samples_of(row) ? cell : absent)

SAMPLES_COLUMN(memory_interval, assay_cell_time((double)samples_of(row)->interval_ns))
SAMPLES_COLUMN(memory_n_rows, assay_cell_count(samples_of(row)->n_rows))
SAMPLES_COLUMN(memory_n_missed, assay_cell_count(samples_of(row)->n_missed))
SAMPLES_COLUMN(memory_n_dropped, assay_cell_count(samples_of(row)->n_dropped))
SAMPLES_COLUMN(memory_max_late, assay_cell_time((double)samples_of(row)->max_late_ns))

static assay_cell size_or_absent(int64_t bytes) {
  return bytes == ASSAY_RESULT_NONE ? absent : assay_cell_size(bytes);
}

static assay_cell above(const assay_result_memory_column *column, int64_t peak_bytes) {
  int64_t bytes = 0;
  return assay_result_memory_above(column, peak_bytes, &bytes) ? assay_cell_size(bytes) : absent;
}

#define SIZE_COLUMNS(name, column)                                                                 \
  COLUMN(name##_baseline, column(row) ? size_or_absent(column(row)->baseline_bytes) : absent)      \
  COLUMN(name##_peak_first, column(row) ? size_or_absent(column(row)->peak_first_bytes) : absent)  \
  COLUMN(name##_peak_warm, column(row) ? size_or_absent(column(row)->peak_warm_bytes) : absent)    \
  COLUMN(name##_peak, column(row) ? size_or_absent(column(row)->peak_bytes) : absent)              \
  COLUMN(name##_first_above,                                                                       \
         column(row) ? above(column(row), column(row)->peak_first_bytes) : absent)                 \
  COLUMN(name##_warm_above,                                                                        \
         column(row) ? above(column(row), column(row)->peak_warm_bytes) : absent)                  \
  COLUMN(name##_peak_above, column(row) ? above(column(row), column(row)->peak_bytes) : absent)

SIZE_COLUMNS(rss, assay_view_rss)
SIZE_COLUMNS(device, assay_view_device)
COLUMN(rss_high_water,
       assay_view_rss(row) ? size_or_absent(assay_view_rss(row)->high_water_bytes) : absent)
COLUMN(device, assay_view_device(row) ? assay_cell_text(assay_view_device(row)->device) : absent)
COLUMN(device_reason, assay_cell_text(row->device_reason))

/* ---- placement ---- */

#define PLACEMENT_COLUMN(name)                                                                     \
  COLUMN(name,                                                                                     \
         assay_view_placement(row) ? assay_cell_count(assay_view_placement(row)->name) : absent)

PLACEMENT_COLUMN(n_compute)
PLACEMENT_COLUMN(n_on_provider)
PLACEMENT_COLUMN(n_copies)
PLACEMENT_COLUMN(n_control_flow)
PLACEMENT_COLUMN(n_allowed)
PLACEMENT_COLUMN(n_compiled)
COLUMN(copied_bytes, assay_view_placement(row) && assay_view_placement(row)->copied_bytes >= 0
                         ? assay_cell_size(assay_view_placement(row)->copied_bytes)
                         : absent)

static const assay_result_coverage *coverage_of(const assay_view_row *row) {
  const assay_result_coverage *coverage = &row->runs[ASSAY_VIEW_PLACEMENT].result.coverage;
  return coverage->judged && coverage->known ? coverage : NULL;
}

#define COVERAGE_COLUMN(name)                                                                      \
  COLUMN(model_##name, coverage_of(row) ? assay_cell_count(coverage_of(row)->name) : absent)

COLUMN(coverage, assay_cell_text(row->coverage))
COLUMN(coverage_reason, assay_cell_text(row->runs[ASSAY_VIEW_PLACEMENT].result.coverage.reason))
COVERAGE_COLUMN(n_nodes)
COVERAGE_COLUMN(n_covered)
COVERAGE_COLUMN(n_elsewhere)
COVERAGE_COLUMN(n_unknown)

/* Of the timing where its log says, else of the placement, whose log says more. */
static const assay_result_compiles *compiles_of(const assay_view_row *row) {
  for (int mode = 0; mode < ASSAY_VIEW_N_MODES; mode++)
    if (row->runs[mode].result.compiles.known) return &row->runs[mode].result.compiles;
  return NULL;
}

#define COMPILES_COLUMN(name)                                                                      \
  COLUMN(compiles_##name, compiles_of(row) ? assay_cell_count(compiles_of(row)->name) : absent)

static const assay_result_caches *caches_of(const assay_view_row *row) {
  return &row->runs[ASSAY_VIEW_TIMING].result.caches;
}

static assay_cell cache_bytes(const assay_view_row *row) {
  const assay_result_caches *caches = caches_of(row);
  int64_t bytes = 0;
  for (size_t i = 0; i < caches->n; i++) bytes += caches->items[i].bytes_after;
  return caches->n > 0 ? assay_cell_size(bytes) : absent;
}

COLUMN(cache, assay_cell_text(assay_result_caches_word(caches_of(row))))
COLUMN(cache_bytes, cache_bytes(row))

COMPILES_COLUMN(session)
COMPILES_COLUMN(first)
COMPILES_COLUMN(later)

/* ---- what ran, and where its evidence lies ---- */

static assay_cell provider(const assay_view_row *row) {
  for (int mode = 0; mode < ASSAY_VIEW_N_MODES; mode++) {
    assay_cell cell = assay_cell_text(row->runs[mode].result.provider);
    if (cell.kind != ASSAY_CELL_ABSENT) return cell;
  }
  return absent;
}

static assay_cell status_of(const assay_view_row *row, assay_view_mode mode) {
  const assay_view_run *run = &row->runs[mode];
  return run->planned ? assay_cell_text(assay_result_status_name(run->result.status)) : absent;
}

static assay_cell reason_of(const assay_view_row *row, assay_view_mode mode) {
  const assay_result *result = &row->runs[mode].result;
  if (result->reason) return assay_cell_text(result->reason);
  if (mode == ASSAY_VIEW_TIMING) return assay_cell_text(result->numbers_reason);
  return assay_cell_text(result->placement.known ? result->placement.reason : NULL);
}

static assay_cell file_of(const assay_view_row *row, assay_view_mode mode) {
  const assay_view_run *run = &row->runs[mode];
  return run->n_files && run->files[0].sha256[0] ? assay_cell_text(run->files[0].path) : absent;
}

static assay_cell file_sha256(const assay_view_row *row, assay_view_mode mode) {
  const assay_view_run *run = &row->runs[mode];
  return run->n_files ? assay_cell_text(run->files[0].sha256) : absent;
}

COLUMN(library_version,
       assay_view_library(row) ? assay_cell_text(assay_view_library(row)->library_version) : absent)
COLUMN(library_sha256, assay_view_library(row)
                           ? assay_cell_text(assay_view_library(row)->keys.library_sha256)
                           : absent)
COLUMN(provider, provider(row))
COLUMN(model_sha256, assay_cell_text(row->runs[ASSAY_VIEW_TIMING].result.keys.model_sha256))
COLUMN(graph_sha256, assay_cell_text(row->runs[ASSAY_VIEW_TIMING].result.graph.sha256))
COLUMN(case_sha256, assay_cell_text(row->runs[ASSAY_VIEW_TIMING].result.keys.case_sha256))
COLUMN(options_sha256, assay_cell_text(row->runs[ASSAY_VIEW_TIMING].result.keys.options_sha256))
COLUMN(timing_status, status_of(row, ASSAY_VIEW_TIMING))
COLUMN(timing_reason, reason_of(row, ASSAY_VIEW_TIMING))
COLUMN(placement_status, status_of(row, ASSAY_VIEW_PLACEMENT))
COLUMN(placement_reason, reason_of(row, ASSAY_VIEW_PLACEMENT))
COLUMN(timing_file, file_of(row, ASSAY_VIEW_TIMING))
COLUMN(timing_file_sha256, file_sha256(row, ASSAY_VIEW_TIMING))
COLUMN(placement_file, file_of(row, ASSAY_VIEW_PLACEMENT))
COLUMN(placement_file_sha256, file_sha256(row, ASSAY_VIEW_PLACEMENT))

/* ---- names, in the order of the files ---- */

const assay_column assay_columns[] = {
    {"runtime", "Runtime", get_runtime, ASSAY_COLUMN_BOTH},
    {"bundle", "Model", get_bundle, ASSAY_COLUMN_BOTH},
    {"case", "Case", get_case, ASSAY_COLUMN_BOTH},
    {"kind", NULL, get_kind, ASSAY_COLUMN_RUNS},
    {"architecture", NULL, get_architecture, ASSAY_COLUMN_RUNS},
    {"inputs", NULL, get_inputs, ASSAY_COLUMN_RUNS},
    {"dtype", NULL, get_dtype, ASSAY_COLUMN_RUNS},
    {"precision", NULL, get_precision, ASSAY_COLUMN_RUNS},
    {"attention", NULL, get_attention, ASSAY_COLUMN_RUNS},
    {"b", "B", get_b, ASSAY_COLUMN_RUNS},
    {"n", "N", get_n, ASSAY_COLUMN_RUNS},
    {"n_valid", NULL, get_n_valid, ASSAY_COLUMN_RUNS},
    {"n_denormal_inputs", NULL, get_n_denormal_inputs, ASSAY_COLUMN_RUNS},
    {"verdict", "Verdict", get_verdict, ASSAY_COLUMN_RUNS},
    {"numbers", "Numbers", get_numbers, ASSAY_COLUMN_RUNS},
    {"placement", "Placement", get_placement, ASSAY_COLUMN_RUNS},
    {"timing", NULL, get_timing, ASSAY_COLUMN_RUNS},
    {"max_abs_error_f32", "Error vs FP32", get_max_abs_f32, ASSAY_COLUMN_RUNS},
    {"max_abs_error_f64", "Error vs FP64", get_max_abs_f64, ASSAY_COLUMN_RUNS},
    {"max_abs_error_user", "Error vs brought", get_max_abs_user,
     ASSAY_COLUMN_RUNS | ASSAY_COLUMN_IF_ANY},
    {"reference_f32_max_abs_error_f64", "FP32 reference vs FP64", get_reference, ASSAY_COLUMN_RUNS},
    {"worst_head", "Worst head", get_worst_head, ASSAY_COLUMN_RUNS},
    {"worst_reference", NULL, get_worst_reference, ASSAY_COLUMN_RUNS},
    {"worst_tolerance_multiple", "Multiple of tolerance", get_worst_multiple, ASSAY_COLUMN_RUNS},
    {"worst_abs_error", NULL, get_worst_abs, ASSAY_COLUMN_RUNS},
    {"worst_shape", NULL, get_worst_shape, ASSAY_COLUMN_RUNS},
    {"worst_index", NULL, get_worst_index, ASSAY_COLUMN_RUNS},
    {"worst_got", NULL, get_worst_got, ASSAY_COLUMN_RUNS},
    {"worst_want", NULL, get_worst_want, ASSAY_COLUMN_RUNS},
    {"worst_atol", NULL, get_worst_atol, ASSAY_COLUMN_RUNS},
    {"worst_rtol", NULL, get_worst_rtol, ASSAY_COLUMN_RUNS},
    {"n_denormal_outputs", "Denormal outputs", get_n_denormal_outputs, ASSAY_COLUMN_RUNS},
    {"n_denormal_references", NULL, get_n_denormal_references, ASSAY_COLUMN_RUNS},
    {"n_samples", NULL, get_n_samples, ASSAY_COLUMN_RUNS},
    {"warmup", NULL, get_warmup, ASSAY_COLUMN_RUNS},
    {"p50_ns", "p50", get_p50, ASSAY_COLUMN_RUNS},
    {"p50_low_ns", NULL, get_p50_low, ASSAY_COLUMN_RUNS},
    {"p50_high_ns", NULL, get_p50_high, ASSAY_COLUMN_RUNS},
    {"p90_ns", "p90", get_p90, ASSAY_COLUMN_RUNS},
    {"p90_low_ns", NULL, get_p90_low, ASSAY_COLUMN_RUNS},
    {"p90_high_ns", NULL, get_p90_high, ASSAY_COLUMN_RUNS},
    {"p95_ns", NULL, get_p95, ASSAY_COLUMN_RUNS},
    {"p95_low_ns", NULL, get_p95_low, ASSAY_COLUMN_RUNS},
    {"p95_high_ns", NULL, get_p95_high, ASSAY_COLUMN_RUNS},
    {"p99_ns", "p99", get_p99, ASSAY_COLUMN_RUNS},
    {"p99_low_ns", NULL, get_p99_low, ASSAY_COLUMN_RUNS},
    {"p99_high_ns", NULL, get_p99_high, ASSAY_COLUMN_RUNS},
    {"min_ns", NULL, get_min, ASSAY_COLUMN_RUNS},
    {"max_ns", NULL, get_max, ASSAY_COLUMN_RUNS},
    {"mean_ns", NULL, get_mean, ASSAY_COLUMN_RUNS},
    {"stddev_ns", NULL, get_stddev, ASSAY_COLUMN_RUNS},
    {"lag1", NULL, get_lag1, ASSAY_COLUMN_RUNS},
    {"drift", NULL, get_drift, ASSAY_COLUMN_RUNS},
    {"n_outliers", NULL, get_n_outliers, ASSAY_COLUMN_RUNS},
    {"outputs_identical", NULL, get_outputs_identical, ASSAY_COLUMN_RUNS},
    {"n_processes", NULL, get_n_processes, ASSAY_COLUMN_RUNS},
    {"processes_p50_min_ns", NULL, get_processes_p50_min, ASSAY_COLUMN_RUNS},
    {"processes_p50_max_ns", NULL, get_processes_p50_max, ASSAY_COLUMN_RUNS},
    {"processes_p50_spread", "Spread between processes", get_processes_spread,
     ASSAY_COLUMN_RUNS | ASSAY_COLUMN_IF_ANY},
    {"processes_outputs_identical", "Processes agree", get_processes_identical,
     ASSAY_COLUMN_RUNS | ASSAY_COLUMN_IF_ANY},
    {"session_create_ns", "Session", get_session, ASSAY_COLUMN_RUNS},
    {"first_run_ns", "First call", get_first, ASSAY_COLUMN_RUNS},
    {"memory", "Memory", get_memory_word, ASSAY_COLUMN_MEMORY},
    {"memory_reason", NULL, get_memory_reason, ASSAY_COLUMN_MEMORY},
    {"memory_interval_ns", NULL, get_memory_interval, ASSAY_COLUMN_RUNS},
    {"memory_n_rows", "Memory samples", get_memory_n_rows, ASSAY_COLUMN_MEMORY},
    {"memory_n_missed", "Deadlines missed", get_memory_n_missed, ASSAY_COLUMN_MEMORY},
    {"memory_n_dropped", NULL, get_memory_n_dropped, ASSAY_COLUMN_RUNS},
    {"memory_max_late_ns", "Longest delay", get_memory_max_late, ASSAY_COLUMN_MEMORY},
    {"rss_baseline_bytes", "RSS baseline", get_rss_baseline, ASSAY_COLUMN_MEMORY},
    {"rss_peak_first_bytes", "RSS peak, first call", get_rss_peak_first, ASSAY_COLUMN_MEMORY},
    {"rss_peak_warm_bytes", "RSS peak, warm", get_rss_peak_warm, ASSAY_COLUMN_MEMORY},
    {"rss_peak_bytes", "RSS peak", get_rss_peak, ASSAY_COLUMN_MEMORY},
    {"rss_high_water_bytes", "RSS high-water mark", get_rss_high_water, ASSAY_COLUMN_MEMORY},
    {"rss_first_above_bytes", NULL, get_rss_first_above, ASSAY_COLUMN_RUNS},
    {"rss_warm_above_bytes", NULL, get_rss_warm_above, ASSAY_COLUMN_RUNS},
    {"rss_peak_above_bytes", "RSS above baseline", get_rss_peak_above, ASSAY_COLUMN_MEMORY},
    {"device", "Device", get_device, ASSAY_COLUMN_MEMORY | ASSAY_COLUMN_IF_ANY},
    {"device_reason", NULL, get_device_reason, ASSAY_COLUMN_MEMORY},
    {"device_baseline_bytes", "Device baseline", get_device_baseline,
     ASSAY_COLUMN_MEMORY | ASSAY_COLUMN_IF_ANY},
    {"device_peak_first_bytes", "Device peak, first call", get_device_peak_first,
     ASSAY_COLUMN_MEMORY | ASSAY_COLUMN_IF_ANY},
    {"device_peak_warm_bytes", "Device peak, warm", get_device_peak_warm,
     ASSAY_COLUMN_MEMORY | ASSAY_COLUMN_IF_ANY},
    {"device_peak_bytes", "Device peak", get_device_peak,
     ASSAY_COLUMN_MEMORY | ASSAY_COLUMN_IF_ANY},
    {"device_first_above_bytes", NULL, get_device_first_above, ASSAY_COLUMN_RUNS},
    {"device_warm_above_bytes", NULL, get_device_warm_above, ASSAY_COLUMN_RUNS},
    {"device_peak_above_bytes", "Device above baseline", get_device_peak_above,
     ASSAY_COLUMN_MEMORY | ASSAY_COLUMN_IF_ANY},
    {"n_compute", NULL, get_n_compute, ASSAY_COLUMN_RUNS},
    {"n_on_provider", NULL, get_n_on_provider, ASSAY_COLUMN_RUNS},
    {"n_copies", NULL, get_n_copies, ASSAY_COLUMN_RUNS},
    {"n_control_flow", NULL, get_n_control_flow, ASSAY_COLUMN_RUNS},
    {"n_allowed", NULL, get_n_allowed, ASSAY_COLUMN_RUNS},
    {"n_compiled", NULL, get_n_compiled, ASSAY_COLUMN_RUNS},
    {"copied_bytes", NULL, get_copied_bytes, ASSAY_COLUMN_RUNS},
    {"coverage", "Model's nodes covered", get_coverage, ASSAY_COLUMN_RUNS | ASSAY_COLUMN_IF_ANY},
    {"coverage_reason", NULL, get_coverage_reason, ASSAY_COLUMN_RUNS},
    {"model_n_nodes", NULL, get_model_n_nodes, ASSAY_COLUMN_RUNS},
    {"model_n_covered", NULL, get_model_n_covered, ASSAY_COLUMN_RUNS},
    {"model_n_elsewhere", NULL, get_model_n_elsewhere, ASSAY_COLUMN_RUNS},
    {"model_n_unknown", NULL, get_model_n_unknown, ASSAY_COLUMN_RUNS},
    {"cache", "Compiler's cache", get_cache, ASSAY_COLUMN_RUNS | ASSAY_COLUMN_IF_ANY},
    {"cache_bytes", NULL, get_cache_bytes, ASSAY_COLUMN_RUNS},
    {"compiles_session", NULL, get_compiles_session, ASSAY_COLUMN_RUNS},
    {"compiles_first", "Compiled in the first call", get_compiles_first,
     ASSAY_COLUMN_RUNS | ASSAY_COLUMN_IF_ANY},
    {"compiles_later", "Compiled in warm calls", get_compiles_later,
     ASSAY_COLUMN_RUNS | ASSAY_COLUMN_IF_ANY},
    {"library_version", NULL, get_library_version, ASSAY_COLUMN_RUNS},
    {"provider", NULL, get_provider, ASSAY_COLUMN_RUNS},
    {"timing_status", NULL, get_timing_status, ASSAY_COLUMN_RUNS},
    {"timing_reason", NULL, get_timing_reason, ASSAY_COLUMN_RUNS},
    {"placement_status", NULL, get_placement_status, ASSAY_COLUMN_RUNS},
    {"placement_reason", NULL, get_placement_reason, ASSAY_COLUMN_RUNS},
    {"model_sha256", NULL, get_model_sha256, ASSAY_COLUMN_RUNS},
    {"graph_sha256", NULL, get_graph_sha256, ASSAY_COLUMN_RUNS},
    {"case_sha256", NULL, get_case_sha256, ASSAY_COLUMN_RUNS},
    {"library_sha256", NULL, get_library_sha256, ASSAY_COLUMN_RUNS},
    {"options_sha256", NULL, get_options_sha256, ASSAY_COLUMN_RUNS},
    {"timing_file", NULL, get_timing_file, ASSAY_COLUMN_RUNS},
    {"timing_file_sha256", NULL, get_timing_file_sha256, ASSAY_COLUMN_RUNS},
    {"placement_file", NULL, get_placement_file, ASSAY_COLUMN_RUNS},
    {"placement_file_sha256", NULL, get_placement_file_sha256, ASSAY_COLUMN_RUNS},
};
const size_t assay_n_columns = sizeof assay_columns / sizeof assay_columns[0];

bool assay_column_is_shown(const assay_view *view, const assay_column *column, unsigned part) {
  if (column->title == NULL || !(column->shown & part)) return false;
  if (!(column->shown & ASSAY_COLUMN_IF_ANY)) return true;
  for (size_t r = 0; r < view->n_rows; r++)
    if (column->get(&view->rows[r]).kind != ASSAY_CELL_ABSENT) return true;
  return false;
}

const assay_column *assay_column_find(const char *name) {
  for (size_t i = 0; i < assay_n_columns; i++) {
    if (strcmp(assay_columns[i].name, name) == 0) return &assay_columns[i];
  }
  assert(false); /* a name that no column has */
  return NULL;
}
