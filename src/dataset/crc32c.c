/* CRC-32C by tables of eight bytes at a time, or by the instruction of SSE 4.2. */
#include "dataset/crc32c.h"

#include <string.h>

#include "dataset/span.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#define POLYNOMIAL 0x82f63b78u /* reflected */
#define MASK_DELTA 0xa282ead8u

void assay_crc32c_init(assay_crc32c *crc) {
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? POLYNOMIAL : 0);
    crc->tables[0][byte] = value;
  }
  for (int k = 1; k < 8; k++) {
    for (uint32_t byte = 0; byte < 256; byte++) {
      uint32_t value = crc->tables[k - 1][byte];
      crc->tables[k][byte] = value >> 8 ^ crc->tables[0][value & 0xff];
    }
  }
}

uint32_t assay_crc32c_by_tables(const assay_crc32c *crc, const void *bytes, size_t size_bytes) {
  const uint8_t *p = bytes;
  uint32_t value = ~0u;
  for (; size_bytes >= 8; size_bytes -= 8, p += 8) {
    uint32_t a = value ^ assay_span_u32(p), b = assay_span_u32(p + 4);
    value = crc->tables[7][a & 0xff] ^ crc->tables[6][a >> 8 & 0xff] ^
            crc->tables[5][a >> 16 & 0xff] ^ crc->tables[4][a >> 24] ^ crc->tables[3][b & 0xff] ^
            crc->tables[2][b >> 8 & 0xff] ^ crc->tables[1][b >> 16 & 0xff] ^
            crc->tables[0][b >> 24];
  }
  for (; size_bytes > 0; size_bytes--, p++)
    value = value >> 8 ^ crc->tables[0][(value ^ *p) & 0xff];
  return ~value;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t by_instruction(const uint8_t *p,
                                                                 size_t size_bytes) {
  uint64_t value = 0xffffffff;
  for (; size_bytes >= 8; size_bytes -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
    value = _mm_crc32_u64(value, word);
  }
  uint32_t rest = (uint32_t)value;
  for (; size_bytes > 0; size_bytes--, p++) rest = _mm_crc32_u8(rest, *p);
  return ~rest;
}

uint32_t assay_crc32c_of(const assay_crc32c *crc, const void *bytes, size_t size_bytes) {
  return __builtin_cpu_supports("sse4.2") ? by_instruction(bytes, size_bytes)
                                          : assay_crc32c_by_tables(crc, bytes, size_bytes);
}

#else

uint32_t assay_crc32c_of(const assay_crc32c *crc, const void *bytes, size_t size_bytes) {
  return assay_crc32c_by_tables(crc, bytes, size_bytes);
}

#endif

uint32_t assay_crc32c_mask(uint32_t crc) {
  return (crc >> 15 | crc << 17) + MASK_DELTA;
}
