/* CRC-32C (Castagnoli), as TFRecord files have it. */
#ifndef ASSAY_DATASET_CRC32C_H
#define ASSAY_DATASET_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Tables for whoever computes many; filled by assay_crc32c_init. */
typedef struct assay_crc32c {
  uint32_t tables[8][256]; /* [k][b]: CRC of byte b followed by k zero bytes */
} assay_crc32c;

void assay_crc32c_init(assay_crc32c *crc);

/* Of size_bytes bytes, with the processor's instruction for it where there is one. Source: RFC
 * 3720, appendix B.4. */
uint32_t assay_crc32c_of(const assay_crc32c *crc, const void *bytes, size_t size_bytes);

/* The same by tables, whatever the processor has: what a test compares. */
uint32_t assay_crc32c_by_tables(const assay_crc32c *crc, const void *bytes, size_t size_bytes);

/* TFRecord's form, so that the CRC of data with CRCs in them is no special value: rotated right by
 * 15 bits, plus a constant. Source: tensorflow/core/lib/hash/crc32c.h. */
uint32_t assay_crc32c_mask(uint32_t crc);

#endif
