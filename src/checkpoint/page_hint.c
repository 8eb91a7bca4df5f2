/* Source: Linux, madvise(2), since 5.14. */
#include "checkpoint/page_hint.h"

#include <stdint.h>
#include <sys/mman.h>

#define PAGE_BYTES ((uintptr_t)4096)   /* the least that x86 and Arm have */
#define MIN_BYTES  ((size_t)256 << 10) /* a call for less is not worth it */

#if defined(MADV_POPULATE_READ) && defined(MADV_POPULATE_WRITE)
/* Every whole page of these bytes. */
static void populate(uintptr_t begin, size_t size_bytes, int advice) {
  const uintptr_t first = (begin + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
  const uintptr_t end = (begin + size_bytes) / PAGE_BYTES * PAGE_BYTES;
  if (size_bytes >= MIN_BYTES) (void)madvise((void *)first, (size_t)(end - first), advice);
}

void page_hint_read(const void *bytes, size_t size_bytes) {
  populate((uintptr_t)bytes, size_bytes, MADV_POPULATE_READ);
}

void page_hint_write(void *bytes, size_t size_bytes) {
  populate((uintptr_t)bytes, size_bytes, MADV_POPULATE_WRITE);
}
#else
void page_hint_read(const void *bytes, size_t size_bytes) {
  (void)bytes;
  (void)size_bytes;
}

void page_hint_write(void *bytes, size_t size_bytes) {
  (void)bytes;
  (void)size_bytes;
}
#endif
