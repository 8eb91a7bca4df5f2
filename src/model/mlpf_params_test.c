/* The parameter table against real state_dicts, and the strict check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "model/mlpf_params.h"

static void preset(const char *arch, const char *name, assay_mlpf_config *out) {
  assay_error err = {0};
  if (assay_mlpf_config_init_preset(arch, name, out, &err)) fail_msg("%s", err.text);
}

static void tables_equal_the_state_dicts_in_order(void **state) {
  (void)state;
  assay_error err = {0};
  assay_json *seeded = NULL;
  if (assay_json_read("testdata/seeded.json", 1 << 20, &seeded, &err)) fail_msg("%s", err.text);
  assert_int_equal(assay_json_len(seeded), 6);
  for (size_t m = 0; m < assay_json_len(seeded); m++) {
    const char *name = assay_json_key_at(seeded, m);
    const assay_json *entry = assay_json_value_at(seeded, m);
    const assay_json *tensors = assay_json_get(entry, "tensors");
    assay_mlpf_config config;
    assay_mlpf_params params = {0};
    if (assay_mlpf_config_parse(assay_json_get(entry, "config"), NULL, &config, &err))
      fail_msg("%s: %s", name, err.text);
    if (assay_mlpf_params_init(&config, &params, &err)) fail_msg("%s: %s", name, err.text);
    assert_int_equal(params.n, assay_json_len(tensors));
    assert_int_equal(params.n_values, assay_json_int(assay_json_get(entry, "num_values")));
    for (size_t i = 0; i < params.n; i++) {
      const assay_json *shape = assay_json_at(assay_json_value_at(tensors, i), 0);
      assert_string_equal(params.items[i].name, assay_json_key_at(tensors, i));
      assert_int_equal(params.items[i].rank, assay_json_len(shape));
      for (int d = 0; d < params.items[i].rank; d++)
        assert_int_equal(params.items[i].dims[d], assay_json_int(assay_json_at(shape, (size_t)d)));
    }
    assay_mlpf_params_reset(&params);
  }
  assay_json_destroy(seeded);
}

/* models.md C.1: 2 149 940 values in HEPTv2 CLD, 2 148 338 of them trainable. */
static void dead_and_frozen_tensors_are_marked(void **state) {
  (void)state;
  assay_error err = {0};
  assay_mlpf_config config;
  assay_mlpf_params params = {0};
  preset("heptv2", "cld", &config);
  assert_int_equal(assay_mlpf_params_init(&config, &params, &err), ASSAY_OK);
  int64_t trainable = 0;
  size_t unused = 0;
  for (size_t i = 0; i < params.n; i++) {
    const assay_mlpf_param *p = &params.items[i];
    int64_t values = 1;
    for (int d = 0; d < p->rank; d++) values *= p->dims[d];
    if (p->trainable) trainable += values;
    if (!p->used) unused++;
  }
  assert_int_equal(trainable, 2148338);
  assert_int_equal(unused, 3 * 5); /* e2lsh.alpha/beta, e2lsh_new.beta, w_rpe.weight/bias a layer */
  assay_mlpf_params_reset(&params);
}

static void every_variant_has_the_tensors_of_its_configuration(void **state) {
  (void)state;
  assay_error err = {0};
  assay_mlpf_config config;
  assay_mlpf_params params = {0};
  preset("attention", "cld", &config);
  config.backbone_mode = ASSAY_MLPF_BACKBONE_SPLIT;
  config.input_encoding = ASSAY_MLPF_JOINT;
  config.representation = ASSAY_MLPF_CONCAT;
  config.regression[ASSAY_MLPF_PT] = ASSAY_MLPF_DIRECT;
  config.regression[ASSAY_MLPF_ETA] = ASSAY_MLPF_LINEAR_ELEMTYPE;
  config.num_convs = 2;
  assert_int_equal(assay_mlpf_config_check(&config, &err), ASSAY_OK);
  assert_int_equal(assay_mlpf_params_init(&config, &params, &err), ASSAY_OK);
  static const struct {
    const char *name;
    int rank;
    int64_t dims[2];
  } EXPECTED[] = {
      {"_nn0_reg.4.weight", 2, {128, 128}},     {"_backbone_reg.1.seq.2.bias", 1, {128}},
      {"classification_norm.weight", 1, {256}}, {"nn_pt.nn.4.weight", 2, {1, 128}},
      {"nn_eta.nn2.4.weight", 2, {2, 128}},     {"nn_eta.nn1.0.weight", 2, {128, 256}}};
  for (size_t e = 0; e < sizeof EXPECTED / sizeof EXPECTED[0]; e++) {
    size_t i = 0;
    while (i < params.n && strcmp(params.items[i].name, EXPECTED[e].name) != 0) i++;
    if (i == params.n) fail_msg("'%s' is not in the table", EXPECTED[e].name);
    assert_int_equal(params.items[i].rank, EXPECTED[e].rank);
    for (int d = 0; d < EXPECTED[e].rank; d++)
      assert_int_equal(params.items[i].dims[d], EXPECTED[e].dims[d]);
  }
  for (size_t i = 0; i < params.n; i++) assert_null(strstr(params.items[i].name, "query"));
  assay_mlpf_params_reset(&params);
}

static void a_model_too_large_to_store_is_refused(void **state) {
  (void)state;
  assay_error err = {0};
  assay_mlpf_config config;
  assay_mlpf_params params = {0};
  preset("attention", "cld", &config);
  config.num_heads = 512;
  config.head_dim = 128;
  assert_int_equal(assay_mlpf_config_check(&config, &err), ASSAY_OK);
  assert_int_equal(assay_mlpf_params_init(&config, &params, &err), ASSAY_E_LIMIT);
  assert_null(params.items);
}

static void the_check_names_what_is_missing_extra_or_wrong(void **state) {
  (void)state;
  assay_error err = {0};
  assay_mlpf_config config;
  assay_mlpf_params params = {0};
  assay_tensor_map weights = {0};
  preset("attention", "cld", &config);
  config.num_convs = 0;
  config.task_queries = false;
  assert_int_equal(assay_mlpf_params_init(&config, &params, &err), ASSAY_OK);
  assert_int_equal(assay_mlpf_seed_weights(&config, 1, &weights, NULL, &err), ASSAY_OK);
  assert_int_equal(assay_mlpf_params_check(&params, &weights, &err), ASSAY_OK);

  assay_tensor extra = {0};
  const int64_t dims[] = {2};
  assert_int_equal(assay_tensor_init(&extra, ASSAY_DTYPE_F64, 1, dims, &err), ASSAY_OK);
  assert_int_equal(assay_tensor_map_add(&weights, "nn_pu.0.bias", &extra, &err), ASSAY_OK);
  weights.items[0].tensor.dims[0] = 64; /* nn0.0.weight */
  weights.items[1].tensor.dtype = ASSAY_DTYPE_I32;
  assert_int_equal(assay_mlpf_params_check(&params, &weights, &err), ASSAY_E_MISMATCH);
  assert_non_null(strstr(err.text, "3 places"));
  assert_non_null(strstr(err.text, "'nn0.0.weight' is [64,17], expected [128,17]"));
  assert_non_null(strstr(err.text, "'nn0.0.bias' is int32, expected float32"));
  assert_non_null(strstr(err.text, "'nn_pu.0.bias' is not a tensor of this model"));

  assay_tensor_map nothing = {0};
  err = (assay_error){0};
  assert_int_equal(assay_mlpf_params_check(&params, &nothing, &err), ASSAY_E_MISMATCH);
  assert_non_null(strstr(err.text, "'nn0.0.weight' is missing"));
  assert_non_null(strstr(err.text, "more"));
  assay_tensor_map_reset(&weights);
  assay_mlpf_params_reset(&params);
}

static void running_out_of_memory_is_an_error_and_leaks_nothing(void **state) {
  (void)state;
  assay_mlpf_config config;
  preset("attention", "cld", &config);
  config.num_convs = 1;
  assay_status st = ASSAY_E_MEMORY;
  for (int64_t n = 0; st == ASSAY_E_MEMORY; n += 1 + n / 4) {
    assay_error err = {0};
    assay_tensor_map weights = {0};
    assay_alloc_fail_after(n);
    st = assay_mlpf_seed_weights(&config, 1, &weights, NULL, &err);
    assay_alloc_fail_after(-1);
    assert_true(st == ASSAY_OK || st == ASSAY_E_MEMORY);
    assay_tensor_map_reset(&weights);
  }
  assert_int_equal(st, ASSAY_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_equal_the_state_dicts_in_order),
      cmocka_unit_test(dead_and_frozen_tensors_are_marked),
      cmocka_unit_test(every_variant_has_the_tensors_of_its_configuration),
      cmocka_unit_test(a_model_too_large_to_store_is_refused),
      cmocka_unit_test(the_check_names_what_is_missing_extra_or_wrong),
      cmocka_unit_test(running_out_of_memory_is_an_error_and_leaks_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
