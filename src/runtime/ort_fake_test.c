/* Tests of the runtime room on a library that fails as told (testdata/fake_ort.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/test_folder.h"
#include "runtime/ort.h"

static test_folder folder;
static char model[1024], journal[1024];

static int set_up(void **state) {
  (void)state;
  test_folder_open(&folder);
  snprintf(model, sizeof model, "%s", test_folder_file(&folder, "model.onnx"));
  snprintf(journal, sizeof journal, "%s", test_folder_file(&folder, "journal"));
  return assay_file_write(model, "x", 1, NULL) ? -1 : setenv("FAKE_ORT_JOURNAL", journal, 1);
}

static int tear_down(void **state) {
  (void)state;
  test_folder_close(&folder);
  return 0;
}

/* Each test begins with a fake that does all it is asked. */
static int forget(void **state) {
  (void)state;
  static const char *const names[] = {"FAKE_ORT_VERSION", "FAKE_ORT_NO_API", "FAKE_ORT_PROVIDERS",
                                      "FAKE_ORT_REFUSE",  "FAKE_ORT_WORDS",  "FAKE_ORT_OUTPUT",
                                      "FAKE_ORT_PROFILE", "FAKE_ORT_LOGGED"};
  for (size_t i = 0; i < N_OF(names); ++i) unsetenv(names[i]);
  remove(journal);
  return 0;
}

static assay_ort *open_fake(void) {
  assay_ort *ort = NULL;
  assay_error err = {0};
  if (assay_ort_open(TEST_LIBRARY, NULL, &ort, &err)) fail_msg("%s", err.text);
  return ort;
}

static void assert_error(assay_status st, const assay_error *err, assay_status want,
                         const char *part) {
  if (st != want || strstr(err->text, part) == NULL)
    fail_msg("%s '%s', expected %s '%s'", assay_status_name(st), err->text, assay_status_name(want),
             part);
}

static void assert_not_opened(const char *path, assay_status want, const char *part) {
  assay_ort *ort = NULL;
  assay_error err = {0};
  assay_status st = assay_ort_open(path, NULL, &ort, &err);
  assert_error(st, &err, want, part);
  assert_null(ort);
}

static void libraries_that_are_not_ours_are_refused(void **state) {
  (void)state;
  assert_not_opened("/nowhere/libonnxruntime.so", ASSAY_E_MISSING, "is not there");
  assert_not_opened("/tmp", ASSAY_E_MISSING, "is not a file");
  assert_not_opened(TEST_NOT_ORT, ASSAY_E_MISSING, "is not ONNX Runtime: it has no OrtGetApiBase");
  assert_not_opened("libm.so.6", ASSAY_E_MISSING, "is not ONNX Runtime");
  assert_not_opened("libnobody.so.7", ASSAY_E_MISSING,
                    "cannot be loaded: cannot open shared object");
  assert_not_opened(model, ASSAY_E_MISSING, "it does not begin as an ELF file");
}

static void versions_are_checked_before_anything_is_called(void **state) {
  (void)state;
  const struct {
    const char *version, *part;
    assay_status status;
  } cases[] = {
      {"1.15.1", "is ONNX Runtime 1.15.1; assay works with 1.16 and newer", ASSAY_E_UNSUPPORTED},
      {"2.0.0", "is ONNX Runtime 2.0.0", ASSAY_E_UNSUPPORTED},
      {"", "it calls its version ''", ASSAY_E_MISSING},
      {"newest", "it calls its version 'newest'", ASSAY_E_MISSING},
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    setenv("FAKE_ORT_VERSION", cases[i].version, 1);
    assert_not_opened(TEST_LIBRARY, cases[i].status, cases[i].part);
  }
  setenv("FAKE_ORT_VERSION", "1.40.0", 1);
  setenv("FAKE_ORT_NO_API", "1", 1);
  assert_not_opened(TEST_LIBRARY, ASSAY_E_RUNTIME, "does not give version 24 of its C API");
}

static void the_newest_table_that_both_know_is_asked_for(void **state) {
  (void)state;
  const struct {
    const char *version;
    uint32_t level;
  } cases[] = {{"1.16.0", 16}, {"1.20.1", 20}, {"1.23.2", 23}, {"1.99.0", 24}};
  for (size_t i = 0; i < N_OF(cases); ++i) {
    setenv("FAKE_ORT_VERSION", cases[i].version, 1);
    assay_ort *ort = open_fake();
    assert_int_equal(assay_ort_api_level(ort), cases[i].level);
    assert_string_equal(assay_ort_version(ort), cases[i].version);
    assert_string_equal(assay_ort_build_info(ort), "fake build");
    assert_string_equal(assay_ort_path(ort), TEST_LIBRARY);
    assay_ort_close(ort);
  }
}

static void count_log(void *arg, int severity, const char *category, const char *id,
                      const char *location, const char *message) {
  (void)severity, (void)category, (void)id, (void)location;
  *(size_t *)arg += strcmp(message, "hello") == 0;
}

static void the_log_reaches_its_reader(void **state) {
  (void)state;
  size_t n = 0;
  assay_ort *ort = NULL;
  assay_ort_options options = {.log = count_log, .log_arg = &n, .log_severity = 2};
  assert_int_equal(assay_ort_open(TEST_LIBRARY, &options, &ort, NULL), ASSAY_OK);
  assay_ort_close(ort);
  assert_int_equal(n, 1);
}

static void refusals_keep_the_words(void **state) {
  (void)state;
  setenv("FAKE_ORT_WORDS", "/src/a.cc:1 ns::f(int) because\nof this", 1);
  setenv("FAKE_ORT_REFUSE", "CreateEnv", 1);
  assert_not_opened(TEST_LIBRARY, ASSAY_E_RUNTIME, "CreateEnv: because");
  setenv("FAKE_ORT_REFUSE", "GetAvailableProviders", 1);
  assert_not_opened(TEST_LIBRARY, ASSAY_E_RUNTIME, "because");
  unsetenv("FAKE_ORT_REFUSE");
  assay_ort *ort = open_fake();
  static const char *const calls[] = {"CreateSession", "CreateSessionOptions",
                                      "SetSessionExecutionMode", "GetTypeInfo"};
  for (size_t i = 0; i < N_OF(calls); ++i) {
    setenv("FAKE_ORT_REFUSE", calls[i], 1);
    assay_ort_session_spec spec = {.model_path = model};
    assay_ort_session *session = NULL;
    assay_error err = {0};
    assay_status st = assay_ort_session_open(ort, &spec, &session, &err);
    assert_error(st, &err, ASSAY_E_RUNTIME, "because");
    assert_null(strstr(err.text, "a.cc"));
  }
  assay_ort_close(ort);
}

/* What a session on the provider did, as the fake noted it. */
static const char *journal_of(assay_ort *ort, const assay_ort_session_spec *spec, assay_status want,
                              const char *part) {
  static assay_buf text;
  remove(journal);
  assay_ort_session *session = NULL;
  assay_error err = {0};
  assay_status st = assay_ort_session_open(ort, spec, &session, &err);
  assert_error(st, &err, want, part);
  assay_ort_session_close(session);
  assay_buf_reset(&text);
  if (assay_file_read(journal, 1 << 16, &text, NULL)) return "";
  return assay_buf_text(&text);
}

static void each_provider_is_appended_by_its_own_call(void **state) {
  (void)state;
  setenv("FAKE_ORT_PROVIDERS",
         "CUDAExecutionProvider,MIGraphXExecutionProvider,OpenVINOExecutionProvider,"
         "BrandNewExecutionProvider,CPUExecutionProvider",
         1);
  assay_ort *ort = open_fake();
  const assay_ort_pair options[2] = {{"device_id", "0"}, {"use_tf32", "0"}};
  const char fallback[] = "Config session.disable_cpu_ep_fallback 1\n";
  const struct {
    const char *provider, *calls;
  } cases[] = {
      {"cuda",
       "UpdateCUDA  \n  option device_id 0\n  option use_tf32 0\nAppendCUDA  \nReleaseCUDA  \n"},
      {"MIGraphX", "Generic MIGraphX \nAppend  \n  option device_id 0\n  option use_tf32 0\n"},
      {"openvino", "OpenVINO_V2  \n  option device_id 0\n  option use_tf32 0\n"},
      {"BrandNewExecutionProvider",
       "Generic BrandNewExecutionProvider \nAppend  \n  option device_id 0\n  option use_tf32 0\n"},
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    assay_ort_session_spec spec = {.model_path = model,
                                   .provider = cases[i].provider,
                                   .provider_options = options,
                                   .n_provider_options = 2};
    char want[512];
    snprintf(want, sizeof want, "%s%s", fallback, cases[i].calls);
    assert_string_equal(journal_of(ort, &spec, ASSAY_OK, ""), want);
  }
  assay_ort_session_spec spec = {.model_path = model, .provider = "webgpu"};
  journal_of(ort, &spec, ASSAY_E_MISSING,
             "WebGpuExecutionProvider is not in this library (ONNX Runtime 1.40.0 has CUDA");
  spec.provider = "cpu";
  assert_string_equal(journal_of(ort, &spec, ASSAY_OK, ""),
                      ""); /* implicit, and no fallback to refuse */
  assay_ort_close(ort);
}

static void a_provider_that_cannot_start_is_missing(void **state) {
  (void)state;
  setenv("FAKE_ORT_PROVIDERS", "CUDAExecutionProvider,CPUExecutionProvider", 1);
  assay_ort *ort = open_fake();
  assay_ort_session_spec spec = {.model_path = model, .provider = "cuda"};
  setenv("FAKE_ORT_REFUSE", "AppendCUDA", 1);
  setenv("FAKE_ORT_WORDS", "Failed to load library x.so with error: y", 1);
  const char *calls = journal_of(ort, &spec, ASSAY_E_MISSING,
                                 "CUDAExecutionProvider cannot be used with ONNX Runtime 1.40.0: "
                                 "Failed to load library x.so");
  assert_non_null(strstr(calls, "ReleaseCUDA"));
  setenv("FAKE_ORT_REFUSE", "CreateSession", 1);
  setenv("FAKE_ORT_WORDS",
         "CUDA failure 100: no CUDA-capable device is detected ; GPU=0 ; hostname=h", 1);
  journal_of(ort, &spec, ASSAY_E_MISSING, "no CUDA-capable device is detected ; GPU=0");
  setenv("FAKE_ORT_WORDS", "nodes are assigned to the default CPU EP", 1);
  journal_of(ort, &spec, ASSAY_E_RUNTIME, "refuses model");
  assay_ort_close(ort);
}

/* CUDA's own words are "Failed to load shared library": the loader's are in the log. */
static void a_bare_refusal_gives_the_reason_that_was_logged(void **state) {
  (void)state;
  const struct {
    const char *words, *logged, *want;
  } cases[] = {
      {"OrtAppend_Cuda: Failed to load shared library",
       "/src/a.cc:1 ns::Get() [ONNXRuntimeError] : 1 : FAIL : Failed to load library p.so with "
       "error: libcublasLt.so.13: cannot open shared object file",
       "1.40.0: Failed to load library p.so with error: libcublasLt.so.13: cannot open"},
      {"OrtAppend_Cuda: Failed to load shared library", "something else",
       "1.40.0: OrtAppend_Cuda: Failed to load shared library"},
      {"Failed to load library q.so with error: r", "Failed to load library p.so with error: x",
       "1.40.0: Failed to load library q.so with error: r"},
  };
  setenv("FAKE_ORT_PROVIDERS", "CUDAExecutionProvider,CPUExecutionProvider", 1);
  assay_ort *ort = open_fake();
  assay_ort_session_spec spec = {.model_path = model, .provider = "cuda"};
  setenv("FAKE_ORT_REFUSE", "AppendCUDA", 1);
  for (size_t i = 0; i < N_OF(cases); ++i) {
    setenv("FAKE_ORT_WORDS", cases[i].words, 1);
    setenv("FAKE_ORT_LOGGED", cases[i].logged, 1);
    journal_of(ort, &spec, ASSAY_E_MISSING, cases[i].want);
  }
  assay_ort_close(ort);
}

static void options_without_effect_are_refused(void **state) {
  (void)state;
  const struct {
    const char *provider, *key;
    bool takes;
  } cases[] = {{"cpu", "a", false},
               {NULL, "a", false},
               {"CPUExecutionProvider", "", false},
               {"xnnpack", "intra_op_num_threads", true},
               {"XnnpackExecutionProvider", "intra_op_num_thread", false},
               {"xnnpack", "", false},
               {"cuda", "anything", true},
               {"MyExecutionProvider", "anything", true}};
  for (size_t i = 0; i < N_OF(cases); ++i)
    if (assay_ort_provider_takes(cases[i].provider, cases[i].key) != cases[i].takes)
      fail_msg("%s %s", cases[i].provider, cases[i].key);
  setenv("FAKE_ORT_PROVIDERS", "XnnpackExecutionProvider,CPUExecutionProvider", 1);
  assay_ort *ort = open_fake();
  const assay_ort_pair options[1] = {{"threads", "2"}};
  assay_ort_session_spec spec = {.model_path = model,
                                 .provider = "xnnpack",
                                 .provider_options = options,
                                 .n_provider_options = 1};
  journal_of(ort, &spec, ASSAY_E_ARGUMENT, "no option 'threads'");
  assay_ort_close(ort);
}

static void deterministic_kernels_are_asked_for_where_there_are_such(void **state) {
  (void)state;
  assay_ort *ort = open_fake();
  assay_ort_session_spec spec = {.model_path = model, .deterministic = true};
  assert_string_equal(journal_of(ort, &spec, ASSAY_OK, ""), "Deterministic 1 \n");
  assay_ort_close(ort);
  setenv("FAKE_ORT_VERSION", "1.16.3", 1);
  ort = open_fake();
  journal_of(ort, &spec, ASSAY_E_ARGUMENT, "need ONNX Runtime 1.17 or newer, this is 1.16.3");
  assay_ort_close(ort);
}

static void libraries_are_loaded_ahead_in_order(void **state) {
  (void)state;
  const char *const good[] = {TEST_NOT_ORT, "libm.so.6"};
  const char *const bad[] = {TEST_NOT_ORT, "/nowhere/libcudart.so.13"};
  assay_error err = {0};
  assert_int_equal(assay_ort_preload(good, 2, &err), ASSAY_OK);
  assert_int_equal(assay_ort_preload(NULL, 0, &err), ASSAY_OK);
  assay_status st = assay_ort_preload(bad, 2, &err);
  assert_error(st, &err, ASSAY_E_MISSING, "library to load ahead: '/nowhere/libcudart.so.13'");
}

static void plugins_bring_their_providers(void **state) {
  (void)state;
  assay_ort *ort = open_fake();
  assay_ort_session_spec spec = {
      .model_path = model, .provider = "FakeExecutionProvider", .plugin_path = "/opt/fake.so"};
  const char *calls = journal_of(ort, &spec, ASSAY_OK, "");
  assert_non_null(strstr(calls, "Register FakeExecutionProvider /opt/fake.so\n"));
  assert_non_null(strstr(calls, "Append_V2 FakeExecutionProvider"));
  spec.provider = "webgpu";
  journal_of(ort, &spec, ASSAY_E_MISSING,
             "offers no device for WebGpuExecutionProvider on this machine (the runtime has: "
             "CPUExecutionProvider on Nobody, FakeExecutionProvider on Nobody)");
  setenv("FAKE_ORT_REFUSE", "Register", 1);
  journal_of(ort, &spec, ASSAY_E_MISSING, "cannot be used");
  assay_ort_close(ort);
  setenv("FAKE_ORT_VERSION", "1.21.0", 1);
  ort = open_fake();
  journal_of(ort, &spec, ASSAY_E_MISSING,
             "plug-in providers need ONNX Runtime 1.22 or newer, this is 1.21.0");
  assay_ort_close(ort);
}

static void the_users_own_fallback_setting_stands(void **state) {
  (void)state;
  setenv("FAKE_ORT_PROVIDERS", "CUDAExecutionProvider", 1);
  assay_ort *ort = open_fake();
  const assay_ort_pair config[1] = {{"session.disable_cpu_ep_fallback", "0"}};
  const assay_ort_pair dims[1] = {{"N", "100"}};
  assay_ort_session_spec spec = {.model_path = model,
                                 .provider = "cuda",
                                 .config = config,
                                 .n_config = 1,
                                 .free_dims = dims,
                                 .n_free_dims = 1,
                                 .profile_prefix = "/p",
                                 .no_memory_arena = true};
  const char *calls = journal_of(ort, &spec, ASSAY_OK, "");
  assert_non_null(strstr(calls, "Config session.disable_cpu_ep_fallback 0\n"));
  assert_null(strstr(calls, "fallback 1"));
  assert_non_null(strstr(calls, "FreeDimension N 100\n"));
  assert_non_null(strstr(calls, "EnableProfiling /p"));
  assert_non_null(strstr(calls, "DisableCpuMemArena"));
  assay_ort_close(ort);
}

static void options_are_put_in_a_fixed_order(void **state) {
  (void)state;
  const assay_ort_pair a[2] = {{"b", "2"}, {"a", "1"}}, b[2] = {{"a", "1"}, {"b", "2"}};
  const char want[] =
      "{\n  \"options\": {\n    \"provider\": \"CUDAExecutionProvider\",\n"
      "    \"provider_options\": {\n      \"a\": \"1\",\n      \"b\": \"2\"\n    },\n"
      "    \"plugin_path\": null,\n    \"intra_threads\": 1,\n"
      "    \"inter_threads\": 1,\n    \"execution_mode\": \"sequential\",\n"
      "    \"graph_optimization_level\": 99,\n    \"memory_arena\": true,\n"
      "    \"deterministic\": false,\n"
      "    \"config\": {\n      \"a\": \"1\",\n      \"b\": \"2\",\n"
      "      \"session.disable_cpu_ep_fallback\": \"1\"\n    },\n"
      "    \"free_dims\": {}\n  }\n}\n";
  for (int i = 0; i < 2; ++i) {
    assay_ort_session_spec spec = {.provider = i == 0 ? "cuda" : "CUDAExecutionProvider",
                                   .provider_options = i == 0 ? a : b,
                                   .n_provider_options = 2,
                                   .config = i == 0 ? b : a,
                                   .n_config = 2,
                                   .intra_threads = i,
                                   .graph_optimization_level = -1,
                                   .profile_prefix = i == 0 ? "p" : NULL, /* not part of it */
                                   .verbose = i == 0};
    assay_json_builder *builder = assay_json_builder_create();
    assay_buf text = {0};
    assay_json_begin_object(builder, NULL);
    assay_ort_session_put_options(&spec, builder, "options");
    assay_json_end(builder);
    assert_int_equal(assay_json_builder_finish(builder, &text, NULL), ASSAY_OK);
    assert_string_equal(assay_buf_text(&text), want);
    assay_buf_reset(&text);
    assay_json_builder_destroy(builder);
  }
}

static void outputs_that_cannot_be_held_are_refused(void **state) {
  (void)state;
  assay_ort *ort = open_fake();
  assay_ort_session_spec spec = {.model_path = model};
  assay_ort_session *s = NULL;
  assert_int_equal(assay_ort_session_open(ort, &spec, &s, NULL), ASSAY_OK);
  float x[2] = {1, 2};
  assay_tensor t;
  assay_tensor_map inputs = {0};
  const int64_t dims[1] = {2};
  assert_int_equal(assay_tensor_init_view(&t, ASSAY_DTYPE_F32, 1, dims, x, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_map_add(&inputs, "x", &t, NULL), ASSAY_OK);
  assert_int_equal(assay_ort_session_bind(s, &inputs, NULL), ASSAY_OK);
  assert_int_equal(assay_ort_session_run(s, NULL), ASSAY_OK);
  const struct {
    const char *output, *part;
    assay_status status;
  } cases[] = {
      {"", "", ASSAY_OK},
      {"device", "output 'y': not in host memory", ASSAY_E_UNSUPPORTED},
      {"map", "output 'y': not a tensor", ASSAY_E_UNSUPPORTED},
      {"string", "output 'y': elements of type string", ASSAY_E_UNSUPPORTED},
      {"rank9", "9 dimensions", ASSAY_E_UNSUPPORTED},
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    setenv("FAKE_ORT_OUTPUT", cases[i].output, 1);
    assay_tensor_map outputs = {0};
    assay_error err = {0};
    assay_status st = assay_ort_session_copy_outputs(s, &outputs, &err);
    assert_error(st, &err, cases[i].status, cases[i].part);
    assay_tensor_map_reset(&outputs);
  }
  setenv("FAKE_ORT_REFUSE", "Run", 1);
  setenv("FAKE_ORT_WORDS", "Non-zero status code returned while running TopK node. Name:'t'", 1);
  assay_error err = {0};
  assay_status st = assay_ort_session_run(s, &err);
  assert_error(st, &err, ASSAY_E_RUNTIME, "Name:'t'");
  assay_tensor_map_reset(&inputs);
  assay_ort_session_close(s);
  assay_ort_close(ort);
}

static void a_profile_that_is_not_there_is_missing(void **state) {
  (void)state;
  assay_ort *ort = open_fake();
  assay_ort_session_spec spec = {.model_path = model};
  assay_ort_session *s = NULL;
  char *path = NULL;
  assert_int_equal(assay_ort_session_open(ort, &spec, &s, NULL), ASSAY_OK);
  assay_error err = {0};
  assay_status st = assay_ort_session_end_profiling(s, &path, &err);
  assert_error(st, &err, ASSAY_E_RUNTIME, "there is no profile");
  setenv("FAKE_ORT_PROFILE", "/nowhere/p.json", 1);
  err = (assay_error){0};
  st = assay_ort_session_end_profiling(s, &path, &err);
  assert_error(st, &err, ASSAY_E_MISSING, "/nowhere/p.json");
  setenv("FAKE_ORT_PROFILE", model, 1);
  assert_int_equal(assay_ort_session_end_profiling(s, &path, NULL), ASSAY_OK);
  assert_string_equal(path, model);
  assay_free(path);
  assay_ort_session_close(s);
  assay_ort_close(ort);
}

static void out_of_memory_is_reported_at_every_step(void **state) {
  (void)state;
  assay_status st = ASSAY_E_MEMORY;
  int64_t n = 0;
  for (; st == ASSAY_E_MEMORY; ++n) {
    assay_ort *ort = NULL;
    assay_ort_session *s = NULL;
    assay_ort_session_spec spec = {.model_path = model};
    assay_alloc_fail_after(n);
    st = assay_ort_open(TEST_LIBRARY, NULL, &ort, NULL);
    if (st == ASSAY_OK) st = assay_ort_session_open(ort, &spec, &s, NULL);
    assay_alloc_fail_after(-1);
    assay_ort_session_close(s);
    assay_ort_close(ort);
  }
  assert_int_equal(st, ASSAY_OK);
  assert_true(n > 8);
}

#define TEST(name) cmocka_unit_test_setup(name, forget)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(libraries_that_are_not_ours_are_refused),
      TEST(versions_are_checked_before_anything_is_called),
      TEST(the_newest_table_that_both_know_is_asked_for),
      TEST(the_log_reaches_its_reader),
      TEST(refusals_keep_the_words),
      TEST(each_provider_is_appended_by_its_own_call),
      TEST(a_provider_that_cannot_start_is_missing),
      TEST(a_bare_refusal_gives_the_reason_that_was_logged),
      TEST(options_without_effect_are_refused),
      TEST(deterministic_kernels_are_asked_for_where_there_are_such),
      TEST(libraries_are_loaded_ahead_in_order),
      TEST(plugins_bring_their_providers),
      TEST(the_users_own_fallback_setting_stands),
      TEST(options_are_put_in_a_fixed_order),
      TEST(outputs_that_cannot_be_held_are_refused),
      TEST(a_profile_that_is_not_there_is_missing),
      TEST(out_of_memory_is_reported_at_every_step),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
