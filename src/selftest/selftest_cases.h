/* The ways of being wrong that are tried, and what must notice each. */
#ifndef ASSAY_SELFTEST_SELFTEST_CASES_H
#define ASSAY_SELFTEST_SELFTEST_CASES_H

#include <stddef.h>

#include "report/campaign_view.h"
#include "selftest/selftest_scene.h"
#include "verify/verify.h"

/* Where a case starts from. */
typedef enum selftest_start {
  SELFTEST_FRESH,   /* a campaign of its own, spoilt before it is run */
  SELFTEST_GOOD,    /* a copy of a package that passes */
  SELFTEST_REFUSED, /* a copy of one that fails in numbers and in placement */
} selftest_start;

typedef struct selftest_case {
  const char *name;
  const char *known; /* who lets it pass; "" when nobody was seen to */
  selftest_start start;
  void (*spoil)(selftest_scene *s); /* NULL for a control that changes nothing */
  void (*forge)(
      selftest_scene *s); /* a fresh one's package, once it is made; NULL: left as it is */
  enum { SELFTEST_PASSES, SELFTEST_GATE, SELFTEST_VERIFY, SELFTEST_REFUSAL } by;
  assay_view_topic topic; /* by the gate: of the reason */
  assay_verify_kind kind; /* by verification: of the problem */
  bool is_incomplete;     /* by the gate: verification names the missing run, too */
  const char *words; /* part of the reason, of the refusal, or of "FILE: WHAT$" of the problem */
} selftest_case;

/* Fresh campaigns: outputs, traces, workers. */
extern const selftest_case selftest_number_cases[], selftest_trace_cases[], selftest_run_cases[];
extern const size_t selftest_n_number_cases, selftest_n_trace_cases, selftest_n_run_cases;

/* Fresh campaigns, and the same edited afterwards: what is required beyond placement, campaign
 * files and merged packages, comparisons. */
extern const selftest_case selftest_kernel_cases[], selftest_matrix_cases[], selftest_pair_cases[];
extern const size_t selftest_n_kernel_cases, selftest_n_matrix_cases, selftest_n_pair_cases;

/* Packages edited afterwards: sealed again, for the gate and for verification; and not. */
extern const selftest_case selftest_result_cases[], selftest_figure_cases[], selftest_byte_cases[];
extern const size_t selftest_n_result_cases, selftest_n_figure_cases, selftest_n_byte_cases;

#endif
