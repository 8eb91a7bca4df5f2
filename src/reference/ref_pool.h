/* A few threads that share numbered tasks. What a task computes must depend on its number only, so
 * that results do not depend on how many threads there are. */
#ifndef ASSAY_REFERENCE_REF_POOL_H
#define ASSAY_REFERENCE_REF_POOL_H

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

/* Returns when all tasks are done. */
void ref_pool_run(ref_pool *pool, int64_t n_tasks, ref_task task, void *context);

#endif
