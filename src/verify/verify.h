/* Whether a package is what it was when it was made, and whether every figure in it follows from
 * its raw evidence (rules 9 and 10). Works from the package alone: no runtime, no device, no
 * network.
 *
 * Two questions are asked:
 *   bytes    package.json against the SHA-256 of itself, every other file against the checksum
 *            tree, and nothing there that the tree does not list;
 *   figures  comparisons, statistics, placement, verdicts and keys of every run again from outputs,
 *            references, samples, profiles and logs, by arithmetic of this room's own, and then the
 *            report's tables and page against those. */
#ifndef ASSAY_VERIFY_VERIFY_H
#define ASSAY_VERIFY_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* In the order of the last line. */
#define ASSAY_VERIFY_KIND_LIST(X)                                                                  \
  X(CHANGED, "changed") /* a file's bytes are not those that were listed */                        \
  X(MISSING, "missing") /* listed or planned, and not there */                                     \
  X(EXTRA, "extra")     /* there, and not listed */                                                \
  X(FIGURE, "figures")  /* a file says something else than the evidence */                         \
  X(UNFINISHED, "unfinished")

typedef enum assay_verify_kind {
#define ASSAY_VERIFY_ENUM(name, word) ASSAY_VERIFY_##name,
  ASSAY_VERIFY_KIND_LIST(ASSAY_VERIFY_ENUM)
#undef ASSAY_VERIFY_ENUM
      ASSAY_VERIFY_N_KINDS
} assay_verify_kind;

const char *assay_verify_kind_word(assay_verify_kind kind);

/* One thing that is wrong; every text is printable and owned. */
typedef struct assay_verify_problem {
  assay_verify_kind kind;
  char *file;     /* relative to the package */
  char *what;     /* within the file: "comparisons[bid against f32].max_abs"; "" for the file */
  char *expected; /* what the tree or the evidence says */
  char *found;
} assay_verify_problem;

/* All zeroes is a valid empty one. */
typedef struct assay_verify_report {
  char *tool_version; /* of the assay that wrote the package; "" when package.json is unreadable */
  char tool_sha256[65];
  char started_at[32], finished_at[32]; /* finished_at "": not finished */
  size_t n_files;                       /* that were read, package.json included */
  uint64_t n_bytes;                     /* of them */
  size_t n_runs;                        /* planned */
  size_t n_figures;                     /* derived again and compared */
  bool has_report;
  assay_verify_problem *problems; /* by kind, then file */
  size_t n_problems;
  size_t counts[ASSAY_VERIFY_N_KINDS];
} assay_verify_report;

/* n_jobs: threads; 0: as many as there are processors. Whatever is wrong with a package is a
 * problem in the report. Errors: FORMAT (there is no package at that path), IO, MEMORY. */
assay_status assay_verify_package(const char *package_path, size_t n_jobs, assay_verify_report *out,
                                  assay_error *err) ASSAY_NODISCARD;

void assay_verify_report_reset(assay_verify_report *report);

/* "VERIFIED", or "NOT VERIFIED: changed 1, missing 2, extra 0, figures 3"; an unfinished package
 * says so at the end. */
void assay_verify_verdict(const assay_verify_report *report, char *out, size_t out_bytes);

#endif
