/* A campaign from its folder to its sealed package: look, lock, plan, keep what is done, make the
 * rest, seal.
 *
 * Order matters for a kill at any moment: package.json is written, unfinished, before anything
 * else; a run folder appears whole by one rename; what is unfinished lies in .work alone, which the
 * next start removes; the checksum tree comes last. */
#include "campaign/campaign.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "campaign/attempt.h"
#include "campaign/graphs.h"
#include "campaign/machine.h"
#include "campaign/package_lock.h"
#include "campaign/plan.h"
#include "campaign/resume.h"
#include "package/tree.h"

#define WORK_FOLDER   ".work"
#define REPORT_FOLDER "report"

static const char *const not_in_tree[] = {ASSAY_PACKAGE_FILE, ASSAY_PACKAGE_LOCK_FILE, WORK_FOLDER};

typedef struct campaign {
  assay_campaign_spec spec; /* with defaults */
  assay_plan plan;
  assay_package_lock lock;
  assay_package before; /* the index that was there */
  bool has_before;
  bool made_folder;    /* the package's folder was not there */
  assay_package index; /* of now */
  char started_at[32]; /* the first start, kept over every resumption */
  bool *keep;          /* [plan.n_runs] */
  assay_campaign_summary summary;
} campaign;

static bool is_cancelled(const campaign *c) {
  const assay_campaign_progress *progress = &c->spec.progress;
  return progress->cancelled != NULL && progress->cancelled(progress->arg);
}

static void note(const campaign *c, const char *text) {
  if (c->spec.progress.note != NULL) c->spec.progress.note(c->spec.progress.arg, text);
}

/* --- the folder ----------------------------------------------------------------------------------
 */

/* The name of a file that a writer of base/file.c had not finished when it was killed. */
static bool is_unfinished(const char *name) {
  return assay_text_has_prefix(name, ".assay-") && assay_text_has_suffix(name, ".tmp");
}

/* Empty but for what an assay that was killed at its very start leaves. */
static bool holds_only_ours(const assay_names *names) {
  for (size_t i = 0; i < names->n; i++)
    if (strcmp(names->items[i], ASSAY_PACKAGE_LOCK_FILE) != 0 &&
        strcmp(names->items[i], WORK_FOLDER) != 0 && !is_unfinished(names->items[i]))
      return false;
  return true;
}

/* Removes what a killed campaign left in the middle of writing; `below` is a folder of the package,
 * or "". */
static assay_status remove_unfinished(const campaign *c, const char *below, assay_error *err) {
  assay_names names = {0};
  char *folder = below[0] == '\0' ? assay_strdup(c->spec.package_path)
                                  : assay_path_join(c->spec.package_path, below);
  if (folder == NULL) return assay_fail_memory(err, 256);
  assay_status st = ASSAY_OK;
  if (assay_path_kind_of(folder) == ASSAY_PATH_FOLDER) st = assay_folder_list(folder, &names, err);
  for (size_t i = 0; i < names.n && st == ASSAY_OK; i++) {
    if (!is_unfinished(names.items[i])) continue;
    char *path = assay_path_join(folder, names.items[i]);
    st = path != NULL ? assay_folder_remove(path, err) : assay_fail_memory(err, 256);
    assay_free(path);
  }
  assay_names_reset(&names);
  assay_free(folder);
  return st;
}

/* Nothing, a folder with nothing, or a package: everything else belongs to somebody. */
static assay_status check_place(const char *path, assay_error *err) {
  assay_names names = {0};
  switch (assay_path_kind_of(path)) {
  case ASSAY_PATH_NONE:
    return ASSAY_OK;
  case ASSAY_PATH_FOLDER:
    break;
  default:
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "'%s': expected a folder for the package, or nothing there", path);
  }
  char *index = assay_path_join(path, ASSAY_PACKAGE_FILE);
  if (index == NULL) return assay_fail_memory(err, strlen(path) + 16);
  bool is_package = assay_path_kind_of(index) == ASSAY_PATH_FILE;
  assay_free(index);
  if (is_package) return ASSAY_OK;
  ASSAY_TRY(assay_folder_list(path, &names, err));
  bool ours = holds_only_ours(&names);
  assay_names_reset(&names);
  if (ours) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_ARGUMENT,
                    "'%s' is there and is not a package: take another folder with -o", path);
}

static assay_status read_before(campaign *c, assay_error *err) {
  char *path = assay_path_join(c->spec.package_path, ASSAY_PACKAGE_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(c->spec.package_path) + 16);
  c->has_before = assay_path_kind_of(path) == ASSAY_PATH_FILE;
  assay_free(path);
  return c->has_before ? assay_package_read(c->spec.package_path, &c->before, err) : ASSAY_OK;
}

static assay_status open_place(campaign *c, assay_error *err) {
  const char *path = c->spec.package_path;
  ASSAY_TRY(check_place(path, err));
  c->made_folder = assay_path_kind_of(path) == ASSAY_PATH_NONE;
  ASSAY_TRY(assay_folder_create(path, err));
  ASSAY_TRY(assay_package_lock_take(path, &c->lock, err));
  ASSAY_TRY(read_before(c, err));
  if (c->has_before)
    memcpy(c->started_at, c->before.started_at, sizeof c->started_at);
  else
    assay_machine_now(c->started_at);
  ASSAY_TRY(remove_unfinished(c, "", err));
  ASSAY_TRY(remove_unfinished(c, "machines", err));
  ASSAY_TRY(remove_unfinished(c, "graphs", err));
  ASSAY_TRY(assay_folder_remove(c->plan.work_folder, err));
  return assay_folder_create(c->plan.work_folder, err);
}

/* Lets go of the folder; one that was made for nothing is removed again. */
static void leave_place(campaign *c) {
  if (c->lock.path == NULL) return;
  (void)!assay_folder_remove(c->plan.work_folder, NULL);
  assay_package_lock_release(&c->lock);
  if (c->made_folder)
    (void)!rmdir(c->spec.package_path); /* refuses when there is something in it */
}

/* --- the index -----------------------------------------------------------------------------------
 */

static assay_status make_index(campaign *c, assay_error *err) {
  assay_package_reset(&c->index);
  ASSAY_TRY(assay_plan_index(&c->plan, &c->index, err));
  memcpy(c->index.started_at, c->started_at, sizeof c->index.started_at);
  if (c->has_before) {
    if (c->index.machine == NULL && c->before.machine != NULL) {
      c->index.machine = assay_strdup(c->before.machine);
      if (c->index.machine == NULL) return assay_fail_memory(err, 64);
    }
    return assay_resume_same_campaign(&c->before, &c->index, c->spec.package_path, err);
  }
  return ASSAY_OK;
}

static assay_status record_machine(campaign *c, assay_error *err) {
  char *name = NULL;
  char *folder = assay_path_join(c->spec.package_path, "machines");
  if (folder == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_machine_write(folder, &name, err);
  if (st == ASSAY_OK) {
    assay_free(c->plan.machine);
    c->plan.machine = assay_format("machines/%s", name);
    if (c->plan.machine == NULL) st = assay_fail_memory(err, 64);
  }
  assay_free(name);
  assay_free(folder);
  return st;
}

/* --- runs ----------------------------------------------------------------------------------------
 */

static void count(campaign *c, const assay_result *result) {
  if (assay_result_passed(result)) {
    c->summary.n_passed++;
    return;
  }
  c->summary.n_failed++;
  if (result->stage == ASSAY_STAGE_LOAD_LIBRARY || result->stage == ASSAY_STAGE_PROVIDER)
    c->summary.n_lacking++;
}

static bool has_result(const campaign *c, size_t i) {
  char *folder = assay_attempt_folder(&c->plan, i);
  bool there = folder != NULL && assay_path_kind_of(folder) == ASSAY_PATH_FOLDER;
  assay_free(folder);
  return there;
}

static assay_status look_at_done(campaign *c, assay_error *err) {
  c->keep = assay_alloc_array(c->plan.n_runs, sizeof *c->keep);
  if (c->keep == NULL) return assay_fail_memory(err, c->plan.n_runs);
  for (size_t i = 0; i < c->plan.n_runs; i++) {
    assay_result result = {0};
    if (is_cancelled(c)) break;
    ASSAY_TRY(assay_resume_check(&c->plan, c->has_before ? &c->before : NULL, i, &c->keep[i],
                                 &result, err));
    if (c->keep[i]) {
      c->summary.n_reused++;
      c->summary.n_kept_failures += result.status != ASSAY_RESULT_DONE;
      count(c, &result);
    } else if (c->plan.runs[i].selected && has_result(c, i)) {
      c->summary.n_stale++;
    }
    assay_result_reset(&result);
  }
  return ASSAY_OK;
}

static size_t n_to_make(const campaign *c) {
  size_t n = 0;
  for (size_t i = 0; i < c->plan.n_runs; i++) n += !c->keep[i] && c->plan.runs[i].selected;
  return n;
}

static assay_status make_run(campaign *c, size_t i, assay_error *err) {
  const assay_campaign_progress *progress = &c->spec.progress;
  assay_result result = {0};
  bool cancelled = false;
  if (progress->run_begin != NULL) progress->run_begin(progress->arg, i, &c->index.runs[i]);
  ASSAY_TRY(assay_attempt_make(&c->plan, i, &result, &cancelled, err));
  if (cancelled) {
    c->summary.was_cancelled = true;
    return ASSAY_OK;
  }
  c->summary.n_made++;
  count(c, &result);
  if (progress->run_end != NULL) progress->run_end(progress->arg, i, &result);
  assay_result_reset(&result);
  return ASSAY_OK;
}

/* A run that is not kept and not selected is missing: what may be there is of other contents, and
 * goes. */
static assay_status drop_run(campaign *c, size_t i, assay_error *err) {
  char *folder = assay_attempt_folder(&c->plan, i);
  if (folder == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_folder_remove(folder, err);
  assay_free(folder);
  c->summary.n_missing++;
  return st;
}

static assay_status make_runs(campaign *c, assay_error *err) {
  for (size_t i = 0; i < c->plan.n_runs && !c->summary.was_cancelled; i++) {
    if (c->keep[i]) continue;
    if (is_cancelled(c))
      c->summary.was_cancelled = true;
    else if (c->plan.runs[i].selected)
      ASSAY_TRY(make_run(c, i, err));
    else
      ASSAY_TRY(drop_run(c, i, err));
  }
  return ASSAY_OK;
}

/* --- sealing -------------------------------------------------------------------------------------
 */

static void ignore_change(void *arg, assay_tree_change change, const char *file,
                          const char *detail) {
  (void)arg, (void)change, (void)file, (void)detail;
}

/* What the index says of the runtimes is what was found now. */
static bool same_runtimes(const assay_package *before, const assay_package *now) {
  for (size_t i = 0; i < now->n_runtimes; i++) {
    const assay_package_runtime *a = &before->runtimes[i], *b = &now->runtimes[i];
    if (strcmp(a->sha256, b->sha256) != 0 || strcmp(a->library_sha256, b->library_sha256) != 0 ||
        strcmp(a->library_path, b->library_path) != 0 ||
        strcmp(a->library_version, b->library_version) != 0)
      return false;
  }
  return true;
}

/* Nothing was made, and the package is as its index says to the last byte. */
static bool is_sealed(const campaign *c) {
  size_t n_changes = 1;
  if (!c->has_before || c->before.finished_at[0] == '\0' || c->summary.n_made > 0) return false;
  if (!same_runtimes(&c->before, &c->index)) return false;
  return assay_tree_verify(&c->before.files, c->spec.package_path, not_in_tree, N_OF(not_in_tree),
                           ignore_change, NULL, &n_changes, NULL) == ASSAY_OK &&
         n_changes == 0;
}

static void see_report(void *arg, assay_tree_change change, const char *file, const char *detail) {
  (void)change, (void)detail;
  if (assay_text_has_prefix(file, REPORT_FOLDER "/")) *(bool *)arg = true;
}

/* The report is made from the runs: it stays while those it was made from are all there are, and
 * while it is what was sealed. */
static bool report_may_stay(const campaign *c) {
  size_t n_changes = 0;
  bool is_changed = false;
  if (!c->has_before || c->before.finished_at[0] == '\0' || c->summary.n_made > 0) return false;
  return assay_tree_verify(&c->before.files, c->spec.package_path, not_in_tree, N_OF(not_in_tree),
                           see_report, &is_changed, &n_changes, NULL) == ASSAY_OK &&
         !is_changed;
}

/* The tree over everything, then the index with it. */
static assay_status seal(campaign *c, assay_error *err) {
  char *report = assay_path_join(c->spec.package_path, REPORT_FOLDER);
  if (report == NULL) return assay_fail_memory(err, 256);
  assay_status st = report_may_stay(c) ? ASSAY_OK : assay_folder_remove(report, err);
  assay_free(report);
  if (st) return st;
  ASSAY_TRY(assay_folder_remove(c->plan.work_folder, err));
  ASSAY_TRY(make_index(c, err));
  assay_machine_now(c->index.finished_at);
  ASSAY_TRY(
      assay_tree_scan(c->spec.package_path, not_in_tree, N_OF(not_in_tree), &c->index.files, err));
  ASSAY_TRY(assay_tree_sha256(&c->index.files, c->index.tree_sha256, err));
  return assay_package_write(&c->index, c->spec.package_path, err);
}

/* --- the whole -----------------------------------------------------------------------------------
 */

/* Runtimes of the campaign file that are for another machine. */
static void say_what_is_lacking(campaign *c) {
  for (size_t r = 0; r < c->plan.n_runtimes; r++) {
    const assay_plan_runtime *runtime = &c->plan.runtimes[r];
    size_t n = 0;
    char text[512];
    if (runtime->lacking == NULL) continue;
    for (size_t i = 0; i < c->plan.n_runs; i++) n += c->plan.runs[i].runtime == r && !c->keep[i];
    c->summary.n_not_here += n;
    snprintf(text, sizeof text,
             "runtime '%.64s' is not to be had here, so %zu runs are missing: %.300s",
             runtime->spec.name, n, runtime->lacking);
    note(c, text);
  }
}

static void say_what_is_kept(const campaign *c) {
  char text[200];
  size_t n = c->summary.n_kept_failures;
  if (n > 0) {
    snprintf(text, sizeof text,
             "%zu run%s that failed before %s kept; --retry-failed makes %s again", n,
             n == 1 ? "" : "s", n == 1 ? "is" : "are", n == 1 ? "it" : "them");
    note(c, text);
  }
  n = c->summary.n_stale;
  if (n > 0) {
    snprintf(
        text, sizeof text,
        "%zu run%s made again: model, case, runtime, library, options, tool or files are not what "
        "%s made from, or %s to be retried",
        n, n == 1 ? " is" : "s are", n == 1 ? "it was" : "they were",
        n == 1 ? "it is" : "they are");
    note(c, text);
  }
}

/* The package keeps the campaign file that it was made from. */
static assay_status store_file(const campaign *c, assay_error *err) {
  const assay_campaign_file *file = c->spec.file;
  if (file == NULL) return ASSAY_OK;
  char *path = assay_path_join(c->spec.package_path, ASSAY_PACKAGE_CAMPAIGN_FILE);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_buf there = {0};
  bool same = assay_path_kind_of(path) == ASSAY_PATH_FILE &&
              assay_file_read(path, file->text.size_bytes + 1, &there, NULL) == ASSAY_OK &&
              there.size_bytes == file->text.size_bytes &&
              memcmp(there.data, file->text.data, there.size_bytes) == 0;
  assay_status st =
      same ? ASSAY_OK : assay_file_write(path, file->text.data, file->text.size_bytes, err);
  assay_buf_reset(&there);
  assay_free(path);
  return st;
}

/* package.json says "unfinished" as soon as anything is about to change. */
static assay_status prepare(campaign *c, assay_error *err) {
  ASSAY_TRY(make_index(c, err));
  if (!c->has_before) ASSAY_TRY(assay_package_write(&c->index, c->spec.package_path, err));
  ASSAY_TRY(store_file(c, err));
  ASSAY_TRY(assay_plan_store_bundles(&c->plan, err));
  ASSAY_TRY(look_at_done(c, err));
  if (n_to_make(c) == 0) return ASSAY_OK;
  ASSAY_TRY(record_machine(c, err));
  ASSAY_TRY(make_index(c, err));
  return assay_package_write(&c->index, c->spec.package_path, err);
}

static assay_status run_locked(campaign *c, assay_error *err) {
  const assay_campaign_progress *progress = &c->spec.progress;
  ASSAY_TRY(assay_plan_resolve(&c->plan, err));
  c->summary.n_runs = c->plan.n_runs;
  c->summary.was_cancelled = is_cancelled(c); /* a library that had no time to say its version */
  if (c->summary.was_cancelled) return ASSAY_OK;
  ASSAY_TRY(prepare(c, err));
  if (progress->begin != NULL) progress->begin(progress->arg, c->plan.n_runs, c->summary.n_reused);
  say_what_is_kept(c);
  say_what_is_lacking(c);
  ASSAY_TRY(make_runs(c, err));
  if (c->summary.was_cancelled || is_sealed(c)) return ASSAY_OK;
  ASSAY_TRY(assay_resume_prune(&c->plan, err));
  ASSAY_TRY(assay_graphs_store(&c->plan, err));
  return seal(c, err);
}

static void fill_defaults(assay_campaign_spec *spec) {
  if (spec->iterations == 0) spec->iterations = ASSAY_CAMPAIGN_ITERATIONS;
  if (spec->warmup < 0) spec->warmup = ASSAY_CAMPAIGN_WARMUP;
  if (spec->placement_runs == 0) spec->placement_runs = ASSAY_CAMPAIGN_PLACEMENT_RUNS;
  if (spec->processes == 0) spec->processes = 1;
  if (spec->timeout_ns == 0) spec->timeout_ns = ASSAY_CAMPAIGN_TIMEOUT_NS;
}

assay_status assay_campaign_run(const assay_campaign_spec *spec, assay_campaign_summary *out,
                                assay_error *err) {
  campaign c = {.spec = *spec};
  fill_defaults(&c.spec);
  assay_status st = assay_plan_read(&c.spec, &c.plan, err);
  if (st == ASSAY_OK) st = open_place(&c, err);
  if (st == ASSAY_OK) st = run_locked(&c, err);
  leave_place(&c);
  if (st == ASSAY_OK) {
    if (c.summary.was_cancelled)
      c.summary.n_missing = c.summary.n_runs - c.summary.n_passed - c.summary.n_failed;
    *out = c.summary;
  }
  assay_package_reset(&c.before);
  assay_package_reset(&c.index);
  assay_plan_reset(&c.plan);
  assay_free(c.keep);
  return st;
}
