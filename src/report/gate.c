/* Judges a loaded package from what its results say: verdicts that say no are taken as they are;
 * one that says yes must also agree with the manifest and the runs beside it. Whether the figures
 * follow from the raw evidence, and the bytes are those that were sealed, is for verify/, whose
 * findings are added here. */
#include "report/gate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define REASON_TEXT_BYTES 1024

const char *assay_view_topic_word(assay_view_topic topic) {
  static const char *const words[] = {
#define TOPIC_WORD(name, word) word,
      ASSAY_VIEW_TOPIC_LIST(TOPIC_WORD)
#undef TOPIC_WORD
  };
  return topic < ASSAY_N_TOPICS ? words[topic] : "unknown";
}

/* ---- collecting reasons ---- */

typedef struct judge {
  assay_view *view;
  size_t cap;
  assay_status status; /* the first failure; later reasons are dropped */
  assay_error *err;
} judge;

static void add(judge *j, assay_view_topic topic, size_t row, assay_view_mode mode,
                const char *format, ...) ASSAY_PRINTF(5, 6);

static void add(judge *j, assay_view_topic topic, size_t row, assay_view_mode mode,
                const char *format, ...) {
  assay_view *view = j->view;
  if (j->status) return;
  assay_view_reason *reasons =
      assay_grown(view->reasons, &j->cap, view->n_reasons, sizeof *reasons, j->err);
  if (reasons == NULL) {
    j->status = ASSAY_E_MEMORY;
    return;
  }
  view->reasons = reasons;
  char text[REASON_TEXT_BYTES];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  assay_view_reason *reason = &view->reasons[view->n_reasons];
  *reason =
      (assay_view_reason){.topic = topic, .row = row, .mode = mode, .text = assay_strdup(text)};
  if (reason->text == NULL) {
    j->status = assay_fail_memory(j->err, sizeof text);
    return;
  }
  view->n_reasons++;
  view->topics[topic]++;
  if (row != SIZE_MAX) view->rows[row].n_reasons++;
}

/* ---- one run ---- */

static const char *or_else(const char *text, const char *otherwise) {
  return text && *text ? text : otherwise;
}

static bool is_done(const assay_view_run *run) {
  return run->planned && run->result.status == ASSAY_RESULT_DONE;
}

/* The first gated comparison that did not pass, or NULL. */
static const assay_result_comparison *first_failure(const assay_result *result) {
  for (size_t i = 0; i < result->n_comparisons; i++) {
    if (result->comparisons[i].gate && !result->comparisons[i].passed)
      return &result->comparisons[i];
  }
  return NULL;
}

/* The first head of the manifest that no gated comparison covers, or NULL. */
static const char *first_uncompared(const assay_manifest *manifest, const assay_result *result) {
  for (size_t h = 0; manifest && h < manifest->n_heads; h++) {
    bool found = false;
    for (size_t i = 0; i < result->n_comparisons && !found; i++) {
      found = result->comparisons[i].gate &&
              strcmp(result->comparisons[i].head, manifest->heads[h].name) == 0;
    }
    if (!found) return manifest->heads[h].name;
  }
  return NULL;
}

/* Another case of the same bundle on the same runtime in which elements of the head were compared.
 */
static bool is_compared_elsewhere(const assay_view *view, const assay_view_row *row,
                                  const char *head) {
  for (size_t i = 0; i < view->n_rows; i++) {
    const assay_view_row *other = &view->rows[i];
    const assay_result *result = &other->runs[ASSAY_VIEW_TIMING].result;
    if (strcmp(other->runtime, row->runtime) != 0 || strcmp(other->bundle, row->bundle) != 0)
      continue;
    for (size_t k = 0; k < result->n_comparisons; k++)
      if (strcmp(result->comparisons[k].head, head) == 0 && result->comparisons[k].n_compared > 0)
        return true;
  }
  return false;
}

/* An empty event passes on its padding; a bundle in which nothing else is compared does not. */
static void judge_padding(judge *j, size_t r) {
  const assay_view_row *row = &j->view->rows[r];
  for (size_t h = 0; row->manifest && h < row->manifest->n_heads; h++) {
    const char *head = row->manifest->heads[h].name;
    if (!assay_view_is_padding_only(row, head) || is_compared_elsewhere(j->view, row, head))
      continue;
    add(j, ASSAY_TOPIC_NUMBERS, r, ASSAY_VIEW_TIMING,
        "head '%s': nothing was compared: no case of the bundle has a valid element", head);
    return;
  }
}

static void judge_numbers(judge *j, size_t r, const assay_result *result) {
  const assay_view_row *row = &j->view->rows[r];
  const assay_result_comparison *bad = first_failure(result);
  const char *uncompared = first_uncompared(row->manifest, result);
  if (result->numbers != ASSAY_VERDICT_PASS) {
    if (result->numbers_reason && *result->numbers_reason) {
      add(j, ASSAY_TOPIC_NUMBERS, r, ASSAY_VIEW_TIMING, "%s", result->numbers_reason);
    } else if (bad) {
      add(j, ASSAY_TOPIC_NUMBERS, r, ASSAY_VIEW_TIMING, "head '%s' against %s: %s", bad->head,
          bad->reference, or_else(bad->reason, "not within tolerance"));
    } else {
      add(j, ASSAY_TOPIC_NUMBERS, r, ASSAY_VIEW_TIMING,
          "the outputs were not judged (verdict '%s')", assay_verdict_name(result->numbers));
    }
  } else if (bad) {
    add(j, ASSAY_TOPIC_EVIDENCE, r, ASSAY_VIEW_TIMING,
        "the result says that its numbers pass, but head '%s' against %s did not: %s", bad->head,
        bad->reference, or_else(bad->reason, "not within tolerance"));
  } else if (uncompared || result->n_comparisons == 0) {
    add(j, ASSAY_TOPIC_EVIDENCE, r, ASSAY_VIEW_TIMING,
        "the result says that its numbers pass, but head '%s' was not compared",
        or_else(uncompared, "(any)"));
  } else {
    judge_padding(j, r);
  }
}

/* Samples and shapes of such a run are not what they seem. */
static bool judge_compiles(judge *j, size_t r, assay_view_mode mode, const assay_result *result) {
  if (result->compiles.later == 0) return false;
  add(j, mode == ASSAY_VIEW_TIMING ? ASSAY_TOPIC_TIMING : ASSAY_TOPIC_PLACEMENT, r, mode,
      "the provider compiled %lld times in calls that were to be warm (%lld while the session was "
      "made, %lld in the first call)",
      (long long)result->compiles.later, (long long)result->compiles.session,
      (long long)result->compiles.first);
  return true;
}

static void judge_timing(judge *j, size_t r, const assay_result *result) {
  if (judge_compiles(j, r, ASSAY_VIEW_TIMING, result)) return;
  if (result->timed != ASSAY_VERDICT_PASS) {
    add(j, ASSAY_TOPIC_TIMING, r, ASSAY_VIEW_TIMING, "%s",
        or_else(result->reason, "the run has no usable timing"));
  } else if (!result->timing.known || result->timing.stats.n < 1) {
    add(j, ASSAY_TOPIC_EVIDENCE, r, ASSAY_VIEW_TIMING,
        "the result says that it was timed, but holds no timing");
  }
}

static void judge_placement(judge *j, size_t r, const assay_result *result) {
  const assay_result_placement *placement = &result->placement;
  if (judge_compiles(j, r, ASSAY_VIEW_PLACEMENT, result)) return;
  if (result->placed != ASSAY_VERDICT_PASS) {
    add(j, ASSAY_TOPIC_PLACEMENT, r, ASSAY_VIEW_PLACEMENT, "%s: %s",
        assay_verdict_name(result->placed),
        or_else(placement->reason, or_else(result->reason, "no placement evidence")));
  } else if (!placement->known || placement->verdict != ASSAY_VERDICT_PASS ||
             placement->n_offenders) {
    add(j, ASSAY_TOPIC_EVIDENCE, r, ASSAY_VIEW_PLACEMENT,
        "the result says that its placement passes, but its evidence does not");
  }
}

static void judge_kernels(judge *j, size_t r, const assay_result *result) {
  const assay_result_kernels *kernels = &result->kernels;
  if (assay_result_kernels_passed(kernels)) return;
  add(j, ASSAY_TOPIC_KERNELS, r, ASSAY_VIEW_PLACEMENT, "%s required: %s: %s",
      kernels->n_required > 0 ? kernels->required[0] : "evidence", kernels->verdict,
      or_else(kernels->reason, "no reason"));
}

/* Compares what a result says that it ran with what the manifest lists. */
static void judge_keys(judge *j, size_t r, assay_view_mode mode, const assay_result *result) {
  const assay_view_row *row = &j->view->rows[r];
  if (row->manifest == NULL || row->manifest_case == NULL) return; /* a reason of its own */
  const assay_manifest_case *a_case = row->manifest_case;
  const char *model = a_case->model.file ? a_case->model.sha256 : row->manifest->model.sha256;
  if (strcmp(result->keys.model_sha256, model) != 0) {
    add(j, ASSAY_TOPIC_EVIDENCE, r, mode,
        "the model that ran has SHA-256 %.12s…, the bundle's has %.12s…",
        or_else(result->keys.model_sha256, "(none)"), model);
  }
  if (strcmp(result->keys.case_sha256, a_case->file.sha256) != 0) {
    add(j, ASSAY_TOPIC_EVIDENCE, r, mode,
        "the case that ran has SHA-256 %.12s…, the bundle's has %.12s…",
        or_else(result->keys.case_sha256, "(none)"), a_case->file.sha256);
  }
}

static void judge_ended(judge *j, size_t r, assay_view_mode mode, assay_view_topic topic,
                        const assay_result *result) {
  const char *stage = assay_result_stage_name(result->stage);
  add(j, topic, r, mode, "%s%s%s", stage, *stage ? ": " : "",
      or_else(result->reason, "no reason was recorded"));
}

static void judge_run(judge *j, size_t r, assay_view_mode mode) {
  const assay_view_run *run = &j->view->rows[r].runs[mode];
  const assay_result *result = &run->result;
  if (!run->planned) {
    add(j, ASSAY_TOPIC_MISSING, r, mode, "the bundle holds this case, but no such run was planned");
    return;
  }
  switch (result->status) {
  case ASSAY_RESULT_DONE:
    break;
  case ASSAY_RESULT_FAILED:
    judge_ended(j, r, mode, ASSAY_TOPIC_FAILED, result);
    return;
  case ASSAY_RESULT_CRASHED:
    judge_ended(j, r, mode, ASSAY_TOPIC_CRASHED, result);
    return;
  case ASSAY_RESULT_TIMED_OUT:
    judge_ended(j, r, mode, ASSAY_TOPIC_TIMED_OUT, result);
    return;
  case ASSAY_RESULT_MISSING:
  default:
    add(j, ASSAY_TOPIC_MISSING, r, mode, "%s", or_else(result->reason, "no result"));
    return;
  }
  if (mode == ASSAY_VIEW_TIMING) {
    judge_numbers(j, r, result);
    judge_timing(j, r, result);
  } else {
    judge_placement(j, r, result);
    judge_kernels(j, r, result);
  }
  if (result->completeness != ASSAY_VERDICT_PASS) {
    add(j, ASSAY_TOPIC_INCOMPLETE, r, mode, "%s",
        or_else(result->reason, "the run left less than it must"));
  }
  judge_keys(j, r, mode, result);
}

/* Rule 3: timing and placement use the same graph and session options, proved by hashes over them.
 */
static void judge_options(judge *j, size_t r) {
  const assay_view_row *row = &j->view->rows[r];
  const assay_view_run *timing = &row->runs[ASSAY_VIEW_TIMING];
  const assay_view_run *placement = &row->runs[ASSAY_VIEW_PLACEMENT];
  if (!is_done(timing) || !is_done(placement)) return;
  const char *a = assay_result_executed(&timing->result);
  const char *b = assay_result_executed(&placement->result);
  if (strcmp(a, b) != 0)
    add(j, ASSAY_TOPIC_OPTIONS, r, ASSAY_VIEW_PLACEMENT,
        "timing ran the graph %.12s…, placement %.12s…", a, b);
  a = timing->result.keys.options_sha256;
  b = placement->result.keys.options_sha256;
  if (*a && strcmp(a, b) == 0) return;
  add(j, ASSAY_TOPIC_OPTIONS, r, ASSAY_VIEW_PLACEMENT,
      "timing ran with options %.12s…, placement with %.12s…", or_else(a, "(none)"),
      or_else(b, "(none)"));
}

static void judge_row(judge *j, size_t r) {
  const assay_view_row *row = &j->view->rows[r];
  if (row->manifest == NULL) {
    add(j, ASSAY_TOPIC_EVIDENCE, r, ASSAY_VIEW_TIMING, "the manifest of bundle '%s' cannot be read",
        row->bundle);
  } else if (row->manifest_case == NULL) {
    add(j, ASSAY_TOPIC_EVIDENCE, r, ASSAY_VIEW_TIMING, "bundle '%s' has no case '%s'", row->bundle,
        row->case_name);
  }
  for (int mode = 0; mode < ASSAY_VIEW_N_MODES; mode++) judge_run(j, r, (assay_view_mode)mode);
  judge_options(j, r);
}

/* ---- the package ---- */

/* Puts the reasons in the order of their topics; within one they keep theirs. */
static assay_status sort_reasons(assay_view *view, assay_error *err) {
  if (view->n_reasons == 0) return ASSAY_OK;
  assay_view_reason *sorted = assay_alloc_array(view->n_reasons, sizeof *sorted);
  if (sorted == NULL) return assay_fail_memory(err, view->n_reasons * sizeof *sorted);
  size_t n = 0;
  for (int topic = 0; topic < ASSAY_N_TOPICS; topic++) {
    for (size_t i = 0; i < view->n_reasons; i++) {
      if ((int)view->reasons[i].topic == topic) sorted[n++] = view->reasons[i];
    }
  }
  assay_free(view->reasons);
  view->reasons = sorted;
  return ASSAY_OK;
}

assay_status assay_gate_judge(assay_view *view, assay_error *err) {
  judge j = {.view = view, .err = err};
  for (size_t r = 0; r < view->n_rows; r++) judge_row(&j, r);
  if (view->n_rows == 0) {
    add(&j, ASSAY_TOPIC_MISSING, SIZE_MAX, ASSAY_VIEW_TIMING, "the package plans no run at all");
  }
  if (view->package.finished_at[0] == 0) {
    add(&j, ASSAY_TOPIC_UNFINISHED, SIZE_MAX, ASSAY_VIEW_TIMING,
        "the campaign was not finished: type the same 'assay run' line again to complete it");
  }
  if (j.status) return j.status;
  ASSAY_TRY(sort_reasons(view, err));
  for (size_t r = 0; r < view->n_rows; r++) view->rows[r].passed = view->rows[r].n_reasons == 0;
  view->qualified = view->n_reasons == 0;
  return ASSAY_OK;
}

assay_status assay_gate_add_evidence(assay_view *view, char *const *texts, size_t n,
                                     assay_error *err) {
  judge j = {.view = view, .cap = view->n_reasons, .err = err}; /* grows at the next reason */
  if (n == 0) return ASSAY_OK;
  for (size_t i = 0; i < n; i++)
    add(&j, ASSAY_TOPIC_EVIDENCE, SIZE_MAX, ASSAY_VIEW_TIMING, "%s", texts[i]);
  if (j.status) return j.status;
  view->qualified = false;
  return sort_reasons(view, err);
}

void assay_view_verdict(const assay_view *view, char *out, size_t out_bytes) {
  int used = snprintf(out, out_bytes, "%s", view->qualified ? "QUALIFIED" : "NOT QUALIFIED:");
  const char *comma = " ";
  for (int topic = 0; topic < ASSAY_N_TOPICS; topic++) {
    if (view->topics[topic] == 0 || used < 0 || (size_t)used >= out_bytes) continue;
    used += snprintf(out + used, out_bytes - (size_t)used, "%s%s %zu", comma,
                     assay_view_topic_word((assay_view_topic)topic), view->topics[topic]);
    comma = ", ";
  }
}

static void put_reason(const assay_view *view, const assay_view_reason *reason, assay_sink *sink) {
  assay_sink_putf(sink, "%s: ", assay_view_topic_word(reason->topic));
  if (reason->row != SIZE_MAX) {
    const assay_view_row *row = &view->rows[reason->row];
    assay_sink_plain(sink, row->runtime);
    assay_sink_put(sink, " / ");
    assay_sink_plain(sink, row->bundle);
    assay_sink_put(sink, " / ");
    assay_sink_plain(sink, row->case_name);
    assay_sink_putf(sink, " (%s): ", reason->mode == ASSAY_VIEW_TIMING ? "timing" : "placement");
  }
  assay_sink_plain(sink, reason->text);
  assay_sink_put(sink, "\n");
}

void assay_gate_put_text(const assay_view *view, assay_sink *sink) {
  for (size_t i = 0; i < view->n_reasons; i++) put_reason(view, &view->reasons[i], sink);
  char verdict[512];
  assay_view_verdict(view, verdict, sizeof verdict);
  assay_sink_putf(sink, "%s\n", verdict);
}
