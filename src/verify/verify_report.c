/* Every cell of every table. */
#include "verify/verify_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "verify/verify_grid.h"
#include "verify/verify_setup.h"

#define TABLE_MAX_BYTES ((size_t)1 << 30)
#define SHOWN_BYTES     640
#define TOPICS_MAX      32 /* of reasons */

bool assay_verify_report_qualifies(const assay_verify_scene *scene, const assay_verify_rows *rows) {
  bool all = rows->n > 0 && scene->package->finished_at[0] != '\0';
  for (size_t i = 0; i < rows->n; i++) all = all && rows->items[i].passed;
  return all;
}

static void check_cell(const assay_verify_place *at, const char *what,
                       const assay_verify_cell *cell, bool holds, const char *found) {
  char expected[SHOWN_BYTES];
  assay_verify_cell_show(cell, expected, sizeof expected);
  assay_verify_holds(at, what, holds, expected, found[0] != '\0' ? found : "nothing");
}

/* "at" within a row: "cpu / attention-cld / b1-n100: ". */
static assay_verify_place place_of(const assay_verify_place *above, const char *runtime,
                                   const char *bundle, const char *case_name) {
  assay_verify_place at = *above;
  snprintf(at.within, sizeof at.within, "%.100s / %.100s / %.100s: ", runtime, bundle, case_name);
  return at;
}

/* --- table.csv -----------------------------------------------------------------------------------
 */

static void check_known_columns(const assay_verify_place *at, const assay_verify_grid *grid) {
  for (size_t i = 0; i < assay_verify_grid_width(grid, 0); i++) {
    const char *name = assay_verify_grid_cell(grid, 0, i);
    assay_verify_holds(at, "header", assay_verify_column_find(name) != NULL,
                       "columns that can be derived", name);
  }
  for (size_t i = 0; i < assay_verify_n_columns; i++) {
    const char *name = assay_verify_columns[i].name;
    bool found = false;
    for (size_t k = 0; k < assay_verify_grid_width(grid, 0); k++)
      found |= strcmp(assay_verify_grid_cell(grid, 0, k), name) == 0;
    assay_verify_holds(at, "header", found, name, "no such column");
  }
}

static void check_table_record(const assay_verify_place *above, const assay_verify_grid *grid,
                               size_t record, const assay_verify_rows *rows) {
  const char *runtime = assay_verify_grid_under(grid, record, "runtime");
  const char *bundle = assay_verify_grid_under(grid, record, "bundle");
  const char *case_name = assay_verify_grid_under(grid, record, "case");
  const assay_verify_row *row = assay_verify_rows_find(rows, runtime, bundle, case_name);
  assay_verify_place at = place_of(above, runtime, bundle, case_name);
  assay_verify_holds(&at, "row", row != NULL, "a case of the campaign", "another one");
  assay_verify_int(&at, "cells", (int64_t)assay_verify_grid_width(grid, record),
                   (int64_t)assay_verify_grid_width(grid, 0));
  if (row == NULL) return;
  for (size_t i = 0; i < assay_verify_grid_width(grid, record); i++) {
    if (i >= assay_verify_grid_width(grid, 0)) break;
    const assay_verify_column *column =
        assay_verify_column_find(assay_verify_grid_cell(grid, 0, i));
    const char *found = assay_verify_grid_cell(grid, record, i);
    assay_verify_cell cell = {0};
    if (column == NULL) continue;
    column->get(row, &cell);
    check_cell(&at, column->name, &cell, assay_verify_cell_is_exact(&cell, found), found);
  }
}

/* Each row once. */
static void check_each_row_once(const assay_verify_place *above, const assay_verify_grid *grid,
                                const assay_verify_rows *rows) {
  for (size_t r = 0; r < rows->n; r++) {
    const assay_verify_row *row = &rows->items[r];
    int64_t n = 0;
    for (size_t i = 1; i < grid->n_records; i++)
      n += strcmp(assay_verify_grid_under(grid, i, "case"), row->case_name) == 0 &&
           strcmp(assay_verify_grid_under(grid, i, "bundle"), row->bundle) == 0 &&
           strcmp(assay_verify_grid_under(grid, i, "runtime"), row->runtime) == 0;
    assay_verify_place at = place_of(above, row->runtime, row->bundle, row->case_name);
    assay_verify_int(&at, "rows", n, 1);
  }
}

static void check_table(const assay_verify_place *at, const assay_verify_grid *grid,
                        const assay_verify_rows *rows) {
  check_known_columns(at, grid);
  for (size_t i = 1; i < grid->n_records; i++) check_table_record(at, grid, i, rows);
  check_each_row_once(at, grid, rows);
}

/* --- heads.csv -----------------------------------------------------------------------------------
 */

static void check_head_record(const assay_verify_place *above, const assay_verify_grid *grid,
                              size_t record, const assay_verify_rows *rows) {
  const char *runtime = assay_verify_grid_under(grid, record, "runtime");
  const char *bundle = assay_verify_grid_under(grid, record, "bundle");
  const char *case_name = assay_verify_grid_under(grid, record, "case");
  const char *head = assay_verify_grid_under(grid, record, "head");
  const char *reference = assay_verify_grid_under(grid, record, "reference");
  const assay_verify_row *row = assay_verify_rows_find(rows, runtime, bundle, case_name);
  const assay_verify_comparison *c =
      row != NULL ? assay_verify_row_comparison(row, head, reference) : NULL;
  const assay_result_comparison *found =
      c != NULL ? assay_result_find(&row->timing->found, head, reference) : NULL;
  assay_verify_place at = place_of(above, runtime, bundle, case_name);
  size_t used = strlen(at.within);
  snprintf(at.within + used, sizeof at.within - used, "%.32s against %.16s: ", head, reference);
  if (row != NULL && row->timing != NULL && !row->timing->has_numbers) return; /* said before */
  assay_verify_holds(&at, "row", found != NULL, "a comparison that was made", "another one");
  for (size_t i = 0; found != NULL && i < assay_verify_grid_width(grid, record); i++) {
    if (i >= assay_verify_grid_width(grid, 0)) break;
    const char *name = assay_verify_grid_cell(grid, 0, i);
    const char *text = assay_verify_grid_cell(grid, record, i);
    assay_verify_cell cell = {0};
    if (strcmp(name, "runtime") == 0 || strcmp(name, "bundle") == 0 || strcmp(name, "case") == 0)
      continue;
    bool known = assay_verify_head_cell(c, found, name, &cell);
    assay_verify_holds(&at, "header", known, "columns that can be derived", name);
    if (known) check_cell(&at, name, &cell, assay_verify_cell_is_exact(&cell, text), text);
  }
}

static void check_heads(const assay_verify_place *at, const assay_verify_grid *grid,
                        const assay_verify_rows *rows) {
  size_t n = 0;
  bool all_derived = true;
  for (size_t r = 0; r < rows->n; r++) {
    const assay_verify_run *t = rows->items[r].timing;
    if (t == NULL) continue;
    if (t->has_numbers) n += t->numbers.n;
    all_derived = all_derived && (t->has_numbers || t->found.n_comparisons == 0);
  }
  for (size_t i = 1; i < grid->n_records; i++) check_head_record(at, grid, i, rows);
  if (all_derived) assay_verify_int(at, "rows", (int64_t)grid->n_records - 1, (int64_t)n);
}

/* --- memory.csv ----------------------------------------------------------------------------------
 */

/* "column" of the samples of one row against what was derived of it. */
static void check_memory_record(const assay_verify_place *at, const assay_verify_grid *grid,
                                size_t record, const assay_verify_run *run, size_t i) {
  const assay_result_memory_column *found = &run->found.memory.columns[i];
  const assay_verify_memory_column *c = &run->memory.columns[i];
  const int64_t base = c->baseline_bytes;
  const struct {
    const char *name;
    int64_t value;
    bool absent;
  } numbers[] = {
      {"n_values", c->n_values, false},
      {"n_baseline", c->n_baseline, false},
      {"n_first", c->n_first, false},
      {"n_warm", c->n_warm, false},
      {"baseline_bytes", base, base < 0},
      {"peak_first_bytes", c->peak_first_bytes, c->peak_first_bytes < 0},
      {"peak_warm_bytes", c->peak_warm_bytes, c->peak_warm_bytes < 0},
      {"peak_bytes", c->peak_bytes, c->peak_bytes < 0},
      {"high_water_bytes", found->high_water_bytes, found->high_water_bytes < 0},
      {"first_above_bytes", c->peak_first_bytes - base, base < 0 || c->peak_first_bytes < 0},
      {"warm_above_bytes", c->peak_warm_bytes - base, base < 0 || c->peak_warm_bytes < 0},
      {"peak_above_bytes", c->peak_bytes - base, base < 0 || c->peak_bytes < 0},
      {"n_rows", run->memory.n_rows, false},
      {"n_missed", run->memory.n_missed, false}};
  const struct {
    const char *name, *text;
  } texts[] = {{"column", found->name}, {"reason", found->reason}};
  for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
    assay_verify_cell cell = {.kind = texts[k].text != NULL ? ASSAY_VERIFY_CELL_TEXT
                                                            : ASSAY_VERIFY_CELL_ABSENT};
    const char *text = assay_verify_grid_under(grid, record, texts[k].name);
    if (texts[k].text != NULL) snprintf(cell.text, sizeof cell.text, "%s", texts[k].text);
    check_cell(at, texts[k].name, &cell, assay_verify_cell_is_exact(&cell, text), text);
  }
  for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
    assay_verify_cell cell = {.kind = numbers[k].absent ? ASSAY_VERIFY_CELL_ABSENT
                                                        : ASSAY_VERIFY_CELL_COUNT,
                              .count = numbers[k].value};
    const char *text = assay_verify_grid_under(grid, record, numbers[k].name);
    check_cell(at, numbers[k].name, &cell, assay_verify_cell_is_exact(&cell, text), text);
  }
}

/* One record for each column of each row's samples, rows in any order, columns in theirs. */
static void check_memory(const assay_verify_place *at, const assay_verify_grid *grid,
                         const assay_verify_rows *rows) {
  static const char header[] =
      "runtime,bundle,case,column,reason,n_values,n_baseline,n_first,n_warm,baseline_bytes,"
      "peak_first_bytes,peak_warm_bytes,peak_bytes,high_water_bytes,first_above_bytes,"
      "warm_above_bytes,peak_above_bytes,n_rows,n_missed";
  char found[640] = "";
  for (size_t i = 0; i < assay_verify_grid_width(grid, 0); i++) {
    size_t n = strlen(found);
    snprintf(found + n, sizeof found - n, "%s%s", i > 0 ? "," : "",
             assay_verify_grid_cell(grid, 0, i));
  }
  assay_verify_text(at, "header", found, header);
  const assay_verify_row *before = NULL;
  size_t next = 0;
  int64_t n_expected = 0;
  for (size_t i = 1; i < grid->n_records; i++) {
    const char *runtime = assay_verify_grid_under(grid, i, "runtime");
    const char *bundle = assay_verify_grid_under(grid, i, "bundle");
    const char *case_name = assay_verify_grid_under(grid, i, "case");
    const assay_verify_row *row = assay_verify_rows_find(rows, runtime, bundle, case_name);
    assay_verify_place here = place_of(at, runtime, bundle, case_name);
    next = row != NULL && row == before ? next + 1 : 0;
    before = row;
    const assay_verify_run *t = row != NULL ? row->timing : NULL;
    bool has = t != NULL && t->is_there && next < t->found.memory.n_columns;
    assay_verify_holds(&here, "row", has, "a column of samples", "another one");
    assay_verify_int(&here, "cells", (int64_t)assay_verify_grid_width(grid, i),
                     (int64_t)assay_verify_grid_width(grid, 0));
    if (has && next < t->memory.n_columns) check_memory_record(&here, grid, i, t, next);
  }
  for (size_t r = 0; r < rows->n; r++)
    if (rows->items[r].timing != NULL && rows->items[r].timing->is_there)
      n_expected += (int64_t)rows->items[r].timing->found.memory.n_columns;
  assay_verify_int(at, "rows", (int64_t)grid->n_records - 1, n_expected);
}

/* --- placement.csv -------------------------------------------------------------------------------
 */

static void check_count_record(const assay_verify_place *above, const assay_verify_grid *grid,
                               size_t record, const assay_verify_row *row, size_t i) {
  const assay_result_placement_count *count = &row->placement->placement.figures.counts[i];
  assay_verify_place at = place_of(above, row->runtime, row->bundle, row->case_name);
  size_t used = strlen(at.within);
  snprintf(at.within + used, sizeof at.within - used, "%.40s: ", count->op);
  const struct {
    const char *name;
    assay_verify_cell cell;
  } members[] = {{"n_nodes", {.kind = ASSAY_VERIFY_CELL_COUNT, .count = count->n_nodes}},
                 {"n_events", {.kind = ASSAY_VERIFY_CELL_COUNT, .count = count->n_events}},
                 {"duration_us", {.kind = ASSAY_VERIFY_CELL_COUNT, .count = count->duration_us}}};
  assay_verify_text(&at, "provider", assay_verify_grid_under(grid, record, "provider"),
                    count->provider);
  assay_verify_text(&at, "op", assay_verify_grid_under(grid, record, "op"), count->op);
  for (size_t k = 0; k < sizeof members / sizeof members[0]; k++) {
    const char *found = assay_verify_grid_under(grid, record, members[k].name);
    check_cell(&at, members[k].name, &members[k].cell,
               assay_verify_cell_is_exact(&members[k].cell, found), found);
  }
}

/* Records of one row follow one another, in the order of its counts. */
static void check_counts(const assay_verify_place *at, const assay_verify_grid *grid,
                         const assay_verify_rows *rows) {
  const char *before[3] = {"", "", ""};
  size_t next = 0, n_expected = 0;
  bool all_derived = true;
  for (size_t i = 1; i < grid->n_records; i++) {
    const char *names[3] = {assay_verify_grid_under(grid, i, "runtime"),
                            assay_verify_grid_under(grid, i, "bundle"),
                            assay_verify_grid_under(grid, i, "case")};
    bool same = true;
    for (size_t k = 0; k < 3; k++) same = same && strcmp(names[k], before[k]) == 0;
    next = same ? next + 1 : 0;
    memcpy(before, names, sizeof before);
    const assay_verify_row *row = assay_verify_rows_find(rows, names[0], names[1], names[2]);
    assay_verify_place here = place_of(at, names[0], names[1], names[2]);
    bool derived = row != NULL && row->placement != NULL && row->placement->has_placement;
    bool known = derived && next < row->placement->placement.figures.n_counts;
    if (row == NULL || (derived && !known))
      assay_verify_holds(&here, "row", false, "operators of the profile", "more of them");
    if (known) check_count_record(at, grid, i, row, next);
  }
  for (size_t r = 0; r < rows->n; r++) {
    const assay_verify_run *p = rows->items[r].placement;
    if (p != NULL && p->has_placement) n_expected += p->placement.figures.n_counts;
    if (p != NULL && p->is_there && p->found.placement.known && !p->has_placement)
      all_derived = false;
  }
  if (all_derived) assay_verify_int(at, "rows", (int64_t)grid->n_records - 1, (int64_t)n_expected);
}

/* --- table.md ------------------------------------------------------------------------------------
 */

static bool is_heading(const assay_verify_grid *grid, size_t record) {
  return assay_verify_grid_width(grid, record) > 0 &&
         strcmp(assay_verify_grid_cell(grid, record, 0), "Runtime") == 0;
}

/* A name as Markdown has it, without the marks of code. */
static void strip_code(const char *text, char *out, size_t out_bytes) {
  size_t n = strlen(text);
  bool code = n >= 2 && text[0] == '`' && text[n - 1] == '`';
  snprintf(out, out_bytes, "%.*s", (int)(code ? n - 2 : n), text + code);
}

static const char *under_title(const assay_verify_grid *grid, size_t heading, size_t record,
                               const char *title) {
  for (size_t i = 0; i < assay_verify_grid_width(grid, heading); i++)
    if (strcmp(assay_verify_grid_cell(grid, heading, i), title) == 0 &&
        i < assay_verify_grid_width(grid, record))
      return assay_verify_grid_cell(grid, record, i);
  return "";
}

static void check_readable(const assay_verify_place *above, const assay_verify_grid *grid,
                           size_t heading, size_t record, const assay_verify_rows *rows) {
  char names[3][256];
  strip_code(under_title(grid, heading, record, "Runtime"), names[0], sizeof names[0]);
  strip_code(under_title(grid, heading, record, "Model"), names[1], sizeof names[1]);
  strip_code(under_title(grid, heading, record, "Case"), names[2], sizeof names[2]);
  const assay_verify_row *row = assay_verify_rows_find(rows, names[0], names[1], names[2]);
  assay_verify_place at = place_of(above, names[0], names[1], names[2]);
  assay_verify_holds(&at, "row", row != NULL, "a case of the campaign", "another one");
  for (size_t i = 0; row != NULL && i < assay_verify_grid_width(grid, record); i++) {
    if (i >= assay_verify_grid_width(grid, heading)) break;
    const char *title = assay_verify_grid_cell(grid, heading, i);
    const char *found = assay_verify_grid_cell(grid, record, i);
    const assay_verify_column *column = assay_verify_column_of_title(title);
    assay_verify_cell cell = {0};
    assay_verify_holds(&at, title, column != NULL, "a column that can be derived", title);
    if (column == NULL) continue;
    column->get(row, &cell);
    check_cell(&at, title, &cell, assay_verify_cell_is_read(&cell, found), found);
  }
}

static bool has_title(const assay_verify_grid *grid, size_t heading, const char *title) {
  for (size_t i = 0; i < assay_verify_grid_width(grid, heading); i++)
    if (strcmp(assay_verify_grid_cell(grid, heading, i), title) == 0) return true;
  return false;
}

/* Columns that a table for people may lack: only where no case has the figure. */
static void check_no_gap(const assay_verify_place *at, const assay_verify_grid *grid,
                         size_t heading, const assay_verify_rows *rows) {
  static const struct {
    const char *name;
    bool of_memory;
  } optional[] = {{"max_abs_error_user", false},
                  {"processes_p50_spread", false},
                  {"processes_outputs_identical", false},
                  {"device", true},
                  {"device_peak_bytes", true},
                  {"device_peak_above_bytes", true}};
  bool of_memory = has_title(grid, heading, "Memory");
  for (size_t k = 0; k < sizeof optional / sizeof optional[0]; k++) {
    const assay_verify_column *column = assay_verify_column_find(optional[k].name);
    bool needed = false;
    for (size_t r = 0; r < rows->n && !needed; r++) {
      assay_verify_cell cell = {0};
      column->get(&rows->items[r], &cell);
      needed = cell.kind != ASSAY_VERIFY_CELL_ABSENT && cell.kind != ASSAY_VERIFY_CELL_UNKNOWN;
    }
    if (needed && optional[k].of_memory == of_memory)
      assay_verify_holds(at, "heading", has_title(grid, heading, column->title), column->title,
                         "no such column");
  }
}

/* "- tolerance: momentum atol 0.01 rtol 0.003 (default 0.001, 0.003)": a comparison was made so. */
static bool is_tolerance_of(const char *line, const assay_verify_rows *rows) {
  char head[256], atol[64], rtol[64];
  const char *at = strstr(line, " atol ");
  if (at == NULL || sscanf(at, " atol %63s rtol %63s", atol, rtol) != 2) return false;
  char quoted[256];
  snprintf(quoted, sizeof quoted, "%.*s", (int)(at - line < 255 ? at - line : 255), line);
  strip_code(quoted, head, sizeof head);
  for (size_t r = 0; r < rows->n; r++) {
    const assay_verify_run *t = rows->items[r].timing;
    for (size_t i = 0; t != NULL && i < t->numbers.n; i++) {
      const assay_verify_comparison *c = &t->numbers.comparisons[i];
      const assay_verify_cell cells[] = {{.kind = ASSAY_VERIFY_CELL_REAL, .real = c->figures.atol},
                                         {.kind = ASSAY_VERIFY_CELL_REAL, .real = c->figures.rtol},
                                         {.kind = ASSAY_VERIFY_CELL_TEXT}};
      assay_verify_cell name = cells[2];
      snprintf(name.text, sizeof name.text, "%.255s", c->head);
      if (assay_verify_cell_is_exact(&name, head) && assay_verify_cell_is_exact(&cells[0], atol) &&
          assay_verify_cell_is_exact(&cells[1], rtol))
        return true;
    }
  }
  return false;
}

/* A tolerance other than the one that everybody expects must be told. */
static int64_t count_unusual(const assay_verify_rows *rows) {
  int64_t n = 0;
  for (size_t r = 0; r < rows->n; r++) {
    const assay_verify_run *t = rows->items[r].timing;
    for (size_t i = 0; t != NULL && i < t->numbers.n; i++) {
      const assay_verify_comparison *c = &t->numbers.comparisons[i];
      bool exact = strcmp(c->kind, "constant") == 0 || strcmp(c->kind, "integer") == 0;
      double atol = exact ? 0 : ASSAY_DEFAULT_ATOL, rtol = exact ? 0 : ASSAY_DEFAULT_RTOL;
      n += c->figures.atol != atol || c->figures.rtol != rtol;
    }
  }
  return n;
}

/* "- no memory of a device in 5 of 5 cases: WHY": so many cases of some group have that reason. */
static bool is_gap_of(const char *line, const assay_verify_rows *rows) {
  int64_t n = 0, n_all = 0;
  char words[32];
  int used = 0;
  bool of_device = strncmp(line, "a device", 8) == 0;
  const char *in = strstr(line, " in ");
  if (in == NULL ||
      sscanf(in, " in %" SCNd64 " of %" SCNd64 " %31[cases]:%n", &n, &n_all, words, &used) != 3 ||
      used == 0)
    return false;
  const char *reason = in + used + strspn(in + used, " `");
  for (size_t r = 0; r < rows->n; r++) {
    const assay_verify_row *first = &rows->items[r];
    int64_t count = 0, all = 0;
    for (size_t k = 0; k < rows->n; k++) {
      const assay_verify_row *row = &rows->items[k];
      assay_verify_cell cell = {0};
      if (strcmp(row->runtime, first->runtime) != 0 || strcmp(row->bundle, first->bundle) != 0 ||
          strcmp(row->inputs, first->inputs) != 0)
        continue;
      all++;
      assay_verify_column_find(of_device ? "device_reason" : "memory_reason")->get(row, &cell);
      count += cell.kind == ASSAY_VERIFY_CELL_TEXT && assay_verify_cell_is_exact(&cell, reason);
    }
    if (count == n && all == n_all) return true;
  }
  return false;
}

bool assay_verify_line_check(const assay_verify_place *at, const char *line,
                             const assay_verify_rows *rows) {
  const char *gap = strstr(line, "no memory of "), *tolerance = strstr(line, " atol ");
  if (gap != NULL) {
    assay_verify_holds(at, "memory", is_gap_of(gap + strlen("no memory of "), rows),
                       "so many cases with that reason", line);
    return false;
  }
  if (tolerance == NULL || strstr(tolerance, " (default ") == NULL) return false;
  const char *name = line; /* behind the last colon before it */
  for (const char *c = strstr(line, ": "); c != NULL && c < tolerance; c = strstr(c + 2, ": "))
    name = c + 2;
  assay_verify_holds(at, "tolerance", is_tolerance_of(name, rows), "one that was compared with",
                     line);
  return true;
}

void assay_verify_tolerances_check(const assay_verify_place *at, int64_t n_told,
                                   const assay_verify_rows *rows) {
  assay_verify_holds(at, "tolerance", (n_told > 0) == (count_unusual(rows) > 0),
                     "every one that is not the default", n_told > 0 ? "some" : "none");
}

/* Lines above the tables that hold figures. Reasons not to qualify are words of results, and the
 * table of JSON has them, too. */
static void check_markdown_lines(const assay_verify_place *at, const char *text,
                                 const assay_verify_rows *rows) {
  int64_t n_told = 0;
  for (const char *line = text; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
    char one[2304];
    snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
    if (strncmp(one, "- tolerance: ", 13) == 0 || strncmp(one, "- no memory of ", 15) == 0)
      n_told += assay_verify_line_check(at, one, rows);
  }
  assay_verify_tolerances_check(at, n_told, rows);
}

static void check_markdown(const assay_verify_place *at, const assay_verify_grid *grid,
                           const assay_verify_rows *rows) {
  size_t heading = 0, n_runs = 0, n_memory = 0;
  for (size_t i = 0; i < grid->n_records; i++) {
    if (is_heading(grid, i)) {
      heading = i;
      check_no_gap(at, grid, i, rows);
      continue;
    }
    bool of_memory = has_title(grid, heading, "Memory");
    n_memory += of_memory;
    n_runs += !of_memory;
    check_readable(at, grid, heading, i, rows);
  }
  assay_verify_int(at, "rows", (int64_t)n_runs, (int64_t)rows->n);
  assay_verify_int(at, "rows about memory", (int64_t)n_memory, (int64_t)rows->n);
}

/* --- table.json ----------------------------------------------------------------------------------
 */

/* A member as a CSV cell would have it; class members stand for numbers that JSON cannot hold. */
static void member_text(const assay_json *object, const char *key, char *out, size_t out_bytes) {
  const assay_json *value = assay_json_get(object, key);
  out[0] = '\0';
  switch (assay_json_kind_of(value)) {
  case ASSAY_JSON_STRING:
    snprintf(out, out_bytes, "%s", assay_json_string(value));
    return;
  case ASSAY_JSON_INT:
    snprintf(out, out_bytes, "%" PRId64, assay_json_int(value));
    return;
  case ASSAY_JSON_REAL:
    snprintf(out, out_bytes, "%.17g", assay_json_real(value));
    return;
  case ASSAY_JSON_BOOL:
    snprintf(out, out_bytes, "%s", assay_json_bool(value) ? "yes" : "no");
    return;
  default:
    break;
  }
  char class_key[128];
  snprintf(class_key, sizeof class_key, "%.100s_class", key);
  const char *class_name = assay_json_string(assay_json_get(object, class_key));
  if (class_name != NULL) snprintf(out, out_bytes, "%s", class_name);
}

static void check_member(const assay_verify_place *at, const assay_json *object, const char *key,
                         const assay_verify_cell *cell) {
  char found[2304];
  if (assay_json_get(object, key) == NULL) {
    assay_verify_holds(at, key, false, "a member", "none");
    return;
  }
  member_text(object, key, found, sizeof found);
  check_cell(at, key, cell, assay_verify_cell_is_exact(cell, found), found);
}

static bool is_class_key(const char *key) {
  size_t n = strlen(key);
  return n > 6 && strcmp(key + n - 6, "_class") == 0;
}

/* One reference of one head; NULL derived: there must be none. */
static void check_json_reference(const assay_verify_place *at, const assay_json *object,
                                 const assay_verify_comparison *c,
                                 const assay_result_comparison *found) {
  static const char *const keys[] = {"passed", "reason", "max_abs_error", "max_tolerance_multiple",
                                     "atol",   "rtol"};
  bool is_object = assay_json_kind_of(object) == ASSAY_JSON_OBJECT;
  assay_verify_holds(at, "comparison", is_object == (c != NULL),
                     c != NULL ? "one that was made" : "none", is_object ? "one" : "none");
  if (!is_object || c == NULL || found == NULL) return;
  for (size_t i = 0; i < assay_json_len(object); i++) {
    const char *key = assay_json_key_at(object, i);
    bool known = is_class_key(key);
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) known |= strcmp(key, keys[k]) == 0;
    assay_verify_holds(at, key, known, "members that can be derived", key);
  }
  for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
    assay_verify_cell cell = {0};
    if (assay_verify_head_cell(c, found, keys[k], &cell)) check_member(at, object, keys[k], &cell);
  }
}

static void check_json_heads(const assay_verify_place *above, const assay_json *heads,
                             const assay_verify_row *row) {
  static const char *const references[] = {"f32", "f64", "user"};
  if (row->manifest == NULL) return;
  assay_verify_int(above, "heads", (int64_t)assay_json_len(heads), (int64_t)row->manifest->n_heads);
  for (size_t i = 0; i < assay_json_len(heads) && i < row->manifest->n_heads; i++) {
    const assay_json *object = assay_json_at(heads, i);
    const assay_manifest_tensor *head = &row->manifest->heads[i];
    assay_verify_place at = *above;
    size_t used = strlen(at.within);
    snprintf(at.within + used, sizeof at.within - used, "%.40s: ", head->name);
    assay_verify_text(&at, "head", assay_json_string(assay_json_get(object, "head")), head->name);
    assay_verify_text(&at, "kind", assay_json_string(assay_json_get(object, "kind")),
                      assay_head_kind_name(head->kind));
    bool derived =
        row->timing == NULL || row->timing->has_numbers || row->timing->found.n_comparisons == 0;
    for (size_t k = 0; derived && k < 3; k++) {
      const assay_verify_comparison *c =
          assay_verify_row_comparison(row, head->name, references[k]);
      const assay_result_comparison *found =
          c != NULL ? assay_result_find(&row->timing->found, head->name, references[k]) : NULL;
      assay_verify_place here = at;
      size_t n = strlen(here.within);
      snprintf(here.within + n, sizeof here.within - n, "%s: ", references[k]);
      check_json_reference(&here, assay_json_get(object, references[k]), c, found);
    }
    if (row->references == NULL) continue;
    assay_verify_cell cell = {0};
    if (row->references->has[i])
      cell =
          (assay_verify_cell){.kind = ASSAY_VERIFY_CELL_REAL, .real = row->references->max_abs[i]};
    check_member(&at, object, "reference_f32_max_abs_error_f64", &cell);
  }
}

static void check_json_row(const assay_verify_place *above, const assay_json *object,
                           const assay_verify_rows *rows) {
  char names[3][256];
  member_text(object, "runtime", names[0], sizeof names[0]);
  member_text(object, "bundle", names[1], sizeof names[1]);
  member_text(object, "case", names[2], sizeof names[2]);
  const assay_verify_row *row = assay_verify_rows_find(rows, names[0], names[1], names[2]);
  assay_verify_place at = place_of(above, names[0], names[1], names[2]);
  assay_verify_holds(&at, "row", row != NULL, "a case of the campaign", "another one");
  if (row == NULL) return;
  for (size_t i = 0; i < assay_json_len(object); i++) {
    const char *key = assay_json_key_at(object, i);
    bool known =
        strcmp(key, "heads") == 0 || is_class_key(key) || assay_verify_column_find(key) != NULL;
    assay_verify_holds(&at, key, known, "members that can be derived", key);
  }
  for (size_t i = 0; i < assay_verify_n_columns; i++) {
    assay_verify_cell cell = {0};
    assay_verify_columns[i].get(row, &cell);
    check_member(&at, object, assay_verify_columns[i].name, &cell);
  }
  check_json_heads(&at, assay_json_get(object, "heads"), row);
}

/* What the rows of a group have in common: the first that says so. */
static void check_group_facts(const assay_verify_place *at, const assay_json *object,
                              const assay_verify_rows *rows, const size_t *members, size_t n) {
  static const char *const facts[] = {"dtype", "precision", "provider", "library_version"};
  const assay_verify_row *worst = NULL;
  for (size_t k = 0; k < sizeof facts / sizeof facts[0]; k++) {
    assay_verify_cell cell = {0};
    for (size_t i = 0; i < n && cell.kind == ASSAY_VERIFY_CELL_ABSENT; i++)
      assay_verify_column_find(facts[k])->get(&rows->items[members[i]], &cell);
    check_member(at, object, facts[k], &cell);
  }
  for (size_t i = 0; i < n; i++) {
    const assay_verify_row *row = &rows->items[members[i]];
    if (row->timing != NULL && !row->timing->has_numbers && row->timing->found.n_comparisons > 0)
      return; /* nothing is known of the worst */
    if (row->worst != NULL && (worst == NULL || assay_verify_is_worse(row->worst, worst->worst)))
      worst = row;
  }
  assay_verify_text(at, "worst_case", assay_json_string(assay_json_get(object, "worst_case")),
                    worst != NULL ? worst->case_name : NULL);
}

static void check_json_group(const assay_verify_place *above, const assay_json *object,
                             const assay_verify_rows *rows, size_t *members) {
  char names[3][256];
  int64_t n_passed = 0;
  size_t n = 0;
  member_text(object, "runtime", names[0], sizeof names[0]);
  member_text(object, "bundle", names[1], sizeof names[1]);
  member_text(object, "inputs", names[2], sizeof names[2]);
  for (size_t r = 0; r < rows->n; r++) {
    const assay_verify_row *row = &rows->items[r];
    if (strcmp(row->runtime, names[0]) != 0 || strcmp(row->bundle, names[1]) != 0 ||
        strcmp(row->inputs, names[2]) != 0)
      continue;
    members[n++] = r;
    n_passed += row->passed;
  }
  assay_verify_place at = place_of(above, names[0], names[1], names[2]);
  assay_verify_int(&at, "n_rows", assay_json_int(assay_json_get(object, "n_rows")), (int64_t)n);
  assay_verify_int(&at, "n_passed", assay_json_int(assay_json_get(object, "n_passed")), n_passed);
  check_group_facts(&at, object, rows, members, n);
}

static assay_status check_json_groups(const assay_verify_place *at, const assay_json *groups,
                                      const assay_verify_rows *rows, assay_error *err) {
  size_t *members = assay_alloc_array(rows->n, sizeof *members);
  if (members == NULL) return assay_fail_memory(err, rows->n * sizeof *members);
  for (size_t g = 0; g < assay_json_len(groups); g++)
    check_json_group(at, assay_json_at(groups, g), rows, members);
  assay_free(members);
  return ASSAY_OK;
}

/* The verdict's words count the reasons that the file lists, by their topics. */
static void check_json_verdict(const assay_verify_place *at, const assay_json *root,
                               bool qualifies) {
  const char *verdict = assay_json_string(assay_json_get(root, "verdict"));
  const assay_json *reasons = assay_json_get(root, "reasons");
  char expected[64];
  struct {
    const char *word;
    size_t n;
  } topics[TOPICS_MAX] = {{0}};
  size_t n_topics = 0;
  assay_verify_bool(at, "qualified", assay_json_bool(assay_json_get(root, "qualified")), qualifies);
  if (verdict == NULL) verdict = "";
  bool begins = strncmp(verdict, "NOT QUALIFIED:", 14) == 0;
  assay_verify_holds(at, "verdict", qualifies ? strcmp(verdict, "QUALIFIED") == 0 : begins,
                     qualifies ? "QUALIFIED" : "NOT QUALIFIED", verdict);
  assay_verify_holds(at, "reasons", (assay_json_len(reasons) == 0) == qualifies,
                     qualifies ? "none" : "some", qualifies ? "some" : "none");
  for (size_t i = 0; i < assay_json_len(reasons); i++) {
    const char *topic = assay_json_string(assay_json_get(assay_json_at(reasons, i), "topic"));
    size_t k = 0;
    while (k < n_topics && (topic == NULL || strcmp(topics[k].word, topic) != 0)) k++;
    if (k == TOPICS_MAX) break; /* more than any assay has: the last of them is not right */
    if (k == n_topics) topics[n_topics++].word = topic != NULL ? topic : "";
    topics[k].n++;
  }
  for (size_t k = 0; k < n_topics; k++) {
    snprintf(expected, sizeof expected, "%.40s %zu", topics[k].word, topics[k].n);
    const char *there = strstr(verdict, expected);
    char behind = there != NULL ? there[strlen(expected)] : 'x';
    assay_verify_holds(at, "verdict", behind == ',' || behind == '\0', expected, verdict);
  }
}

static assay_status check_json(const assay_verify_place *at, const assay_json *root,
                               const assay_verify_scene *scene, const assay_verify_rows *rows,
                               assay_error *err) {
  int64_t n_runs = 0, n_done = 0;
  const assay_json *array = assay_json_get(root, "rows");
  for (size_t r = 0; r < rows->n; r++) {
    const assay_verify_run *runs[] = {rows->items[r].timing, rows->items[r].placement};
    for (size_t i = 0; i < 2; i++) {
      n_runs += runs[i] != NULL;
      n_done += runs[i] != NULL && runs[i]->is_there && runs[i]->found.status == ASSAY_RESULT_DONE;
    }
  }
  assay_verify_text(at, "tool_version", assay_json_string(assay_json_get(root, "tool_version")),
                    scene->package->tool_version);
  assay_verify_int(at, "n_runs", assay_json_int(assay_json_get(root, "n_runs")), n_runs);
  assay_verify_int(at, "n_runs_done", assay_json_int(assay_json_get(root, "n_runs_done")), n_done);
  check_json_verdict(at, root, assay_verify_report_qualifies(scene, rows));
  ASSAY_TRY(check_json_groups(at, assay_json_get(root, "groups"), rows, err));
  assay_verify_int(at, "rows", (int64_t)assay_json_len(array), (int64_t)rows->n);
  for (size_t i = 0; i < assay_json_len(array); i++)
    check_json_row(at, assay_json_at(array, i), rows);
  return ASSAY_OK;
}

/* --- files ---------------------------------------------------------------------------------------
 */

/* False when there is no such file. One that cannot be read is a problem. */
static assay_status read_text(const assay_verify_place *at, const assay_verify_scene *scene,
                              assay_buf *out, bool *out_there, assay_error *err) {
  assay_error why = {0};
  char *path = assay_path_join(scene->path, at->file);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = ASSAY_OK;
  *out_there = assay_path_kind_of(path) == ASSAY_PATH_FILE;
  if (*out_there) st = assay_file_read(path, TABLE_MAX_BYTES, out, &why);
  assay_free(path);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  if (st) assay_verify_holds(at, "", false, "a readable table", why.text);
  *out_there = *out_there && st == ASSAY_OK;
  return ASSAY_OK;
}

typedef void (*check_grid)(const assay_verify_place *at, const assay_verify_grid *grid,
                           const assay_verify_rows *rows);

static assay_status check_csv_file(const assay_verify_scene *scene, const char *file,
                                   check_grid check, const assay_verify_rows *rows, bool *out_there,
                                   assay_error *err) {
  assay_verify_place at = {.findings = scene->findings, .file = file};
  assay_buf text = {0};
  assay_verify_grid grid = {0};
  assay_error why = {0};
  assay_status st = read_text(&at, scene, &text, out_there, err);
  if (st == ASSAY_OK && *out_there) {
    st = assay_verify_grid_of_csv(assay_buf_text(&text), text.size_bytes, &grid, &why);
    if (st == ASSAY_E_MEMORY) {
      st = assay_fail(err, st, "%s", why.text);
    } else if (st || grid.n_records == 0) {
      assay_verify_holds(&at, "", false, "a table", st ? why.text : "nothing");
      st = ASSAY_OK;
    } else {
      check(&at, &grid, rows);
    }
  }
  assay_verify_grid_reset(&grid);
  assay_buf_reset(&text);
  return st;
}

static assay_status check_json_file(const assay_verify_scene *scene, const assay_verify_rows *rows,
                                    bool *out_there, assay_error *err) {
  assay_verify_place at = {.findings = scene->findings, .file = "report/table.json"};
  assay_buf text = {0};
  assay_json *root = NULL;
  assay_error why = {0};
  assay_status st = read_text(&at, scene, &text, out_there, err);
  if (st == ASSAY_OK && *out_there) {
    st = assay_json_parse(text.data, text.size_bytes, &root, &why);
    if (st == ASSAY_OK) st = assay_json_need_schema(root, "report", 1, &why);
    if (st == ASSAY_E_MEMORY) {
      st = assay_fail(err, st, "%s", why.text);
    } else if (st) {
      assay_verify_holds(&at, "", false, "a report", why.text);
      st = ASSAY_OK;
    } else {
      st = check_json(&at, root, scene, rows, err);
    }
  }
  assay_json_destroy(root);
  assay_buf_reset(&text);
  return st;
}

static assay_status check_markdown_file(const assay_verify_scene *scene,
                                        const assay_verify_rows *rows, bool *out_there,
                                        assay_error *err) {
  assay_verify_place at = {.findings = scene->findings, .file = "report/table.md"};
  assay_buf text = {0};
  assay_verify_grid grid = {0};
  assay_status st = read_text(&at, scene, &text, out_there, err);
  if (st == ASSAY_OK && *out_there) {
    const char *begin =
        assay_verify_report_qualifies(scene, rows) ? "**QUALIFIED**" : "**NOT QUALIFIED:";
    assay_verify_holds(&at, "verdict", strncmp(assay_buf_text(&text), begin, strlen(begin)) == 0,
                       begin, "another verdict");
    st = assay_verify_grid_of_markdown(assay_buf_text(&text), &grid, err);
    if (st == ASSAY_OK) check_markdown(&at, &grid, rows);
    if (st == ASSAY_OK) check_markdown_lines(&at, assay_buf_text(&text), rows);
  }
  assay_verify_grid_reset(&grid);
  assay_buf_reset(&text);
  return st;
}

static assay_status check_page_file(const assay_verify_scene *scene, const assay_verify_rows *rows,
                                    bool *out_there, assay_error *err) {
  assay_verify_place at = {.findings = scene->findings, .file = "report/report.html"};
  assay_buf text = {0};
  assay_status st = read_text(&at, scene, &text, out_there, err);
  if (st == ASSAY_OK && *out_there)
    st = assay_verify_setup_check(scene, &at, assay_buf_text(&text), rows, err);
  if (st == ASSAY_OK && *out_there)
    assay_verify_page_check(scene, &at, assay_buf_text(&text), rows);
  assay_buf_reset(&text);
  return st;
}

assay_status assay_verify_report_check(const assay_verify_scene *scene,
                                       const assay_verify_rows *rows, bool *out_has,
                                       assay_error *err) {
  bool there[7] = {false};
  ASSAY_TRY(check_csv_file(scene, "report/table.csv", check_table, rows, &there[0], err));
  ASSAY_TRY(check_csv_file(scene, "report/heads.csv", check_heads, rows, &there[1], err));
  ASSAY_TRY(check_csv_file(scene, "report/placement.csv", check_counts, rows, &there[2], err));
  ASSAY_TRY(check_json_file(scene, rows, &there[3], err));
  ASSAY_TRY(check_markdown_file(scene, rows, &there[4], err));
  ASSAY_TRY(check_page_file(scene, rows, &there[5], err));
  ASSAY_TRY(check_csv_file(scene, "report/memory.csv", check_memory, rows, &there[6], err));
  *out_has = false;
  for (size_t i = 0; i < 7; i++) *out_has = *out_has || there[i];
  return ASSAY_OK;
}
