/* Files that torch.save wrote (.pth, .pt): their tree of values, with the tensors in it resolved to
 * where their bytes lie. The file is mapped, nothing is copied until a tensor is read, and nothing
 * in it is executed.
 *
 * Opening takes time O(n log n) in the size of the pickle and of the zip directory, and memory as
 * the limits of pickle.h allow; storages are not touched. Reading a tensor touches its storage: its
 * checksum is verified the first time.
 * Source: ../shared/specs/torch_checkpoint.md. */
#ifndef ASSAY_CHECKPOINT_TORCH_FILE_H
#define ASSAY_CHECKPOINT_TORCH_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tensor.h"
#include "checkpoint/pickle.h"

typedef struct assay_torch_file assay_torch_file;

/* What the first bytes of a file say it is. */
typedef enum assay_checkpoint_kind {
  ASSAY_CHECKPOINT_OTHER,
  ASSAY_CHECKPOINT_ZIP,         /* torch.save since 1.6, if it holds a data.pkl; npz; others */
  ASSAY_CHECKPOINT_LEGACY,      /* torch.save before 1.6 */
  ASSAY_CHECKPOINT_TAR,         /* torch.save before 0.1.10 */
  ASSAY_CHECKPOINT_PICKLE,      /* a bare pickle of protocol 2 or later */
  ASSAY_CHECKPOINT_SAFETENSORS, /* a length, then a brace */
  ASSAY_CHECKPOINT_LFS_POINTER, /* a text that stands for a file that git did not fetch */
} assay_checkpoint_kind;
assay_checkpoint_kind assay_checkpoint_kind_of(const void *bytes, size_t size_bytes);

typedef struct assay_torch_tensor {
  const char *path;       /* of the first place in the tree: "model_state_dict/nn0.0.weight" */
  const char *dtype_name; /* "float32", "float8_e4m3fn", …; NULL where unsupported hides it */
  assay_dtype dtype;      /* NONE for those that assay has no type for (float8) */
  int rank;
  const int64_t *dims;    /* [rank] */
  const int64_t *strides; /* [rank] in elements; >= 0 */
  int64_t offset;         /* in elements */
  size_t n_elems;
  const char *storage_key; /* two tensors of the same key share bytes; NULL: unsupported */
  uint64_t storage_bytes;
  const char *type_name;   /* of a subclass that it was saved as, or NULL */
  const char *unsupported; /* why it cannot be read, or NULL */
  bool requires_grad;
  bool is_parameter;
  bool is_storage;    /* a bare storage was saved: shown as a vector of its elements */
  bool is_conjugated; /* the values are the conjugates of the stored ones; reading applies it */
  bool is_negated;    /* likewise negated */
  size_t alias_of; /* index of the first tensor that uses the same storage; its own if it is that */
} assay_torch_tensor;

typedef struct assay_torch_info {
  bool is_legacy;
  int protocol;       /* of the pickle */
  int format_version; /* of the zip container; 0 for legacy files */
  bool no_checksums;  /* the writer left all checksums zero */
  size_t n_storages;
  size_t n_unused_storages;     /* that no tensor refers to */
  uint64_t storage_bytes;       /* of all */
  const char *serialization_id; /* or NULL */
} assay_torch_info;

/* Errors: IO; FORMAT (damaged: what and where); UNSUPPORTED (TorchScript, tar, big-endian files, a
 * bare pickle, protocol 0: by name, with what to do); LIMIT; MEMORY. */
assay_status assay_torch_file_open(const char *path, assay_torch_file **out,
                                   assay_error *err) ASSAY_NODISCARD;
void assay_torch_file_close(assay_torch_file *file);

/* All of these are borrowed from the file. */
const assay_torch_info *assay_torch_file_info(const assay_torch_file *file);
const assay_pickle *assay_torch_file_pickle(const assay_torch_file *file);
const assay_pickle_value *assay_torch_file_root(const assay_torch_file *file);

/* Tensors in order of first appearance in the tree; each object once, however often it is named. */
size_t assay_torch_file_count(const assay_torch_file *file);
const assay_torch_tensor *assay_torch_file_at(const assay_torch_file *file, size_t i);

/* Index of the tensor that value stands for; false where it stands for none. */
bool assay_torch_file_find(const assay_torch_file *file, const assay_pickle_value *value,
                           size_t *out_i);

/* Bytes that all tensors asked of a file may take together, whatever shares its storages: 16 times
 * these, and 1 GiB. */
uint64_t assay_torch_file_most_bytes(const assay_torch_file *file);

/* Tensor i, contiguous, in memory of its own, conjugation and negation applied. Errors: UNSUPPORTED
 * (by name), FORMAT (checksum; a bool that is neither 0 nor 1), LIMIT (an expanded tensor of more
 * than 1 GiB), MEMORY. */
assay_status assay_torch_file_read(assay_torch_file *file, size_t i, assay_tensor *out,
                                   assay_error *err) ASSAY_NODISCARD;

/* As read, without a copy where the bytes in the file are the tensor: then out is a view that must
 * not be written to nor outlive the file. */
assay_status assay_torch_file_view(assay_torch_file *file, size_t i, assay_tensor *out,
                                   assay_error *err) ASSAY_NODISCARD;

/* One place in the tree. */
typedef struct assay_torch_node {
  const char *path; /* "" for the root; good during the call, as is key */
  const char *key;  /* last part of path */
  int depth;
  const assay_pickle_value *value;
  const assay_torch_tensor *tensor; /* or NULL */
  bool is_repeated;                 /* shown before, at another place: not entered again */
} assay_torch_node;

/* Visits the tree in order, parents first: entries of dicts, items of lists, tuples and sets, and
 * what objects hold (their fields; arguments as "args/0"), but not what numpy's values, devices and
 * enum members are made of. Every container is entered once, so the
 * visits are at most as many as the pickle has bytes. Stops at the first failure of visit and
 * returns it. */
typedef assay_status (*assay_torch_visit_fn)(void *arg, const assay_torch_node *node,
                                             assay_error *err);
assay_status assay_torch_file_each(const assay_torch_file *file, assay_torch_visit_fn visit,
                                   void *arg, assay_error *err) ASSAY_NODISCARD;

#endif
