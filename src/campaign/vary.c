/* WHAT=A|B, as typed and as it changes a runtime. */
#include "campaign/vary.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/text.h"

#define THREADS_MAX 4096

typedef struct kind_word {
  const char *word;
  assay_vary_kind kind;
  bool has_key;
} kind_word;

static const kind_word words[] = {
    {"runtime", ASSAY_VARY_RUNTIME, false}, {"library", ASSAY_VARY_LIBRARY, false},
    {"bundle", ASSAY_VARY_BUNDLE, false},   {"provider-option", ASSAY_VARY_PROVIDER_OPTION, true},
    {"session", ASSAY_VARY_SESSION, true},  {"env", ASSAY_VARY_ENV, true},
};

static const kind_word *find_word(const char *what, size_t n) {
  for (size_t i = 0; i < N_OF(words); i++)
    if (strlen(words[i].word) == n && strncmp(words[i].word, what, n) == 0) return &words[i];
  return NULL;
}

static assay_status fail_unknown(const char *what, assay_error *err) {
  const char *names[N_OF(words)];
  for (size_t i = 0; i < N_OF(words); i++) names[i] = words[i].word;
  const char *near = assay_text_nearest(what, names, N_OF(words));
  return assay_fail(err, ASSAY_E_ARGUMENT,
                    "--vary: '%s' is not known%s%s%s; expected runtime, library, bundle, "
                    "provider-option:KEY, session:KEY or env:NAME",
                    what, near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                    near != NULL ? "'" : "");
}

/* The part before '=': a kind, and its key where it has one. */
static assay_status take_what(assay_vary *vary, assay_error *err) {
  size_t n = strcspn(vary->what, ":");
  const kind_word *word = find_word(vary->what, n);
  if (word == NULL) return fail_unknown(vary->what, err);
  const char *key = vary->what[n] == ':' ? vary->what + n + 1 : "";
  if ((key[0] != '\0') != word->has_key)
    return assay_fail(err, ASSAY_E_ARGUMENT, "--vary: '%s': expected %s%s", vary->what, word->word,
                      word->has_key ? ":KEY=A|B" : "=A|B");
  vary->kind = word->kind;
  vary->key = assay_strdup(key);
  return vary->key != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(key) + 1);
}

static assay_status take(const char *text, assay_vary *vary, assay_error *err) {
  const char *equals = strchr(text, '=');
  const char *bar = equals != NULL ? strchr(equals, '|') : NULL;
  if (bar == NULL || equals == text || strchr(bar + 1, '|') != NULL)
    return assay_fail(err, ASSAY_E_ARGUMENT, "--vary: expected WHAT=A|B, found '%s'", text);
  vary->what = assay_strndup(text, (size_t)(equals - text));
  vary->values[0] = assay_strndup(equals + 1, (size_t)(bar - equals - 1));
  vary->values[1] = assay_strdup(bar + 1);
  if (vary->what == NULL || vary->values[0] == NULL || vary->values[1] == NULL)
    return assay_fail_memory(err, strlen(text) + 1);
  if (strcmp(vary->values[0], vary->values[1]) == 0)
    return assay_fail(err, ASSAY_E_ARGUMENT, "--vary: both sides of '%s' are '%s'", vary->what,
                      vary->values[0]);
  ASSAY_TRY(take_what(vary, err));
  for (size_t side = 0; side < 2; side++)
    if (vary->values[side][0] == '\0' && vary->kind != ASSAY_VARY_ENV)
      return assay_fail(err, ASSAY_E_ARGUMENT, "--vary: '%s' has an empty side", text);
  return ASSAY_OK;
}

assay_status assay_vary_parse(const char *text, assay_vary *out, assay_error *err) {
  assay_vary vary = {0};
  assay_status st = take(text, &vary, err);
  if (st) {
    assay_vary_reset(&vary);
    return st;
  }
  *out = vary;
  return ASSAY_OK;
}

void assay_vary_reset(assay_vary *vary) {
  assay_free(vary->what);
  assay_free(vary->key);
  assay_free(vary->values[0]);
  assay_free(vary->values[1]);
  *vary = (assay_vary){0};
}

/* --- applying ------------------------------------------------------------------------------------
 */

static assay_status set_int(const char *value, const char *key, int64_t low, int64_t high, int *out,
                            assay_error *err) {
  int64_t number = 0;
  ASSAY_TRY(assay_text_parse_int(value, key, low, high, &number, err));
  *out = (int)number;
  return ASSAY_OK;
}

static assay_status set_session(const char *key, const char *value, assay_runtime_spec *runtime,
                                assay_error *err) {
  if (strcmp(key, "intra_threads") == 0)
    return set_int(value, key, 1, THREADS_MAX, &runtime->intra_threads, err);
  if (strcmp(key, "inter_threads") == 0)
    return set_int(value, key, 1, THREADS_MAX, &runtime->inter_threads, err);
  if (strcmp(key, "graph_optimization_level") == 0) {
    ASSAY_TRY(set_int(value, key, 0, 99, &runtime->graph_optimization_level, err));
    if (runtime->graph_optimization_level > 3 && runtime->graph_optimization_level != 99)
      return assay_fail(err, ASSAY_E_ARGUMENT, "%s: expected 0, 1, 2, 3 or 99, found %s", key,
                        value);
    return ASSAY_OK;
  }
  if (strcmp(key, "memory_arena") == 0) {
    runtime->no_memory_arena = strcmp(value, "false") == 0;
    if (runtime->no_memory_arena || strcmp(value, "true") == 0) return ASSAY_OK;
    return assay_fail(err, ASSAY_E_ARGUMENT, "%s: expected true or false, found '%s'", key, value);
  }
  return assay_settings_set(&runtime->config, key, value, err);
}

static assay_status replace(char **text, char *by, assay_error *err) {
  if (by == NULL) return assay_fail_memory(err, 64);
  assay_free(*text);
  *text = by;
  return ASSAY_OK;
}

static assay_status change(const assay_vary *vary, const char *value, assay_runtime_spec *runtime,
                           assay_error *err) {
  switch (vary->kind) {
  case ASSAY_VARY_LIBRARY:
    return replace(&runtime->library, assay_strdup(value), err);
  case ASSAY_VARY_PROVIDER_OPTION:
    return assay_settings_set(&runtime->options, vary->key, value, err);
  case ASSAY_VARY_SESSION:
    return set_session(vary->key, value, runtime, err);
  case ASSAY_VARY_ENV:
    return assay_settings_set(&runtime->env, vary->key,
                              strcmp(value, ASSAY_VARY_UNSET) == 0 ? NULL : value, err);
  case ASSAY_VARY_RUNTIME:
  case ASSAY_VARY_BUNDLE:
    break;
  }
  return ASSAY_OK;
}

assay_status assay_vary_apply(const assay_vary *vary, size_t side, assay_runtime_spec *runtime,
                              assay_error *err) {
  ASSAY_TRY(change(vary, vary->values[side], runtime, err));
  ASSAY_TRY(replace(&runtime->name, assay_strdup(side == 0 ? "a" : "b"), err));
  if (vary->kind == ASSAY_VARY_RUNTIME || vary->kind == ASSAY_VARY_BUNDLE) return ASSAY_OK;
  return replace(&runtime->label,
                 assay_format("%s, %s=%s", runtime->label, vary->what, vary->values[side]), err);
}
