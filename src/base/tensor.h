/* Dense row-major arrays, and ordered maps from names to arrays. Models meet checkpoints, cases and
 * the runtime through these. */
#ifndef ASSAY_BASE_TENSOR_H
#define ASSAY_BASE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

#define ASSAY_TENSOR_RANK_MAX 64 /* numpy 2's own limit */

/* All zeroes is a valid empty tensor (dtype NONE). */
typedef struct assay_tensor {
  assay_dtype dtype;
  int rank;
  int64_t dims[ASSAY_TENSOR_RANK_MAX]; /* the first `rank` count; each >= 0 */
  size_t n_elems;                      /* product of dims; 1 for rank 0 */
  size_t size_bytes;                   /* n_elems * size of dtype */
  void *data; /* row-major, little-endian; NULL only when size_bytes is 0 */
  bool owned; /* data is released by reset */
} assay_tensor;

/* Elements of a shape, checked. Errors: ARGUMENT (negative), LIMIT (overflow). */
assay_status assay_shape_count(const int64_t *dims, int rank, size_t *out,
                               assay_error *err) ASSAY_NODISCARD;

/* "[2,300,17]"; "[]" for rank 0. out_bytes of 256 always do for rank <= 8. */
void assay_shape_text(const int64_t *dims, int rank, char *out, size_t out_bytes);

/* A zeroed tensor of its own memory. Errors: ARGUMENT, LIMIT, MEMORY. */
assay_status assay_tensor_init(assay_tensor *out, assay_dtype dtype, int rank, const int64_t *dims,
                               assay_error *err) ASSAY_NODISCARD;

/* The same with values that are not set: all of them must be. */
assay_status assay_tensor_init_unset(assay_tensor *out, assay_dtype dtype, int rank,
                                     const int64_t *dims, assay_error *err) ASSAY_NODISCARD;

/* A view on data, which must outlive it. Errors: ARGUMENT, LIMIT. */
assay_status assay_tensor_init_view(assay_tensor *out, assay_dtype dtype, int rank,
                                    const int64_t *dims, void *data,
                                    assay_error *err) ASSAY_NODISCARD;

assay_status assay_tensor_copy(assay_tensor *out, const assay_tensor *tensor,
                               assay_error *err) ASSAY_NODISCARD;
void assay_tensor_reset(assay_tensor *tensor);

bool assay_tensor_same_shape(const assay_tensor *a, const assay_tensor *b);

/* Element i as a double (floats, integers, bool; exact but for 64-bit integers beyond 2^53; NaN for
 * other types). */
double assay_tensor_get_real(const assay_tensor *tensor, size_t i);

/* Typed access; asserts the dtype. */
float *assay_tensor_f32(const assay_tensor *tensor);
double *assay_tensor_f64(const assay_tensor *tensor);
int64_t *assay_tensor_i64(const assay_tensor *tensor);

typedef struct assay_named_tensor {
  char *name; /* owned */
  assay_tensor tensor;
} assay_named_tensor;

/* Insertion-ordered; names are unique. All zeroes is a valid empty map. Adding may move the items:
 * pointers into a map are good until the next add. */
typedef struct assay_tensor_map {
  assay_named_tensor *items;
  size_t n;
  size_t cap;
  uint32_t *slots; /* hash index into items, owned */
  size_t n_slots;
} assay_tensor_map;

/* Moves *tensor into the map under a copy of name. Errors: ARGUMENT (name taken), MEMORY; *tensor
 * stays the caller's on failure. */
assay_status assay_tensor_map_add(assay_tensor_map *map, const char *name, assay_tensor *tensor,
                                  assay_error *err) ASSAY_NODISCARD;

/* The tensor of that name, or NULL. */
assay_tensor *assay_tensor_map_find(const assay_tensor_map *map, const char *name);

void assay_tensor_map_reset(assay_tensor_map *map);

/* SHA-256 over the entries sorted bytewise by name, each as the name's bytes followed by the raw
 * little-endian data; skip_suffix (or NULL) leaves out names ending so. out_hex gets 64 digits.
 * Source: models.md section G. */
assay_status assay_tensor_map_sha256(const assay_tensor_map *map, const char *skip_suffix,
                                     char out_hex[65], assay_error *err) ASSAY_NODISCARD;

#endif
