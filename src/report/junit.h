/* JUnit XML, as CI systems read it: a suite for each model on each runtime, a test for each of its
 * runs. */
#ifndef ASSAY_REPORT_JUNIT_H
#define ASSAY_REPORT_JUNIT_H

#include "report/campaign_view.h"
#include "report/sink.h"

/* A run that ended without its result is an error, one that did and did not pass a failure. */
void assay_junit_put(const assay_view *view, assay_sink *sink);

#endif
