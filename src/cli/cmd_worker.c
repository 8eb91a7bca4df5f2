/* assay worker: one run in this process. `assay run` starts it with a task file; by hand, plain
 * options do. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "campaign/worker.h"
#include "cli/cli.h"
#include "runtime/find_library.h"

enum {
  KEY_SPEC = 256,
  KEY_OUT,
  KEY_PARENT,
  KEY_LIBRARY,
  KEY_PROVIDER,
  KEY_PROVIDER_OPTION,
  KEY_MODEL,
  KEY_INPUTS,
  KEY_MODE,
  KEY_ITERATIONS,
  KEY_WARMUP,
  KEY_RUNS,
  KEY_THREADS
};

static const struct argp_option options[] = {
    {"out", KEY_OUT, "DIR", 0, "folder for what the run leaves; made if it is not there", 0},
    {"spec", KEY_SPEC, "FILE", 0, "the task as 'assay run' writes it; instead of the options below",
     0},
    {"parent", KEY_PARENT, "PID", OPTION_HIDDEN, "end when this process ends", 0},
    {NULL, 0, NULL, 0, "By hand:", 1},
    {"library", KEY_LIBRARY, "PATH", 0,
     "libonnxruntime ($ASSAY_ORT, deps/ beside the program, system)", 0},
    {"provider", KEY_PROVIDER, "NAME", 0, "execution provider, short or full name (cpu)", 0},
    {"provider-option", KEY_PROVIDER_OPTION, "KEY=VALUE", 0, "provider option; may be repeated", 0},
    {"model", KEY_MODEL, "FILE", 0, "ONNX model", 0},
    {"inputs", KEY_INPUTS, "FILE", 0, ".npz with the model's inputs by name", 0},
    {"mode", KEY_MODE, "MODE", 0, "timing (default), placement, or probe: only open the library",
     0},
    {"iterations", KEY_ITERATIONS, "N", 0, "timed calls (100)", 0},
    {"iters", 0, NULL, OPTION_ALIAS, NULL, 0},
    {"warmup", KEY_WARMUP, "N", 0, "calls before them (10)", 0},
    {"runs", KEY_RUNS, "N", 0, "profiled calls in placement mode (3)", 0},
    {"threads", KEY_THREADS, "N", 0, "threads within an operator (1)", 0},
    {0}};

typedef struct arguments {
  const char *spec, *out, *library, *provider;
  const char *by_hand; /* the first option that --spec excludes */
  int64_t parent, threads;
  assay_worker_task task;
  assay_settings options;
  assay_error err;
} arguments;

static assay_status parse_mode(const char *word, assay_worker_mode *out, assay_error *err) {
  static const char *const words[] = {"timing", "placement", "probe"};
  for (size_t i = 0; i < 3; i++) {
    if (strcmp(word, words[i]) != 0) continue;
    *out = (assay_worker_mode)i;
    return ASSAY_OK;
  }
  return assay_fail(err, ASSAY_E_ARGUMENT,
                    "--mode: expected timing, placement or probe, found '%s'", word);
}

static assay_status set_path(char **out, const char *path, assay_error *err) {
  assay_free(*out);
  *out = assay_strdup(path);
  return *out != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(path) + 1);
}

static assay_status take_option(arguments *a, int key, const char *value) {
  assay_worker_task *task = &a->task;
  const int64_t most = ASSAY_WORKER_MAX_CALLS;
  switch (key) {
  case KEY_LIBRARY:
    a->library = value;
    return ASSAY_OK;
  case KEY_PROVIDER:
    a->provider = value;
    return ASSAY_OK;
  case KEY_PROVIDER_OPTION:
    return assay_settings_set_pair(&a->options, value, &a->err);
  case KEY_MODEL:
    return set_path(&task->model_path, value, &a->err);
  case KEY_INPUTS:
    return set_path(&task->case_path, value, &a->err);
  case KEY_MODE:
    return parse_mode(value, &task->mode, &a->err);
  case KEY_ITERATIONS:
    return assay_text_parse_int(value, "--iterations", 1, most, &task->iterations, &a->err);
  case KEY_WARMUP:
    return assay_text_parse_int(value, "--warmup", 0, most, &task->warmup, &a->err);
  case KEY_RUNS:
    return assay_text_parse_int(value, "--runs", 1, most, &task->placement_runs, &a->err);
  case KEY_THREADS:
    return assay_text_parse_int(value, "--threads", 1, ASSAY_CLI_THREADS_MAX, &a->threads, &a->err);
  default:
    return assay_fail(&a->err, ASSAY_E_INTERNAL, "an option without a meaning");
  }
}

static const char *name_of_key(int key) {
  for (const struct argp_option *o = options; o->name != NULL || o->doc != NULL; o++)
    if (o->key == key) return o->name;
  return "?";
}

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
  case KEY_SPEC:
    a->spec = value;
    return 0;
  case KEY_OUT:
    a->out = value;
    return 0;
  case KEY_PARENT:
    return assay_text_parse_int(value, "--parent", 1, INT32_MAX, &a->parent, &a->err)
               ? assay_cli_refuse(state, &a->err)
               : 0;
  case ARGP_KEY_END:
    if (a->out == NULL)
      return assay_cli_usage(state, "--out is needed: a folder for what the run leaves");
    if (a->spec != NULL && a->by_hand != NULL)
      return assay_cli_usage(state, "--spec says it all: --%s would have no effect", a->by_hand);
    return 0;
  default:
    if (key < KEY_LIBRARY || key > KEY_THREADS) return ARGP_ERR_UNKNOWN;
    if (a->by_hand == NULL) a->by_hand = name_of_key(key);
    return take_option(a, key, value) ? assay_cli_refuse(state, &a->err) : 0;
  }
}

static const struct argp argp = {
    options,
    parse,
    NULL,
    "One run in this process: a session on one provider, timed or profiled.\v"
    "Leaves samples.npy and outputs.npz (timing) or profile.json and log.txt (placement), and "
    "worker.json "
    "with what it found. It judges nothing; 'assay run' does.\n\n"
    "Example:\n"
    "  assay worker --model model.onnx --inputs case.npz --out /tmp/run",
    NULL,
    NULL,
    NULL};

/* The task from plain options. */
static assay_status make_task(arguments *a, assay_error *err) {
  assay_worker_task *task = &a->task;
  assay_runtime_spec *runtime = &task->runtime;
  if (task->mode != ASSAY_WORKER_PROBE && (task->model_path == NULL || task->case_path == NULL))
    return assay_fail(err, ASSAY_E_ARGUMENT, "%s is needed, or --spec",
                      task->model_path == NULL ? "--model" : "--inputs");
  ASSAY_TRY(assay_runtime_spec_parse(a->provider != NULL ? a->provider : "cpu", runtime, err));
  if (a->library == NULL) a->library = runtime->library;
  char *found = NULL;
  ASSAY_TRY(assay_find_library(a->library, &found, err));
  assay_free(runtime->library);
  runtime->library = found;
  if (a->threads > 0) runtime->intra_threads = (int)a->threads;
  for (size_t i = 0; i < a->options.n; i++)
    ASSAY_TRY(assay_settings_set(&runtime->options, a->options.items[i].key,
                                 a->options.items[i].value, err));
  return ASSAY_OK;
}

/* A worker whose campaign is gone must not go on: it would time into nobody's folder, and disturb
 * the next. */
static bool tie_to_parent(int64_t parent) {
#ifdef __linux__
  if (parent > 0) (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  return parent == 0 || getppid() == (pid_t)parent;
}

static void say_what_it_found(const assay_worker_facts *facts, const char *out) {
  printf("ONNX Runtime %s, %s\n", facts->library_version, facts->library_path);
  if (facts->session_create_ns > 0)
    printf("%s: session %.3f ms, first call %.3f ms\n", facts->provider,
           (double)facts->session_create_ns * 1e-6, (double)facts->first_run_ns * 1e-6);
  printf("%s/%s\n", out, ASSAY_WORKER_FACTS_FILE);
}

static assay_status do_task(arguments *a, assay_worker_facts *facts, assay_error *err) {
  if (a->spec != NULL)
    ASSAY_TRY(assay_worker_task_read(a->spec, &a->task, err));
  else
    ASSAY_TRY(make_task(a, err));
  ASSAY_TRY(assay_folder_create(a->out, err));
  return assay_worker_run(&a->task, a->out, facts, err);
}

int assay_cmd_worker(int argc, char **argv) {
  arguments a = {.task = {.iterations = ASSAY_CAMPAIGN_ITERATIONS,
                          .warmup = ASSAY_CAMPAIGN_WARMUP,
                          .placement_runs = ASSAY_CAMPAIGN_PLACEMENT_RUNS}};
  assay_worker_facts facts = {0};
  assay_error err = {0};
  int exit_status = ASSAY_EXIT_DONE;
  if (!assay_cli_parse("worker", &argp, argc, argv, &a, &exit_status)) goto done;
  exit_status = tie_to_parent(a.parent) ? ASSAY_EXIT_DONE : ASSAY_EXIT_FAULT;
  if (exit_status) goto done;
  if (do_task(&a, &facts, &err))
    exit_status = assay_cli_fail("worker", &err);
  else if (a.spec == NULL)
    say_what_it_found(&facts, a.out);
done:
  assay_worker_facts_reset(&facts);
  assay_worker_task_reset(&a.task);
  assay_settings_reset(&a.options);
  return exit_status;
}
