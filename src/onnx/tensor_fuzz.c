/* Any bytes as a tensor in a file of its own: the reader refuses them or gives a tensor whose every
 * element can be read. */
#include "base/alloc.h"
#include "onnx/tensor_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes) {
  assay_tensor tensor = {0};
  char *name = NULL;
  if (assay_onnx_tensor_parse(bytes, size_bytes, &name, &tensor, /*err=*/NULL)) return 0;
  volatile uint8_t sum = 0; /* reads that are not left out */
  for (size_t i = 0; i < tensor.size_bytes; i++)
    sum = (uint8_t)(sum + ((const uint8_t *)tensor.data)[i]);
  assay_tensor_reset(&tensor);
  assay_free(name);
  return 0;
}
