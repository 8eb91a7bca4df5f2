/* Terminal, CSV, Markdown and JSON from the same columns. */
#include "report/table.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/gate.h"

/* ---- terminal ---- */

/* text, then blanks up to width columns; right: blanks first. */
static void pad(assay_sink *sink, const char *text, size_t width, bool right) {
  size_t used = assay_sink_plain_width(text);
  for (size_t i = used; right && i < width; i++) assay_sink_put(sink, " ");
  assay_sink_plain(sink, text);
  for (size_t i = used; !right && i < width; i++) assay_sink_put(sink, " ");
}

static void read_column(const assay_view_row *row, const char *name, char out[ASSAY_CELL_BYTES]) {
  assay_cell cell = assay_column_find(name)->get(row);
  assay_cell_read(&cell, out);
}

/* "pass 230/230": nodes on the provider of all compute nodes. */
static void read_placement(const assay_view_row *row, char out[ASSAY_CELL_BYTES]) {
  const assay_result_placement *placement = assay_view_placement(row);
  const char *word = assay_view_placement_word(row);
  if (placement) {
    (void)snprintf(out, ASSAY_CELL_BYTES, "%s %lld/%lld", word, (long long)placement->n_on_provider,
                   (long long)placement->n_compute);
  } else {
    (void)snprintf(out, ASSAY_CELL_BYTES, "%s", word);
  }
}

/* text in a column of its own, one blank before it; one that does not fit loses its end. */
static void put_field(assay_sink *sink, const char *text, size_t width, bool right) {
  char fits[64];
  assay_sink_put(sink, " ");
  if (assay_sink_plain_width(text) <= width) {
    pad(sink, text, width, right);
    return;
  }
  assay_text_printable(text, fits, width + 1); /* cut with "..." */
  pad(sink, fits, width, right);
}

static size_t case_width(const assay_view *view) {
  size_t width = 8;
  for (size_t r = 0; r < view->n_rows; r++) {
    size_t n = assay_sink_plain_width(view->rows[r].case_name);
    if (n > width) width = n;
  }
  return width < 40 ? width : 40; /* longer ones push their own line only */
}

/* Columns after the case: head and width, in the order of put_text_row. */
static const struct {
  const char *head;
  size_t width;
  bool right;
} text_columns[] = {{"all", 4, false},     {"numbers", 9, false}, {"placement", 13, false},
                    {"err FP32", 8, true}, {"err FP64", 8, true}, {"x tol", 8, true},
                    {"worst", 9, false},   {"p50 ms", 7, true},   {"p99 ms", 7, true},
                    {"session", 7, true},  {"first", 7, true},    {"RSS MiB", 7, true}};
#define N_TEXT_COLUMNS (sizeof text_columns / sizeof text_columns[0])

static void read_ms(const assay_view_row *row, const char *name, char out[ASSAY_CELL_BYTES]) {
  assay_cell cell = assay_column_find(name)->get(row);
  (void)snprintf(out, ASSAY_CELL_BYTES, "-");
  if (cell.kind != ASSAY_CELL_ABSENT) assay_cell_read_ms(cell.real, out);
}

static void read_mib(const assay_view_row *row, const char *name, char out[ASSAY_CELL_BYTES]) {
  assay_cell cell = assay_column_find(name)->get(row);
  (void)snprintf(out, ASSAY_CELL_BYTES, "-");
  if (cell.kind != ASSAY_CELL_ABSENT) assay_cell_read_mib(cell.count, out);
}

static void put_text_row(assay_sink *sink, const assay_view_row *row, size_t width) {
  char cells[N_TEXT_COLUMNS][ASSAY_CELL_BYTES] = {{0}};
  const char *texts[N_TEXT_COLUMNS];
  for (size_t c = 0; c < N_TEXT_COLUMNS; c++) texts[c] = cells[c];
  texts[0] = row->passed ? "pass" : "FAIL";
  texts[1] = assay_view_numbers_word(row);
  read_placement(row, cells[2]);
  read_column(row, "max_abs_error_f32", cells[3]);
  read_column(row, "max_abs_error_f64", cells[4]);
  read_column(row, "worst_tolerance_multiple", cells[5]);
  texts[6] = row->worst ? row->worst->head : "-";
  read_ms(row, "p50_ns", cells[7]);
  read_ms(row, "p99_ns", cells[8]);
  read_ms(row, "session_create_ns", cells[9]);
  read_ms(row, "first_run_ns", cells[10]);
  read_mib(row, "rss_peak_bytes", cells[11]);
  assay_sink_put(sink, "  ");
  pad(sink, row->case_name, width, false);
  assay_sink_put(sink, " ");
  for (size_t c = 0; c < N_TEXT_COLUMNS; c++) {
    put_field(sink, texts[c], text_columns[c].width, text_columns[c].right);
  }
  assay_sink_put(sink, "\n");
}

/* ---- tolerances other than the default ---- */

#define TOLERANCES_MAX 16 /* of one group that are shown; the rest is counted */

/* The default of constants and integers is to be exact. */
static bool is_default_tolerance(const assay_result_comparison *c) {
  bool exact = strcmp(c->kind, "constant") == 0 || strcmp(c->kind, "integer") == 0;
  return c->atol == (exact ? 0 : ASSAY_DEFAULT_ATOL) && c->rtol == (exact ? 0 : ASSAY_DEFAULT_RTOL);
}

size_t assay_table_tolerances(const assay_view *view, size_t group, assay_tolerance *out,
                              size_t cap) {
  size_t n = 0;
  for (size_t r = 0; r < view->n_rows; r++) {
    const assay_result *result = &view->rows[r].runs[ASSAY_VIEW_TIMING].result;
    for (size_t i = 0; view->rows[r].group == group && i < result->n_comparisons; i++) {
      const assay_result_comparison *c = &result->comparisons[i];
      size_t k = 0;
      if (is_default_tolerance(c)) continue;
      while (
          k < n && k < cap &&
          (strcmp(out[k].head, c->head) != 0 || out[k].atol != c->atol || out[k].rtol != c->rtol))
        k++;
      if (k == n && n < cap) out[n] = (assay_tolerance){c->head, c->atol, c->rtol};
      if (k == n) n++;
    }
  }
  return n;
}

typedef void (*put_name)(assay_sink *sink, const char *text);

/* "tolerance: momentum atol 0.01 rtol 0.003 (default 0.001, 0.003)", one a line behind prefix. */
static void put_tolerances(const assay_view *view, size_t group, const char *prefix, put_name name,
                           assay_sink *sink) {
  assay_tolerance found[TOLERANCES_MAX];
  size_t n = assay_table_tolerances(view, group, found, TOLERANCES_MAX);
  for (size_t i = 0; i < n && i < TOLERANCES_MAX; i++) {
    assay_sink_putf(sink, "%stolerance: ", prefix);
    name(sink, found[i].head);
    char atol[ASSAY_CELL_BYTES], rtol[ASSAY_CELL_BYTES];
    assay_cell_shortest(found[i].atol, atol);
    assay_cell_shortest(found[i].rtol, rtol);
    assay_sink_putf(sink, " atol %s rtol %s (default %g, %g)\n", atol, rtol, ASSAY_DEFAULT_ATOL,
                    ASSAY_DEFAULT_RTOL);
  }
  if (n > TOLERANCES_MAX) assay_sink_putf(sink, "%stolerance: and more\n", prefix);
}

static void put_text_heading(const assay_view *view, size_t g, assay_sink *sink, size_t width) {
  const assay_view_group *group = &view->groups[g];
  assay_sink_plain(sink, group->runtime);
  assay_sink_put(sink, "  ");
  assay_sink_plain(sink, group->bundle);
  if (group->precision) assay_sink_put(sink, "  ");
  assay_sink_plain(sink, group->precision);
  if (group->library_version) assay_sink_put(sink, "  ONNX Runtime ");
  assay_sink_plain(sink, group->library_version);
  if (group->provider) assay_sink_put(sink, "  ");
  assay_sink_plain(sink, group->provider);
  assay_sink_putf(sink, "  (%s)\n", assay_view_inputs_words(group->inputs));
  put_tolerances(view, g, "  ", assay_sink_plain, sink);
  assay_sink_put(sink, "  ");
  pad(sink, "case", width, false);
  assay_sink_put(sink, " ");
  for (size_t c = 0; c < N_TEXT_COLUMNS; c++) {
    put_field(sink, text_columns[c].head, text_columns[c].width, text_columns[c].right);
  }
  assay_sink_put(sink, "\n");
}

void assay_table_put_text(const assay_view *view, assay_sink *sink) {
  bool any_padding = false;
  size_t width = case_width(view);
  for (size_t r = 0; r < view->n_rows; r++) {
    const assay_view_row *row = &view->rows[r];
    bool starts = r == 0 || row->group != view->rows[r - 1].group;
    if (starts && r) assay_sink_put(sink, "\n");
    if (starts) put_text_heading(view, row->group, sink, width);
    put_text_row(sink, row, width);
    any_padding |= strcmp(assay_view_numbers_word(row), "padding") == 0;
  }
  if (any_padding)
    assay_sink_put(sink, "  padding: no element of the case is valid, and every output is zero\n");
  if (view->n_rows) assay_sink_put(sink, "\n");
}

/* ---- CSV ---- */

void assay_table_put_csv(const assay_view *view, assay_sink *sink) {
  for (size_t c = 0; c < assay_n_columns; c++) {
    assay_sink_putf(sink, "%s%s", c ? "," : "", assay_columns[c].name);
  }
  assay_sink_put(sink, "\r\n");
  for (size_t r = 0; r < view->n_rows; r++) {
    for (size_t c = 0; c < assay_n_columns; c++) {
      assay_cell cell = assay_columns[c].get(&view->rows[r]);
      if (c) assay_sink_put(sink, ",");
      assay_cell_put_csv(&cell, sink);
    }
    assay_sink_put(sink, "\r\n");
  }
}

static void put_row_names_csv(const assay_view_row *row, assay_sink *sink) {
  assay_sink_csv(sink, row->runtime);
  assay_sink_put(sink, ",");
  assay_sink_csv(sink, row->bundle);
  assay_sink_put(sink, ",");
  assay_sink_csv(sink, row->case_name);
}

static void put_csv(assay_sink *sink, assay_cell cell) {
  assay_sink_put(sink, ",");
  assay_cell_put_csv(&cell, sink);
}

static void put_point_csv(assay_sink *sink, const assay_result_point *point) {
  assay_cell absent = {0};
  bool has = point->index >= 0;
  put_csv(sink, has ? assay_cell_count(point->index) : absent);
  put_csv(sink, has ? assay_cell_error(point->got) : absent);
  put_csv(sink, has ? assay_cell_error(point->want) : absent);
}

static const char heads_header[] =
    "runtime,bundle,case,head,kind,reference,gate,passed,reason,shape,dtype,atol,rtol,n_compared,"
    "n_finite_pairs,n_class_mismatch,n_nonfinite_got,n_nonfinite_want,n_nan_got,n_nan_want,n_"
    "denormal_got,n_denormal_"
    "want,"
    "max_abs_error,max_abs_index,max_abs_got,max_abs_want,mae,rmse,rel_l2,max_tolerance_multiple,"
    "max_tolerance_index,max_tolerance_got,max_tolerance_want,n_over,needed_atol,needed_rtol,n_"
    "argmax,"
    "n_argmax_changed,n_argmax_changed_over,argmax_changed_max_margin,n_padding,n_padding_not_zero,"
    "padding_max_abs_error\r\n";

/* Columns that only a comparison of like with like fills in. */
static void put_comparison_csv(const assay_result_comparison *c, assay_sink *sink) {
  put_csv(sink, assay_cell_count(c->n_compared));
  put_csv(sink, assay_cell_count(c->n_finite_pairs));
  put_csv(sink, assay_cell_count(c->n_class_mismatch));
  put_csv(sink, assay_cell_count(c->n_nonfinite_got));
  put_csv(sink, assay_cell_count(c->n_nonfinite_want));
  put_csv(sink, assay_cell_count(c->n_nan_got));
  put_csv(sink, assay_cell_count(c->n_nan_want));
  put_csv(sink, assay_cell_count(c->n_denormal_got));
  put_csv(sink, assay_cell_count(c->n_denormal_want));
  assay_cell absent = {0};
  bool any = c->n_finite_pairs > 0;
  put_csv(sink, any ? assay_cell_error(c->max_abs) : absent);
  put_point_csv(sink, &c->max_abs_at);
  put_csv(sink, any ? assay_cell_error(c->mae) : absent);
  put_csv(sink, any ? assay_cell_error(c->rmse) : absent);
  put_csv(sink, any ? assay_cell_error(c->rel_l2) : absent);
  put_csv(sink, any ? assay_cell_error(c->max_tol_multiple) : absent);
  put_point_csv(sink, &c->max_tol_at);
  put_csv(sink, assay_cell_count(c->n_over));
  put_csv(sink, any ? assay_cell_error(c->needed_atol) : absent);
  put_csv(sink, any ? assay_cell_error(c->needed_rtol) : absent);
  put_csv(sink, assay_cell_count(c->n_argmax));
  put_csv(sink, assay_cell_count(c->n_argmax_changed));
  put_csv(sink, assay_cell_count(c->n_argmax_changed_over));
  put_csv(sink, c->n_argmax_changed ? assay_cell_error(c->argmax_changed_max_margin) : absent);
  put_csv(sink, assay_cell_count(c->n_padding));
  put_csv(sink, assay_cell_count(c->n_padding_not_zero));
  put_csv(sink, c->n_padding ? assay_cell_error(c->padding_max_abs) : absent);
}

#define N_COMPARISON_COLUMNS 30 /* put_comparison_csv writes as many */

void assay_table_put_heads_csv(const assay_view *view, assay_sink *sink) {
  assay_sink_put(sink, heads_header);
  for (size_t r = 0; r < view->n_rows; r++) {
    const assay_result *result = &view->rows[r].runs[ASSAY_VIEW_TIMING].result;
    for (size_t i = 0; i < result->n_comparisons; i++) {
      const assay_result_comparison *c = &result->comparisons[i];
      put_row_names_csv(&view->rows[r], sink);
      put_csv(sink, assay_cell_text(c->head));
      put_csv(sink, assay_cell_text(c->kind));
      put_csv(sink, assay_cell_text(c->reference));
      put_csv(sink, assay_cell_text(c->gate ? "yes" : "no"));
      put_csv(sink, assay_cell_text(c->passed ? "yes" : "no"));
      put_csv(sink, assay_cell_text(c->reason));
      put_csv(sink, assay_cell_text(c->shape));
      put_csv(sink, assay_cell_text(c->dtype));
      put_csv(sink, assay_cell_error(c->atol));
      put_csv(sink, assay_cell_error(c->rtol));
      if (c->same_shape && c->same_dtype) {
        put_comparison_csv(c, sink);
      } else {
        for (int k = 0; k < N_COMPARISON_COLUMNS; k++) assay_sink_put(sink, ",");
      }
      assay_sink_put(sink, "\r\n");
    }
  }
}

static assay_cell size_cell(int64_t bytes) {
  return bytes == ASSAY_RESULT_NONE ? (assay_cell){0} : assay_cell_size(bytes);
}

static assay_cell above_cell(const assay_result_memory_column *column, int64_t peak_bytes) {
  int64_t bytes = 0;
  return assay_result_memory_above(column, peak_bytes, &bytes) ? assay_cell_size(bytes)
                                                               : (assay_cell){0};
}

static void put_memory_line(const assay_result_memory *memory,
                            const assay_result_memory_column *column, assay_sink *sink) {
  put_csv(sink, assay_cell_text(column->name));
  put_csv(sink, assay_cell_text(column->reason));
  put_csv(sink, assay_cell_count(column->n_values));
  put_csv(sink, assay_cell_count(column->n_baseline));
  put_csv(sink, assay_cell_count(column->n_first));
  put_csv(sink, assay_cell_count(column->n_warm));
  put_csv(sink, size_cell(column->baseline_bytes));
  put_csv(sink, size_cell(column->peak_first_bytes));
  put_csv(sink, size_cell(column->peak_warm_bytes));
  put_csv(sink, size_cell(column->peak_bytes));
  put_csv(sink, size_cell(column->high_water_bytes));
  put_csv(sink, above_cell(column, column->peak_first_bytes));
  put_csv(sink, above_cell(column, column->peak_warm_bytes));
  put_csv(sink, above_cell(column, column->peak_bytes));
  put_csv(sink, assay_cell_count(memory->n_rows));
  put_csv(sink, assay_cell_count(memory->n_missed));
  assay_sink_put(sink, "\r\n");
}

void assay_table_put_memory_csv(const assay_view *view, assay_sink *sink) {
  assay_sink_put(
      sink, "runtime,bundle,case,column,reason,n_values,n_baseline,n_first,n_warm,baseline_bytes,"
            "peak_first_bytes,peak_warm_bytes,peak_bytes,high_water_bytes,first_above_bytes,"
            "warm_above_bytes,peak_above_bytes,n_rows,n_missed\r\n");
  for (size_t r = 0; r < view->n_rows; r++) {
    const assay_result_memory *memory = assay_view_memory(&view->rows[r]);
    for (size_t i = 0; memory && i < memory->n_columns; i++) {
      put_row_names_csv(&view->rows[r], sink);
      put_memory_line(memory, &memory->columns[i], sink);
    }
  }
}

void assay_table_put_placement_csv(const assay_view *view, assay_sink *sink) {
  assay_sink_put(sink, "runtime,bundle,case,provider,op,n_nodes,n_events,duration_us\r\n");
  for (size_t r = 0; r < view->n_rows; r++) {
    const assay_result_placement *placement = assay_view_placement(&view->rows[r]);
    for (size_t i = 0; placement && i < placement->n_counts; i++) {
      const assay_result_placement_count *count = &placement->counts[i];
      put_row_names_csv(&view->rows[r], sink);
      put_csv(sink, assay_cell_text(count->provider));
      put_csv(sink, assay_cell_text(count->op));
      put_csv(sink, assay_cell_count(count->n_nodes));
      put_csv(sink, assay_cell_count(count->n_events));
      put_csv(sink, assay_cell_count(count->duration_us));
      assay_sink_put(sink, "\r\n");
    }
  }
}

/* ---- gaps in memory ---- */

static void add_gap(assay_memory_gap gap, assay_memory_gap *out, size_t cap, size_t *n) {
  if (gap.reason == NULL) return;
  for (size_t i = 0; i < *n && i < cap; i++) {
    if (out[i].of_devices != gap.of_devices || strcmp(out[i].reason, gap.reason) != 0) continue;
    out[i].n_rows++;
    return;
  }
  if (*n < cap) out[*n] = gap;
  ++*n;
}

size_t assay_table_memory_gaps(const assay_view *view, size_t group, assay_memory_gap *out,
                               size_t cap) {
  size_t n = 0;
  for (size_t r = 0; r < view->n_rows; r++) {
    const assay_view_row *row = &view->rows[r];
    if (row->group != group) continue;
    add_gap((assay_memory_gap){false, assay_view_memory_reason(row), 1}, out, cap, &n);
    add_gap((assay_memory_gap){true, row->device_reason, 1}, out, cap, &n);
  }
  return n;
}

/* ---- Markdown ---- */

#define COLUMNS_MAX 160 /* more than there are */
#define GAPS_MAX    16  /* reasons of a group that are shown */

#define MARKDOWN_REASONS_MAX 40 /* the rest are counted; all are in the page and in table.json */

static void put_markdown_reasons(const assay_view *view, assay_sink *sink) {
  for (size_t i = 0; i < view->n_reasons && i < MARKDOWN_REASONS_MAX; i++) {
    const assay_view_reason *reason = &view->reasons[i];
    assay_sink_putf(sink, "- **%s** ", assay_view_topic_word(reason->topic));
    if (reason->row != SIZE_MAX) {
      const assay_view_row *row = &view->rows[reason->row];
      assay_sink_markdown(sink, row->runtime);
      assay_sink_put(sink, " / ");
      assay_sink_markdown(sink, row->bundle);
      assay_sink_put(sink, " / ");
      assay_sink_markdown(sink, row->case_name);
      assay_sink_put(sink, ": ");
    }
    assay_sink_markdown(sink, reason->text);
    assay_sink_put(sink, "\n");
  }
  if (view->n_reasons > MARKDOWN_REASONS_MAX) {
    assay_sink_putf(sink, "- and %zu more\n", view->n_reasons - MARKDOWN_REASONS_MAX);
  }
  if (view->n_reasons) assay_sink_put(sink, "\n");
}

static void put_markdown_header(const assay_view *view, unsigned part, assay_sink *sink) {
  for (size_t c = 0; c < assay_n_columns; c++) {
    if (assay_column_is_shown(view, &assay_columns[c], part))
      assay_sink_putf(sink, "| %s ", assay_columns[c].title);
  }
  assay_sink_put(sink, "|\n");
  for (size_t c = 0; c < assay_n_columns; c++) {
    if (assay_column_is_shown(view, &assay_columns[c], part)) assay_sink_put(sink, "| --- ");
  }
  assay_sink_put(sink, "|\n");
}

static void put_markdown_row(const assay_view *view, size_t r, const bool *shown,
                             assay_sink *sink) {
  for (size_t c = 0; c < assay_n_columns; c++) {
    if (!shown[c]) continue;
    assay_cell cell = assay_columns[c].get(&view->rows[r]);
    assay_sink_put(sink, "| ");
    assay_cell_put_markdown(&cell, sink);
    assay_sink_put(sink, " ");
  }
  assay_sink_put(sink, "|\n");
}

/* "Controlled inputs, float32:", and what holds for all rows below it. */
static void put_markdown_heading(const assay_view *view, size_t g, unsigned part,
                                 assay_sink *sink) {
  const assay_view_group *group = &view->groups[g];
  const char *words = assay_view_inputs_words(group->inputs);
  assay_memory_gap gaps[GAPS_MAX];
  size_t n = 0;
  assay_sink_putf(sink, "%c%s, ", words[0] - 'a' + 'A', words + 1);
  assay_sink_markdown(sink, group->precision ? group->precision : "unknown precision");
  assay_sink_put(sink, part == ASSAY_COLUMN_MEMORY ? ", memory:\n\n" : ":\n\n");
  if (part == ASSAY_COLUMN_RUNS) {
    n = assay_table_tolerances(view, g, NULL, 0);
    put_tolerances(view, g, "- ", assay_sink_markdown, sink);
  } else {
    n = assay_table_memory_gaps(view, g, gaps, GAPS_MAX);
    for (size_t i = 0; i < n && i < GAPS_MAX; i++) {
      assay_sink_putf(sink, "- no memory of %s in %zu of %zu cases: ",
                      gaps[i].of_devices ? "a device" : "the process", gaps[i].n_rows,
                      group->n_rows);
      assay_sink_markdown(sink, gaps[i].reason);
      assay_sink_put(sink, "\n");
    }
    if (n > GAPS_MAX) assay_sink_put(sink, "- and other reasons\n");
  }
  if (n) assay_sink_put(sink, "\n");
}

/* The rows of each group under a heading of their own. */
static void put_markdown_tables(const assay_view *view, unsigned part, assay_sink *sink) {
  bool shown[COLUMNS_MAX] = {false};
  for (size_t c = 0; c < assay_n_columns && c < COLUMNS_MAX; c++)
    shown[c] = assay_column_is_shown(view, &assay_columns[c], part);
  for (size_t r = 0; r < view->n_rows; r++) {
    if (r == 0 || view->rows[r].group != view->rows[r - 1].group) {
      if (r) assay_sink_put(sink, "\n");
      put_markdown_heading(view, view->rows[r].group, part, sink);
      put_markdown_header(view, part, sink);
    }
    put_markdown_row(view, r, shown, sink);
  }
}

void assay_table_put_markdown(const assay_view *view, assay_sink *sink) {
  char verdict[512];
  assay_view_verdict(view, verdict, sizeof verdict);
  assay_sink_putf(sink, "**%s**\n\n", verdict);
  put_markdown_reasons(view, sink);
  put_markdown_tables(view, ASSAY_COLUMN_RUNS, sink);
  if (view->n_rows) assay_sink_put(sink, "\n");
  put_markdown_tables(view, ASSAY_COLUMN_MEMORY, sink);
  assay_sink_put(sink, "\nRounded for reading; table.csv and table.json hold every figure exactly. "
                       "Errors are the largest absolute ones over all heads at valid positions. "
                       "Sampled peaks of memory are lower bounds; a device's memory is all that "
                       "is used on it, by whomever.\n");
}

/* ---- JSON ---- */

static void put_text_json(assay_json_builder *b, const char *key, const char *text) {
  assay_cell cell = assay_cell_text(text);
  assay_cell_put_json(&cell, b, key);
}

static void put_row_names_json(assay_json_builder *b, const assay_view_row *row) {
  put_text_json(b, "runtime", row ? row->runtime : NULL);
  put_text_json(b, "bundle", row ? row->bundle : NULL);
  put_text_json(b, "case", row ? row->case_name : NULL);
}

static void put_reasons_json(const assay_view *view, assay_json_builder *b) {
  assay_json_begin_array(b, "reasons");
  for (size_t i = 0; i < view->n_reasons; i++) {
    const assay_view_reason *reason = &view->reasons[i];
    bool about_row = reason->row != SIZE_MAX;
    assay_json_begin_object(b, NULL);
    assay_json_put_string(b, "topic", assay_view_topic_word(reason->topic));
    put_row_names_json(b, about_row ? &view->rows[reason->row] : NULL);
    put_text_json(b, "mode",
                  !about_row                          ? NULL
                  : reason->mode == ASSAY_VIEW_TIMING ? "timing"
                                                      : "placement");
    put_text_json(b, "text", reason->text);
    assay_json_end(b);
  }
  assay_json_end(b);
}

static void put_groups_json(const assay_view *view, assay_json_builder *b) {
  assay_json_begin_array(b, "groups");
  for (size_t g = 0; g < view->n_groups; g++) {
    const assay_view_group *group = &view->groups[g];
    assay_json_begin_object(b, NULL);
    put_text_json(b, "runtime", group->runtime);
    put_text_json(b, "bundle", group->bundle);
    put_text_json(b, "inputs", group->inputs);
    put_text_json(b, "dtype", group->dtype);
    put_text_json(b, "precision", group->precision);
    put_text_json(b, "provider", group->provider);
    put_text_json(b, "library_version", group->library_version);
    assay_json_put_int(b, "n_rows", (int64_t)group->n_rows);
    assay_json_put_int(b, "n_passed", (int64_t)group->n_passed);
    put_text_json(b, "worst_case", group->worst ? group->worst->case_name : NULL);
    assay_json_end(b);
  }
  assay_json_end(b);
}

static void put_reference_json(assay_json_builder *b, const char *key,
                               const assay_result_comparison *c) {
  if (c == NULL) {
    assay_json_put_null(b, key);
    return;
  }
  bool like = c->same_shape && c->same_dtype && c->n_finite_pairs > 0;
  assay_cell absent = {0};
  assay_cell max_abs = like ? assay_cell_error(c->max_abs) : absent;
  assay_cell multiple = like ? assay_cell_error(c->max_tol_multiple) : absent;
  assay_json_begin_object(b, key);
  assay_json_put_bool(b, "passed", c->passed);
  put_text_json(b, "reason", c->reason);
  assay_cell_put_json(&max_abs, b, "max_abs_error");
  assay_cell_put_json(&multiple, b, "max_tolerance_multiple");
  assay_json_put_number(b, "atol", c->atol);
  assay_json_put_number(b, "rtol", c->rtol);
  assay_json_end(b);
}

static void put_heads_json(const assay_view_row *row, assay_json_builder *b) {
  assay_json_begin_array(b, "heads");
  for (size_t h = 0; h < row->n_heads; h++) {
    const assay_view_head *head = &row->heads[h];
    assay_cell absent = {0};
    assay_cell error =
        head->has_reference_error ? assay_cell_error(head->reference_max_abs) : absent;
    assay_json_begin_object(b, NULL);
    put_text_json(b, "head", head->name);
    put_text_json(b, "kind", head->kind);
    put_reference_json(b, "f32", head->f32);
    put_reference_json(b, "f64", head->f64);
    put_reference_json(b, "user", head->user);
    assay_cell_put_json(&error, b, "reference_f32_max_abs_error_f64");
    assay_json_end(b);
  }
  assay_json_end(b);
}

static void put_rows_json(const assay_view *view, assay_json_builder *b) {
  assay_json_begin_array(b, "rows");
  for (size_t r = 0; r < view->n_rows; r++) {
    assay_json_begin_object(b, NULL);
    for (size_t c = 0; c < assay_n_columns; c++) {
      assay_cell cell = assay_columns[c].get(&view->rows[r]);
      assay_cell_put_json(&cell, b, assay_columns[c].name);
    }
    put_heads_json(&view->rows[r], b);
    assay_json_end(b);
  }
  assay_json_end(b);
}

assay_status assay_table_json(const assay_view *view, assay_buf *out, assay_error *err) {
  char verdict[512];
  assay_view_verdict(view, verdict, sizeof verdict);
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "schema", "assay/report/1");
  put_text_json(b, "tool_version", view->package.tool_version);
  assay_json_put_bool(b, "qualified", view->qualified);
  assay_json_put_string(b, "verdict", verdict);
  assay_json_put_int(b, "n_runs", (int64_t)view->n_runs);
  assay_json_put_int(b, "n_runs_done", (int64_t)view->n_runs_done);
  put_reasons_json(view, b);
  put_groups_json(view, b);
  put_rows_json(view, b);
  assay_json_end(b);
  assay_status st = assay_json_builder_finish(b, out, err);
  assay_json_builder_destroy(b);
  return st;
}
