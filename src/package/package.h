/* package.json: what a campaign was asked, the runs it consists of, and the checksum tree. Schema
 * assay/package/1.
 *
 * {
 *   "schema": "assay/package/1",
 *   "tool": {"name": "assay", "version": "0.1.0", "sha256": "…"},
 *   "started_at": "2026-01-31T12:00:00.000Z",
 *   "finished_at": null | "…",        null: the campaign was not finished, and "files" is empty
 *   "command": ["assay", "run", …],
 *   "settings": {"iterations": 100, "warmup": 10, "threads": 1, "placement_runs": 3,
 *                "timeout_ns": 1, "processes": 1,
 *                "tolerances": [{"head": null | "bid", "atol": null | 0.001,
 *                                "rtol": null | 0.003}]},
 *   "runtimes": [{"name": "cpu", "sha256": "…", "spec": {…}, "library_path": "…",
 *                 "library_version": "1.32.0", "library_sha256": "…"}],   "": not to be opened
 *   "bundles": [{"name": "attention-cld", "folder": "bundles/attention-cld",
 *                "manifest_sha256": "…", "model_sha256": "…"}],
 *   "matrix": [{"runtime": "cpu", "bundle": "…"}],   which bundle on which runtime; absent: every
 *                                     one on every one
 *   "sources": [{"tool_version": "…", "tool_sha256": "…", "started_at": "…", "finished_at": "…",
 *                "tree_sha256": "…", "machine": … | null, "command": […]}],   the packages that
 * this one was merged from; absent: none "machine": "machines/<id>.json" | null, "runs":
 * [{"runtime": "cpu", "bundle": "…", "case": "…", "mode": "timing", "folder": "runs/…/timing"}],
 *   "tree_sha256": "…",               assay_tree_sha256 of "files"; "" while not finished
 *   "files": [{"file": "…", "sha256": "…", "size_bytes": 1}],    all but package.json itself
 *   "sha256": "…"                     of this file's own bytes with these 64 digits as zeros
 * } */
#ifndef ASSAY_PACKAGE_PACKAGE_H
#define ASSAY_PACKAGE_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "package/result.h"
#include "package/tree.h"

#define ASSAY_PACKAGE_SCHEMA "assay/package/1"
#define ASSAY_PACKAGE_FILE   "package.json"
/* A copy of the campaign file (campaign/campaign_file.h) that the package was made from, if any. */
#define ASSAY_PACKAGE_CAMPAIGN_FILE "campaign.json"

typedef struct assay_package_tolerance {
  char *head; /* NULL: every head */
  bool has_atol, has_rtol;
  double atol, rtol;
} assay_package_tolerance;

typedef struct assay_package_runtime {
  char *name;
  char sha256[65];  /* of the resolved runtime, as compact JSON */
  assay_json *spec; /* resolved: library, provider, options, session, env, placement_policy */
  char *library_path, *library_version; /* "" when unknown */
  char library_sha256[65];
} assay_package_runtime;

typedef struct assay_package_bundle {
  char *name, *folder;
  char manifest_sha256[65], model_sha256[65];
} assay_package_bundle;

/* One cell of the matrix of runtimes and bundles. */
typedef struct assay_package_cell {
  char *runtime, *bundle;
} assay_package_cell;

/* A package that was merged into this one. */
typedef struct assay_package_source {
  char *tool_version;
  char tool_sha256[65];
  char started_at[32], finished_at[32];
  char tree_sha256[65];
  char *machine; /* within the merged package, or NULL */
  char **command;
  size_t n_command;
} assay_package_source;

typedef struct assay_package_run {
  char *runtime, *bundle, *case_name;
  assay_result_mode mode;
  char *folder; /* relative to the package */
} assay_package_run;

/* All zeroes is a valid empty one; everything is owned. */
typedef struct assay_package {
  char *tool_version;
  char tool_sha256[65];
  char started_at[32];
  char finished_at[32]; /* "": not finished */
  char **command;
  size_t n_command;
  int64_t iterations, warmup, threads, placement_runs, timeout_ns;
  int64_t processes; /* that each timing is made in; 0 counts as 1 */
  assay_package_tolerance *tolerances;
  size_t n_tolerances;
  assay_package_runtime *runtimes;
  size_t n_runtimes;
  assay_package_bundle *bundles;
  size_t n_bundles;
  assay_package_cell *cells; /* none: every bundle on every runtime */
  size_t n_cells;
  assay_package_source *sources;
  size_t n_sources;
  char *machine; /* or NULL */
  assay_package_run *runs;
  size_t n_runs;
  char tree_sha256[65];
  assay_tree files;
} assay_package;

/* Strict. Errors: IO, FORMAT, LIMIT, MEMORY; *out is untouched then. */
assay_status assay_package_read(const char *package_path, assay_package *out,
                                assay_error *err) ASSAY_NODISCARD;
assay_status assay_package_write(const assay_package *package, const char *package_path,
                                 assay_error *err) ASSAY_NODISCARD;
void assay_package_reset(assay_package *package);

/* Checks package.json against the SHA-256 of itself that it ends with; read does not. Errors: IO,
 * LIMIT, MEMORY, MISMATCH. */
assay_status assay_package_check(const char *package_path, assay_error *err) ASSAY_NODISCARD;

/* The bundle is to be run on the runtime. */
bool assay_package_is_planned(const assay_package *package, const char *runtime,
                              const char *bundle);

/* The executable of that digest and version made the package, or one that was merged into it. */
bool assay_package_is_of_tool(const assay_package *package, const char *tool_sha256,
                              const char *tool_version);

/* The result of planned run i. A run whose result.json is not there comes back as MISSING with a
 * reason; one that is there and cannot be read as FAILED with the reader's words. Errors: MEMORY.
 */
assay_status assay_package_result(const assay_package *package, const char *package_path, size_t i,
                                  assay_result *out, assay_error *err) ASSAY_NODISCARD;

/* Hashes what lies under one folder of the package (such as "report") into the tree again and
 * rewrites package.json; every other entry stays as recorded, so that changed evidence is never
 * blessed; nor is a changed package.json: MISMATCH. Errors: as check, read and write. */
assay_status assay_package_seal(const char *package_path, const char *folder,
                                assay_error *err) ASSAY_NODISCARD;

#endif
