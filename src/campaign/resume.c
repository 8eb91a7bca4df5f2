/* What may be kept of a package that is there already. Nothing is believed for its name: contents
 * decide. */
#include "campaign/resume.h"

#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "campaign/attempt.h"
#include "campaign/graphs.h"
#include "package/tree.h"

#define RESULT_FILE "result.json"

static bool same_keys(const assay_result_keys *a, const assay_result_keys *b) {
  return strcmp(a->model_sha256, b->model_sha256) == 0 &&
         strcmp(a->external_sha256, b->external_sha256) == 0 &&
         strcmp(a->case_sha256, b->case_sha256) == 0 &&
         strcmp(a->runtime_sha256, b->runtime_sha256) == 0 &&
         strcmp(a->library_sha256, b->library_sha256) == 0 &&
         strcmp(a->options_sha256, b->options_sha256) == 0 &&
         strcmp(a->plan_sha256, b->plan_sha256) == 0 && strcmp(a->tool_sha256, b->tool_sha256) == 0;
}

/* The folder holds the listed files, those only, and result.json. */
static bool same_files(const assay_result *result, const assay_tree *there) {
  size_t n_others = 0;
  for (size_t i = 0; i < there->n; i++)
    n_others += strcmp(there->entries[i].file, RESULT_FILE) != 0;
  if (n_others != result->n_files) return false;
  for (size_t i = 0; i < result->n_files; i++) {
    const assay_tree_entry *entry = assay_tree_find(there, result->files[i].file);
    if (entry == NULL || entry->size_bytes != result->files[i].size_bytes ||
        strcmp(entry->sha256, result->files[i].sha256) != 0)
      return false;
  }
  return true;
}

/* The kernel's own KILL for lack of memory is one of them, and is worth another try too. */
bool assay_resume_is_outside_signal(int number) {
  const int signals[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    if (number == signals[i]) return true;
  return false;
}

static bool was_killed(const assay_result *result) {
  return result->status == ASSAY_RESULT_CRASHED &&
         assay_resume_is_outside_signal(result->process.signal);
}

static bool status_may_stay(const assay_plan *plan, size_t i, const assay_result *result) {
  const assay_campaign_spec *spec = plan->spec;
  if (!plan->runs[i].selected) return result->status != ASSAY_RESULT_MISSING;
  switch (result->status) {
  case ASSAY_RESULT_DONE:
    return true;
  case ASSAY_RESULT_MISSING:
    return false;
  case ASSAY_RESULT_FAILED:
    return !spec->retry_failed;
  case ASSAY_RESULT_CRASHED:
    return !spec->retry_failed && !was_killed(result);
  case ASSAY_RESULT_TIMED_OUT:
    return !spec->retry_failed && result->process.elapsed_ns >= spec->timeout_ns;
  }
  return false;
}

static bool is_of_run(const assay_plan *plan, size_t i, const assay_result *result) {
  const assay_plan_run *run = &plan->runs[i];
  const assay_plan_bundle *bundle = &plan->bundles[run->bundle];
  return result->mode == run->mode &&
         strcmp(result->runtime, plan->runtimes[run->runtime].spec.name) == 0 &&
         strcmp(result->bundle, bundle->name) == 0 &&
         strcmp(result->case_name, bundle->manifest.cases[run->case_index].name) == 0;
}

/* A finished index has the digest of result.json too. */
static bool index_agrees(const assay_package *before, const char *folder_in_package,
                         const assay_tree *there) {
  if (before == NULL || before->finished_at[0] == '\0') return true;
  const assay_tree_entry *now = assay_tree_find(there, RESULT_FILE);
  char *name = assay_path_join(folder_in_package, RESULT_FILE);
  const assay_tree_entry *then = name != NULL ? assay_tree_find(&before->files, name) : NULL;
  assay_free(name);
  return now != NULL && then != NULL && strcmp(now->sha256, then->sha256) == 0;
}

/* What was made of the model for the run lies beside the runs. */
static bool graph_is_there(const assay_plan *plan, const assay_result *result) {
  if (!result->graph.kept) return true;
  char *path = assay_graphs_path(plan->spec->package_path, result->graph.sha256);
  bool there = path != NULL && assay_graphs_holds(path, result->graph.sha256);
  assay_free(path);
  return there;
}

static assay_status check_folder(const assay_plan *plan, const assay_package *before, size_t i,
                                 const char *folder, const assay_result *result, bool *out_keep,
                                 assay_error *err) {
  assay_result_keys keys = {0};
  assay_tree there = {0};
  ASSAY_TRY(assay_attempt_keys(plan, i, &keys, err));
  if (!is_of_run(plan, i, result) || !same_keys(&keys, &result->keys) ||
      !status_may_stay(plan, i, result))
    return ASSAY_OK;
  assay_error reading = {0};
  assay_status st = assay_tree_scan(folder, /*skip=*/NULL, /*n_skip=*/0, &there, &reading);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", reading.text);
  if (st) return ASSAY_OK; /* what cannot be read is made again */
  const char *relative = folder + strlen(plan->spec->package_path);
  while (relative[0] == '/') relative++;
  *out_keep = same_files(result, &there) && index_agrees(before, relative, &there) &&
              graph_is_there(plan, result);
  assay_tree_reset(&there);
  return ASSAY_OK;
}

assay_status assay_resume_check(const assay_plan *plan, const assay_package *before, size_t i,
                                bool *out_keep, assay_result *out, assay_error *err) {
  assay_result result = {0};
  assay_error reading = {0};
  char *folder = assay_attempt_folder(plan, i);
  char *path = folder != NULL ? assay_path_join(folder, RESULT_FILE) : NULL;
  assay_status st = path != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  *out_keep = false;
  if (st == ASSAY_OK && assay_path_kind_of(path) == ASSAY_PATH_FILE) {
    assay_status unread = assay_result_read(path, &result, &reading);
    if (unread == ASSAY_E_MEMORY) st = assay_fail(err, unread, "%s", reading.text);
    if (unread == ASSAY_OK) st = check_folder(plan, before, i, folder, &result, out_keep, err);
  }
  if (st == ASSAY_OK && *out_keep && out != NULL) {
    *out = result;
    result = (assay_result){0};
  }
  assay_result_reset(&result);
  assay_free(path);
  assay_free(folder);
  return st;
}

/* --- pruning -------------------------------------------------------------------------------------
 */

/* One planned folder is `relative` or lies below it. */
static bool is_planned(const assay_plan *plan, const char *relative) {
  size_t n = strlen(relative);
  for (size_t i = 0; i < plan->n_runs; i++) {
    const assay_plan_run *run = &plan->runs[i];
    const assay_plan_bundle *bundle = &plan->bundles[run->bundle];
    char *folder = assay_result_folder(plan->runtimes[run->runtime].spec.name, bundle->name,
                                       bundle->manifest.cases[run->case_index].name, run->mode);
    bool found = folder == NULL ||
                 (strncmp(folder, relative, n) == 0 && (folder[n] == '\0' || folder[n] == '/'));
    assay_free(folder);
    if (found) return true;
  }
  return false;
}

static assay_status prune_below(const assay_plan *plan, const char *relative, int depth,
                                assay_error *err);

static assay_status prune_one(const assay_plan *plan, const char *relative, int depth,
                              assay_error *err) {
  if (is_planned(plan, relative))
    return depth < 4 ? prune_below(plan, relative, depth, err) : ASSAY_OK;
  char *path = assay_path_join(plan->spec->package_path, relative);
  if (path == NULL) return assay_fail_memory(err, strlen(relative) + 1);
  assay_status st = assay_folder_remove(path, err);
  assay_free(path);
  return st;
}

/* relative is "runs" at depth 0, "runs/<runtime>" at depth 1, … down to the mode at depth 4. */
static assay_status prune_below(const assay_plan *plan, const char *relative, int depth,
                                assay_error *err) {
  assay_names names = {0};
  char *path = assay_path_join(plan->spec->package_path, relative);
  if (path == NULL) return assay_fail_memory(err, strlen(relative) + 1);
  assay_status st = ASSAY_OK;
  if (assay_path_kind_of(path) == ASSAY_PATH_FOLDER) st = assay_folder_list(path, &names, err);
  for (size_t i = 0; i < names.n && st == ASSAY_OK; i++) {
    char *below = assay_path_join(relative, names.items[i]);
    st = below != NULL ? prune_one(plan, below, depth + 1, err)
                       : assay_fail_memory(err, strlen(relative) + 1);
    assay_free(below);
  }
  assay_names_reset(&names);
  assay_free(path);
  return st;
}

assay_status assay_resume_prune(const assay_plan *plan, assay_error *err) {
  return prune_below(plan, "runs", /*depth=*/0, err);
}

/* --- one campaign or another ---------------------------------------------------------------------
 */

static assay_status differ(const char *package_path, const char *what, const char *then,
                           const char *now, assay_error *err) {
  return assay_fail(
      err, ASSAY_E_ARGUMENT,
      "'%s' holds another campaign: %s there, %s %s now; take another folder with -o, or the "
      "line that began it",
      package_path, then, what, now);
}

static assay_status same_number(const char *package_path, const char *what, int64_t then,
                                int64_t now, assay_error *err) {
  if (then == now) return ASSAY_OK;
  return assay_fail(
      err, ASSAY_E_ARGUMENT,
      "'%s' holds another campaign: %s %lld there, %lld now; take another folder with -o, or "
      "the line that began it",
      package_path, what, (long long)then, (long long)now);
}

static bool same_tolerance(const assay_package_tolerance *a, const assay_package_tolerance *b) {
  if ((a->head == NULL) != (b->head == NULL)) return false;
  if (a->head != NULL && strcmp(a->head, b->head) != 0) return false;
  return a->has_atol == b->has_atol && a->has_rtol == b->has_rtol &&
         !(a->has_atol && a->atol != b->atol) && !(a->has_rtol && a->rtol != b->rtol);
}

assay_status assay_resume_same_settings(const assay_package *before, const assay_package *now,
                                        const char *path, assay_error *err) {
  ASSAY_TRY(same_number(path, "iterations", before->iterations, now->iterations, err));
  ASSAY_TRY(same_number(path, "warm-ups", before->warmup, now->warmup, err));
  ASSAY_TRY(same_number(path, "threads", before->threads, now->threads, err));
  ASSAY_TRY(same_number(path, "processes of a timing", before->processes, now->processes, err));
  ASSAY_TRY(same_number(path, "profiled runs", before->placement_runs, now->placement_runs, err));
  ASSAY_TRY(same_number(path, "tolerances", (int64_t)before->n_tolerances,
                        (int64_t)now->n_tolerances, err));
  for (size_t i = 0; i < now->n_tolerances; i++)
    if (!same_tolerance(&before->tolerances[i], &now->tolerances[i]))
      return differ(path, "others", "some tolerances", "", err);
  return ASSAY_OK;
}

assay_status assay_resume_same_campaign(const assay_package *before, const assay_package *now,
                                        const char *package_path, assay_error *err) {
  ASSAY_TRY(assay_resume_same_settings(before, now, package_path, err));
  ASSAY_TRY(same_number(package_path, "runtimes", (int64_t)before->n_runtimes,
                        (int64_t)now->n_runtimes, err));
  for (size_t i = 0; i < now->n_runtimes; i++)
    if (strcmp(before->runtimes[i].name, now->runtimes[i].name) != 0)
      return differ(package_path, "runtime", before->runtimes[i].name, now->runtimes[i].name, err);
  ASSAY_TRY(same_number(package_path, "bundles", (int64_t)before->n_bundles,
                        (int64_t)now->n_bundles, err));
  for (size_t i = 0; i < now->n_bundles; i++)
    if (strcmp(before->bundles[i].name, now->bundles[i].name) != 0)
      return differ(package_path, "bundle", before->bundles[i].name, now->bundles[i].name, err);
  ASSAY_TRY(same_number(package_path, "pairs of runtime and bundle", (int64_t)before->n_cells,
                        (int64_t)now->n_cells, err));
  for (size_t i = 0; i < now->n_cells; i++)
    if (!assay_package_is_planned(before, now->cells[i].runtime, now->cells[i].bundle))
      return differ(package_path, "others", "a pair of runtime and bundle", "", err);
  ASSAY_TRY(
      same_number(package_path, "packages merged into it", (int64_t)before->n_sources, 0, err));
  return ASSAY_OK;
}
