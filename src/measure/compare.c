/* Rule 1 of DESIGN.md: shapes and types, then classes of elements, then distances, and the verdict.
 *
 * Every acceptance is written as "is within", so that a NaN that slipped through a test would fail
 * it. Sums are compensated (Neumaier) and run in double in row-major order, so that every machine
 * gets the same figures. */
#include "measure/compare.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Differences of 64-bit integers must be exact in long double: x86 has 64 bits, aarch64 113. */
static_assert(LDBL_MANT_DIG >= 64, "long double must hold any 64-bit integer");

typedef enum element_class {
  CLASS_FINITE,
  CLASS_NAN,
  CLASS_PLUS_INF,
  CLASS_MINUS_INF
} element_class;

/* One element of got beside one of want. */
typedef struct pair {
  double got, want; /* exact for floats */
  element_class got_class, want_class;
  double distance;  /* |got - want|; of finite pairs only */
  double tolerance; /* what the distance may be */
  bool within;      /* accepted; of finite pairs only */
} pair;

typedef struct total {
  double sum, lost; /* Neumaier: lost collects what the additions rounded away */
} total;

static void total_add(total *t, double x) {
  double next = t->sum + x;
  t->lost += fabs(t->sum) >= fabs(x) ? (t->sum - next) + x : (x - next) + t->sum;
  t->sum = next;
}

static double total_value(const total *t) {
  return isfinite(t->sum) ? t->sum + t->lost : t->sum;
}

/* What one comparison carries from element to element. */
typedef struct run {
  const assay_compare_spec *spec;
  const assay_tensor *got, *want;
  assay_compare_result *out;
  size_t slice_elems; /* elements of one position */
  size_t n_agreeing;  /* pairs of equal class that are not NaN */
  total abs, squares, want_squares;
  double needed_atol, needed_rtol;
} run;

static element_class class_of(double x) {
  if (isnan(x)) return CLASS_NAN;
  if (isinf(x)) return x > 0 ? CLASS_PLUS_INF : CLASS_MINUS_INF;
  return CLASS_FINITE;
}

/* Element i of a tensor of integers or bools, exactly. Bools by their byte: 2 is not true, but
 * damage. */
static long double load_integer(const assay_tensor *t, size_t i) {
  switch (t->dtype) {
  case ASSAY_DTYPE_BOOL:
  case ASSAY_DTYPE_U8:
    return ((const uint8_t *)t->data)[i];
  case ASSAY_DTYPE_I8:
    return ((const int8_t *)t->data)[i];
  case ASSAY_DTYPE_U16:
    return ((const uint16_t *)t->data)[i];
  case ASSAY_DTYPE_I16:
    return ((const int16_t *)t->data)[i];
  case ASSAY_DTYPE_U32:
    return ((const uint32_t *)t->data)[i];
  case ASSAY_DTYPE_I32:
    return ((const int32_t *)t->data)[i];
  case ASSAY_DTYPE_U64:
    return (long double)((const uint64_t *)t->data)[i];
  case ASSAY_DTYPE_I64:
    return (long double)((const int64_t *)t->data)[i];
  default:
    assert(false);
    return 0;
  }
}

/* Element i of a tensor of floats, exactly. */
static double load_float(const assay_tensor *t, size_t i) {
  switch (t->dtype) {
  case ASSAY_DTYPE_F16:
    return (double)assay_f16_to_f32(((const uint16_t *)t->data)[i]);
  case ASSAY_DTYPE_BF16:
    return (double)assay_bf16_to_f32(((const uint16_t *)t->data)[i]);
  case ASSAY_DTYPE_F32:
    return (double)((const float *)t->data)[i];
  case ASSAY_DTYPE_F64:
    return ((const double *)t->data)[i];
  default:
    assert(false);
    return (double)NAN;
  }
}

/* Smallest normal magnitude of each float type: what lies below it and is not zero is denormal. */
static double smallest_normal(assay_dtype dtype) {
  switch (dtype) {
  case ASSAY_DTYPE_F16:
    return 0x1p-14;
  case ASSAY_DTYPE_F64:
    return DBL_MIN;
  default:
    return (double)FLT_MIN; /* FP32 and bfloat16 have the same exponents */
  }
}

static bool is_denormal(assay_dtype dtype, double x) {
  return x != 0 && fabs(x) < smallest_normal(dtype);
}

/* distance / tolerance, with 0/0 = 0 and x/0 = +inf. */
static double tolerance_multiple(double distance, double tolerance) {
  if (distance == 0) return 0;
  return tolerance > 0 ? distance / tolerance : HUGE_VAL;
}

static bool must_equal(const run *r) {
  bool is_integer = assay_dtype_is_integer(r->got->dtype);
  return r->spec->exact || (is_integer && !r->spec->tolerant_integers) ||
         r->got->dtype == ASSAY_DTYPE_BOOL;
}

static pair read_integers(const run *r, size_t i) {
  long double got = load_integer(r->got, i);
  long double want = load_integer(r->want, i);
  long double distance = fabsl(got - want);
  long double tolerance =
      must_equal(r) ? 0 : (long double)r->spec->atol + (long double)r->spec->rtol * fabsl(want);
  return (pair){.got = (double)got,
                .want = (double)want,
                .distance = (double)distance,
                .tolerance = (double)tolerance,
                .within = distance <= tolerance};
}

static pair read_floats(const run *r, size_t i) {
  pair p = {.got = load_float(r->got, i), .want = load_float(r->want, i)};
  p.got_class = class_of(p.got);
  p.want_class = class_of(p.want);
  if (p.got_class != CLASS_FINITE || p.want_class != CLASS_FINITE) return p;
  p.distance = fabs(p.got - p.want);
  if (r->spec->exact) {
    p.within = p.got == p.want && !signbit(p.got) == !signbit(p.want);
    return p;
  }
  p.tolerance = r->spec->atol + r->spec->rtol * fabs(p.want);
  if (isfinite(p.distance) && isfinite(p.tolerance)) {
    p.within = p.distance <= p.tolerance;
  } else { /* float64 near its end: long double has the range on every machine that we build for */
    p.within = fabsl((long double)p.got - (long double)p.want) <=
               (long double)r->spec->atol + (long double)r->spec->rtol * fabsl((long double)p.want);
  }
  return p;
}

static pair read_pair(const run *r, size_t i) {
  return assay_dtype_is_integer(r->got->dtype) ? read_integers(r, i) : read_floats(r, i);
}

static bool both_finite(const pair *p) {
  return p->got_class == CLASS_FINITE && p->want_class == CLASS_FINITE;
}

static assay_compare_point point_of(size_t i, const pair *p) {
  return (assay_compare_point){.index = (int64_t)i, .got = p->got, .want = p->want};
}

/* Raises *needed to the smallest atol that would accept p beside this rtol; the last steps make up
 * for rounding. */
static void need_atol(const run *r, const pair *p, double *needed) {
  double relative = r->spec->rtol * fabs(p->want);
  double atol = p->distance - relative;
  if (!(atol > *needed)) return;
  while (atol + relative < p->distance) atol = nextafter(atol, HUGE_VAL);
  *needed = atol;
}

/* The same for rtol beside this atol. */
static void need_rtol(const run *r, const pair *p, double *needed) {
  if (p->distance <= r->spec->atol) return;
  double rtol = p->want == 0 ? HUGE_VAL : (p->distance - r->spec->atol) / fabs(p->want);
  if (!(rtol > *needed)) return;
  while (isfinite(rtol) && r->spec->atol + rtol * fabs(p->want) < p->distance)
    rtol = nextafter(rtol, HUGE_VAL);
  *needed = rtol;
}

static void count_kinds(const run *r, const pair *p) {
  assay_compare_result *out = r->out;
  out->n_nonfinite_got += p->got_class != CLASS_FINITE;
  out->n_nonfinite_want += p->want_class != CLASS_FINITE;
  out->n_nan_got += p->got_class == CLASS_NAN;
  out->n_nan_want += p->want_class == CLASS_NAN;
  if (assay_dtype_is_integer(r->got->dtype)) return;
  out->n_denormal_got += is_denormal(r->got->dtype, p->got);
  out->n_denormal_want += is_denormal(r->want->dtype, p->want);
}

static void add_finite_pair(run *r, size_t i, const pair *p) {
  assay_compare_result *out = r->out;
  ++out->n_finite_pairs;
  total_add(&r->abs, p->distance);
  total_add(&r->squares, p->distance * p->distance);
  total_add(&r->want_squares, p->want * p->want);
  if (out->max_abs_at.index < 0 || p->distance > out->max_abs) {
    out->max_abs = p->distance;
    out->max_abs_at = point_of(i, p);
  }
  double multiple = tolerance_multiple(p->distance, p->tolerance);
  if (out->max_tol_at.index < 0 || multiple > out->max_tol_multiple) {
    out->max_tol_multiple = multiple;
    out->max_tol_at = point_of(i, p);
  }
  if (!p->within) {
    if (out->n_over == 0) out->first_over = point_of(i, p);
    ++out->n_over;
  }
  need_atol(r, p, &r->needed_atol);
  need_rtol(r, p, &r->needed_rtol);
}

static void add_valid(run *r, size_t i) {
  pair p = read_pair(r, i);
  assay_compare_result *out = r->out;
  ++out->n_compared;
  count_kinds(r, &p);
  if (p.got_class != p.want_class) {
    if (out->n_class_mismatch == 0) out->first_class_mismatch = point_of(i, &p);
    ++out->n_class_mismatch;
    return;
  }
  if (p.got_class != CLASS_NAN) ++r->n_agreeing;
  if (both_finite(&p)) add_finite_pair(r, i, &p);
}

static void add_padding(run *r, size_t i) {
  static const uint8_t zero[16] = {0};
  pair p = read_pair(r, i);
  assay_compare_result *out = r->out;
  ++out->n_padding;
  size_t elem_bytes = assay_dtype_size(r->got->dtype);
  if (memcmp((const uint8_t *)r->got->data + i * elem_bytes, zero, elem_bytes) != 0) {
    if (out->n_padding_not_zero == 0) out->first_padding_not_zero = point_of(i, &p);
    ++out->n_padding_not_zero;
  }
  if (both_finite(&p) && p.distance > out->padding_max_abs) out->padding_max_abs = p.distance;
}

static bool is_valid_at(const run *r, size_t i) {
  return r->spec->valid == NULL || r->spec->valid[i / r->slice_elems] == 1.0f;
}

static bool row_has_nan(const run *r, size_t first, size_t n) {
  for (size_t k = first; k < first + n; ++k)
    if (isnan(load_float(r->got, k)) || isnan(load_float(r->want, k))) return true;
  return false;
}

/* Index of the first largest of the n scores from `first`. */
static size_t argmax(const assay_tensor *t, size_t first, size_t n) {
  size_t best = first;
  for (size_t k = first + 1; k < first + n; ++k)
    if (load_float(t, k) > load_float(t, best)) best = k;
  return best;
}

/* a - b of reference scores; equal infinities are no distance apart. */
static double score_distance(double a, double b) {
  return a == b ? 0 : a - b;
}

/* top1 - top2 of the reference; +inf for a row of one class. */
static double reference_margin(const run *r, size_t first, size_t n, size_t top) {
  double margin = HUGE_VAL;
  for (size_t k = first; k < first + n; ++k) {
    if (k == top) continue;
    double distance = score_distance(load_float(r->want, top), load_float(r->want, k));
    if (distance < margin) margin = distance;
  }
  return margin;
}

static void compare_row(run *r, size_t first, size_t n_classes) {
  assay_compare_result *out = r->out;
  if (!is_valid_at(r, first) || row_has_nan(r, first, n_classes)) return;
  ++out->n_argmax;
  size_t want_top = argmax(r->want, first, n_classes);
  size_t got_top = argmax(r->got, first, n_classes);
  if (got_top == want_top) return;
  double margin = reference_margin(r, first, n_classes, want_top);
  if (out->n_argmax_changed == 0 || margin > out->argmax_changed_max_margin)
    out->argmax_changed_max_margin = margin;
  ++out->n_argmax_changed;
  pair a = read_floats(r, want_top);
  pair b = read_floats(r, got_top);
  if (!(score_distance(a.want, b.want) <= a.tolerance + b.tolerance)) ++out->n_argmax_changed_over;
}

static void compare_elements(run *r) {
  size_t n = r->got->n_elems;
  for (size_t i = 0; i < n; ++i) {
    if (is_valid_at(r, i)) {
      add_valid(r, i);
    } else {
      add_padding(r, i);
    }
  }
  if (!r->spec->classes || n == 0) return;
  size_t n_classes = (size_t)r->got->dims[r->got->rank - 1];
  for (size_t first = 0; first < n; first += n_classes) compare_row(r, first, n_classes);
}

static void finish_sums(run *r) {
  assay_compare_result *out = r->out;
  bool any_mismatch = out->n_class_mismatch > 0;
  out->needed_atol = any_mismatch ? HUGE_VAL : r->needed_atol;
  out->needed_rtol = any_mismatch ? HUGE_VAL : r->needed_rtol;
  if (out->n_finite_pairs == 0) return;
  double n = (double)out->n_finite_pairs;
  double squares = total_value(&r->squares);
  double want_squares = total_value(&r->want_squares);
  out->mae = total_value(&r->abs) / n;
  out->rmse = sqrt(squares / n);
  if (squares == 0) {
    out->rel_l2 = 0;
  } else {
    out->rel_l2 = want_squares > 0 ? sqrt(squares) / sqrt(want_squares) : HUGE_VAL;
  }
}

/* Element i for a message: integers with all their digits. */
static void element_text(const assay_tensor *t, size_t i, char *out, size_t out_bytes) {
  if (assay_dtype_is_integer(t->dtype)) {
    snprintf(out, out_bytes, "%.0Lf", load_integer(t, i));
  } else {
    snprintf(out, out_bytes, "%.9g", load_float(t, i));
  }
}

/* No position is valid, as in an empty event, and what is demanded of padding can be held against
 * it: then that decides. */
static bool is_padding_only(const run *r) {
  return r->out->n_compared == 0 && r->spec->zero_at_padding && r->out->n_padding > 0;
}

/* The first reason why the comparison does not pass, or "". */
static void judge(const run *r) {
  assay_compare_result *out = r->out;
  char *reason = out->reason;
  size_t size = sizeof out->reason;
  if (out->n_compared == 0 && !is_padding_only(r)) {
    snprintf(reason, size, "nothing to compare: no valid element");
  } else if (out->n_class_mismatch > 0) {
    snprintf(reason, size,
             "%zu of %zu elements are finite, NaN or infinite on one side only, first at %" PRId64
             ": got %g, reference %g",
             out->n_class_mismatch, out->n_compared, out->first_class_mismatch.index,
             out->first_class_mismatch.got, out->first_class_mismatch.want);
  } else if (r->n_agreeing == 0 && out->n_compared > 0) {
    snprintf(reason, size, "nothing to compare: all %zu elements are NaN on both sides",
             out->n_compared);
  } else if (out->n_over > 0 && out->max_abs == 0) {
    snprintf(reason, size, "%zu of %zu zeros have another sign, first at %" PRId64, out->n_over,
             out->n_compared, out->first_over.index);
  } else if (out->n_over > 0 && must_equal(r)) {
    char got[32], want[32]; /* 20 digits and a sign, or %.9g */
    size_t at = (size_t)out->first_over.index;
    element_text(r->got, at, got, sizeof got);
    element_text(r->want, at, want, sizeof want);
    snprintf(reason, size,
             "%zu of %zu elements are not equal, first at %zu: got %.24s, reference %.24s",
             out->n_over, out->n_compared, at, got, want);
  } else if (out->n_over > 0) {
    snprintf(reason, size,
             "%zu of %zu elements over tolerance, worst at %" PRId64
             ": got %.9g, reference %.9g (%.3g times the tolerance)",
             out->n_over, out->n_compared, out->max_tol_at.index, out->max_tol_at.got,
             out->max_tol_at.want, out->max_tol_multiple);
  } else if (out->n_argmax_changed_over > 0) {
    snprintf(reason, size, "%zu of %zu rows change class by more than the tolerance allows",
             out->n_argmax_changed_over, out->n_argmax);
  } else if (r->spec->zero_at_padding && out->n_padding_not_zero > 0) {
    snprintf(reason, size, "%zu of %zu padded elements are not +0, first at %" PRId64 ": got %g",
             out->n_padding_not_zero, out->n_padding, out->first_padding_not_zero.index,
             out->first_padding_not_zero.got);
  }
  out->passed = reason[0] == '\0';
}

static bool types_comparable(assay_dtype got, assay_dtype want) {
  if (!assay_dtype_is_float(got) && !assay_dtype_is_integer(got)) return false;
  return got == want || (want == ASSAY_DTYPE_F64 && assay_dtype_is_float(got));
}

/* Shapes and types; fills in the flags and the reason. */
static bool same_kind(const assay_tensor *got, const assay_tensor *want,
                      assay_compare_result *out) {
  out->same_shape = assay_tensor_same_shape(got, want);
  out->same_dtype = types_comparable(got->dtype, want->dtype);
  if (!out->same_shape) {
    char got_text[64], want_text[64];
    assay_shape_text(got->dims, got->rank, got_text, sizeof got_text);
    assay_shape_text(want->dims, want->rank, want_text, sizeof want_text);
    snprintf(out->reason, sizeof out->reason, "shape is %s, reference %s", got_text, want_text);
  } else if (!out->same_dtype && got->dtype == want->dtype) {
    snprintf(out->reason, sizeof out->reason, "type %s has no comparison",
             assay_dtype_name(got->dtype));
  } else if (!out->same_dtype) {
    snprintf(out->reason, sizeof out->reason, "type is %s, reference %s",
             assay_dtype_name(got->dtype), assay_dtype_name(want->dtype));
  }
  return out->same_shape && out->same_dtype;
}

static assay_status check_tolerances(const assay_compare_spec *spec, assay_error *err) {
  if (!(isfinite(spec->atol) && spec->atol >= 0))
    return assay_fail(err, ASSAY_E_ARGUMENT, "atol must be finite and not negative, found %g",
                      spec->atol);
  if (!(isfinite(spec->rtol) && spec->rtol >= 0))
    return assay_fail(err, ASSAY_E_ARGUMENT, "rtol must be finite and not negative, found %g",
                      spec->rtol);
  return ASSAY_OK;
}

static assay_status check_mask(const assay_compare_spec *spec, size_t n_elems, assay_error *err) {
  if (spec->valid == NULL) return ASSAY_OK;
  for (size_t i = 0; i < spec->n_positions; ++i)
    if (!(spec->valid[i] == 0.0f || spec->valid[i] == 1.0f))
      return assay_fail(err, ASSAY_E_ARGUMENT, "mask must hold 0 and 1 only, found %g at %zu",
                        (double)spec->valid[i], i);
  if (n_elems > 0 && (spec->n_positions == 0 || n_elems % spec->n_positions != 0))
    return assay_fail(err, ASSAY_E_ARGUMENT, "%zu positions of the mask do not divide %zu elements",
                      spec->n_positions, n_elems);
  return ASSAY_OK;
}

static assay_status check_classes(const assay_compare_spec *spec, const assay_tensor *got,
                                  assay_error *err) {
  if (!spec->classes) return ASSAY_OK;
  if (!assay_dtype_is_float(got->dtype))
    return assay_fail(err, ASSAY_E_ARGUMENT, "class scores must be floats, found %s",
                      assay_dtype_name(got->dtype));
  if (got->rank == 0)
    return assay_fail(err, ASSAY_E_ARGUMENT, "class scores need a last axis, found a scalar");
  if (got->n_elems == 0 || spec->valid == NULL) return ASSAY_OK;
  size_t n_classes = (size_t)got->dims[got->rank - 1];
  size_t slice_elems = got->n_elems / spec->n_positions;
  if (slice_elems % n_classes != 0)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "rows of %zu class scores do not fit positions of %zu elements", n_classes,
                      slice_elems);
  return ASSAY_OK;
}

assay_status assay_compare_run(const assay_compare_spec *spec, const assay_tensor *got,
                               const assay_tensor *want, assay_compare_result *out,
                               assay_error *err) {
  static const assay_compare_point nowhere = {.index = -1};
  assay_compare_result result = {.first_class_mismatch = nowhere,
                                 .max_abs_at = nowhere,
                                 .max_tol_at = nowhere,
                                 .first_over = nowhere,
                                 .first_padding_not_zero = nowhere};
  ASSAY_TRY(check_tolerances(spec, err));
  if (same_kind(got, want, &result)) {
    ASSAY_TRY(check_mask(spec, got->n_elems, err));
    ASSAY_TRY(check_classes(spec, got, err));
    run r = {.spec = spec, .got = got, .want = want, .out = &result};
    r.slice_elems = spec->n_positions > 0 ? got->n_elems / spec->n_positions : got->n_elems;
    compare_elements(&r);
    finish_sums(&r);
    judge(&r);
  }
  *out = result;
  return ASSAY_OK;
}
