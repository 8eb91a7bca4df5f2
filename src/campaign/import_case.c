/* Source of the folders' layout: onnx/docs/OnnxBackendTest.md; the ONNX model zoo. */
#include "campaign/import_case.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "campaign/bundle_case.h"
#include "onnx/tensor_file.h"
#include "package/npz.h"

#define NAMES_MAX 64 /* that a misspelt array is compared with */

/* --- arrays by name ------------------------------------------------------------------------------
 */

static bool is_input(const assay_manifest *manifest, const char *name) {
  for (size_t i = 0; i < manifest->n_inputs; i++)
    if (strcmp(manifest->inputs[i].name, name) == 0) return true;
  return false;
}

static assay_status fail_stranger(const assay_manifest *manifest, const char *name,
                                  assay_error *err) {
  const char *names[NAMES_MAX];
  size_t n = 0;
  for (size_t i = 0; i < manifest->n_inputs && n < NAMES_MAX; i++)
    names[n++] = manifest->inputs[i].name;
  for (size_t i = 0; i < manifest->n_heads && n < NAMES_MAX; i++)
    names[n++] = manifest->heads[i].name;
  const char *nearest = assay_text_nearest(name, names, n);
  return assay_fail(err, ASSAY_E_FORMAT,
                    "array '%s' is neither an input nor an output of the model%s%s%s", name,
                    nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/* Moves the tensor to its place in the case. */
static assay_status take(const assay_manifest *manifest, const char *name, assay_tensor *tensor,
                         import_case *out, assay_error *err) {
  if (is_input(manifest, name)) return assay_tensor_map_add(&out->arrays, name, tensor, err);
  if (assay_manifest_head(manifest, name) == NULL) return fail_stranger(manifest, name, err);
  char *full = assay_format("ref.user.%s", name);
  if (full == NULL) return assay_fail_memory(err, strlen(name) + 16);
  const assay_status st = assay_tensor_map_add(&out->arrays, full, tensor, err);
  out->n_references += st == ASSAY_OK;
  assay_free(full);
  return st;
}

/* --- one file ------------------------------------------------------------------------------------
 */

static assay_status put_file(const char *path, assay_json_builder *b, assay_error *err) {
  char sha256[ASSAY_SHA256_HEX_BYTES], name[256];
  uint64_t size_bytes = 0;
  ASSAY_TRY(assay_sha256_file(path, sha256, &size_bytes, err));
  assay_text_printable(assay_path_name(path), name, sizeof name);
  assay_json_begin_object(b, /*key=*/NULL);
  assay_json_put_string(b, "file", name);
  assay_json_put_string(b, "sha256", sha256);
  assay_json_put_int(b, "size_bytes", (int64_t)size_bytes);
  assay_json_end(b);
  return ASSAY_OK;
}

static assay_status read_npz(const char *path, const assay_manifest *manifest, import_case *out,
                             assay_json_builder *b, assay_error *err) {
  assay_tensor_map arrays = {0};
  ASSAY_TRY(assay_npz_read(path, /*limits=*/NULL, &arrays, err));
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < arrays.n && st == ASSAY_OK; i++)
    st = take(manifest, arrays.items[i].name, &arrays.items[i].tensor, out, err);
  if (st) assay_error_in(err, "'%s'", path);
  assay_tensor_map_reset(&arrays);
  return st ? st : put_file(path, b, err);
}

/* --- a folder ------------------------------------------------------------------------------------
 */

/* "input_12.pb": true, with which one of what. */
static bool is_tensor_file(const char *name, const char *prefix, int64_t *out_i) {
  char digits[32], again[64];
  if (!assay_text_has_prefix(name, prefix) || !assay_text_has_suffix(name, ".pb")) return false;
  const size_t n = strlen(name) - strlen(prefix) - strlen(".pb");
  if (n == 0 || n >= sizeof digits) return false;
  memcpy(digits, name + strlen(prefix), n);
  digits[n] = '\0';
  if (assay_text_parse_int(digits, "number", 0, INT32_MAX, out_i, /*err=*/NULL)) return false;
  snprintf(again, sizeof again, "%s%lld.pb", prefix, (long long)*out_i);
  return strcmp(again, name) == 0;
}

/* The place decides; a name that the tensor brings must not contradict it. */
static assay_status check_name(const assay_manifest_tensor *list, size_t n, size_t i,
                               const char *what, const char *name, assay_error *err) {
  for (size_t k = 0; k < n; k++)
    if (k != i && strcmp(list[k].name, name) == 0)
      return assay_fail(err, ASSAY_E_FORMAT,
                        "it holds '%s', which is %s %zu of the model; %s %zu is '%s'", name, what,
                        k, what, i, list[i].name);
  return ASSAY_OK;
}

static assay_status read_tensor(const char *path, const assay_manifest *manifest, bool input,
                                int64_t i, import_case *out, assay_json_builder *b,
                                assay_error *err) {
  const assay_manifest_tensor *list = input ? manifest->inputs : manifest->heads;
  const size_t n = input ? manifest->n_inputs : manifest->n_heads;
  const char *what = input ? "input" : "output";
  assay_tensor tensor = {0};
  char *name = NULL;
  if ((uint64_t)i >= n)
    return assay_fail(err, ASSAY_E_FORMAT, "'%s': the model has %zu %s%s", path, n, what,
                      n == 1 ? "" : "s");
  ASSAY_TRY(assay_onnx_tensor_read(path, &name, &tensor, err));
  assay_status st = check_name(list, n, (size_t)i, what, name, err);
  if (st) assay_error_in(err, "'%s'", path);
  if (st == ASSAY_OK) st = take(manifest, list[i].name, &tensor, out, err);
  assay_tensor_reset(&tensor); /* moved away on success */
  assay_free(name);
  return st ? st : put_file(path, b, err);
}

static assay_status read_named(const char *folder, const char *name, const assay_manifest *manifest,
                               import_case *out, assay_json_builder *b, assay_error *err) {
  int64_t i = 0;
  const bool input = is_tensor_file(name, "input_", &i);
  if (!input && !is_tensor_file(name, "output_", &i)) return ASSAY_OK;
  char *path = assay_path_join(folder, name);
  if (path == NULL) return assay_fail_memory(err, strlen(folder) + strlen(name));
  const assay_status st = read_tensor(path, manifest, input, i, out, b, err);
  assay_free(path);
  return st;
}

static assay_status read_folder(const char *path, const assay_manifest *manifest, import_case *out,
                                assay_json_builder *b, assay_error *err) {
  assay_names names = {0};
  const char *inner = NULL;
  ASSAY_TRY(assay_folder_list(path, &names, err));
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < names.n && st == ASSAY_OK; i++) {
    if (assay_text_has_prefix(names.items[i], "test_data_set_")) inner = names.items[i];
    st = read_named(path, names.items[i], manifest, out, b, err);
  }
  if (st == ASSAY_OK && out->arrays.n == 0 && inner != NULL)
    st = assay_fail(err, ASSAY_E_FORMAT, "'%s' holds no input_0.pb; give '%s/%s'", path, path,
                    inner);
  else if (st == ASSAY_OK && out->arrays.n == 0)
    st = assay_fail(
        err, ASSAY_E_FORMAT,
        "'%s' holds no input_0.pb; expected a folder with input_<i>.pb and output_<i>.pb, "
        "or a .npz file",
        path);
  assay_names_reset(&names);
  return st;
}

/* --- both ----------------------------------------------------------------------------------------
 */

/* path without slashes at its end. */
static char *trimmed(const char *path) {
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  return assay_strndup(path, n);
}

static void set_name(const char *path, bool is_folder, import_case *out) {
  const char *last = assay_path_name(path);
  char shown[256];
  size_t n = strlen(last);
  if (!is_folder && assay_text_has_suffix(last, ".npz")) n -= 4;
  bundle_name_of(last, n, out->name, sizeof out->name);
  if (out->name[0] == '\0') snprintf(out->name, sizeof out->name, "case");
  assay_text_printable(last, shown, sizeof shown);
  snprintf(out->source, sizeof out->source, "%s '%s'", is_folder ? "folder" : "file", shown);
}

static assay_status check_complete(const char *path, const assay_manifest *manifest,
                                   const import_case *one, assay_error *err) {
  for (size_t i = 0; i < manifest->n_inputs; i++)
    if (assay_tensor_map_find(&one->arrays, manifest->inputs[i].name) == NULL)
      return assay_fail(err, ASSAY_E_FORMAT, "'%s' holds no input '%s' (%zu of the model's %zu)",
                        path, manifest->inputs[i].name, i + 1, manifest->n_inputs);
  return ASSAY_OK;
}

static assay_status read_arrays(const char *path, const assay_manifest *manifest, import_case *out,
                                assay_error *err) {
  const bool is_folder = assay_path_kind_of(path) == ASSAY_PATH_FOLDER;
  assay_buf text = {0};
  assay_json_builder *b = assay_json_builder_create();
  set_name(path, is_folder, out);
  assay_json_begin_object(b, /*key=*/NULL);
  assay_json_begin_array(b, "files");
  assay_status st =
      is_folder ? read_folder(path, manifest, out, b, err) : read_npz(path, manifest, out, b, err);
  assay_json_end(b);
  assay_json_end(b);
  if (st == ASSAY_OK) st = check_complete(path, manifest, out, err);
  if (st == ASSAY_OK) st = assay_json_builder_finish(b, &text, err);
  if (st == ASSAY_OK) st = assay_json_parse(text.data, text.size_bytes, &out->origin, err);
  assay_json_builder_destroy(b);
  assay_buf_reset(&text);
  return st;
}

assay_status import_case_read(const char *path, const assay_manifest *manifest, import_case *out,
                              assay_error *err) {
  import_case one = {0};
  char *place = trimmed(path);
  if (place == NULL) return assay_fail_memory(err, strlen(path));
  const assay_status st = read_arrays(place, manifest, &one, err);
  assay_free(place);
  if (st) {
    import_case_reset(&one);
    return st;
  }
  *out = one;
  return ASSAY_OK;
}

void import_case_reset(import_case *one) {
  assay_tensor_map_reset(&one->arrays);
  assay_json_destroy(one->origin);
  *one = (import_case){0};
}
