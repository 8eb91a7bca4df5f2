/* Clocks by clock_gettime. */
#include "measure/clock.h"

#include <time.h>

#ifdef CLOCK_MONOTONIC_RAW
#define CLOCK_OF_DIFFERENCES CLOCK_MONOTONIC_RAW
#else
#define CLOCK_OF_DIFFERENCES CLOCK_MONOTONIC
#endif

static int64_t read_ns(clockid_t clock) {
  struct timespec t = {0};
  (void)clock_gettime(clock, &t); /* fails only for a clock that is not there, and these are */
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t assay_clock_raw_ns(void) {
  return read_ns(CLOCK_OF_DIFFERENCES);
}

int64_t assay_clock_now_ns(void) {
  return read_ns(CLOCK_MONOTONIC);
}

int64_t assay_clock_realtime_ns(void) {
  return read_ns(CLOCK_REALTIME);
}
