/* What a kernel is, by its name: in a dispatch line, a compiled program or a profiler's list.
 * Sources: ONNX Runtime's namespaces under contrib_ops/cuda/bert (flash_attention, lean_attention,
 * cutlass_fmha, unfused_attention.cu), its enumeration of attention kernels (1.19 to 1.30);
 * MIGraphX's rule for symbol names (mlir_ and the fused operations, joined by '_'). */
#ifndef ASSAY_FUSION_KERNEL_NAME_H
#define ASSAY_FUSION_KERNEL_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum assay_kernel_family {
  ASSAY_KERNEL_FLASH,
  ASSAY_KERNEL_LEAN,
  ASSAY_KERNEL_EFFICIENT, /* memory-efficient, CUTLASS */
  ASSAY_KERNEL_CUDNN,
  ASSAY_KERNEL_TRT, /* TensorRT's fused ones, self, cross and causal */
  ASSAY_KERNEL_DECODER,
  ASSAY_KERNEL_XQA,
  ASSAY_KERNEL_LATENT,
  ASSAY_KERNEL_MLIR,    /* fused by MIGraphX through rocMLIR */
  ASSAY_KERNEL_CK,      /* by Composable Kernel */
  ASSAY_KERNEL_HELPER,  /* part of a fused one that has been counted: a split's reduction */
  ASSAY_KERNEL_UNFUSED, /* attention in several kernels, beyond doubt */
  ASSAY_KERNEL_SOFTMAX, /* a softmax of its own: unfused attention, or another one of the model's */
  ASSAY_KERNEL_FOREIGN, /* attention of another framework: the profile holds more than the run */
  ASSAY_KERNEL_GEMM,
  ASSAY_KERNEL_COPY, /* copies and fills of the driver's */
  ASSAY_KERNEL_OTHER,
} assay_kernel_family;
#define ASSAY_KERNEL_N_FAMILIES 17

const char *assay_kernel_family_name(assay_kernel_family family); /* "flash", "fused MLIR", … */

/* One kernel that does a whole attention. */
bool assay_kernel_is_fused(assay_kernel_family family);

/* Can a CUDA device of this compute capability (0: not known) have that kernel? Source: what ONNX
 * Runtime's providers check before they choose one. */
bool assay_kernel_is_possible(assay_kernel_family family, int64_t sm);

/* The family of "FLASH_ATTENTION", "MATH", …: the runtime's words. false for another word. */
bool assay_kernel_of_word(const char *word, assay_kernel_family *out);

/* The same for what a user types: those, their short forms and the names of the fused families;
 * case and '-' against '_' do not matter. */
bool assay_kernel_of_allowed(const char *word, assay_kernel_family *out);

/* The family of a kernel of a GPU or of a code object, by its (demangled or mangled) name. */
assay_kernel_family assay_kernel_of_name(const char *name, size_t n);

/* Is this a MIGraphX symbol of a whole attention? mlir first, at least two tokens dot, and between
 * the first and the last of them softmax, or reduce_max, exp, reduce_sum and div in that order. */
bool assay_kernel_is_mlir_attention(const char *name, size_t n);

/* Is token one of the parts of name between underscores? token may itself hold underscores. */
bool assay_kernel_has_token(const char *name, size_t n, const char *token);

#endif
