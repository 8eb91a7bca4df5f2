/* The "memory" member of result.json (result.h): what a timing run used, sampled from outside its
 * worker while it ran. memory.npy beside result.json has every sample: int64 [n_rows, 2 + columns],
 * row by row time_ns (CLOCK_MONOTONIC, before the row was read), read_ns (that reading it took),
 * and then "columns" in their order; -1 where there was no reading.
 *
 * null where it was not asked for (a placement run, or `assay run --no-memory`), otherwise
 * {
 *   "reason": null | "…",              why nothing was sampled: then all below is zero or empty
 *   "interval_ns": 10000000, "start_ns": 1,      deadlines are start + k * interval
 *   "n_rows": 1, "n_missed": 0,        deadlines up to the last row's that have no row of their own
 *   "n_dropped": 0,                    rows that there was no room for
 *   "max_late_ns": 1,                  largest distance from a deadline to the row that it woke
 *   "session_ns": 1 | null, "warm_ns": 1 | null, "end_ns": 1 | null,
 *                                      the worker's marks, on the same clock: the session is about
 *                                      to be created; the first call is done; the last call is
 *                                      done; null where it did not come so far
 *   "peak_rule": "…",                  sampled peaks are lower bounds
 *   "rss_meaning": "…", "rss_slack_bytes": 0 | null,   by how much the kernel's counters may be off
 *   "columns": [
 *     {"name": "rss_bytes" | "used_bytes@<key>" | "worker_bytes@<key>",
 *      "device": null | "<key>",       null: the worker process
 *      "reason": null | "…",           why the last reading that could not be taken was not
 *      "n_values": 1, "n_baseline": 1, "n_first": 1, "n_warm": 1,      rows with a value, by phase
 *      "baseline_bytes": 1 | null,     the last value before the session
 *      "peak_first_bytes": 1 | null,   largest from there to the end of the first call
 *      "peak_warm_bytes": 1 | null,    largest from there to the end of the last call
 *      "peak_bytes": 1 | null,         largest of all rows
 *      "high_water_bytes": 1 | null,   of the process's life: the kernel's mark, or a sample above
 *                                      what it was when it was last looked at
 *      "first_above_bytes": 1 | null, "warm_above_bytes": 1 | null, "peak_above_bytes": 1 | null}
 *   ],                                 peaks less the baseline; may be negative on a shared device
 *   "devices": [
 *     {"key": "0000:c1:00.0", "source": "nvml", "name": "…", "uuid": "…", "driver": "…",
 *      "total_bytes": 1 | null, "meaning": "…",          what was asked, and what it counts
 *      "before": {"used_bytes": 1 | null, "busy_percent": 0 | null, "n_processes": 0 | null,
 *                 "is_whole": true,    the list would show every process
 *                 "idle": "yes" | "no" | "unknown", "busy_reason": "", "processes_reason": "",
 *                 "used_reason": "", "processes": [{"pid": 1, "used_bytes": 1 | null,
 *                 "name": ""}]},
 *      "after": {…}}                   evidence from before the worker started and after its end
 *   ],
 *   "absent": [{"source": "amd", "reason": "…"}]         kinds of devices that are not here
 * }
 *
 * A row belongs to a phase when some of its reading falls into it, and to the baseline when all of
 * it came before the session. */
#ifndef ASSAY_PACKAGE_RESULT_MEMORY_H
#define ASSAY_PACKAGE_RESULT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

#define ASSAY_RESULT_MEMORY_FILE "memory.npy"
#define ASSAY_RESULT_PEAK_RULE   "largest sample: a lower bound"
#define ASSAY_RESULT_NONE        INT64_C(-1) /* of a figure that there is not; null in the file */

typedef struct assay_result_memory_column {
  char *name;
  char *device; /* key of one of the devices, or NULL */
  char *reason; /* or NULL */
  int64_t n_values, n_baseline, n_first, n_warm;
  int64_t baseline_bytes, peak_first_bytes, peak_warm_bytes, peak_bytes; /* or NONE, */
  int64_t high_water_bytes;                                              /* this too */
} assay_result_memory_column;

typedef struct assay_result_memory_process {
  int64_t pid;
  int64_t used_bytes; /* of the device, or NONE */
  char *name;         /* "" where it was not told */
} assay_result_memory_process;

typedef struct assay_result_memory_activity {
  int64_t used_bytes, busy_percent, n_processes; /* or NONE */
  bool is_whole;
  char *idle; /* "yes", "no" or "unknown" */
  char *used_reason, *busy_reason, *processes_reason;
  assay_result_memory_process *processes; /* n_listed <= n_processes of them */
  size_t n_listed;
} assay_result_memory_activity;

typedef struct assay_result_memory_device {
  char *key, *source, *name, *uuid, *driver, *meaning;
  int64_t total_bytes; /* or NONE */
  assay_result_memory_activity before, after;
} assay_result_memory_device;

typedef struct assay_result_memory_absence {
  char *source, *reason;
} assay_result_memory_absence;

/* All zeroes is a valid empty one: not asked for. Every char * is owned. */
typedef struct assay_result_memory {
  bool known;   /* false: not asked for ("memory": null) */
  char *reason; /* why nothing was sampled, or NULL */
  int64_t interval_ns, start_ns, n_rows, n_missed, n_dropped, max_late_ns;
  int64_t session_ns, warm_ns, end_ns; /* 0: null */
  char *rss_meaning;
  int64_t rss_slack_bytes; /* or NONE */
  assay_result_memory_column *columns;
  size_t n_columns;
  assay_result_memory_device *devices;
  size_t n_devices;
  assay_result_memory_absence *absent;
  size_t n_absent;
} assay_result_memory;

/* The member "memory" of root. Errors: FORMAT, MEMORY; the caller resets *out. */
assay_status assay_result_memory_read(const assay_json *root, assay_result_memory *out,
                                      assay_error *err) ASSAY_NODISCARD;
void assay_result_memory_put(const assay_result_memory *memory, assay_json_builder *b);
void assay_result_memory_reset(assay_result_memory *memory);

/* The column of that name, or NULL. */
const assay_result_memory_column *assay_result_memory_find(const assay_result_memory *memory,
                                                           const char *name);

/* A peak less the baseline; false when one of them is not there. */
bool assay_result_memory_above(const assay_result_memory_column *column, int64_t peak_bytes,
                               int64_t *out);

#endif
