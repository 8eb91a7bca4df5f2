/* Tests of mem_nvml.c against the stand-in library: which call tells, slices, failures, lists. */
#include "measure/mem.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/test_folder.h"
#include "measure/fake_nvml.h"

#define GIB (1ULL << 30)

typedef struct fixture {
  test_folder folder;
  void *library;          /* held, so that the world outlives each opening */
  fake_nvml_world *world; /* of the complete stand-in, as make_world leaves it */
  assay_mem_config config;
  char proc[600];
} fixture;

static fake_nvml_world *world_of(const char *path, void **out_library) {
  *out_library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*out_library == NULL) fail_msg("%s", dlerror());
  fake_nvml_world_call get;
  void *symbol = dlsym(*out_library, "fake_nvml_get_world");
  memcpy(&get, &symbol, sizeof get);
  return get();
}

/* One idle card. */
static void make_world(fake_nvml_world *w) {
  *w = (fake_nvml_world){.driver = "570.86.15", .n_cards = 1};
  w->cards[0] = (fake_nvml_device){.bus_id = "00000000:C1:00.0",
                                   .name = "NVIDIA H200",
                                   .uuid = "GPU-0",
                                   .total = 140 * GIB,
                                   .reserved = GIB / 2,
                                   .used = 3 * GIB + 7,
                                   .graphics_code = NVML_NOT_SUPPORTED};
}

/* A /proc whose pid namespace is the machine's. */
static void make_proc(fixture *f, const char *namespace) {
  char path[700];
  snprintf(path, sizeof path, "%s/self/ns", f->proc);
  assert_int_equal(assay_folder_remove(f->proc, NULL), ASSAY_OK);
  assert_int_equal(assay_folder_create(path, NULL), ASSAY_OK);
  snprintf(path, sizeof path, "%s/self/ns/pid", f->proc);
  assert_int_equal(symlink(namespace, path), 0);
  snprintf(path, sizeof path, "%s/41", f->proc);
  assert_int_equal(assay_folder_create(path, NULL), ASSAY_OK);
  snprintf(path, sizeof path, "%s/41/comm", f->proc);
  assert_int_equal(assay_file_write(path, "other\n", 6, NULL), ASSAY_OK);
}

static int open_fixture(void **state) {
  static fixture f;
  test_folder_open(&f.folder);
  snprintf(f.proc, sizeof f.proc, "%s/proc", f.folder.path);
  make_proc(&f, "pid:[4026531836]");
  f.world = world_of(FAKE_NVML, &f.library);
  make_world(f.world);
  f.config = (assay_mem_config){.proc_folder = f.proc, .nvml_library = FAKE_NVML};
  *state = &f;
  return 0;
}

static int close_fixture(void **state) {
  fixture *f = *state;
  test_folder_close(&f->folder);
  dlclose(f->library);
  return 0;
}

/* The source alone, opened; fails the test otherwise. */
static void *must_open(fixture *f, size_t expected_n) {
  void *source = NULL;
  size_t n = 0;
  assay_error err = {0};
  if (assay_mem_nvml.open(&f->config, &source, &n, &err)) fail_msg("%s", err.text);
  assert_int_equal(n, expected_n);
  return source;
}

static assay_mem_target describe(void *source, size_t i) {
  assay_mem_target target = {0};
  assay_mem_nvml.describe(source, i, &target);
  return target;
}

static int64_t used(void *source, size_t i) {
  assay_mem_reading reading;
  assay_mem_nvml.used(source, i, &reading);
  if (reading.bytes == ASSAY_MEM_NONE) fail_msg("%s", reading.reason);
  assert_string_equal(reading.reason, "");
  return reading.bytes;
}

static void assert_none(void *source, size_t i, const char *words) {
  assay_mem_reading reading;
  assay_mem_nvml.used(source, i, &reading);
  assert_int_equal(reading.bytes, ASSAY_MEM_NONE);
  if (strstr(reading.reason, words) == NULL) fail_msg("'%s' in '%s'", words, reading.reason);
}

static assay_mem_activity activity_of(void *source, size_t i) {
  assay_mem_activity activity = {.busy_percent = ASSAY_MEM_NONE, .n_processes = ASSAY_MEM_NONE};
  assay_mem_nvml.activity(source, i, &activity);
  return activity;
}

static void cards_are_known_by_their_address(void **state) {
  fixture *f = *state;
  f->world->n_cards = 2;
  f->world->cards[1] = f->world->cards[0];
  strcpy(f->world->cards[1].bus_id, "0000000A:03:1F.7");
  f->world->cards[1].used = 5;
  void *source = must_open(f, 2);
  assay_mem_target first = describe(source, 0), second = describe(source, 1);
  assert_string_equal(first.key, "0000:c1:00.0");
  assert_string_equal(first.name, "NVIDIA H200");
  assert_string_equal(first.uuid, "GPU-0");
  assert_string_equal(first.driver, "570.86.15");
  assert_int_equal(first.total_bytes, 140 * GIB);
  assert_string_equal(second.key, "000a:03:1f.7");
  assert_int_equal(used(source, 0), 3 * GIB + 7);
  assert_int_equal(used(source, 1), 5);
  assay_mem_nvml.close(source);
  assert_int_equal(f->world->n_init, 1);
  assert_int_equal(f->world->n_shutdown, 1);
}

static void which_call_tells_and_what_it_counts_is_said(void **state) {
  fixture *f = *state;
  const struct {
    fake_nvml_rule rule;
    unsigned long long reserved;
    nvml_return v2_code;
    unsigned long long bytes;
    const char *words;
  } rows[] = {
      {FAKE_NVML_WITHOUT_RESERVE, GIB, 0, 8, "_v2: used by all processes, without the driver's"},
      {FAKE_NVML_WITH_RESERVE, GIB, 0, GIB + 8, "_v2: used by all processes, with the driver's"},
      {FAKE_NVML_OTHER_RULE, GIB, 0, 8, "by no known rule"},
      {FAKE_NVML_WITHOUT_RESERVE, 0, 0, 8, "the driver reserves nothing"},
      {FAKE_NVML_WITHOUT_RESERVE, GIB, NVML_UNKNOWN, GIB + 8,
       "nvmlDeviceGetMemoryInfo: used by all processes, with the driver's reserve"},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    fake_nvml_device *card = &f->world->cards[0];
    card->rule = rows[i].rule;
    card->reserved = rows[i].reserved;
    card->memory_v2_code = rows[i].v2_code;
    card->used = 8;
    void *source = must_open(f, 1);
    assay_mem_target target = describe(source, 0);
    if (strstr(target.meaning, rows[i].words) == NULL) fail_msg("%zu: %s", i, target.meaning);
    assert_int_equal(used(source, 0), rows[i].bytes);
    assay_mem_nvml.close(source);
  }
}

static void one_version_is_never_replaced_by_the_other(void **state) {
  fixture *f = *state;
  void *source = must_open(f, 1);
  int n_v1 = f->world->n_memory;
  f->world->cards[0].memory_v2_code = NVML_UNKNOWN;
  assert_none(source, 0, "nvmlDeviceGetMemoryInfo_v2: Unknown Error (999)");
  assert_int_equal(f->world->n_memory, n_v1);
  assay_mem_nvml.close(source);
  source = must_open(f, 1); /* by the first version from its beginning */
  int n_v2 = f->world->n_memory_v2;
  f->world->cards[0].memory_v2_code = NVML_SUCCESS;
  assert_int_equal(used(source, 0), 3 * GIB + 7 + GIB / 2);
  assert_int_equal(f->world->n_memory_v2, n_v2);
  assay_mem_nvml.close(source);
}

static void a_library_without_newer_functions_does(void **state) {
  fixture *f = *state;
  void *library = NULL;
  fake_nvml_world *old = world_of(FAKE_NVML_OLD, &library);
  make_world(old);
  old->cards[0].is_cut = 1;
  f->config.nvml_library = FAKE_NVML_OLD;
  void *source = must_open(f, 1);
  assert_int_equal(used(source, 0), 3 * GIB + 7 + GIB / 2);
  assay_mem_activity activity = activity_of(source, 0);
  assert_int_equal(activity.n_processes, ASSAY_MEM_NONE);
  assert_non_null(strstr(activity.processes_reason, "does not list processes"));
  assert_string_equal(assay_mem_idle_word(&activity), "unknown");
  old->cards[0].memory_code = NVML_GPU_IS_LOST;
  assert_none(source, 0, "nvmlDeviceGetMemoryInfo: no words for it (15)");
  assay_mem_nvml.close(source);
  dlclose(library);
}

static void what_is_not_here_is_an_absence_with_its_reason(void **state) {
  fixture *f = *state;
  const struct {
    const char *library;
    nvml_return init_code, count_code, handle_code;
    unsigned n_cards;
    const char *words;
  } rows[] = {
      {"/nowhere/libnvidia-ml.so.1", 0, 0, 0, 1, "/nowhere/libnvidia-ml.so.1"},
      {FAKE_NVML_BARE, 0, 0, 0, 1, "has no nvmlDeviceGetPciInfo_v3"},
      {FAKE_NVML, NVML_DRIVER_NOT_LOADED, 0, 0, 1, "nvmlInit: Driver Not Loaded (9)"},
      {FAKE_NVML, 0, NVML_UNKNOWN, 0, 1, "nvmlDeviceGetCount: Unknown Error (999)"},
      {FAKE_NVML, 0, 0, 0, 0, "NVML shows 0 devices"},
      {FAKE_NVML, 0, 0, NVML_NO_PERMISSION, 1,
       "none of which can be had: Insufficient Permissions (4)"},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    f->world->init_code = rows[i].init_code;
    f->world->count_code = rows[i].count_code;
    f->world->cards[0].handle_code = rows[i].handle_code;
    f->world->n_cards = rows[i].n_cards;
    f->config.nvml_library = rows[i].library;
    void *source = NULL;
    size_t n = 0;
    assay_error err = {0};
    assert_int_equal(assay_mem_nvml.open(&f->config, &source, &n, &err), ASSAY_E_MISSING);
    if (strstr(err.text, rows[i].words) == NULL) fail_msg("%zu: %s", i, err.text);
    assert_null(source);
  }
  assert_int_equal(f->world->n_init, f->world->n_shutdown + 1); /* the one that failed */
}

static void a_card_that_cannot_be_had_leaves_the_others(void **state) {
  fixture *f = *state;
  f->world->n_cards = 2;
  f->world->cards[1] = f->world->cards[0];
  f->world->cards[0].handle_code = NVML_GPU_IS_LOST;
  strcpy(f->world->cards[1].bus_id, "rubbish\033[31m");
  strcpy(f->world->cards[1].name, "bell\a");
  void *source = must_open(f, 1);
  assay_mem_target target = describe(source, 0);
  assert_string_equal(target.key, "nvml1");
  assert_string_equal(target.name, "bell\\x07");
  assay_mem_nvml.close(source);
}

static void a_cut_card_is_its_slices(void **state) {
  fixture *f = *state;
  fake_nvml_device slices[3] = {
      {.uuid = "MIG-0", .total = 10 * GIB, .used = 11},
      {.handle_code = NVML_NOT_FOUND},
      {.uuid = "MIG-2", .total = 20 * GIB, .used = 12, .utilization_code = NVML_NOT_SUPPORTED},
  };
  f->world->cards[0].is_cut = 1;
  f->world->cards[0].slices = slices;
  f->world->cards[0].n_slices = N_OF(slices);
  void *source = must_open(f, 2);
  assay_mem_target target = describe(source, 1);
  assert_string_equal(target.key, "0000:c1:00.0/mig2");
  assert_string_equal(target.uuid, "MIG-2");
  assert_int_equal(target.total_bytes, 20 * GIB);
  assert_non_null(strstr(target.meaning, "a MIG slice"));
  assert_int_equal(used(source, 0), 11);
  assert_int_equal(used(source, 1), 12);
  assay_mem_activity activity = activity_of(source, 1);
  assert_int_equal(activity.busy_percent, ASSAY_MEM_NONE);
  assert_non_null(strstr(activity.busy_reason, "nvmlDeviceGetUtilizationRates"));
  assert_string_equal(assay_mem_idle_word(&activity), "unknown");
  assay_mem_nvml.close(source);
}

static void a_cut_card_without_slices_has_no_figure(void **state) {
  fixture *f = *state;
  f->world->cards[0].is_cut = 1;
  void *source = must_open(f, 1);
  assert_none(source, 0, "in MIG mode and none of its slices can be had");
  assert_int_equal(describe(source, 0).total_bytes, ASSAY_MEM_NONE);
  assay_mem_nvml.close(source);
}

static void memory_that_may_not_be_asked_for_has_a_reason(void **state) {
  fixture *f = *state;
  f->world->cards[0].memory_code = f->world->cards[0].memory_v2_code = NVML_NO_PERMISSION;
  void *source = must_open(f, 1);
  assert_none(source, 0, "Insufficient Permissions (4)");
  assay_mem_nvml.close(source);
}

static void a_card_that_is_lost_has_no_figure_from_then_on(void **state) {
  fixture *f = *state;
  void *source = must_open(f, 1);
  assert_int_equal(used(source, 0), 3 * GIB + 7);
  f->world->cards[0].memory_v2_code = NVML_GPU_IS_LOST;
  assert_none(source, 0, "GPU is lost (15)");
  assay_mem_nvml.close(source);
}

static void impossible_sizes_are_not_counted(void **state) {
  fixture *f = *state;
  f->world->cards[0].used = ~0ULL;
  void *source = must_open(f, 1);
  assert_none(source, 0, "more bytes than can be counted");
  assay_mem_nvml.close(source);
}

static void memory_of_a_numa_node_is_noted(void **state) {
  fixture *f = *state;
  f->world->cards[0].has_numa = 1;
  void *source = must_open(f, 1);
  assert_non_null(strstr(describe(source, 0).meaning, "NUMA node 1"));
  assay_mem_nvml.close(source);
}

static void an_idle_card_is_shown_idle(void **state) {
  fixture *f = *state;
  void *source = must_open(f, 1);
  assay_mem_activity activity = activity_of(source, 0);
  assert_int_equal(activity.n_processes, 0);
  assert_int_equal(activity.busy_percent, 0);
  assert_true(activity.is_whole);
  assert_string_equal(assay_mem_idle_word(&activity), "yes");
  assay_mem_nvml.close(source);
}

/* Two compute processes, one of which is in the graphics list too, and one of those alone. The list
 * grows between the question for its size and the list. */
static void processes_of_both_lists_are_counted_once(void **state) {
  fixture *f = *state;
  fake_nvml_device *card = &f->world->cards[0];
  card->compute[0] = (nvml_process){.pid = 41, .used_bytes = 1000};
  card->compute[1] = (nvml_process){.pid = 42, .used_bytes = NVML_VALUE_NOT_AVAILABLE};
  card->graphics[0] = (nvml_process){.pid = 41, .used_bytes = 1000};
  card->graphics[1] = (nvml_process){.pid = 43, .used_bytes = 5};
  card->n_compute = card->n_graphics = 2;
  card->n_growing = 1;
  card->graphics_code = NVML_SUCCESS;
  card->busy = 7;
  void *source = must_open(f, 1);
  assay_mem_activity activity = activity_of(source, 0);
  assert_int_equal(activity.n_processes, 3);
  assert_int_equal(activity.n_listed, 3);
  assert_int_equal(activity.processes[0].pid, 41);
  assert_int_equal(activity.processes[0].used_bytes, 1000);
  assert_string_equal(activity.processes[0].name, "other");
  assert_int_equal(activity.processes[1].used_bytes, ASSAY_MEM_NONE);
  assert_string_equal(assay_mem_idle_word(&activity), "no");
  assay_mem_reading reading;
  assay_mem_nvml.of_process(source, 0, 41, &reading);
  assert_int_equal(reading.bytes, 1000);
  assay_mem_nvml.of_process(source, 0, 42, &reading);
  assert_int_equal(reading.bytes, ASSAY_MEM_NONE);
  assert_non_null(strstr(reading.reason, "does not tell this process's bytes"));
  assay_mem_nvml.of_process(source, 0, 99, &reading);
  assert_int_equal(reading.bytes, ASSAY_MEM_NONE);
  assert_string_equal(reading.reason, "process 99 is not among the 3 on the device");
  assay_mem_nvml.close(source);
}

static void an_empty_list_in_another_namespace_proves_nothing(void **state) {
  fixture *f = *state;
  make_proc(f, "pid:[4026532999]");
  void *source = must_open(f, 1);
  assay_mem_activity activity = activity_of(source, 0);
  assert_int_equal(activity.n_processes, 0);
  assert_false(activity.is_whole);
  assert_string_equal(assay_mem_idle_word(&activity), "unknown");
  assay_mem_reading reading;
  assay_mem_nvml.of_process(source, 0, 41, &reading);
  assert_int_equal(reading.bytes, ASSAY_MEM_NONE);
  assert_non_null(strstr(reading.reason, "pid namespace"));
  assay_mem_nvml.close(source);
}

static void lists_that_are_refused_are_no_empty_lists(void **state) {
  fixture *f = *state;
  f->world->cards[0].compute_code = NVML_NO_PERMISSION;
  f->world->cards[0].busy = 300;
  void *source = must_open(f, 1);
  assay_mem_activity activity = activity_of(source, 0);
  assert_int_equal(activity.n_processes, ASSAY_MEM_NONE);
  assert_int_equal(activity.busy_percent, ASSAY_MEM_NONE);
  assert_non_null(strstr(activity.processes_reason, "Insufficient Permissions"));
  assert_non_null(strstr(activity.busy_reason, "over 100"));
  assay_mem_reading reading;
  assay_mem_nvml.of_process(source, 0, 41, &reading);
  assert_non_null(strstr(reading.reason, "Insufficient Permissions"));
  assay_mem_nvml.close(source);
}

static void drivers_with_a_wider_struct_are_asked_by_the_older_call(void **state) {
  fixture *f = *state;
  const struct {
    const char *driver;
    bool is_wide;
  } rows[] = {{"535.43.02", true},   {"535.86.10", true},  {"535.98", false},
              {"535.104.05", false}, {"530.41.03", false}, {"none", false}};
  for (size_t i = 0; i < N_OF(rows); i++) {
    f->world->n_lists_v2 = f->world->n_lists_v3 = 0;
    snprintf(f->world->driver, sizeof f->world->driver, "%s", rows[i].driver);
    void *source = must_open(f, 1);
    (void)activity_of(source, 0);
    assert_int_equal(f->world->n_lists_v2 > 0, rows[i].is_wide);
    assert_int_equal(f->world->n_lists_v3 > 0, !rows[i].is_wide);
    assay_mem_nvml.close(source);
  }
}

static void out_of_memory_at_any_step_is_said(void **state) {
  fixture *f = *state;
  assay_status st = ASSAY_E_MEMORY;
  int64_t n = 0;
  for (; st == ASSAY_E_MEMORY; n++) {
    void *source = NULL;
    size_t n_devices = 0;
    assay_alloc_fail_after(n);
    st = assay_mem_nvml.open(&f->config, &source, &n_devices, NULL);
    assay_alloc_fail_after(-1);
    assay_mem_nvml.close(source);
  }
  assert_int_equal(st, ASSAY_OK);
  assert_in_range(n, 3, 20);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
  const struct CMUnitTest tests[] = {
      TEST(cards_are_known_by_their_address),
      TEST(which_call_tells_and_what_it_counts_is_said),
      TEST(one_version_is_never_replaced_by_the_other),
      TEST(a_library_without_newer_functions_does),
      TEST(what_is_not_here_is_an_absence_with_its_reason),
      TEST(a_card_that_cannot_be_had_leaves_the_others),
      TEST(a_cut_card_is_its_slices),
      TEST(a_cut_card_without_slices_has_no_figure),
      TEST(memory_that_may_not_be_asked_for_has_a_reason),
      TEST(a_card_that_is_lost_has_no_figure_from_then_on),
      TEST(impossible_sizes_are_not_counted),
      TEST(memory_of_a_numa_node_is_noted),
      TEST(an_idle_card_is_shown_idle),
      TEST(processes_of_both_lists_are_counted_once),
      TEST(an_empty_list_in_another_namespace_proves_nothing),
      TEST(lists_that_are_refused_are_no_empty_lists),
      TEST(drivers_with_a_wider_struct_are_asked_by_the_older_call),
      TEST(out_of_memory_at_any_step_is_said),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
