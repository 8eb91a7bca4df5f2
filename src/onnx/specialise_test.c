/* Tests of specialise.c on a model of two free dimensions, and on what ONNX Runtime 1.32 made of it
 * with numbers in their place. */
#include "onnx/specialise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/test_folder.h"
#include "onnx/model_info.h"

#define MODEL  "../runtime/testdata/mix17.onnx"
#define BODIES "../runtime/testdata/cf.onnx"
#define FOLDED "testdata/mix17-2x8-folded.onnx"

static const int64_t dims[] = {2, 8, 32};
static const assay_onnx_shape x_of_2x8 = {"x", 3, dims};

static assay_buf fixed_model(void) {
  assay_buf model = test_file_read(MODEL), fixed = {0};
  assay_error err = {0};
  if (assay_onnx_fix_shapes(model.data, model.size_bytes, &x_of_2x8, 1, &fixed, &err))
    fail_msg("%s", err.text);
  assay_buf_reset(&model);
  return fixed;
}

static assay_onnx_info *info_of(const assay_buf *model) {
  assay_onnx_info *info = NULL;
  assay_error err = {0};
  if (assay_onnx_info_parse(model->data, model->size_bytes, &info, &err)) fail_msg("%s", err.text);
  return info;
}

/* Inputs and outputs have no free dimension any more. */
static void assert_static(const assay_onnx_info *info, size_t n_outputs) {
  size_t n = 0;
  const assay_onnx_value_info *in = assay_onnx_info_inputs(info, &n);
  assert_int_equal(n, 1);
  for (int k = 0; k < 3; k++) assert_int_equal(in[0].dims[k].size, dims[k]);
  const assay_onnx_value_info *out = assay_onnx_info_outputs(info, &n);
  assert_int_equal(n, n_outputs);
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(out[i].rank, 3);
    for (int k = 0; k < 2; k++) assert_int_equal(out[i].dims[k].size, dims[k]);
    assert_null(out[i].dims[0].symbol);
  }
}

static void symbols_become_numbers_everywhere(void **state) {
  (void)state;
  assay_buf fixed = fixed_model();
  assay_onnx_info *info = info_of(&fixed);
  assert_static(info, 4);
  assert_int_equal(assay_onnx_info_n_nodes(info), 13);
  assay_onnx_info_close(info);
  assay_buf_reset(&fixed);
}

static void shapes_that_do_not_fit_are_refused(void **state) {
  (void)state;
  static const int64_t other[] = {2, 8, 33}, four[] = {2, 8, 32, 1};
  static const struct {
    assay_onnx_shape shape;
    const char *part;
  } cases[] = {
      {{"y", 3, dims}, "the graph has no input 'y' of 3 dimensions"},
      {{"x", 4, four}, "the graph has no input 'x' of 4 dimensions"},
      {{"x", 3, other}, "dimension 2 of input 'x' is 32, not 33"},
  };
  assay_buf model = test_file_read(MODEL);
  for (size_t i = 0; i < N_OF(cases); i++) {
    assay_buf out = {0};
    assay_error err = {0};
    assay_status st =
        assay_onnx_fix_shapes(model.data, model.size_bytes, &cases[i].shape, 1, &out, &err);
    if (st != ASSAY_E_FORMAT || strstr(err.text, cases[i].part) == NULL)
      fail_msg("'%s', expected '%s'", err.text, cases[i].part);
    assert_int_equal(out.size_bytes, 0);
  }
  assay_buf_reset(&model);
}

/* Shape, Shape, ConstantOfShape and Expand go; the rest is the model's own, whatever the runtime
 * made of it. */
static void what_follows_from_shapes_is_constant(void **state) {
  (void)state;
  assay_buf fixed = fixed_model(), folded = test_file_read(FOLDED), out = {0};
  assay_error err = {0};
  size_t n_removed = 0, n = 0;
  if (assay_onnx_fold(fixed.data, fixed.size_bytes, folded.data, folded.size_bytes, &out,
                      &n_removed, &err))
    fail_msg("%s", err.text);
  assert_int_equal(n_removed, 4);
  assay_onnx_info *info = info_of(&out), *before = info_of(&fixed);
  assert_static(info, 4);
  const assay_onnx_op_count *ops = assay_onnx_info_ops(info, &n);
  for (size_t i = 0; i < n; i++)
    if (strcmp(ops[i].op, "Shape") == 0 || strcmp(ops[i].op, "Expand") == 0)
      fail_msg("%s is left", ops[i].op);
  assert_int_equal(assay_onnx_info_n_nodes(info), 9);
  assert_true(assay_onnx_info_n_initializers(info) > assay_onnx_info_n_initializers(before));
  assay_onnx_info_close(info);
  assay_onnx_info_close(before);
  assay_buf_reset(&fixed);
  assay_buf_reset(&folded);
  assay_buf_reset(&out);
}

/* With itself there is nothing to fold by, and all that is needed stays: bodies of control flow and
 * what they take from outside, too. */
static void without_constants_every_node_stays(void **state) {
  (void)state;
  static const struct {
    const char *path;
    size_t n_nodes;
  } cases[] = {{MODEL, 13}, {BODIES, 9}};
  for (size_t i = 0; i < N_OF(cases); i++) {
    assay_buf model = test_file_read(cases[i].path), out = {0};
    assay_error err = {0};
    size_t n_removed = 1;
    if (assay_onnx_fold(model.data, model.size_bytes, model.data, model.size_bytes, &out,
                        &n_removed, &err))
      fail_msg("%s", err.text);
    assert_int_equal(n_removed, 0);
    assay_onnx_info *info = info_of(&out);
    assert_int_equal(assay_onnx_info_n_nodes(info), cases[i].n_nodes);
    assay_onnx_info_close(info);
    assay_buf_reset(&model);
    assay_buf_reset(&out);
  }
}

static void a_folded_model_cut_anywhere_is_refused_or_folds_nothing_wrong(void **state) {
  (void)state;
  assay_buf fixed = fixed_model(), folded = test_file_read(FOLDED);
  for (size_t n = 0; n < folded.size_bytes; n += n < 400 ? 1 : 211) {
    assay_buf out = {0};
    size_t n_removed = 0;
    assay_status st =
        assay_onnx_fold(fixed.data, fixed.size_bytes, folded.data, n, &out, &n_removed, NULL);
    if (st == ASSAY_OK && n_removed > 4) fail_msg("%zu bytes remove %zu nodes", n, n_removed);
    assay_buf_reset(&out);
  }
  assay_buf_reset(&fixed);
  assay_buf_reset(&folded);
}

static void out_of_memory_is_an_error_and_leaks_nothing(void **state) {
  (void)state;
  assay_buf model = test_file_read(MODEL), folded = test_file_read(FOLDED);
  assay_status st = ASSAY_E_MEMORY;
  for (int64_t n = 0; st == ASSAY_E_MEMORY; n += 7) {
    assay_buf fixed = {0}, out = {0};
    size_t n_removed = 0;
    assay_alloc_fail_after(n);
    st = assay_onnx_fix_shapes(model.data, model.size_bytes, &x_of_2x8, 1, &fixed, NULL);
    if (st == ASSAY_OK)
      st = assay_onnx_fold(fixed.data, fixed.size_bytes, folded.data, folded.size_bytes, &out,
                           &n_removed, NULL);
    assay_alloc_fail_after(-1);
    if (st != ASSAY_OK) assert_int_equal(st, ASSAY_E_MEMORY);
    assay_buf_reset(&fixed);
    assay_buf_reset(&out);
  }
  assay_buf_reset(&model);
  assay_buf_reset(&folded);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(symbols_become_numbers_everywhere),
      cmocka_unit_test(shapes_that_do_not_fit_are_refused),
      cmocka_unit_test(what_follows_from_shapes_is_constant),
      cmocka_unit_test(without_constants_every_node_stays),
      cmocka_unit_test(a_folded_model_cut_anywhere_is_refused_or_folds_nothing_wrong),
      cmocka_unit_test(out_of_memory_is_an_error_and_leaks_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
