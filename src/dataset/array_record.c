/* ArrayRecord files: a Riegeli/records file with an index of its chunks (the footer, a chunk of
 * records itself), and in its last 64 KiB a chunk that says where the index is (the postscript). */
#include "dataset/array_record.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "dataset/proto_field.h"
#include "dataset/riegeli.h"
#include "dataset/simple_chunk.h"

#define MAX_DECODED_BYTES ((uint64_t)1 << 30)
#define VERIFY_MAX_BYTES  ((uint64_t)64 << 30) /* of all records, unpacked */
#define FILE_MIN_BYTES                                                                             \
  (2 * ASSAY_RIEGELI_BLOCK_BYTES) /* the signature's block, the postscript's                       \
                                   */
#define CHUNK_MIN_BYTES   (ASSAY_RIEGELI_CHUNK_HEADER_BYTES + 3) /* data of a chunk: 00 01 00 */
#define POSTSCRIPT_MAGIC  0x71930e704fdae05e
#define FORMAT_VERSION    1
#define NO_CHUNK          UINT64_MAX
#define TRIM_BYTES        ((size_t)4 << 20)
#define OPTIONS_MAX_BYTES 4096

typedef struct chunk_entry {
  uint64_t offset;        /* in the file */
  uint64_t first_record;  /* of the file's */
  uint64_t decoded_bytes; /* by the footer */
} chunk_entry;

struct assay_array_record {
  char *name;         /* for messages */
  assay_file_map map; /* empty when the bytes are the caller's */
  assay_span bytes;   /* the whole file */
  uint64_t max_decoded_bytes;
  uint64_t footer_offset;
  uint64_t n_records, n_chunks;
  chunk_entry *entries; /* [n_chunks + 1]; the last one holds footer_offset and n_records */
  char *writer_options;
  bool uneven_groups;
  uint64_t held_chunk; /* the one that is decoded, or NO_CHUNK */
  assay_simple_chunk records;
  assay_buf scratch; /* data of a chunk that block headers interrupt */
};

/* ---- chunks -------------------------------------------------------------------------------------
 */

static assay_status decode_records(assay_array_record *file, const assay_riegeli_chunk *chunk,
                                   assay_error *err) {
  assay_span data;
  ASSAY_TRY(assay_riegeli_need_simple(chunk, err));
  ASSAY_TRY(assay_riegeli_read_data(file->bytes, chunk, &file->scratch, &data, err));
  return assay_simple_chunk_decode(&file->records, data, chunk->n_records, chunk->decoded_bytes,
                                   file->max_decoded_bytes, err);
}

/* The chunk at offset, decoded into file->records. */
static assay_status read_chunk(assay_array_record *file, uint64_t offset, uint64_t limit,
                               assay_riegeli_chunk *out, assay_error *err) {
  file->held_chunk = NO_CHUNK;
  assay_status st = assay_riegeli_read_header(file->bytes, offset, limit, out, err);
  if (!st) st = decode_records(file, out, err);
  if (st) assay_error_in(err, "chunk at offset %" PRIu64, offset);
  return st;
}

/* ---- postscript ---------------------------------------------------------------------------------
 * message RiegeliPostscript { optional uint64 footer_offset = 1; optional uint64 magic = 2; } */

static assay_status parse_postscript(assay_span record, uint64_t *out_offset, assay_error *err) {
  assay_proto p = assay_proto_of(record);
  uint64_t offset = 0, magic = 0; /* neither is right as 0 */
  while (p.at < p.end) {
    assay_proto_field field;
    ASSAY_TRY(assay_proto_next(&p, &field, err));
    if (field.number > 2) continue;
    ASSAY_TRY(assay_proto_need(&field, ASSAY_WIRE_VARINT, "a number of the postscript", err));
    *(field.number == 1 ? &offset : &magic) = field.value;
  }
  if (magic != POSTSCRIPT_MAGIC)
    return assay_fail(err, ASSAY_E_FORMAT, "magic number %016" PRIx64 ", expected %016" PRIx64,
                      magic, (uint64_t)POSTSCRIPT_MAGIC);
  *out_offset = offset;
  return ASSAY_OK;
}

/* The record is there several times; all must be the same. */
static assay_status check_copies(const assay_simple_chunk *records, assay_error *err) {
  if (records->n_records == 0) return assay_fail(err, ASSAY_E_FORMAT, "no record");
  assay_span first = assay_simple_chunk_at(records, 0);
  for (size_t i = 1; i < records->n_records; i++) {
    assay_span copy = assay_simple_chunk_at(records, i);
    if (copy.size_bytes != first.size_bytes || memcmp(copy.data, first.data, first.size_bytes) != 0)
      return assay_fail(err, ASSAY_E_FORMAT, "its copies 0 and %zu differ", i);
  }
  return ASSAY_OK;
}

static assay_status read_postscript(assay_array_record *file, assay_error *err) {
  uint64_t begin = file->bytes.size_bytes - ASSAY_RIEGELI_BLOCK_BYTES, offset = 0;
  assay_riegeli_chunk chunk;
  ASSAY_TRY(read_chunk(file, begin, file->bytes.size_bytes, &chunk, err));
  ASSAY_TRY(check_copies(&file->records, err));
  ASSAY_TRY(parse_postscript(assay_simple_chunk_at(&file->records, 0), &offset, err));
  if (offset < ASSAY_RIEGELI_SIGNATURE_BYTES || offset >= begin || !assay_riegeli_may_begin(offset))
    return assay_fail(err, ASSAY_E_FORMAT,
                      "the footer would begin at offset %" PRIu64
                      ", where none can (expected %d to %" PRIu64 ")",
                      offset, (int)ASSAY_RIEGELI_SIGNATURE_BYTES, begin - 1);
  file->footer_offset = offset;
  return ASSAY_OK;
}

/* ---- footer -------------------------------------------------------------------------------------
 * Record 0: message RiegeliFooterMetadata { optional ArrayRecordMetadata metadata = 1; }
 *   message ArrayRecordMetadata { optional uint32 version = 1; optional uint64 num_chunks = 2;
 *                                 optional uint64 num_records = 3; optional string options = 4; }
 * Others: message ArrayRecordFooter { optional uint64 chunk_offset = 1;
 *                                     optional uint64 decoded_data_size = 2;
 *                                     optional uint64 num_records = 3; } */

typedef struct metadata {
  bool is_there;
  uint64_t numbers[4]; /* by field number: version, chunks, records */
  assay_span options;
} metadata;

static assay_status parse_metadata(assay_proto p, metadata *out, assay_error *err) {
  while (p.at < p.end) {
    assay_proto_field field;
    ASSAY_TRY(assay_proto_next(&p, &field, err));
    if (field.number > 4) continue;
    if (field.number < 4) {
      ASSAY_TRY(assay_proto_need(&field, ASSAY_WIRE_VARINT, "a number of the metadata", err));
      out->numbers[field.number] = field.value;
    } else {
      ASSAY_TRY(assay_proto_need(&field, ASSAY_WIRE_BYTES, "the writer's options", err));
      out->options = assay_proto_rest(&field.nested);
    }
  }
  out->is_there = true;
  return ASSAY_OK;
}

static assay_status find_metadata(assay_span record, metadata *out, assay_error *err) {
  assay_proto p = assay_proto_of(record);
  while (p.at < p.end) {
    assay_proto_field field;
    ASSAY_TRY(assay_proto_next(&p, &field, err));
    if (field.number != 1) continue;
    ASSAY_TRY(assay_proto_need(&field, ASSAY_WIRE_BYTES, "array_record_metadata", err));
    ASSAY_TRY(parse_metadata(field.nested, out, err));
  }
  return ASSAY_OK;
}

static assay_status take_metadata(assay_array_record *file, const assay_riegeli_chunk *chunk,
                                  assay_error *err) {
  metadata m = {.options = {(const uint8_t *)"", 0}};
  if (file->records.n_records == 0) return assay_fail(err, ASSAY_E_FORMAT, "it has no record");
  ASSAY_TRY(find_metadata(assay_simple_chunk_at(&file->records, 0), &m, err));
  if (!m.is_there) return assay_fail(err, ASSAY_E_FORMAT, "its first record has no metadata");
  if (m.numbers[1] != FORMAT_VERSION)
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "version %" PRIu64 " of the format, assay reads %d",
                      m.numbers[1], FORMAT_VERSION);
  if (m.numbers[2] != chunk->n_records - 1)
    return assay_fail(err, ASSAY_E_FORMAT, "it counts %" PRIu64 " chunks and lists %" PRIu64,
                      m.numbers[2], chunk->n_records - 1);
  if (m.options.size_bytes > OPTIONS_MAX_BYTES)
    return assay_fail(err, ASSAY_E_FORMAT, "writer options of %zu bytes, expected %d at most",
                      m.options.size_bytes, OPTIONS_MAX_BYTES);
  file->n_chunks = m.numbers[2];
  file->n_records = m.numbers[3];
  file->writer_options = assay_strndup((const char *)m.options.data, m.options.size_bytes);
  if (file->writer_options == NULL) return assay_fail_memory(err, m.options.size_bytes);
  if (strstr(file->writer_options, "transpose:true") != NULL)
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "Riegeli-transposed (writer option transpose:true), which assay does not "
                      "read: rewrite the dataset with transpose:false");
  return ASSAY_OK;
}

typedef struct footer_entry {
  uint64_t numbers[4]; /* by field number: offset, decoded bytes, records */
} footer_entry;

static assay_status parse_entry(assay_span record, footer_entry *out, assay_error *err) {
  assay_proto p = assay_proto_of(record);
  while (p.at < p.end) {
    assay_proto_field field;
    ASSAY_TRY(assay_proto_next(&p, &field, err));
    if (field.number > 3) continue;
    ASSAY_TRY(assay_proto_need(&field, ASSAY_WIRE_VARINT, "a number of an entry", err));
    out->numbers[field.number] = field.value;
  }
  return ASSAY_OK;
}

/* Entry c of the footer: behind the one in front of it, before the footer. */
static assay_status take_entry(assay_array_record *file, uint64_t c, assay_error *err) {
  footer_entry e = {0};
  chunk_entry *entry = &file->entries[c];
  ASSAY_TRY(parse_entry(assay_simple_chunk_at(&file->records, (size_t)c + 1), &e, err));
  uint64_t offset = e.numbers[1], n_records = e.numbers[3];
  uint64_t lowest =
      c == 0 ? ASSAY_RIEGELI_SIGNATURE_BYTES : file->entries[c - 1].offset + CHUNK_MIN_BYTES;
  if (offset < lowest || offset >= file->footer_offset || !assay_riegeli_may_begin(offset))
    return assay_fail(err, ASSAY_E_FORMAT,
                      "offset %" PRIu64 ", expected a place for a chunk from %" PRIu64
                      " to below %" PRIu64,
                      offset, lowest, file->footer_offset);
  uint64_t left = file->n_records - entry->first_record;
  if (n_records == 0 || n_records > left || n_records > file->footer_offset - offset)
    return assay_fail(err, ASSAY_E_FORMAT, "%" PRIu64 " records, where 1 to %" PRIu64 " can be",
                      n_records,
                      left < file->footer_offset - offset ? left : file->footer_offset - offset);
  entry->offset = offset;
  entry->decoded_bytes = e.numbers[2];
  file->entries[c + 1].first_record = entry->first_record + n_records;
  uint64_t group = file->entries[1].first_record;
  bool is_last = c + 1 == file->n_chunks;
  if (is_last ? n_records > group : n_records != group) file->uneven_groups = true;
  return ASSAY_OK;
}

static assay_status take_entries(assay_array_record *file, assay_error *err) {
  uint64_t most = (file->footer_offset - ASSAY_RIEGELI_SIGNATURE_BYTES) / CHUNK_MIN_BYTES;
  if (file->n_chunks > most)
    return assay_fail(err, ASSAY_E_FORMAT, "it lists %" PRIu64 " chunks, %" PRIu64 " can be",
                      file->n_chunks, most);
  file->entries = assay_alloc_array((size_t)file->n_chunks + 1, sizeof *file->entries);
  if (file->entries == NULL)
    return assay_fail_memory(err, (size_t)file->n_chunks * sizeof *file->entries);
  for (uint64_t c = 0; c < file->n_chunks; c++) {
    assay_status st = take_entry(file, c, err);
    if (st) {
      assay_error_in(err, "entry %" PRIu64, c);
      return st;
    }
  }
  chunk_entry *end = &file->entries[file->n_chunks];
  if (end->first_record != file->n_records)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "its entries hold %" PRIu64 " records, it counts %" PRIu64, end->first_record,
                      file->n_records);
  end->offset = file->footer_offset;
  return ASSAY_OK;
}

static assay_status read_footer(assay_array_record *file, assay_error *err) {
  assay_riegeli_chunk chunk;
  uint64_t limit = file->bytes.size_bytes - ASSAY_RIEGELI_BLOCK_BYTES;
  ASSAY_TRY(read_chunk(file, file->footer_offset, limit, &chunk, err));
  assay_status st = take_metadata(file, &chunk, err);
  if (!st) st = take_entries(file, err);
  if (st) assay_error_in(err, "chunk at offset %" PRIu64, file->footer_offset);
  return st;
}

/* ---- opening ------------------------------------------------------------------------------------
 */

bool assay_array_record_is_magic(const uint8_t *bytes, size_t size_bytes) {
  size_t n = sizeof assay_riegeli_signature;
  return size_bytes >= n && memcmp(bytes, assay_riegeli_signature, n) == 0;
}

/* Says what it is instead where that can be seen. */
static assay_status check_kind(const assay_array_record *file, assay_error *err) {
  static const char lfs[] = "version https://git-lfs";
  assay_span b = file->bytes;
  if (b.size_bytes > sizeof lfs && memcmp(b.data, lfs, sizeof lfs - 1) == 0)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "a Git LFS pointer, not the file: fetch it with 'git lfs pull'");
  size_t n =
      b.size_bytes < sizeof assay_riegeli_signature ? b.size_bytes : sizeof assay_riegeli_signature;
  if (n > 0 && memcmp(b.data, assay_riegeli_signature, n) != 0)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "not an ArrayRecord file: its first %zu bytes are not the format's", n);
  if (b.size_bytes < FILE_MIN_BYTES || b.size_bytes % ASSAY_RIEGELI_BLOCK_BYTES != 0)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "truncated or not an ArrayRecord file: %zu bytes, expected a multiple of "
                      "%" PRIu64 " from %" PRIu64 " up",
                      b.size_bytes, ASSAY_RIEGELI_BLOCK_BYTES, FILE_MIN_BYTES);
  return ASSAY_OK;
}

/* Chunks in front of the first listed one hold no records. */
static assay_status check_front(const assay_array_record *file, assay_error *err) {
  uint64_t at = ASSAY_RIEGELI_SIGNATURE_BYTES, end = file->entries[0].offset;
  while (at < end) {
    assay_riegeli_chunk chunk;
    assay_status st = assay_riegeli_read_header(file->bytes, at, end, &chunk, err);
    if (!st) st = assay_riegeli_need_blank(&chunk, err);
    if (st) {
      assay_error_in(err, "chunk at offset %" PRIu64, at);
      return st;
    }
    at = chunk.end;
  }
  return ASSAY_OK;
}

static assay_status read_index(assay_array_record *file, assay_error *err) {
  ASSAY_TRY(check_kind(file, err));
  assay_status st = read_postscript(file, err);
  if (st) {
    assay_error_in(err, "postscript");
    return st;
  }
  st = read_footer(file, err);
  if (st) {
    assay_error_in(err, "footer");
    return st;
  }
  return check_front(file, err);
}

/* Takes the map over, in success and failure. */
static assay_status open_file(const char *name, assay_file_map map, assay_span bytes,
                              const assay_record_limits *limits, assay_array_record **out,
                              assay_error *err) {
  assay_array_record *file = assay_alloc(sizeof *file);
  if (file == NULL) {
    assay_file_map_close(&map);
    return assay_fail_memory(err, sizeof *file);
  }
  file->map = map;
  file->bytes = bytes;
  file->held_chunk = NO_CHUNK;
  bool has_limit = limits != NULL && limits->max_decoded_bytes > 0;
  file->max_decoded_bytes = has_limit ? limits->max_decoded_bytes : MAX_DECODED_BYTES;
  file->name = assay_strdup(name);
  assay_status st = file->name == NULL ? assay_fail_memory(err, strlen(name)) : ASSAY_OK;
  if (!st) st = read_index(file, err);
  if (st) {
    assay_error_in(err, "'%s'", name);
    assay_array_record_close(file);
    return st;
  }
  *out = file;
  return ASSAY_OK;
}

assay_status assay_array_record_open(const char *path, const assay_record_limits *limits,
                                     assay_array_record **out, assay_error *err) {
  assay_file_map map = {0};
  ASSAY_TRY(assay_file_map_open(path, &map, err));
  return open_file(path, map, (assay_span){map.data, map.size_bytes}, limits, out, err);
}

assay_status assay_array_record_open_bytes(const char *name, assay_span bytes,
                                           const assay_record_limits *limits,
                                           assay_array_record **out, assay_error *err) {
  return open_file(name, (assay_file_map){0}, bytes, limits, out, err);
}

void assay_array_record_close(assay_array_record *file) {
  if (file == NULL) return;
  assay_simple_chunk_reset(&file->records);
  assay_buf_reset(&file->scratch);
  assay_free(file->entries);
  assay_free(file->writer_options);
  assay_free(file->name);
  assay_file_map_close(&file->map);
  assay_free(file);
}

assay_array_record_info assay_array_record_describe(const assay_array_record *file) {
  return (assay_array_record_info){
      .n_records = file->n_records,
      .n_chunks = file->n_chunks,
      .group_size = file->n_chunks == 0 ? 0 : file->entries[1].first_record,
      .uneven_groups = file->uneven_groups,
      .writer_options = file->writer_options,
      .file_bytes = file->bytes.size_bytes,
  };
}

void assay_array_record_trim(assay_array_record *file) {
  const assay_simple_chunk *r = &file->records;
  size_t held = file->scratch.cap_bytes + r->sizes.cap_bytes + r->unpacked.cap_bytes +
                r->ends_cap * sizeof *r->ends;
  if (held <= TRIM_BYTES) return;
  file->held_chunk = NO_CHUNK;
  assay_simple_chunk_reset(&file->records);
  assay_buf_reset(&file->scratch);
}

assay_codec assay_array_record_last_codec(const assay_array_record *file) {
  return file->records.codec;
}

/* ---- records ------------------------------------------------------------------------------------
 */

/* The chunk of record i: the last whose first record is not behind it. */
static uint64_t find_chunk(const assay_array_record *file, uint64_t i) {
  uint64_t low = 0, high = file->n_chunks; /* first_record[low] <= i < first_record[high] */
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (file->entries[middle].first_record <= i)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static assay_status check_entry(const assay_array_record *file, uint64_t c,
                                const assay_riegeli_chunk *chunk, assay_error *err) {
  const chunk_entry *entry = &file->entries[c];
  uint64_t n_records = entry[1].first_record - entry->first_record;
  if (chunk->n_records == n_records && chunk->decoded_bytes == entry->decoded_bytes)
    return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT,
                    "chunk at offset %" PRIu64 ": %" PRIu64 " records of %" PRIu64
                    " bytes, by the footer %" PRIu64 " of %" PRIu64,
                    chunk->begin, chunk->n_records, chunk->decoded_bytes, n_records,
                    entry->decoded_bytes);
}

static assay_status hold_chunk(assay_array_record *file, uint64_t c, assay_error *err) {
  if (file->held_chunk == c) return ASSAY_OK;
  assay_riegeli_chunk chunk;
  const chunk_entry *entry = &file->entries[c];
  ASSAY_TRY(read_chunk(file, entry->offset, entry[1].offset, &chunk, err));
  ASSAY_TRY(check_entry(file, c, &chunk, err));
  file->held_chunk = c;
  return ASSAY_OK;
}

assay_status assay_array_record_get(assay_array_record *file, uint64_t i, assay_span *out,
                                    assay_error *err) {
  if (i >= file->n_records)
    return assay_fail(err, ASSAY_E_ARGUMENT, "'%s': no record %" PRIu64 ", it holds %" PRIu64,
                      file->name, i, file->n_records);
  uint64_t c = find_chunk(file, i);
  assay_status st = hold_chunk(file, c, err);
  if (st) {
    assay_error_in(err, "'%s': record %" PRIu64, file->name, i);
    return st;
  }
  *out = assay_simple_chunk_at(&file->records, (size_t)(i - file->entries[c].first_record));
  return ASSAY_OK;
}

/* ---- the whole file -----------------------------------------------------------------------------
 */

/* A chunk that is neither listed nor the footer nor the postscript. */
static assay_status check_blank(assay_array_record *file, const assay_riegeli_chunk *chunk,
                                assay_error *err) {
  assay_span data;
  ASSAY_TRY(assay_riegeli_need_blank(chunk, err));
  return assay_riegeli_read_data(file->bytes, chunk, &file->scratch, &data, err);
}

/* Where the chunk at `at` must have ended: at the next listed chunk, entry c, the footer, the
 * postscript or the end. */
static uint64_t next_landmark(const assay_array_record *file, uint64_t at, uint64_t c) {
  uint64_t postscript = file->bytes.size_bytes - ASSAY_RIEGELI_BLOCK_BYTES;
  if (c < file->n_chunks && at == file->entries[c].offset) c++;
  if (at < file->entries[c].offset) return file->entries[c].offset;
  return at < postscript ? postscript : file->bytes.size_bytes;
}

/* The chunk at `at`, the next listed one being entry *c. */
static assay_status verify_chunk(assay_array_record *file, uint64_t at, uint64_t *c,
                                 assay_riegeli_chunk *chunk, assay_error *err) {
  uint64_t postscript = file->bytes.size_bytes - ASSAY_RIEGELI_BLOCK_BYTES;
  uint64_t limit = next_landmark(file, at, *c);
  file->held_chunk = NO_CHUNK;
  ASSAY_TRY(assay_riegeli_read_header(file->bytes, at, limit, chunk, err));
  ASSAY_TRY(assay_riegeli_check_padding(file->bytes, chunk, err));
  if (at == file->footer_offset || at == postscript) return ASSAY_OK; /* read at opening */
  if (*c == file->n_chunks || at < file->entries[*c].offset) return check_blank(file, chunk, err);
  ASSAY_TRY(decode_records(file, chunk, err));
  ASSAY_TRY(check_entry(file, *c, chunk, err));
  ++*c;
  return ASSAY_OK;
}

/* A kilobyte may unpack to a gigabyte, as often as the file has kilobytes. */
static assay_status check_total(const assay_array_record *file, assay_error *err) {
  uint64_t total = 0;
  for (uint64_t c = 0; c < file->n_chunks; c++) {
    const uint64_t n_bytes = file->entries[c].decoded_bytes;
    if (n_bytes > VERIFY_MAX_BYTES - total)
      return assay_fail(err, ASSAY_E_LIMIT,
                        "'%s': its records unpack to more than %" PRIu64
                        " bytes, which is as many as assay reads in one go",
                        file->name, VERIFY_MAX_BYTES);
    total += n_bytes;
  }
  return ASSAY_OK;
}

assay_status assay_array_record_verify(assay_array_record *file, assay_error *err) {
  uint64_t at = 0, c = 0;
  assay_status st = check_total(file, err);
  while (at < file->bytes.size_bytes && !st) {
    assay_riegeli_chunk chunk;
    st = verify_chunk(file, at, &c, &chunk, err);
    if (st)
      assay_error_in(err, "'%s': chunk at offset %" PRIu64, file->name, at);
    else
      at = chunk.end;
  }
  return st;
}
