#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "checkpoint/numpy_value.h"
#include "checkpoint/torch_file.h"

#define BYTES(literal) (literal), sizeof(literal) - 1

static void samples_of_both_numpy_versions_are_read(void **state) {
  (void)state;
  static const char *const names[] = {"testdata/torch/v1.13/nested.pth",
                                      "testdata/torch/v2.6/nested.pth"};
  static const float arr[6] = {0, 1, 2, 3, 4, 5};
  static const int32_t fortran[6] = {0, 1, 2, 3, 4, 5}; /* stored big-endian and column-major */
  for (size_t i = 0; i < 2; i++) {
    assay_torch_file *file = NULL;
    assay_error err = {0};
    assay_tensor tensor;
    if (assay_torch_file_open(names[i], &file, &err)) fail_msg("%s", err.text);
    const assay_pickle_value *root = assay_torch_file_root(file);
    assert_int_equal(assay_numpy_read(assay_pickle_get(root, "nparr"), &tensor, NULL), ASSAY_OK);
    assert_int_equal(tensor.dtype, ASSAY_DTYPE_F32);
    assert_true(tensor.rank == 2 && tensor.dims[0] == 2 && tensor.dims[1] == 3);
    assert_memory_equal(tensor.data, arr, sizeof arr);
    assay_tensor_reset(&tensor);
    assert_int_equal(assay_numpy_read(assay_pickle_get(root, "nparrF"), &tensor, NULL), ASSAY_OK);
    assert_int_equal(tensor.dtype, ASSAY_DTYPE_I32);
    assert_memory_equal(tensor.data, fortran, sizeof fortran);
    assay_tensor_reset(&tensor);
    assay_status st = assay_numpy_read(assay_pickle_get(root, "npobj"), &tensor, &err);
    assert_int_equal(st, ASSAY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "'<U2'"));
    assay_torch_file_close(file);
  }
}

#define DTYPE(code, order)                                                                         \
  "cnumpy\ndtype\n(U\2" code "I00\nI01\ntR(K\3U\1" order                                           \
  "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"

static const struct {
  const char *bytes;
  size_t n;
  assay_status status;
  assay_dtype dtype;
  double value; /* of element 0 */
  const char *part;
} rows[] = {
    {BYTES("cnumpy.core.multiarray\nscalar\n(" DTYPE("f8", "<") "C\10\0\0\0\0\0\0\4\x40tR."),
     ASSAY_OK, ASSAY_DTYPE_F64, 2.5, ""},
    {BYTES("cnumpy._core.multiarray\nscalar\n(" DTYPE("f8", ">") "C\10\x40\4\0\0\0\0\0\0tR."),
     ASSAY_OK, ASSAY_DTYPE_F64, 2.5, ""},
    {BYTES("cnumpy.core.multiarray\nscalar\n(" DTYPE("b1", "|") "C\1\1tR."), ASSAY_OK,
     ASSAY_DTYPE_BOOL, 1, ""},
    {BYTES("cnumpy.core.multiarray\nscalar\n(" DTYPE("u2", ">") "C\2\1\2tR."), ASSAY_OK,
     ASSAY_DTYPE_U16, 258, ""},
    {BYTES("cnumpy.core.multiarray\nscalar\n(" DTYPE("f8", "<") "C\1\0tR."), ASSAY_E_FORMAT, 0, 0,
     "1 values of numpy dtype '<f8', 1 bytes are there"},
    {BYTES("cnumpy.core.multiarray\nscalar\n(" DTYPE("O8", "|") "Ntb."), ASSAY_E_FORMAT, 0, 0, ""},
    {BYTES("cnumpy.core.multiarray\nscalar\n(" DTYPE("O8", "|") "NtR."), ASSAY_E_UNSUPPORTED, 0, 0,
     "'|O8'"},
    {BYTES("cnumpy.core.multiarray\nscalar\n(" DTYPE("M8", "<") "C\10\0\0\0\0\0\0\0\0tR."),
     ASSAY_E_UNSUPPORTED, 0, 0, "'<M8'"},
    {BYTES("cnumpy.core.multiarray\nscalar\n(K\1C\1\0tR."), ASSAY_E_FORMAT, 0, 0, "a numpy dtype"},
    {BYTES("cnumpy.core.multiarray\nscalar\n)R."), ASSAY_E_FORMAT, 0, 0, "a numpy scalar"},
    {BYTES("cnumpy.core.numeric\n_frombuffer\n(C\2\7\x08" DTYPE("i1", "|") "K\2\x85U\1CtR."),
     ASSAY_OK, ASSAY_DTYPE_I8, 7, ""},
    {BYTES("cnumpy.core.numeric\n_frombuffer\n(C\2\7\x08" DTYPE("i1", "|") "K\3\x85U\1CtR."),
     ASSAY_E_FORMAT, 0, 0, "3 values of numpy dtype '|i1', 2 bytes are there"},
    {BYTES("cnumpy.core.numeric\n_frombuffer\n(C\2\7\x08" DTYPE("i1", "|") "K\2\x85U\1XtR."),
     ASSAY_E_FORMAT, 0, 0, "a numpy array"},
    {BYTES("cnumpy.core.numeric\n_frombuffer\n(C\0" DTYPE(
         "i1", "|") "(J\0\0\0\x40J\0\0\0\x40J\0\0\0\x40tU\1CtR."),
     ASSAY_E_LIMIT, 0, 0, "too many elements"},
    {BYTES(
         "cnumpy.core.numeric\n_frombuffer\n(C\0" DTYPE("i1", "|") "J\xff\xff\xff\xff\x85U\1CtR."),
     ASSAY_E_FORMAT, 0, 0, "a numpy shape"},
    {BYTES("cnumpy.core.multiarray\n_reconstruct\n)R."), ASSAY_E_FORMAT, 0, 0, "a numpy array"},
};

static void scalars_and_arrays_are_checked(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assay_pickle *pickle = NULL;
    assay_error err = {0};
    assay_tensor tensor = {0};
    assay_status st = assay_pickle_parse(rows[i].bytes, rows[i].n, NULL, &pickle, &err);
    if (!st) st = assay_numpy_read(assay_pickle_root(pickle), &tensor, &err);
    if (st != rows[i].status || strstr(err.text, rows[i].part) == NULL) {
      fail_msg("row %zu: %s %s", i, assay_status_name(st), err.text);
    }
    if (st == ASSAY_OK) {
      assert_int_equal(tensor.dtype, rows[i].dtype);
      assert_true(assay_tensor_get_real(&tensor, 0) == rows[i].value);
    }
    assay_tensor_reset(&tensor);
    assay_pickle_destroy(pickle);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_of_both_numpy_versions_are_read),
      cmocka_unit_test(scalars_and_arrays_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
