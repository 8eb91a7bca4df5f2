/* Where the self-test works: a folder for packages, in memory where that can be had, and one for
 * the script that stands in for the worker, which must let programs run. */
#ifndef ASSAY_SELFTEST_SELFTEST_FOLDERS_H
#define ASSAY_SELFTEST_SELFTEST_FOLDERS_H

#include "base/status.h"

/* All zeroes holds nothing. */
typedef struct selftest_folders {
  char root[192]; /* packages */
  char scripts[192];
  char script[224];
} selftest_folders;

/* Both under $TMPDIR where it is set; /dev/shm and /tmp otherwise. What was made before a failure
 * is close's to remove. Errors: IO, ARGUMENT (names too long). */
assay_status selftest_folders_open(selftest_folders *out, assay_error *err) ASSAY_NODISCARD;
void selftest_folders_close(selftest_folders *folders);

#endif
