/* Executed graphs by contents. What is there already is believed for its bytes only. */
#include "campaign/graphs.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "campaign/attempt.h"

#define FOLDER "graphs"
#define ENDING ".onnx"

static const assay_manifest_file *graph_of(const assay_plan *plan, size_t i) {
  const assay_plan_run *run = &plan->runs[i];
  const assay_manifest_case *one = &plan->bundles[run->bundle].manifest.cases[run->case_index];
  return one->model.file != NULL ? &one->model : NULL;
}

static bool is_made(const assay_plan *plan, size_t i) {
  char *folder = assay_attempt_folder(plan, i);
  bool made = folder != NULL && assay_path_kind_of(folder) == ASSAY_PATH_FOLDER;
  assay_free(folder);
  return made;
}

/* The graph of run i, if it is to be kept. */
static const assay_manifest_file *wanted(const assay_plan *plan, size_t i) {
  const assay_manifest_file *graph = graph_of(plan, i);
  return graph != NULL && is_made(plan, i) ? graph : NULL;
}

char *assay_graphs_path(const char *package_path, const char *sha256) {
  return assay_format("%s/" FOLDER "/%s" ENDING, package_path, sha256);
}

bool assay_graphs_holds(const char *path, const char *want) {
  char sha256[65] = "";
  return assay_path_kind_of(path) == ASSAY_PATH_FILE &&
         assay_sha256_file(path, sha256, /*out_size_bytes=*/NULL, /*err=*/NULL) == ASSAY_OK &&
         strcmp(sha256, want) == 0;
}

assay_status assay_graphs_keep(const char *path, const char *sha256, const void *bytes,
                               size_t size_bytes, assay_error *err) {
  if (assay_graphs_holds(path, sha256)) return ASSAY_OK;
  char *folder = assay_strndup(path, (size_t)(assay_path_name(path) - path));
  if (folder == NULL) return assay_fail_memory(err, strlen(path));
  assay_status st = assay_folder_create(folder, err);
  assay_free(folder);
  if (st == ASSAY_OK) st = assay_folder_remove(path, err);
  return st == ASSAY_OK ? assay_file_write(path, bytes, size_bytes, err) : st;
}

static assay_status store(const char *from, const char *to, const char *sha256, assay_error *err) {
  if (assay_graphs_holds(to, sha256)) return ASSAY_OK;
  ASSAY_TRY(assay_folder_remove(to, err));
  if (link(from, to) == 0) return ASSAY_OK;
  return assay_file_copy(from, to, err); /* no links here, or too many of this file */
}

static assay_status store_one(const assay_plan *plan, size_t i, const assay_manifest_file *graph,
                              assay_error *err) {
  const assay_plan_bundle *bundle = &plan->bundles[plan->runs[i].bundle];
  char *folder = assay_path_join(plan->spec->package_path, FOLDER);
  char *to = folder != NULL ? assay_format("%s/%s" ENDING, folder, graph->sha256) : NULL;
  char *from = assay_path_join(bundle->folder, graph->file);
  assay_status st = to != NULL && from != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  if (st == ASSAY_OK) st = assay_folder_create(folder, err);
  if (st == ASSAY_OK) st = store(from, to, graph->sha256, err);
  assay_free(folder);
  assay_free(to);
  assay_free(from);
  return st;
}

/* The graph that was made for run i; "" when there is none, or no result. */
static void made_for(const assay_plan *plan, size_t i, char out[65]) {
  assay_result result = {0};
  out[0] = '\0';
  if (!plan->runtimes[plan->runs[i].runtime].spec.is_static) return;
  char *folder = assay_attempt_folder(plan, i);
  char *path = folder != NULL ? assay_path_join(folder, "result.json") : NULL;
  if (path != NULL && assay_result_read(path, &result, NULL) == ASSAY_OK && result.graph.kept)
    memcpy(out, result.graph.sha256, sizeof result.graph.sha256);
  assay_result_reset(&result);
  assay_free(path);
  assay_free(folder);
}

static bool is_named(const char *name, const char *sha256) {
  size_t n = strlen(sha256);
  return n > 0 && strncmp(name, sha256, n) == 0 && strcmp(name + n, ENDING) == 0;
}

static bool belongs(const assay_plan *plan, const char *name) {
  for (size_t i = 0; i < plan->n_runs; i++) {
    char made[65];
    const assay_manifest_file *graph = wanted(plan, i);
    made_for(plan, i, made);
    if ((graph != NULL && is_named(name, graph->sha256)) || is_named(name, made)) return true;
  }
  return false;
}

static assay_status prune(const assay_plan *plan, const char *folder, assay_error *err) {
  assay_names names = {0};
  assay_status st = assay_folder_list(folder, &names, err);
  size_t n_kept = 0;
  for (size_t i = 0; i < names.n && st == ASSAY_OK; i++) {
    if (belongs(plan, names.items[i])) {
      n_kept++;
      continue;
    }
    char *path = assay_path_join(folder, names.items[i]);
    st = path != NULL ? assay_folder_remove(path, err) : assay_fail_memory(err, 256);
    assay_free(path);
  }
  assay_names_reset(&names);
  return st == ASSAY_OK && n_kept == 0 ? assay_folder_remove(folder, err) : st;
}

assay_status assay_graphs_store(const assay_plan *plan, assay_error *err) {
  for (size_t i = 0; i < plan->n_runs; i++) {
    const assay_manifest_file *graph = wanted(plan, i);
    if (graph != NULL) ASSAY_TRY(store_one(plan, i, graph, err));
  }
  char *folder = assay_path_join(plan->spec->package_path, FOLDER);
  if (folder == NULL) return assay_fail_memory(err, 256);
  assay_status st = ASSAY_OK;
  if (assay_path_kind_of(folder) == ASSAY_PATH_FOLDER) st = prune(plan, folder, err);
  assay_free(folder);
  return st;
}
