/* See ref_arena.h. */
#include "reference/ref_arena.h"

#include "base/alloc.h"

#define HEADER_BYTES 64 /* keeps what follows aligned for vectors */

struct ref_arena_block {
  struct ref_arena_block *previous;
};

void *ref_arena_alloc(ref_arena *arena, int64_t count, size_t elem_bytes) {
  size_t size_bytes = 0;
  struct ref_arena_block *block = NULL;
  if (arena->status) return NULL;
  if (count >= 0 && assay_size_mul((size_t)count, elem_bytes, &size_bytes) &&
      assay_size_add(size_bytes, HEADER_BYTES, &size_bytes)) {
    block = assay_alloc(size_bytes);
  }
  if (block == NULL) {
    arena->status = ASSAY_E_MEMORY;
    return NULL;
  }
  block->previous = arena->last;
  arena->last = block;
  return (char *)block + HEADER_BYTES;
}

void ref_arena_reset(ref_arena *arena) {
  struct ref_arena_block *block = arena->last;
  while (block != NULL) {
    struct ref_arena_block *previous = block->previous;
    assay_free(block);
    block = previous;
  }
  arena->last = NULL;
  arena->status = ASSAY_OK;
}
