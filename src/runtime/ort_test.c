/* Tests of the runtime room on a real ONNX Runtime library ($ASSAY_ORT); skipped by name without
 * one. */
#include "runtime/ort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"

static assay_ort *ort;
static char log_lines[1 << 16];
static size_t n_log_lines;

static void keep_placements(void *arg, int severity, const char *category, const char *id,
                            const char *location, const char *message) {
  (void)arg, (void)severity, (void)category, (void)id, (void)location;
  ++n_log_lines;
  if (strstr(message, "laced on [") == NULL) return;
  size_t used = strlen(log_lines);
  snprintf(log_lines + used, sizeof log_lines - used, "%s\n", message);
}

static int open_ort(void **state) {
  (void)state;
  assay_error err = {0};
  assay_ort_options options = {.log = keep_placements, .log_severity = 2};
  if (assay_ort_open(getenv("ASSAY_ORT"), &options, &ort, &err) == ASSAY_OK) return 0;
  fprintf(stderr, "%s\n", err.text);
  return -1;
}

static int close_ort(void **state) {
  (void)state;
  assay_ort_close(ort);
  return 0;
}

static assay_ort_session_spec cpu_spec(const char *model) {
  return (assay_ort_session_spec){
      .model_path = model, .provider = "cpu", .graph_optimization_level = -1};
}

static assay_ort_session *session_of(const assay_ort_session_spec *spec) {
  assay_ort_session *session = NULL;
  assay_error err = {0};
  assay_status st = assay_ort_session_open(ort, spec, &session, &err);
  if (st) fail_msg("%s: %s", assay_status_name(st), err.text);
  return session;
}

static void assert_refused(const assay_ort_session_spec *spec, assay_status want,
                           const char *part) {
  assay_ort_session *session = NULL;
  assay_error err = {0};
  assay_status st = assay_ort_session_open(ort, spec, &session, &err);
  if (st != want || strstr(err.text, part) == NULL)
    fail_msg("%s '%s', expected %s '%s'", assay_status_name(st), err.text, assay_status_name(want),
             part);
  assert_null(session);
  assert_null(strstr(err.text, ".cc:")); /* no path of the build */
}

/* x [2,3,32] of a small ramp, under `name`. */
static void add_ramp(assay_tensor_map *map, const char *name) {
  assay_tensor t = {0};
  assert_int_equal(assay_tensor_init(&t, ASSAY_DTYPE_F32, 3, (const int64_t[]){2, 3, 32}, NULL),
                   ASSAY_OK);
  for (size_t i = 0; i < t.n_elems; ++i) assay_tensor_f32(&t)[i] = (float)(i % 17) / 16 - 0.5f;
  assert_int_equal(assay_tensor_map_add(map, name, &t, NULL), ASSAY_OK);
}

static void the_library_says_what_it_is(void **state) {
  (void)state;
  assert_true(assay_ort_api_level(ort) >= 16);
  assert_true(strncmp(assay_ort_version(ort), "1.", 2) == 0);
  assert_true(assay_ort_path(ort)[0] == '/');
  bool has_cpu = false;
  for (size_t i = 0; i < assay_ort_n_providers(ort); ++i)
    has_cpu = has_cpu || strcmp(assay_ort_provider(ort, i), "CPUExecutionProvider") == 0;
  assert_true(has_cpu);
  assert_string_equal(getenv("ORT_DISABLE_TELEMETRY"), "1");
}

static void inputs_and_outputs_are_described(void **state) {
  (void)state;
  assay_ort_session_spec spec = cpu_spec("testdata/mix17.onnx");
  assay_ort_session *s = session_of(&spec);
  assert_int_equal(assay_ort_session_n_inputs(s), 1);
  const assay_ort_value_info *x = assay_ort_session_input(s, 0);
  assert_string_equal(x->name, "x");
  assert_int_equal(x->dtype, ASSAY_DTYPE_F32);
  assert_int_equal(x->rank, 3);
  assert_true(x->dims[0] == -1 && x->dims[1] == -1 && x->dims[2] == 32);
  assert_int_equal(assay_ort_session_n_outputs(s), 4);
  assert_string_equal(assay_ort_session_output(s, 2)->name, "idx");
  assert_int_equal(assay_ort_session_output(s, 2)->dtype, ASSAY_DTYPE_I64);
  assay_ort_session_close(s);
}

static void a_call_gives_the_same_outputs_each_time(void **state) {
  (void)state;
  assay_ort_session_spec spec = cpu_spec("testdata/mix17.onnx");
  assay_ort_session *s = session_of(&spec);
  assay_tensor_map inputs = {0}, first = {0}, second = {0};
  add_ramp(&inputs, "x");
  assert_int_equal(assay_ort_session_run(s, NULL), ASSAY_E_ARGUMENT); /* nothing bound */
  assert_int_equal(assay_ort_session_copy_outputs(s, &first, NULL), ASSAY_E_ARGUMENT);
  assert_int_equal(assay_ort_session_bind(s, &inputs, NULL), ASSAY_OK);
  assert_int_equal(assay_ort_session_run(s, NULL), ASSAY_OK);
  assert_int_equal(assay_ort_session_copy_outputs(s, &first, NULL), ASSAY_OK);
  assert_int_equal(assay_ort_session_run(s, NULL), ASSAY_OK); /* without releasing the outputs */
  assert_int_equal(assay_ort_session_copy_outputs(s, &second, NULL), ASSAY_OK);
  assay_ort_session_release_outputs(s);
  assert_int_equal(first.n, 4);
  for (size_t i = 0; i < first.n; ++i) {
    const assay_tensor *a = &first.items[i].tensor, *b = &second.items[i].tensor;
    assert_true(assay_tensor_same_shape(a, b));
    assert_memory_equal(a->data, b->data, a->size_bytes);
  }
  const assay_tensor *probs = assay_tensor_map_find(&first, "probs");
  assert_int_equal(probs->n_elems, 2 * 3 * 32);
  float sum = 0;
  for (size_t i = 0; i < 32; ++i) sum += assay_tensor_f32(probs)[i];
  assert_true(sum > 0.999f && sum < 1.001f);
  assay_tensor_map_reset(&inputs);
  assay_tensor_map_reset(&first);
  assay_tensor_map_reset(&second);
  assay_ort_session_close(s);
}

/* ScatterElements add: large integers come through exactly. */
static void integers_stay_integers(void **state) {
  (void)state;
  assay_ort_session_spec spec = cpu_spec("testdata/scatter_add.onnx");
  assay_ort_session *s = session_of(&spec);
  int64_t d[3] = {(int64_t)1 << 62, -((int64_t)1 << 53) - 1, 0}, at[2] = {1, -1}, u[2] = {-1, 7};
  assay_tensor_map inputs = {0}, outputs = {0};
  assay_tensor t;
  const int64_t three[2] = {1, 3}, two[2] = {1, 2};
  assert_int_equal(assay_tensor_init_view(&t, ASSAY_DTYPE_I64, 2, three, d, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_map_add(&inputs, "d", &t, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_init_view(&t, ASSAY_DTYPE_I64, 2, two, at, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_map_add(&inputs, "i", &t, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_init_view(&t, ASSAY_DTYPE_I64, 2, two, u, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_map_add(&inputs, "u", &t, NULL), ASSAY_OK);
  assert_int_equal(assay_ort_session_bind(s, &inputs, NULL), ASSAY_OK);
  assert_int_equal(assay_ort_session_run(s, NULL), ASSAY_OK);
  assert_int_equal(assay_ort_session_copy_outputs(s, &outputs, NULL), ASSAY_OK);
  const int64_t want[3] = {(int64_t)1 << 62, -((int64_t)1 << 53) - 2, 7};
  assert_memory_equal(assay_tensor_i64(assay_tensor_map_find(&outputs, "y")), want, sizeof want);
  at[0] = 99; /* out of bounds: the memory is borrowed, so the next call sees it */
  assay_error err = {0};
  assert_int_equal(assay_ort_session_run(s, &err), ASSAY_E_RUNTIME);
  assert_non_null(strstr(err.text, "Name:'sc'"));
  assert_null(strstr(err.text, ".cc:"));
  assay_tensor_map_reset(&inputs);
  assay_tensor_map_reset(&outputs);
  assay_ort_session_close(s);
}

static void arrays_of_no_elements_are_bound(void **state) {
  (void)state;
  assay_ort_session_spec spec = cpu_spec("testdata/scatter_add.onnx");
  assay_ort_session *s = session_of(&spec);
  assay_tensor_map inputs = {0}, outputs = {0};
  const char *const names[3] = {"d", "i", "u"};
  for (size_t i = 0; i < 3; ++i) {
    assay_tensor t = {0};
    assert_int_equal(
        assay_tensor_init(&t, ASSAY_DTYPE_I64, 2, (const int64_t[]){1, i == 0 ? 2 : 0}, NULL),
        ASSAY_OK);
    assert_int_equal(assay_tensor_map_add(&inputs, names[i], &t, NULL), ASSAY_OK);
  }
  assert_int_equal(assay_ort_session_bind(s, &inputs, NULL), ASSAY_OK);
  assert_int_equal(assay_ort_session_run(s, NULL), ASSAY_OK);
  assert_int_equal(assay_ort_session_copy_outputs(s, &outputs, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_map_find(&outputs, "y")->n_elems, 2);
  assay_tensor_map_reset(&inputs);
  assay_tensor_map_reset(&outputs);
  assay_ort_session_close(s);
}

static void inputs_that_do_not_fit_are_named(void **state) {
  (void)state;
  assay_ort_session_spec spec = cpu_spec("testdata/mix17.onnx");
  assay_ort_session *s = session_of(&spec);
  const struct {
    const char *name;
    assay_dtype dtype;
    int rank;
    int64_t dims[3];
    const char *part;
  } cases[] = {
      {"y",
       ASSAY_DTYPE_F32,
       3,
       {1, 1, 32},
       "missing input 'x'; the model takes x float32 [?,?,32]; offered are y float32 [1,1,32]"},
      {"x", ASSAY_DTYPE_F64, 3, {1, 1, 32}, "input x float32 [?,?,32]: found float64 [1,1,32]"},
      {"x", ASSAY_DTYPE_F32, 2, {1, 32, 0}, "input x float32 [?,?,32]: found float32 [1,32]"},
      {"x", ASSAY_DTYPE_F32, 3, {1, 1, 31}, "found float32 [1,1,31]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    assay_tensor_map inputs = {0};
    assay_tensor t = {0};
    assay_error err = {0};
    assert_int_equal(assay_tensor_init(&t, cases[i].dtype, cases[i].rank, cases[i].dims, NULL),
                     ASSAY_OK);
    assert_int_equal(assay_tensor_map_add(&inputs, cases[i].name, &t, NULL), ASSAY_OK);
    assert_int_equal(assay_ort_session_bind(s, &inputs, &err), ASSAY_E_ARGUMENT);
    if (strstr(err.text, cases[i].part) == NULL) fail_msg("row %zu: '%s'", i, err.text);
    assay_tensor_map_reset(&inputs);
  }
  assay_tensor_map inputs = {0};
  assay_error err = {0};
  add_ramp(&inputs, "x");
  add_ramp(&inputs, "extra");
  assert_int_equal(assay_ort_session_bind(s, &inputs, &err), ASSAY_E_ARGUMENT);
  assert_non_null(strstr(err.text, "unknown input 'extra'"));
  assay_tensor_map_reset(&inputs);
  assay_ort_session_close(s);
}

static void models_that_the_runtime_refuses_keep_its_words(void **state) {
  (void)state;
  const struct {
    const char *model;
    assay_status status;
    const char *part;
  } cases[] = {
      {"testdata/opset99.onnx", ASSAY_E_RUNTIME, "refuses model"},
      {"testdata/unkop.onnx", ASSAY_E_RUNTIME, "is not a registered function/op"},
      {"testdata/README.md", ASSAY_E_RUNTIME, "Protobuf parsing failed"},
      {"testdata/nowhere.onnx", ASSAY_E_IO, "is not there"},
      {"testdata", ASSAY_E_IO, "is not there or is not a file"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    assay_ort_session_spec spec = cpu_spec(cases[i].model);
    assert_refused(&spec, cases[i].status, cases[i].part);
  }
  assay_ort_session_spec spec = cpu_spec("testdata/opset99.onnx");
  char version[64];
  snprintf(version, sizeof version, "ONNX Runtime %s refuses model", assay_ort_version(ort));
  assert_refused(&spec, ASSAY_E_RUNTIME, version);
}

static void providers_that_are_not_here_are_missing(void **state) {
  (void)state;
  assay_ort_session_spec spec = cpu_spec("testdata/mix17.onnx");
  static const char *const names[] = {"cuda", "CUDAExecutionProvider", "migraphx", "openvino",
                                      "dnnl"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    spec.provider = names[i];
    assert_refused(&spec, ASSAY_E_MISSING, "ExecutionProvider");
  }
  spec.provider = "migrafx";
  assert_refused(&spec, ASSAY_E_ARGUMENT, "did you mean 'migraphx'?");
  spec.provider = "cuda";
  spec.plugin_path = "/nowhere/plugin.so";
  bool has_plugins = assay_ort_api_level(ort) >= 22;
  assert_refused(&spec, ASSAY_E_MISSING, has_plugins ? "cannot be used with" : "1.22 or newer");
}

static void unusable_options_are_refused(void **state) {
  (void)state;
  const assay_ort_pair twice[2] = {{"a", "1"}, {"a", "2"}};
  const assay_ort_pair wide[1] = {{"batch", "-3"}};
  const assay_ort_pair one[1] = {{"device_id", "0"}};
  assay_ort_session_spec spec = cpu_spec("testdata/mix17.onnx");
  spec.config = twice;
  spec.n_config = 2;
  assert_refused(&spec, ASSAY_E_ARGUMENT, "session option 'a' is given twice");
  spec = cpu_spec("testdata/mix17.onnx");
  spec.free_dims = wide;
  spec.n_free_dims = 1;
  assert_refused(&spec, ASSAY_E_ARGUMENT, "free dimension 'batch'");
  spec = cpu_spec("testdata/mix17.onnx");
  spec.provider_options = one;
  spec.n_provider_options = 1;
  assert_refused(&spec, ASSAY_E_ARGUMENT, "the CPU provider takes no options");
  spec = cpu_spec("testdata/mix17.onnx");
  spec.graph_optimization_level = 7;
  assert_refused(&spec, ASSAY_E_ARGUMENT, "graph optimization level");
}

static void free_dimensions_become_numbers(void **state) {
  (void)state;
  const assay_ort_pair dims[2] = {{"seq", "3"}, {"batch", "2"}};
  assay_ort_session_spec spec = cpu_spec("testdata/mix17.onnx");
  spec.free_dims = dims;
  spec.n_free_dims = 2;
  spec.no_memory_arena = true;
  assay_ort_session *s = session_of(&spec);
  const assay_ort_value_info *x = assay_ort_session_input(s, 0);
  assert_true(x->dims[0] == 2 && x->dims[1] == 3);
  assay_ort_session_close(s);
}

static void a_verbose_profiled_session_leaves_its_evidence(void **state) {
  (void)state;
  char folder[] = "/tmp/assay-ort-test-XXXXXX";
  assert_non_null(mkdtemp(folder));
  char prefix[sizeof folder + 8];
  snprintf(prefix, sizeof prefix, "%s/p", folder);
  assay_ort_session_spec spec = cpu_spec("testdata/mix17.onnx");
  spec.profile_prefix = prefix;
  spec.verbose = true;
  log_lines[0] = '\0';
  assay_ort_session *s = session_of(&spec);
  assert_non_null(strstr(log_lines, "All nodes placed on [CPUExecutionProvider]"));
  assay_tensor_map inputs = {0};
  add_ramp(&inputs, "x");
  assert_int_equal(assay_ort_session_bind(s, &inputs, NULL), ASSAY_OK);
  assert_int_equal(assay_ort_session_run(s, NULL), ASSAY_OK);
  char *profile = NULL;
  assert_int_equal(assay_ort_session_end_profiling(s, &profile, NULL), ASSAY_OK);
  assay_buf bytes = {0};
  assert_int_equal(assay_file_read(profile, 1 << 20, &bytes, NULL), ASSAY_OK);
  assert_non_null(strstr(assay_buf_text(&bytes), "/fc1/MatMul_kernel_time"));
  assay_buf_reset(&bytes);
  assay_free(profile);
  assay_error err = {0};
  assert_int_equal(assay_ort_session_end_profiling(s, &profile, &err), ASSAY_E_RUNTIME);
  assert_non_null(strstr(err.text, "no profile"));
  assay_ort_session_close(s);
  spec.profile_prefix = "/nowhere/p";
  s = session_of(&spec);
  err = (assay_error){0};
  assert_int_equal(assay_ort_session_end_profiling(s, &profile, &err), ASSAY_E_MISSING);
  assert_non_null(strstr(err.text, "/nowhere/p"));
  assay_ort_session_close(s);
  assay_tensor_map_reset(&inputs);
  assert_int_equal(assay_folder_remove(folder, NULL), ASSAY_OK);
}

static void the_log_is_quiet_unless_asked(void **state) {
  (void)state;
  assay_ort_session_spec spec = cpu_spec("testdata/mix17.onnx");
  n_log_lines = 0;
  assay_ort_session *s = session_of(&spec);
  assay_ort_session_close(s);
  assert_int_equal(n_log_lines, 0);
}

int main(void) {
  const char *library = getenv("ASSAY_ORT");
  if (library == NULL || library[0] == '\0') {
    puts("skipped: no ONNX Runtime library; set ASSAY_ORT=/path/to/libonnxruntime.so");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_library_says_what_it_is),
      cmocka_unit_test(inputs_and_outputs_are_described),
      cmocka_unit_test(a_call_gives_the_same_outputs_each_time),
      cmocka_unit_test(integers_stay_integers),
      cmocka_unit_test(arrays_of_no_elements_are_bound),
      cmocka_unit_test(inputs_that_do_not_fit_are_named),
      cmocka_unit_test(models_that_the_runtime_refuses_keep_its_words),
      cmocka_unit_test(providers_that_are_not_here_are_missing),
      cmocka_unit_test(unusable_options_are_refused),
      cmocka_unit_test(free_dimensions_become_numbers),
      cmocka_unit_test(a_verbose_profiled_session_leaves_its_evidence),
      cmocka_unit_test(the_log_is_quiet_unless_asked),
  };
  return cmocka_run_group_tests(tests, open_ort, close_ort);
}
