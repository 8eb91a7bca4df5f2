/* Tests of dispatch.c: lines of all versions, and parts of them. */
#include "fusion/dispatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

static void lines_are_read_or_told_damaged(void **state) {
  static const struct {
    const char *text;
    assay_dispatch_what what;
    const char *op, *node, *dtype, *kernel;
    assay_kernel_family family;
  } rows[] = {
      {"\033[36mOperator=Attention Node=a DataType=fp16 SdpaKernel=FLASH_ATTENTION\033[0m",
       ASSAY_DISPATCH_KERNEL, "Attention", "a", "fp16", "FLASH_ATTENTION", ASSAY_KERNEL_FLASH},
      {"Operator=GroupQueryAttention Node=/x y=1/ DataType=bf16 SdpaKernel=XQA GqaGroupSize=4",
       ASSAY_DISPATCH_KERNEL, "GroupQueryAttention", "/x y=1/", "bf16", "XQA", ASSAY_KERNEL_XQA},
      {"Operator=Attention DataType=fp32 SdpaKernel=MATH", ASSAY_DISPATCH_KERNEL, "Attention", "",
       "fp32", "MATH", ASSAY_KERNEL_UNFUSED},
      {"Operator=MultiHeadAttention Node=m DataType=fp16 MATH=1", ASSAY_DISPATCH_KERNEL,
       "MultiHeadAttention", "m", "fp16", "MATH", ASSAY_KERNEL_UNFUSED},
      {"[0|onnxruntime|Default|attention.cc:8 f] ONNX Attention: using cuDNN SDPA (decode)",
       ASSAY_DISPATCH_LOGGED, "Attention", "", "", "cuDNN SDPA", ASSAY_KERNEL_CUDNN},
      {"2026-05-20 10:11:12.3 [V:onnxruntime:Default, attention.cc:8 f] Attention: using unified "
       "unfused path (fp16)",
       ASSAY_DISPATCH_LOGGED, "Attention", "", "", "unified unfused path", ASSAY_KERNEL_UNFUSED},
      {"AttentionKernelOptions: FLASH_ATTENTION=1 MATH=1", ASSAY_DISPATCH_OPTIONS, "", "", "", "",
       ASSAY_KERNEL_FLASH},
      {"Warning: Unfused kernel cannot be disabled right now. MATH=0 is ignored.",
       ASSAY_DISPATCH_NONE, "", "", "", "", ASSAY_KERNEL_FLASH},
      {"[1|onnxruntime|x|inference_session.cc:1 f] Initializing session.", ASSAY_DISPATCH_SESSION,
       "", "", "", "", ASSAY_KERNEL_FLASH},
      {"GraphTransformer AttentionFusion modified: 0 with status: OK", ASSAY_DISPATCH_NONE, "", "",
       "", "", ASSAY_KERNEL_FLASH},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_dispatch_line line;
    assay_dispatch_line_parse(
        (assay_log_line){.text = assay_span_of(rows[i].text), .is_ended = true}, &line);
    if (line.what != rows[i].what) fail_msg("%s: %d", rows[i].text, (int)line.what);
    assert_string_equal(line.op, rows[i].op);
    assert_string_equal(line.node, rows[i].node);
    assert_string_equal(line.dtype, rows[i].dtype);
    assert_string_equal(line.kernel, rows[i].kernel);
    assert_int_equal(line.family, rows[i].family);
  }
}

static void parts_of_lines_are_damage(void **state) {
  static const char *const rows[] = {
      "Operator=Attention Node=a DataType=fp16 SdpaKernel=",
      "Operator=Attention Node=a DataType=fp16",
      "Operator=Attention Node=a DataType=fp16 ",
      "Operator=Attention Node=a SdpaKernel=FLASH_ATTENTION",
      "Operator=Attention DataType=fp16 SdpaKernel=FLASH_ATTENT",
      "Operator=Attention DataType=fp16 SdpaKernel=FASTEST",
      "Operator=AttOperator=Attention DataType=fp16 SdpaKernel=FLASH_ATTENTION",
      "x Operator=Attention DataType=fp16 SdpaKernel=FLASH_ATTENTION",
      "Operator=Attention DataType=fp16 SdpaKernel=MATH SdpaKernel=FLASH_ATTENTION",
      "Operator=Attention DataType=fp16 FLASH_ATTENTION=1 MATH=1",
      "Operator=Attention DataType=fp16 FLASH_ATTENTION=0",
      "\033[36Operator=Attention DataType=fp16 SdpaKernel=FLASH_ATTENTION",
      "taType=fp16 SdpaKernel=FLASH_ATTENTION",
      "[0|o|D|a] ONNX Attention: using Warp Attention (x)",
      "[0|o|D|a] ONNX Attention: using Flash Attentions (x)",
      "ONNX Attention: using Flash Attention [0|o|D|a] ONNX Attention: using Flash Attention",
      "and ONNX Attention: using Flash Attention",
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_dispatch_line line;
    assay_dispatch_line_parse((assay_log_line){.text = assay_span_of(rows[i]), .is_ended = true},
                              &line);
    if (line.what != ASSAY_DISPATCH_MALFORMED) fail_msg("%s: %d", rows[i], (int)line.what);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_are_read_or_told_damaged),
      cmocka_unit_test(parts_of_lines_are_damage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
