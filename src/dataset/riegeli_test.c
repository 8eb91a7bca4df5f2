/* Tests of riegeli.c: geometry worked by hand, headers with each field wrong under a right hash. */
#include "dataset/riegeli.h"

#include "dataset/dataset_test.h"
#include "dataset/record_maker.h"

/* Worked values from a file of the reference writer. */
static void places_chunks_as_the_reference_does(void **state) {
  (void)state;
  assert_int_equal(assay_riegeli_advance(0, 40), 64);
  assert_int_equal(assay_riegeli_advance(64, 40 + 31), 135);
  assert_int_equal(assay_riegeli_advance(65516, 40 + 9), 65589);
  assert_int_equal(assay_riegeli_round_up(200064), 200064);
  assert_int_equal(assay_riegeli_round_up(65536), 65536);
  assert_int_equal(assay_riegeli_round_up(65537), 65561);
  assert_int_equal(assay_riegeli_round_up(65560), 65561);
  assert_int_equal(assay_riegeli_round_up(65561), 65561);
  assert_true(assay_riegeli_may_begin(0));
  assert_false(assay_riegeli_may_begin(1));
  assert_false(assay_riegeli_may_begin(24));
  assert_true(assay_riegeli_may_begin(25));
  assert_true(assay_riegeli_may_begin(65535));
  assert_true(assay_riegeli_may_begin(65536));
}

/* A byte behind another, one at a time, is what advance says in one step. */
static void advances_by_one_byte_as_by_many(void **state) {
  static const uint64_t begins[] = {0, 25, 64, 65500, 65535, 65536};
  (void)state;
  for (size_t i = 0; i < N_OF(begins); i++) {
    uint64_t at = begins[i];
    for (uint64_t n = 1; n < 140000; n++) {
      if (at % 65536 == 0) at += 24;
      at++;
      if (assay_riegeli_advance(begins[i], n) != at)
        fail_msg("advance(%d, %d) is %d, expected %d", (int)begins[i], (int)n,
                 (int)assay_riegeli_advance(begins[i], n), (int)at);
    }
  }
}

/* One chunk of three bytes at 64, in a file of 128 bytes; patch sets a field of its header. */
static assay_buf make_file(size_t field, uint64_t value) {
  record_maker m;
  record_maker_begin(&m);
  record_maker_chunk(&m, 'r', (assay_span){(const uint8_t *)"abc", 3}, 1, 1);
  uint8_t *header = m.bytes.data + 64;
  if (field > 0) maker_put_u64(header + field, value);
  maker_put_u64(header, assay_highway_hash(header + 8, 32));
  while (m.bytes.size_bytes < 128) maker_put(&m.bytes, "", 1);
  return m.bytes;
}

static void refuses_headers_that_do_not_fit(void **state) {
  static const struct {
    size_t field;
    uint64_t value;
    const char *words;
  } rows[] = {
      {8, 65, "do not fit"},
      {8, 64, "it ends at offset"},
      {8, UINT64_MAX, "do not fit"},
      {24, 'r' | UINT64_C(65) << 8, "65 records do not fit"},
      {24, UINT64_MAX, "records do not fit"},
      {8, 25, "it ends at offset 129, 1 too far"},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_buf file = make_file(rows[i].field, rows[i].value);
    assay_riegeli_chunk chunk;
    assay_error err = {0};
    expect(assay_riegeli_read_header(span_of(&file), 64, 128, &chunk, &err), &err, ASSAY_E_FORMAT,
           rows[i].words, rows[i].words);
    assay_buf_reset(&file);
  }
}

static void reads_a_chunk_and_sees_every_change_in_it(void **state) {
  assay_buf file = make_file(0, 0), scratch = {0};
  (void)state;
  for (size_t i = 63; i < 64 + 43; i++) {
    assay_riegeli_chunk chunk;
    assay_span data;
    assay_error err = {0};
    if (i >= 64) file.data[i] ^= 0x10; /* at 63 nothing is changed */
    assay_status st = assay_riegeli_read_header(span_of(&file), 64, 128, &chunk, &err);
    if (!st) st = assay_riegeli_read_data(span_of(&file), &chunk, &scratch, &data, &err);
    if (i < 64) {
      expect_ok(st, &err, "no change");
      assert_int_equal(chunk.end, 107);
      assert_int_equal(data.size_bytes, 3);
      assert_memory_equal(data.data, "abc", 3);
    } else {
      expect(st, &err, ASSAY_E_FORMAT, i < 104 ? "damaged chunk header" : "damaged chunk data",
             "a change");
      file.data[i] ^= 0x10;
    }
  }
  assay_buf_reset(&file);
  assay_buf_reset(&scratch);
}

/* A chunk whose header, data and padding are each interrupted by a block header. */
static void reads_across_block_headers(void **state) {
  static uint8_t bytes[150000];
  static const uint64_t begins[] = {65516, 65536 - 45, 65536, 300};
  (void)state;
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i % 251);
  for (size_t i = 0; i < N_OF(begins); i++) {
    record_maker m;
    assay_riegeli_chunk chunk;
    assay_span data;
    assay_buf scratch = {0};
    assay_error err = {0};
    record_maker_begin(&m);
    while (m.bytes.size_bytes < begins[i]) maker_put(&m.bytes, "", 1);
    record_maker_chunk(&m, 'r', (assay_span){bytes, sizeof bytes}, 300000, sizeof bytes);
    assay_span file = span_of(&m.bytes);
    expect_ok(assay_riegeli_read_header(file, begins[i], file.size_bytes, &chunk, &err), &err,
              "header");
    expect_ok(assay_riegeli_read_data(file, &chunk, &scratch, &data, &err), &err, "data");
    expect_ok(assay_riegeli_check_padding(file, &chunk, &err), &err, "padding");
    assert_int_equal(chunk.end, file.size_bytes);
    assert_int_equal(data.size_bytes, sizeof bytes);
    assert_memory_equal(data.data, bytes, sizeof bytes);

    /* Every byte of every block header counts, in the padding when that is looked at. */
    for (uint64_t at = (begins[i] + 65535) / 65536 * 65536; at < chunk.end; at += 65536) {
      for (uint64_t k = at; k < at + 24; k++) {
        assay_riegeli_chunk again;
        assay_error words = {0};
        m.bytes.data[k] ^= 1;
        assay_status st =
            assay_riegeli_read_header(file, begins[i], file.size_bytes, &again, &words);
        bool is_padding = at >= chunk.data_end;
        if (is_padding && !st) st = assay_riegeli_check_padding(file, &again, &words);
        expect(st, &words, ASSAY_E_FORMAT, "block header at offset", "a block header");
        m.bytes.data[k] ^= 1;
      }
    }
    m.bytes.data[chunk.end - 1] = 1;
    expect(assay_riegeli_check_padding(file, &chunk, &err), &err, ASSAY_E_FORMAT,
           "damaged padding: byte 0x01", "padding");
    assay_buf_reset(&scratch);
    record_maker_reset(&m);
  }
}

/* With a right hash but telling of another chunk. */
static void refuses_block_headers_of_another_chunk(void **state) {
  (void)state;
  for (int field = 8; field <= 16; field += 8) {
    record_maker m;
    static const uint8_t bytes[70000];
    assay_riegeli_chunk chunk;
    assay_error err = {0};
    record_maker_begin(&m);
    record_maker_chunk(&m, 'r', (assay_span){bytes, sizeof bytes}, 1, sizeof bytes);
    uint8_t *header = m.bytes.data + 65536;
    header[field]++;
    maker_put_u64(header, assay_highway_hash(header + 8, 16));
    expect(assay_riegeli_read_header(span_of(&m.bytes), 64, m.bytes.size_bytes, &chunk, &err), &err,
           ASSAY_E_FORMAT, "by its own account", "another chunk");
    record_maker_reset(&m);
  }
}

static void refuses_chunks_that_cannot_be_where_they_are(void **state) {
  static const struct {
    assay_riegeli_chunk chunk;
    bool must_be_blank;
    assay_status status;
    const char *words;
  } rows[] = {
      {{.type = 'r', .n_records = 1}, false, ASSAY_OK, ""},
      {{.type = 't', .n_records = 1}, false, ASSAY_E_UNSUPPORTED, "transpose:false"},
      {{.type = 'p'}, false, ASSAY_E_FORMAT, "type 'p'"},
      {{.type = 'm'}, false, ASSAY_E_FORMAT, "type 'm'"},
      {{.type = 'x'}, false, ASSAY_E_FORMAT, "0x78"},
      {{.type = 'p', .data_bytes = 9}, true, ASSAY_OK, ""},
      {{.type = 's'}, true, ASSAY_OK, ""},
      {{.type = 'm', .decoded_bytes = 7, .data_bytes = 7}, true, ASSAY_OK, ""},
      {{.type = 'x', .decoded_bytes = 7}, true, ASSAY_OK, ""},
      {{.type = 'x', .n_records = 1}, true, ASSAY_E_FORMAT, "0x78"},
      {{.type = 'p', .decoded_bytes = 1}, true, ASSAY_E_FORMAT, "type 'p'"},
      {{.type = 's', .data_bytes = 1}, true, ASSAY_E_FORMAT, "type 's'"},
      {{.type = 'm', .n_records = 1}, true, ASSAY_E_FORMAT, "type 'm'"},
      {{.type = 'r', .n_records = 1}, true, ASSAY_E_FORMAT, "footer does not list"},
      {{.type = 't'}, true, ASSAY_E_UNSUPPORTED, "transpose:false"},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_error err = {0};
    assay_status st = rows[i].must_be_blank ? assay_riegeli_need_blank(&rows[i].chunk, &err)
                                            : assay_riegeli_need_simple(&rows[i].chunk, &err);
    if (rows[i].status)
      expect(st, &err, rows[i].status, rows[i].words, rows[i].words);
    else
      expect_ok(st, &err, "a type");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(places_chunks_as_the_reference_does),
      cmocka_unit_test(advances_by_one_byte_as_by_many),
      cmocka_unit_test(refuses_headers_that_do_not_fit),
      cmocka_unit_test(reads_a_chunk_and_sees_every_change_in_it),
      cmocka_unit_test(reads_across_block_headers),
      cmocka_unit_test(refuses_block_headers_of_another_chunk),
      cmocka_unit_test(refuses_chunks_that_cannot_be_where_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
