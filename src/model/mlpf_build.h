/* The parts of which mlpf_graph.c puts an MLPF graph together, private to the graph builder:
 * shorthands for common nodes (mlpf_build.c), layers (build_blocks.c), entry and encoder
 * (build_entry.c), attention (build_attention.c), sorting into buckets (build_hashing.c), HEPTv2
 * layers (build_heptv2.c), and heads and outputs (build_heads.c).
 *
 * No call here returns a status: the graph remembers the first error (onnx/graph.h). C leaves open
 * in which order arguments are evaluated, and nodes are written in the order of their adding: a
 * call takes at most one argument that adds something, so that every compiler gives the same file.
 *
 * Dimension letters of all these files, as in models.md: B batch, N elements, F features, T element
 * types, E embedding, W width, H heads, d = E/H, D representation, C classes; HEPTv2: NH hashes,
 * J = NH*H with j = c*H + h, bs block size. Shapes are row-major. */
#ifndef ASSAY_MODEL_MLPF_BUILD_H
#define ASSAY_MODEL_MLPF_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/json.h"
#include "base/tensor.h"
#include "model/mlpf_config.h"
#include "model/mlpf_graph.h"
#include "model/mlpf_plan_config.h"
#include "onnx/graph.h"

#define ASSAY_BUILD_N_COLUMNS 6 /* columns of the features with a meaning (models.md A.2) */

/* What sorting needs that is the same in all HEPTv2 layers. */
typedef struct assay_build_sorting {
  assay_value coords;      /* [B,N,2] f32: eta, phi */
  assay_value eta, phi;    /* [B,1,N] f32 */
  assay_value valid_row;   /* [B,1,N] bool */
  assay_value rank_eta;    /* [B,1,N] i64 */
  assay_value rank_phi;    /* [B,1,N] i64 */
  assay_value n_elems;     /* [1] i64: N, the k of a full TopK */
  assay_value n_elems_f32; /* [1] f32; dynamic shapes only */
  assay_value table_row;   /* [B,J,1] i64: row of (b, n=0, h) in a table with rows (b,n,h) */
  assay_value bucket_row;  /* [B,J,N] i64: row of (b,j,p) in a table with rows (b,j,p) */
  assay_value valid_key; /* [B,1,N/bs,1,bs] bool by place in the sorted order; key_mask all only */
} assay_build_sorting;

typedef struct assay_build {
  const assay_mlpf_config *config;
  const assay_mlpf_plan_config *plan;
  const assay_tensor_map *weights; /* checked against the parameter table */
  assay_graph *graph;
  int64_t static_b, static_n; /* both 0: symbolic */
  bool expose_permutations;
  assay_dtype dtype;          /* of what is being built: its values, weights and constants */
  assay_json_builder *blocks; /* {"block", "value"} of each named block, open array */
  /* the entry (build_entry.c) */
  assay_value features;                       /* [B,N,F] f32, +0 at padding */
  assay_value columns[ASSAY_BUILD_N_COLUMNS]; /* [B,N,1] f32 each */
  assay_value mask;                           /* [B,N] f32, the input */
  assay_value mask3;                          /* [B,N,1] f32 */
  assay_value valid;                          /* [B,N] bool: mask > 0 */
  assay_value valid3;                         /* [B,N,1] bool */
  assay_value types;                          /* [B,N,T] f32 one-hot, or empty: not needed */
  assay_value types4;        /* [B,N,T,1] the same in the encoder's type, for the split encoding */
  assay_value backbone_mask; /* of attention in layers, as the plan's form wants it; empty: none */
  assay_value readout_mask;  /* of attention in readouts */
  assay_value presence;      /* [B,1,1] in the readouts' type: 1, or 0 for an empty event; where
                                queries need a batch axis of a size that is not known */
  assay_build_sorting sorting; /* HEPTv2 with layers only */
} assay_build;

/* ---- mlpf_build.c: nodes ---- */

bool assay_build_is_static(const assay_build *b);

assay_value assay_build_op1(assay_build *b, const char *op, const char *label, assay_value x);
assay_value assay_build_op2(assay_build *b, const char *op, const char *label, assay_value x,
                            assay_value y);
/* Elements of `yes` where condition holds, else of `no`. */
assay_value assay_build_where(assay_build *b, const char *label, assay_value condition,
                              assay_value yes, assay_value no);
assay_value assay_build_reshape(assay_build *b, const char *label, assay_value x,
                                const int64_t *dims, int64_t n);
assay_value assay_build_transpose(assay_build *b, const char *label, assay_value x,
                                  const int64_t *perm, size_t n);
assay_value assay_build_unsqueeze(assay_build *b, const char *label, assay_value x,
                                  const int64_t *axes, int64_t n);
assay_value assay_build_cast(assay_build *b, const char *label, assay_value x, assay_dtype dtype);
/* x, which is of type `from`, in type `to`: a Cast, or x itself. */
assay_value assay_build_convert(assay_build *b, const char *label, assay_value x, assay_dtype from,
                                assay_dtype to);
/* ReduceSum, ReduceMean, ReduceMax or ReduceMin over one axis. */
assay_value assay_build_reduce(assay_build *b, const char *op, const char *label, assay_value x,
                               int64_t axis, bool keep_dim);
assay_value assay_build_concat(assay_build *b, const char *label, const assay_value *parts,
                               size_t n, int64_t axis);
/* outs[n] of sizes[n] along axis. */
void assay_build_split(assay_build *b, const char *label, assay_value x, int64_t axis,
                       const int64_t *sizes, size_t n, assay_value *outs);
/* The smallest rank-0 constants: f32, or of the block's type. */
assay_value assay_build_f32(assay_build *b, float value);
assay_value assay_build_constant(assay_build *b, float value);

/* Begins a block that computes in dtype, and gives back what it was before. */
assay_dtype assay_build_enter(assay_build *b, assay_dtype dtype);

/* Names a value as the output of a block ("backbone.0.attention"), in the model's metadata. */
void assay_build_name_block(assay_build *b, const char *block, assay_value value);

/* ---- mlpf_build.c: weights ---- */

/* A name from a format; lives until the next call that uses the same buffer. */
#define ASSAY_BUILD_NAME_BYTES 128
typedef struct assay_build_name {
  char text[ASSAY_BUILD_NAME_BYTES];
} assay_build_name;
assay_build_name assay_build_name_of(const char *format, ...) ASSAY_PRINTF(1, 2);

/* The data of a weight, which the parameter table has; NULL, and the graph failed, if it has not,
 * or if the block is FP16 and a value does not fit (UNSUPPORTED). */
const float *assay_build_weight(assay_build *b, const char *name);

/* An initialiser of the block's type, rounded to nearest even. UNSUPPORTED: a value that was made
 * of weights and does not fit. */
assay_value assay_build_initializer(assay_build *b, const char *name, int rank, const int64_t *dims,
                                    const float *data);

/* n zeroed items of memory for folding weights, released with assay_free; NULL with the graph
 * failed. */
void *assay_build_scratch(assay_build *b, int64_t n, size_t item_bytes);

/* ---- build_blocks.c ---- */

/* y = x W^T + bias, as MatMul with the transposed weight, and Add. Factors are applied in double
 * and rounded once; a factor that is a power of two is exact. */
typedef struct assay_build_affine {
  const float *weight; /* [n_out, n_in] */
  const float *bias;   /* [n_out], or NULL: no Add */
  int64_t n_out, n_in;
  const double *row_factor; /* [n_out], of weight and bias; or NULL */
  const float *col_factor;  /* [n_in], of the weight: a scale of x folded into it; or NULL */
} assay_build_affine;
assay_value assay_build_add_affine(assay_build *b, const char *scope, assay_value x,
                                   const assay_build_affine *affine);

/* The Linear `name`.weight [n_out, n_in], and .bias if has_bias. */
assay_value assay_build_linear(assay_build *b, const char *scope, assay_value x, const char *name,
                               int64_t n_in, int64_t n_out, bool has_bias);
/* The configured activation. */
assay_value assay_build_activation(assay_build *b, const char *label, assay_value x);
/* x * sigmoid(x). */
assay_value assay_build_silu(assay_build *b, const char *scope, assay_value x);
/* LayerNorm over the last axis (n entries), epsilon 1e-5, with `name`.weight and .bias. */
assay_value assay_build_layer_norm(assay_build *b, const char *scope, assay_value x,
                                   const char *name, int64_t n);
/* x / sqrt(mean(x^2) + 1e-6) over the last axis, in FP32: an RMSNorm whose weight is folded
 * elsewhere. */
assay_value assay_build_rms_normalize(assay_build *b, const char *scope, assay_value x);
/* Linear, activation, LayerNorm(W), Linear: encoder and heads (models.md B.0). */
assay_value assay_build_mlp3(assay_build *b, const char *scope, assay_value x, const char *name,
                             int64_t n_in, int64_t n_out);
/* x + act(second(act(first(LN(x; norm))))), dims n -> W -> n: the feed-forward block of attention
 * layers and readouts. */
assay_value assay_build_feed_forward(assay_build *b, assay_value x, const char *norm,
                                     const char *sequence, const char *sequence_name, int64_t n);

/* ---- build_entry.c ---- */

/* The inputs and everything about them in assay_build. */
void assay_build_entry(assay_build *b);
/* The type of attention's scores in the block. */
assay_dtype assay_build_score_dtype(const assay_build *b);
/* Encoder `name` ("nn0"): [B,N,E] of the features. Scoped by name. */
assay_value assay_build_encoder(assay_build *b, const char *name);
/* Sum over the types of x [B,N,T] at the element's own type: [B,N,1]. */
assay_value assay_build_select_type(assay_build *b, const char *label, assay_value x);

/* ---- build_attention.c ---- */

/* Attention layer `layer` of the stack `name` ("backbone"); x0 is the stack's input, x [B,N,E]. */
assay_value assay_build_attention_layer(assay_build *b, const char *name, int64_t layer,
                                        assay_value x, assay_value x0);
/* The readout of task "classification" or "regression" on f [B,N,D]: [B,N,D]. */
assay_value assay_build_readout(assay_build *b, const char *task, assay_value f);

/* ---- build_hashing.c ---- */

/* Coordinates, ranks and tables' rows: b->sorting. */
void assay_build_start_sorting(assay_build *b);

/* Bucket order of a layer: perm [B,J,N] i64, event-local (models.md B.6). */
assay_value assay_build_permutation(assay_build *b, const char *layer_name);

/* ---- build_heptv2.c ---- */

/* HEPTv2 layer `layer` of the stack `name`; x [B,N,E]. The permutation becomes an output if asked
 * for. */
assay_value assay_build_heptv2_layer(assay_build *b, const char *name, int64_t layer,
                                     assay_value x);

/* ---- build_heads.c ---- */

/* Heads on the two representations [B,N,D], and the graph's outputs. */
void assay_build_heads(assay_build *b, assay_value classification, assay_value regression);

#endif
