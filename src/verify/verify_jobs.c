/* Threads that take the next item until none is left. */
#include "verify/verify_jobs.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "base/alloc.h"

#define JOBS_MAX 64

/* One run over the items. */
typedef struct team {
  assay_verify_job job;
  void *arg;
  size_t n;
  pthread_mutex_t lock;
  size_t next;        /* item that nobody took yet */
  size_t failed_item; /* SIZE_MAX: none */
  assay_error failure;
} team;

static bool take(team *t, size_t *out) {
  pthread_mutex_lock(&t->lock);
  bool any = t->next < t->n && t->failed_item == SIZE_MAX;
  if (any) *out = t->next++;
  pthread_mutex_unlock(&t->lock);
  return any;
}

static void note_failure(team *t, size_t i, assay_status st, const assay_error *why) {
  pthread_mutex_lock(&t->lock);
  if (i < t->failed_item) {
    t->failed_item = i;
    t->failure = *why;
    t->failure.status = st;
  }
  pthread_mutex_unlock(&t->lock);
}

static void *work(void *arg) {
  team *t = arg;
  size_t i = 0;
  while (take(t, &i)) {
    assay_error why = {0};
    assay_status st = t->job(t->arg, i, &why);
    if (st) note_failure(t, i, st, &why);
  }
  return NULL;
}

assay_status assay_verify_jobs_run(size_t n_jobs, size_t n, assay_verify_job job, void *arg,
                                   assay_error *err) {
  team t = {.job = job, .arg = arg, .n = n, .failed_item = SIZE_MAX};
  pthread_t threads[JOBS_MAX];
  size_t n_threads = 0;
  pthread_mutex_init(&t.lock, NULL);
  while (n_threads + 1 < n_jobs && n_threads + 1 < n && n_threads < JOBS_MAX) {
    if (pthread_create(&threads[n_threads], NULL, work, &t) != 0) break;
    n_threads++;
  }
  work(&t);
  for (size_t i = 0; i < n_threads; i++) pthread_join(threads[i], NULL);
  pthread_mutex_destroy(&t.lock);
  if (t.failed_item == SIZE_MAX) return ASSAY_OK;
  return assay_fail(err, t.failure.status, "%s", t.failure.text);
}

size_t assay_verify_jobs_default(void) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : (size_t)n;
}
