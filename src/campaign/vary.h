/* The one thing in which two ways of running differ, as typed: WHAT=A|B.
 *
 *   runtime=A|B                  two runtimes as --runtime takes them
 *   library=A|B                  paths of two ONNX Runtime libraries
 *   bundle=A|B                   folders of two bundles with the same inputs and references
 *   provider-option:KEY=A|B
 *   session:KEY=A|B              intra_threads, inter_threads, graph_optimization_level,
 *                                memory_arena, or a session configuration entry
 *   env:NAME=A|B                 an environment variable; "(unset)" unsets it */
#ifndef ASSAY_CAMPAIGN_VARY_H
#define ASSAY_CAMPAIGN_VARY_H

#include <stddef.h>

#include "base/status.h"
#include "campaign/runtime_spec.h"

#define ASSAY_VARY_UNSET "(unset)"

typedef enum assay_vary_kind {
  ASSAY_VARY_RUNTIME,
  ASSAY_VARY_LIBRARY,
  ASSAY_VARY_BUNDLE,
  ASSAY_VARY_PROVIDER_OPTION,
  ASSAY_VARY_SESSION,
  ASSAY_VARY_ENV,
} assay_vary_kind;

/* All zeroes is a valid empty one; everything is owned. */
typedef struct assay_vary {
  assay_vary_kind kind;
  char *what;      /* as typed: "env:NAME" */
  char *key;       /* "NAME"; "" for kinds without one */
  char *values[2]; /* A and B */
} assay_vary;

/* Errors: ARGUMENT (the nearest known kind is named; two equal values), MEMORY. */
assay_status assay_vary_parse(const char *text, assay_vary *out, assay_error *err) ASSAY_NODISCARD;
void assay_vary_reset(assay_vary *vary);

/* Makes side 0 or 1 of a runtime: named "a" or "b", and changed unless bundles or runtimes vary.
 * Errors: ARGUMENT (a value that the session does not take), MEMORY. */
assay_status assay_vary_apply(const assay_vary *vary, size_t side, assay_runtime_spec *runtime,
                              assay_error *err) ASSAY_NODISCARD;

#endif
