/* What the files of the page share; nothing outside page*.c includes this. */
#ifndef ASSAY_REPORT_PAGE_PARTS_H
#define ASSAY_REPORT_PAGE_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/cell.h"
#include "report/page.h"
#include "report/table.h"

/* Above so many rows the page shows details of failures and of the worst of each group only, and
 * says so. */
#define ASSAY_PAGE_DETAIL_ROWS 200

extern const char assay_page_style[];
extern const char assay_page_script[];

/* <td> with the rounded figure, and the exact one as its title. */
void assay_page_cell(assay_sink *sink, assay_cell cell);
/* <td> with text from outside; absent when NULL or "". */
void assay_page_text(assay_sink *sink, const char *text);
/* <td> with a verdict word, marked by colour and sign. */
void assay_page_verdict(assay_sink *sink, const char *word);
/* The figure of the named column (table.h) as <td>. */
void assay_page_column(assay_sink *sink, const assay_view_row *row, const char *name);
/* "42 <small>[40, 45]</small>" as <td>: a percentile with its interval, in ms. */
void assay_page_percentile(assay_sink *sink, const assay_result_timing *timing, size_t i);
/* <th scope="row"> with the row's case, linked from elsewhere by its id. */
void assay_page_case(assay_sink *sink, const assay_view_row *row, const char *id_prefix, size_t r);
/* <a> to a file of the package; the path is percent-encoded in the address. */
void assay_page_link(assay_sink *sink, const assay_view *view, const char *path, const char *sha256,
                     const char *label);

/* A table in a region that scrolls on its own; columns are separated by '|', a leading '#' marks
 * numbers. */
void assay_page_table_begin(assay_sink *sink, const char *classes, const char *caption,
                            const char *columns);
void assay_page_table_end(assay_sink *sink);

/* Sections, in the order of the page. */
void assay_page_put_summary(const assay_view *view, assay_sink *sink);
void assay_page_put_failures(const assay_view *view, assay_sink *sink);
void assay_page_put_runs(const assay_view *view, assay_sink *sink);
void assay_page_put_heads(const assay_view *view, assay_sink *sink);
/* Those that only some packages have: nothing for the others. */
void assay_page_put_precision(const assay_view *view, assay_sink *sink);
void assay_page_put_kernels(const assay_view *view, assay_sink *sink);
void assay_page_put_pairs(const assay_view *view, assay_sink *sink);
void assay_page_put_timing(const assay_view *view, assay_sink *sink);
void assay_page_put_memory(const assay_view *view, assay_sink *sink);
void assay_page_put_placement(const assay_view *view, assay_sink *sink);
void assay_page_put_evidence(const assay_view *view, assay_sink *sink);
void assay_page_put_setup(const assay_view *view, assay_sink *sink);
void assay_page_put_limits(const assay_view *view, assay_sink *sink);

#endif
