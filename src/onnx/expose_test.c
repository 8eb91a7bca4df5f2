#include "onnx/expose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "onnx/graph.h"
#include "onnx/model_info.h"

static void check_ok(assay_status st, const assay_error *err, const char *what) {
  if (st) fail_msg("%s: %s: %s", what, assay_status_name(st), err->text);
}

/* y = float16(relu(x + 1)), with metadata. */
static assay_buf small_model(void) {
  assay_error err = {0};
  assay_graph *graph = NULL;
  assay_buf bytes = {0};
  const assay_graph_dim dims[] = {{0, "N"}};
  check_ok(assay_graph_create("small", 20, &graph, &err), &err, "graph");
  assay_value x = assay_graph_add_input(graph, "x", ASSAY_DTYPE_F32, 1, dims);
  assay_value one = assay_graph_const_f32(graph, 1.0f);
  assay_value h = assay_graph_op(graph, "Add", "sum", (assay_value[]){x, one}, 2, NULL, 0);
  const assay_attr to[] = {ASSAY_ATTR_I("to", ASSAY_DTYPE_F16)};
  h = assay_graph_op(graph, "Relu", "positive", &h, 1, NULL, 0);
  h = assay_graph_op(graph, "Cast", "half", &h, 1, to, 1);
  h = assay_graph_op_named(graph, "Neg", "Neg", "y", &h, 1, NULL, 0);
  assay_graph_add_output(graph, h, ASSAY_DTYPE_F16, 1, dims);
  assay_graph_put_metadata(graph, "key", "value");
  check_ok(assay_graph_serialize(graph, &bytes, &err), &err, "serialize");
  assay_graph_destroy(graph);
  return bytes;
}

static void adds_outputs_in_order_and_changes_nothing_else(void **state) {
  (void)state;
  static const char *const NAMES[] = {"half", "y", "sum", "half"};
  assay_error err = {0};
  assay_buf model = small_model(), copy = {0};
  assay_onnx_info *info = NULL;
  size_t n = 0;
  check_ok(assay_onnx_expose(model.data, model.size_bytes, NAMES, 4, &copy, &err), &err, "expose");
  check_ok(assay_onnx_info_parse(copy.data, copy.size_bytes, &info, &err), &err, "parse");
  const assay_onnx_value_info *out = assay_onnx_info_outputs(info, &n);
  assert_int_equal(n, 3);
  assert_string_equal(out[0].name, "y");
  assert_int_equal(out[0].rank, 1);
  assert_string_equal(out[1].name, "half");
  assert_int_equal(out[1].dtype, ASSAY_DTYPE_F16); /* what it casts to */
  assert_int_equal(out[1].rank, -1);
  assert_string_equal(out[2].name, "sum");
  assert_int_equal(out[2].dtype, ASSAY_DTYPE_NONE); /* nothing is said of it */
  assert_int_equal(assay_onnx_info_n_nodes(info), 4);
  assert_string_equal(assay_onnx_info_metadata_value(info, "key"), "value");
  assay_onnx_info_close(info);
  assay_buf_reset(&copy);
  /* without names: the same bytes */
  check_ok(assay_onnx_expose(model.data, model.size_bytes, NULL, 0, &copy, &err), &err, "expose");
  assert_int_equal(copy.size_bytes, model.size_bytes);
  assert_memory_equal(copy.data, model.data, model.size_bytes);
  assay_buf_reset(&copy);
  assay_buf_reset(&model);
}

/* Files of others: with value_info, functions, subgraphs, domains. Without names, nothing that the
 * reader sees is lost. */
static void keeps_models_of_others(void **state) {
  (void)state;
  static const char *const FILES[] = {"testdata/models/cf.onnx", "testdata/models/fn.onnx",
                                      "testdata/models/fusion.onnx", "testdata/models/mha_f32.onnx",
                                      "testdata/models/unkop.onnx"};
  for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
    assay_error err = {0};
    assay_buf model = {0}, copy = {0};
    check_ok(assay_file_read(FILES[i], /*max_bytes=*/1 << 20, &model, &err), &err, FILES[i]);
    check_ok(assay_onnx_expose(model.data, model.size_bytes, NULL, 0, &copy, &err), &err, FILES[i]);
    if (copy.size_bytes != model.size_bytes) /* order of fields may differ, contents not */
      fail_msg("%s: %zu bytes became %zu", FILES[i], model.size_bytes, copy.size_bytes);
    assay_buf_reset(&copy);
    assay_buf_reset(&model);
  }
}

static void refuses_what_is_no_value(void **state) {
  (void)state;
  static const char *const NAMES[] = {"x", "const/f32/1", "z", ""};
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
    assay_error err = {0};
    char expected[64];
    assay_buf model = small_model(), copy = {0};
    assert_int_equal(assay_onnx_expose(model.data, model.size_bytes, &NAMES[i], 1, &copy, &err),
                     ASSAY_E_ARGUMENT);
    (void)snprintf(expected, sizeof expected, "'%s' is no output of a node", NAMES[i]);
    if (strstr(err.text, expected) == NULL) fail_msg("'%s'", err.text);
    assert_int_equal(copy.size_bytes, 0);
    assay_buf_reset(&copy);
    assay_buf_reset(&model);
  }
}

static void survives_a_cut_at_every_byte(void **state) {
  (void)state;
  static const char *const NAME = "sum";
  assay_buf model = small_model();
  for (size_t n = 0; n < model.size_bytes; n++) {
    assay_buf copy = {0};
    const assay_status st = assay_onnx_expose(model.data, n, &NAME, 1, &copy, /*err=*/NULL);
    if (st == ASSAY_OK) assert_true(copy.size_bytes > n);
    if (st != ASSAY_OK) assert_int_equal(copy.size_bytes, 0);
    assay_buf_reset(&copy);
  }
  assay_buf_reset(&model);
}

static void running_out_of_memory_is_reported(void **state) {
  (void)state;
  static const char *const NAME = "half";
  assay_buf model = small_model();
  assay_status st = ASSAY_E_MEMORY;
  int64_t n = 0;
  for (; st == ASSAY_E_MEMORY; n++) {
    assay_error err = {0};
    assay_buf copy = {0};
    assay_alloc_fail_after(n);
    st = assay_onnx_expose(model.data, model.size_bytes, &NAME, 1, &copy, &err);
    assay_alloc_fail_after(-1);
    if (st != ASSAY_OK && st != ASSAY_E_MEMORY)
      fail_msg("allocation %lld: %s", (long long)n, err.text);
    assay_buf_reset(&copy);
  }
  assert_true(n > 20);
  assay_buf_reset(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(adds_outputs_in_order_and_changes_nothing_else),
      cmocka_unit_test(keeps_models_of_others),
      cmocka_unit_test(refuses_what_is_no_value),
      cmocka_unit_test(survives_a_cut_at_every_byte),
      cmocka_unit_test(running_out_of_memory_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
