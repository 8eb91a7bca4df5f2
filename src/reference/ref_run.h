/* The state of one evaluation and the steps it is made of. Rows are the B*N elements of all events;
 * every step works on tiles of rows (or on one event and head), so that intermediate arrays are
 * small and stay in the caches, and tiles are the tasks that threads share. Letters as in
 * ref_model.h. */
#ifndef ASSAY_REFERENCE_REF_RUN_H
#define ASSAY_REFERENCE_REF_RUN_H

#include <stdint.h>

#include "base/status.h"
#include "reference/ref_arena.h"
#include "reference/ref_hash.h"
#include "reference/ref_kernels.h"
#include "reference/ref_model.h"
#include "reference/ref_plan.h"
#include "reference/ref_pool.h"
#include "reference/ref_real.h"
#include "reference/ref_tap.h"

/* Rows of a tile: enough for efficient matrix products, few enough that a tile of the widest layer
 * fits the second-level cache. */
#define REF_TILE_ROWS 256

/* Scratch of one thread; `wide` is the widest hidden layer, `narrow` the widest of F, E, D, W,
 * heads. */
#define ref_scratch REF(ref_scratch)
typedef struct ref_scratch {
  real *input;                         /* [REF_TILE_ROWS, narrow] */
  real *kept;                          /* [REF_TILE_ROWS, narrow] */
  real *output;                        /* [REF_TILE_ROWS, narrow] */
  real *hidden;                        /* [REF_TILE_ROWS, wide] */
  real *hidden2;                       /* [REF_TILE_ROWS, wide] */
  double *sums;                        /* of ref_layer_head */
  real *attention;                     /* of ref_attention: for the largest head and most keys */
  int64_t rows_of_type[REF_TILE_ROWS]; /* rows of a tile that are of one element type */
  /* HEPTv2 only */
  ref_hash_sort_space sort;                           /* [N] each */
  float *keys;                                        /* [N] */
  real *bucket_queries, *bucket_keys, *bucket_values; /* one bucket of one head */
  real *bucket_out, *bucket_lse;                      /* [bs, d], [bs] */
  real *hash_out;                                     /* [NH, N, d], in element order */
  real *hash_lse;                                     /* [NH, N] */
  real *lse_highest, *weight_sum;                     /* [N] */
  assay_ref_margins margins;
} ref_scratch;

/* Keys and values of one attention as `attend` wants them (ref_kernels.h); slots are N in whole
 * panels. */
#define ref_memory REF(ref_memory)
typedef struct ref_memory {
  int64_t heads, dim; /* dim of a head */
  int64_t n_slots;
  int32_t *slot;   /* [B, N], place of a key among the admitted ones; -1: excluded */
  int64_t *n_keys; /* [B], admitted keys */
  real *keys;      /* [B, heads, panels of dim] */
  real *values;    /* [B, heads, slots, padded dim] */
} ref_memory;

/* What passes over the tiles keep for the caller: of the layer in progress, by task, and by head.
 */
enum {
  REF_TAP_ATTENTION,
  REF_TAP_READOUT,
  REF_TAP_NORM = REF_TAP_READOUT + REF_N_TASKS,
  REF_TAP_BINARY = REF_TAP_NORM + REF_N_TASKS,
  REF_TAP_CLASSES,
  REF_TAP_REGRESSION, /* one for each target */
  REF_N_TAPS = REF_TAP_REGRESSION + ASSAY_MLPF_N_TARGETS,
};

#define ref_run REF(ref_run)
typedef struct ref_run {
  const assay_mlpf_config *config;
  ref_plan plan;
  const assay_ref_tap *tap; /* or NULL */
  ref_tap_slot taps[REF_N_TAPS];
  const ref_kernels *kernels;
  ref_pool *pool;
  ref_arena *arena;
  ref_model model;
  int64_t n_events, n_elems, n_rows; /* B, N, B*N */
  int64_t tiles_per_event;
  const float *features; /* [B, N, F], as given: read through ref_run_feature */
  const float *mask;     /* [B, N] */
  ref_scratch *scratch;  /* [threads] */

  /* The stack in progress, all in element order. */
  const ref_stack *stack;
  real *encoded;     /* [B*N, E]: x0 of models.md */
  real *x;           /* [B*N, E] */
  real *queries;     /* [B, H, N, d], scaled by 1/sqrt(d) where folded */
  real *keys;        /* HEPTv2: [B, H, N, d] */
  real *values;      /* HEPTv2: [B, H, N, d] */
  ref_memory memory; /* attention */
  int64_t layer;     /* in progress */
  float *eta, *phi;  /* HEPTv2: [B, N], +0 at padding */
  int32_t *eta_order, *eta_rank, *phi_order, *phi_rank; /* HEPTv2: [B, N] */
  real *merged;       /* HEPTv2: [B*N, E], attention after merging the hashes */
  int32_t *perm;      /* HEPTv2: [NH, H, B, N] of the layer in progress */
  int64_t perm_layer; /* its index in the output */

  /* Representation by task; both the same for a shared backbone. */
  real *representation[REF_N_TASKS]; /* [B*N, D] */

  /* The readout in progress, or of each task. */
  real *readout_query[REF_N_TASKS]; /* [readout heads, D]: Wk^T q / sqrt(d); half: [D], q */
  ref_memory readout_memory;        /* half only: of the readout in progress */
  int64_t readout;                  /* half only: the task in progress */
  real *readout_partial;            /* [tasks, B, tiles, heads, D + 2] */
  real *readout_added[REF_N_TASKS]; /* [B, D]: what attention adds to every row of an event */

  real *binary, *classes, *momentum; /* outputs: [B*N, 2], [B*N, C], [B*N, 5] */
} ref_run;

/* Some consecutive rows of one event. */
typedef struct ref_tile {
  int64_t event;
  int64_t first; /* element in the event */
  int64_t row;   /* event * N + first */
  int64_t n;     /* rows */
} ref_tile;

#define ref_run_tile    REF(ref_run_tile)
#define ref_run_tiles   REF(ref_run_tiles)
#define ref_run_feature REF(ref_run_feature)
/* The tile of a task number below B * tiles_per_event. */
ref_tile ref_run_tile(const ref_run *run, int64_t task);
/* Runs task for every tile. */
void ref_run_tiles(ref_run *run, ref_task task);
/* Column of a row, +0 at padding (models.md B.1 (2)). */
real ref_run_feature(const ref_run *run, int64_t row, int64_t column);

#define ref_run_keep REF(ref_run_keep)
/* Keeps rows of a tile for the caller, if that block is tapped. values [n, width] */
void ref_run_keep(const ref_run *run, int slot, const ref_tile *tile, const real *values);

#define ref_layer_linear      REF(ref_layer_linear)
#define ref_layer_norm        REF(ref_layer_norm)
#define ref_layer_head        REF(ref_layer_head)
#define ref_layer_ffn         REF(ref_layer_ffn)
#define ref_layer_mlp3_hidden REF(ref_layer_mlp3_hidden)
#define ref_layer_act         REF(ref_layer_act)
#define ref_layer_round       REF(ref_layer_round)
#define ref_layer_store       REF(ref_layer_store)
/* out = act(x w^T + bias); x [rows, n_in], out [rows, n_out]. */
void ref_layer_linear(const ref_run *run, const ref_linear *linear, const real *x, int64_t rows,
                      ref_act act, real *out);
/* Layer norm, or RMS norm where there is no bias; out may be x. */
void ref_layer_norm(const ref_run *run, const ref_norm *norm, const real *x, int64_t rows,
                    real *out);
/* All but the last linear layer of an MLP3: hidden [rows, W] = LN(act(first(x))). */
void ref_layer_mlp3_hidden(const ref_run *run, const ref_mlp3 *mlp, const real *x, int64_t rows,
                           real *hidden);
/* An output head: a whole MLP3 whose sums run in double in FP32 too. What is rounded here goes into
 * the outputs as it is, undiluted by later layers: this halves what FP32 outputs owe to rounding in
 * matrix products. Uses scratch->hidden and scratch->sums. */
void ref_layer_head(const ref_run *run, const ref_mlp3 *mlp, const real *x, int64_t rows,
                    ref_scratch *scratch, real *out);
/* x = (x + act(last(act(first(LN(x)))))) * m for the rows of a tile: (12) and (32) of models.md. */
void ref_layer_ffn(const ref_run *run, const ref_norm *norm, const ref_ffn *ffn,
                   const ref_tile *tile, ref_scratch *scratch, real *x);
ref_act ref_layer_act(const ref_run *run); /* the configured activation */
/* Rounds n elements to FP16 where `half` says so: what enters a block or ends an operation, which
 * ASSAY_REF_STORED leaves as it is; and what is stored on its way to another product. */
void ref_layer_round(const ref_run *run, bool half, real *x, int64_t n);
void ref_layer_store(const ref_run *run, bool half, real *x, int64_t n);

#define ref_encoder_run REF(ref_encoder_run)
/* encoded and x of the stack in progress: models.md B.2. */
void ref_encoder_run(ref_run *run);

#define ref_memory_prepare REF(ref_memory_prepare)
#define ref_memory_place   REF(ref_memory_place)
/* Memory for the keys and values of every event; masked keys are left out if mask_keys. Errors:
 * MEMORY (through the arena's status). */
void ref_memory_prepare(ref_run *run, int64_t heads, int64_t dim, bool mask_keys, ref_memory *out);
/* Puts the key and value of one element, heads side by side, into its slot. */
void ref_memory_place(const ref_run *run, const ref_memory *memory, int64_t event, int64_t element,
                      const real *key, const real *value);

#define ref_attention_prepare   REF(ref_attention_prepare)
#define ref_attention_layer_run REF(ref_attention_layer_run)
/* Which keys are admitted, and memory for one layer. Errors: MEMORY (through the arena's status).
 */
void ref_attention_prepare(ref_run *run);
/* x after layer run->layer: B.4. */
void ref_attention_layer_run(ref_run *run);

#define ref_heptv2_prepare   REF(ref_heptv2_prepare)
#define ref_heptv2_layer_run REF(ref_heptv2_layer_run)
/* Coordinates and ranks, which no layer changes, and memory for one layer. */
void ref_heptv2_prepare(ref_run *run, int threads);
/* x after layer run->layer, and run->perm: B.5. */
void ref_heptv2_layer_run(ref_run *run);

#define ref_readout_prepare REF(ref_readout_prepare)
#define ref_readout_run     REF(ref_readout_run)
void ref_readout_prepare(ref_run *run);
/* readout_added of both tasks: the attention of B.7. */
void ref_readout_run(ref_run *run);

#define ref_readout_half_prepare REF(ref_readout_half_prepare)
#define ref_readout_half_run     REF(ref_readout_half_run)
/* The same where readouts are half: with keys and values that are rounded as such. readout_query
 * and readout_added are there already. */
void ref_readout_half_prepare(ref_run *run);
void ref_readout_half_run(ref_run *run);

#define ref_heads_run REF(ref_heads_run)
/* binary, classes and momentum: the rest of B.7, and B.8 and B.9. */
void ref_heads_run(ref_run *run);

#endif
