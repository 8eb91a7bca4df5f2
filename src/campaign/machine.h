/* Provenance of the machine and of this process (rule 8), read from /proc and /sys. What cannot be
 * read is "unavailable", never made up. */
#ifndef ASSAY_CAMPAIGN_MACHINE_H
#define ASSAY_CAMPAIGN_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "campaign/digests.h"
#include "campaign/settings.h"

typedef struct assay_machine_library {
  char *path;      /* as mapped */
  char sha256[65]; /* of the file at that path now; "" when it cannot be read or is another file */
  uint64_t size_bytes;
  char build_id[ASSAY_ELF_BUILD_ID_BYTES]; /* "" without one */
  char soname[ASSAY_ELF_SONAME_BYTES];
} assay_machine_library;

typedef struct assay_machine_libraries {
  assay_machine_library *items; /* sorted by path */
  size_t n;
} assay_machine_libraries;

/* Every file that this process has mapped to execute, from the kernel's own list. digests spares
 * the hashing of what is known already. Errors: IO, MEMORY. */
assay_status assay_machine_mapped(assay_digests *digests, assay_machine_libraries *out,
                                  assay_error *err) ASSAY_NODISCARD;
void assay_machine_libraries_reset(assay_machine_libraries *libraries);

/* Variables that are known to change what runtimes compute or how fast, by name and prefix.
 * Source: traps.md section 3.1. */
assay_status assay_machine_environment(assay_settings *out, assay_error *err) ASSAY_NODISCARD;

/* The time, ISO 8601 in UTC: "2026-01-31T12:00:00.000Z". */
void assay_machine_now(char out[32]);

/* First line of a small file such as /proc/loadavg, without its end; "unavailable" when it cannot
 * be read. Released with assay_free; NULL when memory is out. */
char *assay_machine_line(const char *path) ASSAY_NODISCARD;
/* The rest of the first line of path that begins with key and a colon: "Cpus_allowed_list" of
 * /proc/self/status, "model name" of /proc/cpuinfo. As above. */
char *assay_machine_value(const char *path, const char *key) ASSAY_NODISCARD;

/* Writes folder/<id>.json (schema assay/machine/1) unless it is there, where the id comes from what
 * does not change between campaigns: host, processor, kernel, memory, system, and this program's
 * version, sources, compiler and flags. *out_name
 * ("<id>.json") is released with assay_free. Errors: IO, MEMORY. */
assay_status assay_machine_write(const char *folder, char **out_name,
                                 assay_error *err) ASSAY_NODISCARD;

#endif
