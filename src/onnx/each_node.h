/* The nodes of a model file, one after the other: what a runtime's evidence is held against. */
#ifndef ASSAY_ONNX_EACH_NODE_H
#define ASSAY_ONNX_EACH_NODE_H

#include <stddef.h>

#include "base/status.h"

/* Texts as the file has them; name is "" for a node without one. */
typedef struct assay_onnx_node {
  const char *op, *name;
  char *const *inputs, *const *outputs; /* names of values; "" for one that is left out */
  size_t n_inputs, n_outputs;
} assay_onnx_node;

typedef assay_status (*assay_onnx_node_fn)(void *arg, const assay_onnx_node *node,
                                           assay_error *err);

/* Hands each node of the main graph and of its subgraphs, not of local functions, to `each`; stops
 * at the first failure of each and returns it. Errors: those of assay_onnx_info_open. */
assay_status assay_onnx_each_node(const char *path, assay_onnx_node_fn each, void *arg,
                                  assay_error *err) ASSAY_NODISCARD;

#endif
