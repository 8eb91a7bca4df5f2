/* Zip archives, by libzip, read under the rules of npz.md section 3 and written stored, with fixed
 * dates, so that equal contents give equal bytes. */
#ifndef ASSAY_BASE_ZIP_H
#define ASSAY_BASE_ZIP_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

typedef struct assay_zip assay_zip; /* an archive open for reading */

typedef struct assay_zip_entry {
  const char *name;      /* borrowed from the archive */
  uint64_t size_bytes;   /* uncompressed */
  uint64_t packed_bytes; /* compressed */
  uint64_t data_offset;  /* of the entry's packed bytes in the file */
  uint32_t crc32;
  int method; /* 0 stored, 8 deflate */
} assay_zip_entry;

/* Checks the whole directory before it returns: signatures, counts, overlaps, names, methods, sizes
 * and ratios. Errors: IO, FORMAT (what is wrong with which entry), UNSUPPORTED (encryption, another
 * method, several disks), LIMIT, MEMORY. */
assay_status assay_zip_open(const char *path, assay_zip **out, assay_error *err) ASSAY_NODISCARD;
void assay_zip_close(assay_zip *zip);

size_t assay_zip_count(const assay_zip *zip);
const assay_zip_entry *assay_zip_at(const assay_zip *zip, size_t i);
const assay_zip_entry *assay_zip_find(const assay_zip *zip, const char *name); /* or NULL */

/* The first size_bytes bytes of entry i, decompressed into out (a prefix: no CRC check), for
 * looking at a header before deciding. Fewer come back when the entry is shorter. */
assay_status assay_zip_peek(assay_zip *zip, size_t i, size_t size_bytes, assay_buf *out,
                            assay_error *err) ASSAY_NODISCARD;

/* The whole entry i into out, which has room for exactly its size_bytes; CRC checked. */
assay_status assay_zip_read(assay_zip *zip, size_t i, void *out, assay_error *err) ASSAY_NODISCARD;

/* The same, with the first head_bytes (at most the entry's size) going to head and the rest to out.
 */
assay_status assay_zip_read_split(assay_zip *zip, size_t i, void *head, size_t head_bytes,
                                  void *out, assay_error *err) ASSAY_NODISCARD;

/* Writing: entries are streamed in the order they are added; commit renames into place. */
typedef struct assay_zip_writer assay_zip_writer;
assay_status assay_zip_writer_open(const char *path, assay_zip_writer **out,
                                   assay_error *err) ASSAY_NODISCARD;
/* The bytes (head then body; either may be empty) must live until commit. */
assay_status assay_zip_writer_add(assay_zip_writer *writer, const char *name, const void *head,
                                  size_t head_bytes, const void *body, size_t body_bytes,
                                  assay_error *err) ASSAY_NODISCARD;
assay_status assay_zip_writer_commit(assay_zip_writer *writer, assay_error *err) ASSAY_NODISCARD;
void assay_zip_writer_close(assay_zip_writer *writer);

#endif
