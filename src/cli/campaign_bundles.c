#include "cli/campaign_bundles.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/file.h"
#include "cli/stop.h"

#define WORDS_MAX_BYTES 4096

static assay_status run_export(const char *const *argv, const char *said_path, const char *name,
                               assay_error *err) {
  assay_child_result ended = {0};
  const assay_child_spec child = {
      .argv = argv, .stderr_path = said_path, .cancelled = assay_stop_asked};
  ASSAY_TRY(assay_child_run(&child, &ended, err));
  if (ended.exited && ended.exit_code == 0) return ASSAY_OK;
  assay_buf said = {0};
  if (assay_file_read(said_path, WORDS_MAX_BYTES, &said, NULL)) assay_buf_reset(&said);
  char *words = said.data != NULL ? (char *)said.data : NULL;
  if (words != NULL) words[strcspn(words, "\n")] = '\0';
  assay_status st = assay_fail(err, ASSAY_E_ARGUMENT, "bundle '%s' could not be exported: %s", name,
                               words != NULL && words[0] != '\0' ? words : "it was ended");
  assay_buf_reset(&said);
  return st;
}

static assay_status export_bundle(const assay_campaign_file_bundle *bundle, const char *to,
                                  assay_error *err) {
  char *self = NULL;
  ASSAY_TRY(assay_child_self_path(&self, err));
  char *said = assay_format("%s.stderr", to);
  const char **argv = assay_alloc_array(bundle->n_export_args + 7, sizeof *argv);
  assay_status st = said != NULL && argv != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  if (st == ASSAY_OK) {
    size_t n = 0;
    argv[n++] = self;
    argv[n++] = "export";
    for (size_t i = 0; i < bundle->n_export_args; i++) argv[n++] = bundle->export_args[i];
    argv[n++] = "--name";
    argv[n++] = bundle->name;
    argv[n++] = "-o";
    argv[n++] = to;
    fprintf(stderr, "exporting '%s' to '%s'\n", bundle->name, to);
    st = run_export(argv, said, bundle->name, err);
  }
  if (said != NULL) (void)!assay_folder_remove(said, NULL);
  assay_free(argv);
  assay_free(said);
  assay_free(self);
  return st;
}

static assay_status make_bundle(const assay_campaign_file_bundle *bundle, const char *folder,
                                char **out, assay_error *err) {
  *out =
      bundle->folder != NULL ? assay_strdup(bundle->folder) : assay_path_join(folder, bundle->name);
  char *manifest = *out != NULL ? assay_path_join(*out, "manifest.json") : NULL;
  if (manifest == NULL) return assay_fail_memory(err, 256);
  bool is_there = assay_path_kind_of(manifest) == ASSAY_PATH_FILE;
  assay_free(manifest);
  if (is_there || bundle->folder != NULL) return ASSAY_OK;
  ASSAY_TRY(assay_folder_create(folder, err));
  return export_bundle(bundle, *out, err);
}

assay_status assay_campaign_bundles_make(const assay_campaign_file *file, const char *folder,
                                         char ***out, assay_error *err) {
  char **folders = assay_alloc_array(file->n_bundles, sizeof *folders);
  if (folders == NULL) return assay_fail_memory(err, file->n_bundles * sizeof *folders);
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < file->n_bundles && st == ASSAY_OK; i++)
    st = make_bundle(&file->bundles[i], folder, &folders[i], err);
  if (st) {
    assay_campaign_bundles_free(folders, file->n_bundles);
    return st;
  }
  *out = folders;
  return ASSAY_OK;
}

void assay_campaign_bundles_free(char **folders, size_t n) {
  for (size_t i = 0; folders != NULL && i < n; i++) assay_free(folders[i]);
  assay_free(folders);
}
