/* What one pass may make of a program: where two compiles of one graph have become one trace, the
 * program after the seam is no child of the one before it. */
#ifndef ASSAY_FUSION_MIGRAPHX_STEP_H
#define ASSAY_FUSION_MIGRAPHX_STEP_H

#include "fusion/migraphx_program.h"

/* Why `after` is not what pass made of `before`; NULL where nothing contradicts it, and, with
 * work->status set, without memory.
 *
 *  - dead_code_elimination and eliminate_identity add no instruction; `id` changes none;
 *  - an attention is grouped by fuse_attention, becomes a module for rocMLIR by gpu::fuse_mlir and
 * a code object by gpu::compile_ops, and by no other pass;
 *  - no computation that gave integers gives floating values of the same shape instead, but by
 *    passes that quantize, or with more conversions than before.
 *
 * A seam between programs that are equal shows nowhere, and needs not: up to there it was one
 * compile.
 * Source: traces of MIGraphX 7.1.1 of both models and of its fused attention, 89 programs each. */
const char *assay_migraphx_step_contradiction(assay_fusion_work *work, assay_text_span pass,
                                              const assay_migraphx_program *before,
                                              const assay_migraphx_program *after);

#endif
