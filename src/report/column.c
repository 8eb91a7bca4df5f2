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
COLUMN(dtype, row->manifest ? assay_cell_text(row->manifest->dtype) : absent)
COLUMN(architecture, row->manifest ? assay_cell_text(row->manifest->architecture) : absent)
COLUMN(attention, row->manifest ? assay_cell_text(row->manifest->attention) : absent)
COLUMN(b, row->manifest_case && row->manifest_case->b ? assay_cell_count(row->manifest_case->b)
                                                      : absent)
COLUMN(n, row->manifest_case && row->manifest_case->n ? assay_cell_count(row->manifest_case->n)
                                                      : absent)
COLUMN(n_valid, row->n_valid >= 0 ? assay_cell_count(row->n_valid) : absent)
COLUMN(verdict, assay_cell_text(row->passed ? "pass" : "fail"))
COLUMN(numbers, assay_cell_text(assay_view_numbers_word(row)))
COLUMN(placement, assay_cell_text(assay_view_placement_word(row)))
COLUMN(timing, assay_cell_text(assay_view_timing_word(row)))

COLUMN(max_abs_f32, row->has_f32 ? assay_cell_error(row->max_abs_f32) : absent)
COLUMN(max_abs_f64, row->has_f64 ? assay_cell_error(row->max_abs_f64) : absent)
COLUMN(max_abs_user, row->has_user ? assay_cell_error(row->max_abs_user) : absent)
COLUMN(reference, row->has_reference_error ? assay_cell_error(row->reference_max_abs) : absent)

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

/* ---- placement ---- */

#define PLACEMENT_COLUMN(name)                                                                     \
  COLUMN(name,                                                                                     \
         assay_view_placement(row) ? assay_cell_count(assay_view_placement(row)->name) : absent)

PLACEMENT_COLUMN(n_compute)
PLACEMENT_COLUMN(n_on_provider)
PLACEMENT_COLUMN(n_copies)
PLACEMENT_COLUMN(n_control_flow)
PLACEMENT_COLUMN(n_allowed)

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
    {"runtime", "Runtime", get_runtime},
    {"bundle", "Model", get_bundle},
    {"case", "Case", get_case},
    {"kind", NULL, get_kind},
    {"architecture", NULL, get_architecture},
    {"dtype", NULL, get_dtype},
    {"attention", NULL, get_attention},
    {"b", "B", get_b},
    {"n", "N", get_n},
    {"n_valid", NULL, get_n_valid},
    {"verdict", "Verdict", get_verdict},
    {"numbers", "Numbers", get_numbers},
    {"placement", "Placement", get_placement},
    {"timing", NULL, get_timing},
    {"max_abs_error_f32", "Error vs FP32", get_max_abs_f32},
    {"max_abs_error_f64", "Error vs FP64", get_max_abs_f64},
    {"max_abs_error_user", "Error vs brought", get_max_abs_user},
    {"reference_f32_max_abs_error_f64", "FP32 reference vs FP64", get_reference},
    {"worst_head", "Worst head", get_worst_head},
    {"worst_reference", NULL, get_worst_reference},
    {"worst_tolerance_multiple", "Multiple of tolerance", get_worst_multiple},
    {"worst_abs_error", NULL, get_worst_abs},
    {"worst_shape", NULL, get_worst_shape},
    {"worst_index", NULL, get_worst_index},
    {"worst_got", NULL, get_worst_got},
    {"worst_want", NULL, get_worst_want},
    {"worst_atol", NULL, get_worst_atol},
    {"worst_rtol", NULL, get_worst_rtol},
    {"n_samples", NULL, get_n_samples},
    {"warmup", NULL, get_warmup},
    {"p50_ns", "p50", get_p50},
    {"p50_low_ns", NULL, get_p50_low},
    {"p50_high_ns", NULL, get_p50_high},
    {"p90_ns", "p90", get_p90},
    {"p90_low_ns", NULL, get_p90_low},
    {"p90_high_ns", NULL, get_p90_high},
    {"p95_ns", NULL, get_p95},
    {"p95_low_ns", NULL, get_p95_low},
    {"p95_high_ns", NULL, get_p95_high},
    {"p99_ns", "p99", get_p99},
    {"p99_low_ns", NULL, get_p99_low},
    {"p99_high_ns", NULL, get_p99_high},
    {"min_ns", NULL, get_min},
    {"max_ns", NULL, get_max},
    {"mean_ns", NULL, get_mean},
    {"stddev_ns", NULL, get_stddev},
    {"lag1", NULL, get_lag1},
    {"drift", NULL, get_drift},
    {"n_outliers", NULL, get_n_outliers},
    {"outputs_identical", NULL, get_outputs_identical},
    {"session_create_ns", "Session", get_session},
    {"first_run_ns", "First call", get_first},
    {"n_compute", NULL, get_n_compute},
    {"n_on_provider", NULL, get_n_on_provider},
    {"n_copies", NULL, get_n_copies},
    {"n_control_flow", NULL, get_n_control_flow},
    {"n_allowed", NULL, get_n_allowed},
    {"library_version", NULL, get_library_version},
    {"provider", NULL, get_provider},
    {"timing_status", NULL, get_timing_status},
    {"timing_reason", NULL, get_timing_reason},
    {"placement_status", NULL, get_placement_status},
    {"placement_reason", NULL, get_placement_reason},
    {"model_sha256", NULL, get_model_sha256},
    {"case_sha256", NULL, get_case_sha256},
    {"library_sha256", NULL, get_library_sha256},
    {"options_sha256", NULL, get_options_sha256},
    {"timing_file", NULL, get_timing_file},
    {"timing_file_sha256", NULL, get_timing_file_sha256},
    {"placement_file", NULL, get_placement_file},
    {"placement_file_sha256", NULL, get_placement_file_sha256},
};
const size_t assay_n_columns = sizeof assay_columns / sizeof assay_columns[0];

const assay_column *assay_column_find(const char *name) {
  for (size_t i = 0; i < assay_n_columns; i++) {
    if (strcmp(assay_columns[i].name, name) == 0) return &assay_columns[i];
  }
  assert(false); /* a name that no column has */
  return NULL;
}
