/* The values of one feature of a tf.train.Example as an array. Source: the encode_example and
 * decode_example methods in tensorflow/datasets core/features/tensor_feature.py, and
 * core/utils/dtype_utils.py for which type goes into which list. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "dataset/inflate.h"
#include "dataset/tfds_parts.h"

#define SHAPE_TEXT_BYTES 512

/* ---- shapes -------------------------------------------------------------------------------------
 */

static assay_status fail_count(const assay_tfds_feature *feature, size_t n_values,
                               assay_error *err) {
  char shape[SHAPE_TEXT_BYTES];
  assay_shape_text(feature->dims, feature->rank, shape, sizeof shape);
  return assay_fail(err, ASSAY_E_FORMAT, "%zu values do not fill the shape %s%s", n_values, shape,
                    strchr(shape, '-') != NULL ? " (-1: any)" : "");
}

/* The shape that n_values values have: at most one dimension is free. With a known dimension of 0
 * there are no values, and then the free one is 0. */
static assay_status resolve_dims(const assay_tfds_feature *feature, size_t n_values, int64_t *out,
                                 assay_error *err) {
  size_t known = 1;
  int free_dim = -1;
  for (int i = 0; i < feature->rank; i++) {
    out[i] = feature->dims[i];
    if (out[i] < 0)
      free_dim = i;
    else if (!assay_size_mul(known, (size_t)out[i], &known))
      return fail_count(feature, n_values, err);
  }
  if (free_dim < 0) return known == n_values ? ASSAY_OK : fail_count(feature, n_values, err);
  if (known == 0 ? n_values > 0 : n_values % known != 0) return fail_count(feature, n_values, err);
  out[free_dim] = known == 0 ? 0 : (int64_t)(n_values / known);
  return ASSAY_OK;
}

static assay_status spend(uint64_t *budget_bytes, uint64_t n_bytes, assay_error *err) {
  if (n_bytes > *budget_bytes)
    return assay_fail(err, ASSAY_E_LIMIT,
                      "the arrays of one example take more than %" PRIu64 " bytes",
                      ASSAY_TFDS_EXAMPLE_MAX_BYTES);
  *budget_bytes -= n_bytes;
  return ASSAY_OK;
}

/* ---- one value a value --------------------------------------------------------------------------
 */

/* Ranges of the types in int64_list; uint64 has the same bits in it. */
static bool int_range(assay_dtype dtype, int64_t *low, int64_t *high) {
  switch (dtype) {
  case ASSAY_DTYPE_BOOL:
    *low = 0, *high = 1;
    return true;
  case ASSAY_DTYPE_I8:
    *low = INT8_MIN, *high = INT8_MAX;
    return true;
  case ASSAY_DTYPE_U8:
    *low = 0, *high = UINT8_MAX;
    return true;
  case ASSAY_DTYPE_I16:
    *low = INT16_MIN, *high = INT16_MAX;
    return true;
  case ASSAY_DTYPE_U16:
    *low = 0, *high = UINT16_MAX;
    return true;
  case ASSAY_DTYPE_I32:
    *low = INT32_MIN, *high = INT32_MAX;
    return true;
  case ASSAY_DTYPE_U32:
    *low = 0, *high = UINT32_MAX;
    return true;
  default:
    return false; /* the whole of 64 bits */
  }
}

/* Narrows in place: element i of the result never lies behind value i. Little-endian: the low bytes
 * come first. */
static assay_status narrow_ints(assay_dtype dtype, int64_t *values, size_t n, assay_error *err) {
  int64_t low, high;
  size_t elem_bytes = assay_dtype_size(dtype);
  uint8_t *out = (uint8_t *)values;
  if (!int_range(dtype, &low, &high)) return ASSAY_OK;
  for (size_t i = 0; i < n; i++) {
    int64_t value;
    memcpy(&value, values + i, sizeof value);
    if (value < low || value > high)
      return assay_fail(err, ASSAY_E_FORMAT, "value %zu is %" PRId64 ", which is no %s", i, value,
                        assay_dtype_name(dtype));
    memcpy(out + i * elem_bytes, &value, elem_bytes);
  }
  return ASSAY_OK;
}

static assay_status narrow_floats(assay_dtype dtype, float *values, size_t n, assay_error *err) {
  bool is_half = dtype == ASSAY_DTYPE_F16;
  uint8_t *out = (uint8_t *)values;
  for (size_t i = 0; i < n; i++) {
    float value;
    memcpy(&value, values + i, sizeof value);
    uint16_t bits = is_half ? assay_f16_of_f32(value) : assay_bf16_of_f32(value);
    float again = is_half ? assay_f16_to_f32(bits) : assay_bf16_to_f32(bits);
    bool is_same = isnan(value) ? isnan(again) : again >= value && again <= value;
    if (!is_same)
      return assay_fail(err, ASSAY_E_FORMAT, "value %zu is %.9g, which is no %s", i, (double)value,
                        assay_dtype_name(dtype));
    memcpy(out + i * sizeof bits, &bits, sizeof bits);
  }
  return ASSAY_OK;
}

static assay_list_kind list_of(assay_dtype dtype) {
  if (dtype == ASSAY_DTYPE_STRING) return ASSAY_LIST_BYTES;
  return assay_dtype_is_float(dtype) ? ASSAY_LIST_FLOAT : ASSAY_LIST_INT64;
}

static assay_status need_kind(const assay_example_feature *found, assay_list_kind kind,
                              assay_error *err) {
  if (found->kind == kind || found->kind == ASSAY_LIST_NONE) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT, "the record has a %s, expected a %s",
                    assay_list_kind_name(found->kind), assay_list_kind_name(kind));
}

/* Narrower types are read at the width that the list has, and then moved to an array of their own
 * size: the caller may keep many. */
static assay_status read_narrow(const assay_tfds_feature *feature,
                                const assay_example_feature *found, assay_tensor *out,
                                assay_error *err) {
  bool is_float = assay_dtype_is_float(feature->dtype);
  size_t n = found->n_values;
  void *wide = assay_alloc_array(n, is_float ? sizeof(float) : sizeof(int64_t));
  if (wide == NULL) return assay_fail_memory(err, n * sizeof(int64_t));
  assay_status st;
  if (is_float) {
    assay_example_floats(found, wide);
    st = narrow_floats(feature->dtype, wide, n, err);
  } else {
    assay_example_ints(found, wide);
    st = narrow_ints(feature->dtype, wide, n, err);
  }
  if (!st && out->size_bytes > 0) memcpy(out->data, wide, out->size_bytes);
  assay_free(wide);
  return st;
}

/* From the last to the first: value i of the result lies behind value i of the floats. */
static void widen_floats(const assay_example_feature *found, assay_tensor *out) {
  float *floats = out->data;
  double *doubles = out->data;
  assay_example_floats(found, floats);
  for (size_t i = out->n_elems; i-- > 0;) {
    float value;
    memcpy(&value, (const uint8_t *)out->data + i * sizeof value, sizeof value);
    double wide = (double)value;
    memcpy(doubles + i, &wide, sizeof wide);
  }
}

static assay_status fill_plain(const assay_tfds_feature *feature,
                               const assay_example_feature *found, assay_tensor *out,
                               assay_error *err) {
  if (out->n_elems == 0) return ASSAY_OK;
  switch (feature->dtype) {
  case ASSAY_DTYPE_F32:
    assay_example_floats(found, out->data);
    return ASSAY_OK;
  case ASSAY_DTYPE_F64:
    widen_floats(found, out);
    return ASSAY_OK;
  case ASSAY_DTYPE_I64:
  case ASSAY_DTYPE_U64:
    assay_example_ints(found, out->data);
    return ASSAY_OK;
  default:
    return read_narrow(feature, found, out, err);
  }
}

/* Bytes that n values take at their widest, in the list or in the array. */
static uint64_t charge(assay_dtype dtype, size_t n) {
  bool is_narrow_float = assay_dtype_is_float(dtype) && dtype != ASSAY_DTYPE_F64;
  return n * (is_narrow_float ? sizeof(float) : sizeof(int64_t));
}

static assay_status decode_plain(const assay_tfds_feature *feature,
                                 const assay_example_feature *found, uint64_t *budget_bytes,
                                 assay_tensor *out, assay_error *err) {
  int64_t dims[ASSAY_TENSOR_RANK_MAX];
  ASSAY_TRY(need_kind(found, list_of(feature->dtype), err));
  ASSAY_TRY(resolve_dims(feature, found->n_values, dims, err));
  ASSAY_TRY(spend(budget_bytes, charge(feature->dtype, found->n_values), err));
  assay_tensor tensor = {0};
  ASSAY_TRY(assay_tensor_init(&tensor, feature->dtype, feature->rank, dims, err));
  assay_status st = fill_plain(feature, found, &tensor, err);
  if (st)
    assay_tensor_reset(&tensor);
  else
    *out = tensor;
  return st;
}

/* ---- an array's bytes as one value --------------------------------------------------------------
 */

static assay_status take_text(const assay_example_feature *found, assay_span *out,
                              assay_error *err) {
  ASSAY_TRY(need_kind(found, ASSAY_LIST_BYTES, err));
  if (found->n_values != 1)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "the record has %zu values, expected one with the bytes of the array",
                      found->n_values);
  assay_example_bytes(found, out);
  return ASSAY_OK;
}

/* Until the end of the stream; more than out->max_bytes are not taken. */
static assay_status inflate_all(assay_span packed, assay_buf *out, assay_error *err) {
  assay_inflate *inflate = NULL;
  assay_status st = assay_inflate_open(packed, ASSAY_INFLATE_ZLIB, &inflate, err);
  size_t got = 1;
  while (!st && got > 0) {
    uint8_t *room;
    size_t n = out->size_bytes > 4096 ? out->size_bytes : 4096;
    if (n > out->max_bytes - out->size_bytes) n = out->max_bytes - out->size_bytes;
    st = assay_buf_reserve(out, n, &room, err);
    if (!st) st = assay_inflate_read(inflate, room, n, &got, err);
    if (!st) out->size_bytes += got;
    if (out->size_bytes == out->max_bytes) break;
  }
  assay_inflate_close(inflate);
  return st;
}

/* The shape beside the array: int64_list "<name>/shape". */
static assay_status read_dims(const assay_tfds_feature *feature, const assay_example *example,
                              int64_t *out, assay_error *err) {
  char *key = assay_format("%s/shape", feature->name);
  if (key == NULL) return assay_fail_memory(err, 0);
  const assay_example_feature *found = assay_example_find(example, key);
  assay_free(key);
  if (found == NULL) return assay_fail(err, ASSAY_E_FORMAT, "the record has no '…/shape' for it");
  ASSAY_TRY(need_kind(found, ASSAY_LIST_INT64, err));
  if (found->n_values != (size_t)feature->rank)
    return assay_fail(err, ASSAY_E_FORMAT, "its shape has %zu dimensions, expected %d",
                      found->n_values, feature->rank);
  assay_example_ints(found, out);
  for (int i = 0; i < feature->rank; i++) {
    int64_t dim = feature->dims[i];
    if (out[i] < 0) return assay_fail(err, ASSAY_E_FORMAT, "dimension %d is %" PRId64, i, out[i]);
    if (dim >= 0 && out[i] != dim)
      return assay_fail(err, ASSAY_E_FORMAT, "dimension %d is %" PRId64 ", expected %" PRId64, i,
                        out[i], dim);
  }
  return ASSAY_OK;
}

static bool has_shape_beside(const assay_tfds_feature *feature) {
  int n_free = 0;
  for (int i = 0; i < feature->rank; i++) n_free += feature->dims[i] < 0;
  return n_free > 1;
}

/* The shape of n_bytes bytes of the feature's type. */
static assay_status find_dims(const assay_tfds_feature *feature, const assay_example *example,
                              size_t n_bytes, int64_t *out, assay_error *err) {
  size_t elem_bytes = assay_dtype_size(feature->dtype), n_elems;
  if (n_bytes % elem_bytes != 0)
    return assay_fail(err, ASSAY_E_FORMAT, "%zu bytes, no multiple of the %zu of a %s", n_bytes,
                      elem_bytes, assay_dtype_name(feature->dtype));
  if (!has_shape_beside(feature)) return resolve_dims(feature, n_bytes / elem_bytes, out, err);
  ASSAY_TRY(read_dims(feature, example, out, err));
  ASSAY_TRY(assay_shape_count(out, feature->rank, &n_elems, err));
  if (n_elems == n_bytes / elem_bytes) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT, "%zu bytes, %zu elements of %zu by its shape", n_bytes,
                    n_elems, elem_bytes);
}

static assay_status fill_bytes(assay_span bytes, assay_tensor *tensor, assay_error *err) {
  if (bytes.size_bytes > 0) memcpy(tensor->data, bytes.data, bytes.size_bytes);
  if (tensor->dtype != ASSAY_DTYPE_BOOL) return ASSAY_OK;
  for (size_t i = 0; i < bytes.size_bytes; i++) {
    if (bytes.data[i] > 1)
      return assay_fail(err, ASSAY_E_FORMAT, "value %zu is %d, which is no bool", i, bytes.data[i]);
  }
  return ASSAY_OK;
}

static assay_status decode_bytes(const assay_tfds_feature *feature, const assay_example *example,
                                 assay_span bytes, assay_tensor *out, assay_error *err) {
  int64_t dims[ASSAY_TENSOR_RANK_MAX];
  ASSAY_TRY(find_dims(feature, example, bytes.size_bytes, dims, err));
  assay_tensor tensor = {0};
  ASSAY_TRY(assay_tensor_init(&tensor, feature->dtype, feature->rank, dims, err));
  assay_status st = fill_bytes(bytes, &tensor, err);
  if (st)
    assay_tensor_reset(&tensor);
  else
    *out = tensor;
  return st;
}

static assay_status decode_zlib(const assay_tfds_feature *feature, const assay_example *example,
                                assay_span packed, uint64_t *budget_bytes, assay_tensor *out,
                                assay_error *err) {
  /* One byte more, so that what does not fit shows. */
  assay_buf bytes = {.max_bytes = (size_t)*budget_bytes + 1};
  assay_status st = inflate_all(packed, &bytes, err);
  if (!st) st = spend(budget_bytes, bytes.size_bytes, err);
  const assay_span view = {bytes.data, bytes.size_bytes};
  if (!st) st = decode_bytes(feature, example, view, out, err);
  assay_buf_reset(&bytes);
  return st;
}

static assay_status decode_encoded(const assay_tfds_feature *feature, const assay_example *example,
                                   const assay_example_feature *found, uint64_t *budget_bytes,
                                   assay_tensor *out, assay_error *err) {
  assay_span text;
  ASSAY_TRY(take_text(found, &text, err));
  if (feature->encoding == ASSAY_TFDS_ZLIB)
    return decode_zlib(feature, example, text, budget_bytes, out, err);
  ASSAY_TRY(spend(budget_bytes, text.size_bytes, err));
  return decode_bytes(feature, example, text, out, err);
}

/* ---- a feature ----------------------------------------------------------------------------------
 */

/* The feature's values in the record, or NULL. */
static assay_status find_values(const assay_tfds_feature *feature, const assay_example *example,
                                const assay_example_feature **out, assay_error *err) {
  bool is_split = feature->encoding != ASSAY_TFDS_PLAIN && has_shape_beside(feature);
  char *key = assay_format("%s%s", feature->name, is_split ? "/value" : "");
  if (key == NULL) return assay_fail_memory(err, 0);
  *out = assay_example_find(example, key);
  assay_free(key);
  return ASSAY_OK;
}

/* A missing key: an empty array where one dimension is free, nothing where the feature may lack. */
static assay_status decode_missing(const assay_tfds_feature *feature, bool *out_there,
                                   assay_tensor *out, assay_error *err) {
  int64_t dims[ASSAY_TENSOR_RANK_MAX];
  bool has_free = false;
  *out_there = !feature->optional;
  if (feature->optional) return ASSAY_OK;
  for (int i = 0; i < feature->rank; i++) has_free = has_free || feature->dims[i] < 0;
  if (!has_free || feature->encoding != ASSAY_TFDS_PLAIN)
    return assay_fail(err, ASSAY_E_FORMAT, "the record lacks it");
  ASSAY_TRY(resolve_dims(feature, /*n_values=*/0, dims, err));
  return assay_tensor_init(out, feature->dtype, feature->rank, dims, err);
}

assay_status assay_tfds_decode(const assay_tfds_feature *feature, const assay_example *example,
                               uint64_t *budget_bytes, bool *out_there, assay_tensor *out,
                               assay_error *err) {
  const assay_example_feature *found = NULL;
  bool there = true;
  assay_status st = find_values(feature, example, &found, err);
  if (!st && found == NULL)
    st = decode_missing(feature, &there, out, err);
  else if (!st && feature->encoding == ASSAY_TFDS_PLAIN)
    st = decode_plain(feature, found, budget_bytes, out, err);
  else if (!st)
    st = decode_encoded(feature, example, found, budget_bytes, out, err);
  if (st)
    assay_error_in(err, "feature '%.200s'", feature->name);
  else
    *out_there = there;
  return st;
}
