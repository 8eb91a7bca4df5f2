/* Whether the gate can be fooled: small packages, one for each way in which known tools let a wrong
 * result pass, are made by the real campaign with a worker that leaves the wrong evidence, and must
 * be refused by the real gate and by verification. Nothing here judges anything: what is tried is
 * the code that judges campaigns. */
#ifndef ASSAY_SELFTEST_SELFTEST_H
#define ASSAY_SELFTEST_SELFTEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct assay_selftest_outcome {
  const char *name;  /* what is wrong: "one NaN among good values" */
  const char *known; /* who lets it pass, or "" */
  bool is_control;   /* nothing is wrong: it must pass */
  bool right;        /* caught for the reason that it has, or passed as a control */
  char detail[512];  /* what the gate or the verification said */
} assay_selftest_outcome;

typedef struct assay_selftest_summary {
  size_t n_cases, n_caught; /* ways of being wrong, and those that were noticed */
  size_t n_controls, n_passed;
} assay_selftest_summary;

/* Each may be NULL. */
typedef struct assay_selftest_talk {
  void (*each)(void *arg, const assay_selftest_outcome *outcome); /* hears of every case */
  bool (*cancelled)(void *arg); /* asked before every case; true ends with STOPPED */
  void *arg;
} assay_selftest_talk;

/* Works in a folder of its own under $TMPDIR (or /dev/shm, or /tmp) and removes it. Errors: IO,
 * MEMORY, STOPPED, and whatever keeps a package from being made at all, naming the case. */
assay_status assay_selftest_run(const assay_selftest_talk *talk, assay_selftest_summary *out,
                                assay_error *err) ASSAY_NODISCARD;

#endif
