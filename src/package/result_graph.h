/* The graph that was executed in place of the bundle's model: the "graph" member of result.json,
 * where the runtime takes static shapes and the model has free ones.
 *
 * "graph": null | {
 *   "kept": true,             it lies under graphs/<sha256>.onnx; false: the model itself ran
 *   "sha256": "…", "size_bytes": 1,    "" and 0 when it was not kept
 *   "folded": true,           what follows from the shapes alone is constant in it
 *   "n_removed": 23,          nodes of the model that it does without
 *   "reason": "" }            why it was not kept, or not folded
 *
 * It was made from the model of "keys": model_sha256 with the shapes of the case of case_sha256;
 * constants were found by the CPU provider of the library of library_sha256. */
#ifndef ASSAY_PACKAGE_RESULT_GRAPH_H
#define ASSAY_PACKAGE_RESULT_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

/* All zeroes: the bundle's model was executed, and nothing else was asked for. */
typedef struct assay_result_graph {
  bool asked; /* false: "graph": null */
  bool kept, folded;
  char sha256[65];
  uint64_t size_bytes;
  int64_t n_removed;
  char reason[256];
} assay_result_graph;

/* The member of root. Errors: FORMAT. */
assay_status assay_result_graph_read(const assay_json *root, assay_result_graph *out,
                                     assay_error *err) ASSAY_NODISCARD;
void assay_result_graph_put(const assay_result_graph *graph, assay_json_builder *b);

#endif
