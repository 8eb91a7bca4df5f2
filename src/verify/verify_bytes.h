/* The bytes of a package against its checksum tree. */
#ifndef ASSAY_VERIFY_VERIFY_BYTES_H
#define ASSAY_VERIFY_VERIFY_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "package/tree.h"
#include "verify/verify_findings.h"

/* Hashes every file below the package but package.json, on n_jobs threads, each once. With
 * `listed`, every difference from it is a problem: CHANGED, MISSING or EXTRA; NULL for an
 * unfinished package, which has no tree yet. *out_there is what there is, for later checks: a file
 * that could not be read has no digest. *out_n_bytes counts what was read. Errors: IO (a folder
 * cannot be listed), LIMIT, MEMORY. */
assay_status assay_verify_bytes(const char *package_path, const assay_tree *listed, size_t n_jobs,
                                assay_verify_findings *findings, assay_tree *out_there,
                                uint64_t *out_n_bytes, assay_error *err) ASSAY_NODISCARD;

#endif
