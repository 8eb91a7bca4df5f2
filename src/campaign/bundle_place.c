/* Where a bundle goes. Folders beside the destination hold what is not complete yet, and the bundle
 * that is being replaced, so that a death at any moment leaves either bundle whole. */
#include "campaign/bundle_place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "package/manifest.h"

#define UNFINISHED "tmp"
#define REPLACED   "old"

/* True for what an export writes, and for external data of the model (or the folder they are in).
 */
static bool is_ours(const assay_manifest *manifest, const char *name) {
  static const char *const OURS[] = {"manifest.json", "model.onnx", "models", "cases"};
  const size_t n = strlen(name);
  for (size_t i = 0; i < N_OF(OURS); i++)
    if (strcmp(name, OURS[i]) == 0) return true;
  for (size_t i = 0; i < manifest->n_external; i++) {
    const char *file = manifest->external[i].file;
    if (strncmp(file, name, n) == 0 && (file[n] == '\0' || file[n] == '/')) return true;
  }
  return false;
}

/* A folder with a manifest that reads, and nothing that an export or import does not write. */
static bool is_bundle(const char *path, const assay_names *names) {
  assay_manifest manifest = {0};
  bool ours = assay_manifest_read(path, &manifest, /*err=*/NULL) == ASSAY_OK;
  for (size_t i = 0; i < names->n && ours; i++) ours = is_ours(&manifest, names->items[i]);
  assay_manifest_reset(&manifest);
  return ours;
}

static assay_status check_folder(const char *path, bool force, const assay_names *names,
                                 assay_error *err) {
  if (names->n == 0) return ASSAY_OK;
  if (!is_bundle(path, names))
    return assay_fail(
        err, ASSAY_E_ARGUMENT,
        "'%s' holds something else than a bundle ('%s' is there); choose another folder", path,
        names->items[0]);
  if (!force)
    return assay_fail(err, ASSAY_E_ARGUMENT, "'%s' holds a bundle already; --force replaces it",
                      path);
  return ASSAY_OK;
}

/* What a rename cannot replace, or should not: told before hours of references, not after. */
static assay_status check_name(const char *path, assay_error *err) {
  const char *name = assay_path_name(path);
  struct stat info;
  if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "'%s' is no name for a bundle's folder, which is made new; give one", path);
  if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode))
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "'%s' is a symbolic link, which a bundle does not replace; give the folder "
                      "that it leads to",
                      path);
  return ASSAY_OK;
}

assay_status bundle_place_check(const char *path, bool force, assay_error *err) {
  assay_names names = {0};
  ASSAY_TRY(check_name(path, err));
  switch (assay_path_kind_of(path)) {
  case ASSAY_PATH_NONE:
    return ASSAY_OK;
  case ASSAY_PATH_FOLDER:
    break;
  case ASSAY_PATH_FILE:
  case ASSAY_PATH_OTHER:
    return assay_fail(err, ASSAY_E_ARGUMENT, "'%s' is there and is no folder; choose another name",
                      path);
  }
  ASSAY_TRY(assay_folder_list(path, &names, err));
  const assay_status st = check_folder(path, force, &names, err);
  assay_names_reset(&names);
  return st;
}

assay_status bundle_place_sync(const char *path, assay_error *err) {
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return assay_fail_errno(err, ASSAY_E_IO, errno, "could not open '%s'", path);
  const int failed = fsync(fd) != 0 && errno != EINVAL ? errno : 0; /* some file systems cannot */
  close(fd);
  if (failed) return assay_fail_errno(err, ASSAY_E_IO, failed, "could not sync '%s'", path);
  return ASSAY_OK;
}

/* The folder that path is in; released with assay_free. */
static char *parent_of(const char *path) {
  const char *slash = strrchr(path, '/');
  if (slash == NULL) return assay_strdup(".");
  return assay_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static assay_status rename_folder(const char *from, const char *to, assay_error *err) {
  if (rename(from, to) == 0) return ASSAY_OK;
  return assay_fail_errno(err, ASSAY_E_IO, errno, "could not rename '%s' to '%s'", from, to);
}

/* A new empty folder ".<name>.<kind>-<pid>-<i>" beside path. Its name is released with assay_free.
 */
static assay_status make_temporary(const char *path, const char *kind, char **out,
                                   assay_error *err) {
  char *parent = parent_of(path);
  if (parent == NULL) return assay_fail_memory(err, strlen(path));
  assay_status st = ASSAY_OK;
  for (int i = 0; *out == NULL && st == ASSAY_OK; i++) {
    char *name =
        assay_format("%s/.%s.%s-%ld-%d", parent, assay_path_name(path), kind, (long)getpid(), i);
    if (name == NULL) {
      st = assay_fail_memory(err, strlen(path));
    } else if (mkdir(name, 0777) == 0) {
      *out = name;
      st = ASSAY_OK;
    } else {
      const int failed = errno;
      assay_free(name);
      if (failed == EEXIST) continue;
      st = assay_fail_errno(err, ASSAY_E_IO, failed, "could not make a folder in '%s'", parent);
      break;
    }
  }
  assay_free(parent);
  return st;
}

/* The process that made "<prefix><pid>-<i>" is gone, as far as can be seen from here. */
static bool is_left_behind(const char *parent, const char *name, const char *prefix) {
  if (!assay_text_has_prefix(name, prefix)) return false;
  char *end = NULL;
  const long pid = strtol(name + strlen(prefix), &end, 10);
  if (pid <= 0 || *end != '-' || kill((pid_t)pid, 0) == 0 || errno != ESRCH) return false;
  /* The number may be one of another container or host, whose export holds a lock. */
  const int parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int fd =
      parent_fd < 0 ? -1 : openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const bool unlocked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (fd >= 0) close(fd);
  if (parent_fd >= 0) close(parent_fd);
  return unlocked;
}

/* Removes what killed exports to path left beside it; what cannot be removed stays. */
static assay_status remove_left_behind(const char *path, const char *kind, assay_error *err) {
  assay_names names = {0};
  char *parent = parent_of(path);
  char *prefix = assay_format(".%s.%s-", assay_path_name(path), kind);
  assay_status st = ASSAY_OK;
  if (parent == NULL || prefix == NULL) st = assay_fail_memory(err, strlen(path));
  if (st == ASSAY_OK && assay_folder_list(parent, &names, /*err=*/NULL) == ASSAY_OK) {
    for (size_t i = 0; i < names.n; i++) {
      if (!is_left_behind(parent, names.items[i], prefix)) continue;
      char *one = assay_path_join(parent, names.items[i]);
      if (one != NULL) (void)!assay_folder_remove(one, /*err=*/NULL);
      assay_free(one);
    }
  }
  assay_names_reset(&names);
  assay_free(prefix);
  assay_free(parent);
  return st;
}

/* The old bundle steps aside first and comes back should the new one not get its place. */
static assay_status replace_folder(const char *from, const char *to, assay_error *err) {
  char *aside = NULL;
  ASSAY_TRY(make_temporary(to, REPLACED, &aside, err));
  assay_status st = rename_folder(to, aside, err);
  if (st == ASSAY_OK) {
    st = rename_folder(from, to, err);
    if (st)
      (void)rename(aside, to);
    else
      st = assay_folder_remove(aside, err);
  } else {
    (void)rmdir(aside);
  }
  assay_free(aside);
  return st;
}

assay_status bundle_place_begin(bundle_place *place, const char *path, bool force,
                                assay_error *err) {
  *place = (bundle_place){.fd = -1, .force = force, .path = assay_strdup(path)};
  char *parent = parent_of(path);
  assay_status st = place->path == NULL || parent == NULL ? assay_fail_memory(err, strlen(path))
                                                          : assay_folder_create(parent, err);
  assay_free(parent);
  if (st == ASSAY_OK) st = remove_left_behind(path, UNFINISHED, err);
  if (st == ASSAY_OK) st = make_temporary(path, UNFINISHED, &place->folder, err);
  if (st) return st;
  place->fd = open(place->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (place->fd >= 0) (void)!flock(place->fd, LOCK_EX | LOCK_NB); /* not on all file systems */
  return ASSAY_OK;
}

assay_status bundle_place_finish(bundle_place *place, assay_error *err) {
  const char *path = place->path;
  ASSAY_TRY(bundle_place_check(path, place->force, err)); /* it may have changed meanwhile */
  assay_names names = {0};
  bool occupied = false;
  if (assay_path_kind_of(path) == ASSAY_PATH_FOLDER) {
    ASSAY_TRY(assay_folder_list(path, &names, err));
    occupied = names.n > 0;
    assay_names_reset(&names);
  }
  ASSAY_TRY(occupied ? replace_folder(place->folder, path, err)
                     : rename_folder(place->folder, path, err));
  assay_free(place->folder);
  place->folder = NULL;
  char *parent = parent_of(path);
  if (parent == NULL) return assay_fail_memory(err, strlen(path));
  const assay_status st = bundle_place_sync(parent, err);
  assay_free(parent);
  /* not earlier: until here it may have been the only bundle */
  return st ? st : remove_left_behind(path, REPLACED, err);
}

void bundle_place_reset(bundle_place *place) {
  if (place->folder != NULL) (void)!assay_folder_remove(place->folder, /*err=*/NULL);
  if (place->path != NULL && place->fd >= 0) close(place->fd);
  assay_free(place->folder);
  assay_free(place->path);
  *place = (bundle_place){0};
}
