/* How much of the model's own graph the requested provider took: each node of the model file that
 * was executed, looked up by operator and name in what the runtime says. A node that ran under its
 * own name is in the profile; one that is part of a compiled subgraph only in the assignment; one
 * that the runtime folded, fused or renamed nowhere, and is counted as unknown, not guessed.
 *
 * One fusion keeps a name: a MatMul X and the Add that takes its product are the Gemm
 * "X/MatMulAddFusion" once a graph's shapes are known, and count as that does.
 *
 * Of nodes that share operator and name, or have none, only their numbers can be told, and only
 * where the runtime names just as many.
 *
 * The profile is the evidence (rule 6). The assignment is believed as far as the profile and the
 * log do not contradict it; where they do, the coverage is unknown and their verdict stands. */
#ifndef ASSAY_EVIDENCE_COVERAGE_H
#define ASSAY_EVIDENCE_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct assay_coverage_spec {
  const char *model_path; /* of the graph that was executed */
  const char *profile_path, *log_path, *assignment_path;
  const char *provider; /* full name */
} assay_coverage_spec;

typedef struct assay_coverage_op {
  char *op;
  size_t n_nodes, n_covered, n_elsewhere; /* the rest is unknown */
} assay_coverage_op;

/* All zeroes is a valid empty one. */
typedef struct assay_coverage {
  bool known;       /* false: nothing below but the reason */
  char reason[256]; /* why not */
  /* compute nodes of the model, without constants: all, on the provider, on another, not named by
   * the runtime */
  size_t n_nodes, n_covered, n_elsewhere, n_unknown;
  assay_coverage_op *ops; /* sorted */
  size_t n_ops;
  char **offenders; /* on another provider: "MatMul '/layer/MatMul' on CPUExecutionProvider" */
  size_t n_offenders;
} assay_coverage;

/* For evidence whose placement verdict is pass or fail. What is wrong with a source is a reason.
 * Errors: MEMORY. */
assay_status assay_coverage_judge(const assay_coverage_spec *spec, assay_coverage *out,
                                  assay_error *err) ASSAY_NODISCARD;
void assay_coverage_reset(assay_coverage *coverage);

#endif
