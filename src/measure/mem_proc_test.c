/* Tests of mem_proc.c, on real processes and on folders made like /proc. */
#include "measure/mem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/test_folder.h"

static void *must_open(const assay_mem_config *config) {
  void *source = NULL;
  size_t n = 0;
  assert_int_equal(assay_mem_proc.open(config, &source, &n, NULL), ASSAY_OK);
  assert_int_equal(n, 1);
  return source;
}

static assay_mem_reading used(void *source) {
  assay_mem_reading reading;
  assay_mem_proc.used(source, 0, &reading);
  return reading;
}

static assay_mem_reading high_water(void *source) {
  assay_mem_reading reading;
  assay_mem_proc.high_water(source, 0, &reading);
  return reading;
}

static void assert_none(assay_mem_reading reading, const char *words) {
  assert_int_equal(reading.bytes, ASSAY_MEM_NONE);
  if (strstr(reading.reason, words) == NULL) fail_msg("'%s' in '%s'", words, reading.reason);
}

static void a_process_is_read_until_it_ends(void **state) {
  (void)state;
  void *source = must_open(&(assay_mem_config){0});
  assert_none(used(source), "no process was started yet");
  assert_none(high_water(source), "no process was started yet");
  pid_t pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  assert_true(pid > 0);
  assay_mem_proc.attach(source, pid);
  assay_mem_reading now = used(source), most = high_water(source);
  assert_true(now.bytes > 0 && now.bytes % sysconf(_SC_PAGESIZE) == 0);
  assert_true(most.bytes >= now.bytes);
  kill(pid, SIGKILL);
  siginfo_t info;
  assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
  assert_none(used(source), "has ended"); /* dead, and not waited for */
  assert_none(high_water(source), "has ended");
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  assert_none(used(source), "has ended");
  assert_none(high_water(source), "has ended");
  assay_mem_proc.close(source);
}

static void put(test_folder *folder, const char *name, const char *text) {
  char path[1200];
  snprintf(path, sizeof path, "%s/7", folder->path);
  assert_int_equal(assay_folder_create(path, NULL), ASSAY_OK);
  snprintf(path, sizeof path, "%s/7/%s", folder->path, name);
  assert_int_equal(assay_file_write(path, text, strlen(text), NULL), ASSAY_OK);
}

static void what_is_no_count_of_pages_is_not_one(void **state) {
  const struct {
    const char *text;
    int64_t pages; /* or NONE */
    const char *words;
  } rows[] = {
      {"4000 123 60 1 0 2000 0\n", 123, ""},
      {"1 1", 1, ""},
      {"0 0 0 0 0 0 0\n", ASSAY_MEM_NONE, "has ended"},
      {"", ASSAY_MEM_NONE, "has ended"},
      {"many pages\n", ASSAY_MEM_NONE, "expected counts of pages"},
      {"5\n", ASSAY_MEM_NONE, "expected counts of pages"},
      {"5 -1 0\n", ASSAY_MEM_NONE, "expected counts of pages"},
      {"5 999999999999999999 0\n", ASSAY_MEM_NONE, "expected counts of pages"},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    test_folder folder;
    test_folder_open(&folder);
    put(&folder, "statm", rows[i].text);
    void *source = must_open(&(assay_mem_config){.proc_folder = folder.path});
    assay_mem_proc.attach(source, 7);
    int64_t pages = rows[i].pages;
    if (pages == ASSAY_MEM_NONE)
      assert_none(used(source), rows[i].words);
    else
      assert_int_equal(used(source).bytes, pages * sysconf(_SC_PAGESIZE));
    assert_none(high_water(source), "could not be read"); /* no status beside it */
    assay_mem_proc.close(source);
    test_folder_close(&folder);
  }
}

static void the_mark_is_read_in_its_unit(void **state) {
  const struct {
    const char *text;
    int64_t bytes;
  } rows[] = {
      {"Name:\tx\nVmHWM:\t    1234 kB\nVmRSS:\t 9 kB\n", 1234 * 1024},
      {"Name:\tx VmHWM: 5 kB\nState:\tZ (zombie)\n", ASSAY_MEM_NONE},
      {"VmHWM:\t kB\n", ASSAY_MEM_NONE},
      {"VmHWM:\t99999999999999999999 kB\n", ASSAY_MEM_NONE},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    test_folder folder;
    test_folder_open(&folder);
    put(&folder, "status", rows[i].text);
    void *source = must_open(&(assay_mem_config){.proc_folder = folder.path});
    assay_mem_proc.attach(source, 7);
    assert_int_equal(high_water(source).bytes, rows[i].bytes);
    assert_none(used(source), "process 7 could not be read");
    assay_mem_proc.close(source);
    test_folder_close(&folder);
  }
}

static void how_far_the_kernels_counters_may_be_off_is_said(void **state) {
  int64_t n = sysconf(_SC_NPROCESSORS_ONLN), page = sysconf(_SC_PAGESIZE);
  int64_t batched = (n > 16 ? 2 * n : 32) * n * 3 * page;
  const struct {
    const char *release;
    int64_t bytes;
  } rows[] = {{"6.17.0", 0},
              {"6.18.44-x", 0},
              {"7.0", 0},
              {"6.16.9", batched},
              {"6.2.0", batched},
              {"6.1.0-13-amd64", ASSAY_MEM_NONE},
              {"5.15", ASSAY_MEM_NONE},
              {"weird", ASSAY_MEM_NONE}};
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    void *source = must_open(&(assay_mem_config){.kernel_release = rows[i].release});
    assay_mem_target target = {0};
    assay_mem_proc.describe(source, 0, &target);
    assert_true(target.is_process);
    assert_int_equal(target.slack_bytes, rows[i].bytes);
    assay_mem_proc.close(source);
  }
}

static void sources_that_are_not_here_are_named(void **state) {
  assay_mem_config config = {.sys_folder = "/nowhere", .nvml_library = "/nowhere/libnvidia-ml.so"};
  assay_mem *mem = NULL;
  assay_mem_reading reading;
  (void)state;
  assert_int_equal(assay_mem_open(&config, &mem, NULL), ASSAY_OK);
  assert_int_equal(assay_mem_n_targets(mem), 1);
  assert_string_equal(assay_mem_target_at(mem, 0)->source, "proc");
  assert_int_equal(assay_mem_n_absences(mem), 2);
  assert_string_equal(assay_mem_absence_at(mem, 0)->source, "nvml");
  assert_non_null(strstr(assay_mem_absence_at(mem, 0)->reason, "/nowhere/libnvidia-ml.so"));
  assert_string_equal(assay_mem_absence_at(mem, 1)->source, "amd");
  assay_mem_attach(mem, getpid());
  assay_mem_used(mem, 0, &reading);
  assert_true(reading.bytes > 0);
  assay_mem_of_process(mem, 0, getpid(), &reading);
  assert_none(reading, "not told by process");
  assay_mem_close(mem);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_process_is_read_until_it_ends),
      cmocka_unit_test(what_is_no_count_of_pages_is_not_one),
      cmocka_unit_test(the_mark_is_read_in_its_unit),
      cmocka_unit_test(how_far_the_kernels_counters_may_be_off_is_said),
      cmocka_unit_test(sources_that_are_not_here_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
