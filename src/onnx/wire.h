/* A look over protobuf bytes before they are unpacked: protobuf-c recurses into nested messages
 * without a limit of its own. */
#ifndef ASSAY_ONNX_WIRE_H
#define ASSAY_ONNX_WIRE_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Checks that the bytes are fields of such a message: each tag and length well-formed and inside
 * its parent, and messages nested at most max_depth deep. Unknown fields are passed over, as
 * protobuf asks. Errors: FORMAT with the offset, LIMIT (depth). Source: protobuf's encoding
 * document. */
assay_status assay_wire_check(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                              size_t size_bytes, int max_depth, assay_error *err) ASSAY_NODISCARD;

#endif
