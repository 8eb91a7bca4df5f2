/* From representations to outputs: models.md B.7 (32) after the attention, (33), B.8 and B.9. */
#include <math.h>
#include <string.h>

#include "reference/ref_run.h"

#if REF_BITS == 32
#define exp_real  expf
#define log_real  logf
#define sqrt_real sqrtf
#else
#define exp_real  exp
#define log_real  log
#define sqrt_real sqrt
#endif

/* Columns of X that the regression targets refer to, by assay_mlpf_target. */
static const int64_t reference_column[ASSAY_MLPF_N_TARGETS] = {1, 2, 3, 4, 5};

static real finite_or_zero(real value) { /* nan_to_num with zeros */
  return isfinite(value) ? value : 0;
}

/* g of a task for the tile's rows, [n, D] in scratch->kept. */
static void represent(ref_run *run, int task, const ref_tile *tile, ref_scratch *scratch) {
  const ref_readout *readout = &run->model.readouts[task];
  const ref_norm *final_norm = &run->model.final_norms[task];
  int64_t dim = assay_mlpf_config_repr_dim(run->config);
  const real *f = run->representation[task] + tile->row * dim;
  real *g = scratch->kept;
  memcpy(g, f, (size_t)(tile->n * dim) * sizeof(real));
  if (readout->present) {
    const real *added = run->readout_added[task] + tile->event * dim;
    for (int64_t i = 0; i < tile->n; i++) {
      for (int64_t j = 0; j < dim; j++) g[i * dim + j] += added[j];
    }
    ref_layer_ffn(run, &readout->post_norm, &readout->ffn, tile, scratch, g);
    ref_run_keep(run, REF_TAP_READOUT + task, tile, g);
  }
  if (final_norm->weight != NULL) {
    ref_layer_norm(run, final_norm, g, tile->n, g);
    ref_run_keep(run, REF_TAP_NORM + task, tile, g);
  }
  ref_layer_round(run, run->plan.heads, g, tile->n * dim);
}

/* A classification head's outputs for the tile's rows: finite, and +0 at padding. */
static void classify(ref_run *run, const ref_mlp3 *mlp, int tap, const ref_tile *tile,
                     ref_scratch *scratch, real *out) {
  int64_t n_out = mlp->last.n_out;
  ref_layer_head(run, mlp, scratch->kept, tile->n, scratch, out);
  ref_run_keep(run, tap, tile, out);
  for (int64_t i = 0; i < tile->n; i++) {
    bool valid = run->mask[tile->row + i] > 0;
    for (int64_t j = i * n_out; j < (i + 1) * n_out; j++)
      out[j] = valid ? finite_or_zero(out[j]) : 0;
  }
}

/* sum_i t[i] z[i] of a row, t its one-hot type. */
static real pick_type(const ref_run *run, int64_t row, const real *z) {
  real type = ref_run_feature(run, row, 0), sum = 0;
  for (int64_t i = 0; i < run->config->n_elemtypes; i++) {
    if (type == (real)run->config->elemtypes[i]) sum += z[i];
  }
  return sum;
}

/* One network a type: each sees the rows of its type only. values [n] with a stride. */
static void regress_by_type(ref_run *run, const ref_regression *regression, const ref_tile *tile,
                            ref_scratch *scratch, real *values, int64_t stride) {
  int64_t dim = assay_mlpf_config_repr_dim(run->config);
  for (int64_t i = 0; i < tile->n; i++) values[i * stride] = 0;
  for (int64_t type = 0; type < regression->n_parts; type++) {
    real wanted = (real)run->config->elemtypes[type];
    int64_t n = 0;
    for (int64_t i = 0; i < tile->n; i++) {
      if (ref_run_feature(run, tile->row + i, 0) != wanted) continue;
      memcpy(scratch->input + n * dim, scratch->kept + i * dim, (size_t)dim * sizeof(real));
      scratch->rows_of_type[n++] = i;
    }
    ref_layer_head(run, &regression->parts[type], scratch->input, n, scratch, scratch->output);
    for (int64_t k = 0; k < n; k++) values[scratch->rows_of_type[k] * stride] += scratch->output[k];
  }
}

/* The value of a target for each row of the tile: table (35). values [n] with a stride. */
static void regress(ref_run *run, int target, const ref_tile *tile, ref_scratch *scratch,
                    real *values, int64_t stride) {
  assay_mlpf_regression mode = run->config->regression[target];
  const ref_regression *regression = &run->model.regressions[target];
  if (mode == ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT) {
    regress_by_type(run, regression, tile, scratch, values, stride);
    return;
  }
  int64_t n_out = regression->parts[0].last.n_out;
  real *z = scratch->output, *offset = scratch->output + tile->n * n_out;
  ref_layer_head(run, &regression->parts[0], scratch->kept, tile->n, scratch, z);
  if (mode == ASSAY_MLPF_LINEAR_ELEMTYPE) {
    ref_layer_head(run, &regression->parts[1], scratch->kept, tile->n, scratch, offset);
  }
  for (int64_t i = 0; i < tile->n; i++, z += n_out, offset += n_out) {
    int64_t row = tile->row + i;
    real o = ref_run_feature(run, row, reference_column[target]), value = 0;
    switch (mode) {
    case ASSAY_MLPF_DIRECT:
      value = z[0];
      break;
    case ASSAY_MLPF_ADDITIVE:
      value = o + z[0];
      break;
    case ASSAY_MLPF_MULTIPLICATIVE:
      value = o * z[0];
      break;
    case ASSAY_MLPF_DIRECT_ELEMTYPE:
      value = pick_type(run, row, z);
      break;
    case ASSAY_MLPF_LINEAR:
      value = o * z[0] + z[1];
      break;
    case ASSAY_MLPF_LINEAR_ELEMTYPE:
      value = o * pick_type(run, row, z) + pick_type(run, row, offset);
      break;
    case ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT:
      break; /* above */
    }
    values[i * stride] = value;
  }
}

/* (36): the energy that pt and eta imply, relative to the input's, plus the head's value where
 * positive. */
static real energy_of(const ref_run *run, int64_t row, const real *momentum) {
  real pt = exp_real(momentum[ASSAY_MLPF_PT]) * ref_run_feature(run, row, 1);
  real eta = momentum[ASSAY_MLPF_ETA], correction = momentum[ASSAY_MLPF_ENERGY];
  real pz = pt * (exp_real(eta) - exp_real(-eta)) / 2;
  real e = log_real(sqrt_real(pt * pt + pz * pz) / ref_run_feature(run, row, 5));
  return finite_or_zero(e) + (correction > 0 || isnan(correction) ? correction : 0);
}

/* values lie ASSAY_MLPF_N_TARGETS apart */
static void keep_target(const ref_run *run, int target, const ref_tile *tile, const real *values) {
  real *to = run->taps[REF_TAP_REGRESSION + target].tensor.data;
  if (to == NULL) return;
  for (int64_t i = 0; i < tile->n; i++) to[tile->row + i] = values[i * ASSAY_MLPF_N_TARGETS];
}

static void regress_tile(ref_run *run, const ref_tile *tile, ref_scratch *scratch) {
  enum { N = ASSAY_MLPF_N_TARGETS };
  real *momentum = run->momentum + tile->row * N;
  for (int target = 0; target < N; target++) {
    regress(run, target, tile, scratch, momentum + target, /*stride=*/N);
    keep_target(run, target, tile, momentum + target);
  }
  for (int64_t i = 0; i < tile->n; i++) {
    real *row = momentum + i * N;
    bool valid = run->mask[tile->row + i] > 0;
    row[ASSAY_MLPF_ENERGY] = energy_of(run, tile->row + i, row);
    for (int target = 0; target < N; target++)
      row[target] = valid ? finite_or_zero(row[target]) : 0;
  }
}

static void heads_of_tile(void *context, int64_t number, int thread) {
  ref_run *run = context;
  ref_scratch *scratch = &run->scratch[thread];
  const ref_tile tile = ref_run_tile(run, number);
  represent(run, REF_CLASSIFICATION, &tile, scratch);
  classify(run, &run->model.binary, REF_TAP_BINARY, &tile, scratch, run->binary + tile.row * 2);
  classify(run, &run->model.classes, REF_TAP_CLASSES, &tile, scratch,
           run->classes + tile.row * run->config->num_classes);
  represent(run, REF_REGRESSION, &tile, scratch);
  regress_tile(run, &tile, scratch);
}

void ref_heads_run(ref_run *run) {
  ref_run_tiles(run, heads_of_tile);
}
