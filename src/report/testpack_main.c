/* For tests of commands, and by hand: writes a synthetic package; with `report` its report, too.
 * Usage: testpack FOLDER                 reports on the package that is there
 *        testpack FOLDER RUNTIMES BUNDLES CASES FAULT FAULT_EVERY
 * [zero|huge|hostile|brought|unfinished|half|events|loose|no-memory|no-samples|device|repeated|
 *  report]... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/testpack.h"

int main(int argc, char **argv) {
  assay_error err = {0};
  assay_view view = {0};
  if (argc != 2 && argc < 7) return 2;
  testpack_spec spec = {0};
  if (argc > 2)
    spec = (testpack_spec){.n_runtimes = (size_t)atoi(argv[2]),
                           .n_bundles = (size_t)atoi(argv[3]),
                           .n_cases = (size_t)atoi(argv[4]),
                           .fault = (testpack_fault)atoi(argv[5]),
                           .fault_every = (size_t)atoi(argv[6])};
  bool reports = argc == 2;
  for (int i = 7; i < argc; i++) {
    if (strcmp(argv[i], "zero") == 0) spec.zero_error = true;
    if (strcmp(argv[i], "huge") == 0) spec.huge_error = true;
    if (strcmp(argv[i], "hostile") == 0) spec.hostile = true;
    if (strcmp(argv[i], "brought") == 0) spec.brought = true;
    if (strcmp(argv[i], "unfinished") == 0) spec.unfinished = true;
    if (strcmp(argv[i], "report") == 0) reports = true;
    if (strcmp(argv[i], "half") == 0) spec.half = true;
    if (strcmp(argv[i], "events") == 0) spec.events = true;
    if (strcmp(argv[i], "loose") == 0) spec.loose = true;
    if (strcmp(argv[i], "no-memory") == 0) spec.no_memory = true;
    if (strcmp(argv[i], "no-samples") == 0) spec.no_samples = true;
    if (strcmp(argv[i], "device") == 0) spec.device = true;
    if (strcmp(argv[i], "repeated") == 0) spec.repeated = true;
  }
  assay_status st = argc > 2 ? testpack_write(&spec, argv[1], &err) : ASSAY_OK;
  if (st == ASSAY_OK && reports) st = assay_view_open(argv[1], &view, &err);
  if (st == ASSAY_OK && reports) st = assay_report_write(&view, NULL, NULL, &err);
  assay_view_close(&view);
  if (st) fprintf(stderr, "%s\n", err.text);
  return st ? 1 : 0;
}
