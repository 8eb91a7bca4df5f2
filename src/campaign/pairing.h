/* The outputs of two runs of one case held against each other, over a package whose runs are made:
 * the second half of 'assay compare'. */
#ifndef ASSAY_CAMPAIGN_PAIRING_H
#define ASSAY_CAMPAIGN_PAIRING_H

#include "base/status.h"
#include "campaign/vary.h"

/* Reads the package, pairs side A with side B (its two runtimes, or its two bundles on one
 * runtime), writes compare/pairs.json (package/pairs.h) and takes it into the checksum tree. Sides
 * that cannot be compared are pairs with a reason: a run that is not done, another graph where it
 * must be the same, other inputs or references. Errors: those of reading the package, IO, MEMORY.
 */
assay_status assay_pairing_make(const char *package_path, const assay_vary *vary,
                                assay_error *err) ASSAY_NODISCARD;

#endif
