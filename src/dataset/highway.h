/* HighwayHash-64 with Riegeli's key: the check sum of everything in an ArrayRecord file. */
#ifndef ASSAY_DATASET_HIGHWAY_H
#define ASSAY_DATASET_HIGHWAY_H

#include <stddef.h>
#include <stdint.h>

uint64_t assay_highway_hash(const void *bytes, size_t size_bytes);

#endif
