/* Timing a callback: warm-ups, then timed calls with nothing between two clock readings but the
 * call. Knows nothing of ONNX Runtime. */
#ifndef ASSAY_MEASURE_LOOP_H
#define ASSAY_MEASURE_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "measure/clock.h"

/* One call of what is measured; outputs are released by `after`, outside the timed interval. */
typedef assay_status (*assay_loop_call)(void *arg, assay_error *err);

typedef struct assay_loop_spec {
  assay_loop_call call;
  void (*after)(void *arg); /* after every call that succeeded, not timed; may be NULL */
  void *arg;
  size_t n_warmup;  /* timed too; the first of all calls is the first warm-up, or without any the
                       first sample */
  size_t n_samples; /* >= 1 */
} assay_loop_spec;

/* samples_ns [n_samples], warmup_ns [n_warmup] (or NULL): the caller's, allocated before. Clock:
 * assay_clock_raw_ns. After a failure the times before it are there and the rest is untouched. The
 * call's result is looked at after the second clock reading. Errors: ARGUMENT (no samples asked
 * for), and those of the call, with its number in front. */
assay_status assay_loop_run(const assay_loop_spec *spec, int64_t *warmup_ns, int64_t *samples_ns,
                            assay_error *err) ASSAY_NODISCARD;

#endif
