/* Cells of CSV and Markdown. */
#include "verify/verify_grid.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

size_t assay_verify_grid_width(const assay_verify_grid *grid, size_t record) {
  return grid->ends[record] - (record > 0 ? grid->ends[record - 1] : 0);
}

const char *assay_verify_grid_cell(const assay_verify_grid *grid, size_t record, size_t i) {
  return grid->cells[(record > 0 ? grid->ends[record - 1] : 0) + i];
}

const char *assay_verify_grid_under(const assay_verify_grid *grid, size_t record,
                                    const char *name) {
  size_t width = grid->n_records > 0 ? assay_verify_grid_width(grid, 0) : 0;
  for (size_t i = 0; i < width && i < assay_verify_grid_width(grid, record); i++)
    if (strcmp(assay_verify_grid_cell(grid, 0, i), name) == 0)
      return assay_verify_grid_cell(grid, record, i);
  return "";
}

static assay_status need_room(void **list, size_t n, size_t *cap, size_t size, assay_error *err) {
  if (n < *cap) return ASSAY_OK;
  size_t more = *cap > 0 ? 2 * *cap : 64;
  ASSAY_TRY(assay_resize(list, *cap * size, more * size, err));
  *cap = more;
  return ASSAY_OK;
}

static assay_status add_cell(assay_verify_grid *grid, const char *text, size_t n,
                             assay_error *err) {
  void *block = grid->cells;
  assay_status st = need_room(&block, grid->n_cells, &grid->cells_cap, sizeof *grid->cells, err);
  grid->cells = block;
  if (st) return st;
  char *cell = assay_strndup(text, n);
  if (cell == NULL) return assay_fail_memory(err, n + 1);
  grid->cells[grid->n_cells++] = cell;
  return ASSAY_OK;
}

static assay_status end_record(assay_verify_grid *grid, assay_error *err) {
  void *block = grid->ends;
  assay_status st = need_room(&block, grid->n_records, &grid->records_cap, sizeof *grid->ends, err);
  grid->ends = block;
  if (st == ASSAY_OK) grid->ends[grid->n_records++] = grid->n_cells;
  return st;
}

/* --- CSV -----------------------------------------------------------------------------------------
 */

/* A quoted cell; *at is behind the opening quote, and then behind the closing one. */
static assay_status read_quoted(const char **at, const char *end, assay_buf *out,
                                assay_error *err) {
  while (*at < end) {
    if (**at == '"' && !(end - *at > 1 && (*at)[1] == '"')) {
      ++*at;
      return ASSAY_OK;
    }
    *at += **at == '"'; /* one of a pair */
    ASSAY_TRY(assay_buf_append(out, (*at)++, 1, err));
  }
  return assay_fail(err, ASSAY_E_FORMAT, "a quoted cell does not end");
}

static assay_status read_cell(assay_verify_grid *grid, const char **at, const char *end,
                              assay_error *err) {
  if (*at < end && **at == '"') {
    assay_buf text = {0};
    ++*at;
    assay_status st = read_quoted(at, end, &text, err);
    if (st == ASSAY_OK) st = add_cell(grid, assay_buf_text(&text), text.size_bytes, err);
    assay_buf_reset(&text);
    return st;
  }
  const char *start = *at;
  while (*at < end && **at != ',' && **at != '\r' && **at != '\n') ++*at;
  return add_cell(grid, start, (size_t)(*at - start), err);
}

static assay_status read_records(assay_verify_grid *grid, const char *at, const char *end,
                                 assay_error *err) {
  while (at < end) {
    ASSAY_TRY(read_cell(grid, &at, end, err));
    if (at < end && *at == ',') {
      at++;
      if (at == end) ASSAY_TRY(add_cell(grid, "", 0, err));
      continue;
    }
    if (at < end && *at == '\r') at++;
    if (at < end && *at++ != '\n')
      return assay_fail(err, ASSAY_E_FORMAT, "line %zu: something stands behind a cell",
                        grid->n_records + 1);
    ASSAY_TRY(end_record(grid, err));
  }
  return ASSAY_OK;
}

assay_status assay_verify_grid_of_csv(const char *text, size_t size_bytes, assay_verify_grid *out,
                                      assay_error *err) {
  assay_verify_grid grid = {0};
  assay_status st = size_bytes > 0 ? read_records(&grid, text, text + size_bytes, err) : ASSAY_OK;
  if (st) {
    assay_verify_grid_reset(&grid);
    return st;
  }
  *out = grid;
  return ASSAY_OK;
}

/* --- Markdown ------------------------------------------------------------------------------------
 */

static assay_status read_line(assay_verify_grid *grid, const char *at, const char *end,
                              assay_error *err) {
  at++; /* the first bar */
  while (at < end) {
    const char *start = at;
    while (at < end && !(*at == '|' && at[-1] != '\\')) at++;
    const char *stop = at++;
    while (start < stop && *start == ' ') start++;
    while (stop > start && stop[-1] == ' ') stop--;
    if (stop > start || at < end) ASSAY_TRY(add_cell(grid, start, (size_t)(stop - start), err));
  }
  return end_record(grid, err);
}

assay_status assay_verify_grid_of_markdown(const char *text, assay_verify_grid *out,
                                           assay_error *err) {
  assay_verify_grid grid = {0};
  assay_status st = ASSAY_OK;
  while (*text != '\0' && st == ASSAY_OK) {
    const char *end = text + strcspn(text, "\n");
    bool is_row = text[0] == '|' && strncmp(text, "| ---", 5) != 0;
    if (is_row) st = read_line(&grid, text, end, err);
    text = *end == '\n' ? end + 1 : end;
  }
  if (st) {
    assay_verify_grid_reset(&grid);
    return st;
  }
  *out = grid;
  return ASSAY_OK;
}

void assay_verify_grid_reset(assay_verify_grid *grid) {
  for (size_t i = 0; i < grid->n_cells; i++) assay_free(grid->cells[i]);
  assay_free(grid->cells);
  assay_free(grid->ends);
  *grid = (assay_verify_grid){0};
}
