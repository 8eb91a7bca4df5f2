/* Packages of one campaign, made on several machines, as one: every run, every machine's record and
 * every executed graph kept, under a new checksum tree. */
#ifndef ASSAY_CAMPAIGN_MERGE_H
#define ASSAY_CAMPAIGN_MERGE_H

#include <stddef.h>

#include "base/status.h"

#define ASSAY_MERGE_MAX 4096

/* Merges finished packages [n >= 1], none of whose bytes changed, into the new folder out_path.
 * They must have asked the same: settings, bundles by their manifests' SHA-256, matrix and campaign
 * file.
 *
 * A runtime whose runs are missing in one package takes them, and what it is (library, options),
 * from the other. The same runtime by name with another library or other options is a runtime of
 * its own in the result: "cpu" and "cpu@1.27.0". Of one run that several packages hold, a done one
 * wins over a failed one, an earlier package over a later.
 *
 * Errors: ARGUMENT (out_path holds something; what differs), MISMATCH (a changed package, by file),
 * FORMAT, IO, MEMORY; nothing is left at out_path then. */
assay_status assay_merge_packages(const char *const *paths, size_t n, const char *out_path,
                                  assay_error *err) ASSAY_NODISCARD;

#endif
