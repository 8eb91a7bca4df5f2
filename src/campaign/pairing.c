/* Which run meets which, what forbids it, and the figures of one side against the other. The
 * arithmetic is the judge's: A's outputs with B's in the place of the references. */
#include "campaign/pairing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/tensor.h"
#include "base/text.h"
#include "campaign/judge.h"
#include "campaign/worker.h"
#include "package/fields.h"
#include "package/manifest.h"
#include "package/npz.h"
#include "package/package.h"
#include "package/pairs.h"

enum { A, B, N_SIDES };

static const char *const side_words[] = {"A", "B"};

/* One side of a pair, loaded. */
typedef struct side {
  const char *runtime;
  size_t bundle; /* of the package */
  assay_result result;
  assay_tensor_map arrays, outputs;
} side;

typedef struct pairing {
  const char *path;
  const assay_vary *vary;
  assay_package package;
  assay_manifest *manifests; /* [package.n_bundles] */
  assay_pairs pairs;
} pairing;

/* --- reading -------------------------------------------------------------------------------------
 */

static assay_status open_package(pairing *p, assay_error *err) {
  ASSAY_TRY(assay_package_read(p->path, &p->package, err));
  size_t n = p->package.n_bundles;
  p->manifests = assay_alloc_array(n, sizeof *p->manifests);
  if (p->manifests == NULL) return assay_fail_memory(err, n * sizeof *p->manifests);
  for (size_t i = 0; i < n; i++) {
    char *folder = assay_path_join(p->path, p->package.bundles[i].folder);
    if (folder == NULL) return assay_fail_memory(err, 256);
    assay_status st = assay_manifest_read(folder, &p->manifests[i], err);
    assay_free(folder);
    if (st) return st;
  }
  return ASSAY_OK;
}

/* The timing run of a side: there is one for every runtime, bundle and case. */
static assay_status read_result(const pairing *p, const char *case_name, side *s,
                                assay_error *err) {
  const assay_package *package = &p->package;
  for (size_t i = 0; i < package->n_runs; i++) {
    const assay_package_run *run = &package->runs[i];
    if (run->mode == ASSAY_RESULT_TIMING && strcmp(run->runtime, s->runtime) == 0 &&
        strcmp(run->bundle, package->bundles[s->bundle].name) == 0 &&
        strcmp(run->case_name, case_name) == 0)
      return assay_package_result(package, p->path, i, &s->result, err);
  }
  return assay_fail(err, ASSAY_E_INTERNAL, "case '%s' of runtime '%s' was not planned", case_name,
                    s->runtime);
}

static assay_status read_case(const pairing *p, const assay_manifest_case *one, side *s,
                              assay_error *err) {
  char *path =
      assay_format("%s/%s/%s", p->path, p->package.bundles[s->bundle].folder, one->file.file);
  if (path == NULL) return assay_fail_memory(err, 512);
  assay_status st = assay_npz_read(path, /*limits=*/NULL, &s->arrays, err);
  assay_free(path);
  return st;
}

static assay_status read_outputs(const pairing *p, const char *case_name, side *s,
                                 assay_error *err) {
  const char *bundle = p->package.bundles[s->bundle].name;
  char *folder = assay_result_folder(s->runtime, bundle, case_name, ASSAY_RESULT_TIMING);
  char *path =
      folder != NULL ? assay_format("%s/%s/%s", p->path, folder, ASSAY_WORKER_OUTPUTS_FILE) : NULL;
  assay_status st = path != NULL ? assay_npz_read(path, /*limits=*/NULL, &s->outputs, err)
                                 : assay_fail_memory(err, 512);
  assay_free(folder);
  assay_free(path);
  return st;
}

static void release_side(side *s) {
  assay_result_reset(&s->result);
  assay_tensor_map_reset(&s->arrays);
  assay_tensor_map_reset(&s->outputs);
}

/* --- what forbids a comparison -------------------------------------------------------------------
 */

static assay_status give_reason(assay_pair *pair, char *text, assay_error *err) {
  if (text == NULL) return assay_fail_memory(err, 256);
  pair->reason = assay_fields_printable(text);
  assay_free(text);
  return pair->reason != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
}

static assay_status check_done(const side *sides, assay_pair *pair, assay_error *err) {
  for (int i = A; i < N_SIDES && pair->reason == NULL; i++) {
    const assay_result *result = &sides[i].result;
    if (result->status == ASSAY_RESULT_DONE) continue;
    ASSAY_TRY(give_reason(pair,
                          assay_format("%s: %s%s%s", side_words[i],
                                       assay_result_status_name(result->status),
                                       result->reason != NULL ? ": " : "",
                                       result->reason != NULL ? result->reason : ""),
                          err));
  }
  return ASSAY_OK;
}

/* The same graph in the same bytes, external data too; two bundles are there to differ in it. */
static assay_status check_graph(const pairing *p, const side *sides, assay_pair *pair,
                                assay_error *err) {
  const assay_result_keys *a = &sides[A].result.keys, *b = &sides[B].result.keys;
  pair->same_graph = strcmp(a->model_sha256, b->model_sha256) == 0 &&
                     strcmp(a->external_sha256, b->external_sha256) == 0;
  if (pair->same_graph || p->vary->kind == ASSAY_VARY_BUNDLE) return ASSAY_OK;
  return give_reason(
      pair,
      assay_format("the sides ran different graphs: %s and %s", a->model_sha256, b->model_sha256),
      err);
}

static bool equal_tensors(const assay_tensor *a, const assay_tensor *b) {
  return a->dtype == b->dtype && assay_tensor_same_shape(a, b) &&
         (a->size_bytes == 0 || memcmp(a->data, b->data, a->size_bytes) == 0);
}

/* References that are of the model and not of the form it was exported in. */
static bool is_common_reference(const char *name) {
  return assay_text_has_prefix(name, "ref.f32.") || assay_text_has_prefix(name, "ref.f64.") ||
         assay_text_has_prefix(name, "ref.user.");
}

/* Inputs are in both cases, and they and the references that both hold are the same. */
static assay_status check_cases(const pairing *p, const side *sides, assay_pair *pair,
                                assay_error *err) {
  const assay_manifest *manifest = &p->manifests[sides[A].bundle];
  for (size_t i = 0; i < manifest->n_inputs; i++)
    if (assay_tensor_map_find(&sides[B].arrays, manifest->inputs[i].name) == NULL)
      return give_reason(
          pair, assay_format("B's case holds no input '%s'", manifest->inputs[i].name), err);
  for (size_t i = 0; i < sides[A].arrays.n; i++) {
    const assay_named_tensor *one = &sides[A].arrays.items[i];
    const assay_tensor *other = assay_tensor_map_find(&sides[B].arrays, one->name);
    bool may_differ = assay_text_has_prefix(one->name, "ref.") && !is_common_reference(one->name);
    if (other != NULL && !may_differ && !equal_tensors(&one->tensor, other))
      return give_reason(pair, assay_format("array '%s' of the cases differs", one->name), err);
  }
  return ASSAY_OK;
}

/* --- figures -------------------------------------------------------------------------------------
 */

static bool are_identical(const side *sides) {
  if (sides[A].outputs.n != sides[B].outputs.n) return false;
  for (size_t i = 0; i < sides[A].outputs.n; i++) {
    const assay_named_tensor *one = &sides[A].outputs.items[i];
    const assay_tensor *other = assay_tensor_map_find(&sides[B].outputs, one->name);
    if (other == NULL || !equal_tensors(&one->tensor, other)) return false;
  }
  return true;
}

static assay_status add_view(assay_tensor_map *map, const char *name, const assay_tensor *tensor,
                             assay_error *err) {
  assay_tensor view = {0};
  ASSAY_TRY(
      assay_tensor_init_view(&view, tensor->dtype, tensor->rank, tensor->dims, tensor->data, err));
  return assay_tensor_map_add(map, name, &view, err);
}

/* What the judge takes for a case: A's mask, and B's outputs as references that were brought. */
static assay_status make_case(const assay_manifest *manifest, const side *sides,
                              assay_tensor_map *out, assay_error *err) {
  if (manifest->mask_input != NULL) {
    const assay_tensor *mask = assay_tensor_map_find(&sides[A].arrays, manifest->mask_input);
    if (mask != NULL) ASSAY_TRY(add_view(out, manifest->mask_input, mask, err));
  }
  for (size_t i = 0; i < sides[B].outputs.n; i++) {
    char *name = assay_format("ref.user.%s", sides[B].outputs.items[i].name);
    if (name == NULL) return assay_fail_memory(err, 256);
    assay_status st = add_view(out, name, &sides[B].outputs.items[i].tensor, err);
    assay_free(name);
    if (st) return st;
  }
  return ASSAY_OK;
}

static assay_status compare_sides(const pairing *p, const side *sides, assay_pair *pair,
                                  assay_error *err) {
  const assay_manifest *manifest = &p->manifests[sides[A].bundle];
  assay_tensor_map arrays = {0};
  assay_result result = {0};
  assay_status st = make_case(manifest, sides, &arrays, err);
  if (st == ASSAY_OK)
    st = assay_judge_arrays(manifest, &arrays, &sides[A].outputs, p->package.tolerances,
                            p->package.n_tolerances, &result, err);
  for (size_t i = 0; i < result.n_comparisons && st == ASSAY_OK; i++) {
    assay_free(result.comparisons[i].reference);
    result.comparisons[i].reference = assay_strdup(ASSAY_PAIRS_REFERENCE);
    if (result.comparisons[i].reference == NULL) st = assay_fail_memory(err, 8);
  }
  if (st == ASSAY_OK) {
    pair->comparisons = result.comparisons;
    pair->n_comparisons = result.n_comparisons;
    result.comparisons = NULL;
    result.n_comparisons = 0;
  }
  assay_result_reset(&result);
  assay_tensor_map_reset(&arrays);
  return st;
}

/* Position i / slice is valid; every one is without a mask, or one of another shape. */
static bool is_valid(const assay_tensor *mask, const assay_tensor *array, size_t i) {
  if (mask == NULL || mask->n_elems == 0 || array->rank < mask->rank) return true;
  for (int k = 0; k < mask->rank; k++)
    if (mask->dims[k] != array->dims[k]) return true;
  return assay_tensor_get_real(mask, i / (array->n_elems / mask->n_elems)) != 0;
}

static void count_nearer(const assay_tensor *mask, const assay_tensor *a, const assay_tensor *b,
                         const assay_tensor *truth, assay_pairs_nearer *out) {
  for (size_t i = 0; i < truth->n_elems; i++) {
    if (!is_valid(mask, truth, i)) continue;
    double t = assay_tensor_get_real(truth, i);
    double from_a = fabs(assay_tensor_get_real(a, i) - t);
    double from_b = fabs(assay_tensor_get_real(b, i) - t);
    if (!isfinite(from_a) || !isfinite(from_b)) continue;
    out->n++;
    if (from_a < from_b)
      out->n_a++;
    else if (from_b < from_a)
      out->n_b++;
    else
      out->n_same++;
  }
}

static assay_status find_nearer(const pairing *p, const side *sides, assay_pair *pair,
                                assay_error *err) {
  const assay_manifest *manifest = &p->manifests[sides[A].bundle];
  const assay_tensor *mask = manifest->mask_input != NULL
                                 ? assay_tensor_map_find(&sides[A].arrays, manifest->mask_input)
                                 : NULL;
  pair->nearer = assay_alloc_array(manifest->n_heads, sizeof *pair->nearer);
  if (pair->nearer == NULL) return assay_fail_memory(err, manifest->n_heads);
  for (size_t i = 0; i < manifest->n_heads; i++) {
    char name[512];
    const char *head = manifest->heads[i].name;
    snprintf(name, sizeof name, "ref.f64.%s", head);
    const assay_tensor *truth = assay_tensor_map_find(&sides[A].arrays, name);
    const assay_tensor *a = assay_tensor_map_find(&sides[A].outputs, head);
    const assay_tensor *b = assay_tensor_map_find(&sides[B].outputs, head);
    if (truth == NULL || a == NULL || b == NULL || !assay_dtype_is_float(a->dtype) ||
        !assay_dtype_is_float(b->dtype) || !assay_tensor_same_shape(a, truth) ||
        !assay_tensor_same_shape(b, truth))
      continue;
    assay_pairs_nearer *nearer = &pair->nearer[pair->n_nearer++];
    nearer->head = assay_strdup(head);
    if (nearer->head == NULL) return assay_fail_memory(err, strlen(head) + 1);
    count_nearer(mask, a, b, truth, nearer);
  }
  return ASSAY_OK;
}

/* --- pairs ---------------------------------------------------------------------------------------
 */

static assay_status name_sides(const pairing *p, const assay_manifest_case *one, const side *sides,
                               assay_pair *pair, assay_error *err) {
  pair->case_name = assay_strdup(one->name);
  pair->a.runtime = assay_strdup(sides[A].runtime);
  pair->b.runtime = assay_strdup(sides[B].runtime);
  pair->a.bundle = assay_strdup(p->package.bundles[sides[A].bundle].name);
  pair->b.bundle = assay_strdup(p->package.bundles[sides[B].bundle].name);
  return pair->case_name != NULL && pair->a.runtime != NULL && pair->b.runtime != NULL &&
                 pair->a.bundle != NULL && pair->b.bundle != NULL
             ? ASSAY_OK
             : assay_fail_memory(err, 256);
}

static assay_status fill_pair(const pairing *p, const assay_manifest_case *one, side *sides,
                              assay_pair *pair, assay_error *err) {
  const assay_manifest *other = &p->manifests[sides[B].bundle];
  const assay_manifest_case *same = NULL;
  ASSAY_TRY(name_sides(p, one, sides, pair, err));
  for (size_t i = 0; i < other->n_cases; i++)
    if (strcmp(other->cases[i].name, one->name) == 0) same = &other->cases[i];
  if (same == NULL) return give_reason(pair, assay_format("B's bundle has no such case"), err);
  for (int i = A; i < N_SIDES; i++) ASSAY_TRY(read_result(p, one->name, &sides[i], err));
  ASSAY_TRY(check_done(sides, pair, err));
  if (pair->reason != NULL) return ASSAY_OK;
  ASSAY_TRY(check_graph(p, sides, pair, err));
  ASSAY_TRY(read_case(p, one, &sides[A], err));
  for (int i = A; i < N_SIDES; i++) ASSAY_TRY(read_outputs(p, one->name, &sides[i], err));
  if (pair->reason == NULL && sides[A].bundle != sides[B].bundle) { /* else it is one case */
    ASSAY_TRY(read_case(p, same, &sides[B], err));
    ASSAY_TRY(check_cases(p, sides, pair, err));
  }
  if (pair->reason != NULL) return ASSAY_OK;
  pair->identical = are_identical(sides);
  ASSAY_TRY(compare_sides(p, sides, pair, err));
  return find_nearer(p, sides, pair, err);
}

static assay_status add_pair(pairing *p, const assay_manifest_case *one, const char *runtime_a,
                             size_t bundle_a, const char *runtime_b, size_t bundle_b,
                             assay_error *err) {
  side sides[N_SIDES] = {{.runtime = runtime_a, .bundle = bundle_a},
                         {.runtime = runtime_b, .bundle = bundle_b}};
  void *block = p->pairs.pairs;
  size_t size = sizeof *p->pairs.pairs;
  ASSAY_TRY(assay_resize(&block, p->pairs.n * size, (p->pairs.n + 1) * size, err));
  p->pairs.pairs = block;
  p->pairs.pairs[p->pairs.n++] = (assay_pair){0};
  assay_status st = fill_pair(p, one, sides, &p->pairs.pairs[p->pairs.n - 1], err);
  release_side(&sides[A]);
  release_side(&sides[B]);
  return st;
}

static assay_status make_pairs(pairing *p, assay_error *err) {
  const assay_package *package = &p->package;
  bool of_bundles = p->vary->kind == ASSAY_VARY_BUNDLE;
  if (package->n_runtimes != (of_bundles ? 1 : 2) || (of_bundles && package->n_bundles != 2))
    return assay_fail(err, ASSAY_E_MISMATCH, "'%s' holds %zu runtimes and %zu bundles: no pair",
                      p->path, package->n_runtimes, package->n_bundles);
  const char *a = package->runtimes[0].name;
  const char *b = package->runtimes[of_bundles ? 0 : 1].name;
  for (size_t i = 0; i < (of_bundles ? 1 : package->n_bundles); i++)
    for (size_t k = 0; k < p->manifests[i].n_cases; k++)
      ASSAY_TRY(add_pair(p, &p->manifests[i].cases[k], a, i, b, of_bundles ? 1 : i, err));
  return ASSAY_OK;
}

static assay_status say_what(pairing *p, assay_error *err) {
  p->pairs.what = assay_fields_printable(p->vary->what);
  p->pairs.a = assay_fields_printable(p->vary->values[A]);
  p->pairs.b = assay_fields_printable(p->vary->values[B]);
  return p->pairs.what != NULL && p->pairs.a != NULL && p->pairs.b != NULL
             ? ASSAY_OK
             : assay_fail_memory(err, 256);
}

assay_status assay_pairing_make(const char *package_path, const assay_vary *vary,
                                assay_error *err) {
  pairing p = {.path = package_path, .vary = vary};
  assay_status st = open_package(&p, err);
  if (st == ASSAY_OK) st = say_what(&p, err);
  if (st == ASSAY_OK) st = make_pairs(&p, err);
  if (st == ASSAY_OK) st = assay_pairs_write(&p.pairs, package_path, err);
  if (st == ASSAY_OK) st = assay_package_seal(package_path, ASSAY_PAIRS_FOLDER, err);
  for (size_t i = 0; p.manifests != NULL && i < p.package.n_bundles; i++)
    assay_manifest_reset(&p.manifests[i]);
  assay_free(p.manifests);
  assay_package_reset(&p.package);
  assay_pairs_reset(&p.pairs);
  return st;
}
