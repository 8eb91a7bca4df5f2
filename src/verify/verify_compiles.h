/* When the provider compiled, counted again from the log. What is counted stands in
 * evidence/compiles.h. */
#ifndef ASSAY_VERIFY_VERIFY_COMPILES_H
#define ASSAY_VERIFY_VERIFY_COMPILES_H

#include <stddef.h>

#include "package/result.h"

/* Bytes of log.txt; NULL and 0 for one that is not there. */
assay_result_compiles assay_verify_compiles_derive(const char *provider, assay_result_mode mode,
                                                   const void *log, size_t log_bytes);

#endif
