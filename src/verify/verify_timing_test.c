/* Statistics derived by verify's own path: hand-made series, and both derivations against each
 * other. */
#include "verify/verify_timing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "measure/stats.h"

/* out[k] = P(B <= k) for B ~ Binomial(n, p), by adding terms from 0 in long double. */
static void cumulate(size_t n, long double p, long double *out) {
  long double term = powl(1 - p, (long double)n);
  out[0] = term;
  for (size_t i = 0; i < n; i++) {
    term *= (long double)(n - i) / (long double)(i + 1) * (p / (1 - p));
    out[i + 1] = out[i] + term;
  }
}

/* For every n up to 1000: the ranks are the best that hold 95 %, by the definition itself. */
static void ranks_are_those_of_the_exact_binomial(void **state) {
  (void)state;
  static const double ps[] = {0.5, 0.9, 0.95, 0.99};
  long double below[1001];
  for (size_t n = 1; n <= 1000; n++)
    for (size_t i = 0; i < 4; i++) {
      int64_t low = 0, high = 0;
      double coverage = 0;
      size_t want_low = 0, want_high = 0;
      cumulate(n, (long double)ps[i], below);
      assay_verify_timing_ranks(n, ps[i], &low, &high, &coverage);
      while (want_low < n && below[want_low] <= 0.025L) want_low++;
      for (size_t k = n; k >= 1 && 1 - below[k - 1] <= 0.025L; k--) want_high = k;
      if ((size_t)low != want_low || (size_t)high != want_high)
        fail_msg("n %zu, p %g: expected %zu and %zu, found %lld and %lld", n, ps[i], want_low,
                 want_high, (long long)low, (long long)high);
    }
}

static void hundred_samples_give_no_upper_end_of_p99(void **state) {
  (void)state;
  int64_t low = 0, high = 0;
  double coverage = 0;
  assay_verify_timing_ranks(100, 0.99, &low, &high, &coverage);
  assert_int_equal(high, 0);
  assert_int_equal(low, 97);
  assert_true(coverage >= 0.95 && coverage < 1);
}

static void a_series_by_hand(void **state) {
  (void)state;
  const int64_t ns[] = {10, 20, 30, 40, 50, 60, 70, 1000};
  assay_verify_stats s = {0};
  assert_int_equal(assay_verify_timing_derive(ns, 8, &s, NULL), ASSAY_OK);
  assert_int_equal(s.stats.min_ns, 10);
  assert_int_equal(s.stats.max_ns, 1000);
  assert_true(s.stats.mean_ns == 160);
  assert_true(s.stats.percentiles[0].value_ns == 45);
  assert_true(fabs(s.stats.percentiles[1].value_ns - 349) < 1e-9); /* 70 + 0.3 * 930 */
  assert_int_equal(s.stats.n_outliers, 1); /* Q1 27.5, Q3 62.5: beyond 167.5 */
  assert_true(s.stats.drift == (535.0 - 15.0) / 45.0);
  assert_true(s.stats.stddev_ns == 340);
}

static void short_series_say_what_they_cannot(void **state) {
  (void)state;
  const int64_t ns[] = {7, 7};
  assay_verify_stats s = {0};
  assert_int_equal(assay_verify_timing_derive(ns, 1, &s, NULL), ASSAY_OK);
  assert_true(isnan(s.stats.stddev_ns) && isnan(s.stats.lag1) && isnan(s.stats.drift));
  assert_int_equal(assay_verify_timing_derive(ns, 2, &s, NULL), ASSAY_OK);
  assert_true(s.stats.stddev_ns == 0 && isnan(s.stats.lag1));
}

static void copy_stats(const assay_stats *from, assay_result_stats *to) {
  *to = (assay_result_stats){.n = (int64_t)from->n,
                             .min_ns = from->min_ns,
                             .max_ns = from->max_ns,
                             .mean_ns = from->mean_ns,
                             .stddev_ns = from->stddev_ns,
                             .lag1 = from->lag1,
                             .drift = from->drift,
                             .n_outliers = (int64_t)from->n_outliers};
  for (size_t i = 0; i < 4; i++) {
    const assay_percentile *p = &from->percentiles[i];
    to->percentiles[i] = (assay_result_percentile){.p = p->p,
                                                   .value_ns = p->value_ns,
                                                   .has_low = p->has_low,
                                                   .has_high = p->has_high,
                                                   .low_ns = p->low_ns,
                                                   .high_ns = p->high_ns,
                                                   .low_rank = (int64_t)p->low_rank,
                                                   .high_rank = (int64_t)p->high_rank,
                                                   .coverage = p->coverage};
  }
}

/* Both derivations agree on series of every length and of very different spread. */
static void agrees_with_what_is_published(void **state) {
  (void)state;
  static const int64_t spreads[] = {1, 2, 5, 1000, 1000000, INT64_C(1) << 40};
  uint64_t seed = 1;
  for (size_t i = 0; i < sizeof spreads / sizeof spreads[0]; i++)
    for (size_t n = 1; n <= 400; n += n < 30 ? 1 : 37) {
      int64_t ns[400];
      for (size_t k = 0; k < n; k++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        ns[k] = 1000000007 + (int64_t)(seed >> 33) % spreads[i];
      }
      assay_stats published = {0};
      assay_result_stats found = {0};
      assay_verify_stats derived = {0};
      assay_verify_findings findings;
      assay_verify_findings_init(&findings);
      assay_verify_place at = {.findings = &findings, .file = "result.json"};
      assert_int_equal(assay_stats_run(ns, n, &published, NULL), ASSAY_OK);
      assert_int_equal(assay_verify_timing_derive(ns, n, &derived, NULL), ASSAY_OK);
      copy_stats(&published, &found);
      assay_verify_timing_check(&at, &found, &derived);
      if (findings.n > 0)
        fail_msg("n %zu, spread %lld: %s: expected %s, found %s", n, (long long)spreads[i],
                 findings.problems[0].what, findings.problems[0].expected,
                 findings.problems[0].found);
      assert_true(findings.n_figures > 30);
      assay_verify_findings_destroy(&findings);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_are_those_of_the_exact_binomial),
      cmocka_unit_test(hundred_samples_give_no_upper_end_of_p99),
      cmocka_unit_test(a_series_by_hand),
      cmocka_unit_test(short_series_say_what_they_cannot),
      cmocka_unit_test(agrees_with_what_is_published),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
