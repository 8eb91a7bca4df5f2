/* A timing that was repeated in fresh processes: their figures and their spread, derived again from
 * the samples, outputs and own words of each. */
#ifndef ASSAY_VERIFY_VERIFY_PROCESSES_H
#define ASSAY_VERIFY_VERIFY_PROCESSES_H

#include "base/status.h"
#include "verify/verify_run.h"

/* run: its statistics and numbers are derived already; its spread is filled in. folder: of the run,
 * with the package's path. Errors: MEMORY. */
assay_status assay_verify_processes_check(const assay_verify_scene *scene, assay_verify_run *run,
                                          const assay_verify_place *at, const char *folder,
                                          assay_error *err) ASSAY_NODISCARD;

#endif
