/* Folders in which a provider keeps what it compiled, where its runtime names one by an option or a
 * variable.
 *
 * No two cases share one: MIGraphX's provider finds a program by a key that leaves out the first
 * dimension of each input, and would run one shape with another's. With "caches": "fresh" a run
 * gets an empty folder in place of the named one; with "kept" one of its own below the named one.
 */
#ifndef ASSAY_CAMPAIGN_CACHES_H
#define ASSAY_CAMPAIGN_CACHES_H

#include <stdbool.h>

#include "base/status.h"
#include "campaign/runtime_spec.h"
#include "package/result_caches.h"

/* Whether the runtime names any. */
bool assay_caches_are_named(const assay_runtime_spec *runtime);

/* Sets those of settings (a runtime's options, or its variables) to where a run keeps them: fresh
 * ones to fresh_folder/<name>, kept ones to <named>/<key>. Errors: MEMORY. */
assay_status assay_caches_place(const assay_runtime_spec *runtime, const char *fresh_folder,
                                const char *key, assay_settings *settings,
                                assay_error *err) ASSAY_NODISCARD;

/* Makes the folders that settings name, below an emptied fresh_folder where they are fresh. Errors:
 * IO, MEMORY. */
assay_status assay_caches_make(const assay_settings *settings, assay_error *err) ASSAY_NODISCARD;

/* What is in them as a process begins, by its options and its environment; then as it ends, in the
 * same *caches. A folder that cannot be read is an empty one. Errors: MEMORY. */
assay_status assay_caches_before(const assay_settings *options, assay_result_caches *caches,
                                 assay_error *err) ASSAY_NODISCARD;
void assay_caches_after(const assay_settings *options, assay_result_caches *caches);

#endif
