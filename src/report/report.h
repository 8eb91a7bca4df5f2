/* Writes a package's report folder: page, tables and plots, whole or not at all. */
#ifndef ASSAY_REPORT_REPORT_H
#define ASSAY_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "report/campaign_view.h"

typedef struct assay_report_options {
  const char *gnuplot;          /* path; NULL: looked for in PATH; "": no plots */
  const char *folder;           /* where the report goes; NULL: into the package */
  bool (*cancelled)(void *arg); /* asked between files; true ends with STOPPED. May be NULL */
  void *cancelled_arg;
} assay_report_options;

typedef struct assay_report_outcome {
  size_t n_plots;
  char note[256]; /* about plots that are not there; "" otherwise */
} assay_report_outcome;

/* Writes <package>/report/ anew: report.html, table.csv, heads.csv, placement.csv, table.md,
 * table.json and plots. It is built beside its place and then put there; what was there before is
 * removed. The checksum tree of a finished package takes the folder in. The same package gives the
 * same bytes. options may be NULL, and so may out. With options->folder nothing of the package is
 * written: the folder is new, empty, or a report that is replaced, outside the package, and links
 * go from there to the evidence. Errors: ARGUMENT (that folder), MISSING (options->gnuplot does not
 * run), IO, MEMORY, LIMIT, STOPPED. */
assay_status assay_report_write(assay_view *view, const assay_report_options *options,
                                assay_report_outcome *out, assay_error *err) ASSAY_NODISCARD;

#endif
