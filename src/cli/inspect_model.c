/* `assay inspect` of an ONNX model: where it comes from, what goes in and out, what it is made of.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/inspect.h"
#include "onnx/model_info.h"

#define METADATA_MAX_BYTES 100 /* of a value that is shown to a person */

static const char *domain_name(const char *domain) {
  return *domain == '\0' ? "ai.onnx" : domain;
}

/* Where external data must lie: beside the model. -1 when it is not there. */
static int64_t external_size(const char *model_path, const char *file) {
  struct stat info;
  size_t n_folder = (size_t)(assay_path_name(model_path) - model_path);
  char *path = assay_format("%.*s%s", (int)n_folder, model_path, file);
  bool is_there = path != NULL && stat(path, &info) == 0 && S_ISREG(info.st_mode);
  assay_free(path);
  return is_there ? (int64_t)info.st_size : -1;
}

/* ---- JSON ---------------------------------------------------------------------------------------
 */

static void put_dims(assay_json_builder *json, const assay_onnx_value_info *value) {
  if (value->rank < 0) {
    assay_json_put_null(json, "dims");
    return;
  }
  assay_json_begin_array(json, "dims");
  for (int i = 0; i < value->rank; i++) {
    const assay_onnx_dim *dim = &value->dims[i];
    if (dim->symbol != NULL)
      inspect_put_text(json, NULL, dim->symbol);
    else if (dim->size >= 0)
      assay_json_put_int(json, NULL, dim->size);
    else
      assay_json_put_null(json, NULL);
  }
  assay_json_end(json);
}

static void put_values(assay_json_builder *json, const char *key,
                       const assay_onnx_value_info *values, size_t n) {
  assay_json_begin_array(json, key);
  for (size_t i = 0; i < n; i++) {
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "name", values[i].name);
    bool is_known = values[i].dtype != ASSAY_DTYPE_NONE;
    assay_json_put_string(json, "dtype", is_known ? assay_dtype_name(values[i].dtype) : NULL);
    put_dims(json, &values[i]);
    assay_json_end(json);
  }
  assay_json_end(json);
}

static void put_opsets(assay_json_builder *json, const assay_onnx_info *info) {
  size_t n = 0;
  const assay_onnx_opset *opsets = assay_onnx_info_opsets(info, &n);
  assay_json_begin_array(json, "opsets");
  for (size_t i = 0; i < n; i++) {
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "domain", domain_name(opsets[i].domain));
    assay_json_put_int(json, "version", opsets[i].version);
    assay_json_end(json);
  }
  assay_json_end(json);
}

static void put_ops(assay_json_builder *json, const assay_onnx_info *info) {
  size_t n = 0;
  const assay_onnx_op_count *ops = assay_onnx_info_ops(info, &n);
  assay_json_begin_array(json, "operators");
  for (size_t i = 0; i < n; i++) {
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "domain", domain_name(ops[i].domain));
    inspect_put_text(json, "op", ops[i].op);
    assay_json_put_int(json, "n", (int64_t)ops[i].n);
    assay_json_end(json);
  }
  assay_json_end(json);
}

/* Keys may come twice in a file, so the pairs are a list. */
static void put_metadata(assay_json_builder *json, const assay_onnx_info *info) {
  size_t n = 0;
  const assay_onnx_pair *pairs = assay_onnx_info_metadata(info, &n);
  assay_json_begin_array(json, "metadata");
  for (size_t i = 0; i < n; i++) {
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "key", pairs[i].key);
    inspect_put_text(json, "value", pairs[i].value);
    assay_json_end(json);
  }
  assay_json_end(json);
}

static void put_external(assay_json_builder *json, const char *path, const assay_onnx_info *info) {
  size_t n = 0;
  const char *const *files = assay_onnx_info_external_files(info, &n);
  assay_json_begin_array(json, "external_files");
  for (size_t i = 0; i < n; i++) {
    int64_t size_bytes = external_size(path, files[i]);
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "file", files[i]);
    assay_json_put_bool(json, "is_there", size_bytes >= 0);
    if (size_bytes >= 0)
      assay_json_put_int(json, "size_bytes", size_bytes);
    else
      assay_json_put_null(json, "size_bytes");
    assay_json_end(json);
  }
  assay_json_end(json);
}

static void put_model(assay_json_builder *json, const char *path, const assay_onnx_info *info) {
  size_t n = 0;
  assay_json_put_string(json, "kind", "onnx");
  inspect_put_text(json, "producer", assay_onnx_info_producer(info));
  inspect_put_text(json, "producer_version", assay_onnx_info_producer_version(info));
  inspect_put_text(json, "graph", assay_onnx_info_graph_name(info));
  assay_json_put_int(json, "ir_version", assay_onnx_info_ir_version(info));
  put_opsets(json, info);
  const assay_onnx_value_info *inputs = assay_onnx_info_inputs(info, &n);
  put_values(json, "inputs", inputs, n);
  const assay_onnx_value_info *outputs = assay_onnx_info_outputs(info, &n);
  put_values(json, "outputs", outputs, n);
  assay_json_put_int(json, "n_nodes", (int64_t)assay_onnx_info_n_nodes(info));
  put_ops(json, info);
  assay_json_put_int(json, "n_initializers", (int64_t)assay_onnx_info_n_initializers(info));
  assay_json_put_int(json, "initializer_bytes", (int64_t)assay_onnx_info_initializer_bytes(info));
  put_external(json, path, info);
  put_metadata(json, info);
}

/* ---- text ---------------------------------------------------------------------------------------
 */

static void add_value(inspect_table *table, const assay_onnx_value_info *value) {
  char dims[INSPECT_TEXT_BYTES] = "[";
  size_t at = 1;
  for (int i = 0; i < value->rank && at < sizeof dims; i++) {
    const assay_onnx_dim *dim = &value->dims[i];
    const char *comma = i == 0 ? "" : ",";
    int n = dim->symbol != NULL ? snprintf(dims + at, sizeof dims - at, "%s%s", comma, dim->symbol)
            : dim->size >= 0
                ? snprintf(dims + at, sizeof dims - at, "%s%lld", comma, (long long)dim->size)
                : snprintf(dims + at, sizeof dims - at, "%s?", comma);
    at += n > 0 ? (size_t)n : 0;
  }
  bool is_known = value->dtype != ASSAY_DTYPE_NONE;
  inspect_table_add(table, "%s", value->name);
  inspect_table_add(table, "%s",
                    is_known ? assay_dtype_name(value->dtype) : "not a tensor of a known type");
  if (value->rank < 0)
    inspect_table_add(table, "%s", "any shape");
  else
    inspect_table_add(table, "%s]", dims);
}

static void print_values(const char *label, const assay_onnx_value_info *values, size_t n) {
  inspect_table table = {.n_cols = 3};
  for (size_t i = 0; i < n; i++) add_value(&table, &values[i]);
  inspect_table_print(&table, label);
  if (n == 0) inspect_line(label, "none");
}

static void print_opsets(const assay_onnx_info *info) {
  size_t n = 0;
  const assay_onnx_opset *opsets = assay_onnx_info_opsets(info, &n);
  inspect_table table = {.n_cols = 2};
  for (size_t i = 0; i < n; i++) {
    inspect_table_add(&table, "%s", domain_name(opsets[i].domain));
    inspect_table_add(&table, "%lld", (long long)opsets[i].version);
  }
  inspect_table_print(&table, "opset");
}

#define OPS_A_ROW 4

static void print_ops(const assay_onnx_info *info) {
  size_t n = 0;
  const assay_onnx_op_count *ops = assay_onnx_info_ops(info, &n);
  inspect_line("nodes", "%zu of %zu operators", assay_onnx_info_n_nodes(info), n);
  inspect_table table = {.n_cols = OPS_A_ROW};
  size_t n_cells = (n + OPS_A_ROW - 1) / OPS_A_ROW * OPS_A_ROW;
  for (size_t i = 0; i < n_cells; i++) {
    if (i >= n)
      inspect_table_add(&table, "%s", "");
    else if (*ops[i].domain == '\0')
      inspect_table_add(&table, "%s %zu", ops[i].op, ops[i].n);
    else
      inspect_table_add(&table, "%s::%s %zu", ops[i].domain, ops[i].op, ops[i].n);
  }
  inspect_table_print(&table, "");
}

static void print_external(const char *path, const assay_onnx_info *info) {
  size_t n = 0;
  const char *const *files = assay_onnx_info_external_files(info, &n);
  inspect_table table = {.n_cols = 2};
  for (size_t i = 0; i < n; i++) {
    char size[INSPECT_TEXT_BYTES];
    int64_t size_bytes = external_size(path, files[i]);
    inspect_table_add(&table, "%s", files[i]);
    inspect_table_add(&table, "%s",
                      size_bytes < 0 ? "not there" : inspect_size((uint64_t)size_bytes, size));
  }
  inspect_table_print(&table, "external");
}

static void print_metadata(const assay_onnx_info *info) {
  size_t n = 0;
  const assay_onnx_pair *pairs = assay_onnx_info_metadata(info, &n);
  inspect_table table = {.n_cols = 2};
  for (size_t i = 0; i < n; i++) {
    inspect_table_add(&table, "%s", pairs[i].key);
    size_t n_bytes = strlen(pairs[i].value);
    bool is_line = n_bytes <= METADATA_MAX_BYTES && strchr(pairs[i].value, '\n') == NULL;
    if (is_line)
      inspect_table_add(&table, "%s", pairs[i].value);
    else
      inspect_table_add(&table, "(%zu bytes, in --json)", n_bytes);
  }
  inspect_table_print(&table, "metadata");
}

static void print_model(const char *path, const assay_onnx_info *info) {
  char a[INSPECT_TEXT_BYTES], b[INSPECT_TEXT_BYTES];
  size_t n = 0;
  printf("%s: ONNX model\n", inspect_safe(path, a));
  const char *producer = assay_onnx_info_producer(info);
  inspect_safe(*producer == '\0' ? "not said" : producer, a);
  inspect_line("producer", "%s %s", a, inspect_safe(assay_onnx_info_producer_version(info), b));
  inspect_line("graph", "%s", inspect_safe(assay_onnx_info_graph_name(info), a));
  inspect_line("IR version", "%lld", (long long)assay_onnx_info_ir_version(info));
  print_opsets(info);
  const assay_onnx_value_info *inputs = assay_onnx_info_inputs(info, &n);
  print_values("inputs", inputs, n);
  const assay_onnx_value_info *outputs = assay_onnx_info_outputs(info, &n);
  print_values("outputs", outputs, n);
  inspect_line("weights", "%zu initializers, %s", assay_onnx_info_n_initializers(info),
               inspect_size(assay_onnx_info_initializer_bytes(info), a));
  print_ops(info);
  print_external(path, info);
  print_metadata(info);
}

assay_status inspect_model(const char *path, assay_json_builder *json, assay_error *err) {
  assay_onnx_info *info = NULL;
  assay_error problem = {0};
  assay_status st = assay_onnx_info_open(path, &info, &problem);
  if (st == ASSAY_E_FORMAT && assay_text_has_suffix(path, ".pb")) {
    /* test_data_set_N/input_M.pb has no magic either. */
    return assay_fail(
        err, ASSAY_E_UNSUPPORTED,
        "'%s' is no ONNX model; by its name it may be an ONNX tensor, which inspect does "
        "not describe",
        path);
  }
  if (st) return assay_fail(err, st, "%s", problem.text);
  if (json != NULL)
    put_model(json, path, info);
  else
    print_model(path, info);
  assay_onnx_info_close(info);
  return ASSAY_OK;
}
