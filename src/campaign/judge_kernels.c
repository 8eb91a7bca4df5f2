#include "campaign/judge_kernels.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "campaign/worker.h"
#include "fusion/required.h"
#include "package/fields.h"

static assay_status list_required(unsigned bits, assay_result_kernels *out, assay_error *err) {
  out->required = assay_alloc_array(3, sizeof *out->required);
  if (out->required == NULL) return assay_fail_memory(err, 64);
  for (unsigned bit = 1; bit != 0 && bit <= bits; bit <<= 1) {
    if ((bits & bit) == 0) continue;
    out->required[out->n_required] =
        assay_strdup(assay_runtime_evidence_name((assay_runtime_evidence)bit));
    if (out->required[out->n_required] == NULL) return assay_fail_memory(err, 64);
    out->n_required++;
  }
  return ASSAY_OK;
}

static assay_status take_answer(const assay_required_answer *answer, assay_result_kernels *out,
                                assay_error *err) {
  snprintf(out->verdict, sizeof out->verdict, "%s", assay_fusion_verdict_name(answer->verdict));
  char *reason = assay_fields_printable(answer->reason);
  if (reason == NULL) return assay_fail_memory(err, 256);
  snprintf(out->reason, sizeof out->reason, "%s", reason);
  assay_free(reason);
  out->expected = answer->expected;
  out->found = answer->found;
  out->evidence = assay_alloc_array(answer->n_lines, sizeof *out->evidence);
  if (out->evidence == NULL) return assay_fail_memory(err, 256);
  for (size_t i = 0; i < answer->n_lines; i++) {
    out->evidence[i] = assay_fields_printable(answer->lines[i]);
    if (out->evidence[i] == NULL) return assay_fail_memory(err, 256);
    out->n_evidence++;
  }
  return ASSAY_OK;
}

assay_status assay_judge_kernels(const char *folder, const assay_manifest *manifest,
                                 const assay_manifest_case *one, const char *model_sha256,
                                 const assay_runtime_spec *runtime, int64_t n_calls,
                                 assay_result_kernels *out, assay_error *err) {
  unsigned bits = runtime->required_evidence;
  assay_required_answer answer = {0};
  if (bits == 0) return ASSAY_OK;
  out->known = true;
  ASSAY_TRY(list_required(bits, out, err));
  char *talk = assay_path_join(folder, "stdout.txt");
  char *log = assay_path_join(folder, ASSAY_WORKER_LOG_FILE);
  const assay_required question = {.flash_attention = (bits & ASSAY_RUNTIME_FLASH_ATTENTION) != 0,
                                   .fused_attention = (bits & ASSAY_RUNTIME_FUSED_ATTENTION) != 0,
                                   .integer_tensors = (bits & ASSAY_RUNTIME_INTEGER_TENSORS) != 0,
                                   .talk_path = talk,
                                   .log_path = log,
                                   .graph_sha256 = model_sha256,
                                   .attention_ops = manifest->attention_ops,
                                   .fused_attention_ops = manifest->fused_attention_ops,
                                   .n_calls = n_calls,
                                   .n_elems = one->n};
  assay_status st = talk != NULL && log != NULL ? assay_required_judge(&question, &answer, err)
                                                : assay_fail_memory(err, 256);
  if (st == ASSAY_OK) st = take_answer(&answer, out, err);
  assay_required_answer_reset(&answer);
  assay_free(talk);
  assay_free(log);
  return st;
}
