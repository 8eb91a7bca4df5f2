/* What half precision costs, and which kernels ran: sections that only some packages have. */
#include <math.h>

#include "report/page_parts.h"

/* ---- precision ---- */

static bool has_precision(const assay_view *view) {
  for (size_t r = 0; r < view->n_rows; r++)
    for (size_t h = 0; h < view->rows[r].n_heads; h++)
      if (view->rows[r].heads[h].same != NULL) return true;
  return false;
}

static bool is_comparable(const assay_result_comparison *c) {
  return c != NULL && c->same_shape && c->same_dtype && c->n_finite_pairs > 0;
}

double assay_view_explained(const assay_view_head *head) {
  if (!is_comparable(head->same) || !is_comparable(head->f64)) return (double)NAN;
  double all = head->f64->rmse, rest = head->same->rmse;
  return all > 0 ? 1 - rest / all * (rest / all) : (double)NAN;
}

static void put_row(const assay_view_row *row, size_t r, const assay_view_head *head,
                    assay_sink *sink) {
  const assay_cell absent = {0};
  double explained = assay_view_explained(head);
  assay_sink_put(sink, "<tr>");
  assay_page_case(sink, row, NULL, r);
  assay_page_text(sink, row->bundle);
  assay_page_text(sink, row->runtime);
  assay_page_text(sink, head->name);
  assay_page_cell(sink, is_comparable(head->f64) ? assay_cell_error(head->f64->rmse) : absent);
  assay_page_cell(sink, head->has_same_error ? assay_cell_error(head->same_rmse) : absent);
  assay_page_cell(sink, is_comparable(head->same) ? assay_cell_error(head->same->rmse) : absent);
  assay_page_cell(sink, isfinite(explained) ? assay_cell_ratio(explained) : absent);
  assay_sink_put(sink, "</tr>\n");
}

void assay_page_put_precision(const assay_view *view, assay_sink *sink) {
  if (!has_precision(view)) return;
  assay_sink_put(sink, "<section id=\"precision\"><h2>What half precision costs</h2>\n");
  assay_page_table_begin(sink, "precision", "Root mean square errors by head",
                         "Case|Model|Runtime|Head|#Runtime vs FP64|#Same precision vs FP64|"
                         "#Runtime vs same precision|#Explained");
  for (size_t r = 0; r < view->n_rows; r++)
    for (size_t h = 0; h < view->rows[r].n_heads; h++)
      if (view->rows[r].heads[h].same != NULL)
        put_row(&view->rows[r], r, &view->rows[r].heads[h], sink);
  assay_page_table_end(sink);
  assay_sink_put(
      sink,
      "<p class=\"note\">The evaluator computes each case once more, rounding where the export's "
      "precision plan says so. <em>Same precision vs FP64</em> is what that precision must cost "
      "whoever computes it; <em>Runtime vs same precision</em> is what remains. <em>Explained</em> "
      "is the share of the runtime's squared error that the two have in common (1 − the squared "
      "ratio of the last error and the first): near 1 where the runtime rounds as the plan says, "
      "near 0 or below where it computes the graph in another precision, as ONNX Runtime's CPU "
      "provider does with most of FP16.</p></section>\n");
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
