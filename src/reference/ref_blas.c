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

void ref_matmul_nt(const real *x, int64_t x_stride, const real *w, int64_t rows, int64_t n_in,
                   int64_t n_out, real *out, int64_t out_stride) {
  assert(rows <= INT_MAX && n_in <= INT_MAX && n_out <= INT_MAX && x_stride <= INT_MAX &&
         out_stride <= INT_MAX);
  if (rows == 0) return;
  gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)n_out, (int)n_in, /*alpha=*/1, x,
       (int)x_stride, w, (int)n_in, /*beta=*/0, out, (int)out_stride);
}
