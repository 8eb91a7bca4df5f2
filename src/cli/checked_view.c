/* The gate over a package is the report's, over evidence that verify/ has derived again. */
#include "cli/checked_view.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "package/tree.h"
#include "report/gate.h"
#include "verify/verify.h"

/* What the view does not know by itself. Planned runs that are missing and campaigns that were not
 * finished are reasons of its own; an unfinished package has no checksum tree yet. */
static bool is_news(const assay_view *view, const assay_verify_problem *problem) {
  const bool unfinished = view->package.finished_at[0] == 0;
  if (assay_text_has_prefix(problem->file, "report/")) return false;
  switch (problem->kind) {
  case ASSAY_VERIFY_UNFINISHED:
    return false;
  case ASSAY_VERIFY_MISSING:
    return assay_tree_find(&view->package.files, problem->file) != NULL;
  case ASSAY_VERIFY_EXTRA:
    return !unfinished;
  default:
    return true;
  }
}

static char *text_of(const assay_verify_problem *problem) {
  return assay_format("%s: '%s'%s%s: expected %s, found %s", assay_verify_kind_word(problem->kind),
                      problem->file, problem->what[0] ? ", " : "", problem->what, problem->expected,
                      problem->found);
}

static assay_status add_findings(assay_view *view, const assay_verify_report *found,
                                 assay_error *err) {
  char **texts = assay_alloc_array(found->n_problems, sizeof *texts);
  size_t n = 0;
  assay_status st = texts ? ASSAY_OK : assay_fail_memory(err, found->n_problems * sizeof *texts);
  for (size_t i = 0; st == ASSAY_OK && i < found->n_problems; i++) {
    if (!is_news(view, &found->problems[i])) continue;
    texts[n] = text_of(&found->problems[i]);
    if (texts[n] == NULL) st = assay_fail_memory(err, 256);
    n += texts[n] != NULL;
  }
  if (st == ASSAY_OK) st = assay_gate_add_evidence(view, texts, n, err);
  for (size_t i = 0; i < n; i++) assay_free(texts[i]);
  assay_free(texts);
  return st;
}

assay_status assay_checked_view_open(const char *package_path, assay_view *out, assay_error *err) {
  assay_verify_report found = {0};
  assay_view view = {0};
  ASSAY_TRY(assay_view_open(package_path, &view, err));
  assay_status st = assay_verify_package(package_path, /*n_jobs=*/0, &found, err);
  if (st == ASSAY_OK) st = add_findings(&view, &found, err);
  assay_verify_report_reset(&found);
  if (st) {
    assay_view_close(&view);
    return st;
  }
  *out = view;
  return ASSAY_OK;
}
