/* Whether a file can be a shared library of this machine, before the loader is given it: a library
 * that was cut short kills the process that opens it. */
#ifndef ASSAY_RUNTIME_SHARED_OBJECT_H
#define ASSAY_RUNTIME_SHARED_OBJECT_H

#include "base/status.h"

/* Errors: MISSING (not there, not an ELF shared object, for another machine, cut: what was expected
 * and found), IO (unreadable). */
assay_status assay_shared_object_check(const char *path, assay_error *err) ASSAY_NODISCARD;

#endif
