/* The section of a verbose log in which the runtime says where it placed the nodes. */
#ifndef ASSAY_VERIFY_VERIFY_LOG_H
#define ASSAY_VERIFY_VERIFY_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "verify/verify_trace.h"

/* One line of the section: so many nodes on a provider. */
typedef struct assay_verify_log_group {
  assay_verify_span provider;
  size_t n_nodes;
  size_t first, n_listed; /* of `nodes`; none listed when all nodes are on one provider */
} assay_verify_log_group;

typedef struct assay_verify_log_node {
  assay_verify_span op, name;
} assay_verify_log_node;

/* All zeroes is a valid empty one; its spans lie in the bytes that were parsed. */
typedef struct assay_verify_log {
  assay_verify_log_group *groups;
  size_t n_groups;
  assay_verify_log_node *nodes;
  size_t n_nodes;
  bool has_section;
  bool events_were_dropped;
} assay_verify_log;

/* bytes must outlive *out. Errors: FORMAT (cut, or of several sessions), MEMORY. */
assay_status assay_verify_log_parse(const void *bytes, size_t size_bytes, assay_verify_log *out,
                                    assay_error *err) ASSAY_NODISCARD;
void assay_verify_log_reset(assay_verify_log *log);

/* The group of that provider, or NULL. */
const assay_verify_log_group *assay_verify_log_find(const assay_verify_log *log,
                                                    assay_verify_span provider);

#endif
