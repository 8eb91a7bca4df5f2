/* Makes a bundle of any ONNX model and of cases that its user brings.
 *
 * Nothing of the model is evaluated here: references are the user's own arrays (ref.user.<head>),
 * and an output without one can be timed and placed, but not judged. */
#ifndef ASSAY_CAMPAIGN_BUNDLE_IMPORT_H
#define ASSAY_CAMPAIGN_BUNDLE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "campaign/bundle_export.h"

/* All pointers are borrowed. Zero and NULL mean the defaults; model and cases must be set. */
typedef struct assay_import_spec {
  const char *name;           /* of the bundle; NULL: from the model's file */
  const char *model;          /* file; external data lie beside it */
  const char *const *cases;   /* import_case.h: .npz files and test_data_set_N folders */
  size_t n_cases;             /* at least 1 */
  const char *const *classes; /* outputs whose last axis is compared by argmax, too */
  size_t n_classes;
  const char *mask_input; /* input [B,N] of zeros and ones: elements at zeros are padding, whose
                             errors are shown and not judged; NULL: all elements are judged */
  const assay_export_tolerance *tolerances; /* of outputs that are no integers */
  size_t n_tolerances;
  bool force; /* replace a bundle that is there */
} assay_import_spec;

typedef struct assay_import_result {
  char name[128];
  char model_sha256[65];
  size_t n_inputs, n_heads, n_external;
  size_t n_cases, n_references; /* references in all cases together */
  size_t n_partial;             /* cases in which some output has no reference */
  uint64_t size_bytes;          /* of model, external data and cases */
} assay_import_result;

/* Writes the bundle to the folder `path`, as assay_bundle_export does. Dimensions that the model
 * leaves open are symbols in the manifest, each of one size within a case; where the model names
 * none, or "?" or "None", each such dimension is a symbol of its own. Outputs of floating types are
 * regressions or classes, all others integers, compared exactly. A reference has the output's type,
 * or is float64, or float32 for a narrower output.
 *
 * Errors: ARGUMENT (spec; names that the model does not have), FORMAT (model, case files),
 * UNSUPPORTED (an input or output that is no tensor, or of a type that case files do not hold),
 * MISMATCH (a case whose arrays do not go together), IO, LIMIT, MEMORY. */
assay_status assay_bundle_import(const assay_import_spec *spec, const char *path,
                                 assay_import_result *out, assay_error *err) ASSAY_NODISCARD;

#endif
