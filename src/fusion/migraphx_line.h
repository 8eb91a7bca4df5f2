/* One instruction of a printed MIGraphX program:
 *   NAME = OP[attributes](arguments), [modules] -> TYPE, {lens}, {strides}
 * Source: what MIGraphX 6.2 to 7.2 print (print.cpp, shape.cpp), read and run. */
#ifndef ASSAY_FUSION_MIGRAPHX_LINE_H
#define ASSAY_FUSION_MIGRAPHX_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fusion/log_text.h"

#define ASSAY_MIGRAPHX_RANK_MAX 16

typedef struct assay_migraphx_shape {
  assay_text_span type; /* "half_type"; empty: a tuple, a dynamic shape, or none */
  int rank;
  int64_t lens[ASSAY_MIGRAPHX_RANK_MAX], strides[ASSAY_MIGRAPHX_RANK_MAX];
  assay_text_span parts; /* of a tuple: the shapes between its brackets; empty otherwise */
} assay_migraphx_shape;

/* Everything is borrowed from the line. */
typedef struct assay_migraphx_instr {
  assay_text_span name;       /* "@7", "main:If_0:@7", or a parameter's */
  assay_text_span op;         /* "dot", "gpu::code_object", "@param:q", "@literal", "@return" */
  assay_text_span attributes; /* without the brackets */
  assay_text_span arguments;  /* "@1,q"; without the parentheses */
  assay_migraphx_shape shape;
  size_t line;
} assay_migraphx_instr;

/* false: not an instruction. A line whose end is damaged is none, and so is one with words behind
 * its shape, such as a schedule's or a performance report's. */
bool assay_migraphx_instr_parse(assay_log_line line, assay_migraphx_instr *out);

/* Argument `*at` bytes into arguments, and behind it; false at the end. Start at 0. */
bool assay_migraphx_argument(const assay_migraphx_instr *instr, size_t *at, assay_text_span *out);

/* The value of attribute key; empty when it has none. */
assay_text_span assay_migraphx_attribute(const assay_migraphx_instr *instr, const char *key);

bool assay_migraphx_is_floating(assay_text_span type);
bool assay_migraphx_is_integer(assay_text_span type); /* of either sign; bool is none */

/* The next shape of a tuple, `*at` bytes into its parts, and behind it; false at the end, or where
 * there is none that can be read. Start at 0. */
bool assay_migraphx_shape_part(const assay_migraphx_shape *tuple, size_t *at,
                               assay_migraphx_shape *out);

/* Two axes of n in any layout, or lens that end in n, n, where axes of one and a split axis change
 * nothing; from n = 256 also n * n, or more of them, in one axis. n 0: they end in any two equal
 * ones above 1. And no stride is zero: not a broadcast. */
bool assay_migraphx_is_square(const assay_migraphx_shape *shape, int64_t n);

/* Does an axis, or a split one, hold n, or several times n? */
bool assay_migraphx_has_elems(const assay_migraphx_shape *shape, int64_t n);

#endif
