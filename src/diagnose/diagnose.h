/* Where and why a run parts from its reference: the outputs of the model's blocks, from an
 * instrumented copy of the graph on the runtime and from the evaluator, in the order of the model.
 *
 * For each block, over valid positions: how far the runtime is from the FP64 evaluation, and how
 * far the evaluator in the export's own precision is, in the arithmetic that the runtime is nearest
 * to. The first block that is further away than its precision explains is the place to look. */
#ifndef ASSAY_DIAGNOSE_DIAGNOSE_H
#define ASSAY_DIAGNOSE_DIAGNOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "package/reference_kind.h"
#include "reference/ref_mlpf.h"

/* A block is beyond its noise floor when its relative root mean square is this many times that of
 * the evaluator in the same precision, or its largest difference is, against the largest there. */
#define ASSAY_DIAGNOSE_RMS_FACTOR 8.0
#define ASSAY_DIAGNOSE_MAX_FACTOR 16.0

typedef struct assay_diagnose_spec {
  const char *bundle_path;
  const char *out_path;     /* folder for what the diagnosis leaves; new or empty */
  const char *runtime;      /* as --runtime takes it; NULL: "cpu" */
  const char *weights_path; /* of a bundle with weights from a file; NULL for a seeded one */
  const char *const *cases; /* names; none: every case */
  size_t n_cases;
  int threads;        /* of evaluator and runtime; 0: 1 */
  int64_t timeout_ns; /* of each of the runtime's processes; 0: half an hour */
  /* Called as something begins; may be NULL. */
  void (*progress)(void *arg, const char *what);
  bool (*cancelled)(void *arg); /* may be NULL */
  void *arg;
} assay_diagnose_spec;

/* One block of one case. Distances are relative: over the root mean square of the truth. */
typedef struct assay_diagnose_block {
  char *name;
  bool is_there;       /* the runtime gave it */
  bool is_permutation; /* int64, compared exactly: n_differ of n_compared places */
  int64_t n_compared, n_differ;
  int64_t n_differ_ties; /* of those: places that hold another element with the same coordinates */
  int64_t n_nonfinite;   /* of the runtime where the truth is finite */
  double truth_rms;      /* absolute */
  double run_rms, run_max;           /* runtime against truth */
  double expected_rms, expected_max; /* evaluator in the export's precision against truth */
  double apart_rms;                  /* runtime against that evaluator */
  double floor_rms, floor_max;       /* beyond these it is over */
  bool over;
} assay_diagnose_block;

typedef struct assay_diagnose_case {
  char *name;
  char *reason;                    /* NULL, or why nothing was compared */
  assay_ref_arithmetic arithmetic; /* of FP16 blocks: how "the export's precision" is evaluated */
  bool same_outputs;               /* shipped and instrumented graph, bit for bit */
  double outputs_max_apart;        /* largest difference between their heads */
  assay_diagnose_block *blocks;
  size_t n_blocks;
  size_t first;  /* the first block that is over, or SIZE_MAX */
  char **causes; /* likely first; lines for a person */
  size_t n_causes;
  assay_ref_margins margins;
} assay_diagnose_case;

/* All zeroes is a valid empty one; everything is owned. */
typedef struct assay_diagnosis {
  char *bundle, *runtime, *library_version;
  char *precision; /* "float32", or "float16" when any block of the plan is */
  assay_diagnose_case *cases;
  size_t n_cases;
} assay_diagnosis;

/* Leaves in the out folder: diagnosis.json (diagnose_write.h), growth.svg where gnuplot is there,
 * the instrumented graph, and for each case both runs' outputs and logs. A case that the runtime
 * could not run is one with a reason. Errors: ARGUMENT (an imported bundle, no such case, weights
 * that are not the bundle's, an out folder with something in it), UNSUPPORTED (a graph without
 * block names), MISSING, STOPPED, IO, FORMAT, MEMORY. */
assay_status assay_diagnose_run(const assay_diagnose_spec *spec, assay_diagnosis *out,
                                assay_error *err) ASSAY_NODISCARD;
void assay_diagnosis_reset(assay_diagnosis *diagnosis);

/* The case's arithmetic as a kind of references. */
const assay_reference_kind *assay_diagnose_arithmetic(const assay_diagnose_case *one);

/* Some case has a block that is over, or could not be compared. */
bool assay_diagnosis_found(const assay_diagnosis *diagnosis);

#endif
