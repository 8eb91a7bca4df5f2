/* Tests of cell.c: rounded for people, exact for programs, absent as absent. */
#include "report/cell.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void shows_absent_as_absent(void **state) {
  (void)state;
  assay_cell none = {0}, empty = assay_cell_text("");
  char out[ASSAY_CELL_BYTES];
  assay_cell_read(&none, out);
  assert_string_equal(out, "-");
  assay_cell_exact(&none, out);
  assert_string_equal(out, "");
  assert_int_equal(empty.kind, ASSAY_CELL_ABSENT);
}

static void rounds_for_reading_and_is_exact_for_programs(void **state) {
  (void)state;
  const struct {
    assay_cell cell;
    const char *read, *exact;
  } rows[] = {
      {assay_cell_count(1234567), "1234567", "1234567"},
      {assay_cell_time(0), "0.00000 ns", "0"},
      {assay_cell_time(950), "950.0 ns", "950"},
      {assay_cell_time(1234.5), "1.234 µs", "1234.5"},
      {assay_cell_time(45678901), "45.68 ms", "45678901"},
      {assay_cell_time(3.5e9), "3.500 s", "3500000000"},
      {assay_cell_error(0), "0", "0"},
      {assay_cell_error(1.0 / 3), "3.33e-01", "0.33333333333333331"},
      {assay_cell_error(4.76837158203125e-07), "4.77e-07", "4.76837158203125e-07"},
      {assay_cell_error(HUGE_VAL), "inf", "inf"},
      {assay_cell_error(-HUGE_VAL), "-inf", "-inf"},
      {assay_cell_error(nan("")), "nan", "nan"},
      {assay_cell_ratio(-0.0314159), "-0.031", "-0.031415899999999997"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char out[ASSAY_CELL_BYTES];
    assay_cell_read(&rows[i].cell, out);
    assert_string_equal(out, rows[i].read);
    assay_cell_exact(&rows[i].cell, out);
    assert_string_equal(out, rows[i].exact);
  }
}

static void gives_milliseconds_with_four_digits(void **state) {
  (void)state;
  const struct {
    double ns;
    const char *ms;
  } rows[] = {{12345, "0.01235"},
              {123456, "0.1235"},
              {1234567, "1.235"},
              {12345678, "12.35"},
              {1.5e12, "1500000"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char out[ASSAY_CELL_BYTES];
    assay_cell_read_ms(rows[i].ns, out);
    assert_string_equal(out, rows[i].ms);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shows_absent_as_absent),
      cmocka_unit_test(rounds_for_reading_and_is_exact_for_programs),
      cmocka_unit_test(gives_milliseconds_with_four_digits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
