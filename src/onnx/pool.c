#include "onnx/pool.h"

#include <string.h>

#include "base/alloc.h"

/* Each block is an allocation of its own, so that a sanitised build sees where it ends. */
struct assay_pool_block {
  struct assay_pool_block *next;
  _Alignas(16) unsigned char bytes[];
};

void *assay_pool_alloc(assay_pool *pool, size_t size_bytes) {
  size_t total_bytes = 0;
  if (!assay_size_add(sizeof(struct assay_pool_block), size_bytes, &total_bytes)) return NULL;
  struct assay_pool_block *block = assay_alloc(total_bytes);
  if (block == NULL) return NULL;
  block->next = pool->first;
  pool->first = block;
  return block->bytes;
}

void *assay_pool_copy(assay_pool *pool, const void *bytes, size_t size_bytes) {
  void *copy = assay_pool_alloc(pool, size_bytes);
  if (copy != NULL && size_bytes > 0) memcpy(copy, bytes, size_bytes);
  return copy;
}

char *assay_pool_strdup(assay_pool *pool, const char *text) {
  return assay_pool_copy(pool, text, strlen(text) + 1);
}

void assay_pool_reset(assay_pool *pool) {
  while (pool->first != NULL) {
    struct assay_pool_block *block = pool->first;
    pool->first = block->next;
    assay_free(block);
  }
}
