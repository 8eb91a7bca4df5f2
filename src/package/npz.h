/* .npy and .npz files: every dtype, order and version of npz.md read strictly; written exactly as
 * numpy writes them (stored, C order). Arrays come back row-major and little-endian whatever the
 * file held. */
#ifndef ASSAY_PACKAGE_NPZ_H
#define ASSAY_PACKAGE_NPZ_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"

typedef struct assay_npz_limits {
  uint64_t max_array_bytes; /* 0: 16 GiB */
  uint64_t max_total_bytes; /* 0: 64 GiB */
} assay_npz_limits;

/* All arrays of the archive, in its order. A member that is not .npy is ignored; an array of a type
 * that assay does not hold (object, string, structured, void, long double, datetime) is refused by
 * name. A .npy file given here is refused with what to do. limits may be NULL. Errors: IO, FORMAT
 * (archive, entry, what), UNSUPPORTED, LIMIT, MEMORY. */
assay_status assay_npz_read(const char *path, const assay_npz_limits *limits, assay_tensor_map *out,
                            assay_error *err) ASSAY_NODISCARD;

/* One array of the archive by its name. Errors: as above, and ARGUMENT when there is none of that
 * name. */
assay_status assay_npz_read_array(const char *path, const char *name,
                                  const assay_npz_limits *limits, assay_tensor *out,
                                  assay_error *err) ASSAY_NODISCARD;

/* One .npy file, or one held in memory (what: name for messages). */
assay_status assay_npy_read(const char *path, const assay_npz_limits *limits, assay_tensor *out,
                            assay_error *err) ASSAY_NODISCARD;
assay_status assay_npy_parse(const void *bytes, size_t size_bytes, const char *what,
                             assay_tensor *out, assay_error *err) ASSAY_NODISCARD;

/* Header only: what inspect shows without reading the data. A .npy file gives one array without a
 * name. */
typedef struct assay_npz_entry_info {
  char *name;        /* array name, owned by the list */
  char descr[32];    /* as in the file, e.g. "<f4" */
  assay_dtype dtype; /* NONE when assay does not hold the type */
  int fortran_order;
  int rank;
  int64_t dims[ASSAY_TENSOR_RANK_MAX];
  uint64_t size_bytes;
  int compressed;
  uint64_t extra_bytes; /* behind the array in a bare .npy file, where numpy ignores them, too */
} assay_npz_entry_info;
assay_status assay_npz_list(const char *path, assay_npz_entry_info **out, size_t *out_n,
                            assay_error *err) ASSAY_NODISCARD;
void assay_npz_list_destroy(assay_npz_entry_info *list, size_t n);

/* Written whole or not at all; equal maps give equal bytes. */
assay_status assay_npz_write(const char *path, const assay_tensor_map *arrays,
                             assay_error *err) ASSAY_NODISCARD;
assay_status assay_npy_write(const char *path, const assay_tensor *array,
                             assay_error *err) ASSAY_NODISCARD;

#endif
