/* Tests of alloc.c and buf.c: zeroed and aligned memory, checked sizes, failing on demand,
 * ceilings. */
#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

static void memory_is_zeroed_and_aligned(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, 100000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    uint8_t *block = assay_alloc(sizes[i]);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % 64, 0);
    for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(block[k], 0);
    assay_free(block);
  }
  assay_free(NULL);
}

static void impossible_sizes_give_null(void **state) {
  (void)state;
  assert_null(assay_alloc(SIZE_MAX));
  assert_null(assay_alloc((size_t)1 << 50)); /* more than any machine has */
  assert_null(assay_alloc_array(SIZE_MAX / 2, 3));
}

static void sizes_are_checked(void **state) {
  (void)state;
  size_t out = 7;
  assert_true(assay_size_mul(6, 7, &out));
  assert_int_equal(out, 42);
  assert_false(assay_size_mul(SIZE_MAX, 2, &out));
  assert_false(assay_size_add(SIZE_MAX, 1, &out));
  assert_int_equal(out, 42);
  assert_true(assay_size_add(SIZE_MAX - 1, 1, &out));
  assert_true(out == SIZE_MAX);
}

static void the_chosen_allocation_fails_and_all_after_it(void **state) {
  (void)state;
  assay_alloc_fail_after(2);
  void *a = assay_alloc(8), *b = assay_alloc_plain(8);
  assert_non_null(a);
  assert_non_null(b);
  assert_null(assay_alloc(8));
  assert_null(assay_strdup("x"));
  assert_null(assay_alloc_plain(8));
  assay_alloc_fail_after(-1);
  void *c = assay_alloc(8);
  assert_non_null(c);
  assay_free(a);
  assay_free(b);
  assay_free(c);
}

static void arrays_grow_where_they_are_full(void **state) {
  (void)state;
  assay_error err = {0};
  size_t cap = 0;
  int *items = NULL;
  for (int n = 0; n < 100; n++) {
    int *grown = assay_grown(items, &cap, (size_t)n, sizeof *items, &err);
    assert_non_null(grown);
    assert_true(cap > (size_t)n);
    items = grown;
    assert_int_equal(items[n], 0);
    items[n] = n;
  }
  for (int n = 0; n < 100; n++) assert_int_equal(items[n], n);
  assert_int_equal(cap, 128);
  assert_ptr_equal(assay_grown(items, &cap, 127, sizeof *items, &err), items); /* has room */
  assay_alloc_fail_after(0);
  assert_null(assay_grown(items, &cap, 128, sizeof *items, &err));
  assay_alloc_fail_after(-1);
  assert_int_equal(err.status, ASSAY_E_MEMORY);
  assert_int_equal(cap, 128);
  assert_int_equal(items[99], 99);
  size_t huge = SIZE_MAX / 4;
  assert_null(assay_grown(items, &huge, huge, sizeof(int64_t), NULL)); /* the product overflows */
  assert_int_equal(huge, SIZE_MAX / 4);
  assay_free(items);
}

static void resize_keeps_what_fits_and_zeroes_the_rest(void **state) {
  (void)state;
  void *block = NULL;
  assert_int_equal(assay_resize(&block, 0, 4, NULL), ASSAY_OK);
  memcpy(block, "abcd", 4);
  assert_int_equal(assay_resize(&block, 4, 8, NULL), ASSAY_OK);
  assert_memory_equal(block, "abcd\0\0\0\0", 8);
  assert_int_equal(assay_resize(&block, 8, 2, NULL), ASSAY_OK);
  assert_memory_equal(block, "ab", 2);
  void *before = block;
  assay_error err = {0};
  assay_alloc_fail_after(0);
  assert_int_equal(assay_resize(&block, 2, 100, &err), ASSAY_E_MEMORY);
  assay_alloc_fail_after(-1);
  assert_string_equal(err.text, "could not allocate 100 bytes");
  assert_ptr_equal(block, before);
  assay_free(block);
}

static void texts_are_copied(void **state) {
  (void)state;
  char *a = assay_strdup("abc"), *b = assay_strndup("abc", 2), *c = assay_format("%s-%d", "x", 12);
  assert_string_equal(a, "abc");
  assert_string_equal(b, "ab");
  assert_string_equal(c, "x-12");
  assert_null(assay_strdup(NULL));
  assert_null(assay_strndup(NULL, 3));
  assay_free(a);
  assay_free(b);
  assay_free(c);
}

static void a_buffer_grows_and_ends_in_a_zero(void **state) {
  (void)state;
  assay_buf buf = {0};
  assert_string_equal(assay_buf_text(&buf), "");
  for (int i = 0; i < 1000; i++) {
    assert_int_equal(assay_buf_appendf(&buf, NULL, "%d,", i), ASSAY_OK);
    assert_int_equal(strlen((char *)buf.data), buf.size_bytes);
  }
  assert_int_equal(buf.size_bytes, 10 * 2 + 90 * 3 + 900 * 4);
  assert_int_equal(strncmp(assay_buf_text(&buf), "0,1,2,3,", 8), 0);
  assay_buf_reset(&buf);
  assert_int_equal(buf.size_bytes, 0);
  assay_buf_reset(NULL);
}

static void a_buffer_stops_at_its_ceiling(void **state) {
  (void)state;
  assay_buf buf = {.max_bytes = 5};
  assay_error err = {0};
  assert_int_equal(assay_buf_append_text(&buf, "abcde", &err), ASSAY_OK);
  assert_int_equal(assay_buf_append_text(&buf, "f", &err), ASSAY_E_LIMIT);
  assert_string_equal(err.text, "6 bytes are more than the limit of 5");
  assert_string_equal(assay_buf_text(&buf), "abcde");
  assay_buf_reset(&buf);
  assert_int_equal(buf.max_bytes, 5);
}

static void a_buffer_survives_running_out_of_memory(void **state) {
  (void)state;
  assay_buf buf = {0};
  assert_int_equal(assay_buf_append_text(&buf, "abc", NULL), ASSAY_OK);
  char large[200];
  memset(large, 'x', sizeof large);
  assay_error err = {0};
  assay_alloc_fail_after(0);
  assert_int_equal(assay_buf_append(&buf, large, sizeof large, &err), ASSAY_E_MEMORY);
  assay_alloc_fail_after(-1);
  uint8_t *to;
  assert_int_equal(assay_buf_reserve(&buf, SIZE_MAX - 1, &to, NULL), ASSAY_E_MEMORY);
  assert_string_equal(assay_buf_text(&buf), "abc");
  assay_buf_reset(&buf);
}

static void reserved_bytes_are_the_callers(void **state) {
  (void)state;
  assay_buf buf = {0};
  uint8_t *to;
  assert_int_equal(assay_buf_reserve(&buf, 300, &to, NULL), ASSAY_OK);
  memset(to, 'y', 300);
  buf.size_bytes += 300;
  assert_int_equal(strlen(assay_buf_text(&buf)), 300);
  assay_buf_reset(&buf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_zeroed_and_aligned),
      cmocka_unit_test(impossible_sizes_give_null),
      cmocka_unit_test(sizes_are_checked),
      cmocka_unit_test(the_chosen_allocation_fails_and_all_after_it),
      cmocka_unit_test(arrays_grow_where_they_are_full),
      cmocka_unit_test(resize_keeps_what_fits_and_zeroes_the_rest),
      cmocka_unit_test(texts_are_copied),
      cmocka_unit_test(a_buffer_grows_and_ends_in_a_zero),
      cmocka_unit_test(a_buffer_stops_at_its_ceiling),
      cmocka_unit_test(a_buffer_survives_running_out_of_memory),
      cmocka_unit_test(reserved_bytes_are_the_callers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
