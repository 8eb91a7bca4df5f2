/* The attention backbone: models.md B.3 and B.4. A layer is two passes over the tiles: keys and
 * values of all rows must be there before the first query looks at them. */

#include "reference/ref_run.h"

void ref_memory_prepare(ref_run *run, int64_t heads, int64_t dim, bool mask_keys, ref_memory *out) {
  int64_t n_slots = ref_whole_panels(run->n_elems), n = run->n_events * heads * n_slots;
  *out = (ref_memory){
      .heads = heads,
      .dim = dim,
      .n_slots = n_slots,
      .slot = ref_arena_alloc(run->arena, run->n_rows, sizeof *out->slot),
      .n_keys = ref_arena_alloc(run->arena, run->n_events, sizeof *out->n_keys),
      .keys = ref_arena_alloc(run->arena, n * dim, sizeof(real)),
      .values = ref_arena_alloc(run->arena, n * ref_padded_dim(dim), sizeof(real)),
  };
  if (run->arena->status) return;
  for (int64_t b = 0; b < run->n_events; b++) {
    for (int64_t row = b * run->n_elems; row < (b + 1) * run->n_elems; row++) {
      bool admitted = !mask_keys || run->mask[row] > 0;
      out->slot[row] = admitted ? (int32_t)out->n_keys[b]++ : -1;
    }
  }
}

void ref_memory_place(const ref_run *run, const ref_memory *memory, int64_t event, int64_t element,
                      const real *key, const real *value) {
  int64_t d = memory->dim, padded = ref_padded_dim(d);
  int64_t slot = memory->slot[event * run->n_elems + element];
  if (slot < 0) return;
  for (int64_t h = 0; h < memory->heads; h++, key += d, value += d) {
    int64_t head = event * memory->heads + h;
    real *panel = memory->keys + head * memory->n_slots * d + slot / REF_PANEL * REF_PANEL * d;
    real *to = memory->values + (head * memory->n_slots + slot) * padded;
    for (int64_t i = 0; i < d; i++) panel[i * REF_PANEL + slot % REF_PANEL] = key[i];
    for (int64_t i = 0; i < d; i++) to[i] = value[i];
  }
}

void ref_attention_prepare(ref_run *run) {
  const assay_mlpf_config *c = run->config;
  run->encoded = ref_arena_alloc(run->arena, run->n_rows * c->embedding_dim, sizeof(real));
  run->queries = ref_arena_alloc(run->arena, run->n_rows * c->embedding_dim, sizeof(real));
  ref_memory_prepare(run, c->num_heads, c->head_dim, c->key_mask == ASSAY_MLPF_KEY_MASK_ALL,
                     &run->memory);
}

/* Puts one projected row among the queries of its event, head by head. */
static void place_query(ref_run *run, int64_t event, int64_t element, const real *q, real scale) {
  int64_t d = run->config->head_dim;
  for (int64_t h = 0; h < run->config->num_heads; h++, q += d) {
    int64_t head = event * run->config->num_heads + h;
    real *query = run->queries + (head * run->n_elems + element) * d;
    for (int64_t i = 0; i < d; i++) query[i] = q[i] * scale;
  }
}

static bool has_half_weights(const ref_run *run) { /* as far as that makes a difference */
  return run->plan.backbone && run->plan.weights;
}

static ref_plan_scale scale_of(const ref_run *run) {
  return ref_plan_scale_of(run->config->head_dim, has_half_weights(run) && run->plan.scores);
}

/* (9), (10) and (5). The last layer asks with the encoder's output, which no norm has touched, and
 * which nothing else needs any more: where attention is half it is rounded in place. */
static void project_tile(void *context, int64_t task, int thread) {
  ref_run *run = context;
  ref_scratch *scratch = &run->scratch[thread];
  const ref_tile tile = ref_run_tile(run, task);
  const ref_attention_layer *layer = &run->stack->attention[run->layer];
  const ref_linear *in = &layer->mha.in;
  int64_t e = run->config->embedding_dim;
  bool last = run->layer == run->config->num_convs - 1;
  real *normed = scratch->input, *asking = last ? run->encoded + tile.row * e : normed;
  real *q = scratch->hidden, *kv = scratch->hidden2;
  ref_linear q_part = {e, e, in->weight, in->bias, in->half};
  ref_linear kv_part = {e, 2 * e, in->weight + e * e, in->bias + e, in->half};
  real scale = (real)scale_of(run).of_queries;
  ref_layer_norm(run, &layer->norm0, run->x + tile.row * e, tile.n, normed);
  ref_layer_round(run, in->half, normed, tile.n * e);
  if (last) ref_layer_round(run, in->half, asking, tile.n * e);
  ref_layer_linear(run, &q_part, asking, tile.n, REF_ACT_NONE, q);
  ref_layer_linear(run, &kv_part, normed, tile.n, REF_ACT_NONE, kv);
  ref_layer_store(run, in->half && (!last || run->plan.last_queries), q, tile.n * e);
  ref_layer_store(run, in->half, kv, tile.n * 2 * e);
  for (int64_t i = 0; i < tile.n; i++) {
    const real *k = kv + i * 2 * e;
    place_query(run, tile.event, tile.first + i, q + i * e, scale);
    ref_memory_place(run, &run->memory, tile.event, tile.first + i, k, k + e);
  }
}

/* (7): all heads of the tile's rows, side by side in out [n, E]. */
static void attend_tile(const ref_run *run, const ref_tile *tile, ref_scratch *scratch, real *out) {
  const ref_memory *memory = &run->memory;
  int64_t d = memory->dim, e = run->config->embedding_dim;
  bool half = has_half_weights(run);
  for (int64_t h = 0; h < memory->heads; h++) {
    int64_t head = tile->event * memory->heads + h;
    for (int64_t i = 0; i < tile->n; i += REF_QUERIES) {
      ref_attention attention = {
          .queries = run->queries + (head * run->n_elems + tile->first + i) * d,
          .n_queries = tile->n - i < REF_QUERIES ? tile->n - i : REF_QUERIES,
          .keys = memory->keys + head * memory->n_slots * d,
          .values = memory->values + head * memory->n_slots * ref_padded_dim(d),
          .n_keys = memory->n_keys[tile->event],
          .dim = d,
          .out = out + i * e + h * d,
          .out_stride = e,
          .half_scores = run->plan.scores,
          .score_scale = (real)scale_of(run).of_scores,
          .half_sums = run->plan.sums,
          .scratch = scratch->attention,
      };
      (half ? run->kernels->attend_half : run->kernels->attend)(&attention);
    }
  }
  ref_layer_store(run, run->plan.backbone && run->plan.gathered, out, tile->n * e);
}

/* (8), (11) and (12). */
static void finish_tile(void *context, int64_t task, int thread) {
  ref_run *run = context;
  ref_scratch *scratch = &run->scratch[thread];
  const ref_tile tile = ref_run_tile(run, task);
  const ref_attention_layer *layer = &run->stack->attention[run->layer];
  int64_t e = run->config->embedding_dim;
  real *x = run->x + tile.row * e;
  attend_tile(run, &tile, scratch, scratch->input);
  ref_layer_linear(run, &layer->mha.out, scratch->input, tile.n, REF_ACT_NONE, scratch->output);
  ref_run_keep(run, REF_TAP_ATTENTION, &tile, scratch->output);
  for (int64_t i = 0; i < tile.n * e; i++) x[i] += scratch->output[i];
  ref_layer_ffn(run, &layer->norm1, &layer->ffn, &tile, scratch, x);
}

void ref_attention_layer_run(ref_run *run) {
  ref_run_tiles(run, project_tile);
  ref_run_tiles(run, finish_tile);
}
