/* Tests of mem_amd.c and mem_amd_users.c on folders made like /sys, /proc and /dev. */
#include "measure/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/test_folder.h"

#define PCI    "0000:c1:00.0"
#define CARD   "sys/devices/pci0000:c0/" PCI "/"
#define NOBODY 65534

typedef struct fixture {
  test_folder folder;
  char proc[600], sys[600], dev[600];
  assay_mem_config config;
} fixture;

/* --- folders -------------------------------------------------------------------------------------
 */

static void put_bytes(fixture *f, const char *name, const void *bytes, size_t n) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", f->folder.path, name);
  char *slash = strrchr(path, '/');
  *slash = '\0';
  assert_int_equal(assay_folder_create(path, NULL), ASSAY_OK);
  *slash = '/';
  assert_int_equal(assay_file_write(path, bytes, n, NULL), ASSAY_OK);
  assert_int_equal(chmod(path, 0644), 0);
}

static void put(fixture *f, const char *name, const char *text) {
  put_bytes(f, name, text, strlen(text));
}

static void link_to(fixture *f, const char *to, const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", f->folder.path, name);
  char *slash = strrchr(path, '/');
  *slash = '\0';
  assert_int_equal(assay_folder_create(path, NULL), ASSAY_OK);
  *slash = '/';
  assert_int_equal(symlink(to, path), 0);
}

static void drop(fixture *f, const char *name) {
  assert_int_equal(unlink(test_folder_file(&f->folder, name)), 0);
}

/* A discrete card as card1 at c1:00.0, and what stands beside it in a real folder. */
static void make_card(fixture *f) {
  put(f, CARD "uevent", "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_SLOT_NAME=" PCI "\n");
  put(f, CARD "vendor", "0x1002\n");
  put(f, CARD "device", "0x744c\n");
  put(f, CARD "unique_id", "a1b2c3d4e5f60718\n");
  put(f, CARD "mem_info_vram_total", "21458059264\n");
  put(f, CARD "mem_info_vram_used", "27856896\n");
  put(f, CARD "mem_info_gtt_total", "33000000000\n");
  put(f, CARD "mem_info_gtt_used", "15000000\n");
  put(f, CARD "gpu_busy_percent", "0\n");
  put_bytes(f, CARD "gpu_metrics", "\x78\0\1\3rest", 8);
  put(f, CARD "drm/renderD128/dev", "226:128\n");
  put(f, "dev/dri/renderD128", "");
  link_to(f, "../../../devices/pci0000:c0/" PCI, "sys/class/drm/card1/device");
  put(f, "sys/class/drm/card1-DP-1/status", "disconnected\n");
  put(f, "sys/class/drm/version", "drm 1.1.0\n");
}

static int open_fixture(void **state) {
  static fixture f;
  test_folder_open(&f.folder);
  assert_int_equal(chmod(f.folder.path, 0755), 0);
  snprintf(f.proc, sizeof f.proc, "%s/proc", f.folder.path);
  snprintf(f.sys, sizeof f.sys, "%s/sys", f.folder.path);
  snprintf(f.dev, sizeof f.dev, "%s/dev", f.folder.path);
  f.config = (assay_mem_config){.proc_folder = f.proc, .sys_folder = f.sys, .dev_folder = f.dev};
  make_card(&f);
  link_to(&f, "pid:[4026531836]", "proc/self/ns/pid");
  *state = &f;
  return 0;
}

static int close_fixture(void **state) {
  test_folder_close(&((fixture *)*state)->folder);
  return 0;
}

/* --- the source ----------------------------------------------------------------------------------
 */

static void *must_open(fixture *f, size_t expected_n) {
  void *source = NULL;
  size_t n = 0;
  assay_error err = {0};
  if (assay_mem_amd.open(&f->config, &source, &n, &err)) fail_msg("%s", err.text);
  assert_int_equal(n, expected_n);
  return source;
}

static assay_mem_target describe(void *source, size_t i) {
  assay_mem_target target = {0};
  assay_mem_amd.describe(source, i, &target);
  return target;
}

static assay_mem_reading used(void *source, size_t i) {
  assay_mem_reading reading;
  assay_mem_amd.used(source, i, &reading);
  return reading;
}

static void assert_bytes(assay_mem_reading reading, int64_t bytes) {
  if (reading.bytes != bytes)
    fail_msg("%lld (%s), not %lld", (long long)reading.bytes, reading.reason, (long long)bytes);
  assert_string_equal(reading.reason, "");
}

static void assert_none(assay_mem_reading reading, const char *words) {
  assert_int_equal(reading.bytes, ASSAY_MEM_NONE);
  if (strstr(reading.reason, words) == NULL) fail_msg("'%s' in '%s'", words, reading.reason);
}

static assay_mem_activity activity_of(void *source, size_t i) {
  assay_mem_activity activity = {.busy_percent = ASSAY_MEM_NONE, .n_processes = ASSAY_MEM_NONE};
  assay_mem_amd.activity(source, i, &activity);
  return activity;
}

static void a_card_is_read_to_the_byte(void **state) {
  fixture *f = *state;
  void *source = must_open(f, 1);
  assay_mem_target target = describe(source, 0);
  assert_string_equal(target.key, PCI);
  assert_string_equal(target.name, "0x1002:0x744c");
  assert_string_equal(target.uuid, "a1b2c3d4e5f60718");
  assert_string_equal(target.driver, "amdgpu");
  assert_string_equal(target.meaning, "mem_info_vram_used: VRAM of all processes");
  assert_int_equal(target.total_bytes, 21458059264);
  assert_bytes(used(source, 0), 27856896);
  put(f, CARD "mem_info_vram_used", "0\n"); /* a number like any other */
  assert_bytes(used(source, 0), 0);
  put(f, CARD "mem_info_vram_used", "9223372036854775807\n");
  assert_bytes(used(source, 0), INT64_MAX);
  assay_mem_amd.close(source);
}

/* Other drivers, connectors, and the further nodes of a partitioned card are none; the numbers of
 * nodes say nothing. */
static void cards_are_sorted_by_address_and_others_left_out(void **state) {
  fixture *f = *state;
  put(f, "sys/class/drm/card0/device/uevent", "DRIVER=ast\nPCI_SLOT_NAME=0000:01:00.0\n");
  put(f, "sys/class/drm/card0/device/mem_info_vram_total", "1\n");
  put(f, "sys/class/drm/card2/device/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\n");
  put(f, "sys/class/drm/card2/device/mem_info_vram_total", "64\n");
  put(f, "sys/class/drm/card2/device/mem_info_vram_used", "32\n");
  put(f, "sys/class/drm/card2/device/product_name", "AMD Radeon PRO W7900\n");
  put(f, "sys/class/drm/card3/device/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.1\n");
  put(f, "sys/class/drm/card4/device/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=nonsense\n");
  put(f, "sys/class/drm/card4/device/mem_info_vram_total", "64\n");
  void *source = must_open(f, 2);
  assert_string_equal(describe(source, 0).key, "0000:03:00.0"); /* from uevent: it is no link */
  assert_string_equal(describe(source, 0).name, "AMD Radeon PRO W7900");
  assert_non_null(strstr(describe(source, 0).meaning, "is not told"));
  assert_non_null(strstr(describe(source, 0).meaning, "may not open it"));
  assert_string_equal(describe(source, 1).key, PCI);
  assert_bytes(used(source, 0), 32);
  assay_mem_amd.close(source);
}

static void an_integrated_gpu_counts_both_memories(void **state) {
  fixture *f = *state;
  put_bytes(f, CARD "gpu_metrics", "\x80\0\2\2rest", 8);
  void *source = must_open(f, 1);
  assert_non_null(strstr(describe(source, 0).meaning, "mem_info_gtt_used"));
  assert_int_equal(describe(source, 0).total_bytes, 21458059264 + 33000000000);
  assert_bytes(used(source, 0), 27856896 + 15000000);
  put(f, CARD "mem_info_gtt_used", "9223372036854775807\n");
  assert_none(used(source, 0), "more bytes than can be counted");
  drop(f, CARD "mem_info_gtt_used"); /* half of it is no figure */
  assert_none(used(source, 0), "mem_info_gtt_used': No such file");
  assay_mem_amd.close(source);
}

static void garbage_is_no_number_and_never_zero(void **state) {
  fixture *f = *state;
  static const char *const texts[] = {"",
                                      "\n",
                                      "abc\n",
                                      "-5\n",
                                      "+5\n",
                                      "12 34\n",
                                      "12\n34\n",
                                      "0x10\n",
                                      " 7\n",
                                      "9223372036854775808\n",
                                      "99999999999999999999999999999999999999999999999999\n",
                                      "\033[31m1\n"};
  void *source = must_open(f, 1);
  for (size_t i = 0; i < N_OF(texts); i++) {
    put(f, CARD "mem_info_vram_used", texts[i]);
    assert_none(used(source, 0), "expected a decimal number");
    assert_null(strchr(used(source, 0).reason, '\033'));
  }
  put_bytes(f, CARD "mem_info_vram_used", "12\0", 3);
  assert_none(used(source, 0), "expected a decimal number");
  assay_mem_amd.close(source);
}

static void a_card_that_vanishes_has_no_figure_until_it_is_back(void **state) {
  fixture *f = *state;
  void *source = must_open(f, 1);
  drop(f, CARD "mem_info_vram_used");
  assert_none(used(source, 0), "mem_info_vram_used': No such file");
  assert_int_equal(mkdir(test_folder_file(&f->folder, CARD "mem_info_vram_used"), 0755), 0);
  assert_none(used(source, 0), "Is a directory");
  assert_int_equal(rmdir(test_folder_file(&f->folder, CARD "mem_info_vram_used")), 0);
  assert_int_equal(mkfifo(test_folder_file(&f->folder, CARD "mem_info_vram_used"), 0644), 0);
  assert_none(used(source, 0), ""); /* and does not wait for a writer */
  drop(f, CARD "mem_info_vram_used");
  put(f, CARD "mem_info_vram_used", "5\n");
  assert_bytes(used(source, 0), 5);
  assay_mem_amd.close(source);
}

static void what_may_not_be_read_has_that_reason(void **state) {
  fixture *f = *state;
  void *source = must_open(f, 1);
  assert_int_equal(chmod(test_folder_file(&f->folder, CARD "mem_info_vram_used"), 0), 0);
  bool is_root = geteuid() == 0;
  if (is_root) assert_int_equal(seteuid(NOBODY), 0);
  assay_mem_reading reading = used(source, 0);
  if (is_root) assert_int_equal(seteuid(0), 0);
  assert_none(reading, "Permission denied");
  assay_mem_amd.close(source);
}

static void no_card_is_an_absence_with_its_reason(void **state) {
  fixture *f = *state;
  void *source = NULL;
  size_t n = 0;
  assay_error err = {0};
  drop(f, CARD "mem_info_vram_total");
  assert_int_equal(assay_mem_amd.open(&f->config, &source, &n, &err), ASSAY_E_MISSING);
  assert_non_null(strstr(err.text, "no card of the amdgpu driver tells its memory"));
  f->config.sys_folder = "/nowhere";
  err = (assay_error){0};
  assert_int_equal(assay_mem_amd.open(&f->config, &source, &n, &err), ASSAY_E_MISSING);
  assert_non_null(strstr(err.text, "no graphics devices: '/nowhere/class/drm': No such file"));
  assert_null(source);
}

/* --- users ---------------------------------------------------------------------------------------
 */

#define CLIENT(pdev, id, sizes)                                                                    \
  "pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-client-id:\t" id "\ndrm-pdev:\t" pdev       \
  "\n" sizes "drm-engine-gfx:\t123 ns\n"

static assay_mem_reading of_process(void *source, int64_t pid) {
  assay_mem_reading reading;
  assay_mem_amd.of_process(source, 0, pid, &reading);
  return reading;
}

static void a_client_seen_through_two_descriptors_counts_once(void **state) {
  fixture *f = *state;
  put(f, "proc/41/fdinfo/0", "pos:\t0\nflags:\t02\nmnt_id:\t9\n");
  put(f, "proc/41/fdinfo/3", CLIENT(PCI, "7", "drm-memory-vram:\t1024 KiB\n"));
  put(f, "proc/41/fdinfo/4", CLIENT(PCI, "7", "drm-memory-vram:\t1024 KiB\n"));
  put(f, "proc/41/fdinfo/5", CLIENT(PCI, "8", "drm-memory-vram:\t3 MiB\n"));
  put(f, "proc/41/fdinfo/6", CLIENT(PCI, "9", "drm-memory-vram:\t77\n")); /* bytes */
  put(f, "proc/41/fdinfo/7", CLIENT("0000:03:00.0", "10", "drm-memory-vram:\t9 MiB\n"));
  void *source = must_open(f, 1);
  assert_bytes(of_process(source, 41), (1 << 20) + (3 << 20) + 77);
  assay_mem_amd.close(source);
}

static void sizes_are_taken_by_the_newer_name_and_as_they_are_meant(void **state) {
  fixture *f = *state;
  const struct {
    const char *sizes;
    int64_t bytes, integrated_bytes;
  } rows[] = {
      {"drm-resident-vram:\t5 KiB\ndrm-memory-vram:\t9 KiB\ndrm-memory-gtt:\t1 KiB\n", 5120, 6144},
      {"drm-total-vram:\t8 MiB\ndrm-resident-vram:\t0\ndrm-resident-gtt: 3\n", 0, 3},
      {"drm-resident-gtt: 2 GiB\n", ASSAY_MEM_NONE, INT64_C(2) << 30},
      {"drm-resident-vram:\t5 apples\n", ASSAY_MEM_NONE, ASSAY_MEM_NONE},
      {"drm-resident-vram:\t-5 KiB\n", ASSAY_MEM_NONE, ASSAY_MEM_NONE},
      {"drm-resident-vram:\t9223372036854775807 MiB\n", ASSAY_MEM_NONE, ASSAY_MEM_NONE},
      {"drm-resident-vram:\t\n", ASSAY_MEM_NONE, ASSAY_MEM_NONE},
      {"", ASSAY_MEM_NONE, ASSAY_MEM_NONE},
  };
  for (size_t i = 0; i < 2 * N_OF(rows); i++) {
    char text[512];
    bool is_integrated = i >= N_OF(rows);
    int64_t bytes = is_integrated ? rows[i % N_OF(rows)].integrated_bytes : rows[i].bytes;
    put_bytes(f, CARD "gpu_metrics", is_integrated ? "\x80\0\3\0" : "\x80\0\1\0", 4);
    snprintf(text, sizeof text, CLIENT(PCI, "7", "%s"), rows[i % N_OF(rows)].sizes);
    put(f, "proc/41/fdinfo/3", text);
    void *source = must_open(f, 1);
    assay_mem_reading reading = of_process(source, 41);
    if (reading.bytes != bytes)
      fail_msg("row %zu: %lld (%s)", i, (long long)reading.bytes, reading.reason);
    assay_mem_amd.close(source);
  }
}

static void a_process_that_is_no_client_has_a_reason(void **state) {
  fixture *f = *state;
  put(f, "proc/41/fdinfo/3", CLIENT("0000:03:00.0", "7", "drm-memory-vram: 5\n"));
  put(f, "proc/42/fdinfo/3", CLIENT(PCI, "x7", "drm-memory-vram: 5\n"));
  void *source = must_open(f, 1);
  assert_none(of_process(source, 41), "process 41 is no client of " PCI);
  assert_none(of_process(source, 42), "no sizes that can be read");
  assert_none(of_process(source, 99), "fdinfo of process 99: No such file");
  assay_mem_amd.close(source);
}

static void make_kfd(fixture *f) {
  put(f, "sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 16\nlocation_id 0\n");
  put(f, "sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
  put(f, "sys/class/kfd/kfd/topology/nodes/1/properties",
      "simd_count 192\nlocation_id 49408\ndomain 0\ndrm_render_minor 128\n"); /* c1 << 8 */
  put(f, "sys/class/kfd/kfd/topology/nodes/1/gpu_id", "51234\n");
}

static void users_come_from_both_drivers(void **state) {
  fixture *f = *state;
  make_kfd(f);
  put(f, "sys/class/kfd/kfd/proc/41/vram_51234", "4096\n");
  put(f, "sys/class/kfd/kfd/proc/42/vram_51234", "0\n"); /* it works on another card */
  put(f, "sys/class/kfd/kfd/proc/43/pasid", "1\n");
  put(f, "proc/41/comm", "train\n");
  put(f, "proc/41/fdinfo/3", CLIENT(PCI, "7", "drm-memory-vram: 4 KiB\n"));
  put(f, "proc/44/comm", "gnome\033shell\n");
  put(f, "proc/44/fdinfo/3", CLIENT(PCI, "8", "drm-memory-vram: 1 KiB\n"));
  put(f, "proc/45/fdinfo/3", "pos:\t0\n");
  put(f, CARD "gpu_busy_percent", "3\n");
  void *source = must_open(f, 1);
  assay_mem_activity activity = activity_of(source, 0);
  assert_bytes(activity.used, 27856896);
  assert_int_equal(activity.busy_percent, 3);
  assert_int_equal(activity.n_processes, 3);
  assert_true(activity.is_whole);
  for (size_t i = 0; i < activity.n_listed; i++) {
    const assay_mem_process *p = &activity.processes[i];
    if (p->pid == 41) assert_int_equal(p->used_bytes, 4096);
    if (p->pid == 41) assert_string_equal(p->name, "train");
    if (p->pid == 43) assert_int_equal(p->used_bytes, ASSAY_MEM_NONE);
    if (p->pid == 44) assert_int_equal(p->used_bytes, 1024);
    if (p->pid == 44) assert_string_equal(p->name, "gnome\\x1bshell");
  }
  assert_string_equal(assay_mem_idle_word(&activity), "no");
  assay_mem_amd.close(source);
}

static void idle_is_said_only_of_a_whole_empty_list_and_no_load(void **state) {
  fixture *f = *state;
  make_kfd(f);
  void *source = must_open(f, 1);
  assay_mem_activity activity = activity_of(source, 0);
  assert_string_equal(assay_mem_idle_word(&activity), "unknown"); /* KFD has no list */
  assert_non_null(strstr(activity.processes_reason, "kfd/proc': No such file"));
  assert_int_equal(mkdir(test_folder_file(&f->folder, "sys/class/kfd/kfd/proc"), 0755), 0);
  activity = activity_of(source, 0);
  assert_string_equal(assay_mem_idle_word(&activity), "yes");
  put(f, CARD "gpu_busy_percent", "101\n");
  activity = activity_of(source, 0);
  assert_int_equal(activity.busy_percent, ASSAY_MEM_NONE);
  assert_string_equal(activity.busy_reason, "gpu_busy_percent is over 100");
  assert_string_equal(assay_mem_idle_word(&activity), "unknown");
  put(f, CARD "gpu_busy_percent", "100\n");
  activity = activity_of(source, 0);
  assert_string_equal(assay_mem_idle_word(&activity), "no");
  assay_mem_amd.close(source);
}

static void lists_of_another_namespace_or_user_are_not_whole(void **state) {
  fixture *f = *state;
  make_kfd(f);
  assert_int_equal(mkdir(test_folder_file(&f->folder, "sys/class/kfd/kfd/proc"), 0755), 0);
  put(f, "proc/41/fdinfo/3", "pos:\t0\n");
  void *source = must_open(f, 1);
  assert_int_equal(chmod(test_folder_file(&f->folder, "proc/41/fdinfo"), 0), 0);
  bool is_root = geteuid() == 0;
  if (is_root) assert_int_equal(seteuid(NOBODY), 0);
  assay_mem_activity activity = activity_of(source, 0);
  if (is_root) assert_int_equal(seteuid(0), 0);
  assert_int_equal(chmod(test_folder_file(&f->folder, "proc/41/fdinfo"), 0755), 0);
  assert_int_equal(activity.n_processes, 0);
  assert_false(activity.is_whole);
  assert_string_equal(activity.processes_reason, "1 processes of other users may not be looked at");
  drop(f, "proc/self/ns/pid");
  link_to(f, "pid:[4026532999]", "proc/self/ns/pid");
  activity = activity_of(source, 0);
  assert_false(activity.is_whole);
  assert_non_null(strstr(activity.processes_reason, "pid namespace"));
  assay_mem_amd.close(source);
}

static void out_of_memory_at_any_step_is_said(void **state) {
  fixture *f = *state;
  assay_status st = ASSAY_E_MEMORY;
  int64_t n = 0;
  for (; st == ASSAY_E_MEMORY; n++) {
    void *source = NULL;
    size_t n_cards = 0;
    assay_alloc_fail_after(n);
    st = assay_mem_amd.open(&f->config, &source, &n_cards, NULL);
    assay_alloc_fail_after(-1);
    assay_mem_amd.close(source);
  }
  assert_int_equal(st, ASSAY_OK);
  assert_in_range(n, 5, 30);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
  const struct CMUnitTest tests[] = {
      TEST(a_card_is_read_to_the_byte),
      TEST(cards_are_sorted_by_address_and_others_left_out),
      TEST(an_integrated_gpu_counts_both_memories),
      TEST(garbage_is_no_number_and_never_zero),
      TEST(a_card_that_vanishes_has_no_figure_until_it_is_back),
      TEST(what_may_not_be_read_has_that_reason),
      TEST(no_card_is_an_absence_with_its_reason),
      TEST(a_client_seen_through_two_descriptors_counts_once),
      TEST(sizes_are_taken_by_the_newer_name_and_as_they_are_meant),
      TEST(a_process_that_is_no_client_has_a_reason),
      TEST(users_come_from_both_drivers),
      TEST(idle_is_said_only_of_a_whole_empty_list_and_no_load),
      TEST(lists_of_another_namespace_or_user_are_not_whole),
      TEST(out_of_memory_at_any_step_is_said),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
