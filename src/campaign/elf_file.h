/* What an ELF file says of itself: its build id and its soname. Enough to tell two builds of one
 * library apart, and to see that two files claim to be the same one. */
#ifndef ASSAY_CAMPAIGN_ELF_FILE_H
#define ASSAY_CAMPAIGN_ELF_FILE_H

#include <stddef.h>
#include <stdint.h>

#define ASSAY_ELF_BUILD_ID_BYTES 129 /* 64 bytes in hex and a zero; linkers write 8 to 20 */
#define ASSAY_ELF_SONAME_BYTES   256

typedef struct assay_elf_file {
  char build_id[ASSAY_ELF_BUILD_ID_BYTES]; /* lower-case hex; "" without one */
  char soname[ASSAY_ELF_SONAME_BYTES];     /* printable; "" without one */
} assay_elf_file;

/* Both of the file's bytes; "" for what is not there, cut, or not ELF of this machine's byte order.
 * Source: System V gABI, chapters 4 and 5 (program headers, notes, dynamic section); the note is
 * NT_GNU_BUILD_ID of owner "GNU". */
void assay_elf_read(const uint8_t *bytes, size_t size_bytes, assay_elf_file *out);

/* The same of the file at path; all "" when it cannot be read. */
void assay_elf_read_file(const char *path, assay_elf_file *out);

#endif
