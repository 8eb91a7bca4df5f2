/* A campaign as a job array of a batch system: files to submit, one job for some cases of one
 * bundle on one runtime, each with a package of its own; and which of them have finished. The
 * program, the folder and whatever the campaign names are seen by all machines under the same paths
 * (a shared file system).
 *
 *   <folder>/batch.json             what was asked, the jobs, and the lines that submit them
 *            jobs.txt               line n: the runs of job n, as words of --only
 *            job.sh                 job.sh N makes them
 *            <system>-<runtime>.*   to be submitted, one array for each runtime: they want other
 *                                   machines
 *            bundles/               those that the campaign exports
 *            packages/<n>/          what job n made
 *            logs/ */
#ifndef ASSAY_CAMPAIGN_BATCH_H
#define ASSAY_CAMPAIGN_BATCH_H

#include <stddef.h>

#include "base/status.h"
#include "campaign/campaign_file.h"

#define ASSAY_BATCH_JOBS_MAX  4096
#define ASSAY_BATCH_FILE      "batch.json"
#define ASSAY_BATCH_MAX_BYTES ((size_t)16 << 20)

typedef enum assay_batch_system {
  ASSAY_BATCH_SLURM,
  ASSAY_BATCH_HTCONDOR,
} assay_batch_system;
#define ASSAY_BATCH_N_SYSTEMS 2

const char *assay_batch_system_name(assay_batch_system system); /* "slurm", "htcondor" */

typedef struct assay_batch_spec {
  const char *folder;        /* holds no batch yet */
  const char *campaign_path; /* of file */
  const assay_campaign_file *file;
  const char *bundles_path;          /* where its exported bundles are */
  const char *const *bundle_folders; /* [file->n_bundles] */
  assay_batch_system system;
  size_t cases_per_job; /* at least 1 */
  /* Lines for the batch system's files, as it takes them; "RUNTIME:line" for one runtime's alone.
   */
  const char *const *directives;
  size_t n_directives;
  const char *const *run_words; /* further words of each 'assay run' line */
  size_t n_run_words;
} assay_batch_spec;

typedef struct assay_batch_made {
  size_t n_jobs;
  char **submit; /* [n_submit] command lines, owned */
  size_t n_submit;
} assay_batch_made;

/* What can be refused before there are bundles: the folder and the directives, of spec alone.
 * Errors: ARGUMENT (there is a batch already, a path that batch systems would not take as it is, a
 * directive of several lines), IO, MEMORY. */
assay_status assay_batch_check(const assay_batch_spec *spec, assay_error *err) ASSAY_NODISCARD;

/* Errors: those of assay_batch_check, ARGUMENT (runtimes that cannot be told apart before their
 * libraries are asked, no cases), those of reading bundles and runtime files, LIMIT, IO, MEMORY. */
assay_status assay_batch_make(const assay_batch_spec *spec, assay_batch_made *out,
                              assay_error *err) ASSAY_NODISCARD;
void assay_batch_made_reset(assay_batch_made *made);

/* The jobs of a batch. */
typedef struct assay_batch_jobs {
  size_t n;
  char **packages; /* [n] of job i + 1, owned; NULL where it has not finished one */
} assay_batch_jobs;

/* Errors: IO, FORMAT (no batch), LIMIT, MEMORY. */
assay_status assay_batch_jobs_read(const char *folder, assay_batch_jobs *out,
                                   assay_error *err) ASSAY_NODISCARD;
void assay_batch_jobs_reset(assay_batch_jobs *jobs);

#endif
