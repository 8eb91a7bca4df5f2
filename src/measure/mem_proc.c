/* Resident memory of one process, from /proc/<pid>/statm and status (proc(5)).
 *
 * statm costs a microsecond or two and takes no lock of the process; smaps_rollup walks its page
 * tables under the lock that its own page faults wait for, and would disturb what is measured.
 * What statm gives is the kernel's counter. From Linux 6.2 on it is kept by processor in batches,
 * and readers saw it without what the batches hold (f1a7941243c1); 6.17 sums them for readers. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "measure/mem_file.h"

#define RSS_COUNTERS 3 /* file, anonymous, shared: linux/mm_types_task.h */

typedef struct state {
  char *folder;        /* "/proc" */
  int64_t page_bytes;  /* of statm's counts */
  int64_t slack_bytes; /* of the kernel's counters, or NONE */
  atomic_int statm_fd; /* -1 before attach, and when it could not be opened */
  atomic_int status_fd;
  atomic_llong pid; /* 0 before attach */
} state;

/* batch = max(32, 2 * processors) pages for each processor and counter: lib/percpu_counter.c. Not
 * known before 6.2, where it was 64 events for each thread. */
static int64_t kernel_slack(const char *release, int64_t page_bytes) {
  int major = 0, minor = 0;
  if (sscanf(release, "%d.%d", &major, &minor) != 2) return ASSAY_MEM_NONE;
  if (major > 6 || (major == 6 && minor >= 17)) return 0;
  if (major < 6 || minor < 2) return ASSAY_MEM_NONE;
  int64_t n = sysconf(_SC_NPROCESSORS_ONLN);
  if (n < 1) return ASSAY_MEM_NONE;
  return (n > 16 ? 2 * n : 32) * n * RSS_COUNTERS * page_bytes;
}

static void close_state(void *opened) {
  state *s = opened;
  if (s == NULL) return;
  int statm = atomic_load(&s->statm_fd), status = atomic_load(&s->status_fd);
  if (statm >= 0) close(statm);
  if (status >= 0) close(status);
  assay_free(s->folder);
  assay_free(s);
}

static assay_status open_state(const assay_mem_config *config, void **out_state, size_t *out_n,
                               assay_error *err) {
  struct utsname system = {0};
  const char *folder = config->proc_folder != NULL ? config->proc_folder : "/proc";
  const char *release = config->kernel_release;
  if (release == NULL && uname(&system) >= 0) release = system.release;
  state *s = assay_alloc(sizeof *s);
  if (s == NULL) return assay_fail_memory(err, sizeof *s);
  atomic_init(&s->statm_fd, -1);
  atomic_init(&s->status_fd, -1);
  s->page_bytes = sysconf(_SC_PAGESIZE);
  s->slack_bytes = kernel_slack(release != NULL ? release : "", s->page_bytes);
  s->folder = assay_strdup(folder);
  if (s->folder == NULL) {
    close_state(s);
    return assay_fail_memory(err, strlen(folder) + 1);
  }
  *out_state = s;
  *out_n = 1;
  return ASSAY_OK;
}

static void describe(void *opened, size_t i, assay_mem_target *out) {
  const state *s = opened;
  (void)i;
  out->is_process = true;
  out->slack_bytes = s->slack_bytes;
  snprintf(out->meaning, sizeof out->meaning,
           "resident pages of the worker process, from /proc/<pid>/statm; high-water mark from "
           "VmHWM of /proc/<pid>/status");
}

static int open_of(const state *s, long long pid, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%lld/%s", s->folder, pid, name);
  return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* The descriptors stay with this process, also when its number is given to another one later. */
static void attach(void *opened, int64_t pid) {
  state *s = opened;
  if (atomic_load(&s->pid) != 0) return;
  atomic_store(&s->statm_fd, open_of(s, pid, "statm"));
  atomic_store(&s->status_fd, open_of(s, pid, "status"));
  atomic_store(&s->pid, pid);
}

/* The file from its start; false with the reason. */
static bool read_fd(const state *s, const atomic_int *of, char *out, size_t out_bytes,
                    assay_mem_reading *reading) {
  long long pid = atomic_load(&s->pid); /* before the descriptor, which attach sets before it */
  int fd = atomic_load(of);
  ssize_t n = -1;
  if (pid == 0) {
    assay_mem_say_none(reading, "no process was started yet");
    return false;
  }
  if (fd >= 0) {
    do n = pread(fd, out, out_bytes - 1, /*offset=*/0);
    while (n < 0 && errno == EINTR);
  }
  if (n <= 0) {
    bool ended = fd >= 0 && (n == 0 || errno == ESRCH);
    assay_mem_say_none(reading, "process %lld %s", pid, ended ? "has ended" : "could not be read");
    return false;
  }
  out[n] = '\0';
  return true;
}

/* "size resident shared text lib data dt", in pages. Of a process that ended and was not waited for
 * all are zero. */
static void used(void *opened, size_t i, assay_mem_reading *out) {
  const state *s = opened;
  char text[256];
  long long size = 0, resident = 0;
  (void)i;
  if (!read_fd(s, &s->statm_fd, text, sizeof text, out)) return;
  if (sscanf(text, "%18lld %18lld", &size, &resident) != 2 || resident < 0 ||
      resident > INT64_MAX / s->page_bytes)
    assay_mem_say_none(out, "statm: expected counts of pages, found something else");
  else if (resident == 0)
    assay_mem_say_none(out, "process %lld has ended", (long long)atomic_load(&s->pid));
  else
    assay_mem_say(out, resident * s->page_bytes);
}

static void high_water(void *opened, size_t i, assay_mem_reading *out) {
  const state *s = opened;
  char text[4096], value[64];
  (void)i;
  if (!read_fd(s, &s->status_fd, text, sizeof text, out)) return;
  int64_t bytes = ASSAY_MEM_NONE;
  if (assay_mem_file_value(text, "VmHWM:", value, sizeof value)) bytes = assay_mem_file_size(value);
  if (bytes == ASSAY_MEM_NONE)
    assay_mem_say_none(out, "process %lld has no VmHWM: it has ended",
                       (long long)atomic_load(&s->pid));
  else
    assay_mem_say(out, bytes);
}

const assay_mem_source assay_mem_proc = {.name = "proc",
                                         .open = open_state,
                                         .close = close_state,
                                         .describe = describe,
                                         .used = used,
                                         .attach = attach,
                                         .high_water = high_water};
