/* What each plot shows, as gnuplot commands that draw it on any terminal. plot.c runs them. */
#ifndef ASSAY_REPORT_PLOT_SCRIPT_H
#define ASSAY_REPORT_PLOT_SCRIPT_H

#include <stddef.h>

#include "base/status.h"
#include "report/campaign_view.h"
#include "report/sink.h"

typedef struct assay_plot_script {
  char name[64];    /* file name without its ending, unique */
  assay_sink title; /* for a person; text from outside in it is raw */
  assay_sink caption;
  assay_sink body; /* data blocks and plot commands; no terminal, no output */
  double height;   /* over width */
} assay_plot_script;

/* All zeroes is a valid empty list. */
typedef struct assay_plot_scripts {
  assay_plot_script *items;
  size_t n, cap;
  size_t n_left_out; /* figures of detail that a large package does not get */
} assay_plot_scripts;

/* Describes every plot that the view has figures for. Errors: MEMORY; IO and FORMAT of samples are
 * passed over. */
assay_status assay_plot_scripts_build(const assay_view *view, assay_plot_scripts *out,
                                      assay_error *err) ASSAY_NODISCARD;
void assay_plot_scripts_reset(assay_plot_scripts *scripts);

#endif
