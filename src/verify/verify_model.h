/* The nodes of an ONNX file, read by a walker of this room's own: protobuf's wire format, and of
 * the model only what leads to operators and names. */
#ifndef ASSAY_VERIFY_VERIFY_MODEL_H
#define ASSAY_VERIFY_VERIFY_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "verify/verify_trace.h"

#define ASSAY_VERIFY_MODEL_VALUES 3 /* inputs that are told of a node, from the first */

typedef struct assay_verify_model_node {
  assay_verify_span op, name, output; /* the first output */
  assay_verify_span inputs[ASSAY_VERIFY_MODEL_VALUES];
  size_t n_inputs, n_outputs; /* all */
} assay_verify_model_node;

typedef assay_status (*assay_verify_model_fn)(void *arg, const assay_verify_model_node *node,
                                              assay_error *err);

/* Hands on each node of the graph and of the graphs in its attributes; spans lie in the bytes.
 * Stops at the first failure of `each`. Errors: FORMAT (no graph, or fields that do not fit the
 * bytes). Source: protobuf's encoding document; field numbers of onnx.proto. */
assay_status assay_verify_model_each(const void *bytes, size_t size_bytes,
                                     assay_verify_model_fn each, void *arg,
                                     assay_error *err) ASSAY_NODISCARD;

/* How many nodes of the model the graph does without: every one of the graph's must be one of the
 * model's, by operator and name, or *out_n is -1. Errors: FORMAT (of either), MEMORY. */
assay_status assay_verify_model_removed(const void *model, size_t model_bytes, const void *graph,
                                        size_t graph_bytes, int64_t *out_n,
                                        assay_error *err) ASSAY_NODISCARD;

#endif
