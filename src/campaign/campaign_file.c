/* Reads campaign files. The format stands in the header. */
#include "campaign/campaign_file.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "campaign/worker.h"
#include "package/fields.h"

#define FILE_MAX_BYTES ((size_t)1 << 20)

/* The folder that a relative path is taken from; released with assay_free. */
static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? assay_strndup(path, (size_t)(slash - path) + 1) : assay_strdup("./");
}

static assay_status read_bundle(const assay_json *item, const char *base,
                                assay_campaign_file_bundle *out, assay_error *err) {
  static const char *const keys[] = {"name", "folder", "export"};
  const char *folder = NULL;
  ASSAY_TRY(assay_json_only_keys(item, keys, N_OF(keys), err));
  ASSAY_TRY(assay_fields_name(item, "name", &out->name, err));
  bool has_folder = assay_json_get(item, "folder") != NULL;
  if (has_folder == (assay_json_get(item, "export") != NULL))
    return assay_fail(err, ASSAY_E_FORMAT, "'%s': expected one of 'folder' and 'export'",
                      out->name);
  if (!has_folder)
    return assay_fields_strings(item, "export", &out->export_args, &out->n_export_args, err);
  ASSAY_TRY(assay_json_need_string(item, "folder", &folder, err));
  out->folder = folder[0] == '/' ? assay_strdup(folder) : assay_path_join(base, folder);
  return out->folder != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(folder) + 1);
}

static size_t find_bundle(const assay_campaign_file *file, size_t n, const char *name) {
  size_t i = 0;
  while (i < n && strcmp(file->bundles[i].name, name) != 0) i++;
  return i;
}

static assay_status read_bundles(const assay_json *root, const char *base, assay_campaign_file *out,
                                 assay_error *err) {
  const assay_json *list = NULL;
  ASSAY_TRY(assay_json_need_array(root, "bundles", &list, err));
  size_t n = assay_json_len(list);
  if (n == 0) return assay_fail(err, ASSAY_E_FORMAT, "'bundles' is empty: nothing to run");
  out->bundles = assay_alloc_array(n, sizeof *out->bundles);
  if (out->bundles == NULL) return assay_fail_memory(err, n * sizeof *out->bundles);
  for (size_t i = 0; i < n; i++) {
    out->n_bundles = i + 1;
    assay_status st = read_bundle(assay_json_at(list, i), base, &out->bundles[i], err);
    if (st == ASSAY_OK && find_bundle(out, i, out->bundles[i].name) < i)
      st = assay_fail(err, ASSAY_E_FORMAT, "'%s' is named twice", out->bundles[i].name);
    if (st) {
      assay_error_in(err, "bundles[%zu]", i);
      return st;
    }
  }
  return ASSAY_OK;
}

static assay_status add_cell(assay_campaign_file *out, const char *bundle, assay_error *err) {
  size_t b = find_bundle(out, out->n_bundles, bundle), r = out->n_runtimes - 1;
  if (b == out->n_bundles)
    return assay_fail(err, ASSAY_E_FORMAT, "'%s' is not among the bundles", bundle);
  for (size_t i = 0; i < out->n_cells; i++)
    if (out->cells[i].runtime == r && out->cells[i].bundle == b)
      return assay_fail(err, ASSAY_E_FORMAT, "'%s' is named twice", bundle);
  void *block = out->cells;
  size_t size = sizeof *out->cells;
  ASSAY_TRY(assay_resize(&block, out->n_cells * size, (out->n_cells + 1) * size, err));
  out->cells = block;
  out->cells[out->n_cells++] = (assay_campaign_cell){.runtime = r, .bundle = b};
  return ASSAY_OK;
}

static assay_status read_run(const assay_json *item, assay_campaign_file *out, assay_error *err) {
  static const char *const keys[] = {"runtime", "bundles"};
  const assay_json *bundles = NULL;
  char *runtime = NULL;
  ASSAY_TRY(assay_json_only_keys(item, keys, N_OF(keys), err));
  ASSAY_TRY(assay_fields_string(item, "runtime", &runtime, err));
  for (size_t i = 0; i < out->n_runtimes; i++) {
    if (strcmp(out->runtimes[i], runtime) != 0) continue;
    assay_status st = assay_fail(err, ASSAY_E_FORMAT, "runtime '%s' is named twice", runtime);
    assay_free(runtime);
    return st;
  }
  out->runtimes[out->n_runtimes++] = runtime;
  ASSAY_TRY(assay_json_need_array(item, "bundles", &bundles, err));
  if (assay_json_len(bundles) == 0)
    return assay_fail(err, ASSAY_E_FORMAT, "'bundles' is empty: nothing to run");
  for (size_t i = 0; i < assay_json_len(bundles); i++) {
    const char *name = assay_json_string(assay_json_at(bundles, i));
    if (name == NULL)
      return assay_fail(err, ASSAY_E_FORMAT, "bundles[%zu]: expected a bundle's name", i);
    ASSAY_TRY(add_cell(out, name, err));
  }
  return ASSAY_OK;
}

static assay_status read_runs(const assay_json *root, assay_campaign_file *out, assay_error *err) {
  const assay_json *list = NULL;
  ASSAY_TRY(assay_json_need_array(root, "runs", &list, err));
  out->runtimes = assay_alloc_array(assay_json_len(list), sizeof *out->runtimes);
  if (out->runtimes == NULL) return assay_fail_memory(err, 64);
  for (size_t i = 0; i < assay_json_len(list); i++) {
    assay_status st = read_run(assay_json_at(list, i), out, err);
    if (st) {
      assay_error_in(err, "runs[%zu]", i);
      return st;
    }
  }
  for (size_t b = 0; b < out->n_bundles; b++) {
    size_t n = 0;
    for (size_t i = 0; i < out->n_cells; i++) n += out->cells[i].bundle == b;
    if (n == 0)
      return assay_fail(err, ASSAY_E_FORMAT, "bundle '%s' is run on nothing", out->bundles[b].name);
  }
  return ASSAY_OK;
}

static assay_status read_count(const assay_json *root, const char *key, int64_t low, int64_t *out,
                               assay_error *err) {
  if (assay_json_get(root, key) == NULL) return ASSAY_OK;
  return assay_json_need_int(root, key, low, ASSAY_WORKER_MAX_CALLS, out, err);
}

static assay_status read_root(const assay_json *root, const char *base, assay_campaign_file *out,
                              assay_error *err) {
  static const char *const keys[] = {"schema",         "iterations", "warmup",
                                     "placement_runs", "bundles",    "runs"};
  ASSAY_TRY(assay_json_need_schema(root, "campaign", /*version=*/1, err));
  ASSAY_TRY(assay_json_only_keys(root, keys, N_OF(keys), err));
  ASSAY_TRY(read_count(root, "iterations", 1, &out->iterations, err));
  ASSAY_TRY(read_count(root, "warmup", 0, &out->warmup, err));
  ASSAY_TRY(read_count(root, "placement_runs", 1, &out->placement_runs, err));
  ASSAY_TRY(read_bundles(root, base, out, err));
  return read_runs(root, out, err);
}

assay_status assay_campaign_file_read(const char *path, assay_campaign_file *out,
                                      assay_error *err) {
  assay_campaign_file file = {.warmup = -1};
  assay_json *root = NULL;
  char *base = folder_of(path);
  assay_status st = base != NULL ? assay_file_read(path, FILE_MAX_BYTES, &file.text, err)
                                 : assay_fail_memory(err, strlen(path) + 1);
  if (st == ASSAY_OK) {
    st = assay_json_parse(file.text.data, file.text.size_bytes, &root, err);
    if (st == ASSAY_OK) st = read_root(root, base, &file, err);
    if (st) assay_error_in(err, "'%s'", path);
  }
  assay_json_destroy(root);
  assay_free(base);
  if (st) {
    assay_campaign_file_reset(&file);
    return st;
  }
  *out = file;
  return ASSAY_OK;
}

void assay_campaign_file_reset(assay_campaign_file *file) {
  for (size_t i = 0; i < file->n_bundles; i++) {
    assay_free(file->bundles[i].name);
    assay_free(file->bundles[i].folder);
    assay_fields_strings_destroy(file->bundles[i].export_args, file->bundles[i].n_export_args);
  }
  assay_free(file->bundles);
  for (size_t i = 0; i < file->n_runtimes; i++) assay_free(file->runtimes[i]);
  assay_free(file->runtimes);
  assay_free(file->cells);
  assay_buf_reset(&file->text);
  *file = (assay_campaign_file){0};
}
