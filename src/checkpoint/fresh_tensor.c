/* One page fault for each 4 KiB costs as much as copying them. Linux makes a range of pages ready
 * at once where it is asked to (madvise(2), since 5.14); elsewhere the hints do nothing. Fresh
 * pages are cleared for that, so this goes piece by piece: a piece stays in the cache from there to
 * its copy. Measured: bench/load. */
#include "checkpoint/fresh_tensor.h"

#include <string.h>
#include <sys/mman.h>

#include "checkpoint/crc32.h"

#define PAGE_BYTES     ((uintptr_t)4096)   /* the least that x86 and Arm have */
#define HINT_BYTES_MIN ((size_t)128 << 10) /* a call for less is not worth it */
#define PIECE_BYTES    ((size_t)256 << 10) /* two of them: half of a usual L2 cache */

#if defined(MADV_POPULATE_READ) && defined(MADV_POPULATE_WRITE)
/* The page that the first byte is in, and all others that end in these bytes. */
static void populate(uintptr_t begin, size_t size_bytes, int advice) {
  const uintptr_t first = begin / PAGE_BYTES * PAGE_BYTES;
  const uintptr_t end = (begin + size_bytes) / PAGE_BYTES * PAGE_BYTES;
  if (size_bytes >= HINT_BYTES_MIN) (void)madvise((void *)first, (size_t)(end - first), advice);
}
#else
#define MADV_POPULATE_READ  0
#define MADV_POPULATE_WRITE 0
static void populate(uintptr_t begin, size_t size_bytes, int advice) {
  (void)begin, (void)size_bytes, (void)advice;
}
#endif

void fresh_tensor_expect(const uint8_t *bytes, size_t size_bytes) {
  populate((uintptr_t)bytes, size_bytes, MADV_POPULATE_READ);
}

void fresh_tensor_fill(assay_tensor *tensor, const uint8_t *bytes, uint32_t *crc) {
  uint8_t *to = tensor->data;
  const size_t size_bytes = tensor->size_bytes;
  if (crc != NULL) *crc = 0;
  for (size_t at = 0; at < size_bytes; at += PIECE_BYTES) {
    const size_t n = size_bytes - at < PIECE_BYTES ? size_bytes - at : PIECE_BYTES;
    populate((uintptr_t)(bytes + at), n, MADV_POPULATE_READ);
    populate((uintptr_t)(to + at), n, MADV_POPULATE_WRITE);
    if (crc != NULL) *crc = crc32_more(*crc, bytes + at, n);
    memcpy(to + at, bytes + at, n);
  }
}
