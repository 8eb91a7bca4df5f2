/* Opening an ONNX Runtime library: the loader, the version rule of the C API, the environment. */
#define _GNU_SOURCE /* dladdr */ /* NOLINT */
#include "runtime/ort.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "runtime/keep_mapped.h"
#include "runtime/ort_internal.h"
#include "runtime/ort_words.h"
#include "runtime/shared_object.h"

#define ERROR_SEVERITY 3

assay_status assay_ort_take(const assay_ort *ort, OrtStatus *refusal, assay_status status,
                            const char *what, assay_error *err) {
  if (refusal == NULL) return ASSAY_OK;
  char words[1024];
  assay_ort_words(ort->api->GetErrorMessage(refusal), words, sizeof words);
  ort->api->ReleaseStatus(refusal);
  return assay_fail(err, status, "%s: %s", what, words);
}

void assay_ort_forget_errors(assay_ort *ort) {
  pthread_mutex_lock(&ort->error_lock);
  ort->last_error[0] = '\0';
  pthread_mutex_unlock(&ort->error_lock);
}

void assay_ort_logged_words(assay_ort *ort, char *out, size_t out_bytes) {
  out[0] = '\0';
  pthread_mutex_lock(&ort->error_lock);
  if (ort->last_error[0] != '\0') assay_ort_words(ort->last_error, out, out_bytes);
  pthread_mutex_unlock(&ort->error_lock);
}

/* What the runtime calls to log; param is the assay_ort. */
static void pass_log(void *param, int severity, const char *category, const char *id,
                     const char *location, const char *message) {
  assay_ort *ort = param;
  if (severity >= ERROR_SEVERITY) {
    pthread_mutex_lock(&ort->error_lock);
    snprintf(ort->last_error, sizeof ort->last_error, "%s", message);
    pthread_mutex_unlock(&ort->error_lock);
  }
  if (ort->options.log == NULL) return;
  ort->options.log(ort->options.log_arg, severity, category, id, location, message);
}

/* The loader's words begin with the path, which our message has already. */
static const char *loader_words(const char *path) {
  const char *words = dlerror();
  if (words == NULL) return "no reason given";
  size_t n = strlen(path);
  if (strncmp(words, path, n) == 0 && strncmp(words + n, ": ", 2) == 0) return words + n + 2;
  return words;
}

static assay_status load(const char *path, int scope, void **out, assay_error *err) {
  if (strchr(path, '/') != NULL) ASSAY_TRY(assay_shared_object_check(path, err));
  *out = dlopen(path, RTLD_NOW | scope);
  if (*out == NULL)
    return assay_fail(err, ASSAY_E_MISSING, "'%s' cannot be loaded: %s", path, loader_words(path));
  return ASSAY_OK;
}

assay_status assay_ort_preload(const char *const *paths, size_t n, assay_error *err) {
  for (size_t i = 0; i < n; ++i) {
    void *handle = NULL; /* never closed: it is to stay */
    assay_status st = load(paths[i], RTLD_GLOBAL, &handle, err);
    if (st) {
      assay_error_in(err, "library to load ahead");
      return st;
    }
  }
  return ASSAY_OK;
}

/* Major and minor version of text such as "1.32.0"; false when it does not read so. */
static bool parse_version(const char *text, unsigned *out_major, unsigned *out_minor) {
  return text != NULL && sscanf(text, "%3u.%3u", out_major, out_minor) == 2;
}

/* The table of functions: the newest that both sides know. */
static assay_status find_api(assay_ort *ort, const char *path, assay_error *err) {
  /* ISO C has no conversion from an object pointer to a function; POSIX has, through memory. */
  void *symbol = dlsym(ort->handle, "OrtGetApiBase");
  if (symbol == NULL)
    return assay_fail(err, ASSAY_E_MISSING, "'%s' is not ONNX Runtime: it has no OrtGetApiBase",
                      path);
  const assay_ort_api_base *(*get_base)(void);
  memcpy(&get_base, &symbol, sizeof symbol);
  const assay_ort_api_base *base = get_base();
  if (base == NULL || base->GetVersionString == NULL)
    return assay_fail(err, ASSAY_E_MISSING, "'%s' is not ONNX Runtime: OrtGetApiBase gives nothing",
                      path);
  const char *version = base->GetVersionString();
  unsigned major = 0, minor = 0;
  if (!parse_version(version, &major, &minor))
    return assay_fail(err, ASSAY_E_MISSING, "'%s' is not ONNX Runtime: it calls its version '%s'",
                      path, version != NULL ? version : "");
  if (major != 1 || minor < ASSAY_ORT_ABI_OLDEST)
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "'%s' is ONNX Runtime %s; assay works with 1.%d and newer of the 1.x series",
                      path, version, ASSAY_ORT_ABI_OLDEST);
  ort->api_version = minor < ASSAY_ORT_ABI_NEWEST ? minor : ASSAY_ORT_ABI_NEWEST;
  ort->api = base->GetApi(ort->api_version);
  if (ort->api == NULL)
    return assay_fail(err, ASSAY_E_RUNTIME,
                      "'%s' (ONNX Runtime %s) does not give version %" PRIu32 " of its C API", path,
                      version, ort->api_version);
  ort->version = assay_strdup(version);
  if (ort->version == NULL) return assay_fail_memory(err, strlen(version) + 1);
  return ASSAY_OK;
}

/* The file that the loader mapped, by the address of the table. */
static assay_status find_path(assay_ort *ort, const char *path, assay_error *err) {
  Dl_info info = {0};
  void *symbol = dlsym(ort->handle, "OrtGetApiBase");
  const char *mapped = dladdr(symbol, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : path;
  char *real = realpath(mapped, NULL);
  ort->path = assay_strdup(real != NULL ? real : mapped);
  free(real);
  return ort->path != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(mapped) + 1);
}

static assay_status copy_providers(assay_ort *ort, char **names, int n, assay_error *err) {
  ort->providers = assay_alloc_array(n > 0 ? (size_t)n : 1, sizeof *ort->providers);
  if (ort->providers == NULL) return assay_fail_memory(err, sizeof *ort->providers);
  for (int i = 0; i < n; ++i) {
    char *name = assay_strdup(names[i]);
    if (name == NULL) return assay_fail_memory(err, strlen(names[i]) + 1);
    ort->providers[ort->n_providers++] = name;
  }
  return ASSAY_OK;
}

static assay_status find_providers(assay_ort *ort, assay_error *err) {
  char **names = NULL;
  int n = 0;
  ASSAY_TRY(assay_ort_take(ort, ort->api->GetAvailableProviders(&names, &n), ASSAY_E_RUNTIME,
                           "GetAvailableProviders", err));
  assay_status st = copy_providers(ort, names, n, err);
  OrtStatus *refusal = ort->api->ReleaseAvailableProviders(names, n);
  if (refusal != NULL) ort->api->ReleaseStatus(refusal);
  return st;
}

/* Starts the environment; without a reader of the log only errors are made into text. */
static assay_status start(assay_ort *ort, assay_error *err) {
  int severity = ort->options.log != NULL ? ort->options.log_severity : ERROR_SEVERITY;
  ASSAY_TRY(assay_ort_take(
      ort, ort->api->CreateEnvWithCustomLogger(pass_log, ort, severity, "assay", &ort->env),
      ASSAY_E_RUNTIME, "CreateEnv", err));
  const char *build_info = ort->api->GetBuildInfoString();
  ort->build_info = assay_strdup(build_info != NULL ? build_info : "");
  if (ort->build_info == NULL) return assay_fail_memory(err, 1);
  return find_providers(ort, err);
}

/* A name without a slash is a file here before it is one that the loader looks up; the loader
 * itself would not look here. */
static void local_path(const char *asked, char *out, size_t out_bytes) {
  bool is_here = strchr(asked, '/') == NULL && assay_path_kind_of(asked) == ASSAY_PATH_FILE;
  snprintf(out, out_bytes, "%s%s", is_here ? "./" : "", asked);
}

static assay_status open_into(assay_ort *ort, const char *asked, assay_error *err) {
  char path[4096];
  local_path(asked, path, sizeof path);
  ASSAY_TRY(load(path, RTLD_LOCAL, &ort->handle, err));
  assay_status st = find_api(ort, path, err);
  if (st) {
    dlclose(ort->handle); /* it has started nothing yet */
    return st;
  }
  ASSAY_TRY(find_path(ort, path, err));
  return start(ort, err);
}

assay_status assay_ort_open(const char *library_path, const assay_ort_options *options,
                            assay_ort **out, assay_error *err) {
  if (setenv("ORT_DISABLE_TELEMETRY", "1", /*overwrite=*/1) != 0)
    return assay_fail_memory(err, sizeof "ORT_DISABLE_TELEMETRY=1");
  assay_ort *ort = assay_alloc(sizeof *ort);
  if (ort == NULL) return assay_fail_memory(err, sizeof *ort);
  pthread_mutex_init(&ort->error_lock, NULL);
  if (options != NULL) ort->options = *options;
  assay_status st = open_into(ort, library_path, err);
  if (st) {
    assay_ort_close(ort);
    return st;
  }
  *out = ort;
  return ASSAY_OK;
}

void assay_ort_close(assay_ort *ort) {
  if (ort == NULL) return;
  assay_keep_mapped();
  if (ort->env != NULL) ort->api->ReleaseEnv(ort->env);
  for (size_t i = 0; i < ort->n_providers; ++i) assay_free(ort->providers[i]);
  assay_free(ort->providers);
  assay_free(ort->version);
  assay_free(ort->build_info);
  assay_free(ort->path);
  pthread_mutex_destroy(&ort->error_lock);
  assay_free(ort);
}

const char *assay_ort_version(const assay_ort *ort) {
  return ort->version;
}
const char *assay_ort_build_info(const assay_ort *ort) {
  return ort->build_info;
}
const char *assay_ort_path(const assay_ort *ort) {
  return ort->path;
}
uint32_t assay_ort_api_level(const assay_ort *ort) {
  return ort->api_version;
}
size_t assay_ort_n_providers(const assay_ort *ort) {
  return ort->n_providers;
}
const char *assay_ort_provider(const assay_ort *ort, size_t i) {
  return ort->providers[i];
}

bool assay_ort_has_provider(const assay_ort *ort, const char *full_name) {
  for (size_t i = 0; i < ort->n_providers; ++i)
    if (strcmp(ort->providers[i], full_name) == 0) return true;
  return false;
}
