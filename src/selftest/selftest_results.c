/* Results edited by hand and sealed again so that every sum is right: the gate must not believe a
 * verdict that the rest of the result, the manifest or the plan contradicts. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "selftest/selftest_cases.h"

#define FROM(where, spoil_function, its_topic, reason_words)                                       \
  .start = (where), .spoil = (spoil_function), .by = SELFTEST_GATE, .topic = (its_topic),          \
  .words = (reason_words)

static void edit(selftest_scene *s, assay_result_mode mode, void (*change)(assay_result *)) {
  selftest_edit_result(s, mode, change);
  selftest_reseal(s, /*with_report=*/false);
}

/* --- verdicts ------------------------------------------------------------------------------------
 */

static void pass_numbers(assay_result *r) {
  r->numbers = ASSAY_VERDICT_PASS;
  assay_free(r->numbers_reason);
  r->numbers_reason = NULL;
}
static void numbers_flipped(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, pass_numbers);
}
static void pass_placement(assay_result *r) {
  r->placed = ASSAY_VERDICT_PASS;
}
static void placement_flipped(selftest_scene *s) {
  edit(s, ASSAY_RESULT_PLACEMENT, pass_placement);
}
static void pass_placement_twice(assay_result *r) {
  r->placed = r->placement.verdict = ASSAY_VERDICT_PASS;
}
static void both_placements_flipped(selftest_scene *s) {
  edit(s, ASSAY_RESULT_PLACEMENT, pass_placement_twice);
}
static void no_verdicts(assay_result *r) {
  r->numbers = ASSAY_VERDICT_UNKNOWN;
}
static void numbers_not_judged(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, no_verdicts);
}
static void no_timing_verdict(assay_result *r) {
  r->timed = ASSAY_VERDICT_UNKNOWN;
}
static void timing_not_judged(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, no_timing_verdict);
}
static void incomplete(assay_result *r) {
  r->completeness = ASSAY_VERDICT_FAIL;
}
static void run_incomplete(selftest_scene *s) {
  edit(s, ASSAY_RESULT_PLACEMENT, incomplete);
}

/* --- evidence in the result ----------------------------------------------------------------------
 */

static void release_comparison(assay_result_comparison *c) {
  assay_free(c->head);
  assay_free(c->reference);
  assay_free(c->kind);
}
/* Without the comparisons of the first head. */
static void drop_head(assay_result *r) {
  size_t n = 0;
  for (size_t i = 0; i < r->n_comparisons; i++) {
    assay_result_comparison *c = &r->comparisons[i];
    if (strcmp(c->head, "bid") != 0) {
      r->comparisons[n++] = *c;
      continue;
    }
    release_comparison(c);
  }
  r->n_comparisons = n;
}
static void head_not_compared(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, drop_head);
}
static void ungate(assay_result *r) {
  for (size_t i = 0; i < r->n_comparisons; i++) r->comparisons[i].gate = false;
}
static void nothing_counts(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, ungate);
}
/* Both comparisons that failed: one dropped, one said to be of the export's own precision. */
static void rename_failures(assay_result *r) {
  size_t n = 0;
  bool renamed = false;
  pass_numbers(r);
  for (size_t i = 0; i < r->n_comparisons; i++) {
    assay_result_comparison *c = &r->comparisons[i];
    if (!c->passed && renamed) {
      release_comparison(c);
      continue;
    }
    if (!c->passed) {
      renamed = true;
      c->gate = false;
      assay_free(c->reference);
      c->reference = assay_strdup("same");
    }
    r->comparisons[n++] = *c;
  }
  r->n_comparisons = n;
}
static void failures_renamed(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, rename_failures);
}
static void drop_timing(assay_result *r) {
  r->timing = (assay_result_timing){0};
}
static void timing_dropped(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, drop_timing);
}

/* --- keys ----------------------------------------------------------------------------------------
 */

static void other(char digest[65]) {
  digest[0] = digest[0] == 'a' ? 'b' : 'a';
}
static void change_model(assay_result *r) {
  other(r->keys.model_sha256);
}
static void result_of_another_model(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, change_model);
}
static void change_case(assay_result *r) {
  other(r->keys.case_sha256);
}
static void result_of_another_case(selftest_scene *s) {
  edit(s, ASSAY_RESULT_PLACEMENT, change_case);
}
static void change_options(assay_result *r) {
  other(r->keys.options_sha256);
}
static void options_differ(selftest_scene *s) {
  edit(s, ASSAY_RESULT_PLACEMENT, change_options);
}
static void change_name(assay_result *r) {
  assay_free(r->case_name);
  r->case_name = assay_strdup("d");
}
static void result_of_another_run(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, change_name);
}

/* --- the package ---------------------------------------------------------------------------------
 */

static void result_unreadable(selftest_scene *s) {
  selftest_edit(s, SELFTEST_TIMING "result.json", "{", "");
  selftest_edit_index(s, /*change=*/NULL);
}
static void result_gone(selftest_scene *s) {
  char *path = selftest_path(s, SELFTEST_PLACEMENT "result.json");
  if (path != NULL) (void)remove(path);
  assay_free(path);
  selftest_edit_index(s, /*change=*/NULL);
}
static void manifest_unreadable(selftest_scene *s) {
  selftest_edit(s, "bundles/toy/manifest.json", "{", "");
  selftest_edit_index(s, /*change=*/NULL);
}
static void release_run(assay_package *package, size_t i) {
  assay_package_run *run = &package->runs[i];
  assay_free(run->runtime);
  assay_free(run->bundle);
  assay_free(run->case_name);
  assay_free(run->folder);
}
static void unplan_placement(assay_package *package) {
  release_run(package, 1);
  package->n_runs = 1;
}
static void run_not_planned(selftest_scene *s) {
  selftest_edit_index(s, unplan_placement);
}
static void forget_everything(assay_package *package) {
  for (size_t i = 0; i < package->n_runs; i++) release_run(package, i);
  for (size_t i = 0; i < package->n_bundles; i++) {
    assay_free(package->bundles[i].name);
    assay_free(package->bundles[i].folder);
  }
  package->n_runs = 0;
  package->n_bundles = 0;
}
static void nothing_planned(selftest_scene *s) {
  selftest_edit_index(s, forget_everything);
}
static void forget_the_end(assay_package *package) {
  package->finished_at[0] = '\0';
}
static void not_finished(selftest_scene *s) {
  selftest_edit_index(s, forget_the_end);
}
static void rename_case(assay_package *package) {
  for (size_t i = 0; i < package->n_runs; i++) {
    assay_package_run *run = &package->runs[i];
    assay_free(run->case_name);
    assay_free(run->folder);
    run->case_name = assay_strdup("d");
    run->folder = assay_result_folder(run->runtime, run->bundle, run->case_name, run->mode);
  }
}
static void case_of_nobody(selftest_scene *s) {
  selftest_edit_index(s, rename_case);
}

const selftest_case selftest_result_cases[] = {
    {"a verdict on numbers flipped to pass", "",
     FROM(SELFTEST_REFUSED, numbers_flipped, ASSAY_TOPIC_EVIDENCE, "did not:")},
    {"a verdict on placement flipped to pass", "",
     FROM(SELFTEST_REFUSED, placement_flipped, ASSAY_TOPIC_EVIDENCE, "its evidence does not")},
    {"both verdicts on placement flipped to pass", "",
     FROM(SELFTEST_REFUSED, both_placements_flipped, ASSAY_TOPIC_EVIDENCE,
          "its evidence does not")},
    {"numbers that nobody judged", "",
     FROM(SELFTEST_GOOD, numbers_not_judged, ASSAY_TOPIC_NUMBERS, "not judged")},
    {"timing that nobody judged", "",
     FROM(SELFTEST_GOOD, timing_not_judged, ASSAY_TOPIC_TIMING, "no usable timing")},
    {"a run that is not complete", "",
     FROM(SELFTEST_GOOD, run_incomplete, ASSAY_TOPIC_INCOMPLETE, "")},
    {"a pass without one of the heads", "particleflow",
     FROM(SELFTEST_GOOD, head_not_compared, ASSAY_TOPIC_EVIDENCE, "'bid' was not compared")},
    {"a pass of comparisons that do not count", "",
     FROM(SELFTEST_GOOD, nothing_counts, ASSAY_TOPIC_EVIDENCE, "was not compared")},
    {"comparisons that failed, said to be of the export's own precision", "",
     FROM(SELFTEST_REFUSED, failures_renamed, ASSAY_TOPIC_EVIDENCE, "'momentum' was not compared")},
    {"a pass without any timing", "",
     FROM(SELFTEST_GOOD, timing_dropped, ASSAY_TOPIC_EVIDENCE, "holds no timing")},
    {"a stale result of another model", "Olive, by its cache",
     FROM(SELFTEST_GOOD, result_of_another_model, ASSAY_TOPIC_EVIDENCE, "the model that ran")},
    {"a stale result of another case", "",
     FROM(SELFTEST_GOOD, result_of_another_case, ASSAY_TOPIC_EVIDENCE, "the case that ran")},
    {"timing and placement with different options", "",
     FROM(SELFTEST_GOOD, options_differ, ASSAY_TOPIC_OPTIONS, "timing ran with options")},
    {"the result of another run in its place", "",
     FROM(SELFTEST_GOOD, result_of_another_run, ASSAY_TOPIC_FAILED, "that of another run")},
    {"a result that cannot be read", "",
     FROM(SELFTEST_GOOD, result_unreadable, ASSAY_TOPIC_FAILED, "result.json")},
    {"a result that is gone", "", FROM(SELFTEST_GOOD, result_gone, ASSAY_TOPIC_MISSING, "")},
    {"a manifest that cannot be read", "",
     FROM(SELFTEST_GOOD, manifest_unreadable, ASSAY_TOPIC_EVIDENCE, "cannot be read")},
    {"a run that was taken out of the plan", "",
     FROM(SELFTEST_GOOD, run_not_planned, ASSAY_TOPIC_MISSING, "no such run was planned")},
    {"runs of a case that the bundle does not have", "",
     FROM(SELFTEST_GOOD, case_of_nobody, ASSAY_TOPIC_EVIDENCE, "has no case 'd'")},
    {"a plan of nothing", "Polygraphy",
     FROM(SELFTEST_GOOD, nothing_planned, ASSAY_TOPIC_MISSING, "plans no run at all")},
    {"a campaign that was not finished", "",
     FROM(SELFTEST_GOOD, not_finished, ASSAY_TOPIC_UNFINISHED, "not finished")},
};
const size_t selftest_n_result_cases = sizeof selftest_result_cases / sizeof *selftest_result_cases;
