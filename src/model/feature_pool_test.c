/* The built-in pool looks like detector elements, and batches repeat its rows as documented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "model/feature_pool.h"

static void preset(const char *name, assay_mlpf_config *out) {
  assay_error err = {0};
  if (assay_mlpf_config_init_preset("attention", name, out, &err)) fail_msg("%s", err.text);
}

static bool is_known_type(const assay_mlpf_config *config, float type) {
  for (int64_t t = 0; t < config->n_elemtypes; t++)
    if ((float)config->elemtypes[t] == type) return true;
  return false;
}

static void check_row(const assay_mlpf_config *config, const float *row, size_t i) {
  const double pt = (double)row[1], eta = (double)row[2], sine = (double)row[3],
               cosine = (double)row[4], energy = (double)row[5];
  const bool track = row[0] == 1.0f || row[0] == 6.0f;
  if (!is_known_type(config, row[0])) fail_msg("row %zu has type %g", i, (double)row[0]);
  if (!(pt >= 0.2 && pt <= 300.0)) fail_msg("row %zu has pt %g", i, pt);
  if (!(fabs(eta) <= (track ? 3.0 : 5.0))) fail_msg("row %zu has eta %g", i, eta);
  /* three roundings to FP32 of numbers up to 1 */
  if (!(fabs(sine * sine + cosine * cosine - 1.0) < 2e-7)) fail_msg("row %zu leaves the circle", i);
  const double momentum = pt * cosh(eta);
  if (!(energy >= momentum * (1 - 1e-6) && energy <= 501.0 &&
        energy * energy - momentum * momentum < 0.02 + 1e-5 * momentum * momentum))
    fail_msg("row %zu: energy %g with pt*cosh(eta) %g", i, energy, momentum);
  for (int64_t f = 6; f < config->input_dim; f++) assert_true(fabsf(row[f]) <= 2.0f);
}

static void builtin_rows_look_like_detector_elements(void **state) {
  (void)state;
  static const char *const PRESETS[] = {"cld", "cms"};
  for (size_t p = 0; p < 2; p++) {
    assay_error err = {0};
    assay_mlpf_config config;
    assay_feature_pool pool = {0};
    size_t n_tracks = 0, n_hard = 0, n_soft = 0;
    preset(PRESETS[p], &config);
    assert_int_equal(assay_feature_pool_init_builtin(&config, &pool, &err), ASSAY_OK);
    assert_int_equal(pool.rows.dims[0], ASSAY_POOL_BUILTIN_ROWS);
    assert_int_equal(pool.rows.dims[1], config.input_dim);
    for (size_t i = 0; i < ASSAY_POOL_BUILTIN_ROWS; i++) {
      const float *row = assay_tensor_f32(&pool.rows) + i * (size_t)config.input_dim;
      check_row(&config, row, i);
      n_tracks += row[0] == 1.0f;
      n_soft += row[1] < 2.0f;
      n_hard += row[1] > 20.0f;
    }
    assert_in_range(n_tracks, 350, 520);
    assert_in_range(n_soft, 700, 970); /* a steep spectrum … */
    assert_in_range(n_hard, 1, 30);    /* … with a tail */
    assay_feature_pool_reset(&pool);
  }
}

/* The bytes themselves: bundles made on different machines must hold the same cases. */
static void builtin_rows_are_the_same_everywhere(void **state) {
  (void)state;
  static const struct {
    const char *preset, *sha256;
  } POOLS[] = {
      {"cld", "a8b3a9a91dd3d92b480bd91a3f9680bd64c4fc07642753ce509ce74cfc156137"},
      {"cms", "2c942ab7388c3f32c59c88ce0bd824f6b6e109b4350ad7548803ea88b1e146e5"},
  };
  for (size_t p = 0; p < 2; p++) {
    assay_error err = {0};
    assay_mlpf_config config;
    assay_feature_pool pool = {0};
    preset(POOLS[p].preset, &config);
    assert_int_equal(assay_feature_pool_init_builtin(&config, &pool, &err), ASSAY_OK);
    assert_string_equal(pool.sha256, POOLS[p].sha256);
    assay_feature_pool_reset(&pool);
  }
}

static void batches_repeat_rows_and_pad_with_positive_zero(void **state) {
  (void)state;
  assay_error err = {0};
  assay_mlpf_config config;
  assay_feature_pool pool = {0};
  assay_tensor x = {0}, mask = {0};
  preset("cld", &config);
  assert_int_equal(assay_feature_pool_init_builtin(&config, &pool, &err), ASSAY_OK);
  assert_int_equal(assay_feature_pool_fill(&pool, 3, 1500, &x, &mask, &err), ASSAY_OK);
  assert_int_equal(assay_feature_pool_valid(1500), 1350);
  const float *rows = assay_tensor_f32(&pool.rows), *values = assay_tensor_f32(&x);
  for (size_t e = 0; e < 3; e++) {
    for (size_t i = 0; i < 1500; i++) {
      const float *row = values + (e * 1500 + i) * 17;
      assert_true(assay_tensor_f32(&mask)[e * 1500 + i] == (i < 1350 ? 1.0f : 0.0f));
      if (i < 1350) {
        assert_memory_equal(row, rows + (e * ASSAY_POOL_EVENT_STRIDE + i) % 1000 * 17, 17 * 4);
      } else {
        for (size_t f = 0; f < 17; f++) assert_true(row[f] == 0.0f && !signbit(row[f]));
      }
    }
  }
  assay_tensor_reset(&x);
  assay_tensor_reset(&mask);
  assert_int_equal(assay_feature_pool_fill(&pool, 1, 0, &x, &mask, &err), ASSAY_E_ARGUMENT);
  assay_feature_pool_reset(&pool);
}

static void a_tenth_of_each_event_is_padding(void **state) {
  (void)state;
  static const int64_t CASES[][2] = {{1, 1}, {9, 9}, {10, 9}, {15, 14}, {100, 90}, {128, 116}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
    assert_int_equal(assay_feature_pool_valid(CASES[i][0]), CASES[i][1]);
}

/* Rows given by hand: [2,17] of ones, then one thing wrong. */
static void rows_of_a_file_are_checked(void **state) {
  (void)state;
  assay_mlpf_config config;
  preset("cld", &config);
  for (int wrong = 0; wrong < 5; wrong++) {
    static const char *const SAYS[] = {NULL, "float64", "[34]", "X[1,3] is nan", "X[1,0] is 0"};
    assay_error err = {0};
    assay_tensor x = {0};
    assay_feature_pool pool = {0};
    const int64_t dims[] = {2, 17};
    assert_int_equal(assay_tensor_init(&x, ASSAY_DTYPE_F32, 2, dims, &err), ASSAY_OK);
    for (size_t i = 0; i < x.n_elems; i++) assay_tensor_f32(&x)[i] = 1.0f;
    if (wrong == 1) x.dtype = ASSAY_DTYPE_F64;
    if (wrong == 2) x.rank = 1, x.dims[0] = 34;
    if (wrong == 3) assay_tensor_f32(&x)[17 + 3] = NAN;
    if (wrong == 4) assay_tensor_f32(&x)[17] = 0.0f;
    const assay_status st = assay_feature_pool_init_rows(&config, &x, "mine.npz", &pool, &err);
    assert_int_equal(st, wrong ? ASSAY_E_FORMAT : ASSAY_OK);
    if (wrong && strstr(err.text, SAYS[wrong]) == NULL) fail_msg("'%s'", err.text);
    if (!wrong) assert_string_equal(pool.source, "pool 'mine.npz': 2 rows");
    assay_feature_pool_reset(&pool);
    assay_tensor_reset(&x);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(builtin_rows_look_like_detector_elements),
      cmocka_unit_test(builtin_rows_are_the_same_everywhere),
      cmocka_unit_test(batches_repeat_rows_and_pad_with_positive_zero),
      cmocka_unit_test(a_tenth_of_each_event_is_padding),
      cmocka_unit_test(rows_of_a_file_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
