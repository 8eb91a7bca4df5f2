#include "onnx/wire.h"

#include <stdbool.h>

/* Wire types. */
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

typedef struct cursor {
  const uint8_t *start; /* of the whole file, for offsets */
  const uint8_t *p, *end;
  int depth_left;
} cursor;

static assay_status fail_at(const cursor *c, const char *what, assay_error *err) {
  return assay_fail(err, ASSAY_E_FORMAT, "%s at byte %zu: not an ONNX file, or a damaged one",
                    what, (size_t)(c->p - c->start));
}

static assay_status read_varint(cursor *c, uint64_t *out, assay_error *err) {
  uint64_t value = 0;
  for (int i = 0; i < 10; i++) {
    if (c->p + i == c->end) return fail_at(c, "a number runs past its message", err);
    uint8_t byte = c->p[i];
    if (i == 9 && byte > 1) break;
    value |= (uint64_t)(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) == 0) {
      c->p += i + 1;
      *out = value;
      return ASSAY_OK;
    }
  }
  return fail_at(c, "a number of more than 64 bits", err);
}

static assay_status skip(cursor *c, uint64_t n_bytes, assay_error *err) {
  if (n_bytes > (uint64_t)(c->end - c->p)) return fail_at(c, "a field runs past its message", err);
  c->p += n_bytes;
  return ASSAY_OK;
}

static assay_status check_message(const ProtobufCMessageDescriptor *type, cursor *c,
                                  assay_error *err);

/* A length-delimited field; field is NULL for an unknown one. */
static assay_status check_bytes(const ProtobufCFieldDescriptor *field, cursor *c,
                                assay_error *err) {
  uint64_t n_bytes = 0;
  ASSAY_TRY(read_varint(c, &n_bytes, err));
  const uint8_t *body = c->p;
  ASSAY_TRY(skip(c, n_bytes, err));
  if (field == NULL || field->type != PROTOBUF_C_TYPE_MESSAGE) return ASSAY_OK;
  if (c->depth_left == 0) {
    return assay_fail(err, ASSAY_E_LIMIT, "messages nest too deep at byte %zu",
                      (size_t)(body - c->start));
  }
  cursor inner = {.start = c->start, .p = body, .end = c->p, .depth_left = c->depth_left - 1};
  return check_message(field->descriptor, &inner, err);
}

static assay_status check_field(const ProtobufCMessageDescriptor *type, cursor *c,
                                assay_error *err) {
  const cursor at = *c;
  uint64_t key = 0, ignored = 0;
  ASSAY_TRY(read_varint(c, &key, err));
  if (key >> 3 == 0 || key >> 3 > 0x1fffffff)
    return fail_at(&at, "an impossible field number", err);
  const ProtobufCFieldDescriptor *field =
      protobuf_c_message_descriptor_get_field(type, (unsigned)(key >> 3));
  switch (key & 7) {
  case VARINT:
    return read_varint(c, &ignored, err);
  case FIXED64:
    return skip(c, 8, err);
  case BYTES:
    return check_bytes(field, c, err);
  case FIXED32:
    return skip(c, 4, err);
  default:
    return fail_at(&at, "an unknown wire type", err);
  }
}

/* Recursion is bounded by depth_left. */
static assay_status check_message(const ProtobufCMessageDescriptor *type, cursor *c,
                                  assay_error *err) {
  while (c->p < c->end) ASSAY_TRY(check_field(type, c, err));
  return ASSAY_OK;
}

assay_status assay_wire_check(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                              size_t size_bytes, int max_depth, assay_error *err) {
  if (size_bytes == 0) return ASSAY_OK; /* a message without fields */
  cursor c = {.start = bytes, .p = bytes, .end = bytes + size_bytes, .depth_left = max_depth};
  return check_message(type, &c, err);
}
