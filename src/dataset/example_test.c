/* Tests of example.c and proto_field.c. Vectors: bytes that google.protobuf gives. */
#include "dataset/example.h"

#include "dataset/dataset_test.h"

/* What hex holds, in a block of its own; the example borrows from it. */
static assay_span bytes_of(const char *hex) {
  assay_buf buf = {0};
  append_hex(&buf, hex);
  assay_span exact = exact_copy(buf.data, buf.size_bytes);
  assay_buf_reset(&buf);
  return exact;
}

static void reads_the_vectors_of_protobuf(void **state) {
  assay_example example = {0};
  assay_error err = {0};
  (void)state;

  assay_span record = bytes_of("0a0f 0a0d 0a0167 1208 1206 0a04 0000c03f");
  expect_ok(assay_example_parse(record, &example, &err), &err, "floats");
  assert_int_equal(example.n, 1);
  const assay_example_feature *f = assay_example_find(&example, "g");
  assert_non_null(f);
  assert_int_equal(f->kind, ASSAY_LIST_FLOAT);
  assert_int_equal(f->n_values, 1);
  float value;
  assay_example_floats(f, &value);
  assert_true(value >= 1.5f && value <= 1.5f);
  assert_null(assay_example_find(&example, "h"));
  assert_null(assay_example_find(&example, ""));
  free_copy(record);

  record = bytes_of("0a16 0a14 0a0161 120f 1a0d 0a0b 01 ffffffffffffffffff01");
  expect_ok(assay_example_parse(record, &example, &err), &err, "integers");
  f = assay_example_find(&example, "a");
  assert_int_equal(f->kind, ASSAY_LIST_INT64);
  int64_t ints[2];
  assert_int_equal(f->n_values, 2);
  assay_example_ints(f, ints);
  assert_int_equal(ints[0], 1);
  assert_int_equal(ints[1], -1);
  free_copy(record);

  record = bytes_of("0a0f 0a0d 0a0162 1208 0a06 0a00 0a026162");
  expect_ok(assay_example_parse(record, &example, &err), &err, "texts");
  f = assay_example_find(&example, "b");
  assert_int_equal(f->kind, ASSAY_LIST_BYTES);
  assert_int_equal(f->n_values, 2);
  assay_span texts[2];
  assay_example_bytes(f, texts);
  assert_int_equal(texts[0].size_bytes, 0);
  assert_int_equal(texts[1].size_bytes, 2);
  assert_memory_equal(texts[1].data, "ab", 2);
  free_copy(record);

  record = bytes_of("0a09 0a07 0a0165 1202 1200");
  expect_ok(assay_example_parse(record, &example, &err), &err, "no floats");
  f = assay_example_find(&example, "e");
  assert_int_equal(f->kind, ASSAY_LIST_FLOAT);
  assert_int_equal(f->n_values, 0);
  free_copy(record);
  assay_example_reset(&example);
}

/* Forms that a writer may choose: each holds feature "a" with the values 1 and 2. */
static void reads_every_form_of_the_same_list(void **state) {
  static const struct {
    const char *hex;
    assay_list_kind kind;
  } rows[] = {
      {"0a0d 0a0b 0a0161 1206 1a04 0a02 0102", ASSAY_LIST_INT64},               /* packed */
      {"0a0d 0a0b 0a0161 1206 1a04 0801 0802", ASSAY_LIST_INT64},               /* unpacked */
      {"0a0f 0a0d 0a0161 1208 1a06 0a0101 0a0102", ASSAY_LIST_INT64},           /* in pieces */
      {"0a0e 0a0c 0a0161 1207 1a05 0a0101 0802", ASSAY_LIST_INT64},             /* mixed */
      {"0a11 0a0f 0a0161 120a 1a03 0a0101 1a03 0a0102", ASSAY_LIST_INT64},      /* merged lists */
      {"0a13 0a11 0a0161 1205 1a03 0a0101 1205 1a03 0a0102", ASSAY_LIST_INT64}, /* and features */
      {"0a0d 0a0b 1206 1a04 0a02 0102 0a0161", ASSAY_LIST_INT64},               /* key last */
      {"0a11 0a0f 0a0161 1206 1a04 0a02 0102 1801 2000", ASSAY_LIST_INT64},     /* unknown fields */
      {"1001 0a0d 0a0b 0a0161 1206 1a04 0a02 0102", ASSAY_LIST_INT64},
      {"0a13 0a11 0a0161 120c 120a 0d 0000803f 0d 00000040", ASSAY_LIST_FLOAT}, /* unpacked */
      {"0a16 0a14 0a0161 120f 120d 0a04 0000803f 0d 00000040 0a00", ASSAY_LIST_FLOAT},
  };
  assay_example example = {0};
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_span record = bytes_of(rows[i].hex);
    assay_error err = {0};
    expect_ok(assay_example_parse(record, &example, &err), &err, rows[i].hex);
    const assay_example_feature *f = assay_example_find(&example, "a");
    assert_non_null(f);
    assert_int_equal(f->kind, rows[i].kind);
    assert_int_equal(f->n_values, 2);
    if (f->kind == ASSAY_LIST_FLOAT) {
      float values[2];
      assay_example_floats(f, values);
      assert_true(values[0] >= 1 && values[0] <= 1 && values[1] >= 2 && values[1] <= 2);
    } else {
      int64_t values[2];
      assay_example_ints(f, values);
      assert_int_equal(values[0], 1);
      assert_int_equal(values[1], 2);
    }
    free_copy(record);
  }
  assay_example_reset(&example);
}

/* A list of another kind replaces what was there, and later ones of the first kind do not bring it
 * back. */
static void lets_the_last_kind_of_list_win(void **state) {
  assay_span record = bytes_of("0a18 0a16 0a0161 1211 1a05 0a03010203 1206 0a0400000000 1a00");
  assay_example example = {0};
  assay_error err = {0};
  (void)state;
  expect_ok(assay_example_parse(record, &example, &err), &err, "kinds");
  const assay_example_feature *f = assay_example_find(&example, "a");
  assert_int_equal(f->kind, ASSAY_LIST_INT64);
  assert_int_equal(f->n_values, 0);
  free_copy(record);

  record = bytes_of("0a1b 0a19 0a0161 1214 1a05 0a03010203 1206 0a0400000000 1a03 0a0107");
  expect_ok(assay_example_parse(record, &example, &err), &err, "kinds");
  f = assay_example_find(&example, "a");
  assert_int_equal(f->n_values, 1);
  int64_t value;
  assay_example_ints(f, &value);
  assert_int_equal(value, 7);
  free_copy(record);
  assay_example_reset(&example);
}

static void keeps_the_last_of_equal_keys(void **state) {
  assay_span record = bytes_of("0a1d"
                               "0a07 0a0162 1202 1a00"
                               "0a09 0a0161 1204 1a02 0801"
                               "0a07 0a0161 1202 1200");
  assay_example example = {0};
  assay_error err = {0};
  (void)state;
  expect_ok(assay_example_parse(record, &example, &err), &err, "keys");
  assert_int_equal(example.n, 2);
  assert_int_equal(assay_example_find(&example, "a")->kind, ASSAY_LIST_FLOAT);
  assert_int_equal(assay_example_find(&example, "b")->kind, ASSAY_LIST_INT64);
  free_copy(record);
  assay_example_reset(&example);
}

static void reads_messages_with_nothing_in_them(void **state) {
  static const struct {
    const char *hex;
    size_t n;
    const char *key;
  } rows[] = {
      {"", 0, NULL},
      {"0a00", 0, NULL},
      {"0a02 0a00", 1, ""},              /* an entry without key and value */
      {"0a07 0a05 0a0161 1200", 1, "a"}, /* a feature without a list */
      {"0a05 0a03 0a0161", 1, "a"},      /* a key without a feature */
  };
  assay_example example = {0};
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_span record = bytes_of(rows[i].hex);
    assay_error err = {0};
    expect_ok(assay_example_parse(record, &example, &err), &err, rows[i].hex);
    assert_int_equal(example.n, rows[i].n);
    if (rows[i].key != NULL) {
      const assay_example_feature *f = assay_example_find(&example, rows[i].key);
      assert_int_equal(f->kind, ASSAY_LIST_NONE);
      assert_int_equal(f->n_values, 0);
      assay_example_floats(f, NULL);
      assay_example_ints(f, NULL);
      assay_example_bytes(f, NULL);
    }
    free_copy(record);
  }
  assay_example_reset(&example);
}

static void refuses_what_is_no_example(void **state) {
  static const struct {
    const char *hex, *words;
  } rows[] = {
      {"0a10 0a0e 0a0167 1209 1207 0a05 0000c03f00", "5 bytes of floats at byte 13"},
      {"0a01", "a length of 1 at byte 1, where 0 bytes are left"},
      {"0a", "number at byte 1"},
      {"02", "field number 0 at byte 0"},
      {"0b", "wire type 3 at byte 0"},
      {"0c", "wire type 4"},
      {"0e", "wire type 6"},
      {"0f", "wire type 7"},
      {"0801", "the features (field 1) has wire type 0"},
      {"0d01000000", "wire type 5, expected 2"},
      {"15010000", "a cut number at byte 1"},
      {"1101020304050607", "a cut number at byte 1"},
      {"ffffffffffffffffffff01", "overlong number at byte 0"},
      {"0a02 0801", "a feature (field 1) has wire type 0"},
      {"0a04 0a02 0801", "a part of a map entry"},
      {"0a06 0a04 1202 0801", "bytes_list (field 1) has wire type 0"},
      {"0a08 0a06 1204 0a02 0801", "a value of wire type 0 in a bytes_list at byte 8"},
      {"0a08 0a06 1204 1202 0801", "a value of wire type 0 in a float_list"},
      {"0a0b 0a09 1207 1a05 0d00000000", "a value of wire type 5 in a int64_list"},
      {"0a09 0a07 1205 1a03 0a01 80", "a cut or overlong number at byte 10"},
      {"0a13 0a11 120f 1a0d 0a0b ffffffffffffffffff02 00", "number at byte 10"},
  };
  assay_example example = {0};
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_span record = bytes_of(rows[i].hex);
    assay_error err = {0};
    expect(assay_example_parse(record, &example, &err), &err, ASSAY_E_FORMAT, rows[i].words,
           rows[i].hex);
    assert_int_equal(example.n, 0);
    free_copy(record);
  }
  assay_example_reset(&example);
}

static void append_bytes_field(assay_buf *buf, unsigned field, const assay_buf *bytes) {
  append_varint(buf, field << 3 | 2);
  append_varint(buf, bytes->size_bytes);
  append(buf, bytes->data, bytes->size_bytes);
}

static void bounds_names_and_numbers_of_features(void **state) {
  assay_example example = {0};
  assay_buf entry = {0}, features = {0}, record = {0};
  assay_error err = {0}, words = {0};
  (void)state;
  append_varint(&entry, 10);
  append_varint(&entry, 4097);
  for (int i = 0; i < 4097; i++) append(&entry, "k", 1);
  append_bytes_field(&features, 1, &entry);
  append_bytes_field(&record, 1, &features);
  expect(assay_example_parse(span_of(&record), &example, &err), &err, ASSAY_E_LIMIT,
         "name of 4097 bytes", "a long name");
  features.size_bytes = record.size_bytes = 0;
  for (int i = 0; i < 65537; i++) append(&features, "\x0a\x00", 2);
  append_bytes_field(&record, 1, &features);
  expect(assay_example_parse(span_of(&record), &example, &words), &words, ASSAY_E_LIMIT,
         "more than 65536 features", "many features");
  assay_buf_reset(&entry);
  assay_buf_reset(&features);
  assay_buf_reset(&record);
  assay_example_reset(&example);
}

/* A record with each kind of list, cut at every byte and with every bit flipped: an error, or
 * values within bounds. */
static void stays_in_bounds_whatever_the_bytes(void **state) {
  assay_span whole = bytes_of("0a37"
                              "0a0d 0a0167 1208 1206 0a04 0000c03f"
                              "0a14 0a0161 120f 1a0d 0a0b 01 ffffffffffffffffff01"
                              "0a0d 0a0162 1208 0a06 0a00 0a026162"
                              "0a01 18");
  assay_example example = {0};
  uint8_t *bytes = (uint8_t *)(uintptr_t)whole.data;
  (void)state;
  for (size_t n = 0; n < whole.size_bytes; n++) {
    assay_span prefix = exact_copy(whole.data, n);
    if (assay_example_parse(prefix, &example, NULL) == ASSAY_OK) assert_int_equal(n, 0);
    free_copy(prefix);
  }
  for (size_t bit = 0; bit < 8 * whole.size_bytes; bit++) {
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    if (assay_example_parse(whole, &example, NULL) == ASSAY_OK) {
      for (size_t i = 0; i < example.n; i++) {
        const assay_example_feature *f = &example.features[i];
        void *values = malloc(16 * f->n_values + 1);
        if (f->kind == ASSAY_LIST_FLOAT) assay_example_floats(f, values);
        if (f->kind == ASSAY_LIST_INT64) assay_example_ints(f, values);
        if (f->kind == ASSAY_LIST_BYTES) assay_example_bytes(f, values);
        free(values);
      }
    }
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  free_copy(whole);
  assay_example_reset(&example);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_the_vectors_of_protobuf),
      cmocka_unit_test(reads_every_form_of_the_same_list),
      cmocka_unit_test(lets_the_last_kind_of_list_win),
      cmocka_unit_test(keeps_the_last_of_equal_keys),
      cmocka_unit_test(reads_messages_with_nothing_in_them),
      cmocka_unit_test(refuses_what_is_no_example),
      cmocka_unit_test(bounds_names_and_numbers_of_features),
      cmocka_unit_test(stays_in_bounds_whatever_the_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
