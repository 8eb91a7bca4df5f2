/* What the files of the PyTorch reader share. Private to this room. */
#ifndef ASSAY_CHECKPOINT_TORCH_PARTS_H
#define ASSAY_CHECKPOINT_TORCH_PARTS_H

#include "base/buf.h"
#include "base/file.h"
#include "base/zip.h"
#include "checkpoint/pickle_arena.h"
#include "checkpoint/torch_file.h"

/* Element types of PyTorch, with the classes of storages that hold them. */
typedef struct torch_dtype {
  const char *name;    /* "float32", as in torch.float32 */
  const char *storage; /* "FloatStorage", or NULL: only in untyped storages */
  assay_dtype dtype;   /* NONE: assay has none */
  size_t elem_bytes;
  const char *refused; /* why tensors of it are not read, or NULL */
} torch_dtype;

typedef struct torch_storage {
  const char *key;
  const torch_dtype *dtype; /* of the class that the first reference names; NULL before it */
  uint64_t n_elems;         /* in elements of dtype, as that reference says */
  uint64_t size_bytes;
  const uint8_t *data; /* in the mapped file; NULL for a deflated entry */
  size_t zip_index;    /* of the entry */
  uint32_t crc32;
  bool is_checked;     /* checksum was right, or there is none */
  size_t first_tensor; /* that refers to it; SIZE_MAX: none */
} torch_storage;

struct assay_torch_file {
  assay_file_map map;
  assay_zip *zip; /* NULL for legacy files */
  assay_pickle *pickle;
  pickle_arena arena;      /* keys, paths, dims and strides */
  torch_storage *storages; /* sorted by key, owned */
  size_t n_storages;
  assay_torch_tensor *tensors; /* owned */
  uint32_t *tensor_storages;   /* [cap_tensors] index into storages; UINT32_MAX: none */
  size_t n_tensors, cap_tensors;
  uint64_t claimed_bytes; /* of all tensors, as if each had memory of its own; at most UINT64_MAX */
  uint32_t *tensor_of;    /* [values of the pickle] 1 + index of the tensor, or 0; owned */
  assay_buf inflated;     /* the last deflated storage that was read */
  size_t inflated_storage; /* which; SIZE_MAX: none */
  assay_torch_info info;
};

/* What a value that stands for a tensor says. */
typedef struct torch_found {
  const torch_dtype *dtype;
  uint32_t storage;                        /* index; UINT32_MAX: none */
  const assay_pickle_value *size, *stride; /* tuples of integers; NULL for a bare storage */
  int64_t offset;
  const char *unsupported, *type_name;
  bool requires_grad, is_parameter, is_storage, is_conjugated, is_negated;
} torch_found;

const torch_dtype *torch_dtype_of_name(const char *name);
const torch_dtype *torch_dtype_of_storage(const char *class_name);

/* The storage of that key, or NULL. */
torch_storage *torch_storage_find(const assay_torch_file *file, const char *key);

/* True for a value that stands for a tensor (or a bare storage), whatever it says. */
bool torch_is_tensor(const assay_pickle_value *value);

/* Reads such a value and checks it against its storage. Errors: FORMAT, MEMORY. */
assay_status torch_resolve(assay_torch_file *file, const assay_pickle_value *value,
                           torch_found *out, assay_error *err) ASSAY_NODISCARD;

/* Registers the persistent id of a storage: class, key and number of elements must agree with
 * the file and with what was registered before. out_storage may be NULL. Errors: FORMAT,
 * UNSUPPORTED. */
assay_status torch_register(assay_torch_file *file, const assay_pickle_value *id,
                            torch_storage **out_storage, assay_error *err) ASSAY_NODISCARD;

/* True for the persistent id of a storage; those of saved module classes are not. */
bool torch_is_storage_id(const assay_pickle_value *value);

/* Adds the tensor that value stands for, first met at path. Errors: FORMAT, MEMORY. */
assay_status torch_add_tensor(assay_torch_file *file, const assay_pickle_value *value,
                              const char *path, assay_error *err) ASSAY_NODISCARD;

/* A copy of n bytes of text with a zero behind, in the file's arena. */
assay_status torch_keep_text(assay_torch_file *file, const char *text, size_t n, const char **out,
                             assay_error *err) ASSAY_NODISCARD;

/* Walks the tree; while the file is being opened, tensors are added as they are met. */
assay_status torch_walk(assay_torch_file *file, bool add, assay_torch_visit_fn visit, void *arg,
                        assay_error *err) ASSAY_NODISCARD;

/* Opens what the mapped file holds: storages and pickle. */
assay_status torch_open_zip(assay_torch_file *file, const char *path,
                            assay_error *err) ASSAY_NODISCARD;
assay_status torch_open_legacy(assay_torch_file *file, assay_error *err) ASSAY_NODISCARD;
assay_status torch_sort_storages(assay_torch_file *file, assay_error *err) ASSAY_NODISCARD;

#endif
