/* The loops where a run spends its time, besides matrix products: one table of functions for each
 * instruction set and precision. All arrays are row-major, borrowed, and need no alignment; `rows`
 * and `cols` may be 0. */
#ifndef ASSAY_REFERENCE_REF_KERNELS_H
#define ASSAY_REFERENCE_REF_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "reference/ref_real.h"

typedef enum ref_act {
  REF_ACT_NONE,
  REF_ACT_ELU,
  REF_ACT_RELU,
  REF_ACT_RELU6,
  REF_ACT_LEAKYRELU,
  REF_ACT_GELU,
  REF_ACT_SILU,
} ref_act;

/* Keys lie in panels of this many, transposed: k[panel][dim][REF_PANEL], the last one filled up
 * with zeros; a multiple of every instruction set's lanes. Values lie in rows
 * v[key][ref_padded_dim(dim)], filled up with zeros to whole panels of keys and in each row. */
#define REF_PANEL 16

/* Queries of one call of `attend`, at most. */
#define REF_QUERIES 16

/* n rounded up to whole panels. */
static inline int64_t ref_whole_panels(int64_t n) {
  return (n + REF_PANEL - 1) / REF_PANEL * REF_PANEL;
}

static inline int64_t ref_padded_dim(int64_t dim) {
  return ref_whole_panels(dim);
}

#define ref_attention REF(ref_attention)
/* Softmax attention of a few queries over all keys of one head:
 *
 *   s[i,j] = q[i]·k[j]
 *
 *   out[i] = sum_j exp(s[i,j]) v[j] / sum_j exp(s[i,j])
 *
 *   lse[i] = log sum_j exp(s[i,j])
 *
 * computed over blocks of keys with a running maximum and sum. Without keys: out = 0, lse = 0. */
typedef struct ref_attention {
  const real *queries; /* [n_queries, dim], the scale 1/sqrt(dim) already in them */
  int64_t n_queries;   /* 1 … REF_QUERIES */
  const real *keys;    /* panels */
  const real *values;  /* padded rows */
  int64_t n_keys;
  int64_t dim;
  real *out; /* n_queries rows of dim, out_stride apart */
  int64_t out_stride;
  real *lse; /* [n_queries], or NULL */
  /* attend_half only: scores are rounded after the product, and again after they were multiplied
   * with score_scale, unless that is 1. */
  bool half_scores;
  real score_scale;
  /* each term and each partial sum of half_scores, and of the values' product, is rounded too, in
   * order */
  bool half_sums;
  real *scratch; /* ref_attention_scratch(dim) elements; attend_half: ref_attention_half_scratch */
} ref_attention;

static inline int64_t ref_attention_scratch(int64_t dim) {
  enum { KEYS_AT_ONCE = 256 }; /* at least what ref_kernels.c uses */
  return REF_QUERIES * (KEYS_AT_ONCE + dim + ref_padded_dim(dim));
}

static inline int64_t ref_attention_half_scratch(int64_t dim, int64_t n_keys) {
  return REF_QUERIES * (ref_whole_panels(n_keys) + REF_PANEL + dim + ref_padded_dim(dim));
}

#define ref_kernels REF(ref_kernels)
typedef struct ref_kernels {
  const char *name;    /* "avx512", "avx2", "baseline" */
  const char *library; /* of the exponentials: "SLEEF 3.5.1", "libm" */

  /* x = act(x + bias), in place; x [rows, cols]; bias [cols], or NULL for none. */
  void (*bias_act)(real *x, const real *bias, int64_t rows, int64_t cols, ref_act act);

  /* out = (x - mean) / sqrt(var + 1e-5) * weight + bias over the last axis, biased variance of the
   * differences (models.md B.0); out may be x. */
  void (*layer_norm)(const real *x, const real *weight, const real *bias, int64_t rows,
                     int64_t cols, real *out);

  /* out = weight * (x / sqrt(mean(x^2) + 1e-6)); out may be x. */
  void (*rms_norm)(const real *x, const real *weight, int64_t rows, int64_t cols, real *out);

  /* gate = silu(gate) * up, n elements. */
  void (*gated_silu)(real *gate, const real *up, int64_t n);

  /* x = exp(x - shift), n elements, in place; returns nothing that a caller cannot add up. */
  void (*exp_shifted)(real *x, const real *shift, int64_t n);

  void (*attend)(const ref_attention *attention);

  /* What blocks in FP16 compute (model/mlpf_plan_config.h), as values of FP32; "rounded" is to
   * FP16, to nearest even, subnormals kept, beyond 65520 to infinity. NULL in FP64. */

  void (*round_half)(real *x, int64_t n);

  /* bias_act with three operations, each rounded: x itself, x + bias, act. */
  void (*bias_act_half)(real *x, const real *bias, int64_t rows, int64_t cols, ref_act act);

  /* out[row, o] = sum_i x[row, i] w[o, i], each term and each partial sum rounded, i ascending.
   *
   * x    [rows, n_in]
   * w    [n_out, n_in]
   * out  [rows, n_out] */
  void (*matmul_half_sums)(const real *x, const real *w, int64_t rows, int64_t n_in, int64_t n_out,
                           real *out);

  /* attend in the decomposed form: softmax in FP32 as a whole, its weights rounded, then their
   * product with the values, which is left to the caller to round. lse is FP32. */
  void (*attend_half)(const ref_attention *attention);
} ref_kernels;

/* The table of that name, or NULL where it is unknown or this processor lacks it; NULL asks for the
 * best one here. */
#define ref_kernels_find REF(ref_kernels_find)
const ref_kernels *ref_kernels_find(const char *name);

/* The tables, each in an object file of its own; ref_kernels_find knows which may be called. */
#define ref_kernels_baseline REF(ref_kernels_baseline)
#define ref_kernels_avx2     REF(ref_kernels_avx2)
#define ref_kernels_avx512   REF(ref_kernels_avx512)
extern const ref_kernels ref_kernels_baseline;
extern const ref_kernels ref_kernels_avx2;
extern const ref_kernels ref_kernels_avx512;

#endif
