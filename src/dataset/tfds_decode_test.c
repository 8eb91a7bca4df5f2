/* Tests of tfds_decode.c: each type and encoding, right and out of range. */
#include <zlib.h>

#include "dataset/dataset_test.h"
#include "dataset/tfds_parts.h"

/* ---- making records ----------------------------------------------------------------------------
 */

static void put_field(assay_buf *out, unsigned field, const assay_buf *bytes) {
  append_varint(out, field << 3 | 2);
  append_varint(out, bytes->size_bytes);
  if (bytes->size_bytes > 0) append(out, bytes->data, bytes->size_bytes);
}

/* An entry of Features: key and a list of that kind, whose message has the bytes of `list`. */
static void put_entry(assay_buf *features, const char *key, assay_list_kind kind,
                      const assay_buf *list) {
  assay_buf entry = {0}, feature = {0}, name = {0};
  append(&name, key, strlen(key));
  put_field(&entry, 1, &name);
  if (kind != ASSAY_LIST_NONE) put_field(&feature, (unsigned)kind, list);
  put_field(&entry, 2, &feature);
  put_field(features, 1, &entry);
  assay_buf_reset(&entry);
  assay_buf_reset(&feature);
  assay_buf_reset(&name);
}

static void put_ints(assay_buf *features, const char *key, const int64_t *values, size_t n) {
  assay_buf packed = {0}, list = {0};
  for (size_t i = 0; i < n; i++) append_varint(&packed, (uint64_t)values[i]);
  put_field(&list, 1, &packed);
  put_entry(features, key, ASSAY_LIST_INT64, &list);
  assay_buf_reset(&packed);
  assay_buf_reset(&list);
}

static void put_floats(assay_buf *features, const char *key, const float *values, size_t n) {
  assay_buf packed = {0}, list = {0};
  append(&packed, values, n * sizeof *values);
  put_field(&list, 1, &packed);
  put_entry(features, key, ASSAY_LIST_FLOAT, &list);
  assay_buf_reset(&packed);
  assay_buf_reset(&list);
}

static void put_text(assay_buf *features, const char *key, const void *bytes, size_t n) {
  assay_buf text = {0}, list = {0};
  append(&text, bytes, n);
  put_field(&list, 1, &text);
  put_entry(features, key, ASSAY_LIST_BYTES, &list);
  assay_buf_reset(&text);
  assay_buf_reset(&list);
}

/* The record of Features, which is given up. */
static assay_buf finish_record(assay_buf *features) {
  assay_buf record = {0};
  put_field(&record, 1, features);
  assay_buf_reset(features);
  return record;
}

/* A feature "x" with up to three dimensions. */
typedef struct spec {
  assay_dtype dtype;
  int rank;
  int64_t dims[3];
  assay_tfds_encoding encoding;
  bool optional;
} spec;

/* Decodes "x" from the record with a budget; *out_there as of assay_tfds_decode. */
static assay_status decode(spec s, const assay_buf *record, uint64_t budget_bytes, bool *out_there,
                           assay_tensor *out, assay_error *err) {
  static char name[] = "x";
  const assay_tfds_feature feature = {.name = name,
                                      .dtype = s.dtype,
                                      .rank = s.rank,
                                      .dims = s.dims,
                                      .encoding = s.encoding,
                                      .optional = s.optional};
  assay_example example = {0};
  assay_status st = assay_example_parse(span_of(record), &example, err);
  if (!st) st = assay_tfds_decode(&feature, &example, &budget_bytes, out_there, out, err);
  assay_example_reset(&example);
  return st;
}

#define BUDGET ((uint64_t)1 << 20)

static void expect_array(spec s, const assay_buf *record, const void *bytes, size_t size_bytes,
                         int64_t first_dim) {
  assay_tensor tensor = {0};
  bool is_there = false;
  assay_error err = {0};
  expect_ok(decode(s, record, BUDGET, &is_there, &tensor, &err), &err, assay_dtype_name(s.dtype));
  assert_true(is_there);
  assert_int_equal(tensor.dtype, s.dtype);
  assert_int_equal(tensor.rank, s.rank);
  if (s.rank > 0) assert_int_equal(tensor.dims[0], first_dim);
  assert_int_equal(tensor.size_bytes, size_bytes);
  if (size_bytes > 0) assert_memory_equal(tensor.data, bytes, size_bytes);
  assay_tensor_reset(&tensor);
}

static void expect_refused(spec s, const assay_buf *record, assay_status status,
                           const char *words) {
  assay_tensor tensor = {0};
  bool is_there;
  assay_error err = {0};
  expect(decode(s, record, BUDGET, &is_there, &tensor, &err), &err, status, words, words);
  assert_non_null(strstr(err.text, "feature 'x'"));
  assert_null(tensor.data);
}

/* ---- one value a value -------------------------------------------------------------------------
 */

static void narrows_integers_and_checks_their_range(void **state) {
  static const struct {
    assay_dtype dtype;
    int64_t low, high;
  } rows[] = {
      {ASSAY_DTYPE_BOOL, 0, 1},         {ASSAY_DTYPE_I8, INT8_MIN, INT8_MAX},
      {ASSAY_DTYPE_U8, 0, UINT8_MAX},   {ASSAY_DTYPE_I16, INT16_MIN, INT16_MAX},
      {ASSAY_DTYPE_U16, 0, UINT16_MAX}, {ASSAY_DTYPE_I32, INT32_MIN, INT32_MAX},
      {ASSAY_DTYPE_U32, 0, UINT32_MAX}, {ASSAY_DTYPE_I64, INT64_MIN, INT64_MAX},
      {ASSAY_DTYPE_U64, 0, -1}, /* the same bits: 2^64 - 1 */
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    const int64_t values[] = {rows[i].low, rows[i].high, 1};
    spec s = {.dtype = rows[i].dtype, .rank = 1, .dims = {-1}};
    size_t elem_bytes = assay_dtype_size(s.dtype);
    uint8_t expected[24];
    for (size_t k = 0; k < 3; k++) memcpy(expected + k * elem_bytes, &values[k], elem_bytes);
    assay_buf features = {0};
    put_ints(&features, "x", values, 3);
    assay_buf record = finish_record(&features);
    expect_array(s, &record, expected, 3 * elem_bytes, 3);
    assay_buf_reset(&record);
    if (elem_bytes == 8) continue;
    for (int above = 0; above < 2; above++) {
      const int64_t wrong[] = {1, above ? rows[i].high + 1 : rows[i].low - 1};
      put_ints(&features, "x", wrong, 2);
      record = finish_record(&features);
      expect_refused(s, &record, ASSAY_E_FORMAT, "value 1 is");
      assay_buf_reset(&record);
    }
  }
}

static void reads_floats_of_every_width(void **state) {
  const float values[] = {1.5f, -0.0f, HUGE_VALF, 0.25f};
  const double doubles[] = {1.5, -0.0, HUGE_VAL, 0.25};
  const uint16_t halves[] = {0x3e00, 0x8000, 0x7c00, 0x3400};
  const uint16_t brains[] = {0x3fc0, 0x8000, 0x7f80, 0x3e80};
  assay_buf features = {0};
  (void)state;
  put_floats(&features, "x", values, 4);
  assay_buf record = finish_record(&features);
  spec s = {.dtype = ASSAY_DTYPE_F32, .rank = 2, .dims = {-1, 2}};
  expect_array(s, &record, values, sizeof values, 2);
  s.dtype = ASSAY_DTYPE_F64;
  expect_array(s, &record, doubles, sizeof doubles, 2);
  s.dtype = ASSAY_DTYPE_F16;
  expect_array(s, &record, halves, sizeof halves, 2);
  s.dtype = ASSAY_DTYPE_BF16;
  expect_array(s, &record, brains, sizeof brains, 2);
  assay_buf_reset(&record);

  const float inexact[] = {0, 0, 0, 0.1f};
  put_floats(&features, "x", inexact, 4);
  record = finish_record(&features);
  expect_refused(s, &record, ASSAY_E_FORMAT, "value 3 is 0.1000000");
  s.dtype = ASSAY_DTYPE_F16;
  expect_refused(s, &record, ASSAY_E_FORMAT, "no float16");
  assay_buf_reset(&record);
}

static void keeps_nan_as_it_is(void **state) {
  const float values[] = {NAN};
  assay_buf features = {0};
  (void)state;
  put_floats(&features, "x", values, 1);
  assay_buf record = finish_record(&features);
  spec s = {.dtype = ASSAY_DTYPE_F32};
  expect_array(s, &record, values, sizeof values, 0);
  assay_tensor tensor = {0};
  bool is_there;
  assay_error err = {0};
  s.dtype = ASSAY_DTYPE_F16;
  expect_ok(decode(s, &record, BUDGET, &is_there, &tensor, &err), &err, "float16");
  assert_true(isnan(assay_tensor_get_real(&tensor, 0)));
  assay_tensor_reset(&tensor);
  assay_buf_reset(&record);
}

static void finds_the_free_dimension(void **state) {
  static const struct {
    int rank;
    int64_t dims[3];
    size_t n_values;
    int64_t first_dim;
    const char *words; /* of the error; NULL: none */
  } rows[] = {
      {0, {0}, 1, 0, NULL},
      {0, {0}, 2, 0, "2 values do not fill the shape []"},
      {0, {0}, 0, 0, "0 values do not fill the shape []"},
      {1, {-1}, 0, 0, NULL},
      {1, {3}, 3, 3, NULL},
      {1, {3}, 4, 0, "4 values do not fill the shape [3]"},
      {2, {-1, 55}, 110, 2, NULL},
      {2, {-1, 55}, 0, 0, NULL},
      {2, {-1, 55}, 111, 0, "111 values do not fill the shape [-1,55] (-1: any)"},
      {3, {2, -1, 3}, 12, 2, NULL},
      {2, {-1, 0}, 0, 0, NULL},
      {2, {-1, 0}, 1, 0, "do not fill"},
      {2, {INT64_C(1) << 40, INT64_C(1) << 40}, 4, 0, "do not fill"},
  };
  static const float values[128];
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_buf features = {0};
    put_floats(&features, "x", values, rows[i].n_values);
    assay_buf record = finish_record(&features);
    spec s = {.dtype = ASSAY_DTYPE_F32, .rank = rows[i].rank};
    memcpy(s.dims, rows[i].dims, sizeof s.dims);
    if (rows[i].words == NULL)
      expect_array(s, &record, values, rows[i].n_values * sizeof *values, rows[i].first_dim);
    else
      expect_refused(s, &record, ASSAY_E_FORMAT, rows[i].words);
    assay_buf_reset(&record);
  }
}

static void refuses_another_kind_of_list(void **state) {
  const int64_t value = 1;
  assay_buf features = {0}, none = {0};
  (void)state;
  put_ints(&features, "x", &value, 1);
  assay_buf record = finish_record(&features);
  expect_refused((spec){.dtype = ASSAY_DTYPE_F32}, &record, ASSAY_E_FORMAT,
                 "the record has a int64_list, expected a float_list");
  assay_buf_reset(&record);
  /* A feature without a list is an empty one of any kind. */
  put_entry(&features, "x", ASSAY_LIST_NONE, &none);
  record = finish_record(&features);
  expect_array((spec){.dtype = ASSAY_DTYPE_F32, .rank = 2, .dims = {-1, 4}}, &record, NULL, 0, 0);
  assay_buf_reset(&record);
}

static void takes_what_is_missing_as_its_shape_allows(void **state) {
  assay_buf features = {0};
  const int64_t value = 1;
  (void)state;
  put_ints(&features, "y", &value, 1);
  assay_buf record = finish_record(&features);
  spec s = {.dtype = ASSAY_DTYPE_F32, .rank = 2, .dims = {-1, 4}};
  expect_array(s, &record, NULL, 0, 0);
  s.dims[0] = 2;
  expect_refused(s, &record, ASSAY_E_FORMAT, "the record lacks it");
  s.optional = true;
  assay_tensor tensor = {0};
  bool is_there = true;
  assay_error err = {0};
  expect_ok(decode(s, &record, BUDGET, &is_there, &tensor, &err), &err, "optional");
  assert_false(is_there);
  assay_buf_reset(&record);
}

/* ---- an array's bytes as one value -------------------------------------------------------------
 */

static assay_buf zlib_of(const void *bytes, size_t n) {
  assay_buf out = {0};
  uint8_t *room;
  uLongf cap = compressBound((uLong)n);
  assert_int_equal(assay_buf_reserve(&out, cap, &room, NULL), ASSAY_OK);
  assert_int_equal(compress(room, &cap, bytes, (uLong)n), Z_OK);
  out.size_bytes = cap;
  return out;
}

static void reads_encoded_arrays(void **state) {
  const int16_t values[] = {1, -2, 300, 4, 5, 6};
  (void)state;
  for (int is_zlib = 0; is_zlib < 2; is_zlib++) {
    assay_buf packed = zlib_of(values, sizeof values), features = {0};
    const void *bytes = is_zlib ? (const void *)packed.data : (const void *)values;
    size_t n_bytes = is_zlib ? packed.size_bytes : sizeof values;
    spec s = {.dtype = ASSAY_DTYPE_I16,
              .rank = 2,
              .dims = {-1, 3},
              .encoding = is_zlib ? ASSAY_TFDS_ZLIB : ASSAY_TFDS_BYTES};
    put_text(&features, "x", bytes, n_bytes);
    assay_buf record = finish_record(&features);
    expect_array(s, &record, values, sizeof values, 2);
    s.dims[0] = 3;
    expect_refused(s, &record, ASSAY_E_FORMAT, "6 values do not fill the shape [3,3]");
    s.dims[0] = -1;
    s.dtype = ASSAY_DTYPE_F64;
    expect_refused(s, &record, ASSAY_E_FORMAT, "12 bytes, no multiple of the 8 of a float64");
    s.dtype = ASSAY_DTYPE_BOOL;
    expect_refused(s, &record, ASSAY_E_FORMAT, "which is no bool");
    assay_buf_reset(&record);

    /* Two free dimensions: the shape lies beside the array. */
    const int64_t shapes[][3] = {{3, 2, 1}, {3, 3, 1}, {3, 2, 2}, {-3, -2, 1}};
    static const char *const words[] = {NULL, "9 elements of 2 by its shape",
                                        "dimension 2 is 2, expected 1", "dimension 0 is -3"};
    s = (spec){.dtype = ASSAY_DTYPE_I16, .rank = 3, .dims = {-1, -1, 1}, .encoding = s.encoding};
    for (size_t i = 0; i < N_OF(shapes); i++) {
      put_ints(&features, "x/shape", shapes[i], 3);
      put_text(&features, "x/value", bytes, n_bytes);
      record = finish_record(&features);
      if (words[i] == NULL)
        expect_array(s, &record, values, sizeof values, 3);
      else
        expect_refused(s, &record, ASSAY_E_FORMAT, words[i]);
      assay_buf_reset(&record);
    }
    put_ints(&features, "x/shape", shapes[0], 2);
    put_text(&features, "x/value", bytes, n_bytes);
    record = finish_record(&features);
    expect_refused(s, &record, ASSAY_E_FORMAT, "its shape has 2 dimensions, expected 3");
    assay_buf_reset(&record);
    put_text(&features, "x/value", bytes, n_bytes);
    record = finish_record(&features);
    expect_refused(s, &record, ASSAY_E_FORMAT, "no '…/shape'");
    assay_buf_reset(&record);
    assay_buf_reset(&packed);
  }
}

static void refuses_encoded_arrays_that_are_none(void **state) {
  const int64_t one = 1;
  assay_buf features = {0}, record;
  spec s = {.dtype = ASSAY_DTYPE_U8, .rank = 1, .dims = {-1}, .encoding = ASSAY_TFDS_ZLIB};
  (void)state;
  put_text(&features, "x", "no zlib data", 12);
  record = finish_record(&features);
  expect_refused(s, &record, ASSAY_E_FORMAT, "corrupt: damaged zlib data");
  assay_buf_reset(&record);

  put_ints(&features, "x", &one, 1);
  record = finish_record(&features);
  expect_refused(s, &record, ASSAY_E_FORMAT, "expected a bytes_list");
  assay_buf_reset(&record);

  assay_buf packed = zlib_of("abcdef", 6);
  put_text(&features, "x", packed.data, packed.size_bytes - 1);
  record = finish_record(&features);
  expect_refused(s, &record, ASSAY_E_FORMAT, "truncated");
  assay_buf_reset(&record);
  assay_buf_reset(&packed);
}

/* 16 MiB of zeroes in 16 kB stop at the budget, and so do integers at 8 bytes each. */
static void bounds_what_an_example_takes(void **state) {
  size_t n = (size_t)16 << 20;
  uint8_t *zeroes = calloc(n, 1);
  assert_non_null(zeroes);
  assay_buf packed = zlib_of(zeroes, n), features = {0}, list = {0}, bytes = {0};
  (void)state;
  put_text(&features, "x", packed.data, packed.size_bytes);
  assay_buf record = finish_record(&features);
  spec s = {.dtype = ASSAY_DTYPE_U8, .rank = 1, .dims = {-1}, .encoding = ASSAY_TFDS_ZLIB};
  expect_refused(s, &record, ASSAY_E_LIMIT, "the arrays of one example take more");
  assay_buf_reset(&record);
  append(&bytes, zeroes, 200000);
  put_field(&list, 1, &bytes);
  put_entry(&features, "x", ASSAY_LIST_INT64, &list);
  record = finish_record(&features);
  s.encoding = ASSAY_TFDS_PLAIN;
  expect_refused(s, &record, ASSAY_E_LIMIT, "the arrays of one example take more");
  assay_buf_reset(&record);
  assay_buf_reset(&packed);
  assay_buf_reset(&list);
  assay_buf_reset(&bytes);
  free(zeroes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(narrows_integers_and_checks_their_range),
      cmocka_unit_test(reads_floats_of_every_width),
      cmocka_unit_test(keeps_nan_as_it_is),
      cmocka_unit_test(finds_the_free_dimension),
      cmocka_unit_test(refuses_another_kind_of_list),
      cmocka_unit_test(takes_what_is_missing_as_its_shape_allows),
      cmocka_unit_test(reads_encoded_arrays),
      cmocka_unit_test(refuses_encoded_arrays_that_are_none),
      cmocka_unit_test(bounds_what_an_example_takes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
