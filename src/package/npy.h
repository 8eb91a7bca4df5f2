/* The .npy format, in memory: headers read and written, elements put into our order. npz.h has the
 * calls for files. Source: npz.md section 1; numpy/lib/format.py of numpy 2.2. */
#ifndef ASSAY_PACKAGE_NPY_H
#define ASSAY_PACKAGE_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"
#include "base/tensor.h"

#define ASSAY_NPY_PREFIX_BYTES 12 /* enough to know how long a header is */

typedef struct assay_npy_header {
  char descr[32];      /* as in the file; that of a structured type is cut */
  assay_dtype dtype;   /* NONE when assay does not hold the type */
  const char *refusal; /* why not, for a person; NULL when it does */
  bool is_big_endian;
  bool is_fortran_order;
  int rank;
  int64_t dims[ASSAY_TENSOR_RANK_MAX];
  size_t n_elems;
  size_t header_bytes; /* where the data starts */
  size_t data_bytes;   /* 0 when dtype is NONE */
} assay_npy_header;

/* True when the bytes begin as every .npy file does. */
bool assay_npy_is_magic(const void *bytes, size_t size_bytes);

/* How many bytes the whole header takes, from its first ASSAY_NPY_PREFIX_BYTES (fewer if the file
 * has fewer). Errors: FORMAT, UNSUPPORTED (version), LIMIT (over 1 MiB). */
assay_status assay_npy_header_size(const void *bytes, size_t size_bytes, size_t *out,
                                   assay_error *err) ASSAY_NODISCARD;

/* Reads a header; bytes may go on behind it. A type that assay does not hold is no error here.
 * Errors: FORMAT (with the byte of the header), UNSUPPORTED (version), LIMIT (too many elements).
 */
assay_status assay_npy_header_parse(const void *bytes, size_t size_bytes, assay_npy_header *out,
                                    assay_error *err) ASSAY_NODISCARD;

/* A zeroed tensor for the array. Errors: UNSUPPORTED (a type that is not held), LIMIT (over
 * max_bytes, before anything is allocated), MEMORY. */
assay_status assay_npy_tensor_init(const assay_npy_header *header, uint64_t max_bytes,
                                   assay_tensor *out, assay_error *err) ASSAY_NODISCARD;

/* Turns the elements that were copied from the file into tensor->data into row-major little-endian
 * ones, in place. Errors: FORMAT (a bool other than 0 and 1), MEMORY (column-major arrays need a
 * second copy). */
assay_status assay_npy_normalise(const assay_npy_header *header, assay_tensor *tensor,
                                 assay_error *err) ASSAY_NODISCARD;

/* Appends the header that numpy writes for this array, byte for byte. Errors: UNSUPPORTED
 * (bfloat16, which numpy has no name for), MEMORY. */
assay_status assay_npy_header_append(const assay_tensor *tensor, assay_buf *out,
                                     assay_error *err) ASSAY_NODISCARD;

#endif
