#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "reference/ref_pool.h"

enum { TASKS_MAX = 1000, THREADS_MAX = 5 };

typedef struct tally {
  int times[TASKS_MAX]; /* each slot is written by one task only */
  int thread[TASKS_MAX];
} tally;

static void count(void *context, int64_t task, int thread) {
  tally *t = context;
  t->times[task]++;
  t->thread[task] = thread;
}

static void runs_every_task_once_whatever_the_threads(void **state) {
  (void)state;
  const int64_t n_tasks[] = {0, 1, 2, 7, TASKS_MAX};
  for (int threads = 1; threads <= THREADS_MAX; threads++) {
    ref_pool *pool = NULL;
    assert_int_equal(ref_pool_create(threads, &pool, /*err=*/NULL), ASSAY_OK);
    for (size_t i = 0; i < 5; i++) {
      tally t = {0};
      ref_pool_run(pool, n_tasks[i], count, &t);
      for (int64_t k = 0; k < TASKS_MAX; k++) {
        assert_int_equal(t.times[k], k < n_tasks[i] ? 1 : 0);
        assert_in_range(t.thread[k], 0, threads - 1);
      }
    }
    ref_pool_destroy(pool);
  }
}

/* True from the n-th question on. */
static bool at_the_third(void *arg) {
  return ++*(int *)arg >= 3;
}

static void a_cancelled_pool_leaves_the_rest_out(void **state) {
  (void)state;
  for (int threads = 1; threads <= THREADS_MAX; threads++) {
    ref_pool *pool = NULL;
    int asked = 0, n_done = 0;
    tally t = {0};
    assert_int_equal(ref_pool_create(threads, &pool, /*err=*/NULL), ASSAY_OK);
    ref_pool_set_cancelled(pool, at_the_third, &asked);
    for (int run = 0; run < 2; run++) ref_pool_run(pool, TASKS_MAX, count, &t);
    for (int64_t k = 0; k < TASKS_MAX; k++) n_done += t.times[k];
    assert_int_equal(n_done, 2);
    assert_int_equal(asked, 3); /* what was said stays so */
    assert_true(ref_pool_is_cancelled(pool));
    ref_pool_destroy(pool);
  }
}

static void an_unused_pool_can_be_destroyed(void **state) {
  (void)state;
  ref_pool *pool = NULL;
  ref_pool_destroy(NULL);
  assert_int_equal(ref_pool_create(/*n_threads=*/3, &pool, /*err=*/NULL), ASSAY_OK);
  ref_pool_destroy(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_every_task_once_whatever_the_threads),
      cmocka_unit_test(a_cancelled_pool_leaves_the_rest_out),
      cmocka_unit_test(an_unused_pool_can_be_destroyed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
