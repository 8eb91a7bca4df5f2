/* A pretended HIP device, preloaded in front of libamdhip64 by scripts/check-migraphx-compiler.sh:
 * MIGraphX then compiles for the architecture that $STAND_IN_ARCH names (default gfx1100) on a
 * machine without a GPU. Compiler, code generation, memory plan and trace are MIGraphX's own;
 * nothing is ever executed.
 *
 * Only what MIGraphX, rocBLAS and MIOpen call on the host while they compile: one device with 48
 * GiB; "device memory" is host memory, and only pointers from here count as the device's; handles
 * are blocks that mean nothing; code objects are not loaded, launches do nothing, an event lasts
 * 1 ms. Source: the declarations of hip_runtime_api.h (HIP 6), against which this compiles. */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_BYTES ((size_t)48 << 30)
#define BLOCKS_MAX   (1 << 16)

static const char *arch(void) {
  const char *name = getenv("STAND_IN_ARCH");
  return name != NULL ? name : "gfx1100";
}

/* --- the device ------------------------------------------------------------------------------- */

/* Limits of an RDNA 3 card, near enough for a compiler; wavefronts are 64 wide on gfx9. */
static void describe(hipDeviceProp_t *p) {
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "stand-in for %s", arch());
  snprintf(p->gcnArchName, sizeof p->gcnArchName, "%s", arch());
  p->warpSize = strncmp(arch(), "gfx9", 4) == 0 ? 64 : 32;
  p->multiProcessorCount = 48;
  p->totalGlobalMem = MEMORY_BYTES;
  p->sharedMemPerBlock = p->maxSharedMemoryPerMultiProcessor = 64 << 10;
  p->regsPerBlock = 64 << 10;
  p->l2CacheSize = 6 << 20;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  for (int axis = 0; axis < 3; axis++) {
    p->maxThreadsDim[axis] = 1024;
    p->maxGridSize[axis] = 0x7fffffff;
  }
  p->clockRate = 1760000;
  p->memoryClockRate = 1124000;
  p->memoryBusWidth = 384;
  p->major = 11;
  p->canMapHostMemory = p->unifiedAddressing = 1;
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *out, int device) {
  (void)device;
  describe(out);
  return hipSuccess;
}

hipError_t hipDeviceGetAttribute(int *out, hipDeviceAttribute_t attribute, int device) {
  hipDeviceProp_t p;
  (void)device;
  describe(&p);
  *out = attribute == hipDeviceAttributeMultiprocessorCount       ? p.multiProcessorCount
         : attribute == hipDeviceAttributeWarpSize                ? p.warpSize
         : attribute == hipDeviceAttributeMaxThreadsPerBlock      ? p.maxThreadsPerBlock
         : attribute == hipDeviceAttributeMaxSharedMemoryPerBlock ? (int)p.sharedMemPerBlock
                                                                  : 0;
  return hipSuccess;
}

hipError_t hipMemGetInfo(size_t *out_free, size_t *out_total) {
  *out_free = *out_total = MEMORY_BYTES;
  return hipSuccess;
}

hipError_t hipGetDeviceCount(int *out) {
  *out = 1;
  return hipSuccess;
}

hipError_t hipGetDevice(int *out) {
  *out = 0;
  return hipSuccess;
}

hipError_t hipDeviceGet(hipDevice_t *out, int ordinal) {
  *out = ordinal;
  return hipSuccess;
}

/* --- memory ----------------------------------------------------------------------------------- */

static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  char *start;
  size_t size_bytes;
} blocks[BLOCKS_MAX];
static int n_blocks;

static int block_of(const void *address) {
  for (int i = 0; i < n_blocks; i++)
    if ((const char *)address >= blocks[i].start &&
        (const char *)address < blocks[i].start + blocks[i].size_bytes)
      return i;
  return -1;
}

hipError_t hipMalloc(void **out, size_t size_bytes) {
  size_t rounded = (size_bytes + 511) / 256 * 256;
  hipError_t status = hipErrorOutOfMemory;
  pthread_mutex_lock(&blocks_lock);
  *out = n_blocks < BLOCKS_MAX ? aligned_alloc(256, rounded) : NULL;
  if (*out != NULL) {
    blocks[n_blocks].start = *out;
    blocks[n_blocks++].size_bytes = rounded;
    status = hipSuccess;
  }
  pthread_mutex_unlock(&blocks_lock);
  return status;
}

hipError_t hipFree(void *block) {
  pthread_mutex_lock(&blocks_lock);
  int i = block != NULL ? block_of(block) : -1;
  if (i >= 0) blocks[i] = blocks[--n_blocks];
  pthread_mutex_unlock(&blocks_lock);
  free(block);
  return hipSuccess;
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t *out, const void *address) {
  pthread_mutex_lock(&blocks_lock);
  bool ours = block_of(address) >= 0;
  pthread_mutex_unlock(&blocks_lock);
  memset(out, 0, sizeof *out);
  if (!ours) return hipErrorInvalidValue;
  out->type = hipMemoryTypeDevice;
  memcpy(&out->devicePointer, &address, sizeof address);
  return hipSuccess;
}

hipError_t hipHostMalloc(void **out, size_t size_bytes, unsigned flags) {
  (void)flags;
  return hipMalloc(out, size_bytes);
}

hipError_t hipHostFree(void *block) {
  return hipFree(block);
}

hipError_t hipMallocAsync(void **out, size_t size_bytes, hipStream_t stream) {
  (void)stream;
  return hipMalloc(out, size_bytes);
}

hipError_t hipFreeAsync(void *block, hipStream_t stream) {
  (void)stream;
  return hipFree(block);
}

hipError_t hipHostGetDevicePointer(void **out, void *address, unsigned flags) {
  (void)flags;
  *out = address;
  return hipSuccess;
}

hipError_t hipMemcpy(void *to, const void *from, size_t size_bytes, hipMemcpyKind kind) {
  (void)kind;
  memcpy(to, from, size_bytes);
  return hipSuccess;
}

hipError_t hipMemcpyAsync(void *to, const void *from, size_t size_bytes, hipMemcpyKind kind,
                          hipStream_t stream) {
  (void)stream;
  return hipMemcpy(to, from, size_bytes, kind);
}

hipError_t hipMemset(void *to, int value, size_t size_bytes) {
  memset(to, value, size_bytes);
  return hipSuccess;
}

hipError_t hipMemsetAsync(void *to, int value, size_t size_bytes, hipStream_t stream) {
  (void)stream;
  return hipMemset(to, value, size_bytes);
}

/* --- handles ---------------------------------------------------------------------------------- */

/* Every handle type is a pointer to something that only the library knows. */
static hipError_t make_handle(void *out) {
  void *block = calloc(1, 64);
  memcpy(out, &block, sizeof block);
  return block != NULL ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t hipStreamCreate(hipStream_t *out) {
  return make_handle(out);
}

hipError_t hipStreamCreateWithFlags(hipStream_t *out, unsigned flags) {
  (void)flags;
  return make_handle(out);
}

hipError_t hipStreamDestroy(hipStream_t stream) {
  free(stream);
  return hipSuccess;
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *out) {
  (void)stream;
  *out = hipStreamCaptureStatusNone;
  return hipSuccess;
}

hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *out) {
  (void)stream;
  *out = 0;
  return hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t *out) {
  return make_handle(out);
}

hipError_t hipEventCreateWithFlags(hipEvent_t *out, unsigned flags) {
  (void)flags;
  return make_handle(out);
}

hipError_t hipEventDestroy(hipEvent_t event) {
  free(event);
  return hipSuccess;
}

hipError_t hipEventElapsedTime(float *out_ms, hipEvent_t from, hipEvent_t to) {
  (void)from, (void)to;
  *out_ms = 1.0f;
  return hipSuccess;
}

hipError_t hipModuleLoadData(hipModule_t *out, const void *image) {
  (void)image;
  return make_handle(out);
}

hipError_t hipModuleLoad(hipModule_t *out, const char *path) {
  (void)path;
  return make_handle(out);
}

hipError_t hipModuleUnload(hipModule_t module) {
  free(module);
  return hipSuccess;
}

hipError_t hipModuleGetFunction(hipFunction_t *out, hipModule_t module, const char *name) {
  (void)module, (void)name;
  return make_handle(out);
}

hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *out, int device) {
  (void)device;
  return make_handle(out);
}

/* --- calls without an effect ------------------------------------------------------------------ */

#define DOES_NOTHING(name, parameters, unused)                                                     \
  hipError_t name parameters {                                                                     \
    unused;                                                                                        \
    return hipSuccess;                                                                             \
  }
DOES_NOTHING(hipInit, (unsigned flags), (void)flags)
DOES_NOTHING(hipSetDevice, (int device), (void)device)
DOES_NOTHING(hipDeviceSynchronize, (void), (void)0)
DOES_NOTHING(hipGetLastError, (void), (void)0)
DOES_NOTHING(hipHostRegister, (void *p, size_t n, unsigned f), ((void)p, (void)n, (void)f))
DOES_NOTHING(hipHostUnregister, (void *p), (void)p)
DOES_NOTHING(hipStreamSynchronize, (hipStream_t s), (void)s)
DOES_NOTHING(hipStreamWaitEvent, (hipStream_t s, hipEvent_t e, unsigned f),
             ((void)s, (void)e, (void)f))
DOES_NOTHING(hipEventRecord, (hipEvent_t e, hipStream_t s), ((void)e, (void)s))
DOES_NOTHING(hipEventSynchronize, (hipEvent_t e), (void)e)
DOES_NOTHING(hipMemPoolSetAttribute, (hipMemPool_t p, hipMemPoolAttr a, void *v),
             ((void)p, (void)a, (void)v))
DOES_NOTHING(hipMemPoolGetAttribute, (hipMemPool_t p, hipMemPoolAttr a, void *v),
             ((void)p, (void)a, (void)v))
DOES_NOTHING(hipLaunchKernel, (const void *f, dim3 g, dim3 b, void **a, size_t n, hipStream_t s),
             ((void)f, (void)g, (void)b, (void)a, (void)n, (void)s))
DOES_NOTHING(hipModuleLaunchKernel,
             (hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
              unsigned bz, unsigned n, hipStream_t s, void **a, void **e),
             ((void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)n, (void)s,
              (void)a, (void)e))

/* hipExtModuleLaunchKernel, a C++ function, by its mangled name: its arguments are not looked at.
 */
hipError_t
_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    void);
hipError_t
_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    void) {
  return hipSuccess;
}
