/* Tests of loop.c and clock.c with callbacks that count. */
#include "measure/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

typedef struct counter {
  size_t n_calls, n_after;
  size_t fail_at;    /* 1-based call that fails; 0: none */
  bool call_is_open; /* between a call and its `after` */
  int64_t sleep_ns;
} counter;

static assay_status count_call(void *arg, assay_error *err) {
  counter *c = arg;
  assert_false(c->call_is_open);
  ++c->n_calls;
  if (c->n_calls == c->fail_at) return assay_fail(err, ASSAY_E_RUNTIME, "out of luck");
  c->call_is_open = true;
  if (c->sleep_ns > 0) nanosleep(&(struct timespec){.tv_nsec = c->sleep_ns}, NULL);
  return ASSAY_OK;
}

static void count_after(void *arg) {
  counter *c = arg;
  assert_true(c->call_is_open);
  c->call_is_open = false;
  ++c->n_after;
}

static void every_call_is_timed_and_followed_by_after(void **state) {
  (void)state;
  counter c = {.sleep_ns = 1000000};
  assay_loop_spec spec = {
      .call = count_call, .after = count_after, .arg = &c, .n_warmup = 3, .n_samples = 5};
  int64_t warmup_ns[3] = {0}, samples_ns[5] = {0};
  assay_error err = {0};
  assert_int_equal(assay_loop_run(&spec, warmup_ns, samples_ns, &err), ASSAY_OK);
  assert_int_equal(c.n_calls, 8);
  assert_int_equal(c.n_after, 8);
  for (size_t i = 0; i < 3; ++i) assert_true(warmup_ns[i] >= 1000000);
  for (size_t i = 0; i < 5; ++i) assert_true(samples_ns[i] >= 1000000);
}

static void warmups_may_go_unrecorded(void **state) {
  (void)state;
  counter c = {0};
  assay_loop_spec spec = {
      .call = count_call, .after = count_after, .arg = &c, .n_warmup = 2, .n_samples = 1};
  int64_t sample_ns = -1;
  assert_int_equal(assay_loop_run(&spec, NULL, &sample_ns, NULL), ASSAY_OK);
  assert_int_equal(c.n_calls, 3);
  assert_true(sample_ns >= 0);
}

static void a_failing_call_ends_the_loop_and_is_numbered(void **state) {
  (void)state;
  counter c = {.fail_at = 4};
  assay_loop_spec spec = {
      .call = count_call, .after = count_after, .arg = &c, .n_warmup = 2, .n_samples = 3};
  int64_t warmup_ns[2], samples_ns[3] = {-1, -1, -1};
  assay_error err = {0};
  assert_int_equal(assay_loop_run(&spec, warmup_ns, samples_ns, &err), ASSAY_E_RUNTIME);
  assert_string_equal(err.text, "sample 2 of 3: out of luck");
  assert_int_equal(c.n_calls, 4);
  assert_int_equal(c.n_after, 3);
  assert_true(samples_ns[0] >= 0);
  assert_true(samples_ns[1] == -1);
}

static void no_samples_is_refused(void **state) {
  (void)state;
  counter c = {0};
  assay_loop_spec spec = {.call = count_call, .arg = &c};
  assert_int_equal(assay_loop_run(&spec, NULL, NULL, NULL), ASSAY_E_ARGUMENT);
  assert_int_equal(c.n_calls, 0);
}

static void clocks_go_forward_and_know_the_century(void **state) {
  (void)state;
  int64_t raw = assay_clock_raw_ns(), now = assay_clock_now_ns();
  assert_true(assay_clock_raw_ns() >= raw);
  assert_true(assay_clock_now_ns() >= now);
  assert_true(assay_clock_realtime_ns() > (int64_t)1577836800 * 1000000000); /* 2020-01-01 */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_call_is_timed_and_followed_by_after),
      cmocka_unit_test(warmups_may_go_unrecorded),
      cmocka_unit_test(a_failing_call_ends_the_loop_and_is_numbered),
      cmocka_unit_test(no_samples_is_refused),
      cmocka_unit_test(clocks_go_forward_and_know_the_century),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
