/* graphs/<sha256>.onnx: every graph of one shape that was executed, kept once by its contents,
 * whatever bundles and cases it served. */
#ifndef ASSAY_CAMPAIGN_GRAPHS_H
#define ASSAY_CAMPAIGN_GRAPHS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "campaign/plan.h"

/* <package>/graphs/<sha256>.onnx; NULL when memory is out. */
char *assay_graphs_path(const char *package_path, const char *sha256) ASSAY_NODISCARD;

/* Puts a graph of that digest at path, unless it is there. Errors: IO, MEMORY. */
assay_status assay_graphs_keep(const char *path, const char *sha256, const void *bytes,
                               size_t size_bytes, assay_error *err) ASSAY_NODISCARD;

/* Whether path is a file of that digest. */
bool assay_graphs_holds(const char *path, const char *sha256);

/* Puts there the graphs of all runs that are made and whose case has a graph of its own (a bundle
 * of static shapes), as hard links to the bundles' files where the file system has such, and
 * removes what belongs to no run. Graphs that were made for runs are there already, and stay. A
 * graph with external data finds that in its bundle only. Errors: IO, MEMORY. */
assay_status assay_graphs_store(const assay_plan *plan, assay_error *err) ASSAY_NODISCARD;

#endif
