/* What one run says: result.json of one case on one runtime in one mode. Written by the campaign,
 * read by report and verify. Schema assay/result/1; every key below is always there, null where it
 * does not apply.
 *
 * {
 *   "schema": "assay/result/1",
 *   "runtime": "cpu", "bundle": "attention-cld", "case": "b1-n100",
 *   "mode": "timing" | "placement",
 *   "status": "done" | "failed" | "crashed" | "timed_out" | "missing",
 *   "stage": null | "start" | "load_library" | "provider" | "session" | "bind" | "first_run" |
 *            "warmup" | "timing" | "outputs" | "compare" | "placement",     what was not finished
 *   "reason": null | "one line",
 *   "keys": {              what the result belongs to, by content; "" where it could not be had
 *     "model_sha256": "…",         the graph that was loaded (a static export: this case's own)
 *     "external_sha256": "…",      over lines "<sha256>  <file>\n" of external data; "" without
 *     "case_sha256": "…",          the inputs and references (.npz)
 *     "runtime_sha256": "…",       the resolved runtime, as compact JSON
 *     "library_sha256": "…",       libonnxruntime
 *     "options_sha256": "…",       effective options: equal in timing and placement of one case
 *     "plan_sha256": "…",          counts of calls, heads and tolerances: what the run was asked
 *     "tool_sha256": "…"           the assay executable
 *   },
 *   "tool_version": "0.1.0",
 *   "process": {"exited": true, "exit_code": 0, "signal": 0, "timed_out": false,
 *               "left_children": false, "elapsed_ns": 1, "max_rss_bytes": 1} | null,
 *   "started_at": "2026-01-31T12:00:00.000Z",      "" when no process was started
 *   "library": {"path": "…", "version": "1.32.0", "build": "…"} | null,
 *   "provider": "CPUExecutionProvider",
 *   "options": {…} | null,         effective, as assay_ort_session_put_options writes them
 *   "machine": "machines/<id>.json" | null,
 *   "timing": {                    null in placement mode and when nothing was timed
 *     "session_create_ns": 1, "first_run_ns": 1, "warmup": 10, "iterations": 100,
 *     "outputs_identical": true,   outputs of the first and the last call are equal bit for bit
 *     "stats": {"n": 100, "min_ns": 1, "max_ns": 1, "mean_ns": 1.0, "stddev_ns": 1.0,
 *               "lag1": 0.0, "drift": 0.0, "n_outliers": 0, "percentile_rule": "…",
 *               "percentiles": [{"p": 0.5, "value_ns": 1.0, "low_ns": 1 | null,
 *                                "high_ns": 1 | null, "low_rank": 40, "high_rank": 61,
 *                                "coverage": 0.96}, …]}
 *   },
 *   "comparisons": [               every head with every reference; empty in placement mode
 *     {"head": "bid", "reference": a kind of reference_kind.h, "gate": true, "kind":
 * "classes", "atol": 0.001, "rtol": 0.003, "passed": true, "reason": "", "shape": "[1,100,2]",
 * "dtype": "float32", "same_shape": true, "same_dtype": true, "n_compared": 180, …,       the
 * members of assay_result_comparison, in its order "max_abs_at": {"index": 7, "got": 1.0,
 * "want": 1.0}, …}
 *   ],
 *   "numbers_reason": null | "one line",       why the numbers verdict is not a pass
 *   "placement": null | {…},                   the members of assay_result_placement
 *   "graph": null | {…},           as result_graph.h has it; null: the bundle's model ran
 *   "caches": […],                 as result_caches.h has it: what a provider keeps of its programs
 *   "compiles": null | {…},        as result_compiles.h has it; null: the log does not say
 *   "coverage": null | {…},        as result_coverage.h has it; null in timing mode
 *   "kernels": null | {…},         as result_kernels.h has it; null where nothing is required
 *   "processes": null | {…},                   as result_processes.h has it; null where the timing
 *                                              was not repeated
 *   "memory": null | {…},                      as result_memory.h has it; null in placement mode
 *   "verdicts": {"numbers": "pass" | "fail" | "unknown" | "not_applicable",
 *                "placement": …, "timing": …, "completeness": …},
 *   "files": [{"file": "samples.npy", "sha256": "…", "size_bytes": 1}],    beside result.json
 *   "warnings": ["one line", …]
 * }
 *
 * Reals that may be NaN or infinite follow assay_json_put_number: null, and "<key>_class". */
#ifndef ASSAY_PACKAGE_RESULT_H
#define ASSAY_PACKAGE_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "package/result_caches.h"
#include "package/result_compiles.h"
#include "package/result_coverage.h"
#include "package/result_graph.h"
#include "package/result_kernels.h"
#include "package/result_memory.h"
#include "package/result_processes.h"

#define ASSAY_RESULT_SCHEMA "assay/result/1"

typedef enum assay_result_mode {
  ASSAY_RESULT_TIMING,
  ASSAY_RESULT_PLACEMENT,
} assay_result_mode;

typedef enum assay_result_status {
  ASSAY_RESULT_MISSING, /* planned, and not there */
  ASSAY_RESULT_DONE,    /* the worker did all it was asked; what it found is in the verdicts */
  ASSAY_RESULT_FAILED,  /* the worker, or the judging after it, says why not */
  ASSAY_RESULT_CRASHED, /* the worker died by a signal, or ended without a word */
  ASSAY_RESULT_TIMED_OUT,
} assay_result_status;

/* The step that was not finished; NONE when all were. */
typedef enum assay_result_stage {
  ASSAY_STAGE_NONE,
  ASSAY_STAGE_START, /* the process did not come up, or did not understand its task */
  ASSAY_STAGE_LOAD_LIBRARY,
  ASSAY_STAGE_PROVIDER,
  ASSAY_STAGE_SESSION,
  ASSAY_STAGE_BIND,
  ASSAY_STAGE_FIRST_RUN,
  ASSAY_STAGE_WARMUP,
  ASSAY_STAGE_TIMING,
  ASSAY_STAGE_OUTPUTS,
  ASSAY_STAGE_COMPARE,
  ASSAY_STAGE_PLACEMENT,
} assay_result_stage;

/* Zero is "unknown": what nobody judged did not pass. */
typedef enum assay_verdict {
  ASSAY_VERDICT_UNKNOWN,
  ASSAY_VERDICT_PASS,
  ASSAY_VERDICT_FAIL,
  ASSAY_VERDICT_NOT_APPLICABLE,
} assay_verdict;

/* The words of the file; of_name gives false for any other word. */
const char *assay_result_mode_name(assay_result_mode mode);
const char *assay_result_status_name(assay_result_status status);
const char *assay_result_stage_name(assay_result_stage stage); /* NONE: "" */
const char *assay_verdict_name(assay_verdict verdict);
bool assay_result_mode_of_name(const char *name, assay_result_mode *out);
bool assay_result_status_of_name(const char *name, assay_result_status *out);
bool assay_result_stage_of_name(const char *name, assay_result_stage *out);
bool assay_verdict_of_name(const char *name, assay_verdict *out);

#define ASSAY_RESULT_SHA_BYTES 65 /* 64 digits and a zero; "" when it could not be had */

typedef struct assay_result_keys {
  char model_sha256[ASSAY_RESULT_SHA_BYTES];
  char external_sha256[ASSAY_RESULT_SHA_BYTES];
  char case_sha256[ASSAY_RESULT_SHA_BYTES];
  char runtime_sha256[ASSAY_RESULT_SHA_BYTES];
  char library_sha256[ASSAY_RESULT_SHA_BYTES];
  char options_sha256[ASSAY_RESULT_SHA_BYTES];
  char plan_sha256[ASSAY_RESULT_SHA_BYTES];
  char tool_sha256[ASSAY_RESULT_SHA_BYTES];
} assay_result_keys;

typedef struct assay_result_process {
  bool known; /* false: no process was started ("process": null) */
  bool exited;
  int exit_code;
  int signal; /* that ended it, or 0 */
  bool timed_out;
  bool left_children;
  int64_t elapsed_ns;
  int64_t max_rss_bytes;
} assay_result_process;

/* As assay_percentile and assay_stats of measure/stats.h. */
typedef struct assay_result_percentile {
  double p, value_ns;
  bool has_low, has_high; /* false: the samples cannot give that end at 95 % */
  int64_t low_ns, high_ns;
  int64_t low_rank, high_rank; /* 1-based; 0: none */
  double coverage;
} assay_result_percentile;

typedef struct assay_result_stats {
  int64_t n, min_ns, max_ns;
  double mean_ns, stddev_ns;
  assay_result_percentile percentiles[4]; /* p50, p90, p95, p99 */
  double lag1, drift;                     /* NaN when undefined */
  int64_t n_outliers;
} assay_result_stats;

typedef struct assay_result_timing {
  bool known; /* false: "timing": null */
  int64_t session_create_ns, first_run_ns;
  int64_t warmup, iterations;
  bool outputs_identical; /* first call against last */
  assay_result_stats stats;
} assay_result_timing;

typedef struct assay_result_point {
  int64_t index; /* flat, row-major; -1: none */
  double got, want;
} assay_result_point;

/* One head against one reference: assay_compare_result of measure/compare.h, and what it was asked.
 */
typedef struct assay_result_comparison {
  char *head;
  char *reference; /* a kind of reference_kind.h */
  char *kind;      /* of the head: assay_head_kind_name */
  bool gate;       /* counts in the numbers verdict */
  double atol, rtol;
  char shape[256]; /* of the output, "[1,100,2]"; "" when there is none */
  char dtype[16];  /* of the output */
  bool passed;
  char reason[160];            /* why not, or "" */
  bool same_shape, same_dtype; /* when false nothing below is filled in */
  int64_t n_compared, n_finite_pairs, n_class_mismatch;
  assay_result_point first_class_mismatch;
  int64_t n_nonfinite_got, n_nonfinite_want, n_nan_got, n_nan_want, n_denormal_got, n_denormal_want;
  double max_abs;
  assay_result_point max_abs_at;
  double mae, rmse, rel_l2, max_tol_multiple;
  assay_result_point max_tol_at;
  int64_t n_over;
  double needed_atol, needed_rtol; /* may be infinite */
  int64_t n_argmax, n_argmax_changed, n_argmax_changed_over;
  double argmax_changed_max_margin;
  int64_t n_padding, n_padding_not_zero;
  assay_result_point first_padding_not_zero;
  double padding_max_abs;
} assay_result_comparison;

typedef struct assay_result_placement_count {
  char *provider, *op;
  int64_t n_nodes, n_events, duration_us;
} assay_result_placement_count;

/* As assay_placement of evidence/placement.h. */
typedef struct assay_result_placement {
  bool known; /* false: "placement": null */
  assay_verdict verdict;
  char reason[256];
  char *provider; /* the one asked for, full name */
  int64_t n_compute, n_on_provider, n_compiled, n_copies, n_control_flow, n_allowed, n_model_runs;
  int64_t copied_bytes; /* -1: unavailable */
  bool log_agrees, repaired;
  assay_result_placement_count *counts; /* sorted by provider and operator */
  size_t n_counts;
  char **offenders;
  size_t n_offenders;
} assay_result_placement;

typedef struct assay_result_file {
  char *file; /* name beside result.json */
  char sha256[ASSAY_RESULT_SHA_BYTES];
  uint64_t size_bytes;
} assay_result_file;

/* All zeroes is a valid empty one: a missing run of unknown verdicts. Every char * is owned. */
typedef struct assay_result {
  char *runtime, *bundle, *case_name;
  assay_result_mode mode;
  assay_result_status status;
  assay_result_stage stage;
  char *reason; /* NULL when done */
  assay_result_keys keys;
  char *tool_version;
  assay_result_process process;
  char started_at[32];                                  /* ISO 8601, UTC; "" when never started */
  char *library_path, *library_version, *library_build; /* path NULL: "library": null */
  char *provider;
  assay_json *options; /* or NULL */
  char *machine;       /* relative to the package, or NULL */
  assay_result_timing timing;
  assay_result_comparison *comparisons;
  size_t n_comparisons;
  char *numbers_reason; /* or NULL */
  assay_result_placement placement;
  assay_result_graph graph;
  assay_result_caches caches;
  assay_result_compiles compiles;
  assay_result_coverage coverage;
  assay_result_kernels kernels;
  assay_result_processes processes;
  assay_result_memory memory;
  assay_verdict numbers, placed, timed, completeness;
  assay_result_file *files;
  size_t n_files;
  char **warnings;
  size_t n_warnings;
} assay_result;

/* Strict: unknown or missing keys, unsafe file names and impossible values are refused. Errors: IO,
 * FORMAT (path and what), LIMIT, MEMORY; *out is untouched then. */
assay_status assay_result_read(const char *path, assay_result *out,
                               assay_error *err) ASSAY_NODISCARD;

/* Whole or not at all. Errors: IO, MEMORY, ARGUMENT. */
assay_status assay_result_write(const assay_result *result, const char *path,
                                assay_error *err) ASSAY_NODISCARD;

void assay_result_reset(assay_result *result);

/* "runs/<runtime>/<bundle>/<case>/<mode>", relative to the package. Released with assay_free; NULL
 * when memory is out. */
char *assay_result_folder(const char *runtime, const char *bundle, const char *case_name,
                          assay_result_mode mode) ASSAY_NODISCARD;

/* True when the run is done, none of its verdicts is fail or unknown, and the kernels that were
 * required are shown: what the gate asks of every run. */
bool assay_result_passed(const assay_result *result);

/* SHA-256 of the graph that was executed: the bundle's model, or what was made of it for the run.
 */
const char *assay_result_executed(const assay_result *result);

/* The comparison of the head against the reference, or NULL. */
const assay_result_comparison *assay_result_find(const assay_result *result, const char *head,
                                                 const char *reference);

/* One comparison as a member of another document. read fills *out in as far as it goes; the caller
 * resets it. Errors: FORMAT, MEMORY. */
assay_status assay_result_comparison_read(const assay_json *object, assay_result_comparison *out,
                                          assay_error *err) ASSAY_NODISCARD;
void assay_result_comparison_put(const assay_result_comparison *comparison, assay_json_builder *b,
                                 const char *key);
void assay_result_comparison_reset(assay_result_comparison *comparison);

/* Checks the listed files of a run folder against size and SHA-256. Errors: IO, MISMATCH naming the
 * file. */
assay_status assay_result_check_files(const assay_result *result, const char *folder,
                                      assay_error *err) ASSAY_NODISCARD;

#endif
