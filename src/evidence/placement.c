/* Rule 6 of DESIGN.md. Everything wrong with the evidence makes the verdict *unknown*; evidence
 * that holds makes it pass or fail.
 *
 * The two sources see different things: the profile the nodes that were executed, with every run;
 * the log the nodes that exist, once. In a graph without control flow they must be the same nodes
 * on the same providers, and each must have run once in every call; with control flow a node may
 * run less often or more often, but the same number of times in each call of the same inputs. */
#include "evidence/placement.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "evidence/node_kind.h"
#include "evidence/placement_log.h"
#include "evidence/profile.h"

#define CPU_PROVIDER "CPUExecutionProvider"

const char *assay_placement_verdict_name(assay_placement_verdict verdict) {
  switch (verdict) {
  case ASSAY_PLACEMENT_PASS:
    return "pass";
  case ASSAY_PLACEMENT_FAIL:
    return "fail";
  case ASSAY_PLACEMENT_UNKNOWN:
    return "unknown";
  }
  return "unknown";
}

/* One judgement: the evidence, and where its verdict goes. */
typedef struct judgement {
  const assay_placement_spec *spec;
  const assay_profile *profile;
  const assay_placement_log *log;
  bool has_control_flow;
  assay_placement *out;
} judgement;

/* The first reason why the evidence does not hold. */
static void doubt(assay_placement *out, const char *format, ...) ASSAY_PRINTF(2, 3);
static void doubt(assay_placement *out, const char *format, ...) {
  if (out->verdict == ASSAY_PLACEMENT_UNKNOWN && out->reason[0] != '\0') return;
  out->verdict = ASSAY_PLACEMENT_UNKNOWN;
  va_list args;
  va_start(args, format);
  vsnprintf(out->reason, sizeof out->reason, format, args);
  va_end(args);
}

/* --- what the profile says by itself ------------------------------------------------------------
 */

static void doubt_profile(const judgement *j) {
  const assay_profile *p = j->profile;
  assay_placement *out = j->out;
  if (p->n_events >= ASSAY_PROFILE_EVENTS_MAX || j->log->events_were_dropped)
    doubt(out, "the runtime's limit of %d profile events was reached: profile fewer calls",
          ASSAY_PROFILE_EVENTS_MAX);
  if (p->n_sessions != 1) doubt(out, "the profile is of %zu sessions, expected 1", p->n_sessions);
  if (!p->one_process) doubt(out, "the profile has events of several processes");
  if (p->n_model_runs != j->spec->n_runs)
    doubt(out, "the profile has %zu calls, expected %zu", p->n_model_runs, j->spec->n_runs);
  if (p->n_nodes == 0) doubt(out, "the profile has no executed node");
}

/* Every node must have run equally often in every call. */
static void doubt_counts(const judgement *j) {
  size_t n_runs = j->spec->n_runs;
  for (size_t i = 0; n_runs > 0 && i < j->profile->n_nodes; ++i) {
    const assay_profile_node *node = &j->profile->nodes[i];
    bool is_whole = j->has_control_flow ? node->n_events % n_runs == 0 : node->n_events == n_runs;
    if (is_whole) continue;
    doubt(j->out, "%.64s '%.96s' ran %zu times in %zu calls: events are missing or doubled",
          node->op, node->name, node->n_events, n_runs);
    return;
  }
}

/* --- the profile against the log ----------------------------------------------------------------
 */

static size_t count_on(const assay_profile *profile, const char *provider) {
  size_t n = 0;
  for (size_t i = 0; i < profile->n_nodes; ++i)
    n += strcmp(profile->nodes[i].provider, provider) == 0;
  return n;
}

static void doubt_provider_counts(const judgement *j) {
  for (size_t i = 0; i < j->log->n_counts; ++i) {
    const assay_placed_count *placed = &j->log->counts[i];
    size_t executed = count_on(j->profile, placed->provider);
    bool agrees = j->has_control_flow ? executed <= placed->n_nodes : executed == placed->n_nodes;
    if (!agrees)
      doubt(j->out, "the log places %zu nodes on %.64s, the profile has %zu there", placed->n_nodes,
            placed->provider, executed);
  }
  for (size_t i = 0; i < j->profile->n_nodes; ++i)
    if (assay_placement_log_count(j->log, j->profile->nodes[i].provider) == 0) {
      doubt(j->out, "the profile has nodes on %.64s, the log places none there",
            j->profile->nodes[i].provider);
      return;
    }
}

static int compare_placed(const void *a, const void *b) {
  const assay_placed_node *x = *(const assay_placed_node *const *)a;
  const assay_placed_node *y = *(const assay_placed_node *const *)b;
  int c = strcmp(x->provider, y->provider);
  if (c == 0) c = strcmp(x->op, y->op);
  return c != 0 ? c : strcmp(x->name, y->name);
}

static bool is_placed(const assay_placed_node *const *sorted, size_t n,
                      const assay_placed_node *key) {
  return bsearch(&key, sorted, n, sizeof *sorted, compare_placed) != NULL;
}

/* Each executed node must be in the log's list; there is a list only when several providers have
 * nodes. */
static assay_status doubt_names(const judgement *j, assay_error *err) {
  size_t n = j->log->n_nodes;
  if (n == 0) return ASSAY_OK;
  const assay_placed_node **sorted = assay_alloc_array(n, sizeof *sorted);
  if (sorted == NULL) return assay_fail_memory(err, n * sizeof *sorted);
  for (size_t i = 0; i < n; ++i) sorted[i] = &j->log->nodes[i];
  qsort(sorted, n, sizeof *sorted, compare_placed);
  char nameless[] = "";
  for (size_t i = 0; i < j->profile->n_nodes; ++i) {
    const assay_profile_node *node = &j->profile->nodes[i];
    assay_placed_node key = {.provider = node->provider, .op = node->op, .name = node->name};
    bool found = is_placed(sorted, n, &key);
    key.name = nameless;
    if (found || (assay_node_is_nameless(node) && is_placed(sorted, n, &key))) continue;
    doubt(j->out, "%.64s '%.96s' ran on %.64s, where the log does not place it", node->op,
          node->name, node->provider);
    break;
  }
  assay_free(sorted);
  return ASSAY_OK;
}

static assay_status doubt_log(const judgement *j, assay_error *err) {
  if (j->log->n_sections == 0 || j->log->n_counts == 0) {
    doubt(j->out, "the log says nothing of placements: it is cut, or the session was not verbose");
    return ASSAY_OK;
  }
  doubt_provider_counts(j);
  return doubt_names(j, err);
}

/* --- what ran where -----------------------------------------------------------------------------
 */

static bool is_allowed(const assay_placement_spec *spec, const assay_profile_node *node) {
  if (strcmp(node->provider, CPU_PROVIDER) != 0) return false;
  for (size_t i = 0; i < spec->n_allowed_cpu_ops; ++i)
    if (strcmp(spec->allowed_cpu_ops[i], node->op) == 0) return true;
  return false;
}

static assay_status add_offender(assay_placement *out, const assay_profile_node *node,
                                 assay_error *err) {
  char *words = assay_node_offender(node->op, node->name, node->provider);
  if (words == NULL) return assay_fail_memory(err, ASSAY_NODE_OFFENDER_BYTES);
  out->offenders[out->n_offenders++] = words;
  return ASSAY_OK;
}

static void count_copy(assay_placement *out, const assay_profile_node *node) {
  ++out->n_copies;
  bool unknown = node->output_bytes < 0 || out->copied_bytes < 0;
  bool overflows = !unknown && out->copied_bytes > INT64_MAX - node->output_bytes;
  out->copied_bytes = unknown ? -1 : overflows ? INT64_MAX : out->copied_bytes + node->output_bytes;
}

/* Counts node i among compute, copies or control flow, and names it when it is where it should not
 * be. */
static assay_status classify(const judgement *j, const assay_profile_node *node, assay_error *err) {
  assay_placement *out = j->out;
  assay_node_kind kind = assay_node_kind_of(node->op);
  if (kind == ASSAY_NODE_COPY) count_copy(out, node);
  out->n_control_flow += kind == ASSAY_NODE_CONTROL_FLOW;
  if (kind != ASSAY_NODE_COMPUTE) return ASSAY_OK;
  ++out->n_compute;
  out->n_compiled += assay_node_is_compiled(node);
  if (strcmp(node->provider, j->spec->provider) == 0) {
    ++out->n_on_provider;
    return ASSAY_OK;
  }
  if (is_allowed(j->spec, node)) {
    ++out->n_allowed;
    return ASSAY_OK;
  }
  return add_offender(out, node, err);
}

static int compare_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static assay_status classify_all(const judgement *j, assay_error *err) {
  size_t n = j->profile->n_nodes;
  j->out->offenders = assay_alloc_array(n + 1, sizeof *j->out->offenders);
  if (j->out->offenders == NULL) return assay_fail_memory(err, n * sizeof *j->out->offenders);
  for (size_t i = 0; i < n; ++i) ASSAY_TRY(classify(j, &j->profile->nodes[i], err));
  if (j->out->n_offenders > 1)
    qsort(j->out->offenders, j->out->n_offenders, sizeof *j->out->offenders, compare_text);
  return ASSAY_OK;
}

static int compare_by_operator(const void *a, const void *b) {
  const assay_profile_node *x = *(const assay_profile_node *const *)a;
  const assay_profile_node *y = *(const assay_profile_node *const *)b;
  int c = strcmp(x->provider, y->provider);
  return c != 0 ? c : strcmp(x->op, y->op);
}

/* text fit for a terminal and for JSON; NULL when memory is out. */
static char *printable_copy(const char *text) {
  char printable[256];
  assay_text_printable(text, printable, sizeof printable);
  return assay_strdup(printable);
}

/* Adds node to the last count, or to a new one if it is the first of its provider and operator. */
static assay_status add_to_counts(assay_placement *out, const assay_profile_node *node, bool is_new,
                                  assay_error *err) {
  if (is_new) {
    assay_placement_count *count = &out->counts[out->n_counts++];
    count->provider = printable_copy(node->provider);
    count->op = printable_copy(node->op);
    if (count->provider == NULL || count->op == NULL) return assay_fail_memory(err, 256);
  }
  assay_placement_count *count = &out->counts[out->n_counts - 1];
  ++count->n_nodes;
  count->n_events += node->n_events;
  bool overflows = count->duration_us > INT64_MAX - node->duration_us;
  count->duration_us = overflows ? INT64_MAX : count->duration_us + node->duration_us;
  return ASSAY_OK;
}

static assay_status count_all(const judgement *j, assay_error *err) {
  size_t n = j->profile->n_nodes;
  if (n == 0) return ASSAY_OK;
  const assay_profile_node **sorted = assay_alloc_array(n, sizeof *sorted);
  j->out->counts = assay_alloc_array(n, sizeof *j->out->counts);
  assay_status st = ASSAY_OK;
  if (sorted == NULL || j->out->counts == NULL) st = assay_fail_memory(err, n * sizeof *sorted);
  for (size_t i = 0; !st && i < n; ++i) sorted[i] = &j->profile->nodes[i];
  if (!st) qsort(sorted, n, sizeof *sorted, compare_by_operator);
  for (size_t i = 0; !st && i < n; ++i) {
    bool is_new = i == 0 || compare_by_operator(&sorted[i - 1], &sorted[i]) != 0;
    st = add_to_counts(j->out, sorted[i], is_new, err);
  }
  assay_free(sorted);
  return st;
}

/* --- the verdict --------------------------------------------------------------------------------
 */

static void conclude(const judgement *j) {
  assay_placement *out = j->out;
  if (out->n_compute == 0) doubt(out, "the profile has no compute node");
  if (out->reason[0] != '\0') return; /* a doubt */
  out->verdict = ASSAY_PLACEMENT_FAIL;
  if (out->n_offenders > 0) {
    snprintf(out->reason, sizeof out->reason,
             "%zu of %zu compute nodes did not run on %.64s, first %.96s", out->n_offenders,
             out->n_compute, j->spec->provider, out->offenders[0]);
  } else if (out->n_on_provider == 0) {
    snprintf(out->reason, sizeof out->reason, "no compute node ran on %.64s", j->spec->provider);
  } else if (j->spec->max_copies >= 0 && out->n_copies > (uint64_t)j->spec->max_copies) {
    snprintf(out->reason, sizeof out->reason, "%zu copies between devices, at most %lld allowed",
             out->n_copies, (long long)j->spec->max_copies);
  } else {
    out->verdict = ASSAY_PLACEMENT_PASS;
  }
}

static assay_status judge_evidence(const judgement *j, assay_error *err) {
  doubt_profile(j);
  doubt_counts(j);
  bool profile_holds = j->out->reason[0] == '\0';
  ASSAY_TRY(doubt_log(j, err));
  j->out->log_agrees = profile_holds && j->out->reason[0] == '\0';
  ASSAY_TRY(count_all(j, err));
  ASSAY_TRY(classify_all(j, err));
  conclude(j);
  return ASSAY_OK;
}

static bool has_control_flow(const assay_profile *profile) {
  for (size_t i = 0; i < profile->n_nodes; ++i)
    if (assay_node_kind_of(profile->nodes[i].op) == ASSAY_NODE_CONTROL_FLOW) return true;
  return false;
}

/* Names may be any bytes, and a reason may have been cut within a character. */
static void make_printable(assay_placement *out) {
  char printable[sizeof out->reason];
  assay_text_printable(out->reason, printable, sizeof printable);
  memcpy(out->reason, printable, sizeof printable);
}

/* Reads what there is; an unreadable source leaves its doubt in *out. Errors: MEMORY. */
static assay_status read_evidence(const assay_placement_spec *spec, assay_profile *profile,
                                  assay_placement_log *log, assay_placement *out,
                                  assay_error *err) {
  assay_error why = {0};
  if (spec->provider == NULL) doubt(out, "no provider was asked for");
  if (spec->profile_path == NULL) doubt(out, "there is no profile");
  if (spec->log_path == NULL) doubt(out, "there is no placement log");
  if (out->reason[0] != '\0') return ASSAY_OK;
  assay_status st = assay_profile_read(spec->profile_path, profile, &why);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  if (st) doubt(out, "profile: %.230s", why.text);
  why = (assay_error){0};
  st = assay_placement_log_read(spec->log_path, log, &why);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  if (st) doubt(out, "placement log: %.230s", why.text);
  return ASSAY_OK;
}

assay_status assay_placement_judge(const assay_placement_spec *spec, assay_placement *out,
                                   assay_error *err) {
  assay_placement result = {.verdict = ASSAY_PLACEMENT_UNKNOWN};
  assay_profile profile = {0};
  assay_placement_log log = {0};
  assay_status st = read_evidence(spec, &profile, &log, &result, err);
  if (!st && spec->provider != NULL) {
    judgement j = {.spec = spec,
                   .profile = &profile,
                   .log = &log,
                   .has_control_flow = has_control_flow(&profile),
                   .out = &result};
    result.n_model_runs = profile.n_model_runs;
    result.repaired = profile.repaired;
    st = judge_evidence(&j, err);
  }
  assay_profile_reset(&profile);
  assay_placement_log_reset(&log);
  make_printable(&result);
  if (st) {
    assay_placement_reset(&result);
    return st;
  }
  *out = result;
  return ASSAY_OK;
}

static void put_counts(const assay_placement *placement, assay_json_builder *b) {
  assay_json_begin_array(b, "counts");
  for (size_t i = 0; i < placement->n_counts; ++i) {
    const assay_placement_count *count = &placement->counts[i];
    assay_json_begin_object(b, NULL);
    assay_json_put_string(b, "provider", count->provider);
    assay_json_put_string(b, "op", count->op);
    assay_json_put_int(b, "n_nodes", (int64_t)count->n_nodes);
    assay_json_put_int(b, "n_events", (int64_t)count->n_events);
    assay_json_put_int(b, "duration_us", count->duration_us);
    assay_json_end(b);
  }
  assay_json_end(b);
}

void assay_placement_put(const assay_placement *placement, assay_json_builder *b, const char *key) {
  assay_json_begin_object(b, key);
  assay_json_put_string(b, "verdict", assay_placement_verdict_name(placement->verdict));
  assay_json_put_string(b, "reason", placement->reason);
  assay_json_put_int(b, "n_compute", (int64_t)placement->n_compute);
  assay_json_put_int(b, "n_on_provider", (int64_t)placement->n_on_provider);
  assay_json_put_int(b, "n_compiled", (int64_t)placement->n_compiled);
  assay_json_put_int(b, "n_copies", (int64_t)placement->n_copies);
  assay_json_put_int(b, "copied_bytes", placement->copied_bytes);
  assay_json_put_int(b, "n_control_flow", (int64_t)placement->n_control_flow);
  assay_json_put_int(b, "n_allowed", (int64_t)placement->n_allowed);
  assay_json_put_int(b, "n_model_runs", (int64_t)placement->n_model_runs);
  assay_json_put_bool(b, "log_agrees", placement->log_agrees);
  assay_json_put_bool(b, "repaired", placement->repaired);
  put_counts(placement, b);
  assay_json_begin_array(b, "offenders");
  for (size_t i = 0; i < placement->n_offenders; ++i)
    assay_json_put_string(b, NULL, placement->offenders[i]);
  assay_json_end(b);
  assay_json_end(b);
}

void assay_placement_reset(assay_placement *placement) {
  for (size_t i = 0; i < placement->n_counts; ++i) {
    assay_free(placement->counts[i].provider);
    assay_free(placement->counts[i].op);
  }
  for (size_t i = 0; i < placement->n_offenders; ++i) assay_free(placement->offenders[i]);
  assay_free(placement->counts);
  assay_free(placement->offenders);
  *placement = (assay_placement){0};
}
