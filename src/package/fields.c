/* Members of JSON objects, read strictly into memory of their own. */
#include "package/fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"

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

static bool is_null(const assay_json *value) {
  return value != NULL && assay_json_kind_of(value) == ASSAY_JSON_NULL;
}

assay_status assay_fields_string_or_null(const assay_json *object, const char *key, char **out,
                                         assay_error *err) {
  if (is_null(assay_json_get(object, key))) {
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
  if (!is_null(assay_json_get(object, key))) return assay_json_need_real(object, key, out, err);
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
  if (value == NULL || is_null(value)) {
    *out = NULL;
    return ASSAY_OK;
  }
  assay_buf text = {0};
  assay_status st = assay_json_dump(value, /*indented=*/false, &text, err);
  if (st == ASSAY_OK) st = assay_json_parse(text.data, text.size_bytes, out, err);
  assay_buf_reset(&text);
  return st;
}
