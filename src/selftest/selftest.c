/* Makes each case's package, asks the gate or the verification, and holds the answer against what
 * it must be. A case is caught only for its own reason: one that is refused for another shows that
 * the check it is about is not there. */
#include "selftest/selftest.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/campaign_view.h"
#include "selftest/selftest_cases.h"
#include "selftest/selftest_folders.h"
#include "selftest/selftest_scene.h"
#include "verify/verify.h"

typedef struct running {
  selftest_folders folders;
  selftest_scene good, refused; /* bases of edited packages */
  bool has_good, has_refused;
  assay_selftest_talk talk;
  assay_selftest_summary summary;
  size_t n; /* folders made */
} running;

static void open_scene(running *r, selftest_scene *s) {
  char root[256];
  assay_error err = {0};
  snprintf(root, sizeof root, "%s/%zu", r->folders.root, r->n++);
  selftest_scene_init(s, root, r->folders.script);
  selftest_take(s, assay_folder_create(root, &err), &err);
}

static void close_scene(selftest_scene *s) {
  (void)!assay_folder_remove(s->root, NULL);
  selftest_scene_reset(s);
}

/* --- bases ---------------------------------------------------------------------------------------
 */

static const selftest_scene *good_base(running *r) {
  if (!r->has_good) {
    open_scene(r, &r->good);
    selftest_make(&r->good);
    r->has_good = true;
  }
  return &r->good;
}

/* One value wrong by 5, and one node on the CPU. */
static const selftest_scene *refused_base(running *r) {
  if (!r->has_refused) {
    open_scene(r, &r->refused);
    if (!selftest_failed(&r->refused)) selftest_out(&r->refused, "momentum")[2] += 5;
    r->refused.nodes[1].provider = r->refused.placed[1].provider = SELFTEST_CPU;
    selftest_make(&r->refused);
    r->has_refused = true;
  }
  return &r->refused;
}

static void prepare(running *r, const selftest_case *one, selftest_scene *s) {
  const selftest_scene *base = one->start == SELFTEST_GOOD      ? good_base(r)
                               : one->start == SELFTEST_REFUSED ? refused_base(r)
                                                                : NULL;
  open_scene(r, s);
  if (base == NULL) {
    if (one->spoil != NULL) one->spoil(s);
    selftest_make(s);
    if (one->forge != NULL && !selftest_failed(s)) one->forge(s);
    return;
  }
  if (selftest_failed(base)) selftest_take(s, base->err.status, &base->err);
  if (!selftest_failed(s)) selftest_copy(s, base);
  if (selftest_failed(s)) return;
  if (one->spoil != NULL)
    one->spoil(s);
  else
    selftest_reseal(s, /*with_report=*/true);
}

/* --- asking --------------------------------------------------------------------------------------
 */

static void say(assay_selftest_outcome *out, const char *before, const char *text) {
  size_t used = strlen(out->detail);
  snprintf(out->detail + used, sizeof out->detail - used, "%s%s%s", used > 0 ? "; " : "", before,
           text);
}

/* The gate: qualified or not, and for the reason of the case. */
static assay_status ask_gate(const selftest_case *one, const selftest_scene *s, bool *out_right,
                             assay_selftest_outcome *out, assay_error *err) {
  assay_view view = {0};
  char verdict[512];
  bool found = false;
  ASSAY_TRY(assay_view_open(s->package, &view, err));
  for (size_t i = 0; i < view.n_reasons && one->by == SELFTEST_GATE; i++) {
    const assay_view_reason *reason = &view.reasons[i];
    if (found || reason->topic != one->topic || strstr(reason->text, one->words) == NULL) continue;
    found = true;
    say(out, "", reason->text);
  }
  *out_right = one->by == SELFTEST_GATE ? found && !view.qualified : view.qualified;
  assay_view_verdict(&view, verdict, sizeof verdict);
  if (!*out_right) say(out, "the gate says ", verdict);
  if (!*out_right && view.n_reasons > 0) say(out, "first: ", view.reasons[0].text);
  assay_view_close(&view);
  return ASSAY_OK;
}

/* Verification: verified, or not and for the problem of the case. */
static assay_status ask_verify(const selftest_case *one, const selftest_scene *s, bool *out_right,
                               assay_selftest_outcome *out, assay_error *err) {
  assay_verify_report report = {0};
  char verdict[256];
  bool found = false;
  ASSAY_TRY(assay_verify_package(s->package, /*n_jobs=*/1, &report, err));
  for (size_t i = 0; i < report.n_problems; i++) {
    const assay_verify_problem *problem = &report.problems[i];
    char where[1024];
    snprintf(where, sizeof where, "%.300s: %.600s$", problem->file, problem->what);
    bool wanted = one->by == SELFTEST_VERIFY && problem->kind == one->kind &&
                  strstr(where, one->words) != NULL;
    if (wanted && !found) say(out, "", where);
    if (one->is_incomplete) found = found || problem->kind == ASSAY_VERIFY_MISSING;
    if (one->by != SELFTEST_VERIFY && !one->is_incomplete && i == 0)
      say(out, "verification disagrees: ", where);
    found = found || wanted;
  }
  *out_right = one->by == SELFTEST_VERIFY || one->is_incomplete ? found : report.n_problems == 0;
  assay_verify_verdict(&report, verdict, sizeof verdict);
  if (!*out_right) say(out, "verification says ", verdict);
  assay_verify_report_reset(&report);
  return ASSAY_OK;
}

/* The campaign must not have begun. */
static assay_status ask_campaign(const selftest_case *one, const selftest_scene *s,
                                 assay_selftest_outcome *out) {
  out->right = s->err.status != ASSAY_OK && strstr(s->err.text, one->words) != NULL;
  say(out, "", s->err.status != ASSAY_OK ? s->err.text : "the campaign was run");
  return ASSAY_OK;
}

/* An honest package of a wrong run verifies: both derivations agree on what is wrong. An edited
 * one is asked of the side that must notice. */
static assay_status ask(const selftest_case *one, const selftest_scene *s,
                        assay_selftest_outcome *out, assay_error *err) {
  bool gate = true, verified = true;
  if (one->by != SELFTEST_VERIFY) ASSAY_TRY(ask_gate(one, s, &gate, out, err));
  if (one->by != SELFTEST_GATE || one->start == SELFTEST_FRESH)
    ASSAY_TRY(ask_verify(one, s, &verified, out, err));
  out->right = gate && verified;
  return ASSAY_OK;
}

/* --- running -------------------------------------------------------------------------------------
 */

static assay_status run_case(running *r, const selftest_case *one, assay_error *err) {
  if (r->talk.cancelled != NULL && r->talk.cancelled(r->talk.arg))
    return assay_fail(err, ASSAY_E_STOPPED, "stopped");
  selftest_scene s;
  assay_selftest_outcome outcome = {
      .name = one->name, .known = one->known, .is_control = one->by == SELFTEST_PASSES};
  prepare(r, one, &s);
  assay_status st = s.err.status;
  if (one->by == SELFTEST_REFUSAL && st != ASSAY_E_MEMORY)
    st = ask_campaign(one, &s, &outcome);
  else if (st)
    assay_fail(err, st, "%s", s.err.text);
  else
    st = ask(one, &s, &outcome, err);
  close_scene(&s);
  if (st) {
    assay_error_in(err, "self-test '%s'", one->name);
    return st;
  }
  r->summary.n_controls += outcome.is_control;
  r->summary.n_passed += outcome.is_control && outcome.right;
  r->summary.n_cases += !outcome.is_control;
  r->summary.n_caught += !outcome.is_control && outcome.right;
  if (r->talk.each != NULL) r->talk.each(r->talk.arg, &outcome);
  return ASSAY_OK;
}

static assay_status run_all(running *r, assay_error *err) {
  const struct {
    const selftest_case *cases;
    size_t n;
  } lists[] = {{selftest_number_cases, selftest_n_number_cases},
               {selftest_trace_cases, selftest_n_trace_cases},
               {selftest_run_cases, selftest_n_run_cases},
               {selftest_kernel_cases, selftest_n_kernel_cases},
               {selftest_matrix_cases, selftest_n_matrix_cases},
               {selftest_pair_cases, selftest_n_pair_cases},
               {selftest_result_cases, selftest_n_result_cases},
               {selftest_figure_cases, selftest_n_figure_cases},
               {selftest_byte_cases, selftest_n_byte_cases}};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
    for (size_t k = 0; k < lists[i].n; k++) ASSAY_TRY(run_case(r, &lists[i].cases[k], err));
  return ASSAY_OK;
}

assay_status assay_selftest_run(const assay_selftest_talk *talk, assay_selftest_summary *out,
                                assay_error *err) {
  running *r = assay_alloc(sizeof *r);
  if (r == NULL) return assay_fail_memory(err, sizeof *r);
  r->talk = *talk;
  assay_status st = selftest_folders_open(&r->folders, err);
  if (st == ASSAY_OK) st = run_all(r, err);
  if (r->has_good) close_scene(&r->good);
  if (r->has_refused) close_scene(&r->refused);
  selftest_folders_close(&r->folders);
  if (st == ASSAY_OK) *out = r->summary;
  assay_free(r);
  return st;
}
