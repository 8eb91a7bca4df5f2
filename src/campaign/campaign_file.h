/* A campaign as a file: which bundles, and which of them on which runtime. Schema assay/campaign/1.
 *
 * {
 *   "schema": "assay/campaign/1",
 *   "iterations": 100, "warmup": 10, "placement_runs": 3,        each may be absent
 *   "bundles": [{"name": "attention", "export": ["--model", "attention", "--seed", "42"]},
 *               {"name": "mine", "folder": "../mine"}],
 *   "runs": [{"runtime": "cpu", "bundles": ["attention", "mine"]},
 *            {"runtime": "cuda", "bundles": ["attention"]}]
 * }
 *
 * A bundle lies in a folder (a relative one is taken from the file's), or is exported with these
 * words of an 'assay export' line. A runtime is what --runtime takes. Every bundle and every
 * runtime is named once, and every bundle is run on something. */
#ifndef ASSAY_CAMPAIGN_CAMPAIGN_FILE_H
#define ASSAY_CAMPAIGN_CAMPAIGN_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

typedef struct assay_campaign_file_bundle {
  char *name;
  char *folder;       /* NULL: exported */
  char **export_args; /* [n_export_args] */
  size_t n_export_args;
} assay_campaign_file_bundle;

/* Bundle `bundle` on runtime `runtime`, by index. */
typedef struct assay_campaign_cell {
  size_t runtime, bundle;
} assay_campaign_cell;

/* All zeroes is a valid empty one; everything is owned. */
typedef struct assay_campaign_file {
  int64_t iterations, warmup, placement_runs; /* 0, -1, 0: not said */
  assay_campaign_file_bundle *bundles;
  size_t n_bundles;
  char **runtimes;
  size_t n_runtimes;
  assay_campaign_cell *cells;
  size_t n_cells;
  assay_buf text; /* of the file */
} assay_campaign_file;

/* Strict. Errors: IO, FORMAT, LIMIT, MEMORY; *out is untouched then. */
assay_status assay_campaign_file_read(const char *path, assay_campaign_file *out,
                                      assay_error *err) ASSAY_NODISCARD;
void assay_campaign_file_reset(assay_campaign_file *file);

#endif
