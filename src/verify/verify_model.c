/* Fields come one after the other: a tag, then a number or a length and so many bytes. */
#include "verify/verify_model.h"

#include <stdbool.h>
#include <stdint.h>

#define DEPTH_MAX 64 /* graphs within graphs */

/* Field numbers of onnx.proto. */
enum {
  MODEL_GRAPH = 7,
  GRAPH_NODE = 1,
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

/* Its name and operator first: attributes may stand before them. */
static assay_status walk_node(walk *w, assay_verify_span node, int depth, assay_error *err) {
  uint64_t number = 0;
  assay_verify_span bytes, op = {"", 0}, name = {"", 0};
  for (assay_verify_span rest = node; rest.n > 0;) {
    ASSAY_TRY(take_field(&rest, &number, &bytes, err));
    if (bytes.at != NULL && number == NODE_OP) op = bytes;
    if (bytes.at != NULL && number == NODE_NAME) name = bytes;
  }
  ASSAY_TRY(w->each(w->arg, op, name, err));
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
