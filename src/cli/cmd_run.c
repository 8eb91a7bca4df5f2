/* assay run: a campaign into a package, with progress while it works and a table at its end. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "campaign/merge.h"
#include "campaign/worker.h"
#include "cli/campaign_bundles.h"
#include "cli/checked_view.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/stop.h"
#include "report/campaign_view.h"
#include "report/sink.h"
#include "report/table.h"

#define LIST_MAX 4096 /* of one repeated option: command lines end before */

enum {
  KEY_RUNTIME = 256,
  KEY_BUNDLE,
  KEY_ITERATIONS,
  KEY_WARMUP,
  KEY_THREADS,
  KEY_PROFILED,
  KEY_TIMEOUT,
  KEY_PROCESSES,
  KEY_NO_MEMORY,
  KEY_ONLY,
  KEY_SKIP,
  KEY_RETRY,
  KEY_ATOL,
  KEY_RTOL,
  KEY_PROVIDER_OPTION,
  KEY_CAMPAIGN,
  KEY_BUNDLES,
  KEY_MERGE,
  KEY_JSON
};

static const struct argp_option options[] = {
    {"bundle", KEY_BUNDLE, "BUNDLE", 0, "folder with model, manifest and cases; may be repeated",
     0},
    {"output", 'o', "PACKAGE", 0, "folder of the package; the same line again goes on in it", 0},
    {"runtime", KEY_RUNTIME, "RUNTIME", 0,
     "a provider (cpu), a provider of a certain library (cpu@/path/to/libonnxruntime.so), or a "
     "runtime "
     "file; may be repeated",
     0},
    {"provider-option", KEY_PROVIDER_OPTION, "KEY=VALUE", 0, "provider option for every runtime",
     0},
    {"campaign", KEY_CAMPAIGN, "FILE", 0,
     "a campaign file: which bundles, on which runtimes each; instead of --bundle and --runtime. "
     "Runtimes that this machine lacks are left missing",
     0},
    {"bundles", KEY_BUNDLES, "FOLDER", 0,
     "where the campaign file's exported bundles are, or are made (PACKAGE.bundles)", 0},
    {"merge", KEY_MERGE, "PACKAGE", 0,
     "make no runs: merge finished packages of one campaign, each machine's runs and record kept; "
     "given twice or more",
     0},
    {NULL, 0, NULL, 0, "How to run:", 1},
    {"iterations", KEY_ITERATIONS, "N", 0, "timed calls (100)", 0},
    {"iters", 0, NULL, OPTION_ALIAS, NULL, 0},
    {"warmup", KEY_WARMUP, "N", 0, "calls before them (10)", 0},
    {"threads", KEY_THREADS, "N", 0, "threads within an operator (1)", 0},
    {"placement-runs", KEY_PROFILED, "N", 0, "profiled calls of a placement run (3)", 0},
    {"processes", KEY_PROCESSES, "N", 0,
     "make each timing in N fresh processes, and say how far apart they are (1)", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "end a run that takes longer (1800)", 0},
    {"no-memory", KEY_NO_MEMORY, NULL, 0, "do not sample memory while a run is timed", 0},
    {NULL, 0, NULL, 0, "How to judge:", 2},
    {"atol", KEY_ATOL, "[HEAD:]NUMBER", 0, "absolute tolerance, over the manifest's", 0},
    {"rtol", KEY_RTOL, "[HEAD:]NUMBER", 0, "relative tolerance, over the manifest's", 0},
    {NULL, 0, NULL, 0, "Which runs:", 3},
    {"only", KEY_ONLY, "GLOB", 0,
     "make only runs <runtime>/<bundle>/<case>/<mode> that match; without a slash, any of the four",
     0},
    {"skip", KEY_SKIP, "GLOB", 0, "do not make runs that match", 0},
    {"retry-failed", KEY_RETRY, NULL, 0, "make again what failed, crashed or ran out of time", 0},
    {NULL, 0, NULL, 0, "Output:", 4},
    {"json", KEY_JSON, NULL, 0, "say how it ended as JSON instead of a table", 0},
    {0}};

typedef struct list {
  const char *items[LIST_MAX];
  size_t n;
} list;

typedef struct arguments {
  list runtimes, bundles, only, skip, provider_options, merge;
  const char *campaign_path, *bundles_path;
  assay_campaign_file file;
  assay_package_tolerance tolerances[LIST_MAX];
  size_t n_tolerances;
  assay_campaign_spec spec;
  bool json;
  assay_error err;
} arguments;

/* --- options -------------------------------------------------------------------------------------
 */

static assay_status add(list *to, const char *value, assay_error *err) {
  if (to->n == LIST_MAX)
    return assay_fail(err, ASSAY_E_LIMIT, "an option is repeated more than %d times", LIST_MAX);
  to->items[to->n++] = value;
  return ASSAY_OK;
}

/* "1e-3", or "bid:1e-3". The head's name ends at the last colon: numbers have none. */
static assay_status add_tolerance(arguments *a, const char *what, const char *value, bool is_atol) {
  const char *colon = strrchr(value, ':');
  double number = 0;
  if (a->n_tolerances == LIST_MAX)
    return assay_fail(&a->err, ASSAY_E_LIMIT, "%s is repeated more than %d times", what, LIST_MAX);
  ASSAY_TRY(assay_text_parse_real(colon != NULL ? colon + 1 : value, what, 0, HUGE_VAL, &number,
                                  &a->err));
  assay_package_tolerance *tolerance = &a->tolerances[a->n_tolerances];
  if (colon != NULL) {
    tolerance->head = assay_strndup(value, (size_t)(colon - value));
    if (tolerance->head == NULL) return assay_fail_memory(&a->err, strlen(value) + 1);
  }
  tolerance->has_atol = is_atol;
  tolerance->has_rtol = !is_atol;
  *(is_atol ? &tolerance->atol : &tolerance->rtol) = number;
  a->n_tolerances++;
  return ASSAY_OK;
}

static assay_status take(arguments *a, int key, const char *value) {
  const int64_t most = ASSAY_WORKER_MAX_CALLS;
  assay_campaign_spec *spec = &a->spec;
  switch (key) {
  case 'o':
    spec->package_path = value;
    return ASSAY_OK;
  case ARGP_KEY_ARG:
  case KEY_BUNDLE:
    return add(&a->bundles, value, &a->err);
  case KEY_RUNTIME:
    return add(&a->runtimes, value, &a->err);
  case KEY_ONLY:
    return add(&a->only, value, &a->err);
  case KEY_SKIP:
    return add(&a->skip, value, &a->err);
  case KEY_PROVIDER_OPTION:
    return add(&a->provider_options, value, &a->err);
  case KEY_ITERATIONS:
    return assay_text_parse_int(value, "--iterations", 1, most, &spec->iterations, &a->err);
  case KEY_WARMUP:
    return assay_text_parse_int(value, "--warmup", 0, most, &spec->warmup, &a->err);
  case KEY_THREADS:
    return assay_cli_parse_threads(value, ASSAY_CLI_THREADS_MAX, &spec->threads, &a->err);
  case KEY_PROFILED:
    return assay_text_parse_int(value, "--placement-runs", 1, most, &spec->placement_runs, &a->err);
  case KEY_PROCESSES:
    return assay_text_parse_int(value, "--processes", 1, ASSAY_CAMPAIGN_PROCESSES_MAX,
                                &spec->processes, &a->err);
  case KEY_TIMEOUT:
    return assay_cli_parse_timeout(value, &spec->timeout_ns, &a->err);
  case KEY_ATOL:
    return add_tolerance(a, "--atol", value, /*is_atol=*/true);
  case KEY_RTOL:
    return add_tolerance(a, "--rtol", value, /*is_atol=*/false);
  case KEY_CAMPAIGN:
    a->campaign_path = value;
    return ASSAY_OK;
  case KEY_BUNDLES:
    a->bundles_path = value;
    return ASSAY_OK;
  case KEY_MERGE:
    return add(&a->merge, value, &a->err);
  case KEY_NO_MEMORY:
    spec->no_memory = true;
    return ASSAY_OK;
  case KEY_RETRY:
    spec->retry_failed = true;
    return ASSAY_OK;
  case KEY_JSON:
    a->json = true;
    return ASSAY_OK;
  default:
    return assay_fail(&a->err, ASSAY_E_INTERNAL, "an option without a meaning");
  }
}

/* What is to be run is said once: by bundles, by a campaign file, or by packages to merge. */
static error_t check_source(const arguments *a, struct argp_state *state) {
  int n_sources = (a->bundles.n > 0) + (a->campaign_path != NULL) + (a->merge.n > 0);
  if (n_sources == 0)
    return assay_cli_usage(state, "--bundle is needed: a folder that 'assay export' makes");
  if (n_sources > 1)
    return assay_cli_usage(state, "of --bundle, --campaign and --merge one is enough");
  if (a->merge.n == 1)
    return assay_cli_usage(state, "--merge is given twice or more: one package is whole already");
  if (a->runtimes.n > 0 && a->bundles.n == 0)
    return assay_cli_usage(state, "--runtime would have no effect: %s says what runs where",
                           a->merge.n > 0 ? "--merge" : "--campaign");
  if (a->bundles_path != NULL && a->campaign_path == NULL)
    return assay_cli_usage(state, "--bundles would have no effect without --campaign");
  return 0;
}

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *a = state->input;
  if (key == ARGP_KEY_END) {
    if (check_source(a, state)) return EINVAL;
    if (a->spec.package_path == NULL)
      return assay_cli_usage(state, "-o is needed: a folder for the package");
    return 0;
  }
  if (key != 'o' && key != ARGP_KEY_ARG && (key < KEY_RUNTIME || key > KEY_JSON))
    return ARGP_ERR_UNKNOWN;
  return take(a, key, value) ? assay_cli_refuse(state, &a->err) : 0;
}

static const struct argp argp = {
    options,
    parse,
    "--bundle BUNDLE... -o PACKAGE",
    "Runs every case of every bundle on every runtime: once timed and compared with its "
    "references, once profiled for where its nodes ran, each in a process of its own.\v"
    "Killed at any moment, the same line goes on where it was; what is done is recognised by its "
    "contents. Exit status: 0 every run is there and passes, 1 not so (the last line says what), 2 "
    "wrong usage or unusable bundles, 3 nothing ran because a library or provider is not here, or "
    "the disk is full, 128 + signal when stopped by one.\n\n"
    "Examples:\n"
    "  assay run --bundle attention/ --bundle heptv2/ -o package/\n"
    "  assay run --runtime cpu --runtime cpu@/opt/ort-1.27/lib/libonnxruntime.so \\\n"
    "    --bundle attention/ -o package/",
    NULL,
    NULL,
    NULL};

/* --- the end -------------------------------------------------------------------------------------
 */

static assay_status print_json(const char *package, const assay_campaign_summary *summary,
                               const assay_view *view, assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "schema", "assay/run/1");
  assay_json_put_string(b, "package", package);
  assay_json_put_bool(b, "qualified", view->qualified);
  assay_json_put_int(b, "runs", (int64_t)summary->n_runs);
  assay_json_put_int(b, "made", (int64_t)summary->n_made);
  assay_json_put_int(b, "kept", (int64_t)summary->n_reused);
  assay_json_put_int(b, "passed", (int64_t)summary->n_passed);
  assay_json_put_int(b, "failed", (int64_t)summary->n_failed);
  assay_json_put_int(b, "missing", (int64_t)summary->n_missing);
  assay_json_end(b);
  return assay_cli_print_json(b, err);
}

static assay_status print_table(const char *package, const assay_view *view, assay_error *err) {
  assay_sink sink = {0};
  char verdict[512];
  assay_table_put_text(view, &sink);
  assay_sink_put(&sink, "\nPackage: ");
  assay_sink_plain(&sink, package);
  assay_sink_put(&sink, "\n");
  assay_status st = assay_sink_check(&sink, err);
  if (st == ASSAY_OK) {
    assay_view_verdict(view, verdict, sizeof verdict);
    printf("%s%s\n", assay_sink_text(&sink), verdict);
  }
  assay_sink_reset(&sink);
  return st;
}

static int print_end(const char *package, bool json, const assay_campaign_summary *summary) {
  assay_view view = {0};
  assay_error err = {0};
  if (assay_checked_view_open(package, &view, &err)) return assay_cli_fail("run", &err);
  const assay_status st =
      json ? print_json(package, summary, &view, &err) : print_table(package, &view, &err);
  bool passed = view.qualified && summary->n_failed == 0 && summary->n_missing == 0;
  assay_view_close(&view);
  if (st) return assay_cli_fail("run", &err);
  if (passed) return ASSAY_EXIT_DONE;
  bool lacking =
      summary->n_passed == 0 && summary->n_lacking > 0 && summary->n_lacking == summary->n_failed;
  return lacking ? ASSAY_EXIT_MISSING : ASSAY_EXIT_GATE;
}

/* The campaign file's runtimes, bundles and counts; those of the command line win. */
static assay_status take_file(arguments *a, char ***out_folders, assay_error *err) {
  assay_campaign_spec *spec = &a->spec;
  char *usual = assay_format("%s.bundles", spec->package_path);
  if (usual == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_campaign_file_read(a->campaign_path, &a->file, err);
  if (st == ASSAY_OK)
    st = assay_campaign_bundles_make(&a->file, a->bundles_path != NULL ? a->bundles_path : usual,
                                     out_folders, err);
  assay_free(usual);
  if (st) return st;
  spec->file = &a->file;
  spec->runtimes = (const char *const *)a->file.runtimes;
  spec->n_runtimes = a->file.n_runtimes;
  spec->bundles = (const char *const *)*out_folders;
  spec->n_bundles = a->file.n_bundles;
  if (spec->iterations == 0) spec->iterations = a->file.iterations;
  if (spec->warmup < 0) spec->warmup = a->file.warmup;
  if (spec->placement_runs == 0) spec->placement_runs = a->file.placement_runs;
  return ASSAY_OK;
}

static void take_lists(arguments *a) {
  assay_campaign_spec *spec = &a->spec;
  spec->runtimes = a->runtimes.items;
  spec->n_runtimes = a->runtimes.n;
  spec->bundles = a->bundles.items;
  spec->n_bundles = a->bundles.n;
  spec->only = a->only.items;
  spec->n_only = a->only.n;
  spec->skip = a->skip.items;
  spec->n_skip = a->skip.n;
  spec->provider_options = a->provider_options.items;
  spec->n_provider_options = a->provider_options.n;
  spec->tolerances = a->tolerances;
  spec->n_tolerances = a->n_tolerances;
}

static int run(arguments *a, int argc, char **argv) {
  assay_progress progress = {0};
  assay_campaign_summary summary = {0};
  assay_error err = {0};
  assay_campaign_spec *spec = &a->spec;
  char **folders = NULL;
  const char **command = assay_alloc_array((size_t)argc + 1, sizeof *command);
  if (command == NULL) return ASSAY_EXIT_FAULT;
  command[0] = "assay";
  for (int i = 0; i < argc; i++) command[i + 1] = argv[i];
  spec->command = command;
  spec->n_command = (size_t)argc + 1;
  spec->progress = assay_progress_begin(&progress);
  take_lists(a);
  assay_status st = a->campaign_path != NULL ? take_file(a, &folders, &err) : ASSAY_OK;
  if (st == ASSAY_OK) st = assay_campaign_run(spec, &summary, &err);
  assay_progress_end(&progress);
  assay_campaign_bundles_free(folders, a->file.n_bundles);
  assay_free(command);
  if (assay_stop_asked(NULL) && (st || summary.was_cancelled))
    return assay_progress_say_stopped("run", spec->package_path, argc, argv);
  return st ? assay_cli_fail("run", &err) : print_end(spec->package_path, a->json, &summary);
}

static void release(arguments *a) {
  for (size_t i = 0; i < a->n_tolerances; i++) assay_free(a->tolerances[i].head);
  assay_campaign_file_reset(&a->file);
  assay_free(a);
}

bool assay_cmd_run_takes(const char *campaign, const char *const *words, size_t n, int *out_exit) {
  static const char package[] = "package";
  const char *const before[] = {"run", "--campaign", campaign, "-o", package};
  arguments *a = assay_alloc(sizeof *a);
  char **argv = assay_alloc_array(N_OF(before) + n + 1, sizeof *argv);
  *out_exit = ASSAY_EXIT_FAULT;
  bool taken = a != NULL && argv != NULL;
  if (taken) {
    /* argp moves words, and writes to none. */
    for (size_t i = 0; i < N_OF(before); i++) argv[i] = (char *)(uintptr_t)before[i];
    for (size_t i = 0; i < n; i++) argv[N_OF(before) + i] = (char *)(uintptr_t)words[i];
    taken = assay_cli_parse("run", &argp, (int)(N_OF(before) + n), argv, a, out_exit);
  }
  if (taken && (a->only.n > 0 || a->bundles_path != NULL || a->json ||
                a->campaign_path != campaign || a->spec.package_path != package)) {
    fputs("assay batch: --campaign, --bundles, -o, --only and --json are each job's own: not after "
          "--\n",
          stderr);
    *out_exit = ASSAY_EXIT_USAGE;
    taken = false;
  }
  if (a != NULL) release(a);
  assay_free(argv);
  return taken;
}

/* Of a package that is there: none is made. */
static assay_status count_runs(const char *path, assay_campaign_summary *out, assay_error *err) {
  assay_package package = {0};
  ASSAY_TRY(assay_package_read(path, &package, err));
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < package.n_runs && st == ASSAY_OK; i++) {
    assay_result result = {0};
    st = assay_package_result(&package, path, i, &result, err);
    const bool is_missing = result.status == ASSAY_RESULT_MISSING;
    const bool passed = !is_missing && assay_result_passed(&result);
    out->n_missing += is_missing;
    out->n_passed += passed;
    out->n_failed += !is_missing && !passed;
    assay_result_reset(&result);
  }
  out->n_runs = package.n_runs;
  out->n_reused = out->n_passed + out->n_failed;
  assay_package_reset(&package);
  return st;
}

/* The gate's word over a merged package is that over any other. */
int assay_cmd_run_merge(const char *const *packages, size_t n, const char *out_path, bool json) {
  assay_campaign_summary summary = {0};
  assay_error err = {0};
  if (assay_merge_packages(packages, n, out_path, &err) || count_runs(out_path, &summary, &err))
    return assay_cli_fail("run", &err);
  return print_end(out_path, json, &summary);
}

int assay_cmd_run(int argc, char **argv) {
  int exit_status = ASSAY_EXIT_DONE;
  arguments *a = assay_alloc(sizeof *a); /* its lists are large */
  if (a == NULL) return ASSAY_EXIT_FAULT;
  a->spec.warmup = -1;
  if (assay_cli_parse("run", &argp, argc, argv, a, &exit_status))
    exit_status = a->merge.n > 0 ? assay_cmd_run_merge(a->merge.items, a->merge.n,
                                                       a->spec.package_path, a->json)
                                 : run(a, argc, argv);
  release(a);
  return exit_status;
}
