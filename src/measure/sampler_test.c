/* Tests of sampler.c: a program of known needs, devices that change and vanish meanwhile, deadlines
 * that cannot be kept. */
#include "measure/sampler.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/test_folder.h"
#include "measure/clock.h"
#include "measure/fake_nvml.h"

#define MS INT64_C(1000000)

typedef struct fixture {
  test_folder folder;
  assay_mem_config config; /* no devices */
} fixture;

static int open_fixture(void **state) {
  static fixture f;
  test_folder_open(&f.folder);
  f.config = (assay_mem_config){.sys_folder = "/nowhere", .nvml_library = "/nowhere/nvml"};
  *state = &f;
  return 0;
}

static int close_fixture(void **state) {
  test_folder_close(&((fixture *)*state)->folder);
  return 0;
}

static void sleep_ms(long ms) {
  struct timespec t = {.tv_nsec = ms * 1000000};
  nanosleep(&t, NULL);
}

static assay_sampler *must_start(const assay_sampler_spec *spec) {
  assay_sampler *sampler = NULL;
  assay_error err = {0};
  if (assay_sampler_start(spec, &sampler, &err)) fail_msg("%s", err.text);
  return sampler;
}

static int64_t mark_of(const char *text, const char *stage) {
  const char *at = strstr(text, stage);
  long long ns = 0;
  assert_non_null(at);
  assert_int_equal(sscanf(at + strlen(stage), " %lld", &ns), 1);
  return ns;
}

static assay_mem_marks read_marks(const char *path) {
  assay_buf text = {0};
  assert_int_equal(assay_file_read(path, 1000, &text, NULL), ASSAY_OK);
  const char *t = assay_buf_text(&text);
  assay_mem_marks marks = {mark_of(t, "session"), mark_of(t, "warmup"), mark_of(t, "outputs")};
  assay_buf_reset(&text);
  return marks;
}

static size_t column_of(const assay_sampler_record *record, const char *name) {
  for (size_t i = 0; i < record->n_columns; i++)
    if (strcmp(record->columns[i].name, name) == 0) return i;
  fail_msg("no column '%s'", name);
  return 0;
}

static assay_mem_figures figures_of(const assay_sampler_record *record, const char *name,
                                    const assay_mem_marks *marks) {
  assay_mem_figures figures;
  assay_mem_summarise(record->values, record->n_rows, record->n_columns, column_of(record, name),
                      marks, &figures);
  return figures;
}

/* --- a program of known needs --------------------------------------------------------------------
 */

static void attach(void *arg, int64_t pid) {
  assay_sampler_attach(arg, pid);
}

/* Within a page, and what the kernel's counters may be off by; in pages for the message. */
static void assert_pages(const char *what, int64_t bytes, int64_t pages, int64_t slack_bytes) {
  int64_t page = sysconf(_SC_PAGESIZE), off = bytes - pages * page;
  if (off > page + slack_bytes || -off > page + slack_bytes)
    fail_msg("%s: %lld pages more than before, not %lld", what, (long long)(bytes / page),
             (long long)pages);
}

static void known_amounts_are_reported_to_a_page(void **state) {
  fixture *f = *state;
  const int64_t first = 3000, passing = 2000, warm = 1500, after = 4000;
  char path[1100], out_path[1100];
  snprintf(path, sizeof path, "%s/phases.txt", f->folder.path);
  snprintf(out_path, sizeof out_path, "%s/out", f->folder.path);
  const char *argv[] = {MEM_STEPS, path, "3000", "2000", "1500", "4000", NULL};
  assay_sampler *sampler = must_start(&(assay_sampler_spec){.config = &f->config});
  assay_child_spec spec = {
      .argv = argv, .stdout_path = out_path, .started = attach, .started_arg = sampler};
  assay_child_result child;
  assert_int_equal(assay_child_run(&spec, &child, NULL), ASSAY_OK);
  assert_true(child.exited && child.exit_code == 0);
  assay_sampler_record record = {0};
  assay_sampler_stop(sampler, &record);
  assay_mem_marks marks = read_marks(path);
  assay_mem_figures rss = figures_of(&record, "rss_bytes", &marks);
  int64_t slack = record.targets[0].target.slack_bytes;
  if (slack == ASSAY_MEM_NONE) slack = 64 * 3 * sysconf(_SC_PAGESIZE); /* one thread, before 6.2 */
  assert_true(rss.n_baseline > 0 && rss.n_first > 0 && rss.n_warm > 0);
  assert_pages("first", rss.peak_first_bytes - rss.baseline_bytes, first + passing, slack);
  assert_pages("warm", rss.peak_warm_bytes - rss.baseline_bytes, first + warm, slack);
  assert_pages("peak", rss.peak_bytes - rss.baseline_bytes, first + warm + after, slack);
  assert_true(record.high_water_bytes + slack >= rss.peak_warm_bytes);
  assert_string_equal(record.columns[column_of(&record, "time_ns")].reason, "");
  assert_string_equal(record.columns[2].reason + strlen(record.columns[2].reason) - 5, "ended");
  assay_sampler_record_reset(&record);
}

/* --- devices -------------------------------------------------------------------------------------
 */

static void put(fixture *f, const char *name, const char *text) {
  char path[1200];
  snprintf(path, sizeof path, "%s/sys/class/drm/card0/device", f->folder.path);
  assert_int_equal(assay_folder_create(path, NULL), ASSAY_OK);
  snprintf(path, sizeof path, "%s/sys/class/drm/card0/device/%s", f->folder.path, name);
  assert_int_equal(assay_file_write(path, text, strlen(text), NULL), ASSAY_OK);
}

/* An AMD card of 1000 bytes, and an NVIDIA card of 70. */
static fake_nvml_world *make_devices(fixture *f, char sys[600], void **out_library) {
  put(f, "uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\n");
  put(f, "mem_info_vram_total", "5000\n");
  put(f, "mem_info_vram_used", "1000\n");
  put(f, "gpu_busy_percent", "0\n");
  snprintf(sys, 600, "%s/sys", f->folder.path);
  f->config.sys_folder = sys;
  f->config.nvml_library = FAKE_NVML;
  *out_library = dlopen(FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(*out_library);
  void *symbol = dlsym(*out_library, "fake_nvml_get_world");
  fake_nvml_world_call get;
  memcpy(&get, &symbol, sizeof get);
  fake_nvml_world *world = get();
  *world = (fake_nvml_world){.n_cards = 1};
  world->cards[0] = (fake_nvml_device){.bus_id = "00000000:C1:00.0", .total = 100, .used = 70};
  return world;
}

/* What the caller's clock says stands for the worker's marks. */
static void devices_are_followed_by_phase_to_the_byte(void **state) {
  fixture *f = *state;
  char sys[600];
  void *library = NULL;
  fake_nvml_world *world = make_devices(f, sys, &library);
  assay_sampler *sampler = must_start(&(assay_sampler_spec){.config = &f->config});
  assay_mem_marks marks = {0};
  sleep_ms(80);
  marks.session_ns = assay_clock_now_ns();
  put(f, "mem_info_vram_used", "3001\n");
  world->cards[0].used = 71;
  sleep_ms(80);
  put(f, "mem_info_vram_used", "2002\n");
  sleep_ms(80);
  marks.warm_ns = assay_clock_now_ns();
  put(f, "mem_info_vram_used", "2503\n");
  world->cards[0].busy = 50;
  sleep_ms(80);
  marks.end_ns = assay_clock_now_ns();
  put(f, "mem_info_vram_used", "4004\n");
  sleep_ms(80);
  assay_sampler_record record = {0};
  assay_sampler_stop(sampler, &record);
  assay_mem_figures amd = figures_of(&record, "used_bytes@0000:03:00.0", &marks);
  assay_mem_figures nvidia = figures_of(&record, "used_bytes@0000:c1:00.0", &marks);
  assert_int_equal(amd.baseline_bytes, 1000);
  assert_int_equal(amd.peak_first_bytes, 3001);
  assert_int_equal(amd.peak_warm_bytes, 2503);
  assert_int_equal(amd.peak_bytes, 4004);
  assert_int_equal(amd.n_values, record.n_rows);
  assert_int_equal(nvidia.baseline_bytes, 70);
  assert_int_equal(nvidia.peak_warm_bytes, 71);
  assert_int_equal(record.n_targets, 3);
  assert_int_equal(record.targets[1].before.busy_percent, 0);
  assert_int_equal(record.targets[1].after.busy_percent, 50);
  assert_int_equal(record.targets[2].before.used.bytes, 1000);
  assert_int_equal(record.targets[2].after.used.bytes, 4004);
  assert_int_equal(figures_of(&record, "rss_bytes", &marks).n_values, 0);
  assert_non_null(strstr(record.columns[column_of(&record, "rss_bytes")].reason, "no process"));
  assay_sampler_record_reset(&record);
  dlclose(library);
}

static void a_device_that_vanishes_leaves_gaps_and_a_reason(void **state) {
  fixture *f = *state;
  char sys[600];
  void *library = NULL;
  fake_nvml_world *world = make_devices(f, sys, &library);
  assay_sampler *sampler = must_start(&(assay_sampler_spec){.config = &f->config});
  sleep_ms(40);
  world->cards[0].memory_v2_code = NVML_GPU_IS_LOST;
  char path[1200];
  snprintf(path, sizeof path, "%s/class/drm/card0/device/mem_info_vram_used", sys);
  assert_int_equal(unlink(path), 0);
  sleep_ms(40);
  assay_sampler_record record = {0};
  assay_sampler_stop(sampler, &record);
  const char *const names[] = {"used_bytes@0000:03:00.0", "used_bytes@0000:c1:00.0"};
  const char *const words[] = {"No such file", "GPU is lost"};
  for (size_t k = 0; k < 2; k++) {
    size_t column = column_of(&record, names[k]);
    size_t n_none = 0;
    for (size_t i = 0; i < record.n_rows; i++) {
      int64_t value = record.values[i * record.n_columns + column];
      n_none += value == ASSAY_MEM_NONE;
      assert_true(value == ASSAY_MEM_NONE || value == (k == 0 ? 1000 : 70));
    }
    assert_true(n_none > 0 && n_none < record.n_rows);
    assert_non_null(strstr(record.columns[column].reason, words[k]));
  }
  assert_int_equal(record.targets[1].after.used.bytes, ASSAY_MEM_NONE);
  assay_sampler_record_reset(&record);
  dlclose(library);
}

/* The worker's part is asked for in every tenth row only. */
static void the_workers_part_of_a_device_is_told(void **state) {
  fixture *f = *state;
  char sys[600], proc[600], path[700];
  void *library = NULL;
  fake_nvml_world *world = make_devices(f, sys, &library);
  snprintf(proc, sizeof proc, "%s/proc", f->folder.path);
  snprintf(path, sizeof path, "%s/self/ns", proc);
  assert_int_equal(assay_folder_create(path, NULL), ASSAY_OK);
  snprintf(path, sizeof path, "%s/self/ns/pid", proc);
  assert_int_equal(symlink("pid:[4026531836]", path), 0);
  f->config.proc_folder = proc;
  world->cards[0].compute[0] = (nvml_process){.pid = 4711, .used_bytes = 33};
  world->cards[0].n_compute = 1;
  assay_sampler *sampler =
      must_start(&(assay_sampler_spec){.config = &f->config, .interval_ns = MS});
  assay_sampler_attach(sampler, 4711);
  sleep_ms(60);
  assay_sampler_record record = {0};
  assay_sampler_stop(sampler, &record);
  assay_mem_marks marks = {0};
  assay_mem_figures part = figures_of(&record, "worker_bytes@0000:c1:00.0", &marks);
  assert_int_equal(part.peak_bytes, 33);
  assert_in_range(part.n_values, 1, record.n_rows / ASSAY_SAMPLER_SLOW_EVERY + 1);
  assert_int_equal(record.targets[1].before.n_processes, 1);
  assay_sampler_record_reset(&record);
  dlclose(library);
}

/* --- deadlines -----------------------------------------------------------------------------------
 */

static void rows_are_on_absolute_deadlines(void **state) {
  fixture *f = *state;
  assay_sampler *sampler = must_start(&(assay_sampler_spec){.config = &f->config});
  sleep_ms(300);
  assay_sampler_record record = {0};
  assay_sampler_stop(sampler, &record);
  assert_int_equal(record.interval_ns, 10 * MS);
  assert_true(record.n_rows > 0);
  int64_t span_ns = record.values[(record.n_rows - 1) * record.n_columns] - record.start_ns;
  assert_int_equal((int64_t)record.n_rows + record.n_missed, span_ns / (10 * MS) + 1);
  for (size_t i = 0; i < record.n_rows; i++) {
    const int64_t *row = record.values + i * record.n_columns;
    assert_true(row[ASSAY_MEM_COLUMN_TIME] >= record.start_ns);
    assert_true(row[ASSAY_MEM_COLUMN_READ] >= 0);
    if (i > 0) assert_true(row[0] > row[-(ptrdiff_t)record.n_columns]);
    /* the first row after a deadline, by at most the largest lateness that is told */
    assert_true((row[0] - record.start_ns) % (10 * MS) <= record.max_late_ns);
  }
  assay_sampler_record_reset(&record);
}

/* Readings of 5 ms cannot keep 1 ms. */
static void deadlines_that_cannot_be_kept_are_counted(void **state) {
  fixture *f = *state;
  char sys[600];
  void *library = NULL;
  fake_nvml_world *world = make_devices(f, sys, &library);
  world->delay_ns = 5 * MS;
  assay_sampler *sampler =
      must_start(&(assay_sampler_spec){.config = &f->config, .interval_ns = MS});
  sleep_ms(100);
  assay_sampler_record record = {0};
  assay_sampler_stop(sampler, &record);
  assert_true(record.n_rows >= 2);
  assert_true(record.n_missed >= 4 * ((int64_t)record.n_rows - 1));
  assert_true(record.values[ASSAY_MEM_COLUMN_READ] >= 5 * MS);
  assay_sampler_record_reset(&record);
  dlclose(library);
}

static void rows_beyond_the_ceiling_are_counted(void **state) {
  fixture *f = *state;
  assay_sampler *sampler =
      must_start(&(assay_sampler_spec){.config = &f->config, .interval_ns = MS, .max_rows = 3});
  sleep_ms(80);
  assay_sampler_record record = {0};
  assay_sampler_stop(sampler, &record);
  assert_int_equal(record.n_rows, 3);
  assert_true(record.n_dropped > 0);
  assay_sampler_record_reset(&record);
}

static void rows_grow_past_the_first_block(void **state) {
  fixture *f = *state;
  assay_sampler *sampler =
      must_start(&(assay_sampler_spec){.config = &f->config, .interval_ns = 20000});
  assay_sampler_record record = {0};
  assay_sampler_attach(sampler, getpid());
  for (int i = 0; i < 40; i++) sleep_ms(10);
  assay_sampler_stop(sampler, &record);
  assert_true(record.n_rows > 1000); /* over 4096 on an idle machine */
  for (size_t i = 1; i < record.n_rows; i++)
    assert_true(record.values[i * record.n_columns] > record.values[(i - 1) * record.n_columns]);
  assay_sampler_record_reset(&record);
}

static int n_signals;

static void count_signal(int number) {
  (void)number;
  n_signals++;
}

/* A signal of the process goes to a thread that has it open: never to the sampler's. */
static void signals_are_left_to_the_campaign(void **state) {
  fixture *f = *state;
  sigset_t one, before;
  signal(SIGUSR1, count_signal);
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  assay_sampler *sampler = must_start(&(assay_sampler_spec){.config = &f->config});
  sigprocmask(SIG_BLOCK, &one, &before);
  kill(getpid(), SIGUSR1);
  sleep_ms(30);
  assert_int_equal(n_signals, 0);
  sigprocmask(SIG_SETMASK, &before, NULL);
  assert_int_equal(n_signals, 1);
  assay_sampler_record record = {0};
  assay_sampler_stop(sampler, &record);
  assay_sampler_record_reset(&record);
}

static void out_of_memory_at_any_step_is_said(void **state) {
  fixture *f = *state;
  assay_status st = ASSAY_E_MEMORY;
  int64_t n = 0;
  for (; st == ASSAY_E_MEMORY; n++) {
    assay_sampler *sampler = NULL;
    assay_alloc_fail_after(n);
    st = assay_sampler_start(&(assay_sampler_spec){.config = &f->config}, &sampler, NULL);
    assay_alloc_fail_after(-1);
    if (st) continue;
    assay_sampler_record record = {0};
    assay_sampler_stop(sampler, &record);
    assay_sampler_record_reset(&record);
  }
  assert_int_equal(st, ASSAY_OK);
  assert_in_range(n, 5, 40);
  assay_sampler *sampler = NULL;
  assert_int_equal(assay_sampler_start(&(assay_sampler_spec){.interval_ns = -1}, &sampler, NULL),
                   ASSAY_E_ARGUMENT);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
  const struct CMUnitTest tests[] = {
      TEST(known_amounts_are_reported_to_a_page),
      TEST(devices_are_followed_by_phase_to_the_byte),
      TEST(a_device_that_vanishes_leaves_gaps_and_a_reason),
      TEST(the_workers_part_of_a_device_is_told),
      TEST(rows_are_on_absolute_deadlines),
      TEST(deadlines_that_cannot_be_kept_are_counted),
      TEST(rows_beyond_the_ceiling_are_counted),
      TEST(rows_grow_past_the_first_block),
      TEST(signals_are_left_to_the_campaign),
      TEST(out_of_memory_at_any_step_is_said),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
