/* Who uses an AMD card, and how much of its memory: DRM's fdinfo files and the compute driver's
 * (KFD) folders. Part of the source mem_amd.c. */
#ifndef ASSAY_MEASURE_MEM_AMD_USERS_H
#define ASSAY_MEASURE_MEM_AMD_USERS_H

#include "measure/mem.h"

/* What is looked for: one card. Strings are borrowed. */
typedef struct assay_mem_amd_card {
  const char *proc_folder, *sys_folder;
  const char *pci;    /* "0000:c1:00.0" */
  bool is_integrated; /* its memory is VRAM and GTT together */
  int64_t kfd_id;     /* gpu_id of the KFD topology, or 0 */
} assay_mem_amd_card;

/* gpu_id of the card in sys/class/kfd/kfd/topology/nodes, or 0. */
int64_t assay_mem_amd_kfd_id(const char *sys_folder, const char *pci);

/* Memory that the process holds on the card: over its fdinfo files, each client id once. */
void assay_mem_amd_of_process(const assay_mem_amd_card *card, int64_t pid, assay_mem_reading *out);

/* Every process that can be seen: those of KFD, and those with a DRM client of the card. Fills in
 * n_processes, is_whole, processes_reason and the list. */
void assay_mem_amd_users(const assay_mem_amd_card *card, assay_mem_activity *out);

#endif
