/* What CBLAS library this is, and how many threads it uses. OpenBLAS answers through functions of
 * its own, bound weakly so that any other CBLAS links too. */
#include <stdio.h>
#include <string.h>

#include "reference/ref_blas.h"

extern void openblas_set_num_threads(int n) __attribute__((weak));
extern char *openblas_get_config(void) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));

void ref_blas_use_one_thread(void) {
  if (openblas_set_num_threads != NULL) openblas_set_num_threads(1);
}

void ref_blas_describe(char *out, size_t out_bytes) {
  if (openblas_get_config == NULL || openblas_get_corename == NULL) {
    snprintf(out, out_bytes, "CBLAS");
    return;
  }
  /* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": the first two words */
  const char *config = openblas_get_config();
  size_t n = strcspn(config, " ");
  if (config[n] == ' ') n += 1 + strcspn(config + n + 1, " ");
  snprintf(out, out_bytes, "%.*s %s", (int)n, config, openblas_get_corename());
}
