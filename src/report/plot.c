/* Runs gnuplot as a child process, one for each plot, and makes its drawings fit for the page and
 * free of dates. Sources: gnuplot 5.4 manual (terminals svg, pdfcairo, pngcairo); ISO
 * 32000-1 14.3.3 (CreationDate). */
#include "report/plot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/file.h"
#include "report/plot_script.h"
#include "report/sink.h"

#define DRAWING_MAX_BYTES  (64u << 20)
#define DRAWING_TIMEOUT_NS 120000000000 /* of one plot; usually a fraction of a second */

/* Width of a drawing in each form; all have the same proportions of text to width, about that of 7
 * pt in a paper's column of 8.6 cm. */
#define SVG_WIDTH 560.0
#define PNG_WIDTH 1290.0
#define PDF_WIDTH 8.6 /* cm */

/* ---- the program ---- */

/* The first executable file of that name in PATH, or NULL. Released with assay_free. */
static char *find_program(const char *name) {
  const char *path = getenv("PATH");
  while (path && *path) {
    size_t n = strcspn(path, ":");
    char *folder = assay_strndup(path, n);
    char *found = folder && n ? assay_path_join(folder, name) : NULL;
    assay_free(folder);
    if (found && assay_path_kind_of(found) == ASSAY_PATH_FILE && access(found, X_OK) == 0)
      return found;
    assay_free(found);
    path += n + (path[n] == ':');
  }
  return NULL;
}

typedef struct drawing {
  const char *program;
  char *script, *log, *said; /* files in the report folder while a plot is drawn */
  assay_plots *out;
} drawing;

/* Runs gnuplot on the script, or asks for its version. true when it ended well. */
static bool run_program(const drawing *d, const char *argument) {
  const char *const argv[] = {d->program, "-d", argument, NULL}; /* -d: no start-up files */
  const char *const env[] = {"LC_ALL=C",    "SOURCE_DATE_EPOCH=0", "GNUTERM",
                             "GNUPLOT_LIB", "GDFONTPATH",          NULL};
  assay_child_spec spec = {.argv = argv,
                           .env = env,
                           .stdout_path = d->said,
                           .stderr_path = d->log,
                           .timeout_ns = DRAWING_TIMEOUT_NS};
  assay_child_result result = {0};
  assay_error err = {0};
  if (assay_child_run(&spec, &result, &err)) return false;
  return result.exited && result.exit_code == 0;
}

static void first_line(const char *path, char *out, size_t out_bytes) {
  assay_buf text = {0};
  out[0] = 0;
  if (assay_file_read(path, 1 << 20, &text, NULL) == ASSAY_OK) {
    const char *line = assay_buf_text(&text);
    while (*line == '\n' || *line == ' ') line++;
    (void)snprintf(out, out_bytes, "%.*s", (int)strcspn(line, "\n"), line);
  }
  assay_buf_reset(&text);
}

/* ---- the script ---- */

/* A path in gnuplot's single quotes, in which only the quote itself is special. */
static void put_path(const char *folder, const char *name, const char *ending, assay_sink *sink) {
  assay_sink_put(sink, "'");
  for (const char *c = folder; *c; c++)
    assay_sink_put_bytes(sink, *c == '\'' ? "''" : c, *c == '\'' ? 2 : 1);
  assay_sink_putf(sink, "/%s.%s'", name, ending);
}

static void put_drawing(const assay_plot_script *plot, const char *folder, const char *ending,
                        assay_sink *sink) {
  if (strcmp(ending, "svg") == 0) {
    assay_sink_putf(sink,
                    "set terminal svg size %.0f,%.0f dynamic noenhanced font \"sans-serif,13\"\n",
                    SVG_WIDTH, SVG_WIDTH * plot->height);
  } else if (strcmp(ending, "pdf") == 0) {
    assay_sink_putf(
        sink,
        "set terminal pdfcairo size %.2fcm,%.2fcm noenhanced font \"DejaVu Sans,7\" linewidth 0.8 "
        "pointscale 0.6\n",
        PDF_WIDTH, PDF_WIDTH * plot->height);
  } else {
    assay_sink_putf(
        sink,
        "set terminal pngcairo size %.0f,%.0f noenhanced font \"DejaVu Sans,7\" fontscale 3.9 "
        "linewidth 3 pointscale 2.6\n",
        PNG_WIDTH, PNG_WIDTH * plot->height);
  }
  assay_sink_put(sink, "set output ");
  put_path(folder, plot->name, ending, sink);
  assay_sink_put(sink, "\nreset\nset encoding utf8\nset border lw 0.8\nset tics out nomirror\n"
                       "set grid lc rgb \"#a0a0a0\" lw 0.4 dt 3\n");
  assay_sink_put(sink, assay_sink_text(&plot->body));
  assay_sink_put(sink, "unset output\n");
}

static assay_status write_script(const drawing *d, const assay_plot_script *plot,
                                 const char *folder, assay_error *err) {
  assay_sink sink = {0};
  assay_sink_put(&sink, "# drawn once for each form from the same description\n");
  put_drawing(plot, folder, "svg", &sink);
  put_drawing(plot, folder, "pdf", &sink);
  put_drawing(plot, folder, "png", &sink);
  assay_status st = assay_sink_check(&sink, err);
  if (st == ASSAY_OK) st = assay_file_write(d->script, sink.buf.data, sink.buf.size_bytes, err);
  assay_sink_reset(&sink);
  return st;
}

/* ---- what comes back ---- */

static char *drawing_path(const char *folder, const char *name, const char *ending) {
  return assay_format("%s/%s.%s", folder, name, ending);
}

/* Overwrites the date with one of the same length, so that the same figures give the same bytes. */
static assay_status clear_date(const char *path, assay_error *err) {
  static const char key[] = "/CreationDate (D:", date[] = "19700101000000Z";
  assay_buf pdf = {0};
  ASSAY_TRY(assay_file_read(path, DRAWING_MAX_BYTES, &pdf, err));
  for (size_t i = 0; i + sizeof key + sizeof date < pdf.size_bytes; i++) {
    if (memcmp(pdf.data + i, key, sizeof key - 1) != 0) continue;
    char *at = (char *)pdf.data + i + sizeof key - 1;
    for (size_t k = 0; at[k] && at[k] != ')'; k++) at[k] = k < sizeof date - 1 ? date[k] : ' ';
  }
  assay_status st = assay_file_write(path, pdf.data, pdf.size_bytes, err);
  assay_buf_reset(&pdf);
  return st;
}

static bool starts(const char *at, const char *with) {
  return strncmp(at, with, strlen(with)) == 0;
}

/* Copies gnuplot's SVG into the page's form: no prologue, ids and references to them with a prefix
 * of their own (several drawings share one page), a role and a name for those who do not see it.
 * Labels hold no quotes (see put_quoted), so what looks like an attribute is one. */
static void convert_svg(const char *svg, const char *prefix, const char *title, assay_sink *sink) {
  const char *at = strstr(svg, "<svg");
  if (at == NULL) return;
  assay_sink_put(sink, "<svg role=\"img\" aria-label=\"");
  assay_sink_html(sink, title);
  assay_sink_put(sink, "\"");
  at += strlen("<svg");
  while (*at) {
    if (starts(at, "<title>") || starts(at, "<desc>")) { /* the page says what it is, better */
      const char *end = strstr(at, *(at + 1) == 't' ? "</title>" : "</desc>");
      at = end ? strchr(end, '>') + 1 : at + strlen(at);
    } else if (starts(at, " id='") || starts(at, " id=\"")) {
      assay_sink_put_bytes(sink, at, 5);
      assay_sink_putf(sink, "%s-", prefix);
      at += 5;
    } else if (starts(at, "href='#") || starts(at, "href=\"#")) {
      assay_sink_put_bytes(sink, at, 7);
      assay_sink_putf(sink, "%s-", prefix);
      at += 7;
    } else if (starts(at, "url(#")) {
      assay_sink_putf(sink, "url(#%s-", prefix);
      at += 5;
    } else if (*at == '\n' || *at == '\t') {
      assay_sink_put(sink, "\n");
      at += strspn(at, "\n\t ");
    } else {
      assay_sink_put_bytes(sink, at++, 1);
    }
  }
}

static assay_status keep(const assay_plot_script *script, const char *folder, assay_plots *out,
                         assay_error *err) {
  assay_plot *plot = &out->items[out->n];
  assay_buf svg = {0};
  assay_sink page = {0};
  char *svg_path = drawing_path(folder, script->name, "svg"),
       *pdf_path = drawing_path(folder, script->name, "pdf");
  assay_status st = svg_path && pdf_path ? ASSAY_OK : assay_fail_memory(err, strlen(folder));
  if (st == ASSAY_OK) st = clear_date(pdf_path, err);
  if (st == ASSAY_OK) st = assay_file_read(svg_path, DRAWING_MAX_BYTES, &svg, err);
  if (st == ASSAY_OK) {
    convert_svg(assay_buf_text(&svg), script->name, assay_sink_text(&script->title), &page);
    st = assay_sink_check(&page, err);
  }
  if (st == ASSAY_OK) {
    *plot = (assay_plot){.name = assay_strdup(script->name),
                         .title = assay_strdup(assay_sink_text(&script->title)),
                         .caption = assay_strdup(assay_sink_text(&script->caption)),
                         .svg = assay_strdup(assay_sink_text(&page))};
    out->n++;
    if (!plot->name || !plot->title || !plot->caption || !plot->svg)
      st = assay_fail_memory(err, svg.size_bytes);
  }
  assay_free(pdf_path);
  assay_free(svg_path);
  assay_sink_reset(&page);
  assay_buf_reset(&svg);
  return st;
}

static const char *const endings[] = {"svg", "pdf", "png"};
#define N_ENDINGS (sizeof endings / sizeof endings[0])

static bool has_drawings(const char *folder, const char *name) {
  bool all = true;
  for (size_t i = 0; i < N_ENDINGS; i++) {
    char *path = drawing_path(folder, name, endings[i]);
    all = all && path && assay_path_kind_of(path) == ASSAY_PATH_FILE;
    assay_free(path);
  }
  return all;
}

static void remove_drawings(const char *folder, const char *name) {
  for (size_t i = 0; i < N_ENDINGS; i++) {
    char *path = drawing_path(folder, name, endings[i]);
    if (path) (void)unlink(path);
    assay_free(path);
  }
}

/* ---- one after the other ---- */

static assay_status draw_one(const drawing *d, const assay_plot_script *script, const char *folder,
                             assay_error *err) {
  ASSAY_TRY(write_script(d, script, folder, err));
  if (run_program(d, d->script) && has_drawings(folder, script->name)) {
    return keep(script, folder, d->out, err);
  }
  char why[160];
  first_line(d->log, why, sizeof why);
  remove_drawings(folder, script->name);
  (void)snprintf(d->out->note, sizeof d->out->note, "gnuplot could not draw '%s': %s", script->name,
                 why[0] ? why : "it did not say why");
  return ASSAY_OK;
}

/* It runs, and calls itself so: "gnuplot 5.4 patchlevel 4". */
static bool is_gnuplot(const drawing *d) {
  char *version = d->out->version;
  if (!run_program(d, "--version")) return false;
  first_line(d->said, version, sizeof d->out->version);
  if (starts(version, "gnuplot ")) return true;
  version[0] = 0;
  return false;
}

static assay_status draw_all(const drawing *d, const assay_plot_scripts *scripts, bool given,
                             const char *folder, assay_error *err) {
  d->out->items = assay_alloc_array(scripts->n + 1, sizeof *d->out->items);
  if (d->out->items == NULL) return assay_fail_memory(err, scripts->n * sizeof *d->out->items);
  if (scripts->n_left_out) {
    (void)snprintf(
        d->out->note, sizeof d->out->note,
        "%zu further plots of single models are not drawn; their figures are in the tables.",
        scripts->n_left_out);
  }
  if (!is_gnuplot(d)) {
    if (given)
      return assay_fail(err, ASSAY_E_MISSING,
                        "'%s' is no gnuplot that runs: give the path of one, or --no-plots",
                        d->program);
    (void)snprintf(d->out->note, sizeof d->out->note,
                   "There are no plots: '%.160s' is no gnuplot that runs.", d->program);
    return ASSAY_OK;
  }
  for (size_t i = 0; i < scripts->n; i++) ASSAY_TRY(draw_one(d, &scripts->items[i], folder, err));
  return ASSAY_OK;
}

/* A new line in the path would end gnuplot's quoted string and begin a command. */
static bool has_controls(const char *path) {
  for (const char *c = path; *c; c++) {
    if ((unsigned char)*c < 0x20 || *c == 0x7f) return true;
  }
  return false;
}

assay_status assay_plots_draw(const assay_view *view, const char *program, const char *out_folder,
                              assay_plots *out, assay_error *err) {
  assay_plot_scripts scripts = {0};
  assay_plots plots = {0};
  char *found = program ? assay_strdup(program) : find_program("gnuplot");
  /* A path that begins with '-' would be an option to gnuplot. */
  const char *here = *out_folder == '-' ? "./" : "";
  drawing d = {.program = found,
               .out = &plots,
               .script = assay_format("%s%s/.draw.gp", here, out_folder),
               .log = assay_path_join(out_folder, ".draw.err"),
               .said = assay_path_join(out_folder, ".draw.out")};
  assay_status st = ASSAY_OK;
  if (d.script == NULL || d.log == NULL || d.said == NULL || (program && found == NULL)) {
    st = assay_fail_memory(err, strlen(out_folder));
  } else if (has_controls(out_folder)) {
    (void)snprintf(plots.note, sizeof plots.note,
                   "There are no plots: the path of the package holds control characters, which "
                   "gnuplot cannot take.");
  } else if (found == NULL || *found == 0) {
    (void)snprintf(plots.note, sizeof plots.note, "%s",
                   program ? "There are no plots: none were asked for."
                           : "There are no plots: no gnuplot was found in PATH on the machine that "
                             "made this report "
                             "(Debian: gnuplot-nox).");
  } else {
    st = assay_plot_scripts_build(view, &scripts, err);
    if (st == ASSAY_OK) st = draw_all(&d, &scripts, program != NULL, out_folder, err);
    (void)unlink(d.script);
    (void)unlink(d.log);
    (void)unlink(d.said);
  }
  assay_plot_scripts_reset(&scripts);
  assay_free(d.said);
  assay_free(d.log);
  assay_free(d.script);
  assay_free(found);
  if (st) {
    assay_plots_reset(&plots);
    return st;
  }
  *out = plots;
  return ASSAY_OK;
}

void assay_plots_reset(assay_plots *plots) {
  if (plots == NULL) return;
  for (size_t i = 0; i < plots->n; i++) {
    assay_free(plots->items[i].name);
    assay_free(plots->items[i].title);
    assay_free(plots->items[i].caption);
    assay_free(plots->items[i].svg);
  }
  assay_free(plots->items);
  *plots = (assay_plots){0};
}
