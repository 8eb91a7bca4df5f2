/* Fields come one after the other: a tag, then a number or a length and so many bytes. */
#include "verify/verify_model.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"

#define DEPTH_MAX 64 /* graphs within graphs */

/* Field numbers of onnx.proto. */
enum {
  MODEL_GRAPH = 7,
  GRAPH_NODE = 1,
  NODE_INPUT = 1,
  NODE_OUTPUT = 2,
  NODE_NAME = 3,
  NODE_OP = 4,
  NODE_ATTRIBUTE = 5,
  ATTRIBUTE_GRAPH = 6,
  ATTRIBUTE_GRAPHS = 11,
};

typedef struct walk {
  assay_verify_model_fn each;
  void *arg;
  bool found_graph;
} walk;

static assay_status broken(assay_error *err) {
  return assay_fail(err, ASSAY_E_FORMAT, "not a whole ONNX model");
}

static bool take_varint(assay_verify_span *rest, uint64_t *out) {
  *out = 0;
  for (unsigned shift = 0; shift < 64 && rest->n > 0; shift += 7) {
    unsigned char byte = (unsigned char)*rest->at;
    rest->at++;
    rest->n--;
    *out |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

/* The next field: its number, and its bytes where it has a length (*out_bytes.at is NULL for other
 * kinds). */
static assay_status take_field(assay_verify_span *rest, uint64_t *out_number,
                               assay_verify_span *out_bytes, assay_error *err) {
  uint64_t tag = 0, n = 0;
  *out_bytes = (assay_verify_span){0};
  if (!take_varint(rest, &tag)) return broken(err);
  *out_number = tag >> 3;
  bool has_length = (tag & 7) == 2;
  switch (tag & 7) {
  case 0:
    return take_varint(rest, &n) ? ASSAY_OK : broken(err);
  case 1:
    n = 8;
    break;
  case 2:
    if (!take_varint(rest, &n)) return broken(err);
    break;
  case 5:
    n = 4;
    break;
  default:
    return broken(err);
  }
  if (n > rest->n) return broken(err);
  if (has_length) *out_bytes = (assay_verify_span){rest->at, (size_t)n};
  rest->at += n;
  rest->n -= (size_t)n;
  return ASSAY_OK;
}

static assay_status walk_graph(walk *w, assay_verify_span graph, int depth, assay_error *err);

static assay_status walk_attribute(walk *w, assay_verify_span rest, int depth, assay_error *err) {
  uint64_t number = 0;
  assay_verify_span bytes;
  while (rest.n > 0) {
    ASSAY_TRY(take_field(&rest, &number, &bytes, err));
    if (bytes.at != NULL && (number == ATTRIBUTE_GRAPH || number == ATTRIBUTE_GRAPHS))
      ASSAY_TRY(walk_graph(w, bytes, depth + 1, err));
  }
  return ASSAY_OK;
}

static void take_text(assay_verify_model_node *node, uint64_t number, assay_verify_span text) {
  if (number == NODE_OP) node->op = text;
  if (number == NODE_NAME) node->name = text;
  if (number == NODE_OUTPUT && node->n_outputs++ == 0) node->output = text;
  if (number == NODE_INPUT && node->n_inputs++ < ASSAY_VERIFY_MODEL_VALUES)
    node->inputs[node->n_inputs - 1] = text;
}

/* Its name and operator first: attributes may stand before them. */
static assay_status walk_node(walk *w, assay_verify_span node, int depth, assay_error *err) {
  uint64_t number = 0;
  assay_verify_span bytes;
  assay_verify_model_node told = {.op = {"", 0}, .name = {"", 0}, .output = {"", 0}};
  for (assay_verify_span rest = node; rest.n > 0;) {
    ASSAY_TRY(take_field(&rest, &number, &bytes, err));
    if (bytes.at != NULL) take_text(&told, number, bytes);
  }
  ASSAY_TRY(w->each(w->arg, &told, err));
  for (assay_verify_span rest = node; rest.n > 0;) {
    ASSAY_TRY(take_field(&rest, &number, &bytes, err));
    if (bytes.at != NULL && number == NODE_ATTRIBUTE)
      ASSAY_TRY(walk_attribute(w, bytes, depth, err));
  }
  return ASSAY_OK;
}

static assay_status walk_graph(walk *w, assay_verify_span rest, int depth, assay_error *err) {
  uint64_t number = 0;
  assay_verify_span bytes;
  if (depth > DEPTH_MAX) return broken(err);
  while (rest.n > 0) {
    ASSAY_TRY(take_field(&rest, &number, &bytes, err));
    if (bytes.at != NULL && number == GRAPH_NODE) ASSAY_TRY(walk_node(w, bytes, depth, err));
  }
  return ASSAY_OK;
}

assay_status assay_verify_model_each(const void *bytes, size_t size_bytes,
                                     assay_verify_model_fn each, void *arg, assay_error *err) {
  walk w = {.each = each, .arg = arg};
  uint64_t number = 0;
  assay_verify_span rest = {bytes, size_bytes}, field;
  while (rest.n > 0) {
    ASSAY_TRY(take_field(&rest, &number, &field, err));
    if (field.at == NULL || number != MODEL_GRAPH) continue;
    w.found_graph = true;
    ASSAY_TRY(walk_graph(&w, field, /*depth=*/0, err));
  }
  return w.found_graph ? ASSAY_OK : broken(err);
}

/* --- one within another --------------------------------------------------------------------------
 */

typedef struct node {
  assay_verify_span op, name;
} node;

typedef struct nodes {
  node *items;
  size_t n, cap;
} nodes;

static assay_status take(void *arg, const assay_verify_model_node *told, assay_error *err) {
  nodes *l = arg;
  node *items = assay_grown(l->items, &l->cap, l->n, sizeof *items, err);
  if (items == NULL) return ASSAY_E_MEMORY;
  l->items = items;
  l->items[l->n++] = (node){told->op, told->name};
  return ASSAY_OK;
}

static int compare(const void *a, const void *b) {
  const node *x = a, *y = b;
  int c = assay_verify_span_compare(x->op, y->op);
  return c != 0 ? c : assay_verify_span_compare(x->name, y->name);
}

/* Both are sorted. */
static bool is_within(const nodes *part, const nodes *whole) {
  size_t k = 0;
  for (size_t i = 0; i < part->n; i++, k++) {
    while (k < whole->n && compare(&whole->items[k], &part->items[i]) < 0) k++;
    if (k == whole->n || compare(&whole->items[k], &part->items[i]) != 0) return false;
  }
  return true;
}

assay_status assay_verify_model_removed(const void *model, size_t model_bytes, const void *graph,
                                        size_t graph_bytes, int64_t *out_n, assay_error *err) {
  nodes whole = {0}, part = {0};
  assay_status st = assay_verify_model_each(model, model_bytes, take, &whole, err);
  if (st == ASSAY_OK) st = assay_verify_model_each(graph, graph_bytes, take, &part, err);
  if (st == ASSAY_OK) {
    if (whole.n > 1) qsort(whole.items, whole.n, sizeof(node), compare);
    if (part.n > 1) qsort(part.items, part.n, sizeof(node), compare);
    *out_n = is_within(&part, &whole) ? (int64_t)(whole.n - part.n) : -1;
  }
  assay_free(whole.items);
  assay_free(part.items);
  return st;
}
