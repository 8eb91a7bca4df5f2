/* One run made. The worker is not trusted: that it ended well, that its files are there and whole,
 * that it ran with the library and the options that were asked for, all is checked here before
 * anything is judged. */
#include "campaign/attempt_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/child.h"
#include "base/file.h"
#include "base/hash.h"
#include "campaign/attempt_memory.h"
#include "campaign/caches.h"
#include "campaign/judge.h"
#include "campaign/judge_kernels.h"
#include "campaign/machine.h"
#include "campaign/worker.h"
#include "package/fields.h"
#include "package/tree.h"

#define RESULT_FILE "result.json"
#define TASK_FILE   "task.json"
#define STDOUT_FILE "stdout.txt"
#define FULL_BYTES  ((uint64_t)4 << 20) /* less room: a failure may be the disk's */

/* --- the worker ----------------------------------------------------------------------------------
 */

static assay_status check_inputs(const attempt *a, assay_error *err) {
  const assay_manifest *manifest = &a->bundle->manifest;
  const char *folder = a->bundle->folder;
  ASSAY_TRY(assay_manifest_file_check(folder, attempt_model_of(a->bundle, a->one), err));
  for (size_t i = 0; i < manifest->n_external; i++)
    ASSAY_TRY(assay_manifest_file_check(folder, &manifest->external[i], err));
  return assay_manifest_file_check(folder, &a->one->file, err);
}

static assay_status write_task(const attempt *a, const char *path, assay_error *err) {
  const assay_campaign_spec *spec = a->plan->spec;
  assay_worker_task task = {.mode = a->run->mode == ASSAY_RESULT_TIMING ? ASSAY_WORKER_TIMING
                                                                        : ASSAY_WORKER_PLACEMENT,
                            .model_path = a->model_path,
                            .case_path = a->case_path,
                            .iterations = spec->iterations,
                            .warmup = spec->warmup,
                            .placement_runs = spec->placement_runs,
                            .digests_path = a->plan->digests_path}; /* borrows; never reset */
  ASSAY_TRY(attempt_runtime_of(a->plan, a->run, &task.runtime, err));
  assay_status st = assay_caches_make(&task.runtime.options, err);
  if (st == ASSAY_OK) st = assay_worker_task_write(&task, path, err);
  attempt_runtime_reset(&task.runtime);
  return st;
}

static void on_tick(void *arg) {
  const attempt *a = arg;
  const assay_campaign_progress *progress = &a->plan->spec->progress;
  if (progress->tick != NULL) progress->tick(progress->arg);
}

static bool on_cancelled(void *arg) {
  attempt *a = arg;
  const assay_campaign_progress *progress = &a->plan->spec->progress;
  if (progress->cancelled != NULL && progress->cancelled(progress->arg)) return true;
  a->talked_too_much = attempt_talks_too_much(a);
  return a->talked_too_much;
}

static bool wants_memory(const attempt *a) {
  return a->run->mode == ASSAY_RESULT_TIMING && !a->plan->spec->no_memory;
}

/* That memory could not be sampled is no reason to fail a run: it is said in the result. */
static assay_status run_sampled(attempt *a, assay_child_spec *child, assay_child_result *out,
                                assay_error *err) {
  assay_sampler *sampler = NULL;
  assay_result_memory *memory = &a->result->memory;
  assay_error why = {0};
  if (wants_memory(a) && assay_attempt_memory_begin(child, &sampler, &why)) sampler = NULL;
  assay_status st = assay_child_run(child, out, err);
  if (st) {
    assay_attempt_memory_drop(sampler);
    return st;
  }
  assay_result_memory_reset(memory);
  if (sampler != NULL &&
      assay_attempt_memory_end(sampler, a->folder, out->max_rss_bytes, memory, &why) == ASSAY_OK)
    return ASSAY_OK;
  return wants_memory(a) ? assay_attempt_memory_none(why.text, memory, err) : ASSAY_OK;
}

static assay_status run_child(attempt *a, const char *task_path, char *const *env,
                              assay_child_result *out, assay_error *err) {
  char parent[32];
  snprintf(parent, sizeof parent, "%lld", (long long)getpid());
  const char *argv[] = {a->plan->worker_path, "worker", "--spec", task_path, "--out", a->folder,
                        "--parent",           parent,   NULL};
  assay_child_spec child = {.argv = argv,
                            .env = (const char *const *)env,
                            .stdout_path = a->stdout_path,
                            .stderr_path = a->stderr_path,
                            .timeout_ns = a->plan->spec->timeout_ns,
                            .tick = on_tick,
                            .cancelled = on_cancelled,
                            .arg = a};
  return run_sampled(a, &child, out, err);
}

static bool was_cancelled(void *arg) {
  const attempt *a = arg;
  const assay_campaign_progress *progress = &a->plan->spec->progress;
  return progress->cancelled != NULL && progress->cancelled(progress->arg);
}

assay_status attempt_run_worker(const attempt *a, const char *task_path, const char *folder,
                                const char *talk_path, char *const *env, assay_child_result *out,
                                assay_error *err) {
  char parent[32];
  attempt borrowed = *a; /* for the callbacks, which change nothing */
  snprintf(parent, sizeof parent, "%lld", (long long)getpid());
  const char *argv[] = {a->plan->worker_path, "worker", "--spec", task_path, "--out", folder,
                        "--parent",           parent,   NULL};
  const assay_child_spec child = {.argv = argv,
                                  .env = (const char *const *)env,
                                  .stdout_path = talk_path,
                                  .stderr_path = talk_path,
                                  .timeout_ns = a->plan->spec->timeout_ns,
                                  .tick = on_tick,
                                  .cancelled = was_cancelled,
                                  .arg = &borrowed};
  return assay_child_run(&child, out, err);
}

/* What the process is started with; a runtime that compiles gets an empty folder to keep it in. */
static assay_status make_env(const attempt *a, char ***out, assay_error *err) {
  const assay_runtime_spec *runtime = &a->runtime->spec;
  bool wants_cache = assay_runtime_spec_wants_cache(runtime);
  assay_settings settings = {0};
  char *cache = realpath(a->plan->work_folder, NULL); /* by malloc, not by our door */
  char *folder = cache != NULL ? assay_path_join(cache, "cache") : NULL;
  free(cache);
  if (folder == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_folder_remove(folder, err);
  if (st == ASSAY_OK && wants_cache) st = assay_folder_create(folder, err);
  if (st == ASSAY_OK)
    st = assay_runtime_spec_env(runtime, a->run->mode == ASSAY_RESULT_PLACEMENT,
                                wants_cache ? folder : NULL, &settings, err);
  if (st == ASSAY_OK) st = attempt_place_caches(a->plan, a->run, &settings, err);
  if (st == ASSAY_OK) st = assay_caches_make(&settings, err);
  if (st == ASSAY_OK) st = assay_settings_make_env(&settings, out, err);
  assay_settings_reset(&settings);
  assay_free(folder);
  return st;
}

/* Those of the process before. */
static assay_status empty_named_caches(const attempt *a, assay_error *err) {
  char *folder = assay_path_join(a->plan->work_folder, ATTEMPT_CACHES_FOLDER);
  if (folder == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_folder_remove(folder, err);
  assay_free(folder);
  return st;
}

static assay_status start_worker(attempt *a, assay_child_result *out, assay_error *err) {
  char **env = NULL;
  char *task_path = assay_path_join(a->folder, TASK_FILE);
  if (task_path == NULL) return assay_fail_memory(err, strlen(a->folder) + sizeof TASK_FILE);
  assay_status st = empty_named_caches(a, err);
  if (st == ASSAY_OK) st = write_task(a, task_path, err);
  if (st == ASSAY_OK) st = make_env(a, &env, err);
  if (st == ASSAY_OK) st = run_child(a, task_path, env, out, err);
  assay_settings_free_env(env);
  assay_free(task_path);
  return st;
}

/* --- judging -------------------------------------------------------------------------------------
 */

static assay_status judge_timing(attempt *a, assay_error *err) {
  const assay_campaign_spec *spec = a->plan->spec;
  assay_result *result = a->result;
  char *samples = assay_path_join(a->folder, ASSAY_WORKER_SAMPLES_FILE);
  char *outputs = assay_path_join(a->folder, ASSAY_WORKER_OUTPUTS_FILE);
  result->timing = (assay_result_timing){.known = true,
                                         .session_create_ns = a->facts.session_create_ns,
                                         .first_run_ns = a->facts.first_run_ns,
                                         .warmup = a->facts.warmup,
                                         .iterations = spec->iterations,
                                         .outputs_identical = a->facts.outputs_identical};
  assay_status st = samples != NULL && outputs != NULL ? ASSAY_OK : assay_fail_memory(err, 64);
  if (st == ASSAY_OK) st = assay_judge_timing(samples, result, err);
  if (st) result->timing = (assay_result_timing){0};
  if (st == ASSAY_OK)
    st = assay_judge_numbers(&a->bundle->manifest, a->case_path, outputs, spec->tolerances,
                             spec->n_tolerances, result, err);
  assay_free(samples);
  assay_free(outputs);
  return st;
}

static assay_status judge_placement(attempt *a, assay_error *err) {
  ASSAY_TRY(assay_judge_placement(a->folder, a->model_path, &a->runtime->spec,
                                  a->plan->spec->placement_runs, a->result, err));
  return assay_judge_kernels(a->folder, &a->bundle->manifest, a->one,
                             assay_result_executed(a->result), &a->runtime->spec,
                             a->plan->spec->placement_runs, &a->result->kernels, err);
}

/* Files that a done worker left wrong make a failed run; only our own lack of memory is an error.
 */
static assay_status judge(attempt *a, assay_error *err) {
  assay_error why = {0};
  bool timing = a->run->mode == ASSAY_RESULT_TIMING;
  if (a->result->status != ASSAY_RESULT_DONE) return ASSAY_OK;
  assay_status st = timing ? judge_timing(a, &why) : judge_placement(a, &why);
  if (st == ASSAY_OK)
    st = assay_judge_compiles(a->folder, a->runtime->spec.provider, a->result, &why);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  if (st == ASSAY_OK) {
    a->result->completeness = ASSAY_VERDICT_PASS;
    return ASSAY_OK;
  }
  assay_result_coverage_reset(&a->result->coverage); /* of a run that is not done */
  a->result->compiles = (assay_result_compiles){0};
  return attempt_end_as(a, ASSAY_RESULT_FAILED, ASSAY_STAGE_COMPARE, why.text, err);
}

static void take_process(const assay_child_result *child, assay_result_process *out) {
  *out = (assay_result_process){.known = true,
                                .exited = child->exited,
                                .exit_code = child->exit_code,
                                .signal = child->signal,
                                .timed_out = child->timed_out,
                                .left_children = child->left_children,
                                .elapsed_ns = child->elapsed_ns,
                                .max_rss_bytes = child->max_rss_bytes};
}

/* A full disk is nothing that a run can be blamed for: it ends the campaign, and leaves no result.
 * It shows in the worker's own words, or, where the runtime writes without looking, in a run that
 * does not pass and no room. */
static assay_status check_disk(const attempt *a, assay_error *err) {
  struct statvfs disk;
  if (assay_result_passed(a->result)) return ASSAY_OK;
  const assay_status disk_faults[] = {ASSAY_E_IO, ASSAY_E_DISK};
  for (size_t i = 0; a->has_facts && i < N_OF(disk_faults); i++)
    if (strcmp(a->facts.status, assay_status_name(disk_faults[i])) == 0)
      return assay_fail(err, disk_faults[i], "%s", a->facts.reason);
  if (statvfs(a->folder, &disk) != 0 || (uint64_t)disk.f_bavail * disk.f_frsize >= FULL_BYTES)
    return ASSAY_OK;
  return assay_fail(
      err, ASSAY_E_DISK,
      "a run did not pass, and the disk of '%s' is full: make room; the same line goes on",
      a->plan->spec->package_path);
}

/* --- repeated in fresh processes -----------------------------------------------------------------
 */

/* Another process of the same run: its own folder in that of the first, its own facts, and a result
 * that only serves to judge it. */
static assay_status open_repeat(const attempt *first, int64_t k, assay_result *scratch,
                                attempt *out, assay_error *err) {
  char name[32];
  snprintf(name, sizeof name, "process-%lld", (long long)k);
  *scratch = (assay_result){.mode = first->result->mode,
                            .keys = first->result->keys,
                            .graph = first->result->graph,
                            .placed = ASSAY_VERDICT_NOT_APPLICABLE};
  *out = *first;
  out->facts = (assay_worker_facts){0};
  out->has_facts = false;
  out->result = scratch;
  out->folder = assay_path_join(first->folder, name);
  out->stdout_path = out->folder != NULL ? assay_path_join(out->folder, STDOUT_FILE) : NULL;
  out->stderr_path = out->folder != NULL ? assay_path_join(out->folder, STDERR_FILE) : NULL;
  if (out->stdout_path == NULL || out->stderr_path == NULL) return assay_fail_memory(err, 256);
  return assay_folder_create(out->folder, err);
}

static void close_repeat(attempt *a) {
  assay_free(a->folder);
  assay_free(a->stdout_path);
  assay_free(a->stderr_path);
  assay_worker_facts_reset(&a->facts);
  assay_result_reset(a->result);
}

static assay_status outputs_sha256(const attempt *a, char out_hex[65], assay_error *err) {
  char *path = assay_path_join(a->folder, ASSAY_WORKER_OUTPUTS_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(a->folder) + 16);
  assay_status st = assay_sha256_file(path, out_hex, /*out_size_bytes=*/NULL, err);
  assay_free(path);
  return st;
}

/* Outputs that are the first one's byte for byte are not kept twice. Others are. */
static assay_status take_outputs(attempt *first, const attempt *a, const char *sha256,
                                 assay_error *err) {
  char of_first[65];
  ASSAY_TRY(outputs_sha256(first, of_first, err));
  if (strcmp(of_first, sha256) != 0) {
    first->result->processes.outputs_identical = false;
    return ASSAY_OK;
  }
  char *path = assay_path_join(a->folder, ASSAY_WORKER_OUTPUTS_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(a->folder) + 16);
  assay_status st = assay_folder_remove(path, err);
  assay_free(path);
  return st;
}

/* Its figures into the result of the first. */
static assay_status take_repeat(attempt *first, const attempt *a, assay_error *err) {
  assay_result_processes *processes = &first->result->processes;
  const assay_result *scratch = a->result;
  const assay_result_stats *stats = &scratch->timing.stats;
  assay_result_other *other = &processes->others[processes->n_others];
  *other = (assay_result_other){.session_create_ns = scratch->timing.session_create_ns,
                                .first_run_ns = scratch->timing.first_run_ns,
                                .elapsed_ns = scratch->process.elapsed_ns,
                                .max_rss_bytes = scratch->process.max_rss_bytes,
                                .min_ns = stats->min_ns,
                                .max_ns = stats->max_ns,
                                .p50_ns = stats->percentiles[0].value_ns,
                                .outputs_identical = scratch->timing.outputs_identical};
  processes->n_others++; /* now found by reset */
  ASSAY_TRY(assay_fields_set(&other->folder, assay_path_name(a->folder), err));
  if (other->p50_ns < processes->p50_min_ns) processes->p50_min_ns = other->p50_ns;
  if (other->p50_ns > processes->p50_max_ns) processes->p50_max_ns = other->p50_ns;
  ASSAY_TRY(outputs_sha256(a, other->outputs_sha256, err));
  return take_outputs(first, a, other->outputs_sha256, err);
}

/* One that fails makes the whole timing one that failed, in the same way: "process" is then how
 * that one ended, and nothing passes. */
static assay_status end_as_repeat(attempt *first, const attempt *a, int64_t k, assay_error *err) {
  const assay_result *scratch = a->result;
  char *text = assay_format("process %lld of %lld: %s", (long long)k,
                            (long long)first->plan->spec->processes,
                            scratch->reason != NULL ? scratch->reason : "");
  if (text == NULL) return assay_fail_memory(err, 256);
  first->result->completeness = ASSAY_VERDICT_FAIL;
  first->result->process = scratch->process;
  if (first->result->numbers == ASSAY_VERDICT_PASS) first->result->numbers = ASSAY_VERDICT_UNKNOWN;
  first->result->timed = ASSAY_VERDICT_UNKNOWN;
  assay_status st = attempt_end_as(first, scratch->status, scratch->stage, text, err);
  assay_free(text);
  return st;
}

static assay_status make_repeat(attempt *first, attempt *a, int64_t k, bool *out_cancelled,
                                assay_error *err) {
  assay_child_result child = {0};
  ASSAY_TRY(start_worker(a, &child, err));
  *out_cancelled = child.was_cancelled && !a->talked_too_much;
  if (*out_cancelled) return ASSAY_OK;
  take_process(&child, &a->result->process);
  ASSAY_TRY(attempt_take_end(a, &child, err));
  ASSAY_TRY(judge(a, err));
  ASSAY_TRY(check_disk(a, err));
  /* Numbers are those of the first; another one's must not be worse. */
  if (a->result->status == ASSAY_RESULT_DONE && a->result->numbers != ASSAY_VERDICT_PASS &&
      first->result->numbers == ASSAY_VERDICT_PASS)
    ASSAY_TRY(attempt_end_as(a, ASSAY_RESULT_FAILED, ASSAY_STAGE_COMPARE,
                             a->result->numbers_reason != NULL ? a->result->numbers_reason : "",
                             err));
  if (a->result->status == ASSAY_RESULT_DONE && a->result->timed == ASSAY_VERDICT_FAIL)
    ASSAY_TRY(attempt_end_as(a, ASSAY_RESULT_FAILED, ASSAY_STAGE_TIMING,
                             "the provider compiled in calls that were to be warm", err));
  return a->result->status == ASSAY_RESULT_DONE ? take_repeat(first, a, err)
                                                : end_as_repeat(first, a, k, err);
}

static assay_status repeat(attempt *first, bool *out_cancelled, assay_error *err) {
  const int64_t n = first->plan->spec->processes;
  assay_result *result = first->result;
  assay_result_processes *processes = &result->processes;
  if (n < 2 || result->mode != ASSAY_RESULT_TIMING) return ASSAY_OK;
  double p50_ns = result->timing.stats.percentiles[0].value_ns;
  *processes = (assay_result_processes){
      .known = true, .n = n, .outputs_identical = true, .p50_min_ns = p50_ns, .p50_max_ns = p50_ns};
  processes->others = assay_alloc_array((size_t)n, sizeof *processes->others);
  if (processes->others == NULL) return assay_fail_memory(err, (size_t)n);
  for (int64_t k = 2; k <= n && result->status == ASSAY_RESULT_DONE && !*out_cancelled; k++) {
    attempt a = {0};
    assay_result scratch = {0};
    assay_status st = open_repeat(first, k, &scratch, &a, err);
    if (st == ASSAY_OK) st = make_repeat(first, &a, k, out_cancelled, err);
    close_repeat(&a);
    ASSAY_TRY(st);
  }
  if (result->status != ASSAY_RESULT_DONE) {
    assay_result_processes_reset(processes);
    return ASSAY_OK;
  }
  processes->p50_spread = (processes->p50_max_ns - processes->p50_min_ns) / processes->p50_min_ns;
  return ASSAY_OK;
}

/* --- warnings ------------------------------------------------------------------------------------
 */

static assay_status add_warning(assay_result *result, const char *text, assay_error *err) {
  void *block = result->warnings;
  size_t size = sizeof *result->warnings;
  ASSAY_TRY(assay_resize(&block, result->n_warnings * size, (result->n_warnings + 1) * size, err));
  result->warnings = block;
  result->warnings[result->n_warnings] = NULL;
  ASSAY_TRY(assay_fields_set(&result->warnings[result->n_warnings], text, err));
  result->n_warnings++;
  return ASSAY_OK;
}

static assay_status add_warnings(attempt *a, const assay_child_result *child, assay_error *err) {
  char text[ASSAY_ERROR_TEXT_BYTES + 32];
  const char *unsampled = a->result->memory.reason;
  snprintf(text, sizeof text, "memory was not sampled: %s", unsampled != NULL ? unsampled : "");
  if (unsampled != NULL) ASSAY_TRY(add_warning(a->result, text, err));
  if (child->left_children)
    ASSAY_TRY(add_warning(a->result, "the worker left processes behind, which were killed", err));
  for (size_t i = 0; i < a->facts.n_candidates; i++)
    ASSAY_TRY(add_warning(a->result, a->facts.candidates[i], err));
  if (a->result->timing.known && !a->result->timing.outputs_identical)
    ASSAY_TRY(
        add_warning(a->result, "outputs of the first and the last call differ in some bits", err));
  if (a->result->processes.known && !a->result->processes.outputs_identical)
    ASSAY_TRY(add_warning(a->result, "outputs of the processes differ in some bits", err));
  return ASSAY_OK;
}

/* --- the result ----------------------------------------------------------------------------------
 */

static assay_status begin_result(attempt *a, size_t i, assay_error *err) {
  assay_result *result = a->result;
  result->mode = a->run->mode;
  result->status = ASSAY_RESULT_FAILED;
  result->stage = ASSAY_STAGE_START;
  result->completeness = ASSAY_VERDICT_FAIL;
  if (a->run->mode == ASSAY_RESULT_TIMING)
    result->placed = ASSAY_VERDICT_NOT_APPLICABLE;
  else
    result->numbers = result->timed = ASSAY_VERDICT_NOT_APPLICABLE;
  if (wants_memory(a))
    ASSAY_TRY(assay_attempt_memory_none("no worker was started", &result->memory, err));
  ASSAY_TRY(assay_attempt_keys(a->plan, i, &result->keys, err));
  ASSAY_TRY(assay_fields_set(&result->runtime, a->runtime->spec.name, err));
  ASSAY_TRY(assay_fields_set(&result->bundle, a->bundle->name, err));
  ASSAY_TRY(assay_fields_set(&result->case_name, a->one->name, err));
  ASSAY_TRY(assay_fields_set(&result->tool_version, ASSAY_VERSION, err));
  ASSAY_TRY(assay_fields_set(&result->provider, a->runtime->spec.provider, err));
  assay_machine_now(result->started_at);
  return a->plan->machine != NULL ? assay_fields_set(&result->machine, a->plan->machine, err)
                                  : ASSAY_OK;
}

/* Every file of the folder, hashed, into the result. */
static assay_status list_files(attempt *a, assay_error *err) {
  static const char *const skip[] = {RESULT_FILE};
  assay_tree tree = {0};
  assay_result *result = a->result;
  ASSAY_TRY(assay_tree_scan(a->folder, skip, N_OF(skip), &tree, err));
  assay_status st = ASSAY_OK;
  result->files = assay_alloc_array(tree.n, sizeof *result->files);
  if (result->files == NULL) st = assay_fail_memory(err, tree.n * sizeof *result->files);
  for (size_t i = 0; i < tree.n && st == ASSAY_OK; i++) {
    assay_result_file *file = &result->files[result->n_files++];
    memcpy(file->sha256, tree.entries[i].sha256, sizeof file->sha256);
    file->size_bytes = tree.entries[i].size_bytes;
    st = assay_fields_set(&file->file, tree.entries[i].file, err);
  }
  assay_tree_reset(&tree);
  return st;
}

static assay_status write_result(attempt *a, assay_error *err) {
  ASSAY_TRY(list_files(a, err));
  char *path = assay_path_join(a->folder, RESULT_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(a->folder) + sizeof RESULT_FILE);
  assay_status st = assay_result_write(a->result, path, err);
  assay_free(path);
  return st;
}

/* Worker, end, verdicts, files. */
static assay_status make_in_folder(attempt *a, bool *out_cancelled, assay_error *err) {
  assay_error why = {0};
  assay_child_result child = {0};
  if (check_inputs(a, &why)) {
    ASSAY_TRY(attempt_end_as(a, ASSAY_RESULT_FAILED, ASSAY_STAGE_START, why.text, err));
    return write_result(a, err);
  }
  ASSAY_TRY(attempt_specialise(a, out_cancelled, err));
  if (*out_cancelled) return ASSAY_OK;
  ASSAY_TRY(start_worker(a, &child, err));
  *out_cancelled = child.was_cancelled && !a->talked_too_much;
  if (*out_cancelled) return ASSAY_OK;
  take_process(&child, &a->result->process);
  ASSAY_TRY(attempt_take_end(a, &child, err));
  ASSAY_TRY(judge(a, err));
  if (a->result->status == ASSAY_RESULT_DONE) ASSAY_TRY(repeat(a, out_cancelled, err));
  if (*out_cancelled) return ASSAY_OK;
  if (a->result->status == ASSAY_RESULT_DONE) a->result->stage = ASSAY_STAGE_NONE;
  ASSAY_TRY(check_disk(a, err));
  ASSAY_TRY(add_warnings(a, &child, err));
  return write_result(a, err);
}

/* --- into its place ------------------------------------------------------------------------------
 */

/* The finished folder to its place. What was there moves into the work folder first, so that a kill
 * in between leaves the run missing and never mixed. */
static assay_status put_in_place(const attempt *a, const char *place, assay_error *err) {
  char *parent = assay_strndup(place, (size_t)(assay_path_name(place) - place) - 1);
  char *old = assay_path_join(a->plan->work_folder, "replaced");
  assay_status st =
      parent != NULL && old != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(place));
  if (st == ASSAY_OK) st = assay_folder_create(parent, err);
  if (st == ASSAY_OK) st = assay_folder_remove(old, err);
  if (st == ASSAY_OK && assay_path_kind_of(place) != ASSAY_PATH_NONE && rename(place, old) != 0)
    st = assay_fail(err, ASSAY_E_IO, "'%s' cannot be moved away", place);
  if (st == ASSAY_OK && rename(a->folder, place) != 0)
    st = assay_fail(err, ASSAY_E_IO, "'%s' cannot be moved to '%s'", a->folder, place);
  if (st == ASSAY_OK) st = assay_folder_remove(old, err);
  assay_free(parent);
  assay_free(old);
  return st;
}

static assay_status make_paths(attempt *a, assay_error *err) {
  a->folder = assay_path_join(a->plan->work_folder, "run");
  a->model_path = assay_path_join(a->bundle->folder, attempt_model_of(a->bundle, a->one)->file);
  a->case_path = assay_path_join(a->bundle->folder, a->one->file.file);
  if (a->folder == NULL || a->model_path == NULL || a->case_path == NULL)
    return assay_fail_memory(err, strlen(a->bundle->folder));
  a->stdout_path = assay_path_join(a->folder, STDOUT_FILE);
  a->stderr_path = assay_path_join(a->folder, STDERR_FILE);
  if (a->stdout_path == NULL || a->stderr_path == NULL)
    return assay_fail_memory(err, strlen(a->folder));
  ASSAY_TRY(assay_folder_remove(a->folder, err));
  return assay_folder_create(a->folder, err);
}

static assay_status make_and_place(attempt *a, size_t i, bool *out_cancelled, assay_error *err) {
  ASSAY_TRY(begin_result(a, i, err));
  ASSAY_TRY(make_paths(a, err));
  ASSAY_TRY(make_in_folder(a, out_cancelled, err));
  if (*out_cancelled) return assay_folder_remove(a->folder, err);
  char *place = assay_attempt_folder(a->plan, i);
  if (place == NULL) return assay_fail_memory(err, 256);
  assay_status st = put_in_place(a, place, err);
  assay_free(place);
  return st;
}

assay_status assay_attempt_make(const assay_plan *plan, size_t i, assay_result *out_result,
                                bool *out_cancelled, assay_error *err) {
  const assay_plan_run *run = &plan->runs[i];
  const assay_plan_bundle *bundle = &plan->bundles[run->bundle];
  assay_result result = {0};
  attempt a = {.plan = plan,
               .run = run,
               .runtime = &plan->runtimes[run->runtime],
               .bundle = bundle,
               .one = &bundle->manifest.cases[run->case_index],
               .result = &result};
  *out_cancelled = false;
  assay_status st = make_and_place(&a, i, out_cancelled, err);
  if (st == ASSAY_OK && !*out_cancelled) {
    *out_result = result;
    result = (assay_result){0};
  }
  assay_result_reset(&result);
  assay_worker_facts_reset(&a.facts);
  assay_free(a.folder);
  assay_free(a.model_path);
  assay_free(a.case_path);
  assay_free(a.stdout_path);
  assay_free(a.stderr_path);
  return st;
}
