/* Reads a run's evidence and holds its result against it: raw figures by the files of this room
 * that derive them, facts against what the worker wrote down, keys against the contents that they
 * stand for. */
#include "verify/verify_run.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "package/npz.h"
#include "verify/verify_compiles.h"
#include "verify/verify_kernels.h"
#include "verify/verify_memory.h"
#include "verify/verify_model.h"
#include "verify/verify_processes.h"

#define FACTS_MAX_BYTES ((size_t)16 << 20)

/* A run being checked. */
typedef struct checking {
  const assay_verify_scene *scene;
  assay_verify_run *run;
  assay_verify_place at; /* result.json */
  char *folder;          /* of the run, with the package's path */
  assay_json *facts;     /* worker.json, or NULL */
} checking;

size_t assay_verify_run_bundle(const assay_package *package, const char *name) {
  size_t b = 0;
  while (b < package->n_bundles && strcmp(package->bundles[b].name, name) != 0) b++;
  return b;
}

const assay_package_runtime *assay_verify_run_runtime(const assay_package *package,
                                                      const char *name) {
  for (size_t i = 0; i < package->n_runtimes; i++)
    if (strcmp(package->runtimes[i].name, name) == 0) return &package->runtimes[i];
  return NULL;
}

assay_status assay_verify_run_digest(const char *text, size_t n, char out[65], assay_error *err) {
  return assay_sha256_bytes(text, n, out, err);
}

assay_status assay_verify_run_arrays(const assay_verify_scene *scene, size_t bundle,
                                     const assay_manifest_case *one, assay_tensor_map *out,
                                     assay_error *err) {
  char *path =
      assay_format("%s/%s/%s", scene->path, scene->package->bundles[bundle].folder, one->file.file);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_npz_read(path, /*limits=*/NULL, out, err);
  assay_free(path);
  return st;
}

/* A piece of evidence that cannot be read is a problem of the run's; lack of memory is ours. */
static assay_status unreadable(checking *c, const char *what, assay_status st,
                               const assay_error *why, assay_error *err) {
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why->text);
  assay_verify_holds(&c->at, what, false, "readable evidence", why->text);
  return ASSAY_OK;
}

/* --- files ---------------------------------------------------------------------------------------
 */

/* The listed digest of a file in the package; "" when it is not listed. */
static const char *sum_of(const assay_verify_scene *scene, const char *folder, const char *file) {
  char *name = assay_path_join(folder, file);
  const assay_tree_entry *entry = name != NULL ? assay_tree_find(scene->sums, name) : NULL;
  assay_free(name);
  return entry != NULL ? entry->sha256 : "";
}

/* Its listed size; -1 when it is not listed. */
static int64_t size_of(const assay_verify_scene *scene, const char *folder, const char *file) {
  char *name = assay_path_join(folder, file);
  const assay_tree_entry *entry = name != NULL ? assay_tree_find(scene->sums, name) : NULL;
  assay_free(name);
  return entry != NULL ? (int64_t)entry->size_bytes : -1;
}

/* --- numbers -------------------------------------------------------------------------------------
 */

static assay_status derive_numbers(checking *c, assay_error *err) {
  assay_verify_run *run = c->run;
  assay_tensor_map arrays = {0}, outputs = {0};
  assay_error why = {0};
  size_t bundle = assay_verify_run_bundle(c->scene->package, run->planned->bundle);
  if (run->manifest_case == NULL) return ASSAY_OK; /* said elsewhere */
  char *path = assay_path_join(c->folder, "outputs.npz");
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_verify_run_arrays(c->scene, bundle, run->manifest_case, &arrays, &why);
  if (st == ASSAY_OK) st = assay_npz_read(path, /*limits=*/NULL, &outputs, &why);
  if (st) {
    st = unreadable(c, "comparisons", st, &why, err);
  } else {
    st = assay_verify_numbers_derive(c->scene->package, run->manifest, &arrays, &outputs,
                                     &run->numbers, err);
    run->has_numbers = st == ASSAY_OK && !run->numbers.failed;
    if (st == ASSAY_OK) assay_verify_numbers_check(&c->at, &run->found, &run->numbers);
  }
  assay_tensor_map_reset(&arrays);
  assay_tensor_map_reset(&outputs);
  assay_free(path);
  return st;
}

/* --- timing --------------------------------------------------------------------------------------
 */

/* Whether they are what the statistics need: the right number of times above zero. */
static bool are_samples(const assay_tensor *samples, int64_t n) {
  bool right =
      samples->dtype == ASSAY_DTYPE_I64 && samples->rank == 1 && samples->dims[0] == n && n >= 1;
  for (int64_t i = 0; right && i < n; i++) right = assay_tensor_i64(samples)[i] > 0;
  return right;
}

static assay_status derive_timing(checking *c, assay_error *err) {
  assay_verify_run *run = c->run;
  assay_tensor samples = {0};
  assay_error why = {0};
  char *path = assay_path_join(c->folder, "samples.npy");
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_npy_read(path, /*limits=*/NULL, &samples, &why);
  int64_t n = c->scene->package->iterations;
  if (st) {
    st = unreadable(c, "timing", st, &why, err);
  } else if (!are_samples(&samples, n)) {
    char expected[64];
    snprintf(expected, sizeof expected, "%lld times above zero", (long long)n);
    assay_verify_holds(&c->at, "timing", false, expected, "other samples");
  } else {
    st = assay_verify_timing_derive(assay_tensor_i64(&samples), (size_t)n, &run->stats, err);
    run->has_stats = st == ASSAY_OK;
    if (st == ASSAY_OK) assay_verify_timing_check(&c->at, &run->found.timing.stats, &run->stats);
  }
  assay_tensor_reset(&samples);
  assay_free(path);
  return st;
}

/* --- placement -----------------------------------------------------------------------------------
 */

static assay_status read_policy(const checking *c, assay_verify_policy *out, assay_error *err) {
  const assay_package *package = c->scene->package;
  const assay_package_runtime *runtime =
      assay_verify_run_runtime(package, c->run->planned->runtime);
  const assay_json *policy = assay_json_get(runtime->spec, "placement_policy");
  const assay_json *ops = assay_json_get(policy, "allowed_cpu_ops");
  const assay_json *copies = assay_json_get(policy, "max_copies");
  const char *provider = assay_json_string(assay_json_get(runtime->spec, "provider"));
  out->provider = provider != NULL ? provider : "";
  out->n_runs = package->placement_runs;
  out->max_copies = assay_json_kind_of(copies) == ASSAY_JSON_INT ? assay_json_int(copies) : -1;
  size_t n = assay_json_len(ops);
  out->allowed_cpu_ops = assay_alloc_array(n, sizeof *out->allowed_cpu_ops);
  if (out->allowed_cpu_ops == NULL) return assay_fail_memory(err, n);
  for (size_t i = 0; i < n; i++) {
    const char *op = assay_json_string(assay_json_at(ops, i));
    out->allowed_cpu_ops[i] = assay_strdup(op != NULL ? op : "");
    if (out->allowed_cpu_ops[i] == NULL) return assay_fail_memory(err, n);
    out->n_allowed_cpu_ops++;
  }
  return ASSAY_OK;
}

/* The graph that was executed: its bundle's, or one that was made for the run. */
static char *model_path_of(const checking *c) {
  const assay_verify_run *run = c->run;
  const char *sha256 = assay_result_executed(&run->found);
  size_t bundle = assay_verify_run_bundle(c->scene->package, run->planned->bundle);
  const char *folder =
      bundle < c->scene->package->n_bundles ? c->scene->package->bundles[bundle].folder : "";
  const assay_manifest_file *file = NULL;
  if (run->manifest != NULL) file = &run->manifest->model;
  if (run->manifest_case != NULL && run->manifest_case->model.file != NULL)
    file = &run->manifest_case->model;
  if (file != NULL && strcmp(file->sha256, sha256) == 0)
    return assay_format("%s/%s/%s", c->scene->path, folder, file->file);
  return assay_format("%s/graphs/%s.onnx", c->scene->path, sha256);
}

/* A file that is not there is no evidence: the derivation says what it lacks. */
static assay_status map_file(const char *path, assay_file_map *out, assay_error *err) {
  if (path == NULL) return assay_fail_memory(err, 256);
  if (assay_file_map_open(path, out, NULL)) *out = (assay_file_map){0};
  return ASSAY_OK;
}

typedef struct placement_files {
  assay_file_map profile, log, assignment, model;
} placement_files;

static assay_status open_placement(const checking *c, placement_files *out, assay_error *err) {
  const struct {
    char *path;
    assay_file_map *map;
  } files[] = {{assay_path_join(c->folder, "profile.json"), &out->profile},
               {assay_path_join(c->folder, "log.txt"), &out->log},
               {assay_path_join(c->folder, "assignment.txt"), &out->assignment},
               {model_path_of(c), &out->model}};
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < N_OF(files); i++) {
    if (st == ASSAY_OK) st = map_file(files[i].path, files[i].map, err);
    assay_free(files[i].path);
  }
  return st;
}

static assay_verify_source bytes_of(const assay_file_map *map) {
  return (assay_verify_source){map->data, map->size_bytes};
}

static assay_status derive_coverage(checking *c, const assay_verify_policy *policy,
                                    const placement_files *files, assay_error *err) {
  assay_result_coverage *out = &c->run->coverage;
  const assay_verify_coverage_sources sources = {.provider = policy->provider,
                                                 .model = bytes_of(&files->model),
                                                 .profile = bytes_of(&files->profile),
                                                 .log = bytes_of(&files->log),
                                                 .assignment = bytes_of(&files->assignment)};
  if (c->run->placement.figures.verdict == ASSAY_VERDICT_UNKNOWN) {
    out->judged = true;
    snprintf(out->reason, sizeof out->reason, "the placement is unknown");
  } else {
    ASSAY_TRY(assay_verify_coverage_derive(&sources, out, err));
  }
  assay_verify_coverage_check(&c->at, &c->run->found.coverage, out);
  return ASSAY_OK;
}

/* A placement that passes is none where the provider compiled in a warm call. */
static void check_placed(const checking *c) {
  assay_verdict verdict = c->run->placement.figures.verdict;
  if (verdict == ASSAY_VERDICT_PASS && c->run->compiles.later > 0) verdict = ASSAY_VERDICT_FAIL;
  assay_verify_text(&c->at, "verdicts.placement", assay_verdict_name(c->run->found.placed),
                    assay_verdict_name(verdict));
}

static assay_status derive_from(checking *c, const placement_files *files, assay_error *err) {
  assay_verify_run *run = c->run;
  assay_verify_policy policy = {0};
  assay_status st = read_policy(c, &policy, err);
  if (st == ASSAY_OK)
    st =
        assay_verify_placement_derive(&policy, files->profile.data, files->profile.size_bytes,
                                      files->log.data, files->log.size_bytes, &run->placement, err);
  run->has_placement = st == ASSAY_OK;
  if (st == ASSAY_OK) {
    assay_verify_placement_check(&c->at, &run->found, &policy, &run->placement);
    check_placed(c);
    st = derive_coverage(c, &policy, files, err);
  }
  for (size_t i = 0; i < policy.n_allowed_cpu_ops; i++) assay_free(policy.allowed_cpu_ops[i]);
  assay_free(policy.allowed_cpu_ops);
  return st;
}

static assay_status derive_placement(checking *c, assay_error *err) {
  placement_files files = {0};
  if (assay_verify_run_runtime(c->scene->package, c->run->planned->runtime) == NULL)
    return ASSAY_OK;
  assay_status st = open_placement(c, &files, err);
  if (st == ASSAY_OK) st = derive_from(c, &files, err);
  assay_file_map_close(&files.profile);
  assay_file_map_close(&files.log);
  assay_file_map_close(&files.assignment);
  assay_file_map_close(&files.model);
  return st;
}

/* --- facts ---------------------------------------------------------------------------------------
 */

static const char *fact(const checking *c, const char *key) {
  const char *text = assay_json_string(assay_json_get(c->facts, key));
  return text != NULL ? text : "";
}

static assay_status read_facts(checking *c, assay_error *err) {
  assay_error why = {0};
  char *path = assay_path_join(c->folder, "worker.json");
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = ASSAY_OK;
  if (assay_path_kind_of(path) == ASSAY_PATH_FILE)
    st = assay_json_read(path, FACTS_MAX_BYTES, &c->facts, &why);
  assay_free(path);
  if (st && c->run->found.status == ASSAY_RESULT_DONE)
    return unreadable(c, "worker.json", st, &why, err);
  return st == ASSAY_E_MEMORY ? assay_fail(err, st, "%s", why.text) : ASSAY_OK;
}

/* A result that says "done" is the result of a process that ended well and said so. */
static void check_end(const checking *c) {
  const assay_result *found = &c->run->found;
  const assay_result_process *p = &found->process;
  bool ended_well = p->known && p->exited && p->exit_code == 0 && p->signal == 0 && !p->timed_out &&
                    !p->left_children;
  bool finished = assay_json_bool(assay_json_get(c->facts, "finished"));
  if (found->status == ASSAY_RESULT_DONE) {
    assay_verify_holds(&c->at, "status", ended_well, "another status, by how the process ended",
                       "done");
    assay_verify_holds(&c->at, "status", finished, "another status, by what the worker said",
                       "done");
    assay_verify_text(&c->at, "reason", found->reason, "");
    assay_verify_text(&c->at, "stage", assay_result_stage_name(found->stage), "");
  } else if (c->facts != NULL && !finished && ended_well) {
    assay_verify_text(&c->at, "reason", found->reason, fact(c, "reason"));
  }
  assay_verify_text(&c->at, "verdicts.completeness", assay_verdict_name(found->completeness),
                    found->status == ASSAY_RESULT_DONE ? "pass" : "fail");
}

static assay_status check_options(const checking *c, assay_error *err) {
  const assay_result *found = &c->run->found;
  const assay_json *recorded = assay_json_get(c->facts, "options");
  assay_buf ours = {0}, theirs = {0};
  char sha256[65] = "";
  assay_status st = assay_json_dump(found->options, /*indented=*/false, &ours, err);
  if (st == ASSAY_OK) st = assay_json_dump(recorded, /*indented=*/false, &theirs, err);
  if (st == ASSAY_OK) st = assay_sha256_bytes(theirs.data, theirs.size_bytes, sha256, err);
  if (st == ASSAY_OK) {
    bool same = strcmp(assay_buf_text(&ours), assay_buf_text(&theirs)) == 0;
    assay_verify_holds(&c->at, "options", same, "those that the worker recorded", "others");
    assay_verify_text(&c->at, "keys.options_sha256", found->keys.options_sha256, sha256);
    assay_verify_text(&c->at, "keys.options_sha256", found->keys.options_sha256,
                      fact(c, "options_sha256"));
  }
  assay_buf_reset(&ours);
  assay_buf_reset(&theirs);
  return st;
}

/* The digest that the worker took of a library that it had mapped; "" when it had not. */
static const char *mapped(const checking *c, const char *path) {
  const assay_json *list = assay_json_get(c->facts, "libraries");
  for (size_t i = 0; i < assay_json_len(list); i++) {
    const assay_json *one = assay_json_at(list, i);
    const char *name = assay_json_string(assay_json_get(one, "path"));
    if (name != NULL && strcmp(name, path) == 0)
      return assay_json_string(assay_json_get(one, "sha256"));
  }
  return "";
}

/* The plug-in that the runtime names is the one that was mapped. */
static void check_plugin(const checking *c) {
  const assay_package_runtime *runtime =
      assay_verify_run_runtime(c->scene->package, c->run->planned->runtime);
  const assay_json *spec = runtime != NULL ? runtime->spec : NULL;
  const char *plugin = assay_json_string(assay_json_get(spec, "plugin"));
  if (plugin == NULL) return;
  assay_verify_place at = {.findings = c->at.findings, .file = "package.json"};
  snprintf(at.within, sizeof at.within, "runtimes['%.128s'].", runtime->name);
  assay_verify_text(&at, "spec.plugin_sha256",
                    assay_json_string(assay_json_get(spec, "plugin_sha256")), mapped(c, plugin));
}

/* A runtime of static shapes ran with the sizes of its own case, and of no other. Symbols that are
 * no axis of the case's have their sizes from its arrays, and are left to the options' digest. */
static void check_static(const checking *c) {
  const assay_package_runtime *runtime =
      assay_verify_run_runtime(c->scene->package, c->run->planned->runtime);
  const assay_manifest_case *one = c->run->manifest_case;
  const assay_manifest *manifest = c->run->manifest;
  if (runtime == NULL || one == NULL || !assay_json_bool(assay_json_get(runtime->spec, "static")))
    return;
  const assay_json *dims = assay_json_get(c->run->found.options, "free_dims");
  for (size_t i = 0; i < manifest->n_inputs; i++)
    for (int k = 0; k < manifest->inputs[i].rank; k++) {
      const char *symbol = manifest->inputs[i].dims[k].symbol;
      int64_t size = strcmp(symbol, "B") == 0 ? one->b : strcmp(symbol, "N") == 0 ? one->n : 0;
      char what[96], expected[32];
      const char *found = assay_json_string(assay_json_get(dims, symbol));
      if (symbol[0] == '\0') continue;
      snprintf(what, sizeof what, "options.free_dims.%.60s", symbol);
      snprintf(expected, sizeof expected, "%lld", (long long)size);
      if (size > 0)
        assay_verify_text(&c->at, what, found, expected);
      else
        assay_verify_holds(&c->at, what, found != NULL, "a size", "none");
    }
}

/* What was in the folders that the runtime names for its provider's programs is the worker's word;
 * those of a fresh start were empty. */
static void check_caches(const checking *c) {
  const assay_result_caches *found = &c->run->found.caches;
  const assay_json *list = assay_json_get(c->facts, "caches");
  const assay_package_runtime *runtime =
      assay_verify_run_runtime(c->scene->package, c->run->planned->runtime);
  const char *word =
      runtime != NULL ? assay_json_string(assay_json_get(runtime->spec, "caches")) : NULL;
  assay_verify_int(&c->at, "caches (their number)", (int64_t)found->n,
                   (int64_t)assay_json_len(list));
  for (size_t i = 0; i < found->n && i < assay_json_len(list); i++) {
    const assay_result_cache *f = &found->items[i];
    const assay_json *one = assay_json_at(list, i);
    assay_verify_place at = c->at;
    snprintf(at.within, sizeof at.within, "%.200scaches[%zu].", c->at.within, i);
#define SAME(member)                                                                               \
  assay_verify_int(&at, #member, f->member, assay_json_int(assay_json_get(one, #member)))
    assay_verify_text(&at, "name", f->name, assay_json_string(assay_json_get(one, "name")));
    SAME(n_files_before);
    SAME(bytes_before);
    SAME(n_files_after);
    SAME(bytes_after);
#undef SAME
    if (word != NULL && strcmp(word, "fresh") == 0)
      assay_verify_int(&at, "n_files_before", f->n_files_before, 0);
  }
}

/* Whether a graph was to be made for the run: its runtime takes static shapes, and its model has
 * free ones. */
static bool wants_graph(const checking *c) {
  const assay_package_runtime *runtime =
      assay_verify_run_runtime(c->scene->package, c->run->planned->runtime);
  const assay_manifest *manifest = c->run->manifest;
  bool is_free = false;
  for (size_t i = 0; manifest != NULL && i < manifest->n_inputs; i++)
    for (int k = 0; k < manifest->inputs[i].rank; k++)
      is_free |= manifest->inputs[i].dims[k].symbol[0] != '\0';
  return is_free && runtime != NULL && c->run->manifest_case != NULL &&
         c->run->manifest_case->model.file == NULL &&
         assay_json_bool(assay_json_get(runtime->spec, "static"));
}

static char *bundle_model_path(const checking *c) {
  const assay_package *package = c->scene->package;
  size_t bundle = assay_verify_run_bundle(package, c->run->planned->bundle);
  return assay_format("%s/%s/%s", c->scene->path,
                      bundle < package->n_bundles ? package->bundles[bundle].folder : "",
                      c->run->manifest->model.file);
}

/* A graph that was made of the model has no node that the model has not. */
static assay_status check_graph_nodes(const checking *c, assay_error *err) {
  assay_file_map model = {0}, graph = {0};
  char *model_path = bundle_model_path(c), *graph_path = model_path_of(c);
  int64_t n_removed = -1;
  assay_status st = map_file(model_path, &model, err);
  if (st == ASSAY_OK) st = map_file(graph_path, &graph, err);
  if (st == ASSAY_OK)
    st = assay_verify_model_removed(model.data, model.size_bytes, graph.data, graph.size_bytes,
                                    &n_removed, err);
  assay_file_map_close(&model);
  assay_file_map_close(&graph);
  assay_free(model_path);
  assay_free(graph_path);
  if (st == ASSAY_E_MEMORY) return st;
  assay_verify_holds(&c->at, "graph", st == ASSAY_OK && n_removed >= 0,
                     "a graph of the model's own nodes", "another");
  if (st == ASSAY_OK && n_removed >= 0)
    assay_verify_int(&c->at, "graph.n_removed", c->run->found.graph.n_removed, n_removed);
  return ASSAY_OK;
}

static assay_status check_graph(const checking *c, assay_error *err) {
  const assay_result_graph *graph = &c->run->found.graph;
  char name[96];
  if (c->run->found.status != ASSAY_RESULT_DONE) return ASSAY_OK;
  assay_verify_bool(&c->at, "graph (it is there)", graph->asked, wants_graph(c));
  if (!graph->asked) return ASSAY_OK;
  assay_verify_holds(&c->at, "graph.reason",
                     (graph->reason[0] == '\0') == (graph->kept && graph->folded),
                     "a reason where it was not kept or not folded", graph->reason);
  if (!graph->kept) {
    assay_verify_int(&c->at, "graph.n_removed", graph->n_removed, 0);
    return ASSAY_OK;
  }
  snprintf(name, sizeof name, "%s.onnx", graph->sha256);
  assay_verify_int(&c->at, "graph.size_bytes", (int64_t)graph->size_bytes,
                   size_of(c->scene, "graphs", name));
  return c->run->manifest != NULL ? check_graph_nodes(c, err) : ASSAY_OK;
}

static void check_int_fact(const checking *c, const char *what, const char *key, int64_t found) {
  assay_verify_int(&c->at, what, found, assay_json_int(assay_json_get(c->facts, key)));
}

static assay_status check_facts(const checking *c, assay_error *err) {
  const assay_result *found = &c->run->found;
  if (c->facts == NULL || found->status != ASSAY_RESULT_DONE) return ASSAY_OK;
  assay_verify_text(&c->at, "library.path", found->library_path, fact(c, "library_path"));
  assay_verify_text(&c->at, "library.version", found->library_version, fact(c, "library_version"));
  assay_verify_text(&c->at, "library.build", found->library_build, fact(c, "library_build"));
  assay_verify_text(&c->at, "provider", found->provider, fact(c, "provider"));
  assay_verify_text(&c->at, "keys.library_sha256", found->keys.library_sha256,
                    mapped(c, fact(c, "library_path")));
  check_plugin(c);
  check_static(c);
  check_caches(c);
  assay_verify_text(&c->at, found->graph.kept ? "graph.sha256" : "keys.model_sha256",
                    assay_result_executed(found), fact(c, "model_sha256"));
  if (found->mode == ASSAY_RESULT_TIMING) {
    const assay_result_timing *t = &found->timing;
    check_int_fact(c, "timing.session_create_ns", "session_create_ns", t->session_create_ns);
    check_int_fact(c, "timing.first_run_ns", "first_run_ns", t->first_run_ns);
    check_int_fact(c, "timing.warmup", "warmup", t->warmup);
    check_int_fact(c, "timing.iterations", "iterations", t->iterations);
    assay_verify_bool(&c->at, "timing.outputs_identical", t->outputs_identical,
                      assay_json_bool(assay_json_get(c->facts, "outputs_identical")));
  }
  return check_options(c, err);
}

/* --- keys ----------------------------------------------------------------------------------------
 */

static assay_status external_digest(const checking *c, char out[65], assay_error *err) {
  const assay_manifest *manifest = c->run->manifest;
  assay_buf lines = {0};
  assay_status st = ASSAY_OK;
  out[0] = '\0';
  if (manifest->n_external == 0) return ASSAY_OK;
  for (size_t i = 0; i < manifest->n_external && st == ASSAY_OK; i++)
    st = assay_buf_appendf(&lines, err, "%s  %s\n", manifest->external[i].sha256,
                           manifest->external[i].file);
  if (st == ASSAY_OK) st = assay_sha256_bytes(lines.data, lines.size_bytes, out, err);
  assay_buf_reset(&lines);
  return st;
}

static void put_heads(const checking *c, assay_json_builder *b) {
  const assay_manifest *manifest = c->run->manifest;
  assay_json_begin_array(b, "heads");
  for (size_t i = 0; i < manifest->n_heads; i++) {
    double atol = 0, rtol = 0;
    bool asked = false;
    assay_verify_numbers_tolerance(c->scene->package, &manifest->heads[i], &atol, &rtol, &asked);
    assay_json_begin_object(b, NULL);
    assay_json_put_string(b, "name", manifest->heads[i].name);
    assay_json_put_string(b, "kind", assay_head_kind_name(manifest->heads[i].kind));
    assay_json_put_real(b, "atol", atol);
    assay_json_put_real(b, "rtol", rtol);
    assay_json_put_bool(b, "asked", asked);
    assay_json_end(b);
  }
  assay_json_end(b);
}

/* What the run was asked, as the campaign hashes it. */
static assay_status plan_digest(const checking *c, char out[65], assay_error *err) {
  const assay_package *package = c->scene->package;
  assay_buf text = {0};
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "mode", assay_result_mode_name(c->run->planned->mode));
  if (c->run->planned->mode == ASSAY_RESULT_PLACEMENT) {
    assay_json_put_int(b, "placement_runs", package->placement_runs);
  } else {
    assay_json_put_int(b, "iterations", package->iterations);
    assay_json_put_int(b, "warmup", package->warmup);
    if (package->processes > 1) assay_json_put_int(b, "processes", package->processes);
    assay_json_put_bool(b, "memory", c->run->found.memory.known);
    assay_json_put_string(b, "mask_input", c->run->manifest->mask_input);
    assay_json_put_bool(b, "zero_at_padding", c->run->manifest->architecture != NULL);
    put_heads(c, b);
  }
  assay_json_end(b);
  assay_status st = assay_json_builder_finish(b, &text, err);
  if (st == ASSAY_OK) st = assay_sha256_bytes(text.data, text.size_bytes, out, err);
  assay_json_builder_destroy(b);
  assay_buf_reset(&text);
  return st;
}

static assay_status check_keys(const checking *c, assay_error *err) {
  const assay_verify_scene *scene = c->scene;
  const assay_package *package = scene->package;
  const assay_verify_run *run = c->run;
  const assay_result_keys *keys = &run->found.keys;
  const assay_package_runtime *runtime = assay_verify_run_runtime(package, run->planned->runtime);
  size_t bundle = assay_verify_run_bundle(package, run->planned->bundle);
  char external[65] = "", plan[65] = "";
  if (package->n_sources == 0) {
    assay_verify_text(&c->at, "keys.tool_sha256", keys->tool_sha256, package->tool_sha256);
    assay_verify_text(&c->at, "tool_version", run->found.tool_version, package->tool_version);
  } else {
    assay_verify_holds(
        &c->at, "keys.tool_sha256",
        assay_package_is_of_tool(package, keys->tool_sha256, run->found.tool_version),
        "an assay of one of the packages that were merged", keys->tool_sha256);
  }
  if (runtime != NULL) {
    assay_verify_text(&c->at, "keys.runtime_sha256", keys->runtime_sha256, runtime->sha256);
    assay_verify_text(&c->at, "keys.library_sha256", keys->library_sha256, runtime->library_sha256);
  }
  if (run->manifest_case == NULL) return ASSAY_OK;
  const assay_manifest_file *model =
      run->manifest_case->model.file != NULL ? &run->manifest_case->model : &run->manifest->model;
  const char *folder = package->bundles[bundle].folder;
  assay_verify_text(&c->at, "keys.model_sha256", keys->model_sha256,
                    sum_of(scene, folder, model->file));
  assay_verify_text(&c->at, "keys.case_sha256", keys->case_sha256,
                    sum_of(scene, folder, run->manifest_case->file.file));
  ASSAY_TRY(external_digest(c, external, err));
  assay_verify_text(&c->at, "keys.external_sha256", keys->external_sha256, external);
  ASSAY_TRY(plan_digest(c, plan, err));
  assay_verify_text(&c->at, "keys.plan_sha256", keys->plan_sha256, plan);
  return ASSAY_OK;
}

/* --- files ---------------------------------------------------------------------------------------
 */

/* The files that the result lists are those that the package lists below its folder. */
static void check_files(const checking *c) {
  const char *folder = c->run->planned->folder;
  const assay_result *found = &c->run->found;
  size_t n = strlen(folder), n_listed = 0;
  for (size_t i = 0; i < c->scene->sums->n; i++) {
    const char *file = c->scene->sums->entries[i].file;
    if (strncmp(file, folder, n) != 0 || file[n] != '/') continue;
    n_listed += strcmp(file + n + 1, "result.json") != 0;
  }
  assay_verify_int(&c->at, "files (their number)", (int64_t)found->n_files, (int64_t)n_listed);
  for (size_t i = 0; i < found->n_files; i++) {
    char what[128];
    snprintf(what, sizeof what, "files['%.80s'].sha256", found->files[i].file);
    assay_verify_text(&c->at, what, found->files[i].sha256,
                      sum_of(c->scene, folder, found->files[i].file));
    snprintf(what, sizeof what, "files['%.80s'].size_bytes", found->files[i].file);
    assay_verify_int(&c->at, what, (int64_t)found->files[i].size_bytes,
                     size_of(c->scene, folder, found->files[i].file));
  }
}

/* --- the whole -----------------------------------------------------------------------------------
 */

static void check_identity(const checking *c) {
  const assay_package_run *planned = c->run->planned;
  const assay_result *found = &c->run->found;
  assay_verify_text(&c->at, "runtime", found->runtime, planned->runtime);
  assay_verify_text(&c->at, "bundle", found->bundle, planned->bundle);
  assay_verify_text(&c->at, "case", found->case_name, planned->case_name);
  assay_verify_text(&c->at, "mode", assay_result_mode_name(found->mode),
                    assay_result_mode_name(planned->mode));
  if (found->machine != NULL)
    assay_verify_holds(&c->at, "machine", assay_tree_find(c->scene->sums, found->machine) != NULL,
                       "a file of the package", found->machine);
}

/* As derived; nothing of a run that is not done. */
static assay_status derive_compiles(checking *c, assay_error *err) {
  const assay_result_compiles *f = &c->run->found.compiles;
  assay_result_compiles *d = &c->run->compiles;
  assay_file_map log = {0};
  const assay_package_runtime *runtime =
      assay_verify_run_runtime(c->scene->package, c->run->planned->runtime);
  const char *provider =
      runtime != NULL ? assay_json_string(assay_json_get(runtime->spec, "provider")) : NULL;
  if (c->run->found.status == ASSAY_RESULT_DONE && provider != NULL) {
    char *path = assay_path_join(c->folder, "log.txt");
    assay_status st = map_file(path, &log, err);
    assay_free(path);
    if (st) return st;
    *d = assay_verify_compiles_derive(provider, c->run->planned->mode, log.data, log.size_bytes);
    assay_file_map_close(&log);
  }
  assay_verify_bool(&c->at, "compiles.known", f->known, d->known);
  assay_verify_int(&c->at, "compiles.session", f->session, d->session);
  assay_verify_int(&c->at, "compiles.first", f->first, d->first);
  assay_verify_int(&c->at, "compiles.later", f->later, d->later);
  return ASSAY_OK;
}

static assay_status derive_figures(checking *c, assay_error *err) {
  const assay_result *found = &c->run->found;
  bool done = found->status == ASSAY_RESULT_DONE;
  if (c->run->planned->mode == ASSAY_RESULT_PLACEMENT) {
    assay_verify_text(&c->at, "verdicts.numbers", assay_verdict_name(found->numbers),
                      "not_applicable");
    assay_verify_text(&c->at, "verdicts.timing", assay_verdict_name(found->timed),
                      "not_applicable");
    if (done) ASSAY_TRY(assay_verify_kernels_check(c->scene, c->run, &c->at, err));
    if (done) return derive_placement(c, err);
    assay_verify_holds(&c->at, "kernels", !found->kernels.known, "none of a run that is not done",
                       found->kernels.verdict);
    assay_verify_bool(&c->at, "coverage.judged", found->coverage.judged, false);
    assay_verify_holds(&c->at, "verdicts.placement", found->placed != ASSAY_VERDICT_PASS,
                       "no pass of a run that is not done", "pass");
    return ASSAY_OK;
  }
  assay_verify_text(&c->at, "verdicts.placement", assay_verdict_name(found->placed),
                    "not_applicable");
  assay_verify_bool(&c->at, "coverage.judged", found->coverage.judged, false);
  if (done || found->timing.known) ASSAY_TRY(derive_timing(c, err));
  if (done) {
    assay_verify_bool(&c->at, "timing.known", found->timing.known, true);
    assay_verify_text(&c->at, "verdicts.timing", assay_verdict_name(found->timed),
                      !c->run->has_stats           ? "unknown"
                      : c->run->compiles.later > 0 ? "fail"
                                                   : "pass");
    return derive_numbers(c, err);
  }
  assay_verify_holds(&c->at, "verdicts.numbers", found->numbers != ASSAY_VERDICT_PASS,
                     "no pass of a run that is not done", "pass");
  return ASSAY_OK;
}

static assay_status check_all(checking *c, assay_error *err) {
  check_identity(c);
  ASSAY_TRY(read_facts(c, err));
  check_end(c);
  ASSAY_TRY(check_facts(c, err));
  ASSAY_TRY(check_graph(c, err));
  ASSAY_TRY(check_keys(c, err));
  check_files(c);
  ASSAY_TRY(assay_verify_memory_check(&c->at, c->folder, &c->run->found, &c->run->memory, err));
  ASSAY_TRY(derive_compiles(c, err));
  ASSAY_TRY(derive_figures(c, err));
  return assay_verify_processes_check(c->scene, c->run, &c->at, c->folder, err);
}

/* False when there is no result to check; that is said then. */
static assay_status read_result(checking *c, const char *file, const char *path, assay_error *err) {
  assay_error why = {0};
  if (assay_path_kind_of(path) == ASSAY_PATH_NONE) {
    assay_verify_add(c->scene->findings, ASSAY_VERIFY_MISSING, file, "",
                     "the result of a planned run", "nothing there");
    return ASSAY_OK;
  }
  assay_status st = assay_result_read(path, &c->run->found, &why);
  c->run->is_there = st == ASSAY_OK;
  return st ? unreadable(c, "", st, &why, err) : ASSAY_OK;
}

static void find_case(const assay_verify_scene *scene, assay_verify_run *run) {
  size_t bundle = assay_verify_run_bundle(scene->package, run->planned->bundle);
  if (bundle == scene->package->n_bundles || !scene->has_manifest[bundle]) return;
  run->manifest = &scene->manifests[bundle];
  for (size_t i = 0; i < run->manifest->n_cases; i++)
    if (strcmp(run->manifest->cases[i].name, run->planned->case_name) == 0)
      run->manifest_case = &run->manifest->cases[i];
}

assay_status assay_verify_run_check(const assay_verify_scene *scene, size_t i,
                                    assay_verify_run *out, assay_error *err) {
  assay_verify_run run = {.planned = &scene->package->runs[i]};
  checking c = {.scene = scene, .run = &run};
  find_case(scene, &run);
  char *file = assay_path_join(run.planned->folder, "result.json");
  char *path = file != NULL ? assay_path_join(scene->path, file) : NULL;
  c.folder = assay_path_join(scene->path, run.planned->folder);
  assay_status st =
      path != NULL && c.folder != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(scene->path));
  if (st == ASSAY_OK) {
    c.at = (assay_verify_place){.findings = scene->findings, .file = file};
    assay_verify_holds(&c.at, "case", run.manifest_case != NULL, "a case of the bundle",
                       run.planned->case_name);
    st = read_result(&c, file, path, err);
  }
  if (st == ASSAY_OK && run.is_there) st = check_all(&c, err);
  assay_json_destroy(c.facts);
  assay_free(c.folder);
  assay_free(path);
  assay_free(file);
  if (st) {
    assay_verify_run_reset(&run);
    return st;
  }
  *out = run;
  return ASSAY_OK;
}

void assay_verify_run_reset(assay_verify_run *run) {
  assay_result_reset(&run->found);
  assay_verify_numbers_reset(&run->numbers);
  assay_verify_placement_reset(&run->placement);
  assay_result_coverage_reset(&run->coverage);
  assay_verify_memory_reset(&run->memory);
  *run = (assay_verify_run){0};
}

bool assay_verify_run_passed(const assay_verify_run *run) {
  if (run == NULL || !run->is_there || run->found.status != ASSAY_RESULT_DONE) return false;
  if (run->compiles.later > 0) return false;
  if (run->planned->mode == ASSAY_RESULT_PLACEMENT)
    return run->has_placement && run->placement.figures.verdict == ASSAY_VERDICT_PASS &&
           assay_result_kernels_passed(&run->found.kernels);
  return run->has_stats && run->has_numbers && run->numbers.verdict == ASSAY_VERDICT_PASS;
}
