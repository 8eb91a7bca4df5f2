/* The verdict as JSON, schema assay/fusion/1. */
#include "base/text.h"
#include "fusion/fusion.h"

/* -1 and 0 where they mean "not known" become null. */
static void put_known(assay_json_builder *b, const char *key, int64_t value, int64_t unknown) {
  if (value == unknown)
    assay_json_put_null(b, key);
  else
    assay_json_put_int(b, key, value);
}

/* Names come from a stranger's file: control characters and broken UTF-8 are escaped. */
static void put_text(assay_json_builder *b, const char *key, const char *text) {
  char shown[1024];
  if (text != NULL) assay_text_printable(text, shown, sizeof shown);
  assay_json_put_string(b, key, text != NULL ? shown : NULL);
}

static void put_sources(const assay_fusion *f, assay_json_builder *b) {
  assay_json_begin_array(b, "sources");
  for (size_t i = 0; i < f->n_sources; i++) {
    assay_json_begin_object(b, NULL);
    put_text(b, "name", f->sources[i].name);
    assay_json_put_string(b, "kind",
                          f->sources[i].kind == ASSAY_FUSION_AUTO
                              ? NULL
                              : assay_fusion_kind_name(f->sources[i].kind));
    assay_json_put_string(b, "format", f->sources[i].format);
    assay_json_put_bool(b, "usable", f->sources[i].usable);
    put_known(b, "pid", f->sources[i].pid, 0);
    assay_json_put_string(b, "sha256", f->sources[i].sha256);
    assay_json_end(b);
  }
  assay_json_end(b);
}

static void put_findings(const assay_fusion *f, assay_json_builder *b) {
  assay_json_begin_array(b, "findings");
  for (size_t i = 0; i < f->n_findings; i++) {
    const assay_fusion_finding *finding = &f->findings[i];
    assay_json_begin_object(b, NULL);
    assay_json_put_string(b, "level", assay_fusion_level_name(finding->level));
    assay_json_put_string(b, "check", finding->check);
    assay_json_put_string(b, "text", finding->text);
    put_text(b, "source", f->sources[finding->source].name);
    put_known(b, "line", (int64_t)finding->line, 0);
    put_text(b, "excerpt", finding->excerpt);
    assay_json_end(b);
  }
  assay_json_end(b);
  assay_json_put_int(b, "n_findings_left_out", (int64_t)f->n_left_out);
}

static void put_kernels(const assay_fusion *f, assay_json_builder *b) {
  assay_json_begin_array(b, "kernels");
  for (size_t i = 0; i < f->n_kernels; i++) {
    const assay_fusion_kernel *k = &f->kernels[i];
    assay_json_begin_object(b, NULL);
    assay_json_put_string(b, "family", assay_kernel_family_name(k->family));
    put_text(b, "name", k->name);
    put_text(b, "op", k->op);
    put_text(b, "node", k->node);
    put_text(b, "dtype", k->dtype);
    assay_json_put_int(b, "n", k->n);
    put_text(b, "source", f->sources[k->source].name);
    put_known(b, "line", (int64_t)k->line, 0);
    assay_json_end(b);
  }
  assay_json_end(b);
}

static void put_programs(const assay_fusion *f, assay_json_builder *b) {
  assay_json_begin_array(b, "programs");
  for (size_t i = 0; i < f->n_programs; i++) {
    const assay_fusion_program *p = &f->programs[i];
    assay_json_begin_object(b, NULL);
    put_text(b, "source", f->sources[p->source].name);
    put_known(b, "first_line", (int64_t)p->first_line, 0);
    put_known(b, "last_line", (int64_t)p->last_line, 0);
    assay_json_put_bool(b, "complete", p->complete);
    assay_json_put_bool(b, "traced", p->traced);
    assay_json_put_int(b, "n_passes", (int64_t)p->n_passes);
    put_text(b, "inputs", p->inputs);
    assay_json_put_int(b, "n_softmax_before", (int64_t)p->n_candidates);
    if (p->complete) {
      assay_json_put_int(b, "n_fused", (int64_t)p->n_fused);
      assay_json_put_int(b, "n_scores", (int64_t)p->n_scores);
    }
    assay_json_put_int(b, "n_integers_rounded", (int64_t)p->n_rounded);
    assay_json_end(b);
  }
  assay_json_end(b);
}

void assay_fusion_put(const assay_fusion *f, assay_json_builder *b, const char *key) {
  assay_json_begin_object(b, key);
  assay_json_put_string(b, "schema", "assay/fusion/1");
  assay_json_put_string(b, "verdict", assay_fusion_verdict_name(f->verdict));
  assay_json_put_string(b, "reason", f->reason);
  put_text(b, "case", f->case_name);
  assay_json_put_string(b, "graph_sha256", f->graph_sha256[0] != '\0' ? f->graph_sha256 : NULL);
  assay_json_put_string(b, "graph_origin", f->graph_origin);
  put_known(b, "expect_fused", f->expect_fused, -1);
  put_known(b, "n_calls", f->n_calls, 0);
  put_known(b, "n_elems", f->n_elems, 0);
  put_known(b, "sm", f->sm, 0);
  assay_json_put_int(b, "n_fused", f->n_fused);
  put_sources(f, b);
  put_programs(f, b);
  put_kernels(f, b);
  put_findings(f, b);
  assay_json_end(b);
}
