/* The real worker on a real ONNX Runtime ($ASSAY_ORT, or the build option `ort`), with the small
 * models of runtime/testdata; and its files without one. */
#include "campaign/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/test_folder.h"
#include "campaign/judge.h"
#include "package/npz.h"

#define MODELS "../runtime/testdata/"

static test_folder folder;
static char *case_path;

static void write_inputs(void) {
  assay_tensor_map map = {0};
  assay_tensor x = {0}, reference = {0};
  const int64_t dims[] = {2, 3, 32}, one = 1;
  assert_int_equal(assay_tensor_init(&x, ASSAY_DTYPE_F32, 3, dims, NULL), ASSAY_OK);
  for (size_t i = 0; i < x.n_elems; i++) assay_tensor_f32(&x)[i] = (float)i / 64;
  assert_int_equal(assay_tensor_init(&reference, ASSAY_DTYPE_F32, 1, &one, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_map_add(&map, "x", &x, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_map_add(&map, "ref.f32.y", &reference, NULL), ASSAY_OK);
  assert_int_equal(assay_npz_write(case_path, &map, NULL), ASSAY_OK);
  assay_tensor_map_reset(&map);
}

static int make_folder(void **state) {
  (void)state;
  test_folder_open(&folder);
  case_path = assay_path_join(folder.path, "case.npz");
  write_inputs();
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  assay_free(case_path);
  test_folder_close(&folder);
  return 0;
}

static const char *library(void) {
  const char *path = getenv("ASSAY_ORT");
  if (path == NULL || path[0] == '\0') {
    print_message("skipped: no ONNX Runtime ($ASSAY_ORT is not set)\n");
    skip();
  }
  return path;
}

static void make_task(assay_worker_mode mode, const char *ort, const char *model,
                      assay_worker_task *out) {
  *out = (assay_worker_task){.mode = mode, .iterations = 5, .warmup = 2, .placement_runs = 3};
  assert_int_equal(assay_runtime_spec_parse("cpu", &out->runtime, NULL), ASSAY_OK);
  out->runtime.library = assay_strdup(ort);
  out->model_path = assay_format("%s%s", MODELS, model);
  out->case_path = assay_strdup(case_path);
}

static char *fresh_folder(void) {
  char *out = assay_path_join(folder.path, "run");
  assert_int_equal(assay_folder_remove(out, NULL), ASSAY_OK);
  assert_int_equal(assay_folder_create(out, NULL), ASSAY_OK);
  return out;
}

/* Runs the task, reads back what it left. */
static assay_status run(const assay_worker_task *task, const char *out, assay_worker_facts *facts,
                        assay_error *err) {
  assay_worker_facts own = {0};
  assay_error reading = {0};
  assay_status st = assay_worker_run(task, out, &own, err);
  char *path = assay_path_join(out, ASSAY_WORKER_FACTS_FILE);
  if (assay_worker_facts_read(path, facts, &reading)) fail_msg("%s", reading.text);
  assert_int_equal(facts->finished, st == ASSAY_OK);
  assert_string_equal(facts->status, assay_status_name(st));
  assay_worker_facts_reset(&own);
  assay_free(path);
  return st;
}

static bool has_library(const assay_worker_facts *facts) {
  for (size_t i = 0; i < facts->libraries.n; i++)
    if (strcmp(facts->libraries.items[i].path, facts->library_path) == 0)
      return strlen(facts->libraries.items[i].sha256) == 64;
  return false;
}

static void times_and_keeps_outputs(void **state) {
  (void)state;
  assay_worker_task task;
  assay_worker_facts facts = {0};
  assay_error err = {0};
  assay_tensor samples = {0};
  assay_tensor_map outputs = {0};
  make_task(ASSAY_WORKER_TIMING, library(), "mix17.onnx", &task);
  char *out = fresh_folder();
  if (run(&task, out, &facts, &err)) fail_msg("%s", err.text);
  assert_true(facts.session_create_ns > 0 && facts.first_run_ns > 0);
  assert_int_equal(facts.iterations, 5);
  assert_int_equal(facts.warmup, 2);
  assert_true(facts.outputs_identical);
  assert_string_equal(facts.provider, "CPUExecutionProvider");
  assert_true(has_library(&facts));
  char *path = assay_path_join(out, ASSAY_WORKER_SAMPLES_FILE);
  assert_int_equal(assay_npy_read(path, NULL, &samples, NULL), ASSAY_OK);
  assert_int_equal(samples.n_elems, 5);
  for (size_t i = 0; i < 5; i++) assert_true(assay_tensor_i64(&samples)[i] > 0);
  assay_free(path);
  path = assay_path_join(out, ASSAY_WORKER_OUTPUTS_FILE);
  assert_int_equal(assay_npz_read(path, NULL, &outputs, NULL), ASSAY_OK);
  assert_true(outputs.n > 0);
  assay_free(path);
  assert_int_equal(assay_worker_last_stage(out), ASSAY_STAGE_OUTPUTS);
  assay_free(out);
  assay_tensor_reset(&samples);
  assay_tensor_map_reset(&outputs);
  assay_worker_facts_reset(&facts);
  assay_worker_task_reset(&task);
}

static void profiles_and_is_judged(void **state) {
  (void)state;
  assay_worker_task task, timing;
  assay_worker_facts facts = {0}, timing_facts = {0};
  assay_error err = {0};
  assay_result result = {0};
  make_task(ASSAY_WORKER_TIMING, library(), "mix17.onnx", &timing);
  make_task(ASSAY_WORKER_PLACEMENT, library(), "mix17.onnx", &task);
  char *out = fresh_folder();
  if (run(&timing, out, &timing_facts, &err)) fail_msg("%s", err.text);
  if (run(&task, out, &facts, &err)) fail_msg("%s", err.text);
  assert_string_equal(facts.options_sha256, timing_facts.options_sha256);
  assert_int_equal(assay_judge_placement(out, task.model_path, &task.runtime, 3, &result, NULL),
                   ASSAY_OK);
  if (result.placed != ASSAY_VERDICT_PASS) fail_msg("%s", result.placement.reason);
  assert_int_equal(result.placement.n_model_runs, 3);
  assert_true(result.placement.log_agrees);
  assert_int_equal(result.placement.n_compute, result.placement.n_on_provider);
  if (!result.coverage.known) fail_msg("%s", result.coverage.reason);
  assert_int_equal(result.coverage.n_nodes, result.coverage.n_covered);
  assert_true(result.coverage.n_nodes > 0);
  assay_free(out);
  assay_result_reset(&result);
  assay_worker_facts_reset(&facts);
  assay_worker_facts_reset(&timing_facts);
  assay_worker_task_reset(&task);
  assay_worker_task_reset(&timing);
}

/* What it leaves for onnx/specialise.h: with shapes that are free nothing follows from them, and
 * the case plays no part. */
static void folds_without_a_case(void **state) {
  (void)state;
  assay_worker_task task;
  assay_worker_facts facts = {0};
  assay_error err = {0};
  make_task(ASSAY_WORKER_FOLD, library(), "mix17.onnx", &task);
  assay_free(task.case_path);
  task.case_path = NULL;
  char *out = fresh_folder();
  if (run(&task, out, &facts, &err)) fail_msg("%s", err.text);
  char *path = assay_path_join(out, ASSAY_WORKER_FOLDED_FILE);
  assert_int_equal(assay_path_kind_of(path), ASSAY_PATH_FILE);
  assay_free(path);
  assay_free(out);
  assay_worker_facts_reset(&facts);
  assay_worker_task_reset(&task);
}

typedef struct refusal {
  const char *model, *provider;
  assay_result_stage stage;
  const char *part;
} refusal;

static const refusal refusals[] = {
    {"mix17.onnx", "cuda", ASSAY_STAGE_PROVIDER, "CUDAExecutionProvider is not in this library"},
    {"no-such.onnx", "cpu", ASSAY_STAGE_SESSION, "no-such.onnx"},
    {"opset99.onnx", "cpu", ASSAY_STAGE_SESSION, "99"},
    {"unkop.onnx", "cpu", ASSAY_STAGE_SESSION, ""},
    {"scatter_add.onnx", "cpu", ASSAY_STAGE_BIND, ""}, /* wants other inputs */
};

static void a_refusal_names_its_stage(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(refusals); i++) {
    assay_worker_task task;
    assay_worker_facts facts = {0};
    assay_error err = {0};
    make_task(ASSAY_WORKER_TIMING, library(), refusals[i].model, &task);
    assay_runtime_spec_reset(&task.runtime);
    assert_int_equal(assay_runtime_spec_parse(refusals[i].provider, &task.runtime, NULL), ASSAY_OK);
    task.runtime.library = assay_strdup(library());
    char *out = fresh_folder();
    assay_status st = run(&task, out, &facts, &err);
    if (st == ASSAY_OK || facts.stage != refusals[i].stage ||
        strstr(facts.reason, refusals[i].part) == NULL)
      fail_msg("%s on %s: expected stage %s with '%s', found %s: %s", refusals[i].model,
               refusals[i].provider, assay_result_stage_name(refusals[i].stage), refusals[i].part,
               assay_result_stage_name(facts.stage), facts.reason);
    assay_free(out);
    assay_worker_facts_reset(&facts);
    assay_worker_task_reset(&task);
  }
}

static void what_is_no_runtime_fails_at_loading(void **state) {
  (void)state;
  assay_worker_task task;
  assay_worker_facts facts = {0};
  assay_error err = {0};
  make_task(ASSAY_WORKER_PROBE, MODELS "mix17.onnx", "mix17.onnx", &task);
  char *out = fresh_folder();
  assert_int_equal(run(&task, out, &facts, &err), ASSAY_E_MISSING);
  assert_int_equal(facts.stage, ASSAY_STAGE_LOAD_LIBRARY);
  assert_non_null(strstr(facts.reason, "mix17.onnx"));
  assay_free(out);
  assay_worker_facts_reset(&facts);
  assay_worker_task_reset(&task);
}

static void a_task_reads_as_it_was_written(void **state) {
  (void)state;
  assay_worker_task task, again = {0};
  assay_error err = {0};
  char *path = assay_path_join(folder.path, "task.json");
  make_task(ASSAY_WORKER_PLACEMENT, "/x/ort.so", "m.onnx", &task);
  assert_int_equal(assay_settings_set(&task.runtime.config, "a", "b", NULL), ASSAY_OK);
  assert_int_equal(assay_worker_task_write(&task, path, NULL), ASSAY_OK);
  if (assay_worker_task_read(path, &again, &err)) fail_msg("%s", err.text);
  assert_int_equal(again.mode, ASSAY_WORKER_PLACEMENT);
  assert_string_equal(again.runtime.library, "/x/ort.so");
  assert_string_equal(again.runtime.config.items[0].value, "b");
  assert_string_equal(again.model_path, MODELS "m.onnx");
  assert_int_equal(again.placement_runs, 3);
  assay_free(path);
  assay_worker_task_reset(&task);
  assay_worker_task_reset(&again);
}

static void odd_tasks_are_refused(void **state) {
  (void)state;
  static const char *const bad[] = {
      "",
      "{}",
      "{\"schema\": \"assay/task/1\"}",
      "{\"schema\": \"assay/task/1\", \"mode\": \"timing\", \"runtime\": {\"provider\": \"cpu\"}, "
      "\"model\": "
      "\"m\", \"case\": \"c\", \"iterations\": 1, \"warmup\": 0, \"placement_runs\": 1}",
      "{\"schema\": \"assay/task/1\", \"mode\": \"timing\", \"runtime\": {\"provider\": \"cpu\", "
      "\"library\": \"l\"}, \"model\": null, \"case\": \"c\", \"iterations\": 1, \"warmup\": 0, "
      "\"placement_runs\": 1}",
      "{\"schema\": \"assay/task/1\", \"mode\": \"timing\", \"runtime\": {\"provider\": \"cpu\", "
      "\"library\": \"l\"}, \"model\": \"m\", \"case\": \"c\", \"iterations\": 0, \"warmup\": 0, "
      "\"placement_runs\": 1}",
      "{\"schema\": \"assay/task/1\", \"mode\": \"timing\", \"runtime\": {\"provider\": \"cpu\", "
      "\"library\": \"l\"}, \"model\": \"m\", \"case\": \"c\", \"iterations\": 100000000, "
      "\"warmup\": 0, "
      "\"placement_runs\": 1}"};
  char *path = assay_path_join(folder.path, "task.json");
  for (size_t i = 0; i < N_OF(bad); i++) {
    assay_worker_task task = {0};
    assert_int_equal(assay_file_write(path, bad[i], strlen(bad[i]), NULL), ASSAY_OK);
    if (assay_worker_task_read(path, &task, NULL) == ASSAY_OK) fail_msg("read: %s", bad[i]);
  }
  assay_free(path);
}

static void the_last_whole_line_is_the_stage(void **state) {
  (void)state;
  static const struct {
    const char *text;
    assay_result_stage stage;
  } rows[] = {{"", ASSAY_STAGE_START},
              {"start 1\n", ASSAY_STAGE_START},
              {"start 1\nsession 2\n", ASSAY_STAGE_SESSION},
              {"start 1\nsession 2\ntiming 3", ASSAY_STAGE_SESSION},
              {"start 1\nnonsense 2\n\n", ASSAY_STAGE_START}};
  char *path = assay_path_join(folder.path, ASSAY_WORKER_PHASES_FILE);
  for (size_t i = 0; i < N_OF(rows); i++) {
    assert_int_equal(assay_file_write(path, rows[i].text, strlen(rows[i].text), NULL), ASSAY_OK);
    assert_int_equal(assay_worker_last_stage(folder.path), rows[i].stage);
  }
  assert_int_equal(unlink(path), 0);
  assert_int_equal(assay_worker_last_stage(folder.path), ASSAY_STAGE_START);
  assay_free(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_task_reads_as_it_was_written),
      cmocka_unit_test(odd_tasks_are_refused),
      cmocka_unit_test(the_last_whole_line_is_the_stage),
      cmocka_unit_test(what_is_no_runtime_fails_at_loading),
      cmocka_unit_test(times_and_keeps_outputs),
      cmocka_unit_test(folds_without_a_case),
      cmocka_unit_test(profiles_and_is_judged),
      cmocka_unit_test(a_refusal_names_its_stage),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
