#include "fusion/gpu_list.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define ROWS_MAX       ((size_t)1 << 24)
#define NAMES_MAX      ((size_t)1 << 16)
#define NAME_MAX_BYTES ((size_t)1 << 16)
/* Profilers print shares to a tenth of a percent at least; a little more for their rounding. */
#define PERCENT_TOLERANCE 0.0501

void assay_gpu_list_begin(assay_gpu_list *list, assay_fusion_work *work, size_t source) {
  *list = (assay_gpu_list){.work = work, .source = source, .first_kernel = work->out->n_kernels};
}

void assay_gpu_list_doubt(assay_gpu_list *list, const assay_gpu_row *row, const char *what) {
  list->is_damaged = true;
  assay_fusion_find(list->work, ASSAY_FUSION_DOUBT, "lines", list->source, row->line, row->excerpt,
                    "%s", what);
}

/* false: a row of another process, which does not count. */
static bool is_ours(assay_gpu_list *list, const assay_gpu_row *row) {
  char wanted[24];
  int64_t pid;
  if (row->process.n == 0) return true;
  bool is_pid = assay_span_int(row->process, &pid); /* and not a globally unique name */
  if (list->work->spec->pid > 0 && is_pid) {
    snprintf(wanted, sizeof wanted, "%" PRId64, list->work->spec->pid);
    return assay_span_is(row->process, wanted);
  }
  if (list->process[0] == '\0')
    assay_span_copy(row->process, list->process, sizeof list->process);
  else if (!assay_span_is(row->process, list->process))
    list->has_others = true;
  return true;
}

/* hipLaunchKernel, hsa_init, …, and the groups of a domain's summary: rocprofv3 lists them under
 * the header of its kernels. */
static bool is_call(assay_text_span name) {
  bool is_hip =
      assay_span_begins(name, "hip") && name.n > 3 && isupper((unsigned char)name.text[3]);
  return is_hip || assay_span_begins(name, "__hip") || assay_span_begins(name, "hsa_") ||
         assay_span_is(name, "KERNEL_DISPATCH") || assay_span_is(name, "HIP_API") ||
         assay_span_is(name, "HSA_API") || assay_span_is(name, "MEMORY_COPY");
}

static assay_fusion_kernel *kernel_of(assay_gpu_list *list, const assay_gpu_row *row) {
  assay_fusion *out = list->work->out;
  size_t i;
  if (assay_span_index_find(&list->names, row->name, &i)) return &out->kernels[i];
  if (out->n_kernels - list->first_kernel == NAMES_MAX || row->name.n > NAME_MAX_BYTES) {
    assay_gpu_list_doubt(list, row, "too many kernels, or a name that is too long");
    return NULL;
  }
  assay_kernel_family family = assay_kernel_of_name(row->name.text, row->name.n);
  assay_fusion_kernel *k =
      assay_fusion_add_kernel(list->work, row->name, family, list->source, row->line);
  if (k == NULL) return NULL;
  list->work->status = assay_span_index_set(&list->names, assay_span_of(k->name),
                                            out->n_kernels - 1, list->work->err);
  return k;
}

static void keep_dispatch(assay_gpu_list *list, int64_t dispatch) {
  void *items = list->dispatches;
  if (!assay_fusion_grow(list->work, &items, list->n_dispatches, &list->dispatch_cap,
                         sizeof *list->dispatches))
    return;
  list->dispatches = items;
  list->dispatches[list->n_dispatches++] = dispatch;
}

static void keep_share(assay_gpu_list *list, const assay_gpu_row *row) {
  void *items = list->shares;
  if (!assay_fusion_grow(list->work, &items, list->n_shares, &list->share_cap,
                         sizeof *list->shares))
    return;
  list->shares = items;
  list->shares[list->n_shares++] =
      (struct assay_gpu_share){.percent = row->percent, .total_ns = row->total_ns};
}

/* Text in UTF-8 without control characters: another byte may have been a letter that counts. */
static bool is_legible(assay_text_span name) {
  for (size_t i = 0; i < name.n; i++)
    if (iscntrl((unsigned char)name.text[i])) return false;
  return name.n > 0 && assay_text_is_utf8(name.text, name.n);
}

void assay_gpu_list_add(assay_gpu_list *list, const assay_gpu_row *row) {
  if (list->work->status || list->n_rows >= ROWS_MAX) return;
  if (!is_legible(row->name) || row->n <= 0 || row->n > INT32_MAX ||
      (row->begin_ns >= 0 && row->end_ns >= 0 && row->end_ns < row->begin_ns)) {
    assay_gpu_list_doubt(list, row, "a kernel without a name, a count or a time that can be");
    return;
  }
  if (!is_ours(list, row)) {
    list->n_skipped++;
    return;
  }
  assay_fusion_kernel *k = kernel_of(list, row);
  if (k == NULL) return;
  if (row->percent >= 0 && k->n > 0)
    assay_gpu_list_doubt(list, row, "a kernel that the summary has twice");
  k->n += row->n;
  list->n_rows++;
  list->n_calls += is_call(row->name);
  if (row->dispatch >= 0) keep_dispatch(list, row->dispatch);
  if (row->percent >= 0) keep_share(list, row);
  if (k->n > row->n || list->work->status) return; /* told already */
  bool is_fused = assay_kernel_is_fused(k->family), is_allowed = list->work->is_allowed[k->family];
  if (is_fused || k->family == ASSAY_KERNEL_UNFUSED)
    assay_fusion_find(list->work,
                      is_fused && is_allowed                ? ASSAY_FUSION_PROOF
                      : list->work->spec->expect_fused == 0 ? ASSAY_FUSION_NOTE
                                                            : ASSAY_FUSION_OFFENCE,
                      "kernel", list->source, row->line, row->excerpt, "%s attention ran%s",
                      assay_kernel_family_name(k->family),
                      is_fused && !is_allowed ? ", which is not allowed" : "");
  if (k->family == ASSAY_KERNEL_FOREIGN)
    assay_fusion_find(list->work, ASSAY_FUSION_DOUBT, "process", list->source, row->line,
                      row->excerpt, "a kernel of another framework: not this run's alone");
}

/* --- judging ---------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void judge_dispatches(assay_gpu_list *list) {
  if (list->n_dispatches == 0) return;
  qsort(list->dispatches, list->n_dispatches, sizeof *list->dispatches, by_number);
  for (size_t i = 1; i < list->n_dispatches; i++) {
    int64_t before = list->dispatches[i - 1], now = list->dispatches[i];
    if (now == before + 1) continue;
    list->is_damaged = true;
    assay_fusion_find(list->work, ASSAY_FUSION_DOUBT, "lines", list->source, 0, ASSAY_NO_EXCERPT,
                      "dispatch %" PRId64 " %s: rows are lost, doubled or left out", before + 1,
                      now == before ? "is there twice" : "is not there");
    return;
  }
}

static void judge_shares(assay_gpu_list *list) {
  double total_ns = 0, percent = 0;
  for (size_t i = 0; i < list->n_shares; i++) {
    total_ns += list->shares[i].total_ns;
    percent += list->shares[i].percent;
  }
  bool is_right = fabs(percent - 100) <= PERCENT_TOLERANCE * (double)(list->n_shares + 1);
  for (size_t i = 0; i < list->n_shares && total_ns > 0; i++)
    is_right = is_right && fabs(list->shares[i].percent -
                                100 * list->shares[i].total_ns / total_ns) <= PERCENT_TOLERANCE;
  list->is_damaged |= !is_right;
  if (!is_right)
    assay_fusion_find(list->work, ASSAY_FUSION_DOUBT, "lines", list->source, 0, ASSAY_NO_EXCERPT,
                      "the shares of the kernels are not those of the whole (%.1f %% in all): rows "
                      "are lost",
                      percent);
}

/* What is missing in a whole list is an offence; in a damaged one it may have been lost. */
static assay_fusion_level absence(const assay_gpu_list *list) {
  return list->is_damaged ? ASSAY_FUSION_DOUBT : ASSAY_FUSION_OFFENCE;
}

static int64_t count_family(const assay_gpu_list *list, assay_kernel_family family) {
  const assay_fusion *out = list->work->out;
  int64_t n = 0;
  for (size_t i = list->first_kernel; i < out->n_kernels; i++)
    if (out->kernels[i].family == family) n += out->kernels[i].n;
  return n;
}

static void judge_count(const assay_gpu_list *list) {
  const assay_fusion_spec *spec = list->work->spec;
  int64_t n_fused = 0, n_softmax = count_family(list, ASSAY_KERNEL_SOFTMAX);
  for (int f = 0; f < ASSAY_KERNEL_N_FAMILIES; f++)
    if (assay_kernel_is_fused((assay_kernel_family)f))
      n_fused += count_family(list, (assay_kernel_family)f);
  list->work->out->n_fused = n_fused;
  if (spec->expect_fused == 0) return;
  if (n_fused == 0 || n_fused < spec->expect_fused) {
    assay_fusion_find(list->work, absence(list), "count", list->source, 0, ASSAY_NO_EXCERPT,
                      "%" PRId64 " fused attention kernels ran, fewer than one call needs",
                      n_fused);
    return;
  }
  if (spec->expect_fused < 0) {
    assay_fusion_find(list->work, ASSAY_FUSION_DOUBT, "count", list->source, 0, ASSAY_NO_EXCERPT,
                      "%" PRId64 " fused attention kernels ran, of an unknown number: without the "
                      "count of attention operations lost ones do not show",
                      n_fused);
    return;
  }
  if (!assay_fusion_count_is_right(list->work, list->source, "fused attention kernels", n_fused) ||
      n_softmax == 0)
    return;
  assay_fusion_find(
      list->work, spec->n_calls > 0 ? ASSAY_FUSION_NOTE : ASSAY_FUSION_DOUBT, "kernel",
      list->source, 0, ASSAY_NO_EXCERPT,
      "%" PRId64 " softmax kernels of their own ran too: another operation's%s", n_softmax,
      spec->n_calls > 0 ? ""
                        : ", or attention that is not fused in some nodes (the number of calls "
                          "would tell)");
}

static void judge(assay_gpu_list *list) {
  if (list->n_rows == 0) {
    assay_fusion_find(list->work, absence(list), "lines", list->source, 0, ASSAY_NO_EXCERPT,
                      list->n_skipped > 0 ? "no kernel of that process in the profile"
                                          : "no kernel in the profile");
    return;
  }
  if (list->n_calls == list->n_rows) {
    assay_fusion_find(list->work, ASSAY_FUSION_NOTE, "lines", list->source, 0, ASSAY_NO_EXCERPT,
                      "a list of the runtime's calls: no kernels");
    return;
  }
  if (list->n_rows >= ROWS_MAX)
    assay_fusion_find(list->work, ASSAY_FUSION_DOUBT, "lines", list->source, 0, ASSAY_NO_EXCERPT,
                      "more than %zu kernels", ROWS_MAX);
  if (list->has_others)
    assay_fusion_find(list->work, ASSAY_FUSION_DOUBT, "process", list->source, 0, ASSAY_NO_EXCERPT,
                      "the kernels are of several processes, '%s' among them: which one counts?",
                      list->process);
  judge_dispatches(list);
  if (list->n_shares > 0) judge_shares(list);
  judge_count(list);
}

void assay_gpu_list_end(assay_gpu_list *list) {
  int64_t pid = 0;
  if (!list->work->status) {
    judge(list);
    if (assay_span_int(assay_span_of(list->process), &pid) && !list->has_others)
      list->work->out->sources[list->source].pid = pid;
  }
  assay_span_index_reset(&list->names);
  assay_free(list->dispatches);
  assay_free(list->shares);
  *list = (assay_gpu_list){0};
}
