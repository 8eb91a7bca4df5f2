#include "fusion/graph_name.h"

#include <string.h>

#define HEX_DIGITS 64

static bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static void compare(assay_fusion_work *work, size_t source, size_t line, assay_text_span text,
                    assay_text_span digest) {
  assay_fusion *out = work->out;
  if (out->graph_sha256[0] == '\0') assay_span_copy(digest, out->graph_sha256, HEX_DIGITS + 1);
  if (assay_span_is(digest, out->graph_sha256))
    out->graph_origin = "named by the evidence";
  else
    assay_fusion_find(work, ASSAY_FUSION_DOUBT, "graph", source, line, text,
                      "evidence of another graph: expected %.16s…, found %.16s…", out->graph_sha256,
                      digest.text);
}

void assay_graph_name_take(assay_fusion_work *work, size_t source, size_t line,
                           assay_text_span text) {
  for (size_t at = assay_span_find(text, ".onnx", 0); at < text.n;
       at = assay_span_find(text, ".onnx", at + 1)) {
    size_t from = at;
    while (from > 0 && is_hex(text.text[from - 1])) from--;
    if (at - from == HEX_DIGITS) compare(work, source, line, text, assay_span_cut(text, from, at));
  }
}
