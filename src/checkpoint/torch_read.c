/* The values of a tensor: its storage found (and checked, the first time), then copied in row-major
 * order. Letters: an axis has dims[axis] positions, strides[axis] elements apart. */
#include <string.h>

#include "base/alloc.h"
#include "checkpoint/crc32.h"
#include "checkpoint/fresh_tensor.h"
#include "checkpoint/torch_parts.h"

/* A tensor may name one stored element many times (stride 0), so that a small file can claim 2^60
 * of them; one that is not larger than its storage is bounded by the file. */
#define EXPANDED_BYTES_MAX ((uint64_t)1 << 30)

/* So can many tensors that share one storage, each of its size. Weights that layers share are
 * saved under as many names as there are layers: 12 times in some models. */
#define SHARERS_MAX 16

/* ---- storages
 * ------------------------------------------------------------------------------------ */

/* Beside others that have one, a checksum of 0 is what torch.serialization.skip_data leaves: room
 * without values. */
static assay_status fail_checksum(const torch_storage *storage, uint32_t crc, assay_error *err) {
  return assay_fail(
      err, ASSAY_E_FORMAT,
      "checksum of storage '%s' is %08x, the archive says %08x: the file is damaged%s",
      storage->key, (unsigned)crc, (unsigned)storage->crc32,
      storage->crc32 == 0 ? ", or was saved without values (skip_data)" : "");
}

/* A deflated storage: the last one that was asked for is kept. */
static assay_status inflate(assay_torch_file *file, torch_storage *storage, assay_error *err) {
  size_t index = (size_t)(storage - file->storages);
  uint8_t *to;
  if (file->inflated_storage == index) return ASSAY_OK;
  assay_buf_reset(&file->inflated);
  file->inflated_storage = SIZE_MAX;
  ASSAY_TRY(assay_buf_reserve(&file->inflated, (size_t)storage->size_bytes, &to, err));
  ASSAY_TRY(assay_zip_read(file->zip, storage->zip_index, to, err)); /* checks the checksum */
  file->inflated_storage = index;
  return ASSAY_OK;
}

static assay_status storage_bytes(assay_torch_file *file, torch_storage *storage,
                                  const uint8_t **out, assay_error *err) {
  if (storage->data == NULL) {
    ASSAY_TRY(inflate(file, storage, err));
    *out = file->inflated.data;
    return ASSAY_OK;
  }
  if (!storage->is_checked) {
    fresh_tensor_expect(storage->data, (size_t)storage->size_bytes);
    uint32_t crc = crc32_of(storage->data, (size_t)storage->size_bytes);
    if (crc != storage->crc32) return fail_checksum(storage, crc, err);
    storage->is_checked = true;
  }
  *out = storage->data;
  return ASSAY_OK;
}

/* ---- copying
 * ------------------------------------------------------------------------------------- */

/* Row-major without gaps; axes of one position may have any stride. */
static bool is_contiguous(const assay_torch_tensor *t) {
  int64_t expected = 1;
  for (int axis = t->rank; axis-- > 0;) {
    if (t->dims[axis] == 1) continue;
    if (t->strides[axis] != expected) return false;
    expected *= t->dims[axis]; /* at most n_elems, which was counted */
  }
  return true;
}

static void copy_row(uint8_t *to, const uint8_t *from, size_t n, size_t step_bytes, size_t size) {
  if (step_bytes == size) {
    memcpy(to, from, n * size);
    return;
  }
  for (size_t i = 0; i < n; i++) memcpy(to + i * size, from + i * step_bytes, size);
}

/* from: the tensor's first element. Rank >= 1 and no axis is empty. */
static void copy_strided(const assay_torch_tensor *t, size_t size, const uint8_t *from,
                         uint8_t *to) {
  int64_t index[ASSAY_TENSOR_RANK_MAX] = {0};
  int last = t->rank - 1;
  size_t n_row = (size_t)t->dims[last], step = (size_t)t->strides[last] * size;
  size_t n_rows = t->n_elems / n_row, at = 0; /* at: elements from the first one */
  for (size_t row = 0; row < n_rows; row++) {
    copy_row(to + row * n_row * size, from + at * size, n_row, step, size);
    for (int axis = last; axis-- > 0;) {
      at += (size_t)t->strides[axis];
      if (++index[axis] < t->dims[axis]) break;
      at -= (size_t)t->dims[axis] * (size_t)t->strides[axis];
      index[axis] = 0;
    }
  }
}

/* Sign bits of every value, or of the imaginary parts alone. */
static void flip_signs(assay_tensor *tensor, size_t unit, bool imaginary_only) {
  uint8_t *bytes = tensor->data;
  for (size_t i = imaginary_only ? 1 : 0; i < tensor->size_bytes / unit;
       i += imaginary_only ? 2 : 1) {
    bytes[(i + 1) * unit - 1] ^= 0x80; /* little-endian: the last byte has it */
  }
}

static assay_status apply_flags(const assay_torch_tensor *t, assay_tensor *tensor,
                                assay_error *err) {
  bool is_complex = t->dtype == ASSAY_DTYPE_C64 || t->dtype == ASSAY_DTYPE_C128;
  if (!t->is_conjugated && !t->is_negated) return ASSAY_OK;
  if (!is_complex && !assay_dtype_is_float(t->dtype)) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "a negated tensor of %s", t->dtype_name);
  }
  size_t unit = assay_dtype_size(t->dtype) / (is_complex ? 2 : 1);
  if (t->is_conjugated && is_complex) flip_signs(tensor, unit, /*imaginary_only=*/true);
  if (t->is_negated) flip_signs(tensor, unit, /*imaginary_only=*/false);
  return ASSAY_OK;
}

static assay_status check_bools(const assay_tensor *tensor, assay_error *err) {
  const uint8_t *bytes = tensor->data;
  if (tensor->dtype != ASSAY_DTYPE_BOOL) return ASSAY_OK;
  for (size_t i = 0; i < tensor->n_elems; i++) {
    if (bytes[i] > 1) {
      return assay_fail(err, ASSAY_E_FORMAT, "bool %zu is stored as %u", i, (unsigned)bytes[i]);
    }
  }
  return ASSAY_OK;
}

/* ---- reading
 * ------------------------------------------------------------------------------------- */

uint64_t assay_torch_file_most_bytes(const assay_torch_file *file) {
  /* storages take at most the file, or what zip.c allows */
  return SHARERS_MAX * file->info.storage_bytes + EXPANDED_BYTES_MAX;
}

/* Whoever reads all tensors must have a bound. */
static assay_status check_claimed(const assay_torch_file *file, assay_error *err) {
  const uint64_t stored = file->info.storage_bytes, most = assay_torch_file_most_bytes(file);
  if (file->claimed_bytes <= most) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_LIMIT,
                    "the tensors of the file take %llu bytes from storages of %llu: the limit is "
                    "%llu bytes",
                    (unsigned long long)file->claimed_bytes, (unsigned long long)stored,
                    (unsigned long long)most);
}

static assay_status check_readable(const assay_torch_file *file, size_t i, assay_error *err) {
  const assay_torch_tensor *t = &file->tensors[i];
  const torch_storage *storage =
      file->tensor_storages[i] == UINT32_MAX ? NULL : &file->storages[file->tensor_storages[i]];
  uint64_t size_bytes;
  if (t->unsupported != NULL || storage == NULL || t->dtype == ASSAY_DTYPE_NONE) {
    const char *dtype = t->dtype_name == NULL ? "" : t->dtype_name;
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "%s%s%s", dtype, *dtype ? ": " : "",
                      t->unsupported != NULL ? t->unsupported : "no values");
  }
  bool overflow = __builtin_mul_overflow(t->n_elems, assay_dtype_size(t->dtype), &size_bytes);
  if (overflow || (size_bytes > storage->size_bytes && size_bytes > EXPANDED_BYTES_MAX)) {
    return assay_fail(
        err, ASSAY_E_LIMIT,
        "an expanded tensor of %zu elements from a storage of %llu bytes: the limit is "
        "%llu bytes",
        t->n_elems, (unsigned long long)storage->size_bytes,
        (unsigned long long)EXPANDED_BYTES_MAX);
  }
  return check_claimed(file, err);
}

static assay_status read_copy(const assay_torch_tensor *t, const uint8_t *from, assay_tensor *out,
                              assay_error *err) {
  assay_tensor tensor;
  ASSAY_TRY(assay_tensor_init_unset(&tensor, t->dtype, t->rank, t->dims, err));
  if (t->n_elems > 0) {
    if (is_contiguous(t))
      fresh_tensor_fill(&tensor, from, /*crc=*/NULL);
    else
      copy_strided(t, assay_dtype_size(t->dtype), from, tensor.data);
  }
  assay_status st = apply_flags(t, &tensor, err);
  if (!st) st = check_bools(&tensor, err);
  if (st) {
    assay_tensor_reset(&tensor);
    return st;
  }
  *out = tensor;
  return ASSAY_OK;
}

static bool is_unchecked_whole(const assay_torch_tensor *t, const torch_storage *storage) {
  return storage->data != NULL && !storage->is_checked && t->n_elems > 0 && is_contiguous(t) &&
         !t->is_conjugated && !t->is_negated &&
         t->n_elems * assay_dtype_size(t->dtype) == storage->size_bytes;
}

/* Copies a tensor that is all of its storage, and checks the storage on the way. */
static assay_status read_whole(const assay_torch_tensor *t, torch_storage *storage,
                               assay_tensor *out, assay_error *err) {
  assay_tensor tensor;
  uint32_t crc;
  ASSAY_TRY(assay_tensor_init_unset(&tensor, t->dtype, t->rank, t->dims, err));
  fresh_tensor_fill(&tensor, storage->data, &crc);
  storage->is_checked = crc == storage->crc32;
  assay_status st =
      storage->is_checked ? check_bools(&tensor, err) : fail_checksum(storage, crc, err);
  if (st) {
    assay_tensor_reset(&tensor);
    return st;
  }
  *out = tensor;
  return ASSAY_OK;
}

/* A view where the bytes are the tensor and lie on a multiple of an element's size. */
static bool can_view(const assay_torch_tensor *t, const torch_storage *storage,
                     const uint8_t *from) {
  return storage->data != NULL && is_contiguous(t) && !t->is_conjugated && !t->is_negated &&
         (uintptr_t)from % assay_dtype_size(t->dtype) == 0;
}

static assay_status read_view(const assay_torch_tensor *t, const uint8_t *from, assay_tensor *out,
                              assay_error *err) {
  assay_tensor tensor;
  ASSAY_TRY(
      assay_tensor_init_view(&tensor, t->dtype, t->rank, t->dims, (void *)(uintptr_t)from, err));
  ASSAY_TRY(check_bools(&tensor, err));
  *out = tensor;
  return ASSAY_OK;
}

static assay_status read_tensor(assay_torch_file *file, size_t i, bool may_view, assay_tensor *out,
                                assay_error *err) {
  if (i >= file->n_tensors) {
    return assay_fail(err, ASSAY_E_ARGUMENT, "tensor %zu of %zu", i, file->n_tensors);
  }
  const assay_torch_tensor *t = &file->tensors[i];
  const uint8_t *bytes = NULL;
  assay_status st = check_readable(file, i, err);
  torch_storage *storage = st ? NULL : &file->storages[file->tensor_storages[i]];
  if (!st && !may_view && is_unchecked_whole(t, storage)) {
    st = read_whole(t, storage, out, err);
  } else if (!st) {
    if (t->n_elems > 0) st = storage_bytes(file, storage, &bytes, err);
    if (!st && t->n_elems > 0) bytes += (size_t)t->offset * assay_dtype_size(t->dtype);
    bool view = !st && may_view && t->n_elems > 0 && can_view(t, storage, bytes);
    if (!st) st = view ? read_view(t, bytes, out, err) : read_copy(t, bytes, out, err);
  }
  if (st) assay_error_in(err, "tensor '%s'", t->path);
  return st;
}

assay_status assay_torch_file_read(assay_torch_file *file, size_t i, assay_tensor *out,
                                   assay_error *err) {
  return read_tensor(file, i, /*may_view=*/false, out, err);
}

assay_status assay_torch_file_view(assay_torch_file *file, size_t i, assay_tensor *out,
                                   assay_error *err) {
  return read_tensor(file, i, /*may_view=*/true, out, err);
}
