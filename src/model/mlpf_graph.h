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
#include "onnx/graph.h"

typedef struct assay_mlpf_graph_options {
  int64_t static_b;         /* 0: symbolic "B" */
  int64_t static_n;         /* 0: symbolic "N"; both or neither */
  bool expose_permutations; /* HEPTv2: adds outputs perm_<layer> int64 [NH*H,B,N] (and, for a split
                               backbone, perm_id_<layer>, perm_reg_<layer>); for tests and diagnosis
                             */
} assay_mlpf_graph_options;

/* Builds the graph, FP32, decomposed attention, opset 20; checks weights against the parameter
 * table first. The configuration, key mask and phi are stored as model metadata ("assay.config" as
 * JSON, "assay.key_mask", "assay.phi"). *out is created; released with assay_graph_destroy. Errors:
 * ARGUMENT (static_n no multiple of the block size), MISMATCH (weights), MEMORY, LIMIT. */
assay_status assay_mlpf_graph_build(const assay_mlpf_config *config,
                                    const assay_tensor_map *weights,
                                    const assay_mlpf_graph_options *options, assay_graph **out,
                                    assay_error *err) ASSAY_NODISCARD;

/* Attention operations of a graph, counted in its nodes: softmaxes that weight a matrix product
 * (HEPTv2's merging of hashes is none), and fused ones. */
int64_t assay_mlpf_graph_attention_ops(const assay_graph *graph);

#endif
