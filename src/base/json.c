/* JSON, by jansson 2.14 (https://jansson.readthedocs.io/en/2.14/apiref.html). The only file that
 * sees it. */
#include "base/json.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"

#define NESTING_MAX                                                                                \
  512 /* jansson recurses; its own ceiling of 2048 is a matter of how it was built */

/* assay_json is jansson's json_t under our name. Most of jansson's readers take a non-const value
 * but do not change it. */
static json_t *jansson_of(const assay_json *value) {
  return (json_t *)(uintptr_t)value;
}

static assay_json *ours(json_t *value) {
  return (assay_json *)value;
}

/* jansson does not always say when it ran out of memory; this does. */
static _Thread_local bool ran_out_of_memory;

static void *allocate(size_t size_bytes) {
  void *block = assay_alloc_plain(size_bytes);
  if (block == NULL) ran_out_of_memory = true;
  return block;
}

/* jansson allocates through our door. Its hooks are global; setting them once is all we do. */
static void set_hooks(void) {
  json_set_alloc_funcs(allocate, assay_free);
}

static void use_our_allocator(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, set_hooks);
}

/* ---- reading ------------------------------------------------------------------------------------
 */

/* Refuses nesting that jansson would have to recurse into. Brackets inside strings do not count. */
static assay_status check_nesting(const char *text, size_t size_bytes, assay_error *err) {
  size_t nesting = 0, line = 1;
  bool in_string = false;
  for (size_t i = 0; i < size_bytes; i++) {
    char c = text[i];
    if (c == '\n') line++;
    if (in_string) {
      if (c == '\\') i++;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++nesting > NESTING_MAX) {
        return assay_fail(err, ASSAY_E_LIMIT, "JSON line %zu: nested over %d deep", line,
                          NESTING_MAX);
      }
    } else if ((c == ']' || c == '}') && nesting > 0) {
      nesting--;
    }
  }
  return ASSAY_OK;
}

assay_status assay_json_parse(const void *text, size_t size_bytes, assay_json **out,
                              assay_error *err) {
  use_our_allocator();
  if (size_bytes == 0) return assay_fail(err, ASSAY_E_FORMAT, "JSON: the text is empty");
  ASSAY_TRY(check_nesting(text, size_bytes, err));
  json_error_t problem;
  ran_out_of_memory = false;
  json_t *root = json_loadb(text, size_bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
  if (root == NULL) {
    if (ran_out_of_memory) {
      return assay_fail(err, ASSAY_E_MEMORY, "could not allocate memory for JSON of %zu bytes",
                        size_bytes);
    }
    return assay_fail(err, ASSAY_E_FORMAT, "JSON line %d, column %d: %s", problem.line,
                      problem.column, problem.text);
  }
  *out = ours(root);
  return ASSAY_OK;
}

assay_status assay_json_read(const char *path, size_t max_bytes, assay_json **out,
                             assay_error *err) {
  assay_buf text = {0};
  ASSAY_TRY(assay_file_read(path, max_bytes, &text, err));
  assay_status st = assay_json_parse(text.data, text.size_bytes, out, err);
  if (st) assay_error_in(err, "'%s'", path);
  assay_buf_reset(&text);
  return st;
}

void assay_json_destroy(assay_json *root) {
  json_decref(jansson_of(root));
}

assay_json_kind assay_json_kind_of(const assay_json *value) {
  if (value == NULL) return ASSAY_JSON_NULL;
  switch (json_typeof(jansson_of(value))) {
  case JSON_OBJECT:
    return ASSAY_JSON_OBJECT;
  case JSON_ARRAY:
    return ASSAY_JSON_ARRAY;
  case JSON_STRING:
    return ASSAY_JSON_STRING;
  case JSON_INTEGER:
    return ASSAY_JSON_INT;
  case JSON_REAL:
    return ASSAY_JSON_REAL;
  case JSON_TRUE:
  case JSON_FALSE:
    return ASSAY_JSON_BOOL;
  case JSON_NULL:
    return ASSAY_JSON_NULL;
  }
  return ASSAY_JSON_NULL;
}

const char *assay_json_kind_name(assay_json_kind kind) {
  switch (kind) {
  case ASSAY_JSON_NULL:
    return "null";
  case ASSAY_JSON_BOOL:
    return "true or false";
  case ASSAY_JSON_INT:
    return "an integer";
  case ASSAY_JSON_REAL:
    return "a number";
  case ASSAY_JSON_STRING:
    return "a string";
  case ASSAY_JSON_ARRAY:
    return "an array";
  case ASSAY_JSON_OBJECT:
    return "an object";
  }
  return "something unknown";
}

const assay_json *assay_json_get(const assay_json *object, const char *key) {
  return ours(json_object_get(jansson_of(object), key));
}

const assay_json *assay_json_at(const assay_json *array, size_t i) {
  return ours(json_array_get(jansson_of(array), i));
}

size_t assay_json_len(const assay_json *value) {
  const json_t *v = jansson_of(value);
  return json_is_array(v) ? json_array_size(v) : json_object_size(v);
}

static void *member_at(const assay_json *object, size_t i) {
  json_t *o = jansson_of(object);
  void *member = json_object_iter(o);
  for (; member != NULL && i > 0; i--) member = json_object_iter_next(o, member);
  return member;
}

const char *assay_json_key_at(const assay_json *object, size_t i) {
  void *member = member_at(object, i);
  return member == NULL ? NULL : json_object_iter_key(member);
}

const assay_json *assay_json_value_at(const assay_json *object, size_t i) {
  void *member = member_at(object, i);
  return member == NULL ? NULL : ours(json_object_iter_value(member));
}

assay_status assay_json_each(const assay_json *object, assay_json_member_fn each, void *arg,
                             assay_error *err) {
  json_t *o = jansson_of(object);
  for (void *member = json_object_iter(o); member != NULL;
       member = json_object_iter_next(o, member)) {
    ASSAY_TRY(each(arg, json_object_iter_key(member), ours(json_object_iter_value(member)), err));
  }
  return ASSAY_OK;
}

const char *assay_json_string(const assay_json *value) {
  return json_string_value(jansson_of(value));
}

int64_t assay_json_int(const assay_json *value) {
  return json_integer_value(jansson_of(value));
}

double assay_json_real(const assay_json *value) {
  const json_t *v = jansson_of(value);
  return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

bool assay_json_bool(const assay_json *value) {
  return json_is_true(jansson_of(value));
}

/* ---- reading what must be there -----------------------------------------------------------------
 */

static assay_status fail_kind(const char *key, const char *expected, const assay_json *found,
                              assay_error *err) {
  return assay_fail(err, ASSAY_E_FORMAT, "'%s': expected %s, found %s", key, expected,
                    assay_json_kind_name(assay_json_kind_of(found)));
}

static assay_status need(const assay_json *object, const char *key, assay_json_kind kind,
                         const assay_json **out, assay_error *err) {
  if (assay_json_kind_of(object) != ASSAY_JSON_OBJECT) {
    return assay_fail(err, ASSAY_E_FORMAT, "expected an object with '%s', found %s", key,
                      assay_json_kind_name(assay_json_kind_of(object)));
  }
  const assay_json *value = assay_json_get(object, key);
  if (value == NULL) {
    return assay_fail(err, ASSAY_E_FORMAT, "'%s' is missing: expected %s", key,
                      assay_json_kind_name(kind));
  }
  assay_json_kind found = assay_json_kind_of(value);
  bool fits = found == kind || (kind == ASSAY_JSON_REAL && found == ASSAY_JSON_INT);
  if (!fits) return fail_kind(key, assay_json_kind_name(kind), value, err);
  *out = value;
  return ASSAY_OK;
}

assay_status assay_json_need_string(const assay_json *object, const char *key, const char **out,
                                    assay_error *err) {
  const assay_json *value;
  ASSAY_TRY(need(object, key, ASSAY_JSON_STRING, &value, err));
  *out = assay_json_string(value);
  return ASSAY_OK;
}

assay_status assay_json_need_int(const assay_json *object, const char *key, int64_t low,
                                 int64_t high, int64_t *out, assay_error *err) {
  const assay_json *value;
  ASSAY_TRY(need(object, key, ASSAY_JSON_INT, &value, err));
  int64_t found = assay_json_int(value);
  if (found < low || found > high) {
    return assay_fail(err, ASSAY_E_FORMAT,
                      "'%s': expected an integer from %lld to %lld, found %lld", key,
                      (long long)low, (long long)high, (long long)found);
  }
  *out = found;
  return ASSAY_OK;
}

assay_status assay_json_need_real(const assay_json *object, const char *key, double *out,
                                  assay_error *err) {
  const assay_json *value;
  ASSAY_TRY(need(object, key, ASSAY_JSON_REAL, &value, err));
  *out = assay_json_real(value);
  return ASSAY_OK;
}

assay_status assay_json_need_bool(const assay_json *object, const char *key, bool *out,
                                  assay_error *err) {
  const assay_json *value;
  ASSAY_TRY(need(object, key, ASSAY_JSON_BOOL, &value, err));
  *out = assay_json_bool(value);
  return ASSAY_OK;
}

assay_status assay_json_need_array(const assay_json *object, const char *key,
                                   const assay_json **out, assay_error *err) {
  return need(object, key, ASSAY_JSON_ARRAY, out, err);
}

assay_status assay_json_need_object(const assay_json *object, const char *key,
                                    const assay_json **out, assay_error *err) {
  return need(object, key, ASSAY_JSON_OBJECT, out, err);
}

assay_status assay_json_need_schema(const assay_json *object, const char *kind, int version,
                                    assay_error *err) {
  const char *schema;
  ASSAY_TRY(assay_json_need_string(object, "schema", &schema, err));
  char stem[128], whole[160];
  snprintf(stem, sizeof stem, "assay/%s/", kind);
  snprintf(whole, sizeof whole, "%s%d", stem, version);
  if (strcmp(schema, whole) == 0) return ASSAY_OK;
  bool is_kind = assay_text_has_prefix(schema, stem);
  return assay_fail(err, is_kind ? ASSAY_E_UNSUPPORTED : ASSAY_E_FORMAT,
                    "'schema': expected '%s', found '%s'%s", whole, schema,
                    is_kind ? ", another version: use the assay that wrote it" : "");
}

static bool is_among(const char *key, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (strcmp(names[i], key) == 0) return true;
  }
  return false;
}

assay_status assay_json_only_keys(const assay_json *object, const char *const *names, size_t n,
                                  assay_error *err) {
  json_t *o = jansson_of(object);
  for (void *member = json_object_iter(o); member != NULL;
       member = json_object_iter_next(o, member)) {
    const char *key = json_object_iter_key(member);
    if (is_among(key, names, n)) continue;
    const char *near = assay_text_nearest(key, names, n);
    if (near == NULL) return assay_fail(err, ASSAY_E_FORMAT, "unknown key '%s'", key);
    return assay_fail(err, ASSAY_E_FORMAT, "unknown key '%s': did you mean '%s'?", key, near);
  }
  return ASSAY_OK;
}

/* ---- building -----------------------------------------------------------------------------------
 */

struct assay_json_builder {
  json_t *root;              /* owned; NULL until the first value */
  json_t *open[NESTING_MAX]; /* borrowed: the containers begun and not ended, outermost first */
  size_t n_open;
  assay_error first; /* the first failure */
};

assay_json_builder *assay_json_builder_create(void) {
  use_our_allocator();
  return assay_alloc(sizeof(assay_json_builder));
}

void assay_json_builder_destroy(assay_json_builder *b) {
  if (b == NULL) return;
  json_decref(b->root);
  assay_free(b);
}

static bool may_go_on(const assay_json_builder *b) {
  return b != NULL && b->first.status == ASSAY_OK;
}

static void fail_builder(assay_json_builder *b, assay_status status, const char *key,
                         const char *what) {
  (void)assay_fail(&b->first, status, "JSON value '%s': %s", key == NULL ? "" : key, what);
}

/* Puts value (a new reference, which is consumed) where the builder stands. Returns whether it is
 * there now. */
static bool put(assay_json_builder *b, const char *key, json_t *value) {
  json_t *parent = b->n_open > 0 ? b->open[b->n_open - 1] : NULL;
  const char *fault = NULL;
  assay_status status = ASSAY_E_INTERNAL;
  if (value == NULL) {
    status = ASSAY_E_MEMORY;
    fault = "could not allocate memory";
  } else if (parent == NULL && b->root != NULL) {
    fault = "a second value at the root";
  } else if (json_is_object(parent) != (key != NULL)) {
    fault = "members need a key, other values have none";
  } else if (key != NULL && !assay_text_is_utf8(key, strlen(key))) {
    status = ASSAY_E_ARGUMENT;
    fault = "the key is not UTF-8";
  } else if (key != NULL && json_object_get(parent, key) != NULL) {
    fault = "the key is there already";
  }
  if (fault != NULL) {
    json_decref(value);
    fail_builder(b, status, key, fault);
    return false;
  }
  if (parent == NULL) {
    b->root = value;
    return true;
  }
  int rc =
      key != NULL ? json_object_set_new(parent, key, value) : json_array_append_new(parent, value);
  if (rc != 0) fail_builder(b, ASSAY_E_MEMORY, key, "could not allocate memory");
  return rc == 0;
}

static void begin(assay_json_builder *b, const char *key, json_t *container) {
  if (!put(b, key, container)) return;
  if (b->n_open == NESTING_MAX) {
    fail_builder(b, ASSAY_E_INTERNAL, key, "nested too deep");
    return;
  }
  b->open[b->n_open++] = container;
}

void assay_json_begin_object(assay_json_builder *b, const char *key) {
  if (may_go_on(b)) begin(b, key, json_object());
}

void assay_json_begin_array(assay_json_builder *b, const char *key) {
  if (may_go_on(b)) begin(b, key, json_array());
}

void assay_json_end(assay_json_builder *b) {
  if (!may_go_on(b)) return;
  if (b->n_open == 0) {
    fail_builder(b, ASSAY_E_INTERNAL, NULL, "end without begin");
    return;
  }
  b->n_open--;
}

void assay_json_put_string(assay_json_builder *b, const char *key, const char *value) {
  if (!may_go_on(b)) return;
  if (value != NULL && !assay_text_is_utf8(value, strlen(value))) {
    fail_builder(b, ASSAY_E_ARGUMENT, key, "the text is not UTF-8");
    return;
  }
  (void)put(b, key, value == NULL ? json_null() : json_string(value));
}

void assay_json_put_int(assay_json_builder *b, const char *key, int64_t value) {
  if (may_go_on(b)) (void)put(b, key, json_integer(value));
}

void assay_json_put_real(assay_json_builder *b, const char *key, double value) {
  if (!may_go_on(b)) return;
  if (!isfinite(value)) {
    fail_builder(b, ASSAY_E_ARGUMENT, key, "JSON has no NaN and no infinity");
    return;
  }
  (void)put(b, key, json_real(value));
}

void assay_json_put_bool(assay_json_builder *b, const char *key, bool value) {
  if (may_go_on(b)) (void)put(b, key, json_boolean(value));
}

void assay_json_put_null(assay_json_builder *b, const char *key) {
  if (may_go_on(b)) (void)put(b, key, json_null());
}

void assay_json_put_copy(assay_json_builder *b, const char *key, const assay_json *value) {
  if (!may_go_on(b)) return;
  (void)put(b, key, value == NULL ? json_null() : json_deep_copy(jansson_of(value)));
}

void assay_json_put_number(assay_json_builder *b, const char *key, double value) {
  if (!may_go_on(b)) return;
  if (isfinite(value)) {
    assay_json_put_real(b, key, value);
    return;
  }
  assay_json_put_null(b, key);
  if (key == NULL) return; /* an element of an array has no name to hang a class on */
  char *class_key = assay_format("%s_class", key);
  if (class_key == NULL) {
    fail_builder(b, ASSAY_E_MEMORY, key, "could not allocate memory");
    return;
  }
  assay_json_put_string(b, class_key, isnan(value) ? "nan" : value > 0 ? "+inf" : "-inf");
  assay_free(class_key);
}

/* ---- writing ------------------------------------------------------------------------------------
 */

typedef struct dump_state {
  assay_buf *out;
  assay_status status;
  assay_error *err;
} dump_state;

static int append_text(const char *text, size_t size_bytes, void *arg) {
  dump_state *state = arg;
  state->status = assay_buf_append(state->out, text, size_bytes, state->err);
  return state->status ? -1 : 0;
}

assay_status assay_json_dump(const assay_json *value, bool indented, assay_buf *out,
                             assay_error *err) {
  size_t before = out->size_bytes;
  dump_state state = {.out = out, .err = err};
  size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(17) | (indented ? JSON_INDENT(2) : 0);
  int rc = json_dump_callback(jansson_of(value), append_text, &state, flags);
  if (rc == 0 && indented) state.status = assay_buf_append_text(out, "\n", err);
  if (rc == 0 && !state.status) return ASSAY_OK;
  out->size_bytes = before;
  if (out->data != NULL) out->data[before] = 0;
  if (state.status) return state.status;
  return assay_fail(err, ASSAY_E_MEMORY, "could not allocate memory to write JSON");
}

assay_status assay_json_builder_finish(assay_json_builder *b, assay_buf *out, assay_error *err) {
  if (b == NULL) return assay_fail_memory(err, sizeof *b);
  if (b->first.status != ASSAY_OK) {
    return assay_fail(err, b->first.status, "%s", b->first.text);
  }
  if (b->root == NULL || b->n_open > 0) {
    return assay_fail(err, ASSAY_E_INTERNAL, "JSON: %s",
                      b->root == NULL ? "nothing was put in" : "begin without end");
  }
  return assay_json_dump(ours(b->root), /*indented=*/true, out, err);
}

assay_status assay_json_builder_write(assay_json_builder *b, const char *path, assay_error *err) {
  assay_buf text = {0};
  assay_status st = assay_json_builder_finish(b, &text, err);
  if (!st) st = assay_file_write(path, text.data, text.size_bytes, err);
  assay_buf_reset(&text);
  return st;
}
