/* The runtime's profile of a session, read by a scanner of this room's own: one pass over the
 * bytes, nothing copied that stands there as it is, and events grouped by sorting. What the fields
 * mean stands in evidence/profile.h. */
#ifndef ASSAY_VERIFY_VERIFY_TRACE_H
#define ASSAY_VERIFY_VERIFY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define ASSAY_VERIFY_TRACE_EVENTS_MAX 1000000 /* where the runtime stops recording */

/* Bytes, not terminated. */
typedef struct assay_verify_span {
  const char *at;
  size_t n;
} assay_verify_span;

/* <0, 0, >0, bytewise. */
int assay_verify_span_compare(assay_verify_span a, assay_verify_span b);
bool assay_verify_span_is(assay_verify_span span, const char *text);

/* One executed node. */
typedef struct assay_verify_node {
  assay_verify_span provider, op, name, index; /* name with control characters as \xNN */
  size_t n_events;
  int64_t duration_us;
  int64_t output_bytes; /* -1: an event does not say */
} assay_verify_node;

/* All zeroes is a valid empty one; its spans lie in the bytes that were parsed, or in `texts`. */
typedef struct assay_verify_trace {
  assay_verify_node *nodes; /* sorted by provider, operator, name, index */
  size_t n_nodes;
  size_t n_events, n_model_runs, n_sessions;
  bool one_process, repaired;
  char **texts; /* what had to be unescaped */
  size_t n_texts;
} assay_verify_trace;

/* bytes must outlive *out. Errors: FORMAT (not a whole profile), MEMORY. */
assay_status assay_verify_trace_parse(const void *bytes, size_t size_bytes, assay_verify_trace *out,
                                      assay_error *err) ASSAY_NODISCARD;
void assay_verify_trace_reset(assay_verify_trace *trace);

#endif
