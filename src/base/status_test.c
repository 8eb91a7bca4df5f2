/* Tests of status.c: the first failure stays, messages are one safe line. */
#include "base/status.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void the_first_failure_is_kept(void **state) {
  (void)state;
  assay_error err = {0};
  assert_int_equal(assay_fail(&err, ASSAY_E_FORMAT, "%d of %s", 3, "x"), ASSAY_E_FORMAT);
  assert_int_equal(assay_fail(&err, ASSAY_E_IO, "later"), ASSAY_E_IO);
  assert_int_equal(err.status, ASSAY_E_FORMAT);
  assert_string_equal(err.text, "3 of x");
}

static void context_goes_in_front_and_only_of_a_failure(void **state) {
  (void)state;
  assay_error err = {0};
  assay_error_in(&err, "nothing failed");
  assert_int_equal(err.status, ASSAY_OK);
  assert_string_equal(err.text, "");
  (void)assay_fail(&err, ASSAY_E_FORMAT, "cut");
  assay_error_in(&err, "entry '%s'", "a");
  assay_error_in(&err, "'f.npz'");
  assert_string_equal(err.text, "'f.npz': entry 'a': cut");
}

static void no_error_to_write_to_is_fine(void **state) {
  (void)state;
  assert_int_equal(assay_fail(NULL, ASSAY_E_LIMIT, "x"), ASSAY_E_LIMIT);
  assert_int_equal(assay_fail_errno(NULL, ASSAY_E_IO, ENOENT, "x"), ASSAY_E_IO);
  assay_error_in(NULL, "x");
}

static void the_systems_words_come_last(void **state) {
  (void)state;
  assay_error err = {0};
  (void)assay_fail_errno(&err, ASSAY_E_IO, ENOSPC, "could not write '%s'", "a");
  assert_string_equal(err.text, "could not write 'a': No space left on device");
}

static void a_full_disk_has_a_status_of_its_own(void **state) {
  (void)state;
  static const int disk[] = {ENOSPC, EDQUOT, EFBIG, EIO}, other[] = {ENOENT, EACCES, EROFS};
  for (size_t i = 0; i < sizeof disk / sizeof disk[0]; i++) {
    assay_error err = {0};
    assert_int_equal(assay_fail_errno(&err, ASSAY_E_IO, disk[i], "x"), ASSAY_E_DISK);
    assert_int_equal(err.status, ASSAY_E_DISK);
    assert_int_equal(assay_fail_errno(NULL, ASSAY_E_IO, disk[i], "x"), ASSAY_E_DISK);
    assert_int_equal(assay_fail_errno(NULL, ASSAY_E_MISSING, disk[i], "x"), ASSAY_E_MISSING);
  }
  for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
    assert_int_equal(assay_fail_errno(NULL, ASSAY_E_IO, other[i], "x"), ASSAY_E_IO);
}

static void arguments_cannot_break_the_line(void **state) {
  (void)state;
  assay_error err = {0};
  (void)assay_fail(&err, ASSAY_E_IO, "'%s'", "a\nassay: all is well\x1b[2J\xff");
  assert_string_equal(err.text, "'a\\x0aassay: all is well\\x1b[2J\\xff'");
}

static void a_long_text_is_cut_with_dots(void **state) {
  (void)state;
  char name[3 * ASSAY_ERROR_TEXT_BYTES];
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  assay_error err = {0};
  (void)assay_fail(&err, ASSAY_E_IO, "%s", name);
  assert_int_equal(strlen(err.text), ASSAY_ERROR_TEXT_BYTES - 1);
  assert_string_equal(err.text + ASSAY_ERROR_TEXT_BYTES - 4, "...");
  assay_error_in(&err, "front");
  assert_int_equal(strncmp(err.text, "front: xxx", 10), 0);
  assert_string_equal(err.text + ASSAY_ERROR_TEXT_BYTES - 4, "...");
}

static void every_status_has_name_and_text(void **state) {
  (void)state;
  assert_string_equal(assay_status_name(ASSAY_OK), "OK");
  assert_string_equal(assay_status_text(ASSAY_OK), "success");
  assert_string_equal(assay_status_name(ASSAY_E_ARGUMENT), "ARGUMENT");
  assert_string_equal(assay_status_name(ASSAY_E_INTERNAL), "INTERNAL");
  assert_string_equal(assay_status_text(ASSAY_E_MEMORY), "out of memory");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_failure_is_kept),
      cmocka_unit_test(context_goes_in_front_and_only_of_a_failure),
      cmocka_unit_test(no_error_to_write_to_is_fine),
      cmocka_unit_test(the_systems_words_come_last),
      cmocka_unit_test(a_full_disk_has_a_status_of_its_own),
      cmocka_unit_test(arguments_cannot_break_the_line),
      cmocka_unit_test(a_long_text_is_cut_with_dots),
      cmocka_unit_test(every_status_has_name_and_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
