/* Fuzzes the reader of PyTorch files: the container, the tensors, the walk and the state dict. An
 * input that does not begin like a container is taken as the data.pkl of an archive with two
 * storages, so that a fuzzer need not make checksums. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/zip.h"
#include "checkpoint/scratch_file.h"
#include "checkpoint/state_dict.h"
#include "checkpoint/torch_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STORAGE_BYTES 64

static assay_status look(void *arg, const assay_torch_node *node, assay_error *err) {
  (void)err;
  *(size_t *)arg += strlen(node->path) + strlen(node->key);
  return ASSAY_OK;
}

static void read_file(const char *path) {
  assay_torch_file *file = NULL;
  assay_state_dict dict = {0};
  assay_error err = {0};
  size_t n = 0;
  if (assay_torch_file_open(path, &file, &err)) {
    if (err.text[0] == '\0') abort(); /* a refusal says why */
    return;
  }
  for (size_t i = 0; i < assay_torch_file_count(file) && i < 64; i++) {
    assay_tensor tensor;
    const assay_torch_tensor *t = assay_torch_file_at(file, i);
    if (t->n_elems > (size_t)1 << 20) continue; /* allowed, and slow */
    if (assay_torch_file_view(file, i, &tensor, NULL) == ASSAY_OK) assay_tensor_reset(&tensor);
    if (assay_torch_file_read(file, i, &tensor, NULL) == ASSAY_OK) assay_tensor_reset(&tensor);
  }
  if (assay_torch_file_each(file, look, &n, NULL) == ASSAY_OK && n > SIZE_MAX / 2) abort();
  bool small = true;
  for (size_t i = 0; i < assay_torch_file_count(file); i++) {
    small &= assay_torch_file_at(file, i)->n_elems <= (size_t)1 << 16;
  }
  if (small && assay_state_dict_of_torch(file, &dict, NULL) == ASSAY_OK)
    assay_state_dict_reset(&dict);
  assay_torch_file_close(file);
}

/* base/zip.h syncs what it writes, so the archive is put together by hand: stored entries whose
 * checksums are zero everywhere, as a writer may leave them. */
typedef struct archive {
  uint8_t *bytes;
  size_t n, cap, n_entries;
  uint8_t central[1024];
  size_t n_central;
} archive;

static void put(uint8_t *to, uint64_t number, int width) {
  for (int i = 0; i < width; i++) to[i] = (uint8_t)(number >> (8 * i));
}

static void add(archive *a, const char *name, const void *bytes, size_t n) {
  uint8_t local[30] = {'P', 'K', 3, 4}, central[46] = {'P', 'K', 1, 2};
  size_t n_name = strlen(name);
  put(local + 18, n, 4);
  put(local + 22, n, 4);
  put(local + 26, n_name, 2);
  put(central + 20, n, 4);
  put(central + 24, n, 4);
  put(central + 28, n_name, 2);
  put(central + 42, a->n, 4);
  memcpy(a->central + a->n_central, central, sizeof central);
  memcpy(a->central + a->n_central + sizeof central, name, n_name);
  a->n_central += sizeof central + n_name;
  memcpy(a->bytes + a->n, local, sizeof local);
  memcpy(a->bytes + a->n + sizeof local, name, n_name);
  if (n > 0) memcpy(a->bytes + a->n + sizeof local + n_name, bytes, n);
  a->n += sizeof local + n_name + n;
  a->n_entries++;
}

static void finish(archive *a) {
  uint8_t end[22] = {'P', 'K', 5, 6};
  put(end + 8, a->n_entries, 2);
  put(end + 10, a->n_entries, 2);
  put(end + 12, a->n_central, 4);
  put(end + 16, a->n, 4);
  memcpy(a->bytes + a->n, a->central, a->n_central);
  memcpy(a->bytes + a->n + a->n_central, end, sizeof end);
  a->n += a->n_central + sizeof end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static scratch_file scratch;
  static const uint8_t storage[STORAGE_BYTES] = {1, 0, 1, 1};
  if (size > (size_t)1 << 20) return 0;
  assay_checkpoint_kind kind = assay_checkpoint_kind_of(data, size);
  if (kind == ASSAY_CHECKPOINT_ZIP || kind == ASSAY_CHECKPOINT_LEGACY) {
    read_file(scratch_file_put(&scratch, data, size));
  } else {
    archive a = {.bytes = malloc(size + 4096)};
    if (a.bytes == NULL) return 0;
    add(&a, "a/data.pkl", data, size);
    add(&a, "a/data/0", storage, STORAGE_BYTES);
    add(&a, "a/data/1", storage, 16);
    add(&a, "a/version", "3\n", 2);
    finish(&a);
    read_file(scratch_file_put(&scratch, a.bytes, a.n));
    free(a.bytes);
  }
  scratch_file_close(&scratch);
  return 0;
}
