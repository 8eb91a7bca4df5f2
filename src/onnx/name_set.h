/* The set of names in use in one namespace of a graph (nodes, or values). */
#ifndef ASSAY_ONNX_NAME_SET_H
#define ASSAY_ONNX_NAME_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* All zeroes is a valid empty set. */
typedef struct assay_name_set {
  const char **slots; /* owned; open addressing, NULL where free; the texts are borrowed */
  size_t n_slots;     /* a power of two, or 0 */
  size_t n;           /* names held; at most half the slots */
} assay_name_set;

/* The equal name that the set holds, or NULL. */
const char *assay_name_set_find(const assay_name_set *set, const char *name);

/* Adds a name that the set does not hold; the text must outlive the set. Errors: MEMORY. */
assay_status assay_name_set_add(assay_name_set *set, const char *name,
                                assay_error *err) ASSAY_NODISCARD;

void assay_name_set_reset(assay_name_set *set);

#endif
