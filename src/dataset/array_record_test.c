/* Tests of array_record.c: files of the reference writer (testdata/README.md), and files made chunk
 * by chunk with something wrong under right hashes. */
#include "dataset/array_record.h"

#include <zstd.h>

#include "dataset/dataset_test.h"
#include "dataset/record_maker.h"

#define DATA       "testdata/array_record/"
#define FILE_BYTES ((size_t)131072) /* of the smaller samples */

static assay_buf read_sample(const char *name) {
  char path[256];
  snprintf(path, sizeof path, DATA "%s.array_record.gz", name);
  return read_packed(path);
}

/* Record i of the samples: "record-<i>" i + 1 times. */
static void expect_sample_record(assay_span record, uint64_t i) {
  char word[16], text[256] = "";
  snprintf(word, sizeof word, "record-%d", (int)i);
  for (uint64_t k = 0; k <= i; k++) strcat(text, word);
  assert_int_equal(record.size_bytes, strlen(text));
  assert_memory_equal(record.data, text, record.size_bytes);
}

/* ---- what is right ------------------------------------------------------------------------------
 */

static void reads_the_samples_in_any_order(void **state) {
  static const struct {
    const char *name;
    uint64_t group, n_chunks;
    assay_codec codec;
    const char *options;
  } rows[] = {
      {"g1_zstd", 1, 10, ASSAY_CODEC_ZSTD, "group_size:1,transpose:false,"},
      {"g1_brotli", 1, 10, ASSAY_CODEC_BROTLI, "brotli:6"},
      {"g1_snappy", 1, 10, ASSAY_CODEC_SNAPPY, "snappy"},
      {"g1_uncompressed", 1, 10, ASSAY_CODEC_NONE, "uncompressed"},
      {"g4_zstd", 4, 3, ASSAY_CODEC_ZSTD, "group_size:4"},
  };
  (void)state;
  for (size_t r = 0; r < N_OF(rows); r++) {
    assay_buf bytes = read_sample(rows[r].name);
    assay_array_record *file;
    assay_error err = {0};
    expect_ok(assay_array_record_open_bytes("f", span_of(&bytes), NULL, &file, &err), &err,
              rows[r].name);
    assay_array_record_info info = assay_array_record_describe(file);
    assert_int_equal(info.n_records, 10);
    assert_int_equal(info.n_chunks, rows[r].n_chunks);
    assert_int_equal(info.group_size, rows[r].group);
    assert_false(info.uneven_groups);
    assert_int_equal(info.file_bytes, bytes.size_bytes);
    assert_non_null(strstr(info.writer_options, rows[r].options));
    for (uint64_t k = 0; k < 30; k++) {
      uint64_t i = k * 7 % 10;
      assay_span record;
      expect_ok(assay_array_record_get(file, i, &record, &err), &err, rows[r].name);
      expect_sample_record(record, i);
      assert_int_equal(assay_array_record_last_codec(file), rows[r].codec);
    }
    assay_span record;
    expect(assay_array_record_get(file, 10, &record, &err), &err, ASSAY_E_ARGUMENT,
           "'f': no record 10, it holds 10", "behind the last");
    assay_error words = {0};
    expect_ok(assay_array_record_verify(file, &words), &words, rows[r].name);
    assay_array_record_close(file);
    assay_buf_reset(&bytes);
  }
}

static void reads_empty_files_and_empty_records(void **state) {
  static const struct {
    const char *name;
    size_t n;
    const char *records[4];
  } rows[] = {{"empty", 0, {NULL}}, {"empty_records", 4, {"", "a", "", ""}}};
  (void)state;
  for (size_t r = 0; r < N_OF(rows); r++) {
    assay_buf bytes = read_sample(rows[r].name);
    assay_array_record *file;
    assay_error err = {0};
    expect_ok(assay_array_record_open_bytes("f", span_of(&bytes), NULL, &file, &err), &err,
              rows[r].name);
    assert_int_equal(assay_array_record_describe(file).n_records, rows[r].n);
    for (size_t i = 0; i < rows[r].n; i++) {
      assay_span record;
      expect_ok(assay_array_record_get(file, i, &record, &err), &err, rows[r].name);
      assert_int_equal(record.size_bytes, strlen(rows[r].records[i]));
      assert_memory_equal(record.data, rows[r].records[i], record.size_bytes);
    }
    expect_ok(assay_array_record_verify(file, &err), &err, rows[r].name);
    assay_array_record_close(file);
    assay_buf_reset(&bytes);
  }
}

static void reads_a_record_over_four_blocks(void **state) {
  assay_buf bytes = read_sample("big_record_unc");
  assay_array_record *file;
  assay_span record;
  assay_error err = {0};
  (void)state;
  expect_ok(assay_array_record_open_bytes("f", span_of(&bytes), NULL, &file, &err), &err, "open");
  for (int again = 0; again < 2; again++) {
    expect_ok(assay_array_record_get(file, 0, &record, &err), &err, "big");
    assert_int_equal(record.size_bytes, 200000);
    for (size_t i = 0; i < record.size_bytes; i++) assert_int_equal(record.data[i], i % 251);
    assay_array_record_trim(file);
    expect_ok(assay_array_record_get(file, 1, &record, &err), &err, "tail");
    assert_int_equal(record.size_bytes, 4);
    assert_memory_equal(record.data, "tail", 4);
  }
  expect_ok(assay_array_record_verify(file, &err), &err, "verify");
  assay_array_record_close(file);
  assay_buf_reset(&bytes);
}

static assay_span text_span(const char *text) {
  return (assay_span){(const uint8_t *)text, strlen(text)};
}

static assay_status open_made(const record_maker *m, assay_array_record **out, assay_error *err) {
  return assay_array_record_open_bytes("f", span_of(&m->bytes), NULL, out, err);
}

/* The shapes of file that the samples lack: a header split by a block, a chunk that is mostly
 * padding, a footer so near a boundary that padding takes a block of its own, metadata in front. */
static void reads_chunks_in_awkward_places(void **state) {
  static uint8_t filler[70000];
  (void)state;
  for (size_t n_filler = 65300; n_filler < 65500; n_filler++) {
    record_maker m;
    assay_array_record *file;
    assay_span record;
    assay_error err = {0};
    const assay_span big = {filler, n_filler}, small = text_span("small");
    record_maker_begin(&m);
    record_maker_chunk(&m, 'm', text_span("metadata"), 0, 8);
    record_maker_records(&m, &big, 1);
    record_maker_records(&m, &small, 1);
    record_maker_finish(&m);
    expect_ok(open_made(&m, &file, &err), &err, "open");
    expect_ok(assay_array_record_get(file, 1, &record, &err), &err, "small");
    assert_int_equal(record.size_bytes, 5);
    assert_memory_equal(record.data, "small", 5);
    expect_ok(assay_array_record_get(file, 0, &record, &err), &err, "big");
    assert_int_equal(record.size_bytes, n_filler);
    expect_ok(assay_array_record_verify(file, &err), &err, "verify");
    assay_array_record_close(file);
    record_maker_reset(&m);
  }
}

static void reads_200000_empty_records_in_one_chunk(void **state) {
  size_t n = 200000;
  assay_buf data = {0};
  record_maker m;
  assay_array_record *file;
  assay_span record;
  assay_error err = {0};
  (void)state;
  append(&data, "", 1);
  append_varint(&data, n);
  for (size_t i = 0; i < n; i++) append(&data, "", 1);
  record_maker_begin(&m);
  record_maker_data(&m, span_of(&data), n, 0);
  record_maker_finish(&m);
  expect_ok(open_made(&m, &file, &err), &err, "open");
  assert_int_equal(assay_array_record_describe(file).n_records, n);
  expect_ok(assay_array_record_get(file, n - 1, &record, &err), &err, "last");
  assert_int_equal(record.size_bytes, 0);
  expect_ok(assay_array_record_verify(file, &err), &err, "verify");
  assay_array_record_close(file);
  assay_buf_reset(&data);
  record_maker_reset(&m);
}

/* Odd, but every index is where the footer says. */
static void reads_groups_of_uneven_size_and_says_so(void **state) {
  const assay_span records[] = {text_span("a"), text_span("b"), text_span("c")};
  record_maker m;
  assay_array_record *file;
  assay_error err = {0};
  (void)state;
  record_maker_begin(&m);
  record_maker_records(&m, records, 1);
  record_maker_records(&m, records, 3);
  record_maker_records(&m, records, 2);
  record_maker_finish(&m);
  expect_ok(open_made(&m, &file, &err), &err, "open");
  assert_true(assay_array_record_describe(file).uneven_groups);
  for (uint64_t i = 0; i < 6; i++) {
    assay_span record;
    expect_ok(assay_array_record_get(file, i, &record, &err), &err, "get");
    assert_int_equal(record.data[0], "aabcab"[i]);
  }
  assay_array_record_close(file);
  record_maker_reset(&m);
}

/* ---- what is wrong ------------------------------------------------------------------------------
 */

static void refuses_transposed_files_by_name(void **state) {
  assay_buf bytes = read_sample("g2_transpose_unc");
  assay_array_record *file;
  assay_error err = {0};
  (void)state;
  expect(assay_array_record_open_bytes("t.array_record", span_of(&bytes), NULL, &file, &err), &err,
         ASSAY_E_UNSUPPORTED, "rewrite the dataset with transpose:false", "transposed");
  assert_non_null(strstr(err.text, "'t.array_record'"));
  assay_buf_reset(&bytes);

  record_maker m;
  record_maker_begin(&m);
  assay_buf data = {0};
  append_hex(&data, "000b02020502050201010000006465616263020300");
  m.entries[m.n_entries++] = (record_maker_entry){64, 5, 2};
  record_maker_chunk(&m, 't', span_of(&data), 2, 5);
  record_maker_finish(&m);
  assay_error words = {0};
  assay_span record;
  expect_ok(open_made(&m, &file, &words), &words, "open");
  expect(assay_array_record_get(file, 0, &record, &words), &words, ASSAY_E_UNSUPPORTED,
         "'f': record 0: chunk at offset 64: Riegeli-transposed (type 't')", "chunk");
  assay_array_record_close(file);
  assay_buf_reset(&data);
  record_maker_reset(&m);
}

static void says_what_a_file_is_not(void **state) {
  static const struct {
    const char *bytes;
    size_t n;
    const char *words;
  } rows[] = {
      {"", 0, "0 bytes, expected a multiple of 65536"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", 64,
       "Git LFS pointer"},
      {"\x1f\x8b\x08", 3, "not an ArrayRecord file: its first 3 bytes"},
      {"\x83\xaf\x70", 3, "truncated or not an ArrayRecord file: 3 bytes"},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    const assay_span bytes = {(const uint8_t *)rows[i].bytes, rows[i].n};
    assay_array_record *file;
    assay_error err = {0};
    expect(assay_array_record_open_bytes("f", bytes, NULL, &file, &err), &err, ASSAY_E_FORMAT,
           rows[i].words, rows[i].words);
  }
  assay_array_record *file;
  assay_error err = {0};
  expect(assay_array_record_open(DATA "no_such_file", NULL, &file, &err), &err, ASSAY_E_IO,
         "no_such_file", "nothing there");
}

/* All there is to read of a file: false, with err set, when something in it is refused. */
static bool read_all(assay_span bytes, bool with_verify, uint64_t *out_sum, assay_error *err) {
  assay_array_record *file;
  uint64_t sum = 0;
  if (assay_array_record_open_bytes("f", bytes, NULL, &file, err)) return false;
  assay_status st = ASSAY_OK;
  uint64_t n = assay_array_record_describe(file).n_records;
  for (uint64_t i = 0; i < n && !st; i++) {
    assay_span record;
    st = assay_array_record_get(file, i, &record, err);
    if (!st) sum = sum * 31 + assay_highway_hash(record.data, record.size_bytes);
  }
  if (!st && with_verify) st = assay_array_record_verify(file, err);
  assay_array_record_close(file);
  *out_sum = sum * 31 + n;
  return st == ASSAY_OK;
}

/* One bit of every byte in front of the padding and of the postscript; of the padding every 97th.
 * Reading the records finds it or gives the same; verify finds it in any case. */
static void finds_every_changed_byte(void **state) {
  static const char *const names[] = {"g1_zstd", "g4_zstd", "g1_snappy", "g1_brotli"};
  (void)state;
  for (size_t r = 0; r < N_OF(names); r++) {
    assay_buf bytes = read_sample(names[r]);
    assert_int_equal(bytes.size_bytes, FILE_BYTES);
    uint64_t whole, sum;
    assay_error none = {0};
    assert_true(read_all(span_of(&bytes), /*with_verify=*/true, &whole, &none));
    for (size_t i = 0; i < bytes.size_bytes;) {
      bool is_padding = (i > 1700 && i < 65536) || i > 65536 + 200;
      assay_error err = {0}, words = {0};
      bytes.data[i] ^= (uint8_t)(1 << i % 8);
      if (!is_padding && read_all(span_of(&bytes), /*with_verify=*/false, &sum, &err) &&
          sum != whole)
        fail_msg("%s: byte %zu changed the records unseen", names[r], i);
      if (read_all(span_of(&bytes), /*with_verify=*/true, &sum, &words))
        fail_msg("%s: byte %zu changed and was not found", names[r], i);
      if (strncmp(words.text, "'f': ", 5) != 0) fail_msg("no file named: %s", words.text);
      bytes.data[i] ^= (uint8_t)(1 << i % 8);
      i += is_padding ? 97 : 1;
    }
    assay_buf_reset(&bytes);
  }
}

/* Cut at every byte; and the same with zeroes up to a size that a file may have. */
static void refuses_files_cut_anywhere(void **state) {
  assay_buf bytes = read_sample("g1_zstd");
  assay_array_record *file;
  uint64_t sum;
  (void)state;
  for (size_t n = 0; n < bytes.size_bytes; n++) {
    assay_error err = {0};
    bool is_copied = n < 2000 || n % 4096 == 0;
    const assay_span view = {bytes.data, n};
    assay_span prefix = is_copied ? exact_copy(bytes.data, n) : view;
    expect(assay_array_record_open_bytes("f", prefix, NULL, &file, &err), &err, ASSAY_E_FORMAT,
           "truncated or not an ArrayRecord file", "a prefix");
    if (is_copied) free_copy(prefix);
  }
  for (size_t n = 0; n < 65536 + 72; n += n < 1700 ? 1 : 501) {
    assay_span cut = exact_copy(bytes.data, bytes.size_bytes);
    assay_error err = {0};
    memset((uint8_t *)(uintptr_t)cut.data + n, 0, cut.size_bytes - n);
    if (read_all(cut, /*with_verify=*/false, &sum, &err)) fail_msg("cut at %zu, and read", n);
    free_copy(cut);
  }
  assay_buf_reset(&bytes);
}

/* Everything right but for one statement of footer or postscript. */
static void refuses_footers_that_contradict(void **state) {
  enum { VERSION, MAGIC, CHUNKS, RECORDS, SHIFT, COPIES, OFFSET, ORDER, ZERO, MANY, PAST, OPTIONS };
  static const struct {
    int what;
    assay_status status;
    const char *words;
  } rows[] = {
      {VERSION, ASSAY_E_UNSUPPORTED, "version 2 of the format"},
      {MAGIC, ASSAY_E_FORMAT, "postscript: magic number"},
      {CHUNKS, ASSAY_E_FORMAT, "it counts 3 chunks and lists 2"},
      {RECORDS, ASSAY_E_FORMAT, "its entries hold 2 records, it counts 3"},
      {SHIFT, ASSAY_E_FORMAT, "footer: chunk at offset"},
      {COPIES, ASSAY_E_FORMAT, "postscript: no record"},
      {OFFSET, ASSAY_E_FORMAT, "entry 0: offset 63"},
      {ORDER, ASSAY_E_FORMAT, "entry 1: offset 64"},
      {ZERO, ASSAY_E_FORMAT, "entry 0: 0 records"},
      {MANY, ASSAY_E_FORMAT, "entry 0: 3 records, where 1 to 2 can be"},
      {PAST, ASSAY_E_FORMAT, "entry 1: offset 65000"},
      {OPTIONS, ASSAY_E_UNSUPPORTED, "transpose:true"},
  };
  const assay_span record = text_span("hello");
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    record_maker m;
    assay_array_record *file;
    assay_error err = {0};
    record_maker_begin(&m);
    record_maker_records(&m, &record, 1);
    record_maker_records(&m, &record, 1);
    m.version += rows[i].what == VERSION;
    m.magic += rows[i].what == MAGIC;
    m.extra_chunks += rows[i].what == CHUNKS;
    m.extra_records += rows[i].what == RECORDS;
    m.footer_offset_shift += rows[i].what == SHIFT;
    if (rows[i].what == COPIES) m.postscript_copies = 0;
    if (rows[i].what == OFFSET) m.entries[0].offset = 63;
    if (rows[i].what == ORDER) m.entries[1].offset = 64;
    if (rows[i].what == ZERO) {
      m.entries[0].n_records = 0;
      m.extra_records = 1;
    }
    if (rows[i].what == MANY) {
      m.entries[0].n_records = 3;
      m.extra_records = UINT64_MAX - 1;
    }
    if (rows[i].what == PAST) m.entries[1].offset = 65000;
    if (rows[i].what == OPTIONS) m.options = "group_size:1,transpose:true";
    record_maker_finish(&m);
    expect(open_made(&m, &file, &err), &err, rows[i].status, rows[i].words, rows[i].words);
    record_maker_reset(&m);
  }
}

/* The footer says one thing, the chunk's header another. */
static void refuses_chunks_that_are_not_as_the_footer_says(void **state) {
  const assay_span records[] = {text_span("hello"), text_span("world")};
  (void)state;
  for (int what = 0; what < 4; what++) {
    record_maker m;
    assay_array_record *file;
    assay_span record;
    assay_error err = {0}, words = {0};
    record_maker_begin(&m);
    if (what == 3) record_maker_chunk(&m, 'p', text_span("zeroes"), 0, 0);
    record_maker_records(&m, records, 2);
    if (what == 0) m.entries[0].decoded_bytes++;
    if (what == 1) m.entries[0].n_records--;
    if (what == 3) m.entries[0].offset = 64;
    if (what == 2) {
      /* A chunk of records between the listed ones. */
      assay_buf data = {0};
      uint64_t decoded_bytes = maker_simple(&data, records, 1);
      record_maker_chunk(&m, 'r', span_of(&data), 1, decoded_bytes);
      assay_buf_reset(&data);
    }
    record_maker_finish(&m);
    expect_ok(open_made(&m, &file, &err), &err, "open");
    static const char *const found[] = {"2 records of 10 bytes, by the footer 2 of 11",
                                        "2 records of 10 bytes, by the footer 1 of 10",
                                        "that the footer does not list", "type 'p'"};
    if (what == 2)
      expect_ok(assay_array_record_get(file, 0, &record, &err), &err, "get");
    else
      expect(assay_array_record_get(file, 0, &record, &err), &err, ASSAY_E_FORMAT, found[what],
             "get");
    expect(assay_array_record_verify(file, &words), &words, ASSAY_E_FORMAT, found[what], "verify");
    assay_array_record_close(file);
    record_maker_reset(&m);
  }
}

/* 64 MiB of zeroes in a few kB: refused by the limit before anything is allocated for it; and one
 * that is said to be small. */
static void bounds_what_a_chunk_may_unpack_to(void **state) {
  size_t n = (size_t)64 << 20;
  uint8_t *zeroes = calloc(n, 1);
  uint8_t packed[16384];
  (void)state;
  assert_non_null(zeroes);
  size_t n_packed = ZSTD_compress(packed, sizeof packed, zeroes, n, 1);
  free(zeroes);
  assert_false(ZSTD_isError(n_packed));
  for (int is_small = 0; is_small < 2; is_small++) {
    uint64_t said = is_small ? 1000 : n;
    assay_buf data = {0}, sizes = {0};
    record_maker m;
    assay_array_record *file;
    assay_span record;
    assay_error err = {0};
    uint8_t frame[64];
    append_varint(&sizes, said);
    size_t n_frame = ZSTD_compress(frame, sizeof frame, sizes.data, sizes.size_bytes, 1);
    append(&data, "z", 1);
    append_varint(&data, n_frame + 1);
    append_varint(&data, sizes.size_bytes);
    append(&data, frame, n_frame);
    append_varint(&data, said);
    append(&data, packed, n_packed);
    record_maker_begin(&m);
    record_maker_data(&m, span_of(&data), 1, said);
    record_maker_finish(&m);
    const assay_record_limits limits = {.max_decoded_bytes = 1000000};
    expect_ok(assay_array_record_open_bytes("f", span_of(&m.bytes), &limits, &file, &err), &err,
              "open");
    if (is_small)
      expect(assay_array_record_get(file, 0, &record, &err), &err, ASSAY_E_FORMAT,
             "more than the declared 1000", "said to be small");
    else
      expect(assay_array_record_get(file, 0, &record, &err), &err, ASSAY_E_LIMIT,
             "67108864 bytes of records in one chunk, assay reads 1000000", "large");
    assay_array_record_close(file);
    assay_buf_reset(&data);
    assay_buf_reset(&sizes);
    record_maker_reset(&m);
  }
}

/* Chunks that claim 80 GiB together: nothing is unpacked before that is seen. */
static void bounds_what_all_chunks_unpack_to(void **state) {
  record_maker m;
  assay_array_record *file;
  assay_error err = {0};
  (void)state;
  record_maker_begin(&m);
  for (int i = 0; i < 5; i++)
    record_maker_data(&m, (assay_span){(const uint8_t *)"z\1\1\1", 4}, 1, (uint64_t)16 << 30);
  record_maker_finish(&m);
  expect_ok(assay_array_record_open_bytes("f", span_of(&m.bytes), /*limits=*/NULL, &file, &err),
            &err, "open");
  expect(assay_array_record_verify(file, &err), &err, ASSAY_E_LIMIT,
         "its records unpack to more than 68719476736 bytes", "80 GiB");
  assay_array_record_close(file);
  record_maker_reset(&m);
}

static void says_that_memory_is_out_at_each_step(void **state) {
  static const char *const names[] = {"g4_zstd", "g1_brotli", "big_record_unc"};
  (void)state;
  for (size_t r = 0; r < N_OF(names); r++) {
    assay_buf bytes = read_sample(names[r]);
    assay_status st = ASSAY_E_MEMORY;
    for (int n = 0; st; n++) {
      assay_array_record *file = NULL;
      assay_span record;
      assay_error err = {0};
      assay_alloc_fail_after(n);
      st = assay_array_record_open_bytes("f", span_of(&bytes), NULL, &file, &err);
      if (!st) st = assay_array_record_get(file, 1, &record, &err);
      if (!st) st = assay_array_record_get(file, 0, &record, &err);
      assay_alloc_fail_after(-1);
      if (st) expect(st, &err, ASSAY_E_MEMORY, "", names[r]);
      /* After a failure the reader is as good as before. */
      if (st && file != NULL) {
        assay_error none = {0};
        expect_ok(assay_array_record_get(file, 0, &record, &none), &none, names[r]);
      }
      assay_array_record_close(file);
      assert_true(n < 200);
    }
    assay_buf_reset(&bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_the_samples_in_any_order),
      cmocka_unit_test(reads_empty_files_and_empty_records),
      cmocka_unit_test(reads_a_record_over_four_blocks),
      cmocka_unit_test(reads_chunks_in_awkward_places),
      cmocka_unit_test(reads_200000_empty_records_in_one_chunk),
      cmocka_unit_test(reads_groups_of_uneven_size_and_says_so),
      cmocka_unit_test(refuses_transposed_files_by_name),
      cmocka_unit_test(says_what_a_file_is_not),
      cmocka_unit_test(finds_every_changed_byte),
      cmocka_unit_test(refuses_files_cut_anywhere),
      cmocka_unit_test(refuses_footers_that_contradict),
      cmocka_unit_test(refuses_chunks_that_are_not_as_the_footer_says),
      cmocka_unit_test(bounds_what_a_chunk_may_unpack_to),
      cmocka_unit_test(bounds_what_all_chunks_unpack_to),
      cmocka_unit_test(says_that_memory_is_out_at_each_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
