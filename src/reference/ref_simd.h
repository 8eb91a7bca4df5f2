/* Vectors of `real` for the kernels: the compiler's generic vector types, a few operations that it
 * cannot express, and SLEEF's functions with at most 1 unit of error (u10). The one place that sees
 * SLEEF.
 *
 * ref_kernels.c is compiled once for each instruction set of meson.build and each precision; the
 * macros that the compiler sets for that instruction set choose here. */
#ifndef ASSAY_REFERENCE_REF_SIMD_H
#define ASSAY_REFERENCE_REF_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "reference/ref_real.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define SIMD_HAS_SLEEF 1
#elif defined(__aarch64__)
#include <arm_neon.h>
#define SIMD_HAS_SLEEF 1
#else
#define SIMD_HAS_SLEEF 0
#endif
#if SIMD_HAS_SLEEF
#include <sleef.h>
#endif

#if defined(__AVX512F__)
#define SIMD_NAME  "avx512"
#define SIMD_BYTES 64
#elif defined(__AVX2__)
#define SIMD_NAME  "avx2"
#define SIMD_BYTES 32
#else
#define SIMD_NAME  "baseline"
#define SIMD_BYTES 16
#endif

#if REF_BITS == 32
typedef int32_t lane_int;
#else
typedef int64_t lane_int;
#endif
typedef real vec __attribute__((vector_size(SIMD_BYTES)));
typedef lane_int vec_int __attribute__((vector_size(SIMD_BYTES))); /* 0 or -1 from comparisons */
#define LANES ((int64_t)(SIMD_BYTES / sizeof(real)))

#define SIMD_INLINE static inline __attribute__((always_inline, unused))

SIMD_INLINE vec vec_load(const real *from) {
  vec v;
  memcpy(&v, from, sizeof v);
  return v;
}

SIMD_INLINE void vec_store(real *to, vec v) {
  memcpy(to, &v, sizeof v);
}

SIMD_INLINE vec vec_splat(real value) {
  return value - (vec){0};
}

/* mask ? a : b, lane by lane. */
SIMD_INLINE vec vec_select(vec_int mask, vec a, vec b) {
  return (vec)((mask & (vec_int)a) | (~mask & (vec_int)b));
}

SIMD_INLINE vec vec_max(vec a, vec b) {
#if defined(__AVX512F__) && REF_BITS == 32
  return (vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX512F__)
  return (vec)_mm512_max_pd((__m512d)a, (__m512d)b);
#else
  return vec_select(a > b, a, b);
#endif
}

/* Each lane rounded to FP16, to nearest even, and widened again: subnormals kept, magnitudes from
 * 65520 on to infinity, NaN quiet with the upper bits of its payload. The same bits everywhere. */
SIMD_INLINE vec vec_half(vec v) {
#if REF_BITS == 64
  return v; /* no plan reaches FP64 */
#elif defined(__AVX512F__)
  return (vec)_mm512_cvtph_ps(_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
  return (vec)_mm256_cvtph_ps(_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
#else
  typedef uint32_t bits __attribute__((vector_size(SIMD_BYTES)));
  const bits magnitude = (bits)v & 0x7fffffffU, sign = (bits)v & 0x80000000U;
  /* 13 of the 23 fraction bits go; half of the last kept one less an ulp, and that bit, carry */
  bits rounded = (magnitude + 0xfffU + ((magnitude >> 13) & 1U)) & ~0x1fffU;
  /* below 2^-14 FP16 counts in units of 2^-24, as FP32 does between 0.5 and 1 */
  bits small = (bits)(((vec)magnitude + 0.5F) - 0.5F);
  const bits is_small = (bits)(magnitude < 0x38800000U), is_large = (bits)(rounded > 0x477fe000U);
  const bits is_nan = (bits)(magnitude > 0x7f800000U);
  rounded = (is_small & small) | (~is_small & rounded);
  rounded = (is_large & 0x7f800000U) | (~is_large & rounded);
  rounded = (is_nan & ((magnitude | 0x400000U) & ~0x1fffU)) | (~is_nan & rounded);
  return (vec)(rounded | sign);
#endif
}

/* Halves until one lane is left, so the order of the sum is that of a tree. */
SIMD_INLINE real vec_sum(vec v) {
  real lanes[SIMD_BYTES / sizeof(real)];
  vec_store(lanes, v);
  for (int64_t half = LANES / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; i++) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

SIMD_INLINE real vec_highest(vec v) {
#if defined(__AVX512F__) && REF_BITS == 32
  return _mm512_reduce_max_ps((__m512)v);
#elif defined(__AVX512F__)
  return _mm512_reduce_max_pd((__m512d)v);
#else
  real highest = v[0];
  for (int64_t i = 1; i < LANES; i++) highest = v[i] > highest ? v[i] : highest;
  return highest;
#endif
}

/* SLEEF names its vector functions by type, lanes and instruction set. */
#if !SIMD_HAS_SLEEF
#elif defined(__AVX512F__) && REF_BITS == 32
#define SIMD_SLEEF(f, v) (vec) Sleef_##f##f16_u10avx512f((__m512)(v))
#elif defined(__AVX512F__)
#define SIMD_SLEEF(f, v) (vec) Sleef_##f##d8_u10avx512f((__m512d)(v))
#elif defined(__AVX2__) && REF_BITS == 32
#define SIMD_SLEEF(f, v) (vec) Sleef_##f##f8_u10avx2((__m256)(v))
#elif defined(__AVX2__)
#define SIMD_SLEEF(f, v) (vec) Sleef_##f##d4_u10avx2((__m256d)(v))
#elif defined(__x86_64__) && REF_BITS == 32
#define SIMD_SLEEF(f, v) (vec) Sleef_##f##f4_u10((__m128)(v))
#elif defined(__x86_64__)
#define SIMD_SLEEF(f, v) (vec) Sleef_##f##d2_u10((__m128d)(v))
#elif REF_BITS == 32
#define SIMD_SLEEF(f, v) (vec) Sleef_##f##f4_u10((float32x4_t)(v))
#else
#define SIMD_SLEEF(f, v) (vec) Sleef_##f##d2_u10((float64x2_t)(v))
#endif

#define SIMD_TEXT(x)   #x
#define SIMD_NUMBER(x) SIMD_TEXT(x)
#if SIMD_HAS_SLEEF
#define SIMD_LIBRARY                                                                               \
  "SLEEF " SIMD_NUMBER(SLEEF_VERSION_MAJOR) "." SIMD_NUMBER(SLEEF_VERSION_MINOR) "." SIMD_NUMBER(  \
      SLEEF_VERSION_PATCHLEVEL)
#else
#define SIMD_LIBRARY "libm"
#endif

#if REF_BITS == 32
#define SIMD_LIBM(name) name##f
#else
#define SIMD_LIBM(name) name
#endif

#if SIMD_HAS_SLEEF
#define SIMD_FUNCTION(f)                                                                           \
  SIMD_INLINE vec vec_##f(vec v) {                                                                 \
    return SIMD_SLEEF(f, v);                                                                       \
  }
#else
#define SIMD_FUNCTION(f)                                                                           \
  SIMD_INLINE vec vec_##f(vec v) {                                                                 \
    for (int64_t i = 0; i < LANES; i++) v[i] = SIMD_LIBM(f)(v[i]);                                 \
    return v;                                                                                      \
  }
#endif

SIMD_FUNCTION(exp)
SIMD_FUNCTION(expm1)
SIMD_FUNCTION(erf)

/* exp(x) for x <= 0, with at most 2 units of error where the result is above 1e-37, and 0 below:
 * the weight of a softmax, of which attention takes N^2 a head. Inlined in FP32 it saves a tenth of
 * a whole evaluation over a call of SLEEF's, which takes any argument; FP64 calls that.
 *
 * exp(x) = 2^n exp(r), n = round(x / log 2), r = x - n log 2 in two steps (log 2 = 0.693359375
 * - 2.1219444e-4, the first with 9 bits), exp(r) = 1 + r + r^2 p(r). Coefficients: Cephes, expf.c.
 */
SIMD_INLINE vec vec_exp_nonpositive(vec x) {
#if REF_BITS == 32
  typedef uint32_t bits __attribute__((vector_size(SIMD_BYTES)));
  const real round_up = 0x1.8p23F; /* a sum with it has no fraction left, and n in its low bits */
  vec shifted = x * 1.44269504088896341F + round_up;
  vec n = shifted - round_up;
  vec r = x - n * 0.693359375F;
  r = r - n * -2.12194440e-4F;
  vec p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  vec power = (vec)(((bits)shifted << 23) + 0x3f800000U); /* 2^n */
  const vec zero = {0};
  return vec_select(x < -86.0F, zero, p * power); /* NaN stays NaN */
#else
  return vec_exp(x);
#endif
}

#endif
