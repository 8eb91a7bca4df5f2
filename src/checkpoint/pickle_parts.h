/* What the files of the unpickler share: the document, and the passes over it. Private to this
 * room. */
#ifndef ASSAY_CHECKPOINT_PICKLE_PARTS_H
#define ASSAY_CHECKPOINT_PICKLE_PARTS_H

#include "checkpoint/pickle.h"
#include "checkpoint/pickle_arena.h"

struct assay_pickle {
  pickle_arena arena; /* all values and what they point to */
  assay_pickle_value *root;
  assay_pickle_value *first, *last; /* all values, in order of making */
  size_t n_values;
  size_t used_bytes; /* of input */
  size_t n_repeated_keys;
  size_t work; /* looks at shared parts so far; see pickle_spend */
  int protocol;
  bool is_cyclic;
  assay_pickle_limits limits; /* with the defaults filled in */
};

/* A new value at the end of the list. Errors: LIMIT, MEMORY. */
assay_status pickle_make(assay_pickle *doc, assay_pickle_kind kind, assay_pickle_value **out,
                         assay_error *err) ASSAY_NODISCARD;

/* Counts n looks at a part that many values may share, so that sharing cannot make time quadratic.
 * Errors: LIMIT once they exceed the limit on value bytes. */
assay_status pickle_spend(assay_pickle *doc, size_t n, assay_error *err) ASSAY_NODISCARD;

/* A copy of size_bytes bytes with a zero behind them. */
assay_status pickle_make_text(assay_pickle *doc, assay_pickle_kind kind, const void *bytes,
                              size_t size_bytes, assay_pickle_value **out,
                              assay_error *err) ASSAY_NODISCARD;

/* Runs the opcodes of bytes into doc; on success doc->root is what was on the stack at STOP. */
assay_status pickle_run(assay_pickle *doc, const uint8_t *bytes, size_t size_bytes,
                        assay_error *err) ASSAY_NODISCARD;

/* Calls of the plain constructors become what they would give: OrderedDict, set, complex, … */
assay_status pickle_lower(assay_pickle *doc, assay_error *err) ASSAY_NODISCARD;

/* Repeated keys of dicts, and repeated members of sets, are folded as Python does. */
assay_status pickle_fold(assay_pickle *doc, assay_error *err) ASSAY_NODISCARD;

/* Heights, cycles, and the limit on depth. */
assay_status pickle_measure(assay_pickle *doc, assay_error *err) ASSAY_NODISCARD;

/* Numbers and text of the opcodes that spell them out (pickle_number.c). Errors: FORMAT, LIMIT,
 * MEMORY. */
assay_status pickle_make_decimal(assay_pickle *doc, const char *digits, size_t n,
                                 assay_pickle_value **out, assay_error *err) ASSAY_NODISCARD;
assay_status pickle_make_twos(assay_pickle *doc, const uint8_t *bytes, size_t n,
                              assay_pickle_value **out, assay_error *err) ASSAY_NODISCARD;
assay_status pickle_make_quoted(assay_pickle *doc, const char *line, size_t n,
                                assay_pickle_value **out, assay_error *err) ASSAY_NODISCARD;
assay_status pickle_make_escaped(assay_pickle *doc, const char *line, size_t n,
                                 assay_pickle_value **out, assay_error *err) ASSAY_NODISCARD;

/* UTF-8 as pickles have it: strict, except that lone surrogates are let through. */
bool pickle_is_text(const void *bytes, size_t size_bytes);

#endif
