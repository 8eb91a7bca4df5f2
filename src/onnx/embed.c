/* The unpacked model borrows the mapped files while it is packed, and is given back as it was. */
#include "onnx/embed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/file.h"
#include "base/tensor.h"
#include "onnx/each_tensor.h"
#include "onnx/unpack.h"

#define FILES_MAX 65536 /* one for each tensor, as some exporters write them */

typedef struct data_file {
  const char *location; /* the model's */
  assay_file_map map;
} data_file;

/* A tensor that lay outside. */
typedef struct moved {
  Onnx__TensorProto *tensor;
  size_t n_external_data;
  protobuf_c_boolean has_location;
  Onnx__TensorProto__DataLocation location;
} moved;

typedef struct embedder {
  const char *folder;
  data_file *files;
  size_t n_files, files_cap;
  moved *tensors;
  size_t n_tensors, tensors_cap;
} embedder;

static const char *name_of(const Onnx__TensorProto *tensor) {
  return tensor->name != NULL ? tensor->name : "";
}

static const char *entry_of(const Onnx__TensorProto *tensor, const char *key) {
  for (size_t i = 0; i < tensor->n_external_data; i++) {
    const Onnx__StringStringEntryProto *entry = tensor->external_data[i];
    if (entry->key != NULL && entry->value != NULL && strcmp(entry->key, key) == 0)
      return entry->value;
  }
  return NULL;
}

static assay_status open_file(embedder *e, const char *location, data_file **out,
                              assay_error *err) {
  for (size_t i = e->n_files; i > 0; i--) { /* tensors of one file mostly follow each other */
    *out = &e->files[i - 1];
    if (strcmp((*out)->location, location) == 0) return ASSAY_OK;
  }
  if (e->n_files == FILES_MAX)
    return assay_fail(err, ASSAY_E_LIMIT, "its constants lie in more than %d files", FILES_MAX);
  data_file *files = assay_grown(e->files, &e->files_cap, e->n_files, sizeof *files, err);
  if (files == NULL) return ASSAY_E_MEMORY;
  e->files = files;
  char *path = assay_path_join(e->folder, location);
  if (path == NULL) return assay_fail_memory(err, strlen(location));
  *out = &e->files[e->n_files];
  **out = (data_file){.location = location};
  const assay_status st = assay_file_map_open(path, &(*out)->map, err);
  assay_free(path);
  if (st == ASSAY_OK) e->n_files++;
  return st;
}

/* A count of bytes as the format writes them: decimal digits. NULL: absent. */
static bool parse_bytes(const char *text, size_t absent, size_t *out) {
  char *end = NULL;
  *out = absent;
  if (text == NULL) return true;
  if (text[0] < '0' || text[0] > '9') return false;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  *out = (size_t)value;
  return errno == 0 && *end == '\0' && value <= SIZE_MAX;
}

/* That these are the bytes of such a shape; of types without a size of whole bytes any will do. */
static assay_status check_size(const Onnx__TensorProto *tensor, size_t size_bytes,
                               assay_error *err) {
  static const int64_t scalar[1];
  const bool is_known = tensor->data_type > 0 && tensor->data_type <= ASSAY_DTYPE_BF16;
  const size_t elem_bytes = is_known ? assay_dtype_size((assay_dtype)tensor->data_type) : 0;
  size_t n_elems = 0, expected = 0;
  if (elem_bytes == 0) return ASSAY_OK;
  if (tensor->n_dims > ASSAY_TENSOR_RANK_MAX)
    return assay_fail(err, ASSAY_E_LIMIT, "%zu dimensions, more than %d", tensor->n_dims,
                      ASSAY_TENSOR_RANK_MAX);
  ASSAY_TRY(assay_shape_count(tensor->n_dims > 0 ? tensor->dims : scalar, (int)tensor->n_dims,
                              &n_elems, err));
  if (!assay_size_mul(n_elems, elem_bytes, &expected) || expected != size_bytes)
    return assay_fail(err, ASSAY_E_FORMAT, "its shape takes %zu bytes, found %zu", expected,
                      size_bytes);
  return ASSAY_OK;
}

static assay_status find_bytes(embedder *e, const Onnx__TensorProto *tensor,
                               ProtobufCBinaryData *out, assay_error *err) {
  const char *location = entry_of(tensor, "location");
  data_file *file = NULL;
  size_t offset = 0, n = 0;
  if (location == NULL || !assay_path_is_inside(location))
    return assay_fail(err, ASSAY_E_FORMAT, "its data do not lie in the model's folder");
  ASSAY_TRY(open_file(e, location, &file, err));
  const size_t size_bytes = file->map.size_bytes;
  if (!parse_bytes(entry_of(tensor, "offset"), 0, &offset) || offset > size_bytes ||
      !parse_bytes(entry_of(tensor, "length"), size_bytes - offset, &n) || n > size_bytes - offset)
    return assay_fail(err, ASSAY_E_FORMAT, "its data lie outside of '%s' of %zu bytes", location,
                      size_bytes);
  /* Only read from: packing copies. */
  *out = (ProtobufCBinaryData){n, (uint8_t *)(uintptr_t)(file->map.data + offset)};
  return check_size(tensor, n, err);
}

static bool is_outside(const Onnx__TensorProto *tensor) {
  return tensor->n_external_data > 0 ||
         (tensor->has_data_location &&
          tensor->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL);
}

static assay_status embed(void *arg, Onnx__TensorProto *tensor, assay_error *err) {
  embedder *e = arg;
  ProtobufCBinaryData data = {0};
  if (!is_outside(tensor)) return ASSAY_OK;
  if (tensor->has_raw_data)
    return assay_fail(err, ASSAY_E_FORMAT, "tensor '%.96s' has data inside and outside",
                      name_of(tensor));
  moved *tensors = assay_grown(e->tensors, &e->tensors_cap, e->n_tensors, sizeof *tensors, err);
  if (tensors == NULL) return ASSAY_E_MEMORY;
  e->tensors = tensors;
  const assay_status st = find_bytes(e, tensor, &data, err);
  if (st) assay_error_in(err, "tensor '%.96s'", name_of(tensor));
  if (st) return st;
  e->tensors[e->n_tensors++] =
      (moved){tensor, tensor->n_external_data, tensor->has_data_location, tensor->data_location};
  tensor->n_external_data = 0;
  tensor->has_data_location = false;
  tensor->has_raw_data = true;
  tensor->raw_data = data;
  return ASSAY_OK;
}

static void give_back(embedder *e) {
  for (size_t i = 0; i < e->n_tensors; i++) {
    const moved *m = &e->tensors[i];
    m->tensor->n_external_data = m->n_external_data;
    m->tensor->has_data_location = m->has_location;
    m->tensor->data_location = m->location;
    m->tensor->has_raw_data = false;
    m->tensor->raw_data = (ProtobufCBinaryData){0};
  }
  for (size_t i = 0; i < e->n_files; i++) assay_file_map_close(&e->files[i].map);
  assay_free(e->tensors);
  assay_free(e->files);
}

assay_status assay_onnx_embed(const void *bytes, size_t size_bytes, const char *folder,
                              assay_buf *out, assay_error *err) {
  embedder e = {.folder = folder};
  assay_unpacked unpacked = {0};
  ASSAY_TRY(assay_unpacked_init(bytes, size_bytes, &unpacked, err));
  assay_status st = assay_onnx_each_tensor(unpacked.model, embed, &e, err);
  if (st == ASSAY_OK) st = assay_onnx_pack(unpacked.model, out, err);
  give_back(&e);
  assay_unpacked_reset(&unpacked);
  return st;
}
