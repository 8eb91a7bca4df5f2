/* The graph of a run whose runtime takes static shapes: the bundle's model with the shapes of the
 * case, kept by its digest and executed from there.
 *
 * Constants are found by the library that will run it, on its CPU provider and in a process of its
 * own; only their values are taken (onnx/specialise.h). That the graph computes what the model
 * computes is for the numbers to show: they are compared with the model's references. Where it
 * cannot be made the model itself is executed, with its free dimensions fixed by the runtime, and
 * the result says why. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/tensor.h"
#include "base/text.h"
#include "campaign/attempt_parts.h"
#include "campaign/graphs.h"
#include "onnx/embed.h"
#include "onnx/specialise.h"
#include "package/npz.h"

#define INPUTS_MAX 1024

static bool has_free_dims(const assay_manifest *manifest) {
  for (size_t i = 0; i < manifest->n_inputs; i++)
    for (int k = 0; k < manifest->inputs[i].rank; k++)
      if (manifest->inputs[i].dims[k].symbol[0] != '\0') return true;
  return false;
}

static bool is_asked(const attempt *a) {
  return a->runtime->spec.is_static && a->one->model.file == NULL &&
         has_free_dims(&a->bundle->manifest);
}

/* A failure that is the model's is a reason; others end the campaign. */
static assay_status or_reason(attempt *a, assay_status st, const assay_error *why,
                              assay_error *err) {
  assay_result_graph *graph = &a->result->graph;
  if (st == ASSAY_OK) return st;
  if (st == ASSAY_E_MEMORY || st == ASSAY_E_IO || st == ASSAY_E_DISK)
    return assay_fail(err, st, "%s", why->text);
  assay_text_printable(why->text, graph->reason, sizeof graph->reason);
  return ASSAY_OK;
}

/* --- shapes --------------------------------------------------------------------------------------
 */

static assay_status shapes_of(const assay_manifest *manifest, const assay_tensor_map *arrays,
                              assay_onnx_shape *out, assay_error *err) {
  for (size_t i = 0; i < manifest->n_inputs; i++) {
    const assay_manifest_tensor *input = &manifest->inputs[i];
    const assay_tensor *array = assay_tensor_map_find(arrays, input->name);
    if (array == NULL)
      return assay_fail(err, ASSAY_E_FORMAT, "the case holds no array '%s'", input->name);
    out[i] = (assay_onnx_shape){input->name, array->rank, array->dims};
  }
  return ASSAY_OK;
}

/* With data that lie beside the model in it: graphs/ holds files of one kind. Over 2 GiB that
 * cannot be, which is a reason to execute the model itself. */
static assay_status fix_model(const attempt *a, const assay_onnx_shape *shapes, assay_buf *out,
                              assay_error *err) {
  const assay_manifest *manifest = &a->bundle->manifest;
  assay_file_map model = {0};
  assay_buf fixed = {0};
  const bool is_whole = manifest->n_external == 0;
  assay_status st = assay_file_map_open(a->model_path, &model, err);
  if (st == ASSAY_OK)
    st = assay_onnx_fix_shapes(model.data, model.size_bytes, shapes, manifest->n_inputs,
                               is_whole ? out : &fixed, err);
  if (st == ASSAY_OK && !is_whole)
    st = assay_onnx_embed(fixed.data, fixed.size_bytes, a->bundle->folder, out, err);
  assay_file_map_close(&model);
  assay_buf_reset(&fixed);
  return st;
}

static assay_status fix(const attempt *a, assay_buf *out, assay_error *err) {
  const assay_manifest *manifest = &a->bundle->manifest;
  assay_tensor_map arrays = {0};
  if (manifest->n_inputs > INPUTS_MAX)
    return assay_fail(err, ASSAY_E_LIMIT, "more than %d inputs", INPUTS_MAX);
  assay_onnx_shape *shapes = assay_alloc_array(manifest->n_inputs, sizeof *shapes);
  if (shapes == NULL) return assay_fail_memory(err, manifest->n_inputs);
  assay_status st = assay_npz_read(a->case_path, /*limits=*/NULL, &arrays, err);
  if (st == ASSAY_OK) st = shapes_of(manifest, &arrays, shapes, err);
  if (st == ASSAY_OK) st = fix_model(a, shapes, out, err);
  assay_free(shapes);
  assay_tensor_map_reset(&arrays);
  return st;
}

/* --- constants -----------------------------------------------------------------------------------
 */

static assay_status run_folding(const attempt *a, const char *folder, const char *model_path,
                                assay_child_result *out, assay_error *err) {
  static char cpu[] = "CPUExecutionProvider";
  const assay_runtime_spec *runtime = &a->runtime->spec;
  assay_worker_task task = {.mode = ASSAY_WORKER_FOLD,
                            .runtime = {.library = runtime->library,
                                        .provider = cpu,
                                        .preload = runtime->preload,
                                        .preload_sha256 = runtime->preload_sha256,
                                        .n_preload = runtime->n_preload,
                                        .graph_optimization_level = -1,
                                        .max_copies = -1}}; /* borrows; never reset */
  char **env = NULL;
  char *path = assay_path_join(folder, "task.json");
  task.model_path = assay_strdup(model_path);
  assay_status st =
      path != NULL && task.model_path != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  char *talk = st == ASSAY_OK ? assay_path_join(folder, "talk.txt") : NULL;
  if (st == ASSAY_OK && talk == NULL) st = assay_fail_memory(err, 256);
  if (st == ASSAY_OK) st = assay_worker_task_write(&task, path, err);
  if (st == ASSAY_OK) st = assay_settings_make_env(&runtime->env, &env, err);
  if (st == ASSAY_OK) st = attempt_run_worker(a, path, folder, talk, env, out, err);
  assay_settings_free_env(env);
  assay_free(task.model_path);
  assay_free(path);
  assay_free(talk);
  return st;
}

/* Why the worker left nothing to fold by, or that it did. */
static assay_status check_folding(const char *folder, const assay_child_result *child,
                                  bool *out_refused, assay_error *err) {
  assay_worker_facts facts = {0};
  char *path = assay_path_join(folder, ASSAY_WORKER_FACTS_FILE);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_worker_facts_read(path, &facts, err);
  assay_free(path);
  if (st && st != ASSAY_E_MEMORY)
    st = child->signal != 0 ? assay_fail(err, ASSAY_E_WORKER, "the folding process died") : st;
  if (st == ASSAY_E_IO) st = ASSAY_E_WORKER; /* a file that it did not leave */
  *out_refused = st == ASSAY_OK && !facts.finished && facts.stage == ASSAY_STAGE_SESSION;
  if (st == ASSAY_OK && (!facts.finished || child->exit_code != 0 || child->signal != 0))
    st = assay_fail(err, ASSAY_E_WORKER, "%s: %s",
                    *out_refused ? "with its shapes fixed the model cannot be loaded"
                                 : "constants were not folded",
                    facts.reason);
  assay_worker_facts_reset(&facts);
  return st;
}

static assay_status take_folded(const char *folder, const assay_buf *fixed, assay_buf *out,
                                size_t *out_n_removed, assay_error *err) {
  assay_file_map folded = {0};
  char *path = assay_path_join(folder, ASSAY_WORKER_FOLDED_FILE);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_path_kind_of(path) == ASSAY_PATH_FILE
                        ? assay_file_map_open(path, &folded, err)
                        : assay_fail(err, ASSAY_E_WORKER, "the folding process left no model");
  if (st == ASSAY_OK)
    st = assay_onnx_fold(fixed->data, fixed->size_bytes, folded.data, folded.size_bytes, out,
                         out_n_removed, err);
  assay_file_map_close(&folded);
  assay_free(path);
  return st;
}

/* *out stays empty when there is a reason not to fold; *out_refused: nor can the model be loaded as
 * it is then, because the shapes contradict a branch that this case never takes. */
static assay_status fold(attempt *a, const char *folder, const assay_buf *fixed, assay_buf *out,
                         bool *out_refused, bool *out_cancelled, assay_error *err) {
  assay_child_result child = {0};
  assay_error why = {0};
  size_t n_removed = 0;
  char *path = assay_path_join(folder, "fixed.onnx");
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_file_write(path, fixed->data, fixed->size_bytes, err);
  if (st == ASSAY_OK) st = run_folding(a, folder, path, &child, err);
  assay_free(path);
  if (st) return st;
  *out_cancelled = child.was_cancelled;
  if (*out_cancelled) return ASSAY_OK;
  st = check_folding(folder, &child, out_refused, &why);
  if (st == ASSAY_OK) st = take_folded(folder, fixed, out, &n_removed, &why);
  a->result->graph.folded = st == ASSAY_OK;
  a->result->graph.n_removed = (int64_t)n_removed;
  if (st) assay_buf_reset(out);
  return or_reason(a, st, &why, err);
}

/* --- the graph -----------------------------------------------------------------------------------
 */

/* Into graphs/, and into the attempt as what it executes. */
static assay_status keep(attempt *a, const assay_buf *bytes, assay_error *err) {
  assay_result_graph *graph = &a->result->graph;
  ASSAY_TRY(assay_sha256_bytes(bytes->data, bytes->size_bytes, graph->sha256, err));
  char *path = assay_graphs_path(a->plan->spec->package_path, graph->sha256);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_graphs_keep(path, graph->sha256, bytes->data, bytes->size_bytes, err);
  if (st) {
    assay_free(path);
    return st;
  }
  graph->kept = true;
  graph->size_bytes = bytes->size_bytes;
  assay_free(a->model_path);
  a->model_path = path;
  return ASSAY_OK;
}

static assay_status make(attempt *a, const char *folder, bool *out_cancelled, assay_error *err) {
  assay_buf fixed = {0}, folded = {0};
  assay_error why = {0};
  assay_status st = fix(a, &fixed, &why);
  bool can_fix = st == ASSAY_OK, refused = false;
  st = or_reason(a, st, &why, err);
  if (st == ASSAY_OK && can_fix)
    st = fold(a, folder, &fixed, &folded, &refused, out_cancelled, err);
  if (st == ASSAY_OK && can_fix && !refused && !*out_cancelled)
    st = keep(a, a->result->graph.folded ? &folded : &fixed, err);
  assay_buf_reset(&fixed);
  assay_buf_reset(&folded);
  return st;
}

assay_status attempt_specialise(attempt *a, bool *out_cancelled, assay_error *err) {
  *out_cancelled = false;
  if (!is_asked(a)) return ASSAY_OK;
  a->result->graph.asked = true;
  char *folder = assay_path_join(a->plan->work_folder, "static");
  if (folder == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_folder_remove(folder, err);
  if (st == ASSAY_OK) st = assay_folder_create(folder, err);
  if (st == ASSAY_OK) st = make(a, folder, out_cancelled, err);
  if (st == ASSAY_OK) st = assay_folder_remove(folder, err);
  assay_free(folder);
  return st;
}
