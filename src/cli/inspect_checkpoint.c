/* `assay inspect` of what trainings leave: PyTorch files, pickles, safetensors; and their tensors
 * saved as .npz. Everything is read as data: a pickle's globals are names to show, its calls are
 * never made. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "checkpoint/pickle_describe.h"
#include "checkpoint/pickle_globals.h"
#include "checkpoint/pickle_json.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/state_dict.h"
#include "checkpoint/torch_file.h"
#include "cli/inspect.h"
#include "model/mlpf_derive.h"
#include "package/npz.h"

#define PICKLE_MAX_BYTES ((size_t)256 << 20) /* as pickle.h */
#define LEAVES_MAX       16 /* values of one container that are shown for a person, but tensors */

/* ---- globals ------------------------------------------------------------------------------------
 */

static const char *safety_name(assay_pickle_safety safety) {
  static const char *const names[] = {
      [ASSAY_PICKLE_KNOWN] = "known",
      [ASSAY_PICKLE_UNKNOWN] = "unknown",
      [ASSAY_PICKLE_DANGEROUS] = "dangerous",
  };
  return names[safety];
}

static void put_globals(assay_json_builder *json, const assay_pickle_globals *globals) {
  assay_json_begin_array(json, "globals");
  for (size_t i = 0; i < globals->n; i++) {
    const assay_pickle_global_use *use = &globals->items[i];
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "module", use->module);
    inspect_put_text(json, "name", use->name);
    assay_json_put_int(json, "n", (int64_t)use->n);
    assay_json_put_string(json, "safety", safety_name(use->safety));
    assay_json_end(json);
  }
  assay_json_end(json);
}

/* Those of one safety, a line each; what: why they are told apart. */
static void print_globals(const assay_pickle_globals *globals, assay_pickle_safety safety,
                          const char *label, const char *what) {
  bool first = true;
  for (size_t i = 0; i < globals->n; i++) {
    const assay_pickle_global_use *use = &globals->items[i];
    char module[INSPECT_TEXT_BYTES], name[INSPECT_TEXT_BYTES];
    if (use->safety != safety) continue;
    inspect_line(first ? label : "", "%s.%s%s%s", inspect_safe(use->module, module),
                 inspect_safe(use->name, name), first ? ": " : "", first ? what : "");
    first = false;
  }
}

static size_t count_known(const assay_pickle_globals *globals) {
  size_t n = 0;
  for (size_t i = 0; i < globals->n; i++)
    if (globals->items[i].safety == ASSAY_PICKLE_KNOWN) n++;
  return n;
}

static void print_all_globals(const assay_pickle_globals *globals) {
  print_globals(globals, ASSAY_PICKLE_DANGEROUS, "DANGEROUS",
                "not run here, but a program that unpickles this file would run it");
  print_globals(globals, ASSAY_PICKLE_UNKNOWN, "inert",
                "a class or function of the writer's, kept as a name and skipped");
  inspect_line("globals", "%zu known ones of tensors, arrays and configurations",
               count_known(globals));
}

/* ---- a PyTorch file: collecting -----------------------------------------------------------------
 */

/* What reading one tensor found. */
typedef struct finding {
  bool known;
  char sha256[ASSAY_SHA256_HEX_BYTES]; /* of its values, row-major, little-endian */
  inspect_values values;
} finding;

typedef struct torch_listing {
  assay_torch_file *file;
  bool structure_only; /* no value of a tensor is read */
  finding *findings;   /* [tensors of the file] */
  assay_pickle_globals globals;
  assay_state_dict dict;               /* of the model, or empty */
  char *no_dict;                       /* why it is empty; owned */
  char sha256[ASSAY_SHA256_HEX_BYTES]; /* of the state dict (tensor.h); "" without one */
} torch_listing;

static assay_status look_at(const assay_tensor *tensor, finding *out, assay_error *err) {
  ASSAY_TRY(assay_sha256_bytes(tensor->data, tensor->size_bytes, out->sha256, err));
  inspect_measure(tensor, &out->values);
  out->known = true;
  return ASSAY_OK;
}

static bool same_view(const assay_torch_tensor *a, const assay_torch_tensor *b) {
  const size_t rank_bytes = (size_t)a->rank * sizeof *a->dims;
  return a->dtype == b->dtype && a->rank == b->rank && a->offset == b->offset &&
         a->is_conjugated == b->is_conjugated && a->is_negated == b->is_negated &&
         (rank_bytes == 0 || (memcmp(a->dims, b->dims, rank_bytes) == 0 &&
                              memcmp(a->strides, b->strides, rank_bytes) == 0));
}

static assay_status read_tensor(torch_listing *t, size_t i, assay_error *err) {
  const assay_torch_tensor *one = assay_torch_file_at(t->file, i);
  const size_t first = one->alias_of;
  if (one->unsupported != NULL || one->dtype == ASSAY_DTYPE_NONE) return ASSAY_OK;
  if (first < i && t->findings[first].known &&
      same_view(one, assay_torch_file_at(t->file, first))) {
    t->findings[i] = t->findings[first];
    return ASSAY_OK;
  }
  assay_tensor tensor = {0};
  ASSAY_TRY(assay_torch_file_view(t->file, i, &tensor, err));
  const assay_status st = look_at(&tensor, &t->findings[i], err);
  assay_tensor_reset(&tensor);
  return st;
}

/* That a file has no state dict, or one that cannot be had, is a finding. */
static assay_status find_state_dict(torch_listing *t, assay_error *err) {
  assay_error words = {0};
  const assay_status st = assay_state_dict_view_torch(t->file, &t->dict, &words);
  if (st == ASSAY_OK)
    return assay_tensor_map_sha256(&t->dict.tensors, /*skip_suffix=*/NULL, t->sha256, err);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", words.text);
  t->no_dict = assay_strdup(words.text);
  return t->no_dict != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(words.text));
}

static const char structure_only_text[] = "values are not read under --no-values";

static assay_status collect_torch(const char *path, torch_listing *t, assay_error *err) {
  ASSAY_TRY(assay_torch_file_open(path, &t->file, err));
  const size_t n = assay_torch_file_count(t->file);
  t->findings = assay_alloc_array(n, sizeof *t->findings);
  if (t->findings == NULL) return assay_fail_memory(err, n * sizeof *t->findings);
  ASSAY_TRY(assay_pickle_globals_init(assay_torch_file_pickle(t->file), &t->globals, err));
  if (t->structure_only) {
    t->no_dict = assay_strdup(structure_only_text);
    return t->no_dict != NULL ? ASSAY_OK : assay_fail_memory(err, sizeof structure_only_text);
  }
  for (size_t i = 0; i < n; i++) ASSAY_TRY(read_tensor(t, i, err));
  return find_state_dict(t, err);
}

static void reset_torch(torch_listing *t) {
  assay_state_dict_reset(&t->dict);
  assay_pickle_globals_reset(&t->globals);
  assay_free(t->no_dict);
  assay_free(t->findings);
  assay_torch_file_close(t->file);
}

/* ---- a PyTorch file as JSON ---------------------------------------------------------------------
 */

static void put_shape(assay_json_builder *json, const char *key, const int64_t *dims, int rank) {
  assay_json_begin_array(json, key);
  for (int i = 0; i < rank; i++) assay_json_put_int(json, NULL, dims[i]);
  assay_json_end(json);
}

static void put_tensor(assay_json_builder *json, const assay_torch_tensor *t, const finding *f) {
  assay_json_begin_object(json, NULL);
  inspect_put_text(json, "path", t->path);
  assay_json_put_string(json, "dtype", t->dtype_name);
  put_shape(json, "shape", t->dims, t->rank);
  put_shape(json, "strides", t->strides, t->rank);
  assay_json_put_int(json, "offset", t->offset);
  inspect_put_text(json, "storage", t->storage_key);
  assay_json_put_int(json, "storage_bytes", (int64_t)t->storage_bytes);
  assay_json_put_bool(json, "requires_grad", t->requires_grad);
  assay_json_put_bool(json, "is_parameter", t->is_parameter);
  inspect_put_text(json, "unsupported", t->unsupported);
  assay_json_put_string(json, "sha256", f->known ? f->sha256 : NULL);
  if (f->known)
    inspect_put_values(json, t->dtype, &f->values);
  else
    assay_json_put_null(json, "values");
  assay_json_end(json);
}

static void put_names(assay_json_builder *json, const char *key, char *const *names, size_t n) {
  assay_json_begin_array(json, key);
  for (size_t i = 0; i < n; i++) inspect_put_text(json, NULL, names[i]);
  assay_json_end(json);
}

static void put_facts(assay_json_builder *json, const assay_tensor_map *tensors) {
  assay_mlpf_facts facts;
  assay_mlpf_facts_of_weights(tensors, &facts);
  assay_json_begin_object(json, "told_by_names");
  for (int i = 0; i < ASSAY_MLPF_N_FACTS; i++) {
    char text[ASSAY_MLPF_FACT_TEXT_BYTES];
    if (facts.value[i] < 0) continue;
    assay_json_put_string(json, assay_mlpf_fact_name((assay_mlpf_fact)i),
                          assay_mlpf_fact_text((assay_mlpf_fact)i, facts.value[i], text));
  }
  assay_json_end(json);
}

static void put_state_dict(assay_json_builder *json, const torch_listing *t) {
  const assay_state_dict *dict = &t->dict;
  if (t->no_dict != NULL) {
    assay_json_put_null(json, "state_dict");
    inspect_put_text(json, "state_dict_reason", t->no_dict);
    return;
  }
  assay_json_begin_object(json, "state_dict");
  inspect_put_text(json, "found_at", dict->found_at);
  assay_json_put_int(json, "n_tensors", (int64_t)dict->tensors.n);
  assay_json_put_string(json, "sha256", t->sha256);
  inspect_put_text(json, "stripped_prefix", dict->stripped);
  put_names(json, "dropped", dict->dropped, dict->n_dropped);
  assay_json_begin_array(json, "renamed");
  for (size_t i = 0; i < dict->n_renamed; i++) {
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "from", dict->renamed[i].from);
    inspect_put_text(json, "to", dict->renamed[i].to);
    assay_json_end(json);
  }
  assay_json_end(json);
  put_facts(json, &dict->tensors);
  assay_json_end(json);
}

/* Leaves that are no tensors: {"path": …, "value": "…"}. */
static assay_status put_leaf(void *arg, const assay_torch_node *node, assay_error *err) {
  char text[INSPECT_TEXT_BYTES];
  assay_json_builder *json = arg;
  (void)err;
  if (node->tensor != NULL) return ASSAY_OK;
  assay_pickle_describe(node->value, text, sizeof text);
  assay_json_begin_object(json, NULL);
  inspect_put_text(json, "path", node->path);
  assay_json_put_string(json, "value", text);
  assay_json_put_bool(json, "is_repeated", node->is_repeated);
  assay_json_end(json);
  return ASSAY_OK;
}

static assay_status put_torch(assay_json_builder *json, const torch_listing *t, assay_error *err) {
  const assay_torch_info *info = assay_torch_file_info(t->file);
  assay_json_put_string(json, "kind", "torch");
  assay_json_put_bool(json, "is_legacy", info->is_legacy);
  assay_json_put_int(json, "pickle_protocol", info->protocol);
  assay_json_put_int(json, "format_version", info->format_version);
  inspect_put_text(json, "serialization_id", info->serialization_id);
  assay_json_put_bool(json, "has_checksums", !info->no_checksums);
  assay_json_put_int(json, "n_storages", (int64_t)info->n_storages);
  assay_json_put_int(json, "n_unused_storages", (int64_t)info->n_unused_storages);
  assay_json_put_int(json, "storage_bytes", (int64_t)info->storage_bytes);
  put_globals(json, &t->globals);
  put_state_dict(json, t);
  assay_json_begin_array(json, "tensors");
  for (size_t i = 0; i < assay_torch_file_count(t->file); i++)
    put_tensor(json, assay_torch_file_at(t->file, i), &t->findings[i]);
  assay_json_end(json);
  assay_json_begin_array(json, "others");
  ASSAY_TRY(assay_torch_file_each(t->file, put_leaf, json, err));
  assay_json_end(json);
  return ASSAY_OK;
}

/* ---- a PyTorch file for a person ----------------------------------------------------------------
 */

static void print_facts(const assay_tensor_map *tensors) {
  assay_mlpf_facts facts;
  bool first = true;
  assay_mlpf_facts_of_weights(tensors, &facts);
  if (facts.value[ASSAY_MLPF_FACT_ARCH] < 0) return;
  for (int i = 0; i < ASSAY_MLPF_N_FACTS; i++) {
    char text[ASSAY_MLPF_FACT_TEXT_BYTES];
    if (facts.value[i] < 0) continue;
    inspect_line(first ? "by its names" : "", "%s: %s", assay_mlpf_fact_name((assay_mlpf_fact)i),
                 assay_mlpf_fact_text((assay_mlpf_fact)i, facts.value[i], text));
    first = false;
  }
}

static void print_state_dict(const torch_listing *t) {
  const assay_state_dict *dict = &t->dict;
  char a[INSPECT_TEXT_BYTES], b[INSPECT_TEXT_BYTES];
  if (t->no_dict != NULL) {
    inspect_line("state dict", "%s%s",
                 t->structure_only ? "" : "none: ", inspect_safe(t->no_dict, a));
    return;
  }
  inspect_line("state dict", "%s, %zu tensor%s, SHA-256 %s",
               dict->found_at[0] ? inspect_safe(dict->found_at, a) : "the file itself",
               dict->tensors.n, dict->tensors.n == 1 ? "" : "s", t->sha256);
  if (dict->stripped[0] != '\0')
    inspect_line("", "prefix '%s' taken off all names", inspect_safe(dict->stripped, a));
  for (size_t i = 0; i < dict->n_dropped; i++)
    inspect_line("", "left out, the training's alone: %s", inspect_safe(dict->dropped[i], a));
  for (size_t i = 0; i < dict->n_renamed; i++)
    inspect_line("", "older name %s is now %s", inspect_safe(dict->renamed[i].from, a),
                 inspect_safe(dict->renamed[i].to, b));
  print_facts(&dict->tensors);
}

typedef struct tree_printer {
  const torch_listing *listing;
  inspect_table table;
  size_t n_leaves;  /* of the container that is being shown, other than tensors */
  size_t n_skipped; /* of them, not shown */
  int depth;        /* of these leaves */
} tree_printer;

static void add_row(tree_printer *p, int depth, const char *key, const char *what) {
  inspect_table_add(&p->table, "%*s%s", 2 * (depth > 40 ? 40 : depth), "", key);
  inspect_table_add(&p->table, "%s", what);
}

static void add_blank(tree_printer *p, int n) {
  for (int i = 0; i < n; i++) inspect_table_add(&p->table, "%s", "");
}

static void end_leaves(tree_printer *p) {
  char text[64];
  if (p->n_skipped > 0) {
    snprintf(text, sizeof text, "and %zu more", p->n_skipped);
    add_row(p, p->depth, "...", text);
    add_blank(p, 6);
  }
  p->n_leaves = p->n_skipped = 0;
}

static void add_tensor(tree_printer *p, const assay_torch_node *node) {
  const assay_torch_tensor *t = node->tensor;
  size_t i = 0;
  char shape[INSPECT_TEXT_BYTES];
  assay_shape_text(t->dims, t->rank > 8 ? 8 : t->rank, shape, sizeof shape);
  add_row(p, node->depth, node->depth == 0 ? "(root)" : node->key,
          t->dtype_name ? t->dtype_name : "tensor");
  inspect_table_add(&p->table, "%s%s", shape, t->rank > 8 ? "..." : "");
  const bool found = assay_torch_file_find(p->listing->file, node->value, &i);
  const finding *f = found ? &p->listing->findings[i] : NULL;
  if (f == NULL || !f->known) {
    add_blank(p, 3);
    inspect_table_add(&p->table, "%s", t->unsupported ? t->unsupported : "not read");
    add_blank(p, 1);
    return;
  }
  inspect_table_add_values(&p->table, t->dtype, &f->values);
  inspect_table_add(&p->table, "%.16s%s", f->sha256, node->is_repeated ? " (again)" : "");
}

static bool is_container(const assay_pickle_value *value) {
  return value->kind == ASSAY_PICKLE_DICT || value->kind == ASSAY_PICKLE_LIST ||
         value->kind == ASSAY_PICKLE_TUPLE || value->kind == ASSAY_PICKLE_SET ||
         value->kind == ASSAY_PICKLE_CALL;
}

static assay_status add_node(void *arg, const assay_torch_node *node, assay_error *err) {
  tree_printer *p = arg;
  char text[INSPECT_TEXT_BYTES];
  (void)err;
  if (node->depth != p->depth) end_leaves(p);
  p->depth = node->depth;
  if (node->tensor != NULL) {
    add_tensor(p, node);
    return ASSAY_OK;
  }
  if (is_container(node->value)) {
    end_leaves(p);
  } else if (++p->n_leaves > LEAVES_MAX) {
    p->n_skipped++;
    return ASSAY_OK;
  }
  assay_pickle_describe(node->value, text, sizeof text);
  add_row(p, node->depth, node->depth == 0 ? "(root)" : node->key, text);
  inspect_table_add(&p->table, "%s", node->is_repeated ? "shown above" : "");
  add_blank(p, 5);
  return ASSAY_OK;
}

static assay_status print_torch(const char *path, const torch_listing *t, assay_error *err) {
  static const char *const head[] = {"name", "type", "shape", "min",
                                     "max",  "mean", "other", "SHA-256"};
  const assay_torch_info *info = assay_torch_file_info(t->file);
  char safe[INSPECT_TEXT_BYTES], size[INSPECT_TEXT_BYTES];
  tree_printer p = {.listing = t, .table = {.n_cols = 8}};
  for (size_t i = 0; i < sizeof head / sizeof *head; i++)
    inspect_table_add(&p.table, "%s", head[i]);
  const assay_status st = assay_torch_file_each(t->file, add_node, &p, err);
  end_leaves(&p);
  if (st) {
    inspect_table_reset(&p.table);
    return st;
  }
  const size_t n = assay_torch_file_count(t->file);
  printf("%s: PyTorch file (%s, pickle protocol %d), %zu tensor%s in %zu storage%s of %s; read as "
         "data, nothing in it was run\n",
         inspect_safe(path, safe), info->is_legacy ? "legacy" : "zip", info->protocol, n,
         n == 1 ? "" : "s", info->n_storages, info->n_storages == 1 ? "" : "s",
         inspect_size(info->storage_bytes, size));
  if (info->n_unused_storages > 0)
    inspect_line("unused", "%zu storages that no tensor refers to", info->n_unused_storages);
  if (info->no_checksums) inspect_line("note", "its writer left out all checksums");
  print_all_globals(&t->globals);
  print_state_dict(t);
  inspect_table_print(&p.table, "tree");
  return ASSAY_OK;
}

static assay_status describe_torch(const char *path, bool structure_only, assay_json_builder *json,
                                   assay_error *err) {
  torch_listing t = {.structure_only = structure_only};
  assay_status st = collect_torch(path, &t, err);
  if (!st) st = json != NULL ? put_torch(json, &t, err) : print_torch(path, &t, err);
  if (st && t.file != NULL) assay_error_in(err, "checkpoint '%s'", path);
  reset_torch(&t);
  return st;
}

assay_status inspect_torch(const char *path, assay_json_builder *json, assay_error *err) {
  return describe_torch(path, /*structure_only=*/false, json, err);
}

assay_status inspect_torch_structure(const char *path, assay_json_builder *json, assay_error *err) {
  return describe_torch(path, /*structure_only=*/true, json, err);
}

/* ---- a pickle -----------------------------------------------------------------------------------
 */

typedef struct pickle_listing {
  assay_buf bytes;
  assay_pickle *pickle;
  assay_pickle_globals globals;
  assay_json *value;        /* what it holds */
  bool is_config;           /* of a model that assay knows */
  assay_mlpf_config config; /* if it is */
} pickle_listing;

static assay_status json_of_root(const assay_pickle *pickle, assay_json **out, assay_error *err) {
  assay_buf text = {0};
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, NULL);
  assay_status st = assay_pickle_put_json(pickle, assay_pickle_root(pickle), b, "value", err);
  assay_json_end(b);
  if (!st) st = assay_json_builder_finish(b, &text, err);
  if (!st) st = assay_json_parse(text.data, text.size_bytes, out, err);
  assay_json_builder_destroy(b);
  assay_buf_reset(&text);
  return st;
}

static assay_status collect_pickle(const char *path, pickle_listing *p, assay_error *err) {
  ASSAY_TRY(assay_file_read(path, PICKLE_MAX_BYTES, &p->bytes, err));
  ASSAY_TRY(
      assay_pickle_parse(p->bytes.data, p->bytes.size_bytes, /*limits=*/NULL, &p->pickle, err));
  ASSAY_TRY(assay_pickle_globals_init(p->pickle, &p->globals, err));
  ASSAY_TRY(json_of_root(p->pickle, &p->value, err));
  p->is_config = assay_mlpf_config_parse(assay_json_get(p->value, "value"), /*arch=*/NULL,
                                         &p->config, /*err=*/NULL) == ASSAY_OK;
  return ASSAY_OK;
}

static void put_pickle(assay_json_builder *json, const pickle_listing *p) {
  assay_json_put_string(json, "kind", "pickle");
  assay_json_put_int(json, "pickle_protocol", assay_pickle_protocol(p->pickle));
  put_globals(json, &p->globals);
  assay_json_put_bool(json, "is_model_config", p->is_config);
  assay_json_put_copy(json, "value", assay_json_get(p->value, "value"));
}

static assay_status print_pickle(const char *path, const pickle_listing *p, assay_error *err) {
  char a[INSPECT_TEXT_BYTES], b[INSPECT_TEXT_BYTES];
  assay_buf text = {0};
  ASSAY_TRY(assay_json_dump(assay_json_get(p->value, "value"), /*indented=*/true, &text, err));
  printf("%s: pickle of protocol %d, %s; read as data, nothing in it was run\n",
         inspect_safe(path, a), assay_pickle_protocol(p->pickle),
         inspect_size(p->bytes.size_bytes, b));
  print_all_globals(&p->globals);
  if (p->is_config) inspect_line("model", "%s", inspect_config_line(&p->config, a));
  inspect_line("holds", "as JSON:");
  fputs(assay_buf_text(&text), stdout);
  if (text.size_bytes == 0 || text.data[text.size_bytes - 1] != '\n') putchar('\n');
  assay_buf_reset(&text);
  return ASSAY_OK;
}

assay_status inspect_pickle(const char *path, assay_json_builder *json, assay_error *err) {
  pickle_listing p = {0};
  assay_status st = collect_pickle(path, &p, err);
  if (!st && json != NULL) put_pickle(json, &p);
  if (!st && json == NULL) st = print_pickle(path, &p, err);
  if (st) assay_error_in(err, "'%s'", path);
  assay_json_destroy(p.value);
  assay_pickle_globals_reset(&p.globals);
  assay_pickle_destroy(p.pickle);
  assay_buf_reset(&p.bytes);
  return st;
}

/* ---- safetensors --------------------------------------------------------------------------------
 */

typedef struct safe_listing {
  assay_safetensors *file;
  finding *findings; /* [tensors] */
} safe_listing;

static assay_status collect_safetensors(const char *path, safe_listing *s, assay_error *err) {
  ASSAY_TRY(assay_safetensors_open(path, &s->file, err));
  const size_t n = assay_safetensors_count(s->file);
  s->findings = assay_alloc_array(n, sizeof *s->findings);
  if (s->findings == NULL) return assay_fail_memory(err, n * sizeof *s->findings);
  for (size_t i = 0; i < n; i++) {
    assay_tensor tensor = {0};
    if (assay_safetensors_at(s->file, i)->dtype == ASSAY_DTYPE_NONE) continue;
    ASSAY_TRY(assay_safetensors_view(s->file, i, &tensor, err));
    const assay_status st = look_at(&tensor, &s->findings[i], err);
    assay_tensor_reset(&tensor);
    if (st) return st;
  }
  return ASSAY_OK;
}

static void put_safetensors(assay_json_builder *json, const safe_listing *s) {
  assay_json_put_string(json, "kind", "safetensors");
  assay_json_begin_array(json, "metadata");
  for (size_t i = 0; i < assay_safetensors_n_metadata(s->file); i++) {
    const assay_safetensors_pair pair = assay_safetensors_metadata(s->file, i);
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "key", pair.key);
    inspect_put_text(json, "value", pair.value);
    assay_json_end(json);
  }
  assay_json_end(json);
  assay_json_begin_array(json, "tensors");
  for (size_t i = 0; i < assay_safetensors_count(s->file); i++) {
    const assay_safetensor *t = assay_safetensors_at(s->file, i);
    const finding *f = &s->findings[i];
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "name", t->name);
    assay_json_put_string(json, "dtype", t->dtype_name);
    put_shape(json, "shape", t->dims, t->rank);
    assay_json_put_string(json, "sha256", f->known ? f->sha256 : NULL);
    if (f->known)
      inspect_put_values(json, t->dtype, &f->values);
    else
      assay_json_put_null(json, "values");
    assay_json_end(json);
  }
  assay_json_end(json);
}

static void print_safetensors(const char *path, const safe_listing *s) {
  static const char *const head[] = {"name", "type", "shape", "min",
                                     "max",  "mean", "other", "SHA-256"};
  char a[INSPECT_TEXT_BYTES], b[INSPECT_TEXT_BYTES];
  inspect_table table = {.n_cols = 8};
  const size_t n = assay_safetensors_count(s->file);
  printf("%s: safetensors, %zu tensor%s\n", inspect_safe(path, a), n, n == 1 ? "" : "s");
  for (size_t i = 0; i < assay_safetensors_n_metadata(s->file); i++) {
    const assay_safetensors_pair pair = assay_safetensors_metadata(s->file, i);
    inspect_line(i == 0 ? "metadata" : "", "%s: %s", inspect_safe(pair.key, a),
                 inspect_safe(pair.value, b));
  }
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) inspect_table_add(&table, "%s", head[i]);
  for (size_t i = 0; i < n; i++) {
    const assay_safetensor *t = assay_safetensors_at(s->file, i);
    const finding *f = &s->findings[i];
    assay_shape_text(t->dims, t->rank > 8 ? 8 : t->rank, a, sizeof a);
    inspect_table_add(&table, "%s", t->name);
    inspect_table_add(&table, "%s", t->dtype_name);
    inspect_table_add(&table, "%s%s", a, t->rank > 8 ? "..." : "");
    if (f->known) {
      inspect_table_add_values(&table, t->dtype, &f->values);
      inspect_table_add(&table, "%.16s", f->sha256);
    } else {
      for (int k = 0; k < 5; k++) inspect_table_add(&table, "%s", k == 3 ? "not read" : "");
    }
  }
  inspect_table_print(&table, "");
}

assay_status inspect_safetensors(const char *path, assay_json_builder *json, assay_error *err) {
  safe_listing s = {0};
  const assay_status st = collect_safetensors(path, &s, err);
  if (!st && json != NULL) put_safetensors(json, &s);
  if (!st && json == NULL) print_safetensors(path, &s);
  if (st && s.file != NULL) assay_error_in(err, "safetensors '%s'", path);
  assay_free(s.findings);
  assay_safetensors_close(s.file);
  return st;
}

/* ---- saving the tensors -------------------------------------------------------------------------
 */

/* All tensors of a file without a state dict, under their paths. */
static assay_status read_every_tensor(assay_torch_file *file, assay_tensor_map *out,
                                      assay_error *err) {
  for (size_t i = 0; i < assay_torch_file_count(file); i++) {
    assay_tensor tensor = {0};
    const char *path = assay_torch_file_at(file, i)->path;
    ASSAY_TRY(assay_torch_file_read(file, i, &tensor, err));
    const assay_status st = assay_tensor_map_add(out, *path ? path : "tensor", &tensor, err);
    if (st) {
      assay_tensor_reset(&tensor);
      return st;
    }
  }
  return ASSAY_OK;
}

static assay_status read_torch(const char *path, assay_tensor_map *out, assay_error *err) {
  assay_torch_file *file = NULL;
  assay_state_dict dict = {0};
  ASSAY_TRY(assay_torch_file_open(path, &file, err));
  assay_error words = {0};
  assay_status st = assay_state_dict_of_torch(file, &dict, &words);
  if (!st) {
    *out = dict.tensors;
    dict.tensors = (assay_tensor_map){0};
  } else if (st == ASSAY_E_MEMORY || st == ASSAY_E_LIMIT) {
    st = assay_fail(err, st, "%s", words.text);
  } else {
    st = read_every_tensor(file, out, err);
  }
  if (st) assay_error_in(err, "checkpoint '%s'", path);
  assay_state_dict_reset(&dict);
  assay_torch_file_close(file);
  return st;
}

assay_status inspect_save_npz(const char *path, bool is_torch, const char *npz_path,
                              assay_error *err) {
  assay_tensor_map tensors = {0};
  if (assay_path_kind_of(npz_path) != ASSAY_PATH_NONE)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "--save-npz: '%s' is there already; choose another "
                      "name",
                      npz_path);
  assay_status st =
      is_torch ? read_torch(path, &tensors, err) : assay_safetensors_read_all(path, &tensors, err);
  if (!st) st = assay_npz_write(npz_path, &tensors, err);
  assay_tensor_map_reset(&tensors);
  return st;
}
