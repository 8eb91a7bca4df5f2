/* Which cases a bundle gets, and what is in them: files that users bring, events of datasets, and
 * shapes filled from a pool.
 *
 * Dimension letters: B events, N padded length, F features, bs HEPTv2's block size. */
#include "campaign/bundle_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "package/npz.h"

const char *const BUNDLE_HEADS[BUNDLE_N_HEADS] = {"bid", "id", "momentum", "pu"};

const int64_t ASSAY_EXPORT_DEFAULT_SWEEP[5] = {100, 500, 1000, 2000, 4000};
const int64_t ASSAY_EXPORT_DEFAULT_BATCHES[2] = {2, 4};

/* Elements of one case: 2^24, where HEPTv2's FP32 ranks stop being exact (models.md (25)). */
#define ELEMENTS_MAX (INT64_C(1) << 24)

int64_t bundle_head_width(const assay_mlpf_config *config, size_t head) {
  const int64_t widths[BUNDLE_N_HEADS] = {2, config->num_classes, ASSAY_MLPF_N_TARGETS, 2};
  return widths[head];
}

static int head_index(const char *name) {
  for (int i = 0; i < BUNDLE_N_HEADS; i++)
    if (strcmp(name, BUNDLE_HEADS[i]) == 0) return i;
  return -1;
}

/* --- which cases
 * ------------------------------------------------------------------------------------- */

/* Peak memory of a float64 evaluation, measured on the default widths (E = 128) with 10000 and
 * 20000 elements: 5.3 kB (attention) and 5.9 kB (HEPTv2) an element; about 6 arrays of doubles of
 * width E. */
static double reference_bytes(const assay_mlpf_config *config, int64_t elements) {
  const int64_t width = assay_mlpf_config_repr_dim(config) + 5 * config->embedding_dim;
  return (double)elements * (double)width * (double)sizeof(double);
}

/* Told at once, not after the system killed the evaluation. */
static assay_status check_memory(const assay_mlpf_config *config, int64_t b, int64_t n,
                                 assay_error *err) {
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return ASSAY_OK;
  const double needed = reference_bytes(config, b * n);
  const double there = (double)pages * (double)page_bytes;
  if (needed <= there) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_MISSING,
                    "the references of %lld events of %lld elements need about %.0f GB of memory, "
                    "and this machine has %.0f GB",
                    (long long)b, (long long)n, needed * 1e-9, there * 1e-9);
}

static assay_status check_shape(const assay_mlpf_config *config, int64_t b, int64_t n,
                                assay_status status, assay_error *err) {
  if (b < 1 || n < 1)
    return assay_fail(err, status, "B is %lld and N is %lld; expected at least 1 of each",
                      (long long)b, (long long)n);
  if (b > ELEMENTS_MAX || n > ELEMENTS_MAX / b)
    return assay_fail(err, ASSAY_E_LIMIT, "%lld events of %lld elements are more than %lld in all",
                      (long long)b, (long long)n, (long long)ELEMENTS_MAX);
  if (config->arch == ASSAY_MLPF_HEPTV2 && n % config->block_size != 0)
    return assay_fail(err, status,
                      "N is %lld, which is no multiple of the block size %lld; pad it to %lld",
                      (long long)n, (long long)config->block_size,
                      (long long)((n / config->block_size + 1) * config->block_size));
  return check_memory(config, b, n, err);
}

void bundle_name_of(const char *text, size_t n, char *out, size_t out_bytes) {
  size_t used = 0;
  for (size_t i = 0; i < n && used + 1 < out_bytes; i++) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    const bool mark = used > 0 && c != '\0' && strchr("._-+@", c) != NULL;
    out[used++] = letter || mark ? c : '_';
  }
  out[used] = '\0';
}

/* The file's name without folder and ".npz", in the characters that case names may have. */
static void name_of_file(const char *path, char *out, size_t out_bytes) {
  const char *last = assay_path_name(path);
  size_t n = strlen(last);
  if (assay_text_has_suffix(last, ".npz")) n -= 4;
  bundle_name_of(last, n, out, out_bytes);
  if (out[0] == '\0') snprintf(out, out_bytes, "input");
}

/* Where a case comes from, for messages. */
static void origin_of(const bundle_cases *cases, const bundle_case *one, char *out,
                      size_t out_bytes) {
  if (one->path != NULL)
    snprintf(out, out_bytes, "of '%s'", one->path);
  else if (one->events != NULL)
    snprintf(out, out_bytes, "of event %lld of dataset '%s'", (long long)one->events[0].index,
             cases->datasets.items[one->events[0].dataset].label);
  else
    snprintf(out, out_bytes, "of the %s with B=%lld and N=%lld",
             strcmp(one->kind, "sweep") == 0 ? "sweep" : "batches", (long long)one->b,
             (long long)one->n);
}

static assay_status add_case(bundle_cases *cases, const bundle_case *one, assay_error *err) {
  char first[512], second[512];
  for (size_t i = 0; i < cases->n; i++) {
    if (strcmp(cases->items[i].name, one->name) != 0) continue;
    origin_of(cases, &cases->items[i], first, sizeof first);
    origin_of(cases, one, second, sizeof second);
    if (strcmp(first, second) == 0)
      return assay_fail(err, ASSAY_E_ARGUMENT, "the case '%s' %s is asked for twice; leave one out",
                        one->name, first);
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "two cases would be named '%s': one %s and one %s; leave one out or rename "
                      "its file",
                      one->name, first, second);
  }
  cases->items[cases->n++] = *one;
  return ASSAY_OK;
}

static assay_status add_filled(const assay_export_spec *spec, bundle_cases *cases, const char *kind,
                               int64_t b, int64_t n, assay_error *err) {
  bundle_case one = {.kind = kind, .b = b, .n = n};
  snprintf(one.name, sizeof one.name, "b%lld-n%lld", (long long)b, (long long)n);
  const assay_status st = check_shape(&spec->config, b, n, ASSAY_E_ARGUMENT, err);
  if (st) {
    assay_error_in(err, "%s case", kind);
    return st;
  }
  cases->need_pool = true;
  return add_case(cases, &one, err);
}

/* A case of the n events, which it copies. */
static assay_status add_events(bundle_cases *cases, const char *name, const bundle_event *events,
                               size_t n, assay_error *err) {
  const bundle_dataset *first = &cases->datasets.items[events[0].dataset];
  char full[160];
  bundle_case one = {.kind = "event", .b = (int64_t)n};
  snprintf(full, sizeof full, "%.100s-%.30s-%lld", name,
           assay_tfds_split_at(first->tfds, first->split).name, (long long)events[0].index);
  bundle_name_of(full, strlen(full), one.name, sizeof one.name);
  one.events = assay_alloc_array(n, sizeof *one.events);
  if (one.events == NULL) return assay_fail_memory(err, n * sizeof *one.events);
  memcpy(one.events, events, n * sizeof *events);
  const assay_status st = add_case(cases, &one, err);
  if (st) assay_free(one.events);
  return st;
}

/* One case for each asked event of each dataset, then the first of them all together. */
static assay_status add_datasets(const assay_export_spec *spec, bundle_cases *cases,
                                 assay_error *err) {
  const bundle_datasets *datasets = &cases->datasets;
  for (size_t d = 0; d < datasets->n; d++)
    for (size_t i = 0; i < spec->n_events; i++) {
      const bundle_event event = {.dataset = d, .index = spec->events[i]};
      ASSAY_TRY(add_events(cases, datasets->items[d].label, &event, 1, err));
    }
  if (datasets->n < 2) return ASSAY_OK;
  bundle_event *mixed = assay_alloc_array(datasets->n, sizeof *mixed);
  if (mixed == NULL) return assay_fail_memory(err, datasets->n * sizeof *mixed);
  for (size_t d = 0; d < datasets->n; d++)
    mixed[d] = (bundle_event){.dataset = d, .index = spec->events[0]};
  const assay_status st = add_events(cases, "mixed", mixed, datasets->n, err);
  assay_free(mixed);
  return st;
}

static assay_status add_all(const assay_export_spec *spec, bundle_cases *cases, assay_error *err) {
  const int64_t batch_n = spec->batch_n ? spec->batch_n : ASSAY_EXPORT_BATCH_N;
  for (size_t i = 0; i < spec->n_inputs; i++) {
    bundle_case one = {.kind = "input", .path = spec->inputs[i]};
    name_of_file(one.path, one.name, sizeof one.name);
    ASSAY_TRY(add_case(cases, &one, err));
  }
  ASSAY_TRY(add_datasets(spec, cases, err));
  for (size_t i = 0; i < spec->n_sweep; i++)
    ASSAY_TRY(add_filled(spec, cases, "sweep", 1, spec->sweep[i], err));
  for (size_t i = 0; i < spec->n_batches; i++)
    ASSAY_TRY(add_filled(spec, cases, "batch", spec->batches[i], batch_n, err));
  return ASSAY_OK;
}

static assay_status make_cases(const assay_export_spec *spec, bundle_cases *cases,
                               assay_error *err) {
  assay_status st = ASSAY_OK;
  if (spec->pad_to > 0)
    st = check_shape(&spec->config, /*b=*/1, spec->pad_to, ASSAY_E_ARGUMENT, err);
  if (st) {
    assay_error_in(err, "padding of events");
    return st;
  }
  ASSAY_TRY(bundle_datasets_open(spec, &cases->datasets, err));
  cases->cap =
      spec->n_inputs + spec->n_sweep + spec->n_batches + spec->n_datasets * spec->n_events + 1;
  cases->items = assay_alloc_array(cases->cap, sizeof *cases->items);
  if (cases->items == NULL) return assay_fail_memory(err, cases->cap * sizeof *cases->items);
  return add_all(spec, cases, err);
}

assay_status bundle_cases_init(const assay_export_spec *spec, bundle_cases *out, assay_error *err) {
  static const int64_t FIRST_TWO[] = {0, 1};
  assay_export_spec wanted = *spec;
  if (wanted.split == NULL) wanted.split = ASSAY_EXPORT_SPLIT;
  if (wanted.events == NULL) {
    wanted.events = FIRST_TWO;
    wanted.n_events = 2;
  }
  if (spec->n_inputs + spec->n_sweep + spec->n_batches + spec->n_datasets == 0) {
    wanted.sweep = ASSAY_EXPORT_DEFAULT_SWEEP;
    wanted.n_sweep = sizeof ASSAY_EXPORT_DEFAULT_SWEEP / sizeof ASSAY_EXPORT_DEFAULT_SWEEP[0];
    wanted.batches = ASSAY_EXPORT_DEFAULT_BATCHES;
    wanted.n_batches = sizeof ASSAY_EXPORT_DEFAULT_BATCHES / sizeof ASSAY_EXPORT_DEFAULT_BATCHES[0];
  }
  bundle_cases cases = {0};
  const assay_status st = make_cases(&wanted, &cases, err);
  if (st) {
    bundle_cases_reset(&cases);
    return st;
  }
  *out = cases;
  return ASSAY_OK;
}

void bundle_cases_reset(bundle_cases *cases) {
  for (size_t i = 0; i < cases->n; i++) assay_free(cases->items[i].events);
  bundle_datasets_close(&cases->datasets);
  assay_free(cases->items);
  *cases = (bundle_cases){0};
}

/* --- the pool
 * ---------------------------------------------------------------------------------------- */

static assay_status pool_of_file(const assay_export_spec *spec, const assay_tensor_map *arrays,
                                 assay_feature_pool *out, assay_error *err) {
  const assay_tensor *x = assay_tensor_map_find(arrays, "X");
  if (x == NULL)
    return assay_fail(err, ASSAY_E_FORMAT, "there is no array 'X'; a pool holds X [M,%lld] float32",
                      (long long)spec->config.input_dim);
  for (size_t i = 0; i < arrays->n; i++)
    if (strcmp(arrays->items[i].name, "X") != 0)
      return assay_fail(err, ASSAY_E_FORMAT,
                        "array '%s' does not belong there; a pool holds X alone",
                        arrays->items[i].name);
  return assay_feature_pool_init_rows(&spec->config, x, assay_path_name(spec->pool), out, err);
}

assay_status bundle_pool_init(const assay_export_spec *spec, assay_feature_pool *out,
                              assay_error *err) {
  if (spec->pool == NULL) return assay_feature_pool_init_builtin(&spec->config, out, err);
  assay_tensor_map arrays = {0};
  ASSAY_TRY(assay_npz_read(spec->pool, /*limits=*/NULL, &arrays, err));
  const assay_status st = pool_of_file(spec, &arrays, out, err);
  if (st) assay_error_in(err, "pool '%s'", spec->pool);
  assay_tensor_map_reset(&arrays);
  return st;
}

/* --- inputs
 * ------------------------------------------------------------------------------------------ */

static assay_status need_f32(const assay_tensor_map *arrays, const char *name, int rank,
                             const char *shape, const assay_tensor **out, assay_error *err) {
  const assay_tensor *array = assay_tensor_map_find(arrays, name);
  char found[256];
  if (array == NULL)
    return assay_fail(err, ASSAY_E_FORMAT, "there is no array '%s'; expected %s float32", name,
                      shape);
  if (array->dtype != ASSAY_DTYPE_F32)
    return assay_fail(err, ASSAY_E_FORMAT, "array '%s' is %s; expected float32", name,
                      assay_dtype_name(array->dtype));
  if (array->rank != rank) {
    assay_shape_text(array->dims, array->rank, found, sizeof found);
    return assay_fail(err, ASSAY_E_FORMAT, "array '%s' has shape %s; expected %s", name, found,
                      shape);
  }
  *out = array;
  return ASSAY_OK;
}

static assay_status check_mask(const assay_tensor *mask, assay_error *err) {
  const float *m = assay_tensor_f32(mask);
  for (size_t i = 0; i < mask->n_elems; i++)
    if (!(m[i] == 1.0f || (m[i] == 0.0f && !signbit(m[i]))))
      return assay_fail(err, ASSAY_E_FORMAT, "mask[%zu,%zu] is %g; expected exactly 0 or 1",
                        i / (size_t)mask->dims[1], i % (size_t)mask->dims[1], (double)m[i]);
  return ASSAY_OK;
}

/* Padded rows may hold anything. */
static assay_status check_rows(const assay_tensor *x, const assay_tensor *mask, assay_error *err) {
  const size_t n = (size_t)x->dims[1], f = (size_t)x->dims[2];
  for (size_t row = 0; row < mask->n_elems; row++) {
    if (assay_tensor_f32(mask)[row] == 0.0f) continue;
    for (size_t k = 0; k < f; k++) {
      const float value = assay_tensor_f32(x)[row * f + k];
      if (!isfinite(value))
        return assay_fail(err, ASSAY_E_FORMAT,
                          "Xfeat_normed[%zu,%zu,%zu] is %g in a valid row; expected finite values",
                          row / n, row % n, k, (double)value);
    }
  }
  return ASSAY_OK;
}

static assay_status check_inputs(const assay_mlpf_config *config, const assay_tensor_map *arrays,
                                 assay_error *err) {
  const assay_tensor *x = NULL, *mask = NULL;
  char shape[64], found[256], found_mask[256];
  snprintf(shape, sizeof shape, "[B,N,%lld]", (long long)config->input_dim);
  ASSAY_TRY(need_f32(arrays, "Xfeat_normed", 3, shape, &x, err));
  ASSAY_TRY(need_f32(arrays, "mask", 2, "[B,N]", &mask, err));
  assay_shape_text(x->dims, x->rank, found, sizeof found);
  assay_shape_text(mask->dims, mask->rank, found_mask, sizeof found_mask);
  if (x->dims[2] != config->input_dim)
    return assay_fail(err, ASSAY_E_FORMAT, "array 'Xfeat_normed' has shape %s; expected %s", found,
                      shape);
  if (mask->dims[0] != x->dims[0] || mask->dims[1] != x->dims[1])
    return assay_fail(err, ASSAY_E_FORMAT, "array 'mask' has shape %s beside Xfeat_normed %s",
                      found_mask, found);
  ASSAY_TRY(check_shape(config, x->dims[0], x->dims[1], ASSAY_E_FORMAT, err));
  ASSAY_TRY(check_mask(mask, err));
  return check_rows(x, mask, err);
}

static assay_status check_reference(const assay_mlpf_config *config, const assay_tensor *x,
                                    const assay_named_tensor *reference, int head,
                                    assay_error *err) {
  const assay_tensor *t = &reference->tensor;
  const int64_t expected[] = {x->dims[0], x->dims[1], bundle_head_width(config, (size_t)head)};
  char found[256], shape[256];
  assay_shape_text(t->dims, t->rank, found, sizeof found);
  assay_shape_text(expected, 3, shape, sizeof shape);
  if (t->dtype != ASSAY_DTYPE_F32 && t->dtype != ASSAY_DTYPE_F64)
    return assay_fail(err, ASSAY_E_FORMAT, "reference '%s' is %s; expected float32 or float64",
                      reference->name, assay_dtype_name(t->dtype));
  if (t->rank != 3 || memcmp(t->dims, expected, sizeof expected) != 0)
    return assay_fail(err, ASSAY_E_FORMAT, "reference '%s' has shape %s; expected %s",
                      reference->name, found, shape);
  return ASSAY_OK;
}

/* Moves what belongs to a case out of arrays, and refuses the rest. */
static assay_status take_arrays(const assay_mlpf_config *config, assay_tensor_map *arrays,
                                bundle_inputs *out, assay_error *err) {
  ASSAY_TRY(check_inputs(config, arrays, err));
  const assay_tensor *x = assay_tensor_map_find(arrays, "Xfeat_normed");
  for (size_t i = 0; i < arrays->n; i++) {
    const assay_named_tensor *array = &arrays->items[i];
    if (strcmp(array->name, "Xfeat_normed") == 0 || strcmp(array->name, "mask") == 0) continue;
    const int head = head_index(array->name);
    if (head < 0)
      return assay_fail(err, ASSAY_E_FORMAT,
                        "array '%s' does not belong there; expected the inputs Xfeat_normed and "
                        "mask, and references bid, id, momentum, pu if any",
                        array->name);
    ASSAY_TRY(check_reference(config, x, array, head, err));
  }
  for (size_t i = 0; i < arrays->n; i++) {
    assay_named_tensor *array = &arrays->items[i];
    if (strcmp(array->name, "Xfeat_normed") == 0)
      out->x = array->tensor;
    else if (strcmp(array->name, "mask") == 0)
      out->mask = array->tensor;
    else
      ASSAY_TRY(assay_tensor_map_add(&out->user, array->name, &array->tensor, err));
    array->tensor = (assay_tensor){0};
  }
  return ASSAY_OK;
}

static assay_status read_inputs(const assay_export_spec *spec, const bundle_case *one,
                                bundle_inputs *out, assay_error *err) {
  assay_tensor_map arrays = {0};
  ASSAY_TRY(assay_npz_read(one->path, /*limits=*/NULL, &arrays, err));
  const assay_status st = take_arrays(&spec->config, &arrays, out, err);
  if (st) assay_error_in(err, "'%s'", one->path);
  assay_tensor_map_reset(&arrays);
  snprintf(out->source, sizeof out->source, "file '%.400s'", assay_path_name(one->path));
  return st;
}

static assay_status fill_inputs(const bundle_case *one, const assay_feature_pool *pool,
                                bundle_inputs *out, assay_error *err) {
  ASSAY_TRY(assay_feature_pool_fill(pool, one->b, one->n, &out->x, &out->mask, err));
  snprintf(out->source, sizeof out->source,
           "%s; event e, element i is row (%d e + i) mod %lld; the last %lld of %lld elements are "
           "padding",
           pool->source, ASSAY_POOL_EVENT_STRIDE, (long long)pool->rows.dims[0],
           (long long)(one->n - assay_feature_pool_valid(one->n)), (long long)one->n);
  return ASSAY_OK;
}

/* Events are held against all that is asked of brought inputs, too. */
static assay_status read_events(const assay_export_spec *spec, const bundle_cases *cases,
                                const bundle_case *one, bundle_inputs *out, assay_error *err) {
  ASSAY_TRY(bundle_events_fill(spec, &cases->datasets, one->events, (size_t)one->b, &out->x,
                               &out->mask, out->source, sizeof out->source, &out->origin,
                               &out->counts, err));
  ASSAY_TRY(check_shape(&spec->config, out->x.dims[0], out->x.dims[1], ASSAY_E_ARGUMENT, err));
  const assay_status st = check_rows(&out->x, &out->mask, err);
  if (st) assay_error_in(err, "case '%s' (%s)", one->name, out->source);
  return st;
}

/* A mask that is told as a count of valid elements must begin with them. */
static assay_status check_prefix(const assay_export_spec *spec, const assay_tensor *mask,
                                 assay_error *err) {
  const size_t n = (size_t)mask->dims[1];
  const float *m = assay_tensor_f32(mask);
  if (spec->plan == NULL || spec->plan->mask != ASSAY_MLPF_MASK_NONPAD) return ASSAY_OK;
  for (size_t i = 1; i < mask->n_elems; i++)
    if (i % n != 0 && m[i] != 0.0f && m[i - 1] == 0.0f)
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "mask form nonpad counts the valid elements that come first, but "
                        "mask[%zu,%zu] is 0 and mask[%zu,%zu] is 1: take the form bool or float",
                        i / n, i % n - 1, i / n, i % n);
  return ASSAY_OK;
}

assay_status bundle_inputs_init(const assay_export_spec *spec, const bundle_cases *cases, size_t i,
                                const assay_feature_pool *pool, bundle_inputs *out,
                                assay_error *err) {
  const bundle_case *one = &cases->items[i];
  bundle_inputs inputs = {0};
  assay_status st = one->path != NULL     ? read_inputs(spec, one, &inputs, err)
                    : one->events != NULL ? read_events(spec, cases, one, &inputs, err)
                                          : fill_inputs(one, pool, &inputs, err);
  if (st == ASSAY_OK) st = check_prefix(spec, &inputs.mask, err);
  if (st) {
    bundle_inputs_reset(&inputs);
    return st;
  }
  inputs.b = inputs.x.dims[0];
  inputs.n = inputs.x.dims[1];
  *out = inputs;
  return ASSAY_OK;
}

void bundle_inputs_reset(bundle_inputs *inputs) {
  assay_tensor_reset(&inputs->x);
  assay_tensor_reset(&inputs->mask);
  assay_tensor_map_reset(&inputs->user);
  assay_json_destroy(inputs->origin);
  *inputs = (bundle_inputs){0};
}
