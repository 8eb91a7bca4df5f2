/* The input encoder: models.md B.1 and B.2. */
#include "reference/ref_run.h"

#include <string.h>

/* Rows of the tile whose column 0 equals element type i exactly; a row may be of none. */
static int64_t rows_of_type(const ref_run *run, const ref_tile *tile, int64_t type,
                            int64_t *out_rows) {
  real wanted = (real)run->config->elemtypes[type];
  int64_t n = 0;
  for (int64_t i = 0; i < tile->n; i++) {
    if (ref_run_feature(run, tile->row + i, 0) == wanted) out_rows[n++] = i;
  }
  return n;
}

/* Adds the type's own outputs to its rows. The last linear layer has T*E outputs, type-major, of
 * which a row takes the E of its type: the sum with one-hot factors, without its zeros. */
static void add_type(ref_run *run, const ref_tile *tile, int64_t type, ref_scratch *scratch) {
  const ref_mlp3 *mlp = &run->stack->encoder;
  int64_t e = run->config->embedding_dim, w = run->config->width;
  ref_linear own = {.n_in = w,
                    .n_out = e,
                    .weight = mlp->last.weight + type * e * w,
                    .bias = mlp->last.bias + type * e,
                    .half = mlp->last.half};
  int64_t n = rows_of_type(run, tile, type, scratch->rows_of_type);
  for (int64_t i = 0; i < n; i++) {
    memcpy(scratch->hidden2 + i * w, scratch->hidden + scratch->rows_of_type[i] * w,
           (size_t)w * sizeof(real));
  }
  ref_layer_linear(run, &own, scratch->hidden2, n, REF_ACT_NONE, scratch->output);
  for (int64_t i = 0; i < n; i++) {
    real *x = run->x + (tile->row + scratch->rows_of_type[i]) * e;
    for (int64_t j = 0; j < e; j++) x[j] += scratch->output[i * e + j];
  }
}

static void encode_tile(void *context, int64_t task, int thread) {
  ref_run *run = context;
  ref_scratch *scratch = &run->scratch[thread];
  const ref_tile tile = ref_run_tile(run, task);
  const ref_mlp3 *mlp = &run->stack->encoder;
  int64_t f = run->config->input_dim, e = run->config->embedding_dim;
  real *x = run->x + tile.row * e;
  size_t x_bytes = (size_t)(tile.n * e) * sizeof(real);
  for (int64_t i = 0; i < tile.n; i++) {
    for (int64_t j = 0; j < f; j++) {
      scratch->input[i * f + j] = ref_run_feature(run, tile.row + i, j);
    }
  }
  ref_layer_round(run, run->plan.encoder, scratch->input, tile.n * f);
  ref_layer_mlp3_hidden(run, mlp, scratch->input, tile.n, scratch->hidden);
  if (run->config->input_encoding == ASSAY_MLPF_JOINT) {
    ref_layer_linear(run, &mlp->last, scratch->hidden, tile.n, REF_ACT_NONE, x);
  } else {
    memset(x, 0, x_bytes);
    for (int64_t type = 0; type < run->config->n_elemtypes; type++) {
      add_type(run, &tile, type, scratch);
    }
  }
  for (int64_t i = 0; i < tile.n; i++) { /* (4) */
    if (run->mask[tile.row + i] > 0) continue;
    memset(x + i * e, 0, (size_t)e * sizeof(real));
  }
  if (run->encoded != NULL) memcpy(run->encoded + tile.row * e, x, x_bytes);
}

void ref_encoder_run(ref_run *run) {
  ref_run_tiles(run, encode_tile);
}
