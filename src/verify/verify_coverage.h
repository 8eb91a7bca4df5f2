/* How much of the model's graph the provider took, derived again: model, profile, log and
 * assignment as one list of what is said of each operator and name. What the figures mean stands in
 * evidence/coverage.h. */
#ifndef ASSAY_VERIFY_VERIFY_COVERAGE_H
#define ASSAY_VERIFY_VERIFY_COVERAGE_H

#include <stddef.h>

#include "base/status.h"
#include "package/result_coverage.h"
#include "verify/verify_findings.h"

typedef struct assay_verify_source {
  const void *at; /* NULL for a file that is not there */
  size_t n;
} assay_verify_source;

typedef struct assay_verify_coverage_sources {
  const char *provider; /* asked for, full name */
  assay_verify_source model, profile, log, assignment;
} assay_verify_coverage_sources;

/* For a run whose placement is known. *out: everything but the text of the reason, which is a word
 * where the coverage is not known. Errors: MEMORY. */
assay_status assay_verify_coverage_derive(const assay_verify_coverage_sources *sources,
                                          assay_result_coverage *out,
                                          assay_error *err) ASSAY_NODISCARD;

void assay_verify_coverage_check(const assay_verify_place *at, const assay_result_coverage *found,
                                 const assay_result_coverage *derived);

#endif
