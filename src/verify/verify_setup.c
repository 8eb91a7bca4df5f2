/* The page's head against the campaign, and each line of its setup against the file that it was
 * taken from: package.json, a manifest, the machine's record, a result's options. */
#include "verify/verify_setup.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "verify/verify_report.h"

#define TEXT_BYTES        ((size_t)1 << 16)
#define MACHINE_MAX_BYTES ((size_t)4 << 20)

/* A check at work. */
typedef struct setup {
  const assay_verify_scene *scene;
  const assay_verify_rows *rows;
  assay_verify_place at;
  assay_json *machine; /* or NULL */
  char *key, *value;   /* [TEXT_BYTES] of the line */
} setup;

/* --- the head ------------------------------------------------------------------------------------
 */

static const char *plural(size_t n) {
  return n == 1 ? "" : "s";
}

/* "7 cases on 1 runtime, 2 models; 14 of 14 planned runs done. Campaign of … to …; assay …." */
static void check_counts(setup *s, const char *html) {
  const assay_package *package = s->scene->package;
  size_t n_runs = 0, n_done = 0;
  for (size_t r = 0; r < s->rows->n; r++) {
    const assay_verify_run *runs[] = {s->rows->items[r].timing, s->rows->items[r].placement};
    for (size_t i = 0; i < 2; i++) {
      n_runs += runs[i] != NULL;
      n_done += runs[i] != NULL && runs[i]->is_there && runs[i]->found.status == ASSAY_RESULT_DONE;
    }
  }
  char expected[512];
  bool finished = package->finished_at[0] != '\0';
  snprintf(expected, sizeof expected,
           "%zu case%s on %zu runtime%s, %zu model%s; %zu of %zu planned runs done. Campaign of "
           "%s%s%s; assay %.64s.",
           s->rows->n, plural(s->rows->n), package->n_runtimes, plural(package->n_runtimes),
           package->n_bundles, plural(package->n_bundles), n_done, n_runs, package->started_at,
           finished ? " to " : ", not finished", package->finished_at, package->tool_version);
  const char *p = strstr(html, "</h1>"), *begin = p != NULL ? strstr(p, "<p>") : NULL;
  const char *end = begin != NULL ? strstr(begin, "</p>") : NULL;
  if (end != NULL) assay_verify_page_plain(begin, end, s->value, TEXT_BYTES);
  assay_verify_holds(&s->at, "head", end != NULL && assay_verify_same_letters(expected, s->value),
                     expected, end != NULL ? s->value : "nothing");
}

/* The verdict, and for each topic as many reasons as it says. */
static void check_verdict(setup *s, const char *html) {
  bool qualifies = assay_verify_report_qualifies(s->scene, s->rows);
  const char *h1 = strstr(html, "<h1"), *end = h1 != NULL ? strstr(h1, "</h1>") : NULL;
  if (end == NULL) return;
  assay_verify_page_plain(h1, end, s->value, TEXT_BYTES);
  assay_verify_holds(&s->at, "verdict",
                     qualifies ? strcmp(s->value, "QUALIFIED") == 0
                               : strncmp(s->value, "NOT QUALIFIED:", 14) == 0,
                     qualifies ? "QUALIFIED" : "NOT QUALIFIED", s->value);
  const char *at = strstr(html, "<section id=\"failures\">");
  const char *stop = at != NULL ? strstr(at, "</section>") : NULL;
  for (at = stop != NULL ? strstr(at, "<summary>") : NULL; at != NULL && at < stop;
       at = strstr(at + 1, "<summary>")) {
    const char *close = strstr(at, "</details>");
    size_t n = 0;
    char expected[96];
    for (const char *li = strstr(at, "<li>"); li != NULL && close != NULL && li < close;
         li = strstr(li + 1, "<li>"))
      n++;
    assay_verify_page_plain(at, strstr(at, "</summary>"), s->key, TEXT_BYTES);
    char *colon = strrchr(s->key, ':');
    if (colon == NULL) continue;
    assay_verify_int(&s->at, s->key, strtoll(colon + 1, NULL, 10), (int64_t)n);
    *colon = '\0';
    snprintf(expected, sizeof expected, "%.40s %zu", s->key, n);
    const char *there = strstr(s->value, expected);
    char behind = there != NULL ? there[strlen(expected)] : 'x';
    assay_verify_holds(&s->at, "verdict", behind == ',' || behind == '\0', expected, s->value);
  }
}

/* SHA-256 over a line "digest  size  file" for each file but the report's own. */
static assay_status check_evidence(setup *s, const char *html, assay_error *err) {
  const assay_tree *files = &s->scene->package->files;
  assay_buf lines = {0};
  char expected[65] = "";
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < files->n && st == ASSAY_OK; i++) {
    const assay_tree_entry *entry = &files->entries[i];
    if (strncmp(entry->file, "report/", 7) == 0) continue;
    char *line =
        assay_format("%s  %" PRIu64 "  %s\n", entry->sha256, entry->size_bytes, entry->file);
    st = line != NULL ? assay_buf_append_text(&lines, line, err) : assay_fail_memory(err, 256);
    assay_free(line);
  }
  if (st == ASSAY_OK && files->n > 0)
    st = assay_sha256_bytes(lines.data, lines.size_bytes, expected, err);
  assay_buf_reset(&lines);
  const char *code = strstr(html, "has SHA-256 <code>");
  if (st == ASSAY_OK && code != NULL) {
    assay_verify_page_plain(code, strstr(code, "</code>"), s->value, TEXT_BYTES);
    assay_verify_text(&s->at, "evidence", s->value + strlen("has SHA-256 "), expected);
  }
  return st;
}

/* --- values --------------------------------------------------------------------------------------
 */

/* The value at "a.b.c"; keys may hold points themselves. */
static const assay_json *at_path(const assay_json *value, const char *path) {
  if (*path == '\0') return value;
  for (size_t i = 0; i < assay_json_len(value); i++) {
    if (assay_json_kind_of(value) != ASSAY_JSON_OBJECT) return NULL;
    const char *key = assay_json_key_at(value, i);
    size_t n = strlen(key);
    if (strncmp(path, key, n) != 0 || (path[n] != '.' && path[n] != '\0')) continue;
    const assay_json *found = at_path(assay_json_value_at(value, i), path + n + (path[n] == '.'));
    if (found != NULL) return found;
  }
  return NULL;
}

static bool says(const assay_json *value, const char *text) {
  assay_buf dumped = {0};
  const char *own = assay_json_string(value);
  if (value == NULL) return false;
  if (own == NULL && assay_json_dump(value, /*indented=*/false, &dumped, NULL) == ASSAY_OK)
    own = assay_buf_text(&dumped);
  bool same =
      own != NULL && (assay_verify_same_letters(own, text) || strlen(own) >= TEXT_BYTES - 1);
  assay_buf_reset(&dumped);
  return same;
}

static bool says_int(int64_t value, const char *text) {
  char expected[32];
  snprintf(expected, sizeof expected, "%" PRId64, value);
  return strcmp(expected, text) == 0;
}

static bool says_number(const char *text, const char *word, bool has, double value) {
  const char *at = strstr(text, word);
  if (!has) return at == NULL;
  return at != NULL && strtod(at + strlen(word), NULL) == value;
}

/* Whether the key begins so; what follows is left in *rest. */
static bool begins(const char *key, const char *prefix, const char **rest) {
  size_t n = strlen(prefix);
  if (strncmp(key, prefix, n) != 0) return false;
  *rest = key + n + (key[n] == '.' || key[n] == ' ');
  return true;
}

/* --- what was asked ------------------------------------------------------------------------------
 */

static bool is_command(const assay_package *package, const char *text) {
  assay_buf words = {0};
  bool same = true;
  for (size_t i = 0; i < package->n_command; i++)
    same = same && assay_buf_append_text(&words, package->command[i], NULL) == ASSAY_OK;
  same = same && assay_verify_same_letters(assay_buf_text(&words), text);
  assay_buf_reset(&words);
  return same;
}

static bool is_campaign_fact(const setup *s) {
  const assay_package *p = s->scene->package;
  const struct {
    const char *key;
    int64_t value;
  } counts[] = {{"timed calls of a run", p->iterations},
                {"warm-up calls", p->warmup},
                {"threads", p->threads},
                {"profiled calls of a placement run", p->placement_runs},
                {"time limit of a run (ns)", p->timeout_ns},
                {"processes of a timing", p->processes > 1 ? p->processes : 1}};
  const char *head = NULL;
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
    if (strcmp(s->key, counts[i].key) == 0) return says_int(counts[i].value, s->value);
  if (strcmp(s->key, "command") == 0) return is_command(p, s->value);
  if (strcmp(s->key, "assay version") == 0) return strcmp(p->tool_version, s->value) == 0;
  if (strcmp(s->key, "assay program, SHA-256") == 0) return strcmp(p->tool_sha256, s->value) == 0;
  if (!begins(s->key, "tolerance of", &head)) return false;
  for (size_t i = 0; i < p->n_tolerances; i++) {
    const assay_package_tolerance *t = &p->tolerances[i];
    if (assay_verify_same_letters(t->head != NULL ? t->head : "every head", head) &&
        says_number(s->value, "atol ", t->has_atol, t->atol) &&
        says_number(s->value, "rtol ", t->has_rtol, t->rtol))
      return true;
  }
  return false;
}

/* Options that one of the runs on that runtime had. */
static bool is_option(const setup *s, const char *runtime, const char *path) {
  for (size_t r = 0; r < s->rows->n; r++) {
    const assay_verify_row *row = &s->rows->items[r];
    const assay_verify_run *runs[] = {row->timing, row->placement};
    for (size_t i = 0; i < 2 && strcmp(row->runtime, runtime) == 0; i++)
      if (runs[i] != NULL && runs[i]->is_there &&
          says(at_path(runs[i]->found.options, path), s->value))
        return true;
  }
  return false;
}

static bool is_runtime_fact(const setup *s, const char *name) {
  const assay_package *package = s->scene->package;
  const char *path = NULL;
  for (size_t i = 0; i < package->n_runtimes; i++) {
    const assay_package_runtime *r = &package->runtimes[i];
    if (!assay_verify_same_letters(r->name, name)) continue;
    if (begins(s->key, "asked for", &path)) return says(at_path(r->spec, path), s->value);
    if (begins(s->key, "in effect (first run)", &path)) return is_option(s, r->name, path);
    const char *expected = strcmp(s->key, "library") == 0                     ? r->library_path
                           : strcmp(s->key, "library version") == 0           ? r->library_version
                           : strcmp(s->key, "library, SHA-256") == 0          ? r->library_sha256
                           : strcmp(s->key, "resolved runtime, SHA-256") == 0 ? r->sha256
                                                                              : NULL;
    return expected != NULL && assay_verify_same_letters(expected, s->value);
  }
  return false;
}

static bool is_head_fact(const assay_manifest *m, const char *head, const char *text) {
  for (size_t i = 0; i < m->n_heads; i++) {
    const assay_manifest_tensor *h = &m->heads[i];
    if (assay_verify_same_letters(h->name, head) && says_number(text, "atol ", true, h->atol) &&
        says_number(text, "rtol ", true, h->rtol) &&
        strncmp(text, assay_head_kind_name(h->kind), strlen(assay_head_kind_name(h->kind))) == 0)
      return true;
  }
  return false;
}

static bool is_manifest_fact(const setup *s, const assay_manifest *m) {
  const struct {
    const char *key;
    int64_t value;
  } counts[] = {{"opset", m->opset},
                {"attention operations", m->attention_ops},
                {"fused ones demanded", m->fused_attention_ops}};
  const struct {
    const char *key, *value;
  } texts[] = {
      {"architecture", m->architecture}, {"attention form", m->attention}, {"shapes", m->shapes}};
  const char *rest = NULL;
  for (size_t i = 0; i < 3; i++) {
    if (strcmp(s->key, counts[i].key) == 0) return says_int(counts[i].value, s->value);
    if (strcmp(s->key, texts[i].key) == 0)
      return texts[i].value != NULL && assay_verify_same_letters(texts[i].value, s->value);
  }
  if (begins(s->key, "weights", &rest)) return says(at_path(m->weights, rest), s->value);
  if (begins(s->key, "reference", &rest)) return says(at_path(m->reference, rest), s->value);
  if (begins(s->key, "config", &rest)) return says(at_path(m->config, rest), s->value);
  if (begins(s->key, "head", &rest)) return is_head_fact(m, rest, s->value);
  for (size_t i = 0; strcmp(s->key, "note") == 0 && i < m->n_notes; i++)
    if (assay_verify_same_letters(m->notes[i], s->value)) return true;
  return false;
}

static bool is_model_fact(const setup *s, const char *name) {
  const assay_package *package = s->scene->package;
  for (size_t b = 0; b < package->n_bundles; b++) {
    const assay_package_bundle *bundle = &package->bundles[b];
    if (!assay_verify_same_letters(bundle->name, name)) continue;
    if (strcmp(s->key, "manifest, SHA-256") == 0)
      return strcmp(bundle->manifest_sha256, s->value) == 0;
    if (strcmp(s->key, "model file, SHA-256") == 0)
      return strcmp(bundle->model_sha256, s->value) == 0;
    if (!s->scene->has_manifest[b]) return false;
    if (strcmp(s->key, "precision") != 0) return is_manifest_fact(s, &s->scene->manifests[b]);
    assay_verify_row row = {.manifest = &s->scene->manifests[b]};
    assay_verify_cell cell = {0};
    assay_verify_column_find("precision")->get(&row, &cell);
    return assay_verify_cell_is_exact(&cell, s->value);
  }
  return false;
}

/* --- lines ---------------------------------------------------------------------------------------
 */

static bool is_fact(const setup *s, const char *caption) {
  const char *name = NULL;
  /* A name with a mark for what cannot be shown is not looked for. */
  if (strchr(caption, '\\') != NULL || strchr(s->key, '\\') != NULL) return true;
  if (strcmp(caption, "Command and settings") == 0) return is_campaign_fact(s);
  if (strcmp(caption, "Machine") == 0) return says(at_path(s->machine, s->key), s->value);
  if (begins(caption, "Runtime", &name)) return is_runtime_fact(s, name);
  return begins(caption, "Model", &name) && is_model_fact(s, name);
}

/* Every line of one table: <tr><th scope="row">key</th><td…>value</td></tr>. */
static void check_table(setup *s, const char *table, const char *end) {
  char caption[1024] = "";
  const char *open = strstr(table, "<caption>"), *close = strstr(table, "</caption>");
  if (open != NULL && close != NULL && close < end)
    assay_verify_page_plain(open, close, caption, sizeof caption);
  const char *row = strstr(table, "<tbody>");
  for (row = row != NULL ? strstr(row, "<tr>") : NULL; row != NULL && row < end;
       row = strstr(row + 1, "<tr>")) {
    const char *stop = strstr(row, "</tr>"), *th = strstr(row, "</th>");
    if (stop == NULL || th == NULL || th > stop) continue;
    assay_verify_page_plain(row, th, s->key, TEXT_BYTES);
    assay_verify_page_plain(th, stop, s->value, TEXT_BYTES);
    assay_verify_place here = s->at;
    snprintf(here.within, sizeof here.within, "%.200s: ", caption);
    assay_verify_holds(&here, s->key, is_fact(s, caption), "what the package's own files say",
                       s->value);
  }
}

static void check_tables(setup *s, const char *html) {
  const char *table = html;
  while ((table = strstr(table, "<table class=\"kv\">")) != NULL) {
    const char *end = strstr(table, "</table>");
    if (end == NULL) return;
    check_table(s, table, end);
    table = end;
  }
}

static void read_machine(setup *s) {
  const assay_package *package = s->scene->package;
  char *path = package->machine != NULL ? assay_path_join(s->scene->path, package->machine) : NULL;
  if (path != NULL && assay_json_read(path, MACHINE_MAX_BYTES, &s->machine, NULL))
    s->machine = NULL;
  assay_free(path);
}

assay_status assay_verify_setup_check(const assay_verify_scene *scene, const assay_verify_place *at,
                                      const char *html, const assay_verify_rows *rows,
                                      assay_error *err) {
  setup s = {.scene = scene,
             .rows = rows,
             .at = *at,
             .key = assay_alloc(TEXT_BYTES),
             .value = assay_alloc(TEXT_BYTES)};
  assay_status st =
      s.key != NULL && s.value != NULL ? ASSAY_OK : assay_fail_memory(err, 2 * TEXT_BYTES);
  if (st == ASSAY_OK) {
    read_machine(&s);
    check_counts(&s, html);
    check_verdict(&s, html);
    check_tables(&s, html);
    st = check_evidence(&s, html, err);
  }
  assay_json_destroy(s.machine);
  assay_free(s.key);
  assay_free(s.value);
  return st;
}
