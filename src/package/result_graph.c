/* Reads and writes the "graph" member of result.json. The format stands in the header. */
#include "package/result_graph.h"

#include "base/array.h"
#include "package/fields.h"

#define GRAPH(member, kind) ASSAY_FIELD(assay_result_graph, member, kind)
static const assay_field graph_fields[] = {
    GRAPH(kept, BOOL),   GRAPH(sha256, SHA256_OR_EMPTY), GRAPH(size_bytes, SIZE),
    GRAPH(folded, BOOL), GRAPH(n_removed, COUNT),        GRAPH(reason, TEXT),
};
#undef GRAPH

assay_status assay_result_graph_read(const assay_json *root, assay_result_graph *out,
                                     assay_error *err) {
  const assay_json *value = NULL;
  if (assay_fields_is_null(root, "graph")) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(root, "graph", &value, err));
  out->asked = true;
  assay_status st = assay_fields_read(value, graph_fields, N_OF(graph_fields), NULL,
                                      /*n_others=*/0, out, err);
  if (st == ASSAY_OK && out->kept != (out->sha256[0] != '\0'))
    st = assay_fail(err, ASSAY_E_FORMAT, "'sha256': expected a digest just where 'kept' is true");
  if (st) assay_error_in(err, "'graph'");
  return st;
}

void assay_result_graph_put(const assay_result_graph *graph, assay_json_builder *b) {
  if (!graph->asked) {
    assay_json_put_null(b, "graph");
    return;
  }
  assay_json_begin_object(b, "graph");
  assay_fields_put(graph_fields, N_OF(graph_fields), graph, b);
  assay_json_end(b);
}
