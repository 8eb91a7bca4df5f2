/* A worker for tests, started as the real one is: it needs no ONNX Runtime, gives back the case's
 * FP32 references as outputs, and misbehaves as $FAKE_WORKER asks ("segv", or "segv@b1-n2" for one
 * case only, with "/timing" or "/placement" behind it for one mode only). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "campaign/session_plan.h"
#include "campaign/worker.h"
#include "package/npz.h"

#define PROFILE_NODE                                                                               \
  "{\"cat\":\"Node\",\"pid\":1,\"tid\":1,\"dur\":7,\"ts\":%d,\"ph\":\"X\","                        \
  "\"name\":\"add_kernel_time\",\"args\":{\"op_name\":\"Add\",\"provider\":\"%s\","                \
  "\"node_index\":\"0\"}},\n"
#define PROFILE_RUN                                                                                \
  "{\"cat\":\"Session\",\"pid\":1,\"tid\":1,\"dur\":9,\"ts\":%d,\"ph\":\"X\","                     \
  "\"name\":\"model_run\",\"args\":{}}%s\n"
#define PROFILE_BEGIN                                                                              \
  "{\"cat\":\"Session\",\"pid\":1,\"tid\":1,\"dur\":1,\"ts\":0,\"ph\":\"X\","                      \
  "\"name\":\"session_initialization\",\"args\":{}},\n"
#define LOG_PLACED "[0|onnxruntime||session_state.cc:1 VerifyEachNodeIsAssignedToAnEp] "

static const char *folder;
static assay_worker_task task;
static assay_worker_facts facts;
static char mode[64]; /* what to do wrong; "" for nothing */

/* A further process of a timing that is repeated. */
static bool is_repeat(void) {
  return strstr(folder, "/process-") != NULL;
}

static void must(assay_status st) {
  if (st) exit(70);
}

static char *inside(const char *name) {
  char *path = assay_path_join(folder, name);
  if (path == NULL) exit(71);
  return path;
}

static void write_text(const char *name, const char *text) {
  char *path = inside(name);
  must(assay_file_write(path, text, strlen(text), NULL));
  assay_free(path);
}

static bool asked(const char *what) {
  return strcmp(mode, what) == 0;
}

/* $FAKE_WORKER, if it is for this case and mode. */
static void read_mode(void) {
  const char *text = getenv("FAKE_WORKER");
  if (text == NULL) return;
  if (task.mode == ASSAY_WORKER_PROBE && strcmp(text, "probe_killed") != 0) return;
  size_t n = strcspn(text, "@/");
  const char *rest = text + n;
  if (rest[0] == '@') {
    size_t m = strcspn(rest + 1, "/");
    char *name = assay_strndup(rest + 1, m);
    bool matches = strncmp(assay_path_name(task.case_path), name, m) == 0;
    assay_free(name);
    if (!matches) return;
    rest += 1 + m;
  }
  const char *own = task.mode == ASSAY_WORKER_TIMING ? "/timing" : "/placement";
  if (rest[0] == '/' && strcmp(rest, own) != 0) return;
  snprintf(mode, sizeof mode, "%.*s", (int)n, text);
}

static void fill_facts(void) {
  assay_session_plan plan = {0};
  const char *library = task.runtime.library;
  facts.finished = true;
  facts.status = assay_strdup("OK");
  facts.reason = assay_strdup("");
  facts.library_path = assay_strdup(asked("other_library") ? "/proc/self/exe" : library);
  facts.library_version = assay_strdup("9.8.7");
  facts.library_build = assay_strdup("none");
  facts.provider = assay_strdup(task.runtime.provider);
  facts.affinity = assay_strdup("0");
  facts.load_average = assay_strdup("0");
  must(assay_session_plan_init(&task.runtime, &plan, NULL));
  must(assay_session_plan_options(&plan, facts.options_sha256, &facts.options, NULL));
  assay_session_plan_reset(&plan);
  if (asked("other_options")) facts.options_sha256[0] ^= 1;
  facts.governor = assay_strdup("unavailable");
  facts.cgroup_cpu_max = assay_strdup("max 100000");
  facts.cgroup_memory_max = assay_strdup("max");
  assay_digests *digests = NULL;
  must(assay_digests_open(task.digests_path, &digests, NULL));
  must(assay_machine_mapped(digests, &facts.libraries, NULL));
  assay_digests_close(digests);
  if (asked("two_candidates")) {
    facts.candidates = assay_alloc_array(1, sizeof *facts.candidates);
    facts.candidates[facts.n_candidates++] = assay_strdup("there are two candidates of libx.so");
  }
  if (task.model_path != NULL)
    must(assay_sha256_file(task.model_path, facts.model_sha256, NULL, NULL));
  if (asked("other_graph")) facts.model_sha256[0] = facts.model_sha256[0] == '0' ? '1' : '0';
  assay_machine_library *first = &facts.libraries.items[0];
  assay_free(first->path);
  first->path = assay_strdup(library);
  must(assay_sha256_file(library, first->sha256, &first->size_bytes, NULL));
  facts.session_create_ns = 5000000;
  facts.first_run_ns = 2000000;
  facts.warmup = task.warmup;
  facts.iterations = task.iterations;
  facts.outputs_identical = !asked("unsteady");
}

/* ref.f32.<head> as <head>, with what is asked done to the first value of each. */
static void write_outputs(void) {
  assay_tensor_map arrays = {0}, outputs = {0};
  must(assay_npz_read(task.case_path, NULL, &arrays, NULL));
  for (size_t i = 0; i < arrays.n; i++) {
    const char *name = arrays.items[i].name;
    if (!assay_text_has_prefix(name, "ref.f32.")) continue;
    assay_tensor copy = {0};
    must(assay_tensor_copy(&copy, &arrays.items[i].tensor, NULL));
    if (asked("wrong_numbers")) assay_tensor_f32(&copy)[0] += 1.0f;
    if (asked("wrong_later") && is_repeat()) assay_tensor_f32(&copy)[0] += 1.0f;
    if (asked("other_later") && is_repeat()) assay_tensor_f32(&copy)[0] += 1e-5f;
    if (asked("all_nan"))
      for (size_t k = 0; k < copy.n_elems; k++) assay_tensor_f32(&copy)[k] = 0.0f / 0.0f;
    if (asked("wrong_padding")) assay_tensor_f32(&copy)[copy.n_elems - 1] = -0.0f;
    if (asked("missing_head"))
      assay_tensor_reset(&copy);
    else
      must(assay_tensor_map_add(&outputs, name + strlen("ref.f32."), &copy, NULL));
  }
  if (asked("extra_head") || asked("missing_head")) {
    assay_tensor extra = {0};
    const int64_t one = 1;
    must(assay_tensor_init(&extra, ASSAY_DTYPE_F32, 1, &one, NULL));
    must(assay_tensor_map_add(&outputs, "surprise", &extra, NULL));
  }
  char *path = inside(ASSAY_WORKER_OUTPUTS_FILE);
  must(assay_npz_write(path, &outputs, NULL));
  assay_free(path);
  if (asked("cut_outputs")) write_text(ASSAY_WORKER_OUTPUTS_FILE, "PK\3\4");
  assay_tensor_map_reset(&arrays);
  assay_tensor_map_reset(&outputs);
}

static void write_samples(void) {
  assay_tensor samples = {0};
  int64_t n = asked("short_samples") ? task.iterations - 1 : task.iterations;
  must(assay_tensor_init(&samples, ASSAY_DTYPE_I64, 1, &n, NULL));
  int64_t base_ns = is_repeat() ? 1100000 : 1000000;
  for (int64_t i = 0; i < n; i++) assay_tensor_i64(&samples)[i] = base_ns + i;
  if (asked("zero_sample")) assay_tensor_i64(&samples)[0] = 0;
  char *path = inside(ASSAY_WORKER_SAMPLES_FILE);
  must(assay_npy_write(path, &samples, NULL));
  assay_free(path);
  assay_tensor_reset(&samples);
}

static void write_placement(void) {
  const char *provider = asked("on_cpu") ? "CPUExecutionProvider" : task.runtime.provider;
  assay_buf profile = {0}, log = {0};
  facts.profiled_runs = task.placement_runs;
  must(assay_buf_append_text(&profile, "[\n" PROFILE_BEGIN, NULL));
  for (int64_t i = 0; i < task.placement_runs; i++) {
    bool last = i + 1 == task.placement_runs;
    must(assay_buf_appendf(&profile, NULL, PROFILE_NODE, (int)(20 * i + 1), provider));
    must(assay_buf_appendf(&profile, NULL, PROFILE_RUN, (int)(20 * i), last ? "" : ","));
  }
  if (!asked("cut_profile")) must(assay_buf_append_text(&profile, "]\n", NULL));
  must(assay_buf_appendf(&log, NULL,
                         LOG_PLACED "Node placements\n" LOG_PLACED
                                    " All nodes placed on [%s]. Number of nodes: 1\n",
                         provider));
  write_text(ASSAY_WORKER_PROFILE_FILE, assay_buf_text(&profile));
  write_text(ASSAY_WORKER_LOG_FILE, assay_buf_text(&log));
  assay_buf_reset(&profile);
  assay_buf_reset(&log);
}

static void raise_default(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

static void leave_a_child(void) {
  if (fork() != 0) return;
  for (;;) pause();
}

static void print_much(void) {
  for (int i = 0; i < 20000; i++) printf("\033[31mgarbage \xff\xfe %d\n", i);
  fputs("{\"schema\": \xff\n", stderr);
}

/* n: KiB; -1: without end. */
static void print_blocks(int n) {
  static char block[1 << 10];
  memset(block, 'x', sizeof block - 1);
  block[sizeof block - 1] = '\n';
  for (int i = 0; n < 0 || i < n; i++) fwrite(block, 1, sizeof block, stdout);
}

/* The first time. */
static void die_as_probe(void) {
  char *mark = assay_format("%s/../probed", folder);
  bool again = assay_path_kind_of(mark) != ASSAY_PATH_NONE;
  if (!again) must(assay_file_write(mark, "x", 1, NULL));
  assay_free(mark);
  if (!again) raise_default(SIGKILL);
}

/* Before anything is left behind. */
static void misbehave_early(void) {
  if (asked("probe_killed") && task.mode == ASSAY_WORKER_PROBE) die_as_probe();
  if (asked("segv")) raise_default(SIGSEGV);
  if (asked("killed_later") && is_repeat()) raise_default(SIGKILL);
  if (asked("segv_later") && is_repeat()) raise_default(SIGSEGV);
  if (asked("fpe")) raise_default(SIGFPE);
  if (asked("abort")) abort();
  if (asked("killed")) raise_default(SIGKILL);
  if (asked("silent")) exit(0);
  if (asked("exit3")) {
    fputs("something broke\n", stderr);
    exit(3);
  }
  if (asked("hang") || asked("hang_hard")) {
    if (asked("hang_hard")) signal(SIGTERM, SIG_IGN);
    for (;;) pause();
  }
  if (asked("slow")) nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
  if (asked("garbage")) print_much();
  if (asked("floods")) print_blocks(-1);
  if (asked("traces")) print_blocks(65 << 10);
  if (asked("closes")) {
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
  }
}

static void misbehave_late(void) {
  if (asked("garbage_facts"))
    write_text(ASSAY_WORKER_FACTS_FILE, "{\"schema\": \"assay/facts/1\", ");
  if (asked("leaves_children")) leave_a_child();
  if (asked("fails_late")) exit(1);
  if (asked("segv_late")) raise_default(SIGSEGV);
}

static void fail_as_asked(void) {
  if (!asked("refused") && !asked("no_provider")) return;
  facts.finished = false;
  facts.stage = asked("refused") ? ASSAY_STAGE_FIRST_RUN : ASSAY_STAGE_PROVIDER;
  assay_free(facts.reason);
  facts.reason = assay_strdup(asked("refused") ? "the runtime said no" : "no such provider");
}

/* As the real one: without its campaign it does not go on. */
static void tie_to_parent(const char *pid) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != (pid_t)strtol(pid, NULL, 10)) exit(72);
}

int main(int argc, char **argv) {
  if (argc == 8) tie_to_parent(argv[7]);
  if (argc < 6 || strcmp(argv[1], "worker") != 0) return 64;
  must(assay_worker_task_read(argv[3], &task, NULL));
  folder = argv[5];
  read_mode();
  write_text(ASSAY_WORKER_PHASES_FILE, "start 1\nload_library 2\nsession 3\nfirst_run 4\ntim");
  misbehave_early();
  fill_facts();
  if (task.mode == ASSAY_WORKER_TIMING) {
    if (!asked("no_samples")) write_samples();
    if (!asked("no_outputs")) write_outputs();
  } else if (task.mode == ASSAY_WORKER_PLACEMENT && !asked("no_profile")) {
    write_placement();
  }
  fail_as_asked();
  char *path = inside(ASSAY_WORKER_FACTS_FILE);
  must(assay_worker_facts_write(&facts, path, NULL));
  assay_free(path);
  misbehave_late();
  bool failed = !facts.finished;
  assay_worker_facts_reset(&facts);
  assay_worker_task_reset(&task);
  return failed ? 1 : 0;
}
