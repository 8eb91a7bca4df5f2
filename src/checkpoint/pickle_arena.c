/* The arena of one pickle. Chunks double from 4 KiB to 1 MiB; under the address sanitizer, what is
 * not handed out is poisoned, and so are eight bytes behind each block. */
#include "checkpoint/pickle_arena.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define GAP_BYTES         8
#define POISON(at, bytes) ASAN_POISON_MEMORY_REGION(at, bytes)
#define HEAL(at, bytes)   ASAN_UNPOISON_MEMORY_REGION(at, bytes)
#else
#define GAP_BYTES         0
#define POISON(at, bytes) ((void)(at), (void)(bytes))
#define HEAL(at, bytes)   ((void)(at), (void)(bytes))
#endif

#define CHUNK_BYTES_MIN ((size_t)1 << 12)
#define CHUNK_BYTES_MAX ((size_t)1 << 20)
#define ALIGN_BYTES     8

struct pickle_chunk {
  pickle_chunk *older;
  size_t used_bytes;
  size_t cap_bytes;
  _Alignas(16) uint8_t data[];
};

static assay_status add_chunk(pickle_arena *arena, size_t want_bytes, assay_error *err) {
  size_t cap = arena->newest == NULL ? CHUNK_BYTES_MIN : arena->newest->cap_bytes * 2;
  if (cap > CHUNK_BYTES_MAX) cap = CHUNK_BYTES_MAX;
  if (cap < want_bytes) cap = want_bytes;
  pickle_chunk *chunk = assay_alloc(sizeof *chunk + cap);
  if (chunk == NULL) return assay_fail_memory(err, cap);
  chunk->cap_bytes = cap;
  chunk->older = arena->newest;
  arena->newest = chunk;
  POISON(chunk->data, cap);
  return ASSAY_OK;
}

assay_status pickle_arena_take(pickle_arena *arena, size_t size_bytes, void **out,
                               assay_error *err) {
  if (size_bytes > arena->max_bytes || arena->used_bytes > arena->max_bytes - size_bytes) {
    return assay_fail(err, ASSAY_E_LIMIT, "the values take more than the limit of %zu bytes",
                      arena->max_bytes);
  }
  size_t room = (size_bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES + GAP_BYTES;
  pickle_chunk *chunk = arena->newest;
  if (chunk == NULL || chunk->cap_bytes - chunk->used_bytes < room) {
    ASSAY_TRY(add_chunk(arena, room, err));
    chunk = arena->newest;
  }
  uint8_t *block = chunk->data + chunk->used_bytes;
  chunk->used_bytes += room;
  arena->used_bytes += room - GAP_BYTES;
  HEAL(block, size_bytes);
  *out = block;
  return ASSAY_OK;
}

assay_status pickle_arena_grow(pickle_arena *arena, void **array, size_t n, size_t *cap,
                               size_t elem_bytes, size_t n_more, assay_error *err) {
  if (n_more <= *cap - n) return ASSAY_OK;
  size_t want, bytes;
  if (!assay_size_add(n, n_more, &want)) want = SIZE_MAX;
  size_t grown = *cap < SIZE_MAX / 2 ? *cap * 2 : SIZE_MAX;
  if (grown < 4 && *cap > 0) grown = 4;
  if (grown < want) grown = want;
  if (!assay_size_mul(grown, elem_bytes, &bytes)) bytes = SIZE_MAX;
  void *block;
  ASSAY_TRY(pickle_arena_take(arena, bytes, &block, err));
  if (n > 0) memcpy(block, *array, n * elem_bytes);
  *array = block;
  *cap = grown;
  return ASSAY_OK;
}

void pickle_arena_reset(pickle_arena *arena) {
  for (pickle_chunk *chunk = arena->newest; chunk != NULL;) {
    pickle_chunk *older = chunk->older;
    HEAL(chunk->data, chunk->cap_bytes);
    assay_free(chunk);
    chunk = older;
  }
  *arena = (pickle_arena){0};
}
