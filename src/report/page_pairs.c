/* What 'assay compare' found, in the terminal and in the page: one list of columns gives both. */
#include "report/pair_table.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "report/cell.h"
#include "report/page_parts.h"

#define CASE_WIDTH 12

/* One head of one pair: everything that a row shows. Members may be NULL: not compared. */
typedef struct line {
  const assay_result_comparison *a_f32, *b_f32, *a_f64, *b_f64, *a_b;
  const assay_pairs_nearer *nearer;
} line;

typedef assay_cell (*line_cell)(const line *one);

static assay_cell error_of(const assay_result_comparison *c) {
  return c != NULL && c->same_shape && c->same_dtype ? assay_cell_error(c->max_abs)
                                                     : (assay_cell){0};
}
static assay_cell over_of(const assay_result_comparison *c) {
  return c != NULL && c->same_shape && c->same_dtype ? assay_cell_count(c->n_over)
                                                     : (assay_cell){0};
}

static assay_cell a_f32(const line *one) {
  return error_of(one->a_f32);
}
static assay_cell b_f32(const line *one) {
  return error_of(one->b_f32);
}
static assay_cell a_f64(const line *one) {
  return error_of(one->a_f64);
}
static assay_cell b_f64(const line *one) {
  return error_of(one->b_f64);
}
static assay_cell a_b(const line *one) {
  return error_of(one->a_b);
}
static assay_cell over_a(const line *one) {
  return over_of(one->a_f32);
}
static assay_cell over_b(const line *one) {
  return over_of(one->b_f32);
}
static assay_cell over_a_b(const line *one) {
  return over_of(one->a_b);
}
static assay_cell argmax_changed(const line *one) {
  bool classes = one->a_b != NULL && strcmp(one->a_b->kind, "classes") == 0;
  return classes ? assay_cell_count(one->a_b->n_argmax_changed) : (assay_cell){0};
}
static assay_cell argmax_margin(const line *one) {
  bool changed = one->a_b != NULL && one->a_b->n_argmax_changed > 0;
  return changed ? assay_cell_error(one->a_b->argmax_changed_max_margin) : (assay_cell){0};
}
static assay_cell nearer_a(const line *one) {
  return one->nearer != NULL ? assay_cell_count(one->nearer->n_a) : (assay_cell){0};
}
static assay_cell nearer_b(const line *one) {
  return one->nearer != NULL ? assay_cell_count(one->nearer->n_b) : (assay_cell){0};
}
static assay_cell as_near(const line *one) {
  return one->nearer != NULL ? assay_cell_count(one->nearer->n_same) : (assay_cell){0};
}

static const struct {
  const char *head;
  int width;
  line_cell get;
} columns[] = {
    {"A-FP32", 8, a_f32},         {"B-FP32", 8, b_f32},    {"A-FP64", 8, a_f64},
    {"B-FP64", 8, b_f64},         {"A-B", 8, a_b},         {"over A", 6, over_a},
    {"over B", 6, over_b},        {"A/B", 6, over_a_b},    {"argmax", 6, argmax_changed},
    {"margin", 8, argmax_margin}, {"A near", 6, nearer_a}, {"B near", 6, nearer_b},
    {"same", 6, as_near},
};

/* --- gathering -----------------------------------------------------------------------------------
 */

static const assay_result *find_side(const assay_view *view, const assay_pairs_side *side,
                                     const char *case_name) {
  for (size_t r = 0; r < view->n_rows; r++) {
    const assay_view_row *row = &view->rows[r];
    if (strcmp(row->runtime, side->runtime) == 0 && strcmp(row->bundle, side->bundle) == 0 &&
        strcmp(row->case_name, case_name) == 0)
      return &row->runs[ASSAY_VIEW_TIMING].result;
  }
  return NULL;
}

static const assay_result_comparison *find(const assay_result *result, const char *head,
                                           const char *reference) {
  return result != NULL ? assay_result_find(result, head, reference) : NULL;
}

static line make_line(const assay_view *view, const assay_pair *pair, size_t i) {
  const char *head = pair->comparisons[i].head;
  const assay_result *a = find_side(view, &pair->a, pair->case_name);
  const assay_result *b = find_side(view, &pair->b, pair->case_name);
  line one = {.a_f32 = find(a, head, "f32"),
              .b_f32 = find(b, head, "f32"),
              .a_f64 = find(a, head, "f64"),
              .b_f64 = find(b, head, "f64"),
              .a_b = &pair->comparisons[i]};
  for (size_t k = 0; k < pair->n_nearer; k++)
    if (strcmp(pair->nearer[k].head, head) == 0) one.nearer = &pair->nearer[k];
  return one;
}

static const char *identity_of(const assay_pair *pair) {
  if (pair->identical) return "identical outputs";
  return pair->same_graph ? "same graph" : "different graphs";
}

/* --- terminal ------------------------------------------------------------------------------------
 */

static void put_padded(assay_sink *sink, const char *text, size_t width) {
  assay_sink_plain(sink, text);
  for (size_t i = assay_sink_plain_width(text); i < width; i++) assay_sink_put(sink, " ");
}

static void put_text_pair(const assay_view *view, const assay_pair *pair, assay_sink *sink) {
  if (pair->reason != NULL) {
    assay_sink_put(sink, "  ");
    put_padded(sink, pair->case_name, CASE_WIDTH);
    assay_sink_put(sink, " not compared: ");
    assay_sink_plain(sink, pair->reason);
    assay_sink_put(sink, "\n");
    return;
  }
  for (size_t i = 0; i < pair->n_comparisons; i++) {
    line one = make_line(view, pair, i);
    assay_sink_put(sink, "  ");
    put_padded(sink, i == 0 ? pair->case_name : "", CASE_WIDTH);
    assay_sink_put(sink, " ");
    put_padded(sink, pair->comparisons[i].head, 9);
    for (size_t c = 0; c < N_OF(columns); c++) {
      char text[ASSAY_CELL_BYTES];
      assay_cell cell = columns[c].get(&one);
      assay_cell_read(&cell, text);
      assay_sink_putf(sink, " %*s", columns[c].width, text);
    }
    if (i == 0) assay_sink_putf(sink, "  %s", identity_of(pair));
    assay_sink_put(sink, "\n");
  }
}

static void put_what(const assay_pairs *pairs, assay_sink *sink,
                     void (*put)(assay_sink *, const char *)) {
  put(sink, pairs->what);
  put(sink, ": A is '");
  put(sink, pairs->a);
  put(sink, "', B is '");
  put(sink, pairs->b);
  put(sink, "'");
}

static bool starts_group(const assay_pairs *pairs, size_t i) {
  return i == 0 || strcmp(pairs->pairs[i].a.bundle, pairs->pairs[i - 1].a.bundle) != 0;
}

void assay_pair_table_put_text(const assay_view *view, const assay_pairs *pairs, assay_sink *sink) {
  put_what(pairs, sink, assay_sink_plain);
  assay_sink_put(sink, "\n");
  for (size_t i = 0; i < pairs->n; i++) {
    const assay_pair *pair = &pairs->pairs[i];
    if (starts_group(pairs, i)) {
      assay_sink_put(sink, "\n");
      assay_sink_plain(sink, pair->a.bundle);
      if (strcmp(pair->a.bundle, pair->b.bundle) != 0) {
        assay_sink_put(sink, " and ");
        assay_sink_plain(sink, pair->b.bundle);
      }
      assay_sink_putf(sink, "\n  %-*s %-9s", CASE_WIDTH, "case", "head");
      for (size_t c = 0; c < N_OF(columns); c++)
        assay_sink_putf(sink, " %*s", columns[c].width, columns[c].head);
      assay_sink_put(sink, "\n");
    }
    put_text_pair(view, pair, sink);
  }
}

/* --- page ----------------------------------------------------------------------------------------
 */

static void put_html_pair(const assay_view *view, const assay_pair *pair, assay_sink *sink) {
  if (pair->reason != NULL) return;
  for (size_t i = 0; i < pair->n_comparisons; i++) {
    line one = make_line(view, pair, i);
    assay_sink_put(sink, "<tr>");
    assay_page_text(sink, pair->case_name);
    assay_page_text(sink, pair->a.bundle);
    assay_page_text(sink, pair->comparisons[i].head);
    for (size_t c = 0; c < N_OF(columns); c++) assay_page_cell(sink, columns[c].get(&one));
    assay_page_text(sink, identity_of(pair));
    assay_sink_put(sink, "</tr>\n");
  }
}

static void put_missing(const assay_pairs *pairs, assay_sink *sink) {
  for (size_t i = 0; i < pairs->n; i++) {
    const assay_pair *pair = &pairs->pairs[i];
    if (pair->reason == NULL) continue;
    assay_sink_put(sink, "<p>");
    assay_sink_html(sink, pair->a.bundle);
    assay_sink_put(sink, ", ");
    assay_sink_html(sink, pair->case_name);
    assay_sink_put(sink, ": not compared: ");
    assay_sink_html(sink, pair->reason);
    assay_sink_put(sink, "</p>\n");
  }
}

void assay_page_put_pairs(const assay_view *view, assay_sink *sink) {
  const assay_pairs *pairs = &view->pairs;
  if (!view->has_pairs) return;
  assay_sink_put(sink, "<section id=\"pairs\"><h2>A beside B</h2>\n<p>");
  put_what(pairs, sink, assay_sink_html);
  assay_sink_put(sink, ". A diagnostic: each side was called too few times for a timing.</p>\n");
  put_missing(pairs, sink);
  assay_page_table_begin(
      sink, "pairs", "A and B against the references and each other",
      "Case|Model|Head|#A-FP32|#B-FP32|#A-FP64|#B-FP64|#A-B|#over A|#over B|#A/B|"
      "#argmax|#margin|#A near|#B near|#same|Graphs");
  for (size_t i = 0; i < pairs->n; i++) put_html_pair(view, &pairs->pairs[i], sink);
  assay_page_table_end(sink);
  assay_sink_put(sink,
                 "<p class=\"note\">Largest absolute differences, and elements over "
                 "tolerance, at valid positions. <em>argmax</em>: rows in which A and B choose "
                 "another class, <em>margin</em> B's largest among them. <em>near</em>: "
                 "elements of which that side is nearer to the FP64 reference.</p></section>\n");
}
