/* numpy values in pickles. Source: ../shared/specs/torch_checkpoint.md section 4; numpy's
 * ndarray.__reduce__, dtype.__reduce__ and numpy/core/numeric.py _frombuffer. */
#include "checkpoint/numpy_value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef assay_pickle_value value;

static const value *item_at(const value *tuple, size_t i) {
  bool is_tuple =
      tuple != NULL && (tuple->kind == ASSAY_PICKLE_TUPLE || tuple->kind == ASSAY_PICKLE_LIST);
  return is_tuple && i < tuple->items.n ? tuple->items.at[i] : NULL;
}

static const value *arg_at(const value *made, size_t i) {
  return item_at(made->call->args, i);
}

/* ---- dtype --------------------------------------------------------------------------------------
 */

/* "f8", "<f8", "|b1": kind and item size. */
static assay_dtype dtype_of_code(const char *kind) {
  static const struct {
    const char *code;
    assay_dtype dtype;
  } rows[] = {
      {"f4", ASSAY_DTYPE_F32}, {"f8", ASSAY_DTYPE_F64},   {"f2", ASSAY_DTYPE_F16},
      {"i1", ASSAY_DTYPE_I8},  {"i2", ASSAY_DTYPE_I16},   {"i4", ASSAY_DTYPE_I32},
      {"i8", ASSAY_DTYPE_I64}, {"u1", ASSAY_DTYPE_U8},    {"u2", ASSAY_DTYPE_U16},
      {"u4", ASSAY_DTYPE_U32}, {"u8", ASSAY_DTYPE_U64},   {"b1", ASSAY_DTYPE_BOOL},
      {"c8", ASSAY_DTYPE_C64}, {"c16", ASSAY_DTYPE_C128},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (strcmp(rows[i].code, kind) == 0) return rows[i].dtype;
  }
  return ASSAY_DTYPE_NONE;
}

static bool is_order(char c) {
  return c == '<' || c == '>' || c == '|' || c == '=';
}

/* The state (3, order, subdtype, names, fields, itemsize, alignment, flags); version 4 adds
 * metadata. */
static bool read_state(const value *state, char *order, bool *plain) {
  const value *text = item_at(state, 1);
  if (text == NULL || text->kind != ASSAY_PICKLE_TEXT || text->text.size_bytes != 1 ||
      !is_order(text->text.data[0])) {
    return false;
  }
  *order = text->text.data[0];
  for (size_t i = 2; i < 5; i++) {
    const value *part = item_at(state, i);
    if (part != NULL && part->kind != ASSAY_PICKLE_NONE) *plain = false;
  }
  return true;
}

bool assay_numpy_is_dtype(const value *made, assay_numpy_dtype *out) {
  if (made == NULL || made->kind != ASSAY_PICKLE_CALL ||
      !assay_pickle_is_call(made, "numpy", "dtype")) {
    return false;
  }
  const value *code = arg_at(made, 0);
  if (code == NULL || code->kind != ASSAY_PICKLE_TEXT || code->text.size_bytes == 0 ||
      code->text.size_bytes > sizeof out->code - 2) {
    return false;
  }
  const char *kind = code->text.data;
  char order = '=';
  bool plain = true;
  if (is_order(*kind)) order = *kind++;
  if (made->call->state != NULL && !read_state(made->call->state, &order, &plain)) return false;
  assay_dtype dtype = plain ? dtype_of_code(kind) : ASSAY_DTYPE_NONE;
  *out =
      (assay_numpy_dtype){.dtype = dtype, .swapped = order == '>' && assay_dtype_size(dtype) > 1};
  snprintf(out->code, sizeof out->code, "%c%.20s", order == '=' ? '<' : order, kind);
  return true;
}

/* ---- scalars and arrays
 * -------------------------------------------------------------------------- */

bool assay_numpy_is_scalar(const value *made) {
  return made != NULL && made->kind == ASSAY_PICKLE_CALL &&
         assay_pickle_is_call(made, "numpy.core.multiarray", "scalar");
}

static bool is_reconstructed(const value *made) {
  return assay_pickle_is_call(made, "numpy.core.multiarray", "_reconstruct");
}

bool assay_numpy_is_array(const value *made) {
  return made != NULL && made->kind == ASSAY_PICKLE_CALL &&
         (is_reconstructed(made) ||
          assay_pickle_is_call(made, "numpy.core.numeric", "_frombuffer"));
}

/* What the three forms have in common. */
typedef struct parts {
  const value *dtype, *shape, *bytes; /* shape NULL: a scalar */
  bool fortran;
} parts;

static assay_status malformed(assay_error *err, const char *what) {
  return assay_fail(err, ASSAY_E_FORMAT, "a numpy %s without the arguments that numpy writes",
                    what);
}

static assay_status parts_of(const value *made, parts *out, assay_error *err) {
  if (assay_numpy_is_scalar(made)) {
    *out = (parts){.dtype = arg_at(made, 0), .bytes = arg_at(made, 1)};
    return out->bytes == NULL ? malformed(err, "scalar") : ASSAY_OK;
  }
  if (is_reconstructed(made)) { /* (version, shape, dtype, is fortran, bytes) */
    const value *state = made->call->state, *fortran = item_at(state, 3);
    *out =
        (parts){.shape = item_at(state, 1), .dtype = item_at(state, 2), .bytes = item_at(state, 4)};
    if (fortran == NULL || fortran->kind != ASSAY_PICKLE_BOOL || out->bytes == NULL) {
      return malformed(err, "array");
    }
    out->fortran = fortran->boolean;
    return ASSAY_OK;
  }
  const value *order = arg_at(made, 3);
  *out = (parts){.bytes = arg_at(made, 0), .dtype = arg_at(made, 1), .shape = arg_at(made, 2)};
  out->fortran = assay_pickle_is_text(order, "F");
  if (out->shape == NULL || !(out->fortran || assay_pickle_is_text(order, "C"))) {
    return malformed(err, "array");
  }
  return ASSAY_OK;
}

static assay_status read_shape(const value *shape, int64_t *dims, int *out_rank, assay_error *err) {
  *out_rank = 0;
  if (shape == NULL) return ASSAY_OK;
  if (shape->kind != ASSAY_PICKLE_TUPLE || shape->items.n > ASSAY_TENSOR_RANK_MAX) {
    return malformed(err, "shape");
  }
  for (size_t i = 0; i < shape->items.n; i++) {
    const value *dim = shape->items.at[i];
    if (dim->kind != ASSAY_PICKLE_INT || dim->integer < 0) return malformed(err, "shape");
    dims[i] = dim->integer;
  }
  *out_rank = (int)shape->items.n;
  return ASSAY_OK;
}

static void swap_bytes(uint8_t *at, size_t n) {
  for (size_t i = 0; i < n / 2; i++) {
    uint8_t kept = at[i];
    at[i] = at[n - 1 - i];
    at[n - 1 - i] = kept;
  }
}

/* Complex numbers are two reals, each swapped by itself. */
static void swap_all(assay_tensor *tensor) {
  size_t unit = assay_dtype_size(tensor->dtype);
  if (tensor->dtype == ASSAY_DTYPE_C64 || tensor->dtype == ASSAY_DTYPE_C128) unit /= 2;
  for (size_t at = 0; at < tensor->size_bytes; at += unit) {
    swap_bytes((uint8_t *)tensor->data + at, unit);
  }
}

/* Column-major bytes into the row-major tensor: index runs over the tensor, `from` over the source.
 */
static void transpose(assay_tensor *tensor, const uint8_t *bytes) {
  size_t size = assay_dtype_size(tensor->dtype);
  int64_t index[ASSAY_TENSOR_RANK_MAX] = {0};
  for (size_t to = 0; to < tensor->n_elems; to++) {
    size_t from = 0, stride = 1;
    for (int axis = 0; axis < tensor->rank; axis++) {
      from += (size_t)index[axis] * stride;
      stride *= (size_t)tensor->dims[axis];
    }
    memcpy((uint8_t *)tensor->data + to * size, bytes + from * size, size);
    for (int axis = tensor->rank; axis-- > 0;) {
      if (++index[axis] < tensor->dims[axis]) break;
      index[axis] = 0;
    }
  }
}

/* What is known of an array or scalar without its bytes. */
static assay_status read_form(const value *made, parts *out, assay_numpy_dtype *dtype,
                              int64_t *dims, int *out_rank, assay_error *err) {
  if (!assay_numpy_is_scalar(made) && !assay_numpy_is_array(made)) {
    return assay_fail(err, ASSAY_E_ARGUMENT, "a numpy scalar or array expected");
  }
  ASSAY_TRY(parts_of(made, out, err));
  if (!assay_numpy_is_dtype(out->dtype, dtype)) return malformed(err, "dtype");
  return read_shape(out->shape, dims, out_rank, err);
}

assay_status assay_numpy_shape(const value *made, assay_numpy_dtype *out_dtype, int *out_rank,
                               int64_t out_dims[ASSAY_TENSOR_RANK_MAX], assay_error *err) {
  parts found;
  return read_form(made, &found, out_dtype, out_dims, out_rank, err);
}

bool assay_numpy_is_plain(const value *made) {
  parts found;
  assay_numpy_dtype dtype;
  if (assay_numpy_is_dtype(made, &dtype)) return true;
  if (!assay_numpy_is_scalar(made) && !assay_numpy_is_array(made)) return false;
  return parts_of(made, &found, /*err=*/NULL) == ASSAY_OK &&
         assay_numpy_is_dtype(found.dtype, &dtype) && found.bytes->kind == ASSAY_PICKLE_BYTES;
}

assay_status assay_numpy_read(const value *made, assay_tensor *out, assay_error *err) {
  parts found;
  assay_numpy_dtype dtype;
  int64_t dims[ASSAY_TENSOR_RANK_MAX];
  int rank;
  ASSAY_TRY(read_form(made, &found, &dtype, dims, &rank, err));
  if (dtype.dtype == ASSAY_DTYPE_NONE) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "numpy dtype '%s'", dtype.code);
  }
  if (found.bytes->kind != ASSAY_PICKLE_BYTES) {
    return assay_fail(err, ASSAY_E_FORMAT, "bytes expected for a numpy value, found %s",
                      assay_pickle_kind_name(found.bytes->kind));
  }
  size_t n, size_bytes;
  ASSAY_TRY(assay_shape_count(dims, rank, &n, err));
  if (__builtin_mul_overflow(n, assay_dtype_size(dtype.dtype), &size_bytes) ||
      size_bytes != found.bytes->text.size_bytes) {
    return assay_fail(err, ASSAY_E_FORMAT, "%zu values of numpy dtype '%s', %zu bytes are there", n,
                      dtype.code, found.bytes->text.size_bytes);
  }
  assay_tensor tensor;
  ASSAY_TRY(assay_tensor_init(&tensor, dtype.dtype, rank, dims, err));
  if (found.fortran && rank > 1)
    transpose(&tensor, (const uint8_t *)found.bytes->text.data);
  else if (size_bytes > 0)
    memcpy(tensor.data, found.bytes->text.data, size_bytes);
  if (dtype.swapped) swap_all(&tensor);
  *out = tensor;
  return ASSAY_OK;
}

static void set_integer(value *out, int64_t integer) {
  out->kind = ASSAY_PICKLE_INT;
  out->integer = integer;
}

static void set_unsigned(value *out, uint64_t number, char digits[ASSAY_NUMPY_DIGITS_BYTES]) {
  if (number <= INT64_MAX) {
    set_integer(out, (int64_t)number);
    return;
  }
  int n = snprintf(digits, ASSAY_NUMPY_DIGITS_BYTES, "%" PRIu64, number);
  out->kind = ASSAY_PICKLE_BIGINT;
  out->text = (assay_pickle_text){.data = digits, .size_bytes = (size_t)n};
}

static void set_value(value *out, const assay_tensor *scalar,
                      char digits[ASSAY_NUMPY_DIGITS_BYTES]) {
  const assay_dtype dtype = scalar->dtype;
  if (dtype == ASSAY_DTYPE_BOOL) {
    out->kind = ASSAY_PICKLE_BOOL;
    out->boolean = *(const uint8_t *)scalar->data != 0;
  } else if (dtype == ASSAY_DTYPE_U64) {
    set_unsigned(out, *(const uint64_t *)scalar->data, digits);
  } else if (dtype == ASSAY_DTYPE_I64) {
    set_integer(out, *assay_tensor_i64(scalar));
  } else if (assay_dtype_is_integer(dtype)) { /* at most 32 bits: exact as a double */
    set_integer(out, (int64_t)assay_tensor_get_real(scalar, 0));
  } else if (dtype == ASSAY_DTYPE_C64) {
    const float *both = scalar->data;
    out->kind = ASSAY_PICKLE_COMPLEX;
    out->complex.re = (double)both[0];
    out->complex.im = (double)both[1];
  } else if (dtype == ASSAY_DTYPE_C128) {
    const double *both = scalar->data;
    out->kind = ASSAY_PICKLE_COMPLEX;
    out->complex.re = both[0];
    out->complex.im = both[1];
  } else {
    out->kind = ASSAY_PICKLE_REAL;
    out->real = assay_tensor_get_real(scalar, 0);
  }
}

bool assay_numpy_scalar_value(const value *made, value *out,
                              char digits[ASSAY_NUMPY_DIGITS_BYTES]) {
  assay_tensor scalar;
  if (!assay_numpy_is_scalar(made) || assay_numpy_read(made, &scalar, /*err=*/NULL)) return false;
  *out = (value){0};
  set_value(out, &scalar, digits);
  assay_tensor_reset(&scalar);
  return true;
}
