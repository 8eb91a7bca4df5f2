/* Which graph evidence speaks of: executed graphs are kept as <SHA-256>.onnx, so whatever names the
 * file (a driver's command line, a profiler's, a log) names the graph. */
#ifndef ASSAY_FUSION_GRAPH_NAME_H
#define ASSAY_FUSION_GRAPH_NAME_H

#include "fusion/fusion_parts.h"

/* Takes what text names, if anything: another graph than the one that was said or named before is
 * a doubt. */
void assay_graph_name_take(assay_fusion_work *work, size_t source, size_t line,
                           assay_text_span text);

#endif
