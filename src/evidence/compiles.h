/* When a provider compiled: lines of the runtime's log that say so, counted by the stage that the
 * worker was in. The worker marks its stages in the log, "[1|assay|worker|stage] first_run".
 *
 * Which lines those are is known of few providers; of others nothing is said, not zero. */
#ifndef ASSAY_EVIDENCE_COMPILES_H
#define ASSAY_EVIDENCE_COMPILES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct assay_compiles {
  bool visible;     /* the provider's log says when it compiles, as it was kept */
  size_t n_session; /* programs compiled while the session was made */
  size_t n_first;   /* in the first call */
  size_t n_later;   /* in later ones, which are to be warm */
} assay_compiles;

/* is_verbose: the log has everything, not warnings alone (a placement run). A log without stages
 * says nothing. Errors: IO, MEMORY. */
assay_status assay_compiles_read(const char *log_path, const char *provider, bool is_verbose,
                                 assay_compiles *out, assay_error *err) ASSAY_NODISCARD;
void assay_compiles_parse(const void *bytes, size_t size_bytes, const char *provider,
                          bool is_verbose, assay_compiles *out);

#endif
