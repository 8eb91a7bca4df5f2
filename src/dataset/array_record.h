/* ArrayRecord files: records by index, without reading what lies in front of them. Simple chunks,
 * uncompressed or compressed with brotli, zstd or snappy, of one record or of groups; transposed
 * chunks are refused by name. Every hash of what is read is checked.
 *
 * The file is mapped. Beside the map a reader holds 24 bytes a chunk, and the chunk it read last:
 * as it lies in the file where block headers interrupt it, and unpacked (at most max_decoded_bytes
 * and what record_codec.h says).
 *
 * Source: github google/array_record (cpp/layout.proto, array_record_reader.cc) over
 * github google/riegeli. */
#ifndef ASSAY_DATASET_ARRAY_RECORD_H
#define ASSAY_DATASET_ARRAY_RECORD_H

#include "base/status.h"
#include "dataset/record_codec.h"
#include "dataset/span.h"

typedef struct assay_array_record assay_array_record;

typedef struct assay_array_record_info {
  uint64_t n_records;
  uint64_t n_chunks;
  uint64_t group_size;        /* records of a chunk, by the first; 0 in an empty file */
  bool uneven_groups;         /* some chunk before the last has another number: odd, but read */
  const char *writer_options; /* as the writer noted them, "" for none; borrowed */
  uint64_t file_bytes;
} assay_array_record_info;

/* Do a file's first bytes (64 are enough) say that it is a Riegeli/records file? */
bool assay_array_record_is_magic(const uint8_t *bytes, size_t size_bytes);

/* Reads signature, postscript and footer, and holds them against one another. limits may be NULL.
 * Errors: IO, FORMAT (which chunk, at which offset), UNSUPPORTED (transposed chunks, another
 * version), LIMIT, MEMORY. */
assay_status assay_array_record_open(const char *path, const assay_record_limits *limits,
                                     assay_array_record **out, assay_error *err) ASSAY_NODISCARD;

/* The same of bytes that stay the caller's and must outlive the reader; name stands for the path in
 * messages. */
assay_status assay_array_record_open_bytes(const char *name, assay_span bytes,
                                           const assay_record_limits *limits,
                                           assay_array_record **out,
                                           assay_error *err) ASSAY_NODISCARD;
void assay_array_record_close(assay_array_record *file);

assay_array_record_info assay_array_record_describe(const assay_array_record *file);

/* Record i, borrowed until the next call. The chunk's headers, hash and sizes are checked, and that
 * it is what the footer says. Errors: ARGUMENT (no such record), FORMAT, UNSUPPORTED, LIMIT,
 * MEMORY. */
assay_status assay_array_record_get(assay_array_record *file, uint64_t i, assay_span *out,
                                    assay_error *err) ASSAY_NODISCARD;

/* Gives back what the chunk read last takes, where that is more than 4 MiB: for one of many readers
 * that may rest for a while. */
void assay_array_record_trim(assay_array_record *file);

/* How the chunk of the record read last was compressed. */
assay_codec assay_array_record_last_codec(const assay_array_record *file);

/* Reads the file from its first byte to its last, padding too: any changed byte is found. Errors:
 * as of get. */
assay_status assay_array_record_verify(assay_array_record *file, assay_error *err) ASSAY_NODISCARD;

#endif
