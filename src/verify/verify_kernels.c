#include "verify/verify_kernels.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "fusion/required.h"

static bool requires(const assay_json *list, const char *word) {
  for (size_t i = 0; i < assay_json_len(list); i++) {
    const char *one = assay_json_string(assay_json_at(list, i));
    if (one != NULL && strcmp(one, word) == 0) return true;
  }
  return false;
}

static void check_answer(const assay_verify_place *at, const assay_result_kernels *found,
                         const assay_required_answer *answer) {
  assay_verify_text(at, "kernels.verdict", found->verdict,
                    assay_fusion_verdict_name(answer->verdict));
  assay_verify_int(at, "kernels.expected", found->expected, answer->expected);
  assay_verify_int(at, "kernels.found", found->found, answer->found);
  assay_verify_int(at, "kernels.evidence (their number)", (int64_t)found->n_evidence,
                   (int64_t)answer->n_lines);
}

static assay_status derive(const assay_verify_scene *scene, const assay_verify_run *run,
                           const assay_json *list, const assay_verify_place *at, assay_error *err) {
  assay_required_answer answer = {0};
  char *talk = assay_format("%s/%s/stdout.txt", scene->path, run->planned->folder);
  char *log = assay_format("%s/%s/log.txt", scene->path, run->planned->folder);
  const assay_required question = {.flash_attention = requires(list, "flash_attention"),
                                   .fused_attention = requires(list, "fused_attention"),
                                   .integer_tensors = requires(list, "integer_tensors"),
                                   .talk_path = talk,
                                   .log_path = log,
                                   .graph_sha256 = assay_result_executed(&run->found),
                                   .attention_ops = run->manifest->attention_ops,
                                   .fused_attention_ops = run->manifest->fused_attention_ops,
                                   .n_calls = scene->package->placement_runs,
                                   .n_elems = run->manifest_case->n};
  assay_status st = talk != NULL && log != NULL ? assay_required_judge(&question, &answer, err)
                                                : assay_fail_memory(err, 256);
  if (st == ASSAY_OK) check_answer(at, &run->found.kernels, &answer);
  assay_required_answer_reset(&answer);
  assay_free(talk);
  assay_free(log);
  return st;
}

assay_status assay_verify_kernels_check(const assay_verify_scene *scene,
                                        const assay_verify_run *run, const assay_verify_place *at,
                                        assay_error *err) {
  const assay_package_runtime *runtime =
      assay_verify_run_runtime(scene->package, run->planned->runtime);
  const assay_json *list =
      runtime != NULL ? assay_json_get(runtime->spec, "required_evidence") : NULL;
  bool is_required = assay_json_len(list) > 0;
  const assay_result_kernels *found = &run->found.kernels;
  assay_verify_bool(at, "kernels (they are there)", found->known, is_required);
  if (!is_required || !found->known || run->manifest_case == NULL) return ASSAY_OK;
  assay_verify_int(at, "kernels.required (their number)", (int64_t)found->n_required,
                   (int64_t)assay_json_len(list));
  for (size_t i = 0; i < found->n_required; i++)
    assay_verify_holds(at, "kernels.required", requires(list, found->required[i]),
                       "what the runtime requires", found->required[i]);
  return derive(scene, run, list, at, err);
}
