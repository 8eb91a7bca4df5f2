/* Timing a callback: warm-ups, then timed calls with nothing between two clock readings but the call. Knows
 * nothing of ONNX Runtime. */
#ifndef ASSAY_MEASURE_LOOP_H
#define ASSAY_MEASURE_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* One call of what is measured; outputs are released by `after`, outside the timed interval. */
typedef assay_status (*assay_loop_call)(void *arg, assay_error *err);

typedef struct assay_loop_spec {
  assay_loop_call call;
  void (*after)(void *arg); /* between timed calls, not timed; may be NULL */
  void *arg;
  size_t n_warmup;  /* the first of all calls is reported as first_ns; it counts as a warm-up when n_warmup > 0 */
  size_t n_samples; /* >= 1 */
} assay_loop_spec;

/* samples_ns [n_samples], warmup_ns [n_warmup] (or NULL): the caller's, allocated before. Clock: CLOCK_MONOTONIC_RAW where there is
 * one. Errors: those of the call. */
assay_status assay_loop_run(const assay_loop_spec *spec, int64_t *warmup_ns, int64_t *samples_ns,
                            assay_error *err) ASSAY_NODISCARD;

int64_t assay_clock_now_ns(void);      /* monotonic */
int64_t assay_clock_realtime_ns(void); /* since the epoch */

#endif
