/* Bundles within a package: the manifest against the files that it lists, and each case's arrays
 * against what the manifest says of them. */
#ifndef ASSAY_VERIFY_VERIFY_BUNDLE_H
#define ASSAY_VERIFY_VERIFY_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "verify/verify_run.h"

/* References in the export's own precision, by arithmetic: results rounded, sums too, or only what
 * is stored. */
enum { ASSAY_VERIFY_N_PRECISIONS = 3 };
extern const char *const ASSAY_VERIFY_PRECISIONS[ASSAY_VERIFY_N_PRECISIONS];

/* Of one head: whether the case holds that reference and the FP64 one, and how far they are apart.
 */
typedef struct assay_verify_precision {
  bool has[ASSAY_VERIFY_N_PRECISIONS];
  double rmse[ASSAY_VERIFY_N_PRECISIONS];
} assay_verify_precision;

/* What is derived of a case whatever runs it. */
typedef struct assay_verify_case {
  size_t bundle, index;              /* of the package, of its manifest */
  bool *has;                         /* [n_heads] the case holds the FP32 and the FP64 reference */
  int64_t n_denormal_inputs;         /* elements of its inputs */
  double *max_abs;                   /* [n_heads] largest |ref.f32 - ref.f64| at valid positions */
  assay_verify_precision *precision; /* [n_heads] */
} assay_verify_case;

/* Hashes and sizes of everything that the bundle's manifest lists, and what package.json says of
 * the bundle. */
void assay_verify_bundle_check(const assay_verify_scene *scene, size_t bundle);

/* Reads the case that out->bundle and out->index name; out keeps what was derived. Errors: MEMORY.
 */
assay_status assay_verify_case_check(const assay_verify_scene *scene, assay_verify_case *out,
                                     assay_error *err) ASSAY_NODISCARD;
void assay_verify_case_reset(assay_verify_case *one);

/* The resolved runtime's digest, as the campaign takes it. Errors: MEMORY. */
assay_status assay_verify_runtime_check(const assay_verify_scene *scene, size_t runtime,
                                        assay_error *err) ASSAY_NODISCARD;

#endif
