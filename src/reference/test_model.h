/* Small models and generated events for the tests of this room. */
#ifndef ASSAY_REFERENCE_TEST_MODEL_H
#define ASSAY_REFERENCE_TEST_MODEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/mlpf_config.h"
#include "model/mlpf_params.h"
#include "reference/ref_mlpf.h"

#define TEST_HELPER static inline __attribute__((unused))

TEST_HELPER void check_ok(assay_status st, const assay_error *err) {
  if (st) fail_msg("%s: %s", assay_status_name(st), err->text);
}

/* models.md section G: a counter hashed to 24 bits. */
TEST_HELPER float generated(uint32_t i) {
  uint32_t x = i * 2654435761U;
  x ^= x >> 16;
  x *= 2246822519U;
  x ^= x >> 13;
  x *= 3266489917U;
  x ^= x >> 16;
  return (float)(x >> 8) * 0x1p-24F;
}

typedef struct event_batch {
  assay_tensor x, mask; /* [B,N,F], [B,N] */
} event_batch;

/* Rows as section G makes them; the first valid[b] of each event are valid, the rest +0. */
TEST_HELPER event_batch make_batch(const assay_mlpf_config *c, int64_t b, int64_t n,
                                   const int64_t *valid) {
  event_batch batch = {0};
  assay_error err = {0};
  int64_t f = c->input_dim;
  check_ok(assay_tensor_init(&batch.x, ASSAY_DTYPE_F32, 3, (int64_t[]){b, n, f}, &err), &err);
  check_ok(assay_tensor_init(&batch.mask, ASSAY_DTYPE_F32, 2, (int64_t[]){b, n}, &err), &err);
  for (int64_t row = 0; row < b * n; row++) {
    if (row % n >= valid[row / n]) continue;
    float u[64], *x = assay_tensor_f32(&batch.x) + row * f;
    assert_true(f <= 64);
    for (int64_t j = 0; j < f; j++) u[j] = generated((uint32_t)(row * f + j + 1));
    int64_t type = (int64_t)(u[0] * (float)c->n_elemtypes);
    x[0] = (float)c->elemtypes[type < c->n_elemtypes ? type : c->n_elemtypes - 1];
    x[1] = 0.5F + 4.0F * u[1];
    x[2] = 5.0F * u[2] - 2.5F;
    x[3] = 2.0F * u[3] - 1.0F;
    x[4] = 2.0F * u[4] - 1.0F;
    x[5] = x[1] * (1.0F + 2.0F * u[5]);
    for (int64_t j = 6; j < f; j++) x[j] = 4.0F * u[j] - 2.0F;
    assay_tensor_f32(&batch.mask)[row] = 1.0F;
  }
  return batch;
}

TEST_HELPER void free_batch(event_batch *batch) {
  assay_tensor_reset(&batch->x);
  assay_tensor_reset(&batch->mask);
}

TEST_HELPER assay_mlpf_config preset(const char *arch, const char *name) {
  assay_mlpf_config config;
  assay_error err = {0};
  check_ok(assay_mlpf_config_init_preset(arch, name, &config, &err), &err);
  return config;
}

TEST_HELPER assay_tensor_map seeded(assay_mlpf_config *config, uint64_t seed) {
  assay_tensor_map weights = {0};
  assay_error err = {0};
  check_ok(assay_mlpf_config_check(config, &err), &err);
  check_ok(assay_mlpf_seed_weights(config, seed, &weights, /*next=*/NULL, &err), &err);
  return weights;
}

/* A model that is evaluated in no time, of either architecture. */
TEST_HELPER assay_mlpf_config small(const char *arch) {
  assay_mlpf_config config = preset(arch, "cld");
  config.num_convs = 2;
  config.num_heads = 4;
  config.head_dim = 8;
  config.embedding_dim = 32;
  config.width = arch[0] == 'a' ? 32 : 48;
  config.block_size = 20;
  config.ff_hidden = 0; /* recomputed */
  config.task_queries = false;
  return config;
}

static const char *const head_names[] = {"bid", "id", "momentum", "pu"};

TEST_HELPER const assay_tensor *head(const assay_ref_outputs *outputs, const char *name) {
  const assay_tensor *tensor = assay_tensor_map_find(&outputs->heads, name);
  assert_non_null(tensor);
  return tensor;
}

#endif
