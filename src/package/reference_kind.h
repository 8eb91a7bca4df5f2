/* The kinds of references that a case may hold of a head, as arrays "ref.<kind>.<head>". */
#ifndef ASSAY_PACKAGE_REFERENCE_KIND_H
#define ASSAY_PACKAGE_REFERENCE_KIND_H

#include <stdbool.h>

typedef struct assay_reference_kind {
  const char *name;
  bool gates;        /* a runtime must be within tolerance of it */
  const char *words; /* of those that gate nothing: the arithmetic that they are evaluated in */
} assay_reference_kind;

/* "f32", "f64"    the evaluator, as an eager framework and as the truth
 * "user"          brought along
 * "same"          the evaluator in the export's own precision, each result rounded
 * "sums"          the same, products and partial sums rounded as well
 * "stored"        the same, but computed in FP32: only what is kept in memory is rounded
 *
 * The last three say what of an error that precision must cost whoever computes in that way; they
 * are in the order of the evaluator's arithmetics (reference/ref_mlpf.h). */
enum {
  ASSAY_N_REFERENCE_KINDS = 6,
  ASSAY_FIRST_PRECISION_KIND = 3,
  ASSAY_N_PRECISION_KINDS = ASSAY_N_REFERENCE_KINDS - ASSAY_FIRST_PRECISION_KIND,
};
extern const assay_reference_kind ASSAY_REFERENCE_KINDS[ASSAY_N_REFERENCE_KINDS];

/* The k-th of those that gate nothing. */
static inline const assay_reference_kind *assay_precision_kind(int k) {
  return &ASSAY_REFERENCE_KINDS[ASSAY_FIRST_PRECISION_KIND + k];
}

/* NULL for an unknown name. */
const assay_reference_kind *assay_reference_kind_find(const char *name);

#endif
