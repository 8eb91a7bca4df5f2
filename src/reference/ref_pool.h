/* A few threads that share numbered tasks. What a task computes must depend on its number only, so
 * that results do not depend on how many threads there are. */
#ifndef ASSAY_REFERENCE_REF_POOL_H
#define ASSAY_REFERENCE_REF_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct ref_pool ref_pool;

/* context  what ref_pool_run was given
 * task     0 … n_tasks-1, each exactly once
 * thread   0 … n_threads-1: whose scratch memory to use */
typedef void (*ref_task)(void *context, int64_t task, int thread);

/* n_threads >= 1, the caller's own included. Should the system give fewer, fewer work. Errors:
 * MEMORY. */
assay_status ref_pool_create(int n_threads, ref_pool **out, assay_error *err) ASSAY_NODISCARD;
void ref_pool_destroy(ref_pool *pool);

/* Returns when all tasks are done, or when the pool was cancelled: then the remaining tasks are
 * left out, and so are those of every later run. */
void ref_pool_run(ref_pool *pool, int64_t n_tasks, ref_task task, void *context);

/* Has `cancelled` (NULL: nobody) asked before each task, until it says true. Not while tasks run.
 */
void ref_pool_set_cancelled(ref_pool *pool, bool (*cancelled)(void *arg), void *arg);
bool ref_pool_is_cancelled(const ref_pool *pool);

#endif
