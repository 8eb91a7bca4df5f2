/* Free dimensions from the arrays of a case. */
#include "campaign/static_shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/tensor.h"
#include "base/test_folder.h"
#include "package/npz.h"

static test_folder folder; /* of all tests; main opens it */

static void add_array(assay_tensor_map *arrays, const char *name, int rank, const int64_t *dims) {
  assay_tensor t = {0};
  assert_int_equal(assay_tensor_init(&t, ASSAY_DTYPE_F32, rank, dims, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_map_add(arrays, name, &t, NULL), ASSAY_OK);
}

/* A case with x [2,5,3] and mask [2,n]. */
static const char *write_case(int64_t n) {
  assay_tensor_map arrays = {0};
  add_array(&arrays, "x", 3, (const int64_t[]){2, 5, 3});
  add_array(&arrays, "mask", 2, (const int64_t[]){2, n});
  const char *path = test_folder_file(&folder, "case.npz");
  assert_int_equal(assay_npz_write(path, &arrays, NULL), ASSAY_OK);
  assay_tensor_map_reset(&arrays);
  return path;
}

static void symbols_get_the_sizes_of_the_case(void **state) {
  (void)state;
  static const struct {
    bool is_static;
    const char *own; /* of N, or NULL */
    int64_t mask_n;
    const char *want; /* "B=2 N=5 ", or part of what is wrong */
    assay_status status;
  } cases[] = {
      {false, NULL, 5, "", ASSAY_OK},
      {false, "7", 5, "N=7 ", ASSAY_OK}, /* the user's own, whatever the case has */
      {true, NULL, 5, "B=2 N=5 ", ASSAY_OK},
      {true, "5", 5, "B=2 N=5 ", ASSAY_OK},
      {true, "7", 5, "free dimension 'N' is 7, and 5 in the case", ASSAY_E_FORMAT},
      {true, NULL, 6, "free dimension 'N' is 5, and 6 in the case", ASSAY_E_FORMAT},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char x[] = "x", mask[] = "mask", found[256] = "";
    assay_manifest_tensor inputs[] = {
        {.name = x, .rank = 3, .dims = {{.symbol = "B"}, {.symbol = "N"}, {.size = 3}}},
        {.name = mask, .rank = 2, .dims = {{.symbol = "B"}, {.symbol = "N"}}}};
    assay_manifest manifest = {.inputs = inputs, .n_inputs = 2};
    assay_runtime_spec runtime = {.is_static = cases[i].is_static};
    assay_settings dims = {0};
    assay_error err = {0};
    if (cases[i].own != NULL)
      assert_int_equal(assay_settings_set(&runtime.free_dims, "N", cases[i].own, NULL), ASSAY_OK);
    const char *path = write_case(cases[i].mask_n);
    assay_status st = assay_static_shapes_fix(&runtime, &manifest, path, &dims, &err);
    for (size_t k = 0; k < dims.n; k++)
      snprintf(found + strlen(found), sizeof found - strlen(found), "%s=%s ", dims.items[k].key,
               dims.items[k].value);
    bool same = st == ASSAY_OK ? strcmp(found, cases[i].want) == 0
                               : strstr(err.text, cases[i].want) != NULL;
    if (st != cases[i].status || !same)
      fail_msg("row %zu: %s '%s' '%s'", i, assay_status_name(st), found, err.text);
    assay_settings_reset(&dims);
    assay_settings_reset(&runtime.free_dims);
  }
}

static void a_case_without_the_array_is_refused(void **state) {
  (void)state;
  char name[] = "y";
  assay_manifest_tensor inputs[] = {{.name = name, .rank = 1, .dims = {{.symbol = "N"}}}};
  assay_manifest manifest = {.inputs = inputs, .n_inputs = 1};
  assay_runtime_spec runtime = {.is_static = true};
  assay_settings dims = {0};
  assay_error err = {0};
  assert_int_equal(assay_static_shapes_fix(&runtime, &manifest, write_case(5), &dims, &err),
                   ASSAY_E_FORMAT);
  assert_non_null(strstr(err.text, "no array 'y' with 1 dimensions"));
  assert_int_equal(assay_static_shapes_fix(&runtime, &manifest, "/nowhere", &dims, &err),
                   ASSAY_E_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(symbols_get_the_sizes_of_the_case),
      cmocka_unit_test(a_case_without_the_array_is_refused),
  };
  test_folder_open(&folder);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
