/* Tests of compiles.c on logs as MIGraphX's and OpenVINO's providers write them. */
#include "evidence/compiles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

#define MIGRAPHX    "MIGraphXExecutionProvider"
#define OPENVINO    "OpenVINOExecutionProvider"
#define STAGE(name) "[1|assay|worker|stage] " name "\n"
#define COMPILE                                                                                    \
  "[2|onnxruntime|assay|migraphx_execution_provider.cc:1274 compile_program] Model Compile: "      \
  "Begin\n[2|onnxruntime|assay|migraphx_execution_provider.cc:1276 compile_program] Model "        \
  "Compile: Complete\n"
#define LOADED                                                                                     \
  "[1|onnxruntime|assay|basic_backend.cc:118 BasicBackend] [OpenVINO-EP] Loaded model to the "     \
  "plugin\n"
#define TO_FIRST STAGE("start") STAGE("load_library") STAGE("session")

static const struct {
  const char *name, *provider, *log;
  bool is_verbose, visible;
  size_t n_session, n_first, n_later;
} cases[] = {
    {"static shapes", MIGRAPHX,
     TO_FIRST COMPILE STAGE("bind") STAGE("first_run") STAGE("warmup") STAGE("timing"), false, true,
     1, 0, 0},
    {"dynamic shapes", MIGRAPHX,
     TO_FIRST STAGE("bind") STAGE("first_run") COMPILE STAGE("warmup") STAGE("timing"), false, true,
     0, 1, 0},
    {"again and again", MIGRAPHX,
     TO_FIRST COMPILE COMPILE STAGE("bind") STAGE("first_run") COMPILE STAGE("warmup")
         COMPILE STAGE("timing") COMPILE COMPILE STAGE("outputs"),
     false, true, 2, 1, 3},
    {"nothing compiled: from a cache", MIGRAPHX, TO_FIRST STAGE("bind") STAGE("first_run"), false,
     true, 0, 0, 0},
    {"it did not come to a call", MIGRAPHX, TO_FIRST COMPILE, false, false, 0, 0, 0},
    {"no stages", MIGRAPHX, COMPILE, false, false, 0, 0, 0},
    {"empty", MIGRAPHX, "", false, false, 0, 0, 0},
    {"verbose", OPENVINO,
     TO_FIRST LOADED LOADED STAGE("bind") STAGE("first_run") STAGE("placement"), true, true, 2, 0,
     0},
    {"warnings alone", OPENVINO, TO_FIRST STAGE("bind") STAGE("first_run"), false, false, 0, 0, 0},
    {"another provider", "CUDAExecutionProvider", TO_FIRST STAGE("first_run") COMPILE, false, false,
     0, 0, 0},
    {"a stage within a message", MIGRAPHX,
     TO_FIRST STAGE("first_run") "[2|x|y|z] \\x0a[1|assay|worker|stage] timing\n" COMPILE, false,
     true, 0, 1, 0},
};

static void programs_are_counted_by_stage(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(cases); ++i) {
    assay_compiles c;
    assay_compiles_parse(cases[i].log, strlen(cases[i].log), cases[i].provider, cases[i].is_verbose,
                         &c);
    if (c.visible != cases[i].visible || c.n_session != cases[i].n_session ||
        c.n_first != cases[i].n_first || c.n_later != cases[i].n_later)
      fail_msg("%s: %d, %zu, %zu, %zu", cases[i].name, c.visible, c.n_session, c.n_first,
               c.n_later);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(programs_are_counted_by_stage)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
