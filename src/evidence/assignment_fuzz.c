/* Any bytes as an assignment: read or refused. */
#include "evidence/assignment.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  assay_assignment assignment = {0};
  assay_error err = {0};
  (void)!assay_assignment_parse(data, size, &assignment, &err);
  assay_assignment_reset(&assignment);
  return 0;
}
