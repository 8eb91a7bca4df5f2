/* Both work on the unpacked model, lend it what is new while it is packed again, and give it back
 * as it was. Source: onnx/docs/IR.md; nodes stand in an order in which each comes after what it
 * needs. */
#include "onnx/specialise.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "onnx/name_set.h"
#include "onnx/pool.h"
#include "onnx/unpack.h"

#define IR_OLDEST 4 /* from here on initialisers need be no inputs */

typedef Onnx__TensorShapeProto__Dimension dimension;

/* --- shapes --------------------------------------------------------------------------------------
 */

typedef struct symbol {
  const char *name; /* the model's */
  int64_t size;
} symbol;

/* A dimension that was free. */
typedef struct changed {
  dimension *dim;
  char *symbol; /* its own, or NULL */
  Onnx__TensorShapeProto__Dimension__ValueCase value_case;
} changed;

typedef struct fixer {
  symbol *symbols;
  size_t n_symbols, symbols_cap;
  changed *changes;
  size_t n_changes, changes_cap;
} fixer;

static const symbol *find_symbol(const fixer *f, const char *name) {
  for (size_t i = 0; i < f->n_symbols; i++)
    if (strcmp(f->symbols[i].name, name) == 0) return &f->symbols[i];
  return NULL;
}

static assay_status add_symbol(fixer *f, const char *name, int64_t size, assay_error *err) {
  const symbol *known = find_symbol(f, name);
  if (known != NULL && known->size != size)
    return assay_fail(err, ASSAY_E_FORMAT, "free dimension '%.96s' is %lld and %lld", name,
                      (long long)known->size, (long long)size);
  if (known != NULL) return ASSAY_OK;
  symbol *symbols = assay_grown(f->symbols, &f->symbols_cap, f->n_symbols, sizeof *symbols, err);
  if (symbols == NULL) return ASSAY_E_MEMORY;
  f->symbols = symbols;
  f->symbols[f->n_symbols++] = (symbol){name, size};
  return ASSAY_OK;
}

static bool is_free(const dimension *dim) {
  return dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
}

static const char *symbol_of(const dimension *dim) {
  bool named = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
               dim->dim_param != NULL && dim->dim_param[0] != '\0';
  return named ? dim->dim_param : NULL;
}

/* Remembers the dimension as it was, so that it can be given back. */
static assay_status set_dim(fixer *f, dimension *dim, int64_t size, assay_error *err) {
  changed *changes = assay_grown(f->changes, &f->changes_cap, f->n_changes, sizeof *changes, err);
  if (changes == NULL) return ASSAY_E_MEMORY;
  f->changes = changes;
  bool named = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
  f->changes[f->n_changes++] = (changed){dim, named ? dim->dim_param : NULL, dim->value_case};
  dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
  dim->dim_value = size;
  return ASSAY_OK;
}

static void give_back(fixer *f) {
  for (size_t i = f->n_changes; i > 0; i--) {
    const changed *c = &f->changes[i - 1];
    c->dim->value_case = c->value_case;
    if (c->symbol != NULL) c->dim->dim_param = c->symbol;
  }
  assay_free(f->changes);
  assay_free(f->symbols);
}

static Onnx__TensorShapeProto *shape_of(const Onnx__ValueInfoProto *value) {
  const Onnx__TypeProto *type = value->type;
  if (type == NULL || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
      type->tensor_type == NULL)
    return NULL;
  return type->tensor_type->shape;
}

static assay_status fix_input(fixer *f, const Onnx__GraphProto *graph, const assay_onnx_shape *as,
                              assay_error *err) {
  const Onnx__ValueInfoProto *input = NULL;
  for (size_t i = 0; i < graph->n_input && input == NULL; i++)
    if (graph->input[i]->name != NULL && strcmp(graph->input[i]->name, as->name) == 0)
      input = graph->input[i];
  Onnx__TensorShapeProto *shape = input != NULL ? shape_of(input) : NULL;
  if (shape == NULL || shape->n_dim != (size_t)as->rank)
    return assay_fail(err, ASSAY_E_FORMAT, "the graph has no input '%.96s' of %d dimensions",
                      as->name, as->rank);
  for (int k = 0; k < as->rank; k++) {
    dimension *dim = shape->dim[k];
    const char *name = symbol_of(dim);
    if (name != NULL) ASSAY_TRY(add_symbol(f, name, as->dims[k], err));
    if (is_free(dim))
      ASSAY_TRY(set_dim(f, dim, as->dims[k], err));
    else if (dim->dim_value != as->dims[k])
      return assay_fail(err, ASSAY_E_FORMAT, "dimension %d of input '%.96s' is %lld, not %lld", k,
                        as->name, (long long)dim->dim_value, (long long)as->dims[k]);
  }
  return ASSAY_OK;
}

static assay_status fix_symbols(fixer *f, Onnx__ValueInfoProto *const *values, size_t n,
                                assay_error *err) {
  for (size_t i = 0; i < n; i++) {
    Onnx__TensorShapeProto *shape = shape_of(values[i]);
    for (size_t k = 0; shape != NULL && k < shape->n_dim; k++) {
      const char *name = symbol_of(shape->dim[k]);
      const symbol *known = name != NULL ? find_symbol(f, name) : NULL;
      if (known != NULL) ASSAY_TRY(set_dim(f, shape->dim[k], known->size, err));
    }
  }
  return ASSAY_OK;
}

static assay_status fix_graph(fixer *f, const Onnx__GraphProto *graph,
                              const assay_onnx_shape *inputs, size_t n_inputs, assay_error *err) {
  if (graph == NULL)
    return assay_fail(err, ASSAY_E_FORMAT, "there is no graph in it: not an ONNX model");
  for (size_t i = 0; i < n_inputs; i++) ASSAY_TRY(fix_input(f, graph, &inputs[i], err));
  ASSAY_TRY(fix_symbols(f, graph->output, graph->n_output, err));
  return fix_symbols(f, graph->value_info, graph->n_value_info, err);
}

assay_status assay_onnx_fix_shapes(const void *bytes, size_t size_bytes,
                                   const assay_onnx_shape *inputs, size_t n_inputs, assay_buf *out,
                                   assay_error *err) {
  fixer f = {0};
  assay_unpacked unpacked = {0};
  ASSAY_TRY(assay_unpacked_init(bytes, size_bytes, &unpacked, err));
  assay_status st = fix_graph(&f, unpacked.model->graph, inputs, n_inputs, err);
  if (st == ASSAY_OK) st = assay_onnx_pack(unpacked.model, out, err);
  give_back(&f);
  assay_unpacked_reset(&unpacked);
  return st;
}

/* --- folding -------------------------------------------------------------------------------------
 */

typedef struct folder {
  Onnx__GraphProto *graph;
  assay_name_set computed; /* outputs of the graph's nodes */
  assay_name_set shown;    /* outputs of the graph */
  assay_name_set known;    /* of those computed: constants of the folded model */
  assay_name_set needed;   /* by what stays */
  Onnx__NodeProto **nodes; /* [n_nodes] that stay */
  size_t n_nodes;
  Onnx__TensorProto **constants; /* [n_constants] the graph's own, then those that are needed */
  size_t n_constants;
  assay_pool pool;
} folder;

static assay_status add_name(assay_name_set *set, const char *name, assay_error *err) {
  if (name == NULL || name[0] == '\0' || assay_name_set_find(set, name) != NULL) return ASSAY_OK;
  return assay_name_set_add(set, name, err);
}

static bool has(const assay_name_set *set, const char *name) {
  return name != NULL && name[0] != '\0' && assay_name_set_find(set, name) != NULL;
}

static bool is_whole(const Onnx__TensorProto *tensor) {
  return tensor->n_external_data == 0 &&
         !(tensor->has_data_location &&
           tensor->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL);
}

static assay_status collect(folder *f, const Onnx__GraphProto *folded, assay_error *err) {
  for (size_t i = 0; i < f->graph->n_node; i++)
    for (size_t k = 0; k < f->graph->node[i]->n_output; k++)
      ASSAY_TRY(add_name(&f->computed, f->graph->node[i]->output[k], err));
  for (size_t i = 0; i < f->graph->n_output; i++)
    ASSAY_TRY(add_name(&f->shown, f->graph->output[i]->name, err));
  for (size_t i = 0; i < folded->n_initializer; i++) {
    const Onnx__TensorProto *tensor = folded->initializer[i];
    if (has(&f->computed, tensor->name) && !has(&f->shown, tensor->name) && is_whole(tensor))
      ASSAY_TRY(add_name(&f->known, tensor->name, err));
  }
  return ASSAY_OK;
}

/* What a graph in an attribute names may be a value outside of it; one too many does no harm. How
 * deep graphs nest was checked when the file was unpacked. */
static assay_status need_bodies(folder *f, const Onnx__NodeProto *node, assay_error *err);

static assay_status need_graph(folder *f, const Onnx__GraphProto *graph, assay_error *err) {
  for (size_t i = 0; i < graph->n_node; i++) {
    for (size_t k = 0; k < graph->node[i]->n_input; k++)
      ASSAY_TRY(add_name(&f->needed, graph->node[i]->input[k], err));
    ASSAY_TRY(need_bodies(f, graph->node[i], err));
  }
  for (size_t i = 0; i < graph->n_output; i++)
    ASSAY_TRY(add_name(&f->needed, graph->output[i]->name, err));
  return ASSAY_OK;
}

static assay_status need_bodies(folder *f, const Onnx__NodeProto *node, assay_error *err) {
  for (size_t i = 0; i < node->n_attribute; i++) {
    const Onnx__AttributeProto *a = node->attribute[i];
    if (a->g != NULL) ASSAY_TRY(need_graph(f, a->g, err));
    for (size_t k = 0; k < a->n_graphs; k++) ASSAY_TRY(need_graph(f, a->graphs[k], err));
  }
  return ASSAY_OK;
}

/* A node stays when something needs a value of it that is no constant. */
static bool stays(const folder *f, const Onnx__NodeProto *node) {
  for (size_t k = 0; k < node->n_output; k++)
    if (has(&f->needed, node->output[k]) && !has(&f->known, node->output[k])) return true;
  return false;
}

static assay_status keep_nodes(folder *f, assay_error *err) {
  size_t n = f->graph->n_node;
  f->nodes = assay_pool_alloc(&f->pool, (n + 1) * sizeof *f->nodes);
  if (f->nodes == NULL) return assay_fail_memory(err, n * sizeof *f->nodes);
  for (size_t i = 0; i < f->graph->n_output; i++)
    ASSAY_TRY(add_name(&f->needed, f->graph->output[i]->name, err));
  for (size_t i = n; i > 0; i--) { /* from the back: what needs a node comes before it */
    Onnx__NodeProto *node = f->graph->node[i - 1];
    if (!stays(f, node)) continue;
    f->nodes[n - ++f->n_nodes] = node; /* filled from the end */
    for (size_t k = 0; k < node->n_input; k++) ASSAY_TRY(add_name(&f->needed, node->input[k], err));
    ASSAY_TRY(need_bodies(f, node, err));
  }
  memmove(f->nodes, f->nodes + n - f->n_nodes, f->n_nodes * sizeof *f->nodes);
  return ASSAY_OK;
}

static assay_status keep_constants(folder *f, const Onnx__GraphProto *folded, assay_error *err) {
  size_t n = f->graph->n_initializer + folded->n_initializer;
  f->constants = assay_pool_alloc(&f->pool, (n + 1) * sizeof *f->constants);
  if (f->constants == NULL) return assay_fail_memory(err, n * sizeof *f->constants);
  for (size_t i = 0; i < f->graph->n_initializer; i++)
    f->constants[f->n_constants++] = f->graph->initializer[i];
  for (size_t i = 0; i < folded->n_initializer; i++) {
    Onnx__TensorProto *tensor = folded->initializer[i];
    if (has(&f->known, tensor->name) && has(&f->needed, tensor->name) && is_whole(tensor))
      f->constants[f->n_constants++] = tensor;
  }
  return ASSAY_OK;
}

/* With those of their bodies. */
static size_t count_nodes(Onnx__NodeProto *const *nodes, size_t n) {
  size_t n_nodes = n;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < nodes[i]->n_attribute; k++) {
      const Onnx__AttributeProto *a = nodes[i]->attribute[k];
      if (a->g != NULL) n_nodes += count_nodes(a->g->node, a->g->n_node);
      for (size_t j = 0; j < a->n_graphs; j++)
        n_nodes += count_nodes(a->graphs[j]->node, a->graphs[j]->n_node);
    }
  return n_nodes;
}

static assay_status pack_folded(Onnx__ModelProto *model, folder *f, assay_buf *out,
                                assay_error *err) {
  Onnx__GraphProto *graph = model->graph;
  const Onnx__GraphProto own = *graph;
  graph->node = f->nodes;
  graph->n_node = f->n_nodes;
  graph->initializer = f->constants;
  graph->n_initializer = f->n_constants;
  const assay_status st = assay_onnx_pack(model, out, err);
  *graph = own; /* what is released later */
  return st;
}

static assay_status fold(folder *f, Onnx__ModelProto *model, const Onnx__ModelProto *folded,
                         assay_buf *out, size_t *out_n_removed, assay_error *err) {
  if (model->graph == NULL || folded->graph == NULL)
    return assay_fail(err, ASSAY_E_FORMAT, "there is no graph in it: not an ONNX model");
  if (model->ir_version < IR_OLDEST)
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "IR version %lld: initialisers are inputs too below version %d",
                      (long long)model->ir_version, IR_OLDEST);
  f->graph = model->graph;
  ASSAY_TRY(collect(f, folded->graph, err));
  ASSAY_TRY(keep_nodes(f, err));
  ASSAY_TRY(keep_constants(f, folded->graph, err));
  *out_n_removed =
      count_nodes(f->graph->node, f->graph->n_node) - count_nodes(f->nodes, f->n_nodes);
  return pack_folded(model, f, out, err);
}

assay_status assay_onnx_fold(const void *bytes, size_t size_bytes, const void *folded,
                             size_t folded_bytes, assay_buf *out, size_t *out_n_removed,
                             assay_error *err) {
  assay_unpacked own = {0}, other = {0};
  folder f = {0};
  assay_status st = assay_unpacked_init(bytes, size_bytes, &own, err);
  if (st == ASSAY_OK) {
    st = assay_unpacked_init(folded, folded_bytes, &other, err);
    if (st) assay_error_in(err, "folded model");
  }
  if (st == ASSAY_OK) st = fold(&f, own.model, other.model, out, out_n_removed, err);
  assay_name_set_reset(&f.computed);
  assay_name_set_reset(&f.shown);
  assay_name_set_reset(&f.known);
  assay_name_set_reset(&f.needed);
  assay_pool_reset(&f.pool);
  assay_unpacked_reset(&own);
  assay_unpacked_reset(&other);
  return st;
}
