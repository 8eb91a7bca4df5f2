/* The timing loop. */
#include "measure/loop.h"

/* n calls; their times go to out_ns when that is not NULL. `what` names them in errors. */
static assay_status time_calls(const assay_loop_spec *spec, const char *what, size_t n,
                               int64_t *out_ns, assay_error *err) {
  for (size_t i = 0; i < n; ++i) {
    int64_t start_ns = assay_clock_raw_ns();
    assay_status st = spec->call(spec->arg, err);
    int64_t end_ns = assay_clock_raw_ns();
    if (st) {
      assay_error_in(err, "%s %zu of %zu", what, i + 1, n);
      return st;
    }
    if (out_ns != NULL) out_ns[i] = end_ns - start_ns;
    if (spec->after != NULL) spec->after(spec->arg);
  }
  return ASSAY_OK;
}

assay_status assay_loop_run(const assay_loop_spec *spec, int64_t *warmup_ns, int64_t *samples_ns,
                            assay_error *err) {
  if (spec->n_samples == 0)
    return assay_fail(err, ASSAY_E_ARGUMENT, "a timing needs at least 1 sample, found 0");
  ASSAY_TRY(time_calls(spec, "warm-up", spec->n_warmup, warmup_ns, err));
  return time_calls(spec, "sample", spec->n_samples, samples_ns, err);
}
