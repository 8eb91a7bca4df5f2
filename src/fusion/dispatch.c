#include "fusion/dispatch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "fusion/span_index.h"

#define LINE_MAX_BYTES 4096 /* with its colours; longer ones are damaged */

#define KERNELS_MAX 1024 /* different nodes and kernels: more is nothing that a model does */

enum { STDOUT, LOG };

/* --- one line --------------------------------------------------------------------------------- */

/* Without the escape sequences ESC [ … letter. false: too long, a sequence without an end, or
 * another control character. */
static bool strip_colours(assay_text_span text, char *out) {
  size_t n = 0;
  if (text.n >= LINE_MAX_BYTES) return false;
  for (size_t i = 0; i < text.n; i++) {
    unsigned char c = (unsigned char)text.text[i];
    if (c != 0x1b) {
      if (c < 0x20 && c != '\t') return false;
      out[n++] = (char)c;
      continue;
    }
    if (i + 1 >= text.n || text.text[i + 1] != '[') return false;
    for (i += 2; i < text.n && strchr("0123456789;", text.text[i]) != NULL; i++) {
    }
    if (i == text.n) return false;
  }
  out[n] = '\0';
  return true;
}

static bool take_field(assay_text_span text, size_t from, size_t to, char *out, size_t out_bytes) {
  assay_text_span field = assay_span_cut(text, from, to);
  if (field.n == 0 || field.n >= out_bytes) return false;
  assay_span_copy(field, out, out_bytes);
  return true;
}

/* The one kernel behind the data type: " SdpaKernel=NAME[ key=value]…", or 1.19's " NAME=1". */
static bool take_kernel(assay_text_span rest, assay_dispatch_line *out) {
  size_t end = assay_span_find(rest, " ", 0);
  assay_text_span word = assay_span_cut(rest, 0, end);
  if (assay_span_begins(word, "SdpaKernel=")) {
    if (assay_span_find(rest, "SdpaKernel=", 1) < rest.n) return false;
    return take_field(word, strlen("SdpaKernel="), word.n, out->kernel, sizeof out->kernel);
  }
  if (end != rest.n || !assay_span_ends(word, "=1")) return false;
  return take_field(word, 0, word.n - 2, out->kernel, sizeof out->kernel);
}

/* "Operator=… [Node=… ]DataType=… …": names of nodes may hold blanks and equals signs. */
static bool parse_stdout(assay_text_span text, assay_dispatch_line *out) {
  static const char node_key[] = " Node=", type_key[] = " DataType=";
  size_t type = assay_span_find_last(text, type_key), node = assay_span_find(text, node_key, 0);
  size_t first = node < type ? node : type;
  if (type == text.n || assay_span_find(text, "Operator=", 1) < text.n) return false;
  if (!take_field(text, strlen("Operator="), first, out->op, sizeof out->op)) return false;
  if (strpbrk(out->op, " =") != NULL) return false;
  if (node < type && !take_field(text, node + strlen(node_key), type, out->node, sizeof out->node))
    return false;
  size_t value = type + strlen(type_key), end = assay_span_find(text, " ", value);
  if (end == text.n || !take_field(text, value, end, out->dtype, sizeof out->dtype)) return false;
  return take_kernel(assay_span_cut(text, end + 1, text.n), out) &&
         assay_kernel_of_word(out->kernel, &out->family);
}

static const struct {
  const char *words;
  assay_kernel_family family;
} logged[] = {
    {"ONNX Attention: using Flash Attention", ASSAY_KERNEL_FLASH},
    {"ONNX Attention: using Memory Efficient Attention", ASSAY_KERNEL_EFFICIENT},
    {"ONNX Attention: using cuDNN SDPA", ASSAY_KERNEL_CUDNN},
    {"Attention: using unified unfused path", ASSAY_KERNEL_UNFUSED},
};

/* The message of a record "[…] message", or the whole line of another logger. */
static bool parse_logged(assay_text_span text, assay_dispatch_line *out) {
  size_t at = assay_span_find(text, "Attention: using ", 0);
  if (assay_span_find(text, "Attention: using ", at + 1) < text.n) return false;
  if (at >= 5 && memcmp(text.text + at - 5, "ONNX ", 5) == 0) at -= 5;
  if (at > 0 && (at < 2 || memcmp(text.text + at - 2, "] ", 2) != 0)) return false;
  assay_text_span message = assay_span_cut(text, at, text.n);
  for (size_t i = 0; i < sizeof logged / sizeof *logged; i++) {
    size_t n = strlen(logged[i].words);
    if (!assay_span_begins(message, logged[i].words)) continue;
    if (message.n > n && message.text[n] != ' ' && message.text[n] != '.') return false;
    snprintf(out->op, sizeof out->op, "Attention");
    size_t from = (size_t)(strstr(logged[i].words, "using ") + 6 - logged[i].words);
    assay_span_copy(assay_span_cut(message, from, n), out->kernel, sizeof out->kernel);
    out->family = logged[i].family;
    return true;
  }
  return false;
}

static bool holds(assay_text_span text, const char *part) {
  return assay_span_find(text, part, 0) < text.n;
}

/* Words that stand in no other line. */
static bool is_marked(assay_text_span text) {
  return holds(text, "SdpaKernel=") || holds(text, "Operator=") || holds(text, " DataType=") ||
         holds(text, "_ATTENTION=") || holds(text, "Attention: using ") || holds(text, "MATH=");
}

void assay_dispatch_line_parse(assay_log_line line, assay_dispatch_line *out) {
  char plain[LINE_MAX_BYTES];
  memset(out, 0, sizeof *out);
  if (holds(line.text, "] Initializing session.")) out->what = ASSAY_DISPATCH_SESSION;
  if (!is_marked(line.text)) return;
  out->what = ASSAY_DISPATCH_MALFORMED;
  if (!line.is_ended || !strip_colours(line.text, plain)) return;
  assay_text_span text = assay_span_of(plain);
  if (assay_span_begins(text, "Operator=")) {
    if (parse_stdout(text, out)) out->what = ASSAY_DISPATCH_KERNEL;
  } else if (holds(text, "Attention: using ")) {
    if (parse_logged(text, out)) out->what = ASSAY_DISPATCH_LOGGED;
  } else if (assay_span_begins(text, "AttentionKernelOptions: ")) {
    if (assay_span_find(text, "AttentionKernelOptions: ", 1) == text.n)
      out->what = ASSAY_DISPATCH_OPTIONS;
  } else if (assay_span_begins(text, "Warning: Unfused kernel cannot be disabled")) {
    out->what = ASSAY_DISPATCH_NONE;
  }
}

/* --- all lines -------------------------------------------------------------------------------- */

static bool same(const char *a, const char *b) {
  return a != NULL && strcmp(a, b) == 0;
}

/* The entry of the same node, operator, type and kernel of this source; made where it is new. */
static size_t kernel_entry(assay_fusion_work *work, size_t source, size_t number,
                           const assay_dispatch_line *line) {
  assay_fusion *out = work->out;
  for (size_t i = 0; i < out->n_kernels; i++) {
    const assay_fusion_kernel *k = &out->kernels[i];
    if (k->source == source && same(k->name, line->kernel) && same(k->op, line->op) &&
        same(k->node, line->node) && same(k->dtype, line->dtype))
      return i;
  }
  assay_fusion_kernel *k =
      assay_fusion_add_kernel(work, assay_span_of(line->kernel), line->family, source, number);
  if (k == NULL) return 0;
  k->op = assay_fusion_copy(work, assay_span_of(line->op));
  k->node = assay_fusion_copy(work, assay_span_of(line->node));
  k->dtype = assay_fusion_copy(work, assay_span_of(line->dtype));
  return out->n_kernels - 1;
}

/* The same, found at once for a line that was seen before. */
static size_t entry_of(assay_fusion_work *work, assay_span_index *seen, size_t source,
                       assay_log_line text, const assay_dispatch_line *line) {
  size_t entry;
  if (assay_span_index_find(seen, text.text, &entry)) return entry;
  entry = kernel_entry(work, source, text.number, line);
  if (!work->status) work->status = assay_span_index_set(seen, text.text, entry, work->err);
  return entry;
}

static void take_line(struct assay_dispatch_channel *channel, assay_fusion_work *work,
                      assay_span_index *seen, size_t source, assay_log_line text,
                      const assay_dispatch_line *line) {
  void *items = channel->sequence;
  if (!assay_fusion_grow(work, &items, channel->n, &channel->cap, sizeof *channel->sequence))
    return;
  channel->sequence = items;
  size_t entry = entry_of(work, seen, source, text, line);
  if (work->status) return;
  if (channel->n == 0) {
    channel->source = source;
    channel->all_named = true;
  }
  channel->sequence[channel->n++] = entry;
  channel->all_named = channel->all_named && line->node[0] != '\0';
  assay_fusion_kernel *k = &work->out->kernels[entry];
  if (k->n++ > 0) return;
  const char *of = line->node[0] != '\0' ? line->node : "(no name)";
  if (work->is_allowed[line->family])
    assay_fusion_find(work, ASSAY_FUSION_PROOF, "kernel", source, text.number, text.text,
                      "%s '%s' ran %s", line->op, of, line->kernel);
  else
    assay_fusion_find(work, ASSAY_FUSION_OFFENCE, "kernel", source, text.number, text.text,
                      "%s '%s' ran %s (%s), which is not allowed%s", line->op, of, line->kernel,
                      assay_kernel_family_name(line->family),
                      assay_kernel_is_fused(line->family) ? " here" : "");
}

static void say_malformed(assay_dispatch *dispatch, assay_fusion_work *work, size_t source,
                          assay_log_line line) {
  dispatch->n_malformed++;
  assay_fusion_find(work, ASSAY_FUSION_DOUBT, "lines", source, line.number, line.text,
                    "a dispatch line that is %s",
                    line.is_ended ? "damaged, or of a form that is not known" : "cut");
}

void assay_dispatch_take(assay_dispatch *dispatch, assay_fusion_work *work,
                         const assay_fusion_file *file) {
  assay_log_lines lines = assay_log_lines_of(file->bytes, file->size_bytes);
  assay_log_line line;
  size_t before[2] = {dispatch->channels[0].n, dispatch->channels[1].n};
  size_t n_options = 0, n_sessions = 0, n_damaged = 0;
  assay_span_index seen = {0};
  while (!work->status && assay_log_lines_next(&lines, &line)) {
    assay_dispatch_line one;
    assay_dispatch_line_parse(line, &one);
    n_options += one.what == ASSAY_DISPATCH_OPTIONS;
    n_sessions += one.what == ASSAY_DISPATCH_SESSION;
    if (one.what == ASSAY_DISPATCH_MALFORMED && n_damaged++ == 0)
      say_malformed(dispatch, work, file->source, line);
    if (one.what == ASSAY_DISPATCH_KERNEL || one.what == ASSAY_DISPATCH_LOGGED) {
      if (work->out->n_kernels >= KERNELS_MAX) {
        assay_fusion_find(work, ASSAY_FUSION_DOUBT, "lines", file->source, line.number, line.text,
                          "more than %d different nodes and kernels", KERNELS_MAX);
        break;
      }
      take_line(&dispatch->channels[one.what == ASSAY_DISPATCH_KERNEL ? STDOUT : LOG], work, &seen,
                file->source, line, &one);
    }
  }
  assay_span_index_reset(&seen);
  for (int c = 0; c < 2; c++) dispatch->channels[c].n_files += dispatch->channels[c].n > before[c];
  if (n_options > 1 || n_sessions > 1)
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "process", file->source, 0, ASSAY_NO_EXCERPT,
                      "the text is of %zu sessions: one session's is needed, to know whose lines "
                      "these are",
                      n_options > n_sessions ? n_options : n_sessions);
}

/* The nodes follow each other in the same order in every call, and each as often as the others. */
static bool is_regular(const struct assay_dispatch_channel *channel, size_t period) {
  for (size_t i = period; i < channel->n; i++)
    if (channel->sequence[i] != channel->sequence[i - period]) return false;
  return true;
}

static size_t count_nodes(const struct assay_dispatch_channel *channel, const assay_fusion *out) {
  size_t n = 0;
  for (size_t i = 0; i < out->n_kernels; i++)
    n += out->kernels[i].op != NULL && out->kernels[i].source == channel->source;
  return n;
}

static void judge_nodes(const struct assay_dispatch_channel *channel, assay_fusion_work *work) {
  size_t expect = (size_t)work->spec->expect_fused, n_nodes = count_nodes(channel, work->out);
  if (channel->all_named && n_nodes != expect)
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "count", channel->source, 0, ASSAY_NO_EXCERPT,
                      "expected %zu attention nodes, found %zu (counting a node that changes its "
                      "kernel once for each)",
                      expect, n_nodes);
  else if (!is_regular(channel, expect))
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "lines", channel->source, 0, ASSAY_NO_EXCERPT,
                      "the nodes are not in the same order in every call: lines are lost, "
                      "reordered, or another process's");
}

static void judge_channel(const struct assay_dispatch_channel *channel, assay_fusion_work *work,
                          const char *what) {
  const assay_fusion_spec *spec = work->spec;
  if (channel->n_files > 1)
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "process", channel->source, 0, ASSAY_NO_EXCERPT,
                      "%s stand in %zu files: one process writes them to one", what,
                      channel->n_files);
  if (spec->expect_fused < 0) {
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "count", channel->source, 0, ASSAY_NO_EXCERPT,
                      "%zu %s, of an unknown number: without the count of attention operations "
                      "lost ones do not show",
                      channel->n, what);
    return;
  }
  work->out->n_fused = (int64_t)channel->n;
  if (spec->expect_fused == 0) {
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "count", channel->source, 0, ASSAY_NO_EXCERPT,
                      "expected no attention operation, found %zu %s", channel->n, what);
    return;
  }
  if (!assay_fusion_count_is_right(work, channel->source, what, (int64_t)channel->n)) return;
  work->out->n_fused = spec->expect_fused;
  judge_nodes(channel, work);
}

void assay_dispatch_judge(const assay_dispatch *dispatch, assay_fusion_work *work, bool is_wanted) {
  const struct assay_dispatch_channel *from_stdout = &dispatch->channels[STDOUT];
  const struct assay_dispatch_channel *from_log = &dispatch->channels[LOG];
  if (from_stdout->n == 0 && from_log->n == 0) {
    if (!is_wanted || dispatch->n_malformed > 0 || work->spec->expect_fused == 0) return;
    assay_fusion_find(work, ASSAY_FUSION_OFFENCE, "lines", 0, 0, ASSAY_NO_EXCERPT,
                      "no line says which attention kernel ran: the run needs "
                      "ORT_ENABLE_ATTENTION_KERNEL_DEBUG_INFO=1 and its stdout kept, or a verbose "
                      "log");
    return;
  }
  if (from_stdout->n > 0) judge_channel(from_stdout, work, "dispatch lines on stdout");
  if (from_stdout->n == 0) judge_channel(from_log, work, "dispatch lines of the log");
  if (from_stdout->n > 0 && from_log->n > from_stdout->n)
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "count", from_log->source, 0, ASSAY_NO_EXCERPT,
                      "the log has %zu dispatch lines and stdout only %zu: some are lost",
                      from_log->n, from_stdout->n);
}

void assay_dispatch_reset(assay_dispatch *dispatch) {
  for (int c = 0; c < 2; c++) assay_free(dispatch->channels[c].sequence);
  *dispatch = (assay_dispatch){0};
}
