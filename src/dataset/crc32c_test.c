/* Tests of crc32c.c. Vectors: RFC 3720, appendix B.4; "123456789" is the usual check value. */
#include "dataset/crc32c.h"

#include "dataset/dataset_test.h"

static void gives_the_published_values(void **state) {
  static assay_crc32c crc;
  uint8_t zeroes[32] = {0}, ones[32], rising[32], falling[32];
  (void)state;
  assay_crc32c_init(&crc);
  memset(ones, 0xff, sizeof ones);
  for (int i = 0; i < 32; i++) {
    rising[i] = (uint8_t)i;
    falling[i] = (uint8_t)(31 - i);
  }
  const struct {
    const void *bytes;
    size_t n;
    uint32_t value;
  } rows[] = {{"", 0, 0},
              {"123456789", 9, 0xe3069283},
              {zeroes, 32, 0x8a9136aa},
              {ones, 32, 0x62a8ab43},
              {rising, 32, 0x46dd794e},
              {falling, 32, 0x113fdb5c}};
  for (size_t i = 0; i < N_OF(rows); i++) {
    assert_int_equal(assay_crc32c_of(&crc, rows[i].bytes, rows[i].n), rows[i].value);
    assert_int_equal(assay_crc32c_by_tables(&crc, rows[i].bytes, rows[i].n), rows[i].value);
  }
}

static void masks_as_tfrecord_does(void **state) {
  static assay_crc32c crc;
  (void)state;
  assay_crc32c_init(&crc);
  assert_int_equal(assay_crc32c_mask(assay_crc32c_of(&crc, "", 0)), 0xa282ead8);
  assert_int_equal(assay_crc32c_mask(assay_crc32c_of(&crc, "hello", 5)), 0x191c1fbb);
}

static void is_the_same_by_tables_at_every_length_and_alignment(void **state) {
  static assay_crc32c crc;
  uint8_t bytes[96];
  (void)state;
  assay_crc32c_init(&crc);
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 37 + 11);
  for (size_t from = 0; from < 9; from++) {
    for (size_t n = 0; from + n <= sizeof bytes; n++) {
      assert_int_equal(assay_crc32c_of(&crc, bytes + from, n),
                       assay_crc32c_by_tables(&crc, bytes + from, n));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gives_the_published_values),
      cmocka_unit_test(masks_as_tfrecord_does),
      cmocka_unit_test(is_the_same_by_tables_at_every_length_and_alignment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
