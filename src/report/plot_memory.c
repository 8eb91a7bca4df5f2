/* Figures of memory: against N, and in time with the phases that the process marked. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "report/plot_parts.h"

/* ---- memory against N ---- */

/* One kind of figure: what is drawn of a row, in bytes; false where the row has none. */
typedef struct memory_kind {
  const char *name, *title, *ylabel, *caption;
  bool (*get)(const assay_view_row *row, int64_t *out_bytes);
} memory_kind;

/* The kernel's mark: as the sampler read it, else as the process left it. */
static bool high_water(const assay_view_row *row, int64_t *out_bytes) {
  const assay_result_memory_column *rss = assay_view_rss(row);
  const assay_result_process *process = &row->runs[ASSAY_VIEW_TIMING].result.process;
  *out_bytes = rss && rss->high_water_bytes > 0 ? rss->high_water_bytes
               : process->known                 ? process->max_rss_bytes
                                                : 0;
  return *out_bytes > 0;
}

static bool rss_above(const assay_view_row *row, int64_t *out_bytes) {
  const assay_result_memory_column *rss = assay_view_rss(row);
  return rss && assay_result_memory_above(rss, rss->peak_bytes, out_bytes);
}

static bool device_above(const assay_view_row *row, int64_t *out_bytes) {
  const assay_result_memory_column *device = assay_view_device(row);
  return device && assay_result_memory_above(device, device->peak_bytes, out_bytes);
}

static const memory_kind memory_kinds[] = {
    {"memory", "Peak memory of the process against N", "high-water mark of RSS (MiB)",
     "High-water mark that the kernel kept for the timing process's whole life, libraries and "
     "inputs included; batches of one event.",
     high_water},
    {"memory-above", "Memory of session and calls against N", "peak RSS above baseline (MiB)",
     "Largest sample of the timing process less the last one before its session: a lower bound, "
     "since what came and went between two samples is not in it. Batches of one event.",
     rss_above},
    {"memory-device", "Memory on the device against N", "peak in use above baseline (MiB)",
     "Largest sample of all that is used on the device, by whomever, less the last one before the "
     "session: a lower bound. Of several devices, the one whose use rose most. Batches of one "
     "event.",
     device_above},
};

static bool is_size_row(const assay_view_row *row, size_t g) {
  return row->group == g && row->manifest_case && row->manifest_case->b == 1 &&
         row->manifest_case->n > 0 &&
         row->runs[ASSAY_VIEW_TIMING].result.status == ASSAY_RESULT_DONE;
}

static size_t put_memory_data(const assay_plot_figure *f, const memory_kind *kind, size_t g,
                              assay_sink *body) {
  size_t n = 0;
  assay_sink_putf(body, "$d%zu << EOD\n", g);
  for (size_t r = 0; r < f->view->n_rows; r++) {
    const assay_view_row *row = &f->view->rows[r];
    int64_t bytes = 0;
    if (!is_size_row(row, g) || !kind->get(row, &bytes)) continue;
    assay_sink_putf(body, "%" PRId64 " %.9g\n", row->manifest_case->n, (double)bytes / (1 << 20));
    n++;
  }
  assay_sink_put(body, "EOD\n");
  return n;
}

static assay_status memory_of_kind(const assay_plot_figure *f, const memory_kind *kind,
                                   assay_plot_scripts *scripts, assay_error *err) {
  assay_status st = ASSAY_OK;
  assay_plot_script *s = assay_plot_add(scripts, kind->name, f->number, ASSAY_PLOT_RATIO, &st, err);
  if (st) return st;
  assay_sink plots = {0};
  size_t n_series = 0, n_left_out = 0;
  for (size_t g = 0; g < f->view->n_groups; g++) {
    if (!assay_plot_is_in(f, &f->view->groups[g])) continue;
    if (n_series == ASSAY_PLOT_SERIES_MAX) {
      n_left_out++;
      continue;
    }
    if (put_memory_data(f, kind, g, &s->body) == 0) continue;
    assay_plot_put_series(&plots, f, g, n_series++, "");
  }
  assay_sink_putf(&s->body,
                  "set logscale x\nset xlabel \"N, padded elements of one event\"\n"
                  "set ylabel \"%s\"\nset yrange [0:*]\nset offsets 0, 0, graph 0.1, 0\n",
                  kind->ylabel);
  assay_plot_put_size_tics(f, is_size_row, assay_plot_row_n, &s->body);
  assay_plot_put_key(s, n_series);
  assay_sink_put(&s->body, assay_sink_text(&plots));
  assay_sink_put(&s->body, "\n");
  assay_sink_putf(&s->title, "%s: ", kind->title);
  assay_plot_put_inputs(f, &s->title);
  assay_sink_put(&s->caption, kind->caption);
  assay_plot_put_left_out(&s->caption, n_left_out);
  assay_sink_reset(&plots);
  if (n_series == 0) assay_plot_drop(scripts);
  return st;
}

assay_status assay_plot_memory(const assay_plot_figure *f, assay_plot_scripts *scripts,
                               assay_error *err) {
  for (size_t k = 0; k < sizeof memory_kinds / sizeof memory_kinds[0]; k++)
    ASSAY_TRY(memory_of_kind(f, &memory_kinds[k], scripts, err));
  return ASSAY_OK;
}

/* ---- memory in time ---- */

/* Seconds since the first row. */
static double seconds(const assay_tensor *rows, int64_t time_ns) {
  return (double)(time_ns - assay_tensor_i64(rows)[0]) / 1e9;
}

/* "s MiB" of every row of a column that has a value, or of the least and the greatest of each of
 * ASSAY_PLOT_POINTS_MAX / 2 stretches of rows. Returns how many have one; the range goes to least
 * and most. */
static size_t put_memory_time(const assay_tensor *rows, size_t column, assay_sink *body,
                              double *least, double *most) {
  const int64_t *values = assay_tensor_i64(rows);
  size_t n_rows = (size_t)rows->dims[0], width = (size_t)rows->dims[1], n = 0;
  size_t at = ASSAY_VIEW_MEMORY_CLOCKS + column;
  size_t stretch = n_rows <= ASSAY_PLOT_POINTS_MAX
                       ? 1
                       : (2 * n_rows + ASSAY_PLOT_POINTS_MAX - 1) / ASSAY_PLOT_POINTS_MAX;
  for (size_t from = 0; from < n_rows; from += stretch) {
    size_t to = from + stretch < n_rows ? from + stretch : n_rows, low = n_rows, high = n_rows;
    for (size_t i = from; i < to; i++) {
      int64_t bytes = values[i * width + at];
      if (bytes < 0) continue;
      if (low == n_rows || bytes < values[low * width + at]) low = i;
      if (high == n_rows || bytes > values[high * width + at]) high = i;
    }
    if (low == n_rows) continue;
    size_t two[] = {low < high ? low : high, low < high ? high : low};
    for (size_t k = 0; k < 1u + (low != high); k++) {
      double mib = (double)values[two[k] * width + at] / (1 << 20);
      assay_sink_putf(body, "%.6f %.9g\n", seconds(rows, values[two[k] * width]), mib);
      if (n == 0 || mib < *least) *least = mib;
      if (n == 0 || mib > *most) *most = mib;
      n++;
    }
  }
  return n;
}

/* Grounds of the phases in two greys (page.css has their like for dark pages), with their names in
 * them where they have room.
 */
static void put_phases(const assay_tensor *rows, const assay_result_memory *memory, double end_s,
                       bool named, assay_sink *body) {
  const struct {
    const char *name, *ground;
    int64_t from_ns, to_ns;
  } phases[] = {{"before the session", "", assay_tensor_i64(rows)[0], memory->session_ns},
                {"session, first call", "#d9d9d9", memory->session_ns, memory->warm_ns},
                {"warm calls", "#f0f0f0", memory->warm_ns, memory->end_ns},
                {"after", "", memory->end_ns, 0}};
  for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
    if (phases[i].from_ns == 0) return; /* the process did not come so far */
    double from = seconds(rows, phases[i].from_ns);
    double to = phases[i].to_ns ? seconds(rows, phases[i].to_ns) : end_s;
    if (phases[i].ground[0])
      assay_sink_putf(body,
                      "set object %zu rectangle from %.6f, graph 0 to %.6f, graph 1 behind "
                      "fillcolor rgb \"%s\" fillstyle solid 1 noborder\n",
                      i + 1, from, to, phases[i].ground);
    if (i)
      assay_sink_putf(body,
                      "set arrow %zu from %.6f, graph 0 to %.6f, graph 1 nohead dt 2 lw "
                      "0.8 lc rgb \"#404040\"\n",
                      i, from, from);
    if (named && to - from > 0.17 * end_s)
      assay_sink_putf(body, "set label %zu \"%s\" at %.6f, graph 1.06 center\n", i + 1,
                      phases[i].name, (from + to) / 2);
  }
}

/* One panel: column of the samples over time, between parts `top` and `bottom` of the figure. */
static void put_memory_panel(const assay_tensor *rows, const assay_result_memory *memory,
                             size_t block, double range[2], double top, double bottom,
                             const char *ylabel, bool first, bool last, assay_sink *body) {
  double end_s = seconds(rows, assay_tensor_i64(rows)[(rows->dims[0] - 1) * rows->dims[1]]);
  if (end_s <= 0) end_s = 1e-3;
  assay_sink_putf(body,
                  "set tmargin at screen %.4f\nset bmargin at screen %.4f\nset lmargin at screen "
                  "0.17\nset rmargin at screen 0.96\nset ylabel \"%s\"\nset xlabel \"%s\"\n",
                  top, bottom, ylabel, last ? "time (s)" : "");
  put_phases(rows, memory, end_s, first, body);
  assay_plot_put_tics("x", 0, end_s, body);
  assay_sink_putf(body, "set xrange [0:%.6f]\n", end_s);
  assay_plot_put_tics("y", range[0], range[1], body);
  assay_sink_putf(body,
                  "set format x \"%s\"\nplot $m%zu using 1:2 with linespoints lc rgb \"#0072b2\" "
                  "pt 7 ps 0.2 lw 1.4\n"
                  "unset object\nunset arrow\nunset label\n",
                  last ? "%g" : "", block);
}

/* The largest of the group's cases whose memory was sampled, or NULL. */
static const assay_view_row *largest_sampled(const assay_view *view, size_t g) {
  const assay_view_row *best = NULL;
  int64_t best_size = -1;
  for (size_t r = 0; r < view->n_rows; r++) {
    const assay_view_row *row = &view->rows[r];
    const assay_result_memory_column *rss = assay_view_rss(row);
    if (row->group != g || rss == NULL || rss->n_values == 0) continue;
    int64_t size = row->manifest_case ? row->manifest_case->b * row->manifest_case->n : 0;
    if (size > best_size) {
      best = row;
      best_size = size;
    }
  }
  return best;
}

/* The process, and below it the device where one was read. Returns the number of panels. */
static size_t put_memory_panels(const assay_view_row *row, const assay_tensor *rows,
                                assay_plot_script *s) {
  const assay_result_memory *memory = assay_view_memory(row);
  const assay_result_memory_column *columns[] = {assay_view_rss(row), assay_view_device(row)};
  static const char *const labels[] = {"RSS (MiB)", "device (MiB)"};
  double ranges[2][2] = {{0}};
  size_t shown[2], n = 0;
  for (size_t i = 0; i < 2; i++) {
    if (columns[i] == NULL || columns[i]->n_values == 0) continue;
    assay_sink_putf(&s->body, "$m%zu << EOD\n", i);
    size_t n_points = put_memory_time(rows, (size_t)(columns[i] - memory->columns), &s->body,
                                      &ranges[i][0], &ranges[i][1]);
    assay_sink_put(&s->body, "EOD\n");
    if (n_points) shown[n++] = i;
  }
  s->height = n == 2 ? 0.9 : 0.55;
  double foot = 0.14 / s->height, head = 0.07 / s->height;
  assay_sink_put(&s->body, "set multiplot\nunset key\nset format x \"%g\"\nset format y \"%g\"\n");
  for (size_t k = 0; k < n; k++) {
    double each = (1 - foot - head) / (double)n, top = 1 - head - (double)k * each;
    put_memory_panel(rows, memory, shown[k], ranges[shown[k]], top,
                     top - each + (k + 1 < n ? 0.04 : 0), labels[shown[k]], k == 0, k + 1 == n,
                     &s->body);
  }
  assay_sink_put(&s->body, "unset multiplot\n");
  return n;
}

assay_status assay_plot_memory_time(const assay_view *view, size_t g, size_t *number,
                                    assay_plot_scripts *scripts, assay_error *err) {
  const assay_view_row *row = largest_sampled(view, g);
  const assay_view_group *group = &view->groups[g];
  assay_tensor rows = {0};
  assay_error why = {0};
  assay_status st = ASSAY_OK;
  if (row == NULL) return ASSAY_OK;
  if (*number == ASSAY_PLOT_DETAIL_MAX) {
    scripts->n_left_out++;
    return ASSAY_OK;
  }
  st = assay_view_memory_rows(view, row, &rows, &why);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  if (st || rows.dims[0] < 1) { /* `verify` tells what is wrong with the file */
    assay_tensor_reset(&rows);
    return ASSAY_OK;
  }
  assay_plot_script *s = assay_plot_add(scripts, "memory-time", (*number)++, 1, &st, err);
  size_t n = s ? put_memory_panels(row, &rows, s) : 0;
  assay_tensor_reset(&rows);
  if (st) return st;
  assay_sink_putf(&s->title, "Memory in time: %s on %s, case %s", group->bundle, group->runtime,
                  row->case_name);
  assay_sink_put(
      &s->caption,
      "The largest case, every sample. Grounds are the phases as the process marked them: white "
      "before the session, dark session and first call, light warm calls, white after.");
  if (n == 0) {
    assay_plot_drop(scripts);
    --*number;
  }
  return ASSAY_OK;
}
