/* Free dimensions from the arrays of a case. */
#include "campaign/static_shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tensor.h"
#include "package/npz.h"

static const char *value_of(const assay_settings *settings, const char *key) {
  for (size_t i = 0; i < settings->n; i++)
    if (strcmp(settings->items[i].key, key) == 0) return settings->items[i].value;
  return NULL;
}

static assay_status fix_one(const char *symbol, int64_t size, assay_settings *out,
                            assay_error *err) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)size);
  const char *before = value_of(out, symbol);
  if (before == NULL) return assay_settings_set(out, symbol, text, err);
  if (strcmp(before, text) == 0) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT, "free dimension '%s' is %s, and %s in the case", symbol,
                    before, text);
}

static assay_status fix_input(const assay_manifest_tensor *input, const assay_tensor_map *arrays,
                              assay_settings *out, assay_error *err) {
  const assay_tensor *array = assay_tensor_map_find(arrays, input->name);
  if (array == NULL || array->rank != input->rank)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "the case holds no array '%s' with %d dimensions to fix shapes by",
                      input->name, input->rank);
  for (int i = 0; i < input->rank; i++)
    if (input->dims[i].symbol[0] != '\0')
      ASSAY_TRY(fix_one(input->dims[i].symbol, array->dims[i], out, err));
  return ASSAY_OK;
}

static assay_status fix_all(const assay_manifest *manifest, const char *case_path,
                            assay_settings *out, assay_error *err) {
  assay_tensor_map arrays = {0};
  ASSAY_TRY(assay_npz_read(case_path, /*limits=*/NULL, &arrays, err));
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < manifest->n_inputs && st == ASSAY_OK; i++)
    st = fix_input(&manifest->inputs[i], &arrays, out, err);
  assay_tensor_map_reset(&arrays);
  return st;
}

assay_status assay_static_shapes_fix(const assay_runtime_spec *runtime,
                                     const assay_manifest *manifest, const char *case_path,
                                     assay_settings *out, assay_error *err) {
  assay_settings dims = {0};
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < runtime->free_dims.n && st == ASSAY_OK; i++)
    st = assay_settings_set(&dims, runtime->free_dims.items[i].key,
                            runtime->free_dims.items[i].value, err);
  if (st == ASSAY_OK && runtime->is_static) st = fix_all(manifest, case_path, &dims, err);
  if (st) {
    assay_settings_reset(&dims);
    return st;
  }
  *out = dims;
  return ASSAY_OK;
}
