/* What a runtime requires beyond placement, judged from the talk and the log of one of its runs:
 * the question that the words of its file stand for. */
#ifndef ASSAY_FUSION_REQUIRED_H
#define ASSAY_FUSION_REQUIRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "fusion/fusion.h"

#define ASSAY_REQUIRED_LINES_MAX 12

typedef struct assay_required {
  bool flash_attention; /* dispatch lines: every attention operation in a flash kernel */
  bool fused_attention; /* compiled programs: as many fused as there are operations */
  bool integer_tensors; /* compiled programs: integers stay integers */
  const char *talk_path, *log_path; /* stdout of the process, log of the session */
  const char *graph_sha256;
  int64_t attention_ops, fused_attention_ops; /* of the manifest */
  int64_t n_calls, n_elems;
} assay_required;

typedef struct assay_required_answer {
  assay_fusion_verdict verdict;
  char reason[384];
  int64_t expected, found;
  char *lines[ASSAY_REQUIRED_LINES_MAX]; /* "stdout.txt:12: …", owned */
  size_t n_lines;
} assay_required_answer;

/* At least one of the three is asked for. Errors: ARGUMENT, MEMORY. */
assay_status assay_required_judge(const assay_required *question, assay_required_answer *out,
                                  assay_error *err) ASSAY_NODISCARD;
void assay_required_answer_reset(assay_required_answer *answer);

#endif
