/* Tests of highway.c. Vectors: specification of the format's hash, input 00 01 02 …, made with
 * libhighwayhash's portable implementation. */
#include "dataset/highway.h"

#include "dataset/dataset_test.h"
#include "dataset/riegeli.h"

static void gives_the_hashes_of_riegelis_key(void **state) {
  static const struct {
    size_t n;
    uint64_t hash;
  } rows[] = {
      {0, 0x72c3b1e9c0139fe1},   {1, 0x2cd57bc47907559d},  {2, 0x79f89e5c740f5e3b},
      {3, 0x3bbb8da470c80319},   {4, 0x4d9e82979ab17ce7},  {7, 0x81d00cb703e09f52},
      {8, 0x28aad15071ce9aff},   {15, 0x3402cb26fb217163}, {16, 0x3e13be3a4140f4a7},
      {17, 0xa7084c614077eaca},  {31, 0x4d262a709c34ae7d}, {32, 0xb73f6df550f9dce4},
      {33, 0xec2f920014eaa741},  {63, 0xbea28b7a087e1493}, {64, 0xe34b1e100f1322af},
      {100, 0xe809487465a44f74},
  };
  uint8_t bytes[100];
  (void)state;
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)i;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_span exact = exact_copy(bytes, rows[i].n);
    assert_int_equal(assay_highway_hash(exact.data, rows[i].n), rows[i].hash);
    free_copy(exact);
  }
  assert_int_equal(assay_highway_hash(NULL, 0), rows[0].hash);
}

static void fits_the_first_bytes_of_every_file(void **state) {
  const uint8_t *s = assay_riegeli_signature;
  (void)state;
  assert_int_equal(assay_span_u64(s), assay_highway_hash(s + 8, 16));
  assert_int_equal(assay_span_u64(s + 24), assay_highway_hash(s + 32, 32));
  assert_int_equal(assay_span_u64(s + 40), assay_highway_hash(s, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gives_the_hashes_of_riegelis_key),
      cmocka_unit_test(fits_the_first_bytes_of_every_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
