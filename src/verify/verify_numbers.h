/* Outputs against references (rule 1), derived by another path than measure/compare.c: everything
 * is loaded exactly first, then counted, then searched for extremes, then summed pairwise. */
#ifndef ASSAY_VERIFY_VERIFY_NUMBERS_H
#define ASSAY_VERIFY_VERIFY_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/tensor.h"
#include "package/manifest.h"
#include "package/package.h"
#include "package/result.h"
#include "verify/verify_findings.h"

/* Units in the last place that a sum of the writer's may differ from ours; see verify_numbers.c. */
#define ASSAY_VERIFY_SUM_ULPS 8

/* One head against one reference, as a result has it, and what is known beside. */
typedef struct assay_verify_comparison {
  const char *head, *reference, *kind;         /* borrowed: the manifest's, and constants */
  assay_result_comparison figures;             /* its own three names are NULL */
  double needed_atol_bound, needed_rtol_bound; /* what rounding may add to them */
  long double known[80]; /* every number that a reason may give, extents included */
  size_t n_known;
} assay_verify_comparison;

/* All comparisons of one run. All zeroes is a valid empty one. */
typedef struct assay_verify_numbers {
  assay_verify_comparison *comparisons; /* in the order of heads, then f32, f64, user, same */
  size_t n;
  assay_verdict verdict;
  bool failed; /* the files cannot be compared at all: such a run is not done */
  char why[256];
} assay_verify_numbers;

/* The tolerance that a head is judged with: the manifest's, then the campaign's for every head,
 * then the campaign's for this one. *out_asked: one of them is the campaign's. */
void assay_verify_numbers_tolerance(const assay_package *package, const assay_manifest_tensor *head,
                                    double *out_atol, double *out_rtol, bool *out_asked);

/* arrays: of the case; outputs: of the runtime. Errors: MEMORY. */
assay_status assay_verify_numbers_derive(const assay_package *package,
                                         const assay_manifest *manifest,
                                         const assay_tensor_map *arrays,
                                         const assay_tensor_map *outputs, assay_verify_numbers *out,
                                         assay_error *err) ASSAY_NODISCARD;
void assay_verify_numbers_reset(assay_verify_numbers *numbers);

/* Comparisons, verdict and reasons of a done result against the derived ones. */
void assay_verify_numbers_check(const assay_verify_place *at, const assay_result *found,
                                const assay_verify_numbers *derived);

/* The same for a list of comparisons alone, whose references are called `reference` and stand for
 * the derived ones of whatever name. */
void assay_verify_numbers_check_list(const assay_verify_place *at,
                                     const assay_result_comparison *found, size_t n_found,
                                     const char *reference, const assay_verify_numbers *derived);

/* How far `reference` ("f32", "same", …) of a head is from the FP64 one, over valid
 * positions: false when the case does not hold both, or no finite pair. Errors: MEMORY. */
assay_status assay_verify_numbers_references(const assay_manifest *manifest,
                                             const assay_tensor_map *arrays, const char *reference,
                                             const char *head, bool *out_has, double *out_max_abs,
                                             double *out_rmse, assay_error *err) ASSAY_NODISCARD;

/* Elements of a tensor of floats that are below every normal number of their type and not zero. */
int64_t assay_verify_numbers_denormals(const assay_tensor *tensor);

#endif
