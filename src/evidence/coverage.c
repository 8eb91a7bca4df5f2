/* Three lists of (operator, name): the model's, those that ran by themselves, those that were
 * assigned; sorted, and gone through group by group. */
#include "evidence/coverage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "evidence/assignment.h"
#include "evidence/node_kind.h"
#include "evidence/placement_log.h"
#include "evidence/profile.h"
#include "onnx/each_node.h"

typedef struct entry {
  const char *op, *name; /* borrowed; the model's are owned */
  const char *provider;  /* NULL for the model's */
} entry;

/* A matrix product of the model, by the value that it computes; or a sum, by one that it takes. */
typedef struct operand {
  const char *value, *node; /* owned by its list */
} operand;

typedef struct operands {
  operand *items;
  size_t n, cap;
} operands;

typedef struct list {
  entry *items;
  size_t n, cap;
} list;

/* What is known of one run, and where its coverage goes. */
typedef struct judgement {
  const assay_coverage_spec *spec;
  assay_profile profile;
  assay_placement_log log;
  assay_assignment assignment;
  list model;        /* owned texts */
  operands products; /* a MatMul and its output */
  operands sums;     /* an Add and one of its inputs */
  list ran;          /* borrowed from the profile */
  list listed;       /* borrowed from the log: those with a name */
  list assigned;     /* borrowed from the assignment */
  bool has_control_flow;
  assay_coverage *out;
} judgement;

static void doubt(judgement *j, const char *format, ...) ASSAY_PRINTF(2, 3);
static void doubt(judgement *j, const char *format, ...) {
  char text[sizeof j->out->reason];
  if (j->out->reason[0] != '\0') return; /* the first reason stays */
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  assay_text_printable(text, j->out->reason, sizeof j->out->reason);
}

/* --- lists --------------------------------------------------------------------------------------
 */

static assay_status add(list *to, entry item, assay_error *err) {
  entry *items = assay_grown(to->items, &to->cap, to->n, sizeof *items, err);
  if (items == NULL) return ASSAY_E_MEMORY;
  to->items = items;
  to->items[to->n++] = item;
  return ASSAY_OK;
}

static int compare_keys(const entry *x, const entry *y) {
  int c = strcmp(x->op, y->op);
  return c != 0 ? c : strcmp(x->name, y->name);
}

/* Within a group by provider. */
static int compare_entries(const void *a, const void *b) {
  const entry *x = a, *y = b;
  int c = compare_keys(x, y);
  return c != 0 || x->provider == NULL ? c : strcmp(x->provider, y->provider);
}

static void sort(list *l) {
  if (l->n > 1) qsort(l->items, l->n, sizeof *l->items, compare_entries);
}

/* The entries of key's operator and name. */
static list group_of(const list *sorted, const entry *key) {
  size_t low = 0, high = sorted->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare_keys(&sorted->items[middle], key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  size_t n = 0;
  while (low + n < sorted->n && compare_keys(&sorted->items[low + n], key) == 0) ++n;
  return (list){.items = n > 0 ? sorted->items + low : NULL, .n = n};
}

/* How many entries from item i on are of its operator and name. */
static size_t group_at(const list *sorted, size_t i) {
  size_t n = 1;
  while (i + n < sorted->n && compare_keys(&sorted->items[i], &sorted->items[i + n]) == 0) ++n;
  return n;
}

/* --- sources ------------------------------------------------------------------------------------
 */

/* Lists lend their texts; these are owned. */
static void release_text(const char *text) {
  union {
    const char *lent;
    char *owned;
  } one = {text};
  assay_free(one.owned);
}

static assay_status add_operand(operands *to, const char *value, const char *node,
                                assay_error *err) {
  operand *items = assay_grown(to->items, &to->cap, to->n, sizeof *items, err);
  if (items == NULL) return ASSAY_E_MEMORY;
  to->items = items;
  operand *one = &to->items[to->n++];
  *one = (operand){assay_strdup(value), assay_profile_escape(node, strlen(node))};
  return one->value != NULL && one->node != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
}

static assay_status take_operands(judgement *j, const assay_onnx_node *node, assay_error *err) {
  if (node->name[0] == '\0') return ASSAY_OK;
  if (strcmp(node->op, "MatMul") == 0 && node->n_outputs == 1)
    return add_operand(&j->products, node->outputs[0], node->name, err);
  for (size_t i = 0; strcmp(node->op, "Add") == 0 && i < node->n_inputs; ++i)
    ASSAY_TRY(add_operand(&j->sums, node->inputs[i], node->name, err));
  return ASSAY_OK;
}

/* Constants are no work: the runtime takes them in when it loads a model. */
static assay_status take_model_node(void *arg, const assay_onnx_node *node, assay_error *err) {
  judgement *j = arg;
  const char *op = node->op, *name = node->name;
  ASSAY_TRY(take_operands(j, node, err));
  if (strcmp(op, "Constant") == 0 || assay_node_kind_of(op) != ASSAY_NODE_COMPUTE) return ASSAY_OK;
  entry item = {.op = assay_profile_escape(op, strlen(op)),
                .name = assay_profile_escape(name, strlen(name))};
  assay_status st = item.op != NULL && item.name != NULL ? add(&j->model, item, err)
                                                         : assay_fail_memory(err, strlen(name));
  if (st == ASSAY_OK) return ASSAY_OK;
  release_text(item.op);
  release_text(item.name);
  return st;
}

static assay_status take_profile(judgement *j, assay_error *err) {
  for (size_t i = 0; i < j->profile.n_nodes; ++i) {
    const assay_profile_node *node = &j->profile.nodes[i];
    assay_node_kind kind = assay_node_kind_of(node->op);
    j->has_control_flow |= kind == ASSAY_NODE_CONTROL_FLOW;
    if (kind != ASSAY_NODE_COMPUTE || assay_node_is_compiled(node)) continue;
    const char *name = assay_node_is_nameless(node) ? "" : node->name;
    ASSAY_TRY(add(&j->ran, (entry){node->op, name, node->provider}, err));
  }
  return ASSAY_OK;
}

static assay_status take_log(judgement *j, assay_error *err) {
  for (size_t i = 0; i < j->log.n_nodes; ++i) {
    const assay_placed_node *node = &j->log.nodes[i];
    if (node->name[0] != '\0')
      ASSAY_TRY(add(&j->listed, (entry){node->op, node->name, node->provider}, err));
  }
  return ASSAY_OK;
}

static assay_status take_assignment(judgement *j, assay_error *err) {
  for (size_t i = 0; i < j->assignment.n_nodes; ++i) {
    const assay_assigned_node *node = &j->assignment.nodes[i];
    if (assay_node_kind_of(node->op) != ASSAY_NODE_COMPUTE) continue;
    ASSAY_TRY(add(&j->assigned, (entry){node->op, node->name, node->provider}, err));
  }
  return ASSAY_OK;
}

static int compare_values(const void *a, const void *b) {
  return strcmp(((const operand *)a)->value, ((const operand *)b)->value);
}

static int compare_nodes(const void *a, const void *b) {
  return strcmp(((const operand *)a)->node, ((const operand *)b)->node);
}

static void sort_operands(operands *l, int (*compare)(const void *, const void *)) {
  if (l->n > 1) qsort(l->items, l->n, sizeof *l->items, compare);
}

/* Keeps a source's failure as a reason, unless memory is out. */
static assay_status or_doubt(judgement *j, assay_status st, const char *what,
                             const assay_error *why, assay_error *err) {
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why->text);
  if (st) doubt(j, "%s: %.200s", what, why->text);
  return ASSAY_OK;
}

static assay_status read_sources(judgement *j, assay_error *err) {
  const assay_coverage_spec *spec = j->spec;
  assay_error why = {0};
  assay_status st = assay_profile_read(spec->profile_path, &j->profile, &why);
  ASSAY_TRY(or_doubt(j, st, "profile", &why, err));
  why = (assay_error){0};
  st = assay_placement_log_read(spec->log_path, &j->log, &why);
  ASSAY_TRY(or_doubt(j, st, "placement log", &why, err));
  why = (assay_error){0};
  st = assay_onnx_each_node(spec->model_path, take_model_node, j, &why);
  ASSAY_TRY(or_doubt(j, st, "model", &why, err));
  why = (assay_error){0};
  st = assay_assignment_read(spec->assignment_path, &j->assignment, &why);
  ASSAY_TRY(or_doubt(j, st, "assignment", &why, err));
  ASSAY_TRY(take_profile(j, err));
  ASSAY_TRY(take_log(j, err));
  ASSAY_TRY(take_assignment(j, err));
  sort_operands(&j->products, compare_values);
  sort_operands(&j->sums, compare_nodes);
  sort(&j->model);
  sort(&j->ran);
  sort(&j->listed);
  sort(&j->assigned);
  return ASSAY_OK;
}

/* --- the assignment against profile and log -----------------------------------------------------
 */

/* Nodes that are on a provider which none of their operator and name was assigned to. */
static void doubt_places(judgement *j, const list *placed) {
  for (size_t i = 0, n; i < placed->n; i += n) {
    n = group_at(placed, i);
    list assigned = group_of(&j->assigned, &placed->items[i]);
    for (size_t k = i, a = 0; k < i + n && assigned.n > 0; ++k) {
      const entry *one = &placed->items[k];
      while (a < assigned.n && strcmp(assigned.items[a].provider, one->provider) < 0) ++a;
      if (a == assigned.n || strcmp(assigned.items[a].provider, one->provider) != 0) {
        doubt(j, "%.64s '%.96s' is on %.64s, and was assigned to %.64s", one->op, one->name,
              one->provider, assigned.items[0].provider);
        return;
      }
    }
  }
}

/* Executed nodes of a provider: all, and those that it compiled. */
static void count_executed(const judgement *j, const char *provider, size_t *out_n,
                           size_t *out_n_compiled) {
  *out_n = *out_n_compiled = 0;
  for (size_t i = 0; i < j->profile.n_nodes; ++i) {
    const assay_profile_node *node = &j->profile.nodes[i];
    if (strcmp(node->provider, provider) != 0 || assay_node_kind_of(node->op) == ASSAY_NODE_COPY)
      continue;
    ++*out_n;
    *out_n_compiled += assay_node_is_compiled(node);
  }
}

/* Parts that a provider was assigned; the nodes of one stand together. */
static size_t count_parts(const assay_assignment *a, const char *provider) {
  size_t n = 0;
  for (size_t i = 0; i < a->n_nodes; ++i)
    n += strcmp(a->nodes[i].provider, provider) == 0 &&
         (i == 0 || a->nodes[i - 1].part != a->nodes[i].part);
  return n;
}

/* Each part that a provider compiled is one node that ran, unless it is in a branch that did not.
 */
static void doubt_provider(judgement *j, const char *provider) {
  size_t n = 0, n_compiled = 0, n_parts = count_parts(&j->assignment, provider);
  count_executed(j, provider, &n, &n_compiled);
  bool all_compiled = n > 0 && n == n_compiled && !j->has_control_flow;
  if (n_parts < n_compiled || (all_compiled && n_parts != n_compiled))
    doubt(j, "%zu compiled subgraphs ran on %.64s, which was assigned %zu parts of the graph",
          n_compiled, provider, n_parts);
}

static void doubt_assignment(judgement *j) {
  size_t n_compiled = 0;
  for (size_t i = 0; i < j->profile.n_nodes; ++i)
    n_compiled += assay_node_is_compiled(&j->profile.nodes[i]);
  if (!j->assignment.known) { /* names in the profile are all there is */
    if (n_compiled > 0)
      doubt(j, "of %zu compiled subgraphs nothing is said: %.180s", n_compiled,
            j->assignment.reason);
    return;
  }
  doubt_places(j, &j->ran);
  doubt_places(j, &j->listed);
  for (size_t i = 0; i < j->log.n_counts; ++i) doubt_provider(j, j->log.counts[i].provider);
  for (size_t i = 0; i < j->assignment.n_nodes; ++i)
    if (assay_placement_log_count(&j->log, j->assignment.nodes[i].provider) == 0)
      doubt(j, "nodes were assigned to %.64s, where the log places none",
            j->assignment.nodes[i].provider);
}

/* --- the model against both ---------------------------------------------------------------------
 */

static assay_status add_offender(assay_coverage *out, const entry *node, assay_error *err) {
  char *words = assay_node_offender(node->op, node->name, node->provider);
  if (words == NULL) return assay_fail_memory(err, ASSAY_NODE_OFFENDER_BYTES);
  out->offenders[out->n_offenders++] = words;
  return ASSAY_OK;
}

#define FUSED "/MatMulAddFusion"

/* The Gemm that a product of that name became; empty when there is none, or more than one. */
static list fused_product(const judgement *j, const char *name) {
  char fused[1024];
  int n = snprintf(fused, sizeof fused, "%s" FUSED, name);
  if (n < 0 || (size_t)n >= sizeof fused) return (list){0};
  const entry key = {.op = "Gemm", .name = fused};
  list said = group_of(&j->ran, &key);
  if (said.n != 1 && j->assignment.known) said = group_of(&j->assigned, &key);
  return said.n == 1 ? said : (list){0};
}

/* The first of sorted items whose key is that of *want, by compare; or NULL. */
static const operand *first_operand(const operands *l, const operand *want,
                                    int (*compare)(const void *, const void *)) {
  size_t low = 0, high = l->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare(&l->items[middle], want) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low < l->n && compare(&l->items[low], want) == 0 ? &l->items[low] : NULL;
}

/* The one product that computes a value; NULL when there is none, or one in each of several bodies.
 */
static const operand *product_of(const operands *products, const operand *want) {
  const operand *first = first_operand(products, want, compare_values);
  bool again = first != NULL && first + 1 < products->items + products->n &&
               strcmp(first[1].value, want->value) == 0;
  return again ? NULL : first;
}

/* What the one node `key` of the model became by the fusion that keeps a name. */
static list fused_with(const judgement *j, const entry *key) {
  if (strcmp(key->op, "MatMul") == 0 && key->name[0] != '\0') return fused_product(j, key->name);
  if (strcmp(key->op, "Add") != 0 || key->name[0] == '\0') return (list){0};
  const operands *sums = &j->sums, *products = &j->products;
  const operand want = {NULL, key->name};
  const operand *sum = first_operand(sums, &want, compare_nodes);
  list found = {0};
  for (; sum != NULL && sum < sums->items + sums->n && strcmp(sum->node, key->name) == 0; ++sum) {
    const operand *product = product_of(products, sum);
    if (product != NULL && found.n == 0) found = fused_product(j, product->node);
  }
  return found;
}

/* n nodes of the model of one operator and name: counted where the runtime names as many. */
static assay_status count_group(judgement *j, const entry *key, size_t n, assay_coverage_op *op,
                                assay_error *err) {
  list said = group_of(&j->ran, key);
  if (said.n != n && j->assignment.known) said = group_of(&j->assigned, key);
  op->n_nodes += n;
  if (said.n == 0 && n == 1) said = fused_with(j, key);
  if (said.n != n) return ASSAY_OK;
  for (size_t i = 0; i < n; ++i) {
    bool covered = strcmp(said.items[i].provider, j->spec->provider) == 0;
    op->n_covered += covered;
    op->n_elsewhere += !covered;
    const entry one = {key->op, key->name, said.items[i].provider};
    if (!covered) ASSAY_TRY(add_offender(j->out, &one, err));
  }
  return ASSAY_OK;
}

static assay_status begin_op(assay_coverage *out, const char *name, assay_error *err) {
  char printable[256];
  assay_text_printable(name, printable, sizeof printable);
  out->ops[out->n_ops].op = assay_strdup(printable);
  if (out->ops[out->n_ops].op == NULL) return assay_fail_memory(err, sizeof printable);
  ++out->n_ops;
  return ASSAY_OK;
}

static int compare_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static assay_status count_model(judgement *j, assay_error *err) {
  assay_coverage *out = j->out;
  const list *model = &j->model;
  out->ops = assay_alloc_array(model->n + 1, sizeof *out->ops);
  out->offenders = assay_alloc_array(model->n + 1, sizeof *out->offenders);
  if (out->ops == NULL || out->offenders == NULL) return assay_fail_memory(err, model->n);
  for (size_t i = 0, n; i < model->n; i += n) {
    const entry *key = &model->items[i];
    n = group_at(model, i);
    if (i == 0 || strcmp(key->op, model->items[i - 1].op) != 0)
      ASSAY_TRY(begin_op(out, key->op, err));
    ASSAY_TRY(count_group(j, key, n, &out->ops[out->n_ops - 1], err));
  }
  for (size_t i = 0; i < out->n_ops; ++i) {
    out->n_nodes += out->ops[i].n_nodes;
    out->n_covered += out->ops[i].n_covered;
    out->n_elsewhere += out->ops[i].n_elsewhere;
  }
  out->n_unknown = out->n_nodes - out->n_covered - out->n_elsewhere;
  if (out->n_offenders > 1)
    qsort(out->offenders, out->n_offenders, sizeof *out->offenders, compare_text);
  return ASSAY_OK;
}

static assay_status judge_sources(judgement *j, assay_error *err) {
  ASSAY_TRY(read_sources(j, err));
  if (j->out->reason[0] == '\0') doubt_assignment(j);
  j->out->known = j->out->reason[0] == '\0';
  return j->out->known ? count_model(j, err) : ASSAY_OK;
}

static void release_operands(operands *l) {
  for (size_t i = 0; i < l->n; ++i) {
    release_text(l->items[i].value);
    release_text(l->items[i].node);
  }
  assay_free(l->items);
}

static void release_model(list *model) {
  for (size_t i = 0; i < model->n; ++i) {
    release_text(model->items[i].op);
    release_text(model->items[i].name);
  }
  assay_free(model->items);
}

assay_status assay_coverage_judge(const assay_coverage_spec *spec, assay_coverage *out,
                                  assay_error *err) {
  assay_coverage result = {0};
  judgement j = {.spec = spec, .out = &result};
  assay_status st = judge_sources(&j, err);
  release_model(&j.model);
  release_operands(&j.products);
  release_operands(&j.sums);
  assay_free(j.ran.items);
  assay_free(j.listed.items);
  assay_free(j.assigned.items);
  assay_profile_reset(&j.profile);
  assay_placement_log_reset(&j.log);
  assay_assignment_reset(&j.assignment);
  if (st) {
    assay_coverage_reset(&result);
    return st;
  }
  *out = result;
  return ASSAY_OK;
}

void assay_coverage_reset(assay_coverage *coverage) {
  for (size_t i = 0; i < coverage->n_ops; ++i) assay_free(coverage->ops[i].op);
  for (size_t i = 0; i < coverage->n_offenders; ++i) assay_free(coverage->offenders[i]);
  assay_free(coverage->ops);
  assay_free(coverage->offenders);
  *coverage = (assay_coverage){0};
}
