/* assay: the table of commands, and nothing else. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"

typedef struct command {
  const char *name;
  const char *summary;
  int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
    {"export", "build a bundle: model, manifest and cases with their references", assay_cmd_export},
    {"import", "build a bundle of any ONNX model and of cases that you bring", assay_cmd_import},
    {"inspect", "say what a file is and what is in it", assay_cmd_inspect},
    {"doctor", "say which runtimes, providers and devices are here", assay_cmd_doctor},
    {"run", "run a campaign: every case on every runtime, timed and placed", assay_cmd_run},
    {"batch", "the same campaign as a job array of a batch system", assay_cmd_batch},
    {"compare", "every case twice with one thing changed, and how far apart they are",
     assay_cmd_compare},
    {"diagnose", "which block a run parts from its reference in, and likely why",
     assay_cmd_diagnose},
    {"worker", "one run in this process (what 'run' starts)", assay_cmd_worker},
    {"report", "tables and a page from a package; the gate", assay_cmd_report},
    {"fusion", "say from logs, compile traces and profiles which attention kernels ran",
     assay_cmd_fusion},
    {"verify", "every byte and every figure of a package again, from its evidence",
     assay_cmd_verify},
};
#define N_COMMANDS (sizeof commands / sizeof commands[0])

static void print_help(FILE *to) {
  fputs("Usage: assay COMMAND [OPTION...]\n"
        "Qualifies an ONNX export on the runtime that will ship it.\n\n",
        to);
  for (size_t i = 0; i < N_COMMANDS; i++)
    fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].summary);
  fputs(
      "\n'assay COMMAND --help' tells more. Exit status: 0 done (and passed), 1 the gate failed,\n"
      "2 wrong usage or unusable input, 3 something this machine lacks, 4 a fault of assay's "
      "own.\n",
      to);
}

static int say_unknown(const char *word) {
  const char *names[N_COMMANDS];
  char shown[128];
  for (size_t i = 0; i < N_COMMANDS; i++) names[i] = commands[i].name;
  assay_text_printable(word, shown, sizeof shown);
  const char *nearest = assay_text_nearest(word, names, N_COMMANDS);
  if (nearest)
    fprintf(stderr, "assay: unknown command '%s'; did you mean '%s'?\n", shown, nearest);
  else
    fprintf(stderr, "assay: unknown command '%s'; 'assay --help' lists them\n", shown);
  return ASSAY_EXIT_USAGE;
}

static int dispatch(int argc, char **argv) {
  if (argc < 2) {
    fputs("assay: which command? 'assay --help' lists them\n", stderr);
    return ASSAY_EXIT_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0 ||
      strcmp(argv[1], "-?") == 0) {
    print_help(stdout);
    return ASSAY_EXIT_DONE;
  }
  if (strcmp(argv[1], "--version") == 0) {
    puts("assay " ASSAY_VERSION);
    return ASSAY_EXIT_DONE;
  }
  for (size_t i = 0; i < N_COMMANDS; i++)
    if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
  return say_unknown(argv[1]);
}

/* A pipe that its reader closed is wrong usage; else the disk is full, or what is like one. */
static int finish_stdout(int status) {
  struct stat info;
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  const bool closed = errno == EPIPE || (fstat(STDOUT_FILENO, &info) == 0 &&
                                         (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)));
  /* an earlier write that failed, and not the last one, does not tell why */
  fprintf(stderr, "assay: could not write to stdout%s%s\n", errno != 0 ? ": " : "",
          errno != 0 ? strerror(errno) : "");
  if (status != ASSAY_EXIT_DONE) return status;
  return closed ? ASSAY_EXIT_USAGE : ASSAY_EXIT_MISSING;
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN); /* a closed pipe shows as a write error below */
  signal(SIGXFSZ, SIG_IGN); /* and so does a file that reaches the limit of its size */
  int status = dispatch(argc, argv);
  return finish_stdout(status);
}
