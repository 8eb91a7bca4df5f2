/* The "processes" member of result.json (result.h): a timing that was repeated in fresh processes,
 * and how far apart they are. The first process is the run itself; every other one has a folder
 * beside result.json with its samples.npy, worker.json and logs, and with its outputs.npz only
 * where that is not byte for byte the first one's.
 *
 * null where it was not repeated, otherwise
 * {
 *   "n": 3,                           processes, the first one too
 *   "outputs_identical": true,        outputs.npz of all of them are the same bytes
 *   "p50_min_ns": 1.0, "p50_max_ns": 1.0, "p50_spread": 0.0,     of the processes' medians; the
 *                                     spread is (max - min) / min
 *   "others": [
 *     {"folder": "process-2", "session_create_ns": 1, "first_run_ns": 1, "elapsed_ns": 1,
 *      "max_rss_bytes": 1, "min_ns": 1, "max_ns": 1, "p50_ns": 1.0, "outputs_identical": true,
 *      "outputs_sha256": "…"}         as in "timing" and "process"; outputs_identical is that of
 *   ]                                 this process's own first and last call
 * } */
#ifndef ASSAY_PACKAGE_RESULT_PROCESSES_H
#define ASSAY_PACKAGE_RESULT_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

typedef struct assay_result_other {
  char *folder; /* beside result.json */
  int64_t session_create_ns, first_run_ns, elapsed_ns, max_rss_bytes;
  int64_t min_ns, max_ns;
  double p50_ns;
  bool outputs_identical;
  char outputs_sha256[65];
} assay_result_other;

/* All zeroes is a valid one: not repeated. */
typedef struct assay_result_processes {
  bool known; /* false: null */
  int64_t n;
  bool outputs_identical;
  double p50_min_ns, p50_max_ns, p50_spread;
  assay_result_other *others; /* [n - 1], owned */
  size_t n_others;
} assay_result_processes;

/* root: the result. Errors: FORMAT, MEMORY; the caller resets *out in any case. */
assay_status assay_result_processes_read(const assay_json *root, assay_result_processes *out,
                                         assay_error *err) ASSAY_NODISCARD;
void assay_result_processes_put(const assay_result_processes *processes, assay_json_builder *b);
void assay_result_processes_reset(assay_result_processes *processes);

#endif
