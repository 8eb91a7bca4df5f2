/* Datasets as TensorFlow Datasets (TFDS) writes them: a folder
 *   <data_dir>/<name>[/<config>]/<version>/
 * with dataset_info.json, features.json, perhaps metadata.json, and shards of tf.train.Example
 * records in ArrayRecord or TFRecord files. Example i of a split becomes one array a feature.
 *
 * A dataset keeps at most 64 shards open (mapped), and of each at most 4 MiB of what it read last.
 *
 * Source: github tensorflow/datasets: core/dataset_info.py, core/naming.py, core/features/ and
 * core/proto/dataset_info.proto, feature.proto. */
#ifndef ASSAY_DATASET_TFDS_H
#define ASSAY_DATASET_TFDS_H

#include "base/hash.h"
#include "base/json.h"
#include "base/tensor.h"
#include "dataset/span.h"

typedef struct assay_tfds assay_tfds;

typedef enum assay_tfds_encoding {
  ASSAY_TFDS_PLAIN, /* "none": one value a value */
  ASSAY_TFDS_BYTES, /* the array's bytes as one text */
  ASSAY_TFDS_ZLIB,  /* the same, compressed */
} assay_tfds_encoding;

/* One leaf of the tree of features.json. Owned by the dataset. */
typedef struct assay_tfds_feature {
  char *name;        /* as in the records: names of nested features are joined with '/' */
  assay_dtype dtype; /* STRING for texts; NONE when unsupported */
  int rank;
  int64_t *dims; /* [rank]; -1 where each example has its own */
  assay_tfds_encoding encoding;
  bool optional;     /* a record may lack it */
  char *unsupported; /* why it cannot be read, or NULL */
} assay_tfds_feature;

typedef struct assay_tfds_split {
  const char *name;
  uint64_t n_examples;
  size_t n_shards;
  int64_t size_bytes; /* of the records, by dataset_info.json; -1 when it does not say */
} assay_tfds_split;

/* All borrowed from the dataset. */
typedef struct assay_tfds_info {
  const char *folder, *name, *version;
  const char *config;                           /* "" for none */
  const char *file_format;                      /* "array_record" or "tfrecord" */
  char info_sha256[ASSAY_SHA256_HEX_BYTES];     /* of dataset_info.json */
  char features_sha256[ASSAY_SHA256_HEX_BYTES]; /* of features.json */
  char metadata_sha256[ASSAY_SHA256_HEX_BYTES]; /* of metadata.json; "" when there is none */
  const assay_json *metadata;                   /* its contents; NULL when there is none */
  const char *warning; /* the folder's name is not what the files say: a line; NULL when all is well
                        */
} assay_tfds_info;

/* Where an example lies. */
typedef struct assay_tfds_place {
  size_t shard;
  uint64_t index; /* in the shard */
} assay_tfds_place;

/* The folder of "name[/config][:version]" in data_dir. Without a version, or with '*' for some of
 * its three parts, the highest that fits; without a config the only one there. CamelCase names are
 * read as snake_case. Released with assay_free. Errors: ARGUMENT (the grammar, or nothing there of
 * that name, with what there is), UNSUPPORTED (builder arguments, namespaces), IO, MEMORY. */
assay_status assay_tfds_find(const char *data_dir, const char *name, char **out_folder,
                             assay_error *err) ASSAY_NODISCARD;

/* True for a folder with a dataset_info.json in it. */
bool assay_tfds_is_folder(const char *folder);

/* Opens the folder of a version. Shards are opened when they are needed. Errors: IO, FORMAT (file
 * and key), UNSUPPORTED (another file format, split sizes unknown, by name), LIMIT, MEMORY. */
assay_status assay_tfds_open(const char *folder, assay_tfds **out,
                             assay_error *err) ASSAY_NODISCARD;
void assay_tfds_close(assay_tfds *dataset);

assay_tfds_info assay_tfds_describe(const assay_tfds *dataset);

size_t assay_tfds_n_splits(const assay_tfds *dataset);
assay_tfds_split assay_tfds_split_at(const assay_tfds *dataset, size_t split);
/* ARGUMENT with the splits that there are. */
assay_status assay_tfds_find_split(const assay_tfds *dataset, const char *name, size_t *out,
                                   assay_error *err) ASSAY_NODISCARD;

size_t assay_tfds_n_features(const assay_tfds *dataset);
const assay_tfds_feature *assay_tfds_feature_at(const assay_tfds *dataset, size_t i);
const assay_tfds_feature *assay_tfds_find_feature(const assay_tfds *dataset,
                                                  const char *name); /* or NULL */

/* Examples that shard holds by dataset_info.json, and its path, released with assay_free. Errors:
 * MEMORY; of the path also FORMAT (a template that leads out of the folder). */
uint64_t assay_tfds_shard_count(const assay_tfds *dataset, size_t split, size_t shard);
assay_status assay_tfds_shard_path(const assay_tfds *dataset, size_t split, size_t shard,
                                   char **out_path, assay_error *err) ASSAY_NODISCARD;

/* Opens the shard and counts its records. Errors: IO (not there), FORMAT, MISMATCH (another number
 * than dataset_info.json says), … as of the readers. */
assay_status assay_tfds_check_shard(assay_tfds *dataset, size_t split, size_t shard,
                                    assay_error *err) ASSAY_NODISCARD;

/* Example i of a split: its place; and its record, borrowed until the next call. Errors: ARGUMENT
 * (no such example), and those of check_shard. */
assay_status assay_tfds_locate(const assay_tfds *dataset, size_t split, uint64_t i,
                               assay_tfds_place *out, assay_error *err) ASSAY_NODISCARD;
assay_status assay_tfds_record(assay_tfds *dataset, size_t split, uint64_t i, assay_span *out,
                               assay_error *err) ASSAY_NODISCARD;

/* The arrays of example i by feature name, in memory of their own: the n named features, or with
 * names NULL all that can be read. Optional features that the record lacks are left out; features
 * that features.json lacks are passed over. *out must be empty; it is filled only on success. All
 * arrays together take 1 GiB at most.
 * Values: bool and integers are checked to be in the range of their type; float16 and bfloat16 lie
 * in the records as float32, and must be exact; float64 too, and is widened.
 * Errors: ARGUMENT (an unknown name, no such example), UNSUPPORTED (a named feature that cannot be
 * read, or a text), FORMAT (feature, what was expected and found), LIMIT, MEMORY. */
assay_status assay_tfds_read(assay_tfds *dataset, size_t split, uint64_t i,
                             const char *const *names, size_t n, assay_tensor_map *out,
                             assay_error *err) ASSAY_NODISCARD;

#endif
