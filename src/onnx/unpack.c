/* Source: onnx.proto; protobuf's encoding document. */
#include "onnx/unpack.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "onnx/wire.h"

#define PACKED_MAX_BYTES ((size_t)INT32_MAX) /* protobuf's own ceiling for one message */

#define NESTING_MAX 100 /* protobuf's own default; a subgraph takes three levels */

/* What unpacking may allocate: the bytes themselves, and for the structures around them at most 32
 * times the file (an exported model of 250 nodes takes 4 times what it has besides weights, the
 * smallest models 13 times) within 4 GiB. */
#define UNPACK_FACTOR     32
#define UNPACK_FREE_BYTES ((size_t)16 << 20)
#define UNPACK_MAX_BYTES  ((size_t)4 << 30)

/* ---- unpacking ---- */

typedef struct budget {
  size_t left_bytes;
  bool is_spent;   /* more was asked for than was left */
  bool is_refused; /* memory was out */
} budget;

static void *budget_alloc(void *arg, size_t size_bytes) {
  budget *b = arg;
  if (size_bytes > b->left_bytes) {
    b->is_spent = true;
    return NULL;
  }
  void *block = assay_alloc(size_bytes);
  if (block == NULL) b->is_refused = true;
  if (block != NULL) b->left_bytes -= size_bytes;
  return block;
}

static void budget_free(void *arg, void *block) {
  (void)arg;
  assay_free(block);
}

/* what: "model" or "tensor", for messages */
static assay_status unpack(const ProtobufCMessageDescriptor *type, const char *what,
                           const uint8_t *bytes, size_t size_bytes, ProtobufCAllocator *allocator,
                           ProtobufCMessage **out, assay_error *err) {
  const budget *b = allocator->allocator_data;
  const size_t full_bytes = b->left_bytes;
  ASSAY_TRY(assay_wire_check(type, bytes, size_bytes, NESTING_MAX, err));
  ProtobufCMessage *message = protobuf_c_message_unpack(type, allocator, size_bytes, bytes);
  if (message != NULL) {
    *out = message;
    return ASSAY_OK;
  }
  if (b->is_refused) return assay_fail_memory(err, size_bytes);
  if (b->is_spent) {
    return assay_fail(err, ASSAY_E_LIMIT, "unpacking %zu bytes takes more than %zu bytes of memory",
                      size_bytes, full_bytes);
  }
  return assay_fail(err, ASSAY_E_FORMAT,
                    "not an ONNX %s, or a damaged one: protobuf fields of "
                    "other types than a %s has",
                    what, what);
}

/* ---- what is not a model ---- */

static bool starts_with(const uint8_t *bytes, size_t size_bytes, const char *prefix) {
  size_t n = strlen(prefix);
  return size_bytes >= n && strncasecmp((const char *)bytes, prefix, n) == 0;
}

static assay_status check_magic(const char *sought, const uint8_t *bytes, size_t size_bytes,
                                assay_error *err) {
  static const struct {
    const char *prefix, *what;
  } KINDS[] = {
      {"version https://git-lfs.github.com/spec/",
       "a Git LFS pointer to the file: fetch it with 'git lfs pull'"},
      {"<!doctype html", "an HTML page: was it downloaded without logging in?"},
      {"<html", "an HTML page: was it downloaded without logging in?"},
      {"<?xml", "XML"},
      {"PK\003\004", "a zip archive (a PyTorch checkpoint or an npz?)"},
      {"\x1f\x8b", "compressed by gzip: decompress it first"},
      {"\x93NUMPY", "a numpy array"},
      {"\x89HDF", "HDF5"},
      {"{", "JSON"},
  };
  if (size_bytes == 0) return assay_fail(err, ASSAY_E_FORMAT, "the file is empty");
  /* White space comes first only in texts: tab and new line are tags of fields that no model starts
   * with (a tensor may). */
  const bool may_skip = strcmp(sought, "model") == 0;
  size_t skip = 0;
  while (may_skip && skip < size_bytes && skip < 64 && strchr(" \t\r\n", bytes[skip]) != NULL &&
         bytes[skip] != 0) {
    skip++;
  }
  for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
    if (starts_with(bytes + skip, size_bytes - skip, KINDS[i].prefix)) {
      return assay_fail(err, ASSAY_E_FORMAT, "not an ONNX %s but %s", sought, KINDS[i].what);
    }
  }
  return ASSAY_OK;
}

/* ---- both ---- */

static assay_status init(const ProtobufCMessageDescriptor *type, const char *what,
                         const uint8_t *bytes, size_t size_bytes, ProtobufCMessage **out,
                         assay_error *err) {
  if (size_bytes > ASSAY_ONNX_MAX_BYTES) {
    return assay_fail(err, ASSAY_E_LIMIT, "%zu bytes, an ONNX file holds at most %zu", size_bytes,
                      ASSAY_ONNX_MAX_BYTES);
  }
  size_t extra_bytes = size_bytes * UNPACK_FACTOR + UNPACK_FREE_BYTES;
  if (extra_bytes > UNPACK_MAX_BYTES) extra_bytes = UNPACK_MAX_BYTES;
  budget b = {.left_bytes = size_bytes + extra_bytes};
  ProtobufCAllocator allocator = {.alloc = budget_alloc, .free = budget_free, .allocator_data = &b};
  ASSAY_TRY(check_magic(what, bytes, size_bytes, err));
  return unpack(type, what, bytes, size_bytes, &allocator, out, err);
}

assay_status assay_unpacked_init(const uint8_t *bytes, size_t size_bytes, assay_unpacked *out,
                                 assay_error *err) {
  ProtobufCMessage *message = NULL;
  ASSAY_TRY(init(&onnx__model_proto__descriptor, "model", bytes, size_bytes, &message, err));
  out->model = (Onnx__ModelProto *)message;
  return ASSAY_OK;
}

assay_status assay_unpacked_init_tensor(const uint8_t *bytes, size_t size_bytes,
                                        assay_unpacked *out, assay_error *err) {
  ProtobufCMessage *message = NULL;
  ASSAY_TRY(init(&onnx__tensor_proto__descriptor, "tensor", bytes, size_bytes, &message, err));
  out->tensor = (Onnx__TensorProto *)message;
  return ASSAY_OK;
}

void assay_unpacked_reset(assay_unpacked *unpacked) {
  ProtobufCAllocator allocator = {.alloc = budget_alloc, .free = budget_free};
  if (unpacked->model != NULL) onnx__model_proto__free_unpacked(unpacked->model, &allocator);
  if (unpacked->tensor != NULL) onnx__tensor_proto__free_unpacked(unpacked->tensor, &allocator);
  *unpacked = (assay_unpacked){0};
}

assay_status assay_onnx_pack(const Onnx__ModelProto *model, assay_buf *out, assay_error *err) {
  const size_t size_bytes = onnx__model_proto__get_packed_size(model);
  if (size_bytes > PACKED_MAX_BYTES)
    return assay_fail(err, ASSAY_E_LIMIT, "the copy is %zu bytes, an ONNX file holds at most %zu",
                      size_bytes, PACKED_MAX_BYTES);
  uint8_t *to = NULL;
  ASSAY_TRY(assay_buf_reserve(out, size_bytes, &to, err));
  out->size_bytes += onnx__model_proto__pack(model, to);
  return ASSAY_OK;
}
