#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "checkpoint/safetensors.h"

#define SAMPLE "testdata/safetensors/t.safetensors"

/* ---- reading
 * ------------------------------------------------------------------------------------- */

/* Written by safetensors 0.4.5: see testdata/README.md. */
static const struct {
  const char *name, *dtype_name;
  assay_dtype dtype;
  int rank;
  int64_t dims[2];
  uint64_t offset; /* behind the header's 560 bytes */
  double first;
} sample[] = {
    {"a", "I64", ASSAY_DTYPE_I64, 1, {2}, 0, 1},
    {"b", "F32", ASSAY_DTYPE_F32, 2, {2, 3}, 16, 0},
    {"e", "F32", ASSAY_DTYPE_F32, 2, {0, 4}, 40, 0},
    {"s", "F32", ASSAY_DTYPE_F32, 0, {0}, 40, 2.5},
    {"bf", "BF16", ASSAY_DTYPE_BF16, 1, {1}, 44, 1},
    {"h", "F16", ASSAY_DTYPE_F16, 1, {3}, 46, 1},
    {"f8", "F8_E4M3", ASSAY_DTYPE_NONE, 1, {1}, 52, 0},
    {"u8", "U8", ASSAY_DTYPE_U8, 1, {3}, 53, 1},
    {"bool", "BOOL", ASSAY_DTYPE_BOOL, 1, {2}, 56, 1},
};
enum { N_SAMPLE = sizeof sample / sizeof sample[0] };

static void the_sample_is_read(void **state) {
  (void)state;
  assay_safetensors *file = NULL;
  assay_error err = {0};
  if (assay_safetensors_open(SAMPLE, &file, &err)) fail_msg("%s", err.text);
  assert_int_equal(assay_safetensors_count(file), N_SAMPLE);
  assert_int_equal(assay_safetensors_n_metadata(file), 2);
  assert_string_equal(assay_safetensors_metadata(file, 0).key, "format");
  assert_string_equal(assay_safetensors_metadata(file, 0).value, "pt");
  for (size_t i = 0; i < N_SAMPLE; i++) {
    const assay_safetensor *item = assay_safetensors_at(file, i);
    assert_string_equal(item->name, sample[i].name);
    assert_string_equal(item->dtype_name, sample[i].dtype_name);
    assert_int_equal(item->dtype, sample[i].dtype);
    assert_int_equal(item->rank, sample[i].rank);
    for (int k = 0; k < item->rank; k++) assert_int_equal(item->dims[k], sample[i].dims[k]);
    assert_int_equal(item->offset, 560 + sample[i].offset);
    for (int view = 0; view < 2; view++) {
      assay_tensor tensor = {0};
      assay_status st = view ? assay_safetensors_view(file, i, &tensor, &err)
                             : assay_safetensors_read(file, i, &tensor, &err);
      assert_int_equal(st, item->dtype == ASSAY_DTYPE_NONE ? ASSAY_E_UNSUPPORTED : ASSAY_OK);
      if (tensor.n_elems > 0) assert_true(assay_tensor_get_real(&tensor, 0) == sample[i].first);
      assay_tensor_reset(&tensor);
    }
  }
  assert_non_null(strstr(err.text, "tensor 'f8': assay has no type for F8_E4M3"));
  assay_safetensors_close(file);
}

/* A file of this header and n_data bytes. */
static assay_status open_text(const char *header, size_t n_data, assay_error *err) {
  uint8_t bytes[2048] = {0};
  size_t n = strlen(header);
  assay_safetensors *file = NULL;
  assert_true(8 + n + n_data <= sizeof bytes);
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(n >> (8 * i));
  memcpy(bytes + 8, header, n);
  assay_status st = assay_safetensors_open_bytes(bytes, 8 + n + n_data, &file, err);
  if (!st) assay_safetensors_close(file);
  return st;
}

#define A4 "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}"

static const struct {
  const char *header;
  size_t n_data;
  assay_status status;
  const char *part;
} headers[] = {
    {"{}", 0, ASSAY_OK, ""},
    {"{}   ", 0, ASSAY_OK, ""},
    {"{" A4 "}", 4, ASSAY_OK, ""},
    {"{" A4 "}", 5, ASSAY_E_FORMAT, "1 bytes behind the last tensor"},
    {"{" A4 "}", 3, ASSAY_E_FORMAT, "bytes 0 to 4, the file has 3 behind its header"},
    {"{" A4 "," A4 "}", 4, ASSAY_E_FORMAT, "duplicate"},
    {"{" A4 ",\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4, ASSAY_E_FORMAT,
     "it overlaps another"},
    {"{" A4 ",\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}", 4, ASSAY_E_FORMAT,
     "overlaps"},
    {"{" A4 ",\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[6,8]}}", 8, ASSAY_E_FORMAT,
     "tensor 'b' begins at byte 6 of the data, 4 expected: a gap"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, ASSAY_E_FORMAT,
     "a gap"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, ASSAY_E_FORMAT,
     "2 elements of F32 in 4 bytes"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, ASSAY_E_FORMAT,
     "bytes 4 to 0"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", 4, ASSAY_E_FORMAT,
     "data_offsets: integers"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, ASSAY_E_FORMAT,
     "a beginning and an end"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4, ASSAY_E_FORMAT,
     "shape: integers"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, ASSAY_E_FORMAT,
     "shape: integers"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4611686018427387904],"
     "\"data_offsets\":[0,4]}}",
     4, ASSAY_E_LIMIT, "too many elements"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387905],\"data_offsets\":[0,4]}}", 4,
     ASSAY_E_FORMAT, "elements of F32 in 4 bytes"},
    {"{\"a\":{\"dtype\":\"F4\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, ASSAY_E_UNSUPPORTED,
     "tensor 'a': unknown dtype 'F4'"},
    {"{\"a\":{\"dtype\":\"F8_E4M3FNUZ\",\"shape\":[1],\"data_offsets\":[0,1]},"
     "\"b\":{\"dtype\":\"F8_E5M2FNUZ\",\"shape\":[2],\"data_offsets\":[1,3]}}",
     3, ASSAY_OK, ""},
    {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, ASSAY_E_FORMAT, "dtype"},
    {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, ASSAY_E_FORMAT, "shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, ASSAY_E_FORMAT, "data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4, ASSAY_E_FORMAT,
     "'x'"},
    {"{\"a\":1}", 0, ASSAY_E_FORMAT, "tensor 'a': an object expected, found an integer"},
    {"{\"__metadata__\":{\"k\":1}}", 0, ASSAY_E_FORMAT, "__metadata__ 'k' is not a string"},
    {"{\"__metadata__\":[]}", 0, ASSAY_E_FORMAT, "__metadata__ is not an object"},
    {"[]", 0, ASSAY_E_FORMAT, "does not begin with '{'"},
    {" {}", 0, ASSAY_E_FORMAT, "does not begin with '{'"},
    {"{", 0, ASSAY_E_FORMAT, ""},
    {"{}x", 0, ASSAY_E_FORMAT, ""},
};

static void headers_are_checked(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
    assay_error err = {0};
    assay_status st = open_text(headers[i].header, headers[i].n_data, &err);
    if (st != headers[i].status || strstr(err.text, headers[i].part) == NULL) {
      fail_msg("%s: expected %s, found %s: %s", headers[i].header,
               assay_status_name(headers[i].status), assay_status_name(st), err.text);
    }
  }
}

static void lengths_are_checked(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    const char *part;
  } rows[] = {
      {"", 0, "too few for the header's length"},
      {"\2\0\0\0\0\0\0", 7, "too few"},
      {"\0\0\0\0\0\0\0\0", 8, "does not begin"},
      {"\3\0\0\0\0\0\0\0{}", 10, "a header of 3 bytes, 2 are left: truncated"},
      {"\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "18446744073709551615"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assay_safetensors *file = NULL;
    assay_error err = {0};
    assert_int_equal(assay_safetensors_open_bytes(rows[i].bytes, rows[i].n, &file, &err),
                     ASSAY_E_FORMAT);
    if (strstr(err.text, rows[i].part) == NULL) fail_msg("row %zu: %s", i, err.text);
  }
}

static void a_file_cut_at_every_byte_is_refused(void **state) {
  (void)state;
  assay_buf bytes = {0};
  assert_int_equal(assay_file_read(SAMPLE, 1 << 16, &bytes, NULL), ASSAY_OK);
  for (size_t n = 0; n < bytes.size_bytes; n++) {
    assay_safetensors *file = NULL;
    uint8_t *copy = assay_alloc_plain(n);
    memcpy(copy, bytes.data, n);
    assert_int_equal(assay_safetensors_open_bytes(copy, n, &file, NULL), ASSAY_E_FORMAT);
    assay_free(copy);
  }
  assay_buf_reset(&bytes);
}

static void a_bool_of_2_is_refused(void **state) {
  (void)state;
  static const char bytes[] =
      "\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]}} \2";
  assay_safetensors *file = NULL;
  assay_tensor tensor;
  assay_error err = {0};
  if (assay_safetensors_open_bytes(bytes, sizeof bytes - 1, &file, &err)) fail_msg("%s", err.text);
  assert_int_equal(assay_safetensors_read(file, 0, &tensor, &err), ASSAY_E_FORMAT);
  assert_string_equal(err.text, "tensor 'a': bool 0 is stored as 2");
  assay_safetensors_close(file);
}

/* ---- writing
 * ------------------------------------------------------------------------------------- */

static const char *scratch_path(void) {
  static char path[64];
  snprintf(path, sizeof path, "/tmp/assay-safetensors-%ld", (long)getpid());
  return path;
}

/* All tensors of the sample but the float8 one, which assay cannot hold. */
static void fill_map(assay_tensor_map *map) {
  assay_safetensors *file = NULL;
  assert_int_equal(assay_safetensors_open(SAMPLE, &file, NULL), ASSAY_OK);
  for (size_t i = N_SAMPLE; i-- > 0;) { /* in another order than they will be written in */
    assay_tensor tensor;
    if (assay_safetensors_read(file, i, &tensor, NULL)) continue;
    assert_int_equal(assay_tensor_map_add(map, sample[i].name, &tensor, NULL), ASSAY_OK);
  }
  assay_safetensors_close(file);
}

static void written_files_have_the_reference_writers_bytes(void **state) {
  (void)state;
  static const assay_safetensors_pair pairs[] = {{"format", "pt"}, {"k", "v"}};
  assay_tensor_map map = {0};
  assay_buf written = {0}, expected = {0};
  assay_error err = {0};
  fill_map(&map);
  if (assay_safetensors_write(scratch_path(), &map, pairs, 2, &err)) fail_msg("%s", err.text);
  assert_int_equal(assay_file_read(scratch_path(), 1 << 16, &written, NULL), ASSAY_OK);
  assert_int_equal(
      assay_file_read("testdata/safetensors/no_float8.safetensors", 1 << 16, &expected, NULL), 0);
  assert_int_equal(written.size_bytes, expected.size_bytes);
  assert_memory_equal(written.data, expected.data, expected.size_bytes);
  unlink(scratch_path());
  assay_buf_reset(&written);
  assay_buf_reset(&expected);
  assay_tensor_map_reset(&map);
}

static void what_is_written_is_read_again(void **state) {
  (void)state;
  assay_tensor_map map = {0}, again = {0};
  assay_error err = {0};
  fill_map(&map);
  static const char odd_name[] = "quote \" slash \\ newline \n \xc3\xa9 { : , }";
  assay_tensor one;
  assert_int_equal(assay_tensor_init(&one, ASSAY_DTYPE_F64, 0, NULL, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_map_add(&map, odd_name, &one, NULL), ASSAY_OK);
  if (assay_safetensors_write(scratch_path(), &map, NULL, 0, &err)) fail_msg("%s", err.text);
  if (assay_safetensors_read_all(scratch_path(), &again, &err)) fail_msg("%s", err.text);
  assert_int_equal(again.n, map.n);
  for (size_t i = 0; i < map.n; i++) {
    const assay_tensor *a = &map.items[i].tensor,
                       *b = assay_tensor_map_find(&again, map.items[i].name);
    if (b == NULL) fail_msg("'%s' is lost", map.items[i].name);
    assert_true(a->dtype == b->dtype && assay_tensor_same_shape(a, b));
    if (a->size_bytes > 0) assert_memory_equal(a->data, b->data, a->size_bytes);
  }
  unlink(scratch_path());
  assay_tensor_map_reset(&map);
  assay_tensor_map_reset(&again);
}

static void what_the_format_cannot_hold_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *name;
    assay_dtype dtype;
    const char *part;
  } rows[] = {
      {"x", ASSAY_DTYPE_C128, "tensor 'x': safetensors has no type for complex128"},
      {"__metadata__", ASSAY_DTYPE_F32, "cannot be the name of a tensor"},
  };
  for (size_t i = 0; i < 2; i++) {
    assay_tensor_map map = {0};
    assay_tensor tensor;
    assay_error err = {0};
    assert_int_equal(assay_tensor_init(&tensor, rows[i].dtype, 0, NULL, NULL), ASSAY_OK);
    assert_int_equal(assay_tensor_map_add(&map, rows[i].name, &tensor, NULL), ASSAY_OK);
    assert_int_equal(assay_safetensors_write(scratch_path(), &map, NULL, 0, &err),
                     ASSAY_E_ARGUMENT);
    assert_non_null(strstr(err.text, rows[i].part));
    assert_int_equal(assay_path_kind_of(scratch_path()), ASSAY_PATH_NONE);
    assay_tensor_map_reset(&map);
  }
}

static void survives_every_failing_allocation(void **state) {
  (void)state;
  assay_tensor_map map = {0};
  fill_map(&map);
  for (int64_t n = 0;; n++) {
    assay_tensor_map again = {0};
    assay_alloc_fail_after(n);
    assay_status st = assay_safetensors_write(scratch_path(), &map, NULL, 0, NULL);
    if (!st) st = assay_safetensors_read_all(scratch_path(), &again, NULL);
    assay_alloc_fail_after(-1);
    assay_tensor_map_reset(&again);
    if (st == ASSAY_OK) break;
    if (st != ASSAY_E_MEMORY) fail_msg("allocation %lld: %s", (long long)n, assay_status_name(st));
  }
  unlink(scratch_path());
  assay_tensor_map_reset(&map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_sample_is_read),
      cmocka_unit_test(headers_are_checked),
      cmocka_unit_test(lengths_are_checked),
      cmocka_unit_test(a_file_cut_at_every_byte_is_refused),
      cmocka_unit_test(a_bool_of_2_is_refused),
      cmocka_unit_test(written_files_have_the_reference_writers_bytes),
      cmocka_unit_test(what_is_written_is_read_again),
      cmocka_unit_test(what_the_format_cannot_hold_is_refused),
      cmocka_unit_test(survives_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
