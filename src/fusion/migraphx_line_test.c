/* Tests of migraphx_line.c: instructions as MIGraphX prints them, and lines that are none. */
#include "fusion/migraphx_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

static assay_log_line line_of(const char *text) {
  return (assay_log_line){.text = assay_span_of(text), .number = 7, .is_ended = true};
}

static void reads_instructions(void **state) {
  static const struct {
    const char *text, *name, *op, *attributes, *arguments, *type;
    int rank;
    int64_t last; /* length of the last axis */
  } rows[] = {
      {"@6 = gpu::gemm[alpha=1,beta=0](q,@4,@2) -> half_type, {1, 8, 64, 64}, {32768, 4096, 64, 1}",
       "@6", "gpu::gemm", "alpha=1,beta=0", "q,@4,@2", "half_type", 4, 64},
      {"main:#output_0 = @param:main:#output_0 -> float_type, {2, 160}, {160, 1}", "main:#output_0",
       "@param:main:#output_0", "", "", "float_type", 2, 160},
      {"/a b.0:x = @param:/a b.0:x -> bool_type, {3}, {1}", "/a b.0:x", "@param:/a b.0:x", "", "",
       "bool_type", 1, 3},
      {"@4 = @literal{0.25} -> half_type, {1}, {0}", "@4", "@literal", "", "", "half_type", 1, 1},
      {"@0 = check_context::migraphx::gpu::context -> float_type, {}, {}", "@0",
       "check_context::migraphx::gpu::context", "", "", "float_type", 0, 0},
      {"@14 = @return(@13)", "@14", "@return", "", "@13", "", 0, 0},
      {"m:@3 = topk[k=5,axis=-1](@2) -> [float_type, {5}, {1}, int64_type, {5}, {1}]", "m:@3",
       "topk", "k=5,axis=-1", "@2", "", 0, 0},
      {"@2 = group[tag=attention](q,k), [attn0] -> half_type, {1, 64}, {64, 1}, target_id=1", "@2",
       "group", "tag=attention", "q,k", "half_type", 2, 64},
      {"x = @param:x -> dynamic, float_type, {[ 1, 4, {2} ], [ 3, 3, {} ]}", "x", "@param:x", "",
       "", "", 0, 0},
      {"@8 = multibroadcast[out_lens={1, 8},out_dyn_dims={}](m) -> bool_type, {1, 8}, {8, 0}", "@8",
       "multibroadcast", "out_lens={1, 8},out_dyn_dims={}", "m", "bool_type", 2, 8},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_migraphx_instr instr;
    if (!assay_migraphx_instr_parse(line_of(rows[i].text), &instr)) fail_msg("%s", rows[i].text);
    assert_true(assay_span_is(instr.name, rows[i].name));
    assert_true(assay_span_is(instr.op, rows[i].op));
    assert_true(assay_span_is(instr.attributes, rows[i].attributes));
    assert_true(assay_span_is(instr.arguments, rows[i].arguments));
    assert_true(assay_span_is(instr.shape.type, rows[i].type));
    assert_int_equal(instr.shape.rank, rows[i].rank);
    if (rows[i].rank > 0) assert_int_equal(instr.shape.lens[rows[i].rank - 1], rows[i].last);
    assert_int_equal(instr.line, 7);
  }
}

static void other_lines_are_no_instructions(void **state) {
  static const char *const rows[] = {
      "",
      "module: \"main\"",
      "@1 = relu(x) -> half_type, {1, 8}, {8, 1}: weight=2 input={} stream=0", /* a schedule's */
      "@1 = relu(x) -> half_type, {1, 8}, {8, 1}: 0.0014ms, 45%",
      "@1 = relu(x) -> half_type, {1, 8}, {8, 1", /* cut */
      "@1 = relu(x) -> half_type, {1, 8}",
      "@1 = relu(x) -> half_type, {1, 8}, {8}",
      "@1 = relu(x) -> half, {1}, {1}",
      "@1 = relu(x)",
      "@9 = @return(@8",
      "a = b -> c",
      "MIGRAPHX_TRACE_COMPILE=1\\ ",
      ("@1 = relu(x) -> half_type, {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}, "
       "{1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}"), /* 17 dimensions */
      "@1 = relu(x) -> half_type, {99999999999999999999}, {1}",
  };
  assay_migraphx_instr instr;
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++)
    if (assay_migraphx_instr_parse(line_of(rows[i]), &instr)) fail_msg("taken: %s", rows[i]);
  assay_log_line cut = line_of("@14 = @return(@13)");
  cut.is_ended = false;
  assert_false(assay_migraphx_instr_parse(cut, &instr));
}

static void tells_scores_from_views(void **state) {
  static const struct {
    const char *shape;
    int64_t n;
    bool is_square;
  } rows[] = {
      {"half_type, {1, 8, 64, 64}, {32768, 4096, 64, 1}", 64, true},
      {"half_type, {8, 64, 64}, {4096, 64, 1}", 0, true},
      {"half_type, {1, 8, 64, 64}, {64, 0, 0, 1}", 64, false}, /* a broadcast */
      {"half_type, {1, 64, 64}, {0, 64, 1}", 64, true},        /* of one: none */
      {"half_type, {1, 8, 64, 64}, {32768, 4096, 64, 1}", 96, false},
      {"half_type, {1, 8, 64, 16}, {8192, 1024, 16, 1}", 64, false},
      {"half_type, {1, 1}, {1, 1}", 0, false},
      {"half_type, {64}, {1}", 64, false},
      {"half_type, {1, 8, 64, 1, 64}, {32768, 4096, 64, 64, 1}", 64, true},
      {"half_type, {8, 64, 64, 1}, {4096, 64, 1, 1}", 64, true},
      {"half_type, {1, 8, 64, 16, 4}, {32768, 4096, 64, 4, 1}", 64, true}, /* an axis split */
      {"half_type, {1, 8, 16, 4, 64}, {32768, 4096, 256, 64, 1}", 64, true},
      {"half_type, {1, 64, 8, 16}, {8192, 128, 16, 1}", 64, false},
      {"half_type, {8, 4096}, {4096, 1}", 64, false}, /* may be a width */
      {"half_type, {8, 1000000}, {1000000, 1}", 1000, true},
      {"half_type, {8000000}, {1}", 1000, true}, /* of all heads */
      {"half_type, {1, 8000, 1000}, {8000000, 1000, 1}", 1000, true},
      {"half_type, {4000, 1000}, {1000, 1}", 1000, false}, /* may be a width */
      {"half_type, {2, 4500, 1000}, {4500000, 1000, 1}", 1000, false},
      {"half_type, {1, 64, 8, 64}, {32768, 64, 4096, 1}", 64, true}, /* another layout */
      {"half_type, {64, 64, 8}, {1, 64, 4096}", 64, true},
      {"half_type, {64, 64, 8}, {1, 64, 4096}", 0, false},
      {"half_type, {1, 8, 1000, 1, 1000}, {8000000, 1000000, 1000, 1000, 1}", 1000, true},
      {"half_type, {1, 1000, 256}, {256000, 256, 1}", 1000, false},
      {"half_type, {1, 1}, {1, 1}", 1, false},
      {"half_type, {0, 64, 64}, {4096, 64, 1}", 64, true},
      {"half_type, {64, 0}, {0, 1}", 64, false},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    char text[128] = "@1 = load(x) -> ";
    assay_migraphx_instr instr;
    strcat(text, rows[i].shape);
    assert_true(assay_migraphx_instr_parse(line_of(text), &instr));
    if (assay_migraphx_is_square(&instr.shape, rows[i].n) != rows[i].is_square)
      fail_msg("%s for %d", rows[i].shape, (int)rows[i].n);
  }
}

static void reads_the_parts_of_a_tuple(void **state) {
  static const char *const types[] = {"half_type", "int64_type", "float_type"};
  assay_migraphx_instr instr;
  assay_migraphx_shape part;
  size_t n = 0;
  (void)state;
  assert_true(assay_migraphx_instr_parse(
      line_of("@1 = topk(x) -> [half_type, {2, 9}, {9, 1}, [int64_type, {2, 9}, {9, 1}], "
              "float_type, {8, 64, 64}, {4096, 64, 1}], target_id=1"),
      &instr));
  assert_int_equal(instr.shape.type.n, 0);
  for (size_t at = 0; assay_migraphx_shape_part(&instr.shape, &at, &part); n++) {
    assert_true(n < N_OF(types));
    assert_true(assay_span_is(part.type, types[n]));
    assert_int_equal(part.rank, n < 2 ? 2 : 3);
    assert_int_equal(assay_migraphx_is_square(&part, 64), n == 2);
  }
  assert_int_equal(n, N_OF(types));
  assert_true(assay_migraphx_instr_parse(line_of("@1 = relu(x) -> half_type, {1}, {1}"), &instr));
  n = 0;
  assert_false(assay_migraphx_shape_part(&instr.shape, &n, &part));
}

static void tells_whose_axes_hold_the_elements(void **state) {
  static const struct {
    const char *shape;
    bool has_elems; /* 64 of them */
  } rows[] = {
      {"half_type, {1, 8, 64, 16}, {8192, 1024, 16, 1}", true},
      {"half_type, {128, 128}, {128, 1}", true}, /* two events as one axis */
      {"half_type, {1, 8, 4, 16, 16}, {8192, 1024, 256, 16, 1}", true},
      {"half_type, {1, 8, 32, 16}, {4096, 512, 16, 1}", false},
      {"half_type, {1, 8, 96, 16}, {12288, 1536, 16, 1}", false},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    char text[128] = "@1 = load(x) -> ";
    assay_migraphx_instr instr;
    strcat(text, rows[i].shape);
    assert_true(assay_migraphx_instr_parse(line_of(text), &instr));
    if (assay_migraphx_has_elems(&instr.shape, 64) != rows[i].has_elems) fail_msg("%s", text);
  }
}

static void finds_attributes(void **state) {
  assay_migraphx_instr instr;
  (void)state;
  assert_true(assay_migraphx_instr_parse(
      line_of(
          "@1 = f[out={1, symbol_name=no},symbol_name=mlir_dot,global=4,](x) -> t_type, {}, {}"),
      &instr));
  assert_true(assay_span_is(assay_migraphx_attribute(&instr, "symbol_name"), "mlir_dot"));
  assert_true(assay_span_is(assay_migraphx_attribute(&instr, "global"), "4"));
  assert_int_equal(assay_migraphx_attribute(&instr, "glob").n, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_instructions),
      cmocka_unit_test(other_lines_are_no_instructions),
      cmocka_unit_test(tells_scores_from_views),
      cmocka_unit_test(reads_the_parts_of_a_tuple),
      cmocka_unit_test(tells_whose_axes_hold_the_elements),
      cmocka_unit_test(finds_attributes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
