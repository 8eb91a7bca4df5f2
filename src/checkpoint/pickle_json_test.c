/* Configurations against the tree that their writer dumped as JSON, and what other pickles become.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "checkpoint/pickle_json.h"

#define BYTES(literal) (literal), sizeof(literal) - 1

/* A numpy scalar's pickle up to its bytes. */
#define SCALAR(code) "cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(V" code "\nI00\nI01\ntR"

static bool same(const assay_json *a, const assay_json *b) {
  assay_json_kind kind = assay_json_kind_of(a);
  if (kind != assay_json_kind_of(b) || assay_json_len(a) != assay_json_len(b)) return false;
  switch (kind) {
  case ASSAY_JSON_NULL:
    return true;
  case ASSAY_JSON_BOOL:
    return assay_json_bool(a) == assay_json_bool(b);
  case ASSAY_JSON_INT:
    return assay_json_int(a) == assay_json_int(b);
  case ASSAY_JSON_REAL:
    return assay_json_real(a) == assay_json_real(b);
  case ASSAY_JSON_STRING:
    return strcmp(assay_json_string(a), assay_json_string(b)) == 0;
  case ASSAY_JSON_ARRAY:
    for (size_t i = 0; i < assay_json_len(a); i++) {
      if (!same(assay_json_at(a, i), assay_json_at(b, i))) return false;
    }
    return true;
  case ASSAY_JSON_OBJECT:
    for (size_t i = 0; i < assay_json_len(a); i++) {
      const char *key = assay_json_key_at(a, i);
      if (strcmp(key, assay_json_key_at(b, i)) != 0) return false; /* the order counts too */
      if (!same(assay_json_value_at(a, i), assay_json_value_at(b, i))) return false;
    }
    return true;
  }
  return false;
}

static void configurations_equal_their_json(void **state) {
  (void)state;
  static const char *const names[] = {"testdata/config/model_kwargs.pkl",
                                      "testdata/config/model_kwargs_p2.pkl",
                                      "testdata/config/model_kwargs_p4.pkl"};
  assay_json *expected = NULL;
  assert_int_equal(assay_json_read("testdata/config/model_kwargs.json", 1 << 20, &expected, NULL),
                   0);
  for (size_t i = 0; i < 3; i++) {
    assay_buf text = {0};
    assay_error err = {0};
    assay_json *found = NULL;
    if (assay_config_pickle_read(names[i], &text, &err)) fail_msg("%s", err.text);
    assert_int_equal(assay_json_parse(text.data, text.size_bytes, &found, NULL), ASSAY_OK);
    if (!same(expected, found)) fail_msg("%s: %s", names[i], assay_buf_text(&text));
    assay_json_destroy(found);
    assay_buf_reset(&text);
  }
  assay_json_destroy(expected);
}

static assay_json *read_config(const char *path) {
  assay_buf text = {0};
  assay_error err = {0};
  assay_json *found = NULL;
  if (assay_config_pickle_read(path, &text, &err)) fail_msg("%s", err.text);
  if (assay_json_parse(text.data, text.size_bytes, &found, &err)) fail_msg("%s", err.text);
  assay_buf_reset(&text);
  return found;
}

static void old_plain_dicts_are_configurations_too(void **state) {
  (void)state;
  assay_json *config = read_config("testdata/config/model_kwargs_dict.pkl");
  int64_t heads;
  const char *mode;
  assert_int_equal(assay_json_need_int(config, "num_heads", 1, 1000, &heads, NULL), ASSAY_OK);
  assert_int_equal(assay_json_need_string(config, "pt_mode", &mode, NULL), ASSAY_OK);
  assay_json_destroy(config);
  config = read_config("testdata/config/tiny_model_kwargs.pkl");
  const assay_json *attention = assay_json_get(assay_json_get(config, "model"), "attention");
  assert_int_equal(assay_json_need_int(attention, "head_dim", 2, 2, &heads, NULL), ASSAY_OK);
  assay_json_destroy(config);
}

static void enum_members_by_name_become_their_values(void **state) {
  (void)state;
  assay_json *config = read_config("testdata/odd/members.pkl");
  assert_string_equal(assay_json_string(assay_json_get(config, "mode")), "direct-elemtype-split");
  assert_string_equal(assay_json_string(assay_json_get(config, "dataset")), "clic_hits");
  assert_string_equal(assay_json_string(assay_json_get(config, "path")), "/a/b");
  assay_json_destroy(config);
}

/* One line of JSON for a pickle. */
static assay_status to_json(const char *bytes, size_t n, assay_buf *out, assay_error *err) {
  assay_pickle *pickle = NULL;
  assay_json *parsed = NULL;
  assay_buf text = {0};
  assay_status st = assay_pickle_parse(bytes, n, NULL, &pickle, err);
  if (st) return st;
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_array(b, NULL);
  st = assay_pickle_put_json(pickle, assay_pickle_root(pickle), b, NULL, err);
  assay_json_end(b);
  if (!st) st = assay_json_builder_finish(b, &text, err);
  if (!st) st = assay_json_parse(text.data, text.size_bytes, &parsed, err);
  if (!st) st = assay_json_dump(parsed, /*indented=*/false, out, err);
  assay_json_destroy(parsed);
  assay_json_builder_destroy(b);
  assay_buf_reset(&text);
  assay_pickle_destroy(pickle);
  return st;
}

static void values_become_json(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    const char *json;
  } rows[] = {
      {BYTES("(NI01\nK\7G\x3f\xf8\0\0\0\0\0\0t."), "[null,true,7,1.5]"},
      {BYTES("(Finf\nF-inf\nFnan\nt."), "[\"inf\",\"-inf\",\"nan\"]"},
      {BYTES("L99999999999999999999L\n."), "\"99999999999999999999\""},
      {BYTES("C\2\x01\xff."), "\"01ff\""},
      {BYTES("c__builtin__\ncomplex\n(K\1K\2tR."), "\"1+2j\""},
      {BYTES("X\3\0\0\0a\0b."), "\"a\\\\x00b\""},
      {BYTES("X\3\0\0\0\xed\xa0\x80."), "\"\\\\xed\\\\xa0\\\\x80\""},
      {BYTES("}(K\1N\x88N)NX\1\0\0\0kNu."), "{\"1\":null,\"a tuple #4\":null,\"k\":null}"},
      {BYTES("cm\nf\n."), "\"m.f\""},
      {BYTES("cm\nf\n(K\1tR."), "{\"call\":\"m.f\",\"args\":[1]}"},
      {BYTES("cm\nColour\n(X\3\0\0\0redtR."), "\"red\""},
      {BYTES("cm\nColour\n(K\3tR."), "3"},
      {BYTES("cm\nC\n)\x81}X\1\0\0\0aK\1sb."), "{\"a\":1}"},
      {BYTES("cm\nC\n)\x81(}X\1\0\0\0aK\1s}X\1\0\0\0bK\2stb."), "{\"a\":1,\"b\":2}"},
      {BYTES("cm\nC\n)\x81(N}X\1\0\0\0bK\2stb."), "{\"b\":2}"},
      {BYTES("cm\nC\n)\x81}(X\x08\0\0\0__dict__}X\1\0\0\0aK\1sX\x12\0\0\0__pydantic_extra__}X\1"
             "\0\0\0zK\2sub."),
       "{\"a\":1,\"z\":2}"},
      {BYTES("ctorch\ndevice\n(X\4\0\0\0cudaK\1tR."), "\"cuda:1\""},
      {BYTES("ctorch\nfloat16\n."), "\"torch.float16\""},
      {BYTES(SCALAR("i8") "C\10\1\0\0\0\0\0\0\x40tR."), "4611686018427387905"},
      {BYTES(SCALAR("u8") "C\10\1\0\0\0\0\0\0\x40tR."), "4611686018427387905"},
      {BYTES(SCALAR("u8") "C\10\xff\xff\xff\xff\xff\xff\xff\xfftR."), "\"18446744073709551615\""},
      {BYTES(SCALAR("b1") "C\1\1tR."), "true"},
      {BYTES(SCALAR("f4") "C\4\0\0\xc0\x3ftR."), "1.5"},
      {BYTES(SCALAR("f4") "C\4\0\0\xc0\x7ftR."), "\"nan\""},
      {BYTES(SCALAR("c8") "C\10\0\0\x80\x3f\0\0\0\xc0tR."), "\"1-2j\""},
      {BYTES("N\x85Q."), "{\"persistent\":[null]}"},
      {BYTES("]q\0h\0a."), "[\"...\"]"},
      {BYTES("}q\0X\1\0\0\0ah\0s."), "{\"a\":\"...\"}"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assay_buf text = {0};
    assay_error err = {0};
    if (to_json(rows[i].bytes, rows[i].n, &text, &err)) fail_msg("row %zu: %s", i, err.text);
    char found[256], expected[256];
    size_t at = 0;
    for (const char *c = assay_buf_text(&text); *c != '\0' && *c != '\n'; c++) {
      bool gap = *c == ' ' && (c[-1] == ',' || c[-1] == ':');
      if (!gap && at + 1 < sizeof found) found[at++] = *c;
    }
    found[at] = '\0';
    snprintf(expected, sizeof expected, "[%s]", rows[i].json);
    if (strcmp(found, expected) != 0)
      fail_msg("row %zu: expected %s, found %s", i, expected, found);
    assay_buf_reset(&text);
  }
}

static void sharing_is_written_out_within_a_limit(void **state) {
  (void)state;
  assay_buf bytes = {0}, text = {0};
  assay_error err = {0};
  assay_status st = assay_buf_append(&bytes, BYTES("]q\0"), NULL);
  for (int i = 0; i < 30 && !st; i++)
    st = assay_buf_append(&bytes, BYTES("0](h\0h\0h\0eq\0"), NULL);
  if (!st) st = assay_buf_append_text(&bytes, ".", NULL);
  assert_int_equal(st, ASSAY_OK);
  st = to_json((const char *)bytes.data, bytes.size_bytes, &text, &err);
  assert_int_equal(st, ASSAY_E_LIMIT);
  assert_non_null(strstr(err.text, "more than 1000000 values"));
  assay_buf_reset(&bytes);
  assay_buf_reset(&text);
}

static void other_pickles_are_no_configuration(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    assay_status status;
    const char *part;
  } rows[] = {
      {BYTES("K\1."), ASSAY_E_UNSUPPORTED, "found an integer"},
      {BYTES("cos\nsystem\n(X\2\0\0\0lstR."), ASSAY_E_UNSUPPORTED, "found an object"},
      {BYTES("}q\0K\1h\0s."), ASSAY_E_UNSUPPORTED, "contains itself"},
      {BYTES("}"), ASSAY_E_FORMAT, "without STOP"},
      {BYTES("{}"), ASSAY_E_FORMAT, "no pickle opcode"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assay_buf text = {0};
    assay_error err = {0};
    assay_status st = assay_config_pickle_decode(rows[i].bytes, rows[i].n, &text, &err);
    if (st != rows[i].status || strstr(err.text, rows[i].part) == NULL) {
      fail_msg("row %zu: %s %s", i, assay_status_name(st), err.text);
    }
    assay_buf_reset(&text);
  }
}

static void survives_every_failing_allocation(void **state) {
  (void)state;
  for (int64_t n = 0;; n++) {
    assay_buf text = {0};
    assay_alloc_fail_after(n);
    assay_status st =
        assay_config_pickle_read("testdata/config/tiny_model_kwargs.pkl", &text, NULL);
    assay_alloc_fail_after(-1);
    assay_buf_reset(&text);
    if (st == ASSAY_OK) break;
    if (st != ASSAY_E_MEMORY) fail_msg("allocation %lld: %s", (long long)n, assay_status_name(st));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(configurations_equal_their_json),
      cmocka_unit_test(old_plain_dicts_are_configurations_too),
      cmocka_unit_test(enum_members_by_name_become_their_values),
      cmocka_unit_test(values_become_json),
      cmocka_unit_test(sharing_is_written_out_within_a_limit),
      cmocka_unit_test(other_pickles_are_no_configuration),
      cmocka_unit_test(survives_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
