#include "fusion/required.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* Attention operations that a call must show fused: those that the export fused, or those that a
 * compiler must. Where only integers are asked for, none. */
static int64_t expected_of(const assay_required *q) {
  if (q->flash_attention) return q->fused_attention_ops;
  if (!q->fused_attention) return 0;
  return q->fused_attention_ops > 0 ? q->fused_attention_ops : q->attention_ops;
}

static assay_status take_line(const assay_fusion *fusion, const assay_fusion_finding *finding,
                              assay_required_answer *out, assay_error *err) {
  const char *name =
      finding->source < fusion->n_sources ? fusion->sources[finding->source].name : "";
  out->lines[out->n_lines] =
      finding->line > 0 ? assay_format("%s:%zu: %s", name, finding->line,
                                       finding->excerpt != NULL ? finding->excerpt : finding->text)
                        : assay_format("%s: %s", name, finding->text);
  if (out->lines[out->n_lines] == NULL) return assay_fail_memory(err, 256);
  out->n_lines++;
  return ASSAY_OK;
}

/* Offences first, then doubts, then proofs. */
static assay_status take_lines(const assay_fusion *fusion, assay_required_answer *out,
                               assay_error *err) {
  static const assay_fusion_level order[] = {ASSAY_FUSION_OFFENCE, ASSAY_FUSION_DOUBT,
                                             ASSAY_FUSION_PROOF};
  for (size_t k = 0; k < sizeof order / sizeof order[0]; k++)
    for (size_t i = 0; i < fusion->n_findings && out->n_lines < ASSAY_REQUIRED_LINES_MAX; i++)
      if (fusion->findings[i].level == order[k])
        ASSAY_TRY(take_line(fusion, &fusion->findings[i], out, err));
  return ASSAY_OK;
}

assay_status assay_required_judge(const assay_required *question, assay_required_answer *out,
                                  assay_error *err) {
  static const char *const flash[] = {"flash"};
  const assay_fusion_source sources[] = {{.name = "stdout.txt", .path = question->talk_path},
                                         {.name = "log.txt", .path = question->log_path}};
  assay_required_answer answer = {.expected = expected_of(question)};
  const assay_fusion_spec spec = {
      .sources = sources,
      .n_sources = 2,
      .kind = question->flash_attention ? ASSAY_FUSION_DISPATCH : ASSAY_FUSION_MIGRAPHX,
      .expect_fused = answer.expected,
      .n_calls = question->n_calls,
      .n_elems = question->n_elems,
      .n_programs = question->flash_attention ? 0 : 1, /* a session compiles its graph once */
      .allowed = question->flash_attention ? flash : NULL,
      .n_allowed = question->flash_attention ? 1 : 0,
      .graph_sha256 = question->graph_sha256};
  assay_fusion fusion = {0};
  ASSAY_TRY(assay_fusion_judge(&spec, &fusion, err));
  answer.verdict = fusion.verdict;
  answer.found = fusion.n_fused;
  snprintf(answer.reason, sizeof answer.reason, "%s", fusion.reason);
  assay_status st = take_lines(&fusion, &answer, err);
  assay_fusion_reset(&fusion);
  if (st) {
    assay_required_answer_reset(&answer);
    return st;
  }
  *out = answer;
  return ASSAY_OK;
}

void assay_required_answer_reset(assay_required_answer *answer) {
  for (size_t i = 0; i < answer->n_lines; i++) assay_free(answer->lines[i]);
  *answer = (assay_required_answer){0};
}
