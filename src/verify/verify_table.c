/* What the tables must say. Names and meanings of columns are those of the files that the report
 * writes; a column that is not here is a problem, so that no figure is published unverified. */
#include "verify/verify_table.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* --- rows ----------------------------------------------------------------------------------------
 */

static bool is_done(const assay_verify_run *run) {
  return run != NULL && run->is_there && run->found.status == ASSAY_RESULT_DONE;
}

/* How bad: what cannot be compared is worse than any error. */
static double badness(const assay_verify_comparison *c) {
  const assay_result_comparison *f = &c->figures;
  bool unlike = !f->same_shape || !f->same_dtype || f->n_class_mismatch > 0;
  return unlike || isnan(f->max_tol_multiple) ? HUGE_VAL : f->max_tol_multiple;
}

bool assay_verify_is_worse(const assay_verify_comparison *a, const assay_verify_comparison *b) {
  if (a->figures.passed != b->figures.passed) return !a->figures.passed;
  return badness(a) > badness(b);
}

/* The first of the worst. */
static const assay_verify_comparison *find_worst(const assay_verify_run *timing) {
  const assay_verify_comparison *worst = NULL;
  if (timing == NULL || !timing->has_numbers) return NULL;
  for (size_t i = 0; i < timing->numbers.n; i++) {
    const assay_verify_comparison *c = &timing->numbers.comparisons[i];
    if (!c->figures.gate) continue;
    if (worst == NULL || assay_verify_is_worse(c, worst)) worst = c;
  }
  return worst;
}

/* Elements that were compared, of one head or (NULL) of all. */
static int64_t count_compared(const assay_verify_run *timing, const char *head) {
  int64_t n = 0;
  if (timing == NULL || !timing->has_numbers) return 0;
  for (size_t i = 0; i < timing->numbers.n; i++) {
    const assay_verify_comparison *c = &timing->numbers.comparisons[i];
    if (head == NULL || strcmp(c->head, head) == 0) n += c->figures.n_compared;
  }
  return n;
}

/* Every head has elements that were compared, in this case or in another of the bundle on the same
 * runtime. */
static bool has_evidence(const assay_verify_rows *rows, const assay_verify_row *row) {
  for (size_t h = 0; h < row->manifest->n_heads; h++) {
    int64_t n = 0;
    for (size_t i = 0; i < rows->n; i++)
      if (strcmp(rows->items[i].runtime, row->runtime) == 0 &&
          strcmp(rows->items[i].bundle, row->bundle) == 0)
        n += count_compared(rows->items[i].timing, row->manifest->heads[h].name);
    if (n == 0) return false;
  }
  return true;
}

/* What ran is what the bundle holds. */
static bool keys_agree(const assay_verify_row *row, const assay_verify_run *run) {
  const assay_manifest_case *one = row->manifest_case;
  const char *model = one->model.file != NULL ? one->model.sha256 : row->manifest->model.sha256;
  return strcmp(run->found.keys.model_sha256, model) == 0 &&
         strcmp(run->found.keys.case_sha256, one->file.sha256) == 0;
}

static bool has_passed(const assay_verify_rows *rows, const assay_verify_row *row) {
  const assay_verify_run *t = row->timing, *p = row->placement;
  if (row->manifest == NULL || row->manifest_case == NULL) return false;
  if (!assay_verify_run_passed(t) || !assay_verify_run_passed(p)) return false;
  const char *options = t->found.keys.options_sha256;
  return keys_agree(row, t) && keys_agree(row, p) && options[0] != '\0' &&
         strcmp(options, p->found.keys.options_sha256) == 0 &&
         strcmp(assay_result_executed(&t->found), assay_result_executed(&p->found)) == 0 &&
         has_evidence(rows, row);
}

static assay_verify_row *find_row(assay_verify_rows *rows, const char *runtime, const char *bundle,
                                  const char *case_name) {
  for (size_t i = 0; i < rows->n; i++) {
    assay_verify_row *row = &rows->items[i];
    if (strcmp(row->case_name, case_name) == 0 && strcmp(row->bundle, bundle) == 0 &&
        strcmp(row->runtime, runtime) == 0)
      return row;
  }
  return NULL;
}

const assay_verify_row *assay_verify_rows_find(const assay_verify_rows *rows, const char *runtime,
                                               const char *bundle, const char *case_name) {
  assay_verify_rows all = *rows;
  return find_row(&all, runtime, bundle, case_name);
}

static const char *inputs_of(const char *kind) {
  if (strcmp(kind, "event") == 0) return "events";
  bool controlled = strcmp(kind, "sweep") == 0 || strcmp(kind, "batch") == 0;
  return controlled ? "controlled" : "brought";
}

static void demand_rows(const assay_verify_scene *scene, const assay_verify_case *cases,
                        size_t n_cases, assay_verify_rows *rows) {
  for (size_t r = 0; r < scene->package->n_runtimes; r++)
    for (size_t c = 0; c < n_cases; c++) {
      const assay_manifest *manifest = &scene->manifests[cases[c].bundle];
      const assay_manifest_case *one = &manifest->cases[cases[c].index];
      if (!assay_package_is_planned(scene->package, scene->package->runtimes[r].name,
                                    scene->package->bundles[cases[c].bundle].name))
        continue;
      rows->items[rows->n++] =
          (assay_verify_row){.scene = scene,
                             .runtime = scene->package->runtimes[r].name,
                             .bundle = scene->package->bundles[cases[c].bundle].name,
                             .case_name = one->name,
                             .manifest = manifest,
                             .manifest_case = one,
                             .references = cases[c].has != NULL ? &cases[c] : NULL,
                             .inputs = inputs_of(one->kind)};
    }
}

static void add_run(const assay_verify_scene *scene, assay_verify_rows *rows,
                    const assay_verify_run *run) {
  const assay_package_run *planned = run->planned;
  assay_verify_row *row = find_row(rows, planned->runtime, planned->bundle, planned->case_name);
  if (row == NULL) {
    row = &rows->items[rows->n++];
    *row = (assay_verify_row){.scene = scene,
                              .runtime = planned->runtime,
                              .bundle = planned->bundle,
                              .case_name = planned->case_name,
                              .inputs = "brought",
                              .manifest = run->manifest};
  }
  const assay_verify_run **mode =
      planned->mode == ASSAY_RESULT_TIMING ? &row->timing : &row->placement;
  if (*mode == NULL) *mode = run;
}

assay_status assay_verify_rows_init(const assay_verify_scene *scene, const assay_verify_run *runs,
                                    const assay_verify_case *cases, size_t n_cases,
                                    assay_verify_rows *out, assay_error *err) {
  const assay_package *package = scene->package;
  size_t n = package->n_runtimes * n_cases + package->n_runs;
  assay_verify_rows rows = {.items = assay_alloc_array(n, sizeof *rows.items)};
  if (rows.items == NULL) return assay_fail_memory(err, n * sizeof *rows.items);
  demand_rows(scene, cases, n_cases, &rows);
  for (size_t i = 0; i < package->n_runs; i++) add_run(scene, &rows, &runs[i]);
  for (size_t i = 0; i < rows.n; i++) {
    rows.items[i].worst = find_worst(rows.items[i].timing);
    rows.items[i].passed = has_passed(&rows, &rows.items[i]);
  }
  *out = rows;
  return ASSAY_OK;
}

void assay_verify_rows_reset(assay_verify_rows *rows) {
  assay_free(rows->items);
  *rows = (assay_verify_rows){0};
}

const assay_verify_comparison *
assay_verify_row_comparison(const assay_verify_row *row, const char *head, const char *reference) {
  if (row->timing == NULL || !row->timing->has_numbers) return NULL;
  for (size_t i = 0; i < row->timing->numbers.n; i++) {
    const assay_verify_comparison *c = &row->timing->numbers.comparisons[i];
    if (strcmp(c->head, head) == 0 && strcmp(c->reference, reference) == 0) return c;
  }
  return NULL;
}

/* --- cells ---------------------------------------------------------------------------------------
 */

static void set_text(assay_verify_cell *out, const char *text) {
  if (text == NULL || text[0] == '\0') return; /* absent */
  out->kind = ASSAY_VERIFY_CELL_TEXT;
  snprintf(out->text, sizeof out->text, "%s", text);
}

static void set_count(assay_verify_cell *out, int64_t count) {
  out->kind = ASSAY_VERIFY_CELL_COUNT;
  out->count = count;
}

static void set_size(assay_verify_cell *out, int64_t bytes) {
  if (bytes == ASSAY_RESULT_NONE) return; /* absent */
  out->kind = ASSAY_VERIFY_CELL_SIZE;
  out->count = bytes;
}

static void set_real(assay_verify_cell *out, double value, double bound) {
  out->kind = ASSAY_VERIFY_CELL_REAL;
  out->real = value;
  out->bound = bound;
}

static void set_time(assay_verify_cell *out, double ns, double bound) {
  set_real(out, ns, bound);
  out->kind = ASSAY_VERIFY_CELL_TIME;
}

#define COLUMN(name) static void get_##name(const assay_verify_row *row, assay_verify_cell *out)

COLUMN(runtime) {
  set_text(out, row->runtime);
}
COLUMN(bundle) {
  set_text(out, row->bundle);
}
COLUMN(case) {
  set_text(out, row->case_name);
}
COLUMN(kind) {
  if (row->manifest_case != NULL) set_text(out, row->manifest_case->kind);
}
COLUMN(architecture) {
  if (row->manifest != NULL) set_text(out, row->manifest->architecture);
}
COLUMN(dtype) {
  if (row->manifest != NULL) set_text(out, row->manifest->dtype);
}
COLUMN(inputs) {
  set_text(out, row->inputs);
}
/* The model's type, and what its plan says is computed in another one. */
COLUMN(precision) {
  if (row->manifest == NULL) return;
  const char *own = row->manifest->dtype;
  set_text(out, own);
  for (size_t i = 0; i < assay_json_len(row->manifest->plan); i++) {
    const char *key = assay_json_key_at(row->manifest->plan, i);
    const char *type = assay_json_string(assay_json_get(row->manifest->plan, key));
    static const char *const floats[] = {"float16", "bfloat16", "float32", "float64"};
    for (size_t k = 0; type != NULL && k < 4; k++) {
      size_t n = strlen(out->text);
      if (strcmp(type, floats[k]) == 0 && strcmp(type, own) != 0)
        snprintf(out->text + n, sizeof out->text - n, ", %s %s", key, type);
    }
  }
}
COLUMN(attention) {
  if (row->manifest != NULL) set_text(out, row->manifest->attention);
}
COLUMN(b) {
  if (row->manifest_case != NULL && row->manifest_case->b) set_count(out, row->manifest_case->b);
}
COLUMN(n) {
  if (row->manifest_case != NULL && row->manifest_case->n) set_count(out, row->manifest_case->n);
}
COLUMN(n_valid) {
  if (row->manifest_case == NULL || row->manifest_case->valid == NULL) return;
  int64_t n = 0;
  for (int64_t i = 0; i < row->manifest_case->b; i++) n += row->manifest_case->valid[i];
  set_count(out, n);
}

COLUMN(n_denormal_inputs) {
  if (row->references != NULL) set_count(out, row->references->n_denormal_inputs);
}

/* --- verdicts ------------------------------------------------------------------------------------
 */

COLUMN(verdict) {
  set_text(out, row->passed ? "pass" : "fail");
}

/* How a run ended, where it did not end well; NULL for one that is done. */
static const char *ended(const assay_verify_run *run) {
  if (run == NULL) return "not planned";
  if (!run->is_there) return NULL; /* missing or unreadable: the report says which */
  switch (run->found.status) {
  case ASSAY_RESULT_MISSING:
    return "missing";
  case ASSAY_RESULT_FAILED:
    return "failed";
  case ASSAY_RESULT_CRASHED:
    return "crashed";
  case ASSAY_RESULT_TIMED_OUT:
    return "timed out";
  case ASSAY_RESULT_DONE:
    break;
  }
  return NULL;
}

static void set_verdict(assay_verify_cell *out, const assay_verify_run *run, bool derived,
                        assay_verdict verdict) {
  const char *word = ended(run);
  if (word != NULL)
    set_text(out, word);
  else if (!derived)
    out->kind = ASSAY_VERIFY_CELL_UNKNOWN;
  else
    set_text(out, assay_verdict_name(verdict));
}

COLUMN(numbers) {
  const assay_verify_run *t = row->timing;
  bool derived = t != NULL && t->has_numbers;
  if (derived && ended(t) == NULL && t->numbers.verdict == ASSAY_VERDICT_PASS &&
      count_compared(t, /*head=*/NULL) == 0)
    set_text(out, "padding"); /* passes, and no position is valid */
  else
    set_verdict(out, t, derived, derived ? t->numbers.verdict : ASSAY_VERDICT_UNKNOWN);
}
COLUMN(placement) {
  const assay_verify_run *p = row->placement;
  bool derived = p != NULL && p->has_placement;
  assay_verdict verdict = derived ? p->placement.figures.verdict : ASSAY_VERDICT_UNKNOWN;
  bool compiled = verdict == ASSAY_VERDICT_PASS && p->compiles.later > 0;
  set_verdict(out, p, derived, compiled ? ASSAY_VERDICT_FAIL : verdict);
}
COLUMN(timing) {
  bool derived = row->timing != NULL && row->timing->has_stats;
  bool compiled = derived && row->timing->compiles.later > 0;
  set_verdict(out, row->timing, derived, compiled ? ASSAY_VERDICT_FAIL : ASSAY_VERDICT_PASS);
}

/* --- errors --------------------------------------------------------------------------------------
 */

static bool is_measured(const assay_result_comparison *c) {
  return c->same_shape && c->same_dtype && c->n_finite_pairs > 0;
}

/* Figures of a run that says "done" and whose evidence cannot be read are not known. */
static bool numbers_unknown(const assay_verify_row *row, assay_verify_cell *out) {
  bool unknown = row->timing != NULL && !row->timing->has_numbers &&
                 (is_done(row->timing) || row->timing->found.n_comparisons > 0);
  if (unknown) out->kind = ASSAY_VERIFY_CELL_UNKNOWN;
  return unknown;
}

static void set_max_abs(const assay_verify_row *row, const char *reference,
                        assay_verify_cell *out) {
  if (numbers_unknown(row, out) || row->timing == NULL) return;
  for (size_t i = 0; i < row->timing->numbers.n; i++) {
    const assay_verify_comparison *c = &row->timing->numbers.comparisons[i];
    if (strcmp(c->reference, reference) != 0 || !is_measured(&c->figures)) continue;
    if (out->kind == ASSAY_VERIFY_CELL_ABSENT || c->figures.max_abs > out->real)
      set_real(out, c->figures.max_abs, 0);
  }
}

COLUMN(max_abs_f32) {
  set_max_abs(row, "f32", out);
}
COLUMN(max_abs_f64) {
  set_max_abs(row, "f64", out);
}
COLUMN(max_abs_user) {
  set_max_abs(row, "user", out);
}
COLUMN(reference) {
  if (row->references == NULL || row->manifest == NULL) return;
  for (size_t i = 0; i < row->manifest->n_heads; i++) {
    if (!row->references->has[i]) continue;
    double value = row->references->max_abs[i];
    if (out->kind == ASSAY_VERIFY_CELL_ABSENT || value > out->real) set_real(out, value, 0);
  }
}

/* Denormals over all heads, each counted where it is judged: against FP32, else what a user
 * brought, else FP64. */
static void set_denormals(const assay_verify_row *row, bool of_outputs, assay_verify_cell *out) {
  static const char *const order[] = {"f32", "user", "f64"};
  if (numbers_unknown(row, out) || row->timing == NULL || row->manifest == NULL) return;
  int64_t n = 0;
  bool any = false;
  for (size_t h = 0; h < row->manifest->n_heads; h++) {
    const assay_verify_comparison *c = NULL;
    for (size_t k = 0; k < 3 && c == NULL; k++)
      c = assay_verify_row_comparison(row, row->manifest->heads[h].name, order[k]);
    if (c == NULL || !c->figures.same_shape || !c->figures.same_dtype) continue;
    n += of_outputs ? c->figures.n_denormal_got : c->figures.n_denormal_want;
    any = true;
  }
  if (any) set_count(out, n);
}

COLUMN(n_denormal_outputs) {
  set_denormals(row, /*of_outputs=*/true, out);
}
COLUMN(n_denormal_references) {
  set_denormals(row, /*of_outputs=*/false, out);
}

/* The element where the worst error is: false when there is none. */
static bool worst_point(const assay_verify_row *row, assay_verify_cell *out,
                        assay_result_point *point) {
  if (numbers_unknown(row, out) || row->worst == NULL) return false;
  const assay_result_comparison *c = &row->worst->figures;
  if (!c->same_shape || !c->same_dtype) return false;
  *point = c->n_class_mismatch > 0 ? c->first_class_mismatch : c->max_tol_at;
  return point->index >= 0;
}

COLUMN(worst_head) {
  if (!numbers_unknown(row, out) && row->worst != NULL) set_text(out, row->worst->head);
}
COLUMN(worst_reference) {
  if (!numbers_unknown(row, out) && row->worst != NULL) set_text(out, row->worst->reference);
}
COLUMN(worst_multiple) {
  assay_result_point at;
  if (!worst_point(row, out, &at)) return;
  const assay_result_comparison *c = &row->worst->figures;
  set_real(out, c->n_class_mismatch > 0 ? HUGE_VAL : c->max_tol_multiple, 0);
}
COLUMN(worst_abs) {
  assay_result_point at;
  if (worst_point(row, out, &at)) set_real(out, fabs(at.got - at.want), 0);
}
COLUMN(worst_shape) {
  if (!numbers_unknown(row, out) && row->worst != NULL) set_text(out, row->worst->figures.shape);
}
COLUMN(worst_index) {
  assay_result_point at;
  if (worst_point(row, out, &at)) set_count(out, at.index);
}
COLUMN(worst_got) {
  assay_result_point at;
  if (worst_point(row, out, &at)) set_real(out, at.got, 0);
}
COLUMN(worst_want) {
  assay_result_point at;
  if (worst_point(row, out, &at)) set_real(out, at.want, 0);
}
COLUMN(worst_atol) {
  if (!numbers_unknown(row, out) && row->worst != NULL) set_real(out, row->worst->figures.atol, 0);
}
COLUMN(worst_rtol) {
  if (!numbers_unknown(row, out) && row->worst != NULL) set_real(out, row->worst->figures.rtol, 0);
}

/* --- timing --------------------------------------------------------------------------------------
 */

/* NULL: nothing was timed, or (out says so) what was cannot be derived. */
static const assay_verify_stats *stats_of(const assay_verify_row *row, assay_verify_cell *out) {
  const assay_verify_run *t = row->timing;
  if (t == NULL || !t->is_there || !t->found.timing.known) return NULL;
  if (!t->has_stats) out->kind = ASSAY_VERIFY_CELL_UNKNOWN;
  return t->has_stats ? &t->stats : NULL;
}

#define TIMING_COLUMN(name, set)                                                                   \
  COLUMN(name) {                                                                                   \
    const assay_verify_stats *derived = stats_of(row, out);                                        \
    if (derived == NULL) return;                                                                   \
    const assay_result_stats *s = &derived->stats;                                                 \
    const assay_result_timing *t = &row->timing->found.timing;                                     \
    (void)s, (void)t;                                                                              \
    set;                                                                                           \
  }
#define PERCENTILE_COLUMNS(name, i)                                                                \
  TIMING_COLUMN(name, set_time(out, s->percentiles[i].value_ns,                                    \
                               assay_verify_ulps(s->percentiles[i].value_ns, 2)))                  \
  TIMING_COLUMN(name##_low,                                                                        \
                if (s->percentiles[i].has_low) set_time(out, (double)s->percentiles[i].low_ns, 0)) \
  TIMING_COLUMN(name##_high, if (s->percentiles[i].has_high)                                       \
                                 set_time(out, (double)s->percentiles[i].high_ns, 0))

PERCENTILE_COLUMNS(p50, 0)
PERCENTILE_COLUMNS(p90, 1)
PERCENTILE_COLUMNS(p95, 2)
PERCENTILE_COLUMNS(p99, 3)
TIMING_COLUMN(n_samples, set_count(out, s->n))
TIMING_COLUMN(min, set_time(out, (double)s->min_ns, 0))
TIMING_COLUMN(max, set_time(out, (double)s->max_ns, 0))
TIMING_COLUMN(mean, set_time(out, s->mean_ns, assay_verify_ulps(s->mean_ns, 2)))
TIMING_COLUMN(stddev, set_time(out, s->stddev_ns, derived->stddev_bound))
TIMING_COLUMN(lag1, if (!isnan(s->lag1)) set_real(out, s->lag1, derived->lag1_bound))
TIMING_COLUMN(drift, if (!isnan(s->drift)) set_real(out, s->drift, assay_verify_ulps(s->drift, 2)))
TIMING_COLUMN(n_outliers, set_count(out, s->n_outliers))
TIMING_COLUMN(outputs_identical, set_text(out, t->outputs_identical ? "yes" : "no"))
TIMING_COLUMN(warmup, set_count(out, t->warmup))
TIMING_COLUMN(session, set_time(out, (double)t->session_create_ns, 0))
TIMING_COLUMN(first, set_time(out, (double)t->first_run_ns, 0))

/* --- processes -----------------------------------------------------------------------------------
 */

#define SPREAD_COLUMN(name, set)                                                                   \
  COLUMN(name) {                                                                                   \
    const assay_verify_run *t = row->timing;                                                       \
    if (t == NULL || !t->is_there || !t->found.processes.known) return;                            \
    const assay_verify_spread *s = &t->spread;                                                     \
    if (s->derived)                                                                                \
      set;                                                                                         \
    else                                                                                           \
      out->kind = ASSAY_VERIFY_CELL_UNKNOWN;                                                       \
  }

SPREAD_COLUMN(n_processes, set_count(out, s->n))
SPREAD_COLUMN(processes_min, set_time(out, s->p50_min_ns, assay_verify_ulps(s->p50_min_ns, 2)))
SPREAD_COLUMN(processes_max, set_time(out, s->p50_max_ns, assay_verify_ulps(s->p50_max_ns, 2)))
SPREAD_COLUMN(processes_spread, set_real(out, s->p50_spread, s->spread_bound))
SPREAD_COLUMN(processes_agree, set_text(out, s->identical ? "yes" : "no"))

/* --- memory --------------------------------------------------------------------------------------
 */

/* What the result says of memory, where it was asked; NULL otherwise. */
static const assay_result_memory *asked_memory(const assay_verify_row *row) {
  const assay_verify_run *t = row->timing;
  return t != NULL && t->is_there && t->found.memory.known ? &t->found.memory : NULL;
}

/* Samples were taken and derived from; what was taken and cannot be is UNKNOWN. */
static const assay_verify_memory *sampled(const assay_verify_row *row, assay_verify_cell *out) {
  const assay_result_memory *asked = asked_memory(row);
  if (asked == NULL || asked->reason != NULL) return NULL;
  if (!row->timing->memory.derived) out->kind = ASSAY_VERIFY_CELL_UNKNOWN;
  return row->timing->memory.derived ? &row->timing->memory : NULL;
}

static size_t rss_column(const assay_result_memory *asked) {
  size_t i = 0;
  while (i < asked->n_columns && strcmp(asked->columns[i].name, "rss_bytes") != 0) i++;
  return i;
}

static bool rose(const assay_verify_memory_column *c) {
  return c->baseline_bytes >= 0 && c->peak_bytes >= 0;
}

/* The device that stands for the row: the first of those whose used memory rose most; one whose
 * rise is not known only where that is so of all. n_columns: there is none. */
static size_t device_column(const assay_result_memory *asked, const assay_verify_memory *derived) {
  size_t best = asked->n_columns;
  for (size_t i = 0; i < asked->n_columns && i < derived->n_columns; i++) {
    const assay_verify_memory_column *c = &derived->columns[i];
    if (strncmp(asked->columns[i].name, "used_bytes@", 11) != 0) continue;
    const assay_verify_memory_column *b = best < asked->n_columns ? &derived->columns[best] : NULL;
    bool better = b == NULL || (rose(c) && !rose(b)) ||
                  (rose(c) && rose(b) &&
                   c->peak_bytes - c->baseline_bytes > b->peak_bytes - b->baseline_bytes);
    if (better) best = i;
  }
  return best;
}

/* Derived figures of the process, or of the device that stands for the row; NULL: none. */
static const assay_verify_memory_column *figures_of(const assay_verify_row *row, bool of_device,
                                                    assay_verify_cell *out) {
  const assay_verify_memory *derived = sampled(row, out);
  if (derived == NULL) return NULL;
  const assay_result_memory *asked = asked_memory(row);
  size_t i = of_device ? device_column(asked, derived) : rss_column(asked);
  return i < derived->n_columns ? &derived->columns[i] : NULL;
}

static void set_above(assay_verify_cell *out, int64_t peak_bytes, int64_t baseline_bytes) {
  if (peak_bytes == ASSAY_RESULT_NONE || baseline_bytes == ASSAY_RESULT_NONE) return;
  out->kind = ASSAY_VERIFY_CELL_SIZE;
  out->count = peak_bytes - baseline_bytes;
}

COLUMN(memory) {
  const assay_verify_run *t = row->timing;
  if (t == NULL || !t->is_there || t->found.status == ASSAY_RESULT_MISSING) {
    /* A result that cannot be read is one of a failed run to the report. */
    if (t != NULL && !t->is_there) out->kind = ASSAY_VERIFY_CELL_UNKNOWN;
    return;
  }
  if (asked_memory(row) == NULL) {
    set_text(out, "not sampled");
    return;
  }
  const assay_verify_memory_column *rss = figures_of(row, /*of_device=*/false, out);
  if (out->kind == ASSAY_VERIFY_CELL_UNKNOWN) return;
  set_text(out, rss != NULL && rss->n_values > 0 ? "sampled" : "unavailable");
}
COLUMN(memory_reason) {
  const assay_result_memory *asked = asked_memory(row);
  if (asked == NULL) return;
  set_text(out, asked->reason);
  const assay_verify_memory_column *rss = figures_of(row, /*of_device=*/false, out);
  if (rss != NULL && rss->n_values == 0) set_text(out, asked->columns[rss_column(asked)].reason);
}

#define SAMPLES_COLUMN(name, set)                                                                  \
  COLUMN(name) {                                                                                   \
    const assay_verify_memory *derived = sampled(row, out);                                        \
    const assay_result_memory *asked = asked_memory(row);                                          \
    if (derived == NULL) return;                                                                   \
    (void)asked;                                                                                   \
    set;                                                                                           \
  }
SAMPLES_COLUMN(memory_interval, set_time(out, (double)asked->interval_ns, 0))
SAMPLES_COLUMN(memory_n_rows, set_count(out, derived->n_rows))
SAMPLES_COLUMN(memory_n_missed, set_count(out, derived->n_missed))
SAMPLES_COLUMN(memory_n_dropped, set_count(out, asked->n_dropped))
SAMPLES_COLUMN(memory_max_late, set_time(out, (double)asked->max_late_ns, 0))

#define FIGURE_COLUMN(name, of_device, set)                                                        \
  COLUMN(name) {                                                                                   \
    const assay_verify_memory_column *c = figures_of(row, of_device, out);                         \
    if (c == NULL) return;                                                                         \
    set;                                                                                           \
  }
#define FIGURE_COLUMNS(name, of_device)                                                            \
  FIGURE_COLUMN(name##_baseline, of_device, set_size(out, c->baseline_bytes))                      \
  FIGURE_COLUMN(name##_first, of_device, set_size(out, c->peak_first_bytes))                       \
  FIGURE_COLUMN(name##_warm, of_device, set_size(out, c->peak_warm_bytes))                         \
  FIGURE_COLUMN(name##_peak, of_device, set_size(out, c->peak_bytes))                              \
  FIGURE_COLUMN(name##_first_above, of_device,                                                     \
                set_above(out, c->peak_first_bytes, c->baseline_bytes))                            \
  FIGURE_COLUMN(name##_warm_above, of_device,                                                      \
                set_above(out, c->peak_warm_bytes, c->baseline_bytes))                             \
  FIGURE_COLUMN(name##_peak_above, of_device, set_above(out, c->peak_bytes, c->baseline_bytes))
FIGURE_COLUMNS(rss, /*of_device=*/false)
FIGURE_COLUMNS(device, /*of_device=*/true)

/* The kernel's mark is recorded; it was held against the largest sample before. */
FIGURE_COLUMN(rss_high_water, /*of_device=*/false,
              const assay_result_memory *asked = asked_memory(row);
              set_size(out, asked->columns[rss_column(asked)].high_water_bytes))
FIGURE_COLUMN(device, /*of_device=*/true, const assay_result_memory *asked = asked_memory(row);
              set_text(out, asked->columns[c - row->timing->memory.columns].device))
COLUMN(device_reason) {
  const assay_verify_memory_column *device = figures_of(row, /*of_device=*/true, out);
  const assay_result_memory *asked = asked_memory(row);
  if (asked == NULL || asked->reason != NULL || out->kind == ASSAY_VERIFY_CELL_UNKNOWN) return;
  if (device != NULL) {
    if (device->n_values == 0)
      set_text(out, asked->columns[device - row->timing->memory.columns].reason);
    return;
  }
  for (size_t i = 0; i < asked->n_absent; i++) {
    size_t n = strlen(out->text);
    out->kind = ASSAY_VERIFY_CELL_TEXT;
    snprintf(out->text + n, sizeof out->text - n, "%s%.500s: %.1000s", i > 0 ? "; " : "",
             asked->absent[i].source, asked->absent[i].reason);
  }
}

/* --- placement -----------------------------------------------------------------------------------
 */

#define PLACEMENT_COLUMN(name)                                                                     \
  COLUMN(name) {                                                                                   \
    const assay_verify_run *p = row->placement;                                                    \
    if (p == NULL || !p->is_there || !p->found.placement.known) return;                            \
    if (p->has_placement)                                                                          \
      set_count(out, p->placement.figures.name);                                                   \
    else                                                                                           \
      out->kind = ASSAY_VERIFY_CELL_UNKNOWN;                                                       \
  }

PLACEMENT_COLUMN(n_compute)
PLACEMENT_COLUMN(n_on_provider)
PLACEMENT_COLUMN(n_copies)
PLACEMENT_COLUMN(n_control_flow)
PLACEMENT_COLUMN(n_allowed)
PLACEMENT_COLUMN(n_compiled)
COLUMN(copied_bytes) {
  const assay_verify_run *p = row->placement;
  if (p == NULL || !p->is_there || !p->found.placement.known) return;
  if (!p->has_placement)
    out->kind = ASSAY_VERIFY_CELL_UNKNOWN;
  else if (p->placement.figures.copied_bytes >= 0)
    set_size(out, p->placement.figures.copied_bytes);
}

/* As derived; a run that is not done has none. */
static const assay_result_coverage *coverage_of(const assay_verify_row *row) {
  return row->placement != NULL && row->placement->coverage.judged ? &row->placement->coverage
                                                                   : NULL;
}

COLUMN(coverage) {
  const assay_result_coverage *c = coverage_of(row);
  char text[96];
  if (c == NULL) return;
  int n = snprintf(text, sizeof text, "%" PRId64 " of %" PRId64, c->n_covered, c->n_nodes);
  if (c->n_unknown > 0 && n > 0)
    snprintf(text + n, sizeof text - (size_t)n, " (%" PRId64 " unknown)", c->n_unknown);
  set_text(out, c->known ? text : "unknown");
}
COLUMN(coverage_reason) { /* its words are the result's: that there are some was checked there */
  if (coverage_of(row) != NULL && !coverage_of(row)->known)
    set_text(out, row->placement->found.coverage.reason);
}

/* As derived: of the timing where its log says, else of the placement. */
static const assay_result_compiles *compiles_of(const assay_verify_row *row) {
  if (row->timing != NULL && row->timing->compiles.known) return &row->timing->compiles;
  return row->placement != NULL && row->placement->compiles.known ? &row->placement->compiles
                                                                  : NULL;
}

#define COMPILES_COLUMN(name)                                                                      \
  COLUMN(compiles_##name) {                                                                        \
    if (compiles_of(row) != NULL) set_count(out, compiles_of(row)->name);                          \
  }
/* The timing's, which were held against the worker's own record. */
static const assay_result_caches *caches_of(const assay_verify_row *row) {
  bool any = row->timing != NULL && row->timing->is_there && row->timing->found.caches.n > 0;
  return any ? &row->timing->found.caches : NULL;
}
COLUMN(cache) {
  const assay_result_caches *caches = caches_of(row);
  bool warm = false;
  for (size_t i = 0; caches != NULL && i < caches->n; i++)
    warm |= caches->items[i].n_files_before > 0;
  if (caches != NULL) set_text(out, warm ? "warm" : "cold");
}
COLUMN(cache_bytes) {
  const assay_result_caches *caches = caches_of(row);
  int64_t bytes = 0;
  for (size_t i = 0; caches != NULL && i < caches->n; i++) bytes += caches->items[i].bytes_after;
  if (caches != NULL) set_size(out, bytes);
}

COMPILES_COLUMN(session)
COMPILES_COLUMN(first)
COMPILES_COLUMN(later)

#define COVERAGE_COLUMN(name)                                                                      \
  COLUMN(model_##name) {                                                                           \
    const assay_result_coverage *c = coverage_of(row);                                             \
    if (c != NULL && c->known) set_count(out, c->name);                                            \
  }

COVERAGE_COLUMN(n_nodes)
COVERAGE_COLUMN(n_covered)
COVERAGE_COLUMN(n_elsewhere)
COVERAGE_COLUMN(n_unknown)

/* --- what ran ------------------------------------------------------------------------------------
 * Facts that were held against the worker's record before, as the result has them. */

/* The first of the row's results that opened a library, or NULL. */
static const assay_result *opened(const assay_verify_row *row) {
  const assay_verify_run *runs[] = {row->timing, row->placement};
  for (size_t i = 0; i < 2; i++)
    if (runs[i] != NULL && runs[i]->is_there && runs[i]->found.library_path != NULL)
      return &runs[i]->found;
  return NULL;
}

COLUMN(library_version) {
  if (opened(row) != NULL) set_text(out, opened(row)->library_version);
}
COLUMN(library_sha256) {
  if (opened(row) != NULL) set_text(out, opened(row)->keys.library_sha256);
}
COLUMN(provider) {
  const assay_verify_run *runs[] = {row->timing, row->placement};
  for (size_t i = 0; i < 2 && out->kind == ASSAY_VERIFY_CELL_ABSENT; i++)
    if (runs[i] != NULL && runs[i]->is_there) set_text(out, runs[i]->found.provider);
}

#define KEY_COLUMN(name)                                                                           \
  COLUMN(name) {                                                                                   \
    const assay_verify_run *t = row->timing;                                                       \
    if (t != NULL && t->is_there) set_text(out, t->found.keys.name);                               \
  }
KEY_COLUMN(model_sha256)
KEY_COLUMN(case_sha256)
COLUMN(graph_sha256) { /* checked with the run: it is what the worker loaded */
  const assay_verify_run *t = row->timing;
  if (t != NULL && t->is_there) set_text(out, t->found.graph.sha256);
}
KEY_COLUMN(options_sha256)

static void set_status(assay_verify_cell *out, const assay_verify_run *run) {
  if (run == NULL) return;
  if (run->is_there)
    set_text(out, assay_result_status_name(run->found.status));
  else
    out->kind = ASSAY_VERIFY_CELL_UNKNOWN;
}

static void set_reason(assay_verify_cell *out, const assay_verify_run *run, const char *judged) {
  if (run == NULL) return;
  if (!run->is_there)
    out->kind = ASSAY_VERIFY_CELL_UNKNOWN;
  else
    set_text(out, run->found.reason != NULL ? run->found.reason : judged);
}

COLUMN(timing_status) {
  set_status(out, row->timing);
}
COLUMN(timing_reason) {
  set_reason(out, row->timing, row->timing != NULL ? row->timing->found.numbers_reason : NULL);
}
COLUMN(placement_status) {
  set_status(out, row->placement);
}
COLUMN(placement_reason) {
  set_reason(out, row->placement,
             row->placement != NULL ? row->placement->found.placement.reason : NULL);
}

static const assay_tree_entry *result_entry(const assay_verify_scene *scene,
                                            const assay_verify_run *run) {
  char name[1200];
  if (run == NULL) return NULL;
  snprintf(name, sizeof name, "%.1100s/result.json", run->planned->folder);
  return assay_tree_find(scene->sums, name);
}

static void set_file(const assay_verify_scene *scene, const assay_verify_run *run, bool digest,
                     assay_verify_cell *out) {
  const assay_tree_entry *entry = result_entry(scene, run);
  if (entry != NULL) set_text(out, digest ? entry->sha256 : entry->file);
}

COLUMN(timing_file) {
  set_file(row->scene, row->timing, /*digest=*/false, out);
}
COLUMN(timing_file_sha256) {
  set_file(row->scene, row->timing, /*digest=*/true, out);
}
COLUMN(placement_file) {
  set_file(row->scene, row->placement, /*digest=*/false, out);
}
COLUMN(placement_file_sha256) {
  set_file(row->scene, row->placement, /*digest=*/true, out);
}

const assay_verify_column assay_verify_columns[] = {
    {"runtime", "Runtime", get_runtime},
    {"bundle", "Model", get_bundle},
    {"case", "Case", get_case},
    {"kind", NULL, get_kind},
    {"architecture", NULL, get_architecture},
    {"inputs", NULL, get_inputs},
    {"dtype", NULL, get_dtype},
    {"precision", NULL, get_precision},
    {"attention", NULL, get_attention},
    {"b", "B", get_b},
    {"n", "N", get_n},
    {"n_valid", NULL, get_n_valid},
    {"n_denormal_inputs", NULL, get_n_denormal_inputs},
    {"verdict", "Verdict", get_verdict},
    {"numbers", "Numbers", get_numbers},
    {"placement", "Placement", get_placement},
    {"timing", "Timing", get_timing},
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
    {"n_denormal_outputs", "Denormal outputs", get_n_denormal_outputs},
    {"n_denormal_references", NULL, get_n_denormal_references},
    {"n_samples", "Samples", get_n_samples},
    {"warmup", NULL, get_warmup},
    {"p50_ns", "p50", get_p50},
    {"p50_low_ns", NULL, get_p50_low},
    {"p50_high_ns", NULL, get_p50_high},
    {"p90_ns", "p90", get_p90},
    {"p90_low_ns", NULL, get_p90_low},
    {"p90_high_ns", NULL, get_p90_high},
    {"p95_ns", "p95", get_p95},
    {"p95_low_ns", NULL, get_p95_low},
    {"p95_high_ns", NULL, get_p95_high},
    {"p99_ns", "p99", get_p99},
    {"p99_low_ns", NULL, get_p99_low},
    {"p99_high_ns", NULL, get_p99_high},
    {"min_ns", "Fastest", get_min},
    {"max_ns", "Slowest", get_max},
    {"mean_ns", "Mean", get_mean},
    {"stddev_ns", "Std. deviation", get_stddev},
    {"lag1", "Lag‑1", get_lag1},
    {"drift", "Drift", get_drift},
    {"n_outliers", "Outliers", get_n_outliers},
    {"outputs_identical", "First and last outputs equal", get_outputs_identical},
    {"session_create_ns", "Session", get_session},
    {"first_run_ns", "First call", get_first},
    {"n_processes", "Processes", get_n_processes},
    {"processes_p50_min_ns", "Lowest p50", get_processes_min},
    {"processes_p50_max_ns", "Highest p50", get_processes_max},
    {"processes_p50_spread", "Spread between processes", get_processes_spread},
    {"processes_outputs_identical", "Processes agree", get_processes_agree},
    {"memory", "Memory", get_memory},
    {"memory_reason", NULL, get_memory_reason},
    {"memory_interval_ns", NULL, get_memory_interval},
    {"memory_n_rows", "Memory samples", get_memory_n_rows},
    {"memory_n_missed", "Deadlines missed", get_memory_n_missed},
    {"memory_n_dropped", NULL, get_memory_n_dropped},
    {"memory_max_late_ns", "Longest delay", get_memory_max_late},
    {"rss_baseline_bytes", "RSS baseline", get_rss_baseline},
    {"rss_peak_first_bytes", "RSS peak, first call", get_rss_first},
    {"rss_peak_warm_bytes", "RSS peak, warm", get_rss_warm},
    {"rss_peak_bytes", "RSS peak", get_rss_peak},
    {"rss_high_water_bytes", "RSS high-water mark", get_rss_high_water},
    {"rss_first_above_bytes", NULL, get_rss_first_above},
    {"rss_warm_above_bytes", NULL, get_rss_warm_above},
    {"rss_peak_above_bytes", "RSS above baseline", get_rss_peak_above},
    {"device", "Device", get_device},
    {"device_reason", NULL, get_device_reason},
    {"device_baseline_bytes", "Device baseline", get_device_baseline},
    {"device_peak_first_bytes", "Device peak, first call", get_device_first},
    {"device_peak_warm_bytes", "Device peak, warm", get_device_warm},
    {"device_peak_bytes", "Device peak", get_device_peak},
    {"device_first_above_bytes", NULL, get_device_first_above},
    {"device_warm_above_bytes", NULL, get_device_warm_above},
    {"device_peak_above_bytes", "Device above baseline", get_device_peak_above},
    {"n_compute", "Compute nodes", get_n_compute},
    {"n_on_provider", "On that provider", get_n_on_provider},
    {"n_copies", "Copies", get_n_copies},
    {"n_control_flow", "Control flow", get_n_control_flow},
    {"n_allowed", "On the CPU by policy", get_n_allowed},
    {"n_compiled", "Compiled subgraphs", get_n_compiled},
    {"copied_bytes", "Bytes copied", get_copied_bytes},
    {"coverage", "Model's nodes covered", get_coverage},
    {"coverage_reason", NULL, get_coverage_reason},
    {"model_n_nodes", NULL, get_model_n_nodes},
    {"model_n_covered", NULL, get_model_n_covered},
    {"model_n_elsewhere", NULL, get_model_n_elsewhere},
    {"model_n_unknown", NULL, get_model_n_unknown},
    {"cache", "Compiler's cache", get_cache},
    {"cache_bytes", NULL, get_cache_bytes},
    {"compiles_session", NULL, get_compiles_session},
    {"compiles_first", "Compiled in the first call", get_compiles_first},
    {"compiles_later", "Compiled in warm calls", get_compiles_later},
    {"library_version", NULL, get_library_version},
    {"provider", NULL, get_provider},
    {"timing_status", NULL, get_timing_status},
    {"timing_reason", NULL, get_timing_reason},
    {"placement_status", NULL, get_placement_status},
    {"placement_reason", NULL, get_placement_reason},
    {"model_sha256", NULL, get_model_sha256},
    {"graph_sha256", NULL, get_graph_sha256},
    {"case_sha256", NULL, get_case_sha256},
    {"library_sha256", NULL, get_library_sha256},
    {"options_sha256", NULL, get_options_sha256},
    {"timing_file", NULL, get_timing_file},
    {"timing_file_sha256", NULL, get_timing_file_sha256},
    {"placement_file", NULL, get_placement_file},
    {"placement_file_sha256", NULL, get_placement_file_sha256},
};
const size_t assay_verify_n_columns = sizeof assay_verify_columns / sizeof assay_verify_columns[0];

const assay_verify_column *assay_verify_column_find(const char *name) {
  for (size_t i = 0; i < assay_verify_n_columns; i++)
    if (strcmp(assay_verify_columns[i].name, name) == 0) return &assay_verify_columns[i];
  return NULL;
}

/* Titles of the page may have their unit behind them: "p50 (ms)". */
const assay_verify_column *assay_verify_column_of_title(const char *title) {
  size_t n = strlen(title);
  if (n > 5 && strcmp(title + n - 5, " (ms)") == 0) n -= 5;
  for (size_t i = 0; i < assay_verify_n_columns; i++) {
    const char *known = assay_verify_columns[i].title;
    if (known != NULL && strlen(known) == n && strncmp(known, title, n) == 0)
      return &assay_verify_columns[i];
  }
  return NULL;
}

/* --- heads ---------------------------------------------------------------------------------------
 */

static void set_measured(assay_verify_cell *out, const assay_result_comparison *f, double value,
                         double bound) {
  if (f->n_finite_pairs > 0) set_real(out, value, bound);
}

static void set_point(assay_verify_cell *out, const char *part, const assay_result_point *point) {
  if (point->index < 0) return;
  if (strcmp(part, "index") == 0)
    set_count(out, point->index);
  else
    set_real(out, strcmp(part, "got") == 0 ? point->got : point->want, 0);
}

/* Figures that only a comparison of like with like has. */
static bool measured_cell(const assay_verify_comparison *c, const char *name,
                          assay_verify_cell *out) {
  const assay_result_comparison *f = &c->figures;
  const struct {
    const char *name;
    int64_t count;
  } counts[] = {{"n_compared", f->n_compared},
                {"n_finite_pairs", f->n_finite_pairs},
                {"n_class_mismatch", f->n_class_mismatch},
                {"n_nonfinite_got", f->n_nonfinite_got},
                {"n_nonfinite_want", f->n_nonfinite_want},
                {"n_nan_got", f->n_nan_got},
                {"n_nan_want", f->n_nan_want},
                {"n_denormal_got", f->n_denormal_got},
                {"n_denormal_want", f->n_denormal_want},
                {"n_over", f->n_over},
                {"n_argmax", f->n_argmax},
                {"n_argmax_changed", f->n_argmax_changed},
                {"n_argmax_changed_over", f->n_argmax_changed_over},
                {"n_padding", f->n_padding},
                {"n_padding_not_zero", f->n_padding_not_zero}};
  const struct {
    const char *name;
    double value, bound;
  } reals[] = {{"max_abs_error", f->max_abs, 0},
               {"mae", f->mae, assay_verify_ulps(f->mae, ASSAY_VERIFY_SUM_ULPS)},
               {"rmse", f->rmse, assay_verify_ulps(f->rmse, ASSAY_VERIFY_SUM_ULPS)},
               {"rel_l2", f->rel_l2, assay_verify_ulps(f->rel_l2, ASSAY_VERIFY_SUM_ULPS)},
               {"max_tolerance_multiple", f->max_tol_multiple, 0},
               {"needed_atol", f->needed_atol, c->needed_atol_bound},
               {"needed_rtol", f->needed_rtol, c->needed_rtol_bound}};
  const struct {
    const char *name;
    const assay_result_point *point;
  } points[] = {{"max_abs_", &f->max_abs_at}, {"max_tolerance_", &f->max_tol_at}};
  assay_verify_cell found = {0};
  bool known = false;
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
    if (strcmp(counts[i].name, name) == 0) {
      set_count(&found, counts[i].count);
      known = true;
    }
  for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++)
    if (strcmp(reals[i].name, name) == 0) {
      set_measured(&found, f, reals[i].value, reals[i].bound);
      known = true;
    }
  for (size_t i = 0; i < sizeof points / sizeof points[0] && !known; i++) {
    size_t n = strlen(points[i].name);
    const char *part = name + n;
    if (strncmp(points[i].name, name, n) != 0) continue;
    known = strcmp(part, "index") == 0 || strcmp(part, "got") == 0 || strcmp(part, "want") == 0;
    if (known) set_point(&found, part, points[i].point);
  }
  if (strcmp(name, "argmax_changed_max_margin") == 0) {
    if (f->n_argmax_changed > 0) set_real(&found, f->argmax_changed_max_margin, 0);
    known = true;
  } else if (strcmp(name, "padding_max_abs_error") == 0) {
    if (f->n_padding > 0) set_real(&found, f->padding_max_abs, 0);
    known = true;
  }
  if (known && f->same_shape && f->same_dtype) *out = found;
  return known;
}

bool assay_verify_head_cell(const assay_verify_comparison *c, const assay_result_comparison *found,
                            const char *name, assay_verify_cell *out) {
  const assay_result_comparison *f = &c->figures;
  const struct {
    const char *name, *text;
  } texts[] = {{"head", c->head},
               {"kind", c->kind},
               {"reference", c->reference},
               {"gate", f->gate ? "yes" : "no"},
               {"passed", f->passed ? "yes" : "no"},
               {"reason", found->reason},
               {"shape", f->shape},
               {"dtype", f->dtype}};
  *out = (assay_verify_cell){0};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (strcmp(texts[i].name, name) == 0) {
      set_text(out, texts[i].text);
      return true;
    }
  if (strcmp(name, "atol") == 0 || strcmp(name, "rtol") == 0) {
    set_real(out, name[0] == 'a' ? f->atol : f->rtol, 0);
    return true;
  }
  return measured_cell(c, name, out);
}

/* --- written cells -------------------------------------------------------------------------------
 */

void assay_verify_index_text(const char *shape, int64_t index, char *out, size_t out_bytes) {
  int64_t dims[64], at[64], rest = index;
  int rank = 0;
  const char *c = shape;
  while ((*c == '[' || *c == ',') && isdigit((unsigned char)c[1]) && rank < 64) {
    char *end = NULL;
    dims[rank++] = strtoll(c + 1, &end, 10);
    c = end;
  }
  for (int i = rank - 1; i >= 0; i--) {
    at[i] = dims[i] > 0 ? rest % dims[i] : 0;
    rest = dims[i] > 0 ? rest / dims[i] : 0;
  }
  size_t used = 0;
  out[0] = '\0';
  if (rank == 0) snprintf(out, out_bytes, "%" PRId64, index); /* a single value */
  for (int i = 0; i < rank && used + 24 < out_bytes; i++)
    used += (size_t)snprintf(out + used, out_bytes - used, "%s%" PRId64 "%s", i > 0 ? "," : "[",
                             at[i], i == rank - 1 ? "]" : "");
}

bool assay_verify_same_letters(const char *a, const char *b) {
  for (const char *c = a; *c != '\0'; c++)
    if ((unsigned char)*c >= 0x80) return true;
  for (;;) {
    while (*a != '\0' && !isalnum((unsigned char)*a)) a++;
    while (*b != '\0' && !isalnum((unsigned char)*b)) b++;
    if (*a != *b) return false;
    if (*a == '\0') return true;
    a++, b++;
  }
}

static bool is_within(double value, double expected, double bound) {
  if (isnan(value) || isnan(expected)) return isnan(value) && isnan(expected);
  if (value == expected) return true;
  return isfinite(value) && isfinite(expected) && fabs(value - expected) <= bound;
}

bool assay_verify_cell_is_exact(const assay_verify_cell *cell, const char *text) {
  char *end = NULL;
  switch (cell->kind) {
  case ASSAY_VERIFY_CELL_ABSENT:
    return text[0] == '\0';
  case ASSAY_VERIFY_CELL_UNKNOWN:
    return true;
  case ASSAY_VERIFY_CELL_TEXT:
    return assay_verify_same_letters(cell->text, text);
  case ASSAY_VERIFY_CELL_COUNT:
  case ASSAY_VERIFY_CELL_SIZE: {
    char count[32];
    snprintf(count, sizeof count, "%" PRId64, cell->count);
    return strcmp(count, text) == 0;
  }
  case ASSAY_VERIFY_CELL_REAL:
  case ASSAY_VERIFY_CELL_TIME:
    break;
  }
  double value = strtod(text, &end);
  return end != text && *end == '\0' && is_within(value, cell->real, cell->bound);
}

/* A unit behind a number, in ns; 0 for one that is not known. */
static double unit_of(const char *text) {
  static const struct {
    const char *word;
    double ns;
  } units[] = {{"", 1}, {" ns", 1}, {" µs", 1e3}, {" ms", 1e6}, {" s", 1e9}};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (strcmp(text, units[i].word) == 0) return units[i].ns;
  return 0;
}

/* Half of the last digit that is written: 0.005 for "1.23", 5e-10 for "1.23e-07". */
static double half_digit(const char *text, const char *end) {
  const char *point = NULL, *exponent = NULL;
  for (const char *c = text; c < end; c++) {
    if (*c == '.') point = c;
    if (*c == 'e' || *c == 'E') exponent = c;
  }
  const char *last = exponent != NULL ? exponent : end;
  double power = exponent != NULL ? strtod(exponent + 1, NULL) : 0;
  if (point != NULL) power -= (double)(last - point - 1);
  return 0.5 * pow(10, power);
}

/* "43.26 MiB", to half its last digit. */
static bool is_read_size(int64_t bytes, const char *text) {
  char *end = NULL;
  double value = strtod(text, &end);
  if (end == text || strcmp(end, " MiB") != 0) return false;
  if (bytes == 0 || value == 0) return bytes == 0 && value == 0;
  return is_within(value * 0x1p20, (double)bytes, half_digit(text, end) * 0x1p20 * (1 + 1e-6));
}

bool assay_verify_cell_is_read(const assay_verify_cell *cell, const char *text) {
  if (cell->kind == ASSAY_VERIFY_CELL_ABSENT)
    return strcmp(text, "–") == 0 || strcmp(text, "-") == 0 || text[0] == '\0';
  if (cell->kind == ASSAY_VERIFY_CELL_SIZE) return is_read_size(cell->count, text);
  if (cell->kind != ASSAY_VERIFY_CELL_REAL && cell->kind != ASSAY_VERIFY_CELL_TIME)
    return assay_verify_cell_is_exact(cell, text);
  char *end = NULL;
  double value = strtod(text, &end), unit = end != text ? unit_of(end) : 0;
  if (unit == 0) return false;
  if (!isfinite(value)) return is_within(value, cell->real, 0);
  double slack = half_digit(text, end) * unit * (1 + 1e-6) + cell->bound;
  return is_within(value * unit, cell->real, slack);
}

void assay_verify_cell_show(const assay_verify_cell *cell, char *out, size_t out_bytes) {
  switch (cell->kind) {
  case ASSAY_VERIFY_CELL_ABSENT:
    snprintf(out, out_bytes, "nothing");
    return;
  case ASSAY_VERIFY_CELL_UNKNOWN:
    snprintf(out, out_bytes, "anything");
    return;
  case ASSAY_VERIFY_CELL_TEXT:
    snprintf(out, out_bytes, "%s", cell->text);
    return;
  case ASSAY_VERIFY_CELL_COUNT:
  case ASSAY_VERIFY_CELL_SIZE:
    snprintf(out, out_bytes, "%" PRId64, cell->count);
    return;
  case ASSAY_VERIFY_CELL_REAL:
  case ASSAY_VERIFY_CELL_TIME:
    snprintf(out, out_bytes, "%.17g", cell->real);
  }
}
