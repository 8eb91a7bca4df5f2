/* Which kernels this processor can run. See ref_kernels.h. */
#include <string.h>

#include "reference/ref_kernels.h"

static const ref_kernels *best_first(int i) {
#if defined(__x86_64__)
  if (i == 0) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma")
               ? &ref_kernels_avx512
               : NULL;
  }
  if (i == 1) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &ref_kernels_avx2
                                                                           : NULL;
  }
#endif
  return i == 2 ? &ref_kernels_baseline : NULL;
}

const ref_kernels *ref_kernels_find(const char *name) {
  for (int i = 0; i < 3; i++) {
    const ref_kernels *kernels = best_first(i);
    if (kernels != NULL && (name == NULL || strcmp(name, kernels->name) == 0)) return kernels;
  }
  return NULL;
}
