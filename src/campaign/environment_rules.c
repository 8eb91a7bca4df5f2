/* Rules of the environment. The table names variables by provider; what each does is said by the
 * documents below.
 *
 * Sources: ONNX Runtime's attention kernels (contrib_ops/cpu/bert/attention_common.h, read by the
 * CPU provider too) and provider options; MIGraphX's environment variables
 * (rocm.docs.amd.com, MIGraphX developer environment variables), all of which steer its compiler;
 * NVIDIA's documents of CUDA, cuBLAS and cuDNN; oneDNN's run-time controls. */
#include "campaign/environment_rules.h"

#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* Providers as bits. */
enum { CUDA = 1, TENSORRT = 2, MIGRAPHX = 4, ROCM = 8, ONEDNN = 16, OPENVINO = 32, ANY = 0xff };
#define NVIDIA (CUDA | TENSORRT)
#define AMD    (MIGRAPHX | ROCM)

typedef struct ruled {
  const char *name; /* a '*' at its end: what begins so */
  int providers;
  assay_environment_rule rule;
} ruled;

/* The first that fits counts. */
static const ruled rules[] = {
    {"ORT_ENABLE_ATTENTION_KERNEL_DEBUG_INFO", ANY, ASSAY_ENVIRONMENT_TRACING},
    {"ORT_DEBUG_NODE_IO_*", ANY, ASSAY_ENVIRONMENT_TRACING},
    {"ORT_DISABLE_FLASH_ATTENTION", ANY, ASSAY_ENVIRONMENT_CHANGES},
    {"ORT_DISABLE_*ATTENTION", ANY, ASSAY_ENVIRONMENT_CHANGES},
    {"ORT_ENABLE_*ATTENTION", ANY, ASSAY_ENVIRONMENT_CHANGES},
    {"ORT_MIN_SEQ_LEN_*", ANY, ASSAY_ENVIRONMENT_CHANGES},
    {"ORT_LOAD_CONFIG_FROM_MODEL", ANY, ASSAY_ENVIRONMENT_CHANGES},
    {"ORT_CUDA_*", NVIDIA, ASSAY_ENVIRONMENT_CHANGES},
    {"ORT_TENSORRT_*", TENSORRT, ASSAY_ENVIRONMENT_CHANGES},
    {"ORT_MIGRAPHX_DUMP_MODEL_OPS", AMD, ASSAY_ENVIRONMENT_TRACING},
    {"ORT_MIGRAPHX_*", AMD, ASSAY_ENVIRONMENT_CHANGES},
    {"ORT_ROCM_*", AMD, ASSAY_ENVIRONMENT_CHANGES},
    {"NVIDIA_TF32_OVERRIDE", NVIDIA, ASSAY_ENVIRONMENT_CHANGES},
    {"CUDA_LAUNCH_BLOCKING", NVIDIA, ASSAY_ENVIRONMENT_CHANGES},
    {"CUDA_FORCE_PTX_JIT", NVIDIA, ASSAY_ENVIRONMENT_CHANGES},
    {"CUBLAS_WORKSPACE_CONFIG", NVIDIA, ASSAY_ENVIRONMENT_CHANGES},
    {"CUBLAS_EMULATE_*", NVIDIA, ASSAY_ENVIRONMENT_CHANGES},
    {"CUBLAS_LOG*", NVIDIA, ASSAY_ENVIRONMENT_TRACING},
    {"CUBLASLT_LOG_*", NVIDIA, ASSAY_ENVIRONMENT_TRACING},
    {"CUDNN_LOG*", NVIDIA, ASSAY_ENVIRONMENT_TRACING},
    {"MIGRAPHX_TRACE_*", AMD, ASSAY_ENVIRONMENT_TRACING},
    {"MIGRAPHX_MLIR_DUMP*", AMD, ASSAY_ENVIRONMENT_TRACING},
    {"MIGRAPHX_GPU_DUMP_*", AMD, ASSAY_ENVIRONMENT_TRACING},
    {"MIGRAPHX_*", AMD, ASSAY_ENVIRONMENT_CHANGES},
    {"HIP_LAUNCH_BLOCKING", AMD, ASSAY_ENVIRONMENT_CHANGES},
    {"HSA_OVERRIDE_GFX_VERSION", AMD, ASSAY_ENVIRONMENT_CHANGES},
    {"AMD_SERIALIZE_*", AMD, ASSAY_ENVIRONMENT_CHANGES},
    {"AMD_LOG_LEVEL", AMD, ASSAY_ENVIRONMENT_TRACING},
    {"ROCBLAS_LAYER", AMD, ASSAY_ENVIRONMENT_TRACING},
    {"ROCBLAS_*", AMD, ASSAY_ENVIRONMENT_CHANGES},
    {"HIPBLASLT_LOG_*", AMD, ASSAY_ENVIRONMENT_TRACING},
    {"HIPBLASLT_*", AMD, ASSAY_ENVIRONMENT_CHANGES},
    {"MIOPEN_*", AMD, ASSAY_ENVIRONMENT_CHANGES},
    {"ONEDNN_VERBOSE*", ONEDNN | OPENVINO, ASSAY_ENVIRONMENT_TRACING},
    {"DNNL_VERBOSE*", ONEDNN | OPENVINO, ASSAY_ENVIRONMENT_TRACING},
    {"ONEDNN_*", ONEDNN | OPENVINO, ASSAY_ENVIRONMENT_CHANGES},
    {"DNNL_*", ONEDNN | OPENVINO, ASSAY_ENVIRONMENT_CHANGES},
    {"OMP_*", ONEDNN, ASSAY_ENVIRONMENT_CHANGES},
    {"KMP_*", ONEDNN, ASSAY_ENVIRONMENT_CHANGES},
    {"GOMP_*", ONEDNN, ASSAY_ENVIRONMENT_CHANGES},
    {"OV_CPU_*", OPENVINO, ASSAY_ENVIRONMENT_CHANGES},
};

static int bit_of(const char *provider) {
  static const struct {
    const char *name;
    int bit;
  } bits[] = {
      {"CUDAExecutionProvider", CUDA},         {"TensorrtExecutionProvider", TENSORRT},
      {"MIGraphXExecutionProvider", MIGRAPHX}, {"ROCMExecutionProvider", ROCM},
      {"DnnlExecutionProvider", ONEDNN},       {"OpenVINOExecutionProvider", OPENVINO},
  };
  if (provider == NULL) return ANY;
  for (size_t i = 0; i < N_OF(bits); i++)
    if (strcmp(provider, bits[i].name) == 0) return bits[i].bit;
  return 0;
}

/* '*' stands for any text, once. */
static bool fits(const char *pattern, const char *name) {
  const char *star = strchr(pattern, '*');
  if (star == NULL) return strcmp(pattern, name) == 0;
  size_t n = (size_t)(star - pattern);
  return strncmp(pattern, name, n) == 0 && strlen(name) >= n + strlen(star + 1) &&
         assay_text_has_suffix(name, star + 1);
}

assay_environment_rule assay_environment_rule_of(const char *name, const char *provider) {
  int bit = bit_of(provider);
  for (size_t i = 0; i < N_OF(rules); i++)
    if ((rules[i].providers == ANY || (rules[i].providers & bit) != 0) && fits(rules[i].name, name))
      return rules[i].rule;
  return ASSAY_ENVIRONMENT_FREE;
}

static bool is_named(const assay_settings *settings, const char *name) {
  for (size_t i = 0; i < settings->n; i++)
    if (strcmp(settings->items[i].key, name) == 0) return true;
  return false;
}

static assay_status refuse(const assay_runtime_spec *runtime, const char *name,
                           assay_environment_rule rule, assay_error *err) {
  const char *label = runtime->name != NULL ? runtime->name : runtime->provider;
  if (rule == ASSAY_ENVIRONMENT_TRACING)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "%s is set, and makes runtime '%s' trace while it is timed: unset it; a "
                      "runtime's \"placement_env\" sets it for placement runs alone",
                      name, label);
  return assay_fail(err, ASSAY_E_ARGUMENT,
                    "%s is set, and changes what runtime '%s' computes or how fast: unset it, or "
                    "name it in the runtime's \"env\" (null there unsets it)",
                    name, label);
}

assay_status assay_environment_check(const assay_runtime_spec *runtime, char *const *list,
                                     assay_error *err) {
  for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
    char name[256];
    size_t n = strcspn(list[i], "=");
    if (n == 0 || n >= sizeof name) continue; /* no variable of the table is as long */
    memcpy(name, list[i], n);
    name[n] = '\0';
    assay_environment_rule rule = assay_environment_rule_of(name, runtime->provider);
    if (rule != ASSAY_ENVIRONMENT_FREE && !is_named(&runtime->env, name))
      return refuse(runtime, name, rule, err);
  }
  return ASSAY_OK;
}
