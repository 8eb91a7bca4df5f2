/* What the files of the TFDS reader share. */
#ifndef ASSAY_DATASET_TFDS_PARTS_H
#define ASSAY_DATASET_TFDS_PARTS_H

#include "dataset/example.h"
#include "dataset/tfds.h"

#define ASSAY_TFDS_JSON_MAX_BYTES    ((size_t)16 << 20)
#define ASSAY_TFDS_EXAMPLE_MAX_BYTES ((uint64_t)1 << 30) /* the arrays of one example */
#define ASSAY_TFDS_MAX_SHARDS        ((size_t)1000000)   /* of a split */

/* ---- dataset_info.json ---- */

typedef enum assay_tfds_format {
  ASSAY_TFDS_ARRAY_RECORD,
  ASSAY_TFDS_TFRECORD,
} assay_tfds_format;

typedef struct assay_tfds_split_info {
  char *name;
  char *path_template; /* of the shards */
  uint64_t *firsts;    /* [n_shards + 1] the first example of each shard, and their number */
  size_t n_shards;
  int64_t size_bytes; /* or -1 */
} assay_tfds_split_info;

/* All zeroes is a valid empty one. */
typedef struct assay_tfds_document {
  char *name, *config, *version; /* config: "" for none */
  assay_tfds_format format;
  assay_tfds_split_info *splits;
  size_t n_splits;
} assay_tfds_document;

/* Errors: FORMAT, UNSUPPORTED, LIMIT, MEMORY. *out is filled only on success. */
assay_status assay_tfds_document_parse(const assay_json *root, assay_tfds_document *out,
                                       assay_error *err) ASSAY_NODISCARD;
void assay_tfds_document_reset(assay_tfds_document *document);
const char *assay_tfds_format_name(assay_tfds_format format);

/* The name of shard k < n_shards by the split's template: relative, inside the folder. Released
 * with assay_free. Errors: FORMAT, MEMORY. */
assay_status assay_tfds_shard_name(const assay_tfds_document *document, size_t split, size_t k,
                                   char **out, assay_error *err) ASSAY_NODISCARD;

/* A number in [low, high], or the decimal text of one: protobuf writes 64-bit integers as texts. */
assay_status assay_tfds_read_int(const assay_json *value, const char *what, int64_t low,
                                 int64_t high, int64_t *out, assay_error *err) ASSAY_NODISCARD;

/* ---- features.json ---- */

typedef struct assay_tfds_features {
  assay_tfds_feature *items; /* in the order of the file; names are unique */
  size_t n, cap;
} assay_tfds_features;

/* Errors: FORMAT, LIMIT, MEMORY. A type that cannot be read is no error, but said in the feature.
 * *out is filled only on success. */
assay_status assay_tfds_features_parse(const assay_json *root, assay_tfds_features *out,
                                       assay_error *err) ASSAY_NODISCARD;
void assay_tfds_features_reset(assay_tfds_features *features);

/* ---- values ---- */

/* The array of a feature that is supported and no text; takes its bytes off *budget_bytes. A
 * missing optional feature gives *out_there false and no array. Errors: FORMAT, LIMIT (beyond the
 * budget), MEMORY. */
assay_status assay_tfds_decode(const assay_tfds_feature *feature, const assay_example *example,
                               uint64_t *budget_bytes, bool *out_there, assay_tensor *out,
                               assay_error *err) ASSAY_NODISCARD;

#endif
