/* Reads and writes a bundle's manifest.json, strictly: a field that is not understood is refused,
 * since a figure that rests on a guess is not evidence. The format stands in manifest.h. */
#include "package/manifest.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "package/fields.h"

#define MANIFEST_FILE      "manifest.json"
#define MANIFEST_MAX_BYTES ((size_t)64 << 20) /* ten thousand cases need less */
#define DIM_MAX            ((int64_t)1 << 40) /* no axis is longer */

static const char *const head_kinds[] = {"regression", "classes", "constant", "integer"};
static const char *const case_kinds[] = {"sweep", "batch", "input", "event"};

const char *assay_head_kind_name(assay_head_kind kind) {
  return (size_t)kind < N_OF(head_kinds) ? head_kinds[kind] : "unknown";
}

/* Position of text among words, or n. */
static size_t word_index(const char *text, const char *const *words, size_t n) {
  size_t i = 0;
  while (i < n && strcmp(text, words[i]) != 0) i++;
  return i;
}

/* --- reading -------------------------------------------------------------------------------------
 */

static assay_status read_file_entry(const assay_json *object, const char *file_key,
                                    const char *sha256_key, const char *size_key,
                                    assay_manifest_file *out, assay_error *err) {
  ASSAY_TRY(assay_fields_path(object, file_key, &out->file, err));
  ASSAY_TRY(assay_fields_sha256(object, sha256_key, /*may_be_empty=*/false, out->sha256, err));
  return assay_fields_size(object, size_key, &out->size_bytes, err);
}

static assay_status read_external_file(const assay_json *item, void *out, assay_error *err) {
  static const char *const keys[] = {"file", "sha256", "size_bytes"};
  ASSAY_TRY(assay_json_only_keys(item, keys, N_OF(keys), err));
  return read_file_entry(item, "file", "sha256", "size_bytes", out, err);
}

static assay_status read_external(const assay_json *model, assay_manifest *out, assay_error *err) {
  void *list = NULL;
  const assay_status st = assay_fields_list_by(model, "external", read_external_file,
                                               sizeof *out->external, &list, &out->n_external, err);
  out->external = list;
  return st;
}

/* Texts by block, of which "attention" is said twice. Which blocks there are is the model's matter.
 */
static assay_status read_plan(const assay_json *model, assay_manifest *out, assay_error *err) {
  const assay_json *plan = assay_json_get(model, "plan");
  if (plan == NULL) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(model, "plan", &plan, err));
  for (size_t i = 0; i < assay_json_len(plan); i++)
    if (assay_json_string(assay_json_value_at(plan, i)) == NULL)
      return assay_fail(err, ASSAY_E_FORMAT, "'plan': expected texts, found %s for '%.64s'",
                        assay_json_kind_name(assay_json_kind_of(assay_json_value_at(plan, i))),
                        assay_json_key_at(plan, i));
  const char *attention = assay_json_string(assay_json_get(plan, "attention"));
  if (attention == NULL || out->attention == NULL || strcmp(attention, out->attention) != 0)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "'plan': expected the attention that the model has (%.64s), found %.64s",
                      out->attention ? out->attention : "none", attention ? attention : "none");
  return assay_fields_copy(plan, &out->plan, err);
}

static assay_status read_model(const assay_json *model, assay_manifest *out, assay_error *err) {
  static const char *const keys[] = {"file",
                                     "sha256",
                                     "size_bytes",
                                     "external",
                                     "opset",
                                     "ir_version",
                                     "dtype",
                                     "attention",
                                     "shapes",
                                     "attention_ops",
                                     "fused_attention_ops",
                                     "plan",
                                     "architecture",
                                     "config"};
  static const char *const shapes[] = {"dynamic", "static"};
  ASSAY_TRY(assay_json_only_keys(model, keys, N_OF(keys), err));
  ASSAY_TRY(read_file_entry(model, "file", "sha256", "size_bytes", &out->model, err));
  ASSAY_TRY(read_external(model, out, err));
  ASSAY_TRY(assay_json_need_int(model, "opset", 1, 1000, &out->opset, err));
  ASSAY_TRY(assay_json_need_int(model, "ir_version", 1, 1000, &out->ir_version, err));
  ASSAY_TRY(assay_fields_string(model, "dtype", &out->dtype, err));
  ASSAY_TRY(assay_fields_string_or_null(model, "attention", &out->attention, err));
  ASSAY_TRY(assay_fields_string(model, "shapes", &out->shapes, err));
  if (word_index(out->shapes, shapes, N_OF(shapes)) == N_OF(shapes))
    return assay_fail(err, ASSAY_E_FORMAT, "'shapes': expected dynamic or static, found '%s'",
                      out->shapes);
  ASSAY_TRY(assay_fields_count(model, "attention_ops", &out->attention_ops, err));
  ASSAY_TRY(assay_fields_count(model, "fused_attention_ops", &out->fused_attention_ops, err));
  if (out->fused_attention_ops > out->attention_ops)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "'fused_attention_ops': expected at most attention_ops (%lld), found %lld",
                      (long long)out->attention_ops, (long long)out->fused_attention_ops);
  ASSAY_TRY(read_plan(model, out, err));
  if (assay_json_get(model, "architecture") != NULL)
    ASSAY_TRY(assay_fields_string_or_null(model, "architecture", &out->architecture, err));
  const assay_json *config = assay_json_get(model, "config");
  if (config != NULL && assay_json_kind_of(config) != ASSAY_JSON_NULL)
    ASSAY_TRY(assay_json_need_object(model, "config", &config, err));
  return assay_fields_copy(config, &out->config, err);
}

/* Origin and digest are what is judged; further members describe and differ by origin. */
static assay_status read_weights(const assay_json *root, assay_manifest *out, assay_error *err) {
  const assay_json *weights = assay_json_get(root, "weights");
  if (weights == NULL || assay_json_kind_of(weights) == ASSAY_JSON_NULL) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(root, "weights", &weights, err));
  const char *text = NULL;
  char sha256[65];
  ASSAY_TRY(assay_json_need_string(weights, "origin", &text, err));
  if (assay_json_get(weights, "sha256") != NULL)
    ASSAY_TRY(assay_fields_sha256(weights, "sha256", /*may_be_empty=*/false, sha256, err));
  return assay_fields_copy(weights, &out->weights, err);
}

static assay_status read_dim(const assay_json *value, assay_manifest_dim *out, assay_error *err) {
  if (assay_json_kind_of(value) == ASSAY_JSON_INT) {
    out->size = assay_json_int(value);
    if (out->size < 0 || out->size > DIM_MAX)
      return assay_fail(err, ASSAY_E_FORMAT, "expected a size from 0 to 2^40, found %lld",
                        (long long)out->size);
    return ASSAY_OK;
  }
  const char *symbol = assay_json_string(value);
  if (symbol == NULL)
    return assay_fail(err, ASSAY_E_FORMAT, "expected a size or a symbol, found %s",
                      assay_json_kind_name(assay_json_kind_of(value)));
  if (symbol[0] == '\0' || strlen(symbol) >= sizeof out->symbol)
    return assay_fail(err, ASSAY_E_FORMAT, "expected a symbol of 1 to %zu bytes, found %zu",
                      sizeof out->symbol - 1, strlen(symbol));
  memcpy(out->symbol, symbol, strlen(symbol) + 1);
  return ASSAY_OK;
}

static assay_status read_dims(const assay_json *item, assay_manifest_tensor *out,
                              assay_error *err) {
  const assay_json *dims = NULL;
  ASSAY_TRY(assay_json_need_array(item, "dims", &dims, err));
  size_t rank = assay_json_len(dims);
  if (rank > N_OF(out->dims))
    return assay_fail(err, ASSAY_E_FORMAT, "'dims': expected at most %zu axes, found %zu",
                      N_OF(out->dims), rank);
  for (size_t i = 0; i < rank; i++) {
    assay_status st = read_dim(assay_json_at(dims, i), &out->dims[i], err);
    if (st) {
      assay_error_in(err, "'dims[%zu]'", i);
      return st;
    }
  }
  out->rank = (int)rank;
  return ASSAY_OK;
}

static assay_status read_head_fields(const assay_json *item, assay_manifest_tensor *out,
                                     assay_error *err) {
  const char *kind = NULL;
  ASSAY_TRY(assay_json_need_string(item, "kind", &kind, err));
  size_t i = word_index(kind, head_kinds, N_OF(head_kinds));
  if (i == N_OF(head_kinds))
    return assay_fail(err, ASSAY_E_FORMAT,
                      "'kind': expected regression, classes, constant or integer, found '%s'",
                      kind);
  out->kind = (assay_head_kind)i;
  ASSAY_TRY(assay_fields_tolerance(item, "atol", &out->atol, err));
  return assay_fields_tolerance(item, "rtol", &out->rtol, err);
}

static assay_status read_tensor(const assay_json *item, bool is_head, assay_manifest_tensor *out,
                                assay_error *err) {
  static const char *const keys[] = {"name", "dtype", "dims", "kind", "atol", "rtol"};
  const char *dtype = NULL;
  ASSAY_TRY(assay_json_only_keys(item, keys, is_head ? N_OF(keys) : 3, err));
  ASSAY_TRY(assay_fields_string(item, "name", &out->name, err));
  if (out->name[0] == '\0')
    return assay_fail(err, ASSAY_E_FORMAT, "'name': expected a tensor's name, found nothing");
  ASSAY_TRY(assay_json_need_string(item, "dtype", &dtype, err));
  out->dtype = assay_dtype_of_name(dtype);
  if (out->dtype == ASSAY_DTYPE_NONE)
    return assay_fail(err, ASSAY_E_FORMAT, "'dtype': expected a type such as float32, found '%s'",
                      dtype);
  ASSAY_TRY(read_dims(item, out, err));
  return is_head ? read_head_fields(item, out, err) : ASSAY_OK;
}

/* inputs or heads. *out and *out_n are set as soon as there is memory, for reset to find. */
static assay_status read_tensors(const assay_json *root, const char *key, bool is_head,
                                 assay_manifest_tensor **out, size_t *out_n, assay_error *err) {
  const assay_json *array = NULL;
  ASSAY_TRY(assay_json_need_array(root, key, &array, err));
  size_t n = assay_json_len(array);
  if (n == 0)
    return assay_fail(err, ASSAY_E_FORMAT, "'%s': expected at least one, found none", key);
  assay_manifest_tensor *list = assay_alloc_array(n, sizeof *list);
  if (list == NULL) return assay_fail_memory(err, n * sizeof *list);
  *out = list;
  *out_n = n;
  for (size_t i = 0; i < n; i++) {
    assay_status st = read_tensor(assay_json_at(array, i), is_head, &list[i], err);
    for (size_t j = 0; j < i && st == ASSAY_OK; j++)
      if (strcmp(list[i].name, list[j].name) == 0)
        st = assay_fail(err, ASSAY_E_FORMAT, "'name': '%s' is there twice", list[i].name);
    if (st) {
      assay_error_in(err, "%s[%zu]", key, i);
      return st;
    }
  }
  return ASSAY_OK;
}

static assay_status read_mask_input(const assay_json *root, assay_manifest *out, assay_error *err) {
  ASSAY_TRY(assay_fields_string_or_null(root, "mask_input", &out->mask_input, err));
  if (out->mask_input == NULL) return ASSAY_OK;
  for (size_t i = 0; i < out->n_inputs; i++)
    if (strcmp(out->inputs[i].name, out->mask_input) == 0) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT,
                    "'mask_input': expected null or one of the inputs, found '%s'",
                    out->mask_input);
}

static assay_status read_reference(const assay_json *root, assay_manifest *out, assay_error *err) {
  const assay_json *reference = NULL;
  const char *origin = NULL;
  ASSAY_TRY(assay_json_need_object(root, "reference", &reference, err));
  ASSAY_TRY(assay_json_need_string(reference, "origin", &origin, err));
  return assay_fields_copy(reference, &out->reference, err);
}

static assay_status read_valid(const assay_json *item, const assay_manifest *manifest,
                               assay_manifest_case *out, assay_error *err) {
  const assay_json *valid = assay_json_get(item, "valid");
  if (valid != NULL && assay_json_kind_of(valid) == ASSAY_JSON_NULL) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_array(item, "valid", &valid, err));
  if (manifest->mask_input == NULL)
    return assay_fail(err, ASSAY_E_FORMAT, "'valid': expected null, since the model has no mask");
  size_t n = assay_json_len(valid);
  if (n != (size_t)out->b)
    return assay_fail(err, ASSAY_E_FORMAT, "'valid': expected %lld counts, one an event, found %zu",
                      (long long)out->b, n);
  out->valid = assay_alloc_array(n, sizeof *out->valid);
  if (out->valid == NULL) return assay_fail_memory(err, n * sizeof *out->valid);
  for (size_t i = 0; i < n; i++) {
    const assay_json *count = assay_json_at(valid, i);
    out->valid[i] = assay_json_int(count);
    if (assay_json_kind_of(count) != ASSAY_JSON_INT || out->valid[i] < 0 || out->valid[i] > out->n)
      return assay_fail(err, ASSAY_E_FORMAT, "'valid[%zu]': expected a count from 0 to %lld", i,
                        (long long)out->n);
  }
  return ASSAY_OK;
}

static assay_status read_case_model(const assay_json *item, const assay_manifest *manifest,
                                    assay_manifest_case *out, assay_error *err) {
  const assay_json *file = assay_json_get(item, "model_file");
  if (file == NULL || assay_json_kind_of(file) == ASSAY_JSON_NULL) return ASSAY_OK;
  if (strcmp(manifest->shapes, "static") != 0)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "'model_file': expected none, since the model's shapes are dynamic");
  return read_file_entry(item, "model_file", "model_sha256", "model_size_bytes", &out->model, err);
}

static assay_status read_case(const assay_json *item, const assay_manifest *manifest,
                              assay_manifest_case *out, assay_error *err) {
  static const char *const keys[] = {
      "name", "file",  "sha256",  "size_bytes", "kind",         "source",           "b",
      "n",    "valid", "margins", "model_file", "model_sha256", "model_size_bytes", "origin"};
  ASSAY_TRY(assay_json_only_keys(item, keys, N_OF(keys), err));
  ASSAY_TRY(assay_fields_name(item, "name", &out->name, err));
  ASSAY_TRY(read_file_entry(item, "file", "sha256", "size_bytes", &out->file, err));
  ASSAY_TRY(assay_fields_string(item, "kind", &out->kind, err));
  if (word_index(out->kind, case_kinds, N_OF(case_kinds)) == N_OF(case_kinds))
    return assay_fail(err, ASSAY_E_FORMAT,
                      "'kind': expected sweep, batch, input or event, found '%s'", out->kind);
  ASSAY_TRY(assay_fields_string(item, "source", &out->source, err));
  ASSAY_TRY(assay_json_need_int(item, "b", 0, DIM_MAX, &out->b, err));
  ASSAY_TRY(assay_json_need_int(item, "n", 0, DIM_MAX, &out->n, err));
  ASSAY_TRY(read_valid(item, manifest, out, err));
  ASSAY_TRY(read_case_model(item, manifest, out, err));
  const assay_json *margins = assay_json_get(item, "margins");
  if (margins != NULL && assay_json_kind_of(margins) != ASSAY_JSON_NULL)
    ASSAY_TRY(assay_json_need_object(item, "margins", &margins, err));
  ASSAY_TRY(assay_fields_copy(margins, &out->margins, err));
  const assay_json *origin = assay_json_get(item, "origin");
  if (origin != NULL && assay_json_kind_of(origin) != ASSAY_JSON_NULL)
    ASSAY_TRY(assay_json_need_object(item, "origin", &origin, err));
  return assay_fields_copy(origin, &out->origin, err);
}

static assay_status case_is_new(const assay_manifest_case *cases, size_t i, assay_error *err) {
  for (size_t j = 0; j < i; j++) {
    if (strcmp(cases[i].name, cases[j].name) == 0)
      return assay_fail(err, ASSAY_E_FORMAT, "'name': '%s' is there twice", cases[i].name);
    if (strcmp(cases[i].file.file, cases[j].file.file) == 0)
      return assay_fail(err, ASSAY_E_FORMAT, "'file': '%s' is there twice", cases[i].file.file);
  }
  return ASSAY_OK;
}

static assay_status read_cases(const assay_json *root, assay_manifest *out, assay_error *err) {
  const assay_json *array = NULL;
  ASSAY_TRY(assay_json_need_array(root, "cases", &array, err));
  size_t n = assay_json_len(array);
  out->cases = assay_alloc_array(n, sizeof *out->cases);
  if (out->cases == NULL) return assay_fail_memory(err, n * sizeof *out->cases);
  out->n_cases = n;
  for (size_t i = 0; i < n; i++) {
    assay_status st = read_case(assay_json_at(array, i), out, &out->cases[i], err);
    if (st == ASSAY_OK) st = case_is_new(out->cases, i, err);
    if (st) {
      assay_error_in(err, "cases[%zu]", i);
      return st;
    }
  }
  return ASSAY_OK;
}

static assay_status read_root(const assay_json *root, assay_manifest *out, assay_error *err) {
  static const char *const keys[] = {"schema",    "name",   "tool",       "model",
                                     "weights",   "inputs", "mask_input", "heads",
                                     "reference", "cases",  "notes"};
  static const char *const tool_keys[] = {"name", "version"};
  const assay_json *tool = NULL, *model = NULL;
  const char *text = NULL;
  ASSAY_TRY(assay_json_need_schema(root, "manifest", 1, err));
  ASSAY_TRY(assay_json_only_keys(root, keys, N_OF(keys), err));
  ASSAY_TRY(assay_fields_name(root, "name", &out->name, err));
  ASSAY_TRY(assay_json_need_object(root, "tool", &tool, err));
  ASSAY_TRY(assay_json_only_keys(tool, tool_keys, N_OF(tool_keys), err));
  ASSAY_TRY(assay_json_need_string(tool, "name", &text, err));
  ASSAY_TRY(assay_fields_string(tool, "version", &out->tool_version, err));
  ASSAY_TRY(assay_json_need_object(root, "model", &model, err));
  assay_status st = read_model(model, out, err);
  if (st) {
    assay_error_in(err, "model");
    return st;
  }
  ASSAY_TRY(read_weights(root, out, err));
  ASSAY_TRY(read_tensors(root, "inputs", /*is_head=*/false, &out->inputs, &out->n_inputs, err));
  ASSAY_TRY(read_mask_input(root, out, err));
  ASSAY_TRY(read_tensors(root, "heads", /*is_head=*/true, &out->heads, &out->n_heads, err));
  ASSAY_TRY(read_reference(root, out, err));
  ASSAY_TRY(read_cases(root, out, err));
  return assay_fields_strings(root, "notes", &out->notes, &out->n_notes, err);
}

assay_status assay_manifest_read(const char *bundle_path, assay_manifest *out, assay_error *err) {
  assay_manifest manifest = {0};
  assay_json *root = NULL;
  char *path = assay_path_join(bundle_path, MANIFEST_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(bundle_path) + sizeof MANIFEST_FILE);
  assay_status st = assay_json_read(path, MANIFEST_MAX_BYTES, &root, err);
  if (st) goto done;
  st = read_root(root, &manifest, err);
  if (st) {
    assay_error_in(err, "'%s'", path);
    goto done;
  }
  *out = manifest;
  manifest = (assay_manifest){0};
done:
  assay_manifest_reset(&manifest);
  assay_json_destroy(root);
  assay_free(path);
  return st;
}

/* --- writing -------------------------------------------------------------------------------------
 */

static void put_file_entry(const assay_manifest_file *file, assay_json_builder *b) {
  assay_json_put_string(b, "file", file->file);
  assay_json_put_string(b, "sha256", file->sha256);
  assay_json_put_int(b, "size_bytes", (int64_t)file->size_bytes);
}

static void put_copy_or_null(assay_json_builder *b, const char *key, const assay_json *value) {
  if (value != NULL)
    assay_json_put_copy(b, key, value);
  else
    assay_json_put_null(b, key);
}

static void put_model(const assay_manifest *manifest, assay_json_builder *b) {
  assay_json_begin_object(b, "model");
  put_file_entry(&manifest->model, b);
  assay_json_begin_array(b, "external");
  for (size_t i = 0; i < manifest->n_external; i++) {
    assay_json_begin_object(b, NULL);
    put_file_entry(&manifest->external[i], b);
    assay_json_end(b);
  }
  assay_json_end(b);
  assay_json_put_int(b, "opset", manifest->opset);
  assay_json_put_int(b, "ir_version", manifest->ir_version);
  assay_json_put_string(b, "dtype", manifest->dtype);
  assay_json_put_string(b, "attention", manifest->attention);
  assay_json_put_string(b, "shapes", manifest->shapes);
  assay_json_put_int(b, "attention_ops", manifest->attention_ops);
  assay_json_put_int(b, "fused_attention_ops", manifest->fused_attention_ops);
  if (manifest->plan != NULL) assay_json_put_copy(b, "plan", manifest->plan);
  if (manifest->architecture != NULL)
    assay_json_put_string(b, "architecture", manifest->architecture);
  if (manifest->config != NULL) assay_json_put_copy(b, "config", manifest->config);
  assay_json_end(b);
}

static void put_tensor(const assay_manifest_tensor *tensor, bool is_head, assay_json_builder *b) {
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "name", tensor->name);
  if (is_head) assay_json_put_string(b, "kind", assay_head_kind_name(tensor->kind));
  assay_json_put_string(b, "dtype", assay_dtype_name(tensor->dtype));
  assay_json_begin_array(b, "dims");
  for (int i = 0; i < tensor->rank; i++) {
    if (tensor->dims[i].symbol[0] != '\0')
      assay_json_put_string(b, NULL, tensor->dims[i].symbol);
    else
      assay_json_put_int(b, NULL, tensor->dims[i].size);
  }
  assay_json_end(b);
  if (is_head) {
    assay_json_put_real(b, "atol", tensor->atol);
    assay_json_put_real(b, "rtol", tensor->rtol);
  }
  assay_json_end(b);
}

static void put_case(const assay_manifest_case *c, assay_json_builder *b) {
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "name", c->name);
  put_file_entry(&c->file, b);
  assay_json_put_string(b, "kind", c->kind);
  assay_json_put_string(b, "source", c->source);
  assay_json_put_int(b, "b", c->b);
  assay_json_put_int(b, "n", c->n);
  if (c->valid == NULL) {
    assay_json_put_null(b, "valid");
  } else {
    assay_json_begin_array(b, "valid");
    for (int64_t i = 0; i < c->b; i++) assay_json_put_int(b, NULL, c->valid[i]);
    assay_json_end(b);
  }
  if (c->model.file != NULL) {
    assay_json_put_string(b, "model_file", c->model.file);
    assay_json_put_string(b, "model_sha256", c->model.sha256);
    assay_json_put_int(b, "model_size_bytes", (int64_t)c->model.size_bytes);
  }
  put_copy_or_null(b, "margins", c->margins);
  if (c->origin != NULL) assay_json_put_copy(b, "origin", c->origin);
  assay_json_end(b);
}

static void put_root(const assay_manifest *manifest, assay_json_builder *b) {
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "schema", "assay/manifest/1");
  assay_json_put_string(b, "name", manifest->name);
  assay_json_begin_object(b, "tool");
  assay_json_put_string(b, "name", "assay");
  assay_json_put_string(b, "version", manifest->tool_version);
  assay_json_end(b);
  put_model(manifest, b);
  put_copy_or_null(b, "weights", manifest->weights);
  assay_json_begin_array(b, "inputs");
  for (size_t i = 0; i < manifest->n_inputs; i++)
    put_tensor(&manifest->inputs[i], /*is_head=*/false, b);
  assay_json_end(b);
  assay_json_put_string(b, "mask_input", manifest->mask_input);
  assay_json_begin_array(b, "heads");
  for (size_t i = 0; i < manifest->n_heads; i++)
    put_tensor(&manifest->heads[i], /*is_head=*/true, b);
  assay_json_end(b);
  put_copy_or_null(b, "reference", manifest->reference);
  assay_json_begin_array(b, "cases");
  for (size_t i = 0; i < manifest->n_cases; i++) put_case(&manifest->cases[i], b);
  assay_json_end(b);
  assay_fields_put_strings(b, "notes", manifest->notes, manifest->n_notes);
  assay_json_end(b);
}

assay_status assay_manifest_write(const assay_manifest *manifest, const char *bundle_path,
                                  assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  char *path = assay_path_join(bundle_path, MANIFEST_FILE);
  assay_status st = ASSAY_OK;
  if (path == NULL || b == NULL) {
    st = assay_fail_memory(err, strlen(bundle_path) + sizeof MANIFEST_FILE);
    goto done;
  }
  put_root(manifest, b);
  st = assay_json_builder_write(b, path, err);
done:
  assay_json_builder_destroy(b);
  assay_free(path);
  return st;
}

/* --- the rest ------------------------------------------------------------------------------------
 */

static void tensors_destroy(assay_manifest_tensor *list, size_t n) {
  for (size_t i = 0; i < n; i++) assay_free(list[i].name);
  assay_free(list);
}

void assay_manifest_reset(assay_manifest *manifest) {
  assay_free(manifest->name);
  assay_free(manifest->tool_version);
  assay_free(manifest->model.file);
  for (size_t i = 0; i < manifest->n_external; i++) assay_free(manifest->external[i].file);
  assay_free(manifest->external);
  assay_free(manifest->dtype);
  assay_free(manifest->attention);
  assay_free(manifest->shapes);
  assay_free(manifest->architecture);
  assay_json_destroy(manifest->plan);
  assay_json_destroy(manifest->config);
  assay_json_destroy(manifest->weights);
  tensors_destroy(manifest->inputs, manifest->n_inputs);
  assay_free(manifest->mask_input);
  tensors_destroy(manifest->heads, manifest->n_heads);
  assay_json_destroy(manifest->reference);
  for (size_t i = 0; i < manifest->n_cases; i++) {
    assay_manifest_case *c = &manifest->cases[i];
    assay_free(c->name);
    assay_free(c->file.file);
    assay_free(c->kind);
    assay_free(c->source);
    assay_free(c->valid);
    assay_free(c->model.file);
    assay_json_destroy(c->margins);
    assay_json_destroy(c->origin);
  }
  assay_free(manifest->cases);
  assay_fields_strings_destroy(manifest->notes, manifest->n_notes);
  *manifest = (assay_manifest){0};
}

const assay_manifest_tensor *assay_manifest_head(const assay_manifest *manifest, const char *name) {
  for (size_t i = 0; i < manifest->n_heads; i++)
    if (strcmp(manifest->heads[i].name, name) == 0) return &manifest->heads[i];
  return NULL;
}

assay_status assay_manifest_file_check(const char *bundle_path, const assay_manifest_file *file,
                                       assay_error *err) {
  char sha256[ASSAY_SHA256_HEX_BYTES];
  uint64_t size_bytes = 0;
  char *path = assay_path_join(bundle_path, file->file);
  if (path == NULL) return assay_fail_memory(err, strlen(bundle_path) + strlen(file->file) + 2);
  assay_status st = assay_sha256_file(path, sha256, &size_bytes, err);
  if (st == ASSAY_OK && size_bytes != file->size_bytes)
    st = assay_fail(err, ASSAY_E_MISMATCH,
                    "'%s': expected %llu bytes as the manifest has it, found %llu", path,
                    (unsigned long long)file->size_bytes, (unsigned long long)size_bytes);
  if (st == ASSAY_OK && strcmp(sha256, file->sha256) != 0)
    st = assay_fail(err, ASSAY_E_MISMATCH,
                    "'%s': expected SHA-256 %s as the manifest has it, found %s", path,
                    file->sha256, sha256);
  assay_free(path);
  return st;
}
