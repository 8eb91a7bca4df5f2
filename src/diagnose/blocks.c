#include "diagnose/blocks.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

#define COLUMN_ETA      2 /* of the features: coordinates are eta, sin phi, cos phi (models.md B.5) */
#define N_COORDINATES   3
#define F32_FLOOR       5e-7 /* a few roundings of FP32, relative to the block's size */
#define FLOOR_MAX_RATIO 8.0  /* the largest of a block's roundings against their mean square */

/* --- the evaluator -------------------------------------------------------------------------------
 */

typedef struct taking {
  assay_tensor_map *map;
  const char *only;
} taking;

static bool wants(void *argument, const char *block) {
  const taking *t = argument;
  return t->only == NULL || strcmp(t->only, block) == 0;
}

static assay_status take(void *argument, const char *block, const assay_tensor *value,
                         assay_error *err) {
  taking *t = argument;
  assay_tensor copy = {0};
  ASSAY_TRY(assay_tensor_copy(&copy, value, err));
  assay_status st = assay_tensor_map_add(t->map, block, &copy, err);
  if (st) assay_tensor_reset(&copy);
  return st;
}

assay_status assay_blocks_evaluate(const assay_blocks_question *question, assay_dtype dtype,
                                   const char *only, assay_tensor_map *out,
                                   assay_ref_margins *out_margins, assay_error *err) {
  assay_tensor_map map = {0};
  assay_ref_outputs outputs = {0};
  taking t = {.map = &map, .only = only};
  const assay_ref_tap tap = {.take = take, .wants = wants, .argument = &t};
  const assay_ref_options options = {.threads = question->threads,
                                     .cancelled = question->cancelled,
                                     .cancelled_arg = question->arg,
                                     .plan = question->plan,
                                     .arithmetic = question->arithmetic,
                                     .tap = &tap};
  assay_status st = assay_ref_mlpf_run(question->config, question->weights, dtype, question->x,
                                       question->mask, &options, &outputs, err);
  if (st == ASSAY_OK && out_margins != NULL) *out_margins = outputs.margins;
  assay_ref_outputs_reset(&outputs);
  if (st) {
    assay_tensor_map_reset(&map);
    return st;
  }
  *out = map;
  return ASSAY_OK;
}

/* --- floats --------------------------------------------------------------------------------------
 */

bool assay_blocks_row_is_valid(const assay_tensor *block, const assay_tensor *mask, size_t row) {
  size_t n = (size_t)mask->dims[1];
  if (block->rank != 3) return true;
  if (block->dims[1] == mask->dims[1]) return assay_tensor_get_real(mask, row) > 0;
  for (size_t i = 0; i < n; i++)
    if (assay_tensor_get_real(mask, row * n + i) > 0) return true;
  return false;
}

static size_t width_of(const assay_tensor *block) {
  return block->rank > 0 && block->dims[block->rank - 1] > 0 ? (size_t)block->dims[block->rank - 1]
                                                             : 1;
}

/* Sum of squares and largest of a - b (b may be NULL: of a) over valid positions. */
typedef struct distance {
  double squares, largest;
  int64_t n, n_nonfinite;
} distance;

static distance measure(const assay_tensor *a, const assay_tensor *b, const assay_tensor *mask) {
  distance d = {0};
  size_t width = width_of(a);
  for (size_t i = 0; i < a->n_elems; i++) {
    if (!assay_blocks_row_is_valid(a, mask, i / width)) continue;
    double x = assay_tensor_get_real(a, i), y = b != NULL ? assay_tensor_get_real(b, i) : 0;
    d.n++;
    if (!isfinite(x) && (b == NULL || isfinite(y))) d.n_nonfinite++;
    double apart = x == y ? 0 : fabs(x - y); /* equal infinities are no distance */
    d.squares += apart * apart;
    if (!(apart <= d.largest)) d.largest = apart;
  }
  return d;
}

static double rms_of(const distance *d) {
  return d->n > 0 ? sqrt(d->squares / (double)d->n) : 0;
}

double assay_blocks_distance(const assay_tensor *a, const assay_tensor *b,
                             const assay_tensor *scale, const assay_tensor *mask) {
  distance apart = measure(a, b, mask), size = measure(scale, NULL, mask);
  double rms = rms_of(&apart), over = rms_of(&size);
  if (!isfinite(rms)) return HUGE_VAL;
  return rms == 0 ? 0 : over > 0 ? rms / over : HUGE_VAL;
}

static double relative(double value, double size) {
  if (value == 0) return 0;
  return isfinite(value) && size > 0 ? value / size : HUGE_VAL;
}

static void compare_floats(const assay_tensor *got, const assay_tensor *truth,
                           const assay_tensor *expected, const assay_tensor *mask,
                           assay_diagnose_block *out) {
  distance size = measure(truth, NULL, mask), run = measure(got, truth, mask);
  distance must = measure(expected, truth, mask), apart = measure(got, expected, mask);
  out->n_compared = run.n;
  out->n_nonfinite = run.n_nonfinite;
  out->truth_rms = rms_of(&size);
  out->run_rms = relative(rms_of(&run), out->truth_rms);
  out->run_max = relative(run.largest, out->truth_rms);
  out->expected_rms = relative(rms_of(&must), out->truth_rms);
  out->expected_max = relative(must.largest, out->truth_rms);
  out->apart_rms = relative(rms_of(&apart), out->truth_rms);
  out->floor_rms = ASSAY_DIAGNOSE_RMS_FACTOR * fmax(out->expected_rms, F32_FLOOR);
  out->floor_max = ASSAY_DIAGNOSE_MAX_FACTOR * fmax(out->expected_max, FLOOR_MAX_RATIO * F32_FLOOR);
  out->over = !(out->run_rms <= out->floor_rms) || !(out->run_max <= out->floor_max) ||
              out->n_nonfinite > 0;
}

/* --- permutations --------------------------------------------------------------------------------
 */

/* Elements a and b of event e lie at the same place of the detector: their order is a matter of
 * ties. */
static bool is_tie(const assay_tensor *x, size_t event, int64_t a, int64_t b) {
  int64_t n = x->dims[1], width = x->dims[2];
  if (a < 0 || b < 0 || a >= n || b >= n) return false;
  const float *rows = assay_tensor_f32(x) + event * (size_t)(n * width);
  return memcmp(rows + a * width + COLUMN_ETA, rows + b * width + COLUMN_ETA,
                N_COORDINATES * sizeof *rows) == 0;
}

static void compare_permutations(const assay_tensor *got, const assay_tensor *want,
                                 const assay_tensor *x, assay_diagnose_block *out) {
  size_t n_rows = (size_t)want->dims[0], n_events = (size_t)want->dims[1],
         n = (size_t)want->dims[2];
  bool by_event = got->dims[0] == want->dims[1] && got->dims[1] == want->dims[0] &&
                  want->dims[0] != want->dims[1];
  out->is_permutation = true;
  for (size_t j = 0; j < n_rows; j++)
    for (size_t b = 0; b < n_events; b++)
      for (size_t p = 0; p < n; p++) {
        size_t at = by_event ? (b * n_rows + j) * n + p : (j * n_events + b) * n + p;
        int64_t g = assay_tensor_i64(got)[at];
        int64_t w = assay_tensor_i64(want)[(j * n_events + b) * n + p];
        out->n_compared++;
        out->n_differ += g != w;
        out->n_differ_ties += g != w && is_tie(x, b, g, w);
      }
  out->over = out->n_differ > 0;
}

/* --- one block -----------------------------------------------------------------------------------
 */

static bool same_places(const assay_tensor *got, const assay_tensor *want) {
  if (assay_tensor_same_shape(got, want)) return true;
  return want->dtype == ASSAY_DTYPE_I64 && got->rank == 3 && want->rank == 3 &&
         got->dims[0] == want->dims[1] && got->dims[1] == want->dims[0] &&
         got->dims[2] == want->dims[2];
}

assay_status assay_blocks_compare(const assay_tensor *got, const assay_tensor *truth,
                                  const assay_tensor *expected, const assay_tensor *x,
                                  const assay_tensor *mask, assay_diagnose_block *out,
                                  assay_error *err) {
  bool is_permutation = truth->dtype == ASSAY_DTYPE_I64;
  if (!same_places(got, truth) || is_permutation != (got->dtype == ASSAY_DTYPE_I64)) {
    char a[256], b[256];
    assay_shape_text(got->dims, got->rank, a, sizeof a);
    assay_shape_text(truth->dims, truth->rank, b, sizeof b);
    return assay_fail(err, ASSAY_E_MISMATCH,
                      "block '%s': the graph gives %s %s, the evaluator %s %s", out->name,
                      assay_dtype_name(got->dtype), a, assay_dtype_name(truth->dtype), b);
  }
  out->is_there = true;
  if (is_permutation)
    compare_permutations(got, truth, x, out);
  else
    compare_floats(got, truth, expected, mask, out);
  return ASSAY_OK;
}
