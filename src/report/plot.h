/* Plots by gnuplot, each from one description as SVG (for the page), PDF and PNG (beside it).
 * Without gnuplot on the machine there are no plots, and the page says so. */
#ifndef ASSAY_REPORT_PLOT_H
#define ASSAY_REPORT_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "report/campaign_view.h"

typedef struct assay_plot {
  char *name;    /* file name without its ending: "latency-float32" */
  char *title;   /* what it shows, one line; text from outside in it is raw */
  char *caption; /* how to read it, one or two sentences */
  char *svg;     /* the drawing, for the page: ids are unique among plots, no script, no outside
                    reference */
} assay_plot;

/* All zeroes is a valid empty one. */
typedef struct assay_plots {
  assay_plot *items;
  size_t n;
  char note[256];   /* why there are none, or fewer; "" otherwise */
  char version[64]; /* of gnuplot, as it says itself; "" without */
} assay_plots;

/* Draws every plot that the view has figures for into the folder `out_folder`, which exists, and
 * keeps the SVG text. program: path of gnuplot, or NULL to look for it in PATH; "" for none. A
 * drawing that fails leaves a note and not an error. Errors: MISSING (`program` is not there, or is
 * no gnuplot that runs), IO (folder), MEMORY. */
assay_status assay_plots_draw(const assay_view *view, const char *program, const char *out_folder,
                              assay_plots *out, assay_error *err) ASSAY_NODISCARD;
void assay_plots_reset(assay_plots *plots);

#endif
