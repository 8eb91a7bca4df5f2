/* Any bytes as an ONNX model file: the reader refuses or reads them, and lends nothing that it does
 * not own. Of what it reads copies are made, which it reads too: with more outputs, for one set of
 * shapes, with folded constants, and with external data (of testdata/) in it. */
#include <string.h>

#include "base/array.h"
#include "base/tensor.h"
#include "onnx/embed.h"
#include "onnx/expose.h"
#include "onnx/model_info.h"
#include "onnx/specialise.h"

#define INPUTS_MAX 4

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

/* Releases it. */
static void read_again(assay_status st, assay_buf *copy) {
  assay_onnx_info *info = NULL;
  if (st == ASSAY_OK &&
      assay_onnx_info_parse(copy->data, copy->size_bytes, &info, /*err=*/NULL) == ASSAY_OK)
    assay_onnx_info_close(info);
  assay_buf_reset(copy);
}

/* The corpus names values "y" and so on; the outputs are there already. */
static void expose(const uint8_t *bytes, size_t size_bytes, const assay_onnx_value_info *outputs,
                   size_t n_outputs) {
  const char *const names[] = {n_outputs > 0 ? outputs[0].name : "", "y", "h"};
  for (size_t i = 0; i < N_OF(names); i++) {
    assay_buf copy = {0};
    read_again(assay_onnx_expose(bytes, size_bytes, &names[i], 1, &copy, /*err=*/NULL), &copy);
  }
}

static void embed(const uint8_t *bytes, size_t size_bytes) {
  assay_buf copy = {0};
  read_again(assay_onnx_embed(bytes, size_bytes, "testdata", &copy, /*err=*/NULL), &copy);
}

/* Two where a dimension is free; folded by itself. */
static void specialise(const uint8_t *bytes, size_t size_bytes, const assay_onnx_value_info *inputs,
                       size_t n_inputs) {
  assay_onnx_shape shapes[INPUTS_MAX];
  int64_t dims[INPUTS_MAX][ASSAY_TENSOR_RANK_MAX];
  assay_buf fixed = {0}, folded = {0};
  size_t n_removed = 0;
  if (n_inputs > INPUTS_MAX) return;
  for (size_t i = 0; i < n_inputs; i++) {
    if (inputs[i].rank < 0) return;
    shapes[i] = (assay_onnx_shape){inputs[i].name, inputs[i].rank, dims[i]};
    for (int k = 0; k < inputs[i].rank; k++)
      dims[i][k] = inputs[i].dims[k].size < 0 ? 2 : inputs[i].dims[k].size;
  }
  assay_status st =
      assay_onnx_fix_shapes(bytes, size_bytes, shapes, n_inputs, &fixed, /*err=*/NULL);
  if (st == ASSAY_OK)
    read_again(assay_onnx_fold(fixed.data, fixed.size_bytes, bytes, size_bytes, &folded, &n_removed,
                               /*err=*/NULL),
               &folded);
  read_again(st, &fixed);
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
  embed(bytes, size_bytes);
  inputs = assay_onnx_info_inputs(info, &n);
  specialise(bytes, size_bytes, inputs, n);
  assay_onnx_info_close(info);
  return 0;
}
