/* Numbers by text: a hash table over spans that are kept elsewhere. */
#ifndef ASSAY_FUSION_SPAN_INDEX_H
#define ASSAY_FUSION_SPAN_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "fusion/log_text.h"

/* All zeroes is a valid empty one. */
typedef struct assay_span_index {
  struct assay_span_slot {
    assay_text_span key; /* borrowed; text NULL where free */
    size_t value;
  } * slots;      /* owned; open addressing */
  size_t n_slots; /* a power of two, or 0 */
  size_t n;       /* at most half the slots */
} assay_span_index;

/* false: not there. */
bool assay_span_index_find(const assay_span_index *index, assay_text_span key, size_t *out);

/* Adds a key, or gives it another value; an empty key is fine as long as its text is not NULL.
 * Errors: MEMORY. */
assay_status assay_span_index_set(assay_span_index *index, assay_text_span key, size_t value,
                                  assay_error *err) ASSAY_NODISCARD;

void assay_span_index_clear(
    assay_span_index *index); /* keeps memory in proportion to what it held */
void assay_span_index_reset(assay_span_index *index);

#endif
