/* Any bytes as dataset_info.json, or behind a zero byte as features.json: refused in one line, or
 * read, with names of shards that stay in their folder. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/tfds_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_words(assay_status st, const assay_error *err) {
  if (st && (err->status == ASSAY_OK || *err->text == '\0' || strpbrk(err->text, "\n\r") != NULL))
    abort();
}

static void name_shards(const assay_tfds_document *document) {
  for (size_t split = 0; split < document->n_splits; split++) {
    const assay_tfds_split_info *info = &document->splits[split];
    for (size_t k = 0; k < info->n_shards && k < 4; k++) {
      char *name = NULL;
      assay_error err = {0};
      assay_status st = assay_tfds_shard_name(document, split, k, &name, &err);
      expect_words(st, &err);
      if (!st && !assay_path_is_inside(name)) abort();
      if (info->firsts[k] > info->firsts[k + 1]) abort();
      assay_free(name);
    }
  }
}

static void read_document(const assay_json *root) {
  assay_tfds_document document = {0};
  assay_error err = {0};
  assay_status st = assay_tfds_document_parse(root, &document, &err);
  expect_words(st, &err);
  if (!st) name_shards(&document);
  assay_tfds_document_reset(&document);
}

static void read_features(const assay_json *root) {
  assay_tfds_features features = {0};
  assay_error err = {0};
  assay_status st = assay_tfds_features_parse(root, &features, &err);
  expect_words(st, &err);
  for (size_t i = 0; i < features.n; i++) {
    const assay_tfds_feature *f = &features.items[i];
    if (f->unsupported == NULL && (f->dtype == ASSAY_DTYPE_NONE || f->dims == NULL)) abort();
  }
  assay_tfds_features_reset(&features);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bool is_features = size > 0 && data[0] == 0;
  assay_json *root = NULL;
  assay_error err = {0};
  assay_status st =
      assay_json_parse(is_features ? data + 1 : data, is_features ? size - 1 : size, &root, &err);
  expect_words(st, &err);
  if (!st && is_features) read_features(root);
  if (!st && !is_features) read_document(root);
  assay_json_destroy(root);
  return 0;
}
