#include "onnx/graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "onnx/model_info.h"
#include "onnx/ops.h"

static assay_graph *new_graph(int64_t opset) {
  assay_error err = {0};
  assay_graph *graph = NULL;
  assay_status st = assay_graph_create("sample", opset, &graph, &err);
  if (st) fail_msg("create: %s", err.text);
  return graph;
}

static assay_value input_x(assay_graph *g) {
  return assay_graph_add_input(g, "x", ASSAY_DTYPE_F32, 2,
                               (const assay_graph_dim[]){{0, "B"}, {3, NULL}});
}

/* y = Relu(x + bias), [B,3]. */
static void fill_sample(assay_graph *g) {
  static const float BIAS[] = {1, 2, 3};
  static const int64_t THREE = 3;
  assay_value x = input_x(g);
  assay_graph_push_scope(g, "layer.0");
  assay_value bias = assay_graph_add_initializer(g, "bias", ASSAY_DTYPE_F32, 1, &THREE, BIAS);
  assay_value sum = assay_graph_op(g, "Add", "Add", (assay_value[]){x, bias}, 2, NULL, 0);
  assay_value y = assay_graph_op_named(g, "Relu", "Relu", "y", &sum, 1, NULL, 0);
  assay_graph_pop_scope(g);
  assay_graph_add_output(g, y, ASSAY_DTYPE_F32, 2, (const assay_graph_dim[]){{0, "B"}, {3, NULL}});
  assay_graph_put_metadata(g, "test.key", "some value");
}

static assay_onnx_info *reread(const assay_graph *g) {
  assay_error err = {0};
  assay_buf bytes = {0};
  assay_onnx_info *info = NULL;
  assay_status st = assay_graph_serialize(g, &bytes, &err);
  if (!st) st = assay_onnx_info_parse(bytes.data, bytes.size_bytes, &info, &err);
  assay_buf_reset(&bytes);
  if (st) fail_msg("%s: %s", assay_status_name(st), err.text);
  return info;
}

static void a_graph_reads_back_as_it_was_built(void **state) {
  (void)state;
  assay_graph *g = new_graph(20);
  fill_sample(g);
  assert_int_equal(assay_graph_count_nodes(g, NULL), 2);
  assert_int_equal(assay_graph_count_nodes(g, "Relu"), 1);
  assay_onnx_info *info = reread(g);
  size_t n = 0;
  assert_string_equal(assay_onnx_info_producer(info), "assay");
  assert_string_equal(assay_onnx_info_producer_version(info), ASSAY_VERSION);
  assert_string_equal(assay_onnx_info_graph_name(info), "sample");
  assert_int_equal(assay_onnx_info_ir_version(info), 9);
  assert_int_equal(assay_onnx_info_opsets(info, &n)[0].version, 20);
  assert_int_equal(n, 1);
  const assay_onnx_value_info *in = assay_onnx_info_inputs(info, &n);
  assert_int_equal(n, 1);
  assert_string_equal(in[0].name, "x");
  assert_int_equal(in[0].dtype, ASSAY_DTYPE_F32);
  assert_int_equal(in[0].rank, 2);
  assert_string_equal(in[0].dims[0].symbol, "B");
  assert_int_equal(in[0].dims[0].size, -1);
  assert_int_equal(in[0].dims[1].size, 3);
  const assay_onnx_value_info *out = assay_onnx_info_outputs(info, &n);
  assert_int_equal(n, 1);
  assert_string_equal(out[0].name, "y");
  assert_int_equal(assay_onnx_info_n_initializers(info), 1);
  assert_int_equal(assay_onnx_info_initializer_bytes(info), 12);
  assert_string_equal(assay_onnx_info_metadata_value(info, "test.key"), "some value");
  const assay_onnx_op_count *ops = assay_onnx_info_ops(info, &n);
  assert_int_equal(n, 2);
  assert_string_equal(ops[0].op, "Add");
  assert_string_equal(ops[1].op, "Relu");
  assay_onnx_info_close(info);
  assay_graph_destroy(g);
}

static void equal_calls_give_equal_bytes(void **state) {
  (void)state;
  assay_error err = {0};
  assay_buf a = {0}, b = {0};
  for (int i = 0; i < 2; i++) {
    assay_graph *g = new_graph(24);
    fill_sample(g);
    assert_int_equal(assay_graph_serialize(g, i == 0 ? &a : &b, &err), ASSAY_OK);
    assay_graph_destroy(g);
  }
  assert_int_equal(a.size_bytes, b.size_bytes);
  assert_memory_equal(a.data, b.data, a.size_bytes);
  assay_buf_reset(&a);
  assay_buf_reset(&b);
}

static void ir_version_follows_from_the_opset(void **state) {
  (void)state;
  static const struct {
    int64_t opset, ir; /* ir 0: refused */
  } CASES[] = {{17, 0},  {18, 8},  {19, 9},  {20, 9}, {21, 10},
               {22, 10}, {23, 11}, {24, 12}, {25, 0}, {-1, 0}};
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    assay_error err = {0};
    assay_graph *g = NULL;
    assay_status st = assay_graph_create("g", CASES[i].opset, &g, &err);
    if (CASES[i].ir == 0) {
      assert_int_equal(st, ASSAY_E_UNSUPPORTED);
      assert_non_null(strstr(err.text, "expected 18 to 24"));
      assert_null(g);
      continue;
    }
    assert_int_equal(st, ASSAY_OK);
    fill_sample(g);
    assay_onnx_info *info = reread(g);
    assert_int_equal(assay_onnx_info_ir_version(info), CASES[i].ir);
    assay_onnx_info_close(info);
    assay_graph_destroy(g);
  }
}

/* ---- what builders may get wrong ---- */

static void op_unknown(assay_graph *g, assay_value x) {
  (void)assay_graph_op(g, "Frobnicate", "f", &x, 1, NULL, 0);
}
static void op_of_a_later_opset(assay_graph *g, assay_value x) {
  (void)assay_graph_op(g, "RMSNormalization", "norm", (assay_value[]){x, x}, 2, NULL, 0);
}
static void too_few_inputs(assay_graph *g, assay_value x) {
  (void)assay_graph_op(g, "Add", "sum", &x, 1, NULL, 0);
}
static void too_many_inputs(assay_graph *g, assay_value x) {
  (void)assay_graph_op(g, "Relu", "r", (assay_value[]){x, x}, 2, NULL, 0);
}
static void too_few_outputs(assay_graph *g, assay_value x) {
  (void)assay_graph_op(g, "TopK", "sort", (assay_value[]){x, x}, 2, NULL, 0);
}
static void too_many_outputs(assay_graph *g, assay_value x) {
  assay_value outs[2];
  assay_graph_add_node(g, "Relu", "r", &x, 1, NULL, 0, outs, 2);
  assert_null(outs[0].name);
  assert_null(outs[1].name);
}
static void required_input_absent(assay_graph *g, assay_value x) {
  (void)assay_graph_op(g, "Add", "sum", (assay_value[]){x, {NULL}}, 2, NULL, 0);
}
static void value_of_another_graph(assay_graph *g, assay_value x) {
  (void)assay_graph_op(g, "Add", "sum", (assay_value[]){x, {"elsewhere"}}, 2, NULL, 0);
}
static void input_name_taken(assay_graph *g, assay_value x) {
  (void)x;
  (void)input_x(g);
}
static void output_name_taken(assay_graph *g, assay_value x) {
  (void)assay_graph_op_named(g, "Relu", "r", "x", &x, 1, NULL, 0);
}
static void output_name_empty(assay_graph *g, assay_value x) {
  (void)assay_graph_op_named(g, "Relu", "r", "", &x, 1, NULL, 0);
}
static void output_unknown(assay_graph *g, assay_value x) {
  (void)x;
  assay_graph_add_output(g, (assay_value){"nowhere"}, ASSAY_DTYPE_F32, 0, NULL);
}
static void output_empty(assay_graph *g, assay_value x) {
  (void)x;
  assay_graph_add_output(g, (assay_value){NULL}, ASSAY_DTYPE_F32, 0, NULL);
}
static void output_twice(assay_graph *g, assay_value x) {
  assay_graph_add_output(g, x, ASSAY_DTYPE_F32, 0, NULL);
  assay_graph_add_output(g, x, ASSAY_DTYPE_F32, 0, NULL);
}
static void rank_negative(assay_graph *g, assay_value x) {
  assay_graph_add_output(g, x, ASSAY_DTYPE_F32, -1, NULL);
}
static void scope_left_twice(assay_graph *g, assay_value x) {
  (void)x;
  assay_graph_push_scope(g, "a");
  assay_graph_pop_scope(g);
  assay_graph_pop_scope(g);
}
static void scopes_without_end(assay_graph *g, assay_value x) {
  (void)x;
  for (int i = 0; i < 1000; i++) assay_graph_push_scope(g, "deeper");
}
static void name_too_long(assay_graph *g, assay_value x) {
  char label[1000];
  memset(label, 'a', sizeof label - 1);
  label[sizeof label - 1] = '\0';
  (void)assay_graph_op(g, "Relu", label, &x, 1, NULL, 0);
}
static void metadata_twice(assay_graph *g, assay_value x) {
  (void)x;
  assay_graph_put_metadata(g, "k", "1");
  assay_graph_put_metadata(g, "k", "2");
}
static void negative_dimension(assay_graph *g, assay_value x) {
  static const int64_t DIMS[] = {-1};
  (void)x;
  (void)assay_graph_add_initializer(g, "w", ASSAY_DTYPE_F32, 1, DIMS, NULL);
}
static void builders_own_error(assay_graph *g, assay_value x) {
  (void)x;
  assay_graph_fail(g, ASSAY_E_ARGUMENT, "N=%d is odd", 3);
}

static const struct {
  const char *name;
  void (*build)(assay_graph *g, assay_value x);
  assay_status status;
  const char *text;
} MISTAKES[] = {
    {"op_unknown", op_unknown, ASSAY_E_UNSUPPORTED, "Frobnicate ('scope/f')"},
    {"op_of_a_later_opset", op_of_a_later_opset, ASSAY_E_UNSUPPORTED, "for opset 20"},
    {"too_few_inputs", too_few_inputs, ASSAY_E_INTERNAL, "Add 'scope/sum' has 1 inputs"},
    {"too_many_inputs", too_many_inputs, ASSAY_E_INTERNAL, "has 2 inputs"},
    {"too_few_outputs", too_few_outputs, ASSAY_E_INTERNAL, "1 outputs"},
    {"too_many_outputs", too_many_outputs, ASSAY_E_INTERNAL, "2 outputs"},
    {"required_input_absent", required_input_absent, ASSAY_E_INTERNAL, "is absent"},
    {"value_of_another_graph", value_of_another_graph, ASSAY_E_INTERNAL,
     "'elsewhere', no value of this graph"},
    {"input_name_taken", input_name_taken, ASSAY_E_INTERNAL, "'x' is taken"},
    {"output_name_taken", output_name_taken, ASSAY_E_INTERNAL, "'x' is taken"},
    {"output_name_empty", output_name_empty, ASSAY_E_INTERNAL, "'' is empty"},
    {"output_unknown", output_unknown, ASSAY_E_INTERNAL, "'nowhere' is no value"},
    {"output_empty", output_empty, ASSAY_E_INTERNAL, "is no value"},
    {"output_twice", output_twice, ASSAY_E_INTERNAL, "an output already"},
    {"rank_negative", rank_negative, ASSAY_E_INTERNAL, "rank -1"},
    {"scope_left_twice", scope_left_twice, ASSAY_E_INTERNAL, "never entered"},
    {"scopes_without_end", scopes_without_end, ASSAY_E_LIMIT, "too deep"},
    {"name_too_long", name_too_long, ASSAY_E_LIMIT, "longer than"},
    {"metadata_twice", metadata_twice, ASSAY_E_INTERNAL, "'k' is put twice"},
    {"negative_dimension", negative_dimension, ASSAY_E_ARGUMENT, "-1"},
    {"builders_own_error", builders_own_error, ASSAY_E_ARGUMENT, "N=3 is odd"},
};

static void a_mistake_is_named(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof MISTAKES / sizeof *MISTAKES; i++) {
    assay_error err = {0};
    assay_graph *g = new_graph(20);
    assay_value x = input_x(g);
    assay_graph_push_scope(g, "scope");
    if (strncmp(MISTAKES[i].name, "scope_left", 10) == 0) assay_graph_pop_scope(g);
    MISTAKES[i].build(g, x);
    assay_status st = assay_graph_status(g, &err);
    if (st != MISTAKES[i].status || strstr(err.text, MISTAKES[i].text) == NULL) {
      fail_msg("%s: got %s '%s', expected %s with '%s'", MISTAKES[i].name, assay_status_name(st),
               err.text, assay_status_name(MISTAKES[i].status), MISTAKES[i].text);
    }
    assay_graph_destroy(g);
  }
}

static void the_first_mistake_stays_and_nothing_is_written(void **state) {
  (void)state;
  assay_error first = {0}, later = {0}, serialized = {0};
  assay_graph *g = new_graph(20);
  assay_value x = input_x(g);
  assay_value bad = assay_graph_op(g, "Add", "first", &x, 1, NULL, 0);
  assert_null(bad.name);
  assert_int_equal(assay_graph_status(g, &first), ASSAY_E_INTERNAL);
  (void)assay_graph_op(g, "Frobnicate", "second", &bad, 1, NULL, 0);
  assay_graph_pop_scope(g);
  assay_graph_push_scope(g, "s");
  assert_null(assay_graph_const_f32(g, 1.0f).name);
  assert_null(assay_graph_const_i64(g, 1).name);
  assert_null(assay_graph_const_i64s(g, (const int64_t[]){1}, 1).name);
  assert_null(input_x(g).name);
  assay_graph_put_metadata(g, "a", "b");
  assay_graph_add_output(g, x, ASSAY_DTYPE_F32, 0, NULL);
  assert_int_equal(assay_graph_status(g, &later), ASSAY_E_INTERNAL);
  assert_string_equal(first.text, later.text);
  assert_int_equal(assay_graph_count_nodes(g, NULL), 0);
  assay_buf out = {0};
  assert_int_equal(assay_graph_serialize(g, &out, &serialized), ASSAY_E_INTERNAL);
  assert_int_equal(out.size_bytes, 0);
  assert_string_equal(first.text, serialized.text);
  assert_int_equal(assay_graph_save(g, "/tmp/assay_graph_test_never.onnx", NULL), ASSAY_E_INTERNAL);
  assert_int_equal(assay_path_kind_of("/tmp/assay_graph_test_never.onnx"), ASSAY_PATH_NONE);
  assay_graph_destroy(g);
}

static void a_graph_without_outputs_is_refused(void **state) {
  (void)state;
  assay_error err = {0};
  assay_buf out = {0};
  assay_graph *g = new_graph(20);
  (void)input_x(g);
  assert_int_equal(assay_graph_serialize(g, &out, &err), ASSAY_E_INTERNAL);
  assert_non_null(strstr(err.text, "'sample' has no output"));
  assay_graph_destroy(g);
}

/* ---- names and constants ---- */

static void names_say_where_and_are_unique(void **state) {
  (void)state;
  assay_graph *g = new_graph(20);
  assay_value x = input_x(g), outs[2];
  static const int64_t SIZES[] = {1, 2};
  assay_graph_push_scope(g, "backbone.0");
  assay_graph_push_scope(g, "q");
  assert_string_equal(assay_graph_op(g, "Relu", "Relu", &x, 1, NULL, 0).name, "backbone.0/q/Relu");
  assert_string_equal(assay_graph_op(g, "Relu", "Relu", &x, 1, NULL, 0).name,
                      "backbone.0/q/Relu_1");
  assert_string_equal(assay_graph_op(g, "Relu", "Relu", &x, 1, NULL, 0).name,
                      "backbone.0/q/Relu_2");
  assay_graph_pop_scope(g);
  assay_value split_in[] = {x, assay_graph_const_i64s(g, SIZES, 2)};
  assay_attr axis = ASSAY_ATTR_I("axis", 1);
  assay_graph_add_node(g, "Split", "Split", split_in, 2, &axis, 1, outs, 2);
  assert_string_equal(outs[0].name, "backbone.0/Split.0");
  assert_string_equal(outs[1].name, "backbone.0/Split.1");
  assay_graph_pop_scope(g);
  assert_string_equal(assay_graph_op(g, "Relu", "Relu", &x, 1, NULL, 0).name, "Relu");
  static const char *const NAMES[] = {"left", "right"};
  assay_graph_add_node_named(g, "Split", "Split", NAMES, split_in, 2, &axis, 1, outs, 2);
  assert_string_equal(outs[0].name, "left");
  assert_string_equal(outs[1].name, "right");
  assert_int_equal(assay_graph_status(g, NULL), ASSAY_OK);
  assay_graph_destroy(g);
}

static void equal_small_constants_are_one(void **state) {
  (void)state;
  static const int64_t SIX = 6, LONG = 17;
  static const float SMALL[6] = {1, 2, 3, 4, 5, 6};
  static const float LARGE[17] = {0};
  static const int32_t ZERO_I32[1] = {0};
  static const int64_t ONE = 1;
  assay_graph *g = new_graph(20);
  assay_value a = assay_graph_const_f32(g, 0.5f);
  assert_string_equal(a.name, "const/f32/0.5");
  assay_graph_push_scope(g, "s");
  assert_ptr_equal(assay_graph_const_f32(g, 0.5f).name, a.name);
  assert_string_not_equal(assay_graph_const_f32(g, -0.5f).name, a.name);
  assert_string_equal(assay_graph_const_f32(g, INFINITY).name, "const/f32/inf");
  /* 0.0 and -0.0 are not the same bytes */
  assert_ptr_not_equal(assay_graph_const_f32(g, 0.0f).name, assay_graph_const_f32(g, -0.0f).name);
  /* the same bytes of another type, or another shape, are another constant */
  assay_value i64 = assay_graph_const_i64(g, 7);
  assert_ptr_not_equal(assay_graph_const_i64s(g, (const int64_t[]){7}, 1).name, i64.name);
  assay_value f = assay_graph_add_initializer(g, "f", ASSAY_DTYPE_F32, 1, &ONE, ZERO_I32);
  assay_value i = assay_graph_add_initializer(g, "i", ASSAY_DTYPE_I32, 1, &ONE, ZERO_I32);
  assert_string_equal(f.name, "s/f");
  assert_string_equal(i.name, "s/i");
  assay_value w = assay_graph_add_initializer(g, "w", ASSAY_DTYPE_F32, 1, &SIX, SMALL);
  assert_ptr_equal(assay_graph_add_initializer(g, "v", ASSAY_DTYPE_F32, 1, &SIX, SMALL).name,
                   w.name);
  /* weights are never shared, however equal */
  assert_string_equal(assay_graph_add_initializer(g, "w", ASSAY_DTYPE_F32, 1, &LONG, LARGE).name,
                      "s/w_1");
  assert_string_equal(assay_graph_add_initializer(g, "w", ASSAY_DTYPE_F32, 1, &LONG, LARGE).name,
                      "s/w_2");
  assert_int_equal(assay_graph_status(g, NULL), ASSAY_OK);
  assay_graph_destroy(g);
}

static void an_optional_input_may_be_absent(void **state) {
  (void)state;
  assay_graph *g = new_graph(20);
  assay_value x = input_x(g), six = assay_graph_const_f32(g, 6.0f);
  assay_value y =
      assay_graph_op_named(g, "Clip", "Clip", "y", (assay_value[]){x, {NULL}, six}, 3, NULL, 0);
  assay_graph_add_output(g, y, ASSAY_DTYPE_F32, 2, (const assay_graph_dim[]){{0, "B"}, {3, NULL}});
  assay_onnx_info *info = reread(g);
  assert_int_equal(assay_onnx_info_n_nodes(info), 1);
  assay_onnx_info_close(info);
  assay_graph_destroy(g);
}

static bool holds(const assay_buf *bytes, const char *part, size_t n) {
  for (size_t i = 0; i + n <= bytes->size_bytes; i++) {
    if (memcmp(bytes->data + i, part, n) == 0) return true;
  }
  return false;
}

static void every_attribute_kind_is_written(void **state) {
  (void)state;
  static const int64_t PERM[] = {1, 0};
  assay_graph *g = new_graph(20);
  assay_value x = input_x(g);
  assay_attr attrs[] = {ASSAY_ATTR_IS("perm", PERM, 2)};
  x = assay_graph_op(g, "Transpose", "t", &x, 1, attrs, 1);
  attrs[0] = ASSAY_ATTR_F("alpha", 0.25f);
  x = assay_graph_op(g, "Elu", "e", &x, 1, attrs, 1);
  attrs[0] = ASSAY_ATTR_S("approximate", "none");
  x = assay_graph_op(g, "Gelu", "g", &x, 1, attrs, 1);
  attrs[0] = ASSAY_ATTR_I("to", 11);
  x = assay_graph_op(g, "Cast", "c", &x, 1, attrs, 1);
  assay_graph_add_output(g, x, ASSAY_DTYPE_F64, 2, (const assay_graph_dim[]){{3, NULL}, {0, "B"}});
  assay_error err = {0};
  assay_buf bytes = {0};
  assert_int_equal(assay_graph_serialize(g, &bytes, &err), ASSAY_OK);
  /* the field of each kind as protobuf writes it: ints twice, f, s, i */
  static const struct {
    const char *what;
    const char *bytes;
    size_t n;
  } WANTED[] = {
      {"perm", "\x0a\x04perm\x40\x01\x40\x00\xa0\x01\x07", 13},
      {"alpha",
       "\x0a\x05"
       "alpha\x15\x00\x00\x80\x3e\xa0\x01\x01",
       15},
      {"approximate",
       "\x0a\x0b"
       "approximate\x22\x04none\xa0\x01\x03",
       22},
      {"to", "\x0a\x02to\x18\x0b\xa0\x01\x02", 9},
  };
  for (size_t i = 0; i < sizeof WANTED / sizeof *WANTED; i++) {
    if (!holds(&bytes, WANTED[i].bytes, WANTED[i].n)) {
      fail_msg("attribute %s is not in the file as expected", WANTED[i].what);
    }
  }
  assay_buf_reset(&bytes);
  assay_graph_destroy(g);
}

/* ---- memory and files ---- */

static assay_status build_and_save(const char *path, assay_error *err) {
  assay_graph *g = NULL;
  assay_status st = assay_graph_create("sample", 20, &g, err);
  if (!st) {
    fill_sample(g);
    st = assay_graph_save(g, path, err);
  }
  assay_graph_destroy(g);
  return st;
}

static void running_out_of_memory_is_reported(void **state) {
  (void)state;
  char path[] = "/tmp/assay_graph_test_XXXXXX";
  assert_non_null(mkdtemp(path));
  char *file = assay_path_join(path, "model.onnx");
  int64_t n = 0;
  for (; n < 1000; n++) {
    assay_error err = {0};
    assay_alloc_fail_after(n);
    assay_status st = build_and_save(file, &err);
    assay_alloc_fail_after(-1);
    if (st == ASSAY_OK) break;
    if (st != ASSAY_E_MEMORY) fail_msg("allocation %lld: %s", (long long)n, err.text);
    assert_int_equal(assay_path_kind_of(file), ASSAY_PATH_NONE);
  }
  assert_in_range(n, 30, 999);
  assert_int_equal(assay_path_kind_of(file), ASSAY_PATH_FILE);
  assay_free(file);
  assert_int_equal(assay_folder_remove(path, NULL), ASSAY_OK);
}

static void a_file_that_cannot_be_written_is_an_io_error(void **state) {
  (void)state;
  assay_error err = {0};
  assert_int_equal(build_and_save("/nonexistent/model.onnx", &err), ASSAY_E_IO);
  assert_non_null(strstr(err.text, "/nonexistent"));
}

static void operators_are_found_for_the_opsets_that_have_them(void **state) {
  (void)state;
  static const struct {
    const char *op;
    int64_t opset;
    int max_inputs; /* -1: not there */
  } CASES[] = {{"Gelu", 19, -1},     {"Gelu", 20, 1},   {"Attention", 22, -1}, {"Attention", 23, 6},
               {"Attention", 24, 7}, {"Swish", 23, -1}, {"Swish", 24, 1},      {"Where", 18, 3},
               {"where", 20, -1},    {"", 20, -1}};
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    const assay_op *op = assay_op_find(CASES[i].op, CASES[i].opset);
    int found = op == NULL ? -1 : (int)op->max_inputs;
    if (found != CASES[i].max_inputs) {
      fail_msg("%s at opset %lld: %d, expected %d", CASES[i].op, (long long)CASES[i].opset, found,
               CASES[i].max_inputs);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_graph_reads_back_as_it_was_built),
      cmocka_unit_test(equal_calls_give_equal_bytes),
      cmocka_unit_test(ir_version_follows_from_the_opset),
      cmocka_unit_test(a_mistake_is_named),
      cmocka_unit_test(the_first_mistake_stays_and_nothing_is_written),
      cmocka_unit_test(a_graph_without_outputs_is_refused),
      cmocka_unit_test(names_say_where_and_are_unique),
      cmocka_unit_test(equal_small_constants_are_one),
      cmocka_unit_test(an_optional_input_may_be_absent),
      cmocka_unit_test(every_attribute_kind_is_written),
      cmocka_unit_test(running_out_of_memory_is_reported),
      cmocka_unit_test(a_file_that_cannot_be_written_is_an_io_error),
      cmocka_unit_test(operators_are_found_for_the_opsets_that_have_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
