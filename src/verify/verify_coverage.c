/* Everything that is said of a node, from whichever source, is one item; items sorted by operator
 * and name stand in groups, and each group is counted by itself. */
#include "verify/verify_coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "verify/verify_log.h"
#include "verify/verify_model.h"
#include "verify/verify_trace.h"

#define HEAD      "assay/assignment/1 "
#define COUNT_MAX ((size_t)1 << 20)

typedef enum source { MODEL, RAN, LISTED, ASSIGNED } source;

typedef struct item {
  assay_verify_span op, name, provider;
  assay_verify_span takes[2]; /* of an Add of the model: its inputs */
  source from;
  size_t part; /* of what was assigned */
} item;

typedef struct deriving {
  const assay_verify_coverage_sources *sources;
  assay_verify_trace trace;
  assay_verify_log log;
  item *items;
  size_t n, cap;
  item *products; /* [n_products] MatMuls of the model, by what they compute: their `provider` */
  size_t n_products, products_cap;
  char **texts; /* [n_texts] names that had to be escaped */
  size_t n_texts;
  bool has_control_flow, has_assignment;
  const char *doubt;
  assay_result_coverage *out;
} deriving;

static void doubt(deriving *d, bool holds, const char *why) {
  if (!holds && d->doubt == NULL) d->doubt = why;
}

static assay_status add(deriving *d, item one, assay_error *err) {
  item *items = assay_grown(d->items, &d->cap, d->n, sizeof *items, err);
  if (items == NULL) return ASSAY_E_MEMORY;
  d->items = items;
  d->items[d->n++] = one;
  return ASSAY_OK;
}

static bool is_one_of(assay_verify_span op, const char *const *words, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (assay_verify_span_is(op, words[i])) return true;
  return false;
}

static bool is_copy(assay_verify_span op) {
  static const char *const words[] = {"MemcpyFromHost", "MemcpyToHost"};
  return is_one_of(op, words, 2);
}

static bool is_control_flow(assay_verify_span op) {
  static const char *const words[] = {"If", "Loop", "Scan"};
  return is_one_of(op, words, 3);
}

/* "<provider>_<op>_…", where the op is no ONNX operator's. */
static bool is_compiled(const assay_verify_node *node) {
  assay_verify_span op = node->op, name = node->name, provider = node->provider;
  bool odd = false;
  for (size_t i = 0; i < op.n; i++) odd |= op.at[i] == '_' || op.at[i] == '-';
  size_t n = provider.n + op.n + 2;
  return odd && name.n >= n && memcmp(name.at, provider.at, provider.n) == 0 &&
         name.at[provider.n] == '_' && memcmp(name.at + provider.n + 1, op.at, op.n) == 0 &&
         name.at[n - 1] == '_';
}

static bool has_no_name(const assay_verify_node *node) {
  assay_verify_span op = node->op, name = node->name, index = node->index;
  return name.n == op.n + 1 + index.n && memcmp(name.at, op.at, op.n) == 0 &&
         name.at[op.n] == '_' &&
         (index.n == 0 || memcmp(name.at + op.n + 1, index.at, index.n) == 0);
}

/* --- the model -----------------------------------------------------------------------------------
 */

static bool is_control(char c) {
  return (unsigned char)c < 0x20 || c == 0x7f;
}

/* Control characters as \xNN, as the other sources have them. */
static assay_status escape(deriving *d, assay_verify_span *span, assay_error *err) {
  size_t n_controls = 0;
  for (size_t i = 0; i < span->n; i++) n_controls += is_control(span->at[i]);
  if (n_controls == 0) return ASSAY_OK;
  void *block = d->texts;
  ASSAY_TRY(assay_resize(&block, d->n_texts * sizeof *d->texts, (d->n_texts + 1) * sizeof *d->texts,
                         err));
  d->texts = block;
  char *text = assay_alloc_array(span->n + 3 * n_controls + 1, 1), *to = text;
  if (text == NULL) return assay_fail_memory(err, span->n);
  d->texts[d->n_texts++] = text;
  for (size_t i = 0; i < span->n; i++) {
    if (is_control(span->at[i]))
      to += snprintf(to, 5, "\\x%02x", (unsigned)(unsigned char)span->at[i]);
    else
      *to++ = span->at[i];
  }
  *span = (assay_verify_span){text, (size_t)(to - text)};
  return ASSAY_OK;
}

static assay_status add_product(deriving *d, assay_verify_span name, assay_verify_span output,
                                assay_error *err) {
  if (d->n_products == d->products_cap) {
    size_t cap = d->products_cap > 0 ? 2 * d->products_cap : 64;
    void *block = d->products;
    ASSAY_TRY(assay_resize(&block, d->products_cap * sizeof(item), cap * sizeof(item), err));
    d->products = block;
    d->products_cap = cap;
  }
  d->products[d->n_products++] = (item){.name = name, .provider = output};
  return ASSAY_OK;
}

static int by_output(const void *a, const void *b) {
  return assay_verify_span_compare(((const item *)a)->provider, ((const item *)b)->provider);
}

static assay_status take_model_node(void *arg, const assay_verify_model_node *node,
                                    assay_error *err) {
  deriving *d = arg;
  assay_verify_span op = node->op, name = node->name;
  if (assay_verify_span_is(op, "Constant") || is_copy(op) || is_control_flow(op)) return ASSAY_OK;
  ASSAY_TRY(escape(d, &op, err));
  ASSAY_TRY(escape(d, &name, err));
  if (assay_verify_span_is(op, "MatMul") && node->n_outputs == 1 && name.n > 0)
    ASSAY_TRY(add_product(d, name, node->output, err));
  item one = {.op = op, .name = name, .from = MODEL};
  if (assay_verify_span_is(op, "Add"))
    for (size_t i = 0; i < 2 && i < node->n_inputs; i++) one.takes[i] = node->inputs[i];
  return add(d, one, err);
}

/* --- what the runtime says -----------------------------------------------------------------------
 */

static assay_status take_trace(deriving *d, assay_error *err) {
  for (size_t i = 0; i < d->trace.n_nodes; i++) {
    const assay_verify_node *node = &d->trace.nodes[i];
    d->has_control_flow |= is_control_flow(node->op);
    if (is_copy(node->op) || is_control_flow(node->op) || is_compiled(node)) continue;
    assay_verify_span name = has_no_name(node) ? (assay_verify_span){"", 0} : node->name;
    item one = {.op = node->op, .name = name, .provider = node->provider, .from = RAN};
    ASSAY_TRY(add(d, one, err));
  }
  return ASSAY_OK;
}

static assay_status take_log(deriving *d, assay_error *err) {
  for (size_t g = 0; g < d->log.n_groups; g++) {
    const assay_verify_log_group *group = &d->log.groups[g];
    for (size_t i = group->first; i < group->first + group->n_listed; i++) {
      const assay_verify_log_node *node = &d->log.nodes[i];
      item one = {.op = node->op, .name = node->name, .provider = group->provider, .from = LISTED};
      if (node->name.n > 0) ASSAY_TRY(add(d, one, err));
    }
  }
  return ASSAY_OK;
}

/* The part of *rest before `stop`; false when there is none. */
static bool cut_off(assay_verify_span *rest, char stop, assay_verify_span *out) {
  const char *end = rest->n > 0 ? memchr(rest->at, stop, rest->n) : NULL;
  if (end == NULL) return false;
  *out = (assay_verify_span){rest->at, (size_t)(end - rest->at)};
  rest->n -= out->n + 1;
  rest->at = end + 1;
  return true;
}

static bool number_of(assay_verify_span text, size_t *out) {
  *out = 0;
  for (size_t i = 0; i < text.n; i++) {
    if (text.at[i] < '0' || text.at[i] > '9') return false;
    *out = 10 * *out + (size_t)(text.at[i] - '0');
    if (*out > COUNT_MAX) return false;
  }
  return text.n > 0;
}

static bool read_line(assay_verify_span line, item *out) {
  assay_verify_span part, domain;
  *out = (item){.from = ASSIGNED};
  if (!cut_off(&line, '\t', &part) || !cut_off(&line, '\t', &out->provider) ||
      !cut_off(&line, '\t', &domain) || !cut_off(&line, '\t', &out->op))
    return false;
  out->name = line;
  return number_of(part, &out->part) && out->provider.n > 0 && out->op.n > 0 &&
         (line.n == 0 || memchr(line.at, '\t', line.n) == NULL);
}

/* Nodes of control flow stay out of the items, and count in the parts: *out_parts has them all. */
static assay_status take_assignment(deriving *d, assay_error *err) {
  static const char broken[] = "the assignment is not whole";
  assay_verify_span rest = {d->sources->assignment.at, d->sources->assignment.n}, line, word;
  size_t n = 0, n_head = strlen(HEAD);
  bool whole = rest.n > 0 && memchr(rest.at, '\0', rest.n) == NULL && cut_off(&rest, '\n', &line) &&
               line.n > n_head && memcmp(line.at, HEAD, n_head) == 0;
  doubt(d, whole, broken);
  if (!whole) return ASSAY_OK;
  line = (assay_verify_span){line.at + n_head, line.n - n_head};
  if (line.n >= 13 && memcmp(line.at, "unavailable: ", 13) == 0) return ASSAY_OK;
  whole = cut_off(&line, ' ', &word) && number_of(word, &n) && assay_verify_span_is(line, "nodes");
  d->has_assignment = whole;
  for (size_t i = 0; i < n && whole; i++) {
    item one;
    whole = cut_off(&rest, '\n', &line) && read_line(line, &one);
    if (whole) ASSAY_TRY(add(d, one, err));
  }
  doubt(d, whole && rest.n == 0, broken);
  return ASSAY_OK;
}

/* --- does the assignment hold? -------------------------------------------------------------------
 */

/* Before sorting: the items of a part stand together. */
static void doubt_parts(deriving *d, const assay_verify_log_group *group) {
  size_t n_parts = 0, n_ran = 0, n_compiled = 0;
  const item *before = NULL;
  for (size_t i = 0; i < d->n; i++) {
    const item *one = &d->items[i];
    if (one->from != ASSIGNED) continue;
    bool is_new = before == NULL || before->part != one->part;
    n_parts += is_new && assay_verify_span_compare(one->provider, group->provider) == 0;
    before = one;
  }
  for (size_t i = 0; i < d->trace.n_nodes; i++) {
    const assay_verify_node *node = &d->trace.nodes[i];
    if (is_copy(node->op) || assay_verify_span_compare(node->provider, group->provider) != 0)
      continue;
    n_ran++;
    n_compiled += is_compiled(node);
  }
  bool only_compiled = n_ran > 0 && n_ran == n_compiled && !d->has_control_flow;
  doubt(d, n_parts >= n_compiled && (!only_compiled || n_parts == n_compiled),
        "other subgraphs ran than were assigned");
}

static void doubt_assignment(deriving *d) {
  bool any_compiled = false;
  for (size_t i = 0; i < d->trace.n_nodes; i++) any_compiled |= is_compiled(&d->trace.nodes[i]);
  doubt(d, d->has_assignment || !any_compiled, "nothing is said of compiled subgraphs");
  if (!d->has_assignment) return;
  for (size_t g = 0; g < d->log.n_groups; g++) doubt_parts(d, &d->log.groups[g]);
  for (size_t i = 0; i < d->n; i++)
    if (d->items[i].from == ASSIGNED) {
      const assay_verify_log_group *group = assay_verify_log_find(&d->log, d->items[i].provider);
      doubt(d, group != NULL && group->n_nodes > 0, "assigned to a provider without nodes");
    }
}

/* --- counting ------------------------------------------------------------------------------------
 */

static bool same_key(const item *a, const item *b) {
  return assay_verify_span_compare(a->op, b->op) == 0 &&
         assay_verify_span_compare(a->name, b->name) == 0;
}

static int compare_items(const void *a, const void *b) {
  const item *x = a, *y = b;
  int c = assay_verify_span_compare(x->op, y->op);
  if (c == 0) c = assay_verify_span_compare(x->name, y->name);
  if (c == 0) c = (x->from > y->from) - (x->from < y->from);
  return c != 0 ? c : assay_verify_span_compare(x->provider, y->provider);
}

/* The items of one source within a group; they are sorted by source. */
static const item *of_source(const item *group, size_t n, source from, size_t *out_n) {
  const item *first = NULL;
  *out_n = 0;
  for (size_t i = 0; i < n; i++) {
    if (group[i].from != from) continue;
    if (first == NULL) first = &group[i];
    ++*out_n;
  }
  return first;
}

static void doubt_group(deriving *d, const item *group, size_t n) {
  size_t n_assigned = 0;
  const item *assigned = of_source(group, n, ASSIGNED, &n_assigned);
  if (n_assigned == 0 || is_control_flow(group->op) || is_copy(group->op)) return;
  source before = MODEL;
  for (size_t i = 0, k = 0; i < n; i++) { /* each source is sorted by provider */
    if (group[i].from == MODEL || group[i].from == ASSIGNED) continue;
    if (group[i].from != before) k = 0;
    before = group[i].from;
    int c = -1;
    while (k < n_assigned &&
           (c = assay_verify_span_compare(assigned[k].provider, group[i].provider)) < 0)
      k++;
    doubt(d, k < n_assigned && c == 0, "a node ran elsewhere than it was assigned");
  }
}

static assay_status add_offender(deriving *d, const item *one, assay_error *err) {
  char raw[256], name[256], text[512], shown[512];
  size_t n = one->name.n < sizeof raw - 1 ? one->name.n : sizeof raw - 1;
  memcpy(raw, one->name.at, n);
  raw[n] = '\0';
  assay_text_printable(raw, name, sizeof name);
  snprintf(text, sizeof text, "%.*s '%s' on %.*s", one->op.n < 96 ? (int)one->op.n : 96, one->op.at,
           name, one->provider.n < 96 ? (int)one->provider.n : 96, one->provider.at);
  assay_text_printable(text, shown, sizeof shown);
  d->out->offenders[d->out->n_offenders] = assay_strdup(shown);
  if (d->out->offenders[d->out->n_offenders] == NULL) return assay_fail_memory(err, sizeof shown);
  d->out->n_offenders++;
  return ASSAY_OK;
}

static assay_status begin_op(deriving *d, assay_verify_span op, assay_error *err) {
  char raw[512], shown[256];
  size_t n = op.n < sizeof raw - 1 ? op.n : sizeof raw - 1;
  memcpy(raw, op.at, n);
  raw[n] = '\0';
  assay_text_printable(raw, shown, sizeof shown);
  d->out->ops[d->out->n_ops].op = assay_strdup(shown);
  if (d->out->ops[d->out->n_ops].op == NULL) return assay_fail_memory(err, sizeof shown);
  d->out->n_ops++;
  return ASSAY_OK;
}

/* The one item of a source under "<name>/MatMulAddFusion", a Gemm; or NULL. Items are sorted. */
static const item *find_gemm(const deriving *d, assay_verify_span name, source from) {
  static const char suffix[] = "/MatMulAddFusion";
  const item *found = NULL;
  size_t low = 0, high = d->n;
  char whole[1024];
  if (name.n + sizeof suffix > sizeof whole) return NULL;
  memcpy(whole, name.at, name.n);
  memcpy(whole + name.n, suffix, sizeof suffix);
  const item key = {.op = {"Gemm", 4}, .name = {whole, name.n + sizeof suffix - 1}};
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int c = assay_verify_span_compare(d->items[middle].op, key.op);
    if (c == 0) c = assay_verify_span_compare(d->items[middle].name, key.name);
    if (c < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < d->n && same_key(&d->items[low], &key); low++) {
    if (d->items[low].from != from) continue;
    if (found != NULL) return NULL;
    found = &d->items[low];
  }
  return found;
}

static const item *fused_product(const deriving *d, assay_verify_span name) {
  const item *found = find_gemm(d, name, RAN);
  return found != NULL || !d->has_assignment ? found : find_gemm(d, name, ASSIGNED);
}

/* The one MatMul of the model that computes a value; NULL when none does, or several bodies have
 * one. */
static const item *product_of(const deriving *d, assay_verify_span value) {
  const item key = {.provider = value};
  if (value.at == NULL || d->n_products == 0) return NULL;
  const item *end = d->products + d->n_products;
  const item *one = bsearch(&key, d->products, d->n_products, sizeof(item), by_output);
  if (one == NULL) return NULL;
  bool again = (one > d->products && by_output(one - 1, one) == 0) ||
               (one + 1 < end && by_output(one + 1, one) == 0);
  return again ? NULL : one;
}

/* What a MatMul, or the Add behind one, became by the fusion that keeps the product's name. */
static const item *fused_with(const deriving *d, const item *node) {
  if (node->name.n == 0) return NULL;
  if (assay_verify_span_is(node->op, "MatMul")) return fused_product(d, node->name);
  for (size_t i = 0; i < 2 && assay_verify_span_is(node->op, "Add"); i++) {
    const item *product = product_of(d, node->takes[i]);
    const item *found = product != NULL ? fused_product(d, product->name) : NULL;
    if (found != NULL) return found;
  }
  return NULL;
}

/* A source counts when it names as many as the model has; the profile comes first. */
static assay_status count_group(deriving *d, const item *group, size_t n, assay_error *err) {
  assay_result_coverage_op *op = &d->out->ops[d->out->n_ops - 1];
  size_t n_model = 0, n_said = 0;
  of_source(group, n, MODEL, &n_model);
  const item *said = of_source(group, n, RAN, &n_said);
  if (n_said != n_model) said = of_source(group, n, ASSIGNED, &n_said);
  op->n_nodes += (int64_t)n_model;
  if (n_said == 0 && n_model == 1) {
    said = fused_with(d, group);
    n_said = said != NULL;
  }
  for (size_t i = 0; i < n_said && n_said == n_model; i++) {
    bool covered = assay_verify_span_is(said[i].provider, d->sources->provider);
    op->n_covered += covered;
    op->n_elsewhere += !covered;
    const item one = {.op = group->op, .name = group->name, .provider = said[i].provider};
    if (!covered) ASSAY_TRY(add_offender(d, &one, err));
  }
  return ASSAY_OK;
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static assay_status count_all(deriving *d, assay_error *err) {
  assay_result_coverage *out = d->out;
  out->ops = assay_alloc_array(d->n + 1, sizeof *out->ops);
  out->offenders = assay_alloc_array(d->n + 1, sizeof *out->offenders);
  if (out->ops == NULL || out->offenders == NULL) return assay_fail_memory(err, d->n);
  assay_verify_span op = {0};
  for (size_t i = 0, n; i < d->n; i += n) {
    const item *group = &d->items[i];
    for (n = 1; i + n < d->n && same_key(group, &group[n]);) n++;
    if (group->from != MODEL) continue; /* sorted: the model's come first */
    if (out->n_ops == 0 || assay_verify_span_compare(op, group->op) != 0)
      ASSAY_TRY(begin_op(d, group->op, err));
    op = group->op;
    ASSAY_TRY(count_group(d, group, n, err));
  }
  for (size_t i = 0; i < out->n_ops; i++) {
    out->n_nodes += out->ops[i].n_nodes;
    out->n_covered += out->ops[i].n_covered;
    out->n_elsewhere += out->ops[i].n_elsewhere;
    out->n_unknown += out->ops[i].n_nodes - out->ops[i].n_covered - out->ops[i].n_elsewhere;
  }
  if (out->n_offenders > 1) qsort(out->offenders, out->n_offenders, sizeof(char *), by_text);
  return ASSAY_OK;
}

static assay_status take_all(deriving *d, assay_error *err) {
  const assay_verify_coverage_sources *s = d->sources;
  assay_error why = {0};
  assay_status st = assay_verify_model_each(s->model.at, s->model.n, take_model_node, d, &why);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  doubt(d, st == ASSAY_OK, "the model cannot be read");
  ASSAY_TRY(take_trace(d, err));
  ASSAY_TRY(take_log(d, err));
  ASSAY_TRY(take_assignment(d, err));
  doubt_assignment(d);
  if (d->n_products > 1) qsort(d->products, d->n_products, sizeof(item), by_output);
  if (d->n > 1) qsort(d->items, d->n, sizeof *d->items, compare_items);
  for (size_t i = 0, n; i < d->n && d->doubt == NULL; i += n) {
    for (n = 1; i + n < d->n && same_key(&d->items[i], &d->items[i + n]);) n++;
    doubt_group(d, &d->items[i], n);
  }
  d->out->judged = true;
  d->out->known = d->doubt == NULL;
  if (d->doubt != NULL) snprintf(d->out->reason, sizeof d->out->reason, "%s", d->doubt);
  return d->out->known ? count_all(d, err) : ASSAY_OK;
}

static assay_status parse(deriving *d, assay_error *err) {
  const assay_verify_coverage_sources *s = d->sources;
  assay_error why = {0};
  assay_status st = assay_verify_trace_parse(s->profile.at, s->profile.n, &d->trace, &why);
  if (st == ASSAY_OK) st = assay_verify_log_parse(s->log.at, s->log.n, &d->log, &why);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  doubt(d, st == ASSAY_OK, "profile or log is not whole");
  return take_all(d, err);
}

assay_status assay_verify_coverage_derive(const assay_verify_coverage_sources *sources,
                                          assay_result_coverage *out, assay_error *err) {
  assay_result_coverage coverage = {0};
  deriving d = {.sources = sources, .out = &coverage};
  assay_status st = parse(&d, err);
  for (size_t i = 0; i < d.n_texts; i++) assay_free(d.texts[i]);
  assay_free(d.texts);
  assay_free(d.items);
  assay_free(d.products);
  assay_verify_trace_reset(&d.trace);
  assay_verify_log_reset(&d.log);
  if (st) {
    assay_result_coverage_reset(&coverage);
    return st;
  }
  *out = coverage;
  return ASSAY_OK;
}

/* --- checking ------------------------------------------------------------------------------------
 */

void assay_verify_coverage_check(const assay_verify_place *above,
                                 const assay_result_coverage *found,
                                 const assay_result_coverage *derived) {
  assay_verify_place at = *above;
  snprintf(at.within, sizeof at.within, "%.200scoverage.", above->within);
  assay_verify_bool(&at, "judged", found->judged, derived->judged);
  if (!found->judged || !derived->judged) return;
  assay_verify_holds(&at, "known", found->known == derived->known,
                     derived->known ? "true" : derived->reason, found->known ? "true" : "false");
  assay_verify_holds(&at, "reason", (found->reason[0] == '\0') == derived->known,
                     derived->known ? "no reason" : "a reason", found->reason);
  assay_verify_int(&at, "n_nodes", found->n_nodes, derived->n_nodes);
  assay_verify_int(&at, "n_covered", found->n_covered, derived->n_covered);
  assay_verify_int(&at, "n_elsewhere", found->n_elsewhere, derived->n_elsewhere);
  assay_verify_int(&at, "n_unknown", found->n_unknown, derived->n_unknown);
  assay_verify_int(&at, "operators (their number)", (int64_t)found->n_ops, (int64_t)derived->n_ops);
  for (size_t i = 0; i < found->n_ops && i < derived->n_ops; i++) {
    const assay_result_coverage_op *f = &found->ops[i], *e = &derived->ops[i];
    assay_verify_place op_at = at;
    snprintf(op_at.within, sizeof op_at.within, "%.200soperators[%zu].", at.within, i);
    assay_verify_text(&op_at, "op", f->op, e->op);
    assay_verify_int(&op_at, "n_nodes", f->n_nodes, e->n_nodes);
    assay_verify_int(&op_at, "n_covered", f->n_covered, e->n_covered);
    assay_verify_int(&op_at, "n_elsewhere", f->n_elsewhere, e->n_elsewhere);
  }
  assay_verify_int(&at, "offenders (their number)", (int64_t)found->n_offenders,
                   (int64_t)derived->n_offenders);
  for (size_t i = 0; i < found->n_offenders && i < derived->n_offenders; i++) {
    char what[48];
    snprintf(what, sizeof what, "offenders[%zu]", i);
    assay_verify_text(&at, what, found->offenders[i], derived->offenders[i]);
  }
}
