/* `assay inspect` of JSON: a package, a configuration of a model, a profile of ONNX Runtime. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cli/inspect.h"
#include "evidence/profile.h"
#include "model/mlpf_params.h"
#include "package/package.h"

#define JSON_MAX_BYTES ((size_t)64 << 20)

/* ---- package ------------------------------------------------------------------------------------
 */

enum { N_STATUSES = ASSAY_RESULT_TIMED_OUT + 1 };

typedef struct package {
  assay_package index;
  size_t n_by_status[N_STATUSES];
  size_t n_failed_verdicts; /* runs with a verdict that is "fail" */
} package;

static assay_status collect_package(const char *path, package *p, assay_error *err) {
  ASSAY_TRY(assay_package_read(path, &p->index, err));
  for (size_t i = 0; i < p->index.n_runs; i++) {
    assay_result result = {0};
    ASSAY_TRY(assay_package_result(&p->index, path, i, &result, err));
    p->n_by_status[result.status]++;
    bool failed = result.numbers == ASSAY_VERDICT_FAIL || result.placed == ASSAY_VERDICT_FAIL;
    p->n_failed_verdicts += failed;
    assay_result_reset(&result);
  }
  return ASSAY_OK;
}

static void put_package(assay_json_builder *json, const package *p) {
  const assay_package *x = &p->index;
  assay_json_put_string(json, "kind", "package");
  assay_json_put_string(json, "tool_version", x->tool_version);
  assay_json_put_string(json, "started_at", x->started_at);
  assay_json_put_string(json, "finished_at", x->finished_at[0] != '\0' ? x->finished_at : NULL);
  assay_json_begin_array(json, "command");
  for (size_t i = 0; i < x->n_command; i++) inspect_put_text(json, NULL, x->command[i]);
  assay_json_end(json);
  assay_json_begin_array(json, "bundles");
  for (size_t i = 0; i < x->n_bundles; i++) assay_json_put_string(json, NULL, x->bundles[i].name);
  assay_json_end(json);
  assay_json_begin_array(json, "runtimes");
  for (size_t i = 0; i < x->n_runtimes; i++) {
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "name", x->runtimes[i].name);
    inspect_put_text(json, "library_path", x->runtimes[i].library_path);
    inspect_put_text(json, "library_version", x->runtimes[i].library_version);
    assay_json_end(json);
  }
  assay_json_end(json);
  assay_json_put_int(json, "n_runs", (int64_t)x->n_runs);
  assay_json_begin_object(json, "runs_by_status");
  for (int i = 0; i < N_STATUSES; i++) {
    assay_json_put_int(json, assay_result_status_name((assay_result_status)i),
                       (int64_t)p->n_by_status[i]);
  }
  assay_json_end(json);
  assay_json_put_int(json, "n_runs_with_failed_verdict", (int64_t)p->n_failed_verdicts);
  assay_json_put_int(json, "n_files", (int64_t)x->files.n);
  assay_json_put_string(json, "tree_sha256", x->tree_sha256[0] != '\0' ? x->tree_sha256 : NULL);
}

static void print_package(const char *path, const package *p) {
  const assay_package *x = &p->index;
  char a[INSPECT_TEXT_BYTES], b[INSPECT_TEXT_BYTES];
  printf("%s: package of a campaign, written by assay %s\n", inspect_safe(path, a),
         x->tool_version);
  inspect_line("time", "%s to %s", x->started_at,
               x->finished_at[0] ? x->finished_at : "(not finished)");
  for (size_t i = 0; i < x->n_bundles; i++) {
    inspect_line(i == 0 ? "bundles" : "", "%s", inspect_safe(x->bundles[i].name, a));
  }
  for (size_t i = 0; i < x->n_runtimes; i++) {
    inspect_line(i == 0 ? "runtimes" : "", "%s %s", inspect_safe(x->runtimes[i].name, a),
                 inspect_safe(x->runtimes[i].library_version, b));
  }
  char counts[INSPECT_TEXT_BYTES] = "";
  size_t at = 0;
  for (int i = 0; i < N_STATUSES; i++) {
    if (p->n_by_status[i] == 0) continue;
    at += (size_t)snprintf(counts + at, sizeof counts - at, ", %zu %s", p->n_by_status[i],
                           assay_result_status_name((assay_result_status)i));
  }
  inspect_line("runs", "%zu%s", x->n_runs, counts);
  inspect_line("failed", "%zu runs judged wrong in numbers or placement", p->n_failed_verdicts);
  inspect_line("files", "%zu under the checksum tree", x->files.n);
  inspect_line("next", "assay report '%s'", inspect_safe(path, a));
}

assay_status inspect_package(const char *path, assay_json_builder *json, assay_error *err) {
  package p = {0};
  assay_status st = collect_package(path, &p, err);
  if (!st && json != NULL) put_package(json, &p);
  if (!st && json == NULL) print_package(path, &p);
  assay_package_reset(&p.index);
  return st;
}

/* ---- configuration ------------------------------------------------------------------------------
 */

const char *inspect_config_line(const assay_mlpf_config *config, char out[INSPECT_TEXT_BYTES]) {
  char hashing[128] = "";
  if (config->arch == ASSAY_MLPF_HEPTV2) {
    snprintf(hashing, sizeof hashing, ", %lld hashes, blocks of %lld", (long long)config->n_hashes,
             (long long)config->block_size);
  }
  snprintf(out, INSPECT_TEXT_BYTES,
           "%s, %s: %lld layer%s, width %lld, %lld heads of %lld%s; key mask %s, phi %s",
           assay_mlpf_arch_name(config->arch), config->dataset[0] ? config->dataset : "no dataset",
           (long long)config->num_convs, config->num_convs == 1 ? "" : "s",
           (long long)config->embedding_dim, (long long)config->num_heads,
           (long long)config->head_dim, hashing, assay_mlpf_key_mask_name(config->key_mask),
           assay_mlpf_phi_name(config->phi));
  return out;
}

static size_t count_trainable(const assay_mlpf_params *params) {
  size_t n = 0;
  for (size_t i = 0; i < params->n; i++) {
    size_t n_elems = 0;
    const assay_mlpf_param *p = &params->items[i];
    if (p->trainable && assay_shape_count(p->dims, p->rank, &n_elems, NULL) == ASSAY_OK)
      n += n_elems;
  }
  return n;
}

static void put_config(assay_json_builder *json, const assay_mlpf_config *config,
                       const assay_mlpf_params *params) {
  assay_json_put_string(json, "kind", "config");
  assay_json_put_string(json, "architecture", assay_mlpf_arch_name(config->arch));
  assay_json_put_string(json, "key_mask", assay_mlpf_key_mask_name(config->key_mask));
  assay_json_put_string(json, "phi", assay_mlpf_phi_name(config->phi));
  assay_mlpf_config_put(config, json, "config");
  assay_json_begin_object(json, "params");
  assay_json_put_int(json, "n_tensors", (int64_t)params->n);
  assay_json_put_int(json, "n_values", (int64_t)params->n_values);
  assay_json_put_int(json, "n_trainable_values", (int64_t)count_trainable(params));
  assay_json_end(json);
  assay_json_put_int(json, "attention_ops", assay_mlpf_config_attention_ops(config));
  assay_json_put_int(json, "representation_dim", assay_mlpf_config_repr_dim(config));
}

static void print_config(const char *path, const assay_mlpf_config *config,
                         const assay_mlpf_params *params) {
  char a[INSPECT_TEXT_BYTES];
  printf("%s: configuration of an MLPF model\n", inspect_safe(path, a));
  inspect_line("model", "%s", inspect_config_line(config, a));
  inspect_line("inputs", "%lld features, %lld element types, %s encoding",
               (long long)config->input_dim, (long long)config->n_elemtypes,
               config->input_encoding == ASSAY_MLPF_JOINT ? "joint" : "split");
  inspect_line("backbone", "%s, %s activation, %s representation of width %lld%s",
               config->backbone_mode == ASSAY_MLPF_BACKBONE_SPLIT ? "split" : "shared",
               assay_mlpf_activation_name(config->activation),
               config->representation == ASSAY_MLPF_CONCAT ? "concatenated" : "last",
               (long long)assay_mlpf_config_repr_dim(config),
               config->task_queries ? ", task queries" : "");
  inspect_table table = {.n_cols = 2};
  for (int i = 0; i < ASSAY_MLPF_N_TARGETS; i++) {
    inspect_table_add(&table, "%s", assay_mlpf_target_name((assay_mlpf_target)i));
    inspect_table_add(&table, "%s", assay_mlpf_regression_name(config->regression[i]));
  }
  inspect_line("classes", "%lld", (long long)config->num_classes);
  inspect_table_print(&table, "regression");
  inspect_line("attention", "%lld operations", (long long)assay_mlpf_config_attention_ops(config));
  inspect_line("parameters", "%zu tensors, %zu values, of which %zu are trained", params->n,
               params->n_values, count_trainable(params));
}

static assay_status describe_config(const char *path, const assay_json *tree,
                                    assay_json_builder *json, assay_error *err) {
  assay_mlpf_config config;
  assay_mlpf_params params = {0};
  ASSAY_TRY(assay_mlpf_config_parse(tree, NULL, &config, err));
  ASSAY_TRY(assay_mlpf_params_init(&config, &params, err));
  if (json != NULL)
    put_config(json, &config, &params);
  else
    print_config(path, &config, &params);
  assay_mlpf_params_reset(&params);
  return ASSAY_OK;
}

/* ---- other JSON ---------------------------------------------------------------------------------
 */

/* A file of ours names its kind; what there is to see is in the folder that it belongs to. */
static assay_status fail_schema(const char *schema, assay_error *err) {
  static const struct {
    const char *prefix, *what;
  } rows[] = {
      {"assay/manifest/", "the manifest of a bundle: give the bundle's folder"},
      {"assay/package/", "the index of a package: give the package's folder"},
      {"assay/result/", "the result of one run: give the package's folder to 'assay report'"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (assay_text_has_prefix(schema, rows[i].prefix)) {
      return assay_fail(err, ASSAY_E_UNSUPPORTED, "%s", rows[i].what);
    }
  }
  return assay_fail(err, ASSAY_E_UNSUPPORTED,
                    "JSON of schema '%s', which inspect does not describe", schema);
}

static assay_status describe_json(const char *path, const assay_json *root,
                                  assay_json_builder *json, assay_error *err) {
  const char *schema = assay_json_string(assay_json_get(root, "schema"));
  if (schema != NULL) return fail_schema(schema, err);
  const bool is_config =
      assay_json_get(root, "model") != NULL || assay_json_get(root, "conv_type") != NULL;
  if (is_config) return describe_config(path, root, json, err);
  return assay_fail(err, ASSAY_E_UNSUPPORTED,
                    "looks like JSON, but is no configuration of a model (it has no 'model')");
}

assay_status inspect_json(const char *path, assay_json_builder *json, assay_error *err) {
  assay_json *root = NULL;
  ASSAY_TRY(assay_json_read(path, JSON_MAX_BYTES, &root, err));
  assay_status st = describe_json(path, root, json, err);
  if (st) assay_error_in(err, "'%s'", path);
  assay_json_destroy(root);
  return st;
}

/* ---- profile ------------------------------------------------------------------------------------
 */

/* Executed nodes by provider, in the order in which the providers appear. */
typedef struct provider_count {
  const char *provider; /* borrowed from the profile */
  size_t n_nodes, n_events;
  int64_t duration_us;
} provider_count;

static size_t count_providers(const assay_profile *profile, provider_count *out) {
  size_t n = 0;
  for (size_t i = 0; i < profile->n_nodes; i++) {
    const assay_profile_node *node = &profile->nodes[i];
    size_t k = 0;
    while (k < n && strcmp(out[k].provider, node->provider) != 0) k++;
    if (k == n) out[n++] = (provider_count){.provider = node->provider};
    out[k].n_nodes++;
    out[k].n_events += node->n_events;
    out[k].duration_us += node->duration_us;
  }
  return n;
}

static void put_profile(assay_json_builder *json, const assay_profile *p,
                        const provider_count *counts, size_t n) {
  assay_json_put_string(json, "kind", "profile");
  assay_json_put_int(json, "n_events", (int64_t)p->n_events);
  assay_json_put_int(json, "n_model_runs", (int64_t)p->n_model_runs);
  assay_json_put_int(json, "n_sessions", (int64_t)p->n_sessions);
  assay_json_begin_array(json, "providers");
  for (size_t i = 0; i < n; i++) {
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "provider", counts[i].provider);
    assay_json_put_int(json, "n_nodes", (int64_t)counts[i].n_nodes);
    assay_json_put_int(json, "n_executions", (int64_t)counts[i].n_events);
    assay_json_put_int(json, "duration_us", counts[i].duration_us);
    assay_json_end(json);
  }
  assay_json_end(json);
}

static void print_profile(const char *path, const assay_profile *p, const provider_count *counts,
                          size_t n) {
  char a[INSPECT_TEXT_BYTES];
  printf("%s: profile of ONNX Runtime, %zu events\n", inspect_safe(path, a), p->n_events);
  inspect_line("calls", "%zu, in %zu sessions", p->n_model_runs, p->n_sessions);
  inspect_table table = {.n_cols = 4};
  static const char *const head[] = {"provider", "nodes", "executions", "microseconds"};
  for (size_t i = 0; i < 4 && n > 0; i++) inspect_table_add(&table, "%s", head[i]);
  for (size_t i = 0; i < n; i++) {
    inspect_table_add(&table, "%s", counts[i].provider);
    inspect_table_add(&table, "%zu", counts[i].n_nodes);
    inspect_table_add(&table, "%zu", counts[i].n_events);
    inspect_table_add(&table, "%lld", (long long)counts[i].duration_us);
  }
  inspect_table_print(&table, "kernels");
}

assay_status inspect_profile(const char *path, assay_json_builder *json, assay_error *err) {
  assay_profile profile = {0};
  if (assay_profile_read(path, &profile, err)) {
    assay_error_in(err, "'%s' looks like a profile of ONNX Runtime, but", path);
    return err->status;
  }
  provider_count *counts = assay_alloc_array(profile.n_nodes, sizeof *counts);
  assay_status st = ASSAY_OK;
  if (counts == NULL) {
    st = assay_fail_memory(err, profile.n_nodes * sizeof *counts);
  } else {
    size_t n = count_providers(&profile, counts);
    if (json != NULL)
      put_profile(json, &profile, counts, n);
    else
      print_profile(path, &profile, counts, n);
  }
  assay_free(counts);
  assay_profile_reset(&profile);
  return st;
}
