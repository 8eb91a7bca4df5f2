/* Source: onnx/docs/IR.md. How deep graphs nest was checked when the file was unpacked. */
#include "onnx/each_node.h"

#include "base/file.h"
#include "onnx/unpack.h"

typedef struct visitor {
  assay_onnx_node_fn each;
  void *arg;
} visitor;

static const char *text_of(const char *text) {
  return text != NULL ? text : "";
}

static assay_status visit_graph(const visitor *v, const Onnx__GraphProto *graph, assay_error *err);

static assay_status visit_bodies(const visitor *v, const Onnx__NodeProto *node, assay_error *err) {
  for (size_t i = 0; i < node->n_attribute; i++) {
    const Onnx__AttributeProto *a = node->attribute[i];
    if (a->g != NULL) ASSAY_TRY(visit_graph(v, a->g, err));
    for (size_t k = 0; k < a->n_graphs; k++) ASSAY_TRY(visit_graph(v, a->graphs[k], err));
  }
  return ASSAY_OK;
}

static assay_status visit_graph(const visitor *v, const Onnx__GraphProto *graph, assay_error *err) {
  for (size_t i = 0; i < graph->n_node; i++) {
    const Onnx__NodeProto *node = graph->node[i];
    const assay_onnx_node told = {.op = text_of(node->op_type),
                                  .name = text_of(node->name),
                                  .inputs = node->input,
                                  .n_inputs = node->n_input,
                                  .outputs = node->output,
                                  .n_outputs = node->n_output};
    ASSAY_TRY(v->each(v->arg, &told, err));
    ASSAY_TRY(visit_bodies(v, node, err));
  }
  return ASSAY_OK;
}

assay_status assay_onnx_each_node(const char *path, assay_onnx_node_fn each, void *arg,
                                  assay_error *err) {
  const visitor v = {each, arg};
  assay_file_map map = {0};
  assay_unpacked unpacked = {0};
  ASSAY_TRY(assay_file_map_open(path, &map, err));
  assay_status st = assay_unpacked_init(map.data, map.size_bytes, &unpacked, err);
  assay_file_map_close(&map);
  if (st == ASSAY_OK && unpacked.model->graph == NULL)
    st = assay_fail(err, ASSAY_E_FORMAT, "there is no graph in it: not an ONNX model");
  if (st == ASSAY_OK) st = visit_graph(&v, unpacked.model->graph, err);
  assay_unpacked_reset(&unpacked);
  return st;
}
