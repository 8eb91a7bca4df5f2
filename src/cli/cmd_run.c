/* assay run: a campaign into a package, with progress while it works and a table at its end. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "campaign/worker.h"
#include "cli/checked_view.h"
#include "cli/cli.h"
#include "measure/loop.h"
#include "package/fields.h"
#include "report/campaign_view.h"
#include "report/sink.h"
#include "report/table.h"

#define LIST_MAX        4096 /* of one repeated option: command lines end before */
#define THREADS_MAX     4096
#define TIMEOUT_MAX_S   (30.0 * 86400)
#define REDRAW_NS       INT64_C(200000000)
#define SIGNALLED_BASE  128 /* as shells have it: 128 + signal */
#define BAR_CELLS       20
#define LINE_BYTES      512
#define DEFAULT_COLUMNS 80

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
  list runtimes, bundles, only, skip, provider_options;
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

static assay_status set_timeout(arguments *a, const char *value) {
  double seconds = 0;
  ASSAY_TRY(assay_text_parse_real(value, "--timeout", 1e-3, TIMEOUT_MAX_S, &seconds, &a->err));
  a->spec.timeout_ns = (int64_t)(seconds * 1e9);
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
    return assay_text_parse_int(value, "--threads", 1, THREADS_MAX, &spec->threads, &a->err);
  case KEY_PROFILED:
    return assay_text_parse_int(value, "--placement-runs", 1, most, &spec->placement_runs, &a->err);
  case KEY_PROCESSES:
    return assay_text_parse_int(value, "--processes", 1, ASSAY_CAMPAIGN_PROCESSES_MAX,
                                &spec->processes, &a->err);
  case KEY_TIMEOUT:
    return set_timeout(a, value);
  case KEY_ATOL:
    return add_tolerance(a, "--atol", value, /*is_atol=*/true);
  case KEY_RTOL:
    return add_tolerance(a, "--rtol", value, /*is_atol=*/false);
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

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *a = state->input;
  if (key == ARGP_KEY_END) {
    if (a->bundles.n == 0)
      return assay_cli_usage(state, "--bundle is needed: a folder that 'assay export' makes");
    if (a->spec.package_path == NULL)
      return assay_cli_usage(state, "-o is needed: a folder for the package");
    return 0;
  }
  if (key != 'o' && key != ARGP_KEY_ARG && (key < KEY_RUNTIME || key > KEY_JSON))
    return ARGP_ERR_UNKNOWN;
  return take(a, key, value) ? assay_cli_refuse(state, &a->err) : 0;
}

static const struct argp argp = {options,
                                 parse,
                                 "--bundle BUNDLE... -o PACKAGE",
                                 "Runs every case of every bundle on every runtime: once timed and "
                                 "compared with its references, once "
                                 "profiled for where its nodes ran, each in a process of its own.\v"
                                 "Killed at any moment, the same line goes on where it was; what "
                                 "is done is recognised by its contents. "
                                 "Exit status: 0 every run is there and passes, 1 not so (the last "
                                 "line says what), 2 wrong usage or "
                                 "unusable bundles, 3 nothing ran because a library or provider is "
                                 "not here, 128 + signal when stopped "
                                 "by one.\n\n"
                                 "Examples:\n"
                                 "  assay run --bundle attention/ --bundle heptv2/ -o package/\n"
                                 "  assay run --runtime cpu --runtime "
                                 "cpu@/opt/ort-1.27/lib/libonnxruntime.so --bundle attention/ "
                                 "-o package/",
                                 NULL,
                                 NULL,
                                 NULL};

/* --- progress ------------------------------------------------------------------------------------
 */

/* Set by the signal handler; the one global of this command. */
static volatile sig_atomic_t stopped_by = 0;

/* The first one stops in order; a second does not wait for that. The worker dies with us. */
static void on_signal(int number) {
  if (stopped_by != 0) {
    signal(number, SIG_DFL);
    raise(number);
  }
  stopped_by = number;
}

static void catch_signals(void) {
  const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action = {0};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct sigaction before;
    if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN)
      continue; /* nohup */
    sigaction(numbers[i], &action, NULL);
  }
}

typedef struct talk {
  bool on_terminal;
  bool bar_is_shown;
  size_t n_runs, n_done; /* n_done: kept and made */
  size_t n_made[2];      /* by mode */
  int64_t spent_ns[2];
  int64_t start_ns, run_start_ns, drawn_ns;
  char name[LINE_BYTES]; /* of the run that is on */
  assay_result_mode mode;
} talk;

static int columns(void) {
  struct winsize size;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return DEFAULT_COLUMNS;
  return size.ws_col < LINE_BYTES ? size.ws_col : LINE_BYTES - 1;
}

static void clear_bar(talk *t) {
  if (t->bar_is_shown) fputs("\r\033[K", stderr);
  t->bar_is_shown = false;
}

/* "1:02:03" or "2:03". */
static void duration_text(int64_t ns, char *out, size_t out_bytes) {
  int64_t s = (ns + 500000000) / 1000000000;
  if (s >= 3600)
    snprintf(out, out_bytes, "%lld:%02d:%02d", (long long)(s / 3600), (int)(s / 60 % 60),
             (int)(s % 60));
  else
    snprintf(out, out_bytes, "%d:%02d", (int)(s / 60), (int)(s % 60));
}

/* From the mean of what was made so far; -1: nothing to go by. Timing and placement alternate, so
 * half of what is left is of each. */
static int64_t left_ns(const talk *t) {
  double mean = 0;
  size_t n_known = 0;
  for (size_t i = 0; i < 2; i++) {
    if (t->n_made[i] == 0) continue;
    mean += (double)t->spent_ns[i] / (double)t->n_made[i];
    n_known++;
  }
  if (n_known == 0) return -1;
  double left = mean / (double)n_known * (double)(t->n_runs - t->n_done);
  double on = (double)(assay_clock_now_ns() - t->run_start_ns);
  return left > on ? (int64_t)(left - on) : 0;
}

static void draw_bar(talk *t) {
  char line[LINE_BYTES + 128], bar[BAR_CELLS + 1], left[32] = "?", spent[32];
  size_t full = t->n_runs > 0 ? t->n_done * BAR_CELLS / t->n_runs : 0;
  memset(bar, '.', BAR_CELLS);
  memset(bar, '#', full < BAR_CELLS ? full : BAR_CELLS);
  bar[BAR_CELLS] = '\0';
  int64_t ns = left_ns(t);
  if (ns >= 0) duration_text(ns, left, sizeof left);
  duration_text(assay_clock_now_ns() - t->start_ns, spent, sizeof spent);
  snprintf(line, sizeof line, "[%s] %zu/%zu  %s, %s left  %s", bar, t->n_done, t->n_runs, spent,
           left, t->name);
  fprintf(stderr, "\r%.*s\033[K", columns() - 1, line);
  fflush(stderr);
  t->bar_is_shown = true;
  t->drawn_ns = assay_clock_now_ns();
}

static void on_begin(void *arg, size_t n_runs, size_t n_reused) {
  talk *t = arg;
  t->n_runs = n_runs;
  t->n_done = n_reused;
  t->start_ns = t->run_start_ns = assay_clock_now_ns();
  if (n_reused > 0)
    fprintf(stderr, "%zu of %zu runs are done and kept\n", n_reused, n_runs);
  else
    fprintf(stderr, "%zu runs\n", n_runs);
}

static void on_run_begin(void *arg, size_t i, const assay_package_run *run) {
  talk *t = arg;
  (void)i;
  snprintf(t->name, sizeof t->name, "%s %s %s %s", run->runtime, run->bundle, run->case_name,
           assay_result_mode_name(run->mode));
  t->mode = run->mode;
  t->run_start_ns = assay_clock_now_ns();
  if (t->on_terminal) draw_bar(t);
}

/* What one finished run has to say, in a few words. */
static void outcome_text(const assay_result *result, char *out, size_t out_bytes) {
  if (result->status != ASSAY_RESULT_DONE)
    snprintf(out, out_bytes, "%s: %s", assay_result_status_name(result->status),
             result->reason != NULL ? result->reason : "");
  else if (result->mode == ASSAY_RESULT_PLACEMENT)
    snprintf(out, out_bytes, "placement %s%s%s", assay_verdict_name(result->placed),
             result->placed == ASSAY_VERDICT_PASS ? "" : ": ", result->placement.reason);
  else
    snprintf(out, out_bytes, "p50 %.3f ms, numbers %s%s%s",
             result->timing.stats.percentiles[0].value_ns * 1e-6,
             assay_verdict_name(result->numbers), result->numbers_reason != NULL ? ": " : "",
             result->numbers_reason != NULL ? result->numbers_reason : "");
}

static void on_run_end(void *arg, size_t i, const assay_result *result) {
  talk *t = arg;
  char text[ASSAY_ERROR_TEXT_BYTES + LINE_BYTES];
  (void)i;
  t->n_done++;
  t->n_made[t->mode]++;
  t->spent_ns[t->mode] += assay_clock_now_ns() - t->run_start_ns;
  if (t->on_terminal && assay_result_passed(result)) {
    draw_bar(t);
    return;
  }
  clear_bar(t); /* what does not pass stays to be read */
  outcome_text(result, text, sizeof text);
  fprintf(stderr, "[%zu/%zu] %s: %s\n", t->n_done, t->n_runs, t->name, text);
}

static void on_note(void *arg, const char *text) {
  clear_bar(arg);
  fprintf(stderr, "note: %s\n", text);
}

static void on_tick(void *arg) {
  talk *t = arg;
  if (t->on_terminal && assay_clock_now_ns() - t->drawn_ns > REDRAW_NS) draw_bar(t);
}

static bool on_cancelled(void *arg) {
  (void)arg;
  return stopped_by != 0;
}

/* --- the end -------------------------------------------------------------------------------------
 */

static void print_json(const char *package, const assay_campaign_summary *summary,
                       const assay_view *view) {
  assay_buf text = {0};
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "package", package);
  assay_json_put_bool(b, "qualified", view->qualified);
  assay_json_put_int(b, "runs", (int64_t)summary->n_runs);
  assay_json_put_int(b, "made", (int64_t)summary->n_made);
  assay_json_put_int(b, "kept", (int64_t)summary->n_reused);
  assay_json_put_int(b, "passed", (int64_t)summary->n_passed);
  assay_json_put_int(b, "failed", (int64_t)summary->n_failed);
  assay_json_put_int(b, "missing", (int64_t)summary->n_missing);
  assay_json_end(b);
  if (assay_json_builder_finish(b, &text, NULL) == ASSAY_OK) fputs(assay_buf_text(&text), stdout);
  assay_json_builder_destroy(b);
  assay_buf_reset(&text);
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

static int print_end(const arguments *a, const assay_campaign_summary *summary) {
  assay_view view = {0};
  assay_error err = {0};
  const char *package = a->spec.package_path;
  if (assay_checked_view_open(package, &view, &err)) return assay_cli_fail("run", &err);
  assay_status st = ASSAY_OK;
  if (a->json)
    print_json(package, summary, &view);
  else
    st = print_table(package, &view, &err);
  bool passed = view.qualified && summary->n_failed == 0 && summary->n_missing == 0;
  assay_view_close(&view);
  if (st) return assay_cli_fail("run", &err);
  if (passed) return ASSAY_EXIT_DONE;
  bool lacking =
      summary->n_passed == 0 && summary->n_lacking > 0 && summary->n_lacking == summary->n_failed;
  return lacking ? ASSAY_EXIT_MISSING : ASSAY_EXIT_GATE;
}

/* As a shell takes it: plain, or in single quotes. */
static void print_word(const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_@%+=:,./-";
  char *shown = assay_fields_printable(word);
  if (shown == NULL) return;
  bool is_plain = shown[0] != '\0' && shown[strspn(shown, plain)] == '\0';
  fputs(is_plain ? " " : " '", stderr);
  for (const char *at = shown; *at != '\0'; at++) {
    if (*at == '\'')
      fputs("'\\''", stderr);
    else
      fputc(*at, stderr);
  }
  if (!is_plain) fputc('\'', stderr);
  assay_free(shown);
}

static int say_stopped(const arguments *a, int argc, char **argv) {
  fprintf(stderr,
          "assay run: stopped by signal %d (%s); what is done is kept in '%s', and the same "
          "line goes on: assay",
          (int)stopped_by, strsignal((int)stopped_by), a->spec.package_path);
  for (int i = 0; i < argc; i++) print_word(argv[i]);
  fputc('\n', stderr);
  return SIGNALLED_BASE + (int)stopped_by;
}

static int run(arguments *a, int argc, char **argv) {
  talk t = {.on_terminal = isatty(STDERR_FILENO)};
  assay_campaign_summary summary = {0};
  assay_error err = {0};
  assay_campaign_spec *spec = &a->spec;
  const char **command = assay_alloc_array((size_t)argc + 1, sizeof *command);
  if (command == NULL) return ASSAY_EXIT_FAULT;
  command[0] = "assay";
  for (int i = 0; i < argc; i++) command[i + 1] = argv[i];
  spec->command = command;
  spec->n_command = (size_t)argc + 1;
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
  spec->progress = (assay_campaign_progress){.begin = on_begin,
                                             .run_begin = on_run_begin,
                                             .run_end = on_run_end,
                                             .note = on_note,
                                             .tick = on_tick,
                                             .cancelled = on_cancelled,
                                             .arg = &t};
  catch_signals();
  assay_status st = assay_campaign_run(spec, &summary, &err);
  clear_bar(&t);
  assay_free(command);
  if (stopped_by != 0 && (st || summary.was_cancelled)) return say_stopped(a, argc, argv);
  return st ? assay_cli_fail("run", &err) : print_end(a, &summary);
}

int assay_cmd_run(int argc, char **argv) {
  int exit_status = ASSAY_EXIT_DONE;
  arguments *a = assay_alloc(sizeof *a); /* its lists are large */
  if (a == NULL) return ASSAY_EXIT_FAULT;
  a->spec.warmup = -1;
  if (assay_cli_parse("run", &argp, argc, argv, a, &exit_status)) exit_status = run(a, argc, argv);
  for (size_t i = 0; i < a->n_tolerances; i++) assay_free(a->tolerances[i].head);
  assay_free(a);
  return exit_status;
}
