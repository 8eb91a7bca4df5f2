/* Evaluation under a precision plan, and the taps, against an emulation in straight loops that is
 * written from the plan's text (model/mlpf_plan_config.h) and models.md section B once more.
 *
 * Roundings to FP16 part where sums differ in the last bit of FP32, and what parts once does not
 * come together again. So the emulation of a block starts from the evaluator's own output of the
 * block before, which a tap shows, and must give its output of this one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "reference/ref_mlpf.h"
#include "reference/ref_plan.h"
#include "reference/test_model.h"

/* Of a block's output in the Euclidean norm, over several small events. A value that falls to the
 * other side of a rounding makes 1e-5 to 1e-4, in some events: hence not all of them must agree to
 * the last digits, but a third (more than half do). One operation that is not rounded, or rounded
 * twice, makes 7e-5 to 1e-3 in all (tried for each). */
#define HALF_TOLERANCE 2e-6
#define HALF_WORST     1e-2 /* some units of FP16, where biases cancel */
#define F32_TOLERANCE  1e-6
#define F32_WORST      1e-5 /* of events with a single element */
enum { N_EVENTS = 15, N_ELEMS = 10, BLOCKS_MAX = 40 };

/* ---- the emulation ---- */

typedef struct naive {
  const char *what; /* for messages */
  const assay_mlpf_config *c;
  const assay_tensor_map *weights;
  assay_mlpf_plan_config plan;
  assay_ref_arithmetic arithmetic;
  const assay_tensor_map *taps; /* what the evaluator showed */
  const float *features, *mask; /* of the event */
  int64_t event, n;
  int n_compared; /* blocks of the event */
  struct {
    char block[96];
    bool half;
    double relative[N_EVENTS];
  } compared[BLOCKS_MAX];
} naive;

/* Memory of one event. */
static float pool[1 << 21];
static size_t pool_used;

static float *array(int64_t n) {
  float *block = pool + pool_used;
  pool_used += (size_t)n;
  assert_true(pool_used <= sizeof pool / sizeof pool[0]);
  memset(block, 0, (size_t)n * sizeof *block);
  return block;
}

/* To nearest even in steps of 2^-10 of the power of two below, 2^-24 at least. */
static float rounded(bool half, double value) {
  float f = (float)value;
  if (!half || f == 0 || !isfinite(f)) return f;
  int exponent = ilogbf(f) < -14 ? -14 : ilogbf(f);
  double step = ldexp(1, exponent - 10);
  double result = nearbyint((double)f / step) * step;
  return fabs(result) > 65504 ? (float)copysign(HUGE_VAL, result) : (float)result;
}

static bool is_half(assay_dtype dtype) {
  return dtype == ASSAY_DTYPE_F16;
}

__attribute__((format(printf, 1, 2))) static const char *text(const char *format, ...) {
  static char texts[16][128];
  static int next;
  char *out = texts[next++ % 16];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(out, sizeof texts[0], format, arguments);
  va_end(arguments);
  return out;
}

static const float *weight(const naive *m, const char *name) {
  const assay_tensor *tensor = assay_tensor_map_find(m->weights, name);
  if (tensor == NULL) fail_msg("no weight '%s'", name);
  return tensor->data;
}

/* What an operation of a block gives, or what enters it. */
static float result_of(const naive *m, bool half, double value) {
  return rounded(half && m->arithmetic != ASSAY_REF_STORED, value);
}

/* sum + a * b. */
static double add_product(bool half_sums, double sum, float a, float b) {
  double term = (double)a * (double)b;
  return half_sums ? (double)rounded(true, sum + (double)rounded(true, term)) : sum + term;
}

static float *round_all(bool half, const float *x, int64_t n) {
  float *out = array(n);
  for (int64_t i = 0; i < n; i++) out[i] = rounded(half, (double)x[i]);
  return out;
}

static float *enter(const naive *m, bool half, const float *x, int64_t n) {
  return round_all(half && m->arithmetic != ASSAY_REF_STORED, x, n);
}

/* Rows first to first + n_out of a weight and a bias (NULL: none). */
static float *product(const naive *m, bool half, const float *x, int64_t rows, int64_t n_in,
                      const char *weight_name, const char *bias_name, int64_t first,
                      int64_t n_out) {
  const float *w = weight(m, weight_name) + first * n_in;
  const float *bias = bias_name != NULL ? weight(m, bias_name) + first : NULL;
  float *out = array(rows * n_out);
  bool half_sums = half && m->arithmetic == ASSAY_REF_SUMS;
  for (int64_t o = 0; o < n_out; o++) {
    const float *row_of_w = round_all(half, w + o * n_in, n_in);
    for (int64_t row = 0; row < rows; row++) {
      double sum = 0;
      for (int64_t i = 0; i < n_in; i++)
        sum = add_product(half_sums, sum, x[row * n_in + i], row_of_w[i]);
      out[row * n_out + o] = result_of(m, half, sum);
      if (bias == NULL) continue;
      sum = (double)out[row * n_out + o] + (double)rounded(half, (double)bias[o]);
      out[row * n_out + o] = result_of(m, half, sum);
    }
  }
  return out;
}

static float *linear(const naive *m, bool half, const float *x, int64_t rows, int64_t n_in,
                     const char *prefix, int64_t n_out) {
  return product(m, half, x, rows, n_in, text("%s.weight", prefix), text("%s.bias", prefix),
                 /*first=*/0, n_out);
}

static float *linear_without_bias(const naive *m, bool half, const float *x, int64_t rows,
                                  int64_t n_in, const char *prefix, int64_t n_out) {
  return product(m, half, x, rows, n_in, text("%s.weight", prefix), NULL, /*first=*/0, n_out);
}

static float *layer_norm(const naive *m, bool half, const float *x, int64_t rows, int64_t n,
                         const char *prefix) {
  const float *w = weight(m, text("%s.weight", prefix));
  const float *bias = weight(m, text("%s.bias", prefix));
  float *out = array(rows * n);
  for (int64_t row = 0; row < rows; row++, x += n) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; i++) mean += (double)x[i] / (double)n;
    for (int64_t i = 0; i < n; i++) variance += pow((double)x[i] - mean, 2) / (double)n;
    for (int64_t i = 0; i < n; i++) {
      double scaled = ((double)x[i] - mean) / sqrt(variance + 1e-5);
      out[row * n + i] = result_of(m, half,
                                   scaled * (double)rounded(half, (double)w[i]) +
                                       (double)rounded(half, (double)bias[i]));
    }
  }
  return out;
}

/* In FP32; times a factor. */
static float *rms_norm(const naive *m, const float *x, int64_t rows, int64_t n, const char *prefix,
                       double factor) {
  const float *w = weight(m, text("%s.weight", prefix));
  float *out = array(rows * n);
  for (int64_t row = 0; row < rows; row++, x += n) {
    double square = 0;
    for (int64_t i = 0; i < n; i++) square += (double)x[i] * (double)x[i] / (double)n;
    for (int64_t i = 0; i < n; i++) {
      out[row * n + i] = (float)((double)x[i] / sqrt(square + 1e-6) * (double)w[i] * factor);
    }
  }
  return out;
}

static void silu(float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) x[i] = (float)((double)x[i] / (1 + exp(-(double)x[i])));
}

static void activate(const naive *m, bool half, float *values, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    double x = (double)values[i], y = x;
    switch (m->c->activation) {
    case ASSAY_MLPF_ELU:
      y = x > 0 ? x : expm1(x);
      break;
    case ASSAY_MLPF_RELU:
      y = fmax(x, 0);
      break;
    case ASSAY_MLPF_RELU6:
      y = fmin(fmax(x, 0), 6);
      break;
    case ASSAY_MLPF_LEAKYRELU:
      y = x > 0 ? x : 0.01 * x;
      break;
    case ASSAY_MLPF_GELU:
      y = x * 0.5 * (1 + erf(x * sqrt(0.5)));
      break;
    }
    values[i] = result_of(m, half, y);
  }
}

/* x += y in FP32, and zero at padding if masked. */
static void add(const naive *m, float *x, const float *y, int64_t width, bool masked) {
  for (int64_t i = 0; i < m->n * width; i++) {
    x[i] += y[i];
    if (masked && !(m->mask[i / width] > 0)) x[i] = 0;
  }
}

static float *mlp3(const naive *m, bool half, const float *x, int64_t rows, int64_t n_in,
                   const char *prefix, int64_t n_out) {
  int64_t w = m->c->width;
  float *hidden = linear(m, half, x, rows, n_in, text("%s.0", prefix), w);
  activate(m, half, hidden, rows * w);
  hidden = layer_norm(m, half, hidden, rows, w, text("%s.2", prefix));
  return linear(m, half, hidden, rows, w, text("%s.4", prefix), n_out);
}

typedef struct softmax_form {
  bool half_scores, half_weights, half_sums;
  bool half_out; /* what is gathered */
} softmax_form;

static softmax_form form_of(const naive *m, bool half, bool decomposed, bool half_scores,
                            bool out_is_stored) {
  bool stored = m->arithmetic == ASSAY_REF_STORED, rounds = half && decomposed;
  return (softmax_form){.half_scores = rounds && half_scores,
                        .half_weights = rounds,
                        .half_sums = rounds && m->arithmetic == ASSAY_REF_SUMS,
                        .half_out = half && (out_is_stored || !stored)};
}

/* What is gathered is moved in the decomposed form, but in readouts, and leaves a fused kernel. */
static softmax_form form_of_plan(const naive *m, bool half, bool readout) {
  bool decomposed = m->plan.attention == ASSAY_MLPF_DECOMPOSED;
  bool attention24 = m->plan.attention == ASSAY_MLPF_ATTENTION24;
  if (m->arithmetic != ASSAY_REF_STORED)
    return form_of(m, half, decomposed, is_half(m->plan.scores), /*out_is_stored=*/true);
  return form_of(m, half, attention24, /*half_scores=*/true,
                 attention24 || (decomposed && !readout));
}

/* Scale multiplies scores. Queries [n_queries, heads*dim], keys and values [n, heads*dim] of which
 * those listed are looked at; one head. out rows are heads*dim apart. Returns the log-sum-exp of
 * the last query. */
static double attend(softmax_form f, double scale, const float *queries, int64_t n_queries,
                     const float *keys, const float *values, const int64_t *listed,
                     int64_t n_listed, int64_t stride, int64_t dim, float *out) {
  double scores[512], lse = 0;
  bool half_scores = f.half_scores, sums = f.half_sums && half_scores;
  bool power_of_2 = scale == 1 || scale == 0.5 || scale == 0.25 || scale == 0.125;
  assert_true(n_listed <= 512);
  for (int64_t q = 0; q < n_queries; q++) {
    double highest = -HUGE_VAL, total = 0;
    for (int64_t j = 0; j < n_listed; j++) {
      double sum = 0, of_query = sums && power_of_2 ? scale : 1;
      for (int64_t i = 0; i < dim; i++) {
        float query = (float)((double)queries[q * stride + i] * of_query);
        sum = add_product(sums, sum, query, keys[listed[j] * stride + i]);
      }
      sum /= of_query;
      if (!half_scores) {
        scores[j] = (double)(float)(sum * scale);
      } else if (power_of_2) {
        scores[j] = (double)rounded(true, sum * scale);
      } else {
        float product = rounded(true, sum), factor = rounded(true, scale);
        scores[j] = (double)rounded(true, (double)product * (double)factor);
      }
      highest = fmax(highest, scores[j]);
    }
    for (int64_t j = 0; j < n_listed; j++) total += exp(scores[j] - highest);
    for (int64_t i = 0; i < dim; i++) {
      double sum = 0;
      for (int64_t j = 0; j < n_listed; j++) {
        float share = rounded(f.half_weights, exp(scores[j] - highest) / total);
        sum = add_product(f.half_sums, sum, share, values[listed[j] * stride + i]);
      }
      out[q * stride + i] = rounded(f.half_out, sum);
    }
    lse = highest + log(total);
  }
  return lse;
}

static int64_t list_keys(const naive *m, bool mask_keys, int64_t *listed) {
  int64_t n = 0;
  for (int64_t i = 0; i < m->n; i++) {
    if (!mask_keys || m->mask[i] > 0) listed[n++] = i;
  }
  return n;
}

/* ---- comparing ---- */

static const assay_tensor *tapped(const naive *m, const char *block) {
  const assay_tensor *tensor = assay_tensor_map_find(m->taps, block);
  if (tensor == NULL) fail_msg("block '%s' was not shown", block);
  return tensor;
}

/* Compares and goes on with the evaluator's values. rows is n, or 1 for the whole event. */
static void check_block(naive *m, const char *block, bool half, float *values, int64_t rows,
                        int64_t width) {
  const assay_tensor *tensor = tapped(m, block);
  assert_int_equal(tensor->dtype, ASSAY_DTYPE_F32);
  assert_int_equal(tensor->rank, 3);
  assert_int_equal(tensor->dims[1], rows);
  assert_int_equal(tensor->dims[2], width);
  const float *shown = assay_tensor_f32(tensor) + m->event * rows * width;
  double difference = 0, size = 0;
  for (int64_t i = 0; i < rows * width; i++) {
    if (rows == m->n && !(m->mask[i / width] > 0)) continue;
    if (shown[i] != result_of(m, half, (double)shown[i]))
      fail_msg("%s[%lld]: %a is no value of FP16", block, (long long)i, (double)shown[i]);
    difference += pow((double)values[i] - (double)shown[i], 2);
    size += pow((double)shown[i], 2);
  }
  memcpy(values, shown, (size_t)(rows * width) * sizeof *values);
  assert_true(m->n_compared < BLOCKS_MAX);
  assert_true(isfinite(difference) && size > 0);
  snprintf(m->compared[m->n_compared].block, sizeof m->compared[0].block, "%s", block);
  m->compared[m->n_compared].half = half;
  m->compared[m->n_compared++].relative[m->event] = sqrt(difference / size);
}

static int by_value(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static void check_differences(naive *m) {
  for (int i = 0; i < m->n_compared; i++) {
    double *relative = m->compared[i].relative;
    qsort(relative, N_EVENTS, sizeof *relative, by_value);
    double good = relative[N_EVENTS / 3 - 1], worst = relative[N_EVENTS - 1];
    bool half = m->compared[i].half;
    if (good <= (half ? HALF_TOLERANCE : F32_TOLERANCE) && worst <= (half ? HALF_WORST : F32_WORST))
      continue;
    fail_msg("%s: %s: relative difference %.3g in the best third, %.3g at most", m->what,
             m->compared[i].block, good, worst);
  }
}

/* ---- the model, block by block ---- */

static float *encode(naive *m, const char *name) {
  const assay_mlpf_config *c = m->c;
  bool half = is_half(m->plan.encoder);
  int64_t e = c->embedding_dim, types = c->input_encoding == ASSAY_MLPF_SPLIT ? c->n_elemtypes : 1;
  float *in = array(m->n * c->input_dim), *x = array(m->n * e);
  for (int64_t i = 0; i < m->n * c->input_dim; i++) {
    in[i] = m->mask[i / c->input_dim] > 0 ? result_of(m, half, (double)m->features[i]) : 0;
  }
  float *all = mlp3(m, half, in, m->n, c->input_dim, name, types * e);
  for (int64_t i = 0; i < m->n; i++) {
    float type = m->features[i * c->input_dim];
    for (int64_t t = 0; t < types; t++) {
      bool chosen = c->input_encoding == ASSAY_MLPF_JOINT || type == (float)c->elemtypes[t];
      for (int64_t j = 0; chosen && m->mask[i] > 0 && j < e; j++) {
        x[i * e + j] = all[(i * types + t) * e + j];
      }
    }
  }
  check_block(m, name, half, x, m->n, e);
  return x;
}

/* (12) and (32): FP32, whatever the plan says. */
static void feed_forward(const naive *m, float *x, int64_t rows, int64_t dim, const char *norm,
                         const char *p) {
  int64_t w = m->c->width;
  float *hidden = layer_norm(m, /*half=*/false, x, rows, dim, norm);
  hidden = linear(m, /*half=*/false, hidden, rows, dim, text("%s.0", p), w);
  activate(m, /*half=*/false, hidden, rows * w);
  hidden = linear(m, /*half=*/false, hidden, rows, w, text("%s.2", p), dim);
  activate(m, /*half=*/false, hidden, rows * dim);
  add(m, x, hidden, dim, /*masked=*/true);
}

static void attention_layer(naive *m, const char *p, const float *x0, bool last, float *x) {
  const assay_mlpf_config *c = m->c;
  int64_t e = c->embedding_dim, listed[512];
  bool half = is_half(m->plan.backbone);
  const softmax_form f = form_of_plan(m, half, /*readout=*/false);
  int64_t n_listed = list_keys(m, c->key_mask == ASSAY_MLPF_KEY_MASK_ALL, listed);
  const char *w = text("%s.mha.in_proj_weight", p), *b = text("%s.mha.in_proj_bias", p);
  float *normed = layer_norm(m, /*half=*/false, x, m->n, e, text("%s.norm0", p));
  normed = enter(m, half, normed, m->n * e);
  const float *asking = last ? enter(m, half, x0, m->n * e) : normed;
  bool asks_at_once = last && m->plan.attention == ASSAY_MLPF_MHA;
  float *q = product(m, half, asking, m->n, e, w, b, 0, e);
  q = asks_at_once ? enter(m, half, q, m->n * e) : round_all(half, q, m->n * e);
  float *k = round_all(half, product(m, half, normed, m->n, e, w, b, e, e), m->n * e);
  float *v = round_all(half, product(m, half, normed, m->n, e, w, b, 2 * e, e), m->n * e);
  float *attended = array(m->n * e);
  for (int64_t h = 0; h < c->num_heads; h++) {
    int64_t at = h * c->head_dim;
    attend(f, 1 / sqrt((double)c->head_dim), q + at, m->n, k + at, v + at, listed, n_listed, e,
           c->head_dim, attended + at);
  }
  attended = linear(m, half, attended, m->n, e, text("%s.mha.out_proj", p), e);
  check_block(m, text("%s.attention", p), half, attended, m->n, e);
  add(m, x, attended, e, /*masked=*/false);
  feed_forward(m, x, m->n, e, text("%s.norm1", p), text("%s.seq", p));
}

/* out [n, E]: attention of one head over the buckets of all hashes, merged in FP32. */
static void bucket_head(const naive *m, const char *p, int64_t head, const float *q, const float *k,
                        const float *v, float *out) {
  const assay_mlpf_config *c = m->c;
  int64_t e = c->embedding_dim, d = c->head_dim, n = m->n, hashes = c->n_hashes;
  const assay_tensor *perms = tapped(m, text("%s.permutation", p));
  bool half = is_half(m->plan.backbone);
  const softmax_form f =
      form_of(m, half, m->arithmetic != ASSAY_REF_STORED, true, /*out_is_stored=*/true);
  float *found = array(hashes * n * e);
  double lse[8][512];
  assert_true(hashes <= 8 && n <= 512);
  for (int64_t hash = 0; hash < hashes; hash++) {
    int64_t row = (hash * c->num_heads + head) * perms->dims[1] + m->event;
    const int64_t *perm = assay_tensor_i64(perms) + row * n;
    for (int64_t first = 0; first < n; first += c->block_size) {
      int64_t listed[512], n_listed = 0;
      for (int64_t i = first; i < first + c->block_size; i++) {
        bool admitted = c->key_mask == ASSAY_MLPF_KEY_MASK_UPSTREAM || m->mask[perm[i]] > 0;
        if (admitted) listed[n_listed++] = perm[i];
      }
      for (int64_t i = first; i < first + c->block_size; i++) {
        int64_t at = perm[i] * e + head * d;
        lse[hash][perm[i]] = attend(f, /*scale=*/1, q + at, 1, k + head * d, v + head * d, listed,
                                    n_listed, e, d, found + hash * n * e + at);
      }
    }
  }
  for (int64_t i = 0; i < n; i++) {
    double highest = -HUGE_VAL, total = 0;
    for (int64_t hash = 0; hash < hashes; hash++) highest = fmax(highest, lse[hash][i]);
    for (int64_t hash = 0; hash < hashes; hash++) total += exp(lse[hash][i] - highest);
    for (int64_t j = head * d; j < (head + 1) * d; j++) {
      double sum = 0;
      for (int64_t hash = 0; hash < hashes; hash++) {
        sum += exp(lse[hash][i] - highest) / total * (double)found[(hash * n + i) * e + j];
      }
      out[i * e + j] = rounded(half, sum);
    }
  }
}

static void heptv2_layer(naive *m, const char *p, float *x) {
  const assay_mlpf_config *c = m->c;
  int64_t e = c->embedding_dim, n = m->n;
  bool half = is_half(m->plan.backbone);
  float *u = round_all(/*half=*/false, x, n * e), *coordinates = array(2 * n);
  float *attended = array(n * e);
  if (c->learned_positions) {
    const char *head = text("%s.pe_func.position_embedding_head", p);
    for (int64_t i = 0; i < n; i++) {
      const float *row = m->features + i * c->input_dim;
      if (!(m->mask[i] > 0)) continue;
      coordinates[2 * i] = row[2];
      coordinates[2 * i + 1] = (float)atan2((double)row[3], (double)row[4]);
    }
    float *position = linear(m, /*half=*/false, coordinates, n, 2, text("%s.0", head), 4 * e);
    position = layer_norm(m, /*half=*/false, position, n, 4 * e, text("%s.1", head));
    silu(position, n * 4 * e);
    position = linear(m, /*half=*/false, position, n, 4 * e, text("%s.3", head), e);
    add(m, u, position, e, /*masked=*/false);
  }
  u = rms_norm(m, u, n, e, text("%s.norm1", p), 1);
  u = enter(m, half, u, n * e);
  float *q = linear_without_bias(m, half, u, n, e, text("%s.w_q", p), e);
  float *k = linear_without_bias(m, half, u, n, e, text("%s.w_k", p), e);
  float *v = linear_without_bias(m, half, u, n, e, text("%s.w_v", p), e);
  q = round_all(half, q, n * e);
  k = round_all(half, k, n * e);
  q = rms_norm(m, q, n * c->num_heads, c->head_dim, text("%s.q_norm", p),
               1 / sqrt((double)c->head_dim));
  k = rms_norm(m, k, n * c->num_heads, c->head_dim, text("%s.k_norm", p), 1);
  q = round_all(half, q, n * e);
  k = round_all(half, k, n * e);
  v = round_all(half, v, n * e);
  for (int64_t h = 0; h < c->num_heads; h++) bucket_head(m, p, h, q, k, v, attended);
  attended = linear(m, half, attended, n, e, text("%s.attn.out_linear", p), e);
  check_block(m, text("%s.attention", p), half, attended, n, e);
  add(m, x, attended, e, /*masked=*/false);
  float *z = rms_norm(m, x, n, e, text("%s.norm2", p), 1);
  float *gate = linear_without_bias(m, false, z, n, e, text("%s.ff.gate_proj", p), c->ff_hidden);
  float *up = linear_without_bias(m, false, z, n, e, text("%s.ff.up_proj", p), c->ff_hidden);
  silu(gate, n * c->ff_hidden);
  for (int64_t i = 0; i < n * c->ff_hidden; i++) gate[i] *= up[i];
  float *down = linear_without_bias(m, false, gate, n, c->ff_hidden, text("%s.ff.down_proj", p), e);
  add(m, x, down, e, /*masked=*/true);
}

/* The representation [n, D] of one stack. */
static float *run_stack(naive *m, const char *encoder, const char *layers) {
  const assay_mlpf_config *c = m->c;
  int64_t e = c->embedding_dim, dim = assay_mlpf_config_repr_dim(c);
  bool concat = c->representation == ASSAY_MLPF_CONCAT;
  float *x0 = encode(m, encoder), *f = array(m->n * dim);
  float *x = round_all(/*half=*/false, x0, m->n * e);
  for (int64_t layer = 0; layer < c->num_convs; layer++) {
    char p[64];
    snprintf(p, sizeof p, "%s.%d", layers, (int)layer);
    if (c->arch == ASSAY_MLPF_ATTENTION) {
      attention_layer(m, p, x0, layer + 1 == c->num_convs, x);
    } else {
      heptv2_layer(m, p, x);
    }
    check_block(m, p, /*half=*/false, x, m->n, e);
    for (int64_t i = 0; concat && i < m->n * e; i++) f[i / e * dim + layer * e + i % e] = x[i];
  }
  return concat && c->num_convs > 0 ? f : x;
}

/* g of a task [n, D], as it enters the heads. */
static float *represent(naive *m, const char *task, const float *representation) {
  const assay_mlpf_config *c = m->c;
  int64_t dim = assay_mlpf_config_repr_dim(c), n = m->n;
  bool half = is_half(m->plan.readout);
  float *g = round_all(/*half=*/false, representation, n * dim);
  if (c->task_queries) {
    char p[64];
    snprintf(p, sizeof p, "%s_readout", task);
    int64_t heads = assay_mlpf_config_readout_heads(c), d = dim / heads, listed[512];
    int64_t n_listed = list_keys(m, /*mask_keys=*/true, listed);
    const char *w = text("%s.mha.in_proj_weight", p), *b = text("%s.mha.in_proj_bias", p);
    const softmax_form f = form_of_plan(m, half, /*readout=*/true);
    float *query = layer_norm(m, /*half=*/false, weight(m, text("%s_query", task)), 1, dim,
                              text("%s.query_norm", p));
    query = product(m, /*half=*/false, query, 1, dim, w, b, 0, dim);
    query = round_all(half, query, dim);
    float *normed = layer_norm(m, /*half=*/false, g, n, dim, text("%s.key_norm", p));
    normed = enter(m, half, normed, n * dim);
    float *k = round_all(half, product(m, half, normed, n, dim, w, b, dim, dim), n * dim);
    float *v = round_all(half, product(m, half, normed, n, dim, w, b, 2 * dim, dim), n * dim);
    float *attended = array(dim);
    for (int64_t h = 0; h < heads; h++) {
      attend(f, 1 / sqrt((double)d), query + h * d, 1, k + h * d, v + h * d, listed, n_listed, dim,
             d, attended + h * d);
    }
    attended = linear(m, half, attended, 1, dim, text("%s.mha.out_proj", p), dim);
    check_block(m, text("%s.attention", p), half, attended, 1, dim);
    for (int64_t i = 0; i < n * dim; i++) g[i] += attended[i % dim];
    feed_forward(m, g, n, dim, text("%s.post_norm", p), text("%s.ffn", p));
    check_block(m, p, /*half=*/false, g, n, dim);
  }
  if (c->arch == ASSAY_MLPF_ATTENTION && c->use_pre_layernorm) {
    g = layer_norm(m, /*half=*/false, g, n, dim, text("%s_norm", task));
    check_block(m, text("%s_norm", task), /*half=*/false, g, n, dim);
  }
  return enter(m, is_half(m->plan.heads), g, n * dim);
}

static void run_heads(naive *m, const float *g_cls, const float *g_reg) {
  static const char *const targets[] = {"nn_pt", "nn_eta", "nn_sin_phi", "nn_cos_phi", "nn_energy"};
  const assay_mlpf_config *c = m->c;
  int64_t dim = assay_mlpf_config_repr_dim(c), n = m->n, types = c->n_elemtypes;
  bool half = is_half(m->plan.heads);
  float *binary = mlp3(m, half, g_cls, n, dim, "nn_binary_particle", 2);
  check_block(m, "nn_binary_particle", half, binary, n, 2);
  float *classes = mlp3(m, half, g_cls, n, dim, "nn_pid", c->num_classes);
  check_block(m, "nn_pid", half, classes, n, c->num_classes);
  for (int target = 0; target < ASSAY_MLPF_N_TARGETS; target++) {
    bool by_type = c->regression[target] == ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT;
    float *values = array(n);
    assert_true(by_type || c->regression[target] == ASSAY_MLPF_LINEAR);
    for (int64_t type = 0; type < (by_type ? types : 1); type++) {
      const char *p =
          by_type ? text("%s.nn.%d", targets[target], (int)type) : text("%s.nn", targets[target]);
      float *z = mlp3(m, half, g_reg, n, dim, p, by_type ? 1 : 2);
      for (int64_t i = 0; i < n; i++) {
        const float *row = m->features + i * c->input_dim;
        if (by_type && row[0] == (float)c->elemtypes[type]) values[i] = z[i];
        if (!by_type) values[i] = row[1 + target] * z[2 * i] + z[2 * i + 1];
      }
    }
    /* skip connections are FP32, whatever the raw outputs are */
    check_block(m, targets[target], half && by_type, values, n, 1);
    m->compared[m->n_compared - 1].half = half;
  }
}

static void run_naive(naive *m) {
  pool_used = 0;
  if (m->c->backbone_mode == ASSAY_MLPF_BACKBONE_SPLIT) {
    const float *f_cls = run_stack(m, "_nn0_id", "_backbone_id");
    const float *f_reg = run_stack(m, "_nn0_reg", "_backbone_reg");
    run_heads(m, represent(m, "classification", f_cls), represent(m, "regression", f_reg));
  } else {
    const float *f = run_stack(m, "nn0", "backbone");
    run_heads(m, represent(m, "classification", f), represent(m, "regression", f));
  }
}

/* ---- plans and models ---- */

static assay_mlpf_plan_config plan_of(assay_dtype dtype, assay_mlpf_attention_form form) {
  assay_mlpf_plan_config plan;
  assay_error err = {0};
  check_ok(assay_mlpf_plan_config_init(dtype, form, &plan, &err), &err);
  return plan;
}

/* Plans that differ in one thing: each block alone, all, and the forms of attention. */
static const struct plan_case {
  const char *name;
  assay_mlpf_attention_form form;
  bool encoder, backbone, scores, readout, heads;
} plan_cases[] = {
    {"float32", ASSAY_MLPF_DECOMPOSED, 0, 0, 0, 0, 0},
    {"decomposed", ASSAY_MLPF_DECOMPOSED, 0, 1, 1, 1, 0},
    {"attention24", ASSAY_MLPF_ATTENTION24, 0, 1, 0, 1, 0},
    {"mha", ASSAY_MLPF_MHA, 0, 1, 0, 1, 0},
    {"everything", ASSAY_MLPF_DECOMPOSED, 1, 1, 1, 1, 1},
    {"everything but scores", ASSAY_MLPF_DECOMPOSED, 1, 1, 0, 1, 1},
    {"encoder", ASSAY_MLPF_ATTENTION24, 1, 0, 0, 0, 0},
    {"backbone", ASSAY_MLPF_DECOMPOSED, 0, 1, 1, 0, 0},
    {"readout", ASSAY_MLPF_DECOMPOSED, 0, 0, 1, 1, 0},
    {"heads", ASSAY_MLPF_MHA, 0, 0, 0, 0, 1},
};
enum { N_PLANS = sizeof plan_cases / sizeof plan_cases[0] };
enum { N_ARITHMETICS = 3 };
static const char *const arithmetic_names[N_ARITHMETICS] = {[ASSAY_REF_RESULTS] = "results rounded",
                                                            [ASSAY_REF_SUMS] = "sums too",
                                                            [ASSAY_REF_STORED] = "stored alone"};

static assay_mlpf_plan_config plan_of_case(const struct plan_case *c) {
  assay_mlpf_plan_config plan = plan_of(ASSAY_DTYPE_F32, c->form);
  plan.encoder = c->encoder ? ASSAY_DTYPE_F16 : ASSAY_DTYPE_F32;
  plan.backbone = c->backbone ? ASSAY_DTYPE_F16 : ASSAY_DTYPE_F32;
  plan.scores = c->scores ? ASSAY_DTYPE_F16 : ASSAY_DTYPE_F32;
  plan.readout = c->readout ? ASSAY_DTYPE_F16 : ASSAY_DTYPE_F32;
  plan.heads = c->heads ? ASSAY_DTYPE_F16 : ASSAY_DTYPE_F32;
  return plan;
}

/* Seeded norms and biases are 1 and 0, and seeded scores small: neither would show whether they are
 * rounded. */
static void enliven(assay_tensor_map *weights) {
  uint32_t at = 1;
  for (size_t i = 0; i < weights->n; i++) {
    const char *name = weights->items[i].name;
    assay_tensor *tensor = &weights->items[i].tensor;
    float *values = assay_tensor_f32(tensor);
    bool asks = strstr(name, "in_proj_weight") != NULL;
    for (size_t k = 0; k < tensor->n_elems; k++) {
      float u = generated(at++), v = generated(at++);
      if (tensor->rank == 1) values[k] = values[k] * (0.7F + 0.6F * u) + 0.2F * (v - 0.5F);
      if (asks && k < tensor->n_elems / 3 * 2) values[k] *= 3;
    }
  }
}

/* Small models of either architecture that reach every path between them. */
enum { N_MODELS = 6 };
static const char *const model_names[N_MODELS] = {"attention",        "attention, concat",
                                                  "attention, split", "heptv2",
                                                  "heptv2, d 16",     "heptv2, split"};

static assay_mlpf_config model(int number) {
  assay_mlpf_config c = small(number < 3 ? "attention" : "heptv2");
  static const assay_mlpf_activation activations[N_MODELS] = {
      ASSAY_MLPF_ELU,   ASSAY_MLPF_GELU, ASSAY_MLPF_LEAKYRELU,
      ASSAY_MLPF_RELU6, ASSAY_MLPF_ELU,  ASSAY_MLPF_RELU};
  bool split = number == 2 || number == 5, d_is_16 = number == 1 || number == 4;
  c.activation = activations[number];
  c.task_queries = !split;
  c.backbone_mode = split ? ASSAY_MLPF_BACKBONE_SPLIT : ASSAY_MLPF_BACKBONE_SHARED;
  c.phi = ASSAY_MLPF_PHI_NATIVE;
  if (d_is_16) {
    c.num_heads = 2;
    c.head_dim = 16;
    c.input_encoding = ASSAY_MLPF_JOINT;
    c.use_pre_layernorm = false;
    c.key_mask = ASSAY_MLPF_KEY_MASK_UPSTREAM;
  } else {
    c.key_mask = ASSAY_MLPF_KEY_MASK_ALL;
  }
  if (number == 1) c.representation = ASSAY_MLPF_CONCAT;
  if (split) c.learned_positions = false;
  c.block_size = 5;
  c.num_regions = 9; /* some elements in each, so that hashes fill their buckets differently */
  return c;
}

typedef struct collector {
  assay_tensor_map taken;
  const char *only;    /* a block; NULL: all */
  const char *fail_at; /* a block; NULL: none */
  int n_asked;
} collector;

static assay_status collect(void *argument, const char *block, const assay_tensor *value,
                            assay_error *err) {
  collector *c = argument;
  assay_tensor copy = {0};
  if (c->fail_at != NULL && strcmp(block, c->fail_at) == 0) {
    return assay_fail(err, ASSAY_E_LIMIT, "enough of %s", block);
  }
  ASSAY_TRY(assay_tensor_copy(&copy, value, err));
  assay_status st =
      assay_tensor_map_add(&c->taken, block, &copy, err); /* refuses one shown twice */
  if (st) assay_tensor_reset(&copy);
  return st;
}

static bool wants(void *argument, const char *block) {
  collector *c = argument;
  c->n_asked++;
  return c->only == NULL || strcmp(block, c->only) == 0;
}

static assay_status run(const assay_mlpf_config *c, const assay_tensor_map *weights,
                        assay_dtype dtype, const event_batch *batch,
                        const assay_mlpf_plan_config *plan, assay_ref_arithmetic arithmetic,
                        collector *taps, int threads, assay_ref_outputs *out, assay_error *err) {
  const assay_ref_tap tap = {.take = collect, .wants = wants, .argument = taps};
  const assay_ref_options options = {.threads = threads,
                                     .plan = plan,
                                     .arithmetic = arithmetic,
                                     .tap = taps != NULL ? &tap : NULL};
  return assay_ref_mlpf_run(c, weights, dtype, &batch->x, &batch->mask, &options, out, err);
}

static assay_ref_outputs evaluate(const assay_mlpf_config *c, const assay_tensor_map *weights,
                                  assay_dtype dtype, const event_batch *batch,
                                  const assay_mlpf_plan_config *plan, collector *taps) {
  assay_ref_outputs out = {0};
  assay_error err = {0};
  check_ok(run(c, weights, dtype, batch, plan, ASSAY_REF_RESULTS, taps, /*threads=*/1, &out, &err),
           &err);
  return out;
}

static void check_bits(const char *what, const assay_ref_outputs *a, const assay_ref_outputs *b) {
  for (size_t h = 0; h < 4; h++) {
    const assay_tensor *left = head(a, head_names[h]), *right = head(b, head_names[h]);
    assert_int_equal(left->size_bytes, right->size_bytes);
    if (memcmp(left->data, right->data, left->size_bytes) != 0)
      fail_msg("%s: %s differs", what, head_names[h]);
  }
  assert_int_equal(a->perm.size_bytes, b->perm.size_bytes);
  if (a->perm.size_bytes > 0) assert_memory_equal(a->perm.data, b->perm.data, a->perm.size_bytes);
}

/* ---- tests ---- */

static void check_against_emulation(const char *what, const assay_mlpf_config *c,
                                    const assay_tensor_map *weights, const event_batch *batch,
                                    const assay_mlpf_plan_config *plan,
                                    assay_ref_arithmetic arithmetic) {
  collector taps = {0};
  assay_error err = {0};
  assay_ref_outputs out = {0};
  check_ok(run(c, weights, ASSAY_DTYPE_F32, batch, plan, arithmetic, &taps, 1, &out, &err), &err);
  naive m = {.what = what,
             .c = c,
             .weights = weights,
             .plan = *plan,
             .arithmetic = arithmetic,
             .taps = &taps.taken};
  m.n = N_ELEMS;
  for (m.event = 0; m.event < N_EVENTS; m.event++) {
    m.features = assay_tensor_f32(&batch->x) + m.event * m.n * c->input_dim;
    m.mask = assay_tensor_f32(&batch->mask) + m.event * m.n;
    m.n_compared = 0;
    run_naive(&m);
  }
  check_differences(&m);
  size_t n_permutations = 0; /* compared elsewhere, and exactly */
  for (size_t i = 0; i < taps.taken.n; i++) {
    n_permutations += strstr(taps.taken.items[i].name, ".permutation") != NULL;
  }
  assert_int_equal((size_t)m.n_compared + n_permutations, taps.taken.n);
  assay_ref_outputs_reset(&out);
  assay_tensor_map_reset(&taps.taken);
}

static void every_block_is_what_its_equations_and_the_plan_say(void **state) {
  (void)state;
  for (int number = 0; number < N_MODELS; number++) {
    assay_mlpf_config c = model(number);
    assay_tensor_map weights = seeded(&c, 3);
    enliven(&weights);
    event_batch batch = make_batch(&c, N_EVENTS, N_ELEMS,
                                   (int64_t[]){10, 7, 10, 9, 1, 10, 6, 8, 10, 5, 10, 9, 10, 7, 10});
    for (int i = 0; i < N_PLANS; i++) {
      const assay_mlpf_plan_config plan = plan_of_case(&plan_cases[i]);
      char what[128];
      if (plan.scores == ASSAY_DTYPE_F16 && plan.backbone == ASSAY_DTYPE_F32 && !c.task_queries)
        continue; /* no attention is half */
      for (int k = 0; k < N_ARITHMETICS; k++) {
        snprintf(what, sizeof what, "%s, %s, %s", model_names[number], plan_cases[i].name,
                 arithmetic_names[k]);
        check_against_emulation(what, &c, &weights, &batch, &plan, (assay_ref_arithmetic)k);
      }
    }
    free_batch(&batch);
    assay_tensor_map_reset(&weights);
  }
}

static void an_fp32_plan_changes_no_bit(void **state) {
  (void)state;
  for (int number = 0; number < N_MODELS; number++) {
    assay_mlpf_config c = model(number);
    assay_tensor_map weights = seeded(&c, 3);
    event_batch batch = make_batch(&c, 2, 60, (int64_t[]){60, 47});
    for (int bits = 0; bits < 2; bits++) {
      assay_dtype dtype = bits ? ASSAY_DTYPE_F64 : ASSAY_DTYPE_F32;
      assay_ref_outputs none = evaluate(&c, &weights, dtype, &batch, NULL, NULL);
      for (int form = 0; form < 3; form++) {
        const assay_mlpf_plan_config plan =
            plan_of(ASSAY_DTYPE_F32, (assay_mlpf_attention_form)form);
        collector taps = {0};
        assay_ref_outputs out = evaluate(&c, &weights, dtype, &batch, &plan, &taps);
        check_bits(model_names[number], &out, &none);
        assay_ref_outputs_reset(&out);
        assay_tensor_map_reset(&taps.taken);
      }
      assay_ref_outputs_reset(&none);
    }
    free_batch(&batch);
    assay_tensor_map_reset(&weights);
  }
}

/* Around the edges of panels, blocks and tiles; the two fused forms compute the same, though they
 * do not store the same. */
static void rounding_depends_neither_on_threads_nor_on_the_fused_form(void **state) {
  (void)state;
  for (int number = 0; number < N_MODELS; number++) {
    assay_mlpf_config c = model(number);
    c.block_size = 100;
    assay_tensor_map weights = seeded(&c, 3);
    event_batch batch = make_batch(&c, 2, 300, (int64_t[]){300, 257});
    assay_ref_outputs fused[2];
    for (int i = 0; i < 3 * N_ARITHMETICS; i++) {
      int form = i % 3;
      const assay_ref_arithmetic arithmetic = (assay_ref_arithmetic)(i / 3);
      const assay_mlpf_plan_config plan = plan_of(ASSAY_DTYPE_F16, (assay_mlpf_attention_form)form);
      assay_ref_outputs one, three;
      assay_error err = {0};
      check_ok(run(&c, &weights, ASSAY_DTYPE_F32, &batch, &plan, arithmetic, NULL, 1, &one, &err),
               &err);
      check_ok(run(&c, &weights, ASSAY_DTYPE_F32, &batch, &plan, arithmetic, NULL, 3, &three, &err),
               &err);
      check_bits("threads", &one, &three);
      assay_ref_outputs_reset(&three);
      if (form > 0) {
        fused[form - 1] = one;
      } else {
        assay_ref_outputs_reset(&one);
      }
      if (form < 2) continue;
      if (arithmetic != ASSAY_REF_STORED) check_bits("forms", &fused[0], &fused[1]);
      assay_ref_outputs_reset(&fused[0]);
      assay_ref_outputs_reset(&fused[1]);
    }
    free_batch(&batch);
    assay_tensor_map_reset(&weights);
  }
}

/* Padding is +0 and events may be empty in FP16 too, and permutations are those of FP32. */
static void outputs_keep_their_promises_in_half(void **state) {
  (void)state;
  for (int number = 0; number < N_MODELS; number++) {
    assay_mlpf_config c = model(number);
    assay_tensor_map weights = seeded(&c, 3);
    event_batch batch = make_batch(&c, 2, 60, (int64_t[]){33, 0});
    const assay_mlpf_plan_config plan = plan_of(ASSAY_DTYPE_F16, ASSAY_MLPF_DECOMPOSED);
    assay_ref_outputs half = evaluate(&c, &weights, ASSAY_DTYPE_F32, &batch, &plan, NULL);
    assay_ref_outputs full = evaluate(&c, &weights, ASSAY_DTYPE_F64, &batch, NULL, NULL);
    double worst = 0;
    for (size_t h = 0; h < 4; h++) {
      const assay_tensor *a = head(&half, head_names[h]), *b = head(&full, head_names[h]);
      for (size_t i = 0; i < a->n_elems; i++) {
        double value = assay_tensor_get_real(a, i);
        assert_true(isfinite(value));
        worst = fmax(worst, fabs(value - assay_tensor_get_real(b, i)));
        if (assay_tensor_f32(&batch.mask)[(int64_t)i / a->dims[2]] > 0) continue;
        assert_true(value == 0 && !signbit(value));
      }
    }
    if (!(worst > 1e-5 && worst < 2e-2)) /* models.md section E: around 1e-3 */
      fail_msg("%s: FP16 is %.3g away from FP64", model_names[number], worst);
    assert_int_equal(half.perm.size_bytes, full.perm.size_bytes);
    if (half.perm.size_bytes > 0)
      assert_memory_equal(half.perm.data, full.perm.data, half.perm.size_bytes);
    assay_ref_outputs_reset(&half);
    assay_ref_outputs_reset(&full);
    free_batch(&batch);
    assay_tensor_map_reset(&weights);
  }
}

static void check_refused(const assay_mlpf_config *c, const assay_tensor_map *weights,
                          assay_dtype dtype, const event_batch *batch,
                          const assay_mlpf_plan_config *plan, const char *part) {
  assay_error err = {0};
  assay_ref_outputs out = {0};
  assert_int_equal(run(c, weights, dtype, batch, plan, ASSAY_REF_RESULTS, NULL, 1, &out, &err),
                   ASSAY_E_ARGUMENT);
  if (strstr(err.text, part) == NULL) fail_msg("expected '%s' in: %s", part, err.text);
  assert_int_equal(out.heads.n, 0);
}

static void what_float16_cannot_hold_is_refused_by_name(void **state) {
  (void)state;
  static const struct {
    int model;
    const char *tensor;
    bool encoder, backbone, readout, heads; /* blocks that it is of */
  } rows[] = {
      {0, "nn0.4.weight", 1, 0, 0, 0},
      {0, "backbone.1.mha.in_proj_bias", 0, 1, 0, 0},
      {0, "backbone.0.norm0.weight", 0, 0, 0, 0}, /* FP32 whatever the plan says */
      {0, "backbone.1.seq.0.weight", 0, 0, 0, 0},
      {3, "backbone.0.w_q.weight", 0, 1, 0, 0},
      {3, "backbone.1.attn.out_linear.bias", 0, 1, 0, 0},
      {3, "backbone.1.q_norm.weight", 0, 0, 0, 0},
      {3, "backbone.0.pe_func.position_embedding_head.0.weight", 0, 0, 0, 0},
      {0, "regression_readout.mha.in_proj_weight", 0, 0, 1, 0},
      {0, "classification_readout.mha.out_proj.bias", 0, 0, 1, 0},
      {0, "classification_readout.ffn.2.bias", 0, 0, 0, 0},
      {0, "classification_norm.weight", 0, 0, 0, 0},
      {0, "nn_pt.nn.1.2.weight", 0, 0, 0, 1},
      {0, "classification_query", 0, 0, 0, 0},
      {0, "classification_readout.query_norm.weight", 0, 0, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assay_mlpf_config c = model(rows[i].model);
    assay_tensor_map weights = seeded(&c, 3);
    event_batch batch = make_batch(&c, 1, 20, (int64_t[]){20});
    assay_tensor *tensor = assay_tensor_map_find(&weights, rows[i].tensor);
    assert_non_null(tensor);
    float *last = assay_tensor_f32(tensor) + tensor->n_elems - 1;
    for (int block = 0; block < 4; block++) {
      const bool of[] = {rows[i].encoder, rows[i].backbone, rows[i].readout, rows[i].heads};
      assay_mlpf_plan_config plan = plan_of(ASSAY_DTYPE_F32, ASSAY_MLPF_DECOMPOSED);
      assay_dtype *const dtypes[] = {&plan.encoder, &plan.backbone, &plan.readout, &plan.heads};
      *dtypes[block] = ASSAY_DTYPE_F16;
      const float values[] = {65519, -65520, 1e30F};
      for (int k = 0; k < 3; k++) {
        *last = values[k];
        if (of[block] && k > 0) {
          check_refused(&c, &weights, ASSAY_DTYPE_F32, &batch, &plan, rows[i].tensor);
        } else {
          assay_ref_outputs out = evaluate(&c, &weights, ASSAY_DTYPE_F32, &batch, &plan, NULL);
          assay_ref_outputs_reset(&out);
        }
      }
    }
    free_batch(&batch);
    assay_tensor_map_reset(&weights);
  }
}

static void plans_that_make_no_sense_are_refused(void **state) {
  (void)state;
  assay_mlpf_config c = model(0);
  assay_tensor_map weights = seeded(&c, 3);
  event_batch batch = make_batch(&c, 1, 20, (int64_t[]){20});
  assay_mlpf_plan_config plan = plan_of(ASSAY_DTYPE_F16, ASSAY_MLPF_DECOMPOSED);
  check_refused(&c, &weights, ASSAY_DTYPE_F64, &batch, &plan, "float32, not float64");
  plan.heads = ASSAY_DTYPE_F64;
  check_refused(&c, &weights, ASSAY_DTYPE_F32, &batch, &plan, "heads is float64");
  free_batch(&batch);
  assay_tensor_map_reset(&weights);
}

/* 1/sqrt(d) is a power of two where d is a power of 4. */
static void scale_is_folded_where_that_rounds_nothing(void **state) {
  (void)state;
  for (int64_t d = 1; d <= 256; d++) {
    ref_plan_scale half = ref_plan_scale_of(d, true), full = ref_plan_scale_of(d, false);
    bool folds = d == 1 || d == 4 || d == 16 || d == 64 || d == 256;
    assert_true(full.of_scores == 1 && full.of_queries == 1 / sqrt((double)d));
    assert_true((folds ? half.of_scores : half.of_queries) == 1);
    assert_true((folds ? half.of_queries : half.of_scores) ==
                (double)rounded(true, 1 / sqrt((double)d)));
  }
}

/* ---- taps ---- */

/* The names in order; those of a model without a thing are left out. */
static void check_order(const assay_mlpf_config *c, const assay_tensor_map *taken) {
  char names[64][96];
  size_t n = 0;
  bool split = c->backbone_mode == ASSAY_MLPF_BACKBONE_SPLIT;
  static const char *const stacks[][2] = {
      {"nn0", "backbone"}, {"_nn0_id", "_backbone_id"}, {"_nn0_reg", "_backbone_reg"}};
  static const char *const last[] = {"nn_binary_particle", "nn_pid",     "nn_pt",    "nn_eta",
                                     "nn_sin_phi",         "nn_cos_phi", "nn_energy"};
  for (int i = split; i < (split ? 3 : 1); i++) {
    snprintf(names[n++], sizeof names[0], "%s", stacks[i][0]);
    for (int layer = 0; layer < c->num_convs; layer++) {
      const char *p = text("%s.%d", stacks[i][1], layer);
      if (c->arch == ASSAY_MLPF_HEPTV2) snprintf(names[n++], sizeof names[0], "%s.permutation", p);
      snprintf(names[n++], sizeof names[0], "%s.attention", p);
      snprintf(names[n++], sizeof names[0], "%s", p);
    }
  }
  for (int task = 0; task < 2; task++) {
    const char *p = task ? "regression" : "classification";
    if (c->task_queries) snprintf(names[n++], sizeof names[0], "%s_readout.attention", p);
    if (c->task_queries) snprintf(names[n++], sizeof names[0], "%s_readout", p);
    if (c->arch == ASSAY_MLPF_ATTENTION && c->use_pre_layernorm)
      snprintf(names[n++], sizeof names[0], "%s_norm", p);
  }
  for (int i = 0; i < 7; i++) snprintf(names[n++], sizeof names[0], "%s", last[i]);
  assert_int_equal(taken->n, n);
  for (size_t i = 0; i < n; i++) assert_string_equal(taken->items[i].name, names[i]);
}

/* Outputs are made of the raw outputs of the heads: models.md (36) to (38). */
static void check_outputs(const assay_tensor_map *taken, const assay_ref_outputs *out,
                          const event_batch *batch, double tolerance) {
  static const char *const targets[] = {"nn_pt", "nn_eta", "nn_sin_phi", "nn_cos_phi", "nn_energy"};
  static const char *const classes[][2] = {{"nn_binary_particle", "bid"}, {"nn_pid", "id"}};
  const float *mask = assay_tensor_f32(&batch->mask);
  for (int k = 0; k < 2; k++) {
    const assay_tensor *raw = assay_tensor_map_find(taken, classes[k][0]);
    const assay_tensor *made = head(out, classes[k][1]);
    assert_true(assay_tensor_same_shape(raw, made));
    for (size_t i = 0; i < raw->n_elems; i++) {
      bool valid = mask[(int64_t)i / raw->dims[2]] > 0;
      assert_true(!valid || assay_tensor_get_real(raw, i) == assay_tensor_get_real(made, i));
    }
  }
  const assay_tensor *momentum = head(out, "momentum");
  for (size_t row = 0; row < batch->mask.n_elems; row++) {
    double v[5], x1 = assay_tensor_get_real(&batch->x, row * (size_t)batch->x.dims[2] + 1),
                 x5 = assay_tensor_get_real(&batch->x, row * (size_t)batch->x.dims[2] + 5);
    if (!(mask[row] > 0)) continue;
    for (int k = 0; k < 5; k++) {
      v[k] = assay_tensor_get_real(assay_tensor_map_find(taken, targets[k]), row);
      if (k < 4) assert_true(v[k] == assay_tensor_get_real(momentum, row * 5 + (size_t)k));
    }
    double pt = exp(v[0]) * x1, pz = pt * (exp(v[1]) - exp(-v[1])) / 2;
    double energy = log(sqrt(pt * pt + pz * pz) / x5) + fmax(0, v[4]);
    assert_true(fabs(energy - assay_tensor_get_real(momentum, row * 5 + 4)) <= tolerance);
  }
}

static void check_permutations(const assay_tensor_map *taken, const assay_ref_outputs *out) {
  const int32_t *perm = out->perm.data;
  size_t n = 0;
  for (size_t i = 0; i < taken->n; i++) {
    const assay_tensor *tensor = &taken->items[i].tensor;
    if (strstr(taken->items[i].name, ".permutation") == NULL) continue;
    assert_int_equal(tensor->rank, 3);
    assert_int_equal(tensor->dims[0], out->perm.dims[1] * out->perm.dims[2]);
    assert_int_equal(tensor->dims[1], out->perm.dims[3]);
    assert_int_equal(tensor->dims[2], out->perm.dims[4]);
    for (size_t k = 0; k < tensor->n_elems; k++) {
      assert_int_equal(assay_tensor_i64(tensor)[k], perm[n++]);
    }
  }
  assert_int_equal(n, out->perm.n_elems);
}

static void blocks_are_shown_once_and_in_order(void **state) {
  (void)state;
  for (int number = 0; number < N_MODELS; number++) {
    for (int k = 0; k < 3; k++) { /* FP32, FP64, FP16 */
      assay_mlpf_config c = model(number);
      assay_tensor_map weights = seeded(&c, 3);
      event_batch batch = make_batch(&c, 2, 60, (int64_t[]){60, 47});
      assay_dtype dtype = k == 1 ? ASSAY_DTYPE_F64 : ASSAY_DTYPE_F32;
      const assay_mlpf_plan_config plan =
          plan_of(k == 2 ? ASSAY_DTYPE_F16 : ASSAY_DTYPE_F32, ASSAY_MLPF_DECOMPOSED);
      collector taps = {0};
      assay_ref_outputs out = evaluate(&c, &weights, dtype, &batch, &plan, &taps);
      check_order(&c, &taps.taken);
      assert_int_equal(taps.n_asked, taps.taken.n);
      check_outputs(&taps.taken, &out, &batch, dtype == ASSAY_DTYPE_F64 ? 1e-14 : 2e-6);
      check_permutations(&taps.taken, &out);
      for (size_t i = 0; i < taps.taken.n; i++) { /* one alone is what it is among all */
        const assay_named_tensor *item = &taps.taken.items[i];
        collector one = {.only = item->name};
        assay_ref_outputs again = evaluate(&c, &weights, dtype, &batch, &plan, &one);
        assert_int_equal(one.taken.n, 1);
        assert_true(one.taken.items[0].tensor.dtype ==
                    (strstr(item->name, ".permutation") != NULL ? ASSAY_DTYPE_I64 : dtype));
        assert_memory_equal(one.taken.items[0].tensor.data, item->tensor.data,
                            item->tensor.size_bytes);
        check_bits("tapped", &again, &out);
        assay_ref_outputs_reset(&again);
        assay_tensor_map_reset(&one.taken);
      }
      assay_ref_outputs_reset(&out);
      assay_tensor_map_reset(&taps.taken);
      free_batch(&batch);
      assay_tensor_map_reset(&weights);
    }
  }
}

static void a_tap_that_fails_ends_the_evaluation(void **state) {
  (void)state;
  static const char *const blocks[] = {
      "nn0",        "backbone.0.permutation",           "backbone.1.attention",
      "backbone.1", "classification_readout.attention", "regression_readout",
      "nn_energy"};
  assay_mlpf_config c = model(3);
  assay_tensor_map weights = seeded(&c, 3);
  event_batch batch = make_batch(&c, 1, 20, (int64_t[]){20});
  for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
    collector taps = {.fail_at = blocks[i]};
    assay_error err = {0};
    assay_ref_outputs out = {0};
    assert_int_equal(
        run(&c, &weights, ASSAY_DTYPE_F32, &batch, NULL, ASSAY_REF_RESULTS, &taps, 1, &out, &err),
        ASSAY_E_LIMIT);
    assert_non_null(strstr(err.text, blocks[i]));
    assert_int_equal(out.heads.n, 0);
    assay_tensor_map_reset(&taps.taken);
  }
  free_batch(&batch);
  assay_tensor_map_reset(&weights);
}

/* Counts down; what was shown until then is as in a whole evaluation. */
static bool stop_after(void *argument) {
  int *left = argument;
  return (*left)-- <= 0;
}

static void a_stopped_evaluation_shows_nothing_unfinished(void **state) {
  (void)state;
  assay_mlpf_config c = model(3);
  assay_tensor_map weights = seeded(&c, 3);
  event_batch batch = make_batch(&c, 2, 20, (int64_t[]){20, 11});
  collector all = {0};
  assay_ref_outputs out = evaluate(&c, &weights, ASSAY_DTYPE_F32, &batch, NULL, &all);
  assay_ref_outputs_reset(&out);
  assay_status st = ASSAY_E_STOPPED;
  for (int n = 0; st != ASSAY_OK; n++) {
    int left = n;
    collector taps = {0};
    assay_error err = {0};
    const assay_ref_tap tap = {.take = collect, .argument = &taps};
    const assay_ref_options options = {
        .cancelled = stop_after, .cancelled_arg = &left, .tap = &tap};
    st = assay_ref_mlpf_run(&c, &weights, ASSAY_DTYPE_F32, &batch.x, &batch.mask, &options, &out,
                            &err);
    assert_true(st == ASSAY_OK || st == ASSAY_E_STOPPED);
    assert_true(st == ASSAY_OK || taps.taken.n < all.taken.n);
    for (size_t i = 0; i < taps.taken.n; i++) {
      const assay_tensor *shown = &taps.taken.items[i].tensor;
      assert_memory_equal(shown->data, all.taken.items[i].tensor.data, shown->size_bytes);
    }
    assay_tensor_map_reset(&taps.taken);
  }
  assay_ref_outputs_reset(&out);
  assay_tensor_map_reset(&all.taken);
  free_batch(&batch);
  assay_tensor_map_reset(&weights);
}

static void memory_that_runs_out_is_reported_under_plan_and_taps(void **state) {
  (void)state;
  for (int number = 0; number < N_MODELS; number += 3) {
    assay_mlpf_config c = model(number);
    assay_tensor_map weights = seeded(&c, 3);
    event_batch batch = make_batch(&c, 1, 20, (int64_t[]){20});
    const assay_mlpf_plan_config plan = plan_of(ASSAY_DTYPE_F16, ASSAY_MLPF_DECOMPOSED);
    assay_status st = ASSAY_E_MEMORY;
    for (int64_t n = 0; st != ASSAY_OK; n++) {
      assay_error err = {0};
      assay_ref_outputs out = {0};
      collector taps = {0};
      assert_true(n < 10000);
      assay_alloc_fail_after(n);
      st = run(&c, &weights, ASSAY_DTYPE_F32, &batch, &plan, ASSAY_REF_RESULTS, &taps, 1, &out,
               &err);
      assay_alloc_fail_after(-1);
      if (st) assert_int_equal(st, ASSAY_E_MEMORY);
      assay_ref_outputs_reset(&out);
      assay_tensor_map_reset(&taps.taken);
    }
    free_batch(&batch);
    assay_tensor_map_reset(&weights);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_block_is_what_its_equations_and_the_plan_say),
      cmocka_unit_test(an_fp32_plan_changes_no_bit),
      cmocka_unit_test(rounding_depends_neither_on_threads_nor_on_the_fused_form),
      cmocka_unit_test(outputs_keep_their_promises_in_half),
      cmocka_unit_test(what_float16_cannot_hold_is_refused_by_name),
      cmocka_unit_test(plans_that_make_no_sense_are_refused),
      cmocka_unit_test(scale_is_folded_where_that_rounds_nothing),
      cmocka_unit_test(blocks_are_shown_once_and_in_order),
      cmocka_unit_test(a_tap_that_fails_ends_the_evaluation),
      cmocka_unit_test(a_stopped_evaluation_shows_nothing_unfinished),
      cmocka_unit_test(memory_that_runs_out_is_reported_under_plan_and_taps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
