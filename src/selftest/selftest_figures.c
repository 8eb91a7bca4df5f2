/* Packages forged with care: evidence, results or tables changed, and everything sealed again, the
 * report included, so that all sums are right. Only figures that are derived again can tell. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "campaign/worker.h"
#include "selftest/selftest_cases.h"

#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

#define FORGED(where, spoil_function, problem_words)                                               \
  .start = (where), .spoil = (spoil_function), .by = SELFTEST_VERIFY, .kind = ASSAY_VERIFY_FIGURE, \
  .words = (problem_words)

#define FORGED_OF(spoil_function, forge_function, problem_words)                                   \
  .start = SELFTEST_FRESH, .spoil = (spoil_function), .forge = (forge_function),                   \
  .by = SELFTEST_VERIFY, .kind = ASSAY_VERIFY_FIGURE, .words = (problem_words)

static void edit(selftest_scene *s, assay_result_mode mode, void (*change)(assay_result *)) {
  selftest_edit_result(s, mode, change);
  selftest_reseal(s, /*with_report=*/true);
}

/* A table changed after the report was written, and sealed. */
static void edit_table(selftest_scene *s, const char *file, const char *find, const char *with) {
  selftest_edit(s, file, find, with);
  selftest_edit_index(s, /*change=*/NULL);
}

/* Copies one prepared file over that of the run. */
static void replace_evidence(selftest_scene *s, const char *file, const char *find,
                             const char *with) {
  selftest_edit(s, file, find, with);
  selftest_reseal(s, /*with_report=*/true);
}

/* --- results -------------------------------------------------------------------------------------
 */

static void pass_all(assay_result *r) {
  r->numbers = ASSAY_VERDICT_PASS;
  assay_free(r->numbers_reason);
  r->numbers_reason = NULL;
  for (size_t i = 0; i < r->n_comparisons; i++) {
    r->comparisons[i].passed = true;
    r->comparisons[i].reason[0] = '\0';
  }
}
static void numbers_forged(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, pass_all);
}
static void place_all(assay_result *r) {
  r->placed = r->placement.verdict = ASSAY_VERDICT_PASS;
  r->placement.reason[0] = '\0';
  r->placement.n_on_provider = r->placement.n_compute;
  for (size_t i = 0; i < r->placement.n_offenders; i++) assay_free(r->placement.offenders[i]);
  r->placement.n_offenders = 0;
}
static void placement_forged(selftest_scene *s) {
  edit(s, ASSAY_RESULT_PLACEMENT, place_all);
}
/* The node that ran on the CPU, said to be covered, in all places that name it. */
static void cover_all(assay_result *r) {
  assay_result_coverage *c = &r->coverage;
  c->n_covered += c->n_elsewhere;
  c->n_elsewhere = 0;
  for (size_t i = 0; i < c->n_ops; i++) {
    c->ops[i].n_covered = c->ops[i].n_nodes;
    c->ops[i].n_elsewhere = 0;
  }
  for (size_t i = 0; i < c->n_offenders; i++) assay_free(c->offenders[i]);
  c->n_offenders = 0;
}
static void coverage_forged(selftest_scene *s) {
  edit(s, ASSAY_RESULT_PLACEMENT, cover_all);
}
static void claim_compiles(assay_result *r) {
  r->compiles = (assay_result_compiles){.known = true, .session = 1};
}
static void compiles_claimed(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, claim_compiles);
}
static void claim_cache(assay_result *r) {
  assay_result_caches_reset(&r->caches);
  r->caches.items = assay_alloc_array(1, sizeof *r->caches.items);
  if (r->caches.items == NULL) return;
  r->caches.n = 1;
  r->caches.items[0].name = assay_strdup("cache_dir");
}
static void cache_claimed(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, claim_cache);
}
static void claim_graph(assay_result *r) {
  r->graph = (assay_result_graph){.asked = true, .kept = true, .folded = true, .size_bytes = 0};
  snprintf(r->graph.sha256, sizeof r->graph.sha256, "%s", EMPTY_SHA256);
}
static void graph_forged(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, claim_graph);
}
/* One of the model's nodes is a compiled subgraph, of which the runtime says nothing. */
static void compiled_in_silence(selftest_scene *s) {
  s->nodes[0] = s->placed[0] =
      (selftest_node){"SUB_1", SELFTEST_CUDA "_SUB_1_0", SELFTEST_CUDA, false};
  s->without[0] = ASSAY_WORKER_ASSIGNMENT_FILE;
}
static void claim_coverage(assay_result *r) {
  r->coverage.known = true;
  r->coverage.reason[0] = '\0';
  r->coverage.n_nodes = r->coverage.n_covered = 3;
}
static void coverage_claimed(selftest_scene *s) {
  edit(s, ASSAY_RESULT_PLACEMENT, claim_coverage);
}
static void smaller_error(assay_result *r) {
  for (size_t i = 0; i < r->n_comparisons; i++)
    if (strcmp(r->comparisons[i].head, "momentum") == 0) r->comparisons[i].max_abs /= 2;
}
static void error_forged(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, smaller_error);
}
/* Right by the FP64 reference, so that the gate sees the head compared. */
static void wrong_by_one(selftest_scene *s) {
  if (!selftest_failed(s)) selftest_f32(s, "ref.f32.momentum")[2] += 5;
}
static void ungate_failures(assay_result *r) {
  for (size_t i = 0; i < r->n_comparisons; i++)
    if (!r->comparisons[i].passed) r->comparisons[i].gate = false;
  r->numbers = ASSAY_VERDICT_PASS;
  assay_free(r->numbers_reason);
  r->numbers_reason = NULL;
}
static void failure_ungated(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, ungate_failures);
}
static void rename_failures(assay_result *r) {
  ungate_failures(r);
  for (size_t i = 0; i < r->n_comparisons; i++) {
    if (r->comparisons[i].passed) continue;
    assay_free(r->comparisons[i].reference);
    r->comparisons[i].reference = assay_strdup("same");
  }
}
static void failure_renamed(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, rename_failures);
}
static void wider_tolerance(assay_result *r) {
  for (size_t i = 0; i < r->n_comparisons; i++) r->comparisons[i].atol = 1;
}
static void tolerance_forged(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, wider_tolerance);
}
static void faster(assay_result *r) {
  r->timing.stats.percentiles[0].value_ns -= 1;
}
static void median_forged(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, faster);
}
static void tighter(assay_result *r) {
  r->timing.stats.percentiles[3].has_high = true;
  r->timing.stats.percentiles[3].high_rank = SELFTEST_SAMPLES;
  r->timing.stats.percentiles[3].high_ns = r->timing.stats.max_ns;
}
static void interval_forged(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, tighter);
}
static void no_outliers(assay_result *r) {
  r->timing.stats.drift = 0;
}
static void drift_forged(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, no_outliers);
}
static void quick_start(assay_result *r) {
  r->timing.first_run_ns /= 2;
}
static void first_call_forged(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, quick_start);
}
static void other_library(assay_result *r) {
  r->keys.library_sha256[0] = r->keys.library_sha256[0] == 'a' ? 'b' : 'a';
}
static void result_of_another_library(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, other_library);
}
static void other_plan(assay_result *r) {
  r->keys.plan_sha256[0] = r->keys.plan_sha256[0] == 'a' ? 'b' : 'a';
}
static void result_of_another_plan(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, other_plan);
}
static void survive(assay_result *r) {
  r->process.signal = 11;
  r->process.exited = false;
}
static void crash_forged(selftest_scene *s) {
  edit(s, ASSAY_RESULT_TIMING, survive);
}

/* --- evidence ------------------------------------------------------------------------------------
 */

/* The wrong value of one output, as its bytes, becomes that of the reference. */
static void rewrite_array(selftest_scene *s, const char *file, double find, double with) {
  char *path = selftest_path(s, file);
  FILE *stream = path != NULL ? fopen(path, "r+be") : NULL;
  const float old_value = (float)find, new_value = (float)with;
  unsigned char bytes[sizeof(float)];
  bool done = false;
  for (long at = 0; stream != NULL && !done; at++) {
    if (fseek(stream, at, SEEK_SET) != 0 || fread(bytes, 1, sizeof bytes, stream) != sizeof bytes)
      break;
    if (memcmp(bytes, &old_value, sizeof bytes) != 0) continue;
    done = fseek(stream, at, SEEK_SET) == 0 && fwrite(&new_value, sizeof new_value, 1, stream) == 1;
  }
  if (stream != NULL && fclose(stream) != 0) done = false;
  assay_error err = {0};
  if (!done)
    selftest_take(s, assay_fail(&err, ASSAY_E_INTERNAL, "%s: no such value to change", file), &err);
  assay_free(path);
}
static void samples_replaced(selftest_scene *s) {
  /* One sample of 1019000 ns as int64 becomes 1003000: the bytes of the numbers. */
  char *path = selftest_path(s, SELFTEST_TIMING "samples.npy");
  FILE *stream = path != NULL ? fopen(path, "r+be") : NULL;
  const int64_t value = 1000001;
  bool done = stream != NULL && fseek(stream, 128, SEEK_SET) == 0 &&
              fwrite(&value, sizeof value, 1, stream) == 1;
  if (stream != NULL && fclose(stream) != 0) done = false;
  assay_error err = {0};
  if (!done) selftest_take(s, assay_fail(&err, ASSAY_E_INTERNAL, "no samples to change"), &err);
  assay_free(path);
  selftest_reseal(s, /*with_report=*/true);
}
static void samples_removed(selftest_scene *s) {
  char *path = selftest_path(s, SELFTEST_TIMING "samples.npy");
  if (path != NULL) (void)remove(path);
  assay_free(path);
  selftest_reseal(s, /*with_report=*/true);
}
/* The archive's own sums are wrong then, and it cannot be read. */
static void outputs_patched(selftest_scene *s) {
  rewrite_array(s, SELFTEST_TIMING "outputs.npz", 2 + 0x1p-13 + 1, 3);
  selftest_reseal(s, /*with_report=*/true);
}
static void node_moved(selftest_scene *s) {
  replace_evidence(s, SELFTEST_PLACEMENT "profile.json", SELFTEST_CUDA, SELFTEST_CPU);
}
static void assignment_changed(selftest_scene *s) {
  replace_evidence(s, SELFTEST_PLACEMENT ASSAY_WORKER_ASSIGNMENT_FILE, SELFTEST_CUDA "\t\tMatMul",
                   SELFTEST_CPU "\t\tMatMul");
}
static void log_changed(selftest_scene *s) {
  replace_evidence(s, SELFTEST_PLACEMENT "log.txt", "Number of nodes: 3", "Number of nodes: 4");
}
static void facts_changed(selftest_scene *s) {
  replace_evidence(s, SELFTEST_TIMING "worker.json", "\"first_run_ns\": 3000000",
                   "\"first_run_ns\": 2000000");
}
/* The digest of the graph that the worker says it read. */
static void other_graph_read(selftest_scene *s) {
  replace_evidence(s, SELFTEST_PLACEMENT "worker.json", "\"model_sha256\": \"",
                   "\"model_sha256\": \"0000");
}
static void worker_failed(selftest_scene *s) {
  replace_evidence(s, SELFTEST_TIMING "worker.json", "\"finished\": true", "\"finished\": false");
}

/* A graph that no run loaded, or one under another's name, sealed. */
static void put_graph(selftest_scene *s, const char *name) {
  char *folder = selftest_path(s, "graphs");
  char *path = folder != NULL ? assay_path_join(folder, name) : NULL;
  assay_error err = {0};
  assay_status st = path != NULL ? assay_folder_create(folder, &err) : assay_fail_memory(&err, 64);
  if (st == ASSAY_OK) st = assay_file_write(path, "", 0, &err);
  selftest_take(s, st, &err);
  assay_free(path);
  assay_free(folder);
  selftest_reseal(s, /*with_report=*/true);
}
static void graph_of_nobody(selftest_scene *s) {
  put_graph(s, EMPTY_SHA256 ".onnx");
}
static void graph_under_another_name(selftest_scene *s) {
  put_graph(s, "0" EMPTY_SHA256 ".onnx");
}

/* --- what was asked ------------------------------------------------------------------------------
 */

static void fewer_iterations(assay_package *package) {
  package->iterations = SELFTEST_SAMPLES / 2;
}
static void iterations_forged(selftest_scene *s) {
  selftest_edit_index(s, fewer_iterations);
}
static void loose_tolerance(assay_package *package) {
  assay_free(package->tolerances); /* of none */
  package->tolerances = assay_alloc_array(1, sizeof *package->tolerances);
  if (package->tolerances == NULL) return;
  package->n_tolerances = 1;
  package->tolerances[0].has_atol = true;
  package->tolerances[0].atol = 1;
}
static void tolerance_raised(selftest_scene *s) {
  selftest_edit_index(s, loose_tolerance);
}
static void rename_library(assay_package *package) {
  package->runtimes[0].library_sha256[0] ^= 1;
}
static void library_forged(selftest_scene *s) {
  selftest_edit_index(s, rename_library);
}
static void drop_run(assay_package *package) {
  assay_package_run *run = &package->runs[1];
  assay_free(run->runtime);
  assay_free(run->bundle);
  assay_free(run->case_name);
  assay_free(run->folder);
  package->n_runs = 1;
}
static void run_dropped(selftest_scene *s) {
  selftest_edit_index(s, drop_run);
}
static void manifest_loosened(selftest_scene *s) {
  selftest_edit(s, "bundles/toy/manifest.json", "\"atol\": 0.001", "\"atol\": 0.901");
  selftest_reseal(s, /*with_report=*/true);
}
static void fewer_valid(selftest_scene *s) {
  selftest_edit(s, "bundles/toy/manifest.json", "      6\n", "      5\n");
  selftest_reseal(s, /*with_report=*/true);
}

/* --- tables --------------------------------------------------------------------------------------
 */

#define ERROR_EXACT "0.0001220703125"

static void csv_changed(selftest_scene *s) {
  edit_table(s, "report/table.csv", ERROR_EXACT, "0.0000220703125");
}
static void csv_verdict(selftest_scene *s) {
  edit_table(s, "report/table.csv", ",fail,", ",pass,");
}
static void csv_row_dropped(selftest_scene *s) {
  edit_table(s, "report/table.csv", "gpu,toy,c,", "gpu,toy,d,");
}
static void heads_changed(selftest_scene *s) {
  edit_table(s, "report/heads.csv", ERROR_EXACT, "0.0000220703125");
}
static void counts_changed(selftest_scene *s) {
  edit_table(s, "report/placement.csv", "MatMul,1,3,", "MatMul,1,4,");
}
static void json_changed(selftest_scene *s) {
  edit_table(s, "report/table.json", ERROR_EXACT, "0.0000220703125");
}
static void json_qualified(selftest_scene *s) {
  edit_table(s, "report/table.json", "\"qualified\": false", "\"qualified\": true");
}
static void markdown_changed(selftest_scene *s) {
  edit_table(s, "report/table.md", "1.22e-04", "1.21e-04");
}
static void page_changed(selftest_scene *s) {
  edit_table(s, "report/report.html", "\">1.22e-04", "\">1.21e-04");
}
static void page_title_changed(selftest_scene *s) {
  edit_table(s, "report/report.html", "title=\"" ERROR_EXACT "\"", "title=\"0.0001220703126\"");
}

const selftest_case selftest_figure_cases[] = {
    {"control: sealed again, nothing changed", "", .start = SELFTEST_GOOD, .by = SELFTEST_PASSES},
    {"numbers forged to a pass, reasons and all", "",
     FORGED(SELFTEST_REFUSED, numbers_forged, "result.json: verdicts.numbers")},
    {"placement forged to a pass, counts and all", "",
     FORGED(SELFTEST_REFUSED, placement_forged, "result.json: placement.verdict")},
    {"a node of the model said to be covered", "",
     FORGED(SELFTEST_REFUSED, coverage_forged, "placement/result.json: coverage.n_covered")},
    {"the nodes of a compiled subgraph that nobody named", "MIGraphX, by its node count",
     FORGED_OF(compiled_in_silence, coverage_claimed, "placement/result.json: coverage.known")},
    {"another assignment than the result was judged by", "",
     FORGED(SELFTEST_GOOD, assignment_changed, "placement/result.json: coverage.known")},
    {"a graph of nobody said to have run", "",
     FORGED(SELFTEST_GOOD, graph_forged, "timing/result.json: graph (it is there)")},
    {"programs compiled by a provider that does not say", "",
     FORGED(SELFTEST_GOOD, compiles_claimed, "timing/result.json: compiles.known")},
    {"a cache that the worker did not see", "",
     FORGED(SELFTEST_GOOD, cache_claimed, "timing/result.json: caches (their number)")},
    {"an error made smaller", "",
     FORGED(SELFTEST_GOOD, error_forged, "comparisons[momentum against f32].max_abs")},
    {"a comparison that failed gates no more", "",
     FORGED_OF(wrong_by_one, failure_ungated, "comparisons[momentum against f32].gate$")},
    {"one that failed, said to be of the export's own precision", "",
     FORGED_OF(wrong_by_one, failure_renamed, "timing/result.json: comparisons$")},
    {"a verdict on numbers that leaves one of them out", "",
     FORGED_OF(wrong_by_one, failure_renamed, "timing/result.json: verdicts.numbers$")},
    {"a tolerance raised until green", "MIGraphX and TensorRT issues",
     FORGED(SELFTEST_GOOD, tolerance_forged, "comparisons[momentum against f32].atol")},
    {"a median made faster by 1 ns", "",
     FORGED(SELFTEST_GOOD, median_forged, "percentiles[0].value_ns")},
    {"an interval's end that the samples cannot give", "",
     FORGED(SELFTEST_GOOD, interval_forged, "percentiles[3].high_ns")},
    {"a drift that is not shown", "", FORGED(SELFTEST_GOOD, drift_forged, "timing.stats.drift")},
    {"a first call made faster", "",
     FORGED(SELFTEST_GOOD, first_call_forged, "timing.first_run_ns")},
    {"a stale result of another library", "",
     FORGED(SELFTEST_GOOD, result_of_another_library, "keys.library_sha256")},
    {"a result of another plan", "",
     FORGED(SELFTEST_GOOD, result_of_another_plan, "keys.plan_sha256")},
    {"a crashed run that says it is done", "",
     FORGED(SELFTEST_GOOD, crash_forged, "timing/result.json: status")},
    {"samples replaced", "", FORGED(SELFTEST_GOOD, samples_replaced, "timing.stats.min")},
    {"samples removed", "deleting the odd sample",
     FORGED(SELFTEST_GOOD, samples_removed, "timing/result.json: timing$")},
    {"one output patched in its archive", "",
     FORGED(SELFTEST_GOOD, outputs_patched, "timing/result.json: comparisons")},
    {"a node moved in the profile", "",
     FORGED(SELFTEST_GOOD, node_moved, "placement/result.json: placement.")},
    {"a count changed in the log", "",
     FORGED(SELFTEST_GOOD, log_changed, "placement/result.json: placement.verdict")},
    {"the worker's record changed", "",
     FORGED(SELFTEST_GOOD, facts_changed, "timing.first_run_ns")},
    {"another graph in the worker's record", "",
     FORGED(SELFTEST_GOOD, other_graph_read, "placement/result.json: keys.model_sha256")},
    {"a worker that did not finish", "",
     FORGED(SELFTEST_GOOD, worker_failed, "timing/result.json: status")},
    {"a graph that no run loaded", "",
     FORGED(SELFTEST_GOOD, graph_of_nobody, "graphs/" EMPTY_SHA256 ".onnx: run")},
    {"a graph under another name than its digest's", "",
     FORGED(SELFTEST_GOOD, graph_under_another_name, "graphs/0" EMPTY_SHA256 ".onnx: name")},
    {"fewer iterations in the plan", "",
     FORGED(SELFTEST_GOOD, iterations_forged, "timing/result.json: timing$")},
    {"a tolerance added to the plan", "",
     FORGED(SELFTEST_GOOD, tolerance_raised, "keys.plan_sha256")},
    {"another library in the plan", "",
     FORGED(SELFTEST_GOOD, library_forged, "keys.library_sha256")},
    {"a run dropped from the plan", "",
     FORGED(SELFTEST_GOOD, run_dropped, "package.json: runs/gpu/toy/c/placement$")},
    {"files of a run that is not in the plan", "",
     FORGED(SELFTEST_GOOD, run_dropped, SELFTEST_PLACEMENT "profile.json: $")},
    {"a tolerance raised in the manifest", "",
     FORGED(SELFTEST_GOOD, manifest_loosened, "manifest_sha256")},
    {"fewer valid elements in the manifest", "",
     FORGED(SELFTEST_GOOD, fewer_valid, "manifest.json: cases['c'].valid[0]")},
    {"an error changed in table.csv", "",
     FORGED(SELFTEST_GOOD, csv_changed, "report/table.csv: gpu / toy / c: max_abs_error_f32")},
    {"a verdict changed in table.csv", "",
     FORGED(SELFTEST_REFUSED, csv_verdict, "report/table.csv: gpu / toy / c: verdict")},
    {"a case of another name in table.csv", "",
     FORGED(SELFTEST_GOOD, csv_row_dropped, "report/table.csv: gpu / toy / c: rows")},
    {"an error changed in heads.csv", "",
     FORGED(SELFTEST_GOOD, heads_changed, "report/heads.csv: gpu / toy / c: momentum")},
    {"a count changed in placement.csv", "",
     FORGED(SELFTEST_GOOD, counts_changed, "report/placement.csv: gpu / toy / c: MatMul")},
    {"an error changed in table.json", "",
     FORGED(SELFTEST_GOOD, json_changed, "report/table.json: gpu / toy / c: max_abs_error_f32")},
    {"the verdict changed in table.json", "",
     FORGED(SELFTEST_REFUSED, json_qualified, "report/table.json: qualified")},
    {"an error changed in table.md", "",
     FORGED(SELFTEST_GOOD, markdown_changed, "report/table.md: gpu / toy / c: Error vs FP32")},
    {"an error changed on the page", "", FORGED(SELFTEST_GOOD, page_changed, "report/report.html")},
    {"an exact value changed on the page", "",
     FORGED(SELFTEST_GOOD, page_title_changed, "report/report.html")},
};
const size_t selftest_n_figure_cases = sizeof selftest_figure_cases / sizeof *selftest_figure_cases;
