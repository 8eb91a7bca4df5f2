/* From what users type to a list of runs. */
#include "campaign/plan.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "campaign/bundle_check.h"
#include "campaign/environment_rules.h"
#include "campaign/judge.h"
#include "campaign/resume.h"
#include "campaign/session_plan.h"
#include "campaign/worker.h"
#include "package/fields.h"
#include "runtime/find_library.h"

#define PROBE_TIMEOUT_NS INT64_C(120000000000) /* loading a library takes seconds at worst */
#define PROBE_TRIES      4

extern char **environ;

/* --- reading -------------------------------------------------------------------------------------
 */

static assay_status add_options(const assay_campaign_spec *spec, assay_runtime_spec *runtime,
                                assay_error *err) {
  for (size_t i = 0; i < spec->n_provider_options; i++)
    ASSAY_TRY(assay_settings_set_pair(&runtime->options, spec->provider_options[i], err));
  return ASSAY_OK;
}

static assay_status read_runtimes(assay_plan *plan, assay_error *err) {
  static const char *const usual[] = {"cpu"};
  const assay_campaign_spec *spec = plan->spec;
  const char *const *texts = spec->n_runtimes > 0 ? spec->runtimes : usual;
  size_t n = spec->n_runtimes > 0 ? spec->n_runtimes : 1;
  plan->runtimes = assay_alloc_array(n, sizeof *plan->runtimes);
  if (plan->runtimes == NULL) return assay_fail_memory(err, n * sizeof *plan->runtimes);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < i && spec->adjust == NULL; j++)
      if (strcmp(texts[i], texts[j]) == 0)
        return assay_fail(err, ASSAY_E_ARGUMENT, "runtime '%s' is asked for twice", texts[i]);
    assay_runtime_spec *runtime = &plan->runtimes[i].spec;
    ASSAY_TRY(assay_runtime_spec_parse(texts[i], runtime, err));
    plan->n_runtimes++;
    ASSAY_TRY(add_options(spec, runtime, err));
    if (spec->threads > 0) runtime->intra_threads = (int)spec->threads;
    if (spec->adjust != NULL) ASSAY_TRY(spec->adjust(spec->adjust_arg, i, runtime, err));
    assay_status st = assay_runtime_spec_check(runtime, err);
    if (st == ASSAY_OK) st = assay_environment_check(runtime, environ, err);
    if (st) {
      assay_error_in(err, "runtime '%s'", texts[i]);
      return st;
    }
  }
  return ASSAY_OK;
}

static bool name_is_taken(const assay_plan *plan, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(plan->bundles[i].name, name) == 0) return true;
  return false;
}

/* The manifest's name; taken already: that of the folder; then with a number. */
static assay_status name_bundle(assay_plan *plan, size_t i, assay_error *err) {
  assay_plan_bundle *bundle = &plan->bundles[i];
  ASSAY_TRY(assay_text_set(&bundle->name, bundle->manifest.name, err));
  if (!name_is_taken(plan, i, bundle->name)) return ASSAY_OK;
  const char *folder = assay_path_name(bundle->source);
  if (assay_fields_is_name(folder)) ASSAY_TRY(assay_text_set(&bundle->name, folder, err));
  for (int k = 2; name_is_taken(plan, i, bundle->name); k++) {
    assay_free(bundle->name);
    bundle->name = assay_format("%s-%d", bundle->manifest.name, k);
    if (bundle->name == NULL) return assay_fail_memory(err, 256);
  }
  return ASSAY_OK;
}

static assay_status hash_external(assay_plan_bundle *bundle, assay_error *err) {
  assay_buf lines = {0};
  const assay_manifest *manifest = &bundle->manifest;
  if (manifest->n_external == 0) return ASSAY_OK;
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < manifest->n_external && st == ASSAY_OK; i++)
    st = assay_buf_appendf(&lines, err, "%s  %s\n", manifest->external[i].sha256,
                           manifest->external[i].file);
  if (st == ASSAY_OK)
    st = assay_sha256_bytes(lines.data, lines.size_bytes, bundle->external_sha256, err);
  assay_buf_reset(&lines);
  return st;
}

/* "a/b/" as "a/b". */
static char *without_slash(const char *path) {
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  return assay_strndup(path, n);
}

typedef assay_status (*file_visit)(const assay_plan_bundle *bundle, const assay_manifest_file *file,
                                   const char *folder, assay_error *err);

static bool is_same_file(const assay_manifest_file *a, const assay_manifest_file *b) {
  return a->file != NULL && b->file != NULL && strcmp(a->file, b->file) == 0 &&
         strcmp(a->sha256, b->sha256) == 0;
}

/* Graphs of static shapes serve several cases. */
static bool is_listed_before(const assay_manifest *manifest, size_t i) {
  const assay_manifest_file *model = &manifest->cases[i].model;
  bool listed = is_same_file(model, &manifest->model);
  for (size_t k = 0; k < i && !listed; k++) listed = is_same_file(model, &manifest->cases[k].model);
  return listed;
}

/* Each file that the manifest lists, once. */
static assay_status visit_files(const assay_plan_bundle *bundle, file_visit visit,
                                const char *folder, assay_error *err) {
  const assay_manifest *manifest = &bundle->manifest;
  ASSAY_TRY(visit(bundle, &manifest->model, folder, err));
  for (size_t i = 0; i < manifest->n_external; i++)
    ASSAY_TRY(visit(bundle, &manifest->external[i], folder, err));
  for (size_t i = 0; i < manifest->n_cases; i++) {
    ASSAY_TRY(visit(bundle, &manifest->cases[i].file, folder, err));
    if (manifest->cases[i].model.file != NULL && !is_listed_before(manifest, i))
      ASSAY_TRY(visit(bundle, &manifest->cases[i].model, folder, err));
  }
  return ASSAY_OK;
}

static assay_status check_file(const assay_plan_bundle *bundle, const assay_manifest_file *file,
                               const char *folder, assay_error *err) {
  (void)bundle;
  return assay_manifest_file_check(folder, file, err);
}

static assay_status read_bundle(assay_plan *plan, size_t i, assay_error *err) {
  assay_plan_bundle *bundle = &plan->bundles[i];
  bundle->source = without_slash(plan->spec->bundles[i]);
  if (bundle->source == NULL) return assay_fail_memory(err, strlen(plan->spec->bundles[i]) + 1);
  ASSAY_TRY(assay_manifest_read(bundle->source, &bundle->manifest, err));
  if (bundle->manifest.n_cases == 0)
    return assay_fail(err, ASSAY_E_ARGUMENT, "it holds no cases, so there is nothing to run");
  /* by their digests, before anything is said of what is in them */
  ASSAY_TRY(visit_files(bundle, check_file, bundle->source, err));
  ASSAY_TRY(assay_bundle_check(bundle->source, &bundle->manifest, err));
  ASSAY_TRY(name_bundle(plan, i, err));
  bundle->folder = assay_format("%s/bundles/%s", plan->spec->package_path, bundle->name);
  if (bundle->folder == NULL) return assay_fail_memory(err, 256);
  char *path = assay_path_join(bundle->source, "manifest.json");
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_sha256_file(path, bundle->manifest_sha256, NULL, err);
  assay_free(path);
  return st == ASSAY_OK ? hash_external(bundle, err) : st;
}

/* Not the folder of an earlier bundle, under whatever name. */
static assay_status check_not_again(const char *const *paths, size_t i, assay_error *err) {
  struct stat one, other;
  for (size_t j = 0; j < i; j++) {
    if (strcmp(paths[i], paths[j]) == 0)
      return assay_fail(err, ASSAY_E_ARGUMENT, "bundle '%s' is given twice", paths[i]);
    if (stat(paths[i], &one) == 0 && stat(paths[j], &other) == 0 && one.st_dev == other.st_dev &&
        one.st_ino == other.st_ino)
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "bundle '%s' is given twice: '%s' is the same folder", paths[i], paths[j]);
  }
  return ASSAY_OK;
}

static assay_status read_bundles(assay_plan *plan, assay_error *err) {
  size_t n = plan->spec->n_bundles;
  if (n == 0)
    return assay_fail(err, ASSAY_E_ARGUMENT, "no bundle is given: name one with --bundle");
  plan->bundles = assay_alloc_array(n, sizeof *plan->bundles);
  if (plan->bundles == NULL) return assay_fail_memory(err, n * sizeof *plan->bundles);
  plan->n_bundles = n;
  for (size_t i = 0; i < n; i++) {
    ASSAY_TRY(check_not_again(plan->spec->bundles, i, err));
    assay_status st = read_bundle(plan, i, err);
    if (st) {
      assay_error_in(err, "bundle '%s'", plan->spec->bundles[i]);
      return st;
    }
  }
  return ASSAY_OK;
}

/* A tolerance for a head that no bundle has would have no effect. */
static assay_status check_tolerances(const assay_plan *plan, assay_error *err) {
  for (size_t i = 0; i < plan->spec->n_tolerances; i++) {
    const char *head = plan->spec->tolerances[i].head;
    bool found = head == NULL;
    for (size_t j = 0; j < plan->n_bundles && !found; j++)
      found = assay_manifest_head(&plan->bundles[j].manifest, head) != NULL;
    if (!found)
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "a tolerance is given for head '%s', which no bundle has", head);
  }
  return ASSAY_OK;
}

assay_status assay_plan_read(const assay_campaign_spec *spec, assay_plan *out, assay_error *err) {
  assay_plan plan = {.spec = spec};
  assay_status st = ASSAY_OK;
  char *self = NULL;
  plan.work_folder = assay_path_join(spec->package_path, ".work");
  plan.digests_path = assay_format("%s/.work/digests.json", spec->package_path);
  if (plan.work_folder == NULL || plan.digests_path == NULL)
    st = assay_fail_memory(err, strlen(spec->package_path) + 32);
  if (st == ASSAY_OK) st = assay_child_self_path(&self, err);
  if (st == ASSAY_OK) st = assay_sha256_file(self, plan.tool_sha256, NULL, err);
  if (st == ASSAY_OK)
    st = assay_text_set(&plan.worker_path, spec->worker_path != NULL ? spec->worker_path : self,
                        err);
  if (st == ASSAY_OK) st = read_bundles(&plan, err);
  if (st == ASSAY_OK) st = read_runtimes(&plan, err);
  if (st == ASSAY_OK) st = check_tolerances(&plan, err);
  assay_free(self);
  if (st) {
    assay_plan_reset(&plan);
    return st;
  }
  *out = plan;
  return ASSAY_OK;
}

/* --- resolving -----------------------------------------------------------------------------------
 */

/* A campaign file names the runtimes of several machines: one that is not here is no error. */
static assay_status lack(assay_plan_runtime *runtime, char *why, assay_error *err) {
  if (why == NULL) return assay_fail_memory(err, 256);
  runtime->lacking = assay_fields_printable(why);
  assay_free(why);
  return runtime->lacking != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
}

static assay_status find_library(const assay_plan *plan, assay_plan_runtime *runtime,
                                 assay_error *err) {
  char *found = NULL;
  assay_error why = {0};
  assay_status st = assay_find_library(runtime->spec.library, &found, &why);
  if (st && st != ASSAY_E_MEMORY && plan->spec->file != NULL) {
    if (runtime->spec.library == NULL) ASSAY_TRY(assay_text_set(&runtime->spec.library, "", err));
    return lack(runtime, assay_strdup(why.text), err);
  }
  if (st) return assay_fail(err, st, "%s", why.text);
  char *real = realpath(found, NULL); /* by malloc, not by our door */
  st = assay_text_set(&runtime->spec.library, real != NULL ? real : found, err);
  free(real);
  assay_free(found);
  if (st == ASSAY_OK && assay_path_kind_of(runtime->spec.library) == ASSAY_PATH_FILE)
    st = assay_sha256_file(runtime->spec.library, runtime->library_sha256, NULL, err);
  return st;
}

/* *out_killed: somebody ended it, so that its silence says nothing about the library. */
static assay_status run_probe(const assay_plan *plan, const assay_plan_runtime *runtime,
                              const char *folder, bool *out_killed, assay_error *err) {
  assay_worker_task task = {.mode = ASSAY_WORKER_PROBE, .runtime = runtime->spec}; /* borrows */
  assay_child_result ended = {0};
  char **env = NULL;
  char *path = assay_path_join(folder, "task.json");
  if (path == NULL) return assay_fail_memory(err, strlen(folder) + 16);
  assay_status st = assay_settings_make_env(&runtime->spec.env, &env, err);
  char parent[32];
  snprintf(parent, sizeof parent, "%lld", (long long)getpid());
  const char *argv[] = {plan->worker_path, "worker", "--spec", path, "--out", folder,
                        "--parent",        parent,   NULL};
  assay_child_spec child = {.argv = argv,
                            .env = (const char *const *)env,
                            .timeout_ns = PROBE_TIMEOUT_NS,
                            .cancelled = plan->spec->progress.cancelled,
                            .arg = plan->spec->progress.arg};
  if (st == ASSAY_OK) st = assay_worker_task_write(&task, path, err);
  if (st == ASSAY_OK) st = assay_child_run(&child, &ended, err);
  *out_killed =
      assay_resume_is_outside_signal(ended.signal) && !ended.timed_out && !ended.was_cancelled;
  assay_settings_free_env(env);
  assay_free(path);
  return st;
}

static assay_status try_probe(const assay_plan *plan, const assay_plan_runtime *runtime,
                              const char *folder, assay_error *err) {
  bool killed = true;
  for (int i = 0; i < PROBE_TRIES && killed; i++) {
    ASSAY_TRY(assay_folder_remove(folder, err));
    ASSAY_TRY(assay_folder_create(folder, err));
    ASSAY_TRY(run_probe(plan, runtime, folder, &killed, err));
  }
  return ASSAY_OK;
}

static bool has_provider(const assay_worker_facts *facts, const char *provider) {
  for (size_t i = 0; i < facts->n_providers; i++)
    if (strcmp(facts->providers[i], provider) == 0) return true;
  return false;
}

/* Asks the library for its version, in a process of its own. One that will not say is no error
 * here: its runs will fail, each with the reason. */
static assay_status probe(assay_plan *plan, assay_plan_runtime *runtime, assay_error *err) {
  assay_worker_facts facts = {0};
  char *folder = assay_path_join(plan->work_folder, "probe");
  char *path = folder != NULL ? assay_path_join(folder, ASSAY_WORKER_FACTS_FILE) : NULL;
  assay_status st = path != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  if (st == ASSAY_OK) st = try_probe(plan, runtime, folder, err);
  if (st == ASSAY_OK) {
    bool known = assay_worker_facts_read(path, &facts, NULL) == ASSAY_OK && facts.finished;
    st = assay_text_set(&runtime->library_version, known ? facts.library_version : "", err);
    if (st == ASSAY_OK && known && plan->spec->file != NULL && runtime->spec.plugin == NULL &&
        !has_provider(&facts, runtime->spec.provider))
      st = lack(runtime,
                assay_format("%s is not in the library '%s'", runtime->spec.provider,
                             runtime->spec.library),
                err);
    assay_worker_facts_reset(&facts);
  }
  if (st == ASSAY_OK) st = assay_folder_remove(folder, err);
  assay_free(folder);
  assay_free(path);
  return st;
}

static bool runtime_name_is_taken(const assay_plan *plan, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(plan->runtimes[i].spec.name, name) == 0) return true;
  return false;
}

/* "cpu@/path/to/lib.so" becomes "cpu@1.27.0"; without a version "cpu@lib.so"; then with a number.
 */
static assay_status name_runtime(assay_plan *plan, size_t i, assay_error *err) {
  assay_plan_runtime *runtime = &plan->runtimes[i];
  const char *file = assay_path_name(runtime->spec.library);
  const char *tag = runtime->library_version[0] != '\0' ? runtime->library_version : file;
  char *name = strchr(runtime->spec.label, '@') != NULL && assay_fields_is_name(tag)
                   ? assay_format("%s@%s", runtime->spec.name, tag)
                   : assay_strdup(runtime->spec.name);
  char *base = name != NULL ? assay_strdup(name) : NULL;
  for (int k = 2; base != NULL && name != NULL && runtime_name_is_taken(plan, i, name); k++) {
    assay_free(name);
    name = assay_format("%s-%d", base, k);
  }
  assay_free(base);
  if (name == NULL) return assay_fail_memory(err, 256);
  assay_free(runtime->spec.name);
  runtime->spec.name = name;
  return ASSAY_OK;
}

static assay_status resolve_runtime(assay_plan *plan, size_t i, assay_error *err) {
  assay_plan_runtime *runtime = &plan->runtimes[i];
  assay_session_plan session = {0};
  ASSAY_TRY(find_library(plan, runtime, err));
  if (runtime->lacking == NULL)
    ASSAY_TRY(probe(plan, runtime, err));
  else
    ASSAY_TRY(assay_text_set(&runtime->library_version, "", err));
  ASSAY_TRY(name_runtime(plan, i, err));
  ASSAY_TRY(assay_runtime_spec_sha256(&runtime->spec, runtime->sha256, &runtime->json, err));
  for (size_t j = 0; j < i && runtime->lacking == NULL; j++)
    if (plan->runtimes[j].lacking == NULL &&
        strcmp(plan->runtimes[j].spec.library, runtime->spec.library) == 0 &&
        strcmp(plan->runtimes[j].sha256, runtime->sha256) == 0)
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "it is the same as runtime '%s': one library, provider and settings",
                        plan->runtimes[j].spec.label);
  ASSAY_TRY(assay_session_plan_init(&runtime->spec, &session, err));
  assay_status st =
      assay_session_plan_options(&session, runtime->options_sha256, &runtime->options, err);
  assay_session_plan_reset(&session);
  return st;
}

/* A glob with a slash is for the whole "<runtime>/<bundle>/<case>/<mode>", one without for any of
 * the four. */
static bool glob_matches(const char *glob, const char *const names[4]) {
  if (strchr(glob, '/') != NULL) {
    char *whole = assay_format("%s/%s/%s/%s", names[0], names[1], names[2], names[3]);
    bool matches = whole != NULL && fnmatch(glob, whole, 0) == 0;
    assay_free(whole);
    return matches;
  }
  for (size_t i = 0; i < 4; i++)
    if (fnmatch(glob, names[i], 0) == 0) return true;
  return false;
}

static void run_names(const assay_plan *plan, const assay_plan_run *run, const char *out[4]) {
  const assay_plan_bundle *bundle = &plan->bundles[run->bundle];
  out[0] = plan->runtimes[run->runtime].spec.name;
  out[1] = bundle->name;
  out[2] = bundle->manifest.cases[run->case_index].name;
  out[3] = assay_result_mode_name(run->mode);
}

static size_t count_matches(const assay_plan *plan, const char *glob) {
  size_t n = 0;
  for (size_t i = 0; i < plan->n_runs; i++) {
    const char *names[4];
    run_names(plan, &plan->runs[i], names);
    n += glob_matches(glob, names);
  }
  return n;
}

static assay_status check_globs(const assay_plan *plan, const char *option,
                                const char *const *globs, size_t n, assay_error *err) {
  const char *first[4] = {"", "", "", ""};
  if (plan->n_runs > 0) run_names(plan, &plan->runs[0], first);
  for (size_t i = 0; i < n; i++)
    if (count_matches(plan, globs[i]) == 0)
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "%s '%s' matches no run; they are named <runtime>/<bundle>/<case>/<mode>, "
                        "the first is '%s/%s/%s/%s'",
                        option, globs[i], first[0], first[1], first[2], first[3]);
  return ASSAY_OK;
}

static bool any_matches(const char *const *globs, size_t n, const char *const names[4]) {
  for (size_t i = 0; i < n; i++)
    if (glob_matches(globs[i], names)) return true;
  return false;
}

static assay_status select_runs(assay_plan *plan, assay_error *err) {
  const assay_campaign_spec *spec = plan->spec;
  ASSAY_TRY(check_globs(plan, "--only", spec->only, spec->n_only, err));
  ASSAY_TRY(check_globs(plan, "--skip", spec->skip, spec->n_skip, err));
  for (size_t i = 0; i < plan->n_runs; i++) {
    const char *names[4];
    run_names(plan, &plan->runs[i], names);
    plan->runs[i].selected = (spec->n_only == 0 || any_matches(spec->only, spec->n_only, names)) &&
                             !any_matches(spec->skip, spec->n_skip, names) &&
                             plan->runtimes[plan->runs[i].runtime].lacking == NULL;
  }
  return ASSAY_OK;
}

static bool is_planned(const assay_plan *plan, size_t runtime, size_t bundle) {
  const assay_campaign_file *file = plan->spec->file;
  bool planned = file == NULL;
  for (size_t i = 0; !planned && i < file->n_cells; i++)
    planned = file->cells[i].runtime == runtime && file->cells[i].bundle == bundle;
  return planned;
}

static assay_status list_runs(assay_plan *plan, assay_error *err) {
  size_t n_cases = 0;
  for (size_t i = 0; i < plan->n_bundles; i++) n_cases += plan->bundles[i].manifest.n_cases;
  size_t n = 2 * n_cases * plan->n_runtimes;
  plan->runs = assay_alloc_array(n, sizeof *plan->runs);
  if (plan->runs == NULL) return assay_fail_memory(err, n * sizeof *plan->runs);
  for (size_t b = 0; b < plan->n_bundles; b++)
    for (size_t c = 0; c < plan->bundles[b].manifest.n_cases; c++)
      for (size_t r = 0; r < plan->n_runtimes; r++) {
        if (!is_planned(plan, r, b)) continue;
        for (int mode = ASSAY_RESULT_TIMING; mode <= ASSAY_RESULT_PLACEMENT; mode++)
          plan->runs[plan->n_runs++] = (assay_plan_run){
              .runtime = r, .bundle = b, .case_index = c, .mode = (assay_result_mode)mode};
      }
  return select_runs(plan, err);
}

assay_status assay_plan_resolve(assay_plan *plan, assay_error *err) {
  for (size_t i = 0; i < plan->n_runtimes; i++) {
    assay_status st = resolve_runtime(plan, i, err);
    if (st) {
      assay_error_in(err, "runtime '%s'", plan->runtimes[i].spec.label);
      return st;
    }
  }
  return list_runs(plan, err);
}

/* --- bundles -------------------------------------------------------------------------------------
 */

static assay_status copy_one(const char *source, const char *folder, const char *name,
                             assay_error *err) {
  char *from = assay_path_join(source, name), *to = assay_path_join(folder, name);
  char *parent = to != NULL ? assay_strndup(to, (size_t)(assay_path_name(to) - to)) : NULL;
  assay_status st = from != NULL && parent != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  if (st == ASSAY_OK) st = assay_folder_create(parent, err);
  if (st == ASSAY_OK && assay_path_kind_of(to) == ASSAY_PATH_NONE)
    st = assay_file_copy(from, to, err);
  assay_free(from);
  assay_free(to);
  assay_free(parent);
  return st;
}

static assay_status copy_file(const assay_plan_bundle *bundle, const assay_manifest_file *file,
                              const char *folder, assay_error *err) {
  ASSAY_TRY(copy_one(bundle->source, folder, file->file, err));
  return assay_manifest_file_check(folder, file, err);
}

/* The copy is there, with the same manifest and every file as it says. */
static bool is_stored(const assay_plan_bundle *bundle) {
  char sha256[65] = "";
  char *path = assay_path_join(bundle->folder, "manifest.json");
  bool same = path != NULL && assay_path_kind_of(path) == ASSAY_PATH_FILE &&
              assay_sha256_file(path, sha256, NULL, NULL) == ASSAY_OK &&
              strcmp(sha256, bundle->manifest_sha256) == 0;
  assay_free(path);
  return same && visit_files(bundle, check_file, bundle->folder, NULL) == ASSAY_OK;
}

/* Whole in the work folder first, then into its place. */
static assay_status store_bundle(assay_plan *plan, assay_plan_bundle *bundle, assay_error *err) {
  if (is_stored(bundle)) return ASSAY_OK;
  char *parent = assay_path_join(plan->spec->package_path, "bundles");
  char *fresh = assay_path_join(plan->work_folder, "bundle");
  assay_status st = parent != NULL && fresh != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  if (st == ASSAY_OK) st = assay_folder_create(parent, err);
  if (st == ASSAY_OK) st = assay_folder_remove(fresh, err);
  if (st == ASSAY_OK) st = assay_folder_create(fresh, err);
  if (st == ASSAY_OK) st = visit_files(bundle, copy_file, fresh, err);
  if (st == ASSAY_OK) st = copy_one(bundle->source, fresh, "manifest.json", err);
  if (st == ASSAY_OK) st = assay_folder_remove(bundle->folder, err);
  if (st == ASSAY_OK && rename(fresh, bundle->folder) != 0)
    st = assay_fail(err, ASSAY_E_IO, "'%s' cannot be moved to '%s'", fresh, bundle->folder);
  assay_free(parent);
  assay_free(fresh);
  return st;
}

assay_status assay_plan_store_bundles(assay_plan *plan, assay_error *err) {
  for (size_t i = 0; i < plan->n_bundles; i++) {
    assay_status st = store_bundle(plan, &plan->bundles[i], err);
    if (st) {
      assay_error_in(err, "bundle '%s'", plan->bundles[i].source);
      return st;
    }
  }
  return ASSAY_OK;
}

/* --- index ---------------------------------------------------------------------------------------
 */

static assay_status index_runtimes(const assay_plan *plan, assay_package *out, assay_error *err) {
  out->runtimes = assay_alloc_array(plan->n_runtimes, sizeof *out->runtimes);
  if (out->runtimes == NULL) return assay_fail_memory(err, 64);
  for (size_t i = 0; i < plan->n_runtimes; i++) {
    const assay_plan_runtime *from = &plan->runtimes[i];
    assay_package_runtime *to = &out->runtimes[out->n_runtimes++];
    memcpy(to->sha256, from->sha256, sizeof to->sha256);
    memcpy(to->library_sha256, from->library_sha256, sizeof to->library_sha256);
    ASSAY_TRY(assay_text_set(&to->name, from->spec.name, err));
    ASSAY_TRY(assay_text_set(&to->library_path, from->spec.library, err));
    ASSAY_TRY(assay_text_set(&to->library_version, from->library_version, err));
    ASSAY_TRY(assay_fields_copy(from->json, &to->spec, err));
  }
  return ASSAY_OK;
}

static assay_status index_bundles(const assay_plan *plan, assay_package *out, assay_error *err) {
  out->bundles = assay_alloc_array(plan->n_bundles, sizeof *out->bundles);
  if (out->bundles == NULL) return assay_fail_memory(err, 64);
  for (size_t i = 0; i < plan->n_bundles; i++) {
    const assay_plan_bundle *from = &plan->bundles[i];
    assay_package_bundle *to = &out->bundles[out->n_bundles++];
    memcpy(to->manifest_sha256, from->manifest_sha256, sizeof to->manifest_sha256);
    memcpy(to->model_sha256, from->manifest.model.sha256, sizeof to->model_sha256);
    ASSAY_TRY(assay_text_set(&to->name, from->name, err));
    to->folder = assay_format("bundles/%s", from->name);
    if (to->folder == NULL) return assay_fail_memory(err, 256);
  }
  return ASSAY_OK;
}

static assay_status index_runs(const assay_plan *plan, assay_package *out, assay_error *err) {
  out->runs = assay_alloc_array(plan->n_runs, sizeof *out->runs);
  if (out->runs == NULL) return assay_fail_memory(err, plan->n_runs * sizeof *out->runs);
  for (size_t i = 0; i < plan->n_runs; i++) {
    const char *names[4];
    assay_package_run *to = &out->runs[out->n_runs++];
    run_names(plan, &plan->runs[i], names);
    to->mode = plan->runs[i].mode;
    ASSAY_TRY(assay_text_set(&to->runtime, names[0], err));
    ASSAY_TRY(assay_text_set(&to->bundle, names[1], err));
    ASSAY_TRY(assay_text_set(&to->case_name, names[2], err));
    to->folder = assay_result_folder(names[0], names[1], names[2], to->mode);
    if (to->folder == NULL) return assay_fail_memory(err, 256);
  }
  return ASSAY_OK;
}

static assay_status index_matrix(const assay_plan *plan, assay_package *out, assay_error *err) {
  const assay_campaign_file *file = plan->spec->file;
  if (file == NULL) return ASSAY_OK;
  out->cells = assay_alloc_array(file->n_cells, sizeof *out->cells);
  if (out->cells == NULL) return assay_fail_memory(err, 64);
  for (size_t i = 0; i < file->n_cells; i++) {
    assay_package_cell *to = &out->cells[out->n_cells++];
    ASSAY_TRY(assay_text_set(&to->runtime, plan->runtimes[file->cells[i].runtime].spec.name, err));
    ASSAY_TRY(assay_text_set(&to->bundle, plan->bundles[file->cells[i].bundle].name, err));
  }
  return ASSAY_OK;
}

static assay_status index_settings(const assay_plan *plan, assay_package *out, assay_error *err) {
  const assay_campaign_spec *spec = plan->spec;
  out->iterations = spec->iterations;
  out->warmup = spec->warmup;
  out->threads = spec->threads > 0 ? spec->threads : 1;
  out->placement_runs = spec->placement_runs;
  out->timeout_ns = spec->timeout_ns;
  out->processes = spec->processes;
  out->tolerances = assay_alloc_array(spec->n_tolerances, sizeof *out->tolerances);
  out->command = assay_alloc_array(spec->n_command, sizeof *out->command);
  if (out->tolerances == NULL || out->command == NULL) return assay_fail_memory(err, 64);
  for (size_t i = 0; i < spec->n_tolerances; i++) {
    assay_package_tolerance *to = &out->tolerances[out->n_tolerances++];
    *to = spec->tolerances[i];
    to->head = NULL;
    if (spec->tolerances[i].head != NULL)
      ASSAY_TRY(assay_text_set(&to->head, spec->tolerances[i].head, err));
  }
  for (size_t i = 0; i < spec->n_command; i++) {
    out->command[i] = assay_fields_printable(spec->command[i]);
    if (out->command[i] == NULL) return assay_fail_memory(err, strlen(spec->command[i]));
    out->n_command++;
  }
  return ASSAY_OK;
}

static assay_status fill_index(const assay_plan *plan, assay_package *out, assay_error *err) {
  memcpy(out->tool_sha256, plan->tool_sha256, sizeof out->tool_sha256);
  ASSAY_TRY(assay_text_set(&out->tool_version, ASSAY_VERSION, err));
  if (plan->machine != NULL) ASSAY_TRY(assay_text_set(&out->machine, plan->machine, err));
  ASSAY_TRY(index_settings(plan, out, err));
  ASSAY_TRY(index_runtimes(plan, out, err));
  ASSAY_TRY(index_bundles(plan, out, err));
  ASSAY_TRY(index_matrix(plan, out, err));
  return index_runs(plan, out, err);
}

assay_status assay_plan_index(const assay_plan *plan, assay_package *out, assay_error *err) {
  assay_package package = {0};
  assay_status st = fill_index(plan, &package, err);
  if (st) {
    assay_package_reset(&package);
    return st;
  }
  *out = package;
  return ASSAY_OK;
}

void assay_plan_reset(assay_plan *plan) {
  for (size_t i = 0; i < plan->n_runtimes; i++) {
    assay_plan_runtime *runtime = &plan->runtimes[i];
    assay_runtime_spec_reset(&runtime->spec);
    assay_json_destroy(runtime->json);
    assay_free(runtime->lacking);
    assay_free(runtime->library_version);
    assay_json_destroy(runtime->options);
  }
  assay_free(plan->runtimes);
  for (size_t i = 0; i < plan->n_bundles; i++) {
    assay_plan_bundle *bundle = &plan->bundles[i];
    assay_free(bundle->source);
    assay_free(bundle->name);
    assay_free(bundle->folder);
    assay_manifest_reset(&bundle->manifest);
  }
  assay_free(plan->bundles);
  assay_free(plan->runs);
  assay_free(plan->worker_path);
  assay_free(plan->work_folder);
  assay_free(plan->digests_path);
  assay_free(plan->machine);
  *plan = (assay_plan){0};
}
