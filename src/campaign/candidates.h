/* Two libraries that claim one name: which of them runs is then an accident of the search path. */
#ifndef ASSAY_CAMPAIGN_CANDIDATES_H
#define ASSAY_CAMPAIGN_CANDIDATES_H

#include <stddef.h>

#include "base/status.h"
#include "campaign/digests.h"
#include "campaign/machine.h"

/* A line for every mapped library of whose soname there is another file with other contents: mapped
 * too, beside the one that is mapped, or in a folder of search_path ("/a:/b", as LD_LIBRARY_PATH
 * has it; NULL: none). *out [*out_n] and its strings are released with
 * assay_fields_strings_destroy. Errors: MEMORY.
 * Source: traps.md section 1, entry 29. */
assay_status assay_candidates_find(const assay_machine_libraries *mapped, const char *search_path,
                                   assay_digests *digests, char ***out, size_t *out_n,
                                   assay_error *err) ASSAY_NODISCARD;

#endif
