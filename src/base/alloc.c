/* The one door to the heap. */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGE_BYTES ((size_t)1 << 30)
#define ALIGN_BYTES 64 /* a cache line, and the widest vector register of any machine we meet */

/* Allocations that may still succeed; negative: all. Only tests change it (alloc.h). */
static _Thread_local int64_t allocs_left = -1;

void assay_alloc_fail_after(int64_t n) {
  allocs_left = n < 0 ? -1 : n;
}

static bool may_allocate(void) {
  if (allocs_left < 0) return true;
  if (allocs_left == 0) return false;
  allocs_left--;
  return true;
}

/* A block larger than the machine's memory is refused at once: the system would promise it, and
 * then kill this process while it is filled. Small ones are not worth asking about. */
static bool is_beyond_machine(size_t size_bytes) {
  if (size_bytes < LARGE_BYTES) return false;
  long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  size_t total;
  if (pages <= 0 || page_bytes <= 0) return false;
  return assay_size_mul((size_t)pages, (size_t)page_bytes, &total) && size_bytes > total;
}

void *assay_alloc_unset(size_t size_bytes) {
  if (!may_allocate() || size_bytes > PTRDIFF_MAX || is_beyond_machine(size_bytes)) return NULL;
  void *block = NULL;
  return posix_memalign(&block, ALIGN_BYTES, size_bytes ? size_bytes : 1) == 0 ? block : NULL;
}

void *assay_alloc(size_t size_bytes) {
  void *block = assay_alloc_unset(size_bytes);
  if (block != NULL) memset(block, 0, size_bytes ? size_bytes : 1);
  return block;
}

void *assay_alloc_plain(size_t size_bytes) {
  return may_allocate() ? malloc(size_bytes ? size_bytes : 1) : NULL;
}

void *assay_alloc_array(size_t n, size_t size_bytes) {
  size_t total;
  if (!assay_size_mul(n, size_bytes, &total)) return NULL;
  return assay_alloc(total);
}

assay_status assay_resize(void **block, size_t old_bytes, size_t size_bytes, assay_error *err) {
  void *grown = assay_alloc(size_bytes);
  if (grown == NULL) return assay_fail_memory(err, size_bytes);
  size_t kept = old_bytes < size_bytes ? old_bytes : size_bytes;
  if (*block != NULL && kept > 0) memcpy(grown, *block, kept);
  assay_free(*block);
  *block = grown;
  return ASSAY_OK;
}

void *assay_grown(void *block, size_t *cap, size_t n, size_t elem_bytes, assay_error *err) {
  size_t more = *cap > 0 ? 2 * *cap : 16, size_bytes = 0;
  if (n < *cap) return block;
  if (more < *cap || !assay_size_mul(more, elem_bytes, &size_bytes)) size_bytes = SIZE_MAX;
  if (assay_resize(&block, *cap * elem_bytes, size_bytes, err)) return NULL;
  *cap = more;
  return block;
}

void assay_free(void *block) {
  free(block);
}

char *assay_strdup(const char *text) {
  return text == NULL ? NULL : assay_strndup(text, strlen(text));
}

char *assay_strndup(const char *text, size_t max_bytes) {
  if (text == NULL) return NULL;
  size_t n = strnlen(text, max_bytes);
  char *copy = assay_alloc(n + 1);
  if (copy != NULL) memcpy(copy, text, n);
  return copy;
}

char *assay_format(const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (n < 0) return NULL;
  char *text = assay_alloc((size_t)n + 1);
  if (text == NULL) return NULL;
  va_start(args, format);
  vsnprintf(text, (size_t)n + 1, format, args);
  va_end(args);
  return text;
}

bool assay_size_mul(size_t a, size_t b, size_t *out) {
  size_t product;
  if (__builtin_mul_overflow(a, b, &product)) return false;
  *out = product;
  return true;
}

bool assay_size_add(size_t a, size_t b, size_t *out) {
  size_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return false;
  *out = sum;
  return true;
}

assay_status assay_fail_memory(assay_error *err, size_t size_bytes) {
  return assay_fail(err, ASSAY_E_MEMORY, "could not allocate %zu bytes", size_bytes);
}
