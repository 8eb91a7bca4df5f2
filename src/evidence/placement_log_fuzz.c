/* Any bytes as a log: read or refused. */
#include "evidence/placement_log.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  assay_placement_log log = {0};
  assay_error err = {0};
  (void)!assay_placement_log_parse(data, size, &log, &err);
  assay_placement_log_reset(&log);
  return 0;
}
