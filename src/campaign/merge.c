/* Which run of which package goes where; then copies, results under their new names, and the
 * index. */
#include "campaign/merge.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "campaign/machine.h"
#include "campaign/resume.h"
#include "package/fields.h"
#include "package/package.h"
#include "package/result.h"
#include "package/tree.h"

#define NOWHERE SIZE_MAX

static const char *const not_in_tree[] = {ASSAY_PACKAGE_FILE};

/* One package that is merged. */
typedef struct source {
  const char *path;
  assay_package package;
  size_t *runtime_to; /* [package.n_runtimes] index in the merged one, or NOWHERE */
} source;

typedef struct merging {
  source *sources;
  size_t n_sources;
  const char *out_path;
  assay_package merged;
} merging;

static assay_status grow(void **block, size_t n, size_t size, assay_error *err) {
  return assay_resize(block, n * size, (n + 1) * size, err);
}

/* --- sources -------------------------------------------------------------------------------------
 */

static void remember_first(void *arg, assay_tree_change change, const char *file,
                           const char *detail) {
  char *first = arg;
  (void)change, (void)detail;
  if (first[0] == '\0') snprintf(first, 256, "%.255s", file);
}

static assay_status open_source(source *s, const char *path, assay_error *err) {
  char first[256] = "";
  size_t n_changes = 0;
  s->path = path;
  ASSAY_TRY(assay_package_check(path, err));
  ASSAY_TRY(assay_package_read(path, &s->package, err));
  if (s->package.finished_at[0] == '\0')
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "'%s' is not finished: the same 'assay run' line ends it", path);
  ASSAY_TRY(assay_tree_verify(&s->package.files, path, not_in_tree, N_OF(not_in_tree),
                              remember_first, first, &n_changes, err));
  if (n_changes > 0)
    return assay_fail(err, ASSAY_E_MISMATCH,
                      "'%s' is not what was sealed, beginning with '%s'; 'assay verify' lists all",
                      path, first);
  s->runtime_to = assay_alloc_array(s->package.n_runtimes, sizeof *s->runtime_to);
  if (s->runtime_to == NULL) return assay_fail_memory(err, 256);
  for (size_t i = 0; i < s->package.n_runtimes; i++) s->runtime_to[i] = NOWHERE;
  return ASSAY_OK;
}

static assay_status differ(const source *a, const source *b, const char *what, assay_error *err) {
  return assay_fail(err, ASSAY_E_ARGUMENT, "'%s' and '%s' are not of one campaign: %s", a->path,
                    b->path, what);
}

static const char *file_digest(const source *s, const char *file) {
  const assay_tree_entry *entry = assay_tree_find(&s->package.files, file);
  return entry != NULL ? entry->sha256 : "";
}

/* The same question: what was asked of whom, however many machines were there to answer. */
static assay_status check_same(const source *a, const source *b, assay_error *err) {
  const assay_package *x = &a->package, *y = &b->package;
  ASSAY_TRY(assay_resume_same_settings(x, y, a->path, err));
  if (strcmp(file_digest(a, ASSAY_PACKAGE_CAMPAIGN_FILE),
             file_digest(b, ASSAY_PACKAGE_CAMPAIGN_FILE)) != 0)
    return differ(a, b, "their campaign files differ", err);
  if (x->n_bundles != y->n_bundles) return differ(a, b, "other bundles", err);
  for (size_t i = 0; i < x->n_bundles; i++)
    if (strcmp(x->bundles[i].name, y->bundles[i].name) != 0 ||
        strcmp(x->bundles[i].manifest_sha256, y->bundles[i].manifest_sha256) != 0)
      return differ(a, b,
                    "other bundles, or their contents; a second machine takes those of the first "
                    "(copied there) with --bundles FOLDER",
                    err);
  return ASSAY_OK;
}

static assay_status open_sources(merging *m, const char *const *paths, size_t n, assay_error *err) {
  m->sources = assay_alloc_array(n, sizeof *m->sources);
  if (m->sources == NULL) return assay_fail_memory(err, n * sizeof *m->sources);
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++)
      if (strcmp(paths[i], paths[k]) == 0)
        return assay_fail(err, ASSAY_E_ARGUMENT, "'%s' is given twice", paths[i]);
    m->n_sources = i + 1;
    ASSAY_TRY(open_source(&m->sources[i], paths[i], err));
    if (i > 0) ASSAY_TRY(check_same(&m->sources[0], &m->sources[i], err));
  }
  return ASSAY_OK;
}

/* --- runtimes ------------------------------------------------------------------------------------
 */

static bool has_run(const source *s, size_t run) {
  char result[1024];
  snprintf(result, sizeof result, "%s/result.json", s->package.runs[run].folder);
  return assay_tree_find(&s->package.files, result) != NULL;
}

static bool has_any_run(const source *s, const char *runtime) {
  for (size_t i = 0; i < s->package.n_runs; i++)
    if (strcmp(s->package.runs[i].runtime, runtime) == 0 && has_run(s, i)) return true;
  return false;
}

static bool same_runtime(const assay_package_runtime *a, const assay_package_runtime *b) {
  return strcmp(a->sha256, b->sha256) == 0 && strcmp(a->library_sha256, b->library_sha256) == 0;
}

static size_t find_runtime(const assay_package *package, const char *name) {
  size_t i = 0;
  while (i < package->n_runtimes && strcmp(package->runtimes[i].name, name) != 0) i++;
  return i;
}

static assay_status copy_runtime(const assay_package_runtime *from, const char *name,
                                 assay_package_runtime *to, assay_error *err) {
  memcpy(to->sha256, from->sha256, sizeof to->sha256);
  memcpy(to->library_sha256, from->library_sha256, sizeof to->library_sha256);
  ASSAY_TRY(assay_text_set(&to->name, name, err));
  ASSAY_TRY(assay_text_set(&to->library_path, from->library_path, err));
  ASSAY_TRY(assay_text_set(&to->library_version, from->library_version, err));
  return assay_fields_copy(from->spec, &to->spec, err);
}

static void release_runtime(assay_package_runtime *runtime) {
  assay_free(runtime->name);
  assay_free(runtime->library_path);
  assay_free(runtime->library_version);
  assay_json_destroy(runtime->spec);
  *runtime = (assay_package_runtime){0};
}

static assay_status add_runtime(merging *m, const assay_package_runtime *from, const char *name,
                                assay_error *err) {
  void *block = m->merged.runtimes;
  ASSAY_TRY(grow(&block, m->merged.n_runtimes, sizeof *m->merged.runtimes, err));
  m->merged.runtimes = block;
  assay_package_runtime *to = &m->merged.runtimes[m->merged.n_runtimes++];
  *to = (assay_package_runtime){0};
  return copy_runtime(from, name, to, err);
}

/* "cpu" of another library: "cpu@1.27.0", then with a number. */
static assay_status add_beside(merging *m, const assay_package_runtime *from, assay_error *err) {
  char name[160];
  bool versioned = from->library_version[0] != '\0' && strchr(from->name, '@') == NULL;
  snprintf(name, sizeof name, "%.80s%s%.32s", from->name, versioned ? "@" : "",
           versioned ? from->library_version : "");
  size_t n = strlen(name);
  for (int k = 2;
       !assay_fields_is_name(name) || find_runtime(&m->merged, name) < m->merged.n_runtimes; k++)
    snprintf(name + n, sizeof name - n, "-%d", k);
  return add_runtime(m, from, name, err);
}

/* Has the merged runtime taken runs of a package yet? */
static bool is_taken(const merging *m, size_t merged) {
  for (size_t s = 0; s < m->n_sources; s++)
    for (size_t r = 0; r < m->sources[s].package.n_runtimes; r++)
      if (m->sources[s].runtime_to != NULL && m->sources[s].runtime_to[r] == merged) return true;
  return false;
}

/* Where the runs of runtime r of source s go. */
static assay_status place_runtime(merging *m, source *s, size_t r, assay_error *err) {
  const assay_package_runtime *from = &s->package.runtimes[r];
  size_t at = find_runtime(&m->merged, from->name);
  bool is_new = at == m->merged.n_runtimes;
  if (is_new) ASSAY_TRY(add_runtime(m, from, from->name, err));
  if (!has_any_run(s, from->name)) return ASSAY_OK;
  if (!is_new && !is_taken(m, at)) {
    release_runtime(&m->merged.runtimes[at]);
    ASSAY_TRY(copy_runtime(from, from->name, &m->merged.runtimes[at], err));
  }
  for (at = 0; at < m->merged.n_runtimes; at++) /* itself, or one put beside it before */
    if (assay_text_has_prefix(m->merged.runtimes[at].name, from->name) &&
        same_runtime(&m->merged.runtimes[at], from))
      break;
  if (at == m->merged.n_runtimes) ASSAY_TRY(add_beside(m, from, err));
  s->runtime_to[r] = at;
  return ASSAY_OK;
}

static assay_status place_runtimes(merging *m, assay_error *err) {
  for (size_t s = 0; s < m->n_sources; s++)
    for (size_t r = 0; r < m->sources[s].package.n_runtimes; r++)
      ASSAY_TRY(place_runtime(m, &m->sources[s], r, err));
  return ASSAY_OK;
}

/* --- the index -----------------------------------------------------------------------------------
 */

static assay_status copy_strings(char *const *from, size_t n, char ***out, size_t *out_n,
                                 assay_error *err) {
  *out = assay_alloc_array(n, sizeof **out);
  if (*out == NULL) return assay_fail_memory(err, n * sizeof **out);
  for (; *out_n < n; (*out_n)++) ASSAY_TRY(assay_text_set(&(*out)[*out_n], from[*out_n], err));
  return ASSAY_OK;
}

static assay_status add_source(merging *m, const source *s, assay_error *err) {
  const assay_package *from = &s->package;
  assay_package_source *to = &m->merged.sources[m->merged.n_sources++];
  memcpy(to->tool_sha256, from->tool_sha256, sizeof to->tool_sha256);
  memcpy(to->started_at, from->started_at, sizeof to->started_at);
  memcpy(to->finished_at, from->finished_at, sizeof to->finished_at);
  memcpy(to->tree_sha256, from->tree_sha256, sizeof to->tree_sha256);
  ASSAY_TRY(assay_text_set(&to->tool_version, from->tool_version, err));
  if (from->machine != NULL) ASSAY_TRY(assay_text_set(&to->machine, from->machine, err));
  return copy_strings(from->command, from->n_command, &to->command, &to->n_command, err);
}

static assay_status copy_settings(merging *m, assay_error *err) {
  const assay_package *from = &m->sources[0].package;
  assay_package *to = &m->merged;
  to->iterations = from->iterations;
  to->warmup = from->warmup;
  to->threads = from->threads;
  to->placement_runs = from->placement_runs;
  to->timeout_ns = from->timeout_ns;
  to->processes = from->processes;
  ASSAY_TRY(assay_text_set(&to->tool_version, from->tool_version, err));
  memcpy(to->tool_sha256, from->tool_sha256, sizeof to->tool_sha256);
  memcpy(to->started_at, from->started_at, sizeof to->started_at);
  if (from->machine != NULL) ASSAY_TRY(assay_text_set(&to->machine, from->machine, err));
  to->tolerances = assay_alloc_array(from->n_tolerances, sizeof *to->tolerances);
  to->bundles = assay_alloc_array(from->n_bundles, sizeof *to->bundles);
  to->sources = assay_alloc_array(m->n_sources, sizeof *to->sources);
  if (to->tolerances == NULL || to->bundles == NULL || to->sources == NULL)
    return assay_fail_memory(err, 256);
  for (size_t i = 0; i < from->n_tolerances; i++) {
    assay_package_tolerance *one = &to->tolerances[to->n_tolerances++];
    *one = from->tolerances[i];
    one->head = NULL;
    if (from->tolerances[i].head != NULL)
      ASSAY_TRY(assay_text_set(&one->head, from->tolerances[i].head, err));
  }
  for (size_t i = 0; i < from->n_bundles; i++) {
    assay_package_bundle *one = &to->bundles[to->n_bundles++];
    *one = from->bundles[i];
    one->name = one->folder = NULL;
    ASSAY_TRY(assay_text_set(&one->name, from->bundles[i].name, err));
    ASSAY_TRY(assay_text_set(&one->folder, from->bundles[i].folder, err));
  }
  for (size_t s = 0; s < m->n_sources; s++) ASSAY_TRY(add_source(m, &m->sources[s], err));
  return copy_strings(from->command, from->n_command, &to->command, &to->n_command, err);
}

/* The runtime's name in the package that it came from first: of which the matrix speaks. */
static const char *asked_name(const merging *m, size_t merged) {
  for (size_t s = 0; s < m->n_sources; s++)
    for (size_t r = 0; r < m->sources[s].package.n_runtimes; r++)
      if (m->sources[s].runtime_to[r] == merged) return m->sources[s].package.runtimes[r].name;
  return m->merged.runtimes[merged].name;
}

static bool is_asked(const merging *m, const char *runtime, const char *bundle) {
  for (size_t s = 0; s < m->n_sources; s++) {
    const assay_package *package = &m->sources[s].package;
    if (find_runtime(package, runtime) < package->n_runtimes &&
        assay_package_is_planned(package, runtime, bundle))
      return true;
  }
  return false;
}

static assay_status add_run(merging *m, const char *runtime, const char *bundle,
                            const char *case_name, assay_result_mode mode, assay_error *err) {
  void *block = m->merged.runs;
  ASSAY_TRY(grow(&block, m->merged.n_runs, sizeof *m->merged.runs, err));
  m->merged.runs = block;
  assay_package_run *run = &m->merged.runs[m->merged.n_runs++];
  *run = (assay_package_run){.mode = mode};
  ASSAY_TRY(assay_text_set(&run->runtime, runtime, err));
  ASSAY_TRY(assay_text_set(&run->bundle, bundle, err));
  ASSAY_TRY(assay_text_set(&run->case_name, case_name, err));
  run->folder = assay_result_folder(runtime, bundle, case_name, mode);
  return run->folder != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
}

/* Runs of one runtime, which are those that any package planned for the name it was asked by. */
static assay_status add_runs(merging *m, size_t merged, assay_error *err) {
  const char *asked = asked_name(m, merged), *name = m->merged.runtimes[merged].name;
  for (size_t s = 0; s < m->n_sources; s++) {
    const assay_package *package = &m->sources[s].package;
    size_t n_before = m->merged.n_runs;
    for (size_t i = 0; i < package->n_runs; i++) {
      const assay_package_run *run = &package->runs[i];
      if (strcmp(run->runtime, asked) == 0)
        ASSAY_TRY(add_run(m, name, run->bundle, run->case_name, run->mode, err));
    }
    if (m->merged.n_runs > n_before) return ASSAY_OK;
  }
  return ASSAY_OK;
}

static assay_status add_cells(merging *m, assay_error *err) {
  for (size_t r = 0; r < m->merged.n_runtimes; r++)
    for (size_t b = 0; b < m->merged.n_bundles; b++) {
      if (!is_asked(m, asked_name(m, r), m->merged.bundles[b].name)) continue;
      void *block = m->merged.cells;
      ASSAY_TRY(grow(&block, m->merged.n_cells, sizeof *m->merged.cells, err));
      m->merged.cells = block;
      assay_package_cell *cell = &m->merged.cells[m->merged.n_cells++];
      *cell = (assay_package_cell){0};
      ASSAY_TRY(assay_text_set(&cell->runtime, m->merged.runtimes[r].name, err));
      ASSAY_TRY(assay_text_set(&cell->bundle, m->merged.bundles[b].name, err));
    }
  return ASSAY_OK;
}

static assay_status make_index(merging *m, assay_error *err) {
  ASSAY_TRY(copy_settings(m, err));
  ASSAY_TRY(place_runtimes(m, err));
  ASSAY_TRY(add_cells(m, err));
  for (size_t r = 0; r < m->merged.n_runtimes; r++) ASSAY_TRY(add_runs(m, r, err));
  return ASSAY_OK;
}

/* --- files ---------------------------------------------------------------------------------------
 */

static assay_status copy_file(const merging *m, const source *s, const char *file, const char *to,
                              assay_error *err) {
  char *from_path = assay_path_join(s->path, file), *to_path = assay_path_join(m->out_path, to);
  char *slash = to_path != NULL ? strrchr(to_path, '/') : NULL;
  assay_status st = from_path != NULL && slash != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  if (st == ASSAY_OK) {
    *slash = '\0';
    st = assay_folder_create(to_path, err);
    *slash = '/';
  }
  if (st == ASSAY_OK && assay_path_kind_of(to_path) == ASSAY_PATH_NONE)
    st = assay_file_copy(from_path, to_path, err);
  assay_free(from_path);
  assay_free(to_path);
  return st;
}

/* Files whose names are their contents' (machines, graphs), and of the first package its bundles
 * and its campaign file, which are the same in all. */
static assay_status copy_shared(const merging *m, assay_error *err) {
  for (size_t s = 0; s < m->n_sources; s++) {
    const source *one = &m->sources[s];
    for (size_t i = 0; i < one->package.files.n; i++) {
      const char *file = one->package.files.entries[i].file;
      bool of_all =
          assay_text_has_prefix(file, "machines/") || assay_text_has_prefix(file, "graphs/");
      bool of_first = s == 0 && (assay_text_has_prefix(file, "bundles/") ||
                                 strcmp(file, ASSAY_PACKAGE_CAMPAIGN_FILE) == 0);
      if (of_all || of_first) ASSAY_TRY(copy_file(m, one, file, file, err));
    }
  }
  return ASSAY_OK;
}

static assay_status read_result(const source *s, const assay_package_run *run, assay_result *out,
                                assay_error *err) {
  char *path = assay_format("%s/%s/result.json", s->path, run->folder);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_result_read(path, out, err);
  assay_free(path);
  return st;
}

/* The run of a source that answers planned run `to`; NOWHERE: none. */
static size_t find_answer(const merging *m, const source *s, const assay_package_run *to) {
  size_t merged = find_runtime(&m->merged, to->runtime);
  for (size_t i = 0; i < s->package.n_runs; i++) {
    const assay_package_run *run = &s->package.runs[i];
    size_t r = find_runtime(&s->package, run->runtime);
    if (r < s->package.n_runtimes && s->runtime_to[r] == merged && run->mode == to->mode &&
        strcmp(run->bundle, to->bundle) == 0 && strcmp(run->case_name, to->case_name) == 0 &&
        has_run(s, i))
      return i;
  }
  return NOWHERE;
}

/* The answer that is kept: the first that is done, or else the first. */
static assay_status choose(const merging *m, const assay_package_run *to, const source **out_source,
                           size_t *out_run, assay_error *err) {
  *out_source = NULL;
  for (size_t s = 0; s < m->n_sources; s++) {
    const source *one = &m->sources[s];
    assay_result result = {0};
    size_t i = find_answer(m, one, to);
    if (i == NOWHERE) continue;
    ASSAY_TRY(read_result(one, &one->package.runs[i], &result, err));
    bool done = result.status == ASSAY_RESULT_DONE;
    assay_result_reset(&result);
    if (*out_source == NULL || done) {
      *out_source = one;
      *out_run = i;
    }
    if (done) return ASSAY_OK;
  }
  return ASSAY_OK;
}

/* result.json says which runtime it is of. */
static assay_status write_result(const merging *m, const source *s, const assay_package_run *from,
                                 const assay_package_run *to, assay_error *err) {
  assay_result result = {0};
  ASSAY_TRY(read_result(s, from, &result, err));
  char *path = assay_format("%s/%s/result.json", m->out_path, to->folder);
  assay_free(result.runtime);
  result.runtime = assay_strdup(to->runtime);
  assay_status st = path != NULL && result.runtime != NULL ? assay_result_write(&result, path, err)
                                                           : assay_fail_memory(err, 256);
  assay_result_reset(&result);
  assay_free(path);
  return st;
}

static assay_status copy_run(const merging *m, const assay_package_run *to, assay_error *err) {
  const source *s = NULL;
  size_t run = 0;
  ASSAY_TRY(choose(m, to, &s, &run, err));
  if (s == NULL) return ASSAY_OK;
  const assay_package_run *from = &s->package.runs[run];
  size_t n = strlen(from->folder);
  for (size_t i = 0; i < s->package.files.n; i++) {
    const char *file = s->package.files.entries[i].file;
    if (strncmp(file, from->folder, n) != 0 || file[n] != '/') continue;
    if (strcmp(file + n, "/result.json") == 0) continue;
    char *name = assay_format("%s%s", to->folder, file + n);
    if (name == NULL) return assay_fail_memory(err, 256);
    assay_status st = copy_file(m, s, file, name, err);
    assay_free(name);
    if (st) return st;
  }
  return write_result(m, s, from, to, err);
}

static assay_status write_package(merging *m, assay_error *err) {
  ASSAY_TRY(copy_shared(m, err));
  for (size_t i = 0; i < m->merged.n_runs; i++) ASSAY_TRY(copy_run(m, &m->merged.runs[i], err));
  assay_machine_now(m->merged.finished_at);
  ASSAY_TRY(assay_tree_scan(m->out_path, not_in_tree, N_OF(not_in_tree), &m->merged.files, err));
  ASSAY_TRY(assay_tree_sha256(&m->merged.files, m->merged.tree_sha256, err));
  return assay_package_write(&m->merged, m->out_path, err);
}

/* --- the whole -----------------------------------------------------------------------------------
 */

/* Nothing there, or an empty folder. */
static assay_status check_place(const char *path, assay_error *err) {
  assay_names names = {0};
  assay_path_kind kind = assay_path_kind_of(path);
  if (kind == ASSAY_PATH_NONE) return ASSAY_OK;
  if (kind == ASSAY_PATH_FOLDER) ASSAY_TRY(assay_folder_list(path, &names, err));
  bool is_free = kind == ASSAY_PATH_FOLDER && names.n == 0;
  assay_names_reset(&names);
  return is_free ? ASSAY_OK
                 : assay_fail(err, ASSAY_E_ARGUMENT,
                              "'%s' is there already: a merged package needs a new folder", path);
}

static assay_status merge(merging *m, const char *const *paths, size_t n, assay_error *err) {
  ASSAY_TRY(check_place(m->out_path, err));
  ASSAY_TRY(open_sources(m, paths, n, err));
  ASSAY_TRY(make_index(m, err));
  ASSAY_TRY(assay_folder_create(m->out_path, err));
  assay_status st = write_package(m, err);
  if (st) (void)!assay_folder_remove(m->out_path, NULL);
  return st;
}

assay_status assay_merge_packages(const char *const *paths, size_t n, const char *out_path,
                                  assay_error *err) {
  merging m = {.out_path = out_path};
  if (n == 0 || n > ASSAY_MERGE_MAX)
    return assay_fail(err, ASSAY_E_ARGUMENT, "expected 1 to %d packages to merge, found %zu",
                      ASSAY_MERGE_MAX, n);
  assay_status st = merge(&m, paths, n, err);
  for (size_t i = 0; i < m.n_sources; i++) {
    assay_free(m.sources[i].runtime_to);
    assay_package_reset(&m.sources[i].package);
  }
  assay_free(m.sources);
  assay_package_reset(&m.merged);
  return st;
}
