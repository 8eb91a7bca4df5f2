/* How an export computes the model: the precision of each block and the form of its attention
 * (models.md D.2 to D.6). Part of the model's description: the graph builder and the reference
 * evaluator each follow it by themselves; nothing that computes is here.
 *
 * What an FP16 block means, for both. It takes its inputs converted to FP16 once, and gives its
 * output converted to FP32: between blocks, values are FP32. Its weights are those of the model
 * rounded to nearest even. Each operation in it (matrix product, addition of a bias or of a mask,
 * activation, LayerNorm with weight and bias, multiplication) takes FP16 and gives FP16: computed
 * in FP32 from its operands, sums accumulated in FP32, and rounded once, to nearest even. A
 * constant factor that is not a power of two is an operation of its own; a power of two is folded
 * into weights and rounds nothing. So 1/sqrt(d), where d is no power of 4 and attention is
 * decomposed, multiplies the scores before the mask is added; fused kernels scale inside, in FP32.
 * What does not depend on the input is not computed in FP16: the readouts' queries (LayerNorm,
 * projection, and 1/sqrt(d) where it is folded) are rounded once.
 *
 * FP32 always, whatever the plan says: features and mask as they enter; azimuth, hash keys, ranks
 * and permutations (B.6), positions (15); the residual stream, with what is added to it converted
 * to FP32 first; the norms before attention and feed-forward, and the feed-forward blocks of layers
 * and readouts; inside attention: HEPTv2's norms of queries and keys with their weights and
 * 1/sqrt(d) (rounded after that, once), the softmax and its log-sum-exp (from scores converted to
 * FP32 to weights converted back), and the merging of HEPTv2's hashes (rounded before its
 * out_linear); the norms (33); what becomes of the heads' raw outputs (B.8: exponential, logarithm,
 * squares, skip connections); and the outputs.
 *
 * Why the residual stream and feed-forward blocks: of the seeded attention model on a provider that
 * rounds every FP16 result, all of the layers in FP16 misses the tolerance by a factor of 2
 * (largest error 4e-3, most of it from rounding residuals), a residual stream in FP32 by 1.5
 * (2e-3), attention alone in FP16 passes at 0.85 (1e-3). Attention is what takes the time at N of
 * some thousands. */
#ifndef ASSAY_MODEL_MLPF_PLAN_CONFIG_H
#define ASSAY_MODEL_MLPF_PLAN_CONFIG_H

#include <stdbool.h>

#include "base/dtype.h"
#include "base/json.h"
#include "base/status.h"
#include "model/mlpf_config.h"

typedef enum assay_mlpf_attention_form {
  ASSAY_MLPF_DECOMPOSED,  /* MatMul, Add, Softmax, MatMul; opset 20 */
  ASSAY_MLPF_ATTENTION24, /* the standard's Attention; opset 24 */
  ASSAY_MLPF_MHA,         /* com.microsoft MultiHeadAttention; opset 20 */
} assay_mlpf_attention_form;

/* How attention is told which keys to admit. Without padded keys to exclude (key mask `upstream`
 * in the backbone) no mask is given at all. */
typedef enum assay_mlpf_mask_form {
  ASSAY_MLPF_MASK_FLOAT,  /* added to the scores: 0 or -10000 */
  ASSAY_MLPF_MASK_BOOL,   /* attention24: true admits */
  ASSAY_MLPF_MASK_NONPAD, /* attention24: the number of keys that are no padding, [B]; right only
                             where the valid elements come first */
} assay_mlpf_mask_form;

typedef struct assay_mlpf_plan_config {
  assay_mlpf_attention_form attention; /* of all attention but the buckets of HEPTv2 */
  assay_mlpf_mask_form mask;
  /* each F32 or F16 */
  assay_dtype encoder;  /* the MLP3s of B.2 */
  assay_dtype backbone; /* attention of layers, from its input projections to its output projection:
                           (11); (16) from u on, to (21)'s out_linear */
  assay_dtype scores;   /* q k^T / sqrt(d) plus mask, between product and softmax, wherever the
                           attention's block is FP16: F16 decomposed, F32 in a fused kernel. Not of
                           HEPTv2's buckets, which are always decomposed: theirs have the type of
                           the backbone */
  assay_dtype readout;  /* attention of readouts: (32), the same way */
  assay_dtype heads;    /* the MLP3s of B.8 */
} assay_mlpf_plan_config;

/* The plan of --dtype and --attention: FP32 throughout, or FP16 with encoder and heads in FP32
 * (D.6). The default mask: FLOAT, but BOOL for attention24. dtype: F32 or F16. Errors: ARGUMENT. */
assay_status assay_mlpf_plan_config_init(assay_dtype dtype, assay_mlpf_attention_form attention,
                                         assay_mlpf_plan_config *out,
                                         assay_error *err) ASSAY_NODISCARD;

/* Contradictions: a mask form that the attention form does not have, a dtype that is neither. F16
 * scores without any FP16 attention are one too. Errors: ARGUMENT. */
assay_status assay_mlpf_plan_config_check(const assay_mlpf_plan_config *plan,
                                          assay_error *err) ASSAY_NODISCARD;

bool assay_mlpf_plan_config_is_f32(const assay_mlpf_plan_config *plan);

/* {"attention": "mha", "mask": "float", "encoder": "float32", …}; parse is strict, and takes what
 * put gives. Errors: FORMAT. */
void assay_mlpf_plan_config_put(const assay_mlpf_plan_config *plan, assay_json_builder *b,
                                const char *key);
assay_status assay_mlpf_plan_config_parse(const assay_json *tree, assay_mlpf_plan_config *out,
                                          assay_error *err) ASSAY_NODISCARD;

/* Names as on the command line: "decomposed", "attention24", "mha"; "float", "bool", "nonpad". */
const char *assay_mlpf_attention_form_name(assay_mlpf_attention_form form);
const char *assay_mlpf_mask_form_name(assay_mlpf_mask_form form);

#endif
