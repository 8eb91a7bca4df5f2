/* Runtimes as users name them: built-in names, files, and everything that is wrong with either. */
#include "campaign/runtime_spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/test_folder.h"
#include "campaign/runtime_builtin.h"
#include "campaign/session_plan.h"

static test_folder folder; /* of all tests; main opens it */

static void parse(const char *text, assay_runtime_spec *out) {
  assay_error err = {0};
  if (assay_runtime_spec_parse(text, out, &err)) fail_msg("'%s': %s", text, err.text);
}

static void parse_file(const char *json, assay_runtime_spec *out) {
  char *path = assay_path_join(folder.path, "a100.json");
  assert_int_equal(assay_file_write(path, json, strlen(json), NULL), ASSAY_OK);
  parse(path, out);
  assay_free(path);
}

static void built_in_names_are_providers(void **state) {
  (void)state;
  assay_runtime_spec spec = {0};
  parse("cpu", &spec);
  assert_string_equal(spec.provider, "CPUExecutionProvider");
  assert_string_equal(spec.name, "cpu");
  assert_null(spec.library);
  assay_runtime_spec_reset(&spec);
  parse("CUDAExecutionProvider@/opt/lib@1/x.so", &spec);
  assert_string_equal(spec.provider, "CUDAExecutionProvider");
  assert_string_equal(spec.library, "/opt/lib@1/x.so");
  assay_runtime_spec_reset(&spec);
}

static const char whole[] =
    "{\"schema\": \"assay/runtime/1\", \"library\": \"lib/ort.so\", \"provider\": \"cuda\",\n"
    " \"options\": {\"use_tf32\": 0, \"device_id\": \"1\", \"flag\": true},\n"
    " \"session\": {\"intra_threads\": 2, \"inter_threads\": 3, \"graph_optimization_level\": 1,\n"
    "  \"memory_arena\": false, \"config\": {\"session.x\": \"1\"}, \"free_dims\": {\"B\": 0, "
    "\"N\": 100}},\n"
    " \"env\": {\"B\": \"2\", \"A\": null}, \"placement_env\": {\"T\": \"\"},\n"
    " \"preload\": [\"/bin/sh\", \"lib/gone.so\"], \"static\": true, \"caches\": \"kept\",\n"
    " \"required_evidence\": [\"integer_tensors\", \"fused_attention\"],\n"
    " \"placement_policy\": {\"allowed_cpu_ops\": [\"Shape\"], \"max_copies\": 2}}";

static void a_file_says_everything(void **state) {
  (void)state;
  assay_runtime_spec spec = {0};
  parse_file(whole, &spec);
  char *library = assay_path_join(folder.path, "lib/ort.so");
  assert_string_equal(spec.name, "a100");
  assert_string_equal(spec.library, library); /* beside the file */
  assert_int_equal(spec.options.n, 3);
  assert_string_equal(spec.options.items[0].key, "device_id"); /* sorted */
  assert_string_equal(spec.options.items[1].value, "1");       /* true */
  assert_string_equal(spec.options.items[2].value, "0");
  assert_int_equal(spec.intra_threads, 2);
  assert_true(spec.no_memory_arena);
  assert_null(spec.env.items[0].value);
  assert_string_equal(spec.allowed_cpu_ops[0], "Shape");
  assert_int_equal(spec.max_copies, 2);
  assay_free(library);
  assay_runtime_spec_reset(&spec);
}

/* Brings a provider of any name; counts by its contents and not by where it lies. */
static void a_plug_in_counts_by_its_contents(void **state) {
  (void)state;
  assay_runtime_spec specs[3] = {0};
  char sha256[3][65];
  const char *const files[] = {"ep.so", "copy.so", "ep.so"}, *const contents[] = {"x", "x", "y"};
  for (size_t i = 0; i < 3; i++) {
    char *path = assay_path_join(folder.path, files[i]);
    assert_int_equal(assay_file_write(path, contents[i], 1, NULL), ASSAY_OK);
    char *text = assay_format("{\"provider\": \"my_ep\", \"plugin\": \"%s\"}", files[i]);
    parse_file(text, &specs[i]);
    assert_string_equal(specs[i].provider, "my_ep");
    assert_string_equal(assay_path_name(specs[i].plugin), files[i]); /* beside the file */
    assert_int_equal(assay_runtime_spec_sha256(&specs[i], sha256[i], NULL, NULL), ASSAY_OK);
    assay_session_plan plan = {0};
    assert_int_equal(assay_session_plan_init(&specs[i], &plan, NULL), ASSAY_OK);
    assert_ptr_equal(plan.spec.plugin_path, specs[i].plugin);
    assay_session_plan_reset(&plan);
    assay_free(text);
    assay_free(path);
  }
  assert_string_equal(sha256[0], sha256[1]);
  assert_string_not_equal(sha256[0], sha256[2]);
  for (size_t i = 0; i < 3; i++) assay_runtime_spec_reset(&specs[i]);
}

static void what_is_resolved_resolves_to_itself(void **state) {
  (void)state;
  assay_runtime_spec first = {0}, second = {0};
  char sha256[2][65];
  assay_json *json = NULL;
  parse_file(whole, &first);
  assert_int_equal(assay_runtime_spec_sha256(&first, sha256[0], &json, NULL), ASSAY_OK);
  assert_int_equal(assay_runtime_spec_of_json(json, ".", &second, NULL), ASSAY_OK);
  assert_string_equal(second.library, first.library);
  assert_int_equal(assay_runtime_spec_sha256(&second, sha256[1], NULL, NULL), ASSAY_OK);
  assert_string_equal(sha256[0], sha256[1]);
  assay_json_destroy(json);
  assay_runtime_spec_reset(&first);
  assay_runtime_spec_reset(&second);
}

static void the_hash_sees_everything_but_the_librarys_path(void **state) {
  (void)state;
  static const char *const same[] = {
      "{\"provider\": \"cpu\"}",
      "{\"provider\": \"CPUExecutionProvider\", \"library\": \"/other/place.so\"}",
      "{\"provider\": \"CPU\", \"session\": {\"memory_arena\": true}, \"env\": {}}"};
  static const char *const others[] = {
      "{\"provider\": \"cuda\"}",
      "{\"provider\": \"cuda\", \"options\": {\"a\": 1}}",
      "{\"provider\": \"cpu\", \"env\": {\"A\": \"1\"}}",
      "{\"provider\": \"cpu\", \"env\": {\"A\": \"\"}}",
      "{\"provider\": \"cpu\", \"env\": {\"A\": null}}",
      "{\"provider\": \"cpu\", \"placement_env\": {\"A\": \"1\"}}",
      "{\"provider\": \"cpu\", \"static\": true}",
      "{\"provider\": \"cpu\", \"caches\": \"kept\"}",
      "{\"provider\": \"cpu\", \"preload\": [\"/bin/sh\"]}",
      "{\"provider\": \"cpu\", \"required_evidence\": [\"fused_attention\"]}",
      "{\"provider\": \"cpu\", \"session\": {\"deterministic\": true}}",
      "{\"provider\": \"cpu\", \"session\": {\"intra_threads\": 2}}",
      "{\"provider\": \"cuda\", \"placement_policy\": {\"max_copies\": 0}}"};
  char sha256[N_OF(same) + N_OF(others)][65];
  for (size_t i = 0; i < N_OF(same) + N_OF(others); i++) {
    assay_runtime_spec spec = {0};
    parse_file(i < N_OF(same) ? same[i] : others[i - N_OF(same)], &spec);
    assert_int_equal(assay_runtime_spec_sha256(&spec, sha256[i], NULL, NULL), ASSAY_OK);
    for (size_t j = 0; j < i; j++) {
      bool equal = strcmp(sha256[i], sha256[j]) == 0;
      if (equal != (i < N_OF(same)))
        fail_msg("rows %zu and %zu: %s", i, j, equal ? "equal" : "differ");
    }
    assay_runtime_spec_reset(&spec);
  }
}

typedef struct wrong {
  const char *json, *part;
} wrong;

static const wrong wrongs[] = {
    {"[]", "object"},
    {"{}", "provider"},
    {"{\"provider\": \"my_ep\"}", "is not known"},
    {"{\"provider\": \"my_ep\", \"plugin\": 1}", "plugin"},
    {"{\"provider\": \"\", \"plugin\": \"a.so\"}", "is not known"},
    {"{\"provider\": \"cuda\", \"plugin_sha256\": "
     "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
     "no effect"},
    {"{\"provider\": \"my_ep\", \"plugin\": \"/bin/sh\", \"plugin_sha256\": "
     "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
     "expected SHA-256"},
    {"{\"provider\": \"cudda\"}", "did you mean 'cuda'"},
    {"{\"provider\": \"cpu\", \"libary\": \"x\"}", "libary"},
    {"{\"schema\": \"assay/runtime/2\", \"provider\": \"cpu\"}", "assay/runtime"},
    {"{\"provider\": \"cpu\", \"library\": 7}", "library"},
    {"{\"provider\": \"cpu\", \"options\": []}", "options"},
    {"{\"provider\": \"cpu\", \"options\": {\"a\": null}}", "'a'"},
    {"{\"provider\": \"cpu\", \"options\": {\"a\": [1]}}", "'a'"},
    {"{\"provider\": \"cpu\", \"session\": {\"threads\": 1}}", "threads"},
    {"{\"provider\": \"cpu\", \"session\": {\"intra_threads\": 0}}", "intra_threads"},
    {"{\"provider\": \"cpu\", \"session\": {\"graph_optimization_level\": 5}}",
     "graph_optimization_level"},
    {"{\"provider\": \"cpu\", \"session\": {\"free_dims\": {\"N\": -1}}}", "N"},
    {"{\"provider\": \"cpu\", \"session\": {\"memory_arena\": 1}}", "memory_arena"},
    {"{\"provider\": \"cpu\", \"env\": {\"A=B\": \"1\"}}", "'env'"},
    {"{\"provider\": \"cpu\", \"placement_policy\": {\"allow\": 1}}", "allow"},
    {"{\"provider\": \"cpu\", \"placement_policy\": {\"max_copies\": -1}}", "max_copies"},
    {"{\"provider\": \"cpu\", \"placement_policy\": {\"allowed_cpu_ops\": \"Shape\"}}",
     "allowed_cpu_ops"},
    {"{\"provider\": \"cpu\"", "a100.json"},
    {"{\"provider\": \"cpu\", \"provider\": \"cuda\"}", "a100.json"},
    {"{\"provider\": \"cpu\", \"options\": {\"a\": 1}}", "'a' would have no effect"},
    {"{\"provider\": \"xnnpack\", \"options\": {\"threads\": 1}}",
     "'threads' would have no effect"},
    {"{\"provider\": \"cpu\", \"placement_policy\": {\"allowed_cpu_ops\": [\"Shape\"]}}",
     "would have no effect"},
    {"{\"provider\": \"cpu\", \"placement_policy\": {\"max_copies\": 0}}", "would have no effect"},
    {"{\"provider\": \"cpu\", \"preload\": \"a.so\"}", "preload"},
    {"{\"provider\": \"cpu\", \"preload\": [1]}", "preload"},
    {"{\"provider\": \"cpu\", \"preload_sha256\": [\"\"]}", "expected 0 digests, found 1"},
    {"{\"provider\": \"cpu\", \"preload\": [\"/bin/sh\"], \"preload_sha256\": "
     "[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]}",
     "expected SHA-256"},
    {"{\"provider\": \"cpu\", \"preload\": [\"/nowhere/a.so\"], \"preload_sha256\": "
     "[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]}",
     "no such file"},
    {"{\"provider\": \"cpu\", \"static\": 1}", "static"},
    {"{\"provider\": \"cpu\", \"caches\": \"warm\"}", "expected fresh or kept, found 'warm'"},
    {"{\"provider\": \"cpu\", \"caches\": null}", "caches"},
    {"{\"provider\": \"cpu\", \"session\": {\"deterministic\": \"1\"}}", "deterministic"},
    {"{\"provider\": \"cpu\", \"placement_env\": [\"A\"]}", "placement_env"},
    {"{\"provider\": \"cpu\", \"placement_env\": {\"A=B\": \"1\"}}", "'placement_env'"},
    {"{\"provider\": \"cpu\", \"env\": {\"\": \"1\"}}", "env"},
    {"{\"provider\": \"cpu\", \"env\": {\"A\": \"a\\u0000b\"}}", "a100.json"},
    {"{\"provider\": \"migraphx\", \"env\": {\"MIGRAPHX_TRACE_EVAL\": \"1\"}}", "placement_env"},
    {"{\"provider\": \"cuda\", \"env\": {\"ORT_ENABLE_ATTENTION_KERNEL_DEBUG_INFO\": 1}}",
     "placement_env"},
    {"{\"provider\": \"cuda\", \"placement_env\": {\"NVIDIA_TF32_OVERRIDE\": 0}}",
     "changes what is computed"},
    {"{\"provider\": \"cuda\", \"env\": {\"A\": 1}, \"placement_env\": {\"A\": 2}}",
     "A is in \"env\" and in \"placement_env\""},
    {"{\"provider\": \"cpu\", \"required_evidence\": \"flash_attention\"}", "required_evidence"},
    {"{\"provider\": \"cpu\", \"required_evidence\": [\"flash\"]}", "found 'flash'"},
    {"{\"provider\": \"CUDAExecutionProvder\"}", "did you mean 'CUDAExecutionProvider'"},
    {"{\"provider\": \"cpu\", \"library\": \"\"}", "expected a path or null"},
    {"{\"provider\": \"cpu\", \"required_evidence\": [1]}", "found no text"},
    {"{\"provider\": \"cpu\", \"required_evidence\": [\"flash_attention\", \"flash_attention\"]}",
     "each once"},
};

static void refuses_what_is_wrong_in_a_file(void **state) {
  (void)state;
  char *path = assay_path_join(folder.path, "a100.json");
  for (size_t i = 0; i < N_OF(wrongs); i++) {
    assay_runtime_spec spec = {0};
    assay_error err = {0};
    assert_int_equal(assay_file_write(path, wrongs[i].json, strlen(wrongs[i].json), NULL),
                     ASSAY_OK);
    if (assay_runtime_spec_parse(path, &spec, &err) == ASSAY_OK ||
        strstr(err.text, wrongs[i].part) == NULL || strstr(err.text, path) == NULL)
      fail_msg("%s: expected '%s', found: %s", wrongs[i].json, wrongs[i].part, err.text);
  }
  assay_free(path);
}

static void refuses_what_is_wrong_as_a_name(void **state) {
  (void)state;
  static const wrong names[] = {{"", "not known"},
                                {"cpu@", "after '@'"},
                                {"@/x.so", "not known"},
                                {"no/such/file.json", "no/such/file.json"},
                                {"migrafx", "did you mean 'migraphx'"}};
  for (size_t i = 0; i < N_OF(names); i++) {
    assay_runtime_spec spec = {0};
    assay_error err = {0};
    if (assay_runtime_spec_parse(names[i].json, &spec, &err) == ASSAY_OK ||
        strstr(err.text, names[i].part) == NULL)
      fail_msg("'%s': expected '%s', found: %s", names[i].json, names[i].part, err.text);
  }
}

/* Cut at every byte and with every byte changed it is refused with one line, or is another runtime;
 * nothing else happens. */
static void survives_any_bytes(void **state) {
  (void)state;
  char text[sizeof whole];
  assay_runtime_spec spec = {0};
  for (size_t i = 0; i < 3 * (sizeof whole - 1); i++) {
    size_t at = i % (sizeof whole - 1);
    memcpy(text, whole, sizeof whole);
    if (i / (sizeof whole - 1) == 0) text[at] = '\0';
    if (i / (sizeof whole - 1) == 1) text[at] = '"';
    if (i / (sizeof whole - 1) == 2) text[at] = (char)0xff;
    assay_json *root = NULL;
    assay_error err = {0};
    assay_status st = assay_json_parse(text, strlen(text), &root, &err);
    if (st == ASSAY_OK) st = assay_runtime_spec_of_json(root, folder.path, &spec, &err);
    if (st && (err.text[0] == '\0' || strchr(err.text, '\n') != NULL))
      fail_msg("byte %zu: '%s'", at, err.text);
    assay_json_destroy(root);
    assay_runtime_spec_reset(&spec);
  }
}

/* What 'assay doctor --show' prints, used as a file, is the same runtime. */
static void a_built_in_one_shown_is_itself(void **state) {
  (void)state;
  size_t n = 0;
  const assay_runtime_builtin *builtins = assay_runtime_builtins(&n);
  for (size_t i = 0; i < n; i++) {
    assay_runtime_spec first = {0}, second = {0};
    assay_buf text = {0};
    char sha256[2][65];
    parse(builtins[i].name, &first);
    assert_string_equal(first.name, builtins[i].name);
    assay_json_builder *b = assay_json_builder_create();
    assay_runtime_spec_put(&first, b, NULL);
    assert_int_equal(assay_json_builder_finish(b, &text, NULL), ASSAY_OK);
    parse_file(assay_buf_text(&text), &second);
    assert_int_equal(assay_runtime_spec_sha256(&first, sha256[0], NULL, NULL), ASSAY_OK);
    assert_int_equal(assay_runtime_spec_sha256(&second, sha256[1], NULL, NULL), ASSAY_OK);
    assert_string_equal(sha256[0], sha256[1]);
    assay_json_builder_destroy(b);
    assay_buf_reset(&text);
    assay_runtime_spec_reset(&first);
    assay_runtime_spec_reset(&second);
  }
}

static const char *setting_of(const assay_settings *settings, const char *key) {
  for (size_t i = 0; i < settings->n; i++)
    if (strcmp(settings->items[i].key, key) == 0)
      return settings->items[i].value != NULL ? settings->items[i].value : "(unset)";
  return "(not named)";
}

static void built_in_ones_are_strict_where_it_matters(void **state) {
  (void)state;
  static const struct {
    const char *runtime, *kind, *key, *value;
  } cases[] = {
      {"cuda", "options", "use_tf32", "0"},
      {"cuda", "env", "NVIDIA_TF32_OVERRIDE", "0"},
      {"cuda-flash", "options", "use_tf32", "0"},
      {"cuda-flash", "options", "sdpa_kernel", "1"},
      {"cuda-flash", "placement_env", "ORT_ENABLE_ATTENTION_KERNEL_DEBUG_INFO", "1"},
      {"migraphx", "options", "migraphx_fp16_enable", "0"},
      {"migraphx", "env", "MIGRAPHX_MLIR_USE_SPECIFIC_OPS", "(not named)"},
      {"migraphx", "env", "ORT_MIGRAPHX_MODEL_CACHE_PATH", "(unset)"},
      {"migraphx", "placement_env", "MIGRAPHX_TRACE_COMPILE", "1"},
      {"migraphx-attention", "env", "MIGRAPHX_MLIR_USE_SPECIFIC_OPS", "attention"},
      {"migraphx-heptv2", "env", "MIGRAPHX_DISABLE_PASSES", "eliminate_data_type"},
      {"migraphx-heptv2", "env", "MIGRAPHX_GPU_OPTIMIZE", "3"},
      {"migraphx-heptv2", "env", "MIGRAPHX_GPU_HIP_FLAGS", "-mllvm -enable-gvn-memdep=false"},
      {"openvino", "options", "precision", "FP32"},
  };
  for (size_t i = 0; i < N_OF(cases); i++) {
    assay_runtime_spec spec = {0};
    parse(cases[i].runtime, &spec);
    const assay_settings *settings = strcmp(cases[i].kind, "options") == 0 ? &spec.options
                                     : strcmp(cases[i].kind, "env") == 0   ? &spec.env
                                                                           : &spec.placement_env;
    if (strcmp(setting_of(settings, cases[i].key), cases[i].value) != 0)
      fail_msg("%s: %s is %s", cases[i].runtime, cases[i].key, setting_of(settings, cases[i].key));
    assay_runtime_spec_reset(&spec);
  }
}

static void the_environment_of_a_run_is_that_of_its_mode(void **state) {
  (void)state;
  assay_runtime_spec spec = {0};
  parse_file("{\"provider\": \"webgpu\", \"env\": {\"A\": \"\", \"B\": null, \"CUDA_CACHE_PATH\": "
             "\"mine\"}, \"placement_env\": {\"T\": 1}}",
             &spec);
  for (int i = 0; i < 4; i++) {
    assay_settings env = {0};
    bool is_placement = i % 2 == 1;
    const char *cache = i / 2 == 1 ? "/cold" : NULL;
    assert_int_equal(assay_runtime_spec_env(&spec, is_placement, cache, &env, NULL), ASSAY_OK);
    assert_string_equal(setting_of(&env, "A"), "");
    assert_string_equal(setting_of(&env, "B"), "(unset)");
    assert_string_equal(setting_of(&env, "T"), is_placement ? "1" : "(not named)");
    assert_string_equal(setting_of(&env, "XDG_CACHE_HOME"), cache != NULL ? cache : "(not named)");
    assert_string_equal(setting_of(&env, "CUDA_CACHE_PATH"), "mine");
    assay_settings_reset(&env);
  }
  assert_true(assay_runtime_spec_wants_cache(&spec));
  spec.caches_kept = true;
  assert_false(assay_runtime_spec_wants_cache(&spec));
  assay_runtime_spec_reset(&spec);
  parse("cpu", &spec);
  assert_false(assay_runtime_spec_wants_cache(&spec)); /* it compiles nothing */
  assay_runtime_spec_reset(&spec);
}

static void a_policy_with_operators_permits_the_fallback(void **state) {
  (void)state;
  static const struct {
    const char *json, *value;
  } cases[] = {
      {"{\"provider\": \"webgpu\"}", "1"},
      {"{\"provider\": \"webgpu\", \"placement_policy\": {\"max_copies\": 2}}", "1"},
      {"{\"provider\": \"webgpu\", \"placement_policy\": {\"allowed_cpu_ops\": [\"Shape\"]}}", "0"},
      {"{\"provider\": \"webgpu\", \"placement_policy\": {\"allowed_cpu_ops\": [\"Shape\"]}, "
       "\"session\": {\"config\": {\"session.disable_cpu_ep_fallback\": \"1\"}}}",
       "1"},
  };
  for (size_t i = 0; i < N_OF(cases); i++) {
    assay_runtime_spec spec = {0};
    assay_session_plan plan = {0};
    assay_json *options = NULL;
    char sha256[65];
    parse_file(cases[i].json, &spec);
    assert_int_equal(assay_session_plan_init(&spec, &plan, NULL), ASSAY_OK);
    assert_int_equal(assay_session_plan_options(&plan, sha256, &options, NULL), ASSAY_OK);
    const char *value = assay_json_string(
        assay_json_get(assay_json_get(options, "config"), "session.disable_cpu_ep_fallback"));
    assert_non_null(value);
    assert_string_equal(value, cases[i].value);
    assay_json_destroy(options);
    assay_session_plan_reset(&plan);
    assay_runtime_spec_reset(&spec);
  }
}

/* runtimes/example.json uses every member that users write. */
static void the_example_is_a_runtime(void **state) {
  (void)state;
  assay_runtime_spec spec = {0};
  parse("../../runtimes/example.json", &spec);
  assert_string_equal(spec.name, "example");
  assert_int_equal(spec.n_preload, 2);
  assert_string_equal(spec.preload_sha256[0], ""); /* not here: its runs would say so */
  assert_int_equal(spec.required_evidence, ASSAY_RUNTIME_FLASH_ATTENTION);
  assert_true(spec.is_static && spec.deterministic && !spec.caches_kept);
  assert_string_equal(setting_of(&spec.env, "LD_PRELOAD"), "(unset)");
  assay_runtime_spec_reset(&spec);
}

static void survives_memory_failing_at_every_step(void **state) {
  (void)state;
  assay_runtime_spec spec = {0};
  char sha256[65];
  char *path = assay_path_join(folder.path, "a100.json");
  assert_int_equal(assay_file_write(path, whole, strlen(whole), NULL), ASSAY_OK);
  for (int64_t n = 0;; n++) {
    assay_alloc_fail_after(n);
    assay_status st = assay_runtime_spec_parse(path, &spec, NULL);
    if (st == ASSAY_OK) st = assay_runtime_spec_sha256(&spec, sha256, NULL, NULL);
    assay_alloc_fail_after(-1);
    assay_runtime_spec_reset(&spec);
    if (st == ASSAY_OK) break;
    if (st != ASSAY_E_MEMORY) fail_msg("step %lld: %s", (long long)n, assay_status_name(st));
  }
  assay_free(path);
}

static void both_modes_share_one_hash_of_options(void **state) {
  (void)state;
  assay_runtime_spec spec = {0};
  assay_session_plan plan = {0};
  char timing[65], placement[65], other[65];
  parse_file(whole, &spec);
  assert_int_equal(assay_session_plan_init(&spec, &plan, NULL), ASSAY_OK);
  assert_int_equal(assay_session_plan_options(&plan, timing, NULL, NULL), ASSAY_OK);
  plan.spec.profile_prefix = "p";
  plan.spec.verbose = true;
  plan.spec.model_path = "m";
  assert_int_equal(assay_session_plan_options(&plan, placement, NULL, NULL), ASSAY_OK);
  assert_string_equal(timing, placement);
  plan.spec.intra_threads = 7;
  assert_int_equal(assay_session_plan_options(&plan, other, NULL, NULL), ASSAY_OK);
  assert_string_not_equal(timing, other);
  assay_session_plan_reset(&plan);
  assay_runtime_spec_reset(&spec);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(built_in_names_are_providers),
      cmocka_unit_test(a_file_says_everything),
      cmocka_unit_test(a_plug_in_counts_by_its_contents),
      cmocka_unit_test(what_is_resolved_resolves_to_itself),
      cmocka_unit_test(the_hash_sees_everything_but_the_librarys_path),
      cmocka_unit_test(refuses_what_is_wrong_in_a_file),
      cmocka_unit_test(refuses_what_is_wrong_as_a_name),
      cmocka_unit_test(survives_any_bytes),
      cmocka_unit_test(a_built_in_one_shown_is_itself),
      cmocka_unit_test(built_in_ones_are_strict_where_it_matters),
      cmocka_unit_test(the_environment_of_a_run_is_that_of_its_mode),
      cmocka_unit_test(a_policy_with_operators_permits_the_fallback),
      cmocka_unit_test(the_example_is_a_runtime),
      cmocka_unit_test(survives_memory_failing_at_every_step),
      cmocka_unit_test(both_modes_share_one_hash_of_options),
  };
  test_folder_open(&folder);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
