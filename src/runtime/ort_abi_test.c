/* Our table of functions against the official header, where that is installed; otherwise skipped.
 */
#include "runtime/ort_abi.h"

#include <stdio.h>

#if defined __has_include
#if __has_include(<onnxruntime/onnxruntime_c_api.h>)
#include <onnxruntime/onnxruntime_c_api.h>
#define HAVE_OFFICIAL 1
#elif __has_include(<onnxruntime_c_api.h>)
#include <onnxruntime_c_api.h>
#define HAVE_OFFICIAL 1
#endif
#endif

#ifdef HAVE_OFFICIAL
int main(void) {
  int n_wrong = 0, n = 0;
#define COMPARE(slot, member)                                                                      \
  ++n;                                                                                             \
  if (offsetof(OrtApi, member) != offsetof(assay_ort_api, member)) {                               \
    printf("%s: official slot %zu, ours %zu\n", #member,                                           \
           offsetof(OrtApi, member) / sizeof(void *),                                              \
           offsetof(assay_ort_api, member) / sizeof(void *));                                      \
    ++n_wrong;                                                                                     \
  }
  ASSAY_ORT_ABI_MEMBERS(COMPARE)
#undef COMPARE
  static_assert(offsetof(OrtApiBase, GetApi) == offsetof(assay_ort_api_base, GetApi), "GetApi");
  static_assert(offsetof(OrtApiBase, GetVersionString) ==
                    offsetof(assay_ort_api_base, GetVersionString),
                "GetVersionString");
  static_assert((int)ORT_NO_SUCHFILE == (int)ASSAY_ORT_NO_SUCH_FILE, "error code");
  static_assert((int)ORT_SEQUENTIAL == (int)ASSAY_ORT_SEQUENTIAL, "execution mode");
  static_assert((int)OrtArenaAllocator == (int)ASSAY_ORT_ARENA_ALLOCATOR, "allocator type");
  static_assert((int)OrtMemTypeDefault == (int)ASSAY_ORT_MEMORY_DEFAULT, "memory type");
  static_assert((int)OrtMemoryInfoDeviceType_CPU == (int)ASSAY_ORT_DEVICE_CPU, "device type");
  printf("%d members compared with API version %d, %d differ\n", n, ORT_API_VERSION, n_wrong);
  return n_wrong != 0;
}
#else
int main(void) {
  puts("skipped: onnxruntime_c_api.h is not installed");
  return 77;
}
#endif
