/* The verdict from two sources: the nodes that were executed and the nodes that were placed. */
#include "verify/verify_placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "verify/verify_log.h"
#include "verify/verify_trace.h"
#include "verify/verify_words.h"

#define NAME_BYTES     256
#define OFFENDER_BYTES 512

/* The evidence of one run. */
typedef struct evidence {
  const assay_verify_policy *policy;
  assay_verify_trace trace;
  assay_verify_log log;
  bool has_control_flow;
  assay_verify_placement *out;
} evidence;

static bool is_one_of(assay_verify_span op, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (assay_verify_span_is(op, names[i])) return true;
  return false;
}

static bool is_copy(const assay_verify_node *node) {
  static const char *const names[] = {"MemcpyFromHost", "MemcpyToHost"};
  return is_one_of(node->op, names, 2);
}

static bool is_control_flow(const assay_verify_node *node) {
  static const char *const names[] = {"If", "Loop", "Scan"};
  return is_one_of(node->op, names, 3);
}

/* A subgraph that a provider compiled: "<provider>_<op>_…", where the op is no ONNX operator's. */
static bool is_compiled(const assay_verify_node *node) {
  assay_verify_span name = node->name, provider = node->provider, op = node->op;
  bool odd = op.n > 0 && (memchr(op.at, '_', op.n) != NULL || memchr(op.at, '-', op.n) != NULL);
  return odd && name.n >= provider.n + op.n + 2 && memcmp(name.at, provider.at, provider.n) == 0 &&
         name.at[provider.n] == '_' && memcmp(name.at + provider.n + 1, op.at, op.n) == 0 &&
         name.at[provider.n + 1 + op.n] == '_';
}

/* --- does the evidence hold? ---------------------------------------------------------------------
 */

static void doubt(evidence *e, bool holds, const char *why) {
  if (!holds && e->out->doubt == NULL) e->out->doubt = why;
}

static void doubt_trace(evidence *e) {
  const assay_verify_trace *t = &e->trace;
  size_t n_runs = (size_t)e->policy->n_runs;
  doubt(e, t->n_events < ASSAY_VERIFY_TRACE_EVENTS_MAX && !e->log.events_were_dropped,
        "the runtime's limit of events was reached");
  doubt(e, t->n_sessions == 1, "the profile is not of one session");
  doubt(e, t->one_process, "the profile is of several processes");
  doubt(e, t->n_model_runs == n_runs, "the profile has another number of calls");
  doubt(e, t->n_nodes > 0, "the profile has no node");
  for (size_t i = 0; i < t->n_nodes && n_runs > 0; i++) {
    size_t n = t->nodes[i].n_events;
    doubt(e, e->has_control_flow ? n % n_runs == 0 : n == n_runs,
          "a node did not run equally often in every call");
  }
}

static size_t executed_on(const assay_verify_trace *trace, assay_verify_span provider) {
  size_t n = 0;
  for (size_t i = 0; i < trace->n_nodes; i++)
    n += assay_verify_span_compare(trace->nodes[i].provider, provider) == 0;
  return n;
}

/* A node without a name is "<operator>_<index>" in the profile. */
static bool has_no_name(const assay_verify_node *node) {
  assay_verify_span name = node->name, op = node->op, index = node->index;
  return name.n == op.n + 1 + index.n && memcmp(name.at, op.at, op.n) == 0 &&
         name.at[op.n] == '_' &&
         (index.n == 0 || memcmp(name.at + op.n + 1, index.at, index.n) == 0);
}

static int compare_listed(const void *a, const void *b) {
  const assay_verify_log_node *x = a, *y = b;
  int c = assay_verify_span_compare(x->op, y->op);
  return c != 0 ? c : assay_verify_span_compare(x->name, y->name);
}

static bool is_listed(const evidence *e, const assay_verify_node *node) {
  const assay_verify_log_group *group = assay_verify_log_find(&e->log, node->provider);
  if (group == NULL || group->n_listed == 0) return false;
  const assay_verify_log_node *listed = e->log.nodes + group->first;
  assay_verify_log_node key = {.op = node->op, .name = node->name};
  if (bsearch(&key, listed, group->n_listed, sizeof key, compare_listed) != NULL) return true;
  key.name = (assay_verify_span){"", 0};
  return has_no_name(node) &&
         bsearch(&key, listed, group->n_listed, sizeof key, compare_listed) != NULL;
}

static void doubt_log(evidence *e) {
  doubt(e, e->log.has_section && e->log.n_groups > 0, "the log says nothing of placements");
  for (size_t i = 0; i < e->log.n_groups; i++) {
    const assay_verify_log_group *group = &e->log.groups[i];
    size_t n = executed_on(&e->trace, group->provider);
    doubt(e, e->has_control_flow ? n <= group->n_nodes : n == group->n_nodes,
          "profile and log count other nodes on a provider");
    if (group->n_listed > 1)
      qsort(e->log.nodes + group->first, group->n_listed, sizeof *e->log.nodes, compare_listed);
  }
  for (size_t i = 0; i < e->trace.n_nodes; i++) {
    const assay_verify_log_group *group =
        assay_verify_log_find(&e->log, e->trace.nodes[i].provider);
    doubt(e, group != NULL && group->n_nodes > 0, "nodes ran on a provider that the log lacks");
    if (e->log.n_nodes > 0)
      doubt(e, is_listed(e, &e->trace.nodes[i]), "a node ran where the log does not place it");
  }
}

/* --- what ran where ------------------------------------------------------------------------------
 */

static char *span_text(assay_verify_span span, size_t max_bytes) {
  char raw[2 * OFFENDER_BYTES], shown[2 * OFFENDER_BYTES];
  size_t n = span.n < sizeof raw - 1 ? span.n : sizeof raw - 1;
  memcpy(raw, span.at, n);
  raw[n] = '\0';
  assay_text_printable(raw, shown, max_bytes < sizeof shown ? max_bytes : sizeof shown);
  return assay_strdup(shown);
}

/* "MatMul '/layer/MatMul' on CPUExecutionProvider". */
static char *offender_text(const assay_verify_node *node) {
  char text[OFFENDER_BYTES], shown[OFFENDER_BYTES];
  char *name = span_text(node->name, OFFENDER_BYTES / 2);
  if (name == NULL) return NULL;
  snprintf(text, sizeof text, "%.*s '%s' on %.*s", node->op.n < 96 ? (int)node->op.n : 96,
           node->op.at, name, node->provider.n < 96 ? (int)node->provider.n : 96,
           node->provider.at);
  assay_text_printable(text, shown, sizeof shown);
  assay_free(name);
  return assay_strdup(shown);
}

static bool is_allowed(const evidence *e, const assay_verify_node *node) {
  const assay_verify_policy *policy = e->policy;
  return assay_verify_span_is(node->provider, "CPUExecutionProvider") &&
         is_one_of(node->op, (const char *const *)policy->allowed_cpu_ops,
                   policy->n_allowed_cpu_ops);
}

static assay_status count_node(evidence *e, const assay_verify_node *node, assay_error *err) {
  assay_result_placement *f = &e->out->figures;
  if (is_copy(node)) {
    int64_t sum = f->copied_bytes, more = node->output_bytes;
    f->n_copies++;
    f->copied_bytes = sum < 0 || more < 0 ? -1 : sum > INT64_MAX - more ? INT64_MAX : sum + more;
  }
  f->n_control_flow += is_control_flow(node);
  if (is_copy(node) || is_control_flow(node)) return ASSAY_OK;
  f->n_compute++;
  f->n_compiled += is_compiled(node);
  if (assay_verify_span_is(node->provider, e->policy->provider)) {
    f->n_on_provider++;
  } else if (is_allowed(e, node)) {
    f->n_allowed++;
  } else {
    f->offenders[f->n_offenders] = offender_text(node);
    if (f->offenders[f->n_offenders] == NULL) return assay_fail_memory(err, OFFENDER_BYTES);
    f->n_offenders++;
  }
  return ASSAY_OK;
}

/* Nodes come sorted by provider and operator. */
static assay_status count_operator(evidence *e, size_t i, assay_error *err) {
  assay_result_placement *f = &e->out->figures;
  const assay_verify_node *node = &e->trace.nodes[i], *before = i > 0 ? node - 1 : NULL;
  bool same = before != NULL && assay_verify_span_compare(before->provider, node->provider) == 0 &&
              assay_verify_span_compare(before->op, node->op) == 0;
  if (!same) {
    assay_result_placement_count *fresh = &f->counts[f->n_counts++];
    fresh->provider = span_text(node->provider, NAME_BYTES);
    fresh->op = span_text(node->op, NAME_BYTES);
    if (fresh->provider == NULL || fresh->op == NULL) return assay_fail_memory(err, NAME_BYTES);
  }
  assay_result_placement_count *count = &f->counts[f->n_counts - 1];
  count->n_nodes++;
  count->n_events += (int64_t)node->n_events;
  bool overflows = count->duration_us > INT64_MAX - node->duration_us;
  count->duration_us = overflows ? INT64_MAX : count->duration_us + node->duration_us;
  return ASSAY_OK;
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static assay_status count_all(evidence *e, assay_error *err) {
  assay_result_placement *f = &e->out->figures;
  size_t n = e->trace.n_nodes;
  f->counts = assay_alloc_array(n, sizeof *f->counts);
  f->offenders = assay_alloc_array(n, sizeof *f->offenders);
  if (f->counts == NULL || f->offenders == NULL) return assay_fail_memory(err, n * 64);
  for (size_t i = 0; i < n; i++) {
    ASSAY_TRY(count_operator(e, i, err));
    ASSAY_TRY(count_node(e, &e->trace.nodes[i], err));
  }
  if (f->n_offenders > 1) qsort(f->offenders, f->n_offenders, sizeof *f->offenders, by_text);
  return ASSAY_OK;
}

static assay_verdict conclude(const evidence *e) {
  const assay_result_placement *f = &e->out->figures;
  int64_t max_copies = e->policy->max_copies;
  if (e->out->doubt != NULL) return ASSAY_VERDICT_UNKNOWN;
  bool all_there = f->n_offenders == 0 && f->n_on_provider > 0;
  if (!all_there || (max_copies >= 0 && f->n_copies > max_copies)) return ASSAY_VERDICT_FAIL;
  return ASSAY_VERDICT_PASS;
}

static assay_status derive(evidence *e, assay_error *err) {
  assay_result_placement *f = &e->out->figures;
  for (size_t i = 0; i < e->trace.n_nodes; i++)
    e->has_control_flow |= is_control_flow(&e->trace.nodes[i]);
  doubt_trace(e);
  doubt_log(e);
  f->known = true;
  f->log_agrees = e->out->doubt == NULL;
  f->n_model_runs = (int64_t)e->trace.n_model_runs;
  f->repaired = e->trace.repaired;
  ASSAY_TRY(count_all(e, err));
  doubt(e, f->n_compute > 0, "the profile has no compute node");
  f->verdict = conclude(e);
  return ASSAY_OK;
}

assay_status assay_verify_placement_derive(const assay_verify_policy *policy, const void *profile,
                                           size_t profile_bytes, const void *log, size_t log_bytes,
                                           assay_verify_placement *out, assay_error *err) {
  assay_verify_placement placement = {0};
  evidence e = {.policy = policy, .out = &placement};
  assay_error why = {0};
  assay_status st = assay_verify_trace_parse(profile, profile_bytes, &e.trace, &why);
  if (st == ASSAY_E_FORMAT) doubt(&e, false, "the profile is not whole");
  if (st != ASSAY_E_MEMORY) {
    st = assay_verify_log_parse(log, log_bytes, &e.log, &why);
    if (st == ASSAY_E_FORMAT) doubt(&e, false, "the placements in the log are not whole");
  }
  if (st == ASSAY_E_MEMORY)
    st = assay_fail(err, st, "%s", why.text);
  else
    st = derive(&e, err);
  assay_verify_trace_reset(&e.trace);
  assay_verify_log_reset(&e.log);
  if (st) {
    assay_verify_placement_reset(&placement);
    return st;
  }
  *out = placement;
  return ASSAY_OK;
}

void assay_verify_placement_reset(assay_verify_placement *placement) {
  assay_result_placement *f = &placement->figures;
  for (size_t i = 0; i < f->n_counts; i++) {
    assay_free(f->counts[i].provider);
    assay_free(f->counts[i].op);
  }
  for (size_t i = 0; i < f->n_offenders; i++) assay_free(f->offenders[i]);
  assay_free(f->counts);
  assay_free(f->offenders);
  *placement = (assay_verify_placement){0};
}

/* --- checking ------------------------------------------------------------------------------------
 */

static void check_counts(const assay_verify_place *above, const assay_result_placement *found,
                         const assay_result_placement *derived) {
  assay_verify_int(above, "counts (their number)", (int64_t)found->n_counts,
                   (int64_t)derived->n_counts);
  for (size_t i = 0; i < derived->n_counts && i < found->n_counts; i++) {
    const assay_result_placement_count *f = &found->counts[i], *d = &derived->counts[i];
    assay_verify_place at = *above;
    snprintf(at.within, sizeof at.within, "%.200scounts[%zu].", above->within, i);
    assay_verify_text(&at, "provider", f->provider, d->provider);
    assay_verify_text(&at, "op", f->op, d->op);
    assay_verify_int(&at, "n_nodes", f->n_nodes, d->n_nodes);
    assay_verify_int(&at, "n_events", f->n_events, d->n_events);
    assay_verify_int(&at, "duration_us", f->duration_us, d->duration_us);
  }
}

static void check_offenders(const assay_verify_place *at, const assay_result_placement *found,
                            const assay_result_placement *derived) {
  assay_verify_int(at, "offenders (their number)", (int64_t)found->n_offenders,
                   (int64_t)derived->n_offenders);
  for (size_t i = 0; i < derived->n_offenders && i < found->n_offenders; i++) {
    char what[48];
    snprintf(what, sizeof what, "offenders[%zu]", i);
    assay_verify_text(at, what, found->offenders[i], derived->offenders[i]);
  }
}

/* A doubt has its own words for each source; a verdict of fail repeats figures. */
static void check_reason(const assay_verify_place *at, const assay_result_placement *found,
                         const assay_result_placement *derived, const assay_verify_policy *policy) {
  char bad[64] = "", words[sizeof found->reason];
  const long double known[] = {(long double)derived->n_offenders, (long double)derived->n_compute,
                               (long double)derived->n_copies, (long double)policy->max_copies};
  bool passed = derived->verdict == ASSAY_VERDICT_PASS;
  assay_verify_holds(at, "reason", (found->reason[0] == '\0') == passed,
                     passed ? "no reason" : "a reason", found->reason);
  if (derived->verdict != ASSAY_VERDICT_FAIL) return;
  snprintf(words, sizeof words, "%s", found->reason);
  char *first = strstr(words, ", first "); /* an offender's name may hold anything */
  if (first != NULL) *first = '\0';
  bool agree = assay_verify_words_agree(words, known, 4, bad, sizeof bad);
  assay_verify_holds(at, "reason", agree, "numbers that follow from the evidence", bad);
}

void assay_verify_placement_check(const assay_verify_place *above, const assay_result *found,
                                  const assay_verify_policy *policy,
                                  const assay_verify_placement *derived) {
  const assay_result_placement *f = &found->placement, *d = &derived->figures;
  assay_verify_place at = *above;
  snprintf(at.within, sizeof at.within, "%.200splacement.", above->within);
  assay_verify_bool(&at, "known", f->known, true);
  if (!f->known) return;
  char expected[256];
  snprintf(expected, sizeof expected, "%s%s%s", assay_verdict_name(d->verdict),
           derived->doubt != NULL ? ": " : "", derived->doubt != NULL ? derived->doubt : "");
  assay_verify_holds(&at, "verdict", f->verdict == d->verdict, expected,
                     assay_verdict_name(f->verdict));
  assay_verify_text(&at, "provider", f->provider, policy->provider);
#define COUNT(member) assay_verify_int(&at, #member, f->member, d->member)
  COUNT(n_compute);
  COUNT(n_on_provider);
  COUNT(n_compiled);
  COUNT(n_copies);
  COUNT(copied_bytes);
  COUNT(n_control_flow);
  COUNT(n_allowed);
  COUNT(n_model_runs);
#undef COUNT
  assay_verify_bool(&at, "log_agrees", f->log_agrees, d->log_agrees);
  assay_verify_bool(&at, "repaired", f->repaired, d->repaired);
  check_counts(&at, f, d);
  check_offenders(&at, f, d);
  check_reason(&at, f, d, policy);
}
