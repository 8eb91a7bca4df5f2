/* Percentiles (type 7), intervals from order statistics, mean, spread, lag-1 correlation, drift and
 * outliers.
 *
 * Deviations are exact: with S = sum(x), D_i = n x_i - S is an integer, mean = S / n,
 * variance = sum(D_i^2) / (n^2 (n - 1)), lag1 = sum(D_i D_{i-1}) / sum(D_i^2). */
#include "verify/verify_timing.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

__extension__ typedef __int128 wide;

/* Half the part outside a 95 % interval. */
#define TAIL 0.025L
/* The writer cuts coverage at 1e-12; one step of it on either side. */
#define COVERAGE_BOUND 2e-12
/* Beyond so many standard deviations a binomial tail is below 1e-40. */
#define FAR_SIGMAS 14.0L

static int ascending(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return x < y ? -1 : x > y;
}

/* 1000 times the type 7 percentile of sorted [n], exactly. */
static wide permille_of(const int64_t *sorted, size_t n, int permille) {
  wide at = (wide)(n - 1) * permille;
  size_t k = (size_t)(at / 1000);
  wide f = at % 1000;
  wide low = sorted[k], high = f > 0 ? sorted[k + 1] : low;
  return 1000 * low + f * (high - low);
}

/* --- intervals -----------------------------------------------------------------------------------
 */

static long double log_choose(size_t n, size_t k) {
  int sign = 0;
  return lgammal_r((long double)n + 1, &sign) - lgammal_r((long double)k + 1, &sign) -
         lgammal_r((long double)(n - k) + 1, &sign);
}

/* P(B = k). */
static long double probability(size_t n, long double p, size_t k) {
  return expl(log_choose(n, k) + (long double)k * logl(p) + (long double)(n - k) * log1pl(-p));
}

/* Sums P(B = 0), P(B = 1), … from far below the mean: the largest rank with P(B < rank) <= TAIL,
 * and that probability. */
static size_t rank_from_below(size_t n, long double p, long double *out_tail) {
  long double mean = (long double)n * p, reach = FAR_SIGMAS * sqrtl(mean * (1 - p)) + 40;
  size_t k = mean > reach ? (size_t)(mean - reach) : 0;
  long double term = probability(n, p, k), under = 0;
  while (k < n && under + term <= TAIL) {
    under += term;
    term *= (long double)(n - k) / (long double)(k + 1) * (p / (1 - p));
    k++;
  }
  *out_tail = k > 0 ? under : 0;
  return k;
}

/* Sums P(B = n), P(B = n - 1), … from far above the mean: the smallest rank with
 * P(B >= rank) <= TAIL, or 0 when even the largest sample is not enough. */
static size_t rank_from_above(size_t n, long double p, long double *out_tail) {
  long double mean = (long double)n * p, reach = FAR_SIGMAS * sqrtl(mean * (1 - p)) + 40;
  size_t k = mean + reach < (long double)n ? (size_t)(mean + reach) : n;
  long double term = probability(n, p, k), over = 0;
  while (k > 0 && over + term <= TAIL) {
    over += term;
    term *= (long double)k / (long double)(n - k + 1) * ((1 - p) / p);
    k--;
  }
  size_t rank = k + 1; /* what was summed is P(B >= rank) */
  *out_tail = rank <= n ? over : 0;
  return rank <= n ? rank : 0;
}

void assay_verify_timing_ranks(size_t n, double p, int64_t *out_low, int64_t *out_high,
                               double *out_coverage) {
  long double under = 0, over = 0;
  *out_low = (int64_t)rank_from_below(n, (long double)p, &under);
  *out_high = (int64_t)rank_from_above(n, (long double)p, &over);
  *out_coverage = (double)(1 - under - over);
}

/* --- deriving ------------------------------------------------------------------------------------
 */

static void derive_percentiles(const int64_t *sorted, size_t n, assay_result_stats *out) {
  static const int permilles[4] = {500, 900, 950, 990};
  for (size_t i = 0; i < 4; i++) {
    assay_result_percentile *r = &out->percentiles[i];
    r->p = permilles[i] / 1000.0;
    r->value_ns = (double)((long double)permille_of(sorted, n, permilles[i]) / 1000);
    assay_verify_timing_ranks(n, r->p, &r->low_rank, &r->high_rank, &r->coverage);
    r->has_low = r->low_rank > 0;
    r->has_high = r->high_rank > 0;
    if (r->has_low) r->low_ns = sorted[r->low_rank - 1];
    if (r->has_high) r->high_ns = sorted[r->high_rank - 1];
  }
}

/* What rounding can do to the writer's sums of n deviations from a rounded mean: n halves of a unit
 * each for the sums, and for lag 1 the shift of the mean, which does not cancel at the two ends. */
static void bound_spread(const int64_t *ns, size_t n, long double squares, long double mean,
                         assay_verify_stats *out) {
  long double shift = (long double)assay_verify_ulps((double)mean, 1);
  long double ends = fabsl((long double)ns[0] - mean) + fabsl((long double)ns[n - 1] - mean);
  out->stddev_bound = out->stats.stddev_ns * ((double)n + 8) * DBL_EPSILON + (double)shift;
  out->lag1_bound = ((double)n + 8) * DBL_EPSILON;
  if (squares > 0)
    out->lag1_bound += (double)((shift * ends + (long double)n * shift * shift) / squares);
}

static void derive_spread(const int64_t *ns, size_t n, assay_verify_stats *out) {
  wide sum = 0;
  long double squares = 0, products = 0, before = 0; /* in (n ns)^2 */
  for (size_t i = 0; i < n; i++) sum += ns[i];
  for (size_t i = 0; i < n; i++) {
    long double d = (long double)((wide)n * ns[i] - sum);
    squares += d * d;
    if (i > 0) products += d * before;
    before = d;
  }
  long double mean = (long double)sum / (long double)n, n_squared = (long double)n * (long double)n;
  out->stats.mean_ns = (double)mean;
  out->stats.stddev_ns =
      n < 2 ? (double)NAN : (double)sqrtl(squares / n_squared / (long double)(n - 1));
  out->stats.lag1 = squares > 0 ? (double)(products / squares) : (double)NAN;
  bound_spread(ns, n, squares / n_squared, mean, out);
}

/* Twice the median of ns [n]; scratch [n] is overwritten. */
static wide twice_median(const int64_t *ns, size_t n, int64_t *scratch) {
  memcpy(scratch, ns, n * sizeof *ns);
  qsort(scratch, n, sizeof *scratch, ascending);
  return (wide)scratch[(n - 1) / 2] + scratch[n / 2];
}

static double derive_drift(const int64_t *ns, size_t n, int64_t *scratch) {
  size_t third = n / 3;
  if (n < 6) return (double)NAN;
  wide first = twice_median(ns, third, scratch);
  wide last = twice_median(ns + n - third, third, scratch);
  wide all = twice_median(ns, n, scratch);
  return all > 0 ? (double)((long double)(last - first) / (long double)all) : (double)NAN;
}

/* Beyond three times the quartiles' distance; everything in thousandths, so that nothing rounds. */
static int64_t count_outliers(const int64_t *sorted, size_t n) {
  wide q1 = permille_of(sorted, n, 250), q3 = permille_of(sorted, n, 750);
  int64_t count = 0;
  for (size_t i = 0; i < n; i++) {
    wide x = 1000 * (wide)sorted[i];
    count += x > q3 + 3 * (q3 - q1) || x < q1 - 3 * (q3 - q1);
  }
  return count;
}

assay_status assay_verify_timing_derive(const int64_t *ns, size_t n, assay_verify_stats *out,
                                        assay_error *err) {
  assay_verify_stats derived = {0};
  int64_t *sorted = assay_alloc_array(n, sizeof *sorted);
  int64_t *scratch = assay_alloc_array(n, sizeof *scratch);
  assay_status st = ASSAY_OK;
  if (sorted == NULL || scratch == NULL) {
    st = assay_fail_memory(err, n * sizeof *sorted);
    goto done;
  }
  memcpy(sorted, ns, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, ascending);
  derived.stats.n = (int64_t)n;
  derived.stats.min_ns = sorted[0];
  derived.stats.max_ns = sorted[n - 1];
  derive_percentiles(sorted, n, &derived.stats);
  derive_spread(ns, n, &derived);
  derived.stats.drift = derive_drift(ns, n, scratch);
  derived.stats.n_outliers = count_outliers(sorted, n);
  *out = derived;
done:
  assay_free(scratch);
  assay_free(sorted);
  return st;
}

/* --- checking ------------------------------------------------------------------------------------
 */

static void check_end(const assay_verify_place *at, const char *what, bool found_has,
                      int64_t found_ns, bool expected_has, int64_t expected_ns) {
  if (found_has == expected_has && found_has) {
    assay_verify_int(at, what, found_ns, expected_ns);
    return;
  }
  assay_verify_holds(at, what, found_has == expected_has,
                     expected_has ? "an end of the interval" : "no end of the interval",
                     found_has ? "one" : "none");
}

static void check_percentile(const assay_verify_place *above, size_t i,
                             const assay_result_percentile *found,
                             const assay_result_percentile *derived) {
  assay_verify_place at = *above;
  snprintf(at.within, sizeof at.within, "%.200spercentiles[%zu].", above->within, i);
  assay_verify_real(&at, "p", found->p, derived->p, 0);
  assay_verify_real(&at, "value_ns", found->value_ns, derived->value_ns,
                    assay_verify_ulps(derived->value_ns, 2));
  assay_verify_int(&at, "low_rank", found->low_rank, derived->low_rank);
  assay_verify_int(&at, "high_rank", found->high_rank, derived->high_rank);
  check_end(&at, "low_ns", found->has_low, found->low_ns, derived->has_low, derived->low_ns);
  check_end(&at, "high_ns", found->has_high, found->high_ns, derived->has_high, derived->high_ns);
  assay_verify_real(&at, "coverage", found->coverage, derived->coverage, COVERAGE_BOUND);
}

void assay_verify_timing_check(const assay_verify_place *above, const assay_result_stats *found,
                               const assay_verify_stats *derived) {
  const assay_result_stats *want = &derived->stats;
  assay_verify_place at = *above;
  snprintf(at.within, sizeof at.within, "%.200stiming.stats.", above->within);
  assay_verify_int(&at, "n", found->n, want->n);
  assay_verify_int(&at, "min_ns", found->min_ns, want->min_ns);
  assay_verify_int(&at, "max_ns", found->max_ns, want->max_ns);
  assay_verify_real(&at, "mean_ns", found->mean_ns, want->mean_ns,
                    assay_verify_ulps(want->mean_ns, 2));
  assay_verify_real(&at, "stddev_ns", found->stddev_ns, want->stddev_ns, derived->stddev_bound);
  for (size_t i = 0; i < 4; i++)
    check_percentile(&at, i, &found->percentiles[i], &want->percentiles[i]);
  assay_verify_real(&at, "lag1", found->lag1, want->lag1, derived->lag1_bound);
  assay_verify_real(&at, "drift", found->drift, want->drift, assay_verify_ulps(want->drift, 2));
  assay_verify_int(&at, "n_outliers", found->n_outliers, want->n_outliers);
}
