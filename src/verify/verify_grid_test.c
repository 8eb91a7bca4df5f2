/* CSV and Markdown cells. */
#include "verify/verify_grid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void reads_quotes_commas_and_new_lines(void **state) {
  (void)state;
  static const char text[] = "a,b\r\n\"x, \"\"y\"\"\",\r\n1,\"two\nlines\"\r\n";
  assay_verify_grid grid = {0};
  assert_int_equal(assay_verify_grid_of_csv(text, strlen(text), &grid, NULL), ASSAY_OK);
  assert_int_equal(grid.n_records, 3);
  assert_int_equal(assay_verify_grid_width(&grid, 1), 2);
  assert_string_equal(assay_verify_grid_under(&grid, 1, "a"), "x, \"y\"");
  assert_string_equal(assay_verify_grid_under(&grid, 1, "b"), "");
  assert_string_equal(assay_verify_grid_under(&grid, 2, "b"), "two\nlines");
  assert_string_equal(assay_verify_grid_under(&grid, 2, "c"), "");
  assay_verify_grid_reset(&grid);
}

static void refuses_quotes_without_an_end(void **state) {
  (void)state;
  static const char *const texts[] = {"\"", "a,\"b", "\"a\"b,c\r\n", "a\rb\n"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    assay_verify_grid grid = {0};
    if (assay_verify_grid_of_csv(texts[i], strlen(texts[i]), &grid, NULL) != ASSAY_E_FORMAT)
      fail_msg("'%s' was read", texts[i]);
  }
}

static void reads_rows_of_markdown(void **state) {
  (void)state;
  assay_verify_grid grid = {0};
  assert_int_equal(assay_verify_grid_of_markdown(
                       "**X**\n\n| A | B |\n| --- | --- |\n| `a\\|b` | – |\nend\n", &grid, NULL),
                   ASSAY_OK);
  assert_int_equal(grid.n_records, 2);
  assert_int_equal(assay_verify_grid_width(&grid, 1), 2);
  assert_string_equal(assay_verify_grid_cell(&grid, 1, 0), "`a\\|b`");
  assert_string_equal(assay_verify_grid_cell(&grid, 1, 1), "–");
  assay_verify_grid_reset(&grid);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_quotes_commas_and_new_lines),
      cmocka_unit_test(refuses_quotes_without_an_end),
      cmocka_unit_test(reads_rows_of_markdown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
