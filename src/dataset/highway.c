/* HighwayHash-64, by libhighwayhash. Source: Riegeli's "Riegeli/records file format specification",
 * section "Chunks": the key is "Riegeli/records\n" twice. */
#include "dataset/highway.h"

#include <highwayhash/c_bindings.h>

uint64_t assay_highway_hash(const void *bytes, size_t size_bytes) {
  static const HHKey key = {0x2f696c6567656952, 0x0a7364726f636572, 0x2f696c6567656952,
                            0x0a7364726f636572};
  return HighwayHash64(key, size_bytes > 0 ? bytes : "", size_bytes);
}
