/* assay diagnose: which block of the model a run parts from its reference in, and likely why. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/stop.h"
#include "diagnose/diagnose.h"
#include "diagnose/diagnose_write.h"

#define CASES_MAX 1024

enum { KEY_BUNDLE = 256, KEY_CASE, KEY_RUNTIME, KEY_WEIGHTS, KEY_THREADS, KEY_TIMEOUT, KEY_JSON };

static const struct argp_option options[] = {
    {"bundle", KEY_BUNDLE, "BUNDLE", 0, "folder of a bundle that 'assay export' made", 0},
    {"case", KEY_CASE, "NAME", 0, "a case of it; may be repeated (every case)", 0},
    {"runtime", KEY_RUNTIME, "RUNTIME", 0, "as 'assay run' takes it (cpu)", 0},
    {"weights", KEY_WEIGHTS, "FILE", 0,
     "the checkpoint or weights file that the bundle was exported from; not for seeded ones", 0},
    {"threads", KEY_THREADS, "N", 0, "threads of the evaluator, and within an operator (1)", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "end a run that takes longer (1800)", 0},
    {"json", KEY_JSON, NULL, 0, "print the diagnosis as JSON (schema assay/diagnosis/1)", 0},
    {"output", 'o', "FOLDER", 0,
     "a new folder for the diagnosis: instrumented graph, outputs, diagnosis.json, growth.svg", 0},
    {0}};

typedef struct arguments {
  assay_diagnose_spec spec;
  const char *cases[CASES_MAX];
  bool json;
  assay_error err;
} arguments;

static assay_status take(arguments *a, int key, const char *value) {
  assay_diagnose_spec *spec = &a->spec;
  int64_t threads = 0;
  switch (key) {
  case 'o':
    spec->out_path = value;
    return ASSAY_OK;
  case KEY_BUNDLE:
    if (spec->bundle_path != NULL)
      return assay_fail(&a->err, ASSAY_E_ARGUMENT, "--bundle is given twice");
    spec->bundle_path = value;
    return ASSAY_OK;
  case KEY_CASE:
    if (spec->n_cases == CASES_MAX)
      return assay_fail(&a->err, ASSAY_E_LIMIT, "more than %d cases", CASES_MAX);
    a->cases[spec->n_cases++] = value;
    return ASSAY_OK;
  case KEY_RUNTIME:
    spec->runtime = value;
    return ASSAY_OK;
  case KEY_WEIGHTS:
    spec->weights_path = value;
    return ASSAY_OK;
  case KEY_THREADS:
    ASSAY_TRY(assay_cli_parse_threads(value, ASSAY_REF_THREADS_MAX, &threads, &a->err));
    spec->threads = (int)threads;
    return ASSAY_OK;
  case KEY_TIMEOUT:
    return assay_cli_parse_timeout(value, &spec->timeout_ns, &a->err);
  case KEY_JSON:
    a->json = true;
    return ASSAY_OK;
  default:
    return assay_fail(&a->err, ASSAY_E_INTERNAL, "an option without a meaning");
  }
}

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *a = state->input;
  if (key == ARGP_KEY_END) {
    if (a->spec.bundle_path == NULL)
      return assay_cli_usage(state, "--bundle is needed: a folder that 'assay export' makes");
    if (a->spec.out_path == NULL)
      return assay_cli_usage(state, "-o is needed: a new folder for the diagnosis");
    return 0;
  }
  if (key != 'o' && (key < KEY_BUNDLE || key > KEY_JSON)) return ARGP_ERR_UNKNOWN;
  return take(a, key, value) ? assay_cli_refuse(state, &a->err) : 0;
}

static const struct argp argp = {
    options,
    parse,
    "--bundle BUNDLE -o FOLDER",
    "Runs an instrumented copy of the graph that also gives the outputs of the model's blocks, and "
    "compares them with the evaluator's own: which block is the first that is further from the "
    "truth than its precision explains, and likely why.\v"
    "A diagnosis is no measurement of the shipped graph: it says whether the instrumented one "
    "still "
    "gives the same outputs. Exit status: 0 no block is beyond its noise floor, 1 one is, or a "
    "case "
    "could not be run, 2 wrong usage or unusable input, 3 a library or provider is not here.\n\n"
    "Example:\n"
    "  assay diagnose --bundle attention/ --case b1-n100 -o why/",
    NULL,
    NULL,
    NULL};

/* --- the table -----------------------------------------------------------------------------------
 */

static void print_plain(const char *text, int width) {
  char shown[ASSAY_ERROR_TEXT_BYTES];
  assay_text_printable(text, shown, sizeof shown);
  printf("%-*s", width, shown);
}

static void print_block(const assay_diagnose_block *block, bool is_first) {
  printf("  ");
  print_plain(block->name, 34);
  if (!block->is_there)
    printf(" not given by the graph");
  else if (block->is_permutation)
    printf(" %lld of %lld places differ", (long long)block->n_differ, (long long)block->n_compared);
  else
    printf(" %9.2e %9.2e %9.2e %9.2e", block->run_rms, block->expected_rms, block->run_max,
           block->floor_rms);
  printf("%s\n", is_first ? "  <-- here" : block->over ? "  over" : "");
}

static void print_margins(const assay_ref_margins *margins) {
  if (!margins->present) return;
  printf("  hash keys: %lld ties across bucket boundaries", (long long)margins->n_key_ties);
  if (margins->key_ulp < INT64_MAX)
    printf("; the nearest others are %lld units in the last place apart",
           (long long)margins->key_ulp);
  printf("\n");
}

static void print_case(const assay_diagnose_case *one, bool in_half) {
  print_plain(one->name, 0);
  if (one->reason != NULL) {
    printf(": not run: ");
    print_plain(one->reason, 0);
    printf("\n\n");
    return;
  }
  if (one->same_outputs)
    printf(": the instrumented graph gives the shipped graph's outputs, bit for bit\n");
  else
    printf(": the instrumented graph gives other outputs than the shipped one, by up to %.2e\n",
           one->outputs_max_apart);
  if (in_half)
    printf("  expected: the evaluator in %s%s\n", assay_diagnose_arithmetic(one)->words,
           one->arithmetic != ASSAY_REF_RESULTS ? ", which the runtime is nearest to" : "");
  printf("  %-34s %9s %9s %9s %9s\n", "block (relative to FP64)", "runtime", "expected", "largest",
         "floor");
  for (size_t i = 0; i < one->n_blocks; i++) print_block(&one->blocks[i], i == one->first);
  print_margins(&one->margins);
  if (one->first >= one->n_blocks)
    printf("  no block is beyond its noise floor%s\n",
           in_half && one->arithmetic == ASSAY_REF_SUMS
               ? ": what outputs are off by is what accumulation in FP16 costs"
               : "");
  else
    printf("  first beyond its noise floor: %s\n", one->blocks[one->first].name);
  for (size_t i = 0; i < one->n_causes; i++) {
    printf("    ");
    print_plain(one->causes[i], 0);
    printf("\n");
  }
  printf("\n");
}

static int print_diagnosis(const arguments *a, const assay_diagnosis *diagnosis) {
  assay_error err = {0};
  if (!a->json) {
    bool in_half = strcmp(diagnosis->precision, "float32") != 0;
    for (size_t i = 0; i < diagnosis->n_cases; i++) print_case(&diagnosis->cases[i], in_half);
    printf("%s on %s, ONNX Runtime %s: a diagnosis, and no measurement; everything is in '%s'\n",
           diagnosis->precision, diagnosis->runtime,
           diagnosis->library_version != NULL ? diagnosis->library_version : "", a->spec.out_path);
    return ASSAY_EXIT_DONE;
  }
  assay_json_builder *b = assay_json_builder_create();
  assay_diagnose_put(diagnosis, b);
  return assay_cli_print_json(b, &err) ? assay_cli_fail("diagnose", &err) : ASSAY_EXIT_DONE;
}

static void say(void *arg, const char *what) {
  (void)arg;
  fprintf(stderr, "%s\n", what);
}

static int diagnose(arguments *a) {
  assay_diagnosis diagnosis = {0};
  assay_error err = {0};
  a->spec.cases = a->cases;
  a->spec.progress = say;
  a->spec.cancelled = assay_stop_asked;
  assay_stop_catch();
  if (assay_diagnose_run(&a->spec, &diagnosis, &err)) {
    if (err.status != ASSAY_E_STOPPED) return assay_cli_fail("diagnose", &err);
    (void)assay_cli_fail("diagnose", &err);
    return assay_stop_exit_status();
  }
  int exit_status = print_diagnosis(a, &diagnosis);
  if (exit_status == ASSAY_EXIT_DONE && assay_diagnosis_found(&diagnosis))
    exit_status = ASSAY_EXIT_GATE;
  assay_diagnosis_reset(&diagnosis);
  return exit_status;
}

int assay_cmd_diagnose(int argc, char **argv) {
  int exit_status = ASSAY_EXIT_DONE;
  static arguments a; /* its list is large for a stack */
  a = (arguments){0};
  if (assay_cli_parse("diagnose", &argp, argc, argv, &a, &exit_status)) exit_status = diagnose(&a);
  return exit_status;
}
