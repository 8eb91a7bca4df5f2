/* From the raw files of a run to its figures and verdicts. Reads files, compares, and writes
 * nothing. */
#ifndef ASSAY_CAMPAIGN_JUDGE_H
#define ASSAY_CAMPAIGN_JUDGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"
#include "campaign/runtime_spec.h"
#include "package/manifest.h"
#include "package/package.h"
#include "package/result.h"

/* The tolerance of a head: the manifest's, overridden by the campaign's (those for every head
 * first, then those for this one). */
typedef struct assay_judge_tolerance {
  double atol, rtol;
  bool asked; /* one of them comes from the campaign */
} assay_judge_tolerance;
assay_judge_tolerance assay_judge_tolerance_of(const assay_manifest_tensor *head,
                                               const assay_package_tolerance *asked,
                                               size_t n_asked);

/* Numbers (rule 1): every head of outputs_path against every reference in case_path
 * ("ref.<kind>.<head>", package/reference_kind.h). Fills comparisons, numbers and numbers_reason.
 * What is wrong with the files is a verdict: fail when a head is
 * missing, extra, or not within tolerance; unknown when nothing could be compared. Errors: IO,
 * FORMAT and LIMIT of either file; MEMORY. */
assay_status assay_judge_numbers(const assay_manifest *manifest, const char *case_path,
                                 const char *outputs_path, const assay_package_tolerance *asked,
                                 size_t n_asked, assay_result *result,
                                 assay_error *err) ASSAY_NODISCARD;

/* The same from arrays: those of the case (mask and references), and the outputs. Errors: MEMORY,
 * FORMAT (no mask). */
assay_status assay_judge_arrays(const assay_manifest *manifest, const assay_tensor_map *arrays,
                                const assay_tensor_map *outputs,
                                const assay_package_tolerance *asked, size_t n_asked,
                                assay_result *result, assay_error *err) ASSAY_NODISCARD;

/* Timing (rule 4): statistics of samples_path into result->timing.stats, whose iterations say how
 * many there must be. Errors: IO, FORMAT (not so many positive int64), MEMORY. */
assay_status assay_judge_timing(const char *samples_path, assay_result *result,
                                assay_error *err) ASSAY_NODISCARD;

/* Placement (rule 6), and how much of the model's own graph the provider took, from the raw files
 * in folder. Errors: MEMORY. */
assay_status assay_judge_placement(const char *folder, const char *model_path,
                                   const assay_runtime_spec *runtime, int64_t n_runs,
                                   assay_result *result, assay_error *err) ASSAY_NODISCARD;

/* When the provider compiled, from the log in folder. A run that compiled in a call that was to be
 * warm has not passed: its verdict on timing, or on placement, becomes a fail. Errors: IO, MEMORY.
 */
assay_status assay_judge_compiles(const char *folder, const char *provider, assay_result *result,
                                  assay_error *err) ASSAY_NODISCARD;

#endif
