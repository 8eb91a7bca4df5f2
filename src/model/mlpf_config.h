/* The configuration of the MLPF models (attention and HEPTv2): every field that changes the forward
 * pass, with the names and defaults that its users have. Read from the resolved JSON tree of
 * models.md A.1, from presets, and from options; written back into manifests and model metadata.
 *
 * This header is shared by the graph builder and the reference evaluator; nothing that computes is.
 */
#ifndef ASSAY_MODEL_MLPF_CONFIG_H
#define ASSAY_MODEL_MLPF_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

#define ASSAY_MLPF_ELEMTYPES_MAX 64
#define ASSAY_MLPF_N_TARGETS     5

typedef enum assay_mlpf_arch { ASSAY_MLPF_ATTENTION, ASSAY_MLPF_HEPTV2 } assay_mlpf_arch;
typedef enum assay_mlpf_encoding { ASSAY_MLPF_SPLIT, ASSAY_MLPF_JOINT } assay_mlpf_encoding;
typedef enum assay_mlpf_representation {
  ASSAY_MLPF_LAST,
  ASSAY_MLPF_CONCAT
} assay_mlpf_representation;
typedef enum assay_mlpf_backbone {
  ASSAY_MLPF_BACKBONE_SHARED,
  ASSAY_MLPF_BACKBONE_SPLIT
} assay_mlpf_backbone;

typedef enum assay_mlpf_regression {
  ASSAY_MLPF_DIRECT,
  ASSAY_MLPF_ADDITIVE,
  ASSAY_MLPF_MULTIPLICATIVE,
  ASSAY_MLPF_DIRECT_ELEMTYPE,
  ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT,
  ASSAY_MLPF_LINEAR,
  ASSAY_MLPF_LINEAR_ELEMTYPE,
} assay_mlpf_regression;

typedef enum assay_mlpf_activation {
  ASSAY_MLPF_ELU,
  ASSAY_MLPF_RELU,
  ASSAY_MLPF_RELU6,
  ASSAY_MLPF_LEAKYRELU,
  ASSAY_MLPF_GELU,
} assay_mlpf_activation;

/* Order of the regression targets everywhere: index into regression[] and the last axis of
 * momentum. */
typedef enum assay_mlpf_target {
  ASSAY_MLPF_PT,
  ASSAY_MLPF_ETA,
  ASSAY_MLPF_SIN_PHI,
  ASSAY_MLPF_COS_PHI,
  ASSAY_MLPF_ENERGY,
} assay_mlpf_target;

/* Which keys attention admits. UPSTREAM: as the training code's dense path (none masked in the
 * backbone or in HEPTv2's buckets; readouts masked). ALL: padded keys excluded everywhere
 * (models.md B.4, B.5, G). */
typedef enum assay_mlpf_key_mask {
  ASSAY_MLPF_KEY_MASK_ALL,
  ASSAY_MLPF_KEY_MASK_UPSTREAM
} assay_mlpf_key_mask;

/* STRICT: the polynomial of models.md D.5, the same bits everywhere. NATIVE: the platform's
 * arctangent (the evaluator: correctly rounded atan2 in FP32). */
typedef enum assay_mlpf_phi { ASSAY_MLPF_PHI_STRICT, ASSAY_MLPF_PHI_NATIVE } assay_mlpf_phi;

typedef struct assay_mlpf_config {
  assay_mlpf_arch arch;
  char dataset[64];    /* "cld", "cms", "clic" … as given; informative once F, C, T are set */
  int64_t input_dim;   /* F, at least 6 */
  int64_t num_classes; /* C */
  int64_t n_elemtypes; /* T */
  int64_t elemtypes[ASSAY_MLPF_ELEMTYPES_MAX];
  assay_mlpf_encoding input_encoding;
  assay_mlpf_representation representation;
  assay_mlpf_regression regression[ASSAY_MLPF_N_TARGETS]; /* by assay_mlpf_target */
  bool task_queries; /* as computed with: false when backbone_mode is split */
  assay_mlpf_backbone backbone_mode;
  int64_t num_convs; /* L, may be 0 */
  assay_mlpf_activation activation;
  int64_t num_heads;     /* H */
  int64_t head_dim;      /* d = E / H */
  int64_t embedding_dim; /* E */
  int64_t width;         /* W: equals E for attention */
  /* attention only */
  bool use_pre_layernorm;
  bool jagged_attention; /* use_jagged_attention: trained with padded keys excluded, so key_mask is
                            ALL */
  /* HEPTv2 only */
  bool learned_positions; /* pe_type == "learned" */
  int64_t block_size;     /* bs */
  int64_t n_hashes;       /* NH */
  int64_t num_regions;
  int64_t num_w_per_dist;
  double mlp_ratio;
  int64_t ff_hidden;       /* max(1, trunc(E * mlp_ratio)) */
  int64_t pad_to_multiple; /* 0: none */
  bool sort_data; /* the training's loader sorts each event by falling pt; no part of the model */
  /* how the export and the evaluator compute, chosen at export */
  assay_mlpf_key_mask key_mask;
  assay_mlpf_phi phi;
} assay_mlpf_config;

/* The configuration of a preset ("cld", "cms") for an architecture ("attention", "heptv2") with the
 * seeded study's values (models.md A.5): L=3, E=128, H=8. key_mask defaults to ALL for attention
 * and UPSTREAM for HEPTv2. "clic" is a preset too, with the numbers of "cld". Errors: ARGUMENT. */
assay_status assay_mlpf_config_init_preset(const char *arch, const char *preset,
                                           assay_mlpf_config *out,
                                           assay_error *err) ASSAY_NODISCARD;

/* From the JSON tree users have (hyperparameters.json, or {"dataset":…, "model":{…}}). Fields of
 * A.1 are checked strictly; known fields that do not affect the forward pass are ignored; unknown
 * or contradictory ones refused by name; out-of-scope ones refused by name with the reason. Absent
 * fields take their defaults, but the sub-configuration of the model's type must be there ({} will
 * do). `dataset` gives F, C and T, which may also be written and must then agree; without a
 * dataset, or with one that assay has no numbers for, all three must be written. The flat dict that
 * model_kwargs.pkl was before March 2026 is read, too: a split backbone without task queries. arch
 * may be NULL (the tree says) or must agree with the tree Errors: FORMAT, UNSUPPORTED. */
assay_status assay_mlpf_config_parse(const assay_json *tree, const char *arch,
                                     assay_mlpf_config *out, assay_error *err) ASSAY_NODISCARD;

/* Consistency of a configuration changed by options; recomputes the derived fields (head_dim,
 * ff_hidden, task_queries under split, width for attention). Errors: ARGUMENT, UNSUPPORTED. */
assay_status assay_mlpf_config_check(assay_mlpf_config *config, assay_error *err) ASSAY_NODISCARD;

/* Puts the resolved tree, such that assay_mlpf_config_parse gives the same configuration back
 * ("key_mask" and "phi" stand beside "model"). */
void assay_mlpf_config_put(const assay_mlpf_config *config, assay_json_builder *b, const char *key);

/* Names as in JSON: "attention", "direct-elemtype-split", "elu", "upstream", "strict", "sin_phi" …
 */
const char *assay_mlpf_arch_name(assay_mlpf_arch arch);
const char *assay_mlpf_regression_name(assay_mlpf_regression mode);
const char *assay_mlpf_activation_name(assay_mlpf_activation activation);
const char *assay_mlpf_key_mask_name(assay_mlpf_key_mask key_mask);
const char *assay_mlpf_phi_name(assay_mlpf_phi phi);
const char *assay_mlpf_target_name(assay_mlpf_target target);

/* Width D of the representation that readouts and heads see: E for `last`, max(L,1)*E for `concat`.
 */
int64_t assay_mlpf_config_repr_dim(const assay_mlpf_config *config);

/* Heads of a readout: H if it divides D, else the first of 8, 4, 2, 1 that does (models.md (32)).
 */
int64_t assay_mlpf_config_readout_heads(const assay_mlpf_config *config);

/* Attention operations that an export of this configuration has: backbone layers (attention
 * only; twice for a split backbone) and readouts. */
int64_t assay_mlpf_config_attention_ops(const assay_mlpf_config *config);

#endif
