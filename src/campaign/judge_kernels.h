/* Which kernels ran (rule 7), from what a placement run left: what the runtime requires beyond its
 * placement. */
#ifndef ASSAY_CAMPAIGN_JUDGE_KERNELS_H
#define ASSAY_CAMPAIGN_JUDGE_KERNELS_H

#include <stdint.h>

#include "base/status.h"
#include "campaign/runtime_spec.h"
#include "package/manifest.h"
#include "package/result_kernels.h"

/* stdout.txt and log.txt of `folder` against the manifest's counts. Nothing to do where the runtime
 * requires nothing. n_calls: profiled calls of the run. Errors: MEMORY. */
assay_status assay_judge_kernels(const char *folder, const assay_manifest *manifest,
                                 const assay_manifest_case *one, const char *model_sha256,
                                 const assay_runtime_spec *runtime, int64_t n_calls,
                                 assay_result_kernels *out, assay_error *err) ASSAY_NODISCARD;

#endif
