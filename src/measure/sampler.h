/* Memory sampled while a worker runs: a thread of the campaign's process, outside the worker, reads
 * every source each 10 ms on absolute deadlines. It starts before the worker does and ends after
 * it, and keeps every row. */
#ifndef ASSAY_MEASURE_SAMPLER_H
#define ASSAY_MEASURE_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "measure/mem.h"
#include "measure/mem_summary.h"

#define ASSAY_SAMPLER_INTERVAL_NS INT64_C(10000000)
#define ASSAY_SAMPLER_SLOW_EVERY  10        /* rows between two readings of slow columns */
#define ASSAY_SAMPLER_ROWS_MAX    (1 << 22) /* 11.6 h at 10 ms; what comes later is counted */

/* Zero values mean the defaults above. */
typedef struct assay_sampler_spec {
  int64_t interval_ns;
  size_t max_rows;
  const assay_mem_config *config; /* NULL: the system's own; borrowed by start only */
} assay_sampler_spec;

typedef enum assay_sampler_kind {
  ASSAY_SAMPLER_TIME,       /* "time_ns" */
  ASSAY_SAMPLER_READ,       /* "read_ns" */
  ASSAY_SAMPLER_RSS,        /* "rss_bytes": of the worker */
  ASSAY_SAMPLER_DEVICE,     /* "used_bytes@0000:c1:00.0": of the whole device */
  ASSAY_SAMPLER_OF_PROCESS, /* "worker_bytes@0000:c1:00.0": the worker's part, in every tenth row */
} assay_sampler_kind;

typedef struct assay_sampler_column {
  char name[64];
  assay_sampler_kind kind;
  size_t target;                       /* of targets, for those that have one */
  char reason[ASSAY_MEM_REASON_BYTES]; /* why the last reading that could not be taken was not */
} assay_sampler_column;

typedef struct assay_sampler_target {
  assay_mem_target target;
  assay_mem_activity before, after; /* of devices: before the worker was started, and when it was
                                       gone */
} assay_sampler_target;

/* All zeroes is a valid empty one. */
typedef struct assay_sampler_record {
  int64_t interval_ns;
  int64_t start_ns;         /* CLOCK_MONOTONIC of the first deadline */
  int64_t n_missed;         /* assay_mem_missed */
  int64_t n_dropped;        /* rows beyond max_rows, or for which there was no memory */
  int64_t max_late_ns;      /* largest distance from a deadline to the row that it woke */
  int64_t high_water_bytes; /* of the worker, by the kernel, seen every tenth row: a lower bound of
                               its life's; NONE without */
  assay_sampler_column *columns; /* [n_columns], owned */
  size_t n_columns;
  int64_t *values; /* [n_rows, n_columns] row-major, owned; ASSAY_MEM_NONE where nothing was read */
  size_t n_rows;
  assay_sampler_target *targets; /* [n_targets], owned */
  size_t n_targets;
  assay_mem_absence *absences; /* [n_absences], owned: sources that are not here */
  size_t n_absences;
} assay_sampler_record;

typedef struct assay_sampler assay_sampler;

/* Opens the sources, takes the evidence of before, and starts the thread, which takes no signals.
 * Errors: ARGUMENT (a negative interval), MEMORY, IO (no thread to be had). */
assay_status assay_sampler_start(const assay_sampler_spec *spec, assay_sampler **out,
                                 assay_error *err) ASSAY_NODISCARD;

/* The worker is this process. Once; from any thread. */
void assay_sampler_attach(assay_sampler *sampler, int64_t pid);

/* Ends the thread (within an interval), takes the evidence of after, and hands over what there is,
 * to be released with assay_sampler_record_reset. The sampler is gone. */
void assay_sampler_stop(assay_sampler *sampler, assay_sampler_record *out);

void assay_sampler_record_reset(assay_sampler_record *record);

#endif
