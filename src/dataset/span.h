/* Bytes that belong to somebody else, and the little-endian numbers in them. */
#ifndef ASSAY_DATASET_SPAN_H
#define ASSAY_DATASET_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct assay_span {
  const uint8_t *data; /* borrowed; may be NULL when size_bytes is 0 */
  size_t size_bytes;
} assay_span;

static inline uint32_t assay_span_u32(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t assay_span_u64(const uint8_t *p) {
  return (uint64_t)assay_span_u32(p) | (uint64_t)assay_span_u32(p + 4) << 32;
}

/* Takes a base-128 number (least significant group first, at most 10 bytes, the tenth 0 or 1) off
 * the front of rest. Longer spellings of a number than needed are taken, as protobuf and Riegeli
 * do. false, with rest and *out untouched, when it is cut or longer than 64 bits. */
static inline bool assay_span_take_varint(assay_span *rest, uint64_t *out) {
  uint64_t value = 0;
  for (size_t i = 0; i < 10 && i < rest->size_bytes; i++) {
    uint8_t byte = rest->data[i];
    if (i == 9 && byte > 1) return false;
    value |= (uint64_t)(byte & 0x7f) << (7 * i);
    if (byte & 0x80) continue;
    *out = value;
    *rest = (assay_span){rest->data + i + 1, rest->size_bytes - i - 1};
    return true;
  }
  return false;
}

/* Ceilings of readers of records; zeroes mean the defaults. */
typedef struct assay_record_limits {
  uint64_t max_decoded_bytes;  /* of a record, or of the records of one chunk; 0: 1 GiB */
  uint64_t max_unpacked_bytes; /* of a whole file that is compressed as one stream; 0: 4 GiB */
} assay_record_limits;

#endif
