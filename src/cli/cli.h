/* What the commands share: exit statuses, argp glue, printing of errors. Only this room speaks to a person. */
#ifndef ASSAY_CLI_CLI_H
#define ASSAY_CLI_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define ASSAY_EXIT_DONE    0 /* done, and passed where a gate was asked for */
#define ASSAY_EXIT_GATE    1 /* the gate failed; all evidence is written */
#define ASSAY_EXIT_USAGE   2 /* wrong usage or unusable input */
#define ASSAY_EXIT_MISSING 3 /* something this machine lacks */
#define ASSAY_EXIT_FAULT   4 /* a fault of assay's own */

/* Prints "assay <command>: <text>" on stderr and returns the exit status that belongs to the error's status. */
int assay_cli_fail(const char *command, const assay_error *err);
int assay_cli_exit_status(assay_status status);

/* argp for a command: unknown options are refused with the nearest known one, one line on stderr, exit status 2;
 * --help goes to stdout with status 0. Returns 0 when parsed; otherwise the exit status plus one in *out_exit and nonzero. */
int assay_cli_parse(const char *command, const struct argp *argp, int argc, char **argv, void *input, int *out_exit);

/* Each command: argv[0] is its name. */
int assay_cmd_export(int argc, char **argv);
int assay_cmd_inspect(int argc, char **argv);
int assay_cmd_doctor(int argc, char **argv);
int assay_cmd_run(int argc, char **argv);
int assay_cmd_worker(int argc, char **argv);
int assay_cmd_report(int argc, char **argv);

#endif
