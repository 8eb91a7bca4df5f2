/* TFRecord files, plain or compressed as a whole with gzip or zlib: records by index.
 *
 * The file is mapped, and its records are found when it is opened: 8 bytes of memory for each.
 * A record of a plain file is a view on the map. A compressed file is unpacked from its beginning
 * as far as the record, or on from the one read last: in the order of the file that is one pass,
 * backwards it is slow. Of it one record is held at a time.
 *
 * Source: tensorflow/core/lib/io/record_reader.h ("Format of a single record"). */
#ifndef ASSAY_DATASET_TFRECORD_H
#define ASSAY_DATASET_TFRECORD_H

#include <stdbool.h>

#include "base/status.h"
#include "dataset/span.h"

typedef struct assay_tfrecord assay_tfrecord;

/* Do a file's first bytes (12 are enough) begin a record: a length and its CRC? Compressed files
 * begin as what compressed them, an empty one with nothing. */
bool assay_tfrecord_is_magic(const uint8_t *bytes, size_t size_bytes);

/* Walks from length to length, each checked by its CRC. What ends early is called "truncated", what
 * contradicts itself "corrupt", with record and offset. An empty file has no records. limits may be
 * NULL. Errors: IO, FORMAT, LIMIT (a record over max_decoded_bytes, unpacked data over
 * max_unpacked_bytes, over 2^24 records), MEMORY. */
assay_status assay_tfrecord_open(const char *path, const assay_record_limits *limits,
                                 assay_tfrecord **out, assay_error *err) ASSAY_NODISCARD;

/* The same of bytes that stay the caller's and must outlive the reader; name stands for the path in
 * messages. */
assay_status assay_tfrecord_open_bytes(const char *name, assay_span bytes,
                                       const assay_record_limits *limits, assay_tfrecord **out,
                                       assay_error *err) ASSAY_NODISCARD;
void assay_tfrecord_close(assay_tfrecord *file);

uint64_t assay_tfrecord_count(const assay_tfrecord *file);
bool assay_tfrecord_is_compressed(const assay_tfrecord *file);

/* Record i, its CRC checked; borrowed until the next call. Errors: ARGUMENT (no such record),
 * FORMAT, MEMORY. */
assay_status assay_tfrecord_get(assay_tfrecord *file, uint64_t i, assay_span *out,
                                assay_error *err) ASSAY_NODISCARD;

/* Gives back what the record read last takes, where that is more than 4 MiB: for one of many
 * readers that may rest for a while. */
void assay_tfrecord_trim(assay_tfrecord *file);

#endif
