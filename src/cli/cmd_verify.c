/* assay verify: every byte and every figure of a package again. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/stop.h"
#include "selftest/selftest.h"
#include "verify/verify.h"

#define COMMAND  "verify"
#define JOBS_MAX 64

typedef struct verify_args {
  const char *package;
  int64_t n_jobs; /* 0: as many as there are processors */
  bool json, self_test;
} verify_args;

enum { KEY_JOBS = 0x100, KEY_JSON, KEY_SELF_TEST };

static const struct argp_option options[] = {
    {"jobs", KEY_JOBS, "N", 0, "threads (default: as many as there are processors)", 0},
    {"json", KEY_JSON, NULL, 0, "print what was found as JSON", 0},
    {"self-test", KEY_SELF_TEST, NULL, 0,
     "try to fool the gate and the verification in every known way, instead of looking at a "
     "package",
     0},
    {NULL, 0, NULL, 0, NULL, 0}};

static error_t check_args(const verify_args *args, struct argp_state *state) {
  if (!args->self_test && args->package == NULL)
    return assay_cli_usage(state, "which package? (the folder that 'assay run -o' wrote)");
  if (args->self_test && args->package != NULL)
    return assay_cli_usage(state, "--self-test makes its own packages, found also '%s'",
                           args->package);
  if (args->self_test && args->n_jobs > 0)
    return assay_cli_usage(state, "--jobs has no effect with --self-test");
  return 0;
}

static error_t parse(int key, char *value, struct argp_state *state) {
  verify_args *args = state->input;
  assay_error err = {0};
  switch (key) {
  case KEY_JOBS:
    if (assay_text_parse_int(value, "--jobs", 1, JOBS_MAX, &args->n_jobs, &err))
      return assay_cli_refuse(state, &err);
    return 0;
  case KEY_JSON:
    args->json = true;
    return 0;
  case KEY_SELF_TEST:
    args->self_test = true;
    return 0;
  case ARGP_KEY_ARG:
    return assay_cli_take_one(state, "package", value, &args->package);
  case ARGP_KEY_END:
    return check_args(args, state);
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    options,
    parse,
    "PACKAGE\n--self-test",
    "Checks every file of PACKAGE against its checksum tree, and derives every figure of its "
    "results and tables again from outputs, references, samples, profiles and logs. Needs no "
    "runtime, device or network.\v"
    "Prints one line for each problem, what was looked at, and as the last line VERIFIED or NOT "
    "VERIFIED with counts.\n"
    "--self-test makes small packages, one for each way in which known tools let a wrong result "
    "pass, and prints for each whether it was caught.\n"
    "Exit status: 0 verified, or everything caught; 1 not; 2 wrong usage, or no package.\n\n"
    "Example:\n"
    "  assay verify demo",
    NULL,
    NULL,
    NULL};

/* "figures: FILE: WHAT: expected X, found Y". */
static void print_problem(const assay_verify_problem *problem) {
  printf("%s: %s: %s%sexpected %s, found %s\n", assay_verify_kind_word(problem->kind),
         problem->file, problem->what, problem->what[0] != '\0' ? ": " : "", problem->expected,
         problem->found);
}

static void print_report(const assay_verify_report *report) {
  char verdict[256];
  for (size_t i = 0; i < report->n_problems; i++) print_problem(&report->problems[i]);
  if (report->n_problems > 0) putchar('\n');
  if (report->tool_version[0] != '\0')
    printf("written by  assay %s (SHA-256 %.12s…), %s\n", report->tool_version, report->tool_sha256,
           report->finished_at[0] != '\0' ? report->finished_at : "unfinished");
  printf("files       %zu, %.1f MB\n", report->n_files, (double)report->n_bytes * 1e-6);
  printf("figures     %zu derived again, of %zu runs%s\n", report->n_figures, report->n_runs,
         report->has_report ? " and their report" : "; there is no report");
  assay_verify_verdict(report, verdict, sizeof verdict);
  puts(verdict);
}

static void put_counts(const assay_verify_report *report, assay_json_builder *b) {
  assay_json_begin_object(b, "counts");
  for (int kind = 0; kind < ASSAY_VERIFY_N_KINDS; kind++)
    assay_json_put_int(b, assay_verify_kind_word((assay_verify_kind)kind),
                       (int64_t)report->counts[kind]);
  assay_json_end(b);
}

static void put_problems(const assay_verify_report *report, assay_json_builder *b) {
  assay_json_begin_array(b, "problems");
  for (size_t i = 0; i < report->n_problems; i++) {
    const assay_verify_problem *problem = &report->problems[i];
    assay_json_begin_object(b, NULL);
    assay_json_put_string(b, "kind", assay_verify_kind_word(problem->kind));
    assay_json_put_string(b, "file", problem->file);
    assay_json_put_string(b, "what", problem->what);
    assay_json_put_string(b, "expected", problem->expected);
    assay_json_put_string(b, "found", problem->found);
    assay_json_end(b);
  }
  assay_json_end(b);
}

static assay_status print_json(const assay_verify_report *report, assay_error *err) {
  char verdict[256];
  assay_json_builder *b = assay_json_builder_create();
  assay_verify_verdict(report, verdict, sizeof verdict);
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "schema", "assay/verification/1");
  assay_json_put_bool(b, "verified", report->n_problems == 0);
  assay_json_put_string(b, "verdict", verdict);
  assay_json_put_string(b, "tool_version", report->tool_version);
  assay_json_put_string(b, "tool_sha256", report->tool_sha256);
  assay_json_put_string(b, "started_at", report->started_at);
  assay_json_put_string(b, "finished_at",
                        report->finished_at[0] != '\0' ? report->finished_at : NULL);
  assay_json_put_int(b, "n_files", (int64_t)report->n_files);
  assay_json_put_int(b, "n_bytes", (int64_t)report->n_bytes);
  assay_json_put_int(b, "n_runs", (int64_t)report->n_runs);
  assay_json_put_int(b, "n_figures", (int64_t)report->n_figures);
  assay_json_put_bool(b, "has_report", report->has_report);
  put_counts(report, b);
  put_problems(report, b);
  assay_json_end(b);
  return assay_cli_print_json(b, err);
}

/* --- self-test -----------------------------------------------------------------------------------
 */

typedef struct telling {
  assay_json_builder *b; /* NULL: text */
} telling;

/* "caught  one NaN among good values (who lets it pass)", and why not where it was missed. */
static void tell(void *arg, const assay_selftest_outcome *outcome) {
  const telling *t = arg;
  const char *word = outcome->is_control ? (outcome->right ? "passed" : "FAILED")
                     : outcome->right    ? "caught"
                                         : "MISSED";
  if (t->b != NULL) {
    assay_json_begin_object(t->b, NULL);
    assay_json_put_string(t->b, "name", outcome->name);
    assay_json_put_string(t->b, "lets_it_pass", outcome->known[0] != '\0' ? outcome->known : NULL);
    assay_json_put_bool(t->b, "is_control", outcome->is_control);
    assay_json_put_bool(t->b, "right", outcome->right);
    assay_json_put_string(t->b, "detail", outcome->detail);
    assay_json_end(t->b);
    return;
  }
  printf("%s  %s", word, outcome->name);
  if (outcome->known[0] != '\0') printf(" (%s)", outcome->known);
  if (!outcome->right) printf(": %s", outcome->detail);
  putchar('\n');
}

static int finish_json(telling *t, const assay_selftest_summary *summary, bool all) {
  assay_error err = {0};
  assay_json_end(t->b);
  assay_json_put_bool(t->b, "all_caught", all);
  assay_json_put_int(t->b, "n_cases", (int64_t)summary->n_cases);
  assay_json_put_int(t->b, "n_caught", (int64_t)summary->n_caught);
  assay_json_put_int(t->b, "n_controls", (int64_t)summary->n_controls);
  assay_json_put_int(t->b, "n_passed", (int64_t)summary->n_passed);
  assay_json_end(t->b);
  return assay_cli_print_json(t->b, &err) ? assay_cli_fail(COMMAND, &err) : ASSAY_EXIT_DONE;
}

static int self_test(bool json) {
  assay_selftest_summary summary = {0};
  assay_error err = {0};
  telling t = {.b = json ? assay_json_builder_create() : NULL};
  int exit_status = ASSAY_EXIT_DONE;
  assay_json_begin_object(t.b, NULL);
  assay_json_put_string(t.b, "schema", "assay/self-test/1");
  assay_json_begin_array(t.b, "cases");
  assay_stop_catch();
  const assay_selftest_talk talk = {.each = tell, .arg = &t, .cancelled = assay_stop_asked};
  if (assay_selftest_run(&talk, &summary, &err)) {
    assay_json_builder_destroy(t.b);
    exit_status = assay_cli_fail(COMMAND, &err);
  } else {
    bool all = summary.n_caught == summary.n_cases && summary.n_passed == summary.n_controls;
    if (json) exit_status = finish_json(&t, &summary, all);
    if (!json)
      printf("\n%s: caught %zu of %zu, controls passed %zu of %zu\n",
             all ? "ALL CAUGHT" : "NOT ALL CAUGHT", summary.n_caught, summary.n_cases,
             summary.n_passed, summary.n_controls);
    if (exit_status == ASSAY_EXIT_DONE && !all) exit_status = ASSAY_EXIT_GATE;
  }
  return exit_status;
}

int assay_cmd_verify(int argc, char **argv) {
  verify_args args = {0};
  assay_verify_report report = {0};
  assay_error err = {0};
  int exit_status = ASSAY_EXIT_DONE;
  if (!assay_cli_parse(COMMAND, &argp, argc, argv, &args, &exit_status)) return exit_status;
  if (args.self_test) return self_test(args.json);
  if (assay_verify_package(args.package, (size_t)args.n_jobs, &report, &err))
    return assay_cli_fail(COMMAND, &err);
  exit_status = report.n_problems == 0 ? ASSAY_EXIT_DONE : ASSAY_EXIT_GATE;
  if (!args.json)
    print_report(&report);
  else if (print_json(&report, &err))
    exit_status = assay_cli_fail(COMMAND, &err);
  assay_verify_report_reset(&report);
  return exit_status;
}
