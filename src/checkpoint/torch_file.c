/* PyTorch files: what kind of file it is, opening, and what is asked of an open one. The containers
 * are in torch_zip.c and torch_legacy.c, tensors in torch_tensor.c, their values in torch_read.c.
 */
#include "checkpoint/torch_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "checkpoint/torch_parts.h"

/* Of keys, paths, dims and strides: a tensor takes some 200 bytes, and at least 60 in the pickle.
 */
#define ARENA_BYTES_MAX ((size_t)1 << 30)

/* ---- kinds of files
 * ------------------------------------------------------------------------------ */

static bool has_at(const uint8_t *bytes, size_t size_bytes, size_t at, const char *text, size_t n) {
  return size_bytes >= at + n && memcmp(bytes + at, text, n) == 0;
}

/* LONG1 of ten bytes: the magic number as pickles of every protocol from 2 spell it; those of
 * protocols 0 and 1 write its digits. */
static bool has_legacy_magic(const uint8_t *bytes, size_t size_bytes) {
  static const char magic[] = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
  static const char digits[] = "L119547037146038801333356L\n.";
  return has_at(bytes, size_bytes, 0, digits, sizeof digits - 1) ||
         has_at(bytes, size_bytes, 2, magic, 12) || has_at(bytes, size_bytes, 11, magic, 12);
}

assay_checkpoint_kind assay_checkpoint_kind_of(const void *bytes, size_t size_bytes) {
  const uint8_t *p = bytes;
  if (has_at(p, size_bytes, 0, "PK\3\4", 4)) return ASSAY_CHECKPOINT_ZIP;
  if (has_at(p, size_bytes, 0, "version https://git-lfs", 23)) return ASSAY_CHECKPOINT_LFS_POINTER;
  if (has_at(p, size_bytes, 257, "ustar", 5)) return ASSAY_CHECKPOINT_TAR;
  if (has_legacy_magic(p, size_bytes)) return ASSAY_CHECKPOINT_LEGACY;
  if (size_bytes >= 2 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5) return ASSAY_CHECKPOINT_PICKLE;
  if (has_at(p, size_bytes, 5, "\0\0\0{", 4)) return ASSAY_CHECKPOINT_SAFETENSORS;
  return ASSAY_CHECKPOINT_OTHER;
}

static assay_status fail_kind(assay_checkpoint_kind kind, assay_error *err) {
  static const char *const words[] = {
      [ASSAY_CHECKPOINT_OTHER] = "not a file of torch.save",
      [ASSAY_CHECKPOINT_TAR] =
          "a tar checkpoint, as PyTorch before 0.1.10 wrote them: load it with an old "
          "PyTorch and save it again",
      [ASSAY_CHECKPOINT_PICKLE] = "a bare pickle, which holds no tensors of torch.save",
      [ASSAY_CHECKPOINT_SAFETENSORS] = "a safetensors file, not one of torch.save",
      [ASSAY_CHECKPOINT_LFS_POINTER] =
          "a Git LFS pointer: the file itself was not fetched (git lfs pull)",
  };
  return assay_fail(err, kind == ASSAY_CHECKPOINT_OTHER ? ASSAY_E_FORMAT : ASSAY_E_UNSUPPORTED,
                    "%s", words[kind]);
}

/* ---- storages and text
 * --------------------------------------------------------------------------- */

static int compare_storages(const void *left, const void *right) {
  return strcmp(((const torch_storage *)left)->key, ((const torch_storage *)right)->key);
}

assay_status torch_sort_storages(assay_torch_file *file, assay_error *err) {
  qsort(file->storages, file->n_storages, sizeof *file->storages, compare_storages);
  for (size_t i = 1; i < file->n_storages; i++) {
    if (strcmp(file->storages[i - 1].key, file->storages[i].key) == 0) {
      return assay_fail(err, ASSAY_E_FORMAT, "storage '%s' is there twice", file->storages[i].key);
    }
  }
  return ASSAY_OK;
}

torch_storage *torch_storage_find(const assay_torch_file *file, const char *key) {
  torch_storage wanted = {.key = key};
  if (file->n_storages == 0) return NULL;
  return bsearch(&wanted, file->storages, file->n_storages, sizeof wanted, compare_storages);
}

assay_status torch_keep_text(assay_torch_file *file, const char *text, size_t n, const char **out,
                             assay_error *err) {
  void *block;
  ASSAY_TRY(pickle_arena_take(&file->arena, n + 1, &block, err));
  memcpy(block, text, n);
  *out = block;
  return ASSAY_OK;
}

/* ---- opening
 * ------------------------------------------------------------------------------------- */

static assay_status open_container(assay_torch_file *file, const char *path, assay_error *err) {
  assay_checkpoint_kind kind = assay_checkpoint_kind_of(file->map.data, file->map.size_bytes);
  if (kind == ASSAY_CHECKPOINT_ZIP) return torch_open_zip(file, path, err);
  if (kind == ASSAY_CHECKPOINT_LEGACY) return torch_open_legacy(file, err);
  return fail_kind(kind, err);
}

static assay_status list_tensors(assay_torch_file *file, assay_error *err) {
  size_t n = assay_pickle_count(file->pickle);
  file->tensor_of = assay_alloc_array(n, sizeof *file->tensor_of);
  if (file->tensor_of == NULL) return assay_fail_memory(err, n * sizeof *file->tensor_of);
  return torch_walk(file, /*add=*/true, /*visit=*/NULL, /*arg=*/NULL, err);
}

static void fill_info(assay_torch_file *file) {
  assay_torch_info *info = &file->info;
  info->protocol = assay_pickle_protocol(file->pickle);
  info->n_storages = file->n_storages;
  for (size_t i = 0; i < file->n_storages; i++) {
    info->n_unused_storages += file->storages[i].first_tensor == SIZE_MAX;
    info->storage_bytes += file->storages[i].size_bytes;
  }
}

static assay_status open_file(assay_torch_file *file, const char *path, assay_error *err) {
  ASSAY_TRY(assay_file_map_open(path, &file->map, err));
  ASSAY_TRY(open_container(file, path, err));
  ASSAY_TRY(list_tensors(file, err));
  fill_info(file);
  return ASSAY_OK;
}

/* The file's name in front of what went wrong, unless that begins with it: what reads whole files
 * names them. */
static void put_in_file(const char *path, assay_error *err) {
  char quoted[ASSAY_ERROR_TEXT_BYTES];
  snprintf(quoted, sizeof quoted, "'%s': ", path);
  if (err != NULL && !assay_text_has_prefix(err->text, quoted))
    assay_error_in(err, "checkpoint '%s'", path);
}

assay_status assay_torch_file_open(const char *path, assay_torch_file **out, assay_error *err) {
  assay_torch_file *file = assay_alloc(sizeof *file);
  if (file == NULL) return assay_fail_memory(err, sizeof *file);
  file->arena.max_bytes = ARENA_BYTES_MAX;
  file->inflated_storage = SIZE_MAX;
  assay_status st = open_file(file, path, err);
  if (st) {
    assay_torch_file_close(file);
    put_in_file(path, err);
    return st;
  }
  *out = file;
  return ASSAY_OK;
}

void assay_torch_file_close(assay_torch_file *file) {
  if (file == NULL) return;
  assay_pickle_destroy(file->pickle);
  assay_zip_close(file->zip);
  assay_file_map_close(&file->map);
  pickle_arena_reset(&file->arena);
  assay_buf_reset(&file->inflated);
  assay_free(file->storages);
  assay_free(file->tensors);
  assay_free(file->tensor_storages);
  assay_free(file->tensor_of);
  assay_free(file);
}

/* ---- questions
 * ----------------------------------------------------------------------------------- */

const assay_torch_info *assay_torch_file_info(const assay_torch_file *file) {
  return &file->info;
}

const assay_pickle *assay_torch_file_pickle(const assay_torch_file *file) {
  return file->pickle;
}

const assay_pickle_value *assay_torch_file_root(const assay_torch_file *file) {
  return assay_pickle_root(file->pickle);
}

size_t assay_torch_file_count(const assay_torch_file *file) {
  return file->n_tensors;
}

const assay_torch_tensor *assay_torch_file_at(const assay_torch_file *file, size_t i) {
  return i < file->n_tensors ? &file->tensors[i] : NULL;
}

bool assay_torch_file_find(const assay_torch_file *file, const assay_pickle_value *value,
                           size_t *out_i) {
  if (value == NULL || file->tensor_of[value->id] == 0) return false;
  *out_i = file->tensor_of[value->id] - 1;
  return true;
}
