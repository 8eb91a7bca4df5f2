/* The page's frame, its summary, and the small pieces that its sections share.
 * Sources: HTML Living Standard; WCAG 2.2 (1.4.1 use of colour, 1.4.10 reflow, 2.1.1
 * keyboard, 1.3.1 tables). */
#include "report/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "report/page_parts.h"

/* ---- cells ---- */

static void put_absent(assay_sink *sink) {
  assay_sink_put(sink, "<td class=\"n a\"><span aria-hidden=\"true\">–</span><span "
                       "class=\"hint\">absent</span></td>");
}

/* Short texts stay on one line; longer ones may break anywhere. */
static bool is_short(const char *text) {
  return strlen(text) <= 24;
}

void assay_page_text(assay_sink *sink, const char *text) {
  if (text == NULL || *text == 0) {
    put_absent(sink);
    return;
  }
  assay_sink_put(sink, is_short(text) ? "<td class=\"s\">" : "<td>");
  assay_sink_html(sink, text);
  assay_sink_put(sink, "</td>");
}

void assay_page_cell(assay_sink *sink, assay_cell cell) {
  char read[ASSAY_CELL_BYTES], exact[ASSAY_CELL_BYTES];
  if (cell.kind == ASSAY_CELL_TEXT) {
    assay_page_text(sink, cell.text);
    return;
  }
  if (cell.kind == ASSAY_CELL_ABSENT) {
    put_absent(sink);
    return;
  }
  assay_cell_read(&cell, read);
  assay_cell_exact(&cell, exact);
  const char *unit = cell.kind == ASSAY_CELL_TIME   ? " ns"
                     : cell.kind == ASSAY_CELL_SIZE ? " bytes"
                                                    : "";
  if (cell.kind == ASSAY_CELL_COUNT) {
    assay_sink_putf(sink, "<td class=\"n\">%s</td>", read);
  } else {
    assay_sink_putf(sink, "<td class=\"n\" title=\"%s%s\">%s</td>", exact, unit, read);
  }
}

void assay_page_column(assay_sink *sink, const assay_view_row *row, const char *name) {
  assay_page_cell(sink, assay_column_find(name)->get(row));
}

/* Sign and colour class of a verdict; the word says it all without either. */
static const char *verdict_class(const char *word) {
  if (strcmp(word, "pass") == 0 || strcmp(word, "padding") == 0) return "ok";
  if (strcmp(word, "missing") == 0 || strcmp(word, "not planned") == 0 ||
      strcmp(word, "unknown") == 0 || strcmp(word, "not judged") == 0) {
    return "un";
  }
  return "no";
}

void assay_page_verdict(assay_sink *sink, const char *word) {
  assay_sink_putf(sink, "<td class=\"s\"><span class=\"w %s\">%s</span></td>", verdict_class(word),
                  word);
}

void assay_page_percentile(assay_sink *sink, const assay_result_timing *timing, size_t i) {
  if (timing == NULL) {
    put_absent(sink);
    return;
  }
  const assay_result_percentile *p = &timing->stats.percentiles[i];
  char value[ASSAY_CELL_BYTES], low[ASSAY_CELL_BYTES] = "–", high[ASSAY_CELL_BYTES] = "–";
  assay_cell_read_ms(p->value_ns, value);
  if (p->has_low) assay_cell_read_ms((double)p->low_ns, low);
  if (p->has_high) assay_cell_read_ms((double)p->high_ns, high);
  assay_sink_putf(sink, "<td class=\"n\" title=\"%.17g ns, 95 %% interval [", p->value_ns);
  if (p->has_low) assay_sink_putf(sink, "%" PRId64, p->low_ns);
  assay_sink_put(sink, ", ");
  if (p->has_high) assay_sink_putf(sink, "%" PRId64, p->high_ns);
  assay_sink_putf(sink, "] ns\">%s<br><small>[%s, %s]</small></td>", value, low, high);
}

void assay_page_case(assay_sink *sink, const assay_view_row *row, const char *id_prefix, size_t r) {
  assay_sink_put(sink, "<th scope=\"row\"");
  if (is_short(row->case_name)) assay_sink_put(sink, " class=\"s\"");
  if (id_prefix) assay_sink_putf(sink, " id=\"%s%zu\"", id_prefix, r);
  assay_sink_put(sink, ">");
  assay_sink_html(sink, row->case_name);
  assay_sink_put(sink, "</th>");
}

/* Everything but unreserved characters and '/' as %XX: a path cannot end the attribute or change
 * the scheme. */
static void put_address(assay_sink *sink, const char *path) {
  for (const unsigned char *at = (const unsigned char *)path; *at; at++) {
    bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                 (*at >= '0' && *at <= '9') || strchr("-._~/", *at);
    assay_sink_putf(sink, plain ? "%c" : "%%%02X", *at);
  }
}

void assay_page_link(assay_sink *sink, const assay_view *view, const char *path, const char *sha256,
                     const char *label) {
  assay_sink_put(sink, "<a href=\"");
  put_address(sink, view->evidence ? view->evidence : "..");
  assay_sink_put(sink, "/");
  put_address(sink, path);
  if (sha256 && *sha256) {
    assay_sink_put(sink, "\" title=\"SHA-256 ");
    assay_sink_html(sink, sha256);
  }
  assay_sink_put(sink, "\">");
  assay_sink_html(sink, label);
  assay_sink_put(sink, "</a>");
}

/* ---- tables ---- */

void assay_page_table_begin(assay_sink *sink, const char *classes, const char *caption,
                            const char *columns) {
  assay_sink_put(sink, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"");
  assay_sink_html(sink, caption);
  assay_sink_putf(sink, "\"><table class=\"%s\"><caption>", classes);
  assay_sink_html(sink, caption);
  assay_sink_put(sink, "</caption><thead><tr>");
  while (*columns) {
    size_t n = strcspn(columns, "|");
    bool number = columns[0] == '#';
    assay_sink_put(sink, number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">");
    assay_sink_put_bytes(sink, columns + number, n - number);
    assay_sink_put(sink, "</th>");
    columns += n + (columns[n] == '|');
  }
  assay_sink_put(sink, "</tr></thead><tbody>\n");
}

void assay_page_table_end(assay_sink *sink) {
  assay_sink_put(sink, "</tbody></table></div>\n");
}

/* ---- summary ---- */

static void put_worst(const assay_view_row *row, assay_sink *sink) {
  assay_worst worst = {.at = {.index = -1}};
  if (row) assay_table_worst(row, &worst);
  if (worst.comparison == NULL) {
    assay_sink_put(sink, "<td>nothing was compared</td>");
    return;
  }
  assay_sink_put(sink, "<td><b>");
  assay_sink_html(sink, worst.comparison->head);
  assay_sink_put(sink, "</b> in ");
  assay_sink_html(sink, row->case_name);
  if (worst.index[0]) assay_sink_putf(sink, " at %s", worst.index);
  assay_sink_put(sink, ", against ");
  assay_sink_html(sink, worst.comparison->reference);
  if (worst.at.index < 0) {
    assay_sink_put(sink, ": ");
    assay_sink_html(sink, worst.comparison->reason);
  }
  assay_sink_put(sink, "</td>");
}

static void put_range(const assay_view_group *group, assay_sink *sink) {
  if (group->fastest == NULL) {
    put_absent(sink);
    return;
  }
  char low[ASSAY_CELL_BYTES], high[ASSAY_CELL_BYTES];
  assay_cell fast =
      assay_cell_time(assay_view_timing(group->fastest)->stats.percentiles[0].value_ns);
  assay_cell slow =
      assay_cell_time(assay_view_timing(group->slowest)->stats.percentiles[0].value_ns);
  assay_cell_read(&fast, low);
  assay_cell_read(&slow, high);
  if (group->fastest == group->slowest) {
    assay_sink_putf(sink, "<td class=\"n\">%s</td>", low);
  } else {
    assay_sink_putf(sink, "<td class=\"n\">%s – %s</td>", low, high);
  }
}

static void put_summary_row(const assay_view_group *group, assay_sink *sink) {
  assay_cell absent = {0};
  const assay_view_row *worst = group->worst;
  assay_sink_put(sink, is_short(group->bundle) ? "<tr><th scope=\"row\" class=\"s\">"
                                               : "<tr><th scope=\"row\">");
  assay_sink_html(sink, group->bundle);
  assay_sink_put(sink, "</th>");
  assay_page_text(sink, group->runtime);
  assay_page_verdict(sink, group->n_passed == group->n_rows ? "pass" : "fail");
  assay_sink_putf(sink, "<td class=\"n\">%zu of %zu</td>", group->n_passed, group->n_rows);
  assay_page_text(sink, group->inputs);
  assay_page_text(sink, group->precision);
  assay_page_cell(sink, worst ? assay_column_find("worst_abs_error")->get(worst) : absent);
  assay_page_cell(sink, worst ? assay_column_find("worst_tolerance_multiple")->get(worst) : absent);
  put_worst(worst, sink);
  put_range(group, sink);
  assay_page_text(sink, group->library_version);
  assay_page_text(sink, group->provider);
  assay_sink_put(sink, "</tr>\n");
}

#define TOLERANCES_MAX 16 /* of one group that are told here; the table of heads has all */

/* A verdict rests on them: those that are not the default are told beside it. */
static void put_tolerances(const assay_view *view, assay_sink *sink) {
  bool any = false;
  for (size_t g = 0; g < view->n_groups; g++) {
    assay_tolerance found[TOLERANCES_MAX];
    size_t n = assay_table_tolerances(view, g, found, TOLERANCES_MAX);
    for (size_t i = 0; i < n && i < TOLERANCES_MAX; i++) {
      char atol[ASSAY_CELL_BYTES], rtol[ASSAY_CELL_BYTES];
      assay_cell_shortest(found[i].atol, atol);
      assay_cell_shortest(found[i].rtol, rtol);
      assay_sink_put(sink, any ? "" : "<p>Tolerances other than the default were used:</p><ul>\n");
      any = true;
      assay_sink_put(sink, "<li>");
      assay_sink_html(sink, view->groups[g].bundle);
      assay_sink_put(sink, " on ");
      assay_sink_html(sink, view->groups[g].runtime);
      assay_sink_put(sink, ": ");
      assay_sink_html(sink, found[i].head);
      assay_sink_putf(sink, " atol %s rtol %s (default %g, %g)</li>\n", atol, rtol,
                      ASSAY_DEFAULT_ATOL, ASSAY_DEFAULT_RTOL);
    }
  }
  if (any) assay_sink_put(sink, "</ul>\n");
}

void assay_page_put_summary(const assay_view *view, assay_sink *sink) {
  assay_sink_put(sink, "<section id=\"summary\"><h2>Summary</h2>\n");
  assay_page_table_begin(
      sink, "sum", "Verdict for each model on each runtime",
      "Model|Runtime|Verdict|#Cases passed|Inputs|Precision|#Worst error|#Multiple of tolerance|"
      "Where it is|#p50, fastest – slowest case|ONNX Runtime|Provider");
  for (int passed = 0; passed < 2; passed++) {
    for (size_t g = 0; g < view->n_groups; g++) {
      const assay_view_group *group = &view->groups[g];
      if ((group->n_passed == group->n_rows) == (passed == 1)) put_summary_row(group, sink);
    }
  }
  assay_page_table_end(sink);
  put_tolerances(view, sink);
  assay_sink_put(
      sink,
      "<p class=\"note\">What failed comes first. Controlled inputs (sweeps and batches), events "
      "of "
      "data sets and inputs that users brought are judged apart, and so are models of different "
      "precision; nothing is pooled over them. The "
      "worst "
      "error is the element that comes nearest to its tolerance, or exceeds it "
      "most.</p></section>\n");
}

/* ---- frame ---- */

/* SHA-256 over the checksum lines of all files but the report's own, or "" while there is no tree.
 */
static void hash_evidence(const assay_view *view, char out[ASSAY_SHA256_HEX_BYTES]) {
  const assay_tree *files = &view->package.files;
  assay_sink lines = {0};
  out[0] = 0;
  for (size_t i = 0; i < files->n; i++) {
    const assay_tree_entry *entry = &files->entries[i];
    if (strncmp(entry->file, "report/", strlen("report/")) == 0) continue;
    assay_sink_putf(&lines, "%s  %" PRIu64 "  %s\n", entry->sha256, entry->size_bytes, entry->file);
  }
  if (files->n && !lines.status &&
      assay_sha256_bytes(lines.buf.data, lines.buf.size_bytes, out, NULL))
    out[0] = 0;
  assay_sink_reset(&lines);
}

static void put_times(const assay_view *view, assay_sink *sink) {
  assay_sink_put(sink, "Campaign of ");
  assay_sink_html(sink, view->package.started_at);
  if (view->package.finished_at[0]) {
    assay_sink_put(sink, " to ");
    assay_sink_html(sink, view->package.finished_at);
  } else {
    assay_sink_put(sink, ", not finished");
  }
  assay_sink_put(sink, "; assay ");
  assay_sink_html(sink, view->package.tool_version);
  assay_sink_put(sink, ".");
}

static void put_header(const assay_view *view, assay_sink *sink) {
  char verdict[512], evidence[ASSAY_SHA256_HEX_BYTES];
  assay_view_verdict(view, verdict, sizeof verdict);
  hash_evidence(view, evidence);
  assay_sink_put(sink, "<header><p class=\"kicker\">assay report</p>\n");
  assay_sink_putf(sink, "<h1 class=\"%s\">%s</h1>\n", view->qualified ? "ok" : "no", verdict);
  assay_sink_putf(sink,
                  "<p>%zu case%s on %zu runtime%s, %zu model%s; %zu of %zu planned runs done. ",
                  view->n_rows, view->n_rows == 1 ? "" : "s", view->package.n_runtimes,
                  view->package.n_runtimes == 1 ? "" : "s", view->package.n_bundles,
                  view->package.n_bundles == 1 ? "" : "s", view->n_runs_done, view->n_runs);
  put_times(view, sink);
  assay_sink_put(sink, "</p>\n");
  if (evidence[0]) {
    assay_sink_putf(
        sink,
        "<p class=\"note\">Evidence (all files of the package but this report) has SHA-256 "
        "<code>%s</code>; <code>assay verify</code> checks every file of it.</p>\n",
        evidence);
  }
  assay_sink_put(sink, "</header>\n");
}

/* A link to each section of the body, by its heading. Text from outside is escaped there, so what
 * looks like a section is one. */
static void put_nav(const char *body, assay_sink *sink) {
  static const char open[] = "<section id=\"", middle[] = "\"><h2>", close[] = "</h2>";
  assay_sink_put(sink, "<nav aria-label=\"Sections\">");
  for (const char *at = strstr(body, open); at != NULL; at = strstr(at, open)) {
    const char *id = at + sizeof open - 1, *id_end = strchr(id, '"');
    const char *title = strstr(id, middle), *title_end = strstr(id, close);
    at = id;
    if (title != id_end || title_end == NULL) continue;
    title += sizeof middle - 1;
    assay_sink_putf(sink, "<a href=\"#%.*s\">%.*s</a> ", (int)(id_end - id), id,
                    (int)(title_end - title), title);
  }
  assay_sink_put(sink, "</nav>\n");
}

static void put_plots(const assay_plots *plots, assay_sink *sink) {
  if (plots->n == 0 && plots->note[0] == 0) return;
  assay_sink_put(sink, "<section id=\"plots\"><h2>Plots</h2>\n");
  if (plots->note[0]) {
    assay_sink_put(sink, "<p class=\"note\">");
    assay_sink_html(sink, plots->note);
    assay_sink_put(sink, "</p>\n");
  }
  for (size_t i = 0; i < plots->n; i++) {
    const assay_plot *plot = &plots->items[i];
    assay_sink_put(sink, "<figure>");
    assay_sink_put(sink, plot->svg);
    assay_sink_put(sink, "<figcaption><b>");
    assay_sink_html(sink, plot->title);
    assay_sink_put(sink, ".</b> ");
    assay_sink_html(sink, plot->caption);
    assay_sink_putf(
        sink,
        " <span class=\"files\"><a href=\"%s.pdf\">PDF</a> <a href=\"%s.png\">PNG</a> <a "
        "href=\"%s.svg\">SVG</a></span></figcaption></figure>\n",
        plot->name, plot->name, plot->name);
  }
  if (plots->version[0]) {
    assay_sink_put(sink, "<p class=\"note\">Drawn by ");
    assay_sink_html(sink, plots->version);
    assay_sink_put(sink, " from the package's figures; PDF is sized for a column of 8.6 cm.</p>\n");
  }
  assay_sink_put(sink, "</section>\n");
}

/* "sha256-<base64>" of the page's script: what a Content-Security-Policy calls it, so that a
 * browser runs this script and none that a name from outside might have brought. "" when it cannot
 * be had. Source: CSP Level 3, 2.3.1. */
static void name_script(char out[64]) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  char hex[ASSAY_SHA256_HEX_BYTES];
  uint8_t bytes[33] = {0}; /* 32 of the digest and one to fill up the last three */
  out[0] = 0;
  if (assay_sha256_bytes(assay_page_script, strlen(assay_page_script), hex, NULL)) return;
  for (size_t i = 0; i < 32; i++) {
    unsigned byte = 0;
    if (sscanf(hex + 2 * i, "%2x", &byte) == 1) bytes[i] = (uint8_t)byte;
  }
  size_t n = (size_t)snprintf(out, 64, "sha256-");
  for (size_t i = 0; i < 33; i += 3) {
    uint32_t three = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
    for (int shift = 18; shift >= 0; shift -= 6) out[n++] = digits[three >> shift & 63];
  }
  out[n - 1] = '=';
  out[n] = 0;
}

static void put_sections(const assay_view *view, const assay_plots *plots, assay_sink *sink) {
  assay_page_put_summary(view, sink);
  assay_page_put_failures(view, sink);
  assay_page_put_runs(view, sink);
  put_plots(plots, sink);
  assay_page_put_pairs(view, sink);
  assay_page_put_heads(view, sink);
  assay_page_put_precision(view, sink);
  assay_page_put_timing(view, sink);
  assay_page_put_memory(view, sink);
  assay_page_put_placement(view, sink);
  assay_page_put_kernels(view, sink);
  assay_page_put_setup(view, sink);
  assay_page_put_evidence(view, sink);
  assay_page_put_limits(view, sink);
}

void assay_page_put(const assay_view *view, const assay_plots *plots, assay_sink *sink) {
  assay_sink sections = {0};
  char verdict[512];
  assay_view_verdict(view, verdict, sizeof verdict);
  assay_sink_put(sink, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<meta name=\"color-scheme\" content=\"light dark\">\n");
  char script[64];
  name_script(script);
  assay_sink_putf(
      sink,
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src '%s'\">\n",
      script);
  assay_sink_putf(sink, "<title>%s: assay report</title>\n<style>", verdict);
  assay_sink_put(sink, assay_page_style);
  assay_sink_put(sink, "</style></head><body>\n");
  put_header(view, sink);
  put_sections(view, plots, &sections);
  put_nav(assay_sink_text(&sections), sink);
  assay_sink_put(sink, "<main>\n");
  assay_sink_put(sink, assay_sink_text(&sections));
  assay_sink_put(sink, "</main>\n<script>");
  assay_sink_put(sink, assay_page_script);
  assay_sink_put(sink, "</script></body></html>\n");
  if (sink->status == ASSAY_OK) sink->status = sections.status;
  assay_sink_reset(&sections);
}
