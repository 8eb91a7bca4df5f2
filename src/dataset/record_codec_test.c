/* Tests of record_codec.c: streams made by the libraries' own compressors. */
#include "dataset/record_codec.h"

#include <brotli/encode.h>
#include <snappy-c.h>
#include <zstd.h>

#include "dataset/dataset_test.h"

static const assay_codec codecs[] = {ASSAY_CODEC_BROTLI, ASSAY_CODEC_SNAPPY, ASSAY_CODEC_ZSTD};

/* Compressed bytes, released with free_copy. */
static assay_span pack(assay_codec codec, const uint8_t *bytes, size_t n) {
  size_t cap = 2 * n + 1024;
  uint8_t *out = malloc(cap);
  assert_non_null(out);
  if (codec == ASSAY_CODEC_BROTLI)
    assert_true(BrotliEncoderCompress(6, 22, BROTLI_MODE_GENERIC, n, bytes, &cap, out));
  else if (codec == ASSAY_CODEC_SNAPPY)
    assert_int_equal(snappy_compress((const char *)bytes, n, (char *)out, &cap), SNAPPY_OK);
  else {
    cap = ZSTD_compress(out, cap, bytes, n, 3);
    assert_false(ZSTD_isError(cap));
  }
  assay_span exact = exact_copy(out, cap);
  free(out);
  return exact;
}

/* Text that compresses, but not to nothing. */
static uint8_t *make_text(size_t n) {
  uint8_t *text = malloc(n + 1);
  assert_non_null(text);
  for (size_t i = 0; i < n; i++) text[i] = (uint8_t) "particle"[(i * i / 7) % 8];
  return text;
}

static void unpacks_what_was_packed(void **state) {
  static const size_t sizes[] = {0, 1, 8, 1000, 300000};
  assay_codec_state kept = {0};
  (void)state;
  for (size_t c = 0; c < N_OF(codecs); c++) {
    for (size_t i = 0; i < N_OF(sizes); i++) {
      size_t n = sizes[i];
      uint8_t *text = make_text(n), *out = malloc(n + 1);
      assay_span packed = pack(codecs[c], text, n);
      assay_error err = {0};
      expect_ok(assay_codec_unpack(&kept, codecs[c], packed, out, n, &err), &err,
                assay_codec_name((uint8_t)codecs[c]));
      assert_memory_equal(out, text, n);
      free_copy(packed);
      free(text);
      free(out);
    }
  }
  assay_codec_reset(&kept);
}

/* Every prefix is an error; so are another size than declared and bytes behind the end. */
static void refuses_streams_that_are_cut_or_of_another_size(void **state) {
  assay_codec_state kept = {0};
  size_t n = 1000;
  uint8_t *text = make_text(n), *out = malloc(2 * n);
  (void)state;
  for (size_t c = 0; c < N_OF(codecs); c++) {
    assay_span packed = pack(codecs[c], text, n);
    for (size_t cut = 0; cut < packed.size_bytes; cut++) {
      assay_span prefix = exact_copy(packed.data, cut);
      assay_error err = {0};
      expect(assay_codec_unpack(&kept, codecs[c], prefix, out, n, &err), &err, ASSAY_E_FORMAT, "",
             "a prefix");
      free_copy(prefix);
    }
    const struct {
      size_t declared, behind;
    } rows[] = {{n - 1, 0}, {n + 1, 0}, {0, 0}, {n, 1}, {n, 40}};
    for (size_t i = 0; i < N_OF(rows); i++) {
      assay_buf longer = {0};
      append(&longer, packed.data, packed.size_bytes);
      for (size_t k = 0; k < rows[i].behind; k++) append(&longer, "\x28", 1);
      assay_error err = {0};
      expect(assay_codec_unpack(&kept, codecs[c], span_of(&longer), out, rows[i].declared, &err),
             &err, ASSAY_E_FORMAT, assay_codec_name((uint8_t)codecs[c]), "another size");
      assay_buf_reset(&longer);
    }
    free_copy(packed);
  }
  free(text);
  free(out);
  assay_codec_reset(&kept);
}

/* Streams have no check sums of their own here, so a flip may go unseen: it must stay in bounds. */
static void stays_in_bounds_with_every_bit_flipped(void **state) {
  assay_codec_state kept = {0};
  size_t n = 300;
  uint8_t *text = make_text(n), *out = malloc(n);
  (void)state;
  for (size_t c = 0; c < N_OF(codecs); c++) {
    assay_span packed = pack(codecs[c], text, n);
    uint8_t *bytes = (uint8_t *)(uintptr_t)packed.data;
    for (size_t bit = 0; bit < 8 * packed.size_bytes; bit++) {
      assay_error err = {0};
      bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
      assay_status st = assay_codec_unpack(&kept, codecs[c], packed, out, n, &err);
      if (st && st != ASSAY_E_MEMORY) assert_int_equal(st, ASSAY_E_FORMAT);
      bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free_copy(packed);
  }
  free(text);
  free(out);
  assay_codec_reset(&kept);
}

/* A small stream of 16 MiB of zeroes that is said to be 1000 bytes: nothing is written behind them.
 */
static void stops_bombs_at_the_declared_size(void **state) {
  assay_codec_state kept = {0};
  size_t n = (size_t)16 << 20;
  uint8_t *zeroes = calloc(n, 1), *out = malloc(1000);
  (void)state;
  assert_non_null(zeroes);
  for (size_t c = 0; c < N_OF(codecs); c++) {
    assay_span packed = pack(codecs[c], zeroes, n);
    assay_error err = {0};
    expect(assay_codec_unpack(&kept, codecs[c], packed, out, 1000, &err), &err, ASSAY_E_FORMAT,
           "1000 bytes", "a bomb");
    free_copy(packed);
  }
  free(zeroes);
  free(out);
  assay_codec_reset(&kept);
}

/* brotli's allocations go through base's door, and its window does not count. */
static void says_that_brotli_is_out_of_memory(void **state) {
  assay_codec_state kept = {0};
  uint8_t *text = make_text(5000), *out = malloc(5000);
  assay_span packed = pack(ASSAY_CODEC_BROTLI, text, 5000);
  (void)state;
  assay_status st = ASSAY_E_MEMORY;
  int n = 0;
  for (; st && n < 100; n++) {
    assay_error err = {0};
    assay_alloc_fail_after(n);
    st = assay_codec_unpack(&kept, ASSAY_CODEC_BROTLI, packed, out, 5000, &err);
    assay_alloc_fail_after(-1);
    if (st) assert_int_equal(st, ASSAY_E_MEMORY);
  }
  assert_int_equal(st, ASSAY_OK);
  assert_true(n > 2);
  free_copy(packed);
  free(text);
  free(out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unpacks_what_was_packed),
      cmocka_unit_test(refuses_streams_that_are_cut_or_of_another_size),
      cmocka_unit_test(stays_in_bounds_with_every_bit_flipped),
      cmocka_unit_test(stops_bombs_at_the_declared_size),
      cmocka_unit_test(says_that_brotli_is_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
