/* The kernels of ref_kernels.h in generic vectors; compiled once for each instruction set and
 * precision, with contraction allowed (-ffp-contract=fast), so that a*b+c becomes one fused
 * operation where there is one. Nothing that a hash key depends on is computed here.
 *
 * Source: models.md B.0 and B.3; the running softmax is that of Milakov and Gimelshein, "Online
 * normalizer calculation for softmax", 2018. */
#include "reference/ref_kernels.h"

#include <stdbool.h>

#include "reference/ref_simd.h"

/* ---- elementwise ---- */

SIMD_INLINE vec sigmoid_times(vec x) { /* x * sigmoid(x); exp overflows to inf and gives -0 */
  return x / ((real)1 + vec_exp(-x));
}

SIMD_INLINE vec activate(vec x, ref_act act) {
  const vec zero = {0};
  switch (act) {
  case REF_ACT_NONE:
    return x;
  case REF_ACT_ELU:
    return vec_select(x > zero, x, vec_expm1(x));
  case REF_ACT_RELU:
    return vec_select(x > zero, x, zero);
  case REF_ACT_RELU6: {
    const vec six = zero + (real)6;
    vec positive = vec_select(x > zero, x, zero);
    return vec_select(positive < six, positive, six);
  }
  case REF_ACT_LEAKYRELU:
    return vec_select(x > zero, x, x * (real)0.01);
  case REF_ACT_GELU: {
    const real half_sqrt2 = (real)0.70710678118654752440;
    return x * (real)0.5 * ((real)1 + vec_erf(x * half_sqrt2));
  }
  case REF_ACT_SILU:
    return sigmoid_times(x);
  }
  return x;
}

/* The n < LANES elements at `from`, zeros after them. */
SIMD_INLINE vec load_part(const real *from, int64_t n) {
  real lanes[SIMD_BYTES / sizeof(real)] = {0};
  for (int64_t i = 0; i < n; i++) lanes[i] = from[i];
  return vec_load(lanes);
}

SIMD_INLINE void store_part(real *to, vec v, int64_t n) {
  real lanes[SIMD_BYTES / sizeof(real)];
  vec_store(lanes, v);
  for (int64_t i = 0; i < n; i++) to[i] = lanes[i];
}

/* v, rounded where an operation ends in an FP16 block; half is a constant where this is inlined. */
SIMD_INLINE vec end_of(vec v, bool half) {
  return half ? vec_half(v) : v;
}

/* One row of bias_act; act and half are constants where this is inlined. */
SIMD_INLINE void bias_act_row(real *x, const real *bias, int64_t cols, ref_act act, bool half) {
  int64_t whole = cols - cols % LANES, rest = cols % LANES;
  for (int64_t i = 0; i < whole; i += LANES) {
    vec v = end_of(vec_load(x + i), half);
    if (bias != NULL) v = end_of(v + vec_load(bias + i), half);
    vec_store(x + i, act == REF_ACT_NONE ? v : end_of(activate(v, act), half));
  }
  if (rest > 0) {
    vec v = end_of(load_part(x + whole, rest), half);
    if (bias != NULL) v = end_of(v + load_part(bias + whole, rest), half);
    store_part(x + whole, act == REF_ACT_NONE ? v : end_of(activate(v, act), half), rest);
  }
}

SIMD_INLINE void bias_act_rows(real *x, const real *bias, int64_t rows, int64_t cols, ref_act act,
                               bool half) {
  for (int64_t row = 0; row < rows; row++) {
    real *at = x + row * cols;
    switch (act) {
    case REF_ACT_NONE:
      bias_act_row(at, bias, cols, REF_ACT_NONE, half);
      break;
    case REF_ACT_ELU:
      bias_act_row(at, bias, cols, REF_ACT_ELU, half);
      break;
    case REF_ACT_RELU:
      bias_act_row(at, bias, cols, REF_ACT_RELU, half);
      break;
    case REF_ACT_RELU6:
      bias_act_row(at, bias, cols, REF_ACT_RELU6, half);
      break;
    case REF_ACT_LEAKYRELU:
      bias_act_row(at, bias, cols, REF_ACT_LEAKYRELU, half);
      break;
    case REF_ACT_GELU:
      bias_act_row(at, bias, cols, REF_ACT_GELU, half);
      break;
    case REF_ACT_SILU:
      bias_act_row(at, bias, cols, REF_ACT_SILU, half);
      break;
    }
  }
}

static void bias_act(real *x, const real *bias, int64_t rows, int64_t cols, ref_act act) {
  bias_act_rows(x, bias, rows, cols, act, /*half=*/false);
}

static void gated_silu(real *gate, const real *up, int64_t n) {
  int64_t whole = n - n % LANES, rest = n % LANES;
  for (int64_t i = 0; i < whole; i += LANES) {
    vec_store(gate + i, sigmoid_times(vec_load(gate + i)) * vec_load(up + i));
  }
  if (rest > 0) {
    vec v = sigmoid_times(load_part(gate + whole, rest)) * load_part(up + whole, rest);
    store_part(gate + whole, v, rest);
  }
}

static void exp_shifted(real *x, const real *shift, int64_t n) {
  int64_t whole = n - n % LANES, rest = n % LANES;
  for (int64_t i = 0; i < whole; i += LANES) {
    vec_store(x + i, vec_exp(vec_load(x + i) - vec_load(shift + i)));
  }
  if (rest > 0) {
    store_part(x + whole, vec_exp(load_part(x + whole, rest) - load_part(shift + whole, rest)),
               rest);
  }
}

/* ---- norms ---- */

/* As many doubles as a vector has lanes. */
typedef double wide __attribute__((vector_size(LANES * 8)));

/* By pointer: a vector wider than the instruction set's has no agreed way of being passed. */
static double wide_sum(const wide *v) {
  double lanes[LANES];
  memcpy(lanes, v, sizeof lanes);
  for (int64_t half = LANES / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; i++) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

/* In double, and rounded once: statistics and normalisation of FP32 in FP32 are the largest part of
 * what an evaluation in it loses. */
static void layer_norm(const real *x, const real *weight, const real *bias, int64_t rows,
                       int64_t cols, real *out) {
  const double eps = 1e-5;
  int64_t whole = cols - cols % LANES;
  for (int64_t row = 0; row < rows; row++, x += cols, out += cols) {
    wide sums = {0}, squares = {0};
    double sum = 0, square = 0;
    for (int64_t i = 0; i < whole; i += LANES)
      sums += __builtin_convertvector(vec_load(x + i), wide);
    for (int64_t i = whole; i < cols; i++) sum += (double)x[i];
    double mean = (wide_sum(&sums) + sum) / (double)cols;

    for (int64_t i = 0; i < whole; i += LANES) {
      wide difference = __builtin_convertvector(vec_load(x + i), wide) - mean;
      squares += difference * difference;
    }
    for (int64_t i = whole; i < cols; i++) square += ((double)x[i] - mean) * ((double)x[i] - mean);
    double scale = 1 / sqrt((wide_sum(&squares) + square) / (double)cols + eps);

    for (int64_t i = 0; i < whole; i += LANES) {
      wide normalised = (__builtin_convertvector(vec_load(x + i), wide) - mean) * scale;
      wide y = normalised * __builtin_convertvector(vec_load(weight + i), wide) +
               __builtin_convertvector(vec_load(bias + i), wide);
      vec_store(out + i, __builtin_convertvector(y, vec));
    }
    for (int64_t i = whole; i < cols; i++)
      out[i] = (real)(((double)x[i] - mean) * scale * (double)weight[i] + (double)bias[i]);
  }
}

static void rms_norm(const real *x, const real *weight, int64_t rows, int64_t cols, real *out) {
  const real eps = (real)1e-6;
  int64_t whole = cols - cols % LANES, rest = cols % LANES;
  for (int64_t row = 0; row < rows; row++, x += cols, out += cols) {
    vec last = load_part(x + whole, rest);
    vec squares = last * last;
    for (int64_t i = 0; i < whole; i += LANES) squares += vec_load(x + i) * vec_load(x + i);
    real scale = 1 / SIMD_LIBM(sqrt)(vec_sum(squares) / (real)cols + eps);
    for (int64_t i = 0; i < whole; i += LANES) {
      vec_store(out + i, vec_load(x + i) * scale * vec_load(weight + i));
    }
    for (int64_t i = whole; i < cols; i++) out[i] = x[i] * scale * weight[i];
  }
}

/* ---- attention ---- */

/* Keys that are scored before their exponentials are taken: scores of all queries stay in the
 * first-level cache. Whole panels. */
enum { KEYS_AT_ONCE = 256, KEYS_SUMMED = 64 };
_Static_assert(KEYS_AT_ONCE % REF_PANEL == 0, "blocks of keys are whole panels");

enum {
  PANEL_VECS = REF_PANEL * sizeof(real) / SIMD_BYTES, /* vectors of one row of a panel */
  /* queries whose accumulators fit the registers */
  QUERIES_AT_ONCE = PANEL_VECS >= 8   ? 1
                    : PANEL_VECS == 4 ? 2
                    : PANEL_VECS == 2 ? 4
                                      : 8,
};
_Static_assert(PANEL_VECS >= 1, "a panel is at least one vector");
_Static_assert(REF_QUERIES % QUERIES_AT_ONCE == 0, "query groups are whole");

/* sum + term; half is a constant where this is inlined. */
SIMD_INLINE vec added(vec sum, vec term, bool half) {
  return half ? vec_half(sum + vec_half(term)) : sum + term;
}

/* scores[i, j] = q[i]·k[j] for QUERIES_AT_ONCE queries and the keys of one panel; rows of scores
 * are stride apart. */
SIMD_INLINE void score_panel(const real *queries, const real *panel, int64_t dim, real *scores,
                             int64_t stride, bool half_sums) {
  vec sum[QUERIES_AT_ONCE][PANEL_VECS] = {0};
  for (int64_t c = 0; c < dim; c++) {
    for (int v = 0; v < PANEL_VECS; v++) {
      vec key = vec_load(panel + c * REF_PANEL + v * LANES);
      for (int i = 0; i < QUERIES_AT_ONCE; i++) {
        sum[i][v] = added(sum[i][v], queries[i * dim + c] * key, half_sums);
      }
    }
  }
  for (int i = 0; i < QUERIES_AT_ONCE; i++) {
    for (int v = 0; v < PANEL_VECS; v++) {
      vec_store(scores + i * stride + v * LANES, sum[i][v]);
    }
  }
}

/* sums[i] += sum_j p[i,j] v[j] for QUERIES_AT_ONCE queries, PANEL_VECS vectors of the value rows,
 * and a few keys: each few are added up by themselves first, which keeps rounding errors small;
 * with half_sums, one after the other onto what is there. Rows of weights are stride apart. */
SIMD_INLINE void weigh_values(const real *weights, int64_t stride, const real *values,
                              int64_t n_keys, int64_t dim, real *sums, bool half_sums) {
  vec sum[QUERIES_AT_ONCE][PANEL_VECS] = {0};
  for (int i = 0; half_sums && i < QUERIES_AT_ONCE; i++) {
    for (int v = 0; v < PANEL_VECS; v++) sum[i][v] = vec_load(sums + i * dim + v * LANES);
  }
  for (int64_t j = 0; j < n_keys; j++) {
    for (int v = 0; v < PANEL_VECS; v++) {
      vec value = vec_load(values + j * dim + v * LANES);
      for (int i = 0; i < QUERIES_AT_ONCE; i++) {
        sum[i][v] = added(sum[i][v], weights[i * stride + j] * value, half_sums);
      }
    }
  }
  for (int i = 0; i < QUERIES_AT_ONCE; i++) {
    for (int v = 0; v < PANEL_VECS; v++) {
      real *to = sums + i * dim + v * LANES;
      vec_store(to, half_sums ? sum[i][v] : vec_load(to) + sum[i][v]);
    }
  }
}

/* What is known of each query after some of the keys. */
typedef struct progress {
  real highest[REF_QUERIES]; /* score so far */
  vec total[REF_QUERIES];    /* sum of exp(score - highest), in lanes */
  real *sums;                /* [REF_QUERIES, padded dim]: sum of exp(score - highest) * value */
} progress;

/* Turns one query's scores of a block into weights exp(score - highest), and brings what was summed
 * before to the new maximum. */
SIMD_INLINE void take_exponentials(real *scores, int64_t n_scores, int64_t padded_dim,
                                   real *highest, vec *total, real *sums) {
  vec top = vec_load(scores);
  for (int64_t j = LANES; j < n_scores; j += LANES) top = vec_max(top, vec_load(scores + j));
  real block_highest = vec_highest(top);
  if (block_highest > *highest) {
    vec factor = vec_exp(*highest - block_highest - (vec){0}); /* 0 for the first block */
    *total *= factor;
    for (int64_t c = 0; c < padded_dim; c += LANES) {
      vec_store(sums + c, vec_load(sums + c) * factor);
    }
    *highest = block_highest;
  }
  vec sum = {0};
  for (int64_t j = 0; j < n_scores; j += LANES) {
    vec weight = vec_exp_nonpositive(vec_load(scores + j) - *highest);
    vec_store(scores + j, weight);
    sum += weight;
  }
  *total += sum;
}

static void attend_block(const ref_attention *a, const real *queries, int64_t n_queries,
                         int64_t first, real *scores, progress *state) {
  int64_t padded_dim = ref_padded_dim(a->dim);
  int64_t n_keys = a->n_keys - first < KEYS_AT_ONCE ? a->n_keys - first : KEYS_AT_ONCE;
  int64_t n_scores = ref_whole_panels(n_keys);
  for (int64_t i = 0; i < n_queries; i += QUERIES_AT_ONCE) {
    for (int64_t j = 0; j < n_scores; j += REF_PANEL) {
      score_panel(queries + i * a->dim, a->keys + (first + j) * a->dim, a->dim,
                  scores + i * KEYS_AT_ONCE + j, KEYS_AT_ONCE, /*half_sums=*/false);
    }
  }
  for (int64_t i = 0; i < n_queries; i++) {
    real *row = scores + i * KEYS_AT_ONCE;
    for (int64_t j = n_keys; j < n_scores; j++) row[j] = -(real)INFINITY; /* no such keys */
    take_exponentials(row, n_scores, padded_dim, &state->highest[i], &state->total[i],
                      state->sums + i * padded_dim);
  }
  for (int64_t i = 0; i < n_queries; i += QUERIES_AT_ONCE) {
    for (int64_t j = 0; j < n_keys; j += KEYS_SUMMED) {
      int64_t n = n_keys - j < KEYS_SUMMED ? n_keys - j : KEYS_SUMMED;
      const real *values = a->values + (first + j) * padded_dim;
      for (int64_t c = 0; c < padded_dim; c += REF_PANEL) {
        weigh_values(scores + i * KEYS_AT_ONCE + j, KEYS_AT_ONCE, values + c, n, padded_dim,
                     state->sums + i * padded_dim + c, /*half_sums=*/false);
      }
    }
  }
}

static void attend(const ref_attention *a) {
  int64_t padded_dim = ref_padded_dim(a->dim);
  int64_t n_queries = (a->n_queries + QUERIES_AT_ONCE - 1) / QUERIES_AT_ONCE * QUERIES_AT_ONCE;
  real *scores = a->scratch;
  real *queries = scores + REF_QUERIES * KEYS_AT_ONCE; /* whole groups; those beyond are not used */
  progress state = {.sums = queries + REF_QUERIES * a->dim};
  for (int64_t i = 0; i < n_queries * a->dim; i++) {
    queries[i] = i < a->n_queries * a->dim ? a->queries[i] : 0;
  }
  for (int64_t i = 0; i < n_queries; i++) state.highest[i] = -(real)INFINITY;
  for (int64_t i = 0; i < n_queries * padded_dim; i++) state.sums[i] = 0;

  for (int64_t first = 0; first < a->n_keys; first += KEYS_AT_ONCE) {
    attend_block(a, queries, n_queries, first, scores, &state);
  }
  for (int64_t i = 0; i < a->n_queries; i++) {
    real total = vec_sum(state.total[i]);
    real inverse = a->n_keys > 0 ? 1 / total : 0;
    for (int64_t c = 0; c < a->dim; c++) {
      a->out[i * a->out_stride + c] = state.sums[i * padded_dim + c] * inverse;
    }
    if (a->lse != NULL) a->lse[i] = a->n_keys > 0 ? state.highest[i] + SIMD_LIBM(log)(total) : 0;
  }
}

/* ---- blocks in FP16 ---- */

#if REF_BITS == 32

static void round_half(real *x, int64_t n) {
  int64_t whole = n - n % LANES, rest = n % LANES;
  for (int64_t i = 0; i < whole; i += LANES) vec_store(x + i, vec_half(vec_load(x + i)));
  if (rest > 0) store_part(x + whole, vec_half(load_part(x + whole, rest)), rest);
}

static void bias_act_half(real *x, const real *bias, int64_t rows, int64_t cols, ref_act act) {
  bias_act_rows(x, bias, rows, cols, act, /*half=*/true);
}

/* Rounds the scores of one query as their operations end, n in whole panels; returns the highest.
 */
SIMD_INLINE real finish_scores(real *scores, int64_t n, real scale, bool half) {
  vec top = {0};
  for (int64_t j = 0; j < n; j += LANES) {
    vec score = end_of(vec_load(scores + j), half);
    if (half && scale != 1) score = vec_half(score * scale);
    vec_store(scores + j, score);
    top = j == 0 ? score : vec_max(top, score);
  }
  return vec_highest(top);
}

/* Softmax of one query's scores, in whole panels of which n_keys are keys; its weights are rounded
 * to FP16, which is why the sum must be known before any value is weighed. Returns the logarithm of
 * the sum of exponentials. */
static real soften(const ref_attention *a, real *scores, int64_t n_scores) {
  for (int64_t j = a->n_keys; j < n_scores; j++) scores[j] = -(real)INFINITY; /* no such keys */
  real highest = a->half_scores ? finish_scores(scores, n_scores, a->score_scale, /*half=*/true)
                                : finish_scores(scores, n_scores, /*scale=*/1, /*half=*/false);
  vec sum = {0};
  for (int64_t j = 0; j < n_scores; j += LANES) {
    vec weight = vec_exp_nonpositive(vec_load(scores + j) - highest);
    vec_store(scores + j, weight);
    sum += weight;
  }
  real total = vec_sum(sum);
  for (int64_t j = 0; j < n_scores; j += LANES) {
    vec_store(scores + j, vec_half(vec_load(scores + j) / total));
  }
  return highest + SIMD_LIBM(log)(total);
}

/* All scores of a few queries are kept: queries times keys, never keys times keys. half_sums is a
 * constant where this is inlined. */
SIMD_INLINE void attend_half_of(const ref_attention *a, bool half_sums) {
  int64_t padded_dim = ref_padded_dim(a->dim), n_scores = ref_whole_panels(a->n_keys);
  int64_t n_queries = (a->n_queries + QUERIES_AT_ONCE - 1) / QUERIES_AT_ONCE * QUERIES_AT_ONCE;
  int64_t stride = n_scores + REF_PANEL; /* no power of two: rows would share lines of the cache */
  real *scores = a->scratch, *queries = scores + REF_QUERIES * stride;
  real *sums = queries + REF_QUERIES * a->dim;
  for (int64_t i = 0; i < n_queries * a->dim; i++) {
    queries[i] = i < a->n_queries * a->dim ? a->queries[i] : 0;
  }
  for (int64_t i = 0; i < n_queries * padded_dim; i++) sums[i] = 0;

  for (int64_t i = 0; i < n_queries; i += QUERIES_AT_ONCE) {
    for (int64_t j = 0; j < n_scores; j += REF_PANEL) {
      score_panel(queries + i * a->dim, a->keys + j * a->dim, a->dim, scores + i * stride + j,
                  stride, half_sums && a->half_scores);
    }
  }
  for (int64_t i = 0; i < n_queries; i++) {
    real lse = a->n_keys > 0 ? soften(a, scores + i * stride, n_scores) : 0;
    if (a->lse != NULL && i < a->n_queries) a->lse[i] = lse;
  }
  for (int64_t i = 0; i < n_queries; i += QUERIES_AT_ONCE) {
    for (int64_t j = 0; j < a->n_keys; j += KEYS_SUMMED) {
      int64_t n = a->n_keys - j < KEYS_SUMMED ? a->n_keys - j : KEYS_SUMMED;
      for (int64_t c = 0; c < padded_dim; c += REF_PANEL) {
        weigh_values(scores + i * stride + j, stride, a->values + j * padded_dim + c, n, padded_dim,
                     sums + i * padded_dim + c, half_sums);
      }
    }
  }
  for (int64_t i = 0; i < a->n_queries; i++) {
    for (int64_t c = 0; c < a->dim; c++) a->out[i * a->out_stride + c] = sums[i * padded_dim + c];
  }
}

static void attend_half(const ref_attention *a) {
  if (a->half_sums) {
    attend_half_of(a, /*half_sums=*/true);
  } else {
    attend_half_of(a, /*half_sums=*/false);
  }
}

/* Adds some terms to the sums of LANES outputs of a few rows, which is enough to keep the processor
 * busy: panel[i][LANES] are the weights of term i. */
SIMD_INLINE void add_terms(const real *x, int64_t x_stride, int64_t n_rows, const real *panel,
                           int64_t n_terms, vec *sums) {
  for (int64_t i = 0; i < n_terms; i++) {
    vec weight = vec_load(panel + i * LANES);
    for (int64_t row = 0; row < n_rows; row++) {
      sums[row] = added(sums[row], x[row * x_stride + i] * weight, /*half=*/true);
    }
  }
}

static void matmul_half_sums(const real *x, const real *w, int64_t rows, int64_t n_in,
                             int64_t n_out, real *out) {
  enum { TERMS = 128, ROWS = 8 };
  real panel[TERMS * LANES];
  for (int64_t o = 0; o < n_out; o += LANES) {
    int64_t n = n_out - o < LANES ? n_out - o : LANES;
    for (int64_t first = 0; first < n_in; first += TERMS) {
      int64_t n_terms = n_in - first < TERMS ? n_in - first : TERMS;
      for (int64_t i = 0; i < n_terms; i++) {
        for (int64_t l = 0; l < LANES; l++)
          panel[i * LANES + l] = l < n ? w[(o + l) * n_in + first + i] : 0;
      }
      for (int64_t row = 0; row < rows; row += ROWS) {
        int64_t n_rows = rows - row < ROWS ? rows - row : ROWS;
        vec sums[ROWS] = {0};
        for (int64_t r = 0; first > 0 && r < n_rows; r++)
          sums[r] = load_part(out + (row + r) * n_out + o, n);
        if (n_rows == ROWS) { /* a constant: the loop over rows is unrolled */
          add_terms(x + row * n_in + first, n_in, ROWS, panel, n_terms, sums);
        } else {
          add_terms(x + row * n_in + first, n_in, n_rows, panel, n_terms, sums);
        }
        for (int64_t r = 0; r < n_rows; r++) store_part(out + (row + r) * n_out + o, sums[r], n);
      }
    }
  }
}

#endif

#if defined(__AVX512F__)
#define TABLE ref_kernels_avx512
#elif defined(__AVX2__)
#define TABLE ref_kernels_avx2
#else
#define TABLE ref_kernels_baseline
#endif

const ref_kernels TABLE = {
    .name = SIMD_NAME,
    .library = SIMD_LIBRARY,
    .bias_act = bias_act,
    .layer_norm = layer_norm,
    .rms_norm = rms_norm,
    .gated_silu = gated_silu,
    .exp_shifted = exp_shifted,
    .attend = attend,
#if REF_BITS == 32
    .round_half = round_half,
    .bias_act_half = bias_act_half,
    .matmul_half_sums = matmul_half_sums,
    .attend_half = attend_half,
#endif
};
