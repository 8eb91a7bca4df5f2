/* Source: onnx/docs/IR.md. The graph is kept as protobuf-c's own structures, filled as nodes are
 * added; strings and data live in one pool. */
#include "onnx/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/tensor.h"
#include "onnx.pb-c.h"
#include "onnx/name_set.h"
#include "onnx/ops.h"
#include "onnx/pool.h"

#define MODEL_MAX_BYTES  ((size_t)INT32_MAX) /* protobuf's own ceiling for one message */
#define SHARED_MAX_BYTES 64                  /* constants up to here are shared when equal */
#define SCOPES_MAX       16
#define NAME_MAX_BYTES   512

/* A growing array of pointers; the pointed-to things live in the pool. */
typedef struct list {
  void **items; /* owned */
  size_t n, cap;
} list;

struct assay_graph {
  assay_pool pool;
  assay_error error; /* the first one */
  int64_t opset;
  const char *name;
  list nodes;        /* Onnx__NodeProto */
  list initializers; /* Onnx__TensorProto */
  list inputs;       /* Onnx__ValueInfoProto */
  list outputs;      /* Onnx__ValueInfoProto */
  list metadata;     /* Onnx__StringStringEntryProto */
  assay_name_set node_names;
  assay_name_set value_names;
  char scope[NAME_MAX_BYTES];    /* "a/b/" */
  size_t scope_ends[SCOPES_MAX]; /* length of scope before each push */
  size_t n_scopes;
};

/* ---- errors, memory, names ---- */

void assay_graph_fail(assay_graph *graph, assay_status status, const char *format, ...) {
  char text[ASSAY_ERROR_TEXT_BYTES];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  (void)assay_fail(&graph->error, status, "%s", text);
}

static bool failed(const assay_graph *graph) {
  return graph->error.status != ASSAY_OK;
}

/* Pool memory; NULL, and the graph failed, when there is none. */
static void *take(assay_graph *graph, size_t size_bytes) {
  void *bytes = assay_pool_alloc(&graph->pool, size_bytes);
  if (bytes == NULL) (void)assay_fail_memory(&graph->error, size_bytes);
  return bytes;
}

static char *take_text(assay_graph *graph, const char *text) {
  char *copy = take(graph, strlen(text) + 1);
  if (copy != NULL) strcpy(copy, text);
  return copy;
}

static bool list_add(assay_graph *graph, list *l, void *item) {
  void **items = assay_grown(l->items, &l->cap, l->n, sizeof *items, &graph->error);
  if (items == NULL) return false;
  l->items = items;
  l->items[l->n++] = item;
  return true;
}

static void list_reset(list *l) {
  assay_free(l->items);
  *l = (list){0};
}

/* Registers a name, exactly as given, in one namespace; NULL, and the graph failed, if it is taken.
 */
static const char *claim(assay_graph *graph, assay_name_set *set, const char *name) {
  if (name[0] == '\0' || assay_name_set_find(set, name) != NULL) {
    assay_graph_fail(graph, ASSAY_E_INTERNAL, "the name '%s' is %s", name,
                     name[0] == '\0' ? "empty" : "taken in this graph");
    return NULL;
  }
  char *copy = take_text(graph, name);
  if (copy == NULL || assay_name_set_add(set, copy, &graph->error)) return NULL;
  return copy;
}

/* Registers name, or name_1, name_2, … whichever is the first that is free. */
static const char *claim_unique(assay_graph *graph, assay_name_set *set, const char *name) {
  char candidate[NAME_MAX_BYTES + 32];
  (void)snprintf(candidate, sizeof candidate, "%s", name);
  for (size_t i = 1; assay_name_set_find(set, candidate) != NULL; i++) {
    (void)snprintf(candidate, sizeof candidate, "%s_%zu", name, i);
  }
  return claim(graph, set, candidate);
}

/* scope + label into out; false, and the graph failed, if that is too long. */
static bool scoped(assay_graph *graph, const char *label, char out[NAME_MAX_BYTES]) {
  int n = snprintf(out, NAME_MAX_BYTES, "%s%s", graph->scope, label);
  if (n >= 0 && n < NAME_MAX_BYTES) return true;
  assay_graph_fail(graph, ASSAY_E_LIMIT, "the name '%.64s…' is longer than %d bytes", label,
                   NAME_MAX_BYTES - 1);
  return false;
}

/* ---- life ---- */

assay_status assay_graph_create(const char *graph_name, int64_t opset, assay_graph **out,
                                assay_error *err) {
  if (assay_op_ir_version(opset) == 0) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "opset %lld, expected %d to %d", (long long)opset,
                      ASSAY_OPS_OPSET_MIN, ASSAY_OPS_OPSET_MAX);
  }
  assay_graph *graph = assay_alloc(sizeof *graph);
  if (graph == NULL) return assay_fail_memory(err, sizeof *graph);
  graph->opset = opset;
  graph->name = take_text(graph, graph_name);
  if (graph->name == NULL) {
    assay_graph_destroy(graph);
    return assay_fail_memory(err, strlen(graph_name) + 1);
  }
  *out = graph;
  return ASSAY_OK;
}

void assay_graph_destroy(assay_graph *graph) {
  if (graph == NULL) return;
  list_reset(&graph->nodes);
  list_reset(&graph->initializers);
  list_reset(&graph->inputs);
  list_reset(&graph->outputs);
  list_reset(&graph->metadata);
  assay_name_set_reset(&graph->node_names);
  assay_name_set_reset(&graph->value_names);
  assay_pool_reset(&graph->pool);
  assay_free(graph);
}

assay_status assay_graph_status(const assay_graph *graph, assay_error *err) {
  if (!failed(graph)) return ASSAY_OK;
  return assay_fail(err, graph->error.status, "%s", graph->error.text);
}

void assay_graph_push_scope(assay_graph *graph, const char *scope) {
  if (failed(graph)) return;
  size_t size_bytes = strlen(graph->scope);
  size_t room_bytes = sizeof graph->scope - size_bytes;
  if (graph->n_scopes == SCOPES_MAX || strlen(scope) + 2 > room_bytes) {
    assay_graph_fail(graph, ASSAY_E_LIMIT, "the scope '%.64s' nests too deep", scope);
    return;
  }
  graph->scope_ends[graph->n_scopes++] = size_bytes;
  (void)snprintf(graph->scope + size_bytes, room_bytes, "%s/", scope);
}

void assay_graph_pop_scope(assay_graph *graph) {
  if (failed(graph)) return;
  if (graph->n_scopes == 0) {
    assay_graph_fail(graph, ASSAY_E_INTERNAL, "a scope is left that was never entered");
    return;
  }
  graph->scope[graph->scope_ends[--graph->n_scopes]] = '\0';
}

/* ---- inputs, outputs, initialisers ---- */

static bool fill_dim(assay_graph *graph, Onnx__TensorShapeProto__Dimension *dim,
                     const assay_graph_dim *from) {
  onnx__tensor_shape_proto__dimension__init(dim);
  if (from->symbol != NULL) {
    dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    dim->dim_param = take_text(graph, from->symbol);
    return dim->dim_param != NULL;
  }
  dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
  dim->dim_value = from->size;
  return true;
}

/* The tensor type [dims] of dtype, or NULL with the graph failed. */
static Onnx__TypeProto *make_type(assay_graph *graph, assay_dtype dtype, int rank,
                                  const assay_graph_dim *dims) {
  size_t n = (size_t)rank;
  Onnx__TypeProto *type = take(graph, sizeof *type);
  Onnx__TypeProto__Tensor *tensor = take(graph, sizeof *tensor);
  Onnx__TensorShapeProto *shape = take(graph, sizeof *shape);
  Onnx__TensorShapeProto__Dimension *items = take(graph, n * sizeof *items);
  Onnx__TensorShapeProto__Dimension **pointers = take(graph, n * sizeof(void *));
  if (failed(graph)) return NULL;
  for (size_t i = 0; i < n; i++) {
    if (!fill_dim(graph, &items[i], &dims[i])) return NULL;
    pointers[i] = &items[i];
  }
  onnx__tensor_shape_proto__init(shape);
  shape->n_dim = n;
  shape->dim = pointers;
  onnx__type_proto__tensor__init(tensor);
  tensor->has_elem_type = 1;
  tensor->elem_type = (int32_t)dtype;
  tensor->shape = shape;
  onnx__type_proto__init(type);
  type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  type->tensor_type = tensor;
  return type;
}

/* A borrowed text as protobuf-c wants it; protobuf-c never writes to what it packs. */
static char *lend(const char *text) {
  union {
    const char *in;
    char *out;
  } u = {.in = text};
  return u.out;
}

static void add_value_info(assay_graph *graph, list *to, const char *name, assay_dtype dtype,
                           int rank, const assay_graph_dim *dims) {
  if (rank < 0 || rank > ASSAY_TENSOR_RANK_MAX) {
    assay_graph_fail(graph, ASSAY_E_INTERNAL, "rank %d of '%s'", rank, name);
    return;
  }
  Onnx__ValueInfoProto *info = take(graph, sizeof *info);
  Onnx__TypeProto *type = make_type(graph, dtype, rank, dims);
  if (failed(graph)) return;
  onnx__value_info_proto__init(info);
  info->name = lend(name);
  info->type = type;
  (void)list_add(graph, to, info);
}

assay_value assay_graph_add_input(assay_graph *graph, const char *name, assay_dtype dtype, int rank,
                                  const assay_graph_dim *dims) {
  assay_value value = {NULL};
  if (failed(graph)) return value;
  const char *claimed = claim(graph, &graph->value_names, name);
  if (claimed == NULL) return value;
  add_value_info(graph, &graph->inputs, claimed, dtype, rank, dims);
  if (!failed(graph)) value.name = claimed;
  return value;
}

/* The graph's own copy of a value's name, or NULL: not a value of this graph. */
static const char *known(const assay_graph *graph, assay_value value) {
  return value.name == NULL ? NULL : assay_name_set_find(&graph->value_names, value.name);
}

void assay_graph_add_output(assay_graph *graph, assay_value value, assay_dtype dtype, int rank,
                            const assay_graph_dim *dims) {
  if (failed(graph)) return;
  const char *name = known(graph, value);
  if (name == NULL) {
    assay_graph_fail(graph, ASSAY_E_INTERNAL, "the output '%s' is no value of this graph",
                     value.name == NULL ? "" : value.name);
    return;
  }
  for (size_t i = 0; i < graph->outputs.n; i++) {
    const Onnx__ValueInfoProto *other = graph->outputs.items[i];
    if (strcmp(other->name, name) == 0) {
      assay_graph_fail(graph, ASSAY_E_INTERNAL, "'%s' is an output already", name);
      return;
    }
  }
  add_value_info(graph, &graph->outputs, name, dtype, rank, dims);
}

static bool same_constant(const Onnx__TensorProto *a, const Onnx__TensorProto *b) {
  return a->data_type == b->data_type && a->n_dims == b->n_dims &&
         memcmp(a->dims, b->dims, a->n_dims * sizeof *a->dims) == 0 &&
         a->raw_data.len == b->raw_data.len &&
         (a->raw_data.len == 0 || memcmp(a->raw_data.data, b->raw_data.data, a->raw_data.len) == 0);
}

/* The initialiser equal to tensor, if both are small; or NULL. */
static const Onnx__TensorProto *find_shared(const assay_graph *graph,
                                            const Onnx__TensorProto *tensor) {
  if (tensor->raw_data.len > SHARED_MAX_BYTES) return NULL;
  for (size_t i = 0; i < graph->initializers.n; i++) {
    const Onnx__TensorProto *other = graph->initializers.items[i];
    if (same_constant(tensor, other)) return other;
  }
  return NULL;
}

/* name is unscoped here. */
static assay_value add_constant(assay_graph *graph, const char *name, assay_dtype dtype, int rank,
                                const int64_t *dims, const void *data) {
  assay_value value = {NULL};
  assay_tensor shape;
  union {
    const void *in;
    void *out;
  } borrowed = {.in = data}; /* only looked at */
  if (assay_tensor_init_view(&shape, dtype, rank, dims, borrowed.out, &graph->error)) return value;
  Onnx__TensorProto probe = ONNX__TENSOR_PROTO__INIT;
  probe.n_dims = (size_t)rank;
  probe.dims = shape.dims;
  probe.has_data_type = 1;
  probe.data_type = (int32_t)dtype;
  probe.has_raw_data = 1;
  probe.raw_data = (ProtobufCBinaryData){.len = shape.size_bytes, .data = borrowed.out};
  const Onnx__TensorProto *shared = find_shared(graph, &probe);
  if (shared != NULL) return (assay_value){shared->name};

  const char *claimed = claim_unique(graph, &graph->value_names, name);
  Onnx__TensorProto *tensor = take(graph, sizeof *tensor);
  int64_t *own_dims = take(graph, (size_t)rank * sizeof *own_dims);
  void *own_data = take(graph, shape.size_bytes);
  if (failed(graph)) return value;
  memcpy(own_dims, shape.dims, (size_t)rank * sizeof *own_dims);
  if (shape.size_bytes > 0) memcpy(own_data, data, shape.size_bytes);
  *tensor = probe;
  tensor->name = lend(claimed);
  tensor->dims = own_dims;
  tensor->raw_data.data = own_data;
  if (list_add(graph, &graph->initializers, tensor)) value.name = claimed;
  return value;
}

assay_value assay_graph_add_initializer(assay_graph *graph, const char *name, assay_dtype dtype,
                                        int rank, const int64_t *dims, const void *data) {
  char full[NAME_MAX_BYTES];
  if (failed(graph) || !scoped(graph, name, full)) return (assay_value){NULL};
  return add_constant(graph, full, dtype, rank, dims, data);
}

assay_value assay_graph_const_f32(assay_graph *graph, float value) {
  char name[64];
  if (failed(graph)) return (assay_value){NULL};
  (void)snprintf(name, sizeof name, "const/f32/%.9g", (double)value);
  return add_constant(graph, name, ASSAY_DTYPE_F32, /*rank=*/0, NULL, &value);
}

assay_value assay_graph_const_f16(assay_graph *graph, float value) {
  char name[64];
  const uint16_t bits = assay_f16_of_f32(value);
  if (failed(graph)) return (assay_value){NULL};
  (void)snprintf(name, sizeof name, "const/f16/%.9g", (double)assay_f16_to_f32(bits));
  return add_constant(graph, name, ASSAY_DTYPE_F16, /*rank=*/0, NULL, &bits);
}

assay_value assay_graph_const_i64(assay_graph *graph, int64_t value) {
  char name[64];
  if (failed(graph)) return (assay_value){NULL};
  (void)snprintf(name, sizeof name, "const/i64/%lld", (long long)value);
  return add_constant(graph, name, ASSAY_DTYPE_I64, /*rank=*/0, NULL, &value);
}

assay_value assay_graph_const_i64s(assay_graph *graph, const int64_t *values, int64_t n) {
  char name[128] = "const/i64/[";
  if (failed(graph)) return (assay_value){NULL};
  size_t used = strlen(name);
  for (int64_t i = 0; i < n && used < sizeof name - 32; i++) {
    used += (size_t)snprintf(name + used, sizeof name - used, "%s%lld", i == 0 ? "" : ",",
                             (long long)values[i]);
  }
  (void)snprintf(name + used, sizeof name - used, "]");
  return add_constant(graph, name, ASSAY_DTYPE_I64, /*rank=*/1, &n, values);
}

/* ---- nodes ---- */

static bool fill_attr(assay_graph *graph, Onnx__AttributeProto *attr, const assay_attr *from) {
  onnx__attribute_proto__init(attr);
  attr->name = take_text(graph, from->name);
  attr->has_type = 1;
  switch (from->kind) {
  case ASSAY_ATTR_INT:
    attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    attr->has_i = 1;
    attr->i = from->i;
    break;
  case ASSAY_ATTR_FLOAT:
    attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
    attr->has_f = 1;
    attr->f = from->f;
    break;
  case ASSAY_ATTR_STRING:
    attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
    attr->has_s = 1;
    attr->s.len = strlen(from->s);
    attr->s.data = (uint8_t *)take_text(graph, from->s);
    break;
  case ASSAY_ATTR_INTS:
    attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    attr->n_ints = from->n_ints;
    attr->ints = take(graph, from->n_ints * sizeof *attr->ints);
    if (attr->ints != NULL && from->n_ints > 0) {
      memcpy(attr->ints, from->ints, from->n_ints * sizeof *attr->ints);
    }
    break;
  }
  return !failed(graph);
}

static bool fill_attrs(assay_graph *graph, Onnx__NodeProto *node, const assay_attr *attrs,
                       size_t n_attrs) {
  Onnx__AttributeProto *items = take(graph, n_attrs * sizeof *items);
  node->attribute = take(graph, n_attrs * sizeof *node->attribute);
  if (failed(graph)) return false;
  node->n_attribute = n_attrs;
  for (size_t i = 0; i < n_attrs; i++) {
    node->attribute[i] = &items[i];
    if (!fill_attr(graph, &items[i], &attrs[i])) return false;
  }
  return true;
}

static bool fill_inputs(assay_graph *graph, Onnx__NodeProto *node, const assay_op *op,
                        const assay_value *inputs, size_t n_inputs) {
  static const char ABSENT[] = "";
  node->input = take(graph, n_inputs * sizeof *node->input);
  if (node->input == NULL) return false;
  node->n_input = n_inputs;
  for (size_t i = 0; i < n_inputs; i++) {
    const char *name = inputs[i].name == NULL ? ABSENT : known(graph, inputs[i]);
    if (name == NULL) {
      assay_graph_fail(graph, ASSAY_E_INTERNAL,
                       "input %zu of %s '%s' is '%s', no value of this graph", i, op->name,
                       node->name, inputs[i].name);
      return false;
    }
    if (name == ABSENT && i < op->min_inputs) {
      assay_graph_fail(graph, ASSAY_E_INTERNAL, "input %zu of %s '%s' is absent", i, op->name,
                       node->name);
      return false;
    }
    node->input[i] = lend(name);
  }
  return true;
}

/* names NULL: after the node. */
static bool fill_outputs(assay_graph *graph, Onnx__NodeProto *node, const char *const *names,
                         size_t n_outputs) {
  char name[NAME_MAX_BYTES + 64];
  node->output = take(graph, n_outputs * sizeof *node->output);
  if (node->output == NULL) return false;
  node->n_output = n_outputs;
  for (size_t i = 0; i < n_outputs; i++) {
    const char *claimed = NULL;
    if (names != NULL) {
      claimed = claim(graph, &graph->value_names, names[i]);
    } else {
      (void)snprintf(name, sizeof name, n_outputs == 1 ? "%s" : "%s.%zu", node->name, i);
      claimed = claim_unique(graph, &graph->value_names, name);
    }
    if (claimed == NULL) return false;
    node->output[i] = lend(claimed);
  }
  return true;
}

/* The operator's row, if the graph's opset has it with this arity; or NULL with the graph failed.
 */
static const assay_op *check_op(assay_graph *graph, const char *op_name, const char *label,
                                size_t n_inputs, size_t n_outputs) {
  const assay_op *op = assay_op_find(op_name, graph->opset);
  if (op == NULL) {
    assay_graph_fail(graph, ASSAY_E_UNSUPPORTED, "operator %s ('%s%s') is not known for opset %lld",
                     op_name, graph->scope, label, (long long)graph->opset);
    return NULL;
  }
  if (n_inputs < op->min_inputs || n_inputs > op->max_inputs || n_outputs < op->min_outputs ||
      n_outputs > op->max_outputs) {
    assay_graph_fail(graph, ASSAY_E_INTERNAL,
                     "%s '%s%s' has %zu inputs and %zu outputs, expected at least %zu and %zu",
                     op_name, graph->scope, label, n_inputs, n_outputs, op->min_inputs,
                     op->min_outputs);
    return NULL;
  }
  return op;
}

void assay_graph_add_node_named(assay_graph *graph, const char *op_name, const char *label,
                                const char *const *output_names, const assay_value *inputs,
                                size_t n_inputs, const assay_attr *attrs, size_t n_attrs,
                                assay_value *outs, size_t n_outputs) {
  char full[NAME_MAX_BYTES];
  for (size_t i = 0; i < n_outputs; i++) outs[i].name = NULL;
  if (failed(graph) || !scoped(graph, label, full)) return;
  const assay_op *op = check_op(graph, op_name, label, n_inputs, n_outputs);
  if (op == NULL) return;
  Onnx__NodeProto *node = take(graph, sizeof *node);
  const char *name = claim_unique(graph, &graph->node_names, full);
  if (node == NULL || name == NULL) return;
  onnx__node_proto__init(node);
  node->op_type = lend(op->name); /* of the table: outlives every graph */
  if (op->domain != NULL) node->domain = lend(op->domain);
  node->name = lend(name);
  if (!fill_inputs(graph, node, op, inputs, n_inputs)) return;
  if (!fill_attrs(graph, node, attrs, n_attrs)) return;
  if (!fill_outputs(graph, node, output_names, n_outputs)) return;
  if (!list_add(graph, &graph->nodes, node)) return;
  for (size_t i = 0; i < n_outputs; i++) outs[i].name = node->output[i];
}

void assay_graph_add_node(assay_graph *graph, const char *op, const char *label,
                          const assay_value *inputs, size_t n_inputs, const assay_attr *attrs,
                          size_t n_attrs, assay_value *outs, size_t n_outputs) {
  assay_graph_add_node_named(graph, op, label, /*output_names=*/NULL, inputs, n_inputs, attrs,
                             n_attrs, outs, n_outputs);
}

assay_value assay_graph_op(assay_graph *graph, const char *op, const char *label,
                           const assay_value *inputs, size_t n_inputs, const assay_attr *attrs,
                           size_t n_attrs) {
  assay_value out = {NULL};
  assay_graph_add_node(graph, op, label, inputs, n_inputs, attrs, n_attrs, &out, 1);
  return out;
}

assay_value assay_graph_op_named(assay_graph *graph, const char *op, const char *label,
                                 const char *output_name, const assay_value *inputs,
                                 size_t n_inputs, const assay_attr *attrs, size_t n_attrs) {
  assay_value out = {NULL};
  assay_graph_add_node_named(graph, op, label, &output_name, inputs, n_inputs, attrs, n_attrs, &out,
                             1);
  return out;
}

size_t assay_graph_count_nodes(const assay_graph *graph, const char *op) {
  if (op == NULL) return graph->nodes.n;
  size_t n = 0;
  for (size_t i = 0; i < graph->nodes.n; i++) {
    const Onnx__NodeProto *node = graph->nodes.items[i];
    if (strcmp(node->op_type, op) == 0) n++;
  }
  return n;
}

/* Some output of node, or a Cast of it, is an input of a node of op `to`. */
static bool feeds(const assay_graph *graph, const Onnx__NodeProto *node, const char *to) {
  for (size_t i = 0; i < graph->nodes.n; i++) {
    const Onnx__NodeProto *other = graph->nodes.items[i];
    const bool is_it = strcmp(other->op_type, to) == 0;
    if (!is_it && strcmp(other->op_type, "Cast") != 0) continue;
    for (size_t k = 0; k < other->n_input; k++)
      for (size_t o = 0; o < node->n_output; o++)
        if (strcmp(other->input[k], node->output[o]) == 0 && (is_it || feeds(graph, other, to)))
          return true;
  }
  return false;
}

size_t assay_graph_count_feeding(const assay_graph *graph, const char *from, const char *to) {
  size_t n = 0;
  for (size_t i = 0; i < graph->nodes.n; i++) {
    const Onnx__NodeProto *node = graph->nodes.items[i];
    n += strcmp(node->op_type, from) == 0 && feeds(graph, node, to);
  }
  return n;
}

/* ---- metadata and saving ---- */

void assay_graph_put_metadata(assay_graph *graph, const char *key, const char *value) {
  if (failed(graph)) return;
  for (size_t i = 0; i < graph->metadata.n; i++) {
    const Onnx__StringStringEntryProto *other = graph->metadata.items[i];
    if (strcmp(other->key, key) != 0) continue;
    assay_graph_fail(graph, ASSAY_E_INTERNAL, "metadata '%s' is put twice", key);
    return;
  }
  Onnx__StringStringEntryProto *entry = take(graph, sizeof *entry);
  if (entry == NULL) return;
  onnx__string_string_entry_proto__init(entry);
  entry->key = take_text(graph, key);
  entry->value = take_text(graph, value);
  if (!failed(graph)) (void)list_add(graph, &graph->metadata, entry);
}

/* The items of a list in an array of their own type, which protobuf-c reads; from a pool of the
 * caller's. (An array of void pointers may not be read as an array of others.) */
#define TYPED(type, pool, l, out_items, out_n)                                                     \
  do {                                                                                             \
    type **typed = assay_pool_alloc(pool, (l).n * sizeof *typed);                                  \
    if (typed == NULL) return assay_fail_memory(err, (l).n * sizeof *typed);                       \
    for (size_t i = 0; i < (l).n; i++) typed[i] = (l).items[i];                                    \
    (out_items) = typed;                                                                           \
    (out_n) = (l).n;                                                                               \
  } while (0)

static assay_status fill_graph(const assay_graph *graph, assay_pool *pool, Onnx__GraphProto *out,
                               assay_error *err) {
  onnx__graph_proto__init(out);
  out->name = lend(graph->name);
  TYPED(Onnx__NodeProto, pool, graph->nodes, out->node, out->n_node);
  TYPED(Onnx__TensorProto, pool, graph->initializers, out->initializer, out->n_initializer);
  TYPED(Onnx__ValueInfoProto, pool, graph->inputs, out->input, out->n_input);
  TYPED(Onnx__ValueInfoProto, pool, graph->outputs, out->output, out->n_output);
  return ASSAY_OK;
}

static assay_status pack(const Onnx__ModelProto *model, assay_buf *out, assay_error *err) {
  size_t size_bytes = onnx__model_proto__get_packed_size(model);
  if (size_bytes > MODEL_MAX_BYTES) {
    return assay_fail(err, ASSAY_E_LIMIT, "the model is %zu bytes, an ONNX file holds at most %zu",
                      size_bytes, MODEL_MAX_BYTES);
  }
  uint8_t *to = NULL;
  ASSAY_TRY(assay_buf_reserve(out, size_bytes, &to, err));
  out->size_bytes += onnx__model_proto__pack(model, to);
  return ASSAY_OK;
}

#define OPSETS_MAX 8 /* domains; the table of operators has two */

static void fill_opset(Onnx__OperatorSetIdProto *set, const char *domain, int64_t version) {
  onnx__operator_set_id_proto__init(set);
  set->domain = lend(domain);
  set->has_version = 1;
  set->version = version;
}

/* The default domain's opset, and version 1 of each other domain that a node is of; how many. */
static size_t fill_opsets(const assay_graph *graph, Onnx__OperatorSetIdProto sets[OPSETS_MAX],
                          Onnx__OperatorSetIdProto *out[OPSETS_MAX]) {
  size_t n = 0;
  fill_opset(&sets[n++], "", graph->opset);
  for (size_t i = 0; i < graph->nodes.n; i++) {
    const Onnx__NodeProto *node = graph->nodes.items[i];
    if (node->domain == NULL || node->domain[0] == '\0') continue;
    size_t k = 1;
    while (k < n && strcmp(sets[k].domain, node->domain) != 0) k++;
    if (k == n && n < OPSETS_MAX) fill_opset(&sets[n++], node->domain, /*version=*/1);
  }
  for (size_t k = 0; k < n; k++) out[k] = &sets[k];
  return n;
}

static assay_status serialize(const assay_graph *graph, assay_pool *pool, assay_buf *out,
                              assay_error *err) {
  static const char PRODUCER[] = "assay", VERSION[] = ASSAY_VERSION;
  Onnx__GraphProto body;
  Onnx__OperatorSetIdProto sets[OPSETS_MAX], *opsets[OPSETS_MAX];
  ASSAY_TRY(fill_graph(graph, pool, &body, err));
  Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
  model.has_ir_version = 1;
  model.ir_version = assay_op_ir_version(graph->opset);
  model.n_opset_import = fill_opsets(graph, sets, opsets);
  model.opset_import = opsets;
  model.producer_name = lend(PRODUCER);
  model.producer_version = lend(VERSION);
  model.graph = &body;
  TYPED(Onnx__StringStringEntryProto, pool, graph->metadata, model.metadata_props,
        model.n_metadata_props);
  return pack(&model, out, err);
}

assay_status assay_graph_serialize(const assay_graph *graph, assay_buf *out, assay_error *err) {
  ASSAY_TRY(assay_graph_status(graph, err));
  if (graph->outputs.n == 0) {
    return assay_fail(err, ASSAY_E_INTERNAL, "graph '%s' has no output", graph->name);
  }
  assay_pool pool = {0};
  assay_status st = serialize(graph, &pool, out, err);
  assay_pool_reset(&pool);
  return st;
}

assay_status assay_graph_save(const assay_graph *graph, const char *path, assay_error *err) {
  assay_buf bytes = {0};
  assay_status st = assay_graph_serialize(graph, &bytes, err);
  if (!st) st = assay_file_write(path, bytes.data, bytes.size_bytes, err);
  assay_buf_reset(&bytes);
  return st;
}
