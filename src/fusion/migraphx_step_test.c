/* Tests of migraphx_step.c on programs of a few lines; whole traces with a seam are tried in
 * fusion_test.c. */
#include "fusion/migraphx_step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"

#define F32 " -> float_type, {4, 4}, {4, 1}\n"
#define I64 " -> int64_type, {4, 4}, {4, 1}\n"
#define X   "x = @param:x" F32
#define N   "n = @param:n" I64

/* Instructions alone: their modules are in their names. */
static assay_migraphx_program program_of(assay_fusion_work *work, const char *text) {
  assay_migraphx_program program = {0};
  assay_log_lines lines = assay_log_lines_of(text, strlen(text));
  assay_log_line line;
  while (assay_log_lines_next(&lines, &line)) {
    assay_migraphx_instr instr;
    assert_true(assay_migraphx_instr_parse(line, &instr));
    assay_migraphx_program_add(&program, work, &instr);
  }
  return program;
}

static void a_pass_makes_only_what_it_can(void **state) {
  static const struct {
    const char *before, *pass, *after, *why; /* why NULL: no contradiction */
  } rows[] = {
      {X "@1 = add(x,x)" F32 "@2 = mul(x,x)" F32, "dead_code_elimination", X "@1 = mul(x,x)" F32,
       NULL},
      {X "@1 = add(x,x)" F32, "dead_code_elimination", X "@1 = mul(x,x)" F32, "adds nothing"},
      {X "@1 = add(x,x)" F32, "dead_code_elimination", X "@1 = add(x,x)" F32 "@2 = add(x,@1)" F32,
       "adds nothing"},
      {X "@1 = add(x,x)" F32, "dead_code_elimination", X "a:@1 = add(x,x)" F32, "adds nothing"},
      {X "@1 = add(x,x)" F32, "eliminate_identity", X "@1 = add(x,x)" I64, "adds nothing"},
      {X "@1 = add(x,x)" F32 "@2 = @return(@1)\n", "dead_code_elimination",
       X "@1 = add(x,x)" F32 "@2 = @return(x)\n", NULL},
      {X "@1 = add(x,x)" F32, "id", X "@1 = add(x,x)" F32, NULL},
      {X "@1 = add(x,x)" F32, "id", X, "adds nothing"},
      {X "@1 = add(x,x)" F32, "simplify_algebra", X "@1 = mul(x,x)" F32, NULL},
      {N "@1 = add(n,n)" I64, "gpu::lowering", N "@1 = add(n,n)" F32, "without a conversion"},
      {N "@1 = add(n,n)" I64, "eliminate_data_type", N "@1 = add(n,n)" F32, "without a conversion"},
      {N "@1 = add(n,n)" I64, "eliminate_data_type",
       N "@1 = convert[target_type=2](n)" F32 "@2 = add(@1,@1)" F32
         "@3 = convert[target_type=9](@2)" I64,
       NULL},
      {N "@1 = add(n,n)" I64, "simplify_qdq", N "@1 = add(n,n)" F32, NULL},
      {N "@1 = reshape[dims={4, 4}](n)" I64, "simplify_reshapes",
       N "@1 = convert[target_type=2](n)" F32 "@2 = reshape[dims={4, 4}](@1)" F32, NULL},
      {"@0 = @literal{1, 2}" I64, "propagate_constant", "@0 = @literal{1, 2}" F32, NULL},
      {X, "fuse_attention", X "attn0:@1 = @return(x)\n", NULL},
      {X, "optimize_module", X "attn0:@1 = @return(x)\n", "makes none"},
      {X "attn0:@1 = @return(x)\n", "gpu::fuse_mlir",
       X "attn0:@1 = @return(x)\nmlir_attn0:@1 = @return(x)\n", NULL},
      {X, "gpu::fuse_mlir", X "attn0:@1 = @return(x)\nmlir_attn0:@1 = @return(x)\n", "makes none"},
      {X, "schedule", X "@1 = gpu::code_object[symbol_name=mlir_dot_softmax_dot](x)" F32,
       "makes none"},
      {X, "gpu::compile_ops", X "@1 = gpu::code_object[symbol_name=mlir_dot_softmax_dot](x)" F32,
       NULL},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_fusion_work work = {0};
    assay_migraphx_program before = program_of(&work, rows[i].before);
    assay_migraphx_program after = program_of(&work, rows[i].after);
    const char *why =
        assay_migraphx_step_contradiction(&work, assay_span_of(rows[i].pass), &before, &after);
    assert_int_equal(work.status, ASSAY_OK);
    if ((why == NULL) != (rows[i].why == NULL) || (why != NULL && !strstr(why, rows[i].why)))
      fail_msg("row %zu, %s: '%s', expected '%s'", i, rows[i].pass, why != NULL ? why : "none",
               rows[i].why != NULL ? rows[i].why : "none");
    assay_migraphx_program_reset(&before);
    assay_migraphx_program_reset(&after);
  }
}

static void says_where_memory_is_lacking(void **state) {
  assay_fusion_work work = {0};
  assay_migraphx_program program = program_of(&work, X);
  (void)state;
  assay_alloc_fail_after(0);
  assert_null(assay_migraphx_step_contradiction(&work, assay_span_of("id"), &program, &program));
  assay_alloc_fail_after(-1);
  assert_int_equal(work.status, ASSAY_E_MEMORY);
  assay_migraphx_program_reset(&program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_pass_makes_only_what_it_can),
      cmocka_unit_test(says_where_memory_is_lacking),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
