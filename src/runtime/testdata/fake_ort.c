/* A library that speaks ONNX Runtime's C ABI and does what a test asks of it, through the
 * environment: failures that no real library gives on demand. It computes nothing: a model has one
 * input "x" [2] and one output "y" [2] of zeroes.
 *
 *   FAKE_ORT_VERSION    what it calls itself ("1.40.0")
 *   FAKE_ORT_NO_API     set: it gives no table
 *   FAKE_ORT_PROVIDERS  compiled in, with commas ("CPUExecutionProvider")
 *   FAKE_ORT_REFUSE     name of the call that refuses …
 *   FAKE_ORT_WORDS      … with these words
 *   FAKE_ORT_LOGGED     … after logging these as an error
 *   FAKE_ORT_OUTPUT     "device", "map" or "string": what the output is, other than a host tensor
 *   FAKE_ORT_PROFILE    path that the end of profiling gives ("")
 *   FAKE_ORT_JOURNAL    file that gets a line for each call that sets something */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ort_abi.h"

const assay_ort_api_base *OrtGetApiBase(void);

struct OrtStatus {
  char words[512];
};
struct OrtEpDevice {
  const char *name;
};

/* One object stands for all of the others. */
static char object;
static float output[2];

static const char *setting(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value != NULL ? value : otherwise;
}

static assay_ort_logger logger; /* of the environment */
static void *logger_arg;

/* Refuses when this is the call that is to refuse; NULL otherwise. */
static OrtStatus *answer(const char *call) {
  if (strcmp(setting("FAKE_ORT_REFUSE", ""), call) != 0) return NULL;
  const char *logged = setting("FAKE_ORT_LOGGED", "");
  if (logged[0] != '\0' && logger != NULL) logger(logger_arg, 3, "fake", "", "", logged);
  OrtStatus *status = calloc(1, sizeof *status);
  if (status != NULL)
    snprintf(status->words, sizeof status->words, "%s", setting("FAKE_ORT_WORDS", "no"));
  return status;
}

static void note(const char *call, const char *a, const char *b) {
  const char *path = setting("FAKE_ORT_JOURNAL", "");
  FILE *file = path[0] != '\0' ? fopen(path, "a") : NULL;
  if (file == NULL) return;
  fprintf(file, "%s %s %s\n", call, a, b);
  fclose(file);
}

static OrtStatus *note_options(const char *call, const char *const *keys, const char *const *values,
                               size_t n) {
  note(call, "", "");
  for (size_t i = 0; i < n; ++i) note("  option", keys[i], values[i]);
  return answer(call);
}

/* Objects are handed out as one address under whatever type is asked for. */
#define GIVE(out) (*(out) = (void *)&object)

static int get_error_code(const OrtStatus *status) {
  (void)status;
  return 1;
}
static const char *get_error_message(const OrtStatus *status) {
  return status->words;
}
static void release_status(OrtStatus *status) {
  free(status);
}
static OrtStatus *create_env(assay_ort_logger log, void *arg, int severity, const char *id,
                             OrtEnv **out) {
  logger = log;
  logger_arg = arg;
  if (severity <= 2) log(arg, 2, "fake", id, "fake_ort.c:1", "hello");
  GIVE(out);
  return answer("CreateEnv");
}
static OrtStatus *create_session(const OrtEnv *env, const char *path,
                                 const OrtSessionOptions *options, OrtSession **out) {
  (void)env, (void)path, (void)options;
  OrtStatus *status = answer("CreateSession");
  if (status == NULL) GIVE(out);
  return status;
}
static OrtStatus *run(OrtSession *session, const OrtRunOptions *options,
                      const char *const *input_names, const OrtValue *const *inputs,
                      size_t n_inputs, const char *const *output_names, size_t n_outputs,
                      OrtValue **outputs) {
  (void)session, (void)options, (void)input_names, (void)inputs, (void)n_inputs, (void)output_names;
  for (size_t i = 0; i < n_outputs; ++i) GIVE(&outputs[i]);
  return answer("Run");
}
static OrtStatus *create_options(OrtSessionOptions **out) {
  GIVE(out);
  return answer("CreateSessionOptions");
}
static OrtStatus *set_mode(OrtSessionOptions *options, int mode) {
  (void)options, (void)mode;
  return answer("SetSessionExecutionMode");
}
static OrtStatus *enable_profiling(OrtSessionOptions *options, const char *prefix) {
  (void)options;
  note("EnableProfiling", prefix, "");
  return answer("EnableProfiling");
}
static OrtStatus *no_arena(OrtSessionOptions *options) {
  (void)options;
  note("DisableCpuMemArena", "", "");
  return NULL;
}
static OrtStatus *set_int(OrtSessionOptions *options, int value) {
  (void)options, (void)value;
  return NULL;
}
static OrtStatus *get_count(const OrtSession *session, size_t *out) {
  (void)session;
  *out = 1;
  return NULL;
}
static OrtStatus *get_type(const OrtSession *session, size_t i, OrtTypeInfo **out) {
  (void)session, (void)i;
  GIVE(out);
  return answer("GetTypeInfo");
}
static OrtStatus *get_name(char **out, const char *name) {
  *out = calloc(2, 1);
  if (*out != NULL) **out = name[0];
  return NULL;
}
static OrtStatus *get_input_name(const OrtSession *session, size_t i, OrtAllocator *allocator,
                                 char **out) {
  (void)session, (void)i, (void)allocator;
  return get_name(out, "x");
}
static OrtStatus *get_output_name(const OrtSession *session, size_t i, OrtAllocator *allocator,
                                  char **out) {
  (void)session, (void)i, (void)allocator;
  return get_name(out, "y");
}
static OrtStatus *create_tensor(const OrtMemoryInfo *memory, void *data, size_t size_bytes,
                                const int64_t *dims, size_t rank, int dtype, OrtValue **out) {
  (void)memory, (void)data, (void)size_bytes, (void)dims, (void)rank, (void)dtype;
  GIVE(out);
  return answer("CreateTensor");
}
static OrtStatus *is_tensor(const OrtValue *value, int *out) {
  (void)value;
  *out = strcmp(setting("FAKE_ORT_OUTPUT", ""), "map") != 0;
  return NULL;
}
static OrtStatus *get_data(OrtValue *value, void **out) {
  (void)value;
  *out = output;
  return NULL;
}
static OrtStatus *cast_type(const OrtTypeInfo *info, const OrtTensorTypeAndShapeInfo **out) {
  (void)info;
  GIVE(out);
  return NULL;
}
static OrtStatus *get_element_type(const OrtTensorTypeAndShapeInfo *info, int *out) {
  (void)info;
  *out = strcmp(setting("FAKE_ORT_OUTPUT", ""), "string") == 0 ? 8 : 1;
  return NULL;
}
static OrtStatus *get_rank(const OrtTensorTypeAndShapeInfo *info, size_t *out) {
  (void)info;
  *out = strcmp(setting("FAKE_ORT_OUTPUT", ""), "rank9") == 0 ? 9 : 1;
  return NULL;
}
static OrtStatus *get_dims(const OrtTensorTypeAndShapeInfo *info, int64_t *out, size_t rank) {
  (void)info;
  if (rank > 0) out[0] = 2;
  return NULL;
}
static OrtStatus *get_shape(const OrtValue *value, OrtTensorTypeAndShapeInfo **out) {
  (void)value;
  GIVE(out);
  return NULL;
}
static OrtStatus *create_memory(int allocator_type, int memory_type, OrtMemoryInfo **out) {
  (void)allocator_type, (void)memory_type;
  GIVE(out);
  return NULL;
}
static OrtStatus *allocator_free(OrtAllocator *allocator, void *block) {
  (void)allocator;
  free(block);
  return NULL;
}
static OrtStatus *get_allocator(OrtAllocator **out) {
  GIVE(out);
  return NULL;
}
static OrtStatus *end_profiling(OrtSession *session, OrtAllocator *allocator, char **out) {
  (void)session, (void)allocator;
  const char *path = setting("FAKE_ORT_PROFILE", "");
  *out = calloc(strlen(path) + 1, 1);
  if (*out != NULL) memcpy(*out, path, strlen(path));
  return answer("SessionEndProfiling");
}
static OrtStatus *set_dimension(OrtSessionOptions *options, const char *name, int64_t size) {
  char text[32];
  (void)options;
  snprintf(text, sizeof text, "%lld", (long long)size);
  note("FreeDimension", name, text);
  return NULL;
}
static OrtStatus *add_config(OrtSessionOptions *options, const char *key, const char *value) {
  (void)options;
  note("Config", key, value);
  return NULL;
}
static OrtStatus *get_providers(char ***out, int *out_n) {
  OrtStatus *refusal = answer("GetAvailableProviders");
  if (refusal != NULL) return refusal;
  char *list = strdup(setting("FAKE_ORT_PROVIDERS", "CPUExecutionProvider"));
  *out = calloc(32, sizeof **out);
  *out_n = 0;
  char *rest = list;
  for (char *name = strtok_r(list, ",", &rest); name != NULL && *out_n < 31;
       name = strtok_r(NULL, ",", &rest))
    (*out)[(*out_n)++] = strdup(name);
  free(list);
  return NULL;
}
static OrtStatus *release_providers(char **names, int n) {
  for (int i = 0; i < n; ++i) free(names[i]);
  free(names);
  return NULL;
}
static OrtStatus *get_memory(const OrtValue *value, const OrtMemoryInfo **out) {
  (void)value;
  GIVE(out);
  return NULL;
}
static void get_device(const OrtMemoryInfo *memory, int *out) {
  (void)memory;
  *out = strcmp(setting("FAKE_ORT_OUTPUT", ""), "device") == 0;
}
static OrtStatus *append_generic(OrtSessionOptions *options, const char *name,
                                 const char *const *keys, const char *const *values, size_t n) {
  (void)options;
  note("Generic", name, "");
  return note_options("Append", keys, values, n);
}
static OrtStatus *create_cuda(OrtCUDAProviderOptionsV2 **out) {
  GIVE(out);
  return answer("CreateCUDA");
}
static OrtStatus *update_cuda(OrtCUDAProviderOptionsV2 *o, const char *const *keys,
                              const char *const *values, size_t n) {
  (void)o;
  return note_options("UpdateCUDA", keys, values, n);
}
static OrtStatus *append_cuda(OrtSessionOptions *options, const OrtCUDAProviderOptionsV2 *o) {
  (void)options, (void)o;
  return note_options("AppendCUDA", NULL, NULL, 0);
}
static void release_cuda(OrtCUDAProviderOptionsV2 *o) {
  (void)o;
  note("ReleaseCUDA", "", "");
}
static OrtStatus *append_openvino(OrtSessionOptions *options, const char *const *keys,
                                  const char *const *values, size_t n) {
  (void)options;
  return note_options("OpenVINO_V2", keys, values, n);
}
static OrtStatus *register_plugin(OrtEnv *env, const char *name, const char *path) {
  (void)env;
  note("Register", name, path);
  return answer("Register");
}
static OrtStatus *get_devices(const OrtEnv *env, const OrtEpDevice *const **out, size_t *out_n) {
  static const OrtEpDevice devices[2] = {{"CPUExecutionProvider"}, {"FakeExecutionProvider"}};
  static const OrtEpDevice *const list[2] = {&devices[0], &devices[1]};
  (void)env;
  *out = list;
  *out_n = 2;
  return NULL;
}
static const char *get_device_name(const OrtEpDevice *device) {
  return device->name;
}
static const OrtHardwareDevice *get_hardware(const OrtEpDevice *device) {
  (void)device;
  const OrtHardwareDevice *hardware = NULL;
  GIVE(&hardware);
  return hardware;
}
static const char *get_vendor(const OrtHardwareDevice *device) {
  (void)device;
  return "Nobody";
}
static OrtStatus *set_deterministic(OrtSessionOptions *options, bool value) {
  (void)options;
  note("Deterministic", value ? "1" : "0", "");
  return NULL;
}
static OrtStatus *append_v2(OrtSessionOptions *options, OrtEnv *env,
                            const OrtEpDevice *const *devices, size_t n_devices,
                            const char *const *keys, const char *const *values, size_t n) {
  (void)options, (void)env, (void)n_devices;
  note("Append_V2", devices[0]->name, "");
  return note_options("AppendV2", keys, values, n);
}
static const char *get_build(void) {
  return "fake build";
}
static void release(void *thing) {
  (void)thing;
}

/* Members that all release nothing. */
#define RELEASE(type)                                                                              \
  static void release_##type(type *thing) {                                                        \
    release(thing);                                                                                \
  }
RELEASE(OrtEnv)
RELEASE(OrtMemoryInfo)
RELEASE(OrtSession)
RELEASE(OrtValue)
RELEASE(OrtTypeInfo)
RELEASE(OrtTensorTypeAndShapeInfo)
RELEASE(OrtSessionOptions)

static const assay_ort_api table = {
    .GetErrorCode = get_error_code,
    .GetErrorMessage = get_error_message,
    .CreateEnvWithCustomLogger = create_env,
    .CreateSession = create_session,
    .Run = run,
    .CreateSessionOptions = create_options,
    .SetSessionExecutionMode = set_mode,
    .EnableProfiling = enable_profiling,
    .DisableCpuMemArena = no_arena,
    .SetSessionLogSeverityLevel = set_int,
    .SetSessionGraphOptimizationLevel = set_int,
    .SetIntraOpNumThreads = set_int,
    .SetInterOpNumThreads = set_int,
    .SessionGetInputCount = get_count,
    .SessionGetOutputCount = get_count,
    .SessionGetInputTypeInfo = get_type,
    .SessionGetOutputTypeInfo = get_type,
    .SessionGetInputName = get_input_name,
    .SessionGetOutputName = get_output_name,
    .CreateTensorWithDataAsOrtValue = create_tensor,
    .IsTensor = is_tensor,
    .GetTensorMutableData = get_data,
    .CastTypeInfoToTensorInfo = cast_type,
    .GetTensorElementType = get_element_type,
    .GetDimensionsCount = get_rank,
    .GetDimensions = get_dims,
    .GetTensorTypeAndShape = get_shape,
    .CreateCpuMemoryInfo = create_memory,
    .AllocatorFree = allocator_free,
    .GetAllocatorWithDefaultOptions = get_allocator,
    .ReleaseEnv = release_OrtEnv,
    .ReleaseStatus = release_status,
    .ReleaseMemoryInfo = release_OrtMemoryInfo,
    .ReleaseSession = release_OrtSession,
    .ReleaseValue = release_OrtValue,
    .ReleaseTypeInfo = release_OrtTypeInfo,
    .ReleaseTensorTypeAndShapeInfo = release_OrtTensorTypeAndShapeInfo,
    .ReleaseSessionOptions = release_OrtSessionOptions,
    .SessionEndProfiling = end_profiling,
    .AddFreeDimensionOverrideByName = set_dimension,
    .GetAvailableProviders = get_providers,
    .ReleaseAvailableProviders = release_providers,
    .AddSessionConfigEntry = add_config,
    .GetTensorMemoryInfo = get_memory,
    .SessionOptionsAppendExecutionProvider_CUDA_V2 = append_cuda,
    .CreateCUDAProviderOptions = create_cuda,
    .UpdateCUDAProviderOptions = update_cuda,
    .ReleaseCUDAProviderOptions = release_cuda,
    .SessionOptionsAppendExecutionProvider = append_generic,
    .MemoryInfoGetDeviceType = get_device,
    .GetBuildInfoString = get_build,
    .SessionOptionsAppendExecutionProvider_OpenVINO_V2 = append_openvino,
    .RegisterExecutionProviderLibrary = register_plugin,
    .GetEpDevices = get_devices,
    .SessionOptionsAppendExecutionProvider_V2 = append_v2,
    .EpDevice_EpName = get_device_name,
    .EpDevice_Device = get_hardware,
    .HardwareDevice_Vendor = get_vendor,
    .SetDeterministicCompute = set_deterministic,
};

static const assay_ort_api *get_api(uint32_t version) {
  char text[16];
  snprintf(text, sizeof text, "%u", (unsigned)version);
  note("GetApi", text, "");
  return getenv("FAKE_ORT_NO_API") == NULL ? &table : NULL;
}

static const char *get_version(void) {
  return setting("FAKE_ORT_VERSION", "1.40.0");
}

const assay_ort_api_base *OrtGetApiBase(void) {
  static const assay_ort_api_base base = {.GetApi = get_api, .GetVersionString = get_version};
  return &base;
}
