/* `assay inspect` of a bundle: what its manifest says, and whether its files are the ones it names.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "cli/inspect.h"
#include "package/manifest.h"
#include "package/npz.h"

/* One file that the manifest names. */
typedef struct checked_file {
  const char *role; /* "model", "external", "case" */
  const assay_manifest_file *file;
  bool good;
  char problem[INSPECT_TEXT_BYTES]; /* when not good */
} checked_file;

typedef struct bundle {
  assay_manifest manifest;
  checked_file *files;
  size_t n_files, n_bad;
  bool has_config; /* the manifest has one, and it is of a model that assay knows */
  assay_mlpf_config config;
} bundle;

/* ---- collecting ---------------------------------------------------------------------------------
 */

static assay_status check_file(const char *path, const char *role, const assay_manifest_file *file,
                               bundle *b, assay_error *err) {
  assay_error problem = {0};
  if (file->file == NULL) return ASSAY_OK;
  for (size_t i = 0; i < b->n_files; i++) {
    /* Static exports name the first graph twice. */
    if (strcmp(b->files[i].file->file, file->file) == 0) return ASSAY_OK;
  }
  assay_status st = assay_manifest_file_check(path, file, &problem);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", problem.text);
  checked_file *checked = &b->files[b->n_files++];
  *checked = (checked_file){.role = role, .file = file, .good = st == ASSAY_OK};
  if (st) {
    snprintf(checked->problem, sizeof checked->problem, "%.*s", INSPECT_TEXT_BYTES - 1,
             problem.text);
    b->n_bad++;
  }
  return ASSAY_OK;
}

static assay_status collect(const char *path, bundle *b, assay_error *err) {
  ASSAY_TRY(assay_manifest_read(path, &b->manifest, err));
  const assay_manifest *m = &b->manifest;
  b->files = assay_alloc_array(1 + m->n_external + 2 * m->n_cases, sizeof *b->files);
  if (b->files == NULL) return assay_fail_memory(err, m->n_cases * sizeof *b->files);
  ASSAY_TRY(check_file(path, "model", &m->model, b, err));
  for (size_t i = 0; i < m->n_external; i++) {
    ASSAY_TRY(check_file(path, "external", &m->external[i], b, err));
  }
  for (size_t i = 0; i < m->n_cases; i++) {
    ASSAY_TRY(check_file(path, "model", &m->cases[i].model, b, err));
    ASSAY_TRY(check_file(path, "case", &m->cases[i].file, b, err));
  }
  b->has_config =
      m->config != NULL && assay_mlpf_config_parse(m->config, NULL, &b->config, NULL) == ASSAY_OK;
  return ASSAY_OK;
}

static assay_status bad_status(const bundle *b, assay_error *err) {
  for (size_t i = 0; i < b->n_files; i++) {
    if (b->files[i].good) continue;
    return assay_fail(err, ASSAY_E_MISMATCH, "%zu of %zu files are not as the manifest says: %s",
                      b->n_bad, b->n_files, b->files[i].problem);
  }
  return ASSAY_OK;
}

/* ---- JSON ---------------------------------------------------------------------------------------
 */

static void put_tensor(assay_json_builder *json, const assay_manifest_tensor *tensor,
                       bool is_head) {
  assay_json_begin_object(json, NULL);
  assay_json_put_string(json, "name", tensor->name);
  if (is_head) assay_json_put_string(json, "kind", assay_head_kind_name(tensor->kind));
  assay_json_put_string(json, "dtype", assay_dtype_name(tensor->dtype));
  assay_json_begin_array(json, "dims");
  for (int i = 0; i < tensor->rank; i++) {
    const assay_manifest_dim *dim = &tensor->dims[i];
    if (dim->symbol[0] != '\0')
      assay_json_put_string(json, NULL, dim->symbol);
    else
      assay_json_put_int(json, NULL, dim->size);
  }
  assay_json_end(json);
  if (is_head) {
    assay_json_put_real(json, "atol", tensor->atol);
    assay_json_put_real(json, "rtol", tensor->rtol);
  }
  assay_json_end(json);
}

static void put_tensors(assay_json_builder *json, const char *key,
                        const assay_manifest_tensor *tensors, size_t n, bool is_head) {
  assay_json_begin_array(json, key);
  for (size_t i = 0; i < n; i++) put_tensor(json, &tensors[i], is_head);
  assay_json_end(json);
}

/* The arrays in a case's file; null when it cannot be listed (files says why). */
static void put_arrays(assay_json_builder *json, const char *path, const assay_manifest_case *one) {
  assay_npz_entry_info *list = NULL;
  size_t n = 0;
  char *file = assay_path_join(path, one->file.file);
  assay_status st = file == NULL ? ASSAY_E_MEMORY : assay_npz_list(file, &list, &n, NULL);
  assay_free(file);
  if (st) {
    assay_json_put_null(json, "arrays");
    return;
  }
  assay_json_begin_array(json, "arrays");
  for (size_t i = 0; i < n; i++) {
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "name", list[i].name);
    assay_json_put_string(json, "dtype", assay_dtype_name(list[i].dtype));
    assay_json_begin_array(json, "shape");
    for (int k = 0; k < list[i].rank; k++) assay_json_put_int(json, NULL, list[i].dims[k]);
    assay_json_end(json);
    assay_json_end(json);
  }
  assay_json_end(json);
  assay_npz_list_destroy(list, n);
}

static void put_case(assay_json_builder *json, const char *path, const assay_manifest_case *one) {
  assay_json_begin_object(json, NULL);
  assay_json_put_string(json, "name", one->name);
  assay_json_put_string(json, "kind", one->kind);
  assay_json_put_string(json, "source", one->source);
  assay_json_put_int(json, "b", one->b);
  assay_json_put_int(json, "n", one->n);
  if (one->valid == NULL) {
    assay_json_put_null(json, "valid");
  } else {
    assay_json_begin_array(json, "valid");
    for (int64_t i = 0; i < one->b; i++) assay_json_put_int(json, NULL, one->valid[i]);
    assay_json_end(json);
  }
  assay_json_put_string(json, "file", one->file.file);
  assay_json_put_string(json, "sha256", one->file.sha256);
  assay_json_put_string(json, "model_file", one->model.file);
  put_arrays(json, path, one);
  assay_json_put_copy(json, "margins", one->margins);
  assay_json_end(json);
}

static void put_files(assay_json_builder *json, const bundle *b) {
  assay_json_begin_array(json, "files");
  for (size_t i = 0; i < b->n_files; i++) {
    const checked_file *f = &b->files[i];
    assay_json_begin_object(json, NULL);
    assay_json_put_string(json, "file", f->file->file);
    assay_json_put_string(json, "role", f->role);
    assay_json_put_string(json, "sha256", f->file->sha256);
    assay_json_put_int(json, "size_bytes", (int64_t)f->file->size_bytes);
    assay_json_put_bool(json, "ok", f->good);
    inspect_put_text(json, "problem", f->good ? NULL : f->problem);
    assay_json_end(json);
  }
  assay_json_end(json);
  assay_json_put_bool(json, "files_ok", b->n_bad == 0);
}

static void put_model(assay_json_builder *json, const assay_manifest *m) {
  assay_json_begin_object(json, "model");
  assay_json_put_string(json, "file", m->model.file);
  assay_json_put_string(json, "sha256", m->model.sha256);
  assay_json_put_int(json, "size_bytes", (int64_t)m->model.size_bytes);
  assay_json_put_string(json, "architecture", m->architecture);
  assay_json_put_int(json, "opset", m->opset);
  assay_json_put_int(json, "ir_version", m->ir_version);
  assay_json_put_string(json, "dtype", m->dtype);
  assay_json_put_string(json, "attention", m->attention);
  assay_json_put_string(json, "shapes", m->shapes);
  assay_json_put_int(json, "attention_ops", m->attention_ops);
  assay_json_put_int(json, "fused_attention_ops", m->fused_attention_ops);
  if (m->plan != NULL) assay_json_put_copy(json, "plan", m->plan);
  assay_json_end(json);
}

static void put_bundle(assay_json_builder *json, const char *path, const bundle *b) {
  const assay_manifest *m = &b->manifest;
  assay_json_put_string(json, "kind", "bundle");
  assay_json_put_string(json, "name", m->name);
  assay_json_put_string(json, "tool_version", m->tool_version);
  put_model(json, m);
  assay_json_put_string(json, "weights_sha256",
                        m->weights ? assay_json_string(assay_json_get(m->weights, "sha256"))
                                   : NULL);
  assay_json_put_copy(json, "weights", m->weights);
  const assay_json *config = m->config;
  assay_json_put_string(json, "key_mask",
                        config ? assay_json_string(assay_json_get(config, "key_mask")) : NULL);
  assay_json_put_string(json, "phi",
                        config ? assay_json_string(assay_json_get(config, "phi")) : NULL);
  assay_json_put_copy(json, "config", config);
  put_tensors(json, "inputs", m->inputs, m->n_inputs, /*is_head=*/false);
  assay_json_put_string(json, "mask_input", m->mask_input);
  put_tensors(json, "heads", m->heads, m->n_heads, /*is_head=*/true);
  assay_json_put_copy(json, "reference", m->reference);
  assay_json_begin_array(json, "cases");
  for (size_t i = 0; i < m->n_cases; i++) put_case(json, path, &m->cases[i]);
  assay_json_end(json);
  put_files(json, b);
  assay_json_begin_array(json, "notes");
  for (size_t i = 0; i < m->n_notes; i++) assay_json_put_string(json, NULL, m->notes[i]);
  assay_json_end(json);
}

/* ---- text ---------------------------------------------------------------------------------------
 */

static void print_tensors(const char *label, const assay_manifest_tensor *tensors, size_t n,
                          bool is_head) {
  inspect_table table = {.n_cols = is_head ? 6 : 3};
  for (size_t i = 0; i < n; i++) {
    const assay_manifest_tensor *t = &tensors[i];
    char dims[INSPECT_TEXT_BYTES] = "";
    size_t at = 0;
    for (int k = 0; k < t->rank && at < sizeof dims; k++) {
      const char *comma = k == 0 ? "" : ",";
      int used =
          t->dims[k].symbol[0] != '\0'
              ? snprintf(dims + at, sizeof dims - at, "%s%s", comma, t->dims[k].symbol)
              : snprintf(dims + at, sizeof dims - at, "%s%lld", comma, (long long)t->dims[k].size);
      at += used > 0 ? (size_t)used : 0;
    }
    inspect_table_add(&table, "%s", t->name);
    inspect_table_add(&table, "%s", assay_dtype_name(t->dtype));
    inspect_table_add(&table, "[%s]", dims);
    if (!is_head) continue;
    inspect_table_add(&table, "%s", assay_head_kind_name(t->kind));
    inspect_table_add(&table, "atol %g", t->atol);
    inspect_table_add(&table, "rtol %g", t->rtol);
  }
  inspect_table_print(&table, label);
}

/* "100 90 80", or "100 x 90" when all b are equal. */
static void valid_text(const assay_manifest_case *one, char out[INSPECT_TEXT_BYTES]) {
  snprintf(out, INSPECT_TEXT_BYTES, "%s", one->valid == NULL ? "all" : "");
  size_t at = 0;
  for (int64_t i = 0; one->valid != NULL && i < one->b && at < INSPECT_TEXT_BYTES; i++) {
    int used = snprintf(out + at, INSPECT_TEXT_BYTES - at, "%s%lld", i == 0 ? "" : " ",
                        (long long)one->valid[i]);
    at += used > 0 ? (size_t)used : 0;
  }
}

static void add_margin(inspect_table *table, const assay_json *margins, const char *key) {
  const assay_json *value = margins == NULL ? NULL : assay_json_get(margins, key);
  bool is_number = value != NULL && (assay_json_kind_of(value) == ASSAY_JSON_INT ||
                                     assay_json_kind_of(value) == ASSAY_JSON_REAL);
  if (is_number)
    inspect_table_add(table, "%.6g", assay_json_real(value));
  else
    inspect_table_add(table, "%s", "");
}

static void print_cases(const assay_manifest *m) {
  static const char *const head[] = {"name",  "kind",    "b",        "n",
                                     "valid", "key ulp", "rank ulp", "ties"};
  enum { N_COLS = sizeof head / sizeof *head };
  inspect_table table = {.n_cols = N_COLS};
  bool has_margins = false; /* only models that sort or hash have them */
  for (size_t i = 0; i < m->n_cases; i++) has_margins = has_margins || m->cases[i].margins != NULL;
  if (!has_margins) table.n_cols -= 3;
  for (size_t i = 0; i < table.n_cols && m->n_cases > 0; i++)
    inspect_table_add(&table, "%s", head[i]);
  for (size_t i = 0; i < m->n_cases; i++) {
    const assay_manifest_case *one = &m->cases[i];
    char valid[INSPECT_TEXT_BYTES];
    valid_text(one, valid);
    inspect_table_add(&table, "%s", one->name);
    inspect_table_add(&table, "%s", one->kind);
    inspect_table_add(&table, "%lld", (long long)one->b);
    inspect_table_add(&table, "%lld", (long long)one->n);
    inspect_table_add(&table, "%s", valid);
    if (!has_margins) continue;
    add_margin(&table, one->margins, "key_ulp");
    add_margin(&table, one->margins, "rank_ulp");
    add_margin(&table, one->margins, "n_key_ties");
  }
  inspect_table_print(&table, "cases");
}

static void print_weights(const assay_manifest *m) {
  char origin[INSPECT_TEXT_BYTES], text[INSPECT_TEXT_BYTES];
  if (m->weights == NULL) return;
  inspect_safe(assay_json_string(assay_json_get(m->weights, "origin")), origin);
  const assay_json *seed = assay_json_get(m->weights, "seed");
  if (seed != NULL)
    snprintf(text, sizeof text, " %lld", (long long)assay_json_int(seed));
  else
    text[0] = '\0';
  inspect_line("weights", "%s%s, %lld tensors, %lld values", origin, text,
               (long long)assay_json_int(assay_json_get(m->weights, "n_tensors")),
               (long long)assay_json_int(assay_json_get(m->weights, "n_values")));
  inspect_line("", "sha256 %s",
               inspect_safe(assay_json_string(assay_json_get(m->weights, "sha256")), text));
}

static void print_files(const bundle *b) {
  if (b->n_bad == 0) {
    inspect_line("files", "%zu, all as the manifest says (size and SHA-256)", b->n_files);
    return;
  }
  inspect_line("files", "%zu, of which %zu are not as the manifest says:", b->n_files, b->n_bad);
  for (size_t i = 0; i < b->n_files; i++) {
    char safe[INSPECT_TEXT_BYTES];
    if (!b->files[i].good) inspect_line("", "%s", inspect_safe(b->files[i].problem, safe));
  }
}

/* "backbone float16, …": what the plan says beside the form of attention. */
static void print_plan(const assay_manifest *m) {
  assay_buf line = {0};
  char safe[INSPECT_TEXT_BYTES];
  assay_status st = ASSAY_OK;
  if (m->plan == NULL) return;
  for (size_t i = 0; i < assay_json_len(m->plan) && st == ASSAY_OK; i++) {
    const char *key = assay_json_key_at(m->plan, i);
    if (strcmp(key, "attention") == 0) continue;
    st = assay_buf_appendf(&line, NULL, "%s%s %s", line.size_bytes > 0 ? ", " : "", key,
                           assay_json_string(assay_json_value_at(m->plan, i)));
  }
  if (st == ASSAY_OK) inspect_line("plan", "%s", inspect_safe(assay_buf_text(&line), safe));
  assay_buf_reset(&line);
}

static void print_bundle(const char *path, const bundle *b) {
  const assay_manifest *m = &b->manifest;
  char a[INSPECT_TEXT_BYTES], size[INSPECT_TEXT_BYTES];
  printf("%s: bundle '%s', written by assay %s\n", inspect_safe(path, a), m->name, m->tool_version);
  inspect_line("model", "%s, %s, opset %lld, %s, %s shapes", inspect_safe(m->model.file, a),
               inspect_size(m->model.size_bytes, size), (long long)m->opset, m->dtype, m->shapes);
  inspect_line("", "sha256 %s", m->model.sha256);
  inspect_line("attention", "%s, %lld operations, %lld fused",
               m->attention ? m->attention : "not said", (long long)m->attention_ops,
               (long long)m->fused_attention_ops);
  print_plan(m);
  if (b->has_config)
    inspect_line("config", "%s", inspect_config_line(&b->config, a));
  else if (m->architecture != NULL)
    inspect_line("config", "%s", inspect_safe(m->architecture, a));
  print_weights(m);
  print_tensors("inputs", m->inputs, m->n_inputs, /*is_head=*/false);
  inspect_line("mask", "%s",
               m->mask_input != NULL ? m->mask_input : "none: every position is valid");
  print_tensors("heads", m->heads, m->n_heads, /*is_head=*/true);
  print_cases(m);
  print_files(b);
  for (size_t i = 0; i < m->n_notes; i++) inspect_line("note", "%s", inspect_safe(m->notes[i], a));
}

assay_status inspect_bundle(const char *path, assay_json_builder *json, assay_error *err) {
  bundle b = {0};
  assay_status st = collect(path, &b, err);
  if (!st && json != NULL) put_bundle(json, path, &b);
  if (!st && json == NULL) print_bundle(path, &b);
  if (!st) st = bad_status(&b, err);
  assay_free(b.files);
  assay_manifest_reset(&b.manifest);
  return st;
}
