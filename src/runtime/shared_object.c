/* ELF headers and segments, as far as the loader trusts them. Source: the ELF-64 object file
 * format, System V ABI. */
#include "runtime/shared_object.h"

#include <elf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/file.h"

#if defined(__x86_64__)
#define OUR_MACHINE      EM_X86_64
#define OUR_MACHINE_NAME "x86-64"
#elif defined(__aarch64__)
#define OUR_MACHINE      EM_AARCH64
#define OUR_MACHINE_NAME "aarch64"
#else
#define OUR_MACHINE      EM_NONE /* not checked */
#define OUR_MACHINE_NAME "this machine"
#endif

static assay_status refuse(assay_error *err, const char *path, const char *why) {
  return assay_fail(err, ASSAY_E_MISSING, "'%s' is not a shared library: %s", path, why);
}

static assay_status check_header(const char *path, const assay_file_map *map, Elf64_Ehdr *out,
                                 assay_error *err) {
  if (map->size_bytes == 0) return refuse(err, path, "the file is empty");
  if (map->size_bytes < SELFMAG || memcmp(map->data, ELFMAG, SELFMAG) != 0)
    return refuse(err, path, "it does not begin as an ELF file");
  if (map->size_bytes < sizeof *out) return refuse(err, path, "it ends within the ELF header");
  memcpy(out, map->data, sizeof *out);
  if (out->e_ident[EI_CLASS] != ELFCLASS64 || out->e_ident[EI_DATA] != ELFDATA2LSB)
    return refuse(err, path, "not 64-bit little-endian ELF");
  if (out->e_type != ET_DYN) return refuse(err, path, "an ELF file of another kind");
  if (OUR_MACHINE != EM_NONE && out->e_machine != OUR_MACHINE)
    return assay_fail(err, ASSAY_E_MISSING,
                      "'%s' is built for another machine (ELF machine %u), this one is %s", path,
                      (unsigned)out->e_machine, OUR_MACHINE_NAME);
  return ASSAY_OK;
}

/* Every byte that the loader would map must be in the file. */
static assay_status check_segments(const char *path, const assay_file_map *map,
                                   const Elf64_Ehdr *header, assay_error *err) {
  if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff > map->size_bytes ||
      (map->size_bytes - header->e_phoff) / sizeof(Elf64_Phdr) < header->e_phnum)
    return refuse(err, path, "it ends within the table of segments");
  for (size_t i = 0; i < header->e_phnum; ++i) {
    Elf64_Phdr segment;
    memcpy(&segment, map->data + header->e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
    bool fits = segment.p_offset <= map->size_bytes &&
                segment.p_filesz <= map->size_bytes - segment.p_offset;
    if (!fits)
      return assay_fail(err, ASSAY_E_MISSING,
                        "'%s' is cut: segment %zu wants %" PRIu64 " bytes from %" PRIu64
                        ", the file has %zu bytes; fetch it again",
                        path, i, (uint64_t)segment.p_filesz, (uint64_t)segment.p_offset,
                        map->size_bytes);
  }
  return ASSAY_OK;
}

assay_status assay_shared_object_check(const char *path, assay_error *err) {
  assay_path_kind kind = assay_path_kind_of(path);
  if (kind == ASSAY_PATH_NONE) return assay_fail(err, ASSAY_E_MISSING, "'%s' is not there", path);
  if (kind != ASSAY_PATH_FILE) return assay_fail(err, ASSAY_E_MISSING, "'%s' is not a file", path);
  assay_file_map map = {0};
  ASSAY_TRY(assay_file_map_open(path, &map, err));
  Elf64_Ehdr header;
  assay_status st = check_header(path, &map, &header, err);
  if (!st) st = check_segments(path, &map, &header, err);
  assay_file_map_close(&map);
  return st;
}
