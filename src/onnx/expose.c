#include "onnx/expose.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "onnx/name_set.h"
#include "onnx/pool.h"
#include "onnx/unpack.h"

typedef struct exposer {
  const Onnx__GraphProto *graph;
  assay_pool pool;
  assay_name_set computed;        /* outputs of nodes */
  assay_name_set shown;           /* outputs of the graph */
  Onnx__ValueInfoProto **outputs; /* those of the graph, then new ones; in the pool */
  size_t n_outputs;
} exposer;

static assay_status add_name(assay_name_set *set, const char *name, assay_error *err) {
  if (name == NULL || name[0] == '\0' || assay_name_set_find(set, name) != NULL) return ASSAY_OK;
  return assay_name_set_add(set, name, err);
}

static assay_status collect(exposer *e, assay_error *err) {
  for (size_t i = 0; i < e->graph->n_node; i++)
    for (size_t k = 0; k < e->graph->node[i]->n_output; k++)
      ASSAY_TRY(add_name(&e->computed, e->graph->node[i]->output[k], err));
  for (size_t i = 0; i < e->graph->n_output; i++)
    ASSAY_TRY(add_name(&e->shown, e->graph->output[i]->name, err));
  return ASSAY_OK;
}

/* What a Cast to it makes of the value `name`, or 0. */
static int32_t cast_type(const exposer *e, const char *name) {
  for (size_t i = 0; i < e->graph->n_node; i++) {
    const Onnx__NodeProto *node = e->graph->node[i];
    if (node->op_type == NULL || strcmp(node->op_type, "Cast") != 0 || node->n_output != 1 ||
        strcmp(node->output[0], name) != 0)
      continue;
    for (size_t k = 0; k < node->n_attribute; k++) {
      const Onnx__AttributeProto *a = node->attribute[k];
      if (a->name != NULL && strcmp(a->name, "to") == 0 && a->i > 0 && a->i <= INT32_MAX)
        return (int32_t)a->i;
    }
  }
  return 0;
}

/* Sets info's type to the one that the model declares, or to a Cast's; or leaves it out. */
static assay_status set_type(exposer *e, Onnx__ValueInfoProto *info, assay_error *err) {
  for (size_t i = 0; i < e->graph->n_value_info; i++) {
    const Onnx__ValueInfoProto *known = e->graph->value_info[i];
    if (known->name != NULL && strcmp(known->name, info->name) == 0) {
      info->type = known->type; /* borrowed until the copy is packed */
      return ASSAY_OK;
    }
  }
  const int32_t dtype = cast_type(e, info->name);
  if (dtype == 0) return ASSAY_OK;
  Onnx__TypeProto *type = assay_pool_alloc(&e->pool, sizeof *type);
  Onnx__TypeProto__Tensor *tensor = assay_pool_alloc(&e->pool, sizeof *tensor);
  if (type == NULL || tensor == NULL) return assay_fail_memory(err, sizeof *type);
  onnx__type_proto__tensor__init(tensor);
  tensor->has_elem_type = 1;
  tensor->elem_type = dtype;
  onnx__type_proto__init(type);
  type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  type->tensor_type = tensor;
  info->type = type;
  return ASSAY_OK;
}

static assay_status add_output(exposer *e, const char *name, assay_error *err) {
  if (assay_name_set_find(&e->shown, name) != NULL) return ASSAY_OK;
  if (assay_name_set_find(&e->computed, name) == NULL)
    return assay_fail(err, ASSAY_E_ARGUMENT, "'%.200s' is no output of a node of the graph", name);
  Onnx__ValueInfoProto *info = assay_pool_alloc(&e->pool, sizeof *info);
  if (info == NULL) return assay_fail_memory(err, sizeof *info);
  onnx__value_info_proto__init(info);
  info->name = assay_pool_strdup(&e->pool, name);
  if (info->name == NULL) return assay_fail_memory(err, strlen(name) + 1);
  ASSAY_TRY(set_type(e, info, err));
  e->outputs[e->n_outputs++] = info;
  return assay_name_set_add(&e->shown, info->name, err);
}

static assay_status add_outputs(exposer *e, const char *const *names, size_t n, assay_error *err) {
  const size_t size_bytes = (e->graph->n_output + n) * sizeof *e->outputs;
  ASSAY_TRY(collect(e, err));
  e->outputs = assay_pool_alloc(&e->pool, size_bytes);
  if (e->outputs == NULL) return assay_fail_memory(err, size_bytes);
  for (size_t i = 0; i < e->graph->n_output; i++) e->outputs[e->n_outputs++] = e->graph->output[i];
  for (size_t i = 0; i < n; i++) ASSAY_TRY(add_output(e, names[i], err));
  return ASSAY_OK;
}

/* The model packed with e's outputs in place of its own. */
static assay_status pack_with(Onnx__ModelProto *model, const exposer *e, assay_buf *out,
                              assay_error *err) {
  Onnx__GraphProto *graph = model->graph;
  Onnx__ValueInfoProto **const own = graph->output;
  const size_t n_own = graph->n_output;
  graph->output = e->outputs;
  graph->n_output = e->n_outputs;
  const assay_status st = assay_onnx_pack(model, out, err);
  graph->output = own; /* what is released later */
  graph->n_output = n_own;
  return st;
}

assay_status assay_onnx_expose(const void *bytes, size_t size_bytes, const char *const *names,
                               size_t n, assay_buf *out, assay_error *err) {
  assay_unpacked unpacked = {0};
  ASSAY_TRY(assay_unpacked_init(bytes, size_bytes, &unpacked, err));
  exposer e = {.graph = unpacked.model->graph};
  assay_status st = ASSAY_OK;
  if (e.graph == NULL)
    st = assay_fail(err, ASSAY_E_FORMAT, "there is no graph in it: not an ONNX model");
  if (st == ASSAY_OK) st = add_outputs(&e, names, n, err);
  if (st == ASSAY_OK) st = pack_with(unpacked.model, &e, out, err);
  assay_name_set_reset(&e.computed);
  assay_name_set_reset(&e.shown);
  assay_pool_reset(&e.pool);
  assay_unpacked_reset(&unpacked);
  return st;
}
