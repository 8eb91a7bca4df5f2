/* Whether a bundle's cases and graph are what its manifest says: a campaign on a bundle that
 * contradicts itself would publish figures under wrong names. */
#ifndef ASSAY_CAMPAIGN_BUNDLE_CHECK_H
#define ASSAY_CAMPAIGN_BUNDLE_CHECK_H

#include "base/status.h"
#include "package/manifest.h"

/* Of files that were held against their digests: for every case all inputs are there, of the
 * declared type and shape (symbols stand for one size within a case, in exports of ours "B" and "N"
 * for those of the case); mask of zeros and ones with the declared counts; finite values in valid rows; every
 * promised reference there, of the head's shape and of the reference's precision; no other array.
 * For an export of ours: the mask covers every head but integer ones, and the graph was built from
 * the manifest's configuration, for its opset. Errors: MISMATCH (bundle against itself), IO,
 * FORMAT, LIMIT, MEMORY. */
assay_status assay_bundle_check(const char *bundle_path, const assay_manifest *manifest,
                                assay_error *err) ASSAY_NODISCARD;

#endif
