/* Tests of tfrecord.c. */
#include "dataset/tfrecord.h"

#include <zlib.h>

#include "base/test_folder.h"
#include "dataset/crc32c.h"
#include "dataset/dataset_test.h"

static void append_u32(assay_buf *buf, uint32_t value) {
  const uint8_t bytes[] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                           (uint8_t)(value >> 24)};
  append(buf, bytes, sizeof bytes);
}

static uint32_t masked(const void *bytes, size_t n) {
  static assay_crc32c crc;
  if (crc.tables[0][1] == 0) assay_crc32c_init(&crc);
  return assay_crc32c_mask(assay_crc32c_of(&crc, bytes, n));
}

static void append_record(assay_buf *buf, const void *bytes, size_t n) {
  assay_buf length = {0};
  append_u64(&length, n);
  append(buf, length.data, 8);
  append_u32(buf, masked(length.data, 8));
  append(buf, bytes, n);
  append_u32(buf, masked(bytes, n));
  assay_buf_reset(&length);
}

/* "", "hello", 1000 bytes, "bye". */
static assay_buf make_file(void) {
  assay_buf file = {0};
  uint8_t bytes[1000];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7);
  append_record(&file, "", 0);
  append_record(&file, "hello", 5);
  append_record(&file, bytes, sizeof bytes);
  append_record(&file, "bye", 3);
  return file;
}

static assay_buf deflated(const assay_buf *plain, int window_bits) {
  assay_buf out = {0};
  uint8_t *room;
  z_stream z = {0};
  size_t cap = 2 * plain->size_bytes + 1024;
  assert_int_equal(assay_buf_reserve(&out, cap, &room, NULL), ASSAY_OK);
  assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = plain->data;
  z.avail_in = (uInt)plain->size_bytes;
  z.next_out = room;
  z.avail_out = (uInt)cap;
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.size_bytes = cap - z.avail_out;
  deflateEnd(&z);
  return out;
}

static assay_status open_view(assay_span bytes, assay_tfrecord **out, assay_error *err) {
  return assay_tfrecord_open_bytes("f", bytes, NULL, out, err);
}

/* Source of the vectors: the bytes that an implementation of the published format gives. */
static void reads_the_published_records(void **state) {
  assay_buf file = {0};
  assay_tfrecord *reader;
  assay_span record;
  assay_error err = {0};
  (void)state;
  append_hex(&file, "0000000000000000 29039807 d8ea82a2");
  append_hex(&file, "0500000000000000 eab2043e 68656c6c6f bb1f1c19");
  expect_ok(open_view(span_of(&file), &reader, &err), &err, "open");
  assert_int_equal(assay_tfrecord_count(reader), 2);
  assert_false(assay_tfrecord_is_compressed(reader));
  expect_ok(assay_tfrecord_get(reader, 0, &record, &err), &err, "empty");
  assert_int_equal(record.size_bytes, 0);
  expect_ok(assay_tfrecord_get(reader, 1, &record, &err), &err, "hello");
  assert_int_equal(record.size_bytes, 5);
  assert_memory_equal(record.data, "hello", 5);
  expect(assay_tfrecord_get(reader, 2, &record, &err), &err, ASSAY_E_ARGUMENT,
         "'f': no record 2, it holds 2", "behind the last");
  assay_tfrecord_close(reader);
  assay_buf_reset(&file);
}

static void reads_plain_gzip_and_zlib_in_any_order(void **state) {
  static const int window_bits[] = {0, 31, 15};
  static const size_t sizes[] = {0, 5, 1000, 3};
  (void)state;
  for (size_t r = 0; r < N_OF(window_bits); r++) {
    assay_buf plain = make_file();
    assay_buf file = window_bits[r] == 0 ? make_file() : deflated(&plain, window_bits[r]);
    assay_tfrecord *reader;
    assay_error err = {0};
    expect_ok(open_view(span_of(&file), &reader, &err), &err, "open");
    assert_int_equal(assay_tfrecord_count(reader), 4);
    assert_int_equal(assay_tfrecord_is_compressed(reader), window_bits[r] != 0);
    for (size_t k = 0; k < 20; k++) {
      size_t i = k * 3 % 4;
      assay_span record;
      expect_ok(assay_tfrecord_get(reader, i, &record, &err), &err, "get");
      assert_int_equal(record.size_bytes, sizes[i]);
      if (i == 2) assert_int_equal(record.data[999], (uint8_t)(999 * 7));
      if (i == 3) assert_memory_equal(record.data, "bye", 3);
    }
    assay_tfrecord_close(reader);
    assay_buf_reset(&file);
    assay_buf_reset(&plain);
  }
}

static void takes_an_empty_file_for_one_without_records(void **state) {
  assay_buf none = {0}, packed = deflated(&none, 31);
  assay_tfrecord *reader;
  assay_error err = {0};
  (void)state;
  const assay_span views[] = {{NULL, 0}, span_of(&packed)};
  for (size_t i = 0; i < N_OF(views); i++) {
    expect_ok(open_view(views[i], &reader, &err), &err, "open");
    assert_int_equal(assay_tfrecord_count(reader), 0);
    assay_tfrecord_close(reader);
  }
  assay_buf_reset(&packed);
}

static void reads_a_file_by_its_path(void **state) {
  test_folder folder;
  assay_buf file = make_file();
  assay_tfrecord *reader;
  assay_span record;
  assay_error err = {0};
  (void)state;
  test_folder_open(&folder);
  const char *path = test_folder_file(&folder, "x.tfrecord");
  expect_ok(assay_file_write(path, file.data, file.size_bytes, &err), &err, path);
  expect_ok(assay_tfrecord_open(path, NULL, &reader, &err), &err, path);
  expect_ok(assay_tfrecord_get(reader, 1, &record, &err), &err, path);
  assert_memory_equal(record.data, "hello", 5);
  assay_tfrecord_close(reader);
  expect(assay_tfrecord_open(folder.path, NULL, &reader, &err), &err, ASSAY_E_IO, folder.path,
         "a folder");
  test_folder_close(&folder);
  assay_buf_reset(&file);
}

/* A cut between records cannot be seen; anywhere else it is called so, with record and offset. */
static void calls_a_cut_file_truncated(void **state) {
  static const size_t ends[] = {0, 16, 37, 1053, 1072};
  assay_buf file = make_file(), packed = deflated(&file, 31);
  assay_tfrecord *reader;
  (void)state;
  assert_int_equal(file.size_bytes, 1072);
  for (size_t n = 0; n < file.size_bytes; n++) {
    assay_span prefix = exact_copy(file.data, n);
    assay_error err = {0};
    size_t i = 0;
    while (ends[i + 1] <= n) i++;
    assay_status st = open_view(prefix, &reader, &err);
    if (n == ends[i]) {
      expect_ok(st, &err, "a cut between records");
      assert_int_equal(assay_tfrecord_count(reader), i);
      assay_tfrecord_close(reader);
    } else {
      char words[80];
      snprintf(words, sizeof words, "'f': record %zu at byte %zu: truncated: ", i, ends[i]);
      expect(st, &err, ASSAY_E_FORMAT, words, "a cut");
    }
    free_copy(prefix);
  }
  for (size_t n = 2; n < packed.size_bytes; n++) {
    assay_span prefix = exact_copy(packed.data, n);
    assay_error err = {0};
    expect(open_view(prefix, &reader, &err), &err, ASSAY_E_FORMAT, "truncated", "a cut gzip file");
    assert_non_null(strstr(err.text, "of the unpacked data"));
    free_copy(prefix);
  }
  assay_buf_reset(&file);
  assay_buf_reset(&packed);
}

/* Every bit of the file: its record's CRC sees it, and only there. */
static void finds_every_changed_bit(void **state) {
  assay_buf file = make_file();
  (void)state;
  for (size_t bit = 0; bit < 8 * file.size_bytes; bit++) {
    assay_tfrecord *reader = NULL;
    assay_error err = {0};
    file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    assay_status st = open_view(span_of(&file), &reader, &err);
    for (uint64_t i = 0; !st && i < 4; i++) {
      assay_span record;
      st = assay_tfrecord_get(reader, i, &record, &err);
    }
    if (st == ASSAY_OK || strstr(err.text, "corrupt") == NULL)
      fail_msg("bit %zu: %s", bit, err.text);
    assay_tfrecord_close(reader);
    file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  assay_buf_reset(&file);
}

static void bounds_records_and_unpacked_data(void **state) {
  assay_buf file = make_file(), packed = deflated(&file, 31);
  assay_tfrecord *reader;
  const assay_record_limits small_records = {.max_decoded_bytes = 999};
  const assay_record_limits small_file = {.max_unpacked_bytes = 1000};
  assay_error err = {0}, words = {0};
  (void)state;
  expect(assay_tfrecord_open_bytes("f", span_of(&file), &small_records, &reader, &err), &err,
         ASSAY_E_LIMIT, "record 2 at byte 37: it takes 1000 bytes, the limit is 999", "a record");
  expect(assay_tfrecord_open_bytes("f", span_of(&packed), &small_file, &reader, &words), &words,
         ASSAY_E_LIMIT, "unpacks to more than 1000 bytes", "a file");
  assay_buf_reset(&file);
  assay_buf_reset(&packed);

  /* A length of 2^60 with a right CRC. */
  assay_buf large = {0};
  assay_error more = {0};
  append_u64(&large, UINT64_C(1) << 60);
  append_u32(&large, masked(large.data, 8));
  expect(open_view(span_of(&large), &reader, &more), &more, ASSAY_E_LIMIT, "1152921504606846976",
         "a large record");
  assay_buf_reset(&large);
}

static void says_that_memory_is_out_at_each_step(void **state) {
  assay_buf plain = make_file(), packed = deflated(&plain, 31);
  (void)state;
  for (int is_packed = 0; is_packed < 2; is_packed++) {
    assay_status st = ASSAY_E_MEMORY;
    for (int n = 0; st; n++) {
      assay_tfrecord *reader = NULL;
      assay_span record;
      assay_error err = {0};
      assay_alloc_fail_after(n);
      st = open_view(span_of(is_packed ? &packed : &plain), &reader, &err);
      if (!st) st = assay_tfrecord_get(reader, 2, &record, &err);
      if (!st) st = assay_tfrecord_get(reader, 0, &record, &err);
      assay_alloc_fail_after(-1);
      if (st) expect(st, &err, ASSAY_E_MEMORY, "", "memory");
      if (st && reader != NULL) { /* it goes on once there is memory again */
        assay_error none = {0};
        expect_ok(assay_tfrecord_get(reader, 3, &record, &none), &none, "again");
        assert_memory_equal(record.data, "bye", 3);
      }
      assay_tfrecord_close(reader);
      assert_true(n < 100);
    }
  }
  assay_buf_reset(&plain);
  assay_buf_reset(&packed);
}

/* Length and CRC of an empty record and of "hello": array_record.md section 12. */
static void a_file_is_recognised_by_its_first_length(void **state) {
  (void)state;
  static const uint8_t empty[] = {0, 0, 0, 0, 0, 0, 0, 0, 0x29, 0x03, 0x98, 0x07};
  uint8_t hello[] = {5, 0, 0, 0, 0, 0, 0, 0, 0xea, 0xb2, 0x04, 0x3e};
  assert_true(assay_tfrecord_is_magic(empty, sizeof empty));
  assert_true(assay_tfrecord_is_magic(hello, sizeof hello));
  assert_false(assay_tfrecord_is_magic(hello, sizeof hello - 1));
  hello[0] = 4;
  assert_false(assay_tfrecord_is_magic(hello, sizeof hello));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_is_recognised_by_its_first_length),
      cmocka_unit_test(reads_the_published_records),
      cmocka_unit_test(reads_plain_gzip_and_zlib_in_any_order),
      cmocka_unit_test(takes_an_empty_file_for_one_without_records),
      cmocka_unit_test(reads_a_file_by_its_path),
      cmocka_unit_test(calls_a_cut_file_truncated),
      cmocka_unit_test(finds_every_changed_bit),
      cmocka_unit_test(bounds_records_and_unpacked_data),
      cmocka_unit_test(says_that_memory_is_out_at_each_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
