/* The weights of a configuration bound by name, in `real`, and the state of one run.
 *
 * Letters in this room: B events, N elements of an event (padding included), F features, E
 * embedding, W width, H heads, d = E/H, L layers, T element types, C classes, D representation, NH
 * hashes, bs block size. */
#ifndef ASSAY_REFERENCE_REF_MODEL_H
#define ASSAY_REFERENCE_REF_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"
#include "model/mlpf_config.h"
#include "reference/ref_arena.h"
#include "reference/ref_kernels.h"
#include "reference/ref_plan.h"
#include "reference/ref_real.h"

#define ref_linear REF(ref_linear)
typedef struct ref_linear {
  int64_t n_in, n_out;
  const real *weight; /* [n_out, n_in] */
  const real *bias;   /* [n_out], or NULL for none */
  bool half;          /* weights and operations are rounded to FP16; so is x, by the caller */
} ref_linear;

#define ref_norm REF(ref_norm)
typedef struct ref_norm {
  int64_t dim;
  const real *weight; /* [dim]; NULL: this norm is not there */
  const real *bias;   /* [dim], or NULL for an RMS norm */
  bool half;          /* of layer norms: weights and result are rounded to FP16 */
} ref_norm;

/* Linear, activation, layer norm, linear: the encoder and all heads (models.md B.0). */
#define ref_mlp3 REF(ref_mlp3)
typedef struct ref_mlp3 {
  ref_linear first, last;
  ref_norm norm;
} ref_mlp3;

/* Multi-head attention (B.3). `in` stacks the rows of q, k and v. */
#define ref_mha REF(ref_mha)
typedef struct ref_mha {
  ref_linear in, out;
} ref_mha;

/* Linear, activation, linear, activation: the feed-forward blocks of attention layers and readouts.
 */
#define ref_ffn REF(ref_ffn)
typedef struct ref_ffn {
  ref_linear first, last;
} ref_ffn;

#define ref_attention_layer REF(ref_attention_layer)
typedef struct ref_attention_layer {
  ref_mha mha;
  ref_norm norm0, norm1;
  ref_ffn ffn; /* seq.0, seq.2 */
} ref_attention_layer;

#define ref_heptv2_layer REF(ref_heptv2_layer)
typedef struct ref_heptv2_layer {
  ref_linear position_in, position_out; /* 2 -> 4E, 4E -> E; not there without learned positions */
  ref_norm position_norm;
  ref_norm norm1, norm2, q_norm, k_norm; /* RMS */
  ref_linear q, k, v, out;
  ref_linear gate, up, down;
  const float *regions; /* [NH, 2, H] */
  const float *alpha;   /* [H, 2, NH] */
} ref_heptv2_layer;

/* An encoder and its layers; a split backbone has two. */
#define ref_stack REF(ref_stack)
typedef struct ref_stack {
  const char *encoder_name, *layers_name; /* "nn0" and "backbone", or those of one of two stacks */
  ref_mlp3 encoder;
  ref_attention_layer *attention; /* [L] for that architecture, else NULL */
  ref_heptv2_layer *heptv2;       /* [L] for that architecture, else NULL */
} ref_stack;

#define ref_readout REF(ref_readout)
typedef struct ref_readout {
  bool present;
  const real *query; /* [D] */
  ref_norm query_norm, key_norm, post_norm;
  ref_linear q, kv, out; /* of its attention (B.3); kv stacks the rows of k and v */
  ref_ffn ffn;
} ref_readout;

#define ref_regression REF(ref_regression)
typedef struct ref_regression {
  int64_t n_parts;
  ref_mlp3 *parts; /* one; T of direct-elemtype-split; two (scale, offset) of linear-elemtype */
} ref_regression;

enum { REF_CLASSIFICATION, REF_REGRESSION, REF_N_TASKS };

#define ref_model REF(ref_model)
typedef struct ref_model {
  int64_t n_stacks; /* 1, or 2 for a split backbone: classification, regression */
  ref_stack stacks[REF_N_TASKS];
  ref_readout readouts[REF_N_TASKS];
  ref_norm final_norms[REF_N_TASKS];
  ref_mlp3 binary, classes;
  ref_regression regressions[ASSAY_MLPF_N_TARGETS];
} ref_model;

#define ref_model_bind REF(ref_model_bind)
/* Finds every tensor that the configuration computes with. FP32 weights are borrowed; for FP64 they
 * are widened, and for half blocks rounded, into the arena. Readouts' queries do not depend on the
 * input: they are never half. Errors: ARGUMENT (a tensor is missing, or not float32 of the expected
 * shape; a region count is not finite and positive; a weight of a half block is infinity in FP16),
 * MEMORY. */
assay_status ref_model_bind(const assay_mlpf_config *config, const ref_plan *plan,
                            const assay_tensor_map *weights, ref_arena *arena, ref_model *out,
                            assay_error *err) ASSAY_NODISCARD;

#endif
