/* Which kernels this processor can run. See ref_kernels.h. */
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "reference/ref_kernels.h"

#if defined(__x86_64__)
/* Conversions to FP16, which __builtin_cpu_supports does not know in every compiler. The system's
 * support of wide registers is that of AVX2, asked beside. */
static bool has_f16c(void) {
  unsigned a, b, c = 0, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}
#endif

static const ref_kernels *best_first(int i) {
#if defined(__x86_64__)
  if (i == 0) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma")
               ? &ref_kernels_avx512
               : NULL;
  }
  if (i == 1) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c()
               ? &ref_kernels_avx2
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
