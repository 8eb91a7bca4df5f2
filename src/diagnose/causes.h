/* Why a block is as it is. Two kinds of answers: changes to the model under which the evaluator
 * gives what the runtime gave (a finding), and what the differences look like (a hint). */
#ifndef ASSAY_DIAGNOSE_CAUSES_H
#define ASSAY_DIAGNOSE_CAUSES_H

#include "diagnose/blocks.h"

/* block  the first that is over, as compared; got is the runtime's. *out [*out_n] lines, likely
 * first; released by the caller. At least one line. Errors: STOPPED, MEMORY. */
assay_status assay_causes_find(const assay_blocks_question *question,
                               const assay_diagnose_block *block, const assay_tensor *got,
                               const assay_tensor *truth, char ***out, size_t *out_n,
                               assay_error *err) ASSAY_NODISCARD;

#endif
