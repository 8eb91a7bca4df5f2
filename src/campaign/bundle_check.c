/* A manifest against the files that it describes. Reads, compares, and writes nothing. */
#include "campaign/bundle_check.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/tensor.h"
#include "base/text.h"
#include "model/mlpf_config.h"
#include "model/mlpf_plan_config.h"
#include "onnx/model_info.h"
#include "package/npz.h"
#include "package/reference_kind.h"

#define SYMBOLS_MAX 1024 /* different symbols in the shapes of one bundle; ours have two */

/* --- shapes and types ----------------------------------------------------------------------------
 */

/* What the symbols of one case stand for. */
typedef struct sizes {
  const char *symbols[SYMBOLS_MAX]; /* borrowed from the manifest */
  int64_t size[SYMBOLS_MAX];
  size_t n;
} sizes;

/* True when the symbol stands for that size; a new symbol does from now on. */
static bool stands_for(sizes *s, const char *symbol, int64_t size) {
  for (size_t i = 0; i < s->n; i++)
    if (strcmp(s->symbols[i], symbol) == 0) return s->size[i] == size;
  if (s->n == SYMBOLS_MAX) return false;
  s->symbols[s->n] = symbol;
  s->size[s->n++] = size;
  return true;
}

/* "[B=1,N=1000,17]": what the manifest says, with what its symbols stand for in this case. */
static void declared_text(const assay_manifest_tensor *tensor, const sizes *s, char *out,
                          size_t out_bytes) {
  size_t used = (size_t)snprintf(out, out_bytes, "[");
  for (int i = 0; i < tensor->rank && used < out_bytes; i++) {
    const assay_manifest_dim *dim = &tensor->dims[i];
    char size[32] = "";
    if (dim->symbol[0] == '\0') snprintf(size, sizeof size, "%lld", (long long)dim->size);
    for (size_t k = 0; k < s->n; k++)
      if (strcmp(s->symbols[k], dim->symbol) == 0)
        snprintf(size, sizeof size, "=%lld", (long long)s->size[k]);
    used += (size_t)snprintf(out + used, out_bytes - used, "%s%s%s", i > 0 ? "," : "", dim->symbol,
                             size);
  }
  if (used < out_bytes) snprintf(out + used, out_bytes - used, "]");
}

static assay_status check_shape(const assay_manifest_tensor *declared, const char *array,
                                const assay_tensor *found, sizes *s, assay_error *err) {
  bool same = found->rank == declared->rank;
  for (int i = 0; same && i < declared->rank; i++) {
    const assay_manifest_dim *dim = &declared->dims[i];
    same =
        dim->symbol[0] ? stands_for(s, dim->symbol, found->dims[i]) : dim->size == found->dims[i];
  }
  if (same) return ASSAY_OK;
  char want[512], got[512];
  declared_text(declared, s, want, sizeof want);
  assay_shape_text(found->dims, found->rank < 8 ? found->rank : 8, got, sizeof got);
  return assay_fail(err, ASSAY_E_MISMATCH, "array '%s' is %s, the manifest says %s", array, got,
                    want);
}

static assay_status check_type(assay_dtype want, const char *array, const assay_tensor *found,
                               assay_error *err) {
  if (found->dtype == want) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_MISMATCH, "array '%s' is %s, the manifest says %s", array,
                    assay_dtype_name(found->dtype), assay_dtype_name(want));
}

/* --- one case ------------------------------------------------------------------------------------
 */

typedef struct check {
  const assay_manifest *manifest;
  const assay_manifest_case *one;
  assay_tensor_map arrays;
  sizes sizes;
} check;

static assay_status check_inputs(check *c, assay_error *err) {
  for (size_t i = 0; i < c->manifest->n_inputs; i++) {
    const assay_manifest_tensor *input = &c->manifest->inputs[i];
    const assay_tensor *found = assay_tensor_map_find(&c->arrays, input->name);
    if (found == NULL)
      return assay_fail(err, ASSAY_E_MISMATCH, "input '%s' is not in the case", input->name);
    ASSAY_TRY(check_type(input->dtype, input->name, found, err));
    ASSAY_TRY(check_shape(input, input->name, found, &c->sizes, err));
  }
  return ASSAY_OK;
}

/* Zeros and ones, as many ones an event as the manifest says. */
static assay_status check_mask(const check *c, const assay_tensor *mask, assay_error *err) {
  const char *name = c->manifest->mask_input;
  const size_t per_event = c->one->b > 0 ? mask->n_elems / (size_t)c->one->b : 0;
  if (c->one->valid == NULL || per_event * (size_t)c->one->b != mask->n_elems)
    return assay_fail(err, ASSAY_E_MISMATCH, "mask '%s' does not fit the counts of valid elements",
                      name);
  for (int64_t b = 0; b < c->one->b; b++) {
    int64_t n_valid = 0;
    for (size_t i = (size_t)b * per_event; i < (size_t)(b + 1) * per_event; i++) {
      const double value = assay_tensor_get_real(mask, i);
      if (value != 0 && value != 1)
        return assay_fail(err, ASSAY_E_MISMATCH, "mask '%s' is %g at %zu, neither 0 nor 1", name,
                          value, i);
      n_valid += value == 1;
    }
    if (n_valid != c->one->valid[b])
      return assay_fail(err, ASSAY_E_MISMATCH,
                        "mask '%s' has %lld valid elements in event %lld, the manifest says %lld",
                        name, (long long)n_valid, (long long)b, (long long)c->one->valid[b]);
  }
  return ASSAY_OK;
}

/* NaN and infinity in valid rows of the inputs, which no reference can judge. */
static assay_status check_finite(const check *c, const assay_tensor *mask, assay_error *err) {
  for (size_t i = 0; i < c->manifest->n_inputs; i++) {
    const char *name = c->manifest->inputs[i].name;
    const assay_tensor *x = assay_tensor_map_find(&c->arrays, name);
    if (!assay_dtype_is_float(x->dtype) || mask->n_elems == 0 || x->n_elems % mask->n_elems != 0)
      continue;
    const size_t per_row = x->n_elems / mask->n_elems;
    for (size_t k = 0; k < x->n_elems; k++)
      if (assay_tensor_get_real(mask, k / per_row) == 1 && !isfinite(assay_tensor_get_real(x, k)))
        return assay_fail(err, ASSAY_E_MISMATCH, "input '%s' is not finite at %zu, in a valid row",
                          name, k);
  }
  return ASSAY_OK;
}

static bool promises(const assay_manifest *manifest, const char *precision) {
  const assay_json *list = assay_json_get(manifest->reference, "precision");
  for (size_t i = 0; i < assay_json_len(list); i++) {
    const char *word = assay_json_string(assay_json_at(list, i));
    if (word != NULL && strcmp(word, precision) == 0) return true;
  }
  return false;
}

/* A reference of the evaluator of one head: there where the manifest promises it ("f32", "f64"),
 * and of that precision. Integers have one exact reference, which stands under f32. */
static assay_status check_reference(check *c, const assay_manifest_tensor *head, const char *kind,
                                    assay_dtype precision, assay_error *err) {
  const bool is_float = assay_dtype_is_float(head->dtype);
  char *name = assay_format("ref.%s.%s", kind, head->name);
  if (name == NULL) return assay_fail_memory(err, strlen(head->name) + 16);
  const assay_tensor *found = assay_tensor_map_find(&c->arrays, name);
  assay_status st = ASSAY_OK;
  if (found != NULL) {
    st = check_type(is_float ? precision : head->dtype, name, found, err);
    if (st == ASSAY_OK) st = check_shape(head, name, found, &c->sizes, err);
  } else if (assay_reference_kind_find(kind)->gates &&
             promises(c->manifest, assay_dtype_name(precision)) &&
             (is_float || precision == ASSAY_DTYPE_F32)) {
    st = assay_fail(err, ASSAY_E_MISMATCH,
                    "the manifest promises reference '%s', which is not in the case", name);
  }
  assay_free(name);
  return st;
}

/* One that a user brought, of whatever type the comparison takes. */
static assay_status check_brought(check *c, const assay_manifest_tensor *head, assay_error *err) {
  char *name = assay_format("ref.user.%s", head->name);
  if (name == NULL) return assay_fail_memory(err, strlen(head->name) + 16);
  const assay_tensor *found = assay_tensor_map_find(&c->arrays, name);
  const assay_status st = found == NULL ? ASSAY_OK : check_shape(head, name, found, &c->sizes, err);
  assay_free(name);
  return st;
}

static assay_status check_heads(check *c, const assay_tensor *mask, assay_error *err) {
  for (size_t i = 0; i < c->manifest->n_heads; i++) {
    const assay_manifest_tensor *head = &c->manifest->heads[i];
    const bool is_float = assay_dtype_is_float(head->dtype);
    if (is_float == (head->kind == ASSAY_HEAD_INTEGER))
      return assay_fail(err, ASSAY_E_MISMATCH, "head '%s' is %s, which its kind '%s' does not fit",
                        head->name, assay_dtype_name(head->dtype),
                        assay_head_kind_name(head->kind));
    ASSAY_TRY(check_reference(c, head, "f32", ASSAY_DTYPE_F32, err));
    ASSAY_TRY(check_reference(c, head, "f64", ASSAY_DTYPE_F64, err));
    for (int k = ASSAY_FIRST_PRECISION_KIND; k < ASSAY_N_REFERENCE_KINDS; k++)
      ASSAY_TRY(check_reference(c, head, ASSAY_REFERENCE_KINDS[k].name, ASSAY_DTYPE_F32, err));
    ASSAY_TRY(check_brought(c, head, err));
    if (c->manifest->architecture == NULL || !is_float) continue;
    bool covered = mask != NULL && mask->rank <= head->rank;
    for (int k = 0; covered && k < mask->rank; k++)
      covered = head->dims[k].symbol[0] ? stands_for(&c->sizes, head->dims[k].symbol, mask->dims[k])
                                        : head->dims[k].size == mask->dims[k];
    if (!covered)
      return assay_fail(err, ASSAY_E_MISMATCH, "mask '%s' does not cover head '%s'",
                        c->manifest->mask_input ? c->manifest->mask_input : "", head->name);
  }
  return ASSAY_OK;
}

/* "ref.<kind>.<head>" of a known kind and head. */
static bool is_reference(const assay_manifest *manifest, const char *name) {
  char kind[16];
  size_t n = 0;
  if (!assay_text_has_prefix(name, "ref.")) return false;
  for (name += 4; *name != '.' && *name != 0 && n + 1 < sizeof kind; name++) kind[n++] = *name;
  kind[n] = 0;
  return *name == '.' && assay_reference_kind_find(kind) != NULL &&
         assay_manifest_head(manifest, name + 1) != NULL;
}

/* Inputs, and references of known heads under known kinds: nothing else. */
static assay_status check_names(const check *c, assay_error *err) {
  for (size_t i = 0; i < c->arrays.n; i++) {
    const char *name = c->arrays.items[i].name;
    bool known = is_reference(c->manifest, name);
    for (size_t k = 0; k < c->manifest->n_inputs && !known; k++)
      known = strcmp(c->manifest->inputs[k].name, name) == 0;
    if (!known)
      return assay_fail(err, ASSAY_E_MISMATCH,
                        "array '%s' is neither an input nor a reference of a head", name);
  }
  return ASSAY_OK;
}

static assay_status check_loaded(check *c, assay_error *err) {
  const char *mask_name = c->manifest->mask_input;
  if (c->one->b > 0 && c->manifest->architecture != NULL) { /* elsewhere they are anybody's */
    (void)stands_for(&c->sizes, "B", c->one->b);
    (void)stands_for(&c->sizes, "N", c->one->n);
  }
  ASSAY_TRY(check_names(c, err));
  ASSAY_TRY(check_inputs(c, err));
  const assay_tensor *mask = mask_name ? assay_tensor_map_find(&c->arrays, mask_name) : NULL;
  if (mask != NULL) { /* there if the manifest names one: it is among the inputs */
    ASSAY_TRY(check_mask(c, mask, err));
    ASSAY_TRY(check_finite(c, mask, err));
  }
  return check_heads(c, mask, err);
}

static assay_status check_case(const char *bundle_path, const assay_manifest *manifest,
                               const assay_manifest_case *one, assay_error *err) {
  check c = {.manifest = manifest, .one = one};
  char *path = assay_format("%s/%s", bundle_path, one->file.file);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_npz_read(path, /*limits=*/NULL, &c.arrays, err);
  if (st == ASSAY_OK) st = check_loaded(&c, err);
  if (st) assay_error_in(err, "case '%s'", one->name);
  assay_tensor_map_reset(&c.arrays);
  assay_free(path);
  return st;
}

/* --- the graph -----------------------------------------------------------------------------------
 */

/* A configuration as text that depends on its contents alone. */
static assay_status canonical(const assay_json *tree, assay_buf *out, assay_error *err) {
  assay_mlpf_config config;
  ASSAY_TRY(assay_mlpf_config_parse(tree, /*arch=*/NULL, &config, err));
  assay_json_builder *b = assay_json_builder_create();
  assay_mlpf_config_put(&config, b, /*key=*/NULL);
  assay_status st = assay_json_builder_finish(b, out, err);
  assay_json_builder_destroy(b);
  return st;
}

static assay_status check_config(const assay_manifest *manifest, const char *in_graph,
                                 assay_error *err) {
  assay_json *tree = NULL;
  assay_buf said = {0}, built = {0};
  assay_status st = assay_json_parse(in_graph, strlen(in_graph), &tree, err);
  if (st == ASSAY_OK) st = canonical(tree, &built, err);
  if (st == ASSAY_OK) st = canonical(manifest->config, &said, err);
  if (st == ASSAY_OK && strcmp(assay_buf_text(&said), assay_buf_text(&built)) != 0)
    st = assay_fail(err, ASSAY_E_MISMATCH,
                    "it was built from another configuration than the manifest's");
  assay_json_destroy(tree);
  assay_buf_reset(&said);
  assay_buf_reset(&built);
  return st;
}

/* tree's plan; NULL: the one of graphs and manifests that do not say. */
static assay_status plan_of(const assay_json *tree, assay_mlpf_plan_config *out, assay_error *err) {
  if (tree != NULL) return assay_mlpf_plan_config_parse(tree, out, err);
  return assay_mlpf_plan_config_init(ASSAY_DTYPE_F32, ASSAY_MLPF_DECOMPOSED, out, err);
}

static bool same_plan(const assay_mlpf_plan_config *a, const assay_mlpf_plan_config *b) {
  return a->attention == b->attention && a->mask == b->mask && a->encoder == b->encoder &&
         a->backbone == b->backbone && a->scores == b->scores && a->readout == b->readout &&
         a->heads == b->heads;
}

static assay_status check_plan(const assay_manifest *manifest, const char *in_graph,
                               assay_error *err) {
  assay_json *tree = NULL;
  assay_mlpf_plan_config said, built;
  ASSAY_TRY(plan_of(manifest->plan, &said, err));
  if (in_graph != NULL) ASSAY_TRY(assay_json_parse(in_graph, strlen(in_graph), &tree, err));
  const assay_status st = plan_of(tree, &built, err);
  assay_json_destroy(tree);
  if (st) return st;
  const bool is_f32 = assay_mlpf_plan_config_is_f32(&said);
  if (!same_plan(&said, &built) || strcmp(manifest->dtype, is_f32 ? "float32" : "float16") != 0)
    return assay_fail(err, ASSAY_E_MISMATCH,
                      "it was built by another precision plan than the manifest's");
  return ASSAY_OK;
}

/* A run must show as many fused kernels as the graph has fused operators. */
static assay_status check_fused(const assay_manifest *manifest, const assay_onnx_info *info,
                                assay_error *err) {
  size_t n = 0, n_fused = 0;
  const assay_onnx_op_count *ops = assay_onnx_info_ops(info, &n);
  for (size_t i = 0; i < n; i++)
    if (strcmp(ops[i].op, "Attention") == 0 || strcmp(ops[i].op, "MultiHeadAttention") == 0)
      n_fused += ops[i].n;
  if ((int64_t)n_fused == manifest->fused_attention_ops) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_MISMATCH,
                    "it has %zu fused attention operators, the manifest says %lld", n_fused,
                    (long long)manifest->fused_attention_ops);
}

static assay_status check_info(const assay_manifest *manifest, const assay_onnx_info *info,
                               assay_error *err) {
  size_t n = 0;
  const assay_onnx_opset *opsets = assay_onnx_info_opsets(info, &n);
  for (size_t i = 0; i < n; i++)
    if (opsets[i].domain[0] == 0 && opsets[i].version != manifest->opset)
      return assay_fail(err, ASSAY_E_MISMATCH, "its opset is %lld, the manifest says %lld",
                        (long long)opsets[i].version, (long long)manifest->opset);
  const char *config = assay_onnx_info_metadata_value(info, "assay.config");
  if (config == NULL)
    return assay_fail(
        err, ASSAY_E_MISMATCH,
        "it holds no 'assay.config', though the manifest calls it an export of assay");
  ASSAY_TRY(check_config(manifest, config, err));
  ASSAY_TRY(check_plan(manifest, assay_onnx_info_metadata_value(info, "assay.plan"), err));
  return check_fused(manifest, info, err);
}

static assay_status check_graph(const char *bundle_path, const assay_manifest *manifest,
                                const char *file, assay_error *err) {
  assay_onnx_info *info = NULL;
  char *path = assay_format("%s/%s", bundle_path, file);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_onnx_info_open(path, &info, err);
  if (st == ASSAY_OK) st = check_info(manifest, info, err);
  if (st) assay_error_in(err, "graph '%s'", file);
  assay_onnx_info_close(info);
  assay_free(path);
  return st;
}

assay_status assay_bundle_check(const char *bundle_path, const assay_manifest *manifest,
                                assay_error *err) {
  if (manifest->config != NULL)
    ASSAY_TRY(check_graph(bundle_path, manifest, manifest->model.file, err));
  for (size_t i = 0; i < manifest->n_cases; i++) {
    const assay_manifest_case *one = &manifest->cases[i];
    if (manifest->config != NULL && one->model.file != NULL)
      ASSAY_TRY(check_graph(bundle_path, manifest, one->model.file, err));
    ASSAY_TRY(check_case(bundle_path, manifest, one, err));
  }
  return ASSAY_OK;
}
