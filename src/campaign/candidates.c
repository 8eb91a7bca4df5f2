/* Looks for second candidates of the sonames that are mapped. */
#include "campaign/candidates.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "package/fields.h"

typedef struct search {
  const assay_machine_libraries *mapped;
  assay_digests *digests;
  char **lines;
  size_t n;
} search;

/* Takes text. One that is there already is not said twice. */
static assay_status say(search *s, char *text, assay_error *err) {
  char *line = text != NULL ? assay_fields_printable(text) : NULL;
  assay_free(text);
  if (line == NULL) return assay_fail_memory(err, 256);
  for (size_t i = 0; i < s->n; i++) {
    if (strcmp(s->lines[i], line) != 0) continue;
    assay_free(line);
    return ASSAY_OK;
  }
  void *block = s->lines;
  assay_status st =
      assay_resize(&block, s->n * sizeof *s->lines, (s->n + 1) * sizeof *s->lines, err);
  if (st) {
    assay_free(line);
    return st;
  }
  s->lines = block;
  s->lines[s->n++] = line;
  return ASSAY_OK;
}

/* One that is mapped and could be read. */
static bool is_known(const assay_machine_library *library) {
  return library->soname[0] != '\0' && library->sha256[0] != '\0';
}

static assay_status compare_mapped(search *s, assay_error *err) {
  for (size_t i = 0; i < s->mapped->n; i++) {
    const assay_machine_library *a = &s->mapped->items[i];
    for (size_t j = i + 1; j < s->mapped->n && is_known(a); j++) {
      const assay_machine_library *b = &s->mapped->items[j];
      if (!is_known(b) || strcmp(a->soname, b->soname) != 0 || strcmp(a->sha256, b->sha256) == 0)
        continue;
      ASSAY_TRY(say(s,
                    assay_format("two libraries of one name (%s) are mapped: '%s' and '%s'",
                                 a->soname, a->path, b->path),
                    err));
    }
  }
  return ASSAY_OK;
}

/* folder/<soname>, if it is a file with other bytes than what is mapped. */
static assay_status look_in(search *s, const char *folder, const assay_machine_library *library,
                            assay_error *err) {
  assay_digest found = {0};
  assay_error why = {0};
  if (strchr(library->soname, '/') != NULL) return ASSAY_OK;
  char *path = assay_path_join(folder, library->soname);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = ASSAY_OK;
  if (strcmp(path, library->path) != 0 && assay_path_kind_of(path) == ASSAY_PATH_FILE &&
      assay_digests_of(s->digests, path, &found, &why) == ASSAY_OK &&
      strcmp(found.sha256, library->sha256) != 0)
    st = say(s,
             assay_format("there are two candidates of %s: '%s' is mapped, '%s' is in reach and "
                          "has other contents",
                          library->soname, library->path, path),
             err);
  assay_free(path);
  return st;
}

static assay_status look_everywhere(search *s, const char *folder, assay_error *err) {
  for (size_t i = 0; i < s->mapped->n; i++)
    if (is_known(&s->mapped->items[i])) ASSAY_TRY(look_in(s, folder, &s->mapped->items[i], err));
  return ASSAY_OK;
}

/* Each folder of "/a:/b"; an empty one is the working folder to the loader, and to us. */
static assay_status search_folders(search *s, const char *search_path, assay_error *err) {
  for (const char *at = search_path; at != NULL && search_path[0] != '\0';) {
    size_t n = strcspn(at, ":;");
    char *folder = n > 0 ? assay_strndup(at, n) : assay_strdup(".");
    assay_status st = folder != NULL ? look_everywhere(s, folder, err) : assay_fail_memory(err, n);
    assay_free(folder);
    ASSAY_TRY(st);
    at = at[n] != '\0' ? at + n + 1 : NULL;
  }
  return ASSAY_OK;
}

static assay_status search_beside(search *s, assay_error *err) {
  for (size_t i = 0; i < s->mapped->n; i++) {
    const assay_machine_library *library = &s->mapped->items[i];
    if (!is_known(library)) continue;
    char *folder =
        assay_strndup(library->path, (size_t)(assay_path_name(library->path) - library->path));
    assay_status st =
        folder != NULL ? look_in(s, folder, library, err) : assay_fail_memory(err, 256);
    assay_free(folder);
    ASSAY_TRY(st);
  }
  return ASSAY_OK;
}

assay_status assay_candidates_find(const assay_machine_libraries *mapped, const char *search_path,
                                   assay_digests *digests, char ***out, size_t *out_n,
                                   assay_error *err) {
  search s = {.mapped = mapped, .digests = digests};
  assay_status st = compare_mapped(&s, err);
  if (st == ASSAY_OK) st = search_beside(&s, err);
  if (st == ASSAY_OK) st = search_folders(&s, search_path, err);
  if (st) {
    assay_fields_strings_destroy(s.lines, s.n);
    return st;
  }
  *out = s.lines;
  *out_n = s.n;
  return ASSAY_OK;
}
