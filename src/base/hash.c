/* SHA-256, by libcrypto. */
#include "base/hash.h"

#include <openssl/evp.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/file.h"

struct assay_sha256 {
  EVP_MD_CTX *context;
};

assay_status assay_sha256_create(assay_sha256 **out, assay_error *err) {
  assay_sha256 *hash = assay_alloc(sizeof *hash);
  if (hash == NULL) return assay_fail_memory(err, sizeof *hash);
  hash->context = EVP_MD_CTX_new();
  if (hash->context == NULL || EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL) != 1) {
    assay_sha256_destroy(hash);
    return assay_fail(err, ASSAY_E_MEMORY, "libcrypto could not start SHA-256");
  }
  *out = hash;
  return ASSAY_OK;
}

assay_status assay_sha256_update(assay_sha256 *hash, const void *bytes, size_t size_bytes,
                                 assay_error *err) {
  if (size_bytes == 0) return ASSAY_OK;
  if (EVP_DigestUpdate(hash->context, bytes, size_bytes) != 1) {
    return assay_fail(err, ASSAY_E_INTERNAL, "libcrypto refused to go on with SHA-256");
  }
  return ASSAY_OK;
}

assay_status assay_sha256_finish(assay_sha256 *hash, char out_hex[ASSAY_SHA256_HEX_BYTES],
                                 assay_error *err) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int n = 0;
  if (EVP_DigestFinal_ex(hash->context, digest, &n) != 1 || n != 32) {
    return assay_fail(err, ASSAY_E_INTERNAL, "libcrypto refused to finish SHA-256");
  }
  for (unsigned int i = 0; i < n; i++) snprintf(out_hex + 2 * i, 3, "%02x", digest[i]);
  return ASSAY_OK;
}

void assay_sha256_destroy(assay_sha256 *hash) {
  if (hash == NULL) return;
  EVP_MD_CTX_free(hash->context);
  assay_free(hash);
}

assay_status assay_sha256_bytes(const void *bytes, size_t size_bytes,
                                char out_hex[ASSAY_SHA256_HEX_BYTES], assay_error *err) {
  assay_sha256 *hash = NULL;
  ASSAY_TRY(assay_sha256_create(&hash, err));
  assay_status st = assay_sha256_update(hash, bytes, size_bytes, err);
  if (!st) st = assay_sha256_finish(hash, out_hex, err);
  assay_sha256_destroy(hash);
  return st;
}

typedef struct file_hash {
  assay_sha256 *hash;
  uint64_t size_bytes;
} file_hash;

static assay_status hash_piece(void *arg, const void *bytes, size_t size_bytes, assay_error *err) {
  file_hash *state = arg;
  state->size_bytes += size_bytes;
  return assay_sha256_update(state->hash, bytes, size_bytes, err);
}

assay_status assay_sha256_file(const char *path, char out_hex[ASSAY_SHA256_HEX_BYTES],
                               uint64_t *out_size_bytes, assay_error *err) {
  file_hash state = {0};
  ASSAY_TRY(assay_sha256_create(&state.hash, err));
  assay_status st = assay_file_each(path, hash_piece, &state, err);
  if (!st) st = assay_sha256_finish(state.hash, out_hex, err);
  if (!st && out_size_bytes != NULL) *out_size_bytes = state.size_bytes;
  assay_sha256_destroy(state.hash);
  return st;
}
