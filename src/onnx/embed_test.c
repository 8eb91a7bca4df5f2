#include "onnx/embed.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/test_folder.h"
#include "onnx/model_info.h"
#include "onnx/onnx_test.h"

static test_folder folder;
static const float weights[] = {1, 2, 3, 4, 5, 6};

static int set_up(void **state) {
  (void)state;
  test_folder_open(&folder);
  char *path = assay_path_join(folder.path, "w.bin");
  const assay_status st = assay_file_write(path, weights, sizeof weights, NULL);
  assay_free(path);
  return st ? -1 : 0;
}

static int tear_down(void **state) {
  (void)state;
  test_folder_close(&folder);
  return 0;
}

/* Texts, as the format has them; NULL: absent. */
typedef struct place {
  const char *location, *offset, *length;
} place;

static void put_entry(assay_buf *tensor, const char *key, const char *value) {
  assay_buf entry = {0};
  if (value == NULL) return;
  put_text(&entry, 1, key);
  put_text(&entry, 2, value);
  put_message(tensor, 13, &entry);
}

/* A TensorProto of n_elems values of float32 outside. */
static assay_buf tensor_at(const char *name, place at, uint64_t n_elems) {
  assay_buf tensor = {0};
  put_int(&tensor, 1, n_elems);
  put_int(&tensor, 2, 1);
  put_text(&tensor, 8, name);
  put_entry(&tensor, "location", at.location);
  put_entry(&tensor, "offset", at.offset);
  put_entry(&tensor, "length", at.length);
  put_int(&tensor, 14, 1);
  return tensor;
}

/* A TensorProto of the last of the weights, inside. */
static assay_buf tensor_of(const char *name, size_t n_elems) {
  assay_buf tensor = {0};
  put_int(&tensor, 1, n_elems);
  put_int(&tensor, 2, 1);
  put_text(&tensor, 8, name);
  put_bytes(&tensor, 9, weights + N_OF(weights) - n_elems, n_elems * sizeof *weights);
  return tensor;
}

/* A graph with one initialiser, or with it as an attribute of a node in a subgraph. */
static assay_buf model_of(assay_buf tensor, bool is_deep) {
  assay_buf model = {0}, graph = {0}, node = {0}, attribute = {0}, body = {0};
  if (!is_deep) {
    put_message(&graph, 5, &tensor);
  } else {
    put_text(&attribute, 1, "value");
    put_message(&attribute, 5, &tensor);
    put_text(&node, 4, "Constant");
    put_message(&node, 5, &attribute);
    put_message(&body, 1, &node);
    put_text(&attribute, 1, "then_branch");
    put_message(&attribute, 6, &body);
    put_text(&node, 4, "If");
    put_message(&node, 5, &attribute);
    put_message(&graph, 1, &node);
  }
  put_model(&model, &graph);
  return model;
}

static assay_status embed(const assay_buf *model, assay_buf *out, assay_error *err) {
  return assay_onnx_embed(model->data, model->size_bytes, folder.path, out, err);
}

static void what_lay_outside_lies_inside(void **state) {
  (void)state;
  static const struct {
    place at;
    size_t n_elems;
  } cases[] = {
      {{"w.bin", NULL, NULL}, 6}, {{"w.bin", "0", "24"}, 6}, {{"w.bin", "8", NULL}, 4},
      {{"w.bin", "20", "4"}, 1},  {{"w.bin", "24", "0"}, 0},
  };
  for (size_t i = 0; i < 2 * N_OF(cases); i++) {
    const size_t k = i / 2;
    assay_buf out = {0};
    assay_error err = {0};
    assay_buf model = model_of(tensor_at("w", cases[k].at, cases[k].n_elems), i % 2 == 1);
    assay_buf whole = model_of(tensor_of("w", cases[k].n_elems), i % 2 == 1);
    if (embed(&model, &out, &err)) fail_msg("case %zu: %s", i, err.text);
    assert_int_equal(out.size_bytes, whole.size_bytes);
    assert_memory_equal(out.data, whole.data, whole.size_bytes);
    assay_buf_reset(&model);
    assay_buf_reset(&whole);
    assay_buf_reset(&out);
  }
}

static void a_model_that_is_whole_stays_as_it_is(void **state) {
  (void)state;
  assay_buf out = {0};
  assay_error err = {0};
  assay_buf model = model_of(tensor_of("w", 6), false);
  if (embed(&model, &out, &err)) fail_msg("%s", err.text);
  assert_int_equal(out.size_bytes, model.size_bytes);
  assert_memory_equal(out.data, model.data, model.size_bytes);
  assay_buf_reset(&model);
  assay_buf_reset(&out);
}

static void data_that_do_not_fit_are_refused(void **state) {
  (void)state;
  static const struct {
    place at;
    uint64_t n_elems;
    assay_status status;
    const char *part;
  } cases[] = {
      {{"w.bin", "4", "24"}, 6, ASSAY_E_FORMAT, "outside of 'w.bin' of 24 bytes"},
      {{"w.bin", "25", NULL}, 0, ASSAY_E_FORMAT, "outside of 'w.bin' of 24 bytes"},
      {{"w.bin", "-4", NULL}, 6, ASSAY_E_FORMAT, "outside of 'w.bin'"},
      {{"w.bin", "4x", NULL}, 5, ASSAY_E_FORMAT, "outside of 'w.bin'"},
      {{"w.bin", "18446744073709551612", "8"}, 2, ASSAY_E_FORMAT, "outside of 'w.bin'"},
      {{"w.bin", "99999999999999999999", "8"}, 2, ASSAY_E_FORMAT, "outside of 'w.bin'"},
      {{"w.bin", NULL, "20"}, 6, ASSAY_E_FORMAT, "takes 24 bytes, found 20"},
      {{"w.bin", NULL, NULL}, 5, ASSAY_E_FORMAT, "takes 20 bytes, found 24"},
      {{"w.bin", NULL, NULL}, UINT64_C(1) << 62, ASSAY_E_FORMAT, "tensor 'w'"},
      {{"w.bin", NULL, NULL}, UINT64_MAX, ASSAY_E_ARGUMENT, "tensor 'w'"},
      {{"none.bin", NULL, NULL}, 6, ASSAY_E_IO, "none.bin"},
      {{"../w.bin", NULL, NULL}, 6, ASSAY_E_FORMAT, "do not lie in the model's folder"},
      {{"/w.bin", NULL, NULL}, 6, ASSAY_E_FORMAT, "do not lie in the model's folder"},
      {{NULL, NULL, NULL}, 6, ASSAY_E_FORMAT, "do not lie in the model's folder"},
  };
  for (size_t i = 0; i < N_OF(cases); i++) {
    assay_buf out = {0};
    assay_error err = {0};
    assay_buf model = model_of(tensor_at("w", cases[i].at, cases[i].n_elems), false);
    const assay_status st = embed(&model, &out, &err);
    if (st != cases[i].status || strstr(err.text, cases[i].part) == NULL || out.size_bytes > 0)
      fail_msg("case %zu: %s '%s', expected '%s'", i, assay_status_name(st), err.text,
               cases[i].part);
    assay_buf_reset(&model);
  }
}

static void memory_that_is_out_is_said(void **state) {
  (void)state;
  assay_buf model = model_of(tensor_at("w", (place){"w.bin", NULL, NULL}, 6), true);
  assay_status st = ASSAY_E_MEMORY;
  int64_t n = 0;
  for (; st == ASSAY_E_MEMORY && n < 1000; n++) {
    assay_buf out = {0};
    assay_error err = {0};
    assay_alloc_fail_after(n);
    st = embed(&model, &out, &err);
    assay_alloc_fail_after(-1);
    assay_buf_reset(&out);
  }
  assert_int_equal(st, ASSAY_OK);
  assert_true(n > 10);
  assay_buf_reset(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_lay_outside_lies_inside),
      cmocka_unit_test(a_model_that_is_whole_stays_as_it_is),
      cmocka_unit_test(data_that_do_not_fit_are_refused),
      cmocka_unit_test(memory_that_is_out_is_said),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
