#include "model/mlpf_plan_config.h"

#include <stddef.h>
#include <string.h>

#include "base/array.h"

static const char *const ATTENTION_NAMES[] = {
    [ASSAY_MLPF_DECOMPOSED] = "decomposed",
    [ASSAY_MLPF_ATTENTION24] = "attention24",
    [ASSAY_MLPF_MHA] = "mha",
};
static const char *const MASK_NAMES[] = {
    [ASSAY_MLPF_MASK_FLOAT] = "float",
    [ASSAY_MLPF_MASK_BOOL] = "bool",
    [ASSAY_MLPF_MASK_NONPAD] = "nonpad",
};
static const char *const KEYS[] = {"attention", "mask",    "encoder", "backbone",
                                   "scores",    "readout", "heads"};

const char *assay_mlpf_attention_form_name(assay_mlpf_attention_form form) {
  return ATTENTION_NAMES[form];
}

const char *assay_mlpf_mask_form_name(assay_mlpf_mask_form form) {
  return MASK_NAMES[form];
}

static bool is_f16(assay_dtype dtype) {
  return dtype == ASSAY_DTYPE_F16;
}

assay_status assay_mlpf_plan_config_init(assay_dtype dtype, assay_mlpf_attention_form attention,
                                         assay_mlpf_plan_config *out, assay_error *err) {
  if (dtype != ASSAY_DTYPE_F32 && !is_f16(dtype))
    return assay_fail(err, ASSAY_E_ARGUMENT, "no export in %s: float32 or float16",
                      assay_dtype_name(dtype));
  *out = (assay_mlpf_plan_config){
      .attention = attention,
      .mask = attention == ASSAY_MLPF_ATTENTION24 ? ASSAY_MLPF_MASK_BOOL : ASSAY_MLPF_MASK_FLOAT,
      .encoder = ASSAY_DTYPE_F32,
      .backbone = dtype,
      .scores = attention == ASSAY_MLPF_DECOMPOSED ? dtype : ASSAY_DTYPE_F32,
      .readout = dtype,
      .heads = ASSAY_DTYPE_F32,
  };
  return ASSAY_OK;
}

assay_status assay_mlpf_plan_config_check(const assay_mlpf_plan_config *plan, assay_error *err) {
  const assay_dtype dtypes[] = {plan->encoder, plan->backbone, plan->scores, plan->readout,
                                plan->heads};
  for (size_t i = 0; i < N_OF(dtypes); i++)
    if (dtypes[i] != ASSAY_DTYPE_F32 && !is_f16(dtypes[i]))
      return assay_fail(err, ASSAY_E_ARGUMENT, "plan: %s is %s, not float32 or float16",
                        KEYS[i + 2], assay_dtype_name(dtypes[i]));
  if (plan->mask != ASSAY_MLPF_MASK_FLOAT && plan->attention != ASSAY_MLPF_ATTENTION24)
    return assay_fail(err, ASSAY_E_ARGUMENT, "plan: %s attention takes no mask of the form %s",
                      ATTENTION_NAMES[plan->attention], MASK_NAMES[plan->mask]);
  if (is_f16(plan->scores) && !is_f16(plan->backbone) && !is_f16(plan->readout))
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "plan: scores are float16, but no block with attention is");
  return ASSAY_OK;
}

bool assay_mlpf_plan_config_is_f32(const assay_mlpf_plan_config *plan) {
  return !is_f16(plan->encoder) && !is_f16(plan->backbone) && !is_f16(plan->readout) &&
         !is_f16(plan->heads);
}

void assay_mlpf_plan_config_put(const assay_mlpf_plan_config *plan, assay_json_builder *b,
                                const char *key) {
  assay_json_begin_object(b, key);
  assay_json_put_string(b, "attention", ATTENTION_NAMES[plan->attention]);
  assay_json_put_string(b, "mask", MASK_NAMES[plan->mask]);
  assay_json_put_string(b, "encoder", assay_dtype_name(plan->encoder));
  assay_json_put_string(b, "backbone", assay_dtype_name(plan->backbone));
  assay_json_put_string(b, "scores", assay_dtype_name(plan->scores));
  assay_json_put_string(b, "readout", assay_dtype_name(plan->readout));
  assay_json_put_string(b, "heads", assay_dtype_name(plan->heads));
  assay_json_end(b);
}

static assay_status need_name(const assay_json *tree, const char *key, const char *const *names,
                              size_t n, int *out, assay_error *err) {
  const char *text;
  ASSAY_TRY(assay_json_need_string(tree, key, &text, err));
  for (size_t i = 0; i < n; i++) {
    if (strcmp(text, names[i]) == 0) {
      *out = (int)i;
      return ASSAY_OK;
    }
  }
  return assay_fail(err, ASSAY_E_FORMAT, "plan: %s is \"%s\", which is not known", key, text);
}

assay_status assay_mlpf_plan_config_parse(const assay_json *tree, assay_mlpf_plan_config *out,
                                          assay_error *err) {
  ASSAY_TRY(assay_json_only_keys(tree, KEYS, N_OF(KEYS), err));
  int attention, mask;
  ASSAY_TRY(need_name(tree, "attention", ATTENTION_NAMES, N_OF(ATTENTION_NAMES), &attention, err));
  ASSAY_TRY(need_name(tree, "mask", MASK_NAMES, N_OF(MASK_NAMES), &mask, err));
  assay_mlpf_plan_config plan = {.attention = (assay_mlpf_attention_form)attention,
                                 .mask = (assay_mlpf_mask_form)mask};
  assay_dtype *const dtypes[] = {&plan.encoder, &plan.backbone, &plan.scores, &plan.readout,
                                 &plan.heads};
  for (size_t i = 0; i < N_OF(dtypes); i++) {
    const char *text;
    ASSAY_TRY(assay_json_need_string(tree, KEYS[i + 2], &text, err));
    *dtypes[i] = assay_dtype_of_name(text);
  }
  if (assay_mlpf_plan_config_check(&plan, err) != ASSAY_OK) {
    if (err != NULL) err->status = ASSAY_E_FORMAT;
    return ASSAY_E_FORMAT;
  }
  *out = plan;
  return ASSAY_OK;
}
