/* What the values of an array are like: their range, and how many are not finite. */
#include <math.h>

#include "cli/inspect.h"

void inspect_measure(const assay_tensor *tensor, inspect_values *out) {
  inspect_values v = {.min = HUGE_VAL, .max = -HUGE_VAL};
  for (size_t i = 0; i < tensor->n_elems; i++) {
    double x = assay_tensor_get_real(tensor, i);
    if (isnan(x)) v.n_nan++;
    if (isinf(x) && x > 0) v.n_pos_inf++;
    if (isinf(x) && x < 0) v.n_neg_inf++;
    if (!isfinite(x)) continue;
    v.has_range = true;
    if (x < v.min) v.min = x;
    if (x > v.max) v.max = x;
  }
  *out = v;
}

/* Integers stay integers as far as a double holds them exactly. */
static void put_value(assay_json_builder *json, const char *key, assay_dtype dtype, double value) {
  if (assay_dtype_is_integer(dtype) && fabs(value) <= 0x1p53)
    assay_json_put_int(json, key, (int64_t)value);
  else
    assay_json_put_real(json, key, value);
}

void inspect_put_values(assay_json_builder *json, assay_dtype dtype, const inspect_values *v) {
  assay_json_begin_object(json, "values");
  if (v->has_range) {
    put_value(json, "min", dtype, v->min);
    put_value(json, "max", dtype, v->max);
  } else {
    assay_json_put_null(json, "min");
    assay_json_put_null(json, "max");
  }
  assay_json_put_int(json, "n_nan", (int64_t)v->n_nan);
  assay_json_put_int(json, "n_pos_inf", (int64_t)v->n_pos_inf);
  assay_json_put_int(json, "n_neg_inf", (int64_t)v->n_neg_inf);
  assay_json_end(json);
}

void inspect_table_add_values(inspect_table *table, assay_dtype dtype, const inspect_values *v) {
  int digits = assay_dtype_is_integer(dtype) ? 17 : 6;
  for (int i = 0; i < 2; i++) {
    if (v->has_range)
      inspect_table_add(table, "%.*g", digits, i == 0 ? v->min : v->max);
    else
      inspect_table_add(table, "%s", "");
  }
  size_t n_inf = v->n_pos_inf + v->n_neg_inf;
  if (v->n_nan + n_inf == 0)
    inspect_table_add(table, "%s", "");
  else
    inspect_table_add(table, "%zu NaN, %zu infinite", v->n_nan, n_inf);
}
