/* Any bytes as a .npy file: refused in one line, or read, and written such that reading that gives
 * the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "package/npy.h"
#include "package/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_written(const assay_tensor *tensor) {
  assay_buf bytes = {0};
  assay_tensor back = {0};
  assay_error err = {0};
  if (assay_npy_header_append(tensor, &bytes, &err)) abort();
  if (bytes.size_bytes % 64 != 0) abort();
  if (assay_buf_append(&bytes, tensor->data, tensor->size_bytes, &err)) abort();
  if (assay_npy_parse(bytes.data, bytes.size_bytes, "written", &back, &err)) abort();
  if (back.dtype != tensor->dtype || !assay_tensor_same_shape(&back, tensor)) abort();
  if (back.size_bytes > 0 && memcmp(back.data, tensor->data, back.size_bytes) != 0) abort();
  assay_tensor_reset(&back);
  assay_buf_reset(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  assay_tensor tensor = {0};
  assay_error err = {0};
  if (assay_npy_parse(data, size, "input", &tensor, &err)) {
    if (err.status == ASSAY_OK || strpbrk(err.text, "\n\r") != NULL) abort();
    return 0;
  }
  if (tensor.size_bytes > size) abort(); /* nothing is made up */
  check_written(&tensor);
  assay_tensor_reset(&tensor);
  return 0;
}
