/* How much of the model's graph the requested provider took: the "coverage" member of result.json
 * in placement mode. As assay_coverage of evidence/coverage.h.
 *
 * "coverage": null | {
 *   "known": true, "reason": "",           why not, when false: all counts are zeros then
 *   "n_nodes": 193,                        compute nodes of the graph that was executed
 *   "n_covered": 193, "n_elsewhere": 0, "n_unknown": 0,
 *   "operators": [{"op": "Add", "n_nodes": 47, "n_covered": 47, "n_elsewhere": 0}, …],
 *   "offenders": ["Add '/layer/Add' on CPUExecutionProvider", …] } */
#ifndef ASSAY_PACKAGE_RESULT_COVERAGE_H
#define ASSAY_PACKAGE_RESULT_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

typedef struct assay_result_coverage_op {
  char *op;
  int64_t n_nodes, n_covered, n_elsewhere; /* the rest is unknown */
} assay_result_coverage_op;

/* All zeroes: nothing was judged. Everything is owned. */
typedef struct assay_result_coverage {
  bool judged; /* false: "coverage": null */
  bool known;
  char reason[256];
  int64_t n_nodes, n_covered, n_elsewhere, n_unknown;
  assay_result_coverage_op *ops; /* sorted by operator */
  size_t n_ops;
  char **offenders;
  size_t n_offenders;
} assay_result_coverage;

/* The member of root. *out is filled in as far as it goes: the caller resets it. Errors: FORMAT,
 * MEMORY. */
assay_status assay_result_coverage_read(const assay_json *root, assay_result_coverage *out,
                                        assay_error *err) ASSAY_NODISCARD;
void assay_result_coverage_put(const assay_result_coverage *coverage, assay_json_builder *b);
void assay_result_coverage_reset(assay_result_coverage *coverage);

#endif
