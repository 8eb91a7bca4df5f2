/* The block for a bug report. What is asked for there: traps of people who file them, and the
 * templates of ONNX Runtime and TensorRT (exact command, versions and how installed, provider and
 * options, processor, system, worst error with index and both values, offending nodes, latency). */
#include "report/issue.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/table.h"

#define REASONS_MAX   10
#define OFFENDERS_MAX 5
#define HEADS_MAX     8
#define GROUPS_MAX    5

typedef struct block {
  assay_sink *sink;
  size_t n_lines;
  bool redact;
  const char *host; /* to hide, or NULL */
} block;

/* ---- redaction ---- */

static bool ends_path(char c, char quote) {
  return c == 0 || (quote ? c == quote : strchr(" \t\n'\",;:()=", c) != NULL);
}

/* Copies text with each path's folders as "…/" and the host name as "…". */
static void put_redacted(const block *b, const char *text, assay_sink *out) {
  char quote = 0;
  size_t host = b->host ? strlen(b->host) : 0;
  const char *token = text;
  while (*token) {
    const char *end = token;
    while (!ends_path(*end, quote)) end++;
    const char *last = token;
    for (const char *c = token; c < end; c++) {
      if (*c == '/' && c + 1 < end) last = c + 1;
    }
    if (last > token) assay_sink_put(out, "…/");
    if (host && (size_t)(end - last) == host && memcmp(last, b->host, host) == 0) {
      assay_sink_put(out, "…");
    } else {
      assay_sink_put_bytes(out, last, (size_t)(end - last));
    }
    if (*end == 0) break;
    assay_sink_put_bytes(out, end, 1);
    if (*end == '\'' || *end == '"') quote = quote ? 0 : *end;
    token = end + 1;
  }
}

/* ---- lines ---- */

/* One line of the block: cut to width, dropped beyond the last that may be. */
static void put_line(block *b, const assay_sink *line) {
  if (line->status && !b->sink->status) b->sink->status = line->status;
  if (b->n_lines >= ASSAY_ISSUE_MAX_LINES - 1) return; /* the closing fence is one too */
  b->n_lines++;
  assay_sink plain = {0};
  assay_sink_plain(&plain, assay_sink_text(line));
  const char *text = assay_sink_text(&plain);
  size_t points = 0, bytes = 0;
  bool cut = assay_sink_plain_width(text) > ASSAY_ISSUE_MAX_WIDTH;
  while (text[bytes]) {
    points += ((unsigned char)text[bytes] & 0xc0) != 0x80;
    if (cut && points > ASSAY_ISSUE_MAX_WIDTH - 3) break;
    bytes++;
  }
  for (size_t i = 0; i < bytes; i++) { /* a fence of ours cannot be closed from inside */
    assay_sink_put_bytes(b->sink, text[i] == '`' ? "'" : text + i, 1);
  }
  assay_sink_put(b->sink, cut ? "...\n" : "\n");
  assay_sink_reset(&plain);
}

/* "label: text", redacted when asked for; nothing when text is NULL or "". */
static void put_text(block *b, const char *label, const char *text) {
  if (text == NULL || *text == 0) return;
  assay_sink line = {0};
  assay_sink_putf(&line, "%s: ", label);
  if (b->redact) {
    put_redacted(b, text, &line);
  } else {
    assay_sink_put(&line, text);
  }
  put_line(b, &line);
  assay_sink_reset(&line);
}

/* ---- parts ---- */

static const char *machine_text(const assay_view *view, const char *key) {
  const assay_json *machine = view->machine ? assay_json_get(view->machine, "machine") : NULL;
  const assay_json *value = machine ? assay_json_get(machine, key) : NULL;
  return value ? assay_json_string(value) : NULL;
}

static void put_machine(const assay_view *view, block *b) {
  static const char *const keys[] = {"operating_system", "kernel", "architecture",
                                     "processor",        "n_cpus", "memory"};
  assay_sink line = {0};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    const char *text = machine_text(view, keys[i]);
    if (text) assay_sink_putf(&line, "%s%s", line.buf.size_bytes ? ", " : "", text);
  }
  if (line.buf.size_bytes) {
    assay_sink whole = {0}; /* its own words, in which '/' is no path */
    assay_sink_putf(&whole, "machine: %s", assay_sink_text(&line));
    put_line(b, &whole);
    assay_sink_reset(&whole);
  }
  assay_sink_reset(&line);
  if (!b->redact) put_text(b, "host", machine_text(view, "host"));
}

static void put_command(const assay_view *view, block *b) {
  assay_sink line = {0};
  for (size_t i = 0; i < view->package.n_command; i++) {
    const char *word = view->package.command[i];
    const char *last =
        b->redact ? strrchr(word, '/') : NULL; /* a path may hold blanks: the whole word goes */
    assay_sink_putf(&line, "%s%s%s", i ? " " : "", last ? "…/" : "", last ? last + 1 : word);
  }
  put_text(b, "command", assay_sink_text(&line));
  assay_sink_reset(&line);
}

static void put_json(block *b, const char *label, const assay_json *value) {
  assay_buf text = {0};
  if (value && assay_json_dump(value, /*indented=*/false, &text, NULL) == ASSAY_OK) {
    put_text(b, label, assay_buf_text(&text));
  }
  assay_buf_reset(&text);
}

static const assay_result *first_result(const assay_view *view, const char *runtime) {
  for (size_t r = 0; r < view->n_rows; r++) {
    const assay_result *library = assay_view_library(&view->rows[r]);
    if (library && strcmp(view->rows[r].runtime, runtime) == 0) return library;
  }
  return NULL;
}

static void put_runtime(const assay_view *view, const assay_package_runtime *runtime, block *b) {
  assay_sink line = {0};
  const assay_result *result = first_result(view, runtime->name);
  assay_sink_putf(&line, "%s: ONNX Runtime %s, %s, library %s, SHA-256 %.16s", runtime->name,
                  runtime->library_version && *runtime->library_version ? runtime->library_version
                                                                        : "(not opened)",
                  result && result->provider ? result->provider : "no provider",
                  runtime->library_path ? runtime->library_path : "", runtime->library_sha256);
  put_text(b, "runtime", assay_sink_text(&line));
  if (result) put_text(b, "  build", result->library_build);
  if (result) put_json(b, "  options", result->options);
  assay_sink_reset(&line);
}

static void put_bundle(const assay_view *view, size_t i, block *b) {
  const assay_package_bundle *bundle = &view->package.bundles[i];
  assay_sink line = {0};
  assay_sink_putf(&line, "%s: ", bundle->name);
  if (view->has_manifest[i]) {
    const assay_manifest *m = &view->manifests[i];
    assay_sink_putf(&line, "%s, %s, attention %s, opset %" PRId64 ", shapes %s, ",
                    m->architecture ? m->architecture : "imported", m->dtype,
                    m->attention ? m->attention : "none", m->opset, m->shapes);
  }
  assay_sink_putf(&line, "SHA-256 %.16s", bundle->model_sha256);
  put_text(b, "model", assay_sink_text(&line));
  assay_sink_reset(&line);
}

static void put_reasons(const assay_view *view, block *b) {
  for (size_t i = 0; i < view->n_reasons && i < REASONS_MAX; i++) {
    const assay_view_reason *reason = &view->reasons[i];
    assay_sink line = {0};
    if (reason->row != SIZE_MAX) {
      const assay_view_row *row = &view->rows[reason->row];
      assay_sink_putf(&line, "%s, %s, %s: ", row->runtime, row->bundle, row->case_name);
    }
    assay_sink_put(&line, reason->text);
    put_text(b, assay_view_topic_word(reason->topic), assay_sink_text(&line));
    assay_sink_reset(&line);
  }
  if (view->n_reasons > REASONS_MAX) {
    assay_sink line = {0};
    assay_sink_putf(&line, "and %zu more", view->n_reasons - REASONS_MAX);
    put_line(b, &line);
    assay_sink_reset(&line);
  }
}

/* The row that the block is about: the first one with a reason, else the one with the worst error.
 */
static const assay_view_row *subject(const assay_view *view) {
  for (size_t i = 0; i < view->n_reasons; i++) {
    if (view->reasons[i].row != SIZE_MAX) return &view->rows[view->reasons[i].row];
  }
  return view->n_groups && view->groups[0].worst ? view->groups[0].worst
         : view->n_rows                          ? view->rows
                                                 : NULL;
}

static void put_heads(const assay_view_row *row, block *b) {
  size_t n = 0;
  for (size_t i = 0; i < row->runs[ASSAY_VIEW_TIMING].result.n_comparisons && n < HEADS_MAX; i++) {
    const assay_result_comparison *c = &row->runs[ASSAY_VIEW_TIMING].result.comparisons[i];
    assay_sink line = {0};
    char index[160];
    assay_view_index_text(c->shape, c->max_abs_at.index, index, sizeof index);
    assay_sink_putf(&line, "  %s %s vs %s: ", c->passed ? "pass" : "FAIL", c->head, c->reference);
    if (c->same_shape && c->same_dtype && c->n_finite_pairs) {
      assay_sink_putf(
          &line,
          "max abs %.3e at %s (got %.9g, reference %.9g), relative L2 %.3e, over %" PRId64
          " of %" PRId64,
          c->max_abs, index, c->max_abs_at.got, c->max_abs_at.want, c->rel_l2, c->n_over,
          c->n_compared);
    } else {
      assay_sink_put(&line, c->reason);
    }
    put_line(b, &line);
    assay_sink_reset(&line);
    n++;
  }
}

static void put_placement(const assay_view_row *row, block *b) {
  const assay_result_placement *placement = assay_view_placement(row);
  if (placement == NULL) return;
  assay_sink line = {0};
  assay_sink_putf(
      &line, "  placement %s: %" PRId64 " of %" PRId64 " compute nodes on %s, %" PRId64 " copies",
      assay_verdict_name(placement->verdict), placement->n_on_provider, placement->n_compute,
      placement->provider, placement->n_copies);
  put_line(b, &line);
  assay_sink_reset(&line);
  for (size_t i = 0; i < placement->n_offenders && i < OFFENDERS_MAX; i++) {
    assay_sink_putf(&line, "    %s", placement->offenders[i]);
    put_line(b, &line);
    assay_sink_reset(&line);
  }
}

static void put_latency(const assay_view_row *row, block *b) {
  const assay_result_timing *timing = assay_view_timing(row);
  if (timing == NULL) return;
  const assay_result_stats *s = &timing->stats;
  assay_sink line = {0};
  assay_sink_putf(
      &line,
      "  latency ms: min %.4g mean %.4g p50 %.4g p90 %.4g p95 %.4g p99 %.4g max %.4g (%" PRId64
      " calls, %" PRId64 " warm-ups)",
      (double)s->min_ns / 1e6, s->mean_ns / 1e6, s->percentiles[0].value_ns / 1e6,
      s->percentiles[1].value_ns / 1e6, s->percentiles[2].value_ns / 1e6,
      s->percentiles[3].value_ns / 1e6, (double)s->max_ns / 1e6, s->n, timing->warmup);
  put_line(b, &line);
  assay_sink_reset(&line);
}

static void put_subject(const assay_view *view, block *b) {
  const assay_view_row *row = subject(view);
  if (row == NULL) return;
  assay_sink line = {0};
  assay_sink_putf(&line, "case %s of %s on %s:", row->case_name, row->bundle, row->runtime);
  put_line(b, &line);
  assay_sink_reset(&line);
  put_heads(row, b);
  put_placement(row, b);
  put_latency(row, b);
}

void assay_issue_put(const assay_view *view, bool redact, assay_sink *sink) {
  block b = {.sink = sink,
             .redact = redact,
             .n_lines = 1,
             .host = redact ? machine_text(view, "host") : NULL};
  char verdict[512];
  assay_view_verdict(view, verdict, sizeof verdict);
  assay_sink_put(sink, "```text\n");
  assay_sink line = {0};
  assay_sink_putf(&line, "assay %s: %s", view->package.tool_version, verdict);
  put_line(&b, &line);
  assay_sink_reset(&line);
  put_reasons(view, &b);
  put_subject(view, &b);
  put_command(view, &b);
  for (size_t i = 0; i < view->package.n_runtimes && i < GROUPS_MAX; i++) {
    put_runtime(view, &view->package.runtimes[i], &b);
  }
  for (size_t i = 0; i < view->package.n_bundles && i < GROUPS_MAX; i++) put_bundle(view, i, &b);
  put_machine(view, &b);
  assay_sink_put(sink, "```\n");
}
