/* The bytes of a model file, or of one tensor, as protobuf-c's structures: looked over first
 * (wire.h), then unpacked through an allocator with a budget, so that no bytes take more time or
 * memory than they are worth.
 */
#ifndef ASSAY_ONNX_UNPACK_H
#define ASSAY_ONNX_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"
#include "onnx.pb-c.h"

#define ASSAY_ONNX_MAX_BYTES ((size_t)1 << 31)

/* All zeroes is a valid empty one. */
typedef struct assay_unpacked {
  Onnx__ModelProto *model; /* owned, as the next; the bytes may go */
  Onnx__TensorProto *tensor;
} assay_unpacked;

/* Errors: FORMAT (what it is instead of a model, or where it contradicts itself), LIMIT (over 2
 * GiB, nested too deep, or much larger in memory than as a file), MEMORY. */
assay_status assay_unpacked_init(const uint8_t *bytes, size_t size_bytes, assay_unpacked *out,
                                 assay_error *err) ASSAY_NODISCARD;
/* The same for a file that is a tensor. */
assay_status assay_unpacked_init_tensor(const uint8_t *bytes, size_t size_bytes,
                                        assay_unpacked *out, assay_error *err) ASSAY_NODISCARD;
void assay_unpacked_reset(assay_unpacked *unpacked);

/* Appends a model's bytes to out. Errors: LIMIT (over 2 GiB), MEMORY. */
assay_status assay_onnx_pack(const Onnx__ModelProto *model, assay_buf *out,
                             assay_error *err) ASSAY_NODISCARD;

#endif
