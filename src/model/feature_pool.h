/* A pool of rows that look like detector elements, and batches filled from it.
 *
 * The rows come from a file of the user's, or from a built-in deterministic generator that gives
 * the same bits on every machine. Dimension letters: M rows of the pool, B events, N padded length,
 * F features. */
#ifndef ASSAY_MODEL_FEATURE_POOL_H
#define ASSAY_MODEL_FEATURE_POOL_H

#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"
#include "model/mlpf_config.h"

#define ASSAY_POOL_BUILTIN_ROWS 1000
#define ASSAY_POOL_EVENT_STRIDE 389 /* rows between the starts of neighbouring events; a prime */

typedef struct assay_feature_pool {
  assay_tensor rows; /* [M,F] f32, finite, no element type 0 */
  char sha256[65];   /* of the rows' little-endian bytes */
  char source[256];  /* for a person: "pool 'builtin': …" */
} assay_feature_pool;

/* The built-in pool for the configuration's element types and F: types in realistic fractions, a
 * power law of pt up to 300 GeV and 500 GeV of energy, |eta| below 3 for tracks and below 5 for
 * calorimeters, phi uniform, energies from pt, eta and a mass, further features of order one and
 * exact zeros where an element type has none. Made with +, -, *, / and sqrt in double and one
 * rounding to FP32, so that no library's last bit matters. Errors: MEMORY. */
assay_status assay_feature_pool_init_builtin(const assay_mlpf_config *config,
                                             assay_feature_pool *out,
                                             assay_error *err) ASSAY_NODISCARD;

/* Takes the array X of a file (copied): [M,F] float32, M at least 1, all finite, no row of element
 * type 0, which marks padding. name is the file's, for messages and the source text. Errors:
 * FORMAT, MEMORY. */
assay_status assay_feature_pool_init_rows(const assay_mlpf_config *config, const assay_tensor *x,
                                          const char *name, assay_feature_pool *out,
                                          assay_error *err) ASSAY_NODISCARD;
void assay_feature_pool_reset(assay_feature_pool *pool);

/* Valid elements of a padded length: ceil(0.9 n), at least 1. The rest is padding on the right. */
int64_t assay_feature_pool_valid(int64_t n);

/* Event e, element i (below the valid count) is row (e * ASSAY_POOL_EVENT_STRIDE + i) mod M; the
 * padding is +0.0 and its mask 0. out_x     [B,N,F] f32, made here out_mask  [B,N] f32, made here
 * Errors: ARGUMENT (b or n below 1), LIMIT, MEMORY. */
assay_status assay_feature_pool_fill(const assay_feature_pool *pool, int64_t b, int64_t n,
                                     assay_tensor *out_x, assay_tensor *out_mask,
                                     assay_error *err) ASSAY_NODISCARD;

#endif
