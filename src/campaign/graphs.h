/* graphs/<sha256>.onnx: every graph of one shape that was executed, kept once by its contents,
 * whatever bundles and cases it served. */
#ifndef ASSAY_CAMPAIGN_GRAPHS_H
#define ASSAY_CAMPAIGN_GRAPHS_H

#include "base/status.h"
#include "campaign/plan.h"

/* Puts there the graphs of all runs that are made and whose case has a graph of its own (a bundle
 * of static shapes), as hard links to the bundles' files where the file system has such, and
 * removes what belongs to no run. A graph with external data finds that in its bundle only. Errors:
 * IO, MEMORY. */
assay_status assay_graphs_store(const assay_plan *plan, assay_error *err) ASSAY_NODISCARD;

#endif
