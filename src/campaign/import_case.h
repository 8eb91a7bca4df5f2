/* The arrays of a case that a user brings to a model of their own. Private to the room. */
#ifndef ASSAY_CAMPAIGN_IMPORT_CASE_H
#define ASSAY_CAMPAIGN_IMPORT_CASE_H

#include "base/json.h"
#include "base/status.h"
#include "base/tensor.h"
#include "package/manifest.h"

/* All zeroes is a valid empty one. */
typedef struct import_case {
  char name[128];          /* in the characters that names of cases may have */
  char source[512];        /* where the arrays came from */
  assay_json *origin;      /* the files that they came from, with their hashes */
  assay_tensor_map arrays; /* inputs, and references as ref.user.<head> */
  size_t n_references;
} import_case;

/* A .npz file with the model's inputs by name and, if there are any, references by the names of its
 * outputs; or a folder as ONNX's model zoo has them (test_data_set_N), with input_<i>.pb and, if
 * there are any, output_<i>.pb, which count inputs and outputs in the model's order. Nothing else
 * is taken. Of manifest only the names of inputs and heads are used: types and shapes are the
 * caller's to check. Errors: IO, FORMAT (the file; what does not belong; what is missing),
 * UNSUPPORTED, LIMIT, MEMORY. */
assay_status import_case_read(const char *path, const assay_manifest *manifest, import_case *out,
                              assay_error *err) ASSAY_NODISCARD;
void import_case_reset(import_case *one);

#endif
