/* The same function over many items, on several threads. */
#ifndef ASSAY_VERIFY_VERIFY_JOBS_H
#define ASSAY_VERIFY_VERIFY_JOBS_H

#include <stddef.h>

#include "base/status.h"

/* Does item i. Called from any of the threads; items are taken in order. */
typedef assay_status (*assay_verify_job)(void *arg, size_t i, assay_error *err);

/* Calls job for 0 … n-1 on at most n_jobs threads, of which the caller's is one; fewer when the
 * system will not give them. After a failure no further item is begun; the failure of the lowest
 * item that failed is returned. */
assay_status assay_verify_jobs_run(size_t n_jobs, size_t n, assay_verify_job job, void *arg,
                                   assay_error *err) ASSAY_NODISCARD;

/* Processors that this process may use; at least 1. */
size_t assay_verify_jobs_default(void);

#endif
