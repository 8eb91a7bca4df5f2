/* Comparisons again. What each figure means stands in measure/compare.h and package/result.h; how
 * it is found here shares nothing with how it was found first.
 *
 * Sums run pairwise in long double over terms that are exact or correctly rounded, so they are
 * right to a unit in the last place; the writer's are compensated sums of rounded terms, right to a
 * few. ASSAY_VERIFY_SUM_ULPS admits both and no more. */
#include "verify/verify_numbers.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "verify/verify_words.h"

#define ULP_NEEDED 4 /* of the distance that a needed tolerance is computed from */

static const char *const references[] = {"f32", "f64", "user", "same", "sums", "stored"};
#define N_REFERENCES (sizeof references / sizeof references[0])
#define N_GATING     3 /* the first of them */

/* --- loading -------------------------------------------------------------------------------------
 */

typedef enum kind { FINITE, NOT_A_NUMBER, PLUS, MINUS } kind;

static kind kind_of(double x) {
  if (isfinite(x)) return FINITE;
  return isnan(x) ? NOT_A_NUMBER : x > 0 ? PLUS : MINUS;
}

/* One value, exactly: every type that is compared fits long double (checked in measure/compare.c
 * for each machine that we build for). */
static long double value_at(const assay_tensor *t, size_t i) {
  switch (t->dtype) {
  case ASSAY_DTYPE_I64:
    return (long double)((const int64_t *)t->data)[i];
  case ASSAY_DTYPE_U64:
    return (long double)((const uint64_t *)t->data)[i];
  case ASSAY_DTYPE_BOOL: /* by its byte */
    return (long double)((const uint8_t *)t->data)[i];
  default:
    return (long double)assay_tensor_get_real(t, i);
  }
}

/* What is known of an element. */
enum {
  VALID = 1,    /* not padding */
  MEASURED = 2, /* valid, and finite on both sides */
  ACCEPTED = 4, /* finite on both sides, and within tolerance */
};

/* Two arrays of one shape, element by element; dimension letters: E elements, P positions. */
typedef struct pairs {
  size_t n; /* E */
  const assay_tensor *got_tensor, *want_tensor;
  double *got, *want;   /* [E] rounded for large integers */
  double *distance;     /* [E] |got - want|; of finite pairs only */
  double *allowance;    /* [E] what it may be */
  unsigned char *state; /* [E] */
  bool are_integers;
  assay_dtype got_dtype, want_dtype;
  const unsigned char *valid; /* [P] or NULL: all are */
  size_t slice;               /* E / P */
  bool exact, zero_at_padding;
  double atol, rtol;
} pairs;

/* Integers exactly, and rounded then. */
static bool measure_integers(pairs *p, size_t i) {
  long double got = value_at(p->got_tensor, i), want = value_at(p->want_tensor, i);
  long double allowance = p->exact ? 0 : (long double)p->atol + (long double)p->rtol * fabsl(want);
  p->got[i] = (double)got;
  p->want[i] = (double)want;
  p->distance[i] = (double)fabsl(got - want);
  p->allowance[i] = (double)allowance;
  return fabsl(got - want) <= allowance;
}

/* Floats in double, as the definition has it; near the end of float64 the long way round. */
static bool measure_floats(pairs *p, size_t i) {
  double got = assay_tensor_get_real(p->got_tensor, i);
  double want = assay_tensor_get_real(p->want_tensor, i);
  p->got[i] = got;
  p->want[i] = want;
  if (!isfinite(got) || !isfinite(want)) return false;
  p->distance[i] = fabs(got - want);
  if (p->exact) return got == want && !signbit(got) == !signbit(want);
  p->allowance[i] = p->atol + p->rtol * fabs(want);
  if (isfinite(p->distance[i]) && isfinite(p->allowance[i]))
    return p->distance[i] <= p->allowance[i];
  return fabsl((long double)got - (long double)want) <=
         (long double)p->atol + (long double)p->rtol * fabsl((long double)want);
}

static void measure(pairs *p, size_t i) {
  bool accepted = p->are_integers ? measure_integers(p, i) : measure_floats(p, i);
  bool valid = p->valid == NULL || p->valid[i / p->slice] != 0;
  bool finite = isfinite(p->got[i]) && isfinite(p->want[i]);
  p->state[i] = (unsigned char)((valid ? VALID : 0) | (valid && finite ? MEASURED : 0) |
                                (accepted ? ACCEPTED : 0));
}

static assay_status load_pairs(const assay_tensor *got, const assay_tensor *want, pairs *p,
                               assay_error *err) {
  p->n = got->n_elems;
  p->got_tensor = got;
  p->want_tensor = want;
  p->got = assay_alloc_array(p->n, sizeof *p->got);
  p->want = assay_alloc_array(p->n, sizeof *p->want);
  p->distance = assay_alloc_array(p->n, sizeof *p->distance);
  p->allowance = assay_alloc_array(p->n, sizeof *p->allowance);
  p->state = assay_alloc_array(p->n, sizeof *p->state);
  if (p->got == NULL || p->want == NULL || p->distance == NULL || p->allowance == NULL ||
      p->state == NULL)
    return assay_fail_memory(err, p->n * sizeof *p->got);
  for (size_t i = 0; i < p->n; i++) measure(p, i);
  return ASSAY_OK;
}

static void release_pairs(pairs *p) {
  assay_free(p->got);
  assay_free(p->want);
  assay_free(p->distance);
  assay_free(p->allowance);
  assay_free(p->state);
}

static bool is_valid(const pairs *p, size_t i) {
  return (p->state[i] & VALID) != 0;
}

static bool is_measured(const pairs *p, size_t i) {
  return (p->state[i] & MEASURED) != 0;
}

static double distance_at(const pairs *p, size_t i) {
  return p->distance[i];
}

static double multiple_at(const pairs *p, size_t i) {
  if (p->distance[i] == 0) return 0;
  return p->allowance[i] > 0 ? p->distance[i] / p->allowance[i] : HUGE_VAL;
}

static assay_result_point point_at(const pairs *p, size_t i) {
  return (assay_result_point){(int64_t)i, p->got[i], p->want[i]};
}

/* --- counting ------------------------------------------------------------------------------------
 */

static bool is_denormal(assay_dtype dtype, double x) {
  double normal = dtype == ASSAY_DTYPE_F16   ? 0x1p-14
                  : dtype == ASSAY_DTYPE_F64 ? 0x1p-1022
                                             : 0x1p-126;
  return x != 0 && fabs(x) < normal;
}

static void count_valid(const pairs *p, size_t i, assay_result_comparison *c) {
  kind got = kind_of(p->got[i]), want = kind_of(p->want[i]);
  c->n_compared++;
  c->n_nonfinite_got += got != FINITE;
  c->n_nonfinite_want += want != FINITE;
  c->n_nan_got += got == NOT_A_NUMBER;
  c->n_nan_want += want == NOT_A_NUMBER;
  c->n_denormal_got += !p->are_integers && is_denormal(p->got_dtype, p->got[i]);
  c->n_denormal_want += !p->are_integers && is_denormal(p->want_dtype, p->want[i]);
  c->n_finite_pairs += got == FINITE && want == FINITE;
  if (got == want) return;
  if (c->n_class_mismatch++ == 0) c->first_class_mismatch = point_at(p, i);
}

/* The element is +0, bit for bit. */
static bool is_plus_zero(const pairs *p, size_t i) {
  return p->got[i] == 0 && !signbit(p->got[i]);
}

static void count_padding(const pairs *p, size_t i, assay_result_comparison *c) {
  c->n_padding++;
  if (!is_plus_zero(p, i) && c->n_padding_not_zero++ == 0)
    c->first_padding_not_zero = point_at(p, i);
  if (kind_of(p->got[i]) == FINITE && kind_of(p->want[i]) == FINITE)
    c->padding_max_abs = fmax(c->padding_max_abs, p->distance[i]);
}

static void count_all(const pairs *p, assay_result_comparison *c) {
  for (size_t i = 0; i < p->n; i++) {
    if (is_valid(p, i))
      count_valid(p, i, c);
    else
      count_padding(p, i, c);
  }
}

/* --- extremes ------------------------------------------------------------------------------------
 */

/* The first measured element at which `size` is largest, or SIZE_MAX. */
static size_t find_largest(const pairs *p, double (*size)(const pairs *, size_t)) {
  size_t best = SIZE_MAX;
  for (size_t i = 0; i < p->n; i++)
    if (is_measured(p, i) && (best == SIZE_MAX || size(p, i) > size(p, best))) best = i;
  return best;
}

static void find_extremes(const pairs *p, assay_verify_comparison *out) {
  assay_result_comparison *c = &out->figures;
  size_t furthest = find_largest(p, distance_at), worst = find_largest(p, multiple_at);
  if (furthest == SIZE_MAX) return;
  c->max_abs = distance_at(p, furthest);
  c->max_abs_at = point_at(p, furthest);
  c->max_tol_multiple = multiple_at(p, worst);
  c->max_tol_at = point_at(p, worst);
}

/* The tolerances that every pair would be within, in long double; 0 when the given ones do. */
static void find_needed(const pairs *p, assay_verify_comparison *out) {
  assay_result_comparison *c = &out->figures;
  long double atol = 0, rtol = 0;
  for (size_t i = 0; i < p->n; i++) {
    if (!is_measured(p, i)) continue;
    long double distance = (long double)p->distance[i], want = (long double)fabs(p->want[i]);
    double step = assay_verify_ulps((double)distance, ULP_NEEDED);
    atol = fmaxl(atol, distance - (long double)p->rtol * want);
    out->needed_atol_bound = fmax(out->needed_atol_bound, step);
    if (distance <= (long double)p->atol) continue;
    rtol = fmaxl(rtol, want > 0 ? (distance - (long double)p->atol) / want : HUGE_VALL);
    if (want > 0) out->needed_rtol_bound = fmax(out->needed_rtol_bound, step / (double)want);
  }
  bool none_would = c->n_class_mismatch > 0;
  c->needed_atol = none_would ? HUGE_VAL : (double)atol;
  c->needed_rtol = none_would ? HUGE_VAL : (double)rtol;
  out->needed_rtol_bound += assay_verify_ulps(c->needed_rtol, ULP_NEEDED);
}

/* --- sums ----------------------------------------------------------------------------------------
 */

typedef long double (*term)(const pairs *p, size_t i);

static long double term_distance(const pairs *p, size_t i) {
  return (long double)p->distance[i];
}
static long double term_square(const pairs *p, size_t i) {
  long double d = (long double)p->distance[i];
  return d * d;
}
static long double term_want_square(const pairs *p, size_t i) {
  long double w = (long double)p->want[i];
  return w * w;
}

/* Of the measured elements from `from` up to `to`, in halves: the error grows with the logarithm of
 * their number. */
static long double sum(const pairs *p, term of, size_t from, size_t to) {
  if (to - from > 64) {
    size_t middle = from + (to - from) / 2;
    return sum(p, of, from, middle) + sum(p, of, middle, to);
  }
  long double total = 0;
  for (size_t i = from; i < to; i++)
    if (is_measured(p, i)) total += of(p, i);
  return total;
}

static void find_sums(const pairs *p, assay_result_comparison *c) {
  if (c->n_finite_pairs == 0) return;
  long double n = (long double)c->n_finite_pairs;
  long double squares = sum(p, term_square, 0, p->n);
  long double want_squares = sum(p, term_want_square, 0, p->n);
  c->mae = (double)(sum(p, term_distance, 0, p->n) / n);
  c->rmse = (double)sqrtl(squares / n);
  if (squares > 0) c->rel_l2 = want_squares > 0 ? (double)sqrtl(squares / want_squares) : HUGE_VAL;
}

/* --- classes -------------------------------------------------------------------------------------
 */

/* The first of the largest of n scores; n for a row with NaN. */
static size_t top(const double *scores, size_t n) {
  size_t best = 0;
  for (size_t k = 0; k < n; k++) {
    if (isnan(scores[k])) return n;
    if (scores[k] > scores[best]) best = k;
  }
  return best;
}

/* How far the reference's other scores stay below its top one; infinite for one class. */
static double margin_of(const double *scores, size_t n, size_t best) {
  double margin = HUGE_VAL;
  for (size_t k = 0; k < n; k++) {
    if (k == best) continue;
    double a = scores[best], b = scores[k];
    margin = fmin(margin, a == b ? 0 : a - b);
  }
  return margin;
}

static void compare_classes(const pairs *p, size_t n_classes, assay_result_comparison *c) {
  for (size_t row = 0; n_classes > 0 && row + n_classes <= p->n; row += n_classes) {
    if (!is_valid(p, row)) continue;
    size_t got = top(p->got + row, n_classes), want = top(p->want + row, n_classes);
    if (got == n_classes || want == n_classes) continue;
    c->n_argmax++;
    if (got == want) continue;
    double margin = margin_of(p->want + row, n_classes, want);
    c->argmax_changed_max_margin =
        c->n_argmax_changed++ == 0 ? margin : fmax(c->argmax_changed_max_margin, margin);
    double a = p->want[row + want], b = p->want[row + got];
    double apart = a == b ? 0 : a - b;
    if (!(apart <= p->allowance[row + want] + p->allowance[row + got])) c->n_argmax_changed_over++;
  }
}

/* --- one comparison ------------------------------------------------------------------------------
 */

static void know(assay_verify_comparison *out, long double number) {
  if (out->n_known < sizeof out->known / sizeof out->known[0]) out->known[out->n_known++] = number;
}

static void know_point(assay_verify_comparison *out, const pairs *p, assay_result_point at) {
  know(out, at.index);
  if (at.index < 0) return;
  know(out, value_at(p->got_tensor, (size_t)at.index));
  know(out, value_at(p->want_tensor, (size_t)at.index));
}

/* What the reasons of measure/compare.c may name. */
static void know_all(assay_verify_comparison *out, const pairs *p, size_t first_over) {
  const assay_result_comparison *c = &out->figures;
  know(out, c->n_class_mismatch);
  know(out, c->n_compared);
  know(out, c->n_over);
  know(out, (long double)c->max_tol_multiple);
  know(out, c->n_argmax_changed_over);
  know(out, c->n_argmax);
  know(out, c->n_padding);
  know(out, c->n_padding_not_zero);
  know(out, 0); /* "+0" */
  know_point(out, p, c->first_class_mismatch);
  know_point(out, p, c->max_tol_at);
  know_point(out, p, c->first_padding_not_zero);
  if (first_over != SIZE_MAX) know_point(out, p, point_at(p, first_over));
}

static void judge(const pairs *p, assay_verify_comparison *out) {
  assay_result_comparison *c = &out->figures;
  size_t first_over = SIZE_MAX, n_evidence = 0;
  for (size_t i = 0; i < p->n; i++) {
    if (!is_valid(p, i)) continue;
    n_evidence += kind_of(p->got[i]) == kind_of(p->want[i]) && !isnan(p->got[i]);
    if (!is_measured(p, i) || (p->state[i] & ACCEPTED) != 0) continue;
    if (c->n_over++ == 0) first_over = i;
  }
  bool only_padding = c->n_compared == 0 && c->n_padding > 0 && p->zero_at_padding;
  c->passed = (n_evidence > 0 || only_padding) && c->n_class_mismatch == 0 && c->n_over == 0 &&
              c->n_argmax_changed_over == 0 && !(p->zero_at_padding && c->n_padding_not_zero > 0);
  know_all(out, p, first_over);
}

static bool is_comparable(assay_dtype got, assay_dtype want) {
  bool floats = assay_dtype_is_float(got);
  if (!floats && !assay_dtype_is_integer(got)) return false;
  return got == want || (floats && want == ASSAY_DTYPE_F64);
}

/* --- one run -------------------------------------------------------------------------------------
 */

typedef struct deriving {
  const assay_package *package;
  const assay_manifest *manifest;
  const assay_tensor_map *arrays, *outputs;
  const assay_tensor *mask; /* or NULL */
  unsigned char *valid;     /* [mask->n_elems], owned */
  assay_verify_numbers *out;
} deriving;

void assay_verify_numbers_tolerance(const assay_package *package, const assay_manifest_tensor *head,
                                    double *out_atol, double *out_rtol, bool *out_asked) {
  *out_atol = head->atol;
  *out_rtol = head->rtol;
  *out_asked = false;
  for (int own = 0; own < 2; own++) /* a head's own ones win */
    for (size_t i = 0; i < package->n_tolerances; i++) {
      const assay_package_tolerance *t = &package->tolerances[i];
      if (own ? t->head == NULL || strcmp(t->head, head->name) != 0 : t->head != NULL) continue;
      if (t->has_atol) *out_atol = t->atol;
      if (t->has_rtol) *out_rtol = t->rtol;
      *out_asked = true;
    }
}

static void give_up(deriving *d, const char *why, const char *name) {
  if (d->out->failed) return;
  d->out->failed = true;
  snprintf(d->out->why, sizeof d->out->why, "%s '%.128s'", why, name);
}

/* The head's leading axes are those of the mask. */
static bool is_masked(const deriving *d, const assay_tensor *array) {
  if (d->mask == NULL || array->rank < d->mask->rank) return false;
  return memcmp(array->dims, d->mask->dims, (size_t)d->mask->rank * sizeof array->dims[0]) == 0;
}

static assay_status load_mask(deriving *d, assay_error *err) {
  const char *name = d->manifest->mask_input;
  if (name == NULL) return ASSAY_OK;
  d->mask = assay_tensor_map_find(d->arrays, name);
  if (d->mask == NULL) {
    give_up(d, "the case holds no mask", name);
    return ASSAY_OK;
  }
  d->valid = assay_alloc_array(d->mask->n_elems, 1);
  if (d->valid == NULL) return assay_fail_memory(err, d->mask->n_elems);
  for (size_t i = 0; i < d->mask->n_elems; i++)
    d->valid[i] = assay_tensor_get_real(d->mask, i) != 0;
  return ASSAY_OK;
}

/* False when a class head has no rows of scores: the writer's comparison refuses it. */
static bool has_rows(const assay_tensor *got, const pairs *p) {
  if (!assay_dtype_is_float(got->dtype) || got->rank == 0) return false;
  if (got->n_elems == 0 || p->valid == NULL) return true;
  return p->slice % (size_t)got->dims[got->rank - 1] == 0;
}

static assay_status compare(deriving *d, const assay_manifest_tensor *head, const assay_tensor *got,
                            const assay_tensor *want, assay_verify_comparison *out,
                            assay_error *err) {
  assay_result_comparison *c = &out->figures;
  bool asked = false;
  pairs p = {.are_integers = assay_dtype_is_integer(got->dtype),
             .got_dtype = got->dtype,
             .want_dtype = want->dtype};
  bool is_narrow = got->dtype == ASSAY_DTYPE_F16 || got->dtype == ASSAY_DTYPE_BF16;
  if (is_narrow && want->dtype == ASSAY_DTYPE_F32) p.want_dtype = ASSAY_DTYPE_F64; /* widened */
  assay_verify_numbers_tolerance(d->package, head, &p.atol, &p.rtol, &asked);
  p.exact = head->kind == ASSAY_HEAD_CONSTANT || got->dtype == ASSAY_DTYPE_BOOL ||
            (p.are_integers && !asked);
  c->same_shape = assay_tensor_same_shape(got, want);
  c->same_dtype = is_comparable(got->dtype, p.want_dtype);
  for (int i = 0; i < got->rank; i++) know(out, got->dims[i]);
  for (int i = 0; i < want->rank; i++) know(out, want->dims[i]);
  if (!c->same_shape || !c->same_dtype) return ASSAY_OK;
  if (is_masked(d, got) && d->mask->n_elems > 0) {
    p.valid = d->valid;
    p.slice = got->n_elems / d->mask->n_elems;
    p.zero_at_padding = d->manifest->architecture != NULL;
  }
  bool classes = head->kind == ASSAY_HEAD_CLASSES;
  if (classes && !has_rows(got, &p)) {
    give_up(d, "no rows of class scores in head", head->name);
    return ASSAY_OK;
  }
  assay_status st = load_pairs(got, want, &p, err);
  if (st == ASSAY_OK) {
    count_all(&p, c);
    find_extremes(&p, out);
    find_needed(&p, out);
    find_sums(&p, c);
    if (classes && p.n > 0) compare_classes(&p, (size_t)got->dims[got->rank - 1], c);
    judge(&p, out);
  }
  release_pairs(&p);
  return st;
}

static void blank(assay_verify_comparison *out, deriving *d, const assay_manifest_tensor *head,
                  const char *reference) {
  bool asked = false;
  assay_result_comparison *c = &out->figures;
  *out = (assay_verify_comparison){
      .head = head->name, .reference = reference, .kind = assay_head_kind_name(head->kind)};
  assay_verify_numbers_tolerance(d->package, head, &c->atol, &c->rtol, &asked);
  c->first_class_mismatch.index = c->max_abs_at.index = c->max_tol_at.index = -1;
  c->first_padding_not_zero.index = -1;
}

static assay_status derive_head(deriving *d, const assay_manifest_tensor *head, assay_error *err) {
  const assay_tensor *got = assay_tensor_map_find(d->outputs, head->name);
  size_t n_gating = 0;
  if (got == NULL) d->out->verdict = ASSAY_VERDICT_FAIL;
  for (size_t i = 0; i < N_REFERENCES; i++) {
    char name[512];
    snprintf(name, sizeof name, "ref.%s.%s", references[i], head->name);
    const assay_tensor *want = assay_tensor_map_find(d->arrays, name);
    if (want == NULL) continue;
    assay_verify_comparison *out = &d->out->comparisons[d->out->n++];
    blank(out, d, head, references[i]);
    out->figures.gate = i < N_GATING;
    n_gating += i < N_GATING;
    if (got == NULL) continue;
    assay_shape_text(got->dims, got->rank, out->figures.shape, sizeof out->figures.shape);
    snprintf(out->figures.dtype, sizeof out->figures.dtype, "%s", assay_dtype_name(got->dtype));
    ASSAY_TRY(compare(d, head, got, want, out, err));
    if (i < N_GATING && !out->figures.passed) d->out->verdict = ASSAY_VERDICT_FAIL;
  }
  if (n_gating == 0 && d->out->verdict != ASSAY_VERDICT_FAIL)
    d->out->verdict = ASSAY_VERDICT_UNKNOWN; /* nothing to hold it against */
  return ASSAY_OK;
}

static assay_status derive(deriving *d, assay_error *err) {
  const assay_manifest *manifest = d->manifest;
  size_t n = N_REFERENCES * manifest->n_heads;
  d->out->comparisons = assay_alloc_array(n, sizeof *d->out->comparisons);
  if (d->out->comparisons == NULL) return assay_fail_memory(err, n * sizeof *d->out->comparisons);
  d->out->verdict = ASSAY_VERDICT_PASS;
  ASSAY_TRY(load_mask(d, err));
  for (size_t i = 0; i < d->outputs->n; i++)
    if (assay_manifest_head(manifest, d->outputs->items[i].name) == NULL)
      d->out->verdict = ASSAY_VERDICT_FAIL;
  for (size_t i = 0; i < manifest->n_heads && !d->out->failed; i++)
    ASSAY_TRY(derive_head(d, &manifest->heads[i], err));
  if (d->out->failed) d->out->verdict = ASSAY_VERDICT_UNKNOWN;
  return ASSAY_OK;
}

assay_status assay_verify_numbers_derive(const assay_package *package,
                                         const assay_manifest *manifest,
                                         const assay_tensor_map *arrays,
                                         const assay_tensor_map *outputs, assay_verify_numbers *out,
                                         assay_error *err) {
  assay_verify_numbers numbers = {0};
  deriving d = {.package = package,
                .manifest = manifest,
                .arrays = arrays,
                .outputs = outputs,
                .out = &numbers};
  assay_status st = derive(&d, err);
  assay_free(d.valid);
  if (st) {
    assay_verify_numbers_reset(&numbers);
    return st;
  }
  *out = numbers;
  return ASSAY_OK;
}

void assay_verify_numbers_reset(assay_verify_numbers *numbers) {
  assay_free(numbers->comparisons);
  *numbers = (assay_verify_numbers){0};
}

assay_status assay_verify_numbers_references(const assay_manifest *manifest,
                                             const assay_tensor_map *arrays, const char *reference,
                                             const char *head, bool *out_has, double *out_max_abs,
                                             double *out_rmse, assay_error *err) {
  char name[512], f64_name[512];
  snprintf(name, sizeof name, "ref.%s.%s", reference, head);
  snprintf(f64_name, sizeof f64_name, "ref.f64.%s", head);
  const assay_tensor *one = assay_tensor_map_find(arrays, name);
  const assay_tensor *f64 = assay_tensor_map_find(arrays, f64_name);
  assay_verify_numbers none = {0};
  deriving d = {.manifest = manifest, .arrays = arrays, .out = &none};
  *out_has = false;
  if (one == NULL || f64 == NULL || !assay_tensor_same_shape(one, f64) ||
      !is_comparable(one->dtype, f64->dtype))
    return ASSAY_OK;
  pairs p = {.are_integers = assay_dtype_is_integer(one->dtype)};
  assay_status st = load_mask(&d, err);
  if (st == ASSAY_OK && is_masked(&d, one) && d.mask->n_elems > 0) {
    p.valid = d.valid;
    p.slice = one->n_elems / d.mask->n_elems;
  }
  if (st == ASSAY_OK) st = load_pairs(one, f64, &p, err);
  size_t furthest = st == ASSAY_OK ? find_largest(&p, distance_at) : SIZE_MAX;
  *out_has = furthest != SIZE_MAX;
  if (*out_has) {
    size_t n = 0;
    for (size_t i = 0; i < p.n; i++) n += is_measured(&p, i);
    *out_max_abs = distance_at(&p, furthest);
    *out_rmse = (double)sqrtl(sum(&p, term_square, 0, p.n) / (long double)n);
  }
  release_pairs(&p);
  assay_free(d.valid);
  return st;
}

/* --- checking ------------------------------------------------------------------------------------
 */

static void check_point(const assay_verify_place *above, const char *name,
                        const assay_result_point *found, const assay_result_point *derived) {
  assay_verify_place at = *above;
  snprintf(at.within, sizeof at.within, "%.300s%s.", above->within, name);
  assay_verify_int(&at, "index", found->index, derived->index);
  assay_verify_real(&at, "got", found->got, derived->got, 0);
  assay_verify_real(&at, "want", found->want, derived->want, 0);
}

static void check_counts(const assay_verify_place *at, const assay_result_comparison *found,
                         const assay_result_comparison *derived) {
#define COUNT(member) assay_verify_int(at, #member, found->member, derived->member)
  COUNT(n_compared);
  COUNT(n_finite_pairs);
  COUNT(n_class_mismatch);
  COUNT(n_nonfinite_got);
  COUNT(n_nonfinite_want);
  COUNT(n_nan_got);
  COUNT(n_nan_want);
  COUNT(n_denormal_got);
  COUNT(n_denormal_want);
  COUNT(n_over);
  COUNT(n_argmax);
  COUNT(n_argmax_changed);
  COUNT(n_argmax_changed_over);
  COUNT(n_padding);
  COUNT(n_padding_not_zero);
#undef COUNT
  check_point(at, "first_class_mismatch", &found->first_class_mismatch,
              &derived->first_class_mismatch);
  check_point(at, "max_abs_at", &found->max_abs_at, &derived->max_abs_at);
  check_point(at, "max_tol_at", &found->max_tol_at, &derived->max_tol_at);
  check_point(at, "first_padding_not_zero", &found->first_padding_not_zero,
              &derived->first_padding_not_zero);
}

static void check_reals(const assay_verify_place *at, const assay_result_comparison *found,
                        const assay_verify_comparison *derived) {
  const assay_result_comparison *want = &derived->figures;
#define EXACT(member) assay_verify_real(at, #member, found->member, want->member, 0)
#define SUM(member)                                                                                \
  assay_verify_real(at, #member, found->member, want->member,                                      \
                    assay_verify_ulps(want->member, ASSAY_VERIFY_SUM_ULPS))
  EXACT(atol);
  EXACT(rtol);
  EXACT(max_abs);
  EXACT(max_tol_multiple);
  EXACT(argmax_changed_max_margin);
  EXACT(padding_max_abs);
  SUM(mae);
  SUM(rmse);
  SUM(rel_l2);
#undef EXACT
#undef SUM
  assay_verify_real(at, "needed_atol", found->needed_atol, want->needed_atol,
                    derived->needed_atol_bound);
  assay_verify_real(at, "needed_rtol", found->needed_rtol, want->needed_rtol,
                    derived->needed_rtol_bound);
}

static void check_reason(const assay_verify_place *at, const char *what, const char *reason,
                         const assay_verify_comparison *derived) {
  char bad[64] = "";
  bool agree = assay_verify_words_agree(reason, derived->known, derived->n_known, bad, sizeof bad);
  assay_verify_holds(at, what, agree, "numbers that follow from the evidence", bad);
}

static void check_comparison(const assay_verify_place *above, const assay_result_comparison *found,
                             const assay_verify_comparison *derived) {
  const assay_result_comparison *want = &derived->figures;
  assay_verify_place at = *above;
  snprintf(at.within, sizeof at.within, "%.100scomparisons[%.160s against %.16s].", above->within,
           derived->head, derived->reference);
  assay_verify_text(&at, "kind", found->kind, derived->kind);
  assay_verify_bool(&at, "gate", found->gate, want->gate);
  assay_verify_bool(&at, "passed", found->passed, want->passed);
  assay_verify_bool(&at, "same_shape", found->same_shape, want->same_shape);
  assay_verify_bool(&at, "same_dtype", found->same_dtype, want->same_dtype);
  assay_verify_text(&at, "shape", found->shape, want->shape);
  assay_verify_text(&at, "dtype", found->dtype, want->dtype);
  check_counts(&at, found, want);
  check_reals(&at, found, derived);
  assay_verify_holds(&at, "reason", (found->reason[0] == '\0') == want->passed,
                     want->passed ? "no reason" : "a reason", found->reason);
  check_reason(&at, "reason", found->reason, derived);
}

/* numbers_reason: none for a pass, and its numbers are those of the head that it names. */
static void check_numbers_reason(const assay_verify_place *at, const assay_result *found,
                                 const assay_verify_numbers *derived) {
  const char *reason = found->numbers_reason != NULL ? found->numbers_reason : "";
  bool passed = derived->verdict == ASSAY_VERDICT_PASS;
  assay_verify_holds(at, "numbers_reason", (reason[0] == '\0') == passed,
                     passed ? "no reason" : "a reason", reason);
  for (size_t i = 0; i < derived->n; i++) {
    const assay_verify_comparison *one = &derived->comparisons[i];
    char begin[512];
    int n = snprintf(begin, sizeof begin, "head '%s' against %s: ", one->head, one->reference);
    if (n <= 0 || (size_t)n >= sizeof begin || strncmp(reason, begin, (size_t)n) != 0) continue;
    check_reason(at, "numbers_reason", reason + n, one);
  }
}

void assay_verify_numbers_check_list(const assay_verify_place *at,
                                     const assay_result_comparison *found, size_t n_found,
                                     const char *reference, const assay_verify_numbers *derived) {
  assay_verify_int(at, "comparisons (their number)", (int64_t)n_found, (int64_t)derived->n);
  for (size_t i = 0; i < derived->n && i < n_found; i++) {
    assay_verify_text(at, "comparisons (head)", found[i].head, derived->comparisons[i].head);
    assay_verify_text(at, "comparisons (reference)", found[i].reference, reference);
    check_comparison(at, &found[i], &derived->comparisons[i]);
  }
}

void assay_verify_numbers_check(const assay_verify_place *at, const assay_result *found,
                                const assay_verify_numbers *derived) {
  assay_verify_holds(at, "status", !derived->failed, "a failed run", derived->why);
  if (derived->failed) return;
  assay_verify_int(at, "comparisons (their number)", (int64_t)found->n_comparisons,
                   (int64_t)derived->n);
  for (size_t i = 0; i < derived->n; i++) {
    const assay_verify_comparison *one = &derived->comparisons[i];
    const assay_result_comparison *same = assay_result_find(found, one->head, one->reference);
    if (same != NULL) {
      check_comparison(at, same, one);
      continue;
    }
    char name[256];
    snprintf(name, sizeof name, "head '%.120s' against %.16s", one->head, one->reference);
    assay_verify_holds(at, "comparisons", false, name, "no such comparison");
  }
  assay_verify_text(at, "verdicts.numbers", assay_verdict_name(found->numbers),
                    assay_verdict_name(derived->verdict));
  check_numbers_reason(at, found, derived);
}

int64_t assay_verify_numbers_denormals(const assay_tensor *tensor) {
  int64_t n = 0;
  if (!assay_dtype_is_float(tensor->dtype)) return 0;
  for (size_t i = 0; i < tensor->n_elems; i++)
    n += is_denormal(tensor->dtype, assay_tensor_get_real(tensor, i));
  return n;
}
