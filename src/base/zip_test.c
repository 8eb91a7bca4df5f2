/* Tests of zip.c: archives made here byte by byte, right ones and one wrong in each field. */
#include "base/zip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/test_folder.h"

/* ---- making archives ----------------------------------------------------------------------------
 */

/* One entry, stored: "name" with `text`. Fields that are not 0 replace what would be right. */
typedef struct forged {
  const char *name, *text;
  const char *local_name;
  size_t name_bytes; /* for names with a zero byte in them */
  uint16_t flags, local_flags, method, local_method, disk;
  uint32_t crc, local_crc, size, local_size, packed, local_packed, local_offset;
  bool wide;                  /* sizes in zip64 fields, 0xffffffff in the plain ones */
  bool wide_empty;            /* 0xffffffff without the zip64 field */
  const uint8_t *packed_data; /* deflated bytes in place of text, `packed` of them */
} forged;

static void put16(assay_buf *out, uint32_t value) {
  uint8_t bytes[2] = {(uint8_t)value, (uint8_t)(value >> 8)};
  assert_int_equal(assay_buf_append(out, bytes, 2, NULL), ASSAY_OK);
}

static void put32(assay_buf *out, uint32_t value) {
  put16(out, value & 0xffff);
  put16(out, value >> 16);
}

static void put64(assay_buf *out, uint64_t value) {
  put32(out, (uint32_t)value);
  put32(out, (uint32_t)(value >> 32));
}

static void put_bytes(assay_buf *out, const void *bytes, size_t n) {
  assert_int_equal(assay_buf_append(out, bytes, n, NULL), ASSAY_OK);
}

/* CRC-32 of zip, bit by bit. */
static uint32_t crc_of(const void *bytes, size_t n) {
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < n; i++) {
    crc ^= ((const uint8_t *)bytes)[i];
    for (int k = 0; k < 8; k++) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

static uint32_t or_else(uint32_t chosen, uint32_t right) {
  return chosen != 0 ? chosen : right;
}

static size_t name_bytes_of(const forged *e) {
  return e->name_bytes ? e->name_bytes : strlen(e->name);
}

static void put_local(assay_buf *out, const forged *e) {
  size_t n = e->text ? strlen(e->text) : 0;
  const char *name = e->local_name ? e->local_name : e->name;
  size_t n_name = e->local_name ? strlen(name) : name_bytes_of(e);
  uint32_t packed = or_else(e->packed, (uint32_t)n), size = or_else(e->size, (uint32_t)n);
  put32(out, 0x04034b50);
  put16(out, 20);
  put16(out, e->local_flags ? e->local_flags : e->flags);
  put16(out, or_else(e->local_method, e->method));
  put32(out, 0x00210000);
  put32(out, or_else(e->local_crc, or_else(e->crc, crc_of(e->text, n))));
  put32(out, e->wide ? UINT32_MAX : or_else(e->local_packed, packed));
  put32(out, e->wide ? UINT32_MAX : or_else(e->local_size, size));
  put16(out, (uint32_t)n_name);
  put16(out, e->wide ? 20 : 0);
  put_bytes(out, name, n_name);
  if (e->wide) {
    put16(out, 1);
    put16(out, 16);
    put64(out, size);
    put64(out, packed);
  }
  if (e->packed_data != NULL)
    put_bytes(out, e->packed_data, e->packed);
  else
    put_bytes(out, e->text ? e->text : "", n);
}

static void put_central(assay_buf *out, const forged *e, uint32_t offset) {
  size_t n = e->text ? strlen(e->text) : 0;
  uint32_t packed = or_else(e->packed, (uint32_t)n), size = or_else(e->size, (uint32_t)n);
  bool ones = e->wide || e->wide_empty;
  put32(out, 0x02014b50);
  put16(out, 0x0314);
  put16(out, 20);
  put16(out, e->flags);
  put16(out, e->method);
  put32(out, 0x00210000);
  put32(out, or_else(e->crc, crc_of(e->text, n)));
  put32(out, ones ? UINT32_MAX : packed);
  put32(out, ones ? UINT32_MAX : size);
  put16(out, (uint32_t)name_bytes_of(e));
  put16(out, e->wide ? 28 : 0);
  put16(out, 0);
  put16(out, e->disk);
  put16(out, 0);
  put32(out, 0);
  put32(out, e->wide ? UINT32_MAX : or_else(e->local_offset, offset));
  put_bytes(out, e->name, name_bytes_of(e));
  if (e->wide) {
    put16(out, 1);
    put16(out, 24);
    put64(out, size);
    put64(out, packed);
    put64(out, or_else(e->local_offset, offset));
  }
}

/* How the end records differ from right ones. */
typedef struct forged_end {
  const char *comment;                                /* its length is right */
  int64_t add_count, add_total, add_size, add_offset; /* to the fields of the plain record */
  uint16_t disk;
  bool zip64;           /* with zip64 records, the plain fields all ones */
  bool zip64_disagrees; /* the plain count is another */
  uint64_t zip64_shift; /* added to the locator's offset */
  const char *gap;      /* bytes between directory and end records */
  const char *trailing; /* bytes behind the end */
} forged_end;

static void put_end(assay_buf *out, size_t n, uint64_t offset, uint64_t size,
                    const forged_end *end) {
  if (end->gap) put_bytes(out, end->gap, strlen(end->gap));
  if (end->zip64) {
    uint64_t at = out->size_bytes;
    put32(out, 0x06064b50);
    put64(out, 44);
    put16(out, 45);
    put16(out, 45);
    put32(out, 0);
    put32(out, 0);
    put64(out, n);
    put64(out, n);
    put64(out, size);
    put64(out, offset);
    put32(out, 0x07064b50);
    put32(out, 0);
    put64(out, at + end->zip64_shift);
    put32(out, 1);
  }
  put32(out, 0x06054b50);
  put16(out, end->disk);
  put16(out, 0);
  uint32_t count = end->zip64 ? (end->zip64_disagrees ? 1 : 0xffff) : (uint32_t)n;
  put16(out, (uint32_t)(count + end->add_count));
  put16(out, (uint32_t)(count + end->add_total));
  put32(out, end->zip64 ? UINT32_MAX : (uint32_t)((int64_t)size + end->add_size));
  put32(out, end->zip64 ? UINT32_MAX : (uint32_t)((int64_t)offset + end->add_offset));
  put16(out, end->comment ? (uint32_t)strlen(end->comment) : 0);
  if (end->comment) put_bytes(out, end->comment, strlen(end->comment));
  if (end->trailing) put_bytes(out, end->trailing, strlen(end->trailing));
}

static assay_buf forge(const forged *entries, size_t n, const forged_end *end) {
  assay_buf out = {0}, central = {0};
  for (size_t i = 0; i < n; i++) {
    uint32_t offset = (uint32_t)out.size_bytes;
    put_local(&out, &entries[i]);
    put_central(&central, &entries[i], offset);
  }
  uint64_t offset = out.size_bytes;
  put_bytes(&out, central.data, central.size_bytes);
  put_end(&out, n, offset, central.size_bytes, end);
  assay_buf_reset(&central);
  return out;
}

/* ---- fixture ------------------------------------------------------------------------------------
 */

typedef struct fixture {
  test_folder folder;
  char path[1024];
} fixture;

static int open_fixture(void **state) {
  fixture *f = malloc(sizeof *f);
  test_folder_open(&f->folder);
  snprintf(f->path, sizeof f->path, "%s/a.zip", f->folder.path);
  *state = f;
  return 0;
}

static int close_fixture(void **state) {
  fixture *f = *state;
  test_folder_close(&f->folder);
  free(f);
  return 0;
}

static assay_status open_bytes(fixture *f, const void *bytes, size_t n, assay_zip **out,
                               assay_error *err) {
  FILE *file = fopen(f->path, "wb");
  assert_non_null(file);
  if (n > 0) assert_int_equal(fwrite(bytes, 1, n, file), n);
  assert_int_equal(fclose(file), 0);
  return assay_zip_open(f->path, out, err);
}

/* Opens and reads every entry; the first failure. */
static assay_status read_all(fixture *f, const void *bytes, size_t n, assay_error *err) {
  assay_zip *zip = NULL;
  assay_status st = open_bytes(f, bytes, n, &zip, err);
  for (size_t i = 0; !st && i < assay_zip_count(zip); i++) {
    size_t size = (size_t)assay_zip_at(zip, i)->size_bytes;
    if (size > 1000000) continue; /* only claimed */
    uint8_t *data = malloc(size + 1);
    st = assay_zip_read(zip, i, data, err);
    free(data);
  }
  assay_zip_close(zip);
  return st;
}

static void assert_refused(fixture *f, const forged *entries, size_t n, const forged_end *end,
                           assay_status status, const char *words) {
  assay_buf bytes = forge(entries, n, end);
  assay_error err = {0};
  assay_status st = read_all(f, bytes.data, bytes.size_bytes, &err);
  assay_buf_reset(&bytes);
  if (st != status || strstr(err.text, words) == NULL) {
    fail_msg("expected %s with '%s', found %s: %s", assay_status_name(status), words,
             assay_status_name(st), err.text);
  }
}

/* ---- reading ------------------------------------------------------------------------------------
 */

/* zlib's raw deflate of "aaaaaaaaaaaaaaaaaaaa", 20 bytes. */
static const uint8_t deflated[] = {0x4b, 0x4c, 0xc4, 0x04, 0x00};
#define DEFLATED_TEXT "aaaaaaaaaaaaaaaaaaaa"

static void a_right_archive_is_read(void **state) {
  fixture *f = *state;
  const forged entries[] = {
      {.name = "a.npy", .text = "first"},
      {.name = "folder/"},
      {.name = "caf\xc3\xa9/b", .text = "second", .flags = 1u << 11},
      {.name = "empty"},
      {.name = "w:0", .text = "zip64", .wide = true},
      {.name = "d", .method = 8, .size = 20, .packed = sizeof deflated, .packed_data = deflated},
      {.name = "described", .text = "later", .flags = 1u << 3, .local_crc = 1, .local_size = 1},
  };
  forged right[N_OF(entries)];
  memcpy(right, entries, sizeof entries);
  right[5].crc = crc_of(DEFLATED_TEXT, 20);
  static const char *const texts[] = {"first", "second", "", "zip64", DEFLATED_TEXT, "later"};
  static const forged_end ends[] = {{0}, {.comment = "a comment"}, {.zip64 = true}};
  for (size_t e = 0; e < N_OF(ends); e++) {
    assay_buf bytes = forge(right, N_OF(right), &ends[e]);
    assay_zip *zip = NULL;
    assay_error err = {0};
    if (open_bytes(f, bytes.data, bytes.size_bytes, &zip, &err)) fail_msg("%zu: %s", e, err.text);
    assert_int_equal(assay_zip_count(zip), N_OF(texts)); /* without the folder */
    for (size_t i = 0; i < N_OF(texts); i++) {
      const assay_zip_entry *entry = assay_zip_at(zip, i);
      char out[64] = {0}, head[2] = {0};
      assert_int_equal(entry->size_bytes, strlen(texts[i]));
      assert_int_equal(entry->crc32, crc_of(texts[i], strlen(texts[i])));
      assert_int_equal(assay_zip_read(zip, i, out, NULL), ASSAY_OK);
      assert_string_equal(out, texts[i]);
      assert_ptr_equal(assay_zip_find(zip, entry->name), entry);
      if (entry->method == 0) {
        assert_memory_equal(bytes.data + entry->data_offset, texts[i], strlen(texts[i]));
      }
      assay_buf front = {0};
      assert_int_equal(assay_zip_peek(zip, i, 3, &front, NULL), ASSAY_OK);
      assert_int_equal(strncmp(assay_buf_text(&front), texts[i], 3), 0);
      assert_true(front.size_bytes == 3 || front.size_bytes == strlen(texts[i]));
      assay_buf_reset(&front);
      if (entry->size_bytes < 2) continue;
      memset(out, 0, sizeof out);
      assert_int_equal(assay_zip_read_split(zip, i, head, 2, out, NULL), ASSAY_OK);
      assert_memory_equal(head, texts[i], 2);
      assert_string_equal(out, texts[i] + 2);
    }
    assert_null(assay_zip_find(zip, "nothing"));
    assert_null(assay_zip_find(zip, "folder/"));
    assert_null(assay_zip_at(zip, N_OF(texts)));
    assay_error read_err = {0};
    assert_int_equal(assay_zip_read(zip, 99, NULL, &read_err), ASSAY_E_ARGUMENT);
    assert_int_equal(assay_zip_read_split(zip, 0, NULL, 99, NULL, NULL), ASSAY_E_ARGUMENT);
    assay_zip_close(zip);
    assay_buf_reset(&bytes);
  }
}

static void an_archive_without_entries_is_read(void **state) {
  fixture *f = *state;
  assay_buf bytes = forge(NULL, 0, &(forged_end){0});
  assay_zip *zip = NULL;
  assert_int_equal(bytes.size_bytes, 22);
  assert_int_equal(open_bytes(f, bytes.data, bytes.size_bytes, &zip, NULL), ASSAY_OK);
  assert_int_equal(assay_zip_count(zip), 0);
  assert_null(assay_zip_find(zip, "x"));
  assay_zip_close(zip);
  assay_buf_reset(&bytes);
  assay_zip_close(NULL);
}

static void one_wrong_entry_field_is_refused(void **state) {
  static const struct {
    forged entry;
    assay_status status;
    const char *words;
  } rows[] = {
      {{.name = "a", .text = "x", .flags = 1}, ASSAY_E_UNSUPPORTED, "it is encrypted"},
      {{.name = "a", .text = "x", .flags = 1 << 6}, ASSAY_E_UNSUPPORTED, "it is encrypted"},
      {{.name = "a", .text = "x", .flags = 1 << 13}, ASSAY_E_UNSUPPORTED, "it is encrypted"},
      {{.name = "a", .text = "x", .local_flags = 1},
       ASSAY_E_FORMAT,
       "local header says that it is encrypted"},
      {{.name = "a", .text = "x", .flags = 1 << 5}, ASSAY_E_UNSUPPORTED, "it is a patch"},
      {{.name = "a", .text = "x", .method = 12}, ASSAY_E_UNSUPPORTED, "compression method 12"},
      {{.name = "a", .text = "x", .local_method = 8},
       ASSAY_E_FORMAT,
       "says method 8, the directory 0"},
      {{.name = "a", .text = "x", .disk = 1}, ASSAY_E_UNSUPPORTED, "it is on another disk"},
      {{.name = "a", .text = "x", .crc = 5}, ASSAY_E_FORMAT, "CRC error"},
      {{.name = "a", .text = "x", .local_crc = 5}, ASSAY_E_FORMAT, "local header says CRC 5"},
      {{.name = "a", .text = "xy", .size = 1},
       ASSAY_E_FORMAT,
       "stored, but 2 bytes packed and 1 unpacked"},
      {{.name = "a", .text = "xy", .local_size = 1},
       ASSAY_E_FORMAT,
       "says size 1, the directory 2"},
      {{.name = "a", .text = "xy", .local_packed = 1},
       ASSAY_E_FORMAT,
       "says packed size 1, the directory 2"},
      {{.name = "a", .text = "x", .packed = 100, .size = 100},
       ASSAY_E_FORMAT,
       "run into the central directory"},
      {{.name = "a", .text = "x", .local_offset = 4},
       ASSAY_E_FORMAT,
       "no local header at offset 4"},
      {{.name = "a", .text = "x", .local_offset = 5000},
       ASSAY_E_FORMAT,
       "no local header at offset 5000"},
      {{.name = "a", .text = "x", .wide_empty = true}, ASSAY_E_FORMAT, "zip64 sizes are missing"},
      {{.name = "a", .text = "x", .local_name = "b"},
       ASSAY_E_FORMAT,
       "its local header has the name 'b'"},
      {{.name = "a", .text = "x", .local_name = "ab"},
       ASSAY_E_FORMAT,
       "its local header has the name 'ab'"},
      {{.name = "a", .text = "x", .method = 8, .size = 1033 + 64},
       ASSAY_E_FORMAT,
       "cannot come out of 1"},
      {{.name = "a", .text = "x", .method = 8, .size = 1032 + 64},
       ASSAY_E_FORMAT,
       "could not unpack it"},
      {{.name = "a", .packed_data = deflated, .packed = 5, .method = 8, .size = 19, .crc = 1},
       ASSAY_E_FORMAT,
       "entry 'a'"},
      {{.name = "a", .packed_data = deflated, .packed = 5, .method = 8, .size = 21, .crc = 1},
       ASSAY_E_FORMAT,
       "entry 'a'"},
      {{.name = "a", .packed_data = deflated, .packed = 4, .method = 8, .size = 20, .crc = 1},
       ASSAY_E_FORMAT,
       "entry 'a'"},
      {{.name = ""}, ASSAY_E_FORMAT, "is empty"},
      {{.name = "../x.npy"}, ASSAY_E_FORMAT, "'../x.npy' has a '..' component"},
      {{.name = "a/../x"}, ASSAY_E_FORMAT, "has a '..' component"},
      {{.name = "a/.."}, ASSAY_E_FORMAT, "has a '..' component"},
      {{.name = "./x"}, ASSAY_E_FORMAT, "has a '.' component"},
      {{.name = "/x"}, ASSAY_E_FORMAT, "is absolute"},
      {{.name = "C:x"}, ASSAY_E_FORMAT, "has a drive letter"},
      {{.name = "C:/x"}, ASSAY_E_FORMAT, "has a drive letter"},
      {{.name = "C:"}, ASSAY_E_FORMAT, "has a drive letter"},
      {{.name = "a\\x"}, ASSAY_E_FORMAT, "contains a backslash"},
      {{.name = "a\0b", .name_bytes = 3}, ASSAY_E_FORMAT, "contains a zero byte"},
      {{.name = "caf\xc3\xa9"}, ASSAY_E_FORMAT, "without the UTF-8 flag"},
      {{.name = "caf\xe9", .flags = 1 << 11}, ASSAY_E_FORMAT, "is not UTF-8"},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    assert_refused(*state, &rows[i].entry, 1, &(forged_end){0}, rows[i].status, rows[i].words);
  }
}

static void a_long_name_is_refused(void **state) {
  char name[1026];
  memset(name, 'x', sizeof name);
  name[1025] = '\0';
  assert_refused(*state, &(forged){.name = name}, 1, &(forged_end){0}, ASSAY_E_FORMAT,
                 "is longer than 1024 bytes");
}

static void a_name_given_twice_is_refused(void **state) {
  const forged entries[] = {
      {.name = "a", .text = "1"}, {.name = "b", .text = "2"}, {.name = "a", .text = "3"}};
  assert_refused(*state, entries, 3, &(forged_end){0}, ASSAY_E_FORMAT,
                 "two entries have the name 'a'");
}

/* The second entry's header lies in the first one's data: the classic bomb. */
static void overlapping_entries_are_refused(void **state) {
  const forged entries[] = {{.name = "a", .text = "0123456789"}, {.name = "b", .text = "x"}};
  assay_buf bytes = forge(entries, 2, &(forged_end){0});
  /* Entry a claims 10 + 31 more bytes: its data then covers b's local header. */
  uint8_t *central = bytes.data + (31 + 10) + (31 + 1);
  assert_memory_equal(central, "PK\1\2", 4);
  central[20] = central[24] = 20;
  bytes.data[18] = bytes.data[22] = 20;
  assay_error err = {0};
  assay_status st = read_all(*state, bytes.data, bytes.size_bytes, &err);
  assert_int_equal(st, ASSAY_E_FORMAT);
  assert_non_null(strstr(err.text, "entries 'a' and 'b' overlap"));
  assay_buf_reset(&bytes);
  /* Two directory entries for the same data. */
  const forged same[] = {{.name = "a", .text = "1"}, {.name = "a", .text = "2", .flags = 1u << 11}};
  assert_refused(*state, same, 2, &(forged_end){0}, ASSAY_E_FORMAT, "two entries");
}

static void wrong_end_records_are_refused(void **state) {
  static const struct {
    forged_end end;
    assay_status status;
    const char *words;
  } rows[] = {
      {{.disk = 1}, ASSAY_E_UNSUPPORTED, "several disks"},
      {{.add_count = 1}, ASSAY_E_FORMAT, "counts 2 entries here and 1 in all"},
      {{.add_count = 1, .add_total = 1},
       ASSAY_E_FORMAT,
       "2 entries do not fit in a directory of 47"},
      {{.add_count = -1, .add_total = -1},
       ASSAY_E_FORMAT,
       "bytes are left in the central directory"},
      {{.add_count = 1000, .add_total = 1000}, ASSAY_E_FORMAT, "entries do not fit"},
      {{.add_size = -1}, ASSAY_E_FORMAT, "does not end at the end record"},
      {{.add_size = 1000}, ASSAY_E_FORMAT, "does not end at the end record"},
      {{.add_offset = 1}, ASSAY_E_FORMAT, "does not end at the end record"},
      {{.gap = "gap"}, ASSAY_E_FORMAT, "does not end at the end record"},
      {{.trailing = "x"}, ASSAY_E_FORMAT, "truncated, or with other bytes behind it"},
      {{.zip64 = true, .zip64_shift = 1}, ASSAY_E_FORMAT, "no zip64 end record"},
      {{.zip64 = true, .zip64_shift = UINT64_MAX - 10}, ASSAY_E_FORMAT, "no zip64 end record"},
      {{.zip64 = true, .zip64_disagrees = true, .add_count = 1, .add_total = 1},
       ASSAY_E_FORMAT,
       "contradicts"},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    assert_refused(*state, &(forged){.name = "a", .text = "x"}, 1, &rows[i].end, rows[i].status,
                   rows[i].words);
  }
}

static void what_is_no_archive_is_named(void **state) {
  static const struct {
    const char *bytes, *words;
  } rows[] = {{"", "the file is empty"},
              {"version https://git-lfs.github.com/spec/v1\n", "not a zip archive"},
              {"PK", "not a zip archive"},
              {"PK\3\4", "the end record of the zip archive is missing"}};
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_error err = {0};
    assert_int_equal(read_all(*state, rows[i].bytes, strlen(rows[i].bytes), &err), ASSAY_E_FORMAT);
    if (strstr(err.text, rows[i].words) == NULL) fail_msg("%s", err.text);
  }
}

/* A whole other archive in the comment: which of the two a reader sees depends on the reader. */
static void an_archive_in_the_comment_is_refused_or_ignored(void **state) {
  fixture *f = *state;
  assay_buf inner = forge(&(forged){.name = "b", .text = "inner"}, 1, &(forged_end){0});
  assay_buf outer = forge(&(forged){.name = "a", .text = "outer"}, 1, &(forged_end){0});
  outer.data[outer.size_bytes - 2] = (uint8_t)inner.size_bytes;
  put_bytes(&outer, inner.data, inner.size_bytes);
  assay_zip *zip = NULL;
  assay_error err = {0};
  assay_status st = open_bytes(f, outer.data, outer.size_bytes, &zip, &err);
  assert_int_equal(st, ASSAY_E_FORMAT);
  assay_zip_close(zip);
  assay_buf_reset(&inner);
  assay_buf_reset(&outer);
}

static assay_buf sample(void) {
  const forged entries[] = {{.name = "a", .text = "first"},
                            {.name = "b", .text = "second", .wide = true},
                            {.name = "d",
                             .method = 8,
                             .size = 20,
                             .packed = sizeof deflated,
                             .packed_data = deflated,
                             .crc = 0}};
  forged right[N_OF(entries)];
  memcpy(right, entries, sizeof entries);
  right[2].crc = crc_of(DEFLATED_TEXT, 20);
  return forge(right, N_OF(right), &(forged_end){.zip64 = true});
}

static void an_archive_cut_anywhere_is_refused(void **state) {
  assay_buf bytes = sample();
  assert_int_equal(read_all(*state, bytes.data, bytes.size_bytes, NULL), ASSAY_OK);
  for (size_t n = 0; n < bytes.size_bytes; n++) {
    assay_error err = {0};
    assay_status st = read_all(*state, bytes.data, n, &err);
    if (st != ASSAY_E_FORMAT) fail_msg("%zu bytes: %s: %s", n, assay_status_name(st), err.text);
  }
  assay_buf_reset(&bytes);
}

/* Every byte is either checked or means nothing to us (versions, times, attributes). */
static void any_changed_byte_is_refused_or_harmless(void **state) {
  assay_buf bytes = sample();
  for (size_t i = 0; i < bytes.size_bytes; i++) {
    for (unsigned flip = 1; flip < 256; flip = flip * 5 + 2) {
      bytes.data[i] ^= (uint8_t)flip;
      assay_error err = {0};
      assay_status st = read_all(*state, bytes.data, bytes.size_bytes, &err);
      bytes.data[i] ^= (uint8_t)flip;
      bool known = st == ASSAY_OK || st == ASSAY_E_FORMAT || st == ASSAY_E_UNSUPPORTED ||
                   st == ASSAY_E_LIMIT;
      if (!known) fail_msg("byte %zu: %s: %s", i, assay_status_name(st), err.text);
      assert_true((st == ASSAY_OK) == (err.status == ASSAY_OK));
    }
  }
  assay_buf_reset(&bytes);
}

static void opening_survives_running_out_of_memory(void **state) {
  assay_buf bytes = sample();
  fixture *f = *state;
  for (int n = 0; n < 100; n++) {
    assay_zip *zip = NULL;
    assay_error err = {0};
    FILE *file = fopen(f->path, "wb");
    assert_int_equal(fwrite(bytes.data, 1, bytes.size_bytes, file), bytes.size_bytes);
    fclose(file);
    assay_alloc_fail_after(n);
    assay_status st = assay_zip_open(f->path, &zip, &err);
    assay_alloc_fail_after(-1);
    assay_zip_close(zip);
    if (st == ASSAY_OK) {
      assert_true(n >= 5);
      break;
    }
    assert_int_equal(st, ASSAY_E_MEMORY);
    assert_null(zip);
  }
  assay_buf_reset(&bytes);
}

/* ---- writing ------------------------------------------------------------------------------------
 */

static void write_sample(const char *path) {
  assay_zip_writer *writer = NULL;
  assert_int_equal(assay_zip_writer_open(path, &writer, NULL), ASSAY_OK);
  assert_int_equal(assay_zip_writer_add(writer, "a.npy", "he", 2, "llo", 3, NULL), ASSAY_OK);
  assert_int_equal(assay_zip_writer_add(writer, "dir/caf\xc3\xa9", "head", 4, NULL, 0, NULL),
                   ASSAY_OK);
  assert_int_equal(assay_zip_writer_add(writer, "empty", NULL, 0, NULL, 0, NULL), ASSAY_OK);
  assert_int_equal(assay_zip_writer_commit(writer, NULL), ASSAY_OK);
  assay_zip_writer_close(writer);
}

static void what_is_written_is_read_and_the_same_each_time(void **state) {
  fixture *f = *state;
  char other[1024];
  snprintf(other, sizeof other, "%s/b.zip", f->folder.path);
  write_sample(f->path);
  setenv("TZ", "Asia/Tokyo", 1);
  write_sample(other);
  unsetenv("TZ");
  assert_int_equal(test_folder_count(&f->folder), 2);
  assay_buf a = {0}, b = {0};
  assert_int_equal(assay_file_read(f->path, 10000, &a, NULL), ASSAY_OK);
  assert_int_equal(assay_file_read(other, 10000, &b, NULL), ASSAY_OK);
  assert_int_equal(a.size_bytes, b.size_bytes);
  assert_memory_equal(a.data, b.data, a.size_bytes);
  assay_buf_reset(&a);
  assay_buf_reset(&b);
  assay_zip *zip = NULL;
  assert_int_equal(assay_zip_open(f->path, &zip, NULL), ASSAY_OK);
  assert_int_equal(assay_zip_count(zip), 3);
  char out[16] = {0};
  assert_int_equal(assay_zip_read(zip, 0, out, NULL), ASSAY_OK);
  assert_string_equal(out, "hello");
  assert_string_equal(assay_zip_at(zip, 1)->name, "dir/caf\xc3\xa9");
  assert_int_equal(assay_zip_at(zip, 2)->size_bytes, 0);
  assert_int_equal(assay_zip_at(zip, 0)->method, 0);
  assay_zip_close(zip);
}

static void an_archive_without_entries_is_written(void **state) {
  fixture *f = *state;
  assay_zip_writer *writer = NULL;
  assay_zip *zip = NULL;
  assert_int_equal(assay_zip_writer_open(f->path, &writer, NULL), ASSAY_OK);
  assert_int_equal(assay_zip_writer_commit(writer, NULL), ASSAY_OK);
  assay_zip_writer_close(writer);
  assert_int_equal(assay_zip_open(f->path, &zip, NULL), ASSAY_OK);
  assert_int_equal(assay_zip_count(zip), 0);
  assay_zip_close(zip);
}

static void unusable_names_are_not_written(void **state) {
  fixture *f = *state;
  assay_zip_writer *writer = NULL;
  assert_int_equal(assay_zip_writer_open(f->path, &writer, NULL), ASSAY_OK);
  assert_int_equal(assay_zip_writer_add(writer, "a", "x", 1, NULL, 0, NULL), ASSAY_OK);
  static const struct {
    const char *name, *words;
  } rows[] = {{"a", "there is an entry named 'a' already"},
              {"../a", "has a '..' component"},
              {"a/", "ends in '/'"},
              {"\xff", "is not UTF-8"},
              {"", "is empty"}};
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_error err = {0};
    assert_int_equal(assay_zip_writer_add(writer, rows[i].name, "x", 1, NULL, 0, &err),
                     ASSAY_E_ARGUMENT);
    if (strstr(err.text, rows[i].words) == NULL) fail_msg("%s", err.text);
  }
  assay_zip_writer_close(writer); /* without commit */
  assert_int_equal(test_folder_count(&f->folder), 0);
  assay_error err = {0};
  assert_int_equal(assay_zip_writer_open("/nowhere/a.zip", &writer, &err), ASSAY_E_IO);
  assert_non_null(strstr(err.text, "'/nowhere/a.zip'"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
  const struct CMUnitTest tests[] = {
      TEST(a_right_archive_is_read),
      TEST(an_archive_without_entries_is_read),
      TEST(one_wrong_entry_field_is_refused),
      TEST(a_long_name_is_refused),
      TEST(a_name_given_twice_is_refused),
      TEST(overlapping_entries_are_refused),
      TEST(wrong_end_records_are_refused),
      TEST(what_is_no_archive_is_named),
      TEST(an_archive_in_the_comment_is_refused_or_ignored),
      TEST(an_archive_cut_anywhere_is_refused),
      TEST(any_changed_byte_is_refused_or_harmless),
      TEST(opening_survives_running_out_of_memory),
      TEST(what_is_written_is_read_and_the_same_each_time),
      TEST(an_archive_without_entries_is_written),
      TEST(unusable_names_are_not_written),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
