/* Building ONNX graphs in memory and saving them as model files, by protobuf-c. Knows operators'
 * arities, nothing of any model.
 *
 * Values are named tensors of the graph. A failed add makes the graph remember its first error:
 * further adds do nothing and return the empty value, and assay_graph_save (or assay_graph_status)
 * reports it. That keeps builders readable; nothing is written after a failure.
 *
 * Nodes keep the order in which they are added, and since a node's inputs must be there before it,
 * that order is topological. Equal sequences of calls give equal bytes. */
#ifndef ASSAY_ONNX_GRAPH_H
#define ASSAY_ONNX_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/dtype.h"
#include "base/status.h"

typedef struct assay_graph assay_graph;

/* A value's name, owned by the graph; {NULL} is the empty value (an absent optional input). */
typedef struct assay_value {
  const char *name;
} assay_value;

typedef struct assay_graph_dim {
  int64_t size;       /* used when symbol is NULL */
  const char *symbol; /* e.g. "N"; borrowed during the call */
} assay_graph_dim;

/* An opset (e.g. 20) of the default domain; the IR version follows from it. Errors: MEMORY,
 * UNSUPPORTED. */
assay_status assay_graph_create(const char *graph_name, int64_t opset, assay_graph **out,
                                assay_error *err) ASSAY_NODISCARD;
void assay_graph_destroy(assay_graph *graph);

/* First error of any add, or ASSAY_OK: INTERNAL (a builder's mistake: arity, an unknown value, a
 * name taken), UNSUPPORTED (an operator that ops.c has not for this opset), ARGUMENT, LIMIT,
 * MEMORY. */
assay_status assay_graph_status(const assay_graph *graph, assay_error *err) ASSAY_NODISCARD;

/* Makes the graph remember an error that its builder came upon, unless it has one already. */
void assay_graph_fail(assay_graph *graph, assay_status status, const char *format, ...)
    ASSAY_PRINTF(3, 4);

/* A prefix for node and value names until the matching pop: "backbone.0", "attention" give
 * "backbone.0/attention/". Nested. */
void assay_graph_push_scope(assay_graph *graph, const char *scope);
void assay_graph_pop_scope(assay_graph *graph);

/* Names of inputs are taken as they are, whatever the scope. */
assay_value assay_graph_add_input(assay_graph *graph, const char *name, assay_dtype dtype, int rank,
                                  const assay_graph_dim *dims);

/* Makes a value an output of the graph, under the value's own name (assay_graph_add_node_named
 * gives a node's value the name that an output must have, so that no Identity is needed). */
void assay_graph_add_output(assay_graph *graph, assay_value value, assay_dtype dtype, int rank,
                            const assay_graph_dim *dims);

/* Initialisers; data is copied, row-major little-endian. name is scoped, and made unique if taken.
 * Equal constants of up to 64 bytes (same dtype, shape and bytes) become one initialiser, under the
 * name of the first. Those of the four last calls are named for their values, outside any scope.
 */
assay_value assay_graph_add_initializer(assay_graph *graph, const char *name, assay_dtype dtype,
                                        int rank, const int64_t *dims, const void *data);
assay_value assay_graph_const_f32(assay_graph *graph, float value);   /* rank 0 */
assay_value assay_graph_const_f16(assay_graph *graph, float value);   /* rank 0, rounded to even */
assay_value assay_graph_const_i64(assay_graph *graph, int64_t value); /* rank 0 */
assay_value assay_graph_const_i64s(assay_graph *graph, const int64_t *values,
                                   int64_t n); /* rank 1 */

typedef enum assay_attr_kind {
  ASSAY_ATTR_INT,
  ASSAY_ATTR_FLOAT,
  ASSAY_ATTR_STRING,
  ASSAY_ATTR_INTS,
} assay_attr_kind;

typedef struct assay_attr {
  const char *name;
  assay_attr_kind kind;
  int64_t i;
  float f;
  const char *s;
  const int64_t *ints;
  size_t n_ints;
} assay_attr;
#define ASSAY_ATTR_I(n, v) ((assay_attr){.name = (n), .kind = ASSAY_ATTR_INT, .i = (v)})
#define ASSAY_ATTR_F(n, v) ((assay_attr){.name = (n), .kind = ASSAY_ATTR_FLOAT, .f = (v)})
#define ASSAY_ATTR_S(n, v) ((assay_attr){.name = (n), .kind = ASSAY_ATTR_STRING, .s = (v)})
#define ASSAY_ATTR_IS(n, v, k)                                                                     \
  ((assay_attr){.name = (n), .kind = ASSAY_ATTR_INTS, .ints = (v), .n_ints = (k)})

/* A node with n_outputs outputs written to outs. label is the last part of the node's name (scope +
 * label, made unique); a single output is named as the node, several as the node with ".0", ".1",
 * ... after it. op must be in the table of ops.c for this opset, with allowed arity; its domain is
 * imported when the graph is saved. */
void assay_graph_add_node(assay_graph *graph, const char *op, const char *label,
                          const assay_value *inputs, size_t n_inputs, const assay_attr *attrs,
                          size_t n_attrs, assay_value *outs, size_t n_outputs);

/* As assay_graph_add_node, the output values named exactly output_names[n_outputs] (outputs of the
 * graph). */
void assay_graph_add_node_named(assay_graph *graph, const char *op, const char *label,
                                const char *const *output_names, const assay_value *inputs,
                                size_t n_inputs, const assay_attr *attrs, size_t n_attrs,
                                assay_value *outs, size_t n_outputs);

/* The common case of one output; `inputs` in braces:
 *   assay_graph_op(g, "Add", "bias", (assay_value[]){x, b}, 2, NULL, 0) */
assay_value assay_graph_op(assay_graph *graph, const char *op, const char *label,
                           const assay_value *inputs, size_t n_inputs, const assay_attr *attrs,
                           size_t n_attrs);

/* As assay_graph_op, the output value named exactly `output_name` (a graph output). */
assay_value assay_graph_op_named(assay_graph *graph, const char *op, const char *label,
                                 const char *output_name, const assay_value *inputs,
                                 size_t n_inputs, const assay_attr *attrs, size_t n_attrs);

/* Model metadata (metadata_props). A key can be put once. */
void assay_graph_put_metadata(assay_graph *graph, const char *key, const char *value);

size_t assay_graph_count_nodes(const assay_graph *graph, const char *op); /* op NULL: all */

/* Nodes of op `from` of which an output, or a Cast of it, is an input of some node of op `to`. */
size_t assay_graph_count_feeding(const assay_graph *graph, const char *from, const char *to);

/* Serialises deterministically. Errors: the graph's first error, INTERNAL (no output), MEMORY,
 * LIMIT (2 GiB). */
assay_status assay_graph_serialize(const assay_graph *graph, assay_buf *out,
                                   assay_error *err) ASSAY_NODISCARD;
assay_status assay_graph_save(const assay_graph *graph, const char *path,
                              assay_error *err) ASSAY_NODISCARD;

#endif
