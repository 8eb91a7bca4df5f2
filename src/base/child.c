/* Child processes. posix_spawn, not fork, so that nothing of this program runs between: the child
 * starts in a process group of its own, with default signals and only the three standard
 * descriptors. */
#include "base/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"

extern char **environ;

#define TICK_NS          INT64_C(50000000)   /* between calls of tick and cancelled */
#define FIRST_LOOK_NS    INT64_C(1000000)    /* at the child's memory */
#define GRACE_DEFAULT_NS INT64_C(5000000000) /* from TERM to KILL */
#define REAP_NS          INT64_C(1000000000) /* for killed members of the group to vanish */
#define N_STREAMS        3
#define MARK_SLACK_BYTES (1 << 20) /* the kernel counts pages in batches: two looks differ */

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_ns(int64_t ns) {
  struct timespec t = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
  nanosleep(&t, NULL);
}

/* ---- environment --------------------------------------------------------------------------------
 */

/* Length of the name in "K=V" or "K". */
static size_t name_len(const char *entry) {
  return strcspn(entry, "=");
}

static bool same_name(const char *a, const char *b) {
  return name_len(a) == name_len(b) && strncmp(a, b, name_len(a)) == 0;
}

static bool is_replaced(const char *entry, const char *const *changes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (same_name(entry, changes[i])) return true;
  }
  return false;
}

/* The inherited environment with the changes applied; the strings stay borrowed. The last of
 * several changes of one name holds. */
static assay_status make_env(const char *const *changes, char ***out, assay_error *err) {
  size_t n_inherited = 0, n_changes = 0;
  while (environ != NULL && environ[n_inherited] != NULL) n_inherited++;
  while (changes != NULL && changes[n_changes] != NULL) n_changes++;
  char **env = assay_alloc_array(n_inherited + n_changes + 1, sizeof *env);
  if (env == NULL) return assay_fail_memory(err, (n_inherited + n_changes + 1) * sizeof *env);
  size_t n = 0;
  for (size_t i = 0; i < n_inherited; i++) {
    if (!is_replaced(environ[i], changes, n_changes)) env[n++] = environ[i];
  }
  for (size_t i = 0; i < n_changes; i++) {
    bool is_last = !is_replaced(changes[i], changes + i + 1, n_changes - i - 1);
    bool sets = strchr(changes[i], '=') != NULL;
    if (is_last && sets) env[n++] = (char *)(uintptr_t)changes[i];
  }
  *out = env;
  return ASSAY_OK;
}

/* ---- start --------------------------------------------------------------------------------------
 */

/* A descriptor above the standard three, so that moving it into their place cannot hit another one.
 */
static int open_above(const char *path, int flags) {
  int fd;
  do fd = open(path, flags | O_CLOEXEC | O_NOCTTY, /*mode=*/0666);
  while (fd < 0 && errno == EINTR);
  if (fd < 0 || fd >= N_STREAMS) return fd;
  int moved = fcntl(fd, F_DUPFD_CLOEXEC, N_STREAMS);
  int errnum = errno;
  close(fd);
  errno = errnum;
  return moved;
}

static assay_status open_streams(const assay_child_spec *spec, int fds[N_STREAMS],
                                 assay_error *err) {
  const char *paths[N_STREAMS] = {NULL, spec->stdout_path, spec->stderr_path};
  for (int i = 0; i < N_STREAMS; i++) {
    const char *path = paths[i] != NULL ? paths[i] : "/dev/null";
    int flags = i == 0 ? O_RDONLY : paths[i] != NULL ? O_WRONLY | O_CREAT | O_TRUNC : O_WRONLY;
    /* Both streams may go to one file; then they share the descriptor and its position. */
    bool shared = i == 2 && paths[1] != NULL && paths[2] != NULL && strcmp(paths[1], paths[2]) == 0;
    fds[i] = shared ? fcntl(fds[1], F_DUPFD_CLOEXEC, N_STREAMS) : open_above(path, flags);
    if (fds[i] < 0) return assay_fail_errno(err, ASSAY_E_IO, errno, "could not open '%s'", path);
  }
  return ASSAY_OK;
}

static void close_streams(int fds[N_STREAMS]) {
  for (int i = 0; i < N_STREAMS; i++) {
    if (fds[i] >= 0) close(fds[i]);
  }
}

static int set_attributes(posix_spawnattr_t *attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int rc = posix_spawnattr_setpgroup(attributes, /*pgroup=*/0);
  if (rc == 0) rc = posix_spawnattr_setsigmask(attributes, &none);
  if (rc == 0) rc = posix_spawnattr_setsigdefault(attributes, &all);
  short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  return rc == 0 ? posix_spawnattr_setflags(attributes, flags) : rc;
}

static int spawn(const assay_child_spec *spec, char **env, const int fds[N_STREAMS], pid_t *out) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int rc = posix_spawn_file_actions_init(&actions);
  if (rc != 0) return rc;
  rc = posix_spawnattr_init(&attributes);
  if (rc == 0) {
    rc = set_attributes(&attributes);
    for (int i = 0; i < N_STREAMS && rc == 0; i++) {
      rc = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
    }
    char *const *argv = (char *const *)(uintptr_t)spec->argv;
    if (rc == 0) rc = posix_spawn(out, spec->argv[0], &actions, &attributes, argv, env);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return rc;
}

static assay_status start(const assay_child_spec *spec, pid_t *out, assay_error *err) {
  if (access(spec->argv[0], F_OK) != 0) {
    return assay_fail_errno(err, ASSAY_E_MISSING, errno, "could not start '%s'", spec->argv[0]);
  }
  char **env = NULL;
  int fds[N_STREAMS] = {-1, -1, -1};
  assay_status st = make_env(spec->env, &env, err);
  if (!st) st = open_streams(spec, fds, err);
  if (!st) {
    int rc = spawn(spec, env, fds, out);
    if (rc != 0) {
      assay_status status = rc == ENOENT   ? ASSAY_E_MISSING
                            : rc == ENOMEM ? ASSAY_E_MEMORY
                                           : ASSAY_E_IO;
      st = assay_fail_errno(err, status, rc, "could not start '%s'", spec->argv[0]);
    }
  }
  close_streams(fds);
  assay_free(env);
  return st;
}

/* ---- the group ----------------------------------------------------------------------------------
 */

/* State and process group of a process, from /proc/<pid>/stat, whose second field is a name in
 * parentheses that may itself hold any character: the last ')' ends it (proc(5)). */
static bool read_stat(const char *pid, char *out_state, long *out_group) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return false;
  text[n] = '\0';
  const char *after = strrchr(text, ')');
  long parent;
  return after != NULL && sscanf(after + 1, " %c %ld %ld", out_state, &parent, out_group) == 3;
}

/* Whether a process of the group still runs. One that is dead and merely not waited for by whoever
 * inherited it does not count. */
static bool group_runs(pid_t group) {
  if (kill(-group, 0) != 0 && errno == ESRCH) return false;
  DIR *proc = opendir("/proc");
  if (proc == NULL) return true;
  bool found = false;
  struct dirent *entry;
  while (!found && (entry = readdir(proc)) != NULL) {
    char state;
    long of_group;
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    if (!read_stat(entry->d_name, &state, &of_group)) continue;
    found = of_group == group && state != 'Z' && state != 'X';
  }
  closedir(proc);
  return found;
}

/* Kills what is left of the group once its leader is gone; says whether there was anything. */
static bool end_group(pid_t group) {
  if (!group_runs(group)) return false;
  int64_t deadline = now_ns() + REAP_NS;
  do {
    kill(-group, SIGKILL); /* again each time: a process may have forked meanwhile */
    sleep_ns(1000000);
  } while (group_runs(group) && now_ns() < deadline);
  return true;
}

/* ---- memory -------------------------------------------------------------------------------------
 */

/* This program's own high-water mark, which a child's rusage inherits: exec carries the mark of the
 * memory that it replaces over to the process (exec_mmap in Linux' fs/exec.c), and until then a
 * spawned child runs in ours. */
static int64_t own_max_rss(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
}

/* The mark of the memory that the process has now (VmHWM of /proc/<pid>/status), 0 when it has
 * none. */
static int64_t mark_of(pid_t pid) {
  char path[64], text[4096];
  snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return 0;
  text[n] = '\0';
  const char *line = strstr(text, "\nVmHWM:");
  long long kilobytes = 0;
  return line != NULL && sscanf(line, " VmHWM: %lld kB", &kilobytes) == 1 ? kilobytes * 1024 : 0;
}

/* ---- waiting ------------------------------------------------------------------------------------
 */

/* A descriptor that becomes readable when the process ends; -1 where the kernel has none (before
 * Linux 5.3). It is close-on-exec from birth. */
static int open_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
  return (int)syscall(SYS_pidfd_open, pid, 0);
#else
  (void)pid;
  return -1;
#endif
}

/* Waits until the process may have ended, and at most for ns. */
static void pause_for(int pidfd, int64_t ns) {
  if (ns <= 0) return;
  if (pidfd < 0) {
    sleep_ns(ns < 5000000 ? ns : 5000000);
    return;
  }
  struct pollfd waiting = {.fd = pidfd, .events = POLLIN};
  poll(&waiting, 1, (int)((ns + 999999) / 1000000));
}

typedef struct wait_state {
  const assay_child_spec *spec;
  pid_t pid;
  int64_t start_ns;
  int64_t next_tick_ns;
  int64_t kill_ns; /* when KILL is due; 0 before TERM was sent */
  bool killed;
  int64_t next_look_ns;
  int64_t own_max_rss_bytes; /* of this program, at the start */
  int64_t seen_rss_bytes;    /* the largest mark of the child's that was seen */
} wait_state;

/* The first looks come quickly, for children that do not live long. */
static void look_at_memory(wait_state *w, int64_t now) {
  int64_t age_ns = now - w->start_ns;
  w->next_look_ns = now + (age_ns < FIRST_LOOK_NS ? FIRST_LOOK_NS
                           : age_ns < TICK_NS     ? age_ns
                                                  : TICK_NS);
  int64_t mark = mark_of(w->pid);
  if (mark > w->seen_rss_bytes) w->seen_rss_bytes = mark;
}

/* Asks the group to end, and sets when it will be made to. CONT lets a stopped process hear it. */
static void send_term(wait_state *w, int64_t now) {
  int64_t grace_ns = w->spec->grace_ns > 0 ? w->spec->grace_ns : GRACE_DEFAULT_NS;
  kill(-w->pid, SIGTERM);
  kill(-w->pid, SIGCONT);
  w->kill_ns = now + grace_ns;
}

/* What is due now: tick, cancellation, time limit, KILL. Returns when the next thing is due. */
static int64_t attend(wait_state *w, assay_child_result *result) {
  const assay_child_spec *spec = w->spec;
  int64_t now = now_ns();
  if (now >= w->next_look_ns) look_at_memory(w, now);
  if (now >= w->next_tick_ns) {
    if (spec->tick != NULL) spec->tick(spec->arg);
    if (w->kill_ns == 0 && spec->cancelled != NULL && spec->cancelled(spec->arg)) {
      result->was_cancelled = true;
      send_term(w, now);
    }
    w->next_tick_ns = now + TICK_NS;
  }
  if (w->kill_ns == 0 && spec->timeout_ns > 0 && now - w->start_ns >= spec->timeout_ns) {
    result->timed_out = true;
    send_term(w, now);
  }
  if (w->kill_ns != 0 && now >= w->kill_ns && !w->killed) {
    kill(-w->pid, SIGKILL);
    w->killed = true;
  }
  int64_t due = w->next_look_ns < w->next_tick_ns ? w->next_look_ns : w->next_tick_ns;
  if (w->kill_ns == 0 && spec->timeout_ns > 0 && w->start_ns + spec->timeout_ns < due) {
    due = w->start_ns + spec->timeout_ns;
  }
  if (w->kill_ns != 0 && !w->killed && w->kill_ns < due) due = w->kill_ns;
  return due;
}

static void record(const wait_state *w, int status, const struct rusage *usage,
                   assay_child_result *result) {
  result->exited = WIFEXITED(status);
  if (WIFEXITED(status)) result->exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result->signal = WTERMSIG(status);
  int64_t max_rss_bytes = (int64_t)usage->ru_maxrss * 1024; /* Linux counts kilobytes */
  bool is_own = max_rss_bytes > w->own_max_rss_bytes + MARK_SLACK_BYTES || w->seen_rss_bytes == 0;
  result->max_rss_bytes = is_own ? max_rss_bytes : w->seen_rss_bytes;
}

static assay_status wait_for(wait_state *w, assay_child_result *result, assay_error *err) {
  int pidfd = open_pidfd(w->pid);
  look_at_memory(w, now_ns());
  assay_status st = ASSAY_OK;
  for (;;) {
    int status;
    struct rusage usage;
    pid_t done = wait4(w->pid, &status, WNOHANG, &usage);
    if (done == w->pid) {
      result->elapsed_ns = now_ns() - w->start_ns;
      record(w, status, &usage, result);
      break;
    }
    if (done < 0 && errno != EINTR) {
      st = assay_fail_errno(err, ASSAY_E_IO, errno, "could not wait for '%s'", w->spec->argv[0]);
      kill(-w->pid, SIGKILL);
      break;
    }
    pause_for(pidfd, attend(w, result) - now_ns());
  }
  if (pidfd >= 0) close(pidfd);
  result->left_children = end_group(w->pid);
  return st;
}

assay_status assay_child_run(const assay_child_spec *spec, assay_child_result *out,
                             assay_error *err) {
  if (spec->argv == NULL || spec->argv[0] == NULL) {
    return assay_fail(err, ASSAY_E_ARGUMENT, "no program to run");
  }
  wait_state w = {.spec = spec, .start_ns = now_ns(), .own_max_rss_bytes = own_max_rss()};
  w.next_tick_ns = w.start_ns + TICK_NS;
  ASSAY_TRY(start(spec, &w.pid, err));
  if (spec->started != NULL) spec->started(spec->started_arg, w.pid);
  assay_child_result result = {0};
  ASSAY_TRY(wait_for(&w, &result, err));
  *out = result;
  return ASSAY_OK;
}

assay_status assay_child_self_path(char **out, assay_error *err) {
  char path[4096]; /* PATH_MAX of Linux */
  ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  if (n < 0) return assay_fail_errno(err, ASSAY_E_IO, errno, "could not read '/proc/self/exe'");
  if ((size_t)n == sizeof path) {
    return assay_fail(err, ASSAY_E_IO, "the path of this program is longer than %zu bytes",
                      sizeof path - 1);
  }
  path[n] = '\0';
  char *copy = assay_strdup(path);
  if (copy == NULL) return assay_fail_memory(err, (size_t)n + 1);
  *out = copy;
  return ASSAY_OK;
}
