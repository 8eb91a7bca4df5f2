/* Packages that were made from a campaign file, or merged of others: which bundle was asked for on
 * which runtime, and whose results these are. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "selftest/selftest_cases.h"

#define PASSES(spoil_function, forge_function)                                                     \
  .start = SELFTEST_FRESH, .spoil = (spoil_function), .forge = (forge_function),                   \
  .by = SELFTEST_PASSES
#define FORGED(spoil_function, forge_function, problem_words)                                      \
  .start = SELFTEST_FRESH, .spoil = (spoil_function), .forge = (forge_function),                   \
  .by = SELFTEST_VERIFY, .kind = ASSAY_VERIFY_FIGURE, .words = (problem_words)

#define SECOND "runs/gpu2"

/* --- campaign files ------------------------------------------------------------------------------
 */

static void of_a_file(selftest_scene *s) {
  s->has_file = true;
}

static void release_cell(assay_package_cell *cell) {
  assay_free(cell->runtime);
  assay_free(cell->bundle);
}

/* The second runtime's cell, runs and files. */
static void plan_less(assay_package *package) {
  size_t n = 0;
  release_cell(&package->cells[--package->n_cells]);
  for (size_t i = 0; i < package->n_runs; i++) {
    assay_package_run *run = &package->runs[i];
    if (strcmp(run->runtime, "gpu2") != 0) {
      package->runs[n++] = *run;
      continue;
    }
    assay_free(run->runtime);
    assay_free(run->bundle);
    assay_free(run->case_name);
    assay_free(run->folder);
  }
  package->n_runs = n;
}
static void less_than_the_file(selftest_scene *s) {
  selftest_remove(s, SECOND);
  selftest_edit_index(s, plan_less);
  selftest_reseal(s, /*with_report=*/true);
}
static void drop_matrix(assay_package *package) {
  while (package->n_cells > 0) release_cell(&package->cells[--package->n_cells]);
}
static void no_matrix(selftest_scene *s) {
  selftest_edit_index(s, drop_matrix);
  selftest_reseal(s, /*with_report=*/true);
}
static void without_the_file(selftest_scene *s) {
  selftest_remove(s, ASSAY_PACKAGE_CAMPAIGN_FILE);
  selftest_reseal(s, /*with_report=*/true);
}
static void edit_file(selftest_scene *s, const char *find, const char *with) {
  selftest_edit(s, ASSAY_PACKAGE_CAMPAIGN_FILE, find, with);
  selftest_reseal(s, /*with_report=*/true);
}
static void more_than_the_file(selftest_scene *s) {
  edit_file(s, "gpu2.json\", \"bundles\": [\"toy\"]", "gpu2.json\", \"bundles\": []");
}
static void file_of_more_runtimes(selftest_scene *s) {
  edit_file(s, "\"runs\": [",
            "\"runs\": [{\"runtime\": \"cpu\", \"bundles\": [\"toy\"]},\n          ");
}
static void file_of_more_bundles(selftest_scene *s) {
  edit_file(s, "\"bundles\": [{", "\"bundles\": [{\"name\": \"hard\", \"folder\": \"hard\"}, {");
}
static void file_unreadable(selftest_scene *s) {
  edit_file(s, "{", "");
}

/* --- merged packages -----------------------------------------------------------------------------
 */

static void merged(selftest_scene *s) {
  selftest_merge(s);
  selftest_reseal(s, /*with_report=*/true);
}
static void other_tool(assay_result *r) {
  r->keys.tool_sha256[0] = r->keys.tool_sha256[0] == 'a' ? 'b' : 'a';
}
static void other_version(assay_result *r) {
  assay_free(r->tool_version);
  r->tool_version = assay_strdup("0.0.0");
}
static void merged_of_another_tool(selftest_scene *s) {
  selftest_merge(s);
  selftest_edit_result(s, ASSAY_RESULT_TIMING, other_tool);
  selftest_reseal(s, /*with_report=*/true);
}
static void merged_of_another_version(selftest_scene *s) {
  selftest_merge(s);
  selftest_edit_result(s, ASSAY_RESULT_TIMING, other_version);
  selftest_reseal(s, /*with_report=*/true);
}
static void of_another_tool(selftest_scene *s) {
  selftest_edit_result(s, ASSAY_RESULT_TIMING, other_tool);
  selftest_reseal(s, /*with_report=*/true);
}

#define TIMING SELFTEST_TIMING "result.json: "

const selftest_case selftest_matrix_cases[] = {
    {"control: a campaign file of two runtimes", "", PASSES(of_a_file, /*forge=*/NULL)},
    {"control: a package merged of two", "", PASSES(/*spoil=*/NULL, merged)},
    {"control: one of a campaign file, merged of two", "", PASSES(of_a_file, merged)},
    {"a matrix of less than its campaign file", "",
     FORGED(of_a_file, less_than_the_file, "package.json: matrix$")},
    {"a matrix of more than its campaign file", "",
     FORGED(of_a_file, more_than_the_file, "package.json: matrix (its size)$")},
    {"a campaign file, and no matrix", "",
     FORGED(of_a_file, no_matrix, "package.json: matrix (its size)$")},
    {"a matrix without its campaign file", "",
     FORGED(of_a_file, without_the_file, "package.json: matrix$")},
    {"a campaign file of more runtimes", "",
     FORGED(of_a_file, file_of_more_runtimes, "package.json: runtimes (their number)$")},
    {"a campaign file of more bundles", "",
     FORGED(of_a_file, file_of_more_bundles, "package.json: bundles (their number)$")},
    {"a campaign file that cannot be read", "",
     FORGED(of_a_file, file_unreadable, ASSAY_PACKAGE_CAMPAIGN_FILE ": $")},
    {"a merged package's result of an assay that made none of them", "",
     FORGED(/*spoil=*/NULL, merged_of_another_tool, TIMING "keys.tool_sha256$")},
    {"a merged package's result of another version", "",
     FORGED(/*spoil=*/NULL, merged_of_another_version, TIMING "keys.tool_sha256$")},
    {"a result of another assay", "",
     FORGED(/*spoil=*/NULL, of_another_tool, TIMING "keys.tool_sha256$")},
};
const size_t selftest_n_matrix_cases = sizeof selftest_matrix_cases / sizeof *selftest_matrix_cases;
