/* A precision plan (model/mlpf_plan_config.h) as the steps of an evaluation ask for it. "Half" in
 * this room: computed in FP16, that is in values of FP32 that are rounded to FP16 where they
 * enter the block and at the end of each operation. What lies between blocks is FP32. */
#ifndef ASSAY_REFERENCE_REF_PLAN_H
#define ASSAY_REFERENCE_REF_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/mlpf_plan_config.h"
#include "reference/ref_mlpf.h"

/* All zeroes: FP32, or FP64, throughout. */
typedef struct ref_plan {
  bool encoder, backbone, readout, heads; /* blocks that are half: of the layers and readouts,
                                             their attention */
  bool weights; /* softmax weights of half blocks are half; those of HEPTv2's buckets as soon as the
                   backbone is, but where stored */
  bool scores;  /* and scores, where weights are */
  bool sums;    /* ASSAY_REF_SUMS */
  bool stored;  /* ASSAY_REF_STORED */
  /* What attention's products hand to each other and is half in FP16 blocks: all of it, but where
   * stored. */
  bool last_queries, gathered, gathered_in_readouts;
} ref_plan;

/* config may be NULL, for a plan without FP16 blocks. */
ref_plan ref_plan_of(const assay_mlpf_plan_config *config, assay_ref_arithmetic arithmetic);

/* 1/sqrt(dim), as a factor of queries, where it is folded into weights or belongs to a kernel, and
 * as one of scores, where it is an operation of its own; one of the two is 1. */
typedef struct ref_plan_scale {
  double of_queries, of_scores;
} ref_plan_scale;
ref_plan_scale ref_plan_scale_of(int64_t dim, bool half_scores);

#endif
