/* State dicts of models, found and cleaned. */
#include "checkpoint/state_dict.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "checkpoint/safetensors.h"

typedef assay_pickle_value value;

#define NAME_BYTES_MAX 1024

/* DistributedDataParallel and torch.compile put these in front of every name, as often as they
 * wrap. */
static const char *const wrappers[] = {"module.", "_orig_mod."};

/* Entries of the training alone: the weights of its losses. */
static const char *const training_only[] = {"task_loss_weighter."};

/* Before July 2026 (models.md C.2). */
static const struct {
  const char *old, *new;
} older[] = {
    {"nn0_id.", "_nn0_id."},
    {"nn0_reg.", "_nn0_reg."},
    {"conv_id.", "_backbone_id."},
    {"conv_reg.", "_backbone_reg."},
    {"final_norm_id.", "classification_norm."},
    {"final_norm_reg.", "regression_norm."},
};

/* ---- cleaning
 * ------------------------------------------------------------------------------------ */

static bool all_have(const assay_tensor_map *map, size_t skip, const char *prefix) {
  for (size_t i = 0; i < map->n; i++) {
    const char *rest = map->items[i].name + skip;
    /* A name that is the prefix and nothing else would be left without a name. */
    if (!assay_text_has_prefix(rest, prefix) || rest[strlen(prefix)] == '\0') return false;
  }
  return map->n > 0;
}

/* Characters that every name has in front of it because the model was wrapped. */
static size_t wrapped_bytes(const assay_tensor_map *map) {
  size_t n = 0;
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++) {
      if (!all_have(map, n, wrappers[i])) continue;
      n += strlen(wrappers[i]);
      again = true;
    }
  }
  return n;
}

static bool is_training_only(const char *name) {
  for (size_t i = 0; i < sizeof training_only / sizeof training_only[0]; i++) {
    if (assay_text_has_prefix(name, training_only[i])) return true;
  }
  return false;
}

/* The present name, where name is an older one; NULL where it is not. */
static assay_status present_name(const char *name, char **out, assay_error *err) {
  *out = NULL;
  for (size_t i = 0; i < sizeof older / sizeof older[0]; i++) {
    if (!assay_text_has_prefix(name, older[i].old)) continue;
    *out = assay_format("%s%s", older[i].new, name + strlen(older[i].old));
    return *out == NULL ? assay_fail_memory(err, strlen(name)) : ASSAY_OK;
  }
  return ASSAY_OK;
}

static assay_status add_dropped(assay_state_dict *dict, const char *name, assay_error *err) {
  char *copy = assay_strdup(name);
  if (copy == NULL) return assay_fail_memory(err, strlen(name));
  dict->dropped[dict->n_dropped++] = copy;
  return ASSAY_OK;
}

/* Moves one tensor under its present name. */
static assay_status add_tensor(assay_state_dict *dict, const char *name, assay_tensor *tensor,
                               assay_error *err) {
  char *now;
  ASSAY_TRY(present_name(name, &now, err));
  assay_status st = ASSAY_OK;
  const char *taken = now == NULL ? name : now;
  if (assay_tensor_map_find(&dict->tensors, taken) != NULL) {
    st = assay_fail(err, ASSAY_E_ARGUMENT, "both an older and a present name become '%s'", taken);
  }
  if (!st) st = assay_tensor_map_add(&dict->tensors, taken, tensor, err);
  if (!st && now != NULL) {
    char *from = assay_strdup(name);
    if (from == NULL)
      st = assay_fail_memory(err, strlen(name));
    else {
      dict->renamed[dict->n_renamed++] = (assay_renamed){.from = from, .to = now};
      now = NULL;
    }
  }
  assay_free(now);
  return st;
}

/* from: names as they are in the file. */
static assay_status clean(assay_tensor_map *from, assay_state_dict *dict, assay_error *err) {
  size_t n_skip = wrapped_bytes(from);
  dict->stripped = from->n > 0 ? assay_strndup(from->items[0].name, n_skip) : assay_strdup("");
  dict->dropped = assay_alloc_array(from->n, sizeof *dict->dropped);
  dict->renamed = assay_alloc_array(from->n, sizeof *dict->renamed);
  if (dict->stripped == NULL || dict->dropped == NULL || dict->renamed == NULL) {
    return assay_fail_memory(err, from->n * sizeof *dict->renamed);
  }
  for (size_t i = 0; i < from->n; i++) {
    const char *name = from->items[i].name + n_skip;
    if (is_training_only(name))
      ASSAY_TRY(add_dropped(dict, name, err));
    else
      ASSAY_TRY(add_tensor(dict, name, &from->items[i].tensor, err));
  }
  return ASSAY_OK;
}

/* Cleans from, which is emptied whatever happens, into out. found_at is copied. */
static assay_status clean_into(assay_tensor_map *from, const char *found_at, assay_state_dict *out,
                               assay_error *err) {
  assay_state_dict dict = {.found_at = assay_strdup(found_at)};
  assay_status st = dict.found_at == NULL ? assay_fail_memory(err, strlen(found_at) + 1)
                                          : clean(from, &dict, err);
  assay_tensor_map_reset(from); /* the moved ones are empty in it */
  if (st) {
    assay_state_dict_reset(&dict);
    return st;
  }
  *out = dict;
  return ASSAY_OK;
}

assay_status assay_state_dict_of_map(assay_tensor_map *tensors, assay_state_dict *out,
                                     assay_error *err) {
  return clean_into(tensors, "", out, err);
}

void assay_state_dict_reset(assay_state_dict *dict) {
  if (dict == NULL) return;
  assay_tensor_map_reset(&dict->tensors);
  for (size_t i = 0; i < dict->n_dropped; i++) assay_free(dict->dropped[i]);
  for (size_t i = 0; i < dict->n_renamed; i++) {
    assay_free(dict->renamed[i].from);
    assay_free(dict->renamed[i].to);
  }
  assay_free(dict->dropped);
  assay_free(dict->renamed);
  assay_free(dict->found_at);
  assay_free(dict->stripped);
  *dict = (assay_state_dict){0};
}

/* ---- finding
 * ------------------------------------------------------------------------------------- */

static assay_status fail_module(const value *root, assay_error *err) {
  const value *class = root->call->callable;
  bool named = class->kind == ASSAY_PICKLE_GLOBAL;
  return assay_fail(err, ASSAY_E_UNSUPPORTED,
                    "a whole object of class '%s%s%s' was pickled, which needs its source to be "
                    "understood: save its state_dict() instead",
                    named ? class->global.module : "", named ? "." : "",
                    named ? class->global.name : "unknown");
}

/* The entries of a dict, or of an object of a subclass of dict that was filled as dicts are; NULL
 * for others. */
static const assay_pickle_pairs *entries_of(const value *item) {
  if (item->kind == ASSAY_PICKLE_DICT) return &item->pairs;
  return item->kind == ASSAY_PICKLE_CALL && item->call->pairs.n > 0 ? &item->call->pairs : NULL;
}

static const value *find_entry(const assay_pickle_pairs *entries, const char *key) {
  const value *found = NULL;
  for (size_t i = 0; i < entries->n; i++)
    if (assay_pickle_is_text(entries->at[i].key, key)) found = entries->at[i].value;
  return found;
}

/* The entries with the model's tensors, and their path. */
static assay_status find_dict(const assay_torch_file *file, const assay_pickle_pairs **out,
                              const char **out_path, assay_error *err) {
  static const char *const keys[] = {"model_state_dict", "state_dict"};
  const value *root = assay_torch_file_root(file);
  const assay_pickle_pairs *entries = entries_of(root);
  if (entries == NULL && root->kind == ASSAY_PICKLE_CALL &&
      !assay_torch_file_find(file, root, &(size_t){0})) {
    return fail_module(root, err);
  }
  if (entries == NULL) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "a dict expected at the root of the file, found %s",
                      assay_pickle_kind_name(root->kind));
  }
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    const value *found = find_entry(entries, keys[i]);
    if (found == NULL) continue;
    *out = entries_of(found);
    *out_path = keys[i];
    if (*out != NULL) return ASSAY_OK;
    if (found->kind == ASSAY_PICKLE_CALL && !assay_torch_file_find(file, found, &(size_t){0})) {
      return fail_module(found, err);
    }
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "'%s': a dict expected, found %s", keys[i],
                      assay_pickle_kind_name(found->kind));
  }
  *out = entries;
  *out_path = "";
  return ASSAY_OK;
}

static assay_status check_name(const value *key, assay_error *err) {
  if (key->kind != ASSAY_PICKLE_TEXT) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "a state dict with %s as key: names expected",
                      assay_pickle_kind_name(key->kind));
  }
  size_t n = key->text.size_bytes;
  if (n == 0 || n > NAME_BYTES_MAX || strlen(key->text.data) != n ||
      !assay_text_is_utf8(key->text.data, n)) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "a name of %zu bytes in the state dict: text of 1 to %d bytes expected", n,
                      NAME_BYTES_MAX);
  }
  return ASSAY_OK;
}

/* One tensor may have any number of names, and each is read. */
static assay_status check_total(const assay_torch_file *file, const assay_pickle_pairs *dict,
                                assay_error *err) {
  const uint64_t most = assay_torch_file_most_bytes(file);
  uint64_t total = 0;
  for (size_t i = 0; i < dict->n; i++) {
    size_t k;
    uint64_t bytes;
    if (!assay_torch_file_find(file, dict->at[i].value, &k)) continue;
    const assay_torch_tensor *t = assay_torch_file_at(file, k);
    if (__builtin_mul_overflow(t->n_elems, assay_dtype_size(t->dtype), &bytes) ||
        __builtin_add_overflow(total, bytes, &total))
      total = UINT64_MAX;
    if (total > most)
      return assay_fail(err, ASSAY_E_LIMIT,
                        "the names of the state dict take more than %llu bytes from storages of "
                        "%llu: tensors have too many names each",
                        (unsigned long long)most,
                        (unsigned long long)assay_torch_file_info(file)->storage_bytes);
  }
  return ASSAY_OK;
}

static assay_status read_entry(assay_torch_file *file, bool may_view, const assay_pickle_pair *pair,
                               const char *found_at, assay_tensor_map *map, assay_error *err) {
  size_t i;
  assay_tensor tensor;
  ASSAY_TRY(check_name(pair->key, err));
  const char *name = pair->key->text.data;
  if (!assay_torch_file_find(file, pair->value, &i)) {
    const char *hint =
        *found_at != '\0' ? "" : " (nor is there a 'model_state_dict' or 'state_dict')";
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "entry '%s' of the state dict is %s, not a tensor%s", name,
                      assay_pickle_kind_name(pair->value->kind), hint);
  }
  ASSAY_TRY(may_view ? assay_torch_file_view(file, i, &tensor, err)
                     : assay_torch_file_read(file, i, &tensor, err));
  assay_status st = assay_tensor_map_add(map, name, &tensor, err);
  if (st) assay_tensor_reset(&tensor);
  return st;
}

static assay_status read_all(assay_torch_file *file, bool may_view, const assay_pickle_pairs *dict,
                             const char *found_at, assay_tensor_map *map, assay_error *err) {
  if (dict->n == 0) return assay_fail(err, ASSAY_E_UNSUPPORTED, "the state dict is empty");
  ASSAY_TRY(check_total(file, dict, err));
  for (size_t i = 0; i < dict->n; i++) {
    ASSAY_TRY(read_entry(file, may_view, &dict->at[i], found_at, map, err));
  }
  return ASSAY_OK;
}

static assay_status of_torch(assay_torch_file *file, bool may_view, assay_state_dict *out,
                             assay_error *err) {
  const assay_pickle_pairs *dict = NULL;
  const char *found_at = "";
  assay_tensor_map map = {0};
  assay_status st = find_dict(file, &dict, &found_at, err);
  if (!st) st = read_all(file, may_view, dict, found_at, &map, err);
  if (!st) st = clean_into(&map, found_at, out, err);
  assay_tensor_map_reset(&map);
  return st;
}

assay_status assay_state_dict_of_torch(assay_torch_file *file, assay_state_dict *out,
                                       assay_error *err) {
  return of_torch(file, /*may_view=*/false, out, err);
}

assay_status assay_state_dict_view_torch(assay_torch_file *file, assay_state_dict *out,
                                         assay_error *err) {
  return of_torch(file, /*may_view=*/true, out, err);
}

static assay_status read_torch(const char *path, assay_state_dict *out, assay_error *err) {
  assay_torch_file *file = NULL;
  ASSAY_TRY(assay_torch_file_open(path, &file, err));
  assay_status st = assay_state_dict_of_torch(file, out, err);
  assay_torch_file_close(file);
  if (st) assay_error_in(err, "checkpoint '%s'", path);
  return st;
}

assay_status assay_state_dict_read(const char *path, assay_state_dict *out, assay_error *err) {
  assay_file_map map;
  assay_tensor_map tensors = {0};
  ASSAY_TRY(assay_file_map_open(path, &map, err));
  assay_checkpoint_kind kind = assay_checkpoint_kind_of(map.data, map.size_bytes);
  assay_file_map_close(&map);
  if (kind != ASSAY_CHECKPOINT_SAFETENSORS) return read_torch(path, out, err);
  ASSAY_TRY(assay_safetensors_read_all(path, &tensors, err));
  assay_status st = clean_into(&tensors, "", out, err);
  if (st) assay_error_in(err, "checkpoint '%s'", path);
  return st;
}
