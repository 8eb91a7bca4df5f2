/* Campaigns: every case of every bundle on every runtime, timed and placed, each in a process of
 * its own, into one package. Killed at any moment and started again with the same line, a campaign
 * goes on where it was: a run that is done is recognised by the contents that it came from, and
 * kept only while its files are what it recorded.
 *
 * Read plan.h for what is to be made, resume.h for what is kept, attempt.h for how one run is made.
 */
#ifndef ASSAY_CAMPAIGN_CAMPAIGN_H
#define ASSAY_CAMPAIGN_CAMPAIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "campaign/campaign_file.h"
#include "campaign/runtime_spec.h"
#include "package/package.h"
#include "package/result.h"

#define ASSAY_CAMPAIGN_ITERATIONS     100
#define ASSAY_CAMPAIGN_WARMUP         10
#define ASSAY_CAMPAIGN_PLACEMENT_RUNS 3
#define ASSAY_CAMPAIGN_PROCESSES_MAX  1000
#define ASSAY_CAMPAIGN_TIMEOUT_NS     INT64_C(1800000000000) /* 30 min */

/* Talk while it works; each member may be NULL. Called from the campaign's own thread. */
typedef struct assay_campaign_progress {
  /* What there is to do: planned runs, and how many of them are done already. */
  void (*begin)(void *arg, size_t n_runs, size_t n_reused);
  void (*run_begin)(void *arg, size_t i, const assay_package_run *run);
  void (*run_end)(void *arg, size_t i, const assay_result *result);
  void (*note)(void *arg, const char *text); /* one line that a person should know */
  void (*tick)(void *arg);                   /* about every 50 ms while a run is on */
  bool (*cancelled)(void *arg);              /* asked as often: true stops at once */
  void *arg;
} assay_campaign_progress;

/* Zero values mean the defaults above where there are any. */
typedef struct assay_campaign_spec {
  const char *package_path;
  const char *const *runtimes; /* as users type them (runtime_spec.h); none: "cpu" */
  size_t n_runtimes;
  const char *const *bundles; /* folders */
  size_t n_bundles;
  /* Of a campaign file: which bundle on which runtime, and the file's text, which the package
   * keeps; runtimes that this machine lacks are left missing instead of failing. None: every bundle
   * on every runtime. */
  const assay_campaign_file *file;
  int64_t iterations; /* 0: the default; timed calls */
  int64_t warmup;     /* -1: the default */
  int64_t threads;    /* 0: as the runtime says, or 1 */
  int64_t placement_runs;
  int64_t timeout_ns; /* of one process */
  int64_t processes;  /* fresh ones that each timing is made in; 0: 1 */
  const char *const
      *only; /* globs over "<runtime>/<bundle>/<case>/<mode>", or over one of the four */
  size_t n_only;
  const char *const *skip;
  size_t n_skip;
  bool retry_failed; /* make again what failed, crashed or ran out of time */
  bool no_memory;    /* timing runs go without the memory sampler */
  const assay_package_tolerance *tolerances; /* over those of the manifests */
  size_t n_tolerances;
  const char *const *provider_options; /* "key=value", for every runtime; over their own */
  size_t n_provider_options;
  /* Changes runtime i once it is read, or NULL; two runtimes may then begin as the same text. */
  assay_status (*adjust)(void *arg, size_t i, assay_runtime_spec *runtime, assay_error *err);
  void *adjust_arg;
  const char *const *command; /* the command line, for the record */
  size_t n_command;
  const char
      *worker_path; /* NULL: this program; started as "<path> worker --spec FILE --out FOLDER" */
  assay_campaign_progress progress;
} assay_campaign_spec;

typedef struct assay_campaign_summary {
  size_t n_runs;                        /* planned */
  size_t n_made;                        /* this time */
  size_t n_reused;                      /* done before, and kept */
  size_t n_passed, n_failed, n_missing; /* of the planned: n_failed counts verdicts too */
  size_t n_lacking; /* of n_failed: the library or the provider is not to be had here */
  bool was_cancelled;
  size_t n_stale;    /* of those to be made: something of them was there, and could not be kept */
  size_t n_not_here; /* of n_missing: their runtime is not to be had here (campaign files) */
  size_t n_kept_failures; /* of n_reused: not done; --retry-failed makes them again */
} assay_campaign_summary;

/* A run that fails in whatever way is a result and not an error. Errors: ARGUMENT (another
 * campaign's package, one being written, a filter without effect, names), FORMAT and MISMATCH
 * (bundles), MISSING (no library to be found), IO (disk), LIMIT, MEMORY. What was made by then
 * stays, and the same call goes on from there. */
assay_status assay_campaign_run(const assay_campaign_spec *spec, assay_campaign_summary *out,
                                assay_error *err) ASSAY_NODISCARD;

#endif
