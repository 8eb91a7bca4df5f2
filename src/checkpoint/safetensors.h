/* safetensors files: a JSON header, then the values of named tensors. Read by mapping, written
 * whole or not at all. Source: ../shared/specs/npz.md section 5. */
#ifndef ASSAY_CHECKPOINT_SAFETENSORS_H
#define ASSAY_CHECKPOINT_SAFETENSORS_H

#include "base/tensor.h"

typedef struct assay_safetensors assay_safetensors;

typedef struct assay_safetensor {
  const char *name;       /* any text; never a path */
  const char *dtype_name; /* as in the file: "F32", "F8_E4M3", … */
  assay_dtype dtype;      /* NONE for those that assay has no type for (float8) */
  int rank;
  const int64_t *dims; /* [rank] */
  size_t n_elems;
  uint64_t offset; /* of its first byte in the file */
  size_t size_bytes;
} assay_safetensor;

typedef struct assay_safetensors_pair {
  const char *key, *value;
} assay_safetensors_pair;

/* The whole file is checked but for the values: the ranges of the tensors must fill the data
 * without gap or overlap. Errors: IO, FORMAT, UNSUPPORTED (an unknown dtype, by name), LIMIT,
 * MEMORY. */
assay_status assay_safetensors_open(const char *path, assay_safetensors **out,
                                    assay_error *err) ASSAY_NODISCARD;

/* The same of bytes that are already in memory, and stay the caller's. */
assay_status assay_safetensors_open_bytes(const void *bytes, size_t size_bytes,
                                          assay_safetensors **out,
                                          assay_error *err) ASSAY_NODISCARD;
void assay_safetensors_close(assay_safetensors *file);

/* Tensors in the order of their values; all borrowed from the file. */
size_t assay_safetensors_count(const assay_safetensors *file);
const assay_safetensor *assay_safetensors_at(const assay_safetensors *file, size_t i);

/* Entries of __metadata__. */
size_t assay_safetensors_n_metadata(const assay_safetensors *file);
assay_safetensors_pair assay_safetensors_metadata(const assay_safetensors *file, size_t i);

/* Tensor i in memory of its own; or, without a copy where the bytes are aligned, a view that must
 * not be written to nor outlive the file. Errors: UNSUPPORTED (a dtype that assay lacks), FORMAT (a
 * bool that is neither 0 nor 1), MEMORY. */
assay_status assay_safetensors_read(const assay_safetensors *file, size_t i, assay_tensor *out,
                                    assay_error *err) ASSAY_NODISCARD;
assay_status assay_safetensors_view(const assay_safetensors *file, size_t i, assay_tensor *out,
                                    assay_error *err) ASSAY_NODISCARD;

/* All tensors of a file, copied, in order of their values. out is filled only on success. */
assay_status assay_safetensors_read_all(const char *path, assay_tensor_map *out,
                                        assay_error *err) ASSAY_NODISCARD;

/* Writes the map's tensors with n pairs of metadata (may be NULL and 0), in the order and layout of
 * the reference writer: equal contents give equal bytes. Errors: ARGUMENT (a name or dtype that the
 * format has no room for), IO, MEMORY. */
assay_status assay_safetensors_write(const char *path, const assay_tensor_map *tensors,
                                     const assay_safetensors_pair *metadata, size_t n,
                                     assay_error *err) ASSAY_NODISCARD;

#endif
