/* Fields of protobuf messages. */
#include "dataset/proto_field.h"

#include <inttypes.h>

#define FIELD_NUMBER_MAX ((UINT32_C(1) << 29) - 1)

static assay_status fail_at(size_t at, const char *what, assay_error *err) {
  return assay_fail(err, ASSAY_E_FORMAT, "%s at byte %zu", what, at);
}

static assay_status take_varint(assay_proto *p, uint64_t *out, assay_error *err) {
  assay_span rest = assay_proto_rest(p);
  if (!assay_span_take_varint(&rest, out)) return fail_at(p->at, "a cut or overlong number", err);
  p->at = p->end - rest.size_bytes;
  return ASSAY_OK;
}

static assay_status take_fixed(assay_proto *p, size_t n_bytes, uint64_t *out, assay_error *err) {
  if (p->end - p->at < n_bytes) return fail_at(p->at, "a cut number", err);
  const uint8_t *bytes = p->data + p->at;
  *out = n_bytes == 8 ? assay_span_u64(bytes) : assay_span_u32(bytes);
  p->at += n_bytes;
  return ASSAY_OK;
}

static assay_status take_bytes(assay_proto *p, assay_proto *out, assay_error *err) {
  uint64_t n_bytes;
  size_t at = p->at;
  ASSAY_TRY(take_varint(p, &n_bytes, err));
  if (n_bytes > p->end - p->at)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "a length of %" PRIu64 " at byte %zu, where %zu bytes are left", n_bytes, at,
                      p->end - p->at);
  *out = (assay_proto){p->data, p->at, p->at + (size_t)n_bytes};
  p->at = out->end;
  return ASSAY_OK;
}

assay_status assay_proto_next(assay_proto *p, assay_proto_field *out, assay_error *err) {
  uint64_t key;
  size_t at = p->at;
  assay_proto_field field = {0};
  ASSAY_TRY(take_varint(p, &key, err));
  if (key >> 3 < 1 || key >> 3 > FIELD_NUMBER_MAX)
    return assay_fail(err, ASSAY_E_FORMAT, "field number %" PRIu64 " at byte %zu", key >> 3, at);
  field.number = (uint32_t)(key >> 3);
  switch (key & 7) {
  case ASSAY_WIRE_VARINT:
    field.wire = ASSAY_WIRE_VARINT;
    ASSAY_TRY(take_varint(p, &field.value, err));
    break;
  case ASSAY_WIRE_FIXED64:
    field.wire = ASSAY_WIRE_FIXED64;
    ASSAY_TRY(take_fixed(p, 8, &field.value, err));
    break;
  case ASSAY_WIRE_BYTES:
    field.wire = ASSAY_WIRE_BYTES;
    ASSAY_TRY(take_bytes(p, &field.nested, err));
    break;
  case ASSAY_WIRE_FIXED32:
    field.wire = ASSAY_WIRE_FIXED32;
    ASSAY_TRY(take_fixed(p, 4, &field.value, err));
    break;
  default:
    return assay_fail(err, ASSAY_E_FORMAT, "wire type %d at byte %zu", (int)(key & 7), at);
  }
  *out = field;
  return ASSAY_OK;
}

assay_status assay_proto_need(const assay_proto_field *field, assay_wire wire, const char *what,
                              assay_error *err) {
  if (field->wire == wire) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT, "%s (field %" PRIu32 ") has wire type %d, expected %d",
                    what, field->number, (int)field->wire, (int)wire);
}
