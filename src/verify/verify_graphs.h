/* Executed static graphs, kept once each under the name of their digest. */
#ifndef ASSAY_VERIFY_VERIFY_GRAPHS_H
#define ASSAY_VERIFY_VERIFY_GRAPHS_H

#include "base/status.h"
#include "verify/verify_run.h"

/* Every file under graphs/ has the digest that it is named for, and is the graph of a run; the
 * graph of every run of a static export is there, once the campaign is finished. runs: [n_runs] of
 * the package. */
void assay_verify_graphs_check(const assay_verify_scene *scene, const assay_verify_run *runs);

#endif
