/* assay report: the tables, the page and the plots of a package, and the gate over it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/checked_view.h"
#include "cli/cli.h"
#include "cli/stop.h"
#include "report/gate.h"
#include "report/issue.h"
#include "report/junit.h"
#include "report/report.h"
#include "report/side_by_side.h"
#include "report/table.h"

#define COMMAND "report"

typedef struct report_args {
  const char *package;
  const char *other;   /* package to compare with, or NULL */
  const char *junit;   /* file, or NULL */
  const char *gnuplot; /* NULL: in PATH; "": none */
  const char *output;  /* folder of the report; NULL: in the package */
  bool require_complete, json, issue, redact;
} report_args;

enum {
  KEY_REQUIRE_COMPLETE = 0x100,
  KEY_JSON,
  KEY_NO_PLOTS,
  KEY_GNUPLOT,
  KEY_ISSUE,
  KEY_REDACT,
  KEY_JUNIT,
  KEY_COMPARE
};

static const struct argp_option options[] = {
    {"output", 'o', "DIR", 0, "write the report there, and nothing into PACKAGE", 0},
    {"require-complete", KEY_REQUIRE_COMPLETE, NULL, 0,
     "the gate: exit status 1 unless every run is there and passed", 0},
    {"json", KEY_JSON, NULL, 0, "print table.json instead of the table", 0},
    {"junit", KEY_JUNIT, "FILE", 0, "write the runs as tests in JUnit XML, too", 0},
    {"no-plots", KEY_NO_PLOTS, NULL, 0, "draw no plots", 0},
    {"gnuplot", KEY_GNUPLOT, "FILE", 0, "the gnuplot program to draw with (default: in PATH)", 0},
    {"issue", KEY_ISSUE, NULL, 0, "only print a block of text to paste in a bug report", 1},
    {"redact", KEY_REDACT, NULL, 0, "with --issue: without folders and host name", 1},
    {"compare", KEY_COMPARE, "OTHER", 0, "only print this package and another side by side", 1},
    {NULL, 0, NULL, 0, NULL, 0}};

/* An option that would have no effect beside another is refused. */
static error_t check(const report_args *args, struct argp_state *state) {
  bool prints_only = args->issue || args->other;
  if (args->package == NULL) {
    return assay_cli_usage(state, "which package? (the folder that 'assay run -o' wrote)");
  }
  if (args->redact && !args->issue)
    return assay_cli_usage(state, "--redact: has an effect with --issue only");
  if (args->issue && args->other)
    return assay_cli_usage(state, "--issue: not together with --compare");
  if (prints_only &&
      (args->json || args->junit || args->gnuplot || args->require_complete || args->output)) {
    return assay_cli_usage(
        state,
        "--%s only prints: not together with -o, --json, --junit, --no-plots, --gnuplot or "
        "--require-complete",
        args->issue ? "issue" : "compare");
  }
  return 0;
}

static error_t parse(int key, char *value, struct argp_state *state) {
  report_args *args = state->input;
  switch (key) {
  case KEY_REQUIRE_COMPLETE:
    args->require_complete = true;
    return 0;
  case 'o':
    if (args->output) return assay_cli_usage(state, "-o: given twice");
    if (*value == 0) return assay_cli_usage(state, "-o: expected a folder, found nothing");
    args->output = value;
    return 0;
  case KEY_JSON:
    args->json = true;
    return 0;
  case KEY_ISSUE:
    args->issue = true;
    return 0;
  case KEY_REDACT:
    args->redact = true;
    return 0;
  case KEY_JUNIT:
    args->junit = value;
    return 0;
  case KEY_COMPARE:
    args->other = value;
    return 0;
  case KEY_NO_PLOTS:
    if (args->gnuplot && *args->gnuplot)
      return assay_cli_usage(state, "--no-plots: contradicts --gnuplot");
    args->gnuplot = "";
    return 0;
  case KEY_GNUPLOT:
    if (args->gnuplot) return assay_cli_usage(state, "--gnuplot: given twice, or with --no-plots");
    if (*value == 0) return assay_cli_usage(state, "--gnuplot: expected a path, found nothing");
    args->gnuplot = value;
    return 0;
  case ARGP_KEY_ARG:
    return assay_cli_take_one(state, "package", value, &args->package);
  case ARGP_KEY_END:
    return check(args, state);
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    options,
    parse,
    "PACKAGE",
    "Writes PACKAGE/report/ (report.html, tables, plots) from the evidence in the package, prints "
    "the table, one line for each reason not to qualify, and as the last line the verdict.\v"
    "A package that cannot be written to needs -o; with --require-complete alone it is judged and "
    "no report is written.\n"
    "Exit status: 0 written (and, with --require-complete, qualified); 1 written, not qualified; "
    "2 wrong usage or no readable package; 3 the gnuplot that was named does not run, or the disk "
    "is full.\n\n"
    "Example:\n"
    "  assay report demo --require-complete",
    NULL,
    NULL,
    NULL};

/* Prints and releases the text. */
static assay_status print(assay_sink *sink, assay_error *err) {
  assay_status st = assay_sink_check(sink, err);
  if (st == ASSAY_OK) fputs(assay_sink_text(sink), stdout);
  assay_sink_reset(sink);
  return st;
}

static assay_status print_tables(const assay_view *view, bool json, assay_error *err) {
  assay_sink sink = {0};
  if (json) {
    sink.status = assay_table_json(view, &sink.buf, err);
  } else {
    assay_table_put_text(view, &sink);
    assay_gate_put_text(view, &sink);
  }
  return print(&sink, err);
}

static assay_status write_junit(const assay_view *view, const char *path, assay_error *err) {
  assay_sink sink = {0};
  assay_junit_put(view, &sink);
  assay_status st = assay_sink_check(&sink, err);
  if (st == ASSAY_OK) st = assay_file_write(path, sink.buf.data, sink.buf.size_bytes, err);
  assay_sink_reset(&sink);
  return st;
}

static assay_status print_issue(const assay_view *view, bool redact, assay_error *err) {
  assay_sink sink = {0};
  assay_issue_put(view, redact, &sink);
  return print(&sink, err);
}

static assay_status print_comparison(const assay_view *view, const char *other_path,
                                     assay_error *err) {
  assay_view other = {0};
  assay_sink sink = {0};
  ASSAY_TRY(assay_view_open(other_path, &other, err));
  assay_side_by_side_put(view, &other, &sink);
  assay_view_close(&other);
  return print(&sink, err);
}

/* Whether nothing can be written into the package; errno says why. */
static bool is_read_only(const char *package) {
  return access(package, W_OK) != 0 && (errno == EROFS || errno == EACCES || errno == EPERM);
}

static assay_status write_report(const report_args *args, assay_view *view, assay_error *err) {
  assay_report_options how = {
      .gnuplot = args->gnuplot, .folder = args->output, .cancelled = assay_stop_asked};
  assay_report_outcome outcome = {0};
  assay_stop_catch();
  ASSAY_TRY(assay_report_write(view, &how, &outcome, err));
  fprintf(stderr, "assay report: wrote '%s%s/report.html' and %zu plots\n",
          args->output ? args->output : args->package, args->output ? "" : "/report",
          outcome.n_plots);
  if (outcome.note[0] && (how.gnuplot == NULL || *how.gnuplot))
    fprintf(stderr, "assay report: %s\n", outcome.note);
  return ASSAY_OK;
}

/* A package that cannot be written to is judged all the same, where that is what was asked. */
static assay_status report_and_print(const report_args *args, assay_view *view, assay_error *err) {
  if (args->output || !is_read_only(args->package)) {
    ASSAY_TRY(write_report(args, view, err));
  } else if (args->require_complete) {
    fprintf(stderr, "assay report: '%s' cannot be written to (%s): no report is written\n",
            args->package, strerror(errno));
  } else {
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "'%s' cannot be written to (%s): give -o DIR to write the report elsewhere",
                      args->package, strerror(errno));
  }
  if (args->junit) ASSAY_TRY(write_junit(view, args->junit, err));
  return print_tables(view, args->json, err);
}

static assay_status report(const report_args *args, assay_view *view, assay_error *err) {
  if (args->issue) return print_issue(view, args->redact, err);
  if (args->other) return print_comparison(view, args->other, err);
  return report_and_print(args, view, err);
}

int assay_cmd_report(int argc, char **argv) {
  report_args args = {0};
  assay_view view = {0};
  assay_error err = {0};
  int exit_status = ASSAY_EXIT_DONE;
  if (!assay_cli_parse(COMMAND, &argp, argc, argv, &args, &exit_status)) return exit_status;
  if (args.gnuplot && *args.gnuplot && access(args.gnuplot, X_OK) != 0) {
    (void)assay_fail(&err, ASSAY_E_MISSING, "--gnuplot: '%s' cannot be run: %s", args.gnuplot,
                     strerror(errno));
    return assay_cli_fail(COMMAND, &err);
  }
  if (assay_checked_view_open(args.package, &view, &err)) return assay_cli_fail(COMMAND, &err);
  if (report(&args, &view, &err)) {
    exit_status = assay_cli_fail(COMMAND, &err);
  } else if (args.require_complete && !view.qualified) {
    exit_status = ASSAY_EXIT_GATE;
  }
  assay_view_close(&view);
  return exit_status;
}
