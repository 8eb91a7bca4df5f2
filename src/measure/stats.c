/* Percentiles, their intervals, and what else a series of timings says about itself. */
#include "measure/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Sums of samples and products of their differences with per-mille fractions do not fit 64 bits. */
__extension__ typedef __int128 wide;

#define SAMPLE_MAX_NS ((int64_t)1 << 62)

/* Percentiles in thousandths, so that positions between samples are exact. */
enum { P25 = 250, P50 = 500, P75 = 750, P90 = 900, P95 = 950, P99 = 990 };
static const int reported_permille[4] = {P50, P90, P95, P99};

static int compare_int64(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a;
  int64_t y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Type 7 of sorted [n]: x[k] + f (x[k+1] - x[k]) with k + f = (n - 1) p; exact up to the last
 * conversions to double. */
static double percentile_of(const int64_t *sorted, size_t n, int permille) {
  wide position = (wide)(n - 1) * permille;
  size_t k = (size_t)(position / 1000);
  int64_t f = (int64_t)(position % 1000);
  if (f == 0) return (double)sorted[k];
  wide thousandths = (wide)f * (sorted[k + 1] - sorted[k]);
  int64_t whole = sorted[k] + (int64_t)(thousandths / 1000);
  return (double)whole + (double)(int64_t)(thousandths % 1000) / 1000;
}

/* The binomial distribution around its mode, in multiples of the probability of the mode. Going
 * outwards from there by the ratio of neighbours needs no logarithm and only adds positive numbers;
 * what underflows is below 1e-4900. */
typedef struct binomial {
  size_t n, mode;
  long double p, q;
  long double below, above; /* sums of the terms under and over the mode */
} binomial;

/* Term k-1 from term k, and term k+1 from term k. */
static long double term_below(const binomial *b, size_t k, long double term) {
  return term * (long double)k * b->q / ((long double)(b->n - k + 1) * b->p);
}
static long double term_above(const binomial *b, size_t k, long double term) {
  return term * (long double)(b->n - k) * b->p / ((long double)(k + 1) * b->q);
}

static binomial binomial_of(size_t n, double p) {
  binomial b = {.n = n, .p = (long double)p, .q = 1 - (long double)p};
  b.mode = (size_t)((long double)(n + 1) * b.p);
  if (b.mode > n) b.mode = n;
  long double term = 1;
  for (size_t k = b.mode; k > 0 && term > 0; --k) {
    term = term_below(&b, k, term);
    b.below += term;
  }
  term = 1;
  for (size_t k = b.mode; k < n && term > 0; ++k) {
    term = term_above(&b, k, term);
    b.above += term;
  }
  return b;
}

/* Largest rank with P(B < rank) <= tail, or 0; *out_tail gets that probability. */
static size_t low_rank(const binomial *b, long double tail, long double *out_tail) {
  long double all = b->below + 1 + b->above;
  long double under = b->below; /* sum of terms < rank */
  long double term = 1;         /* term at rank */
  size_t rank = b->mode;
  while (rank > 0 && under > tail * all) {
    term = term_below(b, rank, term);
    --rank;
    under -= term;
  }
  while (rank < b->n && under + term <= tail * all) {
    under += term;
    term = term_above(b, rank, term);
    ++rank;
  }
  *out_tail = rank > 0 && under > 0 ? under / all : 0;
  return rank;
}

/* Smallest rank <= n with P(B >= rank) <= tail, or 0; *out_tail gets that probability. */
static size_t high_rank(const binomial *b, long double tail, long double *out_tail) {
  long double all = b->below + 1 + b->above;
  long double over = b->above; /* sum of terms >= rank */
  long double term = 1;        /* term at rank - 1 */
  size_t rank = b->mode + 1;
  while (rank <= b->n && over > tail * all) {
    term = term_above(b, rank - 1, term);
    over -= term;
    ++rank;
  }
  while (rank > 1 && over + term <= tail * all) {
    over += term;
    term = term_below(b, rank - 1, term);
    --rank;
  }
  if (rank > b->n) {
    *out_tail = 0;
    return 0;
  }
  *out_tail = over > 0 ? over / all : 0;
  return rank;
}

void assay_stats_interval(size_t n, double p, double confidence, size_t *out_low, size_t *out_high,
                          double *out_coverage) {
  binomial b = binomial_of(n, p);
  long double tail = (1 - (long double)confidence) / 2;
  long double under = 0, over = 0;
  *out_low = low_rank(&b, tail, &under);
  *out_high = high_rank(&b, tail, &over);
  /* Cut at 1e-12, so that machines with another long double print the same. */
  *out_coverage = (double)(roundl((1 - under - over) * 1e12L) / 1e12L);
}

static assay_percentile report_percentile(const int64_t *sorted, size_t n, int permille) {
  assay_percentile r = {.p = permille / 1000.0, .value_ns = percentile_of(sorted, n, permille)};
  assay_stats_interval(n, r.p, ASSAY_PERCENTILE_CONFIDENCE, &r.low_rank, &r.high_rank, &r.coverage);
  r.has_low = r.low_rank > 0;
  r.has_high = r.high_rank > 0;
  if (r.has_low) r.low_ns = sorted[r.low_rank - 1];
  if (r.has_high) r.high_ns = sorted[r.high_rank - 1];
  return r;
}

static double mean_of(const int64_t *x, size_t n) {
  wide sum = 0;
  for (size_t i = 0; i < n; ++i) sum += x[i];
  int64_t whole = (int64_t)(sum / (wide)n);
  int64_t rest = (int64_t)(sum % (wide)n);
  return (double)whole + (double)rest / (double)n;
}

/* Standard deviation and correlation of neighbours, in the order of measurement. */
static void describe_spread(const int64_t *x, size_t n, assay_stats *out) {
  double squares = 0, products = 0, previous = 0;
  for (size_t i = 0; i < n; ++i) {
    double deviation = (double)x[i] - out->mean_ns;
    squares += deviation * deviation;
    if (i > 0) products += deviation * previous;
    previous = deviation;
  }
  out->stddev_ns = n < 2 ? (double)NAN : sqrt(squares / (double)(n - 1));
  out->lag1 = squares > 0 ? products / squares : (double)NAN;
}

/* Median of x [n]; scratch [n] is overwritten. */
static double median_of(const int64_t *x, size_t n, int64_t *scratch) {
  memcpy(scratch, x, n * sizeof *x);
  qsort(scratch, n, sizeof *scratch, compare_int64);
  return percentile_of(scratch, n, P50);
}

static double drift_of(const int64_t *x, size_t n, double median, int64_t *scratch) {
  if (n < 6 || !(median > 0)) return (double)NAN;
  size_t third = n / 3;
  double first = median_of(x, third, scratch);
  double last = median_of(x + (n - third), third, scratch);
  return (last - first) / median;
}

static size_t count_outliers(const int64_t *sorted, size_t n) {
  double q1 = percentile_of(sorted, n, P25);
  double q3 = percentile_of(sorted, n, P75);
  double reach = 3 * (q3 - q1);
  size_t n_outliers = 0;
  for (size_t i = 0; i < n; ++i)
    n_outliers += (double)sorted[i] > q3 + reach || (double)sorted[i] < q1 - reach;
  return n_outliers;
}

static assay_status check_samples(const int64_t *samples_ns, size_t n, assay_error *err) {
  if (n == 0)
    return assay_fail(err, ASSAY_E_ARGUMENT, "statistics need at least 1 sample, found 0");
  for (size_t i = 0; i < n; ++i)
    if (samples_ns[i] < 0 || samples_ns[i] > SAMPLE_MAX_NS)
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "sample %zu must be a duration in nanoseconds, found %lld", i,
                        (long long)samples_ns[i]);
  return ASSAY_OK;
}

assay_status assay_stats_run(const int64_t *samples_ns, size_t n, assay_stats *out,
                             assay_error *err) {
  ASSAY_TRY(check_samples(samples_ns, n, err));
  int64_t *work = assay_alloc_array(n, 2 * sizeof *work);
  if (work == NULL) return assay_fail_memory(err, n * sizeof *work);
  int64_t *sorted = work;
  int64_t *scratch = work + n;
  memcpy(sorted, samples_ns, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, compare_int64);
  assay_stats r = {.n = n, .min_ns = sorted[0], .max_ns = sorted[n - 1]};
  r.mean_ns = mean_of(samples_ns, n);
  for (size_t i = 0; i < 4; ++i)
    r.percentiles[i] = report_percentile(sorted, n, reported_permille[i]);
  describe_spread(samples_ns, n, &r);
  r.drift = drift_of(samples_ns, n, r.percentiles[0].value_ns, scratch);
  r.n_outliers = count_outliers(sorted, n);
  assay_free(work);
  *out = r;
  return ASSAY_OK;
}
