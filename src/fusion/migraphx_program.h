/* One printed program of MIGraphX: its modules and instructions, and what they show. */
#ifndef ASSAY_FUSION_MIGRAPHX_PROGRAM_H
#define ASSAY_FUSION_MIGRAPHX_PROGRAM_H

#include "fusion/fusion_parts.h"
#include "fusion/migraphx_line.h"
#include "fusion/span_index.h"

/* All zeroes is a valid empty one; emptied and filled again for each program of a trace. */
typedef struct assay_migraphx_program {
  assay_migraphx_instr *instrs; /* [n], of all modules, in the order in which they stand */
  size_t n, cap;
  size_t module_first; /* index of the first instruction of the module that is being read */
  assay_text_span module;
  size_t n_modules;
  assay_span_index names; /* of instructions and parameters: index into instrs */
  size_t first_line, last_line;
  const char *damage; /* why it is not whole; NULL: nothing is wrong so far */
  size_t damage_line;
} assay_migraphx_program;

void assay_migraphx_program_clear(assay_migraphx_program *program);
void assay_migraphx_program_reset(assay_migraphx_program *program);

/* A module begins; an instruction of it; it ends (which an empty line or another beginning says).
 * What contradicts the numbering becomes `damage`. */
void assay_migraphx_program_module(assay_migraphx_program *program, assay_text_span name,
                                   size_t line);
void assay_migraphx_program_add(assay_migraphx_program *program, assay_fusion_work *work,
                                const assay_migraphx_instr *instr);
void assay_migraphx_program_end_module(assay_migraphx_program *program);

/* Its first instruction is check_context of the GPU. */
bool assay_migraphx_program_is_compiled(const assay_migraphx_program *program);

/* The instruction of that name, or NULL. */
const assay_migraphx_instr *assay_migraphx_program_find(const assay_migraphx_program *program,
                                                        assay_text_span name);

/* Is it an input of the graph, and not an output that is handed in? */
bool assay_migraphx_is_input(const assay_migraphx_instr *instr);

/* Instructions that make a floating value of an integer by convert; *out_first (may be NULL) is the
 * first of them. */
size_t assay_migraphx_program_count_rounded(const assay_migraphx_program *program,
                                            const assay_migraphx_instr **out_first);

/* Softmax operations of a graph as it was read. */
size_t assay_migraphx_program_count_softmax(const assay_migraphx_program *program);

/* Marks in is_score[n] (the caller's, zeroed) what gives or writes a floating tensor of N x N,
 * alone or in a tuple, under whatever name: everything but a literal, an input, an input's copy,
 * and views of those or of what is marked. Returns how many buffers (loads, allocations, outputs)
 * are among them; n_elems 0: any square. */
size_t assay_migraphx_program_mark_scores(const assay_migraphx_program *program, int64_t n_elems,
                                          bool *is_score);

#endif
