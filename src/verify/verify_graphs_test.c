/* Tests of verify_graphs.c: graphs lie under their digests, all of them, and no others. */
#include "verify/verify_graphs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* What lies under graphs/, and how the one problem must be called; NULL: none. */
static const struct {
  const char *name;
  struct {
    char *file;
    const char *sha256;
  } files[2];
  bool dynamic, unfinished, made;
  const char *what;
} cases[] = {
    {"right", {{"graphs/" A ".onnx", A}}, false, false, false, NULL},
    {"another digest", {{"graphs/" A ".onnx", B}}, false, false, false, "name"},
    {"one that nobody ran",
     {{"graphs/" A ".onnx", A}, {"graphs/" B ".onnx", B}},
     false,
     false,
     false,
     "run"},
    {"another name",
     {{"graphs/model.onnx", A}, {"graphs/" A ".onnx", A}},
     false,
     false,
     false,
     "name"},
    {"not there", {{NULL, NULL}}, false, false, false, "graph"},
    {"not there yet", {{NULL, NULL}}, false, true, false, NULL},
    {"one graph for all shapes", {{NULL, NULL}}, true, false, false, NULL},
    {"one that was made for the run", {{"graphs/" B ".onnx", B}}, true, false, true, NULL},
    {"that one is not there", {{NULL, NULL}}, true, false, true, "graph"},
    {"the bundle's instead of it", {{"graphs/" A ".onnx", A}}, true, false, true, "run"},
};

static void graphs_lie_under_their_digests(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assay_tree_entry entries[2] = {{0}};
    assay_tree sums = {.entries = entries};
    for (size_t k = 0; k < 2 && cases[i].files[k].file != NULL; k++) {
      entries[k].file = cases[i].files[k].file;
      memcpy(entries[k].sha256, cases[i].files[k].sha256, 65);
      sums.n++;
    }
    char model[] = "models/1x8.onnx", folder[] = "runs/cpu/toy/c/timing";
    assay_manifest_case one = {.model = {.file = cases[i].dynamic ? NULL : model}};
    assay_package_run planned = {.folder = folder};
    assay_package package = {.runs = &planned, .n_runs = 1};
    if (!cases[i].unfinished) memcpy(package.finished_at, "2026", 5);
    assay_verify_run run = {.planned = &planned, .manifest_case = &one, .is_there = true};
    memcpy(run.found.keys.model_sha256, A, 65);
    run.found.graph.asked = run.found.graph.kept = cases[i].made;
    if (cases[i].made) memcpy(run.found.graph.sha256, B, 65);
    assay_verify_findings findings;
    assay_verify_findings_init(&findings);
    assay_verify_scene scene = {.package = &package, .sums = &sums, .findings = &findings};
    assay_verify_graphs_check(&scene, &run);
    if (cases[i].what == NULL && findings.n > 0) fail_msg("%s: a problem", cases[i].name);
    if (cases[i].what != NULL && findings.n == 0) fail_msg("%s: no problem", cases[i].name);
    if (cases[i].what != NULL) assert_string_equal(findings.problems[0].what, cases[i].what);
    assay_verify_findings_destroy(&findings);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(graphs_lie_under_their_digests)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
