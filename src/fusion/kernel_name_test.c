/* Tests of kernel_name.c: names of kernels as runtimes, compilers and profilers spell them. */
#include "fusion/kernel_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

#define PARTS "reduce_max_reshape_sub_exp_reshape_reduce_sum_reshape_div"

static void kernels_are_told_by_their_names(void **state) {
  static const struct {
    const char *name;
    assay_kernel_family family;
  } rows[] = {
      {"void onnxruntime::flash::flash_fwd_kernel<onnxruntime::flash::Flash_fwd_kernel_traits<32>>",
       ASSAY_KERNEL_FLASH},
      {"flash_fwd_kernel", ASSAY_KERNEL_FLASH},
      {"void onnxruntime::flash::flash_fwd_splitkv_kernel<T>(P)", ASSAY_KERNEL_FLASH},
      {"void onnxruntime::flash::flash_fwd_splitkv_combine_kernel<T>(P)", ASSAY_KERNEL_HELPER},
      {"void pytorch_flash::flash_fwd_kernel<T>(P)", ASSAY_KERNEL_FOREIGN},
      {"void flash::flash_fwd_kernel<flash::Flash_fwd_kernel_traits<32>>(P)", ASSAY_KERNEL_FOREIGN},
      {"_ZN5flash16flash_fwd_kernelI1TEEvNS_16Flash_fwd_paramsE", ASSAY_KERNEL_FOREIGN},
      {"_ZN11onnxruntime5flash16flash_fwd_kernelI1TEEvNS0_16Flash_fwd_paramsE", ASSAY_KERNEL_FLASH},
      {"fmha_cutlassF_f16_aligned_64x64_rf_sm80(P)", ASSAY_KERNEL_FOREIGN},
      {"void attention_kernel_batched_impl<AttentionKernel<cutlass::half_t>>(P)",
       ASSAY_KERNEL_EFFICIENT},
      {"cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_7", ASSAY_KERNEL_CUDNN},
      {"fmha_v2_flash_attention_fp16_S_40_sm80_kernel", ASSAY_KERNEL_TRT},
      {"void onnxruntime::contrib::cuda::(anonymous namespace)::UnfusedSoftmaxKernel<float, 256>",
       ASSAY_KERNEL_UNFUSED},
      {"ScaledCopyQkKernel", ASSAY_KERNEL_UNFUSED},
      {"GqaUnfusedSoftmaxKernel", ASSAY_KERNEL_UNFUSED},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false>(P)",
       ASSAY_KERNEL_SOFTMAX},
      {"mlir_transpose_dot_mul_where_convert_reshape_" PARTS "_convert_dot", ASSAY_KERNEL_MLIR},
      {"mlir_dot_" PARTS "_dot_transpose_reshape.kd", ASSAY_KERNEL_MLIR},
      {"mlir_dot_add_softmax_dot", ASSAY_KERNEL_MLIR},
      {"mlir_dot_add_softmax", ASSAY_KERNEL_GEMM},                       /* one product only */
      {"mlir_dot_dot_softmax", ASSAY_KERNEL_GEMM},                       /* not between them */
      {"mlir_softmax_dot_add_dot", ASSAY_KERNEL_GEMM},                   /* before them */
      {"mlir_dot_exp_reduce_max_reduce_sum_div_dot", ASSAY_KERNEL_GEMM}, /* another order */
      {"mlir_dots_softmax_dot", ASSAY_KERNEL_GEMM},
      {"xmlir_dot_softmax_dot", ASSAY_KERNEL_SOFTMAX},
      {"mlir_transpose_dot", ASSAY_KERNEL_GEMM},
      {"ck_gemm_softmax_gemm_kernel", ASSAY_KERNEL_CK},
      {"mul_where_convert_reduce_max_sub_exp_reduce_sum_div_convert_kernel", ASSAY_KERNEL_SOFTMAX},
      {"softmax_kernel", ASSAY_KERNEL_SOFTMAX},
      {"Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI16x16x16x1_SN_ISA1100", ASSAY_KERNEL_GEMM},
      {"ampere_fp16_s16816gemm_fp16_64x64", ASSAY_KERNEL_GEMM},
      {"__amd_rocclr_copyBuffer.kd", ASSAY_KERNEL_COPY},
      {"add_relu_kernel", ASSAY_KERNEL_OTHER},
      {"", ASSAY_KERNEL_OTHER},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_kernel_family found = assay_kernel_of_name(rows[i].name, strlen(rows[i].name));
    if (found != rows[i].family)
      fail_msg("'%s' is %s, expected %s", rows[i].name, assay_kernel_family_name(found),
               assay_kernel_family_name(rows[i].family));
  }
}

static void users_may_write_short_words(void **state) {
  static const struct {
    const char *word;
    assay_kernel_family family;
  } rows[] = {
      {"FLASH_ATTENTION", ASSAY_KERNEL_FLASH},       {"flash", ASSAY_KERNEL_FLASH},
      {"memory-efficient", ASSAY_KERNEL_EFFICIENT},  {"Math", ASSAY_KERNEL_UNFUSED},
      {"cudnn_flash_attention", ASSAY_KERNEL_CUDNN}, {"mlir", ASSAY_KERNEL_MLIR},
  };
  assay_kernel_family found;
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assert_true(assay_kernel_of_allowed(rows[i].word, &found));
    assert_int_equal(found, rows[i].family);
  }
  assert_false(assay_kernel_of_allowed("fastest", &found));
  assert_false(assay_kernel_of_word("flash", &found)); /* the runtime's are exact */
  assert_true(assay_kernel_of_word("MATH", &found));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_are_told_by_their_names),
      cmocka_unit_test(users_may_write_short_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
