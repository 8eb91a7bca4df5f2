/* A model on one provider: inputs and outputs, calls, the profile's end. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "runtime/ort_internal.h"
#include "runtime/ort_words.h"

#define VALUE_RANK_MAX 8

struct assay_ort_session {
  assay_ort *ort; /* borrowed */
  OrtSession *session;
  OrtAllocator *allocator;                /* the library's */
  OrtMemoryInfo *memory;                  /* host memory */
  assay_ort_value_info *inputs, *outputs; /* [n]; names owned */
  size_t n_inputs, n_outputs;
  const char **input_names, **output_names; /* [n], views of the names above */
  OrtValue **input_values;                  /* [n_inputs], all set once bound */
  OrtValue **output_values;                 /* [n_outputs], of the last run */
  bool bound;
};

/* --- what the model takes and gives ----------------------------------------------------------- */

static assay_status read_tensor_info(const assay_ort *ort, const OrtTensorTypeAndShapeInfo *info,
                                     assay_ort_value_info *out, assay_error *err) {
  int dtype = 0;
  size_t rank = 0;
  ASSAY_TRY(assay_ort_take(ort, ort->api->GetTensorElementType(info, &dtype), ASSAY_E_RUNTIME,
                           "element type", err));
  ASSAY_TRY(
      assay_ort_take(ort, ort->api->GetDimensionsCount(info, &rank), ASSAY_E_RUNTIME, "rank", err));
  if (rank > VALUE_RANK_MAX)
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "'%s' has %zu dimensions, at most %d are handled",
                      out->name, rank, VALUE_RANK_MAX);
  ASSAY_TRY(assay_ort_take(ort, ort->api->GetDimensions(info, out->dims, rank), ASSAY_E_RUNTIME,
                           "dimensions", err));
  out->rank = (int)rank;
  bool known = dtype > 0 && dtype <= ASSAY_DTYPE_BF16; /* ONNX's numbers are ours */
  out->dtype = known ? (assay_dtype)dtype : ASSAY_DTYPE_NONE;
  for (size_t i = 0; i < rank; ++i)
    if (out->dims[i] < 0) out->dims[i] = -1;
  return ASSAY_OK;
}

/* Input or output i of the session, and its name; the type is left NONE for what is not a tensor.
 */
static assay_status read_value_info(assay_ort_session *s, bool is_input, size_t i,
                                    assay_ort_value_info *out, assay_error *err) {
  const assay_ort_api *api = s->ort->api;
  char *name = NULL;
  OrtStatus *refusal = is_input ? api->SessionGetInputName(s->session, i, s->allocator, &name)
                                : api->SessionGetOutputName(s->session, i, s->allocator, &name);
  ASSAY_TRY(assay_ort_take(s->ort, refusal, ASSAY_E_RUNTIME, "name of an input or output", err));
  out->name = assay_strdup(name);
  refusal = api->AllocatorFree(s->allocator, name);
  if (refusal != NULL) api->ReleaseStatus(refusal);
  if (out->name == NULL) return assay_fail_memory(err, 1);
  OrtTypeInfo *type = NULL;
  refusal = is_input ? api->SessionGetInputTypeInfo(s->session, i, &type)
                     : api->SessionGetOutputTypeInfo(s->session, i, &type);
  ASSAY_TRY(assay_ort_take(s->ort, refusal, ASSAY_E_RUNTIME, out->name, err));
  const OrtTensorTypeAndShapeInfo *info = NULL; /* owned by type */
  assay_status st = assay_ort_take(s->ort, api->CastTypeInfoToTensorInfo(type, &info),
                                   ASSAY_E_RUNTIME, out->name, err);
  if (!st && info != NULL) st = read_tensor_info(s->ort, info, out, err);
  api->ReleaseTypeInfo(type);
  return st;
}

static assay_status read_inputs(assay_ort_session *s, assay_error *err) {
  size_t n = 0;
  ASSAY_TRY(assay_ort_take(s->ort, s->ort->api->SessionGetInputCount(s->session, &n),
                           ASSAY_E_RUNTIME, "inputs", err));
  s->inputs = assay_alloc_array(n + 1, sizeof *s->inputs);
  s->input_names = assay_alloc_array(n + 1, sizeof *s->input_names);
  s->input_values = assay_alloc_array(n + 1, sizeof *s->input_values);
  if (s->inputs == NULL || s->input_names == NULL || s->input_values == NULL)
    return assay_fail_memory(err, n * sizeof *s->inputs);
  for (; s->n_inputs < n; ++s->n_inputs) {
    size_t i = s->n_inputs;
    assay_status st = read_value_info(s, /*is_input=*/true, i, &s->inputs[i], err);
    s->input_names[i] = s->inputs[i].name;
    if (st) return st;
  }
  return ASSAY_OK;
}

static assay_status read_outputs(assay_ort_session *s, assay_error *err) {
  size_t n = 0;
  ASSAY_TRY(assay_ort_take(s->ort, s->ort->api->SessionGetOutputCount(s->session, &n),
                           ASSAY_E_RUNTIME, "outputs", err));
  s->outputs = assay_alloc_array(n + 1, sizeof *s->outputs);
  s->output_names = assay_alloc_array(n + 1, sizeof *s->output_names);
  s->output_values = assay_alloc_array(n + 1, sizeof *s->output_values);
  if (s->outputs == NULL || s->output_names == NULL || s->output_values == NULL)
    return assay_fail_memory(err, n * sizeof *s->outputs);
  for (; s->n_outputs < n; ++s->n_outputs) {
    size_t i = s->n_outputs;
    assay_status st = read_value_info(s, /*is_input=*/false, i, &s->outputs[i], err);
    s->output_names[i] = s->outputs[i].name;
    if (st) return st;
  }
  return ASSAY_OK;
}

/* --- opening and closing ------------------------------------------------------------------------
 */

static assay_status create_session(assay_ort_session *s, const assay_ort_session_spec *spec,
                                   const OrtSessionOptions *options, assay_error *err) {
  const assay_ort_api *api = s->ort->api;
  OrtStatus *refusal = api->CreateSession(s->ort->env, spec->model_path, options, &s->session);
  if (refusal == NULL) return ASSAY_OK;
  char words[1024];
  assay_ort_words(api->GetErrorMessage(refusal), words, sizeof words);
  bool no_file = api->GetErrorCode(refusal) == ASSAY_ORT_NO_SUCH_FILE;
  api->ReleaseStatus(refusal);
  if (!assay_ort_spec_is_cpu(spec) && assay_ort_words_mean_missing(words))
    return assay_fail(err, ASSAY_E_MISSING, "%s cannot be used with ONNX Runtime %s: %s",
                      spec->provider, s->ort->version, words);
  const char *too_new = strstr(words, "Unsupported model IR version");
  if (too_new != NULL)
    return assay_fail(err, ASSAY_E_MISSING, "ONNX Runtime %s is too old for model '%s': %s",
                      s->ort->version, spec->model_path, too_new);
  return assay_fail(err, no_file ? ASSAY_E_IO : ASSAY_E_RUNTIME,
                    "ONNX Runtime %s refuses model '%s': %s", s->ort->version, spec->model_path,
                    words);
}

static assay_status open_into(assay_ort_session *s, const assay_ort_session_spec *spec,
                              assay_error *err) {
  assay_ort *ort = s->ort;
  OrtSessionOptions *options = NULL;
  ASSAY_TRY(assay_ort_take(ort, ort->api->CreateSessionOptions(&options), ASSAY_E_RUNTIME,
                           "session options", err));
  assay_status st = assay_ort_spec_apply(ort, spec, options, err);
  if (!st) st = create_session(s, spec, options, err);
  ort->api->ReleaseSessionOptions(options);
  if (st) return st;
  ASSAY_TRY(assay_ort_take(ort, ort->api->GetAllocatorWithDefaultOptions(&s->allocator),
                           ASSAY_E_RUNTIME, "allocator", err));
  ASSAY_TRY(assay_ort_take(ort,
                           ort->api->CreateCpuMemoryInfo(ASSAY_ORT_ARENA_ALLOCATOR,
                                                         ASSAY_ORT_MEMORY_DEFAULT, &s->memory),
                           ASSAY_E_RUNTIME, "host memory", err));
  ASSAY_TRY(read_inputs(s, err));
  return read_outputs(s, err);
}

assay_status assay_ort_session_open(assay_ort *ort, const assay_ort_session_spec *spec,
                                    assay_ort_session **out, assay_error *err) {
  ASSAY_TRY(assay_ort_spec_check(spec, err));
  assay_ort_session *s = assay_alloc(sizeof *s);
  if (s == NULL) return assay_fail_memory(err, sizeof *s);
  s->ort = ort;
  assay_status st = open_into(s, spec, err);
  if (st) {
    assay_ort_session_close(s);
    return st;
  }
  *out = s;
  return ASSAY_OK;
}

static void release_inputs(assay_ort_session *s) {
  s->bound = false;
  if (s->input_values == NULL) return;
  for (size_t i = 0; i < s->n_inputs; ++i) {
    if (s->input_values[i] != NULL) s->ort->api->ReleaseValue(s->input_values[i]);
    s->input_values[i] = NULL;
  }
}

void assay_ort_session_release_outputs(assay_ort_session *s) {
  if (s == NULL || s->output_values == NULL) return;
  for (size_t i = 0; i < s->n_outputs; ++i) {
    if (s->output_values[i] != NULL) s->ort->api->ReleaseValue(s->output_values[i]);
    s->output_values[i] = NULL;
  }
}

/* Names of the first n entries, and of the one after that may have been half read. */
static void release_infos(assay_ort_value_info *infos, size_t n) {
  if (infos == NULL) return;
  union { /* names are lent as const, and owned here */
    const char *lent;
    char *owned;
  } name;
  for (size_t i = 0; i <= n; ++i) {
    name.lent = infos[i].name;
    assay_free(name.owned);
  }
  assay_free(infos);
}

void assay_ort_session_close(assay_ort_session *s) {
  if (s == NULL) return;
  assay_ort_session_release_outputs(s);
  release_inputs(s);
  if (s->session != NULL) s->ort->api->ReleaseSession(s->session);
  if (s->memory != NULL) s->ort->api->ReleaseMemoryInfo(s->memory);
  release_infos(s->inputs, s->n_inputs);
  release_infos(s->outputs, s->n_outputs);
  assay_free(s->input_names);
  assay_free(s->output_names);
  assay_free(s->input_values);
  assay_free(s->output_values);
  assay_free(s);
}

size_t assay_ort_session_n_inputs(const assay_ort_session *s) {
  return s->n_inputs;
}
size_t assay_ort_session_n_outputs(const assay_ort_session *s) {
  return s->n_outputs;
}
const assay_ort_value_info *assay_ort_session_input(const assay_ort_session *s, size_t i) {
  return &s->inputs[i];
}
const assay_ort_value_info *assay_ort_session_output(const assay_ort_session *s, size_t i) {
  return &s->outputs[i];
}

/* --- calls --------------------------------------------------------------------------------------
 */

/* "mask float32 [?,?]". */
static void describe_input(const assay_ort_value_info *info, char *out, size_t out_bytes) {
  char dims[96];
  size_t used = 0;
  dims[0] = '\0';
  for (int i = 0; i < info->rank && used < sizeof dims; ++i) {
    const char *comma = i > 0 ? "," : "";
    int n = info->dims[i] < 0 ? snprintf(dims + used, sizeof dims - used, "%s?", comma)
                              : snprintf(dims + used, sizeof dims - used, "%s%lld", comma,
                                         (long long)info->dims[i]);
    used += (size_t)n;
  }
  snprintf(out, out_bytes, "%s %s [%s]", info->name, assay_dtype_name(info->dtype), dims);
}

/* Appends ", " and text to a list that may be full. */
static void list_add(char *list, size_t list_bytes, const char *text) {
  size_t used = strlen(list);
  snprintf(list + used, list_bytes - used, "%s%s", used > 0 ? ", " : "", text);
}

/* "the model takes …; offered …", for names that do not fit. */
static assay_status names_do_not_fit(const assay_ort_session *s, const assay_tensor_map *offered,
                                     const char *what, const char *name, assay_error *err) {
  char wanted_list[512] = "", offered_list[512] = "", one[192], shape[256];
  for (size_t i = 0; i < s->n_inputs; ++i) {
    describe_input(&s->inputs[i], one, sizeof one);
    list_add(wanted_list, sizeof wanted_list, one);
  }
  for (size_t i = 0; i < offered->n; ++i) {
    const assay_tensor *t = &offered->items[i].tensor;
    assay_shape_text(t->dims, t->rank, shape, sizeof shape);
    snprintf(one, sizeof one, "%.96s %s %.64s", offered->items[i].name, assay_dtype_name(t->dtype),
             shape);
    list_add(offered_list, sizeof offered_list, one);
  }
  return assay_fail(err, ASSAY_E_ARGUMENT, "%s '%s'; the model takes %s; offered are %s", what,
                    name, wanted_list, offered_list[0] != '\0' ? offered_list : "none");
}

static bool shape_fits(const assay_ort_value_info *info, const assay_tensor *t) {
  if (info->rank != t->rank) return false;
  for (int i = 0; i < t->rank; ++i)
    if (info->dims[i] >= 0 && info->dims[i] != t->dims[i]) return false;
  return true;
}

static assay_status check_inputs(const assay_ort_session *s, const assay_tensor_map *inputs,
                                 assay_error *err) {
  for (size_t i = 0; i < s->n_inputs; ++i) {
    const assay_ort_value_info *info = &s->inputs[i];
    const assay_tensor *t = assay_tensor_map_find(inputs, info->name);
    if (t == NULL) return names_do_not_fit(s, inputs, "missing input", info->name, err);
    if (t->dtype == info->dtype && shape_fits(info, t)) continue;
    char wanted[192], shape[256];
    describe_input(info, wanted, sizeof wanted);
    assay_shape_text(t->dims, t->rank, shape, sizeof shape);
    return assay_fail(err, ASSAY_E_ARGUMENT, "input %s: found %s %s", wanted,
                      assay_dtype_name(t->dtype), shape);
  }
  if (inputs->n == s->n_inputs) return ASSAY_OK;
  for (size_t i = 0; i < inputs->n; ++i) {
    bool known = false;
    for (size_t k = 0; k < s->n_inputs; ++k)
      known = known || strcmp(inputs->items[i].name, s->inputs[k].name) == 0;
    if (!known) return names_do_not_fit(s, inputs, "unknown input", inputs->items[i].name, err);
  }
  return ASSAY_OK;
}

assay_status assay_ort_session_bind(assay_ort_session *s, const assay_tensor_map *inputs,
                                    assay_error *err) {
  static char nothing; /* the library wants an address even for no bytes */
  ASSAY_TRY(check_inputs(s, inputs, err));
  release_inputs(s);
  for (size_t i = 0; i < s->n_inputs; ++i) {
    const assay_tensor *t = assay_tensor_map_find(inputs, s->inputs[i].name);
    void *data = t->data != NULL ? t->data : &nothing;
    OrtStatus *refusal = s->ort->api->CreateTensorWithDataAsOrtValue(
        s->memory, data, t->size_bytes, t->dims, (size_t)t->rank, (int)t->dtype,
        &s->input_values[i]);
    assay_status st = assay_ort_take(s->ort, refusal, ASSAY_E_RUNTIME, s->inputs[i].name, err);
    if (st) {
      release_inputs(s);
      return st;
    }
  }
  s->bound = true;
  return ASSAY_OK;
}

assay_status assay_ort_session_run(assay_ort_session *s, assay_error *err) {
  if (!s->bound) return assay_fail(err, ASSAY_E_ARGUMENT, "inputs must be bound before a call");
  assay_ort_session_release_outputs(s);
  OrtStatus *refusal =
      s->ort->api->Run(s->session, NULL, s->input_names, (const OrtValue *const *)s->input_values,
                       s->n_inputs, s->output_names, s->n_outputs, s->output_values);
  return assay_ort_take(s->ort, refusal, ASSAY_E_RUNTIME, "ONNX Runtime refuses the call", err);
}

/* --- outputs ------------------------------------------------------------------------------------
 */

static assay_status check_is_host_tensor(const assay_ort_session *s, const OrtValue *value,
                                         assay_error *err) {
  const assay_ort_api *api = s->ort->api;
  int is_tensor = 0;
  int device = ASSAY_ORT_DEVICE_CPU;
  const OrtMemoryInfo *memory = NULL;
  ASSAY_TRY(assay_ort_take(s->ort, api->IsTensor(value, &is_tensor), ASSAY_E_RUNTIME, "kind", err));
  if (!is_tensor) return assay_fail(err, ASSAY_E_UNSUPPORTED, "not a tensor");
  ASSAY_TRY(assay_ort_take(s->ort, api->GetTensorMemoryInfo(value, &memory), ASSAY_E_RUNTIME,
                           "memory", err));
  api->MemoryInfoGetDeviceType(memory, &device);
  if (device != ASSAY_ORT_DEVICE_CPU)
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "not in host memory (device type %d)", device);
  return ASSAY_OK;
}

/* A zeroed tensor of value's type and shape. */
static assay_status init_like(const assay_ort_session *s, const OrtValue *value, assay_tensor *out,
                              assay_error *err) {
  OrtTensorTypeAndShapeInfo *info = NULL;
  ASSAY_TRY(assay_ort_take(s->ort, s->ort->api->GetTensorTypeAndShape(value, &info),
                           ASSAY_E_RUNTIME, "shape", err));
  assay_ort_value_info found = {.name = "output"};
  assay_status st = read_tensor_info(s->ort, info, &found, err);
  s->ort->api->ReleaseTensorTypeAndShapeInfo(info);
  if (st) return st;
  if (assay_dtype_size(found.dtype) == 0)
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "elements of type %s are not held",
                      assay_dtype_name(found.dtype));
  return assay_tensor_init(out, found.dtype, found.rank, found.dims, err);
}

static assay_status copy_output(const assay_ort_session *s, OrtValue *value, assay_tensor *out,
                                assay_error *err) {
  ASSAY_TRY(check_is_host_tensor(s, value, err));
  ASSAY_TRY(init_like(s, value, out, err));
  void *data = NULL;
  ASSAY_TRY(assay_ort_take(s->ort, s->ort->api->GetTensorMutableData(value, &data), ASSAY_E_RUNTIME,
                           "data", err));
  if (out->size_bytes > 0) memcpy(out->data, data, out->size_bytes);
  return ASSAY_OK;
}

assay_status assay_ort_session_copy_outputs(const assay_ort_session *s, assay_tensor_map *out,
                                            assay_error *err) {
  for (size_t i = 0; i < s->n_outputs; ++i) {
    if (s->output_values[i] == NULL)
      return assay_fail(err, ASSAY_E_ARGUMENT, "there are no outputs: no call, or released");
    assay_tensor t = {0};
    assay_status st = copy_output(s, s->output_values[i], &t, err);
    if (!st) st = assay_tensor_map_add(out, s->outputs[i].name, &t, err);
    if (st) {
      assay_tensor_reset(&t);
      assay_error_in(err, "output '%s'", s->outputs[i].name);
      return st;
    }
  }
  return ASSAY_OK;
}

assay_status assay_ort_session_end_profiling(assay_ort_session *s, char **out_path,
                                             assay_error *err) {
  char *path = NULL;
  ASSAY_TRY(assay_ort_take(s->ort,
                           s->ort->api->SessionEndProfiling(s->session, s->allocator, &path),
                           ASSAY_E_RUNTIME, "end of profiling", err));
  char *copy = assay_strdup(path);
  OrtStatus *refusal = s->ort->api->AllocatorFree(s->allocator, path);
  if (refusal != NULL) s->ort->api->ReleaseStatus(refusal);
  if (copy == NULL) return assay_fail_memory(err, 1);
  assay_status st = ASSAY_OK;
  if (copy[0] == '\0') {
    st = assay_fail(err, ASSAY_E_RUNTIME, "there is no profile: profiling was off or has ended");
  } else if (assay_path_kind_of(copy) != ASSAY_PATH_FILE) {
    st = assay_fail(err, ASSAY_E_MISSING, "the runtime names profile '%s', which is not there",
                    copy);
  }
  if (st) {
    assay_free(copy);
    return st;
  }
  *out_path = copy;
  return ASSAY_OK;
}

/* --- how the graph was divided ------------------------------------------------------------------
 */

static assay_status tell_node(const assay_ort *ort, const OrtEpAssignedNode *node,
                              assay_ort_assigned *told, assay_error *err) {
  const assay_ort_api *api = ort->api;
  ASSAY_TRY(assay_ort_take(ort, api->EpAssignedNode_GetName(node, &told->name), ASSAY_E_RUNTIME,
                           "name of an assigned node", err));
  ASSAY_TRY(assay_ort_take(ort, api->EpAssignedNode_GetDomain(node, &told->domain), ASSAY_E_RUNTIME,
                           "domain of an assigned node", err));
  return assay_ort_take(ort, api->EpAssignedNode_GetOperatorType(node, &told->op), ASSAY_E_RUNTIME,
                        "operator of an assigned node", err);
}

static assay_status tell_part(const assay_ort *ort, const OrtEpAssignedSubgraph *subgraph,
                              size_t part, assay_ort_assigned_fn each, void *arg,
                              assay_error *err) {
  const OrtEpAssignedNode *const *nodes = NULL;
  size_t n = 0;
  assay_ort_assigned told = {.part = part};
  ASSAY_TRY(assay_ort_take(ort, ort->api->EpAssignedSubgraph_GetEpName(subgraph, &told.provider),
                           ASSAY_E_RUNTIME, "provider of assigned nodes", err));
  ASSAY_TRY(assay_ort_take(ort, ort->api->EpAssignedSubgraph_GetNodes(subgraph, &nodes, &n),
                           ASSAY_E_RUNTIME, "assigned nodes", err));
  for (size_t i = 0; i < n; ++i) {
    ASSAY_TRY(tell_node(ort, nodes[i], &told, err));
    ASSAY_TRY(each(arg, &told, err));
  }
  return ASSAY_OK;
}

assay_status assay_ort_session_each_assigned(const assay_ort_session *s, assay_ort_assigned_fn each,
                                             void *arg, assay_error *err) {
  const assay_ort *ort = s->ort;
  const OrtEpAssignedSubgraph *const *parts = NULL;
  size_t n = 0;
  if (ort->api_version < 24)
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "ONNX Runtime %s does not say how it divided the graph: 1.24 or newer does",
                      ort->version);
  ASSAY_TRY(assay_ort_take(ort, ort->api->Session_GetEpGraphAssignmentInfo(s->session, &parts, &n),
                           ASSAY_E_RUNTIME, "how the graph was divided", err));
  for (size_t i = 0; i < n; ++i) ASSAY_TRY(tell_part(ort, parts[i], i, each, arg, err));
  return ASSAY_OK;
}
