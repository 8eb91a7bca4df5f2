/* Which provider ONNX Runtime says that it gave each node to when it divided the graph: after its
 * basic optimisations, before its own fusions. The only place where a compiled subgraph's nodes
 * have names (ONNX Runtime 1.24 or newer).
 *
 * A text file, written by the worker:
 *   assay/assignment/1 317 nodes                          or: … unavailable: why
 *   part <tab> provider <tab> domain <tab> operator <tab> name       a line for each
 * with control characters as \xNN. Nodes of one part were taken by their provider together. */
#ifndef ASSAY_EVIDENCE_ASSIGNMENT_H
#define ASSAY_EVIDENCE_ASSIGNMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct assay_assigned_node {
  size_t part;
  const char *provider, *op, *name; /* the assignment's */
} assay_assigned_node;

/* All zeroes is a valid empty one. */
typedef struct assay_assignment {
  bool known;       /* false: the runtime does not say */
  char reason[256]; /* why not */
  assay_assigned_node *nodes;
  size_t n_nodes;
  char *text; /* owned: what the nodes' texts lie in */
} assay_assignment;

/* Errors: IO (not there, unreadable), FORMAT (cut, or not such a file: which line), MEMORY. */
assay_status assay_assignment_read(const char *path, assay_assignment *out,
                                   assay_error *err) ASSAY_NODISCARD;
assay_status assay_assignment_parse(const void *bytes, size_t size_bytes, assay_assignment *out,
                                    assay_error *err) ASSAY_NODISCARD;
void assay_assignment_reset(assay_assignment *assignment);

#endif
