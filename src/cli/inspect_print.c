/* Printing for `assay inspect`: safe texts, sizes, lines with a label, tables that line up. */
#include "cli/inspect.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define LABEL_COLUMNS 12
#define COLUMNS_MAX   8 /* of a table */

const char *inspect_safe(const char *text, char out[INSPECT_TEXT_BYTES]) {
  assay_text_printable(text == NULL ? "" : text, out, INSPECT_TEXT_BYTES);
  return out;
}

const char *inspect_size(uint64_t size_bytes, char out[INSPECT_TEXT_BYTES]) {
  static const struct {
    uint64_t unit_bytes;
    const char *unit;
  } rows[] = {{1000000000, "GB"}, {1000000, "MB"}, {1000, "kB"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (size_bytes < rows[i].unit_bytes) continue;
    double value = (double)size_bytes / (double)rows[i].unit_bytes;
    snprintf(out, INSPECT_TEXT_BYTES, value < 100 ? "%.2f %s" : "%.0f %s", value, rows[i].unit);
    return out;
  }
  snprintf(out, INSPECT_TEXT_BYTES, "%llu byte%s", (unsigned long long)size_bytes,
           size_bytes == 1 ? "" : "s");
  return out;
}

void inspect_put_text(assay_json_builder *json, const char *key, const char *text) {
  char safe[INSPECT_TEXT_BYTES];
  bool is_utf8 = text == NULL || assay_text_is_utf8(text, strlen(text));
  assay_json_put_string(json, key, is_utf8 ? text : inspect_safe(text, safe));
}

void inspect_line(const char *label, const char *format, ...) {
  va_list args;
  va_start(args, format);
  printf("  %-*s ", LABEL_COLUMNS, label);
  vprintf(format, args);
  putchar('\n');
  va_end(args);
}

/* ---- tables -------------------------------------------------------------------------------------
 */

static assay_status grow(inspect_table *table) {
  char **cells = assay_grown(table->cells, &table->cap, table->n, sizeof *cells, NULL);
  if (cells == NULL) return ASSAY_E_MEMORY;
  table->cells = cells;
  return ASSAY_OK;
}

void inspect_table_add(inspect_table *table, const char *format, ...) {
  char raw[INSPECT_TEXT_BYTES], safe[INSPECT_TEXT_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(raw, sizeof raw, format, args);
  va_end(args);
  char *cell = assay_strdup(inspect_safe(raw, safe));
  if (cell == NULL || grow(table)) {
    assay_free(cell);
    table->failed = true;
    return;
  }
  table->cells[table->n++] = cell;
}

/* Columns that a text takes on a terminal: its characters. */
static size_t columns_of(const char *text) {
  size_t n = 0;
  for (; *text != '\0'; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
  return n;
}

/* Or nothing. */
static bool is_number(const char *text) {
  return strspn(text, "0123456789.+-eE") == strlen(text);
}

typedef struct column {
  size_t width;
  bool right; /* numbers only */
} column;

static column measure(const inspect_table *table, size_t col) {
  column c = {.right = true};
  size_t n_digits = 0;
  for (size_t i = col; i < table->n; i += table->n_cols) {
    size_t width = columns_of(table->cells[i]);
    if (width > c.width) c.width = width;
    n_digits += width;
    /* The first row may be the head of the table. */
    if (i >= table->n_cols && !is_number(table->cells[i])) c.right = false;
  }
  c.right = c.right && n_digits > 0 && table->n > table->n_cols;
  return c;
}

static void print_row(const inspect_table *table, const column *columns, size_t row) {
  size_t pending = 0; /* spaces held back, so that no line ends in them */
  for (size_t col = 0; col < table->n_cols; col++) {
    const char *cell = table->cells[row * table->n_cols + col];
    size_t padding = columns[col].width - columns_of(cell);
    if (columns[col].right) pending += padding;
    if (*cell != '\0') {
      printf("%*s%s", (int)pending, "", cell);
      pending = 0;
    }
    if (!columns[col].right) pending += padding;
    pending += 2;
  }
  putchar('\n');
}

void inspect_table_print(inspect_table *table, const char *label) {
  column columns[COLUMNS_MAX];
  assert(table->n_cols <= COLUMNS_MAX);
  for (size_t col = 0; col < table->n_cols; col++) columns[col] = measure(table, col);
  for (size_t row = 0; row < table->n / table->n_cols; row++) {
    printf("  %-*s ", LABEL_COLUMNS, row == 0 ? label : "");
    print_row(table, columns, row);
  }
  if (table->failed) printf("  (memory ran out: some of this is missing)\n");
  inspect_table_reset(table);
}

void inspect_table_reset(inspect_table *table) {
  for (size_t i = 0; i < table->n; i++) assay_free(table->cells[i]);
  assay_free(table->cells);
  *table = (inspect_table){.n_cols = table->n_cols};
}
