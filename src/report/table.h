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

/* Which of the tables for people show a column; the exact files have all. */
#define ASSAY_COLUMN_RUNS   1u
#define ASSAY_COLUMN_MEMORY 2u
#define ASSAY_COLUMN_BOTH   (ASSAY_COLUMN_RUNS | ASSAY_COLUMN_MEMORY) /* what names the row */
#define ASSAY_COLUMN_IF_ANY 4u /* left out of them where no row of the package has the figure */

typedef struct assay_column {
  const char *name;  /* in CSV and JSON, with the unit: "p50_ns" */
  const char *title; /* for people; NULL: exact files only */
  assay_cell (*get)(const assay_view_row *row);
  unsigned shown;
} assay_column;

extern const assay_column assay_columns[];
extern const size_t assay_n_columns;

/* The column of that name; asserts that there is one. */
const assay_column *assay_column_find(const char *name);

/* The table for people of that part (RUNS or MEMORY) shows the column. */
bool assay_column_is_shown(const assay_view *view, const assay_column *column, unsigned part);

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

/* memory.csv: one line for each column of samples of each row: the process, and each device. */
void assay_table_put_memory_csv(const assay_view *view, assay_sink *sink);

/* A tolerance that is not the default: the comparisons of one head in the rows of one group. */
typedef struct assay_tolerance {
  const char *head;
  double atol, rtol;
} assay_tolerance;

/* Tolerances of the group's comparisons other than the default, each once, in the order of heads.
 * Writes at most cap of them and returns how many there are. */
size_t assay_table_tolerances(const assay_view *view, size_t group, assay_tolerance *out,
                              size_t cap);

/* Why there are no figures of memory in some rows of a group: each reason once. */
typedef struct assay_memory_gap {
  bool of_devices;    /* false: of the process */
  const char *reason; /* borrowed; text from outside */
  size_t n_rows;
} assay_memory_gap;

/* Writes at most cap of them and returns how many there are. */
size_t assay_table_memory_gaps(const assay_view *view, size_t group, assay_memory_gap *out,
                               size_t cap);

/* table.md: verdict, reasons, and the readable columns. */
void assay_table_put_markdown(const assay_view *view, assay_sink *sink);

/* table.json, schema assay/report/1: verdict, reasons, groups, and rows with all columns, heads and
 * placement. */
assay_status assay_table_json(const assay_view *view, assay_buf *out,
                              assay_error *err) ASSAY_NODISCARD;

#endif
