/* Any bytes as rocprofv3's JSON: an empty list of kernels is never a pass. */
#include <stdint.h>

#include "fusion/fusion.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  assay_fusion_source source = {.name = "fuzz", .bytes = data, .size_bytes = size};
  assay_fusion_spec spec = {.sources = &source,
                            .n_sources = 1,
                            .kind = ASSAY_FUSION_ROCPROF,
                            .expect_fused = 1 + (int64_t)(size % 2)};
  assay_fusion f = {0};
  if (!assay_fusion_judge(&spec, &f, NULL) && f.verdict == ASSAY_FUSION_PASS && f.n_kernels == 0)
    __builtin_trap();
  assay_fusion_reset(&f);
  return 0;
}
