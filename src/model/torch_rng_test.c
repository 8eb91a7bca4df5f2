/* The generator clone against numbers that PyTorch prints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/hash.h"
#include "model/torch_rng.h"

/* C++ standard, [rand.predef]: the 10000th invocation of a default-constructed mt19937 gives
 * 4123659995. */
static void the_engine_is_mt19937(void **state) {
  (void)state;
  torch_rng rng;
  torch_rng_init(&rng, 5489);
  torch_rng_discard(&rng, 9999);
  assert_int_equal(torch_rng_bits(&rng), UINT32_C(4123659995));
}

static void only_the_low_32_bits_of_a_seed_count(void **state) {
  (void)state;
  torch_rng a, b;
  torch_rng_init(&a, 42);
  torch_rng_init(&b, (UINT64_C(7) << 32) + 42);
  for (int i = 0; i < 1000; i++) assert_int_equal(torch_rng_bits(&a), torch_rng_bits(&b));
}

/* As printed, to 4 decimals, by torch.manual_seed(42) and the call named. */
static void assert_prints(const float *values, const double *printed, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!(fabs((double)values[i] - printed[i]) <= 0.51e-4))
      fail_msg("[%zu] is %.6f, expected %.4f", i, (double)values[i], printed[i]);
}

static void draws_print_as_torch_prints_them(void **state) {
  (void)state;
  static const double RAND[] = {0.8823, 0.9150, 0.3829, 0.9593};
  static const double RANDN_5[] = {0.3367, 0.1288, 0.2345, 0.2303, -1.1229};
  static const double RANDN_16[] = {1.9269,  1.4873,  0.9007,  -2.1055, 0.6784,  -1.2345,
                                    -0.0431, -1.6047, -0.7521, 1.6487,  -0.3925, -1.4036,
                                    -0.7279, -0.5594, -0.7688, 0.7624};
  torch_rng rng;
  float values[16];
  torch_rng_init(&rng, 42);
  torch_rng_uniform(&rng, 0.0, 1.0, values, 4);
  assert_prints(values, RAND, 4);
  torch_rng_init(&rng, 42);
  torch_rng_normal(&rng, values, 5);
  assert_prints(values, RANDN_5, 5);
  torch_rng_init(&rng, 42);
  torch_rng_normal(&rng, values, 16);
  assert_prints(values, RANDN_16, 16);
}

/* A pair split over two calls is one pair. */
static void a_left_over_scalar_normal_is_used_next(void **state) {
  (void)state;
  torch_rng a, b;
  float whole[6], parts[6];
  torch_rng_init(&a, 3);
  torch_rng_init(&b, 3);
  torch_rng_normal(&a, whole, 6);
  torch_rng_normal(&b, parts, 3);
  torch_rng_normal(&b, parts + 3, 3);
  for (int i = 0; i < 6; i++) assert_true(whole[i] == parts[i]);
  assert_int_equal(torch_rng_bits(&a), torch_rng_bits(&b));
}

static void normals_have_the_moments_of_normals(void **state) {
  (void)state;
  enum { N = 20003 }; /* no multiple of 16: the tail is drawn again */
  static float values[N];
  torch_rng rng;
  torch_rng_init(&rng, 1);
  torch_rng_normal(&rng, values, N);
  double sum = 0.0, squares = 0.0;
  for (int i = 0; i < N; i++) {
    assert_true(isfinite(values[i]));
    sum += (double)values[i];
    squares += (double)values[i] * (double)values[i];
  }
  assert_true(fabs(sum / N) < 0.03); /* 4 sigma of the mean */
  assert_true(fabs(squares / N - 1.0) < 0.04);
}

/* torch.manual_seed(1); torch.randn(200000), by Debian's torch 1.13.1 and the official wheel 2.15.0
 * (the first 200000 values of a longer draw, which are the same). */
static void many_normals_equal_those_of_torch_bit_for_bit(void **state) {
  (void)state;
  enum { N = 200000 };
  static float values[N];
  assay_error err = {0};
  char hex[ASSAY_SHA256_HEX_BYTES];
  torch_rng rng;
  torch_rng_init(&rng, 1);
  torch_rng_normal(&rng, values, N);
  assert_int_equal(assay_sha256_bytes(values, sizeof values, hex, &err), ASSAY_OK);
  assert_string_equal(hex, "19d7928c68160faeda9fe276ce271217f19264a4d66c50cbf54dac30de524439");
}

/* One ulp of y near 1 is 6e-8; the slope of erfinv there magnifies it. */
static void erfinv_inverts_erf(void **state) {
  (void)state;
  for (int i = -999; i <= 999; i++) {
    const float y = (float)i / 1000.0f;
    const double back = erf((double)torch_erfinv(y));
    if (!(fabs(back - (double)y) < 2e-7)) fail_msg("erf(erfinv(%g)) is %g", (double)y, back);
  }
  assert_true(isinf(torch_erfinv(-1.0f)) && torch_erfinv(-1.0f) < 0.0f);
  assert_true(isnan(torch_erfinv(1.5f)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_engine_is_mt19937),
      cmocka_unit_test(only_the_low_32_bits_of_a_seed_count),
      cmocka_unit_test(draws_print_as_torch_prints_them),
      cmocka_unit_test(a_left_over_scalar_normal_is_used_next),
      cmocka_unit_test(normals_have_the_moments_of_normals),
      cmocka_unit_test(many_normals_equal_those_of_torch_bit_for_bit),
      cmocka_unit_test(erfinv_inverts_erf),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
