/* The package as tables: one row a case on a runtime with everything that matters. The same
 * columns, in the same order and under the same names, are the CSV file, the JSON file and the
 * exact values of the page; the terminal and Markdown show a readable choice of them. */
#ifndef ASSAY_REPORT_TABLE_H
#define ASSAY_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "report/campaign_view.h"
#include "report/cell.h"
#include "report/sink.h"

typedef struct assay_column {
  const char *name;  /* in CSV and JSON, with the unit: "p50_ns" */
  const char *title; /* for people; NULL: exact files only */
  assay_cell (*get)(const assay_view_row *row);
} assay_column;

extern const assay_column assay_columns[];
extern const size_t assay_n_columns;

/* The column of that name; asserts that there is one. */
const assay_column *assay_column_find(const char *name);

/* Where the row's worst error is: the element with the largest multiple of its tolerance, or the
 * first whose class (NaN, infinite, finite) differs. index -1 when nothing was compared. */
typedef struct assay_worst {
  const assay_result_comparison *comparison; /* NULL: nothing was compared */
  assay_result_point at;
  char index[160]; /* "[0,17,2]", or "" */
} assay_worst;
void assay_table_worst(const assay_view_row *row, assay_worst *out);

/* For the terminal: rows under one heading for each runtime and model, at most 120 columns wide as
 * long as case names have 16 letters or less. */
void assay_table_put_text(const assay_view *view, assay_sink *sink);

/* table.csv: one header line, one line a row, RFC 4180 with CR LF. Absent is empty. */
void assay_table_put_csv(const assay_view *view, assay_sink *sink);

/* heads.csv: one line for each head of each row against each reference. */
void assay_table_put_heads_csv(const assay_view *view, assay_sink *sink);

/* placement.csv: one line for each provider and operator of each row. */
void assay_table_put_placement_csv(const assay_view *view, assay_sink *sink);

/* table.md: verdict, reasons, and the readable columns. */
void assay_table_put_markdown(const assay_view *view, assay_sink *sink);

/* table.json, schema assay/report/1: verdict, reasons, groups, and rows with all columns, heads and
 * placement. */
assay_status assay_table_json(const assay_view *view, assay_buf *out,
                              assay_error *err) ASSAY_NODISCARD;

#endif
