/* From a dataset's name to its folder. Source: tensorflow/datasets core/naming.py and
 * core/read_only_builder.py; the grammar is
 *   name[/config][:version]
 *   name     [A-Za-z][A-Za-z0-9_]*
 *   config   [A-Za-z0-9_+.-]+
 *   version  three numbers or '*', joined with '.' */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "dataset/tfds_parts.h"

#define NAME_MAX_BYTES  255
#define VERSION_PARTS   3
#define PART_MAX_DIGITS 9
#define SHOWN_MAX       10 /* names in a list of what there is */
#define TEXT_BYTES      1024

typedef struct wanted {
  char name[2 * NAME_MAX_BYTES + 2]; /* in snake_case, which may be longer */
  char config[NAME_MAX_BYTES + 1];   /* "" for none */
  char version[NAME_MAX_BYTES + 1];  /* "" for any */
} wanted;

static bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

static bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* ---- the grammar --------------------------------------------------------------------------------
 */

static bool is_name(const char *text) {
  if (!is_lower(*text) && !is_upper(*text)) return false;
  for (; *text != '\0'; text++) {
    if (!is_lower(*text) && !is_upper(*text) && !is_digit(*text) && *text != '_') return false;
  }
  return true;
}

/* "." and ".." fit TFDS's pattern, and are refused all the same. */
static bool is_config(const char *text) {
  if (*text == '\0' || strcmp(text, ".") == 0 || strcmp(text, "..") == 0) return false;
  for (; *text != '\0'; text++) {
    bool is_word = is_lower(*text) || is_upper(*text) || is_digit(*text);
    if (!is_word && strchr("_+.-", *text) == NULL) return false;
  }
  return true;
}

/* "3.0.0" into parts; a '*', where it may be, becomes -1. */
static bool parse_version(const char *text, bool may_be_any, int64_t parts[VERSION_PARTS]) {
  for (int i = 0; i < VERSION_PARTS; i++) {
    size_t n = strspn(text, "0123456789");
    if (may_be_any && *text == '*') {
      parts[i] = -1;
      n = 1;
    } else {
      if (n == 0 || n > PART_MAX_DIGITS) return false;
      parts[i] = 0;
      for (size_t k = 0; k < n; k++) parts[i] = 10 * parts[i] + (text[k] - '0');
    }
    text += n;
    if (*text != (i + 1 < VERSION_PARTS ? '.' : '\0')) return false;
    text++;
  }
  return true;
}

/* "CmsPfTtbar" becomes "cms_pf_ttbar"; out has room for twice the text. */
static void snake_case(const char *text, char *out) {
  for (size_t i = 0; text[i] != '\0'; i++) {
    bool begins_word = i > 0 && is_upper(text[i]) && text[i - 1] != '_' &&
                       (!is_upper(text[i - 1]) || is_lower(text[i + 1]));
    if (begins_word) *out++ = '_';
    *out++ = is_upper(text[i]) ? (char)(text[i] - 'A' + 'a') : text[i];
  }
  *out = '\0';
}

static assay_status fail_grammar(const char *what, assay_error *err) {
  return assay_fail(err, ASSAY_E_ARGUMENT,
                    "%s; expected NAME[/CONFIG][:VERSION], such as 'my_data/small:1.0.0'", what);
}

static assay_status parse_name(const char *text, wanted *out, assay_error *err) {
  char copy[NAME_MAX_BYTES + 1];
  int64_t parts[VERSION_PARTS];
  wanted w = {0};
  if (strlen(text) > NAME_MAX_BYTES) return fail_grammar("it is too long", err);
  snprintf(copy, sizeof copy, "%s", text);
  if (strchr(copy, '=') != NULL)
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "assay takes no builder arguments");
  char *version = strchr(copy, ':');
  if (version != NULL) {
    *version++ = '\0';
    if (!parse_version(version, /*may_be_any=*/true, parts))
      return fail_grammar("the version must be three numbers, with '*' for any: 1.*.*", err);
    snprintf(w.version, sizeof w.version, "%s", version);
  }
  char *config = strchr(copy, '/');
  if (config != NULL) {
    *config++ = '\0';
    if (!is_config(config))
      return fail_grammar("the config may hold letters, digits and _ + . - only", err);
    snprintf(w.config, sizeof w.config, "%s", config);
  }
  if (!is_name(copy))
    return fail_grammar("the name must be letters, digits and '_', a letter first", err);
  snake_case(copy, w.name);
  *out = w;
  return ASSAY_OK;
}

/* ---- what there is ------------------------------------------------------------------------------
 */

/* "a, b, c and 4 more", of the names that fit. */
typedef struct listing {
  char text[TEXT_BYTES];
  size_t n;
} listing;

static void list_name(listing *list, const char *name) {
  size_t used = strlen(list->text);
  if (list->n++ < SHOWN_MAX)
    snprintf(list->text + used, sizeof list->text - used, "%s'%.80s'", used > 0 ? ", " : "", name);
}

static const char *list_end(listing *list) {
  size_t used = strlen(list->text);
  if (list->n == 0) return "nothing that assay knows";
  if (list->n > SHOWN_MAX)
    snprintf(list->text + used, sizeof list->text - used, " and %zu more", list->n - SHOWN_MAX);
  return list->text;
}

static bool is_newer(const int64_t a[VERSION_PARTS], const int64_t b[VERSION_PARTS]) {
  for (int i = 0; i < VERSION_PARTS; i++) {
    if (a[i] != b[i]) return a[i] > b[i];
  }
  return false;
}

static bool fits(const int64_t found[VERSION_PARTS], const char *pattern) {
  int64_t parts[VERSION_PARTS];
  if (*pattern == '\0') return true;
  if (!parse_version(pattern, /*may_be_any=*/true, parts)) return false;
  for (int i = 0; i < VERSION_PARTS; i++) {
    if (parts[i] >= 0 && parts[i] != found[i]) return false;
  }
  return true;
}

/* The highest version in folder that fits, joined to it; NULL when there is none. Versions that do
 * not fit are put on the list, which may be NULL. Anything that is no version (TFDS builds in
 * folders with 'incomplete' in their names) is passed over. */
static assay_status find_version(const char *folder, const char *pattern, listing *list,
                                 char **out_path, assay_error *err) {
  assay_names names = {0};
  int64_t best[VERSION_PARTS], parts[VERSION_PARTS];
  const char *best_name = NULL;
  *out_path = NULL;
  ASSAY_TRY(assay_folder_list(folder, &names, err));
  for (size_t i = 0; i < names.n; i++) {
    if (!parse_version(names.items[i], /*may_be_any=*/false, parts)) continue;
    if (list != NULL) list_name(list, names.items[i]);
    if (!fits(parts, pattern) || (best_name != NULL && !is_newer(parts, best))) continue;
    best_name = names.items[i];
    memcpy(best, parts, sizeof best);
  }
  assay_status st = ASSAY_OK;
  if (best_name != NULL) {
    *out_path = assay_path_join(folder, best_name);
    if (*out_path == NULL) st = assay_fail_memory(err, 0);
  }
  assay_names_reset(&names);
  return st;
}

/* Folders in `folder` are configs where they hold a version. With none of them wanted, the only one
 * there is taken: *out_path stays NULL when there are none or several. */
static assay_status find_only_config(const char *folder, const char *version, listing *list,
                                     char **out_path, assay_error *err) {
  assay_names names = {0};
  char *only = NULL;
  size_t n = 0;
  ASSAY_TRY(assay_folder_list(folder, &names, err));
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < names.n && !st; i++) {
    char *config = assay_path_join(folder, names.items[i]), *path = NULL;
    if (config == NULL)
      st = assay_fail_memory(err, 0);
    else if (is_config(names.items[i]) && assay_path_kind_of(config) == ASSAY_PATH_FOLDER)
      st = find_version(config, version, /*list=*/NULL, &path, err);
    if (path != NULL) {
      list_name(list, names.items[i]);
      assay_free(only);
      only = path;
      n++;
    }
    assay_free(config);
  }
  assay_names_reset(&names);
  if (st || n != 1) {
    assay_free(only);
    only = NULL;
  }
  *out_path = only;
  return st;
}

/* The folders in `folder` that may be datasets or configs. */
static void list_folders(const char *folder, listing *list) {
  assay_names names = {0};
  if (assay_folder_list(folder, &names, /*err=*/NULL)) return;
  for (size_t i = 0; i < names.n; i++) {
    char *path = assay_path_join(folder, names.items[i]);
    if (path != NULL && names.items[i][0] != '.' && assay_path_kind_of(path) == ASSAY_PATH_FOLDER)
      list_name(list, names.items[i]);
    assay_free(path);
  }
  assay_names_reset(&names);
}

/* `what` 'name' is not in folder: says what is. */
static assay_status fail_not_there(const char *folder, const char *what, const char *name,
                                   assay_error *err) {
  listing list = {0};
  list_folders(folder, &list);
  return assay_fail(err, ASSAY_E_ARGUMENT, "no %s '%s' in '%s': there is %s", what, name, folder,
                    list_end(&list));
}

/* In the dataset's own folder. */
static assay_status find_in(const char *folder, const wanted *w, char **out_path,
                            assay_error *err) {
  listing versions = {0}, configs = {0};
  if (*w->config != '\0') {
    char *config = assay_path_join(folder, w->config);
    if (config == NULL) return assay_fail_memory(err, 0);
    assay_status st = ASSAY_OK;
    if (assay_path_kind_of(config) != ASSAY_PATH_FOLDER)
      st = fail_not_there(folder, "config", w->config, err);
    if (!st) st = find_version(config, w->version, &versions, out_path, err);
    if (!st && *out_path == NULL)
      st = assay_fail(err, ASSAY_E_ARGUMENT, "no version '%s' in '%s': there is %s",
                      *w->version == '\0' ? "*.*.*" : w->version, config, list_end(&versions));
    assay_free(config);
    return st;
  }
  ASSAY_TRY(find_version(folder, w->version, &versions, out_path, err));
  if (*out_path != NULL) return ASSAY_OK;
  ASSAY_TRY(find_only_config(folder, w->version, &configs, out_path, err));
  if (*out_path != NULL) return ASSAY_OK;
  if (configs.n > 1)
    return assay_fail(err, ASSAY_E_ARGUMENT, "'%s' has several configs, name one: %s", folder,
                      list_end(&configs));
  return assay_fail(err, ASSAY_E_ARGUMENT, "no version '%s' in '%s': there is %s",
                    *w->version == '\0' ? "*.*.*" : w->version, folder, list_end(&versions));
}

assay_status assay_tfds_find(const char *data_dir, const char *name, char **out_folder,
                             assay_error *err) {
  wanted w;
  char *path = NULL;
  ASSAY_TRY(parse_name(name, &w, err));
  if (assay_path_kind_of(data_dir) != ASSAY_PATH_FOLDER)
    return assay_fail(err, ASSAY_E_IO, "the data folder '%s' is not there", data_dir);
  char *folder = assay_path_join(data_dir, w.name);
  if (folder == NULL) return assay_fail_memory(err, 0);
  assay_status st = ASSAY_OK;
  if (assay_path_kind_of(folder) != ASSAY_PATH_FOLDER)
    st = fail_not_there(data_dir, "dataset", w.name, err);
  if (!st) st = find_in(folder, &w, &path, err);
  assay_free(folder);
  if (!st) *out_folder = path;
  return st;
}
