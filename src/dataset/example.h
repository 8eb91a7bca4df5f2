/* tf.train.Example messages: features by name, their values without a copy until asked for.
 *
 * Source: tensorflow/core/example/example.proto and feature.proto:
 *   Example { Features = 1 }   Features { map<string, Feature> = 1 }
 *   Feature { oneof: BytesList = 1, FloatList = 2, Int64List = 3 }, each list with its values as 1
 */
#ifndef ASSAY_DATASET_EXAMPLE_H
#define ASSAY_DATASET_EXAMPLE_H

#include "base/status.h"
#include "dataset/proto_field.h"
#include "dataset/span.h"

#define ASSAY_EXAMPLE_KEY_MAX_BYTES 4096

typedef enum assay_list_kind {
  ASSAY_LIST_NONE = 0, /* no list was set: empty, of any kind */
  ASSAY_LIST_BYTES = 1,
  ASSAY_LIST_FLOAT = 2,
  ASSAY_LIST_INT64 = 3,
} assay_list_kind;

/* "bytes_list", "float_list", "int64_list", "no list". */
const char *assay_list_kind_name(assay_list_kind kind);

typedef struct assay_example_feature {
  assay_span key; /* any bytes */
  assay_list_kind kind;
  size_t n_values;
  assay_proto entry; /* the map entry; of the lists in it those from values_at on count */
  size_t values_at;
} assay_example_feature;

/* All zeroes is a valid empty one; its memory is kept from one parse to the next. */
typedef struct assay_example {
  assay_example_feature *features; /* [n], sorted bytewise by key; keys are unique */
  size_t n, cap;
} assay_example;

/* Parses the whole record, every value included, so that what is borrowed from it is known to be
 * right. record must outlive the use of *out. As protobuf has it: unknown fields are passed over,
 * of two entries of the same key the later counts, lists may be packed or not or come in pieces,
 * and a list of another kind replaces those before it. Errors: FORMAT with the offset in the
 * record, LIMIT (a key over 4096 bytes, over 65536 features), MEMORY (72 bytes a feature). */
assay_status assay_example_parse(assay_span record, assay_example *out,
                                 assay_error *err) ASSAY_NODISCARD;
void assay_example_reset(assay_example *example);

/* The feature of that name, or NULL. */
const assay_example_feature *assay_example_find(const assay_example *example, const char *key);

/* The n_values values; the feature is of that kind, or of none and so without values. */
void assay_example_floats(const assay_example_feature *feature, float *out);
void assay_example_ints(const assay_example_feature *feature, int64_t *out);
void assay_example_bytes(const assay_example_feature *feature, assay_span *out);

#endif
