/* What the names and shapes of a state dict tell about its model, and how it differs from what a
 * configuration asks for: everything at once, with the likeliest cause.
 * Source: models.md C.1, C.2. */
#ifndef ASSAY_MODEL_MLPF_DERIVE_H
#define ASSAY_MODEL_MLPF_DERIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"
#include "model/mlpf_config.h"
#include "model/mlpf_params.h"

/* What weights can tell. The heads of the attention model are not among it, nor are activations,
 * element types and block size: these come from a configuration alone. */
typedef enum assay_mlpf_fact {
  ASSAY_MLPF_FACT_ARCH,     /* an assay_mlpf_arch */
  ASSAY_MLPF_FACT_BACKBONE, /* an assay_mlpf_backbone */
  ASSAY_MLPF_FACT_LAYERS,   /* L */
  ASSAY_MLPF_FACT_TASK_QUERIES,
  ASSAY_MLPF_FACT_FINAL_NORMS,
  ASSAY_MLPF_FACT_INPUT_DIM,  /* F */
  ASSAY_MLPF_FACT_CLASSES,    /* C */
  ASSAY_MLPF_FACT_EMBEDDING,  /* E */
  ASSAY_MLPF_FACT_WIDTH,      /* W; HEPTv2 alone, as E tells it for attention */
  ASSAY_MLPF_FACT_ENCODED,    /* T*E, or E with joint encoding */
  ASSAY_MLPF_FACT_HEADS,      /* H; HEPTv2 alone */
  ASSAY_MLPF_FACT_HASHES,     /* NH; HEPTv2 alone */
  ASSAY_MLPF_FACT_FF,         /* hidden width of HEPTv2's feed-forward block */
  ASSAY_MLPF_FACT_POSITIONS,  /* HEPTv2: learned positions */
  ASSAY_MLPF_FACT_REGRESSION, /* and four more, by assay_mlpf_target: what networks there are */
  ASSAY_MLPF_N_FACTS = ASSAY_MLPF_FACT_REGRESSION + ASSAY_MLPF_N_TARGETS
} assay_mlpf_fact;

typedef struct assay_mlpf_facts {
  int64_t value[ASSAY_MLPF_N_FACTS]; /* -1: not told, or does not apply */
} assay_mlpf_facts;

/* weights: under the names that the model has them by now. */
void assay_mlpf_facts_of_weights(const assay_tensor_map *weights, assay_mlpf_facts *out);
void assay_mlpf_facts_of_config(const assay_mlpf_config *config, assay_mlpf_facts *out);

#define ASSAY_MLPF_FACT_TEXT_BYTES 96

/* "num_classes", "pt_mode", …; and a value of it as text: "9", "attention", "2 outputs", … */
const char *assay_mlpf_fact_name(assay_mlpf_fact fact);
const char *assay_mlpf_fact_text(assay_mlpf_fact fact, int64_t value,
                                 char out[ASSAY_MLPF_FACT_TEXT_BYTES]);

typedef enum assay_mlpf_difference_kind {
  ASSAY_MLPF_MISSING,
  ASSAY_MLPF_EXTRA,
  ASSAY_MLPF_SHAPE,
  ASSAY_MLPF_TYPE,
  ASSAY_MLPF_NOT_FINITE,
  ASSAY_MLPF_N_DIFFERENCE_KINDS
} assay_mlpf_difference_kind;

/* All zeroes is a valid empty one. */
typedef struct assay_mlpf_differences {
  char **items; /* [n] owned lines: "missing: nn_pid.4.bias [9]" */
  size_t n, cap;
  size_t by_kind[ASSAY_MLPF_N_DIFFERENCE_KINDS];
  char summary[160]; /* "2 tensors missing, 1 of another shape" */
  char cause[640];   /* the likeliest cause, or "" */
} assay_mlpf_differences;

/* Every tensor that is missing, of another shape or type than float32, or holds values that are not
 * finite, in the order of the table; then every one that the model does not have. Differences are
 * no failure: out->n says how many. *out must be empty. Errors: MEMORY, LIMIT. */
assay_status assay_mlpf_compare(const assay_mlpf_config *config, const assay_tensor_map *weights,
                                assay_mlpf_differences *out, assay_error *err) ASSAY_NODISCARD;
void assay_mlpf_differences_reset(assay_mlpf_differences *differences);

#endif
