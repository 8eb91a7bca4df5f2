/* ELF files, as far as their program headers lead: the build id in a note, the soname in the
 * dynamic section. Every offset is checked against the file's size before it is followed. */
#include "campaign/elf_file.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

#define MAX_SEGMENTS 1024 /* of one file; real ones have about ten */
#define GNU          "GNU"

/* A file, and how its headers are laid out. */
typedef struct elf {
  const uint8_t *bytes;
  size_t size_bytes;
  bool is_64;
  uint64_t segments_at; /* offset of the program headers */
  uint64_t segment_bytes;
  size_t n_segments;
} elf;

typedef struct segment {
  uint32_t type;
  uint64_t offset, address, size_bytes, align; /* in the file; in memory; in the file */
} segment;

/* n bytes at offset, or NULL when the file does not hold them. */
static const uint8_t *bytes_at(const elf *e, uint64_t offset, uint64_t n) {
  if (offset > e->size_bytes || n > e->size_bytes - offset) return NULL;
  return e->bytes + offset;
}

static bool take(const elf *e, uint64_t offset, void *out, size_t n) {
  const uint8_t *from = bytes_at(e, offset, n);
  if (from != NULL) memcpy(out, from, n);
  return from != NULL;
}

static bool is_of_this_order(uint8_t data) {
  const uint16_t one = 1;
  uint8_t first;
  memcpy(&first, &one, 1);
  return data == (first == 1 ? ELFDATA2LSB : ELFDATA2MSB);
}

static bool open_elf(const uint8_t *bytes, size_t size_bytes, elf *out) {
  Elf64_Ehdr header64;
  Elf32_Ehdr header32;
  *out = (elf){.bytes = bytes, .size_bytes = size_bytes};
  if (size_bytes < EI_NIDENT || memcmp(bytes, ELFMAG, SELFMAG) != 0) return false;
  if (!is_of_this_order(bytes[EI_DATA])) return false;
  out->is_64 = bytes[EI_CLASS] == ELFCLASS64;
  if (out->is_64) {
    if (!take(out, 0, &header64, sizeof header64)) return false;
    out->segments_at = header64.e_phoff;
    out->segment_bytes = header64.e_phentsize;
    out->n_segments = header64.e_phnum;
  } else {
    if (bytes[EI_CLASS] != ELFCLASS32 || !take(out, 0, &header32, sizeof header32)) return false;
    out->segments_at = header32.e_phoff;
    out->segment_bytes = header32.e_phentsize;
    out->n_segments = header32.e_phnum;
  }
  return out->n_segments <= MAX_SEGMENTS;
}

static bool take_segment(const elf *e, size_t i, segment *out) {
  Elf64_Phdr header64;
  Elf32_Phdr header32;
  uint64_t below = e->size_bytes; /* so that the sum cannot wrap */
  if (e->segments_at > below) return false;
  uint64_t at = e->segments_at + i * e->segment_bytes; /* at most 1024 * 65535 more */
  if (e->is_64) {
    if (!take(e, at, &header64, sizeof header64)) return false;
    *out = (segment){header64.p_type, header64.p_offset, header64.p_vaddr, header64.p_filesz,
                     header64.p_align};
  } else {
    if (!take(e, at, &header32, sizeof header32)) return false;
    *out = (segment){header32.p_type, header32.p_offset, header32.p_vaddr, header32.p_filesz,
                     header32.p_align};
  }
  return true;
}

static void write_hex(const uint8_t *bytes, size_t n, char *out) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < n; i++) {
    out[2 * i] = digits[bytes[i] >> 4];
    out[2 * i + 1] = digits[bytes[i] & 15];
  }
  out[2 * n] = '\0';
}

static uint64_t round_up(uint64_t n, uint64_t to) {
  return (n + to - 1) / to * to;
}

/* Notes follow each other: three words (bytes of name, bytes of contents, type), name, contents,
 * each padded to the segment's alignment, 4 or 8. */
static void read_notes(const elf *e, const segment *s, assay_elf_file *out) {
  const uint64_t pad = s->align == 8 ? 8 : 4;
  const uint8_t *notes = bytes_at(e, s->offset, s->size_bytes);
  uint64_t at = 0;
  while (notes != NULL && s->size_bytes - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note; /* the same in both classes */
    memcpy(&note, notes + at, sizeof note);
    uint64_t name_at = at + sizeof note;
    uint64_t contents_at = round_up(name_at + note.n_namesz, pad);
    if (contents_at > s->size_bytes || note.n_descsz > s->size_bytes - contents_at) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof GNU &&
        memcmp(notes + name_at, GNU, sizeof GNU) == 0 && note.n_descsz > 0 &&
        2 * (uint64_t)note.n_descsz < ASSAY_ELF_BUILD_ID_BYTES) {
      write_hex(notes + contents_at, note.n_descsz, out->build_id);
      return;
    }
    at = round_up(contents_at + note.n_descsz, pad);
    if (at > s->size_bytes) return;
  }
}

/* Where in the file an address of memory comes from. */
static bool offset_of(const elf *e, uint64_t address, uint64_t *out) {
  segment s;
  for (size_t i = 0; i < e->n_segments; i++) {
    if (!take_segment(e, i, &s) || s.type != PT_LOAD) continue;
    if (address < s.address || address - s.address >= s.size_bytes) continue;
    if (s.offset > e->size_bytes) continue;
    *out = s.offset + (address - s.address);
    return true;
  }
  return false;
}

static bool take_dynamic(const elf *e, const segment *s, uint64_t i, int64_t *out_tag,
                         uint64_t *out_value) {
  Elf64_Dyn entry64;
  Elf32_Dyn entry32;
  const uint64_t size = e->is_64 ? sizeof entry64 : sizeof entry32;
  if (s->offset > e->size_bytes || i >= s->size_bytes / size) return false;
  if (e->is_64) {
    if (!take(e, s->offset + i * size, &entry64, sizeof entry64)) return false;
    *out_tag = entry64.d_tag;
    *out_value = entry64.d_un.d_val;
  } else {
    if (!take(e, s->offset + i * size, &entry32, sizeof entry32)) return false;
    *out_tag = entry32.d_tag;
    *out_value = entry32.d_un.d_val;
  }
  return *out_tag != DT_NULL;
}

/* DT_SONAME is an offset into the string table, whose address is DT_STRTAB. */
static void read_soname(const elf *e, const segment *s, assay_elf_file *out) {
  uint64_t strings_at = 0, name = 0, offset = 0, value;
  bool has_strings = false, has_name = false;
  int64_t tag;
  for (uint64_t i = 0; take_dynamic(e, s, i, &tag, &value); i++) {
    if (tag == DT_STRTAB) strings_at = value, has_strings = true;
    if (tag == DT_SONAME) name = value, has_name = true;
  }
  if (!has_strings || !has_name || !offset_of(e, strings_at, &offset)) return;
  if (offset > e->size_bytes || name > e->size_bytes - offset) return;
  const char *text = (const char *)e->bytes + offset + name;
  size_t room = e->size_bytes - (size_t)(offset + name);
  if (memchr(text, '\0', room) == NULL || strlen(text) >= ASSAY_ELF_SONAME_BYTES) return;
  assay_text_printable(text, out->soname, sizeof out->soname);
}

void assay_elf_read(const uint8_t *bytes, size_t size_bytes, assay_elf_file *out) {
  elf e;
  segment s;
  *out = (assay_elf_file){0};
  if (bytes == NULL || !open_elf(bytes, size_bytes, &e)) return;
  for (size_t i = 0; i < e.n_segments && take_segment(&e, i, &s); i++) {
    if (s.type == PT_NOTE && out->build_id[0] == '\0') read_notes(&e, &s, out);
    if (s.type == PT_DYNAMIC && out->soname[0] == '\0') read_soname(&e, &s, out);
  }
}

void assay_elf_read_file(const char *path, assay_elf_file *out) {
  assay_file_map map = {0};
  *out = (assay_elf_file){0};
  if (assay_file_map_open(path, &map, /*err=*/NULL)) return;
  assay_elf_read(map.data, map.size_bytes, out);
  assay_file_map_close(&map);
}
