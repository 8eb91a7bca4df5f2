/* Lines in which ONNX Runtime's CUDA provider says which attention kernel it takes.
 *
 * On stdout, coloured, one for each execution of a node, when the variable
 * ORT_ENABLE_ATTENTION_KERNEL_DEBUG_INFO is set (1.20 and later; 1.19 writes " FLASH_ATTENTION=1"
 * in place of SdpaKernel=):
 *
 *     Operator=MultiHeadAttention Node=attn_0 DataType=fp16 SdpaKernel=FLASH_ATTENTION
 *
 * In the verbose log, for the operator Attention of ONNX's own domain, without a node:
 *
 *     ONNX Attention: using Flash Attention (…)
 *
 * Source: attention_kernel_options.cc and core/providers/cuda/llm/attention.cc, 1.19 to 1.30. */
#ifndef ASSAY_FUSION_DISPATCH_H
#define ASSAY_FUSION_DISPATCH_H

#include "fusion/fusion_parts.h"

#define ASSAY_DISPATCH_FIELD_BYTES 512

/* One such line, read. */
typedef enum assay_dispatch_what {
  ASSAY_DISPATCH_NONE,      /* another line */
  ASSAY_DISPATCH_OPTIONS,   /* what is allowed, once a session: no evidence */
  ASSAY_DISPATCH_SESSION,   /* a log's "Initializing session." */
  ASSAY_DISPATCH_KERNEL,    /* on stdout */
  ASSAY_DISPATCH_LOGGED,    /* in the log */
  ASSAY_DISPATCH_MALFORMED, /* parts of such a line */
} assay_dispatch_what;

typedef struct assay_dispatch_line {
  assay_dispatch_what what;
  char op[64], dtype[32];
  char node[ASSAY_DISPATCH_FIELD_BYTES]; /* "": it does not say */
  char kernel[64];                       /* as the runtime spells it */
  assay_kernel_family family;
} assay_dispatch_line;

void assay_dispatch_line_parse(assay_log_line line, assay_dispatch_line *out);

/* What was seen in all files; all zeroes is a valid empty one. */
typedef struct assay_dispatch {
  struct assay_dispatch_channel {
    size_t n_files, source; /* files with such lines; the first of them */
    size_t *sequence;       /* [n] index of the node's entry in out->kernels, in order */
    size_t n, cap;
    bool all_named;
  } channels[2]; /* stdout, log */
  size_t n_malformed;
} assay_dispatch;

/* Takes the lines of one text. */
void assay_dispatch_take(assay_dispatch *dispatch, assay_fusion_work *work,
                         const assay_fusion_file *file);

/* Judges them all together, once every text has been taken. is_wanted: no line at all is a failure.
 */
void assay_dispatch_judge(const assay_dispatch *dispatch, assay_fusion_work *work, bool is_wanted);

void assay_dispatch_reset(assay_dispatch *dispatch);

#endif
