/* Loads a package into rows and groups. What cannot be read below package.json becomes a missing or
 * failed run, or a bundle without a manifest; gate.c turns these into reasons. */
#include "report/campaign_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "measure/compare.h"
#include "package/npz.h"
#include "report/gate.h"
#include "report/sink.h"

#define MACHINE_MAX_BYTES (4u << 20)

/* ---- words ---- */

static const char *status_word(const assay_view_run *run, assay_verdict verdict) {
  if (!run->planned) return "not planned";
  switch (run->result.status) {
  case ASSAY_RESULT_MISSING:
    return "missing";
  case ASSAY_RESULT_FAILED:
    return "failed";
  case ASSAY_RESULT_CRASHED:
    return "crashed";
  case ASSAY_RESULT_TIMED_OUT:
    return "timed out";
  case ASSAY_RESULT_DONE:
    break;
  }
  switch (verdict) {
  case ASSAY_VERDICT_PASS:
    return "pass";
  case ASSAY_VERDICT_FAIL:
    return "fail";
  case ASSAY_VERDICT_NOT_APPLICABLE:
    return "not judged";
  case ASSAY_VERDICT_UNKNOWN:
    break;
  }
  return "unknown";
}

bool assay_view_is_padding_only(const assay_view_row *row, const char *head) {
  const assay_result *result = &row->runs[ASSAY_VIEW_TIMING].result;
  size_t n_made = 0;
  for (size_t i = 0; i < result->n_comparisons; i++) {
    if (head != NULL && strcmp(result->comparisons[i].head, head) != 0) continue;
    if (result->comparisons[i].n_compared > 0) return false;
    n_made++;
  }
  return n_made > 0;
}

const char *assay_view_numbers_word(const assay_view_row *row) {
  const assay_result *result = &row->runs[ASSAY_VIEW_TIMING].result;
  if (result->status == ASSAY_RESULT_DONE && result->numbers == ASSAY_VERDICT_PASS &&
      assay_view_is_padding_only(row, /*head=*/NULL))
    return "padding";
  return status_word(&row->runs[ASSAY_VIEW_TIMING], row->runs[ASSAY_VIEW_TIMING].result.numbers);
}

const char *assay_view_timing_word(const assay_view_row *row) {
  return status_word(&row->runs[ASSAY_VIEW_TIMING], row->runs[ASSAY_VIEW_TIMING].result.timed);
}

const char *assay_view_placement_word(const assay_view_row *row) {
  return status_word(&row->runs[ASSAY_VIEW_PLACEMENT],
                     row->runs[ASSAY_VIEW_PLACEMENT].result.placed);
}

const assay_result_timing *assay_view_timing(const assay_view_row *row) {
  const assay_result_timing *timing = &row->runs[ASSAY_VIEW_TIMING].result.timing;
  return timing->known && timing->stats.n > 0 ? timing : NULL;
}

const assay_result_placement *assay_view_placement(const assay_view_row *row) {
  const assay_result_placement *placement = &row->runs[ASSAY_VIEW_PLACEMENT].result.placement;
  return placement->known ? placement : NULL;
}

const assay_result *assay_view_library(const assay_view_row *row) {
  for (int mode = 0; mode < ASSAY_VIEW_N_MODES; mode++) {
    if (row->runs[mode].result.library_path) return &row->runs[mode].result;
  }
  return NULL;
}

const assay_view_reason *assay_view_row_reason(const assay_view *view, const assay_view_row *row) {
  size_t r = (size_t)(row - view->rows);
  for (size_t i = 0; row->n_reasons && i < view->n_reasons; i++) {
    if (view->reasons[i].row == r) return &view->reasons[i];
  }
  return NULL;
}

void assay_view_index_text(const char *shape, int64_t index, char *out, size_t out_bytes) {
  int64_t dims[ASSAY_TENSOR_RANK_MAX], at[ASSAY_TENSOR_RANK_MAX], rest = index;
  int rank = 0;
  if (out_bytes) out[0] = 0;
  if (index < 0) return;
  for (const char *c = shape; (*c == '[' || *c == ',') && rank < ASSAY_TENSOR_RANK_MAX; rank++) {
    char *end = NULL;
    dims[rank] = strtoll(c + 1, &end, 10);
    if (end == c + 1 || dims[rank] <= 0) break;
    c = end;
  }
  for (int d = rank - 1; d >= 0; d--) {
    at[d] = rest % dims[d];
    rest /= dims[d];
  }
  if (rank == 0 || rest != 0) {
    (void)snprintf(out, out_bytes, "%lld", (long long)index);
    return;
  }
  size_t used = 0;
  for (int d = 0; d < rank && used < out_bytes; d++) {
    int n = snprintf(out + used, out_bytes - used, "%c%lld%s", d ? ',' : '[', (long long)at[d],
                     d == rank - 1 ? "]" : "");
    used += n > 0 ? (size_t)n : out_bytes;
  }
}

/* ---- rows ---- */

/* Where the next planned run most likely belongs: runs come in the order of rows. */
typedef struct row_search {
  assay_view *view;
  size_t last;
} row_search;

static bool is_row(const assay_view_row *row, const char *runtime, const char *bundle,
                   const char *case_name) {
  return strcmp(row->case_name, case_name) == 0 && strcmp(row->bundle, bundle) == 0 &&
         strcmp(row->runtime, runtime) == 0;
}

/* The row of that name, made if need be; rows were allocated for the worst case. */
static assay_view_row *need_row(row_search *search, const char *runtime, const char *bundle,
                                const char *case_name) {
  assay_view *view = search->view;
  for (size_t i = 0; i < view->n_rows; i++) {
    size_t at = (search->last + i) % view->n_rows;
    if (is_row(&view->rows[at], runtime, bundle, case_name)) {
      search->last = at;
      return &view->rows[at];
    }
  }
  assay_view_row *row = &view->rows[view->n_rows];
  *row = (assay_view_row){.runtime = runtime,
                          .bundle = bundle,
                          .case_name = case_name,
                          .inputs = "brought",
                          .n_valid = -1,
                          .n_denormal_inputs = -1};
  search->last = view->n_rows++;
  return row;
}

static int64_t count_valid(const assay_manifest_case *a_case) {
  int64_t n = 0;
  for (int64_t i = 0; a_case->valid && i < a_case->b; i++) n += a_case->valid[i];
  return a_case->valid ? n : -1;
}

static const char *inputs_word(const char *kind) {
  if (strcmp(kind, "sweep") == 0 || strcmp(kind, "batch") == 0) return "controlled";
  return strcmp(kind, "event") == 0 ? "events" : "brought";
}

const char *assay_view_inputs_words(const char *inputs) {
  return strcmp(inputs, "controlled") == 0 ? "controlled inputs"
         : strcmp(inputs, "events") == 0   ? "events"
                                           : "brought inputs";
}

static void set_case(assay_view_row *row, const assay_manifest *manifest,
                     const assay_manifest_case *a_case) {
  row->manifest = manifest;
  row->manifest_case = a_case;
  row->n_valid = count_valid(a_case);
  row->inputs = inputs_word(a_case->kind);
}

/* Every case of every bundle on every runtime that the matrix puts it on: what a complete campaign
 * consists of. These rows come first and are not searched for, since manifests and packages refuse
 * names that occur twice.
 */
static void demand_rows(assay_view *view) {
  const assay_package *package = &view->package;
  for (size_t t = 0; t < package->n_runtimes; t++) {
    for (size_t b = 0; b < package->n_bundles; b++) {
      const assay_manifest *manifest = view->has_manifest[b] ? &view->manifests[b] : NULL;
      if (!assay_package_is_planned(package, package->runtimes[t].name, package->bundles[b].name))
        continue;
      for (size_t c = 0; manifest && c < manifest->n_cases; c++) {
        assay_view_row *row = &view->rows[view->n_rows++];
        *row = (assay_view_row){.runtime = package->runtimes[t].name,
                                .bundle = package->bundles[b].name,
                                .case_name = manifest->cases[c].name,
                                .n_denormal_inputs = -1};
        set_case(row, manifest, &manifest->cases[c]);
      }
    }
  }
}

static size_t bundle_index(const assay_package *package, const char *name) {
  size_t b = 0;
  while (b < package->n_bundles && strcmp(package->bundles[b].name, name) != 0) b++;
  return b;
}

static size_t runtime_index(const assay_package *package, const char *name) {
  size_t t = 0;
  while (t < package->n_runtimes && strcmp(package->runtimes[t].name, name) != 0) t++;
  return t;
}

static assay_status add_file(assay_view_run *run, const char *folder, const char *name,
                             const char *sha256, assay_error *err) {
  assay_view_file *file = &run->files[run->n_files];
  file->path = assay_path_join(folder, name);
  if (file->path == NULL) return assay_fail_memory(err, strlen(folder) + strlen(name));
  (void)snprintf(file->sha256, sizeof file->sha256, "%s", sha256);
  run->n_files++;
  return ASSAY_OK;
}

/* result.json and the files that it lists, with the sums of the package's tree; before the tree is
 * there, result.json is hashed here. */
static assay_status list_files(const assay_view *view, const char *folder, assay_view_run *run,
                               assay_error *err) {
  const assay_result *result = &run->result;
  run->files = assay_alloc_array(result->n_files + 1, sizeof *run->files);
  if (run->files == NULL) return assay_fail_memory(err, result->n_files * sizeof *run->files);
  ASSAY_TRY(add_file(run, folder, "result.json", "", err));
  char *sha256 = run->files[0].sha256;
  const assay_tree_entry *entry = assay_tree_find(&view->package.files, run->files[0].path);
  if (entry) {
    memcpy(sha256, entry->sha256, sizeof entry->sha256);
  } else {
    char *path = assay_path_join(view->path, run->files[0].path);
    if (path == NULL) return assay_fail_memory(err, strlen(folder));
    if (assay_path_kind_of(path) != ASSAY_PATH_FILE || assay_sha256_file(path, sha256, NULL, NULL))
      sha256[0] = 0;
    assay_free(path);
  }
  for (size_t i = 0; i < result->n_files; i++) {
    ASSAY_TRY(add_file(run, folder, result->files[i].file, result->files[i].sha256, err));
  }
  return ASSAY_OK;
}

static assay_status load_run(assay_view *view, row_search *search, size_t i, assay_error *err) {
  const assay_package_run *planned = &view->package.runs[i];
  assay_view_row *row = need_row(search, planned->runtime, planned->bundle, planned->case_name);
  assay_view_mode mode =
      planned->mode == ASSAY_RESULT_TIMING ? ASSAY_VIEW_TIMING : ASSAY_VIEW_PLACEMENT;
  assay_view_run *run = &row->runs[mode];
  if (run->planned) return ASSAY_OK; /* planned twice: one result all the same */
  if (row->manifest == NULL) {
    size_t b = bundle_index(&view->package, planned->bundle);
    if (b < view->package.n_bundles && view->has_manifest[b]) row->manifest = &view->manifests[b];
  }
  run->planned = true;
  view->n_runs++;
  ASSAY_TRY(assay_package_result(&view->package, view->path, i, &run->result, err));
  if (run->result.status == ASSAY_RESULT_DONE) view->n_runs_done++;
  return list_files(view, planned->folder, run, err);
}

static assay_status load_rows(assay_view *view, assay_error *err) {
  size_t cap = view->package.n_runs, n_cases = 0;
  for (size_t b = 0; b < view->package.n_bundles; b++) n_cases += view->manifests[b].n_cases;
  cap += n_cases * view->package.n_runtimes;
  view->rows = assay_alloc_array(cap + 1, sizeof *view->rows);
  if (view->rows == NULL) return assay_fail_memory(err, cap * sizeof *view->rows);
  demand_rows(view);
  row_search search = {.view = view};
  for (size_t i = 0; i < view->package.n_runs; i++) ASSAY_TRY(load_run(view, &search, i, err));
  return ASSAY_OK;
}

/* ---- heads ---- */

static assay_view_head *need_head(assay_view_row *row, const char *name, const char *kind) {
  for (size_t h = 0; h < row->n_heads; h++) {
    if (strcmp(row->heads[h].name, name) == 0) return &row->heads[h];
  }
  assay_view_head *head = &row->heads[row->n_heads++];
  *head = (assay_view_head){.name = name, .kind = kind};
  return head;
}

/* How bad a comparison is, for finding the worst: what cannot be compared is worse than any error.
 */
static double badness(const assay_result_comparison *c) {
  if (!c->same_shape || !c->same_dtype || c->n_class_mismatch || isnan(c->max_tol_multiple))
    return HUGE_VAL;
  return c->max_tol_multiple;
}

static bool is_worse(const assay_result_comparison *a, const assay_result_comparison *b) {
  if (b == NULL || a->gate != b->gate) return b == NULL || a->gate;
  if (a->passed != b->passed) return !a->passed;
  return badness(a) > badness(b);
}

const assay_result_comparison *assay_view_main_comparison(const assay_view_head *head) {
  return head->f32 ? head->f32 : head->user ? head->user : head->f64;
}

static void raise_max(bool *has, double *max, const assay_result_comparison *c) {
  if (c == NULL || !c->same_shape || !c->same_dtype || c->n_finite_pairs == 0) return;
  if (!*has || c->max_abs > *max) *max = c->max_abs;
  *has = true;
}

static assay_status load_heads(assay_view_row *row, assay_error *err) {
  const assay_result *result = &row->runs[ASSAY_VIEW_TIMING].result;
  size_t n_manifest = row->manifest ? row->manifest->n_heads : 0;
  row->heads = assay_alloc_array(n_manifest + result->n_comparisons + 1, sizeof *row->heads);
  if (row->heads == NULL) return assay_fail_memory(err, n_manifest * sizeof *row->heads);
  for (size_t h = 0; h < n_manifest; h++) {
    (void)need_head(row, row->manifest->heads[h].name,
                    assay_head_kind_name(row->manifest->heads[h].kind));
  }
  for (size_t i = 0; i < result->n_comparisons; i++) {
    const assay_result_comparison *c = &result->comparisons[i];
    assay_view_head *head = need_head(row, c->head, c->kind);
    if (strcmp(c->reference, "f32") == 0) head->f32 = c;
    if (strcmp(c->reference, "f64") == 0) head->f64 = c;
    if (strcmp(c->reference, "user") == 0) head->user = c;
    for (int k = 0; k < ASSAY_N_PRECISION_KINDS; k++)
      if (strcmp(c->reference, assay_precision_kind(k)->name) == 0) head->precision[k].runtime = c;
    if (is_worse(c, row->worst)) row->worst = c;
  }
  for (size_t h = 0; h < row->n_heads; h++) {
    raise_max(&row->has_f32, &row->max_abs_f32, row->heads[h].f32);
    raise_max(&row->has_f64, &row->max_abs_f64, row->heads[h].f64);
    raise_max(&row->has_user, &row->max_abs_user, row->heads[h].user);
  }
  return ASSAY_OK;
}

/* ---- the FP32 reference against the FP64 one ---- */

static const assay_tensor *find_reference(const assay_tensor_map *arrays, const char *precision,
                                          const char *head) {
  char *name = assay_format("ref.%s.%s", precision, head);
  const assay_tensor *found = name ? assay_tensor_map_find(arrays, name) : NULL;
  assay_free(name);
  return found;
}

/* One reference of a head against another: false when the case does not hold both. */
static bool measure_apart(const assay_tensor *got, const assay_tensor *want,
                          const assay_tensor *mask, assay_compare_result *out) {
  if (got == NULL || want == NULL) return false;
  assay_compare_spec spec = {.atol = ASSAY_DEFAULT_ATOL, .rtol = ASSAY_DEFAULT_RTOL};
  bool per_position = mask && mask->dtype == ASSAY_DTYPE_F32 && mask->n_elems &&
                      got->n_elems % mask->n_elems == 0 && got->rank >= mask->rank;
  if (per_position) {
    spec.valid = assay_tensor_f32(mask);
    spec.n_positions = mask->n_elems;
  }
  if (assay_compare_run(&spec, got, want, out, NULL)) return false;
  return out->same_shape && out->same_dtype && out->n_finite_pairs > 0;
}

static void measure_reference(const assay_tensor_map *arrays, const assay_tensor *mask,
                              assay_view_head *head) {
  const assay_tensor *f64 = find_reference(arrays, "f64", head->name);
  assay_compare_result result;
  head->has_reference_error =
      measure_apart(find_reference(arrays, "f32", head->name), f64, mask, &result);
  if (head->has_reference_error) head->reference_max_abs = result.max_abs;
  for (int k = 0; k < ASSAY_N_PRECISION_KINDS; k++) {
    const assay_tensor *same = find_reference(arrays, assay_precision_kind(k)->name, head->name);
    head->precision[k].has_error = measure_apart(same, f64, mask, &result);
    if (head->precision[k].has_error) head->precision[k].rmse = result.rmse;
  }
}

/* Smaller than every normal number of its type, and not zero. */
static bool is_denormal(const assay_tensor *tensor, size_t i) {
  double x = assay_tensor_get_real(tensor, i);
  switch (tensor->dtype) {
  case ASSAY_DTYPE_F16:
    return x != 0 && fabs(x) < 0x1p-14;
  case ASSAY_DTYPE_F64:
    return fpclassify(x) == FP_SUBNORMAL;
  case ASSAY_DTYPE_F32:
  case ASSAY_DTYPE_BF16: /* the exponents of FP32 */
    return fpclassify((float)x) == FP_SUBNORMAL;
  default:
    return false;
  }
}

static void count_denormals(const assay_tensor_map *arrays, assay_view_row *row) {
  row->n_denormal_inputs = 0;
  for (size_t i = 0; i < row->manifest->n_inputs; i++) {
    const assay_tensor *input = assay_tensor_map_find(arrays, row->manifest->inputs[i].name);
    for (size_t k = 0; input && k < input->n_elems; k++)
      row->n_denormal_inputs += is_denormal(input, k);
  }
}

/* An unreadable case leaves the figure absent: `verify` and the runs themselves say what is wrong
 * with it. */
static void measure_references(const assay_view *view, assay_view_row *row) {
  size_t b = bundle_index(&view->package, row->bundle);
  if (row->manifest_case == NULL || b == view->package.n_bundles) return;
  char *folder = assay_path_join(view->path, view->package.bundles[b].folder);
  char *path = folder ? assay_path_join(folder, row->manifest_case->file.file) : NULL;
  assay_tensor_map arrays = {0};
  if (path && assay_npz_read(path, NULL, &arrays, NULL) == ASSAY_OK) {
    const char *mask_name = row->manifest->mask_input;
    const assay_tensor *mask = mask_name ? assay_tensor_map_find(&arrays, mask_name) : NULL;
    for (size_t h = 0; h < row->n_heads; h++) measure_reference(&arrays, mask, &row->heads[h]);
    count_denormals(&arrays, row);
  }
  assay_tensor_map_reset(&arrays);
  assay_free(path);
  assay_free(folder);
}

static void copy_references(assay_view_row *row, const assay_view_row *from) {
  row->n_denormal_inputs = from->n_denormal_inputs;
  for (size_t h = 0; h < row->n_heads; h++) {
    for (size_t k = 0; k < from->n_heads; k++) {
      if (strcmp(row->heads[h].name, from->heads[k].name) != 0) continue;
      row->heads[h].has_reference_error = from->heads[k].has_reference_error;
      row->heads[h].reference_max_abs = from->heads[k].reference_max_abs;
      for (int p = 0; p < ASSAY_N_PRECISION_KINDS; p++) {
        row->heads[h].precision[p].has_error = from->heads[k].precision[p].has_error;
        row->heads[h].precision[p].rmse = from->heads[k].precision[p].rmse;
      }
    }
  }
}

static void sum_references(assay_view_row *row) {
  for (size_t h = 0; h < row->n_heads; h++) {
    const assay_view_head *head = &row->heads[h];
    if (!head->has_reference_error) continue;
    if (!row->has_reference_error || head->reference_max_abs > row->reference_max_abs) {
      row->reference_max_abs = head->reference_max_abs;
    }
    row->has_reference_error = true;
  }
}

/* Cases serve all runtimes: each file is read once. Rows of a case lie one block of rows per
 * runtime apart, so that the first row of a case is found by its place in the manifests. */
static void load_references(assay_view *view) {
  size_t per_runtime = 0;
  for (size_t b = 0; b < view->package.n_bundles; b++) per_runtime += view->manifests[b].n_cases;
  for (size_t r = 0; r < view->n_rows; r++) {
    assay_view_row *row = &view->rows[r];
    if (per_runtime && r >= per_runtime &&
        view->rows[r % per_runtime].manifest_case == row->manifest_case) {
      copy_references(row, &view->rows[r % per_runtime]);
    } else {
      measure_references(view, row);
    }
    sum_references(row);
  }
}

/* ---- groups ---- */

static bool same_group(const assay_view_group *group, const assay_view_row *row) {
  return strcmp(group->inputs, row->inputs) == 0 && strcmp(group->bundle, row->bundle) == 0 &&
         strcmp(group->runtime, row->runtime) == 0;
}

static double row_p50(const assay_view_row *row) {
  return assay_view_timing(row)->stats.percentiles[0].value_ns;
}

static void add_to_group(assay_view_group *group, const assay_view_row *row) {
  group->n_rows++;
  group->n_passed += row->passed;
  if (row->worst && (group->worst == NULL || is_worse(row->worst, group->worst->worst)))
    group->worst = row;
  if (assay_view_timing(row)) {
    if (!group->fastest || row_p50(row) < row_p50(group->fastest)) group->fastest = row;
    if (!group->slowest || row_p50(row) > row_p50(group->slowest)) group->slowest = row;
  }
  const assay_result *library = assay_view_library(row);
  if (library && group->library_version == NULL) group->library_version = library->library_version;
  for (int mode = 0; mode < ASSAY_VIEW_N_MODES && group->provider == NULL; mode++) {
    const char *provider = row->runs[mode].result.provider;
    if (provider && *provider) group->provider = provider;
  }
}

static bool same_word(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

bool assay_view_groups_match(const assay_view_group *a, const assay_view_group *b) {
  return same_word(a->inputs, b->inputs) && same_word(a->precision, b->precision);
}

static void load_groups(assay_view *view) {
  for (size_t r = 0; r < view->n_rows; r++) {
    assay_view_row *row = &view->rows[r];
    size_t g = 0;
    while (g < view->n_groups && !same_group(&view->groups[g], row)) g++;
    if (g == view->n_groups) {
      view->groups[view->n_groups++] =
          (assay_view_group){.runtime = row->runtime,
                             .bundle = row->bundle,
                             .inputs = row->inputs,
                             .dtype = row->manifest ? row->manifest->dtype : NULL,
                             .precision = row->precision,
                             .first = row};
    }
    row->group = g;
    add_to_group(&view->groups[g], row);
  }
}

/* ---- order ---- */

typedef struct row_key {
  size_t runtime, bundle, inputs, seq;
} row_key;

/* Controlled inputs first, then what users brought, then events. */
static size_t inputs_rank(const char *inputs) {
  return strcmp(inputs, "controlled") == 0 ? 0 : strcmp(inputs, "brought") == 0 ? 1 : 2;
}

static int compare_keys(const void *a, const void *b) {
  const row_key *x = a, *y = b;
  if (x->runtime != y->runtime) return x->runtime < y->runtime ? -1 : 1;
  if (x->bundle != y->bundle) return x->bundle < y->bundle ? -1 : 1;
  if (x->inputs != y->inputs) return x->inputs < y->inputs ? -1 : 1;
  return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Runtimes and bundles as asked for, controlled cases first, cases as in the manifest. Nothing
 * points into rows yet. */
static assay_status sort_rows(assay_view *view, assay_error *err) {
  size_t n = view->n_rows;
  row_key *keys = assay_alloc_array(n, sizeof *keys);
  assay_view_row *sorted = assay_alloc_array(n + 1, sizeof *sorted);
  assay_status st = ASSAY_OK;
  if (keys == NULL || sorted == NULL) {
    st = assay_fail_memory(err, n * sizeof *sorted);
    goto done;
  }
  for (size_t r = 0; r < n; r++) {
    const assay_view_row *row = &view->rows[r];
    keys[r] = (row_key){.runtime = runtime_index(&view->package, row->runtime),
                        .bundle = bundle_index(&view->package, row->bundle),
                        .inputs = inputs_rank(row->inputs),
                        .seq = r};
  }
  qsort(keys, n, sizeof *keys, compare_keys);
  for (size_t r = 0; r < n; r++) sorted[r] = view->rows[keys[r].seq];
  assay_free(view->rows);
  view->rows = sorted;
  sorted = NULL;
done:
  assay_free(sorted);
  assay_free(keys);
  return st;
}

/* ---- the whole ---- */

static assay_status load_manifests(assay_view *view, assay_error *err) {
  size_t n = view->package.n_bundles;
  view->manifests = assay_alloc_array(n + 1, sizeof *view->manifests);
  view->has_manifest = assay_alloc_array(n + 1, sizeof *view->has_manifest);
  if (view->manifests == NULL || view->has_manifest == NULL) {
    return assay_fail_memory(err, n * sizeof *view->manifests);
  }
  for (size_t b = 0; b < n; b++) {
    char *folder = assay_path_join(view->path, view->package.bundles[b].folder);
    if (folder == NULL) return assay_fail_memory(err, strlen(view->path));
    view->has_manifest[b] = assay_manifest_read(folder, &view->manifests[b], NULL) == ASSAY_OK;
    assay_free(folder);
  }
  return ASSAY_OK;
}

/* "float16, scores float32": the model's own dtype, and each block of its plan that is another. */
static char *precision_of(const assay_manifest *manifest) {
  assay_sink text = {0};
  assay_sink_put(&text, manifest->dtype);
  for (size_t i = 0; i < assay_json_len(manifest->plan); i++) {
    const char *word = assay_json_string(assay_json_value_at(manifest->plan, i));
    if (word == NULL || !assay_dtype_is_float(assay_dtype_of_name(word))) continue;
    if (strcmp(word, manifest->dtype) == 0) continue;
    assay_sink_putf(&text, ", %s %s", assay_json_key_at(manifest->plan, i), word);
  }
  char *copy = text.status ? NULL : assay_strdup(assay_sink_text(&text));
  assay_sink_reset(&text);
  return copy;
}

static assay_status load_precisions(assay_view *view, assay_error *err) {
  size_t n = view->package.n_bundles;
  view->precisions = assay_alloc_array(n + 1, sizeof *view->precisions);
  if (view->precisions == NULL) return assay_fail_memory(err, n * sizeof *view->precisions);
  for (size_t b = 0; b < n; b++) {
    if (!view->has_manifest[b]) continue;
    view->precisions[b] = precision_of(&view->manifests[b]);
    if (view->precisions[b] == NULL) return assay_fail_memory(err, 64);
  }
  return ASSAY_OK;
}

/* "193 of 193", "170 of 193 (23 unknown)", "unknown"; nothing of what was not judged. */
static void set_coverage(assay_view_row *row) {
  const assay_result_coverage *c = &row->runs[ASSAY_VIEW_PLACEMENT].result.coverage;
  char unknown[48] = "";
  if (!c->judged) return;
  if (c->n_unknown > 0)
    snprintf(unknown, sizeof unknown, " (%lld unknown)", (long long)c->n_unknown);
  snprintf(row->coverage, sizeof row->coverage, "%lld of %lld%s", (long long)c->n_covered,
           (long long)c->n_nodes, unknown);
  if (!c->known) snprintf(row->coverage, sizeof row->coverage, "unknown");
}

/* After the rows are there: what they borrow of their bundle. */
static void set_precisions(assay_view *view) {
  for (size_t r = 0; r < view->n_rows; r++) {
    size_t b = bundle_index(&view->package, view->rows[r].bundle);
    if (b < view->package.n_bundles) view->rows[r].precision = view->precisions[b];
  }
}

static void load_machine(assay_view *view) {
  if (view->package.machine == NULL) return;
  char *path = assay_path_join(view->path, view->package.machine);
  if (path && assay_json_read(path, MACHINE_MAX_BYTES, &view->machine, NULL)) view->machine = NULL;
  assay_free(path);
}

static assay_status load(assay_view *view, const char *package_path, assay_error *err) {
  view->path = assay_strdup(package_path);
  if (view->path == NULL) return assay_fail_memory(err, strlen(package_path));
  ASSAY_TRY(assay_package_read(package_path, &view->package, err));
  ASSAY_TRY(load_manifests(view, err));
  ASSAY_TRY(load_precisions(view, err));
  load_machine(view);
  ASSAY_TRY(load_rows(view, err));
  set_precisions(view);
  for (size_t r = 0; r < view->n_rows; r++) set_coverage(&view->rows[r]);
  for (size_t r = 0; r < view->n_rows; r++) {
    ASSAY_TRY(load_heads(&view->rows[r], err));
    ASSAY_TRY(assay_view_load_device_reason(&view->rows[r], err));
  }
  load_references(view);
  ASSAY_TRY(sort_rows(view, err));
  ASSAY_TRY(assay_gate_judge(view, err));
  view->groups = assay_alloc_array(view->n_rows + 1, sizeof *view->groups);
  if (view->groups == NULL) return assay_fail_memory(err, view->n_rows * sizeof *view->groups);
  load_groups(view);
  return ASSAY_OK;
}

assay_status assay_view_open(const char *package_path, assay_view *out, assay_error *err) {
  assay_view view = {0};
  assay_status st = load(&view, package_path, err);
  if (st == ASSAY_OK && assay_pairs_are_there(package_path)) {
    st = assay_pairs_read(package_path, &view.pairs, NULL); /* what is wrong there verify says */
    view.has_pairs = st == ASSAY_OK;
    if (st == ASSAY_E_MEMORY) (void)assay_fail_memory(err, sizeof view.pairs);
    if (st != ASSAY_E_MEMORY) st = ASSAY_OK;
  }
  if (st) {
    assay_view_close(&view);
    assay_error_in(err, "package '%s'", package_path);
    return st;
  }
  *out = view;
  return ASSAY_OK;
}

static void close_row(assay_view_row *row) {
  for (int mode = 0; mode < ASSAY_VIEW_N_MODES; mode++) {
    assay_view_run *run = &row->runs[mode];
    for (size_t i = 0; i < run->n_files; i++) assay_free(run->files[i].path);
    assay_free(run->files);
    assay_result_reset(&run->result);
  }
  assay_free(row->device_reason);
  assay_free(row->heads);
}

void assay_view_close(assay_view *view) {
  if (view == NULL) return;
  assay_pairs_reset(&view->pairs);
  for (size_t r = 0; r < view->n_rows; r++) close_row(&view->rows[r]);
  for (size_t b = 0; view->manifests && b < view->package.n_bundles; b++) {
    assay_manifest_reset(&view->manifests[b]);
  }
  for (size_t b = 0; view->precisions && b < view->package.n_bundles; b++)
    assay_free(view->precisions[b]);
  assay_free(view->precisions);
  for (size_t i = 0; i < view->n_reasons; i++) assay_free(view->reasons[i].text);
  assay_free(view->reasons);
  assay_free(view->groups);
  assay_free(view->rows);
  assay_free(view->manifests);
  assay_free(view->has_manifest);
  assay_json_destroy(view->machine);
  assay_package_reset(&view->package);
  assay_free(view->evidence);
  assay_free(view->path);
  *view = (assay_view){0};
}

/* ---- samples ---- */

assay_status assay_view_samples(const assay_view *view, const assay_view_row *row, int64_t **out,
                                size_t *out_n, assay_error *err) {
  char *folder =
      assay_result_folder(row->runtime, row->bundle, row->case_name, ASSAY_RESULT_TIMING);
  char *inside = folder ? assay_path_join(folder, "samples.npy") : NULL;
  char *path = inside ? assay_path_join(view->path, inside) : NULL;
  int64_t *samples = NULL;
  assay_tensor array = {0};
  assay_status st =
      path ? assay_npy_read(path, NULL, &array, err) : assay_fail_memory(err, strlen(view->path));
  if (st) goto done;
  if (array.dtype != ASSAY_DTYPE_I64 || array.rank != 1) {
    st = assay_fail(err, ASSAY_E_FORMAT,
                    "'%s': expected int64 samples of one axis, found %s of rank %d", path,
                    assay_dtype_name(array.dtype), array.rank);
    goto done;
  }
  samples = assay_alloc_array(array.n_elems, sizeof *samples);
  if (samples == NULL) {
    st = assay_fail_memory(err, array.size_bytes);
    goto done;
  }
  if (array.n_elems) memcpy(samples, array.data, array.size_bytes);
  *out = samples;
  *out_n = array.n_elems;
done:
  assay_tensor_reset(&array);
  assay_free(path);
  assay_free(inside);
  assay_free(folder);
  return st;
}
