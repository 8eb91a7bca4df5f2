/* The evaluator's outputs of blocks, and a block of the runtime against them. */
#ifndef ASSAY_DIAGNOSE_BLOCKS_H
#define ASSAY_DIAGNOSE_BLOCKS_H

#include "base/tensor.h"
#include "diagnose/diagnose.h"
#include "model/mlpf_plan_config.h"

/* What is evaluated. */
typedef struct assay_blocks_question {
  const assay_mlpf_config *config;
  const assay_tensor_map *weights;
  const assay_mlpf_plan_config *plan; /* NULL: no FP16 */
  assay_ref_arithmetic arithmetic;    /* of its FP16 blocks */
  const assay_tensor *x, *mask;
  int threads;
  bool (*cancelled)(void *arg);
  void *arg;
} assay_blocks_question;

/* Evaluates, and keeps the blocks by name in the model's order: all of them, or `only` that one.
 * dtype as of assay_ref_mlpf_run. out_margins may be NULL. Errors: those of assay_ref_mlpf_run. */
assay_status assay_blocks_evaluate(const assay_blocks_question *question, assay_dtype dtype,
                                   const char *only, assay_tensor_map *out,
                                   assay_ref_margins *out_margins,
                                   assay_error *err) ASSAY_NODISCARD;

/* Compares a block: got of the runtime, truth in FP64, expected in the export's precision; all
 * [B,N,W] (valid positions count), [B,1,W], or permutations: int64, of the evaluator [J,B,N], of
 * the runtime that or [B,J,N]. x gives the coordinates for ties. Errors: MISMATCH (shapes). */
assay_status assay_blocks_compare(const assay_tensor *got, const assay_tensor *truth,
                                  const assay_tensor *expected, const assay_tensor *x,
                                  const assay_tensor *mask, assay_diagnose_block *out,
                                  assay_error *err) ASSAY_NODISCARD;

/* Root mean square over valid positions of a - b over that of `scale`; infinite where either is not
 * finite. Shapes as of compare, all the same. */
double assay_blocks_distance(const assay_tensor *a, const assay_tensor *b,
                             const assay_tensor *scale, const assay_tensor *mask);

/* Row i of a block [B,N,W] is of a valid position; of one [B,1,W], of an event that has any. */
bool assay_blocks_row_is_valid(const assay_tensor *block, const assay_tensor *mask, size_t row);

#endif
