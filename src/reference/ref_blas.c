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
