#include "cli/stop.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SIGNALLED_BASE 128

/* Set by the signal handler; the one global of this room. */
static volatile sig_atomic_t stopped_by = 0;

/* The first one stops in order; a second does not wait for that. */
static void on_signal(int number) {
  if (stopped_by != 0) {
    signal(number, SIG_DFL);
    raise(number);
  }
  stopped_by = number;
}

void assay_stop_catch(void) {
  const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action = {0};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct sigaction before;
    if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN)
      continue; /* nohup */
    sigaction(numbers[i], &action, NULL);
  }
}

bool assay_stop_asked(void *arg) {
  (void)arg;
  return stopped_by != 0;
}

void assay_stop_text(char *out, unsigned out_bytes) {
  const int number = (int)stopped_by;
  snprintf(out, out_bytes, "stopped by signal %d (%s)", number, strsignal(number));
}

int assay_stop_exit_status(void) {
  return SIGNALLED_BASE + (int)stopped_by;
}
