/* The attention of the task readouts in an FP16 block: models.md B.7 (32). Keys and values are
 * projected as the equations say, for what ref_readout.c avoids computing is rounded here. The
 * readouts take turns with one memory. */
#include "reference/ref_run.h"

static ref_plan_scale scale_of(const ref_run *run) {
  return ref_plan_scale_of(run->readout_memory.dim, run->plan.weights && run->plan.scores);
}

/* Queries do not depend on the input: they are rounded once, after everything that is folded. */
void ref_readout_half_prepare(ref_run *run) {
  int64_t dim = assay_mlpf_config_repr_dim(run->config);
  int64_t heads = assay_mlpf_config_readout_heads(run->config);
  ref_memory_prepare(run, heads, dim / heads, /*mask_keys=*/true, &run->readout_memory);
  for (int task = 0; task < REF_N_TASKS; task++) {
    ref_layer_store(run, /*half=*/true, run->readout_query[task], dim);
    for (int64_t i = 0; i < dim; i++) {
      run->readout_query[task][i] *= (real)scale_of(run).of_queries;
    }
  }
}

static void project_tile(void *context, int64_t number, int thread) {
  ref_run *run = context;
  ref_scratch *scratch = &run->scratch[thread];
  const ref_tile tile = ref_run_tile(run, number);
  const ref_readout *readout = &run->model.readouts[run->readout];
  int64_t dim = assay_mlpf_config_repr_dim(run->config);
  const real *f = run->representation[run->readout] + tile.row * dim;
  real *normed = scratch->input, *keys = scratch->output, *values = scratch->kept;
  ref_linear k_part = readout->kv, v_part = readout->kv;
  k_part.n_out = v_part.n_out = dim;
  v_part.weight += dim * dim;
  v_part.bias += dim;
  ref_layer_norm(run, &readout->key_norm, f, tile.n, normed);
  ref_layer_round(run, /*half=*/true, normed, tile.n * dim);
  ref_layer_linear(run, &k_part, normed, tile.n, REF_ACT_NONE, keys);
  ref_layer_linear(run, &v_part, normed, tile.n, REF_ACT_NONE, values);
  ref_layer_store(run, /*half=*/true, keys, tile.n * dim);
  ref_layer_store(run, /*half=*/true, values, tile.n * dim);
  for (int64_t i = 0; i < tile.n; i++) {
    ref_memory_place(run, &run->readout_memory, tile.event, tile.first + i, keys + i * dim,
                     values + i * dim);
  }
}

/* Without valid elements nothing is found, and what is added does not matter. */
static void attend_event(void *context, int64_t event, int thread) {
  ref_run *run = context;
  ref_scratch *scratch = &run->scratch[thread];
  const ref_memory *memory = &run->readout_memory;
  int64_t d = memory->dim, dim = memory->heads * d;
  real *attended = scratch->input;
  for (int64_t h = 0; h < memory->heads; h++) {
    int64_t head = event * memory->heads + h;
    ref_attention attention = {
        .queries = run->readout_query[run->readout] + h * d,
        .n_queries = 1,
        .keys = memory->keys + head * memory->n_slots * d,
        .values = memory->values + head * memory->n_slots * ref_padded_dim(d),
        .n_keys = memory->n_keys[event],
        .dim = d,
        .out = attended + h * d,
        .out_stride = d,
        .half_scores = run->plan.scores,
        .score_scale = (real)scale_of(run).of_scores,
        .half_sums = run->plan.sums,
        .scratch = scratch->attention,
    };
    (run->plan.weights ? run->kernels->attend_half : run->kernels->attend)(&attention);
  }
  ref_layer_store(run, run->plan.gathered_in_readouts, attended, dim);
  ref_layer_linear(run, &run->model.readouts[run->readout].out, attended, /*rows=*/1, REF_ACT_NONE,
                   run->readout_added[run->readout] + event * dim);
}

void ref_readout_half_run(ref_run *run) {
  for (run->readout = 0; run->readout < REF_N_TASKS; run->readout++) {
    ref_run_tiles(run, project_tile);
    ref_pool_run(run->pool, run->n_events, attend_event, run);
  }
}
