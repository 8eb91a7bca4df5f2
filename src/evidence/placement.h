/* Rule 6: which provider ran which node, from the runtime's own profile of the executed graph,
 * cross-checked with the placement lines of its log. */
#ifndef ASSAY_EVIDENCE_PLACEMENT_H
#define ASSAY_EVIDENCE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

typedef enum assay_placement_verdict {
  ASSAY_PLACEMENT_PASS,    /* every compute node ran on the requested provider */
  ASSAY_PLACEMENT_FAIL,    /* some did not: offenders named */
  ASSAY_PLACEMENT_UNKNOWN, /* the evidence is missing, cut, invalid, of another session or
                              contradicted */
} assay_placement_verdict;

const char *assay_placement_verdict_name(assay_placement_verdict verdict);

typedef struct assay_placement_spec {
  const char *profile_path;
  const char
      *log_path; /* verbose log of the same session, one record a line (see evidence/placement.c) */
  const char *provider;               /* full name */
  size_t n_runs;                      /* calls that were profiled */
  const char *const *allowed_cpu_ops; /* shape operations the policy lets run on the CPU */
  size_t n_allowed_cpu_ops;
  int64_t max_copies; /* -1: any */
} assay_placement_spec;

typedef struct assay_placement_count {
  char *provider, *op;
  size_t n_nodes;      /* distinct nodes */
  size_t n_events;     /* executions over all runs */
  int64_t duration_us; /* host time, all runs */
} assay_placement_count;

typedef struct assay_placement {
  assay_placement_verdict verdict;
  char reason[256];              /* for FAIL and UNKNOWN */
  assay_placement_count *counts; /* by provider and operator, sorted */
  size_t n_counts;
  size_t n_compute, n_on_provider; /* distinct compute nodes: all, and those where they should be */
  size_t n_compiled; /* of n_compute: subgraphs that a provider compiled into one node; how many of
                        the model's nodes each stands for no profile says */
  size_t n_copies;
  int64_t copied_bytes; /* by all copies in all calls; -1: the profile does not say */
  size_t n_control_flow;
  size_t n_allowed; /* on the CPU by policy */
  char **offenders; /* "MatMul '/layer/MatMul' on CPUExecutionProvider" */
  size_t n_offenders;
  size_t n_model_runs; /* as the profile has them */
  bool log_agrees;
  bool repaired; /* the profile's JSON needed tolerance */
} assay_placement;

/* UNKNOWN when a source is missing, unreadable, cut or not what it claims to be; when the profile
 * is not of one session with n_runs calls, or reached the runtime's event limit; when a node did
 * not run equally often in every call; when profile and log disagree on the nodes of a provider;
 * when no compute node ran. Otherwise FAIL or PASS. Counts and offenders are filled in as far as
 * the profile could be read, whatever the verdict. Errors: MEMORY only; everything wrong with the
 * evidence is a verdict. */
assay_status assay_placement_judge(const assay_placement_spec *spec, assay_placement *out,
                                   assay_error *err) ASSAY_NODISCARD;
void assay_placement_put(const assay_placement *placement, assay_json_builder *b, const char *key);
void assay_placement_reset(assay_placement *placement);

#endif
