/* The eager evaluator of the MLPF models: models.md section B, written from the equations. FP32 as
 * an eager framework would compute, and FP64 as the truth; hash keys are FP32 in both (B.10). With
 * a precision plan, FP16 as its text says (model/mlpf_plan_config.h): what that precision costs
 * whoever computes it.
 *
 * Independence: shares the configuration headers and the weights with the graph builder, and
 * nothing else. */
#ifndef ASSAY_REFERENCE_REF_MLPF_H
#define ASSAY_REFERENCE_REF_MLPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"
#include "model/mlpf_config.h"
#include "model/mlpf_plan_config.h"

/* Outputs of the model's blocks on the way. In the model's order, each once; E, D and other letters
 * as in models.md:
 *
 *   nn0                            encoder [B,N,E]
 *   backbone.0.permutation         HEPTv2: int64 [NH*H,B,N], row c*H + h; bucket order
 *   backbone.0.attention           what attention adds to the residual, after its output layer
 *                                  [B,N,E]
 *   backbone.0                     layer [B,N,E]; then backbone.1 …
 *   classification_readout.attention   [B,1,D]
 *   classification_readout         [B,N,D]
 *   classification_norm            [B,N,D]; then the three of regression
 *   nn_binary_particle, nn_pid     raw outputs of the heads [B,N,2], [B,N,C]: NaN neither replaced
 *                                  nor padding masked
 *   nn_pt, nn_eta, nn_sin_phi, nn_cos_phi, nn_energy   value of (35) [B,N,1]; energy: before its
 *                                  ReLU
 *
 * as far as the configuration has them. A split backbone has _nn0_id, _backbone_id.0 … and then
 * _nn0_reg, _backbone_reg.0 …. Values at padded positions are unspecified. */
typedef struct assay_ref_tap {
  /* value   float32 or float64 as the evaluation (FP16 blocks: their values in float32), or int64;
   *         borrowed until the call returns
   * A failure ends the evaluation with that status. Called from the caller's thread. */
  assay_status (*take)(void *argument, const char *block, const assay_tensor *value,
                       assay_error *err);
  /* Whether to take a block; NULL: every one. Only blocks that are taken cost memory. */
  bool (*wants)(void *argument, const char *block);
  void *argument;
} assay_ref_tap;

#define ASSAY_REF_THREADS_MAX                                                                      \
  256 /* more than any machine of our users has; scratch is per thread */

/* What of a plan's FP16 blocks is rounded: where those who compute the same FP16 graph differ. */
typedef enum assay_ref_arithmetic {
  /* The result of each operation, its products and sums being FP32 (model/mlpf_plan_config.h). */
  ASSAY_REF_RESULTS,
  /* Each product and each partial sum of matrix products too, terms in the order of the inner
   * dimension: kernels that accumulate in FP16. Fused attention accumulates in FP32 still. */
  ASSAY_REF_SUMS,
  /* Weights, and what goes through an operator that only moves data, or through a fused one, on its
   * way to the next product. All else is FP32: a runtime that computes FP16 graphs in FP32, but for
   * those operators. These are projected queries, keys and values (not the queries of the last
   * layer where the form is MHA) and, in HEPTv2, those after their norms; scores and weights where
   * the form is attention24, whose kernel keeps them in memory; what attention gathers in the
   * backbone, in readouts only where the form is attention24, and nowhere where it is MHA; and
   * HEPTv2's merged hashes. What ONNX Runtime's CPU provider does with these graphs. */
  ASSAY_REF_STORED,
} assay_ref_arithmetic;

typedef struct assay_ref_options {
  int threads; /* 0 means 1 */
  /* Asked between pieces of work, by whichever thread comes by; true ends the evaluation with
   * STOPPED. May be NULL. */
  bool (*cancelled)(void *arg);
  void *cancelled_arg;
  const assay_mlpf_plan_config *plan; /* borrowed; NULL: no FP16 blocks */
  assay_ref_arithmetic arithmetic;    /* of the plan's FP16 blocks */
  const assay_ref_tap *tap;           /* borrowed; NULL: none */
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
 * Memory is O(B*N*(E+W)) plus tiles and what is tapped; no N x N array is formed.
 * Errors: ARGUMENT (a plan that contradicts itself or has FP16 blocks beside FP64; a weight that
 * FP16 cannot hold, by name; shape, mask values, N no multiple of the block size, NaN or infinity
 * in valid rows: all with the index; more than ASSAY_REF_THREADS_MAX threads), STOPPED, MEMORY. */
assay_status assay_ref_mlpf_run(const assay_mlpf_config *config, const assay_tensor_map *weights,
                                assay_dtype dtype, const assay_tensor *x, const assay_tensor *mask,
                                const assay_ref_options *options, assay_ref_outputs *out,
                                assay_error *err) ASSAY_NODISCARD;
void assay_ref_outputs_reset(assay_ref_outputs *outputs);

/* What ran underneath, for the provenance: e.g. "OpenBLAS 0.3.21 SkylakeX, SLEEF 3.5.1 avx512". */
void assay_ref_describe(char *out, size_t out_bytes);

#endif
