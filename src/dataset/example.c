/* tf.train.Example, in two passes over its bytes: parse checks and counts every value, and the
 * reading calls walk the same bytes again and copy. Messages nest four deep, so nothing recurses.
 */
#include "dataset/example.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define MAX_FEATURES ((size_t)1 << 16)

const char *assay_list_kind_name(assay_list_kind kind) {
  static const char *const names[] = {"no list", "bytes_list", "float_list", "int64_list"};
  return names[kind];
}

/* ---- values -------------------------------------------------------------------------------------
 */

/* Where the values of a list go; all NULL while they are only counted. */
typedef struct sink {
  float *floats;
  int64_t *ints;
  assay_span *bytes;
  size_t n; /* values so far */
} sink;

static void put_float(sink *to, uint32_t bits) {
  if (to->floats != NULL) memcpy(to->floats + to->n, &bits, sizeof bits);
  to->n++;
}

static assay_status put_floats(sink *to, assay_proto p, assay_error *err) {
  size_t n_bytes = p.end - p.at;
  if (n_bytes % sizeof(float) != 0)
    return assay_fail(err, ASSAY_E_FORMAT, "%zu bytes of floats at byte %zu, no multiple of 4",
                      n_bytes, p.at);
  /* Bytes and floats are little-endian both: the only machines that assay is built for. */
  if (to->floats != NULL && n_bytes > 0) memcpy(to->floats + to->n, p.data + p.at, n_bytes);
  to->n += n_bytes / sizeof(float);
  return ASSAY_OK;
}

static void put_int(sink *to, uint64_t bits) {
  if (to->ints != NULL) memcpy(to->ints + to->n, &bits, sizeof bits);
  to->n++;
}

static assay_status put_ints(sink *to, assay_proto p, assay_error *err) {
  assay_span rest = assay_proto_rest(&p);
  while (rest.size_bytes > 0) {
    uint64_t bits;
    if (!assay_span_take_varint(&rest, &bits))
      return assay_fail(err, ASSAY_E_FORMAT, "a cut or overlong number at byte %zu",
                        p.end - rest.size_bytes);
    put_int(to, bits);
  }
  return ASSAY_OK;
}

static assay_status fail_value(assay_list_kind kind, const assay_proto_field *field, size_t at,
                               assay_error *err) {
  return assay_fail(err, ASSAY_E_FORMAT, "a value of wire type %d in a %s at byte %zu",
                    (int)field->wire, assay_list_kind_name(kind), at);
}

static assay_status put_value(sink *to, assay_list_kind kind, const assay_proto_field *field,
                              size_t at, assay_error *err) {
  if (field->wire == ASSAY_WIRE_BYTES && kind == ASSAY_LIST_FLOAT)
    return put_floats(to, field->nested, err);
  if (field->wire == ASSAY_WIRE_BYTES && kind == ASSAY_LIST_INT64)
    return put_ints(to, field->nested, err);
  if (field->wire == ASSAY_WIRE_BYTES) {
    if (to->bytes != NULL) to->bytes[to->n] = assay_proto_rest(&field->nested);
    to->n++;
  } else if (field->wire == ASSAY_WIRE_FIXED32 && kind == ASSAY_LIST_FLOAT)
    put_float(to, (uint32_t)field->value);
  else if (field->wire == ASSAY_WIRE_VARINT && kind == ASSAY_LIST_INT64)
    put_int(to, field->value);
  else
    return fail_value(kind, field, at, err);
  return ASSAY_OK;
}

/* BytesList, FloatList or Int64List. */
static assay_status walk_list(sink *to, assay_list_kind kind, assay_proto p, assay_error *err) {
  while (p.at < p.end) {
    assay_proto_field field;
    size_t at = p.at;
    ASSAY_TRY(assay_proto_next(&p, &field, err));
    if (field.number == 1) ASSAY_TRY(put_value(to, kind, &field, at, err));
  }
  return ASSAY_OK;
}

/* ---- features -----------------------------------------------------------------------------------
 */

/* A Feature: each of its lists goes on with the one before it if that was of the same kind, and
 * replaces it otherwise. Counts into *to and keeps in out where the list that counts begins. */
static assay_status count_values(assay_proto p, sink *to, assay_example_feature *out,
                                 assay_error *err) {
  while (p.at < p.end) {
    assay_proto_field field;
    size_t at = p.at;
    ASSAY_TRY(assay_proto_next(&p, &field, err));
    if (field.number > 3) continue;
    assay_list_kind kind = (assay_list_kind)field.number;
    ASSAY_TRY(assay_proto_need(&field, ASSAY_WIRE_BYTES, assay_list_kind_name(kind), err));
    if (kind != out->kind) {
      out->kind = kind;
      out->values_at = at;
      to->n = 0;
    }
    ASSAY_TRY(walk_list(to, kind, field.nested, err));
  }
  return ASSAY_OK;
}

/* A map entry: { key = 1, Feature = 2 }; a missing key is "". */
static assay_status parse_entry(assay_proto entry, assay_example_feature *out, assay_error *err) {
  assay_example_feature feature = {.key = {(const uint8_t *)"", 0}, .entry = entry};
  assay_proto p = entry;
  sink count = {0};
  while (p.at < p.end) {
    assay_proto_field field;
    ASSAY_TRY(assay_proto_next(&p, &field, err));
    if (field.number > 2) continue;
    ASSAY_TRY(assay_proto_need(&field, ASSAY_WIRE_BYTES, "a part of a map entry", err));
    if (field.number == 1)
      feature.key = assay_proto_rest(&field.nested);
    else
      ASSAY_TRY(count_values(field.nested, &count, &feature, err));
  }
  if (feature.key.size_bytes > ASSAY_EXAMPLE_KEY_MAX_BYTES)
    return assay_fail(err, ASSAY_E_LIMIT, "a feature's name of %zu bytes, assay reads %d",
                      feature.key.size_bytes, ASSAY_EXAMPLE_KEY_MAX_BYTES);
  feature.n_values = count.n;
  *out = feature;
  return ASSAY_OK;
}

static assay_status add_feature(assay_example *example, const assay_example_feature *feature,
                                assay_error *err) {
  if (example->n == MAX_FEATURES)
    return assay_fail(err, ASSAY_E_LIMIT, "more than %zu features", MAX_FEATURES);
  assay_example_feature *features =
      assay_grown(example->features, &example->cap, example->n, sizeof *features, err);
  if (features == NULL) return ASSAY_E_MEMORY;
  example->features = features;
  example->features[example->n++] = *feature;
  return ASSAY_OK;
}

static assay_status parse_features(assay_example *example, assay_proto p, assay_error *err) {
  while (p.at < p.end) {
    assay_proto_field field;
    assay_example_feature feature;
    ASSAY_TRY(assay_proto_next(&p, &field, err));
    if (field.number != 1) continue;
    ASSAY_TRY(assay_proto_need(&field, ASSAY_WIRE_BYTES, "a feature", err));
    ASSAY_TRY(parse_entry(field.nested, &feature, err));
    ASSAY_TRY(add_feature(example, &feature, err));
  }
  return ASSAY_OK;
}

static int compare_keys(assay_span a, assay_span b) {
  size_t n = a.size_bytes < b.size_bytes ? a.size_bytes : b.size_bytes;
  int order = memcmp(a.data, b.data, n);
  return order != 0 ? order : (a.size_bytes > b.size_bytes) - (a.size_bytes < b.size_bytes);
}

/* By key, and among equal keys in the order of the record. */
static int compare_features(const void *left, const void *right) {
  const assay_example_feature *a = left, *b = right;
  int order = compare_keys(a->key, b->key);
  return order != 0 ? order : (a->entry.at > b->entry.at) - (a->entry.at < b->entry.at);
}

/* Sorts, and keeps the last of equal keys. */
static void index_features(assay_example *example) {
  size_t n = 0;
  if (example->n == 0) return;
  qsort(example->features, example->n, sizeof *example->features, compare_features);
  for (size_t i = 0; i < example->n; i++) {
    bool again = n > 0 && compare_keys(example->features[n - 1].key, example->features[i].key) == 0;
    example->features[again ? n - 1 : n++] = example->features[i];
  }
  example->n = n;
}

assay_status assay_example_parse(assay_span record, assay_example *out, assay_error *err) {
  assay_proto p = assay_proto_of(record);
  out->n = 0;
  while (p.at < p.end) {
    assay_proto_field field;
    assay_status st = assay_proto_next(&p, &field, err);
    if (!st && field.number == 1) {
      st = assay_proto_need(&field, ASSAY_WIRE_BYTES, "the features", err);
      if (!st) st = parse_features(out, field.nested, err);
    }
    if (st) {
      out->n = 0;
      assay_error_in(err, "tf.train.Example");
      return st;
    }
  }
  index_features(out);
  return ASSAY_OK;
}

void assay_example_reset(assay_example *example) {
  assay_free(example->features);
  *example = (assay_example){0};
}

const assay_example_feature *assay_example_find(const assay_example *example, const char *key) {
  assay_span wanted = {(const uint8_t *)key, strlen(key)};
  size_t low = 0, high = example->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = compare_keys(example->features[middle].key, wanted);
    if (order == 0) return &example->features[middle];
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

/* ---- reading what parse has checked -------------------------------------------------------------
 */

static void read_lists(const assay_example_feature *feature, assay_proto p, sink *to) {
  while (p.at < p.end) {
    assay_proto_field field;
    size_t at = p.at;
    if (assay_proto_next(&p, &field, /*err=*/NULL)) return;
    if (field.number > 3 || at < feature->values_at) continue;
    if (walk_list(to, feature->kind, field.nested, /*err=*/NULL)) return;
  }
}

static void read_values(const assay_example_feature *feature, sink to) {
  assay_proto p = feature->entry;
  while (p.at < p.end) {
    assay_proto_field field;
    if (assay_proto_next(&p, &field, /*err=*/NULL)) return;
    if (field.number == 2) read_lists(feature, field.nested, &to);
  }
  assert(to.n == feature->n_values);
}

void assay_example_floats(const assay_example_feature *feature, float *out) {
  assert(feature->n_values == 0 || feature->kind == ASSAY_LIST_FLOAT);
  if (feature->n_values > 0) read_values(feature, (sink){.floats = out});
}

void assay_example_ints(const assay_example_feature *feature, int64_t *out) {
  assert(feature->n_values == 0 || feature->kind == ASSAY_LIST_INT64);
  if (feature->n_values > 0) read_values(feature, (sink){.ints = out});
}

void assay_example_bytes(const assay_example_feature *feature, assay_span *out) {
  assert(feature->n_values == 0 || feature->kind == ASSAY_LIST_BYTES);
  if (feature->n_values > 0) read_values(feature, (sink){.bytes = out});
}
