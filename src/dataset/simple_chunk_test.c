/* Tests of simple_chunk.c. The data of one record "record-0" are those of files of the reference
 * writer (testdata/array_record, first chunk). */
#include "dataset/simple_chunk.h"

#include "dataset/dataset_test.h"

#define MAX_BYTES 1000000

static const struct {
  assay_codec codec;
  const char *hex;
} samples[] = {
    {ASSAY_CODEC_NONE, "00 01 08 7265636f72642d30"},
    {ASSAY_CODEC_ZSTD, "7a 0b 01 28b52ffd20 01 090000 08 08 28b52ffd20 08 410000 7265636f72642d30"},
    {ASSAY_CODEC_BROTLI, "62 06 01 0b00800803 08 8b03807265636f72642d3003"},
    {ASSAY_CODEC_SNAPPY, "73 04 01 010008 08 081c7265636f72642d30"},
};

static void reads_what_the_reference_writes(void **state) {
  assay_simple_chunk chunk = {0};
  (void)state;
  for (size_t i = 0; i < N_OF(samples); i++) {
    assay_buf data = {0};
    assay_error err = {0};
    append_hex(&data, samples[i].hex);
    expect_ok(assay_simple_chunk_decode(&chunk, span_of(&data), 1, 8, MAX_BYTES, &err), &err,
              samples[i].hex);
    assert_int_equal(chunk.n_records, 1);
    assert_int_equal(chunk.codec, samples[i].codec);
    assay_span record = assay_simple_chunk_at(&chunk, 0);
    assert_int_equal(record.size_bytes, 8);
    assert_memory_equal(record.data, "record-0", 8);
    assay_buf_reset(&data);
  }
  assay_simple_chunk_reset(&chunk);
}

static void reads_records_without_bytes(void **state) {
  static const struct {
    const char *hex;
    size_t n_records;
  } rows[] = {
      {"00 00", 0},
      {"00 03 000000", 3},
      {"00 04 80000000", 3}, /* a longer spelling of 0, as Riegeli takes it */
      {"7a 0b 01 28b52ffd20 01 090000 00 00 28b52ffd20 00 010000", 1},
  };
  assay_simple_chunk chunk = {0};
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_buf data = {0};
    assay_error err = {0};
    append_hex(&data, rows[i].hex);
    expect_ok(
        assay_simple_chunk_decode(&chunk, span_of(&data), rows[i].n_records, 0, MAX_BYTES, &err),
        &err, rows[i].hex);
    assert_int_equal(chunk.n_records, rows[i].n_records);
    for (size_t k = 0; k < chunk.n_records; k++)
      assert_int_equal(assay_simple_chunk_at(&chunk, k).size_bytes, 0);
    assay_buf_reset(&data);
  }
  assay_simple_chunk_reset(&chunk);
}

static void refuses_each_wrong_field(void **state) {
  static const struct {
    const char *hex;
    uint64_t n_records, decoded_bytes;
    assay_status status;
    const char *words;
  } rows[] = {
      {"", 0, 0, ASSAY_E_FORMAT, "no data"},
      {"01 00", 0, 0, ASSAY_E_FORMAT, "unknown compression 0x01"},
      {"00", 0, 0, ASSAY_E_FORMAT, "length of the record sizes"},
      {"00 ffffffffffffffffff7f", 1, 1, ASSAY_E_FORMAT, "length of the record sizes"},
      {"00 02 01", 1, 1, ASSAY_E_FORMAT, "take 2 bytes where 1 are left"},
      {"00 01 01 61", 2, 1, ASSAY_E_FORMAT, "expected 2 to 20"},
      {"00 01 01 61", 0, 1, ASSAY_E_FORMAT, "sizes of the records"},
      {"00 02 0101 61", 1, 1, ASSAY_E_FORMAT, "1 bytes stand behind the sizes"},
      {"00 02 8180 61", 2, 1, ASSAY_E_FORMAT, "record 0 of 2 has no size"},
      {"00 01 02 61", 1, 1, ASSAY_E_FORMAT, "record 0 takes 2 bytes where 1"},
      {"00 01 00 61", 1, 1, ASSAY_E_FORMAT, "the records take 0 bytes"},
      {"00 01 01 6162", 1, 1, ASSAY_E_FORMAT, "records: they take 2 bytes"},
      {"00 01 01", 1, 1, ASSAY_E_FORMAT, "records: they take 0 bytes"},
      {"7a 00 00", 1, 0, ASSAY_E_FORMAT, "sizes of the records: no unpacked size"},
      {"7a 01 01", 1, 0, ASSAY_E_FORMAT, "sizes of the records: no zstd data"},
      {"7a 0b 0b 28b52ffd20 01 090000 08 00", 1, 0, ASSAY_E_FORMAT, "expected 1 to 10"},
      {"7a 0b 01 28b52ffd20 01 090000 08 09 28b52ffd20 08 410000 7265636f72642d30", 1, 8,
       ASSAY_E_FORMAT, "records: they take 9 bytes, by the chunk's header 8"},
      {"7a 0b 01 28b52ffd20 01 090000 08 09 28b52ffd20 08 410000 7265636f72642d30", 1, 9,
       ASSAY_E_FORMAT, "records: the zstd data unpack to 8 bytes, 9 are declared"},
      {"00 01 01", 1, UINT64_MAX, ASSAY_E_LIMIT, "bytes of records"},
      {"00 01 01", 1, MAX_BYTES + 1, ASSAY_E_LIMIT, "assay reads 1000000"},
      {"00 01 01", (UINT64_C(1) << 24) + 1, 0, ASSAY_E_LIMIT, "16777217 records"},
  };
  assay_simple_chunk chunk = {0};
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_buf data = {0};
    assay_error err = {0};
    append_hex(&data, rows[i].hex);
    assay_span exact = exact_copy(data.data, data.size_bytes);
    expect(assay_simple_chunk_decode(&chunk, exact, rows[i].n_records, rows[i].decoded_bytes,
                                     MAX_BYTES, &err),
           &err, rows[i].status, rows[i].words, rows[i].hex);
    assert_int_equal(chunk.n_records, 0);
    free_copy(exact);
    assay_buf_reset(&data);
  }
  assay_simple_chunk_reset(&chunk);
}

static void refuses_every_prefix(void **state) {
  assay_simple_chunk chunk = {0};
  (void)state;
  for (size_t i = 0; i < N_OF(samples); i++) {
    assay_buf data = {0};
    append_hex(&data, samples[i].hex);
    for (size_t n = 0; n < data.size_bytes; n++) {
      assay_span prefix = exact_copy(data.data, n);
      assay_error err = {0};
      expect(assay_simple_chunk_decode(&chunk, prefix, 1, 8, MAX_BYTES, &err), &err, ASSAY_E_FORMAT,
             "", samples[i].hex);
      free_copy(prefix);
    }
    assay_buf_reset(&data);
  }
  assay_simple_chunk_reset(&chunk);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_what_the_reference_writes),
      cmocka_unit_test(reads_records_without_bytes),
      cmocka_unit_test(refuses_each_wrong_field),
      cmocka_unit_test(refuses_every_prefix),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
