/* Numbers in sentences. */
#include "verify/verify_words.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void numbers_must_be_known(void **state) {
  (void)state;
  static const long double known[] = {3, 18, 1.25L, -0.00012207L, 9007199254740993.0L, HUGE_VALL};
  static const struct {
    const char *text, *bad; /* NULL: all are known */
  } cases[] = {
      {"3 of 18 elements over tolerance, worst at 3: got 1.25", NULL},
      {"3 of 19 elements", "19"},
      {"got -0.00012207, reference inf", NULL},
      {"got 0.00012207", "0.00012207"},
      {"head 'layer.7/4' against f32: 3", NULL}, /* names and words are none */
      {"Conv2D on float64", NULL},
      {"9007199254740993", NULL},
      {"9007199254740992", "9007199254740992"},
      {"1.25e+03 times", "1.25e+03"},
      {"infinite nano", NULL},
      {"", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char bad[64] = "";
    bool agree = assay_verify_words_agree(cases[i].text, known, 6, bad, sizeof bad);
    if (agree != (cases[i].bad == NULL)) fail_msg("'%s': '%s'", cases[i].text, bad);
    if (!agree) assert_string_equal(bad, cases[i].bad);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_must_be_known)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
