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

static assay_status add_finding(assay_view *view, const assay_verify_problem *problem,
                                assay_error *err) {
  char *text = assay_format(
      "%s: '%s'%s%s: expected %s, found %s", assay_verify_kind_word(problem->kind), problem->file,
      problem->what[0] ? ", " : "", problem->what, problem->expected, problem->found);
  if (text == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_gate_add_evidence(view, text, err);
  assay_free(text);
  return st;
}

assay_status assay_checked_view_open(const char *package_path, assay_view *out, assay_error *err) {
  assay_verify_report found = {0};
  assay_view view = {0};
  ASSAY_TRY(assay_view_open(package_path, &view, err));
  assay_status st = assay_verify_package(package_path, /*n_jobs=*/0, &found, err);
  for (size_t i = 0; st == ASSAY_OK && i < found.n_problems; i++)
    if (is_news(&view, &found.problems[i])) st = add_finding(&view, &found.problems[i], err);
  assay_verify_report_reset(&found);
  if (st) {
    assay_view_close(&view);
    return st;
  }
  *out = view;
  return ASSAY_OK;
}
