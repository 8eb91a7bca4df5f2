/* The tables of what half precision costs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verify/verify_page_table.h"

static void set_cell(assay_verify_cell *out, double value) {
  *out = (assay_verify_cell){.kind = ASSAY_VERIFY_CELL_REAL,
                             .real = value,
                             .bound = assay_verify_ulps(value, ASSAY_VERIFY_SUM_ULPS)};
}

/* The words of the page for each arithmetic. */
static const char *const precision_words[ASSAY_VERIFY_N_PRECISIONS] = {
    "FP16, sums in FP32", "FP16, sums in FP16", "FP32, stored in FP16"};

/* A head of a row against a reference: NULL where no element of the two can be subtracted. */
static const assay_verify_comparison *finite_comparison(const assay_verify_row *row,
                                                        const char *head, const char *reference) {
  const assay_verify_comparison *c = assay_verify_row_comparison(row, head, reference);
  return c != NULL && c->figures.n_finite_pairs > 0 ? c : NULL;
}

/* One head of one row, in one arithmetic. */
typedef struct precision_line {
  const assay_verify_comparison *f64, *runtime; /* the runtime against each; NULL: not compared */
  bool has_error;
  double rmse;     /* of the arithmetic against FP64 */
  bool is_nearest; /* of those that differ */
} precision_line;

/* The arithmetic that the page calls so, or -1. */
static int find_arithmetic(const char *words) {
  for (int k = 0; k < ASSAY_VERIFY_N_PRECISIONS; k++)
    if (strcmp(precision_words[k], words) == 0) return k;
  return -1;
}

static precision_line derive_line(const assay_verify_row *row, const char *head, int arithmetic) {
  bool differ = false;
  const assay_verify_comparison *nearest = NULL;
  for (int k = 0; k < ASSAY_VERIFY_N_PRECISIONS; k++) {
    const assay_verify_comparison *c = finite_comparison(row, head, ASSAY_VERIFY_PRECISIONS[k]);
    if (c == NULL) continue;
    differ |= nearest != NULL && c->figures.rmse != nearest->figures.rmse;
    if (nearest == NULL || c->figures.rmse < nearest->figures.rmse) nearest = c;
  }
  precision_line line = {
      .f64 = finite_comparison(row, head, "f64"),
      .runtime = finite_comparison(row, head, ASSAY_VERIFY_PRECISIONS[arithmetic]),
  };
  line.is_nearest = differ && line.runtime == nearest;
  for (size_t i = 0; row->references != NULL && i < row->manifest->n_heads; i++) {
    if (strcmp(row->manifest->heads[i].name, head) != 0) continue;
    line.has_error = row->references->precision[i].has[arithmetic];
    line.rmse = row->references->precision[i].rmse[arithmetic];
  }
  return line;
}

static void check_precision_cell(const assay_verify_place *at, const char *title,
                                 const assay_verify_page_cell *found, const precision_line *line) {
  assay_verify_cell cell = {0};
  double error = line->f64 != NULL ? line->f64->figures.rmse : 0;
  if (strcmp(title, "Runtime vs FP64") == 0) {
    if (line->f64 != NULL) set_cell(&cell, error);
  } else if (strcmp(title, "Arithmetic vs FP64") == 0) {
    if (line->has_error) set_cell(&cell, line->rmse);
  } else if (strcmp(title, "Of its size") == 0) {
    if (line->has_error && error > 0) {
      set_cell(&cell, line->rmse / error);
      cell.bound = assay_verify_ulps(cell.real, 2 * ASSAY_VERIFY_SUM_ULPS);
    }
  } else if (strcmp(title, "Runtime vs arithmetic") == 0) {
    if (line->runtime != NULL) set_cell(&cell, line->runtime->figures.rmse);
  } else if (strcmp(title, "In common") == 0) {
    if (line->runtime != NULL && error > 0) {
      double ratio = line->runtime->figures.rmse / error;
      set_cell(&cell, 1 - ratio * ratio);
      cell.bound = assay_verify_ulps(1 + ratio * ratio, 4 * ASSAY_VERIFY_SUM_ULPS);
    }
  } else if (strcmp(title, "Computes so") == 0) {
    bool holds = line->is_nearest ? strcmp(found->text, "nearest") == 0
                                  : assay_verify_page_is_absent(found->text);
    assay_verify_holds(at, title, holds, line->is_nearest ? "nearest" : "none", found->text);
    return;
  } else {
    return;
  }
  assay_verify_page_figure(at, title, found, &cell);
}

static void check_precision(const assay_verify_place *at, const char *html,
                            const assay_verify_rows *rows) {
  assay_verify_page_table table;
  assay_verify_page_cell cells[ASSAY_VERIFY_PAGE_COLUMNS];
  size_t n = 0;
  while (assay_verify_page_next_table(&html, "precision", &table))
    while (assay_verify_page_next_row(&table, cells, &n)) {
      assay_verify_place here;
      const assay_verify_row *row = assay_verify_page_row_of(at, &table, cells, n, rows, &here);
      if (row == NULL || row->timing == NULL || !row->timing->has_numbers) continue;
      const char *words = assay_verify_page_text_under(&table, cells, n, "Arithmetic");
      int arithmetic = find_arithmetic(words);
      if (arithmetic < 0) {
        assay_verify_holds(&here, "Arithmetic", false, "one that the evaluator knows", words);
        continue;
      }
      precision_line line =
          derive_line(row, assay_verify_page_text_under(&table, cells, n, "Head"), arithmetic);
      for (size_t i = 0; i < n && i < table.n_columns; i++)
        check_precision_cell(&here, table.titles[i], &cells[i], &line);
    }
}

/* All cases of a model on a runtime, in one arithmetic: heads that every one is known for. */
typedef struct precision_pool {
  int64_t n_heads, n_nearest;
  long double runtime, arithmetic, left; /* squared errors */
} precision_pool;

static void pool_row(const assay_verify_row *row, int arithmetic, precision_pool *sum) {
  for (size_t h = 0; row->manifest != NULL && h < row->manifest->n_heads; h++) {
    const char *head = row->manifest->heads[h].name;
    bool is_whole = true;
    for (int k = 0; k < ASSAY_VERIFY_N_PRECISIONS; k++) {
      precision_line line = derive_line(row, head, k);
      is_whole &= line.f64 != NULL && line.runtime != NULL && line.has_error;
    }
    precision_line line = derive_line(row, head, arithmetic);
    if (!is_whole || !(line.f64->figures.rmse > 0)) continue;
    long double n = (long double)line.f64->figures.n_finite_pairs;
    long double error = (long double)line.f64->figures.rmse, own = (long double)line.rmse;
    long double left = (long double)line.runtime->figures.rmse;
    sum->n_heads++;
    sum->n_nearest += line.is_nearest;
    sum->runtime += n * error * error;
    sum->arithmetic += n * own * own;
    sum->left += n * left * left;
  }
}

static void check_pool_cell(const assay_verify_place *at, const char *title,
                            const assay_verify_page_cell *found, const precision_pool *sum) {
  assay_verify_cell cell = {0};
  if (strcmp(title, "Nearest in") == 0) {
    cell = (assay_verify_cell){.kind = ASSAY_VERIFY_CELL_COUNT, .count = sum->n_nearest};
  } else if (strcmp(title, "Of heads") == 0) {
    cell = (assay_verify_cell){.kind = ASSAY_VERIFY_CELL_COUNT, .count = sum->n_heads};
  } else if (strcmp(title, "Of its size") == 0) {
    set_cell(&cell, (double)sqrtl(sum->arithmetic / sum->runtime));
    cell.bound = assay_verify_ulps(cell.real, 4 * ASSAY_VERIFY_SUM_ULPS);
  } else if (strcmp(title, "In common") == 0) {
    set_cell(&cell, (double)(1 - sum->left / sum->runtime));
    cell.bound =
        assay_verify_ulps((double)(1 + sum->left / sum->runtime), 4 * ASSAY_VERIFY_SUM_ULPS);
  } else {
    return;
  }
  assay_verify_page_figure(at, title, found, &cell);
}

static void check_precision_pools(const assay_verify_place *above, const char *html,
                                  const assay_verify_rows *rows) {
  assay_verify_page_table table;
  assay_verify_page_cell cells[ASSAY_VERIFY_PAGE_COLUMNS];
  size_t n = 0;
  while (assay_verify_page_next_table(&html, "precision-models", &table))
    while (assay_verify_page_next_row(&table, cells, &n)) {
      assay_verify_place at = *above;
      const char *runtime = assay_verify_page_text_under(&table, cells, n, "Runtime");
      const char *bundle = assay_verify_page_text_under(&table, cells, n, "Model");
      const char *words = assay_verify_page_text_under(&table, cells, n, "Arithmetic");
      precision_pool sum = {0};
      int arithmetic = find_arithmetic(words);
      for (size_t r = 0; arithmetic >= 0 && r < rows->n; r++)
        if (strcmp(rows->items[r].runtime, runtime) == 0 &&
            strcmp(rows->items[r].bundle, bundle) == 0)
          pool_row(&rows->items[r], arithmetic, &sum);
      snprintf(at.within, sizeof at.within, "%.100s / %.100s / %.60s: ", runtime, bundle, words);
      assay_verify_holds(&at, "row", sum.n_heads > 0, "a model, runtime and arithmetic of the page",
                         "another one");
      for (size_t i = 0; sum.n_heads > 0 && i < n && i < table.n_columns; i++)
        check_pool_cell(&at, table.titles[i], &cells[i], &sum);
    }
}

void assay_verify_page_precision(const assay_verify_place *at, const char *html,
                                 const assay_verify_rows *rows) {
  check_precision_pools(at, html, rows);
  check_precision(at, html, rows);
}
