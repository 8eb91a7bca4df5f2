/* Pickles as documents: limits, making values, and the questions that readers ask of them. The
 * opcodes are in pickle_machine.c, what happens after STOP in pickle_lower.c and pickle_fold.c. */
#include "checkpoint/pickle.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "checkpoint/pickle_parts.h"

/* Defaults of assay_pickle_limits. A value takes 56 bytes; the most that a byte of pickle can make
 * is 80, by calls without arguments. Real files need 5 to 15 bytes a byte. */
#define INPUT_BYTES_DEFAULT ((size_t)256 << 20)
#define VALUES_DEFAULT      ((size_t)10000000)
#define VALUE_BYTES_EACH    ((size_t)96)
#define VALUE_BYTES_MORE    ((size_t)1 << 20)
#define VALUE_BYTES_MAX     ((size_t)2 << 30)
#define STACK_DEFAULT       ((size_t)1000000)
#define MARKS_DEFAULT       ((size_t)10000)
#define MEMO_DEFAULT        ((size_t)10000000)
#define DEPTH_DEFAULT       ((size_t)1000)

assay_status pickle_make(assay_pickle *doc, assay_pickle_kind kind, assay_pickle_value **out,
                         assay_error *err) {
  void *block;
  if (doc->n_values >= doc->limits.max_values) {
    return assay_fail(err, ASSAY_E_LIMIT, "more than %zu values", doc->limits.max_values);
  }
  ASSAY_TRY(pickle_arena_take(&doc->arena, sizeof(assay_pickle_value), &block, err));
  assay_pickle_value *made = block;
  made->kind = (uint8_t)kind;
  made->id = (uint32_t)doc->n_values++;
  if (doc->last == NULL)
    doc->first = made;
  else
    doc->last->next = made;
  doc->last = made;
  *out = made;
  return ASSAY_OK;
}

assay_status pickle_spend(assay_pickle *doc, size_t n, assay_error *err) {
  if (n > doc->limits.max_value_bytes || doc->work > doc->limits.max_value_bytes - n) {
    return assay_fail(err, ASSAY_E_LIMIT, "shared values take more than %zu looks",
                      doc->limits.max_value_bytes);
  }
  doc->work += n;
  return ASSAY_OK;
}

assay_status pickle_make_text(assay_pickle *doc, assay_pickle_kind kind, const void *bytes,
                              size_t size_bytes, assay_pickle_value **out, assay_error *err) {
  void *text;
  ASSAY_TRY(pickle_make(doc, kind, out, err));
  ASSAY_TRY(pickle_arena_take(&doc->arena, size_bytes + 1, &text, err));
  if (size_bytes > 0) memcpy(text, bytes, size_bytes);
  (*out)->text = (assay_pickle_text){.data = text, .size_bytes = size_bytes};
  return ASSAY_OK;
}

static size_t or_default(size_t given, size_t otherwise) {
  return given == 0 ? otherwise : given;
}

static void fill_limits(assay_pickle_limits *limits, size_t size_bytes) {
  size_t room = size_bytes < VALUE_BYTES_MAX / VALUE_BYTES_EACH
                    ? size_bytes * VALUE_BYTES_EACH + VALUE_BYTES_MORE
                    : VALUE_BYTES_MAX;
  if (room > VALUE_BYTES_MAX) room = VALUE_BYTES_MAX;
  limits->max_input_bytes = or_default(limits->max_input_bytes, INPUT_BYTES_DEFAULT);
  limits->max_values = or_default(limits->max_values, VALUES_DEFAULT);
  limits->max_value_bytes = or_default(limits->max_value_bytes, room);
  limits->max_stack = or_default(limits->max_stack, STACK_DEFAULT);
  limits->max_marks = or_default(limits->max_marks, MARKS_DEFAULT);
  limits->max_memo = or_default(limits->max_memo, MEMO_DEFAULT);
  limits->max_depth = or_default(limits->max_depth, DEPTH_DEFAULT);
  if (limits->max_input_bytes > UINT32_MAX) limits->max_input_bytes = UINT32_MAX;
  if (limits->max_values > UINT32_MAX) limits->max_values = UINT32_MAX;
}

static assay_status decode(assay_pickle *doc, const void *bytes, size_t size_bytes,
                           assay_error *err) {
  if (size_bytes > doc->limits.max_input_bytes) {
    return assay_fail(err, ASSAY_E_LIMIT, "a pickle of %zu bytes: the limit is %zu", size_bytes,
                      doc->limits.max_input_bytes);
  }
  ASSAY_TRY(pickle_run(doc, bytes, size_bytes, err));
  if (doc->used_bytes < size_bytes && !doc->limits.allow_trailing) {
    return assay_fail(err, ASSAY_E_FORMAT, "%zu bytes follow the pickle's end at byte %zu",
                      size_bytes - doc->used_bytes, doc->used_bytes);
  }
  ASSAY_TRY(pickle_lower(doc, err));
  ASSAY_TRY(pickle_fold(doc, err));
  return pickle_measure(doc, err);
}

assay_status assay_pickle_parse(const void *bytes, size_t size_bytes,
                                const assay_pickle_limits *limits, assay_pickle **out,
                                assay_error *err) {
  assay_pickle *doc = assay_alloc(sizeof *doc);
  if (doc == NULL) return assay_fail_memory(err, sizeof *doc);
  if (limits != NULL) doc->limits = *limits;
  fill_limits(&doc->limits, size_bytes);
  doc->arena.max_bytes = doc->limits.max_value_bytes;
  assay_status st = decode(doc, bytes, size_bytes, err);
  if (st) {
    assay_pickle_destroy(doc);
    assay_error_in(err, "pickle");
    return st;
  }
  *out = doc;
  return ASSAY_OK;
}

void assay_pickle_destroy(assay_pickle *pickle) {
  if (pickle == NULL) return;
  pickle_arena_reset(&pickle->arena);
  assay_free(pickle);
}

const assay_pickle_value *assay_pickle_root(const assay_pickle *pickle) {
  return pickle->root;
}

size_t assay_pickle_count(const assay_pickle *pickle) {
  return pickle->n_values;
}

const assay_pickle_value *assay_pickle_first(const assay_pickle *pickle) {
  return pickle->first;
}

size_t assay_pickle_used_bytes(const assay_pickle *pickle) {
  return pickle->used_bytes;
}

int assay_pickle_protocol(const assay_pickle *pickle) {
  return pickle->protocol;
}

bool assay_pickle_is_cyclic(const assay_pickle *pickle) {
  return pickle->is_cyclic;
}

size_t assay_pickle_repeated_keys(const assay_pickle *pickle) {
  return pickle->n_repeated_keys;
}

const char *assay_pickle_kind_name(assay_pickle_kind kind) {
  static const char *const names[] = {
      [ASSAY_PICKLE_NONE] = "None",
      [ASSAY_PICKLE_BOOL] = "a bool",
      [ASSAY_PICKLE_INT] = "an integer",
      [ASSAY_PICKLE_BIGINT] = "a long integer",
      [ASSAY_PICKLE_REAL] = "a real",
      [ASSAY_PICKLE_COMPLEX] = "a complex number",
      [ASSAY_PICKLE_TEXT] = "a text",
      [ASSAY_PICKLE_BYTES] = "bytes",
      [ASSAY_PICKLE_TUPLE] = "a tuple",
      [ASSAY_PICKLE_LIST] = "a list",
      [ASSAY_PICKLE_SET] = "a set",
      [ASSAY_PICKLE_DICT] = "a dict",
      [ASSAY_PICKLE_GLOBAL] = "a global",
      [ASSAY_PICKLE_CALL] = "an object",
      [ASSAY_PICKLE_PERSISTENT] = "a persistent id",
  };
  return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "nothing known";
}

bool assay_pickle_is_text(const assay_pickle_value *value, const char *text) {
  return value != NULL && value->kind == ASSAY_PICKLE_TEXT &&
         value->text.size_bytes == strlen(text) && strcmp(value->text.data, text) == 0;
}

const assay_pickle_value *assay_pickle_get(const assay_pickle_value *dict, const char *key) {
  if (dict == NULL || dict->kind != ASSAY_PICKLE_DICT) return NULL;
  for (size_t i = 0; i < dict->pairs.n; i++) {
    if (assay_pickle_is_text(dict->pairs.at[i].key, key)) return dict->pairs.at[i].value;
  }
  return NULL;
}

bool assay_pickle_same_module(const char *written, const char *known) {
  static const struct {
    const char *written, *known; /* whole names; with a dot at the end: beginnings */
  } aliases[] = {
      {"__builtin__", "builtins"},
      {"copy_reg", "copyreg"},
      {"torch.tensor", "torch._tensor"},
      {"numpy._core.", "numpy.core."},
  };
  if (strcmp(written, known) == 0) return true;
  for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
    const char *old = aliases[i].written, *new = aliases[i].known;
    bool is_beginning = assay_text_has_suffix(old, ".");
    if (!is_beginning && strcmp(written, old) == 0) return strcmp(known, new) == 0;
    if (is_beginning && assay_text_has_prefix(written, old)) {
      return assay_text_has_prefix(known, new) &&
             strcmp(written + strlen(old), known + strlen(new)) == 0;
    }
  }
  return false;
}

bool assay_pickle_is_global(const assay_pickle_value *value, const char *module, const char *name) {
  return value != NULL && value->kind == ASSAY_PICKLE_GLOBAL &&
         strcmp(value->global.name, name) == 0 &&
         assay_pickle_same_module(value->global.module, module);
}

bool assay_pickle_is_call(const assay_pickle_value *value, const char *module, const char *name) {
  return value != NULL && value->call != NULL &&
         assay_pickle_is_global(value->call->callable, module, name);
}
