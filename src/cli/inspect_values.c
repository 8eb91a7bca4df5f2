/* What the values of an array are like: their range and mean, and how many are not finite. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/inspect.h"

#define BLOCK_ELEMS ((size_t)4096)
#define N_LANES     ((size_t)8) /* independent sums: an addition need not wait for the one before */

/* Values are counted as they come; a mean is made of block sums, so that its error grows with the
 * root of their number: below 1e-12 of the largest magnitude for 2^40 values. */
typedef struct tally {
  inspect_values values;
  double sum; /* of the finite ones */
  size_t n_finite;
} tally;

static void add_value(tally *t, double x) {
  inspect_values *v = &t->values;
  if (isnan(x)) v->n_nan++;
  if (isinf(x) && x > 0) v->n_pos_inf++;
  if (isinf(x) && x < 0) v->n_neg_inf++;
  if (!isfinite(x)) return;
  if (x < v->min) v->min = x;
  if (x > v->max) v->max = x;
  t->sum += x;
  t->n_finite++;
}

/* x[n], n a multiple of N_LANES. False, and nothing is counted, when one of them is not finite:
 * then x - x, which is 0 for others, is NaN, and stays NaN in the sum. */
static bool add_finite_floats(tally *t, const float *x, size_t n) {
  float low[N_LANES], high[N_LANES], odd[N_LANES] = {0};
  double sum[N_LANES] = {0};
  for (size_t k = 0; k < N_LANES; k++) low[k] = high[k] = x[k];
  for (size_t i = 0; i < n; i += N_LANES) {
    for (size_t k = 0; k < N_LANES; k++) {
      const float value = x[i + k];
      low[k] = value < low[k] ? value : low[k];
      high[k] = value > high[k] ? value : high[k];
      odd[k] += value - value;
      sum[k] += (double)value;
    }
  }
  for (size_t k = 0; k < N_LANES; k++)
    if (isnan(odd[k])) return false;
  for (size_t k = 0; k < N_LANES; k++) {
    t->values.min = fmin(t->values.min, (double)low[k]);
    t->values.max = fmax(t->values.max, (double)high[k]);
    t->sum += sum[k];
  }
  t->n_finite += n;
  return true;
}

static void measure_floats(tally *t, const float *x, size_t n_elems) {
  for (size_t i = 0; i < n_elems; i += BLOCK_ELEMS) {
    const size_t n = n_elems - i < BLOCK_ELEMS ? n_elems - i : BLOCK_ELEMS;
    size_t done = n / N_LANES * N_LANES;
    if (done > 0 && !add_finite_floats(t, x + i, done)) done = 0;
    for (size_t k = done; k < n; k++) add_value(t, (double)x[i + k]);
  }
}

/* An element counts once, by its worse part: NaN before infinite, of either sign as positive.
 * Complex numbers have no order, and so no range. */
static void measure_complex(tally *t, const assay_tensor *tensor) {
  const bool is_wide = tensor->dtype == ASSAY_DTYPE_C128;
  for (size_t i = 0; i < tensor->n_elems; i++) {
    const double re = is_wide ? ((const double *)tensor->data)[2 * i]
                              : (double)((const float *)tensor->data)[2 * i];
    const double im = is_wide ? ((const double *)tensor->data)[2 * i + 1]
                              : (double)((const float *)tensor->data)[2 * i + 1];
    if (isnan(re) || isnan(im))
      t->values.n_nan++;
    else if (isinf(re) || isinf(im))
      t->values.n_pos_inf++;
  }
}

static void find_exact_range(const assay_tensor *tensor, inspect_values *out) {
  for (size_t k = 0; k < tensor->n_elems; k++) {
    if (tensor->dtype == ASSAY_DTYPE_I64) {
      const int64_t x = ((const int64_t *)tensor->data)[k];
      if (k == 0 || x < out->exact_min.i) out->exact_min.i = x;
      if (k == 0 || x > out->exact_max.i) out->exact_max.i = x;
    } else if (tensor->dtype == ASSAY_DTYPE_U64) {
      const uint64_t x = ((const uint64_t *)tensor->data)[k];
      if (k == 0 || x < out->exact_min.u) out->exact_min.u = x;
      if (k == 0 || x > out->exact_max.u) out->exact_max.u = x;
    } else {
      return;
    }
  }
}

void inspect_measure(const assay_tensor *tensor, inspect_values *out) {
  tally t = {.values = {.min = HUGE_VAL, .max = -HUGE_VAL}};
  if (tensor->dtype == ASSAY_DTYPE_C64 || tensor->dtype == ASSAY_DTYPE_C128)
    measure_complex(&t, tensor);
  else if (tensor->dtype == ASSAY_DTYPE_F32)
    measure_floats(&t, tensor->data, tensor->n_elems);
  else
    for (size_t i = 0; i < tensor->n_elems; i++) add_value(&t, assay_tensor_get_real(tensor, i));
  t.values.has_range = t.n_finite > 0;
  if (t.n_finite > 0) t.values.mean = t.sum / (double)t.n_finite;
  find_exact_range(tensor, &t.values);
  *out = t.values;
}

/* Integers stay integers, but for those beyond int64. */
static void put_range(assay_json_builder *json, assay_dtype dtype, const inspect_values *v) {
  static const char *const keys[] = {"min", "max"};
  for (int k = 0; k < 2; k++) {
    const double value = k == 0 ? v->min : v->max;
    const int64_t i = k == 0 ? v->exact_min.i : v->exact_max.i;
    const uint64_t u = k == 0 ? v->exact_min.u : v->exact_max.u;
    if (!v->has_range)
      assay_json_put_null(json, keys[k]);
    else if (dtype == ASSAY_DTYPE_I64 || (dtype == ASSAY_DTYPE_U64 && u <= INT64_MAX))
      assay_json_put_int(json, keys[k], dtype == ASSAY_DTYPE_I64 ? i : (int64_t)u);
    else if (assay_dtype_is_integer(dtype) && dtype != ASSAY_DTYPE_U64)
      assay_json_put_int(json, keys[k], (int64_t)value);
    else
      assay_json_put_real(json, keys[k], value);
  }
}

/* The mean of values near the largest doubles may not be one itself. */
static bool has_mean(const inspect_values *v) {
  return v->has_range && isfinite(v->mean);
}

void inspect_put_values(assay_json_builder *json, assay_dtype dtype, const inspect_values *v) {
  assay_json_begin_object(json, "values");
  put_range(json, dtype, v);
  if (has_mean(v))
    assay_json_put_real(json, "mean", v->mean);
  else
    assay_json_put_null(json, "mean");
  assay_json_put_int(json, "n_nan", (int64_t)v->n_nan);
  assay_json_put_int(json, "n_pos_inf", (int64_t)v->n_pos_inf);
  assay_json_put_int(json, "n_neg_inf", (int64_t)v->n_neg_inf);
  assay_json_end(json);
}

void inspect_table_add_values(inspect_table *table, assay_dtype dtype, const inspect_values *v) {
  const int digits = assay_dtype_is_integer(dtype) ? 17 : 6;
  for (int k = 0; k < 2; k++) {
    if (!v->has_range)
      inspect_table_add(table, "%s", "");
    else if (dtype == ASSAY_DTYPE_I64)
      inspect_table_add(table, "%" PRId64, k == 0 ? v->exact_min.i : v->exact_max.i);
    else if (dtype == ASSAY_DTYPE_U64)
      inspect_table_add(table, "%" PRIu64, k == 0 ? v->exact_min.u : v->exact_max.u);
    else
      inspect_table_add(table, "%.*g", digits, k == 0 ? v->min : v->max);
  }
  if (has_mean(v))
    inspect_table_add(table, "%.6g", v->mean);
  else
    inspect_table_add(table, "%s", "");
  size_t n_inf = v->n_pos_inf + v->n_neg_inf;
  if (v->n_nan + n_inf == 0)
    inspect_table_add(table, "%s", "");
  else
    inspect_table_add(table, "%zu NaN, %zu infinite", v->n_nan, n_inf);
}
