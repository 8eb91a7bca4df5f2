/* Tests of gate.c: each fault of a package, the line that tells it, and the last line. */
#include "report/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_folder.h"
#include "report/testpack.h"

/* The gate's whole text over a synthetic package, into out. */
static bool judge(const testpack_spec *spec, assay_sink *out) {
  test_folder folder;
  assay_view view;
  assay_error err = {0};
  test_folder_open(&folder);
  const char *package = test_folder_file(&folder, "package");
  if (testpack_write(spec, package, &err) || assay_view_open(package, &view, &err)) {
    print_error("%s\n", err.text);
    fail();
  }
  assay_gate_put_text(&view, out);
  bool qualified = view.qualified;
  assay_view_close(&view);
  test_folder_close(&folder);
  return qualified;
}

static void says_why_and_ends_with_the_verdict(void **state) {
  (void)state;
  /* Three rows, the first of them faulty. */
  const struct {
    testpack_spec spec;
    const char *reason, *verdict;
  } rows[] = {
      {{.fault = TESTPACK_NONE}, "", "QUALIFIED\n"},
      {{.zero_error = true}, "", "QUALIFIED\n"},
      {{.fault = TESTPACK_NUMBERS},
       "numbers: cpu / attention-cld / b1-n100 (timing): head 'momentum' against f32",
       "NOT QUALIFIED: numbers 1\n"},
      {{.fault = TESTPACK_NAN}, "numbers: cpu / ", "NOT QUALIFIED: numbers 1\n"},
      {{.fault = TESTPACK_SHAPE}, "numbers: cpu / ", "NOT QUALIFIED: numbers 1\n"},
      {{.huge_error = true}, "numbers: cpu / ", "NOT QUALIFIED: numbers 3\n"},
      {{.fault = TESTPACK_PLACEMENT},
       "placement: cpu / attention-cld / b1-n100 (placement): fail: 1 of 140",
       "NOT QUALIFIED: placement 1\n"},
      {{.fault = TESTPACK_UNKNOWN}, "(placement): unknown: ", "NOT QUALIFIED: placement 1\n"},
      {{.fault = TESTPACK_MISSING},
       "missing: cpu / attention-cld / b1-n100 (placement): ",
       "NOT QUALIFIED: missing 2\n"},
      {{.fault = TESTPACK_CRASHED},
       "crashed: cpu / attention-cld / b1-n100 (timing): timing: the worker died",
       "NOT QUALIFIED: crashed 2\n"},
      {{.fault = TESTPACK_TIMED_OUT}, "timed out: ", "NOT QUALIFIED: timed out 2\n"},
      {{.fault = TESTPACK_SESSION},
       "failed: cpu / attention-cld / b1-n100 (timing): session: ",
       "NOT QUALIFIED: failed 2\n"},
      {{.fault = TESTPACK_OPTIONS}, "options: ", "NOT QUALIFIED: options 1\n"},
      {{.fault = TESTPACK_LYING}, "evidence: ", "NOT QUALIFIED: evidence 1\n"},
      {{.fault = TESTPACK_BROKEN}, "failed: ", "NOT QUALIFIED: failed 2\n"},
      {{.unfinished = true}, "unfinished: ", "NOT QUALIFIED: unfinished 1\n"},
      {{.fault = TESTPACK_MISSING, .unfinished = true},
       "",
       "NOT QUALIFIED: missing 2, unfinished 1\n"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    testpack_spec spec = rows[i].spec;
    spec.n_runtimes = 1;
    spec.n_bundles = 1;
    spec.n_cases = 3;
    spec.fault_every = 3;
    assay_sink sink = {0};
    bool qualified = judge(&spec, &sink);
    const char *text = assay_sink_text(&sink);
    const char *last = text + strlen(text) - 1;
    while (last > text && last[-1] != '\n') last--;
    assert_string_equal(last, rows[i].verdict);
    assert_int_equal(qualified, strcmp(rows[i].verdict, "QUALIFIED\n") == 0);
    if (strstr(text, rows[i].reason) == NULL) {
      print_error("row %zu: expected '%s' in:\n%s", i, rows[i].reason, text);
      fail();
    }
    assay_sink_reset(&sink);
  }
}

static void one_line_holds_one_reason_whatever_it_says(void **state) {
  (void)state;
  const testpack_spec spec = {.n_runtimes = 1,
                              .n_bundles = 1,
                              .n_cases = 2,
                              .fault = TESTPACK_NUMBERS,
                              .fault_every = 1,
                              .hostile = true};
  assay_sink sink = {0};
  assert_false(judge(&spec, &sink));
  size_t lines = 0;
  for (const char *c = assay_sink_text(&sink); *c; c++) {
    lines += *c == '\n';
    assert_true((unsigned char)*c >= 0x20 || *c == '\n');
  }
  assert_int_equal(lines, 3);
  assay_sink_reset(&sink);
}

static void a_case_that_nobody_planned_is_missing(void **state) {
  (void)state;
  test_folder folder;
  assay_view view;
  assay_error err = {0};
  const testpack_spec spec = {.n_runtimes = 1, .n_bundles = 1, .n_cases = 3};
  test_folder_open(&folder);
  char path[1100];
  (void)snprintf(path, sizeof path, "%s", test_folder_file(&folder, "package"));
  assert_int_equal(testpack_write(&spec, path, &err), ASSAY_OK);
  assay_package package = {0};
  assert_int_equal(assay_package_read(path, &package, &err), ASSAY_OK);
  size_t n_runs = package.n_runs;
  package.n_runs = n_runs - 2; /* the last case is not planned any more */
  assert_int_equal(assay_package_write(&package, path, &err), ASSAY_OK);
  package.n_runs = n_runs;
  assay_package_reset(&package);
  assert_int_equal(assay_view_open(path, &view, &err), ASSAY_OK);
  char verdict[512];
  assay_view_verdict(&view, verdict, sizeof verdict);
  assert_string_equal(verdict, "NOT QUALIFIED: missing 2");
  assert_int_equal(view.n_rows, 3);
  assert_string_equal(assay_view_numbers_word(&view.rows[2]), "not planned");
  assay_view_close(&view);
  test_folder_close(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(says_why_and_ends_with_the_verdict),
      cmocka_unit_test(one_line_holds_one_reason_whatever_it_says),
      cmocka_unit_test(a_case_that_nobody_planned_is_missing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
