/* Lowering: a call of a plain constructor becomes the value it would give, so that readers meet one
 * kind of dict, set, text and number whatever protocol wrote them. The call stays beside the value:
 * an OrderedDict is a DICT whose call names it and keeps its attributes as state.
 *
 * Nothing is called: each row below says how the arguments are read, and a call that does not look
 * as its row expects stays a CALL. Source: ../shared/specs/torch_checkpoint.md section 4. */
#include <string.h>

#include "checkpoint/pickle_parts.h"

typedef assay_pickle_value value;

/* Writes what the call gives into made, or leaves made alone. */
typedef assay_status (*lower_fn)(assay_pickle *doc, value *made, assay_error *err);

static size_t n_args(const value *made) {
  return made->call->args->items.n;
}

static value *arg(const value *made, size_t i) {
  return i < n_args(made) ? made->call->args->items.at[i] : NULL;
}

static bool is_sequence(const value *item) {
  return item != NULL && (item->kind == ASSAY_PICKLE_LIST || item->kind == ASSAY_PICKLE_TUPLE ||
                          item->kind == ASSAY_PICKLE_SET);
}

static bool is_pair(const value *item) {
  return item != NULL && (item->kind == ASSAY_PICKLE_LIST || item->kind == ASSAY_PICKLE_TUPLE) &&
         item->items.n == 2;
}

/* A dict's first argument: None, a dict, or a list of pairs. */
static bool is_dict_source(const value *source) {
  if (source == NULL || source->kind == ASSAY_PICKLE_NONE) return true;
  if (source->kind == ASSAY_PICKLE_DICT) return true;
  if (!is_sequence(source)) return false;
  for (size_t i = 0; i < source->items.n; i++) {
    if (!is_pair(source->items.at[i])) return false;
  }
  return true;
}

static assay_status lower_dict_from(assay_pickle *doc, value *made, const value *source,
                                    assay_error *err) {
  assay_pickle_call *call = made->call;
  if (is_sequence(source)) ASSAY_TRY(pickle_spend(doc, source->items.n, err));
  if (!is_dict_source(source) || call->items.n > 0) return ASSAY_OK;
  assay_pickle_pairs pairs = call->pairs; /* without an argument, which is usual, these are all */
  size_t n_first = 0;
  if (source != NULL && source->kind == ASSAY_PICKLE_DICT)
    n_first = source->pairs.n;
  else if (source != NULL && source->kind != ASSAY_PICKLE_NONE)
    n_first = source->items.n;
  if (n_first > 0) {
    void *block;
    size_t n = n_first + call->pairs.n;
    ASSAY_TRY(pickle_arena_take(&doc->arena, n * sizeof *pairs.at, &block, err));
    pairs = (assay_pickle_pairs){.at = block, .n = n, .cap = n};
    for (size_t i = 0; i < n_first; i++) {
      if (source->kind == ASSAY_PICKLE_DICT)
        pairs.at[i] = source->pairs.at[i];
      else {
        value *const *pair = source->items.at[i]->items.at;
        pairs.at[i] = (assay_pickle_pair){.key = pair[0], .value = pair[1]};
      }
    }
    if (call->pairs.n > 0) {
      memcpy(pairs.at + n_first, call->pairs.at, call->pairs.n * sizeof *pairs.at);
    }
  }
  made->kind = ASSAY_PICKLE_DICT;
  made->pairs = pairs;
  return ASSAY_OK;
}

static assay_status lower_dict(assay_pickle *doc, value *made, assay_error *err) {
  return n_args(made) > 1 ? ASSAY_OK : lower_dict_from(doc, made, arg(made, 0), err);
}

/* defaultdict(factory[, source]): the factory is of no interest to a reader. */
static assay_status lower_defaultdict(assay_pickle *doc, value *made, assay_error *err) {
  return n_args(made) > 2 ? ASSAY_OK : lower_dict_from(doc, made, arg(made, 1), err);
}

/* list(), tuple(), set(), frozenset(), torch.Size(): of nothing or of one sequence. */
static assay_status lower_items(assay_pickle *doc, value *made, assay_pickle_kind kind,
                                assay_error *err) {
  value *source = arg(made, 0);
  const assay_pickle_items *more = &made->call->items;
  if (n_args(made) > 1 || made->call->pairs.n > 0) return ASSAY_OK;
  if (source != NULL && (!is_sequence(source) || more->n > 0)) return ASSAY_OK;
  if (source != NULL) ASSAY_TRY(pickle_spend(doc, source->items.n, err));
  made->items = source != NULL ? source->items : *more;
  made->kind = (uint8_t)kind;
  return ASSAY_OK;
}

static assay_status lower_list(assay_pickle *doc, value *made, assay_error *err) {
  return lower_items(doc, made, ASSAY_PICKLE_LIST, err);
}

static assay_status lower_tuple(assay_pickle *doc, value *made, assay_error *err) {
  return lower_items(doc, made, ASSAY_PICKLE_TUPLE, err);
}

static assay_status lower_set(assay_pickle *doc, value *made, assay_error *err) {
  return lower_items(doc, made, ASSAY_PICKLE_SET, err);
}

static bool real_of(const value *item, double *out) {
  if (item == NULL) return false;
  if (item->kind == ASSAY_PICKLE_REAL)
    *out = item->real;
  else if (item->kind == ASSAY_PICKLE_INT)
    *out = (double)item->integer;
  else
    return false;
  return true;
}

static assay_status lower_complex(assay_pickle *doc, value *made, assay_error *err) {
  double re, im;
  (void)doc;
  (void)err;
  if (n_args(made) != 2 || !real_of(arg(made, 0), &re) || !real_of(arg(made, 1), &im)) {
    return ASSAY_OK;
  }
  made->kind = ASSAY_PICKLE_COMPLEX;
  made->complex.re = re;
  made->complex.im = im;
  return ASSAY_OK;
}

static bool is_latin1(const value *encoding) {
  static const char *const names[] = {"latin1", "latin-1", "iso-8859-1", "iso8859-1"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (assay_pickle_is_text(encoding, names[i])) return true;
  }
  return false;
}

/* _codecs.encode(text, 'latin1') is how protocols below 3 store bytes: one byte a character. */
static assay_status lower_encode(assay_pickle *doc, value *made, assay_error *err) {
  const value *text = arg(made, 0);
  void *block;
  if (n_args(made) != 2 || text->kind != ASSAY_PICKLE_TEXT || !is_latin1(arg(made, 1))) {
    return ASSAY_OK;
  }
  const uint8_t *from = (const uint8_t *)text->text.data;
  size_t n = text->text.size_bytes, at = 0;
  ASSAY_TRY(pickle_arena_take(&doc->arena, n + 1, &block, err));
  uint8_t *to = block;
  for (size_t i = 0; i < n; i++) {
    if (from[i] < 0x80)
      to[at++] = from[i];
    else if (from[i] <= 0xc3 && i + 1 < n) {
      to[at++] = (uint8_t)((from[i] & 0x03) << 6 | (from[i + 1] & 0x3f));
      i++;
    } else {
      return assay_fail(err, ASSAY_E_FORMAT,
                        "bytes written as Latin-1 text hold a character beyond it");
    }
  }
  to[at] = '\0';
  made->kind = ASSAY_PICKLE_BYTES;
  made->text = (assay_pickle_text){.data = block, .size_bytes = at};
  return ASSAY_OK;
}

/* bytes() and bytearray(): of nothing, or of bytes. */
static assay_status lower_bytes(assay_pickle *doc, value *made, assay_error *err) {
  const value *source = arg(made, 0);
  (void)doc;
  (void)err;
  if (n_args(made) > 1 || (source != NULL && source->kind != ASSAY_PICKLE_BYTES)) return ASSAY_OK;
  made->kind = ASSAY_PICKLE_BYTES;
  made->text = source != NULL ? source->text : (assay_pickle_text){.data = "", .size_bytes = 0};
  return ASSAY_OK;
}

static const struct {
  const char *module, *name;
  lower_fn lower;
} rows[] = {
    {"collections", "OrderedDict", lower_dict},
    {"collections", "defaultdict", lower_defaultdict},
    {"collections", "Counter", lower_dict},
    {"builtins", "dict", lower_dict},
    {"builtins", "list", lower_list},
    {"builtins", "tuple", lower_tuple},
    {"builtins", "set", lower_set},
    {"builtins", "frozenset", lower_set},
    {"builtins", "complex", lower_complex},
    {"builtins", "bytes", lower_bytes},
    {"builtins", "bytearray", lower_bytes},
    {"_codecs", "encode", lower_encode},
    {"torch", "Size", lower_tuple},
};

static assay_status lower_one(assay_pickle *doc, value *made, assay_error *err) {
  if (made->call->kwargs != NULL) return ASSAY_OK;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (assay_pickle_is_global(made->call->callable, rows[i].module, rows[i].name)) {
      return rows[i].lower(doc, made, err);
    }
  }
  return ASSAY_OK;
}

/* In order of making, so that arguments come before the calls that use them. */
assay_status pickle_lower(assay_pickle *doc, assay_error *err) {
  for (value *made = doc->first; made != NULL; made = made->next) {
    if (made->kind == ASSAY_PICKLE_CALL) ASSAY_TRY(lower_one(doc, made, err));
  }
  return ASSAY_OK;
}
