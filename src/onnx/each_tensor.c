/* How deep graphs nest was checked when the file was unpacked (wire.h). */
#include "onnx/each_tensor.h"

#include <stddef.h>

typedef struct walk {
  assay_onnx_tensor_fn each;
  void *arg;
} walk;

static assay_status visit(const walk *w, Onnx__TensorProto *tensor, assay_error *err) {
  return tensor != NULL ? w->each(w->arg, tensor, err) : ASSAY_OK;
}

static assay_status visit_sparse(const walk *w, const Onnx__SparseTensorProto *sparse,
                                 assay_error *err) {
  if (sparse == NULL) return ASSAY_OK;
  ASSAY_TRY(visit(w, sparse->values, err));
  return visit(w, sparse->indices, err);
}

static assay_status visit_graph(const walk *w, const Onnx__GraphProto *graph, assay_error *err);

static assay_status visit_attribute(const walk *w, const Onnx__AttributeProto *a,
                                    assay_error *err) {
  ASSAY_TRY(visit(w, a->t, err));
  for (size_t i = 0; i < a->n_tensors; i++) ASSAY_TRY(visit(w, a->tensors[i], err));
  ASSAY_TRY(visit_sparse(w, a->sparse_tensor, err));
  for (size_t i = 0; i < a->n_sparse_tensors; i++)
    ASSAY_TRY(visit_sparse(w, a->sparse_tensors[i], err));
  if (a->g != NULL) ASSAY_TRY(visit_graph(w, a->g, err));
  for (size_t i = 0; i < a->n_graphs; i++) ASSAY_TRY(visit_graph(w, a->graphs[i], err));
  return ASSAY_OK;
}

static assay_status visit_nodes(const walk *w, Onnx__NodeProto *const *nodes, size_t n,
                                assay_error *err) {
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < nodes[i]->n_attribute; k++)
      ASSAY_TRY(visit_attribute(w, nodes[i]->attribute[k], err));
  return ASSAY_OK;
}

static assay_status visit_graph(const walk *w, const Onnx__GraphProto *graph, assay_error *err) {
  for (size_t i = 0; i < graph->n_initializer; i++) ASSAY_TRY(visit(w, graph->initializer[i], err));
  for (size_t i = 0; i < graph->n_sparse_initializer; i++)
    ASSAY_TRY(visit_sparse(w, graph->sparse_initializer[i], err));
  return visit_nodes(w, graph->node, graph->n_node, err);
}

assay_status assay_onnx_each_tensor(const Onnx__ModelProto *model, assay_onnx_tensor_fn each,
                                    void *arg, assay_error *err) {
  const walk w = {each, arg};
  if (model->graph != NULL) ASSAY_TRY(visit_graph(&w, model->graph, err));
  for (size_t i = 0; i < model->n_functions; i++)
    ASSAY_TRY(visit_nodes(&w, model->functions[i]->node, model->functions[i]->n_node, err));
  return ASSAY_OK;
}
