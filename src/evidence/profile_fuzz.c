/* Any bytes as a profile: read or refused. */
#include "evidence/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  assay_profile profile = {0};
  assay_error err = {0};
  (void)!assay_profile_parse(data, size, &profile, &err);
  assay_profile_reset(&profile);
  return 0;
}
