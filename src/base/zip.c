/* Zip archives. The directory is checked here, byte by byte, under the rules of npz.md section 3,
 * because libzip accepts more than we do (overlapping entries, two directories, names given twice).
 * libzip then decompresses and checks the CRC, on the same mapped bytes, after its own view of the
 * directory was compared with ours. Format: PKWARE APPNOTE.TXT 6.3.10. */
#include "base/zip.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"

/* Policy of npz.md section 3; a reader of arrays may be stricter. */
#define ENTRIES_MAX     ((uint64_t)65535 * 16)
#define ENTRY_BYTES_MAX ((uint64_t)16 << 30)
#define TOTAL_BYTES_MAX ((uint64_t)64 << 30)
#define NAME_BYTES_MAX  1024
#define RATIO_MAX       1032 /* of deflate: 258 bytes from 2 bits */

#define EOCD_BYTES    22
#define COMMENT_MAX   65535
#define LOCATOR_BYTES 20
#define ZIP64_BYTES   56
#define CENTRAL_BYTES 46
#define LOCAL_BYTES   30

#define SIG_LOCAL   0x04034b50u
#define SIG_CENTRAL 0x02014b50u
#define SIG_ZIP64   0x06064b50u
#define SIG_LOCATOR 0x07064b50u
#define SIG_EOCD    0x06054b50u

#define FLAG_ENCRYPTED  (1u << 0)
#define FLAG_DESCRIPTOR (1u << 3) /* sizes and CRC follow the data */
#define FLAG_PATCH      (1u << 5)
#define FLAG_STRONG     (1u << 6)
#define FLAG_UTF8       (1u << 11)
#define FLAG_MASKED     (1u << 13)
#define FLAGS_SECRET    (FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED)

typedef struct member {
  assay_zip_entry entry;
  uint64_t local_offset; /* of its local header */
  uint64_t index;        /* in the central directory, which is libzip's numbering */
  uint32_t flags;
  bool is_folder; /* a name that ends in '/': ignored */
} member;

struct assay_zip {
  assay_file_map map;
  member *members; /* all, in directory order */
  size_t n_members;
  size_t *shown; /* [n_shown] indices into members of those that are no folders */
  size_t n_shown;
  size_t *by_name; /* [n_shown] positions in shown, sorted by name */
  char *names;     /* the text of all names, each with a zero */
  zip_t *lib;
};

typedef struct directory {
  uint64_t n_entries;
  uint64_t offset;
  uint64_t size_bytes;
} directory;

static uint16_t u16(const uint8_t *p) {
  return (uint16_t)(p[0] | (p[1] << 8));
}

static uint32_t u32(const uint8_t *p) {
  return (uint32_t)u16(p) | ((uint32_t)u16(p + 2) << 16);
}

static uint64_t u64(const uint8_t *p) {
  return (uint64_t)u32(p) | ((uint64_t)u32(p + 4) << 32);
}

static unsigned long long llu(uint64_t value) {
  return value;
}

/* ---- the end records ----------------------------------------------------------------------------
 */

static assay_status fail_no_end(const assay_file_map *map, assay_error *err) {
  if (map->size_bytes == 0) return assay_fail(err, ASSAY_E_FORMAT, "the file is empty");
  bool is_zip = map->size_bytes >= 4 && (u32(map->data) == SIG_LOCAL || u32(map->data) == SIG_EOCD);
  if (!is_zip) return assay_fail(err, ASSAY_E_FORMAT, "not a zip archive");
  return assay_fail(
      err, ASSAY_E_FORMAT,
      "the end record of the zip archive is missing from its %zu bytes: truncated, or "
      "with other bytes behind it",
      map->size_bytes);
}

/* The end-of-central-directory record whose comment ends where the file does. */
static assay_status find_end(const assay_file_map *map, uint64_t *out_offset, assay_error *err) {
  if (map->size_bytes < EOCD_BYTES) return fail_no_end(map, err);
  size_t last = map->size_bytes - EOCD_BYTES;
  size_t first = last > COMMENT_MAX ? last - COMMENT_MAX : 0;
  for (size_t at = last + 1; at-- > first;) {
    if (u32(map->data + at) == SIG_EOCD && u16(map->data + at + 20) == last - at) {
      *out_offset = at;
      return ASSAY_OK;
    }
  }
  return fail_no_end(map, err);
}

/* A field of the plain record must equal that of the zip64 record unless it is all ones. */
static bool agrees(uint64_t plain, uint64_t ones, uint64_t wide) {
  return plain == ones || plain == wide;
}

/* Reads the zip64 record that the locator names, and lets its values replace the plain ones.
 * Records follow each other without a gap: zip64 record, locator, end record. */
static assay_status read_zip64(const assay_file_map *map, uint64_t locator, directory *dir,
                               uint64_t *out_offset, assay_error *err) {
  const uint8_t *p = map->data + locator;
  uint64_t at = u64(p + 8);
  if (u32(p + 4) != 0 || u32(p + 16) > 1) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "a zip archive of several disks");
  }
  if (locator < ZIP64_BYTES || at > locator - ZIP64_BYTES || u32(map->data + at) != SIG_ZIP64 ||
      u64(map->data + at + 4) != locator - at - 12) {
    return assay_fail(err, ASSAY_E_FORMAT,
                      "no zip64 end record where the locator says, at offset %llu", llu(at));
  }
  p = map->data + at;
  directory wide = {.n_entries = u64(p + 32), .size_bytes = u64(p + 40), .offset = u64(p + 48)};
  if (u32(p + 16) != 0 || u32(p + 20) != 0) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "a zip archive of several disks");
  }
  if (u64(p + 24) != wide.n_entries || !agrees(dir->n_entries, UINT16_MAX, wide.n_entries) ||
      !agrees(dir->size_bytes, UINT32_MAX, wide.size_bytes) ||
      !agrees(dir->offset, UINT32_MAX, wide.offset)) {
    return assay_fail(err, ASSAY_E_FORMAT,
                      "the zip64 end record at offset %llu contradicts the plain one", llu(at));
  }
  *dir = wide;
  *out_offset = at;
  return ASSAY_OK;
}

static assay_status read_end(const assay_file_map *map, directory *out, assay_error *err) {
  uint64_t eocd = 0, end; /* end: where the central directory must stop */
  ASSAY_TRY(find_end(map, &eocd, err));
  const uint8_t *p = map->data + eocd;
  directory dir = {.n_entries = u16(p + 10), .size_bytes = u32(p + 12), .offset = u32(p + 16)};
  if (u16(p + 4) != 0 || u16(p + 6) != 0) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "a zip archive of several disks");
  }
  if (u16(p + 8) != u16(p + 10)) {
    return assay_fail(err, ASSAY_E_FORMAT, "the end record counts %u entries here and %u in all",
                      u16(p + 8), u16(p + 10));
  }
  end = eocd;
  if (eocd >= LOCATOR_BYTES && u32(p - LOCATOR_BYTES) == SIG_LOCATOR) {
    ASSAY_TRY(read_zip64(map, eocd - LOCATOR_BYTES, &dir, &end, err));
  }
  if (dir.n_entries > ENTRIES_MAX) {
    return assay_fail(err, ASSAY_E_LIMIT, "%llu entries: the limit is %llu", llu(dir.n_entries),
                      llu(ENTRIES_MAX));
  }
  if (dir.size_bytes > end || dir.offset != end - dir.size_bytes) {
    return assay_fail(
        err, ASSAY_E_FORMAT,
        "the central directory (offset %llu, %llu bytes) does not end at the end record "
        "(offset %llu)",
        llu(dir.offset), llu(dir.size_bytes), llu(end));
  }
  if (dir.n_entries > dir.size_bytes / CENTRAL_BYTES) {
    return assay_fail(err, ASSAY_E_FORMAT, "%llu entries do not fit in a directory of %llu bytes",
                      llu(dir.n_entries), llu(dir.size_bytes));
  }
  *out = dir;
  return ASSAY_OK;
}

/* ---- names --------------------------------------------------------------------------------------
 */

/* What is wrong with an entry's name of n bytes, or NULL. Names are keys only and never become
 * files; a name that would be dangerous as a file name is still no name that an honest writer
 * gives. */
static const char *name_fault(const char *name, size_t n, uint32_t flags) {
  if (n == 0) return "is empty";
  if (n > NAME_BYTES_MAX) return "is longer than 1024 bytes";
  if (memchr(name, '\0', n) != NULL) return "contains a zero byte";
  if (!assay_text_is_utf8(name, n)) return "is not UTF-8";
  for (size_t i = 0; i < n; i++) {
    if (((unsigned char)name[i] & 0x80) && !(flags & FLAG_UTF8)) {
      return "has other than ASCII characters without the UTF-8 flag";
    }
    if (name[i] == '\\') return "contains a backslash";
  }
  if (name[0] == '/') return "is absolute";
  bool is_letter = (name[0] >= 'A' && name[0] <= 'Z') || (name[0] >= 'a' && name[0] <= 'z');
  const bool is_output = n >= 3 && name[2] >= '0' && name[2] <= '9'; /* "x:0": TensorFlow's names */
  if (n >= 2 && is_letter && name[1] == ':' && !is_output) return "has a drive letter";
  for (size_t start = 0, i = 0; i <= n; i++) {
    if (i < n && name[i] != '/') continue;
    size_t len = i - start;
    if (len == 1 && name[start] == '.') return "has a '.' component";
    if (len == 2 && name[start] == '.' && name[start + 1] == '.') return "has a '..' component";
    start = i + 1;
  }
  return NULL;
}

/* ---- central directory --------------------------------------------------------------------------
 */

/* The zip64 field of an extra area, with its length; NULL and 0 when there is none. A length that
 * runs out of the area is a fault; fewer than four bytes at its end are padding. */
static assay_status find_zip64_extra(const uint8_t *extra, size_t size_bytes, const uint8_t **out,
                                     size_t *out_bytes, assay_error *err) {
  *out = NULL;
  *out_bytes = 0;
  for (size_t at = 0; size_bytes - at >= 4;) {
    size_t len = u16(extra + at + 2);
    if (len > size_bytes - at - 4) {
      return assay_fail(err, ASSAY_E_FORMAT, "an extra field of %zu bytes where %zu remain", len,
                        size_bytes - at - 4);
    }
    if (u16(extra + at) == 1 && *out == NULL) {
      *out = extra + at + 4;
      *out_bytes = len;
    }
    at += 4 + len;
  }
  return ASSAY_OK;
}

/* A 32-bit field of all ones stands for the next eight bytes of the zip64 field. */
static assay_status widen(uint64_t *value, const uint8_t **wide, size_t *wide_bytes,
                          assay_error *err) {
  if (*value != UINT32_MAX) return ASSAY_OK;
  if (*wide_bytes < 8) return assay_fail(err, ASSAY_E_FORMAT, "its zip64 sizes are missing");
  *value = u64(*wide);
  *wide += 8;
  *wide_bytes -= 8;
  return ASSAY_OK;
}

static assay_status check_sizes(const member *m, assay_error *err) {
  const assay_zip_entry *e = &m->entry;
  if (m->flags & FLAGS_SECRET) return assay_fail(err, ASSAY_E_UNSUPPORTED, "it is encrypted");
  if (m->flags & FLAG_PATCH) return assay_fail(err, ASSAY_E_UNSUPPORTED, "it is a patch");
  if (e->method != 0 && e->method != 8) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "compression method %d: expected 0 (stored) or 8 (deflate)", e->method);
  }
  if (e->method == 0 && e->packed_bytes != e->size_bytes) {
    return assay_fail(err, ASSAY_E_FORMAT, "stored, but %llu bytes packed and %llu unpacked",
                      llu(e->packed_bytes), llu(e->size_bytes));
  }
  if (e->size_bytes > ENTRY_BYTES_MAX) {
    return assay_fail(err, ASSAY_E_LIMIT, "%llu bytes: the limit of an entry is %llu",
                      llu(e->size_bytes), llu(ENTRY_BYTES_MAX));
  }
  /* size > RATIO_MAX * packed + 64, without the product */
  if (e->size_bytes > 64 && (e->size_bytes - 65) / RATIO_MAX >= e->packed_bytes) {
    return assay_fail(err, ASSAY_E_FORMAT, "%llu bytes cannot come out of %llu deflated ones",
                      llu(e->size_bytes), llu(e->packed_bytes));
  }
  return ASSAY_OK;
}

/* One entry of the central directory at p, of which `left` bytes remain. */
static assay_status read_central(const uint8_t *p, size_t left, member *out, size_t *out_bytes,
                                 assay_error *err) {
  if (left < CENTRAL_BYTES || u32(p) != SIG_CENTRAL) {
    return assay_fail(err, ASSAY_E_FORMAT, "no central directory entry where one must be");
  }
  size_t n_name = u16(p + 28), n_extra = u16(p + 30), n_comment = u16(p + 32);
  if (n_name + n_extra + n_comment > left - CENTRAL_BYTES) {
    return assay_fail(err, ASSAY_E_FORMAT, "it runs over the end of the central directory");
  }
  member m = {.flags = u16(p + 8)};
  m.entry.method = u16(p + 10);
  m.entry.crc32 = u32(p + 16);
  m.entry.packed_bytes = u32(p + 20);
  m.entry.size_bytes = u32(p + 24);
  m.local_offset = u32(p + 42);
  const char *name = (const char *)p + CENTRAL_BYTES;
  const char *fault = name_fault(name, n_name, m.flags);
  if (fault != NULL) {
    return assay_fail(err, ASSAY_E_FORMAT, "its name '%.*s' %s", (int)n_name, name, fault);
  }
  const uint8_t *wide;
  size_t wide_bytes;
  ASSAY_TRY(find_zip64_extra(p + CENTRAL_BYTES + n_name, n_extra, &wide, &wide_bytes, err));
  ASSAY_TRY(widen(&m.entry.size_bytes, &wide, &wide_bytes, err));
  ASSAY_TRY(widen(&m.entry.packed_bytes, &wide, &wide_bytes, err));
  ASSAY_TRY(widen(&m.local_offset, &wide, &wide_bytes, err));
  bool is_first_disk =
      u16(p + 34) == 0 || (u16(p + 34) == UINT16_MAX && wide_bytes >= 4 && u32(wide) == 0);
  if (!is_first_disk) return assay_fail(err, ASSAY_E_UNSUPPORTED, "it is on another disk");
  ASSAY_TRY(check_sizes(&m, err));
  m.is_folder = name[n_name - 1] == '/';
  *out = m;
  *out_bytes = CENTRAL_BYTES + n_name + n_extra + n_comment;
  return ASSAY_OK;
}

/* ---- local headers ------------------------------------------------------------------------------
 */

static assay_status fail_local(const char *what, uint64_t local, uint64_t central,
                               assay_error *err) {
  return assay_fail(err, ASSAY_E_FORMAT, "its local header says %s %llu, the directory %llu", what,
                    llu(local), llu(central));
}

/* Sizes and CRC of the local header, unless it leaves them to a descriptor behind the data or to
 * its zip64 field (numpy on Python 3.13 always does the latter). */
static assay_status check_local_sizes(const uint8_t *p, const assay_zip_entry *entry,
                                      assay_error *err) {
  uint64_t packed = u32(p + 18), size = u32(p + 22);
  if (u16(p + 6) & FLAG_DESCRIPTOR) return ASSAY_OK;
  if (packed != UINT32_MAX && packed != entry->packed_bytes) {
    return fail_local("packed size", packed, entry->packed_bytes, err);
  }
  if (size != UINT32_MAX && size != entry->size_bytes) {
    return fail_local("size", size, entry->size_bytes, err);
  }
  if (packed == UINT32_MAX || size == UINT32_MAX || u32(p + 14) == entry->crc32) return ASSAY_OK;
  return fail_local("CRC", u32(p + 14), entry->crc32, err);
}

/* Checks the local header and finds the data, which must end before `end` (the central directory).
 */
static assay_status read_local(const assay_file_map *map, uint64_t end, member *m,
                               assay_error *err) {
  if (end < LOCAL_BYTES || m->local_offset > end - LOCAL_BYTES ||
      u32(map->data + m->local_offset) != SIG_LOCAL) {
    return assay_fail(err, ASSAY_E_FORMAT, "no local header at offset %llu", llu(m->local_offset));
  }
  const uint8_t *p = map->data + m->local_offset;
  size_t n_name = u16(p + 26), n_extra = u16(p + 28);
  uint64_t data = m->local_offset + LOCAL_BYTES + n_name + n_extra;
  if (data > end || m->entry.packed_bytes > end - data) {
    return assay_fail(err, ASSAY_E_FORMAT,
                      "its %llu bytes at offset %llu run into the central directory at %llu",
                      llu(m->entry.packed_bytes), llu(data), llu(end));
  }
  if (n_name != strlen(m->entry.name) || memcmp(p + LOCAL_BYTES, m->entry.name, n_name) != 0) {
    return assay_fail(err, ASSAY_E_FORMAT, "its local header has the name '%.*s'", (int)n_name,
                      (const char *)p + LOCAL_BYTES);
  }
  if (u16(p + 8) != m->entry.method)
    return fail_local("method", u16(p + 8), (uint64_t)m->entry.method, err);
  if ((u16(p + 6) & FLAGS_SECRET) != 0) {
    return assay_fail(err, ASSAY_E_FORMAT, "its local header says that it is encrypted");
  }
  ASSAY_TRY(check_local_sizes(p, &m->entry, err));
  m->entry.data_offset = data;
  return ASSAY_OK;
}

/* ---- opening ------------------------------------------------------------------------------------
 */

static assay_status allocate(assay_zip *zip, const directory *dir, assay_error *err) {
  size_t n = (size_t)dir->n_entries;
  zip->members = assay_alloc_array(n, sizeof *zip->members);
  zip->shown = assay_alloc_array(n, sizeof *zip->shown);
  zip->by_name = assay_alloc_array(n, sizeof *zip->by_name);
  zip->names =
      assay_alloc((size_t)dir->size_bytes + 1); /* names and zeros are shorter than entries */
  if (zip->members == NULL || zip->shown == NULL || zip->by_name == NULL || zip->names == NULL) {
    return assay_fail_memory(err, n * sizeof *zip->members);
  }
  return ASSAY_OK;
}

static assay_status read_directory(assay_zip *zip, const directory *dir, assay_error *err) {
  const uint8_t *p = zip->map.data + dir->offset;
  size_t left = (size_t)dir->size_bytes;
  char *name = zip->names;
  uint64_t total = 0;
  for (uint64_t i = 0; i < dir->n_entries; i++) {
    member *m = &zip->members[i];
    size_t used = 0;
    assay_status st = read_central(p, left, m, &used, err);
    if (st) {
      assay_error_in(err, "entry %llu", llu(i));
      return st;
    }
    size_t n_name = u16(p + 28);
    memcpy(name, p + CENTRAL_BYTES, n_name);
    m->entry.name = name;
    m->index = i;
    name += n_name + 1;
    st = read_local(&zip->map, dir->offset, m, err);
    if (st) {
      assay_error_in(err, "entry '%s'", m->entry.name);
      return st;
    }
    total += m->entry.size_bytes; /* at most ENTRIES_MAX * ENTRY_BYTES_MAX < 2^55 */
    zip->n_members++;
    p += used;
    left -= used;
  }
  if (left != 0) {
    return assay_fail(err, ASSAY_E_FORMAT,
                      "%zu bytes are left in the central directory after its %llu entries", left,
                      llu(dir->n_entries));
  }
  if (total > TOTAL_BYTES_MAX) {
    return assay_fail(err, ASSAY_E_LIMIT, "%llu bytes unpacked: the limit of an archive is %llu",
                      llu(total), llu(TOTAL_BYTES_MAX));
  }
  return ASSAY_OK;
}

static int by_local_offset(const void *a, const void *b) {
  const member *const *x = a, *const *y = b;
  uint64_t p = (*x)->local_offset, q = (*y)->local_offset;
  return (p > q) - (p < q);
}

static assay_status check_overlap_sorted(const member **sorted, size_t n, assay_error *err) {
  if (n > 0) qsort(sorted, n, sizeof *sorted, by_local_offset);
  for (size_t i = 1; i < n; i++) {
    const assay_zip_entry *before = &sorted[i - 1]->entry;
    if (sorted[i]->local_offset < before->data_offset + before->packed_bytes) {
      return assay_fail(err, ASSAY_E_FORMAT, "entries '%s' and '%s' overlap", before->name,
                        sorted[i]->entry.name);
    }
  }
  return ASSAY_OK;
}

static assay_status check_overlap(const assay_zip *zip, assay_error *err) {
  const member **sorted = assay_alloc_array(zip->n_members, sizeof *sorted);
  if (sorted == NULL) return assay_fail_memory(err, zip->n_members * sizeof *sorted);
  for (size_t i = 0; i < zip->n_members; i++) sorted[i] = &zip->members[i];
  assay_status st = check_overlap_sorted(sorted, zip->n_members, err);
  assay_free(sorted);
  return st;
}

typedef struct named {
  const char *name;
  size_t position;
} named;

static int by_name(const void *a, const void *b) {
  return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* Fills shown and by_name, and refuses a name that comes twice. */
static assay_status index_names(assay_zip *zip, assay_error *err) {
  named *sorted = assay_alloc_array(zip->n_members, sizeof *sorted);
  if (sorted == NULL) return assay_fail_memory(err, zip->n_members * sizeof *sorted);
  for (size_t i = 0; i < zip->n_members; i++) {
    if (zip->members[i].is_folder) continue;
    sorted[zip->n_shown] = (named){zip->members[i].entry.name, zip->n_shown};
    zip->shown[zip->n_shown++] = i;
  }
  if (zip->n_shown > 0) qsort(sorted, zip->n_shown, sizeof *sorted, by_name);
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < zip->n_shown && !st; i++) {
    if (i > 0 && strcmp(sorted[i - 1].name, sorted[i].name) == 0) {
      st = assay_fail(err, ASSAY_E_FORMAT, "two entries have the name '%s'", sorted[i].name);
    }
    zip->by_name[i] = sorted[i].position;
  }
  assay_free(sorted);
  return st;
}

static assay_status fail_lib(zip_error_t *problem, const char *what, assay_error *err) {
  assay_status status =
      zip_error_code_zip(problem) == ZIP_ER_MEMORY ? ASSAY_E_MEMORY : ASSAY_E_FORMAT;
  return assay_fail(err, status, "%s: %s", what, zip_error_strerror(problem));
}

static assay_status open_lib(assay_zip *zip, assay_error *err) {
  zip_error_t problem;
  zip_error_init(&problem);
  zip_source_t *source =
      zip_source_buffer_create(zip->map.data, zip->map.size_bytes, /*freep=*/0, &problem);
  if (source != NULL) {
    zip->lib = zip_open_from_source(source, ZIP_RDONLY, &problem);
    if (zip->lib == NULL) zip_source_free(source);
  }
  assay_status st = zip->lib == NULL ? fail_lib(&problem, "libzip", err) : ASSAY_OK;
  zip_error_fini(&problem);
  return st;
}

/* libzip may have taken another end record for the true one (a comment can hold a whole archive).
 * What it will decompress must be what was checked. */
static assay_status compare_with_lib(const assay_zip *zip, assay_error *err) {
  bool agree = zip_get_num_entries(zip->lib, /*flags=*/0) == (zip_int64_t)zip->n_members;
  for (size_t i = 0; i < zip->n_members && agree; i++) {
    const assay_zip_entry *entry = &zip->members[i].entry;
    zip_stat_t stat;
    zip_stat_init(&stat);
    agree = zip_stat_index(zip->lib, i, ZIP_FL_ENC_RAW, &stat) == 0 &&
            (stat.valid & ZIP_STAT_NAME) && strcmp(stat.name, entry->name) == 0 &&
            stat.size == entry->size_bytes && stat.comp_size == entry->packed_bytes &&
            stat.crc == entry->crc32 && stat.comp_method == entry->method;
  }
  if (agree) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT, "the zip archive can be read in two ways");
}

static assay_status open_mapped(assay_zip *zip, assay_error *err) {
  directory dir = {0};
  ASSAY_TRY(read_end(&zip->map, &dir, err));
  ASSAY_TRY(allocate(zip, &dir, err));
  ASSAY_TRY(read_directory(zip, &dir, err));
  ASSAY_TRY(check_overlap(zip, err));
  ASSAY_TRY(index_names(zip, err));
  ASSAY_TRY(open_lib(zip, err));
  return compare_with_lib(zip, err);
}

assay_status assay_zip_open(const char *path, assay_zip **out, assay_error *err) {
  assay_zip *zip = assay_alloc(sizeof *zip);
  if (zip == NULL) return assay_fail_memory(err, sizeof *zip);
  assay_status st = assay_file_map_open(path, &zip->map, err);
  if (!st) {
    st = open_mapped(zip, err);
    if (st) assay_error_in(err, "'%s'", path);
  }
  if (st) {
    assay_zip_close(zip);
    return st;
  }
  *out = zip;
  return ASSAY_OK;
}

void assay_zip_close(assay_zip *zip) {
  if (zip == NULL) return;
  if (zip->lib != NULL) zip_discard(zip->lib);
  assay_free(zip->members);
  assay_free(zip->shown);
  assay_free(zip->by_name);
  assay_free(zip->names);
  assay_file_map_close(&zip->map);
  assay_free(zip);
}

size_t assay_zip_count(const assay_zip *zip) {
  return zip->n_shown;
}

const assay_zip_entry *assay_zip_at(const assay_zip *zip, size_t i) {
  return i < zip->n_shown ? &zip->members[zip->shown[i]].entry : NULL;
}

const assay_zip_entry *assay_zip_find(const assay_zip *zip, const char *name) {
  size_t low = 0, high = zip->n_shown;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const assay_zip_entry *entry = assay_zip_at(zip, zip->by_name[middle]);
    int order = strcmp(entry->name, name);
    if (order == 0) return entry;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

/* ---- reading entries ----------------------------------------------------------------------------
 */

static assay_status fail_entry(zip_file_t *file, const assay_zip_entry *entry, assay_error *err) {
  assay_status st = fail_lib(zip_file_get_error(file), "could not unpack it", err);
  assay_error_in(err, "entry '%s'", entry->name);
  return st;
}

/* Up to size_bytes into out; *out_n is less only where the entry ends. */
static assay_status read_bytes(zip_file_t *file, const assay_zip_entry *entry, uint8_t *out,
                               size_t size_bytes, size_t *out_n, assay_error *err) {
  size_t n = 0;
  while (n < size_bytes) {
    zip_int64_t got = zip_fread(file, out + n, size_bytes - n);
    if (got < 0) return fail_entry(file, entry, err);
    if (got == 0) break;
    n += (size_t)got;
  }
  *out_n = n;
  return ASSAY_OK;
}

static assay_status open_entry(assay_zip *zip, size_t i, zip_file_t **out, assay_error *err) {
  if (i >= zip->n_shown) return assay_fail(err, ASSAY_E_ARGUMENT, "no entry %zu", i);
  const member *m = &zip->members[zip->shown[i]];
  zip_file_t *file = zip_fopen_index(zip->lib, m->index, /*flags=*/0);
  if (file == NULL) {
    assay_status st = fail_lib(zip_get_error(zip->lib), "could not open it", err);
    assay_error_in(err, "entry '%s'", m->entry.name);
    return st;
  }
  *out = file;
  return ASSAY_OK;
}

assay_status assay_zip_peek(assay_zip *zip, size_t i, size_t size_bytes, assay_buf *out,
                            assay_error *err) {
  zip_file_t *file = NULL;
  ASSAY_TRY(open_entry(zip, i, &file, err));
  const assay_zip_entry *entry = assay_zip_at(zip, i);
  if (size_bytes > entry->size_bytes) size_bytes = (size_t)entry->size_bytes;
  assay_buf bytes = {0};
  uint8_t *to;
  assay_status st = assay_buf_reserve(&bytes, size_bytes, &to, err);
  if (!st) st = read_bytes(file, entry, to, size_bytes, &bytes.size_bytes, err);
  zip_fclose(file);
  if (st) {
    assay_buf_reset(&bytes);
    return st;
  }
  bytes.max_bytes = out->max_bytes;
  assay_buf_reset(out);
  *out = bytes;
  return ASSAY_OK;
}

/* The whole entry in two parts, and one byte more, which must not be there: asking for it is also
 * what makes libzip compare the CRC. */
static assay_status read_whole(zip_file_t *file, const assay_zip_entry *entry, uint8_t *head,
                               size_t head_bytes, uint8_t *body, assay_error *err) {
  size_t n_head, n_body = 0, n_extra = 0;
  uint8_t extra;
  ASSAY_TRY(read_bytes(file, entry, head, head_bytes, &n_head, err));
  ASSAY_TRY(read_bytes(file, entry, body, (size_t)entry->size_bytes - head_bytes, &n_body, err));
  if (n_head + n_body != entry->size_bytes) {
    return assay_fail(err, ASSAY_E_FORMAT, "entry '%s': expected %llu bytes, found %zu",
                      entry->name, llu(entry->size_bytes), n_head + n_body);
  }
  ASSAY_TRY(read_bytes(file, entry, &extra, 1, &n_extra, err));
  if (n_extra == 0) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT, "entry '%s': more than its %llu bytes come out of it",
                    entry->name, llu(entry->size_bytes));
}

assay_status assay_zip_read_split(assay_zip *zip, size_t i, void *head, size_t head_bytes,
                                  void *out, assay_error *err) {
  zip_file_t *file = NULL;
  ASSAY_TRY(open_entry(zip, i, &file, err));
  const assay_zip_entry *entry = assay_zip_at(zip, i);
  assay_status st = head_bytes > entry->size_bytes
                        ? assay_fail(err, ASSAY_E_ARGUMENT, "entry '%s' has fewer than %zu bytes",
                                     entry->name, head_bytes)
                        : read_whole(file, entry, head, head_bytes, out, err);
  zip_fclose(file);
  return st;
}

assay_status assay_zip_read(assay_zip *zip, size_t i, void *out, assay_error *err) {
  return assay_zip_read_split(zip, i, /*head=*/NULL, /*head_bytes=*/0, out, err);
}

/* ---- writing ------------------------------------------------------------------------------------
 */

#define DOS_TIME_MIDNIGHT 0
#define DOS_DATE_1980     0x0021 /* 1 January 1980, the first day there is */

struct assay_zip_writer {
  char *path;
  char *temp_path; /* where libzip writes */
  zip_t *lib;
  size_t n_entries;
};

static assay_status fail_writer(assay_zip_writer *writer, zip_error_t *problem, assay_error *err) {
  if (zip_error_system_type(problem) == ZIP_ET_SYS && zip_error_code_system(problem) != 0)
    return assay_fail_errno(err, ASSAY_E_IO, zip_error_code_system(problem), "could not write '%s'",
                            writer->path);
  assay_status status = zip_error_code_zip(problem) == ZIP_ER_MEMORY ? ASSAY_E_MEMORY : ASSAY_E_IO;
  return assay_fail(err, status, "could not write '%s': %s", writer->path,
                    zip_error_strerror(problem));
}

static assay_status start_writer(assay_zip_writer *writer, const char *path, assay_error *err) {
  writer->path = assay_strdup(path);
  if (writer->path == NULL) return assay_fail_memory(err, strlen(path) + 1);
  ASSAY_TRY(assay_file_temp_create(path, &writer->temp_path, err));
  int code = 0;
  writer->lib = zip_open(writer->temp_path, ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (writer->lib != NULL) return ASSAY_OK;
  zip_error_t problem;
  zip_error_init_with_code(&problem, code);
  assay_status st = fail_writer(writer, &problem, err);
  zip_error_fini(&problem);
  return st;
}

assay_status assay_zip_writer_open(const char *path, assay_zip_writer **out, assay_error *err) {
  assay_zip_writer *writer = assay_alloc(sizeof *writer);
  if (writer == NULL) return assay_fail_memory(err, sizeof *writer);
  assay_status st = start_writer(writer, path, err);
  if (st) {
    assay_zip_writer_close(writer);
    return st;
  }
  *out = writer;
  return ASSAY_OK;
}

assay_status assay_zip_writer_add(assay_zip_writer *writer, const char *name, const void *head,
                                  size_t head_bytes, const void *body, size_t body_bytes,
                                  assay_error *err) {
  size_t n_name = strlen(name);
  const char *fault =
      n_name > 0 && name[n_name - 1] == '/' ? "ends in '/'" : name_fault(name, n_name, FLAG_UTF8);
  if (fault != NULL) {
    return assay_fail(err, ASSAY_E_ARGUMENT, "the entry name '%s' %s", name, fault);
  }
  if (zip_name_locate(writer->lib, name, ZIP_FL_ENC_UTF_8) >= 0) {
    return assay_fail(err, ASSAY_E_ARGUMENT, "there is an entry named '%s' already", name);
  }
  /* libzip wants pointers to non-const bytes, which it only reads (freep is 0). */
  zip_buffer_fragment_t parts[2] = {{(zip_uint8_t *)(uintptr_t)head, head_bytes},
                                    {(zip_uint8_t *)(uintptr_t)body, body_bytes}};
  zip_error_t problem;
  zip_error_init(&problem);
  zip_source_t *source = zip_source_buffer_fragment_create(parts, 2, /*freep=*/0, &problem);
  assay_status st = source == NULL ? fail_writer(writer, &problem, err) : ASSAY_OK;
  zip_error_fini(&problem);
  if (st) return st;
  zip_int64_t index = zip_file_add(writer->lib, name, source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    return fail_writer(writer, zip_get_error(writer->lib), err);
  }
  zip_uint64_t i = (zip_uint64_t)index;
  if (zip_set_file_compression(writer->lib, i, ZIP_CM_STORE, /*flags=*/0) != 0 ||
      zip_file_set_dostime(writer->lib, i, DOS_TIME_MIDNIGHT, DOS_DATE_1980, /*flags=*/0) != 0) {
    return fail_writer(writer, zip_get_error(writer->lib), err);
  }
  writer->n_entries++;
  return ASSAY_OK;
}

/* libzip leaves no file for an archive without entries; numpy writes the end record alone. */
static assay_status write_empty(const char *path, assay_error *err) {
  static const uint8_t eocd[EOCD_BYTES] = {'P', 'K', 5, 6};
  return assay_file_write(path, eocd, sizeof eocd, err);
}

assay_status assay_zip_writer_commit(assay_zip_writer *writer, assay_error *err) {
  if (writer->n_entries == 0) return write_empty(writer->path, err);
  if (zip_close(writer->lib) != 0) return fail_writer(writer, zip_get_error(writer->lib), err);
  writer->lib = NULL;
  return assay_file_temp_commit(writer->temp_path, writer->path, err);
}

void assay_zip_writer_close(assay_zip_writer *writer) {
  if (writer == NULL) return;
  if (writer->lib != NULL) zip_discard(writer->lib);
  if (writer->temp_path != NULL) unlink(writer->temp_path); /* gone already after a commit */
  assay_free(writer->temp_path);
  assay_free(writer->path);
  assay_free(writer);
}
