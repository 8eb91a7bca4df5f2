/* What the commands share: the command table's signatures, exit statuses, argp glue, printing of
 * errors. Only this room speaks to a person: stdout is data, stderr is talk. */
#ifndef ASSAY_CLI_CLI_H
#define ASSAY_CLI_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

#define ASSAY_EXIT_DONE    0 /* done, and passed where a gate was asked for */
#define ASSAY_EXIT_GATE    1 /* the gate failed; all evidence is written */
#define ASSAY_EXIT_USAGE   2 /* wrong usage or unusable input */
#define ASSAY_EXIT_MISSING 3 /* something this machine lacks */
#define ASSAY_EXIT_FAULT   4 /* a fault of assay's own */

/* Prints "assay <command>: <text>" on stderr and returns the exit status that belongs to
 * err->status; for STOPPED, that a signal stopped it, and 128 + signal. */
int assay_cli_fail(const char *command, const assay_error *err);

/* MISSING, DISK: 3. MEMORY, INTERNAL, WORKER: 4. IO: 2 (an output that cannot be written is
 * unusable input). MISMATCH, RUNTIME and the rest: 2. A command that means something else returns
 * it itself.
 */
int assay_cli_exit_status(assay_status status);

/* Parses argv (argv[0] is the command's name) with argp, strictly: options by their whole names
 * ('_' is read as '-'); an unknown one is refused with the nearest known one, a missing value is
 * named: one line on stderr. --help (and
 * -?) print the whole help on stdout; the argp's document ends with its examples, if it has any,
 * which are printed line by line as they stand.
 * The argp's parser gets `input` in state->input; it returns ARGP_ERR_UNKNOWN for keys and
 * positional arguments that it does not take; to refuse a value it returns assay_cli_usage(state,
 * …). Returns true when the command should go on; false when it should return *out_exit. */
bool assay_cli_parse(const char *command, const struct argp *argp, int argc, char **argv,
                     void *input, int *out_exit) ASSAY_NODISCARD;

/* For argp parsers: prints "assay <command>: <text>" on stderr and returns EINVAL. */
error_t assay_cli_usage(const struct argp_state *state, const char *format, ...) ASSAY_PRINTF(2, 3);
error_t assay_cli_refuse(const struct argp_state *state, const assay_error *err);

/* For argp parsers: the one positional argument of a command that takes one; another is refused as
 * one more `what`. */
error_t assay_cli_take_one(const struct argp_state *state, const char *what, const char *word,
                           const char **out);

/* Prints a finished document on stdout and destroys the builder, also where it fails. */
assay_status assay_cli_print_json(assay_json_builder *b, assay_error *err) ASSAY_NODISCARD;

/* The value of --threads: 1 to `most`, and no more than the machine's processors unless that is at
 * most 16 (oversubscribed runs are slow, and say nothing). Errors: ARGUMENT. */
#define ASSAY_CLI_THREADS_MAX 1024
assay_status assay_cli_parse_threads(const char *word, int64_t most, int64_t *out,
                                     assay_error *err) ASSAY_NODISCARD;

/* The value of --timeout, in seconds: 1 ms to 30 days, as nanoseconds. Errors: ARGUMENT. */
assay_status assay_cli_parse_timeout(const char *word, int64_t *out_ns,
                                     assay_error *err) ASSAY_NODISCARD;

/* Each command: argv[0] is its name. Returns the exit status. */
int assay_cmd_export(int argc, char **argv);
int assay_cmd_import(int argc, char **argv);
int assay_cmd_inspect(int argc, char **argv);
int assay_cmd_doctor(int argc, char **argv);
int assay_cmd_run(int argc, char **argv);
int assay_cmd_batch(int argc, char **argv);
int assay_cmd_compare(int argc, char **argv);
int assay_cmd_diagnose(int argc, char **argv);
int assay_cmd_worker(int argc, char **argv);
int assay_cmd_report(int argc, char **argv);
int assay_cmd_verify(int argc, char **argv);
int assay_cmd_fusion(int argc, char **argv);

/* Parts of 'run' that 'batch' stands on. Whether it takes these words beside a campaign file and a
 * package; otherwise false, *out_exit, and what it says of them. The exit status of --merge. */
bool assay_cmd_run_takes(const char *campaign, const char *const *words, size_t n,
                         int *out_exit) ASSAY_NODISCARD;
int assay_cmd_run_merge(const char *const *packages, size_t n, const char *out_path, bool json);

#endif
