/* assay batch: a campaign as a job array of a batch system, and its jobs' packages as one. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "campaign/batch.h"
#include "cli/campaign_bundles.h"
#include "cli/cli.h"

#define COMMAND   "batch"
#define WORDS_MAX 256 /* directives, or words for 'assay run' */
#define CASES_MAX 1000000

enum { KEY_CAMPAIGN = 256, KEY_SYSTEM, KEY_CASES, KEY_DIRECTIVE, KEY_COLLECT, KEY_JSON };

static const struct argp_option options[] = {
    {"campaign", KEY_CAMPAIGN, "FILE", 0, "the campaign file", 0},
    {"system", KEY_SYSTEM, "NAME", 0, "slurm or htcondor", 0},
    {"cases", KEY_CASES, "N", 0, "cases of a bundle in one job (1)", 0},
    {"directive", KEY_DIRECTIVE, "[RUNTIME:]LINE", 0,
     "a line for the batch system as its own files have it, such as --gres=gpu:1 or request_gpus = "
     "1; for the jobs of one runtime or of all; may be repeated",
     0},
    {"collect", KEY_COLLECT, "JOBS", 0,
     "make one package of what the jobs of that folder have made, and say how it ended", 0},
    {"json", KEY_JSON, NULL, 0, "print batch.json, or how it ended, as JSON", 0},
    {"output", 'o', "FOLDER", 0, "new folder of the jobs; with --collect, of the package", 0},
    {0}};

typedef struct arguments {
  const char *campaign, *collect, *output;
  int system; /* -1: not said */
  int64_t n_cases;
  const char *directives[WORDS_MAX];
  size_t n_directives;
  const char *words[WORDS_MAX];
  size_t n_words;
  bool json;
} arguments;

static error_t take_system(arguments *a, const char *value, struct argp_state *state) {
  const char *names[ASSAY_BATCH_N_SYSTEMS];
  for (int i = 0; i < ASSAY_BATCH_N_SYSTEMS; i++) {
    names[i] = assay_batch_system_name((assay_batch_system)i);
    if (strcmp(value, names[i]) == 0) a->system = i;
  }
  if (a->system >= 0) return 0;
  const char *nearest = assay_text_nearest(value, names, N_OF(names));
  return assay_cli_usage(state, "--system: expected slurm or htcondor, found '%s'%s%s%s", value,
                         nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
                         nearest != NULL ? "'?" : "");
}

static error_t add(const char **to, size_t *n, const char *value, const struct argp_state *state) {
  if (*n == WORDS_MAX)
    return assay_cli_usage(state, "more than %d directives, or words after --", WORDS_MAX);
  to[(*n)++] = value;
  return 0;
}

static error_t check(const arguments *a, const struct argp_state *state) {
  const bool makes = a->campaign != NULL || a->system >= 0 || a->n_cases > 0 ||
                     a->n_directives > 0 || a->n_words > 0;
  if (a->collect != NULL && makes)
    return assay_cli_usage(
        state, "--collect takes what is there: of the other options only -o and --json have "
               "an effect");
  if (a->collect == NULL && a->campaign == NULL)
    return assay_cli_usage(state, "--campaign is needed, or --collect: 'assay batch --help' has "
                                  "examples");
  if (a->collect == NULL && a->system < 0)
    return assay_cli_usage(state, "--system is needed: slurm or htcondor");
  if (a->output == NULL)
    return assay_cli_usage(state, "-o is needed: a new folder for the %s",
                           a->collect != NULL ? "package" : "jobs");
  return 0;
}

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *a = state->input;
  assay_error err = {0};
  switch (key) {
  case KEY_CAMPAIGN:
    a->campaign = value;
    return 0;
  case KEY_SYSTEM:
    return take_system(a, value, state);
  case KEY_CASES:
    return assay_text_parse_int(value, "--cases", 1, CASES_MAX, &a->n_cases, &err)
               ? assay_cli_refuse(state, &err)
               : 0;
  case KEY_DIRECTIVE:
    return add(a->directives, &a->n_directives, value, state);
  case KEY_COLLECT:
    a->collect = value;
    return 0;
  case KEY_JSON:
    a->json = true;
    return 0;
  case 'o':
    a->output = value;
    return 0;
  case ARGP_KEY_ARG: /* what follows "--" */
    return state->quoted > 0 ? add(a->words, &a->n_words, value, state) : ARGP_ERR_UNKNOWN;
  case ARGP_KEY_END:
    return check(a, state);
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    options,
    parse,
    "--campaign FILE --system NAME -o JOBS [-- RUN OPTION...]\n"
    "--collect JOBS -o PACKAGE",
    "Makes the campaign's bundles and the files of a job array for each of its runtimes: a job "
    "makes "
    "the runs of one case, in a package of its own, and is resumed by submitting it again. What "
    "follows -- goes to each job's 'assay run'. The folder, this program and the runtimes must be "
    "seen by all machines under the same paths. --collect makes one package of those that have "
    "finished; what is missing there is missing in it.\v"
    "Timings want a machine that does nothing else: ask for it by a directive. Exit status: 0 the "
    "jobs are written, or all that was collected passes; 1 not so, or runs are missing; 2 wrong "
    "usage or unusable input.\n\n"
    "Examples:\n"
    "  assay batch --campaign protocol.json --system slurm --directive --exclusive \\\n"
    "    --directive cuda:--gres=gpu:1 -o jobs -- --timeout 600\n"
    "  assay batch --campaign protocol.json --system htcondor \\\n"
    "    --directive 'cuda:request_gpus = 1' -o jobs\n"
    "  assay batch --collect jobs -o package",
    NULL,
    NULL,
    NULL};

/* --- making --------------------------------------------------------------------------------------
 */

/* What a program reads: the file as it was written. */
static assay_status print_record(const char *folder, assay_error *err) {
  assay_buf text = {0};
  char *path = assay_path_join(folder, ASSAY_BATCH_FILE);
  if (path == NULL) return assay_fail_memory(err, 256);
  const assay_status st = assay_file_read(path, ASSAY_BATCH_MAX_BYTES, &text, err);
  if (st == ASSAY_OK) fputs(assay_buf_text(&text), stdout);
  assay_buf_reset(&text);
  assay_free(path);
  return st;
}

static void print_made(const arguments *a, const assay_batch_made *made) {
  printf("%zu job%s in %s\n\nSubmit:\n", made->n_jobs, made->n_jobs == 1 ? "" : "s", a->output);
  for (size_t i = 0; i < made->n_submit; i++) printf("  %s\n", made->submit[i]);
  printf("\nThen:\n  assay batch --collect %s -o PACKAGE\n", a->output);
}

static assay_status make(const arguments *a, const assay_campaign_file *file, const char *bundles,
                         assay_error *err) {
  char **folders = NULL;
  assay_batch_made made = {0};
  assay_batch_spec spec = {.folder = a->output,
                           .campaign_path = a->campaign,
                           .file = file,
                           .bundles_path = bundles,
                           .system = (assay_batch_system)a->system,
                           .cases_per_job = a->n_cases > 0 ? (size_t)a->n_cases : 1,
                           .directives = a->directives,
                           .n_directives = a->n_directives,
                           .run_words = a->words,
                           .n_run_words = a->n_words};
  ASSAY_TRY(assay_batch_check(&spec, err));
  ASSAY_TRY(assay_folder_create(bundles, err));
  ASSAY_TRY(assay_campaign_bundles_make(file, bundles, &folders, err));
  spec.bundle_folders = (const char *const *)folders;
  assay_status st = assay_batch_make(&spec, &made, err);
  if (st == ASSAY_OK && a->json)
    st = print_record(a->output, err);
  else if (st == ASSAY_OK)
    print_made(a, &made);
  assay_batch_made_reset(&made);
  assay_campaign_bundles_free(folders, file->n_bundles);
  return st;
}

static int make_batch(const arguments *a) {
  assay_campaign_file file = {0};
  assay_error err = {0};
  int exit_status = ASSAY_EXIT_DONE;
  if (!assay_cmd_run_takes(a->campaign, a->words, a->n_words, &exit_status)) return exit_status;
  char *bundles = assay_path_join(a->output, "bundles");
  assay_status st = bundles != NULL ? ASSAY_OK : assay_fail_memory(&err, 256);
  if (st == ASSAY_OK) st = assay_campaign_file_read(a->campaign, &file, &err);
  if (st == ASSAY_OK) st = make(a, &file, bundles, &err);
  assay_campaign_file_reset(&file);
  assay_free(bundles);
  return st ? assay_cli_fail(COMMAND, &err) : ASSAY_EXIT_DONE;
}

/* --- collecting ----------------------------------------------------------------------------------
 */

/* "3, 5-7", cut where it gets long. */
static void name_unfinished(const assay_batch_jobs *jobs, char *out, size_t out_bytes) {
  size_t n = 0;
  out[0] = '\0';
  for (size_t i = 0; i < jobs->n; i++) {
    size_t last = i;
    if (jobs->packages[i] != NULL) continue;
    while (last + 1 < jobs->n && jobs->packages[last + 1] == NULL) last++;
    if (n + 64 > out_bytes) {
      snprintf(out + n, out_bytes - n, ", …");
      return;
    }
    n += (size_t)snprintf(out + n, out_bytes - n, "%s%zu", n > 0 ? ", " : "", i + 1);
    if (last > i) n += (size_t)snprintf(out + n, out_bytes - n, "-%zu", last + 1);
    i = last;
  }
}

static int collect(const arguments *a) {
  assay_batch_jobs jobs = {0};
  assay_error err = {0};
  size_t n = 0;
  char unfinished[512];
  if (assay_batch_jobs_read(a->collect, &jobs, &err)) return assay_cli_fail(COMMAND, &err);
  const char **packages = assay_alloc_array(jobs.n, sizeof *packages);
  for (size_t i = 0; packages != NULL && i < jobs.n; i++)
    if (jobs.packages[i] != NULL) packages[n++] = jobs.packages[i];
  name_unfinished(&jobs, unfinished, sizeof unfinished);
  int exit_status = ASSAY_EXIT_DONE;
  if (packages == NULL) {
    (void)assay_fail_memory(&err, jobs.n);
    exit_status = assay_cli_fail(COMMAND, &err);
  } else if (n == 0) {
    (void)assay_fail(&err, ASSAY_E_ARGUMENT, "none of the %zu jobs in '%s' has finished a package",
                     jobs.n, a->collect);
    exit_status = assay_cli_fail(COMMAND, &err);
  } else {
    if (n < jobs.n)
      fprintf(stderr,
              "assay batch: %zu of %zu jobs have not finished, their runs are missing: %s\n",
              jobs.n - n, jobs.n, unfinished);
    exit_status = assay_cmd_run_merge(packages, n, a->output, a->json);
  }
  assay_free(packages);
  assay_batch_jobs_reset(&jobs);
  return exit_status;
}

int assay_cmd_batch(int argc, char **argv) {
  int exit_status = ASSAY_EXIT_DONE;
  arguments *a = assay_alloc(sizeof *a);
  if (a == NULL) return ASSAY_EXIT_FAULT;
  a->system = -1;
  if (assay_cli_parse(COMMAND, &argp, argc, argv, a, &exit_status))
    exit_status = a->collect != NULL ? collect(a) : make_batch(a);
  assay_free(a);
  return exit_status;
}
