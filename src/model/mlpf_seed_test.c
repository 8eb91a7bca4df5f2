/* Seeded weights against those that PyTorch made, tensor by tensor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "model/mlpf_params.h"

static void check_tensors(const char *name, const assay_json *tensors,
                          const assay_tensor_map *weights) {
  assay_error err = {0};
  assert_int_equal(weights->n, assay_json_len(tensors));
  for (size_t i = 0; i < weights->n; i++) {
    const char *expected = assay_json_string(assay_json_at(assay_json_value_at(tensors, i), 1));
    const assay_tensor *t = &weights->items[i].tensor;
    char hex[ASSAY_SHA256_HEX_BYTES];
    assert_int_equal(assay_sha256_bytes(t->data, t->size_bytes, hex, &err), ASSAY_OK);
    if (strncmp(hex, expected, 16) != 0)
      fail_msg("%s: '%s' has hash %.16s, expected %s", name, weights->items[i].name, hex, expected);
  }
}

static void check_hash(const char *name, const assay_tensor_map *weights, const char *skip_suffix,
                       const char *expected) {
  assay_error err = {0};
  char hex[65];
  assert_int_equal(assay_tensor_map_sha256(weights, skip_suffix, hex, &err), ASSAY_OK);
  if (strcmp(hex, expected) != 0) fail_msg("%s: hash %s, expected %s", name, hex, expected);
}

static void weights_equal_those_of_torch_bit_for_bit(void **state) {
  (void)state;
  assay_error err = {0};
  assay_json *seeded = NULL;
  if (assay_json_read("testdata/seeded.json", 1 << 20, &seeded, &err)) fail_msg("%s", err.text);
  assert_int_equal(assay_json_len(seeded), 6);
  for (size_t m = 0; m < assay_json_len(seeded); m++) {
    const char *name = assay_json_key_at(seeded, m);
    const assay_json *entry = assay_json_value_at(seeded, m);
    const uint64_t seed = (uint64_t)assay_json_int(assay_json_get(entry, "seed"));
    assay_mlpf_config config;
    assay_tensor_map weights = {0};
    float next = -1.0f;
    if (assay_mlpf_config_parse(assay_json_get(entry, "config"), NULL, &config, &err))
      fail_msg("%s: %s", name, err.text);
    if (assay_mlpf_seed_weights(&config, seed, &weights, &next, &err))
      fail_msg("%s: %s", name, err.text);
    check_tensors(name, assay_json_get(entry, "tensors"), &weights);
    check_hash(name, &weights, NULL, assay_json_string(assay_json_get(entry, "sha256")));
    check_hash(name, &weights, "_query",
               assay_json_string(assay_json_get(entry, "sha256_no_queries")));
    assert_true((double)next ==
                strtod(assay_json_string(assay_json_get(entry, "next_rand")), NULL));
    assay_tensor_map_reset(&weights);
  }
  assay_json_destroy(seeded);
}

/* What the two training runs started from, by their own manifests. */
static void weights_of_training_configurations_equal_those_of_torch(void **state) {
  (void)state;
  static const struct {
    const char *file, *sha256;
  } RUNS[] = {
      {"testdata/attention3_hyperparameters.json",
       "b9ceb6ed2cfae94bba82b7937b04c1d2884199651f8d99f6431377ab3ab46e99"},
      {"testdata/heptv2_small_hyperparameters.json",
       "b3e25f6ffa68948affbca48dd7e17440e2a11f8e6f84e9cb0ab543b188f44ee4"},
  };
  for (size_t i = 0; i < sizeof RUNS / sizeof RUNS[0]; i++) {
    assay_error err = {0};
    assay_json *tree = NULL;
    assay_mlpf_config config;
    assay_tensor_map weights = {0};
    if (assay_json_read(RUNS[i].file, 1 << 20, &tree, &err)) fail_msg("%s", err.text);
    if (assay_mlpf_config_parse(tree, NULL, &config, &err)) fail_msg("%s", err.text);
    if (assay_mlpf_seed_weights(&config, 42, &weights, NULL, &err)) fail_msg("%s", err.text);
    check_hash(RUNS[i].file, &weights, NULL, RUNS[i].sha256);
    assay_tensor_map_reset(&weights);
    assay_json_destroy(tree);
  }
}

static void every_variant_can_be_seeded(void **state) {
  (void)state;
  for (int arch = 0; arch < 2; arch++) {
    for (int mode = ASSAY_MLPF_DIRECT; mode <= ASSAY_MLPF_LINEAR_ELEMTYPE; mode++) {
      assay_error err = {0};
      assay_mlpf_config config;
      assay_mlpf_params params = {0};
      assay_tensor_map weights = {0};
      assert_int_equal(
          assay_mlpf_config_init_preset(arch ? "heptv2" : "attention", "cld", &config, &err),
          ASSAY_OK);
      for (int t = 0; t < ASSAY_MLPF_N_TARGETS; t++)
        config.regression[t] = (assay_mlpf_regression)mode;
      config.backbone_mode = mode % 2 ? ASSAY_MLPF_BACKBONE_SPLIT : ASSAY_MLPF_BACKBONE_SHARED;
      config.input_encoding = mode % 3 ? ASSAY_MLPF_SPLIT : ASSAY_MLPF_JOINT;
      config.representation = mode < 4 ? ASSAY_MLPF_CONCAT : ASSAY_MLPF_LAST;
      config.num_convs = mode % 4;
      config.num_heads = 2;
      config.embedding_dim = 32;
      config.n_hashes = 1;
      assert_int_equal(assay_mlpf_config_check(&config, &err), ASSAY_OK);
      if (assay_mlpf_seed_weights(&config, 3, &weights, NULL, &err)) fail_msg("%s", err.text);
      assert_int_equal(assay_mlpf_params_init(&config, &params, &err), ASSAY_OK);
      assert_int_equal(assay_mlpf_params_check(&params, &weights, &err), ASSAY_OK);
      assay_mlpf_params_reset(&params);
      assay_tensor_map_reset(&weights);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(weights_equal_those_of_torch_bit_for_bit),
      cmocka_unit_test(weights_of_training_configurations_equal_those_of_torch),
      cmocka_unit_test(every_variant_can_be_seeded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
