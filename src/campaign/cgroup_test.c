/* Trees of control groups as systems have them, in folders. */
#include "campaign/cgroup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/test_folder.h"

typedef struct tree_file {
  const char *path, *text; /* below the root */
} tree_file;

typedef struct tree {
  const char *what;
  tree_file files[12];
  const char *cpu, *memory, *cpus;
} tree;

#define SELF "proc/self/cgroup"
#define FS   "sys/fs/cgroup/"

static const tree trees[] = {
    {"nothing at all", {{"empty", ""}}, "unavailable", "unavailable", "unavailable"},
    {"version 2, a group of its own",
     {{SELF, "0::/user.slice/job\n"},
      {FS "cgroup.controllers", "cpu memory\n"},
      {FS "user.slice/job/cpu.max", "200000 100000\n"},
      {FS "user.slice/job/memory.max", "4294967296\n"},
      {FS "user.slice/job/cpuset.cpus.effective", "0-3,8\n"}},
     "200000 100000",
     "4294967296",
     "0-3,8"},
    {"version 2, the limits are those of the group above",
     {{SELF, "0::/slurm/job_1/step_0\n"},
      {FS "slurm/cpu.max", "max 100000\n"},
      {FS "slurm/job_1/cpu.max", "50000 100000\n"},
      {FS "slurm/job_1/memory.max", "1000000\n"},
      {FS "slurm/job_1/step_0/cpu.max", "300000 200000\n"},
      {FS "slurm/job_1/step_0/memory.max", "max\n"}},
     "50000 100000",
     "1000000",
     "unavailable"},
    {"version 2, without limits",
     {{SELF, "0::/a\n"}, {FS "a/cpu.max", "max 100000\n"}, {FS "a/memory.max", "max\n"}},
     "max 100000",
     "max",
     "unavailable"},
    {"version 2, in a container that sees its own part only",
     {{SELF, "0::/../other\n"}, {FS "cpu.max", "150000 100000\n"}, {FS "memory.max", "77\n"}},
     "150000 100000",
     "77",
     "unavailable"},
    {"version 1, controllers mounted together",
     {{SELF, "4:cpu,cpuacct:/batch/7\n3:cpuset:/batch\n2:memory:/batch/7\n"},
      {FS "cpu,cpuacct/batch/7/cpu.cfs_quota_us", "250000\n"},
      {FS "cpu,cpuacct/batch/7/cpu.cfs_period_us", "100000\n"},
      {FS "cpu,cpuacct/batch/cpu.cfs_quota_us", "-1\n"},
      {FS "cpu,cpuacct/batch/cpu.cfs_period_us", "100000\n"},
      {FS "memory/memory.limit_in_bytes", "9223372036854771712\n"},
      {FS "memory/batch/memory.limit_in_bytes", "8589934592\n"},
      {FS "memory/batch/7/memory.limit_in_bytes", "9223372036854771712\n"},
      {FS "cpuset/batch/cpuset.cpus", "0-63\n"},
      {FS "cpuset/batch/cpuset.effective_cpus", "4-7\n"}},
     "250000 100000",
     "8589934592",
     "4-7"},
    {"version 1, without limits, in a container",
     {{SELF, "2:cpu:/docker/0123\n1:memory:/docker/0123\n"},
      {FS "cpu/cpu.cfs_quota_us", "-1\n"},
      {FS "cpu/cpu.cfs_period_us", "100000\n"},
      {FS "memory/memory.limit_in_bytes", "9223372036854771712\n"}},
     "max 100000",
     "max",
     "unavailable"},
    {"both: processors by version 2, memory by version 1",
     {{SELF, "5:memory:/m\n0::/u\n"},
      {FS "memory/m/memory.limit_in_bytes", "4096\n"},
      {FS "unified/u/memory.max", "1\n"},
      {FS "unified/u/cpu.max", "10000 100000\n"}},
     "10000 100000",
     "4096",
     "unavailable"},
    {"what is no number is not taken for one",
     {{SELF, "0::/a\nbad\n"}, {FS "a/cpu.max", "many 100000\n"}, {FS "a/memory.max", "-5\n"}},
     "unavailable",
     "unavailable",
     "unavailable"},
};

static void write_tree(test_folder *folder, const tree *one) {
  for (size_t i = 0; i < sizeof one->files / sizeof one->files[0]; i++) {
    const tree_file *file = &one->files[i];
    if (file->path == NULL) break;
    char parent[1024];
    assay_error err = {0};
    const char *path = test_folder_file(folder, file->path);
    strcpy(parent, path);
    *strrchr(parent, '/') = '\0';
    if (assay_folder_create(parent, &err) ||
        assay_file_write(path, file->text, strlen(file->text), &err))
      fail_msg("%s", err.text);
  }
}

static void limits_are_read_wherever_they_are_set(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) {
    const tree *one = &trees[i];
    const char *wanted[] = {one->cpu, one->memory, one->cpus};
    test_folder folder;
    test_folder_open(&folder);
    write_tree(&folder, one);
    for (int k = 0; k < 3; k++) {
      char *found = assay_cgroup_read(folder.path, (assay_cgroup_limit)k);
      assert_non_null(found);
      if (strcmp(found, wanted[k]) != 0)
        print_error("%s: limit %d: expected '%s', found '%s'\n", one->what, k, wanted[k], found);
      assert_string_equal(found, wanted[k]);
      assay_free(found);
    }
    test_folder_close(&folder);
  }
}

static void this_system_is_read_without_a_fault(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    char *found = assay_cgroup_read("", (assay_cgroup_limit)k);
    assert_non_null(found);
    assert_true(found[0] != '\0');
    assay_free(found);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(limits_are_read_wherever_they_are_set),
      cmocka_unit_test(this_system_is_read_without_a_fault),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
