/* Descriptions of plots. Series differ by colour, point shape and dash, so that they stay apart in
 * grey and for people who do not see colours as others do; the colours are those of M. Okabe and K.
 * Ito, "Color Universal Design" (2008). */
#include "report/plot_script.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/plot_parts.h"

#define PANELS_MAX   4  /* cases in a figure of samples */
#define LABEL_POINTS 44 /* code points of a label; longer ones lose their middle */
#define HEAD_POINTS  22 /* the same of a head, which stands below an axis */

/* ---- labels ---- */

/* gnuplot text in double quotes. Only characters that neither gnuplot nor SVG reads as anything but
 * text are kept: letters, digits, a few signs, and what is beyond ASCII and visible. */
static void put_label(assay_sink *sink, const char *text, size_t limit) {
  assay_sink shown = {0};
  size_t width = assay_sink_plain_width(text);
  assay_sink_plain(&shown, text); /* hidden characters are marks in ASCII now */
  assay_sink_put(sink, "\"");
  size_t at = 0;
  for (const char *c = assay_sink_text(&shown); *c; c++) {
    bool more = ((unsigned char)*c & 0xc0) == 0x80; /* of a code point that was begun */
    if (!more) at++;
    if (width > limit && at > limit / 2 && at + limit / 2 <= width) {
      if (at == limit / 2 + 1 && !more) assay_sink_put(sink, "...");
      continue;
    }
    bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                 (unsigned char)*c >= 0x80 || strchr(" ._:/+,()=@-", *c);
    assay_sink_put_bytes(sink, plain ? c : "?", 1);
  }
  assay_sink_put(sink, "\"");
  assay_sink_reset(&shown);
}

static void put_quoted(assay_sink *sink, const char *text) {
  put_label(sink, text, LABEL_POINTS);
}

static void put_series_name(assay_sink *sink, const assay_view_group *group, const char *end) {
  assay_sink name = {0};
  assay_sink_putf(&name, "%s on %s%s", group->bundle, group->runtime, end);
  put_quoted(sink, assay_sink_text(&name));
  assay_sink_reset(&name);
}

/* Colour, point and dash of series i. */
static void put_style(assay_sink *sink, size_t i) {
  static const struct {
    const char *colour;
    int point, dash;
  } styles[ASSAY_PLOT_SERIES_MAX] = {{"#0072b2", 7, 1},  {"#d55e00", 5, 2}, {"#009e73", 9, 3},
                                     {"#cc79a7", 13, 4}, {"#8a6d00", 6, 5}, {"#56b4e9", 4, 1},
                                     {"#e69f00", 8, 2},  {"#7f7f7f", 12, 3}};
  i %= ASSAY_PLOT_SERIES_MAX;
  assay_sink_putf(sink, "lc rgb \"%s\" pt %d dt %d ps 0.9 lw 1.4", styles[i].colour,
                  styles[i].point, styles[i].dash);
}

/* ---- the list ---- */

assay_plot_script *assay_plot_add(assay_plot_scripts *scripts, const char *kind, size_t number,
                                  double height, assay_status *st, assay_error *err) {
  assay_plot_script *items =
      assay_grown(scripts->items, &scripts->cap, scripts->n, sizeof *items, err);
  if (items == NULL) {
    *st = ASSAY_E_MEMORY;
    return NULL;
  }
  scripts->items = items;
  assay_plot_script *script = &scripts->items[scripts->n++];
  *script = (assay_plot_script){.height = height};
  (void)snprintf(script->name, sizeof script->name, number ? "%s-%zu" : "%s", kind, number + 1);
  return script;
}

/* Takes the script added last away again: it has nothing to show. */
void assay_plot_drop(assay_plot_scripts *scripts) {
  assay_plot_script *script = &scripts->items[--scripts->n];
  assay_sink_reset(&script->title);
  assay_sink_reset(&script->caption);
  assay_sink_reset(&script->body);
}

void assay_plot_scripts_reset(assay_plot_scripts *scripts) {
  while (scripts->n) assay_plot_drop(scripts);
  assay_free(scripts->items);
  *scripts = (assay_plot_scripts){0};
}

/* ---- groups that share a figure: same inputs, same precision ---- */

bool assay_plot_is_in(const assay_plot_figure *f, const assay_view_group *group) {
  return assay_view_groups_match(group, f->first);
}

void assay_plot_put_inputs(const assay_plot_figure *f, assay_sink *sink) {
  assay_sink_putf(sink, "%s, %s", assay_view_inputs_words(f->first->inputs),
                  f->first->precision ? f->first->precision : "unknown precision");
}

static double p50_ms(const assay_view_row *row) {
  return assay_view_timing(row)->stats.percentiles[0].value_ns / 1e6;
}

/* One series of sizes, "N value" in $d<g>. Sizes that were chosen are joined by lines; those that
 * events happen to have are not. */
void assay_plot_put_series(assay_sink *plots, const assay_plot_figure *f, size_t g, size_t n_series,
                           const char *end) {
  bool chosen = strcmp(f->first->inputs, "controlled") == 0;
  assay_sink_putf(plots, "%s$d%zu using 1:2 with %s ", n_series ? ", \\\n" : "plot ", g,
                  chosen ? "linespoints" : "points");
  put_style(plots, n_series);
  assay_sink_put(plots, " title ");
  put_series_name(plots, &f->view->groups[g], end);
}

void assay_plot_put_left_out(assay_sink *caption, size_t n) {
  if (n) assay_sink_putf(caption, " %zu further models and runtimes are in table.csv.", n);
}

/* ---- latency against N ---- */

static bool is_scaling_row(const assay_view_row *row, size_t g) {
  return row->group == g && row->manifest_case && row->manifest_case->b == 1 &&
         row->manifest_case->n > 0 && assay_view_timing(row);
}

/* "N p50 low high" of the group's rows with B = 1, ms; an end that is absent is the value itself.
 * Returns the slope of log p50 over log N by least squares, or NaN for fewer than two sizes. */
static double put_scaling_data(const assay_plot_figure *f, size_t g, assay_sink *body,
                               size_t *out_n) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0, n = 0;
  assay_sink_putf(body, "$d%zu << EOD\n", g);
  for (size_t r = 0; r < f->view->n_rows; r++) {
    const assay_view_row *row = &f->view->rows[r];
    if (!is_scaling_row(row, g)) continue;
    const assay_result_percentile *p = &assay_view_timing(row)->stats.percentiles[0];
    double low = p->has_low ? (double)p->low_ns : p->value_ns,
           high = p->has_high ? (double)p->high_ns : p->value_ns;
    assay_sink_putf(body, "%" PRId64 " %.9g %.9g %.9g\n", row->manifest_case->n, p->value_ns / 1e6,
                    low / 1e6, high / 1e6);
    double x = log((double)row->manifest_case->n), y = log(p->value_ns);
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  assay_sink_put(body, "EOD\n");
  *out_n = (size_t)n;
  double spread = n * sxx - sx * sx;
  return n >= 2 && spread > 1e-9 ? (n * sxy - sx * sy) / spread : nan("");
}

void assay_plot_put_size_tics(const assay_plot_figure *f,
                              bool (*fits)(const assay_view_row *, size_t),
                              int64_t (*size)(const assay_view_row *), assay_sink *body) {
  int64_t seen[16];
  size_t n = 0;
  for (size_t r = 0; r < f->view->n_rows && n < 16; r++) {
    const assay_view_row *row = &f->view->rows[r];
    if (!assay_plot_is_in(f, &f->view->groups[row->group]) || !fits(row, row->group)) continue;
    size_t i = 0;
    while (i < n && seen[i] != size(row)) i++;
    if (i == n) seen[n++] = size(row);
  }
  if (n < 10) { /* else gnuplot's own tics read better */
    assay_sink_put(body, "set xtics (");
    for (size_t i = 0; i < n; i++) {
      assay_sink_putf(body, "%s\"%" PRId64 "\" %" PRId64, i ? ", " : "", seen[i], seen[i]);
    }
    assay_sink_put(body, ")\n");
  }
  int64_t least = n ? seen[0] : 1, most = least;
  for (size_t i = 0; i < n; i++) {
    if (seen[i] < least) least = seen[i];
    if (seen[i] > most) most = seen[i];
  }
  assay_sink_putf(body, "set xrange [%.9g:%.9g]\n", (double)least / 1.3, (double)most * 1.3);
}

int64_t assay_plot_row_n(const assay_view_row *row) {
  return row->manifest_case->n;
}

/* The key stands below, one line a series; the figure grows with it. */
void assay_plot_put_key(assay_plot_script *script, size_t n_series) {
  script->height += 0.045 * (double)(n_series > 1 ? n_series - 1 : 0);
  assay_sink_put(&script->body,
                 "set key outside bottom center maxcols 1 samplen 3 spacing 1.1 height 0.8\n");
}

static assay_status latency(const assay_plot_figure *f, assay_plot_scripts *scripts,
                            assay_error *err) {
  assay_status st = ASSAY_OK;
  assay_plot_script *s = assay_plot_add(scripts, "latency", f->number, ASSAY_PLOT_RATIO, &st, err);
  if (st) return st;
  assay_sink plots = {0};
  size_t n_series = 0, n_left_out = 0;
  for (size_t g = 0; g < f->view->n_groups; g++) {
    size_t n = 0;
    if (!assay_plot_is_in(f, &f->view->groups[g])) continue;
    if (n_series == ASSAY_PLOT_SERIES_MAX) {
      n_left_out++;
      continue;
    }
    double slope = put_scaling_data(f, g, &s->body, &n);
    if (n == 0) continue;
    char end[32] = "";
    if (!isnan(slope)) (void)snprintf(end, sizeof end, ", slope %.2f", slope);
    assay_plot_put_series(&plots, f, g, n_series, end);
    assay_sink_putf(&plots, ", $d%zu using 1:2:3:4 with yerrorbars ", g);
    put_style(&plots, n_series);
    assay_sink_put(&plots, " notitle");
    n_series++;
  }
  assay_sink_put(&s->body, "set logscale xy\nset xlabel \"N, padded elements of one event\"\n"
                           "set ylabel \"p50 of one call (ms)\"\nset format y \"%g\"\n");
  assay_plot_put_size_tics(f, is_scaling_row, assay_plot_row_n, &s->body);
  assay_plot_put_key(s, n_series);
  assay_sink_put(&s->body, assay_sink_text(&plots));
  assay_sink_put(&s->body, "\n");
  assay_sink_put(&s->title, "Latency against N: ");
  assay_plot_put_inputs(f, &s->title);
  assay_sink_put(
      &s->caption,
      "Batches of one event. Bars are 95 % intervals of the median; the slope is the exponent of N "
      "by least squares over all sizes.");
  assay_plot_put_left_out(&s->caption, n_left_out);
  assay_sink_reset(&plots);
  if (n_series == 0) assay_plot_drop(scripts);
  return st;
}

/* ---- batch scaling ---- */

/* The N at which the group has most batch sizes; 0 when none has two. */
static int64_t batch_size_n(const assay_view *view, size_t g) {
  int64_t best_n = 0;
  size_t best = 1;
  for (size_t r = 0; r < view->n_rows; r++) {
    const assay_view_row *row = &view->rows[r];
    size_t count = 0;
    if (row->group != g || !row->manifest_case || row->manifest_case->n == best_n) continue;
    if (strcmp(row->manifest_case->kind, "batch") != 0) continue;
    for (size_t k = 0; k < view->n_rows; k++) {
      const assay_view_row *other = &view->rows[k];
      count += other->group == g && other->manifest_case &&
               other->manifest_case->n == row->manifest_case->n && other->manifest_case->b > 0 &&
               assay_view_timing(other) != NULL;
    }
    if (count > best) {
      best = count;
      best_n = row->manifest_case->n;
    }
  }
  return best_n;
}

static int compare_pairs(const void *a, const void *b) {
  const double *x = a, *y = b;
  return x[0] < y[0] ? -1 : x[0] > y[0];
}

static size_t put_batch_data(const assay_view *view, size_t g, int64_t n, assay_sink *body) {
  double pairs[64][2];
  size_t n_pairs = 0;
  for (size_t r = 0; r < view->n_rows && n_pairs < 64; r++) {
    const assay_view_row *row = &view->rows[r];
    if (row->group != g || !row->manifest_case || row->manifest_case->n != n ||
        row->manifest_case->b < 1 || !assay_view_timing(row)) {
      continue;
    }
    pairs[n_pairs][0] = (double)row->manifest_case->b;
    pairs[n_pairs++][1] = p50_ms(row) / (double)row->manifest_case->b;
  }
  qsort(pairs, n_pairs, sizeof pairs[0], compare_pairs);
  assay_sink_putf(body, "$d%zu << EOD\n", g);
  for (size_t i = 0; i < n_pairs; i++)
    assay_sink_putf(body, "%.9g %.9g\n", pairs[i][0], pairs[i][1]);
  assay_sink_put(body, "EOD\n");
  return n_pairs;
}

static assay_status batch(const assay_plot_figure *f, assay_plot_scripts *scripts,
                          assay_error *err) {
  assay_status st = ASSAY_OK;
  assay_plot_script *s = assay_plot_add(scripts, "batch", f->number, ASSAY_PLOT_RATIO, &st, err);
  if (st) return st;
  assay_sink plots = {0};
  size_t n_series = 0;
  for (size_t g = 0; g < f->view->n_groups && n_series < ASSAY_PLOT_SERIES_MAX; g++) {
    int64_t n = assay_plot_is_in(f, &f->view->groups[g]) ? batch_size_n(f->view, g) : 0;
    if (n == 0 || put_batch_data(f->view, g, n, &s->body) < 2) continue;
    char end[32];
    (void)snprintf(end, sizeof end, ", N=%" PRId64, n);
    assay_sink_putf(&plots, "%s$d%zu using 1:2 with linespoints ", n_series ? ", \\\n" : "plot ",
                    g);
    put_style(&plots, n_series++);
    assay_sink_put(&plots, " title ");
    put_series_name(&plots, &f->view->groups[g], end);
  }
  assay_sink_put(&s->body, "set logscale x 2\nset xlabel \"B, events in a batch\"\n"
                           "set ylabel \"p50 of one call / B (ms)\"\nset yrange [0:*]\nset offsets "
                           "graph 0.05, graph 0.05\n");
  assay_plot_put_key(s, n_series);
  assay_sink_put(&s->body, assay_sink_text(&plots));
  assay_sink_put(&s->body, "\n");
  assay_sink_put(&s->title, "Latency per event against batch size: ");
  assay_plot_put_inputs(f, &s->title);
  assay_sink_put(&s->caption, "A flat line means that batching neither helps nor hurts.");
  assay_sink_reset(&plots);
  if (n_series == 0) assay_plot_drop(scripts);
  return st;
}

/* ---- log axes on which zero and infinity have a place ---- */

typedef struct log_range {
  double least, most; /* positive finite values seen; 0 while there are none */
  bool zero, infinite;
  double floor, ceiling; /* where zero and infinity are drawn, after fix_range */
} log_range;

static void see(log_range *range, double value) {
  if (value == 0) {
    range->zero = true;
  } else if (!(value < HUGE_VAL)) { /* NaN counts as beyond all */
    range->infinite = true;
  } else {
    if (range->least == 0 || value < range->least) range->least = value;
    if (value > range->most) range->most = value;
  }
}

static void fix_range(log_range *range) {
  if (range->least == 0) range->least = range->most = 1e-7;
  range->floor = pow(10, floor(log10(range->least)) - 1);
  range->ceiling = pow(10, ceil(log10(range->most)) + 1);
}

static double place(const log_range *range, double value) {
  return value == 0 ? range->floor : value < HUGE_VAL ? value : range->ceiling;
}

/* Tics at powers of ten, at most nine of them, and at zero and infinity where there are such
 * points. */
static void put_log_axis(const log_range *range, assay_sink *body) {
  int first = (int)lround(log10(range->floor)), last = (int)lround(log10(range->ceiling));
  int step = (last - first) / 9 + 1;
  assay_sink_putf(body, "set logscale y\nset yrange [%.9g:%.9g]\nset mytics 1\nset ytics (",
                  range->floor / 2, range->ceiling * 2);
  const char *comma = "";
  for (int e = first + range->zero; e <= last - range->infinite; e += step, comma = ", ") {
    assay_sink_putf(body, e == 0 ? "%s\"1\" 1" : "%s\"1e%d\" 1e%d", comma, e, e);
  }
  if (range->zero) assay_sink_putf(body, "%s\"0\" %.9g", comma, range->floor);
  if (range->infinite) assay_sink_putf(body, ", \"inf\" %.9g", range->ceiling);
  assay_sink_put(body, ")\n");
}

/* ---- error by head against tolerance ---- */

static double multiple_of(const assay_view_head *head) {
  const assay_result_comparison *c = assay_view_main_comparison(head);
  if (c == NULL) return -1;
  return !c->same_shape || !c->same_dtype || c->n_class_mismatch ? HUGE_VAL : c->max_tol_multiple;
}

#define HEADS_MAX 24 /* categories of a figure */

typedef struct head_names {
  const char *items[HEADS_MAX];
  size_t n;
} head_names;

static size_t head_position(head_names *names, const char *name) {
  for (size_t i = 0; i < names->n; i++) {
    if (strcmp(names->items[i], name) == 0) return i;
  }
  if (names->n == HEADS_MAX) return HEADS_MAX;
  names->items[names->n] = name;
  return names->n++;
}

static void put_head_tics(const head_names *names, assay_sink *body) {
  size_t longest = 0;
  assay_sink_put(body, "set xtics (");
  for (size_t i = 0; i < names->n; i++) {
    if (i) assay_sink_put(body, ", ");
    put_label(body, names->items[i], HEAD_POINTS);
    assay_sink_putf(body, " %zu", i);
    size_t width = assay_sink_plain_width(names->items[i]);
    if (width > HEAD_POINTS) width = HEAD_POINTS;
    if (width > longest) longest = width;
  }
  assay_sink_putf(body, ")\nset xrange [-0.5:%zu.5]\n", names->n ? names->n - 1 : 0);
  if (longest * names->n > 60) assay_sink_put(body, "set xtics rotate by -20\n");
}

/* Series beside each other within a category: from -0.3 to 0.3. */
static double offset(size_t series, size_t n_series) {
  return n_series < 2 ? 0 : -0.3 + 0.6 * (double)series / (double)(n_series - 1);
}

static size_t count_groups(const assay_plot_figure *f) {
  size_t n = 0;
  for (size_t g = 0; g < f->view->n_groups; g++) n += assay_plot_is_in(f, &f->view->groups[g]);
  return n < ASSAY_PLOT_SERIES_MAX ? n : ASSAY_PLOT_SERIES_MAX;
}

static assay_status heads(const assay_plot_figure *f, assay_plot_scripts *scripts,
                          assay_error *err) {
  assay_status st = ASSAY_OK;
  assay_plot_script *s = assay_plot_add(scripts, "heads", f->number, ASSAY_PLOT_RATIO, &st, err);
  if (st) return st;
  log_range range = {.least = 1, .most = 1}; /* the tolerance itself is in the picture */
  head_names names = {0};
  for (size_t r = 0; r < f->view->n_rows; r++) {
    const assay_view_row *row = &f->view->rows[r];
    for (size_t h = 0; assay_plot_is_in(f, &f->view->groups[row->group]) && h < row->n_heads; h++) {
      if (multiple_of(&row->heads[h]) < 0) continue;
      if (head_position(&names, row->heads[h].name) < HEADS_MAX)
        see(&range, multiple_of(&row->heads[h]));
    }
  }
  fix_range(&range);
  assay_sink plots = {0};
  size_t n_groups = count_groups(f), n_series = 0;
  for (size_t g = 0; g < f->view->n_groups && n_series < n_groups; g++) {
    if (!assay_plot_is_in(f, &f->view->groups[g])) continue;
    assay_sink_putf(&s->body, "$d%zu << EOD\n", g);
    for (size_t r = 0; r < f->view->n_rows; r++) {
      const assay_view_row *row = &f->view->rows[r];
      for (size_t h = 0; row->group == g && h < row->n_heads; h++) {
        double value = multiple_of(&row->heads[h]);
        size_t at = value < 0 ? HEADS_MAX : head_position(&names, row->heads[h].name);
        if (at == HEADS_MAX) continue;
        assay_sink_putf(&s->body, "%.4f %.9g\n", (double)at + offset(n_series, n_groups),
                        place(&range, value));
      }
    }
    assay_sink_put(&s->body, "EOD\n");
    assay_sink_putf(&plots, ", \\\n$d%zu using 1:2 with points ", g);
    put_style(&plots, n_series++);
    assay_sink_put(&plots, " title ");
    put_series_name(&plots, &f->view->groups[g], "");
  }
  put_log_axis(&range, &s->body);
  put_head_tics(&names, &s->body);
  assay_plot_put_key(s, n_series);
  assay_sink_put(&s->body, "set xlabel \"head\"\nset ylabel \"largest |error| / tolerance\"\n"
                           "plot 1 with lines lc rgb \"black\" lw 2 title \"tolerance\"");
  assay_sink_put(&s->body, assay_sink_text(&plots));
  assay_sink_put(&s->body, "\n");
  assay_sink_put(&s->title, "Error by head against its tolerance: ");
  assay_plot_put_inputs(f, &s->title);
  assay_sink_put(
      &s->caption,
      "One point a case. Below the line is within tolerance; a point at 0 is an error of exactly "
      "zero, one at inf has another shape, type or class (NaN, infinite) than its reference.");
  assay_sink_reset(&plots);
  if (names.n == 0) assay_plot_drop(scripts);
  return st;
}

/* ---- who is further from FP64 ---- */

/* Largest error of the group's rows for that head against FP64; -1 when there is none. reference:
 * of the FP32 reference. */
static double truth_of(const assay_view *view, size_t g, const char *name, bool reference) {
  double most = -1;
  for (size_t r = 0; r < view->n_rows; r++) {
    const assay_view_row *row = &view->rows[r];
    for (size_t h = 0; row->group == g && h < row->n_heads; h++) {
      const assay_view_head *head = &row->heads[h];
      if (strcmp(head->name, name) != 0) continue;
      bool has = reference ? head->has_reference_error
                           : head->f64 && head->f64->same_shape && head->f64->same_dtype &&
                                 head->f64->n_finite_pairs;
      double value = !has ? -1 : reference ? head->reference_max_abs : head->f64->max_abs;
      if (value > most) most = value;
    }
  }
  return most;
}

/* One series: of group g, or of the FP32 reference in its cases. Returns its number of points. */
static size_t put_truth(const assay_plot_figure *f, size_t g, const head_names *names,
                        const log_range *range, double shift, bool reference, size_t block,
                        assay_sink *body) {
  size_t n = 0;
  assay_sink_putf(body, "$d%zu << EOD\n", block);
  for (size_t i = 0; i < names->n; i++) {
    double value = truth_of(f->view, g, names->items[i], reference);
    if (value < 0) continue;
    assay_sink_putf(body, "%.4f %.9g\n", (double)i + shift, place(range, value));
    n++;
  }
  assay_sink_put(body, "EOD\n");
  return n;
}

/* One figure for each model: its runtimes and the FP32 reference, side by side. */
static assay_status truth_of_bundle(const assay_plot_figure *f, const char *bundle, size_t number,
                                    assay_plot_scripts *scripts, assay_error *err) {
  assay_status st = ASSAY_OK;
  assay_plot_script *s = assay_plot_add(scripts, "truth", number, ASSAY_PLOT_RATIO, &st, err);
  if (st) return st;
  size_t groups[ASSAY_PLOT_SERIES_MAX] = {0}, n_groups = 0, n_points = 0;
  head_names names = {0};
  log_range range = {0};
  for (size_t g = 0; g < f->view->n_groups && n_groups + 1 < ASSAY_PLOT_SERIES_MAX; g++) {
    const assay_view_group *group = &f->view->groups[g];
    if (!assay_plot_is_in(f, group) || strcmp(group->bundle, bundle) != 0) continue;
    groups[n_groups++] = g;
    for (size_t h = 0; h < group->first->n_heads; h++)
      (void)head_position(&names, group->first->heads[h].name);
  }
  for (size_t i = 0; i < names.n; i++) {
    for (size_t k = 0; k < n_groups; k++) {
      double runtime = truth_of(f->view, groups[k], names.items[i], false);
      double reference = truth_of(f->view, groups[k], names.items[i], true);
      if (runtime >= 0) see(&range, runtime);
      if (reference >= 0) see(&range, reference);
    }
  }
  fix_range(&range);
  assay_sink plots = {0};
  n_points = put_truth(f, groups[0], &names, &range, offset(0, n_groups + 1), true, 0, &s->body);
  assay_sink_put(&plots, "plot $d0 using 1:2 with points lc rgb \"black\" pt 2 ps 1.1 lw 1.6 title "
                         "\"FP32 reference\"");
  for (size_t k = 0; k < n_groups; k++) {
    n_points += put_truth(f, groups[k], &names, &range, offset(k + 1, n_groups + 1), false, k + 1,
                          &s->body);
    assay_sink_putf(&plots, ", \\\n$d%zu using 1:2 with points ", k + 1);
    put_style(&plots, k);
    assay_sink_put(&plots, " title ");
    put_quoted(&plots, f->view->groups[groups[k]].runtime);
  }
  put_log_axis(&range, &s->body);
  put_head_tics(&names, &s->body);
  assay_plot_put_key(s, n_groups + 1);
  assay_sink_put(&s->body,
                 "set xlabel \"head\"\nset ylabel \"largest |value - FP64 reference|\"\n");
  assay_sink_put(&s->body, assay_sink_text(&plots));
  assay_sink_put(&s->body, "\n");
  assay_sink_putf(&s->title, "Distance from the FP64 reference, %s: ", bundle);
  assay_plot_put_inputs(f, &s->title);
  assay_sink_put(&s->caption,
                 "Largest over all cases. Where the runtime stands no higher than the FP32 "
                 "reference, it is as "
                 "near to the truth as FP32 gets in the reference's own order of operations.");
  assay_sink_reset(&plots);
  if (n_points == 0) assay_plot_drop(scripts);
  return st;
}

static assay_status truth(const assay_plot_figure *f, size_t *number, assay_plot_scripts *scripts,
                          assay_error *err) {
  for (size_t g = 0; g < f->view->n_groups; g++) {
    const assay_view_group *group = &f->view->groups[g];
    bool seen = !assay_plot_is_in(f, group);
    for (size_t k = 0; k < g && !seen; k++) {
      seen = assay_plot_is_in(f, &f->view->groups[k]) &&
             strcmp(f->view->groups[k].bundle, group->bundle) == 0;
    }
    if (seen) continue;
    if (*number == ASSAY_PLOT_DETAIL_MAX) {
      scripts->n_left_out++;
      continue;
    }
    ASSAY_TRY(truth_of_bundle(f, group->bundle, (*number)++, scripts, err));
  }
  return ASSAY_OK;
}

/* ---- placement ---- */

typedef struct share {
  const char *provider;
  int64_t nodes, us;
} share;

#define PROVIDERS_MAX 6

/* Sums the counts of the group's largest placed row by provider; returns how many there are. */
static size_t sum_shares(const assay_view *view, size_t g, share out[PROVIDERS_MAX]) {
  const assay_result_placement *best = NULL;
  int64_t best_size = -1;
  for (size_t r = 0; r < view->n_rows; r++) {
    const assay_view_row *row = &view->rows[r];
    if (row->group != g || !assay_view_placement(row)) continue;
    int64_t size = row->manifest_case ? row->manifest_case->b * row->manifest_case->n : 0;
    if (size > best_size) {
      best = assay_view_placement(row);
      best_size = size;
    }
  }
  size_t n = 0;
  for (size_t i = 0; best && i < best->n_counts; i++) {
    size_t p = 0;
    while (p < n && strcmp(out[p].provider, best->counts[i].provider) != 0) p++;
    if (p == n && n == PROVIDERS_MAX) p--; /* the rest share the last one */
    if (p == n) out[n++] = (share){.provider = best->counts[i].provider};
    out[p].nodes += best->counts[i].n_nodes;
    out[p].us += best->counts[i].duration_us;
  }
  return n;
}

/* Stacked bars from 0 to 100 %: one for nodes, one for host time. One data block a provider. */
static void put_bars(const share *shares, size_t n, size_t at, const char **providers,
                     size_t *n_providers, assay_sink blocks[PROVIDERS_MAX]) {
  double nodes = 0, us = 0, node_at = 0, us_at = 0;
  for (size_t i = 0; i < n; i++) nodes += (double)shares[i].nodes, us += (double)shares[i].us;
  for (size_t i = 0; i < n; i++) {
    size_t p = 0;
    while (p < *n_providers && strcmp(providers[p], shares[i].provider) != 0) p++;
    if (p == PROVIDERS_MAX) continue;
    if (p == *n_providers) providers[(*n_providers)++] = shares[i].provider;
    double node_share = nodes > 0 ? 100 * (double)shares[i].nodes / nodes : 0;
    double us_share = us > 0 ? 100 * (double)shares[i].us / us : 0;
    double y = -2 * (double)at;
    assay_sink_putf(&blocks[p], "%.6f %.6f %.6f %.3f %.3f %.3f\n", node_at, node_at,
                    node_at + node_share, y, y - 0.36, y + 0.36);
    assay_sink_putf(&blocks[p], "%.6f %.6f %.6f %.3f %.3f %.3f\n", us_at, us_at, us_at + us_share,
                    y - 0.8, y - 1.16, y - 0.44);
    node_at += node_share;
    us_at += us_share;
  }
}

static assay_status placement(const assay_plot_figure *f, assay_plot_scripts *scripts,
                              assay_error *err) {
  assay_status st = ASSAY_OK;
  assay_plot_script *s =
      assay_plot_add(scripts, "placement", f->number, ASSAY_PLOT_RATIO, &st, err);
  if (st) return st;
  assay_sink blocks[PROVIDERS_MAX] = {0}, tics = {0};
  const char *providers[PROVIDERS_MAX];
  size_t n_bars = 0, n_providers = 0;
  for (size_t g = 0; g < f->view->n_groups && n_bars < ASSAY_PLOT_SERIES_MAX; g++) {
    share shares[PROVIDERS_MAX];
    size_t n = assay_plot_is_in(f, &f->view->groups[g]) ? sum_shares(f->view, g, shares) : 0;
    if (n == 0) continue;
    put_bars(shares, n, n_bars, providers, &n_providers, blocks);
    assay_sink_put(&tics, n_bars ? ", " : "");
    put_series_name(&tics, &f->view->groups[g], ", nodes");
    assay_sink_putf(&tics, " %.3f, \"host time\" %.3f", -2 * (double)n_bars,
                    -2 * (double)n_bars - 0.8);
    n_bars++;
  }
  for (size_t p = 0; p < n_providers; p++) {
    assay_sink_putf(&s->body, "$d%zu << EOD\n%sEOD\n", p, assay_sink_text(&blocks[p]));
  }
  assay_sink_putf(&s->body,
                  "set ytics (%s) nomirror\nset yrange [%.3f:0.6]\nset xrange [0:100]\nunset grid\n"
                  "set xlabel \"share (%%)\"\nset style fill pattern border lc rgb \"black\"\n",
                  assay_sink_text(&tics), -2 * (double)n_bars + 0.6);
  s->height = 0.3 + 0.14 * (double)n_bars;
  assay_plot_put_key(s, n_providers);
  static const int patterns[PROVIDERS_MAX] = {3, 1, 2, 4, 5, 6};
  static const char *const colours[PROVIDERS_MAX] = {"#0072b2", "#d55e00", "#009e73",
                                                     "#cc79a7", "#8a6d00", "#7f7f7f"};
  for (size_t p = 0; p < n_providers; p++) {
    assay_sink_putf(&s->body,
                    "%s$d%zu using 1:4:2:3:5:6 with boxxyerror fs pattern %d lc rgb \"%s\" title ",
                    p ? ", \\\n" : "plot ", p, patterns[p], colours[p]);
    put_quoted(&s->body, providers[p]);
  }
  assay_sink_put(&s->body, "\n");
  assay_sink_put(&s->title, "Nodes and host time by provider: ");
  assay_plot_put_inputs(f, &s->title);
  assay_sink_put(
      &s->caption,
      "Of the largest case of each model on each runtime, from the profile of the executed graph.");
  for (size_t p = 0; p < PROVIDERS_MAX; p++) {
    if (blocks[p].status && !s->body.status) s->body.status = blocks[p].status;
    assay_sink_reset(&blocks[p]);
  }
  assay_sink_reset(&tics);
  if (n_bars == 0) assay_plot_drop(scripts);
  return st;
}

/* ---- samples in time, and their distribution ---- */

/* "index ms" of every sample, or of the least and the greatest of each of ASSAY_PLOT_POINTS_MAX / 2
 * stretches.
 */
static void put_order(const int64_t *samples, size_t n, assay_sink *body) {
  size_t stretch =
      n <= ASSAY_PLOT_POINTS_MAX ? 1 : (2 * n + ASSAY_PLOT_POINTS_MAX - 1) / ASSAY_PLOT_POINTS_MAX;
  for (size_t from = 0; from < n; from += stretch) {
    size_t to = from + stretch < n ? from + stretch : n, least = from, most = from;
    for (size_t i = from; i < to; i++) {
      if (samples[i] < samples[least]) least = i;
      if (samples[i] > samples[most]) most = i;
    }
    size_t first = least < most ? least : most, second = least < most ? most : least;
    assay_sink_putf(body, "%zu %.9g\n", first + 1, (double)samples[first] / 1e6);
    if (second != first)
      assay_sink_putf(body, "%zu %.9g\n", second + 1, (double)samples[second] / 1e6);
  }
}

static int compare_samples(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* "ms fraction" of the empirical distribution; both ends of a thinned one are kept. */
static void put_distribution(int64_t *samples, size_t n, assay_sink *body) {
  qsort(samples, n, sizeof *samples, compare_samples);
  size_t stretch =
      n <= ASSAY_PLOT_POINTS_MAX ? 1 : (n + ASSAY_PLOT_POINTS_MAX - 1) / ASSAY_PLOT_POINTS_MAX;
  for (size_t i = 0; i < n; i += stretch) {
    assay_sink_putf(body, "%.9g %.6f\n", (double)samples[i] / 1e6, (double)(i + 1) / (double)n);
  }
  if (n) assay_sink_putf(body, "%.9g 1\n", (double)samples[n - 1] / 1e6);
}

/* What one panel shows: its data blocks are $s<number> and $c<number>. */
typedef struct panel {
  const assay_view_row *row;
  size_t n_samples;
  double least_ms, most_ms;
} panel;

/* Data blocks number `number` and what to know of them; out->n_samples is 0 when the samples cannot
 * be read. */
static assay_status put_samples(const assay_view *view, const assay_view_row *row, size_t number,
                                assay_sink *body, panel *out, assay_error *err) {
  *out = (panel){.row = row};
  int64_t *samples = NULL;
  assay_error reading = {0};
  assay_status st = assay_view_samples(view, row, &samples, &out->n_samples, &reading);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", reading.text);
  if (st) {
    out->n_samples = 0; /* `verify` tells what is wrong with the file */
    return ASSAY_OK;
  }
  assay_sink_putf(body, "$s%zu << EOD\n", number);
  put_order(samples, out->n_samples, body);
  assay_sink_putf(body, "EOD\n$c%zu << EOD\n", number);
  put_distribution(samples, out->n_samples, body);
  assay_sink_put(body, "EOD\n");
  if (out->n_samples) { /* sorted now */
    out->least_ms = (double)samples[0] / 1e6;
    out->most_ms = (double)samples[out->n_samples - 1] / 1e6;
  }
  assay_free(samples);
  return ASSAY_OK;
}

/* Evenly spaced rows of the group that were timed, first and last among them. */
static size_t choose_rows(const assay_view *view, size_t g, const assay_view_row *out[PANELS_MAX],
                          size_t *out_all) {
  size_t n = 0, k = 0, seen = 0;
  for (size_t r = 0; r < view->n_rows; r++)
    n += view->rows[r].group == g && assay_view_timing(&view->rows[r]);
  *out_all = n;
  for (size_t r = 0; r < view->n_rows && k < PANELS_MAX; r++) {
    const assay_view_row *row = &view->rows[r];
    if (row->group != g || !assay_view_timing(row)) continue;
    size_t wanted = n <= PANELS_MAX ? k : k * (n - 1) / (PANELS_MAX - 1);
    if (seen++ == wanted) out[k++] = row;
  }
  return k;
}

/* Three to six tics at round numbers over [low, high], and that range with a little room. */
void assay_plot_put_tics(const char *axis, double low, double high, assay_sink *body) {
  static const double rounds[] = {1, 2, 2.5, 5, 10};
  double span = high > low ? high - low : fabs(high) * 0.1 + 1e-9;
  double decade = pow(10, floor(log10(span / 4))), step = 10 * decade;
  for (size_t i = sizeof rounds / sizeof rounds[0]; i-- > 0;) {
    if (rounds[i] * decade >= span / 4.01) step = rounds[i] * decade;
  }
  assay_sink_putf(body, "set %srange [%.9g:%.9g]\nset %stics %.9g\n", axis, low - 0.06 * span,
                  high + 0.06 * span, axis, step);
}

/* Two panels side by side for each case; heights in parts of the whole figure. */
static void put_panels(const panel *panels, size_t n, assay_sink *body) {
  double foot = 0.28 / (double)(n + 1), each = (1 - foot) / (double)n;
  assay_sink_put(body, "set multiplot\nunset key\nset format x \"%g\"\nset format y \"%g\"\n");
  for (size_t i = 0; i < n; i++) {
    bool last = i + 1 == n;
    double top = 1 - ((double)i + 0.2) * each, bottom = 1 - ((double)i + 0.78) * each;
    assay_sink_putf(body,
                    "set tmargin at screen %.4f\nset bmargin at screen %.4f\n"
                    "set lmargin at screen 0.15\nset rmargin at screen 0.55\n",
                    top, bottom);
    assay_sink_put(body, "set label 1 ");
    put_quoted(body, panels[i].row->case_name);
    assay_sink_putf(body, " at graph 0,1.14 left\nset ylabel \"ms\" offset 1\nset xlabel \"%s\"\n",
                    last ? "timed call, in order" : "");
    assay_plot_put_tics("x", 0, (double)panels[i].n_samples, body);
    assay_plot_put_tics("y", panels[i].least_ms, panels[i].most_ms, body);
    assay_sink_putf(body,
                    "plot $s%zu using 1:2 with lines lc rgb \"#0072b2\" lw 1\nunset label 1\n", i);
    assay_sink_putf(body,
                    "set lmargin at screen 0.68\nset rmargin at screen 0.96\nset ylabel "
                    "\"fraction\" offset 0\n"
                    "set xlabel \"%s\"\n",
                    last ? "latency of a call (ms)" : "");
    assay_plot_put_tics("x", panels[i].least_ms, panels[i].most_ms, body);
    assay_sink_putf(body,
                    "set yrange [0:1.04]\nset ytics 0.5\n"
                    "plot $c%zu using 1:2 with steps lc rgb \"#d55e00\" lw 1.4\n",
                    i);
  }
  assay_sink_put(body, "unset multiplot\n");
}

static assay_status samples_of_group(const assay_view *view, size_t g, size_t number,
                                     assay_plot_scripts *scripts, assay_error *err) {
  const assay_view_row *rows[PANELS_MAX];
  panel panels[PANELS_MAX];
  size_t n_all = 0, n_shown = 0;
  size_t n = choose_rows(view, g, rows, &n_all);
  assay_status st = ASSAY_OK;
  if (n == 0) return ASSAY_OK;
  assay_plot_script *s =
      assay_plot_add(scripts, "samples", number, 0.1 + 0.28 * (double)n, &st, err);
  if (st) return st;
  for (size_t i = 0; i < n && st == ASSAY_OK; i++) {
    st = put_samples(view, rows[i], n_shown, &s->body, &panels[n_shown], err);
    if (panels[n_shown].n_samples) n_shown++;
  }
  put_panels(panels, n_shown, &s->body);
  const assay_view_group *group = &view->groups[g];
  assay_sink_putf(&s->title, "Samples in time and their distribution: %s on %s", group->bundle,
                  group->runtime);
  assay_sink_put(&s->caption, "Left: every timed call in the order taken, where drift and outliers "
                              "show. Right: fraction of "
                              "calls that took no longer.");
  if (n_shown < n_all) assay_sink_putf(&s->caption, " %zu of %zu cases are drawn.", n_shown, n_all);
  if (n_shown == 0) assay_plot_drop(scripts);
  return st;
}

/* ---- all of them ---- */

typedef assay_status (*describe)(const assay_plot_figure *f, assay_plot_scripts *scripts,
                                 assay_error *err);

static assay_status build(const assay_view *view, assay_plot_scripts *out, assay_error *err) {
  static const describe kinds[] = {latency, heads, assay_plot_memory, batch, placement};
  size_t number = 0, n_truth = 0, n_samples = 0, n_memory = 0;
  for (size_t g = 0; g < view->n_groups; g++) {
    assay_plot_figure f = {.view = view, .first = &view->groups[g], .number = number};
    bool seen = false;
    for (size_t k = 0; k < g && !seen; k++) seen = assay_plot_is_in(&f, &view->groups[k]);
    if (seen) continue;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) ASSAY_TRY(kinds[k](&f, out, err));
    ASSAY_TRY(truth(&f, &n_truth, out, err));
    number++;
  }
  for (size_t g = 0; g < view->n_groups; g++)
    ASSAY_TRY(assay_plot_memory_time(view, g, &n_memory, out, err));
  for (size_t g = 0; g < view->n_groups; g++) {
    if (n_samples == ASSAY_PLOT_DETAIL_MAX) {
      out->n_left_out++;
    } else {
      ASSAY_TRY(samples_of_group(view, g, n_samples++, out, err));
    }
  }
  return ASSAY_OK;
}

assay_status assay_plot_scripts_build(const assay_view *view, assay_plot_scripts *out,
                                      assay_error *err) {
  assay_plot_scripts scripts = {0};
  assay_status st = build(view, &scripts, err);
  for (size_t i = 0; i < scripts.n && st == ASSAY_OK; i++)
    st = assay_sink_check(&scripts.items[i].body, err);
  if (st) {
    assay_plot_scripts_reset(&scripts);
    return st;
  }
  *out = scripts;
  return ASSAY_OK;
}
