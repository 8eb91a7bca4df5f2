/* What the files of plot descriptions share; nothing outside plot_*.c includes this. */
#ifndef ASSAY_REPORT_PLOT_PARTS_H
#define ASSAY_REPORT_PLOT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/plot_script.h"

#define ASSAY_PLOT_SERIES_MAX 8  /* of one figure: as many as there are styles */
#define ASSAY_PLOT_DETAIL_MAX 12 /* figures of single groups */
#define ASSAY_PLOT_POINTS_MAX                                                                      \
  1000                        /* of a drawn series of samples; more are thinned, extremes kept */
#define ASSAY_PLOT_RATIO 0.72 /* usual height over width */

/* Groups that share a figure: same inputs, same precision. */
typedef struct assay_plot_figure {
  const assay_view *view;
  const assay_view_group *first; /* whose inputs and precision the figure shows */
  size_t number;                 /* of the figures of its kind, from 0 */
} assay_plot_figure;

/* A new script at the end of the list, called kind or kind-<number + 1>; NULL and *st when memory
 * is out. */
assay_plot_script *assay_plot_add(assay_plot_scripts *scripts, const char *kind, size_t number,
                                  double height, assay_status *st, assay_error *err);
/* Takes the script added last away again: it has nothing to show. */
void assay_plot_drop(assay_plot_scripts *scripts);

bool assay_plot_is_in(const assay_plot_figure *f, const assay_view_group *group);
/* "controlled inputs, float32". */
void assay_plot_put_inputs(const assay_plot_figure *f, assay_sink *sink);
/* The plot command of one series of sizes, "N value" in $d<g>; end: put behind its name. */
void assay_plot_put_series(assay_sink *plots, const assay_plot_figure *f, size_t g, size_t n_series,
                           const char *end);
void assay_plot_put_left_out(assay_sink *caption, size_t n);
/* Tics at the sizes of the rows that fit, or gnuplot's own when there are many; and the range. */
void assay_plot_put_size_tics(const assay_plot_figure *f,
                              bool (*fits)(const assay_view_row *, size_t),
                              int64_t (*size)(const assay_view_row *), assay_sink *body);
int64_t assay_plot_row_n(const assay_view_row *row);
/* The key stands below, one line a series; the figure grows with it. */
void assay_plot_put_key(assay_plot_script *script, size_t n_series);
/* Three to six tics at round numbers over [low, high], and that range with a little room. */
void assay_plot_put_tics(const char *axis, double low, double high, assay_sink *body);

/* Memory against N: up to three figures of the groups of f. */
assay_status assay_plot_memory(const assay_plot_figure *f, assay_plot_scripts *scripts,
                               assay_error *err) ASSAY_NODISCARD;
/* Memory in time of the group's largest case; *number counts such figures. */
assay_status assay_plot_memory_time(const assay_view *view, size_t g, size_t *number,
                                    assay_plot_scripts *scripts, assay_error *err) ASSAY_NODISCARD;

#endif
