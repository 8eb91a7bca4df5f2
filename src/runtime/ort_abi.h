/* The part of ONNX Runtime's C ABI that assay calls: a table of functions that only grows, so that
 * a slot once found stays where it is. Names, positions and signatures are those of the public C
 * API (onnxruntime_c_api.h, API version 29); enumerations are passed as int. ort_abi_test.c
 * compares the positions with the official header where that is installed.
 *
 * A library 1.X serves each version up to X. Its table ends where that version ended: a member is
 * called only when the version that brought it (16 or less where nothing is said) was given. */
#ifndef ASSAY_RUNTIME_ORT_ABI_H
#define ASSAY_RUNTIME_ORT_ABI_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASSAY_ORT_ABI_OLDEST 16 /* what every member without a note needs */
#define ASSAY_ORT_ABI_NEWEST 24 /* nothing of later versions is called */

typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtValue OrtValue;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtCUDAProviderOptionsV2 OrtCUDAProviderOptionsV2;
typedef struct OrtTensorRTProviderOptionsV2 OrtTensorRTProviderOptionsV2;
typedef struct OrtDnnlProviderOptions OrtDnnlProviderOptions;
typedef struct OrtEpDevice OrtEpDevice;
typedef struct OrtHardwareDevice OrtHardwareDevice;
typedef struct OrtEpAssignedSubgraph OrtEpAssignedSubgraph;
typedef struct OrtEpAssignedNode OrtEpAssignedNode;

/* Values of the enumerations that assay uses. */
enum {
  ASSAY_ORT_NO_SUCH_FILE = 3,    /* error code */
  ASSAY_ORT_SEQUENTIAL = 0,      /* execution mode */
  ASSAY_ORT_ARENA_ALLOCATOR = 1, /* allocator type */
  ASSAY_ORT_MEMORY_DEFAULT = 0,  /* memory type */
  ASSAY_ORT_DEVICE_CPU = 0,      /* device type of a memory info */
};

typedef void (*assay_ort_logger)(void *arg, int severity, const char *category, const char *id,
                                 const char *location, const char *message);

typedef struct assay_ort_api {
  void *unused_0[1];
  int (*GetErrorCode)(const OrtStatus *status);
  const char *(*GetErrorMessage)(const OrtStatus *status);
  void *unused_3[1];
  OrtStatus *(*CreateEnvWithCustomLogger)(assay_ort_logger log, void *log_arg, int severity,
                                          const char *id, OrtEnv **out);
  void *unused_5[2];
  OrtStatus *(*CreateSession)(const OrtEnv *env, const char *model_path,
                              const OrtSessionOptions *options, OrtSession **out);
  void *unused_8[1];
  OrtStatus *(*Run)(OrtSession *session, const OrtRunOptions *options,
                    const char *const *input_names, const OrtValue *const *inputs, size_t n_inputs,
                    const char *const *output_names, size_t n_outputs, OrtValue **outputs);
  OrtStatus *(*CreateSessionOptions)(OrtSessionOptions **out);
  OrtStatus *(*SetOptimizedModelFilePath)(OrtSessionOptions *options, const char *path);
  void *unused_12[1];
  OrtStatus *(*SetSessionExecutionMode)(OrtSessionOptions *options, int mode);
  OrtStatus *(*EnableProfiling)(OrtSessionOptions *options, const char *prefix);
  void *unused_15[4];
  OrtStatus *(*DisableCpuMemArena)(OrtSessionOptions *options);
  void *unused_20[2];
  OrtStatus *(*SetSessionLogSeverityLevel)(OrtSessionOptions *options, int severity);
  OrtStatus *(*SetSessionGraphOptimizationLevel)(OrtSessionOptions *options, int level);
  OrtStatus *(*SetIntraOpNumThreads)(OrtSessionOptions *options, int n_threads);
  OrtStatus *(*SetInterOpNumThreads)(OrtSessionOptions *options, int n_threads);
  void *unused_26[4];
  OrtStatus *(*SessionGetInputCount)(const OrtSession *session, size_t *out);
  OrtStatus *(*SessionGetOutputCount)(const OrtSession *session, size_t *out);
  void *unused_32[1];
  OrtStatus *(*SessionGetInputTypeInfo)(const OrtSession *session, size_t i, OrtTypeInfo **out);
  OrtStatus *(*SessionGetOutputTypeInfo)(const OrtSession *session, size_t i, OrtTypeInfo **out);
  void *unused_35[1];
  OrtStatus *(*SessionGetInputName)(const OrtSession *session, size_t i, OrtAllocator *allocator,
                                    char **out);
  OrtStatus *(*SessionGetOutputName)(const OrtSession *session, size_t i, OrtAllocator *allocator,
                                     char **out);
  void *unused_38[11];
  OrtStatus *(*CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo *memory, void *data,
                                               size_t size_bytes, const int64_t *dims, size_t rank,
                                               int dtype, OrtValue **out);
  OrtStatus *(*IsTensor)(const OrtValue *value, int *out);
  OrtStatus *(*GetTensorMutableData)(OrtValue *value, void **out);
  void *unused_52[3];
  OrtStatus *(*CastTypeInfoToTensorInfo)(const OrtTypeInfo *info,
                                         const OrtTensorTypeAndShapeInfo **out);
  void *unused_56[4];
  OrtStatus *(*GetTensorElementType)(const OrtTensorTypeAndShapeInfo *info, int *out);
  OrtStatus *(*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo *info, size_t *out);
  OrtStatus *(*GetDimensions)(const OrtTensorTypeAndShapeInfo *info, int64_t *out, size_t rank);
  void *unused_63[2];
  OrtStatus *(*GetTensorTypeAndShape)(const OrtValue *value, OrtTensorTypeAndShapeInfo **out);
  void *unused_66[3];
  OrtStatus *(*CreateCpuMemoryInfo)(int allocator_type, int memory_type, OrtMemoryInfo **out);
  void *unused_70[6];
  OrtStatus *(*AllocatorFree)(OrtAllocator *allocator, void *block);
  void *unused_77[1];
  OrtStatus *(*GetAllocatorWithDefaultOptions)(OrtAllocator **out);
  void *unused_79[13];
  void (*ReleaseEnv)(OrtEnv *env);
  void (*ReleaseStatus)(OrtStatus *status);
  void (*ReleaseMemoryInfo)(OrtMemoryInfo *memory);
  void (*ReleaseSession)(OrtSession *session);
  void (*ReleaseValue)(OrtValue *value);
  void *unused_97[1];
  void (*ReleaseTypeInfo)(OrtTypeInfo *info);
  void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo *info);
  void (*ReleaseSessionOptions)(OrtSessionOptions *options);
  void *unused_101[9];
  OrtStatus *(*SessionEndProfiling)(OrtSession *session, OrtAllocator *allocator, char **out);
  void *unused_111[13];
  OrtStatus *(*AddFreeDimensionOverrideByName)(OrtSessionOptions *options, const char *name,
                                               int64_t size);
  OrtStatus *(*GetAvailableProviders)(char ***out, int *out_n);
  OrtStatus *(*ReleaseAvailableProviders)(char **names, int n);
  void *unused_127[3];
  OrtStatus *(*AddSessionConfigEntry)(OrtSessionOptions *options, const char *key,
                                      const char *value);
  void *unused_131[39];
  OrtStatus *(*SessionOptionsAppendExecutionProvider_TensorRT_V2)(
      OrtSessionOptions *options, const OrtTensorRTProviderOptionsV2 *provider);
  OrtStatus *(*CreateTensorRTProviderOptions)(OrtTensorRTProviderOptionsV2 **out);
  OrtStatus *(*UpdateTensorRTProviderOptions)(OrtTensorRTProviderOptionsV2 *provider,
                                              const char *const *keys, const char *const *values,
                                              size_t n);
  void *unused_173[1];
  void (*ReleaseTensorRTProviderOptions)(OrtTensorRTProviderOptionsV2 *provider);
  void *unused_175[19];
  OrtStatus *(*GetTensorMemoryInfo)(const OrtValue *value, const OrtMemoryInfo **out);
  void *unused_195[9];
  OrtStatus *(*SessionOptionsAppendExecutionProvider_CUDA_V2)(
      OrtSessionOptions *options, const OrtCUDAProviderOptionsV2 *provider);
  OrtStatus *(*CreateCUDAProviderOptions)(OrtCUDAProviderOptionsV2 **out);
  OrtStatus *(*UpdateCUDAProviderOptions)(OrtCUDAProviderOptionsV2 *provider,
                                          const char *const *keys, const char *const *values,
                                          size_t n);
  void *unused_207[1];
  void (*ReleaseCUDAProviderOptions)(OrtCUDAProviderOptionsV2 *provider);
  void *unused_209[7];
  OrtStatus *(*SessionOptionsAppendExecutionProvider)(OrtSessionOptions *options, const char *name,
                                                      const char *const *keys,
                                                      const char *const *values, size_t n);
  void *unused_217[8];
  void (*MemoryInfoGetDeviceType)(const OrtMemoryInfo *memory, int *out);
  void *unused_226[13];
  OrtStatus *(*SessionOptionsAppendExecutionProvider_Dnnl)(OrtSessionOptions *options,
                                                           const OrtDnnlProviderOptions *provider);
  OrtStatus *(*CreateDnnlProviderOptions)(OrtDnnlProviderOptions **out);
  OrtStatus *(*UpdateDnnlProviderOptions)(OrtDnnlProviderOptions *provider, const char *const *keys,
                                          const char *const *values, size_t n);
  void *unused_242[1];
  void (*ReleaseDnnlProviderOptions)(OrtDnnlProviderOptions *provider);
  void *unused_244[10];
  const char *(*GetBuildInfoString)(void);
  void *unused_255[18];
  OrtStatus *(*SetDeterministicCompute)(OrtSessionOptions *options, bool value); /* 1.17 */
  void *unused_274[1];
  OrtStatus *(*SessionOptionsAppendExecutionProvider_OpenVINO_V2)(OrtSessionOptions *options,
                                                                  const char *const *keys,
                                                                  const char *const *values,
                                                                  size_t n); /* 1.17 */
  void *unused_276[25];
  OrtStatus *(*RegisterExecutionProviderLibrary)(OrtEnv *env, const char *name,
                                                 const char *path); /* 1.22 */
  void *unused_302[1];
  OrtStatus *(*GetEpDevices)(const OrtEnv *env, const OrtEpDevice *const **out,
                             size_t *out_n); /* 1.22 */
  OrtStatus *(*SessionOptionsAppendExecutionProvider_V2)(OrtSessionOptions *options, OrtEnv *env,
                                                         const OrtEpDevice *const *devices,
                                                         size_t n_devices, const char *const *keys,
                                                         const char *const *values,
                                                         size_t n); /* 1.22 */
  void *unused_305[4];
  const char *(*HardwareDevice_Vendor)(const OrtHardwareDevice *device); /* 1.22 */
  void *unused_310[2];
  const char *(*EpDevice_EpName)(const OrtEpDevice *device); /* 1.22 */
  void *unused_313[3];
  const OrtHardwareDevice *(*EpDevice_Device)(const OrtEpDevice *device); /* 1.22 */
  void *unused_317[90];
  OrtStatus *(*Session_GetEpGraphAssignmentInfo)(const OrtSession *session,
                                                 const OrtEpAssignedSubgraph *const **out,
                                                 size_t *out_n); /* 1.24 */
  OrtStatus *(*EpAssignedSubgraph_GetEpName)(const OrtEpAssignedSubgraph *subgraph,
                                             const char **out); /* 1.24 */
  OrtStatus *(*EpAssignedSubgraph_GetNodes)(const OrtEpAssignedSubgraph *subgraph,
                                            const OrtEpAssignedNode *const **out,
                                            size_t *out_n);                              /* 1.24 */
  OrtStatus *(*EpAssignedNode_GetName)(const OrtEpAssignedNode *node, const char **out); /* 1.24 */
  OrtStatus *(*EpAssignedNode_GetDomain)(const OrtEpAssignedNode *node,
                                         const char **out); /* 1.24 */
  OrtStatus *(*EpAssignedNode_GetOperatorType)(const OrtEpAssignedNode *node,
                                               const char **out); /* 1.24 */
} assay_ort_api;

/* What the library exports under the name OrtGetApiBase. */
typedef struct assay_ort_api_base {
  const assay_ort_api *(*GetApi)(uint32_t version); /* NULL for a version it does not have */
  const char *(*GetVersionString)(void);
} assay_ort_api_base;

/* X(slot, member) for each member above. */
/* clang-format off */
#define ASSAY_ORT_ABI_MEMBERS(X) \
  X(1, GetErrorCode) \
  X(2, GetErrorMessage) \
  X(4, CreateEnvWithCustomLogger) \
  X(7, CreateSession) \
  X(9, Run) \
  X(10, CreateSessionOptions) \
  X(11, SetOptimizedModelFilePath) \
  X(13, SetSessionExecutionMode) \
  X(14, EnableProfiling) \
  X(19, DisableCpuMemArena) \
  X(22, SetSessionLogSeverityLevel) \
  X(23, SetSessionGraphOptimizationLevel) \
  X(24, SetIntraOpNumThreads) \
  X(25, SetInterOpNumThreads) \
  X(30, SessionGetInputCount) \
  X(31, SessionGetOutputCount) \
  X(33, SessionGetInputTypeInfo) \
  X(34, SessionGetOutputTypeInfo) \
  X(36, SessionGetInputName) \
  X(37, SessionGetOutputName) \
  X(49, CreateTensorWithDataAsOrtValue) \
  X(50, IsTensor) \
  X(51, GetTensorMutableData) \
  X(55, CastTypeInfoToTensorInfo) \
  X(60, GetTensorElementType) \
  X(61, GetDimensionsCount) \
  X(62, GetDimensions) \
  X(65, GetTensorTypeAndShape) \
  X(69, CreateCpuMemoryInfo) \
  X(76, AllocatorFree) \
  X(78, GetAllocatorWithDefaultOptions) \
  X(92, ReleaseEnv) \
  X(93, ReleaseStatus) \
  X(94, ReleaseMemoryInfo) \
  X(95, ReleaseSession) \
  X(96, ReleaseValue) \
  X(98, ReleaseTypeInfo) \
  X(99, ReleaseTensorTypeAndShapeInfo) \
  X(100, ReleaseSessionOptions) \
  X(110, SessionEndProfiling) \
  X(124, AddFreeDimensionOverrideByName) \
  X(125, GetAvailableProviders) \
  X(126, ReleaseAvailableProviders) \
  X(130, AddSessionConfigEntry) \
  X(170, SessionOptionsAppendExecutionProvider_TensorRT_V2) \
  X(171, CreateTensorRTProviderOptions) \
  X(172, UpdateTensorRTProviderOptions) \
  X(174, ReleaseTensorRTProviderOptions) \
  X(194, GetTensorMemoryInfo) \
  X(204, SessionOptionsAppendExecutionProvider_CUDA_V2) \
  X(205, CreateCUDAProviderOptions) \
  X(206, UpdateCUDAProviderOptions) \
  X(208, ReleaseCUDAProviderOptions) \
  X(216, SessionOptionsAppendExecutionProvider) \
  X(225, MemoryInfoGetDeviceType) \
  X(239, SessionOptionsAppendExecutionProvider_Dnnl) \
  X(240, CreateDnnlProviderOptions) \
  X(241, UpdateDnnlProviderOptions) \
  X(243, ReleaseDnnlProviderOptions) \
  X(254, GetBuildInfoString) \
  X(273, SetDeterministicCompute) \
  X(275, SessionOptionsAppendExecutionProvider_OpenVINO_V2) \
  X(301, RegisterExecutionProviderLibrary) \
  X(303, GetEpDevices) \
  X(304, SessionOptionsAppendExecutionProvider_V2) \
  X(309, HardwareDevice_Vendor) \
  X(312, EpDevice_EpName) \
  X(316, EpDevice_Device) \
  X(407, Session_GetEpGraphAssignmentInfo) \
  X(408, EpAssignedSubgraph_GetEpName) \
  X(409, EpAssignedSubgraph_GetNodes) \
  X(410, EpAssignedNode_GetName) \
  X(411, EpAssignedNode_GetDomain) \
  X(412, EpAssignedNode_GetOperatorType)
/* clang-format on */

#define ASSAY_ORT_ABI_CHECK(slot, member)                                                          \
  static_assert(offsetof(assay_ort_api, member) == (slot) * sizeof(void *), #member);
ASSAY_ORT_ABI_MEMBERS(ASSAY_ORT_ABI_CHECK)
#undef ASSAY_ORT_ABI_CHECK

#endif
