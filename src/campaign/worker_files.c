/* The worker's task and what it leaves: task.json, worker.json, phases.txt. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "campaign/worker.h"
#include "package/fields.h"

#define FILE_MAX_BYTES ((size_t)16 << 20)
#define LINE_MAX_BYTES 256

static const char *const mode_words[] = {"timing", "placement", "probe", "fold"};

/* --- task ----------------------------------------------------------------------------------------
 */

static const assay_field task_fields[] = {
    {"model", ASSAY_FIELD_STRING_OR_NULL, offsetof(assay_worker_task, model_path), sizeof(char *),
     NULL, 0},
    {"case", ASSAY_FIELD_STRING_OR_NULL, offsetof(assay_worker_task, case_path), sizeof(char *),
     NULL, 0},
    ASSAY_FIELD(assay_worker_task, iterations, COUNT),
    ASSAY_FIELD(assay_worker_task, warmup, COUNT),
    ASSAY_FIELD(assay_worker_task, placement_runs, COUNT),
    {"digests", ASSAY_FIELD_STRING_OR_NULL, offsetof(assay_worker_task, digests_path),
     sizeof(char *), NULL, 0},
};
static const char *const task_others[] = {"schema", "mode", "runtime"};

static assay_status read_mode(const assay_json *root, assay_worker_mode *out, assay_error *err) {
  const char *word = NULL;
  ASSAY_TRY(assay_json_need_string(root, "mode", &word, err));
  for (size_t i = 0; i < N_OF(mode_words); i++) {
    if (strcmp(word, mode_words[i]) != 0) continue;
    *out = (assay_worker_mode)i;
    return ASSAY_OK;
  }
  return assay_fail(err, ASSAY_E_FORMAT,
                    "'mode': expected timing, placement, probe or fold, found '%s'", word);
}

static assay_status check_task(const assay_worker_task *task, assay_error *err) {
  if (task->runtime.library == NULL)
    return assay_fail(err, ASSAY_E_FORMAT, "'runtime': expected a library's path, found none");
  bool needs_case = task->mode != ASSAY_WORKER_PROBE && task->mode != ASSAY_WORKER_FOLD;
  if (task->mode == ASSAY_WORKER_FOLD && task->model_path == NULL)
    return assay_fail(err, ASSAY_E_FORMAT, "'model': expected a path, found null");
  if (needs_case && (task->model_path == NULL || task->case_path == NULL))
    return assay_fail(err, ASSAY_E_FORMAT, "'model' and 'case': expected paths, found null");
  if (task->iterations > ASSAY_WORKER_MAX_CALLS || task->warmup > ASSAY_WORKER_MAX_CALLS ||
      task->placement_runs > ASSAY_WORKER_MAX_CALLS)
    return assay_fail(err, ASSAY_E_LIMIT, "expected at most %lld calls",
                      (long long)ASSAY_WORKER_MAX_CALLS);
  if (task->mode == ASSAY_WORKER_TIMING && task->iterations < 1)
    return assay_fail(err, ASSAY_E_FORMAT, "'iterations': expected at least 1");
  if (task->mode == ASSAY_WORKER_PLACEMENT && task->placement_runs < 1)
    return assay_fail(err, ASSAY_E_FORMAT, "'placement_runs': expected at least 1");
  return ASSAY_OK;
}

static assay_status read_task(const assay_json *root, assay_worker_task *out, assay_error *err) {
  const assay_json *runtime = NULL;
  ASSAY_TRY(assay_json_need_schema(root, "task", 1, err));
  ASSAY_TRY(assay_fields_read(root, task_fields, N_OF(task_fields), task_others, N_OF(task_others),
                              out, err));
  ASSAY_TRY(read_mode(root, &out->mode, err));
  ASSAY_TRY(assay_json_need_object(root, "runtime", &runtime, err));
  assay_status st = assay_runtime_spec_of_json(runtime, ".", &out->runtime, err);
  if (st) {
    assay_error_in(err, "runtime");
    return st;
  }
  return check_task(out, err);
}

assay_status assay_worker_task_read(const char *path, assay_worker_task *out, assay_error *err) {
  assay_worker_task task = {0};
  assay_json *root = NULL;
  ASSAY_TRY(assay_json_read(path, FILE_MAX_BYTES, &root, err));
  assay_status st = read_task(root, &task, err);
  assay_json_destroy(root);
  if (st) {
    assay_error_in(err, "'%s'", path);
    assay_worker_task_reset(&task);
    return st;
  }
  *out = task;
  return ASSAY_OK;
}

assay_status assay_worker_task_write(const assay_worker_task *task, const char *path,
                                     assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "schema", "assay/task/1");
  assay_json_put_string(b, "mode", mode_words[task->mode]);
  assay_runtime_spec_put(&task->runtime, b, "runtime");
  assay_fields_put(task_fields, N_OF(task_fields), task, b);
  assay_json_end(b);
  assay_status st = assay_json_builder_write(b, path, err);
  assay_json_builder_destroy(b);
  return st;
}

void assay_worker_task_reset(assay_worker_task *task) {
  assay_fields_reset(task_fields, N_OF(task_fields), task);
  assay_runtime_spec_reset(&task->runtime);
  *task = (assay_worker_task){0};
}

/* --- facts ---------------------------------------------------------------------------------------
 */

#define FACT(member, kind) ASSAY_FIELD(assay_worker_facts, member, kind)
static const assay_field fact_fields[] = {
    FACT(finished, BOOL),
    FACT(status, STRING),
    FACT(reason, STRING),
    FACT(library_path, STRING),
    FACT(library_version, STRING),
    FACT(library_build, STRING),
    FACT(provider, STRING),
    FACT(options_sha256, SHA256_OR_EMPTY),
    FACT(session_create_ns, COUNT),
    FACT(first_run_ns, COUNT),
    FACT(warmup, COUNT),
    FACT(iterations, COUNT),
    FACT(profiled_runs, COUNT),
    FACT(outputs_identical, BOOL),
    FACT(model_sha256, SHA256_OR_EMPTY),
    FACT(affinity, STRING),
    FACT(load_average, STRING),
    FACT(governor, STRING),
    FACT(cgroup_cpu_max, STRING),
    FACT(cgroup_memory_max, STRING),
};
#undef FACT
static const char *const fact_others[] = {"schema",      "stage",     "providers", "options",
                                          "environment", "libraries", "caches",    "candidates"};

static const assay_field library_fields[] = {
    ASSAY_FIELD(assay_machine_library, path, STRING),
    ASSAY_FIELD(assay_machine_library, sha256, SHA256_OR_EMPTY),
    ASSAY_FIELD(assay_machine_library, size_bytes, SIZE),
    ASSAY_FIELD(assay_machine_library, build_id, TEXT),
    ASSAY_FIELD(assay_machine_library, soname, TEXT),
};

static assay_status read_libraries(const assay_json *root, assay_machine_libraries *out,
                                   assay_error *err) {
  void *list = NULL;
  const assay_status st = assay_fields_list(root, "libraries", library_fields, N_OF(library_fields),
                                            sizeof *out->items, &list, &out->n, err);
  out->items = list;
  return st;
}

static assay_status read_facts(const assay_json *root, assay_worker_facts *out, assay_error *err) {
  const assay_json *options = assay_json_get(root, "options"), *environment = NULL;
  const char *stage = NULL;
  ASSAY_TRY(assay_json_need_schema(root, "facts", 1, err));
  ASSAY_TRY(assay_fields_read(root, fact_fields, N_OF(fact_fields), fact_others, N_OF(fact_others),
                              out, err));
  ASSAY_TRY(assay_json_need_string(root, "stage", &stage, err));
  if (!assay_result_stage_of_name(stage, &out->stage))
    return assay_fail(err, ASSAY_E_FORMAT, "'stage': '%s' is not one", stage);
  ASSAY_TRY(assay_fields_strings(root, "providers", &out->providers, &out->n_providers, err));
  if (options != NULL && assay_json_kind_of(options) != ASSAY_JSON_NULL)
    ASSAY_TRY(assay_json_need_object(root, "options", &options, err));
  ASSAY_TRY(assay_fields_copy(options, &out->options, err));
  ASSAY_TRY(assay_json_need_object(root, "environment", &environment, err));
  ASSAY_TRY(assay_settings_of_json(environment, /*may_be_null=*/false, &out->environment, err));
  ASSAY_TRY(read_libraries(root, &out->libraries, err));
  ASSAY_TRY(assay_result_caches_read(root, &out->caches, err));
  return assay_fields_strings(root, "candidates", &out->candidates, &out->n_candidates, err);
}

assay_status assay_worker_facts_read(const char *path, assay_worker_facts *out, assay_error *err) {
  assay_worker_facts facts = {0};
  assay_json *root = NULL;
  ASSAY_TRY(assay_json_read(path, FILE_MAX_BYTES, &root, err));
  assay_status st = read_facts(root, &facts, err);
  assay_json_destroy(root);
  if (st) {
    assay_error_in(err, "'%s'", path);
    assay_worker_facts_reset(&facts);
    return st;
  }
  *out = facts;
  return ASSAY_OK;
}

assay_status assay_worker_facts_write(const assay_worker_facts *facts, const char *path,
                                      assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "schema", "assay/facts/1");
  assay_json_put_string(b, "stage", assay_result_stage_name(facts->stage));
  assay_fields_put(fact_fields, N_OF(fact_fields), facts, b);
  assay_fields_put_strings(b, "providers", facts->providers, facts->n_providers);
  if (facts->options != NULL)
    assay_json_put_copy(b, "options", facts->options);
  else
    assay_json_put_null(b, "options");
  assay_settings_put(&facts->environment, b, "environment");
  assay_fields_put_list(b, "libraries", library_fields, N_OF(library_fields),
                        facts->libraries.items, sizeof *facts->libraries.items, facts->libraries.n);
  assay_result_caches_put(&facts->caches, b);
  assay_fields_put_strings(b, "candidates", facts->candidates, facts->n_candidates);
  assay_json_end(b);
  assay_status st = assay_json_builder_write(b, path, err);
  assay_json_builder_destroy(b);
  return st;
}

void assay_worker_facts_reset(assay_worker_facts *facts) {
  assay_fields_reset(fact_fields, N_OF(fact_fields), facts);
  assay_fields_strings_destroy(facts->providers, facts->n_providers);
  assay_json_destroy(facts->options);
  assay_settings_reset(&facts->environment);
  assay_machine_libraries_reset(&facts->libraries);
  assay_result_caches_reset(&facts->caches);
  assay_fields_strings_destroy(facts->candidates, facts->n_candidates);
  *facts = (assay_worker_facts){0};
}

/* --- phases --------------------------------------------------------------------------------------
 */

assay_result_stage assay_worker_last_stage(const char *folder) {
  char line[LINE_MAX_BYTES];
  assay_result_stage last = ASSAY_STAGE_START, stage;
  char *path = assay_path_join(folder, ASSAY_WORKER_PHASES_FILE);
  FILE *file =
      path != NULL && assay_path_kind_of(path) == ASSAY_PATH_FILE ? fopen(path, "re") : NULL;
  assay_free(path);
  if (file == NULL) return last;
  while (fgets(line, sizeof line, file) != NULL) {
    if (strchr(line, '\n') == NULL) break; /* cut: the stage before it is the last that is sure */
    line[strcspn(line, " \n")] = '\0';
    if (line[0] != '\0' && assay_result_stage_of_name(line, &stage)) last = stage;
  }
  fclose(file);
  return last;
}
