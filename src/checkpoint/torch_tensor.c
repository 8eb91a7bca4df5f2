/* From the calls that rebuild tensors to tensors: storages, shapes, strides, and the checks that
 * keep every element inside its storage. Source: ../shared/specs/torch_checkpoint.md sections 4 and
 * 5; torch/_utils.py, torch/_tensor.py. */
#include <string.h>

#include "base/alloc.h"
#include "checkpoint/torch_parts.h"

typedef assay_pickle_value value;

#define REBUILD_DEPTH_MAX 16 /* parameter of parameter of … */

/* ---- persistent ids
 * ------------------------------------------------------------------------------ */

static const value *item_at(const value *tuple, size_t i) {
  bool is_tuple = tuple != NULL && tuple->kind == ASSAY_PICKLE_TUPLE;
  return is_tuple && i < tuple->items.n ? tuple->items.at[i] : NULL;
}

static bool is_kind(const value *item, assay_pickle_kind kind) {
  return item != NULL && item->kind == kind;
}

bool torch_is_storage_id(const value *item) {
  return is_kind(item, ASSAY_PICKLE_PERSISTENT) &&
         assay_pickle_is_text(item_at(item->persistent, 0), "storage");
}

/* Keys become parts of entry names: [0-9A-Za-z_]+ */
static bool is_key(const assay_pickle_text *text) {
  if (text->size_bytes == 0 || text->size_bytes > 64) return false;
  for (size_t i = 0; i < text->size_bytes; i++) {
    char c = text->data[i];
    bool good =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
    if (!good) return false;
  }
  return true;
}

/* The size of a storage whose class and length are known must be what the file has. */
static assay_status check_storage(const torch_storage *storage, assay_error *err) {
  uint64_t want;
  if (__builtin_mul_overflow(storage->n_elems, storage->dtype->elem_bytes, &want) ||
      want != storage->size_bytes) {
    return assay_fail(
        err, ASSAY_E_FORMAT,
        "storage '%s' holds %llu elements of %zu bytes by the pickle, and %llu bytes in "
        "the file",
        storage->key, (unsigned long long)storage->n_elems, storage->dtype->elem_bytes,
        (unsigned long long)storage->size_bytes);
  }
  return ASSAY_OK;
}

assay_status torch_register(assay_torch_file *file, const value *id, torch_storage **out_storage,
                            assay_error *err) {
  const value *tuple = id->persistent;
  const value *class = item_at(tuple, 1), *key = item_at(tuple, 2), *length = item_at(tuple, 4);
  const value *view = item_at(tuple, 5);
  if (!torch_is_storage_id(id) || !is_kind(class, ASSAY_PICKLE_GLOBAL) ||
      !is_kind(key, ASSAY_PICKLE_TEXT) || !is_key(&key->text) ||
      !is_kind(length, ASSAY_PICKLE_INT) || length->integer < 0) {
    return assay_fail(err, ASSAY_E_FORMAT,
                      "a persistent id that is not ('storage', class, key, location, length)");
  }
  if (view != NULL && view->kind != ASSAY_PICKLE_NONE) {
    return assay_fail(
        err, ASSAY_E_UNSUPPORTED,
        "storage '%s' is a view of another one, as files before PyTorch 0.4 have them: "
        "save again with a newer PyTorch",
        key->text.data);
  }
  const torch_dtype *dtype = torch_dtype_of_storage(class->global.name);
  if (dtype == NULL) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "storage '%s' is of the unknown class '%s.%s'",
                      key->text.data, class->global.module, class->global.name);
  }
  torch_storage *storage = torch_storage_find(file, key->text.data);
  if (storage == NULL) {
    return assay_fail(err, ASSAY_E_FORMAT, "storage '%s' is not in the file", key->text.data);
  }
  if (storage->dtype != NULL &&
      (storage->dtype != dtype || storage->n_elems != (uint64_t)length->integer)) {
    return assay_fail(err, ASSAY_E_FORMAT,
                      "storage '%s' is named twice, with other class or length", storage->key);
  }
  storage->dtype = dtype;
  storage->n_elems = (uint64_t)length->integer;
  if (out_storage != NULL) *out_storage = storage;
  /* Legacy files say the size after the pickle: torch_open_legacy checks it there. */
  return file->zip != NULL || storage->data != NULL ? check_storage(storage, err) : ASSAY_OK;
}

/* ---- rebuild functions
 * --------------------------------------------------------------------------- */

typedef struct rebuild rebuild;
struct rebuild {
  const char *module, *name;
  /* NULL: refused for the reason */
  assay_status (*read)(assay_torch_file *file, const rebuild *row, const value *args, int depth,
                       torch_found *out, assay_error *err);
  const char *reason;
  int version; /* of _rebuild_tensor */
};

static assay_status resolve(assay_torch_file *file, const value *item, int depth, torch_found *out,
                            assay_error *err);
static const rebuild *rebuild_of(const value *callable);

static assay_status bad_arguments(const rebuild *row, assay_error *err) {
  return assay_fail(err, ASSAY_E_FORMAT, "%s without the arguments that PyTorch writes", row->name);
}

static bool is_true(const value *item) {
  return is_kind(item, ASSAY_PICKLE_BOOL) && item->boolean;
}

/* (storage, offset, size, stride[, requires_grad, hooks[, dtype (v3)][, metadata]]) */
static assay_status read_tensor(assay_torch_file *file, const rebuild *row, const value *args,
                                int depth, torch_found *out, assay_error *err) {
  torch_storage *storage;
  const value *id = item_at(args, 0), *offset = item_at(args, 1);
  const value *dtype = row->version == 3 ? item_at(args, 6) : NULL;
  const value *metadata = item_at(args, row->version == 3 ? 7 : 6);
  (void)depth;
  if (!torch_is_storage_id(id) || !is_kind(offset, ASSAY_PICKLE_INT) || offset->integer < 0 ||
      !is_kind(item_at(args, 2), ASSAY_PICKLE_TUPLE) ||
      !is_kind(item_at(args, 3), ASSAY_PICKLE_TUPLE) ||
      (row->version >= 2 && !is_kind(item_at(args, 4), ASSAY_PICKLE_BOOL))) {
    return bad_arguments(row, err);
  }
  ASSAY_TRY(torch_register(file, id, &storage, err));
  *out = (torch_found){.dtype = storage->dtype,
                       .storage = (uint32_t)(storage - file->storages),
                       .offset = offset->integer,
                       .size = item_at(args, 2),
                       .stride = item_at(args, 3),
                       .requires_grad = is_true(item_at(args, 4)),
                       .is_conjugated = is_true(assay_pickle_get(metadata, "conj")),
                       .is_negated = is_true(assay_pickle_get(metadata, "neg"))};
  if (row->version == 3) {
    if (!is_kind(dtype, ASSAY_PICKLE_GLOBAL) || strcmp(dtype->global.module, "torch") != 0) {
      return bad_arguments(row, err);
    }
    out->dtype = torch_dtype_of_name(dtype->global.name);
    if (out->dtype == NULL) out->unsupported = "an unknown element type";
  }
  if (out->dtype != NULL && out->dtype->refused != NULL) out->unsupported = out->dtype->refused;
  return ASSAY_OK;
}

/* (tensor, requires_grad, hooks[, state]) */
static assay_status read_parameter(assay_torch_file *file, const rebuild *row, const value *args,
                                   int depth, torch_found *out, assay_error *err) {
  const value *grad = item_at(args, 1);
  if (item_at(args, 0) == NULL || !is_kind(grad, ASSAY_PICKLE_BOOL)) return bad_arguments(row, err);
  ASSAY_TRY(resolve(file, item_at(args, 0), depth + 1, out, err));
  out->is_parameter = true;
  out->requires_grad = grad->boolean;
  return ASSAY_OK;
}

static bool is_plain_type(const value *type) {
  return assay_pickle_is_global(type, "torch", "Tensor") ||
         assay_pickle_is_global(type, "torch.nn.parameter", "Buffer");
}

/* (function, type, arguments, state): function's rule, then a type and attributes around it. */
static assay_status read_from_type(assay_torch_file *file, const rebuild *row, const value *args,
                                   int depth, torch_found *out, assay_error *err) {
  const value *type = item_at(args, 1), *inner = item_at(args, 2);
  const rebuild *inner_row = rebuild_of(item_at(args, 0));
  if (!is_kind(type, ASSAY_PICKLE_GLOBAL) || !is_kind(inner, ASSAY_PICKLE_TUPLE)) {
    return bad_arguments(row, err);
  }
  if (inner_row == NULL || depth >= REBUILD_DEPTH_MAX) {
    *out =
        (torch_found){.storage = UINT32_MAX, .unsupported = "an unknown way to rebuild a tensor"};
    return ASSAY_OK;
  }
  if (inner_row->read == NULL) {
    *out = (torch_found){.storage = UINT32_MAX, .unsupported = inner_row->reason};
    return ASSAY_OK;
  }
  ASSAY_TRY(inner_row->read(file, inner_row, inner, depth + 1, out, err));
  if (assay_pickle_is_global(type, "torch.nn.parameter", "Parameter"))
    out->is_parameter = true;
  else if (!is_plain_type(type))
    out->type_name = type->global.name;
  return ASSAY_OK;
}

static const rebuild rebuilds[] = {
    {"torch._utils", "_rebuild_tensor", read_tensor, NULL, 1},
    {"torch._utils", "_rebuild_tensor_v2", read_tensor, NULL, 2},
    {"torch._utils", "_rebuild_tensor_v3", read_tensor, NULL, 3},
    {"torch._utils", "_rebuild_parameter", read_parameter, NULL, 0},
    {"torch._utils", "_rebuild_parameter_with_state", read_parameter, NULL, 0},
    {"torch._tensor", "_rebuild_from_type_v2", read_from_type, NULL, 0},
    {"torch._utils", "_rebuild_sparse_tensor", NULL, "a sparse tensor", 0},
    {"torch._utils", "_rebuild_sparse_csr_tensor", NULL, "a sparse tensor (CSR)", 0},
    {"torch._utils", "_rebuild_qtensor", NULL, "a quantized tensor", 0},
    {"torch._utils", "_rebuild_nested_tensor", NULL, "a nested tensor", 0},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", NULL, "a meta tensor, which has no values",
     0},
    {"torch._utils", "_rebuild_wrapper_subclass", NULL, "a tensor subclass without a storage", 0},
    {"torch._utils", "_rebuild_device_tensor_from_numpy", NULL, "a tensor of another device", 0},
    {"torch._utils", "_rebuild_device_tensor_from_cpu_tensor", NULL, "a tensor of another device",
     0},
};

static const rebuild *rebuild_of(const value *callable) {
  for (size_t i = 0; i < sizeof rebuilds / sizeof rebuilds[0]; i++) {
    if (assay_pickle_is_global(callable, rebuilds[i].module, rebuilds[i].name)) return &rebuilds[i];
  }
  return NULL;
}

bool torch_is_tensor(const value *item) {
  if (torch_is_storage_id(item)) return true;
  return is_kind(item, ASSAY_PICKLE_CALL) && rebuild_of(item->call->callable) != NULL;
}

/* A storage that was saved by itself is a vector. */
static assay_status resolve_storage(assay_torch_file *file, const value *id, torch_found *out,
                                    assay_error *err) {
  torch_storage *storage;
  ASSAY_TRY(torch_register(file, id, &storage, err));
  *out = (torch_found){.dtype = storage->dtype,
                       .storage = (uint32_t)(storage - file->storages),
                       .is_storage = true,
                       .unsupported = storage->dtype->refused};
  return ASSAY_OK;
}

static assay_status resolve(assay_torch_file *file, const value *item, int depth, torch_found *out,
                            assay_error *err) {
  if (torch_is_storage_id(item)) {
    if (depth == 0) return resolve_storage(file, item, out, err);
    return assay_fail(err, ASSAY_E_FORMAT, "a tensor expected, found a storage");
  }
  const rebuild *row = is_kind(item, ASSAY_PICKLE_CALL) ? rebuild_of(item->call->callable) : NULL;
  if (row == NULL) {
    return assay_fail(err, ASSAY_E_FORMAT, "a tensor expected, found %s",
                      assay_pickle_kind_name(item->kind));
  }
  if (depth >= REBUILD_DEPTH_MAX) {
    return assay_fail(err, ASSAY_E_FORMAT, "a tensor rebuilt from more than %d others",
                      REBUILD_DEPTH_MAX);
  }
  *out = (torch_found){.storage = UINT32_MAX, .unsupported = row->reason};
  if (row->read == NULL) return ASSAY_OK;
  ASSAY_TRY(row->read(file, row, item->call->args, depth, out, err));
  if (item->call->state != NULL) out->unsupported = "a tensor whose state is set afterwards";
  return ASSAY_OK;
}

assay_status torch_resolve(assay_torch_file *file, const value *item, torch_found *out,
                           assay_error *err) {
  return resolve(file, item, /*depth=*/0, out, err);
}

/* ---- shapes
 * -------------------------------------------------------------------------------------- */

/* A tuple of integers >= 0 into the arena. */
static assay_status keep_numbers(assay_torch_file *file, const value *tuple, const char *what,
                                 const int64_t **out, assay_error *err) {
  void *block;
  size_t n = tuple->items.n;
  ASSAY_TRY(pickle_arena_take(&file->arena, n * sizeof(int64_t), &block, err));
  int64_t *numbers = block;
  for (size_t i = 0; i < n; i++) {
    const value *number = tuple->items.at[i];
    if (number->kind != ASSAY_PICKLE_INT || number->integer < 0) {
      return assay_fail(err, ASSAY_E_FORMAT, "%s %zu is not an integer of 0 or more", what, i);
    }
    numbers[i] = number->integer;
  }
  *out = numbers;
  return ASSAY_OK;
}

/* Every element must lie in the storage: offset + sum of (dim - 1) * stride < elements of it. */
static assay_status check_inside(const assay_torch_tensor *t, uint64_t n_stored, assay_error *err) {
  int64_t last = t->offset;
  bool overflow = false;
  if (t->n_elems == 0) return ASSAY_OK;
  for (int axis = 0; axis < t->rank; axis++) {
    int64_t step;
    overflow |= __builtin_mul_overflow(t->dims[axis] - 1, t->strides[axis], &step);
    overflow |= __builtin_add_overflow(last, step, &last);
    if (overflow) break;
  }
  if (!overflow && (uint64_t)last < n_stored) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT,
                    "its last element lies outside of storage '%s', which has room for %llu",
                    t->storage_key, (unsigned long long)n_stored);
}

static assay_status fill_shape(assay_torch_file *file, const torch_found *found,
                               assay_torch_tensor *t, assay_error *err) {
  if (found->size->items.n != found->stride->items.n ||
      found->size->items.n > ASSAY_TENSOR_RANK_MAX) {
    return assay_fail(err, ASSAY_E_FORMAT, "%zu dimensions and %zu strides (at most %d are known)",
                      found->size->items.n, found->stride->items.n, ASSAY_TENSOR_RANK_MAX);
  }
  t->rank = (int)found->size->items.n;
  ASSAY_TRY(keep_numbers(file, found->size, "dimension", &t->dims, err));
  ASSAY_TRY(keep_numbers(file, found->stride, "stride", &t->strides, err));
  return assay_shape_count(t->dims, t->rank, &t->n_elems, err);
}

/* A bare storage: one dimension, stride 1. */
static assay_status fill_vector(assay_torch_file *file, const torch_storage *storage,
                                assay_torch_tensor *t, assay_error *err) {
  void *block;
  ASSAY_TRY(pickle_arena_take(&file->arena, 2 * sizeof(int64_t), &block, err));
  int64_t *numbers = block;
  numbers[0] = (int64_t)storage->n_elems;
  numbers[1] = 1;
  t->dims = numbers;
  t->strides = numbers + 1;
  t->rank = 1;
  return assay_shape_count(t->dims, t->rank, &t->n_elems, err);
}

static assay_status fill_tensor(assay_torch_file *file, const torch_found *found,
                                assay_torch_tensor *t, assay_error *err) {
  t->requires_grad = found->requires_grad;
  t->is_parameter = found->is_parameter;
  t->is_storage = found->is_storage;
  t->is_conjugated = found->is_conjugated;
  t->is_negated = found->is_negated;
  t->offset = found->offset;
  t->unsupported = found->unsupported;
  t->type_name = found->type_name;
  if (found->dtype != NULL) {
    t->dtype_name = found->dtype->name;
    t->dtype = found->dtype->dtype;
  }
  if (found->storage == UINT32_MAX) return ASSAY_OK;
  torch_storage *storage = &file->storages[found->storage];
  t->storage_key = storage->key;
  t->storage_bytes = storage->size_bytes;
  ASSAY_TRY(found->is_storage ? fill_vector(file, storage, t, err)
                              : fill_shape(file, found, t, err));
  if (storage->first_tensor == SIZE_MAX) storage->first_tensor = file->n_tensors;
  t->alias_of = storage->first_tensor;
  if (found->dtype == NULL) return ASSAY_OK;
  return check_inside(t, storage->size_bytes / found->dtype->elem_bytes, err);
}

/* ---- the list of tensors
 * ------------------------------------------------------------------------- */

static assay_status grow_tensors(assay_torch_file *file, assay_error *err) {
  if (file->n_tensors < file->cap_tensors) return ASSAY_OK;
  size_t old = file->cap_tensors, cap = old == 0 ? 64 : old * 2;
  void *tensors = file->tensors, *storages = file->tensor_storages;
  ASSAY_TRY(assay_resize(&tensors, old * sizeof *file->tensors, cap * sizeof *file->tensors, err));
  file->tensors = tensors;
  ASSAY_TRY(assay_resize(&storages, old * sizeof *file->tensor_storages,
                         cap * sizeof *file->tensor_storages, err));
  file->tensor_storages = storages;
  file->cap_tensors = cap;
  return ASSAY_OK;
}

assay_status torch_add_tensor(assay_torch_file *file, const value *item, const char *path,
                              assay_error *err) {
  torch_found found;
  assay_torch_tensor tensor = {.alias_of = file->n_tensors};
  ASSAY_TRY(grow_tensors(file, err));
  assay_status st = torch_resolve(file, item, &found, err);
  if (!st) st = fill_tensor(file, &found, &tensor, err);
  if (!st) st = torch_keep_text(file, path, strlen(path), &tensor.path, err);
  if (st) {
    assay_error_in(err, "tensor '%s'", path);
    return st;
  }
  uint64_t n_bytes;
  if (__builtin_mul_overflow(tensor.n_elems, assay_dtype_size(tensor.dtype), &n_bytes) ||
      __builtin_add_overflow(file->claimed_bytes, n_bytes, &file->claimed_bytes))
    file->claimed_bytes = UINT64_MAX;
  file->tensors[file->n_tensors] = tensor;
  file->tensor_storages[file->n_tensors] = found.storage;
  file->tensor_of[item->id] = (uint32_t)++file->n_tensors;
  return ASSAY_OK;
}
