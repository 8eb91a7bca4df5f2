/* Makes bundles, evidence and packages. The worker is a script that copies the evidence that was
 * prepared for the mode of its task and then ends as it is told; everything behind it is the
 * campaign as users run it. */
#include "selftest/selftest_scene.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "campaign/campaign.h"
#include "campaign/campaign_file.h"
#include "campaign/merge.h"
#include "campaign/pairing.h"
#include "campaign/runtime_spec.h"
#include "campaign/session_plan.h"
#include "campaign/vary.h"
#include "campaign/worker.h"
#include "package/npz.h"
#include "package/package.h"
#include "package/tree.h"
#include "report/report.h"

bool selftest_failed(const selftest_scene *s) {
  return s->err.status != ASSAY_OK;
}

void selftest_take(selftest_scene *s, assay_status st, const assay_error *err) {
  if (st && !selftest_failed(s)) assay_fail(&s->err, st, "%s", err->text);
}

/* Does the call unless something failed before. */
#define TRY(s, call)                                                                               \
  do {                                                                                             \
    assay_error try_error_ = {0}, *err = &try_error_;                                              \
    if (!selftest_failed(s)) selftest_take(s, (call), err);                                        \
  } while (0)

static void need(selftest_scene *s, const void *memory) {
  if (memory == NULL && !selftest_failed(s)) assay_fail_memory(&s->err, 256);
}

/* --- arrays --------------------------------------------------------------------------------------
 */

void selftest_set(assay_tensor *t, size_t i, double value) {
  switch (t->dtype) {
  case ASSAY_DTYPE_F32:
    ((float *)t->data)[i] = (float)value;
    return;
  case ASSAY_DTYPE_F64:
    ((double *)t->data)[i] = value;
    return;
  case ASSAY_DTYPE_F16:
    ((uint16_t *)t->data)[i] = assay_f16_of_f32((float)value);
    return;
  case ASSAY_DTYPE_BF16:
    ((uint16_t *)t->data)[i] = assay_bf16_of_f32((float)value);
    return;
  case ASSAY_DTYPE_I32:
    ((int32_t *)t->data)[i] = (int32_t)value;
    return;
  case ASSAY_DTYPE_I64:
    ((int64_t *)t->data)[i] = (int64_t)value;
    return;
  default:
    ((uint8_t *)t->data)[i] = value != 0;
  }
}

static assay_tensor *add_array(selftest_scene *s, assay_tensor_map *map, const char *name,
                               assay_dtype dtype, int rank, const int64_t *dims) {
  assay_tensor t = {0};
  TRY(s, assay_tensor_init(&t, dtype, rank, dims, err));
  TRY(s, assay_tensor_map_add(map, name, &t, err));
  assay_tensor_reset(&t);
  return selftest_failed(s) ? NULL : assay_tensor_map_find(map, name);
}

/* [B, N, k] with values of their own at valid positions and +0 at padding. */
static void add_head_array(selftest_scene *s, assay_tensor_map *map, const char *name,
                           assay_dtype dtype, int64_t k, double base) {
  const int64_t dims[] = {SELFTEST_B, SELFTEST_N, k};
  assay_tensor *t = add_array(s, map, name, dtype, 3, dims);
  for (size_t i = 0; t != NULL && i < (size_t)(SELFTEST_VALID * k); i++)
    selftest_set(t, i, base + 0.25 * (double)i);
}

assay_tensor *selftest_array(selftest_scene *s, const char *array) {
  assay_tensor *t = assay_tensor_map_find(&s->arrays, array);
  if (t == NULL && !selftest_failed(s))
    assay_fail(&s->err, ASSAY_E_INTERNAL, "the case has no array '%s'", array);
  return t;
}

assay_tensor *selftest_output(selftest_scene *s, const char *head) {
  assay_tensor *t = assay_tensor_map_find(&s->outputs, head);
  if (t == NULL && !selftest_failed(s))
    assay_fail(&s->err, ASSAY_E_INTERNAL, "there is no output '%s'", head);
  return t;
}

float *selftest_f32(selftest_scene *s, const char *array) {
  return assay_tensor_f32(selftest_array(s, array));
}

float *selftest_out(selftest_scene *s, const char *head) {
  return assay_tensor_f32(selftest_output(s, head));
}

void selftest_refer(selftest_scene *s, const char *kind, const char *head) {
  char from[64], to[64];
  snprintf(from, sizeof from, "ref.f32.%s", head);
  snprintf(to, sizeof to, "ref.%s.%s", kind, head);
  const assay_tensor *f32 = selftest_array(s, from);
  if (f32 == NULL) return;
  assay_tensor *same = add_array(s, &s->arrays, to, f32->dtype, f32->rank, f32->dims);
  f32 = selftest_array(s, from); /* the map may have moved */
  if (same != NULL) memcpy(same->data, f32->data, f32->size_bytes);
}

void selftest_drop(assay_tensor_map *map, const char *name) {
  assay_tensor_map rest = {0};
  for (size_t i = 0; i < map->n; i++)
    if (strcmp(map->items[i].name, name) != 0)
      (void)!assay_tensor_map_add(&rest, map->items[i].name, &map->items[i].tensor, NULL);
  assay_tensor_map_reset(map);
  *map = rest;
}

void selftest_reshape(assay_tensor *t, int rank, const int64_t *dims) {
  t->rank = rank;
  memcpy(t->dims, dims, (size_t)rank * sizeof *dims);
}

/* --- heads ---------------------------------------------------------------------------------------
 */

static assay_manifest_tensor tensor_of(selftest_scene *s, const char *name, assay_dtype dtype,
                                       int rank, int64_t k) {
  assay_manifest_tensor t = {.name = assay_strdup(name),
                             .dtype = dtype,
                             .rank = rank,
                             .atol = ASSAY_DEFAULT_ATOL,
                             .rtol = ASSAY_DEFAULT_RTOL};
  need(s, t.name);
  snprintf(t.dims[0].symbol, sizeof t.dims[0].symbol, "B");
  if (rank > 1) snprintf(t.dims[1].symbol, sizeof t.dims[1].symbol, "N");
  t.dims[2].size = k;
  return t;
}

static void drop_heads(selftest_scene *s) {
  for (size_t i = 0; i < s->n_heads; i++) assay_free(s->heads[i].name);
  s->n_heads = 0;
}

void selftest_only_head(selftest_scene *s, const selftest_head *head) {
  const int64_t dims[] = {head->n};
  char name[32];
  snprintf(name, sizeof name, "ref.%s.y", head->reference);
  drop_heads(s);
  assay_tensor_map_reset(&s->arrays);
  assay_tensor_map_reset(&s->outputs);
  s->has_mask = s->is_ours = false;
  s->heads[0] = tensor_of(s, "y", head->want_dtype, 1, 0);
  s->heads[0].dims[0] = (assay_manifest_dim){.size = head->n};
  s->heads[0].kind = head->kind;
  s->n_heads = 1;
  const int64_t x_dims[] = {SELFTEST_B, SELFTEST_N, 3};
  (void)add_array(s, &s->arrays, "x", ASSAY_DTYPE_F32, 3, x_dims);
  assay_tensor *want = add_array(s, &s->arrays, name, head->want_dtype, 1, dims);
  assay_tensor *got = add_array(s, &s->outputs, "y", head->got_dtype, 1, dims);
  for (size_t i = 0; !selftest_failed(s) && i < (size_t)head->n; i++) {
    selftest_set(want, i, head->want);
    selftest_set(got, i, head->got);
  }
}

/* --- a scene -------------------------------------------------------------------------------------
 */

static void init_arrays(selftest_scene *s) {
  const int64_t x_dims[] = {SELFTEST_B, SELFTEST_N, 3}, mask_dims[] = {SELFTEST_B, SELFTEST_N};
  (void)add_array(s, &s->arrays, "x", ASSAY_DTYPE_F32, 3, x_dims);
  assay_tensor *mask = add_array(s, &s->arrays, "mask", ASSAY_DTYPE_F32, 2, mask_dims);
  for (size_t i = 0; mask != NULL && i < SELFTEST_VALID; i++) selftest_set(mask, i, 1);
  add_head_array(s, &s->arrays, "ref.f32.bid", ASSAY_DTYPE_F32, 2, 1);
  add_head_array(s, &s->arrays, "ref.f64.bid", ASSAY_DTYPE_F64, 2, 1);
  add_head_array(s, &s->arrays, "ref.f32.momentum", ASSAY_DTYPE_F32, 3, 2);
  add_head_array(s, &s->arrays, "ref.f64.momentum", ASSAY_DTYPE_F64, 3, 2);
  add_head_array(s, &s->outputs, "bid", ASSAY_DTYPE_F32, 2, 1);
  add_head_array(s, &s->outputs, "momentum", ASSAY_DTYPE_F32, 3, 2);
  s->heads[0] = tensor_of(s, "bid", ASSAY_DTYPE_F32, 3, 2);
  s->heads[0].kind = ASSAY_HEAD_CLASSES;
  s->heads[1] = tensor_of(s, "momentum", ASSAY_DTYPE_F32, 3, 3);
  s->heads[1].kind = ASSAY_HEAD_REGRESSION;
  s->n_heads = 2;
  /* One figure that is not zero, and exact in every notation: 2^-13. */
  if (!selftest_failed(s)) selftest_out(s, "momentum")[4] += 0x1p-13f;
}

void selftest_scene_init(selftest_scene *s, const char *root, const char *script) {
  static const selftest_node nodes[] = {
      {"MatMul", "/layer/MatMul", SELFTEST_CUDA, false},
      {"Add", "/layer/Add", SELFTEST_CUDA, false},
      {"Softmax", "/layer/Softmax", SELFTEST_CUDA, false},
  };
  *s = (selftest_scene){.has_mask = true,
                        .is_ours = true,
                        .policy = "{\"allowed_cpu_ops\": [\"Shape\"], \"max_copies\": 1}",
                        .n_samples = SELFTEST_SAMPLES,
                        .n_nodes = N_OF(nodes),
                        .n_placed = N_OF(nodes),
                        .n_calls = SELFTEST_RUNS};
  snprintf(s->root, sizeof s->root, "%s", root);
  snprintf(s->script, sizeof s->script, "%s", script);
  snprintf(s->bundle, sizeof s->bundle, "%s/bundle", root);
  snprintf(s->package, sizeof s->package, "%s/package", root);
  snprintf(s->evidence, sizeof s->evidence, "%s/evidence", root);
  snprintf(s->library, sizeof s->library, "%s/libonnxruntime.so", root);
  snprintf(s->plugin, sizeof s->plugin, "%s/libplugin.so", root);
  snprintf(s->runtime, sizeof s->runtime, "%s/gpu.json", root);
  memcpy(s->nodes, nodes, sizeof nodes);
  memcpy(s->placed, nodes, sizeof nodes);
  for (int64_t i = 0; i < SELFTEST_SAMPLES; i++) s->samples[i] = 1000000 + 1000 * (i * 7 % 20);
  init_arrays(s);
}

void selftest_scene_reset(selftest_scene *s) {
  drop_heads(s);
  assay_tensor_map_reset(&s->arrays);
  assay_tensor_map_reset(&s->outputs);
  assay_buf_reset(&s->profile);
  assay_buf_reset(&s->log);
}

/* --- traces --------------------------------------------------------------------------------------
 */

static void put(selftest_scene *s, assay_buf *buf, const char *text) {
  TRY(s, assay_buf_append_text(buf, text, err));
}

static void put_event(selftest_scene *s, const char *category, const char *name, size_t ts,
                      const char *args) {
  TRY(s, assay_buf_appendf(&s->profile, err,
                           "{\"cat\" : \"%s\",\"pid\" :7,\"tid\" :7,\"dur\" :5,\"ts\" :%zu,"
                           "\"ph\" : \"X\",\"name\" :\"%s\",\"args\" : {%s}},\n",
                           category, ts, name, args));
}

static void put_profile(selftest_scene *s) {
  size_t ts = 0;
  put(s, &s->profile, "[\n");
  put_event(s, "Session", "session_initialization", ts++, "");
  for (size_t call = 0; call < s->n_calls; call++) {
    for (size_t i = 0; i < s->n_nodes; i++) {
      const selftest_node *node = &s->nodes[i];
      char name[160], args[320];
      if (node->not_in_last_call && call + 1 == s->n_calls) continue;
      snprintf(name, sizeof name, "%s_kernel_time", node->name);
      snprintf(args, sizeof args,
               "\"op_name\" : \"%s\",\"provider\" : \"%s\",\"node_index\" : \"%zu\"", node->op,
               node->provider, i);
      put_event(s, "Node", name, ts++, args);
    }
    put_event(s, "Session", "model_run", ts++, "");
  }
  if (!selftest_failed(s)) s->profile.size_bytes -= strlen(",\n");
  put(s, &s->profile, "\n]\n");
}

#define PLACING "[0|onnxruntime||session_state.cc:1601 VerifyEachNodeIsAssignedToAnEp] "

static size_t n_placed_on(const selftest_scene *s, const char *provider) {
  size_t n = 0;
  for (size_t i = 0; i < s->n_placed; i++) n += strcmp(s->placed[i].provider, provider) == 0;
  return n;
}

static void put_log(selftest_scene *s) {
  static const char *const providers[] = {SELFTEST_CUDA, SELFTEST_CPU};
  put(s, &s->log, "[1|onnxruntime||inference_session.cc:1 Initialize] Initializing session\n");
  put(s, &s->log, PLACING "Node placements\n");
  for (size_t p = 0; p < N_OF(providers); p++) {
    size_t n = n_placed_on(s, providers[p]);
    if (n == 0) continue;
    if (n == s->n_placed) {
      TRY(s, assay_buf_appendf(&s->log, err,
                               PLACING " All nodes placed on [%s]. Number of nodes: %zu\n",
                               providers[p], n));
      continue;
    }
    TRY(s,
        assay_buf_appendf(&s->log, err, PLACING " Node(s) placed on [%s]. Number of nodes: %zu\n",
                          providers[p], n));
    for (size_t i = 0; i < s->n_placed; i++)
      if (strcmp(s->placed[i].provider, providers[p]) == 0)
        TRY(s, assay_buf_appendf(&s->log, err, PLACING "  %s (%s)\n", s->placed[i].op,
                                 s->placed[i].name));
  }
}

void selftest_trace(selftest_scene *s) {
  assay_buf_reset(&s->profile);
  assay_buf_reset(&s->log);
  put_profile(s);
  put_log(s);
  s->has_trace = true;
}

void selftest_replace(selftest_scene *s, assay_buf *text, const char *find, const char *with) {
  const char *start = assay_buf_text(text), *at = strstr(start, find);
  if (selftest_failed(s)) return;
  if (at == NULL) {
    assay_fail(&s->err, ASSAY_E_INTERNAL, "'%s' is not there to be changed", find);
    return;
  }
  assay_buf fresh = {0};
  TRY(s, assay_buf_append(&fresh, start, (size_t)(at - start), err));
  put(s, &fresh, with);
  put(s, &fresh, at + strlen(find));
  assay_buf_reset(text);
  *text = fresh;
}

/* --- files ---------------------------------------------------------------------------------------
 */

/* Written plainly: nothing here must survive a crash. */
static void write_file(selftest_scene *s, const char *folder, const char *name, const void *bytes,
                       size_t size_bytes) {
  char *path = assay_path_join(folder, name);
  need(s, path);
  if (selftest_failed(s)) return;
  FILE *file = fopen(path, "wbe");
  int failed = file == NULL || fwrite(bytes, 1, size_bytes, file) != size_bytes ? errno : 0;
  if (file != NULL && fclose(file) != 0 && failed == 0) failed = errno;
  if (failed) assay_fail_errno(&s->err, ASSAY_E_IO, failed, "could not write '%s'", path);
  assay_free(path);
}

static void write_text(selftest_scene *s, const char *folder, const char *name, const char *text) {
  write_file(s, folder, name, text, strlen(text));
}

static void make_folder(selftest_scene *s, const char *path) {
  TRY(s, assay_folder_create(path, err));
}

static void write_arrays(selftest_scene *s, const char *folder, const char *name,
                         const assay_tensor_map *arrays) {
  char *path = assay_path_join(folder, name);
  need(s, path);
  TRY(s, assay_npz_write(path, arrays, err));
  assay_free(path);
}

/* --- the bundle ----------------------------------------------------------------------------------
 */

static void fill_case(selftest_scene *s, assay_manifest *m) {
  char path[320];
  m->cases = assay_alloc_array(1, sizeof *m->cases);
  need(s, m->cases);
  if (selftest_failed(s)) return;
  m->n_cases = 1;
  m->cases[0] = (assay_manifest_case){.name = assay_strdup("c"),
                                      .kind = assay_strdup("sweep"),
                                      .source = assay_strdup("made by the self-test"),
                                      .b = SELFTEST_B,
                                      .n = SELFTEST_N};
  m->cases[0].file.file = assay_strdup("cases/c.npz");
  need(s, m->cases[0].name);
  need(s, m->cases[0].file.file);
  snprintf(path, sizeof path, "%s/cases/c.npz", s->bundle);
  TRY(s, assay_sha256_file(path, m->cases[0].file.sha256, &m->cases[0].file.size_bytes, err));
  if (!s->has_mask) return;
  m->cases[0].valid = assay_alloc_array(SELFTEST_B, sizeof *m->cases[0].valid);
  need(s, m->cases[0].valid);
  const assay_tensor *mask = assay_tensor_map_find(&s->arrays, "mask");
  if (!selftest_failed(s)) m->cases[0].valid[0] = mask == NULL ? SELFTEST_VALID : 0;
  for (size_t i = 0; !selftest_failed(s) && mask != NULL && i < mask->n_elems; i++)
    m->cases[0].valid[0] += assay_tensor_get_real(mask, i) != 0;
}

static void fill_tensors(selftest_scene *s, assay_manifest *m) {
  m->inputs = assay_alloc_array(2, sizeof *m->inputs);
  m->heads = assay_alloc_array(s->n_heads, sizeof *m->heads);
  need(s, m->inputs);
  need(s, m->heads);
  if (selftest_failed(s)) return;
  m->inputs[m->n_inputs++] = tensor_of(s, "x", ASSAY_DTYPE_F32, 3, 3);
  if (s->has_mask) m->inputs[m->n_inputs++] = tensor_of(s, "mask", ASSAY_DTYPE_F32, 2, 0);
  for (size_t i = 0; i < s->n_heads; i++) {
    m->heads[m->n_heads] = s->heads[i];
    m->heads[m->n_heads].name = assay_strdup(s->heads[i].name);
    need(s, m->heads[m->n_heads++].name);
  }
}

static void write_manifest(selftest_scene *s) {
  static const char reference[] = "{\"origin\": \"user\"}";
  char path[320];
  assay_manifest m = {.name = assay_strdup("toy"),
                      .tool_version = assay_strdup(ASSAY_VERSION),
                      .opset = 20,
                      .ir_version = 9,
                      .dtype = assay_strdup("float32"),
                      .shapes = assay_strdup("dynamic"),
                      .attention_ops = s->fused_ops,
                      .fused_attention_ops = s->fused_ops,
                      .architecture = s->is_ours ? assay_strdup("toy") : NULL,
                      .mask_input = s->has_mask ? assay_strdup("mask") : NULL};
  m.model.file = assay_strdup("model.onnx");
  snprintf(path, sizeof path, "%s/model.onnx", s->bundle);
  TRY(s, assay_sha256_file(path, m.model.sha256, &m.model.size_bytes, err));
  TRY(s, assay_json_parse(reference, strlen(reference), &m.reference, err));
  fill_tensors(s, &m);
  fill_case(s, &m);
  TRY(s, assay_manifest_write(&m, s->bundle, err));
  assay_manifest_reset(&m);
}

/* --- the model -----------------------------------------------------------------------------------
 */

/* A field of protobuf's wire format that holds bytes; short ones only. */
static void put_field(selftest_scene *s, assay_buf *out, int number, const void *bytes, size_t n) {
  const unsigned char head[] = {(unsigned char)(number << 3 | 2), (unsigned char)(n & 127) | 128,
                                (unsigned char)(n >> 7)};
  TRY(s, assay_buf_append(out, head, sizeof head, err));
  TRY(s, assay_buf_append(out, bytes, n, err));
}

/* An ONNX file of the scene's nodes, but copies: their operators and names. Field numbers of
 * onnx.proto. */
static void write_model(selftest_scene *s) {
  enum { NODE_NAME = 3, NODE_OP = 4, GRAPH_NODE = 1, MODEL_GRAPH = 7 };
  assay_buf graph = {0}, model = {0};
  for (size_t i = 0; i < s->n_nodes; i++) {
    const selftest_node *node = &s->nodes[i];
    assay_buf bytes = {0};
    if (strncmp(node->op, "Memcpy", 6) == 0) continue;
    put_field(s, &bytes, NODE_NAME, node->name, strlen(node->name));
    put_field(s, &bytes, NODE_OP, node->op, strlen(node->op));
    put_field(s, &graph, GRAPH_NODE, bytes.data, bytes.size_bytes);
    assay_buf_reset(&bytes);
  }
  put_field(s, &model, MODEL_GRAPH, graph.data, graph.size_bytes);
  write_file(s, s->bundle, "model.onnx", model.data, model.size_bytes);
  assay_buf_reset(&graph);
  assay_buf_reset(&model);
}

static void write_bundle(selftest_scene *s) {
  char cases[320];
  snprintf(cases, sizeof cases, "%s/cases", s->bundle);
  make_folder(s, cases);
  write_model(s);
  write_arrays(s, cases, "c.npz", &s->arrays);
  write_manifest(s);
}

/* --- evidence ------------------------------------------------------------------------------------
 */

/* The last digit of a digest becomes another. */
static void spoil_digest(char digest[65]) {
  digest[63] = digest[63] == '0' ? '1' : '0';
}

static void add_library(selftest_scene *s, assay_worker_facts *facts, const char *path,
                        bool spoilt) {
  assay_machine_library *library = &facts->libraries.items[facts->libraries.n];
  library->path = assay_strdup(path);
  need(s, library->path);
  if (selftest_failed(s)) return;
  facts->libraries.n++;
  TRY(s, assay_sha256_file(path, library->sha256, &library->size_bytes, err));
  if (spoilt) spoil_digest(library->sha256);
}

static void fill_libraries(selftest_scene *s, assay_worker_facts *facts) {
  facts->libraries.items = assay_alloc_array(2, sizeof *facts->libraries.items);
  need(s, facts->libraries.items);
  if (selftest_failed(s)) return;
  add_library(s, facts, s->library, s->other_library);
  if (s->has_plugin) add_library(s, facts, s->plugin, s->other_plugin);
}

/* Those that the library says it has. */
static void fill_providers(selftest_scene *s, assay_worker_facts *facts) {
  facts->providers = assay_alloc_array(1, sizeof *facts->providers);
  need(s, facts->providers);
  if (selftest_failed(s)) return;
  facts->providers[0] = assay_strdup(SELFTEST_CUDA);
  need(s, facts->providers[0]);
  facts->n_providers = 1;
}

/* The graph that the session read. */
static void fill_graph(selftest_scene *s, assay_worker_facts *facts) {
  char *path = assay_path_join(s->bundle, "model.onnx");
  need(s, path);
  TRY(s, assay_sha256_file(path, facts->model_sha256, NULL, err));
  if (s->other_graph) spoil_digest(facts->model_sha256);
  assay_free(path);
}

static void fill_options(selftest_scene *s, assay_worker_facts *facts) {
  assay_runtime_spec runtime = {0};
  assay_session_plan plan = {0};
  TRY(s, assay_runtime_spec_parse(s->runtime, &runtime, err));
  TRY(s, assay_session_plan_init(&runtime, &plan, err));
  TRY(s, assay_session_plan_options(&plan, facts->options_sha256, &facts->options, err));
  if (s->other_options) spoil_digest(facts->options_sha256);
  assay_session_plan_reset(&plan);
  assay_runtime_spec_reset(&runtime);
}

static void write_facts(selftest_scene *s, const char *folder, bool timing) {
  char *path = assay_path_join(folder, ASSAY_WORKER_FACTS_FILE);
  assay_worker_facts facts = {.finished = !s->not_finished,
                              .stage = s->not_finished ? ASSAY_STAGE_PROVIDER : ASSAY_STAGE_NONE,
                              .status = assay_strdup("OK"),
                              .reason = assay_strdup(s->reason != NULL ? s->reason : ""),
                              .library_path = assay_strdup(s->library),
                              .library_version = assay_strdup("9.9.9"),
                              .library_build = assay_strdup("none"),
                              .provider = assay_strdup(SELFTEST_CUDA),
                              .affinity = assay_strdup("0"),
                              .load_average = assay_strdup("0"),
                              .governor = assay_strdup("unavailable"),
                              .cgroup_cpu_max = assay_strdup("unavailable"),
                              .cgroup_memory_max = assay_strdup("unavailable"),
                              .session_create_ns = 5000000,
                              .first_run_ns = 3000000,
                              .warmup = timing ? 2 : 0,
                              .iterations = timing ? SELFTEST_SAMPLES : 0,
                              .profiled_runs = timing ? 0 : SELFTEST_RUNS,
                              .outputs_identical = timing};
  need(s, path);
  fill_graph(s, &facts);
  fill_libraries(s, &facts);
  fill_providers(s, &facts);
  fill_options(s, &facts);
  TRY(s, assay_worker_facts_write(&facts, path, err));
  assay_worker_facts_reset(&facts);
  assay_free(path);
}

static void write_samples(selftest_scene *s, const char *folder) {
  assay_tensor samples = {0};
  const int64_t dims[] = {(int64_t)s->n_samples};
  char *path = assay_path_join(folder, ASSAY_WORKER_SAMPLES_FILE);
  need(s, path);
  TRY(s, assay_tensor_init(&samples, s->float_samples ? ASSAY_DTYPE_F64 : ASSAY_DTYPE_I64, 1, dims,
                           err));
  for (size_t i = 0; !selftest_failed(s) && i < s->n_samples; i++)
    selftest_set(&samples, i, (double)s->samples[i]);
  TRY(s, assay_npy_write(path, &samples, err));
  assay_tensor_reset(&samples);
  assay_free(path);
}

static void drop_files(selftest_scene *s, const char *folder) {
  for (size_t i = 0; i < N_OF(s->without) && s->without[i] != NULL; i++) {
    char *path = assay_path_join(folder, s->without[i]);
    if (path != NULL) (void)remove(path);
    assay_free(path);
  }
}

/* What the runtime would say of its own: each node by itself, but copies. */
static void write_assignment(selftest_scene *s, const char *folder) {
  assay_buf text = {0};
  size_t n = 0;
  for (size_t i = 0; i < s->n_nodes; i++) n += strncmp(s->nodes[i].op, "Memcpy", 6) != 0;
  TRY(s, assay_buf_appendf(&text, err, "assay/assignment/1 %zu nodes\n", n));
  for (size_t i = 0, part = 0; i < s->n_nodes; i++) {
    const selftest_node *node = &s->nodes[i];
    if (strncmp(node->op, "Memcpy", 6) == 0) continue;
    TRY(s, assay_buf_appendf(&text, err, "%zu\t%s\t\t%s\t%s\n", part++, node->provider, node->op,
                             node->name));
  }
  write_file(s, folder, ASSAY_WORKER_ASSIGNMENT_FILE, text.data, text.size_bytes);
  assay_buf_reset(&text);
}

/* For side "b", without the one error of the outputs. */
static void write_other_outputs(selftest_scene *s) {
  char folder[320];
  snprintf(folder, sizeof folder, "%s/b", s->evidence);
  make_folder(s, folder);
  if (!selftest_failed(s)) selftest_out(s, "momentum")[4] -= 0x1p-13f;
  write_arrays(s, folder, ASSAY_WORKER_OUTPUTS_FILE, &s->outputs);
  if (!selftest_failed(s)) selftest_out(s, "momentum")[4] += 0x1p-13f;
}

/* What the worker's script copies, and how it ends. */
static void write_evidence(selftest_scene *s) {
  static const char *const modes[] = {"timing", "placement", "probe"};
  if (s->talk != NULL) s->placement_ends = "cat \"$root/evidence/talk.txt\"";
  for (size_t i = 0; i < N_OF(modes); i++) {
    char folder[320], ends[320];
    const char *how = i == 0 ? s->timing_ends : i == 1 ? s->placement_ends : NULL;
    snprintf(folder, sizeof folder, "%s/%s", s->evidence, modes[i]);
    snprintf(ends, sizeof ends, "%s.sh", modes[i]);
    make_folder(s, folder);
    write_facts(s, folder, /*timing=*/i == 0);
    if (i == 0) {
      write_arrays(s, folder, ASSAY_WORKER_OUTPUTS_FILE, &s->outputs);
      write_samples(s, folder);
    } else if (i == 1) {
      write_file(s, folder, ASSAY_WORKER_PROFILE_FILE, s->profile.data, s->profile.size_bytes);
      write_file(s, folder, ASSAY_WORKER_LOG_FILE, s->log.data, s->log.size_bytes);
      write_assignment(s, folder);
    }
    if (i < 2) {
      write_text(s, folder, ASSAY_WORKER_PHASES_FILE, "start 1\nload_library 2\nsession 3\n");
      drop_files(s, folder);
    }
    write_text(s, s->evidence, ends, how != NULL ? how : "exit 0");
  }
  if (s->talk != NULL) write_text(s, s->evidence, "talk.txt", s->talk);
  if (s->vary != NULL) write_other_outputs(s);
}

/* --- the campaign --------------------------------------------------------------------------------
 */

static void write_runtime(selftest_scene *s, const char *name, const char *env) {
  char text[1600], plugin[400] = "", required[64] = "";
  if (s->has_plugin) snprintf(plugin, sizeof plugin, "\"plugin\": \"%s\", ", s->plugin);
  if (s->required != NULL)
    snprintf(required, sizeof required, "\"required_evidence\": [\"%s\"], ", s->required);
  snprintf(text, sizeof text,
           "{\"library\": \"%s\", %s\"provider\": \"%s\", %s\"env\": %s, "
           "\"placement_policy\": %s}",
           s->library, plugin, SELFTEST_CUDA, required, env, s->policy);
  write_text(s, s->root, name, text);
}

static void write_runtimes(selftest_scene *s) {
  write_text(s, s->root, "libonnxruntime.so", "stands in for a library");
  write_text(s, s->root, "libplugin.so", "stands in for a plug-in");
  write_runtime(s, "gpu.json", "{}");
  if (s->has_file) write_runtime(s, "gpu2.json", "{\"SELFTEST_SIDE\": \"b\"}");
}

/* The bundle on both runtimes. */
static void read_campaign_file(selftest_scene *s, assay_campaign_file *out) {
  char path[320], text[1200];
  snprintf(path, sizeof path, "%s/campaign.json", s->root);
  snprintf(text, sizeof text,
           "{\"schema\": \"assay/campaign/1\",\n"
           " \"bundles\": [{\"name\": \"toy\", \"folder\": \"bundle\"}],\n"
           " \"runs\": [{\"runtime\": \"%s\", \"bundles\": [\"toy\"]},\n"
           "          {\"runtime\": \"%s/gpu2.json\", \"bundles\": [\"toy\"]}]}\n",
           s->runtime, s->root);
  write_text(s, s->root, "campaign.json", text);
  TRY(s, assay_campaign_file_read(path, out, err));
}

/* The sides of a comparison. */
typedef struct sides {
  const selftest_scene *scene;
  assay_vary vary;
} sides;

static assay_status make_side(void *arg, size_t i, assay_runtime_spec *runtime, assay_error *err) {
  const sides *of = arg;
  if (of->scene->also != NULL) ASSAY_TRY(of->scene->also(i, runtime, err));
  return assay_vary_apply(&of->vary, i, runtime, err);
}

static void run_campaign(selftest_scene *s) {
  const char *runtimes[] = {s->runtime, s->runtime};
  const char *const bundles[] = {s->bundle};
  const char *const command[] = {"assay", "verify", "--self-test"};
  const char *const skip[] = {s->skip};
  char second[320];
  assay_campaign_file file = {0};
  sides both = {.scene = s};
  assay_campaign_summary summary = {0};
  assay_campaign_spec spec = {.package_path = s->package,
                              .runtimes = runtimes,
                              .n_runtimes = s->vary != NULL || s->has_file ? 2 : 1,
                              .bundles = bundles,
                              .n_bundles = 1,
                              .iterations = SELFTEST_SAMPLES,
                              .warmup = 2,
                              .placement_runs = SELFTEST_RUNS,
                              .timeout_ns =
                                  s->timeout_ns > 0 ? s->timeout_ns : INT64_C(60000000000),
                              .skip = skip,
                              .n_skip = s->skip != NULL ? 1 : 0,
                              .command = command,
                              .n_command = N_OF(command),
                              .worker_path = s->script};
  if (s->has_file) {
    snprintf(second, sizeof second, "%s/gpu2.json", s->root);
    runtimes[1] = second;
    read_campaign_file(s, &file);
    spec.file = &file;
  }
  if (s->vary != NULL) {
    TRY(s, assay_vary_parse(s->vary, &both.vary, err));
    spec.adjust = make_side;
    spec.adjust_arg = &both;
  }
  TRY(s, assay_campaign_run(&spec, &summary, err));
  if (s->vary != NULL) TRY(s, assay_pairing_make(s->package, &both.vary, err));
  assay_vary_reset(&both.vary);
  assay_campaign_file_reset(&file);
}

static void write_report(selftest_scene *s) {
  assay_report_options options = {.gnuplot = ""};
  assay_view view = {0};
  TRY(s, assay_view_open(s->package, &view, err));
  if (selftest_failed(s)) return;
  TRY(s, assay_report_write(&view, &options, NULL, err));
  assay_view_close(&view);
}

void selftest_make(selftest_scene *s) {
  if (!s->has_trace) selftest_trace(s);
  write_runtimes(s);
  write_bundle(s);
  write_evidence(s);
  run_campaign(s);
  write_report(s);
}

/* --- changing a package --------------------------------------------------------------------------
 */

char *selftest_path(selftest_scene *s, const char *file) {
  char *path = assay_path_join(s->package, file);
  need(s, path);
  return path;
}

static void copy_below(selftest_scene *s, const char *from, const char *to) {
  assay_names names = {0};
  make_folder(s, to);
  TRY(s, assay_folder_list(from, &names, err));
  for (size_t i = 0; i < names.n && !selftest_failed(s); i++) {
    char *a = assay_path_join(from, names.items[i]), *b = assay_path_join(to, names.items[i]);
    need(s, a);
    need(s, b);
    if (selftest_failed(s)) {
      /* said already */
    } else if (assay_path_kind_of(a) == ASSAY_PATH_FOLDER) {
      copy_below(s, a, b);
    } else {
      assay_buf bytes = {0};
      TRY(s, assay_file_read(a, (size_t)1 << 30, &bytes, err));
      write_file(s, to, names.items[i], bytes.data, bytes.size_bytes);
      assay_buf_reset(&bytes);
    }
    assay_free(a);
    assay_free(b);
  }
  assay_names_reset(&names);
}

void selftest_copy(selftest_scene *s, const selftest_scene *base) {
  copy_below(s, base->package, s->package);
}

void selftest_edit(selftest_scene *s, const char *file, const char *find, const char *with) {
  assay_buf text = {0};
  char *path = selftest_path(s, file);
  TRY(s, assay_file_read(path, (size_t)1 << 28, &text, err));
  selftest_replace(s, &text, find, with);
  if (!selftest_failed(s)) write_file(s, s->package, file, text.data, text.size_bytes);
  if (selftest_failed(s)) assay_error_in(&s->err, "%s", file);
  assay_buf_reset(&text);
  assay_free(path);
}

void selftest_remove(selftest_scene *s, const char *file) {
  char *path = selftest_path(s, file);
  if (path != NULL && assay_path_kind_of(path) == ASSAY_PATH_FOLDER)
    TRY(s, assay_folder_remove(path, err));
  else if (path != NULL)
    (void)remove(path);
  assay_free(path);
}

void selftest_edit_result(selftest_scene *s, assay_result_mode mode,
                          void (*change)(assay_result *result)) {
  assay_result result = {0};
  char *path = selftest_path(s, mode == ASSAY_RESULT_TIMING ? SELFTEST_TIMING "result.json"
                                                            : SELFTEST_PLACEMENT "result.json");
  TRY(s, assay_result_read(path, &result, err));
  if (!selftest_failed(s)) change(&result);
  TRY(s, assay_result_write(&result, path, err));
  assay_result_reset(&result);
  assay_free(path);
}

void selftest_edit_pairs(selftest_scene *s, void (*change)(assay_pairs *pairs)) {
  assay_pairs pairs = {0};
  TRY(s, assay_pairs_read(s->package, &pairs, err));
  if (selftest_failed(s)) return;
  change(&pairs);
  TRY(s, assay_pairs_write(&pairs, s->package, err));
  assay_pairs_reset(&pairs);
}

void selftest_merge(selftest_scene *s) {
  char one[320], two[320];
  const char *const paths[] = {one, two};
  snprintf(one, sizeof one, "%s/one", s->root);
  snprintf(two, sizeof two, "%s/two", s->root);
  copy_below(s, s->package, one);
  copy_below(s, s->package, two);
  TRY(s, assay_folder_remove(s->package, err));
  TRY(s, assay_merge_packages(paths, N_OF(paths), s->package, err));
}

/* The sums of the run's files into its result, where that can be read. */
static void relist(selftest_scene *s, const char *folder) {
  static const char *const skip[] = {"result.json"};
  assay_result result = {0};
  assay_tree tree = {0};
  char *below = selftest_path(s, folder);
  char *path = below != NULL ? assay_path_join(below, "result.json") : NULL;
  bool there = path != NULL && assay_result_read(path, &result, NULL) == ASSAY_OK;
  if (there) TRY(s, assay_tree_scan(below, skip, 1, &tree, err));
  for (size_t i = 0; i < result.n_files; i++) assay_free(result.files[i].file);
  assay_free(result.files);
  result.n_files = 0;
  result.files = assay_alloc_array(tree.n, sizeof *result.files);
  need(s, result.files);
  for (size_t i = 0; i < tree.n && !selftest_failed(s); i++) {
    assay_result_file *file = &result.files[result.n_files++];
    file->file = assay_strdup(tree.entries[i].file);
    need(s, file->file);
    memcpy(file->sha256, tree.entries[i].sha256, sizeof file->sha256);
    file->size_bytes = tree.entries[i].size_bytes;
  }
  if (there) TRY(s, assay_result_write(&result, path, err));
  assay_tree_reset(&tree);
  assay_result_reset(&result);
  assay_free(path);
  assay_free(below);
}

void selftest_edit_index(selftest_scene *s, void (*change)(assay_package *package)) {
  static const char *const skip[] = {ASSAY_PACKAGE_FILE};
  assay_package package = {0};
  TRY(s, assay_package_read(s->package, &package, err));
  if (selftest_failed(s)) return;
  assay_tree_reset(&package.files);
  TRY(s, assay_tree_scan(s->package, skip, 1, &package.files, err));
  TRY(s, assay_tree_sha256(&package.files, package.tree_sha256, err));
  if (change != NULL && !selftest_failed(s)) change(&package);
  TRY(s, assay_package_write(&package, s->package, err));
  assay_package_reset(&package);
}

void selftest_reseal(selftest_scene *s, bool with_report) {
  assay_package package = {0};
  TRY(s, assay_package_read(s->package, &package, err));
  for (size_t i = 0; i < package.n_runs; i++) relist(s, package.runs[i].folder);
  assay_package_reset(&package);
  selftest_edit_index(s, /*change=*/NULL);
  if (with_report) write_report(s);
}
