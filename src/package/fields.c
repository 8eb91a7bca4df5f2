/* Members of JSON objects, read strictly into memory of their own. */
#include "package/fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

#define NAME_MAX_BYTES 128

bool assay_fields_is_name(const char *text) {
  static const char allowed[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+@";
  size_t n = strlen(text);
  if (n == 0 || n > NAME_MAX_BYTES || text[0] == '.' || text[0] == '-') return false;
  return strspn(text, allowed) == n;
}

bool assay_fields_is_sha256(const char *text) {
  return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static assay_status copy_string(const char *text, char **out, assay_error *err) {
  char *copy = assay_strdup(text);
  if (copy == NULL) return assay_fail_memory(err, strlen(text) + 1);
  *out = copy;
  return ASSAY_OK;
}

assay_status assay_fields_string(const assay_json *object, const char *key, char **out,
                                 assay_error *err) {
  const char *text = NULL;
  ASSAY_TRY(assay_json_need_string(object, key, &text, err));
  return copy_string(text, out, err);
}

bool assay_fields_is_null(const assay_json *object, const char *key) {
  const assay_json *value = assay_json_get(object, key);
  return value != NULL && assay_json_kind_of(value) == ASSAY_JSON_NULL;
}

assay_status assay_fields_string_or_null(const assay_json *object, const char *key, char **out,
                                         assay_error *err) {
  if (assay_fields_is_null(object, key)) {
    *out = NULL;
    return ASSAY_OK;
  }
  return assay_fields_string(object, key, out, err);
}

assay_status assay_fields_name(const assay_json *object, const char *key, char **out,
                               assay_error *err) {
  const char *text = NULL;
  ASSAY_TRY(assay_json_need_string(object, key, &text, err));
  if (!assay_fields_is_name(text))
    return assay_fail(
        err, ASSAY_E_FORMAT,
        "'%s': expected a name of letters, digits, '.', '_', '-', '+' or '@', found '%s'", key,
        text);
  return copy_string(text, out, err);
}

assay_status assay_fields_path(const assay_json *object, const char *key, char **out,
                               assay_error *err) {
  const char *text = NULL;
  ASSAY_TRY(assay_json_need_string(object, key, &text, err));
  if (!assay_path_is_inside(text))
    return assay_fail(err, ASSAY_E_FORMAT,
                      "'%s': expected a relative name that stays inside its folder, found '%s'",
                      key, text);
  return copy_string(text, out, err);
}

assay_status assay_fields_text(const assay_json *object, const char *key, char *out,
                               size_t out_bytes, assay_error *err) {
  const char *text = NULL;
  ASSAY_TRY(assay_json_need_string(object, key, &text, err));
  if (strlen(text) >= out_bytes)
    return assay_fail(err, ASSAY_E_FORMAT, "'%s': expected less than %zu bytes, found %zu", key,
                      out_bytes, strlen(text));
  snprintf(out, out_bytes, "%s", text);
  return ASSAY_OK;
}

assay_status assay_fields_sha256(const assay_json *object, const char *key, bool may_be_empty,
                                 char out[65], assay_error *err) {
  const char *text = NULL;
  ASSAY_TRY(assay_json_need_string(object, key, &text, err));
  if (!(may_be_empty && text[0] == '\0') && !assay_fields_is_sha256(text))
    return assay_fail(err, ASSAY_E_FORMAT,
                      "'%s': expected a SHA-256 of 64 lower-case hexadecimal digits, found '%s'",
                      key, text);
  snprintf(out, 65, "%s", text);
  return ASSAY_OK;
}

assay_status assay_fields_count(const assay_json *object, const char *key, int64_t *out,
                                assay_error *err) {
  return assay_json_need_int(object, key, 0, INT64_MAX, out, err);
}

assay_status assay_fields_size(const assay_json *object, const char *key, uint64_t *out,
                               assay_error *err) {
  int64_t value = 0;
  ASSAY_TRY(assay_fields_count(object, key, &value, err));
  *out = (uint64_t)value;
  return ASSAY_OK;
}

assay_status assay_fields_tolerance(const assay_json *object, const char *key, double *out,
                                    assay_error *err) {
  double value = 0;
  ASSAY_TRY(assay_json_need_real(object, key, &value, err));
  if (!isfinite(value) || value < 0)
    return assay_fail(err, ASSAY_E_FORMAT, "'%s': expected a finite number >= 0, found %g", key,
                      value);
  *out = value;
  return ASSAY_OK;
}

assay_status assay_fields_number(const assay_json *object, const char *key, double *out,
                                 assay_error *err) {
  char class_key[64];
  snprintf(class_key, sizeof class_key, "%s_class", key);
  if (!assay_fields_is_null(object, key)) return assay_json_need_real(object, key, out, err);
  const char *word = NULL;
  ASSAY_TRY(assay_json_need_string(object, class_key, &word, err));
  if (strcmp(word, "nan") == 0)
    *out = (double)NAN;
  else if (strcmp(word, "+inf") == 0)
    *out = (double)INFINITY;
  else if (strcmp(word, "-inf") == 0)
    *out = -(double)INFINITY;
  else
    return assay_fail(err, ASSAY_E_FORMAT, "'%s': expected nan, +inf or -inf, found '%s'",
                      class_key, word);
  return ASSAY_OK;
}

assay_status assay_fields_strings(const assay_json *object, const char *key, char ***out,
                                  size_t *out_n, assay_error *err) {
  const assay_json *array = NULL;
  ASSAY_TRY(assay_json_need_array(object, key, &array, err));
  size_t n = assay_json_len(array);
  char **strings = assay_alloc_array(n, sizeof *strings);
  if (strings == NULL) return assay_fail_memory(err, n * sizeof *strings);
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < n && st == ASSAY_OK; i++) {
    const char *text = assay_json_string(assay_json_at(array, i));
    if (text == NULL)
      st = assay_fail(err, ASSAY_E_FORMAT, "'%s[%zu]': expected a string, found %s", key, i,
                      assay_json_kind_name(assay_json_kind_of(assay_json_at(array, i))));
    else
      st = copy_string(text, &strings[i], err);
  }
  if (st) {
    assay_fields_strings_destroy(strings, n);
    return st;
  }
  *out = strings;
  *out_n = n;
  return ASSAY_OK;
}

void assay_fields_strings_destroy(char **strings, size_t n) {
  for (size_t i = 0; strings != NULL && i < n; i++) assay_free(strings[i]);
  assay_free(strings);
}

assay_status assay_fields_copy(const assay_json *value, assay_json **out, assay_error *err) {
  if (value == NULL || assay_json_kind_of(value) == ASSAY_JSON_NULL) {
    *out = NULL;
    return ASSAY_OK;
  }
  assay_buf text = {0};
  assay_status st = assay_json_dump(value, /*indented=*/false, &text, err);
  if (st == ASSAY_OK) st = assay_json_parse(text.data, text.size_bytes, out, err);
  assay_buf_reset(&text);
  return st;
}

void assay_fields_put_strings(assay_json_builder *b, const char *key, char *const *strings,
                              size_t n) {
  assay_json_begin_array(b, key);
  for (size_t i = 0; i < n; i++) assay_json_put_string(b, NULL, strings[i]);
  assay_json_end(b);
}

char *assay_fields_printable(const char *text) {
  size_t room = 4 * strlen(text) + 1; /* every byte as \xNN */
  char *out = assay_alloc(room);
  if (out != NULL) assay_text_printable(text, out, room);
  return out;
}

assay_status assay_fields_set(char **out, const char *text, assay_error *err) {
  assay_free(*out);
  *out = assay_fields_printable(text);
  return *out != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(text) + 1);
}

assay_status assay_fields_digest(const assay_json *json, char out_hex[65], assay_error *err) {
  assay_buf compact = {0};
  assay_status st = assay_json_dump(json, /*indented=*/false, &compact, err);
  if (st == ASSAY_OK) st = assay_sha256_bytes(compact.data, compact.size_bytes, out_hex, err);
  assay_buf_reset(&compact);
  return st;
}

/* --- tables ----------------------------------------------------------------------------------- */

#define TABLE_MAX_KEYS 128 /* of one object; the largest has about 60 */

static assay_status only_these(const assay_json *object, const assay_field *fields, size_t n,
                               const char *const *others, size_t n_others, assay_error *err) {
  char classes[TABLE_MAX_KEYS][48];
  const char *keys[TABLE_MAX_KEYS];
  size_t n_keys = 0;
  for (size_t i = 0; i < n && n_keys + 2 <= TABLE_MAX_KEYS; i++) {
    keys[n_keys++] = fields[i].key;
    if (fields[i].kind != ASSAY_FIELD_REAL) continue;
    snprintf(classes[n_keys], sizeof classes[n_keys], "%s_class", fields[i].key);
    keys[n_keys] = classes[n_keys];
    n_keys++;
  }
  for (size_t i = 0; i < n_others && n_keys < TABLE_MAX_KEYS; i++) keys[n_keys++] = others[i];
  return assay_json_only_keys(object, keys, n_keys, err);
}

static assay_status read_int32(const assay_json *object, const char *key, int *out,
                               assay_error *err) {
  int64_t value = 0;
  ASSAY_TRY(assay_json_need_int(object, key, INT32_MIN, INT32_MAX, &value, err));
  *out = (int)value;
  return ASSAY_OK;
}

static assay_status read_object(const assay_json *object, const assay_field *field, void *at,
                                assay_error *err) {
  const assay_json *value = NULL;
  ASSAY_TRY(assay_json_need_object(object, field->key, &value, err));
  assay_status st = assay_fields_read(value, field->sub, field->n_sub, /*others=*/NULL,
                                      /*n_others=*/0, at, err);
  if (st) assay_error_in(err, "'%s'", field->key);
  return st;
}

static assay_status read_field(const assay_json *object, const assay_field *field, void *at,
                               assay_error *err) {
  const char *key = field->key;
  switch (field->kind) {
  case ASSAY_FIELD_STRING:
    return assay_fields_string(object, key, at, err);
  case ASSAY_FIELD_STRING_OR_NULL:
    return assay_fields_string_or_null(object, key, at, err);
  case ASSAY_FIELD_NAME:
    return assay_fields_name(object, key, at, err);
  case ASSAY_FIELD_PATH:
    return assay_fields_path(object, key, at, err);
  case ASSAY_FIELD_TEXT:
    return assay_fields_text(object, key, at, field->size, err);
  case ASSAY_FIELD_SHA256:
    return assay_fields_sha256(object, key, /*may_be_empty=*/false, at, err);
  case ASSAY_FIELD_SHA256_OR_EMPTY:
    return assay_fields_sha256(object, key, /*may_be_empty=*/true, at, err);
  case ASSAY_FIELD_COUNT:
    return assay_fields_count(object, key, at, err);
  case ASSAY_FIELD_INT:
    return assay_json_need_int(object, key, INT64_MIN, INT64_MAX, at, err);
  case ASSAY_FIELD_INT32:
    return read_int32(object, key, at, err);
  case ASSAY_FIELD_SIZE:
    return assay_fields_size(object, key, at, err);
  case ASSAY_FIELD_REAL:
    return assay_fields_number(object, key, at, err);
  case ASSAY_FIELD_BOOL:
    return assay_json_need_bool(object, key, at, err);
  case ASSAY_FIELD_OBJECT:
    return read_object(object, field, at, err);
  }
  return assay_fail(err, ASSAY_E_INTERNAL, "'%s': a field of an unknown kind", key);
}

assay_status assay_fields_read(const assay_json *object, const assay_field *fields, size_t n,
                               const char *const *others, size_t n_others, void *out,
                               assay_error *err) {
  ASSAY_TRY(only_these(object, fields, n, others, n_others, err));
  for (size_t i = 0; i < n; i++)
    ASSAY_TRY(read_field(object, &fields[i], (char *)out + fields[i].offset, err));
  return ASSAY_OK;
}

/* The elements of `key`: by `read`, or where that is NULL by the table. */
static assay_status read_list(const assay_json *object, const char *key, assay_fields_item_fn read,
                              const assay_field *fields, size_t n_fields, size_t elem_bytes,
                              void **out, size_t *out_n, assay_error *err) {
  const assay_json *array = NULL;
  ASSAY_TRY(assay_json_need_array(object, key, &array, err));
  const size_t n = assay_json_len(array);
  char *list = assay_alloc_array(n, elem_bytes);
  if (list == NULL) return assay_fail_memory(err, n * elem_bytes);
  *out = list;
  *out_n = n;
  for (size_t i = 0; i < n; i++) {
    const assay_json *item = assay_json_at(array, i);
    void *to = list + i * elem_bytes;
    const assay_status st = read != NULL
                                ? read(item, to, err)
                                : assay_fields_read(item, fields, n_fields, /*others=*/NULL,
                                                    /*n_others=*/0, to, err);
    if (st) {
      assay_error_in(err, "%s[%zu]", key, i);
      return st;
    }
  }
  return ASSAY_OK;
}

assay_status assay_fields_list(const assay_json *object, const char *key, const assay_field *fields,
                               size_t n, size_t elem_bytes, void **out, size_t *out_n,
                               assay_error *err) {
  return read_list(object, key, /*read=*/NULL, fields, n, elem_bytes, out, out_n, err);
}

assay_status assay_fields_list_by(const assay_json *object, const char *key,
                                  assay_fields_item_fn read, size_t elem_bytes, void **out,
                                  size_t *out_n, assay_error *err) {
  return read_list(object, key, read, /*fields=*/NULL, /*n_fields=*/0, elem_bytes, out, out_n, err);
}

static void put_field(const assay_field *field, const void *at, assay_json_builder *b) {
  const char *text = NULL;
  switch (field->kind) {
  case ASSAY_FIELD_STRING:
  case ASSAY_FIELD_NAME:
  case ASSAY_FIELD_PATH:
    text = *(char *const *)at;
    assay_json_put_string(b, field->key, text != NULL ? text : "");
    break;
  case ASSAY_FIELD_STRING_OR_NULL:
    assay_json_put_string(b, field->key, *(char *const *)at);
    break;
  case ASSAY_FIELD_TEXT:
  case ASSAY_FIELD_SHA256:
  case ASSAY_FIELD_SHA256_OR_EMPTY:
    assay_json_put_string(b, field->key, at);
    break;
  case ASSAY_FIELD_COUNT:
  case ASSAY_FIELD_INT:
    assay_json_put_int(b, field->key, *(const int64_t *)at);
    break;
  case ASSAY_FIELD_INT32:
    assay_json_put_int(b, field->key, *(const int *)at);
    break;
  case ASSAY_FIELD_SIZE:
    assay_json_put_int(b, field->key, (int64_t) * (const uint64_t *)at);
    break;
  case ASSAY_FIELD_REAL:
    assay_json_put_number(b, field->key, *(const double *)at);
    break;
  case ASSAY_FIELD_BOOL:
    assay_json_put_bool(b, field->key, *(const bool *)at);
    break;
  case ASSAY_FIELD_OBJECT:
    assay_json_begin_object(b, field->key);
    assay_fields_put(field->sub, field->n_sub, at, b);
    assay_json_end(b);
    break;
  }
}

void assay_fields_put(const assay_field *fields, size_t n, const void *in, assay_json_builder *b) {
  for (size_t i = 0; i < n; i++) put_field(&fields[i], (const char *)in + fields[i].offset, b);
}

void assay_fields_put_list(assay_json_builder *b, const char *key, const assay_field *fields,
                           size_t n, const void *list, size_t elem_bytes, size_t n_list) {
  assay_json_begin_array(b, key);
  for (size_t i = 0; i < n_list; i++) {
    assay_json_begin_object(b, NULL);
    assay_fields_put(fields, n, (const char *)list + i * elem_bytes, b);
    assay_json_end(b);
  }
  assay_json_end(b);
}

void assay_fields_reset(const assay_field *fields, size_t n, void *out) {
  for (size_t i = 0; i < n; i++) {
    void *at = (char *)out + fields[i].offset;
    switch (fields[i].kind) {
    case ASSAY_FIELD_STRING:
    case ASSAY_FIELD_STRING_OR_NULL:
    case ASSAY_FIELD_NAME:
    case ASSAY_FIELD_PATH:
      assay_free(*(char **)at);
      *(char **)at = NULL;
      break;
    case ASSAY_FIELD_OBJECT:
      assay_fields_reset(fields[i].sub, fields[i].n_sub, at);
      break;
    default:
      break; /* nothing owned */
    }
  }
}
