/* What an imported bundle says of a model and of its cases. The command's own cases
 * (tests/cli/import/) hold what is refused, tests/models/imported.sh what becomes of it. */
#include "campaign/bundle_import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/test_folder.h"
#include "onnx/graph.h"
#include "package/manifest.h"
#include "package/npz.h"

static void check_ok(assay_status st, const assay_error *err, const char *what) {
  if (st) fail_msg("%s: %s: %s", what, assay_status_name(st), err->text);
}

/* y = x + 1 and h = float16(x), both [symbol,3]; m [B,N] is taken and not used. */
static void write_model(const char *path, const char *symbol) {
  assay_error err = {0};
  assay_graph *graph = NULL;
  const assay_graph_dim dims[] = {{0, symbol}, {3, NULL}}, mask[] = {{0, "B"}, {0, "N"}};
  check_ok(assay_graph_create("small", 20, &graph, &err), &err, "graph");
  const assay_value x = assay_graph_add_input(graph, "x", ASSAY_DTYPE_F32, 2, dims);
  (void)assay_graph_add_input(graph, "m", ASSAY_DTYPE_I32, 2, mask);
  const int64_t one_dims[] = {3};
  const float ones[] = {1, 1, 1};
  const assay_value one =
      assay_graph_add_initializer(graph, "one", ASSAY_DTYPE_F32, 1, one_dims, ones);
  const assay_attr to[] = {ASSAY_ATTR_I("to", ASSAY_DTYPE_F16)};
  const assay_value y =
      assay_graph_op_named(graph, "Add", "Add", "y", (assay_value[]){x, one}, 2, NULL, 0);
  const assay_value h = assay_graph_op_named(graph, "Cast", "Cast", "h", &x, 1, to, 1);
  assay_graph_add_output(graph, y, ASSAY_DTYPE_F32, 2, dims);
  assay_graph_add_output(graph, h, ASSAY_DTYPE_F16, 2, dims);
  check_ok(assay_graph_save(graph, path, &err), &err, path);
  assay_graph_destroy(graph);
}

static void add(assay_tensor_map *map, const char *name, assay_dtype dtype, int64_t rows,
                int64_t columns) {
  assay_error err = {0};
  assay_tensor t;
  const int64_t dims[] = {rows, columns};
  check_ok(assay_tensor_init(&t, dtype, 2, dims, &err), &err, name);
  check_ok(assay_tensor_map_add(map, name, &t, &err), &err, name);
}

/* x [2,3] of zeros, m [2,4] with 3 and 1 ones, and references of those types (NONE: not there). */
static void write_case(const char *path, assay_dtype y, assay_dtype h) {
  static const int32_t MASK[] = {1, 1, 1, 0, 0, 1, 0, 0};
  assay_error err = {0};
  assay_tensor_map map = {0};
  add(&map, "x", ASSAY_DTYPE_F32, 2, 3);
  add(&map, "m", ASSAY_DTYPE_I32, 2, 4);
  memcpy(assay_tensor_map_find(&map, "m")->data, MASK, sizeof MASK);
  if (y != ASSAY_DTYPE_NONE) add(&map, "y", y, 2, 3);
  if (h != ASSAY_DTYPE_NONE) add(&map, "h", h, 2, 3);
  check_ok(assay_npz_write(path, &map, &err), &err, path);
  assay_tensor_map_reset(&map);
}

typedef struct scene {
  test_folder folder;
  char *model, *cases[2], *bundle; /* paths */
  assay_import_spec spec;          /* of all of them */
} scene;

static char *path_in(scene *s, const char *name) {
  char *path = assay_path_join(s->folder.path, name);
  assert_non_null(path);
  return path;
}

static void scene_open(scene *s, const char *symbol) {
  *s = (scene){0};
  test_folder_open(&s->folder);
  s->model = path_in(s, "a model.onnx");
  s->cases[0] = path_in(s, "whole.npz");
  s->cases[1] = path_in(s, "part.npz");
  s->bundle = path_in(s, "bundle");
  write_model(s->model, symbol);
  write_case(s->cases[0], ASSAY_DTYPE_F64, ASSAY_DTYPE_F32);
  write_case(s->cases[1], ASSAY_DTYPE_F32, ASSAY_DTYPE_NONE);
  s->spec = (assay_import_spec){
      .model = s->model, .cases = (const char *const *)s->cases, .n_cases = N_OF(s->cases)};
}

static void scene_close(scene *s) {
  assay_free(s->model);
  for (size_t i = 0; i < N_OF(s->cases); i++) assay_free(s->cases[i]);
  assay_free(s->bundle);
  test_folder_close(&s->folder);
}

static assay_manifest import(scene *s, assay_import_result *result) {
  assay_error err = {0};
  assay_manifest manifest = {0};
  check_ok(assay_bundle_import(&s->spec, s->bundle, result, &err), &err, "import");
  check_ok(assay_manifest_read(s->bundle, &manifest, &err), &err, "manifest");
  return manifest;
}

static void says_what_the_model_takes_and_gives(void **state) {
  (void)state;
  static const char *const CLASSES[] = {"y"};
  static const assay_export_tolerance TOLERANCES[] = {{NULL, false, 0.5}, {"h", true, 0.25}};
  scene s;
  assay_import_result result = {0};
  scene_open(&s, "rows");
  s.spec.classes = CLASSES;
  s.spec.n_classes = 1;
  s.spec.tolerances = TOLERANCES;
  s.spec.n_tolerances = N_OF(TOLERANCES);
  s.spec.mask_input = "m";
  assay_manifest m = import(&s, &result);
  assert_string_equal(m.name, "a_model");
  assert_string_equal(m.dtype, "float32");
  assert_string_equal(m.shapes, "dynamic");
  assert_int_equal(m.opset, 20);
  assert_null(m.attention);
  assert_null(m.architecture);
  assert_null(m.weights);
  assert_string_equal(m.mask_input, "m");
  assert_int_equal(m.n_inputs, 2);
  assert_string_equal(m.inputs[0].dims[0].symbol, "rows");
  assert_int_equal(m.inputs[0].dims[1].size, 3);
  assert_int_equal(m.n_heads, 2);
  assert_int_equal(m.heads[0].kind, ASSAY_HEAD_CLASSES);
  assert_true(m.heads[0].atol == 0.5 && m.heads[0].rtol == ASSAY_DEFAULT_RTOL);
  assert_int_equal(m.heads[1].kind, ASSAY_HEAD_REGRESSION);
  assert_int_equal(m.heads[1].dtype, ASSAY_DTYPE_F16);
  assert_true(m.heads[1].atol == 0.5 && m.heads[1].rtol == 0.25);
  assert_int_equal(m.n_cases, 2);
  assert_string_equal(m.cases[0].name, "whole");
  assert_string_equal(m.cases[0].kind, "input");
  assert_int_equal(m.cases[0].b, 2);
  assert_int_equal(m.cases[0].n, 4);
  assert_int_equal(m.cases[0].valid[0], 3);
  assert_int_equal(m.cases[0].valid[1], 1);
  assert_int_equal(m.n_notes, 1);
  assert_non_null(strstr(m.notes[0], "'part' has no reference of some outputs"));
  assert_string_equal(result.model_sha256, m.model.sha256);
  assert_int_equal(result.n_references, 3);
  assert_int_equal(result.n_partial, 1);
  assay_manifest_reset(&m);
  scene_close(&s);
}

/* Names that exporters give when they know none: nothing says that such dimensions are equal. */
static void open_dimensions_are_symbols_of_their_own(void **state) {
  (void)state;
  static const char LONG[] =
      "a-symbol-that-is-longer-than-the-63-bytes-which-a-manifest-has-room-for";
  static const char *const SYMBOLS[] = {"?", "None", "\xff\xfe", LONG};
  for (size_t i = 0; i < N_OF(SYMBOLS); i++) {
    scene s;
    assay_import_result result = {0};
    scene_open(&s, SYMBOLS[i]);
    assay_manifest m = import(&s, &result);
    assert_string_equal(m.inputs[0].dims[0].symbol, "?0");
    assert_string_equal(m.inputs[1].dims[0].symbol, "B");
    assert_string_equal(m.heads[0].dims[0].symbol, "?1");
    assert_string_equal(m.heads[1].dims[0].symbol, "?2");
    assert_null(m.mask_input);
    assert_int_equal(m.cases[0].b, 0);
    assay_manifest_reset(&m);
    scene_close(&s);
  }
}

static void a_mask_of_other_values_is_refused(void **state) {
  (void)state;
  scene s;
  assay_error err = {0};
  assay_tensor_map map = {0};
  scene_open(&s, "rows");
  check_ok(assay_npz_read(s.cases[0], /*limits=*/NULL, &map, &err), &err, "case");
  ((int32_t *)assay_tensor_map_find(&map, "m")->data)[2] = 2;
  check_ok(assay_npz_write(s.cases[0], &map, &err), &err, "case");
  s.spec.mask_input = "m";
  assert_int_equal(assay_bundle_import(&s.spec, s.bundle, /*out=*/NULL, &err), ASSAY_E_MISMATCH);
  if (strstr(err.text, "mask 'm' is 2 at 2") == NULL) fail_msg("%s", err.text);
  assert_int_equal(assay_path_kind_of(s.bundle), ASSAY_PATH_NONE);
  assay_tensor_map_reset(&map);
  scene_close(&s);
}

/* Whole or not there, with nothing beside it. */
static void running_out_of_memory_leaves_nothing_behind(void **state) {
  (void)state;
  scene s;
  scene_open(&s, "rows");
  for (int64_t n = 0;; n += n < 400 ? 1 : 53) {
    assay_error err = {0};
    assay_names names = {0};
    assay_alloc_fail_after(n);
    const assay_status st = assay_bundle_import(&s.spec, s.bundle, /*out=*/NULL, &err);
    assay_alloc_fail_after(-1);
    check_ok(assay_folder_list(s.folder.path, &names, &err), &err, "folder");
    const size_t n_names = names.n;
    assay_names_reset(&names);
    if (st == ASSAY_OK) {
      assert_true(n > 100);
      assert_int_equal(n_names, 4);
      break;
    }
    if (st != ASSAY_E_MEMORY) fail_msg("allocation %lld: %s", (long long)n, err.text);
    if (n_names != 3 && assay_path_kind_of(s.bundle) == ASSAY_PATH_NONE)
      fail_msg("allocation %lld: %zu names are there", (long long)n, n_names);
  }
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(says_what_the_model_takes_and_gives),
      cmocka_unit_test(open_dimensions_are_symbols_of_their_own),
      cmocka_unit_test(a_mask_of_other_values_is_refused),
      cmocka_unit_test(running_out_of_memory_leaves_nothing_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
