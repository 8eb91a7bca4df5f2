/* See ref_hash.h. */
#include "reference/ref_hash.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* Every operation below must round to FP32 by itself; the build adds -ffp-contract=off for the same
 * reason. */
_Static_assert(FLT_EVAL_METHOD == 0, "FP32 operations must round to FP32");

static float phi_strict(float y, float x) {
  static const float coefficients[] = {
      /* highest power of s first */
      -0.0016024120850488544F, 0.010025539435446262F, -0.02944633550941944F,
      0.056127164512872696F,   -0.08289748430252075F, 0.1091027483344078F,
      -0.1425546258687973F,    0.19997620582580566F,  -0.3333326280117035F};
  const float half_pi = 1.57079632679489662F, pi = 3.14159265358979324F;
  float ax = fabsf(x), ay = fabsf(y);
  float larger = ax > ay ? ax : ay, smaller = ax > ay ? ay : ax;
  float q = larger == 0.0F ? 0.0F : smaller / larger;
  float s = q * q;
  float p = coefficients[0];
  for (size_t i = 1; i < sizeof coefficients / sizeof coefficients[0]; i++) {
    p = p * s;
    p = p + coefficients[i];
  }
  float r = q + (q * s) * p;
  if (ay > ax) r = half_pi - r;
  if (x < 0.0F) r = pi - r;
  if (y < 0.0F) r = -r;
  return r;
}

float ref_hash_phi(float y, float x, assay_mlpf_phi mode) {
  if (mode == ASSAY_MLPF_PHI_STRICT) return phi_strict(y, x);
  return (float)atan2((double)y, (double)x);
}

int64_t ref_hash_region_size(float region_count, int64_t n) {
  float reciprocal = 1.0F / region_count;
  float size = ceilf(reciprocal * (float)n);
  if (!(size < (float)n)) return n;
  return size < 1.0F ? 1 : (int64_t)size;
}

/* The bits of an FP32 value as an integer that orders as the value does; -0.0 as +0.0. */
static uint32_t sortable(float value) {
  float positive_zero = value + 0.0F;
  uint32_t bits;
  memcpy(&bits, &positive_zero, sizeof bits);
  return bits & 0x80000000U ? ~bits : bits | 0x80000000U;
}

/* Least significant digit first: stable in every pass, so stable altogether. */
enum { RADIX_BITS = 11, RADIX_SIZE = 1 << RADIX_BITS, RADIX_PASSES = 3 };

static void radix_pass(const uint32_t *keys, const int32_t *order, int64_t n, int shift,
                       uint32_t *out_keys, int32_t *out_order) {
  uint32_t start[RADIX_SIZE] = {0};
  for (int64_t i = 0; i < n; i++) start[(keys[i] >> shift) & (RADIX_SIZE - 1)]++;
  uint32_t sum = 0;
  for (int d = 0; d < RADIX_SIZE; d++) {
    uint32_t count = start[d];
    start[d] = sum;
    sum += count;
  }
  for (int64_t i = 0; i < n; i++) {
    uint32_t place = start[(keys[i] >> shift) & (RADIX_SIZE - 1)]++;
    out_keys[place] = keys[i];
    out_order[place] = order[i];
  }
}

void ref_hash_argsort(const float *values, int64_t n, const ref_hash_sort_space *space,
                      int32_t *out_order) {
  assert(n <= INT32_MAX);
  for (int64_t i = 0; i < n; i++) {
    space->keys[0][i] = sortable(values[i]);
    space->order[0][i] = (int32_t)i;
  }
  for (int pass = 0; pass < RADIX_PASSES; pass++) {
    int from = pass % 2, to = 1 - from;
    int32_t *target = pass == RADIX_PASSES - 1 ? out_order : space->order[to];
    radix_pass(space->keys[from], space->order[from], n, pass * RADIX_BITS, space->keys[to],
               target);
  }
}

void ref_hash_rank(const float *value, const float *mask, int64_t n, float *masked,
                   const ref_hash_sort_space *space, int32_t *order, int32_t *rank) {
  for (int64_t i = 0; i < n; i++) masked[i] = mask[i] == 0.0F ? INFINITY : value[i];
  ref_hash_argsort(masked, n, space, order);
  for (int64_t p = 0; p < n; p++) rank[order[p]] = (int32_t)p;
}

void ref_hash_keys(const ref_hash_function *function, const ref_hash_axis *eta,
                   const ref_hash_axis *phi, const float *mask, int64_t n, float *out_keys) {
  uint32_t size_eta = (uint32_t)ref_hash_region_size(function->region_eta, n);
  uint32_t size_phi = (uint32_t)ref_hash_region_size(function->region_phi, n);
  float lowest = INFINITY, highest = -INFINITY;
  for (int64_t i = 0; i < n; i++) { /* (26), (27): padding takes part in the range */
    float hash_eta = eta->value[i] * function->alpha_eta;
    float hash_phi = phi->value[i] * function->alpha_phi;
    float hash = hash_eta + hash_phi;
    if (hash < lowest) lowest = hash;
    if (hash > highest) highest = hash;
    out_keys[i] = hash;
  }
  float range = highest - lowest;
  float stride = ceilf(function->region_eta) + 1.0F; /* of phi regions: eta's count, as upstream */
  for (int64_t i = 0; i < n; i++) {
    float index_eta = (float)((uint32_t)eta->rank[i] / size_eta + 1);
    float index_phi = (float)((uint32_t)phi->rank[i] / size_phi + 1);
    float offset_phi = index_phi * range;
    float offset_eta = index_eta * range;
    offset_phi = offset_phi * stride;
    float offset = offset_phi + offset_eta;
    out_keys[i] = mask[i] == 0.0F ? INFINITY : out_keys[i] + offset; /* (28), (29) */
  }
}

int64_t ref_hash_ulp_gap(float a, float b) {
  int exponent = 0; /* of the larger magnitude m: 2^(exponent-1) <= m < 2^exponent */
  (void)frexpf(fmaxf(fabsf(a), fabsf(b)), &exponent);
  double unit = ldexp(1.0, exponent - 24 > -149 ? exponent - 24 : -149);
  return (int64_t)ceil(fabs((double)a - (double)b) / unit);
}

void ref_hash_margins_init(assay_ref_margins *margins) {
  *margins = (assay_ref_margins){.key_ulp = INT64_MAX,
                                 .rank_ulp = INT64_MAX,
                                 .key_layer = -1,
                                 .key_hash = -1,
                                 .key_head = -1,
                                 .key_event = -1};
}

/* The gap between positions p-1 and p of an order; INT64_MAX unless both elements are valid and
 * finite. */
static int64_t gap_at(const float *values, const int32_t *order, const float *mask, int64_t p) {
  int32_t left = order[p - 1], right = order[p];
  if (mask[left] == 0.0F || mask[right] == 0.0F) return INT64_MAX;
  if (!isfinite(values[left]) || !isfinite(values[right])) return INT64_MAX;
  return ref_hash_ulp_gap(values[left], values[right]);
}

static void add_ranks(assay_ref_margins *margins, const ref_hash_axis *axis, float region_count,
                      const float *mask, int64_t n) {
  int64_t size = ref_hash_region_size(region_count, n);
  for (int64_t p = size; p < n; p += size) {
    int64_t gap = gap_at(axis->value, axis->order, mask, p);
    if (gap == 0) margins->n_rank_ties++;
    if (gap < margins->rank_ulp) margins->rank_ulp = gap;
  }
}

void ref_hash_margins_add(assay_ref_margins *margins, const ref_hash_function *function,
                          const ref_hash_axis *eta, const ref_hash_axis *phi, const float *mask,
                          const float *keys, const int32_t *perm, int64_t n, int64_t block_size,
                          const ref_hash_place *place) {
  margins->present = true;
  add_ranks(margins, eta, function->region_eta, mask, n);
  add_ranks(margins, phi, function->region_phi, mask, n);
  for (int64_t p = block_size; p < n; p += block_size) {
    assay_ref_margins here;
    ref_hash_margins_init(&here);
    here.key_ulp = gap_at(keys, perm, mask, p);
    if (here.key_ulp == INT64_MAX) continue;
    here.n_key_ties = here.key_ulp == 0;
    here.key_layer = place->layer;
    here.key_hash = place->hash;
    here.key_head = place->head;
    here.key_event = place->event;
    ref_hash_margins_merge(margins, &here);
  }
}

/* Whether a's smallest key gap comes before b's: smaller, or as small and in an earlier place. */
static bool precedes(const assay_ref_margins *a, const assay_ref_margins *b) {
  const int64_t left[] = {a->key_ulp, a->key_layer, a->key_hash, a->key_head, a->key_event};
  const int64_t right[] = {b->key_ulp, b->key_layer, b->key_hash, b->key_head, b->key_event};
  for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
    if (left[i] != right[i]) return left[i] < right[i];
  }
  return false;
}

void ref_hash_margins_merge(assay_ref_margins *margins, const assay_ref_margins *other) {
  margins->present = margins->present || other->present;
  margins->n_key_ties += other->n_key_ties;
  margins->n_rank_ties += other->n_rank_ties;
  if (other->rank_ulp < margins->rank_ulp) margins->rank_ulp = other->rank_ulp;
  if (precedes(other, margins)) {
    margins->key_ulp = other->key_ulp;
    margins->key_layer = other->key_layer;
    margins->key_hash = other->key_hash;
    margins->key_head = other->key_head;
    margins->key_event = other->key_event;
  }
}
