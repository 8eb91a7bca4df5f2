/* graphs/<sha256>.onnx against the checksum tree, whose digests were held against the bytes. */
#include "verify/verify_graphs.h"

#include <stdio.h>
#include <string.h>

#define FOLDER "graphs/"
#define ENDING ".onnx"

static void name_of(const char *sha256, char out[128]) {
  snprintf(out, 128, FOLDER "%.64s" ENDING, sha256);
}

/* The graph that the run loaded, where its bundle has one for each shape or it was made for the
 * run; NULL otherwise. */
static const char *graph_of(const assay_verify_run *run) {
  if (run->is_there && run->found.graph.kept) return run->found.graph.sha256;
  if (!run->is_there || run->manifest_case == NULL || run->manifest_case->model.file == NULL)
    return NULL;
  return run->found.keys.model_sha256[0] != '\0' ? run->found.keys.model_sha256 : NULL;
}

static bool is_of_a_run(const assay_verify_scene *scene, const assay_verify_run *runs,
                        const char *file) {
  char name[128];
  for (size_t i = 0; i < scene->package->n_runs; i++) {
    const char *sha256 = graph_of(&runs[i]);
    /* Of a run whose result cannot be read it is the one that its bundle has. */
    if (sha256 == NULL && !runs[i].is_there && runs[i].manifest_case != NULL)
      sha256 = runs[i].manifest_case->model.sha256;
    if (sha256 == NULL) continue;
    name_of(sha256, name);
    if (strcmp(name, file) == 0) return true;
  }
  return false;
}

void assay_verify_graphs_check(const assay_verify_scene *scene, const assay_verify_run *runs) {
  char name[128];
  for (size_t i = 0; i < scene->sums->n; i++) {
    const assay_tree_entry *entry = &scene->sums->entries[i];
    if (strncmp(entry->file, FOLDER, sizeof FOLDER - 1) != 0) continue;
    assay_verify_place at = {.findings = scene->findings, .file = entry->file};
    name_of(entry->sha256, name);
    assay_verify_holds(&at, "name", strcmp(entry->file, name) == 0, name, entry->file);
    assay_verify_holds(&at, "run", is_of_a_run(scene, runs, entry->file),
                       "a graph that a run loaded", "one of no run");
  }
  if (scene->package->finished_at[0] == '\0') return; /* kept when the campaign ends */
  for (size_t i = 0; i < scene->package->n_runs; i++) {
    const char *sha256 = graph_of(&runs[i]);
    if (sha256 == NULL) continue;
    name_of(sha256, name);
    assay_verify_place at = {.findings = scene->findings, .file = runs[i].planned->folder};
    assay_verify_holds(&at, "graph", assay_tree_find(scene->sums, name) != NULL, name,
                       "no such file");
  }
}
