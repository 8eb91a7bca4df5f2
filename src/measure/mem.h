/* Memory in use, read from outside the process that is measured (rule 5): resident memory of a
 * process, and device-wide used memory of every card that can be found. Each kind of memory is a
 * source: one table of functions, one file (mem_<vendor>.c), one row of assay_mem_sources. What
 * cannot be read is ASSAY_MEM_NONE with its reason, never zero.
 *
 * Nothing here opens a device: NVML and sysfs are asked, so that looking does not make assay one of
 * the device's users. */
#ifndef ASSAY_MEASURE_MEM_H
#define ASSAY_MEASURE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define ASSAY_MEM_NONE          INT64_C(-1) /* in place of a reading that could not be taken */
#define ASSAY_MEM_REASON_BYTES  192
#define ASSAY_MEM_PROCESSES_MAX 64 /* that one activity lists; all are counted */

/* Where the sources look. Zero values mean the system's own; tests point them at folders and a
 * library of theirs. Borrowed by assay_mem_open only. */
typedef struct assay_mem_config {
  const char *proc_folder;    /* NULL: /proc */
  const char *sys_folder;     /* NULL: /sys */
  const char *dev_folder;     /* NULL: /dev */
  const char *nvml_library;   /* NULL: libnvidia-ml.so.1 */
  const char *kernel_release; /* NULL: what uname says, "6.1.0-13-amd64" */
} assay_mem_config;

typedef struct assay_mem_reading {
  int64_t bytes; /* or ASSAY_MEM_NONE */
  char reason[ASSAY_MEM_REASON_BYTES];
} assay_mem_reading;

/* Whose memory is read, and what the figure counts. */
typedef struct assay_mem_target {
  const char *source; /* name of the source */
  bool is_process;    /* the attached process; everything else is a device */
  char key[48];       /* PCI address "0000:c1:00.0", of a slice of a card "0000:c1:00.0/mig0";
                         "" for the process */
  char name[96];      /* of the product; "" where it is not told */
  char uuid[96];      /* the same */
  char driver[64];    /* kernel driver and version, as far as told */
  int64_t total_bytes;
  char meaning[256];   /* what was asked, and what the answer counts; one line */
  int64_t slack_bytes; /* by how much the kernel's own counters may be off; NONE: not known */
} assay_mem_target;

typedef struct assay_mem_process {
  int64_t pid;
  int64_t used_bytes; /* of the device, or NONE */
  char name[32];      /* "" where it is not told */
} assay_mem_process;

/* Evidence of who else is on a device. */
typedef struct assay_mem_activity {
  assay_mem_reading used;
  int64_t busy_percent; /* or NONE */
  char busy_reason[ASSAY_MEM_REASON_BYTES];
  int64_t n_processes; /* that use the device, or NONE */
  bool is_whole;       /* the list would show every process: none in it means none there */
  char processes_reason[ASSAY_MEM_REASON_BYTES]; /* why there is no list, or why it is not whole */
  assay_mem_process processes[ASSAY_MEM_PROCESSES_MAX]; /* the first of them */
  size_t n_listed;
} assay_mem_activity;

/* One kind of memory. `state` is what open made; i < the count that open gave. Calls with one state
 * come from one thread at a time, but for attach, which may come while another thread reads. */
typedef struct assay_mem_source {
  const char *name; /* required: the word in files */
  /* required: finds what there is. Errors: MISSING (nothing of this kind here; the words say why),
   * MEMORY. */
  assay_status (*open)(const assay_mem_config *config, void **out_state, size_t *out_n,
                       assay_error *err);
  void (*close)(void *state);                                     /* required; accepts NULL */
  void (*describe)(void *state, size_t i, assay_mem_target *out); /* required; out is zeroed */
  void (*used)(void *state, size_t i, assay_mem_reading *out);    /* required: now, in bytes */
  /* optional: the process whose own figures are wanted; once */
  void (*attach)(void *state, int64_t pid);
  /* optional: largest `used` of the target's life, kept by the system */
  void (*high_water)(void *state, size_t i, assay_mem_reading *out);
  /* optional: the part of `used` that one process has */
  void (*of_process)(void *state, size_t i, int64_t pid, assay_mem_reading *out);
  /* optional: evidence of other users of a device; out is zeroed */
  void (*activity)(void *state, size_t i, assay_mem_activity *out);
} assay_mem_source;

extern const assay_mem_source assay_mem_proc, assay_mem_nvml, assay_mem_amd;

/* Every source, ended by NULL. The process comes first. */
extern const assay_mem_source *const assay_mem_sources[];

typedef struct assay_mem_absence {
  const char *source;
  char reason[ASSAY_MEM_REASON_BYTES];
} assay_mem_absence;

/* All sources, opened. */
typedef struct assay_mem assay_mem;

/* config may be NULL. A source that is not here is an absence and no error. Errors: MEMORY. */
assay_status assay_mem_open(const assay_mem_config *config, assay_mem **out,
                            assay_error *err) ASSAY_NODISCARD;
void assay_mem_close(assay_mem *mem);

size_t assay_mem_n_targets(const assay_mem *mem);
const assay_mem_target *assay_mem_target_at(const assay_mem *mem, size_t i); /* a view */
size_t assay_mem_n_absences(const assay_mem *mem);
const assay_mem_absence *assay_mem_absence_at(const assay_mem *mem, size_t i); /* a view */

/* As the members of assay_mem_source, over the targets of all sources. What a source does not offer
 * reads as unavailable. attach goes to every source that wants it. */
void assay_mem_attach(assay_mem *mem, int64_t pid);
void assay_mem_used(assay_mem *mem, size_t i, assay_mem_reading *out);
void assay_mem_high_water(assay_mem *mem, size_t i, assay_mem_reading *out);
bool assay_mem_tells_processes(const assay_mem *mem, size_t i); /* has of_process */
void assay_mem_of_process(assay_mem *mem, size_t i, int64_t pid, assay_mem_reading *out);
void assay_mem_activity_of(assay_mem *mem, size_t i, assay_mem_activity *out);

/* "yes": a whole list of processes is empty and the device is not busy. "no": a process is there,
 * or it is busy. "unknown": anything less than evidence. */
const char *assay_mem_idle_word(const assay_mem_activity *activity);

/* For sources: fills in one reading. */
void assay_mem_say(assay_mem_reading *out, int64_t bytes);
void assay_mem_say_none(assay_mem_reading *out, const char *format, ...) ASSAY_PRINTF(2, 3);
/* Adds a process to a list whose n_processes is not NONE; of one that is there already, its bytes
 * when they were not known. (Beyond the list's end the same process may count twice.) */
void assay_mem_add_process(assay_mem_activity *activity, int64_t pid, int64_t used_bytes,
                           const char *name);

#endif
