/* One run, in a process of its own: opens the library, makes the session, binds the case's inputs,
 * runs, and leaves raw evidence in a folder. It judges nothing: the campaign does, from the files.
 *
 * Task (schema assay/task/1), written by the campaign:
 * {
 *   "schema": "assay/task/1", "mode": "timing" | "placement" | "probe" | "fold",
 *   "runtime": {…},              as in runtime_spec.h, with "library" set
 *   "model": "/path/model.onnx", "case": "/path/case.npz",   null for a probe; "fold" has no case
 *   "iterations": 100, "warmup": 10, "placement_runs": 3,
 *   "digests": "/path/digests.json"     where known digests of files are kept (digests.h); or null
 * }
 *
 * Files in the folder, by mode:
 *   timing     samples.npy [iterations] int64 ns, outputs.npz (of the last timed call), worker.json
 *   placement  profile.json, log.txt (verbose), assignment.txt (evidence/assignment.h), worker.json
 *   probe      worker.json: what the library says of itself
 *   fold       folded.onnx (constants in it: onnx/specialise.h), worker.json
 * and phases.txt in all: one line "<stage> <CLOCK_MONOTONIC ns>" as each stage begins, written at
 * once, so that a process that dies leaves where. log.txt has the stages too, between the runtime's
 * own lines; in timing mode those are warnings alone. */
#ifndef ASSAY_CAMPAIGN_WORKER_H
#define ASSAY_CAMPAIGN_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "campaign/machine.h"
#include "campaign/runtime_spec.h"
#include "package/result.h"

#define ASSAY_WORKER_FACTS_FILE      "worker.json"
#define ASSAY_WORKER_PHASES_FILE     "phases.txt"
#define ASSAY_WORKER_LOG_FILE        "log.txt"
#define ASSAY_WORKER_SAMPLES_FILE    "samples.npy"
#define ASSAY_WORKER_OUTPUTS_FILE    "outputs.npz"
#define ASSAY_WORKER_PROFILE_FILE    "profile.json"
#define ASSAY_WORKER_ASSIGNMENT_FILE "assignment.txt"
#define ASSAY_WORKER_FOLDED_FILE     "folded.onnx"

#define ASSAY_WORKER_MAX_CALLS INT64_C(10000000) /* 80 MB of samples */

typedef enum assay_worker_mode {
  ASSAY_WORKER_TIMING,
  ASSAY_WORKER_PLACEMENT,
  ASSAY_WORKER_PROBE,
  ASSAY_WORKER_FOLD,
} assay_worker_mode;

typedef struct assay_worker_task {
  assay_worker_mode mode;
  assay_runtime_spec runtime;   /* library set */
  char *model_path, *case_path; /* NULL for a probe */
  int64_t iterations, warmup, placement_runs;
  char *digests_path; /* or NULL */
} assay_worker_task;

assay_status assay_worker_task_read(const char *path, assay_worker_task *out,
                                    assay_error *err) ASSAY_NODISCARD;
assay_status assay_worker_task_write(const assay_worker_task *task, const char *path,
                                     assay_error *err) ASSAY_NODISCARD;
void assay_worker_task_reset(assay_worker_task *task);

/* What worker.json says (schema assay/facts/1): members in this order under these names. */
typedef struct assay_worker_facts {
  bool finished;            /* all that was asked */
  assay_result_stage stage; /* that was not finished */
  char *status;             /* assay_status_name of the failure, or "OK" */
  char *reason;             /* "" when finished */
  char *library_path, *library_version, *library_build; /* "" when it was not opened */
  char *provider;
  char **providers; /* that the library has */
  size_t n_providers;
  assay_json *options; /* or NULL */
  char options_sha256[65];
  int64_t session_create_ns, first_run_ns, warmup, iterations, profiled_runs;
  bool outputs_identical; /* of the first and the last call */
  char model_sha256[65];  /* of the graph's file, once the session had read it; "" before */
  char *affinity;         /* processors it may use, as the kernel lists them */
  char *load_average;     /* of the machine when it started */
  char *governor;         /* of the first processor's frequency */
  char *cgroup_cpu_max, *cgroup_memory_max; /* limits of its control group */
  assay_settings environment;
  assay_machine_libraries libraries; /* mapped, after the first call */
  assay_result_caches caches;        /* named by the runtime */
  char **candidates; /* a line for each second library of a name that is mapped (candidates.h) */
  size_t n_candidates;
} assay_worker_facts;

/* Errors: IO, FORMAT, LIMIT, MEMORY. */
assay_status assay_worker_facts_read(const char *path, assay_worker_facts *out,
                                     assay_error *err) ASSAY_NODISCARD;
assay_status assay_worker_facts_write(const assay_worker_facts *facts, const char *path,
                                      assay_error *err) ASSAY_NODISCARD;
void assay_worker_facts_reset(assay_worker_facts *facts);

/* Does the task; out_folder exists. worker.json is written however it ends. *out_facts (zeroed
 * before; the caller resets it) says how. Errors: those of the task, and IO when worker.json could
 * not be written. */
assay_status assay_worker_run(const assay_worker_task *task, const char *out_folder,
                              assay_worker_facts *out_facts, assay_error *err) ASSAY_NODISCARD;

/* The stage of the last whole line of phases.txt; START when there is none. */
assay_result_stage assay_worker_last_stage(const char *folder);

#endif
