/* Any bytes as an ONNX model file: the reader refuses or reads them, and lends nothing that it does
 * not own; of what it reads a copy with more outputs is made, which it reads too. */
#include <string.h>

#include "onnx/expose.h"
#include "onnx/model_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

static size_t touch(const char *text) {
  return text == NULL ? 0 : strlen(text);
}

static size_t touch_values(const assay_onnx_value_info *values, size_t n) {
  size_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += touch(values[i].name);
    for (int k = 0; k < values[i].rank; k++) sum += touch(values[i].dims[k].symbol);
  }
  return sum;
}

/* The corpus names values "y" and so on; the outputs are there already. */
static void expose(const uint8_t *bytes, size_t size_bytes, const assay_onnx_value_info *outputs,
                   size_t n_outputs) {
  const char *const names[] = {n_outputs > 0 ? outputs[0].name : "", "y", "h"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    assay_buf copy = {0};
    assay_onnx_info *info = NULL;
    if (assay_onnx_expose(bytes, size_bytes, &names[i], 1, &copy, /*err=*/NULL) == ASSAY_OK &&
        assay_onnx_info_parse(copy.data, copy.size_bytes, &info, /*err=*/NULL) == ASSAY_OK)
      assay_onnx_info_close(info);
    assay_buf_reset(&copy);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes) {
  assay_onnx_info *info = NULL;
  assay_error err = {0};
  if (assay_onnx_info_parse(bytes, size_bytes, &info, &err)) return 0;
  volatile size_t sum = touch(assay_onnx_info_producer(info)); /* reads that are not left out */
  size_t n = 0;
  const assay_onnx_value_info *inputs = assay_onnx_info_inputs(info, &n);
  sum += touch_values(inputs, n);
  const assay_onnx_value_info *outputs = assay_onnx_info_outputs(info, &n);
  sum += touch_values(outputs, n);
  const assay_onnx_op_count *ops = assay_onnx_info_ops(info, &n);
  for (size_t i = 0; i < n; i++) sum += touch(ops[i].domain) + touch(ops[i].op);
  const assay_onnx_pair *pairs = assay_onnx_info_metadata(info, &n);
  for (size_t i = 0; i < n; i++) sum += touch(pairs[i].key) + touch(pairs[i].value);
  const char *const *files = assay_onnx_info_external_files(info, &n);
  for (size_t i = 0; i < n; i++) sum += touch(files[i]);
  (void)sum;
  outputs = assay_onnx_info_outputs(info, &n);
  expose(bytes, size_bytes, outputs, n);
  assay_onnx_info_close(info);
  return 0;
}
