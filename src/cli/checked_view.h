/* A package as the gate sees it: its results, and what the checksums and the derivation of every
 * figure say about them. A stored verdict alone convinces nobody. */
#ifndef ASSAY_CLI_CHECKED_VIEW_H
#define ASSAY_CLI_CHECKED_VIEW_H

#include "base/status.h"
#include "report/campaign_view.h"

/* assay_view_open, then assay_verify_package; what is wrong with bytes or figures becomes a reason
 * not to qualify, the report folder excepted (it is written anew from the rest). Errors: as of
 * both. */
assay_status assay_checked_view_open(const char *package_path, assay_view *out,
                                     assay_error *err) ASSAY_NODISCARD;

#endif
