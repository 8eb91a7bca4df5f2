/* The bundles of a campaign file: those that are there, and those that have to be exported first.
 */
#ifndef ASSAY_CLI_CAMPAIGN_BUNDLES_H
#define ASSAY_CLI_CAMPAIGN_BUNDLES_H

#include "base/status.h"
#include "campaign/campaign_file.h"

/* Folders of the file's bundles, in its order: *out [file->n_bundles] and its strings are released
 * with assay_campaign_bundles_free. One that the file exports lies in folder/<name>, and is made
 * there by 'assay export' in a process of its own unless a manifest is there already. Says on
 * stderr what it makes. Errors: ARGUMENT (export refused its words: its own line is on stderr), IO,
 * MEMORY.
 */
assay_status assay_campaign_bundles_make(const assay_campaign_file *file, const char *folder,
                                         char ***out, assay_error *err) ASSAY_NODISCARD;
void assay_campaign_bundles_free(char **folders, size_t n);

#endif
