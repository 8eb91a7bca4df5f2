/* Tests of mem_summary.c on samples written by hand. */
#include "measure/mem_summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/array.h"
#include "measure/mem.h"

#define NONE ASSAY_MEM_NONE

/* time, reading time, value, another value */
static const int64_t rows[][4] = {
    {1000, 10, NONE, 5},  {1100, 10, 30, 5}, {1200, 10, 20, 6},
    {1295, 10, 50, NONE}, /* over the session's mark at 1300: of the first phase already */
    {1400, 10, 90, 9},    {1500, 10, 40, 7}, /* the first call ends at 1505: of both */
    {1600, 10, 60, 4},    {1700, 10, 10, 0}, {1800, 10, 99, 3}, /* begun at the end's mark */
    {1900, 10, NONE, 1},
};

static assay_mem_figures figures_of(size_t column, assay_mem_marks marks) {
  assay_mem_figures figures;
  assay_mem_summarise(&rows[0][0], N_OF(rows), 4, column, &marks, &figures);
  return figures;
}

static void rows_fall_into_the_phases_that_they_touch(void **state) {
  (void)state;
  assay_mem_figures f = figures_of(2, (assay_mem_marks){1300, 1505, 1800});
  assert_int_equal(f.n_values, 8);
  assert_int_equal(f.n_baseline, 2);
  assert_int_equal(f.baseline_bytes, 20); /* the last one, not the largest */
  assert_int_equal(f.n_first, 3);
  assert_int_equal(f.peak_first_bytes, 90);
  assert_int_equal(f.n_warm, 3);
  assert_int_equal(f.peak_warm_bytes, 60);
  assert_int_equal(f.peak_bytes, 99);
}

static void each_column_has_its_own_figures(void **state) {
  (void)state;
  assay_mem_figures f = figures_of(3, (assay_mem_marks){1300, 1505, 1800});
  assert_int_equal(f.n_baseline, 3);
  assert_int_equal(f.baseline_bytes, 6);
  assert_int_equal(f.peak_first_bytes, 9);
  assert_int_equal(f.peak_warm_bytes, 7);
  assert_int_equal(f.n_values, 9);
}

static void phases_that_were_not_reached_have_no_figures(void **state) {
  (void)state;
  assay_mem_figures f = figures_of(2, (assay_mem_marks){1300, 0, 0});
  assert_int_equal(f.peak_first_bytes, 99);
  assert_int_equal(f.n_warm, 0);
  assert_int_equal(f.peak_warm_bytes, NONE);
  f = figures_of(2, (assay_mem_marks){0, 0, 0});
  assert_int_equal(f.baseline_bytes, 99);
  assert_int_equal(f.peak_first_bytes, NONE);
  f = figures_of(2, (assay_mem_marks){500, 600, 0}); /* no row before the session */
  assert_int_equal(f.baseline_bytes, NONE);
  assert_int_equal(f.n_first, 0);
  assert_int_equal(f.peak_warm_bytes, 99);
}

static void no_rows_and_impossible_times_give_nothing(void **state) {
  const int64_t odd[][3] = {{INT64_MAX, 10, 5}, {100, 10, NONE}};
  assay_mem_marks marks = {1, 2, 3};
  assay_mem_figures f;
  (void)state;
  assay_mem_summarise(&rows[0][0], 0, 4, 2, &marks, &f);
  assert_int_equal(f.n_values, 0);
  assert_int_equal(f.peak_bytes, NONE);
  assay_mem_summarise(&odd[0][0], N_OF(odd), 3, 2, &marks, &f);
  assert_int_equal(f.n_values, 0);
  assert_int_equal(f.baseline_bytes, NONE);
}

static void deadlines_without_a_row_are_missed(void **state) {
  /* Every 10 from 100 on: those of 100, 110, 120 (late, but before 130), 150 and 160; 130 and 140
   * are missed. A row before the first deadline and a second one of one deadline count nothing. */
  const int64_t times[] = {95, 100, 104, 110, 129, 151, 160};
  int64_t values[N_OF(times)][2];
  (void)state;
  for (size_t i = 0; i < N_OF(times); i++) {
    values[i][0] = times[i];
    values[i][1] = 1;
  }
  assert_int_equal(assay_mem_missed(&values[0][0], N_OF(times), 2, 100, 10), 2);
  assert_int_equal(assay_mem_missed(&values[0][0], 4, 2, 100, 10), 0);
  assert_int_equal(assay_mem_missed(&values[5][0], 1, 2, 100, 10), 5);
  assert_int_equal(assay_mem_missed(&values[0][0], 0, 2, 100, 10), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_fall_into_the_phases_that_they_touch),
      cmocka_unit_test(each_column_has_its_own_figures),
      cmocka_unit_test(phases_that_were_not_reached_have_no_figures),
      cmocka_unit_test(no_rows_and_impossible_times_give_nothing),
      cmocka_unit_test(deadlines_without_a_row_are_missed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
