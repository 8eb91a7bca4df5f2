/* Tests of campaign_view.c: what a package says becomes rows, groups and figures. */
#include "report/campaign_view.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/test_folder.h"
#include "report/testpack.h"

static void open_view(test_folder *folder, const testpack_spec *spec, assay_view *view) {
  assay_error err = {0};
  test_folder_open(folder);
  const char *package = test_folder_file(folder, "package");
  if (testpack_write(spec, package, &err) || assay_view_open(package, view, &err)) {
    print_error("%s\n", err.text);
    fail();
  }
}

static void close_view(test_folder *folder, assay_view *view) {
  assay_view_close(view);
  test_folder_close(folder);
}

static void has_a_row_for_each_case_on_each_runtime(void **state) {
  (void)state;
  test_folder folder;
  assay_view view;
  const testpack_spec spec = {
      .n_runtimes = 2, .n_bundles = 2, .n_cases = 3, .brought = true, .half = true};
  open_view(&folder, &spec, &view);
  assert_int_equal(view.n_rows, 12);
  assert_int_equal(view.n_runs, 24);
  assert_int_equal(view.n_runs_done, 24);
  assert_true(view.qualified);
  assert_string_equal(view.rows[0].runtime, "cpu");
  assert_string_equal(view.rows[0].bundle, "attention-cld");
  assert_string_equal(view.rows[0].case_name, "b1-n100");
  assert_int_equal(view.rows[0].n_valid, 90);
  assert_string_equal(view.rows[11].case_name, "events-a");
  assert_string_equal(view.rows[11].inputs, "brought");
  /* Two runtimes, two models, controlled and brought inputs: nothing is pooled over these. */
  assert_int_equal(view.n_groups, 8);
  assert_string_equal(view.groups[2].dtype, "float16");
  assert_string_equal(view.groups[0].library_version, "1.32.0");
  close_view(&folder, &view);
}

static void takes_figures_from_results_and_case_files(void **state) {
  (void)state;
  test_folder folder;
  assay_view view;
  const testpack_spec spec = {.n_runtimes = 2, .n_bundles = 1, .n_cases = 2};
  open_view(&folder, &spec, &view);
  for (size_t r = 0; r < view.n_rows; r++) {
    const assay_view_row *row = &view.rows[r];
    assert_true(row->has_f32);
    assert_true(row->has_f64);
    assert_false(row->has_user);
    assert_int_equal(row->n_heads, 4);
    /* testpack writes sin(i) in both precisions: they differ by half a unit in the last place of
     * FP32 at most. */
    assert_true(row->has_reference_error);
    assert_true(row->reference_max_abs > 0 && row->reference_max_abs <= 0x1p-25);
    assert_non_null(row->worst);
    double most = 0;
    for (size_t h = 0; h < row->n_heads; h++) most = fmax(most, row->heads[h].f32->max_abs);
    assert_true(most == row->max_abs_f32);
    assert_non_null(assay_view_timing(row));
    assert_non_null(assay_view_placement(row));
    int64_t *samples = NULL;
    size_t n = 0;
    assert_int_equal(assay_view_samples(&view, row, &samples, &n, NULL), ASSAY_OK);
    assert_int_equal(n, 100);
    int64_t least = samples[0];
    for (size_t i = 1; i < n; i++) least = samples[i] < least ? samples[i] : least;
    assert_int_equal(least, assay_view_timing(row)->stats.min_ns);
    assay_free(samples);
  }
  close_view(&folder, &view);
}

static void lists_raw_files_with_their_sums(void **state) {
  (void)state;
  for (int unfinished = 0; unfinished < 2; unfinished++) {
    test_folder folder;
    assay_view view;
    const testpack_spec spec = {
        .n_runtimes = 1, .n_bundles = 1, .n_cases = 1, .unfinished = unfinished};
    open_view(&folder, &spec, &view);
    const assay_view_run *run = &view.rows[0].runs[ASSAY_VIEW_TIMING];
    assert_int_equal(run->n_files, 3); /* memory.npy, too */
    assert_string_equal(run->files[0].path, "runs/cpu/attention-cld/b1-n100/timing/result.json");
    assert_int_equal(strlen(run->files[0].sha256), 64);
    assert_string_equal(run->files[1].path, "runs/cpu/attention-cld/b1-n100/timing/samples.npy");
    close_view(&folder, &view);
  }
}

static void a_missing_run_has_no_figures(void **state) {
  (void)state;
  test_folder folder;
  assay_view view;
  const testpack_spec spec = {
      .n_runtimes = 1, .n_bundles = 1, .n_cases = 2, .fault = TESTPACK_MISSING, .fault_every = 1};
  open_view(&folder, &spec, &view);
  assert_int_equal(view.n_rows, 2);
  assert_int_equal(view.n_runs_done, 0);
  const assay_view_row *row = &view.rows[0];
  assert_false(row->has_f32);
  assert_null(row->worst);
  assert_null(assay_view_timing(row));
  assert_null(assay_view_placement(row));
  assert_string_equal(assay_view_numbers_word(row), "missing");
  assert_string_equal(assay_view_placement_word(row), "missing");
  assert_true(row->has_reference_error); /* of the case, which is there */
  assert_null(view.groups[0].worst);
  assert_null(view.groups[0].fastest);
  close_view(&folder, &view);
}

static void writes_an_index_as_its_shape_has_it(void **state) {
  (void)state;
  const struct {
    const char *shape;
    int64_t index;
    const char *expected;
  } rows[] = {{"[1,100,5]", 0, "[0,0,0]"},
              {"[2,100,5]", 517, "[1,3,2]"},
              {"[7]", 6, "[6]"},
              {"[1,100,5]", 500, "500"},
              {"", 3, "3"},
              {"[]", 0, "0"},
              {"[1,2,3]", -1, ""},
              {"[0,3]", 1, "1"},
              {"nonsense", 1, "1"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char out[64];
    assay_view_index_text(rows[i].shape, rows[i].index, out, sizeof out);
    assert_string_equal(out, rows[i].expected);
  }
}

static void refuses_what_is_no_package(void **state) {
  (void)state;
  test_folder folder;
  assay_view view;
  assay_error err = {0};
  test_folder_open(&folder);
  assert_int_not_equal(assay_view_open(folder.path, &view, &err), ASSAY_OK);
  assert_non_null(strstr(err.text, "package"));
  test_folder_close(&folder);
}

static void releases_all_when_memory_runs_out(void **state) {
  (void)state;
  test_folder folder;
  assay_view view;
  const testpack_spec spec = {.n_runtimes = 1, .n_bundles = 1, .n_cases = 1};
  open_view(&folder, &spec, &view);
  char *package = assay_strdup(view.path);
  assay_view_close(&view);
  for (int64_t n = 0; n < 100000; n += n < 400 ? 1 : 37) {
    assay_error err = {0};
    assay_alloc_fail_after(n);
    assay_status st = assay_view_open(package, &view, &err);
    assay_alloc_fail_after(-1);
    if (st == ASSAY_OK) {
      assay_view_close(&view);
      break;
    }
  }
  assay_free(package);
  test_folder_close(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(has_a_row_for_each_case_on_each_runtime),
      cmocka_unit_test(takes_figures_from_results_and_case_files),
      cmocka_unit_test(lists_raw_files_with_their_sums),
      cmocka_unit_test(a_missing_run_has_no_figures),
      cmocka_unit_test(writes_an_index_as_its_shape_has_it),
      cmocka_unit_test(refuses_what_is_no_package),
      cmocka_unit_test(releases_all_when_memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
