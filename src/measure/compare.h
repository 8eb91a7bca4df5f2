/* Rule 1: how far an output is from a reference. Compares shapes and types first, classifies
 * elements before any arithmetic, and accepts only what *is within* atol + rtol * |ref|. Floats are
 * compared in double, integers in exact arithmetic. */
#ifndef ASSAY_MEASURE_COMPARE_H
#define ASSAY_MEASURE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"

typedef struct assay_compare_spec {
  double atol, rtol;      /* finite, >= 0 */
  bool classes;           /* last axis holds class scores (floats): count argmax changes */
  bool exact;             /* constants: must be equal (and so must signs of zero) */
  bool tolerant_integers; /* integers are exact unless this asks for atol and rtol; never bools */
  const float *valid;     /* [n_positions] 1 valid, 0 padding, or NULL: all valid. A position is
                             a slice along the leading axes: output [B,N,K] has B*N of them */
  size_t n_positions;     /* must divide the elements; ignored without `valid` */
  bool zero_at_padding;   /* exact +0 demanded at padded positions */
} assay_compare_spec;

typedef struct assay_compare_point {
  int64_t index;    /* flat, row-major; -1 when nothing compared */
  double got, want; /* rounded to double for large 64-bit integers */
} assay_compare_point;

typedef struct assay_compare_result {
  bool same_shape, same_dtype; /* when false nothing below is filled in but `reason` */
  size_t n_compared;           /* elements at valid positions */
  size_t n_finite_pairs;
  size_t n_class_mismatch; /* NaN / +inf / -inf / finite do not agree */
  assay_compare_point first_class_mismatch;
  size_t n_nonfinite_got, n_nonfinite_want;
  size_t n_nan_got, n_nan_want;
  size_t n_denormal_got, n_denormal_want;
  double max_abs; /* over finite pairs; 0 without any */
  assay_compare_point max_abs_at;
  double mae, rmse, rel_l2; /* rel_l2: ||got-want|| / ||want||; 0/0 is 0, x/0 is +inf */
  double max_tol_multiple;  /* largest |got-want| / (atol + rtol*|want|); 0/0 is 0, x/0 is +inf */
  assay_compare_point max_tol_at;
  size_t n_over; /* finite pairs not within tolerance, or not equal where exact */
  assay_compare_point first_over;
  double needed_atol;      /* smallest atol that would pass with this rtol (to rounding); +inf if
                              none would, which is so when classes differ */
  double needed_rtol;      /* smallest rtol that would pass with this atol; +inf if none would */
  size_t n_argmax;         /* rows compared by argmax: valid, without NaN on either side */
  size_t n_argmax_changed; /* the first largest score is another class */
  double argmax_changed_max_margin; /* largest margin (top1 - top2 in the reference) among changed
                                       rows */
  size_t n_argmax_changed_over; /* changed although the reference's distance between the two classes
                                   is more than their two tolerances allow */
  size_t n_padding;             /* elements at padded positions */
  size_t n_padding_not_zero;    /* not +0 bit for bit */
  assay_compare_point first_padding_not_zero;
  double padding_max_abs; /* largest |got - want| over finite pairs at padding */
  bool passed;      /* shapes, types, classes, every pair within, padding; and something compared
                       that is not NaN on both sides, or, where no position is valid, exact zeros
                       demanded at padding and found: then n_compared is 0, and whoever judges
                       several cases asks for one in which something was compared */
  char reason[160]; /* why not, or "" */
} assay_compare_result;

/* got and want may differ in float width only if want is float64 and got float32/float16/bfloat16
 * (the reference of higher precision); any other difference of dtype is a failed comparison, and so
 * are types that have no comparison (string, complex). NaN in both places is agreement, but not
 * evidence: a head that is NaN throughout does not pass. Errors: ARGUMENT (spec: tolerances, mask
 * values other than 0 and 1, positions or rows that do not divide the elements, class scores that
 * are not floats). */
assay_status assay_compare_run(const assay_compare_spec *spec, const assay_tensor *got,
                               const assay_tensor *want, assay_compare_result *out,
                               assay_error *err) ASSAY_NODISCARD;

#endif
