/* Runtimes as users name them. The format stands in runtime_spec.h. */
#include "campaign/runtime_spec.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "package/fields.h"
#include "runtime/ort.h"

#define RUNTIME_MAX_BYTES ((size_t)1 << 20)
#define THREADS_MAX       4096

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

static assay_status duplicate(const char *text, char **out, assay_error *err) {
  *out = assay_strdup(text);
  return *out != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(text) + 1);
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

static assay_status read_session(const assay_json *root, assay_runtime_spec *out,
                                 assay_error *err) {
  static const char *const keys[] = {"intra_threads", "inter_threads", "graph_optimization_level",
                                     "memory_arena",  "config",        "free_dims"};
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
  if (assay_json_get(session, "memory_arena") != NULL)
    ASSAY_TRY(assay_json_need_bool(session, "memory_arena", &arena, err));
  out->no_memory_arena = !arena;
  ASSAY_TRY(read_settings(session, "config", /*may_be_null=*/false, &out->config, err));
  ASSAY_TRY(read_settings(session, "free_dims", /*may_be_null=*/false, &out->free_dims, err));
  for (size_t i = 0; i < out->free_dims.n; i++) {
    int64_t size = 0;
    ASSAY_TRY(assay_text_parse_int(out->free_dims.items[i].value, out->free_dims.items[i].key, 1,
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
  static const char *const names[] = {"cpu",      "cuda",    "tensorrt", "migraphx", "rocm",
                                      "openvino", "dnnl",    "xnnpack",  "webgpu",   "qnn",
                                      "coreml",   "vitisai", "acl",      "armnn"};
  const char *full = assay_ort_provider_full_name(name);
  if (full != NULL) return duplicate(full, &out->provider, err);
  if (out->plugin != NULL && name[0] != '\0') return duplicate(name, &out->provider, err);
  const char *near = assay_text_nearest(name, names, N_OF(names));
  return assay_fail(err, ASSAY_E_ARGUMENT,
                    "provider '%s' is not known%s%s%s; expected one such as cpu, cuda or migraphx",
                    name, near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                    near != NULL ? "'" : "");
}

static assay_status read_env(const assay_json *root, assay_runtime_spec *out, assay_error *err) {
  ASSAY_TRY(read_settings(root, "env", /*may_be_null=*/true, &out->env, err));
  for (size_t i = 0; i < out->env.n; i++)
    if (strchr(out->env.items[i].key, '=') != NULL)
      return assay_fail(err, ASSAY_E_FORMAT, "'env': expected a variable's name, found '%s'",
                        out->env.items[i].key);
  return ASSAY_OK;
}

/* A path, or nothing; a relative one is taken from the folder. */
static assay_status read_path(const assay_json *root, const char *key, const char *folder,
                              char **out, assay_error *err) {
  const assay_json *member = assay_json_get(root, key);
  const char *path = NULL;
  if (member == NULL || assay_json_kind_of(member) == ASSAY_JSON_NULL) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_string(root, key, &path, err));
  *out = assay_path_join(folder, path);
  return *out != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(path) + 1);
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
  char *real = realpath(out->plugin, NULL); /* by malloc, not by our door */
  if (real == NULL) return ASSAY_OK;
  assay_free(out->plugin);
  out->plugin = assay_strdup(real);
  free(real);
  if (out->plugin == NULL) return assay_fail_memory(err, 256);
  if (assay_path_kind_of(out->plugin) != ASSAY_PATH_FILE) return ASSAY_OK;
  ASSAY_TRY(assay_sha256_file(out->plugin, out->plugin_sha256, /*out_size_bytes=*/NULL, err));
  if (asked[0] == '\0' || strcmp(asked, out->plugin_sha256) == 0) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_MISMATCH, "plug-in '%s': expected SHA-256 %s, found %s",
                    out->plugin, asked, out->plugin_sha256);
}

static assay_status read_root(const assay_json *root, const char *folder, assay_runtime_spec *out,
                              assay_error *err) {
  static const char *const keys[] = {"schema",  "library",       "provider",
                                     "plugin",  "plugin_sha256", "options",
                                     "session", "env",           "placement_policy"};
  const char *provider = NULL;
  if (assay_json_kind_of(root) != ASSAY_JSON_OBJECT)
    return assay_fail(err, ASSAY_E_FORMAT, "expected an object, found %s",
                      assay_json_kind_name(assay_json_kind_of(root)));
  if (assay_json_get(root, "schema") != NULL)
    ASSAY_TRY(assay_json_need_schema(root, "runtime", 1, err));
  ASSAY_TRY(assay_json_only_keys(root, keys, N_OF(keys), err));
  ASSAY_TRY(assay_json_need_string(root, "provider", &provider, err));
  ASSAY_TRY(read_path(root, "library", folder, &out->library, err));
  ASSAY_TRY(read_plugin(root, folder, out, err));
  ASSAY_TRY(set_provider(provider, out, err));
  ASSAY_TRY(read_settings(root, "options", /*may_be_null=*/false, &out->options, err));
  ASSAY_TRY(read_session(root, out, err));
  ASSAY_TRY(read_env(root, out, err));
  return read_policy(root, out, err);
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
  if (st == ASSAY_OK)
    st = assay_runtime_spec_of_json(root, folder[0] != '\0' ? folder : ".", out, err);
  if (st == ASSAY_OK) st = name_of_file(path, &out->name, err);
  if (st == ASSAY_OK) st = duplicate(label, &out->label, err);
  if (st) assay_error_in(err, "runtime '%s'", path);
  assay_json_destroy(root);
  assay_free(folder);
  return st;
}

/* "cpu", or "cpu@/path". */
static assay_status read_built_in(const char *text, assay_runtime_spec *out, assay_error *err) {
  const char *at = strchr(text, '@');
  size_t n = at != NULL ? (size_t)(at - text) : strlen(text);
  *out = (assay_runtime_spec){.graph_optimization_level = -1, .max_copies = -1};
  out->name = assay_strndup(text, n);
  if (out->name == NULL) return assay_fail_memory(err, n + 1);
  ASSAY_TRY(duplicate(text, &out->label, err));
  ASSAY_TRY(set_provider(out->name, out, err));
  if (at == NULL) return ASSAY_OK;
  if (at[1] == '\0')
    return assay_fail(err, ASSAY_E_ARGUMENT, "runtime '%s': expected a library's path after '@'",
                      text);
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
    st = read_built_in(text, &spec, err);
  assay_free(with_ending);
  if (st) {
    assay_runtime_spec_reset(&spec);
    return st;
  }
  *out = spec;
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
  assay_settings_put(&spec->config, b, "config");
  assay_settings_put(&spec->free_dims, b, "free_dims");
  assay_json_end(b);
}

void assay_runtime_spec_put(const assay_runtime_spec *spec, assay_json_builder *b,
                            const char *key) {
  assay_json_begin_object(b, key);
  assay_json_put_string(b, "schema", "assay/runtime/1");
  assay_json_put_string(b, "library", spec->library);
  assay_json_put_string(b, "provider", spec->provider);
  assay_json_put_string(b, "plugin", spec->plugin);
  assay_json_put_string(b, "plugin_sha256",
                        spec->plugin_sha256[0] != '\0' ? spec->plugin_sha256 : NULL);
  assay_settings_put(&spec->options, b, "options");
  put_session(spec, b);
  assay_settings_put(&spec->env, b, "env");
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
  assay_settings_reset(&spec->options);
  assay_settings_reset(&spec->config);
  assay_settings_reset(&spec->free_dims);
  assay_settings_reset(&spec->env);
  assay_fields_strings_destroy(spec->allowed_cpu_ops, spec->n_allowed_cpu_ops);
  *spec = (assay_runtime_spec){0};
}
