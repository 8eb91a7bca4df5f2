/* Tests of inflate.c: streams made by zlib. */
#include <zlib.h>

#include "dataset/dataset_test.h"

static assay_buf deflate_text(const char *text, size_t n, int window_bits) {
  assay_buf out = {0};
  uint8_t *room;
  z_stream z = {0};
  size_t cap = 2 * n + 256;
  assert_int_equal(assay_buf_reserve(&out, cap, &room, NULL), ASSAY_OK);
  assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = (Bytef *)(uintptr_t)text;
  z.avail_in = (uInt)n;
  z.next_out = room;
  z.avail_out = (uInt)cap;
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.size_bytes = cap - z.avail_out;
  deflateEnd(&z);
  return out;
}

/* Everything in pieces of piece_bytes. */
static assay_status unpack(assay_span packed, assay_inflate_kind kind, size_t piece_bytes,
                           assay_buf *out, assay_error *err) {
  assay_inflate *inflate;
  ASSAY_TRY(assay_inflate_open(packed, kind, &inflate, err));
  assay_status st = ASSAY_OK;
  for (size_t got = 1; got > 0 && !st; out->size_bytes += got) {
    uint8_t *room;
    got = 0;
    st = assay_buf_reserve(out, piece_bytes, &room, err);
    if (!st) st = assay_inflate_read(inflate, room, piece_bytes, &got, err);
    if (st) got = 0;
  }
  assay_inflate_close(inflate);
  return st;
}

static const char text[] = "one two three four five six seven eight nine ten eleven twelve";
#define TEXT_BYTES (sizeof text - 1)

static void unpacks_both_kinds_in_any_pieces(void **state) {
  (void)state;
  for (int is_gzip = 0; is_gzip < 2; is_gzip++) {
    assay_buf packed = deflate_text(text, TEXT_BYTES, is_gzip ? 31 : 15);
    for (size_t piece = 1; piece < 70; piece += 7) {
      assay_buf out = {0};
      assay_error err = {0};
      expect_ok(unpack(span_of(&packed), is_gzip ? ASSAY_INFLATE_GZIP : ASSAY_INFLATE_ZLIB, piece,
                       &out, &err),
                &err, "pieces");
      assert_int_equal(out.size_bytes, TEXT_BYTES);
      assert_memory_equal(out.data, text, TEXT_BYTES);
      assay_buf_reset(&out);
    }
    assay_buf_reset(&packed);
  }
}

static void goes_on_with_the_next_gzip_member(void **state) {
  assay_buf one = deflate_text(text, TEXT_BYTES, 31), none = deflate_text("", 0, 31);
  assay_buf all = {0}, out = {0};
  assay_error err = {0};
  (void)state;
  append(&all, one.data, one.size_bytes);
  append(&all, none.data, none.size_bytes);
  append(&all, one.data, one.size_bytes);
  expect_ok(unpack(span_of(&all), ASSAY_INFLATE_GZIP, 50, &out, &err), &err, "members");
  assert_int_equal(out.size_bytes, 2 * TEXT_BYTES);
  assert_memory_equal(out.data + TEXT_BYTES, text, TEXT_BYTES);
  assay_buf_reset(&out);
  append(&all, "x", 1);
  expect(unpack(span_of(&all), ASSAY_INFLATE_GZIP, 50, &out, &err), &err, ASSAY_E_FORMAT,
         "corrupt: 1 bytes stand behind", "rubbish");
  assay_buf_reset(&out);
  assay_buf_reset(&all);
  assay_buf_reset(&one);
  assay_buf_reset(&none);
}

static void tells_truncated_from_corrupt(void **state) {
  (void)state;
  for (int is_gzip = 0; is_gzip < 2; is_gzip++) {
    assay_inflate_kind kind = is_gzip ? ASSAY_INFLATE_GZIP : ASSAY_INFLATE_ZLIB;
    assay_buf packed = deflate_text(text, TEXT_BYTES, is_gzip ? 31 : 15);
    for (size_t n = 0; n < packed.size_bytes; n++) {
      assay_span prefix = exact_copy(packed.data, n);
      assay_buf out = {0};
      assay_error err = {0};
      expect(unpack(prefix, kind, 16, &out, &err), &err, ASSAY_E_FORMAT, "truncated", "a prefix");
      assay_buf_reset(&out);
      free_copy(prefix);
    }
    /* The check sum lies near the end: 8 bytes of a gzip trailer, 4 of a zlib one. */
    packed.data[packed.size_bytes - (is_gzip ? 5 : 3)] ^= 1;
    assay_buf out = {0};
    assay_error err = {0};
    expect(unpack(span_of(&packed), kind, 16, &out, &err), &err, ASSAY_E_FORMAT, "corrupt",
           "a check sum");
    assay_buf_reset(&out);
    assay_buf_reset(&packed);
  }
}

static void says_that_memory_is_out(void **state) {
  assay_buf packed = deflate_text(text, TEXT_BYTES, 31);
  assay_status st = ASSAY_E_MEMORY;
  uint8_t room[128];
  (void)state;
  for (int n = 0; st; n++) {
    assay_error err = {0};
    assay_inflate *inflate = NULL;
    size_t got;
    assay_alloc_fail_after(n);
    st = assay_inflate_open(span_of(&packed), ASSAY_INFLATE_GZIP, &inflate, &err);
    if (!st) st = assay_inflate_read(inflate, room, sizeof room, &got, &err);
    assay_alloc_fail_after(-1);
    if (st) assert_int_equal(st, ASSAY_E_MEMORY);
    assay_inflate_close(inflate);
    assert_true(n < 20);
  }
  assay_buf_reset(&packed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unpacks_both_kinds_in_any_pieces),
      cmocka_unit_test(goes_on_with_the_next_gzip_member),
      cmocka_unit_test(tells_truncated_from_corrupt),
      cmocka_unit_test(says_that_memory_is_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
