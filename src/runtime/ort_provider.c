/* Providers: their names, and how each is made part of a session. To add one: a row of the table,
 * and an append function if its options do not go through the generic call. Source: the C API's
 * provider calls as observed in ONNX Runtime 1.16 to 1.32. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/text.h"
#include "runtime/ort_internal.h"
#include "runtime/ort_words.h"

/* Options as the C API takes them; borrowed. */
typedef struct options_view {
  const char **keys, **values; /* [n], one block */
  size_t n;
} options_view;

typedef OrtStatus *(*append_call)(const assay_ort *ort, OrtSessionOptions *session,
                                  const char *name, const options_view *o);

typedef struct provider {
  const char *short_name; /* as users type it, any case */
  const char *full_name;
  const char *generic_name; /* for the generic call */
  append_call append;       /* required but for the CPU */
  const char *only_options; /* those that have an effect, each followed by a blank, where the
                               provider overlooks all others; NULL: it refuses them itself */
} provider;

static OrtStatus *append_generic(const assay_ort *ort, OrtSessionOptions *session, const char *name,
                                 const options_view *o) {
  return ort->api->SessionOptionsAppendExecutionProvider(session, name, o->keys, o->values, o->n);
}

/* CUDA, TensorRT and DNNL keep their options in an object of the library's. */
static OrtStatus *append_cuda(const assay_ort *ort, OrtSessionOptions *session, const char *name,
                              const options_view *o) {
  (void)name;
  OrtCUDAProviderOptionsV2 *cuda = NULL;
  OrtStatus *refusal = ort->api->CreateCUDAProviderOptions(&cuda);
  if (refusal == NULL && o->n > 0)
    refusal = ort->api->UpdateCUDAProviderOptions(cuda, o->keys, o->values, o->n);
  if (refusal == NULL)
    refusal = ort->api->SessionOptionsAppendExecutionProvider_CUDA_V2(session, cuda);
  if (cuda != NULL) ort->api->ReleaseCUDAProviderOptions(cuda);
  return refusal;
}

static OrtStatus *append_tensorrt(const assay_ort *ort, OrtSessionOptions *session,
                                  const char *name, const options_view *o) {
  (void)name;
  OrtTensorRTProviderOptionsV2 *tensorrt = NULL;
  OrtStatus *refusal = ort->api->CreateTensorRTProviderOptions(&tensorrt);
  if (refusal == NULL && o->n > 0)
    refusal = ort->api->UpdateTensorRTProviderOptions(tensorrt, o->keys, o->values, o->n);
  if (refusal == NULL)
    refusal = ort->api->SessionOptionsAppendExecutionProvider_TensorRT_V2(session, tensorrt);
  if (tensorrt != NULL) ort->api->ReleaseTensorRTProviderOptions(tensorrt);
  return refusal;
}

static OrtStatus *append_dnnl(const assay_ort *ort, OrtSessionOptions *session, const char *name,
                              const options_view *o) {
  (void)name;
  OrtDnnlProviderOptions *dnnl = NULL;
  OrtStatus *refusal = ort->api->CreateDnnlProviderOptions(&dnnl);
  if (refusal == NULL && o->n > 0)
    refusal = ort->api->UpdateDnnlProviderOptions(dnnl, o->keys, o->values, o->n);
  if (refusal == NULL)
    refusal = ort->api->SessionOptionsAppendExecutionProvider_Dnnl(session, dnnl);
  if (dnnl != NULL) ort->api->ReleaseDnnlProviderOptions(dnnl);
  return refusal;
}

static OrtStatus *append_openvino(const assay_ort *ort, OrtSessionOptions *session,
                                  const char *name, const options_view *o) {
  if (ort->api_version < 17) return append_generic(ort, session, name, o);
  return ort->api->SessionOptionsAppendExecutionProvider_OpenVINO_V2(session, o->keys, o->values,
                                                                     o->n);
}

static const provider providers[] = {
    {"cpu", "CPUExecutionProvider", "CPU", NULL, ""},
    {"cuda", "CUDAExecutionProvider", "CUDA", append_cuda, NULL},
    {"tensorrt", "TensorrtExecutionProvider", "TensorRT", append_tensorrt, NULL},
    {"migraphx", "MIGraphXExecutionProvider", "MIGraphX", append_generic, NULL},
    {"rocm", "ROCMExecutionProvider", "ROCM", append_generic, NULL},
    {"openvino", "OpenVINOExecutionProvider", "OpenVINO", append_openvino, NULL},
    {"dnnl", "DnnlExecutionProvider", "DNNL", append_dnnl, NULL},
    {"xnnpack", "XnnpackExecutionProvider", "XNNPACK", append_generic, "intra_op_num_threads "},
    {"webgpu", "WebGpuExecutionProvider", "WebGPU", append_generic, NULL},
    {"qnn", "QNNExecutionProvider", "QNN", append_generic, NULL},
    {"snpe", "SNPEExecutionProvider", "SNPE", append_generic, NULL},
    {"coreml", "CoreMLExecutionProvider", "CoreML", append_generic, NULL},
    {"vitisai", "VitisAIExecutionProvider", "VitisAI", append_generic, NULL},
    {"nvtensorrtrtx", "NvTensorRTRTXExecutionProvider", "NvTensorRtRtx", append_generic, NULL},
    {"azure", "AzureExecutionProvider", "AZURE", append_generic, NULL},
    {"acl", "ACLExecutionProvider", "ACL", append_generic, NULL},
    {"armnn", "ArmNNExecutionProvider", "ArmNN", append_generic, NULL},
    {"cann", "CANNExecutionProvider", "CANN", append_generic, NULL},
    {"dml", "DmlExecutionProvider", "DML", append_generic, NULL},
    {"js", "JsExecutionProvider", "JS", append_generic, NULL},
    {"webnn", "WebNNExecutionProvider", "WEBNN", append_generic, NULL},
};
#define N_PROVIDERS (sizeof providers / sizeof *providers)

static const provider *provider_of(const char *name) {
  for (size_t i = 0; i < N_PROVIDERS; ++i)
    if (strcasecmp(name, providers[i].short_name) == 0 ||
        strcasecmp(name, providers[i].full_name) == 0)
      return &providers[i];
  return NULL;
}

const char *assay_ort_provider_full_name(const char *name) {
  const provider *p = name != NULL ? provider_of(name) : NULL;
  return p != NULL ? p->full_name : NULL;
}

bool assay_ort_provider_takes(const char *name, const char *key) {
  const provider *p = name != NULL ? provider_of(name) : &providers[0];
  if (p == NULL || p->only_options == NULL) return true;
  size_t n = strlen(key);
  for (const char *at = p->only_options; *at != '\0'; at += strcspn(at, " ") + 1)
    if (strncmp(at, key, n) == 0 && at[n] == ' ') return true;
  return false;
}

bool assay_ort_spec_is_cpu(const assay_ort_session_spec *spec) {
  return spec->provider == NULL || provider_of(spec->provider) == &providers[0];
}

static assay_status unknown_provider(const char *name, assay_error *err) {
  const char *names[N_PROVIDERS];
  for (size_t i = 0; i < N_PROVIDERS; ++i) names[i] = providers[i].short_name;
  const char *nearest = assay_text_nearest(name, names, N_PROVIDERS);
  if (nearest != NULL)
    return assay_fail(err, ASSAY_E_ARGUMENT, "no provider is called '%s'; did you mean '%s'?", name,
                      nearest);
  return assay_fail(err, ASSAY_E_ARGUMENT, "no provider is called '%s'", name);
}

/* "CPUExecutionProvider, AzureExecutionProvider". */
static void list_providers(const assay_ort *ort, char *out, size_t out_bytes) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < ort->n_providers && used < out_bytes; ++i) {
    int n = snprintf(out + used, out_bytes - used, "%s%s", i > 0 ? ", " : "", ort->providers[i]);
    used += n > 0 ? (size_t)n : 0;
  }
}

static assay_status not_in_library(const assay_ort *ort, const char *full_name, assay_error *err) {
  char list[512];
  list_providers(ort, list, sizeof list);
  return assay_fail(err, ASSAY_E_MISSING, "%s is not in this library (ONNX Runtime %s has %s)",
                    full_name, ort->version, list);
}

/* A refusal may say no more than "Failed to load shared library", and leave the loader's reason to
 * the log. */
static assay_status cannot_be_used(assay_ort *ort, const char *name, OrtStatus *refusal,
                                   assay_error *err) {
  char words[1024], logged[1024];
  assay_ort_words(ort->api->GetErrorMessage(refusal), words, sizeof words);
  assay_ort_logged_words(ort, logged, sizeof logged);
  ort->api->ReleaseStatus(refusal);
  bool is_bare = strstr(words, "Failed to load") != NULL && strstr(words, " with error: ") == NULL;
  return assay_fail(err, ASSAY_E_MISSING, "%.64s cannot be used with ONNX Runtime %.24s: %s", name,
                    ort->version, is_bare && assay_ort_words_mean_missing(logged) ? logged : words);
}

/* "CPUExecutionProvider on AMD, …": what the runtime found here. */
static void list_devices(const assay_ort *ort, const OrtEpDevice *const *devices, size_t n,
                         char *out, size_t out_bytes) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < n && used < out_bytes; ++i) {
    const OrtHardwareDevice *hardware = ort->api->EpDevice_Device(devices[i]);
    int printed = snprintf(out + used, out_bytes - used, "%s%.64s on %.64s", i > 0 ? ", " : "",
                           ort->api->EpDevice_EpName(devices[i]),
                           hardware != NULL ? ort->api->HardwareDevice_Vendor(hardware) : "?");
    used += printed > 0 ? (size_t)printed : 0;
  }
}

static assay_status no_device(const assay_ort *ort, const OrtEpDevice *const *devices, size_t n,
                              const char *plugin_path, const char *name, assay_error *err) {
  char list[512];
  list_devices(ort, devices, n, list, sizeof list);
  return assay_fail(err, ASSAY_E_MISSING,
                    "'%s' offers no device for %s on this machine (the runtime has: %s)",
                    plugin_path, name, list[0] != '\0' ? list : "none");
}

/* The first device of that name which the plug-in offers. */
static const OrtEpDevice *device_named(const assay_ort *ort, const OrtEpDevice *const *devices,
                                       size_t n, const char *name) {
  for (size_t i = 0; i < n; ++i)
    if (strcasecmp(ort->api->EpDevice_EpName(devices[i]), name) == 0) return devices[i];
  return NULL;
}

static assay_status append_plugin(assay_ort *ort, const assay_ort_session_spec *spec,
                                  OrtSessionOptions *session, const options_view *o,
                                  assay_error *err) {
  if (ort->api_version < 22)
    return assay_fail(err, ASSAY_E_MISSING,
                      "plug-in providers need ONNX Runtime 1.22 or newer, this is %s",
                      ort->version);
  const char *full_name = assay_ort_provider_full_name(spec->provider);
  const char *name = full_name != NULL ? full_name : spec->provider;
  OrtStatus *refusal =
      ort->api->RegisterExecutionProviderLibrary(ort->env, name, spec->plugin_path);
  if (refusal != NULL) return cannot_be_used(ort, name, refusal, err);
  const OrtEpDevice *const *devices = NULL;
  size_t n = 0;
  refusal = ort->api->GetEpDevices(ort->env, &devices, &n);
  if (refusal != NULL) return cannot_be_used(ort, name, refusal, err);
  const OrtEpDevice *device = device_named(ort, devices, n, name);
  if (device == NULL) return no_device(ort, devices, n, spec->plugin_path, name, err);
  refusal = ort->api->SessionOptionsAppendExecutionProvider_V2(session, ort->env, &device, 1,
                                                               o->keys, o->values, o->n);
  return refusal != NULL ? cannot_be_used(ort, name, refusal, err) : ASSAY_OK;
}

static assay_status append_viewed(assay_ort *ort, const assay_ort_session_spec *spec,
                                  OrtSessionOptions *session, const options_view *o,
                                  assay_error *err) {
  if (spec->plugin_path != NULL) return append_plugin(ort, spec, session, o, err);
  const provider *p = provider_of(spec->provider);
  const provider newer = {spec->provider, spec->provider, spec->provider, append_generic, NULL};
  if (p == NULL && assay_ort_has_provider(ort, spec->provider)) p = &newer;
  if (p == NULL) return unknown_provider(spec->provider, err);
  if (!assay_ort_has_provider(ort, p->full_name)) return not_in_library(ort, p->full_name, err);
  OrtStatus *refusal = p->append(ort, session, p->generic_name, o);
  return refusal != NULL ? cannot_be_used(ort, p->full_name, refusal, err) : ASSAY_OK;
}

assay_status assay_ort_provider_append(assay_ort *ort, const assay_ort_session_spec *spec,
                                       OrtSessionOptions *options, assay_error *err) {
  size_t n = spec->n_provider_options;
  if (assay_ort_spec_is_cpu(spec) && (n > 0 || spec->plugin_path != NULL))
    return assay_fail(err, ASSAY_E_ARGUMENT, "the CPU provider takes no options and no plug-in");
  for (size_t i = 0; i < n; ++i)
    if (spec->plugin_path == NULL &&
        !assay_ort_provider_takes(spec->provider, spec->provider_options[i].key))
      return assay_fail(err, ASSAY_E_ARGUMENT, "%s has no option '%s': it would have no effect",
                        spec->provider, spec->provider_options[i].key);
  if (assay_ort_spec_is_cpu(spec)) return ASSAY_OK;
  const char **block = assay_alloc_array(2 * n + 1, sizeof *block);
  if (block == NULL) return assay_fail_memory(err, 2 * n * sizeof *block);
  options_view o = {.keys = block, .values = block + n, .n = n};
  for (size_t i = 0; i < n; ++i) {
    o.keys[i] = spec->provider_options[i].key;
    o.values[i] = spec->provider_options[i].value;
  }
  assay_ort_forget_errors(ort);
  assay_status st = append_viewed(ort, spec, options, &o, err);
  assay_free(block);
  return st;
}
