/* Names are looked at in the order of certainty: what says its family outright comes first. */
#include "fusion/kernel_name.h"

#include <ctype.h>
#include <string.h>

#include "fusion/log_text.h"

static const char *const family_names[ASSAY_KERNEL_N_FAMILIES] = {
    [ASSAY_KERNEL_FLASH] = "flash",
    [ASSAY_KERNEL_LEAN] = "lean",
    [ASSAY_KERNEL_EFFICIENT] = "memory-efficient",
    [ASSAY_KERNEL_CUDNN] = "cuDNN",
    [ASSAY_KERNEL_TRT] = "TensorRT fused",
    [ASSAY_KERNEL_DECODER] = "decoder",
    [ASSAY_KERNEL_XQA] = "XQA",
    [ASSAY_KERNEL_LATENT] = "latent",
    [ASSAY_KERNEL_MLIR] = "fused MLIR",
    [ASSAY_KERNEL_CK] = "fused CK",
    [ASSAY_KERNEL_HELPER] = "helper",
    [ASSAY_KERNEL_UNFUSED] = "unfused",
    [ASSAY_KERNEL_SOFTMAX] = "softmax",
    [ASSAY_KERNEL_FOREIGN] = "foreign",
    [ASSAY_KERNEL_GEMM] = "GEMM",
    [ASSAY_KERNEL_COPY] = "copy",
    [ASSAY_KERNEL_OTHER] = "other",
};

const char *assay_kernel_family_name(assay_kernel_family family) {
  return family_names[family];
}

bool assay_kernel_is_fused(assay_kernel_family family) {
  return family <= ASSAY_KERNEL_CK;
}

bool assay_kernel_is_possible(assay_kernel_family family, int64_t sm) {
  if (!assay_kernel_is_fused(family)) return false;
  if (sm == 0) return true;
  switch (family) {
  case ASSAY_KERNEL_FLASH:
  case ASSAY_KERNEL_LEAN:
  case ASSAY_KERNEL_CUDNN:
  case ASSAY_KERNEL_XQA:
  case ASSAY_KERNEL_LATENT:
    return sm >= 80;
  case ASSAY_KERNEL_TRT:
    return sm >= 70;
  case ASSAY_KERNEL_MLIR:
  case ASSAY_KERNEL_CK:
    return false; /* not CUDA's */
  default:
    return sm >= 50;
  }
}

typedef struct family_word {
  const char *word;
  assay_kernel_family family;
} family_word;

/* The runtime's; FT_CAUSAL is a TensorRT kernel by an older name. */
static const family_word runtime_words[] = {
    {"FLASH_ATTENTION", ASSAY_KERNEL_FLASH},
    {"LEAN_ATTENTION", ASSAY_KERNEL_LEAN},
    {"EFFICIENT_ATTENTION", ASSAY_KERNEL_EFFICIENT},
    {"CUDNN_FLASH_ATTENTION", ASSAY_KERNEL_CUDNN},
    {"TRT_FUSED_ATTENTION", ASSAY_KERNEL_TRT},
    {"TRT_FLASH_ATTENTION", ASSAY_KERNEL_TRT},
    {"TRT_CROSS_ATTENTION", ASSAY_KERNEL_TRT},
    {"TRT_CAUSAL_ATTENTION", ASSAY_KERNEL_TRT},
    {"FT_CAUSAL_ATTENTION", ASSAY_KERNEL_TRT},
    {"DECODER_ATTENTION", ASSAY_KERNEL_DECODER},
    {"XQA", ASSAY_KERNEL_XQA},
    {"LATENT_ATTENTION", ASSAY_KERNEL_LATENT},
    {"MATH", ASSAY_KERNEL_UNFUSED},
};

static const family_word short_words[] = {
    {"FLASH", ASSAY_KERNEL_FLASH},
    {"LEAN", ASSAY_KERNEL_LEAN},
    {"EFFICIENT", ASSAY_KERNEL_EFFICIENT},
    {"MEMORY_EFFICIENT", ASSAY_KERNEL_EFFICIENT},
    {"CUDNN", ASSAY_KERNEL_CUDNN},
    {"CUDNN_FLASH", ASSAY_KERNEL_CUDNN},
    {"TRT", ASSAY_KERNEL_TRT},
    {"DECODER", ASSAY_KERNEL_DECODER},
    {"LATENT", ASSAY_KERNEL_LATENT},
    {"MLIR", ASSAY_KERNEL_MLIR},
    {"CK", ASSAY_KERNEL_CK},
};

static bool same_word(const char *a, const char *b) {
  for (; *a != '\0' && *b != '\0'; a++, b++) {
    char x = *a == '-' ? '_' : (char)toupper((unsigned char)*a);
    if (x != *b) return false;
  }
  return *a == *b;
}

bool assay_kernel_of_word(const char *word, assay_kernel_family *out) {
  for (size_t i = 0; i < sizeof runtime_words / sizeof *runtime_words; i++)
    if (strcmp(word, runtime_words[i].word) == 0) {
      *out = runtime_words[i].family;
      return true;
    }
  return false;
}

bool assay_kernel_of_allowed(const char *word, assay_kernel_family *out) {
  for (size_t i = 0; i < sizeof runtime_words / sizeof *runtime_words; i++)
    if (same_word(word, runtime_words[i].word)) {
      *out = runtime_words[i].family;
      return true;
    }
  for (size_t i = 0; i < sizeof short_words / sizeof *short_words; i++)
    if (same_word(word, short_words[i].word)) {
      *out = short_words[i].family;
      return true;
    }
  return false;
}

/* --- MIGraphX symbols ------------------------------------------------------------------------- */

/* Where the token begins at or after `from`, between underscores or the ends; n when it does not.
 */
static size_t find_token(const char *name, size_t n, size_t from, const char *token) {
  size_t m = strlen(token);
  for (size_t i = from; i + m <= n; i++) {
    bool begins = i == 0 || name[i - 1] == '_';
    bool ends = i + m == n || name[i + m] == '_';
    if (begins && ends && memcmp(name + i, token, m) == 0) return i;
  }
  return n;
}

bool assay_kernel_has_token(const char *name, size_t n, const char *token) {
  return find_token(name, n, 0, token) < n;
}

/* reduce_max, exp, reduce_sum and div in that order within [from, n). */
static bool has_softmax_in_parts(const char *name, size_t n, size_t from) {
  static const char *const parts[] = {"reduce_max", "exp", "reduce_sum", "div"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    from = find_token(name, n, from, parts[i]);
    if (from == n) return false;
  }
  return true;
}

bool assay_kernel_is_mlir_attention(const char *name, size_t n) {
  if (find_token(name, n, 0, "mlir") != 0) return false;
  size_t first = find_token(name, n, 0, "dot"), last = first;
  for (size_t at = first; at < n; at = find_token(name, n, at + 1, "dot")) last = at;
  if (last <= first) return false; /* none, or only one */
  size_t between = last - 1;       /* without the underscore before the last dot */
  return find_token(name, between, first, "softmax") < between ||
         has_softmax_in_parts(name, between, first);
}

/* --- kernels of a GPU ------------------------------------------------------------------------- */

static bool holds(assay_text_span name, const char *part) {
  return assay_span_find(name, part, 0) < name.n;
}

static bool holds_any(assay_text_span name, const char *const *parts, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (holds(name, parts[i])) return true;
  return false;
}
#define HOLDS_ANY(name, parts) holds_any(name, parts, sizeof(parts) / sizeof *(parts))

/* FlashAttention of another package has the same names without the runtime's namespace. A short
 * name has none at all, and says nothing. */
static bool is_flash_of_another(assay_text_span name) {
  bool has_namespace = holds(name, "flash::flash_fwd") || holds(name, "5flash");
  return has_namespace && holds(name, "flash_fwd") && !holds(name, "onnxruntime");
}

static bool of_another_framework(assay_text_span name) {
  static const char *const parts[] = {"pytorch_flash", "fmha_cutlassF", "fmha_cutlassB",
                                      "vllm",          "at::native",    "FLASH_NAMESPACE"};
  return HOLDS_ANY(name, parts) || is_flash_of_another(name);
}

static assay_kernel_family cuda_attention(assay_text_span name) {
  static const char *const unfused[] = {"UnfusedSoftmaxKernel", "ScaledCopyQkKernel",
                                        "MaskedSoftmaxKernel", "SoftmaxWithRawMask",
                                        "attention_softmax"};
  static const char *const trt[] = {"fmha_v2_", "fused_multihead_attention", "fmhca_"};
  if (holds(name, "flash_fwd_splitkv_combine")) return ASSAY_KERNEL_HELPER;
  if (holds(name, "flash_fwd")) return ASSAY_KERNEL_FLASH;
  if (holds(name, "lean_fwd")) return ASSAY_KERNEL_LEAN;
  if (holds(name, "attention_kernel_batched_impl")) return ASSAY_KERNEL_EFFICIENT;
  if (holds(name, "cudnn") && holds(name, "sdpa")) return ASSAY_KERNEL_CUDNN;
  if (HOLDS_ANY(name, trt)) return ASSAY_KERNEL_TRT;
  if (HOLDS_ANY(name, unfused)) return ASSAY_KERNEL_UNFUSED;
  return ASSAY_KERNEL_OTHER;
}

/* mlir_… and ck_… are MIGraphX's; its own kernels end in "_kernel". */
static assay_kernel_family migraphx_kernel(assay_text_span name) {
  if (assay_kernel_is_mlir_attention(name.text, name.n)) return ASSAY_KERNEL_MLIR;
  if (assay_span_begins(name, "ck_gemm_softmax_gemm")) return ASSAY_KERNEL_CK;
  if (assay_span_begins(name, "mlir_"))
    return assay_kernel_has_token(name.text, name.n, "dot") ? ASSAY_KERNEL_GEMM
                                                            : ASSAY_KERNEL_OTHER;
  if (assay_kernel_has_token(name.text, name.n, "softmax")) return ASSAY_KERNEL_SOFTMAX;
  if (has_softmax_in_parts(name.text, name.n, 0)) return ASSAY_KERNEL_SOFTMAX;
  return ASSAY_KERNEL_OTHER;
}

assay_kernel_family assay_kernel_of_name(const char *text, size_t n) {
  static const char *const gemms[] = {"Cijk_", "gemm", "Gemm", "GEMM", "cublas", "nvjet", "xmma"};
  static const char *const copies[] = {"__amd_rocclr_", "memcpy", "Memcpy", "memset", "Memset"};
  static const char *const softmaxes[] = {"softmax", "Softmax"};
  assay_text_span name = {.text = text, .n = n};
  if (assay_span_ends(name, ".kd")) name.n -= 3; /* the suffix of a kernel descriptor */
  if (of_another_framework(name)) return ASSAY_KERNEL_FOREIGN;
  assay_kernel_family family = cuda_attention(name);
  if (family == ASSAY_KERNEL_OTHER) family = migraphx_kernel(name);
  if (family != ASSAY_KERNEL_OTHER) return family;
  if (HOLDS_ANY(name, copies)) return ASSAY_KERNEL_COPY;
  if (HOLDS_ANY(name, softmaxes)) return ASSAY_KERNEL_SOFTMAX;
  return HOLDS_ANY(name, gemms) ? ASSAY_KERNEL_GEMM : ASSAY_KERNEL_OTHER;
}
