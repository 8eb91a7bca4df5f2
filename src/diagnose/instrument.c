#include "diagnose/instrument.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "campaign/worker.h"
#include "onnx/expose.h"
#include "onnx/model_info.h"
#include "package/fields.h"
#include "package/npz.h"

#define GRAPH_MAX_BYTES    ((size_t)2 << 30)
#define BLOCKS_KEY         "assay.blocks"
#define DEFAULT_TIMEOUT_NS INT64_C(1800000000000)

/* --- the graph -----------------------------------------------------------------------------------
 */

static assay_status take_blocks(const assay_json *list, assay_instrument_blocks *out,
                                assay_error *err) {
  size_t n = assay_json_len(list);
  out->names = assay_alloc_array(n, sizeof *out->names);
  out->values = assay_alloc_array(n, sizeof *out->values);
  if (out->names == NULL || out->values == NULL) return assay_fail_memory(err, n * sizeof(char *));
  for (size_t i = 0; i < n; i++) {
    const char *name = NULL, *value = NULL;
    ASSAY_TRY(assay_json_need_string(assay_json_at(list, i), "block", &name, err));
    ASSAY_TRY(assay_json_need_string(assay_json_at(list, i), "value", &value, err));
    out->n = i + 1;
    ASSAY_TRY(assay_text_set(&out->names[i], name, err));
    ASSAY_TRY(assay_text_set(&out->values[i], value, err));
  }
  return ASSAY_OK;
}

static assay_status find_blocks(const assay_buf *graph, assay_instrument_blocks *out,
                                assay_error *err) {
  assay_onnx_info *info = NULL;
  assay_json *list = NULL;
  ASSAY_TRY(assay_onnx_info_parse(graph->data, graph->size_bytes, &info, err));
  const char *text = assay_onnx_info_metadata_value(info, BLOCKS_KEY);
  assay_status st = text != NULL
                        ? assay_json_parse(text, strlen(text), &list, err)
                        : assay_fail(err, ASSAY_E_UNSUPPORTED,
                                     "the graph does not name its blocks (metadata '" BLOCKS_KEY
                                     "'): export it again with this assay");
  if (st == ASSAY_OK) st = take_blocks(list, out, err);
  assay_json_destroy(list);
  assay_onnx_info_close(info);
  return st;
}

static assay_status write_copy(const assay_buf *graph, const assay_instrument_blocks *blocks,
                               const char *to, assay_error *err) {
  assay_buf copy = {0};
  assay_status st = assay_onnx_expose(graph->data, graph->size_bytes,
                                      (const char *const *)blocks->values, blocks->n, &copy, err);
  if (st == ASSAY_OK) st = assay_file_write(to, copy.data, copy.size_bytes, err);
  assay_buf_reset(&copy);
  return st;
}

assay_status assay_instrument_graph(const char *from, const char *to, assay_instrument_blocks *out,
                                    assay_error *err) {
  assay_buf graph = {0};
  assay_instrument_blocks blocks = {0};
  assay_status st = assay_file_read(from, GRAPH_MAX_BYTES, &graph, err);
  if (st == ASSAY_OK) st = find_blocks(&graph, &blocks, err);
  if (st == ASSAY_OK) st = write_copy(&graph, &blocks, to, err);
  assay_buf_reset(&graph);
  if (st) {
    assay_error_in(err, "'%s'", from);
    assay_instrument_blocks_reset(&blocks);
    return st;
  }
  *out = blocks;
  return ASSAY_OK;
}

void assay_instrument_blocks_reset(assay_instrument_blocks *blocks) {
  for (size_t i = 0; i < blocks->n; i++) {
    assay_free(blocks->names[i]);
    assay_free(blocks->values[i]);
  }
  assay_free(blocks->names);
  assay_free(blocks->values);
  *blocks = (assay_instrument_blocks){0};
}

/* --- a run ---------------------------------------------------------------------------------------
 */

static assay_status start(const assay_instrument_run *run, const char *self, const char *task_path,
                          assay_child_result *out, assay_error *err) {
  char **env = NULL;
  char parent[32];
  char *said = assay_path_join(run->folder, "stdout.txt");
  char *cried = assay_path_join(run->folder, "stderr.txt");
  snprintf(parent, sizeof parent, "%lld", (long long)getpid());
  const char *argv[] = {self,        "worker",   "--spec", task_path, "--out",
                        run->folder, "--parent", parent,   NULL};
  assay_status st = said != NULL && cried != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  if (st == ASSAY_OK) st = assay_settings_make_env(&run->runtime->env, &env, err);
  const assay_child_spec child = {.argv = argv,
                                  .env = (const char *const *)env,
                                  .stdout_path = said,
                                  .stderr_path = cried,
                                  .timeout_ns =
                                      run->timeout_ns > 0 ? run->timeout_ns : DEFAULT_TIMEOUT_NS,
                                  .cancelled = run->cancelled,
                                  .arg = run->arg};
  if (st == ASSAY_OK) st = assay_child_run(&child, out, err);
  assay_settings_free_env(env);
  assay_free(said);
  assay_free(cried);
  return st;
}

static assay_status write_task(const assay_instrument_run *run, const char *path,
                               assay_error *err) {
  assay_worker_task task = {.mode = ASSAY_WORKER_TIMING, .iterations = 1, .runtime = *run->runtime};
  task.model_path = assay_strdup(run->model);
  task.case_path = assay_strdup(run->inputs);
  assay_status st = task.model_path != NULL && task.case_path != NULL
                        ? assay_worker_task_write(&task, path, err)
                        : assay_fail_memory(err, 256);
  assay_free(task.model_path);
  assay_free(task.case_path);
  return st;
}

/* Why a worker that ended gave nothing: its own words, or how it ended. */
static char *reason_of(const assay_child_result *ended, const assay_worker_facts *facts) {
  if (facts->reason != NULL && facts->reason[0] != '\0')
    return assay_fields_printable(facts->reason);
  if (ended->timed_out) return assay_strdup("it took too long and was ended");
  if (ended->signal != 0) return assay_format("it died by signal %d", ended->signal);
  return assay_format("it ended with status %d without a word", ended->exit_code);
}

static assay_status take_outputs(const assay_instrument_run *run, const assay_child_result *ended,
                                 assay_tensor_map *out, char **out_reason, char **out_version,
                                 assay_error *err) {
  assay_worker_facts facts = {0};
  char *facts_path = assay_path_join(run->folder, ASSAY_WORKER_FACTS_FILE);
  char *outputs_path = assay_path_join(run->folder, ASSAY_WORKER_OUTPUTS_FILE);
  assay_status st =
      facts_path != NULL && outputs_path != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  if (st == ASSAY_OK) {
    bool known = assay_worker_facts_read(facts_path, &facts, NULL) == ASSAY_OK;
    *out_version =
        assay_strdup(known && facts.library_version != NULL ? facts.library_version : "");
    if (!known || !facts.finished)
      *out_reason = reason_of(ended, &facts);
    else
      st = assay_npz_read(outputs_path, /*limits=*/NULL, out, err);
    if (*out_version == NULL || ((!known || !facts.finished) && *out_reason == NULL))
      st = assay_fail_memory(err, 256);
  }
  assay_worker_facts_reset(&facts);
  assay_free(facts_path);
  assay_free(outputs_path);
  return st;
}

assay_status assay_instrument_execute(const assay_instrument_run *run, assay_tensor_map *out,
                                      char **out_reason, char **out_version, assay_error *err) {
  assay_child_result ended = {0};
  char *self = NULL, *reason = NULL, *version = NULL;
  assay_tensor_map outputs = {0};
  ASSAY_TRY(assay_folder_create(run->folder, err));
  char *task_path = assay_path_join(run->folder, "task.json");
  assay_status st = task_path != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  if (st == ASSAY_OK) st = assay_child_self_path(&self, err);
  if (st == ASSAY_OK) st = write_task(run, task_path, err);
  if (st == ASSAY_OK) st = start(run, self, task_path, &ended, err);
  if (st == ASSAY_OK && ended.was_cancelled) st = assay_fail(err, ASSAY_E_STOPPED, "stopped");
  if (st == ASSAY_OK) st = take_outputs(run, &ended, &outputs, &reason, &version, err);
  assay_free(self);
  assay_free(task_path);
  if (st) {
    assay_free(reason);
    assay_free(version);
    assay_tensor_map_reset(&outputs);
    return st;
  }
  *out = outputs;
  *out_reason = reason;
  *out_version = version;
  return ASSAY_OK;
}
