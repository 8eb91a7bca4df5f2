/* The stand-in for NVML: see fake_nvml.h. */
#include "measure/fake_nvml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DECLARE(symbol, member, parameters, required) nvml_return symbol parameters;
NVML_FUNCTIONS(DECLARE)
#undef DECLARE
const char *nvmlErrorString(nvml_return code);

static fake_nvml_world world;

fake_nvml_world *fake_nvml_get_world(void) {
  return &world;
}

static fake_nvml_device *of(nvml_device handle) {
  return (fake_nvml_device *)(void *)handle;
}

nvml_return nvmlInit_v2(void) {
  world.n_init++;
  return world.init_code;
}

nvml_return nvmlShutdown(void) {
  world.n_shutdown++;
  return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetCount_v2(unsigned *out) {
  *out = world.n_cards;
  return world.count_code;
}

nvml_return nvmlDeviceGetHandleByIndex_v2(unsigned i, nvml_device *out) {
  *out = (nvml_device)(void *)&world.cards[i];
  return world.cards[i].handle_code;
}

#ifndef FAKE_NVML_BARE
nvml_return nvmlDeviceGetPciInfo_v3(nvml_device device, nvml_pci *out) {
  memcpy(out->bus_id, of(device)->bus_id, sizeof out->bus_id);
  return of(device)->pci_code;
}
#endif

static void wait_a_little(void) {
  struct timespec delay = {.tv_nsec = world.delay_ns};
  if (world.delay_ns > 0) nanosleep(&delay, NULL);
}

nvml_return nvmlDeviceGetMemoryInfo(nvml_device device, nvml_memory *out) {
  const fake_nvml_device *d = of(device);
  world.n_memory++;
  wait_a_little();
  out->total = d->total;
  out->used = d->used + d->reserved;
  out->free = d->total - out->used;
  return d->memory_code;
}

static nvml_return copy_text(const char *text, char *out, unsigned out_bytes) {
  snprintf(out, out_bytes, "%s", text);
  return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetName(nvml_device device, char *out, unsigned out_bytes) {
  return copy_text(of(device)->name, out, out_bytes);
}

nvml_return nvmlDeviceGetUUID(nvml_device device, char *out, unsigned out_bytes) {
  return copy_text(of(device)->uuid, out, out_bytes);
}

nvml_return nvmlSystemGetDriverVersion(char *out, unsigned out_bytes) {
  return copy_text(world.driver, out, out_bytes);
}

nvml_return nvmlDeviceGetUtilizationRates(nvml_device device, nvml_utilization *out) {
  out->gpu = of(device)->busy;
  return of(device)->utilization_code;
}

#ifndef FAKE_NVML_OLD
nvml_return nvmlDeviceGetMemoryInfo_v2(nvml_device device, nvml_memory_v2 *out) {
  const fake_nvml_device *d = of(device);
  world.n_memory_v2++;
  if (out->version != 0x02000028u) return 25; /* NVML_ERROR_ARGUMENT_VERSION_MISMATCH */
  if (d->memory_v2_code != NVML_SUCCESS) return d->memory_v2_code;
  wait_a_little();
  out->total = d->total;
  out->reserved = d->reserved;
  out->used = d->rule == FAKE_NVML_WITH_RESERVE ? d->used + d->reserved : d->used;
  out->free = d->total - d->used - d->reserved - (d->rule == FAKE_NVML_OTHER_RULE ? 1 : 0);
  return NVML_SUCCESS;
}

/* As the real one: a size that is too small is told, and nothing filled in. */
static nvml_return list(const nvml_process *from, unsigned n, unsigned n_growing, unsigned *size,
                        nvml_process *out, nvml_return code) {
  if (code != NVML_SUCCESS) return code;
  unsigned told = out == NULL ? n - n_growing : n;
  unsigned room = *size;
  *size = told;
  if (told > 0 && (out == NULL || room < told)) return NVML_INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < told; i++) out[i] = from[i];
  return NVML_SUCCESS;
}

static nvml_return list_compute(nvml_device device, unsigned *size, nvml_process *out) {
  const fake_nvml_device *d = of(device);
  return list(d->compute, d->n_compute, d->n_growing, size, out, d->compute_code);
}

static nvml_return list_graphics(nvml_device device, unsigned *size, nvml_process *out) {
  const fake_nvml_device *d = of(device);
  return list(d->graphics, d->n_graphics, 0, size, out, d->graphics_code);
}

nvml_return nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned *size,
                                                    nvml_process *out) {
  world.n_lists_v3++;
  return list_compute(device, size, out);
}

nvml_return nvmlDeviceGetComputeRunningProcesses_v2(nvml_device device, unsigned *size,
                                                    nvml_process *out) {
  world.n_lists_v2++;
  return list_compute(device, size, out);
}

nvml_return nvmlDeviceGetGraphicsRunningProcesses_v3(nvml_device device, unsigned *size,
                                                     nvml_process *out) {
  return list_graphics(device, size, out);
}

nvml_return nvmlDeviceGetGraphicsRunningProcesses_v2(nvml_device device, unsigned *size,
                                                     nvml_process *out) {
  return list_graphics(device, size, out);
}

nvml_return nvmlDeviceGetMigMode(nvml_device device, unsigned *out, unsigned *out_pending) {
  *out = *out_pending = of(device)->is_cut != 0;
  return of(device)->mig_code;
}

nvml_return nvmlDeviceGetMaxMigDeviceCount(nvml_device device, unsigned *out) {
  *out = of(device)->n_slices;
  return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetMigDeviceHandleByIndex(nvml_device device, unsigned i, nvml_device *out) {
  fake_nvml_device *slice = &of(device)->slices[i];
  *out = (nvml_device)(void *)slice;
  return slice->handle_code;
}

nvml_return nvmlDeviceGetNumaNodeId(nvml_device device, unsigned *out) {
  *out = 1;
  return of(device)->has_numa ? NVML_SUCCESS : NVML_NOT_SUPPORTED;
}

const char *nvmlErrorString(nvml_return code) {
  switch (code) {
  case NVML_NO_PERMISSION:
    return "Insufficient Permissions";
  case NVML_DRIVER_NOT_LOADED:
    return "Driver Not Loaded";
  case NVML_GPU_IS_LOST:
    return "GPU is lost";
  default:
    return "Unknown Error";
  }
}
#endif
