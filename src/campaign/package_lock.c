/* flock on <package>/.lock. The file goes when its holder is done; one who opened it before that
 * finds, once it has the lock, that the name leads elsewhere, and tries again. */
#include "campaign/package_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

/* How long a held lock is waited for. A campaign that is killed while it starts a worker holds it a
 * little longer than it lives: the worker has it until its exec. */
#define PATIENCE_NS INT64_C(3000000000)
#define PAUSE_NS    20000000

static bool is_still_there(int fd, const char *path) {
  struct stat held, named;
  return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

static assay_status refuse(const char *path, const char *package_path, assay_error *err) {
  char holder[32] = "";
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  ssize_t n = fd >= 0 ? pread(fd, holder, sizeof holder - 1, 0) : 0;
  if (fd >= 0) close(fd);
  holder[n > 0 ? (size_t)n : 0] = '\0';
  holder[strspn(holder, "0123456789")] = '\0';
  return assay_fail(err, ASSAY_E_ARGUMENT,
                    "'%s' is being written by another assay (process %s); wait for it, or take "
                    "another folder with -o",
                    package_path, holder[0] != '\0' ? holder : "unknown");
}

static void sign(int fd) {
  char text[32];
  int n = snprintf(text, sizeof text, "%lld\n", (long long)getpid());
  /* The number is for a person: without it the lock holds all the same. */
  if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n) return;
}

/* *out_fd is -1 when somebody else has it, or when the file that was locked is not the one that is
 * there now. */
static assay_status try_once(const char *path, int *out_fd, assay_error *err) {
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) return assay_fail_errno(err, ASSAY_E_IO, errno, "could not open '%s'", path);
  *out_fd = -1;
  bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
  int why = locked ? EWOULDBLOCK : errno;
  if (locked && is_still_there(fd, path)) {
    *out_fd = fd;
    return ASSAY_OK;
  }
  close(fd);
  if (why == EWOULDBLOCK || why == EINTR) return ASSAY_OK;
  return assay_fail_errno(err, ASSAY_E_IO, why, "could not lock '%s'", path);
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static assay_status take(const char *path, const char *package_path, int *out_fd,
                         assay_error *err) {
  const int64_t until_ns = now_ns() + PATIENCE_NS;
  for (;;) {
    ASSAY_TRY(try_once(path, out_fd, err));
    if (*out_fd >= 0) break;
    if (now_ns() > until_ns) return refuse(path, package_path, err);
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
  }
  sign(*out_fd);
  return ASSAY_OK;
}

assay_status assay_package_lock_take(const char *package_path, assay_package_lock *out,
                                     assay_error *err) {
  char *path = assay_path_join(package_path, ASSAY_PACKAGE_LOCK_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(package_path) + 8);
  int fd = -1;
  assay_status st = take(path, package_path, &fd, err);
  if (st) {
    assay_free(path);
    return st;
  }
  *out = (assay_package_lock){.path = path, .fd = fd};
  return ASSAY_OK;
}

void assay_package_lock_release(assay_package_lock *lock) {
  if (lock->path == NULL) return;
  unlink(lock->path); /* before letting go: nobody else can hold it yet */
  close(lock->fd);
  assay_free(lock->path);
  *lock = (assay_package_lock){0};
}
