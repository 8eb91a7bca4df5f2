/* Clocks of the machine, in nanoseconds. */
#ifndef ASSAY_MEASURE_CLOCK_H
#define ASSAY_MEASURE_CLOCK_H

#include <stdint.h>

/* For differences: not touched by time adjustments where the system has such a clock
 * (CLOCK_MONOTONIC_RAW). */
int64_t assay_clock_raw_ns(void);

/* CLOCK_MONOTONIC: what sleeps until a deadline go by. */
int64_t assay_clock_now_ns(void);

/* Since the epoch. */
int64_t assay_clock_realtime_ns(void);

#endif
