/* What half precision costs, and which kernels ran: sections that only some packages have. */
#include <math.h>
#include <string.h>

#include "report/page_parts.h"

/* ---- precision ---- */

static bool is_comparable(const assay_result_comparison *c) {
  return c != NULL && c->same_shape && c->same_dtype && c->n_finite_pairs > 0;
}

static bool has_precision(const assay_view *view) {
  for (size_t r = 0; r < view->n_rows; r++)
    for (size_t h = 0; h < view->rows[r].n_heads; h++)
      for (int k = 0; k < ASSAY_N_PRECISION_KINDS; k++)
        if (view->rows[r].heads[h].precision[k].runtime != NULL) return true;
  return false;
}

/* The arithmetic that the runtime's numbers are nearest to; -1: nothing to compare, or it would be
 * a guess, since they all agree. */
static int nearest(const assay_view_head *head) {
  int best = -1;
  bool differ = false;
  for (int k = 0; k < ASSAY_N_PRECISION_KINDS; k++) {
    const assay_result_comparison *c = head->precision[k].runtime;
    if (!is_comparable(c)) continue;
    if (best >= 0) differ |= c->rmse != head->precision[best].runtime->rmse;
    if (best < 0 || c->rmse < head->precision[best].runtime->rmse) best = k;
  }
  return differ ? best : -1;
}

static assay_cell share(double of, double all) {
  return all > 0 ? assay_cell_ratio(of / all) : (assay_cell){0};
}

static void put_row(const assay_view_row *row, size_t r, const assay_view_head *head, int k,
                    bool is_nearest, assay_sink *sink) {
  const assay_view_precision *one = &head->precision[k];
  const assay_cell absent = {0};
  bool has_runtime = is_comparable(one->runtime), has_f64 = is_comparable(head->f64);
  double error = has_f64 ? head->f64->rmse : 0, left = has_runtime ? one->runtime->rmse : 0;
  bool is_split = has_f64 && has_runtime && error > 0;
  assay_sink_put(sink, "<tr>");
  assay_page_case(sink, row, NULL, r);
  assay_page_text(sink, row->bundle);
  assay_page_text(sink, row->runtime);
  assay_page_text(sink, head->name);
  assay_page_text(sink, assay_precision_kind(k)->words);
  assay_page_cell(sink, has_f64 ? assay_cell_error(error) : absent);
  assay_page_cell(sink, one->has_error ? assay_cell_error(one->rmse) : absent);
  assay_page_cell(sink, one->has_error && has_f64 ? share(one->rmse, error) : absent);
  assay_page_cell(sink, has_runtime ? assay_cell_error(left) : absent);
  assay_page_cell(sink, is_split ? assay_cell_ratio(1 - left / error * (left / error)) : absent);
  assay_page_text(sink, is_nearest ? "nearest" : NULL);
  assay_sink_put(sink, "</tr>\n");
}

static void put_head(const assay_view_row *row, size_t r, const assay_view_head *head,
                     assay_sink *sink) {
  int best = nearest(head);
  for (int k = 0; k < ASSAY_N_PRECISION_KINDS; k++)
    if (head->precision[k].runtime != NULL) put_row(row, r, head, k, k == best, sink);
}

/* Squared errors of a model's heads on a runtime, added up over its cases: those heads only that
 * every arithmetic can be compared for. */
typedef struct pool {
  int64_t n_heads, n_nearest[ASSAY_N_PRECISION_KINDS];
  double runtime, arithmetic[ASSAY_N_PRECISION_KINDS], left[ASSAY_N_PRECISION_KINDS];
} pool;

static void add_head(const assay_view_head *head, pool *sum) {
  if (!is_comparable(head->f64) || !(head->f64->rmse > 0)) return;
  for (int k = 0; k < ASSAY_N_PRECISION_KINDS; k++) {
    const assay_view_precision *one = &head->precision[k];
    if (!one->has_error || !is_comparable(one->runtime)) return;
  }
  double n = (double)head->f64->n_finite_pairs;
  int best = nearest(head);
  sum->n_heads++;
  if (best >= 0) sum->n_nearest[best]++;
  sum->runtime += n * head->f64->rmse * head->f64->rmse;
  for (int k = 0; k < ASSAY_N_PRECISION_KINDS; k++) {
    double left = head->precision[k].runtime->rmse;
    sum->arithmetic[k] += n * head->precision[k].rmse * head->precision[k].rmse;
    sum->left[k] += n * left * left;
  }
}

/* All cases of the model and runtime of row `first`; rows of both lie together. */
static size_t put_model(const assay_view *view, size_t first, assay_sink *sink) {
  const assay_view_row *of = &view->rows[first];
  pool sum = {0};
  size_t r = first;
  for (; r < view->n_rows && strcmp(view->rows[r].bundle, of->bundle) == 0 &&
         strcmp(view->rows[r].runtime, of->runtime) == 0;
       r++)
    for (size_t h = 0; h < view->rows[r].n_heads; h++) add_head(&view->rows[r].heads[h], &sum);
  for (int k = 0; k < ASSAY_N_PRECISION_KINDS && sum.n_heads > 0; k++) {
    assay_sink_put(sink, "<tr>");
    assay_page_text(sink, of->bundle);
    assay_page_text(sink, of->runtime);
    assay_page_text(sink, assay_precision_kind(k)->words);
    assay_page_cell(sink, assay_cell_count(sum.n_nearest[k]));
    assay_page_cell(sink, assay_cell_count(sum.n_heads));
    assay_page_cell(sink, share(sqrt(sum.arithmetic[k]), sqrt(sum.runtime)));
    assay_page_cell(sink, assay_cell_ratio(1 - sum.left[k] / sum.runtime));
    assay_sink_put(sink, "</tr>\n");
  }
  return r;
}

void assay_page_put_precision(const assay_view *view, assay_sink *sink) {
  if (!has_precision(view)) return;
  assay_sink_put(sink, "<section id=\"precision\"><h2>What half precision costs</h2>\n");
  assay_page_table_begin(sink, "precision-models", "Which arithmetic each runtime computes in",
                         "Model|Runtime|Arithmetic|#Nearest in|#Of heads|#Of its size|#In common");
  for (size_t r = 0; r < view->n_rows;) r = put_model(view, r, sink);
  assay_page_table_end(sink);
  assay_page_table_begin(sink, "precision", "Root mean square errors by head and arithmetic",
                         "Case|Model|Runtime|Head|Arithmetic|#Runtime vs FP64|#Arithmetic vs FP64|"
                         "#Of its size|#Runtime vs arithmetic|#In common|Computes so");
  for (size_t r = 0; r < view->n_rows; r++)
    for (size_t h = 0; h < view->rows[r].n_heads; h++)
      put_head(&view->rows[r], r, &view->rows[r].heads[h], sink);
  assay_page_table_end(sink);
  assay_sink_put(
      sink,
      "<p class=\"note\">The evaluator computes each case once more in the precision of the "
      "export, in each arithmetic that runtimes use for it: every result rounded to FP16 with "
      "products and sums in FP32; those rounded as well; or everything in FP32 but weights and "
      "what attention keeps in memory. <em>Arithmetic vs FP64</em> is what that must cost whoever "
      "computes so; <em>Of its size</em> is this as a share of the runtime's own error: all of it "
      "where the runtime adds nothing. <em>Runtime vs arithmetic</em> is where the two part, and "
      "<em>In common</em> is the share of the runtime's squared error that both have: nearly all "
      "where the runtime computes so with sums in FP32. Where sums are rounded, a difference in "
      "the last place of an FP32 value is enough to make later roundings fall otherwise, and only "
      "sizes can be compared. The first table adds up the squared errors of all cases and "
      "heads.</p></section>\n");
}

/* ---- kernels ---- */

static bool has_kernels(const assay_view *view) {
  for (size_t r = 0; r < view->n_rows; r++)
    if (view->rows[r].runs[ASSAY_VIEW_PLACEMENT].result.kernels.known) return true;
  return false;
}

static void put_kernels(const assay_view *view, size_t r, assay_sink *sink) {
  const assay_view_row *row = &view->rows[r];
  const assay_result_kernels *kernels = &row->runs[ASSAY_VIEW_PLACEMENT].result.kernels;
  if (!kernels->known) return;
  assay_sink_put(sink, "<tr>");
  assay_page_case(sink, row, NULL, r);
  assay_page_text(sink, row->bundle);
  assay_page_text(sink, row->runtime);
  assay_page_text(sink, kernels->n_required > 0 ? kernels->required[0] : NULL);
  assay_page_verdict(sink, kernels->verdict);
  assay_page_cell(sink, assay_cell_count(kernels->expected));
  assay_page_cell(sink, assay_cell_count(kernels->found));
  assay_sink_put(sink, "<td>");
  assay_sink_html(sink, kernels->reason);
  if (kernels->n_evidence > 0) {
    assay_sink_put(sink, "<details><summary>lines</summary><pre>");
    for (size_t i = 0; i < kernels->n_evidence; i++) {
      assay_sink_html(sink, kernels->evidence[i]);
      assay_sink_put(sink, "\n");
    }
    assay_sink_put(sink, "</pre></details>");
  }
  assay_sink_put(sink, "</td></tr>\n");
}

void assay_page_put_kernels(const assay_view *view, assay_sink *sink) {
  if (!has_kernels(view)) return;
  assay_sink_put(sink, "<section id=\"kernels\"><h2>Kernels</h2>\n");
  assay_page_table_begin(sink, "kernels", "Evidence that runtimes require beyond placement",
                         "Case|Model|Runtime|Required|Kernels|#Expected|#Found|Why");
  for (size_t r = 0; r < view->n_rows; r++) put_kernels(view, r, sink);
  assay_page_table_end(sink);
  assay_sink_put(sink, "</section>\n");
}
