/* assay doctor: which ONNX Runtime libraries and runtimes are here, whether they really load and
 * run, and what the machine is. Each library is opened in a process of its own (this program again,
 * with
 * --probe-one), since one process opens one library and a damaged one may take its process with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "campaign/machine.h"
#include "cli/cli.h"
#include "cli/doctor_ask.h"
#include "cli/doctor_runtime.h"
#include "onnx/graph.h"
#include "reference/ref_mlpf.h"
#include "runtime/find_library.h"
#include "runtime/ort.h"

#define COMMAND       "doctor"
#define LIBRARIES_MAX 64
#define TINY_OPSET    18 /* the oldest that the graph builder writes; ORT knows it since 1.14 */
#define TINY_ELEMS    4

typedef struct doctor_args {
  const char *libraries[LIBRARIES_MAX];
  size_t n_libraries;
  const char *runtimes[LIBRARIES_MAX];
  size_t n_runtimes;
  const char *probe, *probe_runtime;
  bool show, json;
} doctor_args;

enum { KEY_LIBRARY = 0x100, KEY_RUNTIME, KEY_SHOW, KEY_JSON, KEY_PROBE, KEY_PROBE_RUNTIME };

static const struct argp_option options[] = {
    {"library", KEY_LIBRARY, "PATH", 0,
     "an ONNX Runtime library to look at (may be repeated); default: $ASSAY_ORT, deps/onnxruntime "
     "beside "
     "the program, and what the system's loader finds",
     0},
    {"runtime", KEY_RUNTIME, "RUNTIME", 0,
     "a runtime to try (may be repeated): built-in, a file, or one of deps/runtimes, which 'make "
     "providers' fills; default: all of those",
     0},
    {"show", KEY_SHOW, NULL, 0, "print the --runtime as a file to copy, and try nothing", 0},
    {"json", KEY_JSON, NULL, 0, "print one JSON document (schema assay/doctor/1)", 0},
    {"probe-one", KEY_PROBE, "PATH", OPTION_HIDDEN, "look at one library in this process", 0},
    {"probe-runtime", KEY_PROBE_RUNTIME, "NAME", OPTION_HIDDEN, "try one runtime in this process",
     0},
    {NULL, 0, NULL, 0, NULL, 0}};

static error_t parse(int key, char *value, struct argp_state *state) {
  doctor_args *args = state->input;
  switch (key) {
  case KEY_LIBRARY:
    if (*value == 0) return assay_cli_usage(state, "--library: expected a path, found nothing");
    if (args->n_libraries == LIBRARIES_MAX)
      return assay_cli_usage(state, "--library: at most %d are looked at", LIBRARIES_MAX);
    args->libraries[args->n_libraries++] = value;
    return 0;
  case KEY_RUNTIME:
    if (*value == 0) return assay_cli_usage(state, "--runtime: expected a name, found nothing");
    if (args->n_runtimes == LIBRARIES_MAX)
      return assay_cli_usage(state, "--runtime: at most %d are tried", LIBRARIES_MAX);
    args->runtimes[args->n_runtimes++] = value;
    return 0;
  case KEY_SHOW:
    args->show = true;
    return 0;
  case KEY_JSON:
    args->json = true;
    return 0;
  case KEY_PROBE:
    args->probe = value;
    return 0;
  case KEY_PROBE_RUNTIME:
    args->probe_runtime = value;
    return 0;
  case ARGP_KEY_END:
    if (args->show && (args->n_runtimes != 1 || args->n_libraries > 0 || args->json))
      return assay_cli_usage(state, "--show goes with one --runtime and nothing else");
    return 0;
  case ARGP_KEY_ARG:
    return assay_cli_usage(state, "expected no file, found '%s'; libraries go behind --library",
                           value);
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    options,
    parse,
    NULL,
    "Says which ONNX Runtime libraries are here, whether they load and can run a model, which "
    "providers they were built with (a list, not a promise: only a session shows that a provider "
    "works), which runtimes are here and whether a session of each can be had, and what the "
    "machine is.\v"
    "Exit status: 0 described; 3 a library or runtime that was asked for cannot be used, or there "
    "is no library.\n\n"
    "Examples:\n"
    "  assay doctor --library /opt/ort/lib/libonnxruntime.so\n"
    "  assay doctor --runtime cuda@/opt/ort/lib/libonnxruntime.so\n"
    "  assay doctor --runtime migraphx-heptv2 --show >mine.json",
    NULL,
    NULL,
    NULL};

/* --- one library, in this process ---------------------------------------------------------------
 */

/* y = x + 1 on four elements. */
static assay_status write_tiny_model(const char *path, assay_error *err) {
  static const assay_graph_dim dims[1] = {{.size = TINY_ELEMS}};
  assay_graph *graph = NULL;
  ASSAY_TRY(assay_graph_create("tiny", TINY_OPSET, &graph, err));
  assay_value x = assay_graph_add_input(graph, "x", ASSAY_DTYPE_F32, 1, dims);
  assay_value one = assay_graph_const_f32(graph, 1.0f);
  assay_value y =
      assay_graph_op_named(graph, "Add", "add", "y", (assay_value[]){x, one}, 2, NULL, 0);
  assay_graph_add_output(graph, y, ASSAY_DTYPE_F32, 1, dims);
  assay_status st = assay_graph_save(graph, path, err);
  assay_graph_destroy(graph);
  return st;
}

static assay_status check_tiny_output(const assay_ort_session *session, const float *x,
                                      assay_error *err) {
  assay_tensor_map outputs = {0};
  assay_status st = assay_ort_session_copy_outputs(session, &outputs, err);
  const assay_tensor *y = st ? NULL : assay_tensor_map_find(&outputs, "y");
  if (!st && (y == NULL || y->dtype != ASSAY_DTYPE_F32 || y->n_elems != TINY_ELEMS))
    st = assay_fail(err, ASSAY_E_MISMATCH, "a model of one addition gives another shape or type");
  for (size_t i = 0; !st && i < TINY_ELEMS; ++i)
    if (!(assay_tensor_f32(y)[i] == x[i] + 1.0f))
      st = assay_fail(err, ASSAY_E_MISMATCH, "%g + 1 gives %g", (double)x[i],
                      (double)assay_tensor_f32(y)[i]);
  assay_tensor_map_reset(&outputs);
  return st;
}

static assay_status run_tiny_session(assay_ort_session *session, assay_error *err) {
  static float x[TINY_ELEMS] = {0.0f, 1.5f, -2.25f, 1e6f};
  assay_tensor view;
  assay_tensor_map inputs = {0};
  ASSAY_TRY(
      assay_tensor_init_view(&view, ASSAY_DTYPE_F32, 1, (const int64_t[]){TINY_ELEMS}, x, err));
  assay_status st = assay_tensor_map_add(&inputs, "x", &view, err);
  if (!st) st = assay_ort_session_bind(session, &inputs, err);
  if (!st) st = assay_ort_session_run(session, err);
  if (!st) st = check_tiny_output(session, x, err);
  assay_tensor_map_reset(&inputs);
  return st;
}

static assay_status run_tiny_model(assay_ort *ort, const char *folder, assay_error *err) {
  char *path = assay_path_join(folder, "tiny.onnx");
  if (path == NULL) return assay_fail_memory(err, strlen(folder) + 16);
  assay_ort_session_spec spec = {.model_path = path, .graph_optimization_level = -1};
  assay_ort_session *session = NULL;
  assay_status st = write_tiny_model(path, err);
  if (!st) st = assay_ort_session_open(ort, &spec, &session, err);
  if (!st) st = run_tiny_session(session, err);
  assay_ort_session_close(session);
  assay_free(path);
  return st;
}

static assay_status try_cpu(assay_ort *ort, assay_error *err) {
  char folder[4096];
  ASSAY_TRY(assay_doctor_open_folder(folder, sizeof folder, err));
  assay_status st = run_tiny_model(ort, folder, err);
  assay_status removed = assay_folder_remove(folder, st ? NULL : err);
  return st ? st : removed;
}

static void put_providers(const assay_ort *ort, assay_json_builder *b) {
  assay_json_begin_array(b, "providers");
  for (size_t i = 0; i < assay_ort_n_providers(ort); ++i)
    assay_json_put_string(b, NULL, assay_ort_provider(ort, i));
  assay_json_end(b);
}

static void put_open_library(assay_ort *ort, assay_json_builder *b) {
  char sha256[ASSAY_SHA256_HEX_BYTES];
  assay_error err = {0};
  bool hashed = assay_sha256_file(assay_ort_path(ort), sha256, NULL, NULL) == ASSAY_OK;
  assay_json_put_string(b, "path", assay_ort_path(ort));
  assay_json_put_string(b, "sha256", hashed ? sha256 : NULL);
  assay_json_put_string(b, "version", assay_ort_version(ort));
  assay_json_put_string(b, "build", assay_ort_build_info(ort));
  assay_json_put_int(b, "api_level", assay_ort_api_level(ort));
  put_providers(ort, b);
  bool runs = try_cpu(ort, &err) == ASSAY_OK;
  assay_json_put_bool(b, "cpu_session", runs);
  assay_json_put_string(b, "reason", runs ? NULL : err.text);
}

/* What the library at path says of itself, as JSON on stdout; "usable" says whether it could be
 * opened. */
static int probe_one(const char *path) {
  assay_ort *ort = NULL;
  assay_error err = {0};
  assay_json_builder *b = assay_json_builder_create();
  bool usable = assay_ort_open(path, NULL, &ort, &err) == ASSAY_OK;
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "asked", path);
  assay_json_put_bool(b, "usable", usable);
  if (usable) put_open_library(ort, b);
  if (!usable) assay_json_put_string(b, "reason", err.text);
  assay_json_end(b);
  err = (assay_error){0};
  const assay_status st = assay_cli_print_json(b, &err);
  assay_ort_close(ort);
  return st ? assay_cli_fail(COMMAND, &err) : ASSAY_EXIT_DONE;
}

/* --- the machine --------------------------------------------------------------------------------
 */

/* Of the processor's features, those that numerical libraries choose their code by. */
static void pick_features(const char *all, char *out, size_t out_bytes) {
  static const char *const wanted[] = {
      "sse4_2",   "avx",      "fma",         "f16c",        "avx2",        "avx512f",
      "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni",
      "amx_tile", "amx_int8", "amx_bf16",    "asimd",       "asimdhp",     "asimddp",
      "sve",      "sve2",     "bf16",        "i8mm"};
  char padded[8192];
  snprintf(padded, sizeof padded, " %s ", all);
  out[0] = '\0';
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
    char word[32];
    snprintf(word, sizeof word, " %s ", wanted[i]);
    size_t used = strlen(out);
    if (strstr(padded, word) != NULL)
      snprintf(out + used, out_bytes - used, "%s%s", used > 0 ? " " : "", wanted[i]);
  }
}

static void put_line(assay_json_builder *b, const char *key, char *owned_line) {
  assay_json_put_string(b, key, owned_line);
  assay_free(owned_line);
}

static void put_features(assay_json_builder *b) {
  char picked[512];
  char *all = assay_machine_value("/proc/cpuinfo", "flags"); /* x86 */
  if (all == NULL || strcmp(all, "unavailable") == 0) {
    assay_free(all);
    all = assay_machine_value("/proc/cpuinfo", "Features"); /* Arm */
  }
  pick_features(all != NULL ? all : "", picked, sizeof picked);
  assay_json_put_string(b, "instructions", picked[0] != '\0' ? picked : "unavailable");
  assay_free(all);
}

static void put_machine(assay_json_builder *b, const char *key) {
  struct utsname name = {0};
  char evaluator[256], kernel[256];
  (void)uname(&name);
  snprintf(kernel, sizeof kernel, "%.64s %.128s", name.sysname, name.release);
  assay_ref_describe(evaluator, sizeof evaluator);
  assay_json_begin_object(b, key);
  put_line(b, "processor", assay_machine_value("/proc/cpuinfo", "model name"));
  assay_json_put_string(b, "architecture", name.machine);
  assay_json_put_int(b, "processors_online", sysconf(_SC_NPROCESSORS_ONLN));
  put_line(b, "processors_allowed", assay_machine_value("/proc/self/status", "Cpus_allowed_list"));
  put_features(b);
  put_line(b, "memory", assay_machine_value("/proc/meminfo", "MemTotal"));
  put_line(b, "governor",
           assay_machine_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  put_line(b, "system", assay_machine_value("/etc/os-release", "PRETTY_NAME"));
  assay_json_put_string(b, "kernel", kernel);
  assay_json_put_string(b, "evaluator", evaluator);
  assay_json_end(b);
}

/* --- all of it ----------------------------------------------------------------------------------
 */

/* Adds the report on one library, and says on stderr when it was asked for and cannot be used. */
static assay_status add_library(assay_json_builder *b, const char *self, const char *library,
                                bool asked_for, bool *out_usable, assay_error *err) {
  assay_json *report = NULL;
  ASSAY_TRY(assay_doctor_ask(self, "--probe-one", library, /*env=*/NULL, &report, err));
  *out_usable = assay_json_bool(assay_json_get(report, "usable"));
  if (!*out_usable && asked_for) {
    const char *reason = assay_json_string(assay_json_get(report, "reason"));
    fprintf(stderr, "assay doctor: %s\n", reason != NULL ? reason : "no reason given");
  }
  assay_json_put_copy(b, NULL, report);
  assay_json_destroy(report);
  return ASSAY_OK;
}

/* The libraries to look at: those named, or all that are found; none where runtimes are named. */
static assay_status list_libraries(const doctor_args *args, assay_names *out, assay_error *err) {
  if (args->n_libraries == 0 && args->n_runtimes > 0) return ASSAY_OK;
  if (args->n_libraries == 0) return assay_find_libraries(out, err);
  out->items = assay_alloc_array(args->n_libraries, sizeof *out->items);
  if (out->items == NULL) return assay_fail_memory(err, sizeof *out->items);
  for (size_t i = 0; i < args->n_libraries; ++i) {
    out->items[out->n] = assay_strdup(args->libraries[i]);
    if (out->items[out->n] == NULL) return assay_fail_memory(err, strlen(args->libraries[i]) + 1);
    ++out->n;
  }
  return ASSAY_OK;
}

/* The runtimes that are named; without any, those that are installed. */
static assay_status examine_runtimes(const doctor_args *args, const char *self,
                                     assay_json_builder *b, bool *out_missing, assay_error *err) {
  bool all = args->n_runtimes == 0 && args->n_libraries == 0;
  assay_json_begin_array(b, "runtimes");
  assay_status st = all ? assay_doctor_add_installed(self, b, err) : ASSAY_OK;
  for (size_t i = 0; !st && i < args->n_runtimes; ++i) {
    bool usable = false;
    st = assay_doctor_add_runtime(self, args->runtimes[i], /*asked_for=*/true, b, &usable, err);
    if (!usable) *out_missing = true;
  }
  assay_json_end(b);
  if (all) assay_doctor_put_builtins(b, "builtin_runtimes");
  return st;
}

/* The document, and whether everything that was asked for is there. */
static assay_status examine(const doctor_args *args, const assay_names *libraries,
                            assay_json_builder *b, bool *out_missing, assay_error *err) {
  const char *chosen = getenv("ASSAY_ORT");
  bool has_choice = chosen != NULL && chosen[0] != '\0';
  char *self = NULL;
  size_t n_usable = 0;
  ASSAY_TRY(assay_child_self_path(&self, err));
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "schema", "assay/doctor/1");
  put_machine(b, "machine");
  assay_json_begin_array(b, "libraries");
  assay_status st = ASSAY_OK;
  for (size_t i = 0; !st && i < libraries->n; ++i) {
    bool asked_for = args->n_libraries > 0 || (has_choice && i == 0);
    bool usable = false;
    st = add_library(b, self, libraries->items[i], asked_for, &usable, err);
    n_usable += usable;
    if (asked_for && !usable) *out_missing = true;
  }
  assay_json_end(b);
  if (!st) st = examine_runtimes(args, self, b, out_missing, err);
  assay_json_end(b);
  if (!st && n_usable == 0 && args->n_runtimes == 0) *out_missing = true;
  assay_free(self);
  return st;
}

static const char *text_of(const assay_json *object, const char *key) {
  const char *text = assay_json_string(assay_json_get(object, key));
  return text != NULL && text[0] != '\0' ? text : "unavailable";
}

static void print_field(const char *name, const char *text) {
  char shown[1024];
  assay_text_printable(text, shown, sizeof shown);
  printf("  %-13s %s\n", name, shown);
}

static void print_library(const assay_json *library) {
  char path[4096], providers[1024] = "";
  bool usable = assay_json_bool(assay_json_get(library, "usable"));
  assay_text_printable(text_of(library, usable ? "path" : "asked"), path, sizeof path);
  if (!usable) {
    printf("\nONNX Runtime '%s'\n", path);
    print_field("cannot be used", text_of(library, "reason"));
    return;
  }
  const assay_json *names = assay_json_get(library, "providers");
  for (size_t i = 0; i < assay_json_len(names); ++i) {
    size_t used = strlen(providers);
    snprintf(providers + used, sizeof providers - used, "%s%s", i > 0 ? ", " : "",
             assay_json_string(assay_json_at(names, i)));
  }
  char level[32];
  snprintf(level, sizeof level, "%lld",
           (long long)assay_json_int(assay_json_get(library, "api_level")));
  bool runs = assay_json_bool(assay_json_get(library, "cpu_session"));
  printf("\nONNX Runtime %s '%s'\n", text_of(library, "version"), path);
  print_field("sha256", text_of(library, "sha256"));
  print_field("build", text_of(library, "build"));
  print_field("C API", level);
  print_field("providers", providers);
  print_field("CPU session", runs ? "works" : text_of(library, "reason"));
}

static void print_machine(const assay_json *machine) {
  char processor[512];
  snprintf(processor, sizeof processor, "%.300s, %lld online, %.100s allowed",
           text_of(machine, "processor"),
           (long long)assay_json_int(assay_json_get(machine, "processors_online")),
           text_of(machine, "processors_allowed"));
  puts("Machine");
  print_field("processor", processor);
  print_field("instructions", text_of(machine, "instructions"));
  print_field("memory", text_of(machine, "memory"));
  print_field("governor", text_of(machine, "governor"));
  print_field("system", text_of(machine, "system"));
  print_field("kernel", text_of(machine, "kernel"));
  print_field("evaluator", text_of(machine, "evaluator"));
}

static assay_status print_document(const assay_buf *text, bool json, assay_error *err) {
  if (json) {
    fputs(assay_buf_text(text), stdout);
    return ASSAY_OK;
  }
  assay_json *root = NULL;
  ASSAY_TRY(assay_json_parse(text->data, text->size_bytes, &root, err));
  print_machine(assay_json_get(root, "machine"));
  const assay_json *libraries = assay_json_get(root, "libraries");
  for (size_t i = 0; i < assay_json_len(libraries); ++i) print_library(assay_json_at(libraries, i));
  assay_doctor_print_runtimes(root);
  assay_json_destroy(root);
  return ASSAY_OK;
}

/* Says where a library was looked for, when there is none at all. */
static void say_none(void) {
  assay_error err = {0};
  char *path = NULL;
  if (assay_find_library(NULL, &path, &err)) fprintf(stderr, "assay doctor: %s\n", err.text);
  assay_free(path);
}

int assay_cmd_doctor(int argc, char **argv) {
  doctor_args args = {0};
  assay_error err = {0};
  int exit_status = ASSAY_EXIT_DONE;
  if (!assay_cli_parse(COMMAND, &argp, argc, argv, &args, &exit_status)) return exit_status;
  if (args.probe != NULL) return probe_one(args.probe);
  exit_status = ASSAY_EXIT_DONE;
  if (args.show || args.probe_runtime != NULL) {
    assay_status said = args.show ? assay_doctor_show(args.runtimes[0], &err)
                                  : assay_doctor_probe_runtime(args.probe_runtime, &err);
    return said ? assay_cli_fail(COMMAND, &err) : ASSAY_EXIT_DONE;
  }
  assay_names libraries = {0};
  assay_json_builder *b = assay_json_builder_create();
  assay_buf text = {0};
  bool missing = false;
  assay_status st = list_libraries(&args, &libraries, &err);
  if (!st) st = examine(&args, &libraries, b, &missing, &err);
  if (!st) st = assay_json_builder_finish(b, &text, &err);
  if (!st) st = print_document(&text, args.json, &err);
  if (!st && libraries.n == 0 && args.n_runtimes == 0) say_none();
  if (!st && missing) exit_status = ASSAY_EXIT_MISSING;
  if (st) exit_status = assay_cli_fail(COMMAND, &err);
  assay_names_reset(&libraries);
  assay_json_builder_destroy(b);
  assay_buf_reset(&text);
  return exit_status;
}
