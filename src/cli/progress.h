/* Talk on stderr while a campaign works: a bar with the time left on a terminal, plain lines
 * elsewhere; and an orderly stop by a signal. */
#ifndef ASSAY_CLI_PROGRESS_H
#define ASSAY_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "campaign/campaign.h"
#include "package/result.h"

#define ASSAY_PROGRESS_LINE_BYTES 512

/* All zeroes before begin. */
typedef struct assay_progress {
  bool on_terminal;
  bool bar_is_shown;
  size_t n_runs, n_done; /* n_done: kept and made */
  size_t n_made[2];      /* by mode */
  int64_t spent_ns[2];
  int64_t start_ns, run_start_ns, drawn_ns;
  char name[ASSAY_PROGRESS_LINE_BYTES]; /* of the run that is on */
  assay_result_mode mode;
} assay_progress;

/* Catches INT, TERM and HUP from now on, and gives what a campaign talks to; `progress` must
 * outlive it. */
assay_campaign_progress assay_progress_begin(assay_progress *progress) ASSAY_NODISCARD;
void assay_progress_end(assay_progress *progress);

/* Says that a signal asked to stop, and which line goes on; returns the exit status, 128 + signal.
 */
int assay_progress_say_stopped(const char *command, const char *package, int argc, char **argv);

#endif
