/* Import: describe the model, copy it, take the cases one by one, write the manifest, check the
 * whole as a campaign would, and put the folder in its place in one step. */
#include "campaign/bundle_import.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "campaign/bundle_case.h"
#include "campaign/bundle_check.h"
#include "campaign/bundle_manifest.h"
#include "campaign/bundle_place.h"
#include "campaign/import_case.h"
#include "onnx/model_info.h"
#include "package/npz.h"

#define MODEL_FILE      "model.onnx"
#define MODEL_BYTES_MAX ((size_t)1 << 31) /* what protobuf, and so an ONNX file, can hold */
#define NAME_BYTES_MAX  100
#define VALUES_MAX      4096 /* inputs or outputs of a model */

typedef struct importer {
  const assay_import_spec *spec;
  assay_onnx_info *info;
  bundle_place place;
  assay_manifest manifest;
  bool *open_heads; /* [n] of ranks that the model does not tell, until a reference does */
  size_t n_symbols; /* made up so far */
  assay_import_result result;
} importer;

/* --- what the model takes and gives --------------------------------------------------------------
 */

/* Types that .npz files hold and that can be compared. */
static bool is_held(assay_dtype dtype) {
  return dtype == ASSAY_DTYPE_F32 || dtype == ASSAY_DTYPE_F64 || dtype == ASSAY_DTYPE_F16 ||
         assay_dtype_is_integer(dtype);
}

static void open_dim(importer *im, assay_manifest_dim *out) {
  *out = (assay_manifest_dim){0};
  snprintf(out->symbol, sizeof out->symbol, "?%zu", im->n_symbols++);
}

/* Exporters that know no name leave none, or write "?" or "None": nothing says that such dimensions
 * are equal. */
static bool is_named(const char *symbol, size_t room_bytes) {
  return symbol != NULL && symbol[0] != '?' && strcmp(symbol, "None") != 0 &&
         strlen(symbol) < room_bytes && assay_text_is_utf8(symbol, strlen(symbol));
}

static void set_dim(importer *im, const assay_onnx_dim *dim, assay_manifest_dim *out) {
  *out = (assay_manifest_dim){0};
  if (dim->size >= 0)
    out->size = dim->size;
  else if (is_named(dim->symbol, sizeof out->symbol))
    snprintf(out->symbol, sizeof out->symbol, "%s", dim->symbol);
  else
    open_dim(im, out);
}

/* open: set where the model does not tell the rank; NULL where it must. */
static assay_status describe(importer *im, const assay_onnx_value_info *value, const char *what,
                             assay_manifest_tensor *out, bool *open, assay_error *err) {
  if (value->name[0] == '\0')
    return assay_fail(err, ASSAY_E_FORMAT, "the model has an %s without a name", what);
  if (value->dtype == ASSAY_DTYPE_NONE)
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "%s '%s' is no tensor, or of a type that assay has no name for", what,
                      value->name);
  if (!is_held(value->dtype))
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "%s '%s' is %s, which cases (.npz files) cannot hold or compare", what,
                      value->name, assay_dtype_name(value->dtype));
  if (value->rank < 0 && open == NULL) /* ONNX Runtime takes it for a scalar */
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "the model does not say how many dimensions %s '%s' has; declare them (sizes "
                      "may stay open)",
                      what, value->name);
  if (value->rank > (int)N_OF(out->dims))
    return assay_fail(err, ASSAY_E_LIMIT, "%s '%s' has %d dimensions, at most %zu are handled",
                      what, value->name, value->rank, N_OF(out->dims));
  if (!assay_path_is_inside(value->name)) /* as members of archives are named */
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "%s '%s' has a name that arrays in .npz files cannot have; rename it in the "
                      "model",
                      what, value->name);
  ASSAY_TRY(assay_text_set(&out->name, value->name, err));
  out->dtype = value->dtype;
  out->rank = value->rank < 0 ? 0 : value->rank;
  if (open != NULL) *open = value->rank < 0;
  for (int i = 0; i < out->rank; i++) set_dim(im, &value->dims[i], &out->dims[i]);
  return ASSAY_OK;
}

static assay_status make_list(size_t n, const char *what, assay_manifest_tensor **out,
                              size_t *out_n, assay_error *err) {
  if (n == 0 || n > VALUES_MAX)
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "the model has %zu %ss: expected 1 to %d", n, what,
                      VALUES_MAX);
  *out = assay_alloc_array(n, sizeof **out);
  if (*out == NULL) return assay_fail_memory(err, n * sizeof **out);
  *out_n = n;
  return ASSAY_OK;
}

static assay_status describe_values(importer *im, assay_error *err) {
  assay_manifest *m = &im->manifest;
  size_t n = 0;
  const assay_onnx_value_info *inputs = assay_onnx_info_inputs(im->info, &n);
  ASSAY_TRY(make_list(n, "input", &m->inputs, &m->n_inputs, err));
  for (size_t i = 0; i < n; i++)
    ASSAY_TRY(describe(im, &inputs[i], "input", &m->inputs[i], /*open=*/NULL, err));
  const assay_onnx_value_info *outputs = assay_onnx_info_outputs(im->info, &n);
  ASSAY_TRY(make_list(n, "output", &m->heads, &m->n_heads, err));
  im->open_heads = assay_alloc_array(n, sizeof *im->open_heads);
  if (im->open_heads == NULL) return assay_fail_memory(err, n);
  for (size_t i = 0; i < n; i++)
    ASSAY_TRY(describe(im, &outputs[i], "output", &m->heads[i], &im->open_heads[i], err));
  return ASSAY_OK;
}

static const assay_manifest_tensor *find_input(const assay_manifest *manifest, const char *name) {
  for (size_t i = 0; i < manifest->n_inputs; i++)
    if (strcmp(manifest->inputs[i].name, name) == 0) return &manifest->inputs[i];
  return NULL;
}

/* An output that is an input too would be both in a case's file. */
static assay_status check_distinct(const assay_manifest *manifest, assay_error *err) {
  for (size_t i = 0; i < manifest->n_heads; i++)
    if (find_input(manifest, manifest->heads[i].name) != NULL)
      return assay_fail(err, ASSAY_E_UNSUPPORTED, "output '%s' is an input of the model, too",
                        manifest->heads[i].name);
  return ASSAY_OK;
}

static assay_status describe_model(importer *im, assay_error *err) {
  assay_manifest *m = &im->manifest;
  size_t n = 0;
  const assay_onnx_opset *opsets = assay_onnx_info_opsets(im->info, &n);
  for (size_t i = 0; i < n; i++)
    if (opsets[i].domain[0] == '\0') m->opset = opsets[i].version;
  m->ir_version = assay_onnx_info_ir_version(im->info);
  if (m->opset < 1)
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "the model imports no opset of ONNX's own domain");
  const assay_onnx_op_count *ops = assay_onnx_info_ops(im->info, &n);
  for (size_t i = 0; i < n; i++)
    if (strcmp(ops[i].op, "Attention") == 0 || strcmp(ops[i].op, "MultiHeadAttention") == 0)
      m->fused_attention_ops += (int64_t)ops[i].n;
  m->attention_ops = m->fused_attention_ops; /* what else is attention, its nodes do not tell */
  ASSAY_TRY(describe_values(im, err));
  ASSAY_TRY(check_distinct(m, err));
  assay_dtype dtype = assay_onnx_info_initializer_dtype(im->info);
  if (dtype == ASSAY_DTYPE_NONE) dtype = m->inputs[0].dtype;
  return assay_text_set(&m->dtype, assay_dtype_name(dtype), err);
}

/* --- what the user says of it --------------------------------------------------------------------
 */

static assay_manifest_tensor *find_head(assay_manifest *manifest, const char *name) {
  for (size_t i = 0; i < manifest->n_heads; i++)
    if (strcmp(manifest->heads[i].name, name) == 0) return &manifest->heads[i];
  return NULL;
}

static assay_status fail_unknown(const assay_manifest_tensor *list, size_t n, const char *option,
                                 const char *what, const char *name, assay_error *err) {
  const char *names[64];
  const size_t n_names = n < N_OF(names) ? n : N_OF(names);
  for (size_t i = 0; i < n_names; i++) names[i] = list[i].name;
  const char *nearest = assay_text_nearest(name, names, n_names);
  return assay_fail(err, ASSAY_E_ARGUMENT, "%s: the model has no %s '%s'; %s '%s'%s", option, what,
                    name, nearest ? "did you mean" : "its first is",
                    nearest ? nearest : list[0].name, nearest ? "?" : "");
}

static assay_status set_kinds(importer *im, assay_error *err) {
  assay_manifest *m = &im->manifest;
  for (size_t i = 0; i < m->n_heads; i++)
    m->heads[i].kind =
        assay_dtype_is_float(m->heads[i].dtype) ? ASSAY_HEAD_REGRESSION : ASSAY_HEAD_INTEGER;
  for (size_t i = 0; i < im->spec->n_classes; i++) {
    assay_manifest_tensor *head = find_head(m, im->spec->classes[i]);
    if (head == NULL)
      return fail_unknown(m->heads, m->n_heads, "--classes", "output", im->spec->classes[i], err);
    if (head->kind == ASSAY_HEAD_INTEGER)
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "--classes: output '%s' is %s; scores of classes are of a floating type",
                        head->name, assay_dtype_name(head->dtype));
    head->kind = ASSAY_HEAD_CLASSES;
  }
  return ASSAY_OK;
}

static assay_status check_tolerances(importer *im, assay_error *err) {
  assay_manifest *m = &im->manifest;
  bool any_float = false;
  for (size_t i = 0; i < m->n_heads; i++) any_float |= m->heads[i].kind != ASSAY_HEAD_INTEGER;
  for (size_t i = 0; i < im->spec->n_tolerances; i++) {
    const assay_export_tolerance *t = &im->spec->tolerances[i];
    const char *option = t->relative ? "--rtol" : "--atol";
    const assay_manifest_tensor *head = t->head != NULL ? find_head(m, t->head) : NULL;
    if (t->head != NULL && head == NULL)
      return fail_unknown(m->heads, m->n_heads, option, "output", t->head, err);
    if (head != NULL ? head->kind == ASSAY_HEAD_INTEGER : !any_float)
      return assay_fail(
          err, ASSAY_E_ARGUMENT,
          "%s has no effect on %s, which %s compared exactly; give it to assay run to "
          "ask otherwise",
          option, head != NULL ? head->name : "integer outputs", head != NULL ? "is" : "are");
  }
  return ASSAY_OK;
}

static void set_tolerances(importer *im) {
  const assay_import_spec *spec = im->spec;
  for (size_t i = 0; i < im->manifest.n_heads; i++) {
    assay_manifest_tensor *head = &im->manifest.heads[i];
    if (head->kind == ASSAY_HEAD_INTEGER) continue;
    head->atol = bundle_tolerance_of(spec->tolerances, spec->n_tolerances, head->name,
                                     /*relative=*/false);
    head->rtol = bundle_tolerance_of(spec->tolerances, spec->n_tolerances, head->name,
                                     /*relative=*/true);
  }
}

static assay_status set_mask(importer *im, assay_error *err) {
  assay_manifest *m = &im->manifest;
  if (im->spec->mask_input == NULL) return ASSAY_OK;
  const assay_manifest_tensor *mask = find_input(m, im->spec->mask_input);
  if (mask == NULL)
    return fail_unknown(m->inputs, m->n_inputs, "--mask-input", "input", im->spec->mask_input, err);
  if (mask->rank != 2)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "--mask-input: input '%s' has %d dimensions; a mask has two, [B,N]",
                      mask->name, mask->rank);
  return assay_text_set(&m->mask_input, mask->name, err);
}

/* The file's name without ".onnx"; of a "model.onnx" its folder's, if it has one. */
static void default_name(const char *model, char *out, size_t out_bytes) {
  const char *last = assay_path_name(model);
  size_t n = strlen(last);
  if (assay_text_has_suffix(last, ".onnx")) n -= strlen(".onnx");
  if (n == strlen("model") && strncmp(last, "model", n) == 0 && last > model + 1) {
    const char *end = last - 1, *begin = end;
    while (begin > model && begin[-1] != '/') begin--;
    if (*begin != '.' && begin < end) {
      last = begin;
      n = (size_t)(end - begin);
    }
  }
  bundle_name_of(last, n < NAME_BYTES_MAX ? n : NAME_BYTES_MAX, out, out_bytes);
  if (out[0] == '\0') snprintf(out, out_bytes, "model");
}

static assay_status set_name(importer *im, assay_error *err) {
  char *name = im->result.name;
  const size_t name_bytes = sizeof im->result.name;
  if (im->spec->name == NULL) {
    default_name(im->spec->model, name, name_bytes);
  } else {
    bundle_name_of(im->spec->name, strlen(im->spec->name), name, name_bytes);
    if (name[0] == '\0' || strcmp(name, im->spec->name) != 0 || strlen(name) > NAME_BYTES_MAX)
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "--name is '%s'; expected 1 to %d letters, digits and any of ._-+@ that do "
                        "not come first",
                        im->spec->name, NAME_BYTES_MAX);
  }
  return assay_text_set(&im->manifest.name, name, err);
}

/* --- files ---------------------------------------------------------------------------------------
 */

/* Lists a file that lies in the bundle. */
static assay_status list_file(importer *im, const char *name, assay_manifest_file *out,
                              assay_error *err) {
  char *path = assay_path_join(im->place.folder, name);
  out->file = assay_strdup(name);
  assay_status st =
      path == NULL || out->file == NULL ? assay_fail_memory(err, strlen(name)) : ASSAY_OK;
  if (st == ASSAY_OK) st = assay_sha256_file(path, out->sha256, &out->size_bytes, err);
  im->result.size_bytes += out->size_bytes;
  assay_free(path);
  return st;
}

static assay_status make_parent(const char *path, assay_error *err) {
  const char *slash = strrchr(path, '/');
  char *parent = slash == NULL ? NULL : assay_strndup(path, (size_t)(slash - path));
  if (slash == NULL) return ASSAY_OK;
  const assay_status st =
      parent == NULL ? assay_fail_memory(err, strlen(path)) : assay_folder_create(parent, err);
  assay_free(parent);
  return st;
}

/* The bytes that were described are those that are written. */
static assay_status copy_model(importer *im, const assay_buf *bytes, assay_error *err) {
  char *path = assay_path_join(im->place.folder, MODEL_FILE);
  if (path == NULL) return assay_fail_memory(err, sizeof MODEL_FILE);
  const assay_status st = assay_file_write(path, bytes->data, bytes->size_bytes, err);
  assay_free(path);
  return st ? st : list_file(im, MODEL_FILE, &im->manifest.model, err);
}

static bool is_taken(const char *name) {
  return strcmp(name, MODEL_FILE) == 0 || strcmp(name, "manifest.json") == 0 ||
         strcmp(name, "cases") == 0 || assay_text_has_prefix(name, "cases/") ||
         assay_text_has_prefix(name, "models/");
}

static assay_status copy_external(importer *im, const char *folder, const char *name,
                                  assay_manifest_file *out, assay_error *err) {
  if (is_taken(name))
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "the model's external data are named '%s', which has another meaning in a "
                      "bundle; save the model with another name for them",
                      name);
  char *from = assay_path_join(folder, name), *to = assay_path_join(im->place.folder, name);
  assay_status st = from == NULL || to == NULL ? assay_fail_memory(err, strlen(name)) : ASSAY_OK;
  if (st == ASSAY_OK) st = make_parent(to, err);
  if (st == ASSAY_OK) {
    st = assay_file_copy(from, to, err);
    if (st) assay_error_in(err, "external data of the model");
  }
  assay_free(from);
  assay_free(to);
  return st ? st : list_file(im, name, out, err);
}

static assay_status copy_externals(importer *im, assay_error *err) {
  assay_manifest *m = &im->manifest;
  size_t n = 0;
  const char *const *names = assay_onnx_info_external_files(im->info, &n);
  const char *model = im->spec->model;
  char *folder = assay_strndup(model, (size_t)(assay_path_name(model) - model));
  m->external = assay_alloc_array(n, sizeof *m->external);
  assay_status st =
      folder == NULL || m->external == NULL ? assay_fail_memory(err, strlen(model)) : ASSAY_OK;
  for (size_t i = 0; i < n && st == ASSAY_OK; i++)
    st = copy_external(im, folder[0] == '\0' ? "." : folder, names[i],
                       &m->external[m->n_external++], err);
  assay_free(folder);
  return st;
}

/* --- cases ---------------------------------------------------------------------------------------
 */

/* "[batch,?,224]" */
static void declared_text(const assay_manifest_tensor *tensor, char *out, size_t out_bytes) {
  size_t used = (size_t)snprintf(out, out_bytes, "[");
  for (int i = 0; i < tensor->rank && used < out_bytes; i++) {
    const assay_manifest_dim *dim = &tensor->dims[i];
    char size[32];
    snprintf(size, sizeof size, "%lld", (long long)dim->size);
    const char *text = dim->symbol[0] == '\0' ? size : dim->symbol[0] == '?' ? "?" : dim->symbol;
    used += (size_t)snprintf(out + used, out_bytes - used, "%s%s", i ? "," : "", text);
  }
  if (used < out_bytes) snprintf(out + used, out_bytes - used, "]");
}

/* Holds an array against what the model says of its shape. */
static assay_status fit_shape(const char *what, const assay_tensor *array,
                              const assay_manifest_tensor *tensor, assay_error *err) {
  char got[256], want[640];
  bool same = array->rank == tensor->rank;
  for (int i = 0; i < tensor->rank && same; i++)
    same = tensor->dims[i].symbol[0] != '\0' || tensor->dims[i].size == array->dims[i];
  if (same) return ASSAY_OK;
  assay_shape_text(array->dims, array->rank, got, sizeof got);
  declared_text(tensor, want, sizeof want);
  return assay_fail(err, ASSAY_E_FORMAT, "%s '%s' has shape %s; the model says %s", what,
                    tensor->name, got, want);
}

/* The first reference decides where the model says nothing. */
static void close_head(importer *im, size_t i, const assay_tensor *array) {
  assay_manifest_tensor *head = &im->manifest.heads[i];
  if (!im->open_heads[i] || array->rank > (int)N_OF(head->dims)) return;
  head->rank = array->rank;
  for (int k = 0; k < array->rank; k++) open_dim(im, &head->dims[k]);
  im->open_heads[i] = false;
}

static assay_status fit_input(const assay_manifest_tensor *input, const import_case *one,
                              assay_error *err) {
  const assay_tensor *array = assay_tensor_map_find(&one->arrays, input->name);
  if (array->dtype != input->dtype)
    return assay_fail(err, ASSAY_E_FORMAT, "input '%s' is %s; the model takes %s", input->name,
                      assay_dtype_name(array->dtype), assay_dtype_name(input->dtype));
  return fit_shape("input", array, input, err);
}

/* What the comparison takes (measure/compare.h): the output's type, float64, or a float32 that is
 * exact beside a narrower output. */
static bool is_reference_type(assay_dtype head, assay_dtype reference) {
  if (head == reference) return true;
  if (!assay_dtype_is_float(head)) return false;
  return reference == ASSAY_DTYPE_F64 || (reference == ASSAY_DTYPE_F32 && head == ASSAY_DTYPE_F16);
}

/* *out_missing: there is no reference of this head. */
static assay_status fit_head(importer *im, size_t i, const import_case *one, bool *out_missing,
                             assay_error *err) {
  const assay_manifest_tensor *head = &im->manifest.heads[i];
  char *name = assay_format("ref.user.%s", head->name);
  if (name == NULL) return assay_fail_memory(err, strlen(head->name) + 16);
  const assay_tensor *array = assay_tensor_map_find(&one->arrays, name);
  assay_free(name);
  *out_missing |= array == NULL;
  if (array == NULL) return ASSAY_OK;
  if (!is_reference_type(head->dtype, array->dtype))
    return assay_fail(err, ASSAY_E_FORMAT, "reference '%s' is %s; the model gives %s", head->name,
                      assay_dtype_name(array->dtype), assay_dtype_name(head->dtype));
  close_head(im, i, array);
  return fit_shape("reference", array, head, err);
}

static assay_status set_valid(const assay_manifest *manifest, const import_case *one,
                              assay_manifest_case *out, assay_error *err) {
  if (manifest->mask_input == NULL) return ASSAY_OK;
  const assay_tensor *mask = assay_tensor_map_find(&one->arrays, manifest->mask_input);
  out->b = mask->dims[0];
  out->n = mask->dims[1];
  out->valid = assay_alloc_array((size_t)out->b, sizeof *out->valid);
  if (out->valid == NULL) return assay_fail_memory(err, (size_t)out->b * sizeof *out->valid);
  for (size_t i = 0; i < mask->n_elems;
       i++) /* that they are zeros and ones is checked at the end */
    out->valid[i / (size_t)out->n] += assay_tensor_get_real(mask, i) == 1.0;
  return ASSAY_OK;
}

static assay_status fit_case(importer *im, const import_case *one, assay_error *err) {
  bool missing = false;
  for (size_t i = 0; i < im->manifest.n_inputs; i++)
    ASSAY_TRY(fit_input(&im->manifest.inputs[i], one, err));
  for (size_t i = 0; i < im->manifest.n_heads; i++) ASSAY_TRY(fit_head(im, i, one, &missing, err));
  im->result.n_references += one->n_references;
  im->result.n_partial += missing;
  if (!missing) return ASSAY_OK;
  char note[256];
  snprintf(note, sizeof note,
           "Case '%.100s' has %s: what has none is timed and placed, and its numbers are no pass",
           one->name, one->n_references > 0 ? "no reference of some outputs" : "no references");
  return bundle_manifest_add_note(&im->manifest, note, err);
}

static assay_status write_case(importer *im, const import_case *one, assay_manifest_case *out,
                               assay_error *err) {
  char *name = assay_format("cases/%s.npz", one->name);
  char *path = name == NULL ? NULL : assay_path_join(im->place.folder, name);
  assay_status st = path == NULL ? assay_fail_memory(err, sizeof one->name) : ASSAY_OK;
  if (st == ASSAY_OK) st = assay_npz_write(path, &one->arrays, err);
  if (st == ASSAY_OK) st = list_file(im, name, &out->file, err);
  assay_free(name);
  assay_free(path);
  return st;
}

static assay_status add_case(importer *im, import_case *one, const char *path, assay_error *err) {
  assay_manifest *m = &im->manifest;
  for (size_t i = 0; i < m->n_cases; i++)
    if (strcmp(m->cases[i].name, one->name) == 0)
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "two cases would be named '%s': the other is %s; rename one", one->name,
                        m->cases[i].source);
  assay_status st = fit_case(im, one, err);
  if (st) {
    assay_error_in(err, "'%s'", path);
    return st;
  }
  assay_manifest_case *out = &m->cases[m->n_cases++];
  out->origin = one->origin;
  one->origin = NULL;
  ASSAY_TRY(assay_text_set(&out->name, one->name, err));
  ASSAY_TRY(assay_text_set(&out->kind, "input", err));
  ASSAY_TRY(assay_text_set(&out->source, one->source, err));
  ASSAY_TRY(set_valid(m, one, out, err));
  return write_case(im, one, out, err);
}

static assay_status add_cases(importer *im, assay_error *err) {
  const size_t n = im->spec->n_cases;
  im->manifest.cases = assay_alloc_array(n, sizeof *im->manifest.cases);
  if (im->manifest.cases == NULL) return assay_fail_memory(err, n * sizeof *im->manifest.cases);
  for (size_t i = 0; i < n; i++) {
    import_case one = {0};
    ASSAY_TRY(import_case_read(im->spec->cases[i], &im->manifest, &one, err));
    const assay_status st = add_case(im, &one, im->spec->cases[i], err);
    import_case_reset(&one);
    if (st) return st;
  }
  for (size_t i = 0; i < im->manifest.n_heads; i++)
    if (im->open_heads[i])
      return assay_fail(err, ASSAY_E_UNSUPPORTED,
                        "the model does not say how many dimensions output '%s' has, nor does a "
                        "reference: bring one, or infer the model's shapes first "
                        "(onnx.shape_inference)",
                        im->manifest.heads[i].name);
  return ASSAY_OK;
}

/* --- the whole -----------------------------------------------------------------------------------
 */

static assay_status set_reference(importer *im, assay_error *err) {
  const char *text =
      im->result.n_references > 0 ? "{\"origin\": \"user\"}" : "{\"origin\": \"none\"}";
  return assay_json_parse(text, strlen(text), &im->manifest.reference, err);
}

/* Static where no input has an open dimension. */
static assay_status set_shapes(importer *im, assay_error *err) {
  bool is_open = false;
  for (size_t i = 0; i < im->manifest.n_inputs; i++)
    for (int k = 0; k < im->manifest.inputs[i].rank; k++)
      is_open |= im->manifest.inputs[i].dims[k].symbol[0] != '\0';
  return assay_text_set(&im->manifest.shapes, is_open ? "dynamic" : "static", err);
}

/* What a campaign would ask of the bundle, asked now. */
static assay_status check_whole(const importer *im, assay_error *err) {
  assay_manifest manifest = {0};
  ASSAY_TRY(assay_manifest_read(im->place.folder, &manifest, err));
  const assay_status st = assay_bundle_check(im->place.folder, &manifest, err);
  assay_manifest_reset(&manifest);
  return st;
}

static assay_status sync_all(const importer *im, assay_error *err) {
  char *cases = assay_path_join(im->place.folder, "cases");
  if (cases == NULL) return assay_fail_memory(err, strlen(im->place.folder));
  const assay_status st = bundle_place_sync(cases, err);
  assay_free(cases);
  return st ? st : bundle_place_sync(im->place.folder, err);
}

static assay_status build(importer *im, const char *path, const assay_buf *bytes,
                          assay_error *err) {
  ASSAY_TRY(bundle_place_begin(&im->place, path, im->spec->force, err));
  char *cases = assay_path_join(im->place.folder, "cases");
  if (cases == NULL) return assay_fail_memory(err, strlen(path));
  const assay_status st = assay_folder_create(cases, err);
  assay_free(cases);
  if (st) return st;
  ASSAY_TRY(copy_model(im, bytes, err));
  ASSAY_TRY(copy_externals(im, err));
  ASSAY_TRY(add_cases(im, err));
  ASSAY_TRY(set_reference(im, err));
  ASSAY_TRY(set_shapes(im, err));
  ASSAY_TRY(assay_manifest_write(&im->manifest, im->place.folder, err));
  ASSAY_TRY(check_whole(im, err));
  ASSAY_TRY(sync_all(im, err));
  return bundle_place_finish(&im->place, err);
}

static assay_status describe_bytes(importer *im, const assay_buf *bytes, assay_error *err) {
  ASSAY_TRY(assay_onnx_info_parse(bytes->data, bytes->size_bytes, &im->info, err));
  return describe_model(im, err);
}

static assay_status import_model(importer *im, const char *path, assay_error *err) {
  assay_buf bytes = {0};
  assay_status st = assay_file_read(im->spec->model, MODEL_BYTES_MAX, &bytes, err);
  if (st == ASSAY_OK) {
    st = describe_bytes(im, &bytes, err);
    if (st) assay_error_in(err, "'%s'", im->spec->model);
  }
  if (st == ASSAY_OK) st = set_name(im, err);
  if (st == ASSAY_OK) st = assay_text_set(&im->manifest.tool_version, ASSAY_VERSION, err);
  if (st == ASSAY_OK) st = set_kinds(im, err);
  if (st == ASSAY_OK) st = check_tolerances(im, err);
  if (st == ASSAY_OK) st = set_mask(im, err);
  if (st == ASSAY_OK) set_tolerances(im);
  if (st == ASSAY_OK) st = build(im, path, &bytes, err);
  assay_buf_reset(&bytes);
  return st;
}

static void fill_result(importer *im, assay_import_result *out) {
  *out = im->result;
  memcpy(out->model_sha256, im->manifest.model.sha256, sizeof out->model_sha256);
  out->n_inputs = im->manifest.n_inputs;
  out->n_heads = im->manifest.n_heads;
  out->n_external = im->manifest.n_external;
  out->n_cases = im->manifest.n_cases;
}

assay_status assay_bundle_import(const assay_import_spec *spec, const char *path,
                                 assay_import_result *out, assay_error *err) {
  importer im = {.spec = spec};
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--; /* the temporary folder stands beside it */
  char *place = assay_strndup(path, n);
  if (place == NULL) return assay_fail_memory(err, n);
  assay_status st = place[0] == '\0'
                        ? assay_fail(err, ASSAY_E_ARGUMENT, "the bundle's folder has no name")
                        : bundle_place_check(place, spec->force, err);
  if (st == ASSAY_OK && spec->n_cases == 0)
    st = assay_fail(err, ASSAY_E_ARGUMENT, "a bundle needs at least one case");
  if (st == ASSAY_OK) st = import_model(&im, place, err);
  if (st == ASSAY_OK && out != NULL) fill_result(&im, out);
  bundle_place_reset(&im.place);
  assay_manifest_reset(&im.manifest);
  assay_onnx_info_close(im.info);
  assay_free(im.open_heads);
  assay_free(place);
  return st;
}
