/* Pairs the rows of two views and says where they differ beyond what the samples leave open. */
#include "report/side_by_side.h"

#include <stdio.h>
#include <string.h>

#include "report/table.h"

static const assay_view_row *find_pair(const assay_view *a, const assay_view_row *row,
                                       const assay_view *b) {
  bool any_runtime = a->package.n_runtimes == 1 && b->package.n_runtimes == 1;
  for (size_t r = 0; r < b->n_rows; r++) {
    const assay_view_row *other = &b->rows[r];
    if (strcmp(row->case_name, other->case_name) == 0 && strcmp(row->bundle, other->bundle) == 0 &&
        (any_runtime || strcmp(row->runtime, other->runtime) == 0)) {
      return other;
    }
  }
  return NULL;
}

/* Same bytes in both: figures over different models or inputs are not of the same thing. */
static bool same_question(const assay_view_row *a, const assay_view_row *b) {
  const assay_result_keys *x = &a->runs[ASSAY_VIEW_TIMING].result.keys,
                          *y = &b->runs[ASSAY_VIEW_TIMING].result.keys;
  return strcmp(x->model_sha256, y->model_sha256) == 0 &&
         strcmp(x->case_sha256, y->case_sha256) == 0;
}

static const assay_result_percentile *median(const assay_view_row *row) {
  const assay_result_timing *timing = row ? assay_view_timing(row) : NULL;
  return timing ? &timing->stats.percentiles[0] : NULL;
}

static const char *compare_latency(const assay_result_percentile *a,
                                   const assay_result_percentile *b) {
  if (a == NULL || b == NULL) return "not both timed";
  if (!a->has_low || !a->has_high || !b->has_low || !b->has_high) return "too few samples";
  if (b->high_ns < a->low_ns) return "faster";
  if (b->low_ns > a->high_ns) return "slower";
  return "no difference shown";
}

static void put_interval(const assay_result_percentile *p, assay_sink *sink) {
  char value[ASSAY_CELL_BYTES] = "-", low[ASSAY_CELL_BYTES] = "-", high[ASSAY_CELL_BYTES] = "-",
       all[256];
  if (p) assay_cell_read_ms(p->value_ns, value);
  if (p && p->has_low) assay_cell_read_ms((double)p->low_ns, low);
  if (p && p->has_high) assay_cell_read_ms((double)p->high_ns, high);
  (void)snprintf(all, sizeof all, "%s [%s, %s]", value, low, high);
  assay_sink_putf(sink, " %24s", all);
}

static void put_error(const assay_view_row *row, assay_sink *sink) {
  char text[ASSAY_CELL_BYTES];
  assay_cell cell = assay_column_find("max_abs_error_f32")->get(row);
  assay_cell_read(&cell, text);
  assay_sink_putf(sink, " %8s", text);
}

static void put_pair(const assay_view_row *a, const assay_view_row *b, assay_sink *sink) {
  const assay_result_percentile *x = median(a), *y = median(b);
  assay_sink_put(sink, "  ");
  assay_sink_plain(sink, a->case_name);
  for (size_t i = assay_sink_plain_width(a->case_name); i < 12; i++) assay_sink_put(sink, " ");
  assay_sink_putf(sink, " %s %s", a->passed ? "pass" : "FAIL", b->passed ? "pass" : "FAIL");
  put_error(a, sink);
  put_error(b, sink);
  put_interval(x, sink);
  put_interval(y, sink);
  if (x && y && x->value_ns > 0) {
    assay_sink_putf(sink, " %7.3f", y->value_ns / x->value_ns);
  } else {
    assay_sink_put(sink, "       -");
  }
  assay_sink_putf(sink, "  %s%s\n", compare_latency(x, y),
                  same_question(a, b) ? "" : " (other model or inputs!)");
}

static void put_heading(const assay_view_row *a, const assay_view_row *b, assay_sink *sink) {
  assay_sink_plain(sink, a->bundle);
  assay_sink_put(sink, ": A on ");
  assay_sink_plain(sink, a->runtime);
  assay_sink_put(sink, ", B on ");
  assay_sink_plain(sink, b->runtime);
  assay_sink_putf(sink, "\n  %-12s %-4s %-4s %8s %8s %24s %24s %7s\n", "case", "A", "B", "err A",
                  "err B", "p50 ms A [95 %]", "p50 ms B [95 %]", "B / A");
}

void assay_side_by_side_put(const assay_view *a, const assay_view *b, assay_sink *sink) {
  size_t n_alone = 0, n_pairs = 0, last_group = SIZE_MAX;
  assay_sink_put(sink, "A: ");
  assay_sink_plain(sink, a->path);
  assay_sink_put(sink, "\nB: ");
  assay_sink_plain(sink, b->path);
  assay_sink_put(sink, "\n\n");
  for (size_t r = 0; r < a->n_rows; r++) {
    const assay_view_row *row = &a->rows[r], *other = find_pair(a, row, b);
    if (other == NULL) {
      n_alone++;
      continue;
    }
    if (row->group != last_group) put_heading(row, other, sink);
    last_group = row->group;
    put_pair(row, other, sink);
    n_pairs++;
  }
  if (n_alone || n_pairs < b->n_rows) {
    assay_sink_putf(sink, "\nnot in both: %zu of A, %zu of B\n", n_alone, b->n_rows - n_pairs);
  }
}
