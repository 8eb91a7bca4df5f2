/* The eager evaluator of the MLPF models: models.md section B, written from the equations. FP32 as
 * an eager framework would compute, and FP64 as the truth; hash keys are FP32 in both (B.10).
 *
 * Independence: shares the configuration header and the weights with the graph builder, and nothing
 * else. */
#ifndef ASSAY_REFERENCE_REF_MLPF_H
#define ASSAY_REFERENCE_REF_MLPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"
#include "model/mlpf_config.h"

#define ASSAY_REF_THREADS_MAX                                                                      \
  256 /* more than any machine of our users has; scratch is per thread */

typedef struct assay_ref_options {
  int threads; /* 0 means 1 */
  /* Asked between pieces of work, by whichever thread comes by; true ends the evaluation with
   * STOPPED. May be NULL. */
  bool (*cancelled)(void *arg);
  void *cancelled_arg;
} assay_ref_options;

/* How far the decisions of HEPTv2's hashing are from falling otherwise (models.md B.10). Distances
 * are in units in the last place (FP32) of the larger neighbour; INT64_MAX where there is no such
 * pair. */
typedef struct assay_ref_margins {
  bool present;        /* false for models that neither sort nor hash */
  int64_t key_ulp;     /* smallest gap of keys across a bucket boundary, valid elements */
  int64_t rank_ulp;    /* smallest gap of eta or phi across a region boundary, valid elements */
  int64_t n_key_ties;  /* exact ties across bucket boundaries: decided by the element order */
  int64_t n_rank_ties; /* exact ties across region boundaries */
  int64_t key_layer, key_hash, key_head, key_event; /* where key_ulp is; -1 if nowhere */
} assay_ref_margins;

typedef struct assay_ref_outputs {
  assay_tensor_map heads; /* bid [B,N,2], id [B,N,C], momentum [B,N,5], pu [B,N,2]; f32 or f64 */
  assay_ref_margins margins;
  assay_tensor perm; /* HEPTv2: int32 [L', NH, H, B, N], bucket order, event-local (L' = 2L for a
                        split backbone: id layers, then reg layers); empty otherwise */
} assay_ref_outputs;

/* dtype     ASSAY_DTYPE_F32 or ASSAY_DTYPE_F64
 * x         [B,N,F] f32, borrowed; padded rows may hold anything
 * mask      [B,N] f32, each exactly 0 or 1; holes and empty events are fine
 * Memory is O(B*N*(E+W)) plus tiles; no N x N array is formed.
 * Errors: ARGUMENT (shape, mask values, N no multiple of the block size, NaN or infinity in valid
 * rows: all with the index; more than ASSAY_REF_THREADS_MAX threads), STOPPED, MEMORY. */
assay_status assay_ref_mlpf_run(const assay_mlpf_config *config, const assay_tensor_map *weights,
                                assay_dtype dtype, const assay_tensor *x, const assay_tensor *mask,
                                const assay_ref_options *options, assay_ref_outputs *out,
                                assay_error *err) ASSAY_NODISCARD;
void assay_ref_outputs_reset(assay_ref_outputs *outputs);

/* What ran underneath, for the provenance: e.g. "OpenBLAS 0.3.21 SkylakeX, SLEEF 3.5.1 avx512". */
void assay_ref_describe(char *out, size_t out_bytes);

#endif
