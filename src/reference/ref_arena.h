/* Memory of one run: zeroed blocks that are released together. All zeroes is a valid empty arena.
 */
#ifndef ASSAY_REFERENCE_REF_ARENA_H
#define ASSAY_REFERENCE_REF_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct ref_arena {
  struct ref_arena_block *last; /* list of the blocks, newest first; owned */
  assay_status status;          /* of the first request that could not be met */
} ref_arena;

/* count * elem_bytes zeroed bytes, aligned to 64; NULL, and status set, when memory is out or the
 * product overflows (then every later request is refused too, so callers may check once). */
void *ref_arena_alloc(ref_arena *arena, int64_t count, size_t elem_bytes);

void ref_arena_reset(ref_arena *arena);

#endif
