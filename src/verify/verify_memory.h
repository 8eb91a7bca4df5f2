/* Memory of a timing run (rule 5), derived again from its samples and from the worker's marks. */
#ifndef ASSAY_VERIFY_VERIFY_MEMORY_H
#define ASSAY_VERIFY_VERIFY_MEMORY_H

#include "base/status.h"
#include "package/result.h"
#include "verify/verify_findings.h"

/* folder: of the run, with memory.npy and phases.txt. Errors: MEMORY. */
assay_status assay_verify_memory_check(const assay_verify_place *at, const char *folder,
                                       const assay_result *found, assay_error *err) ASSAY_NODISCARD;

#endif
