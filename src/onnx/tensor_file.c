/* Elements lie in raw_data, little-endian, or one by one in the field of their type: float_data
 * (float32), int32_data (integers up to 32 bits, bool, and the bits of float16 and bfloat16),
 * int64_data, uint64_data (uint32 and uint64), double_data. Source: onnx.proto, TensorProto. */
#include "onnx/tensor_file.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "onnx/unpack.h"

typedef Onnx__TensorProto proto;

/* ---- what is there ---- */

static assay_status check_kind(const proto *p, assay_error *err) {
  if (p->data_type == 0)
    return assay_fail(err, ASSAY_E_FORMAT, "it has no element type: not a tensor");
  if (p->data_type < 0 || p->data_type > ASSAY_DTYPE_BF16)
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "a tensor of ONNX's element type %d",
                      (int)p->data_type);
  if (p->data_type == ASSAY_DTYPE_STRING)
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "a tensor of strings");
  if (p->n_external_data > 0 || p->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__DEFAULT)
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "its data lie in another file");
  if (p->segment != NULL)
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "it is a segment of a larger tensor");
  return ASSAY_OK;
}

/* The field that elements of this type are in when they are not raw, and how many it has. */
typedef struct typed_field {
  const void *data;
  size_t n;
  size_t item_bytes;
} typed_field;

static typed_field field_of(const proto *p) {
  switch ((assay_dtype)p->data_type) {
  case ASSAY_DTYPE_F32:
    return (typed_field){p->float_data, p->n_float_data, sizeof(float)};
  case ASSAY_DTYPE_C64: /* real and imaginary parts in turn */
    return (typed_field){p->float_data, p->n_float_data / 2, 2 * sizeof(float)};
  case ASSAY_DTYPE_F64:
    return (typed_field){p->double_data, p->n_double_data, sizeof(double)};
  case ASSAY_DTYPE_C128:
    return (typed_field){p->double_data, p->n_double_data / 2, 2 * sizeof(double)};
  case ASSAY_DTYPE_I64:
    return (typed_field){p->int64_data, p->n_int64_data, sizeof(int64_t)};
  case ASSAY_DTYPE_U32:
  case ASSAY_DTYPE_U64:
    return (typed_field){p->uint64_data, p->n_uint64_data, sizeof(uint64_t)};
  default:
    return (typed_field){p->int32_data, p->n_int32_data, sizeof(int32_t)};
  }
}

/* Items of all fields together: those of other types' fields belong to no tensor of this type. */
static size_t n_items(const proto *p) {
  return p->n_float_data + p->n_double_data + p->n_int32_data + p->n_int64_data + p->n_uint64_data +
         p->n_string_data;
}

static assay_status check_count(const proto *p, const assay_tensor *shape, assay_error *err) {
  const typed_field field = field_of(p);
  const bool is_complex = p->data_type == ASSAY_DTYPE_C64 || p->data_type == ASSAY_DTYPE_C128;
  char text[256];
  assay_shape_text(shape->dims, shape->rank, text, sizeof text);
  if (p->has_raw_data && n_items(p) > 0)
    return assay_fail(err, ASSAY_E_FORMAT, "it holds its elements twice");
  if (p->has_raw_data && p->raw_data.len != shape->size_bytes)
    return assay_fail(err, ASSAY_E_FORMAT, "%s %s takes %zu bytes, found %zu",
                      assay_dtype_name(shape->dtype), text, shape->size_bytes, p->raw_data.len);
  if (!p->has_raw_data &&
      (field.n != shape->n_elems || n_items(p) != field.n * (is_complex ? 2 : 1)))
    return assay_fail(err, ASSAY_E_FORMAT, "%s %s has %zu elements, found %zu",
                      assay_dtype_name(shape->dtype), text, shape->n_elems, n_items(p));
  return ASSAY_OK;
}

/* ---- elements ---- */

static assay_status fail_range(const assay_tensor *out, size_t i, assay_error *err) {
  return assay_fail(err, ASSAY_E_FORMAT, "element %zu is none of type %s", i,
                    assay_dtype_name(out->dtype));
}

/* Least and greatest value that int32_data may hold for a type. */
static void range_of(assay_dtype dtype, int64_t *low, int64_t *high) {
  const size_t bits = 8 * assay_dtype_size(dtype);
  const bool is_signed =
      dtype == ASSAY_DTYPE_I8 || dtype == ASSAY_DTYPE_I16 || dtype == ASSAY_DTYPE_I32;
  *low = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
  *high = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
  if (dtype == ASSAY_DTYPE_BOOL) *high = 1;
}

/* Little-endian: an element's bytes come first in those of the item that it is widened to. */
static assay_status narrow_i32(const proto *p, assay_tensor *out, assay_error *err) {
  const size_t elem_bytes = assay_dtype_size(out->dtype);
  int64_t low, high;
  range_of(out->dtype, &low, &high);
  for (size_t i = 0; i < out->n_elems; i++) {
    if (p->int32_data[i] < low || p->int32_data[i] > high) return fail_range(out, i, err);
    memcpy((uint8_t *)out->data + i * elem_bytes, &p->int32_data[i], elem_bytes);
  }
  return ASSAY_OK;
}

static assay_status narrow_u64(const proto *p, assay_tensor *out, assay_error *err) {
  const size_t elem_bytes = assay_dtype_size(out->dtype);
  for (size_t i = 0; i < out->n_elems; i++) {
    if (elem_bytes < 8 && p->uint64_data[i] > UINT32_MAX) return fail_range(out, i, err);
    memcpy((uint8_t *)out->data + i * elem_bytes, &p->uint64_data[i], elem_bytes);
  }
  return ASSAY_OK;
}

static assay_status check_bools(const assay_tensor *out, assay_error *err) {
  const uint8_t *bytes = out->data;
  for (size_t i = 0; out->dtype == ASSAY_DTYPE_BOOL && i < out->n_elems; i++)
    if (bytes[i] > 1) return fail_range(out, i, err);
  return ASSAY_OK;
}

static assay_status fill(const proto *p, assay_tensor *out, assay_error *err) {
  const typed_field field = field_of(p);
  if (out->n_elems == 0) return ASSAY_OK;
  if (p->has_raw_data) {
    memcpy(out->data, p->raw_data.data, out->size_bytes);
    return check_bools(out, err);
  }
  if (field.data == p->int32_data) return narrow_i32(p, out, err);
  if (field.data == p->uint64_data) return narrow_u64(p, out, err);
  memcpy(out->data, field.data, out->size_bytes);
  return ASSAY_OK;
}

/* ---- both ---- */

static assay_status make(const proto *p, char **out_name, assay_tensor *out, assay_error *err) {
  static const int64_t NO_DIMS[1];
  const int64_t *dims = p->n_dims == 0 ? NO_DIMS : p->dims;
  assay_tensor shape = {.dtype = (assay_dtype)p->data_type, .rank = (int)p->n_dims};
  ASSAY_TRY(check_kind(p, err));
  if (p->n_dims > ASSAY_TENSOR_RANK_MAX)
    return assay_fail(err, ASSAY_E_LIMIT, "%zu dimensions, at most %d are known", p->n_dims,
                      ASSAY_TENSOR_RANK_MAX);
  memcpy(shape.dims, dims, p->n_dims * sizeof *dims);
  ASSAY_TRY(assay_shape_count(dims, shape.rank, &shape.n_elems, err));
  if (!assay_size_mul(shape.n_elems, assay_dtype_size(shape.dtype), &shape.size_bytes))
    return assay_fail(err, ASSAY_E_LIMIT, "more elements than memory has addresses");
  ASSAY_TRY(check_count(p, &shape, err)); /* before anything is allocated for them */
  assay_tensor tensor;
  char *name = assay_strdup(p->name == NULL ? "" : p->name);
  if (name == NULL) return assay_fail_memory(err, strlen(p->name) + 1);
  assay_status st = assay_tensor_init(&tensor, shape.dtype, shape.rank, dims, err);
  if (st == ASSAY_OK) {
    st = fill(p, &tensor, err);
    if (st) assay_tensor_reset(&tensor);
  }
  if (st) {
    assay_free(name);
    return st;
  }
  *out_name = name;
  *out = tensor;
  return ASSAY_OK;
}

assay_status assay_onnx_tensor_parse(const void *bytes, size_t size_bytes, char **out_name,
                                     assay_tensor *out, assay_error *err) {
  assay_unpacked unpacked = {0};
  ASSAY_TRY(assay_unpacked_init_tensor(bytes, size_bytes, &unpacked, err));
  const assay_status st = make(unpacked.tensor, out_name, out, err);
  assay_unpacked_reset(&unpacked);
  return st;
}

assay_status assay_onnx_tensor_read(const char *path, char **out_name, assay_tensor *out,
                                    assay_error *err) {
  assay_buf bytes = {0};
  assay_status st = assay_file_read(path, ASSAY_ONNX_MAX_BYTES, &bytes, err);
  if (!st) {
    st = assay_onnx_tensor_parse(bytes.data, bytes.size_bytes, out_name, out, err);
    if (st) assay_error_in(err, "'%s'", path);
  }
  assay_buf_reset(&bytes);
  return st;
}
