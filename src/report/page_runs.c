/* The page's sections about runs: what failed, the table of all runs, errors by head, timing,
 * placement. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/page_parts.h"

/* ---- what failed ---- */

static void put_reason(const assay_view *view, const assay_view_reason *reason, assay_sink *sink) {
  assay_sink_put(sink, "<li>");
  if (reason->row != SIZE_MAX) {
    const assay_view_row *row = &view->rows[reason->row];
    assay_sink_putf(sink, "<a href=\"#r%zu\">", reason->row);
    assay_sink_html(sink, row->runtime);
    assay_sink_put(sink, " / ");
    assay_sink_html(sink, row->bundle);
    assay_sink_put(sink, " / ");
    assay_sink_html(sink, row->case_name);
    assay_sink_putf(sink,
                    "</a> (%s): ", reason->mode == ASSAY_VIEW_TIMING ? "timing" : "placement");
  }
  assay_sink_html(sink, reason->text);
  assay_sink_put(sink, "</li>\n");
}

static void put_topic(const assay_view *view, assay_view_topic topic, assay_sink *sink) {
  assay_sink_putf(sink, "<details%s><summary>%s: %zu</summary><ul class=\"reasons\">\n",
                  view->topics[topic] <= 20 ? " open" : "", assay_view_topic_word(topic),
                  view->topics[topic]);
  for (size_t i = 0; i < view->n_reasons; i++) {
    if (view->reasons[i].topic == topic) put_reason(view, &view->reasons[i], sink);
  }
  assay_sink_put(sink, "</ul></details>\n");
}

void assay_page_put_failures(const assay_view *view, assay_sink *sink) {
  if (view->n_reasons == 0) return;
  assay_sink_put(sink, "<section id=\"failures\"><h2>What failed, and what is missing</h2>\n");
  for (int topic = 0; topic < ASSAY_N_TOPICS; topic++) {
    if (view->topics[topic]) put_topic(view, (assay_view_topic)topic, sink);
  }
  assay_sink_put(sink, "</section>\n");
}

/* ---- tables by kind of inputs and by precision ---- */

/* The first group with the same inputs and precision: what shares a table. */
static size_t table_of(const assay_view *view, size_t g) {
  size_t first = 0;
  while (!assay_view_groups_match(&view->groups[first], &view->groups[g])) first++;
  return first;
}

typedef void (*put_table_row)(const assay_view *view, size_t r, assay_sink *sink);

/* One table for each kind of inputs and precision; what: "Runs". skip may be NULL. */
static void put_tables(const assay_view *view, const char *what, const char *classes,
                       const char *columns, put_table_row put_row,
                       bool (*skip)(const assay_view *, size_t), assay_sink *sink) {
  for (size_t g = 0; g < view->n_groups; g++) {
    if (table_of(view, g) != g) continue;
    const assay_view_group *group = &view->groups[g];
    char caption[512];
    (void)snprintf(caption, sizeof caption, "%s: %s, %s", what,
                   assay_view_inputs_words(group->inputs),
                   group->precision ? group->precision : "unknown precision");
    assay_page_table_begin(sink, classes, caption, columns);
    for (size_t r = 0; r < view->n_rows; r++) {
      if (table_of(view, view->rows[r].group) == g && !(skip && skip(view, r)))
        put_row(view, r, sink);
    }
    assay_page_table_end(sink);
  }
}

/* In a large package details are kept for what failed, and for the worst and slowest case of each
 * group. */
static bool is_detail_skipped(const assay_view *view, size_t r) {
  const assay_view_row *row = &view->rows[r];
  const assay_view_group *group = &view->groups[row->group];
  if (view->n_rows <= ASSAY_PAGE_DETAIL_ROWS) return false;
  return group->worst != row && group->slowest != row && group->fastest != row;
}

static void put_detail_note(const assay_view *view, const char *file, assay_sink *sink) {
  if (view->n_rows <= ASSAY_PAGE_DETAIL_ROWS) return;
  assay_sink_putf(sink,
                  "<p class=\"note\">This package has %zu cases: the table shows the worst, "
                  "fastest and slowest "
                  "of each model on each runtime; all of them are in <a href=\"%s\">%s</a>.</p>\n",
                  view->n_rows, file, file);
}

/* ---- runs ---- */

static void put_where(const assay_view_row *row, assay_sink *sink) {
  assay_worst worst;
  assay_table_worst(row, &worst);
  if (worst.comparison == NULL) {
    assay_page_text(sink, NULL);
    return;
  }
  assay_sink_putf(sink, "<td%s title=\"got %.17g, reference %.17g\">",
                  strlen(worst.comparison->head) <= 24 ? " class=\"s\"" : "", worst.at.got,
                  worst.at.want);
  assay_sink_html(sink, worst.comparison->head);
  assay_sink_putf(sink, "<br><small>%s vs ", worst.index);
  assay_sink_html(sink, worst.comparison->reference);
  assay_sink_put(sink, "</small></td>");
}

static void put_placed(const assay_view_row *row, assay_sink *sink) {
  const assay_result_placement *placement = assay_view_placement(row);
  if (placement == NULL) {
    assay_page_verdict(sink, assay_view_placement_word(row));
    return;
  }
  const char *word = assay_view_placement_word(row);
  assay_sink_putf(sink,
                  "<td class=\"s\"><span class=\"w %s\">%s</span><br><small>%" PRId64 " of %" PRId64
                  "</small></td>",
                  strcmp(word, "pass") == 0      ? "ok"
                  : strcmp(word, "unknown") == 0 ? "un"
                                                 : "no",
                  word, placement->n_on_provider, placement->n_compute);
}

static void put_raw_links(const assay_view *view, const assay_view_row *row, assay_sink *sink) {
  static const char *const labels[] = {"timing", "placement"};
  assay_sink_put(sink, "<td class=\"s\">");
  bool any = false;
  for (int mode = 0; mode < ASSAY_VIEW_N_MODES; mode++) {
    const assay_view_run *run = &row->runs[mode];
    if (run->n_files == 0 || run->files[0].sha256[0] == 0) continue;
    if (any) assay_sink_put(sink, " &nbsp; ");
    assay_page_link(sink, view, run->files[0].path, run->files[0].sha256, labels[mode]);
    any = true;
  }
  assay_sink_put(sink, any ? "</td>" : "none</td>");
}

static void put_run(const assay_view *view, size_t r, assay_sink *sink) {
  const assay_view_row *row = &view->rows[r];
  const assay_result_timing *timing = assay_view_timing(row);
  assay_sink_put(sink, "<tr>");
  assay_page_case(sink, row, "r", r);
  assay_page_verdict(sink, row->passed ? "pass" : "fail");
  assay_page_text(sink, row->bundle);
  assay_page_text(sink, row->runtime);
  assay_page_column(sink, row, "b");
  assay_page_column(sink, row, "n");
  assay_page_verdict(sink, assay_view_numbers_word(row));
  assay_page_column(sink, row, "max_abs_error_f32");
  assay_page_column(sink, row, "worst_tolerance_multiple");
  put_where(row, sink);
  assay_page_column(sink, row, "max_abs_error_f64");
  assay_page_column(sink, row, "reference_f32_max_abs_error_f64");
  put_placed(row, sink);
  assay_page_percentile(sink, timing, 0);
  assay_page_percentile(sink, timing, 3);
  put_raw_links(view, row, sink);
  assay_sink_put(sink, "</tr>\n");
}

void assay_page_put_runs(const assay_view *view, assay_sink *sink) {
  assay_sink_put(sink, "<section id=\"runs\"><h2>Runs</h2>\n");
  put_tables(view, "Runs", "runs",
             "Case|Verdict|Model|Runtime|#B|#N|Numbers|#Error vs FP32|#Multiple of tolerance|Worst "
             "element|"
             "#Error vs FP64|#FP32 reference vs FP64|Placement|#p50 (ms)|#p99 (ms)|Raw",
             put_run, NULL, sink);
  if (view->n_rows == 0) assay_sink_put(sink, "<p>The package plans no run at all.</p>\n");
  assay_sink_put(
      sink,
      "<p class=\"note\">Errors are the largest absolute ones over all heads at valid positions. "
      "<em>padding</em> in place of a pass: no position of the case is valid, and every output is "
      "exactly zero. <em>Error vs FP64</em> and <em>FP32 reference vs FP64</em> stand side by "
      "side: both are "
      "measured "
      "against the same FP64 evaluation, so the larger one is further from the truth. Small "
      "numbers in "
      "brackets are 95 % intervals; a dash in one is an end that the samples cannot give. Figures "
      "are rounded; "
      "point at one for its exact value, or read <a href=\"table.csv\">table.csv</a>, "
      "<a href=\"table.json\">table.json</a>, <a href=\"table.md\">table.md</a>.</p></section>\n");
}

/* ---- errors by head ---- */

static void put_like(assay_sink *sink, const assay_result_comparison *c, double value) {
  assay_cell absent = {0};
  bool like = c && c->same_shape && c->same_dtype && c->n_finite_pairs > 0;
  assay_page_cell(sink, like ? assay_cell_error(value) : absent);
}

static void put_argmax(assay_sink *sink, const assay_result_comparison *c) {
  if (c == NULL || c->n_argmax == 0) {
    assay_page_text(sink, NULL);
    return;
  }
  assay_sink_putf(sink, "<td class=\"n\">%" PRId64 " of %" PRId64, c->n_argmax_changed,
                  c->n_argmax);
  if (c->n_argmax_changed)
    assay_sink_putf(sink, " <small>margin %.2e</small>", c->argmax_changed_max_margin);
  assay_sink_put(sink, "</td>");
}

static void put_denormals(assay_sink *sink, const assay_result_comparison *c) {
  assay_cell absent = {0};
  bool like = c && c->same_shape && c->same_dtype;
  assay_page_cell(sink, like ? assay_cell_count(c->n_denormal_got) : absent);
  assay_page_cell(sink, like ? assay_cell_count(c->n_denormal_want) : absent);
}

static void put_padding(assay_sink *sink, const assay_result_comparison *c) {
  if (c == NULL || c->n_padding == 0) {
    assay_page_text(sink, NULL);
  } else if (c->n_padding_not_zero == 0) {
    assay_sink_putf(sink, "<td class=\"n\">0 of %" PRId64 "</td>", c->n_padding);
  } else {
    assay_sink_putf(sink,
                    "<td class=\"n\">%" PRId64 " of %" PRId64 " <small>error %.2e</small></td>",
                    c->n_padding_not_zero, c->n_padding, c->padding_max_abs);
  }
}

static void put_head(const assay_view_row *row, size_t r, const assay_view_head *head,
                     assay_sink *sink) {
  const assay_result_comparison *c = assay_view_main_comparison(head);
  assay_cell absent = {0};
  assay_sink_put(sink, "<tr>");
  assay_page_case(sink, row, NULL, r);
  assay_page_text(sink, row->bundle);
  assay_page_text(sink, row->runtime);
  assay_page_text(sink, head->name);
  assay_page_text(sink, head->kind);
  if (c) {
    assay_page_verdict(sink, c->passed ? "pass" : "fail");
  } else {
    assay_page_verdict(sink, "missing");
  }
  put_like(sink, head->f32, head->f32 ? head->f32->max_abs : 0);
  assay_page_cell(sink, c ? assay_cell_error(c->atol) : absent);
  assay_page_cell(sink, c ? assay_cell_error(c->rtol) : absent);
  put_like(sink, c, c ? c->max_tol_multiple : 0);
  bool like = c && c->same_shape && c->same_dtype;
  assay_page_cell(sink, like ? assay_cell_count(c->n_over) : absent);
  put_like(sink, c, c ? c->needed_atol : 0);
  put_like(sink, c, c ? c->rmse : 0);
  put_like(sink, c, c ? c->rel_l2 : 0);
  put_like(sink, head->f64, head->f64 ? head->f64->max_abs : 0);
  assay_page_cell(sink,
                  head->has_reference_error ? assay_cell_error(head->reference_max_abs) : absent);
  put_like(sink, head->user, head->user ? head->user->max_abs : 0);
  put_argmax(sink, c);
  put_denormals(sink, c);
  put_padding(sink, c);
  assay_sink_put(sink, "</tr>\n");
}

static void put_heads(const assay_view *view, size_t r, assay_sink *sink) {
  const assay_view_row *row = &view->rows[r];
  for (size_t h = 0; h < row->n_heads; h++) put_head(row, r, &row->heads[h], sink);
}

void assay_page_put_heads(const assay_view *view, assay_sink *sink) {
  assay_sink_put(sink, "<section id=\"heads\"><h2>Errors by head</h2>\n");
  put_detail_note(view, "heads.csv", sink);
  put_tables(view, "Errors by head", "heads",
             "Case|Model|Runtime|Head|Kind|Verdict|#Max error vs FP32|#atol|#rtol|#Multiple of "
             "tolerance|#Over "
             "tolerance|"
             "#Needed atol|#RMSE|#Relative L2|#Max error vs FP64|#FP32 reference vs FP64|#Max "
             "error vs brought|"
             "#Argmax changed|#Denormals|#Denormals in reference|#Padding not zero",
             put_heads, is_detail_skipped, sink);
  assay_sink_put(
      sink,
      "<p class=\"note\">An element is within tolerance when |error| ≤ atol + rtol·|reference|. "
      "<em>Needed atol</em> is the smallest that would pass with the same rtol. Every comparison, "
      "with "
      "indices and both values, is in <a href=\"heads.csv\">heads.csv</a>. Denormals are numbers "
      "so "
      "small that they lose precision, which some processors and providers flush to zero; those "
      "of inputs are counted in <a href=\"table.csv\">table.csv</a>.</p></section>\n");
}

/* ---- timing ---- */

/* Timings were repeated in fresh processes. */
static bool is_repeated(const assay_view *view) {
  return view->package.processes > 1;
}

static void put_processes(const assay_view_row *row, assay_sink *sink) {
  assay_page_column(sink, row, "n_processes");
  assay_page_column(sink, row, "processes_p50_spread");
  assay_page_column(sink, row, "processes_p50_min_ns");
  assay_page_column(sink, row, "processes_p50_max_ns");
  assay_page_column(sink, row, "processes_outputs_identical");
}

static void put_time_row(const assay_view *view, size_t r, assay_sink *sink) {
  const assay_view_row *row = &view->rows[r];
  const assay_result_timing *timing = assay_view_timing(row);
  assay_sink_put(sink, "<tr>");
  assay_page_case(sink, row, NULL, r);
  assay_page_text(sink, row->bundle);
  assay_page_text(sink, row->runtime);
  assay_page_verdict(sink, assay_view_timing_word(row));
  assay_page_column(sink, row, "n_samples");
  for (size_t i = 0; i < 4; i++) assay_page_percentile(sink, timing, i);
  assay_page_column(sink, row, "min_ns");
  assay_page_column(sink, row, "max_ns");
  assay_page_column(sink, row, "mean_ns");
  assay_page_column(sink, row, "stddev_ns");
  assay_page_column(sink, row, "lag1");
  assay_page_column(sink, row, "drift");
  assay_page_column(sink, row, "n_outliers");
  assay_page_column(sink, row, "first_run_ns");
  assay_page_column(sink, row, "session_create_ns");
  assay_page_column(sink, row, "outputs_identical");
  if (is_repeated(view)) put_processes(row, sink);
  assay_sink_put(sink, "</tr>\n");
}

#define TIME_COLUMNS                                                                               \
  "Case|Model|Runtime|Timing|#Samples|#p50 (ms)|#p90 (ms)|#p95 (ms)|#p99 (ms)|#Fastest|#Slowest|"  \
  "#Mean|#Std. deviation|#Lag‑1|#Drift|#Outliers|#First call|#Session|First and last outputs "   \
  "equal"
#define PROCESSES_COLUMNS                                                                          \
  "|#Processes|#Spread between processes|#Lowest p50|#Highest p50|Processes agree"

void assay_page_put_timing(const assay_view *view, assay_sink *sink) {
  assay_sink_put(sink, "<section id=\"timing\"><h2>Timing</h2>\n");
  put_detail_note(view, "table.csv", sink);
  put_tables(view, "Latency of one call", "times",
             is_repeated(view) ? TIME_COLUMNS PROCESSES_COLUMNS : TIME_COLUMNS, put_time_row,
             is_detail_skipped, sink);
  assay_sink_put(sink, "<p class=\"note\">Synchronous calls, one after another, inputs and outputs "
                       "in host memory; warm-ups, "
                       "session creation and the first call are not among the samples. Percentiles "
                       "by linear interpolation "
                       "between order statistics (type 7); intervals are distribution-free, 95 %. "
                       "<em>Drift</em> is the change "
                       "of the median from the first to the last third of the samples, relative to "
                       "the median. Outliers lie "
                       "more than 3 interquartile ranges outside the quartiles; they are counted, "
                       "never removed. <em>Spread between processes</em> is (highest - lowest) / "
                       "lowest of the medians of a timing "
                       "that was repeated in fresh processes; they agree when their outputs are "
                       "equal bit for bit.</p></section>\n");
}

/* ---- memory ---- */

/* Columns of the table for people: "Case|Model|Runtime|Memory|#Samples|…". */
static void put_memory_columns(const assay_view *view, assay_sink *columns) {
  assay_sink_put(columns, "Case|Model|Runtime");
  for (size_t c = 0; c < assay_n_columns; c++) {
    const assay_column *column = &assay_columns[c];
    if ((column->shown & ASSAY_COLUMN_RUNS) ||
        !assay_column_is_shown(view, column, ASSAY_COLUMN_MEMORY))
      continue;
    bool text = strcmp(column->name, "memory") == 0 || strcmp(column->name, "device") == 0;
    assay_sink_putf(columns, "|%s%s", text ? "" : "#", column->title);
  }
}

static void put_memory_row(const assay_view *view, size_t r, assay_sink *sink) {
  const assay_view_row *row = &view->rows[r];
  assay_sink_put(sink, "<tr>");
  assay_page_case(sink, row, NULL, r);
  assay_page_text(sink, row->bundle);
  assay_page_text(sink, row->runtime);
  for (size_t c = 0; c < assay_n_columns; c++) {
    const assay_column *column = &assay_columns[c];
    if (!(column->shown & ASSAY_COLUMN_RUNS) &&
        assay_column_is_shown(view, column, ASSAY_COLUMN_MEMORY))
      assay_page_cell(sink, column->get(row));
  }
  assay_sink_put(sink, "</tr>\n");
}

#define GAPS_MAX 16 /* reasons of a group that are shown; table.csv has all */

static void put_memory_gaps(const assay_view *view, size_t g, assay_sink *sink) {
  assay_memory_gap gaps[GAPS_MAX];
  size_t n = assay_table_memory_gaps(view, g, gaps, GAPS_MAX);
  for (size_t i = 0; i < n && i < GAPS_MAX; i++) {
    assay_sink_put(sink, "<li>");
    assay_sink_html(sink, view->groups[g].bundle);
    assay_sink_put(sink, " on ");
    assay_sink_html(sink, view->groups[g].runtime);
    assay_sink_putf(sink, ": no memory of %s in %zu of %zu cases: ",
                    gaps[i].of_devices ? "a device" : "the process", gaps[i].n_rows,
                    view->groups[g].n_rows);
    assay_sink_html(sink, gaps[i].reason);
    assay_sink_put(sink, "</li>\n");
  }
}

void assay_page_put_memory(const assay_view *view, assay_sink *sink) {
  assay_sink columns = {0}, gaps = {0};
  put_memory_columns(view, &columns);
  for (size_t g = 0; g < view->n_groups; g++) put_memory_gaps(view, g, &gaps);
  assay_sink_put(sink, "<section id=\"memory\"><h2>Memory</h2>\n");
  put_detail_note(view, "memory.csv", sink);
  put_tables(view, "Memory of the timing process", "mems", assay_sink_text(&columns),
             put_memory_row, is_detail_skipped, sink);
  if (gaps.buf.size_bytes) {
    assay_sink_put(sink, "<details><summary>What could not be read</summary><ul "
                         "class=\"reasons\">\n");
    assay_sink_put(sink, assay_sink_text(&gaps));
    assay_sink_put(sink, "</ul></details>\n");
  }
  assay_sink_put(
      sink,
      "<p class=\"note\">Sampled from outside the process. <em>Baseline</em> is the last sample "
      "before the session is created; <em>first call</em> is from there to the end of the first "
      "call, <em>warm</em> from there to the end of the last. Sampled peaks are lower bounds: what "
      "came and went between two samples is not in them. The high-water mark is the kernel's own, "
      "of the process's whole life. A device's memory is all that is used on it, by whomever; of "
      "several devices the one whose use rose most is shown, and all are in <a "
      "href=\"memory.csv\">memory.csv</a>.</p></section>\n");
  assay_sink_reset(&gaps);
  assay_sink_reset(&columns);
}

/* ---- placement ---- */

static void put_place_row(const assay_view *view, size_t r, assay_sink *sink) {
  const assay_view_row *row = &view->rows[r];
  const assay_result_placement *placement = assay_view_placement(row);
  assay_sink_put(sink, "<tr>");
  assay_page_case(sink, row, NULL, r);
  assay_page_text(sink, row->bundle);
  assay_page_text(sink, row->runtime);
  assay_page_verdict(sink, assay_view_placement_word(row));
  assay_page_text(sink, placement ? placement->provider : NULL);
  assay_page_column(sink, row, "n_compute");
  assay_page_column(sink, row, "n_on_provider");
  assay_page_column(sink, row, "n_allowed");
  assay_page_column(sink, row, "n_compiled");
  assay_page_column(sink, row, "coverage");
  assay_page_column(sink, row, "n_copies");
  assay_page_column(sink, row, "copied_bytes");
  assay_page_column(sink, row, "n_control_flow");
  assay_page_text(sink, placement ? (placement->log_agrees ? "agrees" : "does not agree") : NULL);
  const assay_result_coverage *coverage = &row->runs[ASSAY_VIEW_PLACEMENT].result.coverage;
  const char *reason = placement && placement->reason[0] ? placement->reason : NULL;
  if (reason == NULL && coverage->reason[0]) reason = coverage->reason;
  assay_page_text(sink, reason ? reason : row->runs[ASSAY_VIEW_PLACEMENT].result.reason);
  assay_sink_put(sink, "</tr>\n");
}

/* The group's largest case with placement: its operators stand for the group. */
static const assay_view_row *largest_placed(const assay_view *view, size_t g) {
  const assay_view_row *best = NULL;
  int64_t best_size = -1;
  for (size_t r = 0; r < view->n_rows; r++) {
    const assay_view_row *row = &view->rows[r];
    if (row->group != g || assay_view_placement(row) == NULL) continue;
    int64_t size = row->manifest_case ? row->manifest_case->b * row->manifest_case->n : 0;
    if (size > best_size) {
      best = row;
      best_size = size;
    }
  }
  return best;
}

static void put_count(const assay_result_placement_count *count, int64_t total_us,
                      assay_sink *sink) {
  assay_cell absent = {0};
  assay_sink_put(sink, "<tr><th scope=\"row\">");
  assay_sink_html(sink, count->op);
  assay_sink_put(sink, "</th>");
  assay_page_text(sink, count->provider);
  assay_page_cell(sink, assay_cell_count(count->n_nodes));
  assay_page_cell(sink, assay_cell_count(count->n_events));
  assay_page_cell(sink, assay_cell_time((double)count->duration_us * 1e3));
  assay_page_cell(sink, total_us > 0
                            ? assay_cell_ratio((double)count->duration_us / (double)total_us)
                            : absent);
  assay_sink_put(sink, "</tr>\n");
}

#define OFFENDERS_MAX 50 /* of one case in the page; result.json names all */

static void put_offenders(const assay_result_placement *placement, assay_sink *sink) {
  if (placement->n_offenders == 0) return;
  assay_sink_putf(sink, "<p>Nodes that ran elsewhere: %zu</p><ul class=\"reasons\">\n",
                  placement->n_offenders);
  for (size_t i = 0; i < placement->n_offenders && i < OFFENDERS_MAX; i++) {
    assay_sink_put(sink, "<li><code>");
    assay_sink_html(sink, placement->offenders[i]);
    assay_sink_put(sink, "</code></li>\n");
  }
  if (placement->n_offenders > OFFENDERS_MAX) {
    assay_sink_putf(sink, "<li>and %zu more</li>\n", placement->n_offenders - OFFENDERS_MAX);
  }
  assay_sink_put(sink, "</ul>\n");
}

static void put_operators(const assay_view *view, size_t g, assay_sink *sink) {
  const assay_view_row *row = largest_placed(view, g);
  if (row == NULL) return;
  const assay_result_placement *placement = assay_view_placement(row);
  int64_t total_us = 0;
  for (size_t i = 0; i < placement->n_counts; i++) total_us += placement->counts[i].duration_us;
  assay_sink caption = {0};
  assay_sink_putf(&caption, "Operators of %s on %s, case %s", row->bundle, row->runtime,
                  row->case_name);
  assay_sink_put(sink, "<details><summary>");
  assay_sink_html(sink, assay_sink_text(&caption));
  assay_sink_put(sink, "</summary>\n");
  assay_page_table_begin(sink, "ops", assay_sink_text(&caption),
                         "Operator|Provider|#Nodes|#Executions|#Host time|#Share of host time");
  for (size_t i = 0; i < placement->n_counts; i++) put_count(&placement->counts[i], total_us, sink);
  assay_page_table_end(sink);
  put_offenders(placement, sink);
  assay_sink_put(sink, "</details>\n");
  assay_sink_reset(&caption);
}

void assay_page_put_placement(const assay_view *view, assay_sink *sink) {
  assay_sink_put(sink, "<section id=\"placement\"><h2>Placement</h2>\n");
  put_detail_note(view, "placement.csv", sink);
  put_tables(view, "Which provider ran the nodes", "places",
             "Case|Model|Runtime|Placement|Provider asked for|#Compute nodes|#On that provider|#On "
             "the CPU by policy|#Compiled subgraphs|Model's nodes covered|"
             "#Copies|#Bytes copied|#Control flow|Log|Reason",
             put_place_row, is_detail_skipped, sink);
  for (size_t g = 0; g < view->n_groups; g++) put_operators(view, g, sink);
  assay_sink_put(
      sink,
      "<p class=\"note\">From the runtime's own profile of the executed graph, checked against its "
      "placement log, in a process that times nothing. Nodes of the model's own graph, also those "
      "in "
      "compiled subgraphs, by the names that the runtime says; unknown are those that it folded, "
      "fused or renamed. Counts for every case are in "
      "<a href=\"placement.csv\">placement.csv</a>.</p></section>\n");
}
