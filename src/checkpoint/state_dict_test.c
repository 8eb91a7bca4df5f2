#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "base/alloc.h"
#include "checkpoint/state_dict.h"

static void the_models_tensors_are_found(void **state) {
  (void)state;
  static const struct {
    const char *path, *found_at;
    size_t n;
    const char *name; /* one of them */
  } rows[] = {
      {"testdata/torch/checkpoint-01_real_tiny.pth", "model_state_dict", 94, "nn0.0.weight"},
      {"testdata/torch/mlpf_tiny_state_dict.pth", "", 94, "nn_pid.4.bias"},
      {"testdata/torch/v2.6/particleflow_like_checkpoint.pth", "model_state_dict", 11, "l3.weight"},
      {"testdata/torch/v1.13/legacy_state_dict.pth", "", 11, "bn.num_batches_tracked"},
      {"testdata/safetensors/no_float8.safetensors", "", 8, "bf"},
      {"testdata/odd/repeated_key.pth", "", 1, "w"},
      {"testdata/torch/v2.15/objects_p4.pth", "state_dict", 1, "w"},
      {"testdata/torch/v2.15/tied.pth", "", 4, "2.weight"},
      {"testdata/torch/v2.15/dict_subclass.pth", "model_state_dict", 2, "b"},
      {"testdata/torch/v2.15/opt_AdamW.pth", "model_state_dict", 13, "1.running_mean"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assay_state_dict dict = {0};
    assay_error err = {0};
    if (assay_state_dict_read(rows[i].path, &dict, &err)) fail_msg("%s", err.text);
    assert_string_equal(dict.found_at, rows[i].found_at);
    assert_string_equal(dict.stripped, "");
    if (dict.tensors.n != rows[i].n) fail_msg("%s: %zu tensors", rows[i].path, dict.tensors.n);
    assert_non_null(assay_tensor_map_find(&dict.tensors, rows[i].name));
    assert_int_equal(dict.n_dropped + dict.n_renamed, 0);
    assay_state_dict_reset(&dict);
  }
}

static void the_real_checkpoint_and_its_state_dict_hold_the_same(void **state) {
  (void)state;
  assay_state_dict a = {0}, b = {0};
  assert_int_equal(assay_state_dict_read("testdata/torch/checkpoint-01_real_tiny.pth", &a, NULL),
                   0);
  assert_int_equal(assay_state_dict_read("testdata/torch/mlpf_tiny_state_dict.pth", &b, NULL), 0);
  assert_int_equal(a.tensors.n, b.tensors.n);
  for (size_t i = 0; i < a.tensors.n; i++) {
    assert_string_equal(a.tensors.items[i].name, b.tensors.items[i].name);
    assert_int_equal(a.tensors.items[i].tensor.dtype, ASSAY_DTYPE_F32);
    assert_true(assay_tensor_same_shape(&a.tensors.items[i].tensor, &b.tensors.items[i].tensor));
  }
  assay_state_dict_reset(&a);
  assay_state_dict_reset(&b);
}

static void prefixes_old_names_and_training_entries_are_taken_care_of(void **state) {
  (void)state;
  static const char *const names[] = {"_nn0_id.0.weight", "_backbone_reg.2.norm0.bias",
                                      "regression_norm.weight", "nn_pid.0.bias"};
  assay_state_dict dict = {0};
  assay_error err = {0};
  if (assay_state_dict_read("testdata/odd/prefixes.pth", &dict, &err)) fail_msg("%s", err.text);
  assert_string_equal(dict.found_at, "state_dict");
  assert_string_equal(dict.stripped, "module._orig_mod.module.");
  assert_int_equal(dict.tensors.n, 4);
  for (size_t i = 0; i < 4; i++) assert_string_equal(dict.tensors.items[i].name, names[i]);
  assert_int_equal(dict.n_dropped, 1);
  assert_string_equal(dict.dropped[0], "task_loss_weighter.log_vars");
  assert_int_equal(dict.n_renamed, 3);
  assert_string_equal(dict.renamed[2].from, "final_norm_reg.weight");
  assert_string_equal(dict.renamed[2].to, "regression_norm.weight");
  assay_state_dict_reset(&dict);
}

static void prefixes_stay_unless_every_name_has_them(void **state) {
  (void)state;
  assay_state_dict dict = {0};
  assert_int_equal(assay_state_dict_read("testdata/odd/some_prefixes.pth", &dict, NULL), ASSAY_OK);
  assert_string_equal(dict.stripped, "");
  assert_string_equal(dict.tensors.items[0].name, "module.a");
  assert_string_equal(dict.tensors.items[1].name, "b.module.c");
  assay_state_dict_reset(&dict);
}

static void what_is_no_state_dict_is_refused_by_name(void **state) {
  (void)state;
  static const struct {
    const char *path;
    assay_status status;
    const char *part;
  } rows[] = {
      {"testdata/torch/v2.6/full_module.pth", ASSAY_E_UNSUPPORTED,
       "a whole object of class 'torch.nn.modules.container.Sequential'"},
      {"testdata/torch/v2.6/bare_tensor.pth", ASSAY_E_UNSUPPORTED, "a dict expected at the root"},
      {"testdata/torch/v2.6/u16u32u64.pth", ASSAY_E_UNSUPPORTED, "tensor 'f8e4': float8_e4m3fn"},
      {"testdata/odd/list_root.pth", ASSAY_E_UNSUPPORTED, "found a list"},
      {"testdata/odd/not_a_tensor.pth", ASSAY_E_UNSUPPORTED,
       "entry 'lr' of the state dict is an integer, not a tensor"},
      {"testdata/odd/nothing.pth", ASSAY_E_UNSUPPORTED, "nor is there a 'model_state_dict'"},
      {"testdata/odd/empty.pth", ASSAY_E_UNSUPPORTED, "the state dict is empty"},
      {"testdata/odd/int_keys.pth", ASSAY_E_UNSUPPORTED, "a state dict with an integer as key"},
      {"testdata/odd/both_names.pth", ASSAY_E_ARGUMENT, "become '_nn0_id.0.weight'"},
      {"testdata/odd/short_storage.pth", ASSAY_E_FORMAT, "12 bytes in the file"},
      {"testdata/odd/many_names.pth", ASSAY_E_LIMIT, "tensors have too many names each"},
      {"testdata/nothing_here.pth", ASSAY_E_IO, "No such file"},
      {"testdata", ASSAY_E_IO, "folder"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assay_state_dict dict = {0};
    assay_error err = {0};
    assay_status st = assay_state_dict_read(rows[i].path, &dict, &err);
    if (st != rows[i].status || strstr(err.text, rows[i].part) == NULL) {
      fail_msg("%s: %s %s", rows[i].path, assay_status_name(st), err.text);
    }
  }
}

static void maps_from_elsewhere_are_cleaned_too(void **state) {
  (void)state;
  assay_tensor_map map = {0};
  assay_state_dict dict = {0};
  assay_tensor tensor;
  assert_int_equal(assay_tensor_init(&tensor, ASSAY_DTYPE_F32, 0, NULL, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_map_add(&map, "_orig_mod.conv_id.0.x", &tensor, NULL), ASSAY_OK);
  assert_int_equal(assay_state_dict_of_map(&map, &dict, NULL), ASSAY_OK);
  assert_int_equal(map.n, 0);
  assert_string_equal(dict.stripped, "_orig_mod.");
  assert_string_equal(dict.tensors.items[0].name, "_backbone_id.0.x");
  assay_state_dict_reset(&dict);
}

static void survives_every_failing_allocation(void **state) {
  (void)state;
  static const char *const names[] = {"testdata/odd/prefixes.pth",
                                      "testdata/safetensors/no_float8.safetensors"};
  for (size_t k = 0; k < 2; k++) {
    for (int64_t n = 0;; n++) {
      assay_state_dict dict = {0};
      assay_alloc_fail_after(n);
      assay_status st = assay_state_dict_read(names[k], &dict, NULL);
      assay_alloc_fail_after(-1);
      assay_state_dict_reset(&dict);
      if (st == ASSAY_OK) break;
      if (st != ASSAY_E_MEMORY)
        fail_msg("%s at %lld: %s", names[k], (long long)n, assay_status_name(st));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_models_tensors_are_found),
      cmocka_unit_test(the_real_checkpoint_and_its_state_dict_hold_the_same),
      cmocka_unit_test(prefixes_old_names_and_training_entries_are_taken_care_of),
      cmocka_unit_test(prefixes_stay_unless_every_name_has_them),
      cmocka_unit_test(what_is_no_state_dict_is_refused_by_name),
      cmocka_unit_test(maps_from_elsewhere_are_cleaned_too),
      cmocka_unit_test(survives_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
