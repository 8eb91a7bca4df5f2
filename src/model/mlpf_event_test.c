/* Events become rows as they are stored: which are kept, in which order, how wide, how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "model/mlpf_event.h"

#include "base/array.h"

static assay_mlpf_config preset(const char *arch, const char *name) {
  assay_mlpf_config config;
  assay_error err = {0};
  assert_int_equal(assay_mlpf_config_init_preset(arch, name, &config, &err), ASSAY_OK);
  return config;
}

/* x [n,k]: element type and pt as given, column c of row i is 100 i + c. */
static assay_tensor make_x(size_t n, int64_t k, const float (*type_pt)[2]) {
  assay_tensor x = {0};
  assay_error err = {0};
  const int64_t dims[] = {(int64_t)n, k};
  assert_int_equal(assay_tensor_init(&x, ASSAY_DTYPE_F32, 2, dims, &err), ASSAY_OK);
  for (size_t i = 0; i < n; i++) {
    float *row = assay_tensor_f32(&x) + i * (size_t)k;
    for (int64_t c = 2; c < k; c++) row[c] = 100.0f * (float)i + (float)c;
    row[0] = type_pt[i][0];
    row[1] = type_pt[i][1];
  }
  return x;
}

static const float event[][2] = {{1, 3}, {0, 9}, {10, 0}, {4, 7}, {-0.0f, 1}, {1, 3}, {10, 0}};

static void rows_of_type_zero_are_removed_and_others_left_alone(void **state) {
  (void)state;
  static const size_t kept[] = {0, 2, 3, 5, 6};
  const assay_mlpf_config config = preset("attention", "cms");
  assay_mlpf_event out = {0};
  assay_error err = {0};
  assay_tensor x = make_x(N_OF(event), 55, event);
  assert_int_equal(assay_mlpf_event_init(&config, "cms_pf_ttbar", &x, &out, &err), ASSAY_OK);
  assert_int_equal(out.rows.dims[0], 5);
  assert_int_equal(out.rows.dims[1], 55);
  for (size_t i = 0; i < N_OF(kept); i++)
    assert_memory_equal(assay_tensor_f32(&out.rows) + i * 55, assay_tensor_f32(&x) + kept[i] * 55,
                        55 * sizeof(float));
  assert_int_equal(out.n_removed, 2);
  assert_int_equal(out.n_without_pt, 2);
  assert_int_equal(out.n_added_columns, 0);
  assay_mlpf_event_reset(&out);
  assay_tensor_reset(&x);
}

static void sorting_is_by_falling_pt_later_rows_first(void **state) {
  (void)state;
  static const float given[][2] = {{1, 3}, {0, 9}, {1, NAN}, {4, 7}, {1, 3}, {2, -1}};
  static const float rows[] = {2, 3, 4, 0, 5};
  assay_mlpf_config config = preset("attention", "cld");
  assay_mlpf_event out = {0};
  assay_error err = {0};
  assay_tensor x = make_x(N_OF(given), 17, given);
  config.sort_data = true;
  assert_int_equal(assay_mlpf_event_init(&config, "cld_edm_ttbar_pf", &x, &out, &err), ASSAY_OK);
  assert_int_equal(out.rows.dims[0], N_OF(rows));
  for (size_t i = 0; i < N_OF(rows); i++)
    assert_true(assay_tensor_f32(&out.rows)[i * 17 + 5] == 100.0f * rows[i] + 5.0f);
  assert_int_equal(out.n_without_pt, 0);
  assay_mlpf_event_reset(&out);
  assay_tensor_reset(&x);
}

static void narrow_events_get_columns_of_zeroes(void **state) {
  (void)state;
  const assay_mlpf_config config = preset("attention", "cms");
  assay_mlpf_event out = {0};
  assay_error err = {0};
  assay_tensor x = make_x(2, 42, event);
  assert_int_equal(assay_mlpf_event_init(&config, "cms_pf_qcd", &x, &out, &err), ASSAY_OK);
  assert_int_equal(out.rows.dims[0], 1);
  assert_int_equal(out.rows.dims[1], 55);
  assert_int_equal(out.n_added_columns, 13);
  assert_true(assay_tensor_f32(&out.rows)[41] == 41.0f && assay_tensor_f32(&out.rows)[42] == 0.0f);
  assay_mlpf_event_reset(&out);
  assay_tensor_reset(&x);
}

static void an_event_may_be_empty(void **state) {
  (void)state;
  const assay_mlpf_config config = preset("attention", "cld");
  assay_mlpf_event out = {0};
  assay_error err = {0};
  assay_tensor x = make_x(1, 17, event + 1);
  assert_int_equal(assay_mlpf_event_init(&config, "cld_x", &x, &out, &err), ASSAY_OK);
  assert_int_equal(out.rows.dims[0], 0);
  assert_int_equal(out.n_removed, 1);
  assay_mlpf_event_reset(&out);
  assay_tensor_reset(&x);
}

static void refuses_what_is_no_event_of_the_model(void **state) {
  (void)state;
  static const struct {
    const char *preset, *dataset;
    int64_t columns;
    const char *says;
  } rows[] = {
      {"cld", "cms_pf_ttbar", 55, "take a dataset of the model's detector"},
      {"cms", "cld_edm_qq_pf", 17, "has 17 columns, but the configuration's input_dim is 55"},
      {"cms", "cms_pf_ttbar", 56, "take a version of the dataset with these columns"},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    const assay_mlpf_config config = preset("attention", rows[i].preset);
    assay_mlpf_event out = {0};
    assay_error err = {0};
    assay_tensor x = make_x(2, rows[i].columns, event);
    const assay_status st = assay_mlpf_event_init(&config, rows[i].dataset, &x, &out, &err);
    if (st != ASSAY_E_FORMAT || strstr(err.text, rows[i].says) == NULL)
      fail_msg("row %zu: %s '%s'; expected '%s'", i, assay_status_name(st), err.text, rows[i].says);
    assay_tensor_reset(&x);
  }
}

static void padding_is_the_least_that_fits(void **state) {
  (void)state;
  static const struct {
    const char *arch;
    int64_t block, multiple, n, expected;
  } rows[] = {
      {"attention", 0, 0, 7, 7},     {"attention", 0, 0, 0, 1},     {"attention", 0, 128, 7, 128},
      {"heptv2", 100, 0, 1, 100},    {"heptv2", 100, 0, 300, 300},  {"heptv2", 100, 0, 301, 400},
      {"heptv2", 100, 128, 1, 3200}, {"heptv2", 64, 128, 129, 256}, {"heptv2", 100, 100, 0, 100}};
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_mlpf_config config = preset(rows[i].arch, "cld");
    config.block_size = rows[i].block;
    config.pad_to_multiple = rows[i].multiple;
    const int64_t found = assay_mlpf_padded_length(&config, rows[i].n);
    if (found != rows[i].expected)
      fail_msg("row %zu: %lld; expected %lld", i, (long long)found, (long long)rows[i].expected);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_type_zero_are_removed_and_others_left_alone),
      cmocka_unit_test(sorting_is_by_falling_pt_later_rows_first),
      cmocka_unit_test(narrow_events_get_columns_of_zeroes),
      cmocka_unit_test(an_event_may_be_empty),
      cmocka_unit_test(refuses_what_is_no_event_of_the_model),
      cmocka_unit_test(padding_is_the_least_that_fits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
