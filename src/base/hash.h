/* SHA-256, by libcrypto. Hex digests are lower case, 64 digits and a zero. */
#ifndef ASSAY_BASE_HASH_H
#define ASSAY_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define ASSAY_SHA256_HEX_BYTES 65

typedef struct assay_sha256 assay_sha256; /* a running hash */

assay_status assay_sha256_create(assay_sha256 **out, assay_error *err) ASSAY_NODISCARD;
assay_status assay_sha256_update(assay_sha256 *hash, const void *bytes, size_t size_bytes,
                                 assay_error *err) ASSAY_NODISCARD;
assay_status assay_sha256_finish(assay_sha256 *hash, char out_hex[ASSAY_SHA256_HEX_BYTES],
                                 assay_error *err) ASSAY_NODISCARD;
void assay_sha256_destroy(assay_sha256 *hash);

assay_status assay_sha256_bytes(const void *bytes, size_t size_bytes,
                                char out_hex[ASSAY_SHA256_HEX_BYTES],
                                assay_error *err) ASSAY_NODISCARD;

/* Of a whole file, streamed; out_size_bytes may be NULL. Errors: IO, MEMORY. */
assay_status assay_sha256_file(const char *path, char out_hex[ASSAY_SHA256_HEX_BYTES],
                               uint64_t *out_size_bytes, assay_error *err) ASSAY_NODISCARD;

#endif
