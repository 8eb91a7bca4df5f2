/* What runs rest on. */
#include "verify/verify_bundle.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"

/* --- files ---------------------------------------------------------------------------------------
 */

static void check_file(const assay_verify_scene *scene, const assay_verify_place *at,
                       const char *folder, const assay_manifest_file *file) {
  char what[320];
  char *name = assay_path_join(folder, file->file);
  const assay_tree_entry *entry = name != NULL ? assay_tree_find(scene->sums, name) : NULL;
  snprintf(what, sizeof what, "sha256 of '%.256s'", file->file);
  assay_verify_text(at, what, file->sha256, entry != NULL ? entry->sha256 : "");
  snprintf(what, sizeof what, "size_bytes of '%.256s'", file->file);
  assay_verify_int(at, what, (int64_t)file->size_bytes,
                   entry != NULL ? (int64_t)entry->size_bytes : -1);
  assay_free(name);
}

void assay_verify_bundle_check(const assay_verify_scene *scene, size_t bundle) {
  const assay_package_bundle *listed = &scene->package->bundles[bundle];
  const assay_manifest *manifest = &scene->manifests[bundle];
  assay_verify_place index = {.findings = scene->findings, .file = "package.json"};
  snprintf(index.within, sizeof index.within, "bundles['%.128s'].", listed->name);
  char *file = assay_path_join(listed->folder, "manifest.json");
  const assay_tree_entry *entry = file != NULL ? assay_tree_find(scene->sums, file) : NULL;
  assay_verify_text(&index, "manifest_sha256", listed->manifest_sha256,
                    entry != NULL ? entry->sha256 : "");
  if (scene->has_manifest[bundle]) {
    assay_verify_text(&index, "model_sha256", listed->model_sha256, manifest->model.sha256);
    assay_verify_place at = {.findings = scene->findings, .file = file != NULL ? file : ""};
    check_file(scene, &at, listed->folder, &manifest->model);
    for (size_t i = 0; i < manifest->n_external; i++)
      check_file(scene, &at, listed->folder, &manifest->external[i]);
    for (size_t i = 0; i < manifest->n_cases; i++) {
      check_file(scene, &at, listed->folder, &manifest->cases[i].file);
      if (manifest->cases[i].model.file != NULL)
        check_file(scene, &at, listed->folder, &manifest->cases[i].model);
    }
  }
  assay_free(file);
}

/* --- cases ---------------------------------------------------------------------------------------
 */

/* Valid elements of event `event` of a mask [B, N]. */
static int64_t count_valid(const assay_tensor *mask, int64_t event) {
  size_t n = (size_t)mask->dims[1];
  int64_t count = 0;
  for (size_t i = 0; i < n; i++) count += assay_tensor_get_real(mask, (size_t)event * n + i) != 0;
  return count;
}

static void check_shape(const assay_verify_place *at, const assay_manifest *manifest,
                        const assay_manifest_case *one, const assay_tensor_map *arrays) {
  const assay_tensor *mask =
      manifest->mask_input != NULL ? assay_tensor_map_find(arrays, manifest->mask_input) : NULL;
  if (mask == NULL || mask->rank != 2 || one->valid == NULL) return;
  assay_verify_int(at, "b", one->b, mask->dims[0]);
  assay_verify_int(at, "n", one->n, mask->dims[1]);
  for (int64_t i = 0; i < one->b && i < mask->dims[0]; i++) {
    char what[64];
    snprintf(what, sizeof what, "valid[%lld]", (long long)i);
    assay_verify_int(at, what, one->valid[i], count_valid(mask, i));
  }
}

const char *const ASSAY_VERIFY_PRECISIONS[ASSAY_VERIFY_N_PRECISIONS] = {"same", "sums", "stored"};

static assay_status derive_references(const assay_manifest *manifest,
                                      const assay_tensor_map *arrays, assay_verify_case *out,
                                      assay_error *err) {
  out->has = assay_alloc_array(manifest->n_heads, sizeof *out->has);
  out->max_abs = assay_alloc_array(manifest->n_heads, sizeof *out->max_abs);
  out->precision = assay_alloc_array(manifest->n_heads, sizeof *out->precision);
  if (out->has == NULL || out->max_abs == NULL || out->precision == NULL)
    return assay_fail_memory(err, manifest->n_heads);
  for (size_t i = 0; i < manifest->n_heads; i++) {
    double ignored = 0;
    const char *head = manifest->heads[i].name;
    ASSAY_TRY(assay_verify_numbers_references(manifest, arrays, "f32", head, &out->has[i],
                                              &out->max_abs[i], &ignored, err));
    for (int k = 0; k < ASSAY_VERIFY_N_PRECISIONS; k++)
      ASSAY_TRY(assay_verify_numbers_references(manifest, arrays, ASSAY_VERIFY_PRECISIONS[k], head,
                                                &out->precision[i].has[k], &ignored,
                                                &out->precision[i].rmse[k], err));
  }
  return ASSAY_OK;
}

static int64_t count_denormals(const assay_manifest *manifest, const assay_tensor_map *arrays) {
  int64_t n = 0;
  for (size_t i = 0; i < arrays->n; i++)
    for (size_t k = 0; k < manifest->n_inputs; k++)
      if (strcmp(arrays->items[i].name, manifest->inputs[k].name) == 0)
        n += assay_verify_numbers_denormals(&arrays->items[i].tensor);
  return n;
}

assay_status assay_verify_case_check(const assay_verify_scene *scene, assay_verify_case *out,
                                     assay_error *err) {
  const assay_manifest *manifest = &scene->manifests[out->bundle];
  const assay_manifest_case *one = &manifest->cases[out->index];
  assay_tensor_map arrays = {0};
  assay_error why = {0};
  char *file = assay_path_join(scene->package->bundles[out->bundle].folder, "manifest.json");
  if (file == NULL) return assay_fail_memory(err, 256);
  assay_verify_place at = {.findings = scene->findings, .file = file};
  snprintf(at.within, sizeof at.within, "cases['%.128s'].", one->name);
  assay_status st = assay_verify_run_arrays(scene, out->bundle, one, &arrays, &why);
  if (st == ASSAY_E_MEMORY) {
    st = assay_fail(err, st, "%s", why.text);
  } else if (st) {
    assay_verify_holds(&at, "file", false, "readable arrays", why.text);
    st = ASSAY_OK;
  } else {
    check_shape(&at, manifest, one, &arrays);
    out->n_denormal_inputs = count_denormals(manifest, &arrays);
    st = derive_references(manifest, &arrays, out, err);
  }
  assay_tensor_map_reset(&arrays);
  assay_free(file);
  return st;
}

void assay_verify_case_reset(assay_verify_case *one) {
  assay_free(one->has);
  assay_free(one->max_abs);
  assay_free(one->precision);
  *one = (assay_verify_case){0};
}

/* --- runtimes ------------------------------------------------------------------------------------
 */

assay_status assay_verify_runtime_check(const assay_verify_scene *scene, size_t runtime,
                                        assay_error *err) {
  const assay_package_runtime *listed = &scene->package->runtimes[runtime];
  assay_verify_place at = {.findings = scene->findings, .file = "package.json"};
  snprintf(at.within, sizeof at.within, "runtimes['%.128s'].", listed->name);
  assay_json_builder *b = assay_json_builder_create();
  assay_json *whole = NULL;
  assay_buf text = {0}, line = {0};
  char sha256[65] = "";
  assay_json_begin_object(b, NULL);
  for (size_t i = 0; i < assay_json_len(listed->spec); i++) {
    const char *key = assay_json_key_at(listed->spec, i);
    if (strcmp(key, "library") == 0 || strcmp(key, "plugin") == 0 ||
        strcmp(key, "preload") == 0) /* count by their contents */
      assay_json_put_null(b, key);
    else
      assay_json_put_copy(b, key, assay_json_value_at(listed->spec, i));
  }
  assay_json_end(b);
  assay_status st = assay_json_builder_finish(b, &text, err);
  if (st == ASSAY_OK) st = assay_json_parse(text.data, text.size_bytes, &whole, err);
  if (st == ASSAY_OK) st = assay_json_dump(whole, /*indented=*/false, &line, err);
  if (st == ASSAY_OK) st = assay_sha256_bytes(line.data, line.size_bytes, sha256, err);
  if (st == ASSAY_OK) assay_verify_text(&at, "sha256", listed->sha256, sha256);
  assay_json_destroy(whole);
  assay_json_builder_destroy(b);
  assay_buf_reset(&text);
  assay_buf_reset(&line);
  return st;
}
