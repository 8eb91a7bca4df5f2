/* The attention of the task readouts: models.md B.7 (32). One learned query a task looks at all
 * valid elements of an event; what it finds is added to every row.
 *
 * With one query, projecting it is cheaper than projecting all keys and values. For head h with the
 * rows Wk, bk, Wv, bv of in_proj, and n[i] = LN(f[i]):
 *
 *   q·(Wk n[i] + bk) = (Wk^T q)·n[i] + q·bk
 *
 * whose last term is the same for all i and leaves the softmax, and
 *
 *   sum_i p[i] (Wv n[i] + bv) = Wv (sum_i p[i] n[i]) + bv
 *
 * as sum_i p[i] = 1. So a tile needs only scores [heads] and weighted sums of n. Tiles keep their
 * maximum, sum of exponentials and weighted sum of n; these are put together in the order of the
 * tiles. */
#include <math.h>
#include <string.h>

#include "reference/ref_blas.h"
#include "reference/ref_run.h"

/* A tile's part for one head: maximum, sum of exponentials, sum of n weighted by them. */
enum { PART_HIGHEST, PART_TOTAL, PART_SUMS };

static int64_t part_size(const ref_run *run) {
  return PART_SUMS + assay_mlpf_config_repr_dim(run->config);
}

static real *part_of(const ref_run *run, int64_t task, int64_t tile, int64_t head) {
  int64_t heads = assay_mlpf_config_readout_heads(run->config);
  int64_t tiles = run->n_events * run->tiles_per_event;
  return run->readout_partial + ((task * tiles + tile) * heads + head) * part_size(run);
}

/* The projected query, which is the same for all events. query is scratch, [D]. */
static void project_query(ref_run *run, int64_t task, real *query, real *out) {
  const ref_readout *readout = &run->model.readouts[task];
  ref_layer_norm(run, &readout->query_norm, readout->query, /*rows=*/1, query);
  ref_layer_linear(run, &readout->q, query, /*rows=*/1, REF_ACT_NONE, out);
}

/* Wk^T q / sqrt(d) for each head, q the projected query. */
static void fold_query(ref_run *run, int64_t task, const real *q) {
  const real *key_weight = run->model.readouts[task].kv.weight;
  int64_t dim = assay_mlpf_config_repr_dim(run->config);
  int64_t heads = assay_mlpf_config_readout_heads(run->config), d = dim / heads;
  real scale = (real)(1 / sqrt((double)d));
  for (int64_t i = 0; i < dim; i++) {
    real *folded = run->readout_query[task] + i / d * dim;
    for (int64_t j = 0; j < dim; j++) folded[j] += q[i] * scale * key_weight[i * dim + j];
  }
}

static void prepare_queries(ref_run *run, real *scratch) {
  int64_t dim = assay_mlpf_config_repr_dim(run->config);
  for (int task = 0; task < REF_N_TASKS; task++) {
    if (run->plan.readout) {
      project_query(run, task, scratch, run->readout_query[task]);
    } else {
      project_query(run, task, scratch, scratch + dim);
      fold_query(run, task, scratch + dim);
    }
  }
}

void ref_readout_prepare(ref_run *run) {
  int64_t dim = assay_mlpf_config_repr_dim(run->config);
  int64_t heads = assay_mlpf_config_readout_heads(run->config);
  int64_t tiles = run->n_events * run->tiles_per_event;
  real *query = ref_arena_alloc(run->arena, 2 * dim, sizeof *query);
  for (int task = 0; task < REF_N_TASKS; task++) {
    run->readout_query[task] = ref_arena_alloc(run->arena, heads * dim, sizeof(real));
    run->readout_added[task] = ref_arena_alloc(run->arena, run->n_events * dim, sizeof(real));
  }
  if (run->arena->status) return;
  prepare_queries(run, query);
  if (run->plan.readout) {
    ref_readout_half_prepare(run);
  } else {
    run->readout_partial =
        ref_arena_alloc(run->arena, REF_N_TASKS * tiles * heads * part_size(run), sizeof(real));
  }
}

/* The part of one head: scores [n] lie heads apart; n_rows [n, D]; weights and shift are scratch,
 * [n]. */
static void sum_head(const ref_run *run, const ref_tile *tile, const real *scores, int64_t stride,
                     const real *normed, real *weights, real *part) {
  int64_t dim = assay_mlpf_config_repr_dim(run->config), n_valid = 0;
  real *shift = weights + tile->n;
  const float *mask = run->mask + tile->row;
  part[PART_HIGHEST] = -(real)INFINITY;
  part[PART_TOTAL] = 0;
  memset(part + PART_SUMS, 0, (size_t)dim * sizeof(real));
  for (int64_t i = 0; i < tile->n; i++) {
    real score = scores[i * stride];
    if (!(mask[i] > 0)) continue;
    if (score > part[PART_HIGHEST]) part[PART_HIGHEST] = score;
    weights[n_valid++] = score;
  }
  for (int64_t i = 0; i < n_valid; i++) shift[i] = part[PART_HIGHEST];
  run->kernels->exp_shifted(weights, shift, n_valid);
  for (int64_t i = 0, k = 0; i < tile->n; i++) {
    if (!(mask[i] > 0)) continue;
    real weight = weights[k++];
    part[PART_TOTAL] += weight;
    for (int64_t j = 0; j < dim; j++) part[PART_SUMS + j] += weight * normed[i * dim + j];
  }
}

static void read_tile(void *context, int64_t number, int thread) {
  ref_run *run = context;
  ref_scratch *scratch = &run->scratch[thread];
  const ref_tile tile = ref_run_tile(run, number);
  int64_t dim = assay_mlpf_config_repr_dim(run->config);
  int64_t heads = assay_mlpf_config_readout_heads(run->config);
  for (int task = 0; task < REF_N_TASKS; task++) {
    const real *f = run->representation[task] + tile.row * dim;
    ref_layer_norm(run, &run->model.readouts[task].key_norm, f, tile.n, scratch->input);
    ref_matmul_nt(scratch->input, dim, run->readout_query[task], tile.n, dim, heads,
                  scratch->output, heads);
    for (int64_t h = 0; h < heads; h++) {
      sum_head(run, &tile, scratch->output + h, heads, scratch->input, scratch->hidden,
               part_of(run, task, number, h));
    }
  }
}

/* sum_i p[i] n[i] of one event and head to mean [D]; false without any valid element. */
static bool join_parts(const ref_run *run, int64_t task, int64_t event, int64_t head, real *mean) {
  int64_t dim = assay_mlpf_config_repr_dim(run->config), first = event * run->tiles_per_event;
  real highest = -(real)INFINITY, total = 0;
  memset(mean, 0, (size_t)dim * sizeof(real));
  for (int64_t t = first; t < first + run->tiles_per_event; t++) {
    const real *part = part_of(run, task, t, head);
    if (part[PART_TOTAL] > 0 && part[PART_HIGHEST] > highest) highest = part[PART_HIGHEST];
  }
  for (int64_t t = first; t < first + run->tiles_per_event; t++) {
    const real *part = part_of(run, task, t, head);
    if (!(part[PART_TOTAL] > 0)) continue;
    real factor = part[PART_HIGHEST];
    run->kernels->exp_shifted(&factor, &highest, /*n=*/1);
    total += factor * part[PART_TOTAL];
    for (int64_t j = 0; j < dim; j++) mean[j] += factor * part[PART_SUMS + j];
  }
  if (!(total > 0)) return false;
  for (int64_t j = 0; j < dim; j++) mean[j] /= total;
  return true;
}

/* What the readout of a task adds to an event's rows; zero for an event without valid elements,
 * whose outputs are all cleared. */
static void join_event(void *context, int64_t number, int thread) {
  ref_run *run = context;
  ref_scratch *scratch = &run->scratch[thread];
  int64_t task = number / run->n_events, event = number % run->n_events;
  int64_t dim = assay_mlpf_config_repr_dim(run->config);
  int64_t heads = assay_mlpf_config_readout_heads(run->config), d = dim / heads;
  const ref_readout *readout = &run->model.readouts[task];
  real *attended = scratch->input, *added = run->readout_added[task] + event * dim;
  for (int64_t h = 0; h < heads; h++) {
    ref_linear v_part = {.n_in = dim,
                         .n_out = d,
                         .weight = readout->kv.weight + (dim + h * d) * dim,
                         .bias = readout->kv.bias + dim + h * d};
    if (!join_parts(run, task, event, h, scratch->output)) {
      memset(added, 0, (size_t)dim * sizeof(real));
      return;
    }
    ref_layer_linear(run, &v_part, scratch->output, /*rows=*/1, REF_ACT_NONE, attended + h * d);
  }
  ref_layer_linear(run, &readout->out, attended, /*rows=*/1, REF_ACT_NONE, added);
}

void ref_readout_run(ref_run *run) {
  if (run->plan.readout) {
    ref_readout_half_run(run);
    return;
  }
  ref_run_tiles(run, read_tile);
  ref_pool_run(run->pool, REF_N_TASKS * run->n_events, join_event, run);
}
