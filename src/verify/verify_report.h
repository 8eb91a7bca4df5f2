/* The report's tables against the derived rows. */
#ifndef ASSAY_VERIFY_VERIFY_REPORT_H
#define ASSAY_VERIFY_VERIFY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "verify/verify_findings.h"
#include "verify/verify_table.h"

/* Checks table.csv, heads.csv, placement.csv, table.json, table.md and report.html, as far as they
 * are there. *out_has: the package has a report. Errors: MEMORY. */
assay_status assay_verify_report_check(const assay_verify_scene *scene,
                                       const assay_verify_rows *rows, bool *out_has,
                                       assay_error *err) ASSAY_NODISCARD;

/* report.html: the tables of the summary, runs, heads, times, placements and operators. Figures
 * that a reader sees rounded are held to their exact titles, and both to the evidence. */
void assay_verify_page_check(const assay_verify_scene *scene, const assay_verify_place *at,
                             const char *html, const assay_verify_rows *rows);

/* Text of the page from `at` to `end` without tags, entities decoded, cut to what fits. */
void assay_verify_page_plain(const char *at, const char *end, char *out, size_t out_bytes);

/* One line of text that may tell a tolerance or a gap in memory: a figure in it must be derived.
 * True for a tolerance. */
bool assay_verify_line_check(const assay_verify_place *at, const char *line,
                             const assay_verify_rows *rows);
/* Whether tolerances other than the default were told where there are some. */
void assay_verify_tolerances_check(const assay_verify_place *at, int64_t n_told,
                                   const assay_verify_rows *rows);

/* Every planned run and everything that the gate asks of it, by derived figures. */
bool assay_verify_report_qualifies(const assay_verify_scene *scene, const assay_verify_rows *rows);

#endif
