/* Pairs again, from the outputs of both sides. B's outputs take the place of references that a user
 * brought, so the derivation of verify_numbers.c gives A against B too. */
#include "verify/verify_pairs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "package/fields.h"
#include "package/npz.h"
#include "package/pairs.h"
#include "verify/verify_jobs.h"
#include "verify/verify_numbers.h"

#define STAND_IN "user" /* the reference that B is taken for */

typedef struct checking {
  const assay_verify_scene *scene;
  const assay_verify_run *runs;
  assay_pairs found;
} checking;

/* One side of a pair as the package has it; NULL and n_bundles for what is not there. */
typedef struct side {
  const assay_verify_run *run;
  size_t bundle;
  assay_tensor_map arrays, outputs;
} side;

static bool is_of_bundles(const checking *c) {
  return strcmp(c->found.what, "bundle") == 0;
}

/* --- that one thing differs ----------------------------------------------------------------------
 */

/* The member of a resolved runtime that may differ; NULL: any. */
static const char *varied_member(const char *what) {
  if (strcmp(what, "library") == 0) return "library";
  if (assay_text_has_prefix(what, "provider-option:")) return "options";
  if (assay_text_has_prefix(what, "session:")) return "session";
  if (assay_text_has_prefix(what, "env:")) return "env";
  return NULL;
}

static bool same_value(const assay_json *a, const assay_json *b) {
  char x[65] = "", y[65] = "";
  if (a == NULL || b == NULL) return a == b;
  return assay_fields_digest(a, x, NULL) == ASSAY_OK &&
         assay_fields_digest(b, y, NULL) == ASSAY_OK && strcmp(x, y) == 0;
}

/* Every member that either has, but `varied`, is the same in both. */
static void check_members(const assay_verify_place *at, const assay_json *a, const assay_json *b,
                          const char *varied) {
  for (int turn = 0; turn < 2; turn++) {
    const assay_json *one = turn == 0 ? a : b, *other = turn == 0 ? b : a;
    for (size_t i = 0; i < assay_json_len(one); i++) {
      const char *key = assay_json_key_at(one, i);
      if (strcmp(key, varied) != 0)
        assay_verify_holds(at, "what",
                           same_value(assay_json_value_at(one, i), assay_json_get(other, key)),
                           "runtimes that differ in it alone", key);
    }
  }
}

/* Of both runtimes only the varied member differs, and within it only the key; session
 * configuration entries lie a level deeper. */
static void check_runtimes(const checking *c, const assay_verify_place *at) {
  const assay_package *package = c->scene->package;
  const char *member = varied_member(c->found.what), *colon = strchr(c->found.what, ':');
  if (is_of_bundles(c) || strcmp(c->found.what, "runtime") == 0 || package->n_runtimes != 2) return;
  const assay_json *a = package->runtimes[0].spec, *b = package->runtimes[1].spec;
  assay_verify_holds(at, "what", member != NULL, "something that can be varied", c->found.what);
  if (member == NULL) return;
  check_members(at, a, b, member);
  if (colon == NULL) return;
  const assay_json *x = assay_json_get(a, member), *y = assay_json_get(b, member);
  bool is_entry = strcmp(member, "session") == 0 && assay_json_get(x, colon + 1) == NULL;
  check_members(at, x, y, is_entry ? "config" : colon + 1);
  if (is_entry)
    check_members(at, assay_json_get(x, "config"), assay_json_get(y, "config"), colon + 1);
}

/* --- that every case is paired -------------------------------------------------------------------
 */

static void check_grid(const checking *c, const assay_verify_place *at) {
  const assay_verify_scene *scene = c->scene;
  const assay_package *package = scene->package;
  bool of_bundles = is_of_bundles(c);
  size_t n = 0;
  assay_verify_int(at, "runtimes", (int64_t)package->n_runtimes, of_bundles ? 1 : 2);
  if (of_bundles) assay_verify_int(at, "bundles", (int64_t)package->n_bundles, 2);
  if (package->n_runtimes != (of_bundles ? 1 : 2) || package->n_bundles < (of_bundles ? 2 : 1))
    return;
  for (size_t b = 0; b < (of_bundles ? 1 : package->n_bundles); b++)
    for (size_t k = 0; scene->has_manifest[b] && k < scene->manifests[b].n_cases; k++, n++) {
      const assay_pair *pair = n < c->found.n ? &c->found.pairs[n] : NULL;
      bool fits = pair != NULL && strcmp(pair->case_name, scene->manifests[b].cases[k].name) == 0 &&
                  strcmp(pair->a.bundle, package->bundles[b].name) == 0 &&
                  strcmp(pair->b.bundle, package->bundles[of_bundles ? 1 : b].name) == 0 &&
                  strcmp(pair->a.runtime, package->runtimes[0].name) == 0 &&
                  strcmp(pair->b.runtime, package->runtimes[of_bundles ? 0 : 1].name) == 0;
      assay_verify_holds(at, "pairs", fits, "one for each case, in their order",
                         pair != NULL ? pair->case_name : "none");
    }
  assay_verify_int(at, "pairs (their number)", (int64_t)c->found.n, (int64_t)n);
}

/* --- one pair ------------------------------------------------------------------------------------
 */

static side find_side(const checking *c, const assay_pairs_side *of, const char *case_name) {
  const assay_package *package = c->scene->package;
  side found = {.bundle = assay_verify_run_bundle(package, of->bundle)};
  for (size_t i = 0; i < package->n_runs; i++) {
    const assay_package_run *run = &package->runs[i];
    if (run->mode == ASSAY_RESULT_TIMING && strcmp(run->runtime, of->runtime) == 0 &&
        strcmp(run->bundle, of->bundle) == 0 && strcmp(run->case_name, case_name) == 0)
      found.run = &c->runs[i];
  }
  return found;
}

static bool is_done(const side *s) {
  return s->run != NULL && s->run->is_there && s->run->found.status == ASSAY_RESULT_DONE &&
         s->run->manifest_case != NULL;
}

static assay_status load_side(const checking *c, side *s, assay_error *why) {
  char *path = assay_format("%s/%s/outputs.npz", c->scene->path, s->run->planned->folder);
  if (path == NULL) return assay_fail_memory(why, 256);
  assay_status st =
      assay_verify_run_arrays(c->scene, s->bundle, s->run->manifest_case, &s->arrays, why);
  if (st == ASSAY_OK) st = assay_npz_read(path, /*limits=*/NULL, &s->outputs, why);
  assay_free(path);
  return st;
}

static bool same_bytes(const assay_tensor *a, const assay_tensor *b) {
  return a->dtype == b->dtype && assay_tensor_same_shape(a, b) &&
         (a->size_bytes == 0 || memcmp(a->data, b->data, a->size_bytes) == 0);
}

/* Inputs, and references of the model, that both cases hold are the same bytes. */
static bool same_question(const side *a, const side *b) {
  for (size_t i = 0; i < a->arrays.n; i++) {
    const assay_named_tensor *one = &a->arrays.items[i];
    const assay_tensor *other = assay_tensor_map_find(&b->arrays, one->name);
    bool is_reference = assay_text_has_prefix(one->name, "ref.");
    bool is_common = assay_text_has_prefix(one->name, "ref.f32.") ||
                     assay_text_has_prefix(one->name, "ref.f64.") ||
                     assay_text_has_prefix(one->name, "ref.user.");
    if (is_reference && (!is_common || other == NULL)) continue;
    if (other == NULL || !same_bytes(&one->tensor, other)) return false;
  }
  return true;
}

static bool same_graph(const side *a, const side *b) {
  const assay_result_keys *x = &a->run->found.keys, *y = &b->run->found.keys;
  return strcmp(x->model_sha256, y->model_sha256) == 0 &&
         strcmp(x->external_sha256, y->external_sha256) == 0;
}

static bool same_outputs(const side *a, const side *b) {
  bool same = a->outputs.n == b->outputs.n;
  for (size_t i = 0; same && i < a->outputs.n; i++) {
    const assay_tensor *other = assay_tensor_map_find(&b->outputs, a->outputs.items[i].name);
    same = other != NULL && same_bytes(&a->outputs.items[i].tensor, other);
  }
  return same;
}

static assay_status take_view(assay_tensor_map *map, const char *prefix, const char *name,
                              const assay_tensor *tensor, assay_error *err) {
  assay_tensor view = {0};
  char whole[512];
  snprintf(whole, sizeof whole, "%s%.400s", prefix, name);
  ASSAY_TRY(
      assay_tensor_init_view(&view, tensor->dtype, tensor->rank, tensor->dims, tensor->data, err));
  return assay_tensor_map_add(map, whole, &view, err);
}

/* The pair's comparisons as a result that has B for its reference, held against the derivation. */
static assay_status check_comparisons(const checking *c, const assay_verify_place *at,
                                      const assay_pair *pair, const side *a, const side *b,
                                      assay_error *err) {
  const assay_manifest *manifest = a->run->manifest;
  assay_tensor_map arrays = {0};
  assay_verify_numbers derived = {0};
  assay_status st = ASSAY_OK;
  const assay_tensor *mask =
      manifest->mask_input != NULL ? assay_tensor_map_find(&a->arrays, manifest->mask_input) : NULL;
  if (mask != NULL) st = take_view(&arrays, "", manifest->mask_input, mask, err);
  for (size_t i = 0; i < b->outputs.n && st == ASSAY_OK; i++)
    st = take_view(&arrays, "ref." STAND_IN ".", b->outputs.items[i].name,
                   &b->outputs.items[i].tensor, err);
  if (st == ASSAY_OK)
    st = assay_verify_numbers_derive(c->scene->package, manifest, &arrays, &a->outputs, &derived,
                                     err);
  if (st == ASSAY_OK)
    assay_verify_numbers_check_list(at, pair->comparisons, pair->n_comparisons,
                                    ASSAY_PAIRS_REFERENCE, &derived);
  assay_verify_numbers_reset(&derived);
  assay_tensor_map_reset(&arrays);
  return st;
}

static void check_nearer(const assay_verify_place *at, const assay_pair *pair, const side *a,
                         const side *b) {
  const assay_manifest *manifest = a->run->manifest;
  const assay_tensor *mask =
      manifest->mask_input != NULL ? assay_tensor_map_find(&a->arrays, manifest->mask_input) : NULL;
  size_t n_found = 0;
  for (size_t h = 0; h < manifest->n_heads; h++) {
    char name[512];
    const char *head = manifest->heads[h].name;
    snprintf(name, sizeof name, "ref.f64.%.400s", head);
    const assay_tensor *truth = assay_tensor_map_find(&a->arrays, name);
    const assay_tensor *x = assay_tensor_map_find(&a->outputs, head);
    const assay_tensor *y = assay_tensor_map_find(&b->outputs, head);
    if (truth == NULL || x == NULL || y == NULL || !assay_dtype_is_float(x->dtype) ||
        !assay_dtype_is_float(y->dtype) || !assay_tensor_same_shape(x, truth) ||
        !assay_tensor_same_shape(y, truth))
      continue;
    int64_t n_a = 0, n_b = 0, n = 0;
    bool masked = mask != NULL && mask->n_elems > 0 && truth->rank >= mask->rank &&
                  memcmp(truth->dims, mask->dims, (size_t)mask->rank * sizeof mask->dims[0]) == 0;
    size_t slice = masked ? truth->n_elems / mask->n_elems : 1;
    for (size_t i = 0; i < truth->n_elems; i++) {
      double t = assay_tensor_get_real(truth, i);
      double apart_a = assay_tensor_get_real(x, i) - t, apart_b = assay_tensor_get_real(y, i) - t;
      bool counts = isfinite(apart_a) && isfinite(apart_b) &&
                    (!masked || assay_tensor_get_real(mask, i / slice) != 0);
      n += counts;
      n_a += counts && fabs(apart_a) < fabs(apart_b);
      n_b += counts && fabs(apart_a) > fabs(apart_b);
    }
    const assay_pairs_nearer *found = n_found < pair->n_nearer ? &pair->nearer[n_found] : NULL;
    n_found++;
    assay_verify_text(at, "nearer (head)", found != NULL ? found->head : "", head);
    if (found == NULL) continue;
    assay_verify_int(at, "nearer.n", found->n, n);
    assay_verify_int(at, "nearer.n_a", found->n_a, n_a);
    assay_verify_int(at, "nearer.n_b", found->n_b, n_b);
    assay_verify_int(at, "nearer.n_same", found->n_same, n - n_a - n_b);
  }
  assay_verify_int(at, "nearer (their number)", (int64_t)pair->n_nearer, (int64_t)n_found);
}

/* No figure of a pair that was not compared. */
static void check_nothing(const assay_verify_place *at, const assay_pair *pair) {
  assay_verify_int(at, "comparisons (their number)", (int64_t)pair->n_comparisons, 0);
  assay_verify_int(at, "nearer (their number)", (int64_t)pair->n_nearer, 0);
  assay_verify_bool(at, "identical", pair->identical, false);
}

static assay_status check_loaded(const checking *c, const assay_verify_place *at,
                                 const assay_pair *pair, const side *a, const side *b,
                                 assay_error *err) {
  bool graphs = same_graph(a, b);
  bool comparable = (graphs || is_of_bundles(c)) && same_question(a, b);
  assay_verify_bool(at, "same_graph", pair->same_graph, graphs);
  assay_verify_bool(at, "reason (there is none)", pair->reason == NULL, comparable);
  if (!comparable || pair->reason != NULL) {
    check_nothing(at, pair);
    return ASSAY_OK;
  }
  assay_verify_bool(at, "identical", pair->identical, same_outputs(a, b));
  check_nearer(at, pair, a, b);
  return check_comparisons(c, at, pair, a, b, err);
}

static assay_status check_pair(void *arg, size_t i, assay_error *err) {
  const checking *c = arg;
  const assay_pair *pair = &c->found.pairs[i];
  side a = find_side(c, &pair->a, pair->case_name), b = find_side(c, &pair->b, pair->case_name);
  assay_verify_place at = {.findings = c->scene->findings, .file = ASSAY_PAIRS_FILE};
  assay_error why = {0};
  snprintf(at.within, sizeof at.within, "pairs[%.100s %.100s].", pair->a.bundle, pair->case_name);
  if (!is_done(&a) || !is_done(&b)) {
    assay_verify_holds(&at, "reason", pair->reason != NULL, "a reason: a side is not done", "none");
    check_nothing(&at, pair);
    return ASSAY_OK;
  }
  assay_status st = load_side(c, &a, &why);
  if (st == ASSAY_OK) st = load_side(c, &b, &why);
  if (st == ASSAY_E_MEMORY)
    st = assay_fail(err, st, "%s", why.text);
  else if (st == ASSAY_OK)
    st = check_loaded(c, &at, pair, &a, &b, err);
  else
    st = ASSAY_OK; /* what cannot be read is said of the run itself */
  assay_tensor_map_reset(&a.arrays);
  assay_tensor_map_reset(&a.outputs);
  assay_tensor_map_reset(&b.arrays);
  assay_tensor_map_reset(&b.outputs);
  return st;
}

/* --- all of them ---------------------------------------------------------------------------------
 */

assay_status assay_verify_pairs_check(const assay_verify_scene *scene, const assay_verify_run *runs,
                                      size_t n_jobs, assay_error *err) {
  checking c = {.scene = scene, .runs = runs};
  assay_verify_place at = {.findings = scene->findings, .file = ASSAY_PAIRS_FILE};
  assay_error why = {0};
  if (!assay_pairs_are_there(scene->path)) return ASSAY_OK;
  assay_status st = assay_pairs_read(scene->path, &c.found, &why);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  if (st) {
    assay_verify_add(scene->findings, ASSAY_VERIFY_FIGURE, ASSAY_PAIRS_FILE, "", "readable pairs",
                     why.text);
    return ASSAY_OK;
  }
  check_grid(&c, &at);
  check_runtimes(&c, &at);
  st = assay_verify_jobs_run(n_jobs, c.found.n, check_pair, &c, err);
  assay_pairs_reset(&c.found);
  return st;
}
