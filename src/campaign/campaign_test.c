/* Campaigns with a worker that stands in for the real one (fake_worker.c), so that every way in
 * which a run can end is tested without ONNX Runtime. Each test works in a folder of its own under
 * the system's temporary one. */
#include "campaign/campaign.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/test_folder.h"
#include "campaign/package_lock.h"
#include "package/manifest.h"
#include "package/npz.h"
#include "package/package.h"
#include "package/tree.h"

#define B 1 /* events of a case */
#define N 4 /* elements of an event; the last one is padding */
#define K 2 /* values of the head */

/* A bundle, a runtime file and a place for the package. */
typedef struct scene {
  test_folder folder;
  char root[64];
  char bundle[128], package[128], runtime[128];
  const char *bundles[1], *runtimes[1];
  assay_campaign_spec spec;
} scene;

#define must(call)                                                                                 \
  do {                                                                                             \
    assay_error must_err = {0};                                                                    \
    assay_error *err = &must_err;                                                                  \
    assay_status must_st = (call);                                                                 \
    if (must_st) fail_msg("%s: %s", assay_status_name(must_st), must_err.text);                    \
  } while (0)

static void add_array(assay_tensor_map *map, const char *name, assay_dtype dtype, int rank,
                      const int64_t *dims, double base) {
  assay_tensor t = {0};
  must(assay_tensor_init(&t, dtype, rank, dims, err));
  for (size_t i = 0; i < t.n_elems; i++) {
    bool padding = i >= t.n_elems / N * (N - 1);
    double value = padding ? 0 : base + 0.25 * (double)i;
    if (dtype == ASSAY_DTYPE_F64)
      assay_tensor_f64(&t)[i] = value;
    else
      assay_tensor_f32(&t)[i] = (float)value;
  }
  must(assay_tensor_map_add(map, name, &t, err));
}

static void write_case(const char *bundle, const char *name, double base,
                       assay_manifest_case *out) {
  const int64_t x_dims[] = {B, N, 3}, mask_dims[] = {B, N}, y_dims[] = {B, N, K};
  assay_tensor_map map = {0};
  add_array(&map, "x", ASSAY_DTYPE_F32, 3, x_dims, base);
  add_array(&map, "mask", ASSAY_DTYPE_F32, 2, mask_dims, 1);
  for (int64_t i = 0; i < N - 1; i++)
    assay_tensor_f32(assay_tensor_map_find(&map, "mask"))[i] = 1.0f;
  add_array(&map, "ref.f32.y", ASSAY_DTYPE_F32, 3, y_dims, base + 1);
  add_array(&map, "ref.f64.y", ASSAY_DTYPE_F64, 3, y_dims, base + 1);
  char *path = assay_format("%s/cases/%s.npz", bundle, name);
  must(assay_npz_write(path, &map, err));
  *out = (assay_manifest_case){.name = assay_strdup(name),
                               .kind = assay_strdup("input"),
                               .source = assay_strdup("test"),
                               .b = B,
                               .n = N};
  out->file.file = assay_format("cases/%s.npz", name);
  must(assay_sha256_file(path, out->file.sha256, &out->file.size_bytes, err));
  out->valid = assay_alloc_array(B, sizeof(int64_t));
  out->valid[0] = N - 1;
  assay_free(path);
  assay_tensor_map_reset(&map);
}

static assay_manifest_tensor tensor_of(const char *name, int rank) {
  assay_manifest_tensor t = {.name = assay_strdup(name),
                             .dtype = ASSAY_DTYPE_F32,
                             .rank = rank,
                             .atol = 1e-3,
                             .rtol = 3e-3};
  snprintf(t.dims[0].symbol, sizeof t.dims[0].symbol, "B");
  snprintf(t.dims[1].symbol, sizeof t.dims[1].symbol, "N");
  t.dims[2].size = K;
  return t;
}

/* Two cases, a and b; `base` makes their contents. */
static void write_bundle(const char *path, double base) {
  char *cases = assay_path_join(path, "cases"), *model = assay_path_join(path, "model.onnx");
  must(assay_folder_create(cases, err));
  must(assay_file_write(model, "a model", 7, err));
  assay_manifest m = {.name = assay_strdup("toy"),
                      .tool_version = assay_strdup("0"),
                      .opset = 20,
                      .ir_version = 9,
                      .dtype = assay_strdup("float32"),
                      .attention = assay_strdup("decomposed"),
                      .shapes = assay_strdup("dynamic"),
                      .architecture = assay_strdup("toy"),
                      .mask_input = assay_strdup("mask"),
                      .n_inputs = 2,
                      .n_heads = 1,
                      .n_cases = 2};
  m.model.file = assay_strdup("model.onnx");
  must(assay_sha256_file(model, m.model.sha256, &m.model.size_bytes, err));
  m.inputs = assay_alloc_array(2, sizeof *m.inputs);
  m.inputs[0] = tensor_of("x", 3);
  m.inputs[0].dims[2].size = 3;
  m.inputs[1] = tensor_of("mask", 2);
  m.heads = assay_alloc_array(1, sizeof *m.heads);
  m.heads[0] = tensor_of("y", 3);
  m.cases = assay_alloc_array(2, sizeof *m.cases);
  write_case(path, "a", base, &m.cases[0]);
  write_case(path, "b", base + 10, &m.cases[1]);
  must(assay_json_parse("{\"origin\": \"user\"}", 18, &m.reference, err));
  must(assay_manifest_write(&m, path, err));
  assay_manifest_reset(&m);
  assay_free(cases);
  assay_free(model);
}

/* Makes the bundle one of static shapes: a graph for each case, the same one where `same`. */
static void make_static(const char *bundle, bool same) {
  assay_manifest m = {0};
  must(assay_manifest_read(bundle, &m, err));
  for (size_t i = 0; i < m.n_cases; i++) {
    assay_manifest_file *model = &m.cases[i].model;
    assay_free(model->file);
    model->file = assay_format("model-%zu.onnx", i);
    char *path = assay_path_join(bundle, model->file);
    must(assay_file_write(path, same || i == 0 ? "graph a" : "graph b", 7, err));
    must(assay_sha256_file(path, model->sha256, &model->size_bytes, err));
    assay_free(path);
  }
  assay_free(m.shapes);
  m.shapes = assay_strdup("static");
  must(assay_manifest_write(&m, bundle, err));
  assay_manifest_reset(&m);
}

/* how: what the worker does wrong, as FAKE_WORKER has it; "" for nothing. */
static void write_runtime(const scene *s, const char *how) {
  char *text = assay_format("{\"library\": \"%s/bundle/model.onnx\", \"provider\": \"cuda\", "
                            "\"env\": {\"FAKE_WORKER\": \"%s\"}}",
                            s->root, how);
  must(assay_file_write(s->runtime, text, strlen(text), err));
  assay_free(text);
}

static void open_scene(scene *s) {
  *s = (scene){0};
  test_folder_open(&s->folder);
  snprintf(s->root, sizeof s->root, "%.63s", s->folder.path);
  snprintf(s->bundle, sizeof s->bundle, "%s/bundle", s->root);
  snprintf(s->package, sizeof s->package, "%s/package", s->root);
  snprintf(s->runtime, sizeof s->runtime, "%s/fake.json", s->root);
  write_bundle(s->bundle, 1);
  write_runtime(s, "");
  s->bundles[0] = s->bundle;
  s->runtimes[0] = s->runtime;
  s->spec = (assay_campaign_spec){.package_path = s->package,
                                  .runtimes = s->runtimes,
                                  .n_runtimes = 1,
                                  .bundles = s->bundles,
                                  .n_bundles = 1,
                                  .iterations = 8,
                                  .warmup = 2,
                                  .timeout_ns = INT64_C(20000000000),
                                  .worker_path = FAKE_WORKER};
}

static void close_scene(scene *s) {
  test_folder_close(&s->folder);
}

static assay_campaign_summary run(scene *s) {
  assay_campaign_summary summary = {0};
  must(assay_campaign_run(&s->spec, &summary, err));
  return summary;
}

static void run_fails(scene *s, assay_status want, const char *part) {
  assay_campaign_summary summary = {0};
  assay_error err = {0};
  assay_status st = assay_campaign_run(&s->spec, &summary, &err);
  if (st != want || strstr(err.text, part) == NULL)
    fail_msg("expected %s with '%s', found %s: %s", assay_status_name(want), part,
             assay_status_name(st), err.text);
}

static void read_result(const scene *s, const char *run_name, assay_result *out) {
  char *path = assay_format("%s/runs/fake/toy/%s/result.json", s->package, run_name);
  must(assay_result_read(path, out, err));
  assay_free(path);
}

static void print_change(void *arg, assay_tree_change change, const char *file,
                         const char *detail) {
  (void)arg, (void)change;
  print_message("%s: %s\n", file, detail);
}

/* Finished, every byte as listed, nothing unfinished left. */
static void check_sealed(const scene *s) {
  const char *const skip[] = {ASSAY_PACKAGE_FILE};
  assay_package package = {0};
  size_t n_changes = 0;
  must(assay_package_read(s->package, &package, err));
  assert_string_not_equal(package.finished_at, "");
  must(assay_tree_verify(&package.files, s->package, skip, 1, print_change, NULL, &n_changes, err));
  assert_int_equal(n_changes, 0);
  assay_package_reset(&package);
}

static char *file_in(const scene *s, const char *name) {
  char *path = assay_format("%s/%s", s->package, name);
  assert_non_null(path);
  return path;
}

static void flip_byte(const scene *s, const char *name) {
  char *path = file_in(s, name);
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, -9, SEEK_END), 0);
  int c = fgetc(file);
  assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
  fputc(c ^ 4, file);
  fclose(file);
  assay_free(path);
}

/* --- a whole campaign ----------------------------------------------------------------------------
 */

static void completes_and_makes_nothing_the_second_time(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  assay_campaign_summary first = run(&s);
  assert_int_equal(first.n_runs, 4);
  assert_int_equal(first.n_made, 4);
  assert_int_equal(first.n_passed, 4);
  check_sealed(&s);
  char sha256[2][65];
  char *index = file_in(&s, "package.json");
  must(assay_sha256_file(index, sha256[0], NULL, err));
  assay_campaign_summary second = run(&s);
  assert_int_equal(second.n_made, 0);
  assert_int_equal(second.n_reused, 4);
  assert_int_equal(second.n_passed, 4);
  must(assay_sha256_file(index, sha256[1], NULL, err));
  assert_string_equal(sha256[0], sha256[1]);
  assay_free(index);
  close_scene(&s);
}

static void a_result_says_what_it_came_from(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  run(&s);
  assay_result timing = {0}, placement = {0};
  read_result(&s, "a/timing", &timing);
  read_result(&s, "a/placement", &placement);
  assert_string_equal(timing.keys.options_sha256, placement.keys.options_sha256);
  assert_string_equal(timing.keys.model_sha256, placement.keys.model_sha256);
  assert_string_not_equal(timing.keys.plan_sha256, placement.keys.plan_sha256);
  assert_string_equal(timing.provider, "CUDAExecutionProvider");
  assert_string_equal(timing.library_version, "9.8.7");
  assert_int_equal(timing.timing.stats.n, 8);
  assert_int_equal(timing.timing.stats.min_ns, 1000000);
  assert_int_equal(timing.n_comparisons, 2);
  assert_true(timing.comparisons[0].gate && timing.comparisons[1].gate);
  assert_int_equal(timing.comparisons[0].n_compared, B * (N - 1) * K);
  assert_int_equal(timing.comparisons[0].n_padding, B * K);
  assert_int_equal(timing.numbers, ASSAY_VERDICT_PASS);
  assert_int_equal(timing.placed, ASSAY_VERDICT_NOT_APPLICABLE);
  assert_int_equal(placement.placed, ASSAY_VERDICT_PASS);
  assert_int_equal(placement.placement.n_model_runs, ASSAY_CAMPAIGN_PLACEMENT_RUNS);
  assay_result_reset(&timing);
  assay_result_reset(&placement);
  close_scene(&s);
}

static void memory_is_sampled_where_a_run_is_timed(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  run(&s);
  assay_result timing = {0}, placement = {0};
  read_result(&s, "a/timing", &timing);
  read_result(&s, "a/placement", &placement);
  assert_true(timing.memory.known && timing.memory.reason == NULL);
  assert_int_equal(timing.memory.interval_ns, 10000000);
  assert_non_null(assay_result_memory_find(&timing.memory, "rss_bytes"));
  assert_false(placement.memory.known);
  assay_result_reset(&timing);
  assay_result_reset(&placement);
  s.spec.no_memory = true; /* another thing to ask: timing runs are made again */
  assay_campaign_summary without = run(&s);
  assert_int_equal(without.n_made, 2);
  assert_int_equal(without.n_reused, 2);
  read_result(&s, "a/timing", &timing);
  assert_false(timing.memory.known);
  assay_result_reset(&timing);
  check_sealed(&s);
  close_scene(&s);
}

static void the_first_start_is_kept_and_the_last_end(void **state) {
  (void)state;
  static const char *const only[] = {"a"};
  scene s;
  assay_package first = {0}, last = {0};
  assay_result result = {0};
  open_scene(&s);
  s.spec.only = only;
  s.spec.n_only = 1;
  write_runtime(&s, "slow");
  run(&s);
  must(assay_package_read(s.package, &first, err));
  read_result(&s, "a/timing", &result);
  assert_true(strcmp(first.started_at, result.started_at) <= 0);
  assert_true(strcmp(result.started_at, first.finished_at) < 0);
  s.spec.n_only = 0;
  run(&s);
  must(assay_package_read(s.package, &last, err));
  assert_string_equal(first.started_at, last.started_at);
  assert_true(strcmp(first.finished_at, last.finished_at) < 0);
  assay_result_reset(&result);
  assay_package_reset(&first);
  assay_package_reset(&last);
  close_scene(&s);
}

/* --- runs that end badly -------------------------------------------------------------------------
 */

typedef struct bad_end {
  const char *how;
  assay_result_mode mode;
  assay_result_status status;
  assay_result_stage stage;
  const char *reason; /* a part of it, or of numbers_reason, or of the placement's */
} bad_end;

#define T ASSAY_RESULT_TIMING
#define P ASSAY_RESULT_PLACEMENT
static const bad_end bad_ends[] = {
    {"segv", T, ASSAY_RESULT_CRASHED, ASSAY_STAGE_FIRST_RUN, "signal 11"},
    {"fpe", T, ASSAY_RESULT_CRASHED, ASSAY_STAGE_FIRST_RUN, "signal 8"},
    {"abort", P, ASSAY_RESULT_CRASHED, ASSAY_STAGE_FIRST_RUN, "signal 6"},
    {"killed", T, ASSAY_RESULT_CRASHED, ASSAY_STAGE_FIRST_RUN, "signal 9"},
    {"segv_late", T, ASSAY_RESULT_CRASHED, ASSAY_STAGE_FIRST_RUN, "signal 11"},
    {"silent", T, ASSAY_RESULT_CRASHED, ASSAY_STAGE_FIRST_RUN, "status 0"},
    {"exit3", T, ASSAY_RESULT_CRASHED, ASSAY_STAGE_FIRST_RUN, "something broke"},
    {"garbage_facts", T, ASSAY_RESULT_CRASHED, ASSAY_STAGE_FIRST_RUN, "worker.json"},
    {"fails_late", T, ASSAY_RESULT_FAILED, ASSAY_STAGE_FIRST_RUN, "ended with status 1"},
    {"refused", T, ASSAY_RESULT_FAILED, ASSAY_STAGE_FIRST_RUN, "the runtime said no"},
    {"no_provider", P, ASSAY_RESULT_FAILED, ASSAY_STAGE_PROVIDER, "no such provider"},
    {"leaves_children", T, ASSAY_RESULT_FAILED, ASSAY_STAGE_FIRST_RUN, "left processes behind"},
    {"floods", T, ASSAY_RESULT_FAILED, ASSAY_STAGE_FIRST_RUN, "printed more than 64 MiB"},
    {"other_library", T, ASSAY_RESULT_FAILED, ASSAY_STAGE_SESSION, "not the one"},
    {"other_graph", T, ASSAY_RESULT_FAILED, ASSAY_STAGE_SESSION, "the graph that was executed"},
    {"other_options", P, ASSAY_RESULT_FAILED, ASSAY_STAGE_SESSION, "options"},
    {"other_graph", P, ASSAY_RESULT_FAILED, ASSAY_STAGE_SESSION, "the graph that was executed"},
    {"no_samples", T, ASSAY_RESULT_FAILED, ASSAY_STAGE_COMPARE, "samples.npy"},
    {"short_samples", T, ASSAY_RESULT_FAILED, ASSAY_STAGE_COMPARE, "expected 8 int64"},
    {"zero_sample", T, ASSAY_RESULT_FAILED, ASSAY_STAGE_COMPARE, "above zero"},
    {"no_outputs", T, ASSAY_RESULT_FAILED, ASSAY_STAGE_COMPARE, "outputs.npz"},
    {"cut_outputs", T, ASSAY_RESULT_FAILED, ASSAY_STAGE_COMPARE, "outputs.npz"},
    {"wrong_numbers", T, ASSAY_RESULT_DONE, ASSAY_STAGE_NONE, "head 'y' against f32"},
    {"all_nan", T, ASSAY_RESULT_DONE, ASSAY_STAGE_NONE, "head 'y' against f32"},
    {"wrong_padding", T, ASSAY_RESULT_DONE, ASSAY_STAGE_NONE, "head 'y' against f32"},
    {"missing_head", T, ASSAY_RESULT_DONE, ASSAY_STAGE_NONE, "output 'surprise'"},
    {"extra_head", T, ASSAY_RESULT_DONE, ASSAY_STAGE_NONE, "output 'surprise'"},
    {"no_profile", P, ASSAY_RESULT_DONE, ASSAY_STAGE_NONE, "profile"},
    {"cut_profile", P, ASSAY_RESULT_DONE, ASSAY_STAGE_NONE, ""},
    {"on_cpu", P, ASSAY_RESULT_DONE, ASSAY_STAGE_NONE, "on CPUExecutionProvider"},
};

static void check_bad_end(const scene *s, const bad_end *want) {
  assay_result result = {0};
  char name[32];
  snprintf(name, sizeof name, "a/%s", assay_result_mode_name(want->mode));
  read_result(s, name, &result);
  const char *reason = result.reason != NULL           ? result.reason
                       : result.numbers_reason != NULL ? result.numbers_reason
                                                       : result.placement.reason;
  if (result.status != want->status || result.stage != want->stage ||
      assay_result_passed(&result) || strstr(reason, want->reason) == NULL)
    fail_msg("%s: expected %s at '%s' with '%s', found %s at '%s': %s", want->how,
             assay_result_status_name(want->status), assay_result_stage_name(want->stage),
             want->reason, assay_result_status_name(result.status),
             assay_result_stage_name(result.stage), reason);
  assay_result_reset(&result);
}

static void a_bad_end_is_taken_for_what_it_is(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  for (size_t i = 0; i < N_OF(bad_ends); i++) {
    char only[64];
    const char *const globs[] = {only};
    snprintf(only, sizeof only, "fake/toy/a/%s", assay_result_mode_name(bad_ends[i].mode));
    s.spec.only = globs;
    s.spec.n_only = 1;
    write_runtime(&s, bad_ends[i].how);
    assay_campaign_summary summary = run(&s);
    if (summary.n_made != 1 || summary.n_passed != 0 || summary.n_failed != 1)
      fail_msg("%s: %zu made, %zu passed, %zu failed", bad_ends[i].how, summary.n_made,
               summary.n_passed, summary.n_failed);
    check_bad_end(&s, &bad_ends[i]);
    check_sealed(&s);
  }
  close_scene(&s);
}

/* Traces that a runtime is asked for are evidence: over the 64 MiB that a worker may print. */
static void traces_of_placement_runs_may_be_long(void **state) {
  (void)state;
  scene s;
  assay_result result = {0};
  open_scene(&s);
  char *text = assay_format("{\"library\": \"%s/bundle/model.onnx\", \"provider\": \"cuda\", "
                            "\"env\": {\"FAKE_WORKER\": \"traces\"}, "
                            "\"placement_env\": {\"SOME_TRACE\": \"1\"}}",
                            s.root);
  must(assay_file_write(s.runtime, text, strlen(text), err));
  assay_free(text);
  run(&s);
  read_result(&s, "a/placement", &result);
  assert_int_equal(result.status, ASSAY_RESULT_DONE);
  assay_result_reset(&result);
  read_result(&s, "a/timing", &result);
  assert_int_equal(result.status, ASSAY_RESULT_FAILED);
  assert_non_null(strstr(result.reason, "printed more than 64 MiB"));
  assay_result_reset(&result);
  close_scene(&s);
}

static void a_bad_run_is_one_failed_run_and_the_rest_goes_on(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  write_runtime(&s, "fpe@a/timing");
  assay_campaign_summary summary = run(&s);
  assert_int_equal(summary.n_made, 4);
  assert_int_equal(summary.n_passed, 3);
  assert_int_equal(summary.n_failed, 1);
  check_sealed(&s);
  close_scene(&s);
}

static void a_hanging_worker_is_ended_in_time(void **state) {
  (void)state;
  scene s;
  assay_result result = {0};
  open_scene(&s);
  write_runtime(&s, "hang@a/timing");
  s.spec.timeout_ns = 1000000000;
  assay_campaign_summary summary = run(&s);
  assert_int_equal(summary.n_failed, 1);
  read_result(&s, "a/timing", &result);
  assert_int_equal(result.status, ASSAY_RESULT_TIMED_OUT);
  assert_true(result.process.timed_out);
  assert_non_null(strstr(result.reason, "first_run"));
  assay_result_reset(&result);
  close_scene(&s);
}

static void odd_talk_does_no_harm(void **state) {
  (void)state;
  static const char *const hows[] = {"garbage", "closes", "unsteady"};
  for (size_t i = 0; i < N_OF(hows); i++) {
    scene s;
    open_scene(&s);
    write_runtime(&s, hows[i]);
    assay_campaign_summary summary = run(&s);
    if (summary.n_passed != 4) fail_msg("%s: %zu of 4 passed", hows[i], summary.n_passed);
    check_sealed(&s);
    close_scene(&s);
  }
}

static void a_second_candidate_is_a_warning(void **state) {
  (void)state;
  scene s;
  assay_result result = {0};
  open_scene(&s);
  write_runtime(&s, "two_candidates");
  assert_int_equal(run(&s).n_passed, 4);
  read_result(&s, "a/placement", &result);
  assert_int_equal(result.n_warnings, 1);
  assert_non_null(strstr(result.warnings[0], "two candidates of libx.so"));
  assay_result_reset(&result);
  close_scene(&s);
}

/* --- what a kill in between leaves ---------------------------------------------------------------
 */

static void a_killed_probe_is_tried_again(void **state) {
  (void)state;
  scene s;
  assay_package package = {0};
  open_scene(&s);
  write_runtime(&s, "probe_killed");
  assert_int_equal(run(&s).n_passed, 4);
  must(assay_package_read(s.package, &package, err));
  assert_string_equal(package.runtimes[0].library_version, "9.8.7");
  assay_package_reset(&package);
  close_scene(&s);
}

static void write_report(const scene *s, const char *text) {
  char *folder = file_in(s, "report"), *page = file_in(s, "report/report.html");
  must(assay_folder_create(folder, err));
  must(assay_file_write(page, text, strlen(text), err));
  assay_free(folder);
  assay_free(page);
}

/* A report stays while it is what was sealed, of the runs that are there. */
static void a_report_that_is_not_of_these_runs_goes(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  run(&s);
  char *page = file_in(&s, "report/report.html");
  write_report(&s, "a page, good");
  must(assay_package_seal(s.package, "report", err));
  run(&s);
  assert_int_equal(assay_path_kind_of(page), ASSAY_PATH_FILE);
  flip_byte(&s, "report/report.html"); /* never blessed */
  run(&s);
  assert_int_equal(assay_path_kind_of(page), ASSAY_PATH_NONE);
  write_report(&s, "a page, good");
  must(assay_package_seal(s.package, "report", err));
  assay_package package = {0}; /* killed once the runs were made, before it was sealed */
  must(assay_package_read(s.package, &package, err));
  package.finished_at[0] = package.tree_sha256[0] = '\0';
  assay_tree_reset(&package.files);
  must(assay_package_write(&package, s.package, err));
  assert_int_equal(run(&s).n_made, 0);
  assert_int_equal(assay_path_kind_of(page), ASSAY_PATH_NONE);
  check_sealed(&s);
  assay_package_reset(&package);
  assay_free(page);
  close_scene(&s);
}

/* --- graphs of one shape -------------------------------------------------------------------------
 */

static size_t count_graphs(const scene *s) {
  assay_names names = {0};
  char *folder = file_in(s, "graphs");
  if (assay_path_kind_of(folder) == ASSAY_PATH_FOLDER) must(assay_folder_list(folder, &names, err));
  size_t n = names.n;
  for (size_t i = 0; i < n; i++) {
    char sha256[65], *path = assay_path_join(folder, names.items[i]);
    must(assay_sha256_file(path, sha256, NULL, err));
    assert_memory_equal(names.items[i], sha256, 64);
    assert_string_equal(names.items[i] + 64, ".onnx");
    assay_free(path);
  }
  assay_names_reset(&names);
  assay_free(folder);
  return n;
}

static void an_executed_graph_is_kept_once(void **state) {
  (void)state;
  static const char *const only[] = {"a"};
  scene s;
  open_scene(&s);
  run(&s);
  assert_int_equal(count_graphs(&s), 0); /* dynamic */
  make_static(s.bundle, /*same=*/false);
  s.spec.only = only;
  s.spec.n_only = 1;
  assert_int_equal(run(&s).n_missing, 2);
  assert_int_equal(count_graphs(&s), 1);
  s.spec.n_only = 0;
  assert_int_equal(run(&s).n_passed, 4);
  assert_int_equal(count_graphs(&s), 2);
  check_sealed(&s);
  char *stray = file_in(&s, "graphs/stray.onnx");
  must(assay_file_write(stray, "x", 1, err));
  make_static(s.bundle, /*same=*/true);
  assert_int_equal(run(&s).n_made, 2);
  assert_int_equal(count_graphs(&s), 1);
  assay_names names = {0};
  char *folder = file_in(&s, "graphs");
  must(assay_folder_list(folder, &names, err));
  char *graph = assay_format("graphs/%s", names.items[0]);
  /* A link shares its bytes with the bundle's file; the bundle is mended, and so is the graph. */
  char *path = file_in(&s, graph);
  must(assay_file_write(path, "graph c", 7, err));
  assert_int_equal(run(&s).n_passed, 4);
  assert_int_equal(count_graphs(&s), 1);
  check_sealed(&s);
  assay_names_reset(&names);
  assay_free(stray), assay_free(folder), assay_free(graph), assay_free(path);
  close_scene(&s);
}

/* --- repeated in fresh processes -----------------------------------------------------------------
 */

static void a_timing_is_repeated_in_fresh_processes(void **state) {
  (void)state;
  scene s;
  assay_result timing = {0}, placement = {0};
  open_scene(&s);
  s.spec.processes = 3;
  assert_int_equal(run(&s).n_passed, 4);
  read_result(&s, "a/timing", &timing);
  read_result(&s, "a/placement", &placement);
  const assay_result_processes *p = &timing.processes;
  assert_true(p->known && p->outputs_identical);
  assert_int_equal(p->n, 3);
  assert_string_equal(p->others[1].folder, "process-3");
  assert_int_equal(p->others[0].min_ns, 1100000);
  assert_true(p->p50_min_ns == 1000003.5 && p->p50_max_ns == 1100003.5);
  assert_true(p->p50_spread == 100000 / 1000003.5);
  assert_int_equal(timing.timing.stats.min_ns, 1000000);
  assert_false(placement.processes.known);
  assert_int_equal(timing.n_warnings, 0);
  char *outputs = file_in(&s, "runs/fake/toy/a/timing/process-2/outputs.npz");
  char *samples = file_in(&s, "runs/fake/toy/a/timing/process-2/samples.npy");
  assert_int_equal(assay_path_kind_of(outputs), ASSAY_PATH_NONE);
  assert_int_equal(assay_path_kind_of(samples), ASSAY_PATH_FILE);
  check_sealed(&s);
  assert_int_equal(run(&s).n_made, 0);
  flip_byte(&s, "runs/fake/toy/a/timing/process-3/samples.npy");
  assert_int_equal(run(&s).n_made, 1);
  s.spec.processes = 2;
  run_fails(&s, ASSAY_E_ARGUMENT, "processes of a timing 3 there, 2 now");
  assay_free(outputs);
  assay_free(samples);
  assay_result_reset(&timing);
  assay_result_reset(&placement);
  close_scene(&s);
}

static void a_process_that_differs_is_said(void **state) {
  (void)state;
  static const struct {
    const char *how;
    assay_result_status status;
    assay_verdict numbers;
    const char *part;
  } cases[] = {
      {"other_later", ASSAY_RESULT_DONE, ASSAY_VERDICT_PASS, "outputs of the processes differ"},
      {"wrong_later", ASSAY_RESULT_FAILED, ASSAY_VERDICT_UNKNOWN, "process 2 of 2: head 'y'"},
      {"segv_later", ASSAY_RESULT_CRASHED, ASSAY_VERDICT_UNKNOWN,
       "process 2 of 2: the worker died"},
  };
  scene s;
  open_scene(&s);
  s.spec.processes = 2;
  for (size_t i = 0; i < N_OF(cases); i++) {
    assay_result r = {0};
    write_runtime(&s, cases[i].how);
    run(&s);
    read_result(&s, "a/timing", &r);
    const char *said = r.reason != NULL           ? r.reason
                       : r.numbers_reason != NULL ? r.numbers_reason
                                                  : r.warnings[0];
    if (r.status != cases[i].status || r.numbers != cases[i].numbers ||
        strstr(said, cases[i].part) == NULL)
      fail_msg("%s: %s, numbers %s: %s", cases[i].how, assay_result_status_name(r.status),
               assay_verdict_name(r.numbers), said);
    assert_int_equal(assay_result_passed(&r), i == 0);
    if (r.processes.known) assert_false(r.processes.outputs_identical);
    assay_result_reset(&r);
    check_sealed(&s);
  }
  assert_int_equal(run(&s).n_made, 0);
  write_runtime(&s, "killed_later@a");
  run(&s);
  assert_int_equal(run(&s).n_made, 1); /* somebody killed it: that says nothing of the run */
  close_scene(&s);
}

/* --- keeping and making again --------------------------------------------------------------------
 */

static void a_changed_file_is_never_trusted(void **state) {
  (void)state;
  static const char *const names[] = {"samples.npy", "outputs.npz", "result.json", "stderr.txt.new",
                                      "worker.json"};
  scene s;
  open_scene(&s);
  run(&s);
  for (size_t i = 0; i < N_OF(names); i++) {
    char *name = assay_format("runs/fake/toy/a/timing/%s", names[i]), *path = file_in(&s, name);
    if (assay_path_kind_of(path) == ASSAY_PATH_FILE)
      flip_byte(&s, name);
    else
      must(assay_file_write(path, "new", 3, err));
    assay_campaign_summary summary = run(&s);
    if (summary.n_made != 1) fail_msg("%s: %zu made", names[i], summary.n_made);
    check_sealed(&s);
    bool was_extra = unlink(path) != 0; /* the new run has no such file */
    summary = run(&s);
    if (summary.n_made != (was_extra ? 0 : 1))
      fail_msg("%s removed: %zu made", names[i], summary.n_made);
    assay_free(name);
    assay_free(path);
  }
  check_sealed(&s);
  close_scene(&s);
}

static void a_flipped_byte_in_the_bundle_copy_is_mended(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  run(&s);
  flip_byte(&s, "bundles/toy/cases/a.npz");
  assay_campaign_summary summary = run(&s);
  assert_int_equal(summary.n_passed, 4);
  check_sealed(&s);
  close_scene(&s);
}

static void other_contents_are_made_again(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  run(&s);
  write_bundle(s.bundle, 2); /* other cases under the same names */
  assert_int_equal(run(&s).n_made, 4);
  write_runtime(&s, "slow"); /* another runtime file under the same name */
  assert_int_equal(run(&s).n_made, 4);
  assert_int_equal(run(&s).n_made, 0);
  check_sealed(&s);
  close_scene(&s);
}

static void failures_are_kept_until_asked(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  write_runtime(&s, "fpe@a");
  assert_int_equal(run(&s).n_failed, 2);
  assay_campaign_summary again = run(&s);
  assert_int_equal(again.n_made, 0);
  assert_int_equal(again.n_kept_failures, 2);
  s.spec.retry_failed = true;
  assert_int_equal(run(&s).n_made, 2);
  close_scene(&s);
}

static void a_killed_worker_is_tried_again(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  write_runtime(&s, "killed@a/timing");
  assert_int_equal(run(&s).n_failed, 1);
  assert_int_equal(run(&s).n_made, 1);
  close_scene(&s);
}

static void more_time_is_another_try(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  write_runtime(&s, "hang@a/timing");
  s.spec.timeout_ns = 1000000000;
  assert_int_equal(run(&s).n_failed, 1);
  assert_int_equal(run(&s).n_made, 0);
  s.spec.timeout_ns = 1200000000;
  assert_int_equal(run(&s).n_made, 1);
  close_scene(&s);
}

/* --- which runs ----------------------------------------------------------------------------------
 */

static void only_and_skip_leave_runs_missing(void **state) {
  (void)state;
  static const char *const only[] = {"a"}, *const skip[] = {"placement"}, *const none[] = {"c*"};
  scene s;
  open_scene(&s);
  s.spec.only = only;
  s.spec.n_only = 1;
  s.spec.skip = skip;
  s.spec.n_skip = 1;
  assay_campaign_summary summary = run(&s);
  assert_int_equal(summary.n_made, 1);
  assert_int_equal(summary.n_missing, 3);
  check_sealed(&s);
  assay_package package = {0};
  assay_result result = {0};
  must(assay_package_read(s.package, &package, err));
  assert_int_equal(package.n_runs, 4);
  must(assay_package_result(&package, s.package, 1, &result, err));
  assert_int_equal(result.status, ASSAY_RESULT_MISSING);
  assay_result_reset(&result);
  assay_package_reset(&package);
  s.spec.skip = none;
  run_fails(&s, ASSAY_E_ARGUMENT, "--skip 'c*' matches no run");
  s.spec.n_skip = s.spec.n_only = 0;
  assert_int_equal(run(&s).n_made, 3);
  close_scene(&s);
}

/* --- whose folder --------------------------------------------------------------------------------
 */

static void refuses_what_is_not_its_own(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  char *stranger = file_in(&s, "thesis.tex");
  must(assay_folder_create(s.package, err));
  must(assay_file_write(stranger, "x", 1, err));
  run_fails(&s, ASSAY_E_ARGUMENT, "is not a package");
  assert_int_equal(unlink(stranger), 0);
  run(&s); /* an empty folder is fine */
  s.spec.iterations = 9;
  run_fails(&s, ASSAY_E_ARGUMENT, "iterations 8 there, 9 now");
  s.spec.iterations = 8;
  const assay_package_tolerance loose = {.has_atol = true, .atol = 1};
  s.spec.tolerances = &loose;
  s.spec.n_tolerances = 1;
  run_fails(&s, ASSAY_E_ARGUMENT, "tolerances 0 there, 1 now");
  check_sealed(&s);
  assay_free(stranger);
  close_scene(&s);
}

static void two_cannot_write_one_package(void **state) {
  (void)state;
  scene s;
  assay_package_lock lock = {0};
  open_scene(&s);
  run(&s);
  must(assay_package_lock_take(s.package, &lock, err));
  run_fails(&s, ASSAY_E_ARGUMENT, "is being written by another assay (process ");
  assay_package_lock_release(&lock);
  assert_int_equal(run(&s).n_made, 0);
  close_scene(&s);
}

static void refuses_bundles_that_are_not_what_they_say(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  char *model = assay_format("%s/model.onnx", s.bundle);
  must(assay_file_write(model, "a modem", 7, err));
  run_fails(&s, ASSAY_E_MISMATCH, "model.onnx");
  assay_free(model);
  close_scene(&s);
}

static void tolerances_of_the_line_win(void **state) {
  (void)state;
  scene s;
  assay_package_tolerance loose = {.head = NULL, .has_atol = true, .atol = 2};
  char head[] = "z";
  open_scene(&s);
  write_runtime(&s, "wrong_numbers");
  s.spec.tolerances = &loose;
  s.spec.n_tolerances = 1;
  assert_int_equal(run(&s).n_passed, 4);
  loose.head = head;
  run_fails(&s, ASSAY_E_ARGUMENT, "head 'z'");
  close_scene(&s);
}

/* --- stopped and killed --------------------------------------------------------------------------
 */

typedef struct stop {
  size_t n_ended, after;
} stop;

static void count_end(void *arg, size_t i, const assay_result *result) {
  (void)i, (void)result;
  ((stop *)arg)->n_ended++;
}

static bool is_time(void *arg) {
  const stop *at = arg;
  return at->n_ended >= at->after;
}

static void a_stopped_campaign_goes_on(void **state) {
  (void)state;
  for (size_t after = 0; after < 4; after++) {
    scene s;
    stop at = {.after = after};
    open_scene(&s);
    s.spec.progress =
        (assay_campaign_progress){.run_end = count_end, .cancelled = is_time, .arg = &at};
    assay_campaign_summary summary = run(&s);
    assert_true(summary.was_cancelled);
    assert_int_equal(summary.n_made, after);
    s.spec.progress = (assay_campaign_progress){0};
    summary = run(&s);
    assert_int_equal(summary.n_reused, after);
    assert_int_equal(summary.n_passed, 4);
    check_sealed(&s);
    close_scene(&s);
  }
}

/* Runs the campaign in a process of its own, and kills that after some time. */
static void run_and_kill(scene *s, long after_us) {
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    assay_campaign_summary summary = {0};
    _exit(assay_campaign_run(&s->spec, &summary, NULL) != ASSAY_OK);
  }
  nanosleep(&(struct timespec){.tv_sec = after_us / 1000000, .tv_nsec = after_us % 1000000 * 1000},
            NULL);
  kill(pid, SIGKILL);
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void a_killed_campaign_completes_on_the_same_line(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  write_runtime(&s, "slow");
  for (long us = 2000; us < 500000; us = us * 3 / 2) run_and_kill(&s, us);
  assay_campaign_summary summary = run(&s);
  assert_int_equal(summary.n_passed, 4);
  check_sealed(&s);
  close_scene(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(completes_and_makes_nothing_the_second_time),
      cmocka_unit_test(a_result_says_what_it_came_from),
      cmocka_unit_test(memory_is_sampled_where_a_run_is_timed),
      cmocka_unit_test(the_first_start_is_kept_and_the_last_end),
      cmocka_unit_test(a_bad_end_is_taken_for_what_it_is),
      cmocka_unit_test(traces_of_placement_runs_may_be_long),
      cmocka_unit_test(a_bad_run_is_one_failed_run_and_the_rest_goes_on),
      cmocka_unit_test(a_hanging_worker_is_ended_in_time),
      cmocka_unit_test(odd_talk_does_no_harm),
      cmocka_unit_test(a_second_candidate_is_a_warning),
      cmocka_unit_test(a_killed_probe_is_tried_again),
      cmocka_unit_test(a_report_that_is_not_of_these_runs_goes),
      cmocka_unit_test(an_executed_graph_is_kept_once),
      cmocka_unit_test(a_timing_is_repeated_in_fresh_processes),
      cmocka_unit_test(a_process_that_differs_is_said),
      cmocka_unit_test(a_changed_file_is_never_trusted),
      cmocka_unit_test(a_flipped_byte_in_the_bundle_copy_is_mended),
      cmocka_unit_test(other_contents_are_made_again),
      cmocka_unit_test(failures_are_kept_until_asked),
      cmocka_unit_test(a_killed_worker_is_tried_again),
      cmocka_unit_test(more_time_is_another_try),
      cmocka_unit_test(only_and_skip_leave_runs_missing),
      cmocka_unit_test(refuses_what_is_not_its_own),
      cmocka_unit_test(two_cannot_write_one_package),
      cmocka_unit_test(refuses_bundles_that_are_not_what_they_say),
      cmocka_unit_test(tolerances_of_the_line_win),
      cmocka_unit_test(a_stopped_campaign_goes_on),
      cmocka_unit_test(a_killed_campaign_completes_on_the_same_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
