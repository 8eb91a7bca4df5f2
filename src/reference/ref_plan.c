/* See ref_plan.h. */
#include "reference/ref_plan.h"

#include <math.h>
#include <stddef.h>

ref_plan ref_plan_of(const assay_mlpf_plan_config *config, assay_ref_arithmetic arithmetic) {
  if (config == NULL) return (ref_plan){0};
  bool stored = arithmetic == ASSAY_REF_STORED;
  bool decomposed = config->attention == ASSAY_MLPF_DECOMPOSED;
  bool attention24 = config->attention == ASSAY_MLPF_ATTENTION24;
  return (ref_plan){.encoder = config->encoder == ASSAY_DTYPE_F16,
                    .backbone = config->backbone == ASSAY_DTYPE_F16,
                    .readout = config->readout == ASSAY_DTYPE_F16,
                    .heads = config->heads == ASSAY_DTYPE_F16,
                    .weights = stored ? attention24 : decomposed,
                    .scores = stored ? attention24 : config->scores == ASSAY_DTYPE_F16,
                    .sums = arithmetic == ASSAY_REF_SUMS,
                    .stored = stored,
                    .last_queries = !stored || config->attention != ASSAY_MLPF_MHA,
                    .gathered = !stored || config->attention != ASSAY_MLPF_MHA,
                    .gathered_in_readouts = !stored || attention24};
}

ref_plan_scale ref_plan_scale_of(int64_t dim, bool half_scores) {
  double scale = 1 / sqrt((double)dim);
  int exponent;
  bool folds = frexp(scale, &exponent) == 0.5; /* a power of two */
  if (!half_scores || folds) return (ref_plan_scale){.of_queries = scale, .of_scores = 1};
  float rounded = assay_f16_to_f32(assay_f16_of_f32((float)scale));
  return (ref_plan_scale){.of_queries = 1, .of_scores = (double)rounded};
}
