/* Which kernels ran (rule 7): the "kernels" member of result.json in placement mode, where the
 * runtime requires more than placement.
 *
 * "kernels": null | {
 *   "required": ["flash_attention"],      as the runtime says
 *   "verdict": "pass" | "fail" | "unknown", "reason": "one line",
 *   "expected": 5,                        fused attention operations of one call; 0: none is asked
 * for "found": 5,                           as the evidence shows them "evidence": ["stdout.txt:12:
 * Operator=Attention … SdpaKernel=FLASH_ATTENTION", …] } lines that the verdict rests on, the first
 * of them */
#ifndef ASSAY_PACKAGE_RESULT_KERNELS_H
#define ASSAY_PACKAGE_RESULT_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

/* All zeroes: nothing was required. Everything is owned. */
typedef struct assay_result_kernels {
  bool known; /* false: "kernels": null */
  char **required;
  size_t n_required;
  char verdict[8]; /* "pass", "fail" or "unknown" */
  char reason[384];
  int64_t expected, found;
  char **evidence;
  size_t n_evidence;
} assay_result_kernels;

/* The member of root. *out is filled in as far as it goes: the caller resets it. Errors: FORMAT,
 * MEMORY. */
assay_status assay_result_kernels_read(const assay_json *root, assay_result_kernels *out,
                                       assay_error *err) ASSAY_NODISCARD;
void assay_result_kernels_put(const assay_result_kernels *kernels, assay_json_builder *b);
void assay_result_kernels_reset(assay_result_kernels *kernels);

/* Nothing was required, or what was is shown. */
bool assay_result_kernels_passed(const assay_result_kernels *kernels);

#endif
