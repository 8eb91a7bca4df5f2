#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "reference/ref_hash.h"

enum { N_MAX = 4096 };

static uint32_t sort_keys[2][N_MAX];
static int32_t sort_order[2][N_MAX];
static const ref_hash_sort_space space = {{sort_keys[0], sort_keys[1]},
                                          {sort_order[0], sort_order[1]}};

static uint32_t next_random(uint32_t *state) { /* xorshift: enough to shuffle with */
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static void sorts_stably_with_equal_zeros_and_infinity_last(void **state) {
  (void)state;
  const float values[] = {INFINITY, 2.0F, -0.0F,  0.0F,    -1.0F,    2.0F,
                          -0.0F,    0.0F, 1e-45F, -1e-45F, INFINITY, -3e38F};
  const int32_t expected[] = {11, 4, 9, 2, 3, 6, 7, 8, 1, 5, 0, 10};
  int32_t order[12];
  ref_hash_argsort(values, 12, &space, order);
  for (int i = 0; i < 12; i++) assert_int_equal(order[i], expected[i]);
}

/* Against the definition: neighbours in order are ascending, and equal ones by index. */
static void sorts_any_length_stably(void **state) {
  (void)state;
  static float values[N_MAX];
  static int32_t order[N_MAX];
  static int seen[N_MAX];
  uint32_t random = 1;
  const int64_t lengths[] = {1, 2, 16, 17, 100, 2047, 2048, 2049, N_MAX};
  for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
    int64_t n = lengths[k];
    for (int64_t i = 0; i < n; i++) { /* few distinct values: many ties */
      values[i] = ((float)(next_random(&random) % 200) - 100.0F) * 0.37F;
      seen[i] = 0;
    }
    ref_hash_argsort(values, n, &space, order);
    for (int64_t p = 0; p < n; p++) {
      assert_in_range(order[p], 0, n - 1);
      assert_int_equal(seen[order[p]]++, 0);
      if (p == 0) continue;
      float left = values[order[p - 1]], right = values[order[p]];
      if (!(left < right || (left == right && order[p - 1] < order[p]))) {
        fail_msg("n %lld, position %lld: %g (element %d) before %g (element %d)", (long long)n,
                 (long long)p, (double)left, order[p - 1], (double)right, order[p]);
      }
    }
  }
}

static void sorting_nan_does_no_harm(void **state) {
  (void)state;
  const float values[] = {NAN, 1.0F, -NAN, INFINITY};
  int32_t order[4], seen[4] = {0};
  ref_hash_argsort(values, 4, &space, order);
  for (int i = 0; i < 4; i++) seen[order[i]]++;
  for (int i = 0; i < 4; i++) assert_int_equal(seen[i], 1);
}

static void padding_ranks_last_in_element_order(void **state) {
  (void)state;
  const float value[] = {3.0F, 0.0F, -1.0F, 0.0F, 2.0F};
  const float mask[] = {1, 0, 1, 0, 1};
  const int32_t ranks[] = {2, 3, 0, 4, 1};
  float masked[5];
  int32_t order[5], rank[5];
  ref_hash_rank(value, mask, 5, masked, &space, order, rank);
  for (int i = 0; i < 5; i++) assert_int_equal(rank[i], ranks[i]);
}

/* models.md (24): the reciprocal is rounded before the product. 20/3 and 200 give 31, although
 * 200/(20/3) = 30; Python's numpy.float32 gives the other rows too. */
static void region_sizes_use_the_rounded_reciprocal(void **state) {
  (void)state;
  const struct {
    float regions;
    int64_t n, size;
  } rows[] = {
      {20.0F / 3.0F, 200, 31},  {10.0F, 200, 20},        {6.0F, 100, 17},
      {50.0F / 3.0F, 1000, 61}, {3.0F, 300, 100},        {7.0F, 700, 101},
      {100.0F, 10, 1},          {1e-30F, 100, 100},      {1.0F, 1, 1},
      {3e38F, 100, 1},          {1.0F / 3.0F, 100, 100},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(ref_hash_region_size(rows[i].regions, rows[i].n), rows[i].size);
  }
}

static void strict_phi_is_right_on_the_axes_and_in_each_quadrant(void **state) {
  (void)state;
  const float pi = 3.14159265358979323846F, half_pi = 1.57079632679489661923F;
  const struct {
    float y, x, phi;
  } exact[] = {
      {0.0F, 0.0F, 0.0F},      {0.0F, 1.0F, 0.0F}, {1.0F, 0.0F, half_pi}, {0.0F, -1.0F, pi},
      {-1.0F, 0.0F, -half_pi}, {-0.0F, -1.0F, pi}, {-0.0F, 1.0F, 0.0F},
  };
  for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
    float phi = ref_hash_phi(exact[i].y, exact[i].x, ASSAY_MLPF_PHI_STRICT);
    if (phi != exact[i].phi) {
      fail_msg("phi(%g, %g): got %.9g, expected %.9g", (double)exact[i].y, (double)exact[i].x,
               (double)phi, (double)exact[i].phi);
    }
  }
  for (int i = 0; i < 3600; i++) { /* models.md D.5: error at most 2.7e-7 */
    double angle = (i - 1800) * 0.001745;
    float y = (float)sin(angle), x = (float)cos(angle);
    double expected = atan2((double)y, (double)x);
    double strict = (double)ref_hash_phi(y, x, ASSAY_MLPF_PHI_STRICT);
    float native = ref_hash_phi(y, x, ASSAY_MLPF_PHI_NATIVE);
    if (!(fabs(strict - expected) <= 2.7e-7)) {
      fail_msg("strict phi(%.9g, %.9g): got %.9g, expected %.9g", (double)y, (double)x, strict,
               expected);
    }
    assert_true(native == (float)expected);
  }
}

static void native_phi_keeps_the_sign_of_zero(void **state) {
  (void)state;
  assert_true(ref_hash_phi(-0.0F, -1.0F, ASSAY_MLPF_PHI_NATIVE) < -3.0F);
  assert_true(ref_hash_phi(0.0F, -1.0F, ASSAY_MLPF_PHI_NATIVE) > 3.0F);
  assert_true(ref_hash_phi(0.0F, 0.0F, ASSAY_MLPF_PHI_NATIVE) == 0.0F);
}

/* Four elements, the last one padding; numbers with few bits, so that every step is exact by hand.
 */
static const float eta_values[] = {1.0F, -2.0F, 0.5F, 0.0F};
static const float phi_values[] = {-1.0F, 2.0F, 3.0F, 0.0F};
static const float small_mask[] = {1, 1, 1, 0};
static const int32_t eta_order[] = {1, 2, 0, 3}, eta_rank[] = {2, 0, 1, 3};
static const int32_t phi_order[] = {0, 1, 2, 3}, phi_rank[] = {0, 1, 2, 3};
static const ref_hash_axis small_eta = {eta_values, eta_order, eta_rank};
static const ref_hash_axis small_phi = {phi_values, phi_order, phi_rank};

/* R = (2, 4): sizes ceil(4/2) = 2 and ceil(4/4) = 1. hash = eta*2 - phi = 3, -6, -2, 0 (padding,
 * which counts for the range): range 9. Region indices eta 2, 1, 1; phi 1, 2, 3; the stride of phi
 * is ceil(2) + 1 = 3. key = hash + phi*9*3 + eta*9. */
static void keys_follow_the_equations(void **state) {
  (void)state;
  const ref_hash_function function = {
      .region_eta = 2.0F, .region_phi = 4.0F, .alpha_eta = 2.0F, .alpha_phi = -1.0F};
  const float expected[] = {3 + 27 + 18, -6 + 54 + 9, -2 + 81 + 9, INFINITY};
  float keys[4];
  ref_hash_keys(&function, &small_eta, &small_phi, small_mask, 4, keys);
  for (int i = 0; i < 4; i++) {
    if (keys[i] != expected[i]) {
      fail_msg("key %d: got %g, expected %g", i, (double)keys[i], (double)expected[i]);
    }
  }
}

/* x*a + y*b with a fused multiply-add keeps bits that two roundings lose. */
static void hashes_round_each_product(void **state) {
  (void)state;
  const float a = 1.0F + 0x1p-12F; /* a*a = 1 + 2^-11 + 2^-24, which FP32 rounds to 1 + 2^-11 */
  const float value[] = {a, 0.0F}, minus_one[] = {1.0F + 0x1p-11F, 0.0F}, mask[] = {1, 1};
  const int32_t order[] = {1, 0}, rank[] = {0, 0};
  const ref_hash_axis eta = {value, order, rank}, phi = {minus_one, order, rank};
  const ref_hash_function function = {
      .region_eta = 1.0F, .region_phi = 1.0F, .alpha_eta = a, .alpha_phi = -1.0F};
  float keys[2];
  ref_hash_keys(&function, &eta, &phi, mask, 2, keys);
  assert_true(keys[0] == 0.0F);
}

static void gaps_are_in_units_of_the_larger_value(void **state) {
  (void)state;
  const struct {
    float a, b;
    int64_t gap;
  } rows[] = {
      {1.0F, 1.0F, 0},
      {1.0F, 1.0F + 0x1p-23F, 1},
      {1.0F, 1.0F - 0x1p-24F, 1},
      {-2.0F, -2.0F - 0x1p-22F, 1},
      {0.0F, 1e-45F, 1},
      {-0.0F, 0.0F, 0},
      {3.0F, 3.0F + 0x1p-20F, 4},
      {-1.0F, 1.0F, 1 << 24},
      {3.4028235e38F, 3.4028233e38F, 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(ref_hash_ulp_gap(rows[i].a, rows[i].b), rows[i].gap);
    assert_int_equal(ref_hash_ulp_gap(rows[i].b, rows[i].a), rows[i].gap);
  }
}

static void margins_see_valid_neighbours_across_boundaries_only(void **state) {
  (void)state;
  /* regions of one element each, blocks of two: the key boundary lies between elements 1 and 2 */
  const ref_hash_function function = {
      .region_eta = 4.0F, .region_phi = 4.0F, .alpha_eta = 0.0F, .alpha_phi = 0.0F};
  const float keys[] = {1.0F, 2.0F, 2.0F + 0x1p-20F, INFINITY};
  const int32_t perm[] = {0, 1, 2, 3};
  const ref_hash_place place = {.layer = 2, .hash = 1, .head = 5, .event = 7};
  assay_ref_margins margins;
  ref_hash_margins_init(&margins);
  ref_hash_margins_add(&margins, &function, &small_eta, &small_phi, small_mask, keys, perm, 4,
                       /*block_size=*/2, &place);
  assert_true(margins.present);
  assert_int_equal(margins.key_ulp, 4); /* 2^-20 over 2^-22 */
  assert_int_equal(margins.key_layer, 2);
  assert_int_equal(margins.key_hash, 1);
  assert_int_equal(margins.key_head, 5);
  assert_int_equal(margins.key_event, 7);
  assert_int_equal(margins.n_key_ties, 0);
  assert_int_equal(margins.n_rank_ties, 0);
  assert_int_equal(margins.rank_ulp, 1 << 22); /* phi 2 and 3: 1 over 2^-22 */

  const float tied[] = {1.0F, 2.0F, 2.0F, INFINITY};
  ref_hash_margins_add(&margins, &function, &small_eta, &small_phi, small_mask, tied, perm, 4,
                       /*block_size=*/2, &place);
  assert_int_equal(margins.key_ulp, 0);
  assert_int_equal(margins.n_key_ties, 1);

  ref_hash_margins_init(&margins); /* the only boundary touches padding */
  ref_hash_margins_add(&margins, &function, &small_eta, &small_phi, small_mask, keys, perm, 4,
                       /*block_size=*/3, &place);
  assert_int_equal(margins.key_ulp, INT64_MAX);
  assert_int_equal(margins.key_layer, -1);
}

static void margins_merge_alike_in_any_order(void **state) {
  (void)state;
  assay_ref_margins a, b, ab, ba;
  ref_hash_margins_init(&a);
  b = a;
  a.key_ulp = b.key_ulp = 3; /* the same gap in two places: the earlier one counts */
  a.key_layer = b.key_layer = 0;
  a.key_hash = 1;
  b.key_hash = 0;
  a.key_head = b.key_head = 4;
  a.key_event = b.key_event = 0;
  a.rank_ulp = 9;
  b.n_key_ties = 2;
  ab = a;
  ba = b;
  ref_hash_margins_merge(&ab, &b);
  ref_hash_margins_merge(&ba, &a);
  assert_int_equal(ab.key_hash, 0);
  assert_int_equal(ba.key_hash, 0);
  assert_int_equal(ab.rank_ulp, 9);
  assert_int_equal(ba.rank_ulp, 9);
  assert_int_equal(ab.n_key_ties, 2);
  assert_int_equal(ba.n_key_ties, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sorts_stably_with_equal_zeros_and_infinity_last),
      cmocka_unit_test(sorts_any_length_stably),
      cmocka_unit_test(sorting_nan_does_no_harm),
      cmocka_unit_test(padding_ranks_last_in_element_order),
      cmocka_unit_test(region_sizes_use_the_rounded_reciprocal),
      cmocka_unit_test(strict_phi_is_right_on_the_axes_and_in_each_quadrant),
      cmocka_unit_test(native_phi_keeps_the_sign_of_zero),
      cmocka_unit_test(keys_follow_the_equations),
      cmocka_unit_test(hashes_round_each_product),
      cmocka_unit_test(gaps_are_in_units_of_the_larger_value),
      cmocka_unit_test(margins_see_valid_neighbours_across_boundaries_only),
      cmocka_unit_test(margins_merge_alike_in_any_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
