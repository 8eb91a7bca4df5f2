#include "onnx/model_info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/test_folder.h"
#include "onnx/onnx_test.h"

static assay_status parse(const assay_buf *bytes, assay_onnx_info **out, assay_error *err) {
  *out = NULL;
  return assay_onnx_info_parse(bytes->data, bytes->size_bytes, out, err);
}

static void expect_failure(assay_buf *model, assay_status status, const char *text) {
  assay_error err = {0};
  assay_onnx_info *info = NULL;
  assay_status st = parse(model, &info, &err);
  assert_null(info);
  if (st != status || strstr(err.text, text) == NULL) {
    fail_msg("got %s '%s', expected %s with '%s'", assay_status_name(st), err.text,
             assay_status_name(status), text);
  }
  assay_buf_reset(model);
}

static assay_onnx_info *open_model(const char *path) {
  assay_error err = {0};
  assay_onnx_info *info = NULL;
  if (assay_onnx_info_open(path, &info, &err)) fail_msg("%s", err.text);
  return info;
}

/* ---- files ---- */

static const struct {
  const char *path;
  int64_t ir, opset;
  size_t n_nodes, n_ops, n_inputs, n_outputs, n_initializers;
  uint64_t initializer_bytes;
  const char *domain, *op; /* one of the ops, with its count */
  size_t n_op;
} MODELS[] = {
    {"testdata/models/attn24_f32_boolmask4d.onnx", 12, 24, 1, 1, 4, 1, 0, 0, "", "Attention", 1},
    {"testdata/models/mha_f32.onnx", 8, 17, 1, 1, 4, 1, 0, 0, "com.microsoft", "MultiHeadAttention",
     1},
    {"testdata/models/fn.onnx", 8, 17, 2, 1, 1, 1, 0, 0, "local", "MyFn", 2},
    {"testdata/models/opset99.onnx", 12, 99, 1, 1, 1, 1, 0, 0, "", "Relu", 1},
    {"testdata/models/unkop.onnx", 8, 17, 1, 1, 1, 1, 0, 0, "my.dom", "NoSuchOp", 1},
    {"testdata/models/topk_i64_l1_s1.onnx", 8, 17, 1, 1, 2, 2, 0, 0, "", "TopK", 1},
    {"testdata/models/badname.onnx", 8, 17, 2, 2, 1, 1, 0, 0, "", "Neg", 1},
};

static void says_what_a_model_holds(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof MODELS / sizeof *MODELS; i++) {
    assay_onnx_info *info = open_model(MODELS[i].path);
    size_t n = 0, n_op = 0;
    const assay_onnx_opset *opsets = assay_onnx_info_opsets(info, &n);
    assert_in_range(n, 1, 2);
    assert_int_equal(opsets[0].version, MODELS[i].opset);
    assert_string_equal(opsets[0].domain, "");
    assert_int_equal(assay_onnx_info_ir_version(info), MODELS[i].ir);
    assert_int_equal(assay_onnx_info_n_nodes(info), MODELS[i].n_nodes);
    assert_int_equal(assay_onnx_info_n_initializers(info), MODELS[i].n_initializers);
    assert_int_equal(assay_onnx_info_initializer_bytes(info), MODELS[i].initializer_bytes);
    (void)assay_onnx_info_inputs(info, &n);
    assert_int_equal(n, MODELS[i].n_inputs);
    (void)assay_onnx_info_outputs(info, &n);
    assert_int_equal(n, MODELS[i].n_outputs);
    const assay_onnx_op_count *ops = assay_onnx_info_ops(info, &n);
    assert_int_equal(n, MODELS[i].n_ops);
    for (size_t k = 0; k < n; k++) {
      if (strcmp(ops[k].op, MODELS[i].op) == 0 && strcmp(ops[k].domain, MODELS[i].domain) == 0) {
        n_op = ops[k].n;
      }
    }
    if (n_op != MODELS[i].n_op) fail_msg("%s: %zu of %s", MODELS[i].path, n_op, MODELS[i].op);
    assay_onnx_info_close(info);
  }
}

static void counts_nodes_and_initialisers_of_subgraphs(void **state) {
  (void)state;
  assay_onnx_info *info = open_model("testdata/models/cf.onnx");
  size_t n = 0, loops = 0, ifs = 0, total = 0;
  const assay_onnx_op_count *ops = assay_onnx_info_ops(info, &n);
  for (size_t i = 0; i < n; i++) {
    if (strcmp(ops[i].op, "Loop") == 0) loops = ops[i].n;
    if (strcmp(ops[i].op, "If") == 0) ifs = ops[i].n;
    if (i > 0) assert_true(strcmp(ops[i - 1].op, ops[i].op) < 0);
    total += ops[i].n;
  }
  assert_int_equal(loops, 1);
  assert_int_equal(ifs, 1);
  assert_int_equal(total, assay_onnx_info_n_nodes(info));
  assert_true(total > 4); /* the main graph has four */
  assay_onnx_info_close(info);
}

static void types_and_shapes_are_read(void **state) {
  (void)state;
  assay_onnx_info *info = open_model("testdata/models/fp16_21.onnx");
  size_t n = 0;
  const assay_onnx_value_info *in = assay_onnx_info_inputs(info, &n);
  assert_int_equal(n, 1);
  assert_int_equal(in[0].dtype, ASSAY_DTYPE_F16);
  const assay_onnx_value_info *out = assay_onnx_info_outputs(info, &n);
  assert_int_equal(n, 2);
  assert_string_equal(out[1].name, "ix");
  assert_int_equal(out[1].dtype, ASSAY_DTYPE_I64);
  assert_string_equal(assay_onnx_info_producer(info), "assay-probe");
  assert_string_equal(assay_onnx_info_producer_version(info), "0.1");
  assay_onnx_info_close(info);
}

static const struct {
  const char *path;
  assay_status status;
  const char *text;
} NOT_MODELS[] = {
    {"testdata/not_models/empty.onnx", ASSAY_E_FORMAT, "the file is empty"},
    {"testdata/not_models/lfs_pointer.onnx", ASSAY_E_FORMAT, "git lfs pull"},
    {"testdata/not_models/page.onnx", ASSAY_E_FORMAT, "an HTML page"},
    {"testdata/not_models/zip.onnx", ASSAY_E_FORMAT, "a zip archive"},
    {"testdata/not_models/nested.onnx", ASSAY_E_LIMIT, "nest too deep at byte"},
    {"testdata/not_models/nothing_of_that_name.onnx", ASSAY_E_IO, "nothing_of_that_name"},
    {"testdata/models", ASSAY_E_IO, "testdata/models"},
    {"testdata/README.md", ASSAY_E_FORMAT, "not an ONNX file"},
};

static void says_what_a_file_is_instead(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof NOT_MODELS / sizeof *NOT_MODELS; i++) {
    assay_error err = {0};
    assay_onnx_info *info = NULL;
    assay_status st = assay_onnx_info_open(NOT_MODELS[i].path, &info, &err);
    assert_null(info);
    if (st != NOT_MODELS[i].status || strstr(err.text, NOT_MODELS[i].text) == NULL) {
      fail_msg("%s: got %s '%s', expected %s with '%s'", NOT_MODELS[i].path, assay_status_name(st),
               err.text, assay_status_name(NOT_MODELS[i].status), NOT_MODELS[i].text);
    }
  }
}

/* ---- bytes that contradict themselves ---- */

static void damaged_bytes_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    const char *text;
  } CASES[] = {
      {"\x08", 1, "runs past its message at byte 1"},
      {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11, "more than 64 bits"},
      {"\x3a\x05\x0a", 3, "a field runs past its message"},
      {"\x3a\xff\xff\xff\xff\x0f", 6, "a field runs past its message"},
      {"\x3a\x02\x0a\x03\x00\x00\x00", 7, "a field runs past its message"},
      {"\x08\x09\x0b", 3, "an unknown wire type at byte 2"},
      {"\x02\x00", 2, "an impossible field number at byte 0"},
      {"\x3d\x00\x00", 3, "a field runs past its message"},
      {"\x39\x00", 2, "a field runs past its message"},
      {"\x0a\x01\x00", 3, "protobuf fields of other types"},
      {"\x08\x09", 2, "there is no graph in it"},
      {"\x08\x09\x3a\x00", 4, "it has no opset"},
      {"\x3a\x00", 2, "it has no IR version"},
      {" \n{\"model\": 1}", 14, "JSON"},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    assay_buf model = {0};
    put(&model, CASES[i].bytes, CASES[i].n);
    expect_failure(&model, ASSAY_E_FORMAT, CASES[i].text);
  }
}

static void unknown_fields_are_passed_over(void **state) {
  (void)state;
  assay_error err = {0};
  assay_buf model = {0}, graph = {0};
  assay_onnx_info *info = NULL;
  put_text(&graph, 2, "g");
  put_text(&graph, 900, "of a later version");
  put_model(&model, &graph);
  put_int(&model, 901, 7);
  if (parse(&model, &info, &err)) fail_msg("%s", err.text);
  assert_string_equal(assay_onnx_info_graph_name(info), "g");
  assert_string_equal(assay_onnx_info_producer(info), "");
  assay_onnx_info_close(info);
  assay_buf_reset(&model);
}

/* 400 000 empty nodes: 0.8 MB that unpack to over 50. */
static void bytes_that_swell_are_refused(void **state) {
  (void)state;
  assay_buf model = {0}, graph = {0};
  for (int i = 0; i < 400000; i++) put(&graph, "\x0a\x00", 2);
  put_model(&model, &graph);
  expect_failure(&model, ASSAY_E_LIMIT, "bytes of memory");
}

static void put_tensor(assay_buf *graph, const char *name, const char *location, uint64_t dim) {
  assay_buf tensor = {0}, entry = {0};
  put_int(&tensor, 1, dim);
  put_int(&tensor, 2, 1); /* float32 */
  put_text(&tensor, 8, name);
  if (location != NULL) {
    put_text(&entry, 1, "location");
    put_text(&entry, 2, location);
    put_message(&tensor, 13, &entry);
    put_int(&tensor, 14, 1);
  }
  put_message(graph, 5, &tensor);
}

static void external_files_are_listed_once(void **state) {
  (void)state;
  assay_error err = {0};
  assay_buf model = {0}, graph = {0};
  assay_onnx_info *info = NULL;
  put_tensor(&graph, "a", "weights/b.bin", 1000);
  put_tensor(&graph, "b", "a.bin", 10);
  put_tensor(&graph, "c", "weights/b.bin", 1);
  put_model(&model, &graph);
  if (parse(&model, &info, &err)) fail_msg("%s", err.text);
  size_t n = 0;
  const char *const *files = assay_onnx_info_external_files(info, &n);
  assert_int_equal(n, 2);
  assert_string_equal(files[0], "a.bin");
  assert_string_equal(files[1], "weights/b.bin");
  assert_int_equal(assay_onnx_info_initializer_bytes(info), 4044);
  assay_onnx_info_close(info);
  assay_buf_reset(&model);
}

static void external_files_stay_in_the_folder(void **state) {
  (void)state;
  static const char *const CASES[] = {"../secrets", "/etc/passwd", "", "a/../../b", "a\nb"};
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    assay_buf model = {0}, graph = {0};
    put_tensor(&graph, "w", CASES[i], 1);
    put_model(&model, &graph);
    expect_failure(&model, ASSAY_E_FORMAT, "does not lie in the model's folder");
  }
}

static void impossible_shapes_are_refused(void **state) {
  (void)state;
  static const struct {
    uint64_t dim;
    int n;
    assay_status status;
  } CASES[] = {
      {UINT64_C(1) << 62, 1, ASSAY_E_LIMIT}, /* times four bytes */
      {UINT64_C(1) << 40, 2, ASSAY_E_LIMIT}, /* the product */
      {UINT64_MAX, 1, ASSAY_E_ARGUMENT},     /* -1 */
      {1, 65, ASSAY_E_LIMIT},                /* rank */
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    assay_buf model = {0}, graph = {0}, tensor = {0};
    for (int k = 0; k < CASES[i].n; k++) put_int(&tensor, 1, CASES[i].dim);
    put_int(&tensor, 2, 1);
    put_text(&tensor, 8, "w");
    put_message(&graph, 5, &tensor);
    put_model(&model, &graph);
    expect_failure(&model, CASES[i].status, "initialiser 'w'");
  }
}

static void initialisers_are_no_inputs(void **state) {
  (void)state;
  assay_error err = {0};
  assay_buf model = {0}, graph = {0}, value = {0};
  assay_onnx_info *info = NULL;
  put_tensor(&graph, "w", NULL, 1);
  put_text(&value, 1, "w");
  put_message(&graph, 11, &value);
  put_text(&value, 1, "x");
  put_message(&graph, 11, &value);
  put_model(&model, &graph);
  if (parse(&model, &info, &err)) fail_msg("%s", err.text);
  size_t n = 0;
  const assay_onnx_value_info *inputs = assay_onnx_info_inputs(info, &n);
  assert_int_equal(n, 1);
  assert_string_equal(inputs[0].name, "x");
  assert_int_equal(inputs[0].rank, -1); /* it says no type */
  assert_int_equal(inputs[0].dtype, ASSAY_DTYPE_NONE);
  assay_onnx_info_close(info);
  assay_buf_reset(&model);
}

/* ---- everything at once ---- */

/* Refused as FORMAT, LIMIT or ARGUMENT (a shape), or still a model: whatever it is, with words, and
 * without leaks or overreads in a sanitised build. */
static void check_any(const uint8_t *bytes, size_t n, const char *what) {
  assay_error err = {0};
  assay_onnx_info *info = NULL;
  uint8_t *exact = assay_alloc(n); /* so that reading past it is seen */
  assert_non_null(exact);
  memcpy(exact, bytes, n);
  assay_status st = assay_onnx_info_parse(exact, n, &info, &err);
  assay_free(exact);
  if (st == ASSAY_OK) {
    assay_onnx_info_close(info);
  } else if ((st != ASSAY_E_FORMAT && st != ASSAY_E_LIMIT && st != ASSAY_E_ARGUMENT) ||
             err.text[0] == '\0') {
    fail_msg("%s: %s '%s'", what, assay_status_name(st), err.text);
  }
}

static void a_model_cut_or_changed_anywhere_does_no_harm(void **state) {
  (void)state;
  static const char *const PATHS[] = {"testdata/models/cf.onnx", "testdata/models/unkop.onnx",
                                      "testdata/models/attn24_f32_boolmask4d.onnx"};
  static const uint8_t CHANGES[] = {0x01, 0x80, 0xff};
  for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++) {
    assay_buf bytes = test_file_read(PATHS[i]);
    for (size_t n = 0; n < bytes.size_bytes; n++) check_any(bytes.data, n, PATHS[i]);
    for (size_t at = 0; at < bytes.size_bytes; at++) {
      for (size_t k = 0; k < sizeof CHANGES; k++) {
        bytes.data[at] ^= CHANGES[k];
        check_any(bytes.data, bytes.size_bytes, PATHS[i]);
        bytes.data[at] ^= CHANGES[k];
      }
    }
    assay_buf_reset(&bytes);
  }
}

static void running_out_of_memory_is_reported(void **state) {
  (void)state;
  int64_t n = 0;
  for (; n < 5000; n++) {
    assay_error err = {0};
    assay_onnx_info *info = NULL;
    assay_alloc_fail_after(n);
    assay_status st = assay_onnx_info_open("testdata/models/cf.onnx", &info, &err);
    assay_alloc_fail_after(-1);
    if (st == ASSAY_OK) {
      assay_onnx_info_close(info);
      break;
    }
    if (st != ASSAY_E_MEMORY) fail_msg("allocation %lld: %s", (long long)n, err.text);
  }
  assert_in_range(n, 50, 4999);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(says_what_a_model_holds),
      cmocka_unit_test(counts_nodes_and_initialisers_of_subgraphs),
      cmocka_unit_test(types_and_shapes_are_read),
      cmocka_unit_test(says_what_a_file_is_instead),
      cmocka_unit_test(damaged_bytes_are_refused),
      cmocka_unit_test(unknown_fields_are_passed_over),
      cmocka_unit_test(bytes_that_swell_are_refused),
      cmocka_unit_test(external_files_are_listed_once),
      cmocka_unit_test(external_files_stay_in_the_folder),
      cmocka_unit_test(impossible_shapes_are_refused),
      cmocka_unit_test(initialisers_are_no_inputs),
      cmocka_unit_test(a_model_cut_or_changed_anywhere_does_no_harm),
      cmocka_unit_test(running_out_of_memory_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
