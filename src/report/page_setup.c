/* The page's sections about how the figures came about: setup, evidence, limits. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/page_parts.h"

/* ---- any JSON value as rows of key and value ---- */

#define FLATTEN_DEPTH_MAX 16

static void put_json_text(const assay_json *value, assay_sink *sink) {
  assay_buf text = {0};
  if (assay_json_kind_of(value) == ASSAY_JSON_STRING) {
    assay_sink_html(sink, assay_json_string(value));
  } else if (assay_json_dump(value, /*indented=*/false, &text, NULL) == ASSAY_OK) {
    size_t n = text.size_bytes;
    while (n && text.data[n - 1] == '\n') text.data[--n] = 0;
    assay_sink_html(sink, assay_buf_text(&text));
  }
  assay_buf_reset(&text);
}

/* Objects are opened into "a.b.c"; arrays and plain values are one row each. */
static void put_flat(const char *prefix, const assay_json *value, int depth, assay_sink *sink) {
  if (assay_json_kind_of(value) == ASSAY_JSON_OBJECT && assay_json_len(value) &&
      depth < FLATTEN_DEPTH_MAX) {
    for (size_t i = 0; i < assay_json_len(value); i++) {
      assay_sink key = {0};
      assay_sink_putf(&key, "%s%s%s", prefix, *prefix ? "." : "", assay_json_key_at(value, i));
      put_flat(assay_sink_text(&key), assay_json_value_at(value, i), depth + 1, sink);
      assay_sink_reset(&key);
    }
    return;
  }
  assay_sink_put(sink, "<tr><th scope=\"row\">");
  assay_sink_html(sink, prefix);
  assay_sink_put(sink, "</th><td>");
  put_json_text(value, sink);
  assay_sink_put(sink, "</td></tr>\n");
}

static void put_pair(assay_sink *sink, const char *key, const char *value) {
  if (value == NULL || *value == 0) return;
  assay_sink_putf(sink, "<tr><th scope=\"row\">%s</th>", key);
  assay_page_text(sink, value);
  assay_sink_put(sink, "</tr>\n");
}

static void put_pair_count(assay_sink *sink, const char *key, int64_t value) {
  assay_sink_putf(sink, "<tr><th scope=\"row\">%s</th><td>%" PRId64 "</td></tr>\n", key, value);
}

/* kind: our own words; name: from outside, or NULL. */
static void fold_begin(assay_sink *sink, const char *kind, const char *name) {
  assay_sink caption = {0};
  assay_sink_putf(&caption, "%s%s%s", kind, name ? " " : "", name ? name : "");
  assay_sink_put(sink, "<details><summary>");
  assay_sink_html(sink, assay_sink_text(&caption));
  assay_sink_put(sink, "</summary>\n");
  assay_page_table_begin(sink, "kv", assay_sink_text(&caption), "What|Value");
  assay_sink_reset(&caption);
}

static void fold_end(assay_sink *sink) {
  assay_page_table_end(sink);
  assay_sink_put(sink, "</details>\n");
}

/* ---- setup ---- */

/* One word as a shell would need it, so that the line can be pasted. */
static void put_shell_word(const char *word, assay_sink *line) {
  static const char plain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+";
  if (*word && word[strspn(word, plain)] == 0) {
    assay_sink_put(line, word);
    return;
  }
  assay_sink_put(line, "'");
  for (const char *at = word; *at; at++) {
    if (*at == '\'') {
      assay_sink_put(line, "'\\''");
    } else {
      assay_sink_put_bytes(line, at, 1);
    }
  }
  assay_sink_put(line, "'");
}

static void put_tolerance(const assay_package_tolerance *tolerance, assay_sink *sink) {
  assay_sink value = {0};
  char number[ASSAY_CELL_BYTES];
  assay_cell_shortest(tolerance->atol, number);
  if (tolerance->has_atol) assay_sink_putf(&value, "atol %s ", number);
  assay_cell_shortest(tolerance->rtol, number);
  if (tolerance->has_rtol) assay_sink_putf(&value, "rtol %s", number);
  assay_sink_put(sink, "<tr><th scope=\"row\">tolerance of ");
  assay_sink_html(sink, tolerance->head ? tolerance->head : "every head");
  assay_sink_put(sink, "</th>");
  assay_page_text(sink, assay_sink_text(&value));
  assay_sink_put(sink, "</tr>\n");
  assay_sink_reset(&value);
}

static void put_campaign(const assay_view *view, assay_sink *sink) {
  const assay_package *package = &view->package;
  assay_sink line = {0};
  for (size_t i = 0; i < package->n_command; i++) {
    if (i) assay_sink_put(&line, " ");
    put_shell_word(package->command[i], &line);
  }
  fold_begin(sink, "Command and settings", NULL);
  put_pair(sink, "command", assay_sink_text(&line));
  put_pair_count(sink, "timed calls of a run", package->iterations);
  put_pair_count(sink, "warm-up calls", package->warmup);
  put_pair_count(sink, "threads", package->threads);
  put_pair_count(sink, "profiled calls of a placement run", package->placement_runs);
  put_pair_count(sink, "time limit of a run (ns)", package->timeout_ns);
  put_pair_count(sink, "processes of a timing", package->processes > 1 ? package->processes : 1);
  for (size_t i = 0; i < package->n_tolerances; i++) put_tolerance(&package->tolerances[i], sink);
  put_pair(sink, "assay version", package->tool_version);
  put_pair(sink, "assay program, SHA-256", package->tool_sha256);
  fold_end(sink);
  assay_sink_reset(&line);
}

/* The first result on that runtime that has effective options. */
static const assay_json *effective_options(const assay_view *view, const char *runtime) {
  for (size_t r = 0; r < view->n_rows; r++) {
    if (strcmp(view->rows[r].runtime, runtime) != 0) continue;
    for (int mode = 0; mode < ASSAY_VIEW_N_MODES; mode++) {
      if (view->rows[r].runs[mode].result.options) return view->rows[r].runs[mode].result.options;
    }
  }
  return NULL;
}

static void put_runtime(const assay_view *view, const assay_package_runtime *runtime,
                        assay_sink *sink) {
  fold_begin(sink, "Runtime", runtime->name);
  put_pair(sink, "library", runtime->library_path);
  put_pair(sink, "library version", runtime->library_version);
  put_pair(sink, "library, SHA-256", runtime->library_sha256);
  put_pair(sink, "resolved runtime, SHA-256", runtime->sha256);
  if (runtime->spec) put_flat("asked for", runtime->spec, 0, sink);
  const assay_json *options = effective_options(view, runtime->name);
  if (options) put_flat("in effect (first run)", options, 0, sink);
  fold_end(sink);
}

static void put_bundle(const assay_view *view, size_t b, assay_sink *sink) {
  const assay_package_bundle *bundle = &view->package.bundles[b];
  fold_begin(sink, "Model", bundle->name);
  put_pair(sink, "manifest, SHA-256", bundle->manifest_sha256);
  put_pair(sink, "model file, SHA-256", bundle->model_sha256);
  if (view->has_manifest[b]) {
    const assay_manifest *manifest = &view->manifests[b];
    put_pair(sink, "architecture", manifest->architecture);
    put_pair(sink, "precision", view->precisions[b]);
    put_pair(sink, "attention form", manifest->attention);
    put_pair(sink, "shapes", manifest->shapes);
    put_pair_count(sink, "opset", manifest->opset);
    put_pair_count(sink, "attention operations", manifest->attention_ops);
    put_pair_count(sink, "fused ones demanded", manifest->fused_attention_ops);
    if (manifest->weights) put_flat("weights", manifest->weights, 0, sink);
    if (manifest->reference) put_flat("reference", manifest->reference, 0, sink);
    for (size_t i = 0; i < manifest->n_heads; i++) {
      const assay_manifest_tensor *head = &manifest->heads[i];
      assay_sink_put(sink, "<tr><th scope=\"row\">head ");
      assay_sink_html(sink, head->name);
      char atol[ASSAY_CELL_BYTES], rtol[ASSAY_CELL_BYTES];
      assay_cell_shortest(head->atol, atol);
      assay_cell_shortest(head->rtol, rtol);
      assay_sink_putf(sink, "</th><td>%s, atol %s, rtol %s</td></tr>\n",
                      assay_head_kind_name(head->kind), atol, rtol);
    }
    for (size_t i = 0; i < manifest->n_notes; i++) put_pair(sink, "note", manifest->notes[i]);
    if (manifest->config) put_flat("config", manifest->config, 0, sink);
  }
  fold_end(sink);
}

void assay_page_put_setup(const assay_view *view, assay_sink *sink) {
  assay_sink_put(sink, "<section id=\"setup\"><h2>Setup</h2>\n");
  put_campaign(view, sink);
  for (size_t i = 0; i < view->package.n_runtimes; i++)
    put_runtime(view, &view->package.runtimes[i], sink);
  for (size_t b = 0; b < view->package.n_bundles; b++) put_bundle(view, b, sink);
  if (view->machine) {
    fold_begin(sink, "Machine", NULL);
    put_flat("", view->machine, 0, sink);
    fold_end(sink);
  } else {
    assay_sink_put(sink, "<p>The package does not say what machine it was made on.</p>\n");
  }
  assay_sink_put(sink, "</section>\n");
}

/* ---- evidence ---- */

static void put_process(const assay_result *result, assay_sink *sink) {
  const assay_result_process *process = &result->process;
  assay_cell absent = {0};
  char end[64] = "";
  if (process->known && process->exited) {
    (void)snprintf(end, sizeof end, "exit %d", process->exit_code);
  } else if (process->known) {
    (void)snprintf(end, sizeof end, "signal %d%s", process->signal,
                   process->timed_out ? ", timed out" : "");
  }
  assay_page_text(sink, end);
  assay_page_cell(sink, process->known ? assay_cell_time((double)process->elapsed_ns) : absent);
  if (process->known && process->max_rss_bytes > 0) {
    char mib[ASSAY_CELL_BYTES];
    assay_cell_read_mib(process->max_rss_bytes, mib);
    assay_sink_putf(sink, "<td class=\"n\" title=\"%" PRId64 " bytes\">%s</td>",
                    process->max_rss_bytes, mib);
  } else {
    assay_page_cell(sink, absent);
  }
}

static void put_warnings(const assay_result *result, assay_sink *sink) {
  if (result->n_warnings == 0) {
    assay_page_text(sink, NULL);
    return;
  }
  assay_sink_put(sink, "<td>");
  for (size_t i = 0; i < result->n_warnings; i++) {
    if (i) assay_sink_put(sink, "<br>");
    assay_sink_html(sink, result->warnings[i]);
  }
  assay_sink_put(sink, "</td>");
}

static void put_evidence_row(const assay_view *view, const assay_view_row *row,
                             assay_view_mode mode, assay_sink *sink) {
  const assay_view_run *run = &row->runs[mode];
  bool there = run->n_files && run->files[0].sha256[0];
  assay_sink_put(sink, "<tr><th scope=\"row\">");
  if (there) {
    assay_page_link(sink, view, run->files[0].path, NULL, run->files[0].path);
  } else {
    assay_sink_html(sink, run->n_files ? run->files[0].path : row->case_name);
  }
  assay_sink_put(sink, "</th>");
  assay_page_text(sink,
                  run->planned ? assay_result_status_name(run->result.status) : "not planned");
  put_process(&run->result, sink);
  assay_page_text(sink, run->result.started_at);
  put_warnings(&run->result, sink);
  if (there) {
    assay_sink_putf(sink, "<td><code>%s</code></td>", run->files[0].sha256);
  } else {
    assay_page_text(sink, NULL);
  }
  assay_sink_put(sink, "</tr>\n");
}

void assay_page_put_evidence(const assay_view *view, assay_sink *sink) {
  assay_sink_put(
      sink,
      "<section id=\"evidence\"><h2>Evidence</h2>\n"
      "<p>Every figure comes from one of these files; each names the samples, outputs, profile and "
      "logs beside it with their SHA-256. ");
  assay_sink_put(sink, view->evidence
                           ? "Links work while page and package stay where they were.</p>\n"
                           : "Links work while this page lies in its package.</p>\n");
  assay_sink_put(sink, "<details><summary>Raw result of every run</summary>\n");
  assay_page_table_begin(sink, "raw", "Raw result of every run",
                         "File|Status|Process|#Elapsed|#Peak RSS (MiB)|Started|Warnings|SHA-256");
  for (size_t r = 0; r < view->n_rows; r++) {
    for (int mode = 0; mode < ASSAY_VIEW_N_MODES; mode++) {
      put_evidence_row(view, &view->rows[r], (assay_view_mode)mode, sink);
    }
  }
  assay_page_table_end(sink);
  assay_sink_put(sink, "<p class=\"note\">Peak RSS is the high-water mark that the kernel kept for "
                       "the whole life of the "
                       "worker process, libraries included.</p></details></section>\n");
}

/* ---- limits ---- */

static const char *weights_origin(const assay_manifest *manifest) {
  const assay_json *origin = manifest->weights ? assay_json_get(manifest->weights, "origin") : NULL;
  const char *text = origin ? assay_json_string(origin) : NULL;
  return text ? text : "";
}

static void put_limit_names(const assay_view *view, bool (*applies)(const assay_manifest *),
                            const char *before, const char *after, assay_sink *sink) {
  bool any = false;
  for (size_t b = 0; b < view->package.n_bundles; b++) {
    if (!view->has_manifest[b] || !applies(&view->manifests[b])) continue;
    assay_sink_put(sink, any ? ", " : before);
    assay_sink_html(sink, view->package.bundles[b].name);
    any = true;
  }
  if (any) assay_sink_put(sink, after);
}

static bool has_seeded_weights(const assay_manifest *manifest) {
  return strcmp(weights_origin(manifest), "seed") == 0;
}

static bool has_synthetic_pool(const assay_manifest *manifest) {
  for (size_t c = 0; c < manifest->n_cases; c++) {
    if (manifest->cases[c].source && strstr(manifest->cases[c].source, "builtin")) return true;
  }
  return false;
}

static bool has_one_shape(const assay_manifest *manifest) {
  for (size_t c = 1; c < manifest->n_cases; c++) {
    if (manifest->cases[c].b != manifest->cases[0].b ||
        manifest->cases[c].n != manifest->cases[0].n)
      return false;
  }
  return true;
}

static bool lacks_fp64(const assay_manifest *manifest) {
  const assay_json *precision =
      manifest->reference ? assay_json_get(manifest->reference, "precision") : NULL;
  for (size_t i = 0; precision && i < assay_json_len(precision); i++) {
    const char *word = assay_json_string(assay_json_at(precision, i));
    if (word && strcmp(word, "float64") == 0) return false;
  }
  return true;
}

void assay_page_put_limits(const assay_view *view, assay_sink *sink) {
  assay_sink_put(sink, "<section id=\"limits\"><h2>What this does not show</h2>\n<ul>\n");
  put_limit_names(view, has_seeded_weights,
                  "<li>The weights are random numbers from a seed, not trained ones, in: ",
                  ". Trained weights can make errors larger or smaller.</li>\n", sink);
  put_limit_names(
      view, has_synthetic_pool,
      "<li>Inputs come from a built-in pool of synthetic rows, not from real data, in: ",
      ".</li>\n", sink);
  put_limit_names(view, has_one_shape,
                  "<li>One shape only was tried, so nothing is known about other sizes, of: ",
                  ".</li>\n", sink);
  put_limit_names(view, lacks_fp64,
                  "<li>There is no FP64 reference, so it cannot be said which side is further from "
                  "the truth, for: ",
                  ".</li>\n", sink);
  bool repeated = view->package.processes > 1;
  assay_sink_putf(sink,
                  "<li>Everything was measured on one machine, in one campaign, %s. Intervals "
                  "cover the samples "
                  "of one process, not other processes, machines or days.</li>\n",
                  repeated ? "each timing in several processes, each placement in one"
                           : "each case in one process a mode");
  assay_sink_put(sink,
                 "<li>Agreement with the reference says that the export computes what the "
                 "model computes. It says nothing about "
                 "how good those answers are: physics quality, or that of any other use, was "
                 "not judged.</li>\n"
                 "<li>Latencies are those of single synchronous calls on an otherwise "
                 "unmanaged machine; throughput under load, and "
                 "time spent before and after the call, were not measured.</li>\n"
                 "<li>Placement says which provider ran a node, not which kernel; a fused "
                 "kernel is proved only where the report "
                 "says so.</li>\n"
                 "<li>Sampled peaks of memory are lower bounds. What is used on a device is "
                 "counted whoever uses it.</li>\n"
                 "<li>Plots are drawn from the figures and samples of the package. <code>assay "
                 "verify</code> derives every figure of the tables again; of drawings it "
                 "checks the bytes, not the curves.</li>\n"
                 "</ul></section>\n");
}
