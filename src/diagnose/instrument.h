/* A copy of a graph that also gives the outputs of its blocks, and a graph run once on a runtime in
 * a process of its own. */
#ifndef ASSAY_DIAGNOSE_INSTRUMENT_H
#define ASSAY_DIAGNOSE_INSTRUMENT_H

#include "base/tensor.h"
#include "campaign/runtime_spec.h"

/* Blocks of a graph, from its metadata: names and the values that they are in the graph. */
typedef struct assay_instrument_blocks {
  char **names, **values; /* [n] each, owned */
  size_t n;
} assay_instrument_blocks;

/* Reads the graph at `from` and writes the instrumented copy to `to`. Errors: UNSUPPORTED (it names
 * no blocks), IO, FORMAT, MEMORY. */
assay_status assay_instrument_graph(const char *from, const char *to, assay_instrument_blocks *out,
                                    assay_error *err) ASSAY_NODISCARD;
void assay_instrument_blocks_reset(assay_instrument_blocks *blocks);

typedef struct assay_instrument_run {
  const assay_runtime_spec *runtime; /* library set */
  const char *model, *inputs;
  const char *folder; /* made here: task.json, outputs.npz, worker.json, stdout, stderr, log */
  int64_t timeout_ns;
  bool (*cancelled)(void *arg);
  void *arg;
} assay_instrument_run;

/* Runs it once; *out holds every output by name. *out_reason is NULL, or why there are none
 * (owned); *out_version is the library's (owned), "" when unknown. Errors: STOPPED, IO, MEMORY. */
assay_status assay_instrument_execute(const assay_instrument_run *run, assay_tensor_map *out,
                                      char **out_reason, char **out_version,
                                      assay_error *err) ASSAY_NODISCARD;

#endif
