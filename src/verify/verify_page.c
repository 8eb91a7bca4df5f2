/* What the page shows, against what was derived. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "package/pairs.h"
#include "verify/verify_page_table.h"

/* --- cells ---------------------------------------------------------------------------------------
 */

static void get_column(const assay_verify_row *row, const char *name, assay_verify_cell *out) {
  *out = (assay_verify_cell){0};
  assay_verify_column_find(name)->get(row, out);
}

/* In milliseconds, without saying so. */
static bool reads_ms(const assay_verify_cell *cell, const char *text) {
  char with_unit[96];
  if (cell->kind == ASSAY_VERIFY_CELL_ABSENT) return assay_verify_page_is_absent(text);
  snprintf(with_unit, sizeof with_unit, "%.80s ms", text);
  return assay_verify_cell_is_read(cell, with_unit);
}

/* "[8.128, 8.450]" into its two ends. */
static bool split_interval(const char *text, char low[64], char high[64]) {
  const char *open = strchr(text, '['), *comma = open != NULL ? strchr(open, ',') : NULL;
  const char *close = comma != NULL ? strchr(comma, ']') : NULL;
  if (close == NULL) return false;
  const char *second = comma + 1 + (comma[1] == ' ');
  snprintf(low, 64, "%.*s", (int)(comma - open - 1 < 63 ? comma - open - 1 : 63), open + 1);
  snprintf(high, 64, "%.*s", (int)(close - second < 63 ? close - second : 63), second);
  return true;
}

/* "8.226" over "[8.128, 8.450]", with "8226382.5 ns, 95 % interval [8127861, 8450179] ns". */
static void check_percentile(const assay_verify_place *at, const char *p,
                             const assay_verify_page_cell *found, const assay_verify_row *row) {
  char name[16], low_name[24], high_name[24], low[64] = "", high[64] = "";
  assay_verify_cell value, low_cell, high_cell;
  snprintf(name, sizeof name, "%.3s_ns", p);
  snprintf(low_name, sizeof low_name, "%.3s_low_ns", p);
  snprintf(high_name, sizeof high_name, "%.3s_high_ns", p);
  get_column(row, name, &value);
  get_column(row, low_name, &low_cell);
  get_column(row, high_name, &high_cell);
  if (value.kind != ASSAY_VERIFY_CELL_TIME) {
    assay_verify_page_figure(at, name, found, &value);
    return;
  }
  assay_verify_page_holds(at, name, &value, reads_ms(&value, found->text), found->text);
  char *end = NULL;
  double exact = strtod(found->title, &end);
  char text[64];
  snprintf(text, sizeof text, "%.17g", exact);
  assay_verify_page_holds(at, name, &value,
                          end != found->title && assay_verify_cell_is_exact(&value, text),
                          found->title);
  bool split = split_interval(end, low, high);
  assay_verify_page_holds(at, low_name, &low_cell,
                          split && assay_verify_cell_is_exact(&low_cell, low), found->title);
  assay_verify_page_holds(at, high_name, &high_cell,
                          split && assay_verify_cell_is_exact(&high_cell, high), found->title);
  split = split_interval(found->small, low, high);
  assay_verify_page_holds(at, low_name, &low_cell, split && reads_ms(&low_cell, low), found->small);
  assay_verify_page_holds(at, high_name, &high_cell, split && reads_ms(&high_cell, high),
                          found->small);
}

/* "pass" over "245 of 245"; the table of placements has these in columns of their own. */
static void check_placed(const assay_verify_place *at, const assay_verify_page_cell *found,
                         const assay_verify_row *row) {
  assay_verify_cell word, on, of;
  get_column(row, "placement", &word);
  get_column(row, "n_on_provider", &on);
  get_column(row, "n_compute", &of);
  assay_verify_page_holds(at, "Placement", &word, assay_verify_cell_is_read(&word, found->text),
                          found->text);
  if (on.kind != ASSAY_VERIFY_CELL_COUNT || found->small[0] == '\0') return;
  char expected[64];
  snprintf(expected, sizeof expected, "%" PRId64 " of %" PRId64, on.count, of.count);
  assay_verify_text(at, "Placement", found->small, expected);
}

/* "momentum" over "[0,24,4] vs f32", with "got -0.17, reference -0.18". */
static void check_where(const assay_verify_place *at, const assay_verify_page_cell *found,
                        const assay_verify_row *row) {
  assay_verify_cell head, index;
  get_column(row, "worst_head", &head);
  get_column(row, "worst_index", &index);
  if (head.kind != ASSAY_VERIFY_CELL_TEXT || index.kind != ASSAY_VERIFY_CELL_COUNT) return;
  const assay_result_comparison *c = &row->worst->figures;
  char place[256], expected[640];
  assay_verify_index_text(c->shape, index.count, place, sizeof place);
  snprintf(expected, sizeof expected, "%s vs %s", place, row->worst->reference);
  assay_verify_page_holds(at, "Worst element", &head,
                          assay_verify_cell_is_exact(&head, found->text), found->text);
  assay_verify_text(at, "Worst element", found->small, expected);
  const assay_result_point *point =
      c->n_class_mismatch > 0 ? &c->first_class_mismatch : &c->max_tol_at;
  snprintf(expected, sizeof expected, "got %.17g, reference %.17g", point->got, point->want);
  assay_verify_text(at, "Worst element", found->title, expected);
}

/* --- rows ----------------------------------------------------------------------------------------
 */

static void check_cell_of_row(const assay_verify_place *at, const char *title,
                              const assay_verify_page_cell *found, const assay_verify_row *row) {
  const assay_verify_column *column = assay_verify_column_of_title(title);
  bool percentile = title[0] == 'p' && isdigit((unsigned char)title[1]);
  assay_verify_cell cell = {0};
  if (percentile) {
    check_percentile(at, title, found, row);
  } else if (strcmp(title, "Placement") == 0) {
    check_placed(at, found, row);
  } else if (strcmp(title, "Worst element") == 0) {
    check_where(at, found, row);
  } else if (column != NULL) {
    column->get(row, &cell);
    assay_verify_page_figure(at, title, found, &cell);
  }
}

static void check_rows(const assay_verify_place *at, const char *html, const char *class_name,
                       const assay_verify_rows *rows) {
  assay_verify_page_table table;
  assay_verify_page_cell cells[ASSAY_VERIFY_PAGE_COLUMNS];
  size_t n = 0;
  while (assay_verify_page_next_table(&html, class_name, &table))
    while (assay_verify_page_next_row(&table, cells, &n)) {
      assay_verify_place here;
      const assay_verify_row *row = assay_verify_page_row_of(at, &table, cells, n, rows, &here);
      for (size_t i = 0; row != NULL && i < n && i < table.n_columns; i++)
        check_cell_of_row(&here, table.titles[i], &cells[i], row);
    }
}

/* --- heads ---------------------------------------------------------------------------------------
 */

/* Which reference and which member a column of the table of heads shows; "" for the one that the
 * head is judged by. */
static const struct {
  const char *title, *reference, *member;
} head_columns[] = {
    {"Max error vs FP32", "f32", "max_abs_error"},
    {"atol", "", "atol"},
    {"rtol", "", "rtol"},
    {"Denormals", "", "n_denormal_got"},
    {"Denormals in reference", "", "n_denormal_want"},
    {"Multiple of tolerance", "", "max_tolerance_multiple"},
    {"Over tolerance", "", "n_over"},
    {"Needed atol", "", "needed_atol"},
    {"RMSE", "", "rmse"},
    {"Relative L2", "", "rel_l2"},
    {"Max error vs FP64", "f64", "max_abs_error"},
    {"Max error vs brought", "user", "max_abs_error"},
};

static const assay_verify_comparison *judged_by(const assay_verify_row *row, const char *head) {
  static const char *const order[] = {"f32", "user", "f64"};
  for (size_t i = 0; i < 3; i++) {
    const assay_verify_comparison *c = assay_verify_row_comparison(row, head, order[i]);
    if (c != NULL) return c;
  }
  return NULL;
}

/* "3 of 90" with what may be behind it. */
static void check_share(const assay_verify_place *at, const char *title,
                        const assay_verify_page_cell *found, int64_t part, int64_t whole,
                        double value) {
  char expected[96], detail[64];
  snprintf(expected, sizeof expected, "%" PRId64 " of %" PRId64, part, whole);
  size_t n = strlen(found->text);
  char text[ASSAY_VERIFY_PAGE_CELL_BYTES];
  snprintf(text, sizeof text, "%s", found->text);
  while (n > 0 && text[n - 1] == ' ') text[--n] = '\0';
  if (whole == 0) {
    assay_verify_holds(at, title, assay_verify_page_is_absent(text), "nothing", text);
    return;
  }
  assay_verify_text(at, title, text, expected);
  if (part == 0) return;
  const char *number = strrchr(found->small, ' ');
  snprintf(detail, sizeof detail, "%.2e", value);
  assay_verify_text(at, title, number != NULL ? number + 1 : "", detail);
}

static void check_head_cell(const assay_verify_place *at, const char *title,
                            const assay_verify_page_cell *found, const assay_verify_row *row,
                            const char *head) {
  const assay_verify_comparison *main = judged_by(row, head);
  for (size_t i = 0; i < sizeof head_columns / sizeof head_columns[0]; i++) {
    if (strcmp(title, head_columns[i].title) != 0) continue;
    const assay_verify_comparison *c =
        head_columns[i].reference[0] != '\0'
            ? assay_verify_row_comparison(row, head, head_columns[i].reference)
            : main;
    assay_verify_cell cell = {0};
    if (c != NULL) (void)assay_verify_head_cell(c, &c->figures, head_columns[i].member, &cell);
    assay_verify_page_figure(at, title, found, &cell);
  }
  if (main == NULL) return;
  const assay_result_comparison *f = &main->figures;
  if (strcmp(title, "Verdict") == 0)
    assay_verify_text(at, title, found->text, f->passed ? "pass" : "fail");
  if (strcmp(title, "Argmax changed") == 0)
    check_share(at, title, found, f->n_argmax_changed, f->n_argmax, f->argmax_changed_max_margin);
  if (strcmp(title, "Padding not zero") == 0)
    check_share(at, title, found, f->n_padding_not_zero, f->n_padding, f->padding_max_abs);
  if (strcmp(title, "FP32 reference vs FP64") != 0 || row->references == NULL) return;
  for (size_t i = 0; i < row->manifest->n_heads; i++) {
    assay_verify_cell cell = {0};
    if (strcmp(row->manifest->heads[i].name, head) != 0) continue;
    if (row->references->has[i])
      cell =
          (assay_verify_cell){.kind = ASSAY_VERIFY_CELL_REAL, .real = row->references->max_abs[i]};
    assay_verify_page_figure(at, title, found, &cell);
  }
}

static void check_heads(const assay_verify_place *at, const char *html,
                        const assay_verify_rows *rows) {
  assay_verify_page_table table;
  assay_verify_page_cell cells[ASSAY_VERIFY_PAGE_COLUMNS];
  size_t n = 0;
  while (assay_verify_page_next_table(&html, "heads", &table))
    while (assay_verify_page_next_row(&table, cells, &n)) {
      assay_verify_place here;
      const assay_verify_row *row = assay_verify_page_row_of(at, &table, cells, n, rows, &here);
      if (row == NULL || row->timing == NULL || !row->timing->has_numbers) continue;
      const char *head = assay_verify_page_text_under(&table, cells, n, "Head");
      size_t used = strlen(here.within);
      snprintf(here.within + used, sizeof here.within - used, "%.60s: ", head);
      for (size_t i = 0; i < n && i < table.n_columns; i++)
        check_head_cell(&here, table.titles[i], &cells[i], row, head);
    }
}

/* --- kernels -------------------------------------------------------------------------------------
 */

static void check_kernels(const assay_verify_place *at, const char *html,
                          const assay_verify_rows *rows) {
  assay_verify_page_table table;
  assay_verify_page_cell cells[ASSAY_VERIFY_PAGE_COLUMNS];
  size_t n = 0;
  while (assay_verify_page_next_table(&html, "kernels", &table))
    while (assay_verify_page_next_row(&table, cells, &n)) {
      assay_verify_place here;
      char text[32];
      const assay_verify_row *row = assay_verify_page_row_of(at, &table, cells, n, rows, &here);
      if (row == NULL || row->placement == NULL) continue;
      const assay_result_kernels *kernels =
          &row->placement->found.kernels; /* checked with its run */
      assay_verify_text(&here, "Kernels", assay_verify_page_text_under(&table, cells, n, "Kernels"),
                        kernels->verdict);
      snprintf(text, sizeof text, "%" PRId64, kernels->expected);
      assay_verify_text(&here, "Expected",
                        assay_verify_page_text_under(&table, cells, n, "Expected"), text);
      snprintf(text, sizeof text, "%" PRId64, kernels->found);
      assay_verify_text(&here, "Found", assay_verify_page_text_under(&table, cells, n, "Found"),
                        text);
    }
}

/* --- pairs ---------------------------------------------------------------------------------------
 */

static const assay_pair *find_pair(const assay_pairs *pairs, const char *bundle, const char *name) {
  for (size_t i = 0; i < pairs->n; i++)
    if (strcmp(pairs->pairs[i].a.bundle, bundle) == 0 &&
        strcmp(pairs->pairs[i].case_name, name) == 0)
      return &pairs->pairs[i];
  return NULL;
}

/* A side against one of its references: the largest error, or how many elements are over. */
static void set_of_side(const assay_verify_rows *rows, const assay_pairs_side *side,
                        const char *case_name, const char *head, const char *reference, bool over,
                        assay_verify_cell *out) {
  const assay_verify_row *row =
      assay_verify_rows_find(rows, side->runtime, side->bundle, case_name);
  const assay_verify_comparison *c =
      row != NULL ? assay_verify_row_comparison(row, head, reference) : NULL;
  if (c != NULL)
    (void)assay_verify_head_cell(c, &c->figures, over ? "n_over" : "max_abs_error", out);
}

/* Figures of compare/pairs.json are derived by verify_pairs.c; here the page is held against them.
 */
static void check_pair_cell(const assay_verify_place *at, const char *title,
                            const assay_verify_page_cell *found, const assay_verify_rows *rows,
                            const assay_pair *pair, const assay_result_comparison *c) {
  const char *name = pair->case_name, *head = c->head;
  const assay_pairs_nearer *nearer = NULL;
  assay_verify_cell cell = {0};
  for (size_t i = 0; i < pair->n_nearer; i++)
    if (strcmp(pair->nearer[i].head, head) == 0) nearer = &pair->nearer[i];
  bool like = c->same_shape && c->same_dtype, classes = strcmp(c->kind, "classes") == 0;
  const struct {
    const char *title;
    bool there;
    int64_t count;
  } counts[] = {{"A/B", like, c->n_over},
                {"argmax", classes, c->n_argmax_changed},
                {"A near", nearer != NULL, nearer != NULL ? nearer->n_a : 0},
                {"B near", nearer != NULL, nearer != NULL ? nearer->n_b : 0},
                {"same", nearer != NULL, nearer != NULL ? nearer->n_same : 0}};
  bool is_known = true;
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    if (strcmp(title, counts[i].title) != 0) continue;
    if (counts[i].there)
      cell = (assay_verify_cell){.kind = ASSAY_VERIFY_CELL_COUNT, .count = counts[i].count};
    assay_verify_page_figure(at, title, found, &cell);
    return;
  }
  if (strcmp(title, "A-FP32") == 0 || strcmp(title, "over A") == 0)
    set_of_side(rows, &pair->a, name, head, "f32", title[0] == 'o', &cell);
  else if (strcmp(title, "B-FP32") == 0 || strcmp(title, "over B") == 0)
    set_of_side(rows, &pair->b, name, head, "f32", title[0] == 'o', &cell);
  else if (strcmp(title, "A-FP64") == 0)
    set_of_side(rows, &pair->a, name, head, "f64", false, &cell);
  else if (strcmp(title, "B-FP64") == 0)
    set_of_side(rows, &pair->b, name, head, "f64", false, &cell);
  else if (strcmp(title, "A-B") == 0 && like)
    cell = (assay_verify_cell){.kind = ASSAY_VERIFY_CELL_REAL, .real = c->max_abs};
  else if (strcmp(title, "margin") == 0 && c->n_argmax_changed > 0)
    cell =
        (assay_verify_cell){.kind = ASSAY_VERIFY_CELL_REAL, .real = c->argmax_changed_max_margin};
  else
    is_known = strcmp(title, "A-B") == 0 || strcmp(title, "margin") == 0;
  if (is_known) assay_verify_page_figure(at, title, found, &cell);
}

static void check_pairs(const assay_verify_place *at, const char *html,
                        const assay_verify_rows *rows) {
  assay_verify_page_table table;
  assay_verify_page_cell cells[ASSAY_VERIFY_PAGE_COLUMNS];
  assay_pairs pairs = {0};
  size_t n = 0;
  if (rows->n == 0 || !assay_pairs_are_there(rows->items[0].scene->path) ||
      assay_pairs_read(rows->items[0].scene->path, &pairs, NULL))
    return; /* what is wrong with the file is said of itself */
  while (assay_verify_page_next_table(&html, "pairs", &table))
    while (assay_verify_page_next_row(&table, cells, &n)) {
      assay_verify_place here = *at;
      const char *head = assay_verify_page_text_under(&table, cells, n, "Head");
      const assay_pair *pair =
          find_pair(&pairs, assay_verify_page_text_under(&table, cells, n, "Model"),
                    assay_verify_page_text_under(&table, cells, n, "Case"));
      const assay_result_comparison *c = NULL;
      for (size_t i = 0; pair != NULL && i < pair->n_comparisons; i++)
        if (strcmp(pair->comparisons[i].head, head) == 0) c = &pair->comparisons[i];
      snprintf(here.within, sizeof here.within,
               "pairs %.100s %.60s: ", pair != NULL ? pair->case_name : "", head);
      assay_verify_holds(&here, "row", c != NULL, "a pair of compare/pairs.json", "another");
      for (size_t i = 0; c != NULL && i < n && i < table.n_columns; i++)
        check_pair_cell(&here, table.titles[i], &cells[i], rows, pair, c);
    }
  assay_pairs_reset(&pairs);
}

/* --- the summary ---------------------------------------------------------------------------------
 */

/* The rows of one model on one runtime with inputs of one kind, that a line sums up. */
typedef struct group {
  const assay_verify_row *worst, *fastest, *slowest; /* NULL: none */
  size_t n, n_passed;
} group;

static double median_of(const assay_verify_row *row) {
  return row->timing->stats.stats.percentiles[0].value_ns;
}

static bool has_median(const assay_verify_row *row) {
  return row->timing != NULL && row->timing->has_stats && row->timing->found.timing.known;
}

/* False when some figures of the group are not known. */
static bool sum_up(const assay_verify_rows *rows, const char *runtime, const char *bundle,
                   const char *inputs, group *out) {
  *out = (group){0};
  for (size_t i = 0; i < rows->n; i++) {
    const assay_verify_row *row = &rows->items[i];
    if (strcmp(row->runtime, runtime) != 0 || strcmp(row->bundle, bundle) != 0 ||
        strcmp(row->inputs, inputs) != 0)
      continue;
    out->n++;
    out->n_passed += row->passed;
    assay_verify_cell cell;
    get_column(row, "worst_head", &cell);
    if (cell.kind == ASSAY_VERIFY_CELL_UNKNOWN) return false;
    if (row->worst != NULL &&
        (out->worst == NULL || assay_verify_is_worse(row->worst, out->worst->worst)))
      out->worst = row;
    get_column(row, "p50_ns", &cell);
    if (cell.kind == ASSAY_VERIFY_CELL_UNKNOWN) return false;
    if (!has_median(row)) continue;
    if (out->fastest == NULL || median_of(row) < median_of(out->fastest)) out->fastest = row;
    if (out->slowest == NULL || median_of(row) > median_of(out->slowest)) out->slowest = row;
  }
  return true;
}

static void check_worst_figure(const assay_verify_place *at, const char *title,
                               const assay_verify_page_cell *found, const assay_verify_row *worst,
                               const char *column) {
  assay_verify_cell cell = {0};
  if (worst != NULL) get_column(worst, column, &cell);
  assay_verify_page_figure(at, title, found, &cell);
}

/* "8.226 ms" or "8.226 ms – 9.1 ms". */
static void check_range(const assay_verify_place *at, const char *title,
                        const assay_verify_page_cell *found, const group *g) {
  char low[ASSAY_VERIFY_PAGE_CELL_BYTES], high[ASSAY_VERIFY_PAGE_CELL_BYTES];
  assay_verify_cell cell = {0};
  snprintf(low, sizeof low, "%.1000s", found->text);
  char *dash = strstr(low, " – ");
  snprintf(high, sizeof high, "%.1000s", dash != NULL ? dash + strlen(" – ") : low);
  if (dash != NULL) *dash = '\0';
  if (g->fastest == NULL) {
    assay_verify_page_figure(at, title, found, &cell);
    return;
  }
  get_column(g->fastest, "p50_ns", &cell);
  assay_verify_page_holds(at, title, &cell, assay_verify_cell_is_read(&cell, low), found->text);
  get_column(g->slowest, "p50_ns", &cell);
  assay_verify_page_holds(at, title, &cell, assay_verify_cell_is_read(&cell, high), found->text);
}

/* "momentum in b1-n100 at [0,24,4], against f32", and what follows where nothing can be compared.
 */
static void check_place_of_worst(const assay_verify_place *at, const char *title,
                                 const assay_verify_page_cell *found, const assay_verify_row *row) {
  char expected[1024] = "nothing was compared", place[256] = "";
  if (row != NULL && row->worst != NULL) {
    assay_verify_cell index;
    get_column(row, "worst_index", &index);
    if (index.kind == ASSAY_VERIFY_CELL_COUNT)
      assay_verify_index_text(row->worst->figures.shape, index.count, place, sizeof place);
    snprintf(expected, sizeof expected, "%.300s in %.300s%s%s, against %s", row->worst->head,
             row->case_name, place[0] != '\0' ? " at " : "", place, row->worst->reference);
  }
  assay_verify_cell cell = {.kind = ASSAY_VERIFY_CELL_TEXT};
  char text[ASSAY_VERIFY_PAGE_CELL_BYTES];
  memcpy(text, found->text, sizeof text);
  if (place[0] == '\0' && strlen(text) > strlen(expected)) text[strlen(expected)] = '\0';
  snprintf(cell.text, sizeof cell.text, "%s", expected);
  assay_verify_page_holds(at, title, &cell, assay_verify_cell_is_exact(&cell, text), found->text);
}

static void check_summary_row(const assay_verify_place *at, const assay_verify_page_table *table,
                              const assay_verify_page_cell *cells, size_t n, const group *g) {
  char expected[64];
  snprintf(expected, sizeof expected, "%zu of %zu", g->n_passed, g->n);
  for (size_t i = 0; i < n && i < table->n_columns; i++) {
    const char *title = table->titles[i];
    if (strcmp(title, "Verdict") == 0)
      assay_verify_text(at, title, cells[i].text, g->n_passed == g->n ? "pass" : "fail");
    if (strcmp(title, "Cases passed") == 0) assay_verify_text(at, title, cells[i].text, expected);
    if (strcmp(title, "Worst error") == 0)
      check_worst_figure(at, title, &cells[i], g->worst, "worst_abs_error");
    if (strcmp(title, "Multiple of tolerance") == 0)
      check_worst_figure(at, title, &cells[i], g->worst, "worst_tolerance_multiple");
    if (strncmp(title, "p50", 3) == 0) check_range(at, title, &cells[i], g);
    if (strcmp(title, "Where it is") == 0) check_place_of_worst(at, title, &cells[i], g->worst);
  }
}

/* What the rows of one model on one runtime have in common: one of them says so. */
static void check_common(const assay_verify_place *at, const char *title, const char *found,
                         const char *column, const assay_verify_rows *rows, const char *runtime,
                         const char *bundle) {
  bool said = assay_verify_page_is_absent(found);
  for (size_t i = 0; i < rows->n && !said; i++) {
    const assay_verify_row *row = &rows->items[i];
    assay_verify_cell cell;
    if (strcmp(row->runtime, runtime) != 0 || strcmp(row->bundle, bundle) != 0) continue;
    get_column(row, column, &cell);
    said = assay_verify_cell_is_exact(&cell, found);
  }
  assay_verify_holds(at, title, said, "what one of its cases says", found);
}

static void check_summary(const assay_verify_place *at, const char *html,
                          const assay_verify_rows *rows) {
  assay_verify_page_table table;
  assay_verify_page_cell cells[ASSAY_VERIFY_PAGE_COLUMNS];
  size_t n = 0;
  while (assay_verify_page_next_table(&html, "sum", &table))
    while (assay_verify_page_next_row(&table, cells, &n)) {
      const char *runtime = assay_verify_page_text_under(&table, cells, n, "Runtime");
      const char *bundle = assay_verify_page_text_under(&table, cells, n, "Model");
      const char *inputs = assay_verify_page_text_under(&table, cells, n, "Inputs");
      group g;
      assay_verify_place here = *at;
      snprintf(here.within, sizeof here.within, "%.100s / %.100s / %.20s: ", runtime, bundle,
               inputs);
      if (!sum_up(rows, runtime, bundle, inputs, &g)) continue;
      assay_verify_holds(&here, "row", g.n > 0, "cases of the campaign", "others");
      check_summary_row(&here, &table, cells, n, &g);
      check_common(&here, "Precision", assay_verify_page_text_under(&table, cells, n, "Precision"),
                   "precision", rows, runtime, bundle);
      check_common(&here, "Provider", assay_verify_page_text_under(&table, cells, n, "Provider"),
                   "provider", rows, runtime, bundle);
      check_common(&here, "ONNX Runtime",
                   assay_verify_page_text_under(&table, cells, n, "ONNX Runtime"),
                   "library_version", rows, runtime, bundle);
    }
}

/* --- operators -----------------------------------------------------------------------------------
 */

/* "Operators of BUNDLE on RUNTIME, case CASE". */
static const assay_verify_row *row_of_caption(const char *caption, const assay_verify_rows *rows) {
  for (size_t i = 0; i < rows->n; i++) {
    const assay_verify_row *row = &rows->items[i];
    char expected[1024];
    snprintf(expected, sizeof expected, "Operators of %.300s on %.300s, case %.300s", row->bundle,
             row->runtime, row->case_name);
    if (strncmp(expected, caption, 255) == 0) return row;
  }
  return NULL;
}

static void check_operator(const assay_verify_place *at, const assay_verify_page_table *table,
                           const assay_verify_page_cell *cells, size_t n,
                           const assay_result_placement_count *count, int64_t total_us) {
  for (size_t i = 0; i < n && i < table->n_columns; i++) {
    const char *title = table->titles[i];
    assay_verify_cell cell = {.kind = ASSAY_VERIFY_CELL_COUNT};
    if (strcmp(title, "Operator") == 0) {
      assay_verify_text(at, title, cells[i].text, count->op);
    } else if (strcmp(title, "Provider") == 0) {
      assay_verify_text(at, title, cells[i].text, count->provider);
    } else if (strcmp(title, "Nodes") == 0 || strcmp(title, "Executions") == 0) {
      cell.count = title[0] == 'N' ? count->n_nodes : count->n_events;
      assay_verify_page_figure(at, title, &cells[i], &cell);
    } else if (strcmp(title, "Host time") == 0) {
      cell = (assay_verify_cell){.kind = ASSAY_VERIFY_CELL_TIME,
                                 .real = (double)count->duration_us * 1e3};
      assay_verify_page_figure(at, title, &cells[i], &cell);
    } else if (strcmp(title, "Share of host time") == 0 && total_us > 0) {
      cell = (assay_verify_cell){.kind = ASSAY_VERIFY_CELL_REAL,
                                 .real = (double)count->duration_us / (double)total_us};
      assay_verify_page_figure(at, title, &cells[i], &cell);
    }
  }
}

static void check_operators(const assay_verify_place *at, const char *html,
                            const assay_verify_rows *rows) {
  assay_verify_page_table table;
  assay_verify_page_cell cells[ASSAY_VERIFY_PAGE_COLUMNS];
  size_t n = 0;
  while (assay_verify_page_next_table(&html, "ops", &table)) {
    const assay_verify_row *row = row_of_caption(table.caption, rows);
    int64_t total_us = 0;
    assay_verify_place here = *at;
    snprintf(here.within, sizeof here.within, "%.200s: ", table.caption);
    assay_verify_holds(&here, "table", row != NULL, "a case of the campaign", "another one");
    if (row == NULL || row->placement == NULL || !row->placement->has_placement) continue;
    const assay_result_placement *f = &row->placement->placement.figures;
    for (size_t i = 0; i < f->n_counts; i++) total_us += f->counts[i].duration_us;
    size_t i = 0;
    for (; assay_verify_page_next_row(&table, cells, &n); i++)
      if (i < f->n_counts) check_operator(&here, &table, cells, n, &f->counts[i], total_us);
    assay_verify_int(&here, "rows", (int64_t)i, (int64_t)f->n_counts);
  }
}

/* --- the evidence --------------------------------------------------------------------------------
 */

static const assay_verify_run *run_of_file(const assay_verify_rows *rows, const char *file) {
  for (size_t r = 0; r < rows->n; r++) {
    const assay_verify_run *runs[] = {rows->items[r].timing, rows->items[r].placement};
    for (size_t i = 0; i < 2; i++) {
      size_t n = runs[i] != NULL ? strlen(runs[i]->planned->folder) : 0;
      if (n > 0 && strncmp(file, runs[i]->planned->folder, n) == 0 &&
          strcmp(file + n, "/result.json") == 0)
        return runs[i];
    }
  }
  return NULL;
}

/* "exit 0", "signal 9, timed out", or nothing. */
static void end_of(const assay_result_process *p, char out[64]) {
  out[0] = '\0';
  if (p->known && p->exited) snprintf(out, 64, "exit %d", p->exit_code);
  if (p->known && !p->exited)
    snprintf(out, 64, "signal %d%s", p->signal, p->timed_out ? ", timed out" : "");
}

/* What the campaign wrote down of the process; recorded, so that the result is the evidence. */
static void check_raw_cell(const assay_verify_scene *scene, const assay_verify_place *at,
                           const char *title, const assay_verify_page_cell *found, const char *file,
                           const assay_verify_run *run) {
  const assay_result *result = &run->found;
  const assay_result_process *process = &result->process;
  const assay_tree_entry *entry = assay_tree_find(scene->sums, file);
  assay_verify_cell cell = {0};
  char end[64];
  end_of(process, end);
  if (strcmp(title, "Status") == 0)
    assay_verify_text(at, title, found->text, assay_result_status_name(result->status));
  if (strcmp(title, "Process") == 0 && end[0] != '\0')
    assay_verify_text(at, title, found->text, end);
  if (strcmp(title, "Started") == 0 && result->started_at[0] != '\0')
    assay_verify_text(at, title, found->text, result->started_at);
  if (strcmp(title, "SHA-256") == 0 && entry != NULL)
    assay_verify_text(at, title, found->text, entry->sha256);
  if (!process->known) return;
  if (strcmp(title, "Elapsed") == 0) {
    cell = (assay_verify_cell){.kind = ASSAY_VERIFY_CELL_TIME, .real = (double)process->elapsed_ns};
    assay_verify_page_figure(at, title, found, &cell);
  } else if (strcmp(title, "Peak RSS (MiB)") == 0 && process->max_rss_bytes > 0) {
    char with_unit[64];
    cell = (assay_verify_cell){.kind = ASSAY_VERIFY_CELL_SIZE, .count = process->max_rss_bytes};
    snprintf(with_unit, sizeof with_unit, "%.50s MiB", found->text);
    assay_verify_page_holds(at, title, &cell, assay_verify_cell_is_read(&cell, with_unit),
                            found->text);
    assay_verify_int(at, title, strtoll(found->title, NULL, 10), process->max_rss_bytes);
  }
}

static void check_raw(const assay_verify_scene *scene, const assay_verify_place *at,
                      const char *html, const assay_verify_rows *rows) {
  assay_verify_page_table table;
  assay_verify_page_cell cells[ASSAY_VERIFY_PAGE_COLUMNS];
  size_t n = 0;
  while (assay_verify_page_next_table(&html, "raw", &table))
    while (assay_verify_page_next_row(&table, cells, &n)) {
      const char *file = assay_verify_page_text_under(&table, cells, n, "File");
      const assay_verify_run *run = run_of_file(rows, file);
      assay_verify_place here = *at;
      snprintf(here.within, sizeof here.within, "%.200s: ", file);
      for (size_t i = 0; run != NULL && run->is_there && i < n && i < table.n_columns; i++)
        check_raw_cell(scene, &here, table.titles[i], &cells[i], file, run);
    }
}

/* The file that an address "../runs/a%20b" leads to, from report/. */
static void file_of_address(const char *at, const char *end, char *out, size_t out_bytes) {
  size_t n = 0;
  at += strncmp(at, "../", 3) == 0 ? 3 : 0;
  for (; at < end && n + 1 < out_bytes; at++) {
    char hex[3] = {0};
    if (*at != '%' || end - at < 3) {
      out[n++] = *at;
      continue;
    }
    memcpy(hex, at + 1, 2);
    out[n++] = (char)strtol(hex, NULL, 16);
    at += 2;
  }
  out[n] = '\0';
}

/* A link that tells a digest leads to a file that has it. */
static void check_links(const assay_verify_scene *scene, const assay_verify_place *at,
                        const char *html) {
  static const char middle[] = "\" title=\"SHA-256 ";
  const char *end = html + strlen(html);
  for (const char *a = assay_verify_page_find(html, end, "<a href=\"../"); a != NULL;
       a = assay_verify_page_find(a + 9, end, "<a href=\"../")) {
    char file[1200], digest[80];
    const char *address = a + strlen("<a href=\""), *quote = strchr(address, '"');
    if (quote == NULL || strncmp(quote, middle, sizeof middle - 1) != 0) continue;
    file_of_address(address, quote, file, sizeof file);
    snprintf(digest, sizeof digest, "%.64s", quote + sizeof middle - 1);
    const assay_tree_entry *entry = assay_tree_find(scene->sums, file);
    assay_verify_place here = *at;
    snprintf(here.within, sizeof here.within, "%.300s: ", file);
    assay_verify_text(&here, "link", digest, entry != NULL ? entry->sha256 : "");
  }
}

/* Lists: tolerances, and why there is no memory. */
static void check_lists(const assay_verify_place *at, const char *html,
                        const assay_verify_rows *rows) {
  int64_t n_told = 0;
  const char *end = html + strlen(html);
  for (const char *li = assay_verify_page_find(html, end, "<li>"); li != NULL;
       li = assay_verify_page_find(li + 4, end, "<li>")) {
    char line[2304];
    const char *close = assay_verify_page_find(li, end, "</li>");
    assay_verify_page_plain(li, close != NULL ? close : end, line, sizeof line);
    if (strstr(line, "</") == NULL) n_told += assay_verify_line_check(at, line, rows);
  }
  assay_verify_tolerances_check(at, n_told, rows);
}

void assay_verify_page_check(const assay_verify_scene *scene, const assay_verify_place *at,
                             const char *html, const assay_verify_rows *rows) {
  check_raw(scene, at, html, rows);
  check_links(scene, at, html);
  check_lists(at, html, rows);
  check_rows(at, html, "runs", rows);
  check_rows(at, html, "times", rows);
  check_rows(at, html, "mems", rows);
  check_rows(at, html, "places", rows);
  check_heads(at, html, rows);
  assay_verify_page_precision(at, html, rows);
  check_kernels(at, html, rows);
  check_pairs(at, html, rows);
  check_summary(at, html, rows);
  check_operators(at, html, rows);
}
