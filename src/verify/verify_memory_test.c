/* Tests of verify_memory.c: samples written by hand pass with their figures, and with no others. */
#include "verify/verify_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/test_folder.h"
#include "package/npz.h"

#define NONE ASSAY_RESULT_NONE

/* Every 100 from 1000 on; that of 1300 is missed. */
static const int64_t samples[][4] = {
    {1000, 10, NONE, 5}, {1100, 10, 30, 5}, {1200, 10, 20, 6}, {1405, 10, 90, NONE},
    {1500, 10, 40, 7},   {1600, 10, 60, 4}, {1701, 10, 99, 3},
};
#define N_ROWS (sizeof samples / sizeof samples[0])

static assay_result_memory_column columns[2];
static assay_result_memory_device device;

static void fill(assay_result *result) {
  columns[0] = (assay_result_memory_column){NULL, NULL, NULL, 6, 2, 2, 2, 20, 90, 60, 99, 100};
  columns[0].name = (char *)(uintptr_t) "rss_bytes";
  columns[1] = (assay_result_memory_column){NULL, NULL, NULL, 6, 3, 1, 2, 6, 7, 7, 7, NONE};
  columns[1].name = (char *)(uintptr_t) "used_bytes@0000:c1:00.0";
  *result = (assay_result){.mode = ASSAY_RESULT_TIMING,
                           .memory = {.known = true,
                                      .interval_ns = 100,
                                      .start_ns = 1000,
                                      .n_rows = N_ROWS,
                                      .n_missed = 1,
                                      .max_late_ns = 5,
                                      .session_ns = 1300,
                                      .warm_ns = 1505,
                                      .end_ns = 1650,
                                      .columns = columns,
                                      .n_columns = 2,
                                      .devices = &device,
                                      .n_devices = 1}};
}

static void write_evidence(test_folder *folder) {
  static const char phases[] = "start 1\nsession 1300\nwarmup 1505\ntiming 1510\noutputs 1650\n";
  const int64_t dims[] = {N_ROWS, 4};
  assay_tensor view = {0};
  void *values = (void *)(uintptr_t)&samples[0][0];
  assert_int_equal(assay_tensor_init_view(&view, ASSAY_DTYPE_I64, 2, dims, values, NULL), ASSAY_OK);
  assert_int_equal(assay_npy_write(test_folder_file(folder, "memory.npy"), &view, NULL), ASSAY_OK);
  assert_int_equal(
      assay_file_write(test_folder_file(folder, "phases.txt"), phases, sizeof phases - 1, NULL),
      ASSAY_OK);
}

/* How many problems there are; the first one must name `what` when it is not NULL. */
static size_t check(const test_folder *folder, const assay_result *result, const char *what) {
  assay_verify_findings findings;
  assay_verify_findings_init(&findings);
  assay_verify_place at = {.findings = &findings, .file = "result.json"};
  assay_verify_memory derived = {0};
  assert_int_equal(assay_verify_memory_check(&at, folder->path, result, &derived, NULL), ASSAY_OK);
  if (derived.derived && derived.n_columns > 0 && findings.n == 0)
    assert_int_equal(derived.columns[0].peak_bytes, result->memory.columns[0].peak_bytes);
  assay_verify_memory_reset(&derived);
  size_t n = findings.n;
  if (n > 0 && (what == NULL || strstr(findings.problems[0].what, what) == NULL))
    fail_msg("%s: expected %s, found %s", findings.problems[0].what, findings.problems[0].expected,
             findings.problems[0].found);
  assay_verify_findings_destroy(&findings);
  return n;
}

static void right_figures_pass(void **state) {
  (void)state;
  test_folder folder;
  test_folder_open(&folder);
  assay_result result;
  fill(&result);
  write_evidence(&folder);
  assert_int_equal(check(&folder, &result, NULL), 0);
  test_folder_close(&folder);
}

static void each_wrong_figure_is_named(void **state) {
  (void)state;
  test_folder folder;
  test_folder_open(&folder);
  write_evidence(&folder);
  assay_result r;
  const struct {
    int64_t *figure;
    int64_t value;
    const char *what;
  } rows[] = {
      {&r.memory.n_rows, N_ROWS - 1, "memory.n_rows"},
      {&r.memory.n_missed, 0, "memory.n_missed"},
      {&r.memory.max_late_ns, 4, "memory.max_late_ns"},
      {&r.memory.start_ns, 1001, "memory.start_ns"},
      {&r.memory.session_ns, 1301, "memory.session_ns"},
      {&r.memory.warm_ns, 0, "memory.warm_ns"},
      {&r.memory.end_ns, 1651, "memory.end_ns"},
      {&columns[0].baseline_bytes, 30, "columns[0].baseline_bytes"},
      {&columns[0].peak_first_bytes, 99, "columns[0].peak_first_bytes"},
      {&columns[0].peak_warm_bytes, NONE, "columns[0].peak_warm_bytes"},
      {&columns[0].peak_bytes, 100, "columns[0].peak_bytes"},
      {&columns[0].high_water_bytes, 98, "columns[0].high_water_bytes"},
      {&columns[0].n_values, 7, "columns[0].n_values"},
      {&columns[1].n_baseline, 2, "columns[1].n_baseline"},
      {&columns[1].n_first, 0, "columns[1].n_first"},
      {&columns[1].n_warm, 3, "columns[1].n_warm"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fill(&r);
    *rows[i].figure = rows[i].value;
    if (check(&folder, &r, rows[i].what) == 0) fail_msg("%s was not missed", rows[i].what);
  }
  test_folder_close(&folder);
}

static void evidence_that_is_not_there_is_missed(void **state) {
  (void)state;
  test_folder folder;
  test_folder_open(&folder);
  assay_result r;
  fill(&r);
  assert_true(check(&folder, &r, "memory.session_ns") > 0);
  write_evidence(&folder);
  r.memory.n_columns = 1;
  assert_int_equal(check(&folder, &r, "memory.columns"), 1);
  fill(&r);
  assert_int_equal(assay_file_write(test_folder_file(&folder, "memory.npy"), "x", 1, NULL),
                   ASSAY_OK);
  assert_int_equal(check(&folder, &r, "memory.memory.npy"), 1);
  test_folder_close(&folder);
}

static void nothing_sampled_has_no_figures(void **state) {
  (void)state;
  test_folder folder;
  test_folder_open(&folder);
  assay_result r;
  fill(&r);
  r.memory.reason = (char *)(uintptr_t) "no thread";
  assert_int_equal(check(&folder, &r, "memory.n_rows"), 2);
  r.memory.n_rows = 0;
  r.memory.n_columns = 0;
  assert_int_equal(check(&folder, &r, NULL), 0);
  r.memory = (assay_result_memory){0};
  assert_int_equal(check(&folder, &r, NULL), 0);
  fill(&r);
  r.mode = ASSAY_RESULT_PLACEMENT;
  write_evidence(&folder);
  assert_int_equal(check(&folder, &r, "memory."), 1);
  test_folder_close(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(right_figures_pass),
      cmocka_unit_test(each_wrong_figure_is_named),
      cmocka_unit_test(evidence_that_is_not_there_is_missed),
      cmocka_unit_test(nothing_sampled_has_no_figures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
