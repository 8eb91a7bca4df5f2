/* The HEPTv2 backbone: models.md B.5, with the hashing of ref_hash.h. */
#include <math.h>
#include <string.h>

#include "reference/ref_run.h"

static void prepare_scratch(ref_run *run, ref_scratch *scratch) {
  const assay_mlpf_config *c = run->config;
  int64_t n = run->n_elems, d = c->head_dim, slots = ref_whole_panels(c->block_size);
  for (int i = 0; i < 2; i++) {
    scratch->sort.keys[i] = ref_arena_alloc(run->arena, n, sizeof(uint32_t));
    scratch->sort.order[i] = ref_arena_alloc(run->arena, n, sizeof(int32_t));
  }
  scratch->keys = ref_arena_alloc(run->arena, n, sizeof(float));
  scratch->bucket_queries = ref_arena_alloc(run->arena, c->block_size * d, sizeof(real));
  scratch->bucket_keys = ref_arena_alloc(run->arena, slots * d, sizeof(real));
  scratch->bucket_values = ref_arena_alloc(run->arena, slots * ref_padded_dim(d), sizeof(real));
  scratch->bucket_out = ref_arena_alloc(run->arena, c->block_size * d, sizeof(real));
  scratch->bucket_lse = ref_arena_alloc(run->arena, c->block_size, sizeof(real));
  scratch->hash_out = ref_arena_alloc(run->arena, c->n_hashes * n * d, sizeof(real));
  scratch->hash_lse = ref_arena_alloc(run->arena, c->n_hashes * n, sizeof(real));
  scratch->lse_highest = ref_arena_alloc(run->arena, n, sizeof(real));
  scratch->weight_sum = ref_arena_alloc(run->arena, n, sizeof(real));
  ref_hash_margins_init(&scratch->margins);
}

static ref_hash_axis axis_of_event(const ref_run *run, int64_t event, bool is_eta) {
  int64_t at = event * run->n_elems;
  return (ref_hash_axis){.value = (is_eta ? run->eta : run->phi) + at,
                         .order = (is_eta ? run->eta_order : run->phi_order) + at,
                         .rank = (is_eta ? run->eta_rank : run->phi_rank) + at};
}

/* (14) and (23): coordinates and ranks of one event. */
static void rank_event(void *context, int64_t event, int thread) {
  ref_run *run = context;
  ref_scratch *scratch = &run->scratch[thread];
  int64_t n = run->n_elems, f = run->config->input_dim, at = event * n;
  for (int64_t row = at; row < at + n; row++) {
    const float *x = run->features + row * f;
    bool valid = run->mask[row] > 0;
    run->eta[row] = valid ? x[2] : 0;
    run->phi[row] = valid ? ref_hash_phi(x[3], x[4], run->config->phi) : 0;
  }
  ref_hash_rank(run->eta + at, run->mask + at, n, scratch->keys, &scratch->sort,
                run->eta_order + at, run->eta_rank + at);
  ref_hash_rank(run->phi + at, run->mask + at, n, scratch->keys, &scratch->sort,
                run->phi_order + at, run->phi_rank + at);
}

void ref_heptv2_prepare(ref_run *run, int threads) {
  int64_t n_values = run->n_rows * run->config->embedding_dim;
  run->queries = ref_arena_alloc(run->arena, n_values, sizeof(real));
  run->keys = ref_arena_alloc(run->arena, n_values, sizeof(real));
  run->values = ref_arena_alloc(run->arena, n_values, sizeof(real));
  run->merged = ref_arena_alloc(run->arena, n_values, sizeof(real));
  run->eta = ref_arena_alloc(run->arena, run->n_rows, sizeof(float));
  run->phi = ref_arena_alloc(run->arena, run->n_rows, sizeof(float));
  run->eta_order = ref_arena_alloc(run->arena, run->n_rows, sizeof(int32_t));
  run->eta_rank = ref_arena_alloc(run->arena, run->n_rows, sizeof(int32_t));
  run->phi_order = ref_arena_alloc(run->arena, run->n_rows, sizeof(int32_t));
  run->phi_rank = ref_arena_alloc(run->arena, run->n_rows, sizeof(int32_t));
  for (int i = 0; i < threads; i++) prepare_scratch(run, &run->scratch[i]);
  if (run->arena->status) return;
  ref_pool_run(run->pool, run->n_events, rank_event, run);
}

/* x [n, E] by rows to out [B, H, N, d] by heads, times scale. */
static void split_heads(const ref_run *run, const ref_tile *tile, const real *x, real scale,
                        real *out) {
  int64_t heads = run->config->num_heads, d = run->config->head_dim;
  for (int64_t i = 0; i < tile->n; i++) {
    for (int64_t h = 0; h < heads; h++, x += d) {
      int64_t head = tile->event * heads + h;
      real *to = out + (head * run->n_elems + tile->first + i) * d;
      for (int64_t j = 0; j < d; j++) to[j] = x[j] * scale;
    }
  }
}

/* out [n, E] = x + PE: (15). Coordinates are the FP32 ones in either precision. */
static void add_positions(const ref_run *run, const ref_heptv2_layer *layer, const ref_tile *tile,
                          ref_scratch *scratch, const real *x, real *out) {
  int64_t e = run->config->embedding_dim;
  real *coordinates = scratch->output;
  for (int64_t i = 0; i < tile->n; i++) {
    coordinates[2 * i] = (real)run->eta[tile->row + i];
    coordinates[2 * i + 1] = (real)run->phi[tile->row + i];
  }
  ref_layer_linear(run, &layer->position_in, coordinates, tile->n, REF_ACT_NONE, scratch->hidden);
  ref_layer_norm(run, &layer->position_norm, scratch->hidden, tile->n, scratch->hidden);
  run->kernels->bias_act(scratch->hidden, /*bias=*/NULL, tile->n, layer->position_norm.dim,
                         REF_ACT_SILU);
  ref_layer_linear(run, &layer->position_out, scratch->hidden, tile->n, REF_ACT_NONE, out);
  for (int64_t i = 0; i < tile->n * e; i++) out[i] += x[i];
}

/* Norms, and 1/sqrt(d), are FP32 inside half attention too, and rounded after that. projected
 * [n, E] is overwritten. */
static void normalise_heads(const ref_run *run, const ref_norm *norm, const ref_tile *tile,
                            real scale, real *projected, real *out) {
  int64_t n = tile->n * run->config->embedding_dim;
  ref_layer_norm(run, norm, projected, tile->n * run->config->num_heads, projected);
  if (run->plan.backbone) {
    for (int64_t i = 0; i < n; i++) projected[i] *= scale;
    ref_layer_store(run, /*half=*/true, projected, n);
    scale = 1;
  }
  split_heads(run, tile, projected, scale, out);
}

/* (15) to (17), q with the factor 1/sqrt(d) of (18). */
static void project_tile(void *context, int64_t task, int thread) {
  ref_run *run = context;
  ref_scratch *scratch = &run->scratch[thread];
  const ref_tile tile = ref_run_tile(run, task);
  const ref_heptv2_layer *layer = &run->stack->heptv2[run->layer];
  const assay_mlpf_config *c = run->config;
  const real *x = run->x + tile.row * c->embedding_dim;
  real *u = scratch->input, *projected = scratch->kept;
  if (c->learned_positions) {
    add_positions(run, layer, &tile, scratch, x, u);
    ref_layer_norm(run, &layer->norm1, u, tile.n, u);
  } else {
    ref_layer_norm(run, &layer->norm1, x, tile.n, u);
  }
  ref_layer_round(run, layer->q.half, u, tile.n * c->embedding_dim);
  int64_t n = tile.n * c->embedding_dim;
  ref_layer_linear(run, &layer->q, u, tile.n, REF_ACT_NONE, projected);
  ref_layer_store(run, layer->q.half, projected, n);
  normalise_heads(run, &layer->q_norm, &tile, (real)(1 / sqrt((double)c->head_dim)), projected,
                  run->queries);
  ref_layer_linear(run, &layer->k, u, tile.n, REF_ACT_NONE, projected);
  ref_layer_store(run, layer->k.half, projected, n);
  normalise_heads(run, &layer->k_norm, &tile, /*scale=*/1, projected, run->keys);
  ref_layer_linear(run, &layer->v, u, tile.n, REF_ACT_NONE, projected);
  ref_layer_store(run, layer->v.half, projected, n);
  split_heads(run, &tile, projected, /*scale=*/1, run->values);
}

/* B.6 for task = (c*H + h)*B + b, whose permutation has that place in run->perm. */
static void sort_event(void *context, int64_t task, int thread) {
  ref_run *run = context;
  ref_scratch *scratch = &run->scratch[thread];
  const ref_heptv2_layer *layer = &run->stack->heptv2[run->layer];
  int64_t heads = run->config->num_heads, hashes = run->config->n_hashes, n = run->n_elems;
  const ref_hash_place place = {.layer = run->perm_layer,
                                .hash = task / run->n_events / heads,
                                .head = task / run->n_events % heads,
                                .event = task % run->n_events};
  const ref_hash_function function = {
      .region_eta = layer->regions[(place.hash * 2 + 0) * heads + place.head],
      .region_phi = layer->regions[(place.hash * 2 + 1) * heads + place.head],
      .alpha_eta = layer->alpha[(place.head * 2 + 0) * hashes + place.hash],
      .alpha_phi = layer->alpha[(place.head * 2 + 1) * hashes + place.hash],
  };
  const ref_hash_axis eta = axis_of_event(run, place.event, /*is_eta=*/true);
  const ref_hash_axis phi = axis_of_event(run, place.event, /*is_eta=*/false);
  const float *mask = run->mask + place.event * n;
  int32_t *perm = run->perm + task * n;
  ref_hash_keys(&function, &eta, &phi, mask, n, scratch->keys);
  ref_hash_argsort(scratch->keys, n, &scratch->sort, perm);
  ref_hash_margins_add(&scratch->margins, &function, &eta, &phi, mask, scratch->keys, perm, n,
                       run->config->block_size, &place);
}

/* Gathers the queries, keys and values of a bucket's elements; returns how many keys are admitted.
 * With key mask `all` masked keys are left out instead of scoring -10000: their weights would be
 * exactly zero beside any valid key, and a bucket without one has only rows that (22) clears. */
static int64_t gather_bucket(const ref_run *run, int64_t event, int64_t head,
                             const int32_t *elements, ref_scratch *scratch) {
  int64_t d = run->config->head_dim, padded = ref_padded_dim(d), bs = run->config->block_size;
  int64_t n_slots = ref_whole_panels(bs), n_keys = 0;
  bool mask_keys = run->config->key_mask == ASSAY_MLPF_KEY_MASK_ALL;
  for (int64_t i = 0; i < bs; i++) {
    int64_t at = (head * run->n_elems + elements[i]) * d;
    memcpy(scratch->bucket_queries + i * d, run->queries + at, (size_t)d * sizeof(real));
    if (mask_keys && run->mask[event * run->n_elems + elements[i]] == 0) continue;
    real *panel = scratch->bucket_keys + n_keys / REF_PANEL * REF_PANEL * d + n_keys % REF_PANEL;
    for (int64_t j = 0; j < d; j++) panel[j * REF_PANEL] = run->keys[at + j];
    memcpy(scratch->bucket_values + n_keys * padded, run->values + at, (size_t)d * sizeof(real));
    n_keys++;
  }
  for (int64_t k = n_keys; k < n_slots; k++) { /* what an earlier bucket left there */
    real *panel = scratch->bucket_keys + k / REF_PANEL * REF_PANEL * d + k % REF_PANEL;
    for (int64_t j = 0; j < d; j++) panel[j * REF_PANEL] = 0;
    memset(scratch->bucket_values + k * padded, 0, (size_t)padded * sizeof(real));
  }
  return n_keys;
}

/* (18) and (19): the buckets of one hash; out [N, d] and lse [N] in element order. */
static void attend_buckets(const ref_run *run, int64_t event, int64_t head, const int32_t *perm,
                           ref_scratch *scratch, real *out, real *lse) {
  int64_t d = run->config->head_dim, bs = run->config->block_size;
  bool half = run->plan.backbone && !run->plan.stored;
  for (int64_t first = 0; first < run->n_elems; first += bs) {
    int64_t n_keys = gather_bucket(run, event, head, perm + first, scratch);
    for (int64_t i = 0; i < bs; i += REF_QUERIES) {
      ref_attention attention = {
          .queries = scratch->bucket_queries + i * d,
          .n_queries = bs - i < REF_QUERIES ? bs - i : REF_QUERIES,
          .keys = scratch->bucket_keys,
          .values = scratch->bucket_values,
          .n_keys = n_keys,
          .dim = d,
          .out = scratch->bucket_out + i * d,
          .out_stride = d,
          .lse = scratch->bucket_lse + i,
          .half_scores = true,
          .score_scale = 1,
          .half_sums = run->plan.sums,
          .scratch = scratch->attention,
      };
      (half ? run->kernels->attend_half : run->kernels->attend)(&attention);
    }
    ref_layer_store(run, run->plan.backbone, scratch->bucket_out, bs * d);
    for (int64_t i = 0; i < bs; i++) {
      int64_t element = perm[first + i];
      memcpy(out + element * d, scratch->bucket_out + i * d, (size_t)d * sizeof(real));
      lse[element] = scratch->bucket_lse[i];
    }
  }
}

/* (20): softmax over the hashes of lse weighs their outputs. out rows are E apart. */
static void merge_hashes(const ref_run *run, ref_scratch *scratch, real *out) {
  int64_t n = run->n_elems, d = run->config->head_dim, e = run->config->embedding_dim;
  int64_t hashes = run->config->n_hashes;
  memcpy(scratch->lse_highest, scratch->hash_lse, (size_t)n * sizeof(real));
  for (int64_t c = 1; c < hashes; c++) {
    for (int64_t i = 0; i < n; i++) {
      real lse = scratch->hash_lse[c * n + i];
      if (lse > scratch->lse_highest[i]) scratch->lse_highest[i] = lse;
    }
  }
  memset(scratch->weight_sum, 0, (size_t)n * sizeof(real));
  for (int64_t c = 0; c < hashes; c++) {
    run->kernels->exp_shifted(scratch->hash_lse + c * n, scratch->lse_highest, n);
    for (int64_t i = 0; i < n; i++) scratch->weight_sum[i] += scratch->hash_lse[c * n + i];
  }
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < d; j++) out[i * e + j] = 0;
    for (int64_t c = 0; c < hashes; c++) {
      real weight = scratch->hash_lse[c * n + i] / scratch->weight_sum[i];
      const real *from = scratch->hash_out + (c * n + i) * d;
      for (int64_t j = 0; j < d; j++) out[i * e + j] += weight * from[j];
    }
  }
}

/* (18) to (20) for task = b*H + h. */
static void attend_head(void *context, int64_t task, int thread) {
  ref_run *run = context;
  ref_scratch *scratch = &run->scratch[thread];
  int64_t heads = run->config->num_heads, n = run->n_elems, d = run->config->head_dim;
  int64_t event = task / heads, head = task % heads;
  for (int64_t c = 0; c < run->config->n_hashes; c++) {
    const int32_t *perm = run->perm + ((c * heads + head) * run->n_events + event) * n;
    attend_buckets(run, event, task, perm, scratch, scratch->hash_out + c * n * d,
                   scratch->hash_lse + c * n);
  }
  merge_hashes(run, scratch, run->merged + event * n * run->config->embedding_dim + head * d);
}

/* (21) and (22). */
static void finish_tile(void *context, int64_t task, int thread) {
  ref_run *run = context;
  ref_scratch *scratch = &run->scratch[thread];
  const ref_tile tile = ref_run_tile(run, task);
  const ref_heptv2_layer *layer = &run->stack->heptv2[run->layer];
  int64_t e = run->config->embedding_dim;
  real *x = run->x + tile.row * e, *merged = run->merged + tile.row * e, *z = scratch->input;
  ref_layer_store(run, layer->out.half, merged, tile.n * e);
  ref_layer_linear(run, &layer->out, merged, tile.n, REF_ACT_NONE, scratch->output);
  ref_run_keep(run, REF_TAP_ATTENTION, &tile, scratch->output);
  for (int64_t i = 0; i < tile.n * e; i++) x[i] += scratch->output[i];
  ref_layer_norm(run, &layer->norm2, x, tile.n, z);
  ref_layer_linear(run, &layer->gate, z, tile.n, REF_ACT_NONE, scratch->hidden);
  ref_layer_linear(run, &layer->up, z, tile.n, REF_ACT_NONE, scratch->hidden2);
  run->kernels->gated_silu(scratch->hidden, scratch->hidden2, tile.n * layer->gate.n_out);
  ref_layer_linear(run, &layer->down, scratch->hidden, tile.n, REF_ACT_NONE, scratch->output);
  for (int64_t i = 0; i < tile.n; i++) {
    bool valid = run->mask[tile.row + i] > 0;
    for (int64_t j = i * e; j < (i + 1) * e; j++) x[j] = valid ? x[j] + scratch->output[j] : 0;
  }
}

void ref_heptv2_layer_run(ref_run *run) {
  const assay_mlpf_config *c = run->config;
  ref_run_tiles(run, project_tile);
  ref_pool_run(run->pool, c->n_hashes * c->num_heads * run->n_events, sort_event, run);
  ref_pool_run(run->pool, run->n_events * c->num_heads, attend_head, run);
  ref_run_tiles(run, finish_tile);
}
