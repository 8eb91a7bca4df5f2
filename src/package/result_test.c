/* Results: what is written reads the same, to the last bit of every number, and what is wrong is
 * refused. */
#include "package/result.h"

#include <math.h>
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
#include "base/hash.h"
#include "base/test_folder.h"

static test_folder folder;
static char *path;

static int make_folder(void **state) {
  (void)state;
  test_folder_open(&folder);
  path = assay_path_join(folder.path, "result.json");
  return path == NULL;
}

static int remove_folder(void **state) {
  (void)state;
  assay_free(path);
  test_folder_close(&folder);
  return 0;
}

static void fill_comparison(assay_result_comparison *c, const char *reference) {
  *c = (assay_result_comparison){.head = assay_strdup("bid"),
                                 .reference = assay_strdup(reference),
                                 .kind = assay_strdup("classes"),
                                 .gate = true,
                                 .atol = 1e-3,
                                 .rtol = 0.1 + 0.2,
                                 .passed = true,
                                 .shape = "[1,100,2]",
                                 .dtype = "float32",
                                 .same_shape = true,
                                 .same_dtype = true,
                                 .n_compared = 180,
                                 .n_nan_got = 1,
                                 .max_abs = 4.76837158203125e-07,
                                 .max_abs_at = {17, 0.25000001, 0.25},
                                 .rel_l2 = (double)INFINITY,
                                 .needed_rtol = (double)INFINITY,
                                 .max_tol_at = {3, (double)NAN, -(double)INFINITY},
                                 .padding_max_abs = 5e-324};
}

/* Every member set, among them all that are unlike finite numbers. */
static void fill(assay_result *r) {
  *r = (assay_result){.runtime = assay_strdup("cpu@1.27.0"),
                      .bundle = assay_strdup("attention-cld"),
                      .case_name = assay_strdup("b1-n100"),
                      .mode = ASSAY_RESULT_TIMING,
                      .status = ASSAY_RESULT_DONE,
                      .tool_version = assay_strdup("0.1.0"),
                      .started_at = "2026-01-31T12:00:00.000Z",
                      .provider = assay_strdup("CPUExecutionProvider"),
                      .library_path = assay_strdup("/lib/x.so"),
                      .library_version = assay_strdup("1.27.0"),
                      .library_build = assay_strdup(""),
                      .machine = assay_strdup("machines/0.json"),
                      .numbers_reason = assay_strdup("why \"not\""),
                      .numbers = ASSAY_VERDICT_FAIL,
                      .placed = ASSAY_VERDICT_NOT_APPLICABLE,
                      .timed = ASSAY_VERDICT_PASS,
                      .completeness = ASSAY_VERDICT_PASS};
  memset(r->keys.model_sha256, 'a', 64);
  memset(r->keys.tool_sha256, '0', 64);
  r->process = (assay_result_process){.known = true, .exited = true, .elapsed_ns = INT64_MAX};
  r->timing = (assay_result_timing){
      .known = true, .session_create_ns = 1, .first_run_ns = 2, .warmup = 3, .iterations = 4};
  r->timing.stats =
      (assay_result_stats){.n = 4, .mean_ns = 1.5, .lag1 = (double)NAN, .drift = -0.1};
  r->timing.stats.percentiles[3] = (assay_result_percentile){
      .p = 0.99, .value_ns = 1.0 / 3, .has_low = true, .low_ns = 5, .low_rank = 1};
  assert_int_equal(assay_json_parse("{\"threads\": 1}", 14, &r->options, NULL), ASSAY_OK);
  r->comparisons = assay_alloc_array(2, sizeof *r->comparisons);
  r->n_comparisons = 2;
  fill_comparison(&r->comparisons[0], "f32");
  fill_comparison(&r->comparisons[1], "user");
  r->placement = (assay_result_placement){.known = true,
                                          .verdict = ASSAY_VERDICT_FAIL,
                                          .reason = "one node",
                                          .provider = assay_strdup("CUDAExecutionProvider"),
                                          .n_compute = 12,
                                          .log_agrees = true,
                                          .counts = assay_alloc(sizeof *r->placement.counts),
                                          .n_counts = 1,
                                          .offenders = assay_alloc(sizeof(char *)),
                                          .n_offenders = 1};
  r->placement.counts[0] = (assay_result_placement_count){.provider = assay_strdup("p"),
                                                          .op = assay_strdup("MatMul"),
                                                          .n_nodes = 3,
                                                          .n_events = 9,
                                                          .duration_us = 77};
  r->placement.offenders[0] = assay_strdup("Shape '/s' on CPU");
  r->files = assay_alloc(sizeof *r->files);
  r->n_files = 1;
  r->files[0].file = assay_strdup("samples.npy");
  memset(r->files[0].sha256, 'b', 64);
  r->files[0].size_bytes = 928;
  r->warnings = assay_alloc(sizeof(char *));
  r->warnings[0] = assay_strdup("careful");
  r->n_warnings = 1;
}

static void read_text(assay_buf *out) {
  assert_int_equal(assay_file_read(path, 1 << 20, out, NULL), ASSAY_OK);
}

static void what_is_written_reads_the_same(void **state) {
  (void)state;
  assay_result first = {0}, second = {0};
  assay_buf a = {0}, b = {0};
  assay_error err = {0};
  fill(&first);
  if (assay_result_write(&first, path, &err)) fail_msg("%s", err.text);
  read_text(&a);
  if (assay_result_read(path, &second, &err)) fail_msg("%s", err.text);
  if (assay_result_write(&second, path, &err)) fail_msg("%s", err.text);
  read_text(&b);
  assert_string_equal(assay_buf_text(&a), assay_buf_text(&b));
  const assay_result_comparison *c = assay_result_find(&second, "bid", "user");
  assert_non_null(c);
  assert_null(assay_result_find(&second, "bid", "f64"));
  assert_true(c->rtol == 0.1 + 0.2 && c->padding_max_abs == 5e-324);
  assert_true(isinf(c->rel_l2) && isnan(c->max_tol_at.got) && c->max_tol_at.want < 0);
  assert_true(isnan(second.timing.stats.lag1));
  assert_true(second.timing.stats.percentiles[3].has_low);
  assert_false(second.timing.stats.percentiles[3].has_high);
  assert_true(second.process.elapsed_ns == INT64_MAX);
  assert_string_equal(second.placement.counts[0].op, "MatMul");
  assay_buf_reset(&a);
  assay_buf_reset(&b);
  assay_result_reset(&first);
  assay_result_reset(&second);
}

static void an_empty_one_is_a_missing_run_that_proves_nothing(void **state) {
  (void)state;
  assay_result r = {0};
  assert_int_equal(r.status, ASSAY_RESULT_MISSING);
  assert_int_equal(r.numbers, ASSAY_VERDICT_UNKNOWN);
  assert_false(assay_result_passed(&r));
  r.status = ASSAY_RESULT_DONE;
  r.numbers = r.placed = r.timed = r.completeness = ASSAY_VERDICT_NOT_APPLICABLE;
  assert_false(assay_result_passed(&r)); /* nothing was judged */
  r.numbers = ASSAY_VERDICT_PASS;
  assert_true(assay_result_passed(&r));
  r.timed = ASSAY_VERDICT_UNKNOWN;
  assert_false(assay_result_passed(&r));
  r.timed = ASSAY_VERDICT_PASS;
  r.status = ASSAY_RESULT_CRASHED;
  assert_false(assay_result_passed(&r));
}

typedef struct wrong {
  const char *find, *with, *part;
} wrong;

static const wrong wrongs[] = {
    {"\"mode\": \"timing\"", "\"mode\": \"dreaming\"", "'mode'"},
    {"\"status\": \"done\"", "\"status\": \"fine\"", "'status'"},
    {"\"stage\": null", "\"stage\": \"\"", "'stage'"},
    {"\"stage\": null", "\"stage\": \"lunch\"", "'stage'"},
    {"\"runtime\": \"cpu@1.27.0\"", "\"runtime\": \"../cpu\"", "'runtime'"},
    {"\"reason\": null,", "", "reason"},
    {"\"model_sha256\": \"a", "\"model_sha256\": \"g", "'model_sha256'"},
    {"\"tool_sha256\"", "\"toll_sha256\"", "toll_sha256"},
    {"\"exited\": true", "\"exited\": 1", "exited"},
    {"\"elapsed_ns\": 9223372036854775807", "\"elapsed_ns\": -1", "elapsed_ns"},
    {"\"iterations\": 4", "\"iterations\": 4.5", "iterations"},
    {"\"lag1_class\": \"nan\"", "\"lag1_class\": \"naan\"", "lag1_class"},
    {"\"percentile_rule\": \"linear", "\"percentile_rule\": \"nearest", "percentile_rule"},
    {"\"low_ns\": 5", "\"low_ns\": \"5\"", "low_ns"},
    {"\"gate\": true", "\"gate\": null", "gate"},
    {"\"shape\": \"[1,100,2]\"", "\"shape\": 2", "shape"},
    {"\"n_compared\": 180", "\"n_compared\": -180", "n_compared"},
    {"\"max_abs_at\": {", "\"max_abs_at\": {\"x\": 1,", "x"},
    {"\"verdict\": \"fail\"", "\"verdict\": \"failed\"", "'verdict'"},
    {"\"numbers\": \"fail\"", "\"numbers\": true", "numbers"},
    {"\"file\": \"samples.npy\"", "\"file\": \"../samples.npy\"", "'file'"},
    {"\"size_bytes\": 928", "\"size_bytes\": 1e3", "size_bytes"},
    {"\"careful\"", "7", "'warnings[0]'"},
    {"\"warnings\"", "\"surprise\": 1, \"warnings\"", "surprise"},
};

static void refuses_what_is_wrong_in_any_field(void **state) {
  (void)state;
  assay_result r = {0};
  assay_buf good = {0};
  fill(&r);
  assert_int_equal(assay_result_write(&r, path, NULL), ASSAY_OK);
  read_text(&good);
  for (size_t i = 0; i < N_OF(wrongs); i++) {
    assay_result out = {0};
    assay_error err = {0};
    const char *text = assay_buf_text(&good), *at = strstr(text, wrongs[i].find);
    if (at == NULL) fail_msg("row %zu: '%s' is not in the text", i, wrongs[i].find);
    char *bad = assay_format("%.*s%s%s", (int)(at - text), text, wrongs[i].with,
                             at + strlen(wrongs[i].find));
    assert_int_equal(assay_file_write(path, bad, strlen(bad), NULL), ASSAY_OK);
    assay_status st = assay_result_read(path, &out, &err);
    if (st != ASSAY_E_FORMAT || strstr(err.text, wrongs[i].part) == NULL)
      fail_msg("'%s' as '%s': expected FORMAT with '%s', found %s: %s", wrongs[i].find,
               wrongs[i].with, wrongs[i].part, assay_status_name(st), err.text);
    assay_free(bad);
  }
  assay_buf_reset(&good);
  assay_result_reset(&r);
}

static void survives_memory_failing_at_every_step(void **state) {
  (void)state;
  assay_result r = {0};
  fill(&r);
  assert_int_equal(assay_result_write(&r, path, NULL), ASSAY_OK);
  assay_result_reset(&r);
  for (int64_t n = 0;; n++) {
    assay_alloc_fail_after(n);
    assay_status st = assay_result_read(path, &r, NULL);
    assay_alloc_fail_after(-1);
    if (st == ASSAY_OK) break;
    if (st != ASSAY_E_MEMORY) fail_msg("step %lld: %s", (long long)n, assay_status_name(st));
  }
  for (int64_t n = 0;; n++) {
    assay_alloc_fail_after(n);
    assay_status st = assay_result_write(&r, path, NULL);
    assay_alloc_fail_after(-1);
    if (st == ASSAY_OK) break;
    if (st != ASSAY_E_MEMORY) fail_msg("step %lld: %s", (long long)n, assay_status_name(st));
  }
  assay_result_reset(&r);
}

static void names_go_there_and_back(void **state) {
  (void)state;
  for (int i = ASSAY_RESULT_MISSING; i <= ASSAY_RESULT_TIMED_OUT; i++) {
    assay_result_status status;
    assert_true(
        assay_result_status_of_name(assay_result_status_name((assay_result_status)i), &status));
    assert_int_equal(status, i);
  }
  for (int i = ASSAY_STAGE_NONE; i <= ASSAY_STAGE_PLACEMENT; i++) {
    assay_result_stage stage;
    assert_true(assay_result_stage_of_name(assay_result_stage_name((assay_result_stage)i), &stage));
    assert_int_equal(stage, i);
  }
  char *where = assay_result_folder("cpu", "b", "c", ASSAY_RESULT_PLACEMENT);
  assert_string_equal(where, "runs/cpu/b/c/placement");
  assay_free(where);
}

static void listed_files_are_checked(void **state) {
  (void)state;
  assay_result r = {0};
  fill(&r);
  char *samples = assay_path_join(folder.path, "samples.npy");
  assert_int_equal(assay_file_write(samples, "abc", 3, NULL), ASSAY_OK);
  assert_int_equal(assay_result_check_files(&r, folder.path, NULL), ASSAY_E_MISMATCH);
  r.files[0].size_bytes = 3;
  assert_int_equal(assay_sha256_bytes("abc", 3, r.files[0].sha256, NULL), ASSAY_OK);
  assert_int_equal(assay_result_check_files(&r, folder.path, NULL), ASSAY_OK);
  assert_int_equal(unlink(samples), 0);
  assert_int_equal(assay_result_check_files(&r, folder.path, NULL), ASSAY_E_IO);
  assay_free(samples);
  assay_result_reset(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_reads_the_same),
      cmocka_unit_test(an_empty_one_is_a_missing_run_that_proves_nothing),
      cmocka_unit_test(refuses_what_is_wrong_in_any_field),
      cmocka_unit_test(survives_memory_failing_at_every_step),
      cmocka_unit_test(names_go_there_and_back),
      cmocka_unit_test(listed_files_are_checked),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
