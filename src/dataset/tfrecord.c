/* TFRecord files. A record is
 *   0  8  length, little-endian
 *   8  4  masked CRC-32C of those 8 bytes
 *  12  n  the record
 *   …  4  masked CRC-32C of the record */
#include "dataset/tfrecord.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "dataset/crc32c.h"
#include "dataset/inflate.h"

#define HEAD_BYTES         12
#define TAIL_BYTES         4
#define MAX_RECORDS        ((size_t)1 << 24)
#define MAX_DECODED_BYTES  ((uint64_t)1 << 30)
#define MAX_UNPACKED_BYTES ((uint64_t)4 << 30)
#define TRIM_BYTES         ((size_t)4 << 20)

struct assay_tfrecord {
  char *name;         /* for messages */
  assay_file_map map; /* empty when the bytes are the caller's */
  assay_span bytes;   /* the whole file */
  assay_record_limits limits;
  bool is_packed;
  assay_inflate_kind packing;
  assay_inflate *inflate; /* of a packed file; NULL: begin anew */
  uint64_t at;            /* where reading stands, in the unpacked data */
  uint64_t *offsets;      /* [n] of the records, in the unpacked data */
  size_t n, cap;
  assay_buf held; /* what was unpacked last */
  assay_crc32c crc;
};

bool assay_tfrecord_is_magic(const uint8_t *bytes, size_t size_bytes) {
  assay_crc32c crc;
  if (size_bytes < HEAD_BYTES) return false;
  assay_crc32c_init(&crc);
  return assay_crc32c_mask(assay_crc32c_of(&crc, bytes, 8)) == assay_span_u32(bytes + 8);
}

/* ---- the bytes, plain or unpacked ---------------------------------------------------------------
 */

static void stop_unpacking(assay_tfrecord *file) {
  assay_inflate_close(file->inflate);
  file->inflate = NULL;
}

static assay_status rewind_to_start(assay_tfrecord *file, assay_error *err) {
  file->at = 0;
  if (!file->is_packed) return ASSAY_OK;
  stop_unpacking(file);
  return assay_inflate_open(file->bytes, file->packing, &file->inflate, err);
}

/* The next n_bytes; fewer only at the end. A view on the map or on held. */
static assay_status take(assay_tfrecord *file, size_t n_bytes, assay_span *out, assay_error *err) {
  if (!file->is_packed) {
    size_t left = file->bytes.size_bytes - (size_t)file->at;
    *out = (assay_span){file->bytes.data + file->at, n_bytes < left ? n_bytes : left};
  } else {
    uint8_t *room;
    file->held.size_bytes = 0;
    ASSAY_TRY(assay_buf_reserve(&file->held, n_bytes, &room, err));
    size_t got;
    ASSAY_TRY(assay_inflate_read(file->inflate, room, n_bytes, &got, err));
    *out = (assay_span){room, got};
  }
  file->at += out->size_bytes;
  return ASSAY_OK;
}

/* Passes over n_bytes; how many there were is in *out_n. */
static assay_status skip(assay_tfrecord *file, uint64_t n_bytes, uint64_t *out_n,
                         assay_error *err) {
  uint64_t n = 0;
  const uint64_t piece_bytes = file->is_packed ? 1 << 16 : UINT64_MAX;
  while (n < n_bytes) {
    uint64_t wanted = n_bytes - n < piece_bytes ? n_bytes - n : piece_bytes;
    assay_span piece;
    ASSAY_TRY(take(file, (size_t)wanted, &piece, err));
    n += piece.size_bytes;
    if (piece.size_bytes < wanted) break;
  }
  *out_n = n;
  return ASSAY_OK;
}

/* ---- finding the records ------------------------------------------------------------------------
 */

static assay_status fail_cut(const char *what, uint64_t n_bytes, uint64_t n_found,
                             assay_error *err) {
  return assay_fail(err, ASSAY_E_FORMAT,
                    "truncated: %s takes %" PRIu64 " bytes, the file ends after %" PRIu64, what,
                    n_bytes, n_found);
}

static assay_status check_crc(const assay_tfrecord *file, const char *what, assay_span bytes,
                              const uint8_t *stored, assay_error *err) {
  uint32_t crc = assay_crc32c_mask(assay_crc32c_of(&file->crc, bytes.data, bytes.size_bytes));
  uint32_t found = assay_span_u32(stored);
  if (crc == found) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT,
                    "corrupt: the CRC-32C of %s is %08" PRIx32 ", computed %08" PRIx32, what, found,
                    crc);
}

/* The record's length; *out_more is false at the end of the data. */
static assay_status take_length(assay_tfrecord *file, bool *out_more, uint64_t *out_bytes,
                                assay_error *err) {
  assay_span head;
  ASSAY_TRY(take(file, HEAD_BYTES, &head, err));
  *out_more = head.size_bytes > 0;
  if (head.size_bytes == 0) return ASSAY_OK;
  if (head.size_bytes < HEAD_BYTES) return fail_cut("its length", HEAD_BYTES, head.size_bytes, err);
  assay_span length = {head.data, 8};
  ASSAY_TRY(check_crc(file, "its length", length, head.data + 8, err));
  *out_bytes = assay_span_u64(head.data);
  if (*out_bytes > file->limits.max_decoded_bytes)
    return assay_fail(err, ASSAY_E_LIMIT, "it takes %" PRIu64 " bytes, the limit is %" PRIu64,
                      *out_bytes, file->limits.max_decoded_bytes);
  return ASSAY_OK;
}

static assay_status note_offset(assay_tfrecord *file, uint64_t offset, assay_error *err) {
  if (file->n == MAX_RECORDS)
    return assay_fail(err, ASSAY_E_LIMIT, "more than %zu records in a file", MAX_RECORDS);
  uint64_t *offsets = assay_grown(file->offsets, &file->cap, file->n, sizeof *offsets, err);
  if (offsets == NULL) return ASSAY_E_MEMORY;
  file->offsets = offsets;
  file->offsets[file->n++] = offset;
  return ASSAY_OK;
}

static assay_status find_record(assay_tfrecord *file, bool *out_more, assay_error *err) {
  uint64_t offset = file->at, n_bytes = 0, n_found;
  ASSAY_TRY(take_length(file, out_more, &n_bytes, err));
  if (!*out_more) return ASSAY_OK;
  ASSAY_TRY(skip(file, n_bytes + TAIL_BYTES, &n_found, err));
  if (n_found < n_bytes + TAIL_BYTES)
    return fail_cut("it with its CRC", n_bytes + TAIL_BYTES, n_found, err);
  if (file->is_packed && file->at > file->limits.max_unpacked_bytes)
    return assay_fail(err, ASSAY_E_LIMIT, "the file unpacks to more than %" PRIu64 " bytes",
                      file->limits.max_unpacked_bytes);
  return note_offset(file, offset, err);
}

/* In front of what was wrong: the record, and where it begins. */
static void say_where(const assay_tfrecord *file, uint64_t i, uint64_t offset, assay_error *err) {
  assay_error_in(err, "'%s': record %" PRIu64 " at byte %" PRIu64 "%s", file->name, i, offset,
                 file->is_packed ? " of the unpacked data" : "");
}

static assay_status find_records(assay_tfrecord *file, assay_error *err) {
  bool more = true;
  ASSAY_TRY(rewind_to_start(file, err));
  while (more) {
    uint64_t offset = file->at;
    assay_status st = find_record(file, &more, err);
    if (st) {
      say_where(file, file->n, offset, err);
      return st;
    }
  }
  return ASSAY_OK;
}

/* ---- opening ------------------------------------------------------------------------------------
 */

/* Nothing but the bytes says whether they are compressed; no plain file begins like a compressed
 * one, for the CRC of its first length would have to be right by chance. */
static void recognise_packing(assay_tfrecord *file) {
  assay_span b = file->bytes;
  assay_error ignored = {0};
  if (b.size_bytes < 2) return;
  if (b.size_bytes >= HEAD_BYTES &&
      check_crc(file, "", (assay_span){b.data, 8}, b.data + 8, &ignored) == ASSAY_OK)
    return;
  bool is_gzip = b.data[0] == 0x1f && b.data[1] == 0x8b;
  /* Deflate with a window of 32 KiB, and a check sum over the two bytes: RFC 1950, 2.2. */
  bool is_zlib = b.data[0] == 0x78 && ((unsigned)b.data[0] << 8 | b.data[1]) % 31 == 0;
  file->is_packed = is_gzip || is_zlib;
  file->packing = is_gzip ? ASSAY_INFLATE_GZIP : ASSAY_INFLATE_ZLIB;
}

static assay_record_limits fill_limits(const assay_record_limits *limits) {
  assay_record_limits filled = limits != NULL ? *limits : (assay_record_limits){0};
  if (filled.max_decoded_bytes == 0) filled.max_decoded_bytes = MAX_DECODED_BYTES;
  if (filled.max_unpacked_bytes == 0) filled.max_unpacked_bytes = MAX_UNPACKED_BYTES;
  return filled;
}

/* Takes the map over, in success and failure. */
static assay_status open_file(const char *name, assay_file_map map, assay_span bytes,
                              const assay_record_limits *limits, assay_tfrecord **out,
                              assay_error *err) {
  assay_tfrecord *file = assay_alloc(sizeof *file);
  if (file == NULL) {
    assay_file_map_close(&map);
    return assay_fail_memory(err, sizeof *file);
  }
  file->map = map;
  file->bytes = bytes.size_bytes > 0 ? bytes : (assay_span){(const uint8_t *)"", 0};
  file->limits = fill_limits(limits);
  assay_crc32c_init(&file->crc);
  recognise_packing(file);
  file->name = assay_strdup(name);
  assay_status st =
      file->name == NULL ? assay_fail_memory(err, strlen(name)) : find_records(file, err);
  if (st) {
    assay_tfrecord_close(file);
    return st;
  }
  *out = file;
  return ASSAY_OK;
}

assay_status assay_tfrecord_open(const char *path, const assay_record_limits *limits,
                                 assay_tfrecord **out, assay_error *err) {
  assay_file_map map = {0};
  ASSAY_TRY(assay_file_map_open(path, &map, err));
  return open_file(path, map, (assay_span){map.data, map.size_bytes}, limits, out, err);
}

assay_status assay_tfrecord_open_bytes(const char *name, assay_span bytes,
                                       const assay_record_limits *limits, assay_tfrecord **out,
                                       assay_error *err) {
  return open_file(name, (assay_file_map){0}, bytes, limits, out, err);
}

void assay_tfrecord_close(assay_tfrecord *file) {
  if (file == NULL) return;
  assay_inflate_close(file->inflate);
  assay_buf_reset(&file->held);
  assay_free(file->offsets);
  assay_free(file->name);
  assay_file_map_close(&file->map);
  assay_free(file);
}

uint64_t assay_tfrecord_count(const assay_tfrecord *file) {
  return file->n;
}

bool assay_tfrecord_is_compressed(const assay_tfrecord *file) {
  return file->is_packed;
}

/* ---- records ------------------------------------------------------------------------------------
 */

static assay_status go_to(assay_tfrecord *file, uint64_t offset, assay_error *err) {
  uint64_t n;
  if (!file->is_packed) {
    file->at = offset;
    return ASSAY_OK;
  }
  if (file->inflate == NULL || offset < file->at) ASSAY_TRY(rewind_to_start(file, err));
  return skip(file, offset - file->at, &n, err);
}

static assay_status read_record(assay_tfrecord *file, uint64_t offset, assay_span *out,
                                assay_error *err) {
  bool more = true;
  uint64_t n_bytes = 0;
  assay_span bytes;
  ASSAY_TRY(go_to(file, offset, err));
  ASSAY_TRY(take_length(file, &more, &n_bytes, err));
  ASSAY_TRY(take(file, (size_t)n_bytes + TAIL_BYTES, &bytes, err));
  if (!more || bytes.size_bytes < n_bytes + TAIL_BYTES)
    return assay_fail(err, ASSAY_E_IO, "the file changed while it was read");
  assay_span record = {bytes.data, (size_t)n_bytes};
  ASSAY_TRY(check_crc(file, "the record", record, bytes.data + n_bytes, err));
  *out = record;
  return ASSAY_OK;
}

assay_status assay_tfrecord_get(assay_tfrecord *file, uint64_t i, assay_span *out,
                                assay_error *err) {
  if (i >= file->n)
    return assay_fail(err, ASSAY_E_ARGUMENT, "'%s': no record %" PRIu64 ", it holds %zu",
                      file->name, i, file->n);
  assay_status st = read_record(file, file->offsets[i], out, err);
  if (st) {
    stop_unpacking(file); /* where it stands is not known: the next call begins anew */
    say_where(file, i, file->offsets[i], err);
  }
  return st;
}

void assay_tfrecord_trim(assay_tfrecord *file) {
  if (file->held.cap_bytes > TRIM_BYTES) assay_buf_reset(&file->held);
}
