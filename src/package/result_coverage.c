/* Reads and writes the "coverage" member of result.json. The format stands in the header. */
#include "package/result_coverage.h"

#include "base/alloc.h"
#include "base/array.h"
#include "package/fields.h"

#define COVERAGE(member, kind) ASSAY_FIELD(assay_result_coverage, member, kind)
static const assay_field coverage_fields[] = {
    COVERAGE(known, BOOL),      COVERAGE(reason, TEXT),       COVERAGE(n_nodes, COUNT),
    COVERAGE(n_covered, COUNT), COVERAGE(n_elsewhere, COUNT), COVERAGE(n_unknown, COUNT),
};
#undef COVERAGE
static const char *const coverage_others[] = {"operators", "offenders"};

static const assay_field op_fields[] = {
    ASSAY_FIELD(assay_result_coverage_op, op, STRING),
    ASSAY_FIELD(assay_result_coverage_op, n_nodes, COUNT),
    ASSAY_FIELD(assay_result_coverage_op, n_covered, COUNT),
    ASSAY_FIELD(assay_result_coverage_op, n_elsewhere, COUNT),
};

static assay_status read_ops(const assay_json *value, assay_result_coverage *out,
                             assay_error *err) {
  void *list = NULL;
  const assay_status st = assay_fields_list(value, "operators", op_fields, N_OF(op_fields),
                                            sizeof *out->ops, &list, &out->n_ops, err);
  out->ops = list;
  return st;
}

static assay_status read_object(const assay_json *value, assay_result_coverage *out,
                                assay_error *err) {
  ASSAY_TRY(assay_fields_read(value, coverage_fields, N_OF(coverage_fields), coverage_others,
                              N_OF(coverage_others), out, err));
  ASSAY_TRY(read_ops(value, out, err));
  return assay_fields_strings(value, "offenders", &out->offenders, &out->n_offenders, err);
}

assay_status assay_result_coverage_read(const assay_json *root, assay_result_coverage *out,
                                        assay_error *err) {
  const assay_json *value = NULL;
  if (assay_fields_is_null(root, "coverage")) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(root, "coverage", &value, err));
  out->judged = true;
  assay_status st = read_object(value, out, err);
  if (st) assay_error_in(err, "'coverage'");
  return st;
}

void assay_result_coverage_put(const assay_result_coverage *coverage, assay_json_builder *b) {
  if (!coverage->judged) {
    assay_json_put_null(b, "coverage");
    return;
  }
  assay_json_begin_object(b, "coverage");
  assay_fields_put(coverage_fields, N_OF(coverage_fields), coverage, b);
  assay_fields_put_list(b, "operators", op_fields, N_OF(op_fields), coverage->ops,
                        sizeof *coverage->ops, coverage->n_ops);
  assay_fields_put_strings(b, "offenders", coverage->offenders, coverage->n_offenders);
  assay_json_end(b);
}

void assay_result_coverage_reset(assay_result_coverage *coverage) {
  for (size_t i = 0; i < coverage->n_ops; i++)
    assay_fields_reset(op_fields, N_OF(op_fields), &coverage->ops[i]);
  assay_free(coverage->ops);
  assay_fields_strings_destroy(coverage->offenders, coverage->n_offenders);
  *coverage = (assay_result_coverage){0};
}
