/* Tests of issue.c, junit.c and side_by_side.c: what is handed to others. */
#include "report/issue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_folder.h"
#include "report/junit.h"
#include "report/side_by_side.h"
#include "report/testpack.h"

static void open_view(test_folder *folder, const char *name, const testpack_spec *spec,
                      assay_view *view) {
  assay_error err = {0};
  const char *package = test_folder_file(folder, name);
  if (testpack_write(spec, package, &err) || assay_view_open(package, view, &err))
    fail_msg("%s", err.text);
}

static size_t count(const char *text, const char *word) {
  size_t n = 0;
  for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) n++;
  return n;
}

static void the_issue_block_is_short_and_closed(void **state) {
  (void)state;
  static const testpack_spec specs[] = {
      {.n_runtimes = 1, .n_bundles = 1, .n_cases = 1},
      {.n_runtimes = 4, .n_bundles = 4, .n_cases = 3, .fault = TESTPACK_NUMBERS, .fault_every = 1},
      {.n_runtimes = 1,
       .n_bundles = 1,
       .n_cases = 3,
       .fault = TESTPACK_PLACEMENT,
       .fault_every = 1,
       .hostile = true},
      {.n_runtimes = 1, .n_bundles = 1, .n_cases = 3, .fault = TESTPACK_MISSING, .fault_every = 1},
  };
  for (size_t i = 0; i < 2 * (sizeof specs / sizeof specs[0]); i++) {
    test_folder folder;
    assay_view view;
    assay_sink sink = {0};
    test_folder_open(&folder);
    open_view(&folder, "package", &specs[i / 2], &view);
    assay_issue_put(&view, /*redact=*/i % 2, &sink);
    const char *text = assay_sink_text(&sink);
    assert_true(count(text, "\n") < 60);
    assert_int_equal(count(text, "```"), 2);
    assert_int_equal(strncmp(text, "```text\n", 8), 0);
    assert_int_equal(strcmp(text + strlen(text) - 5, "\n```\n"), 0);
    if (i % 2) {
      assert_int_equal(count(text, "/opt/ort"), 0);
      if (!specs[i / 2].hostile) assert_true(count(text, "…/libonnxruntime.so.1.32.0") > 0);
      assert_int_equal(count(text, "my models"), 0);
    }
    assay_sink_reset(&sink);
    assay_view_close(&view);
    test_folder_close(&folder);
  }
}

static void junit_counts_what_the_gate_counts(void **state) {
  (void)state;
  test_folder folder;
  assay_view view;
  assay_sink sink = {0};
  const testpack_spec spec = {.n_runtimes = 1,
                              .n_bundles = 2,
                              .n_cases = 3,
                              .fault = TESTPACK_CRASHED,
                              .fault_every = 3,
                              .hostile = true,
                              .brought = true};
  test_folder_open(&folder);
  open_view(&folder, "package", &spec, &view);
  assay_junit_put(&view, &sink);
  const char *text = assay_sink_text(&sink);
  assert_non_null(
      strstr(text, "<testsuites name=\"assay\" tests=\"12\" failures=\"0\" errors=\"4\""));
  assert_int_equal(count(text, "<testcase"), 12);
  assert_int_equal(count(text, "<error"), 4);
  assert_int_equal(count(text, "<testsuite "), 4);
  assert_int_equal(count(text, "<script"), 0);
  for (const char *c = text; *c; c++) assert_true((unsigned char)*c >= 0x20 || *c == '\n');
  assay_sink_reset(&sink);
  assay_view_close(&view);
  test_folder_close(&folder);
}

static void marks_only_what_the_intervals_show(void **state) {
  (void)state;
  test_folder folder;
  assay_view a, b;
  assay_sink sink = {0};
  const testpack_spec spec = {.n_runtimes = 1, .n_bundles = 1, .n_cases = 3};
  const testpack_spec other = {.n_runtimes = 1, .n_bundles = 1, .n_cases = 4};
  test_folder_open(&folder);
  open_view(&folder, "a", &spec, &a);
  open_view(&folder, "b", &other, &b);
  assay_result_percentile *slow =
      &b.rows[1].runs[ASSAY_VIEW_TIMING].result.timing.stats.percentiles[0];
  slow->value_ns *= 2, slow->low_ns *= 2, slow->high_ns *= 2;
  assay_result_percentile *fast =
      &b.rows[2].runs[ASSAY_VIEW_TIMING].result.timing.stats.percentiles[0];
  fast->value_ns /= 2, fast->low_ns /= 2, fast->high_ns /= 2;
  assay_side_by_side_put(&a, &b, &sink);
  const char *text = assay_sink_text(&sink);
  assert_int_equal(count(text, "no difference shown"), 1);
  assert_int_equal(count(text, "slower"), 1);
  assert_int_equal(count(text, "faster"), 1);
  assert_non_null(strstr(text, "not in both: 0 of A, 1 of B"));
  assay_sink_reset(&sink);
  assay_view_close(&a);
  assay_view_close(&b);
  test_folder_close(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_issue_block_is_short_and_closed),
      cmocka_unit_test(junit_counts_what_the_gate_counts),
      cmocka_unit_test(marks_only_what_the_intervals_show),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
