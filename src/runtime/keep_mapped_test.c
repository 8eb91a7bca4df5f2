/* Tests of keep_mapped.c on a small library of the build. */
#include "runtime/keep_mapped.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

static bool is_mapped(void) {
  void *handle = dlopen(TEST_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != NULL) dlclose(handle);
  return handle != NULL;
}

static void open_and_close(bool keep) {
  void *handle = dlopen(TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(handle);
  assert_true(is_mapped());
  if (keep) assay_keep_mapped();
  assert_int_equal(dlclose(handle), 0);
}

static void a_library_that_is_kept_outlives_its_last_handle(void **state) {
  (void)state;
  assert_false(is_mapped());
  open_and_close(/*keep=*/false);
  assert_false(is_mapped());
  open_and_close(/*keep=*/true);
  assert_true(is_mapped());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_library_that_is_kept_outlives_its_last_handle),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
