/* One evaluation from features to outputs, in the precision of REF_BITS: models.md section B. */
#include "reference/ref_eval.h"

#include <string.h>

#include "reference/ref_blas.h"
#include "reference/ref_run.h"

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

ref_tile ref_run_tile(const ref_run *run, int64_t task) {
  int64_t event = task / run->tiles_per_event;
  int64_t first = task % run->tiles_per_event * REF_TILE_ROWS, left = run->n_elems - first;
  return (ref_tile){.event = event,
                    .first = first,
                    .row = event * run->n_elems + first,
                    .n = left < REF_TILE_ROWS ? left : REF_TILE_ROWS};
}

void ref_run_tiles(ref_run *run, ref_task task) {
  ref_pool_run(run->pool, run->n_events * run->tiles_per_event, task, run);
}

real ref_run_feature(const ref_run *run, int64_t row, int64_t column) {
  return run->mask[row] > 0 ? (real)run->features[row * run->config->input_dim + column] : 0;
}

/* What the two products of a head need at most. */
static int64_t head_scratch(const assay_mlpf_config *c) {
  int64_t dim = assay_mlpf_config_repr_dim(c),
          n_out = larger(c->num_classes, larger(c->n_elemtypes, 2));
  return larger(ref_matmul_nt_wide_scratch(REF_TILE_ROWS, dim, c->width),
                ref_matmul_nt_wide_scratch(REF_TILE_ROWS, c->width, n_out));
}

/* Widths of scratch rows: the largest of what the steps put there. */
static void allocate_scratch(ref_run *run, int threads) {
  const assay_mlpf_config *c = run->config;
  int64_t dim = assay_mlpf_config_repr_dim(c), e = c->embedding_dim, w = c->width;
  int64_t heads = assay_mlpf_config_readout_heads(c);
  int64_t narrow = larger(larger(c->input_dim, dim), larger(e, 2 * c->n_elemtypes));
  int64_t wide = larger(larger(w, 2 * e), larger(c->arch == ASSAY_MLPF_HEPTV2 ? 4 * e : 2, 2));
  if (c->arch == ASSAY_MLPF_HEPTV2) wide = larger(wide, c->ff_hidden);
  int64_t head_dim = larger(c->head_dim, heads > 0 ? dim / heads : 1);
  run->scratch = ref_arena_alloc(run->arena, threads, sizeof *run->scratch);
  for (int i = 0; run->scratch != NULL && i < threads; i++) {
    ref_scratch *s = &run->scratch[i];
    s->input = ref_arena_alloc(run->arena, REF_TILE_ROWS * narrow, sizeof(real));
    s->kept = ref_arena_alloc(run->arena, REF_TILE_ROWS * narrow, sizeof(real));
    s->output = ref_arena_alloc(run->arena, REF_TILE_ROWS * narrow, sizeof(real));
    s->hidden = ref_arena_alloc(run->arena, REF_TILE_ROWS * wide, sizeof(real));
    s->hidden2 = ref_arena_alloc(run->arena, REF_TILE_ROWS * wide, sizeof(real));
    s->sums = ref_arena_alloc(run->arena, head_scratch(c), sizeof(double));
    s->attention = ref_arena_alloc(run->arena, ref_attention_scratch(head_dim), sizeof(real));
  }
}

static void prepare(ref_run *run, int threads) {
  allocate_scratch(run, threads);
  run->x = ref_arena_alloc(run->arena, run->n_rows * run->config->embedding_dim, sizeof(real));
  if (run->arena->status) return;
  if (run->config->arch == ASSAY_MLPF_ATTENTION) {
    ref_attention_prepare(run);
  } else {
    ref_heptv2_prepare(run, threads);
  }
  if (run->model.readouts[0].present && !run->arena->status) ref_readout_prepare(run);
}

/* Puts x beside the layers before it: `concat` of models.md (31). */
static void keep_layer(ref_run *run, int64_t layer, real *representation) {
  int64_t e = run->config->embedding_dim, dim = assay_mlpf_config_repr_dim(run->config);
  for (int64_t row = 0; row < run->n_rows; row++) {
    memcpy(representation + row * dim + layer * e, run->x + row * e, (size_t)e * sizeof(real));
  }
}

/* Encoder and layers; the representation is x itself, or an array of its own for `concat` and for
 * the first of two stacks. */
static real *run_stack(ref_run *run, int64_t number, const ref_job *job) {
  const assay_mlpf_config *c = run->config;
  bool concat = c->representation == ASSAY_MLPF_CONCAT && c->num_convs > 0;
  bool own = concat || number + 1 < run->model.n_stacks;
  real *representation = run->x;
  if (own) {
    representation = ref_arena_alloc(run->arena, run->n_rows * assay_mlpf_config_repr_dim(c),
                                     sizeof *representation);
    if (representation == NULL) return NULL;
  }
  run->stack = &run->model.stacks[number];
  ref_encoder_run(run);
  for (run->layer = 0; run->layer < c->num_convs; run->layer++) {
    if (c->arch == ASSAY_MLPF_ATTENTION) {
      ref_attention_layer_run(run);
    } else {
      run->perm_layer = number * c->num_convs + run->layer;
      run->perm = job->perm + run->perm_layer * c->n_hashes * c->num_heads * run->n_rows;
      ref_heptv2_layer_run(run);
    }
    if (concat) keep_layer(run, run->layer, representation);
  }
  if (own && !concat) {
    memcpy(representation, run->x, (size_t)(run->n_rows * c->embedding_dim) * sizeof(real));
  }
  return representation;
}

static void collect_margins(const ref_run *run, int threads, assay_ref_margins *out) {
  ref_hash_margins_init(out);
  if (run->config->arch != ASSAY_MLPF_HEPTV2) return;
  for (int i = 0; i < threads; i++) ref_hash_margins_merge(out, &run->scratch[i].margins);
}

static assay_status evaluate(const ref_job *job, ref_run *run, assay_error *err) {
  ASSAY_TRY(ref_model_bind(job->config, job->weights, run->arena, &run->model, err));
  prepare(run, job->threads);
  for (int64_t i = 0; !run->arena->status && i < run->model.n_stacks; i++) {
    run->representation[i] = run_stack(run, i, job);
  }
  if (run->arena->status) {
    return assay_fail(err, ASSAY_E_MEMORY, "out of memory for %lld events of %lld elements",
                      (long long)run->n_events, (long long)run->n_elems);
  }
  if (run->model.n_stacks == 1) run->representation[REF_REGRESSION] = run->representation[0];
  if (run->model.readouts[0].present) ref_readout_run(run);
  ref_heads_run(run);
  if (ref_pool_is_cancelled(run->pool)) {
    return assay_fail(err, ASSAY_E_STOPPED, "the evaluation was stopped");
  }
  collect_margins(run, job->threads, job->margins);
  return ASSAY_OK;
}

assay_status REF(ref_eval)(const ref_job *job, assay_error *err) {
  ref_arena arena = {0};
  ref_run run = {
      .config = job->config,
      .kernels = ref_kernels_find(/*name=*/NULL),
      .arena = &arena,
      .n_events = job->n_events,
      .n_elems = job->n_elems,
      .n_rows = job->n_events * job->n_elems,
      .tiles_per_event = (job->n_elems + REF_TILE_ROWS - 1) / REF_TILE_ROWS,
      .features = job->features,
      .mask = job->mask,
      .binary = job->binary,
      .classes = job->classes,
      .momentum = job->momentum,
  };
  assay_status st = ref_pool_create(job->threads, &run.pool, err);
  if (st) return st;
  ref_pool_set_cancelled(run.pool, job->cancelled, job->cancelled_arg);
  ref_blas_use_one_thread();
  st = evaluate(job, &run, err);
  ref_pool_destroy(run.pool);
  ref_arena_reset(&arena);
  return st;
}
