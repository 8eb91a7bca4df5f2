/* What a campaign is to make: runtimes resolved to libraries, bundles copied into the package, and
 * the list of runs. */
#ifndef ASSAY_CAMPAIGN_PLAN_H
#define ASSAY_CAMPAIGN_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/status.h"
#include "campaign/campaign.h"
#include "campaign/runtime_spec.h"
#include "package/manifest.h"
#include "package/package.h"

typedef struct assay_plan_runtime {
  assay_runtime_spec spec; /* name unique, library a path where one was found */
  char sha256[65];
  assay_json *json;      /* resolved */
  char *lacking;         /* why it is not to be had here (campaign files); NULL: it may be */
  char *library_version; /* "" when the library would not say */
  char library_sha256[65];
  char options_sha256[65];
  assay_json *options;
} assay_plan_runtime;

typedef struct assay_plan_bundle {
  char *source; /* where the user has it */
  char *name;   /* unique */
  char *folder; /* of the copy: <package>/bundles/<name> */
  assay_manifest manifest;
  char manifest_sha256[65];
  char external_sha256[65]; /* "" without external data */
} assay_plan_bundle;

typedef struct assay_plan_run {
  size_t runtime, bundle, case_index; /* into the lists */
  assay_result_mode mode;
  bool selected; /* by --only and --skip */
} assay_plan_run;

/* All zeroes is a valid empty one. */
typedef struct assay_plan {
  const assay_campaign_spec *spec; /* with defaults filled in */
  char *worker_path;
  char tool_sha256[65];
  char *work_folder;  /* <package>/.work: what is not finished */
  char *digests_path; /* in it: digests that workers took of what they mapped */
  assay_plan_runtime *runtimes;
  size_t n_runtimes;
  assay_plan_bundle *bundles;
  size_t n_bundles;
  assay_plan_run *runs;
  size_t n_runs;
  char *machine; /* "machines/<id>.json"; NULL until something is to be made */
} assay_plan;

/* Reads manifests and runtime files, and checks the names; touches nothing. */
assay_status assay_plan_read(const assay_campaign_spec *spec, assay_plan *out,
                             assay_error *err) ASSAY_NODISCARD;

/* Finds the libraries, asks each for its version in a process of its own, and gives runtimes their
 * names, keys and runs. The work folder exists. */
assay_status assay_plan_resolve(assay_plan *plan, assay_error *err) ASSAY_NODISCARD;

/* Copies the bundles into the package unless they are there already, whole and the same. */
assay_status assay_plan_store_bundles(assay_plan *plan, assay_error *err) ASSAY_NODISCARD;

/* The plan as package.json has it. */
assay_status assay_plan_index(const assay_plan *plan, assay_package *out,
                              assay_error *err) ASSAY_NODISCARD;

void assay_plan_reset(assay_plan *plan);

#endif
