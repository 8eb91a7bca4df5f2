/* Which variables of a shell are refused for which runtime. */
#include "campaign/environment_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/json.h"

static void rules_are_by_name_and_provider(void **state) {
  (void)state;
  static const struct {
    const char *name, *provider;
    assay_environment_rule rule;
  } cases[] = {
      {"ORT_DISABLE_FLASH_ATTENTION", "CPUExecutionProvider", ASSAY_ENVIRONMENT_CHANGES},
      {"ORT_DISABLE_FUSED_CROSS_ATTENTION", "MyExecutionProvider", ASSAY_ENVIRONMENT_CHANGES},
      {"ORT_ENABLE_CUDNN_FLASH_ATTENTION", NULL, ASSAY_ENVIRONMENT_CHANGES},
      {"ORT_ENABLE_ATTENTION_KERNEL_DEBUG_INFO", "CUDAExecutionProvider",
       ASSAY_ENVIRONMENT_TRACING},
      {"ORT_DISABLE_TELEMETRY", NULL, ASSAY_ENVIRONMENT_FREE},
      {"ORT_DISABLE_", NULL, ASSAY_ENVIRONMENT_FREE},
      {"NVIDIA_TF32_OVERRIDE", "CUDAExecutionProvider", ASSAY_ENVIRONMENT_CHANGES},
      {"NVIDIA_TF32_OVERRIDE", "CPUExecutionProvider", ASSAY_ENVIRONMENT_FREE},
      {"CUDA_LAUNCH_BLOCKING", "TensorrtExecutionProvider", ASSAY_ENVIRONMENT_CHANGES},
      {"CUDA_VISIBLE_DEVICES", "CUDAExecutionProvider", ASSAY_ENVIRONMENT_FREE},
      {"MIGRAPHX_TRACE_COMPILE", "MIGraphXExecutionProvider", ASSAY_ENVIRONMENT_TRACING},
      {"MIGRAPHX_ANY_NEW_ONE", "MIGraphXExecutionProvider", ASSAY_ENVIRONMENT_CHANGES},
      {"MIGRAPHX_ANY_NEW_ONE", "CUDAExecutionProvider", ASSAY_ENVIRONMENT_FREE},
      {"ORT_MIGRAPHX_MODEL_CACHE_PATH", "MIGraphXExecutionProvider", ASSAY_ENVIRONMENT_CHANGES},
      {"ONEDNN_DEFAULT_FPMATH_MODE", "OpenVINOExecutionProvider", ASSAY_ENVIRONMENT_CHANGES},
      {"ONEDNN_VERBOSE", "DnnlExecutionProvider", ASSAY_ENVIRONMENT_TRACING},
      {"OMP_NUM_THREADS", "DnnlExecutionProvider", ASSAY_ENVIRONMENT_CHANGES},
      {"OMP_NUM_THREADS", "CPUExecutionProvider", ASSAY_ENVIRONMENT_FREE},
      {"LD_LIBRARY_PATH", NULL, ASSAY_ENVIRONMENT_FREE},
      {"", NULL, ASSAY_ENVIRONMENT_FREE},
  };
  for (size_t i = 0; i < N_OF(cases); i++)
    if (assay_environment_rule_of(cases[i].name, cases[i].provider) != cases[i].rule)
      fail_msg("%s for %s", cases[i].name, cases[i].provider != NULL ? cases[i].provider : "any");
}

static void read_runtime(const char *json, assay_runtime_spec *out) {
  assay_json *root = NULL;
  assay_error err = {0};
  assert_int_equal(assay_json_parse(json, strlen(json), &root, &err), ASSAY_OK);
  if (assay_runtime_spec_of_json(root, ".", out, &err)) fail_msg("%s", err.text);
  assay_json_destroy(root);
}

static void leftovers_are_refused_unless_the_runtime_names_them(void **state) {
  (void)state;
  static const char plain[] = "{\"provider\": \"migraphx\"}",
                    unset[] = "{\"provider\": \"migraphx\", \"env\": "
                              "{\"MIGRAPHX_GPU_OPTIMIZE\": null}}",
                    tracing[] = "{\"provider\": \"migraphx\", \"placement_env\": "
                                "{\"MIGRAPHX_TRACE_COMPILE\": 1}}",
                    no_tracing[] = "{\"provider\": \"migraphx\", \"env\": "
                                   "{\"MIGRAPHX_TRACE_COMPILE\": null}}";
  static const struct {
    const char *runtime, *variable, *part; /* part: "" where it is accepted */
  } cases[] = {
      {plain, "HOME=/root", ""},
      {plain, "MIGRAPHX_GPU_OPTIMIZE=3", "MIGRAPHX_GPU_OPTIMIZE is set, and changes"},
      {plain, "MIGRAPHX_GPU_OPTIMIZE=", "null there unsets it"},
      {plain, "MIGRAPHX_GPU_OPTIMIZE", "unset it"},
      {plain, "=x", ""},
      {plain, "", ""},
      {unset, "MIGRAPHX_GPU_OPTIMIZE=3", ""},
      {unset, "MIGRAPHX_GPU_OPTIMIZE_=3", "MIGRAPHX_GPU_OPTIMIZE_ is set"},
      {plain, "MIGRAPHX_TRACE_COMPILE=1", "trace while it is timed"},
      {tracing, "MIGRAPHX_TRACE_COMPILE=1",
       "trace while it is timed"}, /* it would, in timed runs */
      {no_tracing, "MIGRAPHX_TRACE_COMPILE=1", ""},
  };
  for (size_t i = 0; i < N_OF(cases); i++) {
    assay_runtime_spec runtime = {0};
    assay_error err = {0};
    char other[] = "PATH=/bin", variable[64];
    snprintf(variable, sizeof variable, "%s", cases[i].variable);
    char *list[] = {other, variable, NULL};
    read_runtime(cases[i].runtime, &runtime);
    assay_status st = assay_environment_check(&runtime, list, &err);
    bool refused = cases[i].part[0] != '\0';
    if ((st == ASSAY_E_ARGUMENT) != refused || strstr(err.text, cases[i].part) == NULL)
      fail_msg("row %zu: %s '%s'", i, assay_status_name(st), err.text);
    assay_runtime_spec_reset(&runtime);
  }
  assay_runtime_spec runtime = {0};
  assert_int_equal(assay_environment_check(&runtime, NULL, NULL), ASSAY_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rules_are_by_name_and_provider),
      cmocka_unit_test(leftovers_are_refused_unless_the_runtime_names_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
