/* features.json: a tree of feature types becomes a list of arrays by name. Nodes are told apart by
 * their content ("tensor", "featuresDict", …), for the class paths beside it changed over the
 * years; the layout before 2022 has class path and "content" alone. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "dataset/tfds_parts.h"

#define MAX_FEATURES 4096
#define MAX_DEPTH    32 /* of nested dictionaries */
#define MAX_RANK     16

/* Where in the tree we are. */
typedef struct place {
  assay_tfds_features *features;
  const char *name; /* "" at the root */
  int depth;
  bool in_sequence;      /* below a Sequence: one more dimension in front */
  int64_t sequence_size; /* of that dimension, or -1 */
} place;

static assay_status read_node(const place *at, const assay_json *node, assay_error *err);

void assay_tfds_features_reset(assay_tfds_features *features) {
  for (size_t i = 0; i < features->n; i++) {
    assay_free(features->items[i].name);
    assay_free(features->items[i].dims);
    assay_free(features->items[i].unsupported);
  }
  assay_free(features->items);
  *features = (assay_tfds_features){0};
}

/* ---- leaves -------------------------------------------------------------------------------------
 */

/* A new feature of that name, which must be new. */
static assay_status add_feature(const place *at, assay_tfds_feature **out, assay_error *err) {
  assay_tfds_features *features = at->features;
  if (features->n == MAX_FEATURES)
    return assay_fail(err, ASSAY_E_LIMIT, "more than %d features", MAX_FEATURES);
  for (size_t i = 0; i < features->n; i++) {
    if (strcmp(features->items[i].name, at->name) == 0)
      return assay_fail(err, ASSAY_E_FORMAT, "another feature has the same name in the records");
  }
  assay_tfds_feature *items =
      assay_grown(features->items, &features->cap, features->n, sizeof *items, err);
  if (items == NULL) return ASSAY_E_MEMORY;
  features->items = items;
  assay_tfds_feature *feature = &features->items[features->n];
  *feature = (assay_tfds_feature){.name = assay_strdup(at->name)};
  if (feature->name == NULL) return assay_fail_memory(err, strlen(at->name));
  features->n++;
  *out = feature;
  return ASSAY_OK;
}

/* The feature cannot be read: says why, unless something was said already. */
static assay_status mark_unsupported(assay_tfds_feature *feature, char *why, assay_error *err) {
  if (why == NULL) return assay_fail_memory(err, 0);
  feature->dtype = ASSAY_DTYPE_NONE;
  if (feature->unsupported == NULL)
    feature->unsupported = why;
  else
    assay_free(why);
  return ASSAY_OK;
}

static assay_status add_unsupported(const place *at, const char *type, assay_error *err) {
  assay_tfds_feature *feature;
  ASSAY_TRY(add_feature(at, &feature, err));
  return mark_unsupported(feature, assay_format("type '%.100s' is not supported", type), err);
}

static assay_status read_dtype(const char *name, assay_tfds_feature *feature, assay_error *err) {
  static const char *const text_names[] = {"string", "object", "str"};
  for (size_t i = 0; i < 3; i++) {
    if (strcmp(name, text_names[i]) == 0) {
      feature->dtype = ASSAY_DTYPE_STRING;
      return ASSAY_OK;
    }
  }
  assay_dtype dtype = assay_dtype_of_name(name);
  if (assay_dtype_is_float(dtype) || assay_dtype_is_integer(dtype)) {
    feature->dtype = dtype;
    return ASSAY_OK;
  }
  return mark_unsupported(feature, assay_format("dtype '%.100s' is not supported", name), err);
}

static assay_status read_encoding(const assay_json *tensor, assay_tfds_feature *feature,
                                  assay_error *err) {
  const char *name = "none";
  if (assay_json_get(tensor, "encoding") != NULL)
    ASSAY_TRY(assay_json_need_string(tensor, "encoding", &name, err));
  if (strcmp(name, "none") == 0 || *name == '\0')
    feature->encoding = ASSAY_TFDS_PLAIN;
  else if (strcmp(name, "bytes") == 0)
    feature->encoding = ASSAY_TFDS_BYTES;
  else if (strcmp(name, "zlib") == 0)
    feature->encoding = ASSAY_TFDS_ZLIB;
  else
    return mark_unsupported(feature, assay_format("encoding '%.100s' is not supported", name), err);
  return ASSAY_OK;
}

/* {"dimensions": ["-1", "55"]}, {} or nothing for a scalar; in the old layout [null, 55]. */
static assay_status read_shape(const place *at, const assay_json *shape,
                               assay_tfds_feature *feature, assay_error *err) {
  const assay_json *dims = shape;
  if (shape != NULL && assay_json_kind_of(shape) == ASSAY_JSON_OBJECT) {
    dims = assay_json_get(shape, "dimensions");
    if (dims != NULL) ASSAY_TRY(assay_json_need_array(shape, "dimensions", &dims, err));
  } else if (shape != NULL && assay_json_kind_of(shape) != ASSAY_JSON_ARRAY) {
    return assay_fail(err, ASSAY_E_FORMAT, "shape: expected an object, found %s",
                      assay_json_kind_name(assay_json_kind_of(shape)));
  }
  size_t n = assay_json_len(dims), n_front = at->in_sequence ? 1 : 0;
  if (n > MAX_RANK)
    return assay_fail(err, ASSAY_E_LIMIT, "%zu dimensions, assay reads %d", n, MAX_RANK);
  feature->dims = assay_alloc_array(n + n_front, sizeof *feature->dims);
  if (feature->dims == NULL) return assay_fail_memory(err, n * sizeof *feature->dims);
  feature->rank = (int)(n + n_front);
  if (at->in_sequence) feature->dims[0] = at->sequence_size;
  for (size_t i = 0; i < n; i++) {
    const assay_json *dim = assay_json_at(dims, i);
    int64_t size = -1;
    if (assay_json_kind_of(dim) != ASSAY_JSON_NULL)
      ASSAY_TRY(assay_tfds_read_int(dim, "dimension", /*low=*/-1, INT64_C(1) << 40, &size, err));
    feature->dims[n_front + i] = size;
  }
  return ASSAY_OK;
}

static int count_free(const assay_tfds_feature *feature) {
  int n = 0;
  for (int i = 0; i < feature->rank; i++) n += feature->dims[i] < 0;
  return n;
}

/* Combinations that TFDS stores in ways that are not read here. */
static assay_status check_combination(const place *at, assay_tfds_feature *feature,
                                      assay_error *err) {
  const char *why = NULL;
  if (count_free(feature) > 1 && feature->encoding == ASSAY_TFDS_PLAIN)
    why = at->in_sequence ? "ragged sequences are not supported"
                          : "several free dimensions without an encoding are not supported";
  else if (at->in_sequence && feature->encoding != ASSAY_TFDS_PLAIN)
    why = "sequences of encoded arrays are not supported";
  else if (feature->dtype == ASSAY_DTYPE_STRING && feature->encoding != ASSAY_TFDS_PLAIN)
    why = "encoded texts are not supported";
  return why == NULL ? ASSAY_OK : mark_unsupported(feature, assay_strdup(why), err);
}

static assay_status read_tensor(const place *at, const assay_json *tensor, assay_error *err) {
  assay_tfds_feature *feature;
  const char *dtype;
  ASSAY_TRY(add_feature(at, &feature, err));
  ASSAY_TRY(assay_json_need_string(tensor, "dtype", &dtype, err));
  ASSAY_TRY(read_dtype(dtype, feature, err));
  ASSAY_TRY(read_encoding(tensor, feature, err));
  ASSAY_TRY(read_shape(at, assay_json_get(tensor, "shape"), feature, err));
  if (assay_json_get(tensor, "optional") != NULL)
    ASSAY_TRY(assay_json_need_bool(tensor, "optional", &feature->optional, err));
  return check_combination(at, feature, err);
}

/* A feature that is always a scalar of one type. */
static assay_status add_scalar(const place *at, assay_dtype dtype, assay_error *err) {
  assay_tfds_feature *feature;
  ASSAY_TRY(add_feature(at, &feature, err));
  feature->dtype = dtype;
  return read_shape(at, /*shape=*/NULL, feature, err);
}

/* ---- nodes --------------------------------------------------------------------------------------
 */

static assay_status read_child(void *arg, const char *key, const assay_json *node,
                               assay_error *err) {
  const place *parent = arg;
  size_t n_name = strlen(parent->name) + 1 + strlen(key);
  if (n_name > ASSAY_EXAMPLE_KEY_MAX_BYTES)
    return assay_fail(err, ASSAY_E_LIMIT, "a feature's name of %zu bytes, assay reads %d", n_name,
                      ASSAY_EXAMPLE_KEY_MAX_BYTES);
  const char *joint = *parent->name == '\0' ? "" : "/";
  char *name = assay_format("%s%s%s", parent->name, joint, key);
  if (name == NULL) return assay_fail_memory(err, n_name);
  place at = *parent;
  at.name = name;
  at.depth++;
  assay_status st = read_node(&at, node, err);
  /* One name is enough: the innermost holds the others. */
  if (st && err != NULL && !assay_text_has_prefix(err->text, "feature '"))
    assay_error_in(err, "feature '%.200s'", name);
  assay_free(name);
  return st;
}

static assay_status read_dict(const place *at, const assay_json *features, assay_error *err) {
  place copy = *at;
  if (at->depth >= MAX_DEPTH)
    return assay_fail(err, ASSAY_E_LIMIT, "features nested %d deep, assay reads %d", at->depth + 1,
                      MAX_DEPTH);
  return assay_json_each(features, read_child, &copy, err);
}

/* "sequence": {"feature": node, "length": n}; length is absent, 0 or -1 when it is free. */
static assay_status read_sequence(const place *at, const assay_json *sequence, assay_error *err) {
  const assay_json *node;
  place inner = *at;
  if (at->in_sequence) return add_unsupported(at, "sequence of sequences", err);
  ASSAY_TRY(assay_json_need_object(sequence, "feature", &node, err));
  inner.in_sequence = true;
  inner.sequence_size = -1;
  inner.depth++;
  const assay_json *length = assay_json_get(sequence, "length");
  if (length != NULL)
    ASSAY_TRY(assay_tfds_read_int(length, "length", /*low=*/-1, INT64_C(1) << 40,
                                  &inner.sequence_size, err));
  if (inner.sequence_size == 0) inner.sequence_size = -1;
  return read_node(&inner, node, err);
}

/* The layout with "content": what the last part of the class path says. */
static assay_status read_old_node(const place *at, const assay_json *node, assay_error *err) {
  const char *type, *dot;
  const assay_json *content = assay_json_get(node, "content");
  ASSAY_TRY(assay_json_need_string(node, "type", &type, err));
  dot = strrchr(type, '.');
  const char *last = dot == NULL ? type : dot + 1;
  if (strcmp(last, "FeaturesDict") == 0) {
    const assay_json *inner =
        assay_json_get(node, "proto_cls") == NULL ? NULL : assay_json_get(content, "features");
    return read_dict(at, inner != NULL ? inner : content, err);
  }
  if (strcmp(last, "Tensor") == 0 || strcmp(last, "Scalar") == 0)
    return read_tensor(at, content, err);
  if (strcmp(last, "ClassLabel") == 0) return add_scalar(at, ASSAY_DTYPE_I64, err);
  if (strcmp(last, "Text") == 0) return add_scalar(at, ASSAY_DTYPE_STRING, err);
  return add_unsupported(at, last, err);
}

/* The name of a node's content, for a type that is not known. */
static const char *content_name(const assay_json *node) {
  static const char *const others[] = {"pythonClassName", "description"};
  for (size_t i = 0; i < assay_json_len(node) && i < 8; i++) {
    const char *key = assay_json_key_at(node, i);
    if (strcmp(key, others[0]) != 0 && strcmp(key, others[1]) != 0) return key;
  }
  const char *class_name = assay_json_string(assay_json_get(node, others[0]));
  return class_name != NULL ? class_name : "unknown";
}

static assay_status read_node(const place *at, const assay_json *node, assay_error *err) {
  const assay_json *content;
  if (assay_json_kind_of(node) != ASSAY_JSON_OBJECT)
    return assay_fail(err, ASSAY_E_FORMAT, "expected an object, found %s",
                      assay_json_kind_name(assay_json_kind_of(node)));
  if (assay_json_get(node, "featuresDict") != NULL) {
    const assay_json *features;
    ASSAY_TRY(assay_json_need_object(node, "featuresDict", &content, err));
    if (assay_json_get(content, "features") == NULL) return ASSAY_OK; /* none is the default */
    ASSAY_TRY(assay_json_need_object(content, "features", &features, err));
    return read_dict(at, features, err);
  }
  if (assay_json_get(node, "tensor") != NULL) {
    ASSAY_TRY(assay_json_need_object(node, "tensor", &content, err));
    return read_tensor(at, content, err);
  }
  if (assay_json_get(node, "sequence") != NULL) {
    ASSAY_TRY(assay_json_need_object(node, "sequence", &content, err));
    return read_sequence(at, content, err);
  }
  if (assay_json_get(node, "classLabel") != NULL) return add_scalar(at, ASSAY_DTYPE_I64, err);
  if (assay_json_get(node, "text") != NULL) return add_scalar(at, ASSAY_DTYPE_STRING, err);
  if (assay_json_get(node, "content") != NULL) return read_old_node(at, node, err);
  return add_unsupported(at, content_name(node), err);
}

assay_status assay_tfds_features_parse(const assay_json *root, assay_tfds_features *out,
                                       assay_error *err) {
  assay_tfds_features features = {0};
  const place at = {.features = &features, .name = ""};
  assay_status st = read_node(&at, root, err);
  if (!st)
    *out = features;
  else
    assay_tfds_features_reset(&features);
  return st;
}
