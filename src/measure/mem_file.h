/* For memory sources: small files of /proc and /sys, which are remade at every reading. */
#ifndef ASSAY_MEASURE_MEM_FILE_H
#define ASSAY_MEASURE_MEM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/mem.h"

/* The file's first out_bytes - 1 bytes, zero-terminated; false with the reason (may be NULL)
 * [ASSAY_MEM_REASON_BYTES]. *out_n (may be NULL): how many. Never waits on a FIFO. */
bool assay_mem_file_text(const char *path, char *out, size_t out_bytes, size_t *out_n,
                         char *reason);

/* The file as one decimal number of bytes, or whatever it counts. */
void assay_mem_file_count(const char *path, assay_mem_reading *out);

/* "[0-9]+", then optional white space and a unit of KiB, MiB or GiB (none: bytes), then the end of
 * the line. NONE when it is not so or does not fit. Source: Linux, drm-usage-stats.rst. */
int64_t assay_mem_file_size(const char *text);

/* The rest of the line that starts with key, into out without white space around it; false when
 * there is none or it does not fit. */
bool assay_mem_file_value(const char *text, const char *key, char *out, size_t out_bytes);

/* True for a name that is a whole decimal number of at most 10 digits. */
bool assay_mem_file_pid(const char *name, int64_t *out);

/* Whether process ids here are those of the machine: a process in a namespace of its own sees
 * others under other numbers, or not at all. */
bool assay_mem_file_host_pids(const char *proc_folder);

/* Name of a process, printable; "" when it is not told. */
void assay_mem_file_comm(const char *proc_folder, int64_t pid, char *out, size_t out_bytes);

/* "dddd:bb:dd.f" in lower case from the same, or with a domain of 8 digits; false for anything
 * else. */
bool assay_mem_file_pci(const char *text, char out[16]);

#endif
