/* Ordered keys with text values. */
#include "campaign/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

static assay_status duplicate(const char *text, char **out, assay_error *err) {
  *out = assay_strdup(text);
  return *out != NULL || text == NULL ? ASSAY_OK : assay_fail_memory(err, strlen(text) + 1);
}

static int by_key(const void *a, const void *b) {
  const assay_setting *left = a, *right = b;
  return strcmp(left->key, right->key);
}

assay_status assay_settings_set(assay_settings *settings, const char *key, const char *value,
                                assay_error *err) {
  char *copy = NULL;
  ASSAY_TRY(duplicate(value, &copy, err));
  for (size_t i = 0; i < settings->n; i++) {
    if (strcmp(settings->items[i].key, key) != 0) continue;
    assay_free(settings->items[i].value);
    settings->items[i].value = copy;
    return ASSAY_OK;
  }
  void *block = settings->items;
  char *name = NULL;
  assay_status st = duplicate(key, &name, err);
  if (st == ASSAY_OK)
    st = assay_resize(&block, settings->n * sizeof(assay_setting),
                      (settings->n + 1) * sizeof(assay_setting), err);
  if (st) {
    assay_free(name);
    assay_free(copy);
    return st;
  }
  settings->items = block;
  settings->items[settings->n++] = (assay_setting){name, copy};
  qsort(settings->items, settings->n, sizeof *settings->items, by_key);
  return ASSAY_OK;
}

assay_status assay_settings_set_pair(assay_settings *settings, const char *pair, assay_error *err) {
  const char *equals = strchr(pair, '=');
  if (equals == NULL || equals == pair)
    return assay_fail(err, ASSAY_E_ARGUMENT, "expected KEY=VALUE, found '%s'", pair);
  char *key = assay_strndup(pair, (size_t)(equals - pair));
  if (key == NULL) return assay_fail_memory(err, strlen(pair) + 1);
  assay_status st = assay_settings_set(settings, key, equals + 1, err);
  assay_free(key);
  return st;
}

assay_status assay_settings_make_env(const assay_settings *env, char ***out, assay_error *err) {
  char **list = assay_alloc_array(env->n + 2, sizeof *list);
  if (list == NULL) return assay_fail_memory(err, (env->n + 2) * sizeof *list);
  list[0] = assay_strdup("ORT_DISABLE_TELEMETRY=1");
  bool whole = list[0] != NULL;
  for (size_t i = 0; i < env->n && whole; i++) {
    const assay_setting *one = &env->items[i];
    list[i + 1] =
        one->value != NULL ? assay_format("%s=%s", one->key, one->value) : assay_strdup(one->key);
    whole = list[i + 1] != NULL;
  }
  if (!whole) {
    assay_settings_free_env(list);
    return assay_fail_memory(err, 64);
  }
  *out = list;
  return ASSAY_OK;
}

void assay_settings_free_env(char **env) {
  for (size_t i = 0; env != NULL && env[i] != NULL; i++) assay_free(env[i]);
  assay_free(env);
}

void assay_settings_reset(assay_settings *settings) {
  for (size_t i = 0; i < settings->n; i++) {
    assay_free(settings->items[i].key);
    assay_free(settings->items[i].value);
  }
  assay_free(settings->items);
  *settings = (assay_settings){0};
}

void assay_settings_put(const assay_settings *settings, assay_json_builder *b, const char *key) {
  assay_json_begin_object(b, key);
  for (size_t i = 0; i < settings->n; i++)
    assay_json_put_string(b, settings->items[i].key, settings->items[i].value);
  assay_json_end(b);
}

/* A member as text: what ONNX Runtime's string options take. */
static assay_status value_text(const assay_json *value, const char *key, bool may_be_null,
                               assay_buf *out, const char **out_text, assay_error *err) {
  switch (assay_json_kind_of(value)) {
  case ASSAY_JSON_STRING:
    *out_text = assay_json_string(value);
    return ASSAY_OK;
  case ASSAY_JSON_BOOL:
    *out_text = assay_json_bool(value) ? "1" : "0";
    return ASSAY_OK;
  case ASSAY_JSON_INT:
  case ASSAY_JSON_REAL:
    ASSAY_TRY(assay_json_dump(value, /*indented=*/false, out, err));
    *out_text = assay_buf_text(out);
    return ASSAY_OK;
  case ASSAY_JSON_NULL:
    if (!may_be_null) break;
    *out_text = NULL;
    return ASSAY_OK;
  default:
    break;
  }
  return assay_fail(err, ASSAY_E_FORMAT, "'%s': expected a string, number or boolean, found %s",
                    key, assay_json_kind_name(assay_json_kind_of(value)));
}

assay_status assay_settings_of_json(const assay_json *object, bool may_be_null, assay_settings *out,
                                    assay_error *err) {
  for (size_t i = 0; i < assay_json_len(object); i++) {
    assay_buf buf = {0};
    const char *text = NULL, *key = assay_json_key_at(object, i);
    assay_status st =
        key[0] != '\0' ? ASSAY_OK : assay_fail(err, ASSAY_E_FORMAT, "expected a key, found ''");
    if (st == ASSAY_OK)
      st = value_text(assay_json_value_at(object, i), key, may_be_null, &buf, &text, err);
    if (st == ASSAY_OK) st = assay_settings_set(out, key, text, err);
    assay_buf_reset(&buf);
    if (st) return st;
  }
  return ASSAY_OK;
}
