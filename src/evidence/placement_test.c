/* Tests of placement.c: each sample gets its right verdict, and evidence that is damaged in any way
 * never passes. */
#include "evidence/placement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/test_folder.h"
#include "evidence/profile.h"

#define CPU     "CPUExecutionProvider"
#define WEBGPU  "WebGpuExecutionProvider"
#define DNNL    "DnnlExecutionProvider"
#define XNNPACK "XnnpackExecutionProvider"

static test_folder folder; /* of all tests; main opens it */

static assay_placement judge(const assay_placement_spec *spec) {
  assay_placement p = {0};
  assay_error err = {0};
  assay_status st = assay_placement_judge(spec, &p, &err);
  if (st) fail_msg("%s: %s", assay_status_name(st), err.text);
  assert_int_equal(p.verdict == ASSAY_PLACEMENT_PASS, p.reason[0] == '\0');
  return p;
}

static void assert_verdict(const assay_placement *p, assay_placement_verdict want,
                           const char *part) {
  if (p->verdict != want || strstr(p->reason, part) == NULL)
    fail_msg("%s '%s', expected %s '%s'", assay_placement_verdict_name(p->verdict), p->reason,
             assay_placement_verdict_name(want), part);
}

static void profile_path(const char *name, char out[256]) {
  snprintf(out, 256, "testdata/profile/%s.json", name);
}

/* --- text that a test builds --------------------------------------------------------------------
 */

static void append(assay_buf *buf, const char *text, size_t n) {
  assert_int_equal(assay_buf_append(buf, text, n, NULL), ASSAY_OK);
}

static void write_file(const char *path, const assay_buf *buf) {
  remove(path); /* a new file: neither this nor truncating the old one may wait for the disk */
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(assay_buf_text(buf), 1, buf->size_bytes, file), buf->size_bytes);
  assert_int_equal(fclose(file), 0);
}

static void log_line(assay_buf *out, const char *format, ...) ASSAY_PRINTF(2, 3);
static void log_line(assay_buf *out, const char *format, ...) {
  char line[512];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  const char head[] = "[0|onnxruntime||session_state.cc:1 VerifyEachNodeIsAssignedToAnEp] ";
  append(out, head, sizeof head - 1);
  append(out, line, strlen(line));
  append(out, "\n", 1);
}

static bool is_first_on_provider(const assay_profile *p, size_t i) {
  for (size_t k = 0; k < i; ++k)
    if (strcmp(p->nodes[k].provider, p->nodes[i].provider) == 0) return false;
  return true;
}

static size_t count_on_provider(const assay_profile *p, const char *provider) {
  size_t n = 0;
  for (size_t i = 0; i < p->n_nodes; ++i) n += strcmp(p->nodes[i].provider, provider) == 0;
  return n;
}

/* The log of a session that placed just the nodes which the profile has: for samples without a log
 * of their own. */
static const char *write_matching_log(const char *profile) {
  static char path[1024];
  assay_profile p = {0};
  assay_buf text = {0};
  assay_error err = {0};
  if (assay_profile_read(profile, &p, &err)) fail_msg("%s", err.text);
  log_line(&text, "Node placements");
  bool one = count_on_provider(&p, p.n_nodes > 0 ? p.nodes[0].provider : "") == p.n_nodes;
  for (size_t i = 0; i < p.n_nodes; ++i) {
    if (!is_first_on_provider(&p, i)) continue;
    log_line(&text, " %s placed on [%s]. Number of nodes: %zu", one ? "All nodes" : "Node(s)",
             p.nodes[i].provider, count_on_provider(&p, p.nodes[i].provider));
    for (size_t k = 0; !one && k < p.n_nodes; ++k)
      if (strcmp(p.nodes[k].provider, p.nodes[i].provider) == 0)
        log_line(&text, "  %s (%s)", p.nodes[k].op, p.nodes[k].name);
  }
  snprintf(path, sizeof path, "%s", test_folder_file(&folder, "matching.log"));
  write_file(path, &text);
  assay_buf_reset(&text);
  assay_profile_reset(&p);
  return path;
}

/* --- compiled, copied, required ------------------------------------------------------------------
 */

static void what_was_compiled_and_copied_is_counted(void **state) {
  (void)state;
  static const struct {
    const char *profile, *provider;
    size_t n_runs, n_compiled, n_copies;
    int64_t copied_bytes; /* over all calls */
  } cases[] = {
      {"openvino-1.24.1-attention-3runs", "OpenVINOExecutionProvider", 3, 1, 0, 0},
      {"dnnl-1.23.2-mix17", DNNL, 1, 1, 0, 0},
      {"dnnl-1.23.2-conv", DNNL, 1, 2, 0, 0},
      {"xnnpack-1.23.2-conv", XNNPACK, 1, 0, 0, 0}, /* its Conv is named alike, and is one Conv */
      {"webgpu-1.22.0-mix17-2runs", WEBGPU, 2, 0, 1, 1024},
      {"webgpu-1.30.0-mesa25-mix17-3runs", WEBGPU, 3, 0, 1, 384},
      {"cpu-1.32.0-mix17-3runs", CPU, 3, 0, 0, 0},
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    char path[256];
    profile_path(cases[i].profile, path);
    assay_placement_spec spec = {.profile_path = path,
                                 .log_path = write_matching_log(path),
                                 .provider = cases[i].provider,
                                 .n_runs = cases[i].n_runs,
                                 .max_copies = -1};
    assay_placement p = judge(&spec);
    if (p.n_compiled != cases[i].n_compiled || p.n_copies != cases[i].n_copies ||
        p.copied_bytes != cases[i].copied_bytes)
      fail_msg("%s: %zu compiled, %zu copies of %lld bytes", cases[i].profile, p.n_compiled,
               p.n_copies, (long long)p.copied_bytes);
    assay_placement_reset(&p);
  }
}

/* A size that is not there, or not a number, makes all of them unavailable: never zero. */
static void copies_without_a_size_are_unavailable(void **state) {
  (void)state;
  static const char *const sizes[] = {"1025", "", "-1", "1e3", "1234567890123456789", "x"};
  assay_buf whole = test_file_read("testdata/profile/webgpu-1.22.0-mix17-2runs.json");
  const char *const text = assay_buf_text(&whole), key[] = "\"output_size\" : \"";
  const char *memcpy_event = strstr(text, "Memcpy");
  while (memcpy_event > text && *memcpy_event != '\n') --memcpy_event;
  const char *at = strstr(memcpy_event, key);
  assert_non_null(at);
  at += sizeof key - 1;
  const char *rest = strchr(at, '"');
  for (size_t i = 0; i < N_OF(sizes); ++i) {
    assay_buf changed = {0};
    append(&changed, text, (size_t)(at - text));
    append(&changed, sizes[i], strlen(sizes[i]));
    append(&changed, rest, strlen(rest));
    char path[1024];
    snprintf(path, sizeof path, "%s", test_folder_file(&folder, "sizes.json"));
    write_file(path, &changed);
    assay_placement_spec spec = {.profile_path = path,
                                 .log_path = write_matching_log(path),
                                 .provider = WEBGPU,
                                 .n_runs = 2,
                                 .max_copies = -1};
    assay_placement p = judge(&spec);
    int64_t want = i == 0 ? 1024 - 512 + 1025 : -1;
    if (p.copied_bytes != want)
      fail_msg("'%s': %lld, expected %lld", sizes[i], (long long)p.copied_bytes, (long long)want);
    assay_placement_reset(&p);
    assay_buf_reset(&changed);
  }
  assay_buf_reset(&whole);
}

/* --- samples ------------------------------------------------------------------------------------
 */

/* Where the log is NULL, one that matches the profile is made. */
static void samples_get_their_verdict(void **state) {
  (void)state;
  const struct {
    const char *profile, *log, *provider;
    size_t n_runs;
    assay_placement_verdict verdict;
    const char *part;
    size_t n_compute, n_on_provider, n_copies, n_control_flow;
  } cases[] = {
      {"cpu-1.16.3-mix17-fence", "cpu-1.16.3-mix17", CPU, 1, ASSAY_PLACEMENT_PASS, "", 12, 12, 0,
       0},
      {"cpu-1.21.1-mix17", NULL, CPU, 1, ASSAY_PLACEMENT_PASS, "", 12, 12, 0, 0},
      {"cpu-1.24.3-mix17", NULL, CPU, 1, ASSAY_PLACEMENT_PASS, "", 12, 12, 0, 0},
      {"cpu-1.29.0-mix17-memargs", NULL, CPU, 1, ASSAY_PLACEMENT_PASS, "", 12, 12, 0, 0},
      {"cpu-1.30.0-mix-2runs", "cpu-1.30.0-mix17", CPU, 2, ASSAY_PLACEMENT_PASS, "", 12, 12, 0, 0},
      {"cpu-1.32.0-mix17-3runs", "cpu-1.32.0-mix17-3runs", CPU, 3, ASSAY_PLACEMENT_PASS, "", 12, 12,
       0, 0},
      {"cpu-1.30.0-if-loop", NULL, CPU, 1, ASSAY_PLACEMENT_PASS, "", 6, 6, 0, 2},
      {"cpu-1.20.1-cf-2runs", "cpu-1.20.1-cf-2runs", CPU, 2, ASSAY_PLACEMENT_PASS, "", 6, 6, 0, 2},
      {"cpu-1.32.0-cf-2runs", "cpu-1.32.0-cf-2runs", CPU, 2, ASSAY_PLACEMENT_PASS, "", 6, 6, 0, 2},
      {"cpu-1.20.1-badname-2runs", "cpu-1.20.1-badname-2runs", CPU, 2, ASSAY_PLACEMENT_PASS, "", 2,
       2, 0, 0},
      {"cpu-1.32.0-badname", "cpu-1.32.0-badname", CPU, 1, ASSAY_PLACEMENT_PASS, "", 2, 2, 0, 0},
      {"cpu-1.30.0-parallel-threadstats", NULL, CPU, 1, ASSAY_PLACEMENT_PASS, "", 2, 2, 0, 0},
      {"cpu-1.30.0-run-level", NULL, CPU, 1, ASSAY_PLACEMENT_UNKNOWN, "0 sessions, expected 1", 12,
       12, 0, 0},
      {"cpu-1.30.0-EMPTY-after-abort", "cpu-1.30.0-mix17", CPU, 1, ASSAY_PLACEMENT_UNKNOWN,
       "profile: the profile is empty: the session did not end it", 0, 0, 0, 0},
      {"webgpu-1.22.0-mix17-2runs", NULL, WEBGPU, 2, ASSAY_PLACEMENT_FAIL,
       "5 of 13 compute nodes did not run on WebGpuExecutionProvider, first ConstantOfShape "
       "'/ConstantOfShape' on CPUExecutionProvider",
       13, 8, 1, 0},
      {"webgpu-1.30.0-mesa25-mix17-3runs", "webgpu-1.30.0-mix17", WEBGPU, 3, ASSAY_PLACEMENT_FAIL,
       "4 of 12 compute nodes did not run on WebGpuExecutionProvider", 12, 8, 1, 0},
      {"webgpu-1.30.0-mesa25-mix17-3runs", "webgpu-1.30.0-mix17", CPU, 3, ASSAY_PLACEMENT_FAIL,
       "8 of 12 compute nodes did not run on CPUExecutionProvider", 12, 4, 1, 0},
      {"dnnl-1.23.2-mix17", "dnnl-1.23.2-mix17", DNNL, 1, ASSAY_PLACEMENT_FAIL,
       "6 of 7 compute nodes did not run on DnnlExecutionProvider", 7, 1, 0, 0},
      {"dnnl-1.23.2-conv", NULL, DNNL, 1, ASSAY_PLACEMENT_FAIL, "did not run on Dnnl", 4, 2, 0, 0},
      {"xnnpack-1.23.2-conv", "xnnpack-1.23.2-conv", XNNPACK, 1, ASSAY_PLACEMENT_FAIL,
       "4 of 8 compute nodes did not run on XnnpackExecutionProvider", 8, 4, 0, 0},
      {"xnnpack-1.23.2-mix17", NULL, XNNPACK, 1, ASSAY_PLACEMENT_FAIL, "did not run on Xnnpack", 12,
       3, 0, 0},
      /* a log of another session */
      {"dnnl-1.23.2-mix17", "xnnpack-1.23.2-conv", DNNL, 1, ASSAY_PLACEMENT_UNKNOWN,
       "the log places", 7, 1, 0, 0},
      {"cpu-1.24.3-mix17", "dnnl-1.23.2-mix17", CPU, 1, ASSAY_PLACEMENT_UNKNOWN, "the log places",
       12, 12, 0, 0},
      {"cpu-1.32.0-badname", "cpu-1.32.0-mix17-3runs", CPU, 1, ASSAY_PLACEMENT_UNKNOWN,
       "the log places 12 nodes on CPUExecutionProvider, the profile has 2 there", 2, 2, 0, 0},
      /* another number of calls */
      {"cpu-1.30.0-mix-2runs", "cpu-1.30.0-mix17", CPU, 1, ASSAY_PLACEMENT_UNKNOWN,
       "the profile has 2 calls, expected 1", 12, 12, 0, 0},
      {"cpu-1.30.0-mix-2runs", "cpu-1.30.0-mix17", CPU, 3, ASSAY_PLACEMENT_UNKNOWN, "2 calls", 12,
       12, 0, 0},
      {"cpu-1.30.0-mix-2runs", "cpu-1.30.0-mix17", CPU, 0, ASSAY_PLACEMENT_UNKNOWN, "2 calls", 12,
       12, 0, 0},
      /* a provider that nothing ran on */
      {"cpu-1.24.3-mix17", NULL, "CUDAExecutionProvider", 1, ASSAY_PLACEMENT_FAIL,
       "12 of 12 compute nodes did not run on CUDAExecutionProvider", 12, 0, 0, 0},
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    char profile[256], log[256];
    profile_path(cases[i].profile, profile);
    snprintf(log, sizeof log, "testdata/placement_log/%s.log",
             cases[i].log != NULL ? cases[i].log : "");
    assay_placement_spec spec = {.profile_path = profile,
                                 .log_path =
                                     cases[i].log != NULL ? log : write_matching_log(profile),
                                 .provider = cases[i].provider,
                                 .n_runs = cases[i].n_runs,
                                 .max_copies = -1};
    assay_placement p = judge(&spec);
    print_message("%s on %s: %s %s\n", cases[i].profile, cases[i].provider,
                  assay_placement_verdict_name(p.verdict), p.reason);
    assert_verdict(&p, cases[i].verdict, cases[i].part);
    assert_int_equal(p.n_compute, cases[i].n_compute);
    assert_int_equal(p.n_on_provider, cases[i].n_on_provider);
    assert_int_equal(p.n_copies, cases[i].n_copies);
    assert_int_equal(p.n_control_flow, cases[i].n_control_flow);
    assert_int_equal(p.n_offenders, p.n_compute - p.n_on_provider);
    assert_int_equal(p.log_agrees, p.verdict != ASSAY_PLACEMENT_UNKNOWN);
    assay_placement_reset(&p);
  }
}

static void names_that_were_not_escaped_are_repaired_and_noted(void **state) {
  (void)state;
  assay_placement_spec spec = {.profile_path = "testdata/profile/cpu-1.20.1-badname-2runs.json",
                               .log_path = "testdata/placement_log/cpu-1.20.1-badname-2runs.log",
                               .provider = WEBGPU,
                               .n_runs = 2,
                               .max_copies = -1};
  assay_placement p = judge(&spec);
  assert_verdict(&p, ASSAY_PLACEMENT_FAIL, "2 of 2 compute nodes");
  assert_true(p.repaired);
  assert_string_equal(p.offenders[0], "Neg 'ok' on CPUExecutionProvider");
  assert_string_equal(p.offenders[1],
                      "Relu 'bad\"quote\\back\\x09name\\x0anl' on CPUExecutionProvider");
  assay_placement_reset(&p);
}

static void allowed_shape_operations_may_run_on_the_cpu(void **state) {
  (void)state;
  static const char *const all[] = {"Shape", "Expand", "ConstantOfShape", "ScatterElements"};
  assay_placement_spec spec = {.profile_path =
                                   "testdata/profile/webgpu-1.30.0-mesa25-mix17-3runs.json",
                               .log_path = "testdata/placement_log/webgpu-1.30.0-mix17.log",
                               .provider = WEBGPU,
                               .n_runs = 3,
                               .allowed_cpu_ops = all,
                               .n_allowed_cpu_ops = 4,
                               .max_copies = -1};
  assay_placement p = judge(&spec);
  assert_verdict(&p, ASSAY_PLACEMENT_PASS, "");
  assert_int_equal(p.n_allowed, 4);
  assay_placement_reset(&p);
  spec.n_allowed_cpu_ops = 3;
  p = judge(&spec);
  assert_verdict(&p, ASSAY_PLACEMENT_FAIL, "1 of 12 compute nodes");
  assert_int_equal(p.n_offenders, 1);
  assert_string_equal(p.offenders[0],
                      "ScatterElements '/scatter/ScatterElements' on CPUExecutionProvider");
  assay_placement_reset(&p);
  spec.n_allowed_cpu_ops = 4;
  spec.max_copies = 0;
  p = judge(&spec);
  assert_verdict(&p, ASSAY_PLACEMENT_FAIL, "1 copies between devices, at most 0 allowed");
  assay_placement_reset(&p);
}

static void counts_are_by_provider_and_operator(void **state) {
  (void)state;
  assay_placement_spec spec = {.profile_path =
                                   "testdata/profile/webgpu-1.30.0-mesa25-mix17-3runs.json",
                               .log_path = "testdata/placement_log/webgpu-1.30.0-mix17.log",
                               .provider = WEBGPU,
                               .n_runs = 3,
                               .max_copies = -1};
  assay_placement p = judge(&spec);
  size_t n_nodes = 0;
  bool found = false;
  for (size_t i = 0; i < p.n_counts; ++i) {
    const assay_placement_count *c = &p.counts[i];
    n_nodes += c->n_nodes;
    assert_int_equal(c->n_events, 3 * c->n_nodes);
    assert_true(c->duration_us >= 0);
    found = found ||
            (strcmp(c->provider, WEBGPU) == 0 && strcmp(c->op, "MatMul") == 0 && c->n_nodes == 2);
    if (i > 0) {
      int order = strcmp(p.counts[i - 1].provider, c->provider);
      assert_true(order < 0 || (order == 0 && strcmp(p.counts[i - 1].op, c->op) < 0));
    }
  }
  assert_true(found);
  assert_int_equal(n_nodes, 13);
  assay_json_builder *b = assay_json_builder_create();
  assay_buf text = {0};
  assay_placement_put(&p, b, NULL);
  assert_int_equal(assay_json_builder_finish(b, &text, NULL), ASSAY_OK);
  assert_non_null(strstr(assay_buf_text(&text), "\"verdict\": \"fail\""));
  assert_non_null(strstr(assay_buf_text(&text), "\"op\": \"MemcpyToHost\""));
  assay_buf_reset(&text);
  assay_json_builder_destroy(b);
  assay_placement_reset(&p);
}

static void evidence_that_is_not_there_is_unknown(void **state) {
  (void)state;
  const char *profile = "testdata/profile/cpu-1.32.0-mix17-3runs.json";
  const char *log = "testdata/placement_log/cpu-1.32.0-mix17-3runs.log";
  const struct {
    const char *profile, *log, *provider, *part;
  } cases[] = {
      {NULL, log, CPU, "there is no profile"},
      {profile, NULL, CPU, "there is no placement log"},
      {profile, log, NULL, "no provider was asked for"},
      {"testdata/nowhere", log, CPU, "profile: "},
      {profile, "testdata/nowhere", CPU, "placement log: "},
      {"testdata", log, CPU, "profile: "},
      {log, log, CPU, "profile: not a profile: expected '[' in line 1"},
      {profile, profile, CPU, "the log says nothing of placements"},
      {profile, "testdata/profile/cpu-1.30.0-EMPTY-after-abort.json", CPU, "the log says nothing"},
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    assay_placement_spec spec = {.profile_path = cases[i].profile,
                                 .log_path = cases[i].log,
                                 .provider = cases[i].provider,
                                 .n_runs = 3,
                                 .max_copies = -1};
    assay_placement p = judge(&spec);
    assert_verdict(&p, ASSAY_PLACEMENT_UNKNOWN, cases[i].part);
    assay_placement_reset(&p);
  }
}

/* --- damage -------------------------------------------------------------------------------------
 */

/* The evidence of 3 calls on the CPU, which passes; one of the two files is replaced by damaged
 * text. */
typedef struct evidence {
  assay_buf text;
  char path[1024]; /* of the damaged copy */
  assay_placement_spec spec;
} evidence;

static evidence open_evidence(bool damage_profile) {
  evidence e = {.spec = {.profile_path = "testdata/profile/cpu-1.32.0-mix17-3runs.json",
                         .log_path = "testdata/placement_log/cpu-1.32.0-mix17-3runs.log",
                         .provider = CPU,
                         .n_runs = 3,
                         .max_copies = -1}};
  e.text = test_file_read(damage_profile ? e.spec.profile_path : e.spec.log_path);
  snprintf(e.path, sizeof e.path, "%s", test_folder_file(&folder, "damaged"));
  return e;
}

static assay_placement_verdict verdict_on(const evidence *e, bool damage_profile,
                                          const assay_buf *text, char reason[256]) {
  write_file(e->path, text);
  assay_placement_spec spec = e->spec;
  if (damage_profile)
    spec.profile_path = e->path;
  else
    spec.log_path = e->path;
  assay_placement p = judge(&spec);
  assay_placement_verdict verdict = p.verdict;
  memcpy(reason, p.reason, sizeof p.reason);
  assay_placement_reset(&p);
  return verdict;
}

/* Start of line i, or the end of the text. */
static size_t line_start(const assay_buf *text, size_t i) {
  size_t at = 0;
  for (; i > 0 && at < text->size_bytes; ++at) i -= text->data[at] == '\n';
  return at;
}

static size_t count_lines(const assay_buf *text) {
  size_t n = 0;
  for (size_t i = 0; i < text->size_bytes; ++i) n += text->data[i] == '\n';
  return n;
}

static void a_profile_cut_anywhere_is_unknown(void **state) {
  (void)state;
  evidence e = open_evidence(/*damage_profile=*/true);
  size_t end = e.text.size_bytes - 2; /* the last "]" and its new line */
  for (size_t n = 0; n <= end; n += n < 250 || n + 250 > end ? 1 : 149) {
    assay_buf cut = {0};
    char reason[256];
    append(&cut, (const char *)e.text.data, n);
    assert_int_equal(verdict_on(&e, true, &cut, reason), ASSAY_PLACEMENT_UNKNOWN);
    assay_buf_reset(&cut);
  }
  assay_buf_reset(&e.text);
}

static void a_lost_or_doubled_line_is_unknown(void **state) {
  (void)state;
  evidence e = open_evidence(/*damage_profile=*/true);
  size_t n_lines = count_lines(&e.text), n_noticed = 0, n_harmless = 0;
  for (int times = 0; times <= 2; times += 2)
    for (size_t i = 0; i < n_lines; ++i) {
      size_t from = line_start(&e.text, i), to = line_start(&e.text, i + 1);
      assay_buf text = {0};
      char reason[256];
      append(&text, (const char *)e.text.data, from);
      for (int k = 0; k < times; ++k) append(&text, (const char *)e.text.data + from, to - from);
      append(&text, (const char *)e.text.data + to, e.text.size_bytes - to);
      if (verdict_on(&e, true, &text, reason) == ASSAY_PLACEMENT_UNKNOWN)
        ++n_noticed;
      else
        ++n_harmless;
      assay_buf_reset(&text);
    }
  /* Only the loading of the model and the three Execute events say nothing about placement. */
  assert_int_equal(n_harmless, 2 * 4);
  assert_int_equal(n_noticed, 2 * (n_lines - 4));
  assay_buf_reset(&e.text);
}

static void another_run_appended_is_unknown(void **state) {
  (void)state;
  evidence e = open_evidence(/*damage_profile=*/true);
  char reason[256];
  assay_buf twice = {0};
  append(&twice, (const char *)e.text.data, e.text.size_bytes);
  append(&twice, (const char *)e.text.data, e.text.size_bytes);
  assert_int_equal(verdict_on(&e, true, &twice, reason), ASSAY_PLACEMENT_UNKNOWN);
  assert_non_null(strstr(reason, "something follows the end of the profile"));
  assay_buf_reset(&twice);
  /* within one array */
  append(&twice, (const char *)e.text.data, e.text.size_bytes - 3);
  append(&twice, ",\n", 2);
  append(&twice, (const char *)e.text.data + 2, e.text.size_bytes - 2);
  assert_int_equal(verdict_on(&e, true, &twice, reason), ASSAY_PLACEMENT_UNKNOWN);
  assert_non_null(strstr(reason, "2 sessions, expected 1"));
  assay_buf_reset(&twice);
  /* events of another process in place of ours */
  append(&twice, (const char *)e.text.data, e.text.size_bytes);
  size_t third = line_start(&twice, 3);
  char *pid = strstr((char *)twice.data + third, "\"pid\" :");
  pid[7] = pid[7] == '9' ? '8' : '9';
  assert_int_equal(verdict_on(&e, true, &twice, reason), ASSAY_PLACEMENT_UNKNOWN);
  assert_non_null(strstr(reason, "several processes"));
  assay_buf_reset(&twice);
  assay_buf_reset(&e.text);
}

static void the_order_of_events_does_not_matter(void **state) {
  (void)state;
  evidence e = open_evidence(/*damage_profile=*/true);
  char reason[256];
  assay_buf turned = {0};
  size_t n_lines = count_lines(&e.text);
  append(&turned, "[\n", 2);
  for (size_t i = n_lines - 3; i > 0; --i) { /* all but the last event, which has no comma */
    size_t from = line_start(&e.text, i), to = line_start(&e.text, i + 1);
    append(&turned, (const char *)e.text.data + from, to - from);
  }
  size_t last = line_start(&e.text, n_lines - 2);
  append(&turned, (const char *)e.text.data + last, e.text.size_bytes - last);
  assert_int_equal(verdict_on(&e, true, &turned, reason), ASSAY_PLACEMENT_PASS);
  assay_buf_reset(&turned);
  assay_buf_reset(&e.text);
}

static void a_damaged_event_never_passes(void **state) {
  (void)state;
  evidence e = open_evidence(/*damage_profile=*/true);
  const struct {
    const char *from, *to;
  } cases[] = {
      {"\"provider\" : \"CPU", "\"provider\" : \"GPU"},
      {"\"op_name\"", "\"op_nane\""},
      {"\"provider\"", "\"providor\""},
      {"_kernel_time", "_kernel_tine"},
      {"\"args\" : {\"", "\"argz\" : {\""},
      {"\"cat\" : \"Node\"", "\"cat\" : \"Nude\""},
      {"model_run", "model_ran"},
      {"session_init", "sessoin_init"},
      {"}}", "}]"},
      {"{\"cat\"", "[\"cat\""},
      {"\"node_index\" : \"", "\"node_index\" : \"9"},
  };
  for (size_t i = 0; i < N_OF(cases); ++i) {
    assay_buf text = {0};
    char reason[256];
    const char *whole = assay_buf_text(&e.text);
    const char *at = strstr(whole, cases[i].from);
    assert_non_null(at);
    append(&text, whole, (size_t)(at - whole));
    append(&text, cases[i].to, strlen(cases[i].to));
    at += strlen(cases[i].from);
    append(&text, at, strlen(at));
    if (verdict_on(&e, true, &text, reason) != ASSAY_PLACEMENT_UNKNOWN)
      fail_msg("'%s' for '%s' was not noticed", cases[i].to, cases[i].from);
    assay_buf_reset(&text);
  }
  assay_buf_reset(&e.text);
}

static void a_comma_too_many_is_repaired_and_one_too_few_is_not(void **state) {
  (void)state;
  evidence e = open_evidence(/*damage_profile=*/true);
  char reason[256];
  assay_buf text = {0};
  append(&text, (const char *)e.text.data, e.text.size_bytes - 3);
  append(&text, ",\n]\n", 4);
  write_file(e.path, &text);
  assay_placement_spec spec = e.spec;
  spec.profile_path = e.path;
  assay_placement p = judge(&spec);
  assert_verdict(&p, ASSAY_PLACEMENT_PASS, "");
  assert_true(p.repaired);
  assay_placement_reset(&p);
  assay_buf_reset(&text);
  append(&text, (const char *)e.text.data, e.text.size_bytes);
  size_t fifth = line_start(&text, 5);
  text.data[fifth - 2] = ' ';
  assert_int_equal(verdict_on(&e, true, &text, reason), ASSAY_PLACEMENT_UNKNOWN);
  assert_non_null(strstr(reason, "no comma"));
  assay_buf_reset(&text);
  assay_buf_reset(&e.text);
}

/* A profile of one call, where a lost event shows only against the log. */
static void the_log_catches_what_one_call_cannot(void **state) {
  (void)state;
  assay_buf whole = test_file_read("testdata/profile/cpu-1.24.3-mix17.json"), text = {0};
  char log[1024], path[1024];
  snprintf(log, sizeof log, "%s", write_matching_log("testdata/profile/cpu-1.24.3-mix17.json"));
  snprintf(path, sizeof path, "%s", test_folder_file(&folder, "lost"));
  size_t from = line_start(&whole, 5), to = line_start(&whole, 6);
  append(&text, (const char *)whole.data, from);
  append(&text, (const char *)whole.data + to, whole.size_bytes - to);
  write_file(path, &text);
  assay_placement_spec spec = {
      .profile_path = path, .log_path = log, .provider = CPU, .n_runs = 1, .max_copies = -1};
  assay_placement p = judge(&spec);
  assert_verdict(&p, ASSAY_PLACEMENT_UNKNOWN,
                 "the log places 12 nodes on CPUExecutionProvider, the profile has 11 there");
  assert_false(p.log_agrees);
  assay_placement_reset(&p);
  assay_buf_reset(&whole);
  assay_buf_reset(&text);
}

/* --- the log ------------------------------------------------------------------------------------
 */

static void a_damaged_list_of_placements_is_unknown(void **state) {
  (void)state;
  const char *const lines[] = {
      "Node placements",
      " Node(s) placed on [CPUExecutionProvider]. Number of nodes: 4",
      "  Shape (/Shape)",
      "  Expand (/Expand)",
      "  ConstantOfShape (/ConstantOfShape)",
      "  ScatterElements (/scatter/ScatterElements)",
      " Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 9",
      "  MatMul (/fc1/MatMul)",
      "  Add (/fc1/Add)",
      "  Relu (/act/Relu)",
      "  MatMul (/fc2/MatMul)",
      "  Softmax (/sm/Softmax)",
      "  TopK (/topk/TopK)",
      "  Shape (/Shape_1)",
      "  SkipLayerNormalization (SkipLayerNormalization)",
      "  MemcpyToHost (Memcpy)",
  };
  enum { N = sizeof lines / sizeof *lines };
  char path[1024];
  snprintf(path, sizeof path, "%s", test_folder_file(&folder, "log"));
  assay_placement_spec spec = {.profile_path =
                                   "testdata/profile/webgpu-1.30.0-mesa25-mix17-3runs.json",
                               .log_path = path,
                               .provider = WEBGPU,
                               .n_runs = 3,
                               .max_copies = -1};
  /* change: -1 none, otherwise line `change` is left out, cut off with all behind it, doubled, or
   * renamed */
  for (int kind = 0; kind < 5; ++kind)
    for (size_t change = 0; change < (kind == 0 ? 1 : (size_t)N); ++change) {
      assay_buf text = {0};
      for (size_t i = 0; i < N; ++i) {
        if (kind == 1 && i == change) continue;
        if (kind == 2 && i >= change) continue;
        if (kind == 4 && i == change && lines[i][1] == ' ')
          log_line(&text, "  Other%s", lines[i] + 2);
        else if (kind != 4 || i != change)
          log_line(&text, "%s", lines[i]);
        if (kind == 3 && i == change) log_line(&text, "%s", lines[i]);
      }
      write_file(path, &text);
      assay_placement p = judge(&spec);
      if (kind == 0)
        assert_verdict(&p, ASSAY_PLACEMENT_FAIL, "4 of 12");
      else if (p.verdict != ASSAY_PLACEMENT_UNKNOWN)
        fail_msg("kind %d, line %zu: %s", kind, change, p.reason);
      assay_placement_reset(&p);
      assay_buf_reset(&text);
    }
}

static void a_node_on_another_provider_than_the_log_says_is_unknown(void **state) {
  (void)state;
  assay_buf text = {0};
  char path[1024];
  snprintf(path, sizeof path, "%s", test_folder_file(&folder, "log"));
  log_line(&text, "Node placements");
  log_line(&text, " Node(s) placed on [CPUExecutionProvider]. Number of nodes: 1");
  log_line(&text, "  Relu (bad\"quote\\back\\x09name\\x0anl)");
  log_line(&text, " Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 1");
  log_line(&text, "  Neg (ok)");
  write_file(path, &text);
  assay_placement_spec spec = {.profile_path = "testdata/profile/cpu-1.32.0-badname.json",
                               .log_path = path,
                               .provider = WEBGPU,
                               .n_runs = 1,
                               .max_copies = -1};
  assay_placement p = judge(&spec);
  assert_verdict(&p, ASSAY_PLACEMENT_UNKNOWN, "the log places 1 nodes on CPUExecutionProvider");
  assay_placement_reset(&p);
  assay_buf_reset(&text);
}

static void a_log_of_two_sessions_or_dropped_events_is_unknown(void **state) {
  (void)state;
  evidence e = open_evidence(/*damage_profile=*/false);
  char reason[256];
  assay_buf text = {0};
  append(&text, (const char *)e.text.data, e.text.size_bytes);
  assert_int_equal(verdict_on(&e, false, &text, reason), ASSAY_PLACEMENT_PASS);
  append(&text, (const char *)e.text.data, e.text.size_bytes);
  assert_int_equal(verdict_on(&e, false, &text, reason), ASSAY_PLACEMENT_UNKNOWN);
  assert_non_null(strstr(reason, "several sessions"));
  assay_buf_reset(&text);
  append(&text, (const char *)e.text.data, e.text.size_bytes);
  const char dropped[] =
      "[3|onnxruntime||profiler.cc:5 EndTimeAndRecordEvent] Maximum number of events "
      "reached, could not record profile event.\n";
  append(&text, dropped, sizeof dropped - 1);
  assert_int_equal(verdict_on(&e, false, &text, reason), ASSAY_PLACEMENT_UNKNOWN);
  assert_non_null(strstr(reason, "limit of 1000000 profile events"));
  assay_buf_reset(&text);
  assay_buf_reset(&e.text);
}

static void out_of_memory_is_an_error_and_leaks_nothing(void **state) {
  (void)state;
  assay_placement_spec spec = {.profile_path =
                                   "testdata/profile/webgpu-1.30.0-mesa25-mix17-3runs.json",
                               .log_path = "testdata/placement_log/webgpu-1.30.0-mix17.log",
                               .provider = WEBGPU,
                               .n_runs = 3,
                               .max_copies = -1};
  assay_status st = ASSAY_E_MEMORY;
  int64_t n = 0;
  for (; st == ASSAY_E_MEMORY; n += n < 50 ? 1 : 37) {
    assay_placement p = {0};
    assay_alloc_fail_after(n);
    st = assay_placement_judge(&spec, &p, NULL);
    assay_alloc_fail_after(-1);
    assay_placement_reset(&p);
  }
  assert_int_equal(st, ASSAY_OK);
  assert_true(n > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_compiled_and_copied_is_counted),
      cmocka_unit_test(copies_without_a_size_are_unavailable),
      cmocka_unit_test(samples_get_their_verdict),
      cmocka_unit_test(names_that_were_not_escaped_are_repaired_and_noted),
      cmocka_unit_test(allowed_shape_operations_may_run_on_the_cpu),
      cmocka_unit_test(counts_are_by_provider_and_operator),
      cmocka_unit_test(evidence_that_is_not_there_is_unknown),
      cmocka_unit_test(a_profile_cut_anywhere_is_unknown),
      cmocka_unit_test(a_lost_or_doubled_line_is_unknown),
      cmocka_unit_test(another_run_appended_is_unknown),
      cmocka_unit_test(the_order_of_events_does_not_matter),
      cmocka_unit_test(a_damaged_event_never_passes),
      cmocka_unit_test(a_comma_too_many_is_repaired_and_one_too_few_is_not),
      cmocka_unit_test(the_log_catches_what_one_call_cannot),
      cmocka_unit_test(a_damaged_list_of_placements_is_unknown),
      cmocka_unit_test(a_node_on_another_provider_than_the_log_says_is_unknown),
      cmocka_unit_test(a_log_of_two_sessions_or_dropped_events_is_unknown),
      cmocka_unit_test(out_of_memory_is_an_error_and_leaks_nothing),
  };
  test_folder_open(&folder);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
