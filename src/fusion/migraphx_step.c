#include "fusion/migraphx_step.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"

/* Instructions that are alike, counted: those before take away, those after add. With details all
 * but @return, otherwise computations. */
typedef struct tally {
  uint64_t key;
  int all, integers, floats;
} tally;

/* FNV-1a, 64 bits, with a zero behind each piece. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t n) {
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
  return hash * UINT64_C(0x100000001b3);
}

/* "attn0:" of "attn0:@7"; empty in the main module. */
static assay_text_span module_of(assay_text_span name) {
  size_t colon = assay_span_find_last(name, ":");
  return assay_span_cut(name, 0, colon < name.n ? colon + 1 : 0);
}

/* Of operation and shape; with its details, also of module, attributes and type. */
static uint64_t key_of(const assay_migraphx_instr *instr, bool with_details) {
  uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), instr->op.text, instr->op.n);
  hash = mix(hash, instr->shape.lens, (size_t)instr->shape.rank * sizeof *instr->shape.lens);
  if (!with_details) return hash;
  assay_text_span module = module_of(instr->name);
  hash = mix(hash, module.text, module.n);
  hash = mix(hash, instr->attributes.text, instr->attributes.n);
  return mix(hash, instr->shape.type.text, instr->shape.type.n);
}

/* Is it one whose type its own pass alone changes? A conversion may be moved through what only
 * rearranges values, and be folded into a literal. */
static bool is_computation(assay_text_span op) {
  static const char *const names[] = {"topk",
                                      "add",
                                      "sub",
                                      "mul",
                                      "div",
                                      "mod",
                                      "max",
                                      "min",
                                      "argmax",
                                      "argmin",
                                      "neg",
                                      "abs",
                                      "gpu::precompile_op",
                                      "gpu::code_object"};
  if (assay_span_begins(op, "scatter") || assay_span_begins(op, "reduce_")) return true;
  for (size_t i = 0; i < N_OF(names); i++)
    if (assay_span_is(op, names[i])) return true;
  return false;
}

static int by_key(const void *a, const void *b) {
  const tally *x = a, *y = b;
  return (x->key > y->key) - (x->key < y->key);
}

static size_t count_in(const assay_migraphx_program *program, bool with_details, int sign,
                       tally *out) {
  size_t n = 0;
  for (size_t i = 0; i < program->n; i++) {
    const assay_migraphx_instr *instr = &program->instrs[i];
    if (with_details ? assay_span_is(instr->op, "@return") : !is_computation(instr->op)) continue;
    out[n++] = (tally){.key = key_of(instr, with_details),
                       .all = sign,
                       .integers = assay_migraphx_is_integer(instr->shape.type) ? sign : 0,
                       .floats = assay_migraphx_is_floating(instr->shape.type) ? sign : 0};
  }
  return n;
}

/* One tally for each key, in *out (the caller's to release); their number. 0 without memory. */
static size_t compare(assay_fusion_work *work, const assay_migraphx_program *before,
                      const assay_migraphx_program *after, bool with_details, tally **out) {
  tally *all = assay_alloc_array(before->n + after->n + 1, sizeof *all);
  *out = all;
  if (all == NULL) {
    work->status = assay_fail_memory(work->err, (before->n + after->n) * sizeof *all);
    return 0;
  }
  size_t n = count_in(before, with_details, /*sign=*/-1, all), n_keys = 0;
  n += count_in(after, with_details, /*sign=*/+1, all + n);
  qsort(all, n, sizeof *all, by_key);
  for (size_t i = 0; i < n; i++) {
    if (n_keys == 0 || all[n_keys - 1].key != all[i].key) {
      all[n_keys++] = all[i];
      continue;
    }
    all[n_keys - 1].all += all[i].all;
    all[n_keys - 1].integers += all[i].integers;
    all[n_keys - 1].floats += all[i].floats;
  }
  return n_keys;
}

static bool holds(assay_text_span text, const char *part) {
  return assay_span_find(text, part, 0) < text.n;
}

/* --- what is made by which pass --------------------------------------------------------------- */

typedef struct attentions {
  size_t groups, modules, objects;
} attentions;

static attentions attentions_of(const assay_migraphx_program *program) {
  attentions n = {0};
  for (size_t i = 0; i < program->n; i++) {
    const assay_migraphx_instr *instr = &program->instrs[i];
    if (assay_span_is(instr->op, "@return")) { /* one a module */
      n.groups += assay_span_begins(instr->name, "attn");
      n.modules += assay_span_begins(instr->name, "mlir_attn");
    } else if (assay_span_is(instr->op, "gpu::code_object")) {
      assay_text_span symbol = assay_migraphx_attribute(instr, "symbol_name");
      n.objects += assay_kernel_is_fused(assay_kernel_of_name(symbol.text, symbol.n));
    }
  }
  return n;
}

static bool may_make_attention(assay_text_span pass, attentions before, attentions after) {
  return (after.groups <= before.groups || holds(pass, "fuse_attention")) &&
         (after.modules <= before.modules || holds(pass, "mlir")) &&
         (after.objects <= before.objects || holds(pass, "compile"));
}

/* eliminate_data_type puts conversions around what it retypes, and is judged by their number. */
static bool converts_more(const assay_migraphx_program *before,
                          const assay_migraphx_program *after) {
  return assay_migraphx_program_count_rounded(after, NULL) >
         assay_migraphx_program_count_rounded(before, NULL);
}

const char *assay_migraphx_step_contradiction(assay_fusion_work *work, assay_text_span pass,
                                              const assay_migraphx_program *before,
                                              const assay_migraphx_program *after) {
  bool changes_none = assay_span_is(pass, "id");
  bool adds_none = changes_none || assay_span_is(pass, "dead_code_elimination") ||
                   assay_span_is(pass, "eliminate_identity");
  bool may_retype = holds(pass, "qdq") || holds(pass, "quantize") ||
                    (holds(pass, "data_type") && converts_more(before, after));
  const char *why = NULL;
  tally *tallies;
  if (!may_make_attention(pass, attentions_of(before), attentions_of(after)))
    return "an attention appears in a pass that makes none: two compiles in one trace";
  if (may_retype) return NULL;
  size_t n = compare(work, before, after, adds_none, &tallies);
  for (size_t i = 0; i < n && why == NULL; i++) {
    if (adds_none && (tallies[i].all > 0 || (changes_none && tallies[i].all < 0)))
      why = "a pass that adds nothing does: two compiles in one trace";
    if (!adds_none && tallies[i].integers < 0 && tallies[i].floats > 0)
      why = "integers become floating without a conversion: two compiles in one trace";
  }
  assay_free(tallies);
  return why;
}
