/* Sources: sbatch(1) and its environment variables; HTCondor manual, "Submitting a Job" and
 * condor_submit(1). */
#include "campaign/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/child.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "campaign/plan.h"
#include "package/package.h"

#define JOBS_FILE   "jobs.txt"
#define SCRIPT_FILE "job.sh"

/* Of a file to submit, for the jobs first to last of one runtime. */
typedef struct job_array {
  const char *folder, *tag;
  size_t first, last;
  const char *const *directives; /* [n_directives] */
  size_t n_directives;
} job_array;

typedef struct job_system {
  const char *name, *ending, *submit;
  assay_status (*write)(const job_array *array, assay_buf *out, assay_error *err);
} job_system;

/* --- what is submitted ---------------------------------------------------------------------------
 */

static assay_status put_lines(const char *prefix, const job_array *array, assay_buf *out,
                              assay_error *err) {
  for (size_t i = 0; i < array->n_directives; i++)
    ASSAY_TRY(assay_buf_appendf(out, err, "%s%s\n", prefix, array->directives[i]));
  return ASSAY_OK;
}

static assay_status write_slurm(const job_array *a, assay_buf *out, assay_error *err) {
  ASSAY_TRY(assay_buf_appendf(out, err,
                              "#!/bin/sh\n"
                              "#SBATCH --job-name=assay-%s\n"
                              "#SBATCH --array=%zu-%zu\n"
                              "#SBATCH --ntasks=1\n"
                              "#SBATCH --output=%s/logs/%%a.txt\n",
                              a->tag, a->first, a->last, a->folder));
  ASSAY_TRY(put_lines("#SBATCH ", a, out, err));
  return assay_buf_appendf(out, err, "exec %s/" SCRIPT_FILE " \"$SLURM_ARRAY_TASK_ID\"\n",
                           a->folder);
}

static assay_status write_htcondor(const job_array *a, assay_buf *out, assay_error *err) {
  ASSAY_TRY(assay_buf_appendf(out, err,
                              "universe = vanilla\n"
                              "batch_name = assay-%s\n"
                              "executable = %s/" SCRIPT_FILE "\n"
                              "arguments = $(job)\n"
                              "output = %s/logs/$(job).txt\n"
                              "error = %s/logs/$(job).err\n"
                              "log = %s/logs/htcondor-%s.log\n"
                              "should_transfer_files = NO\n"
                              "request_cpus = 1\n"
                              "request_memory = 4 GB\n",
                              a->tag, a->folder, a->folder, a->folder, a->folder, a->tag));
  ASSAY_TRY(put_lines("", a, out, err));
  ASSAY_TRY(assay_buf_appendf(out, err, "queue job from (\n"));
  for (size_t i = a->first; i <= a->last; i++) ASSAY_TRY(assay_buf_appendf(out, err, "%zu\n", i));
  return assay_buf_appendf(out, err, ")\n");
}

static const job_system systems[ASSAY_BATCH_N_SYSTEMS] = {
    [ASSAY_BATCH_SLURM] = {"slurm", "sh", "sbatch", write_slurm},
    [ASSAY_BATCH_HTCONDOR] = {"htcondor", "sub", "condor_submit", write_htcondor},
};

const char *assay_batch_system_name(assay_batch_system system) {
  return systems[system].name;
}

/* --- the batch -----------------------------------------------------------------------------------
 */

typedef struct job {
  size_t runtime, bundle, first_case, n_cases;
} job;

typedef struct maker {
  const assay_batch_spec *spec;
  assay_plan plan;
  char **tags;    /* [plan.n_runtimes] */
  char *folder;   /* absolute, as the next */
  char *campaign; /* the file */
  char *bundles, *here, *program;
  job *jobs;
  size_t n_jobs, jobs_cap;
} maker;

/* Their files quote in different ways: what means something to none needs no quotes. */
static assay_status check_plain(const char *path, assay_error *err) {
  static const char plain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@,=";
  if (strspn(path, plain) == strlen(path)) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_ARGUMENT,
                    "the folder '%s': batch systems take letters, digits and /._-+@,= as they are, "
                    "choose another place",
                    path);
}

static assay_status find_real(const char *path, char **out, assay_error *err) {
  char *real = realpath(path, NULL); /* by malloc, not by our door */
  if (real == NULL) return assay_fail_errno(err, ASSAY_E_IO, errno, "could not find '%s'", path);
  *out = assay_strdup(real);
  free(real);
  return *out != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(path));
}

static assay_status find_places(maker *m, assay_error *err) {
  ASSAY_TRY(find_real(m->spec->folder, &m->folder, err));
  ASSAY_TRY(find_real(m->spec->campaign_path, &m->campaign, err));
  ASSAY_TRY(find_real(m->spec->bundles_path, &m->bundles, err));
  ASSAY_TRY(find_real(".", &m->here, err));
  ASSAY_TRY(assay_child_self_path(&m->program, err));
  return check_plain(m->folder, err);
}

/* What a runtime is called before its library was asked: "cpu@/lib.so" will be "cpu@1.27.0". */
static assay_status name_runtimes(maker *m, assay_error *err) {
  m->tags = assay_alloc_array(m->plan.n_runtimes, sizeof *m->tags);
  if (m->tags == NULL) return assay_fail_memory(err, 64);
  for (size_t i = 0; i < m->plan.n_runtimes; i++) {
    const assay_runtime_spec *runtime = &m->plan.runtimes[i].spec;
    const bool has_library = strchr(runtime->label, '@') != NULL;
    m->tags[i] = assay_format("%s%s", runtime->name, has_library ? "@" : "");
    if (m->tags[i] == NULL) return assay_fail_memory(err, 64);
    for (size_t k = 0; k < i; k++)
      if (strcmp(m->tags[k], m->tags[i]) == 0)
        return assay_fail(err, ASSAY_E_ARGUMENT,
                          "runtimes '%s' and '%s' have one name until their libraries are asked: "
                          "give each a runtime file of its own",
                          m->plan.runtimes[k].spec.label, runtime->label);
  }
  return ASSAY_OK;
}

/* By runtime, so that the jobs of each follow each other. */
static assay_status list_jobs(maker *m, assay_error *err) {
  const assay_campaign_file *file = m->spec->file;
  for (size_t r = 0; r < m->plan.n_runtimes; r++)
    for (size_t i = 0; i < file->n_cells; i++) {
      if (file->cells[i].runtime != r) continue;
      const size_t b = file->cells[i].bundle, n = m->plan.bundles[b].manifest.n_cases;
      for (size_t c = 0; c < n; c += m->spec->cases_per_job) {
        if (m->n_jobs == ASSAY_BATCH_JOBS_MAX)
          return assay_fail(err, ASSAY_E_LIMIT, "more than %d jobs: put more cases into each",
                            ASSAY_BATCH_JOBS_MAX);
        job *jobs = assay_grown(m->jobs, &m->jobs_cap, m->n_jobs, sizeof *jobs, err);
        if (jobs == NULL) return ASSAY_E_MEMORY;
        m->jobs = jobs;
        const size_t left = n - c;
        m->jobs[m->n_jobs++] =
            (job){r, b, c, left < m->spec->cases_per_job ? left : m->spec->cases_per_job};
      }
    }
  return m->n_jobs > 0 ? ASSAY_OK
                       : assay_fail(err, ASSAY_E_ARGUMENT, "the campaign's bundles hold no case");
}

static assay_status write_text(const maker *m, const char *name, const assay_buf *text, bool runs,
                               assay_error *err) {
  char *path = assay_path_join(m->folder, name);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_file_write(path, text->data, text->size_bytes, err);
  if (st == ASSAY_OK && runs && chmod(path, 0755) != 0)
    st = assay_fail_errno(err, ASSAY_E_IO, errno, "could not make '%s' a program", path);
  assay_free(path);
  return st;
}

static assay_status put_globs(const maker *m, const job *one, assay_buf *out, assay_error *err) {
  const assay_plan_bundle *bundle = &m->plan.bundles[one->bundle];
  const char *tag = m->tags[one->runtime];
  const char *rest = tag[strlen(tag) - 1] == '@' ? "*" : "";
  for (size_t c = one->first_case; c < one->first_case + one->n_cases; c++)
    ASSAY_TRY(assay_buf_appendf(out, err, "%s%s%s/%s/%s/*", c > one->first_case ? " " : "", tag,
                                rest, bundle->name, bundle->manifest.cases[c].name));
  return assay_buf_appendf(out, err, "\n");
}

/* text as one word of the shell. */
static assay_status put_word(const char *text, assay_buf *out, assay_error *err) {
  ASSAY_TRY(assay_buf_append_text(out, "'", err));
  for (const char *c = text; *c != '\0'; c++)
    ASSAY_TRY(*c == '\'' ? assay_buf_append_text(out, "'\\''", err)
                         : assay_buf_append(out, c, 1, err));
  return assay_buf_append_text(out, "'", err);
}

static assay_status put_setting(const char *before, const char *text, const char *after,
                                assay_buf *out, assay_error *err) {
  ASSAY_TRY(assay_buf_append_text(out, before, err));
  ASSAY_TRY(put_word(text, out, err));
  return assay_buf_append_text(out, after, err);
}

static assay_status fill_script(const maker *m, assay_buf *out, assay_error *err) {
  const char *library = getenv("ASSAY_ORT");
  ASSAY_TRY(assay_buf_append_text(out,
                                  "#!/bin/sh\n"
                                  "# job.sh N: the runs of line N of jobs.txt, into packages/N; "
                                  "the same again goes on where it "
                                  "was.\n"
                                  "set -uf\n"
                                  "job=$1\n",
                                  err));
  ASSAY_TRY(put_setting("batch=", m->folder, "\n", out, err));
  if (library != NULL && library[0] != '\0')
    ASSAY_TRY(put_setting("[ -n \"${ASSAY_ORT:-}\" ] || ASSAY_ORT=", library,
                          "\nexport ASSAY_ORT\n", out, err));
  ASSAY_TRY(assay_buf_append_text(out,
                                  "runs=$(sed -n \"${job}p\" \"$batch/" JOBS_FILE "\")\n"
                                  "[ -n \"$runs\" ] || {\n"
                                  "  echo \"job.sh: there is no job $job\" >&2\n"
                                  "  exit 2\n"
                                  "}\n",
                                  err));
  ASSAY_TRY(put_setting("cd ", m->here, " || exit 2\n", out, err));
  ASSAY_TRY(put_setting("set -- --campaign ", m->campaign, "", out, err));
  ASSAY_TRY(put_setting(" --bundles ", m->bundles, "", out, err));
  for (size_t i = 0; i < m->spec->n_run_words; i++)
    ASSAY_TRY(put_setting(" ", m->spec->run_words[i], "", out, err));
  ASSAY_TRY(assay_buf_append_text(out,
                                  "\nfor run in $runs; do set -- \"$@\" --only \"$run\"; done\n"
                                  "status=0\n",
                                  err));
  ASSAY_TRY(put_setting("", m->program, " run \"$@\" -o \"$batch/packages/$job\" || status=$?\n",
                        out, err));
  return assay_buf_append_text(out,
                               "# 1 is the gate's word, and it misses the runs of all other jobs: "
                               "'assay batch --collect' has the last.\n"
                               "[ \"$status\" -ne 1 ] || status=0\n"
                               "exit \"$status\"\n",
                               err);
}

static assay_status put_record(const maker *m, const assay_batch_made *made, assay_json_builder *b,
                               assay_error *err) {
  char sha256[ASSAY_SHA256_HEX_BYTES];
  ASSAY_TRY(
      assay_sha256_bytes(m->spec->file->text.data, m->spec->file->text.size_bytes, sha256, err));
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "schema", "assay/batch/1");
  assay_json_put_string(b, "system", systems[m->spec->system].name);
  assay_json_put_string(b, "campaign", m->campaign);
  assay_json_put_string(b, "campaign_sha256", sha256);
  assay_json_begin_array(b, "submit");
  for (size_t i = 0; i < made->n_submit; i++) assay_json_put_string(b, NULL, made->submit[i]);
  assay_json_end(b);
  assay_json_begin_array(b, "jobs");
  for (size_t i = 0; i < m->n_jobs; i++) {
    const job *one = &m->jobs[i];
    const assay_plan_bundle *bundle = &m->plan.bundles[one->bundle];
    assay_json_begin_object(b, NULL);
    assay_json_put_int(b, "job", (int64_t)i + 1);
    assay_json_put_string(b, "runtime", m->plan.runtimes[one->runtime].spec.label);
    assay_json_put_string(b, "bundle", bundle->name);
    assay_json_begin_array(b, "cases");
    for (size_t c = one->first_case; c < one->first_case + one->n_cases; c++)
      assay_json_put_string(b, NULL, bundle->manifest.cases[c].name);
    assay_json_end(b);
    assay_json_end(b);
  }
  assay_json_end(b);
  assay_json_end(b);
  return ASSAY_OK;
}

/* batch.json, which comes last: where it is, the batch is whole. */
static assay_status write_record(const maker *m, const assay_batch_made *made, assay_error *err) {
  char *path = assay_path_join(m->folder, ASSAY_BATCH_FILE);
  assay_json_builder *b = assay_json_builder_create();
  assay_status st = path != NULL ? put_record(m, made, b, err) : assay_fail_memory(err, 256);
  if (st == ASSAY_OK) st = assay_json_builder_write(b, path, err);
  assay_json_builder_destroy(b);
  assay_free(path);
  return st;
}

static assay_status write_jobs(const maker *m, assay_error *err) {
  assay_buf lines = {0}, script = {0};
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < m->n_jobs && st == ASSAY_OK; i++)
    st = put_globs(m, &m->jobs[i], &lines, err);
  if (st == ASSAY_OK) st = write_text(m, JOBS_FILE, &lines, /*runs=*/false, err);
  if (st == ASSAY_OK) st = fill_script(m, &script, err);
  if (st == ASSAY_OK) st = write_text(m, SCRIPT_FILE, &script, /*runs=*/true, err);
  assay_buf_reset(&lines);
  assay_buf_reset(&script);
  return st;
}

/* The runtime that a directive is for alone, and the directive itself; NULL: for all. */
static const char *split_directive(const maker *m, const char *directive, size_t *out_runtime) {
  const char *colon = strchr(directive, ':');
  for (size_t i = 0; colon != NULL && i < m->plan.n_runtimes; i++) {
    const char *label = m->plan.runtimes[i].spec.label;
    if (strlen(label) == (size_t)(colon - directive) &&
        strncmp(label, directive, strlen(label)) == 0) {
      *out_runtime = i;
      return colon + 1;
    }
  }
  return NULL;
}

static size_t choose_directives(const maker *m, size_t runtime, const char **out) {
  size_t n = 0, whose = 0;
  for (size_t i = 0; i < m->spec->n_directives; i++) {
    const char *own = split_directive(m, m->spec->directives[i], &whose);
    if (own == NULL)
      out[n++] = m->spec->directives[i];
    else if (whose == runtime)
      out[n++] = own;
  }
  return n;
}

/* The array of one runtime's jobs, which follow each other. */
static assay_status write_array(const maker *m, size_t first, size_t last, char **out_submit,
                                assay_error *err) {
  const job_system *system = &systems[m->spec->system];
  const size_t runtime = m->jobs[first].runtime;
  const char **directives = assay_alloc_array(m->spec->n_directives + 1, sizeof *directives);
  char *name = assay_format("%s-%s.%s", system->name, m->tags[runtime], system->ending);
  assay_buf text = {0};
  assay_status st = directives != NULL && name != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  if (st == ASSAY_OK) {
    const job_array array = {m->folder,  m->tags[runtime],
                             first + 1,  last + 1,
                             directives, choose_directives(m, runtime, directives)};
    st = system->write(&array, &text, err);
  }
  if (st == ASSAY_OK) st = write_text(m, name, &text, /*runs=*/false, err);
  if (st == ASSAY_OK) {
    *out_submit = assay_format("%s %s/%s", system->submit, m->folder, name);
    if (*out_submit == NULL) st = assay_fail_memory(err, 256);
  }
  assay_free(directives);
  assay_free(name);
  assay_buf_reset(&text);
  return st;
}

static assay_status write_arrays(const maker *m, assay_batch_made *out, assay_error *err) {
  out->submit = assay_alloc_array(m->plan.n_runtimes, sizeof *out->submit);
  if (out->submit == NULL) return assay_fail_memory(err, 64);
  for (size_t first = 0, next = 0; first < m->n_jobs; first = next) {
    while (next < m->n_jobs && m->jobs[next].runtime == m->jobs[first].runtime) next++;
    ASSAY_TRY(write_array(m, first, next - 1, &out->submit[out->n_submit], err));
    out->n_submit++;
  }
  out->n_jobs = m->n_jobs;
  return ASSAY_OK;
}

static assay_status make_folders(const maker *m, assay_error *err) {
  static const char *const names[] = {"packages", "logs"};
  for (size_t i = 0; i < N_OF(names); i++) {
    char *path = assay_path_join(m->folder, names[i]);
    if (path == NULL) return assay_fail_memory(err, 256);
    const assay_status st = assay_folder_create(path, err);
    assay_free(path);
    if (st) return st;
  }
  return ASSAY_OK;
}

static assay_status make(maker *m, assay_batch_made *out, assay_error *err) {
  ASSAY_TRY(name_runtimes(m, err));
  ASSAY_TRY(list_jobs(m, err));
  ASSAY_TRY(make_folders(m, err));
  ASSAY_TRY(write_jobs(m, err));
  ASSAY_TRY(write_arrays(m, out, err));
  return write_record(m, out, err);
}

static assay_status check_folder(const char *folder, assay_error *err) {
  char *here = NULL;
  if (folder[0] != '/') ASSAY_TRY(find_real(".", &here, err));
  char *whole = assay_path_join(here != NULL ? here : "/", folder);
  char *record = assay_path_join(folder, ASSAY_BATCH_FILE);
  assay_status st = whole != NULL && record != NULL ? check_plain(whole, err)
                                                    : assay_fail_memory(err, strlen(folder));
  if (st == ASSAY_OK && assay_path_kind_of(record) != ASSAY_PATH_NONE)
    st = assay_fail(err, ASSAY_E_ARGUMENT,
                    "'%s' holds a batch already: choose another folder, or remove it", folder);
  assay_free(here);
  assay_free(whole);
  assay_free(record);
  return st;
}

assay_status assay_batch_check(const assay_batch_spec *spec, assay_error *err) {
  for (size_t i = 0; i < spec->n_directives; i++)
    if (strpbrk(spec->directives[i], "\n\r") != NULL || spec->directives[i][0] == '\0')
      return assay_fail(err, ASSAY_E_ARGUMENT, "a directive is one line, found '%s'",
                        spec->directives[i]);
  return check_folder(spec->folder, err);
}

assay_status assay_batch_make(const assay_batch_spec *spec, assay_batch_made *out,
                              assay_error *err) {
  maker m = {.spec = spec};
  assay_batch_made made = {0};
  const assay_campaign_spec campaign = {.package_path = spec->folder,
                                        .runtimes = (const char *const *)spec->file->runtimes,
                                        .n_runtimes = spec->file->n_runtimes,
                                        .bundles = spec->bundle_folders,
                                        .n_bundles = spec->file->n_bundles,
                                        .file = spec->file};
  assay_status st = assay_batch_check(spec, err);
  if (st == ASSAY_OK) st = find_places(&m, err);
  if (st == ASSAY_OK) st = assay_plan_read(&campaign, &m.plan, err);
  if (st == ASSAY_OK) st = make(&m, &made, err);
  for (size_t i = 0; m.tags != NULL && i < m.plan.n_runtimes; i++) assay_free(m.tags[i]);
  assay_free(m.tags);
  assay_plan_reset(&m.plan);
  assay_free(m.folder);
  assay_free(m.campaign);
  assay_free(m.bundles);
  assay_free(m.here);
  assay_free(m.program);
  assay_free(m.jobs);
  if (st)
    assay_batch_made_reset(&made);
  else
    *out = made;
  return st;
}

void assay_batch_made_reset(assay_batch_made *made) {
  for (size_t i = 0; i < made->n_submit; i++) assay_free(made->submit[i]);
  assay_free(made->submit);
  *made = (assay_batch_made){0};
}

/* --- what it made --------------------------------------------------------------------------------
 */

static assay_status find_package(const char *folder, size_t number, char **out, assay_error *err) {
  assay_package package = {0};
  char *path = assay_format("%s/packages/%zu", folder, number);
  if (path == NULL) return assay_fail_memory(err, 256);
  const bool finished =
      assay_package_read(path, &package, NULL) == ASSAY_OK && package.finished_at[0] != '\0';
  assay_package_reset(&package);
  if (finished)
    *out = path;
  else
    assay_free(path);
  return ASSAY_OK;
}

static assay_status read_record(const char *path, size_t *out_n, assay_error *err) {
  assay_json *root = NULL;
  const assay_json *jobs = NULL;
  ASSAY_TRY(assay_json_read(path, ASSAY_BATCH_MAX_BYTES, &root, err));
  assay_status st = assay_json_need_schema(root, "batch", 1, err);
  if (st == ASSAY_OK) st = assay_json_need_array(root, "jobs", &jobs, err);
  if (st == ASSAY_OK) *out_n = assay_json_len(jobs);
  if (st == ASSAY_OK && (*out_n == 0 || *out_n > ASSAY_BATCH_JOBS_MAX))
    st = assay_fail(err, ASSAY_E_LIMIT, "'%s': expected 1 to %d jobs, found %zu", path,
                    ASSAY_BATCH_JOBS_MAX, *out_n);
  assay_json_destroy(root);
  return st;
}

assay_status assay_batch_jobs_read(const char *folder, assay_batch_jobs *out, assay_error *err) {
  assay_batch_jobs jobs = {0};
  char *path = assay_path_join(folder, ASSAY_BATCH_FILE);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st =
      assay_path_kind_of(path) == ASSAY_PATH_FILE
          ? read_record(path, &jobs.n, err)
          : assay_fail(err, ASSAY_E_FORMAT,
                       "'%s' holds no " ASSAY_BATCH_FILE ": 'assay batch' makes one", folder);
  assay_free(path);
  if (st) return st;
  jobs.packages = assay_alloc_array(jobs.n, sizeof *jobs.packages);
  if (jobs.packages == NULL) return assay_fail_memory(err, jobs.n * sizeof *jobs.packages);
  for (size_t i = 0; i < jobs.n && st == ASSAY_OK; i++)
    st = find_package(folder, i + 1, &jobs.packages[i], err);
  if (st)
    assay_batch_jobs_reset(&jobs);
  else
    *out = jobs;
  return st;
}

void assay_batch_jobs_reset(assay_batch_jobs *jobs) {
  for (size_t i = 0; i < jobs->n && jobs->packages != NULL; i++) assay_free(jobs->packages[i]);
  assay_free(jobs->packages);
  *jobs = (assay_batch_jobs){0};
}
