/* The order of a verification: package.json and its own digest, the bytes of every file, then each
 * bundle, each case, each run, and the report made of them. */
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "package/manifest.h"
#include "package/package.h"
#include "verify/verify_bundle.h"
#include "verify/verify_bytes.h"
#include "verify/verify_findings.h"
#include "verify/verify_graphs.h"
#include "verify/verify_jobs.h"
#include "verify/verify_matrix.h"
#include "verify/verify_pairs.h"
#include "verify/verify_report.h"
#include "verify/verify_run.h"
#include "verify/verify_table.h"

#define INDEX_MAX_BYTES ((size_t)256 << 20)

/* A verification in progress. */
typedef struct verification {
  size_t n_jobs;
  assay_package package;
  bool is_readable; /* package.json */
  assay_tree there;
  assay_manifest *manifests;
  bool *has_manifest;
  assay_verify_scene scene;
  assay_verify_case *cases;
  size_t n_cases;
  assay_verify_run *runs; /* [package.n_runs] */
  assay_verify_findings findings;
  assay_verify_report *report;
} verification;

const char *assay_verify_kind_word(assay_verify_kind kind) {
  static const char *const words[] = {
#define ASSAY_VERIFY_WORD(name, word) word,
      ASSAY_VERIFY_KIND_LIST(ASSAY_VERIFY_WORD)
#undef ASSAY_VERIFY_WORD
  };
  return kind < ASSAY_VERIFY_N_KINDS ? words[kind] : "unknown";
}

/* --- the index -----------------------------------------------------------------------------------
 */

static bool holds(const assay_buf *text, const char *part) {
  return strstr(assay_buf_text(text), part) != NULL;
}

/* Whether the bytes are, or were, a package.json: what cannot be read any more must at least show
 * its beginning or its end. */
static assay_status recognise(const char *path, bool *out, assay_error *err) {
  assay_buf text = {0};
  char *index = assay_path_join(path, ASSAY_PACKAGE_FILE);
  if (index == NULL) return assay_fail_memory(err, strlen(path) + 16);
  assay_status st = ASSAY_OK;
  *out = false;
  if (assay_path_kind_of(index) == ASSAY_PATH_FILE)
    st = assay_file_read(index, INDEX_MAX_BYTES, &text, err);
  if (st == ASSAY_OK)
    *out = holds(&text, "\"schema\": \"assay/package/") ||
           (holds(&text, "\"tree_sha256\": \"") && holds(&text, "\"files\": ["));
  assay_buf_reset(&text);
  assay_free(index);
  return st;
}

/* Reads package.json and checks its own digest. One that was changed is a problem, even beyond
 * reading; one that is whole and cannot be read, or never was a package, is an error. */
static assay_status open_index(verification *v, const char *path, assay_error *err) {
  assay_error why = {0}, changed = {0};
  bool is_package = false;
  ASSAY_TRY(recognise(path, &is_package, err));
  if (!is_package)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "'%s' is not a package: expected a folder with the package.json that 'assay "
                      "run' writes",
                      path);
  assay_status own = assay_package_check(path, &changed);
  assay_status st = assay_package_read(path, &v->package, &why);
  if (st == ASSAY_E_MEMORY || own == ASSAY_E_MEMORY)
    return assay_fail(err, ASSAY_E_MEMORY, "%s", st ? why.text : changed.text);
  if (st && own == ASSAY_OK) /* whole, and not as this assay writes it */
    return assay_fail(err, st, "%s", why.text);
  v->is_readable = st == ASSAY_OK;
  if (own)
    assay_verify_add(&v->findings, ASSAY_VERIFY_CHANGED, ASSAY_PACKAGE_FILE, "",
                     "the bytes that were written", changed.text);
  return ASSAY_OK;
}

/* --- what runs rest on ---------------------------------------------------------------------------
 */

static assay_status read_manifests(verification *v, const char *path, assay_error *err) {
  size_t n = v->package.n_bundles;
  v->manifests = assay_alloc_array(n, sizeof *v->manifests);
  v->has_manifest = assay_alloc_array(n, sizeof *v->has_manifest);
  if (v->manifests == NULL || v->has_manifest == NULL) return assay_fail_memory(err, n);
  for (size_t i = 0; i < n; i++) {
    assay_error why = {0};
    char *folder = assay_path_join(path, v->package.bundles[i].folder);
    char *file = assay_path_join(v->package.bundles[i].folder, "manifest.json");
    assay_status st = folder != NULL && file != NULL
                          ? assay_manifest_read(folder, &v->manifests[i], &why)
                          : assay_fail_memory(&why, 256);
    v->has_manifest[i] = st == ASSAY_OK;
    if (st && st != ASSAY_E_MEMORY)
      assay_verify_add(&v->findings, ASSAY_VERIFY_FIGURE, file, "", "a readable manifest",
                       why.text);
    assay_free(folder);
    assay_free(file);
    if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  }
  return ASSAY_OK;
}

static assay_status list_cases(verification *v, assay_error *err) {
  size_t n = 0;
  for (size_t i = 0; i < v->package.n_bundles; i++)
    if (v->has_manifest[i]) n += v->manifests[i].n_cases;
  v->cases = assay_alloc_array(n, sizeof *v->cases);
  if (v->cases == NULL) return assay_fail_memory(err, n * sizeof *v->cases);
  for (size_t i = 0; i < v->package.n_bundles; i++)
    for (size_t k = 0; v->has_manifest[i] && k < v->manifests[i].n_cases; k++)
      v->cases[v->n_cases++] = (assay_verify_case){.bundle = i, .index = k};
  return ASSAY_OK;
}

/* Every case of every bundle on every runtime that the matrix puts it on, in both modes, once. */
static void check_plan(verification *v) {
  const assay_package *package = &v->package;
  assay_verify_place at = {.findings = &v->findings, .file = ASSAY_PACKAGE_FILE};
  for (size_t r = 0; r < package->n_runtimes; r++)
    for (size_t c = 0; c < v->n_cases; c++)
      for (int mode = ASSAY_RESULT_TIMING; mode <= ASSAY_RESULT_PLACEMENT; mode++) {
        const char *bundle = package->bundles[v->cases[c].bundle].name;
        const char *name = v->manifests[v->cases[c].bundle].cases[v->cases[c].index].name;
        if (!assay_package_is_planned(package, package->runtimes[r].name, bundle)) continue;
        char *folder =
            assay_result_folder(package->runtimes[r].name, bundle, name, (assay_result_mode)mode);
        int64_t n = 0;
        for (size_t i = 0; folder != NULL && i < package->n_runs; i++)
          n += strcmp(package->runs[i].folder, folder) == 0;
        assay_verify_int(&at, folder != NULL ? folder : "runs", n, 1);
        assay_free(folder);
      }
  if (package->machine != NULL)
    assay_verify_holds(&at, "machine", assay_tree_find(v->scene.sums, package->machine) != NULL,
                       "a file of the package", package->machine);
}

/* Nothing lies under runs/ that no run was planned for. */
static void check_no_other_runs(verification *v) {
  const assay_tree *sums = v->scene.sums;
  for (size_t i = 0; i < sums->n; i++) {
    const char *file = sums->entries[i].file;
    bool planned = strncmp(file, "runs/", 5) != 0;
    for (size_t k = 0; k < v->package.n_runs && !planned; k++) {
      size_t n = strlen(v->package.runs[k].folder);
      planned = strncmp(file, v->package.runs[k].folder, n) == 0 && file[n] == '/';
    }
    if (!planned)
      assay_verify_add(&v->findings, ASSAY_VERIFY_FIGURE, file, "", "files of planned runs only",
                       "one of another");
  }
}

/* --- everything ----------------------------------------------------------------------------------
 */

static assay_status case_job(void *arg, size_t i, assay_error *err) {
  verification *v = arg;
  return assay_verify_case_check(&v->scene, &v->cases[i], err);
}

static assay_status run_job(void *arg, size_t i, assay_error *err) {
  verification *v = arg;
  return assay_verify_run_check(&v->scene, i, &v->runs[i], err);
}

static assay_status check_report(verification *v, assay_error *err) {
  assay_verify_rows rows = {0};
  ASSAY_TRY(assay_verify_rows_init(&v->scene, v->runs, v->cases, v->n_cases, &rows, err));
  assay_status st = assay_verify_report_check(&v->scene, &rows, &v->report->has_report, err);
  assay_verify_rows_reset(&rows);
  return st;
}

static assay_status check_figures(verification *v, assay_error *err) {
  for (size_t i = 0; i < v->package.n_bundles; i++) assay_verify_bundle_check(&v->scene, i);
  for (size_t i = 0; i < v->package.n_runtimes; i++)
    ASSAY_TRY(assay_verify_runtime_check(&v->scene, i, err));
  ASSAY_TRY(list_cases(v, err));
  ASSAY_TRY(assay_verify_matrix_check(&v->scene, err));
  check_plan(v);
  check_no_other_runs(v);
  ASSAY_TRY(assay_verify_jobs_run(v->n_jobs, v->n_cases, case_job, v, err));
  v->runs = assay_alloc_array(v->package.n_runs, sizeof *v->runs);
  if (v->runs == NULL) return assay_fail_memory(err, v->package.n_runs * sizeof *v->runs);
  ASSAY_TRY(assay_verify_jobs_run(v->n_jobs, v->package.n_runs, run_job, v, err));
  assay_verify_graphs_check(&v->scene, v->runs);
  ASSAY_TRY(assay_verify_pairs_check(&v->scene, v->runs, v->n_jobs, err));
  return check_report(v, err);
}

static assay_status take_index(verification *v, assay_error *err) {
  const assay_package *package = &v->package;
  assay_verify_report *report = v->report;
  report->tool_version = assay_strdup(v->is_readable ? package->tool_version : "");
  if (report->tool_version == NULL) return assay_fail_memory(err, 16);
  memcpy(report->tool_sha256, package->tool_sha256, sizeof report->tool_sha256);
  memcpy(report->started_at, package->started_at, sizeof report->started_at);
  memcpy(report->finished_at, package->finished_at, sizeof report->finished_at);
  report->n_runs = package->n_runs;
  return ASSAY_OK;
}

static assay_status verify(verification *v, const char *path, assay_error *err) {
  ASSAY_TRY(open_index(v, path, err));
  ASSAY_TRY(take_index(v, err));
  bool finished = v->is_readable && v->package.finished_at[0] != '\0';
  if (v->is_readable && !finished)
    assay_verify_add(&v->findings, ASSAY_VERIFY_UNFINISHED, ASSAY_PACKAGE_FILE, "",
                     "a finished campaign", "one that goes on with the same 'assay run' line");
  ASSAY_TRY(assay_verify_bytes(path, finished ? &v->package.files : NULL, v->n_jobs, &v->findings,
                               &v->there, &v->report->n_bytes, err));
  v->report->n_files = v->there.n + 1;
  if (!v->is_readable) return ASSAY_OK; /* nothing says what the files should be */
  ASSAY_TRY(read_manifests(v, path, err));
  v->scene = (assay_verify_scene){.path = path,
                                  .package = &v->package,
                                  .manifests = v->manifests,
                                  .has_manifest = v->has_manifest,
                                  .sums = finished ? &v->package.files : &v->there,
                                  .findings = &v->findings};
  return check_figures(v, err);
}

/* --- the outcome ---------------------------------------------------------------------------------
 */

static int compare_problems(const void *a, const void *b) {
  const assay_verify_problem *x = a, *y = b;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  int c = strcmp(x->file, y->file);
  if (c == 0) c = strcmp(x->what, y->what);
  if (c == 0) c = strcmp(x->expected, y->expected);
  return c != 0 ? c : strcmp(x->found, y->found);
}

static void release_problem(assay_verify_problem *problem) {
  assay_free(problem->file);
  assay_free(problem->what);
  assay_free(problem->expected);
  assay_free(problem->found);
}

/* A figure that several checks look at is wrong once, and a missing file is missing once. */
static bool is_repeated(const assay_verify_problem *a, const assay_verify_problem *b) {
  if (a->kind != b->kind || strcmp(a->file, b->file) != 0 || strcmp(a->what, b->what) != 0)
    return false;
  return a->kind != ASSAY_VERIFY_FIGURE ||
         (strcmp(a->expected, b->expected) == 0 && strcmp(a->found, b->found) == 0);
}

static void take_problems(verification *v) {
  assay_verify_report *report = v->report;
  size_t n = 0;
  report->problems = v->findings.problems;
  report->n_figures = v->findings.n_figures;
  if (v->findings.n > 1)
    qsort(report->problems, v->findings.n, sizeof *report->problems, compare_problems);
  for (size_t i = 0; i < v->findings.n; i++) {
    if (n > 0 && is_repeated(&report->problems[n - 1], &report->problems[i])) {
      release_problem(&report->problems[i]);
      continue;
    }
    report->problems[n++] = report->problems[i];
    report->counts[report->problems[n - 1].kind]++;
  }
  report->n_problems = n;
  v->findings.problems = NULL;
  v->findings.n = 0;
}

static void release(verification *v) {
  for (size_t i = 0; v->runs != NULL && i < v->package.n_runs; i++)
    assay_verify_run_reset(&v->runs[i]);
  for (size_t i = 0; i < v->n_cases; i++) assay_verify_case_reset(&v->cases[i]);
  for (size_t i = 0; v->manifests != NULL && i < v->package.n_bundles; i++)
    assay_manifest_reset(&v->manifests[i]);
  assay_free(v->runs);
  assay_free(v->cases);
  assay_free(v->manifests);
  assay_free(v->has_manifest);
  assay_tree_reset(&v->there);
  assay_package_reset(&v->package);
  assay_verify_findings_destroy(&v->findings);
}

assay_status assay_verify_package(const char *package_path, size_t n_jobs, assay_verify_report *out,
                                  assay_error *err) {
  assay_verify_report report = {0};
  verification v = {.n_jobs = n_jobs > 0 ? n_jobs : assay_verify_jobs_default(), .report = &report};
  assay_verify_findings_init(&v.findings);
  assay_status st = verify(&v, package_path, err);
  if (st == ASSAY_OK && v.findings.status) st = assay_fail_memory(err, sizeof *report.problems);
  if (st == ASSAY_OK) take_problems(&v);
  release(&v);
  if (st) {
    assay_verify_report_reset(&report);
    return st;
  }
  *out = report;
  return ASSAY_OK;
}

void assay_verify_report_reset(assay_verify_report *report) {
  for (size_t i = 0; i < report->n_problems; i++) release_problem(&report->problems[i]);
  assay_free(report->problems);
  assay_free(report->tool_version);
  *report = (assay_verify_report){0};
}

void assay_verify_verdict(const assay_verify_report *report, char *out, size_t out_bytes) {
  if (report->n_problems == 0) {
    snprintf(out, out_bytes, "VERIFIED");
    return;
  }
  size_t used = (size_t)snprintf(out, out_bytes, "NOT VERIFIED:");
  for (int kind = 0; kind < ASSAY_VERIFY_UNFINISHED && used < out_bytes; kind++)
    used += (size_t)snprintf(out + used, out_bytes - used, "%s %s %zu", kind > 0 ? "," : "",
                             assay_verify_kind_word((assay_verify_kind)kind), report->counts[kind]);
  if (report->counts[ASSAY_VERIFY_UNFINISHED] > 0 && used < out_bytes)
    snprintf(out + used, out_bytes - used, ", unfinished");
}
