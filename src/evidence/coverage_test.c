/* Tests of coverage.c and assignment.c on what real runtimes said of one small model, and on the
 * same damaged. */
#include "evidence/coverage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/test_folder.h"
#include "evidence/assignment.h"

#define MODEL      "../runtime/testdata/mix17.onnx"
#define CPU        "CPUExecutionProvider"
#define WEBGPU     "WebGpuExecutionProvider"
#define OPENVINO   "OpenVINOExecutionProvider"
#define OV_RUN     "openvino-1.24.1-mix17-2runs"
#define STATIC     "../onnx/testdata/mix17-2x8-folded.onnx"
#define STATIC_RUN "openvino-1.24.1-mix17-static-2runs"
#define NCHW_RUN   "webgpu-1.30.0-nchw-mix17-2runs"

static test_folder folder; /* of all tests; main opens it */

/* The files of a sample; `assignment` (or NULL) in place of its own. */
static assay_coverage judge_of(const char *model, const char *sample, const char *provider,
                               const char *assignment) {
  char profile[256], log[256], own[256];
  snprintf(profile, sizeof profile, "testdata/profile/%s.json", sample);
  snprintf(log, sizeof log, "testdata/placement_log/%s.log", sample);
  snprintf(own, sizeof own, "testdata/assignment/%s.txt", sample);
  const assay_coverage_spec spec = {.model_path = model,
                                    .profile_path = profile,
                                    .log_path = log,
                                    .assignment_path = assignment != NULL ? assignment : own,
                                    .provider = provider};
  assay_coverage c = {0};
  assay_error err = {0};
  assay_status st = assay_coverage_judge(&spec, &c, &err);
  if (st) fail_msg("%s: %s", assay_status_name(st), err.text);
  assert_int_equal(c.known, c.reason[0] == '\0');
  return c;
}

static assay_coverage judge(const char *sample, const char *provider, const char *assignment) {
  return judge_of(MODEL, sample, provider, assignment);
}

static const char *write_text(const char *text) {
  static char path[1024];
  snprintf(path, sizeof path, "%s", test_folder_file(&folder, "assignment.txt"));
  assert_int_equal(assay_file_write(path, text, strlen(text), NULL), ASSAY_OK);
  return path;
}

static char *read_text(const char *sample) {
  char path[256];
  snprintf(path, sizeof path, "testdata/assignment/%s.txt", sample);
  assay_buf buf = test_file_read(path);
  char *text = assay_strdup(assay_buf_text(&buf));
  assert_non_null(text);
  assay_buf_reset(&buf);
  return text;
}

/* The sample's assignment with the first `from` as `to`. */
static const char *write_changed(const char *sample, const char *from, const char *to) {
  char *text = read_text(sample);
  char *at = strstr(text, from);
  assert_non_null(at);
  char *changed = assay_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  assert_non_null(changed);
  const char *path = write_text(changed);
  assay_free(changed);
  assay_free(text);
  return path;
}

static void samples_are_mapped_to_the_model(void **state) {
  (void)state;
  static const struct {
    const char *sample, *provider;
    size_t n_covered, n_elsewhere, n_unknown;
  } cases[] = {
      {OV_RUN, OPENVINO, 13, 0, 0}, /* all in one compiled node */
      {"cpu-1.32.0-mix17-2runs", CPU, 13, 0, 0},
      {NCHW_RUN, WEBGPU, 9, 4, 0},
      {"webgpu-1.30.0-nhwc-mix17-2runs", WEBGPU, 7, 4, 2}, /* two fused, and not told of */
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    assay_coverage c = judge(cases[i].sample, cases[i].provider, NULL);
    if (!c.known || c.n_nodes != 13 || c.n_covered != cases[i].n_covered ||
        c.n_elsewhere != cases[i].n_elsewhere || c.n_unknown != cases[i].n_unknown)
      fail_msg("%s: %zu of %zu, %zu elsewhere, %zu unknown: '%s'", cases[i].sample, c.n_covered,
               c.n_nodes, c.n_elsewhere, c.n_unknown, c.reason);
    assert_int_equal(c.n_ops, 10);
    assert_string_equal(c.ops[0].op, "Add");
    assert_int_equal(c.ops[0].n_nodes, 2);
    assert_int_equal(c.n_offenders, cases[i].n_elsewhere);
    assay_coverage_reset(&c);
  }
}

/* Of a graph with known shapes the runtime makes one Gemm of a product and the sum behind it,
 * before it divides the graph: named after the product. */
static void a_product_and_its_sum_are_known_by_the_products_name(void **state) {
  (void)state;
  assay_coverage c = judge_of(STATIC, STATIC_RUN, OPENVINO, NULL);
  assert_true(c.known);
  assert_int_equal(c.n_nodes, 9);
  assert_int_equal(c.n_covered, 9);
  assay_coverage_reset(&c);
  const char *path = write_changed(STATIC_RUN, "/MatMulAddFusion", "/OtherFusion");
  c = judge_of(STATIC, STATIC_RUN, OPENVINO, path);
  assert_int_equal(c.n_unknown, 2);
  assay_coverage_reset(&c);
}

static void nodes_elsewhere_are_named(void **state) {
  (void)state;
  assay_coverage c = judge(NCHW_RUN, WEBGPU, NULL);
  assert_int_equal(c.n_offenders, 4);
  assert_string_equal(c.offenders[2], "ScatterElements '/scatter/ScatterElements' on " CPU);
  assay_coverage_reset(&c);
}

/* Without an assignment a compiled subgraph is not known, and names in the profile are. */
static void a_runtime_that_says_nothing_leaves_names_in_the_profile(void **state) {
  (void)state;
  const char *path = write_text("assay/assignment/1 unavailable: too old\n");
  assay_coverage c = judge(OV_RUN, OPENVINO, path);
  assert_false(c.known);
  assert_string_equal(c.reason, "of 1 compiled subgraphs nothing is said: too old");
  assert_int_equal(c.n_nodes, 0);
  assay_coverage_reset(&c);
  c = judge(NCHW_RUN, WEBGPU, path);
  assert_true(c.known);
  assert_int_equal(c.n_covered, 7);
  assert_int_equal(c.n_elsewhere, 4);
  assert_int_equal(c.n_unknown, 2);
  assay_coverage_reset(&c);
}

/* The profile is the evidence: what contradicts it is not believed. */
static void an_assignment_that_contradicts_is_not_believed(void **state) {
  (void)state;
  static const struct {
    const char *sample, *provider, *from, *to, *reason;
  } cases[] = {
      {NCHW_RUN, WEBGPU, "9\t" CPU "\t\tShape\t/Shape\n", "9\t" WEBGPU "\t\tShape\t/Shape\n",
       "Shape '/Shape' is on " CPU ", and was assigned to " WEBGPU},
      {NCHW_RUN, WEBGPU, "0\t" WEBGPU "\t\tMatMul", "0\t" CPU "\t\tMatMul",
       "is on " WEBGPU ", and was assigned to " CPU},
      {OV_RUN, OPENVINO, "0\t" OPENVINO "\t\tScatter", "1\t" OPENVINO "\t\tScatter",
       "1 compiled subgraphs ran on " OPENVINO ", which was assigned 2 parts"},
      {OV_RUN, OPENVINO, "0\t" OPENVINO "\t\tScatter", "1\t" CPU "\t\tScatter",
       "nodes were assigned to " CPU ", where the log places none"},
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    const char *path = write_changed(cases[i].sample, cases[i].from, cases[i].to);
    assay_coverage c = judge(cases[i].sample, cases[i].provider, path);
    if (c.known || strstr(c.reason, cases[i].reason) == NULL)
      fail_msg("'%s', expected '%s'", c.reason, cases[i].reason);
    assay_coverage_reset(&c);
  }
}

/* Names that the model does not have cover nothing; a node named twice is not guessed. */
static void other_names_are_unknown(void **state) {
  (void)state;
  assay_coverage c = judge(OV_RUN, OPENVINO, write_changed(OV_RUN, "/fc1/MatMul", "/fc9/MatMul"));
  assert_true(c.known);
  assert_int_equal(c.n_covered, 12);
  assert_int_equal(c.n_unknown, 1);
  assay_coverage_reset(&c);
  c = judge(OV_RUN, OPENVINO, write_changed(OV_RUN, "/fc1/MatMul", "/fc2/MatMul"));
  assert_int_equal(c.n_covered, 11);
  assert_int_equal(c.n_unknown, 2);
  assay_coverage_reset(&c);
}

static void sources_that_cannot_be_read_are_a_reason(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "assay/assignment/2 0 nodes\n",
                                      "assay/assignment/1 1 nodes\n",
                                      "assay/assignment/1 0 nodes",
                                      "assay/assignment/1 0 nodes\n0\tP\t\tAdd\ta\n",
                                      "assay/assignment/1 1 nodes\n0\tP\t\tAdd\n",
                                      "assay/assignment/1 1 nodes\nx\tP\t\tAdd\ta\n",
                                      "assay/assignment/1 1 nodes\n0\t\t\tAdd\ta\n",
                                      "assay/assignment/1 99999999999999999999 nodes\n"};
  for (size_t i = 0; i < N_OF(texts); ++i) {
    assay_coverage c = judge(NCHW_RUN, WEBGPU, write_text(texts[i]));
    if (c.known || strncmp(c.reason, "assignment: ", 12) != 0) fail_msg("%zu: '%s'", i, c.reason);
    assay_coverage_reset(&c);
  }
  assay_coverage c = judge(NCHW_RUN, WEBGPU, "/nowhere/assignment.txt");
  assert_false(c.known);
  assay_coverage_reset(&c);
}

static void an_assignment_cut_anywhere_is_refused(void **state) {
  (void)state;
  char *text = read_text(OV_RUN);
  for (size_t n = 0; n < strlen(text); ++n) {
    assay_assignment a = {0};
    assay_error err = {0};
    if (assay_assignment_parse(text, n, &a, &err) != ASSAY_E_FORMAT)
      fail_msg("%zu bytes were taken for the whole", n);
  }
  assay_free(text);
}

static void out_of_memory_is_an_error_and_leaks_nothing(void **state) {
  (void)state;
  const assay_coverage_spec spec = {.model_path = MODEL,
                                    .profile_path = "testdata/profile/" OV_RUN ".json",
                                    .log_path = "testdata/placement_log/" OV_RUN ".log",
                                    .assignment_path = "testdata/assignment/" OV_RUN ".txt",
                                    .provider = CPU};
  assay_status st = ASSAY_E_MEMORY;
  for (int64_t n = 0; st == ASSAY_E_MEMORY; ++n) {
    assay_coverage c = {0};
    assay_error err = {0};
    assay_alloc_fail_after(n);
    st = assay_coverage_judge(&spec, &c, &err);
    assay_alloc_fail_after(-1);
    if (st == ASSAY_OK) assert_int_equal(c.n_elsewhere, 13);
    if (st != ASSAY_OK) assert_int_equal(st, ASSAY_E_MEMORY);
    assay_coverage_reset(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_are_mapped_to_the_model),
      cmocka_unit_test(a_product_and_its_sum_are_known_by_the_products_name),
      cmocka_unit_test(nodes_elsewhere_are_named),
      cmocka_unit_test(a_runtime_that_says_nothing_leaves_names_in_the_profile),
      cmocka_unit_test(an_assignment_that_contradicts_is_not_believed),
      cmocka_unit_test(other_names_are_unknown),
      cmocka_unit_test(sources_that_cannot_be_read_are_a_reason),
      cmocka_unit_test(an_assignment_cut_anywhere_is_refused),
      cmocka_unit_test(out_of_memory_is_an_error_and_leaks_nothing),
  };
  test_folder_open(&folder);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
