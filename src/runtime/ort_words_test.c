/* Tests of ort_words.c with messages as the runtime gave them. */
#include "runtime/ort_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

static void words_are_free_of_build_and_machine(void **state) {
  (void)state;
  const struct {
    const char *message, *words;
  } cases[] = {
      {"/onnxruntime_src/onnxruntime/core/session/provider_bridge_ort.cc:1504 "
       "onnxruntime::Provider& onnxruntime::ProviderLibrary::Get() [ONNXRuntimeError] : 1 : FAIL : "
       "Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.11: "
       "cannot "
       "open shared object file: No such file or directory\n",
       "Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.11: "
       "cannot "
       "open shared object file: No such file or directory"},
      {"Load model from opset99.onnx failed:/onnxruntime_src/onnxruntime/core/graph/model.cc:180 "
       "onnxruntime::Model::Model(onnx::ModelProto&&, const PathString&, const "
       "IOnnxRuntimeOpSchemaRegistryList*, const logging::Logger&, const ModelOptions&) "
       "Unsupported "
       "model IR version: 99, max supported IR version: 13\n",
       "Load model from opset99.onnx failed:Unsupported model IR version: 99, max supported IR "
       "version: 13"},
      {"Non-zero status code returned while running Add node. Name:'a' Status Message: "
       "/onnxruntime_src/onnxruntime/core/framework/bfc_arena.cc:376 void* "
       "onnxruntime::BFCArena::AllocateRawInternal(size_t, bool, onnxruntime::Stream*) Failed to "
       "allocate memory for requested buffer of size 4000000000\n",
       "Non-zero status code returned while running Add node. Name:'a' Status Message: Failed to "
       "allocate memory for requested buffer of size 4000000000"},
      {"CUDA failure 100: no CUDA-capable device is detected ; GPU=0 ; hostname=secret ; "
       "file=/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_execution_provider.cc ; "
       "line=282 ; "
       "expr=cudaSetDevice(info_.device_id);",
       "CUDA failure 100: no CUDA-capable device is detected ; GPU=0 ; "
       "expr=cudaSetDevice(info_.device_id);"},
      {"/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_call.cc:129 "
       "std::conditional_t<THRW, void, Status> onnxruntime::CudaCall(ERRTYPE, const char*) [with "
       "ERRTYPE = cudaError; bool THRW = true; T = a[2]] [with X = int] CUDA failure 100: no "
       "CUDA-capable device is detected ; GPU=-1 ; hostname=secret ; expr=cudaSetDevice(id);",
       "CUDA failure 100: no CUDA-capable device is detected ; GPU=-1 ; expr=cudaSetDevice(id);"},
      {"/src/core/providers/migraphx/migraphx_call.cc:59 std::conditional_t<THRW, void, "
       "onnxruntime::common::Status> onnxruntime::RocmCall(ERRTYPE, std::string_view, int) [with "
       "ERRTYPE = hipError_t; bool THRW = true] HIP failure 100: no ROCm-capable device is "
       "detected; GPU=32508; hostname=secret\n",
       "HIP failure 100: no ROCm-capable device is detected"},
      {"a ; hostname=secret", "a"},
      {"a [with b", "a [with b"},
      {"/src/webgpu_context.cc:77 onnxruntime::webgpu::WebGpuContext::Initialize(const Config&) "
       "adapter_result.status == wgpu::RequestAdapterStatus::Success was false. Failed to get a "
       "WebGPU adapter: No supported adapters",
       "Failed to get a WebGPU adapter: No supported adapters"},
      {"x == y was false. ", "x == y was false."},
      {"./onnxruntime/core/graph/graph.cc:12 bool ns::Graph::f(int) const plain words (with "
       "brackets)",
       "plain words (with brackets)"},
      {"graph.cc:12 ns::name is odd (really)", "ns::name is odd (really)"},
      {"Exception during initialization: /onnxruntime/core/providers/openvino/ov_interface.cc:28 "
       "auto "
       "onnxruntime::openvino_ep::OvExceptionBoundary(Func&&, Args&& ...) [with bool typed = "
       "false; "
       "Func = OVCore::CompileModel(std::string&)::<lambda()>] [OpenVINO-EP] Exception while "
       "Loading "
       "Network for graph g: Exception from src/inference/src/cpp/core.cpp:114:\n"
       "Exception from src/inference/src/dev/plugin.cpp:53:\n"
       "Check '!shape.rank().is_dynamic()' failed at src/plugins/intel_cpu/src/node.cpp:106:\n"
       "Unexpected: CPU plug-in doesn't support Parameter operation with dynamic rank. Operation "
       "name: /decoder/If_output_0\n\n\n",
       "Exception during initialization: [OpenVINO-EP] Exception while Loading Network for graph "
       "g: "
       "Unexpected: CPU plug-in doesn't support Parameter operation with dynamic rank. Operation "
       "name: /decoder/If_output_0"},
      {"because:\nx:\ny\nz", "because: x: y"},
      {"because:\n\n", "because:"},
      {"\n\n  second line counts\nthird", "second line counts"},
      {"file.cc:12 \nreason", "reason"},
      {"ends at 3.cc: 4", "ends at 3.cc: 4"},
      {"no signature end.cc:5 ns::f(int", "no signature ns::f(int"},
      {"[ONNXRuntimeError] : 1", "[ONNXRuntimeError] : 1"},
      {"a.h:1", "no reason given"},
      {"", "no reason given"},
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    char out[512];
    assay_ort_words(cases[i].message, out, sizeof out);
    assert_string_equal(out, cases[i].words);
  }
}

static void long_words_are_cut(void **state) {
  (void)state;
  char message[9000], out[32];
  memset(message, 'x', sizeof message - 1);
  message[sizeof message - 1] = '\0';
  assay_ort_words(message, out, sizeof out);
  assert_int_equal(strlen(out), sizeof out - 1);
  assay_ort_words("word", out, 1);
  assert_string_equal(out, "");
}

static void missing_is_told_from_refused(void **state) {
  (void)state;
  assert_true(assay_ort_words_mean_missing("Failed to load library x with error: y"));
  assert_true(assay_ort_words_mean_missing("CUDA failure 100: no CUDA-capable device is detected"));
  assert_false(assay_ort_words_mean_missing("Protobuf parsing failed."));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_are_free_of_build_and_machine),
      cmocka_unit_test(long_words_are_cut),
      cmocka_unit_test(missing_is_told_from_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
