/* Digests of files that do not change while a campaign runs, such as the libraries that every
 * worker maps: taken once, and believed again while the file is the same one by device, inode, size
 * and both its times. CUDA's libraries alone are gigabytes. */
#ifndef ASSAY_CAMPAIGN_DIGESTS_H
#define ASSAY_CAMPAIGN_DIGESTS_H

#include <stdint.h>

#include "base/status.h"
#include "campaign/elf_file.h"

typedef struct assay_digests assay_digests;

typedef struct assay_digest {
  char sha256[65];
  uint64_t size_bytes;
  uint64_t inode;     /* of the file that was hashed */
  assay_elf_file elf; /* all "" for what is no ELF file */
} assay_digest;

/* With what an earlier process saved in the file at path; one that is not there, or not as it was
 * written, is as good as empty. path NULL: remembers nothing beyond this object. Errors: MEMORY. */
assay_status assay_digests_open(const char *path, assay_digests **out,
                                assay_error *err) ASSAY_NODISCARD;

/* Of the regular file at path. A file that changed in the last seconds is hashed and not
 * remembered: the clock of a file system may not tell the next change from this one. Errors: IO,
 * MEMORY. */
assay_status assay_digests_of(assay_digests *digests, const char *path, assay_digest *out,
                              assay_error *err) ASSAY_NODISCARD;

/* Writes what is new to the file, if there is one. Errors: IO, MEMORY. */
assay_status assay_digests_save(assay_digests *digests, assay_error *err) ASSAY_NODISCARD;

void assay_digests_close(assay_digests *digests); /* NULL is fine; saves nothing */

#endif
