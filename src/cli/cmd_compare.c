/* assay compare: the same graph, weights, inputs and references twice, with one thing changed, and
 * how far the two are from each other. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "campaign/pairing.h"
#include "campaign/vary.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/stop.h"
#include "package/pairs.h"
#include "report/campaign_view.h"
#include "report/pair_table.h"
#include "report/sink.h"

#define BUNDLES_MAX 256

enum {
  KEY_VARY = 256,
  KEY_BUNDLE,
  KEY_RUNTIME,
  KEY_THREADS,
  KEY_TIMEOUT,
  KEY_RETRY,
};

static const struct argp_option options[] = {
    {"vary", KEY_VARY, "WHAT=A|B", 0,
     "the one thing that differs: runtime=A|B, library=A|B, bundle=A|B, provider-option:KEY=A|B, "
     "session:KEY=A|B or env:NAME=A|B (a side may be '(unset)')",
     0},
    {"bundle", KEY_BUNDLE, "BUNDLE", 0, "folder of a bundle; may be repeated", 0},
    {"runtime", KEY_RUNTIME, "RUNTIME", 0, "what both sides run on, as 'assay run' takes it (cpu)",
     0},
    {"threads", KEY_THREADS, "N", 0, "threads within an operator (1)", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "end a run that takes longer (1800)", 0},
    {"retry-failed", KEY_RETRY, NULL, 0, "make again what failed, crashed or ran out of time", 0},
    {"output", 'o', "PACKAGE", 0, "folder of the package; the same line again goes on in it", 0},
    {0}};

typedef struct arguments {
  const char *bundles[BUNDLES_MAX];
  const char *runtime;
  bool has_vary;
  assay_vary vary;
  assay_campaign_spec spec;
  assay_error err;
} arguments;

static assay_status take(arguments *a, int key, const char *value) {
  assay_campaign_spec *spec = &a->spec;
  switch (key) {
  case 'o':
    spec->package_path = value;
    return ASSAY_OK;
  case KEY_BUNDLE:
    if (spec->n_bundles == BUNDLES_MAX)
      return assay_fail(&a->err, ASSAY_E_LIMIT, "more than %d bundles", BUNDLES_MAX);
    a->bundles[spec->n_bundles++] = value;
    return ASSAY_OK;
  case KEY_RUNTIME:
    if (a->runtime != NULL)
      return assay_fail(&a->err, ASSAY_E_ARGUMENT,
                        "--runtime is one, and --vary 'runtime=A|B' compares two");
    a->runtime = value;
    return ASSAY_OK;
  case KEY_VARY:
    if (a->has_vary)
      return assay_fail(&a->err, ASSAY_E_ARGUMENT, "--vary is given twice: one thing may differ");
    ASSAY_TRY(assay_vary_parse(value, &a->vary, &a->err));
    a->has_vary = true;
    return ASSAY_OK;
  case KEY_THREADS:
    return assay_cli_parse_threads(value, ASSAY_CLI_THREADS_MAX, &spec->threads, &a->err);
  case KEY_TIMEOUT:
    return assay_cli_parse_timeout(value, &spec->timeout_ns, &a->err);
  case KEY_RETRY:
    spec->retry_failed = true;
    return ASSAY_OK;
  default:
    return assay_fail(&a->err, ASSAY_E_INTERNAL, "an option without a meaning");
  }
}

static error_t check(const arguments *a, struct argp_state *state) {
  bool of_bundles = a->vary.kind == ASSAY_VARY_BUNDLE;
  if (!a->has_vary) return assay_cli_usage(state, "--vary is needed: what differs, as WHAT=A|B");
  if (of_bundles != (a->spec.n_bundles == 0))
    return assay_cli_usage(state, of_bundles ? "--vary bundle=A|B names the bundles itself"
                                             : "--bundle is needed: what both sides run");
  if (a->vary.kind == ASSAY_VARY_RUNTIME && a->runtime != NULL)
    return assay_cli_usage(state, "--vary runtime=A|B names the runtimes itself");
  if (a->spec.package_path == NULL)
    return assay_cli_usage(state, "-o is needed: a folder for the package");
  return 0;
}

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *a = state->input;
  if (key == ARGP_KEY_END) return check(a, state);
  if (key != 'o' && (key < KEY_VARY || key > KEY_RETRY)) return ARGP_ERR_UNKNOWN;
  return take(a, key, value) ? assay_cli_refuse(state, &a->err) : 0;
}

static const struct argp argp = {
    options,
    parse,
    "--vary WHAT=A|B --bundle BUNDLE... -o PACKAGE",
    "Runs every case twice with one thing changed, proves that the rest was the same, and says how "
    "far A and B are from the references and from each other.\v"
    "A diagnostic and no measurement: each side is called once after one warm-up. The package is "
    "verified and reported like any other. Exit status: 0 every pair was compared, 1 some could "
    "not be (the table says why), 2 wrong usage or unusable bundles, 3 a library or provider is "
    "not here.\n\n"
    "Examples:\n"
    "  assay compare --vary 'session:graph_optimization_level=0|99' --bundle b -o pairs\n"
    "  assay compare --vary 'library=/opt/ort-1.23/libonnxruntime.so|/opt/ort/libonnxruntime.so' "
    "\\\n"
    "    --bundle b -o pairs\n"
    "  assay compare --vary 'bundle=decomposed|attention24' -o pairs",
    NULL,
    NULL,
    NULL};

static assay_status adjust(void *arg, size_t i, assay_runtime_spec *runtime, assay_error *err) {
  const arguments *a = arg;
  return a->vary.kind == ASSAY_VARY_BUNDLE ? ASSAY_OK : assay_vary_apply(&a->vary, i, runtime, err);
}

/* Both sides' runtimes and bundles. */
static void fill_spec(arguments *a, const char *runtimes[2]) {
  assay_campaign_spec *spec = &a->spec;
  const char *usual = a->runtime != NULL ? a->runtime : "cpu";
  bool of_bundles = a->vary.kind == ASSAY_VARY_BUNDLE;
  for (size_t side = 0; side < 2; side++) {
    runtimes[side] = a->vary.kind == ASSAY_VARY_RUNTIME ? a->vary.values[side] : usual;
    if (of_bundles) a->bundles[spec->n_bundles++] = a->vary.values[side];
  }
  spec->runtimes = runtimes;
  spec->n_runtimes = of_bundles ? 1 : 2;
  spec->bundles = a->bundles;
  spec->iterations = 1;
  spec->warmup = 1;
  spec->no_memory = true;
  spec->adjust = adjust;
  spec->adjust_arg = a;
}

static int print_end(const char *package) {
  assay_view view = {0};
  assay_sink sink = {0};
  assay_error err = {0};
  assay_status st = assay_view_open(package, &view, &err);
  if (st == ASSAY_OK) {
    assay_pair_table_put_text(&view, &view.pairs, &sink);
    st = assay_sink_check(&sink, &err);
  }
  size_t n_compared = 0;
  const assay_pairs *pairs = &view.pairs;
  for (size_t i = 0; i < pairs->n; i++) n_compared += pairs->pairs[i].reason == NULL;
  if (st == ASSAY_OK)
    printf("%s\n%zu of %zu pairs compared\n", assay_sink_text(&sink), n_compared, pairs->n);
  int exit_status = st                       ? assay_cli_fail("compare", &err)
                    : n_compared == pairs->n ? ASSAY_EXIT_DONE
                                             : ASSAY_EXIT_GATE;
  assay_sink_reset(&sink);
  assay_view_close(&view);
  return exit_status;
}

static int compare(arguments *a, int argc, char **argv) {
  const char *runtimes[2];
  assay_progress progress = {0};
  assay_campaign_summary summary = {0};
  assay_campaign_spec *spec = &a->spec;
  assay_error err = {0};
  const char **command = assay_alloc_array((size_t)argc + 1, sizeof *command);
  if (command == NULL) return ASSAY_EXIT_FAULT;
  command[0] = "assay";
  for (int i = 0; i < argc; i++) command[i + 1] = argv[i];
  fill_spec(a, runtimes);
  spec->command = command;
  spec->n_command = (size_t)argc + 1;
  spec->progress = assay_progress_begin(&progress);
  assay_status st = assay_campaign_run(spec, &summary, &err);
  assay_progress_end(&progress);
  assay_free(command);
  if (assay_stop_asked(NULL) && (st || summary.was_cancelled))
    return assay_progress_say_stopped("compare", spec->package_path, argc, argv);
  if (st == ASSAY_OK) st = assay_pairing_make(spec->package_path, &a->vary, &err);
  if (st) return assay_cli_fail("compare", &err);
  int exit_status = print_end(spec->package_path);
  bool lacking = summary.n_passed == 0 && summary.n_lacking > 0;
  return exit_status == ASSAY_EXIT_GATE && lacking ? ASSAY_EXIT_MISSING : exit_status;
}

int assay_cmd_compare(int argc, char **argv) {
  int exit_status = ASSAY_EXIT_DONE;
  arguments a = {0};
  if (assay_cli_parse("compare", &argp, argc, argv, &a, &exit_status))
    exit_status = compare(&a, argc, argv);
  assay_vary_reset(&a.vary);
  return exit_status;
}
