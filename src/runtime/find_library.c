/* Looking for ONNX Runtime. */
#define _GNU_SOURCE /* dladdr */ /* NOLINT */
#include "runtime/find_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/text.h"

#define LIBRARY_PREFIX "libonnxruntime.so"

static const char *const loader_names[] = {"libonnxruntime.so.1", "libonnxruntime.so"};

static const char *from_environment(void) {
  const char *path = getenv("ASSAY_ORT");
  return path != NULL && path[0] != '\0' ? path : NULL;
}

/* <folder of the program>/../deps/<relative>, or NULL. */
static char *in_deps(const char *relative) {
  char *self = NULL;
  if (assay_child_self_path(&self, NULL)) return NULL;
  char *slash = strrchr(self, '/');
  if (slash != NULL) *slash = '\0';
  char *path = assay_format("%s/../deps/%s", self, relative);
  assay_free(self);
  return path;
}

static char *deps_folder(void) {
  return in_deps("onnxruntime");
}

assay_status assay_find_in_deps(const char *relative, char **out_path, assay_error *err) {
  char *path = in_deps(relative);
  if (path == NULL) return assay_fail_memory(err, strlen(relative) + 256);
  if (assay_path_kind_of(path) == ASSAY_PATH_NONE) {
    assay_free(path);
    path = NULL;
  }
  *out_path = path;
  return ASSAY_OK;
}

/* "libonnxruntime.so", or that with ".1.2.3" behind it: not libonnxruntime.so.sha256. */
static bool is_library_name(const char *name) {
  if (!assay_text_has_prefix(name, LIBRARY_PREFIX)) return false;
  const char *rest = name + strlen(LIBRARY_PREFIX);
  return strspn(rest, ".0123456789") == strlen(rest);
}

/* Versions by their numbers, so that 1.9 comes before 1.10. */
static int compare_versions(const char *a, const char *b) {
  while (*a != '\0' && *b != '\0') {
    char *end_a, *end_b;
    unsigned long x = strtoul(a + (*a == '.'), &end_a, 10);
    unsigned long y = strtoul(b + (*b == '.'), &end_b, 10);
    if (x != y) return x < y ? -1 : 1;
    if (end_a == a || end_b == b) break;
    a = end_a;
    b = end_b;
  }
  return strcmp(a, b);
}

static int compare_library_names(const void *a, const void *b) {
  size_t n = strlen(LIBRARY_PREFIX);
  return -compare_versions(*(char *const *)a + n, *(char *const *)b + n);
}

/* Libraries in the folder of dependencies, newest first; none is fine. */
static void list_deps(const char *folder, assay_names *out) {
  if (folder == NULL || assay_folder_list(folder, out, NULL)) return;
  size_t kept = 0;
  for (size_t i = 0; i < out->n; ++i) {
    if (is_library_name(out->items[i])) {
      out->items[kept++] = out->items[i];
    } else {
      assay_free(out->items[i]);
    }
  }
  out->n = kept;
  if (kept > 1) qsort(out->items, kept, sizeof *out->items, compare_library_names);
}

/* The file that the loader finds under name, or NULL. It is mapped only while we look. */
static char *from_loader(const char *name) {
  void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (handle == NULL) return NULL;
  Dl_info info = {0};
  void *symbol = dlsym(handle, "OrtGetApiBase");
  char *path = NULL;
  if (symbol != NULL && dladdr(symbol, &info) != 0) path = assay_strdup(info.dli_fname);
  dlclose(handle);
  return path;
}

static assay_status nowhere(const char *folder, assay_error *err) {
  return assay_fail(
      err, ASSAY_E_MISSING,
      "no ONNX Runtime library: ASSAY_ORT is not set, '%s' holds none, and the system has no "
      "libonnxruntime.so.1; run 'make deps' or set ASSAY_ORT=/path/to/libonnxruntime.so",
      folder != NULL ? folder : "deps/onnxruntime");
}

static char *find_here(const char *folder) {
  assay_names names = {0};
  list_deps(folder, &names);
  char *path = names.n > 0 ? assay_path_join(folder, names.items[0]) : NULL;
  assay_names_reset(&names);
  for (size_t i = 0; path == NULL && i < sizeof loader_names / sizeof *loader_names; ++i)
    path = from_loader(loader_names[i]);
  return path;
}

assay_status assay_find_library(const char *asked_for, char **out_path, assay_error *err) {
  const char *given = asked_for != NULL ? asked_for : from_environment();
  if (given != NULL) {
    *out_path = assay_strdup(given);
    return *out_path != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(given) + 1);
  }
  char *folder = deps_folder();
  char *path = find_here(folder);
  assay_status st = path != NULL ? ASSAY_OK : nowhere(folder, err);
  assay_free(folder);
  if (!st) *out_path = path;
  return st;
}

/* Adds the real path, unless it is there already; takes path over. */
static assay_status add_path(assay_names *names, char *path, assay_error *err) {
  char *real = realpath(path, NULL);
  char *copy = assay_strdup(real != NULL ? real : path);
  free(real);
  assay_free(path);
  if (copy == NULL) return assay_fail_memory(err, 1);
  for (size_t i = 0; i < names->n; ++i) {
    if (strcmp(names->items[i], copy) != 0) continue;
    assay_free(copy);
    return ASSAY_OK;
  }
  void *items = names->items;
  size_t old_bytes = names->n * sizeof *names->items;
  assay_status st = assay_resize(&items, old_bytes, old_bytes + sizeof *names->items, err);
  if (st) {
    assay_free(copy);
    return st;
  }
  names->items = items;
  names->items[names->n++] = copy;
  return ASSAY_OK;
}

static assay_status add_deps(assay_names *names, assay_error *err) {
  char *folder = deps_folder();
  assay_names found = {0};
  list_deps(folder, &found);
  assay_status st = ASSAY_OK;
  for (size_t i = 0; !st && i < found.n; ++i) {
    char *path = assay_path_join(folder, found.items[i]);
    st = path != NULL ? add_path(names, path, err) : assay_fail_memory(err, 1);
  }
  assay_names_reset(&found);
  assay_free(folder);
  return st;
}

static assay_status add_all(assay_names *names, assay_error *err) {
  const char *given = from_environment();
  if (given != NULL) {
    char *path = assay_strdup(given);
    if (path == NULL) return assay_fail_memory(err, strlen(given) + 1);
    ASSAY_TRY(add_path(names, path, err));
  }
  ASSAY_TRY(add_deps(names, err));
  for (size_t i = 0; i < sizeof loader_names / sizeof *loader_names; ++i) {
    char *path = from_loader(loader_names[i]);
    if (path != NULL) ASSAY_TRY(add_path(names, path, err));
  }
  return ASSAY_OK;
}

assay_status assay_find_libraries(assay_names *out, assay_error *err) {
  assay_names names = {0};
  assay_status st = add_all(&names, err);
  if (st) {
    assay_names_reset(&names);
    return st;
  }
  *out = names;
  return ASSAY_OK;
}
