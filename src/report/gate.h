/* The strict yes or no over a package, in words: every planned run, and every run that the bundles
 * demand, must be there, be done, have passed, and agree with the manifest that it is about. */
#ifndef ASSAY_REPORT_GATE_H
#define ASSAY_REPORT_GATE_H

#include "report/campaign_view.h"
#include "report/sink.h"

/* Fills reasons, topics, passed and qualified of a view whose rows are loaded. Called by
 * assay_view_open. Errors: MEMORY. */
assay_status assay_gate_judge(assay_view *view, assay_error *err) ASSAY_NODISCARD;

/* Adds n findings: what the checksums and the derivation of figures found (topic "evidence", about
 * the package as a whole): a package with one is not qualified. Errors: MEMORY. */
assay_status assay_gate_add_evidence(assay_view *view, char *const *texts, size_t n,
                                     assay_error *err) ASSAY_NODISCARD;

/* One line a reason, then the verdict as the last line:
 *   numbers: cpu / attention-cld / b1-n100 (timing): momentum against f32: 3 of 450 elements …
 *   NOT QUALIFIED: numbers 1 */
void assay_gate_put_text(const assay_view *view, assay_sink *sink);

#endif
