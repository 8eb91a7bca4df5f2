/* The loop that anybody would write: opens ONNX Runtime by its C ABI and nothing else of assay's,
 * makes a CPU session with the options that assay uses (one intra- and one inter-op thread,
 * sequential, all optimizations), and times calls. Prints the median in nanoseconds.
 *
 *   bare_loop LIBRARY MODEL CASE.npz WARMUP ITERATIONS */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "package/npz.h"
#include "runtime/ort_abi.h"

enum { VALUES_MAX = 16 };

static const assay_ort_api *api;

static void die(const char *what, const char *why) {
  fprintf(stderr, "bare_loop: %s: %s\n", what, why);
  exit(3);
}

static void check(OrtStatus *status, const char *what) {
  if (status != NULL) die(what, api->GetErrorMessage(status));
}

static void ignore_log(void *arg, int severity, const char *category, const char *id,
                       const char *location, const char *message) {
  (void)arg, (void)severity, (void)category, (void)id, (void)location, (void)message;
}

static void load(const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void *symbol = handle != NULL ? dlsym(handle, "OrtGetApiBase") : NULL;
  if (symbol == NULL) die(library, "not ONNX Runtime");
  const assay_ort_api_base *(*get_base)(void);
  memcpy(&get_base, &symbol, sizeof symbol);
  api = get_base()->GetApi(ASSAY_ORT_ABI_OLDEST);
  if (api == NULL) die(library, "too old");
}

static OrtSession *open_session(OrtEnv *env, const char *model) {
  OrtSessionOptions *options = NULL;
  OrtSession *session = NULL;
  check(api->CreateSessionOptions(&options), "options");
  check(api->SetSessionExecutionMode(options, ASSAY_ORT_SEQUENTIAL), "options");
  check(api->SetIntraOpNumThreads(options, 1), "options");
  check(api->SetInterOpNumThreads(options, 1), "options");
  check(api->SetSessionGraphOptimizationLevel(options, 99), "options");
  check(api->CreateSession(env, model, options, &session), model);
  api->ReleaseSessionOptions(options);
  return session;
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int compare_int64(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* What goes in and comes out, by name. */
static const char *input_names[VALUES_MAX], *output_names[VALUES_MAX];
static OrtValue *inputs[VALUES_MAX];
static size_t n_inputs, n_outputs;

static void bind(OrtSession *session, const assay_tensor_map *arrays) {
  OrtAllocator *allocator = NULL;
  OrtMemoryInfo *memory = NULL;
  char *name = NULL;
  check(api->GetAllocatorWithDefaultOptions(&allocator), "allocator");
  check(api->CreateCpuMemoryInfo(ASSAY_ORT_ARENA_ALLOCATOR, ASSAY_ORT_MEMORY_DEFAULT, &memory),
        "memory");
  check(api->SessionGetInputCount(session, &n_inputs), "inputs");
  check(api->SessionGetOutputCount(session, &n_outputs), "outputs");
  if (n_inputs > VALUES_MAX || n_outputs > VALUES_MAX) die("model", "too many inputs or outputs");
  for (size_t i = 0; i < n_inputs; ++i) {
    check(api->SessionGetInputName(session, i, allocator, &name), "input");
    input_names[i] = name;
    const assay_tensor *t = assay_tensor_map_find(arrays, name);
    if (t == NULL) die(name, "not in the case");
    check(api->CreateTensorWithDataAsOrtValue(memory, t->data, t->size_bytes, t->dims,
                                              (size_t)t->rank, (int)t->dtype, &inputs[i]),
          name);
  }
  for (size_t i = 0; i < n_outputs; ++i) {
    check(api->SessionGetOutputName(session, i, allocator, &name), "output");
    output_names[i] = name;
  }
}

/* One call, and its time. */
static int64_t call_once(OrtSession *session) {
  OrtValue *outputs[VALUES_MAX] = {0};
  int64_t start = now_ns();
  OrtStatus *status = api->Run(session, NULL, input_names, (const OrtValue *const *)inputs,
                               n_inputs, output_names, n_outputs, outputs);
  int64_t end = now_ns();
  check(status, "Run");
  for (size_t i = 0; i < n_outputs; ++i) api->ReleaseValue(outputs[i]);
  return end - start;
}

int main(int argc, char **argv) {
  if (argc != 6) die("usage", "bare_loop LIBRARY MODEL CASE.npz WARMUP ITERATIONS");
  size_t n_warmup = strtoul(argv[4], NULL, 10), n = strtoul(argv[5], NULL, 10);
  assay_tensor_map arrays = {0};
  assay_error err = {0};
  OrtEnv *env = NULL;
  int64_t *samples = calloc(n + 1, sizeof *samples);
  if (n == 0 || samples == NULL) die("ITERATIONS", "expected at least 1");
  if (assay_npz_read(argv[3], NULL, &arrays, &err)) die(argv[3], err.text);
  load(argv[1]);
  check(api->CreateEnvWithCustomLogger(ignore_log, NULL, 3, "bare", &env), "environment");
  OrtSession *session = open_session(env, argv[2]);
  bind(session, &arrays);
  for (size_t i = 0; i < n_warmup; ++i) (void)call_once(session);
  for (size_t i = 0; i < n; ++i) samples[i] = call_once(session);
  qsort(samples, n, sizeof *samples, compare_int64);
  printf("%" PRId64 "\n", (samples[(n - 1) / 2] + samples[n / 2]) / 2);
  return 0;
}
