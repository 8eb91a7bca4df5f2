/* Source: Linux, madvise(2). */
#include "checkpoint/page_hint.h"

#include <stdint.h>
#include <sys/mman.h>

#define PAGE_BYTES     ((uintptr_t)4096)    /* the least that x86 and Arm have */
#define HUGE_BYTES     ((uintptr_t)2 << 20) /* of x86, and of Arm with pages of 4 KiB */
#define READ_MIN_BYTES ((size_t)1 << 20)    /* a call for less is not worth it */

#if defined(MADV_POPULATE_READ) || defined(MADV_HUGEPAGE)
/* The whole units inside; zero bytes where there is none. */
static size_t inner(uintptr_t begin, size_t size_bytes, uintptr_t unit, void **out) {
  const uintptr_t first = (begin + unit - 1) / unit * unit,
                  end = (begin + size_bytes) / unit * unit;
  *out = (void *)first;
  return end > first ? (size_t)(end - first) : 0;
}
#endif

void page_hint_read(const void *bytes, size_t size_bytes) {
#ifdef MADV_POPULATE_READ
  void *first;
  if (size_bytes < READ_MIN_BYTES) return;
  const size_t n = inner((uintptr_t)bytes, size_bytes, PAGE_BYTES, &first);
  if (n > 0) (void)madvise(first, n, MADV_POPULATE_READ);
#else
  (void)bytes;
  (void)size_bytes;
#endif
}

void page_hint_write(void *bytes, size_t size_bytes) {
#ifdef MADV_HUGEPAGE
  void *first;
  const size_t n = inner((uintptr_t)bytes, size_bytes, HUGE_BYTES, &first);
  if (n > 0) (void)madvise(first, n, MADV_HUGEPAGE);
#else
  (void)bytes;
  (void)size_bytes;
#endif
}
