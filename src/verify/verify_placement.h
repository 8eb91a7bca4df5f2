/* Where the nodes ran (rule 6), derived again from profile and log by readers of this room's own.
 */
#ifndef ASSAY_VERIFY_VERIFY_PLACEMENT_H
#define ASSAY_VERIFY_VERIFY_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "package/result.h"
#include "verify/verify_findings.h"

/* What the runtime's JSON asks for. */
typedef struct assay_verify_policy {
  const char *provider;
  int64_t n_runs;
  char **allowed_cpu_ops;
  size_t n_allowed_cpu_ops;
  int64_t max_copies; /* -1: any */
} assay_verify_policy;

/* Everything of assay_result_placement but its reason; the provider is NULL. Released with
 * assay_verify_placement_reset. */
typedef struct assay_verify_placement {
  assay_result_placement figures;
  const char *doubt; /* why the evidence does not hold, in a few words; NULL when it does */
} assay_verify_placement;

/* Bytes of profile.json and log.txt; NULL and 0 for one that is not there. Errors: MEMORY. */
assay_status assay_verify_placement_derive(const assay_verify_policy *policy, const void *profile,
                                           size_t profile_bytes, const void *log, size_t log_bytes,
                                           assay_verify_placement *out,
                                           assay_error *err) ASSAY_NODISCARD;
void assay_verify_placement_reset(assay_verify_placement *placement);

/* Verdict and figures of a done result against the derived ones. */
void assay_verify_placement_check(const assay_verify_place *at, const assay_result *found,
                                  const assay_verify_policy *policy,
                                  const assay_verify_placement *derived);

#endif
