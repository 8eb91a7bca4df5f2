/* What MIGraphX compiled, from its trace (MIGRAPHX_TRACE_COMPILE=1) or from migraphx-driver.
 *
 * A compile prints, in order: the graph as it was read (a `module: "main"` without `Pass:` before
 * it, whose first instruction is not check_context); for each pass the module after it and then
 * the whole program (`Pass: NAME`, `module: "main"` and every other module); last of all the
 * program after eliminate_identity, which runs. The driver prints that one once more.
 *
 * A compile is evidence when
 *  - it begins with the graph as it was read, and its first pass is split_single_dyn_dim;
 *  - its last three passes (dead_code_elimination aside) are check_context, normalize_ops and
 *    eliminate_identity, and the program after the last one begins with check_context of the GPU;
 *  - in every program that was printed on the way, instruction k of a module is named @k or is a
 *    parameter, the last one is @return, and every argument is there before it is used: a line
 *    that is lost, doubled, moved or another process's breaks this;
 *  - each program can be what its pass made of the one before: migraphx_step.h;
 *  - the last program is word for word the module that the last pass printed before it, and has
 *    the inputs that the compile began with;
 *  - nothing follows it but the same program once more, or the next compile.
 * Without a trace the program that the driver prints counts, between "Compiling ..." and
 * "Complete(": it has no second printing, but its numbers prove it too.
 * Of a compile that is no evidence nothing counts but a pass that was seen to round integers.
 *
 * Integers: instructions that make a floating value of an integer (convert) are counted in each
 * program; when there are more after a data type pass than before, that pass rounded integers.
 * Those that the model has of its own are there from the start: more of them are a doubt.
 * Source: MIGraphX 6.2 to 7.2, read; 7.1.1 run. */
#ifndef ASSAY_FUSION_MIGRAPHX_TRACE_H
#define ASSAY_FUSION_MIGRAPHX_TRACE_H

#include "fusion/fusion_parts.h"

/* Over all texts of a run; all zeroes is a valid empty one. */
typedef struct assay_migraphx {
  size_t n_begun, n_completed; /* "Model Compile: Begin" and "… Complete" of ONNX Runtime's log */
  size_t n_cached;             /* lines about programs that were not compiled but loaded */
  size_t n_compiles;           /* found in the texts */
} assay_migraphx;

void assay_migraphx_take(assay_migraphx *migraphx, assay_fusion_work *work,
                         const assay_fusion_file *file);

/* Once every text has been taken. is_wanted: no program at all is a doubt. */
void assay_migraphx_judge(const assay_migraphx *migraphx, assay_fusion_work *work, bool is_wanted);

#endif
