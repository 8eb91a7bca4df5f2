/* Tests of report.c and plot.c: the folder is whole, in the checksum tree, and the same twice. */
#include "report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/test_folder.h"
#include "package/tree.h"
#include "report/testpack.h"

#define GNUPLOT "/usr/bin/gnuplot"

static void make(test_folder *folder, const testpack_spec *spec, char *package,
                 size_t package_bytes) {
  assay_error err = {0};
  test_folder_open(folder);
  (void)snprintf(package, package_bytes, "%s", test_folder_file(folder, "package"));
  if (testpack_write(spec, package, &err)) {
    print_error("%s\n", err.text);
    fail();
  }
}

static void write_report(const char *package, const char *gnuplot, assay_report_outcome *out) {
  assay_error err = {0};
  assay_view view;
  assay_report_options options = {.gnuplot = gnuplot};
  if (assay_view_open(package, &view, &err) || assay_report_write(&view, &options, out, &err)) {
    print_error("%s\n", err.text);
    fail();
  }
  assay_view_close(&view);
}

/* SHA-256 of every file of the report, in one text. */
static void sum_report(const char *package, char out[65]) {
  assay_tree tree = {0};
  char folder[1200];
  (void)snprintf(folder, sizeof folder, "%s/report", package);
  assert_int_equal(assay_tree_scan(folder, NULL, 0, &tree, NULL), ASSAY_OK);
  assert_int_equal(assay_tree_sha256(&tree, out, NULL), ASSAY_OK);
  assay_tree_reset(&tree);
}

static void count_difference(void *arg, assay_tree_change change, const char *file,
                             const char *detail) {
  (void)arg;
  (void)change;
  print_error("%s: %s\n", file, detail);
}

static size_t count_differences(const char *package_path) {
  static const char *const skip[] = {ASSAY_PACKAGE_FILE};
  assay_package package = {0};
  size_t n = 0;
  assert_int_equal(assay_package_read(package_path, &package, NULL), ASSAY_OK);
  assert_int_equal(
      assay_tree_verify(&package.files, package_path, skip, 1, count_difference, NULL, &n, NULL),
      ASSAY_OK);
  assay_package_reset(&package);
  return n;
}

static bool has_file(const char *package, const char *name) {
  char path[1200];
  (void)snprintf(path, sizeof path, "%s/report/%s", package, name);
  return assay_path_kind_of(path) == ASSAY_PATH_FILE;
}

static void is_the_same_twice_and_in_the_checksum_tree(void **state) {
  (void)state;
  if (access(GNUPLOT, X_OK) != 0) {
    print_message("without plots: there is no %s\n", GNUPLOT);
  }
  const char *gnuplot = access(GNUPLOT, X_OK) == 0 ? GNUPLOT : "";
  test_folder folder;
  char package[1100], first[65], second[65];
  assay_report_outcome outcome = {0};
  const testpack_spec spec = {.n_runtimes = 1,
                              .n_bundles = 1,
                              .n_cases = 3,
                              .hostile = true,
                              .device = true,
                              .repeated = true,
                              .fault = TESTPACK_NAN,
                              .fault_every = 3};
  make(&folder, &spec, package, sizeof package);
  write_report(package, gnuplot, &outcome);
  sum_report(package, first);
  assert_int_equal(count_differences(package), 0);
  sleep(*gnuplot ? 1 : 0); /* another second: dates would show */
  write_report(package, gnuplot, &outcome);
  sum_report(package, second);
  assert_string_equal(first, second);
  assert_int_equal(count_differences(package), 0);
  if (*gnuplot) {
    assert_string_equal(outcome.note, "");
    assert_true(outcome.n_plots >= 6);
    assert_true(has_file(package, "latency.pdf") && has_file(package, "latency.png") &&
                has_file(package, "latency.svg"));
    static const char *const of_memory[] = {"memory", "memory-above", "memory-device",
                                            "memory-time"};
    for (size_t i = 0; i < sizeof of_memory / sizeof of_memory[0]; i++) {
      char name[32];
      (void)snprintf(name, sizeof name, "%s.svg", of_memory[i]);
      if (!has_file(package, name)) fail_msg("there is no %s", name);
    }
  }
  assert_false(has_file(package, ".draw.gp"));
  test_folder_close(&folder);
}

static void is_whole_without_gnuplot_and_says_so(void **state) {
  (void)state;
  static const char *const programs[] = {"", NULL};
  char *path_before = assay_strdup(getenv("PATH"));
  assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
    test_folder folder;
    char package[1100];
    assay_report_outcome outcome = {0};
    const testpack_spec spec = {.n_runtimes = 1, .n_bundles = 1, .n_cases = 1};
    make(&folder, &spec, package, sizeof package);
    write_report(package, programs[i], &outcome);
    assert_int_equal(outcome.n_plots, 0);
    assert_non_null(strstr(outcome.note, "no plots"));
    static const char *const names[] = {"report.html", "table.csv", "heads.csv", "placement.csv",
                                        "memory.csv",  "table.md",  "table.json"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
      assert_true(has_file(package, names[k]));
    assay_buf page = {0};
    char path[1200];
    (void)snprintf(path, sizeof path, "%s/report/report.html", package);
    assert_int_equal(assay_file_read(path, 1 << 24, &page, NULL), ASSAY_OK);
    assert_non_null(strstr(assay_buf_text(&page), "There are no plots"));
    assay_buf_reset(&page);
    test_folder_close(&folder);
  }
  assert_int_equal(setenv("PATH", path_before, 1), 0);
  assay_free(path_before);
}

static void a_gnuplot_that_was_named_must_run(void **state) {
  (void)state;
  static const char *const programs[] = {"/nowhere/gnuplot", "/bin/false", "/bin/true"};
  test_folder folder;
  char package[1100];
  const testpack_spec spec = {.n_runtimes = 1, .n_bundles = 1, .n_cases = 1};
  make(&folder, &spec, package, sizeof package);
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
    assay_error err = {0};
    assay_view view;
    assay_report_options options = {.gnuplot = programs[i]};
    assert_int_equal(assay_view_open(package, &view, &err), ASSAY_OK);
    assert_int_equal(assay_report_write(&view, &options, NULL, &err), ASSAY_E_MISSING);
    assert_non_null(strstr(err.text, programs[i]));
    assert_false(has_file(package, "report.html"));
    assay_view_close(&view);
  }
  test_folder_close(&folder);
}

/* Where the report may go, seen from the folder that holds the package, and how it links back. */
static void goes_elsewhere_and_leaves_the_package_alone(void **state) {
  (void)state;
  static const struct {
    const char *to, *link; /* link NULL: refused */
  } cases[] = {{"elsewhere", "href=\"../package/runs/"},
               {"elsewhere/", "href=\"../package/runs/"}, /* again, in its place */
               {"deep/er/report", "href=\"../../../package/runs/"},
               {"package/report", NULL},
               {"package", NULL},
               {"package/new/one", NULL},
               {"package/../package/x", NULL},
               {".", NULL}};
  test_folder folder;
  char package[1100], before[65], after[65];
  const testpack_spec spec = {.n_runtimes = 1, .n_bundles = 1, .n_cases = 1};
  make(&folder, &spec, package, sizeof package);
  assay_tree tree = {0};
  assert_int_equal(assay_tree_scan(package, NULL, 0, &tree, NULL), ASSAY_OK);
  assert_int_equal(assay_tree_sha256(&tree, before, NULL), ASSAY_OK);
  assay_tree_reset(&tree);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assay_error err = {0};
    assay_view view;
    char to[1200], page_path[1300];
    assay_buf page = {0};
    (void)snprintf(to, sizeof to, "%s/%s", folder.path, cases[i].to);
    assay_report_options options = {.gnuplot = "", .folder = to};
    assert_int_equal(assay_view_open(package, &view, &err), ASSAY_OK);
    assay_status st = assay_report_write(&view, &options, NULL, &err);
    assay_view_close(&view);
    if ((st == ASSAY_OK) != (cases[i].link != NULL)) fail_msg("%s: %s", cases[i].to, err.text);
    if (st) continue;
    (void)snprintf(page_path, sizeof page_path, "%s/report.html", to);
    assert_int_equal(assay_file_read(page_path, 1 << 24, &page, NULL), ASSAY_OK);
    if (strstr(assay_buf_text(&page), cases[i].link) == NULL) fail_msg("%s", cases[i].to);
    assay_buf_reset(&page);
  }
  assert_int_equal(assay_tree_scan(package, NULL, 0, &tree, NULL), ASSAY_OK);
  assert_int_equal(assay_tree_sha256(&tree, after, NULL), ASSAY_OK);
  assay_tree_reset(&tree);
  assert_string_equal(before, after);
  test_folder_close(&folder);
}

/* Drawings of the hardest packages: gnuplot accepts what we write, and its text stays text. */
static void draws_what_is_hostile_huge_zero_or_not_there(void **state) {
  (void)state;
  static const testpack_spec specs[] = {
      {.n_runtimes = 1, .n_bundles = 1, .n_cases = 2, .zero_error = true, .no_samples = true},
      {.n_runtimes = 1, .n_bundles = 1, .n_cases = 2, .fault = TESTPACK_MISSING, .fault_every = 1},
      {.n_runtimes = 1,
       .n_bundles = 1,
       .n_cases = 1,
       .fault = TESTPACK_PLACEMENT,
       .fault_every = 1,
       .hostile = true,
       .huge_error = true},
  };
  if (access(GNUPLOT, X_OK) != 0) skip();
  for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
    test_folder folder;
    char package[1100], path[1200];
    assay_report_outcome outcome = {0};
    make(&folder, &specs[i], package, sizeof package);
    write_report(package, GNUPLOT, &outcome);
    assert_string_equal(outcome.note, "");
    if (specs[i].fault != TESTPACK_MISSING) assert_true(outcome.n_plots >= 4);
    assay_buf page = {0};
    (void)snprintf(path, sizeof path, "%s/report/report.html", package);
    assert_int_equal(assay_file_read(path, 1 << 26, &page, NULL), ASSAY_OK);
    assert_null(strstr(assay_buf_text(&page), "<script>alert"));
    assert_null(strstr(assay_buf_text(&page), "<image"));
    assert_null(strstr(assay_buf_text(&page), "href='#gp")); /* ids carry the plot's name */
    assay_buf_reset(&page);
    test_folder_close(&folder);
  }
}

static void leaves_the_old_report_when_it_cannot_write(void **state) {
  (void)state;
  test_folder folder;
  char package[1100], before[65], after[65];
  assay_error err = {0};
  assay_view view;
  assay_report_outcome outcome = {0};
  const testpack_spec spec = {.n_runtimes = 1, .n_bundles = 1, .n_cases = 1};
  make(&folder, &spec, package, sizeof package);
  write_report(package, "", &outcome);
  sum_report(package, before);
  assert_int_equal(assay_view_open(package, &view, &err), ASSAY_OK);
  assay_report_options options = {.gnuplot = ""};
  bool failed = false;
  for (int64_t n = 0; n < 4000; n += 13) {
    assay_alloc_fail_after(n);
    assay_status st = assay_report_write(&view, &options, NULL, NULL);
    assay_alloc_fail_after(-1);
    failed = failed || st != ASSAY_OK;
    char new_folder[1200];
    (void)snprintf(new_folder, sizeof new_folder, "%s/.report-new", package);
    assert_int_equal(assay_path_kind_of(new_folder), ASSAY_PATH_NONE);
    sum_report(package, after);
    assert_string_equal(before, after);
    if (st == ASSAY_OK) break;
  }
  assert_true(failed);
  assay_view_close(&view);
  test_folder_close(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_the_same_twice_and_in_the_checksum_tree),
      cmocka_unit_test(is_whole_without_gnuplot_and_says_so),
      cmocka_unit_test(a_gnuplot_that_was_named_must_run),
      cmocka_unit_test(goes_elsewhere_and_leaves_the_package_alone),
      cmocka_unit_test(draws_what_is_hostile_huge_zero_or_not_there),
      cmocka_unit_test(leaves_the_old_report_when_it_cannot_write),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
