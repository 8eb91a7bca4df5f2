/* The arena of one pickle: many small blocks that die together, under a ceiling. Private to this
 * room. */
#ifndef ASSAY_CHECKPOINT_PICKLE_ARENA_H
#define ASSAY_CHECKPOINT_PICKLE_ARENA_H

#include <stddef.h>

#include "base/status.h"

typedef struct pickle_chunk pickle_chunk;

/* All zeroes is a valid empty one without room for anything: set max_bytes. */
typedef struct pickle_arena {
  pickle_chunk *newest; /* owned list */
  size_t used_bytes;    /* handed out, with padding */
  size_t max_bytes;     /* ceiling of used_bytes */
} pickle_arena;

/* size_bytes of zeroed memory, aligned to 8. Errors: LIMIT beyond the ceiling, MEMORY. */
assay_status pickle_arena_take(pickle_arena *arena, size_t size_bytes, void **out,
                               assay_error *err) ASSAY_NODISCARD;

/* Makes room for one more element behind n in *array (capacity *cap). The old block stays in the
 * arena, so the growth is geometric. Errors: as pickle_arena_take. */
assay_status pickle_arena_grow(pickle_arena *arena, void **array, size_t n, size_t *cap,
                               size_t elem_bytes, size_t n_more, assay_error *err) ASSAY_NODISCARD;

void pickle_arena_reset(pickle_arena *arena);

#endif
