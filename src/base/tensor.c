/* Dense arrays, and ordered maps from names to arrays (open hashing with linear probing). */
#include "base/tensor.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"

/* ---- shapes -------------------------------------------------------------------------------------
 */

/* An array without elements may still not claim absurd dimensions: numpy refuses (0, 2^32, 2^32)
 * because the product overflows on the way (npz.md section 1, checks, 2). */
#define EMPTY_DIM_MAX (INT64_C(1) << 40)

assay_status assay_shape_count(const int64_t *dims, int rank, size_t *out, assay_error *err) {
  if (rank < 0 || rank > ASSAY_TENSOR_RANK_MAX) {
    return assay_fail(err, ASSAY_E_ARGUMENT, "rank %d: expected 0 to %d", rank,
                      ASSAY_TENSOR_RANK_MAX);
  }
  bool is_empty = false;
  for (int i = 0; i < rank; i++) {
    if (dims[i] < 0) {
      return assay_fail(err, ASSAY_E_ARGUMENT, "dimension %d is %lld: expected 0 or more", i,
                        (long long)dims[i]);
    }
    if (dims[i] == 0) is_empty = true;
  }
  size_t count = 1;
  for (int i = 0; i < rank; i++) {
    bool fits = is_empty ? dims[i] <= EMPTY_DIM_MAX
                         : assay_size_mul(count, (size_t)dims[i], &count) && count <= INT64_MAX;
    if (!fits) {
      char text[256];
      assay_shape_text(dims, rank, text, sizeof text);
      return assay_fail(err, ASSAY_E_LIMIT, "shape %s has too many elements", text);
    }
  }
  *out = is_empty ? 0 : count;
  return ASSAY_OK;
}

void assay_shape_text(const int64_t *dims, int rank, char *out, size_t out_bytes) {
  size_t at = 0;
  for (int i = 0; i < rank && at < out_bytes; i++) {
    int n = snprintf(out + at, out_bytes - at, "%s%lld", i == 0 ? "[" : ",", (long long)dims[i]);
    at += n > 0 ? (size_t)n : 0;
  }
  if (at < out_bytes) snprintf(out + at, out_bytes - at, "%s", rank == 0 ? "[]" : "]");
}

/* ---- tensors ------------------------------------------------------------------------------------
 */

/* Everything but the data. */
static assay_status describe(assay_tensor *out, assay_dtype dtype, int rank, const int64_t *dims,
                             assay_error *err) {
  assay_tensor tensor = {.dtype = dtype, .rank = rank};
  size_t elem_bytes = assay_dtype_size(dtype);
  if (elem_bytes == 0) {
    return assay_fail(err, ASSAY_E_ARGUMENT, "arrays of type %s cannot be held",
                      assay_dtype_name(dtype));
  }
  ASSAY_TRY(assay_shape_count(dims, rank, &tensor.n_elems, err));
  if (rank > 0) memcpy(tensor.dims, dims, (size_t)rank * sizeof *dims);
  if (!assay_size_mul(tensor.n_elems, elem_bytes, &tensor.size_bytes) ||
      tensor.size_bytes > PTRDIFF_MAX) {
    return assay_fail(err, ASSAY_E_LIMIT, "%zu elements of %s do not fit in memory", tensor.n_elems,
                      assay_dtype_name(dtype));
  }
  *out = tensor;
  return ASSAY_OK;
}

assay_status assay_tensor_init_unset(assay_tensor *out, assay_dtype dtype, int rank,
                                     const int64_t *dims, assay_error *err) {
  assay_tensor tensor;
  ASSAY_TRY(describe(&tensor, dtype, rank, dims, err));
  if (tensor.size_bytes > 0) {
    tensor.data = assay_alloc_unset(tensor.size_bytes);
    if (tensor.data == NULL) return assay_fail_memory(err, tensor.size_bytes);
  }
  tensor.owned = true;
  *out = tensor;
  return ASSAY_OK;
}

assay_status assay_tensor_init(assay_tensor *out, assay_dtype dtype, int rank, const int64_t *dims,
                               assay_error *err) {
  ASSAY_TRY(assay_tensor_init_unset(out, dtype, rank, dims, err));
  if (out->size_bytes > 0) memset(out->data, 0, out->size_bytes);
  return ASSAY_OK;
}

assay_status assay_tensor_init_view(assay_tensor *out, assay_dtype dtype, int rank,
                                    const int64_t *dims, void *data, assay_error *err) {
  assay_tensor tensor;
  ASSAY_TRY(describe(&tensor, dtype, rank, dims, err));
  if (data == NULL && tensor.size_bytes > 0) {
    return assay_fail(err, ASSAY_E_ARGUMENT, "a view of %zu bytes needs data", tensor.size_bytes);
  }
  tensor.data = data;
  *out = tensor;
  return ASSAY_OK;
}

assay_status assay_tensor_copy(assay_tensor *out, const assay_tensor *tensor, assay_error *err) {
  assay_tensor copy;
  if (tensor->dtype == ASSAY_DTYPE_NONE) {
    *out = (assay_tensor){0};
    return ASSAY_OK;
  }
  ASSAY_TRY(assay_tensor_init(&copy, tensor->dtype, tensor->rank, tensor->dims, err));
  if (copy.size_bytes > 0) memcpy(copy.data, tensor->data, copy.size_bytes);
  *out = copy;
  return ASSAY_OK;
}

void assay_tensor_reset(assay_tensor *tensor) {
  if (tensor == NULL) return;
  if (tensor->owned) assay_free(tensor->data);
  *tensor = (assay_tensor){0};
}

bool assay_tensor_same_shape(const assay_tensor *a, const assay_tensor *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++) {
    if (a->dims[i] != b->dims[i]) return false;
  }
  return true;
}

double assay_tensor_get_real(const assay_tensor *tensor, size_t i) {
  assert(i < tensor->n_elems);
  const void *data = tensor->data;
  switch (tensor->dtype) {
  case ASSAY_DTYPE_F32:
    return (double)((const float *)data)[i];
  case ASSAY_DTYPE_F64:
    return ((const double *)data)[i];
  case ASSAY_DTYPE_F16:
    return (double)assay_f16_to_f32(((const uint16_t *)data)[i]);
  case ASSAY_DTYPE_BF16:
    return (double)assay_bf16_to_f32(((const uint16_t *)data)[i]);
  case ASSAY_DTYPE_U8:
    return ((const uint8_t *)data)[i];
  case ASSAY_DTYPE_I8:
    return ((const int8_t *)data)[i];
  case ASSAY_DTYPE_U16:
    return ((const uint16_t *)data)[i];
  case ASSAY_DTYPE_I16:
    return ((const int16_t *)data)[i];
  case ASSAY_DTYPE_U32:
    return ((const uint32_t *)data)[i];
  case ASSAY_DTYPE_I32:
    return ((const int32_t *)data)[i];
  case ASSAY_DTYPE_U64:
    return (double)((const uint64_t *)data)[i];
  case ASSAY_DTYPE_I64:
    return (double)((const int64_t *)data)[i];
  case ASSAY_DTYPE_BOOL:
    return ((const uint8_t *)data)[i] != 0;
  default:
    return (double)NAN;
  }
}

float *assay_tensor_f32(const assay_tensor *tensor) {
  assert(tensor->dtype == ASSAY_DTYPE_F32);
  return tensor->data;
}

double *assay_tensor_f64(const assay_tensor *tensor) {
  assert(tensor->dtype == ASSAY_DTYPE_F64);
  return tensor->data;
}

int64_t *assay_tensor_i64(const assay_tensor *tensor) {
  assert(tensor->dtype == ASSAY_DTYPE_I64);
  return tensor->data;
}

/* ---- maps ---------------------------------------------------------------------------------------
 */

#define FIRST_CAP  8
#define SLOT_EMPTY UINT32_MAX
#define MAP_MAX    ((size_t)1 << 30) /* indices fit in a slot with room for SLOT_EMPTY */

/* FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t hash_name(const char *name) {
  uint64_t h = UINT64_C(14695981039346656037);
  for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++) {
    h = (h ^ *c) * UINT64_C(1099511628211);
  }
  return h ^ (h >> 32);
}

/* The slot that holds name, or the empty one where it belongs; n_slots is a power of two > 0. */
static size_t slot_of(const assay_tensor_map *map, const char *name) {
  size_t slot = (size_t)hash_name(name) & (map->n_slots - 1);
  while (map->slots[slot] != SLOT_EMPTY && strcmp(map->items[map->slots[slot]].name, name) != 0) {
    slot = (slot + 1) & (map->n_slots - 1);
  }
  return slot;
}

/* Room for one more: items full means both arrays double. Slots are always twice the capacity. */
static assay_status grow(assay_tensor_map *map, assay_error *err) {
  if (map->n < map->cap) return ASSAY_OK;
  size_t cap = map->cap == 0 ? FIRST_CAP : map->cap * 2;
  if (cap > MAP_MAX) return assay_fail(err, ASSAY_E_LIMIT, "more than %zu arrays", MAP_MAX);
  size_t n_slots = cap * 2;
  uint32_t *slots = assay_alloc_array(n_slots, sizeof *slots);
  if (slots == NULL) return assay_fail_memory(err, n_slots * sizeof *slots);
  void *items = map->items;
  assay_status st =
      assay_resize(&items, map->n * sizeof *map->items, cap * sizeof *map->items, err);
  if (st) {
    assay_free(slots);
    return st;
  }
  map->items = items;
  map->cap = cap;
  assay_free(map->slots);
  map->slots = slots;
  map->n_slots = n_slots;
  for (size_t i = 0; i < n_slots; i++) slots[i] = SLOT_EMPTY;
  for (size_t i = 0; i < map->n; i++) slots[slot_of(map, map->items[i].name)] = (uint32_t)i;
  return ASSAY_OK;
}

assay_status assay_tensor_map_add(assay_tensor_map *map, const char *name, assay_tensor *tensor,
                                  assay_error *err) {
  if (assay_tensor_map_find(map, name) != NULL) {
    return assay_fail(err, ASSAY_E_ARGUMENT, "there is an array named '%s' already", name);
  }
  ASSAY_TRY(grow(map, err));
  char *copy = assay_strdup(name);
  if (copy == NULL) return assay_fail_memory(err, strlen(name) + 1);
  map->slots[slot_of(map, name)] = (uint32_t)map->n;
  map->items[map->n++] = (assay_named_tensor){.name = copy, .tensor = *tensor};
  *tensor = (assay_tensor){0};
  return ASSAY_OK;
}

assay_tensor *assay_tensor_map_find(const assay_tensor_map *map, const char *name) {
  if (map->n == 0) return NULL;
  uint32_t i = map->slots[slot_of(map, name)];
  return i == SLOT_EMPTY ? NULL : &map->items[i].tensor;
}

void assay_tensor_map_reset(assay_tensor_map *map) {
  if (map == NULL) return;
  for (size_t i = 0; i < map->n; i++) {
    assay_free(map->items[i].name);
    assay_tensor_reset(&map->items[i].tensor);
  }
  assay_free(map->items);
  assay_free(map->slots);
  *map = (assay_tensor_map){0};
}

static int by_name(const void *a, const void *b) {
  const assay_named_tensor *const *x = a, *const *y = b;
  return strcmp((*x)->name, (*y)->name);
}

static assay_status hash_sorted(const assay_named_tensor **sorted, size_t n,
                                const char *skip_suffix, assay_sha256 *hash, assay_error *err) {
  qsort(sorted, n, sizeof *sorted, by_name);
  for (size_t i = 0; i < n; i++) {
    const char *name = sorted[i]->name;
    if (skip_suffix != NULL && assay_text_has_suffix(name, skip_suffix)) continue;
    ASSAY_TRY(assay_sha256_update(hash, name, strlen(name), err));
    const assay_tensor *tensor = &sorted[i]->tensor;
    ASSAY_TRY(assay_sha256_update(hash, tensor->data, tensor->size_bytes, err));
  }
  return ASSAY_OK;
}

assay_status assay_tensor_map_sha256(const assay_tensor_map *map, const char *skip_suffix,
                                     char out_hex[65], assay_error *err) {
  assay_sha256 *hash = NULL;
  const assay_named_tensor **sorted = assay_alloc_array(map->n, sizeof *sorted);
  assay_status st = sorted == NULL ? assay_fail_memory(err, map->n * sizeof *sorted)
                                   : assay_sha256_create(&hash, err);
  if (st) goto done;
  for (size_t i = 0; i < map->n; i++) sorted[i] = &map->items[i];
  st = hash_sorted(sorted, map->n, skip_suffix, hash, err);
  if (st) goto done;
  st = assay_sha256_finish(hash, out_hex, err);
done:
  assay_sha256_destroy(hash);
  assay_free(sorted);
  return st;
}
