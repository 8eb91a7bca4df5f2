/* Runtimes as users name them. The format stands in runtimes/README.md. */
#include "campaign/runtime_spec.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "campaign/environment_rules.h"
#include "campaign/runtime_builtin.h"
#include "package/fields.h"
#include "runtime/find_library.h"
#include "runtime/ort.h"

#define RUNTIME_MAX_BYTES ((size_t)1 << 20)
#define THREADS_MAX       4096

static assay_status duplicate(const char *text, char **out, assay_error *err) {
  *out = assay_strdup(text);
  return *out != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(text) + 1);
}

/* --- required evidence ------------------------------------------------------------------------ */

static const char *const evidence_names[] = {"flash_attention", "fused_attention",
                                             "integer_tensors"};

const char *assay_runtime_evidence_name(assay_runtime_evidence bit) {
  for (size_t i = 0; i < N_OF(evidence_names); i++)
    if ((unsigned)bit == 1u << i) return evidence_names[i];
  return NULL;
}

static assay_status read_evidence(const assay_json *root, assay_runtime_spec *out,
                                  assay_error *err) {
  const assay_json *list = NULL;
  if (assay_json_get(root, "required_evidence") == NULL) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_array(root, "required_evidence", &list, err));
  for (size_t i = 0; i < assay_json_len(list); i++) {
    const char *word = assay_json_string(assay_json_at(list, i));
    unsigned bit = 0;
    for (size_t k = 0; k < N_OF(evidence_names) && word != NULL; k++)
      if (strcmp(word, evidence_names[k]) == 0) bit = 1u << k;
    if (bit == 0 || (out->required_evidence & bit) != 0)
      return assay_fail(err, ASSAY_E_FORMAT,
                        "'required_evidence': expected flash_attention, fused_attention or "
                        "integer_tensors, each once, found %s%s%s",
                        word != NULL ? "'" : "", word != NULL ? word : "no text",
                        word != NULL ? "'" : "");
    out->required_evidence |= bit;
  }
  return ASSAY_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

static assay_status read_settings(const assay_json *object, const char *key, bool may_be_null,
                                  assay_settings *out, assay_error *err) {
  const assay_json *member = assay_json_get(object, key);
  if (member == NULL) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(object, key, &member, err));
  assay_status st = assay_settings_of_json(member, may_be_null, out, err);
  if (st) assay_error_in(err, "'%s'", key);
  return st;
}

static assay_status read_small_int(const assay_json *object, const char *key, int64_t low,
                                   int64_t high, int *out, assay_error *err) {
  int64_t value = 0;
  if (assay_json_get(object, key) == NULL) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_int(object, key, low, high, &value, err));
  *out = (int)value;
  return ASSAY_OK;
}

static assay_status read_bool(const assay_json *object, const char *key, bool *out,
                              assay_error *err) {
  if (assay_json_get(object, key) == NULL) return ASSAY_OK;
  return assay_json_need_bool(object, key, out, err);
}

static assay_status read_session(const assay_json *root, assay_runtime_spec *out,
                                 assay_error *err) {
  static const char *const keys[] = {"intra_threads", "inter_threads", "graph_optimization_level",
                                     "memory_arena",  "deterministic", "config",
                                     "free_dims"};
  const assay_json *session = assay_json_get(root, "session");
  if (session == NULL) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(root, "session", &session, err));
  ASSAY_TRY(assay_json_only_keys(session, keys, N_OF(keys), err));
  ASSAY_TRY(read_small_int(session, "intra_threads", 1, THREADS_MAX, &out->intra_threads, err));
  ASSAY_TRY(read_small_int(session, "inter_threads", 1, THREADS_MAX, &out->inter_threads, err));
  ASSAY_TRY(read_small_int(session, "graph_optimization_level", 0, 99,
                           &out->graph_optimization_level, err));
  int level = out->graph_optimization_level;
  if (level > 3 && level != 99)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "'graph_optimization_level': expected 0, 1, 2, 3 or 99, found %d", level);
  bool arena = true;
  ASSAY_TRY(read_bool(session, "memory_arena", &arena, err));
  ASSAY_TRY(read_bool(session, "deterministic", &out->deterministic, err));
  out->no_memory_arena = !arena;
  ASSAY_TRY(read_settings(session, "config", /*may_be_null=*/false, &out->config, err));
  ASSAY_TRY(read_settings(session, "free_dims", /*may_be_null=*/false, &out->free_dims, err));
  for (size_t i = 0; i < out->free_dims.n; i++) {
    int64_t size = 0;
    ASSAY_TRY(assay_text_parse_int(out->free_dims.items[i].value, out->free_dims.items[i].key, 0,
                                   INT64_MAX, &size, err));
  }
  return ASSAY_OK;
}

static assay_status read_policy(const assay_json *root, assay_runtime_spec *out, assay_error *err) {
  static const char *const keys[] = {"allowed_cpu_ops", "max_copies"};
  const assay_json *policy = assay_json_get(root, "placement_policy");
  if (policy == NULL) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(root, "placement_policy", &policy, err));
  ASSAY_TRY(assay_json_only_keys(policy, keys, N_OF(keys), err));
  if (assay_json_get(policy, "allowed_cpu_ops") != NULL)
    ASSAY_TRY(assay_fields_strings(policy, "allowed_cpu_ops", &out->allowed_cpu_ops,
                                   &out->n_allowed_cpu_ops, err));
  const assay_json *copies = assay_json_get(policy, "max_copies");
  if (copies == NULL || assay_json_kind_of(copies) == ASSAY_JSON_NULL) return ASSAY_OK;
  return assay_json_need_int(policy, "max_copies", 0, INT64_MAX, &out->max_copies, err);
}

static assay_status set_provider(const char *name, assay_runtime_spec *out, assay_error *err) {
  static const char *const names[] = {"cpu",
                                      "cuda",
                                      "tensorrt",
                                      "migraphx",
                                      "rocm",
                                      "openvino",
                                      "dnnl",
                                      "xnnpack",
                                      "webgpu",
                                      "qnn",
                                      "coreml",
                                      "cuda-flash",
                                      "migraphx-attention",
                                      "migraphx-heptv2",
                                      "vitisai",
                                      "acl",
                                      "armnn"};
  const char *full = assay_ort_provider_full_name(name);
  if (full != NULL) return duplicate(full, &out->provider, err);
  if (out->plugin != NULL && name[0] != '\0') return duplicate(name, &out->provider, err);
  const char *known[2 * N_OF(names)]; /* and by their whole names */
  size_t n_known = 0;
  for (size_t i = 0; i < N_OF(names); i++) {
    known[n_known++] = names[i];
    const char *whole = assay_ort_provider_full_name(names[i]);
    if (whole != NULL) known[n_known++] = whole;
  }
  const char *near = assay_text_nearest(name, known, n_known);
  return assay_fail(err, ASSAY_E_ARGUMENT,
                    "provider '%s' is not known%s%s%s; expected one such as cpu, cuda or migraphx",
                    name, near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                    near != NULL ? "'" : "");
}

static assay_status read_env(const assay_json *root, const char *key, assay_settings *out,
                             assay_error *err) {
  ASSAY_TRY(read_settings(root, key, /*may_be_null=*/true, out, err));
  for (size_t i = 0; i < out->n; i++)
    if (strchr(out->items[i].key, '=') != NULL)
      return assay_fail(err, ASSAY_E_FORMAT, "'%s': expected a variable's name, found '%s'", key,
                        out->items[i].key);
  return ASSAY_OK;
}

static assay_status read_caches(const assay_json *root, assay_runtime_spec *out, assay_error *err) {
  const char *word = "fresh";
  if (assay_json_get(root, "caches") == NULL) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_string(root, "caches", &word, err));
  out->caches_kept = strcmp(word, "kept") == 0;
  if (out->caches_kept || strcmp(word, "fresh") == 0) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT, "'caches': expected fresh or kept, found '%s'", word);
}

/* A path, or nothing; a relative one is taken from the folder. */
static assay_status read_path(const assay_json *root, const char *key, const char *folder,
                              char **out, assay_error *err) {
  const assay_json *member = assay_json_get(root, key);
  const char *path = NULL;
  if (member == NULL || assay_json_kind_of(member) == ASSAY_JSON_NULL) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_string(root, key, &path, err));
  if (path[0] == '\0')
    return assay_fail(err, ASSAY_E_FORMAT, "'%s': expected a path or null, found ''", key);
  *out = assay_path_join(folder, path);
  return *out != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(path) + 1);
}

/* A path as the loader takes it, and the digest of what is there; "" where that is no readable
 * file. */
static assay_status resolve_file(char **path, char out_hex[65], assay_error *err) {
  out_hex[0] = '\0';
  char *real = realpath(*path, NULL); /* by malloc, not by our door */
  if (real == NULL) return ASSAY_OK;
  assay_free(*path);
  *path = assay_strdup(real);
  free(real);
  if (*path == NULL) return assay_fail_memory(err, 256);
  if (assay_path_kind_of(*path) != ASSAY_PATH_FILE) return ASSAY_OK;
  return assay_sha256_file(*path, out_hex, /*out_size_bytes=*/NULL, err);
}

static assay_status check_digest(const char *what, const char *path, const char *asked,
                                 const char *found, assay_error *err) {
  if (asked[0] == '\0' || strcmp(asked, found) == 0) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_MISMATCH, "%s '%s': expected SHA-256 %s, found %s", what, path,
                    asked, found[0] != '\0' ? found : "no such file");
}

/* One that cannot be loaded makes runs that fail, each with the loader's reason. */
static assay_status resolve_preload(assay_runtime_spec *out, size_t i, const char *folder,
                                    const char *asked, assay_error *err) {
  char sha256[65];
  char *path = assay_path_join(folder, out->preload[i]);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_free(out->preload[i]);
  out->preload[i] = path;
  ASSAY_TRY(resolve_file(&out->preload[i], sha256, err));
  ASSAY_TRY(check_digest("library to load ahead", out->preload[i], asked, sha256, err));
  return duplicate(sha256, &out->preload_sha256[i], err);
}

static bool is_null(const assay_json *member) {
  return member == NULL || assay_json_kind_of(member) == ASSAY_JSON_NULL;
}

static assay_status read_preload(const assay_json *root, const char *folder,
                                 assay_runtime_spec *out, assay_error *err) {
  char **asked = NULL;
  size_t n_asked = 0;
  if (!is_null(assay_json_get(root, "preload")))
    ASSAY_TRY(assay_fields_strings(root, "preload", &out->preload, &out->n_preload, err));
  if (!is_null(assay_json_get(root, "preload_sha256")))
    ASSAY_TRY(assay_fields_strings(root, "preload_sha256", &asked, &n_asked, err));
  assay_status st = ASSAY_OK;
  if (asked != NULL && n_asked != out->n_preload)
    st = assay_fail(err, ASSAY_E_FORMAT, "'preload_sha256': expected %zu digests, found %zu",
                    out->n_preload, n_asked);
  if (st == ASSAY_OK && out->n_preload > 0) {
    out->preload_sha256 = assay_alloc_array(out->n_preload, sizeof *out->preload_sha256);
    if (out->preload_sha256 == NULL) st = assay_fail_memory(err, out->n_preload);
  }
  for (size_t i = 0; i < out->n_preload && st == ASSAY_OK; i++)
    st = resolve_preload(out, i, folder, asked != NULL ? asked[i] : "", err);
  assay_fields_strings_destroy(asked, n_asked);
  return st;
}

/* The plug-in by its path as the loader takes it, and by its contents. One that is not there makes
 * runs that fail, each with the loader's reason. */
static assay_status read_plugin(const assay_json *root, const char *folder, assay_runtime_spec *out,
                                assay_error *err) {
  char asked[65] = "";
  const assay_json *member = assay_json_get(root, "plugin_sha256");
  if (member != NULL && assay_json_kind_of(member) != ASSAY_JSON_NULL)
    ASSAY_TRY(assay_fields_sha256(root, "plugin_sha256", /*may_be_empty=*/true, asked, err));
  ASSAY_TRY(read_path(root, "plugin", folder, &out->plugin, err));
  if (out->plugin == NULL)
    return asked[0] == '\0' ? ASSAY_OK
                            : assay_fail(err, ASSAY_E_FORMAT,
                                         "'plugin_sha256' without 'plugin' would have no effect");
  ASSAY_TRY(resolve_file(&out->plugin, out->plugin_sha256, err));
  return out->plugin_sha256[0] != '\0'
             ? check_digest("plug-in", out->plugin, asked, out->plugin_sha256, err)
             : ASSAY_OK;
}

static assay_status read_root(const assay_json *root, const char *folder, assay_runtime_spec *out,
                              assay_error *err) {
  static const char *const keys[] = {
      "schema", "library",       "preload",       "preload_sha256",    "provider",
      "plugin", "plugin_sha256", "options",       "session",           "static",
      "caches", "env",           "placement_env", "required_evidence", "placement_policy"};
  const char *provider = NULL;
  if (assay_json_kind_of(root) != ASSAY_JSON_OBJECT)
    return assay_fail(err, ASSAY_E_FORMAT, "expected an object, found %s",
                      assay_json_kind_name(assay_json_kind_of(root)));
  if (assay_json_get(root, "schema") != NULL)
    ASSAY_TRY(assay_json_need_schema(root, "runtime", 1, err));
  ASSAY_TRY(assay_json_only_keys(root, keys, N_OF(keys), err));
  ASSAY_TRY(assay_json_need_string(root, "provider", &provider, err));
  ASSAY_TRY(read_path(root, "library", folder, &out->library, err));
  ASSAY_TRY(read_preload(root, folder, out, err));
  ASSAY_TRY(read_plugin(root, folder, out, err));
  ASSAY_TRY(set_provider(provider, out, err));
  ASSAY_TRY(read_settings(root, "options", /*may_be_null=*/false, &out->options, err));
  ASSAY_TRY(read_session(root, out, err));
  ASSAY_TRY(read_bool(root, "static", &out->is_static, err));
  ASSAY_TRY(read_caches(root, out, err));
  ASSAY_TRY(read_env(root, "env", &out->env, err));
  ASSAY_TRY(read_env(root, "placement_env", &out->placement_env, err));
  ASSAY_TRY(read_evidence(root, out, err));
  ASSAY_TRY(read_policy(root, out, err));
  return assay_runtime_spec_check(out, err);
}

assay_status assay_runtime_spec_of_json(const assay_json *root, const char *folder,
                                        assay_runtime_spec *out, assay_error *err) {
  assay_runtime_spec spec = {.graph_optimization_level = -1, .max_copies = -1};
  assay_status st = read_root(root, folder, &spec, err);
  if (st) {
    assay_runtime_spec_reset(&spec);
    return st;
  }
  *out = spec;
  return ASSAY_OK;
}

/* "x/a100.json" gives "a100". */
static assay_status name_of_file(const char *path, char **out, assay_error *err) {
  const char *name = assay_path_name(path);
  size_t n = strlen(name);
  if (assay_text_has_suffix(name, ".json")) n -= strlen(".json");
  *out = assay_strndup(name, n);
  if (*out == NULL) return assay_fail_memory(err, n + 1);
  if (assay_fields_is_name(*out)) return ASSAY_OK;
  return assay_fail(
      err, ASSAY_E_ARGUMENT,
      "runtime file '%s': its name becomes a folder's: expected letters, digits, '.', "
      "'_', '-', '+' or '@'",
      path);
}

static assay_status read_file(const char *path, const char *label, assay_runtime_spec *out,
                              assay_error *err) {
  assay_json *root = NULL;
  char *folder = assay_strndup(path, (size_t)(assay_path_name(path) - path));
  if (folder == NULL) return assay_fail_memory(err, strlen(path) + 1);
  assay_status st = assay_json_read(path, RUNTIME_MAX_BYTES, &root, err);
  const bool was_read = st == ASSAY_OK; /* what cannot be read names itself */
  if (st == ASSAY_OK)
    st = assay_runtime_spec_of_json(root, folder[0] != '\0' ? folder : ".", out, err);
  if (st == ASSAY_OK) st = name_of_file(path, &out->name, err);
  if (st == ASSAY_OK) st = duplicate(label, &out->label, err);
  if (st && was_read) assay_error_in(err, "runtime '%s'", path);
  if (st && !was_read) assay_error_in(err, "runtime");
  assay_json_destroy(root);
  assay_free(folder);
  return st;
}

static assay_status read_builtin(const assay_runtime_builtin *builtin, assay_runtime_spec *out,
                                 assay_error *err) {
  assay_json *root = NULL;
  ASSAY_TRY(assay_json_parse(builtin->json, strlen(builtin->json), &root, err));
  assay_status st = assay_runtime_spec_of_json(root, ".", out, err);
  assay_json_destroy(root);
  return st;
}

/* *out is "" where it is not known; released with assay_free. */
static assay_status installed_path(const char *name, char **out, assay_error *err) {
  char *relative = assay_format("runtimes/%s.json", name);
  if (relative == NULL) return assay_fail_memory(err, strlen(name) + 16);
  assay_status st = assay_find_in_deps(relative, out, err);
  assay_free(relative);
  return st;
}

/* A name of letters: one that is installed, a built-in one, or a provider's. */
static assay_status read_name(const char *name, assay_runtime_spec *out, assay_error *err) {
  const assay_runtime_builtin *builtin = assay_runtime_builtin_find(name);
  char *path = NULL;
  if (assay_fields_is_name(name)) ASSAY_TRY(installed_path(name, &path, err));
  if (path != NULL) {
    assay_status st = read_file(path, name, out, err);
    assay_free(path);
    return st;
  }
  if (builtin != NULL)
    ASSAY_TRY(read_builtin(builtin, out, err));
  else
    *out = (assay_runtime_spec){.graph_optimization_level = -1, .max_copies = -1};
  ASSAY_TRY(duplicate(name, &out->name, err));
  return builtin != NULL ? ASSAY_OK : set_provider(name, out, err);
}

/* "cpu", or "cpu@/path". */
static assay_status read_named(const char *text, assay_runtime_spec *out, assay_error *err) {
  const char *at = strchr(text, '@');
  char *name = assay_strndup(text, at != NULL ? (size_t)(at - text) : strlen(text));
  if (name == NULL) return assay_fail_memory(err, strlen(text) + 1);
  assay_status st = read_name(name, out, err);
  assay_free(name);
  if (st) return st;
  assay_free(out->label);
  ASSAY_TRY(duplicate(text, &out->label, err));
  if (at == NULL) return ASSAY_OK;
  if (at[1] == '\0')
    return assay_fail(err, ASSAY_E_ARGUMENT, "runtime '%s': expected a library's path after '@'",
                      text);
  assay_free(out->library);
  return duplicate(at + 1, &out->library, err);
}

assay_status assay_runtime_spec_parse(const char *text, assay_runtime_spec *out, assay_error *err) {
  assay_runtime_spec spec = {0};
  char *with_ending = assay_format("%s.json", text);
  if (with_ending == NULL) return assay_fail_memory(err, strlen(text) + 6);
  assay_status st;
  if (assay_text_has_suffix(text, ".json") || assay_path_kind_of(text) == ASSAY_PATH_FILE)
    st = read_file(text, text, &spec, err);
  else if (assay_path_kind_of(with_ending) == ASSAY_PATH_FILE)
    st = read_file(with_ending, text, &spec, err);
  else
    st = read_named(text, &spec, err);
  assay_free(with_ending);
  if (st) {
    assay_runtime_spec_reset(&spec);
    return st;
  }
  *out = spec;
  return ASSAY_OK;
}

/* --- what could have no effect, or another than meant ------------------------------------------
 */

static assay_status check_options(const assay_runtime_spec *spec, assay_error *err) {
  for (size_t i = 0; i < spec->options.n && spec->plugin == NULL; i++)
    if (!assay_ort_provider_takes(spec->provider, spec->options.items[i].key))
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "provider option '%s' would have no effect: %s does not take it",
                        spec->options.items[i].key, spec->provider);
  return ASSAY_OK;
}

static assay_status check_env(const assay_runtime_spec *spec, assay_error *err) {
  for (size_t i = 0; i < spec->env.n; i++) {
    const assay_setting *one = &spec->env.items[i];
    if (one->value != NULL &&
        assay_environment_rule_of(one->key, NULL) == ASSAY_ENVIRONMENT_TRACING)
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "'env': %s traces, and would do so in timed runs: it belongs in "
                        "\"placement_env\"",
                        one->key);
  }
  for (size_t i = 0; i < spec->placement_env.n; i++) {
    const char *key = spec->placement_env.items[i].key;
    if (assay_environment_rule_of(key, NULL) == ASSAY_ENVIRONMENT_CHANGES)
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "'placement_env': %s changes what is computed, so that timed and placement "
                        "runs would differ: it belongs in \"env\"",
                        key);
    for (size_t k = 0; k < spec->env.n; k++)
      if (strcmp(spec->env.items[k].key, key) == 0 && spec->env.items[k].value != NULL)
        return assay_fail(err, ASSAY_E_ARGUMENT, "%s is in \"env\" and in \"placement_env\"", key);
  }
  return ASSAY_OK;
}

static bool is_cpu(const assay_runtime_spec *spec) {
  return strcmp(spec->provider, "CPUExecutionProvider") == 0;
}

assay_status assay_runtime_spec_check(const assay_runtime_spec *spec, assay_error *err) {
  ASSAY_TRY(check_options(spec, err));
  if (is_cpu(spec) && (spec->n_allowed_cpu_ops > 0 || spec->max_copies >= 0))
    return assay_fail(
        err, ASSAY_E_ARGUMENT,
        "'placement_policy' would have no effect: all of the CPU provider's nodes are "
        "on the CPU");
  return check_env(spec, err);
}

/* --- environment of a run ------------------------------------------------------------------------
 */

bool assay_runtime_spec_wants_cache(const assay_runtime_spec *spec) {
  return !spec->caches_kept && !is_cpu(spec);
}

static bool has_key(const assay_settings *settings, const char *key) {
  for (size_t i = 0; i < settings->n; i++)
    if (strcmp(settings->items[i].key, key) == 0) return true;
  return false;
}

/* Where drivers and compilers keep what they compiled: Mesa and everybody who follows the desktop's
 * convention, CUDA, MIOpen, the AMD and the Intel compiler. */
static assay_status add_cache(const char *folder, assay_settings *out, assay_error *err) {
  static const char *const names[] = {
      "XDG_CACHE_HOME",          "MESA_SHADER_CACHE_DIR", "CUDA_CACHE_PATH", "MIOPEN_USER_DB_PATH",
      "MIOPEN_CUSTOM_CACHE_DIR", "AMD_COMGR_CACHE_DIR",   "NEO_CACHE_DIR"};
  for (size_t i = 0; i < N_OF(names); i++)
    if (!has_key(out, names[i])) ASSAY_TRY(assay_settings_set(out, names[i], folder, err));
  return ASSAY_OK;
}

static assay_status add_settings(const assay_settings *from, assay_settings *out,
                                 assay_error *err) {
  for (size_t i = 0; i < from->n; i++)
    ASSAY_TRY(assay_settings_set(out, from->items[i].key, from->items[i].value, err));
  return ASSAY_OK;
}

assay_status assay_runtime_spec_env(const assay_runtime_spec *spec, bool is_placement,
                                    const char *cache_folder, assay_settings *out,
                                    assay_error *err) {
  assay_settings env = {0};
  assay_status st = add_settings(&spec->env, &env, err);
  if (st == ASSAY_OK && is_placement) st = add_settings(&spec->placement_env, &env, err);
  if (st == ASSAY_OK && cache_folder != NULL) st = add_cache(cache_folder, &env, err);
  if (st) {
    assay_settings_reset(&env);
    return st;
  }
  *out = env;
  return ASSAY_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_session(const assay_runtime_spec *spec, assay_json_builder *b) {
  assay_json_begin_object(b, "session");
  assay_json_put_int(b, "intra_threads", spec->intra_threads > 0 ? spec->intra_threads : 1);
  assay_json_put_int(b, "inter_threads", spec->inter_threads > 0 ? spec->inter_threads : 1);
  assay_json_put_int(b, "graph_optimization_level",
                     spec->graph_optimization_level >= 0 ? spec->graph_optimization_level : 99);
  assay_json_put_bool(b, "memory_arena", !spec->no_memory_arena);
  assay_json_put_bool(b, "deterministic", spec->deterministic);
  assay_settings_put(&spec->config, b, "config");
  assay_settings_put(&spec->free_dims, b, "free_dims");
  assay_json_end(b);
}

static void put_evidence(const assay_runtime_spec *spec, assay_json_builder *b) {
  assay_json_begin_array(b, "required_evidence");
  for (size_t i = 0; i < N_OF(evidence_names); i++)
    if ((spec->required_evidence & (1u << i)) != 0)
      assay_json_put_string(b, NULL, evidence_names[i]);
  assay_json_end(b);
}

static void put_preload(const assay_runtime_spec *spec, assay_json_builder *b) {
  if (spec->preload != NULL && spec->n_preload > 0)
    assay_fields_put_strings(b, "preload", spec->preload, spec->n_preload);
  else
    assay_json_put_null(b, "preload");
  assay_fields_put_strings(b, "preload_sha256", spec->preload_sha256, spec->n_preload);
}

void assay_runtime_spec_put(const assay_runtime_spec *spec, assay_json_builder *b,
                            const char *key) {
  assay_json_begin_object(b, key);
  assay_json_put_string(b, "schema", "assay/runtime/1");
  assay_json_put_string(b, "library", spec->library);
  put_preload(spec, b);
  assay_json_put_string(b, "provider", spec->provider);
  assay_json_put_string(b, "plugin", spec->plugin);
  assay_json_put_string(b, "plugin_sha256",
                        spec->plugin_sha256[0] != '\0' ? spec->plugin_sha256 : NULL);
  assay_settings_put(&spec->options, b, "options");
  put_session(spec, b);
  assay_json_put_bool(b, "static", spec->is_static);
  assay_json_put_string(b, "caches", spec->caches_kept ? "kept" : "fresh");
  assay_settings_put(&spec->env, b, "env");
  assay_settings_put(&spec->placement_env, b, "placement_env");
  put_evidence(spec, b);
  assay_json_begin_object(b, "placement_policy");
  assay_fields_put_strings(b, "allowed_cpu_ops", spec->allowed_cpu_ops, spec->n_allowed_cpu_ops);
  if (spec->max_copies >= 0)
    assay_json_put_int(b, "max_copies", spec->max_copies);
  else
    assay_json_put_null(b, "max_copies");
  assay_json_end(b);
  assay_json_end(b);
}

static assay_status to_json(const assay_runtime_spec *spec, assay_json **out, assay_error *err) {
  assay_buf text = {0};
  assay_json_builder *b = assay_json_builder_create();
  assay_runtime_spec_put(spec, b, NULL);
  assay_status st = assay_json_builder_finish(b, &text, err);
  if (st == ASSAY_OK) st = assay_json_parse(text.data, text.size_bytes, out, err);
  assay_json_builder_destroy(b);
  assay_buf_reset(&text);
  return st;
}

assay_status assay_runtime_spec_sha256(const assay_runtime_spec *spec, char out_hex[65],
                                       assay_json **out_json, assay_error *err) {
  assay_runtime_spec without = *spec; /* borrows; never reset */
  assay_json *json = NULL;
  without.library = NULL;
  without.plugin = NULL;
  without.preload = NULL;
  ASSAY_TRY(to_json(&without, &json, err));
  assay_status st = assay_fields_digest(json, out_hex, err);
  assay_json_destroy(json);
  if (st == ASSAY_OK && out_json != NULL) st = to_json(spec, out_json, err);
  return st;
}

void assay_runtime_spec_reset(assay_runtime_spec *spec) {
  assay_free(spec->name);
  assay_free(spec->label);
  assay_free(spec->library);
  assay_free(spec->provider);
  assay_free(spec->plugin);
  assay_fields_strings_destroy(spec->preload, spec->n_preload);
  assay_fields_strings_destroy(spec->preload_sha256, spec->n_preload);
  assay_settings_reset(&spec->options);
  assay_settings_reset(&spec->config);
  assay_settings_reset(&spec->free_dims);
  assay_settings_reset(&spec->env);
  assay_settings_reset(&spec->placement_env);
  assay_fields_strings_destroy(spec->allowed_cpu_ops, spec->n_allowed_cpu_ops);
  *spec = (assay_runtime_spec){0};
}
