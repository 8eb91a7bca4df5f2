#include "fusion/migraphx_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "fusion/migraphx_program.h"
#include "fusion/migraphx_step.h"

#define INPUTS_MAX   64   /* of a graph; further ones are not compared */
#define INPUTS_BYTES 512  /* of their text, cut */
#define KERNELS_MAX  1024 /* different ones that are listed */
#define PROGRAMS_MAX 1024 /* that are looked at */
#define TAIL_PASSES  3    /* check_context, normalize_ops, eliminate_identity */

/* One compile, from the graph as it was read to the program that runs. */
typedef struct compile {
  bool is_open;
  bool is_headless;  /* its beginning is not there */
  bool is_traced;    /* false: the driver printed the result alone */
  bool is_told;      /* the driver said "Compiling ..." before it */
  bool is_reprinted; /* the program was printed once more: nothing may follow */
  bool is_twice;     /* the last pass printed it twice, word for word */
  bool begins_right; /* first pass */
  size_t first_line, n_passes;
  assay_text_span tail[TAIL_PASSES]; /* the last passes, dead_code_elimination aside */
  const char *damage;                /* why it is no evidence; NULL: nothing is wrong so far */
  size_t damage_line;
  size_t n_softmax, n_rounded_first, n_rounded_before;
  size_t n_rounded; /* more than before, after some pass */
  bool is_doubted;  /* more than there were, after a pass that is not known for it */
  char inputs[INPUTS_BYTES];
  bool has_elems; /* an input has a dimension N */
} compile;

typedef struct reader {
  assay_migraphx *all;
  assay_fusion_work *work;
  const assay_fusion_file *file;
  compile c;
  assay_migraphx_program now, last;   /* being read; the last whole one of the compile */
  assay_text_span pass;               /* of the `Pass:` line before; empty text: none */
  bool after_pass;                    /* nothing of a program since */
  bool in_program;                    /* a whole program is being read */
  bool in_module;                     /* and one of its modules */
  bool has_pass;                      /* that program follows a `Pass:` */
  bool in_print;                      /* a pass's print of one module is being read */
  assay_text_span print_pass, *print; /* [n_print] its lines */
  size_t n_print, print_cap;
  bool told; /* "Compiling ..." and nothing else since */
  size_t n_running, n_complete;
} reader;

static void spoil(reader *r, size_t line, const char *why) {
  if (r->c.damage != NULL) return;
  r->c.damage = why;
  r->c.damage_line = line;
}

static void say(reader *r, assay_fusion_level level, const char *check,
                const assay_migraphx_instr *instr, const char *what) {
  /* The name lies at the beginning of its line, in the text that is being read. */
  assay_text_span whole = {
      .text = instr->name.text,
      .n = (size_t)((const char *)r->file->bytes + r->file->size_bytes - instr->name.text)};
  assay_text_span line = assay_span_cut(whole, 0, assay_span_find(whole, "\n", 0));
  assay_fusion_find(r->work, level, check, r->file->source, instr->line, line, "%s", what);
}

/* --- inputs ----------------------------------------------------------------------------------- */

static void put_input(char *out, const assay_migraphx_instr *instr) {
  size_t at = strlen(out);
  char name[96], type[24], lens[128] = "";
  assay_span_copy(instr->name, name, sizeof name);
  assay_span_copy(instr->shape.type, type, sizeof type);
  for (int axis = 0; axis < instr->shape.rank; axis++) {
    size_t n = strlen(lens);
    snprintf(lens + n, sizeof lens - n, "%s%" PRId64, axis > 0 ? ", " : "",
             instr->shape.lens[axis]);
  }
  snprintf(out + at, INPUTS_BYTES - at, "%s%s %s {%s}", at > 0 ? "; " : "", name, type, lens);
}

static bool fits_input(const assay_migraphx_instr *instr, const assay_fusion_input *input) {
  if (!assay_span_is(instr->name, input->name)) return false;
  if (input->rank < 0) return true;
  if (input->rank != instr->shape.rank) return false;
  for (int axis = 0; axis < input->rank; axis++)
    if (input->lens[axis] >= 0 && input->lens[axis] != instr->shape.lens[axis]) return false;
  return true;
}

/* Programs of a part of the graph have inputs of their own; a whole graph's are known. */
static void compare_input(reader *r, const assay_migraphx_instr *instr) {
  const assay_fusion_work *work = r->work;
  if (work->inputs == NULL || work->spec->n_programs > 1) return;
  for (size_t i = 0; i < work->n_inputs; i++)
    if (fits_input(instr, &work->inputs[i])) return;
  say(r, ASSAY_FUSION_DOUBT, "graph", instr,
      "the graph that ran has no input of this name and shape: a program of another graph");
}

static int by_name(const void *a, const void *b) {
  const assay_migraphx_instr *const *x = a, *const *y = b;
  size_t n = (*x)->name.n < (*y)->name.n ? (*x)->name.n : (*y)->name.n;
  int order = memcmp((*x)->name.text, (*y)->name.text, n);
  return order != 0 ? order : ((*x)->name.n > n) - ((*y)->name.n > n);
}

/* By name: the order in which a program lists them changes from run to run. */
static size_t list_inputs(const assay_migraphx_program *program,
                          const assay_migraphx_instr *out[INPUTS_MAX]) {
  size_t n = 0;
  for (size_t i = 0; i < program->n && n < INPUTS_MAX; i++)
    if (assay_migraphx_is_input(&program->instrs[i])) out[n++] = &program->instrs[i];
  if (n > 0) qsort(out, n, sizeof(*out), by_name);
  return n;
}

static void take_inputs(reader *r, const assay_migraphx_program *program) {
  const assay_migraphx_instr *inputs[INPUTS_MAX];
  size_t n = list_inputs(program, inputs);
  for (size_t i = 0; i < n; i++) {
    for (int axis = 0; axis < inputs[i]->shape.rank; axis++)
      r->c.has_elems |= inputs[i]->shape.lens[axis] == r->work->spec->n_elems;
    put_input(r->c.inputs, inputs[i]);
    compare_input(r, inputs[i]);
  }
}

/* A compile ends with the inputs that it began with. */
static bool has_inputs(const assay_migraphx_program *program, const char *expected) {
  const assay_migraphx_instr *inputs[INPUTS_MAX];
  char found[INPUTS_BYTES] = "";
  size_t n = list_inputs(program, inputs);
  for (size_t i = 0; i < n; i++) put_input(found, inputs[i]);
  return strcmp(found, expected) == 0;
}

/* --- the program that runs -------------------------------------------------------------------- */

static void count_kernel(reader *r, assay_text_span name, assay_kernel_family family, size_t line) {
  assay_fusion *out = r->work->out;
  if (out->n_kernels >= KERNELS_MAX) return; /* for the record only: findings are what counts */
  for (size_t i = 0; i < out->n_kernels; i++)
    if (out->kernels[i].source == r->file->source && assay_span_is(name, out->kernels[i].name)) {
      out->kernels[i].n++;
      return;
    }
  assay_fusion_kernel *k = assay_fusion_add_kernel(r->work, name, family, r->file->source, line);
  if (k != NULL) k->n = 1;
}

static void take_kernels(reader *r, assay_fusion_program *p) {
  const int64_t n_elems = r->work->spec->n_elems;
  for (size_t i = 0; i < r->last.n; i++) {
    const assay_migraphx_instr *instr = &r->last.instrs[i];
    assay_text_span symbol = assay_migraphx_attribute(instr, "symbol_name");
    if (assay_span_is(instr->op, "group") &&
        assay_span_find(instr->attributes, "attention", 0) < instr->attributes.n)
      say(r, ASSAY_FUSION_OFFENCE, "kernel", instr, "an attention was matched but not lowered");
    if (assay_span_is(instr->op, "gpu::gemm") || assay_span_is(instr->op, "gpu::hip_gemm"))
      count_kernel(r, instr->op, ASSAY_KERNEL_GEMM, instr->line);
    if (!assay_span_is(instr->op, "gpu::code_object") || symbol.n == 0) continue;
    assay_kernel_family family = assay_kernel_of_name(symbol.text, symbol.n);
    if (family != ASSAY_KERNEL_OTHER) count_kernel(r, symbol, family, instr->line);
    if (!assay_kernel_is_fused(family)) continue;
    p->n_fused++;
    if (n_elems > 0 && instr->shape.rank > 0 && !assay_migraphx_has_elems(&instr->shape, n_elems))
      say(r, ASSAY_FUSION_DOUBT, "shape", instr,
          "a fused attention whose result has no axis of N: of another shape or model");
    if (r->work->is_allowed[family])
      say(r, ASSAY_FUSION_PROOF, "kernel", instr, "a fused attention kernel");
    else
      say(r, ASSAY_FUSION_OFFENCE, "kernel", instr, "a fused attention kernel that is not allowed");
  }
}

static void take_scores(reader *r, assay_fusion_program *p) {
  const assay_fusion_spec *spec = r->work->spec;
  bool *is_score = assay_alloc_array(r->last.n > 0 ? r->last.n : 1, sizeof *is_score);
  if (is_score == NULL) {
    r->work->status = assay_fail_memory(r->work->err, r->last.n);
    return;
  }
  p->n_scores = assay_migraphx_program_mark_scores(&r->last, spec->n_elems, is_score);
  for (size_t i = 0; i < r->last.n; i++) {
    if (!is_score[i]) continue;
    if (spec->expect_fused == 0)
      say(r, ASSAY_FUSION_NOTE, "scores", &r->last.instrs[i], "a buffer for scores");
    else if (spec->n_elems > 0)
      say(r, ASSAY_FUSION_OFFENCE, "scores", &r->last.instrs[i],
          "scores of N x N are written to memory");
    else
      say(r, ASSAY_FUSION_DOUBT, "scores", &r->last.instrs[i],
          "a square buffer: are these scores? (the number of elements N is not known)");
  }
  assay_free(is_score);
}

/* Where every pass was seen, its effect was judged then: what shows only in the last program, where
 * a kernel may convert one value and take another, is a doubt. */
static void take_integers(reader *r, assay_fusion_program *p) {
  const assay_migraphx_instr *first = NULL;
  size_t n = assay_migraphx_program_count_rounded(&r->last, &first);
  p->n_rounded = r->c.n_rounded;
  if (n == 0 || r->c.n_rounded > 0) return;
  if (!r->c.is_traced)
    say(r, ASSAY_FUSION_DOUBT, "integers", first,
        "an integer becomes floating: the model's own cast, or a pass's? (a compile trace would "
        "tell)");
  else if (r->c.n_rounded_first == 0)
    say(r, ASSAY_FUSION_DOUBT, "integers", first,
        "a kernel makes an integer floating, or takes one beside what it converts: the graph asks "
        "for neither");
}

/* What is not there is shown too: the lines of the whole program are what a pass rests on. */
static void prove_absence(reader *r, const assay_fusion_program *p) {
  if (p->n_scores == 0 && r->work->spec->expect_fused != 0)
    assay_fusion_find(r->work, ASSAY_FUSION_PROOF, "scores", p->source, p->first_line,
                      ASSAY_NO_EXCERPT,
                      r->work->spec->n_elems > 0 ? "no floating buffer of lines %zu to %zu is N x N"
                                                 : "no floating buffer of lines %zu to %zu is "
                                                   "square",
                      p->first_line, p->last_line);
  if (p->n_rounded == 0 && r->c.is_traced)
    assay_fusion_find(r->work, ASSAY_FUSION_PROOF, "integers", p->source, r->c.first_line,
                      ASSAY_NO_EXCERPT,
                      "%zu integers become floating in the graph as it was read, and no pass from "
                      "there to line %zu adds one",
                      r->c.n_rounded_first, p->last_line);
}

static void judge_count(reader *r, const assay_fusion_program *p) {
  int64_t expect = r->work->spec->expect_fused, n = (int64_t)p->n_fused;
  size_t source = r->file->source;
  if (r->work->spec->n_programs > 0 || expect == 0) return; /* in the sum, or not at all */
  if (expect < 0 && n == 0)
    assay_fusion_find(r->work, ASSAY_FUSION_OFFENCE, "count", source, p->first_line,
                      ASSAY_NO_EXCERPT, "the program has no fused attention kernel");
  if (expect > 0 && n < expect)
    assay_fusion_find(
        r->work, ASSAY_FUSION_OFFENCE, "count", source, p->first_line, ASSAY_NO_EXCERPT,
        "the program has %" PRId64 " of %" PRId64 " fused attention kernels", n, expect);
  if (expect > 0 && n > expect)
    assay_fusion_find(r->work, ASSAY_FUSION_DOUBT, "count", source, p->first_line, ASSAY_NO_EXCERPT,
                      "expected %" PRId64 " fused attention kernels, found %" PRId64
                      ": another graph's program?",
                      expect, n);
}

static assay_fusion_program *add_program(reader *r) {
  assay_fusion *out = r->work->out;
  void *programs = out->programs;
  size_t old_bytes = out->n_programs * sizeof *out->programs;
  r->work->status =
      assay_resize(&programs, old_bytes, old_bytes + sizeof *out->programs, r->work->err);
  if (r->work->status) return NULL;
  out->programs = programs;
  assay_fusion_program *p = &out->programs[out->n_programs++];
  *p = (assay_fusion_program){.source = r->file->source,
                              .first_line = r->last.first_line,
                              .last_line = r->last.last_line,
                              .traced = r->c.is_traced,
                              .n_passes = r->c.n_passes,
                              .n_candidates = r->c.n_softmax};
  p->inputs = assay_fusion_copy(r->work, assay_span_of(r->c.inputs));
  return p;
}

/* Why the compile is no evidence, or NULL. */
static const char *missing_part(const reader *r) {
  static const char *const tail[TAIL_PASSES] = {"check_context", "normalize_ops",
                                                "eliminate_identity"};
  const compile *c = &r->c;
  if (c->damage != NULL) return c->damage;
  if (r->last.n == 0 || !assay_migraphx_program_is_compiled(&r->last))
    return "it does not end in a program for the GPU";
  if (!c->is_traced) return c->is_told ? NULL : "nothing says that it was compiled here";
  if (c->is_headless) return "its beginning is not there";
  if (!c->begins_right) return "its first pass is not split_single_dyn_dim";
  for (int i = 0; i < TAIL_PASSES; i++)
    if (!assay_span_is(c->tail[i], tail[i])) return "its last passes are not there";
  if (!c->is_twice) return "its last program is not as the last pass printed it";
  return has_inputs(&r->last, c->inputs) ? NULL : "it does not end with the inputs it began with";
}

static void judge_program(reader *r, assay_fusion_program *p) {
  const assay_fusion_work *work = r->work;
  assay_fusion_find(
      r->work, ASSAY_FUSION_PROOF, "complete", r->file->source, p->first_line, ASSAY_NO_EXCERPT,
      "the compiled program, lines %zu to %zu%s, after %zu passes from line %zu", p->first_line,
      p->last_line, r->c.is_traced ? "" : " (no trace)", p->n_passes, r->c.first_line);
  if (work->spec->n_elems > 0 && !r->c.has_elems)
    assay_fusion_find(r->work, ASSAY_FUSION_DOUBT, "shape", r->file->source, p->first_line,
                      ASSAY_NO_EXCERPT,
                      "no input has a dimension of %" PRId64 ": a program of another shape (%s)",
                      work->spec->n_elems, r->c.inputs);
  take_kernels(r, p);
  if (!r->work->status) take_scores(r, p);
  take_integers(r, p);
  prove_absence(r, p);
  judge_count(r, p);
}

/* Two compiles of the same inputs: a program that was made anew, or two runs' texts in one. Where
 * the caller knows how many there must be, their number decides. */
static void doubt_repetition(reader *r, const assay_fusion_program *p) {
  const assay_fusion *out = r->work->out;
  if (r->work->spec->n_programs > 0 || r->work->status) return;
  for (const assay_fusion_program *other = out->programs; other < p; other++)
    if (other->complete && strcmp(other->inputs, p->inputs) == 0) {
      assay_fusion_find(r->work, ASSAY_FUSION_DOUBT, "process", r->file->source, p->first_line,
                        ASSAY_NO_EXCERPT,
                        "a second program of the same inputs as at line %zu: two runs in one text, "
                        "or parts of a graph whose number is not known",
                        other->first_line);
      return;
    }
}

static void end_compile(reader *r) {
  if (!r->c.is_open) return;
  const char *why = missing_part(r);
  if (r->all->n_compiles++ == PROGRAMS_MAX)
    assay_fusion_find(r->work, ASSAY_FUSION_DOUBT, "lines", r->file->source, r->c.first_line,
                      ASSAY_NO_EXCERPT, "more than %d programs", PROGRAMS_MAX);
  bool is_one_too_many = r->all->n_compiles > PROGRAMS_MAX;
  assay_fusion_program *p = r->work->status || is_one_too_many ? NULL : add_program(r);
  r->work->shown[ASSAY_FUSION_MIGRAPHX] = true;
  if (p != NULL && why == NULL) {
    p->complete = true;
    doubt_repetition(r, p);
    judge_program(r, p);
  } else if (p != NULL) {
    size_t line = r->c.damage != NULL ? r->c.damage_line : r->c.first_line;
    p->n_rounded = r->c.n_rounded;
    assay_fusion_find(r->work, ASSAY_FUSION_DOUBT, "complete", r->file->source, line,
                      ASSAY_NO_EXCERPT,
                      "the compile from line %zu is no evidence (cut, mixed, or another "
                      "target's): %s",
                      r->c.first_line, why);
  }
  r->c = (compile){0};
  assay_migraphx_program_clear(&r->last);
}

/* --- programs on the way ---------------------------------------------------------------------- */

static void keep(reader *r) {
  assay_migraphx_program swap = r->last;
  r->last = r->now;
  r->now = swap;
}

/* Line by line: what the last pass printed of its module, and the main module of the program. */
static bool is_printed_twice(const reader *r) {
  size_t n_main = 0;
  while (n_main < r->now.n && !assay_span_is(r->now.instrs[n_main].op, "@return")) n_main++;
  if (!assay_span_is(r->print_pass, "eliminate_identity")) return false;
  if (r->now.n_modules > 1) return r->n_print > 0; /* each module was printed on its own */
  if (r->n_print != n_main + 1) return false;
  for (size_t i = 0; i < r->n_print; i++) {
    assay_text_span a = r->print[i], b = {.text = r->now.instrs[i].name.text, .n = a.n};
    const char *end = (const char *)r->file->bytes + r->file->size_bytes;
    if (b.n > (size_t)(end - b.text) || !assay_span_equal(a, b)) return false;
    if (b.text + b.n < end && b.text[b.n] != '\n' && b.text[b.n] != '\r') return false;
  }
  return true;
}

static bool is_same_program(const assay_migraphx_program *a, const assay_migraphx_program *b) {
  if (a->n != b->n) return false;
  for (size_t i = 0; i < a->n; i++) {
    const assay_migraphx_instr *x = &a->instrs[i], *y = &b->instrs[i];
    if (!assay_span_equal(x->name, y->name) || !assay_span_equal(x->op, y->op) ||
        !assay_span_equal(x->attributes, y->attributes) ||
        !assay_span_equal(x->arguments, y->arguments))
      return false;
  }
  return true;
}

static void open_compile(reader *r, bool is_headless, bool is_traced) {
  r->c = (compile){.is_open = true,
                   .is_headless = is_headless,
                   .is_traced = is_traced,
                   .is_told = r->told,
                   .first_line = r->now.first_line};
  take_inputs(r, &r->now);
}

/* A program without `Pass:`: a graph as it was read, or a compiled one printed once more. */
static void take_bare_program(reader *r) {
  if (!assay_migraphx_program_is_compiled(&r->now)) {
    end_compile(r);
    open_compile(r, /*is_headless=*/false, /*is_traced=*/true);
    r->c.n_softmax = assay_migraphx_program_count_softmax(&r->now);
    r->c.n_rounded_first = assay_migraphx_program_count_rounded(&r->now, NULL);
    r->c.n_rounded_before = r->c.n_rounded_first;
  } else if (r->c.is_open && !r->told) {
    if (!is_same_program(&r->now, &r->last))
      spoil(r, r->now.first_line, "the program that is printed at its end is another one");
    r->c.is_reprinted = true;
  } else {
    end_compile(r);
    open_compile(r, /*is_headless=*/false, /*is_traced=*/false);
  }
  if (r->now.damage != NULL) spoil(r, r->now.damage_line, r->now.damage);
  if (!r->c.is_reprinted) keep(r);
}

static void take_rounding(reader *r) {
  const assay_migraphx_instr *first = NULL;
  char what[192], pass[64];
  size_t n = assay_migraphx_program_count_rounded(&r->now, &first);
  size_t before = r->c.n_rounded_before;
  r->c.n_rounded_before = n;
  /* After lowering one kernel may hold several conversions, or be made twice: no longer a count. */
  if (n <= before || r->now.damage != NULL || assay_migraphx_program_is_compiled(&r->now)) return;
  bool is_known = assay_span_find(r->pass, "data_type", 0) < r->pass.n;
  assay_span_copy(r->pass, pass, sizeof pass);
  snprintf(what, sizeof what, "pass %s makes %zu integers floating, exact only to 2^24", pass,
           n - before);
  if (is_known) r->c.n_rounded += n - before;
  if (is_known) say(r, ASSAY_FUSION_OFFENCE, "integers", first, what);
}

/* Fusing a conversion shows it twice until what is dead is removed: after that there are no more of
 * them than the graph has, unless a pass that is not known to do so made them. */
static void doubt_rounding(reader *r) {
  const assay_migraphx_instr *first = NULL;
  if (r->c.is_doubted || r->c.is_headless || r->now.damage != NULL) return;
  if (!assay_span_is(r->pass, "dead_code_elimination")) return;
  if (assay_migraphx_program_is_compiled(&r->now)) return; /* no longer a count, as above */
  size_t n = assay_migraphx_program_count_rounded(&r->now, &first);
  r->c.is_doubted = n > r->c.n_rounded_first + r->c.n_rounded;
  if (r->c.is_doubted)
    say(r, ASSAY_FUSION_DOUBT, "integers", first,
        "more integers become floating than in the graph as it was read");
}

static void take_passed_program(reader *r) {
  if (!r->c.is_open) open_compile(r, /*is_headless=*/true, /*is_traced=*/true);
  compile *c = &r->c;
  if (r->now.damage != NULL) spoil(r, r->now.damage_line, r->now.damage);
  if (c->is_reprinted || !c->is_traced) spoil(r, r->now.first_line, "passes follow its end");
  if (c->n_passes++ == 0) c->begins_right = assay_span_is(r->pass, "split_single_dyn_dim");
  if (!assay_span_is(r->pass, "dead_code_elimination")) {
    memmove(c->tail, c->tail + 1, (TAIL_PASSES - 1) * sizeof *c->tail);
    c->tail[TAIL_PASSES - 1] = r->pass;
  }
  if (r->last.n > 0 && c->damage == NULL && !c->is_headless) {
    const char *why = assay_migraphx_step_contradiction(r->work, r->pass, &r->last, &r->now);
    if (why != NULL) spoil(r, r->now.first_line, why);
  }
  take_rounding(r);
  doubt_rounding(r);
  c->is_twice = is_printed_twice(r);
  keep(r);
}

static void end_program(reader *r) {
  if (r->in_module) assay_migraphx_program_end_module(&r->now);
  if (r->in_program && !r->work->status) {
    if (r->has_pass)
      take_passed_program(r);
    else
      take_bare_program(r);
    r->told = false;
  }
  r->in_program = r->in_module = false;
  r->in_print = false;
  assay_migraphx_program_clear(&r->now);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* module: "NAME" */
static bool is_module(assay_text_span text, assay_text_span *out_name) {
  static const char begin[] = "module: \"";
  if (!assay_span_begins(text, begin) || !assay_span_ends(text, "\"") || text.n <= sizeof begin - 1)
    return false;
  *out_name = assay_span_cut(text, sizeof begin - 1, text.n - 1);
  return true;
}

static void take_module(reader *r, assay_text_span name, size_t line) {
  if (r->in_module) assay_migraphx_program_end_module(&r->now);
  r->in_module = false;
  if (assay_span_is(name, "main")) {
    end_program(r);
    r->in_program = true;
    r->has_pass = r->after_pass;
  }
  if (!r->in_program) return; /* a module without its program: nothing to judge */
  r->in_module = true;
  assay_migraphx_program_module(&r->now, name, line);
}

static void take_print(reader *r, assay_text_span text) {
  void *lines = r->print;
  if (!assay_fusion_grow(r->work, &lines, r->n_print, &r->print_cap, sizeof *r->print)) return;
  r->print = lines;
  r->print[r->n_print++] = text;
}

static void begin_print(reader *r) {
  end_program(r);
  r->in_print = true;
  r->n_print = 0;
  r->print_pass = r->pass;
}

static bool holds(assay_text_span text, const char *part) {
  return assay_span_find(text, part, 0) < text.n;
}

static bool is_about_cache(assay_text_span text) {
  return holds(text, "already compiled, skipping") ||
         (holds(text, ".mxr") &&
          (holds(text, "Reading") || holds(text, "load") || holds(text, "Load")));
}

/* Lines of the driver and of ONNX Runtime, between programs. */
static void take_words(reader *r, assay_text_span text) {
  if (assay_span_begins(text, "Running [ MIGraphX Version")) r->n_running++;
  if (holds(text, "[ MIGraphX Version") && holds(text, " Complete(")) r->n_complete++;
  if (holds(text, "Model Compile: Begin")) r->all->n_begun++;
  if (holds(text, "Model Compile: Complete")) r->all->n_completed++;
  if (is_about_cache(text)) r->all->n_cached++;
  if (assay_span_begins(text, "Compiling ...")) {
    end_program(r);
    end_compile(r);
    r->told = true;
  }
}

static void take_line(reader *r, assay_log_line line) {
  assay_text_span name;
  assay_migraphx_instr instr;
  if (line.is_ended && assay_span_begins(line.text, "Pass: ")) {
    end_program(r);
    r->pass = assay_span_cut(line.text, strlen("Pass: "), line.text.n);
    r->after_pass = true;
    return;
  }
  if (line.is_ended && is_module(line.text, &name)) {
    take_module(r, name, line.number);
    r->after_pass = false;
    return;
  }
  /* Words of another writer may stand between a pass's name and its print. */
  if (line.text.n == 0) {
    r->after_pass = false;
    if (r->in_module) assay_migraphx_program_end_module(&r->now);
    r->in_module = r->in_print = false;
  } else if ((r->in_module || r->in_print || r->after_pass) &&
             assay_migraphx_instr_parse(line, &instr)) {
    if (r->after_pass) begin_print(r);
    r->after_pass = false;
    if (r->in_print) take_print(r, line.text);
    if (r->in_module) assay_migraphx_program_add(&r->now, r->work, &instr);
  } else {
    take_words(r, line.text);
  }
}

static void judge_driver(reader *r) {
  size_t source = r->file->source;
  if (r->n_running > 1)
    assay_fusion_find(r->work, ASSAY_FUSION_DOUBT, "process", source, 0, ASSAY_NO_EXCERPT,
                      "the text is of %zu processes: one's is needed, to know whose programs these "
                      "are",
                      r->n_running);
  if (r->n_running != r->n_complete)
    assay_fusion_find(r->work, ASSAY_FUSION_DOUBT, "complete", source, 0, ASSAY_NO_EXCERPT,
                      "the driver began %zu times and says %zu times that it completed",
                      r->n_running, r->n_complete);
}

void assay_migraphx_take(assay_migraphx *migraphx, assay_fusion_work *work,
                         const assay_fusion_file *file) {
  reader r = {.all = migraphx, .work = work, .file = file};
  assay_log_lines lines = assay_log_lines_of(file->bytes, file->size_bytes);
  assay_log_line line;
  while (!work->status && assay_log_lines_next(&lines, &line)) take_line(&r, line);
  end_program(&r);
  end_compile(&r);
  if (!work->status) judge_driver(&r);
  assay_migraphx_program_reset(&r.now);
  assay_migraphx_program_reset(&r.last);
  assay_free(r.print);
}

/* --- all texts -------------------------------------------------------------------------------- */

static void judge_sum(assay_fusion_work *work) {
  const assay_fusion_spec *spec = work->spec;
  int64_t n_whole = 0, n_fused = 0;
  for (size_t i = 0; i < work->out->n_programs; i++) {
    n_whole += work->out->programs[i].complete;
    n_fused += (int64_t)work->out->programs[i].n_fused;
  }
  work->out->n_fused = n_fused;
  if (n_whole != spec->n_programs)
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "count", 0, 0, ASSAY_NO_EXCERPT,
                      "expected %" PRId64 " compiled programs, found %" PRId64, spec->n_programs,
                      n_whole);
  else if (spec->expect_fused > 0 && n_fused != spec->expect_fused)
    assay_fusion_find(
        work, n_fused < spec->expect_fused ? ASSAY_FUSION_OFFENCE : ASSAY_FUSION_DOUBT, "count", 0,
        0, ASSAY_NO_EXCERPT, "expected %" PRId64 " fused attention kernels, found %" PRId64,
        spec->expect_fused, n_fused);
  else if (spec->expect_fused < 0 && n_fused == 0)
    assay_fusion_find(work, ASSAY_FUSION_OFFENCE, "count", 0, 0, ASSAY_NO_EXCERPT,
                      "the programs have no fused attention kernel");
}

void assay_migraphx_judge(const assay_migraphx *migraphx, assay_fusion_work *work, bool is_wanted) {
  bool is_here = migraphx->n_compiles > 0;
  if (migraphx->n_cached > 0 && (is_here || is_wanted))
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "cache", 0, 0, ASSAY_NO_EXCERPT,
                      "%zu lines say that a program came from a cache: what was compiled then is "
                      "not shown",
                      migraphx->n_cached);
  if (!is_here) {
    if (is_wanted)
      assay_fusion_find(work, ASSAY_FUSION_DOUBT, "lines", 0, 0, ASSAY_NO_EXCERPT,
                        "no compiled program: the run needs MIGRAPHX_TRACE_COMPILE=1, its stdout "
                        "kept, and an empty cache of compiled models");
    return;
  }
  if (migraphx->n_begun != migraphx->n_completed ||
      (migraphx->n_begun > 0 && migraphx->n_begun != migraphx->n_compiles))
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "count", 0, 0, ASSAY_NO_EXCERPT,
                      "the runtime began %zu compiles and completed %zu, and %zu are in the trace",
                      migraphx->n_begun, migraphx->n_completed, migraphx->n_compiles);
  if (work->spec->n_programs > 0) {
    judge_sum(work);
  } else {
    for (size_t i = 0; i < work->out->n_programs; i++)
      if (work->out->programs[i].complete)
        work->out->n_fused = (int64_t)work->out->programs[i].n_fused;
  }
}
