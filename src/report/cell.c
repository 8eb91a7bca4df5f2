/* One value, many spellings. */
#include "report/cell.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

assay_cell assay_cell_text(const char *text) {
  return (assay_cell){.kind = text && *text ? ASSAY_CELL_TEXT : ASSAY_CELL_ABSENT, .text = text};
}

assay_cell assay_cell_count(int64_t count) {
  return (assay_cell){.kind = ASSAY_CELL_COUNT, .count = count};
}

assay_cell assay_cell_size(int64_t bytes) {
  return (assay_cell){.kind = ASSAY_CELL_SIZE, .count = bytes};
}

assay_cell assay_cell_time(double ns) {
  return (assay_cell){.kind = ASSAY_CELL_TIME, .real = ns};
}

assay_cell assay_cell_error(double value) {
  return (assay_cell){.kind = ASSAY_CELL_ERROR, .real = value};
}

assay_cell assay_cell_ratio(double value) {
  return (assay_cell){.kind = ASSAY_CELL_RATIO, .real = value};
}

/* Four significant digits without an exponent: 0.01234, 1.234, 123.4, 1234, 123456. */
static void read_four_digits(double value, char out[ASSAY_CELL_BYTES]) {
  double size = fabs(value);
  int decimals = size >= 1000  ? 0
                 : size >= 100 ? 1
                 : size >= 10  ? 2
                 : size >= 1   ? 3
                 : size >= 0.1 ? 4
                               : 5;
  (void)snprintf(out, ASSAY_CELL_BYTES, "%.*f", decimals, value);
}

static void read_non_finite(double value, char out[ASSAY_CELL_BYTES]) {
  (void)snprintf(out, ASSAY_CELL_BYTES, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
}

void assay_cell_read_ms(double ns, char out[ASSAY_CELL_BYTES]) {
  if (!isfinite(ns)) {
    read_non_finite(ns, out);
  } else {
    read_four_digits(ns / 1e6, out);
  }
}

void assay_cell_read_mib(int64_t bytes, char out[ASSAY_CELL_BYTES]) {
  if (bytes == 0) {
    (void)snprintf(out, ASSAY_CELL_BYTES, "0");
  } else {
    read_four_digits((double)bytes / (1 << 20), out);
  }
}

static void read_time(double ns, char out[ASSAY_CELL_BYTES]) {
  static const struct {
    double ns;
    const char *unit;
  } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {0, "ns"}};
  size_t u = 0;
  while (fabs(ns) < units[u].ns) u++;
  read_four_digits(units[u].ns > 0 ? ns / units[u].ns : ns, out);
  size_t used = strlen(out);
  (void)snprintf(out + used, ASSAY_CELL_BYTES - used, " %s", units[u].unit);
}

void assay_cell_read(const assay_cell *cell, char out[ASSAY_CELL_BYTES]) {
  out[0] = 0;
  switch (cell->kind) {
  case ASSAY_CELL_ABSENT:
    (void)snprintf(out, ASSAY_CELL_BYTES, "-");
    return;
  case ASSAY_CELL_TEXT:
    return;
  case ASSAY_CELL_COUNT:
    (void)snprintf(out, ASSAY_CELL_BYTES, "%" PRId64, cell->count);
    return;
  case ASSAY_CELL_SIZE:
    assay_cell_read_mib(cell->count, out);
    (void)strcat(out, " MiB");
    return;
  case ASSAY_CELL_TIME:
  case ASSAY_CELL_ERROR:
  case ASSAY_CELL_RATIO:
    break;
  }
  if (!isfinite(cell->real)) {
    read_non_finite(cell->real, out);
  } else if (cell->kind == ASSAY_CELL_TIME) {
    read_time(cell->real, out);
  } else if (cell->kind == ASSAY_CELL_RATIO) {
    (void)snprintf(out, ASSAY_CELL_BYTES, "%.3f", cell->real);
  } else {
    (void)snprintf(out, ASSAY_CELL_BYTES, cell->real == 0 ? "0" : "%.2e", cell->real);
  }
}

void assay_cell_exact(const assay_cell *cell, char out[ASSAY_CELL_BYTES]) {
  out[0] = 0;
  switch (cell->kind) {
  case ASSAY_CELL_ABSENT:
  case ASSAY_CELL_TEXT:
    return;
  case ASSAY_CELL_COUNT:
  case ASSAY_CELL_SIZE:
    (void)snprintf(out, ASSAY_CELL_BYTES, "%" PRId64, cell->count);
    return;
  case ASSAY_CELL_TIME:
  case ASSAY_CELL_ERROR:
  case ASSAY_CELL_RATIO:
    break;
  }
  if (isfinite(cell->real)) {
    (void)snprintf(out, ASSAY_CELL_BYTES, "%.17g", cell->real);
  } else {
    read_non_finite(cell->real, out);
  }
}

void assay_cell_shortest(double value, char out[ASSAY_CELL_BYTES]) {
  for (int digits = 1; digits <= 17; digits++) {
    (void)snprintf(out, ASSAY_CELL_BYTES, "%.*g", digits, value);
    if (strtod(out, NULL) == value) return;
  }
}

void assay_cell_put_csv(const assay_cell *cell, assay_sink *sink) {
  char exact[ASSAY_CELL_BYTES];
  if (cell->kind == ASSAY_CELL_TEXT) {
    assay_sink_csv(sink, cell->text);
    return;
  }
  assay_cell_exact(cell, exact);
  assay_sink_put(sink, exact);
}

void assay_cell_put_markdown(const assay_cell *cell, assay_sink *sink) {
  char read[ASSAY_CELL_BYTES];
  if (cell->kind == ASSAY_CELL_TEXT) {
    assay_sink_markdown(sink, cell->text);
    return;
  }
  assay_cell_read(cell, read);
  assay_sink_put(sink, cell->kind == ASSAY_CELL_ABSENT ? "–" : read);
}

void assay_cell_put_json(const assay_cell *cell, assay_json_builder *b, const char *key) {
  switch (cell->kind) {
  case ASSAY_CELL_ABSENT:
    assay_json_put_null(b, key);
    return;
  case ASSAY_CELL_COUNT:
  case ASSAY_CELL_SIZE:
    assay_json_put_int(b, key, cell->count);
    return;
  case ASSAY_CELL_TEXT: {
    /* A builder refuses bytes that are not UTF-8; names from outside may hold them. */
    assay_sink text = {0};
    if (assay_text_is_utf8(cell->text, strlen(cell->text))) {
      assay_sink_put(&text, cell->text);
    } else {
      assay_sink_plain(&text, cell->text);
    }
    assay_json_put_string(b, key, assay_sink_text(&text));
    assay_sink_reset(&text);
    return;
  }
  case ASSAY_CELL_TIME:
  case ASSAY_CELL_ERROR:
  case ASSAY_CELL_RATIO:
    break;
  }
  assay_json_put_number(b, key, cell->real);
}
