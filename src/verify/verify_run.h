/* One planned run: what its result says, and the same again from its evidence. */
#ifndef ASSAY_VERIFY_VERIFY_RUN_H
#define ASSAY_VERIFY_VERIFY_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "package/manifest.h"
#include "package/package.h"
#include "package/result.h"
#include "package/tree.h"
#include "verify/verify_coverage.h"
#include "verify/verify_findings.h"
#include "verify/verify_memory.h"
#include "verify/verify_numbers.h"
#include "verify/verify_placement.h"
#include "verify/verify_timing.h"

/* What all runs of a package share; borrowed by everything below. */
typedef struct assay_verify_scene {
  const char *path; /* of the package */
  const assay_package *package;
  const assay_manifest *manifests; /* [package->n_bundles] */
  const bool *has_manifest;        /* [package->n_bundles] */
  const assay_tree
      *sums; /* sizes and digests as listed; what is there when nothing is listed yet */
  assay_verify_findings *findings;
} assay_verify_scene;

/* All zeroes is a valid one: nothing was derived. */
typedef struct assay_verify_spread {
  bool derived;
  int64_t n;
  double p50_min_ns, p50_max_ns, p50_spread, spread_bound;
  bool identical; /* the outputs of all processes */
} assay_verify_spread;

/* All zeroes is a valid empty one. */
typedef struct assay_verify_run {
  const assay_package_run *planned;
  const assay_manifest *manifest;           /* of its bundle, or NULL */
  const assay_manifest_case *manifest_case; /* or NULL */
  bool is_there;                            /* result.json was read */
  assay_result found;
  bool has_numbers, has_stats, has_placement; /* derived */
  assay_verify_memory memory;
  assay_verify_spread spread; /* of the processes of a repeated timing */
  assay_verify_numbers numbers;
  assay_verify_stats stats;
  assay_verify_placement placement;
  assay_result_compiles compiles; /* as derived */
  assay_result_coverage coverage; /* as derived: judged once it was */
} assay_verify_run;

/* Reads and derives run i of the package, and checks its result. A run that is not there is
 * MISSING. Errors: MEMORY. */
assay_status assay_verify_run_check(const assay_verify_scene *scene, size_t i,
                                    assay_verify_run *out, assay_error *err) ASSAY_NODISCARD;
void assay_verify_run_reset(assay_verify_run *run);

/* The run did all it was asked and every verdict that applies is a pass, by derived figures. */
bool assay_verify_run_passed(const assay_verify_run *run);

/* The index of the bundle of that name, or n_bundles. */
size_t assay_verify_run_bundle(const assay_package *package, const char *name);
const assay_package_runtime *assay_verify_run_runtime(const assay_package *package,
                                                      const char *name);

/* The arrays of a case. Errors: those of npz.h. */
assay_status assay_verify_run_arrays(const assay_verify_scene *scene, size_t bundle,
                                     const assay_manifest_case *one, assay_tensor_map *out,
                                     assay_error *err) ASSAY_NODISCARD;

/* SHA-256 of text. Errors: MEMORY. */
assay_status assay_verify_run_digest(const char *text, size_t n, char out[65],
                                     assay_error *err) ASSAY_NODISCARD;

#endif
