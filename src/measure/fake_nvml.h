/* A stand-in for NVML, built by the tests as shared libraries: what it tells is set by whoever
 * opens it. Variants lack functions: FAKE_NVML_OLD those of newer drivers, FAKE_NVML_BARE one that
 * is needed. */
#ifndef ASSAY_MEASURE_FAKE_NVML_H
#define ASSAY_MEASURE_FAKE_NVML_H

#include "measure/nvml_abi.h"

#define FAKE_NVML_CARDS     4
#define FAKE_NVML_SLICES    4
#define FAKE_NVML_PROCESSES 8

typedef enum fake_nvml_rule {
  FAKE_NVML_WITHOUT_RESERVE, /* v2: used leaves the reserve out, as real drivers do */
  FAKE_NVML_WITH_RESERVE,
  FAKE_NVML_OTHER_RULE,
} fake_nvml_rule;

/* A card or a slice. Codes of zero are success. */
typedef struct fake_nvml_device {
  char bus_id[32], name[96], uuid[96];
  unsigned long long total, reserved, used; /* used: without the reserve */
  fake_nvml_rule rule;
  nvml_return handle_code, memory_code, memory_v2_code, pci_code, utilization_code, compute_code,
      graphics_code, mig_code;
  unsigned busy;
  int is_cut; /* MIG mode */
  unsigned n_slices;
  struct fake_nvml_device *slices; /* one whose handle_code is set cannot be had */
  nvml_process compute[FAKE_NVML_PROCESSES], graphics[FAKE_NVML_PROCESSES];
  unsigned n_compute, n_graphics;
  unsigned n_growing; /* processes more in the list than its size said */
  int has_numa;
} fake_nvml_device;

typedef struct fake_nvml_world {
  nvml_return init_code, count_code;
  char driver[80];
  unsigned n_cards;
  fake_nvml_device cards[FAKE_NVML_CARDS];
  long delay_ns;          /* of every reading of memory */
  int n_init, n_shutdown; /* calls */
  int n_memory, n_memory_v2, n_lists_v2, n_lists_v3;
} fake_nvml_world;

typedef fake_nvml_world *(*fake_nvml_world_call)(void);
fake_nvml_world *fake_nvml_get_world(void);

#endif
