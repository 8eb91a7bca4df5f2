/* Tests of migraphx_program.c: scores in a compiled program, under whatever name and in whatever
 * layout. */
#include "fusion/migraphx_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

/* One fused attention of 64 elements, 8 heads of 16, a bias of 64 x 64 in, and a line to be judged;
 * arena @1, literal @2. */
#define BEGIN                                                                                      \
  "Running [ MIGraphX Version: 2.14.0. ]: migraphx-driver compile\nCompiling ... \n"               \
  "module: \"main\"\n"                                                                             \
  "@0 = check_context::migraphx::gpu::context -> float_type, {}, {}\n"                             \
  "@1 = hip::hip_allocate_memory[shape=int8_type, {65536}, {1},id=main:scratch] -> int8_type, "    \
  "{65536}, {1}\n"                                                                                 \
  "@2 = hip::hip_copy_literal[id=main:@literal:0] -> half_type, {8, 64, 64}, {4096, 64, 1}\n"      \
  "q = @param:q -> half_type, {1, 8, 64, 16}, {8192, 1024, 16, 1}\n"                               \
  "b = @param:b -> half_type, {8, 64, 64}, {4096, 64, 1}\n"                                        \
  "main:#output_0 = @param:main:#output_0 -> half_type, {1, 8, 64, 16}, {8192, 1024, 16, 1}\n"     \
  "@6 = gpu::code_object[code_object=8192,symbol_name=mlir_dot_softmax_dot,global=1,local=1,]"     \
  "(q,main:#output_0) -> half_type, {1, 8, 64, 16}, {8192, 1024, 16, 1}\n"
#define END "\n\n[ MIGraphX Version: 2.14.0. ] Complete(1s): migraphx-driver compile\n"

#define SCORES " -> half_type, {8, 64, 64}, {4096, 64, 1}\n"
#define TUPLE  " -> [float_type, {8, 64}, {64, 1}, half_type, {8, 64, 64}, {4096, 64, 1}]\n"

static const struct {
  const char *lines; /* @7, @8 */
  size_t n_scores;
} rows[] = {
    {"@7 = load[offset=0,end=65536](@1) -> half_type, {8, 64, 16}, {1024, 16, 1}\n"
     "@8 = identity(@7) -> half_type, {8, 64, 16}, {1024, 16, 1}\n",
     0},
    /* Given, or views of what is given. */
    {"@7 = transpose[permutation={0, 2, 1}](@2)" SCORES "@8 = reshape_lazy(@7)" SCORES, 0},
    {"@7 = transpose[permutation={0, 2, 1}](b)" SCORES "@8 = slice(@7)" SCORES, 0},
    {"@7 = load[offset=0,end=65536](@1)" SCORES "@8 = hip::copy_to_gpu(b,@7)" SCORES, 0},
    {"@7 = hip::copy_to_gpu(b)" SCORES "@8 = transpose(@7)" SCORES, 0},
    {"@7 = load[offset=0,end=2](@1) -> half_type, {1}, {1}\n"
     "@8 = multibroadcast(@7) -> half_type, {8, 64, 64}, {0, 0, 0}\n",
     0},
    {"@7 = load[offset=0,end=4096](@1) -> bool_type, {64, 64}, {64, 1}\n"
     "@8 = gpu::contiguous(@7) -> bool_type, {64, 64}, {64, 1}\n",
     0},
    /* Buffers, and views of other buffers. */
    {"@7 = load[offset=0,end=65536](@1)" SCORES "@8 = transpose(@7)" SCORES, 1},
    {"@7 = load[offset=0,end=65536](@1) -> half_type, {8, 4096}, {4096, 1}\n"
     "@8 = reshape_lazy[dims={8, 64, 64}](@7)" SCORES,
     1},
    {"@7 = as_shape(@1)" SCORES "@8 = transpose(@7)" SCORES, 2},
    {"@7 = load[offset=0,end=65536](@1)" TUPLE "@8 = get_tuple_elem[index=1](@7)" SCORES, 1},
    {"@7 = load[offset=0,end=65536](@1) -> half_type, {1, 64, 8, 64}, {32768, 64, 4096, 1}\n"
     "@8 = slice(@7) -> half_type, {1}, {1}\n",
     1},
    /* Whatever computes, under whatever name. */
    {"@7 = dot(q,q)" SCORES "@8 = softmax[axis=2](@7)" SCORES, 2},
    {"@7 = ref::dot(q,q)" SCORES "@8 = slice(@7) -> half_type, {1}, {1}\n", 1},
    {"@7 = allocate[shape=half_type](@1)" SCORES "@8 = slice(@7) -> half_type, {1}, {1}\n", 1},
    {"@7 = gpu::code_object[symbol_name=mlir_dot_reduce_max,global=1,](q)" TUPLE
     "@8 = get_tuple_elem[index=0](@7) -> float_type, {8, 64}, {64, 1}\n",
     1},
};

static void finds_scores_under_any_name(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    char text[4096];
    snprintf(text, sizeof text, "%s%s@9 = @return(@6)\n%s", BEGIN, rows[i].lines, END);
    assay_fusion_source source = {.name = "program", .bytes = text, .size_bytes = strlen(text)};
    assay_fusion_spec spec = {.sources = &source, .n_sources = 1, .expect_fused = 1, .n_elems = 64};
    assay_fusion f = {0};
    assert_int_equal(assay_fusion_judge(&spec, &f, NULL), ASSAY_OK);
    assert_int_equal(f.n_programs, 1);
    if (f.programs[0].n_scores != rows[i].n_scores ||
        f.verdict != (rows[i].n_scores > 0 ? ASSAY_FUSION_FAIL : ASSAY_FUSION_PASS))
      fail_msg("row %zu: %s, %zu scores, expected %zu: %s", i, assay_fusion_verdict_name(f.verdict),
               f.programs[0].n_scores, rows[i].n_scores, f.reason);
    assay_fusion_reset(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_scores_under_any_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
