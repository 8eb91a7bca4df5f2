/* Pickled values as JSON. Sharing in a pickle can make a tree exponentially larger than its bytes,
 * so what is written is counted; a value that is met while it is being written contains itself. */
#include "checkpoint/pickle_json.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "checkpoint/numpy_value.h"

#define DEPTH_MAX        400
#define VALUES_MAX       ((size_t)1000000)
#define TEXT_BYTES_MAX   ((size_t)64 << 20) /* of all text written */
#define CONFIG_BYTES_MAX ((size_t)16 << 20)

typedef assay_pickle_value value;

typedef struct writer {
  assay_json_builder *b;
  uint8_t *open; /* [values of the pickle] 1 while it is being written */
  size_t n_values, text_bytes;
  int depth;
} writer;

static assay_status put(writer *w, const char *key, const value *item, assay_error *err);

/* ---- enums and objects
 * --------------------------------------------------------------------------- */

/* A class whose instances are called with one value and are nothing else: Enum members. Classes of
 * the standard library that look the same are known by their modules. */
static bool is_enum_class(const value *callable) {
  static const char *const others[] = {"builtins", "pathlib", "pathlib._local", "torch",
                                       "numpy",    "decimal", "datetime",       "uuid"};
  if (callable->kind != ASSAY_PICKLE_GLOBAL) return false;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    if (assay_pickle_same_module(callable->global.module, others[i])) return false;
  }
  const char *name = strrchr(callable->global.name, '.');
  name = name == NULL ? callable->global.name : name + 1;
  return isupper((unsigned char)name[0]) != 0;
}

/* mlpf/conf.py: the two enums whose values are spelt with a dash. */
static bool wants_dashes(const char *class) {
  return strcmp(class, "RegressionMode") == 0 || strcmp(class, "DatasetSamplerMode") == 0;
}

static const char *member_text(const value *class, const value *name, char *buf, size_t buf_bytes) {
  if (!is_enum_class(class) || name->kind != ASSAY_PICKLE_TEXT ||
      name->text.size_bytes >= buf_bytes) {
    return NULL;
  }
  bool dashes = wants_dashes(class->global.name);
  for (size_t i = 0; i <= name->text.size_bytes; i++) {
    char c = name->text.data[i];
    if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
    buf[i] = dashes && c == '_' ? '-' : c;
  }
  return buf;
}

const char *assay_pickle_enum_text(const value *item, char *buf, size_t buf_bytes) {
  if (item == NULL || item->kind != ASSAY_PICKLE_CALL) return NULL;
  const assay_pickle_call *call = item->call;
  const assay_pickle_items *args = &call->args->items;
  if (call->state != NULL || call->kwargs != NULL || call->is_instance || call->items.n > 0 ||
      call->pairs.n > 0) {
    return NULL;
  }
  if (assay_pickle_is_global(call->callable, "builtins", "getattr")) {
    return args->n == 2 ? member_text(args->at[0], args->at[1], buf, buf_bytes) : NULL;
  }
  bool has_text = args->n == 1 && args->at[0]->kind == ASSAY_PICKLE_TEXT;
  return has_text && is_enum_class(call->callable) ? args->at[0]->text.data : NULL;
}

/* The integer of an enum member that is made from one, or false. */
static bool enum_integer(const value *item, int64_t *out) {
  const assay_pickle_call *call = item->call;
  if (call->state != NULL || call->kwargs != NULL || call->is_instance || call->items.n > 0 ||
      call->pairs.n > 0 || call->args->items.n != 1 || !is_enum_class(call->callable) ||
      call->args->items.at[0]->kind != ASSAY_PICKLE_INT) {
    return false;
  }
  *out = call->args->items.at[0]->integer;
  return true;
}

/* The dict in a state: itself, or the first of a (dict, slots) pair. */
static const value *state_dict_of(const value *state) {
  if (state == NULL) return NULL;
  if (state->kind == ASSAY_PICKLE_TUPLE && state->items.n == 2) {
    const value *first = state->items.at[0];
    state = first->kind == ASSAY_PICKLE_NONE ? state->items.at[1] : first;
  }
  return state->kind == ASSAY_PICKLE_DICT ? state : NULL;
}

const assay_pickle_pairs *assay_pickle_fields(const value *object) {
  if (object == NULL || object->kind != ASSAY_PICKLE_CALL) return NULL;
  const value *state = state_dict_of(object->call->state);
  const value *inner = assay_pickle_get(state, "__dict__");
  if (inner != NULL && inner->kind == ASSAY_PICKLE_DICT) state = inner;
  return state == NULL ? NULL : &state->pairs;
}

/* The slots in a (dict, slots) state, or NULL. */
static const value *slots_of(const value *object) {
  const value *state = object->call->state;
  bool is_pair = state != NULL && state->kind == ASSAY_PICKLE_TUPLE && state->items.n == 2 &&
                 state->items.at[0]->kind == ASSAY_PICKLE_DICT;
  return is_pair && state->items.at[1]->kind == ASSAY_PICKLE_DICT ? state->items.at[1] : NULL;
}

/* pydantic: fields that the class does not name. */
static const value *extra_fields(const value *object) {
  const value *extra = assay_pickle_get(state_dict_of(object->call->state), "__pydantic_extra__");
  return extra != NULL && extra->kind == ASSAY_PICKLE_DICT ? extra : NULL;
}

/* ---- text
 * ---------------------------------------------------------------------------------------- */

static assay_status spend_text(writer *w, size_t n, assay_error *err) {
  if (n > TEXT_BYTES_MAX - w->text_bytes) {
    return assay_fail(err, ASSAY_E_LIMIT, "more than %zu bytes of text once written out",
                      TEXT_BYTES_MAX);
  }
  w->text_bytes += n;
  return ASSAY_OK;
}

/* As text that JSON can hold: unchanged where it can. *out_own is released by the caller. */
static assay_status json_text(writer *w, const assay_pickle_text *text, const char **out,
                              char **out_own, assay_error *err) {
  ASSAY_TRY(spend_text(w, text->size_bytes, err));
  *out = text->data;
  *out_own = NULL;
  bool plain = memchr(text->data, '\0', text->size_bytes) == NULL &&
               assay_text_is_utf8(text->data, text->size_bytes);
  if (plain) return ASSAY_OK;
  size_t room = text->size_bytes * 4 + 1; /* each byte as \xNN at most */
  char *own = assay_alloc(room);
  if (own == NULL) return assay_fail_memory(err, room);
  size_t at = 0;
  for (size_t i = 0; i < text->size_bytes; i++) {
    uint8_t byte = (uint8_t)text->data[i];
    if (byte >= 0x20 && byte < 0x7f)
      own[at++] = (char)byte;
    else
      at += (size_t)snprintf(own + at, room - at, "\\x%02x", byte);
  }
  *out = *out_own = own;
  return ASSAY_OK;
}

static assay_status put_text(writer *w, const char *key, const assay_pickle_text *text,
                             assay_error *err) {
  const char *plain;
  char *own;
  ASSAY_TRY(json_text(w, text, &plain, &own, err));
  assay_json_put_string(w->b, key, plain);
  assay_free(own);
  return ASSAY_OK;
}

static assay_status put_hex(writer *w, const char *key, const assay_pickle_text *bytes,
                            assay_error *err) {
  ASSAY_TRY(spend_text(w, bytes->size_bytes * 2, err));
  char *hex = assay_alloc(bytes->size_bytes * 2 + 1);
  if (hex == NULL) return assay_fail_memory(err, bytes->size_bytes * 2 + 1);
  for (size_t i = 0; i < bytes->size_bytes; i++) {
    hex[2 * i] = "0123456789abcdef"[(uint8_t)bytes->data[i] >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[(uint8_t)bytes->data[i] & 15];
  }
  assay_json_put_string(w->b, key, hex);
  assay_free(hex);
  return ASSAY_OK;
}

static const char *non_finite_text(double real) {
  return isnan(real) ? "nan" : real > 0 ? "inf" : "-inf";
}

static void put_real(writer *w, const char *key, double real) {
  if (isfinite(real))
    assay_json_put_real(w->b, key, real);
  else
    assay_json_put_string(w->b, key, non_finite_text(real));
}

static assay_status put_global(writer *w, const char *key, const value *global, assay_error *err) {
  char *text = assay_format("%s.%s", global->global.module, global->global.name);
  if (text == NULL) return assay_fail_memory(err, strlen(global->global.module));
  assay_pickle_text whole = {.data = text, .size_bytes = strlen(text)};
  assay_status st = put_text(w, key, &whole, err);
  assay_free(text);
  return st;
}

/* ---- containers
 * ---------------------------------------------------------------------------------- */

/* The text of a dict's key; *out_own is released by the caller. */
static assay_status key_text(writer *w, const value *key, const char **out, char **out_own,
                             assay_error *err) {
  char buf[128];
  const char *member = assay_pickle_enum_text(key, buf, sizeof buf);
  *out_own = NULL;
  if (key->kind == ASSAY_PICKLE_TEXT || key->kind == ASSAY_PICKLE_BIGINT ||
      key->kind == ASSAY_PICKLE_BYTES) {
    return json_text(w, &key->text, out, out_own, err);
  }
  if (member != NULL)
    *out_own = assay_strdup(member);
  else if (key->kind == ASSAY_PICKLE_INT)
    *out_own = assay_format("%lld", (long long)key->integer);
  else if (key->kind == ASSAY_PICKLE_REAL)
    *out_own = assay_format("%.17g", key->real);
  else if (key->kind == ASSAY_PICKLE_BOOL)
    *out_own = assay_strdup(key->boolean ? "True" : "False");
  else if (key->kind == ASSAY_PICKLE_NONE)
    *out_own = assay_strdup("None");
  else
    *out_own = assay_format("%s #%u", assay_pickle_kind_name(key->kind), (unsigned)key->id);
  *out = *out_own;
  return *out == NULL ? assay_fail_memory(err, sizeof buf) : ASSAY_OK;
}

static assay_status put_pairs(writer *w, const assay_pickle_pairs *pairs, assay_error *err) {
  for (size_t i = 0; i < pairs->n; i++) {
    const char *key;
    char *own;
    ASSAY_TRY(key_text(w, pairs->at[i].key, &key, &own, err));
    assay_status st = put(w, key, pairs->at[i].value, err);
    assay_free(own);
    if (st) return st;
  }
  return ASSAY_OK;
}

static assay_status put_items(writer *w, const char *key, const assay_pickle_items *items,
                              assay_error *err) {
  assay_json_begin_array(w->b, key);
  for (size_t i = 0; i < items->n; i++) ASSAY_TRY(put(w, /*key=*/NULL, items->at[i], err));
  assay_json_end(w->b);
  return ASSAY_OK;
}

static assay_status put_object(writer *w, const char *key, const value *object,
                               const assay_pickle_pairs *fields, assay_error *err) {
  const value *extra = extra_fields(object), *slots = slots_of(object);
  assay_json_begin_object(w->b, key);
  ASSAY_TRY(put_pairs(w, fields, err));
  if (slots != NULL) ASSAY_TRY(put_pairs(w, &slots->pairs, err));
  if (extra != NULL) ASSAY_TRY(put_pairs(w, &extra->pairs, err));
  if (object->call->pairs.n > 0) ASSAY_TRY(put_pairs(w, &object->call->pairs, err));
  assay_json_end(w->b);
  return ASSAY_OK;
}

/* ---- calls
 * --------------------------------------------------------------------------------------- */

static assay_status put_any(writer *w, const char *key, const value *item, assay_error *err);

/* numpy scalars and dtypes, where call is one that can be read. */
static assay_status put_numpy(writer *w, const char *key, const value *call, bool *out_done,
                              assay_error *err) {
  assay_numpy_dtype dtype;
  value scalar;
  char digits[ASSAY_NUMPY_DIGITS_BYTES];
  *out_done = true;
  if (assay_numpy_is_dtype(call, &dtype)) {
    assay_json_put_string(w->b, key, dtype.code);
    return ASSAY_OK;
  }
  if (assay_numpy_scalar_value(call, &scalar, digits)) return put_any(w, key, &scalar, err);
  *out_done = false;
  return ASSAY_OK;
}

/* torch.device('cuda', 1) and pathlib paths: their arguments joined by a sign; false for other
 * calls. */
static assay_status put_joined(writer *w, const char *key, const value *call, bool *out_done,
                               assay_error *err) {
  bool is_device = assay_pickle_is_call(call, "torch", "device");
  const value *callable = call->call->callable;
  bool is_path = callable->kind == ASSAY_PICKLE_GLOBAL &&
                 assay_text_has_prefix(callable->global.module, "pathlib");
  *out_done = false;
  if (!is_device && !is_path) return ASSAY_OK;
  assay_buf text = {.max_bytes = 1 << 16};
  assay_status st = ASSAY_OK;
  const assay_pickle_items *args = &call->call->args->items;
  for (size_t i = 0; i < args->n && !st; i++) {
    bool ends = text.size_bytes > 0 && text.data[text.size_bytes - 1] == '/';
    if (i > 0 && !ends) st = assay_buf_append_text(&text, is_device ? ":" : "/", err);
    if (st) break;
    if (args->at[i]->kind == ASSAY_PICKLE_TEXT) {
      st = assay_buf_append(&text, args->at[i]->text.data, args->at[i]->text.size_bytes, err);
    } else if (args->at[i]->kind == ASSAY_PICKLE_INT) {
      st = assay_buf_appendf(&text, err, "%lld", (long long)args->at[i]->integer);
    } else {
      break; /* not what these are made with: shown as a call */
    }
    *out_done = i + 1 == args->n;
  }
  if (*out_done && !st) {
    assay_pickle_text whole = {.data = assay_buf_text(&text), .size_bytes = text.size_bytes};
    st = put_text(w, key, &whole, err);
  }
  assay_buf_reset(&text);
  return st;
}

static assay_status put_call(writer *w, const char *key, const value *item, assay_error *err) {
  char buf[128];
  int64_t integer;
  bool done;
  const assay_pickle_call *call = item->call;
  const assay_pickle_pairs *fields = assay_pickle_fields(item);
  const char *member = assay_pickle_enum_text(item, buf, sizeof buf);
  if (member != NULL) {
    assay_pickle_text text = {.data = member, .size_bytes = strlen(member)};
    return put_text(w, key, &text, err);
  }
  ASSAY_TRY(put_numpy(w, key, item, &done, err));
  if (done) return ASSAY_OK;
  ASSAY_TRY(put_joined(w, key, item, &done, err));
  if (done) return ASSAY_OK;
  if (enum_integer(item, &integer)) {
    assay_json_put_int(w->b, key, integer);
    return ASSAY_OK;
  }
  if (fields != NULL) return put_object(w, key, item, fields, err);
  assay_json_begin_object(w->b, key);
  ASSAY_TRY(put(w, "call", call->callable, err));
  ASSAY_TRY(put_items(w, "args", &call->args->items, err));
  if (call->kwargs != NULL) ASSAY_TRY(put(w, "kwargs", call->kwargs, err));
  if (call->state != NULL) ASSAY_TRY(put(w, "state", call->state, err));
  if (call->items.n > 0) ASSAY_TRY(put_items(w, "items", &call->items, err));
  if (call->pairs.n > 0) {
    assay_json_begin_object(w->b, "entries");
    ASSAY_TRY(put_pairs(w, &call->pairs, err));
    assay_json_end(w->b);
  }
  assay_json_end(w->b);
  return ASSAY_OK;
}

static assay_status put_complex(writer *w, const char *key, const value *item, assay_error *err) {
  char *text = assay_format("%.17g%+.17gj", item->complex.re, item->complex.im);
  if (text == NULL) return assay_fail_memory(err, 64);
  assay_json_put_string(w->b, key, text);
  assay_free(text);
  return ASSAY_OK;
}

static assay_status put_any(writer *w, const char *key, const value *item, assay_error *err) {
  assay_status st = ASSAY_OK;
  switch ((assay_pickle_kind)item->kind) {
  case ASSAY_PICKLE_NONE:
    assay_json_put_null(w->b, key);
    break;
  case ASSAY_PICKLE_BOOL:
    assay_json_put_bool(w->b, key, item->boolean);
    break;
  case ASSAY_PICKLE_INT:
    assay_json_put_int(w->b, key, item->integer);
    break;
  case ASSAY_PICKLE_REAL:
    put_real(w, key, item->real);
    break;
  case ASSAY_PICKLE_COMPLEX:
    return put_complex(w, key, item, err);
  case ASSAY_PICKLE_BIGINT:
  case ASSAY_PICKLE_TEXT:
    return put_text(w, key, &item->text, err);
  case ASSAY_PICKLE_BYTES:
    return put_hex(w, key, &item->text, err);
  case ASSAY_PICKLE_TUPLE:
  case ASSAY_PICKLE_LIST:
  case ASSAY_PICKLE_SET:
    return put_items(w, key, &item->items, err);
  case ASSAY_PICKLE_DICT:
    assay_json_begin_object(w->b, key);
    st = put_pairs(w, &item->pairs, err);
    assay_json_end(w->b);
    break;
  case ASSAY_PICKLE_GLOBAL:
    return put_global(w, key, item, err);
  case ASSAY_PICKLE_CALL:
    return put_call(w, key, item, err);
  case ASSAY_PICKLE_PERSISTENT:
    assay_json_begin_object(w->b, key);
    st = put(w, "persistent", item->persistent, err);
    assay_json_end(w->b);
    break;
  }
  return st;
}

static assay_status put(writer *w, const char *key, const value *item, assay_error *err) {
  if (w->open[item->id]) {
    assay_json_put_string(w->b, key, "...");
    return ASSAY_OK;
  }
  if (++w->n_values > VALUES_MAX) {
    return assay_fail(err, ASSAY_E_LIMIT, "more than %zu values once shared ones are written out",
                      VALUES_MAX);
  }
  if (w->depth >= DEPTH_MAX) {
    return assay_fail(err, ASSAY_E_LIMIT, "values nested deeper than %d", DEPTH_MAX);
  }
  w->depth++;
  w->open[item->id] = 1;
  assay_status st = put_any(w, key, item, err);
  w->open[item->id] = 0;
  w->depth--;
  return st;
}

assay_status assay_pickle_put_json(const assay_pickle *pickle, const value *item,
                                   assay_json_builder *b, const char *key, assay_error *err) {
  writer w = {.b = b, .open = assay_alloc(assay_pickle_count(pickle))};
  if (w.open == NULL) return assay_fail_memory(err, assay_pickle_count(pickle));
  assay_status st = put(&w, key, item, err);
  assay_free(w.open);
  return st;
}

/* ---- configurations
 * ------------------------------------------------------------------------------ */

static assay_status config_json(const assay_pickle *pickle, assay_buf *out, assay_error *err) {
  const value *root = assay_pickle_root(pickle);
  if (root->kind != ASSAY_PICKLE_DICT && assay_pickle_fields(root) == NULL) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "a dict or an object with fields expected as configuration, found %s",
                      assay_pickle_kind_name(root->kind));
  }
  if (assay_pickle_is_cyclic(pickle)) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "a configuration that contains itself");
  }
  assay_json_builder *b = assay_json_builder_create();
  assay_status st = assay_pickle_put_json(pickle, root, b, /*key=*/NULL, err);
  if (!st) st = assay_json_builder_finish(b, out, err);
  assay_json_builder_destroy(b);
  return st;
}

assay_status assay_config_pickle_decode(const void *bytes, size_t size_bytes, assay_buf *out_json,
                                        assay_error *err) {
  assay_pickle *pickle = NULL;
  ASSAY_TRY(assay_pickle_parse(bytes, size_bytes, /*limits=*/NULL, &pickle, err));
  assay_status st = config_json(pickle, out_json, err);
  assay_pickle_destroy(pickle);
  return st;
}

assay_status assay_config_pickle_read(const char *path, assay_buf *out_json, assay_error *err) {
  assay_buf bytes = {0};
  assay_status st = assay_file_read(path, CONFIG_BYTES_MAX, &bytes, err);
  if (!st) st = assay_config_pickle_decode(bytes.data, bytes.size_bytes, out_json, err);
  assay_buf_reset(&bytes);
  if (st) assay_error_in(err, "configuration '%s'", path);
  return st;
}
