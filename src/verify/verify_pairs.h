/* compare/pairs.json of a package that 'assay compare' made: that its pairs are all there, that the
 * sides differ in what it says and in nothing else, and its figures again. */
#ifndef ASSAY_VERIFY_VERIFY_PAIRS_H
#define ASSAY_VERIFY_VERIFY_PAIRS_H

#include <stddef.h>

#include "base/status.h"
#include "verify/verify_run.h"

/* Nothing to do where the package has no such file. runs [package->n_runs], checked already.
 * Errors: MEMORY. */
assay_status assay_verify_pairs_check(const assay_verify_scene *scene, const assay_verify_run *runs,
                                      size_t n_jobs, assay_error *err) ASSAY_NODISCARD;

#endif
