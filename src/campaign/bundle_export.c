/* Export: plan the cases, make the weights, build the graphs, evaluate the references, write the
 * manifest, and put the folder in its place in one step. */
#include "campaign/bundle_export.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "campaign/bundle_case.h"
#include "campaign/bundle_manifest.h"
#include "campaign/bundle_place.h"
#include "measure/clock.h"
#include "model/mlpf_graph.h"
#include "model/mlpf_params.h"
#include "onnx/model_info.h"
#include "package/fields.h"
#include "package/npz.h"

#define NAME_BYTES_MAX 100

typedef struct exporter {
  const assay_export_spec *spec; /* with its plan */
  bundle_cases cases;
  assay_feature_pool pool;
  assay_tensor_map seeded;
  const assay_tensor_map *weights; /* the spec's, or seeded */
  bundle_place place;
  assay_manifest manifest;
  bundle_times *times; /* [n cases] */
  bool brought;        /* some case has references of its user's */
  bundle_event_counts counts;
  size_t done, total; /* steps */
  assay_export_result result;
} exporter;

static assay_status begin_step(exporter *e, const char *step, assay_error *err) {
  if (e->spec->cancelled != NULL && e->spec->cancelled(e->spec->cancelled_arg))
    return assay_fail(err, ASSAY_E_STOPPED, "the export was stopped");
  if (e->spec->progress != NULL) e->spec->progress(e->spec->progress_arg, step, e->done, e->total);
  e->done++;
  return ASSAY_OK;
}

/* --- the folder
 * -------------------------------------------------------------------------------------- */

static assay_status make_part(const exporter *e, const char *name, assay_error *err) {
  char *path = assay_path_join(e->place.folder, name);
  if (path == NULL) return assay_fail_memory(err, strlen(name));
  const assay_status st = assay_folder_create(path, err);
  assay_free(path);
  return st;
}

/* Makes the temporary folder and what is in it. */
static assay_status make_folder(exporter *e, const char *path, assay_error *err) {
  ASSAY_TRY(bundle_place_begin(&e->place, path, e->spec->force, err));
  ASSAY_TRY(make_part(e, "cases", err));
  return e->spec->static_shapes ? make_part(e, "models", err) : ASSAY_OK;
}

static assay_status sync_all(const exporter *e, assay_error *err) {
  static const char *const PARTS[] = {"cases", "models"};
  for (size_t i = 0; i < (e->spec->static_shapes ? 2 : 1); i++) {
    char *part = assay_path_join(e->place.folder, PARTS[i]);
    if (part == NULL) return assay_fail_memory(err, strlen(e->place.folder));
    const assay_status st = bundle_place_sync(part, err);
    assay_free(part);
    if (st) return st;
  }
  return bundle_place_sync(e->place.folder, err);
}

/* --- weights and graphs
 * ------------------------------------------------------------------------------ */

static assay_status make_weights(exporter *e, assay_error *err) {
  if (e->spec->weights != NULL) {
    e->weights = e->spec->weights;
  } else {
    ASSAY_TRY(assay_mlpf_seed_weights(&e->spec->config, e->spec->seed, &e->seeded,
                                      /*out_next_rand=*/NULL, err));
    e->weights = &e->seeded;
  }
  assay_mlpf_params params = {0};
  ASSAY_TRY(assay_mlpf_params_init(&e->spec->config, &params, err));
  const assay_status st = assay_mlpf_params_check(&params, e->weights, err);
  e->result.n_tensors = params.n;
  e->result.n_values = params.n_values;
  assay_mlpf_params_reset(&params);
  if (st) return st;
  ASSAY_TRY(
      assay_tensor_map_sha256(e->weights, /*skip_suffix=*/NULL, e->result.weights_sha256, err));
  return assay_tensor_map_sha256(e->weights, "_query", e->result.weights_sha256_no_queries, err);
}

/* Size and hash of a file that was just written under its name in the bundle. */
static assay_status list_file(exporter *e, const char *name, assay_manifest_file *out,
                              assay_error *err) {
  assay_manifest_file file = {.file = assay_strdup(name)};
  char *path = assay_path_join(e->place.folder, name);
  assay_status st = ASSAY_OK;
  if (file.file == NULL || path == NULL) st = assay_fail_memory(err, strlen(name));
  if (st == ASSAY_OK) st = assay_sha256_file(path, file.sha256, &file.size_bytes, err);
  assay_free(path);
  if (st) {
    assay_free(file.file);
    return st;
  }
  e->result.size_bytes += file.size_bytes;
  *out = file;
  return ASSAY_OK;
}

/* The manifest's count is the graph's own; what the configuration leads to expect must agree. */
static assay_status count_attention(exporter *e, const assay_graph *graph, assay_error *err) {
  const int64_t expected = assay_mlpf_config_attention_ops(&e->spec->config);
  const int64_t found = assay_mlpf_graph_attention_ops(graph);
  const int64_t fused = assay_mlpf_graph_fused_attention_ops(graph);
  e->manifest.attention_ops = e->result.attention_ops = found;
  e->manifest.fused_attention_ops = e->result.fused_attention_ops = fused;
  if (found == expected &&
      fused == (e->spec->plan->attention == ASSAY_MLPF_DECOMPOSED ? 0 : expected))
    return ASSAY_OK;
  return assay_fail(err, ASSAY_E_INTERNAL,
                    "the graph has %lld attention operations, %lld of them fused; %lld in form %s "
                    "follow from the configuration",
                    (long long)found, (long long)fused, (long long)expected,
                    assay_mlpf_attention_form_name(e->spec->plan->attention));
}

/* b and n are 0 for the graph with symbolic ones. */
static assay_status write_graph(exporter *e, const char *name, int64_t b, int64_t n,
                                assay_manifest_file *out, assay_error *err) {
  const assay_mlpf_graph_options options = {.static_b = b,
                                            .static_n = n,
                                            .expose_permutations = e->spec->permutations,
                                            .plan = e->spec->plan};
  assay_graph *graph = NULL;
  ASSAY_TRY(assay_mlpf_graph_build(&e->spec->config, e->weights, &options, &graph, err));
  char *path = assay_path_join(e->place.folder, name);
  assay_status st = path == NULL ? assay_fail_memory(err, strlen(name)) : ASSAY_OK;
  if (st == ASSAY_OK) st = assay_graph_save(graph, path, err);
  if (st == ASSAY_OK) st = count_attention(e, graph, err);
  assay_free(path);
  assay_graph_destroy(graph);
  if (st) return st;
  e->result.n_graphs++;
  return list_file(e, name, out, err);
}

/* What the manifest says of the model beyond its configuration, from the file as it is. */
static assay_status describe_graph(exporter *e, assay_error *err) {
  char *path = assay_path_join(e->place.folder, e->manifest.model.file);
  if (path == NULL) return assay_fail_memory(err, strlen(e->place.folder));
  assay_onnx_info *info = NULL;
  const assay_status st = assay_onnx_info_open(path, &info, err);
  assay_free(path);
  if (st) return st;
  size_t n = 0;
  const assay_onnx_opset *opsets = assay_onnx_info_opsets(info, &n);
  for (size_t i = 0; i < n; i++)
    if (opsets[i].domain[0] == '\0') e->manifest.opset = opsets[i].version;
  e->manifest.ir_version = assay_onnx_info_ir_version(info);
  assay_onnx_info_close(info);
  return ASSAY_OK;
}

static assay_status copy_file_entry(const assay_manifest_file *from, assay_manifest_file *out,
                                    assay_error *err) {
  *out = *from;
  out->file = assay_strdup(from->file);
  return out->file != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(from->file));
}

/* Static shapes: the graph of case i, which an earlier case of the same shape may have made. */
static assay_status graph_of_case(exporter *e, size_t i, int64_t b, int64_t n,
                                  assay_manifest_file *out, assay_error *err) {
  for (size_t k = 0; k < i; k++)
    if (e->manifest.cases[k].b == b && e->manifest.cases[k].n == n)
      return copy_file_entry(&e->manifest.cases[k].model, out, err);
  char name[64];
  snprintf(name, sizeof name, "models/%lldx%lld.onnx", (long long)b, (long long)n);
  return write_graph(e, name, b, n, out, err);
}

/* --- cases
 * ------------------------------------------------------------------------------------------- */

/* Moves a tensor into arrays as "<prefix><name>". */
static assay_status put_array(assay_tensor_map *arrays, const char *prefix, const char *name,
                              assay_tensor *tensor, assay_error *err) {
  char full[160];
  snprintf(full, sizeof full, "%s%s", prefix, name);
  return assay_tensor_map_add(arrays, full, tensor, err);
}

static assay_status put_arrays(assay_tensor_map *arrays, const char *prefix, assay_tensor_map *from,
                               assay_error *err) {
  for (size_t i = 0; i < from->n; i++)
    ASSAY_TRY(put_array(arrays, prefix, from->items[i].name, &from->items[i].tensor, err));
  return ASSAY_OK;
}

/* perm [L',NH,H,B,N] i32 as one array [NH*H,B,N] i64 a layer, as the graph gives them. */
static assay_status put_permutations(const assay_mlpf_config *config, const assay_tensor *perm,
                                     assay_tensor_map *arrays, assay_error *err) {
  const int64_t dims[] = {perm->dims[1] * perm->dims[2], perm->dims[3], perm->dims[4]};
  for (int64_t l = 0; l < perm->dims[0]; l++) {
    assay_tensor one = {0};
    char name[64];
    ASSAY_TRY(assay_tensor_init(&one, ASSAY_DTYPE_I64, 3, dims, err));
    const int32_t *from = (const int32_t *)perm->data + (size_t)l * one.n_elems;
    for (size_t i = 0; i < one.n_elems; i++) assay_tensor_i64(&one)[i] = from[i];
    bundle_perm_name(config, l, name, sizeof name);
    const assay_status st = put_array(arrays, "ref.f32.", name, &one, err);
    if (st) {
      assay_tensor_reset(&one);
      return st;
    }
  }
  return ASSAY_OK;
}

/* The evaluations of a case: as an eager framework, as the truth, and (where blocks are FP16) in
 * the export's own precision, as each of those who compute it rounds: what of an error that
 * precision must cost. */
typedef struct evaluation {
  const char *prefix, *words;
  assay_dtype dtype;
  bool follows_plan;
  assay_ref_arithmetic arithmetic;
} evaluation;
static const evaluation AS_FLOAT32 = {"ref.f32.", "float32", ASSAY_DTYPE_F32, false, 0};
static const evaluation AS_FLOAT64 = {"ref.f64.", "float64", ASSAY_DTYPE_F64, false, 0};
static const evaluation AS_PLANNED[] = {
    {"ref.same.", "same precision", ASSAY_DTYPE_F32, true, ASSAY_REF_RESULTS},
    {"ref.sums.", "same precision, sums too", ASSAY_DTYPE_F32, true, ASSAY_REF_SUMS},
    {"ref.stored.", "same precision, stored only", ASSAY_DTYPE_F32, true, ASSAY_REF_STORED},
};

static bool has_half(const exporter *e) {
  return e->spec->plan != NULL && !assay_mlpf_plan_config_is_f32(e->spec->plan);
}

static assay_status evaluate(exporter *e, const bundle_case *one, const evaluation *how,
                             const bundle_inputs *inputs, assay_tensor_map *arrays,
                             assay_ref_margins *out_margins, int64_t *out_ns, assay_error *err) {
  const assay_ref_options options = {.threads = e->spec->threads,
                                     .cancelled = e->spec->cancelled,
                                     .cancelled_arg = e->spec->cancelled_arg,
                                     .plan = how->follows_plan ? e->spec->plan : NULL,
                                     .arithmetic = how->arithmetic};
  assay_ref_outputs outputs = {0};
  char step[192];
  snprintf(step, sizeof step, "case %s: %s reference", one->name, how->words);
  ASSAY_TRY(begin_step(e, step, err));
  const int64_t start_ns = assay_clock_raw_ns();
  ASSAY_TRY(assay_ref_mlpf_run(&e->spec->config, e->weights, how->dtype, &inputs->x, &inputs->mask,
                               &options, &outputs, err));
  *out_ns = assay_clock_raw_ns() - start_ns;
  e->result.reference_ns += *out_ns;
  *out_margins = outputs.margins;
  assay_status st = put_arrays(arrays, how->prefix, &outputs.heads, err);
  if (st == ASSAY_OK && how == &AS_FLOAT32 && e->spec->permutations)
    st = put_permutations(&e->spec->config, &outputs.perm, arrays, err);
  assay_ref_outputs_reset(&outputs);
  return st;
}

/* Everything that a case's file holds. Inputs are moved in last: the evaluator reads them. */
static assay_status make_arrays(exporter *e, size_t i, bundle_inputs *inputs,
                                assay_tensor_map *arrays, assay_ref_margins *out_margins,
                                assay_error *err) {
  const bundle_case *one = &e->cases.items[i];
  int64_t planned_ns = 0;
  ASSAY_TRY(evaluate(e, one, &AS_FLOAT32, inputs, arrays, out_margins, &e->times[i].f32_ns, err));
  ASSAY_TRY(evaluate(e, one, &AS_FLOAT64, inputs, arrays, out_margins, &e->times[i].f64_ns, err));
  for (size_t k = 0; has_half(e) && k < N_OF(AS_PLANNED); k++)
    ASSAY_TRY(evaluate(e, one, &AS_PLANNED[k], inputs, arrays, out_margins, &planned_ns, err));
  e->brought = e->brought || inputs->user.n > 0;
  e->counts.n_removed += inputs->counts.n_removed;
  e->counts.n_without_pt += inputs->counts.n_without_pt;
  e->counts.n_added_columns += inputs->counts.n_added_columns;
  ASSAY_TRY(put_arrays(arrays, "ref.user.", &inputs->user, err));
  /* views: the inputs are counted for the manifest afterwards */
  assay_tensor x = inputs->x, mask = inputs->mask;
  x.owned = mask.owned = false;
  ASSAY_TRY(put_array(arrays, "", "Xfeat_normed", &x, err));
  return put_array(arrays, "", "mask", &mask, err);
}

static assay_status write_arrays(exporter *e, const bundle_case *one,
                                 const assay_tensor_map *arrays, assay_manifest_file *out,
                                 assay_error *err) {
  char name[160];
  snprintf(name, sizeof name, "cases/%s.npz", one->name);
  char *path = assay_path_join(e->place.folder, name);
  if (path == NULL) return assay_fail_memory(err, strlen(name));
  const assay_status st = assay_npz_write(path, arrays, err);
  assay_free(path);
  return st ? st : list_file(e, name, out, err);
}

static assay_status export_case_of(exporter *e, size_t i, bundle_inputs *inputs, assay_error *err) {
  const bundle_case *one = &e->cases.items[i];
  assay_tensor_map arrays = {0};
  assay_ref_margins margins = {0};
  assay_manifest_file file = {0}, model = {0};
  assay_status st = ASSAY_OK;
  if (e->spec->static_shapes) st = begin_step(e, "graph", err);
  if (st == ASSAY_OK && e->spec->static_shapes) {
    st = graph_of_case(e, i, inputs->b, inputs->n, &model, err);
  }
  if (st == ASSAY_OK) st = make_arrays(e, i, inputs, &arrays, &margins, err);
  if (st == ASSAY_OK) st = write_arrays(e, one, &arrays, &file, err);
  if (st == ASSAY_OK)
    st = bundle_manifest_set_case(&e->manifest, i, one, inputs, &margins, &file, &model, err);
  assay_free(file.file);
  assay_free(model.file);
  assay_tensor_map_reset(&arrays);
  return st;
}

static assay_status export_case(exporter *e, size_t i, assay_error *err) {
  bundle_inputs inputs = {0};
  assay_status st = bundle_inputs_init(e->spec, &e->cases, i, &e->pool, &inputs, err);
  if (st == ASSAY_OK) st = export_case_of(e, i, &inputs, err);
  bundle_inputs_reset(&inputs);
  if (st) assay_error_in(err, "case '%s'", e->cases.items[i].name);
  return st;
}

/* Files and events are read once before anything is made, so that a bad one is told at once. */
static assay_status check_case_files(const exporter *e, assay_error *err) {
  for (size_t i = 0; i < e->cases.n; i++) {
    bundle_inputs inputs = {0};
    if (e->cases.items[i].path == NULL && e->cases.items[i].events == NULL) continue;
    ASSAY_TRY(bundle_inputs_init(e->spec, &e->cases, i, /*pool=*/NULL, &inputs, err));
    bundle_inputs_reset(&inputs);
  }
  return ASSAY_OK;
}

/* --- the whole
 * --------------------------------------------------------------------------------------- */

/* "" or "-attention24-nonpad-f16": what differs from the defaults. */
static void form_suffix(const assay_mlpf_plan_config *plan, char *out, size_t out_bytes) {
  const bool fused = plan->attention != ASSAY_MLPF_DECOMPOSED;
  const bool is_standard = plan->attention == ASSAY_MLPF_ATTENTION24;
  const bool other_mask =
      plan->mask != (is_standard ? ASSAY_MLPF_MASK_BOOL : ASSAY_MLPF_MASK_FLOAT);
  snprintf(out, out_bytes, "%s%s%s%s%s", fused ? "-" : "",
           fused ? assay_mlpf_attention_form_name(plan->attention) : "", other_mask ? "-" : "",
           other_mask ? assay_mlpf_mask_form_name(plan->mask) : "",
           assay_mlpf_plan_config_is_f32(plan) ? "" : "-f16");
}

static assay_status choose_name(exporter *e, assay_error *err) {
  const assay_mlpf_config *config = &e->spec->config;
  char *out = e->result.name;
  const size_t size = sizeof e->result.name;
  if (e->spec->name != NULL) {
    if (!assay_fields_is_name(e->spec->name) || strlen(e->spec->name) > NAME_BYTES_MAX)
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "name '%s' is unusable; expected 1 to %d letters, digits, '.', '_', '-', "
                        "'+' or '@'",
                        e->spec->name, NAME_BYTES_MAX);
    snprintf(out, size, "%s", e->spec->name);
    return ASSAY_OK;
  }
  const bool named = config->dataset[0] != '\0' && assay_fields_is_name(config->dataset);
  const char *given = e->spec->weights_name;
  char dataset[64], origin[80] = "";
  snprintf(dataset, sizeof dataset, "f%lld", (long long)config->input_dim);
  if (e->spec->weights == NULL)
    snprintf(origin, sizeof origin, "-s%llu", (unsigned long long)e->spec->seed);
  else if (given != NULL && assay_fields_is_name(given))
    snprintf(origin, sizeof origin, "-%.32s", given);
  char form[48] = "";
  form_suffix(e->spec->plan, form, sizeof form);
  snprintf(out, size, "%s-%.40s%s%s%s%s", assay_mlpf_arch_name(config->arch),
           named ? config->dataset : dataset, origin, form, e->spec->static_shapes ? "-static" : "",
           e->spec->permutations ? "-permutations" : "");
  return ASSAY_OK;
}

static bool is_f16(const assay_export_spec *spec) {
  return !assay_mlpf_plan_config_is_f32(spec->plan);
}

/* A plan that contradicts itself, or would change nothing in this model. */
static assay_status check_plan(const assay_export_spec *spec, assay_error *err) {
  const assay_mlpf_config *c = &spec->config;
  const assay_mlpf_plan_config *plan = spec->plan;
  ASSAY_TRY(assay_mlpf_plan_config_check(plan, err));
  if (plan->attention != ASSAY_MLPF_DECOMPOSED && assay_mlpf_config_attention_ops(c) == 0)
    return assay_fail(
        err, ASSAY_E_ARGUMENT, "attention %s has no effect: this model has no attention%s",
        assay_mlpf_attention_form_name(plan->attention),
        c->arch == ASSAY_MLPF_HEPTV2 ? " but in buckets, which stays decomposed" : "");
  if (plan->mask == ASSAY_MLPF_MASK_NONPAD && !c->task_queries &&
      c->key_mask == ASSAY_MLPF_KEY_MASK_UPSTREAM)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "mask form nonpad has no effect: with key mask upstream and without readouts "
                      "no attention is masked");
  if (is_f16(spec) && c->num_convs == 0 && !c->task_queries)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "float16 has no effect: without layers and readouts there are only encoder "
                      "and heads, which stay float32");
  return ASSAY_OK;
}

static assay_status check_tolerances(const assay_export_spec *spec, assay_error *err) {
  for (size_t i = 0; i < spec->n_tolerances; i++) {
    const assay_export_tolerance *t = &spec->tolerances[i];
    if (!(t->value >= 0.0 && t->value <= 1e30))
      return assay_fail(err, ASSAY_E_ARGUMENT, "a tolerance is %g; expected 0 or more", t->value);
    bool known = t->head == NULL;
    for (size_t h = 0; h < BUNDLE_N_HEADS; h++)
      known = known || (strcmp(t->head, BUNDLE_HEADS[h]) == 0 && strcmp(t->head, "pu") != 0);
    if (!known)
      return assay_fail(
          err, ASSAY_E_ARGUMENT,
          "a tolerance for head '%s' has no effect; heads with tolerances are bid, id "
          "and momentum (pu is constant and compared exactly)",
          t->head);
  }
  return ASSAY_OK;
}

static assay_status plan(exporter *e, assay_error *err) {
  const assay_export_spec *spec = e->spec;
  if (spec->permutations && (spec->config.arch != ASSAY_MLPF_HEPTV2 || spec->config.num_convs == 0))
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "permutations are asked for, but only HEPTv2 layers have any");
  ASSAY_TRY(check_tolerances(spec, err));
  ASSAY_TRY(check_plan(spec, err));
  ASSAY_TRY(choose_name(e, err));
  ASSAY_TRY(bundle_cases_init(spec, &e->cases, err));
  if (spec->pool != NULL && !e->cases.need_pool)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "a pool is given, but no sweep or batch case would take rows from it");
  e->times = assay_alloc_array(e->cases.n, sizeof *e->times);
  if (e->times == NULL) return assay_fail_memory(err, e->cases.n * sizeof *e->times);
  e->total = 2 + (size_t)((spec->static_shapes ? 3 : 2) + has_half(e)) * e->cases.n;
  ASSAY_TRY(check_case_files(e, err));
  return e->cases.need_pool ? bundle_pool_init(spec, &e->pool, err) : ASSAY_OK;
}

/* What a training's loader does to events, and whether it was done. */
static assay_status add_event_notes(exporter *e, assay_error *err) {
  const assay_mlpf_config *config = &e->spec->config;
  char text[512];
  ASSAY_TRY(bundle_manifest_add_note(&e->manifest,
                                     "events: features as stored, neither normalised nor clipped "
                                     "(nor does the training's loader); "
                                     "no row is cut or repeated; labels are not read",
                                     err));
  if (config->sort_data)
    ASSAY_TRY(bundle_manifest_add_note(
        &e->manifest,
        "events: sorted by falling pt, as the configuration's sort_data says; the loader leaves "
        "open in which order equal pt stand, here the later row comes first",
        err));
  if (e->counts.n_removed > 0)
    ASSAY_TRY(bundle_manifest_add_note(&e->manifest,
                                       "events: rows of element type 0 were removed; the "
                                       "training's loader keeps them, masked",
                                       err));
  if (e->counts.n_added_columns > 0)
    ASSAY_TRY(bundle_manifest_add_note(&e->manifest,
                                       "events: columns of zeroes were appended up to the "
                                       "configured input_dim, as by the training's loader",
                                       err));
  if (e->counts.n_without_pt == 0) return ASSAY_OK;
  snprintf(text, sizeof text,
           "not done, though the training's loader does it: pt of elements of type 10 from energy "
           "and eta (%lld rows over all cases keep the pt that is stored, usually 0)",
           (long long)e->counts.n_without_pt);
  return bundle_manifest_add_note(&e->manifest, text, err);
}

/* Trained weights whose outputs at valid elements depend on the padding, as they were trained. */
static bool masks_what_training_does_not(const assay_export_spec *spec) {
  const assay_mlpf_config *c = &spec->config;
  return spec->weights != NULL && c->arch == ASSAY_MLPF_ATTENTION && !c->jagged_attention &&
         c->key_mask == ASSAY_MLPF_KEY_MASK_ALL && c->num_convs > 0;
}

/* How attention is told which keys to admit, why so, and what becomes of a row of which every key
 * is masked. */
static const char *mask_note(const assay_mlpf_plan_config *plan) {
  static const char *const FLOAT24 =
      "mask form float: 0 or -10000 is added to the scores, [B,1,N,N] in layers since kernels read "
      "smaller masks out of bounds; for runtimes that take no boolean mask; where every key is "
      "masked (an empty event) the weights are equal, and the outputs there are zeroes anyway";
  static const char *const BOOL24 =
      "mask form bool: the default of attention24, since no constant can overflow; [B,1,N,N] in "
      "layers since kernels read smaller masks out of bounds; CUDA's flash kernel takes no mask, "
      "its memory-efficient one takes it where N is a multiple of 4; padded queries see every key, "
      "so that only the readouts of an empty event have a row with every key masked: zero, a mean "
      "or NaN by the runtime's version, at positions whose outputs are zeroes anyway";
  static const char *const NONPAD24 =
      "mask form nonpad: the number of valid elements instead of a mask, which CUDA's flash kernel "
      "takes; right only where the valid elements come first, so that cases with holes are "
      "refused; "
      "with a count of 0 (an empty event) a row is zero, a mean or NaN by the runtime's version, "
      "at "
      "positions whose outputs are zeroes anyway";
  static const char *const MHA =
      "mask form float: attention_bias of 0 or -10000, [B,1,N,N] in layers since kernels demand "
      "every pair; the only form that mha has here (key_padding_mask is refused by some "
      "providers); "
      "where every key is masked (an empty event) the weights are equal, and the outputs there are "
      "zeroes anyway";
  if (plan->attention == ASSAY_MLPF_DECOMPOSED) return NULL; /* [B,1,1,N], in plain sight */
  if (plan->attention == ASSAY_MLPF_MHA) return MHA;
  return plan->mask == ASSAY_MLPF_MASK_BOOL    ? BOOL24
         : plan->mask == ASSAY_MLPF_MASK_FLOAT ? FLOAT24
                                               : NONPAD24;
}

static assay_status add_plan_notes(exporter *e, assay_error *err) {
  const assay_mlpf_config *c = &e->spec->config;
  const char *mask = mask_note(e->spec->plan);
  if (is_f16(e->spec))
    ASSAY_TRY(bundle_manifest_add_note(
        &e->manifest,
        "float16: as the plan says, attention from its projections to its output projection; all "
        "else is float32, and so are softmax and HEPTv2's norms of queries and keys inside; "
        "weights are rounded to nearest even; the references are those of the float32 and float64 "
        "model",
        err));
  if (mask != NULL && (c->task_queries || c->key_mask == ASSAY_MLPF_KEY_MASK_ALL))
    ASSAY_TRY(bundle_manifest_add_note(&e->manifest, mask, err));
  return ASSAY_OK;
}

static assay_status add_notes(exporter *e, assay_error *err) {
  char text[512];
  ASSAY_TRY(add_plan_notes(e, err));
  if (e->spec->permutations)
    ASSAY_TRY(bundle_manifest_add_note(&e->manifest,
                                       "instrumented: the graph also gives HEPTv2's hash "
                                       "permutations (perm_…), which the graph to "
                                       "be shipped does not",
                                       err));
  if (e->cases.need_pool) {
    snprintf(text, sizeof text, "rows of sweep and batch cases: %s; SHA-256 of the rows %s",
             e->pool.source, e->pool.sha256);
    ASSAY_TRY(bundle_manifest_add_note(&e->manifest, text, err));
  }
  if (e->cases.datasets.n > 0) ASSAY_TRY(add_event_notes(e, err));
  if (masks_what_training_does_not(e->spec))
    ASSAY_TRY(bundle_manifest_add_note(&e->manifest,
                                       "key mask: the training's dense attention lets elements "
                                       "attend to padding in the backbone, this export does not; "
                                       "key mask 'upstream' does as the training's",
                                       err));
  if (e->brought && e->spec->config.arch == ASSAY_MLPF_HEPTV2)
    ASSAY_TRY(bundle_manifest_add_note(&e->manifest,
                                       "brought references: PyTorch's argsort on the CPU is not "
                                       "stable, so on repeated coordinates "
                                       "or tied hash keys arrays from it differ from the stable "
                                       "order that graph and evaluator take "
                                       "(see each case's margins)",
                                       err));
  return ASSAY_OK;
}

static assay_status build(exporter *e, const char *path, assay_error *err) {
  ASSAY_TRY(make_folder(e, path, err));
  ASSAY_TRY(bundle_manifest_init(e->spec, &e->result, e->cases.n, &e->manifest, err));
  if (!e->spec->static_shapes) {
    ASSAY_TRY(begin_step(e, "graph", err));
    ASSAY_TRY(write_graph(e, "model.onnx", /*b=*/0, /*n=*/0, &e->manifest.model, err));
  }
  for (size_t i = 0; i < e->cases.n; i++) ASSAY_TRY(export_case(e, i, err));
  if (e->spec->static_shapes)
    ASSAY_TRY(copy_file_entry(&e->manifest.cases[0].model, &e->manifest.model, err));
  ASSAY_TRY(describe_graph(e, err));
  memcpy(e->result.model_sha256, e->manifest.model.sha256, sizeof e->result.model_sha256);
  e->result.n_cases = e->cases.n;
  ASSAY_TRY(add_notes(e, err));
  ASSAY_TRY(bundle_manifest_set_reference(e->spec, e->times, &e->manifest, err));
  ASSAY_TRY(assay_manifest_write(&e->manifest, e->place.folder, err));
  ASSAY_TRY(sync_all(e, err));
  return bundle_place_finish(&e->place, err);
}

static void release(exporter *e) {
  bundle_place_reset(&e->place);
  assay_manifest_reset(&e->manifest);
  bundle_cases_reset(&e->cases);
  assay_feature_pool_reset(&e->pool);
  assay_tensor_map_reset(&e->seeded);
  assay_free(e->times);
}

/* path without slashes at its end, so that the temporary folder stands beside it. */
static char *trimmed(const char *path) {
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  return assay_strndup(path, n);
}

assay_status assay_bundle_export(const assay_export_spec *spec, const char *path,
                                 assay_export_result *out, assay_error *err) {
  assay_mlpf_plan_config usual;
  assay_export_spec full = *spec;
  exporter e = {.spec = &full};
  ASSAY_TRY(assay_mlpf_plan_config_init(ASSAY_DTYPE_F32, ASSAY_MLPF_DECOMPOSED, &usual, err));
  if (full.plan == NULL) full.plan = &usual;
  const int64_t start_ns = assay_clock_raw_ns();
  char *place = trimmed(path);
  if (place == NULL) return assay_fail_memory(err, strlen(path));
  assay_status st = place[0] == '\0'
                        ? assay_fail(err, ASSAY_E_ARGUMENT, "the bundle's folder has no name")
                        : bundle_place_check(place, spec->force, err);
  if (st == ASSAY_OK) st = plan(&e, err);
  if (st == ASSAY_OK) st = begin_step(&e, "weights", err);
  if (st == ASSAY_OK) st = make_weights(&e, err);
  if (st == ASSAY_OK) {
    st = build(&e, place, err);
    if (st == ASSAY_E_IO || st == ASSAY_E_DISK) assay_error_in(err, "bundle '%s'", place);
  }
  e.result.elapsed_ns = assay_clock_raw_ns() - start_ns;
  if (st == ASSAY_OK && out != NULL) *out = e.result;
  release(&e);
  assay_free(place);
  return st;
}
