#include "model/mlpf_plan_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void keeps_encoder_and_heads_in_f32(void **state) {
  (void)state;
  assay_mlpf_plan_config plan;
  assert_int_equal(assay_mlpf_plan_config_init(ASSAY_DTYPE_F16, ASSAY_MLPF_DECOMPOSED, &plan, NULL),
                   ASSAY_OK);
  assert_int_equal(plan.encoder, ASSAY_DTYPE_F32);
  assert_int_equal(plan.backbone, ASSAY_DTYPE_F16);
  assert_int_equal(plan.scores, ASSAY_DTYPE_F16);
  assert_int_equal(plan.heads, ASSAY_DTYPE_F32);
  assert_int_equal(plan.mask, ASSAY_MLPF_MASK_FLOAT);
  assert_false(assay_mlpf_plan_config_is_f32(&plan));
  assert_int_equal(
      assay_mlpf_plan_config_init(ASSAY_DTYPE_F16, ASSAY_MLPF_ATTENTION24, &plan, NULL), ASSAY_OK);
  assert_int_equal(plan.scores, ASSAY_DTYPE_F32);
  assert_int_equal(plan.mask, ASSAY_MLPF_MASK_BOOL);
  assert_int_equal(assay_mlpf_plan_config_init(ASSAY_DTYPE_BF16, ASSAY_MLPF_MHA, &plan, NULL),
                   ASSAY_E_ARGUMENT);
}

static void refuses_contradictions(void **state) {
  (void)state;
  assay_mlpf_plan_config plan;
  assert_int_equal(assay_mlpf_plan_config_init(ASSAY_DTYPE_F32, ASSAY_MLPF_MHA, &plan, NULL),
                   ASSAY_OK);
  assert_int_equal(assay_mlpf_plan_config_check(&plan, NULL), ASSAY_OK);
  assert_true(assay_mlpf_plan_config_is_f32(&plan));
  plan.mask = ASSAY_MLPF_MASK_NONPAD;
  assert_int_equal(assay_mlpf_plan_config_check(&plan, NULL), ASSAY_E_ARGUMENT);
  plan.mask = ASSAY_MLPF_MASK_FLOAT;
  plan.scores = ASSAY_DTYPE_F16;
  assert_int_equal(assay_mlpf_plan_config_check(&plan, NULL), ASSAY_E_ARGUMENT);
}

static void is_read_back_as_written(void **state) {
  (void)state;
  assay_mlpf_plan_config plan, back;
  assert_int_equal(
      assay_mlpf_plan_config_init(ASSAY_DTYPE_F16, ASSAY_MLPF_ATTENTION24, &plan, NULL), ASSAY_OK);
  plan.mask = ASSAY_MLPF_MASK_NONPAD;
  assay_json_builder *b = assay_json_builder_create();
  assay_mlpf_plan_config_put(&plan, b, NULL);
  assay_buf text = {0};
  assert_int_equal(assay_json_builder_finish(b, &text, NULL), ASSAY_OK);
  assay_json_builder_destroy(b);
  assay_json *tree;
  assert_int_equal(assay_json_parse(text.data, text.size_bytes, &tree, NULL), ASSAY_OK);
  assert_int_equal(assay_mlpf_plan_config_parse(tree, &back, NULL), ASSAY_OK);
  assay_json_destroy(tree);
  assay_buf_reset(&text);
  assert_memory_equal(&plan, &back, sizeof plan);

  const char *bad = "{\"attention\": \"mha\", \"mask\": \"bool\", \"encoder\": \"float32\", "
                    "\"backbone\": \"float32\", \"scores\": \"float32\", \"readout\": \"float32\", "
                    "\"heads\": \"float32\"}";
  assert_int_equal(assay_json_parse(bad, strlen(bad), &tree, NULL), ASSAY_OK);
  assay_error err = {0};
  assert_int_equal(assay_mlpf_plan_config_parse(tree, &back, &err), ASSAY_E_FORMAT);
  assert_string_equal(err.text, "plan: mha attention takes no mask of the form bool");
  assay_json_destroy(tree);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keeps_encoder_and_heads_in_f32),
      cmocka_unit_test(refuses_contradictions),
      cmocka_unit_test(is_read_back_as_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
