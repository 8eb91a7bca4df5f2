/* Where ONNX Runtime says in its log that it placed the nodes: all of them, executed or not, after
 * all transformations.
 *
 * The log is a text file, one record a line:
 *   [severity|category|id|location] message
 * with control characters of the message as \xNN. What does not begin so continues the record
 * before and is not read. */
#ifndef ASSAY_EVIDENCE_PLACEMENT_LOG_H
#define ASSAY_EVIDENCE_PLACEMENT_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct assay_placed_node {
  char *provider, *op; /* owned */
  char *name;          /* "" for a node without one */
} assay_placed_node;

typedef struct assay_placed_count {
  char *provider; /* owned */
  size_t n_nodes;
} assay_placed_count;

/* All zeroes is a valid empty one. */
typedef struct assay_placement_log {
  size_t n_sections;          /* sessions that placed nodes: more than one is a log of several */
  assay_placed_count *counts; /* [n_counts], a provider each */
  size_t n_counts;
  assay_placed_node
      *nodes; /* [n_nodes], in the order of the log; none when all are on one provider */
  size_t n_nodes;
  bool events_were_dropped; /* the runtime's limit of profile events was reached */
} assay_placement_log;

/* Errors: IO (not there, unreadable), FORMAT (a list that is shorter or longer than its count:
 * cut), MEMORY. */
assay_status assay_placement_log_read(const char *path, assay_placement_log *out,
                                      assay_error *err) ASSAY_NODISCARD;
assay_status assay_placement_log_parse(const void *bytes, size_t size_bytes,
                                       assay_placement_log *out, assay_error *err) ASSAY_NODISCARD;

/* Nodes that the log puts on provider; 0 when it does not name it. */
size_t assay_placement_log_count(const assay_placement_log *log, const char *provider);

void assay_placement_log_reset(assay_placement_log *log);

#endif
