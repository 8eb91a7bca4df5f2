/* Names: provider options and variables of MIGraphX's, OpenVINO's and TensorRT's providers. */
#include "campaign/caches.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"

#define DEPTH_MAX 16 /* folders below one that is looked at */

static const char *const options[] = {"migraphx_model_cache_dir", "cache_dir",
                                      "trt_engine_cache_path", "trt_timing_cache_path"};
static const char *const variables[] = {"ORT_MIGRAPHX_MODEL_CACHE_PATH", "ORT_TENSORRT_CACHE_PATH"};

static bool is_one_of(const char *key, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(key, names[i]) == 0) return true;
  return false;
}

static bool is_cache(const assay_setting *one) {
  bool known = is_one_of(one->key, options, N_OF(options)) ||
               is_one_of(one->key, variables, N_OF(variables));
  return known && one->value != NULL && one->value[0] != '\0';
}

static bool has_any(const assay_settings *settings) {
  for (size_t i = 0; i < settings->n; i++)
    if (is_cache(&settings->items[i])) return true;
  return false;
}

bool assay_caches_are_named(const assay_runtime_spec *runtime) {
  return has_any(&runtime->options) || has_any(&runtime->env);
}

assay_status assay_caches_place(const assay_runtime_spec *runtime, const char *fresh_folder,
                                const char *key, assay_settings *settings, assay_error *err) {
  for (size_t i = 0; i < settings->n; i++) {
    assay_setting *one = &settings->items[i];
    if (!is_cache(one)) continue;
    char *place = runtime->caches_kept ? assay_path_join(one->value, key)
                                       : assay_path_join(fresh_folder, one->key);
    if (place == NULL) return assay_fail_memory(err, 256);
    assay_free(one->value);
    one->value = place;
  }
  return ASSAY_OK;
}

assay_status assay_caches_make(const assay_settings *settings, assay_error *err) {
  for (size_t i = 0; i < settings->n; i++)
    if (is_cache(&settings->items[i]))
      ASSAY_TRY(assay_folder_create(settings->items[i].value, err));
  return ASSAY_OK;
}

/* --- what is in them -----------------------------------------------------------------------------
 */

static void count_files(const char *path, int depth, int64_t *n_files, int64_t *bytes) {
  assay_names names = {0};
  if (depth > DEPTH_MAX || assay_folder_list(path, &names, NULL)) return;
  for (size_t i = 0; i < names.n; i++) {
    struct stat info;
    char *below = assay_path_join(path, names.items[i]);
    if (below != NULL && lstat(below, &info) == 0) {
      if (S_ISDIR(info.st_mode)) count_files(below, depth + 1, n_files, bytes);
      if (S_ISREG(info.st_mode)) {
        ++*n_files;
        *bytes += info.st_size;
      }
    }
    assay_free(below);
  }
  assay_names_reset(&names);
}

static assay_status add(assay_result_caches *caches, const char *name, const char *path,
                        assay_error *err) {
  void *block = caches->items;
  size_t size = sizeof *caches->items;
  ASSAY_TRY(assay_resize(&block, caches->n * size, (caches->n + 1) * size, err));
  caches->items = block;
  assay_result_cache cache = {.name = assay_strdup(name)};
  if (cache.name == NULL) return assay_fail_memory(err, strlen(name) + 1);
  count_files(path, /*depth=*/0, &cache.n_files_before, &cache.bytes_before);
  caches->items[caches->n++] = cache;
  return ASSAY_OK;
}

assay_status assay_caches_before(const assay_settings *settings, assay_result_caches *caches,
                                 assay_error *err) {
  for (size_t i = 0; i < settings->n; i++)
    if (is_cache(&settings->items[i]))
      ASSAY_TRY(add(caches, settings->items[i].key, settings->items[i].value, err));
  for (size_t i = 0; i < N_OF(variables); i++) {
    const char *path = getenv(variables[i]);
    if (path != NULL && path[0] != '\0') ASSAY_TRY(add(caches, variables[i], path, err));
  }
  return ASSAY_OK;
}

void assay_caches_after(const assay_settings *settings, assay_result_caches *caches) {
  for (size_t i = 0; i < caches->n; i++) {
    assay_result_cache *cache = &caches->items[i];
    const char *path = getenv(cache->name);
    for (size_t k = 0; k < settings->n; k++)
      if (strcmp(settings->items[k].key, cache->name) == 0) path = settings->items[k].value;
    cache->n_files_after = cache->bytes_after = 0;
    if (path != NULL) count_files(path, /*depth=*/0, &cache->n_files_after, &cache->bytes_after);
  }
}
