/* numpy's scalars, dtypes and arrays as pickles hold them, decoded without numpy. */
#ifndef ASSAY_CHECKPOINT_NUMPY_VALUE_H
#define ASSAY_CHECKPOINT_NUMPY_VALUE_H

#include "base/tensor.h"
#include "checkpoint/pickle.h"

typedef struct assay_numpy_dtype {
  assay_dtype dtype; /* NONE for what assay has no type for (text, records, dates) */
  bool swapped;      /* bytes are big-endian */
  char code[24];     /* as numpy writes it: "<f8", "|b1", "<U2"; for messages */
} assay_numpy_dtype;

/* False when value is no numpy dtype (or a malformed one). */
bool assay_numpy_is_dtype(const assay_pickle_value *value, assay_numpy_dtype *out);

/* True when value is a call that makes a numpy scalar, or an array. */
bool assay_numpy_is_scalar(const assay_pickle_value *value);
bool assay_numpy_is_array(const assay_pickle_value *value);

/* Element type and shape (rank 0 for a scalar), whatever the bytes are: the dtype may be one that
 * cannot be read. Errors: FORMAT, ARGUMENT (neither a scalar nor an array). */
assay_status assay_numpy_shape(const assay_pickle_value *made, assay_numpy_dtype *out_dtype,
                               int *out_rank, int64_t out_dims[ASSAY_TENSOR_RANK_MAX],
                               assay_error *err) ASSAY_NODISCARD;

/* The scalar (rank 0) or array as a tensor of its own memory, little-endian, row-major.
 * Errors: FORMAT (arguments or sizes that do not fit together), UNSUPPORTED (object arrays; text,
 * record and other dtypes, by name), LIMIT, MEMORY. */
assay_status assay_numpy_read(const assay_pickle_value *value, assay_tensor *out,
                              assay_error *err) ASSAY_NODISCARD;

/* True for a dtype, and for a scalar or array that holds bytes, not objects: there is nothing in it
 * but what these functions tell. */
bool assay_numpy_is_plain(const assay_pickle_value *made);

#define ASSAY_NUMPY_DIGITS_BYTES 24 /* 2^64 has 20 digits */

/* A numpy scalar as the plain value that it is: *out becomes a BOOL, an INT (a BIGINT, its digits
 * in the caller's buffer, from 2^63 on), a REAL or a COMPLEX. False for anything else, and for
 * scalars that assay_numpy_read refuses. */
bool assay_numpy_scalar_value(const assay_pickle_value *made, assay_pickle_value *out,
                              char digits[ASSAY_NUMPY_DIGITS_BYTES]);

#endif
