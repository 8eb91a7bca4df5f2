/* Why a session that may not fall back to the CPU was refused: the runtime says only that some node
 * would run there, and not which. */
#ifndef ASSAY_CAMPAIGN_FALLBACK_H
#define ASSAY_CAMPAIGN_FALLBACK_H

#include <stdbool.h>

#include "base/status.h"
#include "runtime/ort.h"

/* Whether these are the runtime's words for it. */
bool assay_fallback_was_refused(const char *words);

/* Opens the session once more with the fallback permitted, calls nothing, and names the nodes that
 * would run on the CPU: "3 of 240 nodes would run on CPUExecutionProvider: Attention 'a', …", as
 * many as fit. spec is that of the session that was refused, verbose; the runtime's log goes to
 * log_path, line by line. Errors: FORMAT (the log places no node on the CPU), IO, RUNTIME, MEMORY.
 */
assay_status assay_fallback_name(assay_ort *ort, const assay_ort_session_spec *spec,
                                 const char *log_path, char *out, size_t out_bytes,
                                 assay_error *err) ASSAY_NODISCARD;

#endif
