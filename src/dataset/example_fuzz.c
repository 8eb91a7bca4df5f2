/* Any bytes as a tf.train.Example: refused in one line, or every value of it read; and its features
 * "a" to "e" decoded as arrays of every type and encoding. */
#include "dataset/example.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/tfds_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_words(assay_status st, const assay_error *err) {
  if (st && (err->status == ASSAY_OK || *err->text == '\0' || strpbrk(err->text, "\n\r") != NULL))
    abort();
}

static void read_values(const assay_example_feature *feature) {
  if (feature->n_values > 1 << 20) return;
  void *values = malloc(feature->n_values * sizeof(assay_span) + 1);
  if (values == NULL) return;
  if (feature->kind == ASSAY_LIST_FLOAT) assay_example_floats(feature, values);
  if (feature->kind == ASSAY_LIST_INT64) assay_example_ints(feature, values);
  if (feature->kind == ASSAY_LIST_BYTES) {
    assay_span *texts = values;
    volatile uint8_t sum = 0;
    assay_example_bytes(feature, texts);
    for (size_t i = 0; i < feature->n_values; i++) {
      for (size_t k = 0; k < texts[i].size_bytes; k++) sum = (uint8_t)(sum + texts[i].data[k]);
    }
  }
  free(values);
}

static void decode(const assay_example *example, char *name, assay_dtype dtype,
                   assay_tfds_encoding encoding, int rank, const int64_t *dims) {
  int64_t copy[3] = {0};
  memcpy(copy, dims, (size_t)rank * sizeof *dims);
  const assay_tfds_feature feature = {
      .name = name, .dtype = dtype, .rank = rank, .dims = copy, .encoding = encoding};
  uint64_t budget_bytes = 1 << 20;
  bool is_there;
  assay_tensor tensor = {0};
  assay_error err = {0};
  assay_status st = assay_tfds_decode(&feature, example, &budget_bytes, &is_there, &tensor, &err);
  expect_words(st, &err);
  if (st && tensor.data != NULL) abort();
  assay_tensor_reset(&tensor);
}

static void decode_all(const assay_example *example) {
  static const assay_dtype dtypes[] = {
      ASSAY_DTYPE_F32, ASSAY_DTYPE_F64, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16, ASSAY_DTYPE_BOOL,
      ASSAY_DTYPE_I8,  ASSAY_DTYPE_U16, ASSAY_DTYPE_I32, ASSAY_DTYPE_I64,  ASSAY_DTYPE_U64};
  static const int64_t dims[][3] = {{-1, 2, 1}, {-1, -1, 2}, {1, 1, 1}};
  char name[2] = "a";
  for (; name[0] <= 'e'; name[0]++) {
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
      decode(example, name, dtypes[i], ASSAY_TFDS_PLAIN, 2, dims[0]);
      decode(example, name, dtypes[i], ASSAY_TFDS_PLAIN, 0, dims[0]);
      for (size_t k = 0; k < 3; k++) {
        decode(example, name, dtypes[i], ASSAY_TFDS_BYTES, 3, dims[k]);
        decode(example, name, dtypes[i], ASSAY_TFDS_ZLIB, 3, dims[k]);
      }
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  assay_example example = {0};
  assay_error err = {0};
  assay_status st = assay_example_parse((assay_span){data, size}, &example, &err);
  expect_words(st, &err);
  if (st && example.n > 0) abort();
  for (size_t i = 0; i < example.n; i++) {
    read_values(&example.features[i]);
    if (i > 0 && example.features[i - 1].key.data == example.features[i].key.data &&
        example.features[i].key.size_bytes > 0)
      abort();
  }
  if (!st) decode_all(&example);
  assay_example_reset(&example);
  return 0;
}
