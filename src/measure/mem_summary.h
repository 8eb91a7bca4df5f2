/* What a series of memory samples says, by phase (rule 5). Works from arrays alone, so that a
 * reader of the package derives the same figures again. */
#ifndef ASSAY_MEASURE_MEM_SUMMARY_H
#define ASSAY_MEASURE_MEM_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

/* The first two columns of every row of samples. */
#define ASSAY_MEM_COLUMN_TIME 0 /* CLOCK_MONOTONIC ns, before the row was read */
#define ASSAY_MEM_COLUMN_READ 1 /* ns that reading the row took */
#define ASSAY_MEM_COLUMNS_MIN 2

/* Marks of the worker, CLOCK_MONOTONIC ns; 0: it did not come so far. */
typedef struct assay_mem_marks {
  int64_t session_ns; /* the session is about to be created */
  int64_t warm_ns;    /* the first call is done */
  int64_t end_ns;     /* the last call is done */
} assay_mem_marks;

/* Figures of one column; ASSAY_MEM_NONE for one that no sample gives. A row belongs to a phase when
 * some of its reading falls into it, and to the baseline when all of it came before the session.
 * Peaks are lower bounds: what came and went between two samples is not in them. */
typedef struct assay_mem_figures {
  int64_t n_values;       /* rows with a value */
  int64_t n_baseline;     /* of them, before the session */
  int64_t n_first;        /* from the session to the end of the first call */
  int64_t n_warm;         /* from there to the end of the last call */
  int64_t baseline_bytes; /* the last value before the session */
  int64_t peak_first_bytes;
  int64_t peak_warm_bytes;
  int64_t peak_bytes; /* of all rows */
} assay_mem_figures;

/* values [n_rows, n_columns] row-major, borrowed; column >= ASSAY_MEM_COLUMNS_MIN. */
void assay_mem_summarise(const int64_t *values, size_t n_rows, size_t n_columns, size_t column,
                         const assay_mem_marks *marks, assay_mem_figures *out);

/* Deadlines start_ns + k * interval_ns, k >= 0, up to that of the last row, for which no row was
 * begun before the next one was due. */
int64_t assay_mem_missed(const int64_t *values, size_t n_rows, size_t n_columns, int64_t start_ns,
                         int64_t interval_ns);

#endif
