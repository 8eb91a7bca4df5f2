/* After the opcodes: repeated dict keys are folded as Python folds them, then the tree is measured.
 *
 * Folding: values that are keys get ranks, equal exactly when Python would call the keys equal
 * (1, 1.0 and True are one key); the dicts then compare ranks. Keys that are compared by their
 * contents are None, numbers, text, bytes, and short tuples of these; any other key is only equal
 * to itself. Sorting, and no hashing, because the bytes come from strangers. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "checkpoint/pickle_parts.h"

#define TUPLE_KEY_MAX 8

enum { MARK_KEY = 1, MARK_OPEN = 2, MARK_DONE = 4 }; /* bits of value.marks */

typedef assay_pickle_value value;

/* ---- order of keys ------------------------------------------------------------------------------
 */

static int order(bool less, bool more) {
  return (int)more - (int)less;
}

/* Kinds that can be equal share a number; 0: not compared by contents. */
static int class_of(const value *key) {
  switch (key->kind) {
  case ASSAY_PICKLE_NONE:
    return 1;
  case ASSAY_PICKLE_BOOL:
  case ASSAY_PICKLE_INT:
    return 2;
  case ASSAY_PICKLE_REAL: /* one that is a 64-bit integer is that integer; exact by these bounds */
    return key->real >= -0x1p63 && key->real < 0x1p63 && key->real == (double)(int64_t)key->real
               ? 2
               : 3;
  case ASSAY_PICKLE_BIGINT:
    return 4;
  case ASSAY_PICKLE_TEXT:
    return 5;
  case ASSAY_PICKLE_BYTES:
    return 6;
  default:
    return 0;
  }
}

static int64_t integer_of(const value *key) {
  if (key->kind == ASSAY_PICKLE_BOOL) return key->boolean;
  return key->kind == ASSAY_PICKLE_REAL ? (int64_t)key->real : key->integer;
}

static int compare_text(const assay_pickle_text *a, const assay_pickle_text *b) {
  size_t n = a->size_bytes < b->size_bytes ? a->size_bytes : b->size_bytes;
  int found = memcmp(a->data, b->data, n);
  return found != 0 ? found : order(a->size_bytes<b->size_bytes, a->size_bytes> b->size_bytes);
}

/* Same-class keys by contents; 0 when Python calls them equal (or, for NaN, when both are NaN). */
static int compare_contents(const value *a, const value *b) {
  bool a_nan, b_nan;
  switch (class_of(a)) {
  case 2:
    return order(integer_of(a) < integer_of(b), integer_of(a) > integer_of(b));
  case 3:
    a_nan = a->real != a->real;
    b_nan = b->real != b->real;
    if (a_nan || b_nan) return order(b_nan && !a_nan, a_nan && !b_nan);
    return order(a->real<b->real, a->real> b->real);
  case 4:
  case 5:
  case 6:
    return compare_text(&a->text, &b->text);
  default:
    return 0;
  }
}

static bool is_nan(const value *key) {
  return key->kind == ASSAY_PICKLE_REAL && key->real != key->real;
}

static int compare_scalars(const void *left, const void *right) {
  const value *a = *(value *const *)left, *b = *(value *const *)right;
  int found = order(class_of(a) < class_of(b), class_of(a) > class_of(b));
  if (found == 0) found = compare_contents(a, b);
  return found != 0 ? found : order(a->id<b->id, a->id> b->id);
}

/* Tuples whose items are ranked. */
static int compare_tuples(const void *left, const void *right) {
  const value *a = *(value *const *)left, *b = *(value *const *)right;
  int found = order(a->items.n<b->items.n, a->items.n> b->items.n);
  for (size_t i = 0; found == 0 && i < a->items.n; i++) {
    uint32_t x = a->items.at[i]->rank, y = b->items.at[i]->rank;
    found = order(x<y, x> y);
  }
  return found;
}

/* ---- ranks --------------------------------------------------------------------------------------
 */

static bool is_short_tuple(const value *key) {
  if (key->kind != ASSAY_PICKLE_TUPLE || key->items.n > TUPLE_KEY_MAX) return false;
  for (size_t i = 0; i < key->items.n; i++) {
    if (class_of(key->items.at[i]) == 0) return false;
  }
  return true;
}

static void mark_key(value *key) {
  key->marks |= MARK_KEY;
  if (!is_short_tuple(key)) return;
  for (size_t i = 0; i < key->items.n; i++) key->items.at[i]->marks |= MARK_KEY;
}

/* Marks the keys of dicts and the members of sets that have more than one. */
static bool mark_keys(assay_pickle *doc) {
  bool any = false;
  for (value *made = doc->first; made != NULL; made = made->next) {
    bool is_object = made->kind == ASSAY_PICKLE_CALL;
    const assay_pickle_pairs *pairs = is_object ? &made->call->pairs : &made->pairs;
    if ((is_object || made->kind == ASSAY_PICKLE_DICT) && pairs->n > 1) {
      for (size_t i = 0; i < pairs->n; i++) mark_key(pairs->at[i].key);
      any = true;
    }
    if (made->kind == ASSAY_PICKLE_SET && made->items.n > 1) {
      for (size_t i = 0; i < made->items.n; i++) mark_key(made->items.at[i]);
      any = true;
    }
  }
  return any;
}

/* Collects the marked keys, scalars or short tuples, into keys; returns how many. */
static size_t collect(const assay_pickle *doc, bool tuples, value **keys) {
  size_t n = 0;
  for (value *made = doc->first; made != NULL; made = made->next) {
    if (!(made->marks & MARK_KEY)) continue;
    if (tuples ? is_short_tuple(made) : class_of(made) != 0) keys[n++] = made;
  }
  return n;
}

/* Ranks from 1 for scalars and tuples, in that order, then one for every other key. */
static void rank_keys(assay_pickle *doc, value **keys) {
  uint32_t rank = 0;
  size_t n = collect(doc, /*tuples=*/false, keys);
  qsort(keys, n, sizeof(value *), compare_scalars);
  for (size_t i = 0; i < n; i++) {
    bool same = i > 0 && class_of(keys[i - 1]) == class_of(keys[i]) &&
                compare_contents(keys[i - 1], keys[i]) == 0 && !is_nan(keys[i]);
    keys[i]->rank = same ? rank : ++rank;
  }
  n = collect(doc, /*tuples=*/true, keys);
  qsort(keys, n, sizeof(value *), compare_tuples);
  for (size_t i = 0; i < n; i++) {
    bool same = i > 0 && compare_tuples(&keys[i - 1], &keys[i]) == 0;
    keys[i]->rank = same ? rank : ++rank;
  }
  for (value *made = doc->first; made != NULL; made = made->next) {
    if ((made->marks & MARK_KEY) && made->rank == 0) made->rank = ++rank;
  }
}

/* ---- folding ------------------------------------------------------------------------------------
 */

typedef struct place {
  uint32_t rank;
  uint32_t index; /* in the container */
} place;

static int compare_places(const void *left, const void *right) {
  const place *a = left, *b = right;
  int found = order(a->rank<b->rank, a->rank> b->rank);
  return found != 0 ? found : order(a->index<b->index, a->index> b->index);
}

/* Sorts n places; true when a rank occurs twice. */
static bool sort_places(place *places, size_t n) {
  bool increasing = true, repeated = false;
  for (size_t i = 1; increasing && i < n; i++) increasing = places[i - 1].rank < places[i].rank;
  if (increasing) return false;
  qsort(places, n, sizeof *places, compare_places);
  for (size_t i = 1; i < n; i++) repeated |= places[i - 1].rank == places[i].rank;
  return repeated;
}

/* The first of equal keys keeps its place and gets the value of the last. */
static void fold_pairs(assay_pickle *doc, assay_pickle_pairs *pairs, place *places) {
  for (size_t i = 0; i < pairs->n; i++) {
    places[i] = (place){.rank = pairs->at[i].key->rank, .index = (uint32_t)i};
  }
  if (!sort_places(places, pairs->n)) return;
  for (size_t i = 0; i < pairs->n;) {
    size_t first = i++;
    for (; i < pairs->n && places[i].rank == places[first].rank; i++) {
      pairs->at[places[first].index].value = pairs->at[places[i].index].value;
      pairs->at[places[i].index].key = NULL;
    }
  }
  size_t kept = 0;
  for (size_t i = 0; i < pairs->n; i++) {
    if (pairs->at[i].key != NULL) pairs->at[kept++] = pairs->at[i];
  }
  doc->n_repeated_keys += pairs->n - kept;
  pairs->n = kept;
}

/* The array may be shared with the list that the set was made of, so the folded set gets its own.
 */
static assay_status fold_items(assay_pickle *doc, assay_pickle_items *items, place *places,
                               assay_error *err) {
  void *block;
  for (size_t i = 0; i < items->n; i++) {
    places[i] = (place){.rank = items->at[i]->rank, .index = (uint32_t)i};
  }
  if (!sort_places(places, items->n)) return ASSAY_OK;
  ASSAY_TRY(pickle_arena_take(&doc->arena, items->n * sizeof *items->at, &block, err));
  value **own = block;
  memcpy(own, items->at, items->n * sizeof *own);
  size_t n = items->n, kept = 0;
  for (size_t i = 1; i < n; i++) {
    if (places[i].rank == places[i - 1].rank) own[places[i].index] = NULL;
  }
  for (size_t i = 0; i < n; i++) {
    if (own[i] != NULL) own[kept++] = own[i];
  }
  *items = (assay_pickle_items){.at = own, .n = kept, .cap = n};
  return ASSAY_OK;
}

/* Entries of the largest container that fold_all will look at. */
static size_t largest(const assay_pickle *doc) {
  size_t most = 0;
  for (const value *made = doc->first; made != NULL; made = made->next) {
    size_t n = 0;
    if (made->kind == ASSAY_PICKLE_DICT) n = made->pairs.n;
    if (made->kind == ASSAY_PICKLE_CALL) n = made->call->pairs.n;
    if (made->kind == ASSAY_PICKLE_SET) n = made->items.n;
    if (n > most) most = n;
  }
  return most;
}

static assay_status fold_all(assay_pickle *doc, place *places, assay_error *err) {
  for (value *made = doc->first; made != NULL; made = made->next) {
    if (made->kind == ASSAY_PICKLE_DICT && made->pairs.n > 1) {
      fold_pairs(doc, &made->pairs, places);
    }
    if (made->kind == ASSAY_PICKLE_CALL && made->call->pairs.n > 1) {
      fold_pairs(doc, &made->call->pairs, places);
    }
    if (made->kind == ASSAY_PICKLE_SET && made->items.n > 1) {
      ASSAY_TRY(pickle_spend(doc, made->items.n, err)); /* sets of one list share its items */
      ASSAY_TRY(fold_items(doc, &made->items, places, err));
    }
  }
  return ASSAY_OK;
}

assay_status pickle_fold(assay_pickle *doc, assay_error *err) {
  if (!mark_keys(doc)) return ASSAY_OK;
  size_t n_places = largest(doc);
  value **keys = assay_alloc_array(doc->n_values, sizeof *keys);
  place *places = assay_alloc_array(n_places, sizeof *places);
  assay_status st = ASSAY_OK;
  if (keys == NULL || places == NULL) st = assay_fail_memory(err, doc->n_values * sizeof *keys);
  if (!st) {
    rank_keys(doc, keys);
    st = fold_all(doc, places, err);
  }
  assay_free(keys);
  assay_free(places);
  return st;
}

/* ---- measuring ----------------------------------------------------------------------------------
 */

/* The i-th value below parent, or NULL past the last one. The call of a lowered value counts only
 * with its callable and state: its arguments are in the value. */
static value *child_at(const value *parent, size_t i) {
  const assay_pickle_call *call = parent->call;
  if (call != NULL) {
    value *const parts[] = {call->callable, call->state, call->args, call->kwargs};
    size_t n_parts = parent->kind == ASSAY_PICKLE_CALL ? 4 : 2;
    for (size_t k = 0; k < n_parts; k++) {
      if (parts[k] != NULL && i-- == 0) return parts[k];
    }
  }
  switch (parent->kind) {
  case ASSAY_PICKLE_TUPLE:
  case ASSAY_PICKLE_LIST:
  case ASSAY_PICKLE_SET:
    return i < parent->items.n ? parent->items.at[i] : NULL;
  case ASSAY_PICKLE_DICT:
    if (i / 2 >= parent->pairs.n) return NULL;
    return i % 2 == 0 ? parent->pairs.at[i / 2].key : parent->pairs.at[i / 2].value;
  case ASSAY_PICKLE_PERSISTENT:
    return i == 0 ? parent->persistent : NULL;
  case ASSAY_PICKLE_CALL:
    if (i < call->items.n) return call->items.at[i];
    i -= call->items.n;
    if (i / 2 >= call->pairs.n) return NULL;
    return i % 2 == 0 ? call->pairs.at[i / 2].key : call->pairs.at[i / 2].value;
  default:
    return NULL;
  }
}

typedef struct frame {
  value *at;
  size_t next_child;
} frame;

/* Depth first from the root with a stack of our own, each value once. */
static assay_status measure(assay_pickle *doc, frame *frames, assay_error *err) {
  size_t n = 0, max = doc->limits.max_depth;
  frames[n++] = (frame){.at = doc->root};
  doc->root->marks |= MARK_OPEN;
  while (n > 0) {
    value *parent = frames[n - 1].at;
    value *child = child_at(parent, frames[n - 1].next_child++);
    if (child == NULL) {
      parent->marks = (uint8_t)((parent->marks & ~MARK_OPEN) | MARK_DONE);
      n--;
      if (n > 0 && frames[n - 1].at->height <= parent->height) {
        frames[n - 1].at->height = parent->height + 1;
      }
    } else if (child->marks & MARK_OPEN) {
      doc->is_cyclic = true;
    } else {
      size_t depth = n + ((child->marks & MARK_DONE) ? child->height : 0);
      if (depth >= max) {
        return assay_fail(err, ASSAY_E_LIMIT, "values nested deeper than %zu", max);
      }
      if (child->marks & MARK_DONE) {
        if (parent->height <= child->height) parent->height = child->height + 1;
        continue;
      }
      child->marks |= MARK_OPEN;
      frames[n++] = (frame){.at = child};
    }
  }
  return ASSAY_OK;
}

assay_status pickle_measure(assay_pickle *doc, assay_error *err) {
  size_t max = doc->limits.max_depth;
  frame *frames = assay_alloc_array(max + 1, sizeof *frames);
  if (frames == NULL) return assay_fail_memory(err, max * sizeof *frames);
  assay_status st = measure(doc, frames, err);
  assay_free(frames);
  return st;
}
