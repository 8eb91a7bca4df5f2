/* assay report: the tables, the page and the plots of a package, and the gate over it. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "report/gate.h"
#include "report/report.h"
#include "report/table.h"

#define COMMAND "report"

typedef struct report_args {
  const char *package;
  const char *gnuplot; /* NULL: in PATH; "": none */
  bool require_complete;
  bool json;
} report_args;

enum { KEY_REQUIRE_COMPLETE = 0x100, KEY_JSON, KEY_NO_PLOTS, KEY_GNUPLOT };

static const struct argp_option options[] = {
    {"require-complete", KEY_REQUIRE_COMPLETE, NULL, 0,
     "the gate: exit status 1 unless every run is there and passed", 0},
    {"json", KEY_JSON, NULL, 0, "print table.json instead of the table", 0},
    {"no-plots", KEY_NO_PLOTS, NULL, 0, "draw no plots", 0},
    {"gnuplot", KEY_GNUPLOT, "FILE", 0, "the gnuplot program to draw with (default: in PATH)", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

static error_t parse(int key, char *value, struct argp_state *state) {
  report_args *args = state->input;
  switch (key) {
  case KEY_REQUIRE_COMPLETE:
    args->require_complete = true;
    return 0;
  case KEY_JSON:
    args->json = true;
    return 0;
  case KEY_NO_PLOTS:
    if (args->gnuplot) return assay_cli_usage(state, "--no-plots: contradicts --gnuplot");
    args->gnuplot = "";
    return 0;
  case KEY_GNUPLOT:
    if (args->gnuplot) return assay_cli_usage(state, "--gnuplot: given twice, or with --no-plots");
    if (*value == 0) return assay_cli_usage(state, "--gnuplot: expected a path, found nothing");
    args->gnuplot = value;
    return 0;
  case ARGP_KEY_ARG:
    if (args->package) {
      return assay_cli_usage(state, "expected one package, found also '%s'", value);
    }
    args->package = value;
    return 0;
  case ARGP_KEY_END:
    if (args->package == NULL) {
      return assay_cli_usage(state, "which package? (the folder that 'assay run -o' wrote)");
    }
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    options,
    parse,
    "PACKAGE",
    "Writes PACKAGE/report/ (report.html, tables, plots) from the evidence in the package, prints "
    "the "
    "table, one line for each reason not to qualify, and as the last line the verdict.\v"
    "Example: assay report demo --require-complete\n"
    "Exit status: 0 written (and, with --require-complete, qualified); 1 written, not qualified; 2 "
    "wrong "
    "usage or no readable package.",
    NULL,
    NULL,
    NULL};

static assay_status print(const assay_view *view, bool json, assay_error *err) {
  assay_sink sink = {0};
  assay_status st = ASSAY_OK;
  if (json) {
    st = assay_table_json(view, &sink.buf, err);
  } else {
    assay_table_put_text(view, &sink);
    assay_gate_put_text(view, &sink);
    st = assay_sink_check(&sink, err);
  }
  if (st == ASSAY_OK) fputs(assay_sink_text(&sink), stdout);
  assay_sink_reset(&sink);
  return st;
}

static int report(const report_args *args, const assay_view *view) {
  assay_error err = {0};
  assay_report_options how = {.gnuplot = args->gnuplot};
  assay_report_outcome outcome = {0};
  if (assay_report_write(view, &how, &outcome, &err)) return assay_cli_fail(COMMAND, &err);
  fprintf(stderr, "assay report: wrote '%s/report/report.html' and %zu plots\n", args->package,
          outcome.n_plots);
  if (outcome.note[0] && how.gnuplot == NULL) fprintf(stderr, "assay report: %s\n", outcome.note);
  if (print(view, args->json, &err)) return assay_cli_fail(COMMAND, &err);
  return args->require_complete && !view->qualified ? ASSAY_EXIT_GATE : ASSAY_EXIT_DONE;
}

int assay_cmd_report(int argc, char **argv) {
  report_args args = {0};
  assay_view view = {0};
  assay_error err = {0};
  int exit_status = ASSAY_EXIT_DONE;
  if (!assay_cli_parse(COMMAND, &argp, argc, argv, &args, &exit_status)) return exit_status;
  if (assay_view_open(args.package, &view, &err)) return assay_cli_fail(COMMAND, &err);
  exit_status = report(&args, &view);
  assay_view_close(&view);
  return exit_status;
}
