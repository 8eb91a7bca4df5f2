#include "fusion/gpu_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "fusion/gpu_list.h"

#define ROOT_KEY "rocprofiler-sdk-tool"
/* A dispatch takes 1 kB of text and four times that in memory: a quarter of a million of them. */
#define TEXT_MAX_BYTES ((size_t)256 << 20)
#define AGENT_GPU      2 /* rocprofiler_agent_type_t */

typedef struct symbol {
  int64_t kernel_id;
  const char *name; /* borrowed */
} symbol;

/* One process of the file. */
typedef struct process {
  assay_fusion_work *work;
  const assay_fusion_file *file;
  assay_gpu_list *list;
  char pid[24];
  int64_t begin_ns, end_ns;       /* of the process; 0: it does not say */
  const assay_json *kinds;        /* array; NULL: it does not say */
  symbol *symbols;                /* [n_symbols], by kernel_id */
  int64_t *gpus;                  /* [n_gpus] handles, ascending; NULL: it does not say */
  size_t n_symbols, n_gpus, line; /* line: number of the dispatch, over all processes */
} process;

static void doubt(const process *p, const char *check, size_t line, const char *what) {
  p->list->is_damaged |= line > 0; /* a dispatch that is left out */
  assay_fusion_find(p->work, ASSAY_FUSION_DOUBT, check, p->file->source, line, ASSAY_NO_EXCERPT,
                    "%s", what);
}

/* Handles and numbers are unsigned: the larger ones have become strings (tame), and are nothing
 * that is compared or counted. */
static bool take_int(const assay_json *object, const char *key, int64_t *out) {
  const assay_json *value = assay_json_get(object, key);
  if (value == NULL || assay_json_kind_of(value) != ASSAY_JSON_INT) return false;
  *out = assay_json_int(value);
  return true;
}

/* --- symbols and agents ----------------------------------------------------------------------- */

static int by_kernel(const void *a, const void *b) {
  const symbol *x = a, *y = b;
  return (x->kernel_id > y->kernel_id) - (x->kernel_id < y->kernel_id);
}

static int by_number(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static assay_text_span without_suffix(const char *name) {
  assay_text_span span = assay_span_of(name);
  return assay_span_ends(span, ".kd") ? assay_span_cut(span, 0, span.n - 3) : span;
}

/* The name in full; NULL where there is none, or two that are not the same. Kernels of C++ have a
 * mangled one beside it, those of compilers do not. */
static const char *name_of(const assay_json *entry) {
  const char *raw = assay_json_string(assay_json_get(entry, "kernel_name"));
  const char *full = assay_json_string(assay_json_get(entry, "demangled_kernel_name"));
  if (full == NULL || full[0] == '\0')
    full = assay_json_string(assay_json_get(entry, "formatted_kernel_name"));
  if (full == NULL || full[0] == '\0') return raw;
  if (raw != NULL && raw[0] != '\0' && strncmp(raw, "_Z", 2) != 0 &&
      !assay_span_equal(without_suffix(raw), without_suffix(full)))
    return NULL;
  return full;
}

/* The first entry stands for no kernel: it has no name, and is left out. */
static void take_symbols(process *p, const assay_json *root) {
  const assay_json *entries = assay_json_get(root, "kernel_symbols");
  size_t n = assay_json_kind_of(entries) == ASSAY_JSON_ARRAY ? assay_json_len(entries) : 0;
  p->symbols = assay_alloc_array(n + 1, sizeof *p->symbols);
  if (p->symbols == NULL) {
    p->work->status = assay_fail_memory(p->work->err, n * sizeof *p->symbols);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    symbol s = {.name = name_of(assay_json_at(entries, i))};
    if (s.name != NULL && s.name[0] != '\0' &&
        take_int(assay_json_at(entries, i), "kernel_id", &s.kernel_id))
      p->symbols[p->n_symbols++] = s;
  }
  if (p->n_symbols > 0) qsort(p->symbols, p->n_symbols, sizeof *p->symbols, by_kernel);
  for (size_t i = 1; i < p->n_symbols; i++)
    if (p->symbols[i].kernel_id == p->symbols[i - 1].kernel_id) {
      doubt(p, "lines", 0, "two kernels of one number: two runs in one file?");
      return;
    }
}

static void take_gpus(process *p, const assay_json *root) {
  const assay_json *agents = assay_json_get(root, "agents");
  if (agents == NULL || assay_json_kind_of(agents) != ASSAY_JSON_ARRAY) return;
  p->gpus = assay_alloc_array(assay_json_len(agents) + 1, sizeof *p->gpus);
  if (p->gpus == NULL) {
    p->work->status = assay_fail_memory(p->work->err, 0);
    return;
  }
  for (size_t i = 0; i < assay_json_len(agents); i++) {
    const assay_json *agent = assay_json_at(agents, i);
    int64_t type = 0;
    if (take_int(agent, "type", &type) && type == AGENT_GPU &&
        take_int(assay_json_get(agent, "id"), "handle", &p->gpus[p->n_gpus]))
      p->n_gpus++;
  }
  if (p->n_gpus > 0) qsort(p->gpus, p->n_gpus, sizeof *p->gpus, by_number);
}

/* --- dispatches ------------------------------------------------------------------------------- */

/* What is wrong with a dispatch, or NULL. */
static const char *contradiction(const process *p, const assay_json *entry, const assay_json *info,
                                 const assay_gpu_row *row) {
  int64_t kind, agent;
  if (p->kinds != NULL) {
    if (!take_int(entry, "kind", &kind) || kind < 0) return "a record without its kind";
    const char *name =
        assay_json_string(assay_json_get(assay_json_at(p->kinds, (size_t)kind), "kind"));
    if (name == NULL || strcmp(name, "KERNEL_DISPATCH") != 0)
      return "a record of another kind than a dispatch";
  }
  if (p->gpus != NULL &&
      (!take_int(assay_json_get(info, "agent_id"), "handle", &agent) || p->n_gpus == 0 ||
       bsearch(&agent, p->gpus, p->n_gpus, sizeof *p->gpus, by_number) == NULL))
    return "a dispatch on no GPU of this profile";
  if ((p->begin_ns > 0 && row->begin_ns < p->begin_ns) ||
      (p->end_ns > 0 && row->end_ns > p->end_ns))
    return "a dispatch outside the time of its process: another run's?";
  return NULL;
}

static void take_dispatch(process *p, const assay_json *entry) {
  const assay_json *info = assay_json_get(entry, "dispatch_info");
  assay_gpu_row row = {.process = assay_span_of(p->pid), .n = 1, .percent = -1, .line = ++p->line};
  symbol wanted = {0};
  if (!take_int(entry, "start_timestamp", &row.begin_ns) ||
      !take_int(entry, "end_timestamp", &row.end_ns) ||
      !take_int(info, "dispatch_id", &row.dispatch) || row.dispatch < 0 || row.begin_ns < 0 ||
      !take_int(info, "kernel_id", &wanted.kernel_id)) {
    doubt(p, "lines", row.line, "a dispatch without its kernel, its number or its times");
    return;
  }
  const symbol *found =
      p->n_symbols > 0 ? bsearch(&wanted, p->symbols, p->n_symbols, sizeof *p->symbols, by_kernel)
                       : NULL;
  const char *wrong = contradiction(p, entry, info, &row);
  if (found == NULL) wrong = "a dispatch of a kernel that is not listed, or under two names";
  if (wrong != NULL) {
    doubt(p, "lines", row.line, wrong);
    return;
  }
  row.name = row.excerpt = assay_span_of(found->name);
  assay_gpu_list_add(p->list, &row);
}

/* The profiler's own count, where it made one. */
static void compare_count(process *p, const assay_json *root, size_t n_dispatches) {
  const assay_json *domains = assay_json_get(root, "summary");
  for (size_t i = 0; i < assay_json_len(domains); i++) {
    const assay_json *domain = assay_json_at(domains, i);
    const char *name = assay_json_string(assay_json_get(domain, "domain"));
    int64_t n;
    if (name != NULL && strcmp(name, "KERNEL_DISPATCH") == 0 &&
        take_int(assay_json_get(domain, "stats"), "count", &n) && n != (int64_t)n_dispatches)
      doubt(p, "lines", 0, "the profiler counted another number of dispatches: some are lost");
  }
}

static void take_process(process *p, const assay_json *root) {
  const assay_json *metadata = assay_json_get(root, "metadata");
  const assay_json *kinds = assay_json_get(assay_json_get(root, "strings"), "buffer_records");
  const assay_json *records =
      assay_json_get(assay_json_get(root, "buffer_records"), "kernel_dispatch");
  int64_t pid = 0;
  if (!take_int(metadata, "pid", &pid)) doubt(p, "process", 0, "it does not say whose it is");
  snprintf(p->pid, sizeof p->pid, "%" PRId64, pid);
  (void)take_int(metadata, "init_time", &p->begin_ns);
  (void)take_int(metadata, "fini_time", &p->end_ns);
  if (assay_json_kind_of(kinds) == ASSAY_JSON_ARRAY) p->kinds = kinds;
  take_symbols(p, root);
  if (!p->work->status) take_gpus(p, root);
  size_t n = assay_json_kind_of(records) == ASSAY_JSON_ARRAY ? assay_json_len(records) : 0;
  for (size_t i = 0; i < n && !p->work->status; i++) take_dispatch(p, assay_json_at(records, i));
  if (!p->work->status) compare_count(p, root, n);
  assay_free(p->symbols);
  assay_free(p->gpus);
}

/* --- the text --------------------------------------------------------------------------------- */

static bool is_beyond_int64(assay_text_span token) {
  int64_t value;
  if (assay_span_is(token, "NaN") || assay_span_ends(token, "Infinity")) return true;
  for (size_t i = 0; i < token.n; i++)
    if (token.text[i] < '0' || token.text[i] > '9') return false;
  return !assay_span_int(token, &value);
}

static bool is_token_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.';
}

/* The profiler writes unsigned numbers beyond 2^63 (sums of squares, handles), and NaN, neither of
 * which our JSON has: such a token is put in quotes. */
static assay_status tame(assay_text_span text, assay_buf *out, assay_error *err) {
  size_t kept = 0; /* up to there the text is in out */
  for (size_t at = 0; at < text.n;) {
    size_t from = at;
    if (text.text[at] == '"') {
      for (at++; at < text.n && text.text[at] != '"'; at++) at += text.text[at] == '\\';
      at++;
      continue;
    }
    while (at < text.n && is_token_char(text.text[at])) at++;
    assay_text_span token = assay_span_cut(text, from, at);
    if (token.n > 0 && is_beyond_int64(token)) {
      ASSAY_TRY(assay_buf_append(out, text.text + kept, from - kept, err));
      ASSAY_TRY(
          assay_buf_appendf(out, err, "\"%.*s\"", token.n < 64 ? (int)token.n : 64, token.text));
      kept = at;
    }
    at += token.n == 0;
  }
  return assay_buf_append(out, text.text + kept, text.n - kept, err);
}

static assay_json *parse(assay_fusion_work *work, const assay_fusion_file *file) {
  assay_buf text = {0};
  assay_json *root = NULL;
  assay_error err = {0};
  work->status = tame((assay_text_span){file->bytes, file->size_bytes}, &text, work->err);
  assay_status st = work->status;
  if (!st) st = assay_json_parse(text.data, text.size_bytes, &root, &err);
  assay_buf_reset(&text);
  if (st == ASSAY_E_MEMORY && !work->status) work->status = assay_fail_memory(work->err, 0);
  if (st && !work->status)
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "complete", file->source, 0, ASSAY_NO_EXCERPT,
                      "cut or damaged: %s", err.text);
  return root;
}

bool assay_gpu_json_is(const void *bytes, size_t size_bytes) {
  assay_text_span text = {bytes, size_bytes < 4096 ? size_bytes : 4096};
  size_t at = 0;
  while (at < text.n && strchr(" \t\r\n", text.text[at]) != NULL && text.text[at] != '\0') at++;
  return at < text.n && text.text[at] == '{' &&
         assay_span_find(text, "\"" ROOT_KEY "\"", at) < text.n;
}

void assay_gpu_json_take(assay_fusion_work *work, const assay_fusion_file *file) {
  assay_gpu_list list;
  if (file->size_bytes > TEXT_MAX_BYTES) {
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "complete", file->source, 0, ASSAY_NO_EXCERPT,
                      "more than %zu MiB of JSON: rocprofv3's CSV or rocpd takes less",
                      TEXT_MAX_BYTES >> 20);
    return;
  }
  assay_json *root = parse(work, file);
  if (root == NULL) return;
  const assay_json *tool = assay_json_get(root, ROOT_KEY);
  bool is_array = tool != NULL && assay_json_kind_of(tool) == ASSAY_JSON_ARRAY;
  size_t n = is_array ? assay_json_len(tool) : tool != NULL, line = 0;
  assay_gpu_list_begin(&list, work, file->source);
  for (size_t i = 0; i < n && !work->status; i++) {
    process p = {.work = work, .file = file, .list = &list, .line = line};
    take_process(&p, is_array ? assay_json_at(tool, i) : tool);
    line = p.line;
  }
  assay_gpu_list_end(&list);
  assay_json_destroy(root);
}
