/* From a runtime to what a session is opened with, and the hash over the effective options that
 * timing and placement must share (rule 3). The worker opens with it; the campaign computes the
 * same hash beforehand, as a key. */
#ifndef ASSAY_CAMPAIGN_SESSION_PLAN_H
#define ASSAY_CAMPAIGN_SESSION_PLAN_H

#include "base/json.h"
#include "base/status.h"
#include "campaign/runtime_spec.h"
#include "runtime/ort.h"

typedef struct assay_session_plan {
  assay_ort_session_spec spec; /* borrows from the runtime and from pairs */
  assay_ort_pair *pairs;       /* owned */
} assay_session_plan;

/* The runtime must outlive the plan. Errors: MEMORY. */
assay_status assay_session_plan_init(const assay_runtime_spec *runtime, assay_session_plan *out,
                                     assay_error *err) ASSAY_NODISCARD;
void assay_session_plan_reset(assay_session_plan *plan);

/* The effective options as assay_ort_session_put_options has them, and the SHA-256 of their compact
 * JSON. out_json (may be NULL) is released with assay_json_destroy. */
assay_status assay_session_plan_options(const assay_session_plan *plan, char out_hex[65],
                                        assay_json **out_json, assay_error *err) ASSAY_NODISCARD;

#endif
