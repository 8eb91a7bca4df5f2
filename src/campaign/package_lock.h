/* One writer of a package at a time: an advisory lock on a file in it, which the kernel releases
 * with the process, so that none is ever stale. */
#ifndef ASSAY_CAMPAIGN_PACKAGE_LOCK_H
#define ASSAY_CAMPAIGN_PACKAGE_LOCK_H

#include "base/status.h"

#define ASSAY_PACKAGE_LOCK_FILE ".lock"

/* All zeroes holds nothing. */
typedef struct assay_package_lock {
  char *path; /* NULL: not held */
  int fd;
} assay_package_lock;

/* Errors: ARGUMENT (another process writes the package: its number), IO, MEMORY. */
assay_status assay_package_lock_take(const char *package_path, assay_package_lock *out,
                                     assay_error *err) ASSAY_NODISCARD;

/* Removes the file and lets go. */
void assay_package_lock_release(assay_package_lock *lock);

#endif
