/* The part of NVML's ABI that mem_nvml.c uses, opened at run time. Functions and structs of NVML
 * only ever get new versions under new names, so what is declared here holds for every driver.
 * Source: NVML API reference (docs.nvidia.com/deploy/nvml-api), nvml.h of CUDA 12. */
#ifndef ASSAY_MEASURE_NVML_ABI_H
#define ASSAY_MEASURE_NVML_ABI_H

typedef int nvml_return; /* nvmlReturn_t */
#define NVML_SUCCESS             0
#define NVML_NOT_SUPPORTED       3
#define NVML_NO_PERMISSION       4
#define NVML_NOT_FOUND           6
#define NVML_INSUFFICIENT_SIZE   7
#define NVML_DRIVER_NOT_LOADED   9
#define NVML_FUNCTION_NOT_FOUND  13
#define NVML_GPU_IS_LOST         15
#define NVML_UNKNOWN             999
#define NVML_VALUE_NOT_AVAILABLE (~0ULL)

typedef struct nvml_device_object *nvml_device; /* nvmlDevice_t */

typedef struct nvml_memory {
  unsigned long long total, free, used; /* bytes */
} nvml_memory;                          /* nvmlMemory_t */

typedef struct nvml_memory_v2 {
  unsigned version; /* NVML_MEMORY_V2 */
  unsigned long long total, reserved, free, used;
} nvml_memory_v2; /* nvmlMemory_v2_t */
#define NVML_MEMORY_V2 ((unsigned)sizeof(nvml_memory_v2) | 2u << 24)

typedef struct nvml_pci {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32]; /* "00000000:81:00.0" */
} nvml_pci;        /* nvmlPciInfo_t */

typedef struct nvml_utilization {
  unsigned gpu, memory; /* percent of the last sample period */
} nvml_utilization;     /* nvmlUtilization_t */

typedef struct nvml_process {
  unsigned pid;
  unsigned long long used_bytes; /* or NVML_VALUE_NOT_AVAILABLE */
  unsigned gpu_instance, compute_instance;
} nvml_process; /* nvmlProcessInfo_v2_t, which _v2 and _v3 of the calls fill in */

/* X(name in the library, member, parameters, required) */
#define NVML_FUNCTIONS(X)                                                                          \
  X(nvmlInit_v2, init, (void), true)                                                               \
  X(nvmlShutdown, shutdown, (void), true)                                                          \
  X(nvmlDeviceGetCount_v2, get_count, (unsigned *), true)                                          \
  X(nvmlDeviceGetHandleByIndex_v2, get_handle, (unsigned, nvml_device *), true)                    \
  X(nvmlDeviceGetPciInfo_v3, get_pci, (nvml_device, nvml_pci *), true)                             \
  X(nvmlDeviceGetMemoryInfo, get_memory, (nvml_device, nvml_memory *), true)                       \
  X(nvmlDeviceGetMemoryInfo_v2, get_memory_v2, (nvml_device, nvml_memory_v2 *), false)             \
  X(nvmlDeviceGetName, get_name, (nvml_device, char *, unsigned), false)                           \
  X(nvmlDeviceGetUUID, get_uuid, (nvml_device, char *, unsigned), false)                           \
  X(nvmlSystemGetDriverVersion, get_driver, (char *, unsigned), false)                             \
  X(nvmlDeviceGetUtilizationRates, get_utilization, (nvml_device, nvml_utilization *), false)      \
  X(nvmlDeviceGetComputeRunningProcesses_v3, get_compute_v3,                                       \
    (nvml_device, unsigned *, nvml_process *), false)                                              \
  X(nvmlDeviceGetComputeRunningProcesses_v2, get_compute_v2,                                       \
    (nvml_device, unsigned *, nvml_process *), false)                                              \
  X(nvmlDeviceGetGraphicsRunningProcesses_v3, get_graphics_v3,                                     \
    (nvml_device, unsigned *, nvml_process *), false)                                              \
  X(nvmlDeviceGetGraphicsRunningProcesses_v2, get_graphics_v2,                                     \
    (nvml_device, unsigned *, nvml_process *), false)                                              \
  X(nvmlDeviceGetMigMode, get_mig_mode, (nvml_device, unsigned *, unsigned *), false)              \
  X(nvmlDeviceGetMaxMigDeviceCount, get_mig_count, (nvml_device, unsigned *), false)               \
  X(nvmlDeviceGetMigDeviceHandleByIndex, get_mig, (nvml_device, unsigned, nvml_device *), false)   \
  X(nvmlDeviceGetNumaNodeId, get_numa, (nvml_device, unsigned *), false)

/* Takes and returns text, unlike the others. */
typedef const char *(*nvml_error_string)(nvml_return code); /* nvmlErrorString, optional */

#endif
