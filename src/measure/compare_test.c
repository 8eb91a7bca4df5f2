/* Tests of compare.c: each wrong pass of other tools (numpy's broadcasting, NaN losses, infinite
 * references …), and the figures of small cases worked by hand. */
#include "measure/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

static assay_tensor view(assay_dtype dtype, int rank, const int64_t *dims, const void *data) {
  assay_tensor t = {0};
  assay_error err = {0};
  union { /* tensors hold writable memory; the comparison only reads it */
    const void *constant;
    void *writable;
  } bytes = {.constant = data};
  assert_int_equal(assay_tensor_init_view(&t, dtype, rank, dims, bytes.writable, &err), ASSAY_OK);
  return t;
}

static assay_tensor view_1d(assay_dtype dtype, int64_t n, const void *data) {
  return view(dtype, 1, &n, data);
}

static assay_compare_result compare(const assay_compare_spec *spec, const assay_tensor *got,
                                    const assay_tensor *want) {
  assay_compare_result r;
  assay_error err = {0};
  assay_status st = assay_compare_run(spec, got, want, &r, &err);
  if (st) fail_msg("%s: %s", assay_status_name(st), err.text);
  assert_int_equal(r.passed, r.reason[0] == '\0');
  return r;
}

static assay_compare_result compare_f32(const assay_compare_spec *spec, int64_t n, const float *got,
                                        const float *want) {
  assay_tensor a = view_1d(ASSAY_DTYPE_F32, n, got);
  assay_tensor b = view_1d(ASSAY_DTYPE_F32, n, want);
  return compare(spec, &a, &b);
}

static void assert_fails(const assay_compare_result *r, const char *part) {
  assert_false(r->passed);
  if (strstr(r->reason, part) == NULL) fail_msg("reason '%s' lacks '%s'", r->reason, part);
}

static const assay_compare_spec usual = {.atol = 1e-3, .rtol = 1e-3};

/* One element against another, as FP32. */
static void accepts_what_is_within_and_nothing_else(void **state) {
  (void)state;
  static const float nan_f = NAN, inf = INFINITY;
  const struct {
    float got, want;
    double atol, rtol;
    bool passes;
    const char *reason;
  } cases[] = {
      {1.0015f, 1, 1e-3, 1e-3, true, ""}, /* the two limits add up */
      {1.0021f, 1, 1e-3, 1e-3, false, "over tolerance"},
      {0.9985f, 1, 1e-3, 1e-3, true, ""},
      {1.5f, 1, 0.5, 0, true, ""}, /* the limit itself is within */
      {1, 1, 0, 0, true, ""},
      {0x1.000002p0f, 1, 0, 0, false, "over tolerance"},
      {0, -0.0f, 0, 0, true, ""},
      {0, inf, 1e-3, 1e-3, false, "finite, NaN or infinite on one side only"},
      {-inf, inf, 1e-3, 1e-3, false, "on one side only"},
      {inf, 3e38f, 1e-3, 1e-3, false, "on one side only"},
      {inf, inf, 1e-3, 1e-3, true, ""},
      {-inf, -inf, 0, 0, true, ""},
      {nan_f, 1, 1e-3, 1e-3, false, "on one side only"},
      {1, nan_f, 1e-3, 1e-3, false, "on one side only"},
      {nan_f, inf, 1e-3, 1e-3, false, "on one side only"},
      {nan_f, nan_f, 1e-3, 1e-3, false, "NaN on both sides"},
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    assay_compare_spec spec = {.atol = cases[i].atol, .rtol = cases[i].rtol};
    assay_compare_result r = compare_f32(&spec, 1, &cases[i].got, &cases[i].want);
    if (r.passed != cases[i].passes) fail_msg("row %zu: %d, '%s'", i, r.passed, r.reason);
    if (!cases[i].passes) assert_fails(&r, cases[i].reason);
  }
}

static void rejects_an_output_that_is_nan_throughout(void **state) {
  (void)state;
  const float got[4] = {NAN, NAN, NAN, NAN};
  const float want[4] = {1, 2, 3, 4};
  assay_compare_result r = compare_f32(&usual, 4, got, want);
  assert_fails(&r, "4 of 4 elements are finite, NaN or infinite on one side only, first at 0");
  assert_int_equal(r.n_nan_got, 4);
  assert_int_equal(r.n_nan_want, 0);
  assert_int_equal(r.n_nonfinite_got, 4);
  assert_int_equal(r.n_finite_pairs, 0);
  assert_true(isinf(r.needed_atol));
  assert_true(isinf(r.needed_rtol));
  assert_int_equal(r.max_abs_at.index, -1);
}

static void finds_one_wrong_element_among_a_million(void **state) {
  (void)state;
  enum { N = 1000000, WRONG = 765432 };
  float *got = calloc(N, sizeof *got);
  float *want = calloc(N, sizeof *want);
  assert_non_null(got);
  assert_non_null(want);
  got[WRONG] = 5;
  assay_compare_result r = compare_f32(&usual, N, got, want);
  assert_fails(&r, "1 of 1000000 elements over tolerance, worst at 765432: got 5, reference 0");
  assert_int_equal(r.n_over, 1);
  assert_int_equal(r.max_abs_at.index, WRONG);
  assert_true(r.max_abs == 5);
  assert_true(r.mae == 5e-6);
  free(got);
  free(want);
}

/* Tools that judge by a norm pass this: one large exact value hides 999 that are off by 100 %. */
static void finds_wrong_elements_beside_a_large_exact_one(void **state) {
  (void)state;
  float got[1000], want[1000];
  for (size_t i = 0; i < 1000; ++i) {
    want[i] = 0.01f;
    got[i] = 0.02f;
  }
  want[500] = got[500] = 1e6f;
  assay_compare_result r = compare_f32(&usual, 1000, got, want);
  assert_fails(&r, "999 of 1000 elements over tolerance");
  assert_true(r.rel_l2 < 1e-6);
}

static void never_broadcasts(void **state) {
  (void)state;
  static const float ones[25] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const struct {
    int got_rank, want_rank;
    int64_t got[3], want[3];
    const char *reason;
  } cases[] = {
      {1, 2, {5}, {5, 1}, "shape is [5], reference [5,1]"},
      {1, 2, {5}, {1, 5}, "shape is [5], reference [1,5]"},
      {0, 1, {0}, {5}, "shape is [], reference [5]"},
      {1, 0, {0}, {0}, "shape is [0], reference []"},  /* an empty array against a scalar */
      {1, 1, {1}, {3}, "shape is [1], reference [3]"}, /* three samples against one */
      {2, 2, {2, 3}, {3, 2}, "shape is [2,3], reference [3,2]"},
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    assay_tensor a = view(ASSAY_DTYPE_F32, cases[i].got_rank, cases[i].got, ones);
    assay_tensor b = view(ASSAY_DTYPE_F32, cases[i].want_rank, cases[i].want, ones);
    assay_compare_result r = compare(&usual, &a, &b);
    assert_fails(&r, cases[i].reason);
    assert_false(r.same_shape);
    assert_int_equal(r.n_compared, 0);
  }
}

static void types_must_agree(void **state) {
  (void)state;
  static const uint8_t bytes[32] = {0};
  const struct {
    assay_dtype got, want;
    bool same;
  } cases[] = {
      {ASSAY_DTYPE_F32, ASSAY_DTYPE_F32, true},   {ASSAY_DTYPE_F32, ASSAY_DTYPE_F64, true},
      {ASSAY_DTYPE_F16, ASSAY_DTYPE_F64, true},   {ASSAY_DTYPE_BF16, ASSAY_DTYPE_F64, true},
      {ASSAY_DTYPE_F64, ASSAY_DTYPE_F32, false},  {ASSAY_DTYPE_F16, ASSAY_DTYPE_F32, false},
      {ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16, false}, {ASSAY_DTYPE_F32, ASSAY_DTYPE_I64, false},
      {ASSAY_DTYPE_I64, ASSAY_DTYPE_F64, false},  {ASSAY_DTYPE_I32, ASSAY_DTYPE_I64, false},
      {ASSAY_DTYPE_BOOL, ASSAY_DTYPE_U8, false},  {ASSAY_DTYPE_U64, ASSAY_DTYPE_I64, false},
      {ASSAY_DTYPE_BOOL, ASSAY_DTYPE_BOOL, true}, {ASSAY_DTYPE_C64, ASSAY_DTYPE_C64, false},
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    assay_tensor a = view_1d(cases[i].got, 2, bytes);
    assay_tensor b = view_1d(cases[i].want, 2, bytes);
    assay_compare_result r = compare(&usual, &a, &b);
    if (r.same_dtype != cases[i].same) fail_msg("row %zu: '%s'", i, r.reason);
    if (!cases[i].same) assert_fails(&r, "type ");
  }
}

static void integers_are_compared_exactly(void **state) {
  (void)state;
  static const int32_t i32_min = INT32_MIN, i32_zero = 0;
  static const int64_t i64_min = INT64_MIN, i64_max = INT64_MAX, near_max = INT64_MAX - 1;
  static const int64_t odd = 9007199254740993, even = 9007199254740992; /* 2^53 + 1 and 2^53 */
  static const uint64_t u64_max = UINT64_MAX, u64_zero = 0, u64_near = UINT64_MAX - 1;
  static const uint8_t yes = 1, no = 0;
  static const int8_t i8_min = -128, i8_max = 127;
  const struct {
    assay_dtype dtype;
    const void *got, *want;
    double distance;
    const char *reason;
  } cases[] = {
      {ASSAY_DTYPE_I32, &i32_min, &i32_zero, 2147483648.0, "got -2147483648, reference 0"},
      {ASSAY_DTYPE_I64, &i64_min, &i64_max, 18446744073709551615.0,
       "got -9223372036854775808, reference 9223372036854775807"},
      {ASSAY_DTYPE_I64, &near_max, &i64_max, 1, "got 9223372036854775806"},
      {ASSAY_DTYPE_I64, &odd, &even, 1, "got 9007199254740993, reference 9007199254740992"},
      {ASSAY_DTYPE_U64, &u64_max, &u64_zero, 18446744073709551615.0, "got 18446744073709551615"},
      {ASSAY_DTYPE_U64, &u64_near, &u64_max, 1, "reference 18446744073709551615"},
      {ASSAY_DTYPE_BOOL, &yes, &no, 1, "got 1, reference 0"},
      {ASSAY_DTYPE_U8, &no, &yes, 1, "got 0, reference 1"},
      {ASSAY_DTYPE_I8, &i8_min, &i8_max, 255, "got -128, reference 127"},
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    assay_tensor a = view_1d(cases[i].dtype, 1, cases[i].got);
    assay_tensor b = view_1d(cases[i].dtype, 1, cases[i].want);
    assay_compare_spec loose = {.atol = 1e6, .rtol = 1e6}; /* not asked for: has no effect */
    assay_compare_result r = compare(&loose, &a, &b);
    assert_fails(&r, cases[i].reason);
    assert_true(r.max_abs == cases[i].distance);
    assert_int_equal(r.n_over, 1);
    assert_true(compare(&loose, &a, &a).passed);
  }
}

static void integers_take_a_tolerance_only_when_asked(void **state) {
  (void)state;
  const int64_t got[2] = {1000, INT64_MAX - 3};
  const int64_t want[2] = {1001, INT64_MAX};
  assay_tensor a = view_1d(ASSAY_DTYPE_I64, 2, got);
  assay_tensor b = view_1d(ASSAY_DTYPE_I64, 2, want);
  assay_compare_spec spec = {.atol = 2, .tolerant_integers = true};
  assay_compare_result r = compare(&spec, &a, &b);
  assert_fails(&r, "1 of 2 elements over tolerance, worst at 1");
  spec.atol = 3;
  assert_true(compare(&spec, &a, &b).passed);
  const uint8_t yes = 1, no = 0;
  assay_tensor t = view_1d(ASSAY_DTYPE_BOOL, 1, &yes);
  assay_tensor f = view_1d(ASSAY_DTYPE_BOOL, 1, &no);
  r = compare(&spec, &t, &f);
  assert_fails(&r, "not equal");
}

static void compares_the_small_float_types(void **state) {
  (void)state;
  const uint16_t half_one[2] = {0x3c00, 0x0001}; /* 1 and the smallest denormal */
  const uint16_t half_two[2] = {0x4000, 0x0001};
  assay_tensor a = view_1d(ASSAY_DTYPE_F16, 2, half_one);
  assay_tensor b = view_1d(ASSAY_DTYPE_F16, 2, half_two);
  assay_compare_result r = compare(&usual, &a, &b);
  assert_fails(&r, "worst at 0: got 1, reference 2");
  assert_int_equal(r.n_denormal_got, 1);
  const uint16_t brain[2] = {0x3f80, 0x7fc0}; /* 1 and NaN */
  const uint16_t other[2] = {0x3f80, 0x3f80};
  a = view_1d(ASSAY_DTYPE_BF16, 2, brain);
  b = view_1d(ASSAY_DTYPE_BF16, 2, other);
  r = compare(&usual, &a, &b);
  assert_fails(&r, "1 of 2 elements are finite, NaN or infinite on one side only, first at 1");
  const double truth[2] = {1.0000001, 0x1p-24};
  a = view_1d(ASSAY_DTYPE_F16, 2, half_one);
  b = view_1d(ASSAY_DTYPE_F64, 2, truth);
  r = compare(&usual, &a, &b);
  assert_true(r.passed);
  assert_true(r.max_abs > 9e-8 && r.max_abs < 1.1e-7);
  assert_int_equal(r.n_denormal_want, 0); /* 2^-24 is a normal float64 */
}

static void float64_near_its_end_is_judged_by_value(void **state) {
  (void)state;
  const double got[1] = {1.7e308}, want[1] = {-1.7e308}, near[1] = {1.69e308};
  assay_tensor a = view_1d(ASSAY_DTYPE_F64, 1, got);
  assay_tensor b = view_1d(ASSAY_DTYPE_F64, 1, want);
  assay_compare_spec spec = {.rtol = 1.5}; /* the tolerance overflows float64 too */
  assay_compare_result r = compare(&spec, &a, &b);
  assert_fails(&r, "over tolerance");
  b = view_1d(ASSAY_DTYPE_F64, 1, near);
  assert_true(compare(&spec, &a, &b).passed);
}

static void nothing_compared_is_not_a_pass(void **state) {
  (void)state;
  assay_tensor empty = view_1d(ASSAY_DTYPE_F32, 0, NULL);
  assay_compare_result r = compare(&usual, &empty, &empty);
  assert_fails(&r, "nothing to compare");
  const float x[4] = {0};
  const float none_valid[2] = {0, 0};
  assay_compare_spec spec = usual;
  spec.valid = none_valid;
  spec.n_positions = 2;
  r = compare_f32(&spec, 4, x, x);
  assert_fails(&r, "nothing to compare: no valid element");
  assert_int_equal(r.n_padding, 4);
}

static void exact_means_equal_and_equal_signs_of_zero(void **state) {
  (void)state;
  assay_compare_spec spec = {.atol = 1, .rtol = 1, .exact = true};
  const float zero[2] = {0, 1}, minus_zero[2] = {-0.0f, 1}, near[2] = {0, 0x1.000002p0f};
  assert_true(compare_f32(&spec, 2, zero, zero).passed);
  assay_compare_result r = compare_f32(&spec, 2, minus_zero, zero);
  assert_fails(&r, "1 of 2 zeros have another sign, first at 0");
  r = compare_f32(&spec, 2, near, zero);
  assert_fails(&r, "1 of 2 elements are not equal, first at 1: got 1.00000012, reference 1");
}

static void without_a_valid_position_padding_decides(void **state) {
  (void)state;
  static const float nothing_valid[] = {0, 0};
  const int64_t dims[] = {2, 2}, none[] = {2, 0};
  const float zeros[] = {0, 0, 0, 0}, want[] = {1, 2, 3, 4}, not_zero[] = {0, 0, 1, 0};
  const float minus[] = {0, 0, -0.0f, 0};
  const struct {
    const float *got;
    const int64_t *dims;
    bool demanded;
    const char *reason; /* NULL: passes */
  } cases[] = {
      {zeros, dims, true, NULL},
      {not_zero, dims, true, "1 of 4 padded elements are not +0, first at 2: got 1"},
      {minus, dims, true, "1 of 4 padded elements are not +0, first at 2: got -0"},
      {zeros, dims, false, "nothing to compare: no valid element"}, /* promises nothing */
      {zeros, none, true, "nothing to compare: no valid element"},  /* no padding either */
  };
  for (size_t i = 0; i < N_OF(cases); i++) {
    assay_compare_spec spec = {
        .valid = nothing_valid, .n_positions = 2, .zero_at_padding = cases[i].demanded};
    assay_tensor a = view(ASSAY_DTYPE_F32, 2, cases[i].dims, cases[i].got);
    assay_tensor b = view(ASSAY_DTYPE_F32, 2, cases[i].dims, want);
    assay_compare_result r = compare(&spec, &a, &b);
    assert_int_equal(r.n_compared, 0);
    if (cases[i].reason == NULL) {
      assert_string_equal(r.reason, "");
      assert_true(r.passed);
    } else {
      assert_fails(&r, cases[i].reason);
    }
  }
}

/* Two events of two elements, two values each; the second element of each is padding. */
static void padding_must_be_plus_zero_and_stays_out_of_the_errors(void **state) {
  (void)state;
  const int64_t dims[3] = {2, 2, 2};
  const float valid[4] = {1, 0, 1, 0};
  const float want[8] = {1, 2, 7, 7, 3, 4, 7, 7};
  const struct {
    float padded[4];
    size_t n_not_zero;
    double padding_max_abs;
  } cases[] = {
      {{0, 0, 0, 0}, 0, 7},   {{-0.0f, 0, 0, 0}, 1, 7}, {{0, 0x1p-149f, 0, 0}, 1, 7},
      {{0, 0, 0, NAN}, 1, 7}, {{7, 7, 7, 7}, 4, 0},     {{INFINITY, 0, 0, 9}, 2, 7},
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    const float *pad = cases[i].padded;
    const float got[8] = {1, 2, pad[0], pad[1], 3, 4, pad[2], pad[3]};
    assay_tensor a = view(ASSAY_DTYPE_F32, 3, dims, got);
    assay_tensor b = view(ASSAY_DTYPE_F32, 3, dims, want);
    assay_compare_spec spec = {.valid = valid, .n_positions = 4, .zero_at_padding = true};
    assay_compare_result r = compare(&spec, &a, &b);
    assert_int_equal(r.n_padding, 4);
    assert_int_equal(r.n_compared, 4);
    assert_int_equal(r.n_padding_not_zero, cases[i].n_not_zero);
    assert_true(r.padding_max_abs == cases[i].padding_max_abs);
    assert_true(r.max_abs == 0);
    if (cases[i].n_not_zero > 0) assert_fails(&r, "padded elements are not +0, first at ");
    if (cases[i].n_not_zero == 0) assert_true(r.passed);
    spec.zero_at_padding = false;
    assert_true(compare(&spec, &a, &b).passed);
  }
}

static void figures_are_as_worked_by_hand(void **state) {
  (void)state;
  const float got[4] = {1, 2.5f, -3, 4};
  const float want[4] = {1, 2, -4, 4};
  assay_compare_spec spec = {.atol = 0.25, .rtol = 0.25};
  assay_compare_result r = compare_f32(&spec, 4, got, want);
  assert_true(r.passed);
  assert_int_equal(r.n_finite_pairs, 4);
  assert_true(r.max_abs == 1);
  assert_int_equal(r.max_abs_at.index, 2);
  assert_true(r.max_abs_at.got == -3 && r.max_abs_at.want == -4);
  assert_true(r.mae == 1.5 / 4);
  assert_true(r.rmse == sqrt(1.25 / 4));
  assert_true(r.rel_l2 == sqrt(1.25) / sqrt(37));
  assert_true(r.max_tol_multiple == 1 / 1.25);
  assert_int_equal(r.max_tol_at.index, 2);
  assert_true(r.needed_atol == 0);      /* rtol alone: 0.5 and 1 are allowed */
  assert_true(r.needed_rtol == 0.1875); /* (1 - 0.25) / 4; element 1 needs (0.5 - 0.25) / 2 */
}

static void needed_tolerances_are_just_enough(void **state) {
  (void)state;
  float got[200], want[200];
  uint32_t seed = 1;
  for (size_t i = 0; i < 200; ++i) {
    seed = seed * 1664525u + 1013904223u;
    want[i] = ((float)(seed >> 8) - 0x1p23f) * 0x1p-20f;
    seed = seed * 1664525u + 1013904223u;
    got[i] = want[i] + ((float)(seed >> 8) - 0x1p23f) * 0x1p-30f;
  }
  assay_compare_spec spec = {.atol = 1e-5, .rtol = 1e-5};
  assay_compare_result r = compare_f32(&spec, 200, got, want);
  assert_false(r.passed);
  assay_compare_spec enough = {.atol = r.needed_atol, .rtol = spec.rtol};
  assert_true(compare_f32(&enough, 200, got, want).passed);
  enough.atol *= 1 - 1e-12;
  assert_false(compare_f32(&enough, 200, got, want).passed);
  enough = (assay_compare_spec){.atol = spec.atol, .rtol = r.needed_rtol};
  assert_true(compare_f32(&enough, 200, got, want).passed);
  enough.rtol *= 1 - 1e-12;
  assert_false(compare_f32(&enough, 200, got, want).passed);
}

static void ratios_without_a_denominator_are_named_infinite(void **state) {
  (void)state;
  const float zero[2] = {0, 0}, some[2] = {0, 1};
  assay_compare_spec spec = {0};
  assay_compare_result r = compare_f32(&spec, 2, some, zero);
  assert_true(isinf(r.rel_l2) && isinf(r.max_tol_multiple) && isinf(r.needed_rtol));
  assert_true(r.needed_atol == 1);
  assert_int_equal(r.max_tol_at.index, 1);
  r = compare_f32(&spec, 2, zero, zero);
  assert_true(r.rel_l2 == 0 && r.max_tol_multiple == 0 && r.passed);
}

/* The sum of 1 and 1e6 terms of 1e-16 is lost without compensation. */
static void sums_keep_small_terms(void **state) {
  (void)state;
  enum { N = 1000001 };
  double *got = calloc(N, sizeof *got);
  double *want = calloc(N, sizeof *want);
  assert_non_null(got);
  assert_non_null(want);
  got[0] = 1;
  for (size_t i = 1; i < N; ++i) got[i] = 1e-16;
  assay_tensor a = view_1d(ASSAY_DTYPE_F64, N, got);
  assay_tensor b = view_1d(ASSAY_DTYPE_F64, N, want);
  assay_compare_result r = compare(&usual, &a, &b);
  assert_true(fabs(r.mae * N - (1 + 1e-10)) < 1e-15);
  free(got);
  free(want);
}

static void class_changes_carry_their_margin(void **state) {
  (void)state;
  const int64_t dims[2] = {4, 3};
  const float want[12] = {0, 1, 2, /**/ 5, 5.001f, 0, /**/ 3, 3, 1, /**/ 0, 9, 0};
  const float got[12] = {0, 1, 2, /**/ 5.001f, 5, 0, /**/ 3, 3.0005f, 1, /**/ 9, 0, 0};
  const float valid[4] = {1, 1, 1, 0};
  assay_tensor a = view(ASSAY_DTYPE_F32, 2, dims, got);
  assay_tensor b = view(ASSAY_DTYPE_F32, 2, dims, want);
  assay_compare_spec spec = {
      .atol = 1e-3, .rtol = 3e-3, .classes = true, .valid = valid, .n_positions = 4};
  assay_compare_result r = compare(&spec, &a, &b);
  assert_true(r.passed); /* both changes are between classes that the tolerance cannot tell apart */
  assert_int_equal(r.n_argmax, 3);
  assert_int_equal(r.n_argmax_changed, 2);
  assert_int_equal(r.n_argmax_changed_over, 0);
  assert_true(fabs(r.argmax_changed_max_margin - 1e-3) < 1e-6);
  spec.atol = spec.rtol = 1e-5;
  r = compare(&spec, &a, &b);
  assert_false(r.passed);
  assert_int_equal(r.n_argmax_changed_over, 1); /* an exact tie in the reference has no margin */
  spec.valid = NULL;
  spec.atol = spec.rtol = 1e-3;
  r = compare(&spec, &a, &b);
  assert_int_equal(r.n_argmax, 4);
  assert_int_equal(r.n_argmax_changed_over, 1);
  assert_true(r.argmax_changed_max_margin == 9);
}

/* [1000, 1000.2] as half: both round to 1000, and the first wins. */
static void a_tie_made_by_low_precision_is_seen(void **state) {
  (void)state;
  const int64_t dims[2] = {1, 2};
  const uint16_t got[2] = {0x63d0, 0x63d0};
  const double want[2] = {1000.0, 1000.2};
  assay_tensor a = view(ASSAY_DTYPE_F16, 2, dims, got);
  assay_tensor b = view(ASSAY_DTYPE_F64, 2, dims, want);
  assay_compare_spec spec = {.atol = 1e-3, .rtol = 3e-3, .classes = true};
  assay_compare_result r = compare(&spec, &a, &b);
  assert_true(r.passed);
  assert_int_equal(r.n_argmax_changed, 1);
  assert_true(fabs(r.argmax_changed_max_margin - 0.2) < 1e-12);
}

static void rows_with_nan_have_no_class(void **state) {
  (void)state;
  const int64_t dims[2] = {2, 2};
  const float x[4] = {NAN, 1, 2, 1};
  assay_tensor a = view(ASSAY_DTYPE_F32, 2, dims, x);
  assay_compare_spec spec = {.atol = 1e-3, .classes = true};
  assay_compare_result r = compare(&spec, &a, &a);
  assert_true(r.passed);
  assert_int_equal(r.n_argmax, 1);
}

static void unusable_requests_are_refused(void **state) {
  (void)state;
  static const float bad_mask[2] = {1, 0.5f}, nan_mask[2] = {1, NAN}, mask3[3] = {1, 1, 1};
  static const float mask4[4] = {1, 1, 1, 1};
  const struct {
    assay_compare_spec spec;
    assay_dtype dtype;
    const char *part;
  } cases[] = {
      {{.atol = -1}, ASSAY_DTYPE_F32, "atol"},
      {{.atol = (double)NAN}, ASSAY_DTYPE_F32, "atol"},
      {{.rtol = HUGE_VAL}, ASSAY_DTYPE_F32, "rtol"},
      {{.valid = bad_mask, .n_positions = 2}, ASSAY_DTYPE_F32, "0 and 1 only, found 0.5 at 1"},
      {{.valid = nan_mask, .n_positions = 2}, ASSAY_DTYPE_F32, "0 and 1 only, found nan at 1"},
      {{.valid = mask3, .n_positions = 3},
       ASSAY_DTYPE_F32,
       "3 positions of the mask do not divide"},
      {{.valid = mask3, .n_positions = 0},
       ASSAY_DTYPE_F32,
       "0 positions of the mask do not divide"},
      {{.classes = true}, ASSAY_DTYPE_I32, "class scores must be floats, found int32"},
      {{.classes = true, .valid = mask4, .n_positions = 4}, ASSAY_DTYPE_F32, "rows of 2 class"},
  };
  static const float data[4] = {0};
  const int64_t dims[2] = {2, 2};
  for (size_t i = 0; i < N_OF(cases); ++i) {
    assay_tensor a = view(cases[i].dtype, 2, dims, data);
    assay_compare_result r;
    memset(&r, 0x55, sizeof r);
    assay_error err = {0};
    assert_int_equal(assay_compare_run(&cases[i].spec, &a, &a, &r, &err), ASSAY_E_ARGUMENT);
    if (strstr(err.text, cases[i].part) == NULL) fail_msg("row %zu: '%s'", i, err.text);
    assert_int_equal(((unsigned char *)&r)[0], 0x55); /* untouched */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accepts_what_is_within_and_nothing_else),
      cmocka_unit_test(rejects_an_output_that_is_nan_throughout),
      cmocka_unit_test(finds_one_wrong_element_among_a_million),
      cmocka_unit_test(finds_wrong_elements_beside_a_large_exact_one),
      cmocka_unit_test(never_broadcasts),
      cmocka_unit_test(types_must_agree),
      cmocka_unit_test(integers_are_compared_exactly),
      cmocka_unit_test(integers_take_a_tolerance_only_when_asked),
      cmocka_unit_test(compares_the_small_float_types),
      cmocka_unit_test(float64_near_its_end_is_judged_by_value),
      cmocka_unit_test(nothing_compared_is_not_a_pass),
      cmocka_unit_test(exact_means_equal_and_equal_signs_of_zero),
      cmocka_unit_test(padding_must_be_plus_zero_and_stays_out_of_the_errors),
      cmocka_unit_test(without_a_valid_position_padding_decides),
      cmocka_unit_test(figures_are_as_worked_by_hand),
      cmocka_unit_test(needed_tolerances_are_just_enough),
      cmocka_unit_test(ratios_without_a_denominator_are_named_infinite),
      cmocka_unit_test(sums_keep_small_terms),
      cmocka_unit_test(class_changes_carry_their_margin),
      cmocka_unit_test(a_tie_made_by_low_precision_is_seen),
      cmocka_unit_test(rows_with_nan_have_no_class),
      cmocka_unit_test(unusable_requests_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
