/* From arrays to verdicts: which reference meets which output, and what the outcome is called. The
 * arithmetic of a comparison is tested where it is done. */
#include "campaign/judge.h"

#include <math.h>
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
#include "package/npz.h"

static test_folder folder;
static char *case_path, *outputs_path;

static int make_folder(void **state) {
  (void)state;
  test_folder_open(&folder);
  case_path = assay_path_join(folder.path, "case.npz");
  outputs_path = assay_path_join(folder.path, "outputs.npz");
  return case_path == NULL || outputs_path == NULL;
}

static int remove_folder(void **state) {
  (void)state;
  assay_free(case_path);
  assay_free(outputs_path);
  test_folder_close(&folder);
  return 0;
}

/* One array [1,4]: dtype and four values. */
typedef struct row {
  const char *name;
  assay_dtype dtype;
  double values[4];
} row;

static void write_arrays(const char *path, const row *rows, size_t n) {
  assay_tensor_map map = {0};
  const int64_t dims[] = {1, 4};
  for (size_t i = 0; i < n && rows[i].name != NULL; i++) {
    assay_tensor t = {0};
    assert_int_equal(assay_tensor_init(&t, rows[i].dtype, 2, dims, NULL), ASSAY_OK);
    for (size_t k = 0; k < 4; k++) {
      if (rows[i].dtype == ASSAY_DTYPE_F32) assay_tensor_f32(&t)[k] = (float)rows[i].values[k];
      if (rows[i].dtype == ASSAY_DTYPE_F64) assay_tensor_f64(&t)[k] = rows[i].values[k];
      if (rows[i].dtype == ASSAY_DTYPE_I64) assay_tensor_i64(&t)[k] = (int64_t)rows[i].values[k];
      if (rows[i].dtype == ASSAY_DTYPE_F16)
        ((uint16_t *)t.data)[k] = assay_f16_of_f32((float)rows[i].values[k]);
    }
    assert_int_equal(assay_tensor_map_add(&map, rows[i].name, &t, NULL), ASSAY_OK);
  }
  assert_int_equal(assay_npz_write(path, &map, NULL), ASSAY_OK);
  assay_tensor_map_reset(&map);
}

/* A manifest of heads y (and z where asked), without owning anything. */
static char name_y[] = "y", name_z[] = "z", name_mask[] = "mask", arch[] = "toy";

static assay_manifest manifest_of(assay_manifest_tensor heads[2], assay_head_kind kind,
                                  size_t n_heads) {
  heads[0] = (assay_manifest_tensor){.name = name_y, .kind = kind, .atol = 1e-3, .rtol = 0};
  heads[1] = (assay_manifest_tensor){.name = name_z, .kind = kind, .atol = 1e-3, .rtol = 0};
  return (assay_manifest){.heads = heads, .n_heads = n_heads};
}

#define NOT_A_NUMBER ((double)NAN)

#define F32 ASSAY_DTYPE_F32
#define F64 ASSAY_DTYPE_F64
#define F16 ASSAY_DTYPE_F16
#define I64 ASSAY_DTYPE_I64

typedef struct verdict_case {
  const char *what;
  assay_head_kind kind;
  bool masked;    /* "mask" of the case is the mask */
  bool ours;      /* an architecture of ours: zeros at padding are promised */
  size_t n_heads; /* y, or y and z */
  row inputs[4], outputs[3];
  assay_verdict want;
  const char *part; /* of the reason */
  size_t n_comparisons;
} verdict_case;

static const verdict_case verdicts[] = {
    {"equal to all three references",
     ASSAY_HEAD_REGRESSION,
     false,
     true,
     1,
     {{"ref.f32.y", F32, {1, 2, 3, 4}},
      {"ref.f64.y", F64, {1, 2, 3, 4}},
      {"ref.user.y", F32, {1, 2, 3, 4}}},
     {{"y", F32, {1, 2, 3, 4}}},
     ASSAY_VERDICT_PASS,
     NULL,
     3},
    {"f64 alone disagrees",
     ASSAY_HEAD_REGRESSION,
     false,
     true,
     1,
     {{"ref.f32.y", F32, {1, 2, 3, 4}}, {"ref.f64.y", F64, {1, 2, 3, 4.5}}},
     {{"y", F32, {1, 2, 3, 4}}},
     ASSAY_VERDICT_FAIL,
     "against f64",
     2},
    {"the user's alone disagrees",
     ASSAY_HEAD_REGRESSION,
     false,
     true,
     1,
     {{"ref.f32.y", F32, {1, 2, 3, 4}}, {"ref.user.y", F32, {1, 2, 3, 4.5}}},
     {{"y", F32, {1, 2, 3, 4}}},
     ASSAY_VERDICT_FAIL,
     "against user",
     2},
    {"no reference at all",
     ASSAY_HEAD_REGRESSION,
     false,
     true,
     1,
     {{"x", F32, {1, 2, 3, 4}}},
     {{"y", F32, {1, 2, 3, 4}}},
     ASSAY_VERDICT_UNKNOWN,
     "no reference",
     0},
    {"one head of two without a reference",
     ASSAY_HEAD_REGRESSION,
     false,
     true,
     2,
     {{"ref.f32.y", F32, {1, 2, 3, 4}}},
     {{"y", F32, {1, 2, 3, 4}}, {"z", F32, {1, 2, 3, 4}}},
     ASSAY_VERDICT_UNKNOWN,
     "head 'z'",
     1},
    {"a head is missing",
     ASSAY_HEAD_REGRESSION,
     false,
     true,
     2,
     {{"ref.f32.y", F32, {1, 2, 3, 4}}, {"ref.f32.z", F32, {1, 2, 3, 4}}},
     {{"y", F32, {1, 2, 3, 4}}},
     ASSAY_VERDICT_FAIL,
     "head 'z'",
     2},
    {"a head too many",
     ASSAY_HEAD_REGRESSION,
     false,
     true,
     1,
     {{"ref.f32.y", F32, {1, 2, 3, 4}}},
     {{"y", F32, {1, 2, 3, 4}}, {"z", F32, {1, 2, 3, 4}}},
     ASSAY_VERDICT_FAIL,
     "output 'z'",
     1},
    {"all NaN",
     ASSAY_HEAD_REGRESSION,
     false,
     true,
     1,
     {{"ref.f32.y", F32, {1, 2, 3, 4}}},
     {{"y", F32, {NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER}}},
     ASSAY_VERDICT_FAIL,
     "against f32",
     1},
    {"infinite reference",
     ASSAY_HEAD_REGRESSION,
     false,
     true,
     1,
     {{"ref.f32.y", F32, {1, 2, 3, HUGE_VAL}}},
     {{"y", F32, {1, 2, 3, 0}}},
     ASSAY_VERDICT_FAIL,
     "against f32",
     1},
    {"another type with equal values",
     ASSAY_HEAD_REGRESSION,
     false,
     true,
     1,
     {{"ref.f32.y", F32, {1, 2, 3, 4}}},
     {{"y", I64, {1, 2, 3, 4}}},
     ASSAY_VERDICT_FAIL,
     "against f32",
     1},
    {"FP16 within tolerance of an FP32 reference",
     ASSAY_HEAD_REGRESSION,
     false,
     true,
     1,
     {{"ref.f32.y", F32, {1, 2, 3, 0.1}}},
     {{"y", F16, {1, 2, 3, 0.1}}},
     ASSAY_VERDICT_PASS,
     NULL,
     1},
    {"integers off by one",
     ASSAY_HEAD_INTEGER,
     false,
     true,
     1,
     {{"ref.user.y", I64, {1, 2, 3, 4}}},
     {{"y", I64, {1, 2, 3, 5}}},
     ASSAY_VERDICT_FAIL,
     "against user",
     1},
    {"a constant off by little",
     ASSAY_HEAD_CONSTANT,
     false,
     true,
     1,
     {{"ref.f32.y", F32, {0, 0, 0, 0}}},
     {{"y", F32, {0, 0, 0, 1e-6}}},
     ASSAY_VERDICT_FAIL,
     "against f32",
     1},
    {"wrong at padding, which our exports promise to be zero",
     ASSAY_HEAD_REGRESSION,
     true,
     true,
     1,
     {{"ref.f32.y", F32, {1, 2, 3, 0}}, {"mask", F32, {1, 1, 1, 0}}},
     {{"y", F32, {1, 2, 3, 0.5}}},
     ASSAY_VERDICT_FAIL,
     "against f32",
     1},
    {"minus zero at padding",
     ASSAY_HEAD_REGRESSION,
     true,
     true,
     1,
     {{"ref.f32.y", F32, {1, 2, 3, 0}}, {"mask", F32, {1, 1, 1, 0}}},
     {{"y", F32, {1, 2, 3, -0.0}}},
     ASSAY_VERDICT_FAIL,
     "against f32",
     1},
    {"wrong at padding of a graph from elsewhere",
     ASSAY_HEAD_REGRESSION,
     true,
     false,
     1,
     {{"ref.f32.y", F32, {1, 2, 3, 0}}, {"mask", F32, {1, 1, 1, 0}}},
     {{"y", F32, {1, 2, 3, 0.5}}},
     ASSAY_VERDICT_PASS,
     NULL,
     1},
    {"nothing is valid: exact zeros at padding are the event's numbers",
     ASSAY_HEAD_REGRESSION,
     true,
     true,
     1,
     {{"ref.f32.y", F32, {0, 0, 0, 0}}, {"mask", F32, {0, 0, 0, 0}}},
     {{"y", F32, {0, 0, 0, 0}}},
     ASSAY_VERDICT_PASS,
     NULL,
     1},
    {"nothing is valid, and padding is not zero",
     ASSAY_HEAD_REGRESSION,
     true,
     true,
     1,
     {{"ref.f32.y", F32, {0, 0, 0, 0}}, {"mask", F32, {0, 0, 0, 0}}},
     {{"y", F32, {0, 0, 2, 0}}},
     ASSAY_VERDICT_FAIL,
     "against f32: 1 of 4 padded elements are not +0",
     1},
    {"nothing is valid in a graph that promises nothing, so nothing is compared",
     ASSAY_HEAD_REGRESSION,
     true,
     false,
     1,
     {{"ref.f32.y", F32, {0, 0, 0, 0}}, {"mask", F32, {0, 0, 0, 0}}},
     {{"y", F32, {0, 0, 0, 0}}},
     ASSAY_VERDICT_FAIL,
     "against f32: nothing to compare",
     1},
};

static void verdicts_are_called_by_their_names(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(verdicts); i++) {
    const verdict_case *v = &verdicts[i];
    assay_manifest_tensor heads[2];
    assay_manifest manifest = manifest_of(heads, v->kind, v->n_heads);
    assay_result result = {0};
    assay_error err = {0};
    if (v->masked) manifest.mask_input = name_mask;
    if (v->ours) manifest.architecture = arch;
    write_arrays(case_path, v->inputs, N_OF(v->inputs));
    write_arrays(outputs_path, v->outputs, N_OF(v->outputs));
    if (assay_judge_numbers(&manifest, case_path, outputs_path, NULL, 0, &result, &err))
      fail_msg("%s: %s", v->what, err.text);
    const char *reason = result.numbers_reason != NULL ? result.numbers_reason : "";
    if (result.numbers != v->want || result.n_comparisons != v->n_comparisons ||
        (v->part == NULL ? reason[0] != '\0' : strstr(reason, v->part) == NULL))
      fail_msg("%s: expected %s, %zu comparisons, '%s'; found %s, %zu: %s", v->what,
               assay_verdict_name(v->want), v->n_comparisons, v->part != NULL ? v->part : "",
               assay_verdict_name(result.numbers), result.n_comparisons, reason);
    assay_result_reset(&result);
  }
}

static void a_missing_mask_is_an_error(void **state) {
  (void)state;
  assay_manifest_tensor heads[2];
  assay_manifest manifest = manifest_of(heads, ASSAY_HEAD_REGRESSION, 1);
  assay_result result = {0};
  assay_error err = {0};
  const row inputs[] = {{"ref.f32.y", F32, {1, 2, 3, 4}}}, outputs[] = {{"y", F32, {1, 2, 3, 4}}};
  manifest.mask_input = name_mask;
  write_arrays(case_path, inputs, 1);
  write_arrays(outputs_path, outputs, 1);
  assert_int_equal(assay_judge_numbers(&manifest, case_path, outputs_path, NULL, 0, &result, &err),
                   ASSAY_E_FORMAT);
  assert_non_null(strstr(err.text, "'mask'"));
  assert_int_equal(result.numbers, ASSAY_VERDICT_UNKNOWN);
  assay_result_reset(&result);
}

static void tolerances_for_one_head_win_over_those_for_all(void **state) {
  (void)state;
  char other[] = "z";
  const assay_manifest_tensor head = {.name = name_y, .atol = 1, .rtol = 2};
  const assay_package_tolerance asked[] = {{.head = name_y, .has_atol = true, .atol = 5},
                                           {.head = NULL, .has_atol = true, .atol = 4},
                                           {.head = NULL, .has_rtol = true, .rtol = 3},
                                           {.head = other, .has_rtol = true, .rtol = 9}};
  assay_judge_tolerance t = assay_judge_tolerance_of(&head, asked, N_OF(asked));
  assert_true(t.atol == 5 && t.rtol == 3 && t.asked);
  t = assay_judge_tolerance_of(&head, NULL, 0);
  assert_true(t.atol == 1 && t.rtol == 2 && !t.asked);
}

static void integers_may_be_tolerant_when_asked(void **state) {
  (void)state;
  assay_manifest_tensor heads[2];
  assay_manifest manifest = manifest_of(heads, ASSAY_HEAD_INTEGER, 1);
  assay_result result = {0};
  const assay_package_tolerance asked = {.has_atol = true, .atol = 1};
  const row inputs[] = {{"ref.user.y", I64, {1, 2, 3, 4}}}, outputs[] = {{"y", I64, {1, 2, 3, 5}}};
  write_arrays(case_path, inputs, 1);
  write_arrays(outputs_path, outputs, 1);
  assert_int_equal(
      assay_judge_numbers(&manifest, case_path, outputs_path, &asked, 1, &result, NULL), ASSAY_OK);
  assert_int_equal(result.numbers, ASSAY_VERDICT_PASS);
  assay_result_reset(&result);
}

static void survives_memory_failing_at_every_step(void **state) {
  (void)state;
  assay_manifest_tensor heads[2];
  assay_manifest manifest = manifest_of(heads, ASSAY_HEAD_REGRESSION, 1);
  const row inputs[] = {{"ref.f32.y", F32, {1, 2, 3, 9}}, {"mask", F32, {1, 1, 1, 1}}};
  const row outputs[] = {{"y", F16, {1, 2, 3, 4}}};
  manifest.mask_input = name_mask;
  write_arrays(case_path, inputs, 2);
  write_arrays(outputs_path, outputs, 1);
  for (int64_t n = 0;; n++) {
    assay_result result = {0};
    assay_alloc_fail_after(n);
    assay_status st =
        assay_judge_numbers(&manifest, case_path, outputs_path, NULL, 0, &result, NULL);
    assay_alloc_fail_after(-1);
    bool passed = result.numbers == ASSAY_VERDICT_PASS;
    assay_result_reset(&result);
    if (st == ASSAY_OK) return;
    assert_int_equal(st, ASSAY_E_MEMORY);
    assert_false(passed);
  }
}

/* --- compiling -----------------------------------------------------------------------------------
 */

#define STAGES_TO_FIRST                                                                            \
  "[1|assay|worker|stage] session\n[2|o|a|m.cc:1 compile] Model Compile: Begin\n"                  \
  "[1|assay|worker|stage] first_run\n[1|assay|worker|stage] "

static void a_program_compiled_in_a_warm_call_is_no_pass(void **state) {
  (void)state;
  static const struct {
    assay_result_mode mode;
    const char *log, *provider;
    assay_verdict want;
    int64_t later;
  } cases[] = {
      {ASSAY_RESULT_TIMING, STAGES_TO_FIRST "timing\n", "MIGraphXExecutionProvider",
       ASSAY_VERDICT_PASS, 0},
      {ASSAY_RESULT_TIMING, STAGES_TO_FIRST "timing\n[2|o|a|m] Model Compile: Begin\n",
       "MIGraphXExecutionProvider", ASSAY_VERDICT_FAIL, 1},
      {ASSAY_RESULT_PLACEMENT, STAGES_TO_FIRST "placement\n[2|o|a|m] Model Compile: Begin\n",
       "MIGraphXExecutionProvider", ASSAY_VERDICT_FAIL, 1},
      {ASSAY_RESULT_TIMING, STAGES_TO_FIRST "timing\n[2|o|a|m] Model Compile: Begin\n",
       "CUDAExecutionProvider", ASSAY_VERDICT_PASS, 0},
  };
  test_folder where;
  test_folder_open(&where);
  const char *log = test_folder_file(&where, "log.txt");
  char folder_path[1024];
  snprintf(folder_path, sizeof folder_path, "%.*s", (int)(assay_path_name(log) - log), log);
  for (size_t i = 0; i < N_OF(cases); i++) {
    assay_result result = {
        .mode = cases[i].mode, .timed = ASSAY_VERDICT_PASS, .placed = ASSAY_VERDICT_PASS};
    assert_int_equal(assay_file_write(test_folder_file(&where, "log.txt"), cases[i].log,
                                      strlen(cases[i].log), NULL),
                     ASSAY_OK);
    assert_int_equal(assay_judge_compiles(folder_path, cases[i].provider, &result, NULL), ASSAY_OK);
    assert_int_equal(result.compiles.later, cases[i].later);
    assert_int_equal(cases[i].mode == ASSAY_RESULT_TIMING ? result.timed : result.placed,
                     cases[i].want);
  }
  test_folder_close(&where);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(verdicts_are_called_by_their_names),
      cmocka_unit_test(a_missing_mask_is_an_error),
      cmocka_unit_test(tolerances_for_one_head_win_over_those_for_all),
      cmocka_unit_test(integers_may_be_tolerant_when_asked),
      cmocka_unit_test(a_program_compiled_in_a_warm_call_is_no_pass),
      cmocka_unit_test(survives_memory_failing_at_every_step),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
