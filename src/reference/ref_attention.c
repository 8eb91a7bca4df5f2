/* The attention backbone: models.md B.3 and B.4. A layer is two passes over the tiles: keys and
 * values of all rows must be there before the first query looks at them. */
#include <math.h>

#include "reference/ref_run.h"

void ref_attention_prepare(ref_run *run) {
  const assay_mlpf_config *c = run->config;
  int64_t heads = run->n_events * c->num_heads;
  bool mask_keys = c->key_mask == ASSAY_MLPF_KEY_MASK_ALL;
  run->n_slots = ref_whole_panels(run->n_elems);
  run->encoded = ref_arena_alloc(run->arena, run->n_rows * c->embedding_dim, sizeof(real));
  run->queries = ref_arena_alloc(run->arena, run->n_rows * c->embedding_dim, sizeof(real));
  run->keys = ref_arena_alloc(run->arena, heads * run->n_slots * c->head_dim, sizeof(real));
  run->values =
      ref_arena_alloc(run->arena, heads * run->n_slots * ref_padded_dim(c->head_dim), sizeof(real));
  run->slot = ref_arena_alloc(run->arena, run->n_rows, sizeof *run->slot);
  run->n_keys = ref_arena_alloc(run->arena, run->n_events, sizeof *run->n_keys);
  if (run->arena->status) return;
  for (int64_t b = 0; b < run->n_events; b++) {
    int64_t n = 0;
    for (int64_t row = b * run->n_elems; row < (b + 1) * run->n_elems; row++) {
      bool admitted = !mask_keys || run->mask[row] > 0;
      run->slot[row] = admitted ? (int32_t)n++ : -1;
    }
    run->n_keys[b] = n;
  }
}

/* Puts one projected row among the queries, keys and values of its event, head by head. */
static void place_row(ref_run *run, int64_t event, int64_t element, const real *q, const real *k,
                      const real *v) {
  int64_t d = run->config->head_dim, padded = ref_padded_dim(d);
  real scale = (real)(1 / sqrt((double)d));
  int64_t slot = run->slot[event * run->n_elems + element];
  for (int64_t h = 0; h < run->config->num_heads; h++, q += d, k += d, v += d) {
    int64_t head = event * run->config->num_heads + h;
    real *query = run->queries + (head * run->n_elems + element) * d;
    for (int64_t i = 0; i < d; i++) query[i] = q[i] * scale;
    if (slot < 0) continue;
    real *panel = run->keys + head * run->n_slots * d + slot / REF_PANEL * REF_PANEL * d;
    real *value = run->values + (head * run->n_slots + slot) * padded;
    for (int64_t i = 0; i < d; i++) panel[i * REF_PANEL + slot % REF_PANEL] = k[i];
    for (int64_t i = 0; i < d; i++) value[i] = v[i];
  }
}

/* (9), (10) and (5). The last layer asks with the encoder's output, which no norm has touched. */
static void project_tile(void *context, int64_t task, int thread) {
  ref_run *run = context;
  ref_scratch *scratch = &run->scratch[thread];
  const ref_tile tile = ref_run_tile(run, task);
  const ref_attention_layer *layer = &run->stack->attention[run->layer];
  const ref_linear *in = &layer->mha.in;
  int64_t e = run->config->embedding_dim;
  bool last = run->layer == run->config->num_convs - 1;
  const real *normed = scratch->input, *asking = last ? run->encoded + tile.row * e : normed;
  real *q = scratch->hidden, *kv = scratch->hidden2;
  ref_linear q_part = {e, e, in->weight, in->bias};
  ref_linear kv_part = {e, 2 * e, in->weight + e * e, in->bias + e};
  ref_layer_norm(run, &layer->norm0, run->x + tile.row * e, tile.n, scratch->input);
  ref_layer_linear(run, &q_part, asking, tile.n, REF_ACT_NONE, q);
  ref_layer_linear(run, &kv_part, normed, tile.n, REF_ACT_NONE, kv);
  for (int64_t i = 0; i < tile.n; i++) {
    const real *k = kv + i * 2 * e;
    place_row(run, tile.event, tile.first + i, q + i * e, k, k + e);
  }
}

/* (7): all heads of the tile's rows, side by side in out [n, E]. */
static void attend_tile(const ref_run *run, const ref_tile *tile, ref_scratch *scratch, real *out) {
  int64_t d = run->config->head_dim, e = run->config->embedding_dim;
  for (int64_t h = 0; h < run->config->num_heads; h++) {
    int64_t head = tile->event * run->config->num_heads + h;
    for (int64_t i = 0; i < tile->n; i += REF_QUERIES) {
      ref_attention attention = {
          .queries = run->queries + (head * run->n_elems + tile->first + i) * d,
          .n_queries = tile->n - i < REF_QUERIES ? tile->n - i : REF_QUERIES,
          .keys = run->keys + head * run->n_slots * d,
          .values = run->values + head * run->n_slots * ref_padded_dim(d),
          .n_keys = run->n_keys[tile->event],
          .dim = d,
          .out = out + i * e + h * d,
          .out_stride = e,
          .scratch = scratch->attention,
      };
      run->kernels->attend(&attention);
    }
  }
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
  for (int64_t i = 0; i < tile.n * e; i++) x[i] += scratch->output[i];
  ref_layer_ffn(run, &layer->norm1, &layer->ffn, &tile, scratch, x);
}

void ref_attention_layer_run(ref_run *run) {
  ref_run_tiles(run, project_tile);
  ref_run_tiles(run, finish_tile);
}
