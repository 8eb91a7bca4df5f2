/* The strict parameter table of an MLPF configuration (models.md C.1) and the bit-exact clone of
 * the seeded initialisation (C.3 to C.5). */
#ifndef ASSAY_MODEL_MLPF_PARAMS_H
#define ASSAY_MODEL_MLPF_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"
#include "model/mlpf_config.h"

typedef struct assay_mlpf_param {
  char name[96]; /* state_dict name, e.g. "backbone.0.mha.in_proj_weight" */
  int rank;      /* 1 to 3 */
  int64_t dims[3];
  bool trainable;
  bool used; /* false: must be present in a checkpoint, enters no graph */
} assay_mlpf_param;

typedef struct assay_mlpf_params {
  assay_mlpf_param *items; /* in state_dict order of the model */
  size_t n;
  size_t n_values; /* sum of elements */
} assay_mlpf_params;

/* Errors: MEMORY, LIMIT. */
assay_status assay_mlpf_params_init(const assay_mlpf_config *config, assay_mlpf_params *out,
                                    assay_error *err) ASSAY_NODISCARD;
void assay_mlpf_params_reset(assay_mlpf_params *params);

/* Checks that weights hold exactly the table's tensors, float32, of the right shapes. Errors:
 * MISMATCH with all differences listed (as far as the text holds). */
assay_status assay_mlpf_params_check(const assay_mlpf_params *params,
                                     const assay_tensor_map *weights,
                                     assay_error *err) ASSAY_NODISCARD;

/* Fills weights as torch.manual_seed(seed); MLPF(config) does on the CPU (AVX2 or later), bit for
 * bit. out_next_rand (may be NULL) gets the next uniform draw, a check of the stream's position. */
assay_status assay_mlpf_seed_weights(const assay_mlpf_config *config, uint64_t seed,
                                     assay_tensor_map *out, float *out_next_rand,
                                     assay_error *err) ASSAY_NODISCARD;

#endif
