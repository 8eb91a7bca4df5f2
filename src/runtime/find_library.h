/* Which ONNX Runtime library is meant: the one order in which assay looks for it. */
#ifndef ASSAY_RUNTIME_FIND_LIBRARY_H
#define ASSAY_RUNTIME_FIND_LIBRARY_H

#include <stddef.h>

#include "base/file.h"
#include "base/status.h"

/* The library to use, as a path (assay_free):
 *   1. asked_for, when it is not NULL: taken as it is, a name without a slash by the system's
 * loader
 *   2. $ASSAY_ORT, when it is set and not empty
 *   3. libonnxruntime.so* in deps/onnxruntime beside the program's folder
 * (<program>/../deps/onnxruntime), the newest
 *   4. what the system's loader finds as libonnxruntime.so.1 or libonnxruntime.so
 * Only 3 and 4 are checked for being there.
 * Errors: MISSING (nowhere: says where it was looked for and what to do), MEMORY. */
assay_status assay_find_library(const char *asked_for, char **out_path,
                                assay_error *err) ASSAY_NODISCARD;

/* <program>/../deps/<relative> (assay_free) where that is a file or a folder; NULL where there is
 * nothing. Errors: MEMORY. */
assay_status assay_find_in_deps(const char *relative, char **out_path,
                                assay_error *err) ASSAY_NODISCARD;

/* All of 2, 3 (each file) and 4 that are there, real paths, each once, in that order. Errors:
 * MEMORY. */
assay_status assay_find_libraries(assay_names *out, assay_error *err) ASSAY_NODISCARD;

#endif
