/* The walk over the tree of a file. A container is entered the first time it is met and only then,
 * which bounds the walk however values are shared and makes values that contain themselves
 * harmless. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "checkpoint/numpy_value.h"
#include "checkpoint/pickle_json.h"
#include "checkpoint/torch_parts.h"

#define DEPTH_MAX      1000
#define KEY_BYTES_MAX  512 /* longer keys are cut in paths */
#define PATH_BYTES_MAX ((size_t)1 << 16)

typedef assay_pickle_value value;

typedef struct walk {
  assay_torch_file *file;
  bool add;                   /* tensors to the file's list */
  assay_torch_visit_fn visit; /* or NULL */
  void *arg;
  uint8_t *seen; /* [values of the pickle] */
  assay_buf path;
  int depth;
} walk;

static assay_status go(walk *w, const value *item, assay_error *err);

/* A dict's key as part of a path: its text, the digits of an integer, or its kind. */
static assay_status append_key(walk *w, const value *key, size_t i, assay_error *err) {
  char buf[128];
  const char *member = assay_pickle_enum_text(key, buf, sizeof buf);
  if (key->kind == ASSAY_PICKLE_TEXT || key->kind == ASSAY_PICKLE_BIGINT) {
    size_t n = strnlen(key->text.data, KEY_BYTES_MAX);
    if (n == 0) return assay_buf_append_text(&w->path, "''", err);
    return assay_buf_append(&w->path, key->text.data, n, err);
  }
  if (key->kind == ASSAY_PICKLE_INT) {
    return assay_buf_appendf(&w->path, err, "%lld", (long long)key->integer);
  }
  if (member != NULL) return assay_buf_appendf(&w->path, err, "%.*s", KEY_BYTES_MAX, member);
  return assay_buf_appendf(&w->path, err, "(%s %zu)", assay_pickle_kind_name(key->kind), i);
}

/* Visits item under a key (or, without one, under name or the number i), and comes back. */
static assay_status step(walk *w, const value *key, const char *name, size_t i, const value *item,
                         assay_error *err) {
  size_t kept = w->path.size_bytes;
  if (kept > 0) ASSAY_TRY(assay_buf_append_text(&w->path, "/", err));
  if (key != NULL)
    ASSAY_TRY(append_key(w, key, i, err));
  else if (name != NULL)
    ASSAY_TRY(assay_buf_append_text(&w->path, name, err));
  else
    ASSAY_TRY(assay_buf_appendf(&w->path, err, "%zu", i));
  ASSAY_TRY(go(w, item, err));
  w->path.size_bytes = kept;
  if (w->path.data != NULL) w->path.data[kept] = '\0';
  return ASSAY_OK;
}

static assay_status go_items(walk *w, const assay_pickle_items *items, assay_error *err) {
  for (size_t i = 0; i < items->n; i++) {
    ASSAY_TRY(step(w, /*key=*/NULL, /*name=*/NULL, i, items->at[i], err));
  }
  return ASSAY_OK;
}

static assay_status go_pairs(walk *w, const assay_pickle_pairs *pairs, assay_error *err) {
  for (size_t i = 0; i < pairs->n; i++) {
    ASSAY_TRY(step(w, pairs->at[i].key, /*name=*/NULL, i, pairs->at[i].value, err));
  }
  return ASSAY_OK;
}

/* What an object that means nothing to us holds. */
static assay_status go_object(walk *w, const value *object, assay_error *err) {
  const assay_pickle_call *call = object->call;
  const assay_pickle_pairs *fields = assay_pickle_fields(object);
  if (call->args->items.n > 0) {
    ASSAY_TRY(step(w, /*key=*/NULL, "args", 0, call->args, err));
  }
  if (call->kwargs != NULL) ASSAY_TRY(step(w, /*key=*/NULL, "kwargs", 0, call->kwargs, err));
  if (fields != NULL)
    ASSAY_TRY(go_pairs(w, fields, err));
  else if (call->state != NULL)
    ASSAY_TRY(step(w, /*key=*/NULL, "state", 0, call->state, err));
  ASSAY_TRY(go_items(w, &call->items, err));
  return go_pairs(w, &call->pairs, err);
}

/* What one line tells (pickle_describe.h): how it is spelt in the pickle says nothing more. */
static bool is_told(const value *call) {
  char buf[128];
  const assay_pickle_items *args = &call->call->args->items;
  const bool is_device = assay_pickle_is_call(call, "torch", "device") && args->n > 0 &&
                         args->at[0]->kind == ASSAY_PICKLE_TEXT;
  return is_device || assay_numpy_is_plain(call) ||
         assay_pickle_enum_text(call, buf, sizeof buf) != NULL;
}

static assay_status enter(walk *w, const value *item, assay_error *err) {
  switch (item->kind) {
  case ASSAY_PICKLE_TUPLE:
  case ASSAY_PICKLE_LIST:
  case ASSAY_PICKLE_SET:
    return go_items(w, &item->items, err);
  case ASSAY_PICKLE_DICT:
    return go_pairs(w, &item->pairs, err);
  case ASSAY_PICKLE_CALL:
    return is_told(item) ? ASSAY_OK : go_object(w, item, err);
  default:
    return ASSAY_OK;
  }
}

static bool is_container(const value *item) {
  switch (item->kind) {
  case ASSAY_PICKLE_TUPLE:
  case ASSAY_PICKLE_LIST:
  case ASSAY_PICKLE_SET:
    return item->items.n > 0;
  case ASSAY_PICKLE_DICT:
    return item->pairs.n > 0;
  case ASSAY_PICKLE_CALL:
    return true;
  default:
    return false;
  }
}

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

static assay_status go(walk *w, const value *item, assay_error *err) {
  bool is_tensor = torch_is_tensor(item), seen = w->seen[item->id] != 0;
  const char *path = assay_buf_text(&w->path);
  if (w->depth >= DEPTH_MAX) {
    return assay_fail(err, ASSAY_E_LIMIT, "values nested deeper than %d", DEPTH_MAX);
  }
  if (w->add && is_tensor && !seen) ASSAY_TRY(torch_add_tensor(w->file, item, path, err));
  w->seen[item->id] = 1;
  if (w->visit != NULL) {
    size_t i;
    bool found = assay_torch_file_find(w->file, item, &i);
    assay_torch_node node = {.path = path,
                             .key = last_part(path),
                             .depth = w->depth,
                             .value = item,
                             .tensor = found ? &w->file->tensors[i] : NULL,
                             .is_repeated = seen && (is_tensor || is_container(item))};
    ASSAY_TRY(w->visit(w->arg, &node, err));
  }
  if (is_tensor || seen) return ASSAY_OK;
  w->depth++;
  assay_status st = enter(w, item, err);
  w->depth--;
  return st;
}

assay_status torch_walk(assay_torch_file *file, bool add, assay_torch_visit_fn visit, void *arg,
                        assay_error *err) {
  size_t n = assay_pickle_count(file->pickle);
  walk w = {.file = file,
            .add = add,
            .visit = visit,
            .arg = arg,
            .seen = assay_alloc(n),
            .path = {.max_bytes = PATH_BYTES_MAX}};
  assay_status st =
      w.seen == NULL ? assay_fail_memory(err, n) : go(&w, assay_pickle_root(file->pickle), err);
  assay_free(w.seen);
  assay_buf_reset(&w.path);
  return st;
}

assay_status assay_torch_file_each(const assay_torch_file *file, assay_torch_visit_fn visit,
                                   void *arg, assay_error *err) {
  /* Without `add` nothing of the file is written to. */
  return torch_walk((assay_torch_file *)(uintptr_t)file, /*add=*/false, visit, arg, err);
}
