/* Child processes: started by exec with a chosen environment, output to files, bounded in time,
 * ended as a process group. */
#ifndef ASSAY_BASE_CHILD_H
#define ASSAY_BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct assay_child_spec {
  const char *const *argv; /* NULL-terminated; argv[0] is the path that is executed */
  const char *const *env;  /* NULL-terminated "K=V" that are set over the inherited environment, and
                              "K" alone to unset; NULL for none */
  const char *stdout_path; /* file that gets stdout, truncated; NULL: /dev/null */
  const char *stderr_path; /* same for stderr */
  int64_t timeout_ns;      /* 0: none. After it TERM, after grace_ns more KILL, to the group */
  int64_t grace_ns;        /* 0: 5 s */
  void (*tick)(void *arg); /* called about every 50 ms while waiting; may be NULL */
  bool (*cancelled)(
      void *arg); /* asked as often; true ends the child as a timeout would; may be NULL */
  void *arg;      /* for both */
  void (*started)(void *started_arg, int64_t pid); /* called once, as soon as the child is there;
                                                      may be NULL */
  void *started_arg;
} assay_child_spec;

typedef struct assay_child_result {
  bool exited; /* normally, with exit_code */
  int exit_code;
  int signal; /* that ended it, or 0 */
  bool timed_out;
  bool was_cancelled;
  bool left_children; /* processes of its group outlived it; they were killed */
  int64_t elapsed_ns;
  /* High-water mark of the child's resident memory. The kernel's figure starts from that of the
   * program that called exec, so it is taken only when it is above this program's own; otherwise
   * the largest of the child's own marks seen while it ran (at 1, 2, 4 … ms, then every 50): a
   * lower bound. */
  int64_t max_rss_bytes;
} assay_child_result;

/* Runs the child to its end. Its death, however it comes, is a result and not an error.
 * Errors: MISSING (argv[0] is not there), IO (files, fork), MEMORY. */
assay_status assay_child_run(const assay_child_spec *spec, assay_child_result *out,
                             assay_error *err) ASSAY_NODISCARD;

/* Path of the running program, for starting workers. Released with assay_free. */
assay_status assay_child_self_path(char **out, assay_error *err) ASSAY_NODISCARD;

#endif
