/* Each kernel of each instruction set that this processor has, against its definition in long
 * double or double. Compiled for each precision. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "reference/ref_blas.h"
#include "reference/ref_kernels.h"

#if REF_BITS == 32
#define EPSILON  (double)FLT_EPSILON
#define SMALLEST (double)FLT_MIN /* normal; below it digits are lost */
#else
#define EPSILON  DBL_EPSILON
#define SMALLEST DBL_MIN
#endif

static const char *const isas[] = {"baseline", "avx2", "avx512"};

static uint32_t random_state = 1;

static double uniform(double low, double high) { /* xorshift */
  random_state ^= random_state << 13;
  random_state ^= random_state >> 17;
  random_state ^= random_state << 5;
  return low + (high - low) * (random_state / 4294967296.0);
}

static void fill(real *x, int64_t n, double low, double high) {
  for (int64_t i = 0; i < n; i++) x[i] = (real)uniform(low, high);
}

static void check(const char *isa, const char *what, int64_t i, real got, double expected,
                  double tolerance) {
  if (fabs((double)got - expected) <= tolerance) return;
  fail_msg("%s, %s, element %lld: got %.17g, expected %.17g: differs by %.3g, allowed %.3g", isa,
           what, (long long)i, (double)got, expected, fabs((double)got - expected), tolerance);
}

typedef void (*kernel_test)(const ref_kernels *kernels);

static void on_each_isa(kernel_test test) {
  int n = 0;
  for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
    const ref_kernels *kernels = ref_kernels_find(isas[i]);
    if (kernels == NULL) continue;
    assert_string_equal(kernels->name, isas[i]);
    test(kernels);
    n++;
  }
  assert_true(n > 0);
}

static void an_unknown_instruction_set_is_not_found(void **state) {
  (void)state;
  assert_null(ref_kernels_find("mmx"));
  assert_non_null(ref_kernels_find(/*name=*/NULL));
}

static double activation(ref_act act, double x) {
  switch (act) {
  case REF_ACT_NONE:
    return x;
  case REF_ACT_ELU:
    return x > 0 ? x : expm1(x);
  case REF_ACT_RELU:
    return x > 0 ? x : 0;
  case REF_ACT_RELU6:
    return x < 0 ? 0 : x > 6 ? 6 : x;
  case REF_ACT_LEAKYRELU:
    return x > 0 ? x : 0.01 * x;
  case REF_ACT_GELU:
    return x * 0.5 * (1 + erf(x * sqrt(0.5)));
  case REF_ACT_SILU:
    return x / (1 + exp(-x));
  }
  return x;
}

/* 4 units of the value, or of the largest term where two cancel (GELU: half of x). */
static void activations(const ref_kernels *kernels) {
  enum { ROWS = 3, COLS = 37 }; /* no multiple of any vector */
  for (int act = REF_ACT_NONE; act <= REF_ACT_SILU; act++) {
    real x[ROWS * COLS], bias[COLS], out[ROWS * COLS];
    fill(x, ROWS * COLS, -12, 12);
    fill(bias, COLS, -1, 1);
    x[0] = -bias[0]; /* exactly zero */
    x[1] = -200 - bias[1];
    x[2] = 200 - bias[2];
    x[3] = (real)-1e-6 - bias[3];
    for (int with_bias = 0; with_bias < 2; with_bias++) {
      memcpy(out, x, sizeof x);
      kernels->bias_act(out, with_bias ? bias : NULL, ROWS, COLS, (ref_act)act);
      for (int i = 0; i < ROWS * COLS; i++) {
        double sum = (double)(x[i] + (with_bias ? bias[i % COLS] : 0));
        double expected = activation((ref_act)act, sum);
        double scale = act == REF_ACT_GELU ? fmax(fabs(sum), fabs(expected)) : fabs(expected);
        check(kernels->name, "activation", i, out[i], expected, 4 * EPSILON * scale + SMALLEST);
      }
    }
  }
}

static void activations_follow_their_definitions(void **state) {
  (void)state;
  on_each_isa(activations);
}

static void elementwise(const ref_kernels *kernels) {
  enum { N = 101 };
  real gate[N], up[N], x[N], shift[N], out[N];
  fill(gate, N, -9, 9);
  fill(up, N, -3, 3);
  memcpy(out, gate, sizeof gate);
  kernels->gated_silu(out, up, N);
  for (int i = 0; i < N; i++) {
    double expected = activation(REF_ACT_SILU, (double)gate[i]) * (double)up[i];
    check(kernels->name, "gated silu", i, out[i], expected, 6 * EPSILON * fabs(expected));
  }
  fill(shift, N, -2, 2);
  for (int i = 0; i < N; i++) x[i] = shift[i] - (real)uniform(0, 20);
  x[0] = -(real)INFINITY;
  memcpy(out, x, sizeof x);
  kernels->exp_shifted(out, shift, N);
  for (int i = 0; i < N; i++) {
    double expected = exp((double)(x[i] - shift[i]));
    check(kernels->name, "exp", i, out[i], expected, 2 * EPSILON * expected);
  }
}

static void gates_and_exponentials_follow_their_definitions(void **state) {
  (void)state;
  on_each_isa(elementwise);
}

static void norms(const ref_kernels *kernels) {
  enum { COLS_MAX = 130 };
  const int64_t widths[] = {1, 2, 15, 16, 17, 33, 128, COLS_MAX};
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
    int64_t n = widths[w];
    real x[2 * COLS_MAX], weight[COLS_MAX], bias[COLS_MAX], layer[2 * COLS_MAX], rms[2 * COLS_MAX];
    fill(x, 2 * n, 3, 5); /* a mean far from zero: a one-pass variance would lose digits */
    fill(weight, n, 0.5, 2);
    fill(bias, n, -1, 1);
    kernels->layer_norm(x, weight, bias, /*rows=*/2, n, layer);
    kernels->rms_norm(x, weight, /*rows=*/2, n, rms);
    for (int64_t row = 0; row < 2; row++) {
      long double mean = 0, variance = 0, square = 0;
      for (int64_t i = 0; i < n; i++) mean += (long double)x[row * n + i] / n;
      for (int64_t i = 0; i < n; i++) {
        long double value = (long double)x[row * n + i];
        variance += (value - mean) * (value - mean) / n;
        square += value * value / n;
      }
      for (int64_t i = 0; i < n; i++) {
        double value = (double)x[row * n + i], factor = (double)weight[i];
        double scale = factor / sqrt((double)variance + 1e-5);
        double normalised = (double)((long double)x[row * n + i] - mean) * scale;
        /* the mean is rounded in units of 4, the rest in units of the result */
        check(kernels->name, "layer norm", i, layer[row * n + i], normalised + (double)bias[i],
              8 * EPSILON * scale + 8 * EPSILON * fabs(normalised) + 2 * EPSILON);
        check(kernels->name, "rms norm", i, rms[row * n + i],
              value / sqrt((double)square + 1e-6) * factor, 16 * EPSILON * factor);
      }
    }
    real in_place[2 * COLS_MAX];
    memcpy(in_place, x, sizeof in_place);
    kernels->layer_norm(in_place, weight, bias, /*rows=*/2, n, in_place);
    assert_memory_equal(in_place, layer, (size_t)(2 * n) * sizeof(real));
  }
}

static void norms_follow_their_definitions(void **state) {
  (void)state;
  on_each_isa(norms);
}

enum { KEYS_MAX = 600, DIM_MAX = 40, QUERIES = REF_QUERIES };

/* Row-major keys and values to panels and padded rows. */
static void lay_out(const real *k, const real *v, int64_t n, int64_t dim, real *panels,
                    real *rows) {
  int64_t padded = ref_padded_dim(dim);
  memset(panels, 0, (size_t)(ref_whole_panels(n) * dim) * sizeof(real));
  memset(rows, 0, (size_t)(ref_whole_panels(n) * padded) * sizeof(real));
  for (int64_t j = 0; j < n; j++) {
    for (int64_t c = 0; c < dim; c++) {
      panels[j / REF_PANEL * REF_PANEL * dim + c * REF_PANEL + j % REF_PANEL] = k[j * dim + c];
      rows[j * padded + c] = v[j * dim + c];
    }
  }
}

static void check_attention(const ref_kernels *kernels, int64_t n_queries, int64_t n_keys,
                            int64_t dim, double size) {
  static real q[QUERIES * DIM_MAX], k[KEYS_MAX * DIM_MAX], v[KEYS_MAX * DIM_MAX];
  static real panels[(KEYS_MAX + REF_PANEL) * DIM_MAX];
  static real rows[(KEYS_MAX + REF_PANEL) * (DIM_MAX + REF_PANEL)];
  static real scratch[QUERIES * (256 + DIM_MAX + DIM_MAX + REF_PANEL)];
  real out[QUERIES * (DIM_MAX + 3)], lse[QUERIES];
  fill(q, n_queries * dim, -size, size);
  fill(k, n_keys * dim, -1, 1);
  fill(v, n_keys * dim, -1, 1);
  lay_out(k, v, n_keys, dim, panels, rows);
  assert_true(ref_attention_scratch(dim) * (int64_t)sizeof(real) <= (int64_t)sizeof scratch);
  const ref_attention attention = {.queries = q,
                                   .n_queries = n_queries,
                                   .keys = panels,
                                   .values = rows,
                                   .n_keys = n_keys,
                                   .dim = dim,
                                   .out = out,
                                   .out_stride = dim + 3,
                                   .lse = lse,
                                   .scratch = scratch};
  kernels->attend(&attention);
  for (int64_t i = 0; i < n_queries; i++) {
    double scores[KEYS_MAX], highest = -HUGE_VAL, total = 0, expected[DIM_MAX] = {0};
    for (int64_t j = 0; j < n_keys; j++) {
      scores[j] = 0;
      for (int64_t c = 0; c < dim; c++)
        scores[j] += (double)q[i * dim + c] * (double)k[j * dim + c];
      highest = fmax(highest, scores[j]);
    }
    for (int64_t j = 0; j < n_keys; j++) total += exp(scores[j] - highest);
    for (int64_t j = 0; j < n_keys; j++) {
      for (int64_t c = 0; c < dim; c++) {
        expected[c] += exp(scores[j] - highest) / total * (double)v[j * dim + c];
      }
    }
    /* a score's error is at most dim units of size*dim, and enters as a factor of the weights */
    double tolerance = EPSILON * (8 + 0.25 * size * (double)dim);
    for (int64_t c = 0; c < dim; c++) {
      check(kernels->name, "attention", i * dim + c, out[i * (dim + 3) + c], expected[c],
            tolerance);
    }
    double expected_lse = n_keys > 0 ? highest + log(total) : 0;
    check(kernels->name, "log sum exp", i, lse[i], expected_lse,
          tolerance + 2 * EPSILON * fabs(expected_lse));
  }
}

static void attention(const ref_kernels *kernels) {
  const int64_t keys[] = {0, 1, 2, 15, 16, 17, 63, 64, 65, 100, 255, 256, 257, 512, KEYS_MAX};
  const int64_t dims[] = {1, 7, 8, 16, 17, 32, DIM_MAX};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    for (size_t j = 0; j < sizeof dims / sizeof dims[0]; j++) {
      check_attention(kernels, /*n_queries=*/QUERIES, keys[i], dims[j], /*size=*/2);
    }
  }
  for (int64_t n = 1; n <= QUERIES; n++) {
    check_attention(kernels, n, /*n_keys=*/100, /*dim=*/16, /*size=*/1);
  }
  /* scores of hundreds: weights that underflow, and a maximum that rises from block to block */
  check_attention(kernels, QUERIES, KEYS_MAX, /*dim=*/16, /*size=*/100);
}

static void attention_is_softmax_of_scores_times_values(void **state) {
  (void)state;
  on_each_isa(attention);
}

/* One query and two keys that score 0 and -x, with values 0 and 1: out = w / (1 + w), w = exp(-x).
 */
static void softmax_weights(const ref_kernels *kernels) {
  real q = 1, keys[REF_PANEL] = {0}, values[REF_PANEL * REF_PANEL] = {0};
  real out, scratch[QUERIES * (256 + 1 + 16)];
  values[REF_PANEL] = 1; /* of key 1; rows are padded */
  const ref_attention two = {.queries = &q,
                             .n_queries = 1,
                             .keys = keys,
                             .values = values,
                             .n_keys = 2,
                             .dim = 1,
                             .out = &out,
                             .out_stride = 1,
                             .scratch = scratch};
  for (int i = 0; i < 20000; i++) {
    keys[1] = (real)(-i * 0.0043);
    kernels->attend(&two);
    double weight = exp((double)keys[1]);
    check(kernels->name, "softmax weight", i, out, weight / (1 + weight), 3 * EPSILON * weight);
  }
  const real far[] = {-87, -1000, (real)-1e30, -(real)INFINITY}; /* nothing, and no NaN */
  for (int i = 0; i < 4; i++) {
    keys[1] = far[i];
    kernels->attend(&two);
    check(kernels->name, "softmax weight of a far key", i, out, 0, 2e-38);
  }
  keys[1] = (real)NAN; /* must not vanish */
  kernels->attend(&two);
  assert_true(isnan(out));
}

static void softmax_weights_are_right_down_to_nothing(void **state) {
  (void)state;
  on_each_isa(softmax_weights);
}

static void attention_without_keys(const ref_kernels *kernels) {
  real q[16] = {1}, out[16], lse = 5, scratch[QUERIES * (256 + 16 + 16)];
  const ref_attention nothing = {.queries = q,
                                 .n_queries = 1,
                                 .dim = 16,
                                 .out = out,
                                 .out_stride = 16,
                                 .lse = &lse,
                                 .scratch = scratch};
  for (int i = 0; i < 16; i++) out[i] = 7;
  kernels->attend(&nothing);
  for (int i = 0; i < 16; i++) assert_true(out[i] == 0);
  assert_true(lse == 0);
}

static void attention_to_nothing_is_zero(void **state) {
  (void)state;
  on_each_isa(attention_without_keys);
}

/* ---- blocks in FP16 ---- */

#if REF_BITS == 32

static float half(float value) {
  return assay_f16_to_f32(assay_f16_of_f32(value));
}

static float of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static void check_rounding(const ref_kernels *kernels, const float *values, int64_t n) {
  float out[64];
  assert_true(n <= 64);
  memcpy(out, values, (size_t)n * sizeof *out);
  kernels->round_half(out, n);
  for (int64_t i = 0; i < n; i++) {
    uint32_t got = bits_of(out[i]), want = bits_of(half(values[i]));
    if (got == want) continue;
    fail_msg("%s: %a (%08x) rounds to %08x, expected %08x", kernels->name, (double)values[i],
             (unsigned)bits_of(values[i]), (unsigned)got, (unsigned)want);
  }
}

/* Around each value of FP16 and each middle of two, where roundings part; NaN of any payload. */
static void rounding(const ref_kernels *kernels) {
  for (uint32_t i = 0; i < 0x10000; i++) {
    float values[19];
    int n = 0;
    uint32_t at = bits_of(assay_f16_to_f32((uint16_t)i));
    uint32_t next = bits_of(assay_f16_to_f32((uint16_t)(i + 1)));
    uint32_t middle = bits_of((of_bits(at) + of_bits(next)) / 2);
    for (uint32_t k = 0; k < 5; k++) values[n++] = of_bits(at + k - 2);
    for (uint32_t k = 0; k < 5; k++) values[n++] = of_bits(middle + k - 2);
    for (uint32_t k = 0; k < 9; k++)
      values[n++] = of_bits((i << 16) + (i * 40503U + k * 7919U) % 65536);
    check_rounding(kernels, values, n);
  }
  const float edges[] = {
      0,        -0.0F,     65504,  65519.996F, 65520,        -65520,       1e30F,
      INFINITY, -INFINITY, NAN,    0x1p-24F,   0x1p-25F,     0x1.8p-24F,   0x1.8p-25F,
      0x1p-26F, FLT_MIN,   1e-42F, -0x1p-149F, 0x1.ffcp-15F, 0x1.ffep-15F, 0x1.fffp-15F,
      FLT_MAX};
  check_rounding(kernels, edges, sizeof edges / sizeof edges[0]);
}

static void rounding_has_the_same_bits_everywhere(void **state) {
  (void)state;
  on_each_isa(rounding);
}

/* As the plan says, one operation after the other. */
static float half_activation(ref_act act, float x) {
  if (act == REF_ACT_NONE) return x;
  return half((float)activation(act, (double)x));
}

/* Functions of SLEEF may differ by a unit of FP32: one result in thousands then rounds to the other
 * side, to a neighbour in FP16. In the tail of GELU, where 1 + erf cancels, that unit is one of x:
 * small results are checked, but not counted. */
typedef struct neighbours {
  int64_t n, n_apart;
} neighbours;

static void check_half(const ref_kernels *kernels, const char *what, int64_t i, float got,
                       float want, neighbours *count) {
  bool counts = fabsf(want) >= 0x1p-5F;
  count->n += counts;
  if (got == want) return;
  count->n_apart += counts;
  check(kernels->name, what, i, got, (double)want, fabs((double)want) * 0x1p-10 + 0x1p-22);
}

static void check_few_apart(const char *what, const neighbours *count) {
  if (count->n_apart * 500 <= count->n) return;
  fail_msg("%s: %lld of %lld are a neighbour in FP16 of what is expected", what,
           (long long)count->n_apart, (long long)count->n);
}

static void half_elementwise(const ref_kernels *kernels) {
  enum { ROWS = 40, COLS = 37, N = ROWS * COLS };
  float x[N], out[N], bias[COLS];
  neighbours count = {0};
  fill(x, N, -8, 8);
  fill(bias, COLS, -1, 1);
  for (int i = 0; i < COLS; i++) bias[i] = half(bias[i]);
  for (int act = REF_ACT_NONE; act <= REF_ACT_SILU; act++) {
    for (int with_bias = 0; with_bias < 2; with_bias++) {
      memcpy(out, x, sizeof x);
      kernels->bias_act_half(out, with_bias ? bias : NULL, ROWS, COLS, (ref_act)act);
      for (int i = 0; i < N; i++) {
        float sum = half(x[i]);
        if (with_bias) sum = half(sum + bias[i % COLS]);
        check_half(kernels, "activation", i, out[i], half_activation((ref_act)act, sum), &count);
      }
    }
  }
  check_few_apart("activations", &count);
}

static void half_activations_round_each_operation(void **state) {
  (void)state;
  on_each_isa(half_elementwise);
}

typedef struct half_case {
  int64_t n_queries, n_keys, dim;
  bool half_scores;
  float scale;
} half_case;

/* out is not rounded: sums of at most KEYS_MAX products may differ in their last bits. Where a
 * score or a weight is the neighbour of what is expected, so is the sum a little: counted. */
static void check_half_attention(const ref_kernels *kernels, const half_case *c,
                                 neighbours *count) {
  static float q[QUERIES * DIM_MAX], k[KEYS_MAX * DIM_MAX], v[KEYS_MAX * DIM_MAX];
  static float panels[(KEYS_MAX + REF_PANEL) * DIM_MAX];
  static float rows[(KEYS_MAX + REF_PANEL) * (DIM_MAX + REF_PANEL)];
  static float scratch[QUERIES * (KEYS_MAX + 3 * REF_PANEL + 2 * DIM_MAX)];
  float out[QUERIES * (DIM_MAX + 3)], lse[QUERIES];
  fill(q, c->n_queries * c->dim, -2, 2);
  fill(k, c->n_keys * c->dim, -1, 1);
  fill(v, c->n_keys * c->dim, -1, 1);
  for (int64_t i = 0; i < c->n_queries * c->dim; i++) q[i] = half(q[i]);
  for (int64_t i = 0; i < c->n_keys * c->dim; i++) {
    k[i] = half(k[i]);
    v[i] = half(v[i]);
  }
  lay_out(k, v, c->n_keys, c->dim, panels, rows);
  assert_true(ref_attention_half_scratch(c->dim, c->n_keys) * (int64_t)sizeof(float) <=
              (int64_t)sizeof scratch);
  const ref_attention attention = {.queries = q,
                                   .n_queries = c->n_queries,
                                   .keys = panels,
                                   .values = rows,
                                   .n_keys = c->n_keys,
                                   .dim = c->dim,
                                   .out = out,
                                   .out_stride = c->dim + 3,
                                   .lse = lse,
                                   .half_scores = c->half_scores,
                                   .score_scale = c->scale,
                                   .scratch = scratch};
  kernels->attend_half(&attention);
  for (int64_t i = 0; i < c->n_queries; i++) {
    double scores[KEYS_MAX], highest = -HUGE_VAL, total = 0, expected[DIM_MAX] = {0};
    for (int64_t j = 0; j < c->n_keys; j++) {
      double sum = 0;
      for (int64_t d = 0; d < c->dim; d++) {
        sum += (double)q[i * c->dim + d] * (double)k[j * c->dim + d];
      }
      scores[j] = c->half_scores ? (double)half(half((float)sum) * c->scale) : sum;
      highest = fmax(highest, scores[j]);
    }
    for (int64_t j = 0; j < c->n_keys; j++) total += exp(scores[j] - highest);
    for (int64_t j = 0; j < c->n_keys; j++) {
      double weight = (double)half((float)(exp(scores[j] - highest) / total));
      for (int64_t d = 0; d < c->dim; d++) expected[d] += weight * (double)v[j * c->dim + d];
    }
    for (int64_t d = 0; d < c->dim; d++) {
      double got = (double)out[i * (c->dim + 3) + d];
      count->n++;
      if (fabs(got - expected[d]) <= 4 * EPSILON) continue;
      count->n_apart++;
      check(kernels->name, "half attention", i * c->dim + d, (real)got, expected[d], 0x1p-11);
    }
    double want = c->n_keys > 0 ? highest + log(total) : 0;
    check(kernels->name, "half lse", i, lse[i], want,
          c->half_scores ? 0x1p-9 : 16 * EPSILON * fmax(1, fabs(want)));
  }
}

static void half_attention(const ref_kernels *kernels) {
  const int64_t keys[] = {0, 1, 15, 16, 17, 64, 100, 257, KEYS_MAX};
  const int64_t dims[] = {1, 8, 16, 17, DIM_MAX};
  for (int form = 0; form < 3; form++) {
    neighbours count = {0};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
      for (size_t j = 0; j < sizeof dims / sizeof dims[0]; j++) {
        const half_case c = {.n_queries = 1 + (int64_t)(i + j) % QUERIES,
                             .n_keys = keys[i],
                             .dim = dims[j],
                             .half_scores = form > 0,
                             .scale = form == 2 ? half(0.3535534F) : 1};
        check_half_attention(kernels, &c, &count);
      }
    }
    if (count.n_apart * 5 > count.n) {
      fail_msg("%s, form %d: %lld of %lld outputs are off", kernels->name, form,
               (long long)count.n_apart, (long long)count.n);
    }
  }
}

static void half_attention_rounds_scores_and_weights(void **state) {
  (void)state;
  on_each_isa(half_attention);
}

/* Sums of FP16 values in FP16, term after term, each step rounded. */
static void half_sums(const ref_kernels *kernels) {
  enum { ROWS = 19, N_IN = 300, OUT = 37 };
  static float x[ROWS * N_IN], w[OUT * N_IN], out[ROWS * OUT];
  fill(x, ROWS * N_IN, -2, 2);
  fill(w, OUT * N_IN, -1, 1);
  kernels->round_half(x, ROWS * N_IN);
  kernels->round_half(w, OUT * N_IN);
  x[0] = 65504;
  w[0] = 2; /* beyond FP16 at once, and for good */
  for (int64_t n_in = 1; n_in <= N_IN; n_in += n_in < 3 ? 1 : 127) {
    for (int64_t rows = 0; rows <= ROWS; rows += 19) {
      kernels->matmul_half_sums(x, w, rows, n_in, OUT, out);
      for (int64_t row = 0; row < rows; row++) {
        for (int64_t o = 0; o < OUT; o++) {
          float sum = 0;
          for (int64_t i = 0; i < n_in; i++)
            sum = half(sum + half(x[row * n_in + i] * w[o * n_in + i]));
          if (bits_of(sum) != bits_of(out[row * OUT + o]) &&
              !(isnan(sum) && isnan(out[row * OUT + o])))
            fail_msg("%s: [%lld,%lld] of %lld terms is %a, expected %a", kernels->name,
                     (long long)row, (long long)o, (long long)n_in, (double)out[row * OUT + o],
                     (double)sum);
        }
      }
    }
  }
}

static void half_sums_are_rounded_term_by_term(void **state) {
  (void)state;
  on_each_isa(half_sums);
}

/* Bit for bit what a provider that accumulates in FP16 gave: testdata/README.md. */
static void half_sums_of_a_provider(const ref_kernels *kernels) {
  enum { ROWS = 3, N_IN = 130, OUT = 17, N = ROWS * N_IN + OUT * N_IN + ROWS * OUT };
  uint16_t stored[N];
  static float values[N], out[ROWS * OUT];
  FILE *file = fopen("testdata/webgpu_matmul_f16.bin", "rb");
  assert_non_null(file);
  assert_int_equal(fread(stored, sizeof *stored, N, file), N);
  fclose(file);
  for (int i = 0; i < N; i++) values[i] = assay_f16_to_f32(stored[i]);
  const float *x = values, *w = x + ROWS * N_IN, *expected = w + OUT * N_IN;
  kernels->matmul_half_sums(x, w, ROWS, N_IN, OUT, out);
  for (int i = 0; i < ROWS * OUT; i++) assert_int_equal(bits_of(out[i]), bits_of(expected[i]));
}

static void half_sums_are_those_of_a_provider(void **state) {
  (void)state;
  on_each_isa(half_sums_of_a_provider);
}

#else

static void there_are_no_half_kernels_in_double(const ref_kernels *kernels) {
  assert_null(kernels->round_half);
  assert_null(kernels->attend_half);
  assert_null(kernels->matmul_half_sums);
}

static void double_has_no_half_kernels(void **state) {
  (void)state;
  on_each_isa(there_are_no_half_kernels_in_double);
}

#endif

static void products_follow_their_definition(void **state) {
  (void)state;
  enum { ROWS = 5, IN_MAX = 131, OUT = 7, X_STRIDE = IN_MAX + 2, OUT_STRIDE = OUT + 1 };
  static real x[ROWS * X_STRIDE], w[OUT * IN_MAX], out[ROWS * OUT_STRIDE];
  const int64_t widths[] = {1, 17, 32, 33, 128, IN_MAX};
  for (size_t k = 0; k < sizeof widths / sizeof widths[0]; k++) {
    int64_t n_in = widths[k];
    fill(x, ROWS * X_STRIDE, -1, 1);
    fill(w, OUT * n_in, -1, 1);
    fill(out, ROWS * OUT_STRIDE, 5, 6); /* must not be added to */
    ref_matmul_nt(x, X_STRIDE, w, ROWS, n_in, OUT, out, OUT_STRIDE);
    for (int64_t row = 0; row < ROWS; row++) {
      assert_true(out[row * OUT_STRIDE + OUT] >= 5);
      for (int64_t o = 0; o < OUT; o++) {
        double expected = 0;
        for (int64_t i = 0; i < n_in; i++) {
          expected += (double)x[row * X_STRIDE + i] * (double)w[o * n_in + i];
        }
        check("CBLAS", "product", row * OUT + o, out[row * OUT_STRIDE + o], expected,
              EPSILON * (1 + sqrt((double)n_in) * 4));
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_unknown_instruction_set_is_not_found),
    cmocka_unit_test(activations_follow_their_definitions),
    cmocka_unit_test(gates_and_exponentials_follow_their_definitions),
    cmocka_unit_test(norms_follow_their_definitions),
    cmocka_unit_test(attention_is_softmax_of_scores_times_values),
    cmocka_unit_test(softmax_weights_are_right_down_to_nothing),
    cmocka_unit_test(attention_to_nothing_is_zero),
#if REF_BITS == 32
    cmocka_unit_test(rounding_has_the_same_bits_everywhere),
    cmocka_unit_test(half_activations_round_each_operation),
    cmocka_unit_test(half_attention_rounds_scores_and_weights),
    cmocka_unit_test(half_sums_are_rounded_term_by_term),
    cmocka_unit_test(half_sums_are_those_of_a_provider),
#else
    cmocka_unit_test(double_has_no_half_kernels),
#endif
    cmocka_unit_test(products_follow_their_definition),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
