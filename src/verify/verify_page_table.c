/* See verify_page_table.h. */
#include "verify/verify_page_table.h"

#include <stdio.h>
#include <string.h>

/* --- reading -------------------------------------------------------------------------------------
 */

const char *assay_verify_page_find(const char *at, const char *end, const char *part) {
  size_t n = strlen(part);
  while ((size_t)(end - at) >= n) {
    at = memchr(at, part[0], (size_t)(end - at) - n + 1);
    if (at == NULL || memcmp(at, part, n) == 0) return at;
    at++;
  }
  return NULL;
}

/* One character of HTML text; *at moves on. */
static char next_char(const char **at) {
  static const struct {
    const char *entity;
    char c;
  } entities[] = {{"&amp;", '&'},  {"&lt;", '<'},   {"&gt;", '>'},
                  {"&quot;", '"'}, {"&#39;", '\''}, {"&nbsp;", ' '}};
  for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++) {
    size_t n = strlen(entities[i].entity);
    if (strncmp(*at, entities[i].entity, n) != 0) continue;
    *at += n;
    return entities[i].c;
  }
  return *(*at)++;
}

/* Text from `at` to `end` without tags. */
void assay_verify_page_plain(const char *at, const char *end, char *out, size_t out_bytes) {
  size_t n = 0;
  while (at < end && n + 1 < out_bytes) {
    if (*at == '<') {
      const char *close = strchr(at, '>');
      at = close != NULL && close < end ? close + 1 : end;
      continue;
    }
    out[n++] = next_char(&at);
  }
  out[n] = '\0';
}

/* A cell that begins at '<'; returns where it ends. */
static const char *read_cell(const char *at, const char *end, assay_verify_page_cell *out) {
  const char *open = assay_verify_page_find(at, end, ">");
  bool heading = strncmp(at, "<th", 3) == 0;
  const char *close =
      open != NULL ? assay_verify_page_find(open, end, heading ? "</th>" : "</td>") : NULL;
  *out = (assay_verify_page_cell){0};
  if (close == NULL) return end;
  const char *title = assay_verify_page_find(at, open, " title=\"");
  if (title != NULL) {
    title += strlen(" title=\"");
    const char *stop = strchr(title, '"');
    assay_verify_page_plain(title, stop != NULL && stop < open ? stop : open, out->title,
                            sizeof out->title);
  }
  const char *small = assay_verify_page_find(open, close, "<br>"),
             *other = assay_verify_page_find(open, close, "<small>");
  if (small == NULL || (other != NULL && other < small)) small = other;
  assay_verify_page_plain(open + 1, small != NULL ? small : close, out->text, sizeof out->text);
  if (small != NULL) assay_verify_page_plain(small, close, out->small, sizeof out->small);
  return close + strlen("</th>");
}

/* The next table of that class behind *at. */
bool assay_verify_page_next_table(const char **at, const char *class_name,
                                  assay_verify_page_table *out) {
  char open[64];
  snprintf(open, sizeof open, "<table class=\"%s\">", class_name);
  const char *begin = strstr(*at, open), *end = begin != NULL ? strstr(begin, "</table>") : NULL;
  const char *head = end != NULL ? assay_verify_page_find(begin, end, "<thead>") : NULL;
  const char *body = head != NULL ? assay_verify_page_find(head, end, "<tbody>") : NULL;
  *out = (assay_verify_page_table){0};
  if (body == NULL) return false;
  const char *caption = assay_verify_page_find(begin, head, "<caption>");
  const char *caption_end =
      caption != NULL ? assay_verify_page_find(caption, head, "</caption>") : NULL;
  if (caption_end != NULL)
    assay_verify_page_plain(caption, caption_end, out->caption, sizeof out->caption);
  for (const char *th = assay_verify_page_find(head, body, "<th ");
       th != NULL && out->n_columns < ASSAY_VERIFY_PAGE_COLUMNS;
       th = assay_verify_page_find(th, body, "<th ")) {
    assay_verify_page_cell cell;
    th = read_cell(th, body, &cell);
    snprintf(out->titles[out->n_columns++], sizeof out->titles[0], "%.63s", cell.text);
  }
  out->at = body;
  out->end = end;
  *at = end;
  return true;
}

/* The next row's cells. */
bool assay_verify_page_next_row(assay_verify_page_table *table, assay_verify_page_cell *cells,
                                size_t *out_n) {
  const char *row = assay_verify_page_find(table->at, table->end, "<tr>");
  const char *end = row != NULL ? assay_verify_page_find(row, table->end, "</tr>") : NULL;
  *out_n = 0;
  if (end == NULL) return false;
  const char *at = row + strlen("<tr>");
  while (at < end && *out_n < ASSAY_VERIFY_PAGE_COLUMNS &&
         (strncmp(at, "<td", 3) == 0 || strncmp(at, "<th", 3) == 0))
    at = read_cell(at, end, &cells[(*out_n)++]);
  table->at = end;
  return true;
}

const char *assay_verify_page_text_under(const assay_verify_page_table *table,
                                         const assay_verify_page_cell *cells, size_t n,
                                         const char *title) {
  for (size_t i = 0; i < n && i < table->n_columns; i++)
    if (strcmp(table->titles[i], title) == 0) return cells[i].text;
  return "";
}

/* --- cells ---------------------------------------------------------------------------------------
 */

void assay_verify_page_holds(const assay_verify_place *at, const char *what,
                             const assay_verify_cell *cell, bool holds, const char *found) {
  char expected[640];
  assay_verify_cell_show(cell, expected, sizeof expected);
  assay_verify_holds(at, what, holds, expected, found);
}

/* The page says "absent" behind its dash. */
bool assay_verify_page_is_absent(const char *text) {
  return strncmp(text, "–", strlen("–")) == 0;
}

/* A figure with its exact value as the title, or a whole number or a word without one. */
void assay_verify_page_figure(const assay_verify_place *at, const char *what,
                              const assay_verify_page_cell *found, const assay_verify_cell *cell) {
  if (cell->kind == ASSAY_VERIFY_CELL_UNKNOWN) return;
  if (cell->kind == ASSAY_VERIFY_CELL_ABSENT) {
    assay_verify_page_holds(at, what, cell,
                            assay_verify_page_is_absent(found->text) || found->text[0] == '\0',
                            found->text);
    return;
  }
  assay_verify_page_holds(at, what, cell, assay_verify_cell_is_read(cell, found->text),
                          found->text);
  bool exact_behind = cell->kind == ASSAY_VERIFY_CELL_REAL ||
                      cell->kind == ASSAY_VERIFY_CELL_TIME || cell->kind == ASSAY_VERIFY_CELL_SIZE;
  if (!exact_behind) return;
  char exact[64];
  snprintf(exact, sizeof exact, "%.60s", found->title);
  char *unit = strstr(exact, cell->kind == ASSAY_VERIFY_CELL_SIZE ? " bytes" : " ns");
  if (unit != NULL) *unit = '\0';
  assay_verify_page_holds(at, what, cell, assay_verify_cell_is_exact(cell, exact), found->title);
}

const assay_verify_row *assay_verify_page_row_of(const assay_verify_place *above,
                                                 const assay_verify_page_table *table,
                                                 const assay_verify_page_cell *cells, size_t n,
                                                 const assay_verify_rows *rows,
                                                 assay_verify_place *out_at) {
  const char *runtime = assay_verify_page_text_under(table, cells, n, "Runtime");
  const char *bundle = assay_verify_page_text_under(table, cells, n, "Model");
  const char *case_name = assay_verify_page_text_under(table, cells, n, "Case");
  const assay_verify_row *row = assay_verify_rows_find(rows, runtime, bundle, case_name);
  *out_at = *above;
  snprintf(out_at->within, sizeof out_at->within, "%.100s / %.100s / %.100s: ", runtime, bundle,
           case_name);
  assay_verify_holds(out_at, "row", row != NULL, "a case of the campaign", "another one");
  return row;
}
