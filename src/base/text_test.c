/* Tests of text.c. */
#include "base/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

static void the_nearest_name_is_suggested(void **state) {
  (void)state;
  static const char *const names[] = {"provider-option", "iterations", "seed", "atol", "rtol", "o"};
  static const struct {
    const char *word, *nearest;
  } rows[] = {
      {"iteration", "iterations"},
      {"ITERATIONS", "iterations"},
      {"provider_option", "provider-option"},
      {"provideroptions", "provider-option"},
      {"sed", "seed"},
      {"tolerance", NULL},
      {"xyz", NULL},
      {"", NULL},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    const char *found = assay_text_nearest(rows[i].word, names, N_OF(names));
    bool same = found == NULL || rows[i].nearest == NULL ? found == rows[i].nearest
                                                         : strcmp(found, rows[i].nearest) == 0;
    if (!same) fail_msg("'%s': '%s'", rows[i].word, found != NULL ? found : "(none)");
  }
  assert_null(assay_text_nearest("seed", NULL, 0));
}

static void integers_are_read_whole(void **state) {
  (void)state;
  int64_t value = 0;
  assert_int_equal(assay_text_parse_int("-12", "x", -20, 20, &value, NULL), ASSAY_OK);
  assert_int_equal(value, -12);
  assert_int_equal(
      assay_text_parse_int("9223372036854775807", "x", INT64_MIN, INT64_MAX, &value, NULL),
      ASSAY_OK);
  assert_true(value == INT64_MAX);
  static const char *const wrong[] = {
      "", " 1", "1 ", "1.0", "0x10", "+", "-", "1e3", "21", "9223372036854775808", "--1", "1,000"};
  for (size_t i = 0; i < N_OF(wrong); i++) {
    assay_error err = {0};
    value = 5;
    if (assay_text_parse_int(wrong[i], "--n", 0, 20, &value, &err) != ASSAY_E_ARGUMENT) {
      fail_msg("'%s' was read as %lld", wrong[i], (long long)value);
    }
    assert_int_equal(value, 5);
  }
  assay_error err = {0};
  assert_int_equal(assay_text_parse_int("21", "--n", 0, 20, &value, &err), ASSAY_E_ARGUMENT);
  assert_string_equal(err.text, "--n: expected an integer from 0 to 20, found '21'");
}

static void unsigned_integers_are_read_whole(void **state) {
  (void)state;
  static const char *const wrong[] = {"", "-1", "-0", " 1", "1x", "18446744073709551616"};
  uint64_t value = 0;
  assert_int_equal(assay_text_parse_u64("0", "x", &value, NULL), ASSAY_OK);
  assert_true(value == 0);
  assert_int_equal(assay_text_parse_u64("18446744073709551615", "x", &value, NULL), ASSAY_OK);
  assert_true(value == UINT64_MAX);
  for (size_t i = 0; i < N_OF(wrong); i++) {
    assay_error err = {0};
    if (assay_text_parse_u64(wrong[i], "--n", &value, &err) != ASSAY_E_ARGUMENT)
      fail_msg("'%s' was read as %llu", wrong[i], (unsigned long long)value);
    assert_true(value == UINT64_MAX);
    assert_non_null(strstr(err.text, "from 0 to 18446744073709551615"));
  }
}

static void reals_are_read_whole(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double value;
  } rows[] = {{"1e-3", 1e-3}, {"3", 3.0}, {".5", 0.5}, {"5.", 5.0}, {"-2.5E+2", -250.0}};
  for (size_t i = 0; i < N_OF(rows); i++) {
    double value = 0;
    assert_int_equal(assay_text_parse_real(rows[i].text, "x", -HUGE_VAL, HUGE_VAL, &value, NULL),
                     ASSAY_OK);
    assert_true(value == rows[i].value);
  }
  static const char *const wrong[] = {"",   ".",  "e5",  "1e",    "nan", "inf", "0x1p3",
                                      "1 ", " 1", "1,5", "1e999", "--1", "1e5x"};
  for (size_t i = 0; i < N_OF(wrong); i++) {
    double value = 0;
    if (assay_text_parse_real(wrong[i], "x", -HUGE_VAL, HUGE_VAL, &value, NULL) !=
        ASSAY_E_ARGUMENT) {
      fail_msg("'%s' was read as %g", wrong[i], value);
    }
  }
  assay_error err = {0};
  double value;
  assert_int_equal(assay_text_parse_real("-1", "--atol", 0, 1, &value, &err), ASSAY_E_ARGUMENT);
  assert_string_equal(err.text, "--atol: expected a finite number from 0 to 1, found '-1'");
}

static void prefixes_and_suffixes_are_found(void **state) {
  (void)state;
  assert_true(assay_text_has_prefix("abc", "ab"));
  assert_false(assay_text_has_prefix("a", "ab"));
  assert_true(assay_text_has_suffix("x.npy", ".npy"));
  assert_true(assay_text_has_suffix(".npy", ".npy"));
  assert_false(assay_text_has_suffix("npy", ".npy"));
}

static void utf8_is_strict(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t n;
    bool good;
  } rows[] = {
      {"", 0, true},
      {"abc", 3, true},
      {"a\0b", 3, true},
      {"\xc3\xa9", 2, true},
      {"\xe2\x82\xac", 3, true},
      {"\xf0\x9f\x98\x80", 4, true},
      {"\xf4\x8f\xbf\xbf", 4, true},
      {"\xc3", 1, false},             /* cut */
      {"\xe2\x82", 2, false},         /* cut */
      {"\x80", 1, false},             /* continuation alone */
      {"\xc0\x80", 2, false},         /* overlong */
      {"\xe0\x80\x80", 3, false},     /* overlong */
      {"\xf0\x80\x80\x80", 4, false}, /* overlong */
      {"\xed\xa0\x80", 3, false},     /* surrogate */
      {"\xf4\x90\x80\x80", 4, false}, /* beyond U+10FFFF */
      {"\xff", 1, false},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    if (assay_text_is_utf8(rows[i].text, rows[i].n) != rows[i].good) fail_msg("row %zu", i);
  }
}

static void printable_text_is_safe_and_fits(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t room;
    const char *out;
  } rows[] = {
      {"abc", 100, "abc"},
      {"a\tb\x7f", 100, "a\\x09b\\x7f"},
      {"\xc3\xa9", 100, "\xc3\xa9"},
      {"\xc2\x9b", 100, "\\xc2\\x9b"},          /* C1: a control sequence introducer */
      {"\xe2\x80\xae", 100, "\\xe2\\x80\\xae"}, /* right-to-left override */
      {"\xff\xfe", 100, "\\xff\\xfe"},
      {"abcdef", 7, "abcdef"},
      {"abcdefg", 7, "abc..."},
      {"abcd\n", 7, "abc..."}, /* an escape is never cut in two */
      {"ab\xe2\x82\xac"
       "cdef",
       8, "ab..."}, /* nor a character */
      {"abc", 1, ""},
      {"abc", 3, ".."},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    char out[100];
    assay_text_printable(rows[i].text, out, rows[i].room);
    if (strcmp(out, rows[i].out) != 0) fail_msg("row %zu: '%s', not '%s'", i, out, rows[i].out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_nearest_name_is_suggested),    cmocka_unit_test(integers_are_read_whole),
      cmocka_unit_test(unsigned_integers_are_read_whole), cmocka_unit_test(reals_are_read_whole),
      cmocka_unit_test(prefixes_and_suffixes_are_found),  cmocka_unit_test(utf8_is_strict),
      cmocka_unit_test(printable_text_is_safe_and_fits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
