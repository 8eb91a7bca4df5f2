/* Tests of attempt_memory.c: what a sampled child leaves in its folder and in the result. */
#include "campaign/attempt_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/test_folder.h"
#include "measure/clock.h"
#include "package/npz.h"

#define MS INT64_C(1000000)

static void write_phases(test_folder *folder, const char *text) {
  const char *path = test_folder_file(folder, "phases.txt");
  assert_int_equal(assay_file_write(path, text, strlen(text), NULL), ASSAY_OK);
}

/* Samples a child of 0.2 s; *out_start_ns: when it was started. */
static assay_sampler *sample_a_child(int64_t *out_start_ns, assay_child_result *out_child) {
  const char *argv[] = {"/bin/sh", "-c", "sleep 0.2", NULL};
  assay_child_spec child = {.argv = argv};
  assay_sampler *sampler = NULL;
  assert_int_equal(assay_attempt_memory_begin(&child, &sampler, NULL), ASSAY_OK);
  *out_start_ns = assay_clock_now_ns();
  assert_int_equal(assay_child_run(&child, out_child, NULL), ASSAY_OK);
  return sampler;
}

static void phases_of_the_worker_part_the_figures(void **state) {
  (void)state;
  test_folder folder;
  test_folder_open(&folder);
  assay_child_result child;
  int64_t start_ns = 0;
  assay_sampler *sampler = sample_a_child(&start_ns, &child);
  char phases[512];
  snprintf(phases, sizeof phases,
           "start 1\nsession %lld\nsession 9\nfirst_run 5\nwarmup %lld\ntiming 7\noutputs %lld\n",
           (long long)(start_ns + 60 * MS), (long long)(start_ns + 120 * MS),
           (long long)(start_ns + 180 * MS));
  write_phases(&folder, phases);
  assay_result_memory memory = {0};
  assay_error err = {0};
  if (assay_attempt_memory_end(sampler, folder.path, child.max_rss_bytes, &memory, &err))
    fail_msg("%s", err.text);
  assert_true(memory.known && memory.reason == NULL);
  assert_int_equal(memory.session_ns, start_ns + 60 * MS);
  assert_int_equal(memory.warm_ns, start_ns + 120 * MS);
  assert_int_equal(memory.end_ns, start_ns + 180 * MS);
  const assay_result_memory_column *rss = assay_result_memory_find(&memory, "rss_bytes");
  assert_non_null(rss);
  assert_null(rss->device);
  assert_true(rss->n_baseline > 0 && rss->n_first > 0 && rss->n_warm > 0);
  assert_true(rss->baseline_bytes > 0 && rss->peak_warm_bytes > 0);
  assert_true(rss->high_water_bytes >= rss->peak_bytes);
  assay_tensor samples = {0};
  const char *path = test_folder_file(&folder, "memory.npy");
  assert_int_equal(assay_npy_read(path, NULL, &samples, NULL), ASSAY_OK);
  assert_int_equal(samples.rank, 2);
  assert_int_equal(samples.dims[0], memory.n_rows);
  assert_int_equal(samples.dims[1], 2 + memory.n_columns);
  assay_tensor_reset(&samples);
  assay_result_memory_reset(&memory);
  test_folder_close(&folder);
}

/* Whatever stands there, the figures are of the marks that can be read. */
static void odd_marks_are_passed_over(void **state) {
  (void)state;
  const struct {
    const char *text;
    int64_t session_ns, warm_ns, end_ns;
  } rows[] = {
      {"", 0, 0, 0},
      {"session 5\ntiming 6\noutputs 7\n", 5, 6, 7},
      {"session 5\nwarmup 6\noutputs 7", 5, 6, 0}, /* cut */
      {"session -5\nsession 0\nsession x\nsession 5 \nsession  8\n", 8, 0, 0},
      {"session 99999999999999999999\nwarmup\n\n \noutputs 3\n", 0, 0, 3},
      {"surprise 5\n\xff\xfe 7\nsession\t6\n", 6, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    test_folder folder;
    test_folder_open(&folder);
    write_phases(&folder, rows[i].text);
    assay_child_spec child = {0};
    assay_sampler *sampler = NULL;
    assay_result_memory memory = {0};
    assert_int_equal(assay_attempt_memory_begin(&child, &sampler, NULL), ASSAY_OK);
    assert_int_equal(assay_attempt_memory_end(sampler, folder.path, 0, &memory, NULL), ASSAY_OK);
    if (memory.session_ns != rows[i].session_ns || memory.warm_ns != rows[i].warm_ns ||
        memory.end_ns != rows[i].end_ns)
      fail_msg("row %zu: %lld %lld %lld", i, (long long)memory.session_ns,
               (long long)memory.warm_ns, (long long)memory.end_ns);
    const assay_result_memory_column *rss = assay_result_memory_find(&memory, "rss_bytes");
    assert_int_equal(rss->peak_bytes, ASSAY_RESULT_NONE); /* no process was started */
    assert_int_equal(rss->high_water_bytes, ASSAY_RESULT_NONE);
    assert_non_null(strstr(rss->reason, "no process was started"));
    assay_result_memory_reset(&memory);
    test_folder_close(&folder);
  }
}

static void what_cannot_be_kept_is_said(void **state) {
  (void)state;
  assay_child_spec child = {0};
  assay_sampler *sampler = NULL;
  assay_result_memory memory = {0};
  assay_error err = {0};
  assert_int_equal(assay_attempt_memory_begin(&child, &sampler, NULL), ASSAY_OK);
  assert_int_equal(assay_attempt_memory_end(sampler, "/nowhere", 0, &memory, &err), ASSAY_E_IO);
  assert_non_null(strstr(err.text, "/nowhere"));
  assert_int_equal(assay_attempt_memory_none(err.text, &memory, NULL), ASSAY_OK);
  assert_true(memory.known && strcmp(memory.reason, err.text) == 0 && memory.n_columns == 0);
  assay_result_memory_reset(&memory);
  assay_attempt_memory_drop(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(phases_of_the_worker_part_the_figures),
      cmocka_unit_test(odd_marks_are_passed_over),
      cmocka_unit_test(what_cannot_be_kept_is_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
