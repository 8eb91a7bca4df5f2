/* The profile that ONNX Runtime writes of a session: which kernels ran, on which provider, how
 * often. A JSON array with one event a line; older runtimes do not escape names, so that it is not
 * always JSON. */
#ifndef ASSAY_EVIDENCE_PROFILE_H
#define ASSAY_EVIDENCE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The runtime stops recording there, and says nothing about it in the file. */
#define ASSAY_PROFILE_EVENTS_MAX 1000000

/* One executed node: nodes of the main graph and of subgraphs that share all four are one. */
typedef struct assay_profile_node {
  char *provider, *op;  /* owned */
  char *name;           /* control characters as \xNN */
  char *index;          /* the runtime's node_index, "" when not given */
  size_t n_events;      /* executions */
  int64_t duration_us;  /* host time over all of them */
  int64_t output_bytes; /* of all of them; -1 where one does not say */
} assay_profile_node;

/* All zeroes is a valid empty one. */
typedef struct assay_profile {
  assay_profile_node *nodes;
  size_t n_nodes;
  size_t n_events;     /* of every kind */
  size_t n_model_runs; /* calls */
  size_t n_sessions;   /* session initialisations */
  bool one_process;    /* every event is of the same process */
  bool repaired;       /* a comma or an unescaped name was overlooked */
} assay_profile;

/* Errors: IO (not there, unreadable), FORMAT (empty, cut, not a profile: line and what), MEMORY. */
assay_status assay_profile_read(const char *path, assay_profile *out,
                                assay_error *err) ASSAY_NODISCARD;

/* The same from memory. */
assay_status assay_profile_parse(const void *bytes, size_t size_bytes, assay_profile *out,
                                 assay_error *err) ASSAY_NODISCARD;

void assay_profile_reset(assay_profile *profile);

/* text with control characters as \xNN, as the log has them (assay_free); NULL when memory is out.
 */
char *assay_profile_escape(const char *text, size_t size_bytes) ASSAY_NODISCARD;

#endif
