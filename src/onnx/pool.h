/* Blocks of memory that die together: everything a graph, or what was read of a model file, points
 * to. */
#ifndef ASSAY_ONNX_POOL_H
#define ASSAY_ONNX_POOL_H

#include <stddef.h>

#include "base/status.h"

/* All zeroes is a valid empty pool. */
typedef struct assay_pool {
  struct assay_pool_block *first; /* owned, newest first */
} assay_pool;

/* size_bytes of zeroed memory that lives as long as the pool, or NULL. */
void *assay_pool_alloc(assay_pool *pool, size_t size_bytes) ASSAY_NODISCARD;

/* Copies, or NULL when memory is out. */
void *assay_pool_copy(assay_pool *pool, const void *bytes, size_t size_bytes) ASSAY_NODISCARD;
char *assay_pool_strdup(assay_pool *pool, const char *text) ASSAY_NODISCARD;

void assay_pool_reset(assay_pool *pool);

#endif
