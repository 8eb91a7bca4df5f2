/* Rule 4: what a series of timings says. Percentiles by linear interpolation (Hyndman and Fan type 7), each with a
 * distribution-free 95 % interval from order statistics; lag-1 correlation; drift; outliers counted, never removed. */
#ifndef ASSAY_MEASURE_STATS_H
#define ASSAY_MEASURE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define ASSAY_PERCENTILE_RULE "linear interpolation between order statistics (type 7)"

typedef struct assay_percentile {
  double p;         /* 0.5, 0.9, 0.95, 0.99 */
  double value_ns;
  bool has_low, has_high; /* false: the samples cannot give that end at 95 % */
  int64_t low_ns, high_ns;
  size_t low_rank, high_rank; /* 1-based order statistics used */
  double coverage;            /* exact binomial coverage of the interval, >= 0.95 when both ends are there */
} assay_percentile;

typedef struct assay_stats {
  size_t n;
  int64_t min_ns, max_ns;
  double mean_ns, stddev_ns;
  assay_percentile percentiles[4]; /* p50, p90, p95, p99 */
  double lag1;        /* autocorrelation at lag 1; NaN when undefined */
  double drift;       /* (median of last third - median of first third) / median; NaN when n < 6 */
  size_t n_outliers;  /* beyond Q3 + 3 IQR or below Q1 - 3 IQR */
} assay_stats;

/* samples_ns [n], n >= 1, not modified. Errors: ARGUMENT, MEMORY. */
assay_status assay_stats_run(const int64_t *samples_ns, size_t n, assay_stats *out,
                             assay_error *err) ASSAY_NODISCARD;

/* The interval alone: 1-based ranks (0: no such end) for percentile p of n samples. */
void assay_stats_interval(size_t n, double p, double confidence, size_t *out_low, size_t *out_high,
                          double *out_coverage);

#endif
