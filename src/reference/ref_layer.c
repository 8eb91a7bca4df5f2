/* Linear layers, norms and small networks on a few rows: models.md B.0. */
#include "reference/ref_blas.h"
#include "reference/ref_run.h"

ref_act ref_layer_act(const ref_run *run) {
  switch (run->config->activation) {
  case ASSAY_MLPF_ELU:
    return REF_ACT_ELU;
  case ASSAY_MLPF_RELU:
    return REF_ACT_RELU;
  case ASSAY_MLPF_RELU6:
    return REF_ACT_RELU6;
  case ASSAY_MLPF_LEAKYRELU:
    return REF_ACT_LEAKYRELU;
  case ASSAY_MLPF_GELU:
    return REF_ACT_GELU;
  }
  return REF_ACT_NONE;
}

void ref_layer_round(const ref_run *run, bool half, real *x, int64_t n) {
  if (half && !run->plan.stored) run->kernels->round_half(x, n);
}

void ref_layer_store(const ref_run *run, bool half, real *x, int64_t n) {
  if (half) run->kernels->round_half(x, n);
}

void ref_layer_linear(const ref_run *run, const ref_linear *linear, const real *x, int64_t rows,
                      ref_act act, real *out) {
  bool half = linear->half && !run->plan.stored;
  if (half && run->plan.sums) {
    run->kernels->matmul_half_sums(x, linear->weight, rows, linear->n_in, linear->n_out, out);
  } else {
    ref_matmul_nt(x, linear->n_in, linear->weight, rows, linear->n_in, linear->n_out, out,
                  linear->n_out);
  }
  if (half) {
    run->kernels->bias_act_half(out, linear->bias, rows, linear->n_out, act);
  } else if (linear->bias != NULL || act != REF_ACT_NONE) {
    run->kernels->bias_act(out, linear->bias, rows, linear->n_out, act);
  }
}

/* As ref_layer_linear with sums in double. */
static void linear_wide(const ref_run *run, const ref_linear *linear, const real *x, int64_t rows,
                        ref_act act, double *scratch, real *out) {
  ref_matmul_nt_wide(x, linear->weight, rows, linear->n_in, linear->n_out, scratch, out);
  run->kernels->bias_act(out, linear->bias, rows, linear->n_out, act);
}

void ref_layer_norm(const ref_run *run, const ref_norm *norm, const real *x, int64_t rows,
                    real *out) {
  if (norm->bias != NULL) {
    run->kernels->layer_norm(x, norm->weight, norm->bias, rows, norm->dim, out);
    ref_layer_round(run, norm->half, out, rows * norm->dim);
  } else {
    run->kernels->rms_norm(x, norm->weight, rows, norm->dim, out);
  }
}

void ref_layer_mlp3_hidden(const ref_run *run, const ref_mlp3 *mlp, const real *x, int64_t rows,
                           real *hidden) {
  ref_layer_linear(run, &mlp->first, x, rows, ref_layer_act(run), hidden);
  ref_layer_norm(run, &mlp->norm, hidden, rows, hidden);
}

void ref_layer_head(const ref_run *run, const ref_mlp3 *mlp, const real *x, int64_t rows,
                    ref_scratch *scratch, real *out) {
  if (mlp->first.half && !run->plan.stored) {
    ref_layer_mlp3_hidden(run, mlp, x, rows, scratch->hidden);
    ref_layer_linear(run, &mlp->last, scratch->hidden, rows, REF_ACT_NONE, out);
    return;
  }
  linear_wide(run, &mlp->first, x, rows, ref_layer_act(run), scratch->sums, scratch->hidden);
  ref_layer_norm(run, &mlp->norm, scratch->hidden, rows, scratch->hidden);
  linear_wide(run, &mlp->last, scratch->hidden, rows, REF_ACT_NONE, scratch->sums, out);
}

void ref_layer_ffn(const ref_run *run, const ref_norm *norm, const ref_ffn *ffn,
                   const ref_tile *tile, ref_scratch *scratch, real *x) {
  ref_act act = ref_layer_act(run);
  const float *mask = run->mask + tile->row;
  ref_layer_norm(run, norm, x, tile->n, scratch->input);
  ref_layer_linear(run, &ffn->first, scratch->input, tile->n, act, scratch->hidden);
  ref_layer_linear(run, &ffn->last, scratch->hidden, tile->n, act, scratch->output);
  for (int64_t i = 0; i < tile->n; i++) {
    for (int64_t j = 0; j < norm->dim; j++) {
      int64_t at = i * norm->dim + j;
      x[at] = mask[i] > 0 ? x[at] + scratch->output[at] : 0;
    }
  }
}
