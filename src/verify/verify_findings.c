/* Problems under one lock. */
#include "verify/verify_findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define PROBLEM_TEXT_BYTES 1024

void assay_verify_findings_init(assay_verify_findings *findings) {
  *findings = (assay_verify_findings){0};
  pthread_mutex_init(&findings->lock, NULL);
}

static void release_problem(assay_verify_problem *problem) {
  assay_free(problem->file);
  assay_free(problem->what);
  assay_free(problem->expected);
  assay_free(problem->found);
  *problem = (assay_verify_problem){0};
}

void assay_verify_findings_destroy(assay_verify_findings *findings) {
  for (size_t i = 0; i < findings->n; i++) release_problem(&findings->problems[i]);
  assay_free(findings->problems);
  pthread_mutex_destroy(&findings->lock);
  *findings = (assay_verify_findings){0};
}

static char *printable(const char *text) {
  char out[PROBLEM_TEXT_BYTES];
  assay_text_printable(text != NULL ? text : "", out, sizeof out);
  return assay_strdup(out);
}

static assay_status grow(assay_verify_findings *findings) {
  assay_verify_problem *problems =
      assay_grown(findings->problems, &findings->cap, findings->n, sizeof *problems, NULL);
  if (problems == NULL) return ASSAY_E_MEMORY;
  findings->problems = problems;
  return ASSAY_OK;
}

void assay_verify_add(assay_verify_findings *findings, assay_verify_kind kind, const char *file,
                      const char *what, const char *expected, const char *found) {
  assay_verify_problem problem = {.kind = kind,
                                  .file = printable(file),
                                  .what = printable(what),
                                  .expected = printable(expected),
                                  .found = printable(found)};
  bool whole = problem.file != NULL && problem.what != NULL && problem.expected != NULL &&
               problem.found != NULL;
  pthread_mutex_lock(&findings->lock);
  if (whole && grow(findings) == ASSAY_OK) {
    findings->problems[findings->n++] = problem;
    problem = (assay_verify_problem){0};
  } else {
    findings->status = ASSAY_E_MEMORY;
  }
  pthread_mutex_unlock(&findings->lock);
  release_problem(&problem);
}

/* --- figures -------------------------------------------------------------------------------------
 */

static void count_figure(const assay_verify_place *at) {
  pthread_mutex_lock(&at->findings->lock);
  at->findings->n_figures++;
  pthread_mutex_unlock(&at->findings->lock);
}

static void blame(const assay_verify_place *at, const char *what, const char *expected,
                  const char *found) {
  char whole[PROBLEM_TEXT_BYTES];
  snprintf(whole, sizeof whole, "%s%s", at->within, what);
  assay_verify_add(at->findings, ASSAY_VERIFY_FIGURE, at->file, whole, expected, found);
}

void assay_verify_holds(const assay_verify_place *at, const char *what, bool holds,
                        const char *expected, const char *found) {
  count_figure(at);
  if (!holds) blame(at, what, expected, found);
}

void assay_verify_int(const assay_verify_place *at, const char *what, int64_t found,
                      int64_t expected) {
  char expected_text[32], found_text[32];
  count_figure(at);
  if (found == expected) return;
  snprintf(expected_text, sizeof expected_text, "%" PRId64, expected);
  snprintf(found_text, sizeof found_text, "%" PRId64, found);
  blame(at, what, expected_text, found_text);
}

void assay_verify_bool(const assay_verify_place *at, const char *what, bool found, bool expected) {
  assay_verify_holds(at, what, found == expected, expected ? "true" : "false",
                     found ? "true" : "false");
}

void assay_verify_text(const assay_verify_place *at, const char *what, const char *found,
                       const char *expected) {
  const char *a = found != NULL ? found : "", *b = expected != NULL ? expected : "";
  assay_verify_holds(at, what, strcmp(a, b) == 0, b[0] != '\0' ? b : "nothing",
                     a[0] != '\0' ? a : "nothing");
}

static bool is_within(double a, double b, double bound) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (a == b) return true;
  return isfinite(a) && isfinite(b) && fabs(a - b) <= bound;
}

void assay_verify_real(const assay_verify_place *at, const char *what, double found,
                       double expected, double bound) {
  char expected_text[96], found_text[48];
  count_figure(at);
  if (is_within(found, expected, bound)) return;
  if (bound > 0)
    snprintf(expected_text, sizeof expected_text, "%.17g, give or take %.2g", expected, bound);
  else
    snprintf(expected_text, sizeof expected_text, "%.17g", expected);
  snprintf(found_text, sizeof found_text, "%.17g", found);
  blame(at, what, expected_text, found_text);
}

double assay_verify_ulps(double value, double ulps) {
  double size = fabs(value);
  if (!isfinite(size)) return 0;
  return ulps * (nextafter(size, HUGE_VAL) - size);
}
