/* What weights tell of their model, and that every way in which they do not fit is named at once,
 * with its cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/json.h"
#include "model/mlpf_derive.h"

static void parse(const char *json, assay_mlpf_config *out) {
  assay_error err = {0};
  assay_json *tree = NULL;
  assert_int_equal(assay_json_parse(json, strlen(json), &tree, &err), ASSAY_OK);
  if (assay_mlpf_config_parse(tree, NULL, out, &err)) fail_msg("%s: %s", json, err.text);
  assay_json_destroy(tree);
}

/* The table's tensors, zeroes. */
static void make_weights(const assay_mlpf_config *config, assay_tensor_map *out) {
  assay_error err = {0};
  assay_mlpf_params params = {0};
  assert_int_equal(assay_mlpf_params_init(config, &params, &err), ASSAY_OK);
  for (size_t i = 0; i < params.n; i++) {
    assay_tensor t = {0};
    const assay_mlpf_param *p = &params.items[i];
    assert_int_equal(assay_tensor_init(&t, ASSAY_DTYPE_F32, p->rank, p->dims, &err), ASSAY_OK);
    assert_int_equal(assay_tensor_map_add(out, p->name, &t, &err), ASSAY_OK);
  }
  assay_mlpf_params_reset(&params);
}

#define SMALL_ATTENTION "\"attention\": {\"num_convs\": 2, \"num_heads\": 2, \"head_dim\": 4}"
#define SMALL_HEPTV2                                                                               \
  "\"heptv2\": {\"num_convs\": 2, \"num_heads\": 2, \"embedding_dim\": 8, \"width\": 12}"

static const char *const configs[] = {
    "{\"dataset\": \"cld\", \"model\": {\"type\": \"attention\", " SMALL_ATTENTION "}}",
    "{\"dataset\": \"cms\", \"model\": {\"type\": \"attention\", \"task_queries\": false, "
    "\"input_encoding\": \"joint\", \"pt_mode\": \"linear-elemtype\", \"eta_mode\": \"additive\", "
    "\"energy_mode\": \"direct-elemtype\", " SMALL_ATTENTION "}}",
    "{\"dataset\": \"cld\", \"model\": {\"type\": \"attention\", \"backbone\": {\"mode\": "
    "\"split\"}, "
    "\"attention\": {\"num_heads\": 2, \"head_dim\": 4, \"use_pre_layernorm\": false}}}",
    "{\"dataset\": \"cms\", \"model\": {\"type\": \"heptv2\", " SMALL_HEPTV2 "}}",
    "{\"dataset\": \"cld\", \"model\": {\"type\": \"heptv2\", \"backbone\": {\"mode\": \"split\"}, "
    "\"heptv2\": {\"num_heads\": 2, \"embedding_dim\": 8, \"width\": 12, \"n_hashes\": 2, "
    "\"mlp_ratio\": 2.5, \"pe_type\": \"none\"}}}",
};

static void weights_tell_what_their_configuration_says(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(configs); i++) {
    assay_mlpf_config config;
    assay_tensor_map weights = {0};
    assay_mlpf_facts told, asked;
    assay_mlpf_differences d = {0};
    assay_error err = {0};
    parse(configs[i], &config);
    make_weights(&config, &weights);
    assay_mlpf_facts_of_weights(&weights, &told);
    assay_mlpf_facts_of_config(&config, &asked);
    for (int f = 0; f < ASSAY_MLPF_N_FACTS; f++)
      if (told.value[f] != asked.value[f])
        fail_msg("%s: %s is %lld by the weights, %lld by the configuration", configs[i],
                 assay_mlpf_fact_name((assay_mlpf_fact)f), (long long)told.value[f],
                 (long long)asked.value[f]);
    assert_int_equal(assay_mlpf_compare(&config, &weights, &d, &err), ASSAY_OK);
    assert_int_equal(d.n, 0);
    assay_mlpf_differences_reset(&d);
    assay_tensor_map_reset(&weights);
  }
}

/* --- differences
 * ------------------------------------------------------------------------------------- */

/* The tensor of that name put away, and put back as it should not be. */
static void replace(assay_tensor_map *weights, const char *name, const char *as, assay_dtype dtype,
                    int rank, int64_t d0, int64_t d1) {
  assay_tensor_map rest = {0};
  assay_error err = {0};
  const int64_t dims[] = {d0, d1};
  for (size_t i = 0; i < weights->n; i++) {
    assay_named_tensor *one = &weights->items[i];
    if (strcmp(one->name, name) != 0)
      assert_int_equal(assay_tensor_map_add(&rest, one->name, &one->tensor, &err), ASSAY_OK);
  }
  if (as != NULL) {
    assay_tensor t = {0};
    assert_int_equal(assay_tensor_init(&t, dtype, rank, dims, &err), ASSAY_OK);
    assert_int_equal(assay_tensor_map_add(&rest, as, &t, &err), ASSAY_OK);
  }
  assay_tensor_map_reset(weights);
  *weights = rest;
}

/* Weights of config 0, spoilt, against it; or those of config `of` against it. */
static const struct spoilt {
  const char *title;
  int of;
  const char *remove, *add;
  assay_dtype dtype;
  int64_t d0, d1; /* rank 1 if d1 is 0 */
  const char *line, *summary, *cause;
} spoilt_rows[] = {
    {"a tensor is missing", 0, "nn_pid.4.bias", NULL, ASSAY_DTYPE_F32, 0, 0,
     "missing: nn_pid.4.bias [6]", "1 tensor missing", ""},
    {"a tensor is too many", 0, "", "nn_pu.0.weight", ASSAY_DTYPE_F32, 3, 4,
     "not of this model: nn_pu.0.weight [3,4]", "1 tensor not of this model", "before 2025"},
    {"a tensor is renamed", 0, "nn_pid.4.bias", "nn_pid.4.biass", ASSAY_DTYPE_F32, 6, 0,
     "not of this model: nn_pid.4.biass [6]; 'nn_pid.4.bias' is missing, whose name is near",
     "1 tensor missing, 1 not of this model", "they were renamed"},
    {"a shape differs", 0, "nn_pid.4.bias", "nn_pid.4.bias", ASSAY_DTYPE_F32, 7, 0,
     "another shape: nn_pid.4.bias is [7], expected [6]", "1 tensor of another shape", ""},
    {"a type differs", 0, "nn_pid.4.bias", "nn_pid.4.bias", ASSAY_DTYPE_F64, 6, 0,
     "another type: nn_pid.4.bias is float64, expected float32", "1 tensor of another type", ""},
    {"half tensors", 0, "nn_pid.4.bias", "nn_pid.4.bias", ASSAY_DTYPE_F16, 6, 0,
     "another type: nn_pid.4.bias is float16, expected float32", "1 tensor of another type",
     "stored in 16 bits"},
    {"another detector", 1, "", NULL, ASSAY_DTYPE_F32, 0, 0,
     "another shape: nn0.0.weight is [8,55], expected [8,17]",
     "54 tensors missing, 18 not of this model, 7 of another shape",
     "task_queries is false by the weights, true by the configuration; input_dim is 55 by the "
     "weights, 17 by the configuration; num_classes is 9"},
    {"another backbone", 2, "", NULL, ASSAY_DTYPE_F32, 0, 0, "missing: nn0.0.weight [8,17]", "",
     "backbone.mode is split by the weights, shared by the configuration; num_convs is 3"},
    {"another architecture", 3, "", NULL, ASSAY_DTYPE_F32, 0, 0,
     "not of this model: backbone.0.w_q.weight [8,8]", "",
     "model.type is heptv2 by the weights, attention by the configuration"},
    {"half a wrapper", 0, "nn_pid.4.bias", "module.nn_pid.4.bias", ASSAY_DTYPE_F32, 6, 0,
     "missing: nn_pid.4.bias [6]", "1 tensor missing, 1 not of this model",
     "1 of 118 names begin with 'module.'"},
};

static void need_line(const assay_mlpf_differences *d, const struct spoilt *row) {
  for (size_t i = 0; i < d->n; i++)
    if (strcmp(d->items[i], row->line) == 0) return;
  for (size_t i = 0; i < d->n; i++) print_message("  %s\n", d->items[i]);
  fail_msg("%s: no line '%s'", row->title, row->line);
}

static void every_difference_is_listed_with_its_cause(void **state) {
  (void)state;
  assay_mlpf_config asked;
  parse(configs[0], &asked);
  for (size_t i = 0; i < N_OF(spoilt_rows); i++) {
    const struct spoilt *row = &spoilt_rows[i];
    assay_mlpf_config config;
    assay_tensor_map weights = {0};
    assay_mlpf_differences d = {0};
    assay_error err = {0};
    parse(configs[row->of], &config);
    make_weights(&config, &weights);
    replace(&weights, row->remove, row->add, row->dtype, row->d1 ? 2 : 1, row->d0, row->d1);
    assert_int_equal(assay_mlpf_compare(&asked, &weights, &d, &err), ASSAY_OK);
    need_line(&d, row);
    if (strstr(d.summary, row->summary) == NULL)
      fail_msg("%s: '%s'; expected '%s'", row->title, d.summary, row->summary);
    if (strstr(d.cause, row->cause) == NULL || (row->cause[0] == '\0' && d.cause[0] != '\0'))
      fail_msg("%s: '%s'; expected '%s'", row->title, d.cause, row->cause);
    assay_mlpf_differences_reset(&d);
    assay_tensor_map_reset(&weights);
  }
}

/* As Lightning and other wrappers save it. */
static void a_model_inside_of_another_one_is_told_by_its_prefix(void **state) {
  (void)state;
  assay_mlpf_config config;
  assay_tensor_map weights = {0}, inside = {0};
  assay_mlpf_differences d = {0};
  assay_error err = {0};
  parse(configs[0], &config);
  make_weights(&config, &weights);
  for (size_t i = 0; i < weights.n; i++) {
    char name[256];
    snprintf(name, sizeof name, "net.model.%s", weights.items[i].name);
    assert_int_equal(assay_tensor_map_add(&inside, name, &weights.items[i].tensor, &err), ASSAY_OK);
  }
  assert_int_equal(assay_mlpf_compare(&config, &inside, &d, &err), ASSAY_OK);
  assert_int_equal(d.by_kind[ASSAY_MLPF_MISSING], inside.n);
  assert_non_null(strstr(d.cause, "behind 'net.model.'"));
  assay_mlpf_differences_reset(&d);
  assay_tensor_map_reset(&weights);
  assay_tensor_map_reset(&inside);
}

static void weights_that_are_not_finite_are_refused(void **state) {
  (void)state;
  assay_mlpf_config config;
  assay_tensor_map weights = {0};
  assay_mlpf_differences d = {0};
  assay_error err = {0};
  parse(configs[0], &config);
  make_weights(&config, &weights);
  assay_tensor_f32(assay_tensor_map_find(&weights, "nn_pid.4.bias"))[2] = NAN;
  assay_tensor_f32(assay_tensor_map_find(&weights, "nn_pid.4.bias"))[5] = -INFINITY;
  assert_int_equal(assay_mlpf_compare(&config, &weights, &d, &err), ASSAY_OK);
  assert_int_equal(d.n, 1);
  assert_string_equal(d.items[0],
                      "not finite: nn_pid.4.bias holds 2 values that are NaN or infinite");
  assert_non_null(strstr(d.cause, "diverged"));
  assay_mlpf_differences_reset(&d);
  assay_tensor_map_reset(&weights);
}

static void survives_the_end_of_memory(void **state) {
  (void)state;
  assay_mlpf_config config, other;
  assay_tensor_map weights = {0};
  assay_status st = ASSAY_E_MEMORY;
  parse(configs[0], &config);
  parse(configs[2], &other);
  make_weights(&other, &weights);
  for (int64_t n = 0; st != ASSAY_OK; n += 7) {
    assay_mlpf_differences d = {0};
    assay_error err = {0};
    assay_alloc_fail_after(n);
    st = assay_mlpf_compare(&config, &weights, &d, &err);
    assay_alloc_fail_after(-1);
    if (st != ASSAY_OK) assert_int_equal(st, ASSAY_E_MEMORY);
    assay_mlpf_differences_reset(&d);
  }
  assay_tensor_map_reset(&weights);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(weights_tell_what_their_configuration_says),
      cmocka_unit_test(every_difference_is_listed_with_its_cause),
      cmocka_unit_test(a_model_inside_of_another_one_is_told_by_its_prefix),
      cmocka_unit_test(weights_that_are_not_finite_are_refused),
      cmocka_unit_test(survives_the_end_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
