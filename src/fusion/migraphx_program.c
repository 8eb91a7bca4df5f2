#include "fusion/migraphx_program.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"

#define INSTRS_MAX ((size_t)1 << 18) /* of one program: some hundred times a large model */

void assay_migraphx_program_clear(assay_migraphx_program *program) {
  assay_span_index names = program->names;
  assay_span_index_clear(&names);
  *program =
      (assay_migraphx_program){.instrs = program->instrs, .cap = program->cap, .names = names};
}

void assay_migraphx_program_reset(assay_migraphx_program *program) {
  assay_free(program->instrs);
  assay_span_index_reset(&program->names);
  *program = (assay_migraphx_program){0};
}

static void damage(assay_migraphx_program *program, size_t line, const char *why) {
  if (program->damage != NULL) return;
  program->damage = why;
  program->damage_line = line;
}

void assay_migraphx_program_module(assay_migraphx_program *program, assay_text_span name,
                                   size_t line) {
  if (program->n_modules == 0) program->first_line = line;
  program->last_line = line;
  program->module = name;
  program->module_first = program->n;
  program->n_modules++;
}

/* "@7" of the main module, "MODULE:@7" of another, when 7 stand before it in the module. */
static bool is_number(const assay_migraphx_program *program, assay_text_span name) {
  char expected[32];
  assay_text_span module = program->module;
  if (!assay_span_is(module, "main")) {
    if (name.n <= module.n || !assay_span_equal(assay_span_cut(name, 0, module.n), module) ||
        name.text[module.n] != ':')
      return false;
    name = assay_span_cut(name, module.n + 1, name.n);
  }
  snprintf(expected, sizeof expected, "@%zu", program->n - program->module_first);
  return assay_span_is(name, expected);
}

static bool arguments_are_there(const assay_migraphx_program *program,
                                const assay_migraphx_instr *instr) {
  assay_text_span argument;
  size_t i;
  for (size_t at = 0; assay_migraphx_argument(instr, &at, &argument);)
    if (!assay_span_index_find(&program->names, argument, &i)) return false;
  return true;
}

void assay_migraphx_program_add(assay_migraphx_program *program, assay_fusion_work *work,
                                const assay_migraphx_instr *instr) {
  void *items = program->instrs;
  size_t seen;
  if (program->n == INSTRS_MAX) {
    damage(program, instr->line, "too many instructions");
    return;
  }
  if (!assay_fusion_grow(work, &items, program->n, &program->cap, sizeof *program->instrs)) return;
  program->instrs = items;
  program->last_line = instr->line;
  if (!assay_span_begins(instr->op, "@param:") && !is_number(program, instr->name))
    damage(program, instr->line, "an instruction is out of its place");
  if (!arguments_are_there(program, instr))
    damage(program, instr->line, "an argument is not there");
  if (assay_span_index_find(&program->names, instr->name, &seen))
    damage(program, instr->line, "an instruction is there twice");
  if (!work->status)
    work->status = assay_span_index_set(&program->names, instr->name, program->n, work->err);
  program->instrs[program->n++] = *instr;
}

void assay_migraphx_program_end_module(assay_migraphx_program *program) {
  if (program->n_modules == 0) return;
  if (program->n == program->module_first ||
      !assay_span_is(program->instrs[program->n - 1].op, "@return"))
    damage(program, program->last_line, "a module does not end in @return");
}

bool assay_migraphx_program_is_compiled(const assay_migraphx_program *program) {
  return program->n > 0 &&
         assay_span_is(program->instrs[0].op, "check_context::migraphx::gpu::context");
}

const assay_migraphx_instr *assay_migraphx_program_find(const assay_migraphx_program *program,
                                                        assay_text_span name) {
  size_t i;
  return assay_span_index_find(&program->names, name, &i) ? &program->instrs[i] : NULL;
}

bool assay_migraphx_is_input(const assay_migraphx_instr *instr) {
  return assay_span_begins(instr->op, "@param:") &&
         assay_span_find(instr->name, "#output_", 0) == instr->name.n &&
         !assay_span_ends(instr->name, ":scratch");
}

/* --- integers that become floating ------------------------------------------------------------ */

static bool gives_floating(const assay_migraphx_instr *instr) {
  return assay_migraphx_is_floating(instr->shape.type) ||
         instr->shape.type.n == 0; /* several outputs, of which one may be */
}

static bool is_convert(const assay_migraphx_instr *instr) {
  if (assay_span_is(instr->op, "convert")) return true;
  assay_text_span symbol = assay_migraphx_attribute(instr, "symbol_name");
  return assay_kernel_has_token(symbol.text, symbol.n, "convert");
}

static bool takes_integer(const assay_migraphx_program *program,
                          const assay_migraphx_instr *instr) {
  assay_text_span argument;
  for (size_t at = 0; assay_migraphx_argument(instr, &at, &argument);) {
    const assay_migraphx_instr *from = assay_migraphx_program_find(program, argument);
    if (from != NULL && assay_migraphx_is_integer(from->shape.type)) return true;
  }
  return false;
}

size_t assay_migraphx_program_count_rounded(const assay_migraphx_program *program,
                                            const assay_migraphx_instr **out_first) {
  size_t n = 0;
  for (size_t i = 0; i < program->n; i++) {
    const assay_migraphx_instr *instr = &program->instrs[i];
    if (!is_convert(instr) || !gives_floating(instr) || !takes_integer(program, instr)) continue;
    if (n++ == 0 && out_first != NULL) *out_first = instr;
  }
  return n;
}

size_t assay_migraphx_program_count_softmax(const assay_migraphx_program *program) {
  size_t n = 0;
  for (size_t i = 0; i < program->n; i++) n += assay_span_is(program->instrs[i].op, "softmax");
  return n;
}

/* --- scores ----------------------------------------------------------------------------------- */

static bool gives_memory(const assay_migraphx_instr *instr) {
  return assay_span_is(instr->op, "load") || assay_span_begins(instr->op, "hip::allocate") ||
         assay_span_is(instr->op, "hip::hip_allocate_memory") ||
         (assay_span_begins(instr->op, "@param:") && !assay_migraphx_is_input(instr));
}

/* The input that an instruction copies to the device; NULL where it does something else. */
static const assay_migraphx_instr *copied_input(const assay_migraphx_program *program,
                                                const assay_migraphx_instr *instr) {
  assay_text_span from;
  size_t at = 0;
  if (!assay_span_is(instr->op, "hip::copy_to_gpu")) return NULL;
  if (!assay_migraphx_argument(instr, &at, &from)) return NULL;
  const assay_migraphx_instr *source = assay_migraphx_program_find(program, from);
  return source != NULL && assay_migraphx_is_input(source) ? source : NULL;
}

static bool is_given(const assay_migraphx_program *program, const assay_migraphx_instr *instr) {
  return assay_migraphx_is_input(instr) || assay_span_is(instr->op, "@literal") ||
         assay_span_begins(instr->op, "hip::hip_copy_literal") ||
         copied_input(program, instr) != NULL;
}

/* Another shape of its first argument's memory. */
static bool is_view(const assay_migraphx_instr *instr) {
  static const char *const names[] = {"reshape",        "reshape_lazy",    "transpose", "squeeze",
                                      "unsqueeze",      "flatten",         "slice",     "step",
                                      "broadcast",      "multibroadcast",  "scalar",    "as_shape",
                                      "get_tuple_elem", "hip::sync_stream"};
  for (size_t i = 0; i < N_OF(names); i++)
    if (assay_span_is(instr->op, names[i])) return true;
  return false;
}

/* Whatever is neither memory, a view of it, nor given computes something, under whatever name. */
static bool writes_memory(const assay_migraphx_program *program,
                          const assay_migraphx_instr *instr) {
  return !gives_memory(instr) && !is_view(instr) && !is_given(program, instr) &&
         !assay_span_begins(instr->op, "@") && !assay_span_begins(instr->op, "check_context");
}

static bool holds_scores(const assay_migraphx_shape *shape, int64_t n_elems) {
  assay_migraphx_shape part;
  if (assay_migraphx_is_floating(shape->type)) return assay_migraphx_is_square(shape, n_elems);
  for (size_t at = 0; assay_migraphx_shape_part(shape, &at, &part);)
    if (assay_migraphx_is_floating(part.type) && assay_migraphx_is_square(&part, n_elems))
      return true;
  return false;
}

/* What an instruction is a view of, in the end; itself where it is none. */
static size_t root_of(const assay_migraphx_program *program, size_t i) {
  while (is_view(&program->instrs[i])) {
    assay_text_span argument;
    size_t at = 0, from;
    if (!assay_migraphx_argument(&program->instrs[i], &at, &argument) ||
        !assay_span_index_find(&program->names, argument, &from) || from >= i)
      break;
    i = from;
  }
  return i;
}

/* An input's copy on the device is no scores, whatever its shape, and nor is the memory for it: a
 * bias may be [H, N, N]. */
static void forget_copied_inputs(const assay_migraphx_program *program, bool *is_score) {
  assay_text_span to;
  for (size_t i = 0; i < program->n; i++) {
    const assay_migraphx_instr *instr = &program->instrs[i];
    size_t at = 0, j;
    if (copied_input(program, instr) == NULL) continue;
    (void)assay_migraphx_argument(instr, &at, &to); /* the input */
    if (assay_migraphx_argument(instr, &at, &to) && assay_span_index_find(&program->names, to, &j))
      is_score[j] = false;
  }
}

/* A view counts where its memory, neither given nor scores already, has another shape. */
static void mark_views(const assay_migraphx_program *program, int64_t n_elems, bool *is_score) {
  for (size_t i = 0; i < program->n; i++) {
    size_t root = root_of(program, i);
    if (root != i && !is_score[root] && !is_given(program, &program->instrs[root]))
      is_score[i] = holds_scores(&program->instrs[i].shape, n_elems);
  }
}

size_t assay_migraphx_program_mark_scores(const assay_migraphx_program *program, int64_t n_elems,
                                          bool *is_score) {
  size_t n_memory = 0, n_written = 0;
  for (size_t i = 0; i < program->n; i++) {
    const assay_migraphx_instr *instr = &program->instrs[i];
    is_score[i] = (gives_memory(instr) || writes_memory(program, instr)) &&
                  holds_scores(&instr->shape, n_elems);
  }
  forget_copied_inputs(program, is_score);
  mark_views(program, n_elems, is_score);
  for (size_t i = 0; i < program->n; i++) {
    n_memory += is_score[i] && gives_memory(&program->instrs[i]);
    n_written += is_score[i] && !gives_memory(&program->instrs[i]);
  }
  return n_memory > 0 ? n_memory : n_written;
}
