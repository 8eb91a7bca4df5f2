/* What was found wrong, and how many figures were looked at; shared by the threads of one
 * verification. Checks count the figure and add a problem when it is not as derived. */
#ifndef ASSAY_VERIFY_VERIFY_FINDINGS_H
#define ASSAY_VERIFY_VERIFY_FINDINGS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "verify/verify.h"

/* Safe to use from several threads at a time. */
typedef struct assay_verify_findings {
  pthread_mutex_t lock;
  assay_verify_problem *problems;
  size_t n, cap;
  size_t n_figures;
  assay_status status; /* MEMORY once a problem could not be kept */
} assay_verify_findings;

void assay_verify_findings_init(assay_verify_findings *findings);
void assay_verify_findings_destroy(assay_verify_findings *findings);

/* what, expected, found: text from anywhere, made printable here; what may be "". */
void assay_verify_add(assay_verify_findings *findings, assay_verify_kind kind, const char *file,
                      const char *what, const char *expected, const char *found);

/* Where a figure stands: a file, and a place in it that is put in front of the figure's own name.
 * One thread's. */
typedef struct assay_verify_place {
  assay_verify_findings *findings;
  const char *file; /* borrowed */
  char within[384]; /* "comparisons[bid against f32]."; "" at the top */
} assay_verify_place;

/* Each compares what the file says with what was derived. */
void assay_verify_int(const assay_verify_place *at, const char *what, int64_t found,
                      int64_t expected);
void assay_verify_bool(const assay_verify_place *at, const char *what, bool found, bool expected);
void assay_verify_text(const assay_verify_place *at, const char *what, const char *found,
                       const char *expected); /* NULL is read as "" */

/* Equal within `bound`, which admits another order of summation and is 0 for what must be exact;
 * NaN equals NaN. */
void assay_verify_real(const assay_verify_place *at, const char *what, double found,
                       double expected, double bound);

/* A condition that must hold: expected and found are words for the line when it does not. */
void assay_verify_holds(const assay_verify_place *at, const char *what, bool holds,
                        const char *expected, const char *found);

/* `ulps` units in the last place of value: what sums in another order may differ by. */
double assay_verify_ulps(double value, double ulps);

#endif
