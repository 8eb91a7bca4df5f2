/* Rule 4: what a series of timings says. Percentiles by linear interpolation (Hyndman and Fan type
 * 7), each with a distribution-free 95 % interval from order statistics; lag-1 correlation; drift;
 * outliers counted, never removed. */
#ifndef ASSAY_MEASURE_STATS_H
#define ASSAY_MEASURE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define ASSAY_PERCENTILE_RULE       "linear interpolation between order statistics (type 7)"
#define ASSAY_PERCENTILE_CONFIDENCE 0.95

typedef struct assay_percentile {
  double p; /* 0.5, 0.9, 0.95, 0.99 */
  double value_ns;
  bool has_low, has_high; /* false: the samples cannot give that end at 95 % */
  int64_t low_ns, high_ns;
  size_t low_rank, high_rank; /* 1-based order statistics used; 0 for an end that is not there */
  double coverage;            /* see assay_stats_interval */
} assay_percentile;

typedef struct assay_stats {
  size_t n;
  int64_t min_ns, max_ns;
  double mean_ns;
  double stddev_ns;                /* of the sample (n - 1); NaN when n < 2 */
  assay_percentile percentiles[4]; /* p50, p90, p95, p99 */
  double lag1;       /* autocorrelation at lag 1; NaN when undefined: n < 2 or all equal */
  double drift;      /* (median of last third - median of first third) / median; NaN when n < 6
                        or the median is 0 */
  size_t n_outliers; /* beyond Q3 + 3 IQR or below Q1 - 3 IQR */
} assay_stats;

/* samples_ns [n], n >= 1, in the order they were taken, each in 0 .. 2^62; not modified.
 * Errors: ARGUMENT, MEMORY. */
assay_status assay_stats_run(const int64_t *samples_ns, size_t n, assay_stats *out,
                             assay_error *err) ASSAY_NODISCARD;

/* The interval alone: 1-based ranks (0: no such end) for percentile p (0 < p < 1) of n samples.
 * With B ~ Binomial(n, p), low is the largest rank with P(B < low) <= (1 - confidence) / 2, high
 * the smallest with P(B >= high) <= the same; the coverage is P(low <= B < high), where an end that
 * is not there counts as unbounded. It is at least `confidence` and holds for any distribution of
 * independent samples, up to 1e-12. Source: David and Nagaraja, Order Statistics, 3rd edition,
 * section 7.1. */
void assay_stats_interval(size_t n, double p, double confidence, size_t *out_low, size_t *out_high,
                          double *out_coverage);

#endif
