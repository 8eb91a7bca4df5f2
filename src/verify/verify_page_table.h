/* The tables of the page. Only what the page writes is read: tables of one level, cells without
 * tables in them, attributes in double quotes. */
#ifndef ASSAY_VERIFY_VERIFY_PAGE_TABLE_H
#define ASSAY_VERIFY_VERIFY_PAGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "verify/verify_report.h"

#define ASSAY_VERIFY_PAGE_CELL_BYTES 1024
#define ASSAY_VERIFY_PAGE_COLUMNS    32

/* One cell, as a reader sees it and as it is exactly. */
typedef struct assay_verify_page_cell {
  char text[ASSAY_VERIFY_PAGE_CELL_BYTES];  /* before the first <br> or <small>, without tags */
  char small[ASSAY_VERIFY_PAGE_CELL_BYTES]; /* behind it */
  char title[ASSAY_VERIFY_PAGE_CELL_BYTES]; /* attribute of the cell; "" without */
} assay_verify_page_cell;

typedef struct assay_verify_page_table {
  char caption[256];
  const char *at, *end; /* its rows that are still to be read */
  char titles[ASSAY_VERIFY_PAGE_COLUMNS][64];
  size_t n_columns;
} assay_verify_page_table;

/* Where `part` is between `at` and `end`, or NULL. */
const char *assay_verify_page_find(const char *at, const char *end, const char *part);

/* The next table of that class behind *at, which moves on; and the next row of one. */
bool assay_verify_page_next_table(const char **at, const char *class_name,
                                  assay_verify_page_table *out);
bool assay_verify_page_next_row(assay_verify_page_table *table, assay_verify_page_cell *cells,
                                size_t *out_n);

/* The text of a row's cell under that title; "" without. */
const char *assay_verify_page_text_under(const assay_verify_page_table *table,
                                         const assay_verify_page_cell *cells, size_t n,
                                         const char *title);

/* The row that the cells under "Runtime", "Model" and "Case" name, or NULL, which is a finding. */
const assay_verify_row *assay_verify_page_row_of(const assay_verify_place *above,
                                                 const assay_verify_page_table *table,
                                                 const assay_verify_page_cell *cells, size_t n,
                                                 const assay_verify_rows *rows,
                                                 assay_verify_place *out_at);

/* The page says "absent" behind its dash. */
bool assay_verify_page_is_absent(const char *text);

/* A finding unless it holds; the cell says what was expected. */
void assay_verify_page_holds(const assay_verify_place *at, const char *what,
                             const assay_verify_cell *cell, bool holds, const char *found);

/* A figure with its exact value as the title, or a whole number or a word without one. */
void assay_verify_page_figure(const assay_verify_place *at, const char *what,
                              const assay_verify_page_cell *found, const assay_verify_cell *cell);

/* verify_page_precision.c: what half precision costs. */
void assay_verify_page_precision(const assay_verify_place *at, const char *html,
                                 const assay_verify_rows *rows);

#endif
