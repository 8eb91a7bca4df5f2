/* See ref_blas.h. Products in the precision of REF_BITS. */
#include "reference/ref_blas.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>

#if REF_BITS == 32
#define gemm cblas_sgemm
#else
#define gemm cblas_dgemm
#endif

/* Terms that are added up in one go. A library adds up the terms of an element one after the other,
 * and the rounding error of n of them grows faster than that of n/b sums of b. In FP32 blocks of 32
 * take a third off the error of the outputs for one part in twenty of the time; FP64 has digits to
 * spare. */
enum { TERMS_AT_ONCE = REF_BITS == 32 ? 32 : INT_MAX };

void ref_matmul_nt(const real *x, int64_t x_stride, const real *w, int64_t rows, int64_t n_in,
                   int64_t n_out, real *out, int64_t out_stride) {
  assert(rows <= INT_MAX && n_in <= INT_MAX && n_out <= INT_MAX && x_stride <= INT_MAX &&
         out_stride <= INT_MAX);
  if (rows == 0) return;
  for (int64_t i = 0; i < n_in; i += TERMS_AT_ONCE) {
    int64_t n = n_in - i < TERMS_AT_ONCE ? n_in - i : TERMS_AT_ONCE;
    gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)n_out, (int)n, /*alpha=*/1, x + i,
         (int)x_stride, w + i, (int)n_in, /*beta=*/i > 0, out, (int)out_stride);
  }
}

#if REF_BITS == 32

int64_t ref_matmul_nt_wide_scratch(int64_t rows, int64_t n_in, int64_t n_out) {
  return rows * n_in + n_out * n_in + rows * n_out;
}

void ref_matmul_nt_wide(const real *x, const real *w, int64_t rows, int64_t n_in, int64_t n_out,
                        double *scratch, real *out) {
  double *wide_x = scratch, *wide_w = wide_x + rows * n_in, *wide_out = wide_w + n_out * n_in;
  if (rows == 0) return;
  for (int64_t i = 0; i < rows * n_in; i++) wide_x[i] = (double)x[i];
  for (int64_t i = 0; i < n_out * n_in; i++) wide_w[i] = (double)w[i];
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)n_out, (int)n_in,
              /*alpha=*/1, wide_x, (int)n_in, wide_w, (int)n_in, /*beta=*/0, wide_out, (int)n_out);
  for (int64_t i = 0; i < rows * n_out; i++) out[i] = (real)wide_out[i];
}

#else

int64_t ref_matmul_nt_wide_scratch(int64_t rows, int64_t n_in, int64_t n_out) {
  (void)rows;
  (void)n_in;
  (void)n_out;
  return 0;
}

void ref_matmul_nt_wide(const real *x, const real *w, int64_t rows, int64_t n_in, int64_t n_out,
                        double *scratch, real *out) {
  (void)scratch;
  ref_matmul_nt(x, n_in, w, rows, n_in, n_out, out, n_out);
}

#endif
