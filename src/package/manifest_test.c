/* Manifests: one that is right, one wrong in each field, cut at every byte, and memory failing at
 * every step. */
#include "package/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/test_folder.h"

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const char good[] =
    "{\"schema\": \"assay/manifest/1\", \"name\": \"toy-1\",\n"
    " \"tool\": {\"name\": \"assay\", \"version\": \"0.1\"},\n"
    " \"model\": {\"file\": \"model.onnx\", \"sha256\": \"" SHA_A "\", \"size_bytes\": 7,\n"
    "  \"external\": [{\"file\": \"data/w.bin\", \"sha256\": \"" SHA_A "\", \"size_bytes\": 3}],\n"
    "  \"opset\": 20, \"ir_version\": 9, \"dtype\": \"float32\", \"attention\": \"decomposed\",\n"
    "  \"shapes\": \"static\", \"attention_ops\": 5, \"fused_attention_ops\": 0,\n"
    "  \"architecture\": \"attention\", \"config\": {\"layers\": 3}},\n"
    " \"weights\": {\"origin\": \"seed\", \"seed\": 42, \"sha256\": \"" SHA_A "\"},\n"
    " \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"dims\": [\"B\", \"N\", 17]},\n"
    "  {\"name\": \"mask\", \"dtype\": \"float32\", \"dims\": [\"B\", \"N\"]}],\n"
    " \"mask_input\": \"mask\",\n"
    " \"heads\": [{\"name\": \"y\", \"kind\": \"classes\", \"dtype\": \"float32\", \"dims\": "
    "[\"B\", \"N\", 2],\n"
    "  \"atol\": 0.001, \"rtol\": 0.003}],\n"
    " \"reference\": {\"origin\": \"evaluator\", \"precision\": [\"float32\"]},\n"
    " \"cases\": [{\"name\": \"c1\", \"file\": \"cases/c1.npz\", \"sha256\": \"" SHA_A
    "\", \"size_bytes\": 9,\n"
    "  \"kind\": \"sweep\", \"source\": \"pool\", \"b\": 2, \"n\": 5, \"valid\": [5, 0],\n"
    "  \"model_file\": \"models/2x5.onnx\", \"model_sha256\": \"" SHA_A
    "\", \"model_size_bytes\": 7,\n"
    "  \"margins\": {\"key_ulp\": 3}},\n"
    "  {\"name\": \"c2\", \"file\": \"cases/c2.npz\", \"sha256\": \"" SHA_A
    "\", \"size_bytes\": 9,\n"
    "  \"kind\": \"event\", \"source\": \"file\", \"b\": 0, \"n\": 0, \"valid\": null, "
    "\"margins\": null}],\n"
    " \"notes\": [\"one\", \"two\"]}\n";

static test_folder folder; /* of all tests; main opens it */

static void put(const char *text, size_t size_bytes) {
  char *path = assay_path_join(folder.path, "manifest.json");
  assert_int_equal(assay_file_write(path, text, size_bytes, NULL), ASSAY_OK);
  assay_free(path);
}

static void reads_every_field(void **state) {
  (void)state;
  assay_manifest m = {0};
  assay_error err = {0};
  put(good, strlen(good));
  if (assay_manifest_read(folder.path, &m, &err)) fail_msg("%s", err.text);
  assert_string_equal(m.name, "toy-1");
  assert_string_equal(m.external[0].file, "data/w.bin");
  assert_int_equal(m.external[0].size_bytes, 3);
  assert_int_equal(m.attention_ops, 5);
  assert_int_equal(assay_json_int(assay_json_get(m.config, "layers")), 3);
  assert_int_equal(m.inputs[0].dims[2].size, 17);
  assert_string_equal(m.inputs[0].dims[1].symbol, "N");
  assert_int_equal(m.heads[0].kind, ASSAY_HEAD_CLASSES);
  assert_true(m.heads[0].atol == 1e-3 && m.heads[0].rtol == 3e-3);
  assert_ptr_equal(assay_manifest_head(&m, "y"), &m.heads[0]);
  assert_null(assay_manifest_head(&m, "z"));
  assert_int_equal(m.cases[0].valid[0], 5);
  assert_string_equal(m.cases[0].model.file, "models/2x5.onnx");
  assert_null(m.cases[1].valid);
  assert_null(m.cases[1].model.file);
  assert_int_equal(m.n_notes, 2);
  assay_manifest_reset(&m);
}

static void what_is_written_reads_the_same(void **state) {
  (void)state;
  assay_manifest m = {0}, again = {0};
  assay_buf first = {0}, second = {0};
  char *path = assay_path_join(folder.path, "manifest.json");
  put(good, strlen(good));
  assert_int_equal(assay_manifest_read(folder.path, &m, NULL), ASSAY_OK);
  assert_int_equal(assay_manifest_write(&m, folder.path, NULL), ASSAY_OK);
  assert_int_equal(assay_file_read(path, 1 << 20, &first, NULL), ASSAY_OK);
  assert_int_equal(assay_manifest_read(folder.path, &again, NULL), ASSAY_OK);
  assert_int_equal(assay_manifest_write(&again, folder.path, NULL), ASSAY_OK);
  assert_int_equal(assay_file_read(path, 1 << 20, &second, NULL), ASSAY_OK);
  assert_string_equal(assay_buf_text(&first), assay_buf_text(&second));
  assay_buf_reset(&first);
  assay_buf_reset(&second);
  assay_manifest_reset(&m);
  assay_manifest_reset(&again);
  assay_free(path);
}

/* Of a program that knew of no plan, and of one that does. */
static void keeps_a_plan(void **state) {
  (void)state;
  static const char *const FIND = "\"config\": {\"layers\": 3}";
  static const char *const WITH =
      "\"plan\": {\"attention\": \"decomposed\", \"heads\": \"float32\"}, \"config\": {}";
  assay_manifest m = {0};
  put(good, strlen(good));
  assert_int_equal(assay_manifest_read(folder.path, &m, NULL), ASSAY_OK);
  assert_null(m.plan);
  assay_manifest_reset(&m);
  const char *at = strstr(good, FIND);
  char *text = assay_format("%.*s%s%s", (int)(at - good), good, WITH, at + strlen(FIND));
  put(text, strlen(text));
  assert_int_equal(assay_manifest_read(folder.path, &m, NULL), ASSAY_OK);
  assert_int_equal(assay_manifest_write(&m, folder.path, NULL), ASSAY_OK);
  assay_manifest_reset(&m);
  assert_int_equal(assay_manifest_read(folder.path, &m, NULL), ASSAY_OK);
  assert_string_equal(assay_json_string(assay_json_get(m.plan, "heads")), "float32");
  assay_manifest_reset(&m);
  assay_free(text);
}

/* The first `find` in the good text becomes `with`; the error must hold `part`. */
typedef struct wrong {
  const char *find, *with, *part;
} wrong;

static const wrong wrongs[] = {
    {"assay/manifest/1", "assay/result/1", "manifest"},
    {"\"toy-1\"", "\"../toy\"", "'name'"},
    {"\"toy-1\"", "\"\"", "'name'"},
    {"\"toy-1\"", "\".hidden\"", "'name'"},
    {"\"toy-1\"", "7", "name"},
    {"\"version\": \"0.1\"", "\"version\": 1", "version"},
    {"\"version\": \"0.1\"", "\"version\": \"0.1\", \"extra\": 1", "extra"},
    {"\"model.onnx\"", "\"/model.onnx\"", "'file'"},
    {"\"model.onnx\"", "\"a/../../model.onnx\"", "'file'"},
    {"\"" SHA_A "\"", "\"" SHA_A "a\"", "'sha256'"},
    {"\"" SHA_A "\"",
     "\"A"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
     "'sha256'"},
    {"\"size_bytes\": 7", "\"size_bytes\": -7", "size_bytes"},
    {"\"size_bytes\": 7", "\"size_bytes\": 7.5", "size_bytes"},
    {"\"data/w.bin\"", "\"..\"", "external[0]"},
    {"\"opset\": 20", "\"opset\": 0", "opset"},
    {"\"opset\": 20", "\"opset\": \"20\"", "opset"},
    {"\"ir_version\": 9,", "", "ir_version"},
    {"\"dtype\": \"float32\", \"attention\"", "\"dtype\": null, \"attention\"", "dtype"},
    {"\"static\"", "\"elastic\"", "'shapes'"},
    {"\"static\"", "\"dynamic\"", "'model_file'"},
    {"\"fused_attention_ops\": 0", "\"fused_attention_ops\": 6", "'fused_attention_ops'"},
    {"\"config\": {\"layers\": 3}", "\"plan\": {\"attention\": \"mha\"}, \"config\": {}",
     "'plan': expected the attention that the model has (decomposed), found mha"},
    {"\"config\": {\"layers\": 3}", "\"plan\": {\"heads\": \"float32\"}, \"config\": {}",
     "'plan': expected the attention that the model has (decomposed), found none"},
    {"\"config\": {\"layers\": 3}", "\"plan\": {\"heads\": 16}, \"config\": {}",
     "'plan': expected texts"},
    {"\"config\": {\"layers\": 3}", "\"plan\": null, \"config\": {}", "plan"},
    {"\"config\": {\"layers\": 3}", "\"config\": 3", "config"},
    {"\"architecture\"", "\"architektur\"", "architektur"},
    {"\"origin\": \"seed\", ", "", "origin"},
    {"\"inputs\": [{", "\"inputs\": [], \"was\": [{", "was"},
    {"\"name\": \"x\"", "\"name\": \"\"", "inputs[0]"},
    {"\"name\": \"x\"", "\"name\": \"mask\"", "inputs[1]"},
    {"\"dtype\": \"float32\", \"dims\": [\"B\", \"N\", 17]", "\"dtype\": \"float31\", \"dims\": []",
     "'dtype'"},
    {"\"N\", 17]", "\"N\", -17]", "'dims[2]'"},
    {"\"N\", 17]", "\"\", 17]", "'dims[1]'"},
    {"\"N\", 17]", "1,2,3,4,5,6,7,8]", "'dims'"},
    {"\"N\", 17]", "true]", "'dims[1]'"},
    {"\"mask_input\": \"mask\"", "\"mask_input\": \"musk\"", "'mask_input'"},
    {"\"mask_input\": \"mask\"", "\"mask_input\": null", "'valid'"},
    {"\"kind\": \"classes\"", "\"kind\": \"clauses\"", "'kind'"},
    {"\"atol\": 0.001", "\"atol\": -0.001", "'atol'"},
    {"\"atol\": 0.001", "\"atol\": \"0.001\"", "atol"},
    {"\"rtol\": 0.003", "\"rtol\": null", "rtol"},
    {"\"kind\": \"classes\",", "\"kind\": \"classes\", \"weight\": 1,", "weight"},
    {"\"origin\": \"evaluator\", ", "", "origin"},
    {"\"name\": \"c1\"", "\"name\": \"c 1\"", "cases[0]"},
    {"\"name\": \"c1\"", "\"name\": \"c2\"", "twice"},
    {"cases/c1.npz", "cases/c2.npz", "twice"},
    {"cases/c1.npz", "cases\\\\c1.npz", "'file'"},
    {"\"kind\": \"sweep\"", "\"kind\": \"sweet\"", "'kind'"},
    {"\"b\": 2", "\"b\": 3", "'valid'"},
    {"\"b\": 2", "\"b\": -2", "b"},
    {"[5, 0]", "[6, 0]", "'valid[0]'"},
    {"[5, 0]", "[5, 0.5]", "'valid[1]'"},
    {"[5, 0]", "5", "valid"},
    {"\"model_size_bytes\": 7,", "", "model_size_bytes"},
    {"\"key_ulp\": 3}", "\"key_ulp\": NaN}", "manifest.json"},
    {"{\"key_ulp\": 3}", "[3]", "margins"},
    {"[\"one\", \"two\"]", "[\"one\", 2]", "'notes[1]'"},
    {"[\"one\", \"two\"]", "\"one\"", "notes"},
    {"\"notes\"", "\"name\": \"twice\", \"notes\"", "name"},
};

static void refuses_what_is_wrong_in_any_field(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(wrongs); i++) {
    assay_manifest m = {0};
    assay_error err = {0};
    const char *at = strstr(good, wrongs[i].find);
    if (at == NULL) fail_msg("row %zu: '%s' is not in the text", i, wrongs[i].find);
    char *text = assay_format("%.*s%s%s", (int)(at - good), good, wrongs[i].with,
                              at + strlen(wrongs[i].find));
    put(text, strlen(text));
    assay_status st = assay_manifest_read(folder.path, &m, &err);
    if (st != ASSAY_E_FORMAT || strstr(err.text, wrongs[i].part) == NULL ||
        strstr(err.text, "manifest.json") == NULL)
      fail_msg("'%s' as '%s': expected FORMAT with '%s', found %s: %s", wrongs[i].find,
               wrongs[i].with, wrongs[i].part, assay_status_name(st), err.text);
    assert_null(m.name); /* untouched */
    assay_free(text);
  }
}

static void refuses_another_version_as_such(void **state) {
  (void)state;
  assay_manifest m = {0};
  assay_error err = {0};
  static const char next[] = "{\"schema\": \"assay/manifest/2\"}";
  put(next, strlen(next));
  assert_int_equal(assay_manifest_read(folder.path, &m, &err), ASSAY_E_UNSUPPORTED);
}

static void refuses_a_text_cut_anywhere(void **state) {
  (void)state;
  for (size_t n = 0; n + 2 < strlen(good);
       n += 7) { /* up to the last brace; every byte takes too long */
    assay_manifest m = {0};
    put(good, n);
    if (assay_manifest_read(folder.path, &m, NULL) == ASSAY_OK)
      fail_msg("%zu bytes were enough", n);
  }
}

static void survives_memory_failing_at_every_step(void **state) {
  (void)state;
  put(good, strlen(good));
  for (int64_t n = 0;; n++) {
    assay_manifest m = {0};
    assay_error err = {0};
    assay_alloc_fail_after(n);
    assay_status st = assay_manifest_read(folder.path, &m, &err);
    assay_alloc_fail_after(-1);
    if (st == ASSAY_OK) {
      assay_manifest_reset(&m);
      assert_true(n > 50);
      return;
    }
    if (st != ASSAY_E_MEMORY)
      fail_msg("step %lld: %s: %s", (long long)n, assay_status_name(st), err.text);
  }
}

static void checks_a_file_by_size_and_digest(void **state) {
  (void)state;
  assay_manifest_file file = {.size_bytes = 3};
  char name[] = "f.bin";
  char *path = assay_path_join(folder.path, name);
  file.file = name;
  assert_int_equal(assay_file_write(path, "abc", 3, NULL), ASSAY_OK);
  assert_int_equal(assay_sha256_bytes("abc", 3, file.sha256, NULL), ASSAY_OK);
  assert_int_equal(assay_manifest_file_check(folder.path, &file, NULL), ASSAY_OK);
  assert_int_equal(assay_file_write(path, "abd", 3, NULL), ASSAY_OK);
  assert_int_equal(assay_manifest_file_check(folder.path, &file, NULL), ASSAY_E_MISMATCH);
  assert_int_equal(assay_file_write(path, "ab", 2, NULL), ASSAY_OK);
  assert_int_equal(assay_manifest_file_check(folder.path, &file, NULL), ASSAY_E_MISMATCH);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(assay_manifest_file_check(folder.path, &file, NULL), ASSAY_E_IO);
  assay_free(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_every_field),
      cmocka_unit_test(what_is_written_reads_the_same),
      cmocka_unit_test(keeps_a_plan),
      cmocka_unit_test(refuses_what_is_wrong_in_any_field),
      cmocka_unit_test(refuses_another_version_as_such),
      cmocka_unit_test(refuses_a_text_cut_anywhere),
      cmocka_unit_test(survives_memory_failing_at_every_step),
      cmocka_unit_test(checks_a_file_by_size_and_digest),
  };
  test_folder_open(&folder);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
