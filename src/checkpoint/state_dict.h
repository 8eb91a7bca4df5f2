/* From what a training wrote to the named tensors of a model: the state dict is found, wrappers'
 * prefixes are taken off, names are brought up to date, and every change is listed. Whether the
 * result is what a model wants is for that model to say. Source: ../shared/specs/models.md C.2,
 * torch_checkpoint.md section 8. */
#ifndef ASSAY_CHECKPOINT_STATE_DICT_H
#define ASSAY_CHECKPOINT_STATE_DICT_H

#include "base/tensor.h"
#include "checkpoint/torch_file.h"

typedef struct assay_renamed {
  char *from, *to; /* owned */
} assay_renamed;

/* All zeroes is a valid empty one. */
typedef struct assay_state_dict {
  assay_tensor_map tensors; /* under their present names, in the order of the file */
  char *found_at;           /* path in the file, "" for its root; owned, as all below */
  char *stripped;           /* prefixes that every name had: "module._orig_mod.", or "" */
  char **dropped;           /* [n_dropped] names of training-only entries that were left out */
  size_t n_dropped;
  assay_renamed *renamed; /* [n_renamed] names of older versions */
  size_t n_renamed;
} assay_state_dict;

/* The state dict of a PyTorch file: under `model_state_dict` or `state_dict`, or the root itself
 * where it holds nothing but tensors. Tensors are copied. Errors: UNSUPPORTED (no state dict, a
 * whole pickled module, an entry that is no tensor: with what was found), FORMAT, LIMIT, MEMORY;
 * ARGUMENT (two names become one). */
assay_status assay_state_dict_of_torch(assay_torch_file *file, assay_state_dict *out,
                                       assay_error *err) ASSAY_NODISCARD;

/* The same without copies: tensors whose bytes in the file are the tensor are views on it, so that
 * the state dict must not outlive the file. */
assay_status assay_state_dict_view_torch(assay_torch_file *file, assay_state_dict *out,
                                         assay_error *err) ASSAY_NODISCARD;

/* Opens path, which may be a PyTorch or a safetensors file. */
assay_status assay_state_dict_read(const char *path, assay_state_dict *out,
                                   assay_error *err) ASSAY_NODISCARD;

/* The same cleaning for tensors that came from elsewhere (npz). tensors is moved from, on success.
 */
assay_status assay_state_dict_of_map(assay_tensor_map *tensors, assay_state_dict *out,
                                     assay_error *err) ASSAY_NODISCARD;

void assay_state_dict_reset(assay_state_dict *dict);

#endif
