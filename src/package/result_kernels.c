/* Reads and writes the "kernels" member of result.json. The format stands in the header. */
#include "package/result_kernels.h"

#include <string.h>

#include "base/array.h"
#include "package/fields.h"

#define KERNELS(member, kind) ASSAY_FIELD(assay_result_kernels, member, kind)
static const assay_field kernels_fields[] = {
    KERNELS(verdict, TEXT),
    KERNELS(reason, TEXT),
    KERNELS(expected, COUNT),
    KERNELS(found, COUNT),
};
#undef KERNELS
static const char *const kernels_others[] = {"required", "evidence"};

static assay_status check_verdict(const assay_result_kernels *kernels, assay_error *err) {
  static const char *const words[] = {"pass", "fail", "unknown"};
  for (size_t i = 0; i < N_OF(words); i++)
    if (strcmp(kernels->verdict, words[i]) == 0) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT, "'verdict': expected pass, fail or unknown, found '%s'",
                    kernels->verdict);
}

static assay_status read_object(const assay_json *value, assay_result_kernels *out,
                                assay_error *err) {
  ASSAY_TRY(assay_fields_read(value, kernels_fields, N_OF(kernels_fields), kernels_others,
                              N_OF(kernels_others), out, err));
  ASSAY_TRY(check_verdict(out, err));
  ASSAY_TRY(assay_fields_strings(value, "required", &out->required, &out->n_required, err));
  return assay_fields_strings(value, "evidence", &out->evidence, &out->n_evidence, err);
}

assay_status assay_result_kernels_read(const assay_json *root, assay_result_kernels *out,
                                       assay_error *err) {
  const assay_json *value = NULL;
  if (assay_fields_is_null(root, "kernels")) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(root, "kernels", &value, err));
  out->known = true;
  assay_status st = read_object(value, out, err);
  if (st) assay_error_in(err, "'kernels'");
  return st;
}

void assay_result_kernels_put(const assay_result_kernels *kernels, assay_json_builder *b) {
  if (!kernels->known) {
    assay_json_put_null(b, "kernels");
    return;
  }
  assay_json_begin_object(b, "kernels");
  assay_fields_put_strings(b, "required", kernels->required, kernels->n_required);
  assay_fields_put(kernels_fields, N_OF(kernels_fields), kernels, b);
  assay_fields_put_strings(b, "evidence", kernels->evidence, kernels->n_evidence);
  assay_json_end(b);
}

void assay_result_kernels_reset(assay_result_kernels *kernels) {
  assay_fields_strings_destroy(kernels->required, kernels->n_required);
  assay_fields_strings_destroy(kernels->evidence, kernels->n_evidence);
  *kernels = (assay_result_kernels){0};
}

bool assay_result_kernels_passed(const assay_result_kernels *kernels) {
  return !kernels->known || strcmp(kernels->verdict, "pass") == 0;
}
