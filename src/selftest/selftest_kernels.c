/* Runtimes that require more than placement, and runs that do not show it: dispatch lines of
 * attention kernels, and compiled programs. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "selftest/selftest_cases.h"

#define FRESH(spoil_function, reason_words)                                                        \
  .start = SELFTEST_FRESH, .spoil = (spoil_function), .by = SELFTEST_GATE,                         \
  .topic = ASSAY_TOPIC_KERNELS, .words = (reason_words)
#define PASSES(spoil_function)                                                                     \
  .start = SELFTEST_FRESH, .spoil = (spoil_function), .by = SELFTEST_PASSES
#define FORGED(spoil_function, forge_function, problem_words)                                      \
  .start = SELFTEST_FRESH, .spoil = (spoil_function), .forge = (forge_function),                   \
  .by = SELFTEST_VERIFY, .kind = ASSAY_VERIFY_FIGURE, .words = (problem_words)

#define RESULT SELFTEST_PLACEMENT "result.json: "

/* --- dispatch lines ------------------------------------------------------------------------------
 */

#define RAN(node, kernel)                                                                          \
  "Operator=Attention Node=" node " DataType=fp16 SdpaKernel=" kernel "_ATTENTION\n"
#define FLASH_CALL     RAN("/0/Attention", "FLASH") RAN("/1/Attention", "FLASH")
#define EFFICIENT_CALL RAN("/0/Attention", "FLASH") RAN("/1/Attention", "EFFICIENT")
#define MATH_CALL                                                                                  \
  RAN("/0/Attention", "FLASH")                                                                     \
  "Operator=Attention Node=/1/Attention DataType=fp16 SdpaKernel=MATH\n"

/* Two operations in each of SELFTEST_RUNS calls. */
static void flash(selftest_scene *s) {
  s->required = "flash_attention";
  s->fused_ops = 2;
  s->talk = FLASH_CALL FLASH_CALL FLASH_CALL;
}
static void silent(selftest_scene *s) {
  flash(s);
  s->talk = NULL;
}
static void math(selftest_scene *s) {
  flash(s);
  s->talk = MATH_CALL MATH_CALL MATH_CALL;
}
static void efficient(selftest_scene *s) {
  flash(s);
  s->talk = EFFICIENT_CALL EFFICIENT_CALL EFFICIENT_CALL;
}
static void math_once(selftest_scene *s) {
  flash(s);
  s->talk = FLASH_CALL FLASH_CALL MATH_CALL;
}
static void fewer_operations(selftest_scene *s) {
  flash(s);
  s->fused_ops = 3;
}
static void fewer_calls(selftest_scene *s) {
  flash(s);
  s->talk = FLASH_CALL FLASH_CALL;
}
static void line_cut(selftest_scene *s) {
  flash(s);
  s->talk = FLASH_CALL FLASH_CALL RAN("/0/Attention", "FLASH") "Operator=Attention Node=/1/Atte";
}
static void nothing_to_show(selftest_scene *s) {
  flash(s);
  s->fused_ops = 0;
  s->talk = NULL;
}

/* --- compiled programs ---------------------------------------------------------------------------
 */

#define READ                                                                                       \
  "x = @param:x -> float_type, {1, 8, 3}, {24, 3, 1}\n"                                            \
  "@1 = argmax[axis=1](x) -> int64_type, {1, 1, 3}, {3, 3, 1}\n"                                   \
  "@2 = add(@1,@1) -> int64_type, {1, 1, 3}, {3, 3, 1}\n"                                          \
  "@3 = gather[axis=1](x,@2) -> float_type, {1, 1, 3}, {3, 3, 1}\n"                                \
  "@4 = @return(@3)\n\n"
#define ROUNDED                                                                                    \
  "x = @param:x -> float_type, {1, 8, 3}, {24, 3, 1}\n"                                            \
  "@1 = argmax[axis=1](x) -> int64_type, {1, 1, 3}, {3, 3, 1}\n"                                   \
  "@2 = convert[target_type=2](@1) -> float_type, {1, 1, 3}, {3, 3, 1}\n"                          \
  "@3 = add(@2,@2) -> float_type, {1, 1, 3}, {3, 3, 1}\n"                                          \
  "@4 = gather[axis=1](x,@3) -> float_type, {1, 1, 3}, {3, 3, 1}\n"                                \
  "@5 = @return(@4)\n\n"
#define COMPILED                                                                                   \
  "@0 = check_context::migraphx::gpu::context -> float_type, {}, {}\n"                             \
  "x = @param:x -> float_type, {1, 8, 3}, {24, 3, 1}\n"                                            \
  "@2 = gpu::code_object[code_object=4096,symbol_name=argmax_add_gather_kernel,global=64,"         \
  "local=64,](x) -> float_type, {1, 1, 3}, {3, 3, 1}\n"                                            \
  "@3 = @return(@2)\n\n"

/* A pass prints the module and, once it is validated, the whole program. */
#define MAIN            "module: \"main\"\n"
#define AFTER(pass, is) "Pass: " pass "\n" is "Validate ...\n\nPass: " pass "\n" MAIN is "\n"
#define BEGINNING       MAIN READ "\n" AFTER("split_single_dyn_dim", READ)
#define END                                                                                        \
  AFTER("check_context", COMPILED)                                                                 \
  AFTER("normalize_ops", COMPILED) AFTER("eliminate_identity", COMPILED)

static void integers_kept(selftest_scene *s) {
  s->required = "integer_tensors";
  s->talk = BEGINNING AFTER("eliminate_data_type", READ) END;
}
static void integers_rounded(selftest_scene *s) {
  integers_kept(s);
  s->talk = BEGINNING AFTER("eliminate_data_type", ROUNDED) END;
}
static void trace_cut(selftest_scene *s) {
  integers_kept(s);
  s->talk = BEGINNING AFTER("eliminate_data_type", READ);
}
static void no_trace(selftest_scene *s) {
  integers_kept(s);
  s->talk = NULL;
}
static void compiled_unfused(selftest_scene *s) {
  integers_kept(s);
  s->required = "fused_attention";
  s->fused_ops = 1;
}

/* --- results, edited and sealed again ------------------------------------------------------------
 */

static void edit(selftest_scene *s, void (*change)(assay_result *)) {
  selftest_edit_result(s, ASSAY_RESULT_PLACEMENT, change);
  selftest_reseal(s, /*with_report=*/true);
}
static void pass(assay_result *r) {
  snprintf(r->kernels.verdict, sizeof r->kernels.verdict, "pass");
  r->kernels.reason[0] = '\0';
}
static void verdict_forged(selftest_scene *s) {
  edit(s, pass);
}
static void expect_less(assay_result *r) {
  pass(r);
  r->kernels.expected--;
}
static void expectation_forged(selftest_scene *s) {
  edit(s, expect_less);
}
static void find_more(assay_result *r) {
  pass(r);
  r->kernels.found++;
}
static void count_forged(selftest_scene *s) {
  edit(s, find_more);
}
static void drop_evidence(assay_result *r) {
  if (r->kernels.n_evidence == 0) return;
  r->kernels.n_evidence--;
  assay_free(r->kernels.evidence[r->kernels.n_evidence]);
}
static void evidence_dropped(selftest_scene *s) {
  edit(s, drop_evidence);
}
static void drop_kernels(assay_result *r) {
  assay_result_kernels_reset(&r->kernels);
}
static void kernels_dropped(selftest_scene *s) {
  edit(s, drop_kernels);
}
static void require_other(assay_result *r) {
  if (r->kernels.n_required == 0) return;
  assay_free(r->kernels.required[0]);
  r->kernels.required[0] = assay_strdup("integer_tensors");
}
static void requirement_forged(selftest_scene *s) {
  edit(s, require_other);
}
static void require_nothing(assay_result *r) {
  if (r->kernels.n_required == 0) return;
  assay_free(r->kernels.required[0]);
  r->kernels.n_required = 0;
}
static void requirement_dropped(selftest_scene *s) {
  edit(s, require_nothing);
}
static void claim(assay_result *r) {
  r->kernels.known = true;
  pass(r);
}
static void proof_of_nothing(selftest_scene *s) {
  edit(s, claim);
}
static void crash(selftest_scene *s) {
  flash(s);
  s->talk = NULL;
  s->placement_ends = "kill -SEGV $$";
}
/* What the run said, changed to what it should have said. */
static void talk_replaced(selftest_scene *s) {
  selftest_edit(s, SELFTEST_PLACEMENT "stdout.txt", "SdpaKernel=MATH",
                "SdpaKernel=FLASH_ATTENTION");
  selftest_reseal(s, /*with_report=*/true);
}

const selftest_case selftest_kernel_cases[] = {
    {"control: every attention operation in a flash kernel", "", PASSES(flash)},
    {"control: integers that no pass makes floating", "", PASSES(integers_kept)},
    {"flash kernels required, and no line says which ran", "",
     FRESH(silent, "no line says which attention kernel ran")},
    {"flash kernels required, and MATH ran", "ORT sessions that fall back silently",
     FRESH(math, "ran MATH")},
    {"flash kernels required, and MATH ran once", "", FRESH(math_once, "ran MATH")},
    {"flash kernels required, and a memory-efficient one ran", "",
     FRESH(efficient, "ran EFFICIENT_ATTENTION")},
    {"flash kernels in fewer operations than the graph has", "tools that count what they find",
     FRESH(fewer_operations, "expected 3 in each of 3 calls, found 6")},
    {"flash kernels in fewer calls than were made", "",
     FRESH(fewer_calls, "expected 2 in each of 3 calls, found 4")},
    {"the lines of flash kernels are cut", "", FRESH(line_cut, "cut")},
    {"flash kernels required of a graph without any", "",
     FRESH(nothing_to_show, "nothing was shown")},
    {"integers required, and a pass makes them floating", "MIGraphX",
     FRESH(integers_rounded, "eliminate_data_type makes 1 integers floating")},
    {"integers required, and the trace is cut", "", FRESH(trace_cut, "no evidence")},
    {"integers required, and there is no trace", "", FRESH(no_trace, "no compiled program")},
    {"fused attention required, and a program has none", "MIGraphX",
     FRESH(compiled_unfused, "expected 1 fused attention kernels, found 0")},
    {"a verdict on kernels forged to a pass", "",
     FORGED(math, verdict_forged, RESULT "kernels.verdict$")},
    {"fewer fused operations expected, and a pass", "",
     FORGED(fewer_operations, expectation_forged, RESULT "kernels.expected$")},
    {"more fused operations found, and a pass", "",
     FORGED(fewer_calls, count_forged, RESULT "kernels.found$")},
    {"a line of evidence dropped", "",
     FORGED(math_once, evidence_dropped, RESULT "kernels.evidence (their number)$")},
    {"required kernels that the result does not mention", "",
     FORGED(math, kernels_dropped, RESULT "kernels (they are there)$")},
    {"kernels shown that nothing requires", "",
     FORGED(/*spoil=*/NULL, proof_of_nothing, RESULT "kernels (they are there)$")},
    {"something else required by the result", "",
     FORGED(math, requirement_forged, RESULT "kernels.required$")},
    {"nothing required by the result", "",
     FORGED(math, requirement_dropped, RESULT "kernels.required (their number)$")},
    {"kernels shown by a run that crashed", "", FORGED(crash, proof_of_nothing, RESULT "kernels$")},
    {"the lines of kernels changed after the run", "",
     FORGED(math_once, talk_replaced, RESULT "kernels.verdict$")},
};
const size_t selftest_n_kernel_cases = sizeof selftest_kernel_cases / sizeof *selftest_kernel_cases;
