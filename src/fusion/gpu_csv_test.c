/* Tests of gpu_csv.c: lists as the profilers print them in other forms, and with something lost. */
#include "fusion/gpu_csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

#define PASS    ASSAY_FUSION_PASS
#define FAIL    ASSAY_FUSION_FAIL
#define UNKNOWN ASSAY_FUSION_UNKNOWN

#define BOM     "\xef\xbb\xbf"
#define FLASH   "void onnxruntime::flash::flash_fwd_kernel<T>(P)"
#define UNFUSED "void onnxruntime::contrib::cuda::UnfusedSoftmaxKernel<T>(P)"
#define MLIR    "mlir_dot_reduce_max_sub_exp_reduce_sum_div_dot"

/* Two fused operations, three calls. */
#define SUM   "Time (%),Total Time (ns),Instances,Avg (ns),Name\n"
#define SUMS  "60.0,600,6,100.0," FLASH "\n40.0,400,9,44.4,gemm\n"
#define GRID  "CorrId,GrdX,GrdY,GrdZ,Device,Ctx,Strm,Name\n"
#define ROW   ",80,1,8,8,1,H100 (0),1,7," FLASH "\n"
#define ROWS  "1" ROW "2" ROW "3" ROW "4" ROW "5" ROW "6" ROW
#define OTHER "7,80,7,8,8,1,H100 (0),1,7," UNFUSED "\n"
#define STATS "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n"
#define CALLS STATS "\"hipLaunchKernel\",15,900,60.0,90.0\n\"hipMalloc\",3,100,33.3,10.0\n"
#define GUID  "\"Guid\",\"Kind\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n"
#define GROW  "\"0000157e-8d56\",\"KERNEL_DISPATCH\",\"" MLIR "\",1,2\n"
#define MATH                                                                                       \
  "Operator=MultiHeadAttention Node=a DataType=fp16 SdpaKernel=MATH\n"                             \
  "Operator=MultiHeadAttention Node=b DataType=fp16 SdpaKernel=MATH\n"

static const struct {
  const char *text;
  int64_t pid;
  assay_fusion_verdict verdict;
  const char *reason; /* part of it */
} rows[] = {
    {SUM SUMS, 0, PASS, ""},
    {BOM SUM SUMS, 0, PASS, ""},
    {BOM SUM "60.0,600,6,100.0," FLASH "\n", 0, UNKNOWN, "the shares"},
    {"Time (%),Total Time (us),Instances,Avg (us),Name\n60.0,0.600,6,0.1," FLASH
     "\n40.0,0.400,9,0.0,gemm\n",
     0, PASS, ""},
    {"Time (%)\tTotal Time (ns)\tInstances\tName\n60.0\t600\t6\t" FLASH "\n40.0\t400\t9\tgemm\n", 0,
     PASS, ""},
    {"Time (%);Total Time (ns);Instances;Name\n60.0;600;6;" FLASH "\n40.0;400;9;gemm\n", 0, PASS,
     ""},
    {"Time (%);Total Time (ns);Instances;Name\n60,0;600;6;" FLASH "\n40,0;400;9;gemm\n", 0, UNKNOWN,
     "header's form"},
    /* Lists of something else beside it. */
    {"Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid\n1,2,cudaMalloc,0,1,42,42\n\n" SUM SUMS,
     0, PASS, ""},
    {SUM SUMS "\nStart (ns),End (ns),Duration (ns),Name,PID,TID\n1,2,1,run,42,42\n", 0, PASS, ""},
    {SUM SUMS "\nTime (%),Total Time (ns),Num Calls,Avg (ns),Name\n99.0,9,9,1.0,cudaMalloc\n", 0,
     PASS, ""},
    {STATS "\"" MLIR "\",6,900,150.0,90.0\n\"mlir_dot\",6,100,16.7,10.0\n", 0, PASS, ""},
    {CALLS, 0, UNKNOWN, "nothing was shown"},
    /* Traces. */
    {"Start (ns),Duration (ns)," GRID ROWS, 0, PASS, ""},
    {"Start(ns),Duration(ns)," GRID ROWS, 0, PASS, ""},
    {"Start (us),Duration (us)," GRID ROWS, 0, PASS, ""},
    {"Start (ns),Duration (ns)," GRID ROWS OTHER, 0, FAIL, "unfused attention ran"},
    {"Start (ns),Duration (ns)," GRID ROWS "\n" OTHER, 0, FAIL, "unfused attention ran"},
    {"Start (ns),Duration (ns)," GRID "\n" ROWS, 0, UNKNOWN, "behind an empty line"},
    {"Start (ns),Duration (ns)," GRID "1" ROW "2" ROW "3,80,1,8,8,1,H100", 0, UNKNOWN, "cut"},
    /* A byte of a name is damaged. */
    {"Start (ns),Duration (ns)," GRID ROWS "7,80,7,8,8,1,H100 (0),1,7,Unf\xc3sedSoftmaxKernel\n", 0,
     UNKNOWN, "without a name"},
    {"Start (ns),Duration (ns)," GRID ROWS "7,80,7,8,8,1,H100 (0),1,7,Unf\x14sedSoftmaxKernel\n", 0,
     UNKNOWN, "without a name"},
    /* A globally unique name is no number of a process. */
    {GUID GROW GROW GROW GROW GROW GROW, 4242, PASS, ""},
    /* Dispatch lines in the same text. */
    {MATH "\n" SUM SUMS, 0, FAIL, "ran MATH"},
    {SUM SUMS "\n" MATH, 0, FAIL, "ran MATH"},
    /* Forms that are not read. */
    {" Time (%)  Total Time (ns)  Instances  Name\n --------  ------  ---  ----\n 60.0  600  6  "
     "x\n",
     0, UNKNOWN, "in a form that is not read"},
    {"[{\"Time (%)\":60.0,\"Total Time (ns)\":600,\"Instances\":6,\"Name\":\"x\"}]\n", 0, UNKNOWN,
     "in a form that is not read"},
};

static void lists_get_their_right_verdict(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_fusion_source source = {
        .name = "list", .bytes = rows[i].text, .size_bytes = strlen(rows[i].text)};
    assay_fusion_spec spec = {
        .sources = &source, .n_sources = 1, .expect_fused = 2, .n_calls = 3, .pid = rows[i].pid};
    assay_fusion f = {0};
    assay_error err = {0};
    if (assay_fusion_judge(&spec, &f, &err)) fail_msg("row %zu: %s", i, err.text);
    if (f.verdict != rows[i].verdict || strstr(f.reason, rows[i].reason) == NULL)
      fail_msg("row %zu: %s '%s', expected %s '%s'", i, assay_fusion_verdict_name(f.verdict),
               f.reason, assay_fusion_verdict_name(rows[i].verdict), rows[i].reason);
    assay_fusion_reset(&f);
  }
}

/* Beside a list of kernels that passes, calls of the interface are no kernels that are missing. */
static void a_list_of_calls_beside_it_changes_nothing(void **state) {
  static const char list[] = STATS "\"" MLIR "\",6,900,150.0,90.0\n\"mlir_dot\",6,100,16.7,10.0\n";
  const assay_fusion_source sources[] = {
      {.name = "kernels", .bytes = list, .size_bytes = strlen(list)},
      {.name = "calls", .bytes = CALLS, .size_bytes = strlen(CALLS)}};
  const assay_fusion_spec spec = {
      .sources = sources, .n_sources = 2, .expect_fused = 2, .n_calls = 3};
  assay_fusion f = {0};
  (void)state;
  assert_int_equal(assay_fusion_judge(&spec, &f, NULL), ASSAY_OK);
  if (f.verdict != PASS) fail_msg("%s '%s'", assay_fusion_verdict_name(f.verdict), f.reason);
  assert_int_equal(f.n_fused, 6);
  assay_fusion_reset(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_get_their_right_verdict),
      cmocka_unit_test(a_list_of_calls_beside_it_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
