/* Mapped bytes of a file that are read from end to end, and tensors that are a copy of them: the
 * system makes pages ready many at a time. */
#ifndef ASSAY_CHECKPOINT_FRESH_TENSOR_H
#define ASSAY_CHECKPOINT_FRESH_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/tensor.h"

/* Fills a tensor of its own, unset memory from as many bytes of a mapped file, which are read once.
 * crc  their CRC-32 on return, or NULL for none. */
void fresh_tensor_fill(assay_tensor *tensor, const uint8_t *bytes, uint32_t *crc);

/* Bytes of a mapped file that are about to be read from end to end where they lie. A hint: nothing
 * depends on it. */
void fresh_tensor_expect(const uint8_t *bytes, size_t size_bytes);

#endif
