/* Tests of table.c and column.c: every figure is parsed back from CSV and JSON. */
#include "report/table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/test_folder.h"
#include "report/testpack.h"

static const testpack_spec specs[] = {
    {.n_runtimes = 2, .n_bundles = 2, .n_cases = 4, .brought = true},
    {.n_runtimes = 1, .n_bundles = 1, .n_cases = 1, .zero_error = true, .no_samples = true},
    {.n_runtimes = 1,
     .n_bundles = 2,
     .n_cases = 3,
     .huge_error = true,
     .half = true,
     .events = true,
     .device = true,
     .repeated = true,
     .loose = true},
    {.n_runtimes = 1, .n_bundles = 1, .n_cases = 4, .fault = TESTPACK_MISSING, .fault_every = 1},
    {.n_runtimes = 1,
     .n_bundles = 2,
     .n_cases = 3,
     .fault = TESTPACK_NAN,
     .fault_every = 2,
     .device = true,
     .hostile = true},
    {.n_runtimes = 1,
     .n_bundles = 2,
     .n_cases = 3,
     .fault = TESTPACK_CRASHED,
     .fault_every = 2,
     .hostile = true},
};
#define N_SPECS (sizeof specs / sizeof specs[0])

/* The packages are written once; every test opens those that it needs. */
static test_folder packages;

static int write_packages(void **state) {
  (void)state;
  test_folder_open(&packages);
  for (size_t i = 0; i < N_SPECS; i++) {
    assay_error err = {0};
    char name[16];
    (void)snprintf(name, sizeof name, "%zu", i);
    if (testpack_write(&specs[i], test_folder_file(&packages, name), &err)) {
      print_error("%s\n", err.text);
      return -1;
    }
  }
  return 0;
}

static int remove_packages(void **state) {
  (void)state;
  test_folder_close(&packages);
  return 0;
}

static void open_view(size_t i, assay_view *view) {
  assay_error err = {0};
  char name[16];
  (void)snprintf(name, sizeof name, "%zu", i);
  if (assay_view_open(test_folder_file(&packages, name), view, &err)) fail_msg("%s", err.text);
}

/* The next field of an RFC 4180 text into out (unquoted); returns what ended it: ',', '\n' or 0. */
static char next_field(const char **at, char *out, size_t out_bytes) {
  size_t n = 0;
  bool quoted = **at == '"';
  if (quoted) (*at)++;
  while (**at && (quoted || (**at != ',' && **at != '\r'))) {
    if (quoted && **at == '"') {
      if ((*at)[1] != '"') break;
      (*at)++;
    }
    assert_true(n + 1 < out_bytes);
    out[n++] = *(*at)++;
  }
  out[n] = 0;
  if (quoted) assert_int_equal(*(*at)++, '"');
  if (**at == '\r') assert_int_equal(*++(*at), '\n');
  char end = **at;
  if (end) (*at)++;
  return end;
}

/* Text as the CSV shows it: what assay_sink_plain writes, with our quotes taken off. */
static bool same_text(const char *field, const char *text) {
  assay_sink plain = {0};
  assay_sink_plain(&plain, text);
  char bare[4096];
  size_t n = 0;
  char before = ';';
  for (const char *c = field; *c; c++) {
    if (*c == '\'' && before == ';') {
      before = 0;
      continue;
    }
    bare[n++] = *c;
    if (*c != ' ' || before != ';') before = *c;
  }
  bare[n] = 0;
  bool same = strcmp(bare, assay_sink_text(&plain)) == 0;
  assay_sink_reset(&plain);
  return same;
}

static void check_field(const char *field, const assay_cell *cell) {
  char *end = NULL;
  switch (cell->kind) {
  case ASSAY_CELL_ABSENT:
    assert_string_equal(field, "");
    return;
  case ASSAY_CELL_TEXT:
    assert_true(same_text(field, cell->text));
    return;
  case ASSAY_CELL_COUNT:
  case ASSAY_CELL_SIZE:
    assert_int_equal(strtoll(field, &end, 10), cell->count);
    break;
  default: {
    double value = strtod(field, &end);
    assert_true(value == cell->real || (isnan(value) && isnan(cell->real)));
  }
  }
  assert_string_equal(end, "");
  assert_true(end != field);
}

static void csv_parses_back_to_every_figure(void **state) {
  (void)state;
  for (size_t i = 0; i < N_SPECS; i++) {
    assay_view view;
    open_view(i, &view);
    assay_sink csv = {0};
    assay_table_put_csv(&view, &csv);
    const char *at = assay_sink_text(&csv);
    char field[4096];
    for (size_t r = 0; r <= view.n_rows; r++) {
      for (size_t c = 0; c < assay_n_columns; c++) {
        char end = next_field(&at, field, sizeof field);
        assert_int_equal(end, c + 1 < assay_n_columns ? ',' : '\n');
        if (r == 0) {
          assert_string_equal(field, assay_columns[c].name);
        } else {
          assay_cell cell = assay_columns[c].get(&view.rows[r - 1]);
          check_field(field, &cell);
        }
      }
    }
    assert_int_equal(*at, 0);
    assay_sink_reset(&csv);
    assay_view_close(&view);
  }
}

typedef void (*put_csv)(const assay_view *view, assay_sink *sink);

static void no_csv_holds_a_formula_or_a_ragged_line(void **state) {
  (void)state;
  static const put_csv files[] = {assay_table_put_csv, assay_table_put_heads_csv,
                                  assay_table_put_memory_csv, assay_table_put_placement_csv};
  for (size_t i = 0; i < N_SPECS * 4; i++) {
    assay_view view;
    open_view(i / 4, &view);
    assay_sink csv = {0};
    files[i % 4](&view, &csv);
    const char *at = assay_sink_text(&csv);
    char field[4096];
    size_t columns = 0, n = 0;
    while (*at) {
      char end = next_field(&at, field, sizeof field);
      n++;
      bool number = strspn(field, "+-0123456789.einfa") == strlen(field);
      if (!number && strchr("=+-@", field[0]) && field[0]) fail_msg("a formula: %s", field);
      if (end == ',') continue;
      if (columns == 0) columns = n;
      assert_int_equal(n, columns);
      n = 0;
    }
    assay_sink_reset(&csv);
    assay_view_close(&view);
  }
}

static void json_parses_back_to_every_figure(void **state) {
  (void)state;
  for (size_t i = 0; i < N_SPECS; i++) {
    assay_view view;
    open_view(i, &view);
    assay_buf text = {0};
    assay_json *root = NULL;
    assay_error err = {0};
    assert_int_equal(assay_table_json(&view, &text, &err), ASSAY_OK);
    assert_int_equal(assay_json_parse(text.data, text.size_bytes, &root, &err), ASSAY_OK);
    assert_int_equal(assay_json_need_schema(root, "report", 1, &err), ASSAY_OK);
    assert_int_equal(assay_json_bool(assay_json_get(root, "qualified")), view.qualified);
    assert_int_equal(assay_json_len(assay_json_get(root, "reasons")), view.n_reasons);
    const assay_json *rows = assay_json_get(root, "rows");
    assert_int_equal(assay_json_len(rows), view.n_rows);
    for (size_t r = 0; r < view.n_rows; r++) {
      for (size_t c = 0; c < assay_n_columns; c++) {
        assay_cell cell = assay_columns[c].get(&view.rows[r]);
        const assay_json *value = assay_json_get(assay_json_at(rows, r), assay_columns[c].name);
        assert_non_null(value);
        if (cell.kind == ASSAY_CELL_ABSENT)
          assert_int_equal(assay_json_kind_of(value), ASSAY_JSON_NULL);
        if (cell.kind == ASSAY_CELL_TEXT) assert_string_equal(assay_json_string(value), cell.text);
        if (cell.kind == ASSAY_CELL_COUNT || cell.kind == ASSAY_CELL_SIZE)
          assert_int_equal(assay_json_int(value), cell.count);
        if (cell.kind > ASSAY_CELL_SIZE && isfinite(cell.real))
          assert_true(assay_json_real(value) == cell.real);
      }
      assert_int_equal(assay_json_len(assay_json_get(assay_json_at(rows, r), "heads")),
                       view.rows[r].n_heads);
    }
    assay_json_destroy(root);
    assay_buf_reset(&text);
    assay_view_close(&view);
  }
}

static void the_terminal_table_fits_120_columns(void **state) {
  (void)state;
  for (size_t i = 0; i < N_SPECS; i++) {
    assay_view view;
    open_view(i, &view);
    assay_sink sink = {0};
    assay_table_put_text(&view, &sink);
    const char *line = assay_sink_text(&sink);
    size_t lines = 0;
    while (*line) {
      char one[4096];
      size_t n = strcspn(line, "\n");
      (void)snprintf(one, sizeof one, "%.*s", (int)n, line);
      if (assay_sink_plain_width(one) > 120)
        fail_msg("%zu columns: %s", assay_sink_plain_width(one), one);
      lines++;
      line += n + 1;
    }
    assert_true(lines >= view.n_rows + view.n_groups);
    assay_sink_reset(&sink);
    assay_view_close(&view);
  }
}

static void absent_is_never_zero(void **state) {
  (void)state;
  assay_view view;
  open_view(3, &view); /* all missing */
  assay_sink sink = {0};
  assay_table_put_text(&view, &sink);
  assert_non_null(strstr(assay_sink_text(&sink), "FAIL missing"));
  const char *row = strstr(assay_sink_text(&sink), "FAIL missing");
  assert_null(strchr(row, '0') && strchr(row, '0') < strchr(row, '\n') ? row : NULL);
  assay_sink_reset(&sink);
  assay_view_close(&view);
}

static void markdown_has_no_markup_from_outside(void **state) {
  (void)state;
  assay_view view;
  open_view(4, &view); /* hostile */
  assay_sink sink = {0};
  assay_table_put_markdown(&view, &sink);
  size_t columns = 0;
  for (const char *line = assay_sink_text(&sink); *line; line += strcspn(line, "\n") + 1) {
    size_t bars = 0, ticks = 0;
    for (const char *c = line; *c && *c != '\n'; c++) {
      bars += *c == '|' && c[-1] != '\\';
      ticks += *c == '`';
      if (*c == '<') assert_true(ticks > 0); /* inside a code span */
    }
    if (line[0] != '|') {
      columns = 0; /* another table has columns of its own */
      continue;
    }
    if (columns == 0) columns = bars;
    assert_int_equal(bars, columns);
  }
  assay_sink_reset(&sink);
  assay_view_close(&view);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(csv_parses_back_to_every_figure),
      cmocka_unit_test(no_csv_holds_a_formula_or_a_ragged_line),
      cmocka_unit_test(json_parses_back_to_every_figure),
      cmocka_unit_test(the_terminal_table_fits_120_columns),
      cmocka_unit_test(absent_is_never_zero),
      cmocka_unit_test(markdown_has_no_markup_from_outside),
  };
  return cmocka_run_group_tests(tests, write_packages, remove_packages);
}
