/* Two campaigns beside each other: cases of the same name of the same model, on the runtime of the
 * same name, or on the only runtime that each of them has. */
#ifndef ASSAY_REPORT_SIDE_BY_SIDE_H
#define ASSAY_REPORT_SIDE_BY_SIDE_H

#include "report/campaign_view.h"
#include "report/sink.h"

/* A table for the terminal. A latency is marked faster or slower (of b, against a) only where the
 * 95 % intervals of the medians do not overlap and both have both ends; errors and verdicts stand
 * beside each other. */
void assay_side_by_side_put(const assay_view *a, const assay_view *b, assay_sink *sink);

#endif
