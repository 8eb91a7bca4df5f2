/* See ref_pool.h. Workers sleep on a condition between runs; tasks are handed out under the same
 * mutex, which is cheap beside the tasks (each is at least a tile of rows or a sort). */
#include "reference/ref_pool.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/alloc.h"

typedef struct worker {
  pthread_t id;
  ref_pool *pool;
  int thread; /* 1 … */
} worker;

struct ref_pool {
  pthread_mutex_t mutex;
  pthread_cond_t work; /* tasks have come, or stop */
  pthread_cond_t idle; /* the last task has ended */
  worker *workers;     /* [n_workers], owned */
  int n_workers;       /* besides the caller */
  bool stop;
  ref_task task; /* of the run in progress */
  void *context;
  int64_t n_tasks;
  int64_t next; /* task to hand out; n_tasks when none is left */
  int64_t n_running;
  bool (*cancelled)(void *arg); /* or NULL; asked with the mutex held */
  void *cancelled_arg;
  bool is_cancelled;
};

/* Runs tasks until none is left; called and left with the mutex held. */
static void drain(ref_pool *pool, int thread) {
  while (pool->next < pool->n_tasks) {
    if (!pool->is_cancelled && pool->cancelled != NULL)
      pool->is_cancelled = pool->cancelled(pool->cancelled_arg);
    if (pool->is_cancelled) {
      pool->next = pool->n_tasks;
      break;
    }
    int64_t number = pool->next++;
    pool->n_running++;
    pthread_mutex_unlock(&pool->mutex);
    pool->task(pool->context, number, thread);
    pthread_mutex_lock(&pool->mutex);
    pool->n_running--;
  }
  if (pool->n_running == 0) pthread_cond_signal(&pool->idle);
}

static void *work(void *argument) {
  worker *self = argument;
  ref_pool *pool = self->pool;
  pthread_mutex_lock(&pool->mutex);
  while (!pool->stop) {
    if (pool->next < pool->n_tasks) {
      drain(pool, self->thread);
    } else {
      pthread_cond_wait(&pool->work, &pool->mutex);
    }
  }
  pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

static void start_workers(ref_pool *pool, int wanted) {
  for (int i = 0; i < wanted; i++) {
    worker *w = &pool->workers[i];
    w->pool = pool;
    w->thread = i + 1;
    if (pthread_create(&w->id, /*attr=*/NULL, work, w) != 0) return;
    pool->n_workers++;
  }
}

assay_status ref_pool_create(int n_threads, ref_pool **out, assay_error *err) {
  size_t n_workers = n_threads > 1 ? (size_t)n_threads - 1 : 0;
  ref_pool *pool = assay_alloc(sizeof *pool);
  if (pool == NULL) return assay_fail_memory(err, sizeof *pool);
  pool->workers = assay_alloc_array(n_workers, sizeof *pool->workers);
  if (pool->workers == NULL) {
    assay_free(pool);
    return assay_fail_memory(err, n_workers * sizeof *pool->workers);
  }
  pthread_mutex_init(&pool->mutex, /*attr=*/NULL);
  pthread_cond_init(&pool->work, /*attr=*/NULL);
  pthread_cond_init(&pool->idle, /*attr=*/NULL);
  start_workers(pool, (int)n_workers);
  *out = pool;
  return ASSAY_OK;
}

void ref_pool_destroy(ref_pool *pool) {
  if (pool == NULL) return;
  pthread_mutex_lock(&pool->mutex);
  pool->stop = true;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->mutex);
  for (int i = 0; i < pool->n_workers; i++) pthread_join(pool->workers[i].id, /*result=*/NULL);
  pthread_cond_destroy(&pool->idle);
  pthread_cond_destroy(&pool->work);
  pthread_mutex_destroy(&pool->mutex);
  assay_free(pool->workers);
  assay_free(pool);
}

void ref_pool_run(ref_pool *pool, int64_t n_tasks, ref_task task, void *context) {
  pthread_mutex_lock(&pool->mutex);
  pool->task = task;
  pool->context = context;
  pool->next = 0;
  pool->n_tasks = n_tasks;
  if (pool->n_workers > 0 && n_tasks > 1) pthread_cond_broadcast(&pool->work);
  drain(pool, /*thread=*/0);
  while (pool->n_running > 0) pthread_cond_wait(&pool->idle, &pool->mutex);
  pthread_mutex_unlock(&pool->mutex);
}

void ref_pool_set_cancelled(ref_pool *pool, bool (*cancelled)(void *arg), void *arg) {
  pool->cancelled = cancelled;
  pool->cancelled_arg = arg;
}

bool ref_pool_is_cancelled(const ref_pool *pool) {
  return pool->is_cancelled;
}
