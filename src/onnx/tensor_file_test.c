#include "onnx/tensor_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"

/* TensorProto: 1 dims, 2 data_type, 3 segment, 4 float_data, 5 int32_data, 6 string_data,
 * 7 int64_data, 8 name, 9 raw_data, 10 double_data, 11 uint64_data, 13 external_data,
 * 14 data_location. A tag is the field times 8, and 2 where a length follows. */
typedef struct bytes {
  const char *data;
  size_t n;
} bytes;
#define BYTES(text)                                                                                \
  { text, sizeof text - 1 }

static assay_status parse(bytes b, char **name, assay_tensor *out, assay_error *err) {
  /* memory of its own, so that a read past the end is seen */
  char *copy = malloc(b.n + 1);
  assert_non_null(copy);
  memcpy(copy, b.data, b.n);
  const assay_status st = assay_onnx_tensor_parse(copy, b.n, name, out, err);
  free(copy);
  return st;
}

static void reads_every_way_to_hold_elements(void **state) {
  (void)state;
  static const struct {
    const char *what;
    bytes file;
    assay_dtype dtype;
    int rank;
    int64_t dims[3];
    const char *name;
    bytes values;
  } CASES[] = {
      {"raw float32",
       BYTES("\x08\x02\x10\x01\x42\x01x\x4a\x08\0\0\x80\x3f\0\0\0\xc0"),
       ASSAY_DTYPE_F32,
       1,
       {2},
       "x",
       BYTES("\0\0\x80\x3f\0\0\0\xc0")},
      {"float_data",
       BYTES("\x08\x02\x10\x01\x22\x08\0\0\x80\x3f\0\0\0\xc0"),
       ASSAY_DTYPE_F32,
       1,
       {2},
       "",
       BYTES("\0\0\x80\x3f\0\0\0\xc0")},
      {"float_data, one by one",
       BYTES("\x08\x02\x10\x01\x25\0\0\x80\x3f\x25\0\0\0\xc0"),
       ASSAY_DTYPE_F32,
       1,
       {2},
       "",
       BYTES("\0\0\x80\x3f\0\0\0\xc0")},
      {"float16 bits in int32_data",
       BYTES("\x08\x02\x10\x0a\x2a\x05\x80\x7c\x80\x80\x03"),
       ASSAY_DTYPE_F16,
       1,
       {2},
       "",
       BYTES("\x00\x3e\x00\xc0")},
      {"int8 in int32_data",
       BYTES("\x08\x01\x10\x03\x2a\x0a\x80\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
       ASSAY_DTYPE_I8,
       1,
       {1},
       "",
       BYTES("\x80")},
      {"bool in int32_data",
       BYTES("\x08\x02\x10\x09\x2a\x02\x00\x01"),
       ASSAY_DTYPE_BOOL,
       1,
       {2},
       "",
       BYTES("\x00\x01")},
      {"int32_data",
       BYTES("\x08\x01\x10\x06\x2a\x02\xac\x02"),
       ASSAY_DTYPE_I32,
       1,
       {1},
       "",
       BYTES("\x2c\x01\0\0")},
      {"uint32 in uint64_data",
       BYTES("\x08\x01\x10\x0c\x5a\x05\xff\xff\xff\xff\x0f"),
       ASSAY_DTYPE_U32,
       1,
       {1},
       "",
       BYTES("\xff\xff\xff\xff")},
      {"uint64_data",
       BYTES("\x08\x01\x10\x0d\x5a\x01\x07"),
       ASSAY_DTYPE_U64,
       1,
       {1},
       "",
       BYTES("\x07\0\0\0\0\0\0\0")},
      {"int64_data",
       BYTES("\x08\x01\x10\x07\x3a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
       ASSAY_DTYPE_I64,
       1,
       {1},
       "",
       BYTES("\xff\xff\xff\xff\xff\xff\xff\xff")},
      {"double_data",
       BYTES("\x08\x01\x10\x0b\x52\x08\0\0\0\0\0\0\xf0\x3f"),
       ASSAY_DTYPE_F64,
       1,
       {1},
       "",
       BYTES("\0\0\0\0\0\0\xf0\x3f")},
      {"complex64 in float_data",
       BYTES("\x08\x01\x10\x0e\x22\x08\0\0\x80\x3f\0\0\0\xc0"),
       ASSAY_DTYPE_C64,
       1,
       {1},
       "",
       BYTES("\0\0\x80\x3f\0\0\0\xc0")},
      {"packed dims, raw uint8",
       BYTES("\x0a\x02\x01\x02\x10\x02\x4a\x02\x05\x06"),
       ASSAY_DTYPE_U8,
       2,
       {1, 2},
       "",
       BYTES("\x05\x06")},
      {"a packed dimension that is a brace",
       BYTES("\x0a\x01\x7b\x10\x02\x4a\x7b"
             "0123456789012345678901234567890123456789"
             "0123456789012345678901234567890123456789"
             "0123456789012345678901234567890123456789012"),
       ASSAY_DTYPE_U8,
       1,
       {123},
       "",
       {NULL, 0}},
      {"a scalar",
       BYTES("\x10\x01\x4a\x04\0\0\x80\x3f"),
       ASSAY_DTYPE_F32,
       0,
       {0},
       "",
       BYTES("\0\0\x80\x3f")},
      {"no elements", BYTES("\x08\x00\x08\x04\x10\x01"), ASSAY_DTYPE_F32, 2, {0, 4}, "", {NULL, 0}},
  };
  for (size_t i = 0; i < N_OF(CASES); i++) {
    assay_error err = {0};
    assay_tensor t = {0};
    char *name = NULL;
    if (parse(CASES[i].file, &name, &t, &err)) fail_msg("%s: %s", CASES[i].what, err.text);
    assert_int_equal(t.dtype, CASES[i].dtype);
    assert_int_equal(t.rank, CASES[i].rank);
    for (int k = 0; k < t.rank; k++) assert_int_equal(t.dims[k], CASES[i].dims[k]);
    assert_string_equal(name, CASES[i].name);
    if (CASES[i].values.n > 0) {
      assert_int_equal(t.size_bytes, CASES[i].values.n);
      if (memcmp(t.data, CASES[i].values.data, t.size_bytes) != 0)
        fail_msg("%s: other values", CASES[i].what);
    }
    assay_tensor_reset(&t);
    assay_free(name);
  }
}

#define ONES                                                                                       \
  "\x08\x01\x08\x01\x08\x01\x08\x01\x08\x01\x08\x01\x08\x01\x08\x01" /* eight dimensions of 1 */

static void refuses_what_contradicts_itself(void **state) {
  (void)state;
  static const struct {
    bytes file;
    assay_status status;
    const char *text;
  } CASES[] = {
      {BYTES(""), ASSAY_E_FORMAT, "the file is empty"},
      {BYTES("version https://git-lfs.github.com/spec/v1\n"), ASSAY_E_FORMAT, "git lfs pull"},
      {BYTES("PK\x03\x04....."), ASSAY_E_FORMAT, "not an ONNX tensor but a zip archive"},
      {BYTES("hello, world"), ASSAY_E_FORMAT, "not an ONNX file"},
      {BYTES("\x08\x02"), ASSAY_E_FORMAT, "no element type"},
      {BYTES("\x08\x01\x10\x11\x4a\x01\x00"), ASSAY_E_UNSUPPORTED, "element type 17"},
      {BYTES("\x08\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ASSAY_E_UNSUPPORTED,
       "element type -1"},
      {BYTES("\x08\x01\x10\x08\x32\x02hi"), ASSAY_E_UNSUPPORTED, "strings"},
      {BYTES("\x08\x01\x10\x01\x6a\x0d\x0a\x08location\x12\x01x\x70\x01"), ASSAY_E_UNSUPPORTED,
       "another file"},
      {BYTES("\x08\x01\x10\x01\x1a\x00\x4a\x04\0\0\0\0"), ASSAY_E_UNSUPPORTED, "segment"},
      {BYTES("\x08\x02\x10\x01\x4a\x04\0\0\0\0"), ASSAY_E_FORMAT,
       "float32 [2] takes 8 bytes, found 4"},
      {BYTES("\x08\x01\x10\x01\x4a\x04\0\0\0\0\x22\x04\0\0\0\0"), ASSAY_E_FORMAT,
       "its elements twice"},
      {BYTES("\x08\x02\x10\x01\x22\x04\0\0\0\0"), ASSAY_E_FORMAT, "has 2 elements, found 1"},
      {BYTES("\x08\x01\x10\x01\x22\x04\0\0\0\0\x3a\x01\x00"), ASSAY_E_FORMAT,
       "has 1 elements, found 2"},
      {BYTES("\x08\x01\x10\x01\x3a\x01\x00"), ASSAY_E_FORMAT, "has 1 elements, found 1"},
      {BYTES("\x08\x01\x10\x0e\x22\x04\0\0\0\0"), ASSAY_E_FORMAT, "has 1 elements, found 1"},
      {BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x01"), ASSAY_E_ARGUMENT,
       "dimension 0 is -1"},
      {BYTES("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x10\x10\x01"), ASSAY_E_FORMAT, "found 0"},
      {BYTES("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40\x08\x40\x10\x01"), ASSAY_E_LIMIT,
       "too many elements"},
      {BYTES(ONES ONES ONES ONES ONES ONES ONES ONES "\x08\x01\x10\x01\x4a\x04\0\0\0\0"),
       ASSAY_E_LIMIT, "dimensions, at most"},
      {BYTES("\x08\x01\x10\x09\x4a\x01\x02"), ASSAY_E_FORMAT, "element 0 is none of type bool"},
      {BYTES("\x08\x01\x10\x09\x2a\x01\x02"), ASSAY_E_FORMAT, "element 0 is none of type bool"},
      {BYTES("\x08\x01\x10\x02\x2a\x02\x80\x02"), ASSAY_E_FORMAT, "none of type uint8"},
      {BYTES("\x08\x01\x10\x03\x2a\x02\x80\x01"), ASSAY_E_FORMAT, "none of type int8"},
      {BYTES("\x08\x01\x10\x0a\x2a\x03\x80\x80\x04"), ASSAY_E_FORMAT, "none of type float16"},
      {BYTES("\x08\x01\x10\x0c\x5a\x05\x80\x80\x80\x80\x10"), ASSAY_E_FORMAT,
       "none of type uint32"},
  };
  for (size_t i = 0; i < N_OF(CASES); i++) {
    assay_error err = {0};
    assay_tensor t = {0};
    char *name = NULL;
    const assay_status st = parse(CASES[i].file, &name, &t, &err);
    if (st != CASES[i].status || strstr(err.text, CASES[i].text) == NULL)
      fail_msg("%zu: got %s '%s', expected %s with '%s'", i, assay_status_name(st), err.text,
               assay_status_name(CASES[i].status), CASES[i].text);
    assert_null(name);
    assert_null(t.data);
  }
}

static const char *const FILES[] = {"f16_int32_data.pb", "float_data.pb", "input_0_raw.pb",
                                    "int64_data.pb"};

static char *path_of(const char *file) {
  char *path = assay_path_join("testdata/tensors", file);
  assert_non_null(path);
  return path;
}

/* As the package onnx wrote them. */
static void reads_what_onnx_writes(void **state) {
  (void)state;
  static const char *const NAMES[] = {"h", "y", "x", "z"};
  static const double VALUES[][6] = {{1.5, -2}, {1.5, -2}, {0, 1, 2, 3, 4, 5}, {1, -1, 300}};
  for (size_t i = 0; i < N_OF(FILES); i++) {
    assay_error err = {0};
    assay_tensor t = {0};
    char *name = NULL, *path = path_of(FILES[i]);
    if (assay_onnx_tensor_read(path, &name, &t, &err)) fail_msg("%s", err.text);
    assert_string_equal(name, NAMES[i]);
    for (size_t k = 0; k < t.n_elems; k++)
      assert_true(assay_tensor_get_real(&t, k) == VALUES[i][k]);
    assay_tensor_reset(&t);
    assay_free(name);
    assay_free(path);
  }
}

/* Every file cut at every byte, and with every byte changed: read or refused, never more. */
static void damaged_files_are_read_or_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(FILES); i++) {
    assay_error err = {0};
    assay_buf whole = {0};
    char *path = path_of(FILES[i]);
    if (assay_file_read(path, 4096, &whole, &err)) fail_msg("%s", err.text);
    for (size_t at = 0; at < 256 * whole.size_bytes; at++) {
      bytes b = {(const char *)whole.data,
                 at / 256 + (at % 256 == 0 ? 0 : whole.size_bytes - at / 256)};
      assay_tensor t = {0};
      char *name = NULL;
      whole.data[at / 256] ^= (uint8_t)at;
      if (parse(b, &name, &t, /*err=*/NULL) == ASSAY_OK) {
        assay_tensor_reset(&t);
        assay_free(name);
      }
      whole.data[at / 256] ^= (uint8_t)at;
    }
    assay_buf_reset(&whole);
    assay_free(path);
  }
}

static void running_out_of_memory_is_reported(void **state) {
  (void)state;
  char *path = path_of(FILES[2]);
  for (int64_t n = 0;; n++) {
    assay_error err = {0};
    assay_tensor t = {0};
    char *name = NULL;
    assay_alloc_fail_after(n);
    const assay_status st = assay_onnx_tensor_read(path, &name, &t, &err);
    assay_alloc_fail_after(-1);
    if (st == ASSAY_OK) {
      assert_true(n > 4);
      assay_tensor_reset(&t);
      assay_free(name);
      break;
    }
    if (st != ASSAY_E_MEMORY) fail_msg("allocation %lld: %s", (long long)n, err.text);
  }
  assay_free(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_every_way_to_hold_elements),
      cmocka_unit_test(refuses_what_contradicts_itself),
      cmocka_unit_test(reads_what_onnx_writes),
      cmocka_unit_test(damaged_files_are_read_or_refused),
      cmocka_unit_test(running_out_of_memory_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
