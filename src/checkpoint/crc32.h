/* CRC-32 as zip has it (polynomial 0x04c11db7, reflected), for storages that are used where they
 * lie. */
#ifndef ASSAY_CHECKPOINT_CRC32_H
#define ASSAY_CHECKPOINT_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Of size_bytes bytes; 0 for none. */
uint32_t crc32_of(const void *bytes, size_t size_bytes);

/* The same piece by piece: crc is that of what came before, 0 for nothing. */
uint32_t crc32_more(uint32_t crc, const void *bytes, size_t size_bytes);

/* The same by tables, whatever the processor has: what a test compares. */
uint32_t crc32_of_by_tables(const void *bytes, size_t size_bytes);

#endif
