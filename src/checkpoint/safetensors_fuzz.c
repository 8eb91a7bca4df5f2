/* Fuzzes the safetensors reader. What is read lies in the file: every byte of every view is
 * touched. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  assay_safetensors *file = NULL;
  assay_error err = {0};
  uint8_t sum = 0;
  uint64_t total = 0;
  if (assay_safetensors_open_bytes(data, size, &file, &err)) {
    if (err.text[0] == '\0') abort(); /* a refusal says why */
    return 0;
  }
  for (size_t i = 0; i < assay_safetensors_n_metadata(file); i++) {
    sum ^= (uint8_t)strlen(assay_safetensors_metadata(file, i).value);
  }
  for (size_t i = 0; i < assay_safetensors_count(file); i++) {
    assay_tensor tensor;
    total += assay_safetensors_at(file, i)->size_bytes;
    if (assay_safetensors_view(file, i, &tensor, NULL)) continue;
    for (size_t k = 0; k < tensor.size_bytes; k++) sum ^= ((const uint8_t *)tensor.data)[k];
    assay_tensor_reset(&tensor);
  }
  if (total > size || sum == 255) { /* sum is looked at, so that the reads stay */
    if (total > size) abort();
  }
  assay_safetensors_close(file);
  return 0;
}
