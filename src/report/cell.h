/* Figures as cells of tables: one value with its kind, written rounded for reading or exactly for
 * programs. */
#ifndef ASSAY_REPORT_CELL_H
#define ASSAY_REPORT_CELL_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "report/sink.h"

typedef enum assay_cell_kind {
  ASSAY_CELL_ABSENT, /* shown as absent everywhere, never as zero */
  ASSAY_CELL_TEXT,
  ASSAY_CELL_COUNT, /* a whole number without unit, in `count` */
  ASSAY_CELL_SIZE,  /* bytes, in `count`; of a difference it may be negative */
  ASSAY_CELL_TIME,  /* ns, in `real` or, when whole, from an int64 below 2^53 */
  ASSAY_CELL_ERROR, /* an absolute error or a ratio over many decades, in `real`; may be infinite or
                       NaN */
  ASSAY_CELL_RATIO, /* a plain number of order one, in `real` */
} assay_cell_kind;

/* All zeroes is an absent cell. */
typedef struct assay_cell {
  assay_cell_kind kind;
  const char *text; /* from outside, borrowed */
  int64_t count;
  double real;
} assay_cell;

assay_cell assay_cell_text(const char *text); /* NULL or "": absent */
assay_cell assay_cell_count(int64_t count);
assay_cell assay_cell_size(int64_t bytes);
assay_cell assay_cell_time(double ns);
assay_cell assay_cell_error(double value);
assay_cell assay_cell_ratio(double value);

#define ASSAY_CELL_BYTES 64

/* Rounded for reading: "1.234 ms", "43.26 MiB", "4.77e-07", "0.031", "absent" as "-"; texts are not
 * written (out is ""). */
void assay_cell_read(const assay_cell *cell, char out[ASSAY_CELL_BYTES]);

/* Exact: 17 significant digits, times in ns, sizes in bytes; "" when absent; "inf", "-inf", "nan".
 */
void assay_cell_exact(const assay_cell *cell, char out[ASSAY_CELL_BYTES]);

/* A time in milliseconds with four significant digits, without its unit, for columns. */
void assay_cell_read_ms(double ns, char out[ASSAY_CELL_BYTES]);
/* The same of a size in MiB (2^20 bytes). */
void assay_cell_read_mib(int64_t bytes, char out[ASSAY_CELL_BYTES]);

/* A number with as few digits as give it back: "0.003". */
void assay_cell_shortest(double value, char out[ASSAY_CELL_BYTES]);

void assay_cell_put_csv(const assay_cell *cell, assay_sink *sink);
void assay_cell_put_markdown(const assay_cell *cell, assay_sink *sink);
void assay_cell_put_json(const assay_cell *cell, assay_json_builder *b, const char *key);

#endif
