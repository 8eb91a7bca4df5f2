/* The ONNX graph of an MLPF configuration with its weights: models.md section D.
 *
 * Inputs  Xfeat_normed [B,N,F] f32, mask [B,N] f32 (0 or 1)
 * Outputs bid [B,N,2], id [B,N,C], momentum [B,N,5], pu [B,N,2], all f32; exactly +0 at padding
 *
 * Independence: nothing here may be called by, or generated from, src/reference, nor the other way
 * round. */
#ifndef ASSAY_MODEL_MLPF_GRAPH_H
#define ASSAY_MODEL_MLPF_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"
#include "model/mlpf_config.h"
#include "model/mlpf_plan_config.h"
#include "onnx/graph.h"

typedef struct assay_mlpf_graph_options {
  int64_t static_b;         /* 0: symbolic "B" */
  int64_t static_n;         /* 0: symbolic "N"; both or neither */
  bool expose_permutations; /* HEPTv2: adds outputs perm_<layer> int64 [NH*H,B,N] (and, for a split
                               backbone, perm_id_<layer>, perm_reg_<layer>); for tests and diagnosis
                             */
  const assay_mlpf_plan_config *plan; /* borrowed; NULL: FP32, decomposed attention */
} assay_mlpf_graph_options;

/* Builds the graph as the plan says, opset 20, or 24 for the form attention24; checks weights
 * against the parameter table first. The configuration, key mask and phi are stored as model
 * metadata ("assay.config" as JSON, "assay.key_mask", "assay.phi"), and any plan but the
 * default as "assay.plan". "assay.blocks" is a JSON array of {"block": name, "value": a value
 * of the graph} in the order of the model, for diagnosis (onnx/expose.h):
 *
 *   nn0, or _nn0_id and _nn0_reg                  [B,N,E]  encoder
 *   P.permutation, P backbone.0, _backbone_id.0 … i64, HEPTv2's bucket order: [B,NH*H,N] as it is
 *                                                 sorted, or the output perm_<layer> [NH*H,B,N]
 *   P.attention                                   [B,N,E]  what attention adds to the residual
 *   P                                             [B,N,E]  output of the layer
 *   classification_readout.attention              [B,1,D]  the same of a readout
 *   classification_readout                        [B,N,D]; and regression_readout
 *   classification_norm, regression_norm          [B,N,D]  where there are any
 *   nn_binary_particle [B,N,2], nn_pid [B,N,C]    raw outputs
 *   nn_pt, nn_eta, nn_sin_phi, nn_cos_phi,
 *   nn_energy                                     [B,N,1]  (35); energy before the ReLU of (36)
 *
 * *out is created; released with assay_graph_destroy. Errors: ARGUMENT (static_n no multiple of the
 * block size; the plan contradicts itself), MISMATCH (weights), UNSUPPORTED (a weight that FP16
 * cannot hold), MEMORY, LIMIT. */
assay_status assay_mlpf_graph_build(const assay_mlpf_config *config,
                                    const assay_tensor_map *weights,
                                    const assay_mlpf_graph_options *options, assay_graph **out,
                                    assay_error *err) ASSAY_NODISCARD;

/* Attention operations of a graph, counted in its nodes: softmaxes that weight a matrix product
 * (HEPTv2's merging of hashes is none), and fused ones; and the fused ones alone. */
int64_t assay_mlpf_graph_attention_ops(const assay_graph *graph);
int64_t assay_mlpf_graph_fused_attention_ops(const assay_graph *graph);

#endif
