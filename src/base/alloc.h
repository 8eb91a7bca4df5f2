/* The one door to the heap: zeroed allocations, checked size arithmetic, and a way for tests to
 * make the n-th allocation fail. */
#ifndef ASSAY_BASE_ALLOC_H
#define ASSAY_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* size_bytes of zeroed memory, or NULL; never NULL for size 0. Aligned to 64 bytes, so that vector
 * code may rely on it. Released with assay_free. */
void *assay_alloc(size_t size_bytes) ASSAY_NODISCARD;

/* The same with whatever was in it, for bytes that are all written next. */
void *assay_alloc_unset(size_t size_bytes) ASSAY_NODISCARD;

/* As assay_alloc for n * size_bytes; NULL when the product overflows. */
void *assay_alloc_array(size_t n, size_t size_bytes) ASSAY_NODISCARD;

/* Grows or shrinks *block to size_bytes (old_bytes of it are kept, the rest is zeroed). On failure
 * *block is untouched. Errors: MEMORY. */
assay_status assay_resize(void **block, size_t old_bytes, size_t size_bytes,
                          assay_error *err) ASSAY_NODISCARD;

/* An array of *cap elements, n of them in use, with room for one more: block itself, or a larger
 * one in its place (*cap then says of how many). NULL when memory is out (err says so); block and
 * *cap are as they were. */
void *assay_grown(void *block, size_t *cap, size_t n, size_t elem_bytes,
                  assay_error *err) ASSAY_NODISCARD;

/* As assay_alloc, but neither zeroed nor aligned beyond malloc's own promise: for the many small
 * blocks of a library that lets its allocator be chosen. Released with assay_free. */
void *assay_alloc_plain(size_t size_bytes) ASSAY_NODISCARD;

/* Accepts NULL. */
void assay_free(void *block);

/* Copies of text, or NULL when memory is out; text may be NULL, which gives NULL. */
char *assay_strdup(const char *text) ASSAY_NODISCARD;
char *assay_strndup(const char *text, size_t max_bytes) ASSAY_NODISCARD;
char *assay_format(const char *format, ...) ASSAY_PRINTF(1, 2) ASSAY_NODISCARD;

/* false on overflow; *out is written only on success. */
bool assay_size_mul(size_t a, size_t b, size_t *out) ASSAY_NODISCARD;
bool assay_size_add(size_t a, size_t b, size_t *out) ASSAY_NODISCARD;

/* Tests: the allocation after n further ones fails, and so does every later one; negative turns
 * this off. Thread-local, so parallel evaluator threads are not touched. */
void assay_alloc_fail_after(int64_t n);

/* MEMORY with the usual text. */
assay_status assay_fail_memory(assay_error *err, size_t size_bytes);

#endif
