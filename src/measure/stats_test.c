/* Tests of stats.c: against exact integer sums for every n up to 1000, and small series worked by
 * hand. */
#include "measure/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"

static assay_stats stats_of(const int64_t *x, size_t n) {
  assay_stats s;
  assay_error err = {0};
  assay_status st = assay_stats_run(x, n, &s, &err);
  if (st) fail_msg("%s: %s", assay_status_name(st), err.text);
  assert_int_equal(s.n, n);
  return s;
}

/* testdata/intervals.txt: n, then low rank, high rank and coverage * 1e12 for each percentile. */
static void intervals_equal_exact_integer_sums(void **state) {
  (void)state;
  static const double p[4] = {0.5, 0.9, 0.95, 0.99};
  FILE *file = fopen("testdata/intervals.txt", "r");
  assert_non_null(file);
  for (size_t n = 1; n <= 1000; ++n) {
    size_t row = 0;
    assert_int_equal(fscanf(file, "%zu", &row), 1);
    assert_int_equal(row, n);
    for (size_t i = 0; i < 4; ++i) {
      size_t want_low = 0, want_high = 0, low = 0, high = 0;
      double want_coverage = 0, coverage = 0;
      assert_int_equal(fscanf(file, "%zu %zu %lf", &want_low, &want_high, &want_coverage), 3);
      assay_stats_interval(n, p[i], 0.95, &low, &high, &coverage);
      if (low != want_low || high != want_high)
        fail_msg("n=%zu p=%g: %zu..%zu, exact %zu..%zu", n, p[i], low, high, want_low, want_high);
      if (fabs(coverage * 1e12 - want_coverage) >
          1.5) /* the cut at 1e-12, and one step for its rounding */
        fail_msg("n=%zu p=%g: coverage %.15g, exact %.15g", n, p[i], coverage,
                 want_coverage / 1e12);
    }
  }
  fclose(file);
}

static void an_upper_end_that_the_samples_cannot_give_is_absent(void **state) {
  (void)state;
  int64_t x[100];
  for (int64_t i = 0; i < 100; ++i) x[i] = 1000 + i;
  assay_stats s = stats_of(x, 100);
  const assay_percentile *p99 = &s.percentiles[3];
  assert_true(p99->has_low);
  assert_int_equal(p99->low_rank, 97);
  assert_int_equal(p99->low_ns, 1096);
  assert_false(p99->has_high);
  assert_int_equal(p99->high_rank, 0);
  assert_int_equal(p99->high_ns, 0);
  const assay_percentile *p50 = &s.percentiles[0];
  assert_int_equal(p50->low_ns, 1039);
  assert_int_equal(p50->high_ns, 1060);
  assert_true(p50->coverage >= 0.95);
}

static void large_n_and_small_tails_are_finite(void **state) {
  (void)state;
  size_t low = 0, high = 0;
  double coverage = 0;
  assay_stats_interval(1000000, 0.5, 0.95, &low, &high, &coverage);
  assert_int_equal(low, 499020); /* 500000 - 1.96 * 500 */
  assert_int_equal(high, 500981);
  assert_true(coverage >= 0.95 && coverage < 0.951);
  assay_stats_interval(1000000, 0.999999, 0.95, &low, &high, &coverage);
  assert_int_equal(high, 0); /* P(B = n) = 1/e */
}

static void percentiles_interpolate_as_type_7(void **state) {
  (void)state;
  const int64_t four[4] = {40, 10, 30, 20};
  assay_stats s = stats_of(four, 4);
  assert_true(s.percentiles[0].value_ns == 25);
  assert_true(fabs(s.percentiles[1].value_ns - 37) < 1e-12);
  assert_true(fabs(s.percentiles[2].value_ns - 38.5) < 1e-12);
  assert_true(fabs(s.percentiles[3].value_ns - 39.7) < 1e-12);
  assert_int_equal(four[0], 40); /* not sorted in place */
  int64_t ramp[101];
  for (int64_t i = 0; i <= 100; ++i) ramp[i] = 100 - i;
  s = stats_of(ramp, 101);
  assert_true(s.percentiles[1].value_ns == 90 && s.percentiles[2].value_ns == 95 &&
              s.percentiles[3].value_ns == 99);
  assert_true(s.min_ns == 0 && s.max_ns == 100 && s.mean_ns == 50);
}

static void large_samples_do_not_overflow(void **state) {
  (void)state;
  const int64_t big = (int64_t)1 << 62;
  const int64_t x[4] = {0, big, big, big};
  assay_stats s = stats_of(x, 4);
  assert_true(s.mean_ns == 0x1p62 * 0.75);
  assert_true(s.percentiles[0].value_ns == 0x1p62);
}

static void one_sample_has_no_spread(void **state) {
  (void)state;
  const int64_t x[1] = {7};
  assay_stats s = stats_of(x, 1);
  assert_true(s.mean_ns == 7 && s.percentiles[3].value_ns == 7);
  assert_true(isnan(s.stddev_ns) && isnan(s.lag1) && isnan(s.drift));
  assert_false(s.percentiles[0].has_low || s.percentiles[0].has_high);
}

static void correlation_drift_and_spread_are_as_worked_by_hand(void **state) {
  (void)state;
  const int64_t up[6] = {10, 20, 30, 40, 50, 60};
  assay_stats s = stats_of(up, 6);
  /* deviations -25 -15 -5 5 15 25: squares 1750; neighbours 375 + 75 - 25 + 75 + 375 = 875 */
  assert_true(fabs(s.lag1 - 0.5) < 1e-15);
  assert_true(fabs(s.stddev_ns - sqrt(350)) < 1e-12);
  assert_true(fabs(s.drift - 40.0 / 35.0) < 1e-15); /* (55 - 15) / 35 */
  const int64_t zigzag[4] = {1, 3, 1, 3};
  assert_true(fabs(stats_of(zigzag, 4).lag1 + 0.75) < 1e-15);
  const int64_t flat[8] = {5, 5, 5, 5, 5, 5, 5, 5};
  s = stats_of(flat, 8);
  assert_true(isnan(s.lag1) && s.stddev_ns == 0 && s.drift == 0);
  assert_true(isnan(stats_of(up, 5).drift));
}

static void outliers_are_counted_and_kept(void **state) {
  (void)state;
  /* Q1 = 102, Q3 = 106, IQR = 4: limits 90 and 118. */
  const int64_t x[9] = {100, 101, 102, 103, 104, 105, 106, 118, 119};
  assay_stats s = stats_of(x, 9);
  assert_int_equal(s.n_outliers, 1);
  assert_int_equal(s.max_ns, 119);
}

static void unusable_series_are_refused(void **state) {
  (void)state;
  const int64_t negative[2] = {1, -1};
  const int64_t huge[1] = {INT64_MAX};
  assay_stats s;
  assay_error err = {0};
  assert_int_equal(assay_stats_run(negative, 0, &s, &err), ASSAY_E_ARGUMENT);
  assert_non_null(strstr(err.text, "at least 1 sample"));
  err = (assay_error){0};
  assert_int_equal(assay_stats_run(negative, 2, &s, &err), ASSAY_E_ARGUMENT);
  assert_non_null(strstr(err.text, "sample 1"));
  assert_int_equal(assay_stats_run(huge, 1, &s, NULL), ASSAY_E_ARGUMENT);
}

static void out_of_memory_is_reported(void **state) {
  (void)state;
  const int64_t x[3] = {1, 2, 3};
  assay_stats s;
  assay_error err = {0};
  assay_alloc_fail_after(0);
  assay_status st = assay_stats_run(x, 3, &s, &err);
  assay_alloc_fail_after(-1);
  assert_int_equal(st, ASSAY_E_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(intervals_equal_exact_integer_sums),
      cmocka_unit_test(an_upper_end_that_the_samples_cannot_give_is_absent),
      cmocka_unit_test(large_n_and_small_tails_are_finite),
      cmocka_unit_test(percentiles_interpolate_as_type_7),
      cmocka_unit_test(large_samples_do_not_overflow),
      cmocka_unit_test(one_sample_has_no_spread),
      cmocka_unit_test(correlation_drift_and_spread_are_as_worked_by_hand),
      cmocka_unit_test(outliers_are_counted_and_kept),
      cmocka_unit_test(unusable_series_are_refused),
      cmocka_unit_test(out_of_memory_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
