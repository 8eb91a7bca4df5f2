/* Tests of tensor.c and hash.c. Digests come from coreutils' sha256sum. */
#include "base/tensor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/test_folder.h"

static void shapes_are_counted_with_care(void **state) {
  (void)state;
  static const struct {
    int64_t dims[3];
    int rank;
    assay_status status;
    size_t count;
  } rows[] = {
      {{0}, 0, ASSAY_OK, 1},
      {{2, 3, 4}, 3, ASSAY_OK, 24},
      {{0, 5, 0}, 2, ASSAY_OK, 0},
      {{0, INT64_C(1) << 40, 1}, 3, ASSAY_OK, 0},
      {{0, INT64_C(1) << 41, 1}, 3, ASSAY_E_LIMIT, 0},
      {{INT64_C(1) << 32, INT64_C(1) << 32, 1}, 3, ASSAY_E_LIMIT, 0},
      {{INT64_C(1) << 62, 2, 1}, 3, ASSAY_E_LIMIT, 0},
      {{2, -1, 0}, 3, ASSAY_E_ARGUMENT, 0},
      {{0}, -1, ASSAY_E_ARGUMENT, 0},
      {{0}, 65, ASSAY_E_ARGUMENT, 0},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    size_t count = 99;
    assay_status st = assay_shape_count(rows[i].dims, rows[i].rank, &count, NULL);
    if (st != rows[i].status || (st == ASSAY_OK && count != rows[i].count)) {
      fail_msg("row %zu: %s, %zu", i, assay_status_name(st), count);
    }
  }
}

static void shapes_are_written_short(void **state) {
  (void)state;
  char text[256];
  assay_shape_text((int64_t[]){2, 300, 17}, 3, text, sizeof text);
  assert_string_equal(text, "[2,300,17]");
  assay_shape_text(NULL, 0, text, sizeof text);
  assert_string_equal(text, "[]");
  char small[6];
  assay_shape_text((int64_t[]){2, 300, 17}, 3, small, sizeof small);
  assert_string_equal(small, "[2,30");
}

static void tensors_own_view_and_copy(void **state) {
  (void)state;
  int64_t dims[] = {2, 3};
  float values[6] = {0, 1, 2, 3, 4, 5};
  assay_tensor own = {0}, view = {0}, copy = {0};
  assert_int_equal(assay_tensor_init(&own, ASSAY_DTYPE_F32, 2, dims, NULL), ASSAY_OK);
  assert_int_equal(own.n_elems, 6);
  assert_int_equal(own.size_bytes, 24);
  assert_int_equal((uintptr_t)own.data % 64, 0);
  assert_true(assay_tensor_f32(&own)[5] == 0.0f);
  assert_int_equal(assay_tensor_init_view(&view, ASSAY_DTYPE_F32, 2, dims, values, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_copy(&copy, &view, NULL), ASSAY_OK);
  values[1] = 9;
  assert_true(assay_tensor_get_real(&view, 1) == 9.0);
  assert_true(assay_tensor_get_real(&copy, 1) == 1.0);
  assert_true(assay_tensor_same_shape(&own, &copy));
  copy.dims[1] = 2;
  assert_false(assay_tensor_same_shape(&own, &copy));
  assay_tensor_reset(&own);
  assay_tensor_reset(&view);
  assay_tensor_reset(&copy);
  assert_null(own.data);
  assay_tensor_reset(NULL);
}

static void an_empty_tensor_has_no_data(void **state) {
  (void)state;
  assay_tensor t = {0};
  assert_int_equal(assay_tensor_init(&t, ASSAY_DTYPE_I64, 2, (int64_t[]){0, 4}, NULL), ASSAY_OK);
  assert_null(t.data);
  assert_int_equal(t.size_bytes, 0);
  assay_tensor_reset(&t);
  assert_int_equal(assay_tensor_init(&t, ASSAY_DTYPE_STRING, 0, NULL, NULL), ASSAY_E_ARGUMENT);
  assert_int_equal(assay_tensor_init_view(&t, ASSAY_DTYPE_F32, 0, NULL, NULL, NULL),
                   ASSAY_E_ARGUMENT);
  int64_t huge = INT64_C(1) << 61;
  assert_int_equal(assay_tensor_init(&t, ASSAY_DTYPE_F64, 1, &huge, NULL), ASSAY_E_LIMIT);
}

static void elements_are_read_as_reals(void **state) {
  (void)state;
  union {
    uint8_t u8[8];
    int8_t i8[8];
    uint16_t u16[4];
    int16_t i16[4];
    uint32_t u32[2];
    int32_t i32[2];
    uint64_t u64;
    int64_t i64;
    double f64;
  } v;
  memset(&v, 0xff, sizeof v);
  static const struct {
    assay_dtype dtype;
    double value;
  } rows[] = {
      {ASSAY_DTYPE_U8, 255},     {ASSAY_DTYPE_I8, -1},  {ASSAY_DTYPE_U16, 65535},
      {ASSAY_DTYPE_I16, -1},     {ASSAY_DTYPE_I32, -1}, {ASSAY_DTYPE_U32, 4294967295.0},
      {ASSAY_DTYPE_U64, 0x1p64}, {ASSAY_DTYPE_I64, -1}, {ASSAY_DTYPE_BOOL, 1},
  };
  int64_t one = 1;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_tensor t = {0};
    assert_int_equal(assay_tensor_init_view(&t, rows[i].dtype, 1, &one, &v, NULL), ASSAY_OK);
    if (assay_tensor_get_real(&t, 0) != rows[i].value)
      fail_msg("%s", assay_dtype_name(rows[i].dtype));
  }
  v.u16[0] = 0x3e00; /* 1.5 as half */
  assay_tensor t = {0};
  assert_int_equal(assay_tensor_init_view(&t, ASSAY_DTYPE_F16, 1, &one, &v, NULL), ASSAY_OK);
  assert_true(assay_tensor_get_real(&t, 0) == 1.5);
  v.u16[0] = 0x3fc0; /* 1.5 as bfloat16 */
  assert_int_equal(assay_tensor_init_view(&t, ASSAY_DTYPE_BF16, 1, &one, &v, NULL), ASSAY_OK);
  assert_true(assay_tensor_get_real(&t, 0) == 1.5);
  assert_int_equal(assay_tensor_init_view(&t, ASSAY_DTYPE_C64, 1, &one, &v, NULL), ASSAY_OK);
  assert_true(isnan(assay_tensor_get_real(&t, 0)));
}

static void add(assay_tensor_map *map, const char *name, float value) {
  assay_tensor t = {0};
  assert_int_equal(assay_tensor_init(&t, ASSAY_DTYPE_F32, 0, NULL, NULL), ASSAY_OK);
  assay_tensor_f32(&t)[0] = value;
  assert_int_equal(assay_tensor_map_add(map, name, &t, NULL), ASSAY_OK);
  assert_null(t.data);
}

static void a_map_keeps_order_and_finds_all(void **state) {
  (void)state;
  assay_tensor_map map = {0};
  assert_null(assay_tensor_map_find(&map, "x"));
  char name[32];
  for (int i = 0; i < 1000; i++) {
    snprintf(name, sizeof name, "layer.%d.weight", i);
    add(&map, name, (float)i);
  }
  for (int i = 0; i < 1000; i++) {
    snprintf(name, sizeof name, "layer.%d.weight", i);
    assert_string_equal(map.items[i].name, name);
    assert_ptr_equal(assay_tensor_map_find(&map, name), &map.items[i].tensor);
  }
  assert_null(assay_tensor_map_find(&map, "layer.1000.weight"));
  assay_tensor taken = {0};
  assay_error err = {0};
  assert_int_equal(assay_tensor_init(&taken, ASSAY_DTYPE_F32, 0, NULL, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_map_add(&map, "layer.7.weight", &taken, &err), ASSAY_E_ARGUMENT);
  assert_string_equal(err.text, "there is an array named 'layer.7.weight' already");
  assert_non_null(taken.data); /* still the caller's */
  assay_tensor_reset(&taken);
  assay_tensor_map_reset(&map);
  assay_tensor_map_reset(NULL);
}

static void a_map_survives_running_out_of_memory(void **state) {
  (void)state;
  for (int n = 0; n < 6; n++) {
    assay_tensor_map map = {0};
    for (int i = 0; i < 8; i++) add(&map, (char[]){(char)('a' + i), 0}, 1.0f);
    assay_tensor t = {0};
    assert_int_equal(assay_tensor_init(&t, ASSAY_DTYPE_F32, 0, NULL, NULL), ASSAY_OK);
    assay_alloc_fail_after(n);
    assay_status st = assay_tensor_map_add(&map, "new", &t, NULL);
    assay_alloc_fail_after(-1);
    assert_true(st == ASSAY_OK || st == ASSAY_E_MEMORY);
    assert_true((st == ASSAY_OK) == (n >= 3)); /* items, slots, name */
    assert_int_equal(map.n, st == ASSAY_OK ? 9 : 8);
    assert_non_null(assay_tensor_map_find(&map, "h"));
    assay_tensor_reset(&t);
    assay_tensor_map_reset(&map);
  }
}

/* printf 'a\x00\x00\x80\x3fb_query\x00\x00\x00\x40c\x00\x00\x40\x40' | sha256sum, and without
 * b_query. */
static void a_map_is_hashed_sorted_by_name(void **state) {
  (void)state;
  static const char all[] = "966759860d715183e4ee0991f66f6e40b2a007198a48d30089daaf8aeefd0865";
  static const char some[] = "bc3dc9e4c64f7488ad107ebdb9cb8a8c00b07ba52a10a52538913dddbd777753";
  assay_tensor_map map = {0};
  add(&map, "c", 3.0f);
  add(&map, "a", 1.0f);
  add(&map, "b_query", 2.0f);
  char hex[65];
  assert_int_equal(assay_tensor_map_sha256(&map, NULL, hex, NULL), ASSAY_OK);
  assert_string_equal(hex, all);
  assert_int_equal(assay_tensor_map_sha256(&map, "_query", hex, NULL), ASSAY_OK);
  assert_string_equal(hex, some);
  assay_tensor_map_reset(&map);
}

static void sha256_is_that_of_the_standard(void **state) {
  (void)state;
  char hex[ASSAY_SHA256_HEX_BYTES];
  assert_int_equal(assay_sha256_bytes("abc", 3, hex, NULL), ASSAY_OK);
  assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_int_equal(assay_sha256_bytes(NULL, 0, hex, NULL), ASSAY_OK);
  assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void a_file_is_hashed_with_its_size(void **state) {
  (void)state;
  test_folder folder;
  test_folder_open(&folder);
  char *million = assay_alloc(1000000);
  memset(million, 'a', 1000000);
  const char *path = test_folder_file(&folder, "a");
  assert_int_equal(assay_file_write(path, million, 1000000, NULL), ASSAY_OK);
  char hex[ASSAY_SHA256_HEX_BYTES];
  uint64_t size_bytes = 0;
  assert_int_equal(assay_sha256_file(path, hex, &size_bytes, NULL), ASSAY_OK);
  /* FIPS 180-2, appendix B.3 */
  assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  assert_int_equal(size_bytes, 1000000);
  assay_error err = {0};
  assert_int_equal(assay_sha256_file(folder.path, hex, NULL, &err), ASSAY_E_IO);
  assert_non_null(strstr(err.text, "is a folder"));
  assay_free(million);
  test_folder_close(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_are_counted_with_care),
      cmocka_unit_test(shapes_are_written_short),
      cmocka_unit_test(tensors_own_view_and_copy),
      cmocka_unit_test(an_empty_tensor_has_no_data),
      cmocka_unit_test(elements_are_read_as_reals),
      cmocka_unit_test(a_map_keeps_order_and_finds_all),
      cmocka_unit_test(a_map_survives_running_out_of_memory),
      cmocka_unit_test(a_map_is_hashed_sorted_by_name),
      cmocka_unit_test(sha256_is_that_of_the_standard),
      cmocka_unit_test(a_file_is_hashed_with_its_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
