/* Tests of child.c, with /bin/sh as the child. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/test_folder.h"

#define MS INT64_C(1000000)

typedef struct fixture {
  test_folder folder;
  char out[1024], err[1024];
} fixture;

static int open_fixture(void **state) {
  fixture *f = malloc(sizeof *f);
  test_folder_open(&f->folder);
  snprintf(f->out, sizeof f->out, "%s/out", f->folder.path);
  snprintf(f->err, sizeof f->err, "%s/err", f->folder.path);
  *state = f;
  return 0;
}

static int close_fixture(void **state) {
  fixture *f = *state;
  test_folder_close(&f->folder);
  free(f);
  return 0;
}

static assay_child_result run_shell(fixture *f, const char *script, assay_child_spec spec) {
  const char *argv[] = {"/bin/sh", "-c", script, NULL};
  spec.argv = argv;
  spec.stdout_path = f->out;
  spec.stderr_path = f->err;
  assay_child_result result = {0};
  assay_error err = {0};
  if (assay_child_run(&spec, &result, &err)) fail_msg("%s", err.text);
  return result;
}

static void assert_file_text(const char *path, const char *expected) {
  assay_buf text = {0};
  assert_int_equal(assay_file_read(path, 100000, &text, NULL), ASSAY_OK);
  assert_string_equal(assay_buf_text(&text), expected);
  assay_buf_reset(&text);
}

static void output_and_exit_code_are_kept(void **state) {
  fixture *f = *state;
  assay_child_result r =
      run_shell(f, "read x; echo out; echo err >&2; sleep 0.05; exit 7", (assay_child_spec){0});
  assert_true(r.exited && r.signal == 0 && !r.timed_out && !r.left_children && !r.was_cancelled);
  assert_int_equal(r.exit_code, 7);
  assert_true(r.elapsed_ns > 0 && r.max_rss_bytes > 100000);
  assert_file_text(f->out, "out\n");
  assert_file_text(f->err, "err\n");
}

static void both_streams_may_share_a_file(void **state) {
  fixture *f = *state;
  memcpy(f->err, f->out, sizeof f->err);
  run_shell(f, "echo a; echo b >&2; echo c", (assay_child_spec){0});
  assert_file_text(f->out, "a\nb\nc\n");
}

static void the_environment_is_changed_as_asked(void **state) {
  fixture *f = *state;
  setenv("ASSAY_TEST_KEPT", "kept", 1);
  setenv("ASSAY_TEST_GONE", "gone", 1);
  setenv("ASSAY_TEST_SET", "old", 1);
  const char *env[] = {"ASSAY_TEST_SET=first", "ASSAY_TEST_SET=new=er", "ASSAY_TEST_GONE", NULL};
  run_shell(f, "echo $ASSAY_TEST_KEPT,${ASSAY_TEST_GONE-none},$ASSAY_TEST_SET",
            (assay_child_spec){.env = env});
  assert_file_text(f->out, "kept,none,new=er\n");
}

static void death_by_signal_is_a_result(void **state) {
  assay_child_result r = run_shell(*state, "kill -SEGV $$", (assay_child_spec){0});
  assert_false(r.exited);
  assert_int_equal(r.signal, SIGSEGV);
  assert_false(r.timed_out);
}

static void ignored_and_blocked_signals_are_not_inherited(void **state) {
  signal(SIGTERM, SIG_IGN);
  assay_child_result r = run_shell(*state, "kill -TERM $$; exit 3", (assay_child_spec){0});
  signal(SIGTERM, SIG_DFL);
  assert_int_equal(r.signal, SIGTERM);
}

static void a_child_past_its_time_is_told_to_end(void **state) {
  fixture *f = *state;
  assay_child_result r =
      run_shell(f, "trap 'echo bye; exit 5' TERM; while :; do sleep 0.02; done",
                (assay_child_spec){.timeout_ns = 150 * MS, .grace_ns = 5000 * MS});
  assert_true(r.timed_out && r.exited);
  assert_int_equal(r.exit_code, 5);
  assert_in_range(r.elapsed_ns, 150 * MS, 3000 * MS);
  assert_file_text(f->out, "bye\n");
}

static void a_deaf_child_is_killed_with_its_group(void **state) {
  assay_child_result r =
      run_shell(*state, "trap '' TERM; sleep 100 & while :; do sleep 0.05; done",
                (assay_child_spec){.timeout_ns = 100 * MS, .grace_ns = 100 * MS});
  assert_true(r.timed_out && !r.exited);
  assert_int_equal(r.signal, SIGKILL);
  assert_in_range(r.elapsed_ns, 200 * MS, 3000 * MS);
}

/* The grandchild holds the child's output open; waiting for its end would take 100 s. */
static void what_outlives_the_child_is_killed_and_reported(void **state) {
  fixture *f = *state;
  assay_child_result r = run_shell(f, "sleep 100 & echo $!", (assay_child_spec){0});
  assert_true(r.exited && r.exit_code == 0 && r.left_children);
  assert_true(r.elapsed_ns < 5000 * MS);
  assay_buf text = {0};
  assert_int_equal(assay_file_read(f->out, 100, &text, NULL), ASSAY_OK);
  pid_t pid = (pid_t)atoi(assay_buf_text(&text));
  assay_buf_reset(&text);
  assert_true(pid > 1);
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)pid);
  int64_t cmdline_bytes = 0; /* a dead process that nobody waited for has an empty one */
  if (assay_file_read(path, 4096, &text, NULL) == ASSAY_OK)
    cmdline_bytes = (int64_t)text.size_bytes;
  assay_buf_reset(&text);
  assert_int_equal(cmdline_bytes, 0);
}

static void tick(void *arg) {
  ++*(int *)arg;
}

static bool cancelled(void *arg) {
  return *(int *)arg >= 3;
}

static void a_cancelled_child_ends_and_ticks_come_meanwhile(void **state) {
  int ticks = 0;
  assay_child_spec spec = {.tick = tick, .cancelled = cancelled, .arg = &ticks};
  assay_child_result r = run_shell(*state, "sleep 100", spec);
  assert_true(r.was_cancelled && !r.timed_out && !r.exited);
  assert_int_equal(r.signal, SIGTERM);
  assert_in_range(ticks, 3, 4);
  assert_in_range(r.elapsed_ns, 150 * MS, 5000 * MS);
}

static void note_pid(void *arg, int64_t pid) {
  *(int64_t *)arg = pid;
}

static void its_number_is_told_as_it_starts(void **state) {
  fixture *f = *state;
  int64_t pid = 0;
  char expected[32];
  run_shell(f, "echo $$", (assay_child_spec){.started = note_pid, .started_arg = &pid});
  snprintf(expected, sizeof expected, "%lld\n", (long long)pid);
  assert_file_text(f->out, expected);
}

static void a_program_that_cannot_start_is_named(void **state) {
  fixture *f = *state;
  assert_int_equal(assay_file_write(f->out, "no program", 10, NULL), ASSAY_OK);
  const struct {
    const char *program, *stdout_path, *words;
    assay_status status;
  } rows[] = {
      {"/nowhere/x", NULL, "could not start '/nowhere/x': No such file", ASSAY_E_MISSING},
      {f->out, NULL, "Permission denied", ASSAY_E_IO},
      {"/bin/sh", "/nowhere/out", "could not open '/nowhere/out': No such file", ASSAY_E_IO},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *argv[] = {rows[i].program, NULL};
    assay_child_spec spec = {.argv = argv, .stdout_path = rows[i].stdout_path};
    assay_child_result result;
    assay_error err = {0};
    assay_status st = assay_child_run(&spec, &result, &err);
    if (st != rows[i].status || strstr(err.text, rows[i].words) == NULL) {
      fail_msg("row %zu: %s: %s", i, assay_status_name(st), err.text);
    }
  }
  assay_child_result result;
  assert_int_equal(assay_child_run(&(assay_child_spec){0}, &result, NULL), ASSAY_E_ARGUMENT);
}

/* Descriptors that whoever started the test left open for it to hand on are not ours to count. */
static int count_handed_on(void) {
  int n = 0;
  for (int fd = 3; fd < 1024; fd++) {
    int flags = fcntl(fd, F_GETFD);
    n += flags >= 0 && !(flags & FD_CLOEXEC);
  }
  return n;
}

static void only_the_standard_descriptors_are_added(void **state) {
  fixture *f = *state;
  char expected[16];
  snprintf(expected, sizeof expected, "%d\n",
           4 + count_handed_on()); /* ls reads through a fourth */
  run_shell(f, "ls /proc/self/fd | wc -l", (assay_child_spec){0});
  assert_file_text(f->out, expected);
}

/* Linux counts the memory of the program that starts another as that other's. */
static void the_childs_memory_is_not_ours(void **state) {
  size_t large = (size_t)200 << 20;
  char *block = malloc(large);
  assert_non_null(block);
  memset(block, 1, large);
  assay_child_result r = run_shell(*state, "sleep 0.12", (assay_child_spec){0});
  assert_int_equal(block[large - 1], 1);
  free(block);
  assert_in_range(r.max_rss_bytes, 100000, 100 << 20);
}

static void the_programs_own_path_is_known(void **state) {
  (void)state;
  char *path = NULL;
  assert_int_equal(assay_child_self_path(&path, NULL), ASSAY_OK);
  assert_string_equal(assay_path_name(path), "child_test");
  assay_free(path);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
  const struct CMUnitTest tests[] = {
      TEST(output_and_exit_code_are_kept),
      TEST(both_streams_may_share_a_file),
      TEST(the_environment_is_changed_as_asked),
      TEST(death_by_signal_is_a_result),
      TEST(ignored_and_blocked_signals_are_not_inherited),
      TEST(a_child_past_its_time_is_told_to_end),
      TEST(a_deaf_child_is_killed_with_its_group),
      TEST(what_outlives_the_child_is_killed_and_reported),
      TEST(a_cancelled_child_ends_and_ticks_come_meanwhile),
      TEST(its_number_is_told_as_it_starts),
      TEST(a_program_that_cannot_start_is_named),
      TEST(only_the_standard_descriptors_are_added),
      TEST(the_childs_memory_is_not_ours),
      cmocka_unit_test(the_programs_own_path_is_known),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
