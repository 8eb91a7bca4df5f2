/* The worker: one session, opened and run in stages. Each stage is marked before it begins; the
 * first that fails ends the run and is named. See worker.h for the files. */
#include "campaign/worker.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "campaign/caches.h"
#include "campaign/candidates.h"
#include "campaign/cgroup.h"
#include "campaign/fallback.h"
#include "campaign/session_plan.h"
#include "measure/loop.h"
#include "package/npz.h"
#include "runtime/ort.h"

#define LOG_MAX_BYTES                                                                              \
  ((size_t)256 << 20) /* of log.txt: a runtime that logs in a loop fills no disk */
#define SEVERITY_VERBOSE 0
#define SEVERITY_WARNING 2

typedef struct worker {
  const assay_worker_task *task;
  const char *folder;
  assay_worker_facts *facts;
  int phases_fd;
  FILE *log;
  size_t log_bytes;
  pthread_mutex_t log_lock;
  assay_ort *ort;
  assay_ort_session *session;
  assay_tensor_map first, last; /* outputs of the first and of the last call */
  int64_t *samples_ns;          /* [iterations] */
  size_t n_calls_left;          /* in the loop: outputs of the last one are kept */
} worker;

/* --- marks and log -------------------------------------------------------------------------------
 */

/* The stage in the log too, so that what the runtime says there is known to belong to it. */
static void mark_log(worker *w, assay_result_stage stage) {
  pthread_mutex_lock(&w->log_lock);
  if (w->log != NULL && w->log_bytes < LOG_MAX_BYTES)
    fprintf(w->log, "[1|assay|worker|stage] %s\n", assay_result_stage_name(stage));
  pthread_mutex_unlock(&w->log_lock);
}

/* One write, so that the line is whole whatever happens next; between warm-ups and samples it costs
 * about a microsecond. A mark that cannot be written is no reason to fail a run. */
static void mark(worker *w, assay_result_stage stage) {
  char line[64];
  w->facts->stage = stage;
  mark_log(w, stage);
  int n = snprintf(line, sizeof line, "%s %lld\n", assay_result_stage_name(stage),
                   (long long)assay_clock_now_ns());
  ssize_t written = write(w->phases_fd, line, (size_t)n);
  (void)written;
}

/* Control characters as \\xNN. */
static void write_escaped(FILE *file, const char *text, size_t size_bytes) {
  for (size_t i = 0; i < size_bytes; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c < 0x20 || c == 0x7f)
      fprintf(file, "\\x%02x", c);
    else
      fputc(c, file);
  }
}

/* One record a line: "[severity|category|id|location] message", control characters escaped. Called
 * from the runtime's own threads. */
static void log_record(void *arg, int severity, const char *category, const char *id,
                       const char *location, const char *message) {
  worker *w = arg;
  pthread_mutex_lock(&w->log_lock);
  if (w->log != NULL && w->log_bytes < LOG_MAX_BYTES) {
    int n = fprintf(w->log, "[%d|%s|%s|%s] ", severity, category, id, location);
    size_t n_message = strlen(message);
    while (n_message > 0 && (message[n_message - 1] == '\n' || message[n_message - 1] == '\r'))
      n_message--;
    write_escaped(w->log, message, n_message);
    fputc('\n', w->log);
    w->log_bytes += n_message + (n > 0 ? (size_t)n : 0);
  }
  pthread_mutex_unlock(&w->log_lock);
}

static assay_status open_folder(worker *w, assay_error *err) {
  char *phases = assay_path_join(w->folder, ASSAY_WORKER_PHASES_FILE);
  char *log = assay_path_join(w->folder, ASSAY_WORKER_LOG_FILE);
  assay_status st = ASSAY_OK;
  if (phases == NULL || log == NULL) st = assay_fail_memory(err, strlen(w->folder) + 16);
  if (st == ASSAY_OK) {
    w->phases_fd = open(phases, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    w->log = fopen(log, "we");
    if (w->phases_fd < 0 || w->log == NULL)
      st = assay_fail(err, ASSAY_E_IO, "'%s': files cannot be made there", w->folder);
  }
  if (w->log != NULL) setvbuf(w->log, NULL, _IOLBF, 1 << 16); /* whole lines survive a crash */
  assay_free(phases);
  assay_free(log);
  return st;
}

/* --- stages --------------------------------------------------------------------------------------
 */

static assay_status load_library(worker *w, assay_error *err) {
  assay_worker_facts *facts = w->facts;
  bool verbose = w->task->mode == ASSAY_WORKER_PLACEMENT;
  assay_ort_options options = {.log = log_record,
                               .log_arg = w,
                               .log_severity = verbose ? SEVERITY_VERBOSE : SEVERITY_WARNING};
  mark(w, ASSAY_STAGE_LOAD_LIBRARY);
  ASSAY_TRY(assay_ort_preload((const char *const *)w->task->runtime.preload,
                              w->task->runtime.n_preload, err));
  ASSAY_TRY(assay_ort_open(w->task->runtime.library, &options, &w->ort, err));
  ASSAY_TRY(assay_text_set(&facts->library_path, assay_ort_path(w->ort), err));
  ASSAY_TRY(assay_text_set(&facts->library_version, assay_ort_version(w->ort), err));
  ASSAY_TRY(assay_text_set(&facts->library_build, assay_ort_build_info(w->ort), err));
  size_t n = assay_ort_n_providers(w->ort);
  facts->providers = assay_alloc_array(n, sizeof *facts->providers);
  if (facts->providers == NULL) return assay_fail_memory(err, n * sizeof *facts->providers);
  facts->n_providers = n;
  for (size_t i = 0; i < n; i++)
    ASSAY_TRY(assay_text_set(&facts->providers[i], assay_ort_provider(w->ort, i), err));
  return ASSAY_OK;
}

/* A session that was refused; in a placement run with the names of the nodes that it was refused
 * for. */
static assay_status refuse_session(worker *w, const assay_session_plan *plan, assay_status st,
                                   const assay_error *why, assay_error *err) {
  char names[ASSAY_ERROR_TEXT_BYTES / 2];
  char *log_path = assay_path_join(w->folder, ASSAY_WORKER_LOG_FILE);
  bool named =
      w->task->mode == ASSAY_WORKER_PLACEMENT && assay_fallback_was_refused(why->text) &&
      log_path != NULL && fflush(w->log) == 0 &&
      assay_fallback_name(w->ort, &plan->spec, log_path, names, sizeof names, NULL) == ASSAY_OK;
  assay_free(log_path);
  return named ? assay_fail(err, st, "no session without the CPU: %s", names)
               : assay_fail(err, st, "%s", why->text);
}

static assay_status open_planned_session(worker *w, assay_session_plan *plan, assay_error *err) {
  assay_error why = {0};

  plan->spec.model_path = w->task->model_path;
  ASSAY_TRY(assay_session_plan_options(plan, w->facts->options_sha256, &w->facts->options, err));
  mark(w, ASSAY_STAGE_SESSION);
  int64_t start_ns = assay_clock_raw_ns();
  assay_status st = assay_ort_session_open(w->ort, &plan->spec, &w->session, &why);
  int64_t end_ns = assay_clock_raw_ns();
  if (st == ASSAY_E_MISSING) w->facts->stage = ASSAY_STAGE_PROVIDER;
  if (st) return refuse_session(w, plan, st, &why, err);
  w->facts->session_create_ns = end_ns - start_ns;
  return assay_sha256_file(w->task->model_path, w->facts->model_sha256, /*out_size_bytes=*/NULL,
                           err);
}

/* --- how the graph was divided --------------------------------------------------------------- */

/* The list being written: nodes go through memory, so that their number stands first. */
typedef struct assignment {
  FILE *file;
  size_t n;
} assignment;

static assay_status write_assigned(void *arg, const assay_ort_assigned *node, assay_error *err) {
  (void)err;
  assignment *a = arg;
  const char *const texts[] = {node->provider, node->domain, node->op, node->name};
  fprintf(a->file, "%zu", node->part);
  for (size_t i = 0; i < N_OF(texts); i++) {
    fputc('\t', a->file);
    write_escaped(a->file, texts[i], strlen(texts[i]));
  }
  fputc('\n', a->file);
  a->n++;
  return ASSAY_OK;
}

/* What the runtime says of itself, or why it says nothing: both are evidence, and neither ends a
 * run. */
static assay_status keep_assignment(worker *w, assay_error *err) {
  char *nodes = NULL;
  size_t n_bytes = 0;
  assay_error why = {0};
  assay_buf text = {0};
  assignment a = {.file = open_memstream(&nodes, &n_bytes)}; /* by malloc, not by our door */
  if (a.file == NULL) return assay_fail_memory(err, 1);
  assay_status unsaid = assay_ort_session_each_assigned(w->session, write_assigned, &a, &why);
  bool is_short = fclose(a.file) != 0;
  char *path = assay_path_join(w->folder, ASSAY_WORKER_ASSIGNMENT_FILE);
  char *head = unsaid ? assay_format("assay/assignment/1 unavailable: %s\n", why.text)
                      : assay_format("assay/assignment/1 %zu nodes\n", a.n);
  assay_status st =
      is_short || path == NULL || head == NULL ? assay_fail_memory(err, n_bytes) : ASSAY_OK;
  if (st == ASSAY_OK) st = assay_buf_append_text(&text, head, err);
  if (st == ASSAY_OK && !unsaid) st = assay_buf_append(&text, nodes, n_bytes, err);
  if (st == ASSAY_OK) st = assay_file_write(path, text.data, text.size_bytes, err);
  assay_buf_reset(&text);
  assay_free(path);
  assay_free(head);
  free(nodes);
  return st;
}

static assay_status open_session(worker *w, assay_error *err) {
  assay_session_plan plan = {0};
  char *prefix = NULL;
  assay_status st = assay_session_plan_init(&w->task->runtime, &plan, err);
  if (st == ASSAY_OK && w->task->mode == ASSAY_WORKER_PLACEMENT) {
    prefix = assay_path_join(w->folder, "profile-raw");
    if (prefix == NULL) st = assay_fail_memory(err, strlen(w->folder) + 16);
    plan.spec.profile_prefix = prefix;
    plan.spec.verbose = plan.spec.record_assignment = true;
  }
  if (st == ASSAY_OK) st = open_planned_session(w, &plan, err);
  if (st == ASSAY_OK && w->task->mode == ASSAY_WORKER_PLACEMENT) st = keep_assignment(w, err);
  assay_session_plan_reset(&plan);
  assay_free(prefix);
  return st;
}

/* The case's arrays that the model has inputs for, as views: references stay out. */
static assay_status pick_inputs(const worker *w, const assay_tensor_map *arrays,
                                assay_tensor_map *out, assay_error *err) {
  for (size_t i = 0; i < assay_ort_session_n_inputs(w->session); i++) {
    const char *name = assay_ort_session_input(w->session, i)->name;
    const assay_tensor *array = assay_tensor_map_find(arrays, name);
    if (array == NULL) continue; /* bind names what is missing */
    assay_tensor view = {0};
    ASSAY_TRY(
        assay_tensor_init_view(&view, array->dtype, array->rank, array->dims, array->data, err));
    ASSAY_TRY(assay_tensor_map_add(out, name, &view, err));
  }
  return ASSAY_OK;
}

static assay_status bind_inputs(worker *w, assay_tensor_map *arrays, assay_tensor_map *inputs,
                                assay_error *err) {
  mark(w, ASSAY_STAGE_BIND);
  ASSAY_TRY(assay_npz_read(w->task->case_path, /*limits=*/NULL, arrays, err));
  ASSAY_TRY(pick_inputs(w, arrays, inputs, err));
  return assay_ort_session_bind(w->session, inputs, err);
}

static assay_status first_run(worker *w, assay_error *err) {
  mark(w, ASSAY_STAGE_FIRST_RUN);
  int64_t start_ns = assay_clock_raw_ns();
  assay_status st = assay_ort_session_run(w->session, err);
  int64_t end_ns = assay_clock_raw_ns();
  if (st) return st;
  w->facts->first_run_ns = end_ns - start_ns;
  ASSAY_TRY(assay_ort_session_copy_outputs(w->session, &w->first, err));
  assay_ort_session_release_outputs(w->session);
  return ASSAY_OK;
}

static assay_status call_session(void *arg, assay_error *err) {
  worker *w = arg;
  return assay_ort_session_run(w->session, err);
}

/* After each call: outputs go, but for those of the last. */
static void release_outputs(void *arg) {
  worker *w = arg;
  if (--w->n_calls_left > 0) assay_ort_session_release_outputs(w->session);
}

static assay_status run_loop(worker *w, assay_result_stage stage, size_t n, int64_t *samples_ns,
                             bool keep_last, assay_error *err) {
  assay_loop_spec spec = {.call = call_session, .after = release_outputs, .arg = w, .n_samples = n};
  w->n_calls_left = keep_last ? n : SIZE_MAX;
  mark(w, stage);
  return assay_loop_run(&spec, /*warmup_ns=*/NULL, samples_ns, err);
}

static bool same_outputs(const assay_tensor_map *a, const assay_tensor_map *b) {
  if (a->n != b->n) return false;
  for (size_t i = 0; i < a->n; i++) {
    const assay_tensor *x = &a->items[i].tensor;
    const assay_tensor *y = assay_tensor_map_find(b, a->items[i].name);
    if (y == NULL || x->dtype != y->dtype || !assay_tensor_same_shape(x, y)) return false;
    if (x->size_bytes > 0 && memcmp(x->data, y->data, x->size_bytes) != 0) return false;
  }
  return true;
}

static assay_status write_samples(worker *w, assay_error *err) {
  assay_tensor view = {0};
  int64_t n = w->task->iterations;
  char *path = assay_path_join(w->folder, ASSAY_WORKER_SAMPLES_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(w->folder) + 16);
  assay_status st = assay_tensor_init_view(&view, ASSAY_DTYPE_I64, 1, &n, w->samples_ns, err);
  if (st == ASSAY_OK) st = assay_npy_write(path, &view, err);
  assay_free(path);
  return st;
}

static assay_status write_outputs(worker *w, assay_error *err) {
  char *path = assay_path_join(w->folder, ASSAY_WORKER_OUTPUTS_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(w->folder) + 16);
  assay_status st = assay_npz_write(path, &w->last, err);
  assay_free(path);
  return st;
}

static assay_status time_calls(worker *w, assay_error *err) {
  size_t n = (size_t)w->task->iterations, n_warmup = (size_t)w->task->warmup;
  w->samples_ns = assay_alloc_array(n > n_warmup ? n : n_warmup, sizeof *w->samples_ns);
  if (w->samples_ns == NULL) return assay_fail_memory(err, n * sizeof *w->samples_ns);
  if (n_warmup > 0)
    ASSAY_TRY(run_loop(w, ASSAY_STAGE_WARMUP, n_warmup, w->samples_ns, /*keep_last=*/false, err));
  ASSAY_TRY(run_loop(w, ASSAY_STAGE_TIMING, n, w->samples_ns, /*keep_last=*/true, err));
  mark(w, ASSAY_STAGE_OUTPUTS);
  w->facts->warmup = w->task->warmup;
  w->facts->iterations = w->task->iterations;
  ASSAY_TRY(assay_ort_session_copy_outputs(w->session, &w->last, err));
  w->facts->outputs_identical = same_outputs(&w->first, &w->last);
  ASSAY_TRY(write_samples(w, err));
  return write_outputs(w, err);
}

/* The profile from where the runtime put it to its name in the folder. */
static assay_status take_profile(worker *w, assay_error *err) {
  char *from = NULL, *to = assay_path_join(w->folder, ASSAY_WORKER_PROFILE_FILE);
  if (to == NULL) return assay_fail_memory(err, strlen(w->folder) + 16);
  assay_status st = assay_ort_session_end_profiling(w->session, &from, err);
  if (st == ASSAY_OK && rename(from, to) != 0)
    st = assay_fail(err, ASSAY_E_IO, "profile '%s' cannot be moved to '%s'", from, to);
  assay_free(from);
  assay_free(to);
  return st;
}

static assay_status profile_calls(worker *w, assay_error *err) {
  mark(w, ASSAY_STAGE_PLACEMENT);
  for (int64_t i = 1; i < w->task->placement_runs; i++) { /* the first call is one of them */
    ASSAY_TRY(assay_ort_session_run(w->session, err));
    assay_ort_session_release_outputs(w->session);
  }
  w->facts->profiled_runs = w->task->placement_runs;
  ASSAY_TRY(take_profile(w, err));
  if (fflush(w->log) != 0 || ferror(w->log))
    return assay_fail(err, ASSAY_E_IO, "'%s/%s' could not be written whole", w->folder,
                      ASSAY_WORKER_LOG_FILE);
  return ASSAY_OK;
}

static assay_status run_bound(worker *w, assay_error *err) {
  ASSAY_TRY(first_run(w, err));
  return w->task->mode == ASSAY_WORKER_TIMING ? time_calls(w, err) : profile_calls(w, err);
}

/* Constants are folded at level 1. What else happens there would take the names of constants away:
 * equal ones become one, and products and sums become one operator. */
static assay_status fold_constants(worker *w, assay_error *err) {
  static const assay_ort_pair config[] = {
      {"optimization.disable_specified_optimizers",
       "ConstantSharing;MatMulAddFusion;CommonSubexpressionElimination;ReshapeFusion;"
       "GemmActivationFusion;GatherToSliceFusion;GatherSliceToSplitFusion;TransposeOptimizer"}};
  char *path = assay_path_join(w->folder, ASSAY_WORKER_FOLDED_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(w->folder) + 16);
  const assay_ort_session_spec spec = {.model_path = w->task->model_path,
                                       .provider = "cpu",
                                       .graph_optimization_level = 1,
                                       .config = config,
                                       .n_config = N_OF(config),
                                       .optimized_path = path};
  mark(w, ASSAY_STAGE_SESSION);
  assay_status st = assay_ort_session_open(w->ort, &spec, &w->session, err);
  assay_ort_session_close(w->session);
  w->session = NULL;
  assay_free(path);
  return st;
}

static assay_status run_stages(worker *w, assay_error *err) {
  ASSAY_TRY(load_library(w, err));
  if (w->task->mode == ASSAY_WORKER_PROBE) return ASSAY_OK;
  if (w->task->mode == ASSAY_WORKER_FOLD) return fold_constants(w, err);
  ASSAY_TRY(open_session(w, err));
  assay_tensor_map arrays = {0}, inputs = {0};
  assay_status st = bind_inputs(w, &arrays, &inputs, err);
  if (st == ASSAY_OK) st = run_bound(w, err);
  assay_ort_session_close(w->session); /* before the inputs that are bound to it */
  w->session = NULL;
  assay_tensor_map_reset(&inputs);
  assay_tensor_map_reset(&arrays);
  return st;
}

/* --- the whole -----------------------------------------------------------------------------------
 */

static assay_status collect_surroundings(worker *w, assay_error *err) {
  assay_worker_facts *facts = w->facts;
  facts->affinity = assay_machine_value("/proc/self/status", "Cpus_allowed_list");
  facts->load_average = assay_machine_line("/proc/loadavg");
  facts->governor = assay_machine_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  facts->cgroup_cpu_max = assay_cgroup_read("", ASSAY_CGROUP_CPU);
  facts->cgroup_memory_max = assay_cgroup_read("", ASSAY_CGROUP_MEMORY);
  if (facts->affinity == NULL || facts->load_average == NULL || facts->governor == NULL ||
      facts->cgroup_cpu_max == NULL || facts->cgroup_memory_max == NULL)
    return assay_fail_memory(err, 64);
  ASSAY_TRY(assay_text_set(&facts->provider, w->task->runtime.provider, err));
  ASSAY_TRY(assay_caches_before(&w->task->runtime.options, &facts->caches, err));
  return assay_machine_environment(&facts->environment, err);
}

/* What is mapped, and what else goes by the same names. */
static assay_status collect_libraries(worker *w, assay_error *err) {
  assay_worker_facts *facts = w->facts;
  assay_digests *digests = NULL;
  ASSAY_TRY(assay_digests_open(w->task->digests_path, &digests, err));
  assay_status st = assay_machine_mapped(digests, &facts->libraries, err);
  if (st == ASSAY_OK)
    st = assay_candidates_find(&facts->libraries, getenv("LD_LIBRARY_PATH"), digests,
                               &facts->candidates, &facts->n_candidates, err);
  if (st == ASSAY_OK) (void)!assay_digests_save(digests, /*err=*/NULL); /* it only spares time */
  assay_digests_close(digests);
  return st;
}

/* However the stages ended: what they found goes to worker.json. */
static assay_status write_facts(worker *w, assay_status how, const assay_error *why,
                                assay_error *err) {
  assay_worker_facts *facts = w->facts;
  facts->finished = how == ASSAY_OK;
  assay_caches_after(&w->task->runtime.options, &facts->caches);
  if (facts->finished) facts->stage = ASSAY_STAGE_NONE;
  ASSAY_TRY(assay_text_set(&facts->status, assay_status_name(how), err));
  ASSAY_TRY(assay_text_set(&facts->reason, why->text, err));
  if (w->ort != NULL) ASSAY_TRY(collect_libraries(w, err));
  char *path = assay_path_join(w->folder, ASSAY_WORKER_FACTS_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(w->folder) + 16);
  assay_status st = assay_worker_facts_write(facts, path, err);
  assay_free(path);
  return st;
}

assay_status assay_worker_run(const assay_worker_task *task, const char *out_folder,
                              assay_worker_facts *out_facts, assay_error *err) {
  assay_error why = {0};
  worker w = {.task = task, .folder = out_folder, .facts = out_facts, .phases_fd = -1};
  pthread_mutex_init(&w.log_lock, NULL);
  assay_status st = open_folder(&w, err);
  if (st) goto done;
  mark(&w, ASSAY_STAGE_START);
  st = collect_surroundings(&w, &why);
  if (st == ASSAY_OK) st = run_stages(&w, &why);
  assay_status written = write_facts(&w, st, &why, err);
  if (written == ASSAY_OK && st) (void)assay_fail(err, st, "%s", why.text);
  if (written) st = written;
done:
  assay_ort_session_close(w.session);
  assay_ort_close(w.ort);
  if (w.log != NULL) fclose(w.log);
  if (w.phases_fd >= 0) close(w.phases_fd);
  pthread_mutex_destroy(&w.log_lock);
  assay_tensor_map_reset(&w.first);
  assay_tensor_map_reset(&w.last);
  assay_free(w.samples_ns);
  return st;
}
