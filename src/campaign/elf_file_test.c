/* ELF files made here, of both classes; cut at every byte and wrong in every byte they give nothing
 * or what stands there, and are never read beyond their end. */
#include "campaign/elf_file.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ADDRESS  0x10000 /* where the file's first byte is loaded */
#define BUILD_ID "000102030405060708090a0b0c0d0e0f10111213"
#define SONAME   "libtoy.so.3"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HOST_ORDER  ELFDATA2LSB
#define OTHER_ORDER ELFDATA2MSB
#else
#define HOST_ORDER  ELFDATA2MSB
#define OTHER_ORDER ELFDATA2LSB
#endif

/* Header, three program headers (load, note, dynamic), two notes, three dynamic entries, strings.
 */
#define MAKE(BITS)                                                                                 \
  typedef struct file_##BITS {                                                                     \
    Elf##BITS##_Ehdr header;                                                                       \
    Elf##BITS##_Phdr segments[3];                                                                  \
    Elf##BITS##_Nhdr other;                                                                        \
    char other_name[4], other_contents[4];                                                         \
    Elf##BITS##_Nhdr note;                                                                         \
    char note_name[4];                                                                             \
    uint8_t build_id[20];                                                                          \
    Elf##BITS##_Dyn dynamic[3];                                                                    \
    char strings[16];                                                                              \
  } file_##BITS;                                                                                   \
                                                                                                   \
  static void make_##BITS(file_##BITS *f) {                                                        \
    memset(f, 0, sizeof *f);                                                                       \
    memcpy(f->header.e_ident, ELFMAG, SELFMAG);                                                    \
    f->header.e_ident[EI_CLASS] = ELFCLASS##BITS;                                                  \
    f->header.e_ident[EI_DATA] = HOST_ORDER;                                                       \
    f->header.e_phoff = offsetof(file_##BITS, segments);                                           \
    f->header.e_phentsize = sizeof f->segments[0];                                                 \
    f->header.e_phnum = 3;                                                                         \
    f->segments[0].p_type = PT_LOAD;                                                               \
    f->segments[0].p_vaddr = ADDRESS;                                                              \
    f->segments[0].p_filesz = sizeof *f;                                                           \
    f->segments[1].p_type = PT_NOTE;                                                               \
    f->segments[1].p_align = 4;                                                                    \
    f->segments[1].p_offset = offsetof(file_##BITS, other);                                        \
    f->segments[1].p_filesz = offsetof(file_##BITS, dynamic) - offsetof(file_##BITS, other);       \
    f->segments[2].p_type = PT_DYNAMIC;                                                            \
    f->segments[2].p_offset = offsetof(file_##BITS, dynamic);                                      \
    f->segments[2].p_filesz = sizeof f->dynamic;                                                   \
    f->other.n_namesz = 4;                                                                         \
    f->other.n_descsz = 2;                                                                         \
    f->other.n_type = NT_GNU_ABI_TAG;                                                              \
    memcpy(f->other_name, "GNU", 4);                                                               \
    f->note.n_namesz = 4;                                                                          \
    f->note.n_descsz = sizeof f->build_id;                                                         \
    f->note.n_type = NT_GNU_BUILD_ID;                                                              \
    memcpy(f->note_name, "GNU", 4);                                                                \
    for (uint8_t i = 0; i < sizeof f->build_id; i++) f->build_id[i] = i;                           \
    f->dynamic[0].d_tag = DT_SONAME;                                                               \
    f->dynamic[0].d_un.d_val = 1;                                                                  \
    f->dynamic[1].d_tag = DT_STRTAB;                                                               \
    f->dynamic[1].d_un.d_val = ADDRESS + offsetof(file_##BITS, strings);                           \
    memcpy(f->strings + 1, SONAME, sizeof SONAME);                                                 \
  }
MAKE(32)
MAKE(64)

/* In a block of exactly that size, so that a sanitizer sees a read beyond it. */
static void read_copy(const void *bytes, size_t n, assay_elf_file *out) {
  uint8_t *copy = malloc(n > 0 ? n : 1);
  assert_non_null(copy);
  memcpy(copy, bytes, n);
  assay_elf_read(copy, n, out);
  free(copy);
}

static void check_whole(const void *bytes, size_t n) {
  assay_elf_file found;
  read_copy(bytes, n, &found);
  assert_string_equal(found.build_id, BUILD_ID);
  assert_string_equal(found.soname, SONAME);
}

static void check_damage(const void *bytes, size_t n) {
  static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
  assay_elf_file found;
  uint8_t *copy = malloc(n);
  for (size_t cut = 0; cut < n; cut++) read_copy(bytes, cut, &found);
  for (size_t i = 0; i < n; i++) {
    for (size_t v = 0; v < sizeof values; v++) {
      memcpy(copy, bytes, n);
      copy[i] = values[v];
      read_copy(copy, n, &found);
      assert_true(strlen(found.build_id) % 2 == 0);
    }
  }
  free(copy);
}

static void reads_both_classes(void **state) {
  (void)state;
  file_32 small;
  file_64 large;
  make_32(&small);
  make_64(&large);
  check_whole(&small, sizeof small);
  check_whole(&large, sizeof large);
}

static void damage_is_survived(void **state) {
  (void)state;
  file_32 small;
  file_64 large;
  make_32(&small);
  make_64(&large);
  check_damage(&small, sizeof small);
  check_damage(&large, sizeof large);
}

static void what_is_not_there_is_empty(void **state) {
  (void)state;
  file_64 large;
  assay_elf_file found;
  make_64(&large);
  large.note.n_type = NT_GNU_ABI_TAG;
  large.dynamic[0].d_tag = DT_NULL;
  read_copy(&large, sizeof large, &found);
  assert_string_equal(found.build_id, "");
  assert_string_equal(found.soname, "");
  make_64(&large);
  large.header.e_ident[EI_DATA] = OTHER_ORDER;
  read_copy(&large, sizeof large, &found);
  assert_string_equal(found.soname, "");
  read_copy("#!/bin/sh\n", 10, &found);
  assert_string_equal(found.build_id, "");
  assay_elf_read(NULL, 0, &found);
  assay_elf_read_file("/nowhere/lib.so", &found);
  assert_string_equal(found.build_id, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_both_classes),
      cmocka_unit_test(damage_is_survived),
      cmocka_unit_test(what_is_not_there_is_empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
