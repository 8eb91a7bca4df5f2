/* The commands' shared glue. argp does the parsing; this file makes it strict and puts each refusal
 * on one line. */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cli/stop.h"

#define TIMEOUT_MAX_S (30.0 * 86400)
#define OPTIONS_MAX   128 /* options of one command; asserted against, never reached by a user */

int assay_cli_exit_status(assay_status status) {
  switch (status) {
  case ASSAY_OK:
    return ASSAY_EXIT_DONE;
  case ASSAY_E_MISSING:
  case ASSAY_E_DISK:
    return ASSAY_EXIT_MISSING;
  case ASSAY_E_MEMORY:
  case ASSAY_E_WORKER:
  case ASSAY_E_INTERNAL:
    return ASSAY_EXIT_FAULT;
  default:
    return ASSAY_EXIT_USAGE;
  }
}

int assay_cli_fail(const char *command, const assay_error *err) {
  if (err->status == ASSAY_E_STOPPED) {
    char stopped[128];
    assay_stop_text(stopped, sizeof stopped);
    fprintf(stderr, "assay %s: %s; nothing was left behind\n", command, stopped);
    return assay_stop_exit_status();
  }
  fprintf(stderr, "assay %s: %s\n", command, err->text);
  return assay_cli_exit_status(err->status);
}

error_t assay_cli_usage(const struct argp_state *state, const char *format, ...) {
  assay_error err = {0};
  char text[ASSAY_ERROR_TEXT_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  assay_fail(&err, ASSAY_E_ARGUMENT, "%s", text);
  return assay_cli_refuse(state, &err);
}

error_t assay_cli_refuse(const struct argp_state *state, const assay_error *err) {
  fprintf(stderr, "%s: %s\n", state->name, err->text);
  return EINVAL;
}

error_t assay_cli_take_one(const struct argp_state *state, const char *what, const char *word,
                           const char **out) {
  if (*out != NULL) return assay_cli_usage(state, "expected one %s, found also '%s'", what, word);
  *out = word;
  return 0;
}

assay_status assay_cli_print_json(assay_json_builder *b, assay_error *err) {
  assay_buf text = {0};
  const assay_status st = assay_json_builder_finish(b, &text, err);
  if (st == ASSAY_OK) fputs(assay_buf_text(&text), stdout);
  assay_buf_reset(&text);
  assay_json_builder_destroy(b);
  return st;
}

assay_status assay_cli_parse_timeout(const char *word, int64_t *out_ns, assay_error *err) {
  double seconds = 0;
  ASSAY_TRY(assay_text_parse_real(word, "--timeout", 1e-3, TIMEOUT_MAX_S, &seconds, err));
  *out_ns = (int64_t)(seconds * 1e9);
  return ASSAY_OK;
}

#define THREADS_ALWAYS 16 /* allowed on machines with fewer processors, too */

assay_status assay_cli_parse_threads(const char *word, int64_t most, int64_t *out,
                                     assay_error *err) {
  int64_t threads = 0;
  ASSAY_TRY(assay_text_parse_int(word, "--threads", 1, most, &threads, err));
  const long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
  if (n_cpus > 0 && threads > THREADS_ALWAYS && threads > n_cpus)
    return assay_fail(
        err, ASSAY_E_ARGUMENT,
        "--threads is %lld, and this machine has %ld processors; expected at most %ld",
        (long long)threads, n_cpus, n_cpus > THREADS_ALWAYS ? n_cpus : (long)THREADS_ALWAYS);
  *out = threads;
  return ASSAY_OK;
}

/* The option of that long name (n bytes of it) or short key, or NULL. Aliases take the argument of
 * the option that they stand for. */
static const struct argp_option *find_option(const struct argp *argp, const char *name, size_t n,
                                             int key) {
  const struct argp_option *real = NULL;
  for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++) {
    if (!(o->flags & OPTION_ALIAS)) real = o;
    if (name && o->name && strlen(o->name) == n && strncmp(o->name, name, n) == 0) return real;
    if (!name && key && o->key == key) return real;
  }
  return NULL;
}

static size_t list_names(const struct argp *argp, const char *out[OPTIONS_MAX]) {
  size_t n = 0;
  for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
    if (o->name && !(o->flags & OPTION_HIDDEN) && n + 1 < OPTIONS_MAX) out[n++] = o->name;
  out[n++] = "help";
  return n;
}

static void say_unknown(const char *command, const struct argp *argp, const char *word) {
  const char *names[OPTIONS_MAX];
  char shown[256], bare[256];
  assay_text_printable(word, shown, sizeof shown);
  snprintf(bare, sizeof bare, "%s", word + strspn(word, "-"));
  bare[strcspn(bare, "=")] = 0;
  const char *nearest = assay_text_nearest(bare, names, list_names(argp, names));
  if (nearest)
    fprintf(stderr, "assay %s: unknown option '%s'; did you mean '--%s'?\n", command, shown,
            nearest);
  else
    fprintf(stderr, "assay %s: unknown option '%s'; 'assay %s --help' lists them\n", command, shown,
            command);
}

typedef enum scan_result { SCAN_GO_ON, SCAN_HELP, SCAN_REFUSED } scan_result;

/* One option word at argv[*i]: known, with a value where it needs one. Steps over a separate value.
 */
static scan_result scan_option(const char *command, const struct argp *argp, int argc, char **argv,
                               int *i) {
  char *word = argv[*i];
  const bool is_long = word[1] == '-';
  const char *value = NULL;
  const struct argp_option *option;
  if (is_long) {
    size_t n = strcspn(word + 2, "=");
    for (size_t k = 0; k < n; k++)
      if (word[2 + k] == '_') word[2 + k] = '-';
    if (strcmp(word, "--help") == 0) return SCAN_HELP;
    option = find_option(argp, word + 2, n, /*key=*/0);
    if (word[2 + n] == '=') value = word + 2 + n + 1;
  } else {
    if (strcmp(word, "-?") == 0) return SCAN_HELP;
    option = find_option(argp, NULL, 0, (unsigned char)word[1]);
    if (word[2]) value = word + 2;
  }
  if (!option) {
    say_unknown(command, argp, word);
    return SCAN_REFUSED;
  }
  if (option->arg && !value && *i + 1 >= argc) {
    fprintf(stderr, "assay %s: option '%s' needs a value (%s)\n", command, word, option->arg);
    return SCAN_REFUSED;
  }
  if (!option->arg && value) {
    fprintf(stderr, "assay %s: option '%s' takes no value\n", command, word);
    return SCAN_REFUSED;
  }
  if (option->arg && !value) (*i)++;
  return SCAN_GO_ON;
}

static scan_result scan(const char *command, const struct argp *argp, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--") == 0) break;
    if (argv[i][0] != '-' || argv[i][1] == 0) continue;
    scan_result result = scan_option(command, argp, argc, argv, &i);
    if (result != SCAN_GO_ON) return result;
  }
  return SCAN_GO_ON;
}

/* argp fills paragraphs, which would break lines that are there to be copied: what a document ends
 * with from "Example" on is printed as it is. */
static int print_help(const struct argp *argp, char *name) {
  const char *examples = argp->doc != NULL ? strstr(argp->doc, "Example") : NULL;
  struct argp filled = *argp;
  char *doc = NULL;
  if (examples != NULL) {
    doc = assay_strndup(argp->doc, (size_t)(examples - argp->doc));
    if (doc == NULL) return ASSAY_EXIT_FAULT;
    filled.doc = doc;
  }
  argp_help(&filled, stdout, ARGP_HELP_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
  if (examples != NULL) printf("%s\n", examples);
  assay_free(doc);
  return ASSAY_EXIT_DONE;
}

bool assay_cli_parse(const char *command, const struct argp *argp, int argc, char **argv,
                     void *input, int *out_exit) {
  char name[64];
  snprintf(name, sizeof name, "assay %s", command);
  switch (scan(command, argp, argc, argv)) {
  case SCAN_REFUSED:
    *out_exit = ASSAY_EXIT_USAGE;
    return false;
  case SCAN_HELP:
    *out_exit = print_help(argp, name);
    return false;
  case SCAN_GO_ON:
    break;
  }
  char *own_name = argv[0];
  argv[0] = name;
  int n_taken =
      argc; /* words that the parser took; the next one is a positional argument too many */
  error_t e =
      argp_parse(argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT, &n_taken, input);
  argv[0] = own_name;
  if (e == 0 && n_taken < argc) {
    char shown[256];
    assay_text_printable(argv[n_taken], shown, sizeof shown);
    fprintf(stderr, "assay %s: takes no argument '%s'; 'assay %s --help' shows what it takes\n",
            command, shown, command);
    e = EINVAL;
  }
  if (e) *out_exit = e == ENOMEM ? ASSAY_EXIT_FAULT : ASSAY_EXIT_USAGE;
  return e == 0;
}
