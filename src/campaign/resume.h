/* Which runs of a package are done, and may be kept. */
#ifndef ASSAY_CAMPAIGN_RESUME_H
#define ASSAY_CAMPAIGN_RESUME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "campaign/plan.h"
#include "package/package.h"
#include "package/result.h"

/* Run i is kept when its result is there, belongs to the same contents (every key), and the folder
 * holds exactly the files that it lists, byte for byte; `before`, where it is a finished index (or
 * NULL), vouches for result.json itself. A run that failed, crashed or ran out of time is kept too
 * unless --retry-failed is given; not so one that somebody killed, or whose time has been extended
 * since. *out (may be NULL) is the result when it is kept. Errors: IO, MEMORY. */
assay_status assay_resume_check(const assay_plan *plan, const assay_package *before, size_t i,
                                bool *out_keep, assay_result *out,
                                assay_error *err) ASSAY_NODISCARD;

/* True for signals that people and systems send; a process that one of them ended says nothing
 * about itself. */
bool assay_resume_is_outside_signal(int number);

/* Removes run folders that are not in the plan. Errors: IO, MEMORY. */
assay_status assay_resume_prune(const assay_plan *plan, assay_error *err) ASSAY_NODISCARD;

/* That two indexes were made with the same counts and tolerances. Errors: ARGUMENT. */
assay_status assay_resume_same_settings(const assay_package *before, const assay_package *now,
                                        const char *package_path, assay_error *err) ASSAY_NODISCARD;

/* That an index is of the same campaign: settings, names of runtimes and bundles. Errors: ARGUMENT,
 * saying what differs. */
assay_status assay_resume_same_campaign(const assay_package *before, const assay_package *now,
                                        const char *package_path, assay_error *err) ASSAY_NODISCARD;

#endif
