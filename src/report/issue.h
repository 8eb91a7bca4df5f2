/* The block that maintainers of a runtime ask for: what failed, where it ran and how, in under 60
 * lines of plain text within a fence, ready to be pasted. */
#ifndef ASSAY_REPORT_ISSUE_H
#define ASSAY_REPORT_ISSUE_H

#include <stdbool.h>

#include "report/campaign_view.h"
#include "report/sink.h"

#define ASSAY_ISSUE_MAX_LINES 59
#define ASSAY_ISSUE_MAX_WIDTH 240 /* columns; longer lines are cut with "..." */

/* redact: folders of paths become "…" (the last name stays), and so does the machine's host name.
 */
void assay_issue_put(const assay_view *view, bool redact, assay_sink *sink);

#endif
