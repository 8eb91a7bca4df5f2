/* Fields of protobuf messages, taken off their bytes one after another without copying. Nesting is
 * the caller's: a nested message is read by a reader of its own, so nothing here recurses.
 *
 * Source: protobuf's "Encoding" document. */
#ifndef ASSAY_DATASET_PROTO_FIELD_H
#define ASSAY_DATASET_PROTO_FIELD_H

#include <stdbool.h>

#include "base/status.h"
#include "dataset/span.h"

typedef enum assay_wire {
  ASSAY_WIRE_VARINT = 0,
  ASSAY_WIRE_FIXED64 = 1,
  ASSAY_WIRE_BYTES = 2, /* a length, and as many bytes: text, messages, packed numbers */
  ASSAY_WIRE_FIXED32 = 5,
} assay_wire;

/* Where reading stands; at == end is the end of the message. Offsets in error messages are those
 * from data, so that a reader of a nested message keeps data and counts on. */
typedef struct assay_proto {
  const uint8_t *data; /* borrowed */
  size_t at, end;      /* offsets from data */
} assay_proto;

typedef struct assay_proto_field {
  uint32_t number; /* 1 to 2^29 - 1 */
  assay_wire wire;
  uint64_t value;     /* VARINT, FIXED64, FIXED32 */
  assay_proto nested; /* BYTES: a reader of them */
} assay_proto_field;

static inline assay_proto assay_proto_of(assay_span bytes) {
  bool is_empty = bytes.size_bytes == 0;
  return (assay_proto){is_empty ? (const uint8_t *)"" : bytes.data, 0, bytes.size_bytes};
}

static inline assay_span assay_proto_rest(const assay_proto *p) {
  return (assay_span){p->data + p->at, p->end - p->at};
}

/* The next field; only while at < end. Errors: FORMAT with the offset (cut, a varint over 64 bits,
 * field number 0, groups and other wire types that no message here has). */
assay_status assay_proto_next(assay_proto *p, assay_proto_field *out,
                              assay_error *err) ASSAY_NODISCARD;

/* FORMAT unless the field is of that wire type; what names it. */
assay_status assay_proto_need(const assay_proto_field *field, assay_wire wire, const char *what,
                              assay_error *err) ASSAY_NODISCARD;

#endif
