/* HEPTv2's coordinates, ranks, regions, hash keys and permutations: models.md B.5 (14), B.6 and the
 * margins of B.10. FP32 whatever the precision of the run, each operation rounded (no FMA), sorts
 * stable.
 *
 * Letters: N elements of one event, padding included; R a region count; bs the block size. */
#ifndef ASSAY_REFERENCE_REF_HASH_H
#define ASSAY_REFERENCE_REF_HASH_H

#include <stdbool.h>
#include <stdint.h>

#include "model/mlpf_config.h"
#include "reference/ref_mlpf.h"

/* The angle of (x, y), in (-pi, pi]; 0 for (0, 0).
 * STRICT: the polynomial of models.md D.5 item 1 (error at most 2.7e-7; tests the sign of y by y <
 * 0, so -0.0 counts as positive). NATIVE: atan2 rounded correctly to FP32 (through the double
 * function, whose error is far below a unit of FP32). */
float ref_hash_phi(float y, float x, assay_mlpf_phi mode);

/* Elements per region: ceil(fl(fl(1/R) * fl(N))), models.md (24). R finite and positive; the result
 * is at least 1 and at most N (more would give the same regions). */
int64_t ref_hash_region_size(float region_count, int64_t n);

/* What a sort needs besides its input; each [N], the caller's. */
typedef struct ref_hash_sort_space {
  uint32_t *keys[2];
  int32_t *order[2];
} ref_hash_sort_space;

/* out_order[p] is the element at position p of the stable ascending sort of values (ties, and -0.0
 * with +0.0: lower index first; +inf last). NaN sorts after everything of its sign, without harm.
 */
void ref_hash_argsort(const float *values, int64_t n, const ref_hash_sort_space *space,
                      int32_t *out_order);

/* One coordinate of an event, ranked as models.md (23). All [N], borrowed. */
typedef struct ref_hash_axis {
  const float *value;   /* eta or phi; +0 at padding */
  const int32_t *order; /* stable argsort of where(m == 0, +inf, value) */
  const int32_t *rank;  /* its inverse */
} ref_hash_axis;

/* Fills order and rank. masked is scratch, [N]. */
void ref_hash_rank(const float *value, const float *mask, int64_t n, float *masked,
                   const ref_hash_sort_space *space, int32_t *order, int32_t *rank);

/* The numbers of one hash and head. */
typedef struct ref_hash_function {
  float region_eta, region_phi; /* R: regions[c,0,h] and regions[c,1,h] */
  float alpha_eta, alpha_phi;   /* e2lsh_new.alpha[h,0,c] and [h,1,c] */
} ref_hash_function;

/* Keys of models.md (25) to (29), [N]; +inf at padding. */
void ref_hash_keys(const ref_hash_function *function, const ref_hash_axis *eta,
                   const ref_hash_axis *phi, const float *mask, int64_t n, float *out_keys);

/* Distance of two finite values in units in the last place of the larger one, rounded up. */
int64_t ref_hash_ulp_gap(float a, float b);

/* No decision seen yet. */
void ref_hash_margins_init(assay_ref_margins *margins);

/* Takes in the decisions of one permutation: neighbours in key order on both sides of each bucket
 * boundary, and neighbours in eta and phi order on both sides of each region boundary; valid
 * elements only. `where` holds layer, hash, head and event. */
typedef struct ref_hash_place {
  int64_t layer, hash, head, event;
} ref_hash_place;
void ref_hash_margins_add(assay_ref_margins *margins, const ref_hash_function *function,
                          const ref_hash_axis *eta, const ref_hash_axis *phi, const float *mask,
                          const float *keys, const int32_t *perm, int64_t n, int64_t block_size,
                          const ref_hash_place *place);

/* Folds what another thread found into margins; the result does not depend on the order of folding.
 */
void ref_hash_margins_merge(assay_ref_margins *margins, const assay_ref_margins *other);

#endif
