/* Memory of a timing run (rule 5), derived again from its samples and from the worker's marks. */
#ifndef ASSAY_VERIFY_VERIFY_MEMORY_H
#define ASSAY_VERIFY_VERIFY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "package/result.h"
#include "verify/verify_findings.h"

/* Figures of one column; ASSAY_RESULT_NONE of one that there is not. */
typedef struct assay_verify_memory_column {
  int64_t n_values, n_baseline, n_first, n_warm;
  int64_t baseline_bytes, peak_first_bytes, peak_warm_bytes, peak_bytes;
} assay_verify_memory_column;

/* All zeroes is a valid empty one. */
typedef struct assay_verify_memory {
  bool derived; /* from samples that could be read, or there are none */
  int64_t n_rows, n_missed;
  assay_verify_memory_column *columns; /* owned, as many as the result has */
  size_t n_columns;
} assay_verify_memory;

/* folder: of the run, with memory.npy and phases.txt. Errors: MEMORY. */
assay_status assay_verify_memory_check(const assay_verify_place *at, const char *folder,
                                       const assay_result *found, assay_verify_memory *out,
                                       assay_error *err) ASSAY_NODISCARD;
void assay_verify_memory_reset(assay_verify_memory *memory);

#endif
