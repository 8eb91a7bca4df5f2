/* The format of torch.save before PyTorch 1.6: five pickles, then the storages, one behind the
 * other. Source: ../shared/specs/torch_checkpoint.md section 7. */
#include <string.h>

#include "base/alloc.h"
#include "checkpoint/torch_parts.h"

#define MAGIC_DECIMAL    "119547037146038801333356" /* 0x1950a86a20f9469cfc6c */
#define PROTOCOL_VERSION 1001
#define PICKLE_BYTES_MAX ((size_t)256 << 20) /* as pickle.h */

typedef struct reader {
  assay_torch_file *file;
  size_t at; /* of the next byte */
} reader;

static assay_status next_pickle(reader *r, assay_pickle **out, assay_error *err) {
  size_t start = r->at, left = r->file->map.size_bytes - start;
  assay_pickle_limits limits = {.allow_trailing = true};
  if (left > PICKLE_BYTES_MAX) left = PICKLE_BYTES_MAX;
  assay_status st = assay_pickle_parse(r->file->map.data + start, left, &limits, out, err);
  if (st) {
    assay_error_in(err, "from byte %zu", start);
    return st;
  }
  r->at += assay_pickle_used_bytes(*out);
  return ASSAY_OK;
}

/* Reads a pickle whose value is looked at at once. */
typedef assay_status (*look_fn)(reader *r, const assay_pickle_value *root, assay_error *err);

static assay_status look_at_next(reader *r, look_fn look, assay_error *err) {
  assay_pickle *pickle = NULL;
  ASSAY_TRY(next_pickle(r, &pickle, err));
  assay_status st = look(r, assay_pickle_root(pickle), err);
  assay_pickle_destroy(pickle);
  return st;
}

static assay_status look_at_magic(reader *r, const assay_pickle_value *root, assay_error *err) {
  (void)r;
  bool good = root->kind == ASSAY_PICKLE_BIGINT && strcmp(root->text.data, MAGIC_DECIMAL) == 0;
  return good ? ASSAY_OK
              : assay_fail(err, ASSAY_E_FORMAT, "the magic number of torch.save expected");
}

static assay_status look_at_version(reader *r, const assay_pickle_value *root, assay_error *err) {
  (void)r;
  if (root->kind == ASSAY_PICKLE_INT && root->integer == PROTOCOL_VERSION) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_UNSUPPORTED, "legacy protocol version %d expected",
                    PROTOCOL_VERSION);
}

static assay_status look_at_system(reader *r, const assay_pickle_value *root, assay_error *err) {
  (void)r;
  const assay_pickle_value *little = assay_pickle_get(root, "little_endian");
  if (little == NULL || little->kind != ASSAY_PICKLE_BOOL) {
    return assay_fail(err, ASSAY_E_FORMAT, "a dict with 'little_endian' expected");
  }
  if (little->boolean) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_UNSUPPORTED,
                    "written on a big-endian machine: load it with PyTorch on a "
                    "little-endian one and save it again");
}

/* The keys of the storages, in the order of their bytes. */
static assay_status look_at_keys(reader *r, const assay_pickle_value *root, assay_error *err) {
  assay_torch_file *file = r->file;
  if (root->kind != ASSAY_PICKLE_LIST) {
    return assay_fail(err, ASSAY_E_FORMAT, "a list of storage keys expected, found %s",
                      assay_pickle_kind_name(root->kind));
  }
  size_t n = root->items.n;
  file->storages = assay_alloc_array(n, sizeof *file->storages);
  if (file->storages == NULL) return assay_fail_memory(err, n * sizeof *file->storages);
  for (size_t i = 0; i < n; i++) {
    const assay_pickle_value *key = root->items.at[i];
    torch_storage *storage = &file->storages[i];
    if (key->kind != ASSAY_PICKLE_TEXT || strlen(key->text.data) != key->text.size_bytes) {
      return assay_fail(err, ASSAY_E_FORMAT, "storage key %zu is not a text", i);
    }
    *storage = (torch_storage){.zip_index = i, .is_checked = true, .first_tensor = SIZE_MAX};
    ASSAY_TRY(torch_keep_text(file, key->text.data, key->text.size_bytes, &storage->key, err));
  }
  file->n_storages = n;
  return torch_sort_storages(file, err);
}

/* Every storage id in the object: classes and lengths. */
static assay_status register_all(assay_torch_file *file, assay_error *err) {
  const assay_pickle_value *item = assay_pickle_first(file->pickle);
  for (; item != NULL; item = item->next) {
    if (torch_is_storage_id(item)) {
      ASSAY_TRY(torch_register(file, item, /*out_storage=*/NULL, err));
    }
  }
  return ASSAY_OK;
}

/* One storage: its length in elements as i64, then its bytes. */
static assay_status take_storage(reader *r, torch_storage *storage, assay_error *err) {
  const assay_file_map *map = &r->file->map;
  size_t start = r->at;
  uint64_t n = 0, bytes;
  if (storage->dtype == NULL) {
    return assay_fail(err, ASSAY_E_FORMAT, "storage '%s' is in the file, and nothing refers to it",
                      storage->key);
  }
  if (map->size_bytes - r->at < 8) {
    return assay_fail(err, ASSAY_E_FORMAT,
                      "storage '%s' expected at byte %zu, found the end: truncated", storage->key,
                      start);
  }
  for (int i = 8; i-- > 0;) n = n << 8 | map->data[r->at + (size_t)i];
  r->at += 8;
  if (n != storage->n_elems) {
    return assay_fail(err, ASSAY_E_FORMAT,
                      "storage '%s' at byte %zu says %llu elements, the pickle %llu", storage->key,
                      start, (unsigned long long)n, (unsigned long long)storage->n_elems);
  }
  if (__builtin_mul_overflow(n, storage->dtype->elem_bytes, &bytes) ||
      bytes > map->size_bytes - r->at) {
    return assay_fail(err, ASSAY_E_FORMAT,
                      "storage '%s' at byte %zu has %llu elements, %zu bytes are left: truncated",
                      storage->key, start, (unsigned long long)n, map->size_bytes - r->at);
  }
  storage->data = map->data + r->at;
  storage->size_bytes = bytes;
  r->at += (size_t)bytes;
  return ASSAY_OK;
}

/* The storages are sorted by key; zip_index says where in the file each comes. */
static assay_status take_storages(reader *r, assay_error *err) {
  size_t n = r->file->n_storages;
  torch_storage **in_order = assay_alloc_array(n, sizeof(torch_storage *));
  if (in_order == NULL) return assay_fail_memory(err, n * sizeof(torch_storage *));
  for (size_t i = 0; i < n; i++) in_order[r->file->storages[i].zip_index] = &r->file->storages[i];
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < n && !st; i++) st = take_storage(r, in_order[i], err);
  assay_free(in_order);
  return st;
}

assay_status torch_open_legacy(assay_torch_file *file, assay_error *err) {
  reader r = {.file = file};
  file->info.is_legacy = true;
  ASSAY_TRY(look_at_next(&r, look_at_magic, err));
  ASSAY_TRY(look_at_next(&r, look_at_version, err));
  ASSAY_TRY(look_at_next(&r, look_at_system, err));
  ASSAY_TRY(next_pickle(&r, &file->pickle, err));
  ASSAY_TRY(look_at_next(&r, look_at_keys, err));
  ASSAY_TRY(register_all(file, err));
  ASSAY_TRY(take_storages(&r, err));
  if (r.at == file->map.size_bytes) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT, "%zu bytes follow the last storage",
                    file->map.size_bytes - r.at);
}
