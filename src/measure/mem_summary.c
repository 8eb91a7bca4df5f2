/* Figures of memory samples by phase. */
#include "measure/mem_summary.h"

#include <stdbool.h>

#include "measure/mem.h"

static void raise_to(int64_t *peak, int64_t value) {
  if (value > *peak) *peak = value; /* NONE is below every value */
}

/* One row into the figures. Marks that were not reached lie after everything. */
static void take_row(int64_t begin_ns, int64_t end_ns, int64_t value, const assay_mem_marks *marks,
                     assay_mem_figures *out) {
  int64_t session_ns = marks->session_ns > 0 ? marks->session_ns : INT64_MAX;
  int64_t warm_ns = marks->warm_ns > 0 ? marks->warm_ns : INT64_MAX;
  int64_t last_ns = marks->end_ns > 0 ? marks->end_ns : INT64_MAX;
  out->n_values++;
  raise_to(&out->peak_bytes, value);
  if (end_ns < session_ns) {
    out->n_baseline++;
    out->baseline_bytes = value;
  }
  if (end_ns >= session_ns && begin_ns < warm_ns) {
    out->n_first++;
    raise_to(&out->peak_first_bytes, value);
  }
  if (end_ns >= warm_ns && begin_ns < last_ns) {
    out->n_warm++;
    raise_to(&out->peak_warm_bytes, value);
  }
}

void assay_mem_summarise(const int64_t *values, size_t n_rows, size_t n_columns, size_t column,
                         const assay_mem_marks *marks, assay_mem_figures *out) {
  *out = (assay_mem_figures){.baseline_bytes = ASSAY_MEM_NONE,
                             .peak_first_bytes = ASSAY_MEM_NONE,
                             .peak_warm_bytes = ASSAY_MEM_NONE,
                             .peak_bytes = ASSAY_MEM_NONE};
  for (size_t i = 0; i < n_rows; i++) {
    const int64_t *row = values + i * n_columns;
    int64_t begin_ns = row[ASSAY_MEM_COLUMN_TIME], end_ns;
    if (row[column] < 0) continue;
    if (__builtin_add_overflow(begin_ns, row[ASSAY_MEM_COLUMN_READ], &end_ns)) continue;
    take_row(begin_ns, end_ns, row[column], marks, out);
  }
}

int64_t assay_mem_missed(const int64_t *values, size_t n_rows, size_t n_columns, int64_t start_ns,
                         int64_t interval_ns) {
  int64_t due = 0, missed = 0; /* number of the deadline that comes next */
  for (size_t i = 0; i < n_rows; i++) {
    int64_t since_ns;
    int64_t time_ns = values[i * n_columns + ASSAY_MEM_COLUMN_TIME];
    if (__builtin_sub_overflow(time_ns, start_ns, &since_ns) || since_ns < 0) continue;
    int64_t at = since_ns / interval_ns; /* the deadline that this row keeps */
    if (at > due) missed += at - due;
    if (at >= due) due = at + 1;
  }
  return missed;
}
