/* Statistics of a run's samples (rule 4), derived by another path than measure/stats.c: exact
 * integer arithmetic where that goes, and tails of the binomial summed from far out. */
#ifndef ASSAY_VERIFY_VERIFY_TIMING_H
#define ASSAY_VERIFY_VERIFY_TIMING_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "package/result.h"
#include "verify/verify_findings.h"

typedef struct assay_verify_stats {
  assay_result_stats stats;
  /* How far the writer's roundings may be from ours, in the unit of each. */
  double stddev_bound, lag1_bound;
} assay_verify_stats;

/* ns [n], n >= 1, each in 1 … 2^62, in the order taken. Errors: MEMORY. */
assay_status assay_verify_timing_derive(const int64_t *ns, size_t n, assay_verify_stats *out,
                                        assay_error *err) ASSAY_NODISCARD;

/* Ranks of the order statistics that bound percentile p of n samples at 95 % (0: there is none),
 * and the coverage. */
void assay_verify_timing_ranks(size_t n, double p, int64_t *out_low, int64_t *out_high,
                               double *out_coverage);

/* Every member of found against the derived one. */
void assay_verify_timing_check(const assay_verify_place *at, const assay_result_stats *found,
                               const assay_verify_stats *derived);

#endif
