/* Built-in runtimes, as the files that they would be. 'assay doctor --runtime NAME --show' prints
 * one to copy and change.
 *
 * TF32 is off, and kernels are deterministic, wherever there is such a choice. Variables that
 * override a provider's options are unset; tracing is on in placement runs, where what it prints is
 * evidence. Provider options and variables: specs of ONNX Runtime's providers and of MIGraphX as in
 * environment_rules.c. */
#include "campaign/runtime_builtin.h"

#include <string.h>

#include "base/array.h"

/* What both CUDA runtimes share. */
#define CUDA_OPTIONS "\"use_tf32\": \"0\", \"cudnn_conv_algo_search\": \"DEFAULT\""
#define CUDA_REST                                                                                  \
  "\"session\": {\"deterministic\": true}, "                                                       \
  "\"env\": {\"NVIDIA_TF32_OVERRIDE\": \"0\"}, "                                                   \
  "\"placement_env\": {\"ORT_ENABLE_ATTENTION_KERNEL_DEBUG_INFO\": \"1\"}"

/* What all MIGraphX runtimes share: one program for each shape, compiled when the session is made
 * and from nothing. */
#define MIGRAPHX_HEAD                                                                              \
  "\"provider\": \"MIGraphXExecutionProvider\", "                                                  \
  "\"options\": {\"migraphx_fp16_enable\": \"0\", \"migraphx_int8_enable\": \"0\", "               \
  "\"migraphx_exhaustive_tune\": \"0\"}, "                                                         \
  "\"session\": {\"deterministic\": true}, \"static\": true, "                                     \
  "\"placement_env\": {\"MIGRAPHX_TRACE_COMPILE\": \"1\"}, "
#define MIGRAPHX_ENV                                                                               \
  "\"ORT_MIGRAPHX_FP16_ENABLE\": null, \"ORT_MIGRAPHX_BF16_ENABLE\": null, "                       \
  "\"ORT_MIGRAPHX_FP8_ENABLE\": null, \"ORT_MIGRAPHX_INT8_ENABLE\": null, "                        \
  "\"ORT_MIGRAPHX_EXHAUSTIVE_TUNE\": null, \"ORT_MIGRAPHX_MODEL_CACHE_PATH\": null"

static const assay_runtime_builtin builtins[] = {
    {"cpu", "ONNX Runtime's own CPU kernels", "{\"provider\": \"CPUExecutionProvider\"}"},
    {"cuda", "NVIDIA GPUs, TF32 off",
     "{\"provider\": \"CUDAExecutionProvider\", \"options\": {" CUDA_OPTIONS "}, " CUDA_REST "}"},
    {"cuda-flash", "NVIDIA GPUs, fused attention: flash kernels and proof of them",
     "{\"provider\": \"CUDAExecutionProvider\", "
     "\"options\": {" CUDA_OPTIONS ", \"sdpa_kernel\": \"1\"}, " CUDA_REST ", "
     "\"required_evidence\": [\"flash_attention\"]}"},
    {"migraphx", "AMD GPUs, compiled by MIGraphX",
     "{" MIGRAPHX_HEAD "\"env\": {" MIGRAPHX_ENV "}}"},
    {"migraphx-attention", "AMD GPUs, fused attention: rocMLIR kernels and proof of them",
     "{" MIGRAPHX_HEAD "\"env\": {" MIGRAPHX_ENV
     ", \"MIGRAPHX_MLIR_USE_SPECIFIC_OPS\": \"attention\"}, "
     "\"required_evidence\": [\"fused_attention\"]}"},
    {"migraphx-heptv2", "AMD GPUs, integers kept integers: what HEPTv2's sort needs",
     "{" MIGRAPHX_HEAD "\"env\": {" MIGRAPHX_ENV
     ", \"MIGRAPHX_DISABLE_PASSES\": \"eliminate_data_type\", \"MIGRAPHX_GPU_OPTIMIZE\": \"3\", "
     "\"MIGRAPHX_GPU_HIP_FLAGS\": \"-mllvm -enable-gvn-memdep=false\"}, "
     "\"required_evidence\": [\"integer_tensors\"]}"},
    {"openvino", "Intel's OpenVINO on its CPU device, in FP32",
     "{\"provider\": \"OpenVINOExecutionProvider\", "
     "\"options\": {\"device_type\": \"CPU\", \"precision\": \"FP32\", \"num_of_threads\": \"1\", "
     "\"num_streams\": \"1\"}}"},
    {"webgpu", "any GPU through WebGPU (Vulkan, Metal, Direct3D 12)",
     "{\"provider\": \"WebGpuExecutionProvider\"}"},
    {"dnnl", "oneDNN on the CPU", "{\"provider\": \"DnnlExecutionProvider\"}"},
    {"xnnpack", "XNNPACK on the CPU",
     "{\"provider\": \"XnnpackExecutionProvider\", "
     "\"options\": {\"intra_op_num_threads\": \"1\"}}"},
};

const assay_runtime_builtin *assay_runtime_builtins(size_t *out_n) {
  *out_n = N_OF(builtins);
  return builtins;
}

const assay_runtime_builtin *assay_runtime_builtin_find(const char *name) {
  for (size_t i = 0; i < N_OF(builtins); i++)
    if (strcmp(name, builtins[i].name) == 0) return &builtins[i];
  return NULL;
}
