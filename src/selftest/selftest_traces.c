/* Profiles and logs that do not prove what they are asked to prove. */
#include <string.h>

#include "selftest/selftest_cases.h"

#define FRESH(spoil_function, reason_words)                                                        \
  .start = SELFTEST_FRESH, .spoil = (spoil_function), .by = SELFTEST_GATE,                         \
  .topic = ASSAY_TOPIC_PLACEMENT, .words = (reason_words)

/* --- nodes elsewhere -----------------------------------------------------------------------------
 */

static void one_on_cpu(selftest_scene *s) {
  s->nodes[1].provider = s->placed[1].provider = SELFTEST_CPU;
}
static void all_on_cpu(selftest_scene *s) {
  for (size_t i = 0; i < s->n_nodes; i++) s->nodes[i].provider = SELFTEST_CPU;
  for (size_t i = 0; i < s->n_placed; i++) s->placed[i].provider = SELFTEST_CPU;
}
static void only_allowed_nodes(selftest_scene *s) {
  s->nodes[0] = s->placed[0] = (selftest_node){"Shape", "/Shape", SELFTEST_CPU, false};
  s->n_nodes = s->n_placed = 1;
}
static void no_compute_nodes(selftest_scene *s) {
  s->nodes[0] = s->placed[0] = (selftest_node){"MemcpyToHost", "/copy", SELFTEST_CUDA, false};
  s->n_nodes = s->n_placed = 1;
}
static void add_node(selftest_scene *s, selftest_node node) {
  s->nodes[s->n_nodes++] = node;
  s->placed[s->n_placed++] = node;
}
static void too_many_copies(selftest_scene *s) {
  add_node(s, (selftest_node){"MemcpyFromHost", "/copy1", SELFTEST_CUDA, false});
  add_node(s, (selftest_node){"MemcpyToHost", "/copy2", SELFTEST_CUDA, false});
}
/* What the policy lets run there, and a copy that it lets pass. */
static void allowed(selftest_scene *s) {
  add_node(s, (selftest_node){"Shape", "/Shape", SELFTEST_CPU, false});
  add_node(s, (selftest_node){"MemcpyToHost", "/copy", SELFTEST_CUDA, false});
}

/* --- the profile ---------------------------------------------------------------------------------
 */

static void profile_missing(selftest_scene *s) {
  s->without[0] = "profile.json";
}
static void profile_empty(selftest_scene *s) {
  selftest_trace(s);
  s->profile.size_bytes = 0;
}
static void profile_not_ended(selftest_scene *s) {
  selftest_trace(s);
  selftest_replace(s, &s->profile, "\n]\n", "\n");
}
static void profile_cut(selftest_scene *s) {
  selftest_trace(s);
  s->profile.size_bytes = s->profile.size_bytes * 2 / 3;
  s->profile.data[s->profile.size_bytes] = '\0';
}
static void profile_of_something_else(selftest_scene *s) {
  selftest_trace(s);
  s->profile.size_bytes = 0;
  assay_error err = {0};
  selftest_take(s, assay_buf_append_text(&s->profile, "{\"traceEvents\": []}\n", &err), &err);
}
#define OTHER_SESSION                                                                              \
  "[\n{\"cat\" : \"Session\",\"pid\" :7,\"tid\" :7,\"dur\" :5,\"ts\" :0,\"ph\" : \"X\","           \
  "\"name\" :\"session_initialization\",\"args\" : {}},\n"
static void two_sessions(selftest_scene *s) {
  selftest_trace(s);
  selftest_replace(s, &s->profile, "[\n", OTHER_SESSION);
}
static void no_session(selftest_scene *s) {
  selftest_trace(s);
  selftest_replace(s, &s->profile, "session_initialization", "session_destruction");
}
static void two_processes(selftest_scene *s) {
  selftest_trace(s);
  selftest_replace(s, &s->profile, "\"cat\" : \"Node\",\"pid\" :7",
                   "\"cat\" : \"Node\",\"pid\" :8");
}
static void a_call_missing(selftest_scene *s) {
  s->n_calls = SELFTEST_RUNS - 1;
}
static void a_call_too_many(selftest_scene *s) {
  s->n_calls = SELFTEST_RUNS + 1;
}
static void cut_in_the_last_call(selftest_scene *s) {
  s->nodes[2].not_in_last_call = true;
}
static void no_nodes(selftest_scene *s) {
  s->n_nodes = 0;
}
static void node_without_provider(selftest_scene *s) {
  selftest_trace(s);
  selftest_replace(s, &s->profile, "\"provider\" : \"" SELFTEST_CUDA "\",", "");
}

/* --- the log -------------------------------------------------------------------------------------
 */

static void log_missing(selftest_scene *s) {
  s->without[0] = "log.txt";
}
static void log_says_nothing(selftest_scene *s) {
  selftest_trace(s);
  s->log.size_bytes = 0;
}
static void log_says_cpu(selftest_scene *s) {
  for (size_t i = 0; i < s->n_placed; i++) s->placed[i].provider = SELFTEST_CPU;
}
static void log_has_more_nodes(selftest_scene *s) {
  s->placed[s->n_placed++] = (selftest_node){"Gelu", "/layer/Gelu", SELFTEST_CUDA, false};
}
/* As many nodes on each provider as the profile has, but others. */
static void log_has_other_nodes(selftest_scene *s) {
  add_node(s, (selftest_node){"Shape", "/Shape", SELFTEST_CPU, false});
  s->placed[0].name = "/other/MatMul";
}
/* One that would be let pass there. */
static void log_lacks_a_provider(selftest_scene *s) {
  s->nodes[s->n_nodes++] = (selftest_node){"Shape", "/Shape", SELFTEST_CPU, false};
}
/* In the list of nodes: within a line, and between two. */
static void log_cut(selftest_scene *s) {
  add_node(s, (selftest_node){"Shape", "/Shape", SELFTEST_CPU, false});
  selftest_trace(s);
  const char *start = assay_buf_text(&s->log), *last = strstr(start, "  Softmax");
  if (selftest_failed(s) || last == NULL) return;
  s->log.size_bytes = (size_t)(last - start);
  s->log.data[s->log.size_bytes] = '\0';
}
static void log_cut_between_lines(selftest_scene *s) {
  log_cut(s);
  if (selftest_failed(s)) return;
  while (s->log.size_bytes > 0 && s->log.data[s->log.size_bytes - 1] != '\n') s->log.size_bytes--;
}
static void log_of_two_sessions(selftest_scene *s) {
  selftest_trace(s);
  assay_buf twice = {0};
  assay_error err = {0};
  assay_status st = assay_buf_append_text(&twice, assay_buf_text(&s->log), &err);
  if (st == ASSAY_OK) st = assay_buf_append_text(&twice, assay_buf_text(&s->log), &err);
  selftest_take(s, st, &err);
  assay_buf_reset(&s->log);
  s->log = twice;
}
static void events_dropped(selftest_scene *s) {
  selftest_trace(s);
  assay_error err = {0};
  assay_status st =
      assay_buf_append_text(&s->log,
                            "[2|onnxruntime||profiler.cc:1 EndTimeAndRecordEvent] Maximum number "
                            "of events reached, could not record profile event.\n",
                            &err);
  selftest_take(s, st, &err);
}

const selftest_case selftest_trace_cases[] = {
    {"control: shape nodes and one copy, as the policy allows", "", .start = SELFTEST_FRESH,
     .spoil = allowed, .by = SELFTEST_PASSES},
    {"one compute node on the CPU", "ORT sessions that fall back silently",
     FRESH(one_on_cpu, "1 of 3 compute nodes")},
    {"the whole graph on the CPU", "ORT sessions that fall back silently",
     FRESH(all_on_cpu, "3 of 3 compute nodes")},
    {"only nodes that may be on the CPU ran", "", FRESH(only_allowed_nodes, "no compute node ran")},
    {"only copies ran", "", FRESH(no_compute_nodes, "no compute node")},
    {"more copies than the policy allows", "", FRESH(too_many_copies, "2 copies")},
    {"the profile is missing", "", FRESH(profile_missing, "profile")},
    {"the profile is empty", "tools that count what they find", FRESH(profile_empty, "empty")},
    {"the profile was not ended", "tools that count what they find",
     FRESH(profile_not_ended, "cut")},
    {"the profile is cut within an event", "", FRESH(profile_cut, "profile")},
    {"the profile is another kind of file", "", FRESH(profile_of_something_else, "not a profile")},
    {"the profile is of two sessions", "", FRESH(two_sessions, "2 sessions")},
    {"the profile has no session's beginning", "", FRESH(no_session, "0 sessions")},
    {"the profile is of two processes", "", FRESH(two_processes, "several processes")},
    {"the profile lacks a call", "", FRESH(a_call_missing, "2 calls, expected 3")},
    {"the profile has a call too many", "", FRESH(a_call_too_many, "4 calls, expected 3")},
    {"events were cut at a maximum", "tools that count what they find",
     FRESH(cut_in_the_last_call, "ran 2 times in 3 calls")},
    {"the profile has no nodes", "", FRESH(no_nodes, "no executed node")},
    {"a node without its provider", "", FRESH(node_without_provider, "profile")},
    {"the log is missing", "", FRESH(log_missing, "log")},
    {"the log says nothing of placements", "", FRESH(log_says_nothing, "nothing of placements")},
    {"the log places the nodes on the CPU", "", FRESH(log_says_cpu, "the log places 3 nodes")},
    {"the log has nodes that did not run", "", FRESH(log_has_more_nodes, "the log places 4 nodes")},
    {"the log has other nodes, as many", "", FRESH(log_has_other_nodes, "does not place it")},
    {"the log lacks a provider that ran nodes", "",
     FRESH(log_lacks_a_provider, "the log places none there")},
    {"the log is cut within a line", "", FRESH(log_cut, "the log is cut here")},
    {"the log is cut between lines", "",
     FRESH(log_cut_between_lines, "the list of placed nodes is cut")},
    {"the log is of two sessions", "", FRESH(log_of_two_sessions, "several sessions")},
    {"the runtime says that it dropped events", "", FRESH(events_dropped, "limit")},
};
const size_t selftest_n_trace_cases = sizeof selftest_trace_cases / sizeof *selftest_trace_cases;
