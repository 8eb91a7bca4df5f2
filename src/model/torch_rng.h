/* A clone of PyTorch's CPU random generator as far as initialising a model needs it, bit for bit as
 * torch 1.13 to 2.14 draw on x86-64 with AVX2 or later. Private to the room.
 *
 * Source: models.md C.5; MT19937 by Matsumoto and Nishimura (1998). */
#ifndef ASSAY_MODEL_TORCH_RNG_H
#define ASSAY_MODEL_TORCH_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TORCH_RNG_WORDS 624

typedef struct torch_rng {
  uint32_t state[TORCH_RNG_WORDS];
  int next;           /* index of the next word; TORCH_RNG_WORDS when a new block is due */
  double kept_normal; /* second value of the last scalar pair, for the next scalar normal */
  bool has_kept_normal;
} torch_rng;

/* torch.manual_seed(seed): the CPU generator uses the low 32 bits. */
void torch_rng_init(torch_rng *rng, uint64_t seed);

/* The next 32 tempered bits. */
uint32_t torch_rng_bits(torch_rng *rng);

/* torch.rand(1): 24 bits in [0, 1). */
float torch_rng_rand(torch_rng *rng);

/* tensor.uniform_(low, high) of n contiguous FP32 values. */
void torch_rng_uniform(torch_rng *rng, double low, double high, float *out, size_t n);

/* Draws n values and forgets them. */
void torch_rng_discard(torch_rng *rng, size_t n);

/* tensor.normal_(0, 1) of n contiguous FP32 values. Fewer than 16 are drawn one by one in double;
 * the second value of a pair that is not needed waits in the generator for the next such call. */
void torch_rng_normal(torch_rng *rng, float *out, size_t n);

/* torch.erfinv in FP32, |y| <= 1. */
float torch_erfinv(float y);

#endif
