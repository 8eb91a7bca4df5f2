#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "checkpoint/crc32.h"

static void equals_published_values(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t n;
    uint32_t crc;
  } rows[] = {
      {"", 0, 0},
      {"a", 1, 0xe8b7be43u},
      {"123456789", 9, 0xcbf43926u}, /* the check value of CRC-32/ISO-HDLC */
      {"The quick brown fox jumps over the lazy dog", 43, 0x414fa339u},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(crc32_of(rows[i].text, rows[i].n), rows[i].crc);
    assert_int_equal(crc32_of_by_tables(rows[i].text, rows[i].n), rows[i].crc);
  }
}

static void folding_equals_tables_at_every_length_and_offset(void **state) {
  (void)state;
  static uint8_t bytes[700];
  uint32_t random = 1;
  for (size_t i = 0; i < sizeof bytes; i++) {
    random = random * 1664525u + 1013904223u;
    bytes[i] = (uint8_t)(random >> 24);
  }
  for (size_t n = 0; n < 650; n++) {
    size_t at = n % 17;
    uint32_t fast = crc32_of(bytes + at, n), plain = crc32_of_by_tables(bytes + at, n);
    if (fast != plain) fail_msg("%zu bytes: %08x by folding, %08x by tables", n, fast, plain);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equals_published_values),
      cmocka_unit_test(folding_equals_tables_at_every_length_and_offset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
