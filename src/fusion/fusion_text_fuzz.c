/* Any bytes as a log or a trace: judged, never believed without evidence. */
#include <stdint.h>

#include "fusion/fusion.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  assay_fusion_source source = {.name = "fuzz", .bytes = data, .size_bytes = size};
  assay_fusion_spec spec = {
      .sources = &source, .n_sources = 1, .expect_fused = -1, .n_elems = size % 2 ? 64 : 0};
  assay_fusion f = {0};
  if (!assay_fusion_judge(&spec, &f, NULL)) {
    assay_json_builder *b = assay_json_builder_create();
    assay_buf text = {0};
    assay_fusion_put(&f, b, NULL);
    if (assay_json_builder_finish(b, &text, NULL)) __builtin_trap();
    assay_json_builder_destroy(b);
    assay_buf_reset(&text);
  }
  assay_fusion_reset(&f);
  return 0;
}
