/* Memory of a run: the sampler around its worker, and what it saw as part of the result (rule 5).
 */
#ifndef ASSAY_CAMPAIGN_ATTEMPT_MEMORY_H
#define ASSAY_CAMPAIGN_ATTEMPT_MEMORY_H

#include "base/child.h"
#include "base/status.h"
#include "measure/sampler.h"
#include "package/result_memory.h"

/* Starts sampling for the child that *child describes and sets its `started`. Ended by one of the
 * two calls below, after the child. Errors: IO, MEMORY: the run may go on without. */
assay_status assay_attempt_memory_begin(assay_child_spec *child, assay_sampler **out,
                                        assay_error *err) ASSAY_NODISCARD;

/* Ends it; writes memory.npy into the worker's folder and fills in *out, which is empty before and
 * the caller's to reset. high_water_bytes: the mark that the child's end told. Phases are those
 * that the worker marked in its phases.txt. Errors: IO, MEMORY. */
assay_status assay_attempt_memory_end(assay_sampler *sampler, const char *folder,
                                      int64_t high_water_bytes, assay_result_memory *out,
                                      assay_error *err) ASSAY_NODISCARD;

/* *out: asked for, and nothing was sampled. Errors: MEMORY. */
assay_status assay_attempt_memory_none(const char *reason, assay_result_memory *out,
                                       assay_error *err) ASSAY_NODISCARD;

/* Ends it and keeps nothing; NULL is fine. */
void assay_attempt_memory_drop(assay_sampler *sampler);

#endif
