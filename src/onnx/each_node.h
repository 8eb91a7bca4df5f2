/* The nodes of a model file, one after the other: what a runtime's evidence is held against. */
#ifndef ASSAY_ONNX_EACH_NODE_H
#define ASSAY_ONNX_EACH_NODE_H

#include "base/status.h"

/* name is "" for a node without one; both are as the file has them. */
typedef assay_status (*assay_onnx_node_fn)(void *arg, const char *op, const char *name,
                                           assay_error *err);

/* Hands each node of the main graph and of its subgraphs, not of local functions, to `each`; stops
 * at the first failure of each and returns it. Errors: those of assay_onnx_info_open. */
assay_status assay_onnx_each_node(const char *path, assay_onnx_node_fn each, void *arg,
                                  assay_error *err) ASSAY_NODISCARD;

#endif
