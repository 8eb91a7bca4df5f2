/* Matrix products: the one place that sees CBLAS. */
#ifndef ASSAY_REFERENCE_REF_BLAS_H
#define ASSAY_REFERENCE_REF_BLAS_H

#include <stddef.h>
#include <stdint.h>

#include "reference/ref_real.h"

#define ref_matmul_nt REF(ref_matmul_nt)
/* out[row, o] = sum_i x[row, i] w[o, i]: a linear layer without its bias.
 *
 * x    [rows, n_in], rows x_stride apart
 * w    [n_out, n_in]
 * out  [rows, n_out], rows out_stride apart; may not overlap the inputs */
void ref_matmul_nt(const real *x, int64_t x_stride, const real *w, int64_t rows, int64_t n_in,
                   int64_t n_out, real *out, int64_t out_stride);

#define ref_matmul_nt_wide         REF(ref_matmul_nt_wide)
#define ref_matmul_nt_wide_scratch REF(ref_matmul_nt_wide_scratch)
/* The same with products and sums in double whatever `real` is, rounded to `real` at the end; rows
 * lie close together. scratch: ref_matmul_nt_wide_scratch doubles. */
void ref_matmul_nt_wide(const real *x, const real *w, int64_t rows, int64_t n_in, int64_t n_out,
                        double *scratch, real *out);
int64_t ref_matmul_nt_wide_scratch(int64_t rows, int64_t n_in, int64_t n_out);

/* Tells the library to stay on the calling thread (our own threads share the work), where it can be
 * told. */
void ref_blas_use_one_thread(void);

/* Name, version and kernel of the library, e.g. "OpenBLAS 0.3.21 Cooperlake"; "CBLAS" where it does
 * not say. */
void ref_blas_describe(char *out, size_t out_bytes);

#endif
