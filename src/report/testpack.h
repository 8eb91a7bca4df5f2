/* Tests: writes synthetic packages of any size and kind, through the writers of package/. */
#ifndef ASSAY_REPORT_TESTPACK_H
#define ASSAY_REPORT_TESTPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef enum testpack_fault {
  TESTPACK_NONE,
  TESTPACK_NUMBERS,   /* one head beyond its tolerance */
  TESTPACK_SHAPE,     /* one head of another shape */
  TESTPACK_NAN,       /* NaN on one side */
  TESTPACK_PLACEMENT, /* a node elsewhere */
  TESTPACK_UNKNOWN,   /* no placement evidence */
  TESTPACK_MISSING,   /* planned, no files */
  TESTPACK_CRASHED,
  TESTPACK_TIMED_OUT,
  TESTPACK_SESSION, /* provider refused */
  TESTPACK_OPTIONS, /* options differ between the modes */
  TESTPACK_LYING,   /* verdict pass, comparison not passed */
  TESTPACK_BROKEN,  /* result.json is not JSON */
  TESTPACK_N_FAULTS,
} testpack_fault;

typedef struct testpack_spec {
  size_t n_runtimes, n_bundles, n_cases; /* of each bundle; cases come in the order of sizes */
  testpack_fault fault;                  /* of every fault_every-th row, the first one included */
  size_t fault_every;                    /* 0: none */
  bool zero_error;                       /* every error is exactly 0 */
  bool huge_error;                       /* 1e30 and infinite multiples */
  bool hostile;                          /* heads, reasons, operators and paths are attacks */
  bool brought;    /* the last case of each bundle is an input that a user brought */
  bool unfinished; /* no finished_at, no tree */
  bool half;       /* the last bundle is float16, with scores in float32 */
  bool events;     /* the first case of each bundle is an event of a data set */
  bool loose;      /* the campaign asked for another tolerance of every head */
  bool no_memory;  /* memory was not asked for */
  bool no_samples; /* it was, and could not be had */
  bool device;     /* a device was sampled, too */
  bool repeated;   /* timings in three processes; in every other row their outputs differ */
} testpack_spec;

/* Writes the package into the folder, which is made. Errors: IO, MEMORY, ARGUMENT. */
assay_status testpack_write(const testpack_spec *spec, const char *folder,
                            assay_error *err) ASSAY_NODISCARD;

/* The text that hostile packages put into every name that may hold it. */
extern const char testpack_hostile[];

#endif
