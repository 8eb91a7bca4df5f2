/* PyTorch's CPU generator: the engine, uniforms, normals, and the inverse error function.
 *
 * Every rounding counts here. Where the source has a fused multiply-add, fmaf is called by name
 * (correctly rounded whatever the processor); everything else relies on -ffp-contract=off.
 *
 * Source: models.md C.5. The polynomials of ln, sin and cos are those of Cephes in single
 * precision, as torch's AVX2 kernel evaluates them. */
#include "model/torch_rng.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK 16 /* normals are made 16 at a time: 8 radii, 8 angles */

void torch_rng_init(torch_rng *rng, uint64_t seed) {
  rng->state[0] = (uint32_t)seed;
  for (uint32_t i = 1; i < TORCH_RNG_WORDS; i++) {
    const uint32_t before = rng->state[i - 1];
    rng->state[i] = UINT32_C(1812433253) * (before ^ (before >> 30)) + i;
  }
  rng->next = TORCH_RNG_WORDS;
  rng->has_kept_normal = false;
}

static void next_block(torch_rng *rng) {
  uint32_t *s = rng->state;
  for (int i = 0; i < TORCH_RNG_WORDS; i++) {
    const uint32_t y =
        (s[i] & UINT32_C(0x80000000)) | (s[(i + 1) % TORCH_RNG_WORDS] & UINT32_C(0x7fffffff));
    s[i] = s[(i + 397) % TORCH_RNG_WORDS] ^ (y >> 1) ^ ((y & 1) ? UINT32_C(0x9908b0df) : 0);
  }
  rng->next = 0;
}

uint32_t torch_rng_bits(torch_rng *rng) {
  if (rng->next == TORCH_RNG_WORDS) next_block(rng);
  uint32_t y = rng->state[rng->next++];
  y ^= y >> 11;
  y ^= (y << 7) & UINT32_C(0x9d2c5680);
  y ^= (y << 15) & UINT32_C(0xefc60000);
  return y ^ (y >> 18);
}

/* The low 24 bits as a fraction; exact. */
static float unit(torch_rng *rng) {
  return (float)(torch_rng_bits(rng) & UINT32_C(0xffffff)) * 0x1p-24f;
}

float torch_rng_rand(torch_rng *rng) {
  return unit(rng);
}

void torch_rng_uniform(torch_rng *rng, double low, double high, float *out, size_t n) {
  const float from = (float)low, range = (float)high - from;
  for (size_t i = 0; i < n; i++) out[i] = fmaf(unit(rng), range, from);
}

void torch_rng_discard(torch_rng *rng, size_t n) {
  for (size_t i = 0; i < n; i++) (void)torch_rng_bits(rng);
}

/* ln x for x in (0, 1]. */
static float ln_f32(float x) {
  static const float C[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                            -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                            2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  float k = (float)((int)(bits >> 23) - 127) + 1.0f;
  bits = (bits & UINT32_C(0x807fffff)) | UINT32_C(0x3f000000);
  float f;
  memcpy(&f, &bits, sizeof f); /* the mantissa in [0.5, 1) */
  if (f < 0.707106781186547524f) {
    k -= 1.0f;
    f = (f - 1.0f) + f;
  } else {
    f -= 1.0f;
  }
  const float z = f * f;
  float y = C[0];
  for (size_t i = 1; i < sizeof C / sizeof C[0]; i++) y = fmaf(y, f, C[i]);
  y = y * f;
  y = fmaf(y, z, k * -2.12194440e-4f);
  y = fmaf(-z, 0.5f, y);
  return fmaf(k, 0.693359375f, f + y);
}

/* sin and cos of x in [0, 2 pi). */
static void sincos_f32(float x, float *out_sin, float *out_cos) {
  const int j = ((int)(x * 1.27323954473516f) + 1) & ~1;
  const float y = (float)j;
  float r = fmaf(y, -0.78515625f, x);
  r = fmaf(y, -2.4187564849853515625e-4f, r);
  r = fmaf(y, -3.77489497744594108e-8f, r);
  const float z = r * r;
  float c = 2.443315711809948e-5f;
  c = fmaf(c, z, -1.388731625493765e-3f);
  c = fmaf(c, z, 4.166664568298827e-2f);
  c = c * z;
  c = fmaf(c, z, -(z * 0.5f));
  c = c + 1.0f;
  float s = -1.9515295891e-4f;
  s = fmaf(s, z, 8.3321608736e-3f);
  s = fmaf(s, z, -1.6666654611e-1f);
  s = s * z;
  s = fmaf(s, r, r);
  const bool swap = (j & 2) != 0;
  const float sine = swap ? c : s, cosine = swap ? s : c;
  *out_sin = (j & 4) ? -sine : sine;
  *out_cos = ((j - 2) & 4) ? cosine : -cosine;
}

/* Box-Muller on 16 uniforms in place: u1 from the first eight, u2 from the last eight. */
static void normal_block(float *u) {
  const float two_pi = 6.283185307179586f;
  for (int i = 0; i < BLOCK / 2; i++) {
    const float u1 = 1.0f - u[i], theta = two_pi * u[i + BLOCK / 2];
    const float radius = sqrtf(-2.0f * ln_f32(u1));
    float sine, cosine;
    sincos_f32(theta, &sine, &cosine);
    u[i] = radius * cosine;
    u[i + BLOCK / 2] = radius * sine;
  }
}

/* 53 bits in [0, 1): two words, the first one high. */
static double unit_f64(torch_rng *rng) {
  const uint64_t high = torch_rng_bits(rng);
  const uint64_t bits = (high << 32) | torch_rng_bits(rng);
  return (double)(bits & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}

static float normal_scalar(torch_rng *rng) {
  if (rng->has_kept_normal) {
    rng->has_kept_normal = false;
    return (float)rng->kept_normal;
  }
  const double u1 = unit_f64(rng), u2 = unit_f64(rng);
  const double radius = sqrt(-2.0 * log1p(-u2)), theta = 2.0 * 3.14159265358979323846 * u1;
  rng->kept_normal = radius * sin(theta);
  rng->has_kept_normal = true;
  return (float)(radius * cos(theta));
}

void torch_rng_normal(torch_rng *rng, float *out, size_t n) {
  if (n < BLOCK) {
    for (size_t i = 0; i < n; i++) out[i] = normal_scalar(rng);
    return;
  }
  for (size_t i = 0; i < n; i++) out[i] = unit(rng);
  for (size_t i = 0; i + BLOCK <= n; i += BLOCK) normal_block(out + i);
  if (n % BLOCK == 0) return;
  float *last = out + n - BLOCK; /* the tail is made again from 16 fresh draws */
  for (int i = 0; i < BLOCK; i++) last[i] = unit(rng);
  normal_block(last);
}

/* Highest power first, one rounding a step. */
static float horner(const float *c, int n, float z) {
  float y = c[0];
  for (int i = 1; i < n; i++) y = fmaf(y, z, c[i]);
  return y;
}

float torch_erfinv(float y) {
  static const float A[] = {-0.140543331f, 0.914624893f, -1.645349621f, 0.886226899f};
  static const float B[] = {0.012229801f, -0.329097515f, 1.442710462f, -2.118377725f, 1.0f};
  static const float C[] = {1.641345311f, 3.429567803f, -1.624906493f, -1.970840454f};
  static const float D[] = {1.637067800f, 3.543889200f, 1.0f};
  const float slope = 1.1283791670955126f; /* 2/sqrt(pi) */
  const float size = fabsf(y);
  float x;
  if (size >= 1.0f) return size > 1.0f ? NAN : copysignf(INFINITY, y);
  if (size <= 0.7f) {
    const float z = y * y;
    x = (y * horner(A, 4, z)) / horner(B, 5, z);
  } else {
    const float z = sqrtf(-logf((1.0f - size) / 2.0f));
    x = (copysignf(1.0f, y) * horner(C, 4, z)) / horner(D, 3, z);
  }
  for (int i = 0; i < 2; i++) {
    const float erf_x =
        (float)erf((double)x); /* correctly rounded: libms' erff differ (models.md H.3) */
    x = x - (erf_x - y) / (slope * expf(-x * x));
  }
  return x;
}
