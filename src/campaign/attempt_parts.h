/* What the parts of an attempt share: attempt.c makes it, attempt_keys.c says what it is known by,
 * attempt_end.c how it ended. Private to them. */
#ifndef ASSAY_CAMPAIGN_ATTEMPT_PARTS_H
#define ASSAY_CAMPAIGN_ATTEMPT_PARTS_H

#include <stdbool.h>

#include "base/child.h"
#include "campaign/attempt.h"
#include "campaign/worker.h"

#define STDERR_FILE           "stderr.txt"
#define ATTEMPT_CACHES_FOLDER "named" /* of the work folder: caches that a runtime names */

/* What one attempt works with. */
typedef struct attempt {
  const assay_plan *plan;
  const assay_plan_run *run;
  const assay_plan_runtime *runtime;
  const assay_plan_bundle *bundle;
  const assay_manifest_case *one; /* the case */
  char *folder;                   /* unfinished, under the work folder */
  char *model_path, *case_path;   /* in the package, absolute */
  char *stdout_path, *stderr_path;
  bool talked_too_much;
  assay_worker_facts facts;
  bool has_facts;
  assay_result *result;
} attempt;

/* The graph of a case. */
static inline const assay_manifest_file *attempt_model_of(const assay_plan_bundle *bundle,
                                                          const assay_manifest_case *one) {
  return one->model.file != NULL ? &one->model : &bundle->manifest.model;
}

/* Status, stage and reason (made printable) of the result. Errors: MEMORY. */
assay_status attempt_end_as(attempt *a, assay_result_status status, assay_result_stage stage,
                            const char *reason, assay_error *err) ASSAY_NODISCARD;

/* The runtime as a run has it: its free dimensions and its cache folders are those of its case. All
 * else is borrowed of the plan's; released with attempt_runtime_reset. Errors: those of
 * static_shapes.h. */
assay_status attempt_runtime_of(const assay_plan *plan, const assay_plan_run *run,
                                assay_runtime_spec *out, assay_error *err) ASSAY_NODISCARD;
void attempt_runtime_reset(assay_runtime_spec *runtime);

/* settings (variables of a run) with its cache folders in place of those that it names. Errors:
 * MEMORY.
 */
assay_status attempt_place_caches(const assay_plan *plan, const assay_plan_run *run,
                                  assay_settings *settings, assay_error *err) ASSAY_NODISCARD;

/* Makes the graph that the run executes, where its runtime takes static shapes and the model has
 * free ones: the result says what became of it, and model_path is where it lies. Errors: IO,
 * MEMORY. */
assay_status attempt_specialise(attempt *a, bool *out_cancelled, assay_error *err) ASSAY_NODISCARD;

/* Runs the worker on a task into a folder, talk to one file, under the campaign's time limit;
 * nothing is sampled. Errors: those of assay_child_run. */
assay_status attempt_run_worker(const attempt *a, const char *task_path, const char *folder,
                                const char *talk_path, char *const *env, assay_child_result *out,
                                assay_error *err) ASSAY_NODISCARD;

/* stdout or stderr is longer than is kept. */
bool attempt_talks_too_much(const attempt *a);

/* From how the process ended to a status; DONE when the worker says that it finished, and ran what
 * was asked. Takes its facts. Errors: IO, MEMORY. */
assay_status attempt_take_end(attempt *a, const assay_child_result *child,
                              assay_error *err) ASSAY_NODISCARD;

#endif
