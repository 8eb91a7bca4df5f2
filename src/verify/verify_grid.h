/* Tables of text: records of cells, from CSV and from Markdown. */
#ifndef ASSAY_VERIFY_VERIFY_GRID_H
#define ASSAY_VERIFY_VERIFY_GRID_H

#include <stddef.h>

#include "base/status.h"

/* All zeroes is a valid empty one. */
typedef struct assay_verify_grid {
  char **cells; /* of all records, one after another */
  size_t n_cells, cells_cap;
  size_t *ends; /* [n_records] index of the first cell behind each record */
  size_t n_records, records_cap;
} assay_verify_grid;

size_t assay_verify_grid_width(const assay_verify_grid *grid, size_t record);
const char *assay_verify_grid_cell(const assay_verify_grid *grid, size_t record, size_t i);

/* The cell of `record` under the heading `name` of record 0; "" when there is no such column. */
const char *assay_verify_grid_under(const assay_verify_grid *grid, size_t record, const char *name);

/* RFC 4180. Errors: FORMAT (a quote that does not end, bytes behind one), MEMORY. */
assay_status assay_verify_grid_of_csv(const char *text, size_t size_bytes, assay_verify_grid *out,
                                      assay_error *err) ASSAY_NODISCARD;

/* The lines of a Markdown text that are table lines, without those of dashes. Errors: MEMORY. */
assay_status assay_verify_grid_of_markdown(const char *text, assay_verify_grid *out,
                                           assay_error *err) ASSAY_NODISCARD;

void assay_verify_grid_reset(assay_verify_grid *grid);

#endif
