/* The common part of the JUnit schema that Jenkins, GitLab and GitHub's test reporters read:
 * testsuites, testsuite, testcase, failure, error. */
#include "report/junit.h"

#include <stdio.h>
#include <string.h>

static const char *const mode_words[] = {"timing", "placement"};

/* Reasons of one run that count as errors, or as failures. */
static bool is_error(assay_view_topic topic) {
  return topic == ASSAY_TOPIC_FAILED || topic == ASSAY_TOPIC_CRASHED ||
         topic == ASSAY_TOPIC_TIMED_OUT || topic == ASSAY_TOPIC_MISSING;
}

static const assay_view_reason *reason_of(const assay_view *view, size_t r, int mode) {
  for (size_t i = 0; view->rows[r].n_reasons && i < view->n_reasons; i++) {
    const assay_view_reason *reason = &view->reasons[i];
    if (reason->row == r && (int)reason->mode == mode) return reason;
  }
  return NULL;
}

static void put_attribute(assay_sink *sink, const char *name, const char *value) {
  assay_sink_putf(sink, " %s=\"", name);
  assay_sink_html(sink, value);
  assay_sink_put(sink, "\"");
}

static double elapsed_s(const assay_view_run *run) {
  return run->result.process.known ? (double)run->result.process.elapsed_ns / 1e9 : 0;
}

static void put_test(const assay_view *view, size_t r, int mode, assay_sink *sink) {
  const assay_view_row *row = &view->rows[r];
  const assay_view_reason *reason = reason_of(view, r, mode);
  assay_sink_put(sink, "    <testcase classname=\"");
  assay_sink_html(sink, row->runtime);
  assay_sink_put(sink, ".");
  assay_sink_html(sink, row->bundle);
  assay_sink_put(sink, "\" name=\"");
  assay_sink_html(sink, row->case_name);
  assay_sink_putf(sink, " %s\" time=\"%.6f\"", mode_words[mode], elapsed_s(&row->runs[mode]));
  if (reason == NULL) {
    assay_sink_put(sink, "/>\n");
    return;
  }
  const char *element = is_error(reason->topic) ? "error" : "failure";
  assay_sink_putf(sink, ">\n      <%s", element);
  put_attribute(sink, "type", assay_view_topic_word(reason->topic));
  put_attribute(sink, "message", reason->text);
  assay_sink_put(sink, "/>\n    </testcase>\n");
}

typedef struct tally {
  size_t n_tests, n_failures, n_errors;
  double elapsed_s;
} tally;

/* Tests of group g, or of all for SIZE_MAX. */
static tally count(const assay_view *view, size_t g) {
  tally t = {0};
  for (size_t r = 0; r < view->n_rows; r++) {
    for (int mode = 0; mode < ASSAY_VIEW_N_MODES && (g == SIZE_MAX || view->rows[r].group == g);
         mode++) {
      const assay_view_reason *reason = reason_of(view, r, mode);
      t.n_tests++;
      if (reason) *(is_error(reason->topic) ? &t.n_errors : &t.n_failures) += 1;
      t.elapsed_s += elapsed_s(&view->rows[r].runs[mode]);
    }
  }
  return t;
}

static void put_tally(assay_sink *sink, tally t) {
  assay_sink_putf(sink, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%.6f\"", t.n_tests,
                  t.n_failures, t.n_errors, t.elapsed_s);
}

/* Reasons about the package itself: a suite of one test, so that no CI system calls it green. */
static void put_package(const assay_view *view, assay_sink *sink) {
  for (size_t i = 0; i < view->n_reasons; i++) {
    if (view->reasons[i].row != SIZE_MAX) continue;
    assay_sink_put(sink, "  <testsuite name=\"package\" tests=\"1\" failures=\"0\" errors=\"1\">\n"
                         "    <testcase classname=\"package\" name=\"complete\">\n      <error");
    put_attribute(sink, "message", view->reasons[i].text);
    assay_sink_put(sink, "/>\n    </testcase>\n  </testsuite>\n");
  }
}

void assay_junit_put(const assay_view *view, assay_sink *sink) {
  assay_sink_put(sink, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\"");
  tally all = count(view, SIZE_MAX);
  for (size_t i = 0; i < view->n_reasons; i++) {
    all.n_tests += view->reasons[i].row == SIZE_MAX;
    all.n_errors += view->reasons[i].row == SIZE_MAX;
  }
  put_tally(sink, all);
  assay_sink_put(sink, ">\n");
  for (size_t g = 0; g < view->n_groups; g++) {
    const assay_view_group *group = &view->groups[g];
    assay_sink_put(sink, "  <testsuite name=\"");
    assay_sink_html(sink, group->bundle);
    assay_sink_put(sink, " on ");
    assay_sink_html(sink, group->runtime);
    if (strcmp(group->inputs, "controlled") != 0)
      assay_sink_putf(sink, ", %s", assay_view_inputs_words(group->inputs));
    assay_sink_put(sink, "\"");
    put_tally(sink, count(view, g));
    assay_sink_put(sink, ">\n");
    for (size_t r = 0; r < view->n_rows; r++) {
      for (int mode = 0; mode < ASSAY_VIEW_N_MODES && view->rows[r].group == g; mode++)
        put_test(view, r, mode, sink);
    }
    assay_sink_put(sink, "  </testsuite>\n");
  }
  put_package(view, sink);
  assay_sink_put(sink, "</testsuites>\n");
}
