/* Source: onnx/docs/IR.md and onnx.proto. What is kept of the unpacked model is copied, so that
 * weights do not stay in memory. */
#include "onnx/model_info.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/tensor.h"
#include "onnx/each_tensor.h"
#include "onnx/name_set.h"
#include "onnx/pool.h"
#include "onnx/unpack.h"

/* A growing array of things of one size. */
typedef struct array {
  void *items; /* owned */
  size_t n, cap;
} array;

struct assay_onnx_info {
  assay_pool pool; /* texts and dims */
  int64_t ir_version;
  const char *producer, *producer_version, *graph_name;
  array opsets;   /* assay_onnx_opset */
  array inputs;   /* assay_onnx_value_info */
  array outputs;  /* assay_onnx_value_info */
  array ops;      /* assay_onnx_op_count */
  array metadata; /* assay_onnx_pair */
  array external; /* const char * */
  size_t n_nodes, n_initializers;
  uint64_t initializer_bytes;
  uint64_t bytes_of[ASSAY_DTYPE_BF16 + 1]; /* of those, by type; others are left out */
};

/* ---- arrays and texts ---- */

/* Room for one more item, zeroed, at *out. */
static assay_status array_grow(array *a, size_t item_bytes, void **out, assay_error *err) {
  void *items = assay_grown(a->items, &a->cap, a->n, item_bytes, err);
  if (items == NULL) return ASSAY_E_MEMORY;
  a->items = items;
  *out = (char *)a->items + a->n * item_bytes;
  a->n++;
  return ASSAY_OK;
}

/* text may be NULL, which gives "". */
static assay_status keep_text(assay_onnx_info *info, const char *text, const char **out,
                              assay_error *err) {
  const char *copy = assay_pool_strdup(&info->pool, text == NULL ? "" : text);
  if (copy == NULL) return assay_fail_memory(err, strlen(text) + 1);
  *out = copy;
  return ASSAY_OK;
}

static const char *domain_of(const char *domain) {
  return domain == NULL || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

/* ---- values ---- */

static assay_status keep_dims(assay_onnx_info *info, const Onnx__TensorShapeProto *shape,
                              const char *name, assay_onnx_value_info *out, assay_error *err) {
  if (shape->n_dim > ASSAY_TENSOR_RANK_MAX) {
    return assay_fail(err, ASSAY_E_LIMIT, "'%s' has %zu dimensions, more than %d", name,
                      shape->n_dim, ASSAY_TENSOR_RANK_MAX);
  }
  assay_onnx_dim *dims = assay_pool_alloc(&info->pool, shape->n_dim * sizeof *dims);
  if (dims == NULL) return assay_fail_memory(err, shape->n_dim * sizeof *dims);
  for (size_t i = 0; i < shape->n_dim; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
    dims[i].size = -1;
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
      if (dim->dim_value >= 0) dims[i].size = dim->dim_value;
    } else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
               dim->dim_param != NULL && dim->dim_param[0] != '\0') {
      ASSAY_TRY(keep_text(info, dim->dim_param, &dims[i].symbol, err));
    }
  }
  out->rank = (int)shape->n_dim;
  out->dims = dims;
  return ASSAY_OK;
}

static assay_status keep_value(assay_onnx_info *info, array *to, const Onnx__ValueInfoProto *value,
                               assay_error *err) {
  void *slot = NULL;
  ASSAY_TRY(array_grow(to, sizeof(assay_onnx_value_info), &slot, err));
  assay_onnx_value_info *out = slot;
  *out = (assay_onnx_value_info){.name = "", .rank = -1};
  ASSAY_TRY(keep_text(info, value->name, &out->name, err));
  const Onnx__TypeProto *type = value->type;
  if (type == NULL || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
      type->tensor_type == NULL) {
    return ASSAY_OK;
  }
  int32_t dtype = type->tensor_type->elem_type;
  if (dtype > ASSAY_DTYPE_NONE && dtype <= ASSAY_DTYPE_BF16) out->dtype = (assay_dtype)dtype;
  if (type->tensor_type->shape == NULL) return ASSAY_OK;
  return keep_dims(info, type->tensor_type->shape, out->name, out, err);
}

static assay_status keep_inputs(assay_onnx_info *info, const Onnx__GraphProto *graph,
                                const assay_name_set *initializers, assay_error *err) {
  for (size_t i = 0; i < graph->n_input; i++) {
    const char *name = graph->input[i]->name;
    if (name != NULL && assay_name_set_find(initializers, name) != NULL) continue;
    ASSAY_TRY(keep_value(info, &info->inputs, graph->input[i], err));
  }
  return ASSAY_OK;
}

static assay_status collect_initializers(const Onnx__GraphProto *graph, assay_name_set *out,
                                         assay_error *err) {
  for (size_t i = 0; i < graph->n_initializer; i++) {
    const char *name = graph->initializer[i]->name;
    if (name == NULL || assay_name_set_find(out, name) != NULL) continue;
    ASSAY_TRY(assay_name_set_add(out, name, err));
  }
  return ASSAY_OK;
}

static assay_status keep_inputs_and_outputs(assay_onnx_info *info, const Onnx__GraphProto *graph,
                                            assay_error *err) {
  assay_name_set initializers = {0};
  assay_status st = collect_initializers(graph, &initializers, err);
  if (!st) st = keep_inputs(info, graph, &initializers, err);
  assay_name_set_reset(&initializers);
  for (size_t i = 0; !st && i < graph->n_output; i++) {
    st = keep_value(info, &info->outputs, graph->output[i], err);
  }
  return st;
}

/* ---- nodes and initialisers, subgraphs included ---- */

static assay_status keep_external(void *arg, Onnx__TensorProto *tensor, assay_error *err) {
  assay_onnx_info *info = arg;
  for (size_t i = 0; i < tensor->n_external_data; i++) {
    const Onnx__StringStringEntryProto *entry = tensor->external_data[i];
    if (entry->key == NULL || strcmp(entry->key, "location") != 0) continue;
    const char *location = entry->value == NULL ? "" : entry->value;
    if (!assay_path_is_inside(location)) {
      return assay_fail(err, ASSAY_E_FORMAT,
                        "the external data '%s' of '%s' does not lie in the model's folder",
                        location, tensor->name == NULL ? "" : tensor->name);
    }
    void *slot = NULL;
    ASSAY_TRY(array_grow(&info->external, sizeof(const char *), &slot, err));
    ASSAY_TRY(keep_text(info, location, (const char **)slot, err));
  }
  return ASSAY_OK;
}

/* Bytes of a tensor's elements by its shape, which is right for external data too; by what is there
 * for types that assay has no size for. */
static assay_status tensor_bytes(const Onnx__TensorProto *tensor, uint64_t *out, assay_error *err) {
  const char *name = tensor->name == NULL ? "" : tensor->name;
  if (tensor->n_dims > ASSAY_TENSOR_RANK_MAX) {
    return assay_fail(err, ASSAY_E_LIMIT, "initialiser '%s' has %zu dimensions, more than %d", name,
                      tensor->n_dims, ASSAY_TENSOR_RANK_MAX);
  }
  size_t n_elems = 0;
  size_t elem_bytes = tensor->data_type > 0 && tensor->data_type <= ASSAY_DTYPE_BF16
                          ? assay_dtype_size((assay_dtype)tensor->data_type)
                          : 0;
  size_t size_bytes = 0;
  static const int64_t NO_DIMS[1];
  assay_status st = assay_shape_count(tensor->n_dims == 0 ? NO_DIMS : tensor->dims,
                                      (int)tensor->n_dims, &n_elems, err);
  if (!st && !assay_size_mul(n_elems, elem_bytes, &size_bytes)) {
    st = assay_fail(err, ASSAY_E_LIMIT, "too many elements");
  }
  if (st) {
    assay_error_in(err, "initialiser '%s'", name);
    return st;
  }
  *out = elem_bytes > 0 ? size_bytes
                        : (uint64_t)tensor->raw_data.len + 4 * (uint64_t)tensor->n_int32_data;
  return ASSAY_OK;
}

static assay_status keep_initializer(assay_onnx_info *info, const Onnx__TensorProto *tensor,
                                     assay_error *err) {
  uint64_t size_bytes = 0;
  ASSAY_TRY(tensor_bytes(tensor, &size_bytes, err));
  info->n_initializers++;
  info->initializer_bytes += size_bytes;
  if (tensor->data_type > 0 && tensor->data_type <= ASSAY_DTYPE_BF16)
    info->bytes_of[tensor->data_type] += size_bytes;
  return ASSAY_OK;
}

static assay_status count_op(assay_onnx_info *info, const Onnx__NodeProto *node, assay_error *err) {
  const char *domain = domain_of(node->domain);
  const char *op = node->op_type == NULL ? "" : node->op_type;
  assay_onnx_op_count *ops = info->ops.items;
  info->n_nodes++;
  for (size_t i = 0; i < info->ops.n; i++) {
    if (strcmp(ops[i].op, op) == 0 && strcmp(ops[i].domain, domain) == 0) {
      ops[i].n++;
      return ASSAY_OK;
    }
  }
  if (info->ops.n == 4096) {
    return assay_fail(err, ASSAY_E_LIMIT, "nodes of more than %d different operators", 4096);
  }
  void *slot = NULL;
  ASSAY_TRY(array_grow(&info->ops, sizeof *ops, &slot, err));
  assay_onnx_op_count *count = slot;
  *count = (assay_onnx_op_count){.domain = "", .op = "", .n = 1};
  ASSAY_TRY(keep_text(info, domain, &count->domain, err));
  return keep_text(info, op, &count->op, err);
}

static assay_status keep_graph(assay_onnx_info *info, const Onnx__GraphProto *graph,
                               assay_error *err);

static assay_status keep_attribute(assay_onnx_info *info, const Onnx__AttributeProto *attr,
                                   assay_error *err) {
  if (attr->g != NULL) ASSAY_TRY(keep_graph(info, attr->g, err));
  for (size_t i = 0; i < attr->n_graphs; i++) ASSAY_TRY(keep_graph(info, attr->graphs[i], err));
  return ASSAY_OK;
}

/* Recursion through subgraphs is bounded: NESTING_MAX held when the bytes were looked over. */
static assay_status keep_graph(assay_onnx_info *info, const Onnx__GraphProto *graph,
                               assay_error *err) {
  for (size_t i = 0; i < graph->n_initializer; i++) {
    ASSAY_TRY(keep_initializer(info, graph->initializer[i], err));
  }
  for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
    const Onnx__TensorProto *values = graph->sparse_initializer[i]->values;
    if (values != NULL) ASSAY_TRY(keep_initializer(info, values, err));
  }
  for (size_t i = 0; i < graph->n_node; i++) {
    const Onnx__NodeProto *node = graph->node[i];
    ASSAY_TRY(count_op(info, node, err));
    for (size_t k = 0; k < node->n_attribute; k++) {
      ASSAY_TRY(keep_attribute(info, node->attribute[k], err));
    }
  }
  return ASSAY_OK;
}

/* ---- the model ---- */

static assay_status keep_opsets(assay_onnx_info *info, const Onnx__ModelProto *model,
                                assay_error *err) {
  for (size_t i = 0; i < model->n_opset_import; i++) {
    void *slot = NULL;
    ASSAY_TRY(array_grow(&info->opsets, sizeof(assay_onnx_opset), &slot, err));
    assay_onnx_opset *opset = slot;
    *opset = (assay_onnx_opset){.domain = "", .version = model->opset_import[i]->version};
    ASSAY_TRY(keep_text(info, domain_of(model->opset_import[i]->domain), &opset->domain, err));
  }
  return ASSAY_OK;
}

static assay_status keep_metadata(assay_onnx_info *info, const Onnx__ModelProto *model,
                                  assay_error *err) {
  for (size_t i = 0; i < model->n_metadata_props; i++) {
    void *slot = NULL;
    ASSAY_TRY(array_grow(&info->metadata, sizeof(assay_onnx_pair), &slot, err));
    assay_onnx_pair *pair = slot;
    *pair = (assay_onnx_pair){.key = "", .value = ""};
    ASSAY_TRY(keep_text(info, model->metadata_props[i]->key, &pair->key, err));
    ASSAY_TRY(keep_text(info, model->metadata_props[i]->value, &pair->value, err));
  }
  return ASSAY_OK;
}

static int compare_ops(const void *a, const void *b) {
  const assay_onnx_op_count *x = a, *y = b;
  int by_domain = strcmp(x->domain, y->domain);
  return by_domain != 0 ? by_domain : strcmp(x->op, y->op);
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_and_unique(assay_onnx_info *info) {
  if (info->ops.n > 0) {
    qsort(info->ops.items, info->ops.n, sizeof(assay_onnx_op_count), compare_ops);
  }
  if (info->external.n == 0) return;
  const char **names = info->external.items;
  qsort(names, info->external.n, sizeof *names, compare_texts);
  size_t n = 1;
  for (size_t i = 1; i < info->external.n; i++) {
    if (strcmp(names[i], names[n - 1]) != 0) names[n++] = names[i];
  }
  info->external.n = n;
}

static assay_status keep_model(assay_onnx_info *info, const Onnx__ModelProto *model,
                               assay_error *err) {
  if (model->graph == NULL) {
    return assay_fail(err, ASSAY_E_FORMAT, "there is no graph in it: not an ONNX model");
  }
  if (model->ir_version <= 0 || model->n_opset_import == 0) {
    return assay_fail(err, ASSAY_E_FORMAT, "it has no %s: not an ONNX model",
                      model->ir_version <= 0 ? "IR version" : "opset");
  }
  info->ir_version = model->ir_version;
  ASSAY_TRY(keep_text(info, model->producer_name, &info->producer, err));
  ASSAY_TRY(keep_text(info, model->producer_version, &info->producer_version, err));
  ASSAY_TRY(keep_text(info, model->graph->name, &info->graph_name, err));
  ASSAY_TRY(keep_opsets(info, model, err));
  ASSAY_TRY(keep_metadata(info, model, err));
  ASSAY_TRY(keep_inputs_and_outputs(info, model->graph, err));
  ASSAY_TRY(keep_graph(info, model->graph, err));
  ASSAY_TRY(assay_onnx_each_tensor(model, keep_external, info, err));
  sort_and_unique(info);
  return ASSAY_OK;
}

static assay_status parse(const uint8_t *bytes, size_t size_bytes, assay_onnx_info *info,
                          assay_error *err) {
  assay_unpacked unpacked = {0};
  ASSAY_TRY(assay_unpacked_init(bytes, size_bytes, &unpacked, err));
  const assay_status st = keep_model(info, unpacked.model, err);
  assay_unpacked_reset(&unpacked);
  return st;
}

assay_status assay_onnx_info_parse(const void *bytes, size_t size_bytes, assay_onnx_info **out,
                                   assay_error *err) {
  assay_onnx_info *info = assay_alloc(sizeof *info);
  if (info == NULL) return assay_fail_memory(err, sizeof *info);
  assay_status st = parse(bytes, size_bytes, info, err);
  if (st) {
    assay_onnx_info_close(info);
    return st;
  }
  *out = info;
  return ASSAY_OK;
}

assay_status assay_onnx_info_open(const char *path, assay_onnx_info **out, assay_error *err) {
  assay_buf bytes = {0};
  assay_status st = assay_file_read(path, ASSAY_ONNX_MAX_BYTES, &bytes, err);
  if (!st) {
    st = assay_onnx_info_parse(bytes.data, bytes.size_bytes, out, err);
    if (st) assay_error_in(err, "'%s'", path);
  }
  assay_buf_reset(&bytes);
  return st;
}

void assay_onnx_info_close(assay_onnx_info *info) {
  if (info == NULL) return;
  assay_free(info->opsets.items);
  assay_free(info->inputs.items);
  assay_free(info->outputs.items);
  assay_free(info->ops.items);
  assay_free(info->metadata.items);
  assay_free(info->external.items);
  assay_pool_reset(&info->pool);
  assay_free(info);
}

/* ---- getters ---- */

int64_t assay_onnx_info_ir_version(const assay_onnx_info *info) {
  return info->ir_version;
}

const char *assay_onnx_info_producer(const assay_onnx_info *info) {
  return info->producer;
}

const char *assay_onnx_info_producer_version(const assay_onnx_info *info) {
  return info->producer_version;
}

const char *assay_onnx_info_graph_name(const assay_onnx_info *info) {
  return info->graph_name;
}

const assay_onnx_opset *assay_onnx_info_opsets(const assay_onnx_info *info, size_t *out_n) {
  *out_n = info->opsets.n;
  return info->opsets.items;
}

const assay_onnx_value_info *assay_onnx_info_inputs(const assay_onnx_info *info, size_t *out_n) {
  *out_n = info->inputs.n;
  return info->inputs.items;
}

const assay_onnx_value_info *assay_onnx_info_outputs(const assay_onnx_info *info, size_t *out_n) {
  *out_n = info->outputs.n;
  return info->outputs.items;
}

const assay_onnx_op_count *assay_onnx_info_ops(const assay_onnx_info *info, size_t *out_n) {
  *out_n = info->ops.n;
  return info->ops.items;
}

size_t assay_onnx_info_n_nodes(const assay_onnx_info *info) {
  return info->n_nodes;
}

size_t assay_onnx_info_n_initializers(const assay_onnx_info *info) {
  return info->n_initializers;
}

uint64_t assay_onnx_info_initializer_bytes(const assay_onnx_info *info) {
  return info->initializer_bytes;
}

assay_dtype assay_onnx_info_initializer_dtype(const assay_onnx_info *info) {
  int most = ASSAY_DTYPE_NONE;
  for (int i = 1; i <= ASSAY_DTYPE_BF16; i++)
    if (info->bytes_of[i] > info->bytes_of[most]) most = i;
  return (assay_dtype)most;
}

const assay_onnx_pair *assay_onnx_info_metadata(const assay_onnx_info *info, size_t *out_n) {
  *out_n = info->metadata.n;
  return info->metadata.items;
}

const char *assay_onnx_info_metadata_value(const assay_onnx_info *info, const char *key) {
  const assay_onnx_pair *pairs = info->metadata.items;
  for (size_t i = 0; i < info->metadata.n; i++) {
    if (strcmp(pairs[i].key, key) == 0) return pairs[i].value;
  }
  return NULL;
}

const char *const *assay_onnx_info_external_files(const assay_onnx_info *info, size_t *out_n) {
  *out_n = info->external.n;
  return info->external.items;
}
