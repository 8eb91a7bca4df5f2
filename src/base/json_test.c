/* Tests of json.c: strict reading, building that fails once, texts that can be compared. */
#include "base/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/test_folder.h"

static assay_json *parse(const char *text) {
  assay_json *root = NULL;
  assay_error err = {0};
  if (assay_json_parse(text, strlen(text), &root, &err)) fail_msg("%s", err.text);
  return root;
}

static void values_keep_kind_and_order(void **state) {
  (void)state;
  assay_json *root = parse("{\"z\": [1, 1.0, -2e3, true, null, \"s\"], \"a\": {\"b\": false}}");
  assert_int_equal(assay_json_kind_of(root), ASSAY_JSON_OBJECT);
  assert_int_equal(assay_json_len(root), 2);
  assert_string_equal(assay_json_key_at(root, 0), "z");
  assert_string_equal(assay_json_key_at(root, 1), "a");
  assert_null(assay_json_key_at(root, 2));
  assert_null(assay_json_value_at(root, 2));
  const assay_json *z = assay_json_get(root, "z");
  assert_ptr_equal(assay_json_value_at(root, 0), z);
  assert_int_equal(assay_json_len(z), 6);
  assert_int_equal(assay_json_kind_of(assay_json_at(z, 0)), ASSAY_JSON_INT);
  assert_int_equal(assay_json_kind_of(assay_json_at(z, 1)), ASSAY_JSON_REAL);
  assert_int_equal(assay_json_int(assay_json_at(z, 0)), 1);
  assert_true(assay_json_real(assay_json_at(z, 0)) == 1.0);
  assert_true(assay_json_real(assay_json_at(z, 2)) == -2000.0);
  assert_true(assay_json_bool(assay_json_at(z, 3)));
  assert_int_equal(assay_json_kind_of(assay_json_at(z, 4)), ASSAY_JSON_NULL);
  assert_string_equal(assay_json_string(assay_json_at(z, 5)), "s");
  assert_null(assay_json_at(z, 6));
  /* Another kind gives the neutral value. */
  assert_null(assay_json_string(z));
  assert_null(assay_json_get(z, "z"));
  assert_int_equal(assay_json_int(z), 0);
  assert_true(isnan(assay_json_real(z)));
  assert_int_equal(assay_json_len(assay_json_at(z, 0)), 0);
  assay_json_destroy(root);
  assay_json_destroy(NULL);
}

static void what_is_not_json_is_refused_with_its_place(void **state) {
  (void)state;
  static const struct {
    const char *text, *words;
  } rows[] = {
      {"", "the text is empty"},
      {" ", "line 1"},
      {"{\"a\": 1,\n \"a\": 2}", "line 2, column 4: duplicate object key"},
      {"[1] 2", "end of file expected"},
      {"[NaN]", "invalid token"},
      {"[Infinity]", "invalid token"},
      {"[1,]", "line 1"},
      {"{'a': 1}", "line 1"},
      {"[01]", "line 1"},
      {"[1e999]", "real number overflow"},
      {"[9223372036854775808]", "too big integer"},
      {"[\"\\u0000\"]", "\\u0000 is not allowed"},
      {"[\"\xff\"]", "unable to decode byte 0xff"},
      {"\xef\xbb\xbf[]", "line 1"},
      {"[\"a", "line 1"},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_json *root = NULL;
    assay_error err = {0};
    assay_status st = assay_json_parse(rows[i].text, strlen(rows[i].text), &root, &err);
    if (st != ASSAY_E_FORMAT || strstr(err.text, rows[i].words) == NULL) {
      fail_msg("row %zu: %s: %s", i, assay_status_name(st), err.text);
    }
    assert_null(root);
  }
}

static void deep_nesting_is_refused_before_it_recurses(void **state) {
  (void)state;
  char text[2 * 513 + 1];
  for (size_t nesting = 512; nesting <= 513; nesting++) {
    memset(text, '[', nesting);
    memset(text + nesting, ']', nesting);
    assay_json *root = NULL;
    assay_error err = {0};
    assay_status st = assay_json_parse(text, 2 * nesting, &root, &err);
    assert_int_equal(st, nesting == 512 ? ASSAY_OK : ASSAY_E_LIMIT);
    if (st) assert_string_equal(err.text, "JSON line 1: nested over 512 deep");
    assay_json_destroy(root);
  }
  assay_json *brackets = parse("[\"[[[\\\"[[[\"]");
  assert_string_equal(assay_json_string(assay_json_at(brackets, 0)), "[[[\"[[[");
  assay_json_destroy(brackets);
}

static void needed_members_are_there_or_named(void **state) {
  (void)state;
  assay_json *root =
      parse("{\"s\": \"x\", \"i\": 7, \"r\": 1.5, \"b\": true, \"a\": [], \"o\": {}}");
  const char *s;
  int64_t i;
  double r;
  bool b;
  const assay_json *v;
  assert_int_equal(assay_json_need_string(root, "s", &s, NULL), ASSAY_OK);
  assert_int_equal(assay_json_need_int(root, "i", 0, 7, &i, NULL), ASSAY_OK);
  assert_int_equal(assay_json_need_real(root, "r", &r, NULL), ASSAY_OK);
  assert_true(s[0] == 'x' && i == 7 && r == 1.5);
  assert_int_equal(assay_json_need_real(root, "i", &r, NULL), ASSAY_OK); /* an integer will do */
  assert_true(r == 7.0);
  assert_int_equal(assay_json_need_bool(root, "b", &b, NULL), ASSAY_OK);
  assert_int_equal(assay_json_need_array(root, "a", &v, NULL), ASSAY_OK);
  assert_int_equal(assay_json_need_object(root, "o", &v, NULL), ASSAY_OK);
  assay_error err = {0};
  assert_int_equal(assay_json_need_string(root, "i", &s, &err), ASSAY_E_FORMAT);
  assert_string_equal(err.text, "'i': expected a string, found an integer");
  err = (assay_error){0};
  assert_int_equal(assay_json_need_int(root, "i", 0, 6, &i, &err), ASSAY_E_FORMAT);
  assert_string_equal(err.text, "'i': expected an integer from 0 to 6, found 7");
  err = (assay_error){0};
  assert_int_equal(assay_json_need_int(root, "r", 0, 6, &i, &err), ASSAY_E_FORMAT);
  assert_string_equal(err.text, "'r': expected an integer, found a number");
  err = (assay_error){0};
  assert_int_equal(assay_json_need_array(root, "x", &v, &err), ASSAY_E_FORMAT);
  assert_string_equal(err.text, "'x' is missing: expected an array");
  err = (assay_error){0};
  assert_int_equal(assay_json_need_bool(assay_json_get(root, "a"), "x", &b, &err), ASSAY_E_FORMAT);
  assert_string_equal(err.text, "expected an object with 'x', found an array");
  assay_json_destroy(root);
}

static void schema_and_keys_are_strict(void **state) {
  (void)state;
  static const char *const keys[] = {"schema", "num_convs"};
  assay_json *root = parse("{\"schema\": \"assay/result/2\", \"num_conv\": 3}");
  assay_error err = {0};
  assert_int_equal(assay_json_need_schema(root, "result", 2, &err), ASSAY_OK);
  assert_int_equal(assay_json_need_schema(root, "result", 1, &err), ASSAY_E_UNSUPPORTED);
  assert_non_null(strstr(err.text, "expected 'assay/result/1', found 'assay/result/2'"));
  err = (assay_error){0};
  assert_int_equal(assay_json_need_schema(root, "manifest", 2, &err), ASSAY_E_FORMAT);
  err = (assay_error){0};
  assert_int_equal(assay_json_only_keys(root, keys, N_OF(keys), &err), ASSAY_E_FORMAT);
  assert_string_equal(err.text, "unknown key 'num_conv': did you mean 'num_convs'?");
  assay_json_destroy(root);
}

static assay_status build_sample(assay_buf *out, assay_error *err) {
  assay_json *copied = NULL;
  assay_status st = assay_json_parse("[1, 2.5]", 8, &copied, err);
  if (st) return st;
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "name", "caf\xc3\xa9");
  assay_json_put_string(b, "none", NULL);
  assay_json_begin_array(b, "values");
  assay_json_put_int(b, NULL, INT64_MIN);
  assay_json_put_real(b, NULL, 0.1);
  assay_json_put_real(b, NULL, 1.0);
  assay_json_put_bool(b, NULL, false);
  assay_json_put_null(b, NULL);
  assay_json_end(b);
  assay_json_put_number(b, "mean", 2.0);
  assay_json_put_number(b, "worst", -HUGE_VAL);
  assay_json_put_copy(b, "copy", copied);
  assay_json_end(b);
  st = assay_json_builder_finish(b, out, err);
  assay_json_builder_destroy(b);
  assay_json_destroy(copied);
  return st;
}

static void a_document_is_written_in_order_with_all_digits(void **state) {
  (void)state;
  assay_buf text = {0};
  assert_int_equal(build_sample(&text, NULL), ASSAY_OK);
  assert_string_equal(assay_buf_text(&text), "{\n"
                                             "  \"name\": \"caf\xc3\xa9\",\n"
                                             "  \"none\": null,\n"
                                             "  \"values\": [\n"
                                             "    -9223372036854775808,\n"
                                             "    0.10000000000000001,\n"
                                             "    1.0,\n"
                                             "    false,\n"
                                             "    null\n"
                                             "  ],\n"
                                             "  \"mean\": 2.0,\n"
                                             "  \"worst\": null,\n"
                                             "  \"worst_class\": \"-inf\",\n"
                                             "  \"copy\": [\n"
                                             "    1,\n"
                                             "    2.5\n"
                                             "  ]\n"
                                             "}\n");
  assay_buf_reset(&text);
}

static void reals_come_back_bit_for_bit(void **state) {
  (void)state;
  static const double values[] = {0.1,  1.0 / 3.0,         5e-324, 1.7976931348623157e308,
                                  -0.0, 9007199254740993.0};
  for (size_t i = 0; i < N_OF(values); i++) {
    assay_json_builder *b = assay_json_builder_create();
    assay_json_put_real(b, NULL, values[i]);
    assay_buf text = {0};
    assert_int_equal(assay_json_builder_finish(b, &text, NULL), ASSAY_OK);
    assay_json *back = parse(assay_buf_text(&text));
    double value = assay_json_real(back);
    assert_memory_equal(&value, &values[i], sizeof value);
    assay_json_destroy(back);
    assay_buf_reset(&text);
    assay_json_builder_destroy(b);
  }
}

static void a_builder_fails_once_and_says_so_at_the_end(void **state) {
  (void)state;
  for (int kind = 0; kind < 8; kind++) {
    static const struct {
      assay_status status;
      const char *words;
    } rows[] = {{ASSAY_E_ARGUMENT, "'x': JSON has no NaN"},
                {ASSAY_E_ARGUMENT, "'x': the text is not UTF-8"},
                {ASSAY_E_INTERNAL, "end without begin"},
                {ASSAY_E_INTERNAL, "begin without end"},
                {ASSAY_E_INTERNAL, "'a': the key is there"},
                {ASSAY_E_INTERNAL, "members need a key"},
                {ASSAY_E_INTERNAL, "second value at the root"},
                {ASSAY_E_ARGUMENT, "the key is not UTF-8"}};
    assay_json_builder *b = assay_json_builder_create();
    assay_json_begin_object(b, NULL);
    assay_json_put_int(b, "a", 1);
    if (kind == 0) assay_json_put_real(b, "x", (double)NAN);
    if (kind == 1) assay_json_put_string(b, "x", "\xff");
    if (kind == 4) assay_json_put_int(b, "a", 2);
    if (kind == 5) assay_json_put_int(b, NULL, 2);
    if (kind == 7) assay_json_put_int(b, "\xff", 2);
    assay_json_put_int(b, "later", 2);
    if (kind != 3) assay_json_end(b);
    if (kind == 2) assay_json_end(b);
    if (kind == 6) assay_json_put_int(b, NULL, 2);
    assay_buf text = {0};
    assay_error err = {0};
    assay_status st = assay_json_builder_finish(b, &text, &err);
    if (st != rows[kind].status || strstr(err.text, rows[kind].words) == NULL) {
      fail_msg("kind %d: %s: %s", kind, assay_status_name(st), err.text);
    }
    assert_null(text.data);
    assay_json_builder_destroy(b);
  }
}

static void running_out_of_memory_is_said_at_each_step(void **state) {
  (void)state;
  for (int n = 0; n < 1000; n++) {
    assay_buf text = {0};
    assay_error err = {0};
    assay_alloc_fail_after(n);
    assay_status st = build_sample(&text, &err);
    assay_alloc_fail_after(-1);
    if (st == ASSAY_OK) {
      assert_true(n > 20);
      assay_buf_reset(&text);
      return;
    }
    if (st != ASSAY_E_MEMORY) fail_msg("step %d: %s: %s", n, assay_status_name(st), err.text);
    assay_buf_reset(&text);
  }
  fail();
}

static void a_document_is_read_from_a_file(void **state) {
  (void)state;
  test_folder folder;
  test_folder_open(&folder);
  const char *path = test_folder_file(&folder, "a.json");
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_array(b, NULL);
  assay_json_put_int(b, NULL, 5);
  assay_json_end(b);
  assert_int_equal(assay_json_builder_write(b, path, NULL), ASSAY_OK);
  assay_json_builder_destroy(b);
  assay_json *root = NULL;
  assert_int_equal(assay_json_read(path, 100, &root, NULL), ASSAY_OK);
  assay_buf line = {0};
  assert_int_equal(assay_json_dump(root, /*indented=*/false, &line, NULL), ASSAY_OK);
  assert_string_equal(assay_buf_text(&line), "[5]");
  assay_buf_reset(&line);
  assay_json_destroy(root);
  assay_error err = {0};
  assert_int_equal(assay_json_read(path, 3, &root, &err), ASSAY_E_LIMIT);
  assert_int_equal(assay_file_write(path, "[5", 2, NULL), ASSAY_OK);
  err = (assay_error){0};
  assert_int_equal(assay_json_read(path, 100, &root, &err), ASSAY_E_FORMAT);
  assert_non_null(strstr(err.text, "a.json': JSON line 1"));
  test_folder_close(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_keep_kind_and_order),
      cmocka_unit_test(what_is_not_json_is_refused_with_its_place),
      cmocka_unit_test(deep_nesting_is_refused_before_it_recurses),
      cmocka_unit_test(needed_members_are_there_or_named),
      cmocka_unit_test(schema_and_keys_are_strict),
      cmocka_unit_test(a_document_is_written_in_order_with_all_digits),
      cmocka_unit_test(reals_come_back_bit_for_bit),
      cmocka_unit_test(a_builder_fails_once_and_says_so_at_the_end),
      cmocka_unit_test(running_out_of_memory_is_said_at_each_step),
      cmocka_unit_test(a_document_is_read_from_a_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
