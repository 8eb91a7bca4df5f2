/* One evaluation, after its inputs have been checked: what ref_mlpf.c asks of the code that is
 * compiled for each precision. */
#ifndef ASSAY_REFERENCE_REF_EVAL_H
#define ASSAY_REFERENCE_REF_EVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"
#include "reference/ref_mlpf.h"
#include "reference/ref_plan.h"

typedef struct ref_job {
  const assay_mlpf_config *config;
  const assay_tensor_map *weights;
  int64_t n_events, n_elems; /* B, N */
  const float *features;     /* [B, N, F], finite in valid rows */
  const float *mask;         /* [B, N], 0 or 1 */
  int threads;               /* at least 1 */
  bool (*cancelled)(void *); /* as in assay_ref_options */
  void *cancelled_arg;
  ref_plan plan;
  const assay_ref_tap *tap; /* or NULL */
  /* Outputs, the caller's, zeroed; float or double as the function's name says. */
  void *binary;               /* [B, N, 2] */
  void *classes;              /* [B, N, C] */
  void *momentum;             /* [B, N, 5] */
  int32_t *perm;              /* HEPTv2: [L', NH, H, B, N] */
  assay_ref_margins *margins; /* always written */
} ref_job;

/* Errors: ARGUMENT (weights), STOPPED, MEMORY, and those of the tap. */
assay_status ref_eval_f32(const ref_job *job, assay_error *err) ASSAY_NODISCARD;
assay_status ref_eval_f64(const ref_job *job, assay_error *err) ASSAY_NODISCARD;

#endif
