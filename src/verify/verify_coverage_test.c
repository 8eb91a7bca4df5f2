/* Tests of verify_coverage.c: on samples and on damaged ones it comes to what evidence/coverage.h
 * comes to, by a path of its own. */
#include "verify/verify_coverage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/test_folder.h"
#include "evidence/coverage.h"
#include "verify/verify_model.h"

#define MODEL "../runtime/testdata/mix17.onnx"

static test_folder folder; /* of all tests; main opens it */

/* A run's files as paths. */
typedef struct files {
  char model[256], profile[256], log[256], assignment[1024];
} files;

static files files_of(const char *sample) {
  files f;
  bool is_static = strstr(sample, "static") != NULL;
  snprintf(f.model, sizeof f.model, "%s",
           is_static ? "../onnx/testdata/mix17-2x8-folded.onnx" : MODEL);
  snprintf(f.profile, sizeof f.profile, "../evidence/testdata/profile/%s.json", sample);
  snprintf(f.log, sizeof f.log, "../evidence/testdata/placement_log/%s.log", sample);
  snprintf(f.assignment, sizeof f.assignment, "../evidence/testdata/assignment/%s.txt", sample);
  return f;
}

static void open_file(const char *path, assay_file_map *map, assay_verify_source *out) {
  assert_int_equal(assay_file_map_open(path, map, NULL), ASSAY_OK);
  *out = (assay_verify_source){map->data, map->size_bytes};
}

static void same_operators(const assay_result_coverage *a, const assay_coverage *b) {
  assert_int_equal(a->n_ops, b->n_ops);
  for (size_t i = 0; i < a->n_ops; i++) {
    assert_string_equal(a->ops[i].op, b->ops[i].op);
    assert_int_equal(a->ops[i].n_nodes, b->ops[i].n_nodes);
    assert_int_equal(a->ops[i].n_covered, b->ops[i].n_covered);
    assert_int_equal(a->ops[i].n_elsewhere, b->ops[i].n_elsewhere);
  }
  assert_int_equal(a->n_offenders, b->n_offenders);
  for (size_t i = 0; i < a->n_offenders; i++) assert_string_equal(a->offenders[i], b->offenders[i]);
}

/* Both derivations agree; whether the coverage is known. */
static bool assert_agreement(const files *f, const char *provider) {
  assay_file_map maps[4];
  assay_verify_coverage_sources sources = {.provider = provider};
  const assay_coverage_spec spec = {f->model, f->profile, f->log, f->assignment, provider};
  assay_result_coverage derived = {0};
  assay_coverage judged = {0};
  open_file(f->model, &maps[0], &sources.model);
  open_file(f->profile, &maps[1], &sources.profile);
  open_file(f->log, &maps[2], &sources.log);
  open_file(f->assignment, &maps[3], &sources.assignment);
  assert_int_equal(assay_verify_coverage_derive(&sources, &derived, NULL), ASSAY_OK);
  assert_int_equal(assay_coverage_judge(&spec, &judged, NULL), ASSAY_OK);
  if (derived.known != judged.known)
    fail_msg("derived '%s', judged '%s'", derived.reason, judged.reason);
  assert_int_equal(derived.n_nodes, judged.n_nodes);
  assert_int_equal(derived.n_covered, judged.n_covered);
  assert_int_equal(derived.n_elsewhere, judged.n_elsewhere);
  assert_int_equal(derived.n_unknown, judged.n_unknown);
  same_operators(&derived, &judged);
  bool known = judged.known;
  assay_coverage_reset(&judged);
  assay_result_coverage_reset(&derived);
  for (size_t i = 0; i < N_OF(maps); i++) assay_file_map_close(&maps[i]);
  return known;
}

static const struct {
  const char *sample, *provider;
} samples[] = {
    {"openvino-1.24.1-mix17-2runs", "OpenVINOExecutionProvider"},
    {"openvino-1.24.1-mix17-static-2runs", "OpenVINOExecutionProvider"},
    {"cpu-1.32.0-mix17-2runs", "CPUExecutionProvider"},
    {"webgpu-1.30.0-nchw-mix17-2runs", "WebGpuExecutionProvider"},
    {"webgpu-1.30.0-nhwc-mix17-2runs", "WebGpuExecutionProvider"},
};

static void samples_are_derived_alike(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(samples); i++) {
    files f = files_of(samples[i].sample);
    assert_true(assert_agreement(&f, samples[i].provider));
    assert_true(assert_agreement(&f, "NobodysExecutionProvider"));
  }
}

static void use_assignment(files *f, const char *text, size_t n) {
  snprintf(f->assignment, sizeof f->assignment, "%s", test_folder_file(&folder, "changed.txt"));
  remove(
      f->assignment); /* a new file: neither this nor truncating the old one waits for the disk */
  FILE *file = fopen(f->assignment, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, n, file), n);
  assert_int_equal(fclose(file), 0);
}

/* Each byte of each assignment in turn replaced by what stands in other places of such files. */
static void damaged_assignments_are_derived_alike(void **state) {
  (void)state;
  static const char bytes[] = "0A\t\n/";
  size_t n_known = 0, n_unknown = 0;
  for (size_t i = 0; i < N_OF(samples); i++) {
    files f = files_of(samples[i].sample);
    assay_buf text = test_file_read(f.assignment);
    char *at = (char *)text.data;
    for (size_t k = 0; k < text.size_bytes; k += 3) {
      char was = at[k];
      at[k] = bytes[k % (sizeof bytes - 1)];
      use_assignment(&f, at, text.size_bytes);
      at[k] = was;
      if (assert_agreement(&f, samples[i].provider))
        n_known++;
      else
        n_unknown++;
    }
    assay_buf_reset(&text);
  }
  assert_true(n_known > 20 && n_unknown > 20);
}

static assay_status count_nodes(void *arg, const assay_verify_model_node *node, assay_error *err) {
  (void)err;
  size_t *n = arg;
  assert_true(node->op.n > 0 || node->name.n == 0);
  ++*n;
  return ASSAY_OK;
}

static void models_are_walked_and_cut_ones_never_overread(void **state) {
  (void)state;
  static const struct {
    const char *path;
    size_t n;
  } models[] = {{MODEL, 13}, {"../runtime/testdata/cf.onnx", 9}};
  for (size_t i = 0; i < N_OF(models); i++) {
    assay_buf whole = test_file_read(models[i].path);
    size_t n = 0;
    assert_int_equal(assay_verify_model_each(whole.data, whole.size_bytes, count_nodes, &n, NULL),
                     ASSAY_OK);
    assert_int_equal(n, models[i].n);
    for (size_t cut = 0; cut < whole.size_bytes; cut += cut < 600 ? 1 : 97) {
      char *part = malloc(cut > 0 ? cut : 1); /* of this size, so that a sanitiser sees the end */
      assert_non_null(part);
      memcpy(part, whole.data, cut);
      (void)!assay_verify_model_each(part, cut, count_nodes, &n, NULL);
      free(part);
    }
    assay_buf_reset(&whole);
  }
  assert_int_equal(assay_verify_model_each("", 0, count_nodes, NULL, NULL), ASSAY_E_FORMAT);
}

static void a_graph_of_the_models_nodes_is_known_from_another(void **state) {
  (void)state;
  static const struct {
    const char *model, *graph;
    int64_t n_removed;
  } cases[] = {
      {MODEL, MODEL, 0},
      {MODEL, "../onnx/testdata/mix17-2x8-folded.onnx", 4},
      {"../onnx/testdata/mix17-2x8-folded.onnx", MODEL, -1},
      {MODEL, "../runtime/testdata/cf.onnx", -1},
  };
  for (size_t i = 0; i < N_OF(cases); i++) {
    assay_buf model = test_file_read(cases[i].model), graph = test_file_read(cases[i].graph);
    int64_t n = -2;
    assert_int_equal(assay_verify_model_removed(model.data, model.size_bytes, graph.data,
                                                graph.size_bytes, &n, NULL),
                     ASSAY_OK);
    assert_int_equal(n, cases[i].n_removed);
    assay_buf_reset(&model);
    assay_buf_reset(&graph);
  }
}

/* Bodies within bodies, deeper than anybody's: refused, not followed. */
static void graphs_nested_too_deep_are_refused(void **state) {
  (void)state;
  assay_buf inner = {0}, outer = {0};
  static const unsigned char tags[] = {6 << 3 | 2, 5 << 3 | 2, 1 << 3 | 2}; /* to a graph */
  for (int depth = 0; depth < 3 * 70; depth++) {
    size_t n = inner.size_bytes;
    const unsigned char tag = tags[depth % 3];
    unsigned char head[4] = {tag, (unsigned char)(n & 127) | 128, (unsigned char)(n >> 7), 0};
    assert_int_equal(assay_buf_append(&outer, head, 3, NULL), ASSAY_OK);
    if (n > 0) assert_int_equal(assay_buf_append(&outer, inner.data, n, NULL), ASSAY_OK);
    assay_buf_reset(&inner);
    inner = outer;
    outer = (assay_buf){0};
  }
  size_t n = inner.size_bytes, n_nodes = 0;
  unsigned char head[3] = {7 << 3 | 2, (unsigned char)(n & 127) | 128, (unsigned char)(n >> 7)};
  assert_int_equal(assay_buf_append(&outer, head, 3, NULL), ASSAY_OK);
  assert_int_equal(assay_buf_append(&outer, inner.data, n, NULL), ASSAY_OK);
  assert_int_equal(
      assay_verify_model_each(outer.data, outer.size_bytes, count_nodes, &n_nodes, NULL),
      ASSAY_E_FORMAT);
  assay_buf_reset(&inner);
  assay_buf_reset(&outer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_are_derived_alike),
      cmocka_unit_test(damaged_assignments_are_derived_alike),
      cmocka_unit_test(models_are_walked_and_cut_ones_never_overread),
      cmocka_unit_test(a_graph_of_the_models_nodes_is_known_from_another),
      cmocka_unit_test(graphs_nested_too_deep_are_refused),
  };
  test_folder_open(&folder);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
