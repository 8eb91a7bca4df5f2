/* One run made: a worker started in a fresh folder, its end taken for what it is, its files judged,
 * and the folder put into its place when it is complete. */
#ifndef ASSAY_CAMPAIGN_ATTEMPT_H
#define ASSAY_CAMPAIGN_ATTEMPT_H

#include "base/status.h"
#include "campaign/plan.h"
#include "package/result.h"

/* The contents that run `i` belongs to. Errors: MEMORY. */
assay_status assay_attempt_keys(const assay_plan *plan, size_t i, assay_result_keys *out,
                                assay_error *err) ASSAY_NODISCARD;

/* Makes run i. *out_cancelled: it was stopped, and left nothing; *out_result is untouched then.
 * Errors: IO, MEMORY, MISSING (no worker program), and what the campaign cannot go on after. */
assay_status assay_attempt_make(const assay_plan *plan, size_t i, assay_result *out_result,
                                bool *out_cancelled, assay_error *err) ASSAY_NODISCARD;

/* <package>/runs/<runtime>/<bundle>/<case>/<mode> of run i; NULL when memory is out. */
char *assay_attempt_folder(const assay_plan *plan, size_t i) ASSAY_NODISCARD;

#endif
