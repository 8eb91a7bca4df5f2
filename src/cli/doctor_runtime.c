/* Runtimes, for 'assay doctor'. */
#include "cli/doctor_runtime.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "campaign/environment_rules.h"
#include "campaign/runtime_builtin.h"
#include "campaign/runtime_spec.h"
#include "campaign/session_plan.h"
#include "cli/cli.h"
#include "cli/doctor_ask.h"
#include "onnx/graph.h"
#include "runtime/find_library.h"
#include "runtime/ort.h"

#define TINY_OPSET 18
/* Some providers leave graphs without a large operation to the CPU: MIGraphX those without a
 * product of more than 300 elements. */
#define TINY_SIZE 32

extern char **environ;

/* --- as a file -----------------------------------------------------------------------------------
 */

assay_status assay_doctor_show(const char *name, assay_error *err) {
  assay_runtime_spec spec = {0};
  ASSAY_TRY(assay_runtime_spec_parse(name, &spec, err));
  assay_json_builder *b = assay_json_builder_create();
  assay_runtime_spec_put(&spec, b, NULL);
  const assay_status st = assay_cli_print_json(b, err);
  assay_runtime_spec_reset(&spec);
  return st;
}

/* --- in this process -----------------------------------------------------------------------------
 */

/* 2 I */
static void fill_twice_identity(float out[TINY_SIZE * TINY_SIZE]) {
  for (size_t i = 0; i < TINY_SIZE * TINY_SIZE; ++i) out[i] = i % (TINY_SIZE + 1) == 0 ? 2 : 0;
}

/* y = x w with a constant w = 2 I: XNNPACK has no product of two variables. */
static assay_status write_tiny_model(const char *path, assay_error *err) {
  static const assay_graph_dim dims[2] = {{.size = TINY_SIZE}, {.size = TINY_SIZE}};
  float weight[TINY_SIZE * TINY_SIZE];
  assay_graph *graph = NULL;
  ASSAY_TRY(assay_graph_create("tiny", TINY_OPSET, &graph, err));
  fill_twice_identity(weight);
  assay_value x = assay_graph_add_input(graph, "x", ASSAY_DTYPE_F32, 2, dims);
  assay_value w = assay_graph_add_initializer(graph, "w", ASSAY_DTYPE_F32, 2,
                                              (const int64_t[]){TINY_SIZE, TINY_SIZE}, weight);
  assay_value y =
      assay_graph_op_named(graph, "MatMul", "product", "y", (assay_value[]){x, w}, 2, NULL, 0);
  assay_graph_add_output(graph, y, ASSAY_DTYPE_F32, 2, dims);
  assay_status st = assay_graph_save(graph, path, err);
  assay_graph_destroy(graph);
  return st;
}

/* x = 2 I gives 4 I: exact in any precision. */
static assay_status check_tiny_output(const assay_ort_session *session, assay_error *err) {
  assay_tensor_map outputs = {0};
  assay_status st = assay_ort_session_copy_outputs(session, &outputs, err);
  const assay_tensor *y = st ? NULL : assay_tensor_map_find(&outputs, "y");
  if (!st && (y == NULL || y->dtype != ASSAY_DTYPE_F32 || y->n_elems != TINY_SIZE * TINY_SIZE))
    st = assay_fail(err, ASSAY_E_MISMATCH, "a matrix product gives another shape or type");
  for (size_t i = 0; !st && i < TINY_SIZE * TINY_SIZE; ++i) {
    float want = i % (TINY_SIZE + 1) == 0 ? 4.0f : 0.0f;
    if (!(assay_tensor_f32(y)[i] == want))
      st = assay_fail(err, ASSAY_E_MISMATCH, "a matrix product gives %g for %g",
                      (double)assay_tensor_f32(y)[i], (double)want);
  }
  assay_tensor_map_reset(&outputs);
  return st;
}

static assay_status run_tiny_session(assay_ort_session *session, assay_error *err) {
  float x[TINY_SIZE * TINY_SIZE];
  const int64_t dims[2] = {TINY_SIZE, TINY_SIZE};
  assay_tensor view;
  assay_tensor_map inputs = {0};
  fill_twice_identity(x);
  ASSAY_TRY(assay_tensor_init_view(&view, ASSAY_DTYPE_F32, 2, dims, x, err));
  assay_status st = assay_tensor_map_add(&inputs, "x", &view, err);
  if (!st) st = assay_ort_session_bind(session, &inputs, err);
  if (!st) st = assay_ort_session_run(session, err);
  if (!st) st = check_tiny_output(session, err);
  assay_tensor_map_reset(&inputs);
  return st;
}

static assay_status run_tiny_model(assay_ort *ort, const assay_runtime_spec *runtime,
                                   const char *folder, assay_error *err) {
  assay_session_plan plan = {0};
  assay_ort_session *session = NULL;
  char *path = assay_path_join(folder, "tiny.onnx");
  if (path == NULL) return assay_fail_memory(err, strlen(folder) + 16);
  assay_status st = assay_session_plan_init(runtime, &plan, err);
  plan.spec.model_path = path;
  if (!st) st = write_tiny_model(path, err);
  if (!st) st = assay_ort_session_open(ort, &plan.spec, &session, err);
  if (!st) st = run_tiny_session(session, err);
  assay_ort_session_close(session);
  assay_session_plan_reset(&plan);
  assay_free(path);
  return st;
}

/* Opens all that the runtime names; *out_ort may be set though it fails. */
static assay_status try_runtime(const assay_runtime_spec *runtime, assay_ort **out_ort,
                                assay_error *err) {
  char folder[4096], *library = NULL;
  ASSAY_TRY(assay_find_library(runtime->library, &library, err));
  assay_status st =
      assay_ort_preload((const char *const *)runtime->preload, runtime->n_preload, err);
  if (!st) st = assay_ort_open(library, /*options=*/NULL, out_ort, err);
  assay_free(library);
  if (st) return st;
  ASSAY_TRY(assay_doctor_open_folder(folder, sizeof folder, err));
  st = run_tiny_model(*out_ort, runtime, folder, err);
  assay_status removed = assay_folder_remove(folder, st ? NULL : err);
  return st ? st : removed;
}

static void put_report(const char *name, const assay_runtime_spec *runtime, const assay_ort *ort,
                       const char *reason, assay_json_builder *b) {
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "asked", name);
  assay_json_put_bool(b, "usable", reason == NULL);
  assay_json_put_string(b, "provider", runtime->provider);
  assay_json_put_string(b, "library", ort != NULL ? assay_ort_path(ort) : NULL);
  assay_json_put_string(b, "version", ort != NULL ? assay_ort_version(ort) : NULL);
  assay_json_put_string(b, "reason", reason);
  assay_json_end(b);
}

assay_status assay_doctor_probe_runtime(const char *name, assay_error *err) {
  assay_runtime_spec runtime = {0};
  assay_ort *ort = NULL;
  assay_error why = {0};
  ASSAY_TRY(assay_runtime_spec_parse(name, &runtime, err));
  bool usable = try_runtime(&runtime, &ort, &why) == ASSAY_OK;
  assay_json_builder *b = assay_json_builder_create();
  put_report(name, &runtime, ort, usable ? NULL : why.text, b);
  const assay_status st = assay_cli_print_json(b, err);
  assay_ort_close(ort);
  assay_runtime_spec_reset(&runtime);
  return st;
}

/* --- in a child ----------------------------------------------------------------------------------
 */

static assay_status ask(const char *self, const char *name, assay_json **out, assay_error *err) {
  assay_runtime_spec runtime = {0};
  char **env = NULL;
  ASSAY_TRY(assay_runtime_spec_parse(name, &runtime, err));
  assay_status st = assay_environment_check(&runtime, environ, err);
  if (!st) st = assay_settings_make_env(&runtime.env, &env, err);
  if (!st) st = assay_doctor_ask(self, "--probe-runtime", name, (const char *const *)env, out, err);
  assay_settings_free_env(env);
  assay_runtime_spec_reset(&runtime);
  return st;
}

assay_status assay_doctor_add_runtime(const char *self, const char *name, bool asked_for,
                                      assay_json_builder *b, bool *out_usable, assay_error *err) {
  assay_json *report = NULL;
  assay_status st = ask(self, name, &report, err);
  if (st) {
    assay_error_in(err, "runtime '%s'", name);
    return st;
  }
  *out_usable = assay_json_bool(assay_json_get(report, "usable"));
  const char *reason = assay_json_string(assay_json_get(report, "reason"));
  if (!*out_usable && asked_for)
    fprintf(stderr, "assay doctor: runtime '%s': %s\n", name,
            reason != NULL ? reason : "no reason given");
  assay_json_put_copy(b, NULL, report);
  assay_json_destroy(report);
  return ASSAY_OK;
}

/* One that cannot be read is no reason to be silent about the rest. */
static assay_status add_file(const char *self, const char *path, assay_json_builder *b,
                             assay_error *err) {
  assay_error why = {0};
  bool usable = false;
  assay_status st = assay_doctor_add_runtime(self, path, /*asked_for=*/false, b, &usable, &why);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  if (st) {
    const assay_runtime_spec unknown = {0};
    put_report(path, &unknown, NULL, why.text, b);
  }
  return ASSAY_OK;
}

assay_status assay_doctor_add_installed(const char *self, assay_json_builder *b, assay_error *err) {
  char *folder = NULL;
  assay_names names = {0};
  ASSAY_TRY(assay_find_in_deps("runtimes", &folder, err));
  assay_status st = ASSAY_OK;
  if (folder != NULL && assay_folder_list(folder, &names, NULL)) names = (assay_names){0};
  for (size_t i = 0; i < names.n && !st; ++i) {
    if (!assay_text_has_suffix(names.items[i], ".json")) continue;
    char *path = assay_path_join(folder, names.items[i]);
    st = path != NULL ? add_file(self, path, b, err) : assay_fail_memory(err, 256);
    assay_free(path);
  }
  assay_names_reset(&names);
  assay_free(folder);
  return st;
}

void assay_doctor_put_builtins(assay_json_builder *b, const char *key) {
  size_t n = 0;
  const assay_runtime_builtin *builtins = assay_runtime_builtins(&n);
  assay_json_begin_array(b, key);
  for (size_t i = 0; i < n; ++i) {
    assay_json_begin_object(b, NULL);
    assay_json_put_string(b, "name", builtins[i].name);
    assay_json_put_string(b, "summary", builtins[i].summary);
    assay_json_end(b);
  }
  assay_json_end(b);
}

/* --- for a person --------------------------------------------------------------------------------
 */

static const char *text_of(const assay_json *object, const char *key, const char *otherwise) {
  const char *text = assay_json_string(assay_json_get(object, key));
  return text != NULL && text[0] != '\0' ? text : otherwise;
}

static void print_one(const assay_json *runtime) {
  char asked[4096], text[2048], shown[2048];
  bool usable = assay_json_bool(assay_json_get(runtime, "usable"));
  assay_text_printable(text_of(runtime, "asked", "?"), asked, sizeof asked);
  if (usable)
    snprintf(text, sizeof text, "works with ONNX Runtime %.32s", text_of(runtime, "version", "?"));
  else
    snprintf(text, sizeof text, "cannot be used: %.1900s",
             text_of(runtime, "reason", "no reason given"));
  assay_text_printable(text, shown, sizeof shown);
  printf("\nRuntime '%s'\n  %-13s %s\n  %-13s %s\n", asked, "provider",
         text_of(runtime, "provider", "unavailable"), "session", shown);
}

void assay_doctor_print_runtimes(const assay_json *document) {
  const assay_json *runtimes = assay_json_get(document, "runtimes");
  const assay_json *builtins = assay_json_get(document, "builtin_runtimes");
  for (size_t i = 0; i < assay_json_len(runtimes); ++i) print_one(assay_json_at(runtimes, i));
  if (assay_json_len(builtins) > 0) puts("\nBuilt-in runtimes (--runtime NAME --show prints one)");
  for (size_t i = 0; i < assay_json_len(builtins); ++i) {
    const assay_json *one = assay_json_at(builtins, i);
    printf("  %-18s %s\n", text_of(one, "name", "?"), text_of(one, "summary", ""));
  }
}
