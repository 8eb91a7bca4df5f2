/* Reads each source as what it is, lets the parts judge, and makes one verdict of it. */
#include "fusion/fusion.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "fusion/dispatch.h"
#include "fusion/fusion_parts.h"
#include "fusion/gpu_csv.h"
#include "fusion/gpu_database.h"
#include "fusion/gpu_json.h"
#include "fusion/graph_name.h"
#include "fusion/migraphx_trace.h"
#include "onnx/model_info.h"

#define FINDINGS_OF_A_KIND 8   /* of one level and check; further ones are only counted */
#define EXCERPT_BYTES      240 /* of a line */
#define HEX_DIGITS         64

static const char *const verdict_names[] = {"pass", "fail", "unknown"};
static const char *const kind_names[ASSAY_FUSION_N_KINDS] = {"auto", "dispatch", "migraphx", "nsys",
                                                             "rocprof"};
static const char *const level_names[] = {"note", "proof", "doubt", "offence"};

const char *assay_fusion_verdict_name(assay_fusion_verdict verdict) {
  return verdict_names[verdict];
}

const char *assay_fusion_kind_name(assay_fusion_kind kind) {
  return kind_names[kind];
}

const char *assay_fusion_level_name(assay_fusion_level level) {
  return level_names[level];
}

/* --- what the parts use ----------------------------------------------------------------------- */

bool assay_fusion_grow(assay_fusion_work *work, void **items, size_t n, size_t *cap,
                       size_t item_bytes) {
  if (work->status) return false;
  void *grown = assay_grown(*items, cap, n, item_bytes, work->err);
  if (grown == NULL)
    work->status = ASSAY_E_MEMORY;
  else
    *items = grown;
  return grown != NULL;
}

char *assay_fusion_copy(assay_fusion_work *work, assay_text_span span) {
  char *copy = span.n > 0 ? assay_strndup(span.text, span.n) : assay_strdup("");
  if (copy == NULL && !work->status) work->status = assay_fail_memory(work->err, span.n + 1);
  return copy;
}

static bool is_one_too_many(const assay_fusion *out, assay_fusion_level level, const char *check) {
  size_t n = 0;
  for (size_t i = 0; i < out->n_findings; i++)
    n += out->findings[i].level == level && strcmp(out->findings[i].check, check) == 0;
  return n >= FINDINGS_OF_A_KIND;
}

static char *excerpt_of(assay_fusion_work *work, assay_text_span line) {
  char cut[EXCERPT_BYTES + 1], shown[EXCERPT_BYTES + 8];
  if (line.n == 0) return NULL;
  for (size_t i = 0; i < line.n && i < sizeof cut; i++)
    cut[i] = line.text[i] != '\0' ? line.text[i] : ' ';
  if (line.n < sizeof cut) {
    cut[line.n] = '\0';
  } else {
    memcpy(cut + sizeof cut - 4, "...", 4);
  }
  assay_text_printable(cut, shown, sizeof shown);
  return assay_fusion_copy(work, assay_span_of(shown));
}

void assay_fusion_find(assay_fusion_work *work, assay_fusion_level level, const char *check,
                       size_t source, size_t line, assay_text_span excerpt, const char *format,
                       ...) {
  assay_fusion *out = work->out;
  char text[512], shown[640];
  va_list args;
  if (work->status) return;
  if (is_one_too_many(out, level, check)) {
    out->n_left_out++;
    return;
  }
  void *findings = out->findings;
  size_t old_bytes = out->n_findings * sizeof *out->findings;
  work->status = assay_resize(&findings, old_bytes, old_bytes + sizeof *out->findings, work->err);
  if (work->status) return;
  out->findings = findings;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  assay_text_printable(text, shown, sizeof shown);
  assay_fusion_finding *finding = &out->findings[out->n_findings++];
  *finding = (assay_fusion_finding){.level = level, .check = check, .source = source, .line = line};
  finding->text = assay_fusion_copy(work, assay_span_of(shown));
  finding->excerpt = excerpt_of(work, excerpt);
}

assay_fusion_kernel *assay_fusion_add_kernel(assay_fusion_work *work, assay_text_span name,
                                             assay_kernel_family family, size_t source,
                                             size_t line) {
  assay_fusion *out = work->out;
  void *kernels = out->kernels;
  size_t cap = out->n_kernels; /* doubles at powers of two */
  if (work->status) return NULL;
  if ((cap & (cap - 1)) == 0) {
    size_t more = cap > 0 ? 2 * cap : 1;
    work->status =
        assay_resize(&kernels, cap * sizeof *out->kernels, more * sizeof *out->kernels, work->err);
    if (work->status) return NULL;
    out->kernels = kernels;
  }
  char *copy = assay_fusion_copy(work, name);
  if (copy == NULL) return NULL;
  assay_fusion_kernel *k = &out->kernels[out->n_kernels++];
  *k = (assay_fusion_kernel){.family = family, .name = copy, .source = source, .line = line};
  return k;
}

bool assay_fusion_count_is_right(assay_fusion_work *work, size_t source, const char *what,
                                 int64_t n) {
  int64_t expect = work->spec->expect_fused, n_calls = work->spec->n_calls;
  if (n_calls > 0 && (expect > INT64_MAX / n_calls || n != expect * n_calls)) {
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "count", source, 0, ASSAY_NO_EXCERPT,
                      "expected %" PRId64 " in each of %" PRId64 " calls, found %" PRId64
                      " %s: some are lost, or another process's",
                      expect, n_calls, n, what);
    return false;
  }
  if (n % expect != 0) {
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "count", source, 0, ASSAY_NO_EXCERPT,
                      "expected a multiple of %" PRId64 ", found %" PRId64
                      " %s: some are lost, or another process's",
                      expect, n, what);
    return false;
  }
  assay_fusion_find(work, ASSAY_FUSION_PROOF, "count", source, 0, ASSAY_NO_EXCERPT,
                    "%" PRId64 " %s, %" PRId64 " in each of %" PRId64 " calls", n, what, expect,
                    n / expect);
  return true;
}

/* --- what is asked for ------------------------------------------------------------------------ */

static assay_status take_allowed(assay_fusion_work *work) {
  const assay_fusion_spec *spec = work->spec;
  for (int f = 0; f < ASSAY_KERNEL_N_FAMILIES; f++)
    work->is_allowed[f] =
        spec->n_allowed == 0 && assay_kernel_is_possible((assay_kernel_family)f, spec->sm);
  for (size_t i = 0; i < spec->n_allowed; i++) {
    assay_kernel_family family;
    if (!assay_kernel_of_allowed(spec->allowed[i], &family))
      return assay_fail(work->err, ASSAY_E_ARGUMENT,
                        "no attention kernel is called '%s'; flash, lean, efficient, cudnn, trt, "
                        "decoder, xqa, latent, mlir, ck and the runtime's own words are known",
                        spec->allowed[i]);
    work->is_allowed[family] = true;
  }
  return ASSAY_OK;
}

static assay_status take_graph_inputs(assay_fusion_work *work, const assay_onnx_info *info) {
  size_t n;
  const assay_onnx_value_info *inputs = assay_onnx_info_inputs(info, &n);
  work->inputs = assay_alloc_array(n > 0 ? n : 1, sizeof *work->inputs);
  if (work->inputs == NULL) return assay_fail_memory(work->err, n * sizeof *work->inputs);
  for (size_t i = 0; i < n; i++) {
    assay_fusion_input *input = &work->inputs[work->n_inputs++];
    input->rank = inputs[i].rank <= 16 ? inputs[i].rank : -1;
    for (int axis = 0; axis < input->rank; axis++) input->lens[axis] = inputs[i].dims[axis].size;
    input->name = assay_strdup(inputs[i].name);
    if (input->name == NULL) return assay_fail_memory(work->err, 0);
  }
  return ASSAY_OK;
}

static assay_status take_graph_file(assay_fusion_work *work) {
  const char *path = work->spec->graph_path;
  assay_onnx_info *info = NULL;
  char digest[ASSAY_SHA256_HEX_BYTES];
  if (path == NULL) return ASSAY_OK;
  ASSAY_TRY(assay_sha256_file(path, digest, NULL, work->err));
  if (work->out->graph_sha256[0] != '\0' && strcmp(work->out->graph_sha256, digest) != 0)
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "graph", 0, 0, ASSAY_NO_EXCERPT,
                      "the graph that ran is said to be %.16s…, its file is %.16s…",
                      work->out->graph_sha256, digest);
  else
    snprintf(work->out->graph_sha256, sizeof work->out->graph_sha256, "%s", digest);
  ASSAY_TRY(assay_onnx_info_open(path, &info, work->err));
  assay_status st = take_graph_inputs(work, info);
  assay_onnx_info_close(info);
  return st;
}

static assay_status take_graph(assay_fusion_work *work) {
  const char *said = work->spec->graph_sha256;
  if (said != NULL) {
    if (strlen(said) != HEX_DIGITS || strspn(said, "0123456789abcdef") != HEX_DIGITS)
      return assay_fail(work->err, ASSAY_E_ARGUMENT,
                        "the graph's SHA-256: expected 64 lower-case hex digits, found '%s'", said);
    snprintf(work->out->graph_sha256, sizeof work->out->graph_sha256, "%s", said);
  }
  ASSAY_TRY(take_graph_file(work));
  work->out->graph_origin = work->out->graph_sha256[0] != '\0' ? "said by the caller" : "not said";
  return work->status;
}

/* --- sources ---------------------------------------------------------------------------------- */

/* What all texts together hold. */
typedef struct gathered {
  assay_dispatch dispatch;
  assay_migraphx migraphx;
  bool has_text, speaks_of_migraphx;
  bool has_other_list; /* of kernels, in a form that is not read */
} gathered;

static bool is_wanted(const assay_fusion_work *work, assay_fusion_kind kind) {
  return work->spec->kind == ASSAY_FUSION_AUTO || work->spec->kind == kind;
}

static void set_format(assay_fusion_work *work, size_t source, const char *format) {
  assay_free(work->out->sources[source].format);
  work->out->sources[source].format = assay_fusion_copy(work, assay_span_of(format));
}

static void take_database(assay_fusion_work *work, const assay_fusion_file *file) {
  assay_fusion_kind kind;
  set_format(work, file->source, "SQLite");
  bool is_good = assay_gpu_database_take(work, file, &kind);
  work->out->sources[file->source].kind = kind;
  work->out->sources[file->source].usable = kind != ASSAY_FUSION_AUTO;
  work->shown[kind] |= is_good;
}

static void take_list(assay_fusion_work *work, const assay_fusion_file *file,
                      assay_fusion_kind kind, bool is_json) {
  set_format(work, file->source, is_json ? "JSON" : "CSV");
  work->out->sources[file->source].kind = kind;
  work->shown[kind] = true;
  if (is_json)
    assay_gpu_json_take(work, file);
  else
    assay_gpu_csv_take(work, file);
}

static void take_log(assay_fusion_work *work, const assay_fusion_file *file, gathered *all) {
  size_t n_lines = all->dispatch.channels[0].n + all->dispatch.channels[1].n;
  size_t n_compiles = all->migraphx.n_compiles;
  all->has_text = true;
  if (is_wanted(work, ASSAY_FUSION_DISPATCH)) assay_dispatch_take(&all->dispatch, work, file);
  if (is_wanted(work, ASSAY_FUSION_MIGRAPHX)) assay_migraphx_take(&all->migraphx, work, file);
  if (all->dispatch.channels[0].n + all->dispatch.channels[1].n > n_lines) {
    work->shown[ASSAY_FUSION_DISPATCH] = true;
    work->out->sources[file->source].kind = ASSAY_FUSION_DISPATCH;
  }
  if (all->migraphx.n_compiles > n_compiles)
    work->out->sources[file->source].kind = ASSAY_FUSION_MIGRAPHX;
}

static bool holds(assay_text_span text, const char *part) {
  return assay_span_find(text, part, 0) < text.n;
}

/* Graphs that lines name, and what shows that the text is about MIGraphX. true: it is a list of
 * kernels of some form, such as the table that nsys stats prints on a terminal. */
static bool look_through(assay_fusion_work *work, const assay_fusion_file *file, gathered *all) {
  bool is_list = false;
  assay_log_lines lines = assay_log_lines_of(file->bytes, file->size_bytes);
  assay_log_line line;
  while (!work->status && assay_log_lines_next(&lines, &line)) {
    assay_graph_name_take(work, file->source, line.number, line.text);
    all->speaks_of_migraphx |= holds(line.text, "migraphx") || holds(line.text, "MIGraphX");
    is_list |= (holds(line.text, "Total Time (") && holds(line.text, "Instances")) ||
               (holds(line.text, "GrdX") && holds(line.text, "Start (")) ||
               holds(line.text, "KERNEL_DISPATCH");
  }
  return is_list;
}

/* What a file is that is none of those; NULL: it may be text. */
static const char *other_format(const assay_fusion_file *file) {
  const unsigned char *bytes = file->bytes;
  size_t n = file->size_bytes < 4096 ? file->size_bytes : 4096;
  if (n >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b) return "gzip: unpack it first";
  size_t n_controls = 0;
  for (size_t i = 0; i < n; i++)
    n_controls += bytes[i] == 0 || (bytes[i] < 0x20 && strchr("\t\n\r\x1b\f", bytes[i]) == NULL);
  return n_controls > n / 8 + 1 ? "binary" : NULL;
}

static void take_text(assay_fusion_work *work, const assay_fusion_file *file, gathered *all) {
  assay_text_span text = {.text = file->bytes, .n = file->size_bytes};
  const char *nul = text.n > 0 ? memchr(text.text, '\0', text.n) : NULL;
  const char *other = other_format(file);
  if (other != NULL) {
    set_format(work, file->source, other);
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "complete", file->source, 0, ASSAY_NO_EXCERPT,
                      "neither a log, a list of kernels nor a database (%s)", other);
    return;
  }
  set_format(work, file->source, "text");
  work->out->sources[file->source].usable = true;
  if (nul != NULL) {
    size_t line = 1;
    for (const char *c = text.text; c < nul; c++) line += *c == '\n';
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "lines", file->source, line, ASSAY_NO_EXCERPT,
                      "a NUL byte: the text is damaged");
  }
  bool is_list = look_through(work, file, all);
  bool is_json = assay_gpu_json_is(file->bytes, file->size_bytes);
  assay_fusion_kind list =
      is_json ? ASSAY_FUSION_ROCPROF : assay_gpu_csv_kind(file->bytes, file->size_bytes);
  all->has_other_list |= is_list && list == ASSAY_FUSION_AUTO;
  if (list != ASSAY_FUSION_AUTO && is_wanted(work, list)) take_list(work, file, list, is_json);
  if (!is_json) take_log(work, file, all); /* a list may stand in a log */
}

/* What an editor or a shell puts in front of UTF-8. */
static assay_fusion_file without_byte_order_mark(const assay_fusion_file *file) {
  static const char mark[] = "\xef\xbb\xbf";
  assay_text_span text = {.text = file->bytes, .n = file->size_bytes};
  assay_fusion_file plain = *file;
  if (!assay_span_begins(text, mark)) return plain;
  plain.bytes = text.text + sizeof mark - 1;
  plain.size_bytes -= sizeof mark - 1;
  return plain;
}

static void take_bytes(assay_fusion_work *work, const assay_fusion_file *file, gathered *all) {
  char digest[ASSAY_SHA256_HEX_BYTES];
  if (!work->status)
    work->status = assay_sha256_bytes(file->bytes, file->size_bytes, digest, work->err);
  if (work->status) return;
  work->out->sources[file->source].sha256 = assay_fusion_copy(work, assay_span_of(digest));
  const assay_fusion_file plain = without_byte_order_mark(file);
  if (assay_gpu_database_is(file->bytes, file->size_bytes))
    take_database(work, file);
  else
    take_text(work, &plain, all);
}

static void take_source(assay_fusion_work *work, size_t i, gathered *all) {
  const assay_fusion_source *source = &work->spec->sources[i];
  assay_fusion_file file = {.source = i,
                            .path = source->path,
                            .bytes = source->bytes != NULL ? source->bytes : "",
                            .size_bytes = source->size_bytes};
  assay_file_map map = {0};
  assay_error err = {0};
  const char *name = source->name != NULL ? source->name : source->path;
  work->out->sources[i].name = assay_fusion_copy(work, assay_span_of(name != NULL ? name : "-"));
  if (source->path != NULL) {
    if (assay_file_map_open(source->path, &map, &err)) {
      set_format(work, i, "unreadable");
      assay_fusion_find(work, ASSAY_FUSION_DOUBT, "complete", i, 0, ASSAY_NO_EXCERPT, "%s",
                        err.text);
      return;
    }
    file.bytes = map.data != NULL ? (const void *)map.data : "";
    file.size_bytes = map.size_bytes;
  }
  take_bytes(work, &file, all);
  assay_file_map_close(&map);
}

/* --- the verdict ------------------------------------------------------------------------------ */

/* Texts that hold nothing of either kind: which one is missing? */
static void judge_texts(assay_fusion_work *work, const gathered *all) {
  assay_fusion_kind kind = work->spec->kind;
  bool is_nothing = kind == ASSAY_FUSION_AUTO && all->has_text;
  bool is_list = kind == ASSAY_FUSION_NSYS || kind == ASSAY_FUSION_ROCPROF;
  for (int k = 1; k < ASSAY_FUSION_N_KINDS; k++) is_nothing = is_nothing && !work->shown[k];
  if (all->has_other_list && (is_nothing || (is_list && !work->shown[kind]))) {
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "lines", 0, 0, ASSAY_NO_EXCERPT,
                      "a list of kernels in a form that is not read: it is needed as SQLite, or as "
                      "CSV (nsys stats --report cuda_gpu_kern_sum --format csv)");
    return;
  }
  bool wants_programs = kind == ASSAY_FUSION_MIGRAPHX || (is_nothing && all->speaks_of_migraphx);
  bool wants_lines = kind == ASSAY_FUSION_DISPATCH || (is_nothing && !all->speaks_of_migraphx);
  assay_dispatch_judge(&all->dispatch, work, wants_lines);
  assay_migraphx_judge(&all->migraphx, work, wants_programs);
  if (is_list && !work->shown[kind])
    assay_fusion_find(work, ASSAY_FUSION_OFFENCE, "lines", 0, 0, ASSAY_NO_EXCERPT,
                      "no list of kernels of %s", assay_fusion_kind_name(kind));
}

static const assay_fusion_finding *first_of(const assay_fusion *out, assay_fusion_level level) {
  for (size_t i = 0; i < out->n_findings; i++)
    if (out->findings[i].level == level) return &out->findings[i];
  return NULL;
}

static void make_verdict(assay_fusion *out) {
  const assay_fusion_finding *offence = first_of(out, ASSAY_FUSION_OFFENCE);
  const assay_fusion_finding *doubt = first_of(out, ASSAY_FUSION_DOUBT);
  const assay_fusion_finding *proof = first_of(out, ASSAY_FUSION_PROOF);
  const assay_fusion_finding *decides = offence != NULL ? offence : doubt != NULL ? doubt : proof;
  out->verdict = offence != NULL                  ? ASSAY_FUSION_FAIL
                 : doubt != NULL || proof == NULL ? ASSAY_FUSION_UNKNOWN
                                                  : ASSAY_FUSION_PASS;
  if (decides == NULL)
    snprintf(out->reason, sizeof out->reason, "nothing was shown");
  else if (out->verdict == ASSAY_FUSION_PASS)
    snprintf(out->reason, sizeof out->reason, "complete and consistent evidence");
  else
    snprintf(out->reason, sizeof out->reason, "%s", decides->text);
}

static void judge_all(assay_fusion_work *work) {
  gathered all = {0};
  for (size_t i = 0; i < work->spec->n_sources && !work->status; i++) take_source(work, i, &all);
  if (!work->status) judge_texts(work, &all);
  if (!work->status) make_verdict(work->out);
  assay_dispatch_reset(&all.dispatch);
}

static void release_inputs(assay_fusion_work *work) {
  for (size_t i = 0; i < work->n_inputs; i++) assay_free(work->inputs[i].name);
  assay_free(work->inputs);
}

static assay_status begin(assay_fusion_work *work) {
  const assay_fusion_spec *spec = work->spec;
  assay_fusion *out = work->out;
  if (spec->n_sources == 0) return assay_fail(work->err, ASSAY_E_ARGUMENT, "no evidence to judge");
  out->sources = assay_alloc_array(spec->n_sources, sizeof *out->sources);
  if (out->sources == NULL) return assay_fail_memory(work->err, 0);
  out->n_sources = spec->n_sources;
  out->expect_fused = spec->expect_fused;
  out->n_calls = spec->n_calls;
  out->n_elems = spec->n_elems;
  out->sm = spec->sm;
  if (spec->case_name != NULL)
    out->case_name = assay_fusion_copy(work, assay_span_of(spec->case_name));
  ASSAY_TRY(take_allowed(work));
  return take_graph(work);
}

assay_status assay_fusion_judge(const assay_fusion_spec *spec, assay_fusion *out,
                                assay_error *err) {
  assay_fusion made = {0};
  assay_fusion_work work = {.spec = spec, .out = &made, .err = err};
  assay_status st = begin(&work);
  if (!st) {
    judge_all(&work);
    st = work.status;
  }
  release_inputs(&work);
  if (st) {
    assay_fusion_reset(&made);
    return st;
  }
  *out = made;
  return ASSAY_OK;
}

void assay_fusion_reset(assay_fusion *fusion) {
  for (size_t i = 0; i < fusion->n_sources; i++) {
    assay_free(fusion->sources[i].name);
    assay_free(fusion->sources[i].format);
    assay_free(fusion->sources[i].sha256);
  }
  for (size_t i = 0; i < fusion->n_findings; i++) {
    assay_free(fusion->findings[i].text);
    assay_free(fusion->findings[i].excerpt);
  }
  for (size_t i = 0; i < fusion->n_kernels; i++) {
    assay_free(fusion->kernels[i].name);
    assay_free(fusion->kernels[i].op);
    assay_free(fusion->kernels[i].node);
    assay_free(fusion->kernels[i].dtype);
  }
  for (size_t i = 0; i < fusion->n_programs; i++) assay_free(fusion->programs[i].inputs);
  assay_free(fusion->sources);
  assay_free(fusion->findings);
  assay_free(fusion->kernels);
  assay_free(fusion->programs);
  assay_free(fusion->case_name);
  *fusion = (assay_fusion){0};
}
