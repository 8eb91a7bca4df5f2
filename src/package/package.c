/* Reads and writes package.json; the format stands in package.h. */
#include "package/package.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "package/fields.h"

#define PACKAGE_MAX_BYTES ((size_t)256 << 20)

/* How package.json ends: its last member is the SHA-256 of the file's own bytes with these 64
 * digits as zeros. */
#define DIGEST_DIGITS 64
#define DIGEST_BEFORE "\n  \"sha256\": \""
#define DIGEST_AFTER  "\"\n}\n"
#define DIGEST_NONE   "0000000000000000000000000000000000000000000000000000000000000000"

static const assay_field settings_fields[] = {
    ASSAY_FIELD(assay_package, iterations, COUNT),
    ASSAY_FIELD(assay_package, warmup, COUNT),
    ASSAY_FIELD(assay_package, threads, COUNT),
    ASSAY_FIELD(assay_package, placement_runs, COUNT),
    ASSAY_FIELD(assay_package, timeout_ns, COUNT),
};
static const char *const settings_others[] = {"processes", "tolerances"};

static const assay_field runtime_fields[] = {
    ASSAY_FIELD(assay_package_runtime, name, NAME),
    ASSAY_FIELD(assay_package_runtime, sha256, SHA256),
    ASSAY_FIELD(assay_package_runtime, library_path, STRING),
    ASSAY_FIELD(assay_package_runtime, library_version, STRING),
    ASSAY_FIELD(assay_package_runtime, library_sha256, SHA256_OR_EMPTY),
};
static const char *const runtime_others[] = {"spec"};

static const assay_field bundle_fields[] = {
    ASSAY_FIELD(assay_package_bundle, name, NAME),
    ASSAY_FIELD(assay_package_bundle, folder, PATH),
    ASSAY_FIELD(assay_package_bundle, manifest_sha256, SHA256),
    ASSAY_FIELD(assay_package_bundle, model_sha256, SHA256),
};

static const assay_field run_fields[] = {
    ASSAY_FIELD(assay_package_run, runtime, NAME),
    ASSAY_FIELD(assay_package_run, bundle, NAME),
    {"case", ASSAY_FIELD_NAME, offsetof(assay_package_run, case_name), sizeof(char *), NULL, 0},
    ASSAY_FIELD(assay_package_run, folder, PATH),
};
static const char *const run_others[] = {"mode"};

static const assay_field cell_fields[] = {
    ASSAY_FIELD(assay_package_cell, runtime, NAME),
    ASSAY_FIELD(assay_package_cell, bundle, NAME),
};

static const assay_field source_fields[] = {
    ASSAY_FIELD(assay_package_source, tool_version, STRING),
    ASSAY_FIELD(assay_package_source, tool_sha256, SHA256),
    ASSAY_FIELD(assay_package_source, started_at, TEXT),
    ASSAY_FIELD(assay_package_source, finished_at, TEXT),
    ASSAY_FIELD(assay_package_source, tree_sha256, SHA256),
    ASSAY_FIELD(assay_package_source, machine, STRING_OR_NULL),
};
static const char *const source_others[] = {"command"};

static const char *const tool_keys[] = {"name", "version", "sha256"};
static const char *const root_keys[] = {"schema",      "tool",     "started_at", "finished_at",
                                        "command",     "settings", "runtimes",   "bundles",
                                        "matrix",      "sources",  "machine",    "runs",
                                        "tree_sha256", "files",    "sha256"};

/* --- reading -------------------------------------------------------------------------------------
 */

static assay_status read_tolerance(const assay_json *item, void *out, assay_error *err) {
  static const char *const keys[] = {"head", "atol", "rtol"};
  assay_package_tolerance *tolerance = out;
  ASSAY_TRY(assay_json_only_keys(item, keys, N_OF(keys), err));
  ASSAY_TRY(assay_fields_string_or_null(item, "head", &tolerance->head, err));
  tolerance->has_atol = !assay_fields_is_null(item, "atol");
  tolerance->has_rtol = !assay_fields_is_null(item, "rtol");
  if (tolerance->has_atol) ASSAY_TRY(assay_fields_tolerance(item, "atol", &tolerance->atol, err));
  return tolerance->has_rtol ? assay_fields_tolerance(item, "rtol", &tolerance->rtol, err)
                             : ASSAY_OK;
}

static assay_status read_runtime(const assay_json *item, void *out, assay_error *err) {
  assay_package_runtime *runtime = out;
  const assay_json *spec = NULL;
  ASSAY_TRY(assay_fields_read(item, runtime_fields, N_OF(runtime_fields), runtime_others,
                              N_OF(runtime_others), runtime, err));
  ASSAY_TRY(assay_json_need_object(item, "spec", &spec, err));
  return assay_fields_copy(spec, &runtime->spec, err);
}

static assay_status read_source(const assay_json *item, void *out, assay_error *err) {
  assay_package_source *source = out;
  ASSAY_TRY(assay_fields_read(item, source_fields, N_OF(source_fields), source_others,
                              N_OF(source_others), source, err));
  return assay_fields_strings(item, "command", &source->command, &source->n_command, err);
}

static assay_status read_run(const assay_json *item, void *out, assay_error *err) {
  assay_package_run *run = out;
  const char *mode = NULL;
  ASSAY_TRY(assay_fields_read(item, run_fields, N_OF(run_fields), run_others, N_OF(run_others), run,
                              err));
  ASSAY_TRY(assay_json_need_string(item, "mode", &mode, err));
  if (!assay_result_mode_of_name(mode, &run->mode))
    return assay_fail(err, ASSAY_E_FORMAT, "'mode': expected timing or placement, found '%s'",
                      mode);
  char *folder = assay_result_folder(run->runtime, run->bundle, run->case_name, run->mode);
  if (folder == NULL) return assay_fail_memory(err, strlen(run->folder) + 1);
  assay_status st = ASSAY_OK;
  if (strcmp(folder, run->folder) != 0)
    st =
        assay_fail(err, ASSAY_E_FORMAT, "'folder': expected '%s', found '%s'", folder, run->folder);
  assay_free(folder);
  return st;
}

static assay_status read_settings(const assay_json *root, assay_package *out, assay_error *err) {
  const assay_json *settings = NULL;
  void *list = NULL;
  ASSAY_TRY(assay_json_need_object(root, "settings", &settings, err));
  ASSAY_TRY(assay_fields_read(settings, settings_fields, N_OF(settings_fields), settings_others,
                              N_OF(settings_others), out, err));
  ASSAY_TRY(assay_json_need_int(settings, "processes", 1, INT64_MAX, &out->processes, err));
  assay_status st = assay_fields_list_by(settings, "tolerances", read_tolerance,
                                         sizeof *out->tolerances, &list, &out->n_tolerances, err);
  out->tolerances = list;
  return st;
}

static assay_status read_lists(const assay_json *root, assay_package *out, assay_error *err) {
  void *runtimes = NULL, *bundles = NULL, *cells = NULL, *sources = NULL, *runs = NULL;
  assay_status st = assay_fields_list_by(root, "runtimes", read_runtime, sizeof *out->runtimes,
                                         &runtimes, &out->n_runtimes, err);
  out->runtimes = runtimes;
  ASSAY_TRY(st);
  st = assay_fields_list(root, "bundles", bundle_fields, N_OF(bundle_fields), sizeof *out->bundles,
                         &bundles, &out->n_bundles, err);
  out->bundles = bundles;
  ASSAY_TRY(st);
  if (assay_json_get(root, "matrix") != NULL) {
    st = assay_fields_list(root, "matrix", cell_fields, N_OF(cell_fields), sizeof *out->cells,
                           &cells, &out->n_cells, err);
    out->cells = cells;
    ASSAY_TRY(st);
  }
  if (assay_json_get(root, "sources") != NULL) {
    st = assay_fields_list_by(root, "sources", read_source, sizeof *out->sources, &sources,
                              &out->n_sources, err);
    out->sources = sources;
    ASSAY_TRY(st);
  }
  st = assay_fields_list_by(root, "runs", read_run, sizeof *out->runs, &runs, &out->n_runs, err);
  out->runs = runs;
  return st;
}

static assay_status read_tree(const assay_json *root, assay_package *out, assay_error *err) {
  const assay_json *files = NULL;
  char sha256[65];
  ASSAY_TRY(assay_fields_sha256(root, "tree_sha256", /*may_be_empty=*/true, out->tree_sha256, err));
  ASSAY_TRY(assay_json_need_array(root, "files", &files, err));
  ASSAY_TRY(assay_tree_of_json(files, &out->files, err));
  if (out->tree_sha256[0] == '\0') return ASSAY_OK;
  ASSAY_TRY(assay_tree_sha256(&out->files, sha256, err));
  if (strcmp(sha256, out->tree_sha256) != 0)
    return assay_fail(err, ASSAY_E_FORMAT, "'tree_sha256': expected %s for these files, found %s",
                      sha256, out->tree_sha256);
  return ASSAY_OK;
}

static assay_status read_root(const assay_json *root, assay_package *out, assay_error *err) {
  const assay_json *tool = NULL;
  const char *name = NULL;
  char own[65]; /* assay_package_check is who compares it */
  ASSAY_TRY(assay_json_need_schema(root, "package", 1, err));
  ASSAY_TRY(assay_json_only_keys(root, root_keys, N_OF(root_keys), err));
  ASSAY_TRY(assay_json_need_object(root, "tool", &tool, err));
  ASSAY_TRY(assay_json_only_keys(tool, tool_keys, N_OF(tool_keys), err));
  ASSAY_TRY(assay_json_need_string(tool, "name", &name, err));
  ASSAY_TRY(assay_fields_string(tool, "version", &out->tool_version, err));
  ASSAY_TRY(assay_fields_sha256(tool, "sha256", /*may_be_empty=*/false, out->tool_sha256, err));
  ASSAY_TRY(assay_fields_text(root, "started_at", out->started_at, sizeof out->started_at, err));
  if (!assay_fields_is_null(root, "finished_at"))
    ASSAY_TRY(
        assay_fields_text(root, "finished_at", out->finished_at, sizeof out->finished_at, err));
  ASSAY_TRY(assay_fields_strings(root, "command", &out->command, &out->n_command, err));
  ASSAY_TRY(read_settings(root, out, err));
  ASSAY_TRY(read_lists(root, out, err));
  if (!assay_fields_is_null(root, "machine"))
    ASSAY_TRY(assay_fields_path(root, "machine", &out->machine, err));
  else
    ASSAY_TRY(assay_fields_string_or_null(root, "machine", &out->machine, err));
  ASSAY_TRY(assay_fields_sha256(root, "sha256", /*may_be_empty=*/false, own, err));
  return read_tree(root, out, err);
}

assay_status assay_package_read(const char *package_path, assay_package *out, assay_error *err) {
  assay_package package = {0};
  assay_json *root = NULL;
  char *path = assay_path_join(package_path, ASSAY_PACKAGE_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(package_path) + sizeof ASSAY_PACKAGE_FILE);
  assay_status st = assay_json_read(path, PACKAGE_MAX_BYTES, &root, err);
  if (st) goto done;
  st = read_root(root, &package, err);
  if (st) {
    assay_error_in(err, "'%s'", path);
    goto done;
  }
  *out = package;
  package = (assay_package){0};
done:
  assay_package_reset(&package);
  assay_json_destroy(root);
  assay_free(path);
  return st;
}

/* --- its own digest ------------------------------------------------------------------------------
 */

/* Where the digits are in the text; NULL when it does not end as package.json does. */
static char *own_digits(const assay_buf *text) {
  size_t after = strlen(DIGEST_AFTER), before = strlen(DIGEST_BEFORE);
  if (text->size_bytes < before + DIGEST_DIGITS + after) return NULL;
  char *digits = (char *)text->data + (text->size_bytes - after - DIGEST_DIGITS);
  bool is_there = memcmp(digits - before, DIGEST_BEFORE, before) == 0 &&
                  memcmp(digits + DIGEST_DIGITS, DIGEST_AFTER, after) == 0;
  return is_there ? digits : NULL;
}

assay_status assay_package_check(const char *package_path, assay_error *err) {
  assay_buf text = {0};
  char found[65] = "", expected[65] = "";
  char *path = assay_path_join(package_path, ASSAY_PACKAGE_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(package_path) + sizeof ASSAY_PACKAGE_FILE);
  assay_status st = assay_file_read(path, PACKAGE_MAX_BYTES, &text, err);
  if (st) goto done;
  char *digits = own_digits(&text);
  if (digits == NULL) {
    st = assay_fail(err, ASSAY_E_MISMATCH,
                    "'%s': expected its own SHA-256 as the last member, found another end", path);
    goto done;
  }
  memcpy(found, digits, DIGEST_DIGITS);
  memcpy(digits, DIGEST_NONE, DIGEST_DIGITS);
  st = assay_sha256_bytes(text.data, text.size_bytes, expected, err);
  if (st == ASSAY_OK && strcmp(found, expected) != 0)
    st = assay_fail(err, ASSAY_E_MISMATCH, "'%s': it says that its SHA-256 is %s, found %s", path,
                    found, expected);
done:
  assay_buf_reset(&text);
  assay_free(path);
  return st;
}

/* --- writing -------------------------------------------------------------------------------------
 */

static void put_settings(const assay_package *package, assay_json_builder *b) {
  assay_json_begin_object(b, "settings");
  assay_fields_put(settings_fields, N_OF(settings_fields), package, b);
  assay_json_put_int(b, "processes", package->processes > 0 ? package->processes : 1);
  assay_json_begin_array(b, "tolerances");
  for (size_t i = 0; i < package->n_tolerances; i++) {
    const assay_package_tolerance *tolerance = &package->tolerances[i];
    assay_json_begin_object(b, NULL);
    assay_json_put_string(b, "head", tolerance->head);
    if (tolerance->has_atol)
      assay_json_put_real(b, "atol", tolerance->atol);
    else
      assay_json_put_null(b, "atol");
    if (tolerance->has_rtol)
      assay_json_put_real(b, "rtol", tolerance->rtol);
    else
      assay_json_put_null(b, "rtol");
    assay_json_end(b);
  }
  assay_json_end(b);
  assay_json_end(b);
}

static void put_runtimes(const assay_package *package, assay_json_builder *b) {
  assay_json_begin_array(b, "runtimes");
  for (size_t i = 0; i < package->n_runtimes; i++) {
    assay_json_begin_object(b, NULL);
    assay_fields_put(runtime_fields, N_OF(runtime_fields), &package->runtimes[i], b);
    assay_json_put_copy(b, "spec", package->runtimes[i].spec);
    assay_json_end(b);
  }
  assay_json_end(b);
}

static void put_bundles(const assay_package *package, assay_json_builder *b) {
  assay_fields_put_list(b, "bundles", bundle_fields, N_OF(bundle_fields), package->bundles,
                        sizeof *package->bundles, package->n_bundles);
}

static void put_matrix(const assay_package *package, assay_json_builder *b) {
  if (package->n_cells == 0) return;
  assay_fields_put_list(b, "matrix", cell_fields, N_OF(cell_fields), package->cells,
                        sizeof *package->cells, package->n_cells);
}

static void put_sources(const assay_package *package, assay_json_builder *b) {
  if (package->n_sources == 0) return;
  assay_json_begin_array(b, "sources");
  for (size_t i = 0; i < package->n_sources; i++) {
    const assay_package_source *source = &package->sources[i];
    assay_json_begin_object(b, NULL);
    assay_fields_put(source_fields, N_OF(source_fields), source, b);
    assay_fields_put_strings(b, "command", source->command, source->n_command);
    assay_json_end(b);
  }
  assay_json_end(b);
}

static void put_runs(const assay_package *package, assay_json_builder *b) {
  assay_json_begin_array(b, "runs");
  for (size_t i = 0; i < package->n_runs; i++) {
    assay_json_begin_object(b, NULL);
    assay_fields_put(run_fields, N_OF(run_fields), &package->runs[i], b);
    assay_json_put_string(b, "mode", assay_result_mode_name(package->runs[i].mode));
    assay_json_end(b);
  }
  assay_json_end(b);
}

static void put_root(const assay_package *package, assay_json_builder *b) {
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "schema", ASSAY_PACKAGE_SCHEMA);
  assay_json_begin_object(b, "tool");
  assay_json_put_string(b, "name", "assay");
  assay_json_put_string(b, "version", package->tool_version);
  assay_json_put_string(b, "sha256", package->tool_sha256);
  assay_json_end(b);
  assay_json_put_string(b, "started_at", package->started_at);
  assay_json_put_string(b, "finished_at",
                        package->finished_at[0] != '\0' ? package->finished_at : NULL);
  assay_fields_put_strings(b, "command", package->command, package->n_command);
  put_settings(package, b);
  put_runtimes(package, b);
  put_bundles(package, b);
  put_matrix(package, b);
  put_sources(package, b);
  assay_json_put_string(b, "machine", package->machine);
  put_runs(package, b);
  assay_json_put_string(b, "tree_sha256", package->tree_sha256);
  assay_tree_put(&package->files, b, "files");
  assay_json_put_string(b, "sha256", DIGEST_NONE);
  assay_json_end(b);
}

/* The text with its digest in place of the zeros. */
static assay_status finish_text(const assay_package *package, assay_json_builder *b, assay_buf *out,
                                assay_error *err) {
  char sha256[65];
  put_root(package, b);
  ASSAY_TRY(assay_json_builder_finish(b, out, err));
  ASSAY_TRY(assay_sha256_bytes(out->data, out->size_bytes, sha256, err));
  char *digits = own_digits(out);
  if (digits == NULL) return assay_fail(err, ASSAY_E_INTERNAL, "package.json ends in another way");
  memcpy(digits, sha256, DIGEST_DIGITS);
  return ASSAY_OK;
}

assay_status assay_package_write(const assay_package *package, const char *package_path,
                                 assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  assay_buf text = {0};
  char *path = assay_path_join(package_path, ASSAY_PACKAGE_FILE);
  assay_status st = ASSAY_OK;
  if (b == NULL || path == NULL) {
    st = assay_fail_memory(err, strlen(package_path) + sizeof ASSAY_PACKAGE_FILE);
    goto done;
  }
  st = finish_text(package, b, &text, err);
  if (st == ASSAY_OK) st = assay_file_write(path, text.data, text.size_bytes, err);
done:
  assay_json_builder_destroy(b);
  assay_buf_reset(&text);
  assay_free(path);
  return st;
}

/* --- the rest ------------------------------------------------------------------------------------
 */

void assay_package_reset(assay_package *package) {
  assay_free(package->tool_version);
  assay_fields_strings_destroy(package->command, package->n_command);
  for (size_t i = 0; i < package->n_tolerances; i++) assay_free(package->tolerances[i].head);
  assay_free(package->tolerances);
  for (size_t i = 0; i < package->n_runtimes; i++) {
    assay_fields_reset(runtime_fields, N_OF(runtime_fields), &package->runtimes[i]);
    assay_json_destroy(package->runtimes[i].spec);
  }
  assay_free(package->runtimes);
  for (size_t i = 0; i < package->n_bundles; i++)
    assay_fields_reset(bundle_fields, N_OF(bundle_fields), &package->bundles[i]);
  assay_free(package->bundles);
  for (size_t i = 0; i < package->n_cells; i++)
    assay_fields_reset(cell_fields, N_OF(cell_fields), &package->cells[i]);
  assay_free(package->cells);
  for (size_t i = 0; i < package->n_sources; i++) {
    assay_fields_strings_destroy(package->sources[i].command, package->sources[i].n_command);
    assay_fields_reset(source_fields, N_OF(source_fields), &package->sources[i]);
  }
  assay_free(package->sources);
  assay_free(package->machine);
  for (size_t i = 0; i < package->n_runs; i++)
    assay_fields_reset(run_fields, N_OF(run_fields), &package->runs[i]);
  assay_free(package->runs);
  assay_tree_reset(&package->files);
  *package = (assay_package){0};
}

bool assay_package_is_planned(const assay_package *package, const char *runtime,
                              const char *bundle) {
  bool planned = package->n_cells == 0;
  for (size_t i = 0; i < package->n_cells && !planned; i++)
    planned = strcmp(package->cells[i].runtime, runtime) == 0 &&
              strcmp(package->cells[i].bundle, bundle) == 0;
  return planned;
}

bool assay_package_is_of_tool(const assay_package *package, const char *tool_sha256,
                              const char *tool_version) {
  bool found = strcmp(package->tool_sha256, tool_sha256) == 0 &&
               strcmp(package->tool_version, tool_version) == 0;
  for (size_t i = 0; i < package->n_sources && !found; i++)
    found = strcmp(package->sources[i].tool_sha256, tool_sha256) == 0 &&
            strcmp(package->sources[i].tool_version, tool_version) == 0;
  return found;
}

/* A result that stands for one that is not there. */
static assay_status stand_in(const assay_package_run *run, assay_result_status status,
                             const char *reason, assay_result *out, assay_error *err) {
  assay_result result = {.mode = run->mode, .status = status};
  result.stage = ASSAY_STAGE_START;
  result.completeness = ASSAY_VERDICT_FAIL;
  bool timing = run->mode == ASSAY_RESULT_TIMING;
  if (timing) result.placed = ASSAY_VERDICT_NOT_APPLICABLE;
  if (!timing) result.numbers = result.timed = ASSAY_VERDICT_NOT_APPLICABLE;
  result.runtime = assay_strdup(run->runtime);
  result.bundle = assay_strdup(run->bundle);
  result.case_name = assay_strdup(run->case_name);
  result.reason = assay_strdup(reason);
  result.provider = assay_strdup("");
  result.tool_version = assay_strdup("");
  if (result.runtime == NULL || result.bundle == NULL || result.case_name == NULL ||
      result.reason == NULL || result.provider == NULL || result.tool_version == NULL) {
    assay_result_reset(&result);
    return assay_fail_memory(err, strlen(reason) + 1);
  }
  *out = result;
  return ASSAY_OK;
}

static bool is_of_run(const assay_result *result, const assay_package_run *run) {
  return result->mode == run->mode && strcmp(result->runtime, run->runtime) == 0 &&
         strcmp(result->bundle, run->bundle) == 0 && strcmp(result->case_name, run->case_name) == 0;
}

assay_status assay_package_result(const assay_package *package, const char *package_path, size_t i,
                                  assay_result *out, assay_error *err) {
  const assay_package_run *run = &package->runs[i];
  assay_error reading = {0};
  assay_result result = {0};
  char *path = assay_format("%s/%s/result.json", package_path, run->folder);
  if (path == NULL) return assay_fail_memory(err, strlen(package_path) + strlen(run->folder));
  assay_status st = ASSAY_OK;
  if (assay_path_kind_of(path) == ASSAY_PATH_NONE) {
    st = stand_in(run, ASSAY_RESULT_MISSING, "the run is planned, and was not made", out, err);
  } else if (assay_result_read(path, &result, &reading)) {
    st = reading.status == ASSAY_E_MEMORY
             ? assay_fail(err, ASSAY_E_MEMORY, "%s", reading.text)
             : stand_in(run, ASSAY_RESULT_FAILED, reading.text, out, err);
  } else if (!is_of_run(&result, run)) {
    st = stand_in(run, ASSAY_RESULT_FAILED, "its result.json is that of another run", out, err);
  } else {
    *out = result;
    result = (assay_result){0};
  }
  assay_result_reset(&result);
  assay_free(path);
  return st;
}

static assay_status seal_folder(assay_package *package, const char *package_path,
                                const char *folder, assay_error *err) {
  assay_tree below = {0};
  char *path = assay_path_join(package_path, folder);
  if (path == NULL) return assay_fail_memory(err, strlen(package_path) + strlen(folder) + 2);
  assay_status st = ASSAY_OK;
  if (assay_path_kind_of(path) != ASSAY_PATH_NONE)
    st = assay_tree_scan(path, /*skip=*/NULL, /*n_skip=*/0, &below, err);
  if (st == ASSAY_OK) st = assay_tree_replace(&package->files, folder, &below, err);
  if (st == ASSAY_OK) st = assay_tree_sha256(&package->files, package->tree_sha256, err);
  assay_tree_reset(&below);
  assay_free(path);
  return st;
}

assay_status assay_package_seal(const char *package_path, const char *folder, assay_error *err) {
  assay_package package = {0};
  if (!assay_fields_is_name(folder))
    return assay_fail(err, ASSAY_E_ARGUMENT, "'%s': expected a folder of the package", folder);
  ASSAY_TRY(assay_package_read(package_path, &package, err));
  assay_status st = ASSAY_OK;
  if (package.finished_at[0] != '\0') { /* an unfinished one gets its tree when it is finished */
    st = assay_package_check(package_path, err); /* never blessed either */
    if (st == ASSAY_OK) st = seal_folder(&package, package_path, folder, err);
    if (st == ASSAY_OK) st = assay_package_write(&package, package_path, err);
  }
  assay_package_reset(&package);
  return st;
}
